"""The answers to the tasks of the assignment "positions": the text of the solution's cells.

A mistake is a change to one of them.
"""

# mypy: disable-error-code="union-attr, index"

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from transformer_ref import positions as reference


def frequencies(d_model: int) -> Tensor:
    """Say by which angle each hand turns at one step.

    Args:
        d_model: D, even.

    Returns:
        (D/2,) float32 or float64: 10000^(-2i/D) for i = 0 .. D/2 - 1.
    """
    twice_i = torch.arange(0, d_model, 2, dtype=torch.float64)
    return 10_000.0 ** (-twice_i / d_model)


def sinusoidal_encoding(num_positions: int, d_model: int) -> Tensor:
    """Make the table of sinusoidal position encodings.

    Args:
        num_positions: rows, for positions 0 .. num_positions - 1.
        d_model: D, even.

    Returns:
        (num_positions, D) float32: column 2i is sin(pos * w_i) and column
        2i + 1 is cos(pos * w_i), with w_i = 10000^(-2i/D).
    """
    positions = torch.arange(num_positions, dtype=torch.float64)
    angles = torch.outer(positions, reference.frequencies(d_model))
    table = torch.empty(num_positions, d_model)
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles.cos()
    return table


def shift_matrix(offset: int, d_model: int) -> Tensor:
    """Make the matrix that moves every encoding on by `offset` positions.

    Args:
        offset: k, any whole number, negative too.
        d_model: D, even.

    Returns:
        (D, D) float32 or float64: M_k with PE(p + k) = M_k @ PE(p) for
        column vectors, at every position p.
    """
    blocks = []
    for omega in reference.frequencies(d_model).tolist():
        cosine, sine = math.cos(offset * omega), math.sin(offset * omega)
        blocks.append(torch.tensor([[cosine, sine], [-sine, cosine]]))
    return torch.block_diag(*blocks)


class PositionalEncoding(nn.Module):
    """Add the sinusoidal encoding to a sequence, then apply dropout.

    Args:
        d_model: D, even.
        max_len: the longest sequence that may come.
        dropout: rate of the dropout on the sum.

    Nothing in it is trained.
    """

    def __init__(self, d_model: int, max_len: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        table = reference.sinusoidal_encoding(max_len, d_model)
        self.register_buffer("table", table, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Add the positions 0 .. T - 1.

        Args:
            x: (B, T, D), floating point.

        Returns:
            (B, T, D) in the dtype of `x`: dropout(x + PE), without a
            factor.

        Raises:
            ValueError: if T is above `max_len`.
        """
        length, max_len = x.shape[1], self.table.shape[0]
        if length > max_len:
            raise ValueError(f"x has {length} positions, max_len is {max_len}")
        return self.dropout(x + self.table[:length].to(x.dtype))


def read_positions(encodings: Tensor) -> Tensor:
    """Read positions off their encodings, rounded to three decimals.

    Args:
        encodings: (..., D), float32 or float64, D even: the sinusoidal
            encoding of one position along the last axis.

    Returns:
        (...) float32 or float64: the positions, whole or not, to 0.005.
    """
    omegas = reference.frequencies(encodings.shape[-1]).tolist()
    angles = torch.atan2(encodings[..., 0::2], encodings[..., 1::2])  # (..., D/2)
    positions = angles[..., -1] % (2 * math.pi) / omegas[-1]  # by the slowest
    for i in reversed(range(len(omegas) - 1)):  # each is faster than the last
        rounds = ((positions * omegas[i] - angles[..., i]) / (2 * math.pi)).round()
        positions = (angles[..., i] + rounds * 2 * math.pi) / omegas[i]
    return positions


def encode_positions(positions: Tensor, d_model: int) -> Tensor:
    """Encode positions in any order, as above and without the bug.

    Args:
        positions: (...) int64, of any shape, from 0 up.
        d_model: D, even.

    Returns:
        (..., D) float32: feature 2i is sin(pos * w_i) and feature 2i + 1 is
        cos(pos * w_i), with w_i = 10000^(-2i/D).
    """
    exponents = torch.arange(0, d_model, 2, device=positions.device) / d_model
    angles = positions.unsqueeze(-1) / 10_000**exponents  # the power first
    pairs = torch.stack([angles.sin(), angles.cos()], dim=-1)
    return pairs.flatten(start_dim=-2)


def encode_positions_in_float64(positions: Tensor, d_model: int) -> Tensor:
    """Encode positions as `encode_positions`, with angles that are exact far out too.

    Args:
        positions: (...) int64.
        d_model: D, even.

    Returns:
        (..., D) float32.
    """
    exponents = torch.arange(0, d_model, 2, dtype=torch.float64, device=positions.device) / d_model
    angles = positions.unsqueeze(-1) / 10_000**exponents
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).float()


def order_effect(
    model: Callable[[Tensor], Tensor],
    x: Tensor,
    order: Tensor,
) -> float:
    """Measure how much a token's output depends on the order of the tokens.

    Args:
        model: takes (B, T, D) and returns (B, T, D); it is left as it was.
        x: (B, T, D), floating point.
        order: (T,) int64, a permutation: token order[t] is moved to
            position t.

    Returns:
        the mean, over all numbers of the output, of the squared difference
        between what a token gets in the new order and in the old one.
    """
    plain = model(x)
    moved = model(x[:, order])
    back = moved[:, order.argsort()]  # each token to where it came from
    return (back - plain).square().mean().item()


def consistent_distances(table: Tensor) -> list[int]:
    """List the distances at which every two positions have the same score.

    Args:
        table: (L, D), floating point: row p is the vector of position p; L
            is 3 or more.

    Returns:
        in rising order, each k of 0 .. L - 2 for which the dot products of
        rows p and p + k are the same for all p: they differ by less than
        0.001.
    """
    scores = table @ table.T
    found = []
    for k in range(len(table) - 1):
        same_distance = scores.diagonal(k)  # the scores of p and p + k
        if same_distance.max() - same_distance.min() < 0.001:
            found.append(k)
    return found
