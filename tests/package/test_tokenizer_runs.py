"""What the chapter on tokenizers does by hand and measures, against other ways to the same."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import regex
from tokenizers import Regex, models, pre_tokenizers

from transformer_ref.experiments import tokenizers as experiment
from transformer_ref.tokenizers import CharTokenizer, learn_merges


def test_the_merges_by_hand_are_counted_right_and_spell_the_words() -> None:
    symbols = {word: list(word) for word in experiment.WORD_COUNTS}
    for step in experiment.merges_by_hand():
        found = sum(
            experiment.WORD_COUNTS[word]
            for word, cut in symbols.items()
            for pair in pairwise(cut)
            if pair == step.pair
        )
        assert found == step.count
        symbols = step.words
        assert all("".join(cut) == word for word, cut in symbols.items())


def test_the_new_word_ends_in_what_the_library_finds() -> None:
    merges = learn_merges(experiment.WORD_COUNTS, experiment.NUM_MERGES)
    tokens = [*"abcdefghijklmnopqrstuvwxyz", *("".join(merge) for merge in merges)]
    library = models.BPE({token: i for i, token in enumerate(tokens)}, merges)
    found = [token.value for token in library.tokenize(experiment.NEW_WORD)]
    assert experiment.encoding_by_hand()[-1] == found == ["b", "older"]


def test_the_pattern_cuts_as_that_of_the_library() -> None:
    library = pre_tokenizers.Split(Regex(experiment.GPT2_PATTERN), "isolated")
    for text in (experiment.PRICE, "    return x", "IT'S it's 3.14  "):
        found = [chunk for chunk, _ in library.pre_tokenize_str(text)]
        assert regex.findall(experiment.GPT2_PATTERN, text) == found


def test_the_best_cut_is_that_of_the_library() -> None:
    cuts = experiment.all_cuts("older")
    assert len(cuts) == 9
    assert list(cuts.values()) == sorted(cuts.values(), reverse=True)
    assert math.isclose(cuts["old", "er"], 0.02 * 0.05)
    rows = [("<unk>", -20.0)]
    rows += [(token, math.log(chance)) for token, chance in experiment.PROBABILITIES.items()]
    library = models.Unigram(rows, 0, False)
    assert tuple(token.value for token in library.tokenize("older")) == next(iter(cuts))


def test_the_scores_of_wordpiece_by_hand() -> None:
    scores = experiment.wordpiece_scores()
    assert scores["##e", "##r"] == (8, 14, 8, 8 / (14 * 8))
    assert scores["c", "##o"] == (1, 1, 1, 1.0)
    assert scores["o", "##l"] == (5, 5, 6, 5 / 30)


def test_lengths_and_unknown_of_known_text() -> None:
    assert experiment.length_and_unknown(CharTokenizer("ab"), ["abc", "a"]) == (4, 1 / 4)
    grown = experiment.lengths_and_unknown(["to be or not to be"], ["to see"], [262, 265])
    # " s" is a chunk of its own, and no merge that was learned is in it.
    assert grown["words"] == [(2, 0.5), (2, 0.5)]
    assert [loss for _, loss in grown["byte pairs"]] == [0, 0]


@pytest.mark.parametrize(("word", "kind"), [("stays", "elsewhere"), ("works", "at the ending")])
def test_a_cut_at_an_ending_is_found(word: str, kind: str) -> None:
    class Cutter:
        def tokenize(self, text: str) -> list[str]:
            return {" stays": ["Ġst", "ays"], " works": ["Ġwork", "s"]}[text]

    found = experiment.cuts_at_endings(Cutter(), [word, "sing"], {"stay", "work"})
    assert {name: len(group) for name, group in found.items() if group} == {kind: 1}


def test_longest_first_takes_the_longest() -> None:
    assert experiment.longest_first("abcd", {"a", "b", "c", "d", "ab", "bcd"}) == ["ab", "c", "d"]


def test_replacing_text_makes_symbols_that_no_merge_has_made() -> None:
    counts = {"low": 3, "lower": 1, "we": 2}
    merges, symbols = experiment.replace_merges(counts, 3)
    assert merges[0] == learn_merges(counts, 1)[0]
    assert symbols - {"".join(merge) for merge in merges} or merges != learn_merges(counts, 3)
