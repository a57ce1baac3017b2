"""The grader measured on answers that were written apart from it: a sample, and weekly all."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from benchmarks import grader_report, reliability
from benchmarks.mutants import mutants
from tests.checks.exams import in_sample, run_here
from tests.checks.material import attention
from tools.draw_sample import is_drawn
from transformer_checks import grade, grading
from transformer_checks.judging.exam import make_exam
from transformer_checks.registry import all_tasks

SEEDS = (0,)
# Each `make test` grades every right answer, and of the wrong ones to a task in the sample one in
# four: to name the first mistake in a task, the judge runs all that are known, which takes longest.
ONE_IN = 4


@pytest.fixture(scope="module", params=all_tasks())
def task(request):
    """Each task in turn; as the scope is wider than a test, all tests of one task come together."""
    return request.param


@pytest.fixture(scope="module")
def material(task):
    return grader_report.load_material(task.split(".")[0])


@pytest.fixture(scope="module", params=[True, pytest.param(False, marks=pytest.mark.weekly)])
def sampled(request):
    """Whether to grade the sample, or weekly the others."""
    return request.param


def chosen(task, kind, answers, sampled):
    """The answers of a kind that are in the sample, or those that are not."""
    return [
        answer
        for number, answer in enumerate(answers)
        if (in_sample(task) and is_drawn(f"{task} {kind} {number}", ONE_IN)) == sampled
    ]


@pytest.fixture(scope="module")
def found(task, material, sampled):
    """What the grader says of the right answers and of hand-written wrong ones."""
    kinds = {
        kind: {task: chosen(task, kind, getattr(material, kind).get(task, ()), sampled)}
        for kind in ("WRONG", "MUTANTS")
    }
    kinds["CORRECT"] = {task: material.CORRECT[task] if sampled else []}
    with pytest.MonkeyPatch.context() as patch:
        if sampled:  # weekly, each answer runs in a separate process, which takes longer
            patch.setattr(grading, "run_answer", run_here)
        return grader_report.measure_task(task, SimpleNamespace(**kinds), SEEDS)


@pytest.fixture(scope="module")
def mutated(task, sampled):
    """What the grader says of mutants; each runs in a separate process, as some never end."""
    figures = grader_report.Figures(task)
    made = mutants(task) if in_sample(task) or not sampled else []
    answers = chosen(task, "mutants", made, sampled)
    if not sampled:  # of the others some each time; `make grader-report` has all of them
        answers = [one for i, one in enumerate(answers) if is_drawn(f"{task} weekly {i}", 20)]
    for answer in answers:
        figures.count_mutant(answer, SEEDS[0])
    return figures


def test_hardly_a_mutant_passes_by_chance(mutated):
    """Where one number is the answer, three in a hundred do; hidden tests have another seed."""
    assert len(mutated.by_chance) <= max(2, 0.05 * mutated.wrong), mutated.by_chance


def test_a_name_for_a_mutant_does_not_hang_on_the_seed(mutated):
    assert mutated.named_wrongly <= max(1, 0.02 * mutated.wrong), mutated.details


def test_no_wrong_answer_is_accepted_and_no_right_one_rejected(found):
    assert (found.false_accepts, found.false_rejects) == (0, 0), found.details


def test_the_hint_names_the_mistake(found):
    assert found.named_wrongly == 0, found.details
    if found.wrong >= 20:  # a share of a few answers says nothing
        assert found.hint_accuracy >= 0.9, found.details


def test_a_right_answer_passes_where_two_cases_have_the_same_sizes_by_chance():
    """With this seed the first two do, and the tenth repeats the second."""
    exam = make_exam("attention.split_heads", 1286)
    assert exam.cases[0].name[4:] == exam.cases[1].name[4:]
    assert exam.cases[9].same_as == exam.cases[1].name
    for answer in attention.CORRECT[exam.task.key]:
        assert grade(exam.task.key, answer, 1286).score == 1.0


@pytest.mark.weekly
def test_right_answers_pass_with_any_seed(task, material):
    for answer in material.CORRECT[task]:
        assert reliability.count_flakes(task, [answer], range(100, 102)).details == []


@pytest.mark.weekly
def test_flakes_are_counted_with_every_seed():
    """The wrong answer is no material: it stands here for one that is rejected now and then."""
    task = all_tasks()["attention.split_heads"]
    right = attention.CORRECT[task.key][0]
    wrong = task.wrong(task.misconceptions[0], 0)
    found = reliability.count_flakes(task.key, [right, wrong], range(5))
    assert found.runs == 5
    assert len(found.details) == 2
    assert "seed 1" in found.details[0]


@pytest.mark.weekly
def test_credit_compares_two_mistakes_with_each_of_them():
    found = reliability.compare_credit("attention.split_heads")
    assert found.mended > 0
    table = reliability.as_tables([], [found], [reliability.Cost("attention", 5.0, 3 << 20)])
    assert f"| attention.split_heads | {len(found.details)} of {found.mended} |" in table
    assert "| attention | 5.0 | 3 |" in table
