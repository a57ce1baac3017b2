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
import subprocess
import sys
import threading
import time
from typing import Any

from transformer_checks.limits import worker_seconds
from transformer_checks.running import wire_format
from transformer_checks.running.child_process import run_forked
from transformer_checks.running.frames import read_frame, write_frame
from transformer_checks.running.process import Ended, Send, load_for_meta
from transformer_checks.running.working import work_in_child


class WorkerError(RuntimeError):
    """The worker cannot take this answer, or does not start."""


class Worker:
    """The caller's end of the process. It starts with the first answer and ends with the caller."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def run(
        self, task: str, answer: Any, cases: bytes, seconds: float, with_meta: bool = False
    ) -> Ended:
        """Run an answer on cases.

        Args:
            task: key of the task.
            answer: the function or class.
            cases: the cases, as
                :func:`transformer_checks.running.wire_format.encode` writes them.
            seconds: time limit.
            with_meta: whether a case is on the device "meta".

        Returns:
            what came back, as from :func:`transformer_checks.running.child_process.run_forked`.

        Raises:
            WorkerError: if the answer cannot be packed or the worker does not answer.
        """
        job = wire_format.encode(
            {"task": task, "seconds": seconds, "path": list(sys.path), "with_meta": with_meta}
        )
        packed = pack(answer)
        with self._lock:
            deadline = time.monotonic() + worker_seconds(seconds)
            try:
                process = self._started()
                assert process.stdin is not None
                assert process.stdout is not None
                to, back = process.stdin.fileno(), process.stdout.fileno()
                write_frame(to, job, cases, packed, deadline=deadline)
                how = wire_format.decode(read_frame(back, deadline))
                frames = [read_frame(back, deadline) for _ in range(how["number_of_frames"])]
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
            self._process = start_python(_MAIN)
            assert self._process.stdin is not None
            # A worker that does not start reads nothing, and a write that waits has no time limit.
            os.set_blocking(self._process.stdin.fileno(), False)
            atexit.register(self.stop)
        return self._process


_MAIN = "from transformer_checks.running.clean_process import serve; serve()"


def start_python(code: str) -> subprocess.Popen[bytes]:
    """Start a new Python that runs some code and has the import path of this one.

    So the same package is found however it is installed.
    """
    return subprocess.Popen(
        [sys.executable, "-P", "-c", f"import sys; sys.path[:] = sys.argv[1:]; {code}", *sys.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        # Windows would open a window for it.
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )


def serve() -> None:
    """Be the worker: read jobs from standard input and write results to standard output."""
    jobs, results = 0, os.dup(1)
    while True:
        try:
            job, cases, packed = (read_frame(jobs) for _ in range(3))
        except (OSError, ValueError):
            return  # the caller has gone
        settings = wire_format.decode(job)

        def work(
            send: Send,
            settings: dict[str, Any] = settings,
            cases: bytes = cases,
            packed: bytes = packed,
        ) -> None:
            sys.path[:] = settings["path"]
            work_in_child(settings["task"], lambda: pickle.loads(packed), cases, send)

        if settings["with_meta"]:
            load_for_meta()
        ended = run_forked(work, settings["seconds"])
        how = {"how": ended.how, "number_of_frames": len(ended.frames)}
        write_frame(results, wire_format.encode(how), *ended.frames)


def pack(answer: Any) -> bytes:
    """Pickle an answer with what it needs from its own module, which need not be importable.

    Raises:
        WorkerError: if it cannot be pickled.
    """
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
    return (
        top in ("__main__", "transformer_checks", "transformer_ref", "torch")
        or "site-packages" in file
    )
