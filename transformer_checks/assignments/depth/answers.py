"""The answers to the tasks of the assignment "depth": the text of the solution's cells.

A mistake is a change to one of them.
"""

# The cells name no type for a model that is an argument.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math

import torch
from torch import Tensor

from transformer_ref import attention as reference


def cnn_receptive_field(
    kernel_size: int,
    num_layers: int,
    dilation: int = 1,
) -> int:
    """Count the inputs from the first to the last that an output uses.

    Args:
        kernel_size: inputs of each layer's kernel, at least 1.
        num_layers: convolutions with stride 1, one after the other.
        dilation: places from each input of a kernel to the next, in every
            layer.

    Returns:
        The number of places from the first to the last, including both.
    """
    return 1 + num_layers * (kernel_size - 1) * dilation


def previous_token_weights(places: Tensor, sharpness: float) -> Tensor:
    """Set a head by hand in which each token looks at the one before.

    Args:
        places: (T, K), floating point, one-hot: row t is the place of token
            t.
        sharpness: the product of a token's query with the key before it.

    Returns:
        (T, T), in the dtype of places: the causal attention weights.
    """
    num_tokens, head_size = places.shape
    look_back = torch.diag(torch.ones(head_size - 1), -1).to(places)
    query = sharpness * places @ look_back
    scores = query @ places.T / math.sqrt(head_size)
    past = torch.ones(num_tokens, num_tokens, device=places.device).tril().bool()
    return scores.masked_fill(~past, -math.inf).softmax(dim=-1)


def logit_lens(model, x: Tensor) -> Tensor:
    """Read off what a model would say before and after each layer.

    Args:
        model: has layers, norm and output_proj; it is left as it was.
        x: (B, T, D), floating point, the residual stream before the first
            layer.

    Returns:
        (N+1, B, T, V): logits before the first of the N layers, and after
        each.
    """
    logits = [model.output_proj(model.norm(x))]
    for layer in model.layers:
        x = layer(x)
        logits.append(model.output_proj(model.norm(x)))
    return torch.stack(logits)


def damage_by_key(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor,
) -> Tensor:
    """Measure how much the output changes when one key is hidden.

    Args:
        query: (T, K), floating point.
        key: (S, K).
        value: (S, V).
        mask: (T, S), bool, True means "may attend"; each row has two or
            more.

    Returns:
        (S,), floating point: for each key the mean, over all numbers of the
        output, of the squared change.
    """
    scores = query @ key.T / math.sqrt(query.shape[-1])
    whole = scores.masked_fill(~mask, -math.inf).softmax(dim=-1) @ value
    damage = []
    for hidden in range(len(key)):
        rest = mask.clone()
        rest[:, hidden] = False
        changed = scores.masked_fill(~rest, -math.inf).softmax(dim=-1) @ value - whole
        damage.append(changed.square().mean())
    return torch.stack(damage)


def needed_offset(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    max_offset: int,
) -> int:
    """Find how far back the key is that the output needs most.

    Args:
        query: (T, K), floating point.
        key: (T, K).
        value: (T, V).
        max_offset: the largest offset to try, below T.

    Returns:
        the offset, from 1 to max_offset: 1 is the token before.
    """
    past = torch.ones(len(query), len(query), device=query.device).tril().bool()
    scores = query @ key.T / math.sqrt(query.shape[-1])
    whole = scores.masked_fill(~past, -math.inf).softmax(dim=-1) @ value
    damage = []
    for offset in range(1, max_offset + 1):
        hidden = past.tril(-offset) & past.triu(-offset)
        rest = past & ~hidden
        changed = scores.masked_fill(~rest, -math.inf).softmax(dim=-1) @ value - whole
        damage.append(changed.square().mean().item())
    return 1 + damage.index(max(damage))


def induction(letters: Tensor) -> Tensor:
    """Guess what follows each letter, in two layers, without the bug.

    Args:
        letters: (T, V), floating point: one-hot, and zeros for the start.

    Returns:
        (T, V), in the dtype of letters: what followed this letter last
        time.
    """
    places = torch.eye(len(letters)).to(letters)
    look_back = 20 * torch.diag(torch.ones(len(letters) - 1), -1).to(letters)
    past = torch.ones(len(letters), len(letters), device=letters.device).tril().bool()
    query, key, value = places @ look_back, places, letters
    before, _ = reference.scaled_dot_product_attention(query, key, value, past)
    query, key, value = 20 * letters, before, letters  # the key says what stands before it
    found, _ = reference.scaled_dot_product_attention(query, key, value, past)
    return found
