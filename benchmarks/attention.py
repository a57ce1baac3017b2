"""Attention: the fused path against the one written out, in time and in memory."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks.memory import peak_bytes
from benchmarks.models import HEAD_SIZE
from benchmarks.rows import Asked, Row, Setting, measured
from benchmarks.timing import compare
from transformer_ref import causal_mask, fused_attention, scaled_dot_product_attention

MIB = 2**20


def time(setting: Setting, *, batch: int = 4, heads: int = 8, length: int = 1024) -> list[Row]:
    """Time attention written out over the fused one: causal, forward only."""
    torch.manual_seed(0)
    query, key, value = torch.randn(3, batch, heads, length, HEAD_SIZE, device=setting.device)
    mask = causal_mask(length, setting.device)

    @torch.no_grad()
    def explicit() -> Tensor:
        return scaled_dot_product_attention(query, key, value, mask)[0]

    @torch.no_grad()
    def fused() -> Tensor:
        return fused_attention(query, key, value, is_causal=True)

    torch.testing.assert_close(explicit(), fused(), rtol=1e-3, atol=1e-3)
    return [
        measured(
            "attention",
            setting.device,
            f"attention written out, causal, forward: B={batch}, T={length}, {heads} heads, "
            f"K={HEAD_SIZE}, float32",
            "fused attention",
            compare(explicit, fused, setting.device, setting.repetitions),
            Asked(">=", 3.0),
        )
    ]


def memory(setting: Setting, *, batch: int = 1, heads: int = 8, length: int = 4096) -> list[Row]:
    """Measure the peak memory of attention beyond what goes in and what comes out.

    The smallest tensor of shape (B, H, T, T) is a boolean one:
    whoever stays below its size has made none.
    The boolean mask is (1, 1, T, T), and the CPU kernel makes floats of that shape from it.
    """
    torch.manual_seed(0)
    shape = (batch, heads, length, HEAD_SIZE)
    query, key, value = inputs = [
        torch.randn(shape, device=setting.device, requires_grad=True) for _ in range(3)
    ]
    mask = causal_mask(length, setting.device)
    smallest = Asked("<=", batch * heads * length**2 / MIB)

    def causal() -> tuple[Tensor, ...]:
        return (fused_attention(query, key, value, is_causal=True),)

    def masked() -> tuple[Tensor, ...]:
        return (fused_attention(query, key, value, mask),)

    def written_out() -> tuple[Tensor, ...]:
        return (scaled_dot_product_attention(query, key, value, mask)[0],)

    def with_backward() -> tuple[Tensor, ...]:
        (output,) = causal()
        return output, *torch.autograd.grad(output, inputs, grad_outputs=query.detach())

    forward = torch.no_grad()
    results = "inputs and output"
    cases: list[tuple[str, str, Callable[[], tuple[Tensor, ...]], Asked | None]] = [
        ("fused, only causal, forward", results, forward(causal), Asked("<=", 20.0)),
        ("fused, boolean mask, forward", results, forward(masked), smallest),
        ("written out, boolean mask, forward", results, forward(written_out), None),
        (
            "fused, only causal, forward and backward",
            "inputs, output and gradients",
            with_backward,
            smallest,
        ),
    ]
    return [
        measured(
            "memory",
            setting.device,
            f"peak memory of attention, {name}: B={batch}, T={length}, {heads} heads, "
            f"K={HEAD_SIZE}, float32",
            f"{against} alone",
            peak_bytes(function, setting.device) / MIB,
            asked,
            unit="MiB more",
        )
        for name, against, function, asked in cases
    ]
