"""Answers to the assignment "tokenizers" on which the grader itself is measured.

CORRECT must be accepted, WRONG must be rejected with the misconception that stands beside it, and
MUTANTS, which have no name and are harder to notice than any generated mutant, without one.
They are written apart from the checks, in the ways in which people write tokenizers.
"""

# ruff: noqa: RUF005, RUF007

from __future__ import annotations

import functools
import heapq
import itertools
import operator
import re
import unicodedata
from collections import Counter, OrderedDict, defaultdict

import numpy as np

# =============================================================================================
# word_tokenize
# =============================================================================================


def words_regex(text: str) -> list[str]:
    return re.findall(r"[^\W_]+|[^\w\s]|_", text)


def words_loop(text):
    tokens, current = [], ""
    for ch in text:
        if ch.isalnum():
            current += ch
            continue
        if current:
            tokens.append(current)
            current = ""
        if not ch.isspace():
            tokens.append(ch)
    if current:
        tokens.append(current)
    return tokens


def words_spaced(text):
    spaced = "".join(c if c.isalnum() or c.isspace() else f" {c} " for c in text)
    return spaced.split()


class Tokens(list):
    """A list that lies about everything but what is in it."""

    def __eq__(self, other):
        return False

    __hash__ = None

    def __len__(self):
        return 1

    def __iter__(self):
        return iter([])


class Token(str):
    __slots__ = ()

    def __eq__(self, other):
        return False

    def __hash__(self):
        return 1


def words_subclass(text):
    return Tokens([Token(t) for t in words_loop(text)])


def words_numpy(text):
    return [np.str_(t) for t in words_regex(text)]


def m_words_normalised(text):
    return words_loop(unicodedata.normalize("NFD", text))


# =============================================================================================
# build_vocab
# =============================================================================================


def vocab_loop(tokens, min_freq, specials):
    freq = {}
    for t in tokens:
        freq[t] = freq.get(t, 0) + 1
    vocab = {}
    for s in specials:
        vocab[s] = len(vocab)
    for t in sorted(sorted(freq), key=freq.get, reverse=True):
        if freq[t] >= min_freq and t not in vocab:
            vocab[t] = len(vocab)
    return vocab


def vocab_two_sorts(tokens, min_freq, specials):
    items = sorted(Counter(tokens).items(), key=operator.itemgetter(0))
    items.sort(key=operator.itemgetter(1), reverse=True)
    kept = [t for t, c in items if c >= min_freq and t not in set(specials)]
    return OrderedDict((t, i) for i, t in enumerate(list(specials) + kept))


def vocab_heap(tokens, min_freq, specials):
    heap = [(-tokens.count(t), t) for t in set(tokens) - set(specials)]
    heapq.heapify(heap)
    ids = itertools.count()
    vocab = dict(zip(specials, ids, strict=False))
    place = len(specials)
    while heap:
        count, token = heapq.heappop(heap)
        if -count >= min_freq:
            vocab[token] = place
            place += 1
    return vocab


def vocab_numpy(tokens, min_freq, specials):
    names, counts = np.unique(np.array(tokens, dtype=object), return_counts=True)
    order = np.lexsort((names.astype(str), -counts)) if len(names) else []
    kept = [str(names[i]) for i in order if counts[i] >= min_freq and names[i] not in specials]
    ids = np.arange(len(specials) + len(kept))
    return dict(zip([*specials, *kept], ids, strict=True))


def m_vocab_at_least_two(tokens, min_freq, specials):
    return vocab_loop(tokens, max(2, min_freq), specials)


def m_vocab_latin(tokens, min_freq, specials):
    return vocab_loop([t for t in tokens if t.isascii()], min_freq, specials)


# =============================================================================================
# count pairs, for train_bpe
# =============================================================================================


def count_loop(words):
    pairs = {}
    for word in words:
        for i in range(len(word) - 1):
            pair = word[i], word[i + 1]
            if pair not in pairs:
                pairs[pair] = 0
            pairs[pair] += words[word]
    return pairs


def count_defaultdict(words):
    pairs = defaultdict(int)
    for word, freq in words.items():
        for left, right in zip(word, word[1:], strict=False):
            pairs[left, right] += freq
    return pairs


def count_counter(words):
    total = Counter()
    for word, n in words.items():
        total.update({p: n * c for p, c in Counter(itertools.pairwise(word)).items()})
    return total


# =============================================================================================
# merge_pair
# =============================================================================================


def merge_while(word, pair):
    out = []
    i = 0
    while i < len(word):
        if i + 1 < len(word) and word[i] == pair[0] and word[i + 1] == pair[1]:
            out.append(word[i] + word[i + 1])
            i += 2
        else:
            out.append(word[i])
            i += 1
    return tuple(out)


def merge_stack(word, pair):
    stack, fresh = [], False
    for s in word:
        if stack and not fresh and stack[-1] == pair[0] and s == pair[1]:
            stack[-1] = pair[0] + pair[1]
            fresh = True
        else:
            stack.append(s)
            fresh = False
    return tuple(stack)


def merge_recursive(word, pair):
    if len(word) < 2:
        return word
    if word[:2] == pair:
        return ("".join(pair),) + merge_recursive(word[2:], pair)
    return word[:1] + merge_recursive(word[1:], pair)


def merge_regex(word, pair):
    text = " " + " ".join(word) + " "
    pattern = "(?<= )" + re.escape(" ".join(pair)) + "(?= )"
    return tuple(re.sub(pattern, lambda m: m.group().replace(" ", ""), text).split())


def merge_skip(word, pair):
    skip, out = False, ()
    for i, s in enumerate(word):
        if skip:
            skip = False
        elif (s, *word[i + 1 : i + 2]) == pair:
            out, skip = (*out, s + word[i + 1]), True
        else:
            out = (*out, s)
    return out


def m_merge_none_if_absent(word, pair):
    merged = merge_while(word, pair)
    return merged if merged != word else None


def m_merge_twice(word, pair):
    out = merge_while(word, pair)
    return merge_while(out, ("".join(pair), pair[1]))


# =============================================================================================
# train_bpe
# =============================================================================================


def train_plain(word_counts, num_merges):
    corpus = {tuple(w): c for w, c in word_counts.items()}
    merges = []
    for _ in range(num_merges):
        pairs = count_defaultdict(corpus)
        if not pairs:
            break
        best = max(pairs, key=lambda p: (pairs[p], p))
        merges.append(best)
        corpus = {merge_while(w, best): c for w, c in corpus.items()}
    return merges


def train_sorted(word_counts, num_merges):
    words = [[list(w), c] for w, c in word_counts.items()]
    learned = ()
    while len(learned) < num_merges:
        stats = Counter()
        for symbols, c in words:
            for p in zip(symbols, symbols[1:], strict=False):
                stats[p] += c
        if len(stats) == 0:
            return learned
        _, best = sorted((c, p) for p, c in stats.items())[-1]
        learned += (best,)
        for entry in words:
            entry[0] = list(merge_stack(entry[0], best))
    return learned


def train_recursive(word_counts, num_merges, corpus=None):
    if corpus is None:
        corpus = {tuple(w): c for w, c in word_counts.items()}
    pairs = count_counter(corpus)
    if num_merges == 0 or not pairs:
        return []
    most = max(pairs.values())
    best = max(p for p in pairs if pairs[p] == most)
    merged = {merge_recursive(w, best): c for w, c in corpus.items()}
    return [best, *train_recursive(word_counts, num_merges - 1, merged)]


def train_package_piece(word_counts, num_merges):
    from transformer_checks import tokenizers as reference

    words = {tuple(w): c for w, c in word_counts.items()}
    merges = []
    for _ in range(num_merges):
        counts = count_loop(words)
        if not counts:
            break
        merges.append(max(counts, key=lambda pair: (counts[pair], pair)))
        words = {reference.merge_pair(w, merges[-1]): c for w, c in words.items()}
    return merges


# =============================================================================================
# bpe_encode
# =============================================================================================


def encode_in_order(word, merges):
    symbols = list(word)
    for a, b in merges:
        i = 0
        while i < len(symbols) - 1:
            if symbols[i] == a and symbols[i + 1] == b:
                symbols[i : i + 2] = [a + b]
            i += 1
    return symbols


def encode_by_rank(word, merges):
    rank = {pair: i for i, pair in enumerate(merges)}
    symbols = tuple(word)
    while len(symbols) > 1:
        candidates = [p for p in itertools.pairwise(symbols) if p in rank]
        if not candidates:
            break
        symbols = merge_while(symbols, min(candidates, key=rank.get))
    return symbols


def encode_infinite(word, merges):
    rank = dict(zip(merges, itertools.count(), strict=False))
    symbols = list(word)
    while True:
        pairs = list(zip(symbols, symbols[1:], strict=False))
        best = min(pairs, key=lambda p: rank.get(p, float("inf")), default=None)
        if best not in rank:
            return symbols
        i = pairs.index(best)
        symbols = [*symbols[:i], symbols[i] + symbols[i + 1], *symbols[i + 2 :]]


def encode_reduce(word, merges):
    return list(functools.reduce(merge_stack, merges, tuple(word)))


def encode_heap(word, merges):
    rank = {tuple(p): i for i, p in enumerate(merges)}
    symbols = list(word)
    while True:
        heap = [(rank[p], i) for i, p in enumerate(itertools.pairwise(symbols)) if p in rank]
        if not heap:
            return symbols
        _, i = heapq.nsmallest(1, heap)[0]
        symbols[i] += symbols.pop(i + 1)


# =============================================================================================
# find_the_bug: merge_words
# =============================================================================================


def bug_split(words, pair):
    return {" ".join(merge_while(tuple(w.split()), pair)): n for w, n in words.items()}


def bug_lookaround(words, pair):
    pattern = re.compile(r"(?<!\S)" + re.escape(" ".join(pair)) + r"(?!\S)")
    out = {}
    for word in words:
        out[pattern.sub(lambda m: "".join(pair), word)] = words[word]
    return out


def bug_loop(words, pair):
    result = Counter()
    for word, n in words.items():
        symbols = word.split(" ")
        i = 0
        while i < len(symbols) - 1:
            if (symbols[i], symbols[i + 1]) == pair:
                symbols[i] += symbols.pop(i + 1)
            i += 1
        result[" ".join(symbols)] += n
    return result


def bug_package_piece(words, pair):
    from transformer_checks import tokenizers as reference

    return {" ".join(reference.merge_pair(tuple(w.split()), pair)): n for w, n in words.items()}


# =============================================================================================
# shortest_leak
# =============================================================================================


def leak_combinations(encode, decode, text):
    ends = sorted(
        itertools.combinations(range(len(text) + 1), 2), key=lambda pair: (pair[1] - pair[0], pair)
    )
    for start, end in ends:
        if decode(encode(text[start:end])) != text[start:end]:
            return text[start:end]
    return ""


def leak_next(encode, decode, text):
    n = len(text)
    pieces = (text[i : i + size] for size in range(1, n + 1) for i in range(n + 1 - size))
    return next((p for p in pieces if decode(encode(p)) != p), "")


def leak_while(encode, decode, text):
    size = 1
    while size <= len(text):
        start = 0
        while start + size <= len(text):
            piece = text[start : start + size]
            ids = encode(piece)
            if piece != decode(ids):
                return piece
            start += 1
        size += 1
    return ""


def _leak(pieces=None, leaks=None, choose=None):
    """A right one in parts that a wrong one overrides; `pieces(text)` gives them in order."""

    def shortest_leak(encode, decode, text):
        def back(piece):
            return decode(encode(piece))

        n = len(text)
        tried = pieces(text) if pieces else _by_size(text, range(1, n + 1))
        found = [p for p in tried if (leaks(p, back, encode) if leaks else p != back(p))]
        if not found:
            return ""
        return choose(found, back) if choose else found[0]

    return shortest_leak


def _by_size(text, sizes):
    return [text[i : i + size] for size in sizes for i in range(len(text) - size + 1)]


def m_leak_with_more(encode, decode, text):
    """One character more to the right."""
    piece = leak_next(encode, decode, text)
    start = text.find(piece)
    return text[start : start + len(piece) + 1] if piece else ""


def m_bug_template(words, pair):
    left, right = map(re.escape, pair)
    pattern = rf"(?<!\S){left} {right}(?!\S)"
    return {re.sub(pattern, "".join(pair), word): count for word, count in words.items()}


# =============================================================================================
# longer_than_needed
# =============================================================================================


def _pieces(merges):
    return {c for a, b in merges for c in a + b} | {a + b for a, b in merges}


def longer_product(merges):
    words = {a + b for a, b in itertools.product(_pieces(merges), repeat=2)}
    wasted = sorted((len(w), w) for w in words if len(encode_by_rank(w, merges)) >= 3)
    return wasted[0][1] if wasted else ""


def longer_loop(merges):
    known = []
    for pair in merges:
        for piece in (*pair, "".join(pair)):
            if piece not in known:
                known.append(piece)
    best = ""
    for left in known:
        for right in known:
            word = left + right
            if len(encode_in_order(word, merges)) <= 2:
                continue
            if not best or len(word) < len(best) or (len(word) == len(best) and word < best):
                best = word
    return best


def longer_heap(merges):
    heap = list({(len(a + b), a + b) for a in _pieces(merges) for b in _pieces(merges)})
    heapq.heapify(heap)
    while heap:
        _, word = heapq.heappop(heap)
        if len(encode_heap(word, merges)) > 2:
            return np.str_(word)
    return ""


def longer_package_piece(merges):
    from transformer_checks import tokenizers as reference

    chars = set("".join(a + b for a, b in merges))
    known = [*chars, *map("".join, merges)]
    found = {
        a + b
        for a in known
        for b in known
        if len(reference.bpe_encode(a + b, merges)) not in (1, 2)
    }
    return min(sorted(found), key=len, default="")


def m_longer_by_joined_length(merges):
    """Right but for words of more than eight letters."""
    word = longer_product(merges)
    return word if len(word) < 9 else ""


CORRECT = {
    "tokenizers.word_tokenize": [words_regex, words_spaced, words_subclass, words_numpy],
    "tokenizers.build_vocab": [vocab_loop, vocab_two_sorts, vocab_heap, vocab_numpy],
    "tokenizers.merge_pair": [merge_while, merge_recursive, merge_regex, merge_skip],
    "tokenizers.train_bpe": [train_plain, train_sorted, train_recursive, train_package_piece],
    "tokenizers.bpe_encode": [encode_in_order, encode_by_rank, encode_infinite, encode_reduce],
    "tokenizers.find_the_bug": [bug_split, bug_lookaround, bug_loop, bug_package_piece],
    "tokenizers.shortest_leak": [leak_combinations, leak_next, leak_while, _leak()],
    "tokenizers.longer_than_needed": [
        longer_product,
        longer_loop,
        longer_heap,
        longer_package_piece,
    ],
}

WRONG = {}

MUTANTS = {
    "tokenizers.word_tokenize": [m_words_normalised],
    "tokenizers.build_vocab": [m_vocab_at_least_two, m_vocab_latin],
    "tokenizers.merge_pair": [m_merge_none_if_absent, m_merge_twice],
    "tokenizers.find_the_bug": [m_bug_template],
    "tokenizers.shortest_leak": [m_leak_with_more],
    "tokenizers.longer_than_needed": [m_longer_by_joined_length],
}
