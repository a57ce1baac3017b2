"""How long a student waits for the first check of a task, with a right and a wrong answer."""

from __future__ import annotations

import time
from collections.abc import Iterable

from benchmarks.rows import Asked, Row, Setting, measured
from benchmarks.timing import seconds
from transformer_checks import grade
from transformer_checks.judging.exam import make_exam
from transformer_checks.registry import all_tasks

WHAT = "a check of {} answer, the slowest of all tasks"
FOR_RIGHT, FOR_WRONG = Asked("<=", 0.3), Asked("<=", 1.0)


def of_all_tasks(setting: Setting, keys: Iterable[str] | None = None) -> list[Row]:
    """Time the check of each task by the clock, with nothing kept from an earlier check.

    Args:
        setting: not used beyond its device; each answer is checked once.
        keys: of the tasks; None = all.

    Returns:
        two rows, for right answers and for listed mistakes; the details have each task's seconds.
    """
    tasks = all_tasks()
    right, wrong = {}, {}
    for key in keys or tasks:
        task = tasks[key]
        right[key] = first_check(key, task.answer or task.reference, setting)
        wrong[key] = max(
            first_check(key, task.wrong(entry, 0), setting) for entry in task.misconceptions[::5]
        )
    return [
        measured(
            "check-time",
            setting.device,
            WHAT.format(kind),
            "",
            max(found.values()),
            asked,
            unit="s",
            seconds_by_task={key: round(value, 3) for key, value in found.items()},
        )
        for kind, found, asked in (("a right", right, FOR_RIGHT), ("a wrong", wrong, FOR_WRONG))
    ]


def first_check(key: str, answer: object, setting: Setting) -> float:
    """Time one check from the start, in seconds."""
    make_exam.cache_clear()
    return seconds(lambda: grade(key, answer), setting.device, time.perf_counter)
