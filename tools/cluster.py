"""Get what the tests of a whole class need besides a sandbox: Dask, PostgreSQL, JupyterHub.

The Python packages are those of the extras `cluster`, `postgresql` and `hub`, which the lock leaves
out.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from tools.chromium import apt_get, succeeds
from tools.environment import LOCK, ROOT, install

EXTRAS = {"cluster": "distributed", "postgresql": "psycopg", "hub": "jupyterhub"}
# Debian keeps the programs of each version in a folder of its own, off the PATH.
VERSIONS = Path("/usr/lib/postgresql")

# JupyterHub's proxy, a program of Node.js, lies beside the packages of this environment.
PROXY = "configurable-http-proxy"
# By it a process is told that its user has another name.
NAMES = "libnss_wrapper.so"

HOW_TO_GET_IT = f"""\
These tests need Dask, PostgreSQL and JupyterHub: pip install -e '.[cluster,postgresql,hub]'
and, on Debian and Ubuntu, sudo apt-get install postgresql nodejs npm libnss-wrapper
and npm install --prefix {sys.prefix} {PROXY}"""


def postgresql() -> Path | None:
    """Return the folder of PostgreSQL's programs, of the newest version here, or None."""
    found = sorted(VERSIONS.glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    on_path = shutil.which("initdb")
    programs = found[-1] if found else Path(on_path) if on_path else None
    return programs.parent if programs else None


def proxy() -> Path | None:
    """Return JupyterHub's proxy, or None."""
    own = Path(sys.prefix, "node_modules", ".bin", PROXY)
    on_path = shutil.which(PROXY)
    return own if own.exists() else Path(on_path) if on_path else None


def names_of_accounts() -> Path | None:
    """Return the library by which users of the system have other names, or None."""
    return next(iter(sorted(Path("/usr/lib").glob(f"**/{NAMES}"))), None)


def why_not() -> str:
    """Return what is missing, and how to get it, or ""."""
    missing = [name for name in EXTRAS.values() if importlib.util.find_spec(name) is None]
    programs = {"PostgreSQL": postgresql, PROXY: proxy, NAMES: names_of_accounts}
    missing += [name for name, find in programs.items() if find() is None]
    return f"Not here: {', '.join(missing)}.\n{HOW_TO_GET_IT}" if missing else ""


def requirements() -> list[str]:
    """Return what the extras bring besides the package itself."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    return [each for name in EXTRAS for each in extras[name] if "transformer-ref" not in each]


def packages_missing() -> list[str]:
    """Return Debian's packages of what is not here: an npm of another maker refuses Debian's."""
    found = {
        "postgresql": postgresql(),
        "nodejs npm": shutil.which("npm"),
        "libnss-wrapper": names_of_accounts(),
    }
    return " ".join(names for names, place in found.items() if place is None).split()


def fetch(ci: bool) -> str:
    """Get what is missing, if that may be; return what is missing then, or ""."""
    if any(importlib.util.find_spec(name) is None for name in EXTRAS.values()):
        with contextlib.suppress(subprocess.CalledProcessError):  # uv has printed why
            install(Path(sys.executable), "--constraints", str(LOCK), *requirements())
        importlib.invalidate_caches()
    if packages := packages_missing():
        all(map(succeeds, apt_get(packages, ci)))
    if proxy() is None:
        succeeds(["npm", "install", "--prefix", sys.prefix, PROXY])
    return why_not()
