"""Figures that the reader moves: by keyboard, with the package's numbers, only where they stand."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from transformer_ref.positions import frequencies, shift_matrix, sinusoidal_encoding

PAGE = "book/positions.html"
SLIDERS = ("Position pos", "Offset k", "Pair i, from fast to slow", "Dimension D")
PICTURES = (".moving-clock", ".moving-waves", ".moving-strips", ".moving-words")


def test_a_script_is_loaded_where_its_figure_stands_and_nowhere_else(site: Path) -> None:
    for path in site.rglob("*.html"):
        if "_static" in path.relative_to(site).parts:
            continue
        page = path.read_text(encoding="utf-8")
        figures = re.findall(r'<figure [^>]*data-figure="([a-z]+)"', page)
        scripts = re.findall(r"<script[^>]* src=\"[^\"]*_static/figures/([a-z]+)\.js", page)
        assert sorted(scripts) == sorted(set(figures)), path
    assert 'data-figure="positions"' in (site / PAGE).read_text(encoding="utf-8")


@pytest.fixture
def figure(tab: Page, address: str) -> Locator:
    """Open the chapter on positions and return its figure."""
    tab.goto(f"{address}/{PAGE}")
    return tab.locator("figure.moving-figure")


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
def test_the_letters_can_be_read_on_a_phone(browser: Browser, address: str) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(f"{address}/{PAGE}")
    heights = page.locator("figure.moving-figure svg text").evaluate_all(
        "texts => texts.map((text) => text.getBoundingClientRect().height)"
    )
    page.close()
    assert len(heights) > 10
    assert min(heights) >= 11, json.dumps(heights)


@pytest.mark.browser
def test_without_javascript_there_are_words(browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/{PAGE}")
    expect(page.locator("figure.moving-figure .moving-fallback")).to_be_visible()
    expect(page.locator("figure.moving-figure figcaption")).to_be_visible()
    context.close()
