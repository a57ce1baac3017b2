"""Ask a process that runs an answer: what it sends, how long it may take, and how it ended.

The process is a forked copy of this one (:mod:`transformer_checks.running.child_process`) or, on
systems that cannot fork, a new one (:mod:`transformer_checks.running.new_process`).
"""

from __future__ import annotations

import builtins
import os
import signal
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from transformer_checks.limits import CLOCK_FACTOR, LIBRARY_SECONDS, OUTPUT_BYTES
from transformer_checks.translation import later, say

Send = Callable[[bytes], None]

# How often to look at least at a process that has not used up its time on a busy processor.
MIN_WAIT_SECONDS = 0.02
# A process that closed its pipe has this long to end by itself, so that its own end is reported.
END_SECONDS = 1.0

READY = b"ready"
DONE = b"done"
_LOADING = b"loading"
_LOADED = b"loaded"
_CLOSED = later("it closed the connection to the check")


@dataclass
class Ended:
    """How a process ended.

    Attributes:
        frames: what it sent, in order.
        how: "done", "not ready", "timeout", "too much output", or in words how it died.
    """

    frames: list[bytes] = field(default_factory=list)
    how: str = ""


class AnswerProcess(ABC):
    """A process that runs an answer on what it is asked, until it is ended."""

    _is_ready = False

    @abstractmethod
    def _write(self, question: bytes, deadline: float) -> None:
        """Send it a question; raise an OSError if it does not read in time."""

    @abstractmethod
    def _read(self, seconds: float) -> bytes | None:
        """Return bytes that it sends; b"" if it closed its end, None if none come in time."""

    @abstractmethod
    def _processor_seconds(self) -> float:
        """Return what it has used of the processor; infinity where the system does not tell."""

    @abstractmethod
    def _last_words(self) -> str:
        """Say how it ended if it has, else ""."""

    def ask(self, question: bytes, patience: float, seconds: float) -> Ended:
        """Put a question to the process.

        Args:
            question: bytes.
            patience: seconds until a new process is ready.
            seconds: limit from the moment it is ready: of the processor where the system tells
                what another process used of it, and of the clock elsewhere. Importing modules that
                are not loaded yet is not counted.

        Returns:
            what was sent, and how it ended. The caller ends the process unless it is done.
        """
        ended = Ended()
        used = self._processor_seconds() if self._is_ready else 0.0
        try:
            self._write(question, time.monotonic() + patience)
            self._collect(ended, patience, seconds, used)
        except OSError:  # it does not read
            ended.how = _CLOSED if self._is_ready else "not ready"
        if ended.how == _CLOSED:
            ended.how = self._last_words() or ended.how
        return ended

    def _collect(self, ended: Ended, patience: float, seconds: float, used: float) -> None:
        """Read frames until the process is done, closes its pipe, or its time is up."""
        buffer = bytearray()
        total = 0
        start = time.monotonic()
        allowed = _Allowance(seconds, deadline=start + patience, latest=start + patience)
        if self._is_ready:
            allowed = _Allowance.from_now(seconds)
        while True:
            left = allowed.deadline - time.monotonic()
            if left <= 0 or (data := self._read(left)) is None:
                # By the clock the time is up; what the processor did for others is given back.
                spent = self._processor_seconds() - used
                unused = allowed.seconds - spent if self._is_ready else 0.0
                if unused > 0 and time.monotonic() < allowed.latest:
                    further = time.monotonic() + max(unused, MIN_WAIT_SECONDS)
                    allowed.deadline = min(allowed.latest, further)
                    continue
                ended.how = "timeout" if self._is_ready else "not ready"
                return
            if not data:
                ended.how = _CLOSED if self._is_ready else "not ready"
                return
            total += len(data)
            if total > OUTPUT_BYTES:
                ended.how = later("too much output")
                return
            buffer += data
            for frame in _take_frames(buffer):
                if not self._is_ready:
                    self._is_ready = frame == READY
                    allowed = _Allowance.from_now(seconds)
                elif frame == _LOADING:
                    allowed.loads()
                elif frame == _LOADED:
                    allowed.has_loaded()
                elif frame == DONE:
                    ended.how = "done"
                    return
                else:
                    ended.frames.append(frame)


@dataclass
class _Allowance:
    """How long a process may take: the limits are further off while it loads modules.

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
        """Return what a process has that is ready."""
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


def _take_frames(buffer: bytearray) -> list[bytes]:
    frames = []
    while len(buffer) >= 8:
        size = int.from_bytes(buffer[:8], "big")
        if len(buffer) < 8 + size:
            break
        frames.append(bytes(buffer[8 : 8 + size]))
        del buffer[: 8 + size]
    return frames


def describe_exit(code: int) -> str:
    """Say how a process ended, from its exit code, or minus the signal that killed it."""
    if code < 0:
        names = {int(each): each.name for each in signal.Signals}  # not all numbers have one
        signal_name = names.get(-code, f"signal {-code}")
        return say("its process was killed by {name}", name=signal_name)
    return say("it ended its process with exit status {code}", code=code)


def processor_seconds(process: int) -> float:
    """Return what a process used of the processor; infinity where the system does not tell it."""
    if sys.platform != "linux":
        return float("inf")
    try:  # its clock, numbered as clock_getcpuclockid(3) does; no /proc is needed for it
        return time.clock_gettime(~process << 3 | 2)
    except OSError:
        return float("inf")


# --- in the process itself ----------------------------------------------------------------------


def detach_streams() -> None:
    """Point the standard streams to nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)


def load_for_meta() -> None:
    """Load what the first result on the device "meta" needs: hundreds of modules, a second or more.

    Done before a process is copied, it costs no answer its time, and only once.
    """
    torch.add(torch.ones(1, device="meta"), 1)


def tell_of_imports(send: Send) -> None:
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
