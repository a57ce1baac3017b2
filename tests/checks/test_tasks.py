"""The tasks themselves: their references, their cases, and their lists of misconceptions."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.checks.exams import assert_names_itself, faults, in_sample
from transformer_checks.judging.exam import Exam, make_exam
from transformer_checks.judging.faults import find_fault
from transformer_checks.registry import all_tasks
from transformer_checks.running import wire_format
from transformer_checks.running.asking import run_case
from transformer_checks.running.comparing import same
from transformer_checks.task import Case, ProbeTask
from transformer_ref.attention import MultiHeadAttention

# To name one of them the judge runs all of a task, so the sample is one of tasks.
ENTRIES = [
    pytest.param(
        task, entry, id=f"{key}-{entry.key}", marks=[] if in_sample(key) else [pytest.mark.weekly]
    )
    for key, task in all_tasks().items()
    for entry in task.misconceptions
]


# A task that asks in its own way asks for gradients in its own way, too.
WITH_GRADIENTS = [
    key
    for key, task in all_tasks().items()
    if "gradients" in task.demands and not isinstance(task, ProbeTask)
]


@pytest.mark.parametrize("task", all_tasks().values(), ids=all_tasks())
def test_the_references_pass_their_own_cases(task):
    exam = make_exam(task.key, 11)
    outcomes = [run_case(task, task.reference, case) for case in exam.cases]
    assert not any(faults(exam, outcomes))


@pytest.mark.parametrize("task", all_tasks().values(), ids=all_tasks())
def test_the_cases_have_different_names_and_are_plain(task):
    exam = make_exam(task.key, 12)
    names = [case.name for case in exam.cases]
    assert len(set(names)) == len(names)
    assert [case for case in exam.cases if case.same_as in names]
    for case in exam.cases:
        again = Case(**wire_format.decode(wire_format.encode(vars(case))))
        assert again.name == case.name
        assert again.arguments.keys() == case.arguments.keys()
        for name, value in case.arguments.items():
            assert same(again.arguments[name], value, (0.0, 0.0))
            described = isinstance(value, np.ndarray) or name in task.makers
            assert described or same(wire_format.copied(value), value, (0.0, 0.0))


@pytest.mark.parametrize("key", WITH_GRADIENTS)
def test_gradients_are_asked_for_in_two_dtypes_and_layouts(key):
    exam = make_exam(key, 12)
    asked = {case.dtype for case in exam.cases if case.cotangent is not None}
    assert asked >= {"float32", "float64"}
    # What is given to a model has one layout.
    assert exam.task.makers or any(case.layout == "strided" for case in exam.cases)


@pytest.mark.parametrize(
    "key", [key for key in all_tasks() if re.match(r"attention\.(?!bracket_head)", key)]
)
def test_hardly_a_case_of_attention_has_two_sizes_alike(key):
    """One token in a batch of one has, and a long text, and one where heads times K is a length."""
    cases = [case for seed in range(10, 20) for case in make_exam(key, seed).cases]
    arrays = [
        next(v.shape for v in case.arguments.values() if isinstance(v, np.ndarray))
        for case in cases
    ]
    assert sum(len(set(shape)) < len(shape) for shape in arrays) <= len(cases) / 6


@pytest.mark.parametrize("seed", range(30))
def test_every_query_may_see_a_key_and_may_not_see_another(seed):
    for key in ("attention.scaled_dot_product_attention", "attention.MultiHeadAttention"):
        masked = [c for c in make_exam(key, seed).cases if c.arguments.get("mask") is not None]
        assert len(masked) >= 10
        for case in masked:
            mask = case.arguments["mask"]
            assert mask.dtype == np.bool_
            assert mask.any(axis=-1).all()
            assert not mask.all()


def test_the_reference_of_attention_agrees_with_torch():
    exam = make_exam("attention.scaled_dot_product_attention", 13)
    for case, outcome in zip(exam.cases, exam.expected, strict=True):
        tensors = {
            name: value if value is None else torch.from_numpy(value)
            for name, value in case.arguments.items()
        }
        output = F.scaled_dot_product_attention(
            tensors["query"], tensors["key"], tensors["value"], tensors.get("mask")
        )
        found = torch.from_numpy(outcome.values["output"]).double()
        relative, absolute = exam.task.tolerances[case.dtype]
        torch.testing.assert_close(found, output.double(), rtol=relative, atol=absolute)


def test_the_reference_of_the_module_agrees_with_the_package():
    exam = make_exam("attention.MultiHeadAttention", 14)
    for number, case in enumerate(exam.cases):
        outcome = run_case(exam.task, MultiHeadAttention, case)
        outcomes = [*exam.expected[:number], outcome, *exam.expected[number + 1 :]]
        assert find_fault(exam, number, outcomes) is None


@pytest.mark.parametrize(("task", "entry"), ENTRIES)
def test_each_misconception_is_rejected_and_names_itself(task, entry):
    """Also that no two entries are twins: each variant is told apart from all others."""
    exam = make_exam(task.key, 15)
    assert entry.title
    assert entry.hint
    assert_names_itself(exam, entry)


def test_cases_on_cuda_are_added_where_there_is_one():
    exam = make_exam("attention.split_heads", 16, True)
    on_cuda = [case for case in exam.cases if case.device == "cuda"]
    assert len(on_cuda) >= 4
    assert all(case.name.endswith("on CUDA") for case in on_cuda)
    assert len(exam.expected) == len(exam.cases)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_answers_are_tried_on_cuda():
    from transformer_checks import grade

    torch.ones(3, device="cuda", requires_grad=True).sum().backward()

    def split(x, num_heads):
        return x.unflatten(2, (num_heads, -1)).transpose(1, 2)

    assert grade("attention.split_heads", split).score == 1.0
    result = grade("attention.split_heads", lambda x, num_heads: split(x, num_heads).cpu())
    assert "expected it on cuda, received it on cpu" in result.message


def test_a_reference_that_fails_is_not_the_students_fault():
    task = all_tasks()["attention.split_heads"]

    def broken(x, num_heads):
        raise ValueError("oops")

    exam = Exam(replace(task, reference=broken), make_exam(task.key, 0).cases)
    with pytest.raises(RuntimeError, match=r"the reference of attention\.split_heads fails"):
        _ = exam.expected
