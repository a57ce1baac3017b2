"""The grader on wrong answers that are in no list: none of them is right."""

from __future__ import annotations

from importlib import import_module

import pytest

from tests.checks.exams import faults, run
from tests.checks.material import unlisted
from transformer_checks.judging.exam import make_exam
from transformer_checks.registry import SLUGS

pytestmark = pytest.mark.weekly

for slug in SLUGS:
    import_module(f"{unlisted.__name__}.{slug}")


TASKS = sorted({entry.task for entry in unlisted.BANK})


@pytest.mark.parametrize("task", TASKS)
def test_no_wrong_answer_is_accepted(task):
    exam = make_exam(task, 0)
    accepted = [
        entry.what
        for entry in unlisted.BANK
        if entry.task == task and not any(faults(exam, run(exam, entry.answer)))
    ]
    assert accepted == []
