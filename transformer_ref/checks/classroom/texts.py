"""Texts that come from students: made fit for files, terminals and pages."""

from __future__ import annotations

import re


def encodable(text: str) -> str:
    r"""Write characters that UTF-8 does not have, such as single surrogates, as ``\ud800``."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def printable(text: str) -> str:
    r"""Write control characters, by which a terminal can be told things, as ``\x1b``, too."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda found: repr(found[0])[1:-1], encodable(text))
