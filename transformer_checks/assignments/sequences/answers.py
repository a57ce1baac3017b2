"""The answers to the tasks of the assignment "sequences": the text of the solution's cells.

A mistake is a change to one of them.
"""

# The cells name no type for a model that is an argument.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math

import torch
from torch import Tensor


def recurrent_step(
    x: Tensor,
    hidden: Tensor,
    weight_x: Tensor,
    weight_h: Tensor,
    bias: Tensor,
) -> Tensor:
    """Compute one step of a recurrent network, with PyTorch's matrices.

    Args:
        x: (B, D), floating point, one token of each sequence.
        hidden: (B, N), the previous state.
        weight_x: (N, D), a row for each number of the new state.
        weight_h: (N, N), a row for each number of the new state.
        bias: (N,).

    Returns:
        (B, N), the new state.
    """
    return torch.tanh(x @ weight_x.T + hidden @ weight_h.T + bias)


def unroll(
    x: Tensor,
    hidden: Tensor,
    weight_x: Tensor,
    weight_h: Tensor,
    bias: Tensor,
) -> Tensor:
    """Read a batch of sequences, each starting from its own state.

    Args:
        x: (B, T, D), floating point, the tokens.
        hidden: (B, N), the state before the first token.
        weight_x: (N, D), as in recurrent_step.
        weight_h: (N, N), as in recurrent_step.
        bias: (N,).

    Returns:
        (B, T, N), the state after each token.
    """
    states = []
    for token in x.unbind(dim=1):
        hidden = torch.tanh(token @ weight_x.T + hidden @ weight_h.T + bias)
        states.append(hidden)
    return torch.stack(states, dim=1)


def additive_attention(
    query: Tensor,
    states: Tensor,
    weight_query: Tensor,
    weight_states: Tensor,
    vector: Tensor,
    mask: Tensor,
) -> tuple[Tensor, Tensor]:
    """Look back at the states of an encoder, with the additive score.

    Args:
        query: (B, N), floating point, the state of the decoder in each
            sequence.
        states: (B, S, N), the states of the encoder.
        weight_query: (A, N), one row for each feature that is compared.
        weight_states: (A, N), one row for each feature that is compared.
        vector: (A,).
        mask: (B, S), bool, True means "may attend"; each row has one or
            more.

    Returns:
        The context (B, N), and the attention weights (B, S).
    """
    asked = (query @ weight_query.T).unsqueeze(1)
    compared = states @ weight_states.T
    scores = torch.tanh(asked + compared) @ vector
    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
    context = (weights.unsqueeze(1) @ states).squeeze(1)
    return context, weights


def layer_cost(
    layer: str,
    batch_size: int,
    length: int,
    size: int,
    kernel_size: int = 3,
) -> tuple[int, int, int]:
    """Count what a layer costs.

    Args:
        layer: "recurrent", "attention" or "convolution".
        batch_size: B, the number of sequences.
        length: T, the number of tokens in each sequence, at least 2.
        size: D, the size of a token, of a state and of an output.
        kernel_size: tokens that an output of the convolution sees, at least
            2.

    Returns:
        The multiplications, the sequential operations, and the steps from
        the first token to the last output.
    """
    if layer == "recurrent":
        return batch_size * 2 * length * size**2, length, length
    if layer == "attention":
        return batch_size * 2 * length**2 * size, 1, 1
    path = math.ceil((length - 1) / (kernel_size - 1))
    return batch_size * kernel_size * length * size**2, 1, path


def memory_span(model, x: Tensor, other: Tensor, share: float) -> int:
    """Measure how many tokens later the first token still matters.

    Args:
        model: from (B, T, D) to (B, T, N), an output for each token.
        x: (1, T, D), floating point, the tokens.
        other: (D,), replaces the first token in the second run.
        share: of the distance at the first token, above 0 and below 1.

    Returns:
        The last place at which the two runs differ by this share or more.
    """
    changed = x.clone()
    changed[:, 0] = other
    distance = (model(x) - model(changed))[0].norm(dim=-1)
    kept = distance >= share * distance[0]
    return int(kept.nonzero().max())


def read_both_ways(forwards, backwards, x: Tensor) -> Tensor:
    """Tell each token what surrounds it: as above, without the bug.

    Args:
        forwards: an nn.RNN with batch_first=True, from D to N numbers.
        backwards: another one, with its own parameters.
        x: (B, T, D), floating point, the tokens.

    Returns:
        (B, T, 2N): the state of the first reader after each token, and then
        the state of the second, which has read from the end back to this
        token.
    """
    left_to_right, _ = forwards(x)
    right_to_left, _ = backwards(x.flip(dims=[1]))
    return torch.cat([left_to_right, right_to_left.flip(dims=[1])], dim=-1)
