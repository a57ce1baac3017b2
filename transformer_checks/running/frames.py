"""Send bytes through a pipe to another process, and wait for its answer no longer than allowed."""

from __future__ import annotations

import os
import selectors
import time


def framed(*frames: bytes) -> bytes:
    """Return some bytes, each with their number before them."""
    return b"".join(len(each).to_bytes(8, "big") + each for each in frames)


def write_frame(descriptor: int, *frames: bytes, deadline: float | None = None) -> None:
    """Write some bytes, with their number before them.

    Args:
        descriptor: of a pipe that blocks; with a deadline, of one that does not.
        frames: the bytes; several are written one after the other.
        deadline: on :func:`time.monotonic`'s clock; None waits.

    Raises:
        OSError: if the other end is closed, or does not read in time.
    """
    view = memoryview(framed(*frames))
    while view:
        _wait(descriptor, selectors.EVENT_WRITE, deadline)
        view = view[os.write(descriptor, view) :]


def read_frame(descriptor: int, deadline: float | None = None, most: int | None = None) -> bytes:
    """Read what :func:`write_frame` wrote.

    Args:
        descriptor: of a pipe.
        deadline: on :func:`time.monotonic`'s clock; None waits.
        most: bytes that are taken; None takes any number.

    Returns:
        the bytes.

    Raises:
        OSError: if the other end is closed, does not write in time, or announces more.
    """
    size = int.from_bytes(_read_exactly(descriptor, 8, deadline), "big")
    if most is not None and size > most:
        raise OSError(f"more than {most} bytes")
    return _read_exactly(descriptor, size, deadline)


def _read_exactly(descriptor: int, size: int, deadline: float | None) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        _wait(descriptor, selectors.EVENT_READ, deadline)
        data = os.read(descriptor, min(1 << 20, size - len(parts)))
        if not data:
            raise OSError("the connection is closed")
        parts += data
    return bytes(parts)


def _wait(descriptor: int, event: int, deadline: float | None) -> None:
    if deadline is None:
        return  # the call itself waits; Windows cannot wait for a pipe in any other way
    if not wait_for(descriptor, event, max(0.0, deadline - time.monotonic())):
        raise OSError("no answer in time")


def wait_for(descriptor: int, event: int, seconds: float | None) -> bool:
    """Wait until a descriptor can be read from or written to without a wait.

    Args:
        descriptor: any, also above 1,023, which `select.select` does not take.
        event: `selectors.EVENT_READ` or `selectors.EVENT_WRITE`.
        seconds: how long; None = for ever.

    Returns:
        False if the time is up.
    """
    with selectors.PollSelector() as selector:  # the one that needs no descriptor of its own
        selector.register(descriptor, event)
        return bool(selector.select(seconds))
