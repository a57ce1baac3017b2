"""Copy the exercises into my-work/ and open JupyterLab there: `python -m tools.lab`.

A file that is in my-work/ already is never overwritten, whatever has become of the exercise.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SKIPPED = frozenset({".ipynb_checkpoints", "__pycache__"})


def copy_new(source: Path, target: Path) -> list[Path]:
    """Copy the files of a folder that are missing in another one.

    Args:
        source: the folder with the exercises.
        target: the folder of the student; made when it is missing.

    Returns:
        The copied files, relative to either folder.

    Raises:
        OSError: ``source`` does not exist, or a file cannot be written.
    """
    if not source.is_dir():
        raise FileNotFoundError(f"source: no folder {source}, expected the released exercises")
    copied = []
    for path in sorted(source.rglob("*")):
        name = path.relative_to(source)
        # lexists: also a dangling link is the student's own.
        if path.is_dir() or SKIPPED & set(name.parts) or os.path.lexists(target / name):
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        temporary = (target / name).with_name(f".{name.name}.new")
        shutil.copyfile(path, temporary)
        temporary.replace(target / name)
        copied.append(name)
    return copied


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; replaces this process by JupyterLab."""
    parser = argparse.ArgumentParser(prog="python -m tools.lab", description=__doc__)
    parser.add_argument("--copy-only", action="store_true", help="do not open JupyterLab")
    options, rest = parser.parse_known_args(arguments)
    work = ROOT / "my-work"
    copied = copy_new(ROOT / "exercises", work)
    print(f"{len(copied)} new files in {work.name}/; what was there already is as you left it.")
    if options.copy_only:
        return 0
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={work}", *rest]
    os.chdir(work)
    os.execv(sys.executable, command)


if __name__ == "__main__":
    sys.exit(main())
