"""Wrong answers to the tasks of sequences, as beginners write them."""

import torch

from tests.checks.material.unseen import wrong

# sequences.recurrent_step


@wrong("sequences.recurrent_step", "weight_h is used as it comes", "not-transposed")
def _(x, hidden, weight_x, weight_h, bias):
    a = torch.matmul(x, weight_x.transpose(0, 1))
    b = torch.matmul(hidden, weight_h)
    return torch.tanh(a + b + bias)


@wrong("sequences.recurrent_step", "copied from the chapter", "not-transposed")
def _(x, hidden, weight_x, weight_h, bias):
    return torch.tanh(x @ weight_x + hidden @ weight_h + bias)


@wrong("sequences.recurrent_step", "one bias for each product, as nn.RNN has", "bias-twice")
def _(x, hidden, weight_x, weight_h, bias):
    return torch.tanh((x @ weight_x.T + bias) + (hidden @ weight_h.T + bias))


@wrong("sequences.recurrent_step", "sigmoid", "another-squash")
def _(x, hidden, weight_x, weight_h, bias):
    return torch.sigmoid(x @ weight_x.T + hidden @ weight_h.T + bias)


# sequences.unroll


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


@wrong("sequences.unroll", "stack without an axis", "time-axis-first")
def _(x, hidden, weight_x, weight_h, bias):
    states = []
    for t in range(x.size(1)):
        hidden = torch.tanh(x[:, t, :] @ weight_x.T + hidden @ weight_h.T + bias)
        states.append(hidden)
    return torch.stack(states)


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


@wrong("sequences.unroll", "the last state", "last-state-only")
def _(x, hidden, weight_x, weight_h, bias):
    for t in range(x.size(1)):
        hidden = torch.tanh(x[:, t] @ weight_x.T + hidden @ weight_h.T + bias)
    return hidden


# sequences.additive_attention


@wrong("sequences.additive_attention", "no axis for the states", "query-of-another-sequence")
def _(query, states, weight_query, weight_states, vector, mask):
    scores = torch.tanh(query @ weight_query.T + states @ weight_states.T) @ vector
    weights = torch.softmax(scores.masked_fill(mask == 0, -1e9), dim=-1)
    return torch.sum(weights.unsqueeze(-1) * states, dim=1), weights


@wrong("sequences.additive_attention", "the mask is forgotten", "mask-forgotten")
def _(query, states, weight_query, weight_states, vector, mask):
    scores = torch.tanh((query @ weight_query.T)[:, None] + states @ weight_states.T) @ vector
    weights = torch.softmax(scores, dim=1)
    return torch.sum(weights.unsqueeze(-1) * states, dim=1), weights


@wrong("sequences.additive_attention", "hides where it is True", "mask-the-wrong-way-round")
def _(query, states, weight_query, weight_states, vector, mask):
    scores = torch.tanh((query @ weight_query.T)[:, None] + states @ weight_states.T) @ vector
    weights = torch.softmax(scores.masked_fill(mask, float("-inf")), dim=1)
    return torch.sum(weights.unsqueeze(-1) * states, dim=1), weights


@wrong("sequences.additive_attention", "scores times mask", "score-of-zero")
def _(query, states, weight_query, weight_states, vector, mask):
    scores = torch.tanh((query @ weight_query.T)[:, None] + states @ weight_states.T) @ vector
    weights = torch.softmax(scores * mask, dim=1)
    return torch.sum(weights.unsqueeze(-1) * states, dim=1), weights


@wrong("sequences.additive_attention", "tanh behind the vector", "no-tanh")
def _(query, states, weight_query, weight_states, vector, mask):
    asked = (query @ weight_query.T).unsqueeze(1)
    scores = torch.tanh((asked + states @ weight_states.T) @ vector)
    weights = torch.softmax(scores.masked_fill(~mask, -1e9), dim=1)
    return (weights[:, None] @ states)[:, 0], weights


# sequences.layer_cost


@wrong("sequences.layer_cost", "the batch is forgotten", "batch-left-out")
def _(layer, batch_size, length, size, kernel_size=3):
    if layer == "recurrent":
        return 2 * length * size**2, length, length
    if layer == "attention":
        return 2 * length**2 * size, 1, 1
    path = (length - 1 + kernel_size - 2) // (kernel_size - 1)
    return kernel_size * length * size**2, 1, path


@wrong("sequences.layer_cost", "rounded down", "rounded-down")
def _(layer, batch_size, length, size, kernel_size=3):
    if layer == "recurrent":
        return 2 * batch_size * length * size**2, length, length
    if layer == "attention":
        return 2 * batch_size * length**2 * size, 1, 1
    return batch_size * kernel_size * length * size**2, 1, (length - 1) // (kernel_size - 1)


@wrong("sequences.layer_cost", "divided by k", "whole-kernel-a-layer")
def _(layer, batch_size, length, size, kernel_size=3):
    if layer == "recurrent":
        return 2 * batch_size * length * size**2, length, length
    if layer == "attention":
        return 2 * batch_size * length**2 * size, 1, 1
    layers = length // kernel_size
    if length % kernel_size:
        layers += 1
    return batch_size * kernel_size * length * size**2, 1, layers


# sequences.memory_span


@wrong("sequences.memory_span", "stops at the first gap", "forgets-for-good")
def _(model, x, other, share):
    y = x.clone()
    y[0, 0] = other
    d = (model(x) - model(y)).norm(dim=-1)[0]
    span = 0
    for t in range(len(d)):
        if d[t] < share * d[0]:
            break
        span = t
    return span


@wrong("sequences.memory_span", "no copy", "not-the-first-token-alone")
def _(model, x, other, share):
    y = x
    y[:, 0] = other
    d = (model(x) - model(y)).norm(dim=-1)[0]
    return max(t for t in range(len(d)) if d[t] >= share * d[0])


@wrong("sequences.memory_span", "the share alone", "share-of-one")
def _(model, x, other, share):
    y = x.clone()
    y[:, 0] = other
    d = (model(x) - model(y)).norm(dim=-1)[0]
    return max([t for t in range(len(d)) if d[t] >= share], default=0)


@wrong("sequences.memory_span", "how many places", "places-counted")
def _(model, x, other, share):
    y = x.clone()
    y[:, 0] = other
    d = (model(x) - model(y)).norm(dim=-1)[0]
    return (d >= share * d[0]).sum().item()


# sequences.find_the_bug


@wrong("sequences.find_the_bug", "the last axis is turned around", "numbers-turned-around")
def _(forwards, backwards, x):
    left_to_right, _ = forwards(x)
    right_to_left, _ = backwards(x.flip(dims=[1]))
    return torch.cat([left_to_right, right_to_left.flip(dims=[-1])], dim=-1)


@wrong("sequences.find_the_bug", "nothing is turned around", "not-turned-to-read")
def _(forwards, backwards, x):
    left_to_right, _ = forwards(x)
    right_to_left, _ = backwards(x)
    return torch.cat([left_to_right, right_to_left], dim=-1)


@wrong("sequences.find_the_bug", "all is turned around at the end", "all-turned-around")
def _(forwards, backwards, x):
    left_to_right, _ = forwards(x)
    right_to_left, _ = backwards(x.flip(dims=[1]))
    return torch.cat([left_to_right, right_to_left], dim=-1).flip(dims=[1])
