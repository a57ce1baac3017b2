"""What the failing cases have, and the passing ones have not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from transformer_checks.judging.exam import Exam
from transformer_checks.judging.facts import Faults, Name, Relation, Term
from transformer_checks.judging.relations.evidence import is_axis, sizes_of
from transformer_checks.task import SAID, Case, Shapes

# Of so many ways to choose the failing ones among all cases, one is not a coincidence.
UNLIKELY = 60
# Of a trait that is known for its mistakes fewer will do.
UNLIKELY_FOR_KNOWN = 5
SAYS_LITTLE = ("above-1", "is-not", "more-than-one-entry")


def find_trait(exam: Exam, faults: Faults) -> Relation | None:
    """Find a trait that all failing cases have, and no passing one.

    Args:
        exam: the cases.
        faults: what is wrong with each, None where it passes.

    Returns:
        the relation, or None.
    """
    failing = [bool(fault) for fault in faults]
    count = sum(failing)
    ways = math.comb(len(failing), count)
    if not 0 < count < len(failing):
        return None
    shapes = exam.task.shapes
    for traits, least in ((_known, UNLIKELY_FOR_KNOWN), (_sizes, UNLIKELY)):
        if ways < least:
            continue
        by_case = [dict(traits(case, shapes)) for case in exam.cases]
        for trait in by_case[failing.index(True)]:
            # Where there is one of everything, hardly any mistake shows: that says nothing.
            if failing.count(False) == 1 and trait.key in SAYS_LITTLE:
                continue
            if [each.get(trait, False) for each in by_case] == failing:
                return Relation("only-cases", where=trait)
    return None


def _known(case: Case, shapes: Shapes) -> Iterator[tuple[Term, bool]]:
    """Go through the traits that are known for their mistakes."""
    yield Term("in-float64"), case.dtype == "float64"
    yield Term("in-half"), case.dtype in ("float16", "bfloat16")
    yield Term("not-in-float32"), case.dtype != "float32"
    yield Term("not-contiguous"), case.layout == "strided"
    yield Term("asked-again"), case.same_as is not None
    yield Term("gradients-asked"), case.cotangent is not None
    yield Term("not-on-cpu"), case.device != "cpu"
    yield Term("error-asked"), bool(case.refused)
    yield Term("in-training"), case.training
    for name, value in {**case.settings, **case.arguments}.items():
        if not (isinstance(value, dict) and SAID in value):
            yield from _traits(f"`{name}`", value)
    pad_id = case.arguments.get("pad_id")
    if type(pad_id) is int:
        for name, value in case.arguments.items():
            if isinstance(value, np.ndarray) and value.dtype.kind == "i":
                yield Term("has-padding", name=name), bool((value == pad_id).any())
    for letter, size in sizes_of(case, shapes).items():
        if is_axis(letter):
            yield Term("above-1", name=letter), size > 1
            yield Term("is", name=letter, value=1), size == 1


def _traits(name: str, value: Any) -> Iterator[tuple[Term, bool]]:
    """Go through the traits of one argument."""
    yield Term("is-given", name=name), value is not None
    yield Term("is-none", name=name), value is None
    if isinstance(value, np.ndarray) and value.dtype.kind == "b":
        yield Term("hides-something", name=name), not bool(value.all())
        if value.ndim:
            yield Term("hides-every-key-once", name=name), bool((~value).all(axis=-1).any())
    elif isinstance(value, np.ndarray):
        yield Term("one-axis", name=name), value.ndim == 1
        yield Term("above-two-axes", name=name), value.ndim > 2
        yield Term("above-three-axes", name=name), value.ndim > 3
        if value.dtype.kind == "f":
            yield Term("large-numbers", name=name), bool((np.abs(value) > 20).any())
    elif isinstance(value, bool):
        yield Term("is", name=name, value=str(value)), True
    elif isinstance(value, int | float):
        for number in (0, 1):
            yield Term("is", name=name, value=number), value == number
            yield Term("is-not", name=name, value=number), value != number
        yield Term("below-0", name=name), value < 0
        yield Term("above-1", name=name), value > 1
    elif isinstance(value, str | list | tuple | dict):
        yield Term("is-empty", name=name), not value
        yield Term("has-one-entry", name=name), len(value) == 1
        yield Term("more-than-one-entry", name=name), len(value) > 1
        if isinstance(value, str):
            yield Term("is", name=name, value=repr(value)), value.isidentifier()
            yield Term("has-capitals", name=name), value != value.lower()
            yield Term("beyond-ascii", name=name), not value.isascii()
        elif not isinstance(value, dict):
            again = len(set(map(repr, value))) < len(value)
            yield Term("entry-again", name=name), again


def _sizes(case: Case, shapes: Shapes) -> Iterator[tuple[Term, bool]]:
    """Compare any two sizes of a case."""
    lengths: dict[Name, float] = {
        Term("length-of", name=name): float(len(value))
        for name, value in case.arguments.items()
        if isinstance(value, str | list | tuple)
    }
    everything = {**sizes_of(case, shapes), **lengths}
    names = list(everything)
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            first, second = everything[one], everything[other]
            yield Term("differs", one=one, other=other), first != second
            yield Term("equals", one=one, other=other), first == second
            yield Term("is-above", one=one, other=other), first > second
            yield Term("is-below", one=one, other=other), first < second
        yield Term("is-odd", name=one), everything[one] % 2 == 1
        yield Term("is-even", name=one), everything[one] % 2 == 0
