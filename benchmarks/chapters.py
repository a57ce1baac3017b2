"""The code of a chapter, read from its cells, for the scripts that run it for longer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib

from transformer_ref.files import write_json

RUNS = Path(__file__).resolve().parent.parent / "runs" / "chapters"


def chapter_code(chapter: Path, cells: Sequence[str]) -> dict[str, Any]:
    """Run the named cells of a chapter in order; return the names that they define.

    How the chapter draws stays in the chapter.
    """
    sources = cell_sources(chapter)
    names: dict[str, Any] = {}
    with matplotlib.rc_context():
        for identifier in cells:
            lines = sources[identifier].splitlines()
            code = "\n".join(line for line in lines if not line.startswith("%"))
            exec(compile(code, f"{chapter.name}:{identifier}", "exec"), names)
    return names


def cell_sources(chapter: Path) -> dict[str, str]:
    """The text of each cell of a chapter, by its id."""
    notebook = json.loads(chapter.read_text(encoding="utf-8"))
    return {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"] if "id" in cell}


def kept(
    name: str, chapter: Path, cells: Sequence[str], settings: object, make: Callable[[], Any]
) -> Any:
    """Read what an earlier call has computed, or compute it and keep it in runs/chapters/.

    Args:
        name: of the file, before a hash of all that the result hangs on.
        chapter: the notebook whose code is run.
        cells: the ids of its cells; where one of them has changed, all is computed anew.
        settings: what else the result hangs on.
        make: computes what JSON can hold.
    """
    sources = cell_sources(chapter)
    code = [sources[identifier] for identifier in cells if identifier != "imports"]
    digest = hashlib.sha256(repr((code, settings)).encode()).hexdigest()[:8]
    path = RUNS / f"{name.replace(',', '').replace(' ', '-')}-{digest}.json"
    if not path.exists():
        RUNS.mkdir(parents=True, exist_ok=True)
        write_json(path, make())
    return json.loads(path.read_text(encoding="utf-8"))


def thinned(losses: Sequence[float], every: int) -> list[float]:
    """Means over `every` steps."""
    groups = (losses[start : start + every] for start in range(0, len(losses), every))
    return [round(sum(group) / len(group), 4) for group in groups]
