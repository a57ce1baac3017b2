"""Wrong answers to the tasks on attention."""

import math

from torch import nn

from tests.checks.material.unlisted import wrong
from transformer_ref import attention as reference


@wrong(
    "attention.scaled_dot_product_attention", "/ math.sqrt(value.shape[-1]): the size of a value"
)
def scaled_dot_product_attention_5(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(value.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


@wrong("attention.split_heads", "d_model / num_heads: a float for a size; torch raises")
def split_heads_4(x, num_heads):
    batch, length, d_model = x.shape
    return x.reshape(batch, length, num_heads, d_model / num_heads).transpose(1, 2)


@wrong("attention.split_heads", "x[0]: the first sequence only")
def split_heads_9(x, num_heads):
    _, length, d_model = x.shape
    return x[0].reshape(1, length, num_heads, d_model // num_heads).transpose(1, 2)


@wrong("attention.split_heads", "permute(2, 0, 1, 3): heads first and then the batch")
def split_heads_10(x, num_heads):
    batch, length, d_model = x.shape
    split = x.view(batch, length, num_heads, -1).permute(2, 0, 1, 3)
    return split.reshape(batch, num_heads, length, d_model // num_heads)


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


@wrong("attention.MultiHeadAttention", "self.q_proj for the key too: k_proj is never used")
class MultiHeadAttention3(Layers):
    def forward(self, query, key, value, mask=None):
        query, key = self.split(self.q_proj(query)), self.split(self.q_proj(key))
        value = self.split(self.v_proj(value))
        heads, _ = reference.scaled_dot_product_attention(query, key, value, mask)
        return self.out_proj(heads.transpose(1, 2).flatten(2))


@wrong("attention.MultiHeadAttention", "key.view(B, T, ...): the keys have the queries' length")
class MultiHeadAttention8(Layers):
    def forward(self, query, key, value, mask=None):
        batch, length, d_model = query.shape
        shape = (batch, length, self.num_heads, d_model // self.num_heads)
        query = self.q_proj(query).view(shape).transpose(1, 2)
        key = self.k_proj(key).view(shape).transpose(1, 2)
        value = self.v_proj(value).view(shape).transpose(1, 2)
        heads, _ = reference.scaled_dot_product_attention(query, key, value, mask)
        return self.out_proj(heads.transpose(1, 2).reshape(batch, length, d_model))


@wrong("attention.MultiHeadAttention", "no split: one head over all D features")
class MultiHeadAttention10(Layers):
    def forward(self, query, key, value, mask=None):
        query, key, value = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        if mask is not None and mask.ndim == 4:
            mask = mask[:, 0]
        output, _ = reference.scaled_dot_product_attention(query, key, value, mask)
        return self.out_proj(output)
