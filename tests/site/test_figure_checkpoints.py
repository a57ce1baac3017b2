"""The figure of the chapter on training that looks at one run thirty times."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator

from tests.site.conftest import labels_of
from transformer_ref.experiments.results import load_results

PAGE = "book/training.html"
FIGURE = "checkpoints"

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def run() -> dict[str, Any]:
    """Return the stored run."""
    return load_results("checkpoints")


def show(figure: Locator, index: int) -> None:
    """Go to a checkpoint."""
    figure.get_by_label("Checkpoint").fill(str(index))


def test_every_look_is_the_stored_one(figure: Locator, run: dict[str, Any]) -> None:
    for word, listed in run["listed"].items():
        figure.get_by_label("Word").select_option(word)
        for index, entry in enumerate(run["checkpoints"]):
            show(figure, index)
            step, seen = entry["step"], entry["words"][word]
            loss = run["losses"][step // run["every"] - 1] if step >= run["every"] else run["first"]
            words = figure.locator(".moving-words").inner_text()
            assert f"After step {step} of 1600: a loss of {loss:.2f}." in words
            said = " ".join(seen["said"]) or "(nothing)"
            right = seen["said"] == listed
            end = ", as the dictionary does." if right else f"; listed is {' '.join(listed)}."
            assert f"the model says {word} as {said}{end}" in words
            drawn = figure.locator(".moving-heat").evaluate_all(
                "cells => cells.map((cell) => Math.round(100 * cell.getAttribute('fill-opacity')))"
            )
            assert drawn == [*itertools.chain(*seen["looks"])]
            shares = figure.locator("svg").last.locator("text").all_text_contents()
            assert [f"{share}%" for share in seen["right"]] == [t for t in shares if "%" in t]
            assert len(drawn) == (len(listed) + 1) * len(word)


def test_the_dot_is_on_the_curve(figure: Locator, run: dict[str, Any]) -> None:
    show(figure, 20)
    dot = figure.locator(".checkpoints-here")
    place = [float(dot.get_attribute(name) or 0) for name in ("cx", "cy")]
    done = figure.locator(".checkpoints-curve").last.get_attribute("points") or ""
    assert [float(one) for one in done.split()[-1].split(",")] == pytest.approx(place, abs=0.1)
    assert len(done.split()) == run["checkpoints"][20]["step"] // run["every"] + 1


@pytest.mark.parametrize("word", ["knighted", "photograph"])
def test_a_phone_has_room_for_it(figure_at: Callable[..., Locator], word: str) -> None:
    figure = figure_at(375)
    figure.get_by_label("Word").select_option(word)
    show(figure, 29)
    parts = labels_of(figure.locator("svg :is(text, rect)"))
    assert [each for each in parts if not each.inside or (each.text and each.height < 11)] == []
