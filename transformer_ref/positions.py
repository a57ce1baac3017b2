"""Positions: what tells attention, which sees a set, where each token stands.

Source: Vaswani et al. 2017, section 3.5.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from transformer_ref._validate import (
    require_at_least_one,
    require_choice,
    require_hidden,
    require_integer,
    require_probability,
)

Positions = Literal["sinusoidal", "learned"]


def frequencies(d_model: int) -> Tensor:
    """Angular frequencies of the sinusoidal encoding, in radians a position.

    Args:
        d_model: D, even.

    Returns:
        (D/2,) float64: 10000^(-2i/D) for i = 0 .. D/2 - 1, from 1 down to nearly 1/10000.

    Raises:
        ValueError: if `d_model` is below 1 or odd: a sine without its cosine cannot be shifted.
    """
    require_at_least_one(d_model=d_model)
    if d_model % 2:
        raise ValueError(f"d_model must be even (pairs of sine and cosine), got {d_model}")
    return 10_000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)


def sinusoidal_encoding(num_positions: int, d_model: int) -> Tensor:
    """The table of sinusoidal position encodings.

    Angles are computed in float64 and only the finished sines are rounded:
    in float32 the angle at position 5,000 is already off by about 4e-4 radians.

    Args:
        num_positions: rows, positions 0 .. num_positions - 1.
        d_model: D, even.

    Returns:
        (num_positions, D) float32; column 2i is sin(pos * w_i), column 2i + 1 is cos(pos * w_i).

    Raises:
        ValueError: if `num_positions` is below 1 or `d_model` is odd.
    """
    require_at_least_one(num_positions=num_positions)
    angles = torch.outer(torch.arange(num_positions, dtype=torch.float64), frequencies(d_model))
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(start_dim=1).float()


def shift_matrix(offset: int, d_model: int) -> Tensor:
    """The linear map that moves every encoding by `offset` positions, whatever the position.

    Each (sin, cos) pair turns by its own angle, so M_k is block-diagonal with 2x2 rotations.

    Args:
        offset: k, any integer, negative too.
        d_model: D, even.

    Returns:
        (D, D) float64 with PE(pos + k) = M_k @ PE(pos) for column vectors.

    Raises:
        ValueError: if `offset` is no integer or `d_model` is odd.
    """
    require_integer(offset=offset)
    angles = offset * frequencies(d_model)
    sine, cosine = angles.sin(), angles.cos()
    rotations = torch.stack((cosine, sine, -sine, cosine), dim=-1).view(-1, 2, 2)
    return torch.block_diag(*rotations)


def _require_room(length: int, offset: int, max_len: int) -> None:
    if offset < 0 or offset + length > max_len:
        raise ValueError(
            f"the input needs positions {offset}..{offset + length - 1}, "
            f"but max_len = {max_len} allows only 0..{max_len - 1}"
        )


class SinusoidalPositions(nn.Module):
    """Add the fixed sinusoidal encoding to a sequence of embeddings, then apply dropout.

    Args:
        d_model: D, even.
        max_len: the longest sequence that may come.
        dropout: rate, applied to the sum (Vaswani et al. 2017, section 5.4).

    Raises:
        ValueError: on an odd `d_model`, a `max_len` below 1 or a rate outside [0, 1).
    """

    table: Tensor

    def __init__(self, d_model: int, max_len: int, dropout: float = 0.0) -> None:
        super().__init__()
        require_at_least_one(max_len=max_len)
        require_probability(dropout=dropout)
        self.max_len = max_len
        self.dropout = nn.Dropout(dropout)
        # Not saved with the weights: it can always be made again.
        self.register_buffer("table", sinusoidal_encoding(max_len, d_model), persistent=False)

    def reset_parameters(self) -> None:
        """Compute the table again, as after ``to_empty``; loading a state does so by itself.

        A table on "meta" comes to the device on which torch makes tensors, the CPU mostly.
        """
        table = sinusoidal_encoding(*self.table.shape).to(self.table.dtype)
        self.table = table if self.table.is_meta else table.to(self.table.device)

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        self.reset_parameters()

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Add positions offset .. offset + T - 1.

        Args:
            x: (B, T, D) floating.
            offset: position of the first token; above 0 when earlier ones are cached.

        Returns:
            (B, T, D) in the dtype of `x`.

        Raises:
            ValueError: if `x` has another shape or dtype or reaches past `max_len`.
        """
        require_hidden("x", x, self.table, any_dtype=True)
        _require_room(x.shape[1], offset, self.max_len)
        return self.dropout(x + self.table[offset : offset + x.shape[1]].to(x.dtype))


class LearnedPositions(nn.Module):
    """Add a trained vector per position to a sequence of embeddings, then apply dropout.

    Args:
        d_model: D, the features of a vector.
        max_len: the longest sequence that may come; later positions have no vector.
        dropout: rate, applied to the sum.

    Raises:
        ValueError: on sizes below 1 or a rate outside [0, 1).

    Source: Gehring et al. 2017; Vaswani et al. 2017, table 3, row (E) finds nearly equal results.
    """

    def __init__(self, d_model: int, max_len: int, dropout: float = 0.0) -> None:
        super().__init__()
        require_at_least_one(d_model=d_model, max_len=max_len)
        require_probability(dropout=dropout)
        self.max_len = max_len
        self.dropout = nn.Dropout(dropout)
        self.weight = nn.Parameter(torch.empty(max_len, d_model))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Add positions offset .. offset + T - 1.

        Args:
            x: (B, T, D) floating.
            offset: position of the first token.

        Returns:
            (B, T, D).

        Raises:
            ValueError: if `x` has another shape or dtype or reaches past `max_len`.
        """
        require_hidden("x", x, self.weight)
        _require_room(x.shape[1], offset, self.max_len)
        return self.dropout(x + self.weight[offset : offset + x.shape[1]])


def make_positions(
    kind: Positions, d_model: int, max_len: int, dropout: float = 0.0
) -> SinusoidalPositions | LearnedPositions:
    """Make the module that a config names.

    Args:
        kind: "sinusoidal" or "learned".
        d_model: D, the features of a vector.
        max_len: the longest sequence that may come.
        dropout: rate, applied to the sum.

    Returns:
        A module that adds positions to (B, T, D).

    Raises:
        ValueError: on another `kind`, or as the module itself.
    """
    require_choice("positions", kind, ("sinusoidal", "learned"))
    module = SinusoidalPositions if kind == "sinusoidal" else LearnedPositions
    return module(d_model, max_len, dropout)
