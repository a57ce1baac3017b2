"""The whole model in book/model.html: its shapes, its error rates, its norms, and what it lights.

The shapes that are expected follow from the sizes of the speller and the tokens that it says; the
error rates are read from the stored results, apart from the page's own reading of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from book._extensions.model import PART_TEXTS, TAKEN, WORDS
from tests.site.conftest import labels_of, open_page, run_axe
from tools.drawings.model_map import CHAPTERS, PARTS
from tools.inputs import ROOT
from transformer_ref.applications.g2p import Speller

PAGE = "book/model.html"
FIGURE = "model"
ASSETS = ROOT / "transformer_ref/assets"


@pytest.fixture
def figure(quiet_tab: Page, address: str) -> Locator:
    """Open the page anew and return its figure."""
    quiet_tab.goto("about:blank")
    open_page(quiet_tab, f"{address}/{PAGE}")
    return quiet_tab.locator("figure.moving-figure")


def press(figure: Locator, name: str) -> None:
    """Press a button by keyboard."""
    figure.get_by_role("button", name=name, exact=True).press("Enter")


def choose(figure: Locator, label: str, value: str) -> None:
    figure.get_by_label(label, exact=True).select_option(value)


def said(figure: Locator, line: int = 0) -> str:
    text = figure.locator(".moving-words li").nth(line).inner_text()
    return text.replace("\N{NO-BREAK SPACE}", " ")


def marked(figure: Locator, kind: str) -> set[str]:
    """Return the parts that are marked in the picture as "here", "now", "gone" or "chosen"."""
    parts = figure.locator(f"svg .model-{kind}").evaluate_all(
        "all => all.map((part) => part.dataset.part ?? 'mask')"
    )
    return set(parts)


def stored(name: str) -> list[float]:
    """Return the error rates of a stored run in percent, read from the files."""
    capstone = json.loads((ASSETS / "capstone/results.json").read_text(encoding="utf-8"))
    gpt = json.loads((ASSETS / "gpt/results.json").read_text(encoding="utf-8"))
    runs = [run for run in capstone["runs"] if run["name"] == name] or gpt["spellers"][name]
    return [100 * run["dev"]["per"] for run in runs]


# ---- a word on its way --------------------------------------------------------------------------


def expected_shapes(speller: Speller, word: str) -> list[dict[str, tuple[int, ...]]]:
    """Return the shapes of each pass, from the sizes alone."""
    config = speller.model.config
    d, f, h, v = config.d_model, config.d_ff, config.num_heads, config.tgt_vocab_size
    s, passes = len(word), []
    for t in range(1, len(speller.pronounce(word)) + 2):
        shapes: dict[str, tuple[int, ...]] = {"source": (1, s), "target": (1, t)}
        shapes |= dict.fromkeys(("source-embedding", "source-positions", "memory"), (1, s, d))
        shapes |= dict.fromkeys(("encoder-attention", "encoder-feed-forward"), (1, s, d))
        shapes |= dict.fromkeys(("target-embedding", "target-positions", "decoder"), (1, t, d))
        shapes |= dict.fromkeys(("masked-attention", "cross-attention"), (1, t, d))
        shapes |= {"decoder-feed-forward": (1, t, d), "output": (1, t, v)}
        shapes |= {"encoder-hidden": (1, s, f), "decoder-hidden": (1, t, f)}
        shapes |= {"encoder-weights": (1, h, s, s), "masked-weights": (1, h, t, t)}
        passes.append(shapes | {"cross-weights": (1, h, t, s)})
    return passes


def stored_data(site: Path) -> dict[str, Any]:
    page = (site / PAGE).read_text(encoding="utf-8")
    (text,) = re.findall(r'data-for="model">(.*?)</script>', page)
    data: dict[str, Any] = json.loads(text)
    return data


def test_the_page_has_the_shapes_and_tokens_of_the_package(site: Path, speller: Speller) -> None:
    words = stored_data(site)["words"]
    assert [entry["word"] for entry in words] == list(WORDS)
    for entry in words:
        passes = entry["passes"]
        found = [{key: tuple(shape) for key, shape in one["shapes"].items()} for one in passes]
        assert found == expected_shapes(speller, entry["word"])
        pronounced = speller.pronounce(entry["word"])
        assert [one["next"] for one in passes] == [*pronounced, "<eos>"]
        assert [one["tokens"] for one in passes] == [
            ["<bos>", *pronounced[:length]] for length in range(len(passes))
        ]


def test_every_size_of_the_texts_is_that_of_the_speller(site: Path, speller: Speller) -> None:
    config = speller.model.config
    texts = " ".join(part["text"] for part in stored_data(site)["parts"])
    assert f"D = {config.d_model} features" in texts
    assert f"up to {config.d_ff} hidden units" in texts
    assert f"{config.num_encoder_layers} such layers" in texts
    assert "{" not in texts


@pytest.mark.browser
def test_a_word_goes_through_step_by_step(figure: Locator, speller: Speller) -> None:
    word = WORDS[0]
    pronounced = speller.pronounce(word)
    passes = expected_shapes(speller, word)
    parts = []
    steps = 0
    following = figure.get_by_role("button", name="Next")
    expect(following).to_have_attribute("aria-disabled", "false")
    while following.get_attribute("aria-disabled") == "false":
        press(figure, "Next")
        steps += 1
        assert said(figure).startswith(f"Step {steps} of ")
        (part,) = marked(figure, "now") - {"memory-line"}
        parts.append(part)
    first = ["source", "source-embedding", "source-positions", "encoder-attention"]
    first += ["encoder-feed-forward", "encoder", "memory", "target", "target-embedding"]
    first += ["target-positions", "masked-attention", "cross-attention", "decoder-feed-forward"]
    first += ["decoder", "output", "next"]
    later = ["target", "decoder", "output", "next"]
    assert parts == first + later * (len(passes) - 1)
    assert said(figure).endswith(f"The end: {word} is {' '.join(pronounced)}.")
    for key in ("memory", "cross-attention", "target-embedding", "output"):
        text = figure.locator(f'svg [data-part="{key}"] .model-shape').text_content() or ""
        expected = ", ".join(map(str, passes[-1][key]))
        assert text.replace("\N{NO-BREAK SPACE}", " ") == f"({expected})"
    press(figure, "Back")
    assert said(figure).startswith(f"Step {steps - 1} of {steps}.")
    press(figure, "Reset")
    assert "waits" in said(figure)
    assert figure.locator("svg .model-real").count() == 0


@pytest.mark.browser
@pytest.mark.parametrize(
    ("step", "weights"), [(4, "encoder-weights"), (11, "masked-weights"), (12, "cross-weights")]
)
def test_a_step_says_the_shape_of_its_weights(
    figure: Locator, speller: Speller, step: int, weights: str
) -> None:
    choose(figure, "Word", WORDS[-1])
    for _ in range(step):
        press(figure, "Next")
    shape = expected_shapes(speller, WORDS[-1])[0][weights]
    assert f"weights ({', '.join(map(str, shape))})" in said(figure)


@pytest.mark.browser
def test_the_tokens_stand_in_the_part_of_the_step(figure: Locator) -> None:
    for _ in range(5):
        tiles = figure.locator(".model-tokens.model-encoder").bounding_box()
        part = "source" if "waits" in said(figure) else marked(figure, "now").pop()
        box = figure.locator(f'svg [data-part="{part}"] .model-outline').bounding_box()
        assert tiles is not None
        assert box is not None
        assert box["y"] < tiles["y"] < box["y"] + box["height"]
        assert box["x"] < tiles["x"]
        assert tiles["x"] + tiles["width"] < box["x"] + box["width"]
        press(figure, "Next")
    letters = figure.locator(".model-tokens.model-encoder text").all_text_contents()
    assert "".join(letters) == WORDS[0]


# ---- the norms ----------------------------------------------------------------------------------


def heights(figure: Locator, selector: str) -> list[float]:
    """Return where the middles of some elements stand."""
    middles: list[float] = figure.locator(selector).evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect())"
        ".map((box) => (box.top + box.bottom) / 2)"
    )
    return middles


def order_of_norms(figure: Locator, side: int) -> list[bool]:
    """Say of each box in a stack, from top to bottom, whether it is a norm."""
    frame = figure.locator("svg .model-frame").nth(side).bounding_box()
    assert frame is not None
    found = []
    for box in figure.locator("svg .model-part > rect.box.model-outline").all():
        place, is_norm = box.bounding_box(), box.get_attribute("height") == "18"
        assert place is not None
        inside = frame["x"] < place["x"] < frame["x"] + frame["width"]
        if inside and frame["y"] < place["y"] < frame["y"] + frame["height"]:
            found.append((place["y"], is_norm))
    return [is_norm for _, is_norm in sorted(found)]


@pytest.mark.browser
def test_the_switch_moves_the_norms_and_nothing_else(figure: Locator) -> None:
    unmoved = [part for part in PARTS if "attention" not in part and "forward" not in part]
    boxes = ", ".join(f'svg [data-part="{part}"] .model-outline' for part in unmoved)
    before = heights(figure, boxes), said(figure), said(figure, 2)
    for norm, order in (("post", [False, True]), ("pre", [True, False])):
        choose(figure, "Norm", norm)
        assert said(figure, 1).lower().startswith(f"{norm}-norm:")
        assert [order_of_norms(figure, side) for side in range(2)] == [2 * order, 3 * order]
        final = figure.locator('svg [data-part="norm"]').evaluate_all(
            "all => all.map((one) => one.style.opacity).filter((opacity) => opacity !== '')"
        )
        assert final == ["0" if norm == "post" else "1"] * 2  # one more norm ends each stack
        assert (heights(figure, boxes), said(figure), said(figure, 2)) == before


# ---- what is taken away -------------------------------------------------------------------------


def bars(figure: Locator) -> list[str]:
    return figure.locator(".model-number").all_inner_texts()


@pytest.mark.browser
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_error_rates_are_the_stored_ones(figure: Locator, norm: str) -> None:
    choose(figure, "Norm", norm)
    pressed = 0
    for taken in TAKEN:
        names = (taken.post if norm == "post" else None) or taken.pre
        expected = [f"{mean(stored(name)):.1f}%" for name in names]
        for part in taken.parts:
            choose(figure, "Part", part)
            assert bars(figure) == []  # guess first
            press(figure, f"Take away {taken.what}")
            assert bars(figure) == expected, (taken.key, part)
            conditions = figure.locator(".model-what").inner_text()
            assert ("post-norm" in conditions) == (names == taken.post)
            assert ("LSTM" in conditions) == names[0].startswith("LSTM")
            assert "mean of 3 seeds" in conditions
            assert all(rate in said(figure, 2) for rate in expected)
            press(figure, f"Take away {taken.what}")
            assert bars(figure) == []
            pressed += 1
    assert pressed >= 10


@pytest.mark.browser
def test_the_ticks_are_the_seeds_and_small_gaps_say_so(figure: Locator) -> None:
    choose(figure, "Part", "norm")
    both = stored("whole"), stored("post-norm")
    assert bars(figure) == [f"{mean(rates):.1f}%" for rates in both]
    ticks = figure.locator(".model-seed").evaluate_all(
        "all => all.map((tick) => parseFloat(tick.style.left))"
    )
    rates = [*both[0], *both[1]]
    assert ticks == pytest.approx([100 * rate / max(rates) for rate in rates], abs=0.1)
    # As the capstone's text says: two standard errors are 0.646.
    assert "No difference seen" in figure.locator(".model-note").inner_text()
    choose(figure, "Part", "encoder-attention")
    press(figure, "Take away all heads but one")
    assert "No difference seen" not in figure.locator(".model-note").inner_text()


@pytest.mark.browser
def test_what_is_taken_away_is_gone_until_a_word_is_sent(figure: Locator) -> None:
    choose(figure, "Part", "residual")
    assert marked(figure, "gone") == set()
    press(figure, "Take away the residual lines")
    assert marked(figure, "gone") == {"residual"}
    press(figure, "Next")
    assert marked(figure, "gone") == set()
    assert bars(figure) == []
    choose(figure, "Part", "masked-attention")
    press(figure, "Take away the causal mask")
    assert marked(figure, "gone") == {"mask"}
    assert "waits" in said(figure)  # a word goes through the whole model only


@pytest.mark.browser
def test_a_part_that_was_not_measured_says_so(figure: Locator) -> None:
    measured = {part for taken in TAKEN for part in taken.parts} | {"norm", "whole"}
    for part in PART_TEXTS.keys() - measured:
        choose(figure, "Part", part)
        assert figure.locator(".model-take button").count() == 0
        assert "was not measured" in figure.locator(".model-note").inner_text()


# ---- chapters -----------------------------------------------------------------------------------


@pytest.mark.browser
def test_every_part_leads_to_its_chapters(figure: Locator, site: Path) -> None:
    slugs = set()
    for key, part in PART_TEXTS.items():
        choose(figure, "Part", key)
        links = figure.locator(".model-chapters a")
        found = [str(link.get_attribute("href")) for link in links.all()]
        assert found == [f"{slug}.html" for slug in part.chapters]
        assert all((site / "book" / href).is_file() for href in found)
        slugs |= set(part.chapters)
    assert slugs == set(CHAPTERS)
    for link in figure.locator("svg a").all():
        assert (site / "book" / str(link.get_attribute("href"))).is_file()
    figure.locator('svg a[data-chapter="masking"]').press("Enter")
    expect(figure.page).to_have_url(re.compile(r"book/masking\.html$"))


@pytest.mark.browser
def test_a_click_on_a_box_chooses_it(figure: Locator) -> None:
    for part in ("cross-attention", "output", "residual", "memory", "next"):
        outline = figure.locator(f'svg [data-part="{part}"] .model-outline').first
        outline.scroll_into_view_if_needed()
        box = outline.bounding_box()
        assert box is not None
        figure.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        expect(figure.get_by_label("Part", exact=True)).to_have_value(part)
        assert part in marked(figure, "chosen")
        expect(figure.locator(".model-title")).to_have_text(PART_TEXTS[part].name)


@pytest.mark.browser
def test_who_comes_from_a_chapter_finds_its_parts_lit(quiet_tab: Page, address: str) -> None:
    open_page(quiet_tab, f"{address}/book/positions.html")
    quiet_tab.get_by_role("link", name="The whole model, with these parts lit").click()
    figure = quiet_tab.locator("figure.moving-figure")
    expect(figure.get_by_label("Part", exact=True)).to_have_value("source-positions")
    for slug, lit in CHAPTERS.items():
        quiet_tab.evaluate("(slug) => { location.hash = `#from-${slug}`; }", slug)
        expect(figure.locator(".moving-words li").nth(2)).to_contain_text("You come from")
        quiet_tab.wait_for_function(
            "(count) => new Set([...document.querySelectorAll('svg .model-here')]"
            ".map((part) => part.dataset.part)).size === count",
            arg=len(set(lit)),
        )
        assert marked(figure, "here") == set(lit), slug


# ---- how it stands on a page --------------------------------------------------------------------


@pytest.mark.browser
@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_it_fits_its_place_and_does_not_jump(figure_at: Callable[..., Locator], width: int) -> None:
    figure = figure_at(width, reduced_motion="reduce")
    sizes = """svg => [...svg.querySelectorAll("text")].map(
      (text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"""
    heights, places = set(), set()
    norm = figure.get_by_label("Norm", exact=True)
    for word in WORDS[:2]:
        choose(figure, "Word", word)
        following = figure.get_by_role("button", name="Next")
        expect(following).to_have_attribute("aria-disabled", "false")
        while following.get_attribute("aria-disabled") == "false":
            press(figure, "Next")
            heights.add(figure.evaluate("one => one.offsetHeight"))
        parts = labels_of(figure.locator("svg :is(text, rect)"))
        assert [each for each in parts if each.right > each.left and not each.inside] == []
    for taken in TAKEN:
        choose(figure, "Part", taken.parts[-1])
        press(figure, f"Take away {taken.what}")
        places.add(norm.evaluate("one => one.offsetTop"))
    assert min(figure.locator("svg").evaluate(sizes)) >= (11.99 if width >= 390 else 10.5)
    if width >= 390:  # a smaller phone has more lines of words
        assert len(heights) == len(places) == 1, (heights, places)
    assert figure.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.browser
def test_play_is_offered_only_where_motion_is_welcome(figure_at: Callable[..., Locator]) -> None:
    for motion in ("no-preference", "reduce"):
        figure = figure_at(1280, reduced_motion=motion)
        moves = motion == "no-preference"
        expect(figure.get_by_role("button", name="Play")).to_be_visible(visible=moves)
        duration = figure.locator(".model-tokens").first.evaluate(
            "one => getComputedStyle(one).transitionDuration"
        )
        assert (duration != "0s") == moves


@pytest.mark.browser
def test_play_goes_on_by_itself(timed_figure: Locator) -> None:
    figure, clock = timed_figure, timed_figure.page.clock
    press(figure, "Play")
    clock.run_for(2 * 1100 + 100)
    expect(figure.locator(".moving-words li").first).to_contain_text("Step 2 of")
    press(figure, "Pause")
    clock.run_for(5000)
    expect(figure.locator(".moving-words li").first).to_contain_text("Step 2 of")


@pytest.mark.browser
def test_axe_finds_nothing_while_it_is_used(figure: Locator) -> None:
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    press(figure, "Next")
    choose(figure, "Part", "masked-attention")
    press(figure, "Take away the causal mask")
    assert run_axe(figure.page, axe, "desktop-light", contrast=True) == []


@pytest.mark.browser
@pytest.mark.parametrize("height", [568, 844])
def test_the_part_that_is_lit_and_next_are_seen_together(
    browser: Browser, address: str, height: int
) -> None:
    page = browser.new_page(viewport={"width": 390, "height": height}, reduced_motion="reduce")
    open_page(page, f"{address}/{PAGE}")
    figure = page.locator("figure.moving-figure")
    following = figure.get_by_role("button", name="Next")
    following.evaluate("(e) => e.scrollIntoView({ block: 'end' })")
    while following.get_attribute("aria-disabled") == "false":
        following.click()
        expect(following).to_be_in_viewport(ratio=0.99)
        lit = figure.locator("svg .model-now > .model-outline").first
        if lit.count():  # the frame of a whole stack is higher than a small phone
            expect(lit).to_be_in_viewport(ratio=0.99)
            assert lit.evaluate("(e) => e.getBoundingClientRect().top") > following.evaluate(
                "(e) => e.getBoundingClientRect().bottom"
            )
    page.close()
