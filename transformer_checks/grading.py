"""The public functions of the checks: list tasks, grade an answer, check it in a notebook."""

from __future__ import annotations

from typing import Any

import torch

from transformer_checks.judging.exam import make_exam
from transformer_checks.judging.texts import printable
from transformer_checks.judging.verdict import Result, judge
from transformer_checks.judging.words import MESSAGES
from transformer_checks.limits import time_limit
from transformer_checks.notebook import as_value, why_not_the_latest
from transformer_checks.registry import all_tasks, find_task
from transformer_checks.running.asking import why_no_answer
from transformer_checks.running.isolation import AnswerElsewhere, NamesElsewhere, run_answer
from transformer_checks.translation import say


def tasks() -> list[str]:
    """List the keys of all tasks.

    Returns:
        like ``["attention.attention_scores", ...]``, in the order of the assignments.
    """
    return list(all_tasks())


def contract(task: str) -> str:
    """Say what a task asks for.

    Args:
        task: key of the task.

    Returns:
        the stub's signature, the contract in words, and what may not be called.

    Raises:
        KeyError: if there is no such task.
    """
    found = find_task(task)
    forbidden = "\n".join(f"  {name}" for name in found.forbidden)
    return f"{found.stub}\n\n{found.contract}\n\nMay not be called:\n{forbidden}"


def grade(task: str, answer: Any, seed: int = 0, *, seconds: float | None = None) -> Result:
    """Judge an answer to a task.

    Args:
        task: key of the task, like "attention.split_heads".
        answer: the student's function or class, or the namespace that has it under the name that
            the task asks for, such as ``globals()``.
        seed: chooses shapes and numbers of the cases.
        seconds: time limit; None takes TRANSFORMER_REF_CHECK_SECONDS, or 10.

    Returns:
        the result. Whatever the answer does (an exception, an endless loop, the end of its
        process) is a result with a message and never an exception here.

    Raises:
        KeyError: if there is no such task; the message lists those there are.
        ValueError: if the time limit is not above 0.
    """
    found = find_task(task)
    limit = time_limit() if seconds is None else seconds
    if not limit > 0:
        raise ValueError(f"seconds must be above 0, got {seconds!r}")
    problem = ""
    if isinstance(answer, dict):
        problem = why_not_the_latest(answer, found.name)
    if isinstance(answer, dict | NamesElsewhere):
        answer = answer.get(found.name)
    elsewhere = isinstance(answer, AnswerElsewhere)
    problem = problem or (answer.problem(task) if elsewhere else why_no_answer(found, answer))
    if problem:
        why = say("{sentence}.", sentence=printable(problem))
        message = MESSAGES["no-points"].format(task=task, why=why)
        return Result(0.0, None, message, task)
    exam = make_exam(task, int(seed), torch.cuda.is_available())
    outcomes, how = run_answer(found, answer, exam.cases, limit)
    without_cuda = make_exam(task, int(seed))
    if how == "done" and len(outcomes) == len(without_cuda.cases):
        exam = without_cuda  # CUDA is there, but this answer could not be tried on it
    return judge(exam, outcomes, how, limit)


def check(task: str, answer: Any, points: float, seed: int = 0) -> float:
    """Judge an answer in a notebook: print the result and return the points.

    Args:
        task: key of the task.
        answer: the student's function or class, or the namespace it is in: ``globals()``.
        points: what a right answer is worth.
        seed: chooses shapes and numbers of the cases.

    Returns:
        a float in [0, points], as the last value of a graded cell should be. A notebook shows it
        only while nbgrader grades or validates, because the printed result has the points already.

    Raises:
        KeyError: if there is no such task.
        ValueError: if `points` is negative or not a number.
    """
    worth = float(points)
    if not 0.0 <= worth < float("inf"):
        raise ValueError(f"points must be a number from 0 up, got {points!r}")
    result = grade(task, answer, seed)
    # Rounded, so that a class list does not show 1.0999999999999999.
    earned = min(worth, max(0.0, round(worth * float(result.score), 4)))
    print(result.message)
    print(say("Points: {earned:g} of {worth:g}", earned=round(earned, 2), worth=worth))
    return as_value(earned)
