"""What a check needs to know about the notebook that calls it.

It finds the answer by its name, and returns points that JupyterLab does not print a second time.
"""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections.abc import Mapping
from typing import Any

from transformer_checks.translation import say


class QuietPoints(float):
    """Points as the value of a cell, which shows nothing: the line above has them already."""

    def _ipython_display_(self) -> None:
        """Show nothing; IPython calls this in place of its own display."""


def is_graded() -> bool:
    """Say whether nbgrader executes the notebook, to grade or to validate it."""
    return "NBGRADER_EXECUTION" in os.environ


def as_value(points: float) -> float:
    """Return points as the last value of a cell.

    nbgrader reads the points from what the cell shows. Where it does not grade, nothing is shown.
    """
    return points if is_graded() else QuietPoints(points)


def why_not_the_latest(names: Mapping[str, Any], name: str) -> str:
    """Say why a function or class is not the one that a student wrote last.

    A cell with a syntax error is not executed at all, so Python keeps what the cell defined when
    it last ran.

    Args:
        names: the namespace of the notebook. IPython keeps the text of the executed cells there,
            under the name `In`; without it there is nothing to say.
        name: of the function or class.

    Returns:
        a sentence without its period, or "".
    """
    cells = names.get("In")
    defines = re.compile(rf"^\s*(?:async\s+def|def|class)\s+{name}\b", re.MULTILINE)
    texts = [text for text in cells if isinstance(text, str)] if isinstance(cells, list) else []
    latest = next(filter(defines.search, reversed(texts)), "")
    try:
        with warnings.catch_warnings(action="ignore"):
            compile(latest, "<cell>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError as error:
        start = say("The last version of the cell has a syntax error in line {n}", n=error.lineno)
        if name in names:
            return start + say(", so Python still has the previous `{name}`", name=name)
        return start + say(", so it was not executed")
    return ""
