# /// script
# requires-python = ">=3.11,<3.15"
# ///
"""Set up the course in this folder and open its exercises: `uv run lab.py` on any system.

`python lab.py` does the same where there is a Python that fits, and so does `make lab`.
Uses the standard library only: the lines at the top tell uv that no package is needed.
"""

import os
import subprocess
import sys

if not (3, 11) <= sys.version_info[:2] <= (3, 14):
    sys.exit("The course needs Python 3.11 to 3.14: `uv run lab.py` takes one that fits.")

from tools import environment

# What people have set for other projects, as in the Makefile.
FOREIGN = ("JUPYTER_PATH", "PYTHONHOME", "PYTHONPATH", "PYTHONSAFEPATH", "PYTHONSTARTUP")


def main() -> int:
    """Make the environment if it is missing or older than the lock; then start tools/lab.py."""
    folder = environment.ROOT / ".venv"
    if not environment.is_current(folder):
        status = environment.main([f"--venv={folder}"])
        if status:
            return status
    variables = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    command = [environment.python_of(folder), "-m", "tools.lab", *sys.argv[1:]]
    try:
        return subprocess.run(command, cwd=environment.ROOT, env=variables).returncode
    except KeyboardInterrupt:  # JupyterLab gets it, too, and asks whether to stop
        return 130


if __name__ == "__main__":
    sys.exit(main())
