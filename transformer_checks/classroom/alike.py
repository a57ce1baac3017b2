"""Find answers with the same code as the package's or a classmate's: a hint for a person.

Points do not depend on it. Two answers are alike if their syntax trees are equal, so comments,
docstrings and layout do not matter, but a renamed variable does.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import warnings
from collections import defaultdict
from collections.abc import Mapping

from nbformat import NotebookNode

from transformer_checks.registry import all_tasks

FEW_STATEMENTS = 3  # below that, honest answers are alike
MOST_CHARACTERS = 10_000  # Python's parser is not made for what may be longer
MOST_NAMES = 3
PACKAGE = "the package"

Trees = dict[str, str]  # the syntax tree of each task's cell, by the name of the task


def find_alike(
    notebooks: Mapping[str, NotebookNode], release: NotebookNode, slug: str
) -> dict[str, Trees]:
    """Find who has the same code for a task as the package or a classmate.

    Args:
        notebooks: each student's, made from the release.
        release: the notebook that was handed out; what it holds is nobody's code.
        slug: the assignment.

    Returns:
        for each student the tasks with the same code, and in words whose it is, such as
        "the package, ann".
    """
    released = set(_trees(release).values())
    package = _package(slug)
    trees = {student: _trees(notebook) for student, notebook in notebooks.items()}
    students = defaultdict(list)
    for student, theirs in trees.items():
        for task, tree in theirs.items():
            students[task, tree].append(student)
    found: dict[str, Trees] = {}
    for student, theirs in trees.items():
        found[student] = {}
        for task, tree in theirs.items():
            who = [PACKAGE] if package.get(_plain(task)) == tree else []
            others = [name for name in students[task, tree][: MOST_NAMES + 1] if name != student]
            who += others[:MOST_NAMES]
            more = len(students[task, tree]) - 1 - len(others[:MOST_NAMES])
            if who and tree not in released:
                found[student][task] = ", ".join(who) + (f" and {more} more" if more else "")
    return found


def _package(slug: str) -> Trees:
    """Return the trees of the package's answers, by the plain names of their tasks."""
    tasks = [task for key, task in all_tasks().items() if key.startswith(f"{slug}.")]
    sources = {
        _plain(task.key.partition(".")[2]): inspect.getsource(task.answer or task.reference)
        for task in tasks
    }
    return {name: _tree(textwrap.dedent(source)) for name, source in sources.items()}


def _trees(notebook: NotebookNode) -> Trees:
    found = {}
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and marks.get("solution"):
            tree = _tree(cell.source)
            if tree:
                found[str(marks.get("grade_id")).removesuffix("-solution")] = tree
    return found


def _tree(source: str) -> str:
    """Return the syntax tree of a cell as text; "" where there is none, or hardly anything."""
    if len(source) > MOST_CHARACTERS:
        return ""
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(source)
        statements = 0
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                node.body = [each for each in node.body if not _is_docstring(each)]
            is_code = isinstance(node, ast.stmt) and not isinstance(
                node, ast.ClassDef | ast.FunctionDef | ast.Import | ast.ImportFrom
            )
            statements += is_code
        return ast.dump(tree) if statements >= FEW_STATEMENTS else ""
    except Exception:  # it is no Python, or made to be too much for its parser
        return ""


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _plain(name: str) -> str:
    """Write a name so that `multi-head-attention` and `MultiHeadAttention` are one."""
    return name.replace("-", "").replace("_", "").lower()
