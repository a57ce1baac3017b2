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


def tokens_hold_the_text(case: Case, values: Mapping[str, Any]) -> str | None:
    """Say so if a token is empty or white space, or characters were lost or changed."""
    for place, token in enumerate(values["tokens"]):
        if not token.strip():
            what = "white space" if token else "an empty string"
            return f"`tokens[{place}]` is {what}, which is no token. Received {values['tokens']!r}"
    wanted = "".join(case.arguments["text"].split())
    spelled = "".join(values["tokens"])
    if spelled != wanted:
        return (
            f"the tokens, put together, spell {spelled!r}; the text without its white space is "
            f"{wanted!r}"
        )
    return None


def ids_count_from_zero(case: Case, values: Mapping[str, Any]) -> str | None:
    """Say so if the ids are not 0, 1, 2 and so on, each once."""
    ids = sorted(values["vocab"].values())
    if ids != list(range(len(ids))):
        return f"{len(ids)} tokens should have the ids 0 to {len(ids) - 1}, each once, not {ids}"
    return None


def spell_the_word(name: str) -> Property:
    """Return a property of a result of this name: its symbols, put together, are the word."""

    def symbols_spell_the_word(case: Case, values: Mapping[str, Any]) -> str | None:
        spelled, word = "".join(values[name]), "".join(case.arguments["word"])
        if spelled != word:
            return (
                f"the {name}, put together, spell {spelled!r}; the word is {word!r}. "
                f"Received {values[name]!r}"
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
            return f"`merges[{place}]` is {pair!r}, but after {place} merges no pair is left"
        best = max(counts, key=lambda each: (counts[each], each))
        if pair != best:
            said = (
                "equally often, and is greater"
                if counts.get(pair) == counts[best]
                else (f"{counts[best]} times, yours {counts.get(pair, 0)} times")
            )
            return f"`merges[{place}]` should be {best!r}, received {pair!r}: it comes {said}"
        words = {merge_pair(word, pair): count for word, count in words.items()}
    return None


def the_piece_is_a_leak(case: Case, values: Mapping[str, Any]) -> str | None:
    """Say so if what was found is no piece of the text, comes back, or has a shorter leak in it."""
    piece, text = values["piece"], case.arguments["text"]
    if piece not in text:
        return f"{piece!r} is no piece of the text {text!r}"
    if piece and goes_through(case, piece) == piece:
        return f"{piece!r} comes back as it was, so it is no leak"
    ends = combinations(range(len(piece) + 1), 2)
    for start, end in sorted(ends, key=lambda pair: pair[1] - pair[0]):
        part = piece[start:end]
        if part != piece and goes_through(case, part) != part:
            return f"{piece!r} is not the shortest: {part!r} in it comes back as something else"
    return None


def needs_two_and_has_more(case: Case, values: Mapping[str, Any]) -> str | None:
    """Say so if a word is not two known pieces, is cut into two, or is not the first such word."""
    merges, word = case.arguments["merges"], values["word"]
    if not word:
        return None
    joined = ["".join(pair) for pair in merges]
    known = {*joined, *"".join(joined)}
    if not any(word[:end] in known and word[end:] in known for end in range(1, len(word))):
        return f"{word!r} is not two known pieces, one after the other"
    pieces = bpe_encode(word, merges)
    if len(pieces) < 3:
        return f"`bpe_encode` cuts {word!r} into {', '.join(pieces)}, which is not too many"
    first = longer_than_needed(merges)
    if (len(first), first) < (len(word), word):
        why = "is shorter" if len(first) < len(word) else "is as short and comes before it"
        return f"{word!r} is such a word, but {first!r}, which is one too, {why}"
    return None
