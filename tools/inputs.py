"""What the book is made from: its files and their digest, for the build and the tests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# A change in one of these means that every chapter has to be executed again. No chapter imports the
# checks: to edit a hint costs no run. What begins with "!" is left out.
EXECUTION_INPUTS = ("transformer_ref", "!transformer_ref/checks", "requirements.lock")

# A change in one of these means that the site has to be built again.
SITE_INPUTS = (
    "transformer_ref",
    "requirements.lock",
    "_config.yml",
    "_toc.yml",
    "book",
    "exercises",
    "solutions",
    "tools/book_execution.py",
    "tools/book_extension.py",
    "tools/build_book.py",
    "tools/inputs.py",
)

# Left behind by tools; nothing is made from them.
IGNORED_PARTS = frozenset({"__pycache__", ".ipynb_checkpoints", ".DS_Store"})


def input_files(names: Iterable[str], root: Path = ROOT) -> list[Path]:
    """List the files that the given files and folders hold, in a fixed order.

    Args:
        names: paths relative to `root`; one that does not exist holds nothing, and what is in one
            that begins with "!" is left out.
        root: the root of the repository.

    Returns:
        Absolute paths of files, without what tools leave behind.
    """
    found: set[Path] = set()
    left_out: set[Path] = set()
    for name in names:
        path = root / name.removeprefix("!")
        chosen = left_out if name.startswith("!") else found
        chosen.update([path] if path.is_file() else path.rglob("*"))
    return sorted(
        path
        for path in found - left_out
        if path.is_file() and not IGNORED_PARTS.intersection(path.relative_to(root).parts)
    )


def digest(names: Iterable[str], root: Path = ROOT) -> str:
    """Hash the names and the contents of the files that `names` hold.

    Args:
        names: paths relative to `root`.
        root: the root of the repository.

    Returns:
        A SHA-256 in hexadecimal; it depends on nothing but names and bytes.
    """
    total = hashlib.sha256()
    for path in input_files(names, root):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{path.relative_to(root).as_posix()}\0{content}\n".encode())
    return total.hexdigest()
