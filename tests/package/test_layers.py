"""Layers: where dropout and the norms stand, and who may see whom."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from tests.package.examples import BATCH, D_FF, D_MODEL, HEADS, SOURCE, TARGET, make_mask
from transformer_ref import DecoderLayer, EncoderLayer, FeedForward


def call(layer: nn.Module, device: torch.device) -> Tensor:
    x = torch.randn(BATCH, TARGET, D_MODEL, device=device)
    memory = torch.randn(BATCH, SOURCE, D_MODEL, device=device)
    return layer(x, memory) if isinstance(layer, DecoderLayer) else layer(x)


def test_feed_forward_takes_any_leading_axes(device: torch.device) -> None:
    ffn = FeedForward(D_MODEL, D_FF).to(device)
    assert ffn(torch.randn(D_MODEL, device=device)).shape == (D_MODEL,)
    assert ffn(torch.randn(2, 3, 4, D_MODEL, device=device)).shape == (2, 3, 4, D_MODEL)


@pytest.mark.parametrize("kind", [EncoderLayer, DecoderLayer])
def test_post_norm_ends_normalised_and_pre_norm_keeps_the_residual(
    device: torch.device, kind: type
) -> None:
    post = call(kind(D_MODEL, HEADS, D_FF).to(device), device)
    torch.testing.assert_close(
        post.mean(-1), torch.zeros(BATCH, TARGET, device=device), rtol=0, atol=1e-5
    )
    pre = kind(D_MODEL, HEADS, D_FF, norm="pre").to(device)
    for name, parameter in pre.named_parameters():
        if "out_proj" in name or "linear2" in name:
            nn.init.zeros_(parameter)
    x = torch.randn(BATCH, TARGET, D_MODEL, device=device)
    assert torch.equal(pre(x, x) if kind is DecoderLayer else pre(x), x)


def test_pre_norm_leaves_the_memory_as_it_is(device: torch.device) -> None:
    """Cross-attention sees the memory's scale, which a norm would take away."""
    layer = DecoderLayer(D_MODEL, HEADS, D_FF, norm="pre").to(device)
    x, memory = torch.randn(2, BATCH, TARGET, D_MODEL, device=device)
    assert not torch.allclose(layer(x, memory), layer(x, 3.0 * memory), atol=1e-2)


@pytest.mark.parametrize("kind", [EncoderLayer, DecoderLayer])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_dropout_stands_before_each_residual_sum(
    device: torch.device, kind: type, norm: str
) -> None:
    """With nearly everything dropped, each sublayer adds nothing and the residual stays.

    The biases stand behind the inner dropouts: only the one before the sum can drop them.
    """
    layer = kind(D_MODEL, HEADS, D_FF, dropout=1 - 1e-6, norm=norm).to(device).train()
    for name, parameter in layer.named_parameters():
        if name.endswith(("out_proj.bias", "linear2.bias")):
            nn.init.normal_(parameter)
    x = torch.randn(BATCH, TARGET, D_MODEL, device=device)
    memory = torch.randn(BATCH, SOURCE, D_MODEL, device=device)
    result = layer(x, memory) if kind is DecoderLayer else layer(x)
    expected = x
    if norm == "post":
        for _ in range(3 if kind is DecoderLayer else 2):
            expected = nn.functional.layer_norm(expected, (D_MODEL,))
    torch.testing.assert_close(result, expected)


@pytest.mark.parametrize("kind", [EncoderLayer, DecoderLayer])
def test_all_dropouts_have_the_one_rate(kind: type) -> None:
    layer = kind(D_MODEL, HEADS, D_FF, dropout=0.25)
    rates = [module.p for module in layer.modules() if isinstance(module, nn.Dropout)]
    rates += [module.dropout for name, module in layer.named_children() if "attention" in name]
    assert len(rates) == (4 if kind is DecoderLayer else 3)
    assert set(rates) == {0.25}


def test_feed_forward_drops_inside(device: torch.device) -> None:
    ffn = FeedForward(D_MODEL, D_FF, dropout=0.5).to(device)
    x = torch.randn(BATCH, TARGET, D_MODEL, device=device)
    assert not torch.equal(ffn(x), ffn(x))
    # What is dropped is the hidden layer: no output feature is exactly its bias, 0.
    assert torch.all(ffn(x) != 0)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_is_causal_equals_the_causal_mask(device: torch.device, norm: str) -> None:
    layer = EncoderLayer(D_MODEL, HEADS, D_FF, norm=norm).to(device, torch.float64)
    x = torch.randn(BATCH, SOURCE, D_MODEL, dtype=torch.float64, device=device)
    masked = layer(x, make_mask("causal", SOURCE, SOURCE, device))
    torch.testing.assert_close(layer(x, is_causal=True), masked, rtol=1e-10, atol=1e-10)
    assert not torch.allclose(layer(x), masked)
