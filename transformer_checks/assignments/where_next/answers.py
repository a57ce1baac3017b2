"""The answers to the tasks of the assignment "where_next": the text of the solution's cells.

A mistake is a change to one of them.
"""

# The cells name no type for a function that is an argument.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math

import torch
from torch import Tensor


def rotate(x: Tensor, positions: Tensor, pairing: str) -> Tensor:
    """Turn queries or keys by the positions of their tokens.

    Args:
        x: (..., T, K), floating point, K even.
        positions: (T,) int64, from 0 to 5,000, in any order.
        pairing: "neighbors" or "halves".

    Returns:
        (..., T, K), in the dtype of x.
    """
    size = x.shape[-1]
    speeds = 10000 ** (-torch.arange(0, size, 2, device=x.device) / size)  # (K/2,)
    angles = positions[:, None] * speeds  # (T, K/2), float32 whatever x is
    cos, sin = angles.cos().to(x), angles.sin().to(x)
    if pairing == "neighbors":
        a, b = x[..., 0::2], x[..., 1::2]  # (..., T, K/2)
        turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1)
        return turned.flatten(start_dim=-2)  # (..., T, K)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


def turned_pairs(turn, d_k: int) -> list[tuple[int, int]]:
    """Find out which features a rotary function turns together.

    Args:
        turn: takes x (T, d_k) and positions (T,) int64, returns (T, d_k).
        d_k: features of a head.

    Returns:
        the pairs (i, j) of features with i < j, sorted.
    """
    # Row i of x is 1 in feature i only; all are at position 1.
    found = turn(torch.eye(d_k), torch.ones(d_k, dtype=torch.int64))  # (d_k, d_k)
    return [(i, j) for i in range(d_k) for j in range(i + 1, d_k) if found[i, j] != 0]


def grouped_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Let the last T of S tokens attend; groups of heads share keys.

    Args:
        query: (B, H, T, K), floating point.
        key: (B, G, S, K), G divides H.
        value: (B, G, S, V).

    Returns:
        (B, H, T, V), in the dtype of the inputs.
    """
    share = query.shape[1] // key.shape[1]
    key, value = (one.repeat_interleave(share, dim=1) for one in (key, value))
    scores = query @ key.mT / math.sqrt(query.shape[-1])  # (B, H, T, S)
    num_new, num_all = scores.shape[-2:]
    past = torch.ones_like(scores[0, 0], dtype=torch.bool).tril(num_all - num_new)
    return scores.masked_fill(~past, -math.inf).softmax(dim=-1) @ value


def route(scores: Tensor, num_used: int) -> tuple[Tensor, Tensor]:
    """Choose the experts of each token, and measure their load.

    Args:
        scores: (N, E), floating point, one score for each token and expert.
        num_used: experts that each token uses.

    Returns:
        the loss, a scalar, and the weights (N, E), in the dtype of scores.
    """
    num_experts = scores.shape[1]
    best, chosen = scores.topk(num_used, dim=-1)  # (N, num_used)
    weights = torch.zeros_like(scores).scatter(-1, chosen, best.softmax(dim=-1))  # (N, E)
    counts = chosen.flatten().bincount(minlength=num_experts)  # (E,)
    share = (counts / chosen.numel()).to(scores)
    mean = scores.softmax(dim=-1).mean(dim=0)  # (E,)
    return num_experts * (share * mean).sum(), weights


def accept(
    guesses: list[int],
    draft_probs: Tensor,
    model_probs: Tensor,
    uniforms: Tensor,
) -> list[int]:
    """Keep guesses of a draft so that it seems that the model drew them.

    Args:
        guesses: n ids, each drawn from its row of draft_probs.
        draft_probs: (n, V), the draft's probabilities at the n places.
        model_probs: (n + 1, V), the model's, there and one place further.
        uniforms: (n + 1,), random numbers from 0 up to 1.

    Returns:
        the new tokens: the guesses that are kept, and one more.
    """
    kept = 0
    for guess, p, q in zip(guesses, model_probs, draft_probs, strict=False):
        if uniforms[kept] >= p[guess] / q[guess]:
            break
        kept += 1
    chances = model_probs[kept]  # (V,)
    if kept < len(guesses):
        rest = (chances - draft_probs[kept]).clamp(min=0)
        chances = rest / rest.sum()
    token = (chances.cumsum(dim=0) <= uniforms[-1]).sum()
    return [*guesses[:kept], int(token)]


def what_limits(
    model: dict[str, int], card: dict[str, float], users: int, tokens: int
) -> tuple[float, str]:
    """Find how many tokens per second a card writes, and what limits it.

    Args:
        model: "parameters", "used", "layers", "sets" and "d_head".
        card: "memory", "bandwidth" and "operations".
        users: that are served at the same time.
        tokens: in the text of each user so far.

    Returns:
        tokens per second for all users together, and "memory", "bandwidth"
        or "operations".
    """
    weights = 2 * model["parameters"]  # bytes, as are the caches
    caches = 4 * model["layers"] * model["sets"] * model["d_head"] * tokens * users
    if weights + caches > card["memory"]:
        return 0.0, "memory"
    reading = (weights + caches) / card["bandwidth"]  # seconds, as is computing
    computing = 2 * model["used"] * users / card["operations"]
    limit = "bandwidth" if reading > computing else "operations"
    return users / max(reading, computing), limit


def to_neighbors(weight: Tensor, num_heads: int, num_sets: int) -> Tensor:
    """Reorder the rows of a key matrix, like the code above but right.

    Args:
        weight: (G * K, D), trained with halves.
        num_heads: H, heads of queries.
        num_sets: G, sets of keys and values, fewer than H.

    Returns:
        (G * K, D): the same keys, for code that turns neighbors.
    """
    heads = weight.unflatten(0, (num_sets, 2, -1))  # (G, 2, K/2, D)
    return heads.transpose(1, 2).flatten(end_dim=2)  # (G * K, D)
