"""The pages of exercises and solutions: a note at the top, and answers that are folded."""

from __future__ import annotations

import json
import re
from typing import Any

from sphinx.application import Sphinx

from tools.course_zip import NAME

EXERCISE_NOTE = """
:::{{admonition}} This page only shows the exercise
:class: tip
To solve it, <a href="../../{archive}" download>download the course</a>, unpack it,
and run `uv run lab.py` in its folder;
or {{download}}`download the notebook </{docname}.ipynb>` alone.
The page [](/book/students.md) says how to work with it.
:::
"""

SOLUTION_NOTE = """
:::{admonition} This page gives the answers away
:class: warning
Each answer is folded; open one after you have tried the task yourself.
:::
"""


def prepare_notebook(app: Sphinx, docname: str, source: list[str]) -> None:
    """Add to the pages of exercises and solutions what the notebooks themselves need not carry."""
    folder = docname.split("/")[0]
    if folder not in ("exercises", "solutions"):
        return
    notebook = json.loads(source[0])
    title = next(cell for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    note = EXERCISE_NOTE.format(docname=docname, archive=NAME)
    if folder == "solutions":
        note = SOLUTION_NOTE
    title["source"] = "".join(title["source"]) + "\n" + note
    if folder == "solutions":
        # The release has the same title; in the table of contents the two must differ.
        title["source"] = re.sub(r"\A# (?:Exercises?: *)?", "# Solutions: ", title["source"])
        for cell in notebook["cells"]:
            fold_answer(cell)
    source[0] = json.dumps(notebook)


def fold_answer(cell: dict[str, Any]) -> None:
    """Hide the source of a cell in which a student writes an answer; a click shows it."""
    metadata = cell["metadata"]
    if not metadata.get("nbgrader", {}).get("solution"):
        return
    if cell["cell_type"] == "code":
        metadata.setdefault("tags", []).append("hide-input")
        metadata.setdefault("mystnb", {}).update(
            code_prompt_show="Show the answer", code_prompt_hide="Hide the answer"
        )
    else:
        text = "".join(cell["source"])
        cell["source"] = f"::::::{{dropdown}} Show the answer\n{text}\n::::::"


def setup(app: Sphinx) -> None:
    """Connect to Sphinx."""
    app.connect("source-read", prepare_notebook)
