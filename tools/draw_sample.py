"""Draw a sample of what is too much to try at every run, another one for every commit.

`make test` tries a sample of the changed answers, `make test-all` all of them.  The environment
variable SAMPLE draws the sample of another commit again.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from functools import cache

from tools.inputs import ROOT


@cache
def sample() -> str:
    """Return the seed of the sample: SAMPLE, the commit, or a constant without git."""
    if chosen := os.environ.get("SAMPLE"):
        return chosen
    command = ["git", "rev-parse", "--short=12", "HEAD"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return "no-git"
    return done.stdout.strip() or "no-git"


def rank(name: str) -> int:
    """Return a number that the sample and a name decide, uniform over 64 bits."""
    return int.from_bytes(hashlib.sha256(f"{sample()} {name}".encode()).digest()[:8], "big")


def is_drawn(name: str, one_in: int) -> bool:
    """Say whether a name belongs to a sample of one in `one_in`.

    Args:
        name: what may be drawn.
        one_in: how many names there are for each that is drawn, on average.
    """
    return rank(name) % one_in == 0
