"""Get what the tests of a whole class need besides a sandbox: Dask, and PostgreSQL with its driver.

The Python packages are those of the extras `cluster` and `postgresql`, which the lock leaves out.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import sys
import tomllib
from pathlib import Path

from tools.chromium import apt_get, succeeds
from tools.environment import LOCK, ROOT, install_with_uv, run_pip

EXTRAS = {"cluster": "distributed", "postgresql": "psycopg"}
# Debian keeps the programs of each version in a folder of its own, off the PATH.
VERSIONS = Path("/usr/lib/postgresql")

HOW_TO_GET_IT = """\
These tests need Dask, psycopg and PostgreSQL: pip install -e '.[cluster,postgresql]'
and, on Debian and Ubuntu, sudo apt-get install postgresql."""


def postgresql() -> Path | None:
    """Return the folder of PostgreSQL's programs, of the newest version here, or None."""
    found = sorted(VERSIONS.glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    on_path = shutil.which("initdb")
    programs = found[-1] if found else Path(on_path) if on_path else None
    return programs.parent if programs else None


def why_not() -> str:
    """Return what is missing, and how to get it, or ""."""
    missing = [name for name in EXTRAS.values() if importlib.util.find_spec(name) is None]
    if postgresql() is None:
        missing.append("PostgreSQL")
    return f"Not here: {', '.join(missing)}.\n{HOW_TO_GET_IT}" if missing else ""


def requirements() -> list[str]:
    """Return what the extras bring besides the package itself."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    return [each for name in EXTRAS for each in extras[name] if "transformer-ref" not in each]


def fetch(ci: bool) -> str:
    """Get what is missing, if that may be; return what is missing then, or ""."""
    if any(importlib.util.find_spec(name) is None for name in EXTRAS.values()):
        python = Path(os.path.abspath(sys.executable))
        arguments = ["install", "--constraint", str(LOCK), *requirements()]
        if not install_with_uv(python, arguments):
            run_pip(python, arguments, "Dask and psycopg")
        importlib.invalidate_caches()
    if postgresql() is None:
        all(map(succeeds, apt_get(["postgresql"], ci)))
    return why_not()
