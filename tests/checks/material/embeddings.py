"""Answers to the assignment "embeddings" on which the grader itself is measured.

CORRECT must be accepted, WRONG must be rejected with the misconception that stands beside it, and
MUTANTS, which are wrong in a way that no misconception describes, must be rejected without a name.
They are written apart from the checks, in the ways in which people write embeddings.
"""

# ruff: noqa: C416, RUF005, SIM105

from __future__ import annotations

import copy
import heapq
import itertools
import math
import random
import warnings
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

# =============================================================================================
# one_hot
# =============================================================================================


def hot_scatter(ids, vocab_size):
    out = torch.zeros(*ids.shape, vocab_size, device=ids.device)
    return out.scatter_(-1, ids.unsqueeze(-1), 1.0)


def hot_eye(ids, vocab_size):
    return torch.eye(vocab_size, device=ids.device)[ids]


def hot_compare(ids, vocab_size):
    return (ids[..., None] == torch.arange(vocab_size, device=ids.device)).to(torch.float32)


def hot_loop(ids, vocab_size):
    flat = ids.reshape(-1)
    rows = torch.zeros(flat.numel(), vocab_size, device=ids.device)
    for number, each in enumerate(flat.tolist()):
        rows[number, each] = 1
    return rows.view(*ids.shape, vocab_size)


def hot_flat_index(ids, vocab_size):
    print("ids", ids.shape)
    warnings.warn("a flat index", UserWarning, stacklevel=2)
    n = ids.numel()
    flat = torch.zeros(n * vocab_size, device=ids.device)
    flat[torch.arange(n, device=ids.device) * vocab_size + ids.flatten()] = 1.0
    return flat.reshape(tuple(ids.shape) + (vocab_size,))


def hot_numpy(ids, vocab_size):
    rows = np.eye(vocab_size, dtype=np.float32)[ids.cpu().numpy()]
    return torch.from_numpy(rows).to(ids.device)


def hot_embedding(ids, vocab_size):
    return F.embedding(ids, torch.eye(vocab_size, device=ids.device))


def hot_stack(ids, vocab_size):
    return torch.stack([(ids == v).float() for v in range(vocab_size)], dim=-1)


def w_hot_long(ids, vocab_size):
    return torch.zeros(*ids.shape, vocab_size, dtype=torch.long).scatter(-1, ids[..., None], 1)


def w_hot_compare_bool(ids, vocab_size):
    return ids[..., None] == torch.arange(vocab_size)


def w_hot_numpy_double(ids, vocab_size):
    return torch.from_numpy(np.eye(vocab_size)[ids.numpy()])


def w_hot_minus_one(ids, vocab_size):
    rows = torch.zeros(ids.numel(), vocab_size)
    for n, each in enumerate(ids.flatten().tolist()):
        rows[n][each - 1] = 1
    return rows.view(*ids.shape, -1)


def w_hot_plus_one(ids, vocab_size):
    rows = torch.zeros(*ids.shape, vocab_size)
    return rows.scatter_(-1, (ids + 1).unsqueeze(-1), 1.0)


def w_hot_max(ids, vocab_size):
    size = ids.max() + 1
    return hot_scatter(ids, int(size))


def w_hot_first_axis(ids, vocab_size):
    return torch.stack([ids.eq(v).float() for v in range(vocab_size)])


def w_hot_swapped(ids, vocab_size):
    return (torch.arange(vocab_size)[:, None] == ids.unsqueeze(-2)).float()


def w_hot_flat(ids, vocab_size):
    rows = torch.zeros(ids.numel(), vocab_size)
    rows[torch.arange(ids.numel()), ids.reshape(-1)] = 1
    return rows


def w_hot_all_columns(ids, vocab_size):
    out = torch.zeros(list(ids.shape) + [vocab_size])
    for each in ids.flatten():
        out[..., each] = 1
    return out


def w_hot_rows_of_sequence(ids, vocab_size):
    out = torch.zeros(*ids.shape, vocab_size)
    for sequence, rows in zip(
        ids.reshape(-1, ids.shape[-1]), out.view(-1, ids.shape[-1], vocab_size), strict=True
    ):
        rows[:, sequence] = 1
    return out


def w_hot_bag(ids, vocab_size):
    out = torch.zeros(*ids.shape[:-1], vocab_size)
    return out.scatter_(-1, ids, 1.0)


def w_hot_counts(ids, vocab_size):
    out = torch.zeros(*ids.shape[:-1], vocab_size)
    return out.scatter_add_(-1, ids, torch.ones(ids.shape))


def w_hot_value(ids, vocab_size):
    out = torch.zeros(*ids.shape, vocab_size)
    return out.scatter_(-1, ids.unsqueeze(-1), ids.float().unsqueeze(-1))


def w_hot_cold(ids, vocab_size):
    return ids.unsqueeze(-1).ne(torch.arange(vocab_size)).float()


def w_hot_no_zero(ids, vocab_size):
    out = hot_scatter(ids, vocab_size)
    out[..., 0] = 0
    return out


def w_hot_thermometer(ids, vocab_size):
    return hot_scatter(ids, vocab_size).flip(-1).cumsum(-1).flip(-1)


def w_hot_list(ids, vocab_size):
    return [[float(v == each) for v in range(vocab_size)] for each in ids.flatten().tolist()]


def w_hot_in_place(ids, vocab_size):
    ids.unsqueeze_(-1)
    return (ids == torch.arange(vocab_size)).float()


def w_hot_one_axis(ids, vocab_size):
    rows = torch.zeros(ids.size(0), vocab_size)
    rows[range(ids.size(0)), ids] = 1
    return rows


def w_hot_one_axis_scatter(ids, vocab_size):
    return torch.zeros(len(ids), vocab_size).scatter(1, ids.view(len(ids), -1, 1), 1.0)


def m_hot_softened(ids, vocab_size):
    return hot_eye(ids, vocab_size) * 0.9 + 0.1 / vocab_size


def m_hot_minus(ids, vocab_size):
    return 2 * hot_eye(ids, vocab_size) - 1


def m_hot_reversed_columns(ids, vocab_size):
    return hot_eye(vocab_size - 1 - ids, vocab_size)


def m_hot_none(ids, vocab_size):
    hot_eye(ids, vocab_size)


def m_hot_extra_column(ids, vocab_size):
    return hot_eye(ids, vocab_size + 1)


def m_hot_first_only(ids, vocab_size):
    out = hot_eye(ids, vocab_size).clone()
    out[..., 1:, :] = 0
    return out


def m_hot_half(ids, vocab_size):
    return hot_eye(ids, vocab_size).half()


# =============================================================================================
# embed
# =============================================================================================


def embed_index(ids, weight):
    return weight[ids] * math.sqrt(weight.size(-1))


def embed_functional(ids, weight):
    return F.embedding(ids, weight) * weight.shape[1] ** 0.5


def embed_product(ids, weight):
    hot = F.one_hot(ids, weight.shape[0]).to(weight.dtype)
    return hot @ weight * np.sqrt(weight.shape[1])


def embed_module(ids, weight):
    print("look-up")
    warnings.warn("scaled first", UserWarning, stacklevel=2)
    scaled = weight * torch.tensor(weight.shape[1]).sqrt()
    return torch.index_select(scaled, 0, ids.reshape(-1)).view(*ids.shape, -1)


def embed_loop(ids, weight):
    root = math.sqrt(len(weight[0]))
    rows = [weight[each] * root for each in ids.flatten().tolist()]
    return torch.stack(rows).reshape(*ids.shape, weight.shape[1])


def embed_double(ids, weight):
    found = weight.double()[ids]
    found = found * math.sqrt(weight.shape[1])
    return found.to(weight.dtype)


def embed_gather(ids, weight):
    index = ids.reshape(-1, 1).expand(-1, weight.shape[1])
    rows = weight.gather(0, index).reshape(ids.shape + weight.shape[1:])
    return rows.mul(weight.shape[1] ** 0.5)


def embed_einsum(ids, weight):
    hot = torch.eye(len(weight), dtype=weight.dtype, device=weight.device)[ids]
    return torch.einsum("...v,vd->...d", hot, weight) * math.sqrt(weight.shape[-1])


class Embed(nn.Module):
    def forward(self, ids, weight):
        rows = F.embedding(ids, weight)
        rows *= math.sqrt(rows.size(-1))
        return rows


def w_embed_plain(ids, weight):
    return F.embedding(ids, weight)


def w_embed_d(ids, weight):
    return F.embedding(ids, weight) * weight.shape[-1]


def w_embed_twice(ids, weight):
    root = weight.shape[1] ** 0.5
    return (weight * root)[ids] * root


def w_embed_divided(ids, weight):
    return weight[ids].div(weight.shape[1] ** 0.5)


def w_embed_vocab(ids, weight):
    return F.embedding(ids, weight) * math.sqrt(len(weight))


def w_embed_length(ids, weight):
    rows = F.embedding(ids, weight)
    return rows * rows.shape[-2] ** 0.5


def w_embed_float_ids(ids, weight):
    return torch.matmul(ids.type_as(weight), weight) * math.sqrt(weight.shape[1])


def w_embed_e_times_i(ids, weight):
    return torch.matmul(weight, ids.float().to(weight.dtype)) * weight.shape[1] ** 0.5


def w_embed_integer_rows(ids, weight):
    return torch.matmul(F.one_hot(ids, weight.size(0)), weight) * weight.size(1) ** 0.5


def w_embed_times_ids(ids, weight):
    return F.embedding(ids, weight) * ids[..., None] * math.sqrt(weight.shape[1])


def w_embed_columns(ids, weight):
    return weight.T[ids] * math.sqrt(weight.shape[1])


def w_embed_columns_size(ids, weight):
    table = weight.t()
    return table[ids] * math.sqrt(table.shape[1])


def w_embed_shifted(ids, weight):
    return torch.stack([weight[i - 1] for i in ids.flatten()]).view(*ids.shape, -1) * math.sqrt(
        weight.shape[1]
    )


def w_embed_shifted_up(ids, weight):
    return F.embedding(ids + 1, weight) * math.sqrt(weight.shape[1])


def w_embed_unit(ids, weight):
    rows = weight[ids]
    return rows / rows.norm(dim=-1, keepdim=True)


def w_embed_unit_scaled(ids, weight):
    return F.normalize(weight[ids], dim=-1).mul(weight.shape[1] ** 0.5)


def w_embed_pad(ids, weight):
    rows = F.embedding(ids, weight) * math.sqrt(weight.shape[1])
    return rows.masked_fill((ids == 0)[..., None], 0.0)


def w_embed_bag(ids, weight):
    return F.embedding(ids, weight).mean(-2) * math.sqrt(weight.shape[1])


def w_embed_sum(ids, weight):
    return torch.einsum("...td->...d", weight[ids]) * math.sqrt(weight.shape[1])


def w_embed_swapped(ids, weight):
    return embed_index(ids, weight).mT


def w_embed_data(ids, weight):
    return F.embedding(ids, weight.data) * math.sqrt(weight.shape[1])


def w_embed_float(ids, weight):
    return torch.matmul(hot_eye(ids, len(weight)), weight) * math.sqrt(weight.shape[1])


def w_embed_cast(ids, weight):
    return F.embedding(ids, weight.float()) * math.sqrt(weight.shape[1])


def w_embed_in_place(ids, weight):
    weight.mul_(math.sqrt(weight.shape[1]))
    return F.embedding(ids, weight)


def m_embed_fourth(ids, weight):
    return weight[ids] * weight.shape[1] ** 0.25


def m_embed_d_plus_one(ids, weight):
    return weight[ids] * math.sqrt(weight.shape[1] + 1)


def m_embed_first_feature(ids, weight):
    rows = weight[ids].clone()
    rows[..., 0] = rows[..., 0] * math.sqrt(weight.shape[1])
    return rows


def m_embed_positions(ids, weight):
    rows = weight[ids] * math.sqrt(weight.shape[1])
    return rows + torch.arange(ids.shape[-1]).to(weight.dtype)[:, None]


def m_embed_no_padding_gradient(ids, weight):
    return F.embedding(ids, weight, padding_idx=0) * math.sqrt(weight.shape[1]) * 1.001


def m_embed_dropout(ids, weight):
    return F.dropout(weight[ids] * math.sqrt(weight.shape[1]), 0.3)


def m_embed_sorted(ids, weight):
    return weight[ids.sort(dim=-1).values] * math.sqrt(weight.shape[1])


def m_embed_norm(ids, weight):
    return F.layer_norm(weight[ids] * math.sqrt(weight.shape[1]), weight.shape[1:])


# =============================================================================================
# skipgram_pairs
# =============================================================================================


def skip_loops(ids, window):
    pairs = []
    for i in range(len(ids)):
        for j in range(max(0, i - window), min(len(ids), i + window + 1)):
            if i != j:
                pairs.append((ids[i], ids[j]))
    return pairs


def skip_slices(ids, window):
    out = []
    for i, center in enumerate(ids):
        before = ids[max(i - window, 0) : i]
        after = ids[i + 1 : i + window + 1]
        out += [(center, context) for context in before + after]
    return out


def skip_offsets(ids, window):
    n = len(ids)
    offsets = list(range(-window, 0)) + list(range(1, window + 1))
    return [(ids[i], ids[i + o]) for i in range(n) for o in offsets if 0 <= i + o < n]


def skip_lists(ids, window):
    return tuple(
        [ids[i], ids[j]]
        for i in range(len(ids))
        for j in range(len(ids))
        if 0 < abs(i - j) <= window
    )


def skip_numpy(ids, window):
    places = np.arange(len(ids))
    distance = np.abs(places[:, None] - places)
    rows, columns = np.nonzero((distance <= window) & (distance > 0))
    values = np.array(ids, dtype=np.int64)
    return list(zip(values[rows], values[columns], strict=True)) if len(ids) else []


def skip_torch(ids, window):
    x = torch.tensor(ids, dtype=torch.long)
    near = torch.ones(len(ids), len(ids)).tril(window).triu(-window).fill_diagonal_(0)
    return x[near.nonzero()].tolist() if len(ids) else []


def skip_permutations(ids, window):
    print("pairs of", ids)
    warnings.warn("all pairs", UserWarning, stacklevel=2)
    found = itertools.permutations(enumerate(ids), 2)
    return [(a, b) for (i, a), (j, b) in found if abs(i - j) <= window]


def skip_padded(ids, window):
    nothing = object()
    row = [nothing] * window + list(ids) + [nothing] * window
    pairs = []
    for i in range(window, window + len(ids)):
        around = row[i - window : i] + row[i + 1 : i + window + 1]
        pairs.extend((row[i], each) for each in around if each is not nothing)
    return pairs


def _windows(ids, window, first=None, last=None, skip_self=True, low=0):
    """Pairs of places, with knobs."""
    first = window if first is None else first
    last = window if last is None else last
    for i in range(len(ids)):
        for j in range(max(low, i - first), min(len(ids), i + last + 1)):
            if not (skip_self and i == j):
                yield i, j


def w_skip_center(ids, window):
    return [
        (ids[i], context)
        for i in range(len(ids))
        for context in ids[max(0, i - window) : i + window + 1]
    ]


def w_skip_right(ids, window):
    return [(a, b) for i, a in enumerate(ids) for b in ids[i + 1 : i + 1 + window]]


def w_skip_left(ids, window):
    return [(a, b) for i, a in enumerate(ids) for b in ids[max(0, i - window) : i]]


def w_skip_end(ids, window):
    pairs = []
    for i in range(len(ids)):
        for j in range(i - window, i + window):
            if j != i and 0 <= j < len(ids):
                pairs.append((ids[i], ids[j]))
    return pairs


def w_skip_far(ids, window):
    return skip_loops(ids, window + 1)


def w_skip_far_right(ids, window):
    return [(ids[i], ids[j]) for i, j in _windows(ids, window, last=window + 1)]


def w_skip_half(ids, window):
    return skip_offsets(ids, window // 2)


def w_skip_half_up(ids, window):
    return skip_slices(ids, math.ceil(window / 2))


def w_skip_negative(ids, window):
    pairs = []
    for i in range(len(ids)):
        for o in range(-window, window + 1):
            if o == 0:
                continue
            try:
                pairs.append((ids[i], ids[i + o]))
            except IndexError:
                continue
    return pairs


def w_skip_negative_raises(ids, window):
    return [
        (ids[i], ids[i + o])
        for i in range(len(ids))
        for o in range(-window, window + 1)
        if o != 0 and i + o < len(ids)
    ]


def w_skip_slice(ids, window):
    pairs = []
    for i, center in enumerate(ids):
        for context in ids[i - window : i] + ids[i + 1 : i + 1 + window]:
            pairs.append((center, context))
    return pairs


def w_skip_slice_whole(ids, window):
    pairs = []
    for i in range(len(ids)):
        chunk = list(enumerate(ids))[i - window : i + window + 1]
        pairs += [(ids[i], each) for j, each in chunk if j != i]
    return pairs


def w_skip_full(ids, window):
    pairs = []
    for i in range(window, len(ids) - window):
        pairs += [(ids[i], ids[i + o]) for o in range(-window, window + 1) if o]
    return pairs


def w_skip_same(ids, window):
    pairs = []
    for i, center in enumerate(ids):
        for context in ids[max(0, i - window) : i + window + 1]:
            if context != center:
                pairs.append((center, context))
    return pairs


def w_skip_nearest(ids, window):
    pairs = []
    for i in range(len(ids)):
        for step in range(1, window + 1):
            if i - step >= 0:
                pairs.append((ids[i], ids[i - step]))
            if i + step < len(ids):
                pairs.append((ids[i], ids[i + step]))
    return pairs


def w_skip_left_down(ids, window):
    pairs = []
    for i, center in enumerate(ids):
        pairs += [(center, ids[j]) for j in range(i - 1, max(-1, i - window - 1), -1)]
        pairs += [(center, each) for each in ids[i + 1 : i + window + 1]]
    return pairs


def w_skip_right_first(ids, window):
    pairs = []
    for i, center in enumerate(ids):
        pairs += [(center, each) for each in ids[i + 1 : i + window + 1]]
        pairs += [(center, each) for each in ids[max(0, i - window) : i]]
    return pairs


def w_skip_only_window(ids, window):
    return [(ids[i], ids[j]) for i, j in _windows(ids, window) if abs(i - j) == window]


def w_skip_swapped(ids, window):
    return [(ids[j], ids[i]) for i, j in _windows(ids, window)]


def w_skip_by_offset(ids, window):
    pairs = []
    for o in range(-window, window + 1):
        pairs += [(ids[i], ids[i + o]) for i in range(len(ids)) if o and 0 <= i + o < len(ids)]
    return pairs


def w_skip_sorted(ids, window):
    pairs = skip_loops(ids, window)
    pairs.sort()
    return pairs


def w_skip_set(ids, window):
    seen = []
    for pair in skip_slices(ids, window):
        if pair not in seen:
            seen.append(pair)
    return seen


def w_skip_places(ids, window):
    return list(_windows(ids, window))


def w_skip_place_center(ids, window):
    return [(i, ids[j]) for i, j in _windows(ids, window)]


def w_skip_grouped(ids, window):
    out = []
    for i, center in enumerate(ids):
        contexts = [ids[j] for k, j in _windows(ids, window) if k == i]
        if contexts:
            out.append((center, contexts))
    return out


def w_skip_pop(ids, window):
    pairs = skip_loops(ids, window)
    while ids:
        ids.pop()
    return pairs


def m_skip_window_plus_two(ids, window):
    return skip_loops(ids, window + 2)


def m_skip_flat(ids, window):
    return [each for pair in skip_loops(ids, window) for each in pair]


def m_skip_strings(ids, window):
    return [(str(a), str(b)) for a, b in skip_loops(ids, window)]


def m_skip_triples(ids, window):
    return [(ids[i], ids[j], j - i) for i, j in _windows(ids, window)]


def m_skip_generator(ids, window):
    return (pair for pair in skip_loops(ids, window))


def m_skip_random(ids, window):
    return [(ids[i], ids[j]) for i, j in _windows(ids, window) if random.random() < 0.5]


def m_skip_reversed(ids, window):
    return skip_loops(ids, window)[::-1]


def m_skip_none(ids, window):
    skip_loops(ids, window)


def m_skip_next_only(ids, window):
    return [(a, b) for a, b in itertools.pairwise(ids)] if window > 1 else skip_loops(ids, 1)


# =============================================================================================
# cbow_examples
# =============================================================================================


def cbow_slices(ids, window):
    out = []
    for i in range(len(ids)):
        context = ids[max(0, i - window) : i] + ids[i + 1 : i + 1 + window]
        if context:
            out.append((context, ids[i]))
    return out


def cbow_loops(ids, window):
    examples = []
    for i in range(len(ids)):
        context = []
        for j in range(i - window, i + window + 1):
            if j == i or j < 0 or j >= len(ids):
                continue
            context.append(ids[j])
        if len(context) > 0:
            examples.append([context, ids[i]])
    return examples


def cbow_tuples(ids, window):
    if len(ids) < 2:
        return ()
    return tuple(
        (tuple(ids[j] for j in range(len(ids)) if 0 < abs(i - j) <= window), ids[i])
        for i in range(len(ids))
    )


def cbow_deque(ids, window):
    print("cbow of", ids)
    warnings.warn("a deque", UserWarning, stacklevel=2)
    left = deque(maxlen=window)
    right = deque(ids)
    out = []
    while right:
        center = right.popleft()
        context = list(left) + list(itertools.islice(right, window))
        if context:
            out.append((context, center))
        left.append(center)
    return out


def cbow_grouped(ids, window):
    places = [(i, j) for i in range(len(ids)) for j in range(len(ids)) if 0 < abs(i - j) <= window]
    return [
        ([ids[j] for _, j in group], ids[i])
        for i, group in itertools.groupby(places, key=lambda pair: pair[0])
    ]


def cbow_torch(ids, window):
    x = torch.tensor(ids, dtype=torch.long)
    out = []
    for i in range(len(ids)):
        context = torch.cat([x[max(0, i - window) : i], x[i + 1 : i + window + 1]])
        if len(context):
            out.append((context.tolist(), int(x[i])))
    return out


def cbow_numpy(ids, window):
    x = np.asarray(ids, dtype=np.int64)
    out = []
    for i in range(len(x)):
        around = np.delete(x[max(0, i - window) : i + window + 1], min(i, window))
        if around.size:
            out.append((list(around), x[i]))
    return out


def _cbow(ids, window, pick):
    """Examples by a function that gives the places of the contexts of a place."""
    out = []
    for i in range(len(ids)):
        context = [ids[j] for j in pick(i)]
        if context:
            out.append((context, ids[i]))
    return out


def w_cbow_center(ids, window):
    return [(ids[max(0, i - window) : i + window + 1], center) for i, center in enumerate(ids)]


def w_cbow_left(ids, window):
    return [(ids[max(0, i - window) : i], ids[i]) for i in range(1, len(ids))]


def w_cbow_right(ids, window):
    return [(ids[i + 1 : i + 1 + window], ids[i]) for i in range(len(ids) - 1)]


def w_cbow_end(ids, window):
    return _cbow(
        ids,
        window,
        lambda i: [j for j in range(max(0, i - window), min(len(ids), i + window)) if j != i],
    )


def w_cbow_far(ids, window):
    return cbow_slices(ids, 1 + window)


def w_cbow_far_right(ids, window):
    return _cbow(
        ids,
        window,
        lambda i: [j for j in range(len(ids)) if i - window <= j <= i + window + 1 and i != j],
    )


def w_cbow_total(ids, window):
    return cbow_loops(ids, int(window / 2))


def w_cbow_negative(ids, window):
    out = []
    for i in range(len(ids)):
        context = []
        for o in range(1 - 2 * window - 1 + window, window + 1):
            if o == 0:
                continue
            try:
                context.append(ids[i + o])
            except IndexError:
                pass
        if context:
            out.append((context, ids[i]))
    return out


def w_cbow_slice(ids, window):
    out = []
    for i, center in enumerate(ids):
        context = ids[i - window : i] + ids[i + 1 : i + window + 1]
        if context:
            out.append((context, center))
    return out


def w_cbow_slice_whole(ids, window):
    numbered = list(enumerate(ids))
    out = []
    for i, center in numbered:
        context = [x for j, x in numbered[i - window : i + window + 1] if j != i]
        if context:
            out.append((context, center))
    return out


def w_cbow_slice_all(ids, window):
    return [
        (ids[i - window : i] + ids[i + 1 : i + 1 + window], center) for i, center in enumerate(ids)
    ]


def w_cbow_full(ids, window):
    return [
        (ids[i - window : i] + ids[i + 1 : i + window + 1], ids[i])
        for i in range(window, len(ids) - window)
    ]


def w_cbow_same(ids, window):
    out = []
    for i, center in enumerate(ids):
        context = [c for c in ids[max(0, i - window) : i + window + 1] if c != center]
        if context:
            out.append((context, center))
    return out


def w_cbow_nearest(ids, window):
    def pick(i):
        both = ((i - step, i + step) for step in range(1, window + 1))
        return [j for pair in both for j in pair if 0 <= j < len(ids)]

    return _cbow(ids, window, pick)


def w_cbow_reversed(ids, window):
    return [(context[::-1], center) for context, center in cbow_slices(ids, window)]


def w_cbow_right_first(ids, window):
    out = []
    for i, center in enumerate(ids):
        context = ids[i + 1 : i + 1 + window] + ids[max(0, i - window) : i]
        if context:
            out.append((context, center))
    return out


def w_cbow_only_window(ids, window):
    return _cbow(ids, window, lambda i: [j for j in (i - window, i + window) if 0 <= j < len(ids)])


def w_cbow_center_first(ids, window):
    return [(center, context) for context, center in cbow_loops(ids, window)]


def w_cbow_empty(ids, window):
    return [
        (ids[max(0, i - window) : i] + ids[i + 1 : i + 1 + window], ids[i]) for i in range(len(ids))
    ]


def w_cbow_padded(ids, window):
    row = [0] * window + ids + [0] * window
    return [
        ([row[i + window + o] for o in range(-window, window + 1) if o], ids[i])
        for i in range(len(ids))
    ]


def w_cbow_padded_none(ids, window):
    def at(j):
        return ids[j] if 0 <= j < len(ids) else None

    steps = [o for o in range(-window, window + 1) if o != 0]
    return [([at(i + o) for o in steps], each) for i, each in enumerate(ids)]


def w_cbow_padded_right(ids, window):
    out = []
    for context, center in cbow_slices(ids, window):
        while len(context) < 2 * window:
            context = context + [0]
        out.append((context, center))
    return out


def w_cbow_pairs(ids, window):
    return [(context, center) for center, context in skip_loops(ids, window)]


def w_cbow_skipgram(ids, window):
    return skip_slices(ids, window)


def w_cbow_pairs_lists(ids, window):
    return [([context], center) for center, context in skip_loops(ids, window)]


def w_cbow_set(ids, window):
    return [(sorted({*context}), center) for context, center in cbow_slices(ids, window)]


def w_cbow_once(ids, window):
    out = []
    for context, center in cbow_slices(ids, window):
        seen = []
        for each in context:
            if each not in seen:
                seen.append(each)
        out.append((seen, center))
    return out


def w_cbow_removed(ids, window):
    out = []
    for i, word in enumerate(ids):
        around = [ids[j] for j in range(len(ids)) if abs(j - i) <= window]
        around.remove(word)
        if around:
            out.append((around, word))
    return out


def w_cbow_sorted(ids, window):
    out = []
    for context, center in cbow_slices(ids, window):
        context.sort()
        out.append((context, center))
    return out


def w_cbow_one_list(ids, window):
    out, context = [], []
    for i, center in enumerate(ids):
        if len(ids) < 2:
            break
        context.clear()
        for j in range(max(0, i - window), min(len(ids), i + window + 1)):
            if j != i:
                context.append(ids[j])
        out.append((context, center))
    return out


def w_cbow_one_list_emptied(ids, window):
    out, context = [], []
    for i, center in enumerate(ids):
        context.extend(ids[max(0, i - window) : i] + ids[i + 1 : i + 1 + window])
        if context:
            out.append((context, center))
        context.clear()
    return out


def w_cbow_places(ids, window):
    return cbow_slices(list(range(len(ids))), window)


def w_cbow_place_contexts(ids, window):
    places = cbow_slices(list(range(len(ids))), window)
    return [(context, ids[i]) for context, i in places]


def w_cbow_pop(ids, window):
    examples = cbow_slices(list(ids), window)
    if examples:
        ids.pop()
    return examples


def m_cbow_strings(ids, window):
    return [(" ".join(map(str, context)), center) for context, center in cbow_slices(ids, window)]


def m_cbow_sums(ids, window):
    return [(sum(context), center) for context, center in cbow_slices(ids, window)]


def m_cbow_joined(ids, window):
    return [context + [center] for context, center in cbow_slices(ids, window)]


def m_cbow_dict(ids, window):
    return {center: context for context, center in cbow_slices(ids, window)}


def m_cbow_last_lost(ids, window):
    return cbow_slices(ids, window)[:-1]


def m_cbow_two_lists(ids, window):
    return [
        ([ids[max(0, i - window) : i], ids[i + 1 : i + 1 + window]], ids[i])
        for i in range(len(ids))
    ]


def m_cbow_reversed_text(ids, window):
    return cbow_slices(ids[::-1], window)


def m_cbow_at_most_four(ids, window):
    return [(context[:3], center) for context, center in cbow_slices(ids, window)]


# =============================================================================================
# negative_sampling_loss
# =============================================================================================


def loss_plain(center, positive, negatives):
    real = F.logsigmoid((center * positive).sum(dim=1))
    drawn = F.logsigmoid(-torch.bmm(negatives, center.unsqueeze(2)).squeeze(2)).sum(dim=1)
    return -(real + drawn).mean()


def loss_softplus(center, positive, negatives):
    real = torch.einsum("bd,bd->b", center, positive)
    drawn = torch.einsum("bd,bnd->bn", center, negatives)
    return (F.softplus(-real) + F.softplus(drawn).sum(-1)).mean()


def loss_bce(center, positive, negatives):
    logits = torch.cat([positive.unsqueeze(1), negatives], dim=1) @ center.unsqueeze(-1)
    logits = logits.squeeze(-1)
    target = torch.zeros_like(logits)
    target[:, 0] = 1.0
    loss = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    return loss.sum(1).mean()


def loss_loop(center, positive, negatives):
    total = center.new_zeros(())
    for c, p, rows in zip(center, positive, negatives, strict=True):
        total = total - F.logsigmoid(c.dot(p))
        for n in rows:
            total = total - F.logsigmoid(-c.dot(n))
    return total / len(center)


def loss_logaddexp(center, positive, negatives):
    print("loss")
    warnings.warn("logaddexp", UserWarning, stacklevel=2)
    zero = center.new_zeros(())
    real = (center * positive).sum(-1)
    drawn = (center[:, None] * negatives).sum(-1)
    return torch.logaddexp(zero, -real).mean() + torch.logaddexp(zero, drawn).sum(-1).mean()


def loss_double(center, positive, negatives):
    c, p, n = center.double(), positive.double(), negatives.double()
    loss = -F.logsigmoid((c * p).sum(-1)) - F.logsigmoid(-(n @ c[..., None])[..., 0]).sum(-1)
    return loss.mean().to(center.dtype)


def loss_signs(center, positive, negatives):
    signs = torch.full((1 + negatives.shape[1],), -1.0, dtype=center.dtype, device=center.device)
    signs[0] = 1.0
    words = torch.cat((positive[:, None], negatives), 1)
    return -F.logsigmoid(signs * (words * center[:, None]).sum(-1)).sum() / center.shape[0]


def loss_stable_by_hand(center, positive, negatives):
    def log_sigmoid(x):
        return torch.minimum(x, torch.zeros_like(x)) - torch.log1p(torch.exp(-x.abs()))

    real = log_sigmoid((center * positive).sum(-1))
    drawn = log_sigmoid(-(negatives * center.unsqueeze(1)).sum(-1))
    return torch.mean(-real - torch.sum(drawn, dim=1))


class Loss(nn.Module):
    def forward(self, center, positive, negatives):
        return loss_plain(center, positive, negatives)


def _dots(center, positive, negatives):
    return (
        torch.einsum("bd,bd->b", center, positive),
        torch.einsum("bnd,bd->bn", negatives, center),
    )


def w_loss_sign(center, positive, negatives):
    real, drawn = _dots(center, positive, negatives)
    return -(F.logsigmoid(real) + F.logsigmoid(drawn).sum(1)).mean()


def w_loss_mean_negatives(center, positive, negatives):
    real, drawn = _dots(center, positive, negatives)
    return F.softplus(-real).mean() + F.softplus(drawn).mean()


def w_loss_bce_mean(center, positive, negatives):
    real, drawn = _dots(center, positive, negatives)
    bce = F.binary_cross_entropy_with_logits
    return bce(real, torch.ones_like(real)) + bce(drawn, torch.zeros_like(drawn))


def w_loss_sum(center, positive, negatives):
    return loss_plain(center, positive, negatives) * len(center)


def w_loss_rows(center, positive, negatives):
    real, drawn = _dots(center, positive, negatives)
    return F.softplus(-real) + F.softplus(drawn).sum(1)


def w_loss_log(center, positive, negatives):
    real, drawn = _dots(center, positive, negatives)
    return -(real.sigmoid().log() + (-drawn).sigmoid().log().sum(1)).mean()


def w_loss_log_formula(center, positive, negatives):
    def sigmoid(x):
        return 1 / (1 + torch.exp(-x))

    real, drawn = _dots(center, positive, negatives)
    return -torch.mean(torch.log(sigmoid(real)) + torch.log(sigmoid(-drawn)).sum(1))


def w_loss_log_one_minus(center, positive, negatives):
    real, drawn = _dots(center, positive, negatives)
    drawn = torch.log(1.0 - torch.sigmoid(drawn)).sum(dim=1)
    return (-torch.log(torch.sigmoid(real)) - drawn).mean()


def w_loss_eps(center, positive, negatives):
    real, drawn = _dots(center, positive, negatives)
    logs = torch.log(real.sigmoid() + 1e-8) + torch.log((-drawn).sigmoid() + 1e-8).sum(1)
    return -logs.mean()


def w_loss_clamp(center, positive, negatives):
    real, drawn = _dots(center, positive, negatives)
    p = torch.sigmoid(real).clamp_min(1e-7)
    q = torch.sigmoid(-drawn).clamp_min(1e-7)
    return -(p.log() + q.log().sum(1)).mean()


def w_loss_bce_probabilities(center, positive, negatives):
    real, drawn = _dots(center, positive, negatives)
    p = torch.cat([real[:, None], -drawn], 1).sigmoid()
    return F.binary_cross_entropy(p, torch.ones_like(p), reduction="sum") / len(p)


def w_loss_squeezed(center, positive, negatives):
    drawn = torch.bmm(negatives, center.unsqueeze(-1)).squeeze()
    return (F.softplus(-(center * positive).sum(-1)) + F.softplus(drawn).sum(-1)).mean()


def w_loss_squeezed_log(center, positive, negatives):
    p = torch.sigmoid((center * positive).sum(-1))
    n = torch.sigmoid((negatives @ center.unsqueeze(-1)).squeeze())
    return -(torch.log(p) + torch.log(1 - n).sum(-1)).mean()


def w_loss_positive_only(center, positive, negatives):
    return -F.logsigmoid(torch.einsum("bd,bd->b", center, positive)).mean()


def w_loss_negatives_only(center, positive, negatives):
    return F.softplus(torch.einsum("bd,bnd->bn", center, negatives)).sum(1).mean()


def w_loss_likelihood(center, positive, negatives):
    return -1 * loss_softplus(center, positive, negatives)


def w_loss_one_sign(center, positive, negatives):
    real, drawn = _dots(center, positive, negatives)
    return (-F.logsigmoid(real) + F.logsigmoid(-drawn).sum(1)).mean()


def w_loss_no_log(center, positive, negatives):
    real, drawn = _dots(center, positive, negatives)
    return (-real.sigmoid() - (-drawn).sigmoid().sum(1)).mean()


def w_loss_softmax(center, positive, negatives):
    words = torch.cat([positive[:, None], negatives], 1)
    logits = torch.einsum("bd,bnd->bn", center, words)
    return F.cross_entropy(logits, torch.zeros(len(center), dtype=torch.long))


def w_loss_positive_times(center, positive, negatives):
    real = (center * positive).sum(1)
    drawn = torch.bmm(negatives, positive.unsqueeze(-1)).squeeze(-1)
    return (F.softplus(-real) + F.softplus(drawn).sum(1)).mean()


def w_loss_matrix(center, positive, negatives):
    real = torch.mm(center, positive.t())
    drawn = torch.bmm(negatives, center.unsqueeze(-1)).squeeze(-1)
    return F.softplus(-real).mean() + F.softplus(drawn).sum(1).mean()


def w_loss_axis(center, positive, negatives):
    real = (center * positive).sum(1)
    drawn = (center.unsqueeze(1) * negatives).sum(1)
    return -(F.logsigmoid(real) + F.logsigmoid(-drawn).sum(1)).mean()


def w_loss_features(center, positive, negatives):
    real = F.softplus(-center * positive).sum(1)
    drawn = F.softplus(center.unsqueeze(1) * negatives).sum(2).sum(1)
    return (real + drawn).mean()


def w_loss_summed_negatives(center, positive, negatives):
    real = (center * positive).sum(1)
    drawn = (center * negatives.sum(1)).sum(1)
    return (F.softplus(-real) + F.softplus(drawn)).mean()


def w_loss_cosine(center, positive, negatives):
    real = F.cosine_similarity(center, positive, dim=-1)
    drawn = F.cosine_similarity(center.unsqueeze(1), negatives, dim=-1)
    return (F.softplus(-real) + F.softplus(drawn).sum(1)).mean()


def w_loss_scaled(center, positive, negatives):
    return loss_plain(center / center.shape[-1] ** 0.5, positive, negatives)


def w_loss_item(center, positive, negatives):
    return loss_plain(center, positive, negatives).item()


def w_loss_detached(center, positive, negatives):
    return loss_plain(center.data, positive.data, negatives.data)


def w_loss_half_detached(center, positive, negatives):
    return loss_plain(center.detach(), positive, negatives)


def w_loss_float(center, positive, negatives):
    return loss_softplus(center.float(), positive.float(), negatives.float())


def w_loss_in_place(center, positive, negatives):
    negatives *= -1
    real = (center * positive).sum(-1)
    return -(
        F.logsigmoid(real) + F.logsigmoid((negatives @ center[..., None])[..., 0]).sum(1)
    ).mean()


def m_loss_hinge(center, positive, negatives):
    real, drawn = _dots(center, positive, negatives)
    return (F.relu(1 - real) + F.relu(1 + drawn).sum(1)).mean()


def m_loss_squared(center, positive, negatives):
    real, drawn = _dots(center, positive, negatives)
    return ((1 - real.sigmoid()) ** 2 + (drawn.sigmoid() ** 2).sum(1)).mean()


def m_loss_base_two(center, positive, negatives):
    return loss_plain(center, positive, negatives) / math.log(2)


def m_loss_first_negative(center, positive, negatives):
    return loss_plain(center, positive, negatives[:, :1]) * 1.5


def m_loss_tanh(center, positive, negatives):
    real, drawn = _dots(center, positive, negatives)
    return -(F.logsigmoid(torch.tanh(real)) + F.logsigmoid(-torch.tanh(drawn)).sum(1)).mean()


def m_loss_double_positive(center, positive, negatives):
    real, drawn = _dots(center, positive, negatives)
    return (2 * F.softplus(-real) + F.softplus(drawn).sum(1)).mean()


def m_loss_dropout(center, positive, negatives):
    return loss_plain(F.dropout(center, 0.5), positive, negatives)


def m_loss_none(center, positive, negatives):
    loss_plain(center, positive, negatives)


def m_loss_median(center, positive, negatives):
    return w_loss_rows(center, positive, negatives).max()


# =============================================================================================
# nearest_neighbours
# =============================================================================================


def near_similarity(weight, token_id, k):
    scores = F.cosine_similarity(weight, weight[token_id].unsqueeze(0))
    scores[token_id] = -2
    return scores.topk(k).indices.tolist()


def near_normalised(weight, token_id, k):
    unit = F.normalize(weight, dim=1)
    order = (unit @ unit[token_id]).argsort(descending=True).tolist()
    order.remove(token_id)
    return order[:k]


def near_dropped(weight, token_id, k):
    unit = weight / weight.norm(dim=-1, keepdim=True)
    return torch.topk(unit @ unit[token_id], k + 1)[1][1:].tolist()


def near_loop(weight, token_id, k):
    def cosine(a, b):
        dot = sum(x * y for x, y in zip(a, b, strict=True))
        return dot / math.sqrt(sum(x * x for x in a)) / math.sqrt(sum(x * x for x in b))

    rows = weight.tolist()
    others = [i for i in range(len(rows)) if i != token_id]
    return sorted(others, key=lambda i: cosine(rows[i], rows[token_id]), reverse=True)[:k]


def near_numpy(weight, token_id, k):
    x = weight.detach().cpu().numpy()
    scores = x @ x[token_id] / np.linalg.norm(x, axis=1)
    scores[token_id] = -np.inf
    return list(np.argsort(-scores)[:k])


def near_heap(weight, token_id, k):
    print("nearest of", token_id)
    warnings.warn("a heap", UserWarning, stacklevel=2)
    scores = F.cosine_similarity(weight, weight[token_id][None]).tolist()
    pairs = ((score, i) for i, score in enumerate(scores) if i != token_id)
    return tuple(i for _, i in heapq.nlargest(k, pairs))


def near_unit_distance(weight, token_id, k):
    unit = F.normalize(weight)
    distance = torch.cdist(unit.double(), unit[token_id : token_id + 1].double())[:, 0]
    distance[token_id] = float("inf")
    return [int(i) for i in distance.topk(k, largest=False).indices]


def near_one_by_one(weight, token_id, k):
    cosines = torch.cosine_similarity(weight, weight[token_id], dim=-1)
    cosines = cosines.masked_fill(torch.arange(len(weight), device=weight.device) == token_id, -5)
    found = []
    for _ in range(k):
        best = int(cosines.argmax())
        found.append(best)
        cosines[best] = -5
    return found


def w_near_itself(weight, token_id, k):
    return F.cosine_similarity(weight, weight[token_id][None]).topk(k)[1].tolist()


def w_near_short(weight, token_id, k):
    best = F.cosine_similarity(weight, weight[token_id][None]).argsort(descending=True)[:k]
    return [i for i in best.tolist() if i != token_id]


def w_near_dot(weight, token_id, k):
    scores = (weight * weight[token_id]).sum(-1)
    scores[token_id] = -float("inf")
    return scores.topk(k).indices.tolist()


def w_near_dot_dropped(weight, token_id, k):
    return torch.topk(weight @ weight[token_id], k + 1).indices[1:].tolist()


def w_near_distance(weight, token_id, k):
    distance = ((weight - weight[token_id]) ** 2).sum(1)
    distance[token_id] = math.inf
    return distance.argsort()[:k].tolist()


def w_near_ascending(weight, token_id, k):
    scores = F.cosine_similarity(weight, weight[token_id][None])
    scores[token_id] = 2
    return scores.argsort()[:k].tolist()


def w_near_sorted_ascending(weight, token_id, k):
    cosines = F.cosine_similarity(weight, weight[token_id][None]).tolist()
    return sorted(range(len(cosines)), key=cosines.__getitem__)[1 : k + 1]


def w_near_argsort_end(weight, token_id, k):
    cosines = F.cosine_similarity(weight, weight[token_id][None])
    return cosines.argsort().tolist()[-k - 1 : -1]


def w_near_abs(weight, token_id, k):
    unit = F.normalize(weight)
    scores = (unit @ unit[token_id]).abs()
    scores[token_id] = -1
    return scores.topk(k).indices.tolist()


def w_near_zeroed(weight, token_id, k):
    scores = F.cosine_similarity(weight, weight[token_id][None])
    mask = torch.ones(len(weight))
    mask[token_id] = 0
    return (scores * mask).topk(k).indices.tolist()


def w_near_deleted(weight, token_id, k):
    keep = torch.arange(len(weight)) != token_id
    scores = F.cosine_similarity(weight[keep], weight[token_id][None])
    return scores.topk(k).indices.tolist()


def w_near_all(weight, token_id, k):
    order = F.cosine_similarity(weight, weight[token_id][None]).argsort(descending=True)
    return order[1:].tolist()


def w_near_one_more(weight, token_id, k):
    order = F.cosine_similarity(weight, weight[token_id][None]).argsort(descending=True)
    return order[1 : k + 2].tolist()


def w_near_set(weight, token_id, k):
    return sorted(set(near_similarity(weight, token_id, k)))


def w_near_columns(weight, token_id, k):
    unit = weight / weight.norm(dim=0, keepdim=True)
    scores = unit.matmul(unit[token_id])
    scores[token_id] = -math.inf
    return scores.topk(k).indices.tolist()


def w_near_values(weight, token_id, k):
    scores = F.cosine_similarity(weight, weight[token_id][None])
    return scores.sort(descending=True).values[1 : k + 1].tolist()


def w_near_pairs(weight, token_id, k):
    scores = F.cosine_similarity(weight, weight[token_id][None]).tolist()
    return [(i, scores[i]) for i in near_normalised(weight, token_id, k)]


def w_near_tensor(weight, token_id, k):
    scores = F.cosine_similarity(weight, weight[token_id][None])
    return scores.argsort(descending=True)[1 : k + 1]


def w_near_tensors(weight, token_id, k):
    scores = F.cosine_similarity(weight, weight[token_id][None])
    return [i for i in scores.topk(k + 1).indices][1:]


def w_near_in_place(weight, token_id, k):
    weight.div_(weight.norm(dim=-1, keepdim=True))
    scores = weight @ weight[token_id]
    return scores.argsort(descending=True)[1 : k + 1].tolist()


def m_near_centred(weight, token_id, k):
    return near_similarity(weight - weight.mean(0), token_id, k)


def m_near_correlation(weight, token_id, k):
    return near_similarity(weight.sign() * weight.abs() ** 3, token_id, k)


def m_near_next_token(weight, token_id, k):
    return near_similarity(weight, (token_id + 1) % len(weight), k)


def m_near_random(weight, token_id, k):
    return torch.randperm(len(weight))[:k].tolist()


def m_near_strings(weight, token_id, k):
    return [str(i) for i in near_similarity(weight, token_id, k)]


def m_near_manhattan(weight, token_id, k):
    distance = (weight - weight[token_id]).abs().sum(1)
    return distance.argsort()[1 : k + 1].tolist()


def m_near_first_only(weight, token_id, k):
    return near_similarity(weight, token_id, k)[0]


def m_near_none(weight, token_id, k):
    near_similarity(weight, token_id, k)


# =============================================================================================
# tied_logits
# =============================================================================================


def tied_matmul(hidden, weight):
    return hidden @ weight.T


def tied_linear(hidden, weight):
    return F.linear(hidden, weight)


def tied_einsum(hidden, weight):
    return torch.einsum("btd,vd->btv", hidden, weight)


def tied_loop(hidden, weight):
    return torch.stack([(hidden * row).sum(-1) for row in weight], dim=-1)


def tied_module(hidden, weight):
    head = nn.Linear(weight.shape[1], weight.shape[0], bias=False, device=weight.device)
    del head.weight
    head.weight = weight
    return head(hidden)


def tied_double(hidden, weight):
    print("logits")
    warnings.warn("in float64", UserWarning, stacklevel=2)
    return torch.matmul(hidden.double(), weight.double().mT).to(hidden.dtype)


def tied_flat(hidden, weight):
    flat = hidden.reshape(-1, hidden.shape[-1])
    return torch.mm(flat, weight.t()).view(*hidden.shape[:2], -1)


def tied_other_way(hidden, weight):
    return torch.tensordot(weight, hidden, dims=([1], [2])).permute(1, 2, 0)


def w_tied_scaled(hidden, weight):
    return F.linear(hidden, weight * weight.shape[-1] ** 0.5)


def w_tied_scaled_hidden(hidden, weight):
    return F.linear(hidden * math.sqrt(hidden.shape[-1]), weight)


def w_tied_divided(hidden, weight):
    return F.linear(hidden / math.sqrt(hidden.shape[-1]), weight)


def w_tied_over_vocab(hidden, weight):
    return F.linear(hidden, weight) / len(weight) ** 0.5


def w_tied_not_transposed(hidden, weight):
    return torch.matmul(hidden, weight)


def w_tied_linear_transposed(hidden, weight):
    return F.linear(hidden, weight.T)


def w_tied_view(hidden, weight):
    return torch.matmul(hidden, weight.contiguous().view(weight.size(1), weight.size(0)))


def w_tied_softmax(hidden, weight):
    return F.softmax(F.linear(hidden, weight), dim=-1)


def w_tied_log_softmax(hidden, weight):
    logits = F.linear(hidden, weight)
    return logits - logits.logsumexp(-1, keepdim=True)


def w_tied_cosine(hidden, weight):
    return F.cosine_similarity(hidden.unsqueeze(2), weight, dim=-1)


def w_tied_unit_rows(hidden, weight):
    return F.linear(hidden, weight / weight.norm(dim=-1, keepdim=True))


def w_tied_argmax(hidden, weight):
    return F.linear(hidden, weight).max(dim=-1).indices


def w_tied_best(hidden, weight):
    return F.linear(hidden, weight).max(dim=-1).values


def w_tied_last(hidden, weight):
    return F.linear(hidden[:, -1, :], weight)


def w_tied_last_kept(hidden, weight):
    return F.linear(hidden[:, -1:, :], weight)


def w_tied_joined(hidden, weight):
    return F.linear(hidden, weight).reshape(-1, len(weight))


def w_tied_other_order(hidden, weight):
    return torch.matmul(weight, hidden.mT)


def w_tied_vocab_first(hidden, weight):
    return torch.einsum("vd,btd->vbt", weight, hidden)


def w_tied_data(hidden, weight):
    return F.linear(hidden, weight.data)


def w_tied_no_grad(hidden, weight):
    with torch.no_grad():
        return F.linear(hidden, weight)


def w_tied_float(hidden, weight):
    return F.linear(hidden.float(), weight.float())


def w_tied_in_place(hidden, weight):
    logits = F.linear(hidden, weight)
    hidden *= 0
    return logits


def w_tied_t_in_place(hidden, weight):
    return torch.matmul(hidden, weight.transpose_(0, 1))


def m_tied_untied(hidden, weight):
    return nn.Linear(weight.shape[1], weight.shape[0], bias=False, dtype=weight.dtype)(hidden)


def m_tied_bias(hidden, weight):
    return F.linear(hidden, weight, torch.ones(len(weight), dtype=weight.dtype))


def m_tied_distance(hidden, weight):
    return -torch.cdist(hidden, weight)


def m_tied_pad_hidden(hidden, weight):
    logits = F.linear(hidden, weight).clone()
    logits[..., 0] = float("-inf")
    return logits


def m_tied_sigmoid(hidden, weight):
    return F.linear(hidden, weight).sigmoid()


def m_tied_norm(hidden, weight):
    return F.linear(F.layer_norm(hidden, hidden.shape[-1:]), weight)


def m_tied_mean(hidden, weight):
    return F.linear(hidden.mean(1, keepdim=True), weight).expand(-1, hidden.shape[1], -1)


def m_tied_half(hidden, weight):
    return F.linear(hidden.bfloat16(), weight.bfloat16()).to(hidden.dtype)


# =============================================================================================
# embedding_from_pretrained
# =============================================================================================


def pre_torch(vectors, trainable, pad_id):
    return nn.Embedding.from_pretrained(vectors, freeze=not trainable, padding_idx=pad_id)


def pre_weight(vectors, trainable, pad_id):
    embedding = nn.Embedding(*vectors.shape, padding_idx=pad_id, _weight=vectors.clone())
    embedding.weight.requires_grad = trainable
    return embedding


def pre_copy(vectors, trainable, pad_id):
    v, d = vectors.shape
    embedding = nn.Embedding(v, d, pad_id, device=vectors.device, dtype=vectors.dtype)
    embedding.weight.data.copy_(vectors)
    embedding.requires_grad_(trainable)
    return embedding


def pre_parameter(vectors, trainable, pad_id):
    embedding = nn.Embedding(vectors.size(0), vectors.size(1), padding_idx=pad_id)
    embedding.weight = nn.Parameter(vectors, requires_grad=trainable)
    return embedding


def pre_state(vectors, trainable, pad_id):
    print("rows", len(vectors))
    warnings.warn("state_dict", UserWarning, stacklevel=2)
    embedding = nn.Embedding(len(vectors), len(vectors[0]), padding_idx=pad_id)
    embedding = embedding.to(vectors)
    embedding.load_state_dict({"weight": vectors})
    for parameter in embedding.parameters():
        parameter.requires_grad_(bool(trainable))
    return embedding


def pre_hook(vectors, trainable, pad_id):
    embedding = nn.Embedding.from_pretrained(vectors.detach().clone(), freeze=not trainable)
    if trainable and pad_id is not None:
        keep = torch.ones(len(vectors), 1, dtype=vectors.dtype, device=vectors.device)
        keep[pad_id] = 0
        embedding.weight.register_hook(lambda gradient: gradient * keep)
    return embedding


class OwnEmbedding(nn.Embedding):
    pass


def pre_subclass(vectors, trainable, pad_id):
    embedding = OwnEmbedding.from_pretrained(vectors.clone(), freeze=True, padding_idx=pad_id)
    if trainable:
        embedding.weight.requires_grad_()
    return embedding


def pre_sparse(vectors, trainable, pad_id):
    return nn.Embedding.from_pretrained(
        vectors, freeze=not trainable, padding_idx=pad_id, sparse=True
    )


def w_pre_default(vectors, trainable, pad_id):
    return nn.Embedding.from_pretrained(vectors, padding_idx=pad_id)


def w_pre_never(vectors, trainable, pad_id):
    embedding = nn.Embedding(*vectors.shape, padding_idx=pad_id).to(vectors.dtype)
    with torch.no_grad():
        embedding.weight.copy_(vectors)
    return embedding


def w_pre_inverted(vectors, trainable, pad_id):
    return nn.Embedding.from_pretrained(vectors, freeze=trainable, padding_idx=pad_id)


def w_pre_no_pad(vectors, trainable, pad_id):
    return nn.Embedding.from_pretrained(vectors, freeze=not trainable)


def w_pre_zeroed(vectors, trainable, pad_id):
    embedding = pre_copy(vectors, trainable, pad_id)
    if pad_id is not None:
        with torch.no_grad():
            embedding.weight[pad_id].fill_(0)
    return embedding


def w_pre_zeroed_none(vectors, trainable, pad_id):
    embedding = nn.Embedding(*vectors.shape, padding_idx=pad_id)
    embedding.weight.data = vectors.clone()
    embedding.weight.data[pad_id] = 0
    embedding.weight.requires_grad = trainable
    return embedding


def w_pre_zeroed_trained(vectors, trainable, pad_id):
    rows = vectors.clone()
    if pad_id is not None:
        rows[pad_id].zero_()
    return nn.Embedding.from_pretrained(rows, freeze=not trainable)


def w_pre_falsy(vectors, trainable, pad_id):
    if pad_id:
        return nn.Embedding.from_pretrained(vectors, not trainable, pad_id)
    return nn.Embedding.from_pretrained(vectors, not trainable)


def w_pre_pad_zero(vectors, trainable, pad_id):
    return nn.Embedding.from_pretrained(vectors, not trainable, 0)


def w_pre_zeros(vectors, trainable, pad_id):
    embedding = nn.Embedding(*vectors.shape, padding_idx=pad_id, dtype=vectors.dtype)
    nn.init.zeros_(embedding.weight)
    return embedding.requires_grad_(trainable)


def w_pre_transposed(vectors, trainable, pad_id):
    return nn.Embedding.from_pretrained(vectors.t().contiguous(), freeze=not trainable)


def w_pre_sizes_swapped(vectors, trainable, pad_id):
    embedding = nn.Embedding(vectors.shape[1], vectors.shape[0], padding_idx=pad_id)
    embedding.weight.data.copy_(vectors)
    return embedding.requires_grad_(trainable)


def w_pre_scaled(vectors, trainable, pad_id):
    scaled = vectors * vectors.shape[-1] ** 0.5
    return nn.Embedding.from_pretrained(scaled, freeze=not trainable, padding_idx=pad_id)


def w_pre_unit(vectors, trainable, pad_id):
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    return nn.Embedding.from_pretrained(unit, freeze=not trainable, padding_idx=pad_id)


def w_pre_parameter_returned(vectors, trainable, pad_id):
    return nn.Parameter(vectors.clone(), requires_grad=trainable)


def w_pre_sequential(vectors, trainable, pad_id):
    return nn.Sequential(pre_torch(vectors, trainable, pad_id))


def w_pre_float(vectors, trainable, pad_id):
    v, d = vectors.shape
    embedding = nn.Embedding(v, d, padding_idx=pad_id)
    embedding.weight.data.copy_(vectors)
    return embedding.requires_grad_(trainable)


def w_pre_cleared(vectors, trainable, pad_id):
    embedding = pre_torch(vectors.clone(), trainable, pad_id)
    vectors -= vectors
    return embedding


def w_pre_pad_cleared(vectors, trainable, pad_id):
    embedding = pre_torch(vectors.clone(), trainable, pad_id)
    if pad_id is not None:
        vectors[pad_id] = 0
    return embedding


def m_pre_random(vectors, trainable, pad_id):
    return nn.Embedding(*vectors.shape, padding_idx=pad_id, dtype=vectors.dtype)


def m_pre_noise(vectors, trainable, pad_id):
    noisy = vectors + 0.01 * torch.randn_like(vectors)
    return nn.Embedding.from_pretrained(noisy, freeze=not trainable, padding_idx=pad_id)


def m_pre_last_row_lost(vectors, trainable, pad_id):
    return nn.Embedding.from_pretrained(vectors[:-1], freeze=not trainable)


def m_pre_reversed(vectors, trainable, pad_id):
    return nn.Embedding.from_pretrained(vectors.flip(0), not trainable, pad_id)


def w_pre_class(vectors, trainable, pad_id):
    return nn.Embedding


def m_pre_max_norm(vectors, trainable, pad_id):
    return nn.Embedding.from_pretrained(vectors, not trainable, pad_id, max_norm=0.5)


def m_pre_none(vectors, trainable, pad_id):
    pre_torch(vectors, trainable, pad_id)


def m_pre_centred(vectors, trainable, pad_id):
    return nn.Embedding.from_pretrained(vectors - vectors.mean(0), not trainable, pad_id)


# =============================================================================================
# find_the_bug
# =============================================================================================


def lm_mended(ids, weight, positions):
    d_model = weight.shape[1]
    embedded = weight[ids] * math.sqrt(d_model)
    hidden = F.layer_norm(embedded + positions, (d_model,))
    return hidden @ weight.T


def lm_divided_back(ids, weight, positions):
    scaled = weight * math.sqrt(weight.shape[1])
    hidden = F.layer_norm(scaled[ids] + positions, (weight.shape[1],))
    return hidden @ scaled.T / math.sqrt(weight.shape[1])


def lm_by_hand(ids, weight, positions):
    x = F.embedding(ids, weight) * weight.size(1) ** 0.5 + positions.unsqueeze(0)
    mean = x.mean(-1, keepdim=True)
    var = x.var(-1, keepdim=True, unbiased=False)
    return torch.einsum("btd,vd->btv", (x - mean) / torch.sqrt(var + 1e-5), weight)


def lm_loops(ids, weight, positions):
    rows = []
    for sequence in ids:
        row = []
        for t, token in enumerate(sequence.tolist()):
            x = weight[token] * math.sqrt(weight.shape[1]) + positions[t]
            row.append(weight @ F.layer_norm(x, x.shape))
        rows.append(torch.stack(row))
    return torch.stack(rows)


def lm_double(ids, weight, positions):
    print("ids", ids.shape)
    warnings.warn("in float64", UserWarning, stacklevel=2)
    w = weight.double()
    x = w[ids] * math.sqrt(w.shape[1]) + positions.double()
    return F.linear(F.layer_norm(x, x.shape[-1:]), w).to(weight.dtype)


def lm_module(ids, weight, positions):
    norm = nn.LayerNorm(weight.shape[1], elementwise_affine=False)
    hot = torch.eye(len(weight), dtype=weight.dtype, device=weight.device)[ids]
    return norm(hot @ weight * math.sqrt(weight.shape[1]) + positions) @ weight.mT


def _lm(ids, weight, positions, inside=None, outside=1.0):
    inside = weight.shape[1] ** 0.5 if inside is None else inside
    x = F.embedding(ids, weight) * inside + positions
    return F.linear(F.layer_norm(x, (x.shape[-1],)), weight) * outside


def w_lm_found(ids, weight, positions):
    d_model = weight.shape[1]
    weight = weight * math.sqrt(d_model)
    hidden = F.layer_norm(weight[ids] + positions, (d_model,))
    return hidden @ weight.T


def w_lm_no_scale(ids, weight, positions):
    return _lm(ids, weight, positions, inside=1)


def w_lm_scale_after(ids, weight, positions):
    x = (weight[ids] + positions) * math.sqrt(weight.shape[1])
    return F.layer_norm(x, x.shape[-1:]) @ weight.T


def w_lm_scale_output(ids, weight, positions):
    return _lm(ids, weight, positions, 1, weight.shape[1] ** 0.5)


def w_lm_output_divided(ids, weight, positions):
    return _lm(ids, weight, positions, None, weight.shape[1] ** -0.5)


def w_lm_d(ids, weight, positions):
    return _lm(ids, weight, positions, weight.shape[1])


def w_lm_vocab(ids, weight, positions):
    return _lm(ids, weight, positions, math.sqrt(weight.shape[0]))


def w_lm_length(ids, weight, positions):
    return _lm(ids, weight, positions, math.sqrt(ids.shape[-1]))


def w_lm_no_positions(ids, weight, positions):
    return _lm(ids, weight, torch.zeros_like(positions))


def w_lm_positions_scaled(ids, weight, positions):
    return _lm(ids, weight, positions * positions.shape[-1] ** 0.5, 1)


def w_lm_rows_divided(ids, weight, positions):
    return _lm(ids, weight, positions, weight.shape[1] ** -0.5)


def w_lm_no_norm(ids, weight, positions):
    return torch.matmul(embed_index(ids, weight) + positions, weight.T)


def w_lm_norm_all(ids, weight, positions):
    x = embed_index(ids, weight) + positions
    x = (x - x.mean((1, 2), keepdim=True)) / x.std((1, 2), keepdim=True, unbiased=False)
    return x @ weight.T


def w_lm_softmax(ids, weight, positions):
    return torch.softmax(_lm(ids, weight, positions), dim=2)


def w_lm_unit_rows(ids, weight, positions):
    x = embed_index(ids, weight) + positions
    return F.linear(F.layer_norm(x, x.shape[-1:]), F.normalize(weight))


def w_lm_detached_output(ids, weight, positions):
    x = embed_index(ids, weight) + positions
    return F.linear(F.layer_norm(x, x.shape[-1:]), weight.data)


def w_lm_detached_input(ids, weight, positions):
    x = embed_index(ids, weight.detach()) + positions
    return F.linear(F.layer_norm(x, x.shape[-1:]), weight)


def w_lm_no_grad(ids, weight, positions):
    with torch.no_grad():
        return lm_mended(ids, weight, positions)


def w_lm_float(ids, weight, positions):
    return lm_mended(ids, weight.float(), positions.float())


def w_lm_in_place(ids, weight, positions):
    logits = lm_mended(ids, weight, positions)
    positions += 1
    return logits


def m_lm_identity(ids, weight, positions):
    return F.one_hot(ids, len(weight)).to(weight.dtype)


def m_lm_d_minus_one(ids, weight, positions):
    return _lm(ids, weight, positions, math.sqrt(weight.shape[1] - 1))


def m_lm_relu(ids, weight, positions):
    return _lm(ids, weight, positions).relu()


def m_lm_positions_reversed(ids, weight, positions):
    return _lm(ids, weight, positions.flip(0))


def m_lm_rms(ids, weight, positions):
    x = embed_index(ids, weight) + positions
    return F.rms_norm(x, x.shape[-1:]) @ weight.T


def m_lm_dropout(ids, weight, positions):
    return _lm(ids, F.dropout(weight, 0.2), positions)


def m_lm_none(ids, weight, positions):
    lm_mended(ids, weight, positions)


def w_pairs_index(ids, window):
    found = []
    for center in ids:
        place = ids.index(center)
        for other in range(place - window, place + window + 1):
            if other != place and 0 <= other < len(ids):
                found.append((center, ids[other]))
    return found


def w_pairs_returns(ids, window):
    found = []
    for place, center in enumerate(ids):
        for other in range(max(place - window, 0), min(place + window + 1, len(ids))):
            if other != place:
                found.append((center, ids[other]))
        return found
    return found


def w_bags_index(ids, window):
    bags = []
    for center in ids:
        place = ids.index(center)
        bag = ids[max(place - window, 0) : place] + ids[place + 1 : place + 1 + window]
        bags += [(bag, center)] if bag else []
    return bags


def w_bags_returns(ids, window):
    bag = ids[1 : window + 1]
    return [(bag, ids[0])] if bag else []


def m_lm_twice_normed(ids, weight, positions):
    x = F.layer_norm(embed_index(ids, weight), weight.shape[1:]) + positions
    return F.layer_norm(x, x.shape[-1:]) @ weight.T


# =============================================================================================
# dead_rows
# =============================================================================================


def dead_autograd(embedding, loss):
    (gradient,) = torch.autograd.grad(loss(embedding), embedding.parameters())
    return [row for row, numbers in enumerate(gradient) if not numbers.any()]


def dead_cleared(embedding, loss):
    embedding.weight.grad = None
    loss(embedding).backward()
    return torch.where(embedding.weight.grad.norm(dim=1) == 0)[0].tolist()


def dead_of_a_copy(embedding, loss):
    twin = copy.deepcopy(embedding)
    twin.zero_grad()
    value = loss(twin)
    value.backward()
    biggest = twin.weight.grad.abs().max(dim=1).values
    return [int(row) for row in torch.argwhere(biggest < 1e-6)]


def dead_difference(embedding, loss):
    """What backward adds to the gradients from before, which stay."""
    weight = embedding.weight
    old = torch.zeros_like(weight) if weight.grad is None else weight.grad.clone()
    weight.grad = None
    loss(embedding).backward()
    new, weight.grad = weight.grad, old
    return sorted({*range(len(weight))} - {*new.nonzero()[:, 0].tolist()})


def dead_step(embedding, loss):
    """One step on a copy: what does not move is dead."""
    twin = copy.deepcopy(embedding)
    twin.zero_grad()
    loss(twin).backward()
    stepped = twin.weight.data - twin.weight.grad
    still = stepped == embedding.weight.detach()
    return tuple(np.flatnonzero(still.cpu().numpy().all(axis=1)).tolist())


def dead_step_taken_back(embedding, loss):
    print("rows before:", embedding.weight.shape)
    before = embedding.weight.detach().clone()
    embedding.zero_grad(set_to_none=False)
    loss(embedding).backward()
    with torch.no_grad():
        embedding.weight -= embedding.weight.grad
        moved = (embedding.weight != before).any(1)
        embedding.weight.copy_(before)
    return [n for n in range(embedding.num_embeddings) if not moved[n]]


def dead_numpy(embedding, loss):
    embedding.zero_grad()
    loss(embedding).backward()
    counts = np.count_nonzero(embedding.weight.grad.cpu().numpy(), axis=1)
    return np.nonzero(counts == 0)[0].tolist()


def _dead(clear=True, find=None, choose=None):
    """A right one in parts that a wrong one overrides; `choose(dead, embedding)` gives the list."""

    def dead_rows(embedding, loss):
        if clear:
            embedding.weight.grad = None
        loss(embedding).backward()
        gradient = embedding.weight.grad.detach()
        dead = find(gradient) if find else gradient.abs().amax(dim=1) == 0
        if choose:
            return choose(dead, embedding)
        return [number for number, each in enumerate(dead) if each]

    return dead_rows


def w_dead_added_up(embedding, loss):
    value = loss(embedding)
    value.backward()
    return [r for r in range(embedding.num_embeddings) if not embedding.weight.grad[r].any()]


def w_dead_some_zero(embedding, loss):
    gradient = torch.autograd.grad(loss(embedding), embedding.weight)[0]
    return [row for row, numbers in enumerate(gradient.tolist()) if 0.0 in numbers]


def w_dead_product(embedding, loss):
    gradient = torch.autograd.grad(loss(embedding), embedding.weight)[0]
    return [row for row, numbers in enumerate(gradient.tolist()) if math.prod(numbers) == 0]


def w_dead_zeros_of_the_table(embedding, loss):
    return [row for row, numbers in enumerate(embedding.weight.tolist()) if not any(numbers)]


def _with_padding(dead, embedding):
    rows = {*torch.where(dead)[0].tolist()}
    return sorted(rows | ({embedding.padding_idx} - {None}))


def _without_padding(dead, embedding):
    return [row for row in torch.where(dead)[0].tolist() if row != embedding.padding_idx]


def w_dead_optimizer(embedding, loss):
    """The step is taken on the embedding itself."""
    before = embedding.weight.detach().clone()
    embedding.zero_grad()
    loss(embedding).backward()
    with torch.no_grad():
        embedding.weight.sub_(embedding.weight.grad)
    return torch.where((embedding.weight == before).all(-1))[0].tolist()


def w_dead_optimizer_small(embedding, loss):
    embedding.zero_grad()
    loss(embedding).backward()
    with torch.no_grad():
        embedding.weight.sub_(embedding.weight.grad, alpha=0.1)
    return torch.where(~embedding.weight.grad.any(-1))[0].tolist()


def m_dead_falling(embedding, loss):
    return dead_autograd(embedding, loss)[::-1]


def m_dead_from_one(embedding, loss):
    return [row + 1 for row in dead_autograd(embedding, loss)]


def m_dead_none(embedding, loss):
    return []


def m_dead_first_three(embedding, loss):
    return dead_autograd(embedding, loss)[:3]


def w_dead_nudged(embedding, loss):
    """Whether the loss feels a row; padding is felt, and never moved."""
    weight, start, found = embedding.weight.data, loss(embedding).item(), []
    for row in range(len(weight)):
        kept = weight[row].clone()
        weight[row] += torch.linspace(0.01, 0.02, weight.shape[1]).to(weight)
        if loss(embedding).item() == start:
            found.append(row)
        weight[row] = kept
    return found


def m_dead_squeezed(embedding, loss):
    """A number where there is only one."""
    gradient = torch.autograd.grad(loss(embedding), embedding.weight)[0]
    return torch.argwhere(~gradient.any(-1)).squeeze().tolist()


def m_dead_positive(embedding, loss):
    gradient = torch.autograd.grad(loss(embedding), embedding.weight)[0]
    return torch.where((gradient <= 0).all(-1))[0].tolist()


def m_dead_every_second(embedding, loss):
    return [row for row in dead_autograd(embedding, loss) if row % 2 == 0]


def m_dead_noise(embedding, loss):
    return [row for row in range(embedding.num_embeddings) if random.random() < 0.5]


def w_cbow_never_emptied(ids, window):
    around, examples = [], []
    for i, center in enumerate(ids):
        for j in range(len(ids)):
            if 0 < abs(i - j) <= window:
                around.append(ids[j])
        if around:
            examples.append((around.copy(), center))
    return examples


def w_near_square(weight, token_id, k):
    scores = weight @ weight[token_id] / (weight * weight).sum(-1)
    order = [each for each in scores.argsort(descending=True).tolist() if each != token_id]
    return order[:k]


def w_near_features(weight, token_id, k):
    scores = torch.cosine_similarity(weight.T, weight[token_id].expand_as(weight).T)
    scores[token_id] = -math.inf
    return scores.topk(k).indices.tolist()


CORRECT = {
    "embeddings.one_hot": [
        hot_scatter,
        hot_eye,
        hot_compare,
        hot_loop,
        hot_flat_index,
        hot_numpy,
        hot_embedding,
        hot_stack,
    ],
    "embeddings.embed": [
        embed_index,
        embed_functional,
        embed_product,
        embed_module,
        embed_loop,
        embed_double,
        embed_gather,
        embed_einsum,
        Embed(),
    ],
    "embeddings.skipgram_pairs": [
        skip_loops,
        skip_slices,
        skip_offsets,
        skip_lists,
        skip_numpy,
        skip_torch,
        skip_permutations,
        skip_padded,
    ],
    "embeddings.cbow_examples": [
        cbow_slices,
        cbow_loops,
        cbow_tuples,
        cbow_deque,
        cbow_grouped,
        cbow_torch,
        cbow_numpy,
    ],
    "embeddings.negative_sampling_loss": [
        loss_plain,
        loss_softplus,
        loss_bce,
        loss_loop,
        loss_logaddexp,
        loss_double,
        loss_signs,
        loss_stable_by_hand,
        Loss(),
    ],
    "embeddings.nearest_neighbours": [
        near_similarity,
        near_normalised,
        near_dropped,
        near_loop,
        near_numpy,
        near_heap,
        near_unit_distance,
        near_one_by_one,
    ],
    "embeddings.tied_logits": [
        tied_matmul,
        tied_linear,
        tied_einsum,
        tied_loop,
        tied_module,
        tied_double,
        tied_flat,
        tied_other_way,
    ],
    "embeddings.embedding_from_pretrained": [
        pre_torch,
        pre_weight,
        pre_copy,
        pre_parameter,
        pre_state,
        pre_hook,
        pre_subclass,
        pre_sparse,
    ],
    "embeddings.find_the_bug": [
        lm_mended,
        lm_divided_back,
        lm_by_hand,
        lm_loops,
        lm_double,
        lm_module,
    ],
    "embeddings.dead_rows": [
        dead_autograd,
        dead_cleared,
        dead_of_a_copy,
        dead_difference,
        dead_step,
        dead_step_taken_back,
        dead_numpy,
        _dead(),
    ],
}

WRONG = {
    "embeddings.one_hot": [
        ("wrong-dtype", w_hot_long),
        ("wrong-dtype", w_hot_compare_bool),
        ("wrong-dtype", w_hot_numpy_double),
        ("counted-from-one", w_hot_minus_one),
        ("counted-from-one", w_hot_plus_one),
        ("width-from-ids", w_hot_max),
        ("vocabulary-first", w_hot_first_axis),
        ("vocabulary-first", w_hot_swapped),
        ("flattened", w_hot_flat),
        ("one-axis-only", w_hot_one_axis),
        ("one-axis-only", w_hot_one_axis_scatter),
        ("all-ids-in-each-row", w_hot_all_columns),
        ("all-ids-in-each-row", w_hot_rows_of_sequence),
        ("one-row-a-sequence", w_hot_bag),
        ("one-row-a-sequence", w_hot_counts),
        ("id-written", w_hot_value),
        ("inverted", w_hot_cold),
        ("row-of-id-0-empty", w_hot_no_zero),
        ("ones-up-to-the-id", w_hot_thermometer),
        ("list-returned", w_hot_list),
        ("changes-its-input", w_hot_in_place),
    ],
    "embeddings.embed": [
        ("no-scale", w_embed_plain),
        ("scaled-by-d", w_embed_d),
        ("scaled-by-d", w_embed_twice),
        ("divided-by-root-d", w_embed_divided),
        ("scaled-by-another-size", w_embed_vocab),
        ("scaled-by-another-size", w_embed_length),
        ("integer-one-hot", w_embed_integer_rows),
        ("indices-times-matrix", w_embed_float_ids),
        ("indices-times-matrix", w_embed_e_times_i),
        ("indices-times-matrix", w_embed_times_ids),
        ("columns-for-rows", w_embed_columns),
        ("columns-for-rows", w_embed_columns_size),
        ("counted-from-one", w_embed_shifted),
        ("counted-from-one", w_embed_shifted_up),
        ("normalised", w_embed_unit),
        ("normalised", w_embed_unit_scaled),
        ("row-0-zero", w_embed_pad),
        ("added-up", w_embed_bag),
        ("added-up", w_embed_sum),
        ("features-before-tokens", w_embed_swapped),
        ("detached", w_embed_data),
        ("float32-only", w_embed_float),
        ("float32-only", w_embed_cast),
        ("changes-its-input", w_embed_in_place),
    ],
    "embeddings.skipgram_pairs": [
        ("first-place-of-a-word", w_pairs_index),
        ("returns-in-the-loop", w_pairs_returns),
        ("centre-among-contexts", w_skip_center),
        ("one-side-only", w_skip_right),
        ("one-side-only", w_skip_left),
        ("right-side-short", w_skip_end),
        ("one-too-far", w_skip_far),
        ("one-too-far", w_skip_far_right),
        ("window-in-total", w_skip_half),
        ("window-in-total", w_skip_half_up),
        ("wraps-around", w_skip_negative),
        ("wraps-around", w_skip_negative_raises),
        ("slice-below-zero", w_skip_slice),
        ("slice-below-zero", w_skip_slice_whole),
        ("edges-skipped", w_skip_full),
        ("same-word-lost", w_skip_same),
        ("contexts-by-distance", w_skip_nearest),
        ("contexts-by-distance", w_skip_left_down),
        ("contexts-by-distance", w_skip_right_first),
        ("farthest-only", w_skip_only_window),
        ("context-first", w_skip_swapped),
        ("not-by-centre", w_skip_by_offset),
        ("not-by-centre", w_skip_sorted),
        ("repetitions-lost", w_skip_set),
        ("places-for-ids", w_skip_places),
        ("places-for-ids", w_skip_place_center),
        ("contexts-in-a-list", w_skip_grouped),
        ("changes-its-input", w_skip_pop),
    ],
    "embeddings.cbow_examples": [
        ("first-equal-word-removed", w_cbow_removed),
        ("first-place-of-a-word", w_bags_index),
        ("returns-in-the-loop", w_bags_returns),
        ("centre-among-contexts", w_cbow_center),
        ("one-side-only", w_cbow_left),
        ("one-side-only", w_cbow_right),
        ("right-side-short", w_cbow_end),
        ("one-too-far", w_cbow_far),
        ("one-too-far", w_cbow_far_right),
        ("window-in-total", w_cbow_total),
        ("wraps-around", w_cbow_negative),
        ("slice-below-zero", w_cbow_slice),
        ("slice-below-zero", w_cbow_slice_whole),
        ("slice-below-zero", w_cbow_slice_all),
        ("edges-skipped", w_cbow_full),
        ("same-word-lost", w_cbow_same),
        ("contexts-by-distance", w_cbow_nearest),
        ("contexts-by-distance", w_cbow_reversed),
        ("contexts-by-distance", w_cbow_right_first),
        ("farthest-only", w_cbow_only_window),
        ("centre-first", w_cbow_center_first),
        ("empty-contexts-kept", w_cbow_empty),
        ("padded", w_cbow_padded),
        ("padded", w_cbow_padded_none),
        ("padded", w_cbow_padded_right),
        ("one-context-a-pair", w_cbow_pairs),
        ("one-context-a-pair", w_cbow_skipgram),
        ("one-context-a-pair", w_cbow_pairs_lists),
        ("repetitions-lost", w_cbow_set),
        ("repetitions-lost", w_cbow_once),
        ("contexts-sorted", w_cbow_sorted),
        ("one-list-for-all", w_cbow_one_list),
        ("context-never-emptied", w_cbow_never_emptied),
        ("one-list-for-all", w_cbow_one_list_emptied),
        ("places-for-ids", w_cbow_places),
        ("places-for-ids", w_cbow_place_contexts),
        ("changes-its-input", w_cbow_pop),
    ],
    "embeddings.negative_sampling_loss": [
        ("sign-of-negatives", w_loss_sign),
        ("mean-over-negatives", w_loss_mean_negatives),
        ("mean-over-negatives", w_loss_bce_mean),
        ("sum-over-batch", w_loss_sum),
        ("loss-for-each-pair", w_loss_rows),
        ("log-of-a-rounded-sigmoid", w_loss_log),
        ("log-of-a-rounded-sigmoid", w_loss_log_formula),
        ("log-of-a-rounded-sigmoid", w_loss_log_one_minus),
        ("logarithm-cut-off", w_loss_eps),
        ("logarithm-cut-off", w_loss_clamp),
        ("logarithm-cut-off", w_loss_bce_probabilities),
        ("axis-squeezed-away", w_loss_squeezed),
        ("axis-squeezed-away", w_loss_squeezed_log),
        ("negatives-left-out", w_loss_positive_only),
        ("positive-left-out", w_loss_negatives_only),
        ("not-negated", w_loss_likelihood),
        ("not-negated", w_loss_one_sign),
        ("no-logarithm", w_loss_no_log),
        ("softmax", w_loss_softmax),
        ("negatives-with-positive", w_loss_positive_times),
        ("all-pairs-of-the-batch", w_loss_matrix),
        ("sum-over-the-wrong-axis", w_loss_axis),
        ("sigmoid-of-each-feature", w_loss_features),
        ("products-added-up", w_loss_summed_negatives),
        ("normalised", w_loss_cosine),
        ("scaled-products", w_loss_scaled),
        ("number-returned", w_loss_item),
        ("detached", w_loss_detached),
        ("detached", w_loss_half_detached),
        ("float32-only", w_loss_float),
        ("changes-its-input", w_loss_in_place),
    ],
    "embeddings.nearest_neighbours": [
        ("itself-included", w_near_itself),
        ("divided-by-the-square", w_near_square),
        ("compared-over-tokens", w_near_features),
        ("one-too-few", w_near_short),
        ("plain-product", w_near_dot),
        ("plain-product", w_near_dot_dropped),
        ("distance", w_near_distance),
        ("farthest-first", w_near_ascending),
        ("farthest-first", w_near_sorted_ascending),
        ("farthest-first", w_near_argsort_end),
        ("sign-lost", w_near_abs),
        ("itself-set-to-zero", w_near_zeroed),
        ("ids-shifted", w_near_deleted),
        ("k-ignored", w_near_all),
        ("k-ignored", w_near_one_more),
        ("not-ranked", w_near_set),
        ("normalised-over-tokens", w_near_columns),
        ("cosines-returned", w_near_values),
        ("cosines-returned", w_near_pairs),
        ("tensor-returned", w_near_tensor),
        ("tensor-returned", w_near_tensors),
        ("changes-its-input", w_near_in_place),
    ],
    "embeddings.tied_logits": [
        ("scaled-up", w_tied_scaled),
        ("scaled-up", w_tied_scaled_hidden),
        ("scaled-down", w_tied_divided),
        ("scaled-down", w_tied_over_vocab),
        ("not-transposed", w_tied_not_transposed),
        ("not-transposed", w_tied_linear_transposed),
        ("reshaped-not-transposed", w_tied_view),
        ("softmax-included", w_tied_softmax),
        ("softmax-included", w_tied_log_softmax),
        ("cosines", w_tied_cosine),
        ("cosines", w_tied_unit_rows),
        ("tokens-returned", w_tied_argmax),
        ("tokens-returned", w_tied_best),
        ("last-token-only", w_tied_last),
        ("last-token-only", w_tied_last_kept),
        ("batch-and-tokens-joined", w_tied_joined),
        ("vocabulary-before-tokens", w_tied_other_order),
        ("vocabulary-before-tokens", w_tied_vocab_first),
        ("detached", w_tied_data),
        ("detached", w_tied_no_grad),
        ("float32-only", w_tied_float),
        ("changes-its-input", w_tied_in_place),
        ("changes-its-input", w_tied_t_in_place),
    ],
    "embeddings.embedding_from_pretrained": [
        ("always-frozen", w_pre_default),
        ("never-frozen", w_pre_never),
        ("freeze-inverted", w_pre_inverted),
        ("pad-row-trained", w_pre_no_pad),
        ("pad-row-zeroed", w_pre_zeroed),
        ("pad-row-zeroed", w_pre_zeroed_trained),
        ("pad-row-zeroed", w_pre_zeroed_none),
        ("pad-id-0-ignored", w_pre_falsy),
        ("pad-id-always-0", w_pre_pad_zero),
        ("new-vectors", w_pre_zeros),
        ("transposed", w_pre_transposed),
        ("transposed", w_pre_sizes_swapped),
        ("scaled", w_pre_scaled),
        ("normalised", w_pre_unit),
        ("not-an-embedding", w_pre_parameter_returned),
        ("not-an-embedding", w_pre_sequential),
        ("not-an-embedding", w_pre_class),
        ("float32-only", w_pre_float),
        ("changes-its-input", w_pre_cleared),
        ("changes-its-input", w_pre_pad_cleared),
    ],
    "embeddings.find_the_bug": [
        ("still-scaled", w_lm_found),
        ("scale-lost-at-the-input", w_lm_no_scale),
        ("scale-lost-at-the-input", w_lm_scale_after),
        ("scale-moved-to-the-output", w_lm_scale_output),
        ("output-divided", w_lm_output_divided),
        ("scaled-by-d", w_lm_d),
        ("scaled-by-another-size", w_lm_vocab),
        ("scaled-by-another-size", w_lm_length),
        ("positions-left-out", w_lm_no_positions),
        ("positions-scaled", w_lm_positions_scaled),
        ("positions-scaled", w_lm_rows_divided),
        ("norm-left-out", w_lm_no_norm),
        ("norm-over-everything", w_lm_norm_all),
        ("softmax-included", w_lm_softmax),
        ("cosines", w_lm_unit_rows),
        ("tied-at-one-end", w_lm_detached_output),
        ("tied-at-one-end", w_lm_detached_input),
        ("detached", w_lm_no_grad),
        ("float32-only", w_lm_float),
        ("changes-its-input", w_lm_in_place),
    ],
    "embeddings.dead_rows": [
        ("old-gradients", w_dead_added_up),
        ("old-gradients", _dead(clear=False)),
        ("one-zero-is-enough", w_dead_some_zero),
        ("one-zero-is-enough", w_dead_product),
        ("one-number-of-the-row", _dead(find=lambda g: ~g[:, 0].bool())),
        ("one-number-of-the-row", _dead(find=lambda g: g.T[-1] == 0)),
        ("signs-cancel", _dead(find=lambda g: g.sum(1).abs() < 1e-7)),
        ("signs-cancel", _dead(find=lambda g: torch.einsum("vd->v", g) == 0)),
        ("living-rows", _dead(find=lambda g: g.any(1))),
        ("features-not-rows", _dead(find=lambda g: g.abs().sum(0) == 0)),
        ("numbers-not-gradients", w_dead_zeros_of_the_table),
        ("padding-always-dead", _dead(choose=_with_padding)),
        ("padding-left-out", _dead(choose=_without_padding)),
        ("padding-left-out", w_dead_nudged),
        ("small-for-zero", _dead(find=lambda g: g.norm(dim=1) < 1e-3)),
        ("small-for-zero", _dead(find=lambda g: g.square().sum(1).sqrt().round(decimals=3) == 0)),
        ("trains-the-embedding", w_dead_optimizer),
        ("trains-the-embedding", w_dead_optimizer_small),
        ("mask-for-ids", _dead(choose=lambda dead, _: dead.tolist())),
        ("mask-for-ids", _dead(choose=lambda dead, _: [bool(each) for each in dead])),
        ("mask-for-ids", _dead(choose=lambda dead, _: [1 if each else 0 for each in dead])),
        ("tensor-for-a-number", _dead(choose=lambda dead, _: torch.where(dead)[0])),
    ],
}

MUTANTS = {
    "embeddings.one_hot": [
        m_hot_softened,
        m_hot_minus,
        m_hot_reversed_columns,
        m_hot_none,
        m_hot_extra_column,
        m_hot_first_only,
        m_hot_half,
    ],
    "embeddings.embed": [
        m_embed_fourth,
        m_embed_d_plus_one,
        m_embed_first_feature,
        m_embed_positions,
        m_embed_no_padding_gradient,
        m_embed_dropout,
        m_embed_sorted,
        m_embed_norm,
    ],
    "embeddings.skipgram_pairs": [
        m_skip_window_plus_two,
        m_skip_flat,
        m_skip_strings,
        m_skip_triples,
        m_skip_generator,
        m_skip_random,
        m_skip_reversed,
        m_skip_none,
        m_skip_next_only,
    ],
    "embeddings.cbow_examples": [
        m_cbow_strings,
        m_cbow_sums,
        m_cbow_joined,
        m_cbow_dict,
        m_cbow_last_lost,
        m_cbow_two_lists,
        m_cbow_reversed_text,
        m_cbow_at_most_four,
    ],
    "embeddings.negative_sampling_loss": [
        m_loss_hinge,
        m_loss_squared,
        m_loss_base_two,
        m_loss_first_negative,
        m_loss_tanh,
        m_loss_double_positive,
        m_loss_dropout,
        m_loss_none,
        m_loss_median,
    ],
    "embeddings.nearest_neighbours": [
        m_near_centred,
        m_near_correlation,
        m_near_next_token,
        m_near_random,
        m_near_strings,
        m_near_manhattan,
        m_near_first_only,
        m_near_none,
    ],
    "embeddings.tied_logits": [
        m_tied_untied,
        m_tied_bias,
        m_tied_distance,
        m_tied_pad_hidden,
        m_tied_sigmoid,
        m_tied_norm,
        m_tied_mean,
        m_tied_half,
    ],
    "embeddings.embedding_from_pretrained": [
        m_pre_random,
        m_pre_noise,
        m_pre_last_row_lost,
        m_pre_reversed,
        m_pre_max_norm,
        m_pre_none,
        m_pre_centred,
    ],
    "embeddings.find_the_bug": [
        m_lm_identity,
        m_lm_d_minus_one,
        m_lm_relu,
        m_lm_positions_reversed,
        m_lm_rms,
        m_lm_dropout,
        m_lm_none,
        m_lm_twice_normed,
    ],
    "embeddings.dead_rows": [
        m_dead_falling,
        m_dead_from_one,
        m_dead_none,
        m_dead_first_three,
        m_dead_squeezed,
        m_dead_positive,
        m_dead_every_second,
        m_dead_noise,
    ],
}
