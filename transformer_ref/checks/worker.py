"""A clean process that grades when this one cannot be forked: one warm torch, one fork per answer.

It is taken where CUDA is there (a forked child of a process that has used the GPU can neither use
it nor run a backward pass) and where a forked child does not prove itself in time.
The answer travels by cloudpickle, which takes along what a notebook has defined, and is unpacked
in the child alone.  The cases on CUDA run there: the worker itself never touches the device.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import select
import subprocess
import sys
import threading
import time
from typing import Any, BinaryIO

from transformer_ref.checks import plain
from transformer_ref.checks.process import Ended, Send, run_forked

START_SECONDS = 120.0


class WorkerError(RuntimeError):
    """The worker cannot take this answer, or does not start."""


class Worker:
    """The caller's end of the process. It starts with the first answer and ends with the caller."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def run(self, task: str, answer: Any, cases: bytes, seconds: float) -> Ended:
        """Run an answer on cases.

        Args:
            task: key of the task.
            answer: the function or class.
            cases: the cases, as :func:`transformer_ref.checks.plain.encode` writes them.
            seconds: time limit.

        Returns:
            what came back, as from :func:`transformer_ref.checks.process.run_forked`.

        Raises:
            WorkerError: if the answer cannot be packed or the worker does not answer.
        """
        job = plain.encode({"task": task, "seconds": seconds, "path": list(sys.path)})
        packed = _pack(answer)
        with self._lock:
            try:
                process = self._started()
                assert process.stdin is not None
                assert process.stdout is not None
                for part in (job, cases, packed):
                    _write(process.stdin, part)
                how = plain.decode(_read(process.stdout, seconds + START_SECONDS))
                frames = [
                    _read(process.stdout, START_SECONDS) for _ in range(how["number_of_frames"])
                ]
                return Ended(frames, how["how"])
            except (OSError, ValueError) as error:
                self.stop()
                raise WorkerError(f"the grading process does not answer: {error}") from error

    def stop(self) -> None:
        """End the process, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            self._process = None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.stop()
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _MAIN, *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
            atexit.register(self.stop)
        return self._process


# The import path of the caller, so that the same package is found however it is installed.
_MAIN = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    "from transformer_ref.checks.worker import serve; serve()"
)


def serve() -> None:
    """Be the worker: read jobs from standard input and write results to standard output."""
    jobs, results = sys.stdin.buffer, os.fdopen(os.dup(1), "wb", buffering=0)
    while True:
        try:
            job, cases, packed = (_read(jobs, None) for _ in range(3))
        except (OSError, ValueError):
            return  # the caller has gone
        settings = plain.decode(job)

        def work(
            send: Send,
            settings: dict[str, Any] = settings,
            cases: bytes = cases,
            packed: bytes = packed,
        ) -> None:
            from transformer_ref.checks.runner import work_in_child

            sys.path[:] = settings["path"]
            work_in_child(settings["task"], lambda: pickle.loads(packed), cases, send)

        ended = run_forked(work, settings["seconds"])
        _write(results, plain.encode({"how": ended.how, "number_of_frames": len(ended.frames)}))
        for frame in ended.frames:
            _write(results, frame)


def _pack(answer: Any) -> bytes:
    """Pickle an answer with what it needs from its own module, which need not be importable."""
    import cloudpickle

    module = sys.modules.get(getattr(answer, "__module__", None) or "")
    by_value = module is not None and not _is_installed(module)
    try:
        if by_value:
            cloudpickle.register_pickle_by_value(module)
        packed: bytes = cloudpickle.dumps(answer)
        return packed
    except Exception as error:
        raise WorkerError(
            f"the answer cannot be sent to the grading process: {type(error).__name__}"
        ) from error
    finally:
        if by_value:
            cloudpickle.unregister_pickle_by_value(module)


def _is_installed(module: Any) -> bool:
    top = module.__name__.split(".")[0]
    file = getattr(module, "__file__", None) or ""
    return top in ("__main__", "transformer_ref", "torch") or "site-packages" in file


def _write(stream: BinaryIO | Any, data: bytes) -> None:
    view = memoryview(len(data).to_bytes(8, "big") + data)
    while view:
        view = view[stream.write(view) or 0 :]
    stream.flush()


def _read(stream: BinaryIO | Any, seconds: float | None) -> bytes:
    size = int.from_bytes(_read_exactly(stream, 8, seconds), "big")
    return _read_exactly(stream, size, seconds)


def _read_exactly(stream: BinaryIO | Any, size: int, seconds: float | None) -> bytes:
    """Read from the descriptor itself, so that no buffer hides what select should see."""
    deadline = None if seconds is None else time.monotonic() + seconds
    parts = bytearray()
    while len(parts) < size:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not select.select([stream], [], [], left)[0]:
            raise OSError("no answer in time")
        data = os.read(stream.fileno(), min(1 << 20, size - len(parts)))
        if not data:
            raise OSError("the connection is closed")
        parts += data
    return bytes(parts)
