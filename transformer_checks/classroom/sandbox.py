"""Where student code runs while a class is graded: without a network, and with few files to see.

On Linux that is bubblewrap, which needs no rights and no service, or podman where a campus has it.
Grading without a sandbox has to be asked for.
"""

from __future__ import annotations

import atexit
import shutil
import site
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar

import transformer_checks
import transformer_ref
from transformer_checks.classroom.processes import (
    MODULES,
    Container,
    NewProcess,
    Process,
    WarmProcess,
)
from transformer_checks.limits import (
    PROCESS_DESCRIPTORS,
    PROCESS_MEMORY_BYTES,
    SUBMISSION_FILE_BYTES,
    SUBMISSION_SECONDS,
    SUBMISSION_TASKS,
)
from transformer_checks.registry import HANDED_OUT

# What grades, and what answers are written with.
PACKAGES = tuple(
    Path(str(package.__file__)).resolve().parent
    for package in (transformer_checks, transformer_ref)
)
ASSIGNMENTS = PACKAGES[0] / "assignments"
# What of them a student's process has no use for, and what lies there instead of the answers.
ANSWERS = "answers.py"
HIDDEN = ("__pycache__", "misconceptions.md")
STAND_IN = Path(__file__).with_name("hidden.py")
HOME = "/tmp/home"  # in the sandbox, where /tmp is a folder of its own in memory
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": HOME,
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "MPLBACKEND": "agg",
    "PYTHONDONTWRITEBYTECODE": "1",
    "NBGRADER_EXECUTION": "autograde",  # by which the capstone's notebook trains nothing
}
# An environment for two checkouts installs one of them; the sandbox needs the one that grades.
if str(PACKAGES[0].parent) not in site.getsitepackages():
    ENVIRONMENT["PYTHONPATH"] = str(PACKAGES[0].parent)
SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/ld.so.cache")
WHAT_TO_DO = (
    "On Debian and Ubuntu: apt-get install bubblewrap. Where user namespaces are switched off, "
    "switch them on (sysctl kernel.unprivileged_userns_clone=1, or on Ubuntu "
    "kernel.apparmor_restrict_unprivileged_userns=0). --sandbox=podman takes podman instead. "
    "--unsafe-no-sandbox grades without: student code then runs with your rights, and can read "
    "and change whatever you can."
)


class SandboxError(RuntimeError):
    """There is no sandbox on this machine."""


class Sandbox(ABC):
    """A way to run a Python process that reaches nothing of value.

    Attributes:
        name: what the results record.
        program: what it needs to be installed, if anything.
    """

    name: str
    program: ClassVar[str] = ""

    def require(self) -> None:
        """Try it, if it is a program.

        Raises:
            SandboxError: if it is not here, or does not work; the message says what to do.
        """
        if not self.program:
            return
        if shutil.which(self.program) is None:
            raise SandboxError(
                f"{self.name}, in which student code runs, is not here. {WHAT_TO_DO}"
            )
        tried = subprocess.run(
            self.command(["-c", ""]), capture_output=True, text=True, check=False
        )
        if tried.returncode:
            raise SandboxError(
                f"{self.name}, in which student code runs, does not work here: "
                f"{tried.stderr.strip()}. {WHAT_TO_DO}"
            )

    @abstractmethod
    def command(self, arguments: list[str]) -> list[str]:
        """Return the command that runs Python with these arguments inside."""

    def start(self) -> Process:
        """Start a student's process inside."""
        return NewProcess(self.command(["-m", f"{MODULES}.student"]))


@dataclass(frozen=True)
class Bubblewrap(Sandbox):
    """Namespaces of its own for files, processes, network and users, by Debian's bubblewrap."""

    name: str = "bubblewrap"
    program: ClassVar[str] = "bwrap"

    def start(self) -> Process:
        """Copy what is warm, which saves the seconds to load torch; or start from nothing."""
        return warm_process().copy() or self.start_alone()

    def start_alone(self) -> Process:
        """Start a student's process that is no copy, and to which /proc is read-only."""
        return NewProcess(self.command(["-m", f"{MODULES}.student"], "--remount-ro", "/proc"))

    def command(self, arguments: list[str], *options: str) -> list[str]:
        """Return the command that runs Python with these arguments inside."""
        command = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
        for variable, value in ENVIRONMENT.items():
            command += ["--setenv", variable, value]
        command += ["--proc", "/proc", "--dev", "/dev"]
        # To root the settings of the system would be writable.
        command += ["--ro-bind", "/proc/sys", "/proc/sys"]
        for folder in ("/tmp", "/dev/shm"):
            command += ["--size", str(SUBMISSION_FILE_BYTES), "--tmpfs", folder]
        command += ["--dir", HOME]
        for folder in SYSTEM_FOLDERS:
            command += ["--ro-bind-try", folder, folder]
        for path in _python_folders():
            command += ["--ro-bind", str(path), str(path)]
        command += ["--ro-bind", _without_answers(), str(ASSIGNMENTS)]
        command += [*options, "--remount-ro", "/dev", "--remount-ro", "/"]
        return [*command, "--chdir", HOME, *_limited([sys.executable, "-P", *arguments])]


@dataclass(frozen=True)
class Podman(Sandbox):
    """A container of podman's, made of this machine's own folders and no image."""

    name: str = "podman"
    program: ClassVar[str] = "podman"

    def start(self) -> Process:
        """Start a student's process in a container of its own, which loads all that it needs."""
        return Container(self.command, ["-m", f"{MODULES}.student"])

    def command(self, arguments: list[str], *options: str) -> list[str]:
        """Return the command that runs Python with these arguments inside."""
        command = ["podman", "run", "--rm", "--interactive", "--network=none", "--read-only"]
        command += ["--cap-drop=all", "--security-opt=no-new-privileges"]
        command += ["--security-opt=label=disable", f"--pids-limit={2 * SUBMISSION_TASKS}"]
        command += [f"--ulimit=nofile={PROCESS_DESCRIPTORS}", "--ulimit=nproc=4096:4096"]
        command += [f"--timeout={int(2 * SUBMISSION_SECONDS)}"]  # nobody may be left to end it
        command += [f"--env={name}={value}" for name, value in ENVIRONMENT.items()]
        command += [f"--tmpfs={folder}:size={SUBMISSION_FILE_BYTES}" for folder in ("/tmp", HOME)]
        folders = [Path(each) for each in SYSTEM_FOLDERS if Path(each).exists()]
        command += [f"--volume={path}:{path}:ro" for path in [*folders, *_python_folders()]]
        command += [f"--volume={_without_answers()}:{ASSIGNMENTS}:ro"]
        command += [f"--workdir={HOME}", *options, "--rootfs", _empty_folder()]
        return [*command, *_limited([sys.executable, "-P", *arguments])]


@dataclass(frozen=True)
class NoSandbox(Sandbox):
    """No sandbox: limits on time and memory, and nothing else."""

    name: str = "none"

    def command(self, arguments: list[str]) -> list[str]:
        """Return the command that runs Python with these arguments."""
        path = [f"PYTHONPATH={ENVIRONMENT['PYTHONPATH']}"] if "PYTHONPATH" in ENVIRONMENT else []
        return _limited(["env", *path, sys.executable, "-P", *arguments])


@cache
def warm_process() -> WarmProcess:
    """Return what is copied for each submission that this process and its forks grade."""
    return WarmProcess(Bubblewrap().command)


@cache
def _empty_folder() -> str:
    """Make a folder that lasts as long as this process: the root of its containers."""
    folder = tempfile.mkdtemp(prefix="grading-root-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def _without_answers() -> str:
    """Copy the assignments without what would give the answers away."""
    folder = tempfile.mkdtemp(prefix="grading-assignments-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    shutil.copytree(ASSIGNMENTS, folder, ignore=shutil.ignore_patterns(*HIDDEN), dirs_exist_ok=True)
    for path in Path(folder).glob(f"*/{ANSWERS}"):
        if path.parent.name not in HANDED_OUT:
            shutil.copyfile(STAND_IN, path)
    return folder


SANDBOXES: dict[str, type[Sandbox]] = {"bubblewrap": Bubblewrap, "podman": Podman}


def find_sandbox(name: str = "bubblewrap") -> Sandbox:
    """Return a sandbox that works on this machine.

    Args:
        name: "bubblewrap" or "podman".

    Raises:
        SandboxError: if it is not here, or does not work; the message says what to do.
    """
    sandbox = SANDBOXES[name]()
    sandbox.require()
    return sandbox


def _limited(command: list[str]) -> list[str]:
    """Put limits of the system on each process; those on all together are the judge's."""
    limits = [
        f"--cpu={int(SUBMISSION_SECONDS)}",
        f"--data={PROCESS_MEMORY_BYTES}",
        f"--fsize={SUBMISSION_FILE_BYTES}",
        f"--nofile={PROCESS_DESCRIPTORS}",
        "--core=0",
    ]
    return ["prlimit", *limits, *command]


def _python_folders() -> list[Path]:
    """Return what Python needs to run, and our packages; no folder is inside another of them."""
    folders = [Path(each) for each in (sys.base_prefix, sys.prefix, *site.getsitepackages())]
    found: list[Path] = []
    for folder in sorted({*PACKAGES, *folders}):
        in_usr = folder.is_relative_to("/usr")
        if folder.exists() and not in_usr and not any(map(folder.is_relative_to, found)):
            found.append(folder)
    return found
