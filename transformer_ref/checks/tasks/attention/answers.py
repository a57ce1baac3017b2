"""Right answers to tasks of the assignment "attention": those that the package does not hold."""

from __future__ import annotations

from torch import Tensor

from transformer_ref import attention as reference


def _reference_multi_head(
    query: Tensor, key: Tensor, value: Tensor, num_heads: int, mask: Tensor | None = None
) -> Tensor:
    q, k, v = (reference.split_heads(x, num_heads) for x in (query, key, value))
    return reference.merge_heads(reference.scaled_dot_product_attention(q, k, v, mask)[0])
