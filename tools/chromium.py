"""Find the Chromium that the browser tests drive; install it where that may be done.

Used by tests/site and by tools/run_tests.py.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

# Chromium and Chrome by their names on PATH, then where macOS keeps them.
COMMANDS = ("chromium", "google-chrome", "google-chrome-stable", "chromium-browser")
MAC_APPLICATIONS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
# The fonts decide how wide text is, so the layout tests want the same ones everywhere.
DEBIAN_PACKAGES = ("chromium", "fonts-dejavu-core", "fonts-liberation")

HOW_TO_GET_IT = """\
The browser tests need Chromium or Google Chrome, and none was found.
  Debian:         sudo apt-get install chromium
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


def find() -> Path | None:
    """Return the program to drive: CHROMIUM if set, else what the machine has, else None.

    Raises:
        ValueError: CHROMIUM names a program that is not there.
    """
    if chosen := os.environ.get("CHROMIUM"):
        found = shutil.which(chosen)
        if found is None:
            raise ValueError(f"CHROMIUM: no program {chosen!r}, expected the path of a Chromium")
        return Path(found)
    for name in (*COMMANDS, *MAC_APPLICATIONS):
        if found := shutil.which(name):
            return Path(found)
    return playwright_chromium()


def install() -> bool:
    """Install Chromium and fonts with apt-get, as root or with sudo; return whether it worked."""
    if shutil.which("apt-get") is None:
        return False
    prefix = [] if os.geteuid() == 0 else ["sudo", "--non-interactive"]
    if prefix and shutil.which("sudo") is None:
        return False
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    steps = [["update", "--quiet"], ["install", "--yes", "--quiet", *DEBIAN_PACKAGES]]
    return all(
        subprocess.run([*prefix, "apt-get", *step], env=environment).returncode == 0
        for step in steps
    )
