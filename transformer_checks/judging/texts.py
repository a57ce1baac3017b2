"""Make texts that come from students fit for messages, files, terminals and pages."""

from __future__ import annotations

import re

from transformer_checks.translation import say

_COLOR = re.compile(r"(\x1b\[[\d;]*m)")


def encodable(text: str) -> str:
    r"""Write characters that UTF-8 does not have, such as single surrogates, as ``\ud800``."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def printable(text: str, keep: str = "") -> str:
    r"""Write characters that are not seen as escapes, such as ``\x1b`` and ``\u202e``.

    Control characters can move the cursor or begin a line, bidirectional ones turn the order of
    letters around: with either, one text looks like another.

    Args:
        text: any text.
        keep: characters that stay as they are, such as a line break.

    Returns:
        the text, on one line if no line break is kept.
    """
    shown = (c if c.isprintable() or c in keep else repr(c)[1:-1] for c in encodable(text))
    return "".join(shown)


def printable_output(text: str) -> str:
    """Write what a cell printed: with its lines, tabs and colors, all else as :func:`printable`."""
    parts = _COLOR.split(text)
    return "".join(
        part if place % 2 else printable(part, "\n\r\t") for place, part in enumerate(parts)
    )


def marked_as_printed(text: str) -> list[str]:
    """Return the lines that an answer printed, each with words of ours in front of it."""
    lines = [printable(line.expandtabs().rstrip("\r ")) for line in text.strip().split("\n")]
    first, *others = lines
    said = say("Your code printed: {line}", line=first)
    return [f"  {said}", *(" " * 12 + say("printed: {line}", line=line) for line in others)]
