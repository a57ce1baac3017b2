"""Files: written whole or not at all, so that a crash leaves what was there before."""

from __future__ import annotations

import contextlib
import filecmp
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file to write, which takes its place in one step, when all is written.

    It is a temporary file in the same folder, with a name of its own, so that two programs that
    write the same file do not write into each other's.

    Args:
        path: the file; its folder must exist.

    Yields:
        The temporary file, to write bytes.

    Raises:
        OSError: if the file cannot be written; what was there before stays.
    """
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(unfinished, "xb") as file:
            yield file
            file.flush()
            # Else the new name may reach the disk before the content does.
            os.fsync(file.fileno())
        if path.exists():
            unfinished.chmod(path.stat().st_mode)
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8, whole or not at all.

    Args:
        path: the file; its folder must exist.
        text: the content.

    Raises:
        OSError: if the file cannot be written; what was there before stays.
    """
    with whole_file(path) as file:
        file.write(text.encode("utf-8"))


def write_json(path: Path, content: Any) -> None:
    """Write `content` as JSON, whole or not at all.

    Args:
        path: the file; its folder must exist.
        content: anything that JSON can hold.

    Raises:
        OSError: if the file cannot be written; what was there before stays.
        TypeError: if JSON cannot hold the content.
    """
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def move_together(new: Path, folder: Path, last: str) -> None:
    """Put files that belong together in the place of old ones.

    A kill in the middle leaves the old files, the new ones, or a folder without the file `last`:
    never some of these and some of those. Where only one file differs, one step replaces it.

    Args:
        new: a folder with all of them, on the same disk; they are moved away.
        folder: where they belong; it must exist.
        last: the file that a reader cannot do without; it goes first and comes last.

    Raises:
        OSError: if a file cannot be moved.
    """
    names = [path.relative_to(new) for path in sorted(new.rglob("*")) if path.is_file()]
    names = [name for name in names if not _same(new / name, folder / name)]
    names.sort(key=lambda name: name == Path(last))
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with open(new / name, "rb") as file:
            os.fsync(file.fileno())
    if len(names) > 1 and (folder / last).exists():
        os.replace(folder / last, new / f"old {last}")
    for name in names:
        os.replace(new / name, folder / name)


def _same(path: Path, other: Path) -> bool:
    return other.is_file() and filecmp.cmp(path, other, shallow=False)
