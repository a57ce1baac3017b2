"""Pack the course for the site's readers: a zip in which `make book` and lab.py work.

The same files give the same bytes.  Where _toc.yml leaves the solutions out, so does the zip, and
the tests with them, whose material answers each task too.
"""

from __future__ import annotations

import fnmatch
import io
import os
import subprocess
import zipfile
from pathlib import Path

from transformer_ref.files import whole_file

NAME = "transformer-course.zip"
FOLDER = "transformer-course"
ANSWERS = ("solutions/", "tests/")
# The earliest that a zip can say: when a file was written is nothing that a reader needs.
DATE = (1980, 1, 1, 0, 0, 0)


def course_files(root: Path) -> list[str]:
    """List the files of the course, relative to its folder: what git knows or would not ignore.

    Without git, as in the zip itself, nothing that a class or a reader made may slip in.
    """
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        listed = ""
    names = [name for name in listed.split("\0") if name] or unignored_files(root)
    return sorted(name for name in names if (root / name).is_file())


def unignored_files(root: Path) -> list[str]:
    """List the files that .gitignore does not name; it has only names and patterns of names."""
    lines = (root / ".gitignore").read_text(encoding="utf-8").splitlines()
    patterns = [line for line in lines if line and not line.startswith("#")]
    found = []
    for folder, folders, files in os.walk(root):
        at_root = Path(folder) == root

        def is_kept(name: str, at_root: bool = at_root) -> bool:
            return name != ".git" and not any(
                fnmatch.fnmatch(name, pattern.strip("/"))
                for pattern in patterns
                if at_root or not pattern.startswith("/")
            )

        folders[:] = filter(is_kept, folders)
        found += [(Path(folder) / name).relative_to(root) for name in filter(is_kept, files)]
    return [path.as_posix() for path in found]


def shows_solutions(root: Path) -> bool:
    """Say whether the site has the solutions."""
    lines = (root / "_toc.yml").read_text(encoding="utf-8").splitlines()
    return any("solutions/" in line.partition("#")[0] for line in lines)


def pack(root: Path) -> bytes:
    """Return the course as a zip."""
    without = () if shows_solutions(root) else ANSWERS
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in course_files(root):
            if name.startswith(without):
                continue
            entry = zipfile.ZipInfo(f"{FOLDER}/{name}", DATE)
            mode = 0o755 if os.access(root / name, os.X_OK) else 0o644
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, (root / name).read_bytes())
    return packed.getvalue()


def write(root: Path, site: Path) -> None:
    """Put the zip into the site, if it is not there as it should be."""
    content, target = pack(root), site / NAME
    if not target.is_file() or target.read_bytes() != content:
        with whole_file(target) as file:
            file.write(content)
