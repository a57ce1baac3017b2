"""Right answers, graded with 300 seeds a task: none may be rejected."""

from __future__ import annotations

import pytest

from benchmarks.grader_report import load_material
from benchmarks.reliability import count_flakes
from transformer_checks.registry import all_tasks

pytestmark = [pytest.mark.slow, pytest.mark.weekly]


@pytest.mark.parametrize("task", all_tasks())
def test_no_right_answer_is_rejected_with_300_seeds(task: str) -> None:
    answers = load_material(task.split(".")[0]).CORRECT[task]
    flakes = count_flakes(task, answers, range(1000, 1300))
    assert flakes.runs == 300
    assert not flakes.details
