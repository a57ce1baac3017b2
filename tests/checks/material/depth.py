"""Answers to the assignment "depth" on which the grader itself is measured.

CORRECT must be accepted, WRONG must be rejected with the misconception that stands beside it, and
MUTANTS, which are wrong in a way that no misconception describes, must be rejected without a name.
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


def w_field_sum(kernel_size, num_layers, dilation=1):
    return sum(kernel_size for _ in range(num_layers))


def w_field_sum_gaps(kernel_size, num_layers, dilation=1):
    return sum(dilation * (kernel_size - 1) + 1 for _ in range(num_layers))


def w_field_sum_dilated(kernel_size, num_layers, dilation=1):
    total = 0
    for _ in range(num_layers):
        total += kernel_size * dilation
    return total


def w_field_power(kernel_size, num_layers, dilation=1):
    size = 1
    for _ in range(num_layers):
        size *= kernel_size
    return size


def w_field_power_gaps(kernel_size, num_layers, dilation=1):
    return pow(kernel_size + (kernel_size - 1) * (dilation - 1), num_layers)


def w_field_zero(kernel_size, num_layers, dilation=1):
    size = 0
    for _ in range(num_layers):
        size += (kernel_size - 1) * dilation
    return size


def w_field_whole(kernel_size, num_layers, dilation=1):
    size = 1
    for _ in range(num_layers):
        size += kernel_size * dilation
    return size


def w_field_whole_flat(kernel_size, num_layers, dilation=1):
    return num_layers * kernel_size + 1


def w_field_no_dilation(kernel_size, num_layers, dilation=1):
    return kernel_size + (num_layers - 1) * (kernel_size - 1)


def w_field_wavenet(kernel_size, num_layers, dilation=1):
    size = 1
    for layer in range(num_layers):
        size += (kernel_size - 1) * 2**layer
    return size


def w_field_wavenet_scaled(kernel_size, num_layers, dilation=1):
    return 1 + dilation * (kernel_size - 1) * (2**num_layers - 1)


def w_field_growing(kernel_size, num_layers, dilation=1):
    size, step = 1, 1
    for _ in range(num_layers):
        size += (kernel_size - 1) * step
        step *= dilation
    return size


def w_field_radius(kernel_size, num_layers, dilation=1):
    radius = kernel_size // 2
    return radius * dilation * num_layers + 1


def w_field_radius_only(kernel_size, num_layers, dilation=1):
    return sum(kernel_size // 2 * dilation for _ in range(num_layers))


def w_field_first_dilated(kernel_size, num_layers, dilation=1):
    first = (kernel_size - 1) * dilation + 1
    return first + (kernel_size - 1) * (num_layers - 1)


def w_field_rest_dilated(kernel_size, num_layers, dilation=1):
    size = kernel_size
    for _ in range(num_layers - 1):
        size += (kernel_size - 1) * dilation
    return size


def w_field_gap(kernel_size, num_layers, dilation=1):
    effective = kernel_size + (kernel_size - 1) * dilation
    return (effective - 1) * num_layers + 1


def w_field_one(kernel_size, num_layers, dilation=1):
    return dilation * (kernel_size - 1) + 1


def w_field_plus_dilation(kernel_size, num_layers, dilation=1):
    return (kernel_size - 1) * num_layers + dilation


def w_field_square(kernel_size, num_layers, dilation=1):
    side = field_loop(kernel_size, num_layers, dilation)
    return side * side


def w_field_float(kernel_size, num_layers, dilation=1):
    return 1 + 2 * num_layers * dilation * (kernel_size - 1) / 2


def w_field_halves(kernel_size, num_layers, dilation=1):
    reach = 0
    for _ in range(num_layers):
        reach += kernel_size // 2 * dilation
    return reach + 1 + reach


def m_field_tensor(kernel_size, num_layers, dilation=1):
    return torch.tensor(field_loop(kernel_size, num_layers, dilation))


def m_field_even(kernel_size, num_layers, dilation=1):
    return field_loop(kernel_size, num_layers, dilation) // 2 * 2


def m_field_plus_two(kernel_size, num_layers, dilation=1):
    return field_loop(kernel_size, num_layers, dilation) + 2


def m_field_swapped(kernel_size, num_layers, dilation=1):
    return 1 + kernel_size * (num_layers - 1) * dilation


def m_field_text(kernel_size, num_layers, dilation=1):
    return str(field_loop(kernel_size, num_layers, dilation))


def m_field_range(kernel_size, num_layers, dilation=1):
    half = num_layers * (kernel_size - 1) * dilation // 2
    return (-half, half)


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
    scores += torch.triu(torch.full_like(scores, -1e9), 1)
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


def w_previous_ahead(places, sharpness):
    return _previous(places, sharpness, below=-1)


def w_previous_even(places, sharpness):
    return _previous(places, 0.0)


def w_previous_itself(places, sharpness):
    return _previous(places, sharpness, below=0)


def w_previous_two(places, sharpness):
    return _previous(places, sharpness, below=2)


def w_previous_no_mask(places, sharpness):
    return _previous(places, sharpness, mask=False)


def w_previous_zero(places, sharpness):
    return _previous(
        places, sharpness, mask=False, moved=lambda scores: scores * torch.ones_like(scores).tril()
    )


def w_previous_late_mask(places, sharpness):
    return _previous(places, sharpness, mask=False).tril()


def w_previous_strict(places, sharpness):
    scores = _previous(places, sharpness, weigh=lambda scores, hidden: scores)
    return scores.masked_fill(torch.eye(len(scores)) > 0, -torch.inf).softmax(1)


def w_previous_strict_zero(places, sharpness):
    return w_previous_strict(places, sharpness).nan_to_num(0.0)


def w_previous_no_scale(places, sharpness):
    return _previous(places, sharpness, size=1)


def w_previous_length(places, sharpness):
    return _previous(places, sharpness, size=len(places))


def w_previous_by_k(places, sharpness):
    return _previous(places, sharpness, size=places.shape[1] ** 2)


def w_previous_twice(places, sharpness):
    return _previous(places, sharpness, times_key=sharpness)


def w_previous_soft(places, sharpness):
    return _previous(places, 1.0)


def w_previous_queries(places, sharpness):
    return _previous(places, sharpness, weigh=lambda scores, hidden: scores.softmax(-2))


def w_previous_scores(places, sharpness):
    return _previous(places, sharpness, mask=False, weigh=lambda scores, hidden: scores)


def w_previous_hard(places, sharpness):
    length = len(places)
    return torch.eye(length, dtype=places.dtype)[[0, *range(length - 1)]]


def w_previous_hard_zero(places, sharpness):
    return torch.diag(places.new_ones(len(places) - 1), -1)


def m_previous_reversed(places, sharpness):
    return _previous(places, sharpness).flip(0)


def m_previous_half(places, sharpness):
    return _previous(places, sharpness) / 2


def m_previous_blurred(places, sharpness):
    return _previous(places, sharpness / 3)


def m_previous_first(places, sharpness):
    return _previous(places, sharpness, moved=lambda s: s + 3 * (torch.arange(len(s)) == 0))


def m_previous_three_back(places, sharpness):
    return _previous(places, sharpness, below=3)


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
    model.eval()
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


def w_lens_no_norm(model, x):
    return torch.stack([model.output_proj(state) for state in _states(model, x)])


def w_lens_norm_at_the_end(model, x):
    *early, last = _states(model, x)
    return torch.stack([*map(model.output_proj, early), model.output_proj(model.norm(last))])


def w_lens_fed(model, x):
    read = [model.output_proj(model.norm(x))]
    for layer in model.layers:
        x = model.norm(layer(x))
        read += [model.output_proj(x)]
    return torch.stack(read)


def w_lens_fed_first(model, x):
    x = model.norm(x)
    read = [model.output_proj(x)]
    for layer in model.layers:
        x = model.norm(layer(x))
        read += [model.output_proj(x)]
    return torch.stack(read)


def w_lens_no_start(model, x):
    return lens_cat(model, x)[1:]


def w_lens_no_end(model, x):
    return lens_states_first(model, x)[:-1]


def w_lens_last(model, x):
    return model.output_proj(model.norm(_states(model, x)[-1]))


def w_lens_last_alone(model, x):
    return w_lens_last(model, x)[None]


def w_lens_from_start(model, x):
    read = [x, *(layer(x) for layer in model.layers)]
    return model.output_proj(model.norm(torch.stack(read)))


def w_lens_difference(model, x):
    states = torch.stack(_states(model, x))
    added = torch.cat([states[:1], states.diff(dim=0)])
    return model.output_proj(model.norm(added))


def w_lens_logit_difference(model, x):
    logits = lens_cat(model, x)
    return torch.cat([logits[:1], logits[1:] - logits[:-1]])


def w_lens_twice(model, x):
    states = [x]
    for layer in model.layers:
        states.append(states[-1] + layer(states[-1]))
    return torch.stack([model.output_proj(model.norm(state)) for state in states])


def w_lens_sum(model, x):
    return torch.cumsum(lens_cat(model, x), 0)


def w_lens_reversed(model, x):
    return lens_cat(model, x).flip(0)


def w_lens_backwards(model, x):
    turned = copy.copy(model)
    turned._modules = {**model._modules, "layers": model.layers[::-1]}
    return lens_cat(turned, x)


def w_lens_probabilities(model, x):
    return torch.softmax(lens_cat(model, x), dim=-1)


def w_lens_log(model, x):
    return F.log_softmax(lens_cat(model, x), dim=-1)


def w_lens_ids(model, x):
    return lens_cat(model, x).max(dim=-1).indices


def w_lens_axis(model, x):
    return lens_cat(model, x).transpose(0, 1)


def w_lens_joined(model, x):
    return lens_cat(model, x).flatten(0, 1)


def w_lens_list(model, x):
    return list(lens_cat(model, x))


def w_lens_place(model, x):
    return lens_cat(model, x)[..., -1, :]


def w_lens_return(model, x):
    read = [model.output_proj(model.norm(x))]
    for layer in model.layers:
        read.append(model.output_proj(model.norm(layer(x))))
        return torch.stack(read)
    return torch.stack(read)


def m_lens_centred(model, x):
    logits = lens_cat(model, x)
    return logits - logits.mean(-1, keepdim=True)


def m_lens_scaled(model, x):
    return lens_cat(model, x) / model.output_proj.weight.shape[1] ** 0.5


def m_lens_half(model, x):
    return lens_cat(model, x) * 0.5


def m_lens_zeros(model, x):
    return torch.zeros_like(lens_cat(model, x))


def m_lens_flipped(model, x):
    return lens_cat(model, x).flip(-1)


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


def w_damage_weight(query, key, value, mask):
    return attention.scaled_dot_product_attention(query, key, value, mask)[1].mean(0)


def w_damage_not_passed(query, key, value, mask):
    """The value is put to zero."""
    whole = _attend(query, key, value, mask)
    found = []
    for hidden in range(len(key)):
        rest = value.clone()
        rest[hidden] = 0
        found.append((_attend(query, key, rest, mask) - whole).square().mean())
    return torch.stack(found)


def w_damage_zero_weight(query, key, value, mask):
    return _damages(
        query,
        key,
        value,
        mask,
        without=lambda mask, hidden: mask,
        late=lambda w, h: w * (torch.arange(w.shape[1]) != h),
    )


def w_damage_zero_key(query, key, value, mask):
    """The key is put to zero: its score is 0."""
    whole = _attend(query, key, value, mask)
    found = []
    for hidden in range(len(key)):
        rest = key.clone()
        rest[hidden] = 0
        found.append((_attend(query, rest, value, mask) - whole).square().mean())
    return torch.stack(found)


def w_damage_alone(query, key, value, mask):
    whole = _attend(query, key, value, mask)
    return torch.stack([F.mse_loss(row.expand_as(whole), whole) for row in value])


def w_damage_for_good(query, key, value, mask):
    whole = _attend(query, key, value, mask)
    rest, found = mask.clone(), []
    for hidden in range(len(key)):
        rest[:, hidden] = 0
        found.append((_attend(query, key, value, rest) - whole).square().mean())
    return torch.stack(found)


def w_damage_no_mask(query, key, value, mask):
    return _damages(query, key, value, mask, lambda mask, h: _without(mask | True, h))


def w_damage_no_mask_at_all(query, key, value, mask):
    return damage_loop(query, key, value, torch.ones_like(mask))


def w_damage_last_query(query, key, value, mask):
    return damage_loop(query[-1:], key, value, mask[-1:])


def w_damage_hidden_from_one(query, key, value, mask):
    def without(mask, hidden):
        rest = mask.clone()
        rest[len(rest) - 1, hidden] = False
        return rest

    return _damages(query, key, value, mask, without)


def w_damage_sum(query, key, value, mask):
    return _damages(query, key, value, mask, size=lambda one, other: (one - other).pow(2).sum())


def w_damage_sum_features(query, key, value, mask):
    return damage_loop(query, key, value, mask) * value.shape[1]


def w_damage_signed(query, key, value, mask):
    return _damages(query, key, value, mask, size=lambda one, other: (one - other).mean())


def w_damage_signed_square(query, key, value, mask):
    return w_damage_signed(query, key, value, mask) ** 2


def w_damage_absolute(query, key, value, mask):
    return _damages(query, key, value, mask, size=F.l1_loss)


def w_damage_root(query, key, value, mask):
    return damage_loop(query, key, value, mask).sqrt()


def w_damage_rest(query, key, value, mask):
    return _damages(query, key, value, mask, size=lambda one, other: one.square().mean())


def w_damage_relative(query, key, value, mask):
    return damage_loop(query, key, value, mask) / _attend(query, key, value, mask).square().mean()


def w_damage_shares(query, key, value, mask):
    return F.normalize(damage_loop(query, key, value, mask), p=1, dim=0)


def w_damage_of_weights(query, key, value, mask):
    return damage_loop(query, key, torch.eye(len(key), dtype=query.dtype), mask)


def w_damage_no_scale(query, key, value, mask):
    return damage_loop(query * query.shape[1] ** 0.5, key, value, mask)


def w_damage_by_keys(query, key, value, mask):
    return damage_loop(query * (query.shape[1] / len(key)) ** 0.5, key, value, mask)


def m_damage_reversed(query, key, value, mask):
    return damage_loop(query, key, value, mask).flip(0)


def m_damage_half(query, key, value, mask):
    return damage_loop(query, key, value, mask) / 2


def m_damage_largest(query, key, value, mask):
    return _damages(query, key, value, mask, size=lambda one, other: (one - other).abs().amax())


def m_damage_first_feature(query, key, value, mask):
    return damage_loop(query, key, value[:, :1], mask)


def m_damage_fourth(query, key, value, mask):
    return _damages(query, key, value, mask, size=lambda one, other: (one - other).pow(4).mean())


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


def w_offset_weight(query, key, value, max_offset):
    past = causal_mask(len(query)).view(len(query), -1)
    w = attention.scaled_dot_product_attention(query, key, value, past)[1]
    return max(range(1, max_offset + 1), key=lambda step: float(w.diagonal(-step).sum()))


def w_offset_mean_weight(query, key, value, max_offset):
    past = causal_mask(len(query)).view(len(query), -1)
    w = attention.scaled_dot_product_attention(query, key, value, past)[1]
    return max(range(1, max_offset + 1), key=lambda step: float(w.diagonal(-step).mean()))


def w_offset_least(query, key, value, max_offset):
    return _offsets(query, key, value, max_offset, choose=min)


def w_offset_zero(query, key, value, max_offset):
    return _offsets(query, key, value, max_offset) - 1


def w_offset_not_the_last(query, key, value, max_offset):
    return offset_argmax(query, key, value, max(1, max_offset - 1))


def w_offset_far_end(query, key, value, max_offset):
    return max_offset + 1 - _offsets(query, key, value, max_offset)


def w_offset_further(query, key, value, max_offset):
    return _offsets(query, key, value, max_offset, lambda back, offset: back >= offset)


def w_offset_nearer(query, key, value, max_offset):
    return _offsets(
        query, key, value, max_offset, lambda back, offset: (back > 0) & (back <= offset)
    )


def w_offset_for_good(query, key, value, max_offset):
    length = len(query)
    mask = torch.ones(length, length).tril() == 1
    whole = _attend(query, key, value, mask)
    damage = []
    for step in range(1, max_offset + 1):
        mask.diagonal(-step).fill_(False)
        damage.append(F.mse_loss(_attend(query, key, value, mask), whole).item())
    return int(np.argmax(damage)) + 1


def w_offset_one_more(query, key, value, max_offset):
    return _offsets(query, key, value, max_offset) + 1


def w_offset_too_far(query, key, value, max_offset):
    return _offsets(query, key, value, max_offset, lambda back, offset: back == offset + 1)


def w_offset_place(query, key, value, max_offset):
    return _offsets(
        query,
        key,
        value,
        max_offset,
        lambda back, offset: (torch.arange(len(back))[None, :] == offset) & (back >= 0),
    )


def w_offset_last(query, key, value, max_offset):
    return _offsets(
        query, key, value, max_offset, size=lambda one, other: F.mse_loss(one[-1], other[-1])
    )


def w_offset_signed(query, key, value, max_offset):
    return _offsets(query, key, value, max_offset, size=lambda one, other: (one - other).mean())


def w_offset_signed_size(query, key, value, max_offset):
    return _offsets(
        query, key, value, max_offset, size=lambda one, other: (one - other).mean().square()
    )


def w_offset_rest(query, key, value, max_offset):
    return _offsets(query, key, value, max_offset, size=lambda one, other: one.square().sum())


def w_offset_future(query, key, value, max_offset):
    return _offsets(query, key, value, max_offset, see=lambda back: back > -len(back))


def w_offset_alone(query, key, value, max_offset):
    return _offsets(
        query, key, value, max_offset, lambda back, offset: (back != offset) & (back != 0)
    )


def w_offset_tensor(query, key, value, max_offset):
    return torch.tensor(_offsets(query, key, value, max_offset))


def m_offset_middle(query, key, value, max_offset):
    return max_offset // 2 + 1


def m_offset_most(query, key, value, max_offset):
    return max_offset


def m_offset_negative(query, key, value, max_offset):
    return -_offsets(query, key, value, max_offset)


def m_offset_list(query, key, value, max_offset):
    return [_offsets(query, key, value, max_offset)]


def m_offset_scaled_by_the_length(query, key, value, max_offset):
    wider = (query.shape[-1] / query.shape[0]) ** 0.5
    return offset_by_distance(query * wider, key, value, max_offset)


def m_offset_place(query, key, value, max_offset):
    return len(query) - 1 - _offsets(query, key, value, max_offset)


# =============================================================================================
# find_the_bug
# =============================================================================================


def bug_as_given(letters):
    places = torch.eye(len(letters)).to(letters)
    look_back = 20 * torch.diag(torch.ones(len(letters) - 1), -1).to(letters)
    past = torch.ones(len(letters), len(letters), device=letters.device).tril().bool()
    query, key, value = places @ look_back, places, letters
    before, _ = attention.scaled_dot_product_attention(query, key, value, past)
    query, key, value = 20 * letters, letters, before
    found, _ = attention.scaled_dot_product_attention(query, key, value, past)
    return found


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


def w_bug_itself(letters):
    return _layers(letters, ("letters", "letters", "letters"))[0]


def w_bug_brings_before(letters):
    return _layers(letters, ("letters", "before", "before"))[0]


def w_bug_asks_before(letters):
    return _layers(letters, ("before", "letters", "letters"))[0]


def w_bug_asks_and_looks_before(letters):
    return _layers(letters, ("before", "before", "letters"))[0]


def w_bug_places(letters):
    """Layer 1 looks one back once more."""
    return _layers(_layers(letters)[1])[1]


def w_bug_ahead(letters):
    return _layers(letters, below=-1)[0]


def w_bug_two_back(letters):
    return _layers(letters, below=2)[0]


def w_bug_future(letters):
    return _layers(letters, sees=(True, False))[0]


def w_bug_future_twice(letters):
    return _layers(letters, sees=(False, False))[0]


def w_bug_soft(letters):
    return _layers(letters, second=1.0)[0]


def w_bug_soft_first(letters):
    return _layers(letters, first=1.0)[0]


def w_bug_first_layer(letters):
    return _layers(letters)[1]


def w_bug_added(letters):
    return letters + _layers(letters)[0]


def w_bug_added_before(letters):
    found, before = _layers(letters)
    return before + found


def w_bug_rounded(letters):
    return torch.round(_layers(letters)[0])


def m_bug_sharper(letters):
    return _layers(letters, first=100.0, second=100.0)[0]


def m_bug_half(letters):
    return _layers(letters)[0] / 2


def m_bug_probabilities(letters):
    return _layers(letters)[0].softmax(-1)


def m_bug_last_row(letters):
    return _layers(letters)[0][-1]


def m_bug_reversed(letters):
    return _layers(letters)[0].flip(0)


def w_damage_row(query, key, value, mask):
    whole, found = _attend(query, key, value, mask), []
    for number in range(key.shape[0]):
        seen = mask.detach().clone()
        seen[number, :] = False
        found.append(F.mse_loss(_attend(query, key, value, seen), whole))
    return torch.stack(found)


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
    FIELD: [
        ("half-kernels", w_field_halves),
        ("kernels-added-up", w_field_sum),
        ("kernels-added-up", w_field_sum_gaps),
        ("kernels-added-up", w_field_sum_dilated),
        ("kernels-multiplied", w_field_power),
        ("kernels-multiplied", w_field_power_gaps),
        ("own-place-left-out", w_field_zero),
        ("whole-kernel-a-layer", w_field_whole),
        ("whole-kernel-a-layer", w_field_whole_flat),
        ("no-dilation", w_field_no_dilation),
        ("dilation-doubles", w_field_wavenet),
        ("dilation-doubles", w_field_wavenet_scaled),
        ("dilation-doubles", w_field_growing),
        ("one-side-only", w_field_radius),
        ("one-side-only", w_field_radius_only),
        ("dilation-once", w_field_first_dilated),
        ("dilation-once", w_field_rest_dilated),
        ("dilation-as-gap", w_field_gap),
        ("one-layer", w_field_one),
        ("places-read", w_field_plus_dilation),
        ("on-a-plane", w_field_square),
        ("no-int", w_field_float),
    ],
    PREVIOUS: [
        ("looks-ahead", w_previous_ahead),
        ("looks-ahead", w_previous_even),
        ("looks-at-itself", w_previous_itself),
        ("two-back", w_previous_two),
        ("no-mask", w_previous_no_mask),
        ("no-mask", w_previous_zero),
        ("mask-after-softmax", w_previous_late_mask),
        ("itself-hidden", w_previous_strict),
        ("itself-hidden", w_previous_strict_zero),
        ("no-scale", w_previous_no_scale),
        ("scaled-by-the-length", w_previous_length),
        ("scaled-by-the-length", w_previous_by_k),
        ("scaled-twice", w_previous_twice),
        ("no-sharpness", w_previous_soft),
        ("softmax-over-queries", w_previous_queries),
        ("scores-for-weights", w_previous_scores),
        ("all-weight-on-one", w_previous_hard),
        ("all-weight-on-one", w_previous_hard_zero),
    ],
    LENS: [
        ("no-norm", w_lens_no_norm),
        ("no-norm", w_lens_norm_at_the_end),
        ("norm-stays-in-the-stream", w_lens_fed),
        ("norm-stays-in-the-stream", w_lens_fed_first),
        ("start-left-out", w_lens_no_start),
        ("end-left-out", w_lens_no_end),
        ("last-only", w_lens_last),
        ("last-only", w_lens_last_alone),
        ("each-layer-from-the-start", w_lens_from_start),
        ("what-a-layer-adds", w_lens_difference),
        ("what-a-layer-adds", w_lens_logit_difference),
        ("added-twice", w_lens_twice),
        ("logits-added-up", w_lens_sum),
        ("other-way-round", w_lens_reversed),
        ("other-way-round", w_lens_backwards),
        ("probabilities", w_lens_probabilities),
        ("probabilities", w_lens_log),
        ("ids-for-logits", w_lens_ids),
        ("states-on-another-axis", w_lens_axis),
        ("states-on-another-axis", w_lens_joined),
        ("list-for-a-tensor", w_lens_list),
        ("last-place-only", w_lens_place),
        ("returns-in-the-loop", w_lens_return),
    ],
    DAMAGE: [
        ("weight-for-damage", w_damage_weight),
        ("weight-not-passed-on", w_damage_not_passed),
        ("weight-not-passed-on", w_damage_zero_weight),
        ("score-of-zero", w_damage_zero_key),
        ("all-but-the-key", w_damage_alone),
        ("hidden-for-good", w_damage_for_good),
        ("mask-forgotten", w_damage_no_mask),
        ("mask-forgotten", w_damage_no_mask_at_all),
        ("one-query-only", w_damage_last_query),
        ("query-for-key", w_damage_row),
        ("one-query-only", w_damage_hidden_from_one),
        ("sum-for-mean", w_damage_sum),
        ("sum-for-mean", w_damage_sum_features),
        ("averaged-before-squared", w_damage_signed),
        ("averaged-before-squared", w_damage_signed_square),
        ("not-squared", w_damage_absolute),
        ("not-squared", w_damage_root),
        ("only-what-is-left", w_damage_rest),
        ("share-of-all", w_damage_relative),
        ("share-of-all", w_damage_shares),
        ("weights-compared", w_damage_of_weights),
        ("no-scale", w_damage_no_scale),
        ("scaled-by-the-keys", w_damage_by_keys),
    ],
    OFFSET: [
        ("largest-weight", w_offset_weight),
        ("largest-weight", w_offset_mean_weight),
        ("least-damage", w_offset_least),
        ("counted-from-zero", w_offset_zero),
        ("largest-not-tried", w_offset_not_the_last),
        ("counted-from-the-far-end", w_offset_far_end),
        ("all-further-back", w_offset_further),
        ("all-nearer", w_offset_nearer),
        ("all-nearer", w_offset_for_good),
        ("one-too-far", w_offset_one_more),
        ("one-too-far", w_offset_too_far),
        ("key-by-its-place", w_offset_place),
        ("last-query-only", w_offset_last),
        ("averaged-before-squared", w_offset_signed),
        ("averaged-before-squared", w_offset_signed_size),
        ("only-what-is-left", w_offset_rest),
        ("future-seen", w_offset_future),
        ("only-this-offset", w_offset_alone),
        ("tensor-for-a-number", w_offset_tensor),
    ],
    BUG: [
        ("bug-is-in", bug_as_given),
        ("finds-itself", w_bug_itself),
        ("brings-the-letter-before", w_bug_brings_before),
        ("asks-with-the-letter-before", w_bug_asks_before),
        ("asks-with-the-letter-before", w_bug_asks_and_looks_before),
        ("looks-for-places", w_bug_places),
        ("looks-ahead", w_bug_ahead),
        ("two-back", w_bug_two_back),
        ("future-seen", w_bug_future),
        ("future-seen", w_bug_future_twice),
        ("not-sharp", w_bug_soft),
        ("not-sharp", w_bug_soft_first),
        ("first-layer-only", w_bug_first_layer),
        ("letter-added", w_bug_added),
        ("letter-added", w_bug_added_before),
        ("chosen", w_bug_rounded),
    ],
}

MUTANTS = {
    FIELD: [
        m_field_tensor,
        m_field_even,
        m_field_plus_two,
        m_field_swapped,
        m_field_text,
        m_field_range,
    ],
    PREVIOUS: [
        m_previous_reversed,
        m_previous_half,
        m_previous_blurred,
        m_previous_first,
        m_previous_three_back,
    ],
    LENS: [m_lens_centred, m_lens_scaled, m_lens_half, m_lens_zeros, m_lens_flipped],
    DAMAGE: [
        m_damage_reversed,
        m_damage_half,
        m_damage_largest,
        m_damage_first_feature,
        m_damage_fourth,
    ],
    OFFSET: [
        m_offset_middle,
        m_offset_most,
        m_offset_negative,
        m_offset_list,
        m_offset_place,
        m_offset_scaled_by_the_length,
    ],
    BUG: [
        m_bug_sharper,
        m_bug_half,
        m_bug_probabilities,
        m_bug_last_row,
        m_bug_reversed,
    ],
}
