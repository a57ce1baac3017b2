"""Answers to the assignment "attention" on which the grader itself is measured.

CORRECT must be accepted, WRONG must be rejected with the misconception that stands beside it, and
MUTANTS, which have no name and are harder to notice than any generated mutant, without one.
They are written apart from the checks, in the ways in which people write attention.
"""

# ruff: noqa: N801, E731, RUF059

from __future__ import annotations

import copy
import math
import warnings

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

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
    scores = query @ key.mT / torch.sqrt(torch.tensor([query.shape[-1]]).to(query.dtype))
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


def attn_loops(query, key, value, mask=None):
    T, S = query.shape[-2], key.shape[-2]
    if mask is None:
        mask = torch.ones(T, S, dtype=torch.bool, device=query.device)
    mask = mask.expand(*query.shape[:-1], S)
    rows = []
    for t in range(T):
        row = (query[..., t : t + 1, :] * key).sum(-1) / math.sqrt(query.shape[-1])
        rows.append(row.masked_fill(~mask[..., t, :], -torch.inf))
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


def m_attn_mask_only_4d(query, key, value, mask=None):
    return _attn(query, key, value, mask if query.ndim == 4 else None)


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


def merge_cat(x):
    return torch.cat([x[:, h] for h in range(x.shape[1])], dim=-1)


split_lambda = lambda x, num_heads: torch.cat(
    [part.unsqueeze(1) for part in torch.split(x, int(x.shape[-1] / num_heads), dim=2)], 1
)


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
        return self.out_proj(attn_loops(*heads, mask)[0].transpose(1, 2).flatten(2))


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


class w_mha_unsqueezed(MHAAnnotated):
    def forward(self, query, key, value, mask=None):
        if mask is not None:
            mask = mask.unsqueeze(1)
        return super().forward(query, key, value, mask)


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


# =============================================================================================
# bracket_head
# =============================================================================================


def brackets_three_wishes(pairs):
    K, far = pairs + 2, 1e4
    q, k = torch.zeros(3 + pairs, K, dtype=torch.float64), torch.zeros(3 + pairs, K).double()
    for d in range(pairs):
        q[3 + d, d] = far * math.sqrt(K)
        k[3 + d, d] = 1
    q[0, -2:] = q[1, -2:] = math.sqrt(K)
    k[0, -2] = far
    k[2, -1] = 30
    return [q, k]


def brackets_other_depths_cost(pairs):
    """All that is wrong costs, from the most: another depth, a closing bracket, being earlier."""
    w_q = nn.Parameter(torch.randn(3 + pairs, pairs + 5) * 0)
    w_k = torch.zeros(3 + pairs, pairs + 5)
    with torch.no_grad():
        w_q[3:, :pairs] = torch.eye(pairs) - 1
        w_q[3:, pairs] = 1.0
        w_k[3:, :pairs] = 1e7 * torch.eye(pairs)
        w_k[1, pairs] = -1e5
        w_k[2, pairs] = 200.0
    return w_q, w_k


def brackets_in_two_features(pairs):
    """-(d - e)^2 = 2de - e^2 - d^2, where d^2 is the same for the whole row."""
    print("two features", pairs)
    depth = torch.arange(pairs, dtype=torch.float64)
    w_q, w_k = torch.zeros(2, 3 + pairs, 2, dtype=torch.float64)
    w_q[3:, 0], w_k[3:, 0] = depth, 2e5 * depth
    w_q[3:, 1], w_k[3:, 1] = 1, -1e5 * depth**2
    w_k[0, 1], w_k[2, 1] = 1e4, 20
    return w_q, w_k


def brackets_of_linear_layers(pairs):
    query, key = (nn.Linear(3 + pairs, pairs + 1, bias=False) for _ in range(2))
    for layer, scale in ((query, -1.0), (key, -1e5)):
        nn.init.zeros_(layer.weight)
        layer.weight.data[:pairs, 3:] = scale * torch.eye(pairs)
        layer.weight.data[pairs, :2] = scale
    key.weight.data[pairs, 1] = 0.0
    key.weight.data[pairs, 2] = -19 * math.sqrt(pairs)
    return query.weight.T.to(torch.bfloat16), key.weight.T.to(torch.bfloat16)


def _brackets(most=1e4, slope=30.0, opening=None, asks=(0, 1), scale=1.0):
    """A right one with knobs, in which each wish has its own feature."""

    def bracket_head(pairs):
        w_q, w_k = torch.zeros(2, 3 + pairs, pairs + 2, dtype=torch.float64)
        for d in range(pairs):
            w_q[3 + d, 2 + d], w_k[3 + d, 2 + d] = most, 1.0
        for bracket in asks:
            w_q[bracket, :2] = 1.0
        w_k[0, 0] = 1e4 if opening is None else opening
        w_k[2, 1] = slope
        return scale * math.sqrt(pairs + 2) * w_q, w_k

    return bracket_head


def m_brackets_not_so_deep(pairs):
    """Wrong only beyond a depth of 64, which has no feature."""
    w_q, w_k = _brackets()(pairs)
    w_q[3 + 64 :, 2:] = 0.0
    return w_q, w_k


# =============================================================================================
# the lists
# =============================================================================================


# Wrong only at what the text says and most data does not show.


def _with_weights(weigh):
    def attends(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
        weights = scores.softmax(dim=-1) if mask is None else weigh(scores, mask)
        return weights @ value, weights

    return attends


def m_attention_renormalised(query, key, value, mask=None):
    weights = torch.softmax(query @ key.mT / math.sqrt(key.size(-1)), dim=-1)
    if mask is not None:
        weights = weights * mask
        weights = weights / weights.sum(-1, keepdim=True)
    return weights @ value, weights


m_attention_added = _with_weights(lambda scores, mask: (scores + ~mask * -1e4).softmax(dim=-1))

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
    "attention.bracket_head": [
        brackets_three_wishes,
        brackets_other_depths_cost,
        brackets_in_two_features,
        brackets_of_linear_layers,
        _brackets(),
    ],
}

WRONG = {
    "attention.MultiHeadAttention": [
        ("mask-shape", w_mha_unsqueezed),
    ],
    "attention.bracket_head": [
        ("looks-at-itself", _brackets(opening=0.0)),
        ("latest-opening", _brackets(most=0.0)),
        ("order-not-used", _brackets(slope=0.0)),
        ("earliest-first", _brackets(slope=-30.0)),
        ("opening-asks-nothing", _brackets(asks=(1,))),
        ("closing-asks-nothing", _brackets(asks=(0,))),
        ("closing-keys", _brackets(opening=-1e4)),
        ("order-outvotes-depth", _brackets(most=300.0)),
        ("weight-is-spread", _brackets(scale=0.0)),
    ],
}

MUTANTS = {
    "attention.scaled_dot_product_attention": [
        m_attn_mask_only_4d,
        m_attention_added,
        m_attention_renormalised,
    ],
    "attention.bracket_head": [m_brackets_not_so_deep],
}
