"""Calls Linux where Python has no function for it, and forbids calls to a student's process.

Forbidden, for good, is what no exercise needs.

A sandbox hides files, processes and the network. These calls lead around it: new namespaces, in
which a process has rights again and may mount control groups; keyrings, which all processes of a
user share; and memory that belongs to no process, so that nobody counts it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from typing import Any

# The numbers of Linux's tables, x86-64 and 64-bit ARM.
_NUMBERS = {
    "x86_64": {
        "architecture": 0xC000003E, "seccomp": 317, "clone": 56, "clone3": 435,
        "unshare": 272, "setns": 308,
        "mount": 165, "umount2": 166, "pivot_root": 155, "open_tree": 428, "move_mount": 429,
        "fsopen": 430, "fsmount": 432, "mount_setattr": 442,
        "add_key": 248, "request_key": 249, "keyctl": 250,
        "memfd_create": 319, "memfd_secret": 447, "shmget": 29,
    },
    "aarch64": {
        "architecture": 0xC00000B7, "seccomp": 277, "clone": 220, "clone3": 435,
        "unshare": 97, "setns": 268,
        "mount": 40, "umount2": 39, "pivot_root": 41, "open_tree": 428, "move_mount": 429,
        "fsopen": 430, "fsmount": 432, "mount_setattr": 442,
        "add_key": 217, "request_key": 218, "keyctl": 219,
        "memfd_create": 279, "memfd_secret": 447, "shmget": 194,
    },
}  # fmt: skip
_HANDLED = ("architecture", "seccomp", "clone", "clone3")
_NEW_NAMESPACES = 0x7E020000  # the flags of clone that make one of any kind
_OTHER_TABLE = 0x40000000  # x86-64 has a second table of the same calls from here on

# Berkeley packet filters: load a word of the call, compare it, answer.
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _ANSWER = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_SET_NO_NEW_PRIVILEGES, _SET_FILTER, _FOR_ALL_THREADS = 38, 1, 1


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def call(name: str, *arguments: Any) -> None:
    """Call a function of the C library; a string goes as its bytes.

    Raises:
        OSError: if it fails.
    """
    arguments = tuple(os.fsencode(each) if isinstance(each, str) else each for each in arguments)
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def forbid_system_calls() -> None:
    """Refuse these calls to this process and all that it starts; nothing takes that back.

    Raises:
        OSError: if this is no Linux on x86-64 or 64-bit ARM, or its kernel has no filters.
    """
    numbers = _NUMBERS.get(platform.machine())
    if numbers is None:
        raise OSError(errno.ENOSYS, f"no table of system calls for {platform.machine()}")
    code = _filter(numbers)
    program = ctypes.byref(_Program(len(code) // 8, code))
    call("prctl", _SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    call("syscall", numbers["seccomp"], _SET_FILTER, _FOR_ALL_THREADS, program)


def _filter(numbers: dict[str, int]) -> bytes:
    """Write the filter, in which a comparison says how many instructions to skip."""
    refused = _answer(_REFUSE | errno.EPERM)
    code = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_EQUAL, numbers["architecture"], skip_if=1),
        refused,  # a program of 32 bits, say, whose calls have other numbers
        _instruction(_LOAD, _NUMBER),
        _instruction(_AT_LEAST, _OTHER_TABLE, skip_if_not=1),
        refused,
        _instruction(_EQUAL, numbers["clone3"], skip_if_not=1),
        _answer(_REFUSE | errno.ENOSYS),  # its flags cannot be seen; libraries then take clone
    ]
    for name, number in numbers.items():
        if name not in _HANDLED:
            code += [_instruction(_EQUAL, number, skip_if_not=1), refused]
    code += [
        _instruction(_EQUAL, numbers["clone"], skip_if=1),
        _answer(_ALLOW),
        _instruction(_LOAD, _FIRST_ARGUMENT),
        _instruction(_ANY_BIT, _NEW_NAMESPACES, skip_if_not=1),
        refused,
        _answer(_ALLOW),
    ]
    return b"".join(code)


def _instruction(what: int, value: int, skip_if: int = 0, skip_if_not: int = 0) -> bytes:
    return struct.pack("=HBBI", what, skip_if, skip_if_not, value)


def _answer(value: int) -> bytes:
    return _instruction(_ANSWER, value)
