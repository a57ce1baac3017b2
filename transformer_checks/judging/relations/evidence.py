"""What a relation is looked for in: results beside the right ones, and the sizes of their axes.

Nothing here calls an answer or any object of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from transformer_checks.judging.exam import Exam
from transformer_checks.judging.facts import Faults, Name, Relation, Term
from transformer_checks.running import wire_format
from transformer_checks.running.comparing import MATCH_SLACK, Tolerance, same
from transformer_checks.task import Case, Outcome, Shapes

# Larger arrays are left alone: what shows in them shows in smaller ones, too.
MOST_NUMBERS = 20_000
# A number with all its digits tells more than a small whole number or True.
DIGITS_COUNT = 4
# So much has to agree before a relation is no coincidence.
ENOUGH = 8
# A pair that weighs so much is no coincidence by itself.
MANY = 24
# Whole numbers are the same within what float64 rounds.
EXACT = 1e-12
# Larger numbers are left alone.
LARGEST = 1e100


@dataclass(frozen=True)
class Pair:
    """A wrong result beside the right one.

    Attributes:
        number: of the case.
        case: the case.
        name: of the result, such as "`scores`".
        received: what was returned; arrays hold float64, and a number is an array without axes.
        expected: the right result.
        tolerance: within which both would be the same.
        kind: "f", "i" or "b" for arrays of floats, whole numbers and truth values; "" for the rest.
        axes: names of the axes of the right result, "" where a name is not known.
        sizes: numbers that the case is made of, by their names.
    """

    number: int
    case: Case
    name: Name
    received: Any
    expected: Any
    tolerance: Tolerance
    kind: str
    axes: tuple[str, ...]
    sizes: Mapping[Name, float]

    def relation(self, key: str, **parameters: Any) -> Relation:
        """Return a relation of this result."""
        return Relation(key, name=self.name, **parameters)

    def alike(self, one: Any, other: Any) -> bool:
        """Tell whether two arrays or numbers are the same within what is told apart here."""
        relative, absolute = (each * MATCH_SLACK for each in self.tolerance)
        if self.kind == "i":
            relative = absolute = EXACT
        if isinstance(self.expected, np.ndarray):
            return np.shape(one) == np.shape(other) and bool(
                np.allclose(one, other, rtol=relative, atol=absolute, equal_nan=True)
            )
        return same(one, other, (relative, absolute))

    @cached_property
    def wrong(self) -> np.ndarray:
        """Where two arrays of one shape differ."""
        relative, absolute = self.tolerance
        close = np.isclose(
            self.received, self.expected, rtol=relative, atol=absolute, equal_nan=True
        )
        return np.asarray(~close)

    @cached_property
    def weight(self) -> int:
        """How much a relation that explains this pair explains."""
        if not isinstance(self.expected, np.ndarray):
            return max(
                2, len(self.expected) if isinstance(self.expected, str | list | tuple) else 0
            )
        if not self.expected.ndim and not np.ndim(self.received):
            return DIGITS_COUNT if self.kind == "f" else 2
        if self.expected.shape != self.received.shape:
            return DIGITS_COUNT
        if self.kind == "b":
            return int(self.wrong.sum())
        # The first ones are enough to tell many from few.
        numbers = [
            number
            for each in (self.received, self.expected)
            for number in each[self.wrong][: 2 * MANY].tolist()
        ]
        different = len({f"{each:.6g}" for each in numbers}) // 2
        if self.kind == "f":
            return max(DIGITS_COUNT * different, int(self.wrong.sum()) // 2)
        return different

    def axis(self, number: int) -> Name:
        """Call an axis by its letter, or by its place."""
        return self.axes[number] or Term("axis", place=number)

    def letter(self, number: int) -> str | int:
        """Call an axis as behind the word "axis": by its letter, or by its place alone."""
        return self.axes[number] or number


def is_axis(name: Name) -> bool:
    """Say whether a name is the letter of an axis."""
    return isinstance(name, str) and len(name) == 1


T = TypeVar("T")
Look = Callable[[Pair], Iterable[Relation]]


def where(
    given: Callable[[Pair], T | None],
) -> Callable[[Callable[[Pair, T], Iterator[Relation]]], Look]:
    """Return a decorator for a look that wants more than a pair, and sees nothing without that.

    Args:
        given: returns what the look gets beside the pair, or None.

    Returns:
        the decorator.
    """

    def decorate(function: Callable[[Pair, T], Iterator[Relation]]) -> Look:
        @wraps(function)
        def look(pair: Pair) -> Iterator[Relation]:
            found = given(pair)
            if found is not None:
                yield from function(pair, found)

        return look

    return decorate


def in_common(looks: Iterable[Look], pairs: Sequence[Pair], enough: int = ENOUGH) -> list[Relation]:
    """Find the relations that hold in all pairs.

    Args:
        looks: each gives the relations of its kind that hold in a pair; the most specific first.
        pairs: of one result.
        enough: what all pairs together must weigh.

    Returns:
        the relations, in the order of the looks.
    """
    if not pairs or sum(pair.weight for pair in pairs) < enough:
        return []
    # What does not hold shows soonest in a small array.
    pairs = sorted(pairs, key=lambda pair: np.size(pair.expected) if pair.kind else 0)
    found = []
    for look in looks:
        common = list(dict.fromkeys(look(pairs[0])))
        for pair in pairs[1:]:
            if not common:
                break
            here = set(look(pair))
            common = [each for each in common if each in here]
        found += common
    return found


def pairs_of(exam: Exam, outcomes: list[Outcome], faults: Faults) -> dict[str, list[Pair]]:
    """Put the wrong results of the failing cases beside the right ones.

    Args:
        exam: the cases with the right results.
        outcomes: the answer's, read.
        faults: what is wrong with each, None where it passes.

    Returns:
        by the name of a result, its pairs in the failing cases in which it is wrong.
    """
    found: dict[str, list[Pair]] = {}
    for number, case in enumerate(exam.cases):
        outcome, expected = outcomes[number], exam.expected[number]
        if not faults[number] or outcome.fault or case.refused:
            continue
        axes = exam.task.shapes
        sizes = sizes_of(case, axes)
        tolerance = exam.task.tolerances[case.dtype]
        for name in exam.task.returns:
            received, right = outcome.values.get(name), expected.values[name]
            if same(received, right, tolerance) or not _of_form(exam, received):
                continue
            pair = make_pair(number, case, f"`{name}`", received, right, tolerance, sizes)
            if pair is not None:
                found.setdefault(name, []).append(_with_axes(pair, axes, name))
    return found


def _of_form(exam: Exam, received: Any) -> bool:
    return exam.task.form is None or wire_format.misfit(received, exam.task.form) is None


def make_pair(
    number: int,
    case: Case,
    name: Name,
    received: Any,
    right: Any,
    tolerance: Tolerance,
    sizes: Mapping[Name, float] = MappingProxyType({}),
) -> Pair | None:
    """Put two things beside each other; None where there is nothing to be compared."""
    kind = ""
    if type(received) in (int, float) and type(right) in (int, float):
        if not max(abs(received), abs(right)) < LARGEST:
            return None
        received, right = np.array(received), np.array(right)
        kind = np.result_type(received, right).kind
    if isinstance(right, np.ndarray):
        if not isinstance(received, np.ndarray) or received.size > MOST_NUMBERS:
            return None
        kind = kind or right.dtype.kind.replace("u", "i")
        received, right = received.astype(np.float64), right.astype(np.float64)
    axes = ("",) * getattr(right, "ndim", 0)
    return Pair(number, case, name, received, right, tolerance, kind, axes, sizes)


def _with_axes(pair: Pair, axes: Shapes, name: str) -> Pair:
    """Give a pair the names of its result's axes, if it has that many."""
    names = axes.get(name, axes.get("returns", ()))
    ndim = len(pair.axes)
    if names[:1] == ("...",):
        names = ("",) * (ndim - len(names) + 1) + names[1:]
    if len(names) != ndim:
        return pair
    # A name such as "T + 1" or "1" says a size and calls no axis.
    named = tuple(each if re.fullmatch(r"[A-Z]", each) else "" for each in names)
    return replace(pair, axes=named)


def sizes_of(case: Case, shapes: Shapes) -> dict[Name, float]:
    """Name the sizes that a case is made of.

    Args:
        case: the case.
        shapes: of its task.

    Returns:
        by name: letters of axes, whole numbers and floats among the arguments and settings, and
        how many labels are no padding.
    """
    found: dict[Name, float] = {}
    given = {**case.settings, **case.arguments}
    for name, value in given.items():
        if type(value) in (int, float) and np.isfinite(value):
            found[f"`{name}`"] = value
    for name, axes in shapes.items():
        array = given.get(name)
        if isinstance(array, np.ndarray):
            for letter, size in _letters(axes, array.shape):
                found.setdefault(letter, size)
    heads = found.get("`num_heads`", 0)
    if "D" in found and heads and not found["D"] % heads:
        found.setdefault("K", found["D"] // heads)
    for name, array in given.items():
        if isinstance(array, np.ndarray) and array.dtype.kind == "i" and "pad_id" in given:
            found[Term("not-padding", name=name)] = int((array != given["pad_id"]).sum())
    return found


def _letters(axes: tuple[str, ...], shape: tuple[int, ...]) -> Iterator[tuple[str, int]]:
    """Give the letters of an argument's axes with their sizes."""
    if axes[:1] == ("...",):
        axes = axes[1:]
        shape = shape[len(shape) - len(axes) :]
    if len(axes) != len(shape):
        return
    for axis, size in zip(axes, shape, strict=True):
        match = re.fullmatch(r"([A-Z])(?:\+(\d))?", axis)
        if match:
            yield match[1], size - int(match[2] or 0)
