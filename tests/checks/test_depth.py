"""The assignment "depth": its answers against what is known without them, and what is told."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from tests.checks.material import depth as material
from transformer_checks import depth as reference
from transformer_checks.assignments.depth import cases
from transformer_checks.judging.exam import make_exam
from transformer_ref.experiments import depth as experiment

DAMAGE = "depth.damage_by_key"
OFFSET = "depth.needed_offset"
BUG = "depth.find_the_bug"


def tensors(arguments):
    return {
        name: torch.from_numpy(value) if isinstance(value, np.ndarray) else value
        for name, value in arguments.items()
    }


# --- the answers -----------------------------------------------------------------------------


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
