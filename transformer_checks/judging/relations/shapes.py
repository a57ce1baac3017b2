"""Relations between the shape of a wrong array and that of the right one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from transformer_checks.judging.relations.evidence import Pair, Relation, where

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
        mine, right = (
            ", ".join(pair.axis(axis) for axis in each) for each in (order, range(len(expected)))
        )
        said = f"the axes of {pair.name} stand in the order ({mine}), and should in ({right})"
        if pair.alike(pair.received, pair.expected.transpose(order)):
            yield Relation("axes-swapped", f"{said}; the numbers are right")
        yield Relation("axes-swapped", said)


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
    place = f"{pair.name}, along {pair.axis(axis)}"
    if abs(mine - right) <= 2:
        yield from _ends(pair, axis, place)
        count = "one" if abs(mine - right) == 1 else "two"
        yield Relation("length", f"{place}, is {count} too {'long' if mine > right else 'short'}")
    if mine == 1:
        yield Relation(
            "length",
            f"{place}, has only one entry: is a sum or mean taken over it, or one of it alone",
        )
    if mine == 2 * right:
        yield Relation("length", f"{place}, is twice as long as it should be")
    if 2 * mine == right:
        yield Relation("length", f"{place}, is half as long as it should be")
    for name, size in pair.sizes.items():
        if mine == size and pair.axis(axis) != name:
            yield Relation("length", f"{place}, has the size of {name}")


def _ends(pair: Pair, axis: int, place: str) -> Iterator[Relation]:
    """Say at which end something is missing or too much, where the rest is right."""
    mine, right = pair.received.shape[axis], pair.expected.shape[axis]
    long, short = (pair.received, pair.expected) if mine > right else (pair.expected, pair.received)
    extra = abs(mine - right)
    size = short.shape[axis]
    if not short.size:
        return
    what = "too much" if mine > right else "missing"
    count = "one is" if extra == 1 else "two are"
    if pair.alike(long.take(np.arange(size), axis), short):
        yield Relation("length", f"{place}: the last {count} {what}, and the rest is right")
    if pair.alike(long.take(np.arange(extra, extra + size), axis), short):
        yield Relation("length", f"{place}: the first {count} {what}, and the rest is right")


@where(_shapes)
def axes_missing(pair: Pair, shapes: Shapes) -> Iterator[Relation]:
    """An axis is missing: it was left out, summed over, or merged with its neighbour."""
    received, expected = shapes
    if len(received) >= len(expected):
        return
    if pair.received.size == pair.expected.size:
        same = pair.alike(pair.received.reshape(expected), pair.expected)
        rest = "the numbers are right" if same else "the numbers are not in the right order, too"
        for axis, size in enumerate(expected):
            if size == 1 and expected[:axis] + expected[axis + 1 :] == received:
                said = f"{pair.name} lacks the axis of size 1 at place {axis}"
                yield Relation("axis-missing", f"{said}; {rest}")
        yield Relation("axes-merged", f"in {pair.name} axes are merged into one; {rest}")
    if len(received) != len(expected) - 1:
        return
    for axis in range(len(expected)):
        if expected[:axis] + expected[axis + 1 :] != received:
            continue
        name = pair.axis(axis)
        for text, found in _reduced(pair.expected, axis):
            if pair.alike(pair.received, found):
                said = f"{pair.name} has no axis {name}: it is {text} of the right one over it"
                yield Relation("axis-missing", said)


def _reduced(array: np.ndarray, axis: int) -> Iterator[tuple[str, np.ndarray]]:
    if array.shape[axis] > 1:
        yield "the sum", array.sum(axis=axis)
        yield "the mean", array.mean(axis=axis)
        yield "the first", array.take(0, axis)
        yield "the last", array.take(-1, axis)
        yield "the largest", array.max(axis=axis)


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
        rest = "the numbers are right" if same else "and the numbers are others"
        yield Relation("axis-too-many", f"{pair.name} has an axis of size 1 too many; {rest}")
    if pair.received.size == pair.expected.size:
        same = pair.alike(pair.received.reshape(expected), pair.expected)
        rest = "the numbers are right" if same else "the numbers are not in the right order, too"
        yield Relation("axes-not-merged", f"in {pair.name} axes should be merged into one; {rest}")
    if len(received) != len(expected) + 1:
        return
    for axis in range(len(received)):
        if received[:axis] + received[axis + 1 :] != expected:
            continue
        for text, found in _reduced(pair.received, axis):
            if pair.alike(found, pair.expected):
                said = f"the right {pair.name} is {text} of yours over axis {axis}"
                yield Relation("axis-too-many", said)
        names = [
            name for name, size in pair.sizes.items() if size == received[axis] and len(name) == 1
        ]
        of = f" of the size of {names[0]}" if len(names) == 1 else ""
        yield Relation("axis-too-many", f"{pair.name} has an axis{of} too many")


@where(_shapes)
def anything(pair: Pair, shapes: Shapes) -> Iterator[Relation]:
    """Which axes are missing, or of other sizes, as far as it holds in all cases."""
    received, expected = shapes
    if len(received) == len(expected):
        differ = [axis for axis, size in enumerate(expected) if received[axis] != size]
        names = " and ".join(pair.axis(axis) for axis in differ)
        if len(differ) == 1:
            way = "long" if received[differ[0]] > expected[differ[0]] else "short"
            said = f"{pair.name}, along {names}, is too {way}; all other axes have the right sizes"
            yield Relation("length", said)
        yield Relation("lengths", f"{pair.name} has other sizes than it should along {names}")
        return
    for axis in range(len(expected)):
        if expected[:axis] + expected[axis + 1 :] == received:
            said = f"{pair.name} has no axis {pair.axis(axis)}, and should have one"
            yield Relation("axis-missing", said)
    said = f"{pair.name} has {len(received)} axes, and should have {len(expected)}"
    yield Relation("number-of-axes", said)


STRONG = (swapped, one_axis, axes_missing, axes_too_many)
WEAK = (anything,)
