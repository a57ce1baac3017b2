"""Wrong answers to the tasks of tokenizers, as beginners write them."""

import re
from itertools import product

from tests.checks.material.tokenizers import count_loop
from tests.checks.material.unseen import wrong
from transformer_checks import tokenizers as reference


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


@wrong("tokenizers.train_bpe", "returns the words, not the merges")
def _(word_counts, num_merges):
    words = {tuple(w): n for w, n in word_counts.items()}
    for _ in range(num_merges):
        counts = count_loop(words)
        if not counts:
            break
        best = max(counts, key=lambda p: (counts[p], p))
        words = {reference.merge_pair(w, best): n for w, n in words.items()}
    return list(words)


@wrong(
    "tokenizers.merge_pair", "tuple(''.join(merged)): the word falls into characters again", None
)
def merge_pair_10(word, pair):
    merged = ""
    i = 0
    while i < len(word):
        if word[i : i + 2] == pair:
            merged += pair[0] + pair[1]
            i += 2
        else:
            merged += word[i]
            i += 1
    return tuple(merged)


@wrong("tokenizers.bpe_encode", "range(len(merges) - 1): the last merge is never made", None)
def bpe_encode_3(word, merges):
    pieces = tuple(word)
    for rank in range(len(merges) - 1):
        pieces = reference.merge_pair(pieces, merges[rank])
    return list(pieces)


@wrong("tokenizers.bpe_encode", "set(pieces): each piece once, and sorted", None)
def bpe_encode_10(word, merges):
    pieces = tuple(word)
    for pair in merges:
        pieces = reference.merge_pair(pieces, pair)
    return sorted(set(pieces))
