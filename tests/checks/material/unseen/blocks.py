"""Wrong answers to the tasks of blocks, as beginners write them."""

import torch

from tests.checks.material.unseen import wrong

# blocks.layer_norm


@wrong("blocks.layer_norm", "the divisor is D - 1", "unbiased-variance")
def _(x, weight, bias, eps):
    return (x - x.mean(-1, keepdim=True)) / torch.sqrt(
        x.var(-1, keepdim=True) + eps
    ) * weight + bias


@wrong("blocks.layer_norm", "eps outside the root", "eps-outside-the-root")
def _(x, weight, bias, eps):
    std = x.var(-1, keepdim=True, correction=0).sqrt()
    return (x - x.mean(-1, keepdim=True)) / (std + eps) * weight + bias


# blocks.EncoderLayer


# blocks.DecoderLayer


# blocks.find_the_bug


@wrong("blocks.find_the_bug", "the correction was lost", "unbiased-variance")
def _(x, change, weight, bias, eps):
    total = x + change
    mean = total.mean(-1, keepdim=True)
    variance = total.var(-1, keepdim=True)
    return (total - mean) / torch.sqrt(variance + eps) * weight + bias


# blocks.dead_units


@wrong("blocks.dead_units", "nonzero without flatten: lists of one number", relation="form")
def _(feed_forward, x):
    hidden = feed_forward.linear1(x).relu()
    return (hidden == 0).all(1).all(0).nonzero().tolist()


# blocks.lookup_network


# blocks.count_multiplications


def _total(d, f, n, v, s, t, *, encoder=0, decoder=0, once=0):
    """Give the right count, and more of it in each layer or once."""
    encoder += 4 * s * d * d + 2 * s * s * d + 2 * s * d * f
    decoder += (6 * t + 2 * s) * d * d + 2 * t * (t + s) * d + 2 * t * d * f
    return n * (encoder + decoder) + t * d * v + once


@wrong("blocks.count_multiplications", "the future is read with the source: S + T keys")
def _(d, f, n, v, s, t):
    return _total(d, f, n, v, s, t, decoder=2 * t * (s + t) * d - 2 * t * s * d)
