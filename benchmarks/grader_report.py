"""Measure the grader: false accepts, false rejects and hint accuracy, task by task.

Run from the root of the repository: ``python -m benchmarks.grader_report``.
The answers it is measured on stand in tests/checks/material/<slug>.py, written apart from the
checks: on the misconceptions' own code the figures would mean nothing.
Mutants of the right answers are added to them (benchmarks/mutants.py).
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks import reliability
from benchmarks.mutants import mutants
from transformer_checks import Result, grade
from transformer_checks.registry import SLUGS

# What a mutant does with these decides whether it is one, and whether its name is right.
OTHER_SEEDS = (9001, 9002, 9003)


@dataclass
class Figures:
    """What was counted for one task.

    Attributes:
        task: its key.
        correct: gradings of correct answers.
        false_rejects: those not accepted.
        wrong: gradings of wrong answers, mutants among them.
        false_accepts: those accepted.
        named: gradings of answers that make a listed misconception.
        named_right: those where the message names that one.
        unnamed: gradings of mutants, for which no name is right.
        named_wrongly: those that were given a name.
        with_relation: gradings of wrong answers without a name that were told a relation.
        bare: those that were told neither, and got bare numbers.
        equivalent: mutants that pass with all other seeds too: they do the same as the right
            answer, or show a hole in the checks.
        by_chance: mutants that pass with this seed and not with others.
        details: one line for each grading that went wrong.
    """

    task: str
    correct: int = 0
    false_rejects: int = 0
    wrong: int = 0
    false_accepts: int = 0
    named: int = 0
    named_right: int = 0
    unnamed: int = 0
    named_wrongly: int = 0
    with_relation: int = 0
    bare: int = 0
    equivalent: list[str] = field(default_factory=list)
    by_chance: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)

    @property
    def hint_accuracy(self) -> float:
        """Share of the wrong answers, mutants among them, that got the right name or rightly none.

        Returns:
            a fraction, 1.0 where there are no wrong answers.
        """
        right = self.named_right + self.unnamed - self.named_wrongly
        return right / (self.named + self.unnamed) if self.named + self.unnamed else 1.0

    @property
    def told(self) -> str:
        """Shares of the wrong answers that got a name, a relation, and neither, as three cells."""
        named = self.wrong - self.with_relation - self.bare
        parts = (named, self.with_relation, self.bare)
        return " | ".join(f"{part / self.wrong:.1%}" if self.wrong else "" for part in parts)

    def count(self, kind: str, expected: str | None, answer: Any, seed: int) -> None:
        """Grade an answer and count the result.

        Args:
            kind: "correct", "wrong" or "mutant".
            expected: key of the misconception, or None.
            answer: the answer.
            seed: of the cases.
        """
        result = grade(self.task, answer, seed)
        name = self._name(kind, answer, seed)
        if kind == "correct":
            self.correct += 1
            if result.score < 1.0:
                self.false_rejects += 1
                self.details.append(f"{name} is rejected: {result.message}")
        else:
            self._count_wrong(name, expected, result)

    def count_mutant(self, answer: Any, seed: int) -> None:
        """Grade a mutant; the right name for it is the one that other cases lead to as well.

        Args:
            answer: the mutant.
            seed: of the cases.
        """
        result = grade(self.task, answer, seed)
        name = self._name("mutant", answer, seed)
        others = (grade(self.task, answer, other) for other in OTHER_SEEDS)
        if result.score == 1.0:
            always = all(other.score == 1.0 for other in others)
            (self.equivalent if always else self.by_chance).append(name)
            return
        said = result.misconception
        agreed = said is not None and any(other.misconception == said for other in others)
        self._count_wrong(name, said if agreed else None, result)

    def _name(self, kind: str, answer: Any, seed: int) -> str:
        return f"{self.task}, seed {seed}, {kind} {getattr(answer, '__name__', answer)}"

    def _count_wrong(self, name: str, expected: str | None, result: Result) -> None:
        self.wrong += 1
        if result.score == 1.0:
            self.false_accepts += 1
            self.details.append(f"{name} ({expected}) is accepted")
        self.with_relation += bool(result.relation)
        self.bare += result.misconception is None and not result.relation
        self.named += expected is not None
        self.unnamed += expected is None
        right = result.misconception == expected
        self.named_right += right and expected is not None
        self.named_wrongly += not right and expected is None
        if not right:
            self.details.append(f"{name}: named {result.misconception}, expected {expected}")


def load_material(slug: str) -> ModuleType:
    """Load the answers of an assignment on which the grader is measured.

    Args:
        slug: of the assignment.

    Returns:
        a module with CORRECT, WRONG and MUTANTS.
    """
    return importlib.import_module(f"tests.checks.material.{slug}")


def measure(task: str, seeds: Iterable[int]) -> Figures:
    """Grade the answers to one task, and the mutants of its right answer.

    Args:
        task: its key.
        seeds: of the cases.

    Returns:
        the figures.
    """
    return measure_task(task, load_material(task.split(".")[0]), seeds, mutants(task))


def measure_task(
    task: str,
    material: ModuleType,
    seeds: Iterable[int],
    generated: Sequence[Callable[..., Any]] = (),
) -> Figures:
    """Grade all answers to one task.

    Args:
        task: its key.
        material: the answers to the tasks of its slug.
        seeds: of the cases.
        generated: mutants of its right answer.

    Returns:
        the figures.
    """
    figures = Figures(task)
    for seed in seeds:
        for answer in material.CORRECT[task]:
            figures.count("correct", None, answer, seed)
        for expected, answer in material.WRONG.get(task, ()):
            figures.count("wrong", expected, answer, seed)
        for answer in material.MUTANTS.get(task, ()):
            figures.count("mutant", None, answer, seed)
        for answer in generated:
            figures.count_mutant(answer, seed)
    return figures


def as_table(figures: list[Figures]) -> str:
    """Lay the figures out as a table in Markdown.

    Args:
        figures: of each task.

    Returns:
        the table.
    """
    rows = [
        "| task | false accepts | false rejects | hint accuracy | mutants named wrongly "
        "| named | relation | bare |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for each in figures:
        rows.append(
            f"| {each.task} | {each.false_accepts} of {each.wrong} "
            f"| {each.false_rejects} of {each.correct} "
            f"| {each.hint_accuracy:.1%} | {each.named_wrongly} of {each.unnamed} "
            f"| {each.told} |"
        )
    return "\n".join(rows)


def add_reliability(parser: argparse.ArgumentParser) -> None:
    """Add the options for what :mod:`benchmarks.reliability` measures."""
    parser.add_argument(
        "--flakes",
        type=int,
        default=0,
        metavar="N",
        help="instead: grade right answers with N seeds a task",
    )
    parser.add_argument(
        "--credit",
        action="store_true",
        help="instead: whether points fall where one of two mistakes is mended",
    )
    parser.add_argument(
        "--costs",
        action="store_true",
        help="instead: seconds and memory for a submission, in the sandbox",
    )


def report_reliability(options: argparse.Namespace) -> int:
    """Print what these options ask for; 1 if there is a flake, or credit that falls."""
    slugs = options.slug or SLUGS
    seeds = range(options.first_seed, options.first_seed + options.flakes)
    answers = {slug: load_material(slug).CORRECT for slug in slugs}
    tasks = {task: answers[slug][task] for slug in slugs for task in answers[slug]}
    flakes = [reliability.count_flakes(task, tasks[task], seeds) for task in tasks if seeds]
    credit = [reliability.compare_credit(task) for task in tasks if options.credit]
    costs = [reliability.measure_cost(slug, Path("solutions")) for slug in slugs if options.costs]
    print(reliability.as_tables(flakes, credit, costs))
    wrong = [*(each.details for each in flakes), *(each.details for each in credit)]
    return 1 if any(wrong) else 0


def main() -> int:
    """Print the report.

    Returns:
        the exit status: 1 if an answer was wrongly accepted or rejected, or hints are below 90%.
    """
    parser = argparse.ArgumentParser(description="Measure the grader on answers written apart.")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds (default: 3)")
    parser.add_argument("--first-seed", type=int, default=0, help="the first of them (default: 0)")
    parser.add_argument(
        "--slug",
        action="append",
        choices=SLUGS,
        help="measure this assignment only; may be repeated",
    )
    add_reliability(parser)
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    if options.flakes or options.credit or options.costs:
        return report_reliability(options)
    tasks = [task for slug in options.slug or SLUGS for task in load_material(slug).CORRECT]
    # Spawned: a process that has used torch must not fork, and grading starts a worker that forks.
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as processes:
        figures = list(processes.map(measure, tasks, repeat(seeds)))
    print(as_table(figures))
    for each in figures:
        equivalent = (f"{name} passes with every seed" for name in each.equivalent)
        by_chance = (f"{name} passes with this seed only" for name in each.by_chance)
        print("\n".join([*each.details, *by_chance, *equivalent]))
    good = all(
        not each.false_accepts and not each.false_rejects and each.hint_accuracy >= 0.9
        for each in figures
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
