"""The process in a sandbox that has everything loaded, and copies itself for each submission.

To load torch takes seconds; a copy takes milliseconds.
No student's code is executed in this process, so a copy holds nothing of another submission.
A copy has namespaces of its own inside those of the sandbox: it sees no process of others and no
file that they wrote, can reach this process neither by a signal nor as a debugger, and all that it
has started ends with it.
"""

from __future__ import annotations

import ctypes
import gc
import os
import re
import socket
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from transformer_checks.classroom import student
from transformer_checks.classroom.system_calls import call, forbid_system_calls
from transformer_checks.limits import SUBMISSION_FILE_BYTES

# Linux's numbers, from sched.h, mount.h and capability.h.
NEW_MOUNTS, NEW_IPC, NEW_USER, NEW_PID, NEW_NETWORK = 1 << 17, 1 << 27, 1 << 28, 1 << 29, 1 << 30
READ_ONLY, NO_SETUID, NO_DEVICES, NO_PROGRAMS = 1, 2, 4, 8
REMOUNT, BIND, WITH_WHAT_IS_BELOW = 1 << 5, 1 << 12, 1 << 14
OF_PROCESSES = NO_SETUID | NO_DEVICES | NO_PROGRAMS | READ_ONLY
CAPABILITY_VERSION = 0x20080522
HIGHEST_DESCRIPTOR = 1 << 20


def serve() -> None:
    """Make a copy for each pair of pipes that arrives on standard input, until the judge is gone.

    With the pipes comes a socket for the answer, which is a descriptor of the first process of the
    copy's namespace, or none at all where the system does not allow a sandbox in a sandbox.
    """
    judge = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    _hide_processes()
    student.prepare()
    gc.freeze()  # or the first collection in a copy would touch, and so double, all memory
    while True:
        said, descriptors, _, _ = socket.recv_fds(judge, 16, 3)
        if not said:
            return
        *pipes, answer = descriptors
        with socket.socket(fileno=answer) as asking:
            helper = os.fork()
            if helper == 0:
                _copy(asking, *pipes)
            if os.waitpid(helper, 0)[1]:
                asking.send(b"no copy")
        for pipe in pipes:
            os.close(pipe)


def _hide_processes() -> None:
    """Show in /proc only what a process may debug, and so nothing outside its own namespaces.

    Each copy gets a new /proc where it can. Where bubblewrap had to cover a part of the old one
    (for root), the system refuses a new one, but root may change the old one. Linux 5.8 and later.
    """
    with suppress(OSError):
        flags = REMOUNT | NO_SETUID | NO_DEVICES | NO_PROGRAMS
        call("mount", None, "/proc", None, flags, "hidepid=ptraceable")


def _copy(asking: socket.socket, requests: int, replies: int) -> NoReturn:
    """Be what goes into new namespaces and starts the copy there; does not return."""
    status = 1
    try:
        _enter_namespaces()
        first = os.fork()
        if first == 0:
            _be_first(requests, replies)
        socket.send_fds(asking, [b"copy"], [os.pidfd_open(first)])
        status = 0
    finally:
        os._exit(status)


def _enter_namespaces() -> None:
    """Leave the namespaces of the sandbox for new ones, with empty folders to write to."""
    user, group = os.getuid(), os.getgid()
    call("unshare", NEW_USER | NEW_MOUNTS | NEW_PID | NEW_IPC | NEW_NETWORK)
    same = {"setgroups": "deny", "uid_map": f"{user} {user} 1", "gid_map": f"{group} {group} 1"}
    for name, text in same.items():
        Path("/proc/self", name).write_text(text)
    for folder in ("/tmp", "/dev/shm"):
        _empty(folder)
    settings = "newinstance,ptmxmode=666"  # terminals of its own
    call("mount", "devpts", "/dev/pts", "devpts", NO_SETUID | NO_PROGRAMS, settings)
    # To root the settings of the system would be writable.
    call("mount", None, "/proc", None, REMOUNT | BIND | OF_PROCESSES, None)
    os.makedirs(os.environ["HOME"])
    os.chdir(os.environ["HOME"])


def _empty(folder: str) -> None:
    """Put an empty folder in the place of one; what the sandbox has mounted in it, stays.

    Python and this package are there if the course is.
    """
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    below = {_unescaped(mount.split()[4]) for mount in mounts}
    below = {place for place in below if place.startswith(folder + "/")}
    # A mount brings those below it; without them the system refuses to mount it again.
    outermost = [
        place for place in below if not any(place.startswith(each + "/") for each in below)
    ]
    kept = [(place, os.open(place, os.O_PATH)) for place in outermost]
    size = f"size={SUBMISSION_FILE_BYTES}"
    call("mount", "tmpfs", folder, "tmpfs", NO_SETUID | NO_DEVICES, size)
    for place, descriptor in kept:
        os.makedirs(place)
        source = f"/proc/self/fd/{descriptor}"
        call("mount", source, place, None, BIND | WITH_WHAT_IS_BELOW, None)


def _unescaped(place: str) -> str:
    """Read a path as the kernel writes it, with white space as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), place)


def _be_first(requests: int, replies: int) -> NoReturn:
    """Be the first process of the new namespace, whose end is that of all others; never returns."""
    try:
        with suppress(OSError):  # where _hide_processes did it
            call("mount", "proc", "/proc", "proc", OF_PROCESSES, None)
        _drop_capabilities()
        forbid_system_calls()
        os.dup2(requests, 0)
        os.dup2(replies, 1)
        os.closerange(3, HIGHEST_DESCRIPTOR)
        copy = os.fork()
        if copy == 0:
            os.setsid()  # a signal to one's own group would reach out of the namespace
            student.serve()
            os._exit(0)
        os.closerange(0, 3)  # the judge hears when the copy has closed its end
        while os.wait()[0] != copy:
            pass
    finally:
        os._exit(0)


def _drop_capabilities() -> None:
    """Give up the rights that come with new namespaces; nothing can win them back."""
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    call("capset", header, (ctypes.c_uint32 * 6)())


if __name__ == "__main__":
    serve()
