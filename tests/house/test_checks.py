"""In which directions the rooms of the checks import each other, and that their names hold."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

from transformer_ref import checks
from transformer_ref.checks.registry import SLUGS

PACKAGE = Path(checks.__file__).parent
ROOM = "transformer_ref.checks."


def imported(file: Path) -> set[str]:
    """The modules of the checks that a file names in its imports, inside functions too."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    names = {
        f"{node.module}.{each.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for each in node.names
    }
    return {name.removeprefix(ROOM) for name in names if name.startswith(ROOM)}


@pytest.mark.parametrize(
    ("room", "closed"),
    [
        ("engine", ("tasks.", "capstone.", "report")),
        ("authoring", ("tasks.", "capstone.", "report")),
        ("tasks", ("capstone.", "report")),
        ("capstone", ("tasks.", "engine.", "authoring.", "report")),
    ],
)
def test_no_room_reaches_into_one_above_it(room: str, closed: tuple[str, ...]) -> None:
    files = [*(PACKAGE / room).rglob("*.py")]
    assert files
    wrong = {
        file.name: name for file in files for name in imported(file) if name.startswith(closed)
    }
    assert wrong == {}


def test_the_folder_of_the_tasks_does_not_hide_the_function() -> None:
    """Both have one name: the folder is imported first, and the function defined after it."""
    assert importlib.import_module("transformer_ref.checks.tasks.attention.tasks").TASKS
    assert checks.tasks()[0] == "tokenizers.word_tokenize"


@pytest.mark.parametrize("slug", SLUGS)
def test_notebooks_find_the_answers_of_an_assignment_by_its_slug(slug: str) -> None:
    answers = importlib.import_module(f"transformer_ref.checks.tasks.{slug}.answers")
    assert getattr(checks, slug) is answers
    with pytest.raises(AttributeError, match="no attribute 'capston'"):
        getattr(checks, "capston")  # noqa: B009
