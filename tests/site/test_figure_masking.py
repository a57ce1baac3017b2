"""The figures of the chapter on masking: weights, alarms, and a mask that the reader builds."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

import pytest
import torch
from playwright.sync_api import Browser, Locator, Page, expect

from tests.site.conftest import open_page
from transformer_ref.applications.g2p import load_g2p
from transformer_ref.experiments.masking import HEAD, SWITCHED, first_scores, in_a_batch
from transformer_ref.masks import masked_softmax

pytestmark = pytest.mark.browser

PAGE = "book/masking.html"
WORDS = list(SWITCHED)
Cells = list[list[bool]]


@pytest.fixture
def page(tab: Page, address: str) -> Page:
    """Open the chapter."""
    open_page(tab, f"{address}/{PAGE}")
    return tab


@pytest.fixture
def switches(page: Page) -> Locator:
    """Return the figure in which masks are switched."""
    return page.locator('figure[data-figure="masking"]').first


@pytest.fixture
def built(page: Page) -> Locator:
    """Return the figure in which a mask is built."""
    return page.locator('figure[data-figure="masking"][data-part="build"]')


@pytest.fixture(scope="module")
def scores() -> dict[str, torch.Tensor]:
    """Return the scores of the speller for each word."""
    speller = load_g2p(torch.device("cpu"))
    rows = first_scores(speller, in_a_batch(speller, SWITCHED, 4))[:, HEAD]
    return dict(zip(WORDS, rows, strict=True))


# ---- the masks that are switched -----------------------------------------------------------------


def set_switches(figure: Locator, word: str, *, causal: bool, padding: bool) -> None:
    """Choose a word and two masks without a mouse."""
    figure.get_by_label("Word", exact=True).select_option(label=word)
    for name, wanted in (("Causal mask", causal), ("Padding mask", padding)):
        box = figure.get_by_label(name, exact=True)
        if box.is_checked() != wanted:
            box.press("Space")


def tokens_of(word: str) -> list[str]:
    """Return what the decoder reads of a word."""
    real = ["bos", *SWITCHED[word].split()]
    padding = ["pad"] * (4 - len(real))
    return [*padding, *real] if "front" in word else [*real, *padding]


def visible(tokens: list[str], causal: bool, padding: bool) -> Cells:
    """Return which query may see which key, cell by cell."""
    places = range(len(tokens))
    return [
        [(key <= query or not causal) and (tokens[key] != "pad" or not padding) for key in places]
        for query in places
    ]


def said(figure: Locator) -> list[str]:
    """Return what the figure says, line by line."""
    return figure.locator(".moving-words li").all_inner_texts()


def test_the_weights_are_those_of_the_masked_softmax(
    switches: Locator, scores: dict[str, torch.Tensor]
) -> None:
    for word, causal, padding in itertools.product(WORDS, (False, True), (False, True)):
        set_switches(switches, word, causal=causal, padding=padding)
        may = visible(tokens_of(word), causal, padding)
        weights = masked_softmax(scores[word], torch.tensor(may)).flatten().tolist()
        shown = switches.locator(".mask-weights [data-weight]").evaluate_all(
            "cells => cells.map((cell) => [Number(cell.dataset.weight), cell.innerText])"
        )
        assert [weight for weight, _ in shown] == pytest.approx(weights, abs=0.006)
        before = switches.locator(".mask-scores tbody td").all_inner_texts()
        flat = [each for row in may for each in row]
        for text, (weight, label), seen, score in zip(
            before, shown, flat, scores[word].flatten().tolist(), strict=True
        ):
            if not seen:
                assert (text, weight, label) == ("\N{MINUS SIGN}∞", 0, "0")
            else:
                assert float(text.replace("\N{MINUS SIGN}", "-")) == pytest.approx(score, abs=0.006)
                assert label.split()[0] == f"{int(100 * weight + 0.5)}%"


def test_an_alarm_names_who_sees_the_label_and_who_looks_at_padding(
    switches: Locator, scores: dict[str, torch.Tensor]
) -> None:
    for word, causal, padding in itertools.product(WORDS, (False, True), (False, True)):
        tokens = tokens_of(word)
        set_switches(switches, word, causal=causal, padding=padding)
        may = visible(tokens, causal, padding)
        weights = masked_softmax(scores[word], torch.tensor(may)).tolist()
        future, waste, _ = said(switches)
        leaks = re.findall(r"position (\d) \((\w+)\) sees token (\d) \((\w+)\)", future)
        expected = [
            (str(t), tokens[t], str(t + 1), tokens[t + 1])
            for t in range(3)
            if may[t][t + 1] and "pad" not in tokens[t : t + 2]
        ]
        assert leaks == expected
        assert future.startswith("Alarm") == bool(expected)
        expect(switches.locator("td.mask-leak small")).to_have_count(len(expected))
        looking = {
            tokens[t]: sum(w for w, key in zip(weights[t], tokens, strict=True) if key == "pad")
            for t in range(4)
            if tokens[t] != "pad" and any(may[t][s] and tokens[s] == "pad" for s in range(4))
        }
        assert waste.startswith("Alarm") == bool(looking)
        shares = dict(re.findall(r"(\w+) (?:gives it )?(\d+)%", waste))
        assert list(shares) == list(looking)
        for token, share in shares.items():
            assert float(share) == pytest.approx(100 * looking[token], abs=1.1)


def test_padding_that_only_padding_sees_is_no_alarm(switches: Locator) -> None:
    set_switches(switches, "sea", causal=True, padding=False)
    assert "only padding itself" in said(switches)[1]
    set_switches(switches, "sea, padding in front", causal=True, padding=True)
    assert "In row 0 nothing may be seen" in said(switches)[2]


def test_each_control_changes_what_it_should_and_the_way_back_changes_it_back(
    switches: Locator,
) -> None:
    def drawn() -> str:
        return "".join(
            switches.locator(place).inner_html() for place in (".mask-grids", ".moving-words")
        )

    first = drawn()
    seen = {first}
    for name in ("Causal mask", "Padding mask"):
        box = switches.get_by_label(name, exact=True)
        box.press("Space")
        seen.add(drawn())
        box.press("Space")
        assert drawn() == first
    word = switches.get_by_label("Word", exact=True)
    for label in WORDS:
        word.select_option(label=label)
        seen.add(drawn())
    assert len(seen) == 1 + 2 + len(WORDS) - 1


def test_rows_are_queries_and_columns_are_keys(switches: Locator) -> None:
    for place in (".mask-scores", ".mask-weights"):
        table = switches.locator(place)
        expect(table.locator(".mask-queries")).to_contain_text("queries ↓")
        expect(table.locator(".mask-keys")).to_contain_text("keys →")
        rows = table.locator("tbody th").all_inner_texts()
        assert rows == tokens_of("sea")
        assert table.locator("thead th").all_inner_texts()[2:6] == rows
    labels = switches.locator("tbody .mask-label").all_inner_texts()
    assert labels == ["S", "IY", "eos", ""]


# ---- the mask that is built ----------------------------------------------------------------------

ENDS = ["bos", "T", "IY", "pad", "pad"]
FRONT = ["pad", "pad", "bos", "T", "IY"]
INPUTS = {"tea, padding at the end": ENDS, "tea, padding in front": FRONT}
CLICK = """(figure, wanted) => figure.querySelectorAll("tbody button").forEach((cell, index) => {
  if ((cell.getAttribute("aria-pressed") === "true") !== wanted[index]) cell.click();
})"""


def mark(figure: Locator, rule: Callable[[int, int], bool], name: str = "") -> list[str]:
    """Mark the cells for which a rule of query and key holds, press Check, return what is said."""
    if name:
        figure.get_by_label("Input of the decoder").select_option(label=name)
    wanted = [rule(query, key) for query in range(5) for key in range(5)]
    figure.evaluate(CLICK, wanted)
    figure.get_by_role("button", name="Check").press("Enter")
    return figure.locator(".mask-verdict p").all_inner_texts()


def right(tokens: list[str]) -> Callable[[int, int], bool]:
    """Return the rule of the target mask."""
    return lambda query, key: key <= query and tokens[key] != "pad"


def test_the_mask_of_the_package_is_right(built: Locator) -> None:
    for name, tokens in INPUTS.items():
        (line,) = mark(built, right(tokens), name)
        assert line.startswith("Right: this is"), name
        expect(built.locator(".mask-wrong")).to_have_count(0)


def test_the_grid_is_filled_by_keyboard(built: Locator) -> None:
    cells = built.locator("tbody button")
    assert [cells.nth(place).get_attribute("tabindex") for place in (0, 1)] == ["0", "-1"]
    cells.first.focus()
    keyboard = built.page.keyboard
    rule = right(ENDS)
    for query in range(5):
        for key in range(5):
            if rule(query, key):
                keyboard.press("Space")
            keyboard.press("ArrowRight")
        keyboard.press("ArrowDown")
        for _ in range(4):
            keyboard.press("ArrowLeft")
    expect(cells.nth(20)).to_be_focused()  # below the last row there is nothing
    pressed = [c == "true" for c in cells.evaluate_all("all => all.map((c) => c.ariaPressed)")]
    assert pressed == [rule(query, key) for query in range(5) for key in range(5)]
    built.get_by_role("button", name="Check").press("Enter")
    expect(built.locator(".mask-verdict")).to_contain_text("Right")
    cells.nth(2).press("Space")  # what was said of the answer before does not stay
    expect(built.locator(".mask-verdict")).not_to_contain_text("Right")
    expect(built.locator(".mask-cell")).to_contain_text("the query bos sees the key IY")
    built.get_by_role("button", name="Clear").press("Enter")
    expect(built.locator('tbody button[aria-pressed="true"]')).to_have_count(0)


# A rule that is wrong, and what has to be said of it; on the input with padding at the end.
WRONG: dict[str, tuple[Callable[[int, int], bool], str]] = {
    "one too far": (lambda q, k: k <= q + 1 and k < 3, "A future position is allowed"),
    "causal only": (lambda q, k: k <= q, "Padding is allowed"),
    "padding only": (lambda q, k: k < 3, "A future position is allowed"),
    "without the diagonal": (lambda q, k: k < q and k < 3, "Its own position is forbidden"),
    "only itself": (lambda q, k: k == q and k < 3, "An earlier token is forbidden"),
    "exchanged": (lambda q, k: k >= q and q < 3, "Rows and columns are exchanged"),
    "triangle exchanged": (lambda q, k: k >= q and k < 3, "Rows and columns are exchanged"),
    "inverted": (lambda q, k: k > q or k >= 3, "Inverted"),
    "causal inverted": (lambda q, k: k > q, "Inverted"),
    "both": (lambda q, k: k < q or q >= 3, "exchanged, and it is inverted"),
    "empty": (lambda q, k: False, "The grid is empty"),
}


def test_a_mistake_is_named_by_its_kind(built: Locator) -> None:
    for case, (rule, expected) in WRONG.items():
        lines = mark(built, rule)
        assert len(lines) == 1, (case, lines)
        assert expected in lines[0], case


def test_wrong_cells_are_named_and_shown(built: Locator) -> None:
    correct = right(ENDS)
    changed = {(0, 2): "future", (2, 2): "own", (1, 4): "Padding", (2, 0): "earlier"}
    lines = mark(built, lambda q, k: correct(q, k) != ((q, k) in changed))
    assert [re.sub(r":.*", "", line) for line in lines] == [
        "Padding is allowed",
        "A future position is allowed",
        "Its own position is forbidden",
        "An earlier token is forbidden",
    ]
    assert "row 0 (bos), column 2 (IY)" in lines[1]
    wrong = built.locator("tbody button").evaluate_all(
        "all => all.flatMap((cell, i) => cell.classList.contains('mask-wrong') ? [i] : [])"
    )
    assert wrong == sorted(5 * query + key for query, key in changed)


def test_padding_that_is_hidden_in_rows(built: Locator) -> None:
    """With padding at the end it does no harm, which is said; in front it is wrong."""
    (line,) = mark(built, lambda q, k: k <= q and ENDS[q] != "pad" != ENDS[k])
    assert line.startswith("Right for all real tokens")
    front = "tea, padding in front"
    (line,) = mark(built, lambda q, k: k <= q and FRONT[q] != "pad", front)
    assert "rows instead of columns" in line


# ---- both ----------------------------------------------------------------------------------------


def test_the_figures_fit_and_can_be_read(browser: Browser, address: str) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 900})
    open_page(page, f"{address}/{PAGE}")
    switched = page.locator('figure[data-figure="masking"]').first
    for width, word in itertools.product((1280, 320, 390), WORDS):
        page.set_viewport_size({"width": width, "height": 900})
        set_switches(switched, word, causal=False, padding=False)
        outside = page.locator('figure[data-figure="masking"]').evaluate_all(
            """figures => figures.flatMap((figure) => {
              const right = figure.getBoundingClientRect().right;
              return [...figure.querySelectorAll("td, th, button, label")]
                .filter((one) => one.getBoundingClientRect().right > right)
                .map((one) => one.outerHTML);
            })"""
        )
        assert outside == [], (width, word)
    sizes = page.locator('figure[data-figure="masking"] :is(td, th, small)').evaluate_all(
        "all => all.map((one) => parseFloat(getComputedStyle(one).fontSize))"
    )
    targets = page.locator('figure[data-figure="masking"] :is(button, select)').evaluate_all(
        "all => all.map((one) => Math.min(one.offsetWidth, one.offsetHeight))"
    )
    page.close()
    assert min(sizes) >= 12
    assert min(targets) >= 32
