"""Wrong answers to the tasks of blocks, as beginners write them."""

import torch
from torch import nn

from tests.checks.material.unseen import wrong
from transformer_ref import layers as reference
from transformer_ref.attention import MultiHeadAttention

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


# blocks.lookup_network


def _network(first, bias, second):
    """Give a network these weights; the bias of the second layer is zero."""
    network = reference.FeedForward(second.shape[0], first.shape[0])
    with torch.no_grad():
        network.linear1.weight.copy_(first)
        network.linear1.bias.copy_(bias)
        network.linear2.weight.copy_(second)
        network.linear2.bias.zero_()
    return network


@wrong("blocks.lookup_network", "the bias is -D: reached, but not passed", "threshold-too-high")
def _(keys, values):
    return _network(keys, torch.tensor(-float(keys.shape[1])), values.T)


@wrong("blocks.lookup_network", "no bias", "threshold-too-low")
def _(keys, values):
    return _network(keys, torch.zeros(len(keys)), values.T)


@wrong("blocks.lookup_network", "the majority decides", "threshold-too-low")
def _(keys, values):
    return _network(keys, torch.tensor(-keys.shape[1] / 2), values.T)


@wrong("blocks.lookup_network", "the bias of the example, for any D", "threshold-too-low")
def _(keys, values):
    return _network(keys, torch.tensor(-1.0), values.T)


@wrong("blocks.lookup_network", "N for D in the bias", "keys-for-features")
def _(keys, values):
    return _network(keys, torch.tensor(1.0 - len(keys)), values.T)


@wrong("blocks.lookup_network", "2 - D, and a match is 2", "not-one-for-a-match")
def _(keys, values):
    return _network(keys, torch.tensor(2.0 - keys.shape[1]), values.T)


@wrong("blocks.lookup_network", "the values as rows", "transposed")
def _(keys, values):
    network = _network(keys, torch.tensor(1.0 - keys.shape[1]), values.T)
    network.linear2.weight = nn.Parameter(values.clone())
    return network


@wrong("blocks.lookup_network", "minus the sum of the key, plus 1", "threshold-from-the-key")
def _(keys, values):
    return _network(keys, 1 - keys.sum(dim=1), values.T)


@wrong("blocks.lookup_network", "in the loop all rows are set to the key", "all-units-the-same")
def _(keys, values):
    network = _network(keys, torch.tensor(1.0 - keys.shape[1]), values.T)
    for i, key in enumerate(keys):
        network.linear1.weight.data[:] = key
        network.linear2.weight.data[:, i] = values[i]
    return network


@wrong("blocks.lookup_network", "keys of length 1, threshold just below 1", "not-one-for-a-match")
def _(keys, values):
    unit = keys / keys.norm(dim=1, keepdim=True)
    return _network(unit, 1 / keys.shape[1] - keys.norm(dim=1), values.T)


# blocks.count_multiplications


def _total(d, f, n, v, s, t, *, encoder=0, decoder=0, once=0):
    """Give the right count, and more of it in each layer or once."""
    encoder += 4 * s * d * d + 2 * s * s * d + 2 * s * d * f
    decoder += (6 * t + 2 * s) * d * d + 2 * t * (t + s) * d + 2 * t * d * f
    return n * (encoder + decoder) + t * d * v + once


@wrong("blocks.count_multiplications", "no output layer", "no-output-layer")
def _(d, f, n, v, s, t):
    return _total(d, f, n, v, s, t, once=-t * d * v)


@wrong(
    "blocks.count_multiplications",
    "cross-attention: four projections of T tokens",
    "memory-projected-for-the-target",
)
def _(d, f, n, v, s, t):
    return _total(d, f, n, v, s, t, decoder=2 * (t - s) * d * d)


@wrong("blocks.count_multiplications", "half of the pairs under the mask", "causal-pairs-only")
def _(d, f, n, v, s, t):
    return _total(d, f, n, v, s, t, decoder=-t * t * d)


@wrong("blocks.count_multiplications", "the scores, not the values", "one-product-of-attention")
def _(d, f, n, v, s, t):
    return _total(d, f, n, v, s, t, encoder=-s * s * d, decoder=-t * (t + s) * d)


@wrong(
    "blocks.count_multiplications",
    "keys and values of the memory made once for all layers",
    "memory-projected-once",
)
def _(d, f, n, v, s, t):
    return _total(d, f, n, v, s, t, decoder=-2 * s * d * d, once=2 * s * d * d)


@wrong(
    "blocks.count_multiplications",
    "one matrix in the feed-forward network",
    "one-matrix-in-the-feed-forward-network",
)
def _(d, f, n, v, s, t):
    return _total(d, f, n, v, s, t, encoder=-s * d * f, decoder=-t * d * f)


@wrong("blocks.count_multiplications", "one decoder layer", "one-stack-only")
def _(d, f, n, v, s, t):
    one = _total(d, f, 1, v, s, t) - t * d * v
    encoder = 4 * s * d * d + 2 * s * s * d + 2 * s * d * f
    return one + (n - 1) * encoder + t * d * v


@wrong("blocks.count_multiplications", "with all additions", "additions-too")
def _(d, f, n, v, s, t):
    return 2 * _total(d, f, n, v, s, t)


@wrong(
    "blocks.count_multiplications", "an output for the source too", "output-layer-for-other-tokens"
)
def _(d, f, n, v, s, t):
    return _total(d, f, n, v, s, t, once=s * d * v)


@wrong("blocks.count_multiplications", "the scaling of the scores", "scaling-counted")
def _(d, f, n, v, s, t):
    return _total(d, f, n, v, s, t, encoder=s * s, decoder=t * t + t * s)


@wrong("blocks.count_multiplications", "the future is read with the source: S + T keys")
def _(d, f, n, v, s, t):
    return _total(d, f, n, v, s, t, decoder=2 * t * (s + t) * d - 2 * t * s * d)
