"""Relations between a wrong list, tuple, dictionary or text and the right one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from transformer_ref.checks.relations.evidence import Pair, Relation

# Longer ones are left alone.
MOST_ENTRIES = 2_000


def _lists(pair: Pair) -> tuple[list[Any], list[Any]] | None:
    """Return both as lists; a text counts as the list of its characters."""
    mine, right = pair.received, pair.expected
    kinds = (list, tuple, str)
    if type(mine) is not type(right) or type(right) not in kinds:
        return None
    if max(len(mine), len(right)) > MOST_ENTRIES:
        return None
    return list(mine), list(right)


def empty(pair: Pair) -> Iterator[Relation]:
    """Nothing at all."""
    both = _lists(pair)
    if both is not None and not both[0]:
        yield Relation("empty", f"{pair.name} is empty")


def ends(pair: Pair) -> Iterator[Relation]:
    """Entries missing or too many at the start or the end, and all others right."""
    both = _lists(pair)
    if both is None or not both[0] or not both[1]:
        return
    mine, right = both
    name = pair.name
    if mine[:-1] == right:
        yield Relation("one-too-many", f"{name} has one entry too many at the end")
    if mine[1:] == right:
        yield Relation("one-too-many", f"{name} has one entry too many at the start")
    if mine == right[:-1]:
        yield Relation("one-missing", f"{name} lacks its last entry, and the others are right")
    if mine == right[1:]:
        yield Relation("one-missing", f"{name} lacks its first entry, and the others are right")
    if len(mine) < len(right):
        if mine == right[: len(mine)]:
            yield Relation("stops-early", f"{name} is right as far as it goes, and ends too early")
        if mine == right[-len(mine) :]:
            said = f"{name} lacks entries at its start, and the others are right"
            yield Relation("starts-late", said)
        if mine == right[1:-1]:
            yield Relation("ends-missing", f"{name} lacks its first and its last entry")
    elif len(mine) > len(right):
        if mine[: len(right)] == right:
            yield Relation("goes-on", f"{name} begins as it should, and then goes on too long")
        if mine[-len(right) :] == right:
            said = f"{name} ends as it should, but has more than it should before that"
            yield Relation("starts-early", said)


def order(pair: Pair) -> Iterator[Relation]:
    """The right entries, in another order."""
    both = _lists(pair)
    if both is None or len(both[1]) < 2:
        return
    mine, right = both
    name = pair.name
    if mine == right[::-1]:
        yield Relation("reversed", f"{name} is the right one in reverse order")
    for step, way in ((1, "from its end to its start"), (-1, "from its start to its end")):
        if mine == right[-step:] + right[:-step]:
            yield Relation("rotated", f"in {name} one entry is moved {way}")
    try:
        if mine == sorted(right):
            yield Relation("sorted", f"{name} has the right entries, sorted")
        if mine == sorted(right, reverse=True):
            yield Relation("sorted", f"{name} has the right entries, sorted, the largest first")
    except TypeError:
        pass
    if _counted(mine) == _counted(right):
        yield Relation("order", f"{name} has the right entries, in another order")


def _counted(entries: list[Any]) -> Counter[str]:
    return Counter(map(repr, entries))


def repeated(pair: Pair) -> Iterator[Relation]:
    """Entries that come more or less often than they should."""
    both = _lists(pair)
    if both is None or not both[0] or not both[1]:
        return
    mine, right = both
    name = pair.name
    if len(mine) > len(right) and [each for each, _ in groupby(mine)] == [
        each for each, _ in groupby(right)
    ]:
        said = f"in {name} an entry stands twice, or more often, side by side"
        yield Relation("repeated", said)
    once = list({repr(each): each for each in right}.values())
    if mine == once and len(mine) < len(right):
        yield Relation("once-each", f"{name} has each entry once, though it may come again")
    if [each for place, each in enumerate(mine) if place % 2] == right or mine[::2] == right:
        yield Relation("repeated", f"{name} is the right one with an entry put between any two")
    if mine == right[::2] or mine == right[1::2]:
        yield Relation("skipped", f"{name} has only every other entry")


def subsequence(pair: Pair) -> Iterator[Relation]:
    """Entries that are missing, or too many, at any place, with none wrong."""
    both = _lists(pair)
    if both is None or not both[0] or not both[1]:
        return
    mine, right = both
    few = "one entry" if abs(len(mine) - len(right)) == 1 else "entries"
    if len(mine) < len(right) and _within(mine, right):
        said = f"{pair.name} lacks {few}; what is there is right, and in the right order"
        yield Relation("missing", said)
    if len(mine) > len(right) and _within(right, mine):
        said = f"{pair.name} has all that it should, in order, and {few} too many between"
        yield Relation("too-many", said)


def _within(short: list[Any], long: list[Any]) -> bool:
    rest = iter(long)
    return all(any(each == other for other in rest) for each in short)


def entries(pair: Pair) -> Iterator[Relation]:
    """Each entry changed in the same way."""
    both = _lists(pair)
    if both is None or not both[0] or len(both[0]) != len(both[1]) or pair.received == "":
        return
    mine, right = both
    name = pair.name
    whole = [(one, other) for one, other in zip(mine, right, strict=True)]
    if all(type(one) is type(other) is int for one, other in whole):
        differences = {one - other for one, other in whole}
        if len(differences) == 1 and len(whole) > 1:
            off = differences.pop()
            way = "large" if off > 0 else "small"
            yield Relation("offset", f"each entry of {name} is {abs(off)} too {way}")
        if all(one == 2 * other for one, other in whole):
            yield Relation("factor", f"each entry of {name} is twice the right one")
    if all(type(one) is type(other) is tuple and one == other[::-1] for one, other in whole):
        yield Relation("entries-reversed", f"in each entry of {name} the parts are exchanged")
    if len(set(map(repr, mine))) == 1 and len(set(map(repr, right))) > 1:
        yield Relation("constant", f"all entries of {name} are the same")
    if all(
        type(one) is type(other) is list and _counted(one) == _counted(other)
        for one, other in whole
    ):
        said = f"in the entries of {name} the right parts stand in another order"
        yield Relation("order-in-entries", said)


def places(pair: Pair) -> Iterator[Relation]:
    """Only the first or the last entry is wrong, or right."""
    both = _lists(pair)
    if both is None or len(both[0]) != len(both[1]) or type(pair.received) is str:
        return
    whole, name = list(zip(*both, strict=True)), pair.name
    wrong = [place for place, (one, other) in enumerate(whole) if one != other]
    if len(whole) > 2:
        if wrong == [0]:
            yield Relation("only-first", f"only the first entry of {name} is wrong")
        if wrong == [len(whole) - 1]:
            yield Relation("only-last", f"only the last entry of {name} is wrong")
        if wrong == list(range(1, len(whole))):
            yield Relation("all-but-first", f"all entries of {name} but the first are wrong")


def parts(pair: Pair) -> Iterator[Relation]:
    """In each entry one part is wrong, and always the same one."""
    both = _lists(pair)
    if both is None or not both[0] or len(both[0]) != len(both[1]):
        return
    if not all(type(each) is tuple for each in (*both[0], *both[1])):
        return
    for place in range(min(map(len, both[1]))):
        rest = [[each[:place] + each[place + 1 :] for each in entries] for entries in both]
        if rest[0] == rest[1] and len(both[1][0]) > 1:
            said = f"in the entries of {pair.name} only part {place}, counted from 0, is wrong"
            yield Relation("part-of-entries", said)


def texts(pair: Pair) -> Iterator[Relation]:
    """The same text, cut, cased or spaced in another way."""
    mine, right = pair.received, pair.expected
    if isinstance(mine, str) and isinstance(right, str):
        mine, right = [mine], [right]
        cut = ""
    elif _lists(pair) is None or not all(type(each) is str for each in (*mine, *right)):
        return
    else:
        cut = "".join(right)
    name = pair.name
    if not mine:
        return
    lower, own = [each.lower() for each in right], [each.lower() for each in mine]
    if lower == own:
        yield Relation("case", f"{name} differs only in small and capital letters")
    if [each.strip() for each in mine] == [each.strip() for each in right]:
        yield Relation("white-space", f"{name} differs only in white space at the ends")
    if [each for each in mine if each.strip()] == list(right):
        yield Relation("empty-entries", f"{name} is right but for entries that are empty or blank")
    if cut and "".join(mine) == cut:
        more = "many" if len(mine) > len(right) else "few"
        yield Relation("cut", f"{name} spell the right text, but are cut at too {more} places")
        yield Relation("cut", f"{name} spell the right text, but are cut at other places")
    if cut and "".join(mine).lower() == cut.lower():
        yield Relation("case", f"{name} spell the right text but for small and capital letters")
    if [each[::-1] for each in mine] == list(right):
        yield Relation("entries-reversed", f"each text in {name} stands in reverse")


def inputs(pair: Pair) -> Iterator[Relation]:
    """An argument itself."""
    plain = type(pair.received) in (list, tuple, str, dict) and bool(pair.received)
    for name, value in pair.case.arguments.items():
        if plain and type(value) is type(pair.received) and value == pair.received:
            yield Relation("input", f"{pair.name} is the argument `{name}`, unchanged")
    both = _lists(pair)
    if both is None:
        return
    mine, right = both
    whole = all(type(each) is int and each >= 0 for each in (*mine, *right))
    both_sides = whole and mine and right and not set(mine) & set(right)
    if both_sides and sorted({*mine, *right}) == list(range(len(mine) + len(right))):
        yield Relation("complement", f"{pair.name} has just those that it should not have")


def dictionaries(pair: Pair) -> Iterator[Relation]:
    """Keys that are missing or too many, keys that are other ones, values that are others."""
    mine, right = pair.received, pair.expected
    if type(mine) is not dict or type(right) is not dict or len(mine) > MOST_ENTRIES:
        return
    name = pair.name
    shared = [key for key in right if key in mine]
    agree = all(mine[key] == right[key] for key in shared)
    if not mine:
        yield Relation("empty", f"{name} is empty")
        return
    if mine.keys() == right.keys():
        yield from _numbers_of(name, [(mine[key], right[key]) for key in right])
        yield Relation("values", f"{name} has the right keys, and wrong values")
    elif agree and mine.keys() < right.keys():
        yield Relation("missing", f"{name} lacks keys; what is there is right")
    elif agree and mine.keys() > right.keys():
        yield Relation("too-many", f"{name} has keys too many; all others are right")
    pairs = all(isinstance(key, tuple) for key in (*mine, *right))
    if pairs and {key[::-1]: value for key, value in mine.items()} == right:
        yield Relation("entries-reversed", f"in each key of {name} the parts are exchanged")
    if sorted(map(repr, mine.values())) == sorted(map(repr, right.values())):
        if mine.keys() == right.keys():
            yield Relation("order", f"{name} has the right values, at other keys")
        elif len(mine) == len(right):
            yield Relation("keys", f"{name} has the right values under other keys")
    if mine.keys() < right.keys() and not agree:
        yield Relation("missing", f"{name} lacks keys, and some values are wrong, too")
    if mine.keys() > right.keys() and not agree:
        yield Relation("too-many", f"{name} has keys too many, and some values are wrong, too")


def _numbers_of(name: str, both: list[tuple[Any, Any]]) -> Iterator[Relation]:
    """Values that are too large or too small, all by the same."""
    if not all(type(one) is type(other) is int for one, other in both):
        return
    differences = {one - other for one, other in both}
    if len(differences) == 1 and len(both) > 1:
        off = differences.pop()
        yield Relation(
            "offset", f"each value of {name} is {abs(off)} too {'large' if off > 0 else 'small'}"
        )
    wrong = [(one, other) for one, other in both if one != other]
    if all(one > other for one, other in wrong):
        yield Relation("too-large", f"in {name} the wrong values are too large, none too small")
    if all(one < other for one, other in wrong):
        yield Relation("too-small", f"in {name} the wrong values are too small, none too large")
    if all(one == 1 for one, _ in both):
        yield Relation("constant", f"each value of {name} is 1")


STRONG = (empty, inputs, texts, order, ends, repeated, entries)
WEAK = (dictionaries, subsequence, parts, places)
