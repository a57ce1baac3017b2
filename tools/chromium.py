"""Find the Chromium that the browser tests drive, or get one without asking anything.

Used by tests/site and by tools/run_tests.py.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

# Chromium and Chrome by their names on PATH, then where macOS keeps them. The first cannot open a
# window, and in the tests it takes a quarter less time than a browser that merely opens none.
COMMANDS = (
    "chromium-headless-shell",
    "chromium",
    "google-chrome",
    "google-chrome-stable",
    "chromium-browser",
)
MAC_APPLICATIONS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
# The fonts decide how wide text is, so the layout tests want the same ones everywhere.
DEBIAN_PACKAGES = ("chromium-headless-shell", "fonts-dejavu-core", "fonts-liberation")
PLAYWRIGHT_INSTALL = (sys.executable, "-m", "playwright", "install", "chromium")

# Seconds: a first start on a busy machine, and a download over a slow line.
START_LIMIT = 60.0
FETCH_LIMIT = 900.0

HOW_TO_GET_IT = """\
The browser tests need Chromium or Google Chrome, and none was found that starts.
  Debian:         sudo apt-get install chromium-headless-shell
  Ubuntu:         .venv/bin/playwright install --with-deps chromium
  macOS:          install Google Chrome, or .venv/bin/playwright install chromium
  somewhere else: set CHROMIUM to the path of the program
SKIP_BROWSER=1 leaves these tests out on purpose."""


def playwright_chromium() -> Path | None:
    """Return the Chromium that `playwright install` fetched, or None."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    with sync_playwright() as playwright:
        path = Path(playwright.chromium.executable_path)
    return path if path.exists() else None


def starts(program: Path) -> bool:
    """Run a browser once without a window; return whether it showed a page.

    That a file lies there says little: it may lack a library, or stand for a snap that is missing.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
        try:
            process = subprocess.Popen(
                [program, *options, "--dump-dom", "about:blank"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError:
            return False
        with process:
            try:
                page, _ = process.communicate(timeout=START_LIMIT)
            except subprocess.TimeoutExpired:
                # Its helpers too: they keep the output open.
                os.killpg(process.pid, signal.SIGKILL)
                return False
    return process.returncode == 0 and b"<html" in page


def candidates() -> Iterator[Path]:
    """Yield the browsers that lie on this machine, whether they start or not."""
    for name in (*COMMANDS, *MAC_APPLICATIONS):
        if found := shutil.which(name):
            yield Path(found)
    if (fetched := playwright_chromium()) is not None:
        yield fetched


def find() -> Path | None:
    """Return the program to drive: CHROMIUM if set, else the first here that starts, else None.

    Raises:
        ValueError: CHROMIUM names a program that is not there or does not start.
    """
    if chosen := os.environ.get("CHROMIUM"):
        found = shutil.which(chosen)
        if found is None:
            raise ValueError(f"CHROMIUM: no program {chosen!r}, expected the path of a Chromium")
        if not starts(Path(found)):
            raise ValueError(f"CHROMIUM: {chosen!r} does not start, expected a Chromium that does")
        return Path(found)
    return next(filter(starts, candidates()), None)


def ways_to_fetch(ci: bool) -> list[Sequence[Sequence[str]]]:
    """Return the ways to get a Chromium here, the best first; each is some commands in a row.

    Playwright puts one into a folder of the user's.  apt-get changes the machine, and brings the
    libraries and fonts too: it is for root, and in CI, whose machines are thrown away, for sudo.
    """
    ways: list[Sequence[Sequence[str]]] = [[PLAYWRIGHT_INSTALL]]
    if packages := apt_get(DEBIAN_PACKAGES, ci):
        ways.insert(0 if ci else 1, packages)
    return ways


def apt_get(packages: Sequence[str], ci: bool) -> Sequence[Sequence[str]]:
    """Return the commands that install packages of Debian without a question, if that may be."""
    prefix = as_root(ci)
    if not prefix or shutil.which("apt-get") is None:
        return []
    install = [*prefix, "apt-get", "install", "--yes", "--quiet", *packages]
    return [[*prefix, "apt-get", "update", "--quiet"], install]


def as_root(ci: bool) -> Sequence[str]:
    """Return what stands before a command that changes the machine; nothing if none may."""
    quiet = ["/usr/bin/env", "DEBIAN_FRONTEND=noninteractive"]
    if os.geteuid() == 0:
        return quiet
    # Behind sudo, which passes no variables on.
    return ["sudo", "--non-interactive", *quiet] if ci and shutil.which("sudo") else []


def succeeds(command: Sequence[str]) -> bool:
    """Run a command that can ask nothing; return whether it came to a good end in time."""
    print(f"$ {' '.join(command)}", flush=True)
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=FETCH_LIMIT)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def fetch(ci: bool) -> Path | None:
    """Get a Chromium in the first way that works; return it, or None where none does.

    Args:
        ci: whether this is continuous integration, which may change the machine through sudo.
    """
    for way in ways_to_fetch(ci):
        if all(map(succeeds, way)) and (program := find()) is not None:
            return program
    return None
