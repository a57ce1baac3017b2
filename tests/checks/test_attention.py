"""The assignment "attention": what its cases say against what is known without them."""

from __future__ import annotations

import re

import pytest

from transformer_checks.assignments.attention import answers
from transformer_checks.assignments.attention.cases import (
    partners_and_depths,
    texts_of,
    where_it_looks,
)


def test_partners_and_depths_of_a_text():
    assert partners_and_depths("(()())") == ([0, 1, 1, 3, 3, 0], [0, 1, 1, 1, 1, 0])


@pytest.mark.parametrize("pairs", [1, 2, 5, 20])
def test_texts_are_balanced_and_the_answer_reads_them(pairs):
    texts = texts_of(pairs)
    assert max(map(len, texts)) == 2 * pairs
    for text in texts:
        rest = text
        while "()" in rest:
            rest = rest.replace("()", "")
        assert not rest
    found = where_it_looks(answers.bracket_head(pairs))
    assert found == [partners_and_depths(text)[0] for text in texts]


def test_a_text_has_every_kind_of_neighbour():
    """Else a head could do without one of its three wishes."""
    seen = "".join(texts_of(5))
    assert all(re.search(re.escape(two), seen) for two in ("((", "()", ")(", "))"))
