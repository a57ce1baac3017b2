"""The assignment "positions": its answers against the package, and what its checks say."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from tests.checks.material.positions import table_tutorial
from transformer_checks import grade
from transformer_checks import positions as reference
from transformer_checks.assignments.positions import cases
from transformer_checks.judging.exam import make_exam
from transformer_checks.judging.faults import find_fault
from transformer_checks.running.asking import run_case
from transformer_checks.task import Outcome
from transformer_ref import positions as package

MODULE = "positions.PositionalEncoding"
EFFECT = "positions.order_effect"


class Positional(nn.Module):
    """A right answer, but for what it refuses."""

    def __init__(self, d_model, max_len, dropout):
        super().__init__()
        self.register_buffer("pe", table_tutorial(max_len, d_model))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        self.refuse(x)
        return self.dropout(x + self.pe[: x.shape[1]])


# --- the answers -----------------------------------------------------------------------------


def test_any_positions_are_rows_of_the_table():
    positions = torch.tensor([[3, 0, 9], [9, 1, 1]])
    rows = package.sinusoidal_encoding(10, 8)[positions]
    assert torch.equal(reference.encode_positions_in_float64(positions, 8), rows)
    torch.testing.assert_close(reference.encode_positions(positions, 8), rows, rtol=0, atol=1e-3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_the_result_has_the_dtype_of_x_whatever_that_of_the_table_is(dtype):
    module = reference.PositionalEncoding(6, max_len=5, dropout=0.0)
    assert module.table.dtype == torch.float32
    assert module(torch.zeros(1, 4, 6, dtype=dtype)).dtype == dtype


@pytest.mark.parametrize("seed", range(10))
def test_the_effect_of_an_order_follows_from_how_the_model_was_made(seed):
    """The linear part is computed by hand; attention alone moves with the tokens."""
    exam = make_exam(EFFECT, seed)
    for case, expected in zip(exam.cases, exam.expected, strict=True):
        assert expected.values["effect"] == pytest.approx(cases.known_effect(case), abs=1e-5)
    blind = [case for case in exam.cases if cases.known_effect(case) < 1e-9]
    assert len(blind) == 4
    assert all(cases.known_effect(case) > 0.01 for case in exam.cases if case not in blind)


@pytest.mark.parametrize("kind", cases.TABLES)
def test_the_distances_follow_from_how_the_table_was_made(kind):
    for seed in range(10):
        table, known = cases.known_table(kind, np.random.default_rng(seed), 7 + seed % 3, 6)
        assert reference.consistent_distances(torch.from_numpy(table)) == known


@pytest.mark.parametrize("seed", range(20))
def test_the_sizes_of_the_module_are_told_apart(seed):
    """The batch, the length, the size and the limit differ, but where a case is about that."""
    made = make_exam(MODULE, seed).cases
    alike = [case for case in made if len({*case.arguments["x"].shape}) < 3]
    assert not alike
    assert sum(bool(case.refused) for case in made) == 2
    assert sum(case.arguments["x"].shape[1] == case.settings["max_len"] for case in made) == 1
    assert sum(case.arguments["x"].shape[0] > case.settings["max_len"] for case in made) == 1
    assert {case.dtype for case in made} == {"float16", "float32", "float64"}
    assert sum(case.cotangent is not None for case in made) == 2


# --- the edge of the table -------------------------------------------------------------------


class AlwaysRefuses(Positional):
    def refuse(self, x):
        raise ValueError(f"{x.shape[1]} positions, at most {len(self.pe)}")


class Unfinished(Positional):
    def refuse(self, x):
        if x.shape[1] > len(self.pe):
            raise NotImplementedError


def test_to_refuse_everything_is_worth_nothing():
    result = grade(MODULE, AlwaysRefuses)
    assert (result.score, result.misconception) == (0.0, None)
    exam = make_exam(MODULE, 0)
    outcomes = [run_case(exam.task, AlwaysRefuses, case) for case in exam.cases]
    number = next(n for n, case in enumerate(exam.cases) if case.refused)
    assert find_fault(exam, number, outcomes).kind == "always-refused"


def test_the_stubs_own_error_is_no_value_error():
    result = grade(MODULE, Unfinished)
    assert result.passed == result.total - 2


# --- forged results --------------------------------------------------------------------------


@pytest.mark.parametrize("trainable", [[1], 3, None, "weight", {"weight": 2}])
def test_names_that_are_none_are_turned_away(trainable):
    outcome = Outcome(**{**Outcome().as_plain(), "trainable": trainable})
    assert not outcome.is_well_formed()
