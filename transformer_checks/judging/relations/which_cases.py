"""What the failing cases have, and the passing ones have not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from transformer_checks.judging.exam import Exam
from transformer_checks.judging.facts import Faults
from transformer_checks.judging.relations.evidence import Relation, sizes_of
from transformer_checks.task import SAID, Case

# Of so many ways to choose the failing ones among all cases, one is not a coincidence.
UNLIKELY = 60
# Of a trait that is known for its mistakes fewer will do.
UNLIKELY_FOR_KNOWN = 5
SAYS_LITTLE = ("is above 1", "is not 1", "is not 0", "has more than one entry")


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
    contract = exam.task.contract
    for traits, least in ((_known, UNLIKELY_FOR_KNOWN), (_sizes, UNLIKELY)):
        if ways < least:
            continue
        by_case = [dict(traits(case, contract)) for case in exam.cases]
        for text in by_case[failing.index(True)]:
            # Where there is one of everything, hardly any mistake shows: that says nothing.
            if failing.count(False) == 1 and text.endswith(SAYS_LITTLE):
                continue
            if [each.get(text, False) for each in by_case] == failing:
                return Relation("only-cases", f"it fails only where {text}, and there always")
    return None


def _known(case: Case, contract: str) -> Iterator[tuple[str, bool]]:
    """Go through the traits that are known for their mistakes."""
    yield "the input is float64", case.dtype == "float64"
    yield "the input is float16 or bfloat16", case.dtype in ("float16", "bfloat16")
    yield "the dtype of the input is not float32", case.dtype != "float32"
    yield "the memory of the inputs is not contiguous", case.layout == "strided"
    yield "the same is asked a second time", case.same_as is not None
    yield "gradients are asked for", case.cotangent is not None
    yield "the device is not the CPU", case.device != "cpu"
    yield "an error is asked for", bool(case.refused)
    yield "the module is in training mode", case.training
    for name, value in {**case.settings, **case.arguments}.items():
        if not (isinstance(value, dict) and SAID in value):
            yield from _traits(f"`{name}`", value)
    pad_id = case.arguments.get("pad_id")
    if type(pad_id) is int:
        for name, value in case.arguments.items():
            if isinstance(value, np.ndarray) and value.dtype.kind == "i":
                yield f"there is padding in `{name}`", bool((value == pad_id).any())
    for letter, size in sizes_of(case, contract).items():
        if len(letter) == 1:
            yield f"{letter} is above 1", size > 1
            yield f"{letter} is 1", size == 1


def _traits(name: str, value: Any) -> Iterator[tuple[str, bool]]:
    """Go through the traits of one argument."""
    yield f"{name} is given", value is not None
    yield f"{name} is None", value is None
    if isinstance(value, np.ndarray) and value.dtype.kind == "b":
        yield f"{name} hides something", not bool(value.all())
        if value.ndim:
            yield f"{name} hides every key from some query", bool((~value).all(axis=-1).any())
    elif isinstance(value, np.ndarray):
        yield f"{name} has one axis", value.ndim == 1
        yield f"{name} has more than two axes", value.ndim > 2
        yield f"{name} has more than three axes", value.ndim > 3
        if value.dtype.kind == "f":
            yield f"{name} holds numbers of a size above 20", bool((np.abs(value) > 20).any())
    elif isinstance(value, bool):
        yield f"{name} is {value}", True
    elif isinstance(value, int | float):
        for number in (0, 1):
            yield f"{name} is {number}", value == number
            yield f"{name} is not {number}", value != number
        yield f"{name} is below 0", value < 0
        yield f"{name} is above 1", value > 1
    elif isinstance(value, str | list | tuple | dict):
        yield f"{name} is empty", not value
        yield f"{name} has one entry", len(value) == 1
        yield f"{name} has more than one entry", len(value) > 1
        if isinstance(value, str):
            yield f"{name} is {value!r}", value.isidentifier()
            yield f"{name} has capital letters", value != value.lower()
            yield f"{name} has characters beyond ASCII", not value.isascii()
        elif not isinstance(value, dict):
            again = len(set(map(repr, value))) < len(value)
            yield f"an entry of {name} comes more than once", again


def _sizes(case: Case, contract: str) -> Iterator[tuple[str, bool]]:
    """Compare any two sizes of a case."""
    sizes: Mapping[str, float] = sizes_of(case, contract)
    lengths = {
        f"the length of `{name}`": float(len(value))
        for name, value in case.arguments.items()
        if isinstance(value, str | list | tuple)
    }
    everything = {**sizes, **lengths}
    names = list(everything)
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            first, second = everything[one], everything[other]
            yield f"{one} is not {other}", first != second
            yield f"{one} is {other}", first == second
            yield f"{one} is above {other}", first > second
            yield f"{one} is below {other}", first < second
        yield f"{one} is odd", everything[one] % 2 == 1
        yield f"{one} is even", everything[one] % 2 == 0
