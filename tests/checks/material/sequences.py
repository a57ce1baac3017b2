"""Answers to the assignment "sequences" on which the grader itself is measured.

CORRECT must be accepted, WRONG must be rejected with the misconception that stands beside it, and
MUTANTS, which are wrong in a way that no misconception describes, must be rejected without a name.
They are written apart from the checks.
"""

from __future__ import annotations

import copy
from functools import reduce

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


def _sum(x, hidden, weight_x, weight_h, bias, times=1.0):
    return F.linear(x, weight_x) + F.linear(hidden, weight_h) + times * bias


def w_step_no_tanh(x, hidden, weight_x, weight_h, bias):
    return _sum(x, hidden, weight_x, weight_h, bias)


def w_step_sigmoid(x, hidden, weight_x, weight_h, bias):
    return 1 / (1 + torch.exp(-_sum(x, hidden, weight_x, weight_h, bias)))


def w_step_relu(x, hidden, weight_x, weight_h, bias):
    return _sum(x, hidden, weight_x, weight_h, bias).clamp(min=0)


def w_step_bias_outside(x, hidden, weight_x, weight_h, bias):
    return bias + (F.linear(x, weight_x) + F.linear(hidden, weight_h)).tanh()


def w_step_two_tanh(x, hidden, weight_x, weight_h, bias):
    token, state = F.linear(x, weight_x), F.linear(hidden, weight_h)
    return token.tanh() + state.tanh() + bias


def w_step_square(x, hidden, weight_x, weight_h, bias):
    return torch.tanh(F.linear(x, weight_x, bias) + torch.matmul(hidden, weight_h))


def w_step_page(x, hidden, weight_x, weight_h, bias):
    """As in the chapter."""
    return torch.tanh(torch.matmul(x, weight_x) + torch.matmul(hidden, weight_h) + bias)


def w_step_token_matrix(x, hidden, weight_x, weight_h, bias):
    return (x.matmul(weight_x) + F.linear(hidden, weight_h, bias)).tanh()


def w_step_swapped(x, hidden, weight_x, weight_h, bias):
    return torch.tanh(F.linear(x, weight_h) + F.linear(hidden, weight_x, bias))


def w_step_no_state(x, hidden, weight_x, weight_h, bias):
    return F.linear(x, weight_x, bias).tanh()


def w_step_no_token(x, hidden, weight_x, weight_h, bias):
    return F.linear(hidden, weight_h, bias).tanh()


def w_step_no_bias(x, hidden, weight_x, weight_h, bias):
    return _sum(x, hidden, weight_x, weight_h, bias, 0.0).tanh()


def w_step_two_biases(x, hidden, weight_x, weight_h, bias):
    return torch.tanh(F.linear(x, weight_x, bias) + F.linear(hidden, weight_h, bias))


def w_step_residual(x, hidden, weight_x, weight_h, bias):
    new = _sum(x, hidden, weight_x, weight_h, bias).tanh()
    return new + hidden


def w_step_state_in_the_sum(x, hidden, weight_x, weight_h, bias):
    return (_sum(x, hidden, weight_x, weight_h, bias) + hidden).tanh()


def w_step_detached(x, hidden, weight_x, weight_h, bias):
    return step_linear(x, hidden, weight_x, weight_h, bias).detach()


def w_step_float(x, hidden, weight_x, weight_h, bias):
    new = step_linear(x, hidden, weight_x, weight_h, bias)
    return new.to(torch.float32)


def w_step_in_place(x, hidden, weight_x, weight_h, bias):
    with torch.no_grad():
        new = step_linear(x, hidden, weight_x, weight_h, bias)
        hidden[:] = new
    return hidden


def m_step_half(x, hidden, weight_x, weight_h, bias):
    return step_linear(x, hidden, weight_x, weight_h, bias) / 2


def m_step_zeros(x, hidden, weight_x, weight_h, bias):
    return torch.zeros_like(hidden)


def m_step_mean(x, hidden, weight_x, weight_h, bias):
    new = step_linear(x, hidden, weight_x, weight_h, bias)
    return new - new.mean(dim=0)


def m_step_negative(x, hidden, weight_x, weight_h, bias):
    return -step_linear(x, hidden, weight_x, weight_h, bias)


def m_step_first(x, hidden, weight_x, weight_h, bias):
    return step_linear(x, hidden, weight_x, weight_h, bias)[0]


def m_step_minus(x, hidden, weight_x, weight_h, bias):
    return torch.tanh(F.linear(x, weight_x, bias) - F.linear(hidden, weight_h))


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


def w_unroll_last(x, hidden, weight_x, weight_h, bias):
    return reduce(
        lambda state, token: _step(token, state, weight_x, weight_h, bias), x.unbind(1), hidden
    )


def w_unroll_last_kept(x, hidden, weight_x, weight_h, bias):
    return unroll_index(x, hidden, weight_x, weight_h, bias)[:, -1:]


def w_unroll_time_first(x, hidden, weight_x, weight_h, bias):
    return unroll_index(x, hidden, weight_x, weight_h, bias).permute(1, 0, 2)


def w_unroll_view(x, hidden, weight_x, weight_h, bias):
    states = []
    for token in x.transpose(0, 1):
        hidden = _step(token, hidden, weight_x, weight_h, bias)
        states.append(hidden)
    return torch.stack(states).view(x.shape[0], x.shape[1], -1)


def w_unroll_batch(x, hidden, weight_x, weight_h, bias):
    states = []
    for token in x:
        hidden = _step(token, hidden, weight_x, weight_h, bias)
        states.append(hidden)
    return torch.stack(states)


def w_unroll_batch_index(x, hidden, weight_x, weight_h, bias):
    states = []
    for t in range(x.shape[0]):
        hidden = _step(x[t], hidden, weight_x, weight_h, bias)
        states.append(hidden)
    return torch.stack(states, dim=1)


def w_unroll_zero(x, hidden, weight_x, weight_h, bias):
    return unroll_index(x, hidden * 0, weight_x, weight_h, bias)


def w_unroll_fixed_state(x, hidden, weight_x, weight_h, bias):
    return torch.stack([_step(token, hidden, weight_x, weight_h, bias) for token in x.unbind(1)], 1)


def w_unroll_no_state(x, hidden, weight_x, weight_h, bias):
    return torch.tanh(x @ weight_x.mT + bias)


def w_unroll_with_start(x, hidden, weight_x, weight_h, bias):
    states = unroll_index(x, hidden, weight_x, weight_h, bias)
    return torch.cat([hidden.unsqueeze(1), states], dim=1)


def w_unroll_early(x, hidden, weight_x, weight_h, bias):
    states = w_unroll_with_start(x, hidden, weight_x, weight_h, bias)
    return states[:, : x.shape[1]]


def w_unroll_few(x, hidden, weight_x, weight_h, bias):
    states = []
    for t in range(x.shape[1] - 1):
        hidden = _step(x[:, t], hidden, weight_x, weight_h, bias)
        states.append(hidden)
    return torch.stack(states, dim=1)


def w_unroll_from_one(x, hidden, weight_x, weight_h, bias):
    states = []
    for t in range(1, x.shape[1]):
        hidden = _step(x[:, t], hidden, weight_x, weight_h, bias)
        states.append(hidden)
    return torch.stack(states, dim=1)


def w_unroll_shared(x, hidden, weight_x, weight_h, bias):
    state, states = hidden.detach().clone(), []
    for token in x.unbind(1):
        state[:] = _step(token, state.clone(), weight_x, weight_h, bias).detach()
        states.append(state)
    return torch.stack(states, dim=1)


def w_unroll_repeated(x, hidden, weight_x, weight_h, bias):
    last = w_unroll_last(x, hidden, weight_x, weight_h, bias)
    return last.unsqueeze(1).repeat(1, x.shape[1], 1)


def w_unroll_backwards(x, hidden, weight_x, weight_h, bias):
    return unroll_index(x.flip(1), hidden, weight_x, weight_h, bias)


def w_unroll_reversed_states(x, hidden, weight_x, weight_h, bias):
    states = []
    for token in x.unbind(1):
        hidden = _step(token, hidden, weight_x, weight_h, bias)
        states.insert(0, hidden)
    return torch.stack(states, dim=1)


def w_unroll_no_tanh(x, hidden, weight_x, weight_h, bias):
    states = []
    for token in x.unbind(1):
        hidden = F.linear(token, weight_x, bias) + F.linear(hidden, weight_h)
        states.append(hidden)
    return torch.stack(states, dim=1)


def w_unroll_square(x, hidden, weight_x, weight_h, bias):
    return unroll_index(x, hidden, weight_x, weight_h.T, bias)


def w_unroll_page(x, hidden, weight_x, weight_h, bias):
    return unroll_index(x, hidden, weight_x.T, weight_h.T, bias)


def w_unroll_swapped(x, hidden, weight_x, weight_h, bias):
    return unroll_index(x, hidden, weight_h, weight_x, bias)


def w_unroll_two_biases(x, hidden, weight_x, weight_h, bias):
    states = []
    for token in x.unbind(1):
        hidden = torch.tanh(F.linear(token, weight_x, bias) + F.linear(hidden, weight_h, bias))
        states.append(hidden)
    return torch.stack(states, dim=1)


def w_unroll_no_bias(x, hidden, weight_x, weight_h, bias):
    return unroll_index(x, hidden, weight_x, weight_h, 0 * bias)


def w_unroll_list(x, hidden, weight_x, weight_h, bias):
    return list(unroll_index(x, hidden, weight_x, weight_h, bias).unbind(1))


def w_unroll_return(x, hidden, weight_x, weight_h, bias):
    states = []
    for t in range(x.shape[1]):
        hidden = _step(x[:, t], hidden, weight_x, weight_h, bias)
        states.append(hidden)
        return torch.stack(states, dim=1)


def w_unroll_no_grad(x, hidden, weight_x, weight_h, bias):
    with torch.no_grad():
        return unroll_index(x, hidden, weight_x, weight_h, bias)


def w_unroll_numbers(x, hidden, weight_x, weight_h, bias):
    return torch.tensor(unroll_index(x, hidden, weight_x, weight_h, bias).tolist(), dtype=x.dtype)


def w_unroll_float(x, hidden, weight_x, weight_h, bias):
    out = torch.zeros(len(x), x.shape[1], len(bias))
    for t in range(x.shape[1]):
        hidden = _step(x[:, t], hidden, weight_x, weight_h, bias)
        out[:, t] = hidden
    return out


def w_unroll_in_place(x, hidden, weight_x, weight_h, bias):
    states = unroll_index(x, hidden, weight_x, weight_h, bias)
    with torch.no_grad():
        hidden[:] = states[:, -1]
    return states


def m_unroll_half(x, hidden, weight_x, weight_h, bias):
    return unroll_index(x, hidden, weight_x, weight_h, bias) * 0.5


def m_unroll_mean(x, hidden, weight_x, weight_h, bias):
    states = unroll_index(x, hidden, weight_x, weight_h, bias)
    return states.mean(dim=1, keepdim=True).expand_as(states)


def m_unroll_batch_flipped(x, hidden, weight_x, weight_h, bias):
    return unroll_index(x, hidden, weight_x, weight_h, bias).flip(2)


def m_unroll_sum(x, hidden, weight_x, weight_h, bias):
    return unroll_index(x, hidden, weight_x, weight_h, bias).cumsum(dim=1)


def m_unroll_twice(x, hidden, weight_x, weight_h, bias):
    last = unroll_index(x, hidden, weight_x, weight_h, bias)[:, -1]
    return unroll_index(x, last, weight_x, weight_h, bias)


def m_unroll_number(x, hidden, weight_x, weight_h, bias):
    return unroll_index(x, hidden, weight_x, weight_h, bias).sum()


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


def _additive(query, states, weight_query, weight_states, vector, mask, **parts):
    """Additive attention in which what is wrong can be said."""
    score, weigh, sum_up = (parts.get(name) for name in ("score", "weigh", "sum_up"))
    scores = (score or _scores)(query, states, weight_query, weight_states, vector)
    weights = (weigh or _weights)(scores, mask)
    context = (weights.unsqueeze(-1) * states).sum(1) if sum_up is None else sum_up(weights, states)
    return context, weights


def w_additive_no_mask(*arguments):
    return _additive(*arguments, weigh=lambda scores, mask: F.softmax(scores, -1))


def w_additive_late_mask(*arguments):
    return _additive(
        *arguments, weigh=lambda scores, mask: F.softmax(scores, -1).masked_fill(~mask, 0.0)
    )


def w_additive_inverted(*arguments):
    return _additive(*arguments, weigh=lambda scores, mask: _weights(scores, mask.logical_not()))


def w_additive_zero(*arguments):
    return _additive(*arguments, weigh=lambda scores, mask: torch.softmax(scores * mask, -1))


def w_additive_over_batch(*arguments):
    return _additive(
        *arguments,
        weigh=lambda scores, mask: torch.where(mask, scores, -torch.inf).softmax(0),
    )


def w_additive_scores(*arguments):
    return _additive(*arguments, weigh=lambda scores, mask: torch.where(mask, scores, 0.0))


def w_additive_scores_bare(*arguments):
    return _additive(*arguments, weigh=lambda scores, mask: scores)


def w_additive_mean(*arguments):
    return _additive(*arguments, sum_up=lambda weights, states: torch.mean(states, 1))


def w_additive_mean_seen(query, states, weight_query, weight_states, vector, mask):
    _, weights = _additive(query, states, weight_query, weight_states, vector, mask)
    seen = [row[shown].mean(dim=0) for row, shown in zip(states, mask, strict=True)]
    return torch.stack(seen), weights


def w_additive_not_summed(*arguments):
    return _additive(*arguments, sum_up=lambda weights, states: states * weights[..., None])


def w_additive_axis(*arguments):
    return _additive(*arguments, sum_up=lambda weights, states: weights[:, None].bmm(states))


def w_additive_best(*arguments):
    def best(weights, states):
        return torch.stack([row[each] for row, each in zip(states, weights.argmax(1), strict=True)])

    return _additive(*arguments, sum_up=best)


def w_additive_compared(query, states, weight_query, weight_states, vector, mask):
    _, weights = _additive(query, states, weight_query, weight_states, vector, mask)
    return torch.einsum("bs,bsa->ba", weights, F.linear(states, weight_states)), weights


def w_additive_swapped_pair(*arguments):
    return _additive(*arguments)[::-1]


def w_additive_no_tanh(*arguments):
    def score(query, states, weight_query, weight_states, vector):
        return (F.linear(query, weight_query)[:, None] + F.linear(states, weight_states)) @ vector

    return _additive(*arguments, score=score)


def w_additive_late_tanh(*arguments):
    def score(query, states, weight_query, weight_states, vector):
        total = F.linear(query, weight_query)[:, None] + F.linear(states, weight_states)
        return total.matmul(vector).tanh()

    return _additive(*arguments, score=score)


def w_additive_no_query(query, states, weight_query, weight_states, vector, mask):
    return _additive(0 * query, states, weight_query, weight_states, vector, mask)


def w_additive_product(*arguments):
    def score(query, states, weight_query, weight_states, vector):
        product = F.linear(query, weight_query)[:, None] * F.linear(states, weight_states)
        return product.tanh() @ vector

    return _additive(*arguments, score=score)


def w_additive_dot(*arguments):
    def score(query, states, weight_query, weight_states, vector):
        return torch.einsum("bn,bsn->bs", query, states)

    return _additive(*arguments, score=score)


def w_additive_no_vector(query, states, weight_query, weight_states, vector, mask):
    ones = torch.ones_like(vector)
    return _additive(query, states, weight_query, weight_states, ones, mask)


def w_additive_swapped(query, states, weight_query, weight_states, vector, mask):
    return _additive(query, states, weight_states, weight_query, vector, mask)


def w_additive_page(query, states, weight_query, weight_states, vector, mask):
    return _additive(query, states, weight_query.T, weight_states.T, vector, mask)


def w_additive_flat(query, states, weight_query, weight_states, vector, mask):
    total = F.linear(query, weight_query) + F.linear(states, weight_states)
    weights = _weights(total.tanh().matmul(vector), mask)
    return torch.bmm(weights[:, None], states)[:, 0], weights


def w_additive_first_query(query, states, weight_query, weight_states, vector, mask):
    first = query[0].expand_as(query)
    return _additive(first, states, weight_query, weight_states, vector, mask)


def w_additive_scaled(*arguments):
    return _additive(*arguments, score=lambda *most: _scores(*most) / len(most[-1]) ** 0.5)


def w_additive_scaled_by_states(*arguments):
    return _additive(*arguments, score=lambda *most: _scores(*most) / most[0].shape[1] ** 0.5)


def w_additive_detached(*arguments):
    context, weights = _additive(*arguments)
    return context.detach(), weights.detach()


def w_additive_weights_detached(*arguments):
    return _additive(*arguments, weigh=lambda scores, mask: _weights(scores, mask).data)


def w_additive_float(*arguments):
    context, weights = _additive(*arguments)
    return context.to(torch.float32), weights.to(torch.float32)


def w_additive_changes(query, states, weight_query, weight_states, vector, mask):
    torch.logical_not(mask, out=mask)
    hide = mask
    return _additive(query, states, weight_query, weight_states, vector, ~hide)


def m_additive_first_state(*arguments):
    return _additive(*arguments, sum_up=lambda weights, states: states[:, 0])


def m_additive_half(*arguments):
    return _additive(
        *arguments, sum_up=lambda weights, states: (weights[:, None] @ states)[:, 0] / 2
    )


def m_additive_sharper(*arguments):
    return _additive(*arguments, score=lambda *most: 3 * _scores(*most))


def m_additive_even(*arguments):
    return _additive(
        *arguments, weigh=lambda scores, mask: (mask / mask.sum(1, True)).to(scores.dtype)
    )


def m_additive_context_only(*arguments):
    return _additive(*arguments)[0]


def m_additive_log(*arguments):
    context, weights = _additive(*arguments)
    return context, weights.clamp(min=1e-9).log()


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


def _costs(layer, batch_size, length, size, kernel_size, **wrong):
    """Costs of which one or several, by layer, are others: functions of B, T, D and k."""
    right = dict(
        zip(
            ("recurrent", "attention", "convolution"),
            (
                cost_dictionary(each, batch_size, length, size, kernel_size)
                for each in ("recurrent", "attention", "convolution")
            ),
            strict=True,
        )
    )
    if layer in wrong:
        return wrong[layer](right[layer])
    return right[layer]


def w_cost_flops(layer, batch_size, length, size, kernel_size=3):
    work, waiting, path = cost_dictionary(layer, batch_size, length, size, kernel_size)
    return 2 * work, waiting, path


def w_cost_one_product(layer, batch_size, length, size, kernel_size=3):
    work, waiting, path = cost_dictionary(layer, batch_size, length, size, kernel_size)
    return (work if layer == "convolution" else work // 2), waiting, path


def w_cost_one_matrix(layer, batch_size, length, size, kernel_size=3):
    work, waiting, path = cost_dictionary(layer, batch_size, length, size, kernel_size)
    return (work // 2 if layer == "recurrent" else work), waiting, path


def w_cost_exchanged(layer, batch_size, length, size, kernel_size=3):
    others = {"recurrent": "attention", "attention": "recurrent"}
    work, _, _ = cost_loop(others.get(layer, layer), batch_size, length, size, kernel_size)
    return (work, *cost_loop(layer, batch_size, length, size, kernel_size)[1:])


def w_cost_linear(layer, batch_size, length, size, kernel_size=3):
    return _costs(
        layer,
        batch_size,
        length,
        size,
        kernel_size,
        attention=lambda right: (right[0] // length, 1, 1),
    )


def w_cost_linear_matrix(layer, batch_size, length, size, kernel_size=3):
    def attention(right):
        return (right[0] // length * size, 1, 1)

    return _costs(layer, batch_size, length, size, kernel_size, attention=attention)


def w_cost_vector(layer, batch_size, length, size, kernel_size=3):
    work, waiting, path = cost_dictionary(layer, batch_size, length, size, kernel_size)
    return (work if layer == "attention" else work // size), waiting, path


def w_cost_projections(layer, batch_size, length, size, kernel_size=3):
    def attention(right):
        return (right[0] + 3 * batch_size * length * size * size, 1, 1)

    return _costs(layer, batch_size, length, size, kernel_size, attention=attention)


def w_cost_one_sequence(layer, batch_size, length, size, kernel_size=3):
    return cost_dictionary(layer, 1, length, size, kernel_size)


def w_cost_batch_waits(layer, batch_size, length, size, kernel_size=3):
    def recurrent(right):
        return (right[0], right[1] * batch_size, right[2])

    return _costs(layer, batch_size, length, size, kernel_size, recurrent=recurrent)


def w_cost_attention_waits(layer, batch_size, length, size, kernel_size=3):
    def attention(right):
        return (right[0], length, 1)

    return _costs(layer, batch_size, length, size, kernel_size, attention=attention)


def w_cost_attention_chain(layer, batch_size, length, size, kernel_size=3):
    def attention(right):
        return (right[0], length, length)

    return _costs(layer, batch_size, length, size, kernel_size, attention=attention)


def w_cost_closer(layer, batch_size, length, size, kernel_size=3):
    def attention(right):
        return (right[0], 2, 1)

    return _costs(layer, batch_size, length, size, kernel_size, attention=attention)


def w_cost_less(layer, batch_size, length, size, kernel_size=3):
    def recurrent(right):
        return (right[0], length, length - 1)

    return _costs(layer, batch_size, length, size, kernel_size, recurrent=recurrent)


def w_cost_less_twice(layer, batch_size, length, size, kernel_size=3):
    def recurrent(right):
        return (right[0], length - 1, length - 1)

    return _costs(layer, batch_size, length, size, kernel_size, recurrent=recurrent)


def _with_convolution(change):
    """Return an answer whose costs of a convolution are changed: right ones, T and k to others."""

    def answer(layer, batch_size, length, size, kernel_size=3):
        def convolution(right):
            return change(right, length, kernel_size)

        return _costs(layer, batch_size, length, size, kernel_size, convolution=convolution)

    return answer


def _rounded_up(number, by):
    return number // by + (number % by > 0)


w_cost_slides = _with_convolution(lambda right, length, kernel: (right[0], length, right[2]))
w_cost_layers_wait = _with_convolution(lambda right, length, kernel: (right[0], right[2], right[2]))
w_cost_one_layer = _with_convolution(lambda right, length, kernel: (right[0], 1, 1))
w_cost_down = _with_convolution(
    lambda right, length, kernel: (right[0], 1, int((length - 1) / (kernel - 1)))
)
w_cost_whole_kernel = _with_convolution(
    lambda right, length, kernel: (right[0], 1, _rounded_up(length - 1, kernel))
)
w_cost_whole_kernel_all = _with_convolution(
    lambda right, length, kernel: (right[0], 1, _rounded_up(length, kernel))
)
w_cost_centred = _with_convolution(
    lambda right, length, kernel: (right[0], 1, _rounded_up(length - 1, kernel // 2))
)
w_cost_far = _with_convolution(
    lambda right, length, kernel: (right[0], 1, _rounded_up(length, kernel - 1))
)
w_cost_no_kernel = _with_convolution(
    lambda right, length, kernel: (right[0] // kernel, 1, right[2])
)
w_cost_kernel_twice = _with_convolution(
    lambda right, length, kernel: (right[0] * kernel, 1, right[2])
)
w_cost_valid = _with_convolution(
    lambda right, length, kernel: (right[0] // length * (length - kernel + 1), 1, right[2])
)
w_cost_turned = _with_convolution(lambda right, length, kernel: (right[0], right[2], right[1]))


def w_cost_logarithm(layer, batch_size, length, size, kernel_size=3):
    def convolution(right):
        layers, reached = 0, 1
        while reached < length:
            reached *= kernel_size
            layers += 1
        return (right[0], 1, layers)

    return _costs(layer, batch_size, length, size, kernel_size, convolution=convolution)


def w_cost_edges(layer, batch_size, length, size, kernel_size=3):
    def convolution(right):
        pairs = sum(1 for t in range(length) for back in range(kernel_size) if back <= t)
        return (batch_size * pairs * size * size, 1, right[2])

    return _costs(layer, batch_size, length, size, kernel_size, convolution=convolution)


def w_cost_three(layer, batch_size, length, size, kernel_size=3):
    work, waiting, _ = cost_dictionary(layer, batch_size, length, size, kernel_size)
    return (work, waiting, cost_dictionary(layer, batch_size, length, size, 3)[2])


def w_cost_steps_first(layer, batch_size, length, size, kernel_size=3):
    work, waiting, path = cost_dictionary(layer, batch_size, length, size, kernel_size)
    return waiting, path, work


def w_cost_fraction(layer, batch_size, length, size, kernel_size=3):
    work, waiting, path = cost_dictionary(layer, batch_size, length, size, kernel_size)
    return work / 2 * 2, waiting, path


w_cost_part_of_a_layer = _with_convolution(
    lambda right, length, kernel: (right[0], 1, (length - 1) / (kernel - 1))
)


def m_cost_cube(layer, batch_size, length, size, kernel_size=3):
    return batch_size * length * size**3, length, 1


def m_cost_two_numbers(layer, batch_size, length, size, kernel_size=3):
    return cost_dictionary(layer, batch_size, length, size, kernel_size)[:2]


def m_cost_text(layer, batch_size, length, size, kernel_size=3):
    return "T D^2"


def m_cost_plus_one(layer, batch_size, length, size, kernel_size=3):
    work, waiting, path = cost_dictionary(layer, batch_size, length, size, kernel_size)
    return work + 1, waiting, path


def m_cost_batch_square(layer, batch_size, length, size, kernel_size=3):
    work, waiting, path = cost_dictionary(layer, batch_size, length, size, kernel_size)
    return work * batch_size * 7, waiting, path


def m_cost_path_doubled(layer, batch_size, length, size, kernel_size=3):
    work, waiting, path = cost_dictionary(layer, batch_size, length, size, kernel_size)
    return work, waiting, 3 * path


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


def _span(distance, share, first=None):
    kept = distance >= share * (distance[0] if first is None else first)
    return max([place for place, each in enumerate(kept.tolist()) if each], default=0)


def w_span_one_run(model, x, other, share):
    outputs = model(x)[0]
    return _span((outputs - outputs[0]).norm(dim=1), share)


def w_span_last_token(model, x, other, share):
    second = x.clone()
    second[0, -1] = other
    return _span((model(second) - model(x))[0].norm(dim=-1), share)


def w_span_all_tokens(model, x, other, share):
    second = other.expand_as(x)
    return _span((model(second) - model(x))[0].norm(dim=-1), share)


def w_span_alias(model, x, other, share):
    second = x
    second[0, 0] = other
    return _span((model(second) - model(x))[0].norm(dim=-1), share)


def w_span_first_gap(model, x, other, share):
    distance = _distance(model, x, other)
    span = 0
    while span + 1 < len(distance) and distance[span + 1] >= share * distance[0]:
        span += 1
    return span


def w_span_break(model, x, other, share):
    distance = _distance(model, x, other)
    for place in range(len(distance)):
        if distance[place] < share * distance[0]:
            return place
    return len(distance)


def w_span_count(model, x, other, share):
    distance = _distance(model, x, other)
    return sum(bool(each >= share * distance[0]) for each in distance)


def w_span_count_less(model, x, other, share):
    distance = _distance(model, x, other)
    return sum(bool(each >= share * distance[0]) for each in distance[1:])


def w_span_plus_one(model, x, other, share):
    return 1 + span_loop(model, x, other, share)


def w_span_minus_one(model, x, other, share):
    return span_loop(model, x, other, share) - 1


def w_span_first(model, x, other, share):
    distance = _distance(model, x, other)
    return int((distance >= share * distance[0]).int().argmax())


def w_span_absolute(model, x, other, share):
    return _span(_distance(model, x, other), share, 1.0)


def w_span_of_the_largest(model, x, other, share):
    distance = _distance(model, x, other)
    return _span(distance, share, max(distance))


def w_span_of_the_mean(model, x, other, share):
    distance = _distance(model, x, other)
    return _span(distance, share, distance.mean())


def w_span_squared(model, x, other, share):
    return _span(_distance(model, x, other, lambda each: (each**2).sum(-1)), share)


def w_span_absolute_sum(model, x, other, share):
    return _span(_distance(model, x, other, lambda each: each.abs().mean(-1)), share)


def w_span_largest_number(model, x, other, share):
    return _span(_distance(model, x, other, lambda each: each.abs().max(-1).values), share)


def w_span_signed(model, x, other, share):
    return _span(_distance(model, x, other, lambda each: each.mean(-1).abs()), share)


def w_span_lengths(model, x, other, share):
    second = torch.cat([other[None, None], x[:, 1:]], dim=1)
    lengths = model(x).norm(dim=-1), model(second).norm(dim=-1)
    return _span((lengths[0] - lengths[1]).abs()[0], share)


def w_span_zero(model, x, other, share):
    return span_loop(model, x, torch.zeros_like(other), share)


def w_span_added(model, x, other, share):
    return span_loop(model, x, x[0, 0] + other, share)


def w_span_below(model, x, other, share):
    distance = _distance(model, x, other)
    below = distance < share * distance[0]
    return int(below.nonzero().max())


def w_span_tensor(model, x, other, share):
    distance = _distance(model, x, other)
    return (distance >= share * distance[0]).nonzero()[-1, 0]


def w_span_float(model, x, other, share):
    return 1.0 * span_loop(model, x, other, share)


def w_span_leaves_x(model, x, other, share):
    before = model(x)
    x[0, 0] = other
    return _span((before - model(x))[0].norm(dim=-1), share)


def m_span_middle(model, x, other, share):
    return x.shape[1] // 2


def m_span_list(model, x, other, share):
    return [span_loop(model, x, other, share)]


def m_span_negative(model, x, other, share):
    return -1 - span_loop(model, x, other, share)


def m_span_from_the_end(model, x, other, share):
    return x.shape[1] - 1 - span_loop(model, x, other, share)


def m_span_half_share(model, x, other, share):
    return (span_loop(model, x, other, share) + 1) // 3


def m_span_text(model, x, other, share):
    return "4"


# =============================================================================================
# find_the_bug
# =============================================================================================


def bug_as_given(forwards, backwards, x):
    left_to_right, _ = forwards(x)
    right_to_left, _ = backwards(x.flip(dims=[1]))
    return torch.cat([left_to_right, right_to_left], dim=-1)


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


def w_both_batch(forwards, backwards, x):
    return torch.cat([forwards(x)[0], _turned(backwards(_turned(x))[0], 0)], -1)


def w_both_numbers(forwards, backwards, x):
    return torch.cat([forwards(x)[0], _turned(backwards(_turned(x))[0], 2)], -1)


def w_both_forwards(forwards, backwards, x):
    return torch.cat([forwards(x)[0], backwards(x)[0]], 2)


def w_both_not_turned_first(forwards, backwards, x):
    return torch.cat([forwards(x)[0], _turned(backwards(x)[0])], 2)


def w_both_whole(forwards, backwards, x):
    return _turned(torch.cat([forwards(x)[0], backwards(_turned(x))[0]], 2))


def w_both_left_turned(forwards, backwards, x):
    right = _turned(backwards(_turned(x))[0])
    return torch.cat([_turned(forwards(x)[0]), right], 2)


def w_both_exchanged(forwards, backwards, x):
    return both_index(backwards, forwards, _turned(x)).flip(1)


def w_both_sum(forwards, backwards, x):
    return forwards(x)[0] + _turned(backwards(_turned(x))[0])


def w_both_mean(forwards, backwards, x):
    return torch.stack([forwards(x)[0], _turned(backwards(_turned(x))[0])]).mean(0)


def w_both_longer(forwards, backwards, x):
    return torch.cat([forwards(x)[0], _turned(backwards(_turned(x))[0])], 1)


def w_both_more(forwards, backwards, x):
    return torch.cat([forwards(x)[0], _turned(backwards(_turned(x))[0])])


def w_both_same(forwards, backwards, x):
    return both_index(forwards, forwards, x)


def w_both_last(forwards, backwards, x):
    _, last = backwards(_turned(x))  # (1, B, N)
    right = last.transpose(0, 1).expand(-1, x.shape[1], -1)
    return torch.cat([forwards(x)[0], right], -1)


def w_both_only_last(forwards, backwards, x):
    return torch.cat([forwards(x)[1][0], backwards(_turned(x))[1][0]], -1)


def w_both_shifted(forwards, backwards, x):
    right = _turned(backwards(_turned(x))[0])
    right = torch.cat([right[:, 1:], right[:, :1]], 1)
    return torch.cat([forwards(x)[0], right], -1)


def m_both_half(forwards, backwards, x):
    return both_index(forwards, backwards, x) / 2


def m_both_zeros(forwards, backwards, x):
    right = _turned(backwards(_turned(x))[0])
    return torch.cat([torch.zeros_like(right), right], -1)


def m_both_tanh(forwards, backwards, x):
    return torch.tanh(both_index(forwards, backwards, x))


def m_both_left_only(forwards, backwards, x):
    return forwards(x)[0]


def m_both_negative(forwards, backwards, x):
    return torch.cat([forwards(x)[0], -_turned(backwards(_turned(x))[0])], -1)


def m_both_first_row(forwards, backwards, x):
    return both_index(forwards, backwards, x)[0]


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

WRONG = {
    STEP: [
        ("no-tanh", w_step_no_tanh),
        ("another-squash", w_step_sigmoid),
        ("another-squash", w_step_relu),
        ("tanh-of-a-part", w_step_bias_outside),
        ("tanh-of-a-part", w_step_two_tanh),
        ("not-transposed", w_step_square),
        ("not-transposed", w_step_page),
        ("not-transposed", w_step_token_matrix),
        ("matrices-swapped", w_step_swapped),
        ("state-left-out", w_step_no_state),
        ("token-left-out", w_step_no_token),
        ("bias-left-out", w_step_no_bias),
        ("bias-twice", w_step_two_biases),
        ("state-added", w_step_residual),
        ("state-added", w_step_state_in_the_sum),
        ("detached", w_step_detached),
        ("float32-only", w_step_float),
        ("changes-its-input", w_step_in_place),
    ],
    UNROLL: [
        ("last-state-only", w_unroll_last),
        ("last-state-only", w_unroll_last_kept),
        ("time-axis-first", w_unroll_time_first),
        ("reshaped", w_unroll_view),
        ("loop-over-the-batch", w_unroll_batch),
        ("loop-over-the-batch", w_unroll_batch_index),
        ("starts-from-zero", w_unroll_zero),
        ("each-step-from-the-start", w_unroll_fixed_state),
        ("each-step-from-the-start", w_unroll_no_state),
        ("start-in-the-result", w_unroll_with_start),
        ("start-in-the-result", w_unroll_early),
        ("one-too-few", w_unroll_few),
        ("one-too-few", w_unroll_from_one),
        ("one-tensor-for-all-states", w_unroll_shared),
        ("one-tensor-for-all-states", w_unroll_repeated),
        ("reads-backwards", w_unroll_backwards),
        ("reads-backwards", w_unroll_reversed_states),
        ("no-tanh", w_unroll_no_tanh),
        ("not-transposed", w_unroll_square),
        ("not-transposed", w_unroll_page),
        ("matrices-swapped", w_unroll_swapped),
        ("bias-not-once", w_unroll_two_biases),
        ("bias-not-once", w_unroll_no_bias),
        ("list-for-a-tensor", w_unroll_list),
        ("returns-in-the-loop", w_unroll_return),
        ("detached", w_unroll_no_grad),
        ("detached", w_unroll_numbers),
        ("float32-only", w_unroll_float),
        ("changes-its-input", w_unroll_in_place),
    ],
    ADDITIVE: [
        ("mask-forgotten", w_additive_no_mask),
        ("mask-after-softmax", w_additive_late_mask),
        ("mask-the-wrong-way-round", w_additive_inverted),
        ("score-of-zero", w_additive_zero),
        ("softmax-over-the-batch", w_additive_over_batch),
        ("scores-for-weights", w_additive_scores),
        ("scores-for-weights", w_additive_scores_bare),
        ("mean-for-weighted-sum", w_additive_mean),
        ("mean-for-weighted-sum", w_additive_mean_seen),
        ("not-added-up", w_additive_not_summed),
        ("axis-left-over", w_additive_axis),
        ("best-state-alone", w_additive_best),
        ("compared-for-states", w_additive_compared),
        ("pair-the-other-way-round", w_additive_swapped_pair),
        ("no-tanh", w_additive_no_tanh),
        ("no-tanh", w_additive_late_tanh),
        ("query-left-out", w_additive_no_query),
        ("products-multiplied", w_additive_product),
        ("products-multiplied", w_additive_dot),
        ("vector-left-out", w_additive_no_vector),
        ("matrices-swapped", w_additive_swapped),
        ("not-transposed", w_additive_page),
        ("query-of-another-sequence", w_additive_flat),
        ("query-of-another-sequence", w_additive_first_query),
        ("scaled", w_additive_scaled),
        ("scaled", w_additive_scaled_by_states),
        ("detached", w_additive_detached),
        ("detached", w_additive_weights_detached),
        ("float32-only", w_additive_float),
        ("changes-its-input", w_additive_changes),
    ],
    COST: [
        ("additions-too", w_cost_flops),
        ("one-product-only", w_cost_one_product),
        ("one-product-only", w_cost_one_matrix),
        ("layers-exchanged", w_cost_exchanged),
        ("length-not-squared", w_cost_linear),
        ("length-not-squared", w_cost_linear_matrix),
        ("size-not-squared", w_cost_vector),
        ("size-squared-in-attention", w_cost_projections),
        ("batch-left-out", w_cost_one_sequence),
        ("batch-waits", w_cost_batch_waits),
        ("attention-waits", w_cost_attention_waits),
        ("attention-waits", w_cost_attention_chain),
        ("products-for-steps", w_cost_closer),
        ("one-step-less", w_cost_less),
        ("one-step-less", w_cost_less_twice),
        ("convolution-waits", w_cost_slides),
        ("convolution-waits", w_cost_layers_wait),
        ("one-layer-only", w_cost_one_layer),
        ("rounded-down", w_cost_down),
        ("whole-kernel-a-layer", w_cost_whole_kernel),
        ("whole-kernel-a-layer", w_cost_whole_kernel_all),
        ("half-kernel-a-layer", w_cost_centred),
        ("path-of-powers", w_cost_logarithm),
        ("one-place-too-far", w_cost_far),
        ("kernel-not-counted", w_cost_no_kernel),
        ("kernel-not-counted", w_cost_kernel_twice),
        ("edges-left-out", w_cost_valid),
        ("edges-left-out", w_cost_edges),
        ("kernel-of-three", w_cost_three),
        ("order-of-the-three", w_cost_turned),
        ("order-of-the-three", w_cost_steps_first),
        ("no-int", w_cost_fraction),
        ("no-int", w_cost_part_of_a_layer),
    ],
    SPAN: [
        ("not-the-first-token-alone", w_span_one_run),
        ("not-the-first-token-alone", w_span_last_token),
        ("not-the-first-token-alone", w_span_all_tokens),
        ("not-the-first-token-alone", w_span_alias),
        ("forgets-for-good", w_span_first_gap),
        ("first-forgotten", w_span_break),
        ("places-counted", w_span_count),
        ("places-counted", w_span_count_less),
        ("one-too-many", w_span_plus_one),
        ("one-too-few", w_span_minus_one),
        ("first-for-last", w_span_first),
        ("share-of-one", w_span_absolute),
        ("share-of-another", w_span_of_the_largest),
        ("share-of-another", w_span_of_the_mean),
        ("squared", w_span_squared),
        ("another-size", w_span_absolute_sum),
        ("another-size", w_span_largest_number),
        ("signed", w_span_signed),
        ("lengths-compared", w_span_lengths),
        ("another-token", w_span_zero),
        ("another-token", w_span_added),
        ("the-other-way-round", w_span_below),
        ("tensor-for-a-number", w_span_tensor),
        ("no-int", w_span_float),
        ("changes-its-input", w_span_leaves_x),
    ],
    BUG: [
        ("bug-is-in", bug_as_given),
        ("turned-around-the-batch", w_both_batch),
        ("numbers-turned-around", w_both_numbers),
        ("not-turned-to-read", w_both_forwards),
        ("not-turned-to-read", w_both_not_turned_first),
        ("all-turned-around", w_both_whole),
        ("all-turned-around", w_both_left_turned),
        ("halves-exchanged", w_both_exchanged),
        ("added", w_both_sum),
        ("added", w_both_mean),
        ("side-by-side-on-another-axis", w_both_longer),
        ("side-by-side-on-another-axis", w_both_more),
        ("one-reader-twice", w_both_same),
        ("last-states-only", w_both_last),
        ("last-states-only", w_both_only_last),
        ("own-token-left-out", w_both_shifted),
    ],
}

MUTANTS = {
    STEP: [
        m_step_half,
        m_step_zeros,
        m_step_mean,
        m_step_negative,
        m_step_first,
        m_step_minus,
    ],
    UNROLL: [
        m_unroll_half,
        m_unroll_mean,
        m_unroll_batch_flipped,
        m_unroll_sum,
        m_unroll_twice,
        m_unroll_number,
    ],
    ADDITIVE: [
        m_additive_first_state,
        m_additive_half,
        m_additive_sharper,
        m_additive_even,
        m_additive_context_only,
        m_additive_log,
    ],
    COST: [
        m_cost_cube,
        m_cost_two_numbers,
        m_cost_text,
        m_cost_plus_one,
        m_cost_batch_square,
        m_cost_path_doubled,
    ],
    SPAN: [
        m_span_middle,
        m_span_list,
        m_span_negative,
        m_span_from_the_end,
        m_span_half_share,
        m_span_text,
    ],
    BUG: [
        m_both_half,
        m_both_zeros,
        m_both_tanh,
        m_both_left_only,
        m_both_negative,
        m_both_first_row,
    ],
}
