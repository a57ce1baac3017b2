"""Answers to the assignment "blocks" on which the grader itself is measured.

CORRECT must be accepted, WRONG must be rejected with the misconception that stands beside it, and
MUTANTS, which have no name and are harder to notice than any generated mutant, without one.
They are written apart from the checks, in the ways in which people write layers: as in torch's own
source, in the Annotated Transformer, in minGPT.
"""

# ruff: noqa: N801

from __future__ import annotations

import copy
import math
import warnings
from functools import partial

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

import transformer_ref.attention as tr
from transformer_ref import layers as package

# =============================================================================================
# layer_norm
# =============================================================================================


def norm_plain(x, weight, bias, eps):
    mean = x.mean(dim=-1, keepdim=True)
    var = x.var(dim=-1, keepdim=True, unbiased=False)
    return weight * (x - mean) / torch.sqrt(var + eps) + bias


def norm_rsqrt(x, weight, bias, eps):
    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    return torch.addcmul(bias, (x - mean) * torch.rsqrt(var + eps), weight)


def norm_two_means(x, weight, bias, eps):
    mean = x.mean(-1, keepdim=True)
    variance = (x * x).mean(-1, keepdim=True) - mean * mean
    return (x - mean) / (variance.clamp(min=0) + eps).sqrt() * weight + bias


def norm_std(x, weight, bias, eps):
    std = torch.std(x, dim=-1, correction=0, keepdim=True)
    return (x - x.mean(-1, True)) / (std**2 + eps) ** 0.5 * weight + bias


def norm_double(x, weight, bias, eps):
    print("norm", x.shape)
    warnings.warn("in float64", UserWarning, stacklevel=2)
    y = x.double()
    y = y - y.mean(-1, keepdim=True)
    y = y / torch.sqrt(y.pow(2).mean(-1, keepdim=True) + eps)
    return (y * weight.double() + bias.double()).to(x.dtype)


def norm_einsum(x, weight, bias, eps):
    d = x.shape[-1]
    mean = torch.einsum("...d->...", x) / d
    y = x - mean.unsqueeze(-1)
    var = torch.einsum("...d,...d->...", y, y) / d
    return torch.einsum("...d,...,d->...d", y, torch.rsqrt(var + eps), weight) + bias


def norm_loop(x, weight, bias, eps):
    rows = []
    for row in x.reshape(-1, x.shape[-1]):
        centre = row - row.sum() / len(row)
        rows.append(centre / torch.sqrt((centre**2).sum() / len(row) + eps) * weight + bias)
    return torch.stack(rows).reshape(x.shape)


def norm_unbiased_undone(x, weight, bias, eps):
    d = x.shape[-1]
    var = x.var(-1, keepdim=True) * (d - 1) / d
    return (x - x.mean(-1, keepdim=True)) / torch.sqrt(var + eps) * weight + bias


def norm_length(x, weight, bias, eps):
    y = x - x.mean(-1, keepdim=True)
    return (
        y
        * math.sqrt(y.shape[-1])
        / ((y**2).sum(-1, keepdim=True) + eps * y.shape[-1]).sqrt()
        * weight
        + bias
    )


def norm_of_rms(x, weight, bias, eps):
    centred = x - x.mean(dim=-1, keepdim=True)
    return F.rms_norm(centred, (x.shape[-1],), weight, eps) + bias


def norm_in_place(x, weight, bias, eps):
    y = x - x.mean(-1, keepdim=True)
    y = y / y.square().mean(-1, keepdim=True).add_(eps).sqrt_()
    y = y * weight
    y += bias
    return y


def m_norm_float32(x, weight, bias, eps):
    """The habit of those who train in half precision: the result is float32."""
    found = norm_plain(x, weight, bias, eps)
    return found.float() if x.dtype == torch.float16 else found


# =============================================================================================
# feed-forward networks, as parts of the layers below
# =============================================================================================


class FFSequence(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.linear2(self.dropout(self.linear1(x).relu()))


class FFSequential(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.linear1, _, self.linear2 = self.net

    def forward(self, x):
        return self.net(x)


class FFFunctional(nn.Module):
    def __init__(self, d: int, hidden: int) -> None:
        super(FFFunctional, self).__init__()  # noqa: UP008
        self.linear1 = torch.nn.Linear(d, hidden)
        self.linear2 = torch.nn.Linear(hidden, d)
        self.activation = nn.ReLU(inplace=True)

    def forward(self, inputs):
        hidden = F.linear(inputs, self.linear1.weight, self.linear1.bias)
        return F.linear(self.activation(hidden), self.linear2.weight, self.linear2.bias)


class FFMatrices(nn.Module):
    def __init__(self, d_model, d_ff, bias=True):
        super().__init__()
        for name, sizes in {"linear1": (d_model, d_ff), "linear2": (d_ff, d_model)}.items():
            self.add_module(name, nn.Linear(*sizes, bias=bias))

    def forward(self, x):
        print("x", x.shape)
        warnings.warn("written out", UserWarning, stacklevel=1)
        hidden = x @ self.linear1.weight.T + self.linear1.bias
        hidden = torch.where(hidden > 0, hidden, torch.zeros_like(hidden))
        return torch.einsum("btf,df->btd", hidden, self.linear2.weight) + self.linear2.bias


class FFTokens(nn.Module):
    """One token after the other: they do not meet."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        tokens = [self.linear2(self.linear1(token).clamp_min(0)) for token in x.unbind(1)]
        return torch.stack(tokens, dim=1)


class FFDouble(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        w1, b1 = self.linear1.weight.double(), self.linear1.bias.double()
        w2, b2 = self.linear2.weight.double(), self.linear2.bias.double()
        hidden = torch.maximum(x.double() @ w1.T + b1, torch.tensor(0.0, dtype=torch.float64))
        return (hidden @ w2.T + b2).to(x.dtype)


# =============================================================================================
# EncoderLayer
# =============================================================================================


class EncTorch(nn.Module):
    """As torch writes it."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm="post"):
        super().__init__()
        self.self_attention = tr.MultiHeadAttention(d_model, num_heads)
        self.feed_forward = package.FeedForward(d_model, d_ff)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout1 = nn.Dropout(dropout)
        self.dropout2 = nn.Dropout(dropout)
        self.norm_first = norm == "pre"

    def forward(self, x, mask=None):
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), mask)
            x = x + self._ff_block(self.norm2(x))
        else:
            x = self.norm1(x + self._sa_block(x, mask))
            x = self.norm2(x + self._ff_block(x))
        return x

    def _sa_block(self, x, mask):
        return self.dropout1(self.self_attention(x, x, x, mask))

    def _ff_block(self, x):
        return self.dropout2(self.feed_forward(x))


class Sublayer(nn.Module):
    """As the Annotated Transformer writes it, with a norm that somebody else owns."""

    def __init__(self, norm, first):
        super().__init__()
        self.norm = norm
        self.first = first

    def forward(self, x, sublayer):
        if self.first:
            return x + sublayer(self.norm(x))
        return self.norm(x + sublayer(x))


class OwnNorm(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        return norm_plain(x, self.weight, self.bias, self.eps)


class EncAnnotated(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, *, norm="post"):
        super().__init__()
        self.self_attention = tr.MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FFSequence(d_model, d_ff)
        self.norm1, self.norm2 = OwnNorm(d_model), OwnNorm(d_model)
        first = norm == "pre"
        self.sublayers = nn.ModuleList([Sublayer(self.norm1, first), Sublayer(self.norm2, first)])

    def forward(self, x, mask=None):
        x = self.sublayers[0](x, lambda y: self.self_attention(y, y, y, mask))
        return self.sublayers[1](x, self.feed_forward)


class EncOwnParts(nn.Module):
    """Attention written out, the fused function, other names of the arguments."""

    class Attention(nn.Module):
        def __init__(self, d, h):
            super().__init__()
            self.h = h
            self.q_proj, self.k_proj = nn.Linear(d, d), nn.Linear(d, d)
            self.v_proj, self.out_proj = nn.Linear(d, d), nn.Linear(d, d)

        def forward(self, x, mask):
            q, k, v = (
                layer(x).unflatten(-1, (self.h, -1)).transpose(1, 2)
                for layer in (self.q_proj, self.k_proj, self.v_proj)
            )
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            return self.out_proj(y.transpose(1, 2).flatten(2))

    def __init__(self, d, h, ff, p=0.0, norm="post"):
        super().__init__()
        self.self_attention = self.Attention(d, h)
        self.feed_forward = FFSequential(d, ff)
        self.norm1 = nn.LayerNorm(d)
        self.norm2 = nn.LayerNorm(d)
        self.p, self.kind = p, norm

    def forward(self, inputs, attn_mask=None):
        print("inputs", inputs.shape)
        residual = inputs
        out = self.norm1(inputs) if self.kind == "pre" else inputs
        out = residual + F.dropout(self.self_attention(out, attn_mask), self.p, self.training)
        if self.kind == "post":
            out = self.norm1(out)
        residual = out
        if self.kind == "pre":
            out = self.norm2(out)
        out = residual + self.feed_forward(out)
        return self.norm2(out) if self.kind == "post" else out


class EncDict(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, norm="post"):
        super().__init__()
        if norm not in ("pre", "post"):
            raise ValueError(f"norm must be 'pre' or 'post', got {norm!r}")
        self.add_module("self_attention", tr.MultiHeadAttention(d_model, num_heads))
        self.add_module("feed_forward", FFFunctional(d_model, d_ff))
        for name in ("norm1", "norm2"):
            self.add_module(name, nn.LayerNorm(d_model))
        self.step = {"pre": self._pre, "post": self._post}[norm]

    @staticmethod
    def _pre(x, norm, f):
        return f(norm(x)).add(x)

    @staticmethod
    def _post(x, norm, f):
        warnings.warn("post", UserWarning, stacklevel=1)
        return norm(torch.add(f(x), x))

    def forward(self, x, mask=None):
        for norm, f in (
            (self.norm1, lambda y: self.self_attention(query=y, key=y, value=y, mask=mask)),
            (self.norm2, self.feed_forward),
        ):
            x = self.step(x, norm, f)
        return x


class EncOneByOne(nn.Module):
    """Each sentence by itself, with the mask spread out first."""

    def __init__(self, d_model, num_heads, d_ff, norm="post"):
        super().__init__()
        self.self_attention = tr.MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FFTokens(d_model, d_ff)
        self.norm1 = nn.LayerNorm(d_model, eps=1e-5)
        self.norm2 = nn.LayerNorm([d_model])
        self.pre, self.heads = norm == "pre", num_heads

    def forward(self, x, mask=None):
        length = x.shape[1]
        if mask is not None:
            mask = mask.expand(len(x), self.heads, length, length)
        done = []
        for number, y in enumerate(x.split(1)):
            seen = None if mask is None else mask[number : number + 1]
            z = self.norm1(y) if self.pre else y
            y = y + self.self_attention(z, z, z, seen)
            y = y if self.pre else self.norm1(y)
            y = y + self.feed_forward(self.norm2(y) if self.pre else y)
            done.append(y if self.pre else self.norm2(y))
        return torch.cat(done)


class EncOfPackagePieces(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, norm="post"):
        super().__init__()
        self.norm = norm
        self.self_attention = tr.MultiHeadAttention(d_model, num_heads)
        self.feed_forward = package.FeedForward(d_model, d_ff)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = copy.deepcopy(self.norm1)

    def forward(self, x, mask=None):
        normed = self.norm1(x) if self.norm == "pre" else x
        attended = self.self_attention(normed, normed, normed, mask)
        x = torch.stack([x, attended]).sum(0)
        x = x if self.norm == "pre" else self.norm1(x)
        normed = self.norm2(x) if self.norm == "pre" else x
        x = x + self.feed_forward(normed)
        return x if self.norm == "pre" else self.norm2(x)


class Enc(nn.Module):
    """A right one in parts that a wrong one overrides."""

    default = "post"

    def __init__(self, d_model, num_heads, d_ff, norm=None):
        super().__init__()
        self.how = norm or self.default
        self.furnish(d_model, num_heads, d_ff)

    def furnish(self, d, h, ff):
        self.self_attention = tr.MultiHeadAttention(d, h)
        self.feed_forward = FFSequence(d, ff)
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)

    def sa(self, x, mask):
        return self.self_attention(x, x, x, mask)

    def ff(self, x):
        return self.feed_forward(x)

    def pre(self, x, mask):
        x = x + self.sa(self.norm1(x), mask)
        return x + self.ff(self.norm2(x))

    def post(self, x, mask):
        x = self.norm1(x + self.sa(x, mask))
        return self.norm2(x + self.ff(x))

    def forward(self, x, mask=None):
        return self.pre(x, mask) if self.how == "pre" else self.post(x, mask)


class m_enc_mask_of_one_head(Enc):
    def sa(self, x, mask):
        mask = mask[:, :1] if mask is not None and mask.ndim == 4 else mask
        return super().sa(x, mask)


class m_enc_first_mask(Enc):
    def sa(self, x, mask):
        if mask is not None and mask.ndim == 4 and len(mask) > 1:
            mask = mask[:1]
        return super().sa(x, mask)


# =============================================================================================
# DecoderLayer
# =============================================================================================


class DecTorch(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm="post"):
        super().__init__()
        self.self_attention = tr.MultiHeadAttention(d_model, num_heads, dropout)
        self.cross_attention = tr.MultiHeadAttention(d_model, num_heads, dropout)
        self.feed_forward = package.FeedForward(d_model, d_ff, dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm == "pre"

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        if self.norm_first:
            x = x + self._sa(self.norm1(x), tgt_mask)
            x = x + self._mha(self.norm2(x), memory, memory_mask)
            x = x + self._ff(self.norm3(x))
        else:
            x = self.norm1(x + self._sa(x, tgt_mask))
            x = self.norm2(x + self._mha(x, memory, memory_mask))
            x = self.norm3(x + self._ff(x))
        return x

    def _sa(self, x, mask):
        return self.dropout(self.self_attention(x, x, x, mask=mask))

    def _mha(self, x, memory, mask):
        return self.dropout(self.cross_attention(x, memory, memory, mask=mask))

    def _ff(self, x):
        return self.dropout(self.feed_forward(x))


class DecAnnotated(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, *, norm="post"):
        super().__init__()
        self.self_attention = tr.MultiHeadAttention(d_model, num_heads)
        self.cross_attention = copy.deepcopy(self.self_attention)
        self.feed_forward = FFMatrices(d_model, d_ff)
        self.norm1, self.norm2, self.norm3 = (OwnNorm(d_model) for _ in range(3))
        self.sublayer = nn.ModuleList(
            Sublayer(each, norm == "pre") for each in (self.norm1, self.norm2, self.norm3)
        )

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        m = memory
        x = self.sublayer[0](x, lambda x: self.self_attention(x, x, x, tgt_mask))
        x = self.sublayer[1](x, lambda x: self.cross_attention(x, m, m, memory_mask))
        return self.sublayer[2](x, self.feed_forward)


class DecOnEncoder(EncAnnotated):
    """Built on an encoder layer of one's own, with other names of the arguments."""

    def __init__(self, d, h, ff, norm="post"):
        super().__init__(d, h, ff, norm=norm)
        self.cross_attention = tr.MultiHeadAttention(d, h)
        self.norm3 = nn.LayerNorm(d)
        self.kind = norm

    def forward(self, y, enc, causal=None, padding=None):
        first, second = self.sublayers
        y = first(y, lambda z: self.self_attention(z, z, z, causal))
        y = second(y, lambda z: self.cross_attention(z, enc, enc, padding))
        if self.kind == "pre":
            return y + self.feed_forward(self.norm3(y))
        return self.norm3(y + self.feed_forward(y))


class DecLoop(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, norm="post"):
        super().__init__()
        self.norm = norm
        self.self_attention = tr.MultiHeadAttention(d_model, num_heads)
        self.cross_attention = tr.MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FFFunctional(d_model, d_ff)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        print(x.shape, memory.shape)
        warnings.warn("loop", UserWarning, stacklevel=1)
        everything = [
            (self.norm1, lambda y: self.self_attention(y, y, y, tgt_mask)),
            (self.norm2, lambda y: self.cross_attention(y, memory, memory, memory_mask)),
            (self.norm3, self.feed_forward),
        ]
        for norm, f in everything:
            x = x + f(norm(x)) if self.norm == "pre" else norm(x + f(x))
        return x


class DecDefaults(nn.Module):
    """Masks of its own where none is given: all may be seen."""

    def __init__(self, d_model, num_heads, d_ff, norm="post", eps=1e-5):
        super().__init__()
        self.self_attention = tr.MultiHeadAttention(d_model, num_heads)
        self.cross_attention = tr.MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FFDouble(d_model, d_ff)
        self.norm1 = nn.LayerNorm(d_model, eps)
        self.norm2 = nn.LayerNorm(d_model, eps)
        self.norm3 = nn.LayerNorm(d_model, eps)
        self.pre = norm == "pre"

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        T, S = x.size(1), memory.size(1)
        if tgt_mask is None:
            tgt_mask = torch.ones(T, T, dtype=torch.bool, device=x.device)
        if memory_mask is None:
            memory_mask = torch.ones(1, 1, 1, S, dtype=torch.bool, device=x.device)
        y = self.norm1(x) if self.pre else x
        x = x + self.self_attention(y, y, y, tgt_mask)
        x = y = x if self.pre else self.norm1(x)
        y = self.norm2(y) if self.pre else y
        x = x + self.cross_attention(y, memory, memory, memory_mask)
        x = y = x if self.pre else self.norm2(x)
        y = self.norm3(y) if self.pre else y
        x = x + self.feed_forward(y)
        return x if self.pre else self.norm3(x)


class DecOfBlocks(nn.Module):
    """An encoder layer of the package is a piece of an earlier task."""

    def __init__(self, d_model, num_heads, d_ff, norm="post"):
        super().__init__()
        inner = package.EncoderLayer(d_model, num_heads, d_ff, norm=norm)
        self.self_attention, self.feed_forward = inner.self_attention, inner.feed_forward
        self.norm1, self.norm3 = inner.norm1, inner.norm2
        self.norm2 = nn.LayerNorm(d_model)
        self.cross_attention = tr.MultiHeadAttention(d_model, num_heads)
        self.post = norm == "post"

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        kv = {"key": memory, "value": memory, "mask": memory_mask}
        if self.post:
            x = self.norm1(self.self_attention(x, x, x, tgt_mask) + x)
            x = self.norm2(self.cross_attention(x, **kv) + x)
            return self.norm3(self.feed_forward(x) + x)
        y = self.norm1(x)
        x = self.self_attention(y, y, y, tgt_mask) + x
        x = self.cross_attention(self.norm2(x), **kv) + x
        return self.feed_forward(self.norm3(x)) + x


class Dec(nn.Module):
    """A right one in parts that a wrong one overrides."""

    default = "post"

    def __init__(self, d_model, num_heads, d_ff, norm=None):
        super().__init__()
        self.how = norm or self.default
        self.furnish(d_model, num_heads, d_ff)

    def furnish(self, d, h, ff):
        self.self_attention = tr.MultiHeadAttention(d, h)
        self.cross_attention = tr.MultiHeadAttention(d, h)
        self.feed_forward = FFSequence(d, ff)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d) for _ in range(3))

    def sa(self, x, mask):
        return self.self_attention(x, x, x, mask)

    def ca(self, x, memory, mask):
        return self.cross_attention(x, memory, memory, mask)

    def ff(self, x):
        return self.feed_forward(x)

    def pre(self, x, memory, tgt, mem):
        x = x + self.sa(self.norm1(x), tgt)
        x = x + self.ca(self.norm2(x), memory, mem)
        return x + self.ff(self.norm3(x))

    def post(self, x, memory, tgt, mem):
        x = self.norm1(x + self.sa(x, tgt))
        x = self.norm2(x + self.ca(x, memory, mem))
        return self.norm3(x + self.ff(x))

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        step = self.pre if self.how == "pre" else self.post
        return step(x, memory, tgt_mask, memory_mask)


class m_dec_mask_of_one_head(Dec):
    def ca(self, x, memory, mask):
        mask = mask[:, :1] if mask is not None and mask.ndim == 4 else mask
        return super().ca(x, memory, mask)


# =============================================================================================
# count_multiplications
# =============================================================================================


def count_parts(d_model, d_ff, num_layers, vocab_size, src_len, tgt_len):
    def linear(tokens, n, m):
        return tokens * n * m

    def attention(queries, keys):
        ends = linear(queries, d_model, d_model) + linear(keys, d_model, d_model)
        return 2 * ends + 2 * linear(queries, d_model, keys)

    def ffn(tokens):
        return linear(tokens, d_model, d_ff) + linear(tokens, d_ff, d_model)

    encoder = attention(src_len, src_len) + ffn(src_len)
    decoder = attention(tgt_len, tgt_len) + attention(tgt_len, src_len) + ffn(tgt_len)
    return num_layers * (encoder + decoder) + linear(tgt_len, d_model, vocab_size)


def count_formula(d, f, n, v, s, t):
    linear = d * d * (6 * s + 6 * t) + 2 * d * f * (s + t)
    return n * (linear + 2 * d * (s * s + t * t + s * t)) + t * d * v


def count_loop(d_model, d_ff, num_layers, vocab_size, src_len, tgt_len):
    total = 0
    for _ in range(num_layers):
        for queries, keys in ((src_len, src_len), (tgt_len, tgt_len), (tgt_len, src_len)):
            for tokens in (queries, keys, keys, queries):
                total += tokens * d_model**2
            total += queries * keys * d_model * 2
        for tokens in (src_len, tgt_len):
            total += tokens * d_ff * d_model + tokens * d_model * d_ff
    total += tgt_len * vocab_size * d_model
    return total


def count_from_weights(d_model, d_ff, num_layers, vocab_size, src_len, tgt_len):
    """Each matrix of the package's layers, times the tokens that go through it."""
    with torch.device("meta"):
        layers = package.EncoderLayer(d_model, 1, d_ff), package.DecoderLayer(d_model, 1, d_ff)
    total = 0
    for layer, own in zip(layers, (src_len, tgt_len), strict=True):
        for name, weight in layer.named_parameters():
            if weight.ndim == 2:
                from_memory = name.startswith(("cross_attention.k", "cross_attention.v"))
                total += weight.numel() * (src_len if from_memory else own)
    pairs = src_len**2 + tgt_len**2 + src_len * tgt_len
    return num_layers * (total + 2 * pairs * d_model) + vocab_size * d_model * tgt_len


def count_numpy(d_model, d_ff, num_layers, vocab_size, src_len, tgt_len):
    print("counting")
    square, tokens = d_model * d_model, np.array([src_len, tgt_len], dtype=object)
    per_token = np.array([4 * square + 2 * d_model * d_ff, 6 * square + 2 * d_model * d_ff])
    layers = int((tokens * per_token).sum()) + 2 * src_len * square
    layers += 2 * d_model * (src_len * (src_len + tgt_len) + tgt_len**2)
    return np.int64(num_layers * layers + vocab_size * d_model * tgt_len)


# One line of the count each: of all linear layers, the pairs, and the output layer.
def _count(linear=None, pairs=None, output=None):
    def count(d, f, n, v, s, t):
        one = linear(d, f, s, t) if linear else 6 * d * d * (s + t) + 2 * d * f * (s + t)
        two = pairs(s, t) if pairs else s * s + t * t + s * t
        return n * (one + 2 * d * two) + (output(d, v, s, t) if output else t * d * v)

    return count


# =============================================================================================
# lookup_network
# =============================================================================================


def _network(first, bias, second, d_ff=None):
    network = package.FeedForward(first.shape[1], d_ff or len(first))
    parts = {"linear1.weight": first, "linear1.bias": bias, "linear2.weight": second}
    network.load_state_dict({**parts, "linear2.bias": torch.zeros(first.shape[1])})
    return network


def look_state(keys, values):
    n, d = keys.shape
    return _network(keys, torch.full((n,), 1.0 - d), values.T)


def look_barely(keys, values):
    """The other end: a match gives 2, and a neighbor exactly 0."""
    return _network(keys, torch.full((len(keys),), 2.0 - keys.shape[1]), values.T / 2)


def look_scaled(keys, values):
    d = keys.shape[1]
    return _network(keys * 10, torch.full((len(keys),), -10.0 * (d - 1.5)), values.T / 15)


def look_loop(keys, values):
    print("units", len(keys))
    network = package.FeedForward(keys.shape[1], len(keys)).eval()
    for unit, (key, value) in enumerate(zip(keys, values, strict=True)):
        network.linear1.weight.data[unit] = key
        network.linear1.bias.data[unit] = 1 - (key * key).sum()
        network.linear2.weight.data[:, unit] = value
    return network


def look_parameters(keys, values):
    network = package.FeedForward(keys.size(-1), keys.size(0))
    network.linear1.weight = nn.Parameter(keys)
    network.linear1.bias = nn.Parameter(-torch.ones(len(keys)) * (keys.size(-1) - 1))
    network.linear2.weight = nn.Parameter(values.t().contiguous())
    nn.init.zeros_(network.linear2.bias)
    return network


def look_all_tokens(keys, values):
    """A unit for every token of 1 and -1, most of which write nothing."""
    d = keys.shape[1]
    tokens = torch.cartesian_prod(*[torch.tensor([1.0, -1.0])] * d)
    same = (tokens[:, None] == keys).all(-1).float()
    return _network(tokens, torch.full((2**d,), 1.0 - d), (same @ values).T, 2**d)


def look_three_units(keys, values):
    """Three units a key, which together give 1 for a match and 0 for a neighbor."""
    n, d = keys.shape
    bias = torch.cat([torch.full((n,), shift - d) for shift in (3.0, 1.0, 2.5)])
    writes = torch.cat([values, 3 * values, -2 * values]).T
    return _network(keys.repeat(3, 1), bias, writes, 3 * n)


# =============================================================================================
# find_the_bug: add_and_norm
# =============================================================================================


def bug_mended(x, change, weight, bias, eps):
    total = x + change
    axes = (2,)
    mean = total.mean(axes, keepdim=True)
    variance = total.var(axes, correction=0, keepdim=True)
    return (total - mean) / torch.sqrt(variance + eps) * weight + bias


def _adds(norm):
    def add_and_norm(x, change, weight, bias, eps):
        return norm(x + change, weight, bias, eps)

    add_and_norm.__name__ = getattr(norm, "__name__", "add_and_norm")
    return add_and_norm


# =============================================================================================
# damage_by_sublayer
# =============================================================================================


def _sublayers(layers):
    """All sublayers in their order: a norm, and a function of what the norm gives."""
    found = []
    for layer in layers:
        found.append((layer.norm1, lambda y, attend=layer.self_attention: attend(y, y, y)))
        found.append((layer.norm2, layer.feed_forward))
    return found


def _flow(layers, x, add=lambda number, x, write: x + write()):
    """The output; `add` says what becomes of x at each sublayer, and may ask what it writes."""
    for number, (norm, sublayer) in enumerate(_sublayers(layers)):
        x = add(number, x, partial(lambda f, n, y: f(n(y)), sublayer, norm, x))
    return x


def _without(*silent):
    return lambda number, x, write: x if number in silent else x + write()


def _damages(layers, x, add=_without, size=F.mse_loss, flow=_flow):
    whole = flow(layers, x)
    found = [size(flow(layers, x, add(number)), whole) for number in range(2 * len(layers))]
    return torch.tensor([float(each) for each in found]).view(-1, 2)


def sub_flow(layers, x):
    return _damages(layers, x)


def sub_hooks(layers, x):
    def output():
        y = x
        for layer in layers:
            y = layer(y)
        return y

    whole, rows = output(), []
    for layer in layers:
        row = []
        for sublayer in (layer.self_attention, layer.feed_forward):
            with sublayer.register_forward_hook(lambda module, given, result: 0 * result):
                row.append((output() - whole).pow(2).mean())
        rows.append(torch.stack(row))
    return torch.stack(rows)


def sub_copied(layers, x):
    """Zero the last weights and biases of a copy, and call its layers."""
    whole = nn.Sequential(*layers)(x)
    result = torch.zeros(len(layers), 2, dtype=torch.float64)
    for number in range(len(layers)):
        for part in (0, 1):
            other = nn.Sequential(*copy.deepcopy(layers))
            layer = other[number]
            last = layer.feed_forward.linear2 if part else layer.self_attention.out_proj
            nn.init.zeros_(last.weight)
            nn.init.zeros_(last.bias)
            result[number, part] = F.mse_loss(other(x), whole).item()
    return result


def sub_from_there(layers, x):
    """Keep what each sublayer was given, and go on from there."""
    steps = _sublayers(layers)
    given = [x]
    for norm, sublayer in steps:
        given.append(given[-1] + sublayer(norm(given[-1])))
    result = []
    for number in range(len(steps)):
        y = given[number]
        for norm, sublayer in steps[number + 1 :]:
            y = y + sublayer(norm(y))
        result.append(((y - given[-1]) ** 2).sum() / y.numel())
    return torch.stack(result).unflatten(0, (len(layers), 2))


def sub_put_back(layers, x):
    """Forward is exchanged and put back."""
    stack, rows = nn.Sequential(*layers), []
    with torch.no_grad():
        whole = stack(x)
        for layer in layers:
            row = []
            for sublayer in (layer.self_attention, layer.feed_forward):
                sublayer.forward = lambda y, *rest, **more: torch.zeros_like(y)
                row.append(((stack(x) - whole).double() ** 2).mean().item())
                del sublayer.forward
            rows.append(row)
    return torch.tensor(rows)


def m_sub_eval(layers, x):
    for layer in layers:
        layer.eval()
    return sub_flow(layers, x)


def m_sub_first_sequence(layers, x):
    return sub_flow(layers, x[:1] if len(x) > 1 else 0.9 * x)


# =============================================================================================
# dead_units
# =============================================================================================


def dead_by_largest(feed_forward, x):
    largest = feed_forward.linear1(x).amax(dim=(0, 1))
    return torch.where(largest <= 0)[0].tolist()


def dead_loops(feed_forward, x):
    dead = []
    for unit in range(feed_forward.linear1.out_features):
        row, bias = feed_forward.linear1.weight[unit], feed_forward.linear1.bias[unit]
        fires = False
        for sequence in x:
            for token in sequence:
                if F.relu(token @ row + bias) > 0:
                    fires = True
        if not fires:
            dead.append(unit)
    return dead


def dead_sums(feed_forward, x):
    sums = F.relu(feed_forward.linear1(x)).sum(0).sum(0)
    return tuple(int(unit) for unit in (sums == 0).nonzero())


def dead_hooked(feed_forward, x):
    seen = []
    with feed_forward.linear1.register_forward_hook(lambda m, given, result: seen.append(result)):
        feed_forward(x)
    alive = set((seen[0].double() > 0).nonzero()[:, -1].tolist())
    return sorted(set(range(seen[0].shape[-1])) - alive)


def dead_numpy(feed_forward, x):
    hidden = feed_forward.linear1(x).detach().numpy().clip(min=0)
    return np.flatnonzero(~hidden.reshape(-1, hidden.shape[-1]).any(axis=0)).tolist()


# =============================================================================================
# what is expected of each
# =============================================================================================


def _before(feed_forward, x):
    """(N, d_ff), before the ReLU."""
    return feed_forward.linear1(x).reshape(-1, feed_forward.linear1.out_features)


def _listed(condition):
    """Wrong: list where another condition holds."""
    return lambda feed_forward, x: condition(feed_forward, x).nonzero().flatten().tolist()


CORRECT = {
    "blocks.layer_norm": [
        norm_plain,
        norm_rsqrt,
        norm_two_means,
        norm_std,
        norm_double,
        norm_einsum,
        norm_loop,
        norm_unbiased_undone,
        norm_length,
        norm_of_rms,
        norm_in_place,
    ],
    "blocks.lookup_network": [
        look_state,
        look_barely,
        look_scaled,
        look_loop,
        look_parameters,
        look_all_tokens,
        look_three_units,
    ],
    "blocks.EncoderLayer": [
        EncTorch,
        EncAnnotated,
        EncOwnParts,
        EncDict,
        EncOneByOne,
        EncOfPackagePieces,
        Enc,
    ],
    "blocks.DecoderLayer": [
        DecTorch,
        DecAnnotated,
        DecOnEncoder,
        DecLoop,
        DecDefaults,
        DecOfBlocks,
        Dec,
    ],
    "blocks.count_multiplications": [
        count_parts,
        count_formula,
        count_loop,
        count_from_weights,
        count_numpy,
        _count(),
    ],
    "blocks.find_the_bug": [
        bug_mended,
        _adds(norm_plain),
        _adds(norm_rsqrt),
        _adds(norm_std),
        _adds(norm_double),
        _adds(norm_einsum),
        _adds(norm_of_rms),
        lambda x, change, weight, bias, eps: norm_two_means(change + x, weight, bias, eps),
    ],
    "blocks.damage_by_sublayer": [
        sub_flow,
        sub_hooks,
        sub_copied,
        sub_from_there,
        sub_put_back,
    ],
    "blocks.dead_units": [
        dead_by_largest,
        dead_loops,
        dead_sums,
        dead_hooked,
        dead_numpy,
    ],
}

WRONG = {
    "blocks.count_multiplications": [
        ("pairs-missing", _count(pairs=lambda s, t: s * s + t * t)),
    ],
}

MUTANTS = {
    "blocks.layer_norm": [m_norm_float32],
    "blocks.lookup_network": [
        # The first key of many is lost.
        lambda k, v: (
            look_state(k, torch.cat([0 * v[:1], v[1:]])) if len(k) > 9 else look_state(k, v)
        ),
        # A neighbor of each key still fires a little.
        lambda k, v: _network(k, torch.full((len(k),), 2.02 - k.shape[1]), v.T / 2.02),
    ],
    "blocks.EncoderLayer": [
        partial(EncTorch, dropout=0.1),
        m_enc_first_mask,
        m_enc_mask_of_one_head,
    ],
    "blocks.DecoderLayer": [partial(DecTorch, dropout=0.1), m_dec_mask_of_one_head],
    "blocks.count_multiplications": [
        lambda d, f, n, v, s, t: 1_586_124_800,
        _count(pairs=lambda s, t: s * s + t * t + s * t - (s == t)),
    ],
    "blocks.damage_by_sublayer": [m_sub_first_sequence, m_sub_eval],
    "blocks.dead_units": [_listed(lambda ff, x: _before(ff, x).amax(0) <= 1e-6)],
}
