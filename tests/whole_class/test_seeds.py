"""Right answers, graded with 300 seeds a task: none may be rejected."""

from __future__ import annotations

from pathlib import Path

import pytest

from transformer_ref.checks.registry import all_tasks
from transformer_ref.checks.reliability import count_flakes
from transformer_ref.checks.report import load_material

pytestmark = [pytest.mark.slow, pytest.mark.weekly]

MATERIAL = Path(__file__).parents[1] / "checks" / "material"


@pytest.mark.parametrize("task", all_tasks())
def test_no_right_answer_is_rejected_with_300_seeds(task: str) -> None:
    answers = load_material(task.split(".")[0], MATERIAL).CORRECT[task]
    flakes = count_flakes(task, answers, range(1000, 1300))
    assert flakes.runs == 300
    assert not flakes.details
