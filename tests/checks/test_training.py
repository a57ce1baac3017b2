"""The assignment "training": its answers against the package, and what its checks say."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
import torch
from torch import nn

from tests.checks.material.training import step_plain, usual
from transformer_checks import grade
from transformer_checks import training as reference
from transformer_checks.assignments.made_arguments import OPTIMIZER
from transformer_checks.assignments.training.cases import (
    NO_GRADIENT,
    NO_STEP,
    PATCHWORK,
    known_stuck,
)
from transformer_checks.judging.exam import make_exam

SPLIT = "training.split_target"
LOSS = "training.sequence_loss"
STEP = "training.accumulated_step"
GAP = "training.largest_gap"
BUG = "training.find_the_bug"
STUCK = "training.stuck_parameters"

# --- the answers -----------------------------------------------------------------------------


class OneGuess(nn.Module):
    """Says the same at every position."""

    def __init__(self):
        super().__init__()
        self.guess = nn.Parameter(torch.zeros(4))

    def forward(self, src, tgt_in):
        return self.guess.expand(*tgt_in.shape, 4)


def test_the_step_of_the_checks_is_the_one_in_the_exercise():
    model = OneGuess()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.4)
    batch = torch.tensor([[5, 6], [5, 6]]), torch.tensor([[1, 2, 0, 0], [1, 3, 3, 2]])
    found = reference.accumulated_step(model, *batch, optimizer, 0, 1)
    assert found == pytest.approx(math.log(4))
    torch.testing.assert_close(model.guess.data, torch.tensor([-0.1, -0.1, 0.1, 0.1]))
    found = reference.accumulated_step(model, *batch, optimizer, 0, 1)
    assert found == pytest.approx(1.2913, abs=1e-4)


def all_gaps(costs, parts):
    """The distances of every way to distribute a few costs, found by trying them all."""
    mean = sum(costs) / len(costs)
    for places in product(range(parts), repeat=len(costs)):
        pieces = [[c for c, at in zip(costs, places, strict=True) if at == k] for k in range(parts)]
        if all(pieces):
            yield abs(sum(sum(piece) / len(piece) for piece in pieces) / parts - mean)


def test_the_largest_gap_is_the_largest_of_all():
    assert reference.largest_gap([4.0, 1.0, 1.0, 2.0], 2) == pytest.approx(2 / 3)
    assert reference.largest_gap([0.0, 4.0, 5.0, 5.0], 2) == pytest.approx(7 / 6)
    few = [case.arguments for case in make_exam(GAP, 0).cases if len(case.arguments["costs"]) < 8]
    assert len(few) > 5
    for each in few:
        assert reference.largest_gap(**each) == pytest.approx(max(all_gaps(**each)))


@pytest.mark.parametrize("seed", range(20))
def test_costly_labels_are_alone_in_some_cases_and_cheap_ones_in_others(seed):
    """Otherwise one direction would do."""
    costly_alone = set()
    for case in make_exam(GAP, seed).cases:
        costs, parts = case.arguments["costs"], case.arguments["parts"]
        ordered, rest = sorted(costs, reverse=True), len(costs) - parts + 1
        means = (sum(ordered[: parts - 1]) + sum(ordered[parts - 1 :]) / rest) / parts
        gap = means - sum(costs) / len(costs)
        costly_alone.add(gap > reference.largest_gap(costs, parts) - 0.01)
    assert costly_alone == {True, False}


# --- the cases -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_what_is_stuck_in_a_case_is_known_and_everything_else_moves_far(seed):
    exam = make_exam(STUCK, seed)
    reasons = set()
    for case, expected in zip(exam.cases, exam.expected, strict=True):
        known = known_stuck(case.arguments)
        assert expected.values["stuck"] == known, case.name
        reasons |= set(known.values())
        weights = case.arguments["model"]["weights"]
        gradients, moves = gradients_and_moves(case)
        for name in weights.keys() - known.keys():
            rate = case.arguments["optimizer"]["rates"][name]
            assert moves[name] > 1e-4 * min(rate, 0.05) / 0.05, "or rounding would hide it"
        for name, reason in known.items():
            assert moves[name] == 0
            assert gradients[name] == 0 if reason == NO_GRADIENT else gradients[name] > 1e-4
    assert reasons == {NO_GRADIENT, NO_STEP}


def gradients_and_moves(case):
    """Make the step of a case; give the largest gradient and change of each parameter."""
    model = PATCHWORK.make("model", case, {}).value
    optimizer = OPTIMIZER.make("optimizer", case, {"model": model}).value
    src, tgt = (torch.from_numpy(case.arguments[name]) for name in ("src", "tgt"))
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    step_plain(model, src, tgt, optimizer, case.arguments["pad_id"])
    named = dict(model.named_parameters())
    return (
        {name: 0.0 if p.grad is None else p.grad.abs().max().item() for name, p in named.items()},
        {name: (p - before[name]).abs().max().item() for name, p in named.items()},
    )


@pytest.mark.parametrize("seed", range(30))
def test_the_batches_are_what_the_tasks_say(seed):
    for case in make_exam(LOSS, seed).cases:
        logits, labels = case.arguments["logits"], case.arguments["labels"]
        assert logits.shape[:2] == labels.shape
        assert labels.min() >= 0
        assert labels.max() < logits.shape[-1]
        assert 0 <= case.arguments["pad_id"] < logits.shape[-1]
        assert np.abs(logits).max() < 1000
        assert (labels != case.arguments["pad_id"]).any(axis=1).all()
    for key in (SPLIT, STEP, BUG):
        for case in make_exam(key, seed).cases:
            tgt = case.arguments.get("tgt", case.arguments.get("ids"))
            assert tgt.shape[1] >= 2
            assert len(set(tgt[:, 0])) == 1, "a begin token"
            pad_id = case.arguments.get("pad_id")
            assert pad_id is None or (tgt[:, 1:] != pad_id).any(axis=1).all()


@pytest.mark.parametrize("seed", range(10))
def test_models_of_several_kinds_are_tried(seed):
    cases = make_exam(STEP, seed).cases
    models = [case.arguments["model"] for case in cases]
    optimizers = [case.arguments["optimizer"] for case in cases]
    assert {case.dtype for case in cases} == {"float32", "float64"}
    assert sum(bool(model["gradients"]) for model in models) == 1
    assert sum(bool(each["momentum"]) for each in optimizers) == 1
    assert sum(len(set(each["rates"].values())) > 1 for each in optimizers) == 1
    assert {case.arguments["pad_id"] for case in cases} == {0, 1, 5}


# --- hostile answers -------------------------------------------------------------------------


class Zero(float):
    def __eq__(self, other):
        return True

    __hash__ = float.__hash__


def replaces_the_optimizer(model, src, tgt, optimizer, pad_id, size):
    optimizer.step = optimizer.zero_grad = lambda *_: None
    optimizer.steps = 1
    return usual(model, src, tgt, pad_id).item()


def forges_the_count(model, src, tgt, optimizer, pad_id, size):
    optimizer.steps = "many"
    return usual(model, src, tgt, pad_id).item()


def empties_the_model(model, src, tgt, optimizer, pad_id, size):
    model._parameters.clear()
    return 0.0


@pytest.mark.parametrize(
    "answer",
    [
        lambda *_: Zero(0),
        replaces_the_optimizer,
        forges_the_count,
        empties_the_model,
        lambda model, src, tgt, optimizer, pad_id, size: optimizer,
    ],
    ids=["zero", "no-ops", "forged count", "empty model", "optimizer"],
)
def test_tricks_with_a_model_gain_nothing(answer):
    result = grade(STEP, answer)
    assert result.score == 0.0
    assert result.message
