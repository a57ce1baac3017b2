"""Attention taken apart into steps, so that a misconception is one step done wrong.

The right steps are written out here a second time, apart from the reference package, because a
wrong implementation is a right one with one thing replaced.
The tasks of blocks, decoding and gpt use it; those of attention change the text of the answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

Mask = Tensor | None


def products(query: Tensor, key: Tensor) -> Tensor:
    """Return q k^T, not scaled."""
    return query @ key.transpose(-2, -1)


def scaled(query: Tensor, key: Tensor) -> Tensor:
    """Return q k^T / sqrt(K)."""
    return products(query, key) / math.sqrt(query.shape[-1])


def scaled_by(factor: Callable[[Tensor, Tensor], float]) -> Callable[[Tensor, Tensor], Tensor]:
    """Return a scoring step that multiplies the products by `factor(query, key)`."""
    return lambda query, key: products(query, key) * factor(query, key)


def hidden(scores: Tensor, mask: Mask) -> Tensor:
    """Put the scores of hidden keys to minus infinity."""
    return scores if mask is None else scores.masked_fill(~mask, float("-inf"))


def not_hidden(scores: Tensor, mask: Mask) -> Tensor:
    """Ignore the mask."""
    return scores


def softmax_over(axis: int) -> Callable[[Tensor], Tensor]:
    """Return a softmax step over one axis."""
    return lambda scores: torch.softmax(scores, dim=axis)


over_keys = softmax_over(-1)


@dataclass(frozen=True)
class Recipe:
    """The steps of scaled dot-product attention; call it as (query, key, value, mask=None)."""

    score: Callable[[Tensor, Tensor], Tensor] = scaled
    hide: Callable[[Tensor, Mask], Tensor] = hidden
    normalise: Callable[[Tensor], Tensor] = over_keys
    then: Callable[[Tensor, Mask], Tensor] = not_hidden
    combine: Callable[[Tensor, Tensor], Tensor] = torch.matmul
    give: Callable[[Tensor, Tensor, Tensor], Any] = lambda output, weights, scores: (
        output,
        weights,
    )

    def __call__(self, query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Any:
        """Attend, step by step."""
        scores = self.hide(self.score(query, key), mask)
        weights = self.then(self.normalise(scores), mask)
        return self.give(self.combine(weights, value), weights, scores)


def split(x: Tensor, num_heads: int) -> Tensor:
    """(B, T, D) -> (B, H, T, K)."""
    return x.unflatten(2, (num_heads, -1)).transpose(1, 2)


def merge(x: Tensor) -> Tensor:
    """(B, H, T, K) -> (B, T, D)."""
    return x.transpose(1, 2).flatten(2)


@dataclass(frozen=True)
class HeadsRecipe:
    """Attention in several heads without weights; call it with a `num_heads`."""

    attend: Callable[..., Any] = Recipe()
    split: Callable[[Tensor, int], Tensor] = split
    merge: Callable[[Tensor], Tensor] = merge

    def __call__(
        self, query: Tensor, key: Tensor, value: Tensor, num_heads: int, mask: Mask = None
    ) -> Tensor:
        """Split, attend in each head, merge."""
        heads = [self.split(x, num_heads) for x in (query, key, value)]
        return self.merge(self.attend(*heads, mask)[0])


def projected(module: Any, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
    """Project query, key and value, each by its own layer."""
    return module.q_proj(query), module.k_proj(key), module.v_proj(value)


def multi_head(
    heads: Callable[..., Tensor] = HeadsRecipe(),
    *,
    project: Callable[..., tuple[Tensor, ...]] = projected,
    finish: Callable[..., Any] = lambda module, merged, query: module.out_proj(merged),
    bias: bool = True,
    names: tuple[str, str, str, str] = ("q_proj", "k_proj", "v_proj", "out_proj"),
) -> type[nn.Module]:
    """Return a MultiHeadAttention class, right unless a step is replaced.

    Args:
        heads: attention in several heads, as :class:`HeadsRecipe`.
        project: gives the projected query, key and value.
        finish: from the module, the merged heads and the query, gives the result.
        bias: whether the layers have one.
        names: of the four layers.

    Returns:
        the class.
    """

    class Built(nn.Module):
        def __init__(self, d_model: int, num_heads: int) -> None:
            super().__init__()
            self.num_heads = num_heads
            for name in names:
                setattr(self, name, nn.Linear(d_model, d_model, bias=bias))

        def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Any:
            merged = heads(*project(self, query, key, value), self.num_heads, mask)
            return finish(self, merged, query)

    return Built
