"""Answers to the assignment "attention" on which the grader itself is measured.

CORRECT must be accepted, WRONG must be rejected with the misconception that stands beside it, and
MUTANTS, which are wrong in a way that no misconception describes, must be rejected without a name.
They are written apart from the checks, in the ways in which people write attention.
"""

# ruff: noqa: N801, N802, E731, RUF005, RUF059

from __future__ import annotations

import copy
import math
import warnings

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import einsum

import transformer_ref.attention as tr

# =============================================================================================
# attention_scores
# =============================================================================================


def scores_matmul(query, key):
    return torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))


def scores_einsum(query, key):
    return torch.einsum("...tk,...sk->...ts", query, key) * query.shape[-1] ** -0.5


def scores_scaled_query(query, key):
    d_k = torch.tensor(query.shape[-1], dtype=torch.float32)
    return (query / torch.sqrt(d_k)) @ key.mT


def scores_both_scaled(q, k):
    root = k.shape[-1] ** 0.25
    return (q / root) @ (k / root).swapaxes(-1, -2)


def scores_loops(query, key):
    rows = []
    for t in range(query.shape[-2]):
        row = [(query[..., t, :] * key[..., s, :]).sum(-1) for s in range(key.shape[-2])]
        rows.append(torch.stack(row, dim=-1))
    return torch.stack(rows, dim=-2).div(np.sqrt(key.shape[-1]))


def scores_broadcast(query, key):
    print("query", query.shape)
    warnings.warn("this compares every pair", UserWarning, stacklevel=2)
    return (query.unsqueeze(-2) * key.unsqueeze(-3)).sum(-1) / query.shape[-1] ** 0.5


def scores_double(query, key):
    result = query.double() @ key.double().transpose(-1, -2)
    result /= math.sqrt(query.shape[-1])
    return result.to(query.dtype)


def scores_bmm(*args, **kwargs):
    def inner(query, key):
        q = query.reshape(-1, *query.shape[-2:])
        k = key.reshape(-1, *key.shape[-2:])
        flat = torch.baddbmm(
            q.new_zeros(1), q, k.permute(0, 2, 1), beta=0, alpha=1 / math.sqrt(q.shape[-1])
        )
        return flat.view(*query.shape[:-1], key.shape[-2])

    return inner(*args, **kwargs)


def w_scores_none(query, key):
    return einsum("...ij,...kj->...ik", query, key)


def w_scores_twice(query, key):
    d = query.shape[-1]
    return (query / math.sqrt(d)) @ (key / math.sqrt(d)).mT


def w_scores_times(query, key):
    return query.matmul(key.mT).mul(torch.tensor(float(key.size(-1))).sqrt())


def w_scores_length(query, key):
    B = torch.einsum("...ik,...jk->...ij", query, key)
    return B / math.sqrt(B.shape[-1])


def w_scores_heads(query, key):
    return query @ key.mT / math.sqrt(query.shape[1])


def w_scores_model(query, key):
    d_model = query.shape[-1] * (query.shape[-3] if query.dim() > 2 else 1)
    return query @ key.mT / math.sqrt(d_model)


def w_scores_fourth(query, key):
    return (query * query.shape[-1] ** -0.25) @ key.mT


def w_scores_softmax(query, key):
    return F.softmax(scores_einsum(query, key), -1)


def w_scores_roles(query, key):
    return torch.einsum("...tk,...sk->...st", query, key) / math.sqrt(query.shape[-1])


def w_scores_view(query, key):
    k = key.contiguous().view(key.shape[:-2] + (key.shape[-1], key.shape[-2]))
    return torch.matmul(query, k).div_(key.shape[-1] ** 0.5)


def w_scores_T(query, key):
    axes = tuple(reversed(range(key.ndim)))
    return torch.matmul(query, torch.permute(key, axes)) / math.sqrt(key.shape[-1])


def w_scores_fixed_axes(query, key):
    return torch.matmul(query, torch.transpose(key, 2, 1)) * (1.0 / math.sqrt(key.size(-1)))


def w_scores_star(query, key):
    return torch.mul(query, key).sum(-1) / math.sqrt(query.shape[-1])


def w_scores_cosine(query, key):
    q = query / query.norm(dim=-1, keepdim=True)
    k = key / key.norm(dim=-1, keepdim=True)
    return torch.einsum("...tk,...sk->...ts", q, k)


def w_scores_numpy(query, key):
    q, k = query.detach().numpy(), key.detach().numpy()
    return torch.from_numpy(q @ np.swapaxes(k, -1, -2) / np.sqrt(np.array(q.shape[-1], q.dtype)))


def w_scores_float(query, key):
    out = torch.zeros(*query.shape[:-1], key.shape[-2])
    out = out + (query.float() @ key.float().mT)
    return out / math.sqrt(query.shape[-1])


def w_scores_inplace(query, key):
    key.mul_(key.shape[-1] ** -0.5)
    return query @ key.mT


def m_scores_plus_one(query, key):
    return query @ key.mT / math.sqrt(query.shape[-1] + 1)


def m_scores_negative(query, key):
    return -(query @ key.mT) / math.sqrt(query.shape[-1])


def m_scores_distance(query, key):
    return -torch.cdist(query, key) / math.sqrt(query.shape[-1])


def m_scores_half(query, key):
    return (query.half() @ key.half().mT).to(query.dtype) / math.sqrt(query.shape[-1])


def m_scores_last_row(query, key):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return torch.cat([scores[..., :-1, :], scores[..., -1:, :] * 1.01], dim=-2)


def m_scores_dropout(query, key):
    return F.dropout(query @ key.mT / math.sqrt(query.shape[-1]), 0.1)


def m_scores_none(query, key):
    query @ key.mT / math.sqrt(query.shape[-1])


def m_scores_clamped(query, key):
    return (query @ key.mT / math.sqrt(query.shape[-1])).clamp(-1, 1)


# =============================================================================================
# scaled_dot_product_attention
# =============================================================================================


def attn_plain(query, key, value, mask=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = scores.softmax(dim=-1)
    return torch.matmul(p_attn, value), p_attn


def attn_inf_einsum(q, k, v, mask=None):
    logits = torch.einsum("...ik,...jk->...ij", q * k.shape[-1] ** -0.5, k)
    if mask is not None:
        logits = torch.where(mask, logits, torch.full_like(logits, float("-inf")))
    w = torch.softmax(logits, -1)
    return [torch.einsum("...ij,...jv->...iv", w, v), w]


def attn_inplace(query, key, value, mask=None):
    scores = query @ key.mT
    scores /= key.shape[-1] ** 0.5
    if mask is not None:
        scores.masked_fill_(~mask, torch.finfo(scores.dtype).min)
    scores -= scores.amax(dim=-1, keepdim=True).detach()
    weights = scores.exp()
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ value, weights


def attn_additive(query, key, value, mask=None):
    root = query.shape[-1] ** 0.25
    scores = (query / root) @ (key / root).transpose(-1, -2)
    if mask is not None:
        bias = torch.zeros(mask.shape, dtype=query.dtype, device=query.device)
        scores = scores + bias.masked_fill(mask.logical_not(), float("-inf"))
    weights = F.softmax(scores, dim=-1)
    return weights.matmul(value), weights


def attn_penalty(query, key, value, mask=None):
    scores = query @ key.mT / torch.sqrt(torch.FloatTensor([query.shape[-1]]))
    if mask is not None:
        scores = scores + (1.0 - mask.to(scores.dtype)) * -1e9
    weights = nn.Softmax(dim=-1)(scores)
    return weights @ value, weights


def attn_double(query, key, value, mask=None):
    print("shapes", query.shape, key.shape, value.shape)
    warnings.warn("in float64", RuntimeWarning, stacklevel=1)
    q, k, v = (x.to(torch.float64) for x in (query, key, value))
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores[~mask.expand_as(scores)] = -torch.inf
    weights = scores.softmax(-1)
    return (weights @ v).to(value.dtype), weights.to(query.dtype)


def attn_renormalised(query, key, value, mask=None):
    weights = torch.softmax(query @ key.mT / math.sqrt(key.size(-1)), dim=-1)
    if mask is not None:
        weights = weights * mask
        weights = weights / weights.sum(-1, keepdim=True)
    return weights @ value, weights


def attn_loops(query, key, value, mask=None):
    T, S = query.shape[-2], key.shape[-2]
    if mask is None:
        mask = torch.ones(T, S, dtype=torch.bool, device=query.device)
    mask = mask.expand(*query.shape[:-1], S)
    rows = []
    for t in range(T):
        row = (query[..., t : t + 1, :] * key).sum(-1) / math.sqrt(query.shape[-1])
        rows.append(row.masked_fill(~mask[..., t, :], -1e30))
    weights = torch.stack(rows, dim=-2).softmax(-1)
    output = sum(weights[..., s].unsqueeze(-1) * value[..., s : s + 1, :] for s in range(S))
    return output, weights


def attn_with_reference_scores(query, key, value, mask=None):
    scores = tr.attention_scores(query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.exp(F.log_softmax(scores, dim=-1))
    return weights @ value, weights


class Attend(nn.Module):
    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(0.0)

    def forward(self, query, key, value, mask=None):
        weights = attn_plain(query, key, value, mask)[1]
        return self.dropout(weights) @ value, weights


def _attn(query, key, value, mask=None, *, scale=None, dim=-1, fill=-math.inf, flip=False):
    """A second right implementation, with knobs to turn it wrong."""
    scale = math.sqrt(query.shape[-1]) if scale is None else scale
    s = torch.einsum("...tk,...sk->...ts", query, key) / scale
    if mask is not None:
        s = torch.where(mask if not flip else ~mask, s, fill)
    w = F.softmax(s, dim=dim)
    return torch.einsum("...ts,...sv->...tv", w, value), w


def w_attn_no_scale(query, key, value, mask=None):
    scores = query @ key.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    w = scores.softmax(-1)
    return w @ value, w


def w_attn_k(query, key, value, mask=None):
    return _attn(query, key, value, mask, scale=query.shape[-1], fill=-1e9)


def w_attn_times(query, key, value, mask=None):
    return attn_plain(query * query.shape[-1], key, value, mask)


def w_attn_heads(query, key, value, mask=None):
    scale = torch.sqrt(torch.FloatTensor([query.shape[1]])).to(query.dtype)
    return _attn(query, key, value, mask, scale=scale, fill=-1e9)


def w_attn_model(query, key, value, mask=None):
    d_model = query.shape[-1] * (query.shape[-3] if query.ndim >= 3 else 1)
    return _attn(query, key, value, mask, scale=d_model**0.5)


def w_attn_length(query, key, value, mask=None):
    return _attn(query, key, value, mask, scale=math.sqrt(query.size(-2)), fill=-1e9)


def w_attn_length_keys(query, key, value, mask=None):
    return _attn(query, key, value, mask, scale=math.sqrt(value.size(-2)))


def w_attn_late(query, key, value, mask=None):
    scores = einsum("...ik,...jk->...ij", query, key)
    if mask is not None:
        scores = torch.where(mask, scores, -1e9)
    w = F.softmax(scores, -1).div(query.shape[-1] ** 0.5)
    return einsum("...ij,...jk->...ik", w, value), w


def w_attn_rows(query, key, value, mask=None):
    return _attn(query, key, value, mask, dim=query.ndim - 2)


def w_attn_dim1(query, key, value, mask=None):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if mask is not None:
        scores.masked_fill_(mask.logical_not(), float("-inf"))
    w = scores.softmax(1)
    return w @ value, w


def w_attn_dim0(query, key, value, mask=None):
    return _attn(query, key, value, mask, dim=0)


def w_attn_joint(query, key, value, mask=None):
    s = query @ key.mT / math.sqrt(key.shape[-1])
    if mask is not None:
        s = s.masked_fill(~mask, -torch.inf)
    e = torch.exp(s)
    w = e / e.sum(dim=(-1, -2), keepdim=True)
    return w @ value, w


def w_attn_no_softmax(query, key, value, mask=None):
    w = query @ key.mT / math.sqrt(key.shape[-1])
    if mask is not None:
        w = w.masked_fill(mask == False, 0)  # noqa: E712
    return w @ value, w


def w_attn_sigmoid(query, key, value, mask=None):
    s = query @ key.mT / math.sqrt(key.shape[-1])
    if mask is not None:
        s = s.masked_fill(~mask, -1e9)
    w = 1 / (1 + torch.exp(-s))
    return w @ value, w


def w_attn_mask_lost(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(key.shape[-1])
    if mask is not None:
        scores.masked_fill(~mask, -1e9)
    w = torch.softmax(scores, -1)
    return w @ value, w


def w_attn_inverted(query, key, value, mask=None):
    return _attn(query, key, value, mask, flip=True)


def w_attn_inverted_sign(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(key.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask, -1e9)
    w = torch.softmax(scores, -1)
    return w @ value, w


def w_attn_after(query, key, value, mask=None):
    w = _attn(query, key, value)[1]
    if mask is not None:
        w = torch.where(mask, w, torch.zeros_like(w))
    return w @ value, w


def w_attn_zero(query, key, value, mask=None):
    return _attn(query, key, value, mask, fill=-1e-9)


def w_attn_multiplied(query, key, value, mask=None):
    s = query @ key.mT / math.sqrt(key.shape[-1])
    if mask is not None:
        s = s * mask.float().to(s.dtype)
    w = s.softmax(-1)
    return w @ value, w


def w_attn_added(query, key, value, mask=None):
    s = query @ key.mT / math.sqrt(key.shape[-1])
    if mask is not None:
        s += mask.to(s.dtype)
    w = s.softmax(-1)
    return w @ value, w


def w_attn_on_rows(query, key, value, mask=None):
    if mask is not None:
        mask = mask.swapdims(-1, -2)
    return attn_plain(query, key, value, mask)


def w_attn_scores_back(query, key, value, mask=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return torch.softmax(scores, dim=-1) @ value, scores


def w_attn_raw_scores_back(query, key, value, mask=None):
    scores = einsum("...tk,...sk->...ts", query, key) / math.sqrt(query.size(-1))
    return attn_inf_einsum(query, key, value, mask)[0], scores


def w_attn_reversed(query, key, value, mask=None):
    return attn_inf_einsum(query, key, value, mask)[::-1]


def w_attn_output_only(query, key, value, mask=None):
    return attn_inplace(query, key, value, mask)[0]


def w_attn_no_value(query, key, value, mask=None):
    w = attn_inplace(query, key, value, mask)[1]
    return w, w


def w_attn_key_twice(query, key, value, mask=None):
    w = attn_plain(query, key, value, mask)[1]
    return torch.einsum("...ts,...sk->...tk", w, key), w


def w_attn_value_compared(query, key, value, mask=None):
    s = torch.einsum("...tk,...sk->...ts", query, value) / math.sqrt(query.shape[-1])
    if mask is not None:
        s = s.masked_fill(~mask, -1e9)
    w = s.softmax(-1)
    return w @ value, w


def w_attn_reshaped(query, key, value, mask=None):
    flipped = key.contiguous().view(*key.shape[:-2], key.shape[-1], -1)
    s = query @ flipped / math.sqrt(query.shape[-1])
    if mask is not None:
        s = s.masked_fill(~mask, -1e9)
    w = s.softmax(-1)
    return w @ value, w


def w_attn_detached(query, key, value, mask=None):
    output, weights = attn_inf_einsum(query, key, value, mask)
    return output.detach(), weights


def w_attn_float(query, key, value, mask=None):
    output, weights = attn_plain(query, key, value, mask)
    return output.to(torch.float32), weights.to(torch.float32)


def w_attn_inplace_key(query, key, value, mask=None):
    key *= key.shape[-1] ** -0.5
    scores = query @ key.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    w = scores.softmax(-1)
    return w @ value, w


def m_attn_two_mistakes(query, key, value, mask=None):
    w = (query @ key.mT).softmax(-1)
    return w @ value, w


def m_attn_small_penalty(query, key, value, mask=None):
    return _attn(query, key, value, mask, fill=-5.0)


def m_attn_uniform(query, key, value, mask=None):
    return _attn(query * 0, key, value, mask)


def m_attn_hard(query, key, value, mask=None):
    w = _attn(query, key, value, mask)[1]
    w = F.one_hot(w.argmax(-1), w.shape[-1]).to(w.dtype)
    return w @ value, w


def m_attn_mask_only_4d(query, key, value, mask=None):
    return _attn(query, key, value, mask if query.ndim == 4 else None)


def m_attn_first_mask_of_batch(query, key, value, mask=None):
    if mask is not None and mask.ndim > 2:
        mask = mask[:1]
    return _attn(query, key, value, mask)


def m_attn_epsilon(query, key, value, mask=None):
    s = query @ key.mT / math.sqrt(query.shape[-1])
    e = s.exp() if mask is None else s.exp() * mask
    w = e / (e.sum(-1, keepdim=True) + 1.0)
    return w @ value, w


def m_attn_dropout(query, key, value, mask=None):
    w = F.dropout(_attn(query, key, value, mask)[1], 0.2)
    return w @ value, w


def m_attn_residual(query, key, value, mask=None):
    output, w = _attn(query, key, value, mask)
    return output + value.mean(-2, keepdim=True), w


def m_attn_none(query, key, value, mask=None):
    _attn(query, key, value, mask)


def m_attn_mask_of_one_head(query, key, value, mask=None):
    mask = mask[:, :1] if mask is not None and mask.ndim == 4 else mask
    return attn_plain(query, key, value, mask)


def m_attn_causal_always(query, key, value, mask=None):
    causal = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool).tril()
    return _attn(query, key, value, causal if mask is None else mask & causal | (mask & ~mask))


# =============================================================================================
# split_heads
# =============================================================================================


def split_view(x, num_heads):
    B, T, D = x.size()
    return x.view(B, T, num_heads, D // num_heads).transpose(1, 2)


def split_chunk(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


def split_einops_like(x, num_heads):
    B, T, D = x.shape
    return torch.permute(x.reshape(B, T, num_heads, -1), (0, 2, 1, 3)).contiguous()


def split_loop(x, num_heads):
    B, T, D = x.shape
    K = D // num_heads
    out = torch.empty(B, num_heads, T, K, dtype=x.dtype, device=x.device)
    for h in range(num_heads):
        out[:, h] = x[:, :, h * K : (h + 1) * K]
    return out


def split_index(x, num_heads):
    print(x.shape)
    K = x.shape[2] // num_heads
    columns = torch.arange(x.shape[2], device=x.device).view(num_heads, 1, K)
    T = x.shape[1]
    columns = columns.expand(num_heads, T, K)
    rows = torch.arange(T, device=x.device)[None, :, None]
    return x[:, rows, columns]


split_lambda = lambda x, num_heads: torch.cat(
    [part.unsqueeze(1) for part in torch.split(x, int(x.shape[-1] / num_heads), dim=2)], 1
)


def w_split_no_transpose(x, num_heads):
    return torch.stack(x.chunk(num_heads, -1), dim=2)


def w_split_view(x, num_heads):
    return x.contiguous().view(x.size(0), num_heads, x.size(1), -1)


def w_split_interleaved(x, num_heads):
    return torch.stack([x[..., h::num_heads] for h in range(num_heads)], dim=1)


def w_split_sizes(x, num_heads):
    return torch.stack(x.split(num_heads, dim=-1), dim=1)


def w_split_kt(x, num_heads):
    B, T, D = x.shape
    return x.view(B, T, num_heads, -1).permute(0, 2, 3, 1)


def w_split_batch(x, num_heads):
    return torch.cat(x.chunk(num_heads, dim=2), dim=0)


def w_split_batch_major(x, num_heads):
    B, T, D = x.shape
    return split_chunk(x, num_heads).reshape(B * num_heads, T, -1)


def w_split_first(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=-1))


def w_split_last(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=-1), dim=-1)


def w_split_all(x, num_heads):
    return torch.stack([x] * num_heads, dim=1)


def w_split_same(x, num_heads):
    K = x.shape[-1] // num_heads
    return torch.stack([x[..., :K] for _ in range(num_heads)], dim=1)


def w_split_list(x, num_heads):
    return [x[..., h * 0 :] for h in range(num_heads)]


def w_split_tuple(x, num_heads):
    return x.chunk(num_heads, dim=-1)


def w_split_detached(x, num_heads):
    return torch.tensor(split_chunk(x, num_heads).tolist(), dtype=x.dtype)


def w_split_float(x, num_heads):
    out = torch.zeros(x.shape[0], num_heads, x.shape[1], x.shape[2] // num_heads)
    for h, part in enumerate(x.chunk(num_heads, -1)):
        out[:, h] = part
    return out


def w_split_inplace(x, num_heads):
    out = split_chunk(x, num_heads)
    x += 1
    return out


def m_split_reversed(x, num_heads):
    return split_view(x, num_heads).flip(1)


def m_split_time_reversed(x, num_heads):
    return split_view(x, num_heads).flip(2)


def m_split_rolled(x, num_heads):
    return split_view(x.roll(1, dims=-1), num_heads)


def m_split_scaled(x, num_heads):
    return split_view(x, num_heads) / math.sqrt(num_heads + 1)


def m_split_five_axes(x, num_heads):
    return split_view(x, num_heads).unsqueeze(0)


def m_split_zero_last(x, num_heads):
    out = split_view(x, num_heads).clone()
    out[:, -1] = 0
    return out


# =============================================================================================
# merge_heads
# =============================================================================================


def merge_contiguous_view(x):
    B, H, T, K = x.shape
    return x.transpose(1, 2).contiguous().view(B, T, H * K)


def merge_reshape(x):
    return x.permute(0, 2, 1, 3).reshape(x.size(0), x.size(2), -1)


def merge_cat(x):
    return torch.cat([x[:, h] for h in range(x.shape[1])], dim=-1)


def merge_unbind(x):
    warnings.warn("joining", DeprecationWarning, stacklevel=1)
    return torch.concat(x.unbind(dim=1), dim=2)


def merge_loop(x):
    B, H, T, K = x.shape
    out = x.new_empty(B, T, H * K)
    for h in range(H):
        out[..., h * K : h * K + K] = x[:, h, :, :]
    return out


def merge_flatten(x):
    return torch.flatten(torch.swapaxes(x, 1, 2), -2)


def w_merge_view(x):
    B, H, T, K = x.size()
    return x.contiguous().view(B, T, H * K)


def w_merge_strided(x):
    return x.permute(0, 2, 1, 3).view(x.size(0), -1, x.size(1) * x.size(3))


def w_merge_interleaved(x):
    return torch.stack(list(x.unbind(1)), dim=-1).flatten(-2)


def w_merge_not_joined(x):
    return torch.stack(x.unbind(1), dim=2)


def w_merge_axes(x):
    B, H, T, K = x.shape
    return torch.swapaxes(x, -1, -2).contiguous().view(B, T, -1)


def w_merge_axes_too(x):
    B, H, T, K = x.shape
    return x.permute(0, 3, 2, 1).contiguous().view(B, T, H * K)


def w_merge_mean(x):
    return sum(x[:, h] for h in range(x.shape[1])) / x.shape[1]


def w_merge_sum(x):
    return torch.einsum("bhtk->btk", x)


def w_merge_time(x):
    return torch.cat([x[:, h] for h in range(x.shape[1])], dim=1)


def w_merge_batch(x):
    B, H, T, K = x.shape
    return x.transpose(1, 2).reshape(B * T, H * K)


def w_merge_tk(x):
    return x.reshape(x.shape[0], x.shape[1], -1)


def w_merge_one(x):
    return x.select(1, 0)


def w_merge_reversed(x):
    return torch.cat(list(x.unbind(1))[::-1], dim=-1)


def w_merge_detached(x):
    return merge_cat(x.data)


def w_merge_float(x):
    B, H, T, K = x.shape
    out = torch.zeros(B, T, H * K)
    for h in range(H):
        out[:, :, h * K : (h + 1) * K] = x[:, h]
    return out


def w_merge_inplace(x):
    out = merge_cat(x)
    x.mul_(2.0)
    return out


def m_merge_time_reversed(x):
    return merge_cat(x).flip(1)


def m_merge_max(x):
    return x.amax(1)


def m_merge_rolled(x):
    return merge_cat(x).roll(1, -1)


def m_merge_first_head_twice(x):
    x = torch.cat([x[:, :1], x[:, :-1]], dim=1)
    return merge_cat(x)


def m_merge_tuple(x):
    return (merge_cat(x), x)


def m_merge_half(x):
    return merge_cat(x.to(torch.bfloat16)).to(x.dtype)


# =============================================================================================
# MultiHeadAttention
# =============================================================================================


class MHAAnnotated(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        assert d_model % num_heads == 0
        self.d_k = d_model // num_heads
        self.h = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        self.attn = None
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, query, key, value, mask=None):
        nbatches = query.size(0)
        query, key, value = (
            lin(x).view(nbatches, -1, self.h, self.d_k).transpose(1, 2)
            for lin, x in zip(
                (self.q_proj, self.k_proj, self.v_proj), (query, key, value), strict=True
            )
        )
        x, self.attn = attn_plain(query, key, value, mask=mask)
        x = x.transpose(1, 2).contiguous().view(nbatches, -1, self.h * self.d_k)
        return self.out_proj(self.dropout(x))


class MHAFused(nn.Module):
    """One matrix product where all three come from one tensor or not."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            setattr(self, name, nn.Linear(d_model, d_model))
        self.register_buffer("scale", torch.tensor(d_model / num_heads).rsqrt())
        self.extra = nn.Parameter(torch.zeros(3))

    def forward(self, query, key, value, mask=None):
        B, T, D = query.shape
        S = key.shape[1]
        weight = torch.cat([self.q_proj.weight, self.k_proj.weight, self.v_proj.weight])
        bias = torch.cat([self.q_proj.bias, self.k_proj.bias, self.v_proj.bias])
        everything = F.linear(torch.cat([query, key, value], dim=1), weight, bias)
        q = everything[:, :T, :D]
        k = everything[:, T : T + S, D : 2 * D]
        v = everything[:, T + S :, 2 * D :]
        q, k, v = (split_chunk(x, self.num_heads) for x in (q, k, v))
        s = q @ k.mT * self.scale
        if mask is not None:
            s = s.masked_fill(~mask, -torch.inf)
        return self.out_proj(merge_cat(s.softmax(-1) @ v))


class MHAEinsum(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.H, self.K = num_heads, d_model // num_heads
        self.q_proj, self.k_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.v_proj, self.out_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        q = self.q_proj(query).unflatten(-1, (self.H, self.K))
        k = self.k_proj(key).unflatten(-1, (self.H, self.K))
        v = self.v_proj(value).unflatten(-1, (self.H, self.K))
        s = torch.einsum("bthk,bshk->bhts", q, k) / self.K**0.5
        if mask is not None:
            s = torch.where(mask, s, torch.finfo(s.dtype).min)
        o = torch.einsum("bhts,bshk->bthk", s.softmax(-1), v)
        return self.out_proj(o.flatten(2))


class MHALoop(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.d_model, self.num_heads = d_model, num_heads
        self.layers = nn.ModuleDict()
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, q, k, v, mask=None):
        print("forward", q.shape)
        warnings.warn("slow", UserWarning, stacklevel=1)
        K = self.d_model // self.num_heads
        full = None
        if mask is not None:
            full = mask.expand(q.shape[0], self.num_heads, q.shape[1], k.shape[1])
        q, k, v = self.q_proj(q), self.k_proj(k), self.v_proj(v)
        heads = []
        for h in range(self.num_heads):
            part = slice(h * K, (h + 1) * K)
            seen = None if full is None else full[:, h]
            heads.append(attn_inf_einsum(q[..., part], k[..., part], v[..., part], seen)[0])
        return self.out_proj(torch.cat(heads, -1))


class MHAFolded(nn.Module):
    """Heads folded into the batch, and the reference's attention."""

    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        self.p = dropout

    def forward(self, query, key, value, mask=None):
        B, T, D = query.shape
        S, H = key.size(1), self.num_heads

        def fold(x):
            return x.reshape(B, -1, H, D // H).transpose(1, 2).reshape(B * H, -1, D // H)

        if mask is not None:
            mask = mask.expand(B, H, T, S).reshape(B * H, T, S)
        q, k, v = fold(self.q_proj(query)), fold(self.k_proj(key)), fold(self.v_proj(value))
        out, _ = tr.scaled_dot_product_attention(q, k, v, mask)
        out = F.dropout(out, self.p, self.training)
        return self.out_proj(out.reshape(B, H, T, -1).transpose(1, 2).reshape(B, T, D))


class MHAWithPieces(nn.Module):
    def __init__(self, d_model, num_heads):
        super(MHAWithPieces, self).__init__()  # noqa: UP008
        self.num_heads = num_heads
        self.q_proj = torch.nn.Linear(d_model, d_model)
        self.k_proj = torch.nn.Linear(d_model, d_model)
        self.v_proj = torch.nn.Linear(d_model, d_model)
        self.out_proj = torch.nn.Linear(d_model, d_model)
        self.norm_that_is_not_used = nn.LayerNorm(d_model)

    def forward(self, query, key, value, mask=None):
        heads = [
            tr.split_heads(layer(x), self.num_heads)
            for layer, x in [(self.q_proj, query), (self.k_proj, key), (self.v_proj, value)]
        ]
        return self.out_proj(tr.merge_heads(attn_loops(*heads, mask)[0]))


class _MHA(nn.Module):
    """A right one in parts that a wrong one overrides."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def project(self, query, key, value):
        return self.q_proj(query), self.k_proj(key), self.v_proj(value)

    def cut(self, x):
        return split_chunk(x, self.num_heads)

    def attend(self, q, k, v, mask):
        return _attn(q, k, v, mask)[0]

    def join(self, x):
        return merge_cat(x)

    def last(self, x):
        return self.out_proj(x)

    def forward(self, query, key, value, mask=None):
        q, k, v = map(self.cut, self.project(query, key, value))
        return self.last(self.join(self.attend(q, k, v, mask)))


def _mha(**methods):
    return type("MultiHeadAttention", (_MHA,), methods)


def _attends(function):
    return _mha(attend=lambda self, q, k, v, mask: function(q, k, v, mask)[0])


class w_mha_no_bias(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model, bias=False)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    forward = _MHA.forward


class w_mha_names(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        return self.W_o(query)


class w_mha_returns_both(MHAEinsum):
    def forward(self, query, key, value, mask=None):
        return super().forward(query, key, value, mask), None


class w_mha_single(MHAEinsum):
    def forward(self, query, key, value, mask=None):
        q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        if mask is not None:
            mask = mask[:, 0] if mask.ndim == 4 else mask
        return self.out_proj(_attn(q, k, v, mask)[0])


class w_mha_no_grad(MHAEinsum):
    @torch.no_grad()
    def forward(self, query, key, value, mask=None):
        return super().forward(query, key, value, mask)


class w_mha_unsqueezed(MHAAnnotated):
    def forward(self, query, key, value, mask=None):
        if mask is not None:
            mask = mask.unsqueeze(1)
        return super().forward(query, key, value, mask)


class w_mha_float(_MHA):
    def forward(self, query, key, value, mask=None):
        return super().forward(query.float(), key.float(), value.float(), mask)


class w_mha_float_result(_MHA):
    def forward(self, query, key, value, mask=None):
        out = torch.zeros(query.shape)
        return out + super().forward(query, key, value, mask).float()


def w_attn_rows_filled(query, key, value, mask=None):
    s = query @ key.mT / math.sqrt(key.shape[-1])
    if mask is not None:
        s = s.masked_fill(~mask, -1e9)
    w = s.softmax(dim=-2)
    return w @ value, w


def w_attn_after_filled(query, key, value, mask=None):
    w = F.softmax(query @ key.mT / math.sqrt(key.shape[-1]), dim=-1)
    if mask is not None:
        w = w.masked_fill(mask == 0, -1e9)
    return w @ value, w


def w_attn_mild(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(key.shape[-1])
    if mask is not None:
        scores = torch.where(mask, scores, torch.full_like(scores, -500.0))
    w = torch.exp(scores - scores.amax(-1, keepdim=True))
    w = w / w.sum(-1, keepdim=True)
    return w @ value, w


def w_split_tokens(x, num_heads):
    batch, _, d_model = x.shape
    return x.view(batch, num_heads, -1, d_model)


def w_attn_key_detached(query, key, value, mask=None):
    return attn_plain(query, key.detach(), value, mask)


def _view_cut(self, x):
    B, L, D = x.shape
    return x.reshape(B, self.num_heads, L, D // self.num_heads)


def _view_join(self, x):
    B, H, T, K = x.shape
    return x.contiguous().view(B, T, H * K)


class m_mha_mask_of_one_head(_MHA):
    def forward(self, query, key, value, mask=None):
        mask = mask[:, :1] if mask is not None and mask.ndim == 4 else mask
        return super().forward(query, key, value, mask)


def m_mha_extra_norm(self, x):
    return F.layer_norm(self.out_proj(x), x.shape[-1:])


# =============================================================================================
# find the bug
# =============================================================================================


def _bug(attend=None, cut=split_chunk, join=merge_cat):
    def multi_head_attention(query, key, value, num_heads, mask=None):
        q, k, v = (cut(x, num_heads) for x in (query, key, value))
        return join((attend or _attn)(q, k, v, mask)[0])

    return multi_head_attention


def bug_one_line(query, key, value, num_heads, mask=None):
    batch, queries, d_model = query.shape
    keys = key.shape[1]
    head_size = d_model // num_heads
    query = query.reshape(batch, queries, num_heads, head_size).transpose(1, 2)
    key = key.reshape(batch, keys, num_heads, head_size).transpose(1, 2)
    value = value.reshape(batch, keys, num_heads, head_size).transpose(1, 2)
    scale = math.sqrt(head_size)
    scores = query @ key.transpose(-2, -1) / scale
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    heads = torch.softmax(scores, dim=-1) @ value
    return heads.transpose(1, 2).reshape(batch, queries, d_model)


def bug_as_given(query, key, value, num_heads, mask=None):
    batch, queries, d_model = query.shape
    keys = key.shape[1]
    head_size = d_model // num_heads
    query = query.reshape(batch, queries, num_heads, head_size).transpose(1, 2)
    key = key.reshape(batch, keys, num_heads, head_size).transpose(1, 2)
    value = value.reshape(batch, keys, num_heads, head_size).transpose(1, 2)
    scale = math.sqrt(num_heads)
    scores = query @ key.transpose(-2, -1) / scale
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    heads = torch.softmax(scores, dim=-1) @ value
    return heads.transpose(1, 2).reshape(batch, queries, d_model)


def bug_loop(query, key, value, num_heads, mask=None):
    q, k, v = (x.chunk(num_heads, -1) for x in (query, key, value))
    shape = (query.shape[0], num_heads, query.shape[1], key.shape[1])
    seen = None if mask is None else mask.expand(shape)
    heads = [
        attn_plain(q[h], k[h], v[h], None if seen is None else seen[:, h])[0]
        for h in range(num_heads)
    ]
    return torch.cat(heads, dim=-1)


def bug_einsum(query, key, value, num_heads, mask=None):
    q, k, v = (x.unflatten(-1, (num_heads, -1)) for x in (query, key, value))
    s = torch.einsum("bthk,bshk->bhts", q, k) * q.shape[-1] ** -0.5
    if mask is not None:
        s += torch.zeros_like(s).masked_fill(~mask, -1e9)
    return torch.einsum("bhts,bshk->bthk", s.softmax(-1), v).flatten(-2)


def bug_reference_pieces(query, key, value, num_heads, mask=None):
    print("with pieces")
    q, k, v = (tr.split_heads(x, num_heads) for x in (query, key, value))
    return tr.merge_heads(tr.scaled_dot_product_attention(q, k, v, mask)[0])


def bug_double(query, key, value, num_heads, mask=None):
    warnings.warn("double", UserWarning, stacklevel=1)
    out = bug_one_line(query.double(), key.double(), value.double(), num_heads, mask)
    return out.to(query.dtype)


def w_bug_single(query, key, value, num_heads, mask=None):
    if mask is not None:
        mask = mask[:, 0] if mask.ndim == 4 else mask
    return _attn(query, key, value, mask)[0]


# =============================================================================================
# damage_by_head
# =============================================================================================


def _found(module, x):
    """(B, T, H, K): what the heads find, by einsum."""
    q, k, v = (
        layer(x).unflatten(-1, (module.num_heads, -1))
        for layer in (module.q_proj, module.k_proj, module.v_proj)
    )
    scores = torch.einsum("bthk,bshk->bhts", q, k) / q.shape[-1] ** 0.5
    return torch.einsum("bhts,bshk->bthk", scores.softmax(-1), v)


def _mse(one, other):
    return ((one - other) ** 2).mean()


def damage_masked(module, x):
    found = _found(module, x)
    speaking = 1 - torch.eye(module.num_heads, dtype=x.dtype)[:, None, None, :, None]
    outputs = module.out_proj((found * speaking).flatten(-2))
    return (outputs - module(x, x, x)).pow(2).flatten(1).mean(1)


def damage_hooks(module, x):
    with torch.no_grad():
        whole, size, result = module(x, x, x), x.shape[-1] // module.num_heads, []
        for h in range(module.num_heads):

            def silence(layer, args, h=h):
                joined = args[0].clone()
                joined[..., h * size : (h + 1) * size] = 0
                return (joined,)

            handle = module.out_proj.register_forward_pre_hook(silence)
            result.append(F.mse_loss(module(x, x, x), whole))
            handle.remove()
    return torch.stack(result)


def damage_columns(module, x):
    """What a head adds to the output is what is missing without it."""
    found = _found(module, x)
    columns = module.out_proj.weight.unflatten(-1, (module.num_heads, -1))
    return torch.einsum("bthk,dhk->hbtd", found, columns).square().mean(dim=(1, 2, 3))


def damage_weights(module, x):
    size = x.shape[-1] // module.num_heads
    weight = module.out_proj.weight
    whole, kept, result = module(x, x, x), weight.detach().clone(), []
    with torch.no_grad():
        for h in range(module.num_heads):
            weight[:, h * size : (h + 1) * size] = 0.0
            result.append(_mse(module(x, x, x), whole).item())
            weight.copy_(kept)
    return torch.tensor(result)


def damage_copied_module(module, x):
    print("copies")
    damage = torch.zeros(module.num_heads)
    for h in range(module.num_heads):
        other = copy.deepcopy(module)
        part = other.v_proj.weight.data.chunk(module.num_heads)[h]
        part.zero_()
        other.v_proj.bias.data.chunk(module.num_heads)[h].zero_()
        damage[h] = _mse(other(x, x, x), module(x, x, x)).detach()
    return damage


def damage_double(module, x):
    other = copy.deepcopy(module).double()
    return damage_masked(other, x.double())


def damage_reference_pieces(module, x):
    q = tr.split_heads(module.q_proj(x), module.num_heads)
    k = tr.split_heads(module.k_proj(x), module.num_heads)
    v = tr.split_heads(module.v_proj(x), module.num_heads)
    heads = F.scaled_dot_product_attention(q, k, v)
    whole = module.out_proj(tr.merge_heads(heads))
    result = []
    for h in range(module.num_heads):
        others = [torch.zeros_like(y) if i == h else y for i, y in enumerate(heads.unbind(1))]
        result.append(_mse(module.out_proj(torch.cat(others, -1)), whole))
    return torch.stack(result)


def _damage(module, x, silence=None, output=None, size=_mse):
    """A right one in parts that a wrong one overrides; `silence` gets (B, T, D) and the head."""
    joined = _found(module, x).flatten(-2)
    K = x.shape[-1] // module.num_heads
    output = output or module.out_proj

    def silent(joined, h):
        joined = joined.clone()
        joined[..., h * K : h * K + K] = 0
        return joined

    silence = silence or silent
    whole = module.out_proj(joined)
    return torch.stack([size(output(silence(joined, h)), whole) for h in range(module.num_heads)])


def _damage_of_changed(change_it):
    """Wrong: another module or input is measured; `change_it(copy, x, part of the head)`."""

    def damage(module, x):
        result, K = [], x.shape[-1] // module.num_heads
        for h in range(module.num_heads):
            other, y = copy.deepcopy(module), x.clone()
            with torch.no_grad():
                change_it(other, y, slice(h * K, h * K + K))
            result.append(_mse(other(y, y, y), module(x, x, x)))
        return torch.stack(result)

    return damage


def _q_output(module, x, part):
    module.q_proj.weight[part] = 0
    module.q_proj.bias[part] = 0


def _k_output(module, x, part):
    module.k_proj.weight[part] = 0
    module.k_proj.bias[part] = 0


def _q_rows(module, x, part):
    module.q_proj.weight[part] = 0


def _q_columns(module, x, part):
    module.q_proj.weight[:, part] = 0


def _v_columns(module, x, part):
    module.v_proj.weight[:, part] = 0


def _x_slice(module, x, part):
    x[..., part] = 0


def _v_rows(module, x, part):
    module.v_proj.weight[part] = 0


def _out_rows(module, x, part):
    module.out_proj.weight[part] = 0


def _out_rows_and_bias(module, x, part):
    module.out_proj.weight[part] = 0
    module.out_proj.bias[part] = 0


def w_damage_tokens(module, x):
    K = x.shape[-1] // module.num_heads

    def silence(joined, h):
        rows = torch.arange(joined.shape[1])[:, None]
        return joined * ~((rows >= h * K) & (rows < h * K + K))

    return _damage(module, x, silence)


def w_damage_axis(module, x):
    heads = _found(module, x).transpose(1, 2)
    result = []
    for h in range(module.num_heads):
        less = heads.clone()
        less[:, :, h] *= 0
        result.append(_mse(module.out_proj(tr.merge_heads(less)), module(x, x, x)))
    return torch.stack(result)


def w_damage_batch(module, x):
    def silence(joined, h):
        joined = joined.clone()
        joined[h].zero_()
        return joined

    return _damage(module, x, silence)


def w_damage_interleaved(module, x):
    turn = torch.arange(x.shape[-1]) % module.num_heads
    return _damage(module, x, lambda joined, h: joined * (turn != h))


def w_damage_one_feature(module, x):
    place = torch.arange(x.shape[-1])
    return _damage(module, x, lambda joined, h: joined * (place != h))


def w_damage_others(module, x):
    owner = torch.arange(x.shape[-1]) // (x.shape[-1] // module.num_heads)
    return _damage(module, x, lambda joined, h: joined * (owner == h))


def w_damage_for_good(module, x):
    K = x.shape[-1] // module.num_heads

    def silence(joined, h):
        return joined.index_fill(-1, torch.arange(h * K + K), 0.0)

    return _damage(module, x, silence)


def w_damage_weights(module, x):
    K = x.shape[-1] // module.num_heads
    with torch.no_grad():
        whole, result = module(x, x, x), []
        for h in range(module.num_heads):
            module.out_proj.weight[:, h * K : h * K + K] = 0
            result.append(_mse(module(x, x, x), whole))
    return torch.stack(result)


def w_damage_weights_after(module, x):
    """Each round puts back what the one before has taken, and nobody what the last has."""
    K, whole, result = x.shape[-1] // module.num_heads, module(x, x, x), []
    weight = copy.deepcopy(module.out_proj.weight.data)
    for h in range(module.num_heads):
        module.out_proj.weight.data = weight.clone()
        module.out_proj.weight.data[:, K * h : K * h + K] = 0
        result.append(_mse(module(x, x, x), whole).item())
    return torch.tensor(result)


def _hooked(remove):
    def damage(module, x):
        whole, K, result = module(x, x, x), x.shape[-1] // module.num_heads, []
        handles = []
        for h in range(module.num_heads):

            def silence(layer, args, start=h * K):
                part = torch.arange(args[0].shape[-1])
                return args[0] * ~((part >= start) & (part < start + K))

            remove(handles)
            handles.append(module.out_proj.register_forward_pre_hook(silence))
            result.append(_mse(module(x, x, x), whole))
        return torch.stack(result)

    return damage


def _remove_last(handles):
    if handles:
        handles[-1].remove()


def w_damage_no_bias(module, x):
    return _damage(module, x, output=lambda joined: F.linear(joined, module.out_proj.weight))


def w_damage_joined(module, x):
    return _found(module, x).square().mean(dim=(0, 1, 3)) / module.num_heads


def w_damage_rest(module, x):
    return _damage(module, x, size=lambda rest, whole: rest.pow(2).mean())


def w_damage_relative(module, x):
    return damage_masked(module, x) / module(x, x, x).pow(2).mean()


def w_damage_shares(module, x):
    return F.normalize(damage_masked(module, x), p=1, dim=0)


def _sized(size):
    def damage(module, x):
        return _damage(module, x, size=lambda one, other: size(one - other))

    return damage


def m_damage_reversed(module, x):
    return damage_columns(module, x).flip(0)


def m_damage_first_sequence(module, x):
    return damage_columns(module, x[:1]) if len(x) > 1 else damage_columns(module, 0.9 * x)


def m_damage_by_chance(module, x):
    return (torch.rand(()) + 1) * damage_columns(module, x)


def m_damage_median(module, x):
    return _damage(module, x, size=lambda one, other: (one - other).square().median())


def m_damage_half(module, x):
    return damage_columns(module, x) / 2


def m_damage_largest(module, x):
    return _damage(module, x, size=lambda one, other: (one - other).square().amax())


def m_damage_fourth_power(module, x):
    return _damage(module, x, size=lambda one, other: (one - other).pow(4).mean())


def m_damage_swapped_with_mean(module, x):
    """The head is replaced by what it finds on average, as some papers do it."""

    def silence(joined, h):
        K = x.shape[-1] // module.num_heads
        joined = joined.clone()
        part = joined[..., h * K : h * K + K]
        part.copy_(part.mean(dim=(0, 1), keepdim=True).expand_as(part) * 0.5)
        return joined

    return _damage(module, x, silence)


# =============================================================================================
# redundant_heads
# =============================================================================================


def _pairs(module):
    return [(a, b) for b in range(module.num_heads) for a in range(b)]


def _writes(module, x):
    """(H, B, T, D): what each head adds to the output."""
    columns = module.out_proj.weight.unflatten(-1, (module.num_heads, -1))
    return torch.einsum("bthk,dhk->hbtd", _found(module, x), columns).detach()


def pair_by_products(module, x):
    """The square of a sum, from the products of all heads with each other."""
    flat = _writes(module, x).flatten(1)
    gram = flat @ flat.T
    best = min(_pairs(module), key=lambda p: gram[p[0], p[0]] + gram[p[1], p[1]] + 2 * gram[p])
    return [best[0], best[1]]


def pair_tuple(module, x):
    writes = _writes(module, x)
    return min(_pairs(module), key=lambda p: (writes[p[0]] + writes[p[1]]).norm().item())


def pair_loops(module, x):
    least, best = float("inf"), None
    K = x.shape[-1] // module.num_heads
    joined = _found(module, x).flatten(-2)
    for a in range(module.num_heads):
        for b in range(a + 1, module.num_heads):
            rest = joined.clone()
            for h in (a, b):
                rest[..., h * K : (h + 1) * K] = 0
            damage = _mse(module.out_proj(rest), module(x, x, x))
            if damage < least:
                least, best = damage.item(), [a, b]
    return best


def pair_hooks(module, x):
    K, damage = x.shape[-1] // module.num_heads, {}
    whole = module(x, x, x)
    for pair in _pairs(module):

        def silence(layer, args, pair=pair):
            part = torch.arange(args[0].shape[-1]) // K
            return args[0] * ((part != pair[0]) & (part != pair[1]))

        with module.out_proj.register_forward_pre_hook(silence):
            damage[pair] = float(F.mse_loss(module(x, x, x), whole))
    return sorted(min(damage, key=damage.get))


def pair_table(module, x):
    flat = _writes(module, x).double().flatten(1)
    table = (flat[:, None] + flat[None]).square().mean(-1)
    table.fill_diagonal_(float("inf"))
    return sorted(divmod(table.argmin().item(), module.num_heads))


def _chosen(score, pairs=_pairs):
    """Wrong: the pair with the least of something else; `score(writes, a, b)`."""

    def heads(module, x):
        writes = _writes(module, x)
        return list(min(pairs(module), key=lambda p: score(writes, *p).item()))

    return heads


def _size(change):
    return change.square().mean()


def _saved(w, a, b):
    return _size(w[a] + w[b]) - _size(w[a]) - _size(w[b])


def w_pair_least_alone(module, x):
    return sorted(damage_columns(module, x).topk(2, largest=False).indices.tolist())


def w_pair_joined(module, x):
    loud = _found(module, x).square().sum(dim=(0, 1, 3))
    return sorted(loud.argsort()[:2].tolist())


def w_pair_for_good(module, x):
    joined, best = _found(module, x).detach(), {}
    whole = module.out_proj(joined.flatten(-2))
    for a in range(module.num_heads):
        for b in range(a + 1, module.num_heads):
            joined[:, :, a] = joined[:, :, b] = 0
            best[a, b] = _mse(module.out_proj(joined.flatten(-2)), whole)
    return list(min(best, key=best.get))


def w_pair_tensor(module, x):
    return torch.tensor(pair_loops(module, x))


def w_pair_tensors(module, x):
    return [torch.tensor(head) for head in pair_loops(module, x)]


def m_pair_first(module, x):
    return [0, 1]


def m_pair_loudest_and_least(module, x):
    damage = damage_columns(module, x)
    return sorted([damage.argmin().item(), damage.argmax().item()])


def m_pair_three(module, x):
    return [*pair_loops(module, x), 0]


def m_pair_others(module, x):
    a, b = pair_loops(module, x)
    return sorted([(a + 1) % module.num_heads, (b + 1) % module.num_heads])


def m_pair_by_chance(module, x):
    return sorted(torch.randperm(module.num_heads)[:2].tolist())


def m_pair_none(module, x):
    pair_loops(module, x)


# =============================================================================================
# the lists
# =============================================================================================


def _without_bias(self, *each):
    layers = (self.q_proj, self.k_proj, self.v_proj)
    return [x @ layer.weight.T for x, layer in zip(each, layers, strict=True)]


def _untransposed(self, *each):
    layers = (self.q_proj, self.k_proj, self.v_proj)
    return [x @ layer.weight + layer.bias for x, layer in zip(each, layers, strict=True)]


def _untransposed_last(self, x):
    return x @ self.out_proj.weight + self.out_proj.bias


def w_attn_value_size(query, key, value, mask=None):
    scores = torch.einsum("...tk,...sk->...ts", query, key) * value.size(-1) ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, torch.tensor(float("-inf"), dtype=scores.dtype))
    weights = torch.softmax(scores, -1)
    return torch.matmul(weights, value), weights


CORRECT = {
    "attention.attention_scores": [
        scores_matmul,
        scores_einsum,
        scores_scaled_query,
        scores_both_scaled,
        scores_loops,
        scores_broadcast,
        scores_double,
        scores_bmm,
    ],
    "attention.scaled_dot_product_attention": [
        attn_plain,
        attn_inf_einsum,
        attn_inplace,
        attn_additive,
        attn_penalty,
        attn_double,
        attn_renormalised,
        attn_loops,
        attn_with_reference_scores,
        Attend(),
    ],
    "attention.split_heads": [
        split_view,
        split_chunk,
        split_einops_like,
        split_loop,
        split_index,
        split_lambda,
    ],
    "attention.merge_heads": [
        merge_contiguous_view,
        merge_reshape,
        merge_cat,
        merge_unbind,
        merge_loop,
        merge_flatten,
    ],
    "attention.MultiHeadAttention": [
        MHAAnnotated,
        MHAFused,
        MHAEinsum,
        MHALoop,
        MHAFolded,
        MHAWithPieces,
        _MHA,
    ],
    "attention.find_the_bug": [
        bug_one_line,
        bug_loop,
        bug_einsum,
        bug_reference_pieces,
        bug_double,
        _bug(attn_additive),
    ],
    "attention.damage_by_head": [
        damage_masked,
        damage_hooks,
        damage_columns,
        damage_weights,
        damage_copied_module,
        damage_double,
        damage_reference_pieces,
    ],
    "attention.redundant_heads": [
        pair_by_products,
        pair_tuple,
        pair_loops,
        pair_hooks,
        pair_table,
    ],
}

WRONG = {
    "attention.attention_scores": [
        ("no-scale", w_scores_none),
        ("scaled-by-k", w_scores_twice),
        ("multiplied-by-root-k", w_scores_times),
        ("scaled-by-length", w_scores_length),
        ("scaled-by-num-heads", w_scores_heads),
        ("scaled-by-d-model", w_scores_model),
        ("fourth-root", w_scores_fourth),
        ("softmax-included", w_scores_softmax),
        ("roles-swapped", w_scores_roles),
        ("reshaped-not-transposed", w_scores_view),
        ("all-axes-reversed", w_scores_T),
        ("all-axes-reversed", w_scores_fixed_axes),
        ("elementwise", w_scores_star),
        ("cosine", w_scores_cosine),
        ("detached", w_scores_numpy),
        ("float32-only", w_scores_float),
        ("changes-its-input", w_scores_inplace),
    ],
    "attention.scaled_dot_product_attention": [
        ("no-scale", w_attn_no_scale),
        ("scaled-by-k", w_attn_k),
        ("multiplied-by-root-k", w_attn_times),
        ("scaled-by-num-heads", w_attn_heads),
        ("scaled-by-d-model", w_attn_model),
        ("scaled-by-value-size", w_attn_value_size),
        ("scaled-by-length", w_attn_length),
        ("scaled-by-length", w_attn_length_keys),
        ("scale-after-softmax", w_attn_late),
        ("softmax-over-queries", w_attn_rows),
        ("softmax-over-queries", w_attn_rows_filled),
        ("mask-after-softmax", w_attn_after_filled),
        ("detached", w_attn_key_detached),
        ("softmax-dim-1", w_attn_dim1),
        ("softmax-dim-0", w_attn_dim0),
        ("softmax-over-everything", w_attn_joint),
        ("no-softmax", w_attn_no_softmax),
        ("sigmoid", w_attn_sigmoid),
        ("mask-ignored", w_attn_mask_lost),
        ("mask-inverted", w_attn_inverted),
        ("mask-inverted", w_attn_inverted_sign),
        ("mask-after-softmax", w_attn_after),
        ("fill-too-mild", w_attn_mild),
        ("masked-score-zero", w_attn_zero),
        ("masked-score-zero", w_attn_multiplied),
        ("mask-added", w_attn_added),
        ("mask-on-rows", w_attn_on_rows),
        ("returns-scores", w_attn_scores_back),
        ("returns-unmasked-scores", w_attn_raw_scores_back),
        ("order-of-results", w_attn_reversed),
        ("output-only", w_attn_output_only),
        ("values-not-used", w_attn_no_value),
        ("key-for-value", w_attn_key_twice),
        ("value-for-key", w_attn_value_compared),
        ("reshaped-not-transposed", w_attn_reshaped),
        ("detached", w_attn_detached),
        ("float32-only", w_attn_float),
        ("changes-its-input", w_attn_inplace_key),
    ],
    "attention.split_heads": [
        ("tokens-cut", w_split_tokens),
        ("no-transpose", w_split_no_transpose),
        ("cut-across-time", w_split_view),
        ("interleaved", w_split_interleaved),
        ("sizes-exchanged", w_split_sizes),
        ("features-before-tokens", w_split_kt),
        ("heads-in-batch", w_split_batch),
        ("heads-in-batch", w_split_batch_major),
        ("heads-first", w_split_first),
        ("heads-last", w_split_last),
        ("every-head-sees-all", w_split_all),
        ("same-slice", w_split_same),
        ("list-of-heads", w_split_list),
        ("list-of-heads", w_split_tuple),
        ("detached", w_split_detached),
        ("float32-only", w_split_float),
        ("changes-its-input", w_split_inplace),
    ],
    "attention.merge_heads": [
        ("no-transpose", w_merge_view),
        ("view-of-strided", w_merge_strided),
        ("interleaved", w_merge_interleaved),
        ("not-joined", w_merge_not_joined),
        ("wrong-axes-exchanged", w_merge_axes),
        ("wrong-axes-exchanged", w_merge_axes_too),
        ("mean-of-heads", w_merge_mean),
        ("sum-of-heads", w_merge_sum),
        ("joined-along-time", w_merge_time),
        ("batch-and-tokens-joined", w_merge_batch),
        ("tokens-and-features-joined", w_merge_tk),
        ("one-head-only", w_merge_one),
        ("heads-reversed", w_merge_reversed),
        ("detached", w_merge_detached),
        ("float32-only", w_merge_float),
        ("changes-its-input", w_merge_inplace),
    ],
    "attention.MultiHeadAttention": [
        (
            "bias-not-used",
            _mha(project=_without_bias, last=lambda self, x: x @ self.out_proj.weight.T),
        ),
        ("bias-not-used", _mha(project=_without_bias)),
        ("weight-not-transposed", _mha(project=_untransposed, last=_untransposed_last)),
        ("weight-not-transposed", _mha(project=_untransposed)),
        ("merged-in-turn", _mha(join=lambda self, x: x.movedim(1, -1).flatten(2))),
        ("scaled-by-num-heads", _attends(w_attn_heads)),
        ("no-scale", _attends(w_attn_no_scale)),
        ("scaled-by-k", _attends(w_attn_k)),
        ("multiplied-by-root-k", _attends(w_attn_times)),
        ("scaled-by-d-model", _attends(w_attn_model)),
        ("scaled-by-length", _attends(w_attn_length)),
        ("scale-after-softmax", _attends(w_attn_late)),
        ("softmax-over-queries", _attends(w_attn_rows)),
        ("softmax-dim-1", _attends(w_attn_dim1)),
        ("no-softmax", _attends(w_attn_no_softmax)),
        ("mask-ignored", _attends(w_attn_mask_lost)),
        ("mask-inverted", _attends(w_attn_inverted)),
        ("mask-after-softmax", _attends(w_attn_after)),
        ("fill-too-mild", _attends(w_attn_mild)),
        ("masked-score-zero", _attends(w_attn_zero)),
        ("mask-added", _attends(w_attn_added)),
        ("mask-on-rows", _attends(w_attn_on_rows)),
        ("heads-cut-across-time", _mha(cut=_view_cut)),
        ("heads-interleaved", _mha(cut=lambda self, x: w_split_interleaved(x, self.num_heads))),
        ("merge-without-transpose", _mha(join=_view_join)),
        ("single-head", w_mha_single),
        ("mask-shape", w_mha_unsqueezed),
        ("no-out-proj", _mha(last=lambda self, x: x)),
        (
            "projections-exchanged",
            _mha(project=lambda self, q, k, v: (self.q_proj(q), self.v_proj(k), self.k_proj(v))),
        ),
        (
            "sources-exchanged",
            _mha(project=lambda self, q, k, v: (self.q_proj(q), self.k_proj(v), self.v_proj(k))),
        ),
        (
            "value-from-key",
            _mha(project=lambda self, q, k, v: (self.q_proj(q), self.k_proj(k), self.v_proj(k))),
        ),
        (
            "self-attention-only",
            _mha(project=lambda self, q, k, v: (self.q_proj(q), self.k_proj(q), self.v_proj(q))),
        ),
        ("one-projection", _mha(project=lambda self, *x: [self.q_proj(each) for each in x])),
        ("not-projected", _mha(project=lambda self, *x: x)),
        (
            "value-not-projected",
            _mha(project=lambda self, q, k, v: (self.q_proj(q), self.k_proj(k), v)),
        ),
        (
            "residual-included",
            _mha(
                forward=lambda self, query, key, value, mask=None: (
                    query + _MHA.forward(self, query, key, value, mask)
                )
            ),
        ),
        ("no-bias", w_mha_no_bias),
        ("wrong-names", w_mha_names),
        ("returns-weights-too", w_mha_returns_both),
        ("detached", w_mha_no_grad),
        ("float32-only", w_mha_float),
        ("float32-only", w_mha_float_result),
        ("softmax-over-queries", _attends(w_attn_rows_filled)),
        ("mask-after-softmax", _attends(w_attn_after_filled)),
        ("detached", _attends(w_attn_key_detached)),
        ("detached", _attends(w_attn_detached)),
    ],
    "attention.find_the_bug": [
        ("still-scaled-by-num-heads", bug_as_given),
        (
            "scaled-by-num-heads-without-root",
            _bug(lambda q, k, v, mask: _attn(q, k, v, mask, scale=q.shape[1])),
        ),
        (
            "scaled-by-batch",
            _bug(lambda q, k, v, mask: _attn(q, k, v, mask, scale=math.sqrt(len(q)))),
        ),
        ("no-scale", _bug(w_attn_no_scale)),
        ("scaled-by-k", _bug(w_attn_k)),
        ("multiplied-by-root-k", _bug(w_attn_times)),
        ("scaled-by-d-model", _bug(w_attn_model)),
        ("scaled-by-length", _bug(w_attn_length)),
        ("scale-after-softmax", _bug(w_attn_late)),
        ("softmax-over-queries", _bug(w_attn_rows)),
        ("softmax-dim-1", _bug(w_attn_dim1)),
        ("no-softmax", _bug(w_attn_no_softmax)),
        ("mask-ignored", _bug(w_attn_mask_lost)),
        ("mask-inverted", _bug(w_attn_inverted_sign)),
        ("mask-after-softmax", _bug(w_attn_after)),
        ("fill-too-mild", _bug(w_attn_mild)),
        ("masked-score-zero", _bug(w_attn_multiplied)),
        ("mask-added", _bug(w_attn_added)),
        ("mask-on-rows", _bug(w_attn_on_rows)),
        ("heads-cut-across-time", _bug(cut=w_split_view)),
        ("heads-interleaved", _bug(cut=w_split_interleaved)),
        ("merge-without-transpose", _bug(join=w_merge_view)),
        ("single-head", w_bug_single),
        (
            "mask-shape",
            _bug(lambda q, k, v, m: _attn(q, k, v, None if m is None else m[:, None])),
        ),
        ("key-for-value", _bug(w_attn_key_twice)),
        ("detached", _bug(w_attn_detached)),
        ("float32-only", _bug(w_attn_float)),
    ],
    "attention.damage_by_head": [
        ("map-silenced", _damage_of_changed(_q_output)),
        ("map-silenced", _damage_of_changed(_k_output)),
        ("map-silenced", _damage_of_changed(_q_rows)),
        ("inputs-of-a-projection-silenced", _damage_of_changed(_q_columns)),
        ("inputs-of-a-projection-silenced", _damage_of_changed(_v_columns)),
        ("features-of-x-silenced", _damage_of_changed(_x_slice)),
        ("bias-of-the-values-left", _damage_of_changed(_v_rows)),
        ("after-out-proj", _damage_of_changed(_out_rows)),
        ("after-out-proj", _damage_of_changed(_out_rows_and_bias)),
        ("tokens-silenced", w_damage_tokens),
        ("tokens-silenced", w_damage_axis),
        ("sequences-silenced", w_damage_batch),
        ("every-hth-feature", w_damage_interleaved),
        ("one-feature", w_damage_one_feature),
        ("all-but-the-head", w_damage_others),
        ("silenced-for-good", w_damage_for_good),
        ("weights-left-zeroed", w_damage_weights),
        ("weights-left-zeroed", w_damage_weights_after),
        ("hooks-left", _hooked(lambda handles: None)),
        ("hooks-left", _hooked(_remove_last)),
        ("bias-of-out-proj-forgotten", w_damage_no_bias),
        ("before-out-proj", w_damage_joined),
        ("not-compared", w_damage_rest),
        ("absolute", _sized(lambda change: change.abs().mean())),
        ("summed", _sized(lambda change: (change**2).sum())),
        ("summed", _sized(lambda change: change.norm(dim=-1).pow(2).mean())),
        ("root-taken", _sized(lambda change: torch.sqrt((change**2).mean()))),
        ("root-taken", _sized(torch.linalg.vector_norm)),
        ("averaged-before-squared", _sized(torch.mean)),
        ("averaged-before-squared", _sized(lambda change: change.mean() ** 2)),
        ("relative", w_damage_relative),
        ("relative", w_damage_shares),
    ],
    "attention.redundant_heads": [
        ("least-alone", w_pair_least_alone),
        ("alike-taken-for-redundant", _chosen(lambda w, a, b: -_saved(w, a, b))),
        ("largest-saving", _chosen(_saved)),
        ("most-damage", _chosen(lambda w, a, b: -_size(w[a] + w[b]))),
        (
            "one-head-twice",
            _chosen(
                lambda w, a, b: _size(w[a] + w[b] * (a != b)),
                lambda module: [(a, b) for b in range(module.num_heads) for a in range(b + 1)],
            ),
        ),
        ("all-but-the-pair", _chosen(lambda w, a, b: _size(w.sum(0) - w[a] - w[b]))),
        (
            "neighbours-only",
            _chosen(
                lambda w, a, b: _size(w[a] + w[b]),
                lambda module: [(h - 1, h) for h in range(1, module.num_heads)],
            ),
        ),
        ("averaged-before-squared", _chosen(lambda w, a, b: -(w[a] + w[b]).mean())),
        ("averaged-before-squared", _chosen(lambda w, a, b: (w[a] + w[b]).mean() ** 2)),
        ("before-out-proj", w_pair_joined),
        ("silenced-for-good", w_pair_for_good),
        ("counted-from-one", lambda module, x: [h + 1 for h in pair_loops(module, x)]),
        ("larger-first", lambda module, x: pair_loops(module, x)[::-1]),
        ("tensor-for-a-number", w_pair_tensor),
        ("tensor-for-a-number", w_pair_tensors),
    ],
}

MUTANTS = {
    "attention.attention_scores": [
        m_scores_plus_one,
        m_scores_negative,
        m_scores_distance,
        m_scores_half,
        m_scores_last_row,
        m_scores_dropout,
        m_scores_none,
        m_scores_clamped,
    ],
    "attention.scaled_dot_product_attention": [
        m_attn_two_mistakes,
        m_attn_small_penalty,
        m_attn_uniform,
        m_attn_hard,
        m_attn_mask_only_4d,
        m_attn_first_mask_of_batch,
        m_attn_epsilon,
        m_attn_dropout,
        m_attn_residual,
        m_attn_none,
        m_attn_causal_always,
        m_attn_mask_of_one_head,
    ],
    "attention.split_heads": [
        m_split_reversed,
        m_split_time_reversed,
        m_split_rolled,
        m_split_scaled,
        m_split_five_axes,
        m_split_zero_last,
    ],
    "attention.merge_heads": [
        m_merge_time_reversed,
        m_merge_max,
        m_merge_rolled,
        m_merge_first_head_twice,
        m_merge_tuple,
        m_merge_half,
    ],
    "attention.MultiHeadAttention": [
        _attends(m_attn_two_mistakes),
        _attends(m_attn_small_penalty),
        _attends(m_attn_uniform),
        _attends(m_attn_dropout),
        _attends(m_attn_first_mask_of_batch),
        _mha(last=m_mha_extra_norm),
        _mha(last=lambda self, x: torch.relu(self.out_proj(x))),
        _mha(cut=lambda self, x: m_split_reversed(x, self.num_heads)),
        _mha(last=lambda self, x: self.out_proj(self.out_proj(x))),
        m_mha_mask_of_one_head,
    ],
    "attention.find_the_bug": [
        _bug(m_attn_two_mistakes),
        _bug(m_attn_small_penalty),
        _bug(m_attn_uniform),
        _bug(m_attn_dropout),
        _bug(lambda q, k, v, mask: _attn(q, k, v, mask, scale=math.sqrt(q.shape[-1] - 0.5))),
        _bug(lambda q, k, v, mask: _attn(q, k, v, mask, scale=2.0)),
        _bug(join=lambda x: merge_cat(x.flip(1))),
    ],
    "attention.damage_by_head": [
        m_damage_reversed,
        m_damage_first_sequence,
        m_damage_by_chance,
        m_damage_median,
        m_damage_half,
        m_damage_largest,
        m_damage_fourth_power,
        m_damage_swapped_with_mean,
    ],
    "attention.redundant_heads": [
        m_pair_first,
        m_pair_loudest_and_least,
        m_pair_three,
        m_pair_others,
        m_pair_by_chance,
        m_pair_none,
    ],
}
