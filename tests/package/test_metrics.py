"""Error rates, against counts done by hand and against nltk-like brute force."""

from functools import cache
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer_ref.metrics import edit_distance, phoneme_error_rate, word_error_rate

TOKENS = st.lists(st.sampled_from("abc"), max_size=6)


def brute_force_distance(a, b):
    """The recursive definition of Levenshtein distance."""

    @cache
    def distance(i, j):
        if not i or not j:
            return i + j
        substitution = distance(i - 1, j - 1) + (a[i - 1] != b[j - 1])
        return min(substitution, distance(i - 1, j) + 1, distance(i, j - 1) + 1)

    return distance(len(a), len(b))


@settings(max_examples=200, deadline=None)
@given(TOKENS, TOKENS)
def test_edit_distance_is_the_recursive_definition(a, b):
    assert edit_distance(a, b) == brute_force_distance(a, b)


def test_edit_distance_of_the_textbook_pair():
    assert edit_distance("kitten", "sitting") == 3


def test_nearest_variant_counts_and_its_length_is_the_denominator():
    hypotheses = [["T", "AH", "M", "AA", "T", "OW"], ["N", "AY"]]
    references = [
        [["T", "AH", "M", "EY", "T", "OW"], ["T", "AH", "M", "AA", "T", "OW"]],
        [["N", "AY", "T"], ["K", "N", "AY", "T", "S", "S"]],
    ]
    assert phoneme_error_rate(hypotheses, references) == pytest.approx(1 / 9)
    assert word_error_rate(hypotheses, references) == 0.5


def test_of_equally_near_variants_the_longest_counts():
    # One edit from both; over 2 + 4 it is 1/6 with the longer, 1/4 with the shorter variant.
    hypotheses = [["A", "B", "C"], ["D", "E"]]
    references = [[["A", "B"], ["A", "B", "C", "D"]], [["D", "E"]]]
    assert phoneme_error_rate(hypotheses, references) == pytest.approx(1 / 6)


def test_rate_may_exceed_one():
    assert phoneme_error_rate([["A"] * 10], [[["B"]]]) == 10.0


def test_tuples_and_lists_are_the_same_pronunciation():
    assert word_error_rate([("A", "B")], [[["A", "B"]]]) == 0.0


@pytest.mark.parametrize("rate", [phoneme_error_rate, word_error_rate])
def test_bad_arguments_are_named(rate):
    for hypotheses, references in product([[], [["A"]]], [[], [[["A"]], [["B"]]]]):
        with pytest.raises(ValueError, match=r"same length, at least 1, got \d and \d"):
            rate(hypotheses, references)
    with pytest.raises(ValueError, match=r"references\[0\] must be a list of variants"):
        rate([["A"]], [["A"]])
    with pytest.raises(ValueError, match=r"references\[0\] must be a list of variants"):
        rate([["A"]], [[]])


def test_rates_need_a_phoneme_to_divide_by():
    with pytest.raises(ValueError, match="at least one phoneme"):
        phoneme_error_rate([["A"]], [[[]]])
