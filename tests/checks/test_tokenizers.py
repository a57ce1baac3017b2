"""The assignment "tokenizers": its answers against the package, and what its checks say."""

from __future__ import annotations

import os
import re
import sys
from itertools import pairwise

import numpy as np
import pytest
import torch

from transformer_checks import grade
from transformer_checks import tokenizers as reference
from transformer_checks.assignments.tokenizers.cases import RULES, goes_through
from transformer_checks.judging.exam import make_exam
from transformer_checks.running import wire_format
from transformer_checks.task import Outcome
from transformer_ref import tokenizers as package
from transformer_ref.vocabulary import Vocabulary

WORDS = "tokenizers.word_tokenize"
VOCAB = "tokenizers.build_vocab"
ENCODE = "tokenizers.encode_tokens"
COUNT = "tokenizers.count_pairs"
MERGE = "tokenizers.merge_pair"
TRAIN = "tokenizers.train_bpe"
BPE = "tokenizers.bpe_encode"
BUG = "tokenizers.find_the_bug"
LEAK = "tokenizers.shortest_leak"

# Answers that are right, and not the reference's, which may not be called.


def words(text):
    return re.findall(r"[^\W_]+|\S", text)


def count(words):
    pairs = {}
    for word, number in words.items():
        for pair in pairwise(word):
            pairs[pair] = pairs.get(pair, 0) + number
    return pairs


def merge(word, pair):
    out, place = [], 0
    while place < len(word):
        step = 1 + (word[place : place + 2] == pair)
        out.append("".join(word[place : place + step]))
        place += step
    return tuple(out)


# --- the answers -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_words_are_those_of_the_package(seed):
    tokenizer = package.WordTokenizer([])
    for case in make_exam(WORDS, seed).cases:
        assert reference.word_tokenize(**case.arguments) == tokenizer.tokenize(**case.arguments)


@pytest.mark.parametrize("seed", range(5))
def test_merges_are_those_of_the_package(seed):
    for case in make_exam(TRAIN, seed).cases:
        assert reference.train_bpe(**case.arguments) == package.learn_merges(**case.arguments)


def test_the_vocabulary_is_that_of_the_package():
    text = "a b b c c c . . d D"
    trained = package.WordTokenizer.train([text], min_freq=1)
    specials = list(trained.vocabulary.specials)
    ids = reference.build_vocab(words(text), 1, specials)
    assert ids == {token: number for number, token in enumerate(trained.vocabulary.tokens)}
    tokens = words("b D x .")
    assert reference.encode_tokens(tokens, ids, "<unk>") == trained.convert_tokens_to_ids(tokens)


def test_pieces_are_those_of_the_package():
    """Of words without anything but small letters, where a byte is a character."""
    for seed in range(5):
        for case in make_exam(BPE, seed).cases:
            word, merges = case.arguments["word"], case.arguments["merges"]
            if word.isascii() and word.isalpha():
                pieces = package.BPETokenizer(merges).tokenize(word)
                assert reference.bpe_encode(word, merges) == pieces


@pytest.mark.parametrize("seed", range(10))
def test_a_leak_is_a_piece_that_the_rule_changes(seed):
    exam = make_exam(LEAK, seed)
    sizes = set()
    for case, expected in zip(exam.cases, exam.expected, strict=True):
        text, piece = case.arguments["text"], expected.values["piece"]
        pieces = [text[i:j] for i in range(len(text)) for j in range(i + 1, len(text) + 1)]
        changed = [each for each in pieces if goes_through(case, each) != each]
        assert piece == min(changed, key=len, default="")
        assert len(text) <= 60
        sizes.add(len(piece))
    assert sizes > {0, 1, 2, 3}
    assert {case.arguments["encode"]["rule"] for case in exam.cases} == {*RULES}


# --- what is told ----------------------------------------------------------------------------


@pytest.mark.weekly
@pytest.mark.parametrize(
    ("task", "answer", "said"),
    [
        (WORDS, str.split, "your answer has 3 tokens, expected 5: `tokens[0]` should be 'H"),
        (
            WORDS,
            lambda text: [*words(text), ""],
            "`tokens[3]` is an empty string, which is no token",
        ),
        (WORDS, lambda text: words(text.upper()), "the tokens, put together, spell 'H"),
        (WORDS, lambda text: " ".join(words(text)), "`tokens` is a str, expected list[str]"),
        (WORDS, lambda text: set(words(text)), "`tokens` is a set, expected list[str]"),
        (WORDS, lambda text: map(str, words(text)), "`tokens` is a map, expected list[str]"),
        (WORDS, lambda text: None, "is a `return` missing?"),
        (WORDS, lambda text: [[each] for each in words(text)], "`tokens[0]` is a list of 1, exp"),
        (WORDS, lambda text: [each.encode() for each in words(text)], "`tokens[0]` is a bytes"),
        (VOCAB, lambda tokens, min_freq, specials: {"a": 0, "b": 2}, "the ids 0 to 1, each once"),
        (VOCAB, lambda tokens, min_freq, specials: {0: "a"}, "a key of `vocab` is an int, exp"),
        (ENCODE, lambda tokens, vocab, unk: [1], "tokens went in and 1 ids came out"),
        (ENCODE, lambda tokens, vocab, unk: [1.0 for _ in tokens], "`ids[0]` is a float, exp"),
        (ENCODE, lambda tokens, vocab, unk: [True for _ in tokens], "`ids[0]` is a bool, exp"),
        (ENCODE, lambda tokens, vocab, unk: torch.zeros(3), "`ids` is a tensor of shape (3,)"),
        (ENCODE, lambda tokens, vocab, unk: [torch.tensor(1)], "`ids[0]` is a tensor of shape ()"),
        (COUNT, lambda words: {"".join(p): n for p, n in count(words).items()}, "a key of `pairs`"),
        (COUNT, lambda words: {}, "is missing (its value should be"),
        (COUNT, lambda words: list(count(words)), "`pairs` is a list of 2, expected dict["),
        (MERGE, lambda word, pair: list(merge(word, pair)), "is a list of 2, expected tuple[str"),
        (MERGE, lambda word, pair: merge(word, pair)[:-1], "the symbols, put together, spell"),
        (TRAIN, lambda word_counts, num_merges: [("?", "!")] * num_merges, "yours 0 times"),
        (TRAIN, lambda word_counts, num_merges: [], "your answer has 0 merges, expected 1: "),
        (TRAIN, lambda word_counts, num_merges: [["s", "n"]], "`merges[0]` is a list of 2, exp"),
        (BPE, lambda word, merges: [*word, ""], "pieces, expected"),
        (BUG, lambda words, pair: {**words, "x": 1}, "should not be there (its value is"),
        (LEAK, lambda encode, decode, text: text + "x", "is no piece of the text 's"),
        (LEAK, lambda encode, decode, text: text[0], "'s' comes back as it was, so it is no leak"),
        (LEAK, lambda encode, decode, text: text, "is not the shortest: '  ' in it comes back"),
        (LEAK, lambda encode, decode, text: 3, "`piece` is an int, expected str"),
        (LEAK, lambda encode, decode, text: encode(3), "encode takes a str, received an int"),
        (LEAK, lambda encode, decode, text: decode(text), "decode takes a list of ids, received a"),
    ],
)
def test_the_first_difference_is_told(task, answer, said):
    result = grade(task, answer)
    assert result.score < 1.0
    assert said in result.message, result.message


def test_a_merge_that_is_not_the_most_frequent_is_told_with_the_counts():
    def rarest(word_counts, num_merges):
        counts = count({tuple(word): number for word, number in word_counts.items()})
        return [min(counts, key=lambda pair: (counts[pair], pair))] if counts else []

    assert ": it comes 5 times, yours 2 times" in grade(TRAIN, rarest).message
    first_seen = "it comes equally often, and is greater"

    def as_they_came(word_counts, num_merges):
        merges, corpus = [], {tuple(word): number for word, number in word_counts.items()}
        while len(merges) < num_merges and (counts := count(corpus)):
            merges.append(max(counts, key=counts.get))
            corpus = {merge(word, merges[-1]): number for word, number in corpus.items()}
        return merges

    assert first_seen in grade(TRAIN, as_they_came).message


@pytest.mark.parametrize(
    ("task", "answer", "name"),
    [
        (VOCAB, lambda tokens, min_freq, specials: _sorted_in_place(tokens, specials), "tokens"),
        (ENCODE, lambda tokens, vocab, unk: _filled(tokens, vocab, unk), "vocab"),
        (BPE, lambda word, merges: _cleared(word, merges), "merges"),
    ],
)
def test_a_changed_argument_is_told(task, answer, name):
    result = grade(task, answer)
    assert result.score < 1.0
    assert f"changes the caller's `{name}`" in result.message
    assert "Look for append, extend, pop" in result.message


def _sorted_in_place(tokens, specials):
    counts = {token: tokens.count(token) for token in tokens}
    kept = sorted(counts, key=lambda token: (-counts[token], token))
    tokens.sort()
    return {token: number for number, token in enumerate([*specials, *kept])}


def _filled(tokens, vocab, unk):
    ids = [vocab.get(token, vocab[unk]) for token in tokens]
    vocab.update(dict.fromkeys(tokens, 0))
    return ids


def _cleared(word, merges):
    symbols = tuple(word)
    for pair in list(merges):
        symbols = merge(symbols, pair)
    merges[:] = []
    return list(symbols)


def test_an_argument_that_holds_something_odd_after_the_call_is_a_changed_one():
    def answer(tokens, vocab, unk):
        ids = [vocab.get(token, vocab[unk]) for token in tokens]
        vocab["itself"] = vocab
        tokens.append(object())
        return ids

    message = grade(ENCODE, answer).message
    assert "changes the caller's `tokens` and `vocab`" in message


def test_memory_from_call_to_call_is_told():
    def answer(word, pair, seen={}):  # noqa: B006
        key = (word, pair)
        seen[key] = seen.get(key, 0) + 1
        return merge(word, pair) if seen[key] == 1 else word

    assert "remembered from call to call" in grade(MERGE, answer).message


def test_the_own_line_is_shown_where_the_library_raises():
    def answer(text):
        import re

        return re.findall("(", text)

    message = grade(WORDS, answer).message
    assert 'in `return re.findall("(", text)`' in message


# --- what may and may not be called ----------------------------------------------------------


class Unused(package.WordTokenizer):
    def _cut(self, text):
        return super()._cut(text)


@pytest.mark.parametrize(
    ("task", "answer", "name"),
    [
        (WORDS, reference.word_tokenize, "checks.tokenizers.word_tokenize"),
        (WORDS, lambda text: package.WordTokenizer([]).tokenize(text), "Tokenizer.tokenize"),
        (WORDS, Unused([]).tokenize, "Tokenizer.tokenize"),
        (VOCAB, reference.build_vocab, "checks.tokenizers.build_vocab"),
        (
            VOCAB,
            lambda tokens, min_freq, specials: package.WordTokenizer.train(
                [" ".join(tokens)], min_freq=min_freq, pretokenized=True
            ),
            "WordTokenizer.train",
        ),
        (ENCODE, reference.encode_tokens, "checks.tokenizers.encode_tokens"),
        (
            ENCODE,
            lambda tokens, vocab, unk: package.WordTokenizer(["a"]).convert_tokens_to_ids(tokens),
            "Tokenizer.convert_tokens_to_ids",
        ),
        (ENCODE, lambda tokens, vocab, unk: Vocabulary(["a"]).encode(tokens), "Vocabulary.encode"),
        (COUNT, reference.count_pairs, "checks.tokenizers.count_pairs"),
        (MERGE, reference.merge_pair, "checks.tokenizers.merge_pair"),
        (TRAIN, reference.train_bpe, "checks.tokenizers.train_bpe"),
        (TRAIN, package.learn_merges, "tokenizers.learn_merges"),
        (
            TRAIN,
            lambda counts, number: package.BPETokenizer.train(counts, number).merges,
            "BPETokenizer.train",
        ),
        (BPE, reference.bpe_encode, "checks.tokenizers.bpe_encode"),
        (BPE, lambda word, merges: package.BPETokenizer(merges).encode(word), "Tokenizer.encode"),
        (BUG, reference.merge_words, "checks.tokenizers.merge_words"),
        (LEAK, reference.shortest_leak, "checks.tokenizers.shortest_leak"),
    ],
)
def test_the_piece_itself_is_refused(task, answer, name):
    result = grade(task, answer)
    assert (result.score, result.misconception) == (0.0, None)
    assert f"{name}, which this task asks you to do without" in result.message


def test_the_package_still_works_afterwards():
    grade(TRAIN, package.learn_merges)
    assert package.learn_merges({"ab": 1}, 1) == [("a", "b")]
    assert package.BPETokenizer.train(["ab"], 1).tokenize("ab") == ["ab"]


# --- whatever an answer gives back -----------------------------------------------------------


class Chameleon(list):
    """Compares equal to everything, and is empty or full as it likes."""

    def __eq__(self, other):
        return True

    def __iter__(self):
        return iter(["a"] * 3)

    def __len__(self):
        return 3

    __hash__ = None
    __class__ = property(lambda self: tuple)


class Everything(str):
    __slots__ = ()

    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash("a")

    def strip(self, *_):
        return "a"


ODD = {
    "chameleon": lambda text: Chameleon(),
    "strings that equal all": lambda text: [Everything("x") for _ in words(text)],
    "itself": lambda text: (lambda value: value.append(value) or value)([]),
    "enormous": lambda text: [0] * 3_000_000,
    "enormous text": lambda text: ["a" * 30_000_000],
    "endless": lambda text: iter(int, 1),
    "huge number": lambda text: [10**100_000],
    "surrogate": lambda text: ["\ud800"],
    "dict": lambda text: dict(enumerate(text)),
    "array": lambda text: __import__("numpy").array(list(text)),
    "class": lambda text: str,
}


@pytest.mark.usefixtures("own_process")
@pytest.mark.parametrize("answer", ODD.values(), ids=ODD)
def test_anything_returned_is_judged(answer):
    result = grade(WORDS, answer)
    assert result.score < 0.2
    assert "First failing case" in result.message
    assert len(result.message) < 3000


def test_a_subclass_that_holds_the_right_thing_is_right():
    class Quiet(list):
        def __iter__(self):
            raise RuntimeError

        def __eq__(self, other):
            raise RuntimeError

        __hash__ = None

    assert grade(WORDS, lambda text: Quiet(words(text))).score == 1.0


def _forge(outcome):
    """Find the function that sends results, further up in the own process, and use it."""
    frame = sys._getframe()
    while frame is not None:
        send = frame.f_locals.get("send")
        if callable(send):
            for _ in frame.f_locals["questions"]:
                send(wire_format.encode(outcome))
            send(b"done")
            os._exit(0)
        frame = frame.f_back
    return []


FORGED = {
    "an array": {"values": {"tokens": torch.zeros(3).numpy()}},
    "a number": {"values": {"tokens": 3}},
    "nothing": {"values": {}},
    "values that are none": {"values": 3},
    "an error that is none": {"fault": 3, "error": ["x"]},
    "changed names that are none": {"changed": [1, None]},
    "gradients that are none": {"gradients": {"text": 3}},
    "another field": {"score": 1.0},
    "a name that is no string": {"values": {3: ["a"]}, "dtypes": {"tokens": 3}},
    "a list": [1, 2],
}


@pytest.mark.usefixtures("own_process")
@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_a_forged_result_is_judged_like_any_other(forged):
    outcome = {**Outcome().as_plain(), **forged} if isinstance(forged, dict) else forged
    result = grade(WORDS, lambda text: _forge(outcome))
    assert result.score == 0.0
    assert result.message


@pytest.mark.parametrize(
    "forged",
    [
        {"values": {"scores": [1.0]}},
        {"values": {"scores": torch.zeros(2).numpy()}, "dtypes": {"scores": "float32"}},
        {"values": {"scores": np.array(["a"])}, "dtypes": {"scores": "float32"}},
        {"values": {}, "gradients": {"query": torch.zeros(7).numpy()}},
        "right but for its dtype",
    ],
)
def test_a_forged_tensor_is_judged_like_any_other(forged):
    if isinstance(forged, str):
        case = make_exam("attention.attention_scores", 0).cases[0]
        forged = {"values": {"scores": case.arguments["query"] @ case.arguments["key"].T}}
    outcome = {**Outcome().as_plain(), **forged}
    result = grade("attention.attention_scores", lambda query, key: _forge(outcome))
    assert result.score == 0.0
    assert result.message
