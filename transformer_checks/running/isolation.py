"""Choose the process that an answer runs in, and bring its outcomes back.

Where a class is graded, the answer lives in a process of its own already: an `AnswerElsewhere`.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from typing import Any

import torch

from transformer_checks.running import new_process, wire_format
from transformer_checks.running.child_process import run_forked
from transformer_checks.running.clean_process import Worker, WorkerError
from transformer_checks.running.process import Ended, Send, load_for_meta
from transformer_checks.running.working import work_in_child
from transformer_checks.task import Case, Outcome, Task
from transformer_checks.translation import later

TOO_MANY = later("it sent more results than there are cases")

_worker = Worker()


class AnswerElsewhere(ABC):
    """An answer that lives in another process: the judge has its name, and never the object."""

    @abstractmethod
    def problem(self, task: str) -> str:
        """Say why what stands under the name is no answer to a task, or ""."""

    @abstractmethod
    def run(self, task: str, cases: bytes, number: int, seconds: float) -> Ended:
        """Run it where it is, on that many encoded cases, with so many seconds for all of them."""


class NamesElsewhere(ABC):
    """The names of another process: what a check takes for the namespace of a notebook there."""

    @abstractmethod
    def get(self, name: str) -> AnswerElsewhere:
        """Return where the object of that name is to be found."""


def run_answer(
    task: Task, answer: Any, cases: list[Case], seconds: float
) -> tuple[list[Outcome], str]:
    """Run an answer on cases in a process of its own.

    Args:
        task: the task.
        answer: the function or class.
        cases: the questions.
        seconds: time limit for all of them together.

    Returns:
        one outcome for each case that was answered, and "done" or how the process ended instead.

    """
    ended = _run(task, answer, cases, seconds)
    if len(ended.frames) > len(cases):
        return [], TOO_MANY
    try:
        outcomes = [Outcome(**wire_format.decode(frame)) for frame in ended.frames]
        if all(outcome.is_well_formed() for outcome in outcomes):
            return outcomes, ended.how
    except (ValueError, TypeError):
        pass
    return [], "it sent something that is not a result"


def _run(task: Task, answer: Any, cases: list[Case], seconds: float) -> Ended:
    """Fork this process if that is safe; else, or if the child is stuck, ask the worker.

    On Windows, which cannot fork at all, a new process takes the place of both.
    """

    def work(send: Send) -> None:
        work_in_child(task.key, lambda: answer, packed, send)

    on_cpu = [case for case in cases if case.device != "cuda"]
    if isinstance(answer, AnswerElsewhere):
        return answer.run(task.key, _packed(on_cpu), len(on_cpu), seconds)
    packed = _packed(cases)
    with_meta = any("meta" in (case.device, case.arguments.get("device")) for case in cases)
    if not hasattr(os, "fork"):
        return new_process.run(task.key, answer, packed, seconds, with_meta)
    if with_meta:
        load_for_meta()
    can_fork = sys.platform == "linux" and not torch.cuda.is_available()
    if can_fork:
        ended = run_forked(work, seconds)
        if ended.how != "not ready":
            return ended
    try:
        return _worker.run(task.key, answer, packed, seconds, with_meta)
    except WorkerError as error:
        said = str(error)
    if not can_fork:  # nor was it tried: better than nothing
        packed = _packed(on_cpu)
        ended = run_forked(work, seconds)
        if ended.how != "not ready":
            return ended
    return Ended([], f"it cannot be run: a copy of this process does not compute, and {said}")


def _packed(cases: list[Case]) -> bytes:
    return wire_format.encode([vars(case) for case in cases])
