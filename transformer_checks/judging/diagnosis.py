"""Name the mistake of an answer: the misconception that did the same with the same cases.

Nothing here calls an answer or any object of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from transformer_checks.judging.exam import Exam, read_all
from transformer_checks.judging.facts import Fault, Faults, fault_of_outcome, find
from transformer_checks.judging.faults import learns_too_much
from transformer_checks.judging.general_mistakes import GENERAL, NAME_OF_THE_NOTEBOOK
from transformer_checks.judging.words import names_in_words, what_in_words
from transformer_checks.running.comparing import MATCH_SLACK, same
from transformer_checks.task import Misconception, Outcome
from transformer_checks.translation import say

# Scores that a mask has put this low are the same as minus infinity.
FILLED = -1e8


def find_misconception(exam: Exam, outcomes: list[Outcome], faults: Faults) -> Misconception | None:
    """Find the misconception whose outcomes are this answer's, or the mistake that faults show.

    Args:
        exam: the cases.
        outcomes: the answer's.
        faults: what is wrong with each, None where it passes.

    Returns:
        the one that explains most cases without contradicting any; where there is none, a mistake
        that has a name in every task, or None.
    """
    outcomes = read_all(exam, outcomes)
    return (
        # First: without its arguments an answer may raise just the error of some misconception.
        find_global_for_argument(outcomes, faults)
        or _find_own(exam, outcomes, faults)
        or find_general_mistake(exam.task.stub, faults)
    )


def _find_own(exam: Exam, outcomes: list[Outcome], faults: Faults) -> Misconception | None:
    """Find the misconception of the task that explains most cases without contradicting any."""
    best: tuple[tuple[int, int], Misconception] | None = None
    for misconception in exam.task.misconceptions:
        for variant in range(len(misconception.wrong)):
            found = _agreement(exam, outcomes, faults, misconception, variant)
            if found is not None and (best is None or found > best[0]):
                best = (found, misconception)
    return best[1] if best else None


def _agreement(
    exam: Exam,
    outcomes: list[Outcome],
    faults: Faults,
    misconception: Misconception,
    variant: int,
) -> tuple[int, int] | None:
    """Count what speaks for a misconception: (minus cases unexplained, cases explained).

    Returns:
        None if a case contradicts it or nothing speaks for it.
    """
    numbers = [number for number, case in enumerate(exam.cases) if case.device != "cuda"]
    numbers.sort(key=lambda number: bool(outcomes[number].fault))  # what can contradict comes first
    told = {number for number in numbers if _shows_as_error(misconception, outcomes[number])}
    if not told and all(outcomes[number].fault for number in numbers):
        return None
    unexplained = explained = 0
    for number in numbers:
        # Where tensors are made is a mistake of its own: such a case contradicts no other.
        elsewhere = bool(exam.cases[number].default_device)
        ours, their = outcomes[number], exam.wrong(misconception, variant, number)
        if exam.cases[number].refused:
            verdict = _same_leniency(exam, number, ours, their)
            if verdict is None:
                return None
            explained += verdict
        elif ours.fault and their.fault:
            explained += number in told
        elif ours.fault:
            unexplained += 1
        elif their.fault:
            if not faults[number] and not elsewhere:
                return None
            unexplained += 1
        else:
            verdict = _same_mistake(exam, number, ours, their, not faults[number])
            if verdict is None and not elsewhere:
                return None
            explained += bool(verdict)
    return (-unexplained, explained) if explained and unexplained <= explained else None


def _shows_as_error(misconception: Misconception, outcome: Outcome) -> bool:
    """Say whether what kept a result from being read is what a misconception shows as."""
    fault = fault_of_outcome(outcome)
    if fault is None:
        return False
    if misconception.fault and find(fault, misconception.fault):
        return True
    return bool(misconception.error and re.search(misconception.error, outcome.error))


def _same_leniency(exam: Exam, number: int, ours: Outcome, their: Outcome) -> bool | None:
    """Compare two outcomes of a case that is to be refused; returns as :func:`_same_mistake`."""
    if "refused" in (ours.fault, their.fault):
        return False if ours.fault == their.fault else None
    # The right kind of error with a wrong text is another mistake than another kind.
    if ours.error.startswith("ValueError") != their.error.startswith("ValueError"):
        return None
    tolerance = exam.task.tolerances[exam.cases[number].dtype]
    mine, known = _results(ours), _results(their)
    alike = mine.keys() == known.keys() and all(
        same(mine[name], known[name], tolerance) for name in known
    )
    return True if alike else None


def _same_mistake(
    exam: Exam, number: int, ours: Outcome, their: Outcome, passes: bool
) -> bool | None:
    """Compare an answer's outcome of a case with a misconception's.

    Returns:
        True if both make the same mistake, False if both are right, None if they differ.
    """
    case, expected = exam.cases[number], exam.expected[number]
    tolerance = exam.task.tolerances[case.dtype]
    slack = (tolerance[0] * MATCH_SLACK, tolerance[1] * MATCH_SLACK)

    def equal(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
        return one.keys() == other.keys() and all(
            same(_filled(one[name]), _filled(other[name]), slack) for name in one
        )

    mine, known = _results(ours), _results(their)
    if not equal(known, _results(expected)):
        return True if equal(mine, known) else None

    def traits(outcome: Outcome) -> tuple[object, ...]:
        complete = outcome.gradients.keys() >= expected.gradients.keys()
        learns = learns_too_much(exam.task, outcome)
        return outcome.dtypes, bool(outcome.changed), complete, learns

    if traits(their) == traits(expected) and equal(their.gradients, expected.gradients):
        # A mistake may be too small here to tell, and still too large to pass.
        as_small = traits(ours) == traits(their) and equal(mine, known)
        as_small = as_small and equal(ours.gradients, their.gradients)
        return False if passes or as_small else None
    return True if traits(ours) == traits(their) and equal(mine, known) else None


def _results(outcome: Outcome) -> dict[str, Any]:
    """Return all that a misconception shows in: what was returned and what was left behind."""
    return {**outcome.values, **outcome.left}


def _filled(array: Any) -> Any:
    """Take every way to fill a masked score for the same one."""
    if not isinstance(array, np.ndarray):
        return array
    return np.where(array.astype(np.float64) <= FILLED, -np.inf, array)


def find_general_mistake(stub: str, faults: Faults) -> Misconception | None:
    """Find the general mistake that shows in most of the failing cases.

    Args:
        stub: of the task.
        faults: what is wrong with each, None where it passes.

    Returns:
        the mistake, in words for this answer, or None if none shows in half of the failing cases.
    """
    failing = [fault for fault in faults if fault]
    best: tuple[int, Misconception] | None = None
    for entry in GENERAL:
        found = [words for fault in failing if (words := _shown(entry, fault)) is not None]
        if 2 * len(found) >= len(failing) and (best is None or len(found) > best[0]):
            best = (len(found), in_these_words(entry, task=stub, **found[0]))
    return best[1] if best else None


def _shown(entry: Misconception, fault: Fault) -> dict[str, str] | None:
    """Return what the words on a general mistake need, where a fault shows it; else None."""
    raised = find(fault, "raised")
    match = re.search(entry.error, raised.text) if entry.error and raised else None
    if match is not None:
        return match.groupdict()
    found = find(fault, entry.fault) if entry.fault else None
    return None if found is None else {"what": what_in_words(found), "names": names_in_words(found)}


def in_these_words(entry: Misconception, **words: str) -> Misconception:
    """Fill words into the title and the hint of a misconception."""
    return replace(entry, title=say(entry.title, **words), hint=say(entry.hint, **words))


def find_global_for_argument(outcomes: list[Outcome], faults: Faults) -> Misconception | None:
    """Say that a variable of the notebook is used, where no case passes and an argument is idle.

    Args:
        outcomes: the answer's.
        faults: what is wrong with each, None where it passes.

    Returns:
        the mistake, or None.
    """
    if not all(faults) or not outcomes or len(outcomes[0].instead) != 2:
        return None
    argument, variable = outcomes[0].instead
    return in_these_words(NAME_OF_THE_NOTEBOOK, argument=argument, variable=variable)
