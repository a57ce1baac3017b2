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


def lm_batch(
    ids: Tensor,
    block_size: int,
    starts: list[int] | Tensor,
) -> tuple[Tensor, Tensor]:
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


def load_gpt2(model, weights: dict[str, Tensor]) -> list[str]:
    """Copy the weights of a GPT-2 file into a model of the package.

    Args:
        model: a GPT of the package, with a tied output.
        weights: the file, tensors by name.

    Returns:
        The names in the file that were not used, sorted.
    """
    parts = {"wte": "embedding.embedding", "wpe": "positions", "ln_f": "norm"}
    for n in range(len(model.layers)):
        parts[f"h.{n}.ln_1"] = f"layers.{n}.norm1"
        parts[f"h.{n}.attn.c_attn"] = f"layers.{n}.self_attention"
        parts[f"h.{n}.attn.c_proj"] = f"layers.{n}.self_attention.out_proj"
        parts[f"h.{n}.ln_2"] = f"layers.{n}.norm2"
        parts[f"h.{n}.mlp.c_fc"] = f"layers.{n}.feed_forward.linear1"
        parts[f"h.{n}.mlp.c_proj"] = f"layers.{n}.feed_forward.linear2"
    own = dict(model.named_parameters())
    unused = []
    with torch.no_grad():
        for name, weight in weights.items():
            theirs, _, kind = name.rpartition(".")
            if theirs not in parts:
                unused.append(name)
                continue
            if ".c_" in name:
                weight = weight.t()  # (in, out) to (out, in); a bias stays as it is
            if theirs.endswith("c_attn"):
                for letter, third in zip("qkv", weight.chunk(3), strict=True):
                    own[f"{parts[theirs]}.{letter}_proj.{kind}"].copy_(third)
            else:
                own[f"{parts[theirs]}.{kind}"].copy_(weight)
    return sorted(unused)


def largest_batch(
    vocab_size: int,
    d_model: int,
    num_heads: int,
    d_ff: int,
    num_layers: int,
    max_len: int,
    memory: int,
) -> int:
    """Count the texts whose keys and values fit beside the weights.

    Args:
        vocab_size: V.
        d_model: D.
        num_heads: H.
        d_ff: hidden features of the feed-forward networks.
        num_layers: N.
        max_len: tokens of each text.
        memory: in bytes; each number takes 2.

    Returns:
        The largest number of texts; 0 if not even one fits.
    """
    attention = 4 * (d_model**2 + d_model)
    network = 2 * d_model * d_ff + d_ff + d_model
    norms = 2 * 2 * d_model
    weights = (vocab_size + max_len) * d_model  # the output is tied
    weights += num_layers * (attention + network + norms) + 2 * d_model
    kept = 2 * num_layers * max_len * d_model  # a key and a value, all heads together
    return max(0, (memory - 2 * weights) // (2 * kept))


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
