"""Measure what else a grader owes: no flakes, credit that never falls, and what a submission costs.

A flake is a right answer that is not accepted with one of many seeds.
Credit falls where an answer has fewer points after one of its two mistakes was mended.
``python -m benchmarks.grader_report --flakes 300 --credit --costs`` prints all of it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import torch

from transformer_checks import grade
from transformer_checks.judging.changes import Change, ChangeError, changed
from transformer_checks.judging.exam import make_exam
from transformer_checks.judging.verdict import judge
from transformer_checks.registry import find_task
from transformer_checks.running.isolation import run_answer
from transformer_checks.task import Task

# An answer gets the cases of this many seeds in one process, because making one takes as long as a
# seed; with more, the questions would pass the limit of `wire_format`.
SEEDS_AT_ONCE = 2
SECONDS = 60.0  # for all of them


@dataclass
class Flakes:
    """Right answers, graded with many seeds.

    Attributes:
        task: its key.
        runs: gradings, each with a seed of its own.
        details: one line for each that was not accepted.
    """

    task: str
    runs: int = 0
    details: list[str] = field(default_factory=list)


def count_flakes(task: str, answers: Sequence[Any], seeds: Sequence[int]) -> Flakes:
    """Grade right answers; each seed is given to one of them.

    Args:
        task: its key.
        answers: the right ones.
        seeds: of the cases.

    Returns:
        what was counted.
    """
    flakes = Flakes(task)
    for number, answer in enumerate(answers):
        own = seeds[number :: len(answers)]
        for start in range(0, len(own), SEEDS_AT_ONCE):
            some = own[start : start + SEEDS_AT_ONCE]
            exams = [make_exam(task, seed, torch.cuda.is_available()) for seed in some]
            cases = [case for exam in exams for case in exam.cases]
            outcomes, how = run_answer(exams[0].task, answer, cases, SECONDS)
            rest = iter(outcomes)
            for seed, exam in zip(some, exams, strict=True):
                result = judge(exam, list(islice(rest, len(exam.cases))), how, SECONDS)
                flakes.runs += 1
                if result.score < 1.0:
                    name = getattr(answer, "__name__", answer)
                    flakes.details.append(f"{task}, seed {seed}, {name}: {result.message}")
    return flakes


@dataclass
class Credit:
    """Answers with two mistakes, and the same with one of them mended.

    Attributes:
        task: its key.
        mended: mistakes that were mended.
        cancelled: pairs of mistakes that undo each other, so that nothing is to be mended.
        details: one line for each time that the points fell.
    """

    task: str
    mended: int = 0
    cancelled: int = 0
    details: list[str] = field(default_factory=list)


def compare_credit(key: str, seed: int = 0) -> Credit:
    """Grade every pair of a task's listed mistakes that can be made together.

    Args:
        key: the task's.
        seed: of the cases.

    Returns:
        what was compared.
    """
    task, credit = find_task(key), Credit(key)
    alone: dict[str, float] = {}

    def score_alone(name: str, mistake: Change) -> float:
        if name not in alone:
            alone[name] = grade(key, _with(task, mistake), seed).score
        return alone[name]

    for (one, first), (other, second) in combinations(_mistakes(task), 2):
        both = _both(task, first, second)
        if both is None:
            continue
        before = grade(key, both, seed).score
        if before == 1.0:
            credit.cancelled += 1
            continue
        for name, mistake in ((one, first), (other, second)):
            after = score_alone(name, mistake)
            credit.mended += 1
            if after < before:
                mended = other if name == one else one
                credit.details.append(
                    f"{key}: {one} and {other} has {before:.3f} of the points, "
                    f"without {mended} {after:.3f}"
                )
    return credit


def _mistakes(task: Task) -> Iterator[tuple[str, Change]]:
    """Go through the mistakes of a task that are changes to its answer, one of each."""
    for entry in task.misconceptions:
        changes = [each for each in entry.wrong if isinstance(each, Change)]
        if changes:
            yield entry.key, changes[0]


def _with(task: Task, mistake: Change) -> Callable[..., Any]:
    return changed(task.answer or task.reference, mistake)


def _both(task: Task, first: Change, second: Change) -> Callable[..., Any] | None:
    """Make two mistakes in one answer; None where one takes the place of the other."""
    for mistake in (first + second, second + first):
        try:
            return _with(task, mistake)
        except ChangeError:
            continue
    return None


@dataclass(frozen=True)
class Cost:
    """What it takes to grade the solved notebook of an assignment, in its sandbox.

    Attributes:
        slug: the assignment.
        seconds: by the clock.
        peak_bytes: the most memory that the processes in the sandbox had together.
    """

    slug: str
    seconds: float
    peak_bytes: int


def measure_cost(slug: str, folder: Path) -> Cost:
    """Grade the solved notebook as a submission, on one core.

    Args:
        slug: the assignment.
        folder: where the solutions stand.

    Returns:
        what it took.

    Raises:
        SandboxError: if there is no sandbox.
        FileNotFoundError: if there is no solution.
    """
    # Here, as nothing else that is measured needs notebooks.
    import nbformat

    from transformer_checks.classroom.judge import grade_notebook
    from transformer_checks.classroom.sandbox import find_sandbox
    from transformer_checks.classroom.submission import code_cells

    notebook = nbformat.read(folder / slug / f"{slug}.ipynb", as_version=4)
    with tempfile.TemporaryDirectory() as place:
        graded = grade_notebook(code_cells(notebook), Path(place), find_sandbox())
    return Cost(slug, graded.seconds, graded.peak_bytes)


def as_tables(flakes: Sequence[Flakes], credit: Sequence[Credit], costs: Sequence[Cost]) -> str:
    """Lay out what was measured as tables in Markdown, with what went wrong below.

    Args:
        flakes: of each task.
        credit: of each task.
        costs: of each assignment.

    Returns:
        the text; "" where nothing was measured.
    """
    parts = []
    if flakes:
        rows = [f"| {each.task} | {len(each.details)} of {each.runs} |" for each in flakes]
        parts.append(["| task | flakes |", "|---|---|", *rows])
    if credit:
        rows = [
            f"| {each.task} | {len(each.details)} of {each.mended} | {each.cancelled} |"
            for each in credit
        ]
        head = "| task | credit that fell when a mistake was mended | pairs that cancel |"
        parts.append([head, "|---|---|---|", *rows])
    if costs:
        rows = [f"| {each.slug} | {each.seconds:.1f} | {each.peak_bytes >> 20} |" for each in costs]
        parts.append(["| assignment | seconds | peak memory in MiB |", "|---|---|---|", *rows])
    details = [*(each.details for each in flakes), *(each.details for each in credit)]
    parts += [each for each in details if each]
    return "\n\n".join("\n".join(part) for part in parts)
