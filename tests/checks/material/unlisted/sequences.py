"""Wrong answers to the tasks on sequences."""

import torch

from tests.checks.material.unlisted import wrong


@wrong("sequences.unroll", "return hidden: the last state only")
def unroll_1(x, hidden, weight_x, weight_h, bias):
    for t in range(x.shape[1]):
        hidden = torch.tanh(x[:, t] @ weight_x.T + hidden @ weight_h.T + bias)
    return hidden


@wrong("sequences.unroll", "append before the step: the state before each token")
def unroll_2(x, hidden, weight_x, weight_h, bias):
    states = []
    for t in range(x.shape[1]):
        states.append(hidden)
        hidden = torch.tanh(x[:, t] @ weight_x.T + hidden @ weight_h.T + bias)
    return torch.stack(states, dim=1)


@wrong("sequences.unroll", "torch.zeros_like(hidden): the state that is given is not used")
def unroll_3(x, hidden, weight_x, weight_h, bias):
    hidden = torch.zeros_like(hidden)
    states = []
    for t in range(x.shape[1]):
        hidden = torch.tanh(x[:, t] @ weight_x.T + hidden @ weight_h.T + bias)
        states.append(hidden)
    return torch.stack(states, dim=1)


@wrong("sequences.unroll", "torch.stack(states): (T, B, N), the axes are exchanged")
def unroll_4(x, hidden, weight_x, weight_h, bias):
    states = []
    for t in range(x.shape[1]):
        hidden = torch.tanh(x[:, t] @ weight_x.T + hidden @ weight_h.T + bias)
        states.append(hidden)
    return torch.stack(states)


@wrong("sequences.unroll", "state = f(x, hidden): each step starts from the first state")
def unroll_5(x, hidden, weight_x, weight_h, bias):
    states = []
    for t in range(x.shape[1]):
        state = torch.tanh(x[:, t] @ weight_x.T + hidden @ weight_h.T + bias)
        states.append(state)
    return torch.stack(states, dim=1)


@wrong("sequences.unroll", "hidden @ weight_h: the square matrix is not transposed")
def unroll_6(x, hidden, weight_x, weight_h, bias):
    states = []
    for t in range(x.shape[1]):
        hidden = torch.tanh(x[:, t] @ weight_x.T + hidden @ weight_h + bias)
        states.append(hidden)
    return torch.stack(states, dim=1)


@wrong("sequences.unroll", "no bias in the step")
def unroll_7(x, hidden, weight_x, weight_h, bias):
    states = []
    for t in range(x.shape[1]):
        hidden = torch.tanh(x[:, t] @ weight_x.T + hidden @ weight_h.T)
        states.append(hidden)
    return torch.stack(states, dim=1)


@wrong("sequences.unroll", "x[t] for t in range(B): goes along the batch")
def unroll_8(x, hidden, weight_x, weight_h, bias):
    states = []
    for t in range(x.shape[0]):
        hidden = torch.tanh(x[t] @ weight_x.T + hidden @ weight_h.T + bias)
        states.append(hidden)
    return torch.stack(states)


@wrong("sequences.unroll", "reversed(range(T)): read from the end")
def unroll_9(x, hidden, weight_x, weight_h, bias):
    states = []
    for t in reversed(range(x.shape[1])):
        hidden = torch.tanh(x[:, t] @ weight_x.T + hidden @ weight_h.T + bias)
        states.append(hidden)
    return torch.stack(states, dim=1)


@wrong("sequences.unroll", "tanh on x only: the state grows without a bound")
def unroll_10(x, hidden, weight_x, weight_h, bias):
    states = []
    for t in range(x.shape[1]):
        hidden = torch.tanh(x[:, t] @ weight_x.T + bias) + hidden @ weight_h.T
        states.append(hidden)
    return torch.stack(states, dim=1)
