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
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import transformer_ref
from benchmarks.mutants import altered_answers
from tests.checks.exams import faults, in_sample, run, run_here
from transformer_checks import grade
from transformer_checks.judging.changes import Change, changed
from transformer_checks.judging.exam import Exam, make_exam
from transformer_checks.judging.faults import find_fault
from transformer_checks.registry import all_tasks
from transformer_checks.running import forbidden_calls
from transformer_checks.task import Case, Outcome, Property, Task
from transformer_ref import positions

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
    """What is written in C needs tensors: the answers in CALLS have them."""
    assert task.forbidden
    with forbidden_calls.watch(task.forbidden) as calls:
        for name in task.forbidden:
            functions = forbidden_calls._python_functions(forbidden_calls._resolve(name))
            assert functions or name in forbidden_calls._IN_C
            for function in functions:
                with pytest.raises(forbidden_calls.ForbiddenCallError):
                    function()
                assert calls.pop()


def holding(kind: type[nn.Module], *given: Any) -> type[nn.Module]:
    """A class of modules that makes one of another kind, and does nothing else."""

    class Holds(nn.Module):
        def __init__(self, *sizes: Any, **named: Any) -> None:
            super().__init__()
            self.inner = kind(*given)

        def forward(self, x: Tensor) -> Tensor:
            found: Tensor = self.inner(x)
            return found

    return Holds


class GroupNorm(nn.GroupNorm):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x)


class Inherits(positions.SinusoidalPositions):
    pass


# Answers that call what is written in C, or a class that they hold or inherit.
CALLS: dict[str, list[tuple[Any, str]]] = {
    "blocks.layer_norm": [
        (lambda x, w, b, eps: F.layer_norm(x, x.shape[-1:], w, b, eps), "layer_norm"),
        (
            lambda x, w, b, eps: torch.layer_norm(x, x.shape[-1:], w, b, eps),
            "functional.layer_norm",
        ),
        (
            lambda x, w, b, eps: torch.native_layer_norm(x, x.shape[-1:], w, b, eps)[0],
            "nn.functional.layer_norm",
        ),
        (lambda x, w, b, eps: nn.LayerNorm(x.shape[-1], eps)(x) * w + b, "nn.LayerNorm"),
        (
            lambda x, w, b, eps: GroupNorm(1, x.shape[-1], eps)(x.view(-1, x.shape[-1])),
            "group_norm",
        ),
    ],
    "blocks.EncoderLayer": [
        (holding(nn.TransformerEncoderLayer, 8, 2, 8), "nn.TransformerEncoderLayer")
    ],
    "blocks.DecoderLayer": [
        (holding(nn.TransformerDecoderLayer, 8, 2, 8), "nn.TransformerDecoderLayer")
    ],
    "decoding.cached_attention": [
        (
            lambda query, key, value, cache: (
                F.scaled_dot_product_attention(query, key, value),
                (key, value),
            ),
            "functional.scaled_dot_product_attention",
        )
    ],
    "gpt.GPT": [(holding(nn.MultiheadAttention, 8, 2), "nn.MultiheadAttention.__init__")],
    "masking.find_the_bug": [
        (
            lambda query, key, value, ids, pad_id: F.scaled_dot_product_attention(
                query, key, value
            ),
            "functional.scaled_dot_product_attention",
        )
    ],
    "positions.PositionalEncoding": [
        (Inherits, "positions.SinusoidalPositions"),
        (
            holding(positions.SinusoidalPositions, 8, 9),
            "positions.SinusoidalPositions",
        ),
    ],
    "sequences.unroll": [
        (lambda x, hidden, w, u, b: nn.RNN(x.shape[-1], len(b)).to(x)(x)[0], "torch.nn.RNN")
    ],
    "sequences.recurrent_step": [
        (lambda x, hidden, w, u, b: nn.RNNCell(x.shape[-1], len(b)).to(x)(x), "torch.nn.RNNCell"),
        (
            lambda x, hidden, w, u, b: torch.rnn_tanh_cell(x, hidden, w.mT, u.mT, b, b),
            "torch.nn.RNN",
        ),
    ],
}


@pytest.mark.parametrize(
    ("key", "answer", "name"),
    [(key, answer, name) for key, calls in CALLS.items() for answer, name in calls],
)
def test_an_answer_that_calls_the_piece_itself_is_refused(key: str, answer: Any, name: str) -> None:
    result = grade(key, answer)
    assert (result.score, result.misconception) == (0.0, None)
    assert f"{name}, which this task asks you to do without" in result.message


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
        pytest.param(
            task, id=key, marks=[] if in_sample(key) else [pytest.mark.weekly, pytest.mark.lines]
        )
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
