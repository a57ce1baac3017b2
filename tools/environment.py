"""Build the virtual environment from requirements.lock, and say clearly what stands in the way.

Uses the standard library only, because nothing else is installed yet.  Called by bootstrap.py.
The stamp file in the environment is written last, so that a half-made one is never taken for done.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools import pip_settings

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"

# `make` compares this file with the lock: see the Makefile.
STAMP_NAME = ".complete"
STARTED_NAME = ".started"

GIGABYTE = 10**9
# Measured: the finished environment takes 1.8 GB with the CPU wheel of torch; the downloads need
# room beside it.  The CUDA packages of the Linux wheel bring it to 5.8 GB.
NEEDED_BYTES = 3 * GIGABYTE
NEEDED_BYTES_CUDA = 9 * GIGABYTE

NETWORK_SIGNS = (
    "after connection broken by",
    "Failed to establish a new connection",
    "name resolution",
    "nodename nor servname",
    "ConnectionError",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "ProxyError",
    "SSLError",
    "error sending request",  # uv
)
DISK_SIGNS = ("No space left on device", "[Errno 28]", "Disk quota exceeded")
NO_WHEEL_SIGNS = (
    "No matching distribution found for",
    "is not a supported wheel",
    "No solution found",  # uv
)
# Builds of torch whose index uv knows: "cpu", "cu130", "auto"; anything else is an address.
BUILD_OF_TORCH = re.compile(r"auto|cpu|cu\d+|rocm[\d.]+|xpu")

# If one of these does not import, the environment is not usable, whatever pip says.
SMOKE_IMPORTS = ("torch", "jupyter_book", "nbgrader", "nbval", "jupyterlab")
# The package is only looked for: an error in its code is no reason to make the environment anew.
SMOKE_TEST = f"""\
import importlib.util, {", ".join(SMOKE_IMPORTS)}
if importlib.util.find_spec("transformer_ref") is None:
    raise ModuleNotFoundError("transformer_ref is not installed")
"""


class SetupError(Exception):
    """Something that the user must put right; the text says what and how."""


@dataclass(frozen=True)
class Machine:
    """The parts of a machine that decide whether torch has a wheel for it.

    Attributes:
        system: "Linux", "Darwin" or "Windows", as platform.system() gives it.
        architecture: for example "x86_64" or "arm64".
        libc: name and version of the C library on Linux, for example ("glibc", "2.36").
        macos: the version of macOS, for example "14.5"; empty elsewhere.
    """

    system: str
    architecture: str
    libc: tuple[str, str] = ("", "")
    macos: str = ""

    @classmethod
    def here(cls) -> Machine:
        """Describe the machine that this runs on."""
        return cls(
            platform.system(), platform.machine(), platform.libc_ver(), platform.mac_ver()[0]
        )


def _version_tuple(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def platform_problem(machine: Machine) -> str | None:
    """Say why torch has no wheel for a machine, or return None."""
    if machine.system == "Windows":
        return "Windows is supported through WSL 2: run this inside an Ubuntu or Debian there."
    if machine.system == "Darwin":
        if machine.architecture != "arm64":
            return "Macs with an Intel processor have no wheel of this version of torch."
        if _version_tuple(machine.macos) < (14,):
            return f"This is macOS {machine.macos}; the wheels of torch need macOS 14 or newer."
        return None
    if machine.system != "Linux" or machine.architecture not in ("x86_64", "aarch64"):
        return f"There is no wheel of torch for {machine.system} on {machine.architecture}."
    name, version = machine.libc
    if name != "glibc":
        return "The wheels of torch need the GNU C library; Alpine and other musl systems lack it."
    if _version_tuple(version) < (2, 28):
        return f"This system has glibc {version}; the wheels of torch need 2.28 or newer."
    return None


def check_platform(machine: Machine) -> None:
    """Stop where torch has no wheel."""
    problem = platform_problem(machine)
    if problem is not None:
        raise SetupError(
            f"{problem}\nREADME.md, 'Supported systems', says what to do.  If you have a wheel of "
            "torch for this machine,\nset TORCH_INDEX to the package index that holds it."
        )


def check_venv_module() -> None:
    """Stop where Python came without what makes environments, as on a bare Debian or Ubuntu."""
    missing = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
    if missing:
        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        raise SetupError(
            f"This Python ({sys.executable}) lacks {' and '.join(missing)}.\n"
            f"On Debian and Ubuntu: sudo apt-get install {package}"
        )


def check_disk(folder: Path, needed: int, free: int | None = None) -> None:
    """Stop when there is too little room under ``folder`` for ``needed`` bytes.

    Args:
        folder: an existing folder on the disk in question.
        needed: the bytes that will be written.
        free: the bytes that are free; measured when left out.
    """
    free = shutil.disk_usage(folder).free if free is None else free
    if free < needed:
        raise SetupError(
            f"The disk that holds {folder} has {free / GIGABYTE:.1f} GB free; torch and the tools "
            f"need about {needed / GIGABYTE:.0f} GB.\nMake room, or clone the course onto a "
            "larger disk."
        )


def locked_version(lock_text: str, package: str) -> str:
    """Return the version of one package in the text of the lock file."""
    match = re.search(rf"^{re.escape(package)}==([^\s;]+)", lock_text, flags=re.MULTILINE)
    if match is None:
        raise SetupError(f"{LOCK.name} does not name {package}: run `make lock`.")
    return match.group(1)


def explain_failure(output: str, what: str) -> str:
    """Turn the output of a failed pip or uv into a message for the user.

    Args:
        output: everything that it printed.
        what: what it was to install, for the message.
    """
    if any(sign in output for sign in DISK_SIGNS):
        return f"The disk is full: {what} could not be installed.\nMake room and try again."
    # pip reports "no matching distribution" also when it could not reach the index at all.
    if any(sign in output for sign in NETWORK_SIGNS):
        return (
            f"There is no connection to the package index: {what} could not be fetched.\n"
            "Check the network (and HTTPS_PROXY behind a proxy) and try again."
        )
    if any(sign in output for sign in NO_WHEEL_SIGNS):
        return (
            f"The package index has no build of {what} for this machine and Python "
            f"{platform.python_version()}.\nREADME.md, 'Supported systems', says what to do."
        )
    tail = "\n".join(output.strip().splitlines()[-15:])
    return f"pip could not install {what}.  The end of what it said:\n{tail}"


def run_shown(
    command: Sequence[str], variables: Mapping[str, str], shown: tuple[str, ...]
) -> tuple[int, str]:
    """Run a command and show some lines of its output as they come.

    Args:
        command: the command; its errors count as output.
        variables: its environment.
        shown: what the lines begin with that are printed.

    Returns:
        The exit status, and all of the output.
    """
    lines: list[str] = []
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=variables,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if line.strip().startswith(shown):
                print(" ", line.strip(), flush=True)
    return process.returncode, "".join(lines)


def run_pip(python: Path, arguments: Sequence[str], what: str, quiet: bool = False) -> str:
    """Run pip, show its output as it comes, and raise SetupError when it fails.

    Returns:
        What pip printed.
    """
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]
    shown = () if quiet else ("Downloading", "Collecting")
    variables = {**pip_settings.for_pip(python, os.environ), "PIP_PROGRESS_BAR": "off"}
    status, output = run_shown(command, variables, shown)
    if status != 0:
        raise SetupError(explain_failure(output, what))
    return output


def installed_version(python: Path, package: str) -> str | None:
    """Return the version of a package in an environment, without a local part such as "+cpu"."""
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    result = subprocess.run([python, "-c", code], capture_output=True, text=True)
    return result.stdout.strip().split("+")[0] if result.returncode == 0 else None


def reason_to_remake(folder: Path, version: tuple[int, int]) -> str | None:
    """Say why an environment cannot be brought up to date in place, or return None if it can.

    Args:
        folder: where the environment is; it need not exist.
        version: the version of Python that it should have, for example (3, 13).
    """
    if not folder.exists():
        return "there is none yet"
    if (folder / STARTED_NAME).exists():
        return "an earlier run did not finish it"
    if not (folder / "bin" / "python").exists():
        return "its Python is gone"
    settings = (folder / "pyvenv.cfg").read_text(encoding="utf-8")
    match = re.search(r"^version\S*\s*=\s*(\d+)\.(\d+)", settings, flags=re.MULTILINE)
    if match is None or (int(match[1]), int(match[2])) != version:
        return "it was made with another version of Python"
    return None


def begin(folder: Path) -> None:
    """Empty a folder, but for the mark that says until the end that a run has not finished.

    The mark comes first: whenever this run is cut off, the next one begins again.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / STARTED_NAME).touch()
    for path in folder.iterdir():
        if path.name == STARTED_NAME:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def make_venv(folder: Path) -> Path:
    """Make the environment, or take up one that can be brought up to date; return its Python."""
    reason = reason_to_remake(folder, sys.version_info[:2])
    (folder / STAMP_NAME).unlink(missing_ok=True)
    if reason is not None:
        print(f"Making {folder}: {reason}.", flush=True)
        check_venv_module()
        begin(folder)
        # In a subprocess: ensurepip fails with a message of its own, which belongs in ours.
        command = [sys.executable, "-m", "venv", str(folder)]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            message = explain_failure(result.stdout + result.stderr, "the environment")
            raise SetupError(f"{folder} could not be made.\n{message}")
    return folder / "bin" / "python"


def uv_settings(python: Path) -> pip_settings.UvSettings:
    """Install uv, unless it cannot be told what the user has set for pip; return the settings."""
    settings = pip_settings.for_uv(python, os.environ)
    if not settings.unknown:
        uv = f"uv=={locked_version(LOCK.read_text(encoding='utf-8'), 'uv')}"
        run_pip(python, ["install", "--no-deps", uv], uv)
    return settings


def run_uv(
    python: Path, arguments: Sequence[str], settings: pip_settings.UvSettings
) -> tuple[int, str]:
    """Run `uv pip` and show its steps as they come; return its exit status and its output."""
    # Without the configuration of this repository, which is for `make lock`.
    options = ["--no-config", "--python", str(python), *settings.options]
    command = [str(python), "-m", "uv", "pip", *arguments, *options]
    variables = {**os.environ, **settings.variables}
    return run_shown(command, variables, ("Downloading", "Prepared", "Installed"))


def install_with_uv(python: Path, arguments: Sequence[str]) -> bool:
    """Run `uv pip` with the settings of pip; return whether it did the work."""
    settings = uv_settings(python)
    if settings.unknown:
        print(f"  by pip, as uv cannot be told {', '.join(settings.unknown)}", flush=True)
        return False
    status, output = run_uv(python, arguments, settings)
    if status != 0:
        reason = (output.strip() or "no reason given").splitlines()[-1].strip()
        print(f"  by pip, as uv failed: {reason}", flush=True)
    return status == 0


def install_build_of_torch(python: Path, requirement: str, build: str) -> None:
    """Install torch by uv, which knows the index of each build, such as "cpu"."""
    settings = uv_settings(python)
    if settings.unknown:
        raise SetupError(
            f"TORCH_INDEX={build} needs uv, which cannot be told {', '.join(settings.unknown)}, as "
            "you have set for pip.\nSet TORCH_INDEX to the address of a package index instead."
        )
    check_disk(python.parent, NEEDED_BYTES if build == "cpu" else NEEDED_BYTES_CUDA)
    print(f"Installing {requirement} ({build}) ...", flush=True)
    status, output = run_uv(python, ["install", "--torch-backend", build, requirement], settings)
    if status != 0:
        raise SetupError(explain_failure(output, requirement))


def install_torch(python: Path, version: str, index: str) -> None:
    """Install torch alone and first, so that the index of the user's choice decides on CUDA."""
    if installed_version(python, "torch") == version:
        return
    requirement = f"torch=={version}"
    if BUILD_OF_TORCH.fullmatch(index):
        install_build_of_torch(python, requirement, index)
        return
    options = ["--index-url", index] if index else []
    # A dry run tells without a large download whether the index answers, whether there is a
    # wheel for this machine, and whether it brings the CUDA packages.
    plan = run_pip(
        python,
        ["install", "--dry-run", "--retries", "2", "--timeout", "20", *options, requirement],
        requirement,
        quiet=True,
    )
    brings_cuda = "nvidia-" in plan
    check_disk(python.parent, NEEDED_BYTES_CUDA if brings_cuda else NEEDED_BYTES)
    size = "several GB, with CUDA" if brings_cuda else "CPU or Metal"
    print(f"Installing {requirement} ({size}) ...", flush=True)
    # Python compiles what it imports; pip would compile all of torch, most of it never imported.
    run_pip(python, ["install", "--no-compile", *options, requirement], requirement)


def install_locked(python: Path) -> None:
    """Install what the lock lists: by uv, which takes a sixth of pip's time, or else by pip."""
    # The lock is whole, so there is nothing to resolve; pip would try other versions, for long.
    arguments = ["install", "--no-deps", "-r", str(LOCK)]
    if not install_with_uv(python, arguments):
        run_pip(python, arguments, f"what {LOCK.name} lists")


def install_lock(python: Path) -> None:
    """Install everything else in the lock, and the package of the course as editable."""
    print(f"Installing the tools from {LOCK.name} ...", flush=True)
    install_locked(python)
    editable = ["install", "--no-deps", "--no-build-isolation", "--quiet", "-e", str(ROOT)]
    run_pip(python, editable, "transformer_ref")
    print("Checking that everything imports ...", flush=True)
    # Not from the root, where the package is found without being installed.
    command = [str(python), "-c", SMOKE_TEST]
    result = subprocess.run(command, cwd=python.parent, capture_output=True, text=True)
    if result.returncode != 0:
        raise SetupError(f"The environment was installed but does not work:\n{result.stderr}")


def build(folder: Path, torch_index: str) -> None:
    """Build or update the environment in ``folder``.

    Args:
        folder: where the environment is or will be.
        torch_index: a package index to take torch from, by its address or as "cpu" or "cu130";
            empty for the default one.

    Raises:
        SetupError: with a message for the user, when something stands in the way.
    """
    if not torch_index:
        check_platform(Machine.here())
    version = locked_version(LOCK.read_text(encoding="utf-8"), "torch")
    complete = (folder / STAMP_NAME).exists()
    if not complete:
        folder.parent.mkdir(parents=True, exist_ok=True)
        check_disk(folder.parent, NEEDED_BYTES)
    python = make_venv(folder)
    install_torch(python, version, torch_index)
    install_lock(python)
    (folder / STARTED_NAME).unlink(missing_ok=True)
    (folder / STAMP_NAME).touch()


def main(arguments: Sequence[str], environ: Mapping[str, str] = os.environ) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(prog="tools/bootstrap.py", description=__doc__.split("\n")[0])
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv")
    parser.add_argument(
        "--torch-index",
        default=environ.get("TORCH_INDEX", ""),
        help="cpu, a build of CUDA such as cu130, or the address of a package index for torch",
    )
    options = parser.parse_args(arguments)
    try:
        build(options.venv.absolute(), options.torch_index)
    except SetupError as error:
        print(f"\n{error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped; the next run starts again.", file=sys.stderr)
        return 130
    print(f"The environment in {options.venv} is ready.")
    return 0
