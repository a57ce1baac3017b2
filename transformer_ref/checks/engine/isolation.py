"""Choose the process that an answer runs in, and bring its outcomes back.

Where a class is graded, the answer lives in a process of its own already: an `AnswerElsewhere`.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import torch

from transformer_ref.checks.engine import wire_format
from transformer_ref.checks.engine.asking import run_cases, without_display, without_input
from transformer_ref.checks.engine.child_process import (
    Ended,
    Send,
    lift_memory_limit,
    load_for_meta,
    run_forked,
)
from transformer_ref.checks.engine.clean_process import Worker, WorkerError
from transformer_ref.checks.registry import find_task
from transformer_ref.checks.task import Case, Outcome, Task

# In the text of Python's and numpy's error, and of torch's.
_OUT_OF_MEMORY = ("MemoryError", "can't allocate memory")

TOO_MANY = "it sent more results than there are cases"

_worker = Worker()


class AnswerElsewhere(ABC):
    """An answer that lives in another process: the judge has its name, and never the object."""

    @abstractmethod
    def problem(self, task: str) -> str:
        """Say why what stands under the name is no answer to a task, or ""."""

    @abstractmethod
    def run(self, task: str, cases: bytes, number: int, seconds: float) -> Ended:
        """Run it where it is, on that many encoded cases, with so many seconds for all of them."""


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

    Raises:
        RuntimeError: if this system has no way to run it.
    """
    if not isinstance(answer, AnswerElsewhere) and not hasattr(os, "fork"):
        raise RuntimeError("the checks need os.fork: run them on Linux, macOS or in WSL")
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
    """Fork this process if that is safe; else, or if the child is stuck, ask the worker."""

    def work(send: Send) -> None:
        work_in_child(task.key, lambda: answer, packed, send)

    on_cpu = [case for case in cases if case.device != "cuda"]
    if isinstance(answer, AnswerElsewhere):
        return answer.run(task.key, _packed(on_cpu), len(on_cpu), seconds)
    packed = _packed(cases)
    with_meta = any("meta" in (case.device, case.arguments.get("device")) for case in cases)
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


def work_in_child(task: str, unpack: Callable[[], Any], cases: bytes, send: Send) -> None:
    """Run an answer and send each outcome as soon as it is there; called in the child process.

    Args:
        task: key of the task.
        unpack: gives the answer.
        cases: the encoded cases.
        send: sends bytes to the caller.
    """
    without_input()
    with suppress(Exception):  # whatever state the student's plotting is in
        without_display()
    questions = [Case(**each) for each in wire_format.decode(cases)]
    try:
        answer = unpack()
    except BaseException as error:
        text = f"it cannot be read in the grading process: {type(error).__name__}: {error}"
        for _ in questions:
            send(wire_format.encode(Outcome(fault="raised", error=text).as_plain()))
        return
    for outcome in _limited(questions, run_cases(find_task(task), answer, questions)):
        try:
            frame = wire_format.encode(outcome.as_plain())
        except Exception as error:
            said = f"its result cannot be read: {type(error).__name__}"
            frame = wire_format.encode(Outcome(fault="returned", error=said).as_plain())
        send(frame)


def _limited(cases: list[Case], outcomes: Iterator[Outcome]) -> Iterator[Outcome]:
    """Go through outcomes as they come, with a limit on memory that ends where CUDA begins.

    CUDA itself needs more. An answer that reached the limit before fails there unasked, as nothing
    would stop it.
    """
    stopped: Outcome | None = None
    for case in cases:
        if case.device == "cuda":
            if stopped is not None:
                yield stopped
                continue
            lift_memory_limit()
        outcome = next(outcomes)
        if any(each in outcome.error for each in _OUT_OF_MEMORY):
            stopped = outcome
        yield outcome
