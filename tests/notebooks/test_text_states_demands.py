"""What a check demands besides the numbers is stated in the task or in the introduction."""

from __future__ import annotations

import re

import pytest

from tests.notebooks.assignments import SLUGS, read, tasks
from transformer_checks.registry import all_tasks

# For each demand, what a text that states it contains. Nobody has to be told that inputs may be
# long or ids large.
STATED = {
    "dtype": r"dtype|float16",
    "unchanged": r"\b(un)?changed?\b|\bas (it|they) (was|were)\b",
    "gradients": r"[Gg]radient",
    "device": r"device|GPU",
    "left alone": r"\bas (it|they) (was|were)\b|put (it|them) back|\bunchanged\b",
    "training": r"dropout|training mode",
    "message": r"message",
    "far": r"\d,\d{3}",
}


@pytest.mark.parametrize("slug", SLUGS)
def test_a_task_states_what_it_demands(slug: str) -> None:
    notebook = read("exercises", slug)
    introduction = notebook.cells[0].source
    missing = []
    for task in tasks(notebook):
        asked, _, _ = task.cells["task"].source.partition("<details>")
        text = "\n".join([introduction, asked, task.cells["solution"].source])
        for demand in all_tasks()[task.key].demands:
            if demand in STATED and not re.search(STATED[demand], text):
                missing.append(f"{task.key}: {demand}")
    assert missing == []
