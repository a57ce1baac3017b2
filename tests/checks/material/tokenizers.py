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
import warnings
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


def words_groupby(text):
    print("tokenizing", repr(text))
    warnings.warn("this is slow", UserWarning, stacklevel=2)
    out = []
    for is_word, group in itertools.groupby(text, key=str.isalnum):
        chunk = "".join(group)
        out.extend([chunk] if is_word else [c for c in chunk if not c.isspace()])
    return tuple(out)


def words_spaced(text):
    spaced = "".join(c if c.isalnum() or c.isspace() else f" {c} " for c in text)
    return spaced.split()


def words_recursive(text):
    if not text:
        return []
    head = text[0]
    if head.isspace():
        return words_recursive(text[1:])
    if not head.isalnum():
        return [head] + words_recursive(text[1:])
    n = 1
    while n < len(text) and text[n].isalnum():
        n += 1
    return [text[:n], *words_recursive(text[n:])]


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


def vocab_most_common(tokens, min_freq, specials):
    counts = Counter(sorted(tokens))
    itos = specials + [t for t, c in counts.most_common() if c >= min_freq and t not in specials]
    return {t: i for i, t in enumerate(itos)}


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


def vocab_defaultdict(tokens, min_freq, specials):
    vocab = defaultdict(int)
    for i, s in enumerate(specials):
        vocab[s] = i
    groups = defaultdict(list)
    for t, c in Counter(tokens).items():
        groups[c].append(t)
    for c in sorted(groups, reverse=True):
        if c < min_freq:
            break
        for t in sorted(groups[c]):
            if t in specials:
                continue
            vocab[t] = len(vocab)
    return vocab


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


def merge_index(word, pair):
    word, start = list(word), 0
    while pair[0] in word[start:-1]:
        i = word.index(pair[0], start)
        if i + 1 < len(word) and word[i + 1] == pair[1]:
            word[i : i + 2] = ["".join(pair)]
        start = i + 1
    return tuple(word)


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


def merge_iterator(word, pair):
    symbols = iter(word)
    out = []
    held = next(symbols)
    for s in symbols:
        if held is not None and (held, s) == pair:
            out.append(held + s)
            held = None
        else:
            if held is not None:
                out.append(held)
            held = s
    if held is not None:
        out.append(held)
    return tuple(out)


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


def train_strings(word_counts, num_merges):
    vocab = {"\x00".join(w): c for w, c in word_counts.items()}
    merges = []
    try:
        for _ in range(num_merges):
            pairs = defaultdict(int)
            for text, c in vocab.items():
                symbols = text.split("\x00")
                for i in range(len(symbols) - 1):
                    pairs[(symbols[i], symbols[i + 1])] += c
            top = max(pairs.values())
            best = max(p for p, c in pairs.items() if c == top)
            merges.append(best)
            vocab = {
                "\x00".join(merge_while(tuple(t.split("\x00")), best)): c for t, c in vocab.items()
            }
    except ValueError:
        pass
    return merges


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


def train_heap(word_counts, num_merges):
    class Greatest:
        def __init__(self, count, pair):
            self.count, self.pair = count, pair

        def __lt__(self, other):
            return (self.count, self.pair) > (other.count, other.pair)

    words = {tuple(w): c for w, c in word_counts.items()}
    merges = []
    while len(merges) < num_merges:
        heap = [Greatest(c, p) for p, c in count_loop(words).items()]
        if not heap:
            break
        heapq.heapify(heap)
        merges.append(heap[0].pair)
        words = {merge_index(w, merges[-1]): c for w, c in words.items()}
    return merges


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


def train_changed_only(word_counts, num_merges):
    """Count once, and after a merge take back and add what has changed."""
    words = [(tuple(w), c) for w, c in word_counts.items()]
    counts, where = Counter(), defaultdict(set)

    def note(number, sign):
        symbols, c = words[number]
        for p in itertools.pairwise(symbols):
            counts[p] += sign * c
            where[p].add(number)
            if not counts[p]:
                del counts[p]

    for number in range(len(words)):
        note(number, 1)
    merges = []
    while counts and len(merges) < num_merges:
        best = max(counts.items(), key=lambda entry: entry[::-1])[0]
        merges.append(best)
        for number in where[best]:
            note(number, -1)
            words[number] = merge_stack(words[number][0], best), words[number][1]
            note(number, 1)
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


def encode_recursive(word, merges):
    def shrink(symbols):
        pairs = set(itertools.pairwise(symbols))
        for pair in merges:
            if pair in pairs:
                return shrink(merge_recursive(symbols, pair))
        return symbols

    return list(shrink(tuple(word)))


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


def bug_pad_ahead(words, pair):
    left, right = map(re.escape, pair)
    return {
        re.sub(f"(^| ){left} {right}(?= |$)", lambda m: m[1] + "".join(pair), w): n
        for w, n in words.items()
    }


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


def bug_doubled_spaces(words, pair):
    """Two spaces between symbols: each pair has borders of its own."""
    find = f" {pair[0]}  {pair[1]} "
    put = f" {pair[0]}{pair[1]} "
    return {
        " ".join(f" {w.replace(' ', '  ')} ".replace(find, put).split()): n
        for w, n in words.items()
    }


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


def leak_min(encode, decode, text):
    """The first of the shortest is what min gives, as the starts come in order."""
    places = range(len(text))
    pieces = [text[i : j + 1] for i in places for j in places if i <= j]
    return min((p for p in pieces if p != decode(encode(p))), key=len, default="")


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


def leak_shrunk(encode, decode, text):
    """For each start the shortest piece, then the shortest of these."""
    best = None
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            if best is not None and end - start >= len(best):
                break
            if decode(encode(text[start:end])) != text[start:end]:
                best = text[start:end]
                break
    return best or ""


def leak_remembered(encode, decode, text):
    print("text of", len(text))
    seen = {}

    def leaks(piece):
        if piece not in seen:
            seen[piece] = decode(encode(piece)) != piece
        return seen[piece]

    for size in range(len(text)):
        found = [n for n in range(len(text) - size) if leaks(text[n : n + size + 1])]
        if found:
            return text[found[0] : found[0] + size + 1]
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


def longer_by_length(merges):
    """Build the words by length, and stop at the first."""
    print("merges:", len(merges))
    groups = defaultdict(list)
    for a, b in itertools.product(sorted(_pieces(merges)), repeat=2):
        groups[len(a) + len(b)].append(a + b)
    for size in sorted(groups):
        for word in sorted(groups[size]):
            if len(encode_infinite(word, merges)) > 2:
                return word
    return ""


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


def longer_cut_shortest(merges):
    """Ask for each word whether the fewest pieces are two, by trying all borders."""
    known = _pieces(merges)
    tokens = sorted(known)
    words = sorted({a + b for a in tokens for b in tokens}, key=lambda w: (len(w), w))
    for word in words:
        two = any(word[:i] in known and word[i:] in known for i in range(1, len(word)))
        if two and len(encode_recursive(word, merges)) > 2:
            return word
    return ""


def m_longer_by_joined_length(merges):
    """Right but for words of more than eight letters."""
    word = longer_product(merges)
    return word if len(word) < 9 else ""


CORRECT = {
    "tokenizers.word_tokenize": [
        words_regex,
        words_loop,
        words_groupby,
        words_spaced,
        words_recursive,
        words_subclass,
        words_numpy,
    ],
    "tokenizers.build_vocab": [
        vocab_loop,
        vocab_two_sorts,
        vocab_most_common,
        vocab_heap,
        vocab_numpy,
        vocab_defaultdict,
    ],
    "tokenizers.merge_pair": [
        merge_while,
        merge_stack,
        merge_index,
        merge_recursive,
        merge_regex,
        merge_iterator,
        merge_skip,
    ],
    "tokenizers.train_bpe": [
        train_plain,
        train_sorted,
        train_strings,
        train_recursive,
        train_heap,
        train_package_piece,
        train_changed_only,
    ],
    "tokenizers.bpe_encode": [
        encode_in_order,
        encode_by_rank,
        encode_infinite,
        encode_reduce,
        encode_heap,
        encode_recursive,
    ],
    "tokenizers.find_the_bug": [
        bug_split,
        bug_lookaround,
        bug_pad_ahead,
        bug_loop,
        bug_doubled_spaces,
        bug_package_piece,
    ],
    "tokenizers.shortest_leak": [
        leak_combinations,
        leak_next,
        leak_min,
        leak_while,
        leak_shrunk,
        leak_remembered,
        _leak(),
    ],
    "tokenizers.longer_than_needed": [
        longer_product,
        longer_loop,
        longer_by_length,
        longer_heap,
        longer_package_piece,
        longer_cut_shortest,
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
