"""Find what is wrong with the outcome of one case, compared with the reference's.

Nothing here calls an answer or any object of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from transformer_checks.judging.exam import Exam, read_all
from transformer_checks.judging.facts import Fault, fault_of_outcome
from transformer_checks.running import wire_format
from transformer_checks.running.asking import type_and_size
from transformer_checks.running.comparing import MATCH_SLACK, Tolerance, same
from transformer_checks.task import Case, FunctionTask, ModuleTask, Outcome, Task


def find_fault(exam: Exam, number: int, outcomes: list[Outcome]) -> Fault | None:
    """Find what is wrong with the outcome of one case.

    Args:
        exam: the cases with the right results.
        number: which case.
        outcomes: the answer's, all of them.

    Returns:
        the first fault, or None if nothing is wrong.
    """
    outcomes = read_all(exam, outcomes)
    return fault_of_result(exam, number, outcomes) or _fault_beside(exam, number, outcomes)


def fault_of_result(exam: Exam, number: int, outcomes: list[Outcome]) -> Fault | None:
    """Find what is wrong with what was returned."""
    case, outcome, expected = exam.cases[number], outcomes[number], exam.expected[number]
    if case.refused:
        return _not_refused(case, outcome, outcomes)
    if outcome.fault:
        return fault_of_outcome(outcome)
    tolerance = exam.task.tolerances[case.dtype]
    for name in exam.task.returns:
        fault = _wrong_form(exam.task, name, case, outcome, expected)
        if fault:
            return fault
    fault = _wrong_makings(exam.task, outcome, expected)
    if fault:
        return fault
    # In some cases only: the rest is worth its points.
    if case.cotangent is not None and learns_too_much(exam.task, outcome):
        return Fault("trainable", outcome.trainable[0])
    for said in exam.task.properties:
        text = said(case, {**outcome.values, **outcome.left, **outcome.noted})
        if text:
            return Fault("property", text=text)
    if not _repeats(exam, case, outcome, outcomes):
        return Fault("not-repeated", text=case.same_because)
    return _wrong_values("values", exam.task.returns, outcome.values, expected.values, tolerance)


def learns_too_much(task: Task, outcome: Outcome) -> bool:
    """Say whether training would change a module that has nothing to learn.

    Args:
        task: the task.
        outcome: of its answer in any case.

    Returns:
        False for what is no module, and where there is something to learn.
    """
    return isinstance(task, ModuleTask) and task.nothing_to_learn and bool(outcome.trainable)


def _fault_beside(exam: Exam, number: int, outcomes: list[Outcome]) -> Fault | None:
    """Find what is wrong in a case whose result is right."""
    case, outcome, expected = exam.cases[number], outcomes[number], exam.expected[number]
    if case.refused:
        return None
    tolerance = exam.task.tolerances[case.dtype]
    return (
        _wrong_values("left", tuple(expected.left), outcome.left, expected.left, tolerance)
        or _wrong_gradients(case, outcome, expected, tolerance)
        or _changed_inputs(case, outcome)
    )


def _not_refused(case: Case, outcome: Outcome, outcomes: list[Outcome]) -> Fault | None:
    """Find what came where a ValueError was asked for; None if it came."""
    if outcome.fault == "refused":
        return Fault("always-refused") if all(each.fault for each in outcomes) else None
    did = fault_of_outcome(outcome) or Fault("no-error")
    return Fault("not-refused", text=case.refused, inside=did)


def _wrong_form(
    task: Task, name: str, case: Case, outcome: Outcome, expected: Outcome
) -> Fault | None:
    """Compare the type of plain data; of tensors device, dtype and shape, and look for NaN."""
    received, right = outcome.values.get(name), expected.values[name]
    if task.form is not None:
        return _wrong_type(name, received, task.form)
    if not isinstance(received, np.ndarray):
        return Fault("missing", name)
    if received.shape != right.shape:
        return Fault("shape", name, right.shape, received.shape)
    dtype, wanted = outcome.dtypes[name], expected.dtypes[name]
    any_float = isinstance(task, FunctionTask) and task.any_float
    if any_float and not dtype.startswith(("float", "bfloat")):
        return Fault("dtype.floating", name, received=dtype)
    if not any_float and dtype != wanted:
        return Fault("dtype.kept" if _has_floats(case) else "dtype", name, wanted, dtype)
    device = case.device if case.device == "cuda" else expected.devices[name]
    if outcome.devices[name] != device:
        return Fault("device", name, device, outcome.devices[name])
    if np.isnan(received).any():
        mask = case.arguments.get("mask")
        all_see = isinstance(mask, np.ndarray) and bool(mask.any(axis=-1).all())
        return Fault("nan.all-see" if all_see else "nan", name)
    return None


def _has_floats(case: Case) -> bool:
    given = case.arguments.values()
    return any(isinstance(each, np.ndarray) and each.dtype.kind == "f" for each in given)


def _wrong_type(name: str, received: Any, form: Any) -> Fault | None:
    found = wire_format.misfit(received, form)
    if found is None:
        return None
    path, value, wanted = found
    expected = wire_format.written(wanted)
    return Fault("returned.plain", f"{name}{path}", expected, **type_and_size(value))


def _wrong_makings(task: Task, outcome: Outcome, expected: Outcome) -> Fault | None:
    """Look for made arguments that cannot be compared; the sender may have been an answer."""
    if outcome.noted.keys() != expected.noted.keys() or any(
        wire_format.misfit(each, task.makers[name].form) for name, each in outcome.noted.items()
    ):
        return Fault("unknown-use")
    for name, right in expected.left.items():
        if name not in outcome.left:
            return Fault("left.missing", name)
        if outcome.left[name].shape != right.shape:
            return Fault("left.shape", name, right.shape, outcome.left[name].shape)
    more = outcome.left.keys() - expected.left.keys()
    return Fault("left.extra", min(more)) if more else None


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
    kind: str,
    names: tuple[str, ...],
    received: Mapping[str, Any],
    expected: Mapping[str, Any],
    tolerance: Tolerance,
) -> Fault | None:
    for name in names:
        if not same(received[name], expected[name], tolerance):
            return Fault(kind, name, expected[name], received[name], tolerance=tolerance)
    return None


def _wrong_gradients(
    case: Case, outcome: Outcome, expected: Outcome, tolerance: Tolerance
) -> Fault | None:
    if case.cotangent is None:
        return None
    missing = [name for name in expected.gradients if name not in outcome.gradients]
    if missing:
        return Fault("no-gradient", tuple(missing))
    slack = (tolerance[0] * MATCH_SLACK, tolerance[1] * MATCH_SLACK)
    names = tuple(expected.gradients)
    return _wrong_values("gradient", names, outcome.gradients, expected.gradients, slack)


def _changed_inputs(case: Case, outcome: Outcome) -> Fault | None:
    if not outcome.changed:
        return None
    tensor = isinstance(case.arguments.get(outcome.changed[0]), np.ndarray)
    return Fault("changed.tensor" if tensor else "changed.plain", tuple(outcome.changed))
