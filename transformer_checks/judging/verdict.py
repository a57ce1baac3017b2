"""Judge what an answer did with the cases of an exam: the last of the three steps."""

from __future__ import annotations

from dataclasses import dataclass

from transformer_checks.judging.diagnosis import find_misconception
from transformer_checks.judging.exam import Exam, read_all
from transformer_checks.judging.faults import find_fault
from transformer_checks.judging.messages import why_nothing, write_message
from transformer_checks.judging.relations.finding import find_relation
from transformer_checks.judging.words import MESSAGES
from transformer_checks.task import Outcome

# What an answer that is not right is worth at most.
MOST_FOR_WRONG = 0.5


@dataclass(frozen=True)
class Result:
    """What is said about an answer.

    Attributes:
        score: 1.0 if all cases pass, which means accepted; else the share of the cases passed, and
            at most 0.5; 0 when the answer is refused.
        misconception: key of the misconception, or None.
        message: the result in words, for the student.
        task: key of the task.
        passed: number of cases passed.
        total: number of cases.
        relation: what the wrong results have to do with the right ones, where there is no
            misconception, such as "factor"; "" where nothing was found.
    """

    score: float
    misconception: str | None
    message: str
    task: str = ""
    passed: int = 0
    total: int = 0
    relation: str = ""


def judge(exam: Exam, outcomes: list[Outcome], how: str, seconds: float) -> Result:
    """Judge what an answer did.

    Args:
        exam: the cases with the right results.
        outcomes: the answer's, one for each case that it came to.
        how: "done", or how the process ended.
        seconds: the time limit, for the message.

    Returns:
        the result.
    """
    key, total = exam.task.key, len(exam.cases)
    refused = why_nothing(exam, outcomes, how, seconds)
    if refused:
        message = MESSAGES["no-points"].format(task=key, why=refused)
        return Result(0.0, None, message, key, 0, total)
    outcomes = read_all(exam, outcomes)
    faults = [find_fault(exam, number, outcomes) for number in range(total)]
    passed = faults.count(None)
    if passed == total:
        message = MESSAGES["all-pass"].format(task=key, total=total)
        return Result(1.0, None, message, key, passed, total)
    mistake = find_misconception(exam, outcomes, faults)
    relation = None if mistake else find_relation(exam, outcomes, faults)
    message = write_message(exam, outcomes, faults, mistake, relation)
    # Whether the mistake has a name does not count: to mend one of two would cost points.
    score = min(MOST_FOR_WRONG, passed / total)
    name = mistake.key if mistake else None
    return Result(score, name, message, key, passed, total, relation.kind if relation else "")
