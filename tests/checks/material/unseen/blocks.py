"""Wrong answers to the tasks of blocks, as beginners write them."""

import torch
from torch import nn

from tests.checks.material.unseen import wrong
from transformer_ref import layers as reference
from transformer_ref.attention import MultiHeadAttention


@wrong("blocks.layer_norm", "the divisor is D - 1", "unbiased-variance")
def _(x, weight, bias, eps):
    return (x - x.mean(-1, keepdim=True)) / torch.sqrt(
        x.var(-1, keepdim=True) + eps
    ) * weight + bias


@wrong("blocks.layer_norm", "eps outside the root", "eps-outside-the-root")
def _(x, weight, bias, eps):
    std = x.var(-1, keepdim=True, correction=0).sqrt()
    return (x - x.mean(-1, keepdim=True)) / (std + eps) * weight + bias


@wrong("blocks.find_the_bug", "the correction was lost", "unbiased-variance")
def _(x, change, weight, bias, eps):
    total = x + change
    mean = total.mean(-1, keepdim=True)
    variance = total.var(-1, keepdim=True)
    return (total - mean) / torch.sqrt(variance + eps) * weight + bias


@wrong("blocks.dead_units", "nonzero without flatten: lists of one number", relation="form")
def _(feed_forward, x):
    hidden = feed_forward.linear1(x).relu()
    return (hidden == 0).all(1).all(0).nonzero().tolist()


def _total(d, f, n, v, s, t, *, encoder=0, decoder=0, once=0):
    """Give the right count, and more of it in each layer or once."""
    encoder += 4 * s * d * d + 2 * s * s * d + 2 * s * d * f
    decoder += (6 * t + 2 * s) * d * d + 2 * t * (t + s) * d + 2 * t * d * f
    return n * (encoder + decoder) + t * d * v + once


@wrong("blocks.count_multiplications", "the future is read with the source: S + T keys")
def _(d, f, n, v, s, t):
    return _total(d, f, n, v, s, t, decoder=2 * t * (s + t) * d - 2 * t * s * d)


@wrong("blocks.layer_norm", "x.var without correction=0: the divisor is D - 1", None)
def layer_norm_1(x, weight, bias, eps):
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.var(dim=-1, keepdim=True)
    return (x - mean) / torch.sqrt(variance + eps) * weight + bias


@wrong("blocks.layer_norm", "std + eps: eps stands outside the root", None)
def layer_norm_2(x, weight, bias, eps):
    mean = x.mean(dim=-1, keepdim=True)
    deviation = x.std(dim=-1, keepdim=True, correction=0)
    return (x - mean) / (deviation + eps) * weight + bias


class Layer(nn.Module):
    """The parts as they should be; the classes below go wrong in one place."""

    def __init__(self, d_model, num_heads, d_ff, norm="post"):
        super().__init__()
        self.norm = norm
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = reference.FeedForward(d_model, d_ff)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)


@wrong("blocks.EncoderLayer", "return in the branch of pre only: post gives None", None)
class EncoderLayer10(Layer):
    def forward(self, x, mask=None):
        if self.norm == "pre":
            y = self.norm1(x)
            x = x + self.self_attention(y, y, y, mask)
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.self_attention(x, x, x, mask))
        x = self.norm2(x + self.feed_forward(x))
        return None
