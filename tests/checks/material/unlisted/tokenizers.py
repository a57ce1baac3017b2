"""Wrong answers to the tasks on tokenizers."""

from collections import Counter
from itertools import pairwise

from tests.checks.material.tokenizers import count_loop
from tests.checks.material.unlisted import wrong
from transformer_checks import tokenizers as reference


@wrong("tokenizers.merge_pair", "i += 1 after a merge: the second symbol of the pair comes again")
def merge_pair_1(word, pair):
    merged = []
    i = 0
    while i < len(word):
        if word[i : i + 2] == pair:
            merged.append(word[i] + word[i + 1])
        else:
            merged.append(word[i])
        i += 1
    return tuple(merged)


@wrong("tokenizers.merge_pair", "range(len(word) - 1): the last symbol gets lost")
def merge_pair_2(word, pair):
    merged = []
    skip = False
    for i in range(len(word) - 1):
        if skip:
            skip = False
        elif (word[i], word[i + 1]) == pair:
            merged.append("".join(pair))
            skip = True
        else:
            merged.append(word[i])
    return tuple(merged)


@wrong("tokenizers.merge_pair", "return merged: a list and not a tuple")
def merge_pair_3(word, pair):
    merged = []
    i = 0
    while i < len(word):
        if i + 1 < len(word) and (word[i], word[i + 1]) == pair:
            merged.append(pair[0] + pair[1])
            i += 2
        else:
            merged.append(word[i])
            i += 1
    return merged


@wrong("tokenizers.merge_pair", "break after the first merge: later places stay apart")
def merge_pair_4(word, pair):
    merged = list(word)
    for i in range(len(merged) - 1):
        if (merged[i], merged[i + 1]) == pair:
            merged[i : i + 2] = [pair[0] + pair[1]]
            break
    return tuple(merged)


@wrong("tokenizers.merge_pair", "range(len - 2, -1, -1): from the right, so a, aa and not aa, a")
def merge_pair_5(word, pair):
    merged = list(word)
    i = len(merged) - 2
    while i >= 0:
        if (merged[i], merged[i + 1]) == pair:
            merged[i : i + 2] = ["".join(pair)]
            i -= 1
        i -= 1
    return tuple(merged)


@wrong("tokenizers.merge_pair", "set(window) == set(pair): the pair the other way round is joined")
def merge_pair_6(word, pair):
    merged = []
    i = 0
    while i < len(word):
        if set(word[i : i + 2]) == set(pair) and i + 1 < len(word):
            merged.append(word[i] + word[i + 1])
            i += 2
        else:
            merged.append(word[i])
            i += 1
    return tuple(merged)


@wrong("tokenizers.merge_pair", "merged.append(pair): the pair stays a tuple and is not joined")
def merge_pair_7(word, pair):
    merged = []
    i = 0
    while i < len(word):
        if word[i : i + 2] == pair:
            merged.append(pair)
            i += 2
        else:
            merged.append(word[i])
            i += 1
    return tuple(merged)


@wrong("tokenizers.merge_pair", "word[i] == pair[0]: the second symbol is not looked at")
def merge_pair_8(word, pair):
    merged = []
    i = 0
    while i < len(word):
        if word[i] == pair[0] and i + 1 < len(word):
            merged.append(pair[0] + pair[1])
            i += 2
        else:
            merged.append(word[i])
            i += 1
    return tuple(merged)


@wrong("tokenizers.merge_pair", "word[i + 1] without a test of the end: an IndexError")
def merge_pair_9(word, pair):
    merged = []
    i = 0
    while i < len(word):
        if word[i] == pair[0] and word[i + 1] == pair[1]:
            merged.append(pair[0] + pair[1])
            i += 2
        else:
            merged.append(word[i])
            i += 1
    return tuple(merged)


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


@wrong("tokenizers.train_bpe", "max(counts, key=counts.get): of equal ones the first")
def train_bpe_1(word_counts, num_merges):
    words = {tuple(word): count for word, count in word_counts.items()}
    merges = []
    for _ in range(num_merges):
        counts = count_loop(words)
        if not counts:
            break
        best = max(counts, key=counts.get)
        merges.append(best)
        words = {reference.merge_pair(word, best): count for word, count in words.items()}
    return merges


@wrong("tokenizers.train_bpe", "min(..., key=(-count, pair)): of equal ones the smallest")
def train_bpe_2(word_counts, num_merges):
    words = {tuple(word): count for word, count in word_counts.items()}
    merges = []
    for _ in range(num_merges):
        counts = count_loop(words)
        if not counts:
            return merges
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        merges.append(best)
        words = {reference.merge_pair(word, best): count for word, count in words.items()}
    return merges


@wrong("tokenizers.train_bpe", "words is not replaced: every merge is the same pair")
def train_bpe_3(word_counts, num_merges):
    words = {tuple(word): count for word, count in word_counts.items()}
    merges = []
    for _ in range(num_merges):
        counts = count_loop(words)
        if not counts:
            break
        best = max(counts, key=lambda pair: (counts[pair], pair))
        merges.append(best)
        for word in words:
            word = reference.merge_pair(word, best)
    return merges


@wrong("tokenizers.train_bpe", "counts before the loop: the num_merges first of one count")
def train_bpe_4(word_counts, num_merges):
    words = {tuple(word): count for word, count in word_counts.items()}
    counts = count_loop(words)
    ranked = sorted(counts, key=lambda pair: (counts[pair], pair), reverse=True)
    return ranked[:num_merges]


@wrong("tokenizers.train_bpe", "max on an empty dictionary: a ValueError when no pair is left")
def train_bpe_5(word_counts, num_merges):
    words = {tuple(word): count for word, count in word_counts.items()}
    merges = []
    for _ in range(num_merges):
        counts = count_loop(words)
        best = max(counts, key=lambda pair: (counts[pair], pair))
        merges.append(best)
        words = {reference.merge_pair(word, best): count for word, count in words.items()}
    return merges


@wrong("tokenizers.train_bpe", "{tuple(word): 1}: how often a word comes is forgotten")
def train_bpe_6(word_counts, num_merges):
    words = {tuple(word): 1 for word in word_counts}
    merges = []
    while len(merges) < num_merges:
        counts = count_loop(words)
        if not counts:
            break
        best = max(counts, key=lambda pair: (counts[pair], pair))
        merges.append(best)
        words = {reference.merge_pair(word, best): count for word, count in words.items()}
    return merges


@wrong("tokenizers.train_bpe", "counts[best] < 2: stops although a pair is left that comes once")
def train_bpe_7(word_counts, num_merges):
    words = {tuple(word): count for word, count in word_counts.items()}
    merges = []
    for _ in range(num_merges):
        counts = count_loop(words)
        if not counts:
            break
        best = max(counts, key=lambda pair: (counts[pair], pair))
        if counts[best] < 2:
            break
        merges.append(best)
        words = {reference.merge_pair(word, best): count for word, count in words.items()}
    return merges


@wrong("tokenizers.train_bpe", "merges.append(''.join(best)): strings and not pairs")
def train_bpe_8(word_counts, num_merges):
    words = {tuple(word): count for word, count in word_counts.items()}
    merges = []
    for _ in range(num_merges):
        counts = count_loop(words)
        if not counts:
            break
        best = max(counts, key=lambda pair: (counts[pair], pair))
        merges.append("".join(best))
        words = {reference.merge_pair(word, best): count for word, count in words.items()}
    return merges


@wrong("tokenizers.train_bpe", "range(1, num_merges): one merge too few")
def train_bpe_9(word_counts, num_merges):
    words = {tuple(word): count for word, count in word_counts.items()}
    merges = []
    for _ in range(1, num_merges):
        counts = count_loop(words)
        if not counts:
            break
        best = max(counts, key=lambda pair: (counts[pair], pair))
        merges.append(best)
        words = {reference.merge_pair(word, best): count for word, count in words.items()}
    return merges


@wrong("tokenizers.train_bpe", "(*word, '</w>'): the end of a word is a symbol and merged")
def train_bpe_10(word_counts, num_merges):
    words = {(*word, "</w>"): count for word, count in word_counts.items()}
    merges = []
    for _ in range(num_merges):
        counts = count_loop(words)
        if not counts:
            break
        best = max(counts, key=lambda pair: (counts[pair], pair))
        merges.append(best)
        words = {reference.merge_pair(word, best): count for word, count in words.items()}
    return merges


@wrong("tokenizers.bpe_encode", "reversed(merges): the merge that was learned last comes first")
def bpe_encode_1(word, merges):
    pieces = tuple(word)
    for pair in reversed(merges):
        pieces = reference.merge_pair(pieces, pair)
    return list(pieces)


@wrong("tokenizers.bpe_encode", "the first pair from the left is merged, whatever its rank")
def bpe_encode_2(word, merges):
    pieces = list(word)
    i = 0
    while i < len(pieces) - 1:
        if (pieces[i], pieces[i + 1]) in merges:
            pieces[i : i + 2] = [pieces[i] + pieces[i + 1]]
            i = 0
        else:
            i += 1
    return pieces


@wrong("tokenizers.bpe_encode", "range(len(merges) - 1): the last merge is never made")
def bpe_encode_3(word, merges):
    pieces = tuple(word)
    for rank in range(len(merges) - 1):
        pieces = reference.merge_pair(pieces, merges[rank])
    return list(pieces)


@wrong("tokenizers.bpe_encode", "return inside the loop: the first merge only")
def bpe_encode_4(word, merges):
    pieces = tuple(word)
    for pair in merges:
        pieces = reference.merge_pair(pieces, pair)
        return list(pieces)
    return list(pieces)


@wrong("tokenizers.bpe_encode", "merge_pair(tuple(word), pair): each merge starts anew")
def bpe_encode_5(word, merges):
    pieces = tuple(word)
    for pair in merges:
        pieces = reference.merge_pair(tuple(word), pair)
    return list(pieces)


@wrong("tokenizers.bpe_encode", "max(rank): of the pairs in the word, the one of highest rank")
def bpe_encode_6(word, merges):
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    pieces = tuple(word)
    while True:
        here = [pair for pair in pairwise(pieces) if pair in ranks]
        if not here:
            return list(pieces)
        pieces = reference.merge_pair(pieces, max(here, key=ranks.get))


@wrong("tokenizers.bpe_encode", "known = set of merge symbols: unknown characters are left out")
def bpe_encode_7(word, merges):
    known = {symbol for pair in merges for symbol in pair}
    pieces = tuple(letter for letter in word if letter in known)
    for pair in merges:
        pieces = reference.merge_pair(pieces, pair)
    return list(pieces)


@wrong("tokenizers.bpe_encode", "word.replace(left + right, ...): symbols are sought in the text")
def bpe_encode_8(word, merges):
    text = " ".join(word)
    for left, right in merges:
        text = text.replace(left + " " + right, left + right)
    return text.split(" ")


@wrong("tokenizers.bpe_encode", "Counter(pairs).most_common: the most frequent pair of the word")
def bpe_encode_9(word, merges):
    pieces = tuple(word)
    while True:
        counts = Counter(pair for pair in pairwise(pieces) if pair in merges)
        if not counts:
            return list(pieces)
        pieces = reference.merge_pair(pieces, counts.most_common(1)[0][0])


@wrong("tokenizers.bpe_encode", "set(pieces): each piece once, and sorted")
def bpe_encode_10(word, merges):
    pieces = tuple(word)
    for pair in merges:
        pieces = reference.merge_pair(pieces, pair)
    return sorted(set(pieces))
