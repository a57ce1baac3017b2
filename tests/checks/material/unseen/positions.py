"""Wrong answers to the tasks of positions, as beginners write them."""

import math

import torch
from torch import nn

from tests.checks.material.unseen import wrong
from transformer_ref import positions as reference


class _Table(nn.Module):
    def __init__(self, d_model, max_len, dropout):
        super().__init__()
        self.register_buffer("pe", reference.sinusoidal_encoding(max_len, d_model))
        self.dropout = nn.Dropout(dropout)

    def look(self, x):
        if x.shape[1] > self.pe.shape[0]:
            raise ValueError(f"{x.shape[1]} tokens, at most {self.pe.shape[0]}")


@wrong("positions.PositionalEncoding", "the positions run over the batch", "position-by-batch")
class _(_Table):
    def forward(self, x):
        self.look(x)
        return self.dropout(x + self.pe[: x.shape[0]].unsqueeze(1).to(x.dtype))


TURN = 2 * math.pi


def _read(angles, omega, start=None, rounds=torch.round):
    """Go from the slowest hand to the fastest, each correcting the last."""
    place = angles[..., -1] % TURN / omega[-1] if start is None else start
    for i in reversed(range(len(omega) - 1)):
        place = (
            angles[..., i] + TURN * rounds((place * omega[i] - angles[..., i]) / TURN)
        ) / omega[i]
    return place


def _hands(encodings):
    omega = reference.frequencies(encodings.shape[-1]).tolist()
    return torch.atan2(encodings[..., 0::2], encodings[..., 1::2]), omega


@wrong("positions.read_positions", "acos of the cosines", "half-a-circle")
def _(encodings):
    return _read(torch.acos(encodings[..., 1::2]), _hands(encodings)[1])


@wrong("positions.read_positions", "[:, 0::2]: two axes are taken for granted", "only-two-axes")
def _(encodings):
    angles = torch.atan2(encodings[:, 0::2], encodings[:, 1::2])
    return _read(angles, reference.frequencies(encodings.shape[1]).tolist())


@wrong("positions.read_positions", "the nearest row, then the fastest hand", "nearest-row")
def _(encodings):
    table = reference.sinusoidal_encoding(5000, encodings.shape[-1]).to(encodings.dtype)
    place = (encodings @ table.T).argmax(-1)
    angle = _hands(encodings)[0][..., 0]
    return angle + TURN * ((place - angle) / TURN).round()


@wrong(
    "positions.read_positions",
    "only the features of the slow half of the hands",
    "hands-left-out",
)
def _(encodings):
    angles, omega = _hands(encodings)
    half = len(omega) // 2
    return _read(angles[..., half:], omega[half:])


@wrong(
    "positions.find_the_bug", "the brackets moved to the denominator's product", "product-not-power"
)
def _(positions, d_model):
    exponents = torch.arange(0, d_model, 2, device=positions.device) / d_model
    angles = positions.unsqueeze(-1) / (10_000 * exponents)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(start_dim=-2)


@wrong("positions.find_the_bug", "multiplied instead of divided")
def _(positions, d_model):
    exponents = torch.arange(0, d_model, 2, device=positions.device) / d_model
    angles = positions.unsqueeze(-1) * 10_000**exponents
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(start_dim=-2)


@wrong("positions.find_the_bug", "cat instead of stack", "halves-side-by-side")
def _(positions, d_model):
    exponents = torch.arange(0, d_model, 2, device=positions.device) / d_model
    angles = positions.unsqueeze(-1) / 10_000**exponents
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


@wrong("positions.find_the_bug", "the positions are replaced by 0, 1, 2, ...", "positions-ignored")
def _(positions, d_model):
    exponents = torch.arange(0, d_model, 2, device=positions.device) / d_model
    places = torch.arange(positions.shape[-1], device=positions.device).expand_as(positions)
    angles = places.unsqueeze(-1) / 10_000**exponents
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(start_dim=-2)


def angles_of(num_positions, d_model):
    """Return what each hand has turned by at each position."""
    return torch.outer(torch.arange(num_positions), reference.frequencies(d_model)).float()


@wrong(
    "positions.sinusoidal_encoding", "table[0::2] = sin: rows and not columns; torch raises", None
)
def sinusoidal_encoding_7(num_positions, d_model):
    angles = angles_of(num_positions, d_model)
    table = torch.zeros(num_positions, d_model)
    table[0::2] = angles.sin()
    table[1::2] = angles.cos()
    return table


class Parts(nn.Module):
    """The parts as they should be; the classes below go wrong in one place."""

    def __init__(self, d_model, max_len, dropout):
        super().__init__()
        self.max_len = max_len
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("table", reference.sinusoidal_encoding(max_len, d_model))

    def check(self, length):
        """Refuse what is too long."""
        if length > self.max_len:
            raise ValueError(f"x has {length} tokens, and {self.max_len} is the limit")


@wrong("positions.PositionalEncoding", "x.shape[0]: the batch is taken for the length", None)
class PositionalEncoding1(Parts):
    def forward(self, x):
        self.check(x.shape[0])
        return self.dropout(x + self.table[: x.shape[0]].unsqueeze(1).to(x.dtype))
