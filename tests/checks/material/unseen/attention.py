"""Wrong answers to the tasks of attention, as beginners write them."""

import math

import torch
from torch import nn

from tests.checks.material.unseen import wrong
from transformer_ref import attention as reference


class Layers(nn.Module):
    """The four layers as they should be; the classes below go wrong in one place."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, x):
        """Give every head its features."""
        return reference.split_heads(x, self.num_heads)


@wrong("attention.MultiHeadAttention", "one head: never split", "single-head")
class _(Layers):
    def forward(self, query, key, value, mask=None):
        q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        if mask is not None:
            mask = mask[:, 0]
        out, _ = reference.scaled_dot_product_attention(q, k, v, mask)
        return self.out_proj(out)


def _heads(query, key, value, num_heads, mask, scale):
    q, k, v = (reference.split_heads(x, num_heads) for x in (query, key, value))
    scores = q @ k.transpose(-2, -1) / scale
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return reference.merge_heads(scores.softmax(-1) @ v)


@wrong("attention.find_the_bug", "the root of the number of keys", "scaled-by-length")
def _(query, key, value, num_heads, mask=None):
    return _heads(query, key, value, num_heads, mask, math.sqrt(key.shape[1]))


@wrong("attention.bracket_head", "as nn.Linear keeps them: (K, 3 + P)")
def _(pairs):
    w_q, w_k = torch.zeros(pairs + 2, 3 + pairs), torch.zeros(pairs + 2, 3 + pairs)
    w_q[:pairs, 3:], w_k[:pairs, 3:] = 1e6 * torch.eye(pairs), torch.eye(pairs)
    w_q[pairs:, :2] = 1.0
    w_k[pairs, 0], w_k[pairs + 1, 2] = 1e6, 1e3
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


@wrong(
    "attention.scaled_dot_product_attention",
    "/ math.sqrt(value.shape[-1]): the size of a value",
    None,
)
def scaled_dot_product_attention_5(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(value.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


@wrong("attention.split_heads", "d_model / num_heads: a float for a size; torch raises", None)
def split_heads_4(x, num_heads):
    batch, length, d_model = x.shape
    return x.reshape(batch, length, num_heads, d_model / num_heads).transpose(1, 2)


@wrong("attention.split_heads", "x[0]: the first sequence only", None)
def split_heads_9(x, num_heads):
    _, length, d_model = x.shape
    return x[0].reshape(1, length, num_heads, d_model // num_heads).transpose(1, 2)


@wrong("attention.split_heads", "permute(2, 0, 1, 3): heads first and then the batch", None)
def split_heads_10(x, num_heads):
    batch, length, d_model = x.shape
    split = x.view(batch, length, num_heads, -1).permute(2, 0, 1, 3)
    return split.reshape(batch, num_heads, length, d_model // num_heads)


@wrong("attention.MultiHeadAttention", "self.q_proj for the key too: k_proj is never used", None)
class MultiHeadAttention3(Layers):
    def forward(self, query, key, value, mask=None):
        query, key = self.split(self.q_proj(query)), self.split(self.q_proj(key))
        value = self.split(self.v_proj(value))
        heads, _ = reference.scaled_dot_product_attention(query, key, value, mask)
        return self.out_proj(heads.transpose(1, 2).flatten(2))


@wrong(
    "attention.MultiHeadAttention", "key.view(B, T, ...): the keys have the queries' length", None
)
class MultiHeadAttention8(Layers):
    def forward(self, query, key, value, mask=None):
        batch, length, d_model = query.shape
        shape = (batch, length, self.num_heads, d_model // self.num_heads)
        query = self.q_proj(query).view(shape).transpose(1, 2)
        key = self.k_proj(key).view(shape).transpose(1, 2)
        value = self.v_proj(value).view(shape).transpose(1, 2)
        heads, _ = reference.scaled_dot_product_attention(query, key, value, mask)
        return self.out_proj(heads.transpose(1, 2).reshape(batch, length, d_model))


@wrong("attention.MultiHeadAttention", "no split: one head over all D features", None)
class MultiHeadAttention10(Layers):
    def forward(self, query, key, value, mask=None):
        query, key, value = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        if mask is not None and mask.ndim == 4:
            mask = mask[:, 0]
        output, _ = reference.scaled_dot_product_attention(query, key, value, mask)
        return self.out_proj(output)
