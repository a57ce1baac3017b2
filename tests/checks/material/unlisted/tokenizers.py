"""Wrong answers to the tasks on tokenizers."""

from tests.checks.material.unlisted import wrong
from transformer_checks import tokenizers as reference


@wrong("tokenizers.merge_pair", "tuple(''.join(merged)): the word falls into characters again")
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


@wrong("tokenizers.bpe_encode", "range(len(merges) - 1): the last merge is never made")
def bpe_encode_3(word, merges):
    pieces = tuple(word)
    for rank in range(len(merges) - 1):
        pieces = reference.merge_pair(pieces, merges[rank])
    return list(pieces)


@wrong("tokenizers.bpe_encode", "set(pieces): each piece once, and sorted")
def bpe_encode_10(word, merges):
    pieces = tuple(word)
    for pair in merges:
        pieces = reference.merge_pair(pieces, pair)
    return sorted(set(pieces))
