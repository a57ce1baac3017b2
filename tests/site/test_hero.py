"""The start page shows what the shipped model does: a picture, and a word of the reader's own."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.site.conftest import labels_of, open_page, run_axe
from tools.draw_hero import FAINTEST, LAYER, PICTURE, draw, measure
from transformer_ref.applications.g2p import Speller

PAGE = "book/index.html"
FIGURE = "hero"


def test_the_picture_is_that_of_the_shipped_model() -> None:
    phonemes, weights = measure()
    drawn = [float(text) for text in weight_texts(PICTURE.read_text(encoding="utf-8"))]
    expected = [weight for row in weights for weight in row if weight >= FAINTEST]
    assert phonemes == ["CH", "IY", "Z"]
    assert drawn == pytest.approx(expected, abs=0.02)


def test_every_phoneme_and_letter_is_drawn() -> None:
    picture = draw(["CH", "IY", "Z"], [[1.0, 0, 0, 0, 0, 0]] * 3)
    assert len(weight_texts(picture)) == 3
    assert re.findall(r">([A-Z]+)</text>", picture) == ["CH", "IY", "Z", *"CHEESE"]


def weight_texts(picture: str) -> list[str]:
    return re.findall(r'data-weight="([0-9.]+)"', picture)


# ---- a word of the reader's own -----------------------------------------------------------------


def speak(figure: Locator, word: str) -> Locator:
    """Type a word; return the picture."""
    figure.get_by_label("Your word").fill(word)
    figure.get_by_label("Your word").press("Enter")
    picture = figure.page.locator(".hero-picture")
    expect(figure.get_by_role("status")).to_contain_text(f"{word}: the model says")
    return picture


@pytest.mark.browser
@pytest.mark.parametrize(("word", "width"), [("cheese", 1280), ("photosynthetic", 390)])
@pytest.mark.parametrize("colors", ["light", "dark"])
def test_a_typed_word_is_said_as_by_the_package(
    figure_at: Callable[..., Locator], speller: Speller, word: str, width: int, colors: str
) -> None:
    figure = figure_at(width, color_scheme=colors)
    picture = speak(figure, word)
    tokens, layers = speller.attention(word)
    said = " ".join(tokens[:-1])
    expect(figure.get_by_role("status")).to_have_text(f"{word}: the model says {said}.")
    drawn = picture.locator("path").evaluate_all("all => all.map((one) => +one.dataset.weight)")
    expected = [weight for row in layers[LAYER].mean(dim=0)[:-1].tolist() for weight in row]
    near = [weight for weight in expected if weight >= FAINTEST]
    assert sum(drawn) == pytest.approx(sum(near), abs=0.05)
    labels = labels_of(picture.locator("text"))
    assert [each.text for each in labels] == [*tokens[:-1], *word.upper()]
    assert all(each.inside for each in labels)
    assert figure.page.evaluate("document.documentElement.scrollWidth") <= width
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    mode = "desktop-dark" if colors == "dark" else "desktop-light"
    assert run_axe(figure.page, axe, mode, contrast=True) == []


@pytest.mark.browser
def test_the_start_page_loads_the_model_at_the_first_touch(browser: Browser, address: str) -> None:
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rsplit("/", 1)[-1].split("?")[0]))
    page.goto(f"{address}/{PAGE}", wait_until="load")
    open_page(page, f"{address}/{PAGE}")
    assert not {"model.js", "weights.js"} & set(asked)
    figure = page.locator('figure[data-figure="hero"]')
    with page.expect_request("**/weights.js"):
        figure.get_by_label("Your word").click()
    for typed, message in (("two words", "One word at a time"), ("x" * 15, "At most 14 letters")):
        figure.get_by_label("Your word").fill(typed)
        figure.get_by_role("button", name="Speak").click()
        expect(figure.get_by_role("status")).to_contain_text(message)
    speak(figure, "tea")
    page.close()
