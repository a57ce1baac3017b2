"""Find the sandbox in which a class is graded, or get it where that needs no question.

The package says what a sandbox is and what to do without one; the tests of grading need it.
"""

from __future__ import annotations

import subprocess
import sys

from tools.chromium import apt_get, as_root, succeeds

# Where user namespaces are off: on Ubuntu, and on older Debian.
NAMESPACES = (
    "kernel.apparmor_restrict_unprivileged_userns=0",
    "kernel.unprivileged_userns_clone=1",
)

TRY_IT = (
    "import sys\n"
    "from transformer_checks.classroom.sandbox import SandboxError, find_sandbox\n"
    "try:\n    find_sandbox()\n"
    "except SandboxError as error:\n    sys.exit(str(error))"
)


def why_not() -> str:
    """Return why there is no sandbox on this machine, and what to do, or ""."""
    done = subprocess.run([sys.executable, "-c", TRY_IT], capture_output=True, text=True)
    return done.stderr.strip() if done.returncode else ""


def fetch(ci: bool) -> str:
    """Get bubblewrap from Debian's packages, if that may be; return why there is none, or "".

    In CI, whose machines are thrown away, user namespaces are switched on too.
    """
    all(map(succeeds, apt_get(["bubblewrap"], ci)))
    if ci and why_not():
        for setting in NAMESPACES:
            succeeds([*as_root(ci), "sysctl", "--write", setting])
    return why_not()
