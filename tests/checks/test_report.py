"""The grader measured on answers that were written apart from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from transformer_ref.checks import grade, report
from transformer_ref.checks.registry import SLUGS, all_tasks

MATERIAL = Path(__file__).parent / "material"
SEEDS = (0,)


@pytest.fixture(scope="module")
def figures():
    return {each.task: each for slug in SLUGS for each in report.measure(slug, SEEDS, MATERIAL)}


@pytest.mark.parametrize("task", all_tasks())
def test_no_wrong_answer_is_accepted_and_no_right_one_rejected(figures, task):
    found = figures[task]
    assert (found.false_accepts, found.false_rejects) == (0, 0), found.details


@pytest.mark.parametrize("task", all_tasks())
def test_the_hint_names_the_mistake(figures, task):
    found = figures[task]
    assert found.hint_accuracy >= 0.9, found.details
    assert found.named_wrongly == 0, found.details


@pytest.mark.parametrize("task", all_tasks())
def test_there_is_enough_to_measure_on(task):
    material = report.load_material(task.split(".")[0], MATERIAL)
    assert len(material.CORRECT[task]) >= 5
    assert len(material.MUTANTS[task]) >= 5
    missing = {each.key for each in all_tasks()[task].misconceptions} - {
        key for key, _ in material.WRONG[task]
    }
    assert not missing


@pytest.mark.slow
@pytest.mark.parametrize("task", all_tasks())
def test_right_answers_pass_with_any_seed(task):
    material = report.load_material(task.split(".")[0], MATERIAL)
    for seed in range(100, 104):
        for answer in material.CORRECT[task]:
            result = grade(task, answer, seed)
            assert result.score == 1.0, (answer, seed, result.message)


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


def test_a_missing_folder_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match="root of the repository"):
        report.load_material("attention", tmp_path)
