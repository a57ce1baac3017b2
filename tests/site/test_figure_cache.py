"""The figure of the closer look at decoding that shows what a cache saves, cell by cell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
import torch
from playwright.sync_api import Locator, expect
from torch import nn

from tests.site.conftest import labels_of
from transformer_ref.applications.g2p import Speller
from transformer_ref.decoding import greedy_decode

PAGE = "book/closer/decoding.html"
FIGURE = "cache"
WAYS = ("without", "with")

pytestmark = pytest.mark.browser


def step_to(figure: Locator, step: int) -> None:
    """Move the slider."""
    figure.get_by_label("Step", exact=True).fill(str(step))


def fates(figure: Locator, way: str, part: str) -> Counter[str]:
    """Count the cells of a part by what becomes of them in this step."""
    cells = figure.locator("svg").nth(WAYS.index(way)).locator(f'.cache-cell[data-part="{part}"]')
    classes = cells.evaluate_all("cells => cells.map((cell) => cell.getAttribute('class'))")
    return Counter(name.removeprefix("cache-cell cache-") for name in classes)


def totals(figure: Locator) -> list[list[int]]:
    """Return the counters: keys and values, then products, each without and with."""
    rows = figure.locator(".cache-table tbody tr").all()
    return [
        [int(text.replace(",", "")) for text in row.locator("strong").all_inner_texts()]
        for row in rows
    ]


def inputs_of_decoder(speller: Speller, word: str, use_cache: bool) -> Iterator[int]:
    """Say a word; yield how many tokens go through the last decoder layer in each step."""
    sizes: list[int] = []

    def note(layer: nn.Module, args: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        sizes.append(output.shape[1])

    hook = speller.model.decoder.layers[-1].register_forward_hook(note)
    bos_id, eos_id = speller.phonemes.bos_id, speller.phonemes.eos_id
    greedy_decode(speller.model, speller.source([word]), bos_id, eos_id, 64, use_cache)
    hook.remove()
    yield from sizes


def test_the_counters_and_the_cells_are_what_the_model_runs(
    figure: Locator, speller: Speller
) -> None:
    word = figure.locator("xpath=preceding::em[1]").inner_text()
    runs = {way: list(inputs_of_decoder(speller, word, way == "with")) for way in WAYS}
    vectors, products = dict.fromkeys(WAYS, 0), dict.fromkeys(WAYS, 0)
    for step in range(1, len(runs["with"]) + 1):
        step_to(figure, step)
        for way in WAYS:
            read = runs[way][step - 1]  # each makes a key, a value and a query
            vectors[way] += 2 * read
            products[way] += read * step
            for part in ("key", "value"):
                found = fates(figure, way, part)
                assert found["new"] + found["again"] == read
                assert found["new"] == 1
                assert found["new"] + found["again"] + found["kept"] == step
            square = fates(figure, way, "product")
            assert square["new"] + square["again"] + square["hidden"] == read * step
        assert totals(figure) == [list(vectors.values()), list(products.values())]
    expect(figure.get_by_label("Step", exact=True)).to_have_attribute("max", str(len(runs["with"])))


def test_the_sums_that_are_written_out_are_right(figure: Locator) -> None:
    for step in (1, 2, 4):
        step_to(figure, step)
        for row in figure.locator(".cache-table tbody tr").all():
            for cell in row.locator("td").all():
                total, written = cell.inner_text().split("=")
                assert int(total) == compute(written), written
    words = figure.locator(".moving-words").inner_text()
    assert "333,833,500 products and 500,500" in words
    assert sum(t * t for t in range(1, 1001)) == 333_833_500
    assert sum(range(1, 1001)) == 500_500


def compute(written: str) -> int:
    """Return the value of a sum, or of a number times a sum."""
    factor, _, rest = written.rpartition("\N{MIDDLE DOT}")
    terms = [int(term) for term in re.findall(r"\d+", rest)]
    return int(factor or 1) * sum(terms)


def test_the_word_is_what_the_speller_says(figure: Locator, speller: Speller) -> None:
    phonemes = speller.phonemes
    source = speller.source(["cadillac"])
    ids = greedy_decode(speller.model, source, phonemes.bos_id, phonemes.eos_id, 64)[0].tolist()
    tokens = [phonemes.tokens[i] for i in ids]
    for step in (1, 5, len(tokens) - 1):
        step_to(figure, step)
        said = f"{' '.join(tokens[:step])} stands there, {tokens[step]} is chosen"
        assert said in figure.locator(".moving-words").inner_text()


def test_a_phone_has_room_for_it_and_nothing_jumps(figure_at: Callable[..., Locator]) -> None:
    figure = figure_at(390, reduced_motion="reduce")
    expect(figure.get_by_role("button", name="Play")).to_be_hidden()
    places = []
    for step in (1, 8):
        step_to(figure, step)
        places.append(figure.locator(".moving-words").evaluate("(words) => words.offsetTop"))
    assert places[0] == places[1]
    labels = labels_of(figure.locator("svg text"))
    assert [each for each in labels if each.height < 12 or not each.inside] == []
