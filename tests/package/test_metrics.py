"""Error rates against counts done by hand and brute force; BLEU and chrF against sacrebleu."""

import math
from collections import Counter
from functools import cache

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer_ref.metrics import (
    corpus_bleu,
    corpus_chrf,
    edit_distance,
    exact_match,
    phoneme_error_rate,
    word_error_rate,
)

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


def test_rates_need_a_phoneme_to_divide_by():
    with pytest.raises(ValueError, match="at least one phoneme"):
        phoneme_error_rate([["A"]], [[[]]])


HYPOTHESES = ["A dog runs in the park .", "Two men play chess .", "a red car"]
REFERENCES = ["A dog runs in a big park .", "Two men are playing chess .", "A red car ."]


def bleu_by_hand(hypotheses, references):
    """Papineni's definition for sentences that are split at white space, without smoothing."""
    log_precisions = []
    for n in range(1, 5):
        matches = total = 0
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            counts = [
                Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))
                for tokens in (hypothesis.split(), reference.split())
            ]
            matches += (counts[0] & counts[1]).total()
            total += counts[0].total()
        log_precisions.append(math.log(matches / total))
    lengths = [sum(len(text.split()) for text in texts) for texts in (hypotheses, references)]
    brevity = min(0.0, 1 - lengths[1] / lengths[0])
    return 100 * math.exp(brevity + sum(log_precisions) / 4)


def test_bleu_of_a_case_on_paper():
    """6 tokens against 7: n-gram precisions 5/6, 4/5, 3/4 and 2/3, brevity exp(1 - 7/6)."""
    hypothesis, reference = "a cat is on the mat", "one cat is on the mat now"
    on_paper = 100 * (5 / 6 * 4 / 5 * 3 / 4 * 2 / 3) ** 0.25 * math.exp(1 - 7 / 6)
    assert corpus_bleu([hypothesis], [reference]).score == pytest.approx(on_paper)


def test_bleu_is_its_definition_over_the_whole_corpus():
    """Counts are summed before they are divided; the mean of the sentences would be another."""
    by_hand = bleu_by_hand(HYPOTHESES, REFERENCES)
    assert corpus_bleu(HYPOTHESES, REFERENCES).score == pytest.approx(by_hand)
    lowered = [[text.lower() for text in texts] for texts in (HYPOTHESES, REFERENCES)]
    assert bleu_by_hand(*lowered) > by_hand
    assert corpus_bleu(HYPOTHESES, REFERENCES, lowercase=True).score == pytest.approx(
        bleu_by_hand(*lowered)
    )


@pytest.mark.parametrize("lowercase", [False, True])
def test_scores_are_those_of_sacrebleu(lowercase):
    bleu = sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES], lowercase=lowercase)
    chrf = sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES])
    assert corpus_bleu(HYPOTHESES, REFERENCES, lowercase=lowercase).score == bleu.score
    assert corpus_chrf(HYPOTHESES, REFERENCES).score == chrf.score
    assert (
        corpus_chrf(HYPOTHESES, REFERENCES, lowercase=True).score
        == sacrebleu.corpus_chrf(
            [text.lower() for text in HYPOTHESES], [[text.lower() for text in REFERENCES]]
        ).score
        > chrf.score
    )


def test_the_signature_says_how_it_was_counted():
    version = f"version:{sacrebleu.__version__}"
    cased = corpus_bleu(HYPOTHESES, REFERENCES)
    assert cased.signature == f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|{version}"
    assert str(cased) == f"BLEU {cased.score:.2f} ({cased.signature})"
    lowered = corpus_bleu(HYPOTHESES, REFERENCES, lowercase=True, tokenize="intl")
    assert lowered.signature == f"nrefs:1|case:lc|eff:no|tok:intl|smooth:exp|{version}"
    chrf = corpus_chrf(HYPOTHESES, REFERENCES)
    assert chrf.signature == f"nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|{version}"
    assert chrf.name == "chrF2"


def test_the_tokeniser_is_used():
    hypotheses, references = ["It is 5,000 (or more)."], ["It is 5,000 (or more) ."]
    assert corpus_bleu(hypotheses, references).score == pytest.approx(100.0)
    assert corpus_bleu(hypotheses, references, tokenize="none").score < 100.0


def test_exact_match_counts_whole_strings():
    assert exact_match(["ab", "c", "D"], ["ab", "cd", "d"]) == pytest.approx(1 / 3)
