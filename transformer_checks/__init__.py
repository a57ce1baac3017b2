"""Judges students' answers to the tasks of the course, and names the mistake.

:func:`grade` judges an answer and names the mistake, :func:`check` does the same in a notebook.
Grading has three steps with plain arrays between them: make the cases, run the answer on them in a
process of its own, judge what came back.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from transformer_checks.registry import SLUGS

if TYPE_CHECKING:
    from transformer_checks.grading import check, contract, grade, tasks
    from transformer_checks.judging.verdict import Result

__all__ = ["Result", "check", "contract", "grade", "tasks"]


def __getattr__(name: str) -> Any:
    """Load the public functions, and the answers of an assignment by its slug, when asked for.

    So nbgrader's commands and the tools can read limits and rosters without loading torch.
    """
    if name in __all__:
        return getattr(importlib.import_module("transformer_checks.grading"), name)
    if name in SLUGS:
        return importlib.import_module(f"transformer_checks.assignments.{name}.answers")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Also list what is loaded only when asked for."""
    return sorted({*globals(), *__all__})
