"""The answers to the tasks of the assignment "masking": the text of the solution's cells.

A mistake is a change to one of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import torch
from torch import Tensor

from transformer_ref import masks as reference


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Say which keys are tokens, and which are only padding.

    Args:
        ids: (B, S) int64.
        pad_id: the id of padding.

    Returns:
        (B, 1, 1, S) bool: False wherever there is padding, True elsewhere.
    """
    return (ids != pad_id)[:, None, None, :]


def causal_mask(
    length: int,
    device: torch.device | str | None = None,
) -> Tensor:
    """Let each position see itself and what came before it.

    Args:
        length: T, at least 1.
        device: where to make the mask; None is the default device.

    Returns:
        (1, 1, T, T) bool: row t is True in the columns 0 to t.
    """
    every = torch.ones(length, length, dtype=torch.bool, device=device)
    return every.tril()[None, None]


def target_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Combine the padding mask and the causal mask.

    Args:
        ids: (B, T) int64.
        pad_id: the id of padding.

    Returns:
        (B, 1, T, T) bool, on the device of `ids`: query t sees the keys
        0 to t that are not padding.
    """
    past = reference.causal_mask(ids.shape[1], device=ids.device)
    return reference.padding_mask(ids, pad_id) & past


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Take the softmax over the keys that may be seen.

    Args:
        scores: (..., T, S), float32, float64, float16 or bfloat16.
        mask: bool, broadcasts to `scores`; True means "may attend".

    Returns:
        (..., T, S) weights, in the dtype of `scores`. A row sums to 1, or
        is all zeros where nothing may be seen. There is no NaN, in the
        gradient either.
    """
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(~mask, lowest).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


def causal_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    ids: Tensor,
    pad_id: int,
) -> Tensor:
    """Attend as a decoder does, as above and without the bugs.

    Args:
        query: (B, H, T, K), floating point.
        key: (B, H, T, K).
        value: (B, H, T, V).
        ids: (B, T) int64, the tokens that the mask is made from.
        pad_id: the id of padding.

    Returns:
        (B, H, T, V): query t attends to the keys 0 to t that are not
        padding, and gets zeros where there are none.
    """
    length = ids.shape[1]
    tokens = (ids != pad_id)[:, None, None, :]  # columns: the keys
    past = torch.tril(torch.ones(length, length, dtype=torch.bool, device=ids.device))
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return reference.masked_softmax(scores, tokens & past) @ value


def packed_inputs(documents: Tensor) -> tuple[Tensor, Tensor]:
    """Make the mask and the positions of documents packed into rows.

    Args:
        documents: (B, T) int64, the number of each token's document; 0 is
            padding.

    Returns:
        the mask (B, 1, T, T) bool: query t sees the keys of its own
        document up to t, and padding sees nothing; and the positions (B, T)
        int64, from 0 in each document, 0 for padding.
    """
    same = documents[:, :, None] == documents[:, None, :]  # (B, T, T)
    real = (documents != 0)[:, None, :]
    past = reference.causal_mask(documents.shape[1], device=documents.device)
    mask = (same & real)[:, None] & past
    positions = (mask.sum(dim=-1)[:, 0] - 1).clamp(min=0)
    return mask, positions


def shortest_failure(
    make_mask: Callable[[Tensor, int], Tensor],
    longest: int,
) -> list[int]:
    """Find the shortest row of tokens and padding on which a mask is wrong.

    Args:
        make_mask: from ids (B, T) int64 and the id of padding to a mask
            (B, 1, T, T) bool.
        longest: the largest length to try, at least 1.

    Returns:
        the first row that fails, short ones first, 0 for padding and 1 for
        a token; [] if none fails.
    """
    for length in range(1, longest + 1):
        for row in itertools.product((0, 1), repeat=length):
            ids = torch.tensor([row])
            wrong = make_mask(ids, 0) != reference.target_mask(ids, 0)
            if wrong[0, 0, ids[0] == 1].any():  # only the queries that are tokens
                return list(row)
    return []


def how_far_ahead(model: Callable[[Tensor], Tensor], x: Tensor) -> int:
    """Measure how many places ahead an output sees, at most.

    Args:
        model: from (B, T, D) to (B, T, D).
        x: (B, T, D), floating point; it is not changed.

    Returns:
        the largest s - t of an output t that moves when token s is changed;
        0 if no output sees a later token.
    """
    before = model(x)
    furthest = 0
    for s in range(x.shape[1]):
        changed = x.clone()
        changed[:, s] = torch.randn_like(changed[:, s])
        moves = (model(changed) - before).abs()
        moved = moves.amax(dim=(0, -1)) > 1e-4
        for t in range(s):  # the outputs before the change
            if moved[t]:
                furthest = max(furthest, s - t)
    return furthest
