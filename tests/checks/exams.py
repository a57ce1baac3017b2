"""Put the misconceptions of a task to one of its exams; shared by the tests of the assignments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transformer_ref.checks.judge import Exam, find_fault, find_misconception, make_exam
from transformer_ref.checks.run import run_case
from transformer_ref.checks.task import Misconception, Outcome


def judged(exam: Exam, answer: Callable[..., Any]) -> tuple[list[Outcome], list[Any]]:
    """Return what an answer did with every case, and what is wrong with it, in this process."""
    outcomes = [run_case(exam.task, answer, case) for case in exam.cases]
    return outcomes, [find_fault(exam, n, outcomes) for n in range(len(outcomes))]


def assert_misconceptions_show(key: str, seed: int) -> None:
    """Each implementation of each misconception fails in at least one case."""
    exam = make_exam(key, seed)
    for entry in exam.task.misconceptions:
        for wrong in entry.wrong:
            assert any(judged(exam, wrong)[1]), entry.key


def assert_misconceptions_name_themselves(key: str, seed: int) -> None:
    """Each implementation of each misconception fails, and is told by its own name."""
    exam = make_exam(key, seed)
    for entry in exam.task.misconceptions:
        assert_names_itself(exam, entry)


def assert_names_itself(exam: Exam, entry: Misconception) -> None:
    """Each implementation of one misconception fails, and is told by its own name."""
    for wrong in entry.wrong:
        outcomes, reasons = judged(exam, wrong)
        assert any(reasons), entry.key
        found = find_misconception(exam, outcomes, reasons)
        assert found is not None, entry.key
        assert found.key == entry.key
