"""Wrong answers to the tasks on positions."""

import math

import torch
from torch import nn

from tests.checks.material.unlisted import wrong
from transformer_ref import positions as reference


@wrong("positions.frequencies", "10000 ** (2i / D): the minus is missing")
def frequencies_1(d_model):
    return 10000.0 ** (torch.arange(0, d_model, 2) / d_model)


@wrong("positions.frequencies", "-arange(D / 2) / D: 2i has lost its 2")
def frequencies_2(d_model):
    return 10000.0 ** (-torch.arange(d_model // 2) / d_model)


@wrong("positions.frequencies", "arange(0, D, 2) * 2: the 2 is there twice")
def frequencies_3(d_model):
    return 10000.0 ** (-2 * torch.arange(0, d_model, 2) / d_model)


@wrong("positions.frequencies", "arange(d_model): a number for each feature and not each hand")
def frequencies_4(d_model):
    return 10000.0 ** (-torch.arange(d_model) / d_model)


@wrong("positions.frequencies", "// d_model: the exponents are whole numbers")
def frequencies_5(d_model):
    return 10000.0 ** (-(torch.arange(0, d_model, 2) // d_model).float())


@wrong("positions.frequencies", "1000.0: one nought too few")
def frequencies_6(d_model):
    return 1000.0 ** (-torch.arange(0, d_model, 2) / d_model)


@wrong("positions.frequencies", "linspace(0, 1, D / 2): the last exponent is 1")
def frequencies_7(d_model):
    return 10000.0 ** -torch.linspace(0, 1, d_model // 2)


@wrong("positions.frequencies", "torch.exp without the logarithm of 10000")
def frequencies_8(d_model):
    return torch.exp(-torch.arange(0, d_model, 2) / d_model)


@wrong("positions.frequencies", "arange(1, D, 2): the exponents start from 1 / D")
def frequencies_9(d_model):
    return 10000.0 ** (-torch.arange(1, d_model, 2) / d_model)


@wrong("positions.frequencies", "a Python list is returned and not a tensor")
def frequencies_10(d_model):
    return [10000.0 ** (-2 * i / d_model) for i in range(d_model // 2)]


def angles_of(num_positions, d_model):
    """Return what each hand has turned by at each position."""
    return torch.outer(torch.arange(num_positions), reference.frequencies(d_model)).float()


@wrong("positions.sinusoidal_encoding", "cat([sin, cos]): all sines first")
def sinusoidal_encoding_1(num_positions, d_model):
    angles = angles_of(num_positions, d_model)
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


@wrong("positions.sinusoidal_encoding", "[:, 0::2] = cos and [:, 1::2] = sin: exchanged")
def sinusoidal_encoding_2(num_positions, d_model):
    angles = angles_of(num_positions, d_model)
    table = torch.zeros(num_positions, d_model)
    table[:, 0::2] = angles.cos()
    table[:, 1::2] = angles.sin()
    return table


@wrong("positions.sinusoidal_encoding", "arange(1, num_positions + 1): positions count from 1")
def sinusoidal_encoding_3(num_positions, d_model):
    positions = torch.arange(1, num_positions + 1)
    angles = torch.outer(positions, reference.frequencies(d_model)).float()
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


@wrong("positions.sinusoidal_encoding", "stack([cos, sin], dim=1): all cosines and then all sines")
def sinusoidal_encoding_4(num_positions, d_model):
    angles = angles_of(num_positions, d_model)
    return torch.stack([angles.cos(), angles.sin()], dim=1).flatten(1)


@wrong("positions.sinusoidal_encoding", "the cosine has an angle of its own, w of 2i + 1")
def sinusoidal_encoding_5(num_positions, d_model):
    positions = torch.arange(num_positions).unsqueeze(1)
    rates = 10000.0 ** (-torch.arange(d_model) / d_model)
    angles = positions * rates
    table = torch.zeros(num_positions, d_model)
    table[:, 0::2] = angles[:, 0::2].sin()
    table[:, 1::2] = angles[:, 1::2].cos()
    return table


@wrong("positions.sinusoidal_encoding", "[:, 1::2] is never filled: the cosines stay 0")
def sinusoidal_encoding_6(num_positions, d_model):
    table = torch.zeros(num_positions, d_model)
    table[:, 0::2] = angles_of(num_positions, d_model).sin()
    return table


@wrong("positions.sinusoidal_encoding", "table[0::2] = sin: rows and not columns; torch raises")
def sinusoidal_encoding_7(num_positions, d_model):
    angles = angles_of(num_positions, d_model)
    table = torch.zeros(num_positions, d_model)
    table[0::2] = angles.sin()
    table[1::2] = angles.cos()
    return table


@wrong("positions.sinusoidal_encoding", "positions / frequencies: the slow hands are fast")
def sinusoidal_encoding_8(num_positions, d_model):
    angles = torch.arange(num_positions).unsqueeze(1) / reference.frequencies(d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).float()


@wrong("positions.sinusoidal_encoding", "torch.deg2rad(angles): degrees in the place of radians")
def sinusoidal_encoding_9(num_positions, d_model):
    angles = torch.deg2rad(angles_of(num_positions, d_model))
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


@wrong("positions.sinusoidal_encoding", ".double(): the table is float64")
def sinusoidal_encoding_10(num_positions, d_model):
    angles = angles_of(num_positions, d_model).double()
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


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


@wrong("positions.PositionalEncoding", "x.shape[0]: the batch is taken for the length")
class PositionalEncoding1(Parts):
    def forward(self, x):
        self.check(x.shape[0])
        return self.dropout(x + self.table[: x.shape[0]].unsqueeze(1).to(x.dtype))


@wrong("positions.PositionalEncoding", "nn.Parameter(table): the table is trained")
class PositionalEncoding2(Parts):
    def __init__(self, d_model, max_len, dropout):
        nn.Module.__init__(self)
        self.max_len = max_len
        self.dropout = nn.Dropout(dropout)
        self.table = nn.Parameter(reference.sinusoidal_encoding(max_len, d_model))

    def forward(self, x):
        self.check(x.shape[1])
        return self.dropout(x + self.table[: x.shape[1]].to(x.dtype))


@wrong("positions.PositionalEncoding", "table[x.shape[1] - 1]: one row for all tokens")
class PositionalEncoding3(Parts):
    def forward(self, x):
        self.check(x.shape[1])
        return self.dropout(x + self.table[x.shape[1] - 1].to(x.dtype))


@wrong("positions.PositionalEncoding", ">= max_len: a sequence of max_len tokens is refused")
class PositionalEncoding4(Parts):
    def forward(self, x):
        if x.shape[1] >= self.max_len:
            raise ValueError(f"{x.shape[1]} tokens, and {self.max_len} is the limit")
        return self.dropout(x + self.table[: x.shape[1]].to(x.dtype))


@wrong("positions.PositionalEncoding", "x + dropout(table): only the positions are dropped")
class PositionalEncoding5(Parts):
    def forward(self, x):
        self.check(x.shape[1])
        return x + self.dropout(self.table[: x.shape[1]].to(x.dtype))


@wrong("positions.PositionalEncoding", "x * sqrt(D): the factor belongs to the embedding")
class PositionalEncoding6(Parts):
    def forward(self, x):
        self.check(x.shape[1])
        return self.dropout(x * math.sqrt(x.shape[-1]) + self.table[: x.shape[1]].to(x.dtype))


@wrong("positions.PositionalEncoding", "x += table: the caller's tensor is changed")
class PositionalEncoding7(Parts):
    def forward(self, x):
        self.check(x.shape[1])
        x += self.table[: x.shape[1]].to(x.dtype)
        return self.dropout(x)


@wrong("positions.PositionalEncoding", "nn.Dropout(1 - dropout): what is kept for what is dropped")
class PositionalEncoding8(Parts):
    def __init__(self, d_model, max_len, dropout):
        super().__init__(d_model, max_len, dropout)
        self.dropout = nn.Dropout(1 - dropout)

    def forward(self, x):
        self.check(x.shape[1])
        return self.dropout(x + self.table[: x.shape[1]].to(x.dtype))


@wrong("positions.PositionalEncoding", "IndexError in the place of a ValueError")
class PositionalEncoding9(Parts):
    def forward(self, x):
        if x.shape[1] > self.max_len:
            raise IndexError("the sequence is too long")
        return self.dropout(x + self.table[: x.shape[1]].to(x.dtype))


@wrong("positions.PositionalEncoding", "F.dropout(..., 0.1, training=True): dropped in eval too")
class PositionalEncoding10(Parts):
    def __init__(self, d_model, max_len, dropout):
        super().__init__(d_model, max_len, dropout)
        self.rate = dropout

    def forward(self, x):
        self.check(x.shape[1])
        summed = x + self.table[: x.shape[1]].to(x.dtype)
        return nn.functional.dropout(summed, self.rate, training=True)
