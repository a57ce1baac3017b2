"""Positions: the table to full float32 precision, shifts, and the two modules."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from transformer_ref import (
    LearnedPositions,
    SinusoidalPositions,
    frequencies,
    shift_matrix,
    sinusoidal_encoding,
)
from transformer_ref.positions import make_positions


def closed_form(position: int, d_model: int) -> np.ndarray:
    """Row `position` of the table in float64, value by value as the paper's formula has it."""
    row = np.empty(d_model)
    for i in range(d_model // 2):
        angle = position / math.pow(10_000.0, 2 * i / d_model)
        row[2 * i], row[2 * i + 1] = math.sin(angle), math.cos(angle)
    return row


def common_recipe(num_positions: int, d_model: int) -> torch.Tensor:
    """The table as most code has it: angles in float32."""
    position = torch.arange(num_positions).unsqueeze(1)
    divisor = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10_000.0) / d_model))
    table = torch.empty(num_positions, d_model)
    table[:, 0::2], table[:, 1::2] = torch.sin(position * divisor), torch.cos(position * divisor)
    return table


@pytest.mark.parametrize("d_model", [2, 12, 512])
@pytest.mark.parametrize("position", [0, 1, 511, 5_000])
def test_table_is_exact_to_float32(d_model: int, position: int) -> None:
    table = sinusoidal_encoding(5_001, d_model)
    assert table.dtype == torch.float32
    assert table.shape == (5_001, d_model)
    error = np.abs(table[position].double().numpy() - closed_form(position, d_model)).max()
    assert error <= 6e-8


def test_the_usual_float32_recipe_would_not_pass() -> None:
    error = np.abs(common_recipe(5_001, 512)[5_000].double().numpy() - closed_form(5_000, 512))
    assert error.max() > 1e-4


def test_frequencies_fall_from_one_to_nearly_a_ten_thousandth() -> None:
    w = frequencies(512)
    assert w.dtype == torch.float64
    assert w.shape == (256,)
    assert w[0] == 1.0
    assert w[-1].item() == pytest.approx(10_000 ** (-510 / 512), rel=1e-14)
    assert torch.all(w.diff() < 0)


@pytest.mark.parametrize("offset", [0, 1, 37, -1, -25])
@pytest.mark.parametrize("d_model", [2, 12])
def test_shift_matrix_moves_every_position(offset: int, d_model: int) -> None:
    matrix = shift_matrix(offset, d_model)
    assert matrix.dtype == torch.float64
    for position in (25, 40, 1_000):
        start = torch.from_numpy(closed_form(position, d_model))
        expected = torch.from_numpy(closed_form(position + offset, d_model))
        torch.testing.assert_close(matrix @ start, expected, rtol=0, atol=1e-12)


def test_shifts_add_up() -> None:
    torch.testing.assert_close(shift_matrix(3, 8) @ shift_matrix(-5, 8), shift_matrix(-2, 8))
    torch.testing.assert_close(shift_matrix(0, 8), torch.eye(8, dtype=torch.float64))


@pytest.mark.parametrize("kind", [SinusoidalPositions, LearnedPositions])
class TestModules:
    """What both kinds of positions share."""

    def test_adds_the_rows_from_offset_on(self, device: torch.device, kind: type) -> None:
        positions = kind(8, max_len=10).to(device)
        table = positions.table if kind is SinusoidalPositions else positions.weight
        x = torch.randn(2, 4, 8, device=device)
        torch.testing.assert_close(positions(x), x + table[:4])
        torch.testing.assert_close(positions(x, offset=3), x + table[3:7])
        assert not torch.allclose(table[0], table[1])

    def test_the_whole_table_may_be_used(self, device: torch.device, kind: type) -> None:
        positions = kind(8, max_len=10).to(device)
        assert positions(torch.zeros(1, 10, 8, device=device)).shape == (1, 10, 8)
        assert positions(torch.zeros(1, 4, 8, device=device), offset=6).shape == (1, 4, 8)

    def test_dropout_acts_on_the_sum_in_training(self, device: torch.device, kind: type) -> None:
        positions = kind(8, max_len=10, dropout=0.5).to(device)
        x = torch.ones(4, 10, 8, device=device)
        dropped = positions.train()(x)
        kept = dropped != 0
        assert 0.3 < kept.float().mean().item() < 0.7
        torch.testing.assert_close(dropped[kept], 2 * positions.eval()(x)[kept])

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
    def test_keeps_the_dtype(self, device: torch.device, kind: type, dtype: torch.dtype) -> None:
        positions = kind(8, max_len=10).to(device, dtype)
        assert positions(torch.zeros(2, 3, 8, dtype=dtype, device=device)).dtype == dtype


def test_sinusoids_follow_the_dtype_of_the_input() -> None:
    x = torch.zeros(1, 3, 8, dtype=torch.bfloat16)
    assert SinusoidalPositions(8, max_len=10)(x).dtype == torch.bfloat16


def test_sinusoids_have_nothing_to_train_or_save() -> None:
    positions = SinusoidalPositions(8, max_len=10)
    assert list(positions.parameters()) == []
    assert positions.state_dict() == {}


def test_learned_positions_start_small_and_are_trained(device: torch.device) -> None:
    positions = LearnedPositions(512, max_len=100).to(device)
    assert positions.weight.std().item() == pytest.approx(0.02, rel=0.05)
    positions(torch.zeros(1, 7, 512, device=device)).sum().backward()
    assert torch.all(positions.weight.grad[:7] == 1)
    assert torch.all(positions.weight.grad[7:] == 0)


def test_the_module_that_a_config_names() -> None:
    assert isinstance(make_positions("sinusoidal", 4, 7), SinusoidalPositions)
    learned = make_positions("learned", 4, 7, dropout=0.25)
    assert isinstance(learned, LearnedPositions)
    assert (learned.max_len, learned.dropout.p) == (7, 0.25)
    assert make_positions("learned", 4, 7).dropout.p == 0.0
