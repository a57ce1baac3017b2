"""Wrong answers to the tasks of masking, as beginners write them."""

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


# masking.find_another_bug


@wrong(
    "masking.find_another_bug",
    "-1e4 instead: fits float16, empty rows are even",
    "empty-rows-still-average",
)
def _(query, key, value, mask):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores.masked_fill(~mask, -1e4).softmax(dim=-1) @ value


@wrong("masking.find_another_bug", "-inf: NaN in empty rows", "nan-where-nothing-is-seen")
def _(query, key, value, mask):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores.masked_fill(~mask, -math.inf).softmax(dim=-1) @ value


@wrong("masking.find_another_bug", "-1000 and zeroing", "fill-too-mild")
def _(query, key, value, mask):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return (scores.masked_fill(~mask, -1000).softmax(dim=-1) * mask) @ value


@wrong(
    "masking.find_another_bug",
    "the output is wiped at the end: NaN in the gradient's way",
    "nan-in-the-gradient",
)
def _(query, key, value, mask):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    weights = (scores + torch.where(mask, 0.0, -math.inf)).softmax(dim=-1)
    return (weights @ value).nan_to_num(0.0)


@wrong("masking.find_another_bug", "mask after the softmax", "mask-after-softmax")
def _(query, key, value, mask):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return (scores.softmax(dim=-1) * mask) @ value


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
