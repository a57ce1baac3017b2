"""Right answers to tasks of the assignment "tokenizers": those that the package does not hold.

Here words are pieces of text and merges join characters, so that every step can be followed by
hand. The package's own tokenizer does the same on bytes, and faster.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

Pair = tuple[str, str]
Word = tuple[str, ...]


def word_tokenize(text: str) -> list[str]:
    """Cut a text into runs of letters and digits, and single other characters.

    Args:
        text: any text.

    Returns:
        the tokens in their order, white space left out.
    """
    return re.findall(r"\w+|[^\w\s]", text)


def build_vocab(tokens: Sequence[str], min_freq: int, specials: Sequence[str]) -> dict[str, int]:
    """Number the special tokens, then the tokens that are frequent enough.

    Args:
        tokens: of a text, repetitions included.
        min_freq: the least frequency that is enough.
        specials: come first, in this order.

    Returns:
        ids from 0 by token; frequent tokens first, ties in alphabetical order.
    """
    counts = Counter(tokens)
    words = [
        token for token, count in counts.items() if count >= min_freq and token not in specials
    ]
    words.sort(key=lambda token: (-counts[token], token))
    return {token: number for number, token in enumerate([*specials, *words])}


def encode_tokens(tokens: Sequence[str], vocab: Mapping[str, int], unk: str) -> list[int]:
    """Look tokens up.

    Args:
        tokens: any strings.
        vocab: ids by token.
        unk: the token whose id unknown tokens get.

    Returns:
        one id for each token.
    """
    return [vocab.get(token, vocab[unk]) for token in tokens]


def count_pairs(words: Mapping[Word, int]) -> dict[Pair, int]:
    """Count the pairs of neighbours in words.

    Args:
        words: how often each word comes; a word is a tuple of symbols.

    Returns:
        how often each pair comes, overlaps included.
    """
    counts: Counter[Pair] = Counter()
    for word, count in words.items():
        for pair in pairwise(word):
            counts[pair] += count
    return dict(counts)


def merge_pair(word: Word, pair: Pair) -> Word:
    """Join a pair wherever it stands in a word, from the left and without overlap.

    Args:
        word: symbols.
        pair: two symbols.

    Returns:
        the symbols after the merge.
    """
    word, pair = tuple(word), (pair[0], pair[1])
    merged = []
    place = 0
    while place < len(word):
        if word[place : place + 2] == pair:
            merged.append("".join(pair))
            place += 2
        else:
            merged.append(word[place])
            place += 1
    return tuple(merged)


def train_bpe(word_counts: Mapping[str, int], num_merges: int) -> list[Pair]:
    """Learn merges: again and again the most frequent pair.

    Args:
        word_counts: how often each word comes.
        num_merges: how many merges; fewer where no pair is left.

    Returns:
        the pairs in the order in which they were merged; of equally frequent ones the greatest.
    """
    words: dict[Word, int] = {tuple(word): count for word, count in word_counts.items()}
    merges: list[Pair] = []
    while len(merges) < num_merges and (counts := count_pairs(words)):
        best = max(counts, key=lambda pair: (counts[pair], pair))
        words = {merge_pair(word, best): count for word, count in words.items()}
        merges.append(best)
    return merges


def bpe_encode(word: str, merges: Iterable[Pair]) -> list[str]:
    """Cut a word into pieces by merges, the one learned first first.

    Args:
        word: any characters.
        merges: as from :func:`train_bpe`.

    Returns:
        the pieces, which spell the word.
    """
    symbols: Word = tuple(word)
    for pair in merges:
        symbols = merge_pair(symbols, pair)
    return list(symbols)


def merge_words(words: Mapping[str, int], pair: Pair) -> dict[str, int]:
    """Join a pair in words that are written with a space between their symbols.

    Args:
        words: how often each word comes.
        pair: two symbols.

    Returns:
        the same counts, by the words after the merge.
    """
    return {
        " ".join(merge_pair(tuple(word.split(" ")), pair)): count for word, count in words.items()
    }
