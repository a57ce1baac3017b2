"""Relations between the shape of a wrong array and that of the right one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from transformer_checks.judging.facts import Relation, Term
from transformer_checks.judging.relations.evidence import Pair, is_axis, where

Shapes = tuple[tuple[int, ...], tuple[int, ...]]


def _shapes(pair: Pair) -> Shapes | None:
    """Return received and expected shape where they differ."""
    if not isinstance(pair.received, np.ndarray) or not isinstance(pair.expected, np.ndarray):
        return None
    received, expected = pair.received.shape, pair.expected.shape
    return None if received == expected else (received, expected)


@where(_shapes)
def swapped(pair: Pair, shapes: Shapes) -> Iterator[Relation]:
    """The right axes in another order."""
    received, expected = shapes
    if len(received) != len(expected) or len(expected) > 5:
        return
    for order in permutations(range(len(expected))):
        if tuple(expected[axis] for axis in order) != received:
            continue
        orders = {
            "mine": tuple(map(pair.letter, order)),
            "right": tuple(map(pair.letter, range(len(expected)))),
        }
        if pair.alike(pair.received, pair.expected.transpose(order)):
            yield pair.relation("axes-swapped.alone", **orders)
        yield pair.relation("axes-swapped", **orders)


@where(_shapes)
def one_axis(pair: Pair, shapes: Shapes) -> Iterator[Relation]:
    """One axis is too long or too short, and the rest is right or not."""
    received, expected = shapes
    if len(received) != len(expected):
        return
    differ = [axis for axis, size in enumerate(expected) if received[axis] != size]
    if len(differ) != 1:
        return
    axis = differ[0]
    mine, right = received[axis], expected[axis]
    place = pair.axis(axis)
    if abs(mine - right) <= 2:
        yield from _ends(pair, axis)
        count = Term("one" if abs(mine - right) == 1 else "two")
        way = Term("long" if mine > right else "short")
        yield pair.relation("length.off", axis=place, count=count, way=way)
    if mine == 1:
        yield pair.relation("length.one-entry", axis=place)
    if mine == 2 * right:
        yield pair.relation("length.twice", axis=place)
    if 2 * mine == right:
        yield pair.relation("length.half", axis=place)
    for name, size in pair.sizes.items():
        if mine == size and place != name:
            yield pair.relation("length.size-of", axis=place, other=name)


def _ends(pair: Pair, axis: int) -> Iterator[Relation]:
    """Say at which end something is missing or too much, where the rest is right."""
    mine, right = pair.received.shape[axis], pair.expected.shape[axis]
    long, short = (pair.received, pair.expected) if mine > right else (pair.expected, pair.received)
    extra = abs(mine - right)
    size = short.shape[axis]
    if not short.size:
        return
    way = Term("is-extra" if mine > right else "is-missing")
    count = Term("one-is" if extra == 1 else "two-are")
    for end, start in (("last", 0), ("first", extra)):
        if pair.alike(long.take(np.arange(start, start + size), axis), short):
            place = pair.axis(axis)
            yield pair.relation("length.end", axis=place, end=Term(end), count=count, way=way)


@where(_shapes)
def axes_missing(pair: Pair, shapes: Shapes) -> Iterator[Relation]:
    """An axis is missing: it was left out, summed over, or merged with its neighbour."""
    received, expected = shapes
    if len(received) >= len(expected):
        return
    if pair.received.size == pair.expected.size:
        same = pair.alike(pair.received.reshape(expected), pair.expected)
        rest = Term("numbers-right" if same else "order-wrong")
        for axis, size in enumerate(expected):
            if size == 1 and expected[:axis] + expected[axis + 1 :] == received:
                yield pair.relation("axis-missing.size-1", place=axis, rest=rest)
        yield pair.relation("axes-merged", rest=rest)
    if len(received) != len(expected) - 1:
        return
    for axis in range(len(expected)):
        if expected[:axis] + expected[axis + 1 :] != received:
            continue
        for what, found in _reduced(pair.expected, axis):
            if pair.alike(pair.received, found):
                yield pair.relation("axis-missing.reduced", axis=pair.letter(axis), what=what)


def _reduced(array: np.ndarray, axis: int) -> Iterator[tuple[Term, np.ndarray]]:
    if array.shape[axis] > 1:
        yield Term("the-sum"), array.sum(axis=axis)
        yield Term("the-mean"), array.mean(axis=axis)
        yield Term("the-first"), array.take(0, axis)
        yield Term("the-last"), array.take(-1, axis)
        yield Term("the-largest"), array.max(axis=axis)


@where(_shapes)
def axes_too_many(pair: Pair, shapes: Shapes) -> Iterator[Relation]:
    """There is an axis too many."""
    received, expected = shapes
    if len(received) <= len(expected):
        return
    if tuple(each for each in received if each != 1) == tuple(
        each for each in expected if each != 1
    ):
        same = pair.alike(pair.received.reshape(expected), pair.expected)
        rest = Term("numbers-right" if same else "numbers-wrong")
        yield pair.relation("axis-too-many.size-1", rest=rest)
    if pair.received.size == pair.expected.size:
        same = pair.alike(pair.received.reshape(expected), pair.expected)
        yield pair.relation(
            "axes-not-merged", rest=Term("numbers-right" if same else "order-wrong")
        )
    if len(received) != len(expected) + 1:
        return
    for axis in range(len(received)):
        if received[:axis] + received[axis + 1 :] != expected:
            continue
        for what, found in _reduced(pair.received, axis):
            if pair.alike(found, pair.expected):
                place = Term("axis", place=axis)
                yield pair.relation("axis-too-many.reduced", axis=place, what=what)
        names = [name for name, size in pair.sizes.items() if size == received[axis]]
        letters = [name for name in names if is_axis(name)]
        if len(letters) == 1:
            yield pair.relation("axis-too-many.size-of", other=letters[0])
        else:
            yield pair.relation("axis-too-many")


@where(_shapes)
def anything(pair: Pair, shapes: Shapes) -> Iterator[Relation]:
    """Which axes are missing, or of other sizes, as far as it holds in all cases."""
    received, expected = shapes
    if len(received) == len(expected):
        differ = [axis for axis, size in enumerate(expected) if received[axis] != size]
        names = tuple(map(pair.axis, differ))
        if len(differ) == 1:
            way = Term("long" if received[differ[0]] > expected[differ[0]] else "short")
            yield pair.relation("length.alone", axis=names[0], way=way)
        yield pair.relation("lengths", axes=names)
        return
    for axis in range(len(expected)):
        if expected[:axis] + expected[axis + 1 :] == received:
            yield pair.relation("axis-missing", axis=pair.letter(axis))
    yield pair.relation("number-of-axes", mine=len(received), right=len(expected))


STRONG = (swapped, one_axis, axes_missing, axes_too_many)
WEAK = (anything,)
