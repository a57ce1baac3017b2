"""The student's process: executes a notebook's cells, and puts cases to what they define.

It runs in the sandbox, and is asked through a pipe: it knows no right result, no points, no name.
Nothing that it says is believed, apart from plain arrays, which the judge compares.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import redirect_stderr, redirect_stdout
from types import FrameType
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from transformer_checks.classroom.system_calls import forbid_system_calls
from transformer_checks.limits import SUBMISSION_PRINTED
from transformer_checks.registry import all_tasks, find_task
from transformer_checks.running import wire_format
from transformer_checks.running.asking import (
    Printed,
    describe_error,
    why_no_answer,
    without_display,
    without_input,
)
from transformer_checks.running.child_process import Child, ask_forked
from transformer_checks.running.frames import read_frame, write_frame
from transformer_checks.running.process import Send, load_for_meta
from transformer_checks.running.working import work_in_child


class StoppedError(BaseException):
    """The time of a cell is up; not an Exception, as a cell may catch those."""


def serve() -> None:
    """Answer requests from standard input on standard output, until the judge is gone."""
    requests, replies = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    without_input()
    shell = prepare()
    answers = Answers(shell)
    write_frame(replies, wire_format.encode("ready"))
    while True:
        try:
            request = wire_format.decode(read_frame(requests))
            kind = request.pop("kind")
            cases = read_frame(requests) if kind == "answer" else b""
        except (OSError, ValueError):
            return
        if kind == "cell":
            answers.forget()
            frames = [_execute(shell, **request)]
        elif kind == "problem":
            frames = [_problem(shell, **request)]
        else:
            frames = answers.ask(cases, **request)
        write_frame(replies, *frames)


def prepare() -> InteractiveShell:
    """Load and make all that needs no submission: in a copy of what called it that is all there.

    Returns:
        what executes cells as a notebook does, with its magics, and keeps no history.
    """
    load_for_meta()  # with torch's compiler, which the first optimizer of an answer would load
    all_tasks()
    settings = Config()
    settings.HistoryManager.enabled = False
    settings.InteractiveShell.colors = "nocolor"
    shell = InteractiveShell.instance(config=settings)
    shell.showtraceback = lambda *_, **__: None  # type: ignore[method-assign]  # told in a line
    sys.modules["__main__"] = shell.user_module
    without_display()
    return shell


def _execute(shell: InteractiveShell, source: str, seconds: float) -> bytes:
    """Execute a cell; say what went wrong, and what it printed."""

    def stop(_: int, __: FrameType | None) -> None:
        raise StoppedError(f"stopped after {seconds:g} s: is there a loop that never ends?")

    printed = Printed(SUBMISSION_PRINTED)
    error: BaseException | None = None
    signal.signal(signal.SIGALRM, stop)
    with redirect_stdout(printed), redirect_stderr(printed):
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            result = shell.run_cell(source)
            error = result.error_before_exec or result.error_in_exec
        except BaseException as raised:
            error = raised
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    said = "" if error is None else describe_error(error)
    return wire_format.encode({"error": said, "printed": printed.getvalue()})


def _problem(shell: InteractiveShell, task: str, name: str) -> bytes:
    """Say why what stands under a name is no answer to a task."""
    return wire_format.encode(why_no_answer(find_task(task), shell.user_ns.get(name)))


class Answers:
    """What runs answers in copies of this process.

    The last copy is kept for the next question to the same answer: a task is asked twice, once
    with the cases that students know.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._child: Child | None = None
        self._asked: tuple[str, str] | None = None

    def ask(self, cases: bytes, task: str, name: str, seconds: float) -> list[bytes]:
        """Put cases to what stands under a name."""
        if self._asked != (task, name):
            self.forget()

        def work(cases: bytes, send: Send) -> None:
            work_in_child(task, lambda: self._shell.user_ns.get(name), cases, send)

        ended, self._child = ask_forked(work, cases, seconds, self._child)
        self._asked = (task, name)
        how: dict[str, Any] = {"how": ended.how, "number_of_frames": len(ended.frames)}
        return [wire_format.encode(how), *ended.frames]

    def forget(self) -> None:
        """End the copy that is kept; what stands under the name may change now."""
        if self._child is not None:
            self._child.end()
        self._child = None


if __name__ == "__main__":
    if sys.platform == "linux":
        forbid_system_calls()
    serve()
