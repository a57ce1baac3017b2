"""The misconceptions of the assignment "tokenizers", task by task, each with its implementation.

They come from tutorials and from repositories that copied them: merging with `str.replace`, ties
left to the order of a dictionary, merges looked up by place or by length and not by rank.
Twins that give the same answer are one entry: a merge that is counted twice where it overlaps and
one that is joined twice differ, a set of pairs and a count once a word do not.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

from transformer_ref.checks.authoring.shared_mistakes import (
    FIRST_ROUND,
)
from transformer_ref.checks.task import Misconception

Pair = tuple[str, str]
Word = tuple[str, ...]
Step = Callable[..., Any]


def _with(entry: Misconception, *wrong: Step) -> Misconception:
    return replace(entry, wrong=wrong)


AS_TEXT = Misconception(
    "text-returned",
    "the pieces are put together into one string again",
    "What comes after this needs the pieces apart. Return a list, with one string for each piece.",
    (),
)
CHANGES_INPUT = Misconception(
    "changes-its-input",
    "the function changes what the caller gave it",
    "An argument is the caller's own object, and append, +=, pop or an assignment to an entry "
    "reaches out of the function. Work on a copy.",
    (),
)


# --- word_tokenize ---------------------------------------------------------------------------


def _found(pattern: str, flags: int = 0) -> Step:
    """Return a tokenizer that takes all matches of a pattern."""
    return lambda text: re.findall(pattern, text, flags)


def _tokens(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", text)


def _split_at(text: str, keep: Callable[[str], bool]) -> list[str]:
    """Cut at single spaces, and around each character that `keep` does not take into a word."""
    return [token for part in text.split(" ") for token in _cut(part, keep)]


def _cut(part: str, keep: Callable[[str], bool]) -> list[str]:
    for character in set(part):
        if not keep(character):
            part = part.replace(character, f"\0{character}\0")
    return [token for token in part.split("\0") if token]


def _last_word_lost(text: str) -> list[str]:
    tokens = _tokens(text)
    return tokens[:-1] if text and text[-1].isalnum() else tokens


WORDS = (
    Misconception(
        "split-only",
        "punctuation stays glued to the words",
        "White space alone ends a word here, so 'end.' and 'end' become two different tokens. "
        "Each punctuation mark is a token of its own.",
        (str.split, lambda text: [part.strip(string.punctuation) or part for part in text.split()]),
    ),
    Misconception(
        "punctuation-lost",
        "the punctuation marks are dropped",
        "They carry meaning and are tokens too. Look at what becomes of a character that is "
        "neither a letter nor a digit nor white space.",
        (_found(r"\w+"),),
    ),
    Misconception(
        "punctuation-runs",
        "a row of punctuation marks becomes one token",
        "'...' is three tokens. Runs are for letters and digits; look for a + that belongs to the "
        "words only.",
        (_found(r"\w+|[^\w\s]+"),),
    ),
    Misconception(
        "lowercased",
        "the tokens are in lower case",
        "Case is kept here: 'US' and 'us' are two tokens. Look for lower() or casefold().",
        (lambda text: _tokens(text.lower()),),
    ),
    Misconception(
        "only-the-space",
        "only the space counts as white space, not tabs, line breaks and others",
        "Ask str.isspace(), use \\s, or call split() without an argument.",
        (
            _found(r"\w+|[^\w ]"),
            lambda text: _split_at(text, lambda each: each.isalnum() or each.isspace()),
        ),
    ),
    Misconception(
        "white-space-kept",
        "white space is kept as tokens",
        "White space separates tokens and is none itself. Look at what becomes of a space.",
        (_found(r"\w+|\W"), _found(r"\w+|\s+|[^\w\s]")),
    ),
    Misconception(
        "empty-tokens",
        "empty strings are among the tokens",
        "split(' ') and re.split give an empty string where two separators meet. Leave them out.",
        (
            lambda text: [each for each in re.split(r"(\W)", text) if each == "" or each.strip()],
            lambda text: [each.strip() for each in re.split(r"(\W)", text)],
            lambda text: re.sub(r"([^\w\s])", r" \1 ", text).split(" "),
        ),
    ),
    Misconception(
        "ascii-only",
        "letters outside a to z are cut off as if they were punctuation",
        "Words have letters like é, ß and 東, too. Ask str.isalnum() or use \\w, not a range from "
        "a to z.",
        (
            _found(r"[A-Za-z0-9]+|[^A-Za-z0-9\s]"),
            _found(r"\w+|[^\w\s]", re.ASCII),
            _found(r"\w+", re.ASCII),
        ),
    ),
    Misconception(
        "listed-punctuation",
        "only the punctuation marks of a list are cut off",
        "Every list lacks some, and so does string.punctuation: think of “ and …. Take whatever is "
        "neither alphanumeric nor white space.",
        (
            *(
                _found(rf"[^\s{re.escape(marks)}]+|[{re.escape(marks)}]")
                for marks in (string.punctuation, ".,!?", ".,!?;:", ".,", ".,!?;:'\"()-")
            ),
            _found(rf"\w+|[{re.escape(string.punctuation)}]"),
        ),
    ),
    Misconception(
        "digits-apart",
        "digits do not stay in one token with the letters and digits beside them",
        "'v2' and '2024' are one token each. isalpha() is false for digits; ask isalnum().",
        (
            _found(r"[^\W\d]+|\d+|[^\w\s]"),
            _found(r"[^\W\d]+|\d|[^\w\s]"),
            _found(r"[^\W\d]+|[^\w\s]"),
        ),
    ),
    Misconception(
        "words-with-punctuation",
        "an apostrophe, hyphen or point inside a word stays in it",
        "\"don't\" is three tokens here, and so are 'well-known' and '3.5'. Every punctuation mark "
        "is a token, wherever it stands.",
        (
            _found(r"\w+(?:'\w+)*|[^\w\s]"),
            _found(r"\w+(?:[-']\w+)*|[^\w\s]"),
            _found(r"\w+(?:-\w+)*|[^\w\s]"),
            _found(r"\d+(?:[.,]\d+)+|\w+|[^\w\s]"),
        ),
    ),
    Misconception(
        "last-word-lost",
        "a word at the very end of the text is lost",
        "A loop that gives a word away when the next character ends it never sees that character "
        "after the last word. Look at what happens after the loop.",
        (_last_word_lost,),
    ),
    Misconception(
        "characters",
        "the tokens are single characters",
        "A run of letters and digits is one token. Look for list(text), or a pattern without a +.",
        (
            list,
            lambda text: list("".join(text.split())),
        ),
    ),
    Misconception(
        "only-once",
        "a token that comes again is left out",
        "The tokens are the text in its order, repetitions included. A set or a dictionary belongs "
        "to the vocabulary, which comes later.",
        (
            lambda text: list(dict.fromkeys(_tokens(text))),
            lambda text: sorted(set(_tokens(text))),
        ),
    ),
    _with(AS_TEXT, lambda text: " ".join(_tokens(text))),
)


# --- build_vocab -----------------------------------------------------------------------------


def _ids(entries: Iterable[str], start: int = 0) -> dict[str, int]:
    return {token: number for number, token in enumerate(entries, start=start)}


def _ordered(key: Step) -> Step:
    """Return a step that sorts counts by `key(token, count)`."""
    return lambda counts: sorted(counts, key=lambda token: key(token, counts[token]))


_by_frequency = _ordered(lambda token, count: (-count, token))


def _vocab(
    tokens: list[str],
    min_freq: int,
    specials: list[str],
    *,
    keep: Callable[[int, int], bool] = lambda count, least: count >= least,
    order: Step = _by_frequency,
    lay: Step = lambda specials, words: _ids([*specials, *words]),
    words_only: bool = True,
) -> Any:
    """Build a vocabulary, right unless a step is replaced.

    Args:
        tokens: of the text.
        min_freq: the least count.
        specials: come first.
        keep: tells from a count and the least one whether a token stays.
        order: puts the counts of tokens into an order.
        lay: makes the vocabulary of the specials and the words.
        words_only: whether specials that stand in the text are left out of the words.

    Returns:
        the vocabulary.
    """
    counts = Counter(tokens)
    if words_only:
        for special in specials:
            counts.pop(special, None)
    kept = {token: count for token, count in counts.items() if keep(count, min_freq)}
    return lay(specials, order(kept))


def _special_counted_again(specials: list[str], words: list[str]) -> dict[str, int]:
    vocab = _ids(specials)
    for word in words:
        vocab[word] = len(vocab)
    return vocab


def _with_gaps(tokens: list[str], min_freq: int, specials: list[str]) -> dict[str, int]:
    counts = Counter(tokens)
    vocab = _ids(specials)
    for number, token in enumerate(_by_frequency(counts), start=len(specials)):
        if counts[token] >= min_freq and token not in specials:
            vocab[token] = number
    return vocab


def _specials_appended(tokens: list[str], min_freq: int, specials: list[str]) -> dict[str, int]:
    words = [token for token in _vocab(tokens, min_freq, specials) if token not in specials]
    specials += words
    return _ids(specials)


def _specials_grow_tokens(tokens: list[str], min_freq: int, specials: list[str]) -> dict[str, int]:
    vocab = _vocab(tokens, min_freq, specials)
    tokens.sort()
    return vocab


VOCAB = (
    Misconception(
        "min-freq-strict",
        "a token that comes exactly min_freq times is left out",
        "min_freq is the least number of times that is enough. Look at > and >=.",
        (partial(_vocab, keep=lambda count, least: count > least),),
    ),
    Misconception(
        "min-freq-ignored",
        "min_freq has no effect: rare tokens are in the vocabulary too",
        "Only tokens that come at least min_freq times get an id. Look at where the counts are "
        "compared with it.",
        (partial(_vocab, keep=lambda count, least: True),),
    ),
    Misconception(
        "specials-last",
        "the special tokens come after the words",
        "Their ids must not depend on the text, so they come first, in the order given.",
        (partial(_vocab, lay=lambda specials, words: _ids([*words, *specials])),),
    ),
    Misconception(
        "specials-sorted",
        "the special tokens are not in the order given",
        "The caller chose their order, and with it their ids. Do not sort them or take them "
        "through a set.",
        (
            partial(_vocab, lay=lambda specials, words: _ids([*sorted(specials), *words])),
            partial(_vocab, lay=lambda specials, words: _ids([*specials[::-1], *words])),
        ),
    ),
    Misconception(
        "specials-left-out",
        "special tokens that the text does not hold are missing",
        "Padding and the unknown token never stand in a text, and need an id all the same. They "
        "do not have to reach min_freq.",
        (
            partial(_vocab, lay=lambda specials, words: _ids(words)),
            lambda tokens, min_freq, specials: _vocab(
                tokens, min_freq, [each for each in specials if tokens.count(each) >= min_freq]
            ),
        ),
    ),
    Misconception(
        "rare-first",
        "the rarest tokens come first",
        "Frequent tokens get the small ids. Look at the sign of the count in the sort key, or at "
        "reverse.",
        (partial(_vocab, order=_ordered(lambda token, count: (count, token))),),
    ),
    Misconception(
        "ties-as-they-came",
        "tokens that come equally often are in the order in which the text has them",
        "Counter.most_common and a sort by the count alone leave ties as they were. Make the "
        "token itself the second part of the sort key.",
        (partial(_vocab, order=_ordered(lambda token, count: -count)),),
    ),
    Misconception(
        "ties-backwards",
        "tokens that come equally often are in reverse alphabetical order",
        "reverse=True turns the whole key around, the token with it. Negate the count instead.",
        (
            partial(
                _vocab,
                order=lambda counts: sorted(
                    counts, key=lambda token: (counts[token], token), reverse=True
                ),
            ),
        ),
    ),
    Misconception(
        "alphabetical-only",
        "the tokens are in alphabetical order, whatever their frequency is",
        "The frequency comes first in the sort key; the alphabet decides between equal ones only.",
        (partial(_vocab, order=sorted),),
    ),
    Misconception(
        "not-sorted",
        "the tokens are in the order in which the text has them",
        "Count first, then sort: by falling frequency, and alphabetically where it is equal.",
        (partial(_vocab, order=list),),
    ),
    Misconception(
        "case-ignored",
        "capital letters are treated like small ones",
        "'The' and 'the' are two tokens, and alphabetical means the order of sorted(), in which "
        "capital letters come first. Look for lower().",
        (
            partial(_vocab, order=_ordered(lambda token, count: (-count, token.lower(), token))),
            partial(_vocab, order=_ordered(lambda token, count: (-count, token.lower()))),
            lambda tokens, min_freq, specials: _vocab(
                [token.lower() for token in tokens], min_freq, specials
            ),
        ),
    ),
    Misconception(
        "ids-from-one",
        "the ids start at 1",
        "An id is a row of a matrix, and rows are counted from 0.",
        (partial(_vocab, lay=lambda specials, words: _ids([*specials, *words], 1)),),
    ),
    Misconception(
        "ids-collide",
        "a word and a special token have the same id",
        "The words' ids go on where those of the special tokens end. Look at where each count "
        "begins.",
        (partial(_vocab, lay=lambda specials, words: {**_ids(specials), **_ids(words)}),),
    ),
    Misconception(
        "ids-with-gaps",
        "the ids have gaps where tokens were left out",
        "Every id should be a row in use. Leave out the special tokens that stand in the text, and "
        "what is rare, before you number the rest.",
        (_with_gaps,),
    ),
    Misconception(
        "special-twice",
        "a special token that stands in the text is numbered a second time",
        "It has its id already, and must keep it. Leave the special tokens out of the words.",
        (
            partial(_vocab, words_only=False),
            partial(_vocab, words_only=False, lay=_special_counted_again),
        ),
    ),
    Misconception(
        "inverted",
        "the dictionary leads from ids to tokens",
        "It is used to look up tokens: the token is the key, the id the value.",
        (lambda tokens, min_freq, specials: dict(enumerate(_vocab(tokens, min_freq, specials))),),
    ),
    Misconception(
        "counts-as-ids",
        "the values are the frequencies of the tokens, not their ids",
        "The frequencies only decide on the order. The id is the place in that order.",
        (
            partial(
                _vocab,
                order=lambda counts: counts,
                lay=lambda specials, counts: {**_ids(specials), **counts},
            ),
            lambda tokens, min_freq, specials: dict(Counter(tokens)),
        ),
    ),
    Misconception(
        "list-returned",
        "the result is a list of tokens, not a dictionary",
        "A list gives the token of an id. To find the id of a token, make a dictionary of both.",
        (partial(_vocab, lay=lambda specials, words: [*specials, *words]),),
    ),
    _with(CHANGES_INPUT, _specials_appended, _specials_grow_tokens),
)


# --- encode_tokens ---------------------------------------------------------------------------


def _looked_up(instead: Step) -> Step:
    """Return an encoder that puts `instead(token, vocab, unk)` for an unknown token."""

    def encode(tokens: list[str], vocab: dict[str, int], unk: str) -> list[Any]:
        return [vocab[token] if token in vocab else instead(token, vocab, unk) for token in tokens]

    return encode


_encode = _looked_up(lambda token, vocab, unk: vocab[unk])


def _until_unknown(tokens: list[str], vocab: dict[str, int], unk: str) -> list[int]:
    ids = []
    for token in tokens:
        if token not in vocab:
            break
        ids.append(vocab[token])
    return ids


def _grown(tokens: list[str], vocab: dict[str, int], unk: str) -> list[int]:
    return [vocab.setdefault(token, len(vocab)) for token in tokens]


def _grown_copy(tokens: list[str], vocab: dict[str, int], unk: str) -> list[int]:
    return _grown(tokens, dict(vocab), unk)


def _as_tensor(tokens: list[str], vocab: dict[str, int], unk: str) -> Any:
    import torch

    return torch.tensor(_encode(tokens, vocab, unk))


def _all_replaced(tokens: list[Any], vocab: dict[str, int], unk: str) -> list[int]:
    tokens[:] = _encode(tokens, vocab, unk)
    return list(tokens)


def _tokens_replaced(tokens: list[str], vocab: dict[str, int], unk: str) -> list[int]:
    for number, token in enumerate(tokens):
        if token not in vocab:
            tokens[number] = unk
    return _encode(tokens, vocab, unk)


ENCODE = (
    Misconception(
        "unknown-left-out",
        "unknown tokens are left out",
        "Every token gets an id, so that the ids stand where the tokens stood. Unknown ones get "
        "the id of unk.",
        (
            lambda tokens, vocab, unk: [vocab[token] for token in tokens if token in vocab],
            _until_unknown,
        ),
    ),
    Misconception(
        "unknown-raises",
        "a token that is not in the vocabulary raises an error",
        "vocab[token] raises KeyError where there is no such key. Say what to take instead.",
        (lambda tokens, vocab, unk: [vocab[token] for token in tokens],),
        r"^(KeyError|ValueError)",
    ),
    Misconception(
        "unk-not-looked-up",
        "unknown tokens become the string unk, not its id",
        "unk is a token. Like every token it has an id, and the vocabulary knows it.",
        (_looked_up(lambda token, vocab, unk: unk),),
    ),
    Misconception(
        "unknown-is-a-fixed-number",
        "unknown tokens get a fixed number instead of the id of unk",
        "Which id unk has depends on the vocabulary. Look it up: it need not be 0 or the last one.",
        tuple(
            _looked_up(instead)
            for instead in (
                lambda token, vocab, unk: 0,
                lambda token, vocab, unk: 1,
                lambda token, vocab, unk: 3,
                lambda token, vocab, unk: -1,
                lambda token, vocab, unk: len(vocab),
                lambda token, vocab, unk: len(vocab) - 1,
            )
        ),
    ),
    Misconception(
        "unknown-is-none",
        "unknown tokens become None",
        "vocab.get(token) gives None where there is no such key. It takes a second argument.",
        (lambda tokens, vocab, unk: [vocab.get(token) for token in tokens],),
    ),
    Misconception(
        "zero-is-unknown",
        "the token with id 0 is taken for an unknown one",
        "The number 0 counts as false, so `vocab.get(token) or ...` and `if vocab.get(token)` "
        "throw away a good id. Ask whether the token is in the vocabulary.",
        (lambda tokens, vocab, unk: [vocab.get(token) or vocab[unk] for token in tokens],),
    ),
    Misconception(
        "vocabulary-grows",
        "unknown tokens get new ids",
        "The model has a row for each id of the vocabulary and none for new ones. The vocabulary "
        "stays as it is, and unknown tokens become unk.",
        (_grown, _grown_copy),
    ),
    Misconception(
        "case-ignored",
        "tokens are looked up in lower case",
        "The vocabulary tells 'The' from 'the'. Look tokens up as they are.",
        (
            lambda tokens, vocab, unk: _encode([token.lower() for token in tokens], vocab, unk),
            lambda tokens, vocab, unk: [
                vocab.get(token, vocab.get(token.lower(), vocab[unk])) for token in tokens
            ],
        ),
    ),
    Misconception(
        "place-in-dictionary",
        "the ids are places in the dictionary, not its values",
        "A dictionary may hold its entries in any order. The id of a token is the value under it.",
        (lambda tokens, vocab, unk: _encode(tokens, _ids(vocab), unk),),
    ),
    Misconception(
        "only-once",
        "a token that comes again is left out",
        "A sentence says the same word twice, and so do its ids. Go through the tokens as they "
        "are, without a set.",
        (
            lambda tokens, vocab, unk: _encode(list(dict.fromkeys(tokens)), vocab, unk),
            lambda tokens, vocab, unk: sorted({*_encode(tokens, vocab, unk)}),
        ),
    ),
    Misconception(
        "sorted-ids",
        "the ids are sorted",
        "The order of the ids is the order of the tokens, and with it the sentence.",
        (lambda tokens, vocab, unk: sorted(_encode(tokens, vocab, unk)),),
    ),
    Misconception(
        "ids-as-text",
        "the ids are strings",
        "An id is used as the number of a row. Look for str() or an f-string.",
        (lambda tokens, vocab, unk: [str(each) for each in _encode(tokens, vocab, unk)],),
    ),
    Misconception(
        "tensor-returned",
        "the result is a tensor or an array, not a list",
        "A tensor needs sentences of one length, which comes later. Return a list of integers.",
        (_as_tensor,),
        r"is a(n)? (tensor|ndarray|Tensor)",
    ),
    _with(CHANGES_INPUT, _tokens_replaced, _all_replaced),
)


# --- count_pairs -----------------------------------------------------------------------------

Words = dict[Word, int]


def _pairs(word: Iterable[str]) -> list[Pair]:
    return list(pairwise(word))


def _counted(
    words: Words,
    pairs: Step = _pairs,
    weigh: Step = lambda count: count,
    key: Step = lambda pair: pair,
) -> dict[Any, int]:
    """Count pairs, right unless a step is replaced."""
    counts: dict[Any, int] = {}
    for word, count in words.items():
        for pair in pairs(word):
            counts[key(pair)] = counts.get(key(pair), 0) + weigh(count)
    return counts


def _without_overlap(word: Word) -> list[Pair]:
    """Count "aaa" as one pair of a, like str.count."""
    found: list[Pair] = []
    last: dict[Pair, int] = {}
    for place, pair in enumerate(_pairs(word)):
        if last.get(pair) != place - 1:
            found.append(pair)
            last[pair] = place
    return found


def _across(words: Words) -> dict[Pair, int]:
    counts = Counter(_counted(words))
    for (one, count), (other, _) in zip(list(words.items()), list(words.items())[1:], strict=False):
        counts[one[-1], other[0]] += count
    return dict(counts)


def _across_unweighted(words: Words) -> dict[Pair, int]:
    counts = Counter(_counted(words))
    for one, other in _pairs(words):  # type: ignore[arg-type]
        counts[one[-1], other[0]] += 1
    return dict(counts)


def _in_one_row(words: Words) -> dict[Pair, int]:
    row = [symbol for word, count in words.items() for _ in range(count) for symbol in word]
    return dict(Counter(_pairs(row)))


def _last_word_wins(words: Words) -> dict[Pair, int]:
    return {pair: count for word, count in words.items() for pair in _pairs(word)}


def _single_symbols(words: Words) -> dict[str, int]:
    return _counted(words, pairs=list)


def _ends_meet(word: Word) -> list[Pair]:
    return [(word[place - 1], word[place]) for place in range(len(word))]


def _all_pairs(word: Word) -> list[Pair]:
    return [(one, other) for place, one in enumerate(word) for other in word[place + 1 :]]


COUNT = (
    Misconception(
        "not-weighted",
        "the pairs are not weighted by the word's count",
        "A word that comes 100 times holds each of its pairs 100 times. Add the word's count, "
        "not 1.",
        (partial(_counted, weigh=lambda count: 1),),
    ),
    Misconception(
        "once-a-word",
        "a pair that comes twice in a word is counted once",
        "Each place counts, so the word's count is added at each. Look for a set, or a test "
        "whether the pair is in the word.",
        (
            partial(_counted, pairs=lambda word: set(_pairs(word))),
            partial(_counted, pairs=lambda word: set(_pairs(word)), weigh=lambda count: 1),
        ),
    ),
    Misconception(
        "no-overlaps",
        "of pairs that overlap only one is counted",
        "'aaa' holds the pair (a, a) at two places. Only merging has to choose; counting takes "
        "every place.",
        (partial(_counted, pairs=_without_overlap),),
    ),
    Misconception(
        "across-words",
        "the end of one word and the beginning of the next are counted as a pair",
        "Words are kept apart in a dictionary, and their order means nothing. Pairs stand inside "
        "one word.",
        (_across, _across_unweighted, _in_one_row),
    ),
    Misconception(
        "ends-meet",
        "the last and the first symbol of a word are counted as a pair",
        "word[-1] is the last symbol, so an index that starts at 0 and looks one back goes round "
        "the end.",
        (partial(_counted, pairs=_ends_meet),),
    ),
    Misconception(
        "last-pair-lost",
        "the last pair of each word is not counted",
        "A word of n symbols has n - 1 pairs. Look at the end of the range.",
        (partial(_counted, pairs=lambda word: _pairs(word)[:-1]),),
    ),
    Misconception(
        "first-pair-lost",
        "the first pair of each word is not counted",
        "A word of n symbols has n - 1 pairs, and the first starts at index 0.",
        (partial(_counted, pairs=lambda word: _pairs(word)[1:]),),
    ),
    Misconception(
        "every-other-pair",
        "each word is cut into twos, so that only every other pair is counted",
        "The symbols b and c of 'abcd' are neighbours too. Go on by one symbol, not by two.",
        (partial(_counted, pairs=lambda word: _pairs(word)[::2]),),
    ),
    Misconception(
        "joined-keys",
        "the keys are strings, in which the two symbols of a pair can no longer be told apart",
        "('a', 'bc') and ('ab', 'c') are two pairs with the same text. Take the tuple as the key.",
        (
            partial(_counted, key="".join),
            partial(_counted, key=" ".join),
        ),
    ),
    Misconception(
        "order-ignored",
        "the pairs (a, b) and (b, a) are counted as one",
        "'on' and 'no' are not the same. Leave the two symbols of a pair in their order.",
        (
            partial(_counted, key=lambda pair: tuple(sorted(pair))),
            partial(_counted, key=lambda pair: tuple(sorted(pair, reverse=True))),
        ),
    ),
    Misconception(
        "not-added",
        "only the last word that holds a pair counts",
        "counts[pair] = count forgets what was there before. Add to it.",
        (_last_word_wins,),
    ),
    Misconception(
        "characters",
        "characters are paired, not symbols",
        "After the first merges a symbol may have several characters. Pair the entries of the "
        "tuple, and do not join them before.",
        (partial(_counted, pairs=lambda word: _pairs("".join(word))),),
    ),
    Misconception(
        "single-symbols",
        "single symbols are counted, not pairs",
        "A key is a tuple of two neighbours.",
        (
            _single_symbols,
            partial(_counted, pairs=lambda word: [(each,) for each in word]),
        ),
    ),
    Misconception(
        "not-neighbours",
        "symbols that are not neighbours are counted as pairs, too",
        "Only two symbols that stand side by side can be merged. Look for combinations or a loop "
        "in a loop.",
        (
            partial(_counted, pairs=_all_pairs),
            partial(_counted, pairs=lambda word: [(x, y) for x in word for y in word]),
        ),
    ),
    Misconception(
        "list-returned",
        "the result is a list, not a dictionary",
        "The next step looks counts up by pair. Return the dictionary itself.",
        (
            lambda words: list(_counted(words).items()),
            lambda words: Counter(_counted(words)).most_common(),
        ),
    ),
)


# --- merge_pair ------------------------------------------------------------------------------


def merged(word: Iterable[str], pair: Pair) -> Word:
    """Merge a pair in a word, rightly: from the left, without overlap."""
    found: list[str] = []
    open_ = False  # whether the last symbol in `found` may still be joined
    for symbol in word:
        if open_ and (found[-1], symbol) == tuple(pair):
            found[-1] += symbol
            open_ = False
        else:
            found.append(symbol)
            open_ = True
    return tuple(found)


def _places(word: Word, pair: Pair) -> list[int]:
    return [place for place, found in enumerate(_pairs(word)) if found == tuple(pair)]


def _overlapping(word: Word, pair: Pair) -> Word:
    places = _places(word, pair)
    covered = {place + 1 for place in places} - set(places)
    return tuple(
        "".join(pair) if place in places else symbol
        for place, symbol in enumerate(word)
        if place not in covered
    )


def _second_stays(word: Word, pair: Pair) -> Word:
    places = _places(word, pair)
    return tuple("".join(pair) if place in places else symbol for place, symbol in enumerate(word))


def _once(word: Word, pair: Pair) -> Word:
    places = _places(word, pair)[:1]
    return word if not places else (*word[: places[0]], "".join(pair), *word[places[0] + 2 :])


def _first_place_only(word: Word, pair: Pair) -> Word:
    """Look at the first place of the first symbol only, as word.index does."""
    place = word.index(pair[0]) if pair[0] in word else len(word)
    if word[place + 1 : place + 2] != (pair[1],):
        return word
    return (*word[:place], "".join(pair), *word[place + 2 :])


def _from_right(word: Word, pair: Pair) -> Word:
    found: list[str] = []
    place = len(word) - 1
    while place >= 0:
        if place and (word[place - 1], word[place]) == tuple(pair):
            found.insert(0, "".join(pair))
            place -= 2
        else:
            found.insert(0, word[place])
            place -= 1
    return tuple(found)


def _merged_if(
    fits: Callable[[Pair, Pair], bool],
    text: Step = lambda here, pair: "".join(here),
) -> Step:
    """Return a merge of neighbours that fit the pair; `text` makes the new symbol."""

    def merge(word: Word, pair: Pair) -> tuple[Any, ...]:
        found: list[Any] = []
        place = 0
        while place < len(word):
            here = word[place : place + 2]
            if len(here) == 2 and fits(here, pair):
                found.append(text(here, pair))
                place += 2
            else:
                found.append(word[place])
                place += 1
        return tuple(found)

    return merge


def _equal(here: Pair, pair: Pair) -> bool:
    return here == tuple(pair)


def _either(here: Pair, pair: Pair) -> bool:
    return here in (pair, pair[::-1])


def _joined_by(separator: str) -> Step:
    return _merged_if(_equal, lambda here, pair: separator.join(pair))


_either_order = _merged_if(_either)
_either_order_as_pair = _merged_if(_either, lambda here, pair: "".join(pair))
_same_text = _merged_if(lambda here, pair: "".join(here) == "".join(pair))


def _inside_symbols(word: Word, pair: Pair) -> Word:
    return tuple(" ".join(word).replace(" ".join(pair), "".join(pair)).split(" "))


def _last_symbol_lost(word: Word, pair: Pair) -> Word:
    places = _places(word, pair)
    whole = merged(word, pair)
    return whole if places and places[-1] == len(word) - 2 and len(whole[-1]) > 1 else whole[:-1]


def _beyond_the_end(word: Word, pair: Pair) -> Word:
    found = []
    place = 0
    while place < len(word):
        if word[place] == pair[0] and word[place + 1] == pair[1]:
            found.append(pair[0] + pair[1])
            place += 2
        else:
            found.append(word[place])
            place += 1
    return tuple(found)


def _always_beyond(word: Word, pair: Pair) -> Word:
    """Look beyond the end at every last symbol, not only where it is the pair's first."""
    if _places(word, pair)[-1:] != [len(word) - 2]:
        raise IndexError("tuple index out of range")
    return _beyond_the_end(word, pair)


def _by_twos(word: Word, pair: Pair) -> Word:
    cut = [word[place : place + 2] for place in range(0, len(word), 2)]
    return tuple(
        symbol for two in cut for symbol in (["".join(pair)] if two == tuple(pair) else two)
    )


def _listed(function: Step, make: Step) -> Step:
    return lambda *args, **kwargs: make(function(*args, **kwargs))


OVERLAPPING = Misconception(
    "overlapping",
    "pairs that overlap are both merged, so that a symbol is used twice",
    "'aaa' becomes 'aa' and 'a': once the first two are merged, the second a is gone. After a "
    "merge go on behind both symbols.",
    (),
)
SECOND_STAYS = Misconception(
    "second-symbol-stays",
    "the second symbol of a merged pair stays in the word",
    "It is part of the new symbol now. After a merge go on behind both symbols: by two places, "
    "not by one.",
    (),
)
FIRST_ONLY = Misconception(
    "first-place-only",
    "only the first place is merged",
    "All places at which the pair stands are merged. Look for a return or break inside the loop, "
    "or for index().",
    (),
)
FROM_RIGHT = Misconception(
    "from-the-right",
    "the word is read from its end",
    "Where pairs overlap, the one that starts further left is merged: 'aaa' becomes 'aa', 'a'.",
    (),
)
EITHER_ORDER = Misconception(
    "either-order",
    "the two symbols are merged in the other order, too",
    "The pair (o, n) stands in 'on' and not in 'no'. Look for a set or `in`.",
    (),
)
INSIDE = Misconception(
    "inside-symbols",
    "the pair is found across the borders of longer symbols",
    "In 'l ow e' the text 'w e' stands, but no symbol is w. A search in the joined text does not "
    "know where symbols begin and end; compare whole symbols.",
    (),
)
SAME_TEXT = Misconception(
    "same-text",
    "two symbols are merged because together they spell the same as the pair",
    "('a', 'bc') is not ('ab', 'c'). Compare the symbols one by one, not their joined text.",
    (),
)
LAST_LOST = Misconception(
    "last-symbol-lost",
    "the last symbol of the word is lost",
    "A loop over all pairs ends one symbol early. Look at what becomes of a last symbol that was "
    "not merged.",
    (),
)

MERGE = (
    _with(OVERLAPPING, _overlapping),
    _with(SECOND_STAYS, _second_stays),
    _with(FIRST_ONLY, _once, _first_place_only),
    _with(FROM_RIGHT, _from_right),
    _with(EITHER_ORDER, _either_order, _either_order_as_pair),
    _with(INSIDE, _inside_symbols),
    _with(SAME_TEXT, _same_text),
    _with(LAST_LOST, _last_symbol_lost),
    Misconception(
        "beyond-the-end",
        "the code looks at the symbol after the last one",
        "The last symbol has no neighbour to its right. Look at which index word[i + 1] reaches.",
        (_beyond_the_end, _always_beyond),
        r"^IndexError",
    ),
    Misconception(
        "every-other-pair",
        "only pairs that start at an even place are merged",
        "A pair may start anywhere. Go on by one symbol where nothing was merged, by two where "
        "something was.",
        (_by_twos,),
    ),
    Misconception(
        "pair-kept",
        "the pair itself becomes the symbol, not its text",
        "A symbol is a string: ('a', 'b') becomes 'ab'.",
        (_merged_if(_equal, lambda here, pair: here),),
    ),
    Misconception(
        "with-separator",
        "something stands between the two symbols that were merged",
        "The symbols of a word, put together, always spell the word. Join with nothing between.",
        (_joined_by(" "), _joined_by("_"), _joined_by("##")),
    ),
    Misconception(
        "not-a-tuple",
        "the result is not a tuple",
        "Words are keys of a dictionary in the next tasks, and a list cannot be one. Return a "
        "tuple of strings.",
        (
            _listed(merged, list),
            _listed(merged, "".join),
            _listed(merged, " ".join),
        ),
    ),
    Misconception(
        "nothing-merged",
        "the word comes back as it was",
        "A tuple cannot be changed, and replace() gives a new string. Look at whether what you "
        "made is what you return.",
        (lambda word, pair: word,),
    ),
)


# --- train_bpe -------------------------------------------------------------------------------


def _greatest(counts: dict[Pair, int]) -> Pair:
    return max(counts, key=lambda pair: (counts[pair], pair))


def _best_by(tie: Step) -> Step:
    """Return a choice of the most frequent pair that breaks ties in another way."""
    return lambda counts: max(counts, key=lambda pair: (counts[pair], tie(pair)))


def _learned(
    word_counts: dict[str, int],
    num_merges: int,
    *,
    start: Step = tuple,
    count: Step = _counted,
    choose: Step = _greatest,
    merge: Step = merged,
    enough: Callable[[int], bool] = lambda count: True,
) -> list[Any]:
    """Learn merges, right unless a step is replaced.

    Args:
        word_counts: words with their counts.
        num_merges: how many.
        start: makes the first symbols of a word.
        count: counts the pairs.
        choose: takes a pair from the counts.
        merge: merges it in a word.
        enough: tells from the count of the best pair whether to go on.

    Returns:
        the merges.
    """
    words = {start(word): number for word, number in word_counts.items()}
    merges: list[Any] = []
    for _ in range(num_merges):
        counts = count(words)
        if not counts or not enough(max(counts.values())):
            break
        merges.append(choose(counts))
        words = {merge(word, merges[-1]): number for word, number in words.items()}
    return merges


def _ranked_once(word_counts: dict[str, int], num_merges: int, key: Step) -> list[Pair]:
    counts = _counted({tuple(word): number for word, number in word_counts.items()})
    return sorted(counts, key=lambda pair: key(pair, counts[pair]), reverse=True)[:num_merges]


def _never_stops(word_counts: dict[str, int], num_merges: int) -> list[Pair]:
    merges = _learned(word_counts, num_merges)
    if len(merges) < num_merges:
        raise ValueError("max() arg is an empty sequence")
    return merges


def _padded(word_counts: dict[str, int], num_merges: int) -> list[Pair]:
    """Go on with the last pair where none is left."""
    merges = _learned(word_counts, num_merges)
    return merges + merges[-1:] * (num_merges - len(merges))


def _counts_used_up(word_counts: dict[str, int], num_merges: int) -> list[Pair]:
    merges = _learned(word_counts, num_merges)
    word_counts.clear()
    return merges


def _counts_changed(word_counts: dict[str, int], num_merges: int) -> list[Pair]:
    merges = _learned(word_counts, num_merges)
    for word in list(word_counts):
        spelled: Word = tuple(word)
        for pair in merges:
            spelled = merged(spelled, pair)
        word_counts[" ".join(spelled)] = word_counts.pop(word)
    return merges


END_OF_WORD = Misconception(
    "end-of-word",
    "a mark for the end of the word takes part",
    "The paper adds one, and many programs do; this task does not. A word starts as its "
    "characters and nothing else.",
    (),
)

TRAIN = (
    Misconception(
        "not-weighted",
        "the pairs are not weighted by the words' counts",
        "A word that comes 100 times holds each of its pairs 100 times. Look at where the counts "
        "of the words come in.",
        (partial(_learned, count=partial(_counted, weigh=lambda count: 1)),),
    ),
    Misconception(
        "ties-as-they-came",
        "between equally frequent pairs the one that was seen first wins",
        "max(counts, key=counts.get) leaves ties to the order of the dictionary. Compare the count "
        "and then the pair; the greatest pair wins.",
        (
            partial(_learned, choose=lambda counts: max(counts, key=counts.get)),
            partial(
                _learned,
                choose=lambda counts: max(reversed(counts), key=counts.get),
            ),
        ),
    ),
    Misconception(
        "ties-smallest",
        "between equally frequent pairs the smallest wins",
        "The contract wants the lexicographically greatest pair. Look at the sign in the sort key, "
        "or at min and max.",
        (
            partial(
                _learned,
                choose=lambda counts: min(counts, key=lambda pair: (-counts[pair], pair)),
            ),
        ),
    ),
    Misconception(
        "ties-by-the-joined-text",
        "between equally frequent pairs the joined texts or their lengths are compared",
        "The pairs themselves are compared, symbol by symbol: ('ab', 'a') is greater than "
        "('a', 'c'), though 'aba' is smaller than 'ac'.",
        (
            partial(_learned, choose=_best_by("".join)),
            partial(_learned, choose=_best_by(lambda pair: (len("".join(pair)), pair))),
            partial(_learned, choose=_best_by(lambda pair: (-len("".join(pair)), pair))),
        ),
    ),
    _with(FIRST_ROUND, lambda word_counts, num_merges: _learned(word_counts, min(1, num_merges))),
    Misconception(
        "words-not-merged",
        "the words stay as they were, so the same pair wins each time",
        "After each merge the pairs are counted in the merged words. Look at whether the merged "
        "words take the place of the old ones.",
        (partial(_learned, merge=lambda word, pair: word),),
    ),
    Misconception(
        "counted-once",
        "the pairs are counted once, at the beginning",
        "A merge makes new pairs and takes others away. Count again after each merge.",
        (
            partial(_ranked_once, key=lambda pair, count: (count, pair)),
            partial(_ranked_once, key=lambda pair, count: count),
        ),
    ),
    Misconception(
        "rarest-pair",
        "the rarest pair is merged, not the most frequent one",
        "Merging should make the text as short as it can. Look at min and max, or at the sign.",
        (
            partial(
                _learned,
                choose=lambda counts: min(counts, key=lambda pair: (counts[pair], pair)),
            ),
            partial(_learned, choose=lambda counts: min(counts, key=counts.get)),
            partial(
                _learned,
                choose=lambda counts: max(counts, key=lambda pair: (-counts[pair], pair)),
            ),
        ),
    ),
    Misconception(
        "greatest-pair-only",
        "the greatest pair is merged, however rare it is",
        "max(counts) compares the pairs only. Compare their counts first.",
        (partial(_learned, choose=max),),
    ),
    _with(
        END_OF_WORD,
        partial(_learned, start=lambda word: (*word, "</w>")),
        partial(_learned, start=lambda word: (*word[:-1], f"{word[-1]}</w>")),
        partial(_learned, start=lambda word: (*word, "_")),
    ),
    Misconception(
        "stops-at-one",
        "the training stops at pairs that come only once",
        "This task stops early only when no pair is left, and a pair that comes once is one.",
        (partial(_learned, enough=lambda count: count > 1),),
    ),
    Misconception(
        "one-too-few",
        "the number of merges is not num_merges",
        "Count the merges by hand for num_merges=1. Look at the range of the loop and at its end.",
        (
            lambda word_counts, num_merges: _learned(word_counts, max(0, num_merges - 1)),
            lambda word_counts, num_merges: _learned(word_counts, num_merges + 1),
        ),
    ),
    Misconception(
        "no-pair-left",
        "the code fails when no pair is left",
        "Small texts run out of pairs before num_merges. Stop then, and return what there is.",
        (_never_stops,),
        r"empty (sequence|iterable)|IndexError|NoneType|argument is empty",
    ),
    Misconception(
        "repeats-the-last",
        "when no pair is left, the last merge is repeated",
        "The list of merges is then shorter than num_merges. Look at what the loop does when the "
        "counts are empty.",
        (_padded,),
    ),
    Misconception(
        "once-a-word",
        "a pair that comes twice in a word is counted once",
        "Each place counts. Look for a set of pairs, or a test whether the pair is in the word.",
        (partial(_learned, count=partial(_counted, pairs=lambda word: set(_pairs(word)))),),
    ),
    Misconception(
        "no-overlaps",
        "of pairs that overlap only one is counted",
        "'aaa' holds the pair (a, a) at two places. Only merging has to choose; counting takes "
        "every place.",
        (partial(_learned, count=partial(_counted, pairs=_without_overlap)),),
    ),
    Misconception(
        "across-words",
        "the end of one word and the beginning of the next are counted as a pair",
        "Pairs stand inside one word. Keep the words apart.",
        (
            partial(_learned, count=_across),
            partial(_learned, count=_in_one_row),
        ),
    ),
    _with(OVERLAPPING, partial(_learned, merge=_overlapping)),
    _with(SECOND_STAYS, partial(_learned, merge=_second_stays)),
    _with(FIRST_ONLY, partial(_learned, merge=_once)),
    _with(INSIDE, partial(_learned, merge=_inside_symbols)),
    Misconception(
        "symbols-returned",
        "the result holds the new symbols, not the pairs that were merged",
        "'abc' could come from ('a', 'bc') or from ('ab', 'c'). To apply a merge one has to know "
        "which; return the pairs.",
        (
            _listed(_learned, lambda merges: ["".join(pair) for pair in merges]),
            _listed(_learned, lambda merges: [" ".join(pair) for pair in merges]),
        ),
    ),
    Misconception(
        "pairs-not-tuples",
        "the pairs are lists, not tuples",
        "A pair is looked up in dictionaries, and a list cannot be a key. Make each pair a tuple.",
        (_listed(_learned, lambda merges: [list(pair) for pair in merges]),),
    ),
    Misconception(
        "dictionary-returned",
        "the result is a dictionary, not a list",
        "The order of the merges is what was learned. Return the pairs in a list, first merge "
        "first.",
        (
            _listed(_learned, lambda merges: {pair: rank for rank, pair in enumerate(merges)}),
            _listed(_learned, lambda merges: {pair: "".join(pair) for pair in merges}),
        ),
    ),
    _with(CHANGES_INPUT, _counts_changed, _counts_used_up),
)


# --- bpe_encode ------------------------------------------------------------------------------

Merges = list[Pair]


def _applied(
    word: str,
    merges: Merges,
    *,
    start: Step = tuple,
    order: Step = list,
    merge: Step = merged,
) -> list[str]:
    """Apply merges one after the other, right unless a step is replaced."""
    symbols: Word = start(word)
    for pair in order(merges):
        symbols = merge(symbols, pair)
    return list(symbols)


def _by_place(word: str, merges: Merges) -> list[str]:
    """Merge the leftmost pair that has been learned, whatever its rank."""
    symbols = list(word)
    while found := [place for place, pair in enumerate(_pairs(symbols)) if pair in merges]:
        symbols[found[0] : found[0] + 2] = ["".join(symbols[found[0] : found[0] + 2])]
    return symbols


def _one_sweep(word: str, merges: Merges) -> list[str]:
    """Go through the word once, and join each symbol to what stands before it where that fits."""
    symbols: list[str] = []
    for character in word:
        if symbols and (symbols[-1], character) in merges:
            symbols[-1] += character
        else:
            symbols.append(character)
    return symbols


def _longest_first(word: str, merges: Merges) -> list[str]:
    known = {"".join(pair) for pair in merges}
    symbols = []
    while word:
        size = next((n for n in range(len(word), 1, -1) if word[:n] in known), 1)
        symbols.append(word[:size])
        word = word[size:]
    return symbols


def _longest_last(word: str, merges: Merges) -> list[str]:
    """Take the longest known piece from the end."""
    known = {"".join(pair) for pair in merges}
    symbols: list[str] = []
    while word:
        size = next((n for n in range(len(word), 1, -1) if word[-n:] in known), 1)
        symbols.insert(0, word[-size:])
        word = word[:-size]
    return symbols


def _highest_rank(word: str, merges: Merges) -> list[str]:
    """As the task asks, but the merge that was learned last goes first."""
    symbols: Word = tuple(word)
    while found := [pair for pair in reversed(merges) if pair in _pairs(symbols)]:
        symbols = merged(symbols, found[0])
    return list(symbols)


def _stops_at_a_miss(word: str, merges: Merges) -> list[str]:
    symbols: Word = tuple(word)
    for pair in merges:
        if pair not in _pairs(symbols):
            break
        symbols = merged(symbols, pair)
    return list(symbols)


def _one_merge(word: str, merges: Merges) -> list[str]:
    symbols: Word = tuple(word)
    for pair in merges:
        if pair in _pairs(symbols):
            return list(merged(symbols, pair))
    return list(symbols)


def _characters_known(merges: Merges) -> set[str]:
    return {character for pair in merges for symbol in pair for character in symbol}


def _unknown(instead: Step) -> Step:
    """Return an encoder that puts `instead(character)`, a list, for what no merge holds."""

    def encode(word: str, merges: Merges) -> list[str]:
        known = _characters_known(merges)
        return [
            found
            for symbol in _applied(word, merges)
            for found in ([symbol] if symbol in known or len(symbol) > 1 else instead(symbol))
        ]

    return encode


def _unknown_taken_out(word: str, merges: Merges) -> list[str]:
    """Take unknown characters out first, so that others become neighbours."""
    return _applied("".join(each for each in word if each in _characters_known(merges)), merges)


def _unknown_raises(word: str, merges: Merges) -> list[str]:
    for character in word:
        if character not in _characters_known(merges):
            raise KeyError(character)
    return _applied(word, merges)


def _as_ranks(word: str, merges: Merges) -> list[Any]:
    tokens = sorted(_characters_known(merges)) + ["".join(pair) for pair in merges]
    ids = _ids(tokens)
    return [ids.get(symbol, len(ids)) for symbol in _applied(word, merges)]


def _merges_used_up(word: str, merges: Merges) -> list[str]:
    symbols = _applied(word, merges)
    merges.clear()
    return symbols


BPE_ENCODE = (
    Misconception(
        "by-place",
        "the first pair from the left that is in merges is merged, whatever its rank",
        "Training merged the pair with the lowest rank everywhere before the next one. Look for "
        "the lowest rank in the whole word before you merge.",
        (_by_place, _one_sweep),
    ),
    Misconception(
        "longest-piece",
        "the word is cut into the longest pieces that are known",
        "That is how WordPiece works. Byte-pair encoding starts from characters and applies the "
        "merges by rank, which need not give the longest pieces.",
        (_longest_first, _longest_last),
    ),
    Misconception(
        "last-learned-first",
        "the merges that were learned last are applied first",
        "They need the symbols that earlier merges make. Start with the first of the list.",
        (partial(_applied, order=lambda merges: merges[::-1]), _highest_rank),
    ),
    Misconception(
        "merges-sorted",
        "the merges are applied in another order than that of the list",
        "The place in the list is the rank. Do not sort the merges or take them through a set.",
        (
            partial(_applied, order=sorted),
            partial(
                _applied,
                order=lambda merges: sorted(merges, key=lambda pair: -len("".join(pair))),
            ),
        ),
    ),
    Misconception(
        "stops-at-a-miss",
        "the first merge that does not fit ends it all",
        "Most merges do not stand in a given word. Go on to the next one; look for break.",
        (_stops_at_a_miss,),
    ),
    Misconception(
        "one-merge",
        "only one merge is applied",
        "After a merge look again: the new symbol may be part of the next merge. Look for return "
        "or break inside the loop.",
        (_one_merge,),
    ),
    _with(FIRST_ONLY, partial(_applied, merge=_once)),
    _with(OVERLAPPING, partial(_applied, merge=_overlapping)),
    _with(SECOND_STAYS, partial(_applied, merge=_second_stays)),
    _with(FROM_RIGHT, partial(_applied, merge=_from_right)),
    _with(INSIDE, partial(_applied, merge=_inside_symbols)),
    _with(LAST_LOST, lambda word, merges: _applied(word, merges)[:-1]),
    Misconception(
        "unknown-left-out",
        "characters that the merges do not know are left out",
        "The pieces, put together, spell the word. What no merge holds comes back as it is.",
        (_unknown(lambda symbol: []), _unknown_taken_out),
    ),
    Misconception(
        "unknown-replaced",
        "characters that the merges do not know are replaced",
        "What no merge holds comes back as it is; to put an unknown token is the business of the "
        "vocabulary.",
        (_unknown(lambda symbol: ["<unk>"]), _unknown(lambda symbol: ["[UNK]"])),
    ),
    Misconception(
        "unknown-raises",
        "characters that the merges do not know raise an error",
        "A word may hold anything. Ask whether a pair has a rank before you look the rank up.",
        (_unknown_raises,),
        r"^(KeyError|ValueError)",
    ),
    _with(
        END_OF_WORD,
        lambda word, merges: [*_applied(word, merges), "</w>"],
        lambda word, merges: [*_applied(word, merges)[:-1], _applied(word, merges)[-1] + "</w>"],
    ),
    Misconception(
        "with-marks",
        "the pieces carry marks that the word does not have",
        "'##' and '@@' belong to other tokenizers. The pieces, put together, spell the word.",
        (
            lambda word, merges: [
                each if not number else f"##{each}"
                for number, each in enumerate(_applied(word, merges))
            ],
            lambda word, merges: [
                *(f"{each}@@" for each in _applied(word, merges)[:-1]),
                *_applied(word, merges)[-1:],
            ],
        ),
    ),
    Misconception(
        "characters",
        "no merge is applied: the pieces are single characters",
        "A tuple or string cannot be changed, so a merge gives a new one. Look at whether you keep "
        "it, and at whether pairs are compared with pairs.",
        (lambda word, merges: list(word),),
    ),
    Misconception(
        "ids-returned",
        "the result holds numbers, not strings",
        "To turn pieces into ids is the next step, and the vocabulary's. Return the strings.",
        (_as_ranks,),
    ),
    _with(
        AS_TEXT,
        lambda word, merges: " ".join(_applied(word, merges)),
        lambda word, merges: "".join(_applied(word, merges)),
    ),
    _with(CHANGES_INPUT, _merges_used_up),
)


# --- find the bug: merging in words written with spaces ---------------------------------------


def _in_each(merge: Step) -> Step:
    """Return a merge of the words of a dictionary; `merge` takes a text with spaces."""

    def merge_words(words: dict[str, int], pair: Pair) -> dict[str, int]:
        return {merge(word, pair): count for word, count in words.items()}

    return merge_words


def _in_symbols(merge: Step) -> Step:
    """Return the same for a merge that takes a tuple."""
    return _in_each(lambda word, pair: " ".join(merge(tuple(word.split(" ")), pair)))


_merge_words = _in_symbols(merged)


def _in_pattern(before: str, after: str, quote: Callable[[str], str] = re.escape) -> Step:
    """Return a merge by a regular expression."""

    def merge(word: str, pair: Pair) -> str:
        pattern = before + quote(" ".join(pair)) + after
        return re.sub(pattern, lambda _: "".join(pair), word)

    return _in_each(merge)


def _spaces_used_up(word: str, pair: Pair) -> str:
    return f" {word} ".replace(f" {' '.join(pair)} ", f" {''.join(pair)} ").strip()


def _only_words_with(words: dict[str, int], pair: Pair) -> dict[str, int]:
    right = _merge_words(words, pair)
    return {
        new: count for (old, count), new in zip(words.items(), right, strict=True) if new != old
    }


def _words_without(words: dict[str, int], pair: Pair) -> dict[str, int]:
    """Merge in place, and forget to take away the old entry."""
    return {**words, **_merge_words(words, pair)}


def _in_place(words: dict[str, int], pair: Pair) -> dict[str, int]:
    for word in list(words):
        (new,) = _merge_words({word: 0}, pair)
        words[new] = words.pop(word)
    return words


LEFT_EDGE, RIGHT_EDGE = r"(?<!\S)", r"(?!\S)"

BUG = (
    _with(INSIDE, _in_each(lambda word, pair: word.replace(" ".join(pair), "".join(pair)))),
    Misconception(
        "right-border-only",
        "the first symbol of the pair is found at the end of a longer one",
        "The right border is watched now, the left one is not: in 'low e' the text 'w e' stands, "
        "but no symbol is w.",
        (
            _in_pattern("", RIGHT_EDGE),
            _in_each(
                lambda word, pair: f"{word} ".replace(f"{' '.join(pair)} ", f"{''.join(pair)} ")[
                    :-1
                ]
            ),
        ),
    ),
    Misconception(
        "left-border-only",
        "the second symbol of the pair is found at the beginning of a longer one",
        "The left border is watched now, the right one is not: in 'w er' the text 'w e' stands, "
        "but no symbol is e.",
        (
            _in_pattern(LEFT_EDGE, ""),
            _in_each(
                lambda word, pair: f" {word}".replace(f" {' '.join(pair)}", f" {''.join(pair)}")[1:]
            ),
        ),
    ),
    Misconception(
        "word-boundary",
        "\\b is no border between symbols",
        "It stands between a letter and what is no letter. Symbols such as '.' and '-' have none "
        "around them, and symbols with one inside have too many.",
        (_in_pattern(r"\b", r"\b"),),
    ),
    Misconception(
        "not-escaped",
        "a symbol such as '.' or '+' is read as part of the regular expression",
        "In a pattern '.' stands for any character. Look for re.escape.",
        (
            _in_pattern(LEFT_EDGE, RIGHT_EDGE, str),
            _in_pattern(r"\b", r"\b", str),
            _in_pattern("", "", str),
        ),
        r"^(re\.)?(error|PatternError): ",
    ),
    Misconception(
        "spaces-used-up",
        "of two pairs side by side only the first is merged",
        "A search for ' a b ' uses up the space that the next pair needs as its border. Look ahead "
        "without using up, or compare symbol by symbol.",
        (_in_each(_spaces_used_up),),
    ),
    Misconception(
        "ends-forgotten",
        "at the beginning and at the end of a word nothing is merged",
        "There is no space before the first symbol, and none behind the last one.",
        (_in_each(lambda word, pair: word.replace(f" {' '.join(pair)} ", f" {''.join(pair)} ")),),
    ),
    _with(
        FIRST_ONLY,
        _in_symbols(_once),
        _in_each(lambda word, pair: word.replace(" ".join(pair), "".join(pair), 1)),
    ),
    _with(OVERLAPPING, _in_symbols(_overlapping)),
    _with(SECOND_STAYS, _in_symbols(_second_stays)),
    _with(FROM_RIGHT, _in_symbols(_from_right)),
    _with(EITHER_ORDER, _in_symbols(_either_order)),
    _with(SAME_TEXT, _in_symbols(_same_text)),
    _with(LAST_LOST, _in_symbols(_last_symbol_lost)),
    Misconception(
        "other-words-lost",
        "words that do not hold the pair are lost",
        "They stay in the dictionary as they are: the next pair may stand in them.",
        (_only_words_with,),
    ),
    Misconception(
        "old-words-stay",
        "the old form of a merged word stays beside the new one",
        "Each word is in the dictionary once. Start from an empty dictionary, or take the old key "
        "away.",
        (_words_without,),
    ),
    Misconception(
        "counts-lost",
        "the counts are not those of the words",
        "A merge changes how a word is written and not how often it comes.",
        (lambda words, pair: dict.fromkeys(_merge_words(words, pair), 1),),
    ),
    Misconception(
        "spaces-lost",
        "the symbols of a word are no longer apart",
        "The spaces between symbols stay, but for those inside the merged pair.",
        (_in_each(lambda word, pair: "".join(word.split(" "))),),
    ),
    Misconception(
        "keys-not-text",
        "the keys are tuples of symbols, not strings",
        "The form of the dictionary stays as it was: a string, with one space between symbols.",
        (
            lambda words, pair: {
                merged(word.split(" "), pair): count for word, count in words.items()
            },
        ),
    ),
    _with(CHANGES_INPUT, _in_place),
)
