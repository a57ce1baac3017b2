"""The beam search of the chapter on decoding: what the tree keeps, what the cache saves."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from playwright.sync_api import Locator, expect

from tests.site.conftest import labels_of
from transformer_ref.experiments.decoding import EOS, FOLLOWS, beam_by_hand

pytestmark = pytest.mark.browser

PAGE = "book/decoding.html"
FIGURE = "beam"
MOMENT, BEAM, RANKING = "Half steps", "Beam size W", "Rank the answers by"


def set_to(figure: Locator, beam_size: int, moment: int) -> None:
    """Choose a beam size, and go to a half step."""
    figure.get_by_label(BEAM, exact=True).fill(str(beam_size))
    figure.get_by_label(MOMENT, exact=True).fill(str(moment))


def said(figure: Locator) -> str:
    """Return what the figure says, with a hyphen for the minus sign."""
    return figure.locator(".moving-words").inner_text().replace("\N{MINUS SIGN}", "-")


def nodes(figure: Locator, kinds: str, depth: int) -> dict[str, str]:
    """Return the probability that is shown for each beginning of some kinds and one length."""
    boxes = figure.locator(f".beam-node:is({kinds})").evaluate_all(
        "all => all.map((one) => [one.dataset.tokens, one.lastChild.textContent])"
    )
    return {tokens: number for tokens, number in boxes if len(tokens.split()) == depth}


@pytest.mark.parametrize("beam_size", [1, 2])
def test_it_keeps_and_drops_what_the_search_by_hand_does(figure: Locator, beam_size: int) -> None:
    for number, step in enumerate(beam_by_hand(beam_size), start=1):
        both = [
            {" ".join(one.tokens): f"{one.probability:.3f}" for one in group}
            for group in (step.kept, step.dropped)
        ]
        set_to(figure, beam_size, 2 * number - 1)
        assert nodes(figure, ".beam-open", number) == both[0] | both[1]  # nothing is given away
        set_to(figure, beam_size, 2 * number)
        assert nodes(figure, ".beam-kept, .beam-best", number) == both[0]
        assert nodes(figure, ".beam-dropped", number) == both[1]
    moment = figure.get_by_label(MOMENT, exact=True)
    expect(moment).to_have_attribute("max", str(2 * number))


def test_a_row_of_the_cache_is_copied_for_each_hypothesis_that_goes_on(figure: Locator) -> None:
    set_to(figure, 2, 4)  # I have and I own both come from I
    rows = figure.locator(".beam-cache").get_attribute("aria-label") or ""
    assert rows == "Rows of the cache: <bos> I; <bos> a."
    starts = figure.locator(".beam-copy").evaluate_all(
        "all => all.map((one) => one.getAttribute('d').split(' ').slice(0, 2).join(' '))"
    )
    assert len(starts) == 2
    assert len(set(starts)) == 1
    assert "run 3 tokens" in said(figure)
    assert "without the cache 5" in said(figure)
    expect(figure.locator(".beam-new")).to_have_count(0)
    set_to(figure, 2, 3)
    expect(figure.locator(".beam-new")).to_have_count(2)


@pytest.mark.parametrize(
    ("beam_size", "alpha", "answer"),
    [(1, 0, "I have a cat"), (2, 0, "I own a cat"), (2, 1, "I own a cat"), (3, 0, "I own a cat"),
     (3, 1, "I have got a cat")],
)  # fmt: skip
def test_the_winner_is_the_one_of_the_text(
    figure: Locator, beam_size: int, alpha: int, answer: str
) -> None:
    figure.get_by_label(RANKING, exact=True).select_option(str(alpha))
    set_to(figure, beam_size, 99)
    path = ["<bos>", *answer.split(), EOS]
    logs = [math.log(FOLLOWS[a][b]) for a, b in pairwise(path)]
    found = re.search(r"Best answer: (.*) <eos>, with .* = (\S+)\.", said(figure))
    assert found, said(figure)
    assert found[1] == answer
    assert float(found[2]) == pytest.approx(sum(logs) / len(logs) ** alpha, abs=6e-4)


def test_it_opens_with_nothing_but_the_begin_token(figure: Locator) -> None:
    expect(figure.locator(".beam-node")).to_have_count(1)
    figure.get_by_role("button", name="Next").press("Enter")
    expect(figure.locator(".beam-node")).to_have_count(3)
    figure.get_by_label(BEAM, exact=True).press("ArrowRight")
    expect(figure.locator(".beam-node")).to_have_count(1)


def test_a_phone_has_room_for_it(figure_at: Callable[..., Locator]) -> None:
    figure = figure_at(390)
    for beam_size in (2, 3):
        set_to(figure, beam_size, 99)
        labels = labels_of(figure.locator("svg text"))
        assert [each for each in labels if each.height < 11 or not each.inside] == []
