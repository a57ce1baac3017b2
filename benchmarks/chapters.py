"""The code of a chapter, read from its cells, for the scripts that run it for longer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib


def chapter_code(chapter: Path, cells: Sequence[str]) -> dict[str, Any]:
    """Run the named cells of a chapter in order; return the names that they define.

    How the chapter draws stays in the chapter.
    """
    notebook = json.loads(chapter.read_text(encoding="utf-8"))
    sources = {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"] if "id" in cell}
    names: dict[str, Any] = {}
    with matplotlib.rc_context():
        for identifier in cells:
            lines = sources[identifier].splitlines()
            code = "\n".join(line for line in lines if not line.startswith("%"))
            exec(compile(code, f"{chapter.name}:{identifier}", "exec"), names)
    return names
