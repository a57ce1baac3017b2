"""The assignment "training": its answers against the package, and what its checks say."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from transformer_checks import contract, grade
from transformer_checks import training as reference
from transformer_checks.assignments.made_arguments import OPTIMIZER
from transformer_checks.assignments.training.cases import (
    NO_GRADIENT,
    NO_STEP,
    PATCHWORK,
    known_stuck,
)
from transformer_checks.judging.exam import make_exam
from transformer_ref import training as package

SPLIT = "training.split_target"
LOSS = "training.sequence_loss"
ACCURACY = "training.token_accuracy"
STEP = "training.train_step"
BUG = "training.find_the_bug"
SILENT = "training.find_the_silent_bug"
STUCK = "training.stuck_parameters"

# Answers that are right, and not the reference's, which may not be called.


def loss(logits, labels, pad_id, label_smoothing=0.0):
    return F.cross_entropy(
        logits.flatten(0, 1),
        labels.flatten(),
        ignore_index=pad_id,
        label_smoothing=label_smoothing,
    )


def forced(model, src, tgt, pad_id):
    return loss(model(src, tgt[:, :-1]), tgt[:, 1:], pad_id)


def step(model, src, tgt, optimizer, pad_id):
    optimizer.zero_grad()
    found = forced(model, src, tgt, pad_id)
    found.backward()
    optimizer.step()
    return found.item()


# --- the answers -----------------------------------------------------------------------------


def test_the_answers_of_the_checks_agree_with_numbers_worked_out_by_hand():
    logits = torch.zeros(1, 4, 4)
    logits[0, 0, 1] = math.log(3.0)
    logits[0, 1, 2] = math.log(5.0)
    labels = torch.tensor([[1, 1, 0, 0]])
    assert reference.perplexity(logits, labels, 0) == pytest.approx(4.0)
    assert reference.token_accuracy(logits, labels, 0) == 0.5
    assert reference.token_accuracy(logits, labels, 3) == 0.75  # all four count, the zeros too


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
    batch = torch.tensor([[5, 6]]), torch.tensor([[1, 3, 2, 0]])
    assert reference.train_step(model, *batch, optimizer, 0) == pytest.approx(math.log(4))
    torch.testing.assert_close(model.guess.data, torch.tensor([-0.1, -0.1, 0.1, 0.1]))
    assert reference.train_step(model, *batch, optimizer, 0) == pytest.approx(1.2913, abs=1e-4)


class GuessAndSpare(OneGuess):
    """The same, with a parameter that it never uses."""

    def __init__(self):
        super().__init__()
        self.spare = nn.Parameter(torch.ones(2))


def test_what_is_stuck_is_what_the_exercise_says():
    batch = torch.tensor([[5, 6]]), torch.tensor([[1, 3, 2, 0]])
    model = GuessAndSpare()
    all_of_it = torch.optim.SGD(model.parameters(), lr=0.4)
    spare_only = torch.optim.SGD([model.spare], lr=0.4)
    assert reference.stuck_parameters(model, *batch, all_of_it, 0) == {"spare": "no gradient"}
    assert reference.stuck_parameters(model, *batch, spare_only, 0) == {
        "guess": "no step",
        "spare": "no gradient",
    }


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
    step(model, src, tgt, optimizer, case.arguments["pad_id"])
    named = dict(model.named_parameters())
    return (
        {name: 0.0 if p.grad is None else p.grad.abs().max().item() for name, p in named.items()},
        {name: (p - before[name]).abs().max().item() for name, p in named.items()},
    )


@pytest.mark.parametrize("seed", range(30))
def test_the_batches_are_what_the_tasks_say(seed):
    for key in (LOSS, ACCURACY, SILENT):
        for case in make_exam(key, seed).cases:
            logits, labels = case.arguments["logits"], case.arguments["labels"]
            assert logits.shape[:2] == labels.shape
            assert labels.min() >= 0
            assert labels.max() < logits.shape[-1]
            assert 0 <= case.arguments["pad_id"] < logits.shape[-1]
            assert np.abs(logits).max() < 1000
            real = labels != case.arguments["pad_id"]
            assert real.any(axis=1).all()
            if key == SILENT:
                assert not real.all(), "without padding the bug would not show"
            if key == ACCURACY:
                top = np.sort(logits[real], axis=-1)[..., -2:]
                assert (top[..., 1] - top[..., 0]).min() > 0.5
                found = (logits.argmax(-1) == labels)[real].mean()
                assert found < 1.0, "to return 1.0 must be worth nothing"
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
    assert sum(bool(model["gradients"]) for model in models) == 3
    assert sum(bool(each["momentum"]) for each in optimizers) == 3
    assert sum(len(set(each["rates"].values())) > 1 for each in optimizers) == 1
    assert {case.arguments["pad_id"] for case in cases} == {0, 1, 3, 5}


# --- what may and may not be called ----------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "answer", "name"),
    [
        (
            SILENT,
            lambda *given: package.sequence_loss(*given).exp().item(),
            "training.sequence_loss",
        ),
    ],
)
def test_the_piece_itself_is_refused(task, answer, name):
    result = grade(task, answer)
    assert (result.score, result.misconception) == (0.0, None)
    assert f"{name}, which this task asks you to do without" in result.message
    assert name in contract(task)


def test_pieces_of_earlier_tasks_are_welcome():
    def with_pieces(model, src, tgt, optimizer, pad_id):
        inputs, labels = package.split_target(tgt)
        optimizer.zero_grad()
        found = package.sequence_loss(model(src, inputs), labels, pad_id)
        found.backward()
        optimizer.step()
        return found.item()

    assert grade(STEP, with_pieces).score == 1.0


# --- hostile answers -------------------------------------------------------------------------


class Zero(float):
    def __eq__(self, other):
        return True

    __hash__ = float.__hash__


def replaces_the_optimizer(model, src, tgt, optimizer, pad_id):
    optimizer.step = optimizer.zero_grad = lambda *_: None
    optimizer.steps = 1
    return forced(model, src, tgt, pad_id).item()


def forges_the_count(model, src, tgt, optimizer, pad_id):
    optimizer.steps = "many"
    return forced(model, src, tgt, pad_id).item()


def empties_the_model(model, src, tgt, optimizer, pad_id):
    model._parameters.clear()
    return 0.0


@pytest.mark.parametrize(
    "answer",
    [
        lambda *_: Zero(0),
        replaces_the_optimizer,
        forges_the_count,
        empties_the_model,
        lambda model, src, tgt, optimizer, pad_id: optimizer,
    ],
    ids=["zero", "no-ops", "forged count", "empty model", "optimizer"],
)
def test_tricks_with_a_model_gain_nothing(answer):
    result = grade(STEP, answer)
    assert result.score == 0.0
    assert result.message
