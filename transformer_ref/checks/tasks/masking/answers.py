"""Right answers to tasks of the assignment "masking": those that the package does not hold."""

from __future__ import annotations

import math

from torch import Tensor

from transformer_ref import masks as reference


def causal_attention(query: Tensor, key: Tensor, value: Tensor, ids: Tensor, pad_id: int) -> Tensor:
    """Attend as a decoder does to a padded batch; what the first bug hunt asks for.

    Args:
        query: (B, H, T, K).
        key: (B, H, T, K).
        value: (B, H, T, V).
        ids: (B, T) int64, from which the masks are made.
        pad_id: the id of padding.

    Returns:
        (B, H, T, V), zeros where a query may see nothing.
    """
    return masked_attention(query, key, value, reference.target_mask(ids, pad_id))


def masked_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Attend under a mask; what the second bug hunt asks for.

    Args:
        query: (B, H, T, K).
        key: (B, H, S, K).
        value: (B, H, S, V).
        mask: bool, broadcasts to (B, H, T, S).

    Returns:
        (B, H, T, V), zeros where a query may see nothing.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return reference.masked_softmax(scores, mask) @ value
