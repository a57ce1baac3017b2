"""Files: written whole or not at all, so that a crash leaves what was there before."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8, whole or not at all.

    Args:
        path: the file; its folder must exist.
        text: the content.

    Raises:
        OSError: if the file cannot be written; what was there before stays.
    """
    unfinished = path.with_suffix(path.suffix + ".tmp")
    unfinished.write_text(text, encoding="utf-8")
    os.replace(unfinished, path)


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
