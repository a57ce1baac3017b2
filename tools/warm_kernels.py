"""A pytest plug-in: the kernels of nbval begin with torch and the package already imported.

    pytest --nbval -p tools.warm_kernels book

One process imports them once, and each kernel is a fork of it; so 26 chapters do not wait for the
same imports. A kernel's namespace is as empty as ever. `make book` starts its kernels in the usual
way, so what a chapter imports is proven there and in `make notebooks`.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
from collections.abc import Sequence
from multiprocessing.connection import Connection
from subprocess import TimeoutExpired
from typing import Any

import pytest
from jupyter_client.provisioning import local_provisioner

WARM = multiprocessing.get_context("forkserver")


def serve(
    arguments: Sequence[str], folder: str | None, environment: dict[str, str], begun: Connection
) -> None:
    """Run a kernel in a new process group until it is shut down."""
    from ipykernel.kernelapp import launch_new_instance

    os.setsid()
    begun.send(True)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder or ".")
    sys.path.insert(0, os.getcwd())  # as Python does by itself for `python -m`
    sys.argv = ["ipykernel_launcher", *arguments]
    # A million objects are here to stay; to look through them as others are made takes seconds.
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    launch_new_instance(argv=list(arguments))


class Forked:
    """A forked kernel, with what jupyter_client asks of a `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, command: Sequence[str], cwd: str | None = None, **options: Any) -> None:
        """Start a kernel.

        Args:
            command: how a kernel is started otherwise: Python, "-m", "ipykernel_launcher", and its
                arguments.
            cwd: the folder in which it runs.
            **options: those of `subprocess.Popen`; of them only `env` counts.
        """
        environment = {**os.environ, **(options.get("env") or {})}
        here, there = WARM.Pipe()
        arguments = (list(command)[3:], cwd, environment, there)
        self.process = WARM.Process(target=serve, args=arguments)
        self.process.start()
        here.recv()  # what is sent to its group would reach ours until it has one
        assert self.process.pid is not None
        self.pid = self.process.pid

    def poll(self) -> int | None:
        """Return the exit status, or None while it runs."""
        return self.process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it ends, for `timeout` seconds at most, and return the exit status."""
        self.process.join(timeout)
        if self.process.exitcode is None:
            raise TimeoutExpired("ipykernel", timeout or 0.0)
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal to it, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)


def pytest_configure() -> None:
    """Let nbval's kernels, which jupyter_client starts, be forks."""
    # As every kernel does, but matplotlib reads it when it is imported.
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    WARM.set_forkserver_preload(["tools.warm_chapter"])
    pytest.MonkeyPatch().setattr(local_provisioner, "launch_kernel", Forked)
