"""The figure of the chapter on training in which the reader guesses what is wrong with a run."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.site.conftest import labels_of
from transformer_ref.experiments.results import load_results

PAGE = "book/training.html"
FIGURE = "broken"
LETTERS = {"A": "mask", "B": "padding", "C": "rate", "D": "shift", "E": "start"}
NAMES = {
    "rate": "large rate",
    "start": "large start",
    "mask": "no causal mask",
    "padding": "padding counts",
    "shift": "no shift",
}
NOTHING, PHONEME_BEFORE = 3.74, 2.68  # in nats, as the page measures them

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def runs() -> dict[str | None, dict[str, Any]]:
    """Return the stored runs by their mistakes."""
    return {run["fault"]: run for run in load_results("training")["runs"]}


def show(figure: Locator, letter: str) -> None:
    """Choose a run."""
    figure.get_by_label("Run", exact=True).select_option(label=letter)


def guess(figure: Locator, fault: str) -> Locator:
    """Choose a mistake by keyboard, and return its button."""
    button = figure.get_by_role("button", name=NAMES[fault], exact=True)
    button.press("Enter")
    return button


def words_of(figure: Locator) -> str:
    """Return what the figure says."""
    return figure.locator(".moving-words").inner_text()


def losses_of(figure: Locator, kind: str) -> list[float]:
    """Read a curve back from the picture, by the lines of 0.01 and of 100."""
    grid = figure.locator(".broken-grid").evaluate_all(
        "lines => lines.map((l) => l.y1.baseVal.value)"
    )
    low, high = max(grid), min(grid)
    points = figure.locator(f".broken-{kind}").get_attribute("points") or ""
    heights = [float(point.split(",")[1]) for point in points.split()]
    return [0.01 * 10 ** (4 * (low - y) / (low - high)) for y in heights]


def in_the_picture(losses: list[float]) -> list[float]:
    """Return the losses that are drawn: the picture ends at 0.005, and a curve may leave it."""
    return [loss for loss in losses if loss >= 0.005]


def test_the_curves_and_the_evidence_are_those_of_the_stored_runs(
    figure: Locator, runs: dict[str | None, dict[str, Any]]
) -> None:
    for letter, fault in LETTERS.items():
        show(figure, letter)
        run = runs[fault]
        for kind, one in (("shown", run), ("healthy", runs[None])):
            wanted = in_the_picture([one["first"], *one["losses"]])
            assert losses_of(figure, kind) == pytest.approx(wanted, rel=0.005)
        said = run["said"]["knighted"] or "nothing"
        assert (
            f"Run {letter} (blue): loss {run['first']:.2f} at first, "
            f"{run['losses'][-1]:.2f} at last; {100 * run['per']:.0f}% wrong; "
            f"for knighted it says {said}."
        ) in words_of(figure)


def test_only_the_right_guess_is_right_and_a_wrong_one_shows_its_curve(
    figure: Locator, runs: dict[str | None, dict[str, Any]]
) -> None:
    for letter, fault in LETTERS.items():
        show(figure, letter)
        assert f"Which mistake has run {letter}?" in words_of(figure)
        for guessed in LETTERS.values():
            button = guess(figure, guessed)
            expect(button).to_have_attribute("aria-pressed", "true")
            expect(figure.locator('[aria-pressed="true"]')).to_have_count(1)
            if guessed == fault:
                assert f"Right, run {letter} is \u201c{NAMES[fault]}\u201d." in words_of(figure)
                expect(figure.locator(".broken-guessed")).to_have_count(0)
                continue
            assert f"Not \u201c{NAMES[guessed]}\u201d." in words_of(figure)
            run = runs[guessed]
            wanted = in_the_picture([run["first"], *run["losses"]])
            assert losses_of(figure, "guessed") == pytest.approx(wanted, rel=0.005)
    show(figure, "A")
    expect(figure.locator('[aria-pressed="true"]')).to_have_count(0)


def test_the_letters_and_the_choices_are_not_in_one_order(figure: Locator) -> None:
    choices = figure.locator(".broken-guesses button").all_inner_texts()
    assert choices == list(NAMES.values())
    runs = [NAMES[fault] for fault in LETTERS.values()]
    assert all(one != other for one, other in zip(choices, runs, strict=True))
    listed = figure.page.locator("xpath=//h2[contains(., 'Five broken runs')]/following::ul[1]/li")
    bullets = [text.split(":")[0] for text in listed.all_inner_texts()]
    assert bullets == choices


def test_what_a_wrong_guess_is_told_is_so(runs: dict[str | None, dict[str, Any]]) -> None:
    """The sentences of the figure on the stored curves, which hold a loss for each ten steps."""
    healthy = runs[None]["losses"]
    mask, padding, rate, shift = (
        runs[name]["losses"] for name in ("mask", "padding", "rate", "shift")
    )
    assert mask[3] == pytest.approx(healthy[3], rel=0.1)
    assert mask[-1] < 0.1 * healthy[-1]
    ratios = [one / other for one, other in zip(padding[10:], healthy[10:], strict=True)]
    assert 0.5 < math.fsum(ratios) / len(ratios) < 0.65
    assert max(abs(loss - PHONEME_BEFORE) for loss in rate[10:]) < 0.4
    assert shift[9] < 0.1
    assert runs["start"]["first"] > 10 * NOTHING


def test_a_phone_has_room_for_it(figure_at: Callable[..., Locator]) -> None:
    figure = figure_at(390)
    guess(figure, "start")
    texts = figure.locator("svg text")
    expect(texts.filter(has_text=re.compile("^600$"))).to_be_visible()
    labels = labels_of(texts)
    buttons = figure.locator("button").evaluate_all(
        "buttons => buttons.map((button) => button.getBoundingClientRect().height)"
    )
    assert [each for each in labels if each.height < 12 or not each.inside] == []
    assert min(buttons) >= 32
