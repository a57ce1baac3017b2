"""Say in words what is wrong with the outcome of one case, compared with the reference's.

Nothing here calls an answer or any object of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from transformer_checks.judging.exam import Exam, read_all
from transformer_checks.running import wire_format
from transformer_checks.running.asking import describe
from transformer_checks.running.comparing import (
    MATCH_SLACK,
    Tolerance,
    array_difference,
    difference,
    same,
)
from transformer_checks.task import Case, FunctionTask, ModuleTask, Outcome, Task


def find_fault(exam: Exam, number: int, outcomes: list[Outcome]) -> str:
    """Say what is wrong with the outcome of one case.

    Args:
        exam: the cases with the right results.
        number: which case.
        outcomes: the answer's, all of them.

    Returns:
        one sentence, or "" if nothing is wrong.
    """
    outcomes = read_all(exam, outcomes)
    return fault_of_result(exam, number, outcomes) or _fault_beside(exam, number, outcomes)


def fault_of_result(exam: Exam, number: int, outcomes: list[Outcome]) -> str:
    """Say what is wrong with what was returned."""
    case, outcome, expected = exam.cases[number], outcomes[number], exam.expected[number]
    if case.refused:
        return _not_refused(case, outcome, outcomes)
    if outcome.fault:
        verb = "it raised " if outcome.fault in ("raised", "unsolved") else ""
        return f"{verb}{outcome.error}" or "it gave no result, and no reason"
    tolerance = exam.task.tolerances[case.dtype]
    for name in exam.task.returns:
        reason = _wrong_form(exam.task, name, case, outcome, expected)
        if reason:
            return reason
    reason = _wrong_makings(exam.task, outcome, expected)
    if reason:
        return reason
    # In some cases only: the rest is worth its points.
    if case.cotangent is not None and learns_too_much(exam.task, outcome):
        return f"training would change `{outcome.trainable[0]}`, which is a parameter of the module"
    for said in exam.task.properties:
        reason = said(case, {**outcome.values, **outcome.left, **outcome.noted}) or ""
        if reason:
            return reason
    if not _repeats(exam, case, outcome, outcomes):
        return case.same_because
    return _wrong_values(exam.task.returns, outcome.values, expected.values, tolerance)


def learns_too_much(task: Task, outcome: Outcome) -> bool:
    """Say whether training would change a module that has nothing to learn.

    Args:
        task: the task.
        outcome: of its answer in any case.

    Returns:
        False for what is no module, and where there is something to learn.
    """
    return isinstance(task, ModuleTask) and task.nothing_to_learn and bool(outcome.trainable)


def _fault_beside(exam: Exam, number: int, outcomes: list[Outcome]) -> str:
    """Say what is wrong in a case whose result is right."""
    case, outcome, expected = exam.cases[number], outcomes[number], exam.expected[number]
    if case.refused:
        return ""
    tolerance = exam.task.tolerances[case.dtype]
    return (
        _wrong_left(outcome, expected, tolerance)
        or _wrong_gradients(case, outcome, expected, tolerance)
        or _changed_inputs(case, outcome)
    )


def _not_refused(case: Case, outcome: Outcome, outcomes: list[Outcome]) -> str:
    """Say what came where a ValueError was asked for, or "" if it came."""
    if outcome.fault == "refused":
        everything = all(each.fault for each in outcomes)
        return "it raises in every case, not only where it should" if everything else ""
    raised = "it raised " if outcome.fault == "raised" else ""
    did = f"{raised}{outcome.error}" if outcome.fault else "no error was raised"
    return f"expected a ValueError, because {case.refused}; {did}"


def _wrong_form(task: Task, name: str, case: Case, outcome: Outcome, expected: Outcome) -> str:
    """Compare the type of plain data; of tensors device, dtype and shape, and look for NaN."""
    received, right = outcome.values.get(name), expected.values[name]
    if task.form is not None:
        return _wrong_type(name, received, task.form)
    if not isinstance(received, np.ndarray):
        return f"`{name}` is missing"
    if received.shape != right.shape:
        return f"`{name}`: expected shape {right.shape}, received {received.shape}"
    any_float = isinstance(task, FunctionTask) and task.any_float
    if any_float and not outcome.dtypes[name].startswith(("float", "bfloat")):
        return f"`{name}`: expected a floating dtype, received {outcome.dtypes[name]}"
    if not any_float and outcome.dtypes[name] != expected.dtypes[name]:
        kept = " as in the input" if _has_floats(case) else ""
        return (
            f"`{name}`: expected dtype {expected.dtypes[name]}{kept}, "
            f"received {outcome.dtypes[name]}"
        )
    device = case.device if case.device == "cuda" else expected.devices[name]
    if outcome.devices[name] != device:
        return f"`{name}`: expected it on {device}, received it on {outcome.devices[name]}"
    if np.isnan(received).any():
        mask = case.arguments.get("mask")
        all_see = isinstance(mask, np.ndarray) and bool(mask.any(axis=-1).all())
        seen = ", though every query may see at least one key" if all_see else ""
        return f"`{name}` holds NaN{seen}"
    return ""


def _has_floats(case: Case) -> bool:
    given = case.arguments.values()
    return any(isinstance(each, np.ndarray) and each.dtype.kind == "f" for each in given)


def _wrong_type(name: str, received: Any, form: Any) -> str:
    found = wire_format.misfit(received, form)
    if found is None:
        return ""
    path, value, wanted = found
    where = wire_format.placed(name, path)
    return f"{where} is {describe(value)}, expected {wire_format.written(wanted)}"


def _wrong_makings(task: Task, outcome: Outcome, expected: Outcome) -> str:
    """Look for made arguments that cannot be compared; the sender may have been an answer."""
    if outcome.noted.keys() != expected.noted.keys() or any(
        wire_format.misfit(each, task.makers[name].form) for name, each in outcome.noted.items()
    ):
        return "it is not known any more how the arguments were used"
    for name, right in expected.left.items():
        if name not in outcome.left:
            return f"`{name}` is missing after the call"
        if outcome.left[name].shape != right.shape:
            return (
                f"`{name}` has another shape after the call: expected {right.shape}, "
                f"received {outcome.left[name].shape}"
            )
    more = outcome.left.keys() - expected.left.keys()
    return f"`{min(more)}` should not be there after the call" if more else ""


def _wrong_left(outcome: Outcome, expected: Outcome, tolerance: Tolerance) -> str:
    """Compare what the call left in the arguments that were made."""
    names = tuple(expected.left)
    said = _wrong_values(names, outcome.left, expected.left, tolerance)
    return f"after the call {said}" if said else ""


def _repeats(exam: Exam, case: Case, outcome: Outcome, outcomes: list[Outcome]) -> bool:
    if case.same_as is None:
        return True
    names = [each.name for each in exam.cases]
    other = outcomes[names.index(case.same_as)]
    if other.fault:
        return True
    tolerance = exam.task.tolerances[case.dtype]
    return all(
        name in other.values and same(outcome.values[name], other.values[name], tolerance)
        for name in exam.task.returns
    ) and all(
        name in other.left and same(each, other.left[name], tolerance)
        for name, each in outcome.left.items()
    )


def _wrong_values(
    names: tuple[str, ...],
    received: Mapping[str, Any],
    expected: Mapping[str, Any],
    tolerance: Tolerance,
) -> str:
    for name in names:
        if not same(received[name], expected[name], tolerance):
            return difference(name, received[name], expected[name], tolerance)
    return ""


def _wrong_gradients(case: Case, outcome: Outcome, expected: Outcome, tolerance: Tolerance) -> str:
    if case.cotangent is None:
        return ""
    missing = [name for name in expected.gradients if name not in outcome.gradients]
    if missing:
        return (
            f"no gradient reaches {', '.join(f'`{name}`' for name in missing)}: training would not "
            "learn through this. Look for detach, .data, no_grad, .item(), numpy or a new "
            "torch.tensor"
        )
    slack = (tolerance[0] * MATCH_SLACK, tolerance[1] * MATCH_SLACK)
    for name, right in expected.gradients.items():
        if not same(outcome.gradients[name], right, slack):
            said = array_difference(outcome.gradients[name], right, slack)
            return f"the gradient of `{name}`{said}"
    return ""


def _changed_inputs(case: Case, outcome: Outcome) -> str:
    if not outcome.changed:
        return ""
    names = " and ".join(f"`{name}`" for name in outcome.changed)
    look = "append, extend, pop, sort, del or an assignment to an entry"
    if isinstance(case.arguments.get(outcome.changed[0]), np.ndarray):
        look = "an operation in place (a name that ends in _, +=, *=, or x[...] = ...)"
    return f"the caller's {names} holds other values after the call. Look for {look} on an argument"
