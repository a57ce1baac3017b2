"""Relations of what is wrong beside a result: gradients, and what a call leaves behind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from transformer_ref.checks.engine.comparing import MATCH_SLACK, same
from transformer_ref.checks.engine.exam import Exam
from transformer_ref.checks.relations import values
from transformer_ref.checks.relations.evidence import (
    Pair,
    Relation,
    array_pair,
    in_common,
)
from transformer_ref.checks.task import Outcome


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
            pair = array_pair(number, case, f"the gradient of `{name}`", (mine, right), tolerance)
            if pair is not None:
                found.setdefault(name, []).append(pair)
    for pairs in found.values():
        common = in_common((values.copied, values.multiplied, values.undefined), pairs)
        if common:
            return common[0]
    if len(found) == 1:
        alone = next(iter(found))
        said = f"only the gradient of `{alone}` is wrong, and all others are right"
        return Relation("gradient", said)
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
    found: list[set[Relation]] = []
    for number in failing:
        if outcomes[number].fault or exam.cases[number].refused:
            continue
        here = list(_of_step(exam, outcomes, number))
        if not here:
            return None
        found.append(set(here))
        ordered = here
    if len(found) < 2:
        return None
    common = set.intersection(*found)
    return next((each for each in ordered if each in common), None)


def _of_step(exam: Exam, outcomes: list[Outcome], number: int) -> Iterator[Relation]:
    """Give what holds of the change in one case: its size, and which parameters have another."""
    case, outcome, expected = exam.cases[number], outcomes[number], exam.expected[number]
    before = {
        f"{name}.{part}": array
        for name, value in case.arguments.items()
        if isinstance(value, dict) and isinstance(value.get("weights"), dict)
        for part, array in value["weights"].items()
    }
    names = [name for name in expected.left if name in before and name in outcome.left]
    if not names:
        return
    tolerance = exam.task.tolerances[case.dtype]
    wrong = [name for name in names if not same(outcome.left[name], expected.left[name], tolerance)]
    if not wrong:
        return
    mine, right = (
        np.concatenate([(each[name].astype(np.float64) - before[name]).ravel() for name in names])
        for each in (outcome.left, expected.left)
    )
    size = float(np.abs(right).max(initial=0.0))
    if not np.isfinite(mine).all() or not size:
        return
    close = size * 2e-2
    for factor, text in (
        (0.0, "is not made at all"),
        (-1.0, "goes the wrong way: uphill"),
        (2.0, "is twice as large as it should be"),
        (0.5, "is half as large as it should be"),
    ):
        if np.abs(mine - factor * right).max() <= close:
            yield Relation("step", f"the step of the parameters {text}")
    large = np.abs(right) > 0.2 * size
    factor = float(np.sort(mine[large] / right[large])[large.sum() // 2])
    if factor > 0 and np.abs(mine - factor * right).max() <= 0.05 * max(1.0, factor) * size:
        way = "large" if factor > 1 else "small"
        yield Relation("step", f"the step of the parameters is too {way}, in the right direction")
    if len(wrong) < len(names):
        said = " and ".join(f"`{name}`" for name in wrong)
        yield Relation("step", f"only {said} is wrong after the call, and the other ones are right")
