"""Choose the process that an answer runs in, and bring its outcomes back."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import torch

from transformer_ref.checks import plain
from transformer_ref.checks.process import Ended, Send, run_forked
from transformer_ref.checks.registry import find_task
from transformer_ref.checks.run import run_cases, without_input
from transformer_ref.checks.task import Case, Outcome, Task
from transformer_ref.checks.worker import Worker, WorkerError

TIME_LIMIT_SECONDS = 10.0
TIME_LIMIT_VARIABLE = "TRANSFORMER_REF_CHECK_SECONDS"

_worker = Worker()


def time_limit() -> float:
    """Return the seconds that an answer has for a task, from the environment if set there.

    Returns:
        the limit.

    Raises:
        ValueError: if the environment variable is not a positive number.
    """
    text = os.environ.get(TIME_LIMIT_VARIABLE, "")
    try:
        seconds = float(text) if text else TIME_LIMIT_SECONDS
    except ValueError:
        seconds = -1.0
    if not seconds > 0:
        raise ValueError(f"{TIME_LIMIT_VARIABLE} must be a number above 0, got {text!r}")
    return seconds


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
    if not hasattr(os, "fork"):
        raise RuntimeError("the checks need os.fork: run them on Linux, macOS or in WSL")
    ended = _run(task, answer, cases, seconds)
    try:
        outcomes = [Outcome(**plain.decode(frame)) for frame in ended.frames]
        if all(outcome.is_well_formed() for outcome in outcomes):
            return outcomes, ended.how
    except (ValueError, TypeError):
        pass
    return [], "it sent something that is not a result"


def _run(task: Task, answer: Any, cases: list[Case], seconds: float) -> Ended:
    """Fork this process if that is safe; else, or if the child is stuck, ask the worker."""

    def work(send: Send) -> None:
        work_in_child(task.key, lambda: answer, packed, send)

    packed = plain.encode([asdict(case) for case in cases])
    reason = "CUDA is in use here"
    if sys.platform == "linux" and not torch.cuda.is_available():
        ended = run_forked(work, seconds)
        if ended.how != "not ready":
            return ended
        reason = "a copy of this process does not compute"
    try:
        return _worker.run(task.key, answer, packed, seconds)
    except WorkerError as error:
        packed = plain.encode([asdict(case) for case in cases if case.device != "cuda"])
        ended = run_forked(work, seconds)
        if ended.how != "not ready":
            return ended
        return Ended([], f"it cannot be run: {reason}, and {error}")


def work_in_child(task: str, unpack: Callable[[], Any], cases: bytes, send: Send) -> None:
    """Run an answer and send each outcome as soon as it is there; called in the child process.

    Args:
        task: key of the task.
        unpack: gives the answer.
        cases: the encoded cases.
        send: sends bytes to the caller.
    """
    without_input()
    questions = [Case(**each) for each in plain.decode(cases)]
    try:
        answer = unpack()
    except BaseException as error:
        text = f"it cannot be read in the grading process: {type(error).__name__}: {error}"
        for _ in questions:
            send(plain.encode(Outcome(fault="raised", error=text).as_plain()))
        return
    for outcome in run_cases(find_task(task), answer, questions):
        try:
            frame = plain.encode(outcome.as_plain())
        except Exception as error:
            said = f"its result cannot be read: {type(error).__name__}"
            frame = plain.encode(Outcome(fault="returned", error=said).as_plain())
        send(frame)
