"""The answers to the tasks of the assignment "gpt": the text of the solution's cells.

A mistake is a change to one of them.
"""

# The cells name no type for a model that is an argument.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref import layers as reference
from transformer_ref.masks import causal_mask


def lm_batch(ids: Tensor, block_size: int, starts: list[int] | Tensor) -> tuple[Tensor, Tensor]:
    """Cut pieces out of one long text.

    Args:
        ids: (N,), int64, the text.
        block_size: T, tokens of a piece.
        starts: B places in the text, a list of int or a tensor (B,), int64.

    Returns:
        The inputs (B, T), and the labels (B, T), which are one token later.
    """
    inputs = torch.stack([ids[start : start + block_size] for start in starts])
    labels = torch.stack([ids[start + 1 : start + 1 + block_size] for start in starts])
    return inputs, labels


class GPT(nn.Module):
    """A decoder-only Transformer: each place scores the token after it.

    Args:
        vocab_size: V.
        d_model: D.
        num_heads: H, a divisor of D.
        d_ff: hidden features of the feed-forward networks.
        num_layers: N, at least 1.
        max_len: tokens of the longest text.
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
        self.max_len = max_len
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.places = nn.Embedding(max_len, d_model)
        self.layers = nn.ModuleList(
            reference.EncoderLayer(d_model, num_heads, d_ff, norm="pre") for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Score the token after each place.

        Args:
            ids: (B, T), int64, T at most max_len.

        Returns:
            Logits (B, T, V); place t has seen the tokens 0 to t.

        Raises:
            ValueError: if T is above max_len.
        """
        length = ids.shape[1]
        if length > self.max_len:
            raise ValueError(f"ids has {length} tokens, at most {self.max_len} fit")
        x = self.tokens(ids) + self.places(torch.arange(length, device=ids.device))
        mask = causal_mask(length, ids.device)
        for layer in self.layers:
            x = layer(x, mask)
        return self.output(self.norm(x))


def generate(model, ids: Tensor, max_new_tokens: int) -> Tensor:
    """Go on with every row, with the likeliest token each time.

    Args:
        model: from ids (B, T), int64, to logits (B, T, V).
        ids: (B, T), int64, the prompts.
        max_new_tokens: how many tokens are appended.

    Returns:
        (B, T + max_new_tokens), int64: the prompts and the new tokens.
    """
    for _ in range(max_new_tokens):
        best = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
        ids = torch.cat([ids, best], dim=1)
    return ids


def lm_loss(model, ids: Tensor) -> Tensor:
    """Return the mean loss of the next token, as above and without the bug.

    Args:
        model: from ids (B, T), int64, to logits (B, T, V).
        ids: (B, T+1), int64.

    Returns:
        A scalar: the cross-entropy of every token but the first of each
        row, given those before it, averaged over all.
    """
    inputs, labels = ids[:, :-1], ids[:, 1:]  # one shift, and no other
    logits = model(inputs)
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


def generate_long(model, ids: Tensor, max_new_tokens: int, max_len: int) -> Tensor:
    """Go on with every row, as above and without the bug.

    Args:
        model: from ids (B, T), int64, to logits (B, T, V); T at most max_len.
        ids: (B, T), int64, the prompts.
        max_new_tokens: how many tokens are appended.
        max_len: how many tokens the model can read.

    Returns:
        (B, T + max_new_tokens), int64: the prompts and the new tokens.
    """
    for _ in range(max_new_tokens):
        window = ids[:, -max_len:]  # the newest tokens; all, if there are no more
        best = model(window)[:, -1].argmax(dim=-1, keepdim=True)
        ids = torch.cat([ids, best], dim=1)
    return ids


def context_used(model, ids: Tensor) -> int:
    """Measure how many of the newest tokens the model's guess depends on.

    Args:
        model: from ids (B, T), int64, to logits (B, T, V).
        ids: (1, T), int64, the text.

    Returns:
        T - s, if s is the first place at which some other token moves a
        logit of the last place; 0 if there is none.
    """
    before = model(ids)[:, -1]
    size = before.shape[-1]
    for s in range(ids.shape[1]):  # the oldest token first
        changed = ids.repeat(size, 1)
        changed[:, s] = torch.arange(size)
        moves = (model(changed)[:, -1] - before).abs()
        if moves.max() > 1e-4:
            return ids.shape[1] - s
    return 0
