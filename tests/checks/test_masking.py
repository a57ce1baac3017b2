"""The assignment "masking": its answers against the package, and what its checks say."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.checks.material.masking import bug_on_query_device, causal_compare, soft_inf
from transformer_checks import grade
from transformer_checks import masking as reference
from transformer_checks.assignments.masking.cases import MODEL, depends
from transformer_checks.judging.exam import make_exam
from transformer_checks.judging.faults import find_fault
from transformer_checks.running.asking import run_case
from transformer_checks.task import SAID, Case
from transformer_ref import masks as package

PADDING = "masking.padding_mask"
CAUSAL = "masking.causal_mask"
SOFTMAX = "masking.masked_softmax"
BUG = "masking.find_the_bug"
AHEAD = "masking.how_far_ahead"


def moved_outputs(model, x):
    """A derivative that is not 0 says the same, and nothing is changed for it."""
    slopes = torch.autograd.functional.jacobian(lambda tokens: model(tokens).sum(0), x)
    return slopes.abs().amax(dim=(1, 2, 4)) > 1e-4


# --- the answers -----------------------------------------------------------------------------


def test_the_reference_of_the_bug_hunt_is_torchs_attention():
    generator = torch.Generator().manual_seed(5)
    query, key, value = (torch.randn(2, 3, 5, 4, generator=generator) for _ in range(3))
    ids = torch.tensor([[7, 2, 9, 0, 0], [4, 4, 6, 8, 1]])
    mask = package.target_mask(ids, 0)
    right = F.scaled_dot_product_attention(query, key, value, mask)
    torch.testing.assert_close(reference.causal_attention(query, key, value, ids, 0), right)


# --- the cases -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_padding_stands_everywhere_and_has_many_ids(seed):
    cases = make_exam(PADDING, seed).cases
    hidden = [case.arguments["ids"] == case.arguments["pad_id"] for case in cases]
    long = [each for each in hidden if each.shape[1] > 3]
    assert any(each[:, 0].all() and not each[:, -1].any() for each in long), "in front"
    assert any(each[:, -1].all() and not each[:, 0].any() for each in long), "at the end"
    assert any(each.any() and not each[:, [0, -1]].any() for each in long), "inside"
    assert any(each[:, 0].any() and each[:, -1].any() for each in long), "on both sides"
    assert any(not each.any() for each in long), "nowhere"
    assert any(each.all(axis=1).any() for each in long), "nothing else"
    assert len({case.arguments["pad_id"] for case in cases}) >= 6
    assert any((case.arguments["ids"] < case.arguments["pad_id"]).any() for case in cases)


@pytest.mark.parametrize("seed", range(20))
def test_rows_that_may_see_nothing_come_up_in_every_dtype(seed):
    empty = {}
    for case in make_exam(SOFTMAX, seed).cases:
        rows = case.arguments["mask"].any(axis=-1)
        assert rows.any(), "a case in which nobody sees anything"
        empty.setdefault(case.dtype, []).append(not rows.all())
    assert all(any(found) for found in empty.values()), empty
    assert set(empty) == {"float16", "bfloat16", "float32", "float64"}


def test_a_case_in_bfloat16_holds_float32_and_hands_over_bfloat16():
    exam = make_exam(SOFTMAX, 0)
    number = next(n for n, case in enumerate(exam.cases) if case.dtype == "bfloat16")
    case, seen = exam.cases[number], []

    def watches(scores, mask):
        seen.append(scores.dtype)
        return soft_inf(scores, mask)

    outcome = run_case(exam.task, watches, case)
    assert case.arguments["scores"].dtype == np.float32
    assert seen == [torch.bfloat16]
    assert outcome.dtypes == {"weights": "bfloat16"}


@pytest.mark.parametrize("seed", range(4))
def test_what_outputs_depend_on_follows_from_how_a_model_is_made(seed):
    """By its derivatives, in float64; a change of size one is far from rounding, too."""
    for case in make_exam(AHEAD, seed).cases:
        description = case.arguments["model"]
        seen = torch.from_numpy(depends(description))
        model, x = MODEL.make("model", case, {}).value, torch.from_numpy(case.arguments["x"])
        assert torch.equal(moved_outputs(model, x), seen), case.name
        generator, before = torch.Generator().manual_seed(seed), model(x)
        for s in range(x.shape[1]):
            changed = x.clone()
            changed[:, s] = torch.randn(changed[:, s].shape, generator=generator)
            moves = (model(changed) - before).abs().amax(dim=(0, 2))
            assert (moves[seen[:, s]] > 2e-4).all(), case.name
            assert (moves[~seen[:, s]] < 1e-5).all(), case.name


def test_a_leak_goes_as_far_as_the_layers_hand_it_on():
    for seed in range(5):
        found = {}
        for case in make_exam(AHEAD, seed).cases:
            model, x = MODEL.make("model", case, {}).value, torch.from_numpy(case.arguments["x"])
            last, said = x.shape[1] - 1, case.arguments["model"][SAID]
            found.setdefault(said, set()).add((reference.how_far_ahead(model, x), last))
        assert {far for far, _ in found["1 layer with a causal mask"]} == {0}
        assert {far for far, _ in found["1 layer with a mask one too far"]} == {1}
        assert {far for far, _ in found["2 layers with a mask one too far"]} == {2}
        assert {far for far, _ in found["3 layers with a mask one too far"]} == {3}
        late = "1 layer with a causal mask, applied after the softmax"
        for said in (late, "1 layer with no mask"):
            assert all(far == last for far, last in found[said]), said
        put_right = f"{late}, and the rows divided by their sums"
        assert {far for far, _ in found[put_right]} == {0}


# --- another device --------------------------------------------------------------------------


def test_an_answer_that_brings_the_batch_to_the_cpu_is_told():
    def brings(query, key, value, ids, pad_id):
        if query.is_meta:
            query, key, value, ids = (torch.zeros(each.shape) for each in (query, key, value, ids))
        return bug_on_query_device(query, key, value, ids, pad_id)

    result = grade(BUG, brings)
    assert result.passed == result.total - 3
    assert "expected it on meta, received it on cpu" in result.message


# --- what is told ----------------------------------------------------------------------------


def test_nan_is_excused_by_no_mask_that_hides_everything():
    """A message may say that every query sees a key only where that is so."""
    told = {}
    for seed in range(3):
        exam = make_exam(SOFTMAX, seed)
        outcomes = [
            run_case(exam.task, lambda scores, mask: scores * math.nan, case) for case in exam.cases
        ]
        for number, case in enumerate(exam.cases):
            all_see = bool(case.arguments["mask"].any(axis=-1).all())
            told.setdefault(all_see, set()).add(find_fault(exam, number, outcomes).kind)
    assert told == {True: {"nan.all-see"}, False: {"nan"}}


# --- forged results --------------------------------------------------------------------------


def test_numbers_that_are_not_there_are_no_evidence():
    """On the device meta all masks look alike: a case there may not excuse or accuse an answer."""
    case = Case("length=4, device='meta'", {"length": 4, "device": "meta"})
    task = make_exam(CAUSAL, 0).task
    upside_down = run_case(task, lambda length, device: ~causal_compare(length, device), case)
    assert upside_down.devices == {"mask": "meta"}
    assert not upside_down.values["mask"].any()
