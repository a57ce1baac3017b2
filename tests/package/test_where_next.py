"""The page "Where next" names parts of a model in another library; they are there."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "book" / "where_next.ipynb"


def test_what_the_reader_is_to_find_is_there() -> None:
    cells = json.loads(PAGE.read_text(encoding="utf-8"))["cells"]
    (text,) = ("".join(cell["source"]) for cell in cells if cell["id"] == "real-code")
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    names = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert len(names) >= 6

    library = find_spec("transformers")  # read and not imported, which takes seconds
    assert library is not None
    assert library.origin is not None
    llama = Path(library.origin).parent / "models" / "llama" / "modeling_llama.py"
    source = llama.read_text(encoding="utf-8")
    assert names <= set(re.findall(r"^(?:class|def) (\w+)", source, re.MULTILINE))
