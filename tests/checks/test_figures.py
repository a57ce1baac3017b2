"""The figures of the grader's report: counted, laid out, and what the command says of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from benchmarks import grader_report as report
from transformer_checks import Result
from transformer_checks.registry import all_tasks

SEEDS = (0,)
SPLIT = "attention.split_heads"


def split(x, num_heads):
    return x.unflatten(2, (num_heads, -1)).transpose(1, 2)


def untransposed(x, num_heads):
    return x.unflatten(2, (num_heads, -1))


def test_the_figures_count():
    """The report can fail: a right answer listed as wrong is a false accept, and so on."""
    found = report.Figures(SPLIT)
    found.count("wrong", "no-transpose", split, 0)
    found.count("correct", None, lambda x, _: x, 0)
    found.count("mutant", None, untransposed, 0)
    assert (found.false_accepts, found.false_rejects, found.named_wrongly) == (1, 1, 1)
    assert found.hint_accuracy == 0.0
    assert len(found.details) == 4
    assert "| attention.split_heads | 1 of 2 | 1 of 1 | 0.0% | 1 of 1 |" in report.as_table([found])


def test_the_figures_tell_names_relations_and_bare_numbers_apart():
    found = report.Figures(SPLIT)
    found.count("wrong", "no-transpose", untransposed, 0)
    found.count("mutant", None, lambda *x: split(*x).flip(1), 0)
    found.count("mutant", None, lambda *x: split(*x) + x[0].mean() * split(*x).square(), 0)
    found.count("mutant", None, lambda *x: split(*x).flip(2), 0)
    assert (found.wrong, found.with_relation, found.bare) == (4, 2, 1)
    assert report.as_table([found]).endswith("| 25.0% | 50.0% | 25.0% |")


def test_a_slug_is_measured_task_by_task(monkeypatch):
    monkeypatch.setattr(report, "mutants", lambda task: f"mutants of {task}")
    monkeypatch.setattr(report, "measure_task", lambda task, _, seeds, more: (task, seeds, more))
    found = [report.measure(task, SEEDS) for task in report.load_material("attention").CORRECT]
    keys = [key for key in all_tasks() if key.startswith("attention.")]
    assert found == [(key, SEEDS, f"mutants of {key}") for key in keys]


def test_a_task_is_measured_on_all_its_answers():
    material = SimpleNamespace(
        CORRECT={SPLIT: [split]}, WRONG={SPLIT: []}, MUTANTS={SPLIT: [untransposed]}
    )
    found = report.measure_task(SPLIT, material, (0, 1))
    assert (found.correct, found.wrong, found.unnamed) == (2, 2, 2)
    # The sum has a name that nobody expected here.
    assert (found.false_accepts, found.false_rejects, found.named_wrongly) == (0, 0, 2)
    assert found.hint_accuracy == 0.0


@pytest.mark.parametrize(
    ("by_seed", "counted"),
    [
        ({}, "equivalent"),
        ({9002: 0.0}, "by_chance"),
        ({0: 0.0}, "unnamed"),
        ({0: "a", 9001: "b", 9002: "a"}, "named"),
        ({0: "a", 9001: "b"}, "named_wrongly"),
    ],
)
def test_other_seeds_decide_what_a_mutant_is(monkeypatch, by_seed, counted):
    """The numbers are scores, where 1 is not meant; the letters names of misconceptions."""

    def graded(task, answer, seed):
        said = by_seed.get(seed, 1.0)
        name = said if isinstance(said, str) else None
        return Result(0.0 if name else said, name, "")

    monkeypatch.setattr(report, "grade", graded)
    found = report.Figures(SPLIT)
    found.count_mutant(split, 0)
    kinds = {"equivalent", "by_chance", "unnamed", "named", "named_wrongly"}
    right = {counted, "unnamed"} if counted == "named_wrongly" else {counted}
    assert {kind for kind in kinds if getattr(found, kind)} == right
    assert found.wrong == (counted not in ("equivalent", "by_chance"))


@pytest.mark.parametrize("answer", [split, untransposed])
def test_the_command_prints_the_table_and_fails_where_a_right_answer_is_rejected(
    monkeypatch, capsys, answer
):
    def measure(task, seeds):
        found = report.Figures(task)
        for seed in seeds:
            found.count("correct", None, answer, seed)
        return found

    monkeypatch.setattr(report, "measure", measure)
    monkeypatch.setattr(report, "load_material", lambda _: SimpleNamespace(CORRECT=[SPLIT]))
    monkeypatch.setattr(report, "ProcessPoolExecutor", lambda *_, **__: ThreadPoolExecutor())
    monkeypatch.setattr(
        "sys.argv",
        ["report", "--slug", "attention", "--seeds", "2", "--first-seed", "5"],
    )
    assert report.main() == (0 if answer is split else 1)
    printed = capsys.readouterr().out
    rejected = 0 if answer is split else 2
    assert f"| {SPLIT} | 0 of 0 | {rejected} of 2 | 100.0% | 0 of 0 |" in printed
    assert printed.count("is rejected") == rejected
    assert ("seed 5" in printed) == (answer is untransposed)
