"""A chapter's first page explains what a task needs, and does not print the code it asks for.

Every function and class on the page, pasted unchanged, is handed in for every task.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

from tests.notebooks.assignments import ROOT, SLUGS, read, tasks
from tools import notebooks
from transformer_checks import grade

MOST_POINTS = 4  # of 20; the first task may be a warm-up that the page shows

pytestmark = pytest.mark.weekly


def statements(page: NotebookNode) -> Iterator[ast.stmt]:
    """Go through the Python of a page."""
    to_python = TransformerManager().transform_cell  # a page may have IPython's own commands
    for cell in page.cells:
        if cell.cell_type == "code":
            yield from ast.parse(to_python(cell.source)).body


def is_constant(statement: ast.stmt) -> bool:
    """Say whether a statement defines a constant, by its name in capitals."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    return bool(names) and all(map(str.isupper, names))


def definitions(page: NotebookNode) -> list[Any]:
    """Return the functions and classes that a page defines, whether or not they are folded."""
    module = ModuleType("page")
    names = []
    for statement in statements(page):
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            names.append(statement.name)
        elif not (isinstance(statement, ast.Import | ast.ImportFrom) or is_constant(statement)):
            continue  # what else a page runs may train a model
        try:
            exec(compile(ast.Module([statement], []), "<page>", "exec"), module.__dict__)
        except Exception:  # a default or a decorator needs a cell that was not run
            continue
    return [module.__dict__[name] for name in dict.fromkeys(names) if name in module.__dict__]


def earned(slug: str, pasted: list[Any]) -> dict[str, int]:
    """Return the points of each task that one of the pasted definitions solves."""
    return {
        task.key: sum(task.points)
        for task in tasks(read("exercises", slug))
        if any(grade(task.key, each).score == 1.0 for each in pasted)
    }


@pytest.mark.parametrize("slug", SLUGS)
def test_pasting_the_page_earns_little(slug: str) -> None:
    found = earned(slug, definitions(notebooks.read(ROOT / "book" / f"{slug}.ipynb")))
    assert sum(found.values()) <= MOST_POINTS, found


def test_pasting_the_solutions_earns_everything() -> None:
    found = earned("depth", definitions(read("solutions", "depth")))
    assert sum(found.values()) == 20
