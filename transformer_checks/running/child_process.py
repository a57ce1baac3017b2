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

import builtins
import faulthandler
import os
import selectors
import signal
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import torch

from transformer_checks.limits import (
    CLOCK_FACTOR,
    LIBRARY_SECONDS,
    MEMORY_BYTES,
    OUTPUT_BYTES,
    READY_SECONDS,
)
from transformer_checks.running.frames import read_frame, wait_for, write_frame

Send = Callable[[bytes], None]

# A child that closed its pipe has this long to end by itself, so that its own end is reported.
END_SECONDS = 1.0
# How often to look at least at a child that has not used up its time on a busy processor.
MIN_WAIT_SECONDS = 0.02

_READY = b"ready"
_LOADING = b"loading"
_LOADED = b"loaded"
_DONE = b"done"
_CLOSED = "it closed the connection to the check"
_exit = os._exit


@dataclass
class Ended:
    """How a child ended.

    Attributes:
        frames: what it sent, in order.
        how: "done", "not ready", "timeout", "too much output", or in words how it died.
    """

    frames: list[bytes] = field(default_factory=list)
    how: str = ""


def load_for_meta() -> None:
    """Load what the first result on the device "meta" needs: hundreds of modules, a second or more.

    Done before a process is copied, it costs no answer its time, and only once.
    """
    torch.add(torch.ones(1, device="meta"), 1)


Work = Callable[[bytes, Send], None]


def run_forked(work: Callable[[Send], None], seconds: float) -> Ended:
    """Run `work` in a forked child.

    A child is a copy of this thread alone. If another thread held a lock, that of the random
    numbers for one, nobody gives it back there, and the child waits for ever: so it first proves
    that it computes, and one that does not is replaced.

    Args:
        work: called in the child with a function that sends bytes to the caller.
        seconds: limit from the moment the child is ready: of the processor where the system tells
            what another process used of it, and of the clock elsewhere. To import modules that are
            not loaded yet takes nothing of it.

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


class Child:
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
        self._is_ready = False

    def ask(self, question: bytes, patience: float, seconds: float) -> Ended:
        """Put a question to the child, which has so many seconds to be ready, and to be done."""
        ended = Ended()
        used = _processor_seconds(self._process) if self._is_ready else 0.0
        try:
            write_frame(self._asking, question, deadline=time.monotonic() + patience)
            self._collect(ended, patience, seconds, used)
        except OSError:  # it does not read
            ended.how = _CLOSED if self._is_ready else "not ready"
        if ended.how == _CLOSED and _ends(self._process):
            status = self.end()
            ended.how = ended.how if status is None else _last_words(status)
        return ended

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

    def _collect(self, ended: Ended, patience: float, seconds: float, used: float) -> None:
        """Read frames until the child is done, closes its pipe, or its time is up."""
        buffer = bytearray()
        total = 0
        start = time.monotonic()
        allowed = _Allowance(seconds, deadline=start + patience, latest=start + patience)
        if self._is_ready:
            allowed = _Allowance.from_now(seconds)
        while True:
            left = allowed.deadline - time.monotonic()
            if left <= 0 or not wait_for(self._reading, selectors.EVENT_READ, left):
                # By the clock the time is up; what the processor did for others is given back.
                spent = _processor_seconds(self._process) - used
                unused = allowed.seconds - spent if self._is_ready else 0.0
                if unused > 0 and time.monotonic() < allowed.latest:
                    further = time.monotonic() + max(unused, MIN_WAIT_SECONDS)
                    allowed.deadline = min(allowed.latest, further)
                    continue
                ended.how = "timeout" if self._is_ready else "not ready"
                return
            data = os.read(self._reading, 1 << 20)
            if not data:
                ended.how = _CLOSED if self._is_ready else "not ready"
                return
            total += len(data)
            if total > OUTPUT_BYTES:
                ended.how = "too much output"
                return
            buffer += data
            for frame in _take_frames(buffer):
                if not self._is_ready:
                    self._is_ready = frame == _READY
                    allowed = _Allowance.from_now(seconds)
                elif frame == _LOADING:
                    allowed.loads()
                elif frame == _LOADED:
                    allowed.has_loaded()
                elif frame == _DONE:
                    ended.how = "done"
                    return
                else:
                    ended.frames.append(frame)


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

        send(_READY)
        _tell_of_imports(send)
        while True:
            work(read_frame(questions), send)
            send(_DONE)
    except OSError:  # nobody asks any more, or hears
        status = 0
    finally:
        # Nothing of the parent's may run here: no cleanup, no flush, no event loop.
        _exit(status)


def _detach_streams() -> None:
    """Point the standard streams to nowhere and give back the default signals and warnings."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
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


def _tell_of_imports(send: Send) -> None:
    """Say when an import statement begins to load modules, and when they are there."""
    plain = builtins.__import__
    loading = False

    def telling(name: str, *args: Any, **kwargs: Any) -> Any:
        nonlocal loading
        if loading or name in sys.modules:
            return plain(name, *args, **kwargs)
        loading = True
        send(_LOADING)
        try:
            return plain(name, *args, **kwargs)
        finally:
            loading = False
            send(_LOADED)

    builtins.__import__ = telling


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


@dataclass
class _Allowance:
    """How long a child may take: the limits are further off while it loads modules.

    Attributes:
        seconds: of the processor.
        deadline: when to look by the clock what it used of the processor.
        latest: when its time is up in any case.
        spare: seconds of the clock that are left to load modules.
        since: when it began to do so; None while it does not.
    """

    seconds: float
    deadline: float
    latest: float
    spare: float = field(default_factory=lambda: LIBRARY_SECONDS)
    since: float | None = None

    @classmethod
    def from_now(cls, seconds: float) -> _Allowance:
        """Return what a child has that is ready."""
        now = time.monotonic()
        return cls(seconds, now + seconds, now + CLOCK_FACTOR * seconds)

    def move(self, by: float) -> None:
        """Put all limits off."""
        self.seconds += by
        self.deadline += by
        self.latest += by

    def loads(self) -> None:
        """Begin to load modules."""
        if self.since is None:
            self.since = time.monotonic()
            self.move(self.spare)

    def has_loaded(self) -> None:
        """Take back what was not needed for it."""
        if self.since is not None:
            self.spare = max(0.0, self.spare - (time.monotonic() - self.since))
            self.since = None
            self.move(-self.spare)


def _processor_seconds(process: int) -> float:
    """Return what a process used of the processor; infinity where the system does not tell it."""
    if sys.platform != "linux":
        return float("inf")
    try:  # its clock, numbered as clock_getcpuclockid(3) does; no /proc is needed for it
        return time.clock_gettime(~process << 3 | 2)
    except OSError:
        return float("inf")


def _take_frames(buffer: bytearray) -> list[bytes]:
    frames = []
    while len(buffer) >= 8:
        size = int.from_bytes(buffer[:8], "big")
        if len(buffer) < 8 + size:
            break
        frames.append(bytes(buffer[8 : 8 + size]))
        del buffer[: 8 + size]
    return frames


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


def _last_words(status: int) -> str:
    """Say how a child came to its end."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        names = {int(each): each.name for each in signal.Signals}  # not all numbers have one
        return f"its process was killed by {names.get(-code, f'signal {-code}')}"
    return f"it ended its process with exit status {code}"
