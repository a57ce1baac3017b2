"""What is measured: each case makes two functions that compute the same, and says what is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.timing import Ratio, compare
from tests.package.torch_parity import TorchTransformer, copy_weights
from transformer_ref import (
    Transformer,
    TransformerConfig,
    causal_mask,
    fused_attention,
    scaled_dot_product_attention,
)


@dataclass(frozen=True)
class Result:
    """One row of the report.

    Attributes:
        what: what stands above the line of the ratio.
        against: what stands below it.
        asked: the bound, like "<= 1.05".
        met: whether the median keeps it.
        device: where it was measured.
        ratio: what was measured.
    """

    what: str
    against: str
    asked: str
    met: bool
    device: str
    ratio: Ratio

    def as_dict(self) -> dict[str, object]:
        """The fields as plain values, for JSON."""
        return asdict(self)


def judged(
    what: str, against: str, bound: Literal["<=", ">="], limit: float, device: str, ratio: Ratio
) -> Result:
    """Hold a ratio against what is asked."""
    met = ratio.median <= limit if bound == "<=" else ratio.median >= limit
    return Result(what, against, f"{bound} {limit:g}", met, device, ratio)


def training_step(model: nn.Module, batch: tuple[torch.Tensor, ...]) -> Callable[[], object]:
    """Forward and backward of a teacher-forced batch."""
    src, tgt_in, labels = batch

    def step() -> None:
        model.zero_grad(set_to_none=True)
        logits = model(src, tgt_in)
        F.cross_entropy(logits.flatten(0, 1), labels.flatten()).backward()

    return step


def transformer(
    device: torch.device,
    repetitions: int,
    *,
    d_model: int = 512,
    num_layers: int = 6,
    vocab_size: int = 8000,
    batch: int = 16,
    length: int = 64,
) -> Result:
    """Forward and backward of `Transformer` over those of torch's, with the same weights."""
    torch.manual_seed(0)
    config = TransformerConfig(
        vocab_size,
        vocab_size,
        d_model=d_model,
        num_encoder_layers=num_layers,
        num_decoder_layers=num_layers,
        d_ff=4 * d_model,
        dropout=0.0,
    )
    ours, theirs = Transformer(config).to(device), TorchTransformer(config).to(device)
    copy_weights(ours, theirs)
    src, tgt_in, labels = torch.randint(1, vocab_size, (3, batch, length), device=device)
    src[0, length // 2 :] = tgt_in[0, length // 2 :] = config.pad_id
    with torch.no_grad():
        torch.testing.assert_close(ours(src, tgt_in), theirs(src, tgt_in), rtol=1e-3, atol=1e-3)
    batches = src, tgt_in, labels
    our_step, their_step = (training_step(model.train(), batches) for model in (ours, theirs))
    return judged(
        f"Transformer, forward and backward: d={d_model}, 8 heads, {num_layers}+{num_layers} "
        f"layers, V={vocab_size}, B={batch}, T={length}, no dropout, float32",
        "torch.nn.Transformer with the same embeddings and projection",
        "<=",
        1.05,
        str(device),
        compare(our_step, their_step, device, repetitions),
    )


def attention(
    device: torch.device, repetitions: int, *, batch: int = 4, heads: int = 8, length: int = 1024
) -> Result:
    """Attention written out over the fused one: causal, forward only."""
    torch.manual_seed(0)
    query, key, value = torch.randn(3, batch, heads, length, 64, device=device)
    mask = causal_mask(length, device)

    @torch.no_grad()
    def explicit() -> torch.Tensor:
        return scaled_dot_product_attention(query, key, value, mask)[0]

    @torch.no_grad()
    def fused() -> torch.Tensor:
        return fused_attention(query, key, value, is_causal=True)

    torch.testing.assert_close(explicit(), fused(), rtol=1e-3, atol=1e-3)
    return judged(
        f"attention written out, causal, forward: B={batch}, T={length}, {heads} heads, K=64, "
        "no dropout, float32",
        "fused attention",
        ">=",
        3.0,
        str(device),
        compare(explicit, fused, device, repetitions),
    )
