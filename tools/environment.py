"""Make or update the virtual environment from requirements.lock; `make setup` and lab.py run this.

pip installs uv, and uv installs everything else; both print their own progress and errors.
Uses the standard library only, because nothing else is installed yet.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shlex
import shutil
import ssl
import subprocess
import sys
import urllib.request
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"

# Written last, and removed first when an environment is made from scratch, so that a half-made one
# is never used.  `make` compares its time with the lock's, so a failed update is tried again.
STAMP = ".complete"

# PyTorch's builds for the CPU, and what tells that a build with CUDA is of use.
CPU_INDEX = "https://download.pytorch.org/whl/cpu/torch/"
NVIDIA = Path("/proc/driver/nvidia")
# pip's settings with which the user has chosen where packages come from.
CHOOSE_INDEX = {"extra-index-url", "find-links", "index-url", "no-index"}

GIGABYTE = 10**9
NEEDED = 3 * GIGABYTE  # 1.8 with torch for the CPU, and room for the downloads

# uv reads none of pip's settings.  These decide where packages come from; the others, such as
# `user` or `target`, are for other projects.
UV_VARIABLES = {
    "cache-dir": "UV_CACHE_DIR",
    "cert": "SSL_CERT_FILE",
    "client-cert": "SSL_CLIENT_CERT",
    "constraint": "UV_CONSTRAINT",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "index-url": "UV_DEFAULT_INDEX",
    "no-cache-dir": "UV_NO_CACHE",
    "no-index": "UV_OFFLINE",
    "proxy": "ALL_PROXY",
    "timeout": "UV_HTTP_TIMEOUT",
    "trusted-host": "UV_INSECURE_HOST",
}
# Later ones win, as in pip: its files for all commands, for `install`, then the variables PIP_*.
SECTIONS = ("global", "install", ":env:")

# If one of these does not import, the environment is not usable.  The package is only looked for:
# an error in its code is no reason to call the environment broken.
SMOKE_TEST = """\
import importlib.util, torch, jupyter_book, nbgrader, nbval, jupyterlab
if importlib.util.find_spec("transformer_ref") is None:
    raise ModuleNotFoundError("transformer_ref is not installed")
"""

FAILED = """
The environment is not ready.  The lines above say why; these are the usual reasons:
- The package index did not answer: check the network, and HTTPS_PROXY behind a proxy.
- No space is left: torch and the tools take 1.8 GB for the CPU, 5.8 GB with CUDA.
- There is no build of torch for this machine: see 'Supported systems' in README.md.
Then run the same command again."""


def python_of(folder: Path) -> Path:
    """Return where the Python of an environment is."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def is_current(folder: Path) -> bool:
    """Say whether an environment is complete, and not older than what it is made from."""
    stamp = folder / STAMP
    made_from = (LOCK, ROOT / "pyproject.toml")
    return stamp.exists() and all(
        stamp.stat().st_mtime >= each.stat().st_mtime for each in made_from
    )


def pip_settings(python: Path) -> dict[str, str]:
    """Ask the pip of an environment which settings of UV_VARIABLES the user has made.

    Raises:
        subprocess.CalledProcessError: pip cannot read its files, and has printed why.
    """
    listing = subprocess.run(
        [python, "-m", "pip", "config", "list"],
        env={**os.environ, "PIP_USER": "0"},  # with `user`, pip would list one file only
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    lines = re.findall(r"^(global|install|:env:)\.(\S+?)=(.*)$", listing, flags=re.MULTILINE)
    settings: dict[str, str] = {}
    for _, name, value in sorted(lines, key=lambda line: SECTIONS.index(line[0])):
        words = str(ast.literal_eval(value)).split()
        if name in UV_VARIABLES and words:  # pip ignores empty ones
            settings[name] = " ".join(words)
    return settings


def variables_for_pip(settings: dict[str, str]) -> dict[str, str]:
    """Return the environment in which pip has these settings and no others."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    ours = {f"PIP_{name.upper().replace('-', '_')}": value for name, value in settings.items()}
    return environ | ours | {"PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def variables_for_uv(settings: dict[str, str]) -> dict[str, str]:
    """Return the environment in which uv has these settings of pip; what is set for uv wins."""
    ours = {UV_VARIABLES[name]: value for name, value in settings.items()}
    if links := settings.get("find-links"):
        ours["UV_FIND_LINKS"] = links.replace(" ", ",")
    # pip takes certificates from these, too, and from the system, where a company puts its own.
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        if bundle := os.environ.get(name):
            ours.setdefault("SSL_CERT_FILE", bundle)
    if sys.platform in ("darwin", "win32") or ssl.get_default_verify_paths().cafile:
        ours["UV_SYSTEM_CERTS"] = "true"
    # Of several indexes, pip takes the best version in all of them, and uv otherwise the first.
    return {"UV_INDEX_STRATEGY": "unsafe-best-match", **ours, **os.environ}


def install_uv(python: Path) -> None:
    """Install the uv that the lock names, with pip."""
    command: list[str | Path] = [
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        locked("uv"),
    ]
    subprocess.run(command, env=variables_for_pip(pip_settings(python)), check=True)


def install(python: Path, *arguments: str) -> None:
    """Run `uv pip install` for an environment that has pip and uv.

    Raises:
        subprocess.CalledProcessError: uv failed, and has printed why.
    """
    # Without the configuration of this repository, which is for `make lock`.
    command: list[str | Path] = [
        python,
        "-m",
        "uv",
        "pip",
        "install",
        "--no-config",
        "--python",
        python,
        *arguments,
    ]
    subprocess.run(command, env=variables_for_uv(pip_settings(python)), check=True)


def reason_to_remake(folder: Path) -> str | None:
    """Say why an environment must be made from scratch; return None if it can be updated."""
    if not (folder / STAMP).exists():
        return "an earlier run did not finish it" if folder.exists() else "there is none yet"
    try:
        code = "import sys; print(*sys.version_info[:2])"
        command = [str(python_of(folder)), "-I", "-c", code]
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "its Python is gone"
    if found.split() != [str(number) for number in sys.version_info[:2]]:
        return "it was made with another version of Python"
    return None


def make_venv(folder: Path) -> None:
    """Make an empty environment with pip, unless there is one that can be updated."""
    reason = reason_to_remake(folder)
    if reason is None:
        return
    print(f"Making {folder}: {reason}.", flush=True)
    (folder / STAMP).unlink(missing_ok=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Emptied first: an environment that is made again needs no more room than it had.
    links = os.name != "nt"  # which takes rights on Windows
    venv.create(folder, clear=True, symlinks=links)
    if (free := shutil.disk_usage(folder).free) < NEEDED:
        sys.exit(
            f"The disk that holds {folder} has {free / GIGABYTE:.1f} GB free; torch and the tools "
            f"need about {NEEDED / GIGABYTE:.0f} GB."
        )
    venv.create(folder, with_pip=True, symlinks=links)


def locked(package: str) -> str:
    """Return one package with its version, as the lock has it."""
    found = re.search(rf"^{package}==[^\s;]+", LOCK.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert found is not None, f"{LOCK.name} does not name {package}: run `make lock`."
    return found[0]


def wants_cpu_index(python: Path) -> bool:
    """Say whether torch should come from PyTorch's index of builds for the CPU.

    The default index has those for Windows and macOS.  For Linux it has the build with CUDA, which
    is 4 GB larger and of no use without an NVIDIA driver.
    """
    if sys.platform != "linux" or NVIDIA.exists():
        return False
    if CHOOSE_INDEX & pip_settings(python).keys():
        return False
    try:
        urllib.request.urlopen(CPU_INDEX, timeout=10).close()
    except OSError:
        return False
    return True


def torch_options(index: str) -> list[str]:
    """Return uv's options for TORCH_INDEX: a build that uv knows, or an address of an index."""
    if not index:
        return []
    return ["--default-index" if "/" in index else "--torch-backend", index]


def build(folder: Path, torch_index: str) -> None:
    """Make or update an environment.

    Args:
        folder: where it is or will be.
        torch_index: "cpu", a build of CUDA such as "cu130", or the address of a package index for
            torch; empty for what fits the machine.
    """
    make_venv(folder)
    python = python_of(folder)
    install_uv(python)
    # First and with what it needs, because the index decides on CUDA, which the lock leaves out.
    index = torch_index or ("cpu" if wants_cpu_index(python) else "")
    install(python, *torch_options(index), locked("torch"))
    # The lock is complete, so there is nothing to resolve.
    editable = ("--no-build-isolation", "--editable", str(ROOT))
    install(python, "--no-deps", "--requirements", str(LOCK), *editable)
    print("Checking that everything imports ...", flush=True)
    # Not from the root, where the package is found without being installed.
    subprocess.run([python, "-c", SMOKE_TEST], cwd=folder, check=True)
    (folder / STAMP).touch()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.environment", description=__doc__)
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv")
    folder = parser.parse_args(arguments).venv.absolute()
    try:
        build(folder, os.environ.get("TORCH_INDEX", ""))
    except subprocess.CalledProcessError as error:
        output = error.output or ""
        if isinstance(output, bytes):  # of ensurepip
            output = output.decode(errors="replace")
        failed = f"\nThis command failed: {shlex.join(map(str, error.cmd))}"
        print(output, failed, FAILED, sep="\n", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped; the next run starts again.", file=sys.stderr)
        return 130
    print(f"The environment in {folder} is ready.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
