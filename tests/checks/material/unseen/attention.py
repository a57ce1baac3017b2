"""Wrong answers to the tasks of attention, as beginners write them."""

import math

import torch
from torch import nn

from tests.checks.material.unseen import wrong
from transformer_ref import attention as reference

# attention.attention_scores


@wrong("attention.attention_scores", "no root", "scaled-by-k")
def _(query, key):
    return query @ key.transpose(-2, -1) / query.shape[-1]


@wrong("attention.attention_scores", "not scaled", "no-scale")
def _(query, key):
    return query @ key.transpose(-2, -1)


@wrong("attention.attention_scores", "multiplied by the root", "multiplied-by-root-k")
def _(query, key):
    return query @ key.transpose(-2, -1) * math.sqrt(query.shape[-1])


@wrong("attention.attention_scores", "the root of the number of keys", "scaled-by-length")
def _(query, key):
    return query @ key.transpose(-2, -1) / math.sqrt(key.shape[-2])


@wrong("attention.attention_scores", "softmax already", "softmax-included")
def _(query, key):
    return (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).softmax(-1)


# attention.scaled_dot_product_attention


@wrong("attention.scaled_dot_product_attention", "softmax over the queries", "softmax-over-queries")
def _(query, key, value, mask=None):
    scores = reference.attention_scores(query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    w = scores.softmax(-2)
    return w @ value, w


@wrong("attention.scaled_dot_product_attention", "True is hidden", "mask-inverted")
def _(query, key, value, mask=None):
    scores = reference.attention_scores(query, key)
    if mask is not None:
        scores = scores.masked_fill(mask, -1e9)
    w = scores.softmax(-1)
    return w @ value, w


@wrong("attention.scaled_dot_product_attention", "(weights, output)", "order-of-results")
def _(query, key, value, mask=None):
    scores = reference.attention_scores(query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    w = scores.softmax(-1)
    return w, w @ value


@wrong("attention.scaled_dot_product_attention", "masked after the softmax", "mask-after-softmax")
def _(query, key, value, mask=None):
    w = reference.attention_scores(query, key).softmax(-1)
    if mask is not None:
        w = w * mask
    return w @ value, w


@wrong("attention.scaled_dot_product_attention", "the mask is not used", "mask-ignored")
def _(query, key, value, mask=None):
    w = reference.attention_scores(query, key).softmax(-1)
    return w @ value, w


# attention.split_heads


@wrong("attention.split_heads", "a single view", "cut-across-time")
def _(x, num_heads):
    b, t, d = x.shape
    return x.reshape(b, num_heads, t, d // num_heads)


@wrong("attention.split_heads", "no transpose: (B, T, H, K)", "no-transpose")
def _(x, num_heads):
    b, t, d = x.shape
    return x.reshape(b, t, num_heads, d // num_heads)


@wrong("attention.split_heads", "K and H swapped: strided features", "interleaved")
def _(x, num_heads):
    b, t, d = x.shape
    return x.reshape(b, t, d // num_heads, num_heads).permute(0, 3, 1, 2)


@wrong("attention.split_heads", "H in front of B", "heads-first")
def _(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=-1), dim=0)


@wrong("attention.split_heads", "the tokens are cut", "tokens-cut")
def _(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=1), dim=1)


# attention.MultiHeadAttention


class _Four(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, query, key, value):
        return (
            reference.split_heads(self.q_proj(query), self.num_heads),
            reference.split_heads(self.k_proj(key), self.num_heads),
            reference.split_heads(self.v_proj(value), self.num_heads),
        )


@wrong(
    "attention.MultiHeadAttention",
    "self-attention only: key and value are ignored",
    "self-attention-only",
)
class _(_Four):
    def forward(self, query, key, value, mask=None):
        q, k, v = self.split(query, query, query)
        out, _ = reference.scaled_dot_product_attention(q, k, v, mask)
        return self.out_proj(out.transpose(1, 2).flatten(2))


@wrong("attention.MultiHeadAttention", "no out_proj in forward", "no-out-proj")
class _(_Four):
    def forward(self, query, key, value, mask=None):
        out, _ = reference.scaled_dot_product_attention(*self.split(query, key, value), mask)
        return out.transpose(1, 2).flatten(2)


@wrong("attention.MultiHeadAttention", "one head: never split", "single-head")
class _(_Four):
    def forward(self, query, key, value, mask=None):
        q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        if mask is not None:
            mask = mask[:, 0]
        out, _ = reference.scaled_dot_product_attention(q, k, v, mask)
        return self.out_proj(out)


@wrong("attention.MultiHeadAttention", "the mask is not handed on", "mask-ignored")
class _(_Four):
    def forward(self, query, key, value, mask=None):
        out, _ = reference.scaled_dot_product_attention(*self.split(query, key, value))
        return self.out_proj(out.transpose(1, 2).flatten(2))


@wrong("attention.MultiHeadAttention", "values are made of the keys", "value-from-key")
class _(_Four):
    def forward(self, query, key, value, mask=None):
        out, _ = reference.scaled_dot_product_attention(*self.split(query, key, key), mask)
        return self.out_proj(out.transpose(1, 2).flatten(2))


# attention.find_the_bug


def _heads(query, key, value, num_heads, mask, scale):
    q, k, v = (reference.split_heads(x, num_heads) for x in (query, key, value))
    scores = q @ k.transpose(-2, -1) / scale
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return reference.merge_heads(scores.softmax(-1) @ v)


@wrong("attention.find_the_bug", "the root of d_model", "scaled-by-d-model")
def _(query, key, value, num_heads, mask=None):
    return _heads(query, key, value, num_heads, mask, math.sqrt(query.shape[-1]))


@wrong("attention.find_the_bug", "the head size without a root", "scaled-by-k")
def _(query, key, value, num_heads, mask=None):
    return _heads(query, key, value, num_heads, mask, query.shape[-1] // num_heads)


@wrong("attention.find_the_bug", "the root of the number of keys", "scaled-by-length")
def _(query, key, value, num_heads, mask=None):
    return _heads(query, key, value, num_heads, mask, math.sqrt(key.shape[1]))


@wrong(
    "attention.find_the_bug",
    "softmax over the queries, after mending the scale",
    "softmax-over-queries",
)
def _(query, key, value, num_heads, mask=None):
    q, k, v = (reference.split_heads(x, num_heads) for x in (query, key, value))
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return reference.merge_heads(scores.softmax(-2) @ v)


@wrong("attention.find_the_bug", "a merge without transpose", "merge-without-transpose")
def _(query, key, value, num_heads, mask=None):
    q, k, v = (reference.split_heads(x, num_heads) for x in (query, key, value))
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return (scores.softmax(-1) @ v).reshape(query.shape)


# attention.redundant_heads


def _silenced(module, x, heads):
    """Return what comes out without some heads."""
    b, t, d = x.shape
    h = module.num_heads
    q, k, v = (
        p(x).view(b, t, h, d // h).transpose(1, 2)
        for p in (module.q_proj, module.k_proj, module.v_proj)
    )
    w = (q @ k.mT / (d // h) ** 0.5).softmax(-1)
    y = w @ v
    for head in heads:
        y[:, head] = 0
    return module.out_proj(y.transpose(1, 2).reshape(b, t, d))


def _damage(module, x, heads):
    """Return the mean square of the change without some heads."""
    with torch.no_grad():
        return (_silenced(module, x, heads) - _silenced(module, x, [])).square().mean().item()


@wrong("attention.redundant_heads", "the two heads with the least damage alone", "least-alone")
def _(module, x):
    alone = [_damage(module, x, [h]) for h in range(module.num_heads)]
    return sorted(sorted(range(len(alone)), key=alone.__getitem__)[:2])


@wrong("attention.redundant_heads", "max in the place of min", "most-damage")
def _(module, x):
    n = module.num_heads
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n)]
    return list(max(pairs, key=lambda pair: _damage(module, x, pair)))


@wrong("attention.redundant_heads", "a may be b: one head twice", "one-head-twice")
def _(module, x):
    n = module.num_heads
    pairs = [(a, b) for a in range(n) for b in range(n)]
    return list(min(pairs, key=lambda pair: _damage(module, x, pair)))


@wrong("attention.redundant_heads", "neighbouring heads only", "neighbours-only")
def _(module, x):
    pairs = [(a, a + 1) for a in range(module.num_heads - 1)]
    return list(min(pairs, key=lambda pair: _damage(module, x, pair)))


# attention.bracket_head


@wrong("attention.bracket_head", "one matrix for both, all features alike", "looks-at-itself")
def _(pairs):
    w = 100.0 * torch.eye(3 + pairs)
    return w, w


@wrong("attention.bracket_head", "the depth alone, one-hot against one-hot", "all-of-this-depth")
def _(pairs):
    w = torch.zeros(3 + pairs, pairs)
    w[3:] = 100.0 * torch.eye(pairs)
    return w, w.clone()


@wrong(
    "attention.bracket_head",
    "a feature for an opening bracket, none for the position",
    "order-not-used",
)
def _(pairs):
    w_q, w_k = torch.zeros(3 + pairs, pairs + 1), torch.zeros(3 + pairs, pairs + 1)
    for depth in range(pairs):
        w_q[3 + depth, depth] = w_k[3 + depth, depth] = 200.0
    w_q[0, pairs] = w_q[1, pairs] = w_k[0, pairs] = 200.0
    return w_q, w_k


@wrong(
    "attention.bracket_head",
    "nearer is smaller, so the position counts against a key",
    "earliest-first",
)
def _(pairs):
    w_q, w_k = torch.zeros(3 + pairs, pairs + 2), torch.zeros(3 + pairs, pairs + 2)
    w_q[3:, :pairs] = w_k[3:, :pairs] = 1000 * torch.eye(pairs)
    w_q[:2, pairs:] = 1000.0
    w_k[0, pairs] = 1000.0
    w_k[2, pairs + 1] = -1.0
    return w_q, w_k


@wrong(
    "attention.bracket_head",
    "numbers for short texts: 100, 100 and 10 for each position",
    "order-outvotes-depth",
)
def _(pairs):
    w_q, w_k = torch.zeros(3 + pairs, pairs + 2), torch.zeros(3 + pairs, pairs + 2)
    w_q[3:, :pairs], w_k[3:, :pairs] = 100 * torch.eye(pairs), torch.eye(pairs)
    w_q[:2, pairs:] = 1.0
    w_k[0, pairs], w_k[2, pairs + 1] = 100.0, 10.0
    return w_q, w_k


@wrong("attention.bracket_head", "ones: the right idea and far too small", "weight-is-spread")
def _(pairs):
    w_q, w_k = torch.zeros(3 + pairs, pairs + 2), torch.zeros(3 + pairs, pairs + 2)
    w_q[3:, :pairs] = w_k[3:, :pairs] = torch.eye(pairs)
    w_q[:2, pairs:] = 1.0
    w_k[0, pairs], w_k[2, pairs + 1] = 1.0, 0.1
    return w_q, w_k


@wrong("attention.bracket_head", "the values too: three matrices", "not-a-pair")
def _(pairs):
    w = torch.eye(3 + pairs)
    return 1e6 * w, w, w


@wrong("attention.bracket_head", "as nn.Linear keeps them: (K, 3 + P)")
def _(pairs):
    w_q, w_k = torch.zeros(pairs + 2, 3 + pairs), torch.zeros(pairs + 2, 3 + pairs)
    w_q[:pairs, 3:], w_k[:pairs, 3:] = 1e6 * torch.eye(pairs), torch.eye(pairs)
    w_q[pairs:, :2] = 1.0
    w_k[pairs, 0], w_k[pairs + 1, 2] = 1e6, 1e3
    return w_q, w_k


@wrong(
    "attention.bracket_head",
    "only a closing bracket asks for an opening one",
    "opening-asks-nothing",
)
def _(pairs):
    w_q, w_k = torch.zeros(3 + pairs, pairs + 2), torch.zeros(3 + pairs, pairs + 2)
    w_q[3:, :pairs], w_k[3:, :pairs] = 1e6 * torch.eye(pairs), torch.eye(pairs)
    w_q[1, pairs:] = 1.0
    w_k[0, pairs], w_k[2, pairs + 1] = 1e6, 1e3
    return w_q, w_k


@wrong("attention.bracket_head", "minus infinity where the depths differ", "not-finite")
def _(pairs):
    w_q, w_k = torch.zeros(3 + pairs, pairs + 2), torch.zeros(3 + pairs, pairs + 2)
    w_q[3:, :pairs] = torch.eye(pairs)
    w_k[3:, :pairs] = torch.full((pairs, pairs), -math.inf).fill_diagonal_(0.0)
    w_q[:2, pairs:] = 1.0
    w_k[0, pairs], w_k[2, pairs + 1] = 1e6, 1e3
    return w_q, w_k


@wrong("attention.bracket_head", "a row for each place of the text in the place of its number")
def _(pairs):
    w_q, w_k = torch.zeros(2 + 3 * pairs, pairs + 1), torch.zeros(2 + 3 * pairs, pairs + 1)
    w_q[2 + 2 * pairs :, :pairs], w_k[2 + 2 * pairs :, :pairs] = (
        1e6 * torch.eye(pairs),
        torch.eye(pairs),
    )
    w_q[:2, pairs], w_k[0, pairs] = 1.0, 1e6
    w_k[2 : 2 + 2 * pairs, pairs] = 1e3 * torch.arange(2 * pairs)
    return w_q, w_k


@wrong("attention.bracket_head", "the position of the query, so that it looks back from there")
def _(pairs):
    w_q, w_k = torch.zeros(3 + pairs, pairs + 2), torch.zeros(3 + pairs, pairs + 2)
    w_q[3:, :pairs], w_k[3:, :pairs] = 1e6 * torch.eye(pairs), torch.eye(pairs)
    w_q[2, pairs + 1], w_k[2, pairs + 1] = 100.0, 100.0
    w_q[:2, pairs], w_k[0, pairs] = 1.0, 1e6
    return w_q, w_k
