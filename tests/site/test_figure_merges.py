"""The figure of the chapter on tokenizers: it learns the merges that the package learns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from transformer_ref.experiments.tokenizers import WORD_COUNTS
from transformer_ref.tokenizers import learn_merges

pytestmark = pytest.mark.browser

PAGE = "book/tokenizers.html"
FIGURE = "merges"
EXAMPLES = ("five words", "a woodchuck", "endings", "bananas")
# Ties, places that overlap, other scripts, characters beyond 16 bits (which JavaScript would
# compare by halves, and so before U+FB01), emoji, and what \w is and is not.
TEXTS = (
    "aaa aaaa aaaaa",
    "ab ba ab ba cd dc",
    "naïve café naïve cafés",
    "Привет, привет! приветы",
    "北京大学 北京 京大 大学",
    "नमस्ते नमस्कार नमः",
    "السلام عليكم سلام",
    "\U0001d49c\U0001d4b7 \ufb01x \U0001d49c\U0001d4b7 \ufb01x \ufb01\U0001d49c",
    "👍🏽👍🏽 ok ok 🙂 okay",
    "don't snake_case x2 x2 ½ ²³ ²³ it's",
)
# Steps to the end; at each step what is listed first, and the symbols of all words.
WALK = """(figure) => {
  const next = [...figure.querySelectorAll("button")].find((one) => one.textContent === "Next");
  const slider = figure.querySelector("input[type=range]");
  const steps = [];
  for (;;) {
    const all = (selector) => [...figure.querySelectorAll(selector)];
    const winner = all(".merges-winner span").map((one) => one.textContent);
    const words = all(".merges-word").map(
      (word) => [...word.children].map((symbol) => symbol.textContent));
    const places = all(".merges-word, button, .merges-pairs").map((one) => {
      const { x, y } = one.getBoundingClientRect();
      return [Math.round(x), Math.round(y)];
    });
    steps.push({ winner, words, places });
    if (slider.value === slider.max) return steps;
    next.click();
  }
}"""


def text_of(figure: Locator) -> Locator:
    """Return the field for the text."""
    return figure.get_by_label("Text to learn from")


def words_in(text: str) -> Counter[str]:
    """Cut a text as the chapter does."""
    return Counter(re.findall(r"\w+|[^\w\s]", text))


def joined(symbols: list[str], pair: tuple[str, str]) -> list[str]:
    """Join a pair in a word, from left to right."""
    merged: list[str] = []
    rest = list(symbols)
    while rest:
        width = 2 if tuple(rest[:2]) == pair else 1
        merged.append("".join(rest[:width]))
        del rest[:width]
    return merged


def compare(steps: list[dict[str, Any]], text: str) -> None:
    """Hold the steps of the figure against the package."""
    counts = words_in(text)
    merges = learn_merges(counts, 1000)
    assert len(steps) == len(merges) + 1, text
    words = {word: list(word) for word in counts}
    for pair, step in zip([*merges, None], steps, strict=True):
        assert step["words"] == list(words.values()), text
        if pair is None:
            assert step["winner"] == []
            break
        seen = sum(
            count
            for word, count in counts.items()
            for neighbours in pairwise(words[word])
            if neighbours == pair
        )
        winner, _, shown = step["winner"]
        assert (winner, shown) == (" + ".join(pair), str(seen)), text
        words = {word: joined(symbols, pair) for word, symbols in words.items()}


def test_the_merges_are_those_of_the_package(figure: Locator) -> None:
    for text in TEXTS:
        text_of(figure).fill(text)
        compare(figure.evaluate(WALK), text)
        expect(figure.get_by_label("Example")).to_have_value("")


def test_the_examples_are_learned_and_nothing_moves(figure: Locator) -> None:
    for name in EXAMPLES:
        figure.get_by_label("Example").select_option(label=name)
        steps = figure.evaluate(WALK)
        compare(steps, text_of(figure).input_value())
        for step in steps[1:]:
            assert step["places"] == steps[0]["places"], "a reader would lose the place"


def test_the_first_text_is_the_one_of_the_page(figure: Locator) -> None:
    assert words_in(text_of(figure).input_value()) == WORD_COUNTS


def test_the_words_and_the_vocabulary_follow(figure: Locator) -> None:
    words, vocabulary = figure.locator(".moving-words"), figure.locator(".merges-vocabulary")
    slider = figure.get_by_label("Merges done")
    expect(words).to_contain_text("Next: e and r, which occurs 8 times, more often than any other")
    slider.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", "1 of 8")
    expect(words).to_contain_text("Merge 1 has joined e and r: a new token, er. The text has 45")
    expect(words).to_contain_text("6 times each; the last of them in alphabetical order is o and l")
    assert vocabulary.locator("li:not(.merges-later)").all_inner_texts()[-1].split() == ["er", "1"]
    expect(figure.locator(".merges-words .merges-made")).to_have_count(3)
    expect(figure.locator(".merges-words .merges-next")).to_have_count(6)
    slider.press("End")
    expect(words).to_contain_text("no pair is left")
    slider.press("ArrowLeft")
    expect(words).to_contain_text("Next: c and older, the only pair left.")
    slider.press("End")
    expect(figure.locator(".merges-words")).to_have_attribute(
        "aria-label", re.compile("newer, 4 times")
    )
    expect(vocabulary.locator(".merges-later")).to_have_count(0)
    expect(figure.get_by_text("Vocabulary: 8 + 8 = 16 tokens")).to_be_visible()


def test_a_text_that_cannot_be_learned_from_is_refused_in_words(figure: Locator) -> None:
    field, message = text_of(figure), figure.locator(".merges-message")
    figure.get_by_label("Merges done").press("ArrowRight")
    before = figure.locator(".merges-words").inner_html()
    for text, says in (("a" * 121, "Too long: 121 characters"), ("", "at least one word")):
        field.fill(text)
        expect(message).to_contain_text(says)
        expect(field).to_have_attribute("aria-invalid", "true")
        assert figure.locator(".merges-words").inner_html() == before
    field.fill("🙂" * 120)  # characters are counted, not the halves of JavaScript
    expect(field).to_have_attribute("aria-invalid", "false")
    expect(figure.locator(".moving-words")).to_contain_text("no pair is left")


def test_play_goes_on_by_itself_and_a_new_text_stops_it(timed_figure: Locator) -> None:
    figure, clock = timed_figure, timed_figure.page.clock
    figure.get_by_role("button", name="Play").click()
    clock.run_for(1600)
    expect(figure.get_by_label("Merges done")).to_have_value("1")
    text_of(figure).fill("another text")
    expect(figure.get_by_role("button", name="Play")).to_be_visible()
    expect(figure.get_by_label("Merges done")).to_have_value("0")


def test_a_long_word_fits_a_phone(figure_at: Callable[..., Locator]) -> None:
    figure = figure_at(320, reduced_motion="reduce")
    expect(figure.get_by_role("button", name="Play")).to_be_hidden()
    text_of(figure).fill("honorificabilitudinitatibus honorific " + "m" * 60)
    for key in ("Home", "End"):
        figure.get_by_label("Merges done").press(key)
        outside = figure.evaluate(
            """figure => [...figure.querySelectorAll("*")].filter((one) =>
              one.checkVisibility() && !one.matches("option") &&
              one.getBoundingClientRect().right > figure.getBoundingClientRect().right
            ).map((one) => one.outerHTML)"""
        )
        assert outside == []
