"""A student's process from outside: a new one, or a copy of one in the sandbox that is warm."""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import selectors
import signal
import socket
import subprocess
import tempfile
import uuid
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

from transformer_checks.limits import WORKER_START_SECONDS
from transformer_checks.running.frames import wait_for

MODULES = "transformer_checks.classroom"
LAST_BYTES, LAST_LINES = 2_000, 3  # of what a process wrote before it died
KILL_SECONDS = 30.0  # until the system has ended all processes of a namespace


class Process(ABC):
    """A process that can be asked, looked at and ended.

    Attributes:
        requests: the descriptor to write to it.
        replies: the descriptor to read what it says.
        pid: its number; what it starts are its descendants.
    """

    requests: int
    replies: int
    pid: int

    @abstractmethod
    def has_ended(self, seconds: float = 0.0) -> bool:
        """Wait so long for its end; return whether it came."""

    @abstractmethod
    def kill(self) -> None:
        """End it with all that it started; any thread may do so."""

    @abstractmethod
    def close(self) -> None:
        """Give back what an ended process leaves."""

    def last_words(self) -> str:
        """Return the last lines that it wrote to standard error before it was ready, or ""."""
        return ""

    def end(self) -> None:
        """End it, and give back what it leaves."""
        self.kill()
        self.has_ended(KILL_SECONDS)
        self.close()


class NewProcess(Process):
    """A process that loads all that it needs."""

    def __init__(self, command: list[str]) -> None:
        # Only until it is ready: the student's process then lets go of standard error.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed in close()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._pipes = (self._process.stdin, self._process.stdout)
        self.requests, self.replies = (pipe.fileno() for pipe in self._pipes)
        self.pid = self._process.pid

    def has_ended(self, seconds: float = 0.0) -> bool:
        """Wait so long for its end; return whether it came."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self._process.returncode is not None

    def kill(self) -> None:
        """End it and its session; in a sandbox the first process takes all others along."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Close the pipes."""
        for pipe in (*self._pipes, self._errors):
            with contextlib.suppress(OSError):
                pipe.close()

    def last_words(self) -> str:
        """Return the last lines that it wrote to standard error before it was ready, or ""."""
        size = os.fstat(self._errors.fileno()).st_size
        tail = os.pread(self._errors.fileno(), LAST_BYTES, max(0, size - LAST_BYTES))
        lines = tail.decode(errors="replace").splitlines()
        return " | ".join([line.strip() for line in lines if line.strip()][-LAST_LINES:])


class Container(NewProcess):
    """A process in a container of podman's, which is not a descendant of this process."""

    def __init__(self, command: Callable[..., list[str]], arguments: list[str]) -> None:
        """Take what makes podman's command, of arguments of Python and options of podman's."""
        self._name = f"grading-{uuid.uuid4()}"
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "pid")
            options = (f"--name={self._name}", f"--pidfile={file}")
            super().__init__(command(arguments, *options))
            while not (file.exists() and file.read_text()) and not self.has_ended(0.02):
                pass
            if file.exists():
                self.pid = int(file.read_text())

    def kill(self) -> None:
        """Let podman end the container, and what waits for it."""
        command = ["podman", "rm", "--force", "--ignore", "--time=0", self._name]
        subprocess.run(command, capture_output=True, check=False)
        self._process.kill()


class Copy(Process):
    """A copy of a warm process, with a process namespace of its own."""

    def __init__(self, first: int, requests: int, replies: int) -> None:
        """Take over three descriptors: of the first process of the namespace, and two pipes."""
        self._first, self.requests, self.replies = first, requests, replies
        said = Path(f"/proc/self/fdinfo/{first}").read_text(encoding="ascii")
        self.pid = int(re.findall(r"^Pid:\s*(-?\d+)", said, re.MULTILINE)[0])
        # Closed when nobody has this object any more: a thread may still look at it.
        weakref.finalize(self, os.close, first)

    def has_ended(self, seconds: float = 0.0) -> bool:
        """Wait so long for its end; return whether it came."""
        return wait_for(self._first, selectors.EVENT_READ, seconds)

    def kill(self) -> None:
        """End its first process, and with it the namespace."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._first, signal.SIGKILL)

    def close(self) -> None:
        """Close the pipes."""
        for pipe in (self.requests, self.replies):
            os.close(pipe)


class WarmProcess:
    """A process in a sandbox that has everything loaded, and is copied for each submission.

    It starts with the first copy, and again when it was killed, and ends with the process that
    started it; whose forks share it.
    """

    def __init__(self, command: Callable[[list[str]], list[str]]) -> None:
        """Take what makes a command that runs Python with some arguments in the sandbox."""
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._can_be_copied = True

    @property
    def pid(self) -> int | None:
        """Its number, while it runs."""
        return None if self._process is None else self._process.pid

    def copy(self) -> Copy | None:
        """Return a copy; None where the system allows no sandbox in a sandbox."""
        for _ in range(2):
            if self._can_be_copied:
                try:
                    return self._ask_for_copy()
                except OSError:
                    self.stop()
        return None

    def stop(self) -> None:
        """End the process, if it runs."""
        if self._process is not None and self._socket is not None:
            self._socket.close()
            self._process.kill()
            self._process.wait()
        self._process = self._socket = None

    def start(self) -> socket.socket:
        """Start it, if it does not run, without waiting until it is ready; return its socket."""
        if self._socket is None:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self._process = subprocess.Popen(
                    self._command(["-m", f"{MODULES}.copies"]),
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            self._socket = ours
            atexit.register(self.stop)
        return self._socket

    def _ask_for_copy(self) -> Copy | None:
        # A socket for each answer: several processes may ask.
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(WORKER_START_SECONDS)
        (to_read, requests), (replies, to_write) = os.pipe(), os.pipe()
        first: list[int] = []
        try:
            with ours:
                with theirs:
                    socket.send_fds(self.start(), [b"copy"], [to_read, to_write, theirs.fileno()])
                said, first, _, _ = socket.recv_fds(ours, 16, 1)
            if not said:
                raise ConnectionError("the warm process has ended")
        finally:
            unused = [] if first else [requests, replies]
            for pipe in (to_read, to_write, *unused):
                os.close(pipe)
        if first:
            return Copy(first[0], requests, replies)
        self._can_be_copied = False
        self.stop()
        return None
