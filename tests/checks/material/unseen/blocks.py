"""Wrong answers to the tasks of blocks, as beginners write them."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.checks.material.unseen import wrong
from transformer_ref import layers as reference
from transformer_ref.attention import MultiHeadAttention

# blocks.count_parameters


def _pieces(d, f):
    """Give the parameters of an attention, a feed-forward network and a norm."""
    return 4 * (d * d + d), 2 * d * f + d + f, 2 * d


@wrong("blocks.count_parameters", "no biases in the attention", "no-biases-in-attention")
def _(d_model, d_ff, num_layers, vocab_size):
    _, ffn, norm = _pieces(d_model, d_ff)
    attention = 4 * d_model * d_model
    return num_layers * (3 * attention + 2 * ffn + 5 * norm) + vocab_size * d_model


@wrong("blocks.count_parameters", "no biases at all", "no-biases")
def _(d_model, d_ff, num_layers, vocab_size):
    attention, ffn, norm = 4 * d_model**2, 2 * d_model * d_ff, 2 * d_model
    return num_layers * (3 * attention + 2 * ffn + 5 * norm) + vocab_size * d_model


@wrong("blocks.count_parameters", "two embedding matrices", "embedding-counted-again")
def _(d_model, d_ff, num_layers, vocab_size):
    attention, ffn, norm = _pieces(d_model, d_ff)
    return num_layers * (3 * attention + 2 * ffn + 5 * norm) + 2 * vocab_size * d_model


@wrong(
    "blocks.count_parameters", "three matrices: source, target, output", "embedding-counted-again"
)
def _(d_model, d_ff, num_layers, vocab_size):
    attention, ffn, norm = _pieces(d_model, d_ff)
    return num_layers * (3 * attention + 2 * ffn + 5 * norm) + 3 * vocab_size * d_model


@wrong("blocks.count_parameters", "the decoder has one attention", "no-cross-attention")
def _(d_model, d_ff, num_layers, vocab_size):
    attention, ffn, norm = _pieces(d_model, d_ff)
    return 2 * num_layers * (attention + ffn + 2 * norm) + vocab_size * d_model


@wrong("blocks.count_parameters", "a norm has D parameters", "parameters-of-a-norm")
def _(d_model, d_ff, num_layers, vocab_size):
    attention, ffn, _ = _pieces(d_model, d_ff)
    return num_layers * (3 * attention + 2 * ffn + 5 * d_model) + vocab_size * d_model


@wrong("blocks.count_parameters", "no norms", "parameters-of-a-norm")
def _(d_model, d_ff, num_layers, vocab_size):
    attention, ffn, _ = _pieces(d_model, d_ff)
    return num_layers * (3 * attention + 2 * ffn) + vocab_size * d_model


@wrong(
    "blocks.count_parameters",
    "three projections: the output projection is missing",
    "no-output-projection",
)
def _(d_model, d_ff, num_layers, vocab_size):
    _, ffn, norm = _pieces(d_model, d_ff)
    attention = 3 * (d_model * d_model + d_model)
    return num_layers * (3 * attention + 2 * ffn + 5 * norm) + vocab_size * d_model


@wrong("blocks.count_parameters", "norms after the stacks are counted", "norms-after-the-stacks")
def _(d_model, d_ff, num_layers, vocab_size):
    attention, ffn, norm = _pieces(d_model, d_ff)
    return num_layers * (3 * attention + 2 * ffn + 5 * norm) + 2 * norm + vocab_size * d_model


@wrong("blocks.count_parameters", "an output bias", "output-bias")
def _(d_model, d_ff, num_layers, vocab_size):
    attention, ffn, norm = _pieces(d_model, d_ff)
    layers = num_layers * (3 * attention + 2 * ffn + 5 * norm)
    return layers + vocab_size * d_model + vocab_size


@wrong(
    "blocks.count_parameters",
    "the biases of the feed-forward network are both d_ff",
    "biases-of-the-feed-forward-network",
)
def _(d_model, d_ff, num_layers, vocab_size):
    attention, _, norm = _pieces(d_model, d_ff)
    ffn = 2 * (d_model * d_ff + d_ff)
    return num_layers * (3 * attention + 2 * ffn + 5 * norm) + vocab_size * d_model


@wrong("blocks.count_parameters", "one layer of each kind: num_layers is not used", "one-layer")
def _(d_model, d_ff, num_layers, vocab_size):
    attention, ffn, norm = _pieces(d_model, d_ff)
    return 3 * attention + 2 * ffn + 5 * norm + vocab_size * d_model


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


@wrong("blocks.layer_norm", "divided by the variance", "divided-by-the-variance")
def _(x, weight, bias, eps):
    var = x.var(-1, keepdim=True, correction=0)
    return (x - x.mean(-1, keepdim=True)) / (var + eps) * weight + bias


@wrong("blocks.layer_norm", "over the batch", "over-one-axis-of-tokens")
def _(x, weight, bias, eps):
    mean, var = x.mean(0, keepdim=True), x.var(0, keepdim=True, correction=0)
    return (x - mean) / torch.sqrt(var + eps) * weight + bias


@wrong("blocks.layer_norm", "weight and bias are not used", "neither-weight-nor-bias")
def _(x, weight, bias, eps):
    var = x.var(-1, keepdim=True, correction=0)
    return (x - x.mean(-1, keepdim=True)) / torch.sqrt(var + eps)


# blocks.FeedForward


class _Two(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)


@wrong("blocks.FeedForward", "no ReLU", "no-activation")
class _(_Two):
    def forward(self, x):
        return self.linear2(self.linear1(x))


@wrong("blocks.FeedForward", "a ReLU behind both", "activation-at-the-end")
class _(_Two):
    def forward(self, x):
        return F.relu(self.linear2(F.relu(self.linear1(x))))


@wrong("blocks.FeedForward", "GELU", "another-activation")
class _(_Two):
    def forward(self, x):
        return self.linear2(F.gelu(self.linear1(x)))


@wrong("blocks.FeedForward", "with the residual sum", "residual-included")
class _(_Two):
    def forward(self, x):
        return x + self.linear2(F.relu(self.linear1(x)))


@wrong("blocks.FeedForward", "other names", "wrong-names")
class _(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.fc1 = nn.Linear(d_model, d_ff)
        self.fc2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


# blocks.EncoderLayer


class _Encoder(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, norm="post"):
        super().__init__()
        self.norm = norm
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = reference.FeedForward(d_model, d_ff)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)


@wrong("blocks.EncoderLayer", "pre-norm keeps the normed x in the sum", "residual-from-the-norm")
class _(_Encoder):
    def forward(self, x, mask=None):
        if self.norm == "pre":
            x = self.norm1(x)
            x = x + self.self_attention(x, x, x, mask)
            x = self.norm2(x)
            return x + self.feed_forward(x)
        x = self.norm1(x + self.self_attention(x, x, x, mask))
        return self.norm2(x + self.feed_forward(x))


@wrong("blocks.EncoderLayer", "norm is ignored: always post", "always-post")
class _(_Encoder):
    def forward(self, x, mask=None):
        x = self.norm1(x + self.self_attention(x, x, x, mask))
        return self.norm2(x + self.feed_forward(x))


@wrong("blocks.EncoderLayer", "the mask is not handed on", "mask-ignored")
class _(_Encoder):
    def forward(self, x, mask=None):
        if self.norm == "pre":
            y = self.norm1(x)
            x = x + self.self_attention(y, y, y)
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.self_attention(x, x, x))
        return self.norm2(x + self.feed_forward(x))


@wrong("blocks.EncoderLayer", "no residual sums", "no-residual")
class _(_Encoder):
    def forward(self, x, mask=None):
        if self.norm == "pre":
            y = self.norm1(x)
            return self.feed_forward(self.norm2(self.self_attention(y, y, y, mask)))
        return self.norm2(self.feed_forward(self.norm1(self.self_attention(x, x, x, mask))))


@wrong("blocks.EncoderLayer", "in pre-norm only the query is normed", "only-the-query-is-normed")
class _(_Encoder):
    def forward(self, x, mask=None):
        if self.norm == "pre":
            x = x + self.self_attention(self.norm1(x), x, x, mask)
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.self_attention(x, x, x, mask))
        return self.norm2(x + self.feed_forward(x))


# blocks.DecoderLayer


class _Decoder(_Encoder):
    def __init__(self, d_model, num_heads, d_ff, norm="post"):
        super().__init__(d_model, num_heads, d_ff, norm)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.norm3 = nn.LayerNorm(d_model)


@wrong("blocks.DecoderLayer", "the memory is normed in pre-norm", "memory-normed")
class _(_Decoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        if self.norm == "pre":
            y = self.norm1(x)
            x = x + self.self_attention(y, y, y, tgt_mask)
            m = self.norm2(memory)
            x = x + self.cross_attention(self.norm2(x), m, m, memory_mask)
            return x + self.feed_forward(self.norm3(x))
        x = self.norm1(x + self.self_attention(x, x, x, tgt_mask))
        x = self.norm2(x + self.cross_attention(x, memory, memory, memory_mask))
        return self.norm3(x + self.feed_forward(x))


@wrong("blocks.DecoderLayer", "keys from the memory, values from x", "sources-mixed")
class _(_Decoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        n1, n2, n3 = (
            (self.norm1, self.norm2, self.norm3)
            if self.norm == "pre"
            else (nn.Identity(), nn.Identity(), nn.Identity())
        )
        p1, p2, p3 = (
            (nn.Identity(), nn.Identity(), nn.Identity())
            if self.norm == "pre"
            else (self.norm1, self.norm2, self.norm3)
        )
        y = n1(x)
        x = p1(x + self.self_attention(y, y, y, tgt_mask))
        y = n2(x)
        x = p2(x + self.cross_attention(y, memory, y, memory_mask))
        return p3(x + self.feed_forward(n3(x)))


@wrong("blocks.DecoderLayer", "the memory mask is not handed on", "mask-ignored")
class _(_Decoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        if self.norm == "pre":
            y = self.norm1(x)
            x = x + self.self_attention(y, y, y, tgt_mask)
            x = x + self.cross_attention(self.norm2(x), memory, memory)
            return x + self.feed_forward(self.norm3(x))
        x = self.norm1(x + self.self_attention(x, x, x, tgt_mask))
        x = self.norm2(x + self.cross_attention(x, memory, memory))
        return self.norm3(x + self.feed_forward(x))


@wrong("blocks.DecoderLayer", "cross-attention first", "order-of-the-sublayers")
class _(_Decoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        if self.norm == "pre":
            x = x + self.cross_attention(self.norm2(x), memory, memory, memory_mask)
            y = self.norm1(x)
            x = x + self.self_attention(y, y, y, tgt_mask)
            return x + self.feed_forward(self.norm3(x))
        x = self.norm2(x + self.cross_attention(x, memory, memory, memory_mask))
        x = self.norm1(x + self.self_attention(x, x, x, tgt_mask))
        return self.norm3(x + self.feed_forward(x))


@wrong(
    "blocks.DecoderLayer", "cross-attention uses self_attention's module", "one-attention-for-both"
)
class _(_Decoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        if self.norm == "pre":
            y = self.norm1(x)
            x = x + self.self_attention(y, y, y, tgt_mask)
            x = x + self.self_attention(self.norm2(x), memory, memory, memory_mask)
            return x + self.feed_forward(self.norm3(x))
        x = self.norm1(x + self.self_attention(x, x, x, tgt_mask))
        x = self.norm2(x + self.self_attention(x, memory, memory, memory_mask))
        return self.norm3(x + self.feed_forward(x))


# blocks.find_the_bug


@wrong("blocks.find_the_bug", "over the tokens only", "over-one-axis-of-tokens")
def _(x, change, weight, bias, eps):
    total = x + change
    mean = total.mean(1, keepdim=True)
    variance = total.var(1, correction=0, keepdim=True)
    return (total - mean) / torch.sqrt(variance + eps) * weight + bias


@wrong("blocks.find_the_bug", "over all axes", "over-everything")
def _(x, change, weight, bias, eps):
    total = x + change
    return (total - total.mean()) / torch.sqrt(total.var(correction=0) + eps) * weight + bias


@wrong("blocks.find_the_bug", "only the mean is mended", "different-axes")
def _(x, change, weight, bias, eps):
    total = x + change
    mean = total.mean(-1, keepdim=True)
    variance = total.var((1, 2), correction=0, keepdim=True)
    return (total - mean) / torch.sqrt(variance + eps) * weight + bias


@wrong("blocks.find_the_bug", "the correction was lost", "unbiased-variance")
def _(x, change, weight, bias, eps):
    total = x + change
    mean = total.mean(-1, keepdim=True)
    variance = total.var(-1, keepdim=True)
    return (total - mean) / torch.sqrt(variance + eps) * weight + bias


@wrong("blocks.find_the_bug", "normed before the sum", "norm-inside-the-sum")
def _(x, change, weight, bias, eps):
    mean = change.mean(-1, keepdim=True)
    variance = change.var(-1, correction=0, keepdim=True)
    return x + (change - mean) / torch.sqrt(variance + eps) * weight + bias


# blocks.find_the_second_bug


class _Cross(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.norm = nn.LayerNorm(d_model)


@wrong("blocks.find_the_second_bug", "memory, x, x", "memory-as-query")
class _(_Cross):
    def forward(self, x, memory, memory_mask=None):
        return self.norm(x + self.cross_attention(memory, x, x, memory_mask))


@wrong("blocks.find_the_second_bug", "x, memory, x", "sources-mixed")
class _(_Cross):
    def forward(self, x, memory, memory_mask=None):
        return self.norm(x + self.cross_attention(x, memory, x, memory_mask))


@wrong("blocks.find_the_second_bug", "the mask was lost", "mask-ignored")
class _(_Cross):
    def forward(self, x, memory, memory_mask=None):
        return self.norm(x + self.cross_attention(x, memory, memory))


@wrong("blocks.find_the_second_bug", "the residual sum was lost", "no-residual")
class _(_Cross):
    def forward(self, x, memory, memory_mask=None):
        return self.norm(self.cross_attention(x, memory, memory, memory_mask))


@wrong("blocks.find_the_second_bug", "the memory is added", "memory-in-the-sum")
class _(_Cross):
    def forward(self, x, memory, memory_mask=None):
        found = self.cross_attention(x, memory, memory, memory_mask)
        return self.norm(memory + found)


# blocks.dead_units


@wrong(
    "blocks.dead_units", "all of linear1 is below 0, and 0 itself is not dead", "exactly-zero-fires"
)
def _(feed_forward, x):
    hidden = feed_forward.linear1(x)
    return (hidden < 0).all(0).all(0).nonzero().flatten().tolist()


@wrong("blocks.dead_units", "any for all: zero for one token is enough", "silent-for-some-token")
def _(feed_forward, x):
    hidden = feed_forward.linear1(x).relu()
    return [u for u in range(hidden.shape[-1]) if (hidden[..., u] == 0).any()]


@wrong("blocks.dead_units", "the first sequence only", "not-all-tokens")
def _(feed_forward, x):
    hidden = feed_forward.linear1(x[0]).relu()
    return (hidden == 0).all(0).nonzero().flatten().tolist()


@wrong("blocks.dead_units", "nonzero without flatten: lists of one number", relation="form")
def _(feed_forward, x):
    hidden = feed_forward.linear1(x).relu()
    return (hidden == 0).all(1).all(0).nonzero().tolist()


@wrong("blocks.dead_units", "the living ones", "alive-listed")
def _(feed_forward, x):
    hidden = feed_forward.linear1(x).relu()
    return (hidden > 0).flatten(0, 1).any(0).nonzero().flatten().tolist()


@wrong("blocks.dead_units", "the units of the output, after linear2", "numbers-of-the-output")
def _(feed_forward, x):
    out = feed_forward(x)
    return (out <= 0).flatten(0, 1).all(0).nonzero().flatten().tolist()
