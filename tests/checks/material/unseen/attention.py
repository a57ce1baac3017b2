"""Wrong answers to the tasks of attention, as beginners write them."""

import math

import torch
from torch import nn

from tests.checks.material.unseen import wrong
from transformer_ref import attention as reference

# attention.attention_scores


# attention.scaled_dot_product_attention


# attention.split_heads


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


@wrong("attention.MultiHeadAttention", "one head: never split", "single-head")
class _(_Four):
    def forward(self, query, key, value, mask=None):
        q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        if mask is not None:
            mask = mask[:, 0]
        out, _ = reference.scaled_dot_product_attention(q, k, v, mask)
        return self.out_proj(out)


# attention.find_the_bug


def _heads(query, key, value, num_heads, mask, scale):
    q, k, v = (reference.split_heads(x, num_heads) for x in (query, key, value))
    scores = q @ k.transpose(-2, -1) / scale
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return reference.merge_heads(scores.softmax(-1) @ v)


@wrong("attention.find_the_bug", "the root of the number of keys", "scaled-by-length")
def _(query, key, value, num_heads, mask=None):
    return _heads(query, key, value, num_heads, mask, math.sqrt(key.shape[1]))


# attention.redundant_heads


# attention.bracket_head


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
