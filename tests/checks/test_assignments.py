"""What holds for the tasks of every assignment: what they refuse, and what they notice."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
from torch import nn

import transformer_ref
from benchmarks.mutants import altered_answers
from tests.checks.exams import faults, in_sample, run, run_here
from transformer_checks.judging.changes import Change, changed
from transformer_checks.judging.exam import Exam, make_exam
from transformer_checks.judging.faults import find_fault
from transformer_checks.registry import all_tasks
from transformer_checks.running import forbidden_calls
from transformer_checks.task import Case, Outcome, Property, Task

FAULTS = ("refused", "returned", "built", "raised", "unsolved", "x")
every_task = pytest.mark.parametrize("task", all_tasks().values(), ids=all_tasks())


# --- what may not be called ------------------------------------------------------------------


def package_modules() -> Iterator[ModuleType]:
    """The modules of the package that hold what the tasks ask for."""
    for found in pkgutil.iter_modules(transformer_ref.__path__, "transformer_ref."):
        if found.name.rpartition(".")[2] not in ("experiments", "__main__"):
            yield importlib.import_module(found.name)


def same_in_the_package(task: Task) -> list[Any]:
    """The package's functions and classes that have the name of a task's answer."""
    name = (task.answer or task.reference).__name__
    found = (getattr(module, name, None) for module in package_modules())
    return [each for each in found if inspect.isfunction(each) or inspect.isclass(each)]


@every_task
def test_the_answer_of_the_checks_and_of_the_package_are_refused(task: Task) -> None:
    """test_grade.py shows that one such call is worth no points."""
    case = make_exam(task.key, 0).cases[0]
    for answer in (task.reference, *same_in_the_package(task)):
        (outcome,), _ = run_here(task, answer, [case], 1.0)
        assert outcome.forbidden


@every_task
def test_a_call_of_anything_forbidden_is_refused(task: Task) -> None:
    """What is written in C needs tensors: test_grade.py, test_blocks.py and others call it."""
    assert task.forbidden
    with forbidden_calls.watch(task.forbidden) as calls:
        for name in task.forbidden:
            functions = forbidden_calls._python_functions(forbidden_calls._resolve(name))
            assert functions or name in forbidden_calls._IN_C
            for function in functions:
                with pytest.raises(forbidden_calls.ForbiddenCallError):
                    function()
                assert calls.pop()


# --- what an exam notices --------------------------------------------------------------------


@every_task
def test_a_forged_fault_is_worth_nothing(task: Task) -> None:
    exam = make_exam(task.key, 0)
    for fault in FAULTS:
        outcomes = [Outcome(fault=fault)] * len(exam.cases)
        assert all(find_fault(exam, number, outcomes) for number in range(len(outcomes)))


def noting(said: Property, reasons: list[str]) -> Property:
    """Note what a property says, and say nothing, so that the next one is asked, too."""

    def noted(case: Case, seen: Any) -> None:
        if reason := said(case, seen):
            reasons.append(reason)

    return noted


def meddles(answer: Callable[..., Any]) -> Callable[..., Any]:
    """Leave a hook on each module that is given, and zeros in it."""

    def wrong(*given: Any) -> Any:
        returned = answer(*given)
        for module in (each for each in given if isinstance(each, nn.Module)):
            module.register_forward_hook(lambda *_: None)
            for parameter in module.parameters():
                parameter.data.zero_()
        return returned

    return wrong


def wrong_answers(task: Task) -> Iterator[Callable[..., Any]]:
    """Those that are listed, the right one with other values, and one that changes a module."""
    right = changed(task.answer or task.reference, Change(()))
    yield meddles(right)
    for entry in task.misconceptions:
        for variant in range(len(entry.wrong)):
            yield task.wrong(entry, variant)
    yield from altered_answers(task.key)


@pytest.mark.parametrize(
    "task",
    [
        pytest.param(task, id=key, marks=[] if in_sample(key) else [pytest.mark.weekly])
        for key, task in all_tasks().items()
        if task.properties
    ],
)
def test_each_property_is_about_some_wrong_answer_and_no_right_one(task: Task) -> None:
    reasons: list[list[str]] = [[] for _ in task.properties]
    properties = tuple(map(noting, task.properties, reasons))
    exam = Exam(replace(task, properties=properties), make_exam(task.key, 0).cases)
    faults(exam, exam.expected)
    assert not any(reasons)
    for answer in wrong_answers(task):
        faults(exam, run(exam, answer))
        if all(reasons):
            return
    unheard = [said for said, found in zip(task.properties, reasons, strict=True) if not found]
    assert not unheard
