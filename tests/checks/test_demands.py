"""Each demand of each task: an answer that violates it, and nothing else, is not accepted."""

from __future__ import annotations

import pytest

from tests.checks.demands import VIOLATIONS, is_for, violating
from tests.checks.exams import in_sample
from transformer_checks.judging.exam import make_exam
from transformer_checks.judging.verdict import judge
from transformer_checks.registry import all_tasks
from transformer_checks.running.asking import run_case

PAIRS = [
    pytest.param(key, demand, marks=[] if in_sample(key) else [pytest.mark.weekly])
    for key, task in all_tasks().items()
    for demand in task.demands
]


@pytest.mark.parametrize(("key", "demand"), PAIRS)
def test_an_answer_that_violates_one_demand_is_not_accepted(key: str, demand: str) -> None:
    task = all_tasks()[key]
    assert is_for(task, demand)
    exam = make_exam(key, 0)
    for violation, answer in violating(task, demand).items():
        outcomes = [run_case(task, answer, case, catch=BaseException) for case in exam.cases]
        assert judge(exam, outcomes, "done", 10.0).score < 1.0, f"{demand}: {violation}"


def test_every_demand_is_known() -> None:
    declared = {demand for task in all_tasks().values() for demand in task.demands}
    assert declared <= VIOLATIONS.keys()
