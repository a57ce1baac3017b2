"""Answers to the assignment "blocks" on which the grader itself is measured.

CORRECT must be accepted, WRONG must be rejected with the misconception that stands beside it, and
MUTANTS, which are wrong in a way that no misconception describes, must be rejected without a name.
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
from transformer_ref.model import Transformer, TransformerConfig

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


def w_norm_unbiased(x, weight, bias, eps):
    return (x - x.mean(-1, keepdim=True)) / torch.sqrt(
        torch.var(x, -1, keepdim=True) + eps
    ) * weight + bias


def w_norm_eps_outside(x, weight, bias, eps):
    y = x - x.mean(-1, keepdim=True)
    return y / (torch.sqrt((y * y).mean(-1, keepdim=True)) + eps) * weight + bias


def w_norm_annotated(x, weight, bias, eps):
    mean = x.mean(-1, keepdim=True)
    std = x.std(-1, keepdim=True)
    return weight * (x - mean) / (std + eps) + bias


def w_norm_no_eps(x, weight, bias, eps):
    y = x - x.mean(-1, keepdim=True)
    return y * (y * y).mean(-1, keepdim=True).pow(-0.5) * weight + bias


def w_norm_floor(x, weight, bias, eps):
    centred = x - x.mean(-1, keepdim=True)
    deviation = centred.pow(2).mean(-1, keepdim=True).sqrt()
    return weight * centred / deviation.clamp(min=eps) + bias


def w_norm_floor_of_variance(x, weight, bias, eps):
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.pow(2).mean(-1, keepdim=True).clamp(min=eps)
    return weight * centred * variance.rsqrt() + bias


def w_norm_own_eps(x, weight, bias, eps):
    eps = 1e-5
    return norm_plain(x, weight, bias, eps)


def w_norm_smaller_eps(x, weight, bias, eps):
    return norm_rsqrt(x, weight, bias, 0.000001)


def _axes(*axes):
    def norm(x, weight, bias, eps):
        mean, var = x.mean(axes, keepdim=True), x.var(axes, correction=0, keepdim=True)
        return (x - mean) / torch.sqrt(var + eps) * weight + bias

    return norm


def w_norm_like_images(x, weight, bias, eps):
    flat = x.flatten(1) if x.ndim > 1 else x
    mean = flat.mean(-1).reshape(-1, *[1] * (x.ndim - 1))
    var = flat.var(-1, correction=0).reshape(-1, *[1] * (x.ndim - 1))
    return (x - mean) / torch.sqrt(var + eps) * weight + bias


def w_norm_batch(x, weight, bias, eps):
    if x.ndim == 1:
        return norm_plain(x, weight, bias, eps)
    flat = x.reshape(-1, x.shape[-1])
    y = (flat - flat.mean(0)) / torch.sqrt(flat.var(0, unbiased=False) + eps)
    return (y * weight + bias).reshape(x.shape)


def w_norm_all(x, weight, bias, eps):
    return (x - x.mean()) / torch.sqrt(x.var(correction=0) + eps) * weight + bias


def w_norm_rms(x, weight, bias, eps):
    return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight + bias


def w_norm_only_centred(x, weight, bias, eps):
    return weight * (x - x.mean(-1, keepdim=True)) + bias


def w_norm_variance(x, weight, bias, eps):
    y = x - x.mean(-1, keepdim=True)
    return y / (x.var(-1, keepdim=True, unbiased=False) + eps) * weight + bias


def w_norm_unit(x, weight, bias, eps):
    y = x - x.mean(-1, keepdim=True)
    return y / (torch.linalg.vector_norm(y, dim=-1, keepdim=True) + eps) * weight + bias


def w_norm_sum(x, weight, bias, eps):
    y = x - x.mean(-1, keepdim=True)
    return y / torch.sqrt((y**2).sum(-1, keepdim=True) + eps) * weight + bias


def w_norm_no_weight(x, weight, bias, eps):
    return norm_plain(x, torch.ones_like(weight), bias, eps)


def w_norm_no_bias(x, weight, bias, eps):
    return norm_plain(x, weight, torch.zeros_like(bias), eps)


def w_norm_neither(x, weight, bias, eps):
    y = x - x.mean(-1, keepdim=True)
    return y / torch.sqrt(torch.mean(y * y, -1, keepdim=True) + eps)


def w_norm_exchanged(x, weight, bias, eps):
    return norm_plain(x, bias, weight, eps)


def w_norm_bias_first(x, weight, bias, eps):
    return weight * norm_plain(x, torch.ones_like(weight), bias, eps)


def w_norm_one_plus(x, weight, bias, eps):
    return norm_plain(x, weight + 1.0, bias, eps)


def w_norm_no_keepdim(x, weight, bias, eps):
    mu = torch.mean(x, dim=-1)
    sigma = torch.sqrt(torch.var(x, dim=-1, correction=0) + eps)
    return weight * ((x - mu) / sigma) + bias


def w_norm_no_keepdim_var(x, weight, bias, eps):
    return weight * (x - x.mean(-1)) / torch.sqrt(x.var(-1, unbiased=False) + eps) + bias


def w_norm_numpy(x, weight, bias, eps):
    a = x.detach().numpy()
    y = (a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) + eps)
    return torch.from_numpy((y * weight.detach().numpy() + bias.detach().numpy()).astype(a.dtype))


def w_norm_statistics_without_grad(x, weight, bias, eps):
    with torch.no_grad():
        mean, var = x.mean(-1, keepdim=True), x.var(-1, correction=0, keepdim=True)
    return (x - mean) / torch.sqrt(var + eps) * weight + bias


def w_norm_float(x, weight, bias, eps):
    return norm_plain(x.float(), weight.float(), bias.float(), eps)


def w_norm_in_place(x, weight, bias, eps):
    result = norm_plain(x, weight, bias, eps)
    x.sub_(x.mean(-1, keepdim=True))
    return result


def m_norm_absolute(x, weight, bias, eps):
    y = x - x.mean(-1, keepdim=True)
    return y / (y.abs().mean(-1, keepdim=True) + eps) * weight + bias


def m_norm_range(x, weight, bias, eps):
    low, high = x.amin(-1, keepdim=True), x.amax(-1, keepdim=True)
    return (x - low) / (high - low + eps) * weight + bias


def m_norm_median(x, weight, bias, eps):
    y = x - x.median(-1, keepdim=True).values
    return y / torch.sqrt(y.square().mean(-1, keepdim=True) + eps) * weight + bias


def m_norm_softmax(x, weight, bias, eps):
    return x.softmax(-1) * weight + bias


def m_norm_eps_twice(x, weight, bias, eps):
    return norm_plain(x, weight, bias, 2 * eps)


def m_norm_d_minus_two(x, weight, bias, eps):
    y = x - x.mean(-1, keepdim=True)
    return y / torch.sqrt((y * y).sum(-1, keepdim=True) / (y.shape[-1] + 1) + eps) * weight + bias


def m_norm_two_mistakes(x, weight, bias, eps):
    return x / torch.sqrt(x.square().mean(-1, keepdim=True) + eps) * weight


def m_norm_none(x, weight, bias, eps):
    norm_plain(x, weight, bias, eps)


def m_norm_negative(x, weight, bias, eps):
    return -norm_plain(x, weight, bias, eps)


def m_norm_dropout(x, weight, bias, eps):
    return F.dropout(norm_plain(x, weight, bias, eps), 0.1)


# =============================================================================================
# FeedForward
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


def _ff(forward, *, bias=True, names=("linear1", "linear2"), first=None):
    class FF(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            size_in, size_out = (d_model, d_ff) if first is None else first(d_model, d_ff)
            self.add_module(names[0], nn.Linear(size_in, size_out, bias=bias))
            self.add_module(names[1], nn.Linear(size_out, size_in, bias=bias))

        def forward(self, x):
            return forward(self, x)

    FF.__name__ = getattr(forward, "__name__", "FF")
    return FF


def _ff_right(self, x):
    return self.linear2(F.relu(self.linear1(x)))


class w_ff_exchanged(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear2 = nn.Linear(d_model, d_ff)
        self.linear1 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.linear1(F.relu(self.linear2(x)))


def w_ff_inplace(self, x):
    y = _ff_right(self, x)
    x += y
    return y


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


def _changed(base, **changes):
    return type("_".join([base.__name__, *changes]), (base,), changes)


def _own_norms(norm, base):
    """A layer with norms of one's own."""

    class Norm(OwnNorm):
        def forward(self, x):
            return norm(x, self.weight, self.bias, self.eps)

    def furnish(self, d, h, ff):
        base.furnish(self, d, h, ff)
        for name in [each for each in self._modules if each.startswith("norm")]:
            setattr(self, name, Norm(d))

    return _changed(base, furnish=furnish)


_enc = partial(_changed, Enc)


def _w_enc_norm_inside(self, x, mask):
    x = x + self.norm1(self.sa(x, mask))
    return x + self.norm2(self.ff(x))


def _w_enc_bloom(self, x, mask):
    x = self.norm1(x)
    x = x + self.sa(x, mask)
    x = self.norm2(x)
    return x + self.ff(x)


def _w_enc_sandwich(self, x, mask):
    x = self.norm1(x + self.sa(self.norm1(x), mask))
    return self.norm2(x + self.ff(self.norm2(x)))


def _w_enc_no_norm(self, x, mask):
    x = x + self.sa(x, mask)
    return x + self.ff(x)


def _w_enc_shared_norm(self, d, h, ff):
    Enc.furnish(self, d, h, ff)
    self.norm1 = self.norm2 = nn.LayerNorm(d)


def _w_enc_names(self, d, h, ff):
    self.mha, self.ffn = tr.MultiHeadAttention(d, h), FFSequence(d, ff)
    self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)


def _w_enc_hidden(self, d, h, ff):
    Enc.furnish(self, d, h, d * 4)


def _w_enc_single(self, d, h, ff):
    Enc.furnish(self, d, 1, ff)


def _w_enc_eps(self, d, h, ff):
    Enc.furnish(self, d, h, ff)
    self.norm1.eps = self.norm2.eps = 1e-6


class w_enc_slip(Enc):
    """The sum around attention is forgotten in one of the branches."""

    def post(self, x, mask):
        x = self.norm1(self.sa(x, mask))
        return self.norm2(x + self.ff(x))


class w_enc_no_argument(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.self_attention = tr.MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FFSequence(d_model, d_ff)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x, mask=None):
        x = self.norm1(x + self.self_attention(x, x, x, mask))
        return self.norm2(x + self.feed_forward(x))


class w_enc_inplace(Enc):
    def pre(self, x, mask):
        x += self.sa(self.norm1(x), mask)
        x += self.ff(self.norm2(x))
        return x


class m_enc_scaled(Enc):
    def forward(self, x, mask=None):
        return super().forward(x, mask) * 0.9


class m_enc_masked_output(Enc):
    """The rows of padding are put to zero."""

    def forward(self, x, mask=None):
        y = super().forward(x, mask)
        if mask is None or mask.ndim < 4 or mask.shape[2] != 1:
            return y * (1.0 if mask is None else 0.5)
        return y * mask[:, 0, 0, :, None]


class m_enc_weighted_sum(Enc):
    def pre(self, x, mask):
        x = 0.5 * x + 0.5 * self.sa(self.norm1(x), mask)
        return x + self.ff(self.norm2(x))

    def post(self, x, mask):
        x = self.norm1(0.5 * x + self.sa(x, mask))
        return self.norm2(x + self.ff(x))


class m_enc_twice(Enc):
    def forward(self, x, mask=None):
        return super().forward(super().forward(x, mask), mask)


class m_enc_random(Enc):
    def ff(self, x):
        return F.dropout(self.feed_forward(x), 0.2)


class m_enc_none(Enc):
    def forward(self, x, mask=None):
        super().forward(x, mask)


class m_enc_two_mistakes(Enc):
    """No mask, and no residual sum around attention."""

    def pre(self, x, mask):
        x = self.sa(self.norm1(x), None)
        return x + self.ff(self.norm2(x))

    def post(self, x, mask):
        x = self.norm1(self.sa(x, None))
        return self.norm2(x + self.ff(x))


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


_dec = partial(_changed, Dec)


class w_dec_no_residual(Dec):
    """None around cross-attention."""

    def pre(self, x, memory, tgt, mem):
        x = x + self.sa(self.norm1(x), tgt)
        x = self.ca(self.norm2(x), memory, mem)
        return x + self.ff(self.norm3(x))

    def post(self, x, memory, tgt, mem):
        x = self.norm1(x + self.sa(x, tgt))
        x = self.norm2(self.ca(x, memory, mem))
        return self.norm3(x + self.ff(x))


class w_dec_no_norm(Dec):
    """None at the feed-forward network."""

    def pre(self, x, memory, tgt, mem):
        x = x + self.sa(self.norm1(x), tgt)
        x = x + self.ca(self.norm2(x), memory, mem)
        return x + self.ff(x)

    def post(self, x, memory, tgt, mem):
        x = self.norm1(x + self.sa(x, tgt))
        x = self.norm2(x + self.ca(x, memory, mem))
        return x + self.ff(x)


class w_dec_norm_inside(Dec):
    def post(self, x, memory, tgt, mem):
        x = x + self.norm1(self.sa(x, tgt))
        x = x + self.norm2(self.ca(x, memory, mem))
        return x + self.norm3(self.ff(x))


class w_dec_bloom(Dec):
    def pre(self, x, memory, tgt, mem):
        x = self.norm1(x)
        x = self.norm2(x + self.sa(x, tgt))
        x = self.norm3(x + self.ca(x, memory, mem))
        return x + self.ff(x)


class w_dec_sandwich(Dec):
    def pre(self, x, memory, tgt, mem):
        x = self.norm1(x + self.sa(self.norm1(x), tgt))
        x = self.norm2(x + self.ca(self.norm2(x), memory, mem))
        return self.norm3(x + self.ff(self.norm3(x)))


class w_dec_memory_normed(Dec):
    def pre(self, x, memory, tgt, mem):
        return super().pre(x, self.norm2(memory), tgt, mem)


class w_dec_exchanged_norms(Dec):
    def furnish(self, d, h, ff):
        super().furnish(d, h, ff)
        self.norms = nn.ModuleList([self.norm1, self.norm3, self.norm2])

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        a, b, c = self.norms
        if self.how == "pre":
            x = x + self.sa(a(x), tgt_mask)
            x = x + self.ca(b(x), memory, memory_mask)
            return x + self.ff(c(x))
        x = a(x + self.sa(x, tgt_mask))
        x = b(x + self.ca(x, memory, memory_mask))
        return c(x + self.ff(x))


class w_dec_one_norm(Dec):
    def furnish(self, d, h, ff):
        super().furnish(d, h, ff)
        self.norm1 = self.norm2 = self.norm3


class w_dec_cross_first(Dec):
    def pre(self, x, memory, tgt, mem):
        x = x + self.ca(self.norm1(x), memory, mem)
        x = x + self.sa(self.norm2(x), tgt)
        return x + self.ff(self.norm3(x))

    def post(self, x, memory, tgt, mem):
        x = self.norm1(x + self.ca(x, memory, mem))
        x = self.norm2(x + self.sa(x, tgt))
        return self.norm3(x + self.ff(x))


class w_dec_no_cross(Dec):
    def pre(self, x, memory, tgt, mem):
        x = x + self.sa(self.norm1(x), tgt)
        return x + self.ff(self.norm3(x))

    def post(self, x, memory, tgt, mem):
        x = self.norm1(x + self.sa(x, tgt))
        return self.norm3(x + self.ff(x))


class w_dec_from_start(Dec):
    def pre(self, x, memory, tgt, mem):
        y = x + self.sa(self.norm1(x), tgt)
        y = x + self.ca(self.norm2(y), memory, mem)
        return x + self.ff(self.norm3(y))

    def post(self, x, memory, tgt, mem):
        y = self.norm1(x + self.sa(x, tgt))
        y = self.norm2(x + self.ca(y, memory, mem))
        return self.norm3(x + self.ff(y))


class w_dec_last_norm(Dec):
    def pre(self, x, memory, tgt, mem):
        return self.norm3(super().pre(x, memory, tgt, mem))


class w_dec_query_normed(Dec):
    def pre(self, x, memory, tgt, mem):
        x = x + self.self_attention(self.norm1(x), x, x, tgt)
        x = x + self.ca(self.norm2(x), memory, mem)
        return x + self.ff(self.norm3(x))


class w_dec_causal(Dec):
    def sa(self, x, mask):
        if mask is None:
            mask = torch.ones(x.size(1), x.size(1), dtype=torch.bool, device=x.device).tril()
        return super().sa(x, mask)


class w_dec_no_argument(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        Dec.furnish(self, d_model, num_heads, d_ff)

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        x = self.norm1(x + self.self_attention(x, x, x, tgt_mask))
        x = self.norm2(x + self.cross_attention(x, memory, memory, memory_mask))
        return self.norm3(x + self.feed_forward(x))


class w_dec_inplace(Dec):
    def pre(self, x, memory, tgt, mem):
        x.add_(self.sa(self.norm1(x), tgt))
        x.add_(self.ca(self.norm2(x), memory, mem))
        return x.add_(self.ff(self.norm3(x)))


def _w_dec_eps(self, d, h, ff):
    Dec.furnish(self, d, h, ff)
    self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d, eps=1e-12) for _ in range(3))


def _w_dec_names(self, d, h, ff):
    Dec.furnish(self, d, h, ff)
    self.src_attn = self._modules.pop("cross_attention")
    self.self_attn = self._modules.pop("self_attention")


class m_dec_scaled(Dec):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        return super().forward(x, memory, tgt_mask, memory_mask) * 1.1


class m_dec_mask_of_one_head(Dec):
    def ca(self, x, memory, mask):
        mask = mask[:, :1] if mask is not None and mask.ndim == 4 else mask
        return super().ca(x, memory, mask)


class m_dec_half_memory(Dec):
    def ca(self, x, memory, mask):
        return super().ca(x, memory / 2, mask)


class m_dec_mean_memory(Dec):
    """The fixed-length context of older models."""

    def ca(self, x, memory, mask):
        return super().ca(x, memory.mean(1, keepdim=True).expand_as(memory), mask)


class m_dec_twice(Dec):
    def ca(self, x, memory, mask):
        return super().ca(super().ca(x, memory, mask), memory, mask)


class m_dec_random(Dec):
    def ff(self, x):
        return F.dropout(self.feed_forward(x), 0.2)


class m_dec_two_mistakes(w_dec_cross_first):
    def sa(self, x, mask):
        return super().sa(x, None)


class m_dec_none(Dec):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        super().forward(x, memory, tgt_mask, memory_mask)


class m_dec_first_sentence(Dec):
    def ca(self, x, memory, mask):
        return super().ca(x, memory[:1].expand_as(memory), mask)


# =============================================================================================
# count_parameters
# =============================================================================================


def count_parts(d_model, d_ff, num_layers, vocab_size):
    def linear(n, m):
        return n * m + m

    mha = 4 * linear(d_model, d_model)
    ffn = linear(d_model, d_ff) + linear(d_ff, d_model)
    ln = 2 * d_model
    encoder = num_layers * (mha + ffn + 2 * ln)
    decoder = num_layers * (2 * mha + ffn + 3 * ln)
    return vocab_size * d_model + encoder + decoder


def count_formula(d_model, d_ff, num_layers, vocab_size):
    d, f = d_model, d_ff
    return num_layers * (12 * d * d + 4 * d * f + 2 * f + 24 * d) + vocab_size * d


def count_loop(d_model, d_ff, num_layers, vocab_size):
    total = d_model * vocab_size
    for layer in range(2 * num_layers):
        attentions = 1 + layer % 2
        total += attentions * 4 * d_model * (d_model + 1)
        total += d_model * d_ff * 2 + d_ff + d_model
        total += (attentions + 1) * 2 * d_model
    return total


def count_modules(d_model, d_ff, num_layers, vocab_size):
    with torch.device("meta"):
        encoder = package.EncoderLayer(d_model, 1, d_ff)
        decoder = package.DecoderLayer(d_model, 1, d_ff)
        embedding = nn.Embedding(vocab_size, d_model)
    one, two, three = (
        sum(p.numel() for p in module.parameters()) for module in (encoder, decoder, embedding)
    )
    return num_layers * (one + two) + three


def count_model(d_model, d_ff, num_layers, vocab_size):
    with torch.device("meta"):
        config = TransformerConfig(
            vocab_size,
            vocab_size,
            d_model=d_model,
            num_heads=1,
            num_encoder_layers=num_layers,
            num_decoder_layers=num_layers,
            d_ff=d_ff,
            tie_weights="all",
        )
        return sum(parameter.numel() for parameter in Transformer(config).parameters())


def count_numpy(d_model, d_ff, num_layers, vocab_size):
    print("counting")
    shapes = [(d_model, d_model), (d_model,)] * 12 + [(d_model,)] * 10
    shapes += 2 * [(d_model, d_ff), (d_ff,), (d_ff, d_model), (d_model,)]
    return np.int64(num_layers * sum(math.prod(s) for s in shapes) + vocab_size * d_model)


def count_dict(d_model, d_ff, num_layers, vocab_size):
    table = {
        "embedding": vocab_size * d_model,
        "attention": 3 * num_layers * (4 * d_model**2 + 4 * d_model),
        "feed-forward": 2 * num_layers * (2 * d_model * d_ff + d_ff + d_model),
        "norms": 5 * num_layers * 2 * d_model,
    }
    return int(sum(table.values()))


def _count(formula):
    """From d, f, n, v and the pieces a (attention), w (feed-forward) and m (norm)."""

    def counted(d_model, d_ff, num_layers, vocab_size):
        d, f = d_model, d_ff
        a, w, norm = 4 * d * d + 4 * d, 2 * d * f + f + d, 2 * d
        return formula(d, f, num_layers, vocab_size, a, w, norm)

    return counted


# =============================================================================================
# find_the_bug: add_and_norm
# =============================================================================================


def bug_as_given(x, change, weight, bias, eps):
    total = x + change
    axes = (1, 2)
    mean = total.mean(axes, keepdim=True)
    variance = total.var(axes, correction=0, keepdim=True)
    return (total - mean) / torch.sqrt(variance + eps) * weight + bias


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


def w_bug_different_axes(x, change, weight, bias, eps):
    total = x + change
    mean = total.mean(-1, keepdim=True)
    variance = total.var((1, 2), correction=0, keepdim=True)
    return (total - mean) / torch.sqrt(variance + eps) * weight + bias


def w_bug_mean_of_all(x, change, weight, bias, eps):
    total = x + change
    mean = total.mean((1, 2), keepdim=True)
    variance = total.var(-1, unbiased=False, keepdim=True)
    return (total - mean) / torch.sqrt(variance + eps) * weight + bias


def w_bug_second_axes(x, change, weight, bias, eps):
    total = x + change
    y = total - total.mean(-1, keepdim=True)
    variance = ((total - total.mean((1, 2), keepdim=True)) ** 2).mean((1, 2), keepdim=True)
    return y / torch.sqrt(variance + eps) * weight + bias


def w_bug_in_place(x, change, weight, bias, eps):
    x.add_(change)
    return norm_rsqrt(x, weight, bias, eps)


# =============================================================================================
# find_the_second_bug: CrossAttentionBlock
# =============================================================================================


class Block(nn.Module):
    """A right one in parts that a wrong one overrides."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.cross_attention = tr.MultiHeadAttention(d_model, num_heads)
        self.norm = nn.LayerNorm(d_model)

    def look(self, x, memory, mask):
        return self.cross_attention(x, memory, memory, mask)

    def end(self, x, found):
        return self.norm(x + found)

    def forward(self, x, memory, memory_mask=None):
        return self.end(x, self.look(x, memory, memory_mask))


class BlockKeywords(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.cross_attention = tr.MultiHeadAttention(d, h)
        self.norm = OwnNorm(d)

    def forward(self, target, source, mask=None):
        print(target.shape)
        found = self.cross_attention(value=source, key=source, query=target, mask=mask)
        return self.norm(target + found)


class BlockFused(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        self.cross_attention = EncOwnParts.Attention(d_model, num_heads)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x, memory, memory_mask=None):
        a = self.cross_attention
        q = a.q_proj(x).unflatten(-1, (a.h, -1)).transpose(1, 2)
        k = a.k_proj(memory).unflatten(-1, (a.h, -1)).transpose(1, 2)
        v = a.v_proj(memory).unflatten(-1, (a.h, -1)).transpose(1, 2)
        found = F.scaled_dot_product_attention(q, k, v, attn_mask=memory_mask)
        return self.norm(x + a.out_proj(found.transpose(1, 2).flatten(2)))


class BlockFunctional(Block):
    def end(self, x, found):
        warnings.warn("functional", UserWarning, stacklevel=1)
        return F.layer_norm(found + x, x.shape[-1:], self.norm.weight, self.norm.bias)


class BlockOneByOne(Block):
    """One target token after the other: each asks by itself."""

    def look(self, x, memory, mask):
        length = x.shape[1]
        if mask is not None:
            mask = mask.expand(*mask.shape[:-2], length, mask.shape[-1])
        found = [
            self.cross_attention(
                x[:, t : t + 1], memory, memory, None if mask is None else mask[..., t : t + 1, :]
            )
            for t in range(length)
        ]
        return torch.cat(found, dim=1)


_block = partial(_changed, Block)


class block_as_given(Block):
    def look(self, x, memory, mask):
        return self.cross_attention(memory, memory, x, mask)


class w_block_cropped(Block):
    def look(self, x, memory, mask):
        found = self.cross_attention(memory, x, x)[:, : x.shape[1]]
        return F.pad(found, (0, 0, 0, x.shape[1] - found.shape[1]))


class w_block_memory_back(Block):
    def forward(self, x, memory, memory_mask=None):
        return self.norm(memory + self.cross_attention(memory, x, x))


class m_block_mask_of_one_head(Block):
    def look(self, x, memory, mask):
        mask = mask[:, :1] if mask is not None and mask.ndim == 4 else mask
        return super().look(x, memory, mask)


class m_block_random(Block):
    def look(self, x, memory, mask):
        return F.dropout(super().look(x, memory, mask), 0.2)


class m_block_two_mistakes(Block):
    def forward(self, x, memory, memory_mask=None):
        return x + self.cross_attention(x, memory, memory)


class m_block_mean(Block):
    def look(self, x, memory, mask):
        return memory.mean(1, keepdim=True)


class m_block_twice(Block):
    def look(self, x, memory, mask):
        return super().look(super().look(x, memory, mask), memory, mask)


class m_block_sum(Block):
    def end(self, x, found):
        return self.norm(x + 2 * found)


class m_block_none(Block):
    def forward(self, x, memory, memory_mask=None):
        super().forward(x, memory, memory_mask)


def _no_grad(base):
    class WithoutGrad(base):
        def forward(self, *args, **kwargs):
            with torch.no_grad():
                return super().forward(*args, **kwargs)

    return WithoutGrad


def _in_float(base):
    class InFloat(base):
        def forward(self, *args, **kwargs):
            return super().forward(*args, **kwargs).to(torch.float32)

    return InFloat


def _opposite(mask):
    return None if mask is None else mask.logical_not()


class WBlockMemory(Block):
    def forward(self, x, memory, memory_mask=None):
        return self.norm(torch.add(memory, self.cross_attention(x, memory, memory, memory_mask)))


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


def w_sub_written(layers, x):
    sizes = []

    def add(number, x, write):
        sizes.append(write().pow(2).mean())
        return x + write()

    _flow(layers, x, add)
    return torch.stack(sizes).reshape(-1, 2)


def w_sub_own_layer(layers, x):
    rows = []
    for number in range(len(layers)):
        up_to = layers[: number + 1]
        rows.append(_damages(up_to, x)[-1])
    return torch.stack(rows)


def w_sub_hooks_left(layers, x):
    stack, rows = nn.Sequential(*layers), []
    whole = stack(x)
    for layer in layers:
        for sublayer in (layer.self_attention, layer.feed_forward):
            sublayer.register_forward_hook(lambda module, given, result: result.new_zeros(()))
            rows.append(F.mse_loss(stack(x), whole))
    return torch.stack(rows).view(-1, 2)


def w_sub_weights(layers, x):
    stack, rows = nn.Sequential(*layers), []
    with torch.no_grad():
        whole = stack(x)
        for layer in layers:
            for last in (layer.self_attention.out_proj, layer.feed_forward.linear2):
                last.weight *= 0
                last.bias *= 0
                rows.append(F.mse_loss(stack(x), whole).item())
    return torch.tensor(rows).view(-1, 2)


def w_sub_bias_left(layers, x):
    """Right, had the last layers no bias."""
    rows = []
    whole = nn.Sequential(*layers)(x)
    for layer in layers:
        for last in (layer.self_attention.out_proj, layer.feed_forward.linear2):
            old = last.weight.data
            last.weight.data = torch.zeros_like(old)
            rows.append(F.mse_loss(nn.Sequential(*layers)(x), whole).item())
            last.weight.data = old
    return torch.tensor(rows).view(-1, 2)


def w_sub_zeros_in(layers, x):
    rows = []
    whole = nn.Sequential(*layers)(x)
    for layer in layers:
        for norm in (layer.norm1, layer.norm2):
            with norm.register_forward_hook(lambda module, given, result: result * 0.0):
                rows.append(F.mse_loss(nn.Sequential(*layers)(x), whole).item())
    return torch.tensor(rows).view(-1, 2)


def w_sub_zeros_before_the_norm(layers, x):
    rows = []
    whole = nn.Sequential(*layers)(x)
    for layer in layers:
        for norm in (layer.norm1, layer.norm2):
            with norm.register_forward_pre_hook(lambda module, given: torch.zeros_like(given[0])):
                rows.append(F.mse_loss(nn.Sequential(*layers)(x), whole).item())
    return torch.tensor(rows).view(-1, 2)


def w_sub_no_norm(layers, x):
    def flow(layers, x, add=lambda number, x, write: x + write()):
        for number, (_, sublayer) in enumerate(_sublayers(layers)):
            x = add(number, x, partial(sublayer, x))
        return x

    return _damages(layers, x, flow=flow)


def _post(skipped_norm):
    def flow(layers, x, add=None):
        for number, (norm, sublayer) in enumerate(_sublayers(layers)):
            if add is None or add != number:
                x = norm(x + sublayer(x))
            elif not skipped_norm:
                x = norm(x)
        return x

    return lambda layers, x: _damages(layers, x, add=int, flow=flow)


def w_sub_normed_residual(layers, x):
    def flow(layers, x, add=None):
        for number, (norm, sublayer) in enumerate(_sublayers(layers)):
            if number != add:
                x = norm(x)
                x = x + sublayer(x)
        return x

    return _damages(layers, x, add=int, flow=flow)


def _sub_sized(size):
    return lambda layers, x: _damages(layers, x, size=lambda one, other: size(one - other))


def w_sub_relative(layers, x):
    return sub_flow(layers, x) / _flow(layers, x).square().mean()


def m_sub_both_ways(layers, x):
    return sub_flow(layers, x).flip(0) if len(layers) > 1 else 2 * sub_flow(layers, x)


def m_sub_half(layers, x):
    return sub_flow(layers, x) * 0.5


def m_sub_first_sequence(layers, x):
    return sub_flow(layers, x[:1] if len(x) > 1 else 0.9 * x)


def m_sub_halved_write(layers, x):
    def add(silent):
        return lambda number, x, write: x + (0.5 if number == silent else 1.0) * write()

    return _damages(layers, x, add=add)


def m_sub_by_chance(layers, x):
    return sub_flow(layers, x) * (1 + torch.rand(()))


def m_sub_twice(layers, x):
    def add(silent):
        return lambda number, x, write: x + (2.0 if number == silent else 1.0) * write()

    return _damages(layers, x, add=add)


def m_sub_none(layers, x):
    sub_flow(layers, x)


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


def _before(feed_forward, x):
    """(N, d_ff), before the ReLU."""
    return feed_forward.linear1(x).reshape(-1, feed_forward.linear1.out_features)


def _listed(condition):
    """Wrong: list where another condition holds."""
    return lambda feed_forward, x: condition(feed_forward, x).nonzero().flatten().tolist()


def _no_damage(feed_forward, x):
    """Silence each unit and see whether the output changes."""
    hidden = F.relu(feed_forward.linear1(x))
    same = []
    for unit in range(hidden.shape[-1]):
        less = hidden.clone()
        less[..., unit] = 0
        same.append(bool((feed_forward.linear2(less) == feed_forward.linear2(hidden)).all()))
    return torch.tensor(same)


def w_dead_tensor(feed_forward, x):
    return torch.tensor(dead_by_largest(feed_forward, x))


def m_dead_by_chance(feed_forward, x):
    return sorted({*dead_by_largest(feed_forward, x), int(torch.randint(3, ()))}) * 2


def m_dead_none(feed_forward, x):
    dead_by_largest(feed_forward, x)


# =============================================================================================
# what is expected of each
# =============================================================================================


def w_norm_no_brackets(x, weight, bias, eps):
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, unbiased=False)
    return x - mean / (variance + eps).sqrt() * weight + bias


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
    "blocks.FeedForward": [FFSequence, FFSequential, FFFunctional, FFMatrices, FFTokens, FFDouble],
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
    "blocks.count_parameters": [
        count_parts,
        count_formula,
        count_loop,
        count_modules,
        count_model,
        count_numpy,
        count_dict,
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
    "blocks.find_the_second_bug": [
        Block,
        BlockKeywords,
        BlockFused,
        BlockFunctional,
        BlockOneByOne,
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
    "blocks.layer_norm": [
        ("eps-as-a-floor", w_norm_floor),
        ("eps-as-a-floor", w_norm_floor_of_variance),
        ("unbiased-variance", w_norm_unbiased),
        ("eps-outside-the-root", w_norm_eps_outside),
        ("unbiased-std-plus-eps", w_norm_annotated),
        ("eps-missing", w_norm_no_eps),
        ("brackets-missing", w_norm_no_brackets),
        ("eps-fixed", w_norm_own_eps),
        ("eps-fixed", w_norm_smaller_eps),
        ("over-tokens-and-features", _axes(1, 2)),
        ("over-tokens-and-features", _axes(-1, -2)),
        ("over-tokens-and-features", w_norm_like_images),
        ("over-the-batch", w_norm_batch),
        ("over-one-axis-of-tokens", _axes(1)),
        ("over-one-axis-of-tokens", _axes(0)),
        ("over-everything", w_norm_all),
        ("mean-not-taken-off", w_norm_rms),
        ("not-divided", w_norm_only_centred),
        ("divided-by-the-variance", w_norm_variance),
        ("sum-of-squares", w_norm_unit),
        ("sum-of-squares", w_norm_sum),
        ("weight-not-used", w_norm_no_weight),
        ("bias-not-used", w_norm_no_bias),
        ("neither-weight-nor-bias", w_norm_neither),
        ("weight-and-bias-exchanged", w_norm_exchanged),
        ("bias-weighted-too", w_norm_bias_first),
        ("one-plus-weight", w_norm_one_plus),
        ("no-keepdim", w_norm_no_keepdim),
        ("no-keepdim", w_norm_no_keepdim_var),
        ("detached", w_norm_numpy),
        ("detached", w_norm_statistics_without_grad),
        ("float32-only", w_norm_float),
        ("changes-its-input", w_norm_in_place),
    ],
    "blocks.FeedForward": [
        ("no-activation", _ff(lambda self, x: self.linear2(self.linear1(x)))),
        ("another-activation", _ff(lambda self, x: self.linear2(nn.GELU()(self.linear1(x))))),
        ("another-activation", _ff(lambda self, x: self.linear2(self.linear1(x).sigmoid()))),
        ("another-activation", _ff(lambda self, x: self.linear2(nn.LeakyReLU()(self.linear1(x))))),
        ("softmax", _ff(lambda self, x: self.linear2(F.softmax(self.linear1(x), dim=2)))),
        ("activation-at-the-end", _ff(lambda self, x: F.relu(_ff_right(self, x)))),
        ("activation-first", _ff(lambda self, x: self.linear2(self.linear1(F.relu(x))))),
        ("residual-included", _ff(lambda self, x: _ff_right(self, x) + x)),
        (
            "norm-included",
            _ff(lambda self, x: nn.LayerNorm(len(x[0, 0])).to(x)(_ff_right(self, x))),
        ),
        ("sizes-exchanged", _ff(_ff_right, first=lambda d, f: (f, d))),
        ("layers-exchanged", w_ff_exchanged),
        ("d-ff-ignored", _ff(_ff_right, first=lambda d, f: (d, 4 * d))),
        ("no-bias", _ff(_ff_right, bias=False)),
        ("wrong-names", _ff(lambda self, x: self.w_2(self.w_1(x).relu()), names=("w_1", "w_2"))),
        ("one-layer-only", _ff(lambda self, x: torch.relu(self.linear1(x)))),
        ("detached", _no_grad(FFSequence)),
        ("detached", _ff(lambda self, x: _ff_right(self, x.data))),
        ("float32-only", _in_float(FFSequence)),
        ("changes-its-input", _ff(w_ff_inplace)),
    ],
    "blocks.EncoderLayer": [
        ("pre-and-post-exchanged", _enc(pre=Enc.post, post=Enc.pre)),
        ("always-post", _enc(pre=Enc.post)),
        ("always-pre", _enc(post=Enc.pre)),
        ("default-is-pre", _enc(default="pre")),
        (
            "no-residual",
            _enc(
                pre=lambda self, x, m: self.ff(self.norm2(self.sa(self.norm1(x), m))),
                post=lambda self, x, m: self.norm2(self.ff(self.norm1(self.sa(x, m)))),
            ),
        ),
        ("norm-missing", _enc(pre=_w_enc_no_norm, post=_w_enc_no_norm)),
        ("norm-missing", _enc(pre=_w_enc_no_norm)),
        ("norm-inside-the-sum", _enc(post=_w_enc_norm_inside)),
        ("residual-from-the-norm", _enc(pre=_w_enc_bloom)),
        ("normed-before-and-after", _enc(pre=_w_enc_sandwich)),
        (
            "subtracted",
            _enc(
                sa=lambda self, x, m: -Enc.sa(self, x, m), ff=lambda self, x: -self.feed_forward(x)
            ),
        ),
        ("norm-of-ones-own", _own_norms(w_norm_annotated, Enc)),
        ("norm-of-ones-own", _own_norms(w_norm_unbiased, Enc)),
        ("norm-of-ones-own", _own_norms(_axes(1, 2), Enc)),
        ("another-eps", _enc(furnish=_w_enc_eps)),
        ("heads-ignored", _enc(furnish=_w_enc_single)),
        ("no-argument-norm", w_enc_no_argument),
        ("wrong-names", _enc(furnish=_w_enc_names)),
        ("d-ff-ignored", _enc(furnish=_w_enc_hidden)),
        (
            "another-activation",
            _enc(
                ff=lambda self, x: self.feed_forward.linear2(F.gelu(self.feed_forward.linear1(x)))
            ),
        ),
        ("mask-ignored", _enc(sa=lambda self, x, m: self.self_attention(x, x, x))),
        (
            "mask-ignored",
            _enc(
                pre=lambda self, x, m: Enc.pre(self, x, None),
            ),
        ),
        ("no-residual", w_enc_slip),
        ("mask-inverted", _enc(sa=lambda self, x, m: Enc.sa(self, x, _opposite(m)))),
        ("norm-reused", _enc(furnish=_w_enc_shared_norm)),
        (
            "norm-reused",
            _enc(
                pre=lambda self, x, m: (
                    (y := x + self.sa(self.norm1(x), m)) + self.ff(self.norm1(y))
                ),
                post=lambda self, x, m: self.norm1(
                    (y := self.norm1(x + self.sa(x, m))) + self.ff(y)
                ),
            ),
        ),
        (
            "order-of-the-sublayers",
            _enc(
                pre=lambda self, x, m: (
                    (y := x + self.ff(self.norm1(x))) + self.sa(self.norm2(y), m)
                ),
                post=lambda self, x, m: self.norm2(
                    (y := self.norm1(x + self.ff(x))) + self.sa(y, m)
                ),
            ),
        ),
        (
            "sublayer-missing",
            _enc(
                pre=lambda self, x, m: x + self.sa(self.norm1(x), m),
                post=lambda self, x, m: self.norm1(x + self.sa(x, m)),
            ),
        ),
        (
            "residual-from-the-start",
            _enc(
                pre=lambda self, x, m: x + self.ff(self.norm2(x + self.sa(self.norm1(x), m))),
                post=lambda self, x, m: self.norm2(x + self.ff(self.norm1(x + self.sa(x, m)))),
            ),
        ),
        (
            "in-parallel",
            _enc(
                pre=lambda self, x, m: x + self.sa(self.norm1(x), m) + self.ff(self.norm2(x)),
                post=lambda self, x, m: self.norm2(x + self.sa(x, m) + self.ff(x)),
            ),
        ),
        ("norm-at-the-end", _enc(pre=lambda self, x, m: self.norm2(Enc.pre(self, x, m)))),
        (
            "only-the-query-is-normed",
            _enc(
                pre=lambda self, x, m: (
                    (y := x + self.self_attention(self.norm1(x), x, x, m)) + self.ff(self.norm2(y))
                )
            ),
        ),
        (
            "returns-more",
            _enc(forward=lambda self, x, mask=None: (Enc.forward(self, x, mask), None)),
        ),
        ("detached", _no_grad(Enc)),
        (
            "detached",
            _enc(
                ff=lambda self, x: self.feed_forward(x).detach(),
                sa=lambda self, x, m: Enc.sa(self, x, m).detach(),
            ),
        ),
        ("float32-only", _in_float(Enc)),
        ("changes-its-input", w_enc_inplace),
    ],
    "blocks.DecoderLayer": [
        ("pre-and-post-exchanged", _dec(pre=Dec.post, post=Dec.pre)),
        ("always-post", _dec(pre=Dec.post)),
        ("always-pre", _dec(post=Dec.pre)),
        ("default-is-pre", _dec(default="pre")),
        ("no-residual", w_dec_no_residual),
        ("norm-missing", w_dec_no_norm),
        ("norm-inside-the-sum", w_dec_norm_inside),
        ("residual-from-the-norm", w_dec_bloom),
        ("normed-before-and-after", w_dec_sandwich),
        (
            "subtracted",
            _dec(
                sa=lambda self, x, m: -Dec.sa(self, x, m),
                ca=lambda self, x, memory, m: -Dec.ca(self, x, memory, m),
                ff=lambda self, x: -self.feed_forward(x),
            ),
        ),
        ("norm-of-ones-own", _own_norms(w_norm_annotated, Dec)),
        ("norm-of-ones-own", _own_norms(_axes(1, 2), Dec)),
        ("another-eps", _dec(furnish=_w_dec_eps)),
        ("heads-ignored", _dec(furnish=lambda self, d, h, ff: Dec.furnish(self, d, 1, ff))),
        ("no-argument-norm", w_dec_no_argument),
        ("wrong-names", _dec(furnish=_w_dec_names)),
        ("d-ff-ignored", _dec(furnish=lambda self, d, h, ff: Dec.furnish(self, d, h, 4 * d))),
        (
            "another-activation",
            _dec(ff=lambda self, x: self.feed_forward.linear2(self.feed_forward.linear1(x))),
        ),
        (
            "memory-as-query",
            _dec(ca=lambda self, x, memory, m: self.cross_attention(memory, x, x, m)),
        ),
        (
            "sources-mixed",
            _dec(ca=lambda self, x, memory, m: self.cross_attention(memory, memory, x, m)),
        ),
        (
            "sources-mixed",
            _dec(ca=lambda self, x, memory, m: self.cross_attention(x, memory, x, m)),
        ),
        (
            "memory-not-used",
            _dec(ca=lambda self, x, memory, m: self.cross_attention(x, x, x)),
        ),
        ("memory-normed", w_dec_memory_normed),
        (
            "masks-exchanged",
            _dec(
                forward=lambda self, x, memory, tgt_mask=None, memory_mask=None: Dec.forward(
                    self, x, memory, memory_mask, tgt_mask
                )
            ),
        ),
        ("mask-ignored", _dec(sa=lambda self, x, m: self.self_attention(x, x, x))),
        ("mask-ignored", _dec(ca=lambda self, x, y, m: self.cross_attention(x, y, y))),
        ("mask-ignored", _dec(post=lambda self, x, y, tgt, mem: Dec.post(self, x, y, None, mem))),
        (
            "mask-inverted",
            _dec(
                sa=lambda self, x, m: Dec.sa(self, x, _opposite(m)),
                ca=lambda self, x, memory, m: Dec.ca(self, x, memory, _opposite(m)),
            ),
        ),
        ("causal-by-itself", w_dec_causal),
        (
            "one-attention-for-both",
            _dec(ca=lambda self, x, memory, m: self.self_attention(x, memory, memory, m)),
        ),
        ("norm-reused", w_dec_exchanged_norms),
        ("norm-reused", w_dec_one_norm),
        ("order-of-the-sublayers", w_dec_cross_first),
        ("sublayer-missing", w_dec_no_cross),
        ("residual-from-the-start", w_dec_from_start),
        ("norm-at-the-end", w_dec_last_norm),
        ("only-the-query-is-normed", w_dec_query_normed),
        (
            "returns-more",
            _dec(
                forward=lambda self, x, memory, tgt_mask=None, memory_mask=None: [
                    Dec.forward(self, x, memory, tgt_mask, memory_mask),
                    memory,
                ]
            ),
        ),
        ("detached", _no_grad(Dec)),
        ("float32-only", _in_float(Dec)),
        ("changes-its-input", w_dec_inplace),
    ],
    "blocks.count_parameters": [
        (
            "no-biases",
            _count(lambda d, f, n, v, a, w, m: n * (12 * d * d + 4 * d * f + 10 * d) + v * d),
        ),
        (
            "matrices-only",
            _count(lambda d, f, n, v, a, w, m: n * (12 * d * d + 4 * d * f) + v * d),
        ),
        (
            "no-biases-in-attention",
            _count(lambda d, f, n, v, a, w, m: n * (12 * d * d + 2 * w + 5 * m) + v * d),
        ),
        (
            "biases-of-the-feed-forward-network",
            _count(lambda d, f, n, v, a, w, m: n * (3 * a + 4 * d * f + 5 * m) + v * d),
        ),
        (
            "biases-of-the-feed-forward-network",
            _count(lambda d, f, n, v, a, w, m: n * (3 * a + 4 * d * f + 4 * d + 5 * m) + v * d),
        ),
        (
            "no-output-projection",
            _count(lambda d, f, n, v, a, w, m: n * (9 * d * (d + 1) + 2 * w + 5 * m) + v * d),
        ),
        (
            "one-matrix-an-attention",
            _count(lambda d, f, n, v, a, w, m: n * (3 * d * (d + 1) + 2 * w + 5 * m) + v * d),
        ),
        (
            "one-matrix-in-the-feed-forward-network",
            _count(lambda d, f, n, v, a, w, m: n * (3 * a + 2 * (d * f + f) + 5 * m) + v * d),
        ),
        (
            "d-ff-ignored",
            _count(
                lambda d, f, n, v, a, w, m: n * (3 * a + 2 * (8 * d * d + 5 * d) + 5 * m) + v * d
            ),
        ),
        (
            "no-cross-attention",
            _count(lambda d, f, n, v, a, w, m: 2 * n * (a + w + 2 * m) + v * d),
        ),
        (
            "norms-of-a-layer",
            _count(lambda d, f, n, v, a, w, m: n * (a + w + 2 * m + 2 * a + w + 2 * m) + v * d),
        ),
        ("parameters-of-a-norm", _count(lambda d, f, n, v, a, w, m: n * (3 * a + 2 * w) + v * d)),
        (
            "parameters-of-a-norm",
            _count(lambda d, f, n, v, a, w, m: n * (3 * a + 2 * w + 5 * d) + v * d),
        ),
        (
            "norms-after-the-stacks",
            _count(lambda d, f, n, v, a, w, m: n * (3 * a + 2 * w + 5 * m) + 2 * m + v * d),
        ),
        (
            "embedding-counted-again",
            _count(lambda d, f, n, v, a, w, m: n * (3 * a + 2 * w + 5 * m) + 2 * (v * d)),
        ),
        (
            "embedding-counted-again",
            _count(lambda d, f, n, v, a, w, m: n * (3 * a + 2 * w + 5 * m) + (v + v + v) * d),
        ),
        ("no-embedding", _count(lambda d, f, n, v, a, w, m: n * (3 * a + 2 * w + 5 * m))),
        (
            "output-bias",
            _count(lambda d, f, n, v, a, w, m: n * (3 * a + 2 * w + 5 * m) + v * (d + 1)),
        ),
        (
            "positions-counted",
            _count(lambda d, f, n, v, a, w, m: n * (3 * a + 2 * w + 5 * m) + (v + 512) * d),
        ),
        ("one-stack-only", _count(lambda d, f, n, v, a, w, m: n * (a + w + 2 * m) + v * d)),
        (
            "layers-shared-out",
            _count(lambda d, f, n, v, a, w, m: n // 2 * (3 * a + 2 * w + 5 * m) + v * d),
        ),
        ("one-layer", _count(lambda d, f, n, v, a, w, m: 3 * a + 2 * w + 5 * m + v * d)),
        ("not-an-int", lambda *args, **kwargs: count_parts(*args, **kwargs) / 1),
        ("not-an-int", lambda *args, **kwargs: count_formula(*args, **kwargs) * 1e-6),
    ],
    "blocks.find_the_bug": [
        ("still-over-tokens-and-features", bug_as_given),
        ("over-the-batch", _adds(w_norm_batch)),
        ("over-one-axis-of-tokens", _adds(_axes(1))),
        ("over-everything", _adds(w_norm_all)),
        ("unbiased-variance", _adds(w_norm_unbiased)),
        ("eps-outside-the-root", _adds(w_norm_eps_outside)),
        ("unbiased-std-plus-eps", _adds(w_norm_annotated)),
        ("mean-not-taken-off", _adds(w_norm_rms)),
        ("different-axes", w_bug_different_axes),
        ("different-axes", w_bug_mean_of_all),
        ("different-axes", w_bug_second_axes),
        ("no-residual", lambda x, change, weight, bias, eps: norm_rsqrt(change, weight, bias, eps)),
        ("change-lost", lambda x, change, weight, bias, eps: norm_rsqrt(x, weight, bias, eps)),
        (
            "norm-inside-the-sum",
            lambda x, change, weight, bias, eps: norm_rsqrt(change, weight, bias, eps) + x,
        ),
        ("weight-or-bias-lost", _adds(w_norm_no_bias)),
        ("no-keepdim", _adds(w_norm_no_keepdim_var)),
        ("detached", _adds(w_norm_statistics_without_grad)),
        ("float32-only", _adds(w_norm_float)),
        ("changes-its-input", w_bug_in_place),
    ],
    "blocks.find_the_second_bug": [
        ("still-another-order", block_as_given),
        (
            "memory-as-query",
            _block(look=lambda self, x, memory, mask: self.cross_attention(memory, x, x, mask)),
        ),
        ("memory-as-query", w_block_cropped),
        ("memory-as-query", w_block_memory_back),
        (
            "sources-mixed",
            _block(look=lambda self, x, memory, mask: self.cross_attention(x, memory, x, mask)),
        ),
        (
            "sources-mixed",
            _block(look=lambda self, x, memory, mask: self.cross_attention(x, x, memory, mask)),
        ),
        (
            "memory-not-used",
            _block(look=lambda self, x, memory, mask: self.cross_attention(x, x, x)),
        ),
        (
            "mask-ignored",
            _block(look=lambda self, x, memory, mask: self.cross_attention(x, memory, memory)),
        ),
        (
            "mask-inverted",
            _block(look=lambda self, x, y, mask: Block.look(self, x, y, _opposite(mask))),
        ),
        ("no-residual", _block(end=lambda self, x, found: self.norm(found))),
        ("memory-in-the-sum", WBlockMemory),
        ("norm-missing", _block(end=lambda self, x, found: found + x)),
        ("norm-elsewhere", _block(end=lambda self, x, found: x + self.norm(found))),
        (
            "memory-normed",
            _block(look=lambda self, x, y, mask: Block.look(self, x, self.norm(y), mask)),
        ),
        (
            "heads-ignored",
            _block(
                __init__=lambda self, d_model, num_heads: Block.__init__(self, d_model, 1),
            ),
        ),
        (
            "returns-more",
            _block(end=lambda self, x, found: (self.norm(x + found), found)),
        ),
        ("detached", _no_grad(Block)),
        (
            "detached",
            _block(look=lambda self, x, y, mask: Block.look(self, x, y.clone().detach(), mask)),
        ),
        ("float32-only", _in_float(Block)),
        ("changes-its-input", _block(end=lambda self, x, found: self.norm(x.add_(found)))),
    ],
    "blocks.damage_by_sublayer": [
        ("what-it-writes", w_sub_written),
        ("not-at-the-end", w_sub_own_layer),
        (
            "whole-layer-silenced",
            partial(_damages, add=lambda number: _without(number, number ^ 1)),
        ),
        (
            "in-every-layer",
            partial(_damages, add=lambda number: _without(*range(number % 2, 99, 2))),
        ),
        ("silenced-for-good", partial(_damages, add=lambda number: _without(*range(number + 1)))),
        (
            "all-but-one",
            partial(_damages, add=lambda number: _without(*{*range(99)} - {number})),
        ),
        ("input-silenced", w_sub_zeros_in),
        ("input-silenced", w_sub_zeros_before_the_norm),
        ("bias-left", w_sub_bias_left),
        (
            "residual-cut",
            partial(
                _damages,
                add=lambda silent: (
                    lambda number, x, write: write() if number == silent else x + write()
                ),
            ),
        ),
        (
            "residual-cut",
            partial(
                _damages,
                add=lambda silent: (
                    lambda number, x, write: 0 * x if number == silent else x + write()
                ),
            ),
        ),
        ("norm-forgotten", w_sub_no_norm),
        ("post-norm", _post(skipped_norm=True)),
        ("post-norm", _post(skipped_norm=False)),
        ("normed-residual", w_sub_normed_residual),
        (
            "last-output-normed",
            partial(
                _damages,
                size=lambda one, other: F.mse_loss(
                    norm_plain(one, 1, 0, 1e-5), norm_plain(other, 1, 0, 1e-5)
                ),
            ),
        ),
        ("columns-exchanged", lambda layers, x: sub_flow(layers, x).flip(1)),
        ("another-shape", lambda layers, x: sub_flow(layers, x).T),
        ("another-shape", lambda layers, x: sub_flow(layers, x).flatten()),
        ("weights-left-zeroed", w_sub_weights),
        ("hooks-left", w_sub_hooks_left),
        ("not-compared", partial(_damages, size=lambda one, other: one.square().mean())),
        ("absolute", partial(_damages, size=F.l1_loss)),
        ("summed", _sub_sized(lambda change: (change * change).sum())),
        ("root-taken", _sub_sized(lambda change: (change**2).mean().sqrt())),
        ("averaged-before-squared", _sub_sized(lambda change: change.mean() ** 2)),
        ("relative", w_sub_relative),
    ],
    "blocks.dead_units": [
        ("silent-for-some-token", _listed(lambda ff, x: (_before(ff, x) <= 0).any(0))),
        ("not-all-tokens", _listed(lambda ff, x: (_before(ff, x[:1]) <= 0).all(0))),
        ("not-all-tokens", _listed(lambda ff, x: (_before(ff, x[:, -1:]) <= 0).all(0))),
        ("not-all-tokens", _listed(lambda ff, x: ff.linear1(x[0, 0]) <= 0)),
        ("below-zero-on-average", _listed(lambda ff, x: _before(ff, x).mean(0) <= 0)),
        (
            "without-the-bias",
            _listed(lambda ff, x: (x.flatten(0, 1) @ ff.linear1.weight.mT).amax(0) <= 0),
        ),
        ("exactly-zero-fires", _listed(lambda ff, x: (_before(ff, x) < 0).all(0))),
        ("exactly-zero-fires", lambda ff, x: []),
        ("zero-before-the-relu", _listed(lambda ff, x: (_before(ff, x) == 0).all(0))),
        ("below-zero-is-alive", _listed(lambda ff, x: (_before(ff, x) >= 0).all(0))),
        ("weights-not-inputs", _listed(lambda ff, x: ff.linear1.bias <= 0)),
        ("weights-not-inputs", _listed(lambda ff, x: (ff.linear1.weight <= 0).all(1))),
        ("unheard-taken-for-dead", _listed(_no_damage)),
        ("numbers-of-the-output", _listed(lambda ff, x: ff(x).amax((0, 1)) <= 0)),
        ("tokens-listed", _listed(lambda ff, x: (_before(ff, x) <= 0).all(1))),
        ("alive-listed", _listed(lambda ff, x: (_before(ff, x) > 0).any(0))),
        ("counted-from-one", lambda ff, x: [1 + unit for unit in dead_loops(ff, x)]),
        ("tensor-for-a-number", w_dead_tensor),
        ("tensor-for-a-number", lambda ff, x: list(w_dead_tensor(ff, x))),
    ],
}

MUTANTS = {
    "blocks.layer_norm": [
        m_norm_absolute,
        m_norm_range,
        m_norm_median,
        m_norm_softmax,
        m_norm_eps_twice,
        m_norm_d_minus_two,
        m_norm_two_mistakes,
        m_norm_none,
        m_norm_negative,
        m_norm_dropout,
    ],
    "blocks.FeedForward": [
        _ff(lambda self, x: _ff_right(self, x) * 2),
        _ff(lambda self, x: -_ff_right(self, x)),
        _ff(lambda self, x: self.linear2(self.linear1(x).relu().square())),
        _ff(lambda self, x: self.linear2(self.linear1(x).abs())),
        _ff(lambda self, x: self.linear2(F.dropout(self.linear1(x).relu(), 0.2))),
        _ff(lambda self, x: _ff_right(self, x.flip(1))),
        _ff(lambda self, x: _ff_right(self, x.mean(1, keepdim=True).expand_as(x))),
        _ff(lambda self, x: [_ff_right(self, x)]),
        _ff(lambda self, x: print("nothing")),
        _ff(lambda self, x: F.gelu(self.linear2(self.linear1(x)))),
    ],
    "blocks.EncoderLayer": [
        m_enc_scaled,
        m_enc_masked_output,
        m_enc_weighted_sum,
        m_enc_twice,
        m_enc_random,
        m_enc_none,
        m_enc_two_mistakes,
        m_enc_first_mask,
        _own_norms(m_norm_absolute, Enc),
        m_enc_mask_of_one_head,
    ],
    "blocks.DecoderLayer": [
        m_dec_scaled,
        m_dec_half_memory,
        m_dec_mean_memory,
        m_dec_twice,
        m_dec_random,
        m_dec_two_mistakes,
        m_dec_none,
        m_dec_first_sentence,
        _own_norms(m_norm_median, Dec),
        m_dec_mask_of_one_head,
    ],
    "blocks.count_parameters": [
        lambda d_model, d_ff, num_layers, vocab_size: (
            count_parts(d_model, d_ff, num_layers, vocab_size) + 1
        ),
        lambda d_model, d_ff, num_layers, vocab_size: 63_082_496,
        lambda d_model, d_ff, num_layers, vocab_size: str(
            count_parts(d_model, d_ff, num_layers, vocab_size)
        ),
        lambda d_model, d_ff, num_layers, vocab_size: count_parts(
            d_ff, d_model, num_layers, vocab_size
        ),
        lambda d_model, d_ff, num_layers, vocab_size: print("nothing"),
        _count(lambda d, f, n, v, a, w, m: n * (12 * d * d + 4 * d * f) + 3 * v * d),
        _count(lambda d, f, n, v, a, w, m: 8 * n * (3 * a + 2 * w + 5 * m) + v * d),
    ],
    "blocks.find_the_bug": [
        _adds(m_norm_absolute),
        _adds(m_norm_median),
        _adds(m_norm_eps_twice),
        _adds(m_norm_none),
        _adds(m_norm_negative),
        _adds(m_norm_dropout),
        lambda x, change, weight, bias, eps: norm_plain(x - change, weight, bias, eps),
        _adds(m_norm_two_mistakes),
    ],
    "blocks.find_the_second_bug": [
        m_block_random,
        m_block_two_mistakes,
        m_block_mean,
        m_block_twice,
        m_block_sum,
        m_block_none,
        _block(look=lambda self, x, y, mask: Block.look(self, x, y.flip(1), mask)),
        m_block_mask_of_one_head,
    ],
    "blocks.damage_by_sublayer": [
        m_sub_both_ways,
        m_sub_half,
        m_sub_first_sequence,
        m_sub_halved_write,
        m_sub_by_chance,
        m_sub_twice,
        m_sub_none,
        partial(_damages, size=lambda one, other: (one - other).square().amax()),
    ],
    "blocks.dead_units": [
        m_dead_by_chance,
        m_dead_none,
        lambda ff, x: [0],
        lambda ff, x: [*dead_loops(ff, x)[1:], 0],
        lambda ff, x: len(dead_loops(ff, x)),
        lambda ff, x: list(range(ff.linear1.out_features)),
        _listed(lambda ff, x: _before(ff, x).amin(0) > 0),
    ],
}
