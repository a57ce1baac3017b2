"""The assignment "depth": its answers against what is known without them, and what is told."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from tests.checks.material import depth as material
from transformer_checks import depth as reference
from transformer_checks import grade
from transformer_checks.assignments.depth import cases
from transformer_checks.judging.exam import make_exam
from transformer_checks.judging.faults import find_fault
from transformer_checks.task import Outcome
from transformer_ref.experiments import depth as experiment

FIELD = "depth.cnn_receptive_field"
PREVIOUS = "depth.previous_token_weights"
LENS = "depth.logit_lens"
DAMAGE = "depth.damage_by_key"
OFFSET = "depth.needed_offset"
BUG = "depth.find_the_bug"

# Answers that are right, and not the reference's, which may not be called.
ANSWERS = {
    FIELD: material.field_loop,
    PREVIOUS: material.previous_closed_form,
    LENS: material.lens_filled,
    DAMAGE: material.damage_deleted,
    OFFSET: material.offset_argmax,
    BUG: material.induction_fused,
}


def tensors(arguments):
    return {
        name: torch.from_numpy(value) if isinstance(value, np.ndarray) else value
        for name, value in arguments.items()
    }


# --- the answers -----------------------------------------------------------------------------


@pytest.mark.parametrize("task", ANSWERS)
def test_a_right_answer_is_right(task):
    result = grade(task, ANSWERS[task])
    assert result.score == 1.0, result.message


@pytest.mark.parametrize("seed", range(3))
def test_the_code_as_found_fails_in_every_case(seed):
    result = grade(BUG, material.bug_as_given, seed)
    assert (result.passed, result.misconception) == (0, "bug-is-in")


def test_the_formula_is_what_gradients_reach():
    for kernel, layers, dilation in ((3, 3, 1), (2, 4, 3), (4, 2, 2), (1, 5, 2)):
        size = reference.cnn_receptive_field(kernel, layers, dilation)
        stack = nn.Sequential(
            *(nn.Conv1d(1, 1, kernel, dilation=dilation, bias=False) for _ in range(layers))
        )
        for parameter in stack.parameters():
            nn.init.ones_(parameter)
        x = torch.ones(1, 1, size + 4, requires_grad=True)
        stack(x)[0, 0, 2].backward()
        touched = x.grad[0, 0].nonzero().flatten()
        assert touched.max() - touched.min() + 1 == size


def test_two_layers_are_those_of_the_chapter():
    chapter = experiment.by_hand()
    weights = reference.previous_token_weights(torch.eye(5), 20.0)
    torch.testing.assert_close(weights, chapter["back_weights"])
    torch.testing.assert_close(reference.induction(chapter["letters"]), chapter["found"])


def test_the_lens_ends_with_what_the_model_says():
    rng = np.random.default_rng(0)
    case = cases.lens_case(rng, 3, (2, 4, 6, 9))
    model = cases.STACK.make("model", case, {}).value
    x = torch.from_numpy(case.arguments["x"])
    logits = reference.logit_lens(model, x)
    whole = nn.Sequential(*model.layers, model.norm, model.output_proj)
    torch.testing.assert_close(logits[-1], whole(x))
    torch.testing.assert_close(logits[0], whole[-2:](x))


# --- the cases: their answers are known from how they are made -------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_the_damages_are_those_of_the_closed_form(seed):
    for case in make_exam(DAMAGE, seed).cases:
        assert (case.arguments["mask"].sum(axis=1) >= 2).all()
        found = reference.damage_by_key(**tensors(case.arguments)).numpy()
        np.testing.assert_allclose(found, cases.known_damage(case.arguments), 1e-4, 1e-6)


def test_a_key_whose_value_is_the_average_does_no_damage():
    said = "the value of key "
    found = [case for case in make_exam(DAMAGE, 0).cases if said in case.name]
    assert len(found) == 2
    for case in found:
        key = int(case.name.split(said)[1].split()[0])
        assert reference.damage_by_key(**tensors(case.arguments))[key] < 1e-10


@pytest.mark.parametrize("kind", ["sharp", "last", "spare", "echo"])
def test_a_head_needs_the_offset_that_it_was_made_for(kind):
    rng = np.random.default_rng(0)
    for offset in (2, 3):
        case = cases._offset_case(rng, kind, 11, offset, 5, "float64")
        while not cases.is_clear(case.arguments, offset):
            case = cases._offset_case(rng, kind, 11, offset, 5, "float64")
        assert reference.needed_offset(**tensors(case.arguments)) == offset


def test_the_closed_form_of_an_offset_is_what_hiding_it_does():
    for case in make_exam(OFFSET, 3).cases:
        given = tensors(case.arguments)
        query, key, value = (given[name].double() for name in ("query", "key", "value"))
        past = torch.ones(len(query), len(query)).tril() > 0
        whole = material._attend(query, key, value, past)
        for offset, damage in enumerate(cases.offset_damage(case.arguments), start=1):
            rest = past.clone()
            rest.diagonal(-offset).fill_(False)
            changed = material._attend(query, key, value, rest) - whole
            assert changed.square().mean().item() == pytest.approx(damage, 1e-4, 1e-9)


def test_a_text_that_repeats_is_foretold():
    for case in make_exam(BUG, 0).cases:
        letters = case.arguments["letters"]
        written = letters[1:].argmax(axis=1).tolist()
        period = len(set(written))
        if written[:period] * 2 != written:
            continue
        found = reference.induction(torch.from_numpy(letters)).argmax(dim=-1)[1 + period : -1]
        assert found.tolist() == written[period + 1 :]


# --- what is told ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "answer", "said"),
    [
        (FIELD, material.m_field_range, "expected int"),
        (FIELD, lambda kernel_size, num_layers, dilation=1: 0, "on one input at least; here"),
        (PREVIOUS, material.w_previous_no_mask, "a token may not see those behind it"),
        (PREVIOUS, material.w_previous_late_mask, "should sum to 1; here they sum to"),
        (PREVIOUS, material.w_previous_strict, "`weights` holds NaN"),
        (LENS, material.w_lens_no_start, "expected shape ("),
        (LENS, material.w_lens_list, "expected one tensor, received a list"),
        (DAMAGE, material.w_damage_signed, "a mean of squares is not below 0"),
        (DAMAGE, material.w_damage_no_mask_at_all, "no query may see key "),
        (OFFSET, material.w_offset_zero, "the offset should be one of 1 to "),
        (OFFSET, material.w_offset_tensor, ".item() makes a number of it"),
    ],
)
def test_a_wrong_answer_is_told_in_words(task, answer, said):
    result = grade(task, answer)
    assert said in result.message, result.message
    assert result.score < 1.0


def test_a_model_that_is_changed_is_told():
    def answer(model, x):
        logits = material.lens_cat(model, x)
        with torch.no_grad():
            model.norm.weight.zero_()
        return logits

    result = grade(LENS, answer)
    assert "norm.weight" in result.message
    assert result.score < 1.0


def test_the_first_lines_do_not_give_the_bug_away():
    told = grade(BUG, material.bug_as_given).message.split("First failing case")[0]
    assert "still in it" in told
    assert "value" not in told


# --- what may and may not be called ----------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "name"),
    [
        (FIELD, "cnn_receptive_field"),
        (PREVIOUS, "previous_token_weights"),
        (LENS, "logit_lens"),
        (DAMAGE, "damage_by_key"),
        (OFFSET, "needed_offset"),
        (BUG, "induction"),
    ],
)
def test_the_answer_itself_is_refused(task, name):
    result = grade(task, getattr(reference, name))
    assert (result.score, result.misconception) == (0.0, None)
    assert f"checks.depth.{name}, which this task asks you to do without" in result.message


# --- forged results --------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["refused", "returned", "built", "raised", "unsolved", "x"])
def test_a_forged_fault_is_worth_nothing(fault):
    for key in ANSWERS:
        exam = make_exam(key, 0)
        outcomes = [Outcome(fault=fault)] * len(exam.cases)
        assert all(find_fault(exam, number, outcomes) for number in range(len(outcomes)))
