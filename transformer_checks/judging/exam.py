"""The cases of a task for one seed, with the right outcomes and those of the known mistakes.

Exams keep them, as the next answer to the same task needs them again; a copy of the process, in
which an answer runs, loses them before it does anything else.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, lru_cache
from weakref import WeakSet

import numpy as np
import torch

from transformer_checks.judging.facts import Term, fault_of_outcome
from transformer_checks.judging.words import fault_in_words
from transformer_checks.registry import find_task
from transformer_checks.running.asking import run_case
from transformer_checks.task import Case, Misconception, Outcome, ProbeTask, Task


class Exam:
    """The cases of a task for one seed, with the right and the known wrong outcomes."""

    def __init__(self, task: Task, cases: list[Case]) -> None:
        self.task = task
        self.cases = cases
        self._wrong: dict[tuple[str | Term, int, int], Outcome] = {}
        _exams.add(self)

    @cached_property
    def expected(self) -> list[Outcome]:
        """The reference's outcomes."""
        with _undisturbed():
            outcomes = [self._ask(self.task.reference, case) for case in self.cases]
        faults = [
            fault_in_words(fault_of_outcome(each))
            for each in outcomes
            if each.fault not in ("", "refused")
        ]
        if faults:
            raise RuntimeError(f"the reference of {self.task.key} fails: {faults[0]}")
        return outcomes

    def wrong(self, misconception: Misconception, variant: int, number: int) -> Outcome:
        """The outcome of one implementation of a misconception in one case, when first asked."""
        key = (misconception.key, variant, number)
        if key not in self._wrong:
            with _undisturbed():
                wrong = self.task.wrong(misconception, variant)
                self._wrong[key] = self._ask(wrong, self.cases[number])
        return self._wrong[key]

    def otherwise(self, change: Term, number: int, case: Case) -> Outcome:
        """The reference's outcome of a changed case, when first asked.

        Args:
            change: what was changed.
            number: of the case that was changed.
            case: the changed one.

        Returns:
            the outcome.
        """
        known = (change, 0, number)
        if known not in self._wrong:
            with _undisturbed(), warnings.catch_warnings(action="ignore"):
                try:
                    self._wrong[known] = self._ask(self.task.reference, case)
                except Exception as error:  # a question that cannot even be put
                    self._wrong[known] = Outcome(fault="raised", error=repr(error))
        return self._wrong[known]

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
    if not isinstance(task, ProbeTask) or outcome.fault or isinstance(outcome, _Read):
        return outcome
    try:
        read = _Read(values={task.returns[0]: task.find(case, outcome)})
    except Exception:  # the sender may have been an answer
        read = _Read(fault="returned", about={"kind": "unreadable"})
    read.changed, read.forbidden, read.printed = outcome.changed, outcome.forbidden, outcome.printed
    return read


def read_all(exam: Exam, outcomes: list[Outcome]) -> list[Outcome]:
    """Find in an answer's outcomes what its task compares.

    Args:
        exam: the cases.
        outcomes: the answer's; those that are read already stay as they are.

    Returns:
        the outcomes, the same ones where the values themselves are compared.
    """
    if not isinstance(exam.task, ProbeTask):
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
    cases = _numbered(task.cases(np.random.default_rng(words)))
    if with_cuda:
        with_tensors = [case for case in cases if case.has_tensors]
        cases += [
            replace(case, name=f"{case.name}, on CUDA", device="cuda", same_as=None)
            for case in with_tensors[:: max(1, len(with_tensors) // 4)]
        ]
    return Exam(task, cases)


def _numbered(cases: list[Case]) -> list[Case]:
    """Number the cases, so that no two have one name, and keep what they say of each other."""
    names = [f"[{number}] {case.name}" for number, case in enumerate(cases, start=1)]
    return [
        replace(case, name=name, same_as=names[_repeated(case, cases)] if case.same_as else None)
        for case, name in zip(cases, names, strict=True)
    ]


def _repeated(case: Case, cases: list[Case]) -> int:
    """Find the case that another one repeats.

    Sizes are drawn, so two cases may have one name; meant is the one whose arguments it shares.
    """

    def shared(number: int) -> int:
        theirs = cases[number].arguments.items()
        return sum(value is case.arguments.get(name) for name, value in theirs)

    return max((n for n, each in enumerate(cases) if each.name == case.same_as), key=shared)
