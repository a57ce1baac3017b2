"""Judge outcomes: compare plain data with the reference's, and name the mistake.

Nothing here calls an answer or any object of it.
Exams keep the right results, as the next answer to the same task needs them again; a copy of the
process, in which an answer runs, loses them before it does anything else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any
from weakref import WeakSet

import numpy as np
import torch

from transformer_ref.checks import plain
from transformer_ref.checks.difference import Tolerance, array_difference, difference, same
from transformer_ref.checks.general_mistakes import (
    find_general_mistake,
    find_global_for_argument,
)
from transformer_ref.checks.registry import find_task
from transformer_ref.checks.run import describe, run_case
from transformer_ref.checks.task import Case, Misconception, Outcome, Task

# Scores that a mask has put this low are the same as minus infinity.
FILLED = -1e8
# A misconception shows in far more than rounding; an other order of operations must not hide it.
MATCH_SLACK = 10.0
# What an answer that is not right is worth at most.
MOST_FOR_WRONG = 0.5


@dataclass(frozen=True)
class Result:
    """What is said about an answer.

    Attributes:
        score: 1.0 if all cases pass, which means accepted; else the share of the cases passed, and
            at most 0.5; 0 when the answer is refused.
        misconception: key of the misconception, or None.
        message: the result in words, for the student.
        task: key of the task.
        passed: number of cases passed.
        total: number of cases.
    """

    score: float
    misconception: str | None
    message: str
    task: str = ""
    passed: int = 0
    total: int = 0


class Exam:
    """The cases of a task for one seed, with the right and the known wrong outcomes."""

    def __init__(self, task: Task, cases: list[Case]) -> None:
        self.task = task
        self.cases = cases
        self._wrong: dict[tuple[str, int, int], Outcome] = {}
        _exams.add(self)

    @cached_property
    def expected(self) -> list[Outcome]:
        """The reference's outcomes."""
        with _undisturbed():
            outcomes = [self._ask(self.task.reference, case) for case in self.cases]
        faults = [each.error for each in outcomes if each.fault not in ("", "refused")]
        if faults:
            raise RuntimeError(f"the reference of {self.task.key} fails: {faults[0]}")
        return outcomes

    def wrong(self, misconception: Misconception, variant: int, number: int) -> Outcome:
        """The outcome of one implementation of a misconception in one case, when first asked."""
        key = (misconception.key, variant, number)
        if key not in self._wrong:
            with _undisturbed():
                wrong = misconception.wrong[variant]
                self._wrong[key] = self._ask(wrong, self.cases[number])
        return self._wrong[key]

    def forget(self) -> None:
        """Overwrite and drop all outcomes; they are made again when they are asked for."""
        # Overwritten, as memory that was given back is handed out again with what is in it.
        for outcome in (*self.__dict__.pop("expected", ()), *self._wrong.values()):
            for arrays in (outcome.values, outcome.left, outcome.gradients):
                for array in arrays.values():
                    if isinstance(array, np.ndarray):
                        array.fill(0)
        self._wrong.clear()

    def _ask(self, ours: object, case: Case) -> Outcome:
        device = "cpu" if case.device == "cuda" else case.device
        case = replace(case, device=device)
        return _read(self.task, case, run_case(self.task, ours, case))


_exams: WeakSet[Exam] = WeakSet()


def _forget_all() -> None:
    for exam in _exams:
        exam.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


class _Read(Outcome):
    """An outcome whose values are what was found in them; none comes from an answer as such."""


def _read(task: Task, case: Case, outcome: Outcome) -> Outcome:
    """Find in an outcome what its task compares; no change where that is the values themselves."""
    if task.find is None or outcome.fault or isinstance(outcome, _Read):
        return outcome
    try:
        read = _Read(values={task.returns[0]: task.find(case, outcome)})
    except Exception:  # the sender may have been an answer
        read = _Read(fault="returned", error="what came back cannot be read")
    read.changed, read.forbidden, read.printed = outcome.changed, outcome.forbidden, outcome.printed
    return read


def _read_all(exam: Exam, outcomes: list[Outcome]) -> list[Outcome]:
    if exam.task.find is None:
        return outcomes
    return [_read(exam.task, *each) for each in zip(exam.cases, outcomes, strict=False)]


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Run code of our own in the caller's process, and leave its random state as it was.

    One thread: the tensors are tiny, and on a busy machine threads that wait cost far more.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        torch.set_num_threads(threads)


@lru_cache(maxsize=64)
def make_exam(key: str, seed: int, with_cuda: bool = False) -> Exam:
    """Make the cases of a task.

    Args:
        key: the task's.
        seed: another seed, other shapes and numbers.
        with_cuda: repeat some of the cases on CUDA.

    Returns:
        the exam.
    """
    task = find_task(key)
    words = np.random.SeedSequence([abs(seed), seed < 0, *key.encode()])
    cases = task.cases(np.random.default_rng(words))
    if with_cuda:
        with_tensors = [case for case in cases if case.has_tensors]
        cases += [
            replace(case, name=f"{case.name}, on CUDA", device="cuda", same_as=None)
            for case in with_tensors[:: max(1, len(with_tensors) // 4)]
        ]
    return Exam(task, cases)


def judge(exam: Exam, outcomes: list[Outcome], how: str, seconds: float) -> Result:
    """Judge what an answer did.

    Args:
        exam: the cases with the right results.
        outcomes: the answer's, one for each case that it came to.
        how: "done", or how the process ended.
        seconds: the time limit, for the message.

    Returns:
        the result.
    """
    key, total = exam.task.key, len(exam.cases)
    refusal = _refusal(exam, outcomes, how, seconds)
    if refusal:
        return Result(0.0, None, f"{key}: no points. {refusal}", key, 0, total)
    outcomes = _read_all(exam, outcomes)
    reasons = [find_fault(exam, number, outcomes) for number in range(total)]
    passed = reasons.count("")
    if passed == total:
        return Result(1.0, None, f"{key}: all {total} cases pass.", key, passed, total)
    mistake = find_misconception(exam, outcomes, reasons)
    message = _message(exam, outcomes, reasons, mistake)
    # Whether the mistake has a name does not count: to mend one of two would cost points.
    score = min(MOST_FOR_WRONG, passed / total)
    return Result(score, mistake.key if mistake else None, message, key, passed, total)


def _refusal(exam: Exam, outcomes: list[Outcome], how: str, seconds: float) -> str:
    """Say why an answer gets nothing at all, or ""."""
    for outcome in outcomes:
        if outcome.forbidden:
            return f"It calls {outcome.forbidden}, which this task asks you to do without."
    if outcomes and all(outcome.fault == "unsolved" for outcome in outcomes):
        return "It is not solved yet: the code raises NotImplementedError."
    if how == "done" and len(outcomes) == len(exam.cases):
        return ""
    at = ""
    if len(outcomes) < len(exam.cases):
        at = f" The case was: {exam.cases[len(outcomes)].name}."
    if how == "timeout":
        return (
            f"It was cut off after {seconds:g} s: is there a loop that never ends, or a wait?{at}"
        )
    return f"It gave no result: {how}.{at}"


def find_fault(exam: Exam, number: int, outcomes: list[Outcome]) -> str:
    """Say what is wrong with the outcome of one case.

    Args:
        exam: the cases with the right results.
        number: which case.
        outcomes: the answer's, all of them.

    Returns:
        one sentence, or "" if nothing is wrong.
    """
    outcomes = _read_all(exam, outcomes)
    return _fault_of_result(exam, number, outcomes) or _fault_beside(exam, number, outcomes)


def _fault_of_result(exam: Exam, number: int, outcomes: list[Outcome]) -> str:
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
    if case.cotangent is not None and exam.task.nothing_to_learn and outcome.trainable:
        return f"training would change `{outcome.trainable[0]}`, which is a parameter of the module"
    for said in exam.task.properties:
        reason = said(case, {**outcome.values, **outcome.left, **outcome.noted}) or ""
        if reason:
            return reason
    if not _repeats(exam, case, outcome, outcomes):
        return case.same_because
    return _wrong_values(exam.task.returns, outcome.values, expected.values, tolerance)


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
    if task.any_float and not outcome.dtypes[name].startswith(("float", "bfloat")):
        return f"`{name}`: expected a floating dtype, received {outcome.dtypes[name]}"
    if not task.any_float and outcome.dtypes[name] != expected.dtypes[name]:
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
    found = plain.misfit(received, form)
    if found is None:
        return ""
    path, value, wanted = found
    return f"{plain.placed(name, path)} is {describe(value)}, expected {plain.written(wanted)}"


def _wrong_makings(task: Task, outcome: Outcome, expected: Outcome) -> str:
    """Look for made arguments that cannot be compared; the sender may have been an answer."""
    if outcome.noted.keys() != expected.noted.keys() or any(
        plain.misfit(each, task.makers[name].form) for name, each in outcome.noted.items()
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


def find_misconception(
    exam: Exam, outcomes: list[Outcome], reasons: list[str]
) -> Misconception | None:
    """Find the misconception whose outcomes are this answer's, or the mistake that faults show.

    Args:
        exam: the cases.
        outcomes: the answer's.
        reasons: what is wrong with each, "" where it passes.

    Returns:
        the one that explains most cases without contradicting any; where there is none, a mistake
        that has a name in every task, or None.
    """
    outcomes = _read_all(exam, outcomes)
    return (
        # First: without its arguments an answer may raise just the error of some misconception.
        find_global_for_argument(outcomes, reasons)
        or _find_own(exam, outcomes, reasons)
        or find_general_mistake(exam.task.stub, reasons)
    )


def _find_own(exam: Exam, outcomes: list[Outcome], reasons: list[str]) -> Misconception | None:
    """Find the misconception of the task that explains most cases without contradicting any."""
    best: tuple[tuple[int, int], Misconception] | None = None
    for misconception in exam.task.misconceptions:
        for variant in range(len(misconception.wrong)):
            found = _agreement(exam, outcomes, reasons, misconception, variant)
            if found is not None and (best is None or found > best[0]):
                best = (found, misconception)
    return best[1] if best else None


def _agreement(
    exam: Exam,
    outcomes: list[Outcome],
    reasons: list[str],
    misconception: Misconception,
    variant: int,
) -> tuple[int, int] | None:
    """Count what speaks for a misconception: (minus cases unexplained, cases explained).

    Returns:
        None if a case contradicts it or nothing speaks for it.
    """
    pattern = misconception.error
    numbers = [number for number, case in enumerate(exam.cases) if case.device != "cuda"]
    numbers.sort(key=lambda number: bool(outcomes[number].fault))  # what can contradict comes first
    told = {number for number in numbers if pattern and re.search(pattern, outcomes[number].error)}
    if not told and all(outcomes[number].fault for number in numbers):
        return None
    unexplained = explained = 0
    for number in numbers:
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
            if not reasons[number]:
                return None
            unexplained += 1
        else:
            verdict = _same_mistake(exam, number, ours, their, not reasons[number])
            if verdict is None:
                return None
            explained += verdict
    return (-unexplained, explained) if explained and unexplained <= explained else None


def _same_leniency(exam: Exam, number: int, ours: Outcome, their: Outcome) -> bool | None:
    """Compare two outcomes of a case that is to be refused; returns as :func:`_same_mistake`."""
    if "refused" in (ours.fault, their.fault):
        return False if ours.fault == their.fault else None
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
        learns = exam.task.nothing_to_learn and bool(outcome.trainable)
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


def _message(
    exam: Exam, outcomes: list[Outcome], reasons: list[str], mistake: Misconception | None
) -> str:
    number = next(index for index, reason in enumerate(reasons) if reason)
    lines = [f"{exam.task.key}: {reasons.count('')} of {len(reasons)} cases pass."]
    if mistake is not None:
        lines += [f"Likely mistake: {mistake.title}.", f"  {mistake.hint}"]
    end = "" if reasons[number].endswith(("?", "!", ".")) else "."
    wrong = any(_fault_of_result(exam, each, outcomes) for each in range(len(outcomes)))
    but = "" if wrong else "the result is right, but "  # in every case, not only in this one
    lines += [f"First failing case: {exam.cases[number].name}.", f"  {but}{reasons[number]}{end}"]
    if outcomes[number].printed.strip():
        lines.append(f"  Your code printed: {outcomes[number].printed.strip()}")
    return "\n".join(lines)
