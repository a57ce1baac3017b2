"""What the book is made from: its files and their digest, for the build and the tests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# The language that the book is written in, and where the catalogs of its translations are.
ENGLISH = "en"
LOCALE = "book/locale"

# A change in one of these means that every chapter has to be executed again: in the package with
# its experiments and its drawing code, or in the lock.
EXECUTION_INPUTS = ("transformer_ref", "requirements.lock")

# The extension that turns sources into pages, and what it imports from the tools.
EXTENSION_INPUTS = (
    "book/_extensions",
    "tools/course_zip.py",
    "tools/drawings/kit.py",
    "tools/drawings/model_map.py",
    "tools/drawings/palette.py",
    "tools/inputs.py",
    *(f"{path.relative_to(ROOT)}" for path in ROOT.glob("transformer_checks/**/misconceptions.md")),
)

# A change in one of these means that the site has to be built again.
SITE_INPUTS = (
    *EXECUTION_INPUTS,
    *EXTENSION_INPUTS,
    "_config.yml",
    "_toc.yml",
    "book",
    "exercises",
    "solutions",
    "tools/build_book.py",
)

# Left behind by tools, or written for contributors: no page is made from them.
IGNORED_PARTS = frozenset({"__pycache__", ".ipynb_checkpoints", ".DS_Store", "README.md"})


def input_files(names: Iterable[str], root: Path = ROOT) -> list[Path]:
    """List the files that the given files and folders hold, in a fixed order.

    Args:
        names: paths relative to `root`; one that does not exist holds nothing.
        root: the root of the repository.

    Returns:
        Absolute paths of files, without what tools leave behind and without READMEs.
    """
    found: set[Path] = set()
    for name in names:
        path = root / name
        found.update([path] if path.is_file() else path.rglob("*"))
    return sorted(
        path
        for path in found
        if path.is_file()
        and path.suffix != ".mo"  # Sphinx compiles catalogs beside their sources
        and not IGNORED_PARTS.intersection(path.relative_to(root).parts)
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


def execution_cache(build: Path, root: Path = ROOT) -> Path:
    """Return where a build folder keeps the outputs of chapters.

    The cache itself looks only at a notebook's cells, so it would keep outputs of an older package:
    each package and lock has a folder of its own.

    Args:
        build: the folder.
        root: the root of the repository.
    """
    key = digest(EXECUTION_INPUTS, root)[:16]
    return build / ".jupyter_cache" / key
