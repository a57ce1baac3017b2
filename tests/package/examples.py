"""Shapes, masks and small models that several tests use; every size differs from every other."""

from __future__ import annotations

import torch
from torch import Tensor

from transformer_ref import Transformer, TransformerConfig

BATCH, HEADS, TARGET, SOURCE, HEAD_SIZE = 2, 3, 5, 7, 4
D_MODEL = HEADS * HEAD_SIZE
D_FF = 20
PAD = 0

MASKS = ("none", "padding", "causal", "both", "per_head")
TOLERANCES = {torch.float32: 1e-5, torch.float64: 1e-10}


def make_mask(
    kind: str, length: int, source: int, device: torch.device, batch: int = BATCH
) -> Tensor | None:
    """A mask of one of MASKS in which each query may see at least one key."""
    padding = torch.ones(batch, 1, 1, source, dtype=torch.bool, device=device)
    padding[-1, ..., source - 2 :] = False
    causal = torch.ones(1, 1, length, source, dtype=torch.bool, device=device).tril()
    if kind == "per_head":
        per_head = torch.rand(batch, HEADS, length, source, device=device) < 0.5
        per_head[..., 1] = True
        return per_head
    return {"none": None, "padding": padding, "causal": causal, "both": padding & causal}[kind]


def projection(*shape: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Fixed random weights that turn an output into a scalar, so that all gradients differ."""
    return torch.randn(*shape, dtype=dtype, device=device)


def small_config(**changes: object) -> TransformerConfig:
    """A model of a few thousand weights; source and target vocabularies differ."""
    sizes = {
        "src_vocab_size": 23,
        "tgt_vocab_size": 19,
        "d_model": D_MODEL,
        "num_heads": HEADS,
        "num_encoder_layers": 2,
        "num_decoder_layers": 3,
        "d_ff": D_FF,
        "dropout": 0.0,
        "max_len": 16,
    }
    return TransformerConfig(**(sizes | changes))


def small_model(device: torch.device | str = "cpu", **changes: object) -> Transformer:
    """A small model in eval mode."""
    return Transformer(small_config(**changes)).to(device).eval()


def small_batch(device: torch.device | str, config: TransformerConfig) -> tuple[Tensor, Tensor]:
    """Source (B, S) and target (B, T) ids, the last row of each padded at its end."""
    src = torch.randint(1, config.src_vocab_size, (BATCH, SOURCE), device=device)
    tgt = torch.randint(1, config.tgt_vocab_size, (BATCH, TARGET), device=device)
    src[-1, -2:] = tgt[-1, -1:] = PAD
    return src, tgt
