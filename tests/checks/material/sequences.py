"""Answers to the assignment "sequences" on which the grader itself is measured.

CORRECT must be accepted, WRONG must be rejected with the misconception that stands beside it, and
MUTANTS, which have no name and are harder to notice than any generated mutant, without one.
They are written apart from the checks.
"""

from __future__ import annotations

import copy

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

STEP = "sequences.recurrent_step"
UNROLL = "sequences.unroll"
ADDITIVE = "sequences.additive_attention"
COST = "sequences.layer_cost"
SPAN = "sequences.memory_span"
BUG = "sequences.find_the_bug"

# =============================================================================================
# recurrent_step
# =============================================================================================


def step_linear(x, hidden, weight_x, weight_h, bias):
    return torch.tanh(F.linear(x, weight_x, bias) + F.linear(hidden, weight_h))


def step_joined(x, hidden, weight_x, weight_h, bias):
    """One product of both vectors side by side."""
    both = torch.cat([x, hidden], dim=1)
    return (both @ torch.cat([weight_x, weight_h], dim=1).t() + bias).tanh()


def step_einsum(x, hidden, weight_x, weight_h, bias):
    total = torch.einsum("bd,nd->bn", x, weight_x) + torch.einsum("bm,nm->bn", hidden, weight_h)
    return torch.tanh(bias + total)


def step_columns(x, hidden, weight_x, weight_h, bias):
    """The matrices stand on the left."""
    total = weight_x @ x.T + weight_h @ hidden.T + bias[:, None]
    return torch.tanh(total).T


def step_row_by_row(x, hidden, weight_x, weight_h, bias):
    rows = []
    for token, state in zip(x, hidden, strict=True):
        rows.append(torch.tanh(weight_x @ token + weight_h @ state + bias))
    return torch.stack(rows)


def step_exponentials(x, hidden, weight_x, weight_h, bias):
    twice = 2 * (x @ weight_x.mT + hidden @ weight_h.mT + bias)
    return 2 * torch.sigmoid(twice) - 1


# =============================================================================================
# unroll
# =============================================================================================


def _step(token, state, weight_x, weight_h, bias):
    return torch.tanh(F.linear(token, weight_x, bias) + F.linear(state, weight_h))


def unroll_index(x, hidden, weight_x, weight_h, bias):
    states = []
    for t in range(x.shape[1]):
        hidden = _step(x[:, t], hidden, weight_x, weight_h, bias)
        states += [hidden]
    return torch.stack(states, 1)


def unroll_transposed(x, hidden, weight_x, weight_h, bias):
    states = [hidden]
    for token in x.transpose(0, 1):
        states.append(_step(token, states[-1], weight_x, weight_h, bias))
    return torch.stack(states[1:]).transpose(0, 1)


def unroll_ahead(x, hidden, weight_x, weight_h, bias):
    """All products with the tokens at once."""
    ahead = x @ weight_x.T + bias
    found = []
    for t in range(len(x[0])):
        hidden = (ahead[:, t] + hidden @ weight_h.T).tanh()
        found.append(hidden[:, None])
    return torch.cat(found, dim=1)


def unroll_filled(x, hidden, weight_x, weight_h, bias):
    out = x.new_empty(len(x), x.shape[1], len(bias))
    state = hidden.clone()
    for t in range(x.shape[1]):
        state = _step(x[:, t], state, weight_x, weight_h, bias)
        out[:, t] = state
    return out


def unroll_sequence_by_sequence(x, hidden, weight_x, weight_h, bias):
    rows = []
    for row, state in zip(x, hidden, strict=True):
        states = []
        for token in row:
            state = torch.tanh(weight_x @ token + weight_h @ state + bias)
            states.append(state)
        rows.append(torch.stack(states))
    return torch.stack(rows)


def unroll_recursive(x, hidden, weight_x, weight_h, bias):
    first = _step(x[:, 0], hidden, weight_x, weight_h, bias)
    if x.shape[1] == 1:
        return first.unsqueeze(1)
    rest = unroll_recursive(x[:, 1:], first, weight_x, weight_h, bias)
    return torch.cat([first.unsqueeze(1), rest], dim=1)


# =============================================================================================
# additive_attention
# =============================================================================================


def _scores(query, states, weight_query, weight_states, vector):
    total = F.linear(query, weight_query)[:, None, :] + F.linear(states, weight_states)
    return (total.tanh() * vector).sum(-1)


def _weights(scores, mask):
    return torch.where(mask, scores, torch.full_like(scores, -torch.inf)).softmax(-1)


def additive_bmm(query, states, weight_query, weight_states, vector, mask):
    scores = _scores(query, states, weight_query, weight_states, vector)
    weights = F.softmax(scores + torch.zeros_like(scores).masked_fill(~mask, -1e9), dim=1)
    return torch.bmm(weights[:, None, :], states)[:, 0], weights


def additive_einsum(query, states, weight_query, weight_states, vector, mask):
    asked = torch.einsum("bn,an->ba", query, weight_query)
    told = torch.einsum("bsn,an->bsa", states, weight_states)
    scores = torch.einsum("bsa,a->bs", torch.tanh(asked.unsqueeze(1) + told), vector)
    weights = _weights(scores, mask)
    return torch.einsum("bs,bsn->bn", weights, states), weights


def additive_products(query, states, weight_query, weight_states, vector, mask):
    weights = _weights(_scores(query, states, weight_query, weight_states, vector), mask)
    return (weights.unsqueeze(-1) * states).sum(dim=1), weights


def additive_by_hand(query, states, weight_query, weight_states, vector, mask):
    """The softmax is written out, and what is hidden is multiplied away."""
    scores = _scores(query, states, weight_query, weight_states, vector)
    powers = torch.exp(scores - scores.max(dim=1, keepdim=True).values) * mask
    weights = powers / powers.sum(dim=1, keepdim=True)
    return (weights[:, None] @ states)[:, 0, :], weights


def additive_rows(query, states, weight_query, weight_states, vector, mask):
    contexts, rows = [], []
    for one, many, seen in zip(query, states, mask, strict=True):
        scores = torch.tanh(weight_query @ one + many @ weight_states.T) @ vector
        weights = scores.masked_fill(seen.logical_not(), float("-inf")).softmax(0)
        contexts.append(weights @ many)
        rows.append(weights)
    return torch.stack(contexts), torch.stack(rows)


def additive_list(query, states, weight_query, weight_states, vector, mask):
    """The pair is a list, and the states are repeated queries."""
    spread = query.unsqueeze(1).expand(-1, states.shape[1], -1)
    scores = torch.tanh(spread @ weight_query.mT + states @ weight_states.mT).matmul(vector)
    scores = scores.masked_fill(mask == False, torch.finfo(scores.dtype).min)  # noqa: E712
    weights = scores.softmax(dim=-1)
    return [states.mT.matmul(weights.unsqueeze(-1)).squeeze(-1), weights]


# =============================================================================================
# layer_cost
# =============================================================================================


def cost_dictionary(layer, batch_size, length, size, kernel_size=3):
    places = batch_size * length
    path = -(-(length - 1) // (kernel_size - 1))
    return {
        "recurrent": (places * size * size * 2, length, length),
        "attention": (places * length * size * 2, 1, 1),
        "convolution": (places * kernel_size * size * size, 1, path),
    }[layer]


def cost_loop(layer, batch_size, length, size, kernel_size=3):
    if layer == "recurrent":
        work = sum(2 * size * size for _ in range(length) for _ in range(batch_size))
        return [work, length, length]
    if layer == "attention":
        return [batch_size * (length * length * size + length * length * size), 1, 1]
    layers, reached = 0, 0
    while reached < length - 1:
        reached += kernel_size - 1
        layers += 1
    return [batch_size * length * kernel_size * size * size, 1, layers]


def cost_numpy(layer, batch_size, length, size, kernel_size=3):
    kinds = ["recurrent", "attention", "convolution"]
    work = np.array([2 * length * size**2, 2 * length**2 * size, kernel_size * length * size**2])
    path = (length, 1, (length + kernel_size - 3) // (kernel_size - 1))
    which = kinds.index(layer)
    return int(work[which]) * batch_size, (length, 1, 1)[which], path[which]


def cost_match(layer, batch_size, length, size, kernel_size=3):
    match layer:
        case "recurrent":
            waiting = path = length
            one = 2 * length * size * size
        case "attention":
            waiting = path = 1
            one = length * size * length * 2
        case _:
            waiting, path = 1, 1 + (length - 2) // (kernel_size - 1)
            one = length * (kernel_size * size) * size
    return one * batch_size, waiting, path


def cost_graph(layer, batch_size, length, size, kernel_size=3):
    """Follow the path from token to token."""
    print("counting", layer)
    if layer != "convolution":
        return cost_loop(layer, batch_size, length, size)
    reached, layers = {0}, 0
    while length - 1 not in reached:
        reached = {
            place + step
            for place in reached
            for step in range(kernel_size)
            if place + step < length
        }
        layers += 1
    return batch_size * kernel_size * length * size * size, 1, layers


# =============================================================================================
# memory_span
# =============================================================================================


def _distance(model, x, other, size=None):
    second = torch.cat([other.view(1, 1, -1), x[:, 1:]], dim=1)
    difference = (model(second) - model(x)).squeeze(0)
    return torch.linalg.vector_norm(difference, dim=-1) if size is None else size(difference)


def span_loop(model, x, other, share):
    distance = _distance(model, x, other).tolist()
    span = 0
    for place, each in enumerate(distance):
        if each >= share * distance[0]:
            span = place
    return span


def span_one_batch(model, x, other, share):
    """Both runs in one batch."""
    both = x.repeat(2, 1, 1)
    both[1, 0] = other
    with torch.no_grad():
        outputs = model(both)
    distance = (outputs[0] - outputs[1]).square().sum(dim=-1).sqrt()
    return max(t for t in range(len(distance)) if distance[t] >= share * distance[0])


def span_from_the_end(model, x, other, share):
    distance = _distance(model, x, other)
    place = x.shape[1] - 1
    while distance[place] < share * distance[0]:
        place -= 1
    return place


def span_numpy(model, x, other, share):
    model = copy.deepcopy(model).double()
    distance = _distance(model, x.double(), other.double()).detach().numpy()
    return np.flatnonzero(distance / distance[0] > share)[-1]


def span_flipped(model, x, other, share):
    kept = _distance(model, x, other) >= share * _distance(model, x, other)[0]
    return x.shape[1] - 1 - kept.flip(0).int().argmax().item()


def span_in_place_and_back(model, x, other, share):
    """The caller's x is changed on the way, and is as it was in the end."""
    first, before = x[0, 0].clone(), model(x)
    x[0, 0] = other
    after = model(x)
    x[0, 0] = first
    distance = (after - before).norm(dim=2).flatten()
    return int(torch.where(distance >= share * distance[0])[0][-1])


# =============================================================================================
# find_the_bug
# =============================================================================================


def _turned(x, axis=1):
    return x.index_select(axis, torch.arange(x.shape[axis] - 1, -1, -1, device=x.device))


def both_index(forwards, backwards, x):
    right = _turned(backwards(_turned(x))[0])
    return torch.cat((forwards(x)[0], right), 2)


def both_torch(forwards, backwards, x):
    """A network of torch that reads both ways, with the parameters of both."""
    network = nn.RNN(x.shape[2], forwards.hidden_size, batch_first=True, bidirectional=True)
    network = network.to(x)
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    with torch.no_grad():
        for name in names:
            getattr(network, name).copy_(getattr(forwards, name))
            getattr(network, f"{name}_reverse").copy_(getattr(backwards, name))
    return network(x)[0]


def both_filled(forwards, backwards, x):
    size = forwards.hidden_size
    out = x.new_zeros(*x.shape[:2], 2 * size)
    out[..., :size] = forwards(x)[0]
    out[..., size:] = backwards(x.flip(1))[0].flip(1)
    return out


def both_step_by_step(forwards, backwards, x):
    states, state = [], None
    for t in reversed(range(x.shape[1])):
        output, state = backwards(x[:, t : t + 1], state)
        states.insert(0, output)
    return torch.cat([forwards(x)[0], torch.cat(states, dim=1)], dim=-1)


def both_flipped_first(forwards, backwards, x):
    """All is done from the right, and turned around in the end."""
    turned = torch.flip(x, (1,))
    left = torch.flip(forwards(x)[0], (1,))
    return torch.flip(torch.cat([left, backwards(turned)[0]], dim=-1), (1,))


CORRECT = {
    STEP: [
        step_linear,
        step_joined,
        step_einsum,
        step_columns,
        step_row_by_row,
        step_exponentials,
    ],
    UNROLL: [
        unroll_index,
        unroll_transposed,
        unroll_ahead,
        unroll_filled,
        unroll_sequence_by_sequence,
        unroll_recursive,
    ],
    ADDITIVE: [
        additive_bmm,
        additive_einsum,
        additive_products,
        additive_by_hand,
        additive_rows,
        additive_list,
    ],
    COST: [cost_dictionary, cost_loop, cost_numpy, cost_match, cost_graph],
    SPAN: [
        span_loop,
        span_one_batch,
        span_from_the_end,
        span_numpy,
        span_flipped,
        span_in_place_and_back,
    ],
    BUG: [both_index, both_torch, both_filled, both_step_by_step, both_flipped_first],
}

WRONG = {}

MUTANTS = {}
