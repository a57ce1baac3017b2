"""The answers, the solutions and the mistakes are one text: a mistake is a change to an answer."""

from __future__ import annotations

import inspect
import json
import linecache
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from transformer_checks.assignments.attention.answers import attention_scores
from transformer_checks.judging.changes import (
    Change,
    ChangeError,
    change,
    changed,
    changed_source,
)
from transformer_checks.registry import all_tasks, find_task
from transformer_checks.task import Misconception, Task

SOLUTIONS = Path(__file__).parent.parent.parent / "solutions"
TASKS = list(all_tasks().values())


def slug_of(task: Task) -> str:
    return task.key.split(".")[0]


def with_changes(task: Task) -> bool:
    """Whether mistakes of a task are changes to its answer."""
    return any(isinstance(way, Change) for entry in task.misconceptions for way in entry.wrong)


def solved_cells(slug: str) -> list[str]:
    """The cells of a solution that a student writes, without nbgrader's marks."""
    notebook = json.loads((SOLUTIONS / slug / f"{slug}.ipynb").read_text(encoding="utf-8"))
    cells = [
        "".join(cell["source"])
        for cell in notebook["cells"]
        if cell["cell_type"] == "code" and cell["metadata"].get("nbgrader", {}).get("solution")
    ]
    return [re.sub(r"(?m)^ *### (?:BEGIN|END) SOLUTION\n?", "", cell).strip() for cell in cells]


@pytest.mark.parametrize("task", [*filter(with_changes, TASKS)], ids=lambda task: task.key)
def test_the_answer_is_the_text_of_the_solution(task: Task) -> None:
    assert inspect.getsource(task.answer or task.reference).strip() in solved_cells(slug_of(task))


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.key)
def test_each_change_fits_the_answer(task: Task) -> None:
    for entry in task.misconceptions:
        for variant, way in enumerate(entry.wrong):
            wrong = task.wrong(entry, variant)
            assert callable(wrong)
            if isinstance(way, Change):
                assert wrong.__name__ == (task.answer or task.reference).__name__


def test_a_change_that_does_not_fit_names_task_mistake_and_text() -> None:
    task = find_task("attention.attention_scores")
    for old, times in (("quarry", 0), ("query", 6)):
        entry = Misconception("misspelt", "a title", "a hint", (max, change(old, "x")))
        with pytest.raises(ChangeError) as error:
            task.wrong(entry, 1)
        said = str(error.value)
        assert "attention.attention_scores, misspelt, number 1" in said
        assert f"{times} times: {old!r}" in said
    broken = Misconception("broken", "a title", "a hint", (change("return", "return return"),))
    with pytest.raises(ChangeError, match=r"broken.*no Python"):
        task.wrong(broken, 0)


def test_changes_are_made_one_after_the_other() -> None:
    both = change("a", "b c") + change("c", "d")
    assert changed_source("x a", both) == "x b d"


def test_a_wrong_answer_is_made_once_and_shows_its_lines() -> None:
    raises = change("return query @", "return nothing @")
    wrong: Callable[..., Any] = changed(attention_scores, raises)
    assert changed(attention_scores, raises) is wrong
    assert "return nothing @ key" in inspect.getsource(wrong)
    linecache.checkcache()
    with pytest.raises(NameError) as error:
        wrong(None, None)
    assert "return nothing @ key" in "".join(traceback.format_exception(error.value))
