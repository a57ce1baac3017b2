"""Wrong answers to the tasks on blocks."""

import torch
from torch import nn

from tests.checks.material.unlisted import wrong
from transformer_ref import layers as reference
from transformer_ref.attention import MultiHeadAttention


@wrong("blocks.layer_norm", "x.var without correction=0: the divisor is D - 1")
def layer_norm_1(x, weight, bias, eps):
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.var(dim=-1, keepdim=True)
    return (x - mean) / torch.sqrt(variance + eps) * weight + bias


@wrong("blocks.layer_norm", "std + eps: eps stands outside the root")
def layer_norm_2(x, weight, bias, eps):
    mean = x.mean(dim=-1, keepdim=True)
    deviation = x.std(dim=-1, keepdim=True, correction=0)
    return (x - mean) / (deviation + eps) * weight + bias


@wrong("blocks.layer_norm", "no keepdim: (B, T) does not fit (B, T, D)")
def layer_norm_3(x, weight, bias, eps):
    mean = x.mean(dim=-1)
    variance = x.var(dim=-1, correction=0)
    return (x - mean) / torch.sqrt(variance + eps) * weight + bias


@wrong("blocks.layer_norm", "dim=0: the mean runs over the batch")
def layer_norm_4(x, weight, bias, eps):
    mean = x.mean(dim=0, keepdim=True)
    variance = x.var(dim=0, keepdim=True, correction=0)
    return (x - mean) / torch.sqrt(variance + eps) * weight + bias


@wrong("blocks.layer_norm", "x.mean() and x.var() over all numbers at once")
def layer_norm_5(x, weight, bias, eps):
    return (x - x.mean()) / torch.sqrt(x.var(correction=0) + eps) * weight + bias


@wrong("blocks.layer_norm", "(variance + eps) without sqrt: divided by the variance")
def layer_norm_6(x, weight, bias, eps):
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.var(dim=-1, keepdim=True, correction=0)
    return (x - mean) / (variance + eps) * weight + bias


@wrong("blocks.layer_norm", "x / sqrt(...): the mean is not taken off")
def layer_norm_7(x, weight, bias, eps):
    variance = x.var(dim=-1, keepdim=True, correction=0)
    return x / torch.sqrt(variance + eps) * weight + bias


@wrong("blocks.layer_norm", "(normed + bias) * weight: the offset is scaled too")
def layer_norm_8(x, weight, bias, eps):
    mean = x.mean(dim=-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
    return ((x - mean) / torch.sqrt(variance + eps) + bias) * weight


@wrong("blocks.layer_norm", "x -= mean: the caller's tensor is changed")
def layer_norm_9(x, weight, bias, eps):
    variance = x.var(dim=-1, keepdim=True, correction=0)
    x -= x.mean(dim=-1, keepdim=True)
    return x / torch.sqrt(variance + eps) * weight + bias


@wrong("blocks.layer_norm", "x - mean / root: the division binds before the difference")
def layer_norm_10(x, weight, bias, eps):
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.var(dim=-1, keepdim=True, correction=0)
    return weight * (x - mean / torch.sqrt(variance + eps)) + bias


class Layer(nn.Module):
    """The parts as they should be; the classes below go wrong in one place."""

    def __init__(self, d_model, num_heads, d_ff, norm="post"):
        super().__init__()
        self.norm = norm
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = reference.FeedForward(d_model, d_ff)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)


@wrong("blocks.EncoderLayer", "norm1 twice: norm2 is never used")
class EncoderLayer1(Layer):
    def forward(self, x, mask=None):
        if self.norm == "pre":
            y = self.norm1(x)
            x = x + self.self_attention(y, y, y, mask)
            return x + self.feed_forward(self.norm1(x))
        x = self.norm1(x + self.self_attention(x, x, x, mask))
        return self.norm1(x + self.feed_forward(x))


@wrong("blocks.EncoderLayer", "self_attention(y, x, x): only the query is normed in pre")
class EncoderLayer2(Layer):
    def forward(self, x, mask=None):
        if self.norm == "pre":
            x = x + self.self_attention(self.norm1(x), x, x, mask)
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.self_attention(x, x, x, mask))
        return self.norm2(x + self.feed_forward(x))


@wrong("blocks.EncoderLayer", "x = norm1(x) in pre: the normed copy goes into the sum")
class EncoderLayer3(Layer):
    def forward(self, x, mask=None):
        if self.norm == "pre":
            x = self.norm1(x)
            x = x + self.self_attention(x, x, x, mask)
            x = self.norm2(x)
            return x + self.feed_forward(x)
        x = self.norm1(x + self.self_attention(x, x, x, mask))
        return self.norm2(x + self.feed_forward(x))


@wrong("blocks.EncoderLayer", "the mask is left out of the call of self_attention")
class EncoderLayer4(Layer):
    def forward(self, x, mask=None):
        if self.norm == "pre":
            y = self.norm1(x)
            x = x + self.self_attention(y, y, y)
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.self_attention(x, x, x))
        return self.norm2(x + self.feed_forward(x))


@wrong("blocks.EncoderLayer", "norm2(feed_forward(x)): the second residual sum is missing in post")
class EncoderLayer5(Layer):
    def forward(self, x, mask=None):
        if self.norm == "pre":
            y = self.norm1(x)
            x = x + self.self_attention(y, y, y, mask)
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.self_attention(x, x, x, mask))
        return self.norm2(self.feed_forward(x))


@wrong("blocks.EncoderLayer", "norm='pre' is the default")
class EncoderLayer6(Layer):
    def __init__(self, d_model, num_heads, d_ff, norm="pre"):
        super().__init__(d_model, num_heads, d_ff, norm)

    def forward(self, x, mask=None):
        if self.norm == "pre":
            y = self.norm1(x)
            x = x + self.self_attention(y, y, y, mask)
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.self_attention(x, x, x, mask))
        return self.norm2(x + self.feed_forward(x))


@wrong("blocks.EncoderLayer", "x + norm(f(x)) in post: the norm is inside the sum")
class EncoderLayer7(Layer):
    def forward(self, x, mask=None):
        if self.norm == "pre":
            y = self.norm1(x)
            x = x + self.self_attention(y, y, y, mask)
            return x + self.feed_forward(self.norm2(x))
        x = x + self.norm1(self.self_attention(x, x, x, mask))
        return x + self.norm2(self.feed_forward(x))


@wrong("blocks.EncoderLayer", "attended and fed from the same x: the sublayers stand side by side")
class EncoderLayer8(Layer):
    def forward(self, x, mask=None):
        if self.norm == "pre":
            y = self.norm1(x)
            return x + self.self_attention(y, y, y, mask) + self.feed_forward(self.norm2(x))
        attended = self.norm1(x + self.self_attention(x, x, x, mask))
        return self.norm2(attended + self.feed_forward(x))


@wrong("blocks.EncoderLayer", "feed_forward comes before self_attention")
class EncoderLayer9(Layer):
    def forward(self, x, mask=None):
        if self.norm == "pre":
            x = x + self.feed_forward(self.norm2(x))
            y = self.norm1(x)
            return x + self.self_attention(y, y, y, mask)
        x = self.norm2(x + self.feed_forward(x))
        return self.norm1(x + self.self_attention(x, x, x, mask))


@wrong("blocks.EncoderLayer", "return in the branch of pre only: post gives None")
class EncoderLayer10(Layer):
    def forward(self, x, mask=None):
        if self.norm == "pre":
            y = self.norm1(x)
            x = x + self.self_attention(y, y, y, mask)
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.self_attention(x, x, x, mask))
        x = self.norm2(x + self.feed_forward(x))
        return None
