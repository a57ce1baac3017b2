"""The assignment "positions": its answers against the package, and what its checks say."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from tests.checks.material import positions as material
from transformer_checks import grade
from transformer_checks import positions as reference
from transformer_checks.assignments.positions import cases, properties
from transformer_checks.judging.exam import make_exam
from transformer_checks.judging.faults import find_fault
from transformer_checks.running.asking import run_case
from transformer_checks.task import Case, Outcome
from transformer_ref import positions as package

FREQUENCIES = "positions.frequencies"
TABLE = "positions.sinusoidal_encoding"
SHIFT = "positions.shift_matrix"
MODULE = "positions.PositionalEncoding"
BUG = "positions.find_the_bug"
EFFECT = "positions.order_effect"
DISTANCES = "positions.consistent_distances"
ALL = (FREQUENCIES, TABLE, SHIFT, MODULE, BUG, EFFECT, DISTANCES)

# Answers that are right, and not the reference's, which may not be called.


def frequencies(d_model):
    return 10_000.0 ** (-torch.arange(0, d_model, 2) / d_model)


def table(num_positions, d_model):
    angles = torch.arange(num_positions)[:, None] * frequencies(d_model)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


def shift(offset, d_model):
    angles = offset * frequencies(d_model)
    cosine, sine = angles.cos(), angles.sin()
    return torch.block_diag(*torch.stack((cosine, sine, -sine, cosine), -1).view(-1, 2, 2))


class Positional(nn.Module):
    def __init__(self, d_model, max_len, dropout):
        super().__init__()
        self.register_buffer("pe", table(max_len, d_model))
        self.dropout = nn.Dropout(dropout)

    def refuse(self, x):
        if x.shape[1] > len(self.pe):
            raise ValueError(f"x has {x.shape[1]} positions, max_len is {len(self.pe)}")

    def forward(self, x):
        self.refuse(x)
        return self.dropout(x + self.pe[: x.shape[1]])


def encode(positions, d_model):
    angles = positions.unsqueeze(-1) * frequencies(d_model).to(positions.device)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)


def effect(model, x, order):
    return nn.functional.mse_loss(model(x[:, order]), model(x)[:, order]).item()


def distances(table):
    ks = range(len(table) - 1)
    scores = [(table[: len(table) - k] * table[k:]).sum(-1) for k in ks]
    return [k for k in ks if (scores[k] - scores[k][0]).abs().max() < 1e-3]


ANSWERS = {
    FREQUENCIES: frequencies,
    TABLE: table,
    SHIFT: shift,
    MODULE: Positional,
    BUG: encode,
    EFFECT: effect,
    DISTANCES: distances,
}


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


@pytest.mark.parametrize("task", ALL)
def test_an_answer_in_float32_is_right(task):
    result = grade(task, ANSWERS[task])
    assert result.score == 1.0, result.message


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


class Unchecked(Positional):
    def refuse(self, x):
        """Leave it to the sum."""


class AnotherError(Positional):
    def refuse(self, x):
        if x.shape[1] > len(self.pe):
            raise RuntimeError("too long")


class ErrorOfItsOwn(Positional):
    def refuse(self, x):
        class TooLongError(ValueError):
            pass

        if x.shape[1] > len(self.pe):
            raise TooLongError(x.shape, len(self.pe))


class AlwaysRefuses(Positional):
    def refuse(self, x):
        raise ValueError("no")


class Unfinished(Positional):
    def refuse(self, x):
        if x.shape[1] > len(self.pe):
            raise NotImplementedError


def test_another_error_is_told_from_a_value_error():
    for answer in (Unchecked, AnotherError):
        result = grade(MODULE, answer)
        assert result.misconception == "other-error"
        assert result.passed == result.total - 2
        assert "expected a ValueError, because x has" in result.message
        assert "; it raised RuntimeError: " in result.message


def test_no_error_is_told():
    class Shortens(Unchecked):
        def forward(self, x):
            return super().forward(x[:, : len(self.pe)])

    result = grade(MODULE, Shortens)
    assert result.misconception == "cut-off-in-silence"
    assert "; no error was raised" in result.message


def test_a_kind_of_value_error_is_a_value_error():
    assert grade(MODULE, ErrorOfItsOwn).score == 1.0


def test_to_refuse_everything_is_worth_nothing():
    result = grade(MODULE, AlwaysRefuses)
    assert (result.score, result.misconception) == (0.0, None)
    exam = make_exam(MODULE, 0)
    outcomes = [run_case(exam.task, AlwaysRefuses, case) for case in exam.cases]
    number = next(n for n, case in enumerate(exam.cases) if case.refused)
    assert "raises in every case" in find_fault(exam, number, outcomes)


def test_the_stubs_own_error_is_no_value_error():
    result = grade(MODULE, Unfinished)
    assert result.passed == result.total - 2


# --- what is told ----------------------------------------------------------------------------


class Parameter(Positional):
    def __init__(self, d_model, max_len, dropout):
        super().__init__(d_model, max_len, dropout)
        self.weight = nn.Parameter(torch.zeros(d_model))


class Shuffled(Positional):
    def forward(self, x):
        self.refuse(x)
        rows = torch.stack([self.pe[: x.shape[1]].roll(n, 0) for n in range(len(x))])
        return self.dropout(x + rows)


class DropsHalf(Positional):
    def forward(self, x):
        self.refuse(x)
        half = x.shape[2] // 2
        total = x + self.pe[: x.shape[1]]
        return torch.cat([self.dropout(total[..., :half]), total[..., half:]], dim=-1)


@pytest.mark.parametrize(
    ("task", "answer", "said"),
    [
        (FREQUENCIES, lambda d_model: 2 * frequencies(d_model), "that of i = 0, should be 1; here"),
        (FREQUENCIES, lambda d_model: frequencies(d_model) ** 0, "fall from pair to pair"),
        (FREQUENCIES, lambda d_model: 1 - frequencies(d_model).flip(0), "of i = 0, should be 1"),
        (FREQUENCIES, lambda d_model: 2 - 1 / frequencies(d_model), "should be above 0; here"),
        (FREQUENCIES, lambda d_model: frequencies(d_model).long(), "expected a floating dtype, re"),
        (TABLE, lambda *sizes: table(*sizes) + 1, "at position 0 all angles are 0"),
        (TABLE, lambda *sizes: table(*sizes).round(), "columns 0 and 1 should be the sine and"),
        (TABLE, lambda *sizes: table(*sizes).long(), "expected dtype float32, received int64"),
        (SHIFT, lambda *sizes: 2 * shift(*sizes), "M_k @ PE(p) should be PE(p + k); for k = 1 and"),
        (SHIFT, lambda *sizes: shift(*sizes) * math.nan, "holds NaN"),
        (MODULE, Parameter, "training would change `weight`, which is a parameter of the module"),
        (MODULE, Shuffled, "what is added to the first sequence of the batch is not"),
        (MODULE, DropsHalf, "dropout is applied to the sum; here the result holds"),
        (
            BUG,
            lambda positions, d_model: encode(positions, d_model) * 0.9,
            "position 0 has [0, 0.9",
        ),
        (EFFECT, lambda *given: max(effect(*given), 0.01), "effect should be 0; here it is 0.01"),
        (DISTANCES, lambda table: torch.tensor([0]), "is a tensor of shape (1,), expected list"),
    ],
)
def test_a_wrong_answer_is_told_in_words(task, answer, said):
    result = grade(task, answer)
    assert said in result.message
    assert result.score < 1.0


def test_a_trained_table_is_worth_part_of_the_points():
    class Trained(Positional):
        def __init__(self, d_model, max_len, dropout):
            super().__init__(d_model, max_len, dropout)
            self.pe = nn.Parameter(self._buffers.pop("pe"))

    result = grade(MODULE, Trained)
    assert (result.score, result.misconception) == (0.5, "table-is-trained")
    assert "training would change `pe`" in result.message


def test_the_first_line_of_a_mistake_does_not_give_the_bug_away():
    message = grade(BUG, material.bug_as_given).message
    assert message.startswith("positions.find_the_bug: 0 of ")
    assert "Likely mistake: the bug is still in it." in message
    assert "10000" not in message.split("First failing case")[0]


def test_frequencies_that_do_not_fall_evenly_are_told():
    said = properties.falls_evenly(Case("", {}), {"frequencies": 1 / np.arange(1, 4)})
    assert said is not None
    assert "by the same factor; here by factors from 0.5 to 0.6667" in said


# --- what may and may not be called ----------------------------------------------------------


class Inherits(package.SinusoidalPositions):
    pass


class Holds(nn.Module):
    def __init__(self, d_model, max_len, dropout):
        super().__init__()
        self.inner = package.make_positions("sinusoidal", d_model, max_len, dropout)

    def forward(self, x):
        return self.inner(x)


@pytest.mark.parametrize(
    ("task", "answer", "name"),
    [
        (FREQUENCIES, package.frequencies, "positions.frequencies"),
        (
            FREQUENCIES,
            lambda d_model: package.sinusoidal_encoding(2, d_model)[1, ::2].asin(),
            "positions.frequencies",
        ),
        (TABLE, package.sinusoidal_encoding, "positions.sinusoidal_encoding"),
        (
            TABLE,
            lambda num_positions, d_model: (
                package.SinusoidalPositions(d_model, num_positions).table
            ),
            "positions.SinusoidalPositions",
        ),
        (SHIFT, package.shift_matrix, "positions.shift_matrix"),
        (MODULE, package.SinusoidalPositions, "positions.SinusoidalPositions"),
        (MODULE, Inherits, "positions.SinusoidalPositions"),
        (MODULE, Holds, "positions.SinusoidalPositions"),
        (BUG, reference.encode_positions, "checks.positions.encode_positions"),
        (
            BUG,
            lambda positions, d_model: package.sinusoidal_encoding(5000, d_model)[positions],
            "positions.sinusoidal_encoding",
        ),
        (EFFECT, reference.order_effect, "checks.positions.order_effect"),
        (DISTANCES, reference.consistent_distances, "checks.positions.consistent_distances"),
    ],
)
def test_the_piece_itself_is_refused(task, answer, name):
    result = grade(task, answer)
    assert (result.score, result.misconception) == (0.0, None)
    assert f"{name}, which this task asks you to do without" in result.message


def test_pieces_of_earlier_tasks_are_welcome():
    def with_frequencies(num_positions, d_model):
        angles = torch.arange(num_positions)[:, None] * package.frequencies(d_model)
        return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1).float()

    assert grade(TABLE, with_frequencies).score == 1.0


# --- forged results --------------------------------------------------------------------------


@pytest.mark.parametrize("trainable", [[1], 3, None, "weight", {"weight": 2}])
def test_names_that_are_none_are_turned_away(trainable):
    outcome = Outcome(**{**Outcome().as_plain(), "trainable": trainable})
    assert not outcome.is_well_formed()


@pytest.mark.parametrize("fault", ["refused", "returned", "built", "raised", "unsolved", "x"])
def test_a_forged_fault_is_worth_nothing(fault):
    for key in ALL:
        exam = make_exam(key, 0)
        outcomes = [Outcome(fault=fault)] * len(exam.cases)
        assert all(find_fault(exam, number, outcomes) for number in range(len(outcomes)))
