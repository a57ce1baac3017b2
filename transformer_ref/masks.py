"""Masks: which key each query may attend to, and the softmax that obeys them.

A mask is boolean and True means "may attend", as in ``F.scaled_dot_product_attention``.
It broadcasts against attention scores of shape (B, H, T, S).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from transformer_ref._validate import (
    require_at_least_one,
    require_ids,
    require_integer,
    require_mask,
    values_of,
)


@dataclass(frozen=True)
class PreparedMask:
    """A mask as fused attention takes it, made once for all layers of a pass.

    The kernels disagree on a row that may see nothing (0, NaN or uniform), so none ever gets one:
    such a row sees everything inside and is put to zero outside.

    Attributes:
        mask: bool, broadcasts to (B, H, T, S); True = may attend.
        inside: the same with True in every row that may see nothing.
        empty: (..., T, 1) bool, which rows these are.
    """

    mask: Tensor
    inside: Tensor
    empty: Tensor

    @classmethod
    def of(cls, mask: Tensor | PreparedMask | None) -> PreparedMask | None:
        """Prepare a mask; None and one that is prepared stay as they are."""
        if mask is None or isinstance(mask, PreparedMask):
            return mask
        require_mask("mask", mask, mask.shape, mask.device)
        empty = ~mask.any(dim=-1, keepdim=True)
        return cls(mask, mask | empty, empty)


Mask = Tensor | PreparedMask


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Say which keys are real tokens and which only fill up the batch.

    Args:
        ids: (B, S) integer token ids.
        pad_id: the id that fills short rows.

    Returns:
        (B, 1, 1, S) bool, False at padding. It hides key columns, never query rows.

    Raises:
        ValueError: if `ids` is not a 2-D integer tensor or `pad_id` not an integer.

    Source: none in the paper, which names the causal mask only; this one is the price of batches.
    """
    require_ids("ids", ids)
    require_integer(pad_id=pad_id)
    return (ids != pad_id)[:, None, None, :]


def padding_mask_or_none(ids: Tensor, pad_id: int) -> Tensor | None:
    """The same, or None where no row has padding: attention without a mask does less.

    It reads the ids, so a GPU waits; worth it where one mask serves many layers or steps.

    Args:
        ids: (B, S) integer token ids.
        pad_id: the id that fills short rows.

    Returns:
        (B, 1, 1, S) bool, False at padding, or None.
        Where ids cannot be read, as while compiling, always the mask.

    Raises:
        ValueError: as :func:`padding_mask`.
    """
    mask = padding_mask(ids, pad_id)
    return None if values_of(ids, mask.all) else mask


def causal_mask(length: int, device: torch.device | str | None = None) -> Tensor:
    """Let each position see itself and what came before it.

    Args:
        length: T, at least 1.
        device: where to make the mask; give the batch's device.

    Returns:
        (1, 1, T, T) bool, True on and below the diagonal.

    Raises:
        ValueError: if `length` is not an integer of at least 1.

    Source: Vaswani et al. 2017, section 3.2.3, third use of attention.
    """
    require_at_least_one(length=length)
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()[None, None]


def later_rows(length: int, offset: int, device: torch.device) -> Tensor | None:
    """The causal mask without its first rows, for tokens that come after cached ones.

    Args:
        length: T, how many tokens are new.
        offset: how many are cached.
        device: where to make the mask.

    Returns:
        (1, 1, T, offset + T) bool; None where there is nothing to hide, or with ``offset == 0``,
        which is what `is_causal` means.
    """
    if offset == 0 or length == 1:
        return None
    return causal_mask(offset + length, device)[:, :, offset:]


def target_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Combine the padding mask and the causal mask of a decoder's input.

    Args:
        ids: (B, T) integer token ids.
        pad_id: the id that fills short rows.

    Returns:
        (B, 1, T, T) bool on the device of `ids`.

    Raises:
        ValueError: if `ids` is not a 2-D integer tensor or its rows are empty.
    """
    return padding_mask(ids, pad_id) & causal_mask(ids.shape[1], device=ids.device)


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over the last axis, over the allowed keys only.

    Blocked scores become the lowest finite number of their dtype, and their weights exactly 0.
    With -inf a row that may see nothing would be 0/0 = NaN; here it is all zeros,
    in the value and in the gradient, in float16 as well.

    Args:
        scores: (..., T, S) floating.
        mask: bool, broadcasts to `scores`; True = may attend. None = everything may be seen.

    Returns:
        (..., T, S) weights in the dtype of `scores`.
        Rows sum to 1, or to 0 where nothing may be seen.

    Raises:
        ValueError: if `scores` is not floating, or `mask` not boolean or does not broadcast to it.
    """
    if not scores.is_floating_point():
        raise ValueError(f"scores must be floating, got {scores.dtype}")
    if mask is None:
        return scores.softmax(dim=-1)
    require_mask("mask", mask, scores.shape, scores.device)
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~mask, lowest).softmax(dim=-1).masked_fill(~mask, 0.0)
