"""Wrong answers to the tasks of tokenizers, as beginners write them."""

import re
from collections import Counter
from itertools import permutations, product

from tests.checks.material.tokenizers import count_loop
from tests.checks.material.unseen import wrong
from transformer_checks import tokenizers as reference

# tokenizers.train_bpe


def _train(word_counts, num_merges, choose):
    """Train with another choice of the best pair."""
    words = {tuple(word): count for word, count in word_counts.items()}
    merges = []
    for _ in range(num_merges):
        counts = count_loop(words)
        if not counts:
            break
        best = choose(counts)
        merges.append(best)
        words = {reference.merge_pair(word, best): count for word, count in words.items()}
    return merges


@wrong("tokenizers.train_bpe", "ties by chance: the first one counted", "ties-as-they-came")
def _(word_counts, num_merges):
    return _train(word_counts, num_merges, lambda counts: max(counts, key=counts.get))


@wrong("tokenizers.train_bpe", "ties: the smallest pair", "ties-smallest")
def _(word_counts, num_merges):
    return _train(
        word_counts, num_merges, lambda counts: min(counts, key=lambda p: (-counts[p], p))
    )


@wrong("tokenizers.train_bpe", "ties: the greatest joined string", "ties-by-the-joined-text")
def _(word_counts, num_merges):
    return _train(
        word_counts, num_merges, lambda counts: max(counts, key=lambda p: (counts[p], "".join(p)))
    )


@wrong("tokenizers.train_bpe", "ties: the longest", "ties-by-the-joined-text")
def _(word_counts, num_merges):
    return _train(
        word_counts,
        num_merges,
        lambda counts: max(counts, key=lambda p: (counts[p], len(p[0] + p[1]), p)),
    )


@wrong("tokenizers.train_bpe", "the words' counts are forgotten", "not-weighted")
def _(word_counts, num_merges):
    return _train(
        dict.fromkeys(word_counts, 1), num_merges, lambda c: max(c, key=lambda p: (c[p], p))
    )


@wrong("tokenizers.train_bpe", "an end-of-word mark", "end-of-word")
def _(word_counts, num_merges):
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


@wrong(
    "tokenizers.train_bpe", "counted once: the n most frequent pairs of characters", "counted-once"
)
def _(word_counts, num_merges):
    words = {tuple(word): count for word, count in word_counts.items()}
    counts = count_loop(words)
    return sorted(counts, key=lambda pair: (counts[pair], pair), reverse=True)[:num_merges]


@wrong(
    "tokenizers.train_bpe",
    "the words stay as they were: the same pair again and again",
    "words-not-merged",
)
def _(word_counts, num_merges):
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


@wrong("tokenizers.train_bpe", "stops when the best pair comes only once", "stops-at-one")
def _(word_counts, num_merges):
    words = {tuple(word): count for word, count in word_counts.items()}
    merges = []
    while len(merges) < num_merges:
        counts = count_loop(words)
        if not counts:
            break
        best = max(counts, key=lambda pair: (counts[pair], pair))
        if counts[best] < 2:
            break
        merges.append(best)
        words = {reference.merge_pair(word, best): count for word, count in words.items()}
    return merges


@wrong(
    "tokenizers.train_bpe", "no stop when nothing is left: max of nothing raises", "no-pair-left"
)
def _(word_counts, num_merges):
    words = {tuple(word): count for word, count in word_counts.items()}
    merges = []
    for _ in range(num_merges):
        counts = count_loop(words)
        best = max(counts, key=lambda pair: (counts[pair], pair))
        merges.append(best)
        words = {reference.merge_pair(word, best): count for word, count in words.items()}
    return merges


@wrong("tokenizers.train_bpe", "the list holds joined strings", "symbols-returned")
def _(word_counts, num_merges):
    def best(counts):
        return max(counts, key=lambda pair: (counts[pair], pair))

    return ["".join(pair) for pair in _train(word_counts, num_merges, best)]


@wrong("tokenizers.train_bpe", "return inside the loop: one merge", "returns-in-the-loop")
def _(word_counts, num_merges):
    words = {tuple(word): count for word, count in word_counts.items()}
    merges = []
    for _ in range(num_merges):
        counts = count_loop(words)
        if not counts:
            break
        best = max(counts, key=lambda pair: (counts[pair], pair))
        merges.append(best)
        words = {reference.merge_pair(word, best): count for word, count in words.items()}
        return merges
    return merges


# tokenizers.word_tokenize


@wrong("tokenizers.word_tokenize", "split: punctuation sticks", "split-only")
def _(text):
    return text.split()


@wrong("tokenizers.word_tokenize", "punctuation is thrown away", "punctuation-lost")
def _(text):
    return re.findall(r"\w+", text)


@wrong("tokenizers.word_tokenize", "runs of punctuation stay together", "punctuation-runs")
def _(text):
    return re.findall(r"\w+|[^\w\s]+", text)


@wrong("tokenizers.word_tokenize", "lower case", "lowercased")
def _(text):
    return re.findall(r"\w+|[^\w\s]", text.lower())


@wrong("tokenizers.word_tokenize", "the last word is lost", "last-word-lost")
def _(text):
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


# tokenizers.build_vocab


@wrong("tokenizers.build_vocab", "ties in the order of the text", "ties-as-they-came")
def _(tokens, min_freq, specials):
    vocab = {s: i for i, s in enumerate(specials)}
    for token, n in Counter(tokens).most_common():
        if n >= min_freq and token not in vocab:
            vocab[token] = len(vocab)
    return vocab


@wrong("tokenizers.build_vocab", "more often than min_freq", "min-freq-strict")
def _(tokens, min_freq, specials):
    counts = Counter(tokens)
    words = sorted(
        (t for t in counts if counts[t] > min_freq and t not in specials),
        key=lambda t: (-counts[t], t),
    )
    return {t: i for i, t in enumerate([*specials, *words])}


@wrong("tokenizers.build_vocab", "reverse=True turns the alphabet, too", "ties-backwards")
def _(tokens, min_freq, specials):
    counts = Counter(tokens)
    words = [t for t in counts if counts[t] >= min_freq and t not in specials]
    words.sort(key=lambda t: (counts[t], t), reverse=True)
    return {t: i for i, t in enumerate([*specials, *words])}


@wrong("tokenizers.build_vocab", "specials at the end", "specials-last")
def _(tokens, min_freq, specials):
    counts = Counter(tokens)
    words = [t for t in counts if counts[t] >= min_freq and t not in specials]
    words.sort(key=lambda t: (-counts[t], t))
    return {t: i for i, t in enumerate([*words, *specials])}


@wrong("tokenizers.build_vocab", "a special in the text gets a second number", "special-twice")
def _(tokens, min_freq, specials):
    counts = Counter(tokens)
    words = sorted((t for t in counts if counts[t] >= min_freq), key=lambda t: (-counts[t], t))
    return {t: i for i, t in enumerate([*specials, *words])}


# tokenizers.merge_pair


@wrong("tokenizers.merge_pair", "only the first place", "first-place-only")
def _(word, pair):
    for i in range(len(word) - 1):
        if word[i : i + 2] == pair:
            return (*word[:i], pair[0] + pair[1], *word[i + 2 :])
    return word


@wrong("tokenizers.merge_pair", "the loop does not skip: overlaps", "second-symbol-stays")
def _(word, pair):
    out = []
    for i in range(len(word)):
        if word[i : i + 2] == pair:
            out.append(pair[0] + pair[1])
        else:
            out.append(word[i])
    return tuple(out)


@wrong("tokenizers.merge_pair", "a list", "not-a-tuple")
def _(word, pair):
    out = list(word)
    i = 0
    while i < len(out) - 1:
        if (out[i], out[i + 1]) == pair:
            out[i : i + 2] = [pair[0] + pair[1]]
        i += 1
    return out


@wrong("tokenizers.merge_pair", "the last symbol is lost", "last-symbol-lost")
def _(word, pair):
    out, i = [], 0
    while i < len(word) - 1:
        if word[i : i + 2] == pair:
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(word[i])
            i += 1
    return tuple(out)


@wrong("tokenizers.merge_pair", "replace in the joined text", "inside-symbols")
def _(word, pair):
    return tuple(" ".join(word).replace(" ".join(pair), "".join(pair)).split(" "))


# tokenizers.bpe_encode


@wrong("tokenizers.bpe_encode", "from the left, whatever pair fits first", "by-place")
def _(word, merges):
    symbols = list(word)
    i = 0
    while i < len(symbols) - 1:
        if (symbols[i], symbols[i + 1]) in merges:
            symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
            i = 0
        else:
            i += 1
    return symbols


@wrong("tokenizers.bpe_encode", "the longest known piece from the left", "longest-piece")
def _(word, merges):
    known = {a + b for a, b in merges}
    out, i = [], 0
    while i < len(word):
        for j in range(len(word), i, -1):
            if word[i:j] in known or j == i + 1:
                out.append(word[i:j])
                i = j
                break
    return out


@wrong("tokenizers.bpe_encode", "a tuple of characters: nothing is merged", "characters")
def _(word, merges):
    symbols = tuple(word)
    for pair in merges:
        reference.merge_pair(symbols, pair)
    return list(symbols)


@wrong("tokenizers.bpe_encode", "the merges backwards", "last-learned-first")
def _(word, merges):
    symbols = tuple(word)
    for pair in reversed(merges):
        symbols = reference.merge_pair(symbols, pair)
    return list(symbols)


@wrong("tokenizers.bpe_encode", "unknown characters are left out", "unknown-left-out")
def _(word, merges):
    known = {c for a, b in merges for c in a + b}
    symbols = tuple(c for c in word if c in known)
    for pair in merges:
        symbols = reference.merge_pair(symbols, pair)
    return list(symbols)


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


@wrong("tokenizers.find_the_bug", "spaces on both sides: nothing at the ends", "ends-forgotten")
def _(words, pair):
    old, new = f" {' '.join(pair)} ", f" {''.join(pair)} "
    return {word.replace(old, new): n for word, n in words.items()}


@wrong("tokenizers.find_the_bug", "only behind is looked at", "right-border-only")
def _(words, pair):
    pattern = re.compile(re.escape(" ".join(pair)) + r"(?!\S)")
    return {pattern.sub("".join(pair), word): n for word, n in words.items()}


@wrong("tokenizers.find_the_bug", "only the first place is joined", "first-place-only")
def _(words, pair):
    pattern = re.compile(r"(?<!\S)" + re.escape(" ".join(pair)) + r"(?!\S)")
    joined = "".join(pair)
    return {pattern.sub(lambda _: joined, word, count=1): n for word, n in words.items()}


# tokenizers.shortest_leak


@wrong("tokenizers.shortest_leak", "single characters only are tried", "single-characters")
def _(encode, decode, text):
    for character in text:
        if decode(encode(character)) != character:
            return character
    return ""


@wrong(
    "tokenizers.shortest_leak",
    "the first piece that leaks, and not the shortest",
    "from-the-start-only",
)
def _(encode, decode, text):
    for i in range(len(text)):
        for j in range(i + 1, len(text) + 1):
            if decode(encode(text[i:j])) != text[i:j]:
                return text[i:j]
    return ""


@wrong(
    "tokenizers.shortest_leak", "range(1, len(text)): the whole text is never tried", "ends-missed"
)
def _(encode, decode, text):
    for size in range(1, len(text)):
        for i in range(len(text) - size + 1):
            piece = text[i : i + size]
            if decode(encode(piece)) != piece:
                return piece
    return ""


@wrong("tokenizers.shortest_leak", "None in the place of an empty text", "nothing-for-no-leak")
def _(encode, decode, text):
    for size in range(1, len(text) + 1):
        for i in range(len(text) - size + 1):
            piece = text[i : i + size]
            if decode(encode(piece)) != piece:
                return piece


@wrong(
    "tokenizers.shortest_leak", "what comes back is returned, and not the piece", "what-came-back"
)
def _(encode, decode, text):
    for size in range(1, len(text) + 1):
        for i in range(len(text) - size + 1):
            back = decode(encode(text[i : i + size]))
            if back != text[i : i + size]:
                return back
    return ""


@wrong(
    "tokenizers.shortest_leak",
    "range(len(text) - size): the last piece of each size is left out",
    "ends-missed",
)
def _(encode, decode, text):
    for size in range(1, len(text) + 1):
        for i in range(len(text) - size):
            piece = text[i : i + size]
            if decode(encode(piece)) != piece:
                return piece
    return ""


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


@wrong("tokenizers.longer_than_needed", "two pieces are enough", "two-is-enough")
def _(merges):
    return _first(w for w in _words(merges) if len(reference.bpe_encode(w, merges)) >= 2)


@wrong("tokenizers.longer_than_needed", "the first one in the alphabet", "alphabetical-only")
def _(merges):
    for word in sorted(_words(merges)):
        if len(reference.bpe_encode(word, merges)) > 2:
            return word
    return ""


@wrong("tokenizers.longer_than_needed", "the word and its pieces", "", relation="form")
def _(merges):
    word = _first(_too_many(_words(merges), merges))
    return word, reference.bpe_encode(word, merges)


@wrong("tokenizers.longer_than_needed", "known is a string: its characters", "nothing-found")
def _(merges):
    known = "".join(a + b for a, b in merges)
    return _first(_too_many([a + b for a in known for b in known], merges))


@wrong("tokenizers.longer_than_needed", "the words are the merges", "nothing-found")
def _(merges):
    return _first(_too_many([a + b for a, b in merges], merges))


@wrong("tokenizers.longer_than_needed", "the word with the most pieces", "most-pieces")
def _(merges):
    found = sorted(_too_many(_words(merges), merges), key=lambda word: (len(word), word))
    return max(found, key=lambda word: len(reference.bpe_encode(word, merges)), default="")


@wrong("tokenizers.longer_than_needed", "from the place of the first piece on", "one-order")
def _(merges):
    known = _pieces(merges)
    words = [a + b for a in known for b in known[known.index(a) :]]
    return _first(_too_many(words, merges))


@wrong("tokenizers.longer_than_needed", "the texts of the merges only", "characters-left-out")
def _(merges):
    joined = ["".join(pair) for pair in merges]
    return _first(_too_many([a + b for a, b in product(joined, repeat=2)], merges))


@wrong("tokenizers.longer_than_needed", "printed, not returned", "", relation="form")
def _(merges):
    print(_first(_too_many(_words(merges), merges)))


@wrong("tokenizers.longer_than_needed", "permutations: no piece twice", "never-twice")
def _(merges):
    return _first(_too_many([a + b for a, b in permutations(_pieces(merges), 2)], merges))
