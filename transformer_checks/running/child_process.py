"""Run an answer in a process of its own, under limits, and bring back bytes.

An answer may loop for ever, swallow every exception, end its process or fill the memory, and the
caller must notice nothing but a sentence about it.  So the answer runs in a forked child: fork
takes any live object along (closures, classes of a notebook), costs milliseconds where a fresh
torch costs two seconds, and the child can be killed whatever it does.

Two things make a fork unsafe, and both are met:

- *OpenMP.* A child that inherits a used OpenMP pool waits for threads that were not forked.
  The child sets torch to one thread before any tensor work, as torch's DataLoader workers do.
- *Everything else* (a lock held by another thread, autograd's device threads where there is a GPU).
  The child first proves itself with a product and a backward pass, before it touches the answer.
  If that does not succeed in time, or CUDA is in use, the caller takes the clean process of
  :mod:`transformer_checks.running.clean_process`, which forks in the same way.
"""

from __future__ import annotations

import faulthandler
import os
import selectors
import signal
import time
import warnings
from collections.abc import Callable
from typing import NoReturn

import torch

from transformer_checks.limits import MEMORY_BYTES, READY_SECONDS
from transformer_checks.running.frames import read_frame, wait_for, write_frame
from transformer_checks.running.process import (
    DONE,
    END_SECONDS,
    READY,
    AnswerProcess,
    Ended,
    Send,
    describe_exit,
    detach_streams,
    processor_seconds,
    tell_of_imports,
)

_exit = os._exit

Work = Callable[[bytes, Send], None]


def run_forked(work: Callable[[Send], None], seconds: float) -> Ended:
    """Run `work` in a forked child.

    A child is a copy of this thread alone. If another thread held a lock, that of the random
    numbers for one, nobody gives it back there, and the child waits for ever: so it first proves
    that it computes, and one that does not is replaced.

    Args:
        work: called in the child with a function that sends bytes to the caller.
        seconds: see :meth:`transformer_checks.running.process.AnswerProcess.ask`.

    Returns:
        what was sent before the child ended, and how it ended.

    Raises:
        OSError: if no process can be made.
    """
    ended, child = ask_forked(lambda _, send: work(send), b"", seconds)
    if child is not None:
        child.end()
    return ended


def ask_forked(
    work: Work, question: bytes, seconds: float, child: Child | None = None
) -> tuple[Ended, Child | None]:
    """Ask a forked child, which may be one that has answered before.

    Args:
        work: called in a new child with the question and a function that sends bytes back.
        question: bytes.
        seconds: see :func:`run_forked`.
        child: one that is asked with the same work; None makes a new one.

    Returns:
        what was sent and how it ended; and the child, if it has done its work and waits.

    Raises:
        OSError: if no process can be made.
    """
    ended = Ended()
    for patience in READY_SECONDS:
        child = child or Child(work)
        ended = child.ask(question, patience, seconds)
        if ended.how == "done":
            return ended, child
        child.end()
        child = None
        if ended.how != "not ready":
            break
    return ended, None


class Child(AnswerProcess):
    """A forked copy of this process, which answers questions until it is ended."""

    def __init__(self, work: Work) -> None:
        """Fork; `work` is called in the copy with each question, and what sends bytes back."""
        questions, self._asking = os.pipe()
        self._reading, writing = os.pipe()
        with warnings.catch_warnings():
            # Python 3.12 warns of threads in the parent; the child's proof is the answer to that.
            warnings.simplefilter("ignore")
            self._process = os.fork()
        if self._process == 0:
            os.close(self._asking)
            os.close(self._reading)
            _be_child(work, questions, writing)
        os.close(questions)
        os.close(writing)
        os.set_blocking(self._asking, False)  # a write must not wait for ever

    def _write(self, question: bytes, deadline: float) -> None:
        """Send it a question; raise an OSError if it does not read in time."""
        write_frame(self._asking, question, deadline=deadline)

    def _read(self, seconds: float) -> bytes | None:
        """Return bytes that it sends; b"" if it closed its end, None if none come in time."""
        if not wait_for(self._reading, selectors.EVENT_READ, seconds):
            return None
        return os.read(self._reading, 1 << 20)

    def _processor_seconds(self) -> float:
        """Return what it has used of the processor; infinity where the system does not tell."""
        return processor_seconds(self._process)

    def _last_words(self) -> str:
        """Say how it ended if it has, else ""."""
        status = self.end() if _ends(self._process) else None
        return "" if status is None else describe_exit(os.waitstatus_to_exitcode(status))

    def end(self) -> int | None:
        """End the child and what it started, and leave no zombie; more than once does nothing.

        Returns:
            the status that the child ended with, by itself or now; None if the system reaps
            children.
        """
        process, self._process = self._process, 0
        if not process:
            return None
        os.close(self._asking)
        os.close(self._reading)
        for kill in (os.killpg, os.kill):
            try:
                kill(process, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue
        try:
            return os.waitpid(process, 0)[1]
        except ChildProcessError:
            return None


def _be_child(work: Work, questions: int, writing: int) -> NoReturn:
    """Be the child: never returns."""
    status = 1
    try:
        os.setpgid(0, 0)
        _detach_streams()
        _prove_that_tensors_work()
        _limit_memory()

        def send(data: bytes) -> None:
            write_frame(writing, data)

        send(READY)
        tell_of_imports(send)
        while True:
            work(read_frame(questions), send)
            send(DONE)
    except OSError:  # nobody asks any more, or hears
        status = 0
    finally:
        # Nothing of the parent's may run here: no cleanup, no flush, no event loop.
        _exit(status)


def _detach_streams() -> None:
    """Point the standard streams to nowhere and give back the default signals and warnings."""
    detach_streams()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, 0)
    faulthandler.disable()
    warnings.resetwarnings()
    warnings.simplefilter("ignore")


def _prove_that_tensors_work() -> None:
    torch.set_num_threads(1)
    with torch.inference_mode(False), torch.enable_grad():
        # Larger than the size from which torch would share the work among threads.
        x = torch.ones(256, 256, device="cpu", requires_grad=True)
        torch.rand((), device="cpu")  # waits, if the generator was in use
        torch.softmax(x @ x, dim=-1).sum().backward()


def _limit_memory() -> None:
    """Cap the memory a few gigabytes above what is in use, where the system tells it.

    What is capped is private memory that can be written to. Address space would be the wrong
    measure: a call as harmless as torch.cuda.is_available() reserves more of it than there is
    memory, and with a cap on it CUDA would never start.
    """
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[5]) * resource.getpagesize()
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = used + MEMORY_BYTES
        if hard == resource.RLIM_INFINITY or wanted < hard:
            resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))
    except (ImportError, OSError, ValueError):
        return  # not Linux; the time limit remains


def lift_memory_limit() -> None:
    """Take back the cap on the memory of this process, as far as the system lets it."""
    try:
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    except (ImportError, OSError, ValueError):
        return


def _ends(child: int) -> bool:
    """Wait a little for the end of a child, without reaping it.

    As long as nobody reaps it, its number and that of its group cannot become another process's.
    """
    if not hasattr(os, "waitid"):  # macOS before Python 3.13
        time.sleep(END_SECONDS)
        return True
    deadline = time.monotonic() + END_SECONDS
    options = os.WEXITED | os.WNOHANG | os.WNOWAIT
    try:
        while os.waitid(os.P_PID, child, options) is None:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.001)
    except ChildProcessError:
        return False
    return True
