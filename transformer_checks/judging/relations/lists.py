"""Relations between a wrong list, tuple, dictionary or text and the right one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any

from transformer_checks.judging.relations.evidence import Pair, Relation, in_common, where

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
        yield Relation("empty", f"{pair.name} is empty")
        return
    for name, value in pair.case.arguments.items():
        plain = type(value) in (list, tuple, str, dict) and type(value) is type(pair.received)
        if plain and value == pair.received:
            yield Relation("input", f"{pair.name} is the argument `{name}`, unchanged")


@where(_filled_lists)
def ends(pair: Pair, both: Both) -> Iterator[Relation]:
    """Entries missing or too many at the start or the end, and all others right."""
    (mine, right), name = both, pair.name
    if mine[:-1] == right:
        yield Relation("one-too-many", f"{name} has one entry too many at the end")
    if mine[1:] == right:
        yield Relation("one-too-many", f"{name} has one entry too many at the start")
    if mine == right[:-1]:
        yield Relation("one-missing", f"{name} lacks its last entry, and the others are right")
    if mine == right[1:]:
        yield Relation("one-missing", f"{name} lacks its first entry, and the others are right")
    if len(mine) < len(right) and mine == right[: len(mine)]:
        yield Relation("stops-early", f"{name} is right as far as it goes, and ends too early")
    if len(mine) > len(right) and mine[: len(right)] == right:
        yield Relation("goes-on", f"{name} begins as it should, and then goes on too long")


@where(_filled_lists)
def order(pair: Pair, both: Both) -> Iterator[Relation]:
    """The right entries, in another order."""
    (mine, right), name = both, pair.name
    if len(right) > 1 and mine == right[::-1]:
        yield Relation("reversed", f"{name} is the right one in reverse order")
    if _counted(mine) != _counted(right):
        return
    if len({type(each) for each in right}) == 1 and not isinstance(right[0], dict):
        for falling, said in ((False, "sorted"), (True, "sorted, the largest first")):
            if mine == sorted(right, reverse=falling):
                yield Relation("sorted", f"{name} has the right entries, {said}")
    yield Relation("order", f"{name} has the right entries, in another order")


@where(_filled_lists)
def repeated(pair: Pair, both: Both) -> Iterator[Relation]:
    """Entries that come more or less often than they should."""
    (mine, right), name = both, pair.name
    runs = [[each for each, _ in groupby(entries)] for entries in both]
    if len(mine) > len(right) and runs[0] == runs[1]:
        yield Relation("repeated", f"in {name} an entry stands twice, or more often, side by side")
    once = list({repr(each): each for each in right}.values())
    if mine == once and len(mine) < len(right):
        yield Relation("once-each", f"{name} has each entry once, though it may come again")
    if _counted(mine) == _counted(once):
        said = f"{name} has each entry once, as if it had been a set, which forgets how often an"
        yield Relation("once-each", f"{said} entry comes, and in which order")


@where(_filled_lists)
def subsequence(pair: Pair, both: Both) -> Iterator[Relation]:
    """Entries that are missing, or too many, at any place, with none wrong."""
    mine, right = both
    few = "one entry" if abs(len(mine) - len(right)) == 1 else "entries"
    if len(mine) < len(right) and _within(mine, right):
        said = f"{pair.name} lacks {few}; what is there is right, and in the right order"
        yield Relation("missing", said)
    if len(mine) > len(right) and _within(right, mine):
        said = f"{pair.name} has all that it should, in order, and {few} too many"
        yield Relation("too-many", said)


def _within(short: list[Any], long: list[Any]) -> bool:
    rest = iter(long)
    return all(any(each == other for other in rest) for each in short)


@where(_as_long_lists)
def entries(pair: Pair, both: Both) -> Iterator[Relation]:
    """Each entry changed in the same way."""
    whole, name = list(zip(*both, strict=True)), pair.name
    if all(type(one) is type(other) is int for one, other in whole):
        yield from _offset(f"each entry of {name}", whole)
    if all(type(one) is type(other) is tuple and one == other[::-1] for one, other in whole):
        yield Relation("entries-reversed", f"in each entry of {name} the parts are exchanged")


def _offset(what: str, whole: list[tuple[int, int]]) -> Iterator[Relation]:
    differences = {one - other for one, other in whole}
    if len(differences) == 1 and len(whole) > 1:
        off = differences.pop()
        way = "large" if off > 0 else "small"
        yield Relation("offset", f"{what} is {abs(off)} too {way}")


@where(_as_long_lists)
def places(pair: Pair, both: Both) -> Iterator[Relation]:
    """Only the first or the last entry is wrong, or right."""
    whole, name = list(zip(*both, strict=True)), pair.name
    wrong = [place for place, (one, other) in enumerate(whole) if one != other]
    if type(pair.received) is str or len(whole) < 3:
        return
    if wrong == [0]:
        yield Relation("only-first", f"only the first entry of {name} is wrong")
    if wrong == [len(whole) - 1]:
        yield Relation("only-last", f"only the last entry of {name} is wrong")
    if wrong == list(range(1, len(whole))):
        yield Relation("all-but-first", f"all entries of {name} but the first are wrong")


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
    name = f"the {PLACES[place]} part of an entry of {pair.name}"
    inside = [
        replace(pair, name=name, received=one[place], expected=other[place])
        for one, other in whole
        if one != other
    ]
    yield from in_common((ends, order, subsequence), inside, enough=0)
    said = f"in the entries of {pair.name} only the {PLACES[place]} part is wrong"
    yield Relation("part-of-entries", said)


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
    (mine, right), name = both, pair.name
    if [each.lower() for each in right] == [each.lower() for each in mine]:
        yield Relation("case", f"{name} differs only in small and capital letters")
    if [each for each in mine if each.strip()] == right:
        yield Relation("empty-entries", f"{name} is right but for entries that are empty or blank")
    if len(right) < len(mine) and mine == list("".join(right)):
        said = f"{name} holds single characters, as list() and tuple() make them of a text"
        yield Relation("characters", said)


@where(_texts)
def cuts(pair: Pair, both: Both) -> Iterator[Relation]:
    """The right text, cut at other places."""
    mine, right = both
    if type(pair.received) is not str and "".join(mine) == "".join(right):
        said = f"{pair.name} spell the right text, but are cut at"
        if len(mine) != len(right):
            more = "many" if len(mine) > len(right) else "few"
            yield Relation("cut", f"{said} too {more} places")
        yield Relation("cut", f"{said} other places")


def _dictionaries(pair: Pair) -> tuple[dict[Any, Any], dict[Any, Any]] | None:
    mine, right = pair.received, pair.expected
    small = type(mine) is type(right) is dict and len(mine) <= MOST_ENTRIES
    return (mine, right) if small and mine else None


@where(_dictionaries)
def dictionaries(pair: Pair, both: tuple[dict[Any, Any], dict[Any, Any]]) -> Iterator[Relation]:
    """Keys that are missing or too many, keys that are other ones, values that are others."""
    (mine, right), name = both, pair.name
    agree = all(mine[key] == right[key] for key in right if key in mine)
    if mine.keys() == right.keys():
        yield from _numbers_of(name, [(mine[key], right[key]) for key in right])
        yield Relation("values", f"{name} has the right keys, and wrong values")
    elif agree and mine.keys() < right.keys():
        yield Relation("missing", f"{name} lacks keys; what is there is right")
    elif agree and mine.keys() > right.keys():
        yield Relation("too-many", f"{name} has keys too many; all others are right")
    elif sorted(map(repr, mine.values())) == sorted(map(repr, right.values())):
        yield Relation("keys", f"{name} has the right values under other keys")


def _numbers_of(name: str, both: list[tuple[Any, Any]]) -> Iterator[Relation]:
    """Values that are too large or too small, all by the same."""
    if not all(type(one) is type(other) is int for one, other in both):
        return
    yield from _offset(f"each value of {name}", both)
    if all(one >= other for one, other in both):
        yield Relation("too-large", f"in {name} the wrong values are too large, none too small")
    if all(one <= other for one, other in both):
        yield Relation("too-small", f"in {name} the wrong values are too small, none too large")


STRONG = (inputs, texts, entries, order, ends, repeated)
WEAK = (cuts, dictionaries, subsequence, parts, places)
