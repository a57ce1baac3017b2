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
  :mod:`transformer_ref.checks.worker`, which forks in the same way.
"""

from __future__ import annotations

import faulthandler
import os
import select
import signal
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

Send = Callable[[bytes], None]

# A copy that is stuck is given up soon, and another one made; the last has more time, as the
# machine may only be busy.
READY_SECONDS = (0.5, 0.5, 1.0, 1.0, 2.0, 10.0)
MEMORY_BYTES = 4 << 30
OUTPUT_BYTES = 256 << 20

_READY = b"ready"
_DONE = b"done"
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


def run_forked(work: Callable[[Send], None], seconds: float) -> Ended:
    """Run `work` in a forked child.

    A child is a copy of this thread alone. If another thread held a lock, that of the random
    numbers for one, nobody gives it back there, and the child waits for ever: so it first proves
    that it computes, and one that does not is replaced.

    Args:
        work: called in the child with a function that sends bytes to the caller.
        seconds: wall-clock limit from the moment the child is ready.

    Returns:
        what was sent before the child ended, and how it ended.

    Raises:
        OSError: if no process can be made.
    """
    ended = Ended()
    for patience in READY_SECONDS:
        ended = _run_once(work, patience, seconds)
        if ended.how != "not ready":
            break
    return ended


def _run_once(work: Callable[[Send], None], patience: float, seconds: float) -> Ended:
    """Run `work` in one child, which has so many seconds to be ready, and then to be done."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of threads in the parent; the child's proof is the answer to that.
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        _child(work, reading, writing)
    os.close(writing)
    try:
        return _collect(child, reading, patience, seconds)
    finally:
        os.close(reading)
        _kill(child)


def _child(work: Callable[[Send], None], reading: int, writing: int) -> None:
    """Be the child: never returns."""
    status = 1
    try:
        os.setpgid(0, 0)
        os.close(reading)
        _detach_streams()
        _prove_that_tensors_work()
        _limit_memory()

        def send(data: bytes) -> None:
            _write_all(writing, len(data).to_bytes(8, "big") + data)

        send(_READY)
        work(send)
        send(_DONE)
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


def _limit_memory() -> None:
    """Cap the address space a few gigabytes above what is in use, where the system tells it."""
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        wanted = used + MEMORY_BYTES
        if not torch.backends.cuda.is_built() and (hard == resource.RLIM_INFINITY or wanted < hard):
            resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    except (ImportError, OSError, ValueError):
        return  # not Linux; the time limit remains


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _collect(child: int, reading: int, patience: float, seconds: float) -> Ended:
    """Read frames until the child is done, dies, or its time is up."""
    ended = Ended()
    buffer = bytearray()
    total = 0
    ready = False
    deadline = time.monotonic() + patience
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([reading], [], [], left)[0]:
            ended.how = "timeout" if ready else "not ready"
            return ended
        data = os.read(reading, 1 << 20)
        if not data:
            ended.how = _last_words(child) if ready else "not ready"
            return ended
        total += len(data)
        if total > OUTPUT_BYTES:
            ended.how = "too much output"
            return ended
        buffer += data
        for frame in _take_frames(buffer):
            if not ready:
                ready = frame == _READY
                deadline = time.monotonic() + seconds
            elif frame == _DONE:
                ended.how = "done"
                return ended
            else:
                ended.frames.append(frame)


def _take_frames(buffer: bytearray) -> list[bytes]:
    frames = []
    while len(buffer) >= 8:
        size = int.from_bytes(buffer[:8], "big")
        if len(buffer) < 8 + size:
            break
        frames.append(bytes(buffer[8 : 8 + size]))
        del buffer[: 8 + size]
    return frames


def _last_words(child: int) -> str:
    """Say how a child that closed its pipe came to its end."""
    try:
        deadline = time.monotonic() + 1.0
        while time.monotonic() < deadline:
            found, status = os.waitpid(child, os.WNOHANG)
            if found:
                code = os.waitstatus_to_exitcode(status)
                if code < 0:
                    return f"its process was killed by {signal.Signals(-code).name}"
                return f"it ended its process with exit status {code}"
            time.sleep(0.001)
    except (ChildProcessError, ValueError):
        pass
    return "it closed the connection to the check"


def _kill(child: int) -> None:
    """End the child and what it started, and leave no zombie."""
    for kill, target in ((os.killpg, child), (os.kill, child)):
        try:
            kill(target, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
    try:
        os.waitpid(child, 0)
    except ChildProcessError:
        return
