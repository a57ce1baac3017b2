"""Wrong answers to the tasks on positions."""

import torch
from torch import nn

from tests.checks.material.unlisted import wrong
from transformer_ref import positions as reference


def angles_of(num_positions, d_model):
    """Return what each hand has turned by at each position."""
    return torch.outer(torch.arange(num_positions), reference.frequencies(d_model)).float()


@wrong("positions.sinusoidal_encoding", "table[0::2] = sin: rows and not columns; torch raises")
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


@wrong("positions.PositionalEncoding", "x.shape[0]: the batch is taken for the length")
class PositionalEncoding1(Parts):
    def forward(self, x):
        self.check(x.shape[0])
        return self.dropout(x + self.table[: x.shape[0]].unsqueeze(1).to(x.dtype))
