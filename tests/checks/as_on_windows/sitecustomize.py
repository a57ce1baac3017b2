"""Take away what Windows does not have; Python imports this when it starts, by PYTHONPATH.

It stands in for a machine that we do not have: the same Python on Linux, without fork, without the
modules, signals and waits of POSIX, and with cp1252 as the encoding that a file has by default.
"""

from __future__ import annotations

import importlib.abc
import io
import locale
import os
import select
import selectors
import signal
import stat
import subprocess
import sys

MODULES = ("fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios")
CALLS = {
    os: ("fork", "forkpty", "getpgid", "killpg", "set_blocking", "setpgid", "wait", "waitid"),
    select: ("epoll", "poll"),
    selectors: ("EpollSelector", "PollSelector"),
    signal: ("SIGALRM", "SIGHUP", "SIGKILL", "SIGUSR1", "alarm", "setitimer"),
}


class Missing(importlib.abc.MetaPathFinder):
    """Finds no module that only POSIX has."""

    def find_spec(self, name, path=None, target=None):
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


def select_sockets(readers, writers, others, seconds=None, plain=select.select):
    """Wait for sockets only."""
    for each in (*readers, *writers, *others):
        descriptor = each if isinstance(each, int) else each.fileno()
        if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            raise OSError(10038, "an operation was attempted on something that is not a socket")
    return plain(readers, writers, others, seconds)


def open_as_there(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, **rest):
    """Open a text file in cp1252 unless told otherwise, and write it with CRLF."""
    if "b" not in mode:
        encoding = "cp1252" if encoding in (None, "locale") else encoding
        newline = "\r\n" if newline is None and "r" not in mode else newline
    return plain_open(file, mode, buffering, encoding, errors, newline, **rest)


plain_open = io.open
io.open = open_as_there
sys.modules["builtins"].open = open_as_there
locale.getencoding = lambda: "cp1252"
locale.getpreferredencoding = lambda do_setlocale=True: "cp1252"
selectors.SelectSelector._select = staticmethod(select_sockets)
selectors.DefaultSelector = selectors.SelectSelector
select.select = select_sockets
# What the library itself, which is Linux's, ends a process with.
subprocess.Popen.kill = lambda self: self.send_signal(9)
sys.meta_path.insert(0, Missing())
for each in MODULES:
    sys.modules.pop(each, None)
for module, names in CALLS.items():
    for name in names:
        vars(module).pop(name, None)
