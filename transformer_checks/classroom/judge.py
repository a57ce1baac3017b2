"""The judge's side: has a notebook's cells executed in the sandbox, and runs its checks out here.

A cell with points is executed in this process, where what it calls ``globals()`` holds the names
of the student's objects and no object; :func:`transformer_checks.check` then makes the cases,
sends them into the sandbox, and judges the arrays that come back.
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil

from transformer_checks.classroom.processes import Process
from transformer_checks.classroom.sandbox import Sandbox
from transformer_checks.judging.texts import printable_output
from transformer_checks.limits import (
    FREE_CELL_SECONDS,
    INTERRUPT_SECONDS,
    JUDGE_SECONDS,
    OUTPUT_BYTES,
    REPLY_BYTES,
    SUBMISSION_MEMORY_BYTES,
    SUBMISSION_PRINTED,
    SUBMISSION_SECONDS,
    SUBMISSION_TASKS,
    WORKER_START_SECONDS,
    copy_seconds,
)
from transformer_checks.running import wire_format
from transformer_checks.running.asking import Printed, describe_error
from transformer_checks.running.frames import read_frame, write_frame
from transformer_checks.running.isolation import TOO_MANY, AnswerElsewhere, NamesElsewhere
from transformer_checks.running.process import Ended

START_TRIES = 3  # podman fails now and then, where it is busy
FEW_PROCESSES = 8  # an answer's copy and some; where there are more, no time may be lost
LOOK_SECONDS = 0.1  # how often the memory and the processes of a sandbox are looked at
AGAIN_SECONDS = 5.0  # then a check is stopped again: Python ignores an error in a destructor


@dataclass(frozen=True)
class Cell:
    """A code cell of a notebook that is graded.

    Attributes:
        source: its text.
        graded: whether it is a check, which ends with a number of points.
    """

    source: str
    graded: bool = False


@dataclass
class CellResult:
    """What came of a cell.

    Attributes:
        printed: the first part of what it printed.
        error: its error in a line, or "".
        value: what a check ended with, as text.
    """

    printed: str = ""
    error: str = ""
    value: str = ""


@dataclass
class Graded:
    """What came of a notebook.

    Attributes:
        cells: a result for each cell.
        sandbox: the name of the sandbox, "none" without one.
        seconds: how long it took.
        peak_bytes: the most memory that the student's processes had together; what they share
            may be counted for each of them.
        ended: why the student's process was ended, each time that it was.
    """

    cells: list[CellResult] = field(default_factory=list)
    sandbox: str = ""
    seconds: float = 0.0
    peak_bytes: int = 0
    ended: list[str] = field(default_factory=list)

    def as_plain(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Graded:
        """Return what :meth:`as_plain` wrote."""
        return cls(**{**plain, "cells": [CellResult(**cell) for cell in plain["cells"]]})


class ProcessEndedError(RuntimeError):
    """The student's process has ended; the text says why, for the student."""


class StudentProcess:
    """The process in the sandbox, from outside. It is started again when a cell has ended it."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.peak_bytes = 0
        self.ended: list[str] = []
        self._sandbox = sandbox
        self._deadline = time.monotonic() + SUBMISSION_SECONDS
        self._process: Process | None = None
        self._too_much = ""
        self._executed: list[str] = []

    def execute(self, source: str) -> CellResult:
        """Execute a cell; one that ends the process is left out from then on."""
        try:
            result = self._ask_cell(source)
        except ProcessEndedError as error:
            return CellResult(error=f"{error} This cell counts as if it were not there.")
        self._executed.append(source)
        return result

    def ask(
        self, request: dict[str, Any], cases: bytes | None, seconds: float, most: int = 0
    ) -> list[bytes]:
        """Send a request and read the reply, and more frames if it announces some.

        Args:
            request: what to do.
            cases: what an answer is asked, encoded.
            seconds: how long to wait at most.
            most: how many further frames may come.

        Returns:
            the reply, and the further frames.

        Raises:
            ProcessEndedError: if it does not answer, or not in this way; it is ended then.
        """
        process = self._started()
        deadline = min(time.monotonic() + seconds, self._deadline)
        try:
            sent = (wire_format.encode(request), *([] if cases is None else [cases]))
            write_frame(process.requests, *sent, deadline=deadline)
            frames = [read_frame(process.replies, deadline, REPLY_BYTES)]
            more = wire_format.decode(frames[0]) if cases is not None else {}
            number, room = int(more.get("number_of_frames", 0)), OUTPUT_BYTES
            if number > most:
                raise ValueError(TOO_MANY)
            for _ in range(number):
                frames.append(read_frame(process.replies, deadline, room))
                room -= len(frames[-1]) + 8  # a frame without bytes takes room, too
            return frames
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise ProcessEndedError(self._why(error)) from error

    def stop(self) -> None:
        """End the process with all that it started, if it runs."""
        process, self._process = self._process, None
        if process is not None:
            process.end()

    def _started(self) -> Process:
        """Return the process, started if need be, with all cells executed that did not end it."""
        if self._process is not None:
            return self._process
        if time.monotonic() > self._deadline:
            raise ProcessEndedError(
                f"This submission has had its {SUBMISSION_SECONDS:g} s; nothing more is executed."
            )
        self._too_much = ""
        for left in reversed(range(START_TRIES)):
            try:
                process = self._start()
                break
            except OSError as error:
                words = self._process.last_words() if self._process is not None else ""
                self.stop()
                if not left:
                    why = f"{error}; it wrote: {words}" if words else str(error)
                    raise RuntimeError(
                        f"the sandbox {self._sandbox.name} does not start: {why}"
                    ) from error
        for source in self._executed:
            self._ask_cell(source)
        return process

    def _start(self) -> Process:
        """Start the process and wait until it is ready."""
        process = self._process = self._sandbox.start()
        os.set_blocking(process.requests, False)  # a write must not wait for ever
        read_frame(process.replies, time.monotonic() + WORKER_START_SECONDS, 100)
        threading.Thread(target=self._watch, args=(process,), daemon=True).start()
        return process

    def _ask_cell(self, source: str) -> CellResult:
        request = {"kind": "cell", "source": source, "seconds": FREE_CELL_SECONDS}
        (reply,) = self.ask(request, None, FREE_CELL_SECONDS + INTERRUPT_SECONDS)
        try:
            said = wire_format.decode(reply)
            return CellResult(_short(str(said["printed"])), _short(str(said["error"])))
        except (ValueError, TypeError, KeyError) as error:
            raise ProcessEndedError(self._why(error)) from error

    def _why(self, error: Exception) -> str:
        """End the process, and say why it no longer answers."""
        process = self._process
        patience = 1.0 if "closed" in str(error) and not self._too_much else 0.0
        by_itself = process is not None and process.has_ended(patience)
        self.stop()
        if self._too_much:
            why = self._too_much
        elif "no answer in time" in str(error):
            why = "It was ended, as its time was up: is there a loop that never ends?"
        elif str(error) == TOO_MANY:
            why = f"{TOO_MANY.capitalize()}."
        elif by_itself:
            why = "It ended the process that executes the notebook."
        else:
            why = "It spoke to the check in the student's name."
        self.ended.append(why)
        return why

    def _watch(self, process: Process) -> None:
        """End the process when all that it has started uses too much together."""
        while not self._too_much:
            used, count = _used_by(process.pid)
            self.peak_bytes = max(self.peak_bytes, used)
            if count > SUBMISSION_TASKS:
                self._too_much = (
                    f"It was ended, as it had more than {SUBMISSION_TASKS} processes and threads."
                )
            elif used > SUBMISSION_MEMORY_BYTES:
                gigabytes = SUBMISSION_MEMORY_BYTES >> 30
                self._too_much = f"It was ended, as it used more than {gigabytes} GiB of memory."
            elif process.has_ended(LOOK_SECONDS):
                return
        process.kill()


@dataclass(frozen=True)
class StudentsAnswer(AnswerElsewhere):
    """What stands under a name in the student's process."""

    name: str
    process: StudentProcess

    def problem(self, task: str) -> str:
        """Say why what stands under the name is no answer to a task, or ""."""
        request = {"kind": "problem", "task": task, "name": self.name}
        try:
            (reply,) = self.process.ask(request, None, copy_seconds(0.0))
            return str(wire_format.decode(reply))
        except (ProcessEndedError, ValueError) as error:
            return str(error).removesuffix(".")

    def run(self, task: str, cases: bytes, number: int, seconds: float) -> Ended:
        """Run it on cases, in a copy of the student's process."""
        request = {"kind": "answer", "task": task, "name": self.name, "seconds": seconds}
        try:
            how, *frames = self.process.ask(request, cases, 10.0 + copy_seconds(seconds), number)
        except ProcessEndedError as error:
            return Ended([], str(error).removesuffix("."))
        return Ended(frames, str(wire_format.decode(how).get("how", "")))


@dataclass(frozen=True)
class StudentsNames(NamesElsewhere):
    """What a check finds where it asks for its ``globals()``."""

    process: StudentProcess

    def get(self, name: str) -> StudentsAnswer:
        """Return where the object of that name is to be found."""
        return StudentsAnswer(name, self.process)


def grade_notebook(cells: Sequence[Cell], folder: Path, sandbox: Sandbox) -> Graded:
    """Execute a notebook in a sandbox, and its checks here.

    Args:
        cells: its code cells; the graded ones are the course's own text.
        folder: where a check finds the files that were handed in.
        sandbox: where the other cells are executed.

    Returns:
        what came of each cell; whatever a student's code does is a result, and no exception.

    Raises:
        RuntimeError: if the sandbox does not start.
    """
    started, process = time.monotonic(), StudentProcess(sandbox)
    graded = Graded(sandbox=sandbox.name)
    try:
        with contextlib.chdir(folder):
            for cell in cells:
                result = (
                    _judge(cell.source, process) if cell.graded else process.execute(cell.source)
                )
                graded.cells.append(result)
    finally:
        process.stop()
    graded.seconds = round(time.monotonic() - started, 2)
    graded.peak_bytes, graded.ended = process.peak_bytes, process.ended
    return graded


class JudgeStoppedError(BaseException):
    """A check has taken too long; not an Exception, as checks catch those."""


class _Deadline:
    """Stops a check that needs too much of the processor in this thread.

    A signal would reach the main thread only, and a worker of a cluster judges in another.
    To wait for the student's process takes no time of the processor.
    """

    def __init__(self, seconds: float) -> None:
        self._thread = threading.get_ident()
        self._clock = _clock_of(self._thread)
        self._latest = self._clock() + seconds
        self._over = threading.Event()
        self._lock = threading.Lock()
        threading.Thread(target=self._watch, daemon=True).start()

    def end(self) -> None:
        """Stop nothing from now on; more than once does nothing."""
        with self._lock:
            self._over.set()

    def _watch(self) -> None:
        patience = LOOK_SECONDS
        while not self._over.wait(patience):
            if self._clock() > self._latest:
                with self._lock:
                    if not self._over.is_set():
                        _raise_in(self._thread, JudgeStoppedError)
                patience = AGAIN_SECONDS


def _clock_of(thread: int) -> Callable[[], float]:
    """Return what tells the seconds that a thread, or else this process, had of the processor."""
    if not hasattr(time, "pthread_getcpuclockid"):  # macOS
        return time.process_time
    clock = time.pthread_getcpuclockid(thread)
    return lambda: time.clock_gettime(clock)


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Raise an error in another thread, as soon as that executes Python's next instruction."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


def _judge(source: str, process: StudentProcess) -> CellResult:
    """Execute a check of the course's own, for as long as it may take."""
    deadline = _Deadline(JUDGE_SECONDS)
    try:
        try:
            return _value_of(source, process)
        finally:
            deadline.end()
    except JudgeStoppedError:
        deadline.end()  # the call above may be what was interrupted
        why = f"It took more than {JUDGE_SECONDS:g} s to judge what the answer returned."
        process.stop()  # it may be in the middle of a reply
        process.ended.append(why)
        return CellResult(error=f"{why} This check has 0 points.")


def _value_of(source: str, process: StudentProcess) -> CellResult:
    """Execute a check of the course's own, and take the value that it ends with."""
    *before, last = ast.parse(source).body or [ast.Pass()]
    namespace = {"__name__": "check", "globals": lambda: StudentsNames(process)}
    printed, result = Printed(SUBMISSION_PRINTED), CellResult()
    with redirect_stdout(printed), redirect_stderr(printed):
        try:
            exec(compile(ast.Module(before, []), "<check>", "exec"), namespace)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), "<check>", "eval"), namespace)
                result.value = repr(value)
            else:
                exec(compile(ast.Module([last], []), "<check>", "exec"), namespace)
        except Exception as error:
            result.error = describe_error(error)
    result.printed = printed.getvalue()
    return CellResult(*map(_short, (result.printed, result.error, result.value)))


def _short(text: str) -> str:
    """Cut a text that came from a student, and show its hidden characters."""
    return printable_output(text[:SUBMISSION_PRINTED])[:SUBMISSION_PRINTED]


def _used_by(pid: int) -> tuple[int, int]:
    """Return the memory of a process and all that it started, in bytes, and their tasks.

    A task is a process or another thread of one.
    """
    try:
        root = psutil.Process(pid)
        family = [root, *root.children(recursive=True)]
    except (psutil.Error, ValueError):  # it has ended
        return 0, 0
    used = sum(_memory_of(each) for each in family)
    if used > SUBMISSION_MEMORY_BYTES and len(family) <= FEW_PROCESSES:
        used = sum(_memory_of(each, shared_once=True) for each in family)
    return used, sum(_threads_of(each) for each in family)


def _threads_of(process: psutil.Process) -> int:
    """Return how many threads a process has; none when it has ended."""
    with contextlib.suppress(psutil.Error):
        return int(process.num_threads())
    return 0


def _memory_of(process: psutil.Process, *, shared_once: bool = False) -> int:
    """Return what a process has in memory, in bytes.

    What processes share is counted for each of them, or once, which takes milliseconds to find out.
    """
    with contextlib.suppress(psutil.Error):
        if shared_once:
            with contextlib.suppress(psutil.AccessDenied, AttributeError):  # or not Linux
                return int(process.memory_full_info().pss)
        return int(process.memory_info().rss)
    return 0
