"""Find the question to which an answer's results would be the right ones.

The right answer is asked otherwise; the answer is not asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from transformer_checks.judging.exam import Exam
from transformer_checks.judging.facts import Faults, Relation, Term
from transformer_checks.judging.relations.arguments import Asked, other_questions
from transformer_checks.judging.relations.evidence import ENOUGH, pairs_of
from transformer_checks.running.comparing import MATCH_SLACK, same
from transformer_checks.task import Case, Outcome, ProbeTask

# Of one case; more come only of modules with many weights, which take long to ask.
MOST_QUESTIONS = 100
MOST_WEIGHTS = 10


def right_for_another(exam: Exam, outcomes: list[Outcome], faults: Faults) -> Relation | None:
    """Find a question to which all results are the right ones.

    Args:
        exam: the cases with the right results.
        outcomes: the answer's, read.
        faults: what is wrong with each, None where it passes.

    Returns:
        the relation, or None.
    """
    if isinstance(exam.task, ProbeTask):
        return None
    search = _Search(exam, outcomes, faults)
    if not search.numbers or not search.failing:
        return None
    return search.question()


class _Search:
    """The search for one answer."""

    def __init__(self, exam: Exam, outcomes: list[Outcome], faults: Faults) -> None:
        self.exam, self.outcomes = exam, outcomes
        # What cannot be compared: errors of the answer, and questions that are to be refused.
        self.numbers = [
            number
            for number, case in enumerate(exam.cases)
            if not outcomes[number].fault and not case.refused and case.device == "cpu"
        ]
        self.numbers.sort(key=lambda number: (self.right(number), _size(exam.cases[number])))
        self.failing = [number for number in self.numbers if not self.right(number)]
        pairs = pairs_of(exam, outcomes, faults)
        weights = [sum(pair.weight for pair in each) for each in pairs.values()]
        wrong_left = [number for number in self.failing if outcomes[number].left]
        self.enough = max([0, *weights]) >= ENOUGH or len(wrong_left) > 1

    def right(self, number: int) -> bool:
        return self.agree(number, self.exam.expected[number])

    def agree(self, number: int, other: Outcome) -> bool:
        """Whether the answer and something else give the same in a case."""
        if other.fault:
            return False
        relative, absolute = self.exam.task.tolerances[self.exam.cases[number].dtype]
        slack = (relative * MATCH_SLACK, absolute * MATCH_SLACK)
        mine = {**self.outcomes[number].values, **self.outcomes[number].left}
        theirs = {**other.values, **other.left}
        return mine.keys() == theirs.keys() and all(
            same(_plain(mine[name]), _plain(theirs[name]), slack) for name in theirs
        )

    def question(self) -> Relation | None:
        """Find another question."""
        if not self.enough:
            return None
        first = self.failing[0]
        for change, _ in self.questions[first]:
            if all(self._agrees_for(change, number) for number in self.numbers):
                return Relation("other-question", change=change)
        return None

    @cached_property
    def questions(self) -> dict[int, list[Asked]]:
        return {number: self._questions_of(self.exam.cases[number]) for number in self.numbers}

    def _questions_of(self, case: Case) -> list[Asked]:
        most = MOST_QUESTIONS // (2 if len(case.weights) > MOST_WEIGHTS else 1)
        return list(islice(other_questions(case, self.exam.task.shapes), most))

    def _agrees_for(self, change: Term, number: int) -> bool:
        case = next((case for each, case in self.questions[number] if each == change), None)
        if case is None:
            return self.right(number)
        return self.agree(number, self.exam.otherwise(change, number, case))


def _plain(value: Any) -> Any:
    """Take all kinds of numbers in arrays for one, and every way to hide a score."""
    if not isinstance(value, np.ndarray):
        return value
    return np.where(value.astype(np.float64) <= -1e8, -np.inf, value.astype(np.float64))


def _size(case: Case) -> int:
    """How many numbers a case holds: the small ones are asked first."""
    return sum(_sizes({**case.arguments, **case.weights}))


def _sizes(values: Any) -> Iterator[int]:
    for value in values.values():
        if isinstance(value, np.ndarray):
            yield value.size
        elif isinstance(value, dict):
            yield from _sizes(value)
        elif isinstance(value, str | list | tuple):
            yield len(value)
