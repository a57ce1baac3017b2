"""Wrong answers to the tasks of tokenizers, as beginners write them."""

import re
from itertools import product

from tests.checks.material.unseen import wrong
from transformer_checks import tokenizers as reference

# tokenizers.train_bpe


# tokenizers.word_tokenize


# tokenizers.build_vocab


# tokenizers.merge_pair


# tokenizers.bpe_encode


# tokenizers.find_the_bug


@wrong(
    "tokenizers.find_the_bug", "word boundaries: punctuation marks are not seen", "word-boundary"
)
def _(words, pair):
    pattern = re.compile(r"\b" + re.escape(" ".join(pair)) + r"\b")
    return {pattern.sub("".join(pair), word): n for word, n in words.items()}


@wrong("tokenizers.find_the_bug", "no escape: a full stop is any character", "not-escaped")
def _(words, pair):
    pattern = re.compile(r"(?<!\S)" + " ".join(pair) + r"(?!\S)")
    return {pattern.sub("".join(pair), word): n for word, n in words.items()}


@wrong("tokenizers.find_the_bug", "only behind is looked at", "right-border-only")
def _(words, pair):
    pattern = re.compile(re.escape(" ".join(pair)) + r"(?!\S)")
    return {pattern.sub("".join(pair), word): n for word, n in words.items()}


# tokenizers.shortest_leak


# tokenizers.longer_than_needed


def _pieces(merges):
    """The known pieces, in the order in which they are made."""
    characters = [character for pair in merges for character in "".join(pair)]
    return [*dict.fromkeys([*characters, *map("".join, merges)])]


def _too_many(words, merges):
    return [word for word in words if len(reference.bpe_encode(word, merges)) >= 3]


def _first(words):
    return min(words, key=lambda word: (len(word), word), default="")


def _words(merges):
    return [a + b for a, b in product(_pieces(merges), repeat=2)]


@wrong("tokenizers.longer_than_needed", "the word and its pieces", "", relation="form")
def _(merges):
    word = _first(_too_many(_words(merges), merges))
    return word, reference.bpe_encode(word, merges)


@wrong("tokenizers.longer_than_needed", "printed, not returned", "", relation="form")
def _(merges):
    print(_first(_too_many(_words(merges), merges)))
