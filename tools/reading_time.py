"""How long the pages of the book take to read: `python -m tools.reading_time [book/x.ipynb ...]`.

200 words a minute; 12 lines of code in view a minute, in cells or fences; 30 printed lines a
minute; 10 seconds a formula on its own line; 20 seconds a picture or table. A newcomer who uses
the figures and answers the questions, in the column "working": 150 words and 10 lines of code a
minute, 15 seconds a formula, 2 minutes a moving figure and 1 minute a dropdown.
Not counted: the set-up cell and folded code, whose lines stand in the column "hidden", and
dropdowns, whose words and lines stand in "folded". Included files count as 15 lines each.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import nbformat

CHAPTERS = Path(__file__).resolve().parent.parent / "book"
CLOSER = CHAPTERS / "closer"

HIDDEN = {"hide-input", "hide-cell", "remove-input", "remove-cell", "setup"}
NO_OUTPUT = {"remove-cell", "remove-output", "hide-output"}
FOLDED = (
    re.compile(r"^[ \t]*(:{3,}|`{3,}|~{3,})\{dropdown\}.*?^[ \t]*\1[ \t]*$", re.M | re.S),
    re.compile(r"<details>.*?</details>", re.S),
)
FENCE = re.compile(
    r"^[ \t]*(`{3,}|~{3,})(?!\{(?:figure|image|math|note|tip|admonition))[^\n]*\n"
    r"(.*?)^[ \t]*\1[ \t]*$",
    re.M | re.S,
)
INCLUDED = re.compile(r"\{(?:literalinclude|include)\}")
FORMULA = re.compile(
    r"\$\$.*?\$\$|\\begin\{(?:align|equation)\*?\}.*?\\end\{(?:align|equation)\*?\}"
    r"|```\{math\}.*?```",
    re.S,
)
PICTURE = re.compile(
    r"^\|[-: |]+\|[ \t]*$|\{(?:figure|image)\}|!\[[^\]]*\]\(|<img\b|<svg\b|<figure\b", re.M
)
TAG = re.compile(r"<[^>]+>")
# How many of each are read in a minute.
A_MINUTE = {"words": 200, "code": 12, "printed": 30, "formulas": 6, "pictures": 3}
A_MINUTE_AT_WORK = {
    "words": 150, "code": 10, "printed": 30, "formulas": 4, "pictures": 3, "moving": 0.5,
    "dropdowns": 1,
}  # fmt: skip
COLUMNS = (*A_MINUTE_AT_WORK, "hidden", "folded")


def lines_of(text: str) -> int:
    """Count the lines that are not blank."""
    return sum(1 for line in text.splitlines() if line.strip())


def measure_prose(text: str, found: Counter[str]) -> None:
    """Add what a piece of Markdown holds."""
    found["moving"] += text.count("data-figure=")
    for pattern in FOLDED:
        inside = [match[0] for match in pattern.finditer(text)]
        found["folded"] += sum(len(hidden.split()) for hidden in inside)
        found["dropdowns"] += len(inside)
        text = pattern.sub("", text)
    found["code"] += 15 * len(INCLUDED.findall(text))
    found["code"] += sum(lines_of(fence[2]) for fence in FENCE.finditer(text))
    text = FENCE.sub("", text)
    found["pictures"] += len(PICTURE.findall(text))
    found["formulas"] += len(FORMULA.findall(text))
    found["words"] += len(re.findall(r"[^\s|#>*`:{}-]+", TAG.sub(" ", FORMULA.sub("", text))))


def measure_outputs(outputs: Iterable[Any], found: Counter[str]) -> None:
    """Add what a cell prints and draws."""
    for output in outputs:
        data = output.get("data", {})
        plain = data.get("text/plain", "")
        if any(kind.startswith("image/") for kind in data) or "<Figure" in plain:
            found["pictures"] += 1
        elif "text/html" in data:
            found["pictures"] += 1
            found["words"] += len(TAG.sub(" ", data["text/html"]).split())
        elif "text/markdown" in data:
            measure_prose(data["text/markdown"], found)
        else:
            found["printed"] += lines_of(output.get("text", "") or plain)


def measure(path: Path) -> Counter[str]:
    """Count what a page holds, by the names in COLUMNS."""
    found: Counter[str] = Counter()
    if path.suffix != ".ipynb":
        measure_prose(path.read_text(encoding="utf-8"), found)
        return found
    for cell in nbformat.read(path, as_version=4).cells:
        tags = set(cell.metadata.get("tags", []))
        if cell.cell_type != "code":
            measure_prose(cell.source, found)
            continue
        if "remove-cell" not in tags:
            kind = "hidden" if HIDDEN & tags else "code"
            found[kind] += lines_of(cell.source.replace(";", "\n"))
        if not NO_OUTPUT & tags:
            measure_outputs(cell.outputs, found)
    return found


def minutes(found: Counter[str], a_minute: Mapping[str, float] = A_MINUTE) -> float:
    """How long what was counted takes; with `A_MINUTE_AT_WORK`, figures and questions included."""
    return sum(found[name] / often for name, often in a_minute.items())


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each page, by default chapters and closer looks, and the sum."""
    given = sys.argv[1:] if arguments is None else arguments
    paths = [Path(name) for name in given] or [
        *sorted(CHAPTERS.glob("*.ipynb")),
        *sorted(CLOSER.glob("*.ipynb")),
    ]
    print(f"{'page':24}" + "".join(f"{name:>10}" for name in (*COLUMNS, "working", "minutes")))
    rows = [(path, measure(path)) for path in paths]
    for path, found in rows:
        counts = "".join(f"{found[name]:10}" for name in COLUMNS)
        name = f"closer/{path.stem}" if path.parent.name == CLOSER.name else path.stem
        working = minutes(found, A_MINUTE_AT_WORK)
        print(f"{name:24}{counts}{working:10.1f}{minutes(found):10.1f}")
    total = sum(minutes(found) for _, found in rows)
    print(f"{'all':24}" + " " * 10 * (len(COLUMNS) + 1) + f"{total:10.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
