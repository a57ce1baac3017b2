"""Wrong answers to the tasks of masking, as beginners write them."""

import itertools
import math

import torch

from tests.checks.material.unseen import wrong
from transformer_ref import masks as reference

# masking.masked_softmax


@wrong(
    "masking.masked_softmax",
    "-inf, and nothing for the empty rows: NaN",
    "nan-where-nothing-is-seen",
)
def _(scores, mask):
    return scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)


@wrong(
    "masking.masked_softmax",
    "-1e9: float16 raises, empty rows are even",
    "fill-too-large-for-float16",
)
def _(scores, mask):
    return scores.masked_fill(~mask, -1e9).softmax(dim=-1)


@wrong("masking.masked_softmax", "-1000 and zeroing", "fill-too-mild")
def _(scores, mask):
    return scores.masked_fill(~mask, -1000.0).softmax(dim=-1) * mask


@wrong(
    "masking.masked_softmax",
    "softmax first, then zeroing: the rows do not sum to 1",
    "mask-after-softmax",
)
def _(scores, mask):
    return scores.softmax(dim=-1) * mask


@wrong("masking.masked_softmax", "True is hidden: the tilde is missing", "true-means-blocked")
def _(scores, mask):
    return scores.masked_fill(mask, float("-inf")).softmax(dim=-1).nan_to_num(0.0)


@wrong(
    "masking.masked_softmax", "hidden scores become 0 before the softmax", "hidden-scores-are-zero"
)
def _(scores, mask):
    return (scores * mask).softmax(dim=-1)


@wrong("masking.masked_softmax", "zeros, softmax, zeros again", "hidden-scores-are-zero")
def _(scores, mask):
    return scores.masked_fill(~mask, 0.0).softmax(dim=-1).masked_fill(~mask, 0.0)


@wrong(
    "masking.masked_softmax", "exp by hand, without the maximum: overflow", "exponentials-too-large"
)
def _(scores, mask):
    e = torch.exp(scores) * mask
    return e / e.sum(-1, keepdim=True).clamp(min=1e-6)


@wrong("masking.masked_softmax", "over the queries", "over-the-wrong-axis")
def _(scores, mask):
    return scores.masked_fill(~mask, float("-inf")).softmax(dim=-2).nan_to_num(0.0)


@wrong(
    "masking.masked_softmax",
    "an epsilon in the denominator changes the weights",
    relation="factor-of-row",
)
def _(scores, mask):
    shifted = scores - scores.max(dim=-1, keepdim=True).values
    e = torch.exp(shifted) * mask
    return e / (e.sum(dim=-1, keepdim=True) + 1e-3)


@wrong(
    "masking.masked_softmax",
    "the maximum is taken over the hidden scores too: underflow",
    "renormalised-afterwards",
)
def _(scores, mask):
    shifted = scores - scores.max(dim=-1, keepdim=True).values
    e = torch.exp(shifted) * mask
    total = e.sum(dim=-1, keepdim=True)
    return torch.where(total > 0, e / total.clamp(min=1e-30), torch.zeros_like(e))


@wrong("masking.masked_softmax", "writes into the caller's scores", "changes-its-input")
def _(scores, mask):
    scores[~mask.expand_as(scores)] = float("-inf")
    return scores.softmax(dim=-1).nan_to_num(0.0)


# masking.padding_mask


@wrong("masking.padding_mask", "True where there is padding", "true-means-blocked")
def _(ids, pad_id):
    return (ids == pad_id)[:, None, None, :]


@wrong("masking.padding_mask", "no axes for heads and queries", "axes-missing")
def _(ids, pad_id):
    return ids != pad_id


@wrong("masking.padding_mask", "the padding is always 0", "padding-is-id-0")
def _(ids, pad_id):
    return (ids != 0)[:, None, None, :]


@wrong("masking.padding_mask", "on the rows: (B, 1, S, 1)", "padding-on-query-rows")
def _(ids, pad_id):
    return (ids != pad_id)[:, None, :, None]


@wrong("masking.padding_mask", "numbers instead of booleans", "numbers-not-booleans")
def _(ids, pad_id):
    return (ids != pad_id).float()[:, None, None, :]


# masking.causal_mask


@wrong("masking.causal_mask", "triu", "sees-the-future")
def _(length, device=None):
    return torch.triu(torch.ones(length, length, dtype=torch.bool, device=device))[None, None]


@wrong("masking.causal_mask", "without the diagonal", "not-itself")
def _(length, device=None):
    ones = torch.ones(length, length, dtype=torch.bool, device=device)
    return torch.tril(ones, diagonal=-1)[None, None]


@wrong("masking.causal_mask", "True in the future: what is hidden", "true-means-blocked")
def _(length, device=None):
    ones = torch.ones(length, length, dtype=torch.bool, device=device)
    return torch.triu(ones, diagonal=1)[None, None]


@wrong("masking.causal_mask", "device is not used", "ignores-the-device")
def _(length, device=None):
    return torch.tril(torch.ones(length, length, dtype=torch.bool))[None, None]


@wrong("masking.causal_mask", "additive: 0 and -inf", "added-to-the-scores")
def _(length, device=None):
    return torch.full((length, length), -math.inf, device=device).triu(1)[None, None]


# masking.target_mask


@wrong("masking.target_mask", "| instead of &", "or-not-and")
def _(ids, pad_id):
    return reference.padding_mask(ids, pad_id) | reference.causal_mask(ids.shape[1], ids.device)


@wrong("masking.target_mask", "and instead of &", "whole-tensor-as-condition")
def _(ids, pad_id):
    return reference.padding_mask(ids, pad_id) and reference.causal_mask(ids.shape[1], ids.device)


@wrong("masking.target_mask", "padding hidden as a query", "padding-on-query-rows")
def _(ids, pad_id):
    real = (ids != pad_id)[:, None, :, None]
    return real & reference.causal_mask(ids.shape[1], ids.device)


@wrong("masking.target_mask", "padding hidden as key and as query", "padding-on-rows-and-columns")
def _(ids, pad_id):
    real = ids != pad_id
    both = real[:, None, :, None] & real[:, None, None, :]
    return both & reference.causal_mask(ids.shape[1], ids.device)


@wrong("masking.target_mask", "only causal", "padding-forgotten")
def _(ids, pad_id):
    mask = reference.causal_mask(ids.shape[1], ids.device)
    return mask.expand(ids.shape[0], -1, -1, -1)


# masking.find_the_bug


def _causal_attention(query, key, value, tokens, past):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return reference.masked_softmax(scores, tokens & past) @ value


@wrong("masking.find_the_bug", "only the axis is mended", "made-on-the-default-device")
def _(query, key, value, ids, pad_id):
    length = ids.shape[1]
    tokens = (ids != pad_id)[:, None, None, :]
    past = torch.tril(torch.ones(length, length, dtype=torch.bool))
    return _causal_attention(query, key, value, tokens, past)


@wrong("masking.find_the_bug", "only the device is mended", "padding-on-query-rows")
def _(query, key, value, ids, pad_id):
    length = ids.shape[1]
    tokens = (ids != pad_id)[:, None, :, None]
    past = torch.tril(torch.ones(length, length, dtype=torch.bool, device=ids.device))
    return _causal_attention(query, key, value, tokens, past)


@wrong("masking.find_the_bug", "the triangle was turned", "sees-the-future")
def _(query, key, value, ids, pad_id):
    length = ids.shape[1]
    tokens = (ids != pad_id)[:, None, None, :]
    past = torch.triu(torch.ones(length, length, dtype=torch.bool, device=ids.device))
    return _causal_attention(query, key, value, tokens, past)


@wrong(
    "masking.find_the_bug", "the triangle is taken for the bug and thrown away", "future-not-hidden"
)
def _(query, key, value, ids, pad_id):
    tokens = (ids != pad_id)[:, None, None, :]
    return _causal_attention(query, key, value, tokens, torch.ones_like(tokens))


@wrong("masking.find_the_bug", "padding hidden on both axes", "padding-on-rows-and-columns")
def _(query, key, value, ids, pad_id):
    length = ids.shape[1]
    real = ids != pad_id
    tokens = real[:, None, None, :] & real[:, None, :, None]
    past = torch.tril(torch.ones(length, length, dtype=torch.bool, device=ids.device))
    return _causal_attention(query, key, value, tokens, past)


# masking.how_far_ahead


@wrong("masking.how_far_ahead", "abs(s - t): looking back counts too", "past-and-future")
def _(model, x):
    base, far = model(x), 0
    for s in range(x.shape[1]):
        y = x.clone()
        y[:, s] = torch.randn_like(y[:, s])
        moved = ((model(y) - base).abs() > 1e-4).any(-1).any(0)
        for t in range(x.shape[1]):
            if moved[t]:
                far = max(far, abs(s - t))
    return far


@wrong("masking.how_far_ahead", "how many later tokens are seen, not how far", "counted")
def _(model, x):
    base, T = model(x), x.shape[1]
    seen = torch.zeros(T, T, dtype=torch.bool)
    for s in range(T):
        y = x.clone()
        y[:, s] = torch.randn_like(y[:, s])
        seen[:, s] = ((model(y) - base).abs() > 1e-4).any(-1).any(0)
    return int(seen.triu(1).sum(1).max())


@wrong(
    "masking.how_far_ahead", "the change of a token of zeros: y[:, s] = 0", "zeros-for-the-token"
)
def _(model, x):
    base, far = model(x), 0
    for s in range(x.shape[1]):
        y = x.clone()
        y[:, s] = 0
        moved = ((model(y) - base).abs() > 1e-4).any(-1).any(0)
        for t in range(s):
            if moved[t]:
                far = max(far, s - t)
    return far


@wrong("masking.how_far_ahead", "t - s: how far back", "past-and-future")
def _(model, x):
    base, far = model(x), 0
    for s in range(x.shape[1]):
        y = x.clone()
        y[:, s] += torch.randn_like(y[:, s])
        moved = ((model(y) - base).abs() > 1e-4).any(-1).any(0)
        for t in range(x.shape[1]):
            if moved[t]:
                far = max(far, t - s)
    return far


@wrong("masking.how_far_ahead", "x is changed in place and never restored", "more-than-one-token")
def _(model, x):
    base, far = model(x), 0
    for s in range(x.shape[1]):
        x[:, s] = torch.randn_like(x[:, s])
        moved = ((model(x) - base).abs() > 1e-4).any(-1).any(0)
        for t in range(s):
            if moved[t]:
                far = max(far, s - t)
    return far


# masking.packed_inputs


@wrong("masking.packed_inputs", "a counter that runs through padding too", "padding-sees-padding")
def _(documents):
    B, T = documents.shape
    mask = torch.zeros(B, 1, T, T, dtype=torch.bool, device=documents.device)
    positions = torch.zeros_like(documents)
    for b in range(B):
        count = 0
        for t in range(T):
            count = count + 1 if t > 0 and documents[b, t] == documents[b, t - 1] else 0
            positions[b, t] = count
            for s in range(t + 1):
                mask[b, 0, t, s] = documents[b, s] == documents[b, t] and documents[b, s] != 0
    return mask, positions


@wrong(
    "masking.packed_inputs",
    "the ordinary mask, and positions that restart",
    "documents-see-each-other",
)
def _(documents):
    mask = reference.target_mask(documents, 0)
    same = documents[:, :, None] == documents[:, None, :]
    positions = same.tril(-1).sum(dim=-1) * (documents != 0)
    return mask, positions


@wrong("masking.packed_inputs", "blocks without the triangle", "future-not-hidden")
def _(documents):
    real = documents != 0
    same = (documents.unsqueeze(2) == documents.unsqueeze(1)) & real.unsqueeze(1)
    places = torch.arange(documents.shape[1], device=documents.device)
    first = same.int().argmax(dim=-1)
    return same.unsqueeze(1), (places - first) * real


@wrong("masking.packed_inputs", "arange for every row", "positions-run-on")
def _(documents):
    B, T = documents.shape
    same = documents.view(B, 1, T, 1) == documents.view(B, 1, 1, T)
    mask = same & reference.target_mask(documents, 0)
    return mask, torch.arange(T, device=documents.device).repeat(B, 1)


@wrong("masking.packed_inputs", "only the rows of padding are put right", "padding-sees-padding")
def _(documents):
    same = documents[:, None, :, None] == documents[:, None, None, :]
    mask = same & reference.causal_mask(documents.shape[1], documents.device)
    positions = (mask.sum(-1)[:, 0] - 1) * (documents != 0)
    return mask, positions


@wrong("masking.packed_inputs", "a product of numbers: float32", "numbers-not-booleans")
def _(documents):
    T = documents.shape[1]
    past = torch.tril(torch.ones(T, T, device=documents.device))
    same = (documents[:, None, :, None] == documents[:, None, None, :]).float()
    mask = past * same * (documents != 0)[:, None, None, :]
    return mask, (mask.sum(-1)[:, 0] - 1).clamp(min=0).long()


@wrong("masking.packed_inputs", "only a token and the one before it", relation="diagonal")
def _(documents):
    same = documents[:, :, None] == documents[:, None, :]
    mask = same.tril().triu(-1) & (documents != 0)[:, None, :]
    return mask[:, None], same.tril(-1).sum(dim=-1) * (documents != 0)


# masking.shortest_failure


def _all_rows(length):
    return list(itertools.product((0, 1), repeat=length))


@wrong("masking.shortest_failure", "the two masks have to be equal", "padding-counts")
def _(make_mask, longest):
    for length in range(1, longest + 1):
        for row in _all_rows(length):
            ids = torch.tensor([row])
            if not torch.equal(make_mask(ids, 0), reference.target_mask(ids, 0)):
                return list(row)
    return []


@wrong("masking.shortest_failure", "tokens among tokens only", "tokens-as-keys")
def _(make_mask, longest):
    for length in range(1, longest + 1):
        for row in _all_rows(length):
            ids = torch.tensor([row])
            seen = make_mask(ids, 0)[0, 0]
            for t in range(length):
                for s in range(length):
                    if row[t] and row[s] and bool(seen[t, s]) != (s <= t):
                        return list(row)
    return []


@wrong("masking.shortest_failure", "the last of the shortest rows", "other-order")
def _(make_mask, longest):
    found = []
    for length in range(1, longest + 1):
        for row in _all_rows(length):
            ids = torch.tensor([row])
            wrong = make_mask(ids, 0) ^ reference.target_mask(ids, 0)
            if (wrong[0, 0] & ids[0].bool()[:, None]).any():
                found = list(row)
        if found:
            return found
    return found


@wrong("masking.shortest_failure", "the search goes on to the longest rows", "longest-first")
def _(make_mask, longest):
    found = []
    for length in range(1, longest + 1):
        for row in _all_rows(length):
            ids = torch.tensor([row])
            wrong = make_mask(ids, 0) ^ reference.target_mask(ids, 0)
            if (wrong[0, 0] & ids[0].bool()[:, None]).any():
                found = list(row)
                break
    return found


@wrong("masking.shortest_failure", "sees padding or the future; misses nothing", "leaks-only")
def _(make_mask, longest):
    for length in range(1, longest + 1):
        for row in _all_rows(length):
            seen = make_mask(torch.tensor([row]), 0)[0, 0].tolist()
            for t in range(length):
                for s in range(length):
                    if row[t] and seen[t][s] and (s > t or not row[s]):
                        return list(row)
    return []


@wrong("masking.shortest_failure", "padding in front or at the end, never inside", "some-rows-only")
def _(make_mask, longest):
    for length in range(1, longest + 1):
        front = [[0] * n + [1] * (length - n) for n in range(length + 1)]
        behind = [[1] * n + [0] * (length - n) for n in range(length + 1)]
        for row in sorted(front + behind):
            ids = torch.tensor([row])
            wrong = make_mask(ids, 0) != reference.target_mask(ids, 0)
            if wrong[0, 0, ids[0] == 1].any():
                return row
    return []


@wrong(
    "masking.shortest_failure", "range(longest): the last length is left out", "longest-not-tried"
)
def _(make_mask, longest):
    for length in range(longest):
        for row in _all_rows(length):
            ids = torch.tensor([row], dtype=torch.long)
            wrong = make_mask(ids, 0) != reference.target_mask(ids, 0) if length else ids
            if length and wrong[0, 0, ids[0] == 1].any():
                return list(row)
    return []
