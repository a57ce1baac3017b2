"""Wrong answers to the tasks on sequences."""

import torch

from tests.checks.material.unlisted import wrong


@wrong("sequences.unroll", "tanh on x only: the state grows without a bound")
def unroll_10(x, hidden, weight_x, weight_h, bias):
    states = []
    for t in range(x.shape[1]):
        hidden = torch.tanh(x[:, t] @ weight_x.T + bias) + hidden @ weight_h.T
        states.append(hidden)
    return torch.stack(states, dim=1)
