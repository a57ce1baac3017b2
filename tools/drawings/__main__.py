"""Make the drawings again: `python -m tools.drawings [--check]`.

With `--check` nothing is written; the exit status says whether a file differs from what its
module draws.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

from tools.drawings.kit import Drawing
from tools.drawings.model_map import CHAPTERS, model_map
from tools.drawings.palette import page_style
from transformer_ref.files import write_text

ASSETS = Path(__file__).resolve().parents[2] / "book/assets"


def all_drawings() -> dict[str, Drawing]:
    """Return every drawing by its file's name below book/assets/drawings, without the ending."""
    drawings: dict[str, Drawing] = {}
    for slug, lit in CHAPTERS.items():
        drawings[f"{slug}/map"] = model_map(lit)
        drawings[f"{slug}/map-narrow"] = model_map(lit, narrow=True)
        made: Mapping[str, Drawing] = import_module(f"tools.drawings.{slug}").drawings()
        drawings |= {f"{slug}/{name}": drawing for name, drawing in made.items()}
    return drawings


def all_files() -> dict[Path, str]:
    """Return the text of each file that is made here, by its path."""
    files = {ASSETS / f"drawings/{name}.svg": made.svg() for name, made in all_drawings().items()}
    return {ASSETS / "drawings.css": page_style(), **files}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.drawings", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only compare")
    check = parser.parse_args(arguments).check
    stale = []
    for path, text in all_files().items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path.relative_to(ASSETS).as_posix())
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, text)
    for name in stale:
        print(f"{'stale' if check else 'made'}: {name}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
