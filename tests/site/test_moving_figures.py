"""Figures that the reader moves: by keyboard, with the package's numbers, only where they stand."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, Locator, Page, expect

from tests.site.conftest import labels_of, open_page, stop_clock
from transformer_ref.applications.g2p import Speller
from transformer_ref.data import load_cmudict
from transformer_ref.decoding import beam_search
from transformer_ref.positions import frequencies, shift_matrix, sinusoidal_encoding

PAGE = "book/positions.html"
FIGURE = "positions"
SEARCH_PAGE = "book/closer/decoding.html"
SLIDERS = ("Position pos", "Offset k", "Pair i, from fast to slow", "Dimension D")
PICTURES = (".moving-clock", ".moving-waves", ".moving-strips", ".moving-words")


def test_a_figure_is_loaded_where_it_appears_and_nowhere_else(site: Path) -> None:
    for path in site.rglob("*.html"):
        if "_static" in path.relative_to(site).parts:
            continue
        page = path.read_text(encoding="utf-8")
        figures = re.findall(r'<figure [^>]*data-figure="([a-z]+)"', page)
        head = page.partition("</head>")[0]
        styles = re.findall(r'<link rel="stylesheet"[^>]* href="[^"]*/figures/([a-z]+)\.css', head)
        scripts = re.findall(r"<script[^>]* src=\"[^\"]*_static/figures/([a-z]+)\.js", page)
        assert sorted(scripts) == sorted(styles) == sorted(set(figures)), path
    assert 'data-figure="positions"' in (site / PAGE).read_text(encoding="utf-8")
    assert 'data-figure="decoding"' in (site / SEARCH_PAGE).read_text(encoding="utf-8")


def move(figure: Locator, slider: str, key: str, times: int = 1) -> None:
    """Move a slider as somebody without a mouse does."""
    control = figure.get_by_label(slider, exact=True)
    control.focus()
    for _ in range(times):
        control.press(key)


def set_to(figure: Locator, position: int, offset: int, pair: int, size: int) -> None:
    """Move all sliders to the given values; the steps of the dimension have no other way."""
    for slider, steps in (
        ("Dimension D", [4, 8, 12, 16, 32, 64, 128].index(size)),
        ("Position pos", position),
        ("Offset k", offset),
        ("Pair i, from fast to slow", pair),
    ):
        move(figure, slider, "Home")
        move(figure, slider, "ArrowRight", steps)


def found_in(text: str, pattern: str) -> str:
    """Return what the group of a pattern matches."""
    found = re.search(pattern, text)
    assert found, text
    return found[1]


@pytest.mark.browser
@pytest.mark.parametrize("slider", SLIDERS)
def test_each_slider_moves_the_figure(figure: Locator, slider: str) -> None:
    def drawn() -> list[str]:
        return [figure.locator(picture).inner_html() for picture in PICTURES]

    before = drawn()
    move(figure, slider, "ArrowRight")
    after = drawn()
    assert all(old != new for old, new in zip(before, after, strict=True)), slider
    move(figure, slider, "ArrowLeft")
    assert drawn() == before


@pytest.mark.browser
@pytest.mark.parametrize("state", [(5, 3, 1, 12), (40, 19, 0, 4), (7, 11, 20, 64)])
def test_the_figure_shows_what_the_package_computes(
    figure: Locator, state: tuple[int, int, int, int]
) -> None:
    set_to(figure, *state)
    position, offset, pair, size = state
    text = figure.locator(".moving-words").inner_text().replace("\N{MINUS SIGN}", "-")
    table = sinusoidal_encoding(position + offset + 1, size).double()
    omega = frequencies(size)[pair].item()
    block = shift_matrix(offset, size)[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2]
    round_takes, turns_by, entries, product = (
        found_in(text, pattern)
        for pattern in (
            r"one round takes ([0-9.]+)",
            r"turns by ([0-9.]+)",
            r"is \[(.*)\]",
            r"= (\S+), of at most",
        )
    )
    assert float(round_takes) == pytest.approx(2 * math.pi / omega, rel=0.01)
    assert float(turns_by) == pytest.approx(math.degrees(offset * omega), abs=0.05)
    shown = [float(entry) for entry in re.split("[,;]", entries)]
    assert shown == pytest.approx(block.flatten().tolist(), abs=0.006)
    expected = table[position] @ table[position + offset]
    assert float(product) == pytest.approx(expected.item(), abs=0.006)
    for hand, place in (("now", position), ("later", position + offset)):
        line = figure.locator(f".moving-hand.moving-{hand}")
        x1, y1, x2, y2 = (
            float(line.get_attribute(name) or "") for name in ("x1", "y1", "x2", "y2")
        )
        length = math.hypot(x2 - x1, y2 - y1)
        points_to = [(x2 - x1) / length, (y1 - y2) / length]  # y grows downwards
        assert points_to == pytest.approx(table[place, 2 * pair : 2 * pair + 2].tolist(), abs=1e-6)


@pytest.mark.browser
def test_the_position_alone_changes_neither_the_turn_nor_the_product(figure: Locator) -> None:
    """What the reader is told to try."""

    def numbers() -> list[str]:
        text = figure.locator(".moving-words").inner_text()
        return [*re.findall(r"turns by (\S+)", text), *re.findall(r"= (\S+),", text)]

    before = numbers()
    move(figure, "Position pos", "PageUp")
    assert numbers() == before
    move(figure, "Offset k", "ArrowRight")
    assert numbers() != before


@pytest.mark.browser
def test_the_pair_stays_within_the_dimension(figure: Locator) -> None:
    move(figure, "Pair i, from fast to slow", "End")
    move(figure, "Dimension D", "Home")
    pair = figure.get_by_label("Pair i, from fast to slow", exact=True)
    expect(pair).to_have_value("1")
    expect(figure.get_by_label("Dimension D", exact=True)).to_have_attribute("aria-valuetext", "4")
    expect(figure.locator(".moving-clock")).to_have_attribute("aria-label", re.compile("pair 1"))


@pytest.mark.browser
def test_the_letters_can_be_read_on_a_phone(figure_at: Callable[..., Locator]) -> None:
    labels = labels_of(figure_at(390).locator("svg text"))
    assert len(labels) > 10
    assert [each for each in labels if 0 < each.height < 11] == []


# Figures in whose place there is a drawing.
DRAWN = {
    *("advantage", "beam", "keys", "lookback", "model", "positions", "rotary", "skipgram"),
    *("speak", "walk"),
}


@pytest.mark.browser
def test_without_javascript_there_are_words_or_a_drawing(
    browser: Browser, address: str, site: Path
) -> None:
    drawn: set[str | None] = set()
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    for path in (site / "book").rglob("*.html"):
        if "data-figure=" not in path.read_text(encoding="utf-8"):
            continue
        page.goto(f"{address}/{path.relative_to(site)}")
        for figure in page.locator("figure.moving-figure").all():
            expect(figure.locator("figcaption")).to_be_visible()
            expect(figure.locator(".moving-fallback")).to_be_visible()
            if figure.locator("svg.drawing").filter(visible=True).count():
                drawn.add(figure.get_attribute("data-figure"))
    context.close()
    assert drawn >= DRAWN


# Figures with Back, Next and Play: where they are, and what their slider is called.
STEPPED = {
    "beam": ("book/decoding.html", "Half steps"),
    "cache": ("book/closer/decoding.html", "Step"),
    "checkpoints": ("book/training.html", "Checkpoint"),
    "decoding": ("book/closer/decoding.html", "Step"),
    "lookback": ("book/sequences.html", "Letter and step"),
    "merges": ("book/tokenizers.html", "Merges done"),
    "skipgram": ("book/embeddings.html", "Updates"),
}


@pytest.mark.browser
@pytest.mark.parametrize("name", STEPPED)
def test_steps_stay_in_their_range_and_play_by_themselves(
    timed_tab: Page, address: str, name: str
) -> None:
    page_name, label = STEPPED[name]
    open_page(timed_tab, f"{address}/{page_name}")
    stop_clock(timed_tab)
    figure = timed_tab.locator(f'figure[data-figure="{name}"]')
    slider = figure.get_by_label(label, exact=True)
    back, forward, play = (
        figure.get_by_role("button", name=each, exact=True) for each in ("Back", "Next", "Play")
    )
    slider.press("Home")
    first, last, said = map(slider.get_attribute, ("min", "max", "aria-valuetext"))
    expect(back).to_have_attribute("aria-disabled", "true")
    back.press("Enter")  # does nothing, and keeps the focus
    expect(slider).to_have_value(first or "")
    expect(back).to_be_focused()
    forward.press("Enter")
    expect(slider).to_have_value(str(int(first or 0) + 1))
    expect(slider).not_to_have_attribute("aria-valuetext", said or "")
    slider.press("End")
    forward.press("Enter")
    expect(slider).to_have_value(last or "")
    expect(forward).to_have_attribute("aria-disabled", "true")
    play.click()  # begins again
    expect(slider).to_have_value(first or "")
    figure.get_by_role("button", name="Pause", exact=True).click()
    timed_tab.clock.run_for(9_000)
    expect(slider).to_have_value(first or "")
    play.click()
    timed_tab.clock.run_for(120_000)
    expect(slider).to_have_value(last or "")
    expect(play).to_be_visible()


# ---- the search in the closer look at decoding ---------------------------------------------------

SEARCH_PICTURES = (".moving-tree", ".moving-looks", ".moving-next", ".moving-words")
SHOWN = "Beginning shown, best first"


@pytest.fixture
def search(tab: Page, address: str) -> Locator:
    """Open the closer look at decoding and return its figure."""
    open_page(tab, f"{address}/{SEARCH_PAGE}")
    return tab.locator('figure[data-figure="decoding"]')


def choose(search: Locator, word: str, beam_size: int) -> None:
    """Choose a word and a beam size, and go to the last step and the best beginning."""
    search.get_by_label("Word", exact=True).select_option(word)
    move(search, "Beam size", "Home")
    move(search, "Beam size", "ArrowRight", beam_size - 1)
    move(search, "Step", "End")
    move(search, SHOWN, "Home")


def words_of(search: Locator) -> str:
    """Return what the figure says, with a hyphen for the minus sign."""
    return search.locator(".moving-words").inner_text().replace("\N{MINUS SIGN}", "-")


def words_to_choose(search: Locator) -> list[str]:
    """Return the words of the figure."""
    return search.get_by_label("Word", exact=True).locator("option").all_inner_texts()


@pytest.mark.browser
def test_the_search_finds_what_the_package_finds(search: Locator, speller: Speller) -> None:
    test_split = dict(load_cmudict("test"))
    bos_id, eos_id = speller.phonemes.bos_id, speller.phonemes.eos_id
    words = words_to_choose(search)
    assert len(words) >= 5
    for word in words:
        for beam_size in (1, 2, 3, 4):
            ids, scores = beam_search(
                speller.model, speller.source([word]), bos_id, eos_id, beam_size, 64
            )
            answer = speller.phonemes.decode(ids[0, 0].tolist())
            choose(search, word, beam_size)
            said = words_of(search)
            case = f"{word}, beam of {beam_size}: {said}"
            assert found_in(said, r"search is over: ([A-Z ]+), with") == " ".join(answer), case
            score = float(found_in(said, r"search is over: [A-Z ]+, with (\S+)\."))
            assert score == pytest.approx(scores[0, 0].item(), abs=0.006), case
            verdict = "is right" if answer in test_split[word] else "counts as wrong"
            assert said.endswith(f"so this {verdict}."), case


@pytest.mark.browser
def test_the_curves_are_the_weights_of_the_model(search: Locator, speller: Speller) -> None:
    choose(search, "knighted", 1)
    _, layers = speller.attention("knighted")
    weights = torch.stack(layers).mean(dim=(0, 1))  # over layers and heads
    for step in range(len(weights), 0, -1):
        shown = search.locator(".moving-look.moving-new").evaluate_all(
            "curves => curves.map((curve) => Number(curve.dataset.weight))"
        )
        expected = [weight for weight in weights[step - 1].tolist() if weight >= 0.0305]
        assert [w for w in shown if w >= 0.0305] == pytest.approx(expected, abs=0.002), step
        move(search, "Step", "ArrowLeft")


@pytest.mark.browser
@pytest.mark.parametrize("way", ["Beam size", "Step", SHOWN])
def test_the_search_is_moved_by_keyboard(search: Locator, way: str) -> None:
    def drawn() -> list[str]:
        return [search.locator(picture).inner_html() for picture in SEARCH_PICTURES]

    before = drawn()
    move(search, way, "ArrowRight")
    after = drawn()
    assert before != after
    assert before[0] != after[0], "the tree"
    assert before[3] != after[3], "the words"
    move(search, way, "ArrowLeft")
    assert drawn() == before


@pytest.mark.browser
def test_a_shorter_search_takes_the_step_back(search: Locator) -> None:
    choose(search, "cadillac", 4)
    search.get_by_label("Word", exact=True).select_option("attach")
    step = search.get_by_label("Step", exact=True)
    assert step.input_value() == step.get_attribute("max")
    move(search, SHOWN, "End")
    move(search, "Beam size", "Home")
    expect(search.get_by_label(SHOWN, exact=True)).to_have_value("1")
    assert "AE T AH K" in words_of(search)


@pytest.mark.browser
def test_a_click_on_the_tree_shows_that_beginning(search: Locator) -> None:
    choose(search, "attach", 2)
    search.locator('.moving-node[data-column="2"][data-lane="1"]').click()
    expect(search.get_by_label("Step", exact=True)).to_have_value("2")
    expect(search.get_by_label(SHOWN, exact=True)).to_have_value("2")
    assert "Goes in: <bos> AH. Comes out: T" in words_of(search)


@pytest.mark.browser
def test_who_wants_less_motion_gets_none(browser: Browser, address: str) -> None:
    moving = "document.getAnimations().filter((one) => one.animationName === 'moving-look').length"
    for motion, expected in (("no-preference", True), ("reduce", False)):
        page = browser.new_page(reduced_motion=motion)  # type: ignore[arg-type]
        open_page(page, f"{address}/{SEARCH_PAGE}")
        figure = page.locator('figure[data-figure="decoding"]')
        figure.get_by_role("button", name="Next").click()
        assert bool(page.evaluate(moving)) is expected
        expect(figure.get_by_role("button", name="Play")).to_be_visible(visible=expected)
        page.close()


@pytest.mark.browser
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_search_fits_its_place(browser: Browser, address: str, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    open_page(page, f"{address}/{SEARCH_PAGE}")
    search = page.locator('figure[data-figure="decoding"]')
    for word in words_to_choose(search):
        choose(search, word, 4)
        parts = labels_of(search.locator(".moving-pictures svg :is(text, rect)"))
        shown = [each for each in parts if each.right > each.left]
        assert [each for each in shown if not each.inside] == [], word
        assert width < 390 or min(each.height for each in shown if each.text) >= 11, word
    page.close()
