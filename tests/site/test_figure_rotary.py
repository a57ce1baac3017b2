"""The figure of the chapter on today's Transformer in which places turn a query and a key."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch
from playwright.sync_api import Locator, expect
from torch import Tensor

from tests.site.conftest import labels_of
from transformer_ref.experiments.where_next import KEY, PLACES, QUERY
from transformer_ref.positions import shift_matrix

pytestmark = pytest.mark.browser

PAGE = "book/where_next.html"
FIGURE = "rotary"
SLIDERS = {"query": "Place of the query", "key": "Place of the key"}
ON, BACK = "Shift both by 5", "Shift both back by 5"


def move_to(figure: Locator, query: int, key: int) -> None:
    """Put both sliders at places."""
    for name, place in (("query", query), ("key", key)):
        figure.get_by_label(SLIDERS[name], exact=True).fill(str(place))


def places_of(figure: Locator) -> tuple[int, ...]:
    """Return where the sliders are."""
    return tuple(
        int(figure.get_by_label(label, exact=True).input_value()) for label in SLIDERS.values()
    )


def hand(figure: Locator, name: str) -> list[float]:
    """Return the vector that a hand shows, once by its data, and check its direction on screen."""
    line = figure.locator(f".rotary-hand.rotary-{name}")
    x1, y1, x2, y2 = (float(line.get_attribute(at) or "") for at in ("x1", "y1", "x2", "y2"))
    vector = [float(part) for part in (line.get_attribute("data-vector") or "").split()]
    drawn = torch.tensor([x2 - x1, y1 - y2])  # y grows downwards
    expected = torch.tensor(vector)
    torch.testing.assert_close(drawn / drawn.norm(), expected / expected.norm())
    return vector


def words_of(figure: Locator) -> str:
    """Return what the figure says, with a hyphen for the minus sign."""
    return figure.locator(".moving-words").inner_text().replace("\N{MINUS SIGN}", "-")


def product_of(figure: Locator) -> float:
    """Return the product that the figure says."""
    found = re.search(r"q · k = (-?\d+\.\d+)", words_of(figure))
    assert found, words_of(figure)
    return float(found[1])


def at_place(vector: tuple[float, float], place: int) -> Tensor:
    """Turn a vector by the package's matrix, which turns the other way.

    Pair 1 of 8 features turns by 0.1 radians for each place.
    """
    return shift_matrix(-place, 8)[2:4, 2:4] @ torch.tensor(vector, dtype=torch.float64)


@pytest.mark.parametrize("places", [*PLACES, (1, 5), (60, 0), (0, 60), (37, 60)])
def test_the_figure_shows_what_the_package_computes(
    figure: Locator, places: tuple[int, int]
) -> None:
    move_to(figure, *places)
    query, key = at_place(QUERY, places[0]), at_place(KEY, places[1])
    assert hand(figure, "query") == pytest.approx(query.tolist(), abs=1e-9)
    assert hand(figure, "key") == pytest.approx(key.tolist(), abs=1e-9)
    assert product_of(figure) == pytest.approx((query @ key).item(), abs=0.0051)
    shown = figure.locator(".rotary-number").text_content() or ""
    shown = shown.replace("\N{MINUS SIGN}", "-")
    assert float(shown) == product_of(figure)


def test_shifting_both_changes_the_hands_but_not_the_product(figure: Locator) -> None:
    """What the reader is asked to predict."""
    assert places_of(figure) == PLACES[1]
    before, product = hand(figure, "query"), product_of(figure)
    assert "both move by 5" in words_of(figure)
    for shifted in range(1, 4):
        figure.get_by_role("button", name=ON, exact=True).click()
        assert places_of(figure) == tuple(place + 5 * shifted for place in PLACES[1])
        assert hand(figure, "query") != before
        assert product_of(figure) == product
        assert "as with the query at 5 and the key at 1" in words_of(figure)
        expect(figure.locator(".rotary-seen")).to_have_count(1)
    figure.get_by_label(SLIDERS["query"], exact=True).press("ArrowRight")
    assert product_of(figure) != product
    expect(figure.locator(".rotary-seen")).to_have_count(2)


def test_the_buttons_keep_both_within_the_places(figure: Locator) -> None:
    on, back = (figure.get_by_role("button", name=name, exact=True) for name in (ON, BACK))
    expect(back).to_have_attribute("aria-disabled", "true")  # the key is at 1
    back.press("Enter")
    assert places_of(figure) == PLACES[1]
    move_to(figure, 58, 20)
    expect(on).to_have_attribute("aria-disabled", "true")
    on.press("Enter")
    assert places_of(figure) == (58, 20)
    back.press("Enter")
    assert places_of(figure) == (53, 15)
    expect(on).to_have_attribute("aria-disabled", "false")


@pytest.mark.parametrize("name", SLIDERS)
def test_each_hand_is_moved_by_keyboard_and_dragged(figure: Locator, name: str) -> None:
    start, other = places_of(figure), "key" if name == "query" else "query"
    kept = hand(figure, other)
    figure.get_by_label(SLIDERS[name], exact=True).press("ArrowRight")
    assert sum(places_of(figure)) == sum(start) + 1
    assert hand(figure, other) == kept

    figure.scroll_into_view_if_needed()
    box = figure.locator(f".rotary-tip.rotary-{name}").bounding_box()
    dial = figure.locator(".rotary-dial").bounding_box()
    assert box
    assert dial
    mouse = figure.page.mouse
    mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    mouse.down()
    mouse.move(dial["x"] + dial["width"] / 2 - 80, dial["y"] + dial["height"] / 2, steps=4)
    mouse.up()
    across, up = hand(figure, name)
    assert across < -1.9, "it points to the left"
    assert abs(up) < 0.2
    assert hand(figure, other) == kept


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_letters_can_be_read_and_nothing_is_cut_off(
    figure_at: Callable[..., Locator], width: int
) -> None:
    figure = figure_at(width)
    for places in [*PLACES, (60, 0), (30, 16), (12, 47)]:
        move_to(figure, *places)
        labels = labels_of(figure.locator("svg text"))
        assert len(labels) > 10
        assert [each for each in labels if each.height < 11 or not each.inside] == []


def test_the_cell_with_the_data_takes_no_space(figure: Locator) -> None:
    """In dark mode an output has a background and a padding."""
    figure.page.evaluate("document.documentElement.dataset.theme = 'dark'")
    cell = figure.page.locator(".cell", has=figure.page.locator("script.moving-data"))
    expect(cell).to_have_count(1)
    expect(cell).to_be_hidden()
