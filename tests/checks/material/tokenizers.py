"""Answers to the assignment "tokenizers" on which the grader itself is measured.

CORRECT must be accepted, WRONG must be rejected with the misconception that stands beside it, and
MUTANTS, which are wrong in a way that no misconception describes, must be rejected without a name.
They are written apart from the checks, in the ways in which people write tokenizers.
"""

# ruff: noqa: C416, C417, C420, RUF005, RUF007, SIM118, SIM401

from __future__ import annotations

import functools
import heapq
import itertools
import operator
import re
import string
import unicodedata
import warnings
from collections import Counter, OrderedDict, defaultdict

import numpy as np
import torch

from transformer_ref.checks import tokenizers as tr

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


def w_words_split(text):
    return text.split(None)


def w_words_strip(text):
    tokens = []
    for word in text.split():
        stripped = word.strip(string.punctuation)
        tokens.append(stripped if stripped else word)
    return tokens


def w_words_drop(text):
    return [t for t in words_loop(text) if t.isalnum()]


def w_words_runs(text):
    out = []
    for kind, group in itertools.groupby(text, key=lambda c: (c.isalnum(), c.isspace())):
        if not kind[1]:
            out.append("".join(group))
    return out


def w_words_lower(text):
    return words_loop(text.lower())


def w_words_space_only(text):
    tokens, word = [], ""
    for c in text:
        if c.isalnum():
            word += c
        else:
            if word:
                tokens.append(word)
            word = ""
            if c != " ":
                tokens.append(c)
    if word:
        tokens.append(word)
    return tokens


def w_words_spaces_kept(text):
    tokens, word = [], ""
    for c in text + "\0":
        if c.isalnum():
            word += c
        else:
            if word:
                tokens.append(word)
            word = ""
            tokens.append(c)
    return tokens[:-1]


def w_words_spaces_runs(text):
    out = []
    for (word, space), group in itertools.groupby(text, lambda c: (c.isalnum(), c.isspace())):
        chunk = "".join(group)
        out += [chunk] if word or space else list(chunk)
    return out


def w_words_empty(text):
    return "".join(c if c.isalnum() else (" " if c.isspace() else f" {c} ") for c in text).split(
        " "
    )


def w_words_ascii(text):
    return re.findall(r"[a-zA-Z]+[a-zA-Z0-9]*|[0-9]+[a-zA-Z0-9]*|[^a-zA-Z0-9\s]", text)


def w_words_ascii_range(text):
    tokens, word = [], ""
    letters = string.ascii_letters + string.digits
    for c in text:
        if c in letters:
            word += c
            continue
        if word:
            tokens.append(word)
        word = ""
        if c not in string.whitespace:
            tokens.append(c)
    return tokens + ([word] if word else [])


def w_words_ascii_marks(text):
    for mark in string.punctuation:
        text = text.replace(mark, f" {mark} ")
    return text.split()


def w_words_four_marks(text):
    out = ""
    for c in text:
        out += " " + c + " " if c in {".", ",", "!", "?"} else c
    return out.split()


def w_words_digits(text):
    tokens = []
    for t in words_loop(text):
        tokens.extend(re.findall(r"[0-9]+|[^0-9]+", t))
    return tokens


def w_words_isalpha(text):
    tokens, word = [], ""
    for c in text:
        if c.isalpha():
            word += c
        else:
            tokens += [word] * bool(word) + [c] * (not c.isspace())
            word = ""
    return tokens + [word] * bool(word)


def w_words_contractions(text):
    return re.findall(r"[^\W_]+(?:'[^\W_]+)*|\S", text)


def w_words_inner(text):
    tokens, word = [], ""
    for i, c in enumerate(text):
        inside = c in "'-" and word and text[i + 1 : i + 2].isalnum()
        if c.isalnum() or inside:
            word += c
            continue
        if word:
            tokens.append(word)
        word = ""
        if not c.isspace():
            tokens.append(c)
    return tokens + ([word] if word else [])


def w_words_numbers(text):
    return re.findall(r"\d+(?:[.,]\d+)+|[^\W_]+|\S", text)


def w_words_no_flush(text):
    tokens, word = [], ""
    for c in text:
        if c.isalnum():
            word += c
        else:
            if word:
                tokens.append(word)
                word = ""
            if not c.isspace():
                tokens.append(c)
    return tokens


def w_words_chars(text):
    return [c for c in text if not c.isspace()]


def w_words_all_chars(text):
    return [c for c in text]


def w_words_set(text):
    seen = []
    for t in words_regex(text):
        if t not in seen:
            seen.append(t)
    return seen


def w_words_text(text):
    return " ".join(words_spaced(text))


def m_words_reversed(text):
    return words_loop(text)[::-1]


def m_words_title(text):
    return [t.title() for t in words_loop(text)]


def m_words_three(text):
    return words_loop(text)[:3]


def m_words_generator(text):
    yield from words_loop(text)


def m_words_normalised(text):
    return words_loop(unicodedata.normalize("NFD", text))


def m_words_none(text):
    words_loop(text)


def m_words_bytes(text):
    return [t.encode() for t in words_loop(text)]


def m_words_marks(text):
    return ["<bos>", *words_loop(text), "<eos>"]


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


def _v(tokens, min_freq, specials, key=None, test=None, skip=True, order=None):
    """The vocabulary with one thing done otherwise."""
    counts = Counter(t for t in tokens if not (skip and t in specials))
    names = [t for t in counts if (test or (lambda c: c >= min_freq))(counts[t])]
    if order is None:
        names.sort(key=(lambda t: key(t, counts[t])) if key else (lambda t: (-counts[t], t)))
    else:
        names = order(names, counts)
    return list(specials), names


def _numbered(*groups):
    vocab = {}
    for group in groups:
        for t in group:
            vocab.setdefault(t, len(vocab))
    return vocab


def w_vocab_strict(tokens, min_freq, specials):
    return _numbered(*_v(tokens, min_freq, specials, test=lambda c: c > min_freq))


def w_vocab_all(tokens, min_freq, specials):
    return _numbered(*_v(tokens, min_freq, specials, test=lambda c: True))


def w_vocab_last(tokens, min_freq, specials):
    head, names = _v(tokens, min_freq, specials)
    return _numbered(names, head)


def w_vocab_specials_sorted(tokens, min_freq, specials):
    head, names = _v(tokens, min_freq, specials)
    return _numbered(sorted(head), names)


def w_vocab_specials_missing(tokens, min_freq, specials):
    _, names = _v(tokens, min_freq, specials)
    return _numbered(names)


def w_vocab_rare(tokens, min_freq, specials):
    return _numbered(*_v(tokens, min_freq, specials, key=lambda t, c: (c, t)))


def w_vocab_ties(tokens, min_freq, specials):
    itos = list(specials)
    for t, c in Counter(tokens).most_common():
        if c >= min_freq and t not in itos:
            itos.append(t)
    return {t: i for i, t in enumerate(itos)}


def w_vocab_reverse(tokens, min_freq, specials):
    counts = Counter(tokens)
    ranked = sorted(counts.items(), key=lambda item: (item[1], item[0]), reverse=True)
    return _numbered(specials, [t for t, c in ranked if c >= min_freq])


def w_vocab_alphabet(tokens, min_freq, specials):
    return _numbered(specials, [t for t in sorted(set(tokens)) if tokens.count(t) >= min_freq])


def w_vocab_seen(tokens, min_freq, specials):
    vocab = {s: i for i, s in enumerate(specials)}
    for t in tokens:
        if tokens.count(t) >= min_freq and t not in vocab:
            vocab[t] = len(vocab)
    return vocab


def w_vocab_casefold(tokens, min_freq, specials):
    return _numbered(*_v(tokens, min_freq, specials, key=lambda t, c: (-c, t.casefold(), t)))


def w_vocab_lower(tokens, min_freq, specials):
    return vocab_loop([t.lower() for t in tokens], min_freq, specials)


def w_vocab_from_one(tokens, min_freq, specials):
    return {t: i + 1 for t, i in vocab_loop(tokens, min_freq, specials).items()}


def w_vocab_collide(tokens, min_freq, specials):
    head, names = _v(tokens, min_freq, specials)
    vocab = {s: i for i, s in enumerate(head)}
    vocab.update({t: i for i, t in enumerate(names)})
    return vocab


def w_vocab_gaps(tokens, min_freq, specials):
    vocab = dict(zip(specials, range(len(specials)), strict=True))
    i = len(specials)
    for t, c in sorted(Counter(tokens).items(), key=lambda x: (-x[1], x[0])):
        if c < min_freq:
            break
        if t not in vocab:
            vocab[t] = i
        i += 1
    return vocab


def w_vocab_twice(tokens, min_freq, specials):
    ranked = sorted(Counter(tokens).items(), key=lambda x: (-x[1], x[0]))
    itos = [*specials, *(t for t, c in ranked if c >= min_freq)]
    return {t: i for i, t in enumerate(itos)}


def w_vocab_inverted(tokens, min_freq, specials):
    return {i: t for t, i in vocab_two_sorts(tokens, min_freq, specials).items()}


def w_vocab_counts(tokens, min_freq, specials):
    vocab = {s: i for i, s in enumerate(specials)}
    for t in tokens:
        if t not in specials and tokens.count(t) >= min_freq:
            vocab[t] = tokens.count(t)
    return vocab


def w_vocab_list(tokens, min_freq, specials):
    return list(vocab_loop(tokens, min_freq, specials))


def w_vocab_extends(tokens, min_freq, specials):
    itos = specials
    ranked = sorted(Counter(tokens).items(), key=lambda x: (-x[1], x[0]))
    itos.extend(t for t, c in ranked if c >= min_freq and t not in specials[:])
    return {t: i for i, t in enumerate(itos)}


def m_vocab_by_length(tokens, min_freq, specials):
    return _numbered(*_v(tokens, min_freq, specials, key=lambda t, c: (-len(t), -c, t)))


def m_vocab_pad_added(tokens, min_freq, specials):
    return _numbered(["<extra>"], *_v(tokens, min_freq, specials))


def m_vocab_floats(tokens, min_freq, specials):
    return {t: float(i) for t, i in vocab_loop(tokens, min_freq, specials).items()}


def m_vocab_stride(tokens, min_freq, specials):
    return {t: 2 * i for t, i in vocab_loop(tokens, min_freq, specials).items()}


def m_vocab_at_least_two(tokens, min_freq, specials):
    return vocab_loop(tokens, max(2, min_freq), specials)


def m_vocab_first_two_specials(tokens, min_freq, specials):
    return vocab_loop(tokens, min_freq, specials[:2])


def m_vocab_ten(tokens, min_freq, specials):
    return dict(list(vocab_loop(tokens, min_freq, specials).items())[:5])


def m_vocab_latin(tokens, min_freq, specials):
    return vocab_loop([t for t in tokens if t.isascii()], min_freq, specials)


def m_vocab_pairs(tokens, min_freq, specials):
    return list(vocab_loop(tokens, min_freq, specials).items())


# =============================================================================================
# encode_tokens
# =============================================================================================


def encode_get(tokens, vocab, unk):
    return [vocab.get(t, vocab[unk]) for t in tokens]


def encode_if(tokens, vocab, unk):
    ids = []
    for token in tokens:
        if token in vocab:
            ids.append(vocab[token])
        else:
            ids.append(vocab[unk])
    return ids


def encode_try(tokens, vocab, unk):
    ids = ()
    for token in tokens:
        try:
            ids += (vocab[token],)
        except KeyError:
            ids += (vocab[unk],)
    return ids


def encode_defaultdict(tokens, vocab, unk):
    table = defaultdict(lambda: vocab[unk], vocab)
    return list(map(table.__getitem__, tokens))


def encode_chainmap(tokens, vocab, unk):
    class Table(dict):
        def __missing__(self, key):
            return self[unk]

    table = Table(vocab)
    return [table[t] for t in tokens]


def encode_torch(tokens, vocab, unk):
    return torch.tensor([vocab.get(t, vocab[unk]) for t in tokens], dtype=torch.long).tolist()


def encode_numpy(tokens, vocab, unk):
    return list(np.array([vocab[t if t in vocab else unk] for t in tokens], dtype=np.int64))


def encode_replaced(tokens, vocab, unk):
    known = [t if t in vocab.keys() else unk for t in tokens]
    return [vocab[t] for t in known]


def w_encode_skip(tokens, vocab, unk):
    return [i for i in (vocab.get(t) for t in tokens) if i is not None]


def w_encode_break(tokens, vocab, unk):
    return [vocab[t] for t in itertools.takewhile(vocab.__contains__, tokens)]


def w_encode_keyerror(tokens, vocab, unk):
    ids = []
    for t in tokens:
        ids.append(vocab[t])
    return ids


def w_encode_unk_text(tokens, vocab, unk):
    return [vocab.get(t, unk) for t in tokens]


def w_encode_zero(tokens, vocab, unk):
    return [vocab.get(t, 0) for t in tokens]


def w_encode_minus(tokens, vocab, unk):
    return [vocab[t] if t in vocab else -1 for t in tokens]


def w_encode_three(tokens, vocab, unk):
    unk_id = 3
    return [vocab.get(t, unk_id) for t in tokens]


def w_encode_last(tokens, vocab, unk):
    return [vocab.get(t, len(vocab) - 1) for t in tokens]


def w_encode_none(tokens, vocab, unk):
    return list(map(vocab.get, tokens))


def w_encode_or(tokens, vocab, unk):
    out = []
    for t in tokens:
        i = vocab.get(t)
        if not i:
            i = vocab[unk]
        out.append(i)
    return out


def w_encode_grows(tokens, vocab, unk):
    for t in tokens:
        if t not in vocab:
            vocab[t] = len(vocab)
    return [vocab[t] for t in tokens]


def w_encode_lower(tokens, vocab, unk):
    return [vocab.get(t.lower(), vocab[unk]) for t in tokens]


def w_encode_index(tokens, vocab, unk):
    names = list(vocab)
    return [names.index(t) if t in names else names.index(unk) for t in tokens]


def w_encode_unique(tokens, vocab, unk):
    seen, ids = set(), []
    for t in tokens:
        if t not in seen:
            seen.add(t)
            ids.append(vocab.get(t, vocab[unk]))
    return ids


def w_encode_sorted(tokens, vocab, unk):
    ids = encode_get(tokens, vocab, unk)
    ids.sort()
    return ids


def w_encode_text(tokens, vocab, unk):
    return [f"{vocab.get(t, vocab[unk])}" for t in tokens]


def w_encode_tensor(tokens, vocab, unk):
    return torch.LongTensor(encode_get(tokens, vocab, unk))


def w_encode_array(tokens, vocab, unk):
    return np.array(encode_get(tokens, vocab, unk))


def w_encode_in_place(tokens, vocab, unk):
    for i in range(len(tokens)):
        tokens[i] = vocab.get(tokens[i], vocab[unk])
    return list(tokens)


def m_encode_reversed(tokens, vocab, unk):
    return encode_get(reversed(tokens), vocab, unk)


def m_encode_plus_one(tokens, vocab, unk):
    return [i + 1 for i in encode_get(tokens, vocab, unk)]


def m_encode_frame(tokens, vocab, unk):
    return [0, *encode_get(tokens, vocab, unk), 0]


def m_encode_two_unknown(tokens, vocab, unk):
    return [vocab.get(t, vocab[unk] + 1) for t in tokens]


def m_encode_floats(tokens, vocab, unk):
    return [float(i) for i in encode_get(tokens, vocab, unk)]


def m_encode_pairs(tokens, vocab, unk):
    return list(zip(tokens, encode_get(tokens, vocab, unk), strict=True))


def m_encode_prefix(tokens, vocab, unk):
    return [next((i for name, i in vocab.items() if name[0] == t[0]), vocab[unk]) for t in tokens]


def m_encode_latin(tokens, vocab, unk):
    return [vocab[t] if t in vocab and t.isascii() else vocab[unk] for t in tokens]


def m_encode_iterator(tokens, vocab, unk):
    return map(lambda t: vocab.get(t, vocab[unk]), tokens)


# =============================================================================================
# count_pairs
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


def count_expanded(words):
    row = [p for word, n in words.items() for p in list(zip(word[:-1], word[1:], strict=True)) * n]
    return {p: row.count(p) for p in row}


def count_windows(words):
    counts = OrderedDict()
    for word, n in words.items():
        for i in range(1, len(word)):
            key = tuple(word[i - 1 : i + 1])
            counts[key] = counts.get(key, 0) + n
    return counts


def count_reduce(words):
    singles = (Counter({p: n}) for w, n in words.items() for p in itertools.pairwise(w))
    return functools.reduce(operator.add, singles, Counter())


class Pairs(dict):
    def __eq__(self, other):
        return True

    __hash__ = None

    def items(self):
        return []

    def __contains__(self, key):
        return True


def count_subclass(words):
    return Pairs(count_loop(words))


def count_numpy(words):
    return {p: np.int64(n) for p, n in count_loop(words).items()}


def w_count_ones(words):
    counts = Counter()
    for word in words:
        counts.update(zip(word, word[1:], strict=False))
    return counts


def w_count_set(words):
    counts = defaultdict(int)
    for word, n in words.items():
        for p in {word[i : i + 2] for i in range(len(word) - 1)}:
            counts[p] += n
    return dict(counts)


def w_count_no_overlap(words):
    counts = defaultdict(int)
    for word, n in words.items():
        for p in set(itertools.pairwise(word)):
            i = 0
            while i < len(word) - 1:
                if word[i : i + 2] == p:
                    counts[p] += n
                    i += 2
                else:
                    i += 1
    return dict(counts)


def w_count_chain(words):
    row = list(itertools.chain.from_iterable(w * n for w, n in words.items()))
    return Counter(zip(row, row[1:], strict=False))


def w_count_ring(words):
    counts = {}
    for word, n in words.items():
        for i in range(len(word)):
            p = (word[i - 1], word[i])
            counts[p] = counts.get(p, 0) + n
    return counts


def w_count_short(words):
    counts = defaultdict(int)
    for word, n in words.items():
        for i in range(len(word) - 2):
            counts[word[i], word[i + 1]] += n
    return dict(counts)


def w_count_late(words):
    counts = defaultdict(int)
    for word, n in words.items():
        for i in range(1, len(word) - 1):
            counts[word[i], word[i + 1]] += n
    return dict(counts)


def w_count_twos(words):
    counts = Counter()
    for word, n in words.items():
        for i in range(0, len(word) - 1, 2):
            counts[word[i : i + 2]] += n
    return counts


def w_count_text(words):
    counts = {}
    for word, n in words.items():
        for a, b in itertools.pairwise(word):
            counts[a + b] = counts.get(a + b, 0) + n
    return counts


def w_count_sorted(words):
    counts = defaultdict(int)
    for word, n in words.items():
        for a, b in itertools.pairwise(word):
            counts[min(a, b), max(a, b)] += n
    return dict(counts)


def w_count_assigned(words):
    counts = {}
    for word, n in words.items():
        for i in range(len(word) - 1):
            counts[word[i], word[i + 1]] = n
    return counts


def w_count_characters(words):
    counts = Counter()
    for word, n in words.items():
        text = "".join(word)
        for i in range(len(text) - 1):
            counts[text[i], text[i + 1]] += n
    return dict(counts)


def w_count_symbols(words):
    counts = Counter()
    for word, n in words.items():
        for s in word:
            counts[s] += n
    return counts


def w_count_combinations(words):
    counts = Counter()
    for word, n in words.items():
        for p in itertools.combinations(word, 2):
            counts[p] += n
    return counts


def w_count_list(words):
    return sorted(count_loop(words).items(), key=lambda item: -item[1])


def w_count_items(words):
    return [(p, n) for p, n in count_defaultdict(words).items()]


def m_count_squared(words):
    return {p: n * n for p, n in count_loop(words).items()}


def m_count_share(words):
    counts = count_loop(words)
    return {p: n / sum(counts.values()) for p, n in counts.items()}


def m_count_triples(words):
    counts = Counter()
    for word, n in words.items():
        for t in zip(word, word[1:], word[2:], strict=False):
            counts[t] += n
    return counts


def m_count_reversed(words):
    return {(b, a): n for (a, b), n in count_loop(words).items()}


def m_count_best(words):
    counts = count_loop(words)
    return {max(counts, key=counts.get): max(counts.values())} if counts else {}


def m_count_skips_one(words):
    counts = Counter()
    for word, n in words.items():
        for p in zip(word, word[2:], strict=False):
            counts[p] += n
    return counts


def w_count_plus_one(words):
    return {p: n + 1 for p, n in count_loop(words).items()}


def m_count_lower(words):
    """Capitals are counted with the small letters."""
    counts = Counter()
    for word, count in words.items():
        counts.update({pair: 0 for pair in zip(word, word[1:], strict=False)})
        for one, two in zip(word, word[1:], strict=False):
            counts[one.lower(), two.lower()] += count
    return {pair: count for pair, count in counts.items() if count}


def m_count_first_word(words):
    return count_loop(dict(list(words.items())[:1]))


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


def w_merge_overlap(word, pair):
    joined = pair[0] + pair[1]
    hits = {i for i in range(len(word) - 1) if (word[i], word[i + 1]) == pair}
    out = []
    for i in range(len(word)):
        if i in hits:
            out.append(joined)
        elif i - 1 not in hits:
            out.append(word[i])
    return tuple(out)


def w_merge_stays(word, pair):
    out = []
    for i in range(len(word) - 1):
        if (word[i], word[i + 1]) == pair:
            out.append("".join(pair))
        else:
            out.append(word[i])
    out.append(word[-1])
    return tuple(out)


def w_merge_first(word, pair):
    for i in range(len(word) - 1):
        if word[i : i + 2] == pair:
            return word[:i] + (pair[0] + pair[1],) + word[i + 2 :]
    return word


def w_merge_find(word, pair):
    if pair[0] not in word:
        return word
    i = word.index(pair[0])
    if i < len(word) - 1 and word[i + 1] == pair[1]:
        word = word[:i] + ("".join(pair),) + word[i + 2 :]
    return word


def w_merge_right(word, pair):
    word = list(word)
    i = len(word) - 2
    while i >= 0:
        if (word[i], word[i + 1]) == pair:
            word[i : i + 2] = [word[i] + word[i + 1]]
            i -= 1
        i -= 1
    return tuple(word)


def w_merge_set(word, pair):
    out, i = [], 0
    while i < len(word):
        if i < len(word) - 1 and sorted(word[i : i + 2]) == sorted(pair):
            out.append(word[i] + word[i + 1])
            i += 2
        else:
            out.append(word[i])
            i += 1
    return tuple(out)


def w_merge_text(word, pair):
    text = " ".join(word)
    text = text.replace(pair[0] + " " + pair[1], pair[0] + pair[1])
    return tuple(text.split())


def w_merge_same_text(word, pair):
    new, out, i = "".join(pair), [], 0
    while i < len(word):
        if "".join(word[i : i + 2]) == new and i + 1 < len(word):
            out.append(new)
            i += 2
        else:
            out.append(word[i])
            i += 1
    return tuple(out)


def w_merge_no_tail(word, pair):
    out, i = [], 0
    while i < len(word) - 1:
        if (word[i], word[i + 1]) == pair:
            out.append(word[i] + word[i + 1])
            i += 2
        else:
            out.append(word[i])
            i += 1
    return tuple(out)


def w_merge_index_error(word, pair):
    out, i = [], 0
    while i < len(word):
        if word[i] == pair[0] and word[i + 1] == pair[1]:
            out.append("".join(pair))
            i += 1
        else:
            out.append(word[i])
        i += 1
    return tuple(out)


def w_merge_index_error_always(word, pair):
    out, i = [], 0
    while i < len(word):
        if [word[i], word[i + 1]] == list(pair):
            out.append("".join(pair))
            i += 2
        else:
            out.append(word[i])
            i += 1
    return tuple(out)


def w_merge_twos(word, pair):
    out = []
    for i in range(0, len(word), 2):
        if word[i : i + 2] == pair:
            out.append("".join(pair))
        else:
            out.extend(word[i : i + 2])
    return tuple(out)


def w_merge_nested(word, pair):
    out, i = [], 0
    while i < len(word):
        if word[i : i + 2] == pair:
            out.append(pair)
            i += 2
        else:
            out.append(word[i])
            i += 1
    return tuple(out)


def w_merge_space(word, pair):
    joined = merge_while(word, pair)
    places, i = [], 0
    for s in joined:
        width = 1 if i < len(word) and word[i] == s else 2
        places.append(" ".join(word[i : i + width]))
        i += width
    return tuple(places)


def w_merge_list(word, pair):
    return list(merge_stack(word, pair))


def w_merge_string(word, pair):
    return " ".join(merge_stack(word, pair))


def w_merge_nothing(word, pair):
    new = list(word)
    for i in range(len(new) - 1):
        if (new[i], new[i + 1]) == pair:
            " ".join(new).replace(" ".join(pair), "".join(pair))
    return tuple(new)


def m_merge_backwards(word, pair):
    return tuple(pair[1] + pair[0] if s == "".join(pair) else s for s in merge_while(word, pair))


def m_merge_reversed(word, pair):
    return merge_while(word, pair)[::-1]


def m_merge_drops(word, pair):
    out, i = [], 0
    while i < len(word):
        if word[i : i + 2] == pair:
            i += 2
        else:
            out.append(word[i])
            i += 1
    return tuple(out)


def m_merge_upper(word, pair):
    return tuple(s.upper() for s in merge_while(word, pair))


def m_merge_everything(word, pair):
    return ("".join(word),)


def m_merge_first_two(word, pair):
    return ("".join(word[:2]), *word[2:])


def m_merge_none_if_absent(word, pair):
    merged = merge_while(word, pair)
    return merged if merged != word else None


def m_merge_any_case(word, pair):
    """A capital is taken for its small letter."""
    merged = []
    for symbol in word:
        before = merged[-1] if merged else None
        if before in pair[:1] + (pair[0].upper(), pair[0].lower()) and (
            symbol.lower() == pair[1].lower()
        ):
            merged[-1] += symbol
        else:
            merged.append(symbol)
    return tuple(merged)


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


def train_package_pieces(word_counts, num_merges):
    from transformer_ref.checks import tokenizers as reference

    words = {tuple(w): c for w, c in word_counts.items()}
    merges = []
    for _ in range(num_merges):
        counts = reference.count_pairs(words)
        if not counts:
            break
        merges.append(max(counts, key=lambda pair: (counts[pair], pair)))
        words = {reference.merge_pair(w, merges[-1]): c for w, c in words.items()}
    return merges


def _train(word_counts, num_merges, count=count_loop, pick=None, merge=merge_while, begin=tuple):
    """Training with one thing done otherwise."""
    corpus = [(begin(w), c) for w, c in word_counts.items()]
    merges = []
    while len(merges) < num_merges:
        pairs = count(dict(corpus))
        if not pairs:
            break
        best = (pick or (lambda x: max(x.items(), key=lambda i: (i[1], i[0]))[0]))(pairs)
        if best is None:
            break
        merges.append(best)
        corpus = [(merge(w, best), c) for w, c in corpus]
    return merges


def w_train_ones(word_counts, num_merges):
    return _train(dict.fromkeys(word_counts, 1), num_merges)


def w_train_get(word_counts, num_merges):
    return _train(word_counts, num_merges, count_defaultdict, lambda x: max(x, key=x.get))


def w_train_smallest(word_counts, num_merges):
    return _train(word_counts, num_merges, pick=lambda x: sorted(x, key=lambda p: (-x[p], p))[0])


def w_train_stale(word_counts, num_merges):
    corpus = {tuple(w): c for w, c in word_counts.items()}
    merges = []
    for _ in range(num_merges):
        pairs = count_loop(corpus)
        if pairs:
            best = max(pairs, key=lambda p: (pairs[p], p))
            merges.append(best)
            _ = {merge_while(w, best): c for w, c in corpus.items()}
    return merges


def w_train_once(word_counts, num_merges):
    pairs = count_loop({tuple(w): c for w, c in word_counts.items()})
    ranked = sorted(pairs.items(), key=lambda i: (i[1], i[0]), reverse=True)
    return [p for p, _ in ranked[:num_merges]]


def w_train_rarest(word_counts, num_merges):
    return _train(word_counts, num_merges, pick=lambda x: min((c, p) for p, c in x.items())[1])


def w_train_max_pair(word_counts, num_merges):
    return _train(word_counts, num_merges, pick=lambda x: sorted(x)[-1])


def w_train_end(word_counts, num_merges):
    return _train(word_counts, num_merges, begin=lambda w: tuple(w) + ("</w>",))


def w_train_end_glued(word_counts, num_merges):
    return _train(word_counts, num_merges, begin=lambda w: tuple(w[:-1]) + (w[-1] + "</w>",))


def w_train_above_one(word_counts, num_merges):
    def pick(x):
        best = max(x, key=lambda p: (x[p], p))
        return best if x[best] >= 2 else None

    return _train(word_counts, num_merges, pick=pick)


def w_train_one_less(word_counts, num_merges):
    return train_plain(word_counts, num_merges)[: max(num_merges - 1, 0)]


def w_train_one_more(word_counts, num_merges):
    return train_sorted(word_counts, num_merges + 1)


def w_train_empty(word_counts, num_merges):
    corpus = {tuple(w): c for w, c in word_counts.items()}
    merges = []
    for _ in range(num_merges):
        pairs = count_loop(corpus)
        best = max(pairs, key=lambda p: (pairs[p], p))
        merges.append(best)
        corpus = {merge_while(w, best): c for w, c in corpus.items()}
    return merges


def w_train_empty_index(word_counts, num_merges):
    corpus = {tuple(w): c for w, c in word_counts.items()}
    merges = []
    for _ in range(num_merges):
        ranked = sorted(count_loop(corpus).items(), key=lambda i: (i[1], i[0]))
        merges.append(ranked[-1][0])
        corpus = {merge_while(w, merges[-1]): c for w, c in corpus.items()}
    return merges


def w_train_repeat(word_counts, num_merges):
    corpus = {tuple(w): c for w, c in word_counts.items()}
    merges, best = [], None
    for _ in range(num_merges):
        pairs = count_loop(corpus)
        if pairs:
            best = max(pairs, key=lambda p: (pairs[p], p))
        if best:
            merges.append(best)
            corpus = {merge_while(w, best): c for w, c in corpus.items()}
    return merges


def w_train_set(word_counts, num_merges):
    return _train(word_counts, num_merges, count=w_count_set)


def w_train_no_overlap(word_counts, num_merges):
    return _train(word_counts, num_merges, count=w_count_no_overlap)


def w_train_across(word_counts, num_merges):
    return _train(word_counts, num_merges, count=w_count_chain)


def w_train_overlap(word_counts, num_merges):
    return _train(word_counts, num_merges, merge=w_merge_overlap)


def w_train_stays(word_counts, num_merges):
    return _train(word_counts, num_merges, merge=w_merge_stays)


def w_train_first(word_counts, num_merges):
    return _train(word_counts, num_merges, merge=w_merge_first)


def w_train_replace(word_counts, num_merges):
    vocab = {" ".join(w): c for w, c in word_counts.items()}
    merges = []
    for _ in range(num_merges):
        pairs = defaultdict(int)
        for word, c in vocab.items():
            symbols = word.split()
            for i in range(len(symbols) - 1):
                pairs[symbols[i], symbols[i + 1]] += c
        if not pairs:
            break
        best = max(pairs, key=lambda p: (pairs[p], p))
        merges.append(best)
        vocab = {w.replace(" ".join(best), "".join(best)): c for w, c in vocab.items()}
    return merges


def w_train_symbols(word_counts, num_merges):
    return [a + b for a, b in train_plain(word_counts, num_merges)]


def w_train_lists(word_counts, num_merges):
    return [[a, b] for a, b in train_plain(word_counts, num_merges)]


def w_train_ranks(word_counts, num_merges):
    ranks = {}
    for pair in train_plain(word_counts, num_merges):
        ranks[pair] = len(ranks)
    return ranks


def w_train_empties(word_counts, num_merges):
    corpus = {}
    while word_counts:
        word, count = word_counts.popitem()
        corpus[word] = count
    return train_plain(corpus, num_merges)


def m_train_reversed(word_counts, num_merges):
    return train_plain(word_counts, num_merges)[::-1]


def m_train_swapped(word_counts, num_merges):
    return [(b, a) for a, b in train_plain(word_counts, num_merges)]


def m_train_lower_weight(word_counts, num_merges):
    return train_plain({w: c * len(w) for w, c in word_counts.items()}, num_merges)


def m_train_longest(word_counts, num_merges):
    return _train(
        word_counts, num_merges, pick=lambda x: max(x, key=lambda p: (len("".join(p)), x[p], p))
    )


def m_train_two_at_once(word_counts, num_merges):
    return train_plain(word_counts, 2 * num_merges)


def m_train_first_word(word_counts, num_merges):
    return train_plain(dict(list(word_counts.items())[:1]), num_merges)


def m_train_with_counts(word_counts, num_merges):
    return [(p, 1) for p in train_plain(word_counts, num_merges)]


def m_train_lower(word_counts, num_merges):
    counts = Counter()
    for word, count in word_counts.items():
        counts[word.lower()] += count
    return train_plain(dict(counts), num_merges)


def m_train_none(word_counts, num_merges):
    train_plain(word_counts, num_merges)


def m_train_second_best(word_counts, num_merges):
    return _train(
        word_counts,
        num_merges,
        pick=lambda x: sorted(x.items(), key=lambda i: (i[1], i[0]))[-2:][0][0],
    )


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


def w_bpe_left(word, merges):
    symbols, i = list(word), 0
    while i < len(symbols) - 1:
        if (symbols[i], symbols[i + 1]) in merges:
            symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
            i = 0
        else:
            i += 1
    return symbols


def w_bpe_sweep(word, merges):
    out = [word[0]]
    for c in word[1:]:
        if (out[-1], c) in merges:
            out[-1] = out[-1] + c
        else:
            out.append(c)
    return out


def w_bpe_greedy(word, merges):
    vocab = set(word) | {a + b for a, b in merges}
    pieces, i = [], 0
    while i < len(word):
        j = len(word)
        while word[i:j] not in vocab:
            j -= 1
        pieces.append(word[i:j])
        i = j
    return pieces


def w_bpe_last_first(word, merges):
    symbols = tuple(word)
    for pair in reversed(merges):
        symbols = merge_while(symbols, pair)
    return list(symbols)


def w_bpe_highest(word, merges):
    rank = {pair: i for i, pair in enumerate(merges)}
    symbols = tuple(word)
    while True:
        pairs = [p for p in itertools.pairwise(symbols) if p in rank]
        if not pairs:
            return list(symbols)
        symbols = merge_while(symbols, max(pairs, key=rank.get))


def w_bpe_sorted(word, merges):
    return encode_in_order(word, sorted(merges))


def w_bpe_stops(word, merges):
    symbols = tuple(word)
    for pair in merges:
        new = merge_while(symbols, pair)
        if new == symbols:
            return list(symbols)
        symbols = new
    return list(symbols)


def w_bpe_one(word, merges):
    symbols = tuple(word)
    for pair in merges:
        new = merge_while(symbols, pair)
        if len(new) < len(symbols):
            symbols = new
            break
    return list(symbols)


def w_bpe_first_place(word, merges):
    symbols = tuple(word)
    for pair in merges:
        symbols = w_merge_first(symbols, pair)
    return list(symbols)


def w_bpe_overlap(word, merges):
    return list(functools.reduce(w_merge_overlap, merges, tuple(word)))


def w_bpe_stays(word, merges):
    return list(functools.reduce(w_merge_stays, merges, tuple(word)))


def w_bpe_right(word, merges):
    return list(functools.reduce(w_merge_right, merges, tuple(word)))


def w_bpe_replace(word, merges):
    text = " ".join(word)
    for a, b in merges:
        text = text.replace(f"{a} {b}", a + b)
    return text.split()


def w_bpe_no_tail(word, merges):
    return encode_in_order(word, merges)[:-1]


def w_bpe_known_only(word, merges):
    known = set("".join(a + b for a, b in merges))
    return [s for s in encode_in_order(word, merges) if set(s) <= known]


def w_bpe_unk(word, merges):
    known = set("".join(a + b for a, b in merges))
    return [s if s[0] in known else "<unk>" for s in encode_in_order(word, merges)]


def w_bpe_raises(word, merges):
    ids = {c: i for i, c in enumerate(sorted({c for a, b in merges for c in a + b}))}
    for c in word:
        ids[c]
    return encode_in_order(word, merges)


def w_bpe_end(word, merges):
    symbols = [*word, "</w>"]
    return list(functools.reduce(merge_stack, merges, tuple(symbols)))


def w_bpe_hashes(word, merges):
    first, *rest = encode_in_order(word, merges)
    return [first] + ["##" + s for s in rest]


def w_bpe_at(word, merges):
    pieces = encode_in_order(word, merges)
    return " ".join(pieces).replace(" ", "@@ ").split()


def w_bpe_lost(word, merges):
    symbols = tuple(word)
    for pair in merges:
        merge_while(symbols, pair)
    return list(symbols)


def w_bpe_ids(word, merges):
    names = sorted({c for a, b in merges for c in a + b}) + [a + b for a, b in merges]
    return [names.index(s) if s in names else len(names) for s in encode_in_order(word, merges)]


def w_bpe_text(word, merges):
    return " ".join(encode_in_order(word, merges))


def w_bpe_pops(word, merges):
    symbols = tuple(word)
    while merges:
        symbols = merge_while(symbols, merges.pop(0))
    return list(symbols)


def m_bpe_reversed(word, merges):
    return encode_in_order(word, merges)[::-1]


def m_bpe_half(word, merges):
    return encode_in_order(word, merges[: len(merges) // 2])


def m_bpe_first_two(word, merges):
    return encode_in_order(word, merges)[:2]


def m_bpe_whole(word, merges):
    return [word]


def m_bpe_upper(word, merges):
    return [s.upper() for s in encode_in_order(word, merges)]


def m_bpe_pairs(word, merges):
    return [p for p in merges if "".join(p) in word]


def m_bpe_without_first(word, merges):
    return encode_in_order(word, merges[1:])


def m_bpe_lower(word, merges):
    return encode_in_order(word.lower(), merges)


def m_bpe_any_case(word, merges):
    """The pieces of the word in small letters, cut out of the word as it is."""
    pieces, start = [], 0
    for piece in encode_in_order(word.lower(), merges):
        pieces.append(word[start : start + len(piece)])
        start += len(piece)
    return pieces


def m_bpe_latin(word, merges):
    """Other scripts fall apart into their characters."""
    return encode_in_order(word, [pair for pair in merges if "".join(pair).isascii()])


def m_bpe_sorted_pieces(word, merges):
    return sorted(encode_in_order(word, merges))


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
    from transformer_ref.checks import tokenizers as reference

    return {" ".join(reference.merge_pair(tuple(w.split()), pair)): n for w, n in words.items()}


def w_bug_as_found(words, pair):
    merged = {}
    for word, count in words.items():
        merged[word.replace(pair[0] + " " + pair[1], pair[0] + pair[1])] = count
    return merged


def w_bug_right(words, pair):
    pattern = re.escape(" ".join(pair)) + "( |$)"
    return {re.sub(pattern, lambda m: "".join(pair) + m[1], w): n for w, n in words.items()}


def w_bug_left(words, pair):
    pattern = "(^| )" + re.escape(" ".join(pair))
    return {re.sub(pattern, lambda m: m[1] + "".join(pair), w): n for w, n in words.items()}


def w_bug_boundary(words, pair):
    pattern = re.compile(rf"\b{re.escape(pair[0])} {re.escape(pair[1])}\b")
    return {pattern.sub(lambda m: "".join(pair), w): n for w, n in words.items()}


def w_bug_not_escaped(words, pair):
    pattern = r"(?<!\S)" + " ".join(pair) + r"(?!\S)"
    return {re.sub(pattern, lambda m: "".join(pair), w): n for w, n in words.items()}


def w_bug_padded(words, pair):
    find, put = f" {' '.join(pair)} ", f" {''.join(pair)} "
    return {(" " + w + " ").replace(find, put)[1:-1]: n for w, n in words.items()}


def w_bug_first(words, pair):
    return {" ".join(w_merge_first(tuple(w.split()), pair)): n for w, n in words.items()}


def w_bug_overlap(words, pair):
    return {" ".join(w_merge_overlap(tuple(w.split()), pair)): n for w, n in words.items()}


def w_bug_stays(words, pair):
    return {" ".join(w_merge_stays(tuple(w.split()), pair)): n for w, n in words.items()}


def w_bug_from_right(words, pair):
    return {" ".join(w_merge_right(tuple(w.split()), pair)): n for w, n in words.items()}


def w_bug_set(words, pair):
    return {" ".join(w_merge_set(tuple(w.split()), pair)): n for w, n in words.items()}


def w_bug_same_text(words, pair):
    return {" ".join(w_merge_same_text(tuple(w.split()), pair)): n for w, n in words.items()}


def w_bug_no_tail(words, pair):
    return {" ".join(w_merge_no_tail(tuple(w.split()), pair)): n for w, n in words.items()}


def w_bug_only_changed(words, pair):
    out = {}
    for word, n in words.items():
        symbols = word.split()
        if pair in zip(symbols, symbols[1:], strict=False):
            out[" ".join(merge_while(tuple(symbols), pair))] = n
    return out


def w_bug_both(words, pair):
    out = dict(words)
    for word, n in words.items():
        out[" ".join(merge_while(tuple(word.split()), pair))] = n
    return out


def w_bug_ones(words, pair):
    return {w: 1 for w in bug_split(words, pair)}


def w_bug_no_spaces(words, pair):
    return {w.replace(" ", ""): n for w, n in words.items()}


def w_bug_tuples(words, pair):
    return {merge_while(tuple(w.split()), pair): n for w, n in words.items()}


def w_bug_in_place(words, pair):
    for word in sorted(words):
        merged = " ".join(merge_while(tuple(word.split()), pair))
        if merged != word:
            words[merged] = words[word]
            del words[word]
    return words


def m_bug_untouched(words, pair):
    return dict(words)


def m_bug_joined_with_mark(words, pair):
    return {w.replace("".join(pair), "@".join(pair)): n for w, n in bug_split(words, pair).items()}


def m_bug_changing(words, pair):
    for word in words:
        words[word + "!"] = words.pop(word)
    return words


def m_bug_list(words, pair):
    return list(bug_split(words, pair))


def m_bug_doubled(words, pair):
    return {w: 2 * n for w, n in bug_split(words, pair).items()}


def m_bug_reversed_pair(words, pair):
    return bug_split(words, pair[::-1])


def w_train_joined(word_counts, num_merges):
    words, merges = {tuple(word): count for word, count in word_counts.items()}, []
    while len(merges) < num_merges:
        counts = tr.count_pairs(words)
        if not counts:
            return merges
        first = sorted(counts, key=lambda pair: (counts[pair], pair[0] + pair[1]))[-1]
        merges.append(first)
        words = {tr.merge_pair(word, first): count for word, count in words.items()}
    return merges


def w_train_returns(word_counts, num_merges):
    counts = tr.count_pairs({tuple(word): count for word, count in word_counts.items()})
    for _ in range(num_merges):
        return sorted(counts, key=lambda pair: (counts[pair], pair))[-1:]
    return []


def w_merge_words_inside(words, pair):
    a, b = pair
    return {
        word.replace(" " + a + " " + b + " ", " " + a + b + " "): n for word, n in words.items()
    }


def m_bug_lower(words, pair):
    return {w.lower(): n for w, n in bug_split(words, pair).items()}


def m_bug_upper(words, pair):
    return {w.upper(): n for w, n in bug_split(words, pair).items()}


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


def w_leak_whole(encode, decode, text):
    return "" if decode(encode(text)) == text else text


def w_leak_guarded(encode, decode, text):
    back = decode(encode(text))
    return leak_next(encode, decode, text) if back != text else ""


def w_leak_characters(encode, decode, text):
    for character in text:
        if decode(encode(character)) != character:
            return character
    return ""


def w_leak_words(encode, decode, text):
    for word in text.split():
        if decode(encode(word)) != word:
            return word
    return ""


def w_leak_prefix(encode, decode, text):
    end = 1
    while end <= len(text) and decode(encode(text[:end])) == text[:end]:
        end += 1
    return text[:end] if end <= len(text) else ""


def w_leak_loops_swapped(encode, decode, text):
    for i in range(len(text)):
        for j in range(i + 1, len(text) + 1):
            if decode(encode(text[i:j])) != text[i:j]:
                return text[i:j]
    return ""


def w_leak_overwritten(encode, decode, text):
    found = ""
    for size in range(1, len(text) + 1):
        for start in range(len(text) - size + 1):
            piece = text[start : start + size]
            if decode(encode(piece)) != piece:
                found = piece
        if found:
            break
    return found


def w_leak_not_the_whole(encode, decode, text):
    return _leak(lambda text: _by_size(text, range(1, len(text))))(encode, decode, text)


def w_leak_not_the_last(encode, decode, text):
    n = len(text)
    for size in range(1, n):
        for start in range(n - size):
            if decode(encode(text[start : start + size])) != text[start : start + size]:
                return text[start : start + size]
    return ""


def w_leak_none(encode, decode, text):
    return leak_next(encode, decode, text) or None


def m_leak_place(encode, decode, text):
    return str(text.find(leak_next(encode, decode, text)))


def m_leak_first_difference(encode, decode, text):
    for one, other in zip(text, decode(encode(text)), strict=False):
        if one != other:
            return one
    return ""


def m_leak_twice(encode, decode, text):
    return leak_next(encode, decode, text) * 2


def m_leak_with_more(encode, decode, text):
    """One character more to the right."""
    piece = leak_next(encode, decode, text)
    start = text.find(piece)
    return text[start : start + len(piece) + 1] if piece else ""


def m_leak_stripped(encode, decode, text):
    return leak_next(encode, decode, text).strip()


def m_leak_three_at_most(encode, decode, text):
    return _leak(lambda text: _by_size(text, range(1, 4)))(encode, decode, text)


def m_leak_constant(encode, decode, text):
    return " "


def w_merge_first_symbol(word, pair):
    merged, symbols = [], iter(word)
    for symbol in symbols:
        if symbol == pair[0]:
            symbol += next(symbols, "")
        merged.append(symbol)
    return tuple(merged)


def w_bpe_each_anew(word, merges):
    pieces = list(word)
    for pair in merges:
        pieces = list(tr.merge_pair(tuple(word), pair))
    return pieces


def w_bpe_most_frequent(word, merges):
    pieces = tuple(word)
    while True:
        counts = Counter(pair for pair in zip(pieces, pieces[1:], strict=False) if pair in merges)
        if not counts:
            return list(pieces)
        pieces = tr.merge_pair(pieces, counts.most_common(1)[0][0])


def w_words_grow(text):
    found, run = [], ""
    for sign in text + " ":
        if sign.isalnum():
            run = run + sign
            continue
        found += [run] if run else []
        found += [] if sign.isspace() else [sign]
    return found


def w_words_mark_first(text):
    return [
        each
        for match in re.finditer(r"([^\W_]+)?(?:([^\w\s])|\s|$)", text)
        for each in (match[2], match[1])
        if each
    ]


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
    "tokenizers.encode_tokens": [
        encode_get,
        encode_if,
        encode_try,
        encode_defaultdict,
        encode_chainmap,
        encode_torch,
        encode_numpy,
        encode_replaced,
    ],
    "tokenizers.count_pairs": [
        count_loop,
        count_defaultdict,
        count_counter,
        count_expanded,
        count_windows,
        count_reduce,
        count_subclass,
        count_numpy,
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
        train_package_pieces,
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
}

WRONG = {
    "tokenizers.word_tokenize": [
        ("split-only", w_words_split),
        ("split-only", w_words_strip),
        ("punctuation-lost", w_words_drop),
        ("punctuation-runs", w_words_runs),
        ("lowercased", w_words_lower),
        ("only-the-space", w_words_space_only),
        ("white-space-kept", w_words_spaces_kept),
        ("white-space-kept", w_words_spaces_runs),
        ("empty-tokens", w_words_empty),
        ("ascii-only", w_words_ascii),
        ("ascii-only", w_words_ascii_range),
        ("listed-punctuation", w_words_ascii_marks),
        ("listed-punctuation", w_words_four_marks),
        ("digits-apart", w_words_digits),
        ("digits-apart", w_words_isalpha),
        ("words-with-punctuation", w_words_contractions),
        ("words-with-punctuation", w_words_inner),
        ("words-with-punctuation", w_words_numbers),
        ("last-word-lost", w_words_no_flush),
        ("word-not-emptied", w_words_grow),
        ("mark-before-its-word", w_words_mark_first),
        ("characters", w_words_chars),
        ("characters", w_words_all_chars),
        ("only-once", w_words_set),
        ("text-returned", w_words_text),
    ],
    "tokenizers.build_vocab": [
        ("min-freq-strict", w_vocab_strict),
        ("min-freq-ignored", w_vocab_all),
        ("specials-last", w_vocab_last),
        ("specials-sorted", w_vocab_specials_sorted),
        ("specials-left-out", w_vocab_specials_missing),
        ("rare-first", w_vocab_rare),
        ("ties-as-they-came", w_vocab_ties),
        ("ties-backwards", w_vocab_reverse),
        ("alphabetical-only", w_vocab_alphabet),
        ("not-sorted", w_vocab_seen),
        ("case-ignored", w_vocab_casefold),
        ("case-ignored", w_vocab_lower),
        ("ids-from-one", w_vocab_from_one),
        ("ids-collide", w_vocab_collide),
        ("ids-with-gaps", w_vocab_gaps),
        ("special-twice", w_vocab_twice),
        ("inverted", w_vocab_inverted),
        ("counts-as-ids", w_vocab_counts),
        ("list-returned", w_vocab_list),
        ("changes-its-input", w_vocab_extends),
    ],
    "tokenizers.encode_tokens": [
        ("unknown-left-out", w_encode_skip),
        ("unknown-left-out", w_encode_break),
        ("unknown-raises", w_encode_keyerror),
        ("unk-not-looked-up", w_encode_unk_text),
        ("unknown-is-a-fixed-number", w_encode_zero),
        ("unknown-is-a-fixed-number", w_encode_minus),
        ("unknown-is-a-fixed-number", w_encode_three),
        ("unknown-is-a-fixed-number", w_encode_last),
        ("unknown-is-none", w_encode_none),
        ("zero-is-unknown", w_encode_or),
        ("vocabulary-grows", w_encode_grows),
        ("case-ignored", w_encode_lower),
        ("place-in-dictionary", w_encode_index),
        ("only-once", w_encode_unique),
        ("sorted-ids", w_encode_sorted),
        ("ids-as-text", w_encode_text),
        ("tensor-returned", w_encode_tensor),
        ("tensor-returned", w_encode_array),
        ("changes-its-input", w_encode_in_place),
    ],
    "tokenizers.count_pairs": [
        ("not-weighted", w_count_ones),
        ("once-a-word", w_count_set),
        ("no-overlaps", w_count_no_overlap),
        ("across-words", w_count_chain),
        ("ends-meet", w_count_ring),
        ("last-pair-lost", w_count_short),
        ("first-pair-lost", w_count_late),
        ("every-other-pair", w_count_twos),
        ("joined-keys", w_count_text),
        ("order-ignored", w_count_sorted),
        ("not-added", w_count_assigned),
        ("first-counted-twice", w_count_plus_one),
        ("characters", w_count_characters),
        ("single-symbols", w_count_symbols),
        ("not-neighbours", w_count_combinations),
        ("list-returned", w_count_list),
        ("list-returned", w_count_items),
    ],
    "tokenizers.merge_pair": [
        ("overlapping", w_merge_overlap),
        ("second-symbol-stays", w_merge_stays),
        ("first-place-only", w_merge_first),
        ("first-place-only", w_merge_find),
        ("from-the-right", w_merge_right),
        ("either-order", w_merge_set),
        ("inside-symbols", w_merge_text),
        ("same-text", w_merge_same_text),
        ("first-symbol-only", w_merge_first_symbol),
        ("last-symbol-lost", w_merge_no_tail),
        ("beyond-the-end", w_merge_index_error),
        ("beyond-the-end", w_merge_index_error_always),
        ("every-other-pair", w_merge_twos),
        ("pair-kept", w_merge_nested),
        ("with-separator", w_merge_space),
        ("not-a-tuple", w_merge_list),
        ("not-a-tuple", w_merge_string),
        ("nothing-merged", w_merge_nothing),
    ],
    "tokenizers.train_bpe": [
        ("ties-by-the-joined-text", w_train_joined),
        ("returns-in-the-loop", w_train_returns),
        ("not-weighted", w_train_ones),
        ("ties-as-they-came", w_train_get),
        ("ties-smallest", w_train_smallest),
        ("words-not-merged", w_train_stale),
        ("counted-once", w_train_once),
        ("rarest-pair", w_train_rarest),
        ("greatest-pair-only", w_train_max_pair),
        ("end-of-word", w_train_end),
        ("end-of-word", w_train_end_glued),
        ("stops-at-one", w_train_above_one),
        ("one-too-few", w_train_one_less),
        ("one-too-few", w_train_one_more),
        ("no-pair-left", w_train_empty),
        ("no-pair-left", w_train_empty_index),
        ("repeats-the-last", w_train_repeat),
        ("once-a-word", w_train_set),
        ("no-overlaps", w_train_no_overlap),
        ("across-words", w_train_across),
        ("overlapping", w_train_overlap),
        ("second-symbol-stays", w_train_stays),
        ("first-place-only", w_train_first),
        ("inside-symbols", w_train_replace),
        ("symbols-returned", w_train_symbols),
        ("pairs-not-tuples", w_train_lists),
        ("dictionary-returned", w_train_ranks),
        ("changes-its-input", w_train_empties),
    ],
    "tokenizers.bpe_encode": [
        ("by-place", w_bpe_left),
        ("by-place", w_bpe_sweep),
        ("longest-piece", w_bpe_greedy),
        ("each-merge-from-the-start", w_bpe_each_anew),
        ("most-frequent-first", w_bpe_most_frequent),
        ("last-learned-first", w_bpe_last_first),
        ("last-learned-first", w_bpe_highest),
        ("merges-sorted", w_bpe_sorted),
        ("stops-at-a-miss", w_bpe_stops),
        ("one-merge", w_bpe_one),
        ("first-place-only", w_bpe_first_place),
        ("overlapping", w_bpe_overlap),
        ("second-symbol-stays", w_bpe_stays),
        ("from-the-right", w_bpe_right),
        ("inside-symbols", w_bpe_replace),
        ("last-symbol-lost", w_bpe_no_tail),
        ("unknown-left-out", w_bpe_known_only),
        ("unknown-replaced", w_bpe_unk),
        ("unknown-raises", w_bpe_raises),
        ("end-of-word", w_bpe_end),
        ("with-marks", w_bpe_hashes),
        ("with-marks", w_bpe_at),
        ("characters", w_bpe_lost),
        ("ids-returned", w_bpe_ids),
        ("text-returned", w_bpe_text),
        ("changes-its-input", w_bpe_pops),
    ],
    "tokenizers.find_the_bug": [
        ("ends-forgotten", w_merge_words_inside),
        ("inside-symbols", w_bug_as_found),
        ("right-border-only", w_bug_right),
        ("left-border-only", w_bug_left),
        ("word-boundary", w_bug_boundary),
        ("not-escaped", w_bug_not_escaped),
        ("spaces-used-up", w_bug_padded),
        ("first-place-only", w_bug_first),
        ("overlapping", w_bug_overlap),
        ("second-symbol-stays", w_bug_stays),
        ("from-the-right", w_bug_from_right),
        ("either-order", w_bug_set),
        ("same-text", w_bug_same_text),
        ("last-symbol-lost", w_bug_no_tail),
        ("other-words-lost", w_bug_only_changed),
        ("old-words-stay", w_bug_both),
        ("counts-lost", w_bug_ones),
        ("spaces-lost", w_bug_no_spaces),
        ("keys-not-text", w_bug_tuples),
        ("changes-its-input", w_bug_in_place),
    ],
    "tokenizers.shortest_leak": [
        ("whole-text-returned", w_leak_whole),
        ("whole-text-first", w_leak_guarded),
        ("single-characters", w_leak_characters),
        ("single-characters", _leak(list)),
        ("words-only", w_leak_words),
        ("words-only", _leak(lambda text: sorted(text.split(), key=len))),
        ("from-the-start-only", w_leak_prefix),
        ("from-the-start-only", w_leak_loops_swapped),
        ("longest-first", _leak(lambda text: _by_size(text, range(len(text), 0, -1)))),
        ("last-of-the-shortest", w_leak_overwritten),
        ("last-of-the-shortest", _leak(choose=lambda found, _: min(found[::-1], key=len))),
        ("ends-missed", w_leak_not_the_whole),
        ("ends-missed", w_leak_not_the_last),
        ("what-came-back", _leak(choose=lambda found, back: back(found[0]))),
        ("lengths-only", _leak(leaks=lambda piece, back, _: len(piece) != len(back(piece)))),
        (
            "ids-compared",
            _leak(leaks=lambda piece, back, encode: encode(piece) != encode(back(piece))),
        ),
        (
            "forgiving-comparison",
            _leak(leaks=lambda piece, back, _: piece.casefold() != back(piece).casefold()),
        ),
        (
            "forgiving-comparison",
            _leak(leaks=lambda piece, back, _: piece.split() != back(piece).split()),
        ),
        ("nothing-for-no-leak", w_leak_none),
    ],
}

MUTANTS = {
    "tokenizers.word_tokenize": [
        m_words_reversed,
        m_words_title,
        m_words_three,
        m_words_generator,
        m_words_normalised,
        m_words_none,
        m_words_bytes,
        m_words_marks,
    ],
    "tokenizers.build_vocab": [
        m_vocab_by_length,
        m_vocab_pad_added,
        m_vocab_floats,
        m_vocab_stride,
        m_vocab_at_least_two,
        m_vocab_first_two_specials,
        m_vocab_ten,
        m_vocab_pairs,
        m_vocab_latin,
    ],
    "tokenizers.encode_tokens": [
        m_encode_reversed,
        m_encode_plus_one,
        m_encode_frame,
        m_encode_two_unknown,
        m_encode_floats,
        m_encode_pairs,
        m_encode_prefix,
        m_encode_iterator,
        m_encode_latin,
    ],
    "tokenizers.count_pairs": [
        m_count_squared,
        m_count_share,
        m_count_triples,
        m_count_reversed,
        m_count_best,
        m_count_skips_one,
        m_count_first_word,
        m_count_lower,
    ],
    "tokenizers.merge_pair": [
        m_merge_backwards,
        m_merge_reversed,
        m_merge_drops,
        m_merge_upper,
        m_merge_everything,
        m_merge_first_two,
        m_merge_none_if_absent,
        m_merge_twice,
        m_merge_any_case,
    ],
    "tokenizers.train_bpe": [
        m_train_reversed,
        m_train_swapped,
        m_train_lower_weight,
        m_train_longest,
        m_train_two_at_once,
        m_train_first_word,
        m_train_with_counts,
        m_train_none,
        m_train_second_best,
        m_train_lower,
    ],
    "tokenizers.bpe_encode": [
        m_bpe_reversed,
        m_bpe_half,
        m_bpe_first_two,
        m_bpe_whole,
        m_bpe_upper,
        m_bpe_pairs,
        m_bpe_without_first,
        m_bpe_sorted_pieces,
        m_bpe_lower,
        m_bpe_any_case,
        m_bpe_latin,
    ],
    "tokenizers.find_the_bug": [
        m_bug_untouched,
        m_bug_joined_with_mark,
        m_bug_changing,
        m_bug_list,
        m_bug_doubled,
        m_bug_reversed_pair,
        m_bug_upper,
        m_bug_lower,
    ],
    "tokenizers.shortest_leak": [
        m_leak_place,
        m_leak_first_difference,
        m_leak_twice,
        m_leak_with_more,
        m_leak_stripped,
        m_leak_three_at_most,
        m_leak_constant,
    ],
}
