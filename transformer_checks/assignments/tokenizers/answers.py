"""The answers to the tasks of the assignment "tokenizers": the text of the solution's cells.

A mistake is a change to one of them.
Here words are pieces of text and merges join characters, so that every step can be followed by
hand. The package's own tokenizer does the same on bytes, and faster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

# As in the notebook, where `reference` is this module: later tasks use the answers to earlier ones.
from transformer_checks.assignments.tokenizers import answers as reference


def word_tokenize(text: str) -> list[str]:
    """Cut a text into words and punctuation marks.

    Args:
        text: any text.

    Returns:
        The tokens in their order. A token is a run of letters and digits
        (`str.isalnum`) or one other character that is not white space.
    """
    tokens = []
    word = ""
    for character in text:
        if character.isalnum():
            word += character
            continue
        if word:
            tokens.append(word)
            word = ""
        if not character.isspace():
            tokens.append(character)
    return [*tokens, word] if word else tokens


def build_vocab(
    tokens: list[str],
    min_freq: int,
    specials: list[str],
) -> dict[str, int]:
    """Number the special tokens, then the tokens that are frequent enough.

    Args:
        tokens: of a text, repetitions included.
        min_freq: how often a token must occur to get an id.
        specials: different tokens that come first, in this order.

    Returns:
        Ids from 0 by token: the specials, then the words by decreasing
        frequency, ties in the order of `sorted`. A special in the text
        keeps its id.
    """
    counts = Counter(tokens)
    frequent = [token for token in counts if counts[token] >= min_freq]
    words = [token for token in frequent if token not in specials]
    words.sort(key=lambda token: (-counts[token], token))
    tokens_by_id = [*specials, *words]
    return {token: number for number, token in enumerate(tokens_by_id)}


def merge_pair(
    word: tuple[str, ...],
    pair: tuple[str, str],
) -> tuple[str, ...]:
    """Join a pair wherever it occurs in a word.

    Args:
        word: at least one symbol.
        pair: two symbols.

    Returns:
        A tuple: the word after the merge, from left to right and without
        overlap.
    """
    merged = []
    place = 0
    while place < len(word):
        if word[place : place + 2] == pair:
            merged.append(pair[0] + pair[1])
            place += 2
        else:
            merged.append(word[place])
            place += 1
    return tuple(merged)


def train_bpe(
    word_counts: dict[str, int],
    num_merges: int,
) -> list[tuple[str, str]]:
    """Learn byte-pair merges from words.

    Args:
        word_counts: how often each word occurs.
        num_merges: how many merges to learn.

    Returns:
        Pairs of symbols (tuples) in the order in which they were merged; of
        equally frequent ones the greatest. Fewer than `num_merges` only if
        no pair is left.
    """
    words = {tuple(word): count for word, count in word_counts.items()}
    merges = []
    for _ in range(num_merges):
        counts: Counter[tuple[str, str]] = Counter()
        for word, count in words.items():
            for pair in pairwise(word):
                counts[pair] += count
        if not counts:
            break
        best = max(counts, key=lambda pair: (counts[pair], pair))
        merges.append(best)
        words = {reference.merge_pair(w, best): n for w, n in words.items()}
    return merges


def bpe_encode(word: str, merges: list[tuple[str, str]]) -> list[str]:
    """Cut a word into the pieces that merges make of its characters.

    Args:
        word: at least one character.
        merges: pairs of symbols, in the order in which they were learned.

    Returns:
        A list of strings, which together spell the word. Characters that
        are in no merge stay as they are.
    """
    symbols = tuple(word)
    for pair in merges:
        symbols = reference.merge_pair(symbols, pair)
    return list(symbols)


def merge_words(
    words: dict[str, int],
    pair: tuple[str, str],
) -> dict[str, int]:
    """Merge a pair in all words, as above and without the bug.

    Args:
        words: how often each word occurs; a word is a string with one space
            between its symbols.
        pair: two symbols.

    Returns:
        A new dictionary of the same form: the pair joined wherever it
        occurs as two whole symbols, from left to right and without overlap.
    """
    merged = {}
    for word, count in words.items():
        symbols = reference.merge_pair(tuple(word.split(" ")), pair)
        merged[" ".join(symbols)] = count
    return merged


def shortest_leak(
    encode: Callable[[str], list[int]],
    decode: Callable[[list[int]], str],
    text: str,
) -> str:
    """Find the shortest piece of a text that does not come back unchanged.

    Args:
        encode: turns a text into ids.
        decode: turns ids into a text.
        text: at least one character.

    Returns:
        The shortest of the pieces (runs of neighboring characters) that
        encode and decode together change; of equally short ones the first
        in the text; "" if every piece comes back unchanged.
    """
    for size in range(1, len(text) + 1):
        for start in range(len(text) - size + 1):
            piece = text[start : start + size]
            if decode(encode(piece)) != piece:
                return piece
    return ""


def longer_than_needed(merges: list[tuple[str, str]]) -> str:
    """Find a word that BPE cuts into more pieces than it needs.

    Args:
        merges: pairs of symbols, in the order in which they were learned.

    Returns:
        Of the words that are two known pieces, one after the other, and get
        three or more pieces from `bpe_encode`: the shortest, and of equally
        short ones the first in the order of `sorted`; "" if there is none.
    """
    joined = ["".join(pair) for pair in merges]
    known = sorted({*joined, *"".join(joined)})
    words = [one + other for one in known for other in known]
    cut = {word: reference.bpe_encode(word, merges) for word in words}
    found = [word for word in words if len(cut[word]) > 2]
    return min(found, key=lambda word: (len(word), word), default="")
