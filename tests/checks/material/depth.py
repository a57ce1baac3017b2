"""Answers to the assignment "depth" on which the grader itself is measured.

CORRECT must be accepted, WRONG must be rejected with the misconception that stands beside it, and
MUTANTS, which have no name and are harder to notice than any generated mutant, without one.
They are written apart from the checks.
"""

from __future__ import annotations

import copy

import numpy as np
import torch
import torch.nn.functional as F

from transformer_ref import attention
from transformer_ref.masks import causal_mask

FIELD = "depth.cnn_receptive_field"
PREVIOUS = "depth.previous_token_weights"
LENS = "depth.logit_lens"
DAMAGE = "depth.damage_by_key"
OFFSET = "depth.needed_offset"
BUG = "depth.find_the_bug"

# =============================================================================================
# cnn_receptive_field
# =============================================================================================


def field_formula(kernel_size, num_layers, dilation=1):
    return num_layers * (kernel_size - 1) * dilation + 1


def field_loop(kernel_size, num_layers, dilation=1):
    size = 1
    for _ in range(num_layers):
        size += dilation * (kernel_size - 1)
    return size


def field_recursive(kernel_size, num_layers, dilation=1):
    if num_layers == 0:
        return 1
    below = field_recursive(kernel_size, num_layers - 1, dilation)
    return below + (kernel_size - 1) * dilation


def field_set(kernel_size, num_layers, dilation=1):
    reached = {0}
    for _ in range(num_layers):
        reached = {place + step * dilation for place in reached for step in range(kernel_size)}
    return max(reached) - min(reached) + 1


def field_effective(kernel_size, num_layers, dilation=1):
    effective = dilation * (kernel_size - 1) + 1
    print("effective kernel", effective)
    return effective + (num_layers - 1) * (effective - 1)


def field_gradient(kernel_size, num_layers, dilation=1):
    step = (kernel_size - 1) * dilation
    length = 1 + num_layers * step + 6
    x = torch.ones(1, 1, length, dtype=torch.float64, requires_grad=True)
    y = x
    for _ in range(num_layers):
        weight = torch.full((1, 1, kernel_size), 1.0 / kernel_size, dtype=torch.float64)
        y = F.conv1d(y, weight, dilation=dilation)
    y[0, 0, 0].backward()
    touched = x.grad[0, 0].nonzero().flatten()
    return int(touched.max() - touched.min()) + 1


def field_numpy(kernel_size, num_layers, dilation=1):
    return np.int64(1) + np.sum([(kernel_size - 1) * dilation] * num_layers)


def m_field_even(kernel_size, num_layers, dilation=1):
    return field_loop(kernel_size, num_layers, dilation) // 2 * 2


# =============================================================================================
# previous_token_weights
# =============================================================================================


def _previous(
    places, sharpness, below=1, size=None, mask=True, moved=None, weigh=None, times_key=1.0
):
    """A head in which what is wrong can be said; each token fits the place `below` it."""
    length, count = places.shape
    spot = places.argmax(dim=-1)
    fits = spot[:, None] - below == spot[None, :]
    scores = (
        fits.to(places.dtype) * sharpness * times_key / (count if size is None else size) ** 0.5
    )
    if moved is not None:
        scores = moved(scores)
    hidden = torch.arange(length)[None, :] > torch.arange(length)[:, None]
    if mask:
        scores = torch.where(hidden, torch.full_like(scores, -torch.inf), scores)
    return torch.softmax(scores, -1) if weigh is None else weigh(scores, hidden)


def previous_by_comparison(places, sharpness):
    return _previous(places, sharpness)


def previous_shifted(places, sharpness):
    """The query is the place moved by hand, without a matrix."""
    query = torch.zeros_like(places)
    query[:, :-1] = places[:, 1:] * sharpness
    return attention.scaled_dot_product_attention(
        query, places, places, causal_mask(len(places)).view(len(places), -1)
    )[1]


def previous_einsum(places, sharpness):
    count = places.shape[1]
    matrix = places.new_zeros(count, count)
    for place in range(1, count):
        matrix[place, place - 1] = sharpness
    scores = torch.einsum("tj,jk,sk->ts", places, matrix, places) * count**-0.5
    scores += torch.triu(torch.full_like(scores, torch.finfo(scores.dtype).min), 1)
    return F.softmax(scores, dim=1)


def previous_closed_form(places, sharpness):
    length, count = places.shape
    big = float(np.exp(sharpness / np.sqrt(count)))
    rows = np.zeros((length, length))
    for row in range(length):
        rows[row, : row + 1] = 1.0
        if row:
            rows[row, row - 1] = big
    return torch.tensor(rows / rows.sum(1, keepdims=True), dtype=places.dtype)


def previous_moved_keys(places, sharpness):
    """The keys move forwards, and the queries stay."""
    keys = torch.cat([places.new_zeros(len(places), 1), places[:, :-1]], dim=1)
    scores = (sharpness * places) @ keys.mT / places.size(-1) ** 0.5
    return scores.where(torch.ones_like(scores).tril() > 0, -torch.inf).softmax(1)


# =============================================================================================
# logit_lens
# =============================================================================================


def _states(model, x):
    found = [x]
    for layer in model.layers:
        found = [*found, layer(found[-1])]
    return found


def lens_states_first(model, x):
    return model.output_proj(model.norm(torch.stack(_states(model, x))))


def lens_filled(model, x):
    with torch.no_grad():
        rows = len(model.layers) + 1
        out = x.new_empty(rows, *x.shape[:-1], model.output_proj.weight.shape[0])
        for row in range(rows):
            state = x
            for layer in model.layers[:row]:
                state = layer(state)
            out[row] = model.output_proj(model.norm(state))
    return out


def lens_cat(model, x):
    read = [model.output_proj(model.norm(state)).unsqueeze(0) for state in _states(model, x)]
    return torch.cat(read, dim=0)


def lens_hooks(model, x):
    kept = [x]
    handles = [
        layer.register_forward_hook(lambda module, given, result: kept.append(result))
        for layer in model.layers
    ]
    state = x
    for layer in model.layers:
        state = layer(state)
    for handle in handles:
        handle.remove()
    return torch.stack([F.linear(model.norm(s), model.output_proj.weight) for s in kept])


def lens_copied(model, x):
    mine = copy.deepcopy(model)
    return lens_states_first(mine, x.clone())


def m_lens_eval(model, x):
    model.eval()
    return lens_cat(model, x)


# =============================================================================================
# damage_by_key
# =============================================================================================


def _attend(query, key, value, mask, late=None):
    scores = (query[:, None] * key[None]).sum(-1) / query.shape[1] ** 0.5
    weights = torch.softmax(torch.where(mask, scores, float("-inf")), dim=1)
    return (weights if late is None else late(weights)) @ value


def _without(mask, hidden):
    return mask & (torch.arange(mask.shape[1]) != hidden)


def _damages(query, key, value, mask, without=_without, size=None, late=None):
    """Damage in which what is wrong can be said."""
    size = size or (lambda one, other: F.mse_loss(one, other))
    whole = _attend(query, key, value, mask)
    return torch.stack(
        [
            size(
                _attend(
                    query, key, value, without(mask, h), late=late and (lambda w, h=h: late(w, h))
                ),
                whole,
            )
            for h in range(key.shape[0])
        ]
    )


def damage_loop(query, key, value, mask):
    return _damages(query, key, value, mask)


def damage_deleted(query, key, value, mask):
    """A hidden key is taken out of the tensors."""
    whole, _ = attention.scaled_dot_product_attention(query, key, value, mask)
    found = []
    for hidden in range(len(key)):
        rest = [each for each in range(len(key)) if each != hidden]
        output, _ = attention.scaled_dot_product_attention(
            query, key[rest], value[rest], mask[:, rest]
        )
        found.append(((output - whole) ** 2).mean().item())
    return torch.tensor(found)


def damage_batched(query, key, value, mask):
    count = len(key)
    masks = mask & ~torch.eye(count, dtype=torch.bool)[:, None]
    outputs = F.scaled_dot_product_attention(
        query.expand(count, -1, -1),
        key.expand(count, -1, -1),
        value.expand(count, -1, -1),
        masks,
    )
    whole = F.scaled_dot_product_attention(query[None], key[None], value[None], mask)
    return (outputs - whole).pow(2).mean((1, 2))


def damage_closed_form(query, key, value, mask):
    _, w = attention.scaled_dot_product_attention(
        query.double(), key.double(), value.double(), mask
    )
    output = w @ value.double()
    moved = (w / (1 - w))[..., None] * (output[:, None] - value)
    return moved.square().mean(dim=(0, 2))


def damage_renormalized(query, key, value, mask):
    _, w = attention.scaled_dot_product_attention(query, key, value, mask)
    found = []
    for hidden in range(len(key)):
        rest = w.clone()
        rest[:, hidden] = 0
        rest = rest / rest.sum(dim=-1, keepdim=True)
        found.append((rest @ value - w @ value).square().mean())
    return torch.stack(found)


# =============================================================================================
# needed_offset
# =============================================================================================


def _offsets(query, key, value, max_offset, hide=None, size=None, see=None, choose=max):
    """The choice, in which what is wrong can be said."""
    length = len(query)
    back = torch.arange(length)[:, None] - torch.arange(length)[None, :]
    see = back >= 0 if see is None else see(back)
    hide = hide or (lambda back, offset: back == offset)
    size = size or (lambda one, other: F.mse_loss(one, other))
    whole = _attend(query, key, value, back >= 0)
    damage = {}
    for offset in range(1, max_offset + 1):
        output = _attend(query, key, value, see & ~hide(back, offset))
        damage[offset] = float(size(output, whole))
    return choose(damage, key=damage.get)


def offset_by_distance(query, key, value, max_offset):
    return _offsets(query, key, value, max_offset)


def offset_argmax(query, key, value, max_offset):
    length = query.shape[0]
    past = causal_mask(length).view(length, length)
    whole, _ = attention.scaled_dot_product_attention(query, key, value, past)
    damage = torch.zeros(max_offset)
    for step in range(max_offset):
        mask = past.clone()
        for row in range(step + 1, length):
            mask[row, row - step - 1] = False
        output, _ = attention.scaled_dot_product_attention(query, key, value, mask)
        damage[step] = torch.sum((output - whole) ** 2)
    return int(damage.argmax()) + 1


def offset_closed_form(query, key, value, max_offset):
    past = torch.ones(len(query), len(query)).tril() > 0
    output, w = attention.scaled_dot_product_attention(query, key, value, past)
    size = (output[:, None] - value).square().sum(-1) * (w / (1 - w)).square()
    return max(range(1, max_offset + 1), key=lambda step: size.diagonal(-step).sum().item())


def offset_batched(query, key, value, max_offset):
    length = len(query)
    past = torch.ones(length, length, dtype=torch.bool).tril()
    masks = torch.stack(
        [past ^ torch.diag(torch.ones(length - n), -n).bool() for n in range(1, max_offset + 1)]
    )
    many = [each.expand(max_offset, -1, -1) for each in (query, key, value)]
    outputs = F.scaled_dot_product_attention(*many, attn_mask=masks)
    whole = F.scaled_dot_product_attention(query[None], key[None], value[None], is_causal=True)
    return np.argmax((outputs - whole).square().sum((1, 2)).numpy()) + 1


def offset_numpy(query, key, value, max_offset):
    """Row by row, without the key, by its number."""
    q, k, v = (each.double().numpy() for each in (query, key, value))
    damage = np.zeros(max_offset + 1)
    for t in range(len(q)):
        e = np.exp(k[: t + 1] @ q[t] / np.sqrt(q.shape[1]))
        whole = e @ v[: t + 1] / e.sum()
        for offset in range(1, min(t, max_offset) + 1):
            rest = np.delete(np.arange(t + 1), t - offset)
            damage[offset] += ((e[rest] @ v[rest] / e[rest].sum() - whole) ** 2).sum()
    return int(damage[1:].argmax()) + 1


def w_offset_rest(query, key, value, max_offset):
    return _offsets(query, key, value, max_offset, size=lambda one, other: one.square().sum())


def m_offset_over_its_queries(query, key, value, max_offset):
    past = torch.ones(len(query), len(query)).tril() > 0
    output, w = attention.scaled_dot_product_attention(query, key, value, past)
    size = (output[:, None] - value).square().mean(-1) * (w / (1 - w)).square()
    return max(range(1, max_offset + 1), key=lambda step: size.diagonal(-step).mean().item())


# =============================================================================================
# find_the_bug
# =============================================================================================


def _layers(letters, parts=("letters", "before", "letters"), first=20.0, second=20.0, **more):
    """Two layers: of what the second one makes its query, key and value can be said."""
    below, sees = more.get("below", 1), more.get("sees", (True, True))
    spots = torch.arange(len(letters), device=letters.device)
    past = spots[:, None] >= spots[None, :]
    fits = (spots[:, None] - below == spots[None, :]).to(letters.dtype)
    scores = fits * first / len(letters) ** 0.5
    if sees[0]:
        scores = scores.masked_fill(~past, -torch.inf)
    before = scores.softmax(-1) @ letters
    which = {"letters": letters, "before": before}
    query, key, value = (which[part] for part in parts)
    scores = second * (query @ key.mT) / letters.shape[1] ** 0.5
    if sees[1]:
        scores = scores.masked_fill(~past, -torch.inf)
    return scores.softmax(-1) @ value, before


def induction_written_out(letters):
    return _layers(letters)[0]


def induction_fused(letters):
    places = torch.eye(letters.shape[0], dtype=letters.dtype, device=letters.device)
    moved = 20 * torch.cat([torch.zeros_like(places[:1]), places[:-1]])
    before = F.scaled_dot_product_attention(
        moved[None], places[None], letters[None], is_causal=True
    )
    found = F.scaled_dot_product_attention(
        20 * letters[None], before, letters[None], is_causal=True
    )
    return found[0]


def induction_double(letters):
    return _layers(letters.double())[0].to(letters.dtype)


def induction_sharp_keys(letters):
    """The 20 is in the keys."""
    length = len(letters)
    places = torch.eye(length).type_as(letters)
    past = causal_mask(length).view(length, length)
    key = 20 * torch.roll(places, 1, dims=1)
    key[:, 0] = 0
    before, _ = attention.scaled_dot_product_attention(places, key, letters, past)
    return attention.scaled_dot_product_attention(letters, 20 * before, letters, past)[0]


def induction_numpy(letters):
    """Row by row."""
    one_hot, count = letters.double().numpy(), letters.shape[1]
    before, found = np.zeros_like(one_hot), np.zeros_like(one_hot)
    for t in range(len(one_hot)):
        e = np.ones(t + 1)
        if t:
            e[t - 1] = np.exp(20 / np.sqrt(len(one_hot)))
        before[t] = e @ one_hot[: t + 1] / e.sum()
        e = np.exp(20 * before[: t + 1] @ one_hot[t] / np.sqrt(count))
        found[t] = e @ one_hot[: t + 1] / e.sum()
    return torch.from_numpy(found).to(letters)


CORRECT = {
    FIELD: [
        field_formula,
        field_loop,
        field_recursive,
        field_set,
        field_effective,
        field_gradient,
        field_numpy,
    ],
    PREVIOUS: [
        previous_by_comparison,
        previous_shifted,
        previous_einsum,
        previous_closed_form,
        previous_moved_keys,
    ],
    LENS: [lens_states_first, lens_filled, lens_cat, lens_hooks, lens_copied],
    DAMAGE: [
        damage_loop,
        damage_deleted,
        damage_batched,
        damage_closed_form,
        damage_renormalized,
    ],
    OFFSET: [offset_by_distance, offset_argmax, offset_closed_form, offset_batched, offset_numpy],
    BUG: [
        induction_written_out,
        induction_fused,
        induction_double,
        induction_sharp_keys,
        induction_numpy,
    ],
}

WRONG = {
    OFFSET: [
        ("only-what-is-left", w_offset_rest),
    ],
}

MUTANTS = {
    FIELD: [m_field_even],
    LENS: [m_lens_eval],
    OFFSET: [m_offset_over_its_queries],
}
