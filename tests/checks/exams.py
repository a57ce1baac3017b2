"""Put the misconceptions of a task to one of its exams; shared by the tests of the assignments."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from tools.draw_sample import is_drawn
from transformer_checks.judging.diagnosis import find_misconception
from transformer_checks.judging.exam import Exam, make_exam
from transformer_checks.judging.facts import Faults
from transformer_checks.judging.faults import find_fault
from transformer_checks.running import wire_format
from transformer_checks.running.asking import run_case, run_cases
from transformer_checks.task import Case, Misconception, Outcome, Task


def in_sample(key: str) -> bool:
    """Say whether `make test` tries the changed answers of a task: of one task in ten it does."""
    return is_drawn(key, 10)


def assert_misconceptions_show(key: str, seed: int) -> None:
    """Each implementation of each misconception fails in at least one case."""
    exam = make_exam(key, seed)
    for entry in exam.task.misconceptions:
        for variant in range(len(entry.wrong)):
            wrong = exam.task.wrong(entry, variant)
            assert any(faults(exam, run(exam, wrong))), entry.key


def assert_misconceptions_name_themselves(key: str, seed: int) -> None:
    """Each implementation of each misconception fails, and is told by its own name.

    To name one, the exam keeps what all of them did.  That is judged: to run the same code on the
    same cases once more would take as long again.  `assert_names_itself` does so for one exam.
    """
    exam = make_exam(key, seed)
    for entry in exam.task.misconceptions:
        for variant in range(len(entry.wrong)):
            numbers = range(len(exam.cases))
            assert_named(exam, entry, [exam.wrong(entry, variant, number) for number in numbers])


def assert_names_itself(exam: Exam, entry: Misconception) -> None:
    """Each implementation of one misconception, run anew, fails and is told by its own name."""
    for variant in range(len(entry.wrong)):
        assert_named(exam, entry, run(exam, exam.task.wrong(entry, variant)))


def assert_named(exam: Exam, entry: Misconception, outcomes: list[Outcome]) -> None:
    """These outcomes fail, and the misconception that is found in them is this one."""
    found_faults = faults(exam, outcomes)
    assert any(found_faults), entry.key
    found = find_misconception(exam, outcomes, found_faults)
    assert found is not None, f"{entry.key} is not named"
    assert found.key == entry.key, f"{entry.key} is called {found.key}, its twin"


def run(exam: Exam, answer: Callable[..., Any]) -> list[Outcome]:
    """Return what an answer does with every case, in this process."""
    return [run_case(exam.task, answer, case) for case in exam.cases]


def faults(exam: Exam, outcomes: list[Outcome]) -> Faults:
    """Return what is wrong with each outcome, None where nothing is."""
    return [find_fault(exam, number, outcomes) for number in range(len(outcomes))]


def run_here(
    task: Task, answer: Callable[..., Any], cases: list[Case], seconds: float
) -> tuple[list[Outcome], str]:
    """Run an answer in this process; cases and outcomes are encoded as for another one.

    It replaces `run_answer`, because copying the process takes longer than most answers.
    """
    questions = [Case(**wire_format.decode(wire_format.encode(vars(case)))) for case in cases]
    with warnings.catch_warnings(action="ignore"):
        outcomes = [each.as_plain() for each in run_cases(task, answer, questions)]
    frames = map(wire_format.encode, outcomes)
    return [Outcome(**wire_format.decode(frame)) for frame in frames], "done"
