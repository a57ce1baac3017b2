"""Right answers to tasks of the assignment "gpt": those that the package does not hold."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref import gpt as package


def cnn_receptive_field(kernel_size: int, num_layers: int, dilation: int = 1) -> int:
    """Count the inputs that one output of a stacked convolution depends on.

    Args:
        kernel_size: of every layer.
        num_layers: all with stride 1.
        dilation: of every layer.

    Returns:
        the number of neighbouring places, the gaps between them counted.
    """
    return 1 + num_layers * (kernel_size - 1) * dilation


def lm_batch(ids: Tensor, block_size: int, starts: list[int] | Tensor) -> tuple[Tensor, Tensor]:
    """Cut pieces out of one long text.

    Args:
        ids: (N,) int64, the text.
        block_size: T, the length of a piece.
        starts: where each piece starts.

    Returns:
        inputs and labels, (B, T) each; the labels are one later.
    """
    rows = torch.stack([ids[int(start) : int(start) + block_size + 1] for start in starts])
    return rows[:, :-1], rows[:, 1:]


class GPT(nn.Module):
    """The package's GPT, with the arguments of the task.

    Args:
        vocab_size: V.
        d_model: D.
        num_heads: H, a divisor of D.
        d_ff: size of the hidden layers.
        num_layers: at least 1.
        max_len: the longest input.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        num_heads: int,
        d_ff: int,
        num_layers: int,
        max_len: int,
    ) -> None:
        super().__init__()
        config = package.GPTConfig(
            vocab_size, d_model, num_heads, num_layers, d_ff, max_len, dropout=0.0
        )
        self.model = package.GPT(config)

    def forward(self, ids: Tensor) -> Tensor:
        """(B, T) ids to (B, T, V) logits; position t has seen the tokens 0..t."""
        return self.model(ids)


Model = Callable[[Tensor], Tensor]


def generate(model: Model, ids: Tensor, max_new_tokens: int) -> Tensor:
    """Append the likeliest token, again and again.

    Args:
        model: (B, T) ids to (B, T, V) logits.
        ids: (B, T) int64.
        max_new_tokens: how many tokens.

    Returns:
        (B, T + max_new_tokens) int64.
    """
    return generate_long(model, ids, max_new_tokens, ids.shape[1] + max_new_tokens)


def lm_loss(model: Model, ids: Tensor) -> Tensor:
    """Return the mean loss of the next token; what the first bug hunt asks for.

    Args:
        model: (B, T) ids to (B, T, V) logits.
        ids: (B, T+1) int64.

    Returns:
        a scalar.
    """
    logits = model(ids[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def generate_long(model: Model, ids: Tensor, max_new_tokens: int, max_len: int) -> Tensor:
    """Append tokens past the end of the window; what the second bug hunt asks for.

    Args:
        model: (B, T) ids to (B, T, V) logits, T at most max_len.
        ids: (B, T) int64.
        max_new_tokens: how many tokens.
        max_len: the model is shown so many of the last tokens.

    Returns:
        (B, T + max_new_tokens) int64.
    """
    for _ in range(max_new_tokens):
        best = model(ids[:, -max_len:])[:, -1].argmax(dim=-1, keepdim=True)
        ids = torch.cat((ids, best), dim=1)
    return ids
