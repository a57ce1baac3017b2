"""Relations between a wrong list, tuple, dictionary or text and the right one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any

from transformer_checks.judging.facts import Relation, Term
from transformer_checks.judging.relations.evidence import Pair, in_common, where

# Longer ones are left alone.
MOST_ENTRIES = 2_000
PLACES = ("first", "second", "third", "fourth")

Both = tuple[list[Any], list[Any]]


def _lists(pair: Pair) -> Both | None:
    """Return both as lists; a text counts as the list of its characters."""
    mine, right = pair.received, pair.expected
    if type(mine) is not type(right) or type(right) not in (list, tuple, str):
        return None
    return None if max(len(mine), len(right)) > MOST_ENTRIES else (list(mine), list(right))


def _filled_lists(pair: Pair) -> Both | None:
    both = _lists(pair)
    return both if both is not None and all(both) else None


def _as_long_lists(pair: Pair) -> Both | None:
    both = _filled_lists(pair)
    return both if both is not None and len(both[0]) == len(both[1]) else None


def _counted(entries: list[Any]) -> Counter[str]:
    return Counter(map(repr, entries))


def inputs(pair: Pair) -> Iterator[Relation]:
    """Nothing at all, or an argument itself."""
    if type(pair.received) in (list, tuple, str, dict) and not pair.received:
        yield pair.relation("empty")
        return
    for name, value in pair.case.arguments.items():
        plain = type(value) in (list, tuple, str, dict) and type(value) is type(pair.received)
        if plain and value == pair.received:
            yield pair.relation("input", argument=name)


@where(_filled_lists)
def ends(pair: Pair, both: Both) -> Iterator[Relation]:
    """Entries missing or too many at the start or the end, and all others right."""
    mine, right = both
    if mine[:-1] == right:
        yield pair.relation("one-too-many.end")
    if mine[1:] == right:
        yield pair.relation("one-too-many.start")
    if mine == right[:-1]:
        yield pair.relation("one-missing.last")
    if mine == right[1:]:
        yield pair.relation("one-missing.first")
    if len(mine) < len(right) and mine == right[: len(mine)]:
        yield pair.relation("stops-early")
    if len(mine) > len(right) and mine[: len(right)] == right:
        yield pair.relation("goes-on")


@where(_filled_lists)
def order(pair: Pair, both: Both) -> Iterator[Relation]:
    """The right entries, in another order."""
    mine, right = both
    if len(right) > 1 and mine == right[::-1]:
        yield pair.relation("reversed.list")
    if _counted(mine) != _counted(right):
        return
    if len({type(each) for each in right}) == 1 and not isinstance(right[0], dict):
        for falling, key in ((False, "sorted.list"), (True, "sorted.list-falling")):
            if mine == sorted(right, reverse=falling):
                yield pair.relation(key)
    yield pair.relation("order.list")


@where(_filled_lists)
def repeated(pair: Pair, both: Both) -> Iterator[Relation]:
    """Entries that come more or less often than they should."""
    mine, right = both
    runs = [[each for each, _ in groupby(entries)] for entries in both]
    if len(mine) > len(right) and runs[0] == runs[1]:
        yield pair.relation("repeated")
    once = list({repr(each): each for each in right}.values())
    if mine == once and len(mine) < len(right):
        yield pair.relation("once-each")
    if _counted(mine) == _counted(once):
        yield pair.relation("once-each.set")


@where(_filled_lists)
def subsequence(pair: Pair, both: Both) -> Iterator[Relation]:
    """Entries that are missing, or too many, at any place, with none wrong."""
    mine, right = both
    few = Term("one-entry" if abs(len(mine) - len(right)) == 1 else "entries")
    if len(mine) < len(right) and _within(mine, right):
        yield pair.relation("missing", few=few)
    if len(mine) > len(right) and _within(right, mine):
        yield pair.relation("too-many", few=few)


def _within(short: list[Any], long: list[Any]) -> bool:
    rest = iter(long)
    return all(any(each == other for other in rest) for each in short)


@where(_as_long_lists)
def entries(pair: Pair, both: Both) -> Iterator[Relation]:
    """Each entry changed in the same way."""
    whole = list(zip(*both, strict=True))
    if all(type(one) is type(other) is int for one, other in whole):
        yield from _offset(pair, "entry", whole)
    if all(type(one) is type(other) is tuple and one == other[::-1] for one, other in whole):
        yield pair.relation("entries-reversed")


def _offset(pair: Pair, what: str, whole: list[tuple[int, int]]) -> Iterator[Relation]:
    differences = {one - other for one, other in whole}
    if len(differences) == 1 and len(whole) > 1:
        off = differences.pop()
        way = Term("large" if off > 0 else "small")
        yield pair.relation(f"offset.{what}", by=abs(off), way=way)


@where(_as_long_lists)
def places(pair: Pair, both: Both) -> Iterator[Relation]:
    """Only the first or the last entry is wrong, or right."""
    whole = list(zip(*both, strict=True))
    wrong = [place for place, (one, other) in enumerate(whole) if one != other]
    if type(pair.received) is str or len(whole) < 3:
        return
    if wrong == [0]:
        yield pair.relation("only-first.entry")
    if wrong == [len(whole) - 1]:
        yield pair.relation("only-last.entry")
    if wrong == list(range(1, len(whole))):
        yield pair.relation("all-but-first.entry")


@where(_as_long_lists)
def parts(pair: Pair, both: Both) -> Iterator[Relation]:
    """In each entry one part is wrong, and always the same one: what is wrong with it."""
    if not all(type(each) is tuple for entries in both for each in entries):
        return
    sizes = {len(each) for entries in both for each in entries}
    if len(sizes) != 1 or not 2 <= (size := sizes.pop()) <= len(PLACES):
        return
    whole = list(zip(*both, strict=True))
    wrong = {place for one, other in whole for place in range(size) if one[place] != other[place]}
    if len(wrong) != 1:
        return
    place = wrong.pop()
    part = Term(PLACES[place])
    name = Term("part-of-entry", part=part, of=pair.name)
    inside = [
        replace(pair, name=name, received=one[place], expected=other[place])
        for one, other in whole
        if one != other
    ]
    yield from in_common((ends, order, subsequence), inside, enough=0)
    yield pair.relation("part-of-entries", part=part)


def _texts(pair: Pair) -> Both | None:
    """Return both as lists of texts."""
    if type(pair.received) is type(pair.expected) is str:
        return [pair.received], [pair.expected]
    both = _filled_lists(pair)
    if both is None or not all(type(each) is str for entries in both for each in entries):
        return None
    return both


@where(_texts)
def texts(pair: Pair, both: Both) -> Iterator[Relation]:
    """The same text, cased or taken apart in another way."""
    mine, right = both
    if [each.lower() for each in right] == [each.lower() for each in mine]:
        yield pair.relation("case")
    if [each for each in mine if each.strip()] == right:
        yield pair.relation("empty-entries")
    if len(right) < len(mine) and mine == list("".join(right)):
        yield pair.relation("characters")


@where(_texts)
def cuts(pair: Pair, both: Both) -> Iterator[Relation]:
    """The right text, cut at other places."""
    mine, right = both
    if type(pair.received) is not str and "".join(mine) == "".join(right):
        if len(mine) != len(right):
            yield pair.relation("cut.many" if len(mine) > len(right) else "cut.few")
        yield pair.relation("cut")


def _dictionaries(pair: Pair) -> tuple[dict[Any, Any], dict[Any, Any]] | None:
    mine, right = pair.received, pair.expected
    small = type(mine) is type(right) is dict and len(mine) <= MOST_ENTRIES
    return (mine, right) if small and mine else None


@where(_dictionaries)
def dictionaries(pair: Pair, both: tuple[dict[Any, Any], dict[Any, Any]]) -> Iterator[Relation]:
    """Keys that are missing or too many, keys that are other ones, values that are others."""
    mine, right = both
    agree = all(mine[key] == right[key] for key in right if key in mine)
    if mine.keys() == right.keys():
        yield from _numbers_of(pair, [(mine[key], right[key]) for key in right])
        yield pair.relation("values")
    elif agree and mine.keys() < right.keys():
        yield pair.relation("missing.keys")
    elif agree and mine.keys() > right.keys():
        yield pair.relation("too-many.keys")
    elif sorted(map(repr, mine.values())) == sorted(map(repr, right.values())):
        yield pair.relation("keys")


def _numbers_of(pair: Pair, both: list[tuple[Any, Any]]) -> Iterator[Relation]:
    """Values that are too large or too small, all by the same."""
    if not all(type(one) is type(other) is int for one, other in both):
        return
    yield from _offset(pair, "value", both)
    if all(one >= other for one, other in both):
        yield pair.relation("too-large")
    if all(one <= other for one, other in both):
        yield pair.relation("too-small")


STRONG = (inputs, texts, entries, order, ends, repeated)
WEAK = (cuts, dictionaries, subsequence, parts, places)
