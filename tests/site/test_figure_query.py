"""The figures of the chapter on attention in which a query moves: in the plane, and at random."""

from __future__ import annotations

import math
import re

import pytest
import torch
from playwright.sync_api import Browser, Locator, Page, expect
from torch import Tensor
from torch.nn import functional as F

from tests.site.conftest import labels_of, open_page
from transformer_ref.attention import scaled_dot_product_attention
from transformer_ref.experiments.attention import WORDS, by_hand

pytestmark = pytest.mark.browser

PAGE = "book/attention.html"
TURN, LENGTH = "Turn the query", "Length of the query"
FEATURES, DIVIDE = "Features of a query", "Divide by the root of the features"


def figure_on(page: Page, part: str) -> Locator:
    """Return one of the two figures."""
    return page.locator(f'figure[data-figure="query"][data-part="{part}"]')


@pytest.fixture
def plane(tab: Page, address: str) -> Locator:
    """Open the chapter and return the figure of the three words."""
    open_page(tab, f"{address}/{PAGE}")
    return figure_on(tab, "plane")


@pytest.fixture
def root(tab: Page, address: str) -> Locator:
    """Open the chapter and return the figure of the random vectors."""
    open_page(tab, f"{address}/{PAGE}")
    return figure_on(tab, "root")


def set_to(figure: Locator, slider: str, value: float) -> None:
    """Put a slider at a value."""
    figure.get_by_label(slider, exact=True).fill(str(value))


def numbers_of(figure: Locator, selector: str, attribute: str) -> list[float]:
    """Return the numbers in an attribute of all elements of one kind."""
    found = figure.locator(selector).evaluate_all(
        "(all, name) => all.map((one) => one.getAttribute(name))", attribute
    )
    return [float(number) for text in found for number in text.split()]


def words_of(figure: Locator) -> str:
    """Return what the figure says, with a hyphen for the minus sign."""
    return figure.locator(".moving-words").inner_text().replace("\N{MINUS SIGN}", "-")


def numbers_after(text: str, pattern: str) -> list[float]:
    """Return the numbers of the line that a pattern begins."""
    found = re.search(f"{pattern}(.*)", text)
    assert found, text
    return [float(number) for number in re.findall(r"-?\d+\.\d+", found[1])]


def turned(degrees: float, percent: float) -> Tensor:
    """Return the query of the drawing, turned and stretched, by complex numbers."""
    x, y = by_hand()["Q"][2].tolist()
    angle = math.radians(degrees)
    moved = complex(x, y) * complex(math.cos(angle), math.sin(angle)) * percent / 100
    return torch.tensor([moved.real, moved.imag])


@pytest.mark.parametrize("state", [(0, 100), (90, 100), (155, 175), (-60, 40), (-180, 0)])
def test_the_plane_shows_what_the_package_computes(plane: Locator, state: tuple[int, int]) -> None:
    set_to(plane, TURN, state[0])
    set_to(plane, LENGTH, state[1])
    step, query = by_hand(), turned(*state)
    undivided = math.sqrt(2) * query[None]  # the figure comes before the root
    output, weights = scaled_dot_product_attention(undivided, step["K"], step["V"])
    shown = numbers_of(plane, ".moving-share", "data-weight")
    assert shown == pytest.approx(weights[0].tolist(), abs=1e-6)
    point = numbers_of(plane, ".moving-output", "data-output")
    assert point == pytest.approx(output[0].tolist(), abs=1e-5)
    text = words_of(plane)
    assert numbers_after(text, "Products: ") == pytest.approx(
        (step["K"] @ query).tolist(), abs=0.006
    )
    assert numbers_after(text, "softmax: ") == pytest.approx(weights[0].tolist(), abs=0.006)
    assert numbers_after(text, "Output ") == pytest.approx(output[0].tolist(), abs=0.006)
    longest = plane.get_by_label(LENGTH, exact=True).get_attribute("aria-valuetext")
    assert float(longest or "") == pytest.approx(query.norm().item(), abs=0.006)


def test_it_begins_with_the_numbers_of_the_drawing(plane: Locator) -> None:
    text = words_of(plane)
    assert "Query (1.00, 1.00). Products: cat 2.00, sat 0.00, it 1.00." in text
    assert "cat 0.67, sat 0.09, it 0.24." in text
    assert "Output (1.58, 3.49): mostly the value of \N{LEFT DOUBLE QUOTATION MARK}cat" in text


@pytest.mark.parametrize("slider", [TURN, LENGTH])
def test_the_plane_is_moved_by_keyboard(plane: Locator, slider: str) -> None:
    def drawn() -> list[str]:
        places = (".moving-plane", ".moving-bars", ".moving-values", ".moving-words")
        return [plane.locator(place).inner_html() for place in places]

    before, control = drawn(), plane.get_by_label(slider, exact=True)
    control.press("ArrowRight")
    assert all(old != new for old, new in zip(before, drawn(), strict=True))
    control.press("ArrowLeft")
    assert drawn() == before


def test_what_the_reader_is_asked_to_predict(plane: Locator) -> None:
    weights: dict[int, list[float]] = {}
    for degrees in range(-180, 181, 15):
        set_to(plane, TURN, degrees)
        weights[degrees] = numbers_of(plane, ".moving-share", "data-weight")
        set_to(plane, LENGTH, 150)
        longer = numbers_of(plane, ".moving-share", "data-weight")
        assert max(longer) > max(weights[degrees]), "a longer query prefers one word more"
        set_to(plane, LENGTH, 100)
    best = {WORDS[shares.index(max(shares))] for shares in weights.values()}
    assert best == set(WORDS), "each word can answer"
    set_to(plane, LENGTH, 0)
    assert numbers_of(plane, ".moving-share", "data-weight") == pytest.approx([1 / 3] * 3)
    assert "all three values alike" in words_of(plane)
    set_to(plane, LENGTH, 100)
    set_to(plane, TURN, 90)
    assert re.search("cat. and .sat. alike", words_of(plane))


def test_the_handle_is_dragged(plane: Locator) -> None:
    plane.locator(".moving-plane").scroll_into_view_if_needed()
    handle, frame = (
        plane.locator(place).bounding_box() for place in (".moving-handle", ".moving-plane")
    )
    assert handle
    assert frame
    mouse = plane.page.mouse
    mouse.move(handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2)
    mouse.down()
    mouse.move(frame["x"] + frame["width"] / 2 - 90, frame["y"] + frame["height"] / 2, steps=4)
    mouse.up()
    query = numbers_after(words_of(plane), "Query ")[:2]
    assert query[0] < -1.4, "it points to the left"
    assert abs(query[1]) < 0.2
    weights = numbers_of(plane, ".moving-share", "data-weight")
    assert WORDS[weights.index(max(weights))] == "sat"
    mouse.move(frame["x"] + 20, frame["y"] + 20)
    assert numbers_after(words_of(plane), "Query ")[:2] == query, "it was let go"


# ---- random vectors ------------------------------------------------------------------------------


def random_products(d_k: int) -> Tensor:
    """The products of the chapter's thousand queries with their ten keys."""
    torch.manual_seed(0)
    query, key = torch.randn(1000, 1, d_k), torch.randn(1000, 10, d_k)
    return torch.einsum("nqd,nkd->nk", query, key)


def shown_query(root: Locator) -> int:
    """Which of the queries is shown, from 0."""
    found = re.search(r"Query (\d+) of 12", words_of(root))
    assert found
    return int(found[1]) - 1


@pytest.mark.parametrize("place", [0, 3, 6, 8])
def test_the_random_weights_are_those_of_torch(root: Locator, place: int) -> None:
    set_to(root, FEATURES, place)
    products = random_products(2**place)
    for divisor in (1.0, math.sqrt(2**place)):
        root.get_by_role("switch", name=DIVIDE).set_checked(divisor > 1)
        weights = F.softmax(products / divisor, dim=-1)
        shown = numbers_of(root, ".moving-share", "data-weight")
        assert shown == pytest.approx(weights[shown_query(root)].tolist(), abs=2e-3)
        said = numbers_after(words_of(root), "Over 1,000 queries")
        assert said == pytest.approx([weights.amax(dim=-1).mean().item()], abs=0.006)


def test_the_first_random_query_follows_the_mean(root: Locator) -> None:
    for place in range(9):
        set_to(root, FEATURES, place)
        largest = max(numbers_of(root, ".moving-share", "data-weight"))
        assert numbers_after(words_of(root), "Over 1,000 queries")[0] == pytest.approx(
            largest, abs=0.25
        )
    assert largest > 0.9
    root.get_by_role("switch", name=DIVIDE).press("Space")
    assert max(numbers_of(root, ".moving-share", "data-weight")) < 0.5


def test_another_query_comes_and_the_first_comes_back(root: Locator) -> None:
    another = root.get_by_role("button", name="Another query")
    begin, seen = shown_query(root), []
    for _ in range(12):
        another.press("Enter")
        seen.append(shown_query(root))
    assert sorted(seen) == list(range(12))
    assert seen[-1] == begin
    expect(root.get_by_label(FEATURES, exact=True)).to_have_attribute("aria-valuetext", "1")


def test_a_curve_is_drawn_only_as_far_as_the_reader_has_moved(root: Locator) -> None:
    curves = root.locator(".moving-mean")
    expect(curves).to_have_count(1)
    for place, points in ((0, 1), (4, 5), (2, 5)):
        set_to(root, FEATURES, place)
        assert len((curves.first.get_attribute("points") or "").split()) == points
    root.get_by_role("switch", name=DIVIDE).press("Space")
    expect(curves).to_have_count(2)
    assert len((curves.last.get_attribute("points") or "").split()) == 3


# ---- how it looks --------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_letters_can_be_read_and_nothing_is_cut_off(
    browser: Browser, address: str, width: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    open_page(page, f"{address}/{PAGE}")
    for part in ("plane", "root"):
        figure = figure_on(page, part)
        for state in [(-90, 175), (155, 175)] if part == "plane" else [(0, 0), (8, 0)]:
            set_to(figure, TURN if part == "plane" else FEATURES, state[0])
            if part == "plane":
                set_to(figure, LENGTH, state[1])
            labels = labels_of(figure.locator("svg text"))
            assert len(labels) > 10
            small = 11 if width > 320 else 10
            assert [each for each in labels if each.height < small or not each.inside] == []
    page.close()
