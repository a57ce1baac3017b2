"""The answers to the tasks of the assignment "attention": the text of the solution's cells.

A mistake is a change to one of them.
"""

from __future__ import annotations

import math
from itertools import combinations

import torch
from torch import Tensor, nn

from transformer_ref import attention as reference


def attention_scores(query: Tensor, key: Tensor) -> Tensor:
    """Compare every query with every key.

    Args:
        query: (..., T, K), floating point, with any number of leading axes.
        key: (..., S, K), with the same leading axes and dtype.

    Returns:
        (..., T, S): the dot product of query t and key s, divided by
        sqrt(K).
    """
    return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Average the values with the weights that the query gives the keys.

    Args:
        query: (..., T, K), floating point, with any number of leading axes.
        key: (..., S, K).
        value: (..., S, K_v); K_v need not be K.
        mask: bool, broadcasts to (..., T, S); True means "may attend",
            None that all may be seen.

    Returns:
        The output (..., T, K_v), and the weights (..., T, S), whose rows
        sum to one.
    """
    scores = reference.attention_scores(query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """Give every head its own slice of each token.

    Args:
        x: (B, T, D).
        num_heads: H, a divisor of D.

    Returns:
        (B, H, T, K) with K = D / H; head h holds the features h*K to
        (h+1)*K - 1.
    """
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


class MultiHeadAttention(nn.Module):
    """H attentions side by side, each in its own K = D / H dimensions.

    Args:
        d_model: D.
        num_heads: H, a divisor of D.

    The layers `q_proj`, `k_proj`, `v_proj` and `out_proj` map D to D and
    have biases.
    """

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Let every token of `query` look at `key` and take from `value`.

        Args:
            query: (B, T, D).
            key: (B, S, D).
            value: (B, S, D).
            mask: bool, broadcasts to (B, H, T, S); True means "may attend".

        Returns:
            (B, T, D).
        """
        q = reference.split_heads(self.q_proj(query), self.num_heads)
        k = reference.split_heads(self.k_proj(key), self.num_heads)
        v = reference.split_heads(self.v_proj(value), self.num_heads)
        heads, _ = reference.scaled_dot_product_attention(q, k, v, mask)
        return self.out_proj(heads.transpose(1, 2).flatten(start_dim=2))


def multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    num_heads: int,
    mask: Tensor | None = None,
) -> Tensor:
    """Attend in `num_heads` heads at once, as above and without the bug.

    Args:
        query: (B, T, D), floating point, already projected.
        key: (B, S, D), already projected.
        value: (B, S, D), already projected.
        num_heads: H, a divisor of D; each head has K = D / H features.
        mask: bool, broadcasts to (B, H, T, S); True means "may attend",
            None that all may be seen.

    Returns:
        (B, T, D): the outputs of the heads side by side, no output layer.
    """
    batch, queries, d_model = query.shape
    keys = key.shape[1]
    head_size = d_model // num_heads
    query = query.reshape(batch, queries, num_heads, head_size).transpose(1, 2)
    key = key.reshape(batch, keys, num_heads, head_size).transpose(1, 2)
    value = value.reshape(batch, keys, num_heads, head_size).transpose(1, 2)
    scale = math.sqrt(head_size)  # the size of what is multiplied
    scores = query @ key.transpose(-2, -1) / scale
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    heads = torch.softmax(scores, dim=-1) @ value
    return heads.transpose(1, 2).reshape(batch, queries, d_model)


def damage_by_head(
    module: reference.MultiHeadAttention,
    x: Tensor,
) -> Tensor:
    """Measure how much the output changes when one head alone is silenced.

    Args:
        module: in eval mode, with H heads; it is left as it was.
        x: (B, T, D), floating point; it is query, key and value.

    Returns:
        (H,), floating point: for each head the mean, over all numbers of
        the output, of the squared change.
    """
    q = reference.split_heads(module.q_proj(x), module.num_heads)
    k = reference.split_heads(module.k_proj(x), module.num_heads)
    v = reference.split_heads(module.v_proj(x), module.num_heads)
    heads, _ = reference.scaled_dot_product_attention(q, k, v)
    whole = module.out_proj(reference.merge_heads(heads))
    damage = []
    for head in range(module.num_heads):
        rest = heads.clone()
        rest[:, head] = 0.0
        changed = module.out_proj(reference.merge_heads(rest)) - whole
        damage.append(changed.square().mean())
    return torch.stack(damage)


def redundant_heads(
    module: reference.MultiHeadAttention,
    x: Tensor,
) -> list[int]:
    """Choose the two heads whose joint silence changes the output least.

    Args:
        module: in eval mode, with two or more heads; it is left as it was.
        x: (B, T, D), floating point; it is query, key and value.

    Returns:
        the two heads, counted from 0, the smaller number first.
    """
    q = reference.split_heads(module.q_proj(x), module.num_heads)
    k = reference.split_heads(module.k_proj(x), module.num_heads)
    v = reference.split_heads(module.v_proj(x), module.num_heads)
    heads, _ = reference.scaled_dot_product_attention(q, k, v)
    whole = module.out_proj(reference.merge_heads(heads))
    damage = {}
    for pair in combinations(range(module.num_heads), 2):
        rest = heads.clone()
        rest[:, list(pair)] = 0.0
        changed = module.out_proj(reference.merge_heads(rest)) - whole
        damage[pair] = changed.square().mean().item()
    best = min(damage, key=lambda pair: damage[pair])
    return list(best)


def bracket_head(pairs: int) -> tuple[Tensor, Tensor]:
    """Set the weights of a head that finds the matching bracket.

    Args:
        pairs: P, the most pairs in a text.

    Returns:
        W_q and W_k, both (3 + P, K), floating point, for any K.
    """
    size = pairs + 1  # K: one feature for each depth, and one for all tokens
    slope = 10.0 * math.sqrt(size)  # of two keys that fit, the later wins by 10
    most = 2 * pairs * slope  # more than all the slopes of a text
    W_q, W_k = torch.zeros(2, 3 + pairs, size)
    W_q[3:, :pairs] = most * torch.eye(pairs)
    W_k[3:, :pairs] = torch.eye(pairs)
    W_q[:2, pairs] = 1.0  # every token is one of the two brackets
    W_k[0, pairs] = most
    W_k[2, pairs] = slope
    return W_q, W_k
