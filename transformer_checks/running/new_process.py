"""Run an answer in a new process, where the system cannot fork: on Windows.

Each answer gets its own process, as with a fork, so that one that changes torch, say its default
dtype, spoils no check but its own. To load torch takes seconds: while one answer runs and the
student reads the result, the process of the next one loads.

Of the limits only that on time holds here, by the clock. Nothing limits the memory, and a process
that the answer starts goes on when the answer is stopped.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
import warnings
from typing import Any, NoReturn

from transformer_checks.limits import WORKER_START_SECONDS
from transformer_checks.registry import find_task
from transformer_checks.running import wire_format
from transformer_checks.running.clean_process import WorkerError, pack, start_python
from transformer_checks.running.frames import framed, read_frame, write_frame
from transformer_checks.running.process import (
    DONE,
    END_SECONDS,
    READY,
    AnswerProcess,
    Ended,
    Send,
    describe_exit,
    detach_streams,
    load_for_meta,
    processor_seconds,
    tell_of_imports,
)
from transformer_checks.running.working import work_in_child
from transformer_checks.translation import later, translate

# A wait for a queue cannot be interrupted on Windows, so none is long.
WAIT_SECONDS = 0.1
NO_MEMORY_LIMIT = later(
    "; on this system nothing limits its memory, so it may have used all there is"
)

_MAIN = "from transformer_checks.running.new_process import serve; serve()"


class NewProcess(AnswerProcess):
    """A process that loads torch, and then answers one question.

    Threads do the reading and the writing, because a pipe on Windows has no time limit. They end
    with the process.
    """

    def __init__(self) -> None:
        self._process = start_python(_MAIN)
        self._received: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._receive, daemon=True).start()

    def has_ended(self) -> bool:
        """Say whether it has ended, by itself or because it was ended."""
        return self._process.poll() is not None

    def end(self) -> None:
        """End it; more than once does nothing."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def _write(self, question: bytes, deadline: float) -> None:
        """Send it a question."""
        threading.Thread(target=self._send, args=(question,), daemon=True).start()

    def _read(self, seconds: float) -> bytes | None:
        """Return bytes that it sends; b"" if it closed its end, None if none come in time."""
        deadline = time.monotonic() + seconds
        while True:
            left = deadline - time.monotonic()
            with contextlib.suppress(queue.Empty):
                return self._received.get(timeout=max(0.0, min(left, WAIT_SECONDS)))
            if left <= 0:
                return None

    def _processor_seconds(self) -> float:
        """Return what it has used of the processor; infinity where the system does not tell."""
        return processor_seconds(self._process.pid)

    def _last_words(self) -> str:
        """Say how it ended if it has, else ""."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return describe_exit(self._process.wait(END_SECONDS)) + translate(NO_MEMORY_LIMIT)
        return ""

    def _send(self, question: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended, which the other thread notices
            self._process.stdin.write(question)
            self._process.stdin.flush()  # and not closed: a closed pipe ends the process

    def _receive(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as pipe, contextlib.suppress(OSError):
            while data := os.read(pipe.fileno(), 1 << 20):
                self._received.put(data)
        self._received.put(b"")


# The process for the next answer, while there is one.
_spare: list[NewProcess] = []


def prepare() -> None:
    """Start the process for the next answer, unless it runs; do not wait for it."""
    if _spare and _spare[0].has_ended():
        stop()
    if not _spare:
        _spare.append(NewProcess())


def stop() -> None:
    """End the process for the next answer, if there is one."""
    while _spare:
        _spare.pop().end()


def run(task: str, answer: Any, cases: bytes, seconds: float, with_meta: bool) -> Ended:
    """Run an answer on cases in a new process.

    Args:
        task: key of the task.
        answer: the function or class.
        cases: the encoded cases.
        seconds: time limit.
        with_meta: whether a case is on the device "meta".

    Returns:
        what came back, and how the process ended.
    """
    try:
        packed = pack(answer)
        prepare()
    except (OSError, WorkerError) as error:
        return Ended([], f"it cannot be run: {error}")
    job = wire_format.encode({"task": task, "path": list(sys.path), "with_meta": with_meta})
    process = _spare.pop()
    try:
        ended = process.ask(framed(job, cases, packed), WORKER_START_SECONDS, seconds)
    finally:
        process.end()
    prepare()  # only now, as the answer may need the processor
    if ended.how == "not ready":
        ended.how = later("it cannot be run: the process that should run it did not start")
    return ended


def serve() -> NoReturn:
    """Be the process: answer one question from standard input on standard output, and end."""
    reading, writing = os.dup(0), os.dup(1)
    detach_streams()
    warnings.simplefilter("ignore")
    with contextlib.suppress(OSError):  # the caller is gone
        job, cases, packed = (read_frame(reading) for _ in range(3))
        # Not earlier: on Windows, a library does not load while a thread reads standard input.
        threading.Thread(target=_end_with_the_caller, args=(reading,), daemon=True).start()
        _answer(wire_format.decode(job), cases, packed, lambda data: write_frame(writing, data))
    os._exit(0)


def _answer(job: dict[str, Any], cases: bytes, packed: bytes, send: Send) -> None:
    sys.path[:] = job["path"]
    if job["with_meta"]:
        load_for_meta()
    find_task(job["task"])  # loads the assignment
    send(READY)
    tell_of_imports(send)
    work_in_child(job["task"], lambda: pickle.loads(packed), cases, send)
    send(DONE)


def _end_with_the_caller(reading: int) -> None:
    """End this process when its caller is gone, also in the middle of an endless loop."""
    with contextlib.suppress(OSError):
        os.read(reading, 1)
    os._exit(0)
