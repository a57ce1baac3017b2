"""The grader measured on answers that were written apart from it."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
import torch

from transformer_ref.checks import report
from transformer_ref.checks.engine.exam import make_exam
from transformer_ref.checks.engine.isolation import run_answer
from transformer_ref.checks.engine.verdict import judge
from transformer_ref.checks.registry import all_tasks

MATERIAL = Path(__file__).parent / "material"
SEEDS = (0,)


@pytest.fixture(scope="module", params=all_tasks())
def task(request):
    """Each task in turn; as the scope is wider than a test, all tests of one task come together."""
    return request.param


@pytest.fixture(scope="module")
def material(task):
    return report.load_material(task.split(".")[0], MATERIAL)


@pytest.fixture(scope="module")
def found(task, material):
    return report.measure_task(task, material, SEEDS)


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


@pytest.mark.slow
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


def test_the_figures_count():
    """The report can fail: a right answer listed as wrong is a false accept, and so on."""
    found = report.Figures("attention.merge_heads")

    def right(x):
        return x.transpose(1, 2).flatten(2)

    found.count("wrong", "no-transpose", right, 0)
    found.count("correct", None, lambda x: x, 0)
    found.count("mutant", None, lambda x: x.sum(1), 0)
    assert (found.false_accepts, found.false_rejects, found.named_wrongly) == (1, 1, 1)
    assert found.hint_accuracy == 0.0
    assert len(found.details) == 4
    assert "| attention.merge_heads | 1 of 2 | 1 of 1 | 0.0% | 1 of 1 |" in report.as_table([found])


def test_a_slug_is_measured_task_by_task(monkeypatch):
    monkeypatch.setattr(report, "measure_task", lambda task, material, seeds: (task, seeds))
    found = report.measure("attention", SEEDS, MATERIAL)
    assert found == [(key, SEEDS) for key in all_tasks() if key.startswith("attention.")]


def test_a_missing_folder_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match="root of the repository"):
        report.load_material("attention", tmp_path)
