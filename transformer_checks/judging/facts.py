"""What is found out about an answer, as data; :mod:`transformer_checks.judging.words` writes it.

Nothing here is read out of a sentence: sentences can be reworded, and translated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from transformer_checks.task import Outcome


@dataclass(frozen=True)
class Fault:
    """What is wrong with the outcome of one case.

    Attributes:
        kind: key of its sentence; what stands before a dot is the kind for a misconception.
        name: of the result, argument or weight it is about, or several of them.
        expected: what should be there; a whole result where numbers or entries differ.
        received: what is there; of what has another type, the name of the type.
        size: of what has another type, such as its shape.
        text: what others wrote: an error, a property of the task, a case.
        tolerance: within which numbers would be the same.
        inside: the fault of what the answer did where it should have raised an error.
    """

    kind: str
    name: str | tuple[str, ...] = ""
    expected: Any = ""
    received: Any = ""
    size: str = ""
    text: str = ""
    tolerance: tuple[float, float] = (0.0, 0.0)
    inside: Fault | None = None


@dataclass(frozen=True, init=False)
class Term:
    """A part of what is found out, such as "divided by K"; terms may hold terms.

    Attributes:
        key: of the words for it.
        parameters: names and values of what the words need. A tuple of texts and terms is a
            formula, whose parts stand side by side.
    """

    key: str
    parameters: tuple[tuple[str, Any], ...]

    def __init__(self, key: str, **parameters: Any) -> None:
        object.__setattr__(self, "key", key)
        object.__setattr__(self, "parameters", tuple(parameters.items()))


# What is in a sentence without more words: the letter of an axis, or an argument's name in `...`.
Name = str | Term


class Relation(Term):
    """What the wrong results have in common; the same for all cases."""

    @property
    def kind(self) -> str:
        """Its kind for programs, such as "factor": what stands before a dot in the key."""
        return self.key.partition(".")[0]


# Of each case what is wrong with it, None where it passes.
Faults = list[Fault | None]

# What running/asking.py tells of an answer without a result. An answer may have sent anything.
TOLD = frozenset(
    {f"returned.{how}" for how in ("nothing", "one", "several", "part", "plain", "inside")}
    | {f"returned.{how}" for how in ("number", "number-inside", "limit", "large", "complex")}
    | {f"built.{how}" for how in ("type", "shape", "exchanged", "layer", "weight")}
    | {"unreadable", "told"}
)
# The fields of a fault that it may send with one of these, all of them texts.
TOLD_FIELDS = frozenset({"kind", "name", "expected", "received", "size", "text"})


def fault_of_outcome(outcome: Outcome) -> Fault | None:
    """Return what kept the result of an outcome from being read, or None."""
    if not outcome.fault:
        return None
    about: dict[str, Any] = dict(outcome.about)
    if about.get("kind") in TOLD and about.keys() <= TOLD_FIELDS:
        return Fault(**about)
    if outcome.fault in ("raised", "unsolved"):
        return Fault("raised", text=outcome.error)
    return Fault("told" if outcome.error else "silent", text=outcome.error)


def find(fault: Fault | None, notation: str) -> Fault | None:
    """Find the fault that a notation describes.

    Args:
        fault: the fault of a case, or None.
        notation: "KIND", "KIND RECEIVED", "... for EXPECTED" and "... at NAME", such as
            "returned list|tuple for tensor"; ``|`` stands between choices, and ``*`` for any text.

    Returns:
        the fault, or the one inside it, in which all that the notation names is so; else None.
    """
    if fault is None:
        return None
    found = {
        "kind": f"{fault.kind.partition('.')[0]}|{fault.kind}",
        "received": fault.received,
        "expected": fault.expected,
        "name": "|".join(fault.name) if isinstance(fault.name, tuple) else fault.name,
    }
    for field, pattern in _read(notation).items():
        if not any(pattern.fullmatch(each) for each in str(found[field]).split("|")):
            return find(fault.inside, notation)
    return fault


@cache
def _read(notation: str) -> dict[str, re.Pattern[str]]:
    """Read by field a pattern out of the notation of a fault."""
    rest, _, name = notation.partition(" at ")
    rest, _, expected = rest.partition(" for ")
    kind, _, received = rest.partition(" ")
    given = {"kind": kind, "received": received, "expected": expected, "name": name}
    return {
        field: re.compile(
            "|".join(re.escape(each) for each in text.split("|")).replace(r"\*", ".*")
        )
        for field, text in given.items()
        if text
    }
