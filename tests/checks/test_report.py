"""The grader measured on answers that were written apart from it: on a part, and weekly on all."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from transformer_ref.checks import report
from transformer_ref.checks.engine.exam import make_exam
from transformer_ref.checks.engine.isolation import run_answer
from transformer_ref.checks.engine.verdict import judge
from transformer_ref.checks.registry import all_tasks

MATERIAL = Path(__file__).parent / "material"
SEEDS = (0,)
# Of 2,800 answers each `make test` grades these; all of them take ten minutes.
ONE_IN = 4


@pytest.fixture(scope="module", params=all_tasks())
def task(request):
    """Each task in turn; as the scope is wider than a test, all tests of one task come together."""
    return request.param


@pytest.fixture(scope="module")
def material(task):
    return report.load_material(task.split(".")[0], MATERIAL)


@pytest.fixture(scope="module", params=[ONE_IN, pytest.param(1, marks=pytest.mark.weekly)])
def found(request, task, material):
    kinds = ("CORRECT", "WRONG", "MUTANTS")
    chosen = {kind: {task: getattr(material, kind)[task][:: request.param]} for kind in kinds}
    return report.measure_task(task, SimpleNamespace(**chosen), SEEDS)


def test_no_wrong_answer_is_accepted_and_no_right_one_rejected(found):
    assert (found.false_accepts, found.false_rejects) == (0, 0), found.details


def test_the_hint_names_the_mistake(found):
    assert found.hint_accuracy >= 0.9, found.details
    assert found.named_wrongly == 0, found.details


def test_there_is_enough_to_measure_on(task, material):
    assert len(material.CORRECT[task]) >= 5
    assert len(material.MUTANTS[task]) >= 5
    missing = {each.key for each in all_tasks()[task].misconceptions} - {
        key for key, _ in material.WRONG[task]
    }
    assert not missing


@pytest.mark.weekly
def test_right_answers_pass_with_any_seed(task, material):
    """An answer gets the cases of all seeds in one process; to make one takes as long as a seed."""
    exams = [make_exam(task, seed, torch.cuda.is_available()) for seed in range(100, 104)]
    cases = [case for exam in exams for case in exam.cases]
    for answer in material.CORRECT[task]:
        outcomes, how = run_answer(exams[0].task, answer, cases, seconds=40.0)
        rest = iter(outcomes)
        for exam in exams:
            result = judge(exam, list(islice(rest, len(exam.cases))), how, 40.0)
            assert result.score == 1.0, (answer, result.message)
