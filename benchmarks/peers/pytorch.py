"""torch's own attention, layers and Transformer with the weights of ours, to compare results.

``copy_weights(ours, theirs)`` makes a pair compute the same function; ``pairs`` says which
parameters stand for which, for copying and for comparing gradients alike.
torch's masks say True = blocked: ``blocked`` turns ours round.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from transformer_ref import (
    DecoderLayer,
    EncoderLayer,
    MultiHeadAttention,
    Transformer,
    TransformerConfig,
    sinusoidal_encoding,
)

Pair = tuple[str, list[Tensor], Tensor]


class TorchTransformer(nn.Module):
    """Embeddings, nn.Transformer and output projection: what `Transformer` is, made of torch's.

    As in ours, a post-norm stack ends without a LayerNorm of its own.
    """

    table: Tensor

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.pad_id = config.pad_id
        self.scale = math.sqrt(config.d_model)
        self.src_embedding = nn.Embedding(config.src_vocab_size, config.d_model, config.pad_id)
        self.tgt_embedding = nn.Embedding(config.tgt_vocab_size, config.d_model, config.pad_id)
        self.register_buffer("table", sinusoidal_encoding(config.max_len, config.d_model))
        with warnings.catch_warnings():  # on nested tensors, which training does not use
            warnings.simplefilter("ignore")
            self.transformer = nn.Transformer(
                config.d_model,
                config.num_heads,
                config.num_encoder_layers,
                config.num_decoder_layers,
                config.d_ff,
                config.dropout,
                batch_first=True,
                norm_first=config.norm == "pre",
            )
        if config.norm == "post":
            self.transformer.encoder.norm = self.transformer.decoder.norm = None
        self.output_proj = nn.Linear(config.d_model, config.tgt_vocab_size, bias=False)

    def embed(self, embedding: nn.Embedding, ids: Tensor) -> Tensor:
        """Scaled rows plus positions: (B, T) ids to (B, T, D)."""
        return embedding(ids) * self.scale + self.table[: ids.shape[1]].to(embedding.weight.dtype)

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Logits (B, T, V), padding and future hidden as in ours."""
        length = tgt_in.shape[1]
        future = torch.ones(length, length, dtype=torch.bool, device=src.device).triu(1)
        hidden = self.transformer(
            self.embed(self.src_embedding, src),
            self.embed(self.tgt_embedding, tgt_in),
            tgt_mask=future,
            src_key_padding_mask=src == self.pad_id,
            tgt_key_padding_mask=tgt_in == self.pad_id,
            memory_key_padding_mask=src == self.pad_id,
        )
        return self.output_proj(hidden)


def blocked(mask: Tensor | None, batch: int, heads: int, length: int, source: int) -> Tensor | None:
    """Our mask, of any shape that broadcasts, as torch's ``attn_mask`` (B*H, T, S)."""
    if mask is None:
        return None
    return ~mask.expand(batch, heads, length, source).reshape(batch * heads, length, source)


def pairs(ours: nn.Module, theirs: Any) -> Iterator[Pair]:
    """Say which parameters of ours, stacked, are which parameter of torch's."""
    if isinstance(ours, MultiHeadAttention):
        yield from _attention(ours, theirs)
    elif isinstance(ours, EncoderLayer):
        yield from _within("self_attention", ours.self_attention, theirs.self_attn)
        yield from _feed_forward(ours, theirs)
        yield from _named(ours, theirs, "norm1", "norm2")
    elif isinstance(ours, DecoderLayer):
        yield from _within("self_attention", ours.self_attention, theirs.self_attn)
        yield from _within("cross_attention", ours.cross_attention, theirs.multihead_attn)
        yield from _feed_forward(ours, theirs)
        yield from _named(ours, theirs, "norm1", "norm2", "norm3")
    elif isinstance(ours, Transformer):
        for stack in ("encoder", "decoder"):
            mine, other = getattr(ours, stack), getattr(theirs.transformer, stack)
            for index, (layer, twin) in enumerate(zip(mine.layers, other.layers, strict=True)):
                yield from _within(f"{stack}.{index}", layer, twin)
            if ours.config.norm == "pre":
                yield from _named(mine, other, "norm")
        for name in ("src_embedding", "tgt_embedding", "output_proj"):
            yield name, [getattr(ours, name).weight], getattr(theirs, name).weight
    else:
        raise TypeError(f"no twin of {type(ours).__name__} is known")


def _attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> Iterator[Pair]:
    inputs = (ours.q_proj, ours.k_proj, ours.v_proj)
    yield "in_proj.weight", [linear.weight for linear in inputs], theirs.in_proj_weight
    yield "in_proj.bias", [linear.bias for linear in inputs], theirs.in_proj_bias
    yield from _named(ours, theirs, "out_proj")


def _feed_forward(ours: EncoderLayer | DecoderLayer, theirs: Any) -> Iterator[Pair]:
    yield from _named(ours.feed_forward, theirs, "linear1", "linear2")


def _named(ours: nn.Module, theirs: nn.Module, *names: str) -> Iterator[Pair]:
    for name in names:
        mine, other = getattr(ours, name), getattr(theirs, name)
        yield f"{name}.weight", [mine.weight], other.weight
        if mine.bias is not None:
            yield f"{name}.bias", [mine.bias], other.bias


def _within(prefix: str, ours: nn.Module, theirs: nn.Module) -> Iterator[Pair]:
    for name, mine, other in pairs(ours, theirs):
        yield f"{prefix}.{name}", mine, other


@torch.no_grad()
def copy_weights(ours: nn.Module, theirs: nn.Module) -> None:
    """Give torch's module the weights of ours.

    Raises:
        ValueError: if a parameter of either side has no partner.
    """
    matched = list(pairs(ours, theirs))
    for ours_or_theirs, module, found in (
        ("ours", ours, {id(p) for _, mine, _ in matched for p in mine}),
        ("theirs", theirs, {id(other) for _, _, other in matched}),
    ):
        missed = [name for name, p in module.named_parameters() if id(p) not in found]
        if missed:
            raise ValueError(f"no partner for {missed} of {ours_or_theirs}")
    for _, mine, other in matched:
        other.copy_(torch.cat(mine))


def twins(ours: nn.Module, theirs: nn.Module) -> tuple[nn.Module, nn.Module]:
    """Draw every parameter of ours anew, biases and norms too, and copy them into torch's."""
    for parameter in ours.parameters():
        nn.init.normal_(parameter, std=0.3)
    copy_weights(ours, theirs)
    return ours, theirs


def assert_same_gradients(ours: nn.Module, theirs: nn.Module, tolerance: float) -> None:
    """Compare the gradients of all parameters after a backward pass on both sides."""
    for name, mine, other in pairs(ours, theirs):
        gradients = [p.grad for p in (*mine, other) if p.grad is not None]
        if len(gradients) <= len(mine):
            raise AssertionError(f"{name} got no gradient")
        try:
            torch.testing.assert_close(
                torch.cat(gradients[:-1]), gradients[-1], rtol=tolerance, atol=tolerance
            )
        except AssertionError as error:
            raise AssertionError(f"gradient of {name}: {error}") from None
