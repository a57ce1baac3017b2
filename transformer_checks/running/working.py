"""What a child process does: unpack an answer, put the cases to it, and send each outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from transformer_checks.registry import find_task
from transformer_checks.running import wire_format
from transformer_checks.running.asking import run_cases, without_display, without_input
from transformer_checks.running.child_process import lift_memory_limit
from transformer_checks.running.process import Send
from transformer_checks.task import Case, Outcome

# In the text of Python's and numpy's error, and of torch's.
_OUT_OF_MEMORY = ("MemoryError", "can't allocate memory")


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
