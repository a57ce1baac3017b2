"""Properties of right results in "tokenizers": each says in words what is wrong with a result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import combinations, pairwise
from typing import Any

from transformer_checks.assignments.tokenizers.answers import (
    bpe_encode,
    longer_than_needed,
    merge_pair,
)
from transformer_checks.assignments.tokenizers.cases import goes_through
from transformer_checks.task import Case, Property
from transformer_checks.translation import say


def tokens_hold_the_text(case: Case, values: Mapping[str, Any]) -> str | None:
    """Say so if a token is empty or white space, or characters were lost or changed."""
    for place, token in enumerate(values["tokens"]):
        if token and not token.strip():
            return say(
                "`tokens[{place}]` is white space, which is no token. Received {mine}",
                place=place,
                mine=repr(values["tokens"]),
            )
        if not token:
            return say(
                "`tokens[{place}]` is an empty string, which is no token. Received {mine}",
                place=place,
                mine=repr(values["tokens"]),
            )
    wanted = "".join(case.arguments["text"].split())
    spelled = "".join(values["tokens"])
    if spelled != wanted:
        return say(
            "the tokens, put together, spell {spelled}; the text without its white space is "
            "{wanted}",
            spelled=repr(spelled),
            wanted=repr(wanted),
        )
    return None


def ids_count_from_zero(case: Case, values: Mapping[str, Any]) -> str | None:
    """Say so if the ids are not 0, 1, 2 and so on, each once."""
    ids = sorted(values["vocab"].values())
    if ids != list(range(len(ids))):
        return say(
            "{count} tokens should have the ids 0 to {last}, each once, not {ids}",
            count=len(ids),
            last=len(ids) - 1,
            ids=ids,
        )
    return None


def spell_the_word(name: str) -> Property:
    """Return a property of a result of this name: its symbols, put together, are the word."""

    def symbols_spell_the_word(case: Case, values: Mapping[str, Any]) -> str | None:
        spelled, word = "".join(values[name]), "".join(case.arguments["word"])
        if spelled != word:
            return say(
                "the {name}, put together, spell {spelled}; the word is {word}. Received {mine}",
                name=name,
                spelled=repr(spelled),
                word=repr(word),
                mine=repr(values[name]),
            )
        return None

    return symbols_spell_the_word


def each_merge_is_the_most_frequent(case: Case, values: Mapping[str, Any]) -> str | None:
    """Say what the counts are at the first merge that is not the right one."""
    words = {tuple(word): count for word, count in case.arguments["word_counts"].items()}
    for place, pair in enumerate(values["merges"][: case.arguments["num_merges"]]):
        counts: Counter[tuple[str, str]] = Counter()
        for word, count in words.items():
            for each in pairwise(word):
                counts[each] += count
        if not counts:
            return say(
                "`merges[{place}]` is {mine}, but after {place} merges no pair is left",
                place=place,
                mine=repr(pair),
            )
        best = max(counts, key=lambda each: (counts[each], each))
        if pair != best and counts.get(pair) == counts[best]:
            return say(
                "`merges[{place}]` should be {best}, received {mine}: it comes equally often, and "
                "is greater",
                place=place,
                best=repr(best),
                mine=repr(pair),
            )
        if pair != best:
            return say(
                "`merges[{place}]` should be {best}, received {mine}: it comes {often} times, "
                "yours {count} times",
                place=place,
                best=repr(best),
                mine=repr(pair),
                often=counts[best],
                count=counts.get(pair, 0),
            )
        words = {merge_pair(word, pair): count for word, count in words.items()}
    return None


def the_piece_is_a_leak(case: Case, values: Mapping[str, Any]) -> str | None:
    """Say so if what was found is no piece of the text, comes back, or has a shorter leak in it."""
    piece, text = values["piece"], case.arguments["text"]
    if piece not in text:
        return say("{piece} is no piece of the text {text}", piece=repr(piece), text=repr(text))
    if piece and goes_through(case, piece) == piece:
        return say("{piece} comes back as it was, so it is no leak", piece=repr(piece))
    ends = combinations(range(len(piece) + 1), 2)
    for start, end in sorted(ends, key=lambda pair: pair[1] - pair[0]):
        part = piece[start:end]
        if part != piece and goes_through(case, part) != part:
            return say(
                "{piece} is not the shortest: {part} in it comes back as something else",
                piece=repr(piece),
                part=repr(part),
            )
    return None


def needs_two_and_has_more(case: Case, values: Mapping[str, Any]) -> str | None:
    """Say so if a word is not two known pieces, is cut into two, or is not the first such word."""
    merges, word = case.arguments["merges"], values["word"]
    if not word:
        return None
    joined = ["".join(pair) for pair in merges]
    known = {*joined, *"".join(joined)}
    if not any(word[:end] in known and word[end:] in known for end in range(1, len(word))):
        return say("{word} is not two known pieces, one after the other", word=repr(word))
    pieces = bpe_encode(word, merges)
    if len(pieces) < 3:
        return say(
            "`bpe_encode` cuts {word} into {pieces}, which is not too many",
            word=repr(word),
            pieces=", ".join(pieces),
        )
    first = longer_than_needed(merges)
    if len(first) < len(word):
        return say(
            "{word} is such a word, but {first}, which is one too, is shorter",
            word=repr(word),
            first=repr(first),
        )
    if len(first) == len(word) and first < word:
        return say(
            "{word} is such a word, but {first}, which is one too, is as short and comes before it",
            word=repr(word),
            first=repr(first),
        )
    return None
