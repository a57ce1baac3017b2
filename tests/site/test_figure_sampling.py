"""The figure in the chapters on decoding and on GPT that draws tokens: what it cuts and says."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, Page, expect
from torch import Tensor

from tests.site.conftest import labels_of, open_page
from transformer_ref.decoding import filter_logits
from transformer_ref.experiments.decoding import STEPS

PAGE = "book/gpt.html"
FIGURE = "sampling"
TOP_KS = [1, 2, 3, 5, 8, 10, 20, 50, 100, 300, None]
SHOWN = 10

pytestmark = pytest.mark.browser


def data_of(figure: Locator) -> dict[str, Any]:
    """Return what the page has exported: the names of the tokens, and the logits of each text."""
    script = figure.page.locator('script.moving-data[data-for="sampling"]')
    data: dict[str, Any] = json.loads(script.text_content() or "")
    return data


def set_to(
    figure: Locator,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    prompt: int = 0,
) -> None:
    """Move the sliders, whose steps are not the values."""
    figure.get_by_label("Text so far", exact=True).select_option(str(prompt))
    for label, value in (
        ("Temperature", round(10 * temperature)),
        ("Top-k", TOP_KS.index(top_k)),
        ("Top-p", round(20 * (top_p or 1.0))),
    ):
        figure.get_by_label(label, exact=True).fill(str(value))


def expected_after(figure: Locator, prompt: int, temperature: float, **rules: Any) -> Tensor:
    """Return what the package makes of the logits, the likeliest first: (V,)."""
    logits = torch.tensor(data_of(figure)["prompts"][prompt]["logits"], dtype=torch.float64)
    logits = logits.sort(descending=True, stable=True).values
    return filter_logits(logits / temperature, **rules).softmax(dim=-1)


def numbers(figure: Locator, column: str) -> list[str]:
    """Return the numbers of a column, from the likeliest token down."""
    return figure.locator(f".sampling-{column}-number").all_text_contents()


def words_of(figure: Locator) -> str:
    """Return what the figure says."""
    return figure.locator(".moving-words").inner_text()


def said_bits(figure: Locator) -> list[float]:
    """Return the entropies before and after, in bits."""
    return [float(found) for found in re.findall(r"([\d.]+) bits", words_of(figure))]


CASES = [
    {"prompt": 0, "temperature": 1.0, "top_k": None, "top_p": None},
    {"prompt": 1, "temperature": 0.5, "top_k": 5, "top_p": None},
    {"prompt": 2, "temperature": 2.0, "top_k": 20, "top_p": 0.5},
    {"prompt": 3, "temperature": 0.7, "top_k": None, "top_p": 0.3},
    {"prompt": 0, "temperature": 0.1, "top_k": 1, "top_p": 0.05},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_bars_are_those_of_the_package(figure: Locator, case: dict[str, Any]) -> None:
    set_to(figure, **case)
    after = expected_after(figure, **case)
    wanted = [*after[:SHOWN].tolist(), after[SHOWN:].sum().item()]
    shown = [float(text.rstrip("%")) / 100 for text in numbers(figure, "after")]
    assert shown == pytest.approx(wanted, abs=0.0051)
    widths = figure.locator(".sampling-after").evaluate_all(
        "bars => bars.map((bar) => Number(bar.getAttribute('width')))"
    )
    assert [width / widths[0] for width in widths] == pytest.approx(
        (after[:SHOWN] / after[0]).tolist(), abs=1e-3
    )
    before = expected_after(figure, case["prompt"], 1.0)
    entropies = [torch.special.entr(p).sum().item() / math.log(2) for p in (before, after)]
    assert said_bits(figure) == pytest.approx(entropies, abs=0.051)
    kept = int((after > 0).sum())
    if kept < len(after):
        assert re.search(rf"\b{kept} of 1,284 tokens (is|are) left", words_of(figure))
    expect(figure.locator(".sampling-cut .sampling-after")).to_have_count(max(0, SHOWN - kept))


@pytest.mark.parametrize("total", [100, 1000])
def test_a_draw_is_fair_and_its_range_is_the_binomial_one(figure: Locator, total: int) -> None:
    set_to(figure, top_k=8)
    after = expected_after(figure, 0, 1.0, top_k=8).tolist()[:8]
    figure.get_by_role("button", name=f"Draw {total:,}", exact=True).click()
    counts = [int(text) for text in numbers(figure, "drawn")]
    assert len(counts) == 8
    assert sum(counts) == total
    for count, shown, p in zip(counts, numbers(figure, "range"), after, strict=True):
        low, high = (int(end) for end in shown.split("\N{EN DASH}"))
        assert at_most(low - 1, p, total) <= 0.005 < at_most(low, p, total)
        assert at_most(high - 1, p, total) < 0.995 <= at_most(high, p, total)
        assert abs(count - p * total) < 4 * math.sqrt(p * (1 - p) * total)
    expect(figure.locator(".sampling-drawn")).to_have_count(8)
    assert (figure.locator(".sampling-ticks").get_attribute("d") or "").count("M") == total


def at_most(count: int, p: float, total: int) -> float:
    """Return the probability of at most so many of `total` draws."""
    terms = (math.comb(total, k) * p**k * (1 - p) ** (total - k) for k in range(count + 1))
    return math.fsum(terms)


def test_a_draw_is_followed_by_another_and_forgotten_with_its_distribution(figure: Locator) -> None:
    button = figure.get_by_role("button", name="Draw 100", exact=True)
    button.press("Enter")
    first = numbers(figure, "drawn")
    assert "Drawn: 100 tokens" in words_of(figure)
    button.press("Enter")
    assert numbers(figure, "drawn") != first
    figure.get_by_label("Temperature", exact=True).press("ArrowLeft")
    assert numbers(figure, "drawn") == []
    assert "nothing yet" in words_of(figure)


@pytest.mark.parametrize("label", ["Temperature", "Top-k", "Top-p"])
def test_each_slider_changes_the_guess_and_nothing_else(figure: Locator, label: str) -> None:
    slider = figure.get_by_label(label, exact=True)
    others = [name for name in ("Temperature", "Top-k", "Top-p") if name != label]

    def drawn() -> list[str]:
        parts = (".sampling-picture", ".moving-words")
        return [figure.locator(part).inner_html() for part in parts]

    def values() -> list[str | None]:
        found = [figure.get_by_label(name, exact=True) for name in others]
        return [one.get_attribute("aria-valuetext") for one in found]

    before, kept, model = drawn(), values(), numbers(figure, "before")
    for _ in range(8):
        slider.press("ArrowLeft")
    after = drawn()
    assert all(old != new for old, new in zip(before, after, strict=True))
    assert numbers(figure, "before") == model
    assert values() == kept
    for _ in range(8):
        slider.press("ArrowRight")
    assert drawn() == before


def test_a_phone_has_room_for_it(figure_at: Callable[..., Locator]) -> None:
    figure = figure_at(390)
    expect(figure.locator(".sampling-before-number")).to_have_count(0)
    figure.get_by_role("button", name="Draw 1,000").click()
    labels = labels_of(figure.locator("svg text"))
    assert len(labels) > 30
    assert [each for each in labels if each.height < 12 or not each.inside] == []


# ---- the same figure in the chapter on decoding --------------------------------------------------


def test_it_gives_the_numbers_of_the_table_in_the_chapter_on_decoding(
    tab: Page, address: str
) -> None:
    open_page(tab, f"{address}/book/decoding.html")
    figure = tab.locator('figure[data-figure="sampling"]')
    logits = torch.tensor([*STEPS["open"].values()]).log()
    assert numbers(figure, "after") == [f"{100 * p:.0f}%" for p in logits.exp().tolist()]
    set_to(figure, temperature=0.5, top_k=3, top_p=0.8)
    after = filter_logits(logits / 0.5, top_k=3, top_p=0.8).softmax(dim=-1)
    assert numbers(figure, "after") == [f"{100 * p:.0f}%" for p in after.tolist()]
    assert figure.locator(".sampling-name").all_text_contents() == [*STEPS["open"]]
    set_to(figure, temperature=2, prompt=1)
    assert len(numbers(figure, "after")) == SHOWN + 1
