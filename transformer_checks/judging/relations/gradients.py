"""Relations of what is wrong beside a result: gradients, and what a call leaves behind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transformer_checks.judging.exam import Exam
from transformer_checks.judging.facts import Relation, Term
from transformer_checks.judging.relations import values
from transformer_checks.judging.relations.evidence import Pair, in_common, make_pair
from transformer_checks.running.comparing import MATCH_SLACK, same
from transformer_checks.task import Outcome

# A step is a small difference of large numbers, of which float32 has rounded both.
STEP_CLOSE = 1e-3


def gradient_relation(
    exam: Exam, outcomes: list[Outcome], failing: Sequence[int]
) -> Relation | None:
    """Say what wrong gradients have in common.

    Args:
        exam: the cases with the right results.
        outcomes: the answer's, read.
        failing: the numbers of the cases in which nothing but a gradient is wrong.

    Returns:
        the relation, or None.
    """
    found: dict[str, list[Pair]] = {}
    for number in failing:
        case, expected = exam.cases[number], exam.expected[number]
        tolerance = exam.task.tolerances[case.dtype]
        for name, right in expected.gradients.items():
            mine = outcomes[number].gradients.get(name)
            slack = (tolerance[0] * MATCH_SLACK, tolerance[1] * MATCH_SLACK)
            if mine is None or same(mine, right, slack):
                continue
            of = Term("gradient-of", name=name)
            pair = make_pair(number, case, of, mine, right, tolerance)
            if pair is not None:
                found.setdefault(name, []).append(pair)
    for pairs in found.values():
        common = in_common((values.copied, values.multiplied, values.undefined), pairs)
        if common:
            return common[0]
    if len(found) == 1:
        return Relation("gradient", name=next(iter(found)))
    return None


def step_relation(exam: Exam, outcomes: list[Outcome], failing: Sequence[int]) -> Relation | None:
    """Say what the wrong changes of a model have in common, where a call should change it.

    Args:
        exam: the cases with the right results.
        outcomes: the answer's, read.
        failing: the numbers of the failing cases.

    Returns:
        the relation, or None.
    """
    pairs = [
        _step(exam, outcomes, number)
        for number in failing
        if not outcomes[number].fault and not exam.cases[number].refused
    ]
    whole = [pair for pair in pairs if pair is not None]
    if len(whole) < len(pairs):
        return None
    common = in_common((values.copied, values.multiplied), whole)
    return common[0] if common else None


def _step(exam: Exam, outcomes: list[Outcome], number: int) -> Pair | None:
    """Put the change of all parameters in one case beside the right change."""
    case, outcome, expected = exam.cases[number], outcomes[number], exam.expected[number]
    before = {
        f"{name}.{part}": array
        for name, value in case.arguments.items()
        if isinstance(value, dict) and isinstance(value.get("weights"), dict)
        for part, array in value["weights"].items()
    }
    names = [name for name in expected.left if name in before and name in outcome.left]
    if not names:
        return None
    mine, right = (
        np.concatenate([(each[name].astype(np.float64) - before[name]).ravel() for name in names])
        for each in (outcome.left, expected.left)
    )
    close = STEP_CLOSE * float(np.abs(right).max())
    pair = make_pair(number, case, Term("step"), mine, right, (STEP_CLOSE, close))
    return pair if pair is not None and pair.wrong.any() else None
