"""Answers to the assignment "masking" on which the grader itself is measured.

CORRECT must be accepted, WRONG must be rejected with the misconception that stands beside it, and
MUTANTS, which have no name and are harder to notice than any generated mutant, without one.
They are written apart from the checks, in the ways in which people write masks.
"""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

import transformer_ref.masks as tr

NINF = float("-inf")

# =============================================================================================
# padding_mask
# =============================================================================================


def pad_unsqueeze(ids, pad_id):
    return (ids != pad_id).unsqueeze(1).unsqueeze(2)


def pad_view(ids, pad_id):
    b, s = ids.shape
    return (ids.eq(pad_id) == False).view(b, 1, 1, s)  # noqa: E712


def pad_loops(ids, pad_id):
    out = torch.zeros(ids.shape[0], 1, 1, ids.shape[1], dtype=torch.bool, device=ids.device)
    for i, row in enumerate(ids.tolist()):
        for j, each in enumerate(row):
            out[i, 0, 0, j] = each != pad_id
    print("done", out.shape)
    return out


def pad_list(ids, pad_id):
    rows = [[[[token != pad_id for token in row]]] for row in ids.tolist()]
    return torch.tensor(rows, device=ids.device)


def pad_where(ids, pad_id):
    ones = torch.ones_like(ids)
    return torch.where(ids == pad_id, ones * 0, ones).to(torch.bool)[:, None, None]


def pad_numpy(ids, pad_id):
    warnings.warn("through numpy", UserWarning, stacklevel=1)
    found = np.not_equal(ids.cpu().numpy(), pad_id)[:, np.newaxis, np.newaxis, :]
    return torch.from_numpy(found).to(ids.device)


def pad_difference(ids, pad_id):
    return (ids - pad_id).bool().reshape(len(ids), 1, 1, -1)


def m_pad_two_ids(ids, pad_id):
    return ((ids != pad_id) & (ids != 0))[:, None, None]


# =============================================================================================
# causal_mask
# =============================================================================================


def causal_tril(length, device=None):
    return torch.tril(torch.ones(1, 1, length, length, device=device)).bool()


def causal_triu(length, device=None):
    blocked = torch.triu(torch.full((length, length), True, device=device), diagonal=1)
    return ~blocked.view(1, 1, length, length)


def causal_compare(length, device=None):
    t = torch.arange(length, device=device)
    return (t[None, :] <= t[:, None]).unsqueeze(0).unsqueeze(0)


def causal_loops(length, device=None):
    mask = torch.zeros((1, 1, length, length), dtype=torch.bool, device=device)
    for t in range(length):
        mask[:, :, t, : t + 1] = True
    return mask


def causal_lists(length, device=None):
    rows = [[s <= t for s in range(length)] for t in range(length)]
    return torch.tensor([[rows]], device=device)


def causal_numpy(length, device=None):
    found = torch.from_numpy(np.tri(length, dtype=bool))
    return (found if device is None else found.to(device))[None, None]


def causal_cumsum(length, device=None):
    print("length", length)
    return torch.eye(length, device=device).cumsum(dim=0).gt(0).expand(1, 1, -1, -1)


def causal_from_torch(length, device=None):
    additive = nn.Transformer.generate_square_subsequent_mask(length, device=device)
    return (additive == 0)[None, None]


def causal_moved(length, device=None):
    return torch.ones(length, length).tril().bool()[None, None].to(device)


def w_causal_numpy(length, device=None):
    return np.tri(length, dtype=bool)[None, None]


# =============================================================================================
# target_mask
# =============================================================================================


def target_reference(ids, pad_id):
    return tr.padding_mask(ids, pad_id) & tr.causal_mask(ids.shape[1], ids.device)


def target_product(ids, pad_id):
    length = ids.size(1)
    past = torch.tril(torch.ones(length, length, device=ids.device))
    return (past * (ids != pad_id).float()[:, None, None, :]).bool()


def target_loops(ids, pad_id):
    batch, length = ids.shape
    rows = ids.tolist()
    out = torch.zeros(batch, 1, length, length, dtype=torch.bool)
    for b in range(batch):
        for t in range(length):
            for s in range(t + 1):
                out[b, 0, t, s] = rows[b][s] != pad_id
    return out.to(ids.device)


def target_tril(ids, pad_id):
    batch, length = ids.shape
    tokens = ids.ne(pad_id).view(batch, 1, 1, length).expand(batch, 1, length, length)
    return torch.tril(tokens)


def target_blocked(ids, pad_id):
    t = torch.arange(ids.shape[1], device=ids.device)
    blocked = (ids == pad_id)[:, None, None, :] | (t[None, :] > t[:, None])
    return ~blocked


def target_minimum(ids, pad_id):
    past = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.int8, device=ids.device).tril()
    both = torch.minimum(past, (ids != pad_id).to(torch.int8)[:, None, :])
    return both.unsqueeze(1) == 1


def target_stack(ids, pad_id):
    warnings.warn("slow", UserWarning, stacklevel=1)
    past = torch.ones(ids.shape[1], ids.shape[1], device=ids.device).tril()
    rows = [past * (row != pad_id) > 0 for row in ids]
    return torch.stack(rows).unsqueeze(1)


def target_sum(ids, pad_id):
    return tr.padding_mask(ids, pad_id).int() + tr.causal_mask(ids.shape[1], ids.device).int() == 2


def w_target_numpy(ids, pad_id):
    return target_loops(ids, pad_id).numpy()


# =============================================================================================
# masked_softmax
# =============================================================================================


def soft_inf(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, NINF), dim=-1).nan_to_num(0)


def soft_lowest(scores, mask):
    filled = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    return F.softmax(filled, -1) * mask


def soft_by_hand(scores, mask):
    filled = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min)
    top = filled.max(dim=-1, keepdim=True).values
    parts = (filled - top).exp().masked_fill(~mask, 0)
    total = parts.sum(-1, keepdim=True)
    return parts / torch.where(total == 0, torch.ones_like(total), total)


def soft_double(scores, mask):
    wide = scores.double().masked_fill(~mask, -1e300)
    weights = wide.softmax(-1)
    return (weights * mask).to(scores.dtype)


def soft_rows(scores, mask):
    mask = mask.expand(scores.shape)
    flat, open_ = scores.reshape(-1, scores.shape[-1]), mask.reshape(-1, scores.shape[-1])
    rows = []
    for row, seen in zip(flat, open_, strict=True):
        weights = torch.zeros_like(row)
        if seen.any():
            weights = weights.index_put((seen.nonzero().squeeze(1),), row[seen].softmax(0))
        rows.append(weights)
    return torch.stack(rows).reshape(scores.shape)


def soft_empty_rows_first(scores, mask):
    empty = ~mask.any(dim=-1, keepdim=True)
    weights = scores.masked_fill(~(mask | empty), NINF).softmax(dim=-1)
    return weights.masked_fill(empty, 0.0)


def soft_where_nan(scores, mask):
    print("scores", scores.dtype)
    w = torch.softmax(torch.where(mask, scores, NINF), -1)
    return torch.where(torch.isnan(w), torch.zeros_like(w), w)


def soft_logsumexp(scores, mask):
    warnings.warn("by logarithms", UserWarning, stacklevel=1)
    wide = scores.float() if scores.dtype in (torch.float16, torch.bfloat16) else scores
    low = wide.masked_fill(~mask, torch.finfo(wide.dtype).min)
    return torch.exp(low - low.logsumexp(-1, keepdim=True)).masked_fill(~mask, 0).to(scores.dtype)


def soft_reference_twice(scores, mask):
    w = scores.masked_fill(mask.logical_not(), NINF).softmax(-1)
    return w.masked_fill(mask.logical_not(), 0)


def soft_clamped(scores, mask):
    top = scores.masked_fill(~mask, NINF).amax(-1, keepdim=True).clamp(min=-6e4)
    e = torch.where(mask, scores - top.detach(), NINF).exp()
    return e / e.sum(-1, keepdim=True).clamp(min=1e-4)


def soft_quotient(scores, mask):
    low = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    e = torch.exp(low - low.max(-1, keepdim=True).values) * mask
    w = e / e.sum(-1, keepdim=True)
    return w.nan_to_num(0.0)


# =============================================================================================
# find_the_bug
# =============================================================================================


def _decode(mask, weigh=tr.masked_softmax, root=True):
    def causal_attention(query, key, value, ids, pad_id):
        scores = torch.einsum("bhtk,bhsk->bhts", query, key)
        scores = scores / math.sqrt(key.size(-1)) if root else scores
        return torch.einsum("bhts,bhsv->bhtv", weigh(scores, mask(ids, pad_id)), value)

    return causal_attention


def bug_mended(query, key, value, ids, pad_id):
    length = ids.shape[1]
    tokens = (ids != pad_id)[:, None, None, :]
    past = torch.tril(torch.ones(length, length, dtype=torch.bool, device=ids.device))
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return tr.masked_softmax(scores, tokens & past) @ value


def bug_on_query_device(query, key, value, ids, pad_id):
    t = torch.arange(ids.shape[1]).to(query.device)
    seen = (t[:, None] >= t) * (ids != pad_id)[:, None, None]
    scores = query @ key.mT * query.shape[-1] ** -0.5
    return soft_inf(scores, seen) @ value


def bug_scaled_query(query, key, value, ids, pad_id):
    print("T =", ids.shape[1])
    mask = ids.ne(pad_id).unsqueeze(1).unsqueeze(2).repeat(1, 1, ids.shape[1], 1).tril()
    return soft_lowest(query / query.shape[-1] ** 0.5 @ key.transpose(2, 3), mask) @ value


def bug_by_query(query, key, value, ids, pad_id):
    out = []
    for t in range(ids.shape[1]):
        scores = query[:, :, t : t + 1] @ key[:, :, : t + 1].mT / math.sqrt(key.shape[-1])
        tokens = (ids[:, : t + 1] != pad_id)[:, None, None, :]
        out.append(tr.masked_softmax(scores, tokens) @ value[:, :, : t + 1])
    return torch.cat(out, dim=2)


bug_compared = _decode(target_blocked)
bug_multiplied = _decode(target_product)
bug_from_minimum = _decode(target_minimum, soft_where_nan)


def m_bug_zero_padding_queries(query, key, value, ids, pad_id):
    out = bug_mended(query, key, value, ids, pad_id)
    return out * 0.5 * ((ids != pad_id)[:, None, :, None] + 1.0)


# =============================================================================================
# packed_inputs
# =============================================================================================


def packed_loops(documents):
    B, T = documents.shape
    rows = documents.tolist()
    mask = torch.zeros(B, 1, T, T, dtype=torch.bool, device=documents.device)
    positions = torch.zeros_like(documents)
    for b, row in enumerate(rows):
        for t, number in enumerate(row):
            if number:
                start = row.index(number)
                mask[b, 0, t, start : t + 1] = True
                positions[b, t] = t - start
    print(positions)
    return mask, positions


def packed_starts(documents):
    """The position is how far the latest start is away."""
    T = documents.shape[1]
    places = torch.arange(T, device=documents.device)
    before = torch.roll(documents, 1, dims=1)
    starts = (documents != before) | (places == 0)
    first = torch.where(starts, places, 0).cummax(dim=1).values
    same = first[:, :, None] == first[:, None, :]
    real = documents > 0
    mask = same & real[:, :, None] & (places[:, None] >= places)
    return mask.unsqueeze(1), torch.where(real, places - first, 0)


def packed_target(documents):
    pairs = documents.unsqueeze(1).unsqueeze(2).eq(documents.unsqueeze(1).unsqueeze(3))
    mask = tr.target_mask(documents, 0).logical_and(pairs)
    return [mask, mask.long().sum(-1).squeeze(1).sub(1).relu()]


def packed_tril(documents):
    d = documents.unsqueeze(1)
    mask = (d.mT == d).mul(d.mT.bool()).tril()
    earlier = torch.tril(mask, -1)
    return mask[:, None], earlier.sum(2)


def packed_numpy(documents):
    d = documents.cpu().numpy()
    mask = (d[:, :, None] == d[:, None]) & (d > 0)[:, None] & np.tri(d.shape[1], dtype=bool)
    count = np.where(d > 0, mask.sum(-1) - 1, 0).astype(np.int64)
    pair = torch.from_numpy(mask[:, None]), torch.from_numpy(count)
    return tuple(each.to(documents.device) for each in pair)


def packed_subtracted(documents):
    same = (documents[:, None, :, None] - documents[:, None, None, :]) == 0
    mask = same & tr.padding_mask(documents, 0) & tr.causal_mask(same.shape[-1], documents.device)
    return mask, (torch.cumsum(mask, dim=-1).amax(-1)[:, 0] - 1).clamp_min(0)


def packed_argmax(documents):
    """The first place with the same number is where the document starts."""
    same = documents[:, :, None] == documents[:, None]
    first = same.int().argmax(-1)
    places = torch.arange(documents.shape[1], device=documents.device)
    mask = same & (documents != 0)[:, :, None] & (places <= places[:, None])
    return mask[:, None], (places - first) * (documents != 0)


def m_packed_neighbours(documents):
    """A token sees its document, but for the first token once more than eight came after it."""
    mask, positions = packed_loops(documents)
    mask[:, 0] &= ~((positions[:, None] == 0) & (positions[:, :, None] > 8))
    return mask, positions


# =============================================================================================
# shortest_failure
# =============================================================================================


def _rows(length):
    return [[int(bit) for bit in f"{n:0{length}b}"] for n in range(2**length)]


def failure_binary(make_mask, longest):
    for length in range(1, longest + 1):
        for row in _rows(length):
            ids = torch.tensor(row)[None]
            mask, right = make_mask(ids, 0), tr.target_mask(ids, 0)
            for t in range(length):
                if row[t] and not torch.equal(mask[0, 0, t], right[0, 0, t]):
                    return row
    return []


def failure_batched(make_mask, longest):
    """All rows of one length are one batch."""
    for length in range(1, longest + 1):
        ids = torch.cartesian_prod(*[torch.tensor([0, 1])] * length).view(-1, length)
        wrong = (make_mask(ids, 0) ^ tr.target_mask(ids, 0))[:, 0]
        fails = (wrong & ids.bool()[:, :, None]).any(dim=(1, 2))
        if fails.any():
            return ids[fails][0].tolist()
    return []


def failure_by_rule(make_mask, longest):
    def fails(row):
        mask = make_mask(torch.tensor([row]), 0)[0, 0].tolist()
        return any(
            mask[t][s] != (s <= t and row[s] == 1)
            for t in range(len(row))
            for s in range(len(row))
            if row[t] == 1
        )

    found = (row for T in range(1, longest + 1) for row in _rows(T) if fails(row))
    return next(found, [])


def failure_other_ids(make_mask, longest):
    """Padding has the id 9, and the tokens are not all the same."""
    for row in itertools.chain.from_iterable(map(_rows, range(1, longest + 1))):
        ids = torch.tensor([[9 if each == 0 else 20 + n for n, each in enumerate(row)]])
        differ = (make_mask(ids, 9).int() - tr.target_mask(ids, 9).int()).abs()
        if any(itertools.compress(differ[0, 0].sum(-1).tolist(), row)):
            print(ids)
            return row
    return []


def failure_recursive(make_mask, longest, length=1):
    if length > longest:
        return []
    for row in _rows(length):
        ids = torch.tensor([row])
        if (make_mask(ids, 0) != target_loops(ids, 0))[:, :, ids[0] != 0, :].sum() > 0:
            return row
    return failure_recursive(make_mask, longest, length + 1)


def _failure_if(counts):
    """Search as it should be, but for which rows of the mask count."""

    def shortest_failure(make_mask, longest):
        for length in range(1, longest + 1):
            for row in _rows(length):
                ids = torch.tensor([row])
                wrong = (make_mask(ids, 0) != tr.target_mask(ids, 0))[0, 0]
                if counts(wrong, row):
                    return row
        return []

    return shortest_failure


# Two cells are wrong at least; the first token is left out.
m_failure_two = _failure_if(lambda wrong, row: wrong[torch.tensor(row) == 1].sum() > 1)
m_failure_not_first = _failure_if(lambda wrong, row: wrong[torch.tensor(row) == 1][1:].any())


# =============================================================================================
# how_far_ahead: maps of what moves
# =============================================================================================


def moved_at_once(model, x):
    """All changed copies side by side in one batch."""
    T = x.shape[1]
    copies = x.repeat(T, 1, 1, 1)  # (changed token, B, T, D)
    for s in range(T):
        copies[s, :, s] += torch.randn(x.shape[0], x.shape[2], dtype=x.dtype)
    moves = model(copies.flatten(0, 1)).unflatten(0, (T, -1)) - model(x)
    return (moves.abs() > 1e-4).any(-1).any(1).T


def moved_numpy(model, x):
    rng = np.random.default_rng(5)
    before, T = model(x).numpy(), x.shape[1]
    moved = np.zeros((T, T), dtype=bool)
    for s in range(T):
        other = x.numpy().copy()
        other[:, s, :] = rng.uniform(-1, 1, size=other[:, s, :].shape)
        moved[:, s] = (abs(model(torch.from_numpy(other)).numpy() - before) > 1e-4).any((0, 2))
    print(moved)
    return torch.from_numpy(moved)


def moved_loops(model, x):
    with torch.no_grad():
        T, before = x.size(1), model(x)
        moved = torch.zeros(T, T, dtype=torch.bool)
        for s in range(T):
            noise = torch.zeros_like(x)
            noise[:, s].normal_()
            after = model(x + noise)
            for t in range(T):
                moved[t, s] = not torch.allclose(after[:, t], before[:, t], rtol=0, atol=1e-4)
    return moved


@torch.inference_mode()
def moved_as_in_the_chapter(model, x):
    before, columns = model(x), []
    for s in range(x.shape[1]):
        changed = x.clone()
        changed[:, s] = torch.rand(x.shape[-1]) - 3
        columns.append(((model(changed) - before).norm(dim=-1) > 1e-4).sum(0) > 0)
    return torch.stack(columns, 1)


def moved_put_back(model, x):
    before, rows = model(x).clone(), []
    for s in range(x.shape[1]):
        kept = x[:, s].clone()
        x[:, s] = torch.randn(kept.shape)
        rows.append(((model(x) - before) ** 2).amax((0, 2)) > 1e-8)
        x[:, s] = kept
    return torch.stack(rows).T


def moved_gradient(model, x):
    """What an output depends on has a gradient there."""
    found = torch.autograd.functional.jacobian(lambda y: model(y).sum(0), x)
    return found.abs().amax(dim=(1, 2, 4)) > 1e-4


def _new(token):
    return torch.randn(token.shape, dtype=token.dtype)


def w_moved_last_stays(model, x):
    """Each round puts the token of the round before back; nobody does so after the last."""
    before, first, result = model(x), x.clone(), []
    for s in range(x.shape[1]):
        x.copy_(first)
        x[:, s] = _new(x[:, s])
        result.append((model(x) - before).abs().amax((0, 2)) > 1e-4)
    return torch.stack(result, 1)


# =============================================================================================
# how_far_ahead
# =============================================================================================


def ahead_from_the_map(model, x):
    return max([0, *[int(s - t) for t, s in moved_loops(model, x).nonzero()]])


def _furthest(moved):
    return max((s - t for t, s in moved.nonzero().tolist() if s > t), default=0)


def _of(measure):
    """How far ahead by a map that is measured in some way."""
    return lambda model, x: _furthest(measure(model, x))


def ahead_diagonals(model, x):
    """From the corner of the map inwards, until a diagonal holds something."""
    moved = moved_at_once(model, x)
    for k in range(x.shape[1] - 1, 0, -1):
        if moved.diagonal(k).any():
            return k
    return 0


def ahead_first_output(model, x):
    """Of each changed token, the first output that moves is the furthest from it."""
    before, distances = model(x), [0]
    for s in range(x.shape[1]):
        other = x.clone()
        other[:, s] = _new(other[:, s])
        moved = (model(other) - before).abs().amax((0, 2)).gt(1e-4)
        if moved.any():
            distances.append(s - moved.int().argmax().item())
    return max(distances)


def ahead_argwhere(model, x):
    found = np.argwhere(moved_numpy(model, x).numpy())
    return int((found[:, 1] - found[:, 0]).max(initial=0))


def ahead_from_behind(model, x):
    """All tokens from s on are changed: the furthest is the same."""
    before, furthest = model(x), 0
    for s in range(1, x.shape[1]):
        other = torch.cat([x[:, :s], torch.randn(x[:, s:].shape, dtype=x.dtype)], dim=1)
        for t in range(s - 1):
            if ((model(other) - before)[:, t].abs() > 1e-4).any():
                furthest = max(furthest, s - t)
        if ((model(other) - before)[:, s - 1].abs() > 1e-4).any():
            furthest = max(furthest, 1)
    return furthest


def _of_map(judge):
    """Wrong: something else is read off a right map."""
    return lambda model, x: judge(moved_loops(model, x))


def _leaks(moved):
    return [s - t for t, s in moved.nonzero().tolist() if s > t]


def w_ahead_first(moved):
    return (_leaks(moved) or [0])[0]


def w_target_default_device(ids, pad_id):
    past = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril()
    return pad_unsqueeze(ids, pad_id) & past


def m_pad_is(ids, pad_id):
    rows = [[[[token is not pad_id for token in row]]] for row in ids.tolist()]
    return torch.tensor(rows, device=ids.device)


def m_causal_buffer(length, device=None):
    return torch.ones(64, 64, dtype=torch.bool, device=device).tril()[None, None, :length, :length]


def m_soft_clamped(scores, mask):
    return soft_inf(scores.clamp(-1e4, 1e4), mask)


def _moved_if(moves):
    """Measure as it should be, but for the question which outputs are said to have moved."""

    def moved(model, x):
        before, columns = model(x), []
        for s in range(x.shape[1]):
            changed = x.clone()
            changed[:, s] = torch.randn_like(changed[:, s])
            after = model(changed)
            pairs = zip(before.unbind(1), after.unbind(1), strict=True)
            columns.append(torch.stack([moves(*pair) for pair in pairs]))
        return torch.stack(columns, dim=-1)

    return moved


m_moved_close = _moved_if(lambda old, new: torch.tensor(not torch.allclose(new, old, atol=1e-4)))
m_moved_mean = _moved_if(lambda old, new: (new - old).abs().mean() > 1e-4)
m_moved_upwards = _moved_if(lambda old, new: (new - old).amax() > 1e-4)
m_moved_thousandth = _moved_if(lambda old, new: (new - old).abs().amax() > 1e-3)


CORRECT = {
    "masking.padding_mask": [
        pad_unsqueeze,
        pad_view,
        pad_loops,
        pad_list,
        pad_where,
        pad_numpy,
        pad_difference,
    ],
    "masking.causal_mask": [
        causal_tril,
        causal_triu,
        causal_compare,
        causal_loops,
        causal_lists,
        causal_numpy,
        causal_cumsum,
        causal_from_torch,
        causal_moved,
    ],
    "masking.target_mask": [
        target_reference,
        target_product,
        target_loops,
        target_tril,
        target_blocked,
        target_minimum,
        target_stack,
        target_sum,
    ],
    "masking.masked_softmax": [
        soft_inf,
        soft_lowest,
        soft_by_hand,
        soft_double,
        soft_rows,
        soft_empty_rows_first,
        soft_where_nan,
        soft_logsumexp,
        soft_reference_twice,
        soft_clamped,
        soft_quotient,
    ],
    "masking.find_the_bug": [
        bug_mended,
        bug_on_query_device,
        bug_scaled_query,
        bug_by_query,
        bug_compared,
        bug_multiplied,
        bug_from_minimum,
    ],
    "masking.packed_inputs": [
        packed_loops,
        packed_starts,
        packed_target,
        packed_tril,
        packed_numpy,
        packed_subtracted,
        packed_argmax,
    ],
    "masking.shortest_failure": [
        failure_binary,
        failure_batched,
        failure_by_rule,
        failure_other_ids,
        failure_recursive,
    ],
    "masking.how_far_ahead": [
        ahead_from_the_map,
        ahead_diagonals,
        ahead_first_output,
        ahead_argwhere,
        ahead_from_behind,
        _of(moved_loops),
        _of(moved_as_in_the_chapter),
        _of(moved_put_back),
        _of(moved_gradient),
    ],
}

WRONG = {
    "masking.causal_mask": [
        ("numpy", w_causal_numpy),
    ],
    "masking.target_mask": [
        ("numpy", w_target_numpy),
        ("other-device", w_target_default_device),
    ],
    "masking.how_far_ahead": [
        ("not-the-furthest", _of_map(w_ahead_first)),
        ("changes-its-input", _of(w_moved_last_stays)),
        ("signed", _of(m_moved_upwards)),
    ],
}

MUTANTS = {
    "masking.padding_mask": [m_pad_two_ids, m_pad_is],
    "masking.causal_mask": [m_causal_buffer],
    "masking.masked_softmax": [m_soft_clamped],
    "masking.packed_inputs": [m_packed_neighbours],
    "masking.shortest_failure": [m_failure_two, m_failure_not_first],
    "masking.how_far_ahead": [
        _of(m_moved_close),
        _of(m_moved_mean),
        _of(m_moved_thousandth),
    ],
    "masking.find_the_bug": [m_bug_zero_padding_queries],
}
