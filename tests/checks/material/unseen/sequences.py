"""Wrong answers to the tasks of sequences, as beginners write them."""

import torch

from tests.checks.material.unseen import wrong


@wrong("sequences.unroll", "the loop of the chapter, which walks along the batch")
def _(x, hidden, weight_x, weight_h, bias):
    h, states = torch.zeros(len(bias), dtype=x.dtype), []
    for token in x:
        h = torch.tanh(token @ weight_x.T + h @ weight_h.T + bias)
        states.append(h)
    return torch.stack(states)


@wrong("sequences.unroll", "a fresh state of zeros", "starts-from-zero")
def _(x, hidden, weight_x, weight_h, bias):
    h, states = torch.zeros(x.shape[0], len(bias), dtype=x.dtype), []
    for t in range(x.shape[1]):
        h = torch.tanh(x[:, t] @ weight_x.T + h @ weight_h.T + bias)
        states.append(h)
    return torch.stack(states, dim=1)


@wrong(
    "sequences.unroll",
    "the new state has a name that the next step does not read",
    relation="error",
)
def _(x, hidden, weight_x, weight_h, bias):
    out = []
    for t in range(x.size(1)):
        new = torch.tanh(x[:, t] @ weight_x + hidden @ weight_h + bias)
        out.append(new)
    return torch.stack(out, 1)


@wrong("sequences.additive_attention", "no axis for the states", "query-of-another-sequence")
def _(query, states, weight_query, weight_states, vector, mask):
    scores = torch.tanh(query @ weight_query.T + states @ weight_states.T) @ vector
    weights = torch.softmax(scores.masked_fill(mask == 0, -1e9), dim=-1)
    return torch.sum(weights.unsqueeze(-1) * states, dim=1), weights


@wrong("sequences.unroll", "tanh on x only: the state grows without a bound", None)
def unroll_10(x, hidden, weight_x, weight_h, bias):
    states = []
    for t in range(x.shape[1]):
        hidden = torch.tanh(x[:, t] @ weight_x.T + bias) + hidden @ weight_h.T
        states.append(hidden)
    return torch.stack(states, dim=1)
