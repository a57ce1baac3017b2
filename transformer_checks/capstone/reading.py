"""Reads a file that was handed in, whatever it is, and names what is wrong with it.

What is in the file is the business of `predictions` and `ablation`.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SHOWN = 10

# What other programs save under the name of a text file, by their first bytes.
_OTHER_FORMATS = {
    b"PK\x03\x04": "a spreadsheet or another zip archive",
    b"\x1f\x8b": "compressed with gzip",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
}


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a file.

    Attributes:
        kind: what such problems are called, in the plural; they are counted by it.
        message: what was received, and what was expected.
        line: where, counted from 1; None where it has no place.
    """

    kind: str
    message: str
    line: int | None = None

    def __str__(self) -> str:
        return self.message if self.line is None else f"line {self.line}: {self.message}"


class HandedInError(ValueError):
    """A file that was handed in cannot be scored.

    Args:
        name: of the file.
        problems: all that is wrong with it, at least one.

    Attributes:
        problems: the same.
    """

    def __init__(self, name: str, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        count = "1 problem" if len(problems) == 1 else f"{len(problems):,} problems"
        shown = _choose(problems)
        lines = [f"{name} cannot be scored: {count}", *(str(problems[i]) for i in shown)]
        rest = Counter(problem.kind for problem in problems)
        rest.subtract(problems[i].kind for i in shown)
        if rest.total():
            counts = "; ".join(
                f"{kind}: {number:,}" for kind, number in rest.most_common() if number
            )
            lines.append(f"and {rest.total():,} more ({counts})")
        super().__init__("\n  ".join(lines))


def _choose(problems: Sequence[Problem]) -> list[int]:
    """Choose which problems to show: the first of each kind, then from the top; by place."""
    firsts = {problem.kind: i for i, problem in reversed([*enumerate(problems)])}
    order = dict.fromkeys([*sorted(firsts.values()), *range(len(problems))])
    return sorted([*order][:SHOWN])


def read_text(path: Path, most: int, why_too_large: str, others: tuple[str, ...]) -> str:
    """Read a whole file as text.

    Args:
        path: the file.
        most: bytes that are read; a larger file is refused.
        why_too_large: what to look for in a file that is.
        others: endings, in small letters, under which a missing file may lie beside its place.

    Returns:
        The text, without a byte order mark.

    Raises:
        HandedInError: if there is no such file, or it is no text in UTF-8.
    """
    content = _read_bytes(path, most, why_too_large, others)
    what = next((what for start, what in _OTHER_FORMATS.items() if content.startswith(start)), "")
    if what:
        raise unreadable(path, "other formats", f"it is {what}; expected plain text in UTF-8")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = len(re.findall(rb"\r\n|\n|\r", content[: error.start])) + 1
        message = f"the byte 0x{content[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise unreadable(path, "other encodings", message, number) from None
    if "\0" in text:
        number = len(re.findall(r"\r\n|\n|\r", text[: text.index("\0")])) + 1
        message = "a character with the code 0; expected plain text in UTF-8"
        raise unreadable(path, "other encodings", message, number)
    return text


def _read_bytes(path: Path, most: int, why_too_large: str, others: tuple[str, ...]) -> bytes:
    try:
        # A pipe or a device would never end.
        if path.exists() and not path.is_file():
            raise unreadable(path, "other formats", "it is a folder or a device; expected a file")
        with path.open("rb") as file:
            content = file.read(most + 1)
    except FileNotFoundError:
        message = f"there is no such file{_beside(path, others)}"
        raise unreadable(path, "missing files", message) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise unreadable(path, "missing files", f"it cannot be read: {reason}") from None
    if len(content) > most:
        message = f"it has more than {most:,} bytes; {why_too_large}"
        raise unreadable(path, "files too large", message)
    return content


def _beside(path: Path, endings: tuple[str, ...]) -> str:
    """Name files of its kind in the folder: it may be there under another name."""
    folder = path.parent
    names = sorted(os.listdir(folder)) if folder.is_dir() and os.access(folder, os.R_OK) else []
    found = [name for name in names if name.lower().endswith(endings)]
    return f"; in its place stands {', '.join(map(short, found[:3]))}" if found else ""


def unreadable(path: Path, kind: str, message: str, line: int | None = None) -> HandedInError:
    """Make the error of a file that has one problem, which is of the whole file.

    Args:
        path: the file.
        kind: see :class:`Problem`.
        message: what was received, and what was expected.
        line: where it is.

    Returns:
        The error, to raise.
    """
    return HandedInError(path.name, [Problem(kind, message, line)])


def short(text: object, length: int = 40) -> str:
    """Quote what was received, without control characters, and not more than fits on a line.

    Args:
        text: what to show, as text.
        length: the most characters of it.

    Returns:
        The quotation.
    """
    shown = str(text)
    return repr(shown if len(shown) <= length else shown[: length - 3] + "...")
