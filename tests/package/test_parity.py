"""Outputs and gradients are those of torch's own modules with the same weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from benchmarks.peers.pytorch import TorchTransformer, assert_same_gradients, blocked, twins
from tests.package.examples import (
    BATCH,
    D_FF,
    D_MODEL,
    HEADS,
    MASKS,
    PAD,
    SOURCE,
    TARGET,
    TOLERANCES,
    make_mask,
    projection,
    small_batch,
    small_config,
)
from transformer_ref import (
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    MultiHeadAttention,
    Transformer,
    sequence_loss,
)

DTYPES = pytest.mark.parametrize("dtype", TOLERANCES, ids=["float32", "float64"])
NORMS = pytest.mark.parametrize("norm", ["post", "pre"])


def random_input(length: int, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    """Two equal leaves (B, length, D) that need gradients, one for each side."""
    x = torch.randn(BATCH, length, D_MODEL, dtype=dtype, device=device)
    return x.clone().requires_grad_(), x.clone().requires_grad_()


def assert_same(ours: Tensor, theirs: Tensor) -> None:
    tolerance = TOLERANCES[ours.dtype]
    torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


def assert_same_step(
    ours: nn.Module,
    theirs: nn.Module,
    outputs: tuple[Tensor, Tensor],
    inputs: list[tuple[Tensor, Tensor]],
) -> None:
    """Compare the outputs, then the gradients of the inputs and of every parameter."""
    assert_same(*outputs)
    weights = projection(*outputs[0].shape, dtype=outputs[0].dtype, device=outputs[0].device)
    for output in outputs:
        (output * weights).sum().backward()
    for mine, other in inputs:
        assert_same(mine.grad, other.grad)
    assert_same_gradients(ours, theirs, TOLERANCES[outputs[0].dtype])


@DTYPES
@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("need_weights", [False, True], ids=["fused", "explicit"])
def test_multi_head_attention(
    device: torch.device, dtype: torch.dtype, kind: str, need_weights: bool
) -> None:
    ours, theirs = twins(
        MultiHeadAttention(D_MODEL, HEADS).to(device, dtype),
        nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True).to(device, dtype),
    )
    query, key, value = (random_input(n, dtype, device) for n in (TARGET, SOURCE, SOURCE))
    mask = make_mask(kind, TARGET, SOURCE, device)
    expected, expected_weights = theirs(
        query[1],
        key[1],
        value[1],
        attn_mask=blocked(mask, BATCH, HEADS, TARGET, SOURCE),
        need_weights=need_weights,
        average_attn_weights=False,
    )
    output = ours(query[0], key[0], value[0], mask, need_weights=need_weights)
    if need_weights:
        output, weights = output
        assert_same(weights, expected_weights)
    assert_same_step(ours, theirs, (output, expected), [query, key, value])


@DTYPES
@NORMS
@pytest.mark.parametrize("kind", MASKS)
def test_encoder_layer(device: torch.device, dtype: torch.dtype, norm: str, kind: str) -> None:
    ours, theirs = twins(
        EncoderLayer(D_MODEL, HEADS, D_FF, norm=norm).to(device, dtype),
        nn.TransformerEncoderLayer(
            D_MODEL, HEADS, D_FF, dropout=0.0, batch_first=True, norm_first=norm == "pre"
        ).to(device, dtype),
    )
    x = random_input(SOURCE, dtype, device)
    mask = make_mask(kind, SOURCE, SOURCE, device)
    expected = theirs(x[1], src_mask=blocked(mask, BATCH, HEADS, SOURCE, SOURCE))
    assert_same_step(ours, theirs, (ours(x[0], mask), expected), [x])


@pytest.mark.parametrize(
    ("activation", "theirs"),
    [
        ("relu", nn.functional.relu),
        ("gelu", nn.GELU(approximate="tanh")),
        ("gelu_exact", nn.functional.gelu),
    ],
)
def test_activations(activation: Any, theirs: Any) -> None:
    layer = FeedForward(D_MODEL, D_FF, activation=activation).double()
    x = 3 * torch.randn(BATCH, TARGET, D_MODEL, dtype=torch.float64)
    assert_same(layer(x), layer.linear2(theirs(layer.linear1(x))))


@DTYPES
@NORMS
@pytest.mark.parametrize("tgt_kind", MASKS)
@pytest.mark.parametrize("memory_kind", MASKS)
def test_decoder_layer(
    device: torch.device, dtype: torch.dtype, norm: str, tgt_kind: str, memory_kind: str
) -> None:
    ours, theirs = twins(
        DecoderLayer(D_MODEL, HEADS, D_FF, norm=norm).to(device, dtype),
        nn.TransformerDecoderLayer(
            D_MODEL, HEADS, D_FF, dropout=0.0, batch_first=True, norm_first=norm == "pre"
        ).to(device, dtype),
    )
    x, memory = (random_input(n, dtype, device) for n in (TARGET, SOURCE))
    tgt_mask = make_mask(tgt_kind, TARGET, TARGET, device)
    memory_mask = make_mask(memory_kind, TARGET, SOURCE, device)
    expected = theirs(
        x[1],
        memory[1],
        tgt_mask=blocked(tgt_mask, BATCH, HEADS, TARGET, TARGET),
        memory_mask=blocked(memory_mask, BATCH, HEADS, TARGET, SOURCE),
    )
    output = ours(x[0], memory[0], tgt_mask, memory_mask)
    assert_same_step(ours, theirs, (output, expected), [x, memory])


@DTYPES
@NORMS
@pytest.mark.parametrize("padded", [True, False], ids=["padded", "full"])
def test_transformer(device: torch.device, dtype: torch.dtype, norm: str, padded: bool) -> None:
    config = small_config(norm=norm)
    ours, theirs = twins(
        Transformer(config).to(device, dtype), TorchTransformer(config).to(device, dtype)
    )
    src, tgt = small_batch(device, config)
    if not padded:
        src, tgt = src.clamp(min=1), tgt.clamp(min=1)
    real = tgt != PAD  # elsewhere there is no label, and theirs hides padding from padding
    assert_same_step(ours, theirs, (ours(src, tgt)[real], theirs(src, tgt)[real]), [])


@DTYPES
@NORMS
@pytest.mark.parametrize("kind", MASKS)
def test_stacks_with_every_mask(
    device: torch.device, dtype: torch.dtype, norm: str, kind: str
) -> None:
    """Encoder and decoder stacks against nn.Transformer, the same kind of mask in all places."""
    config = small_config(norm=norm)
    ours, theirs = twins(
        Transformer(config).to(device, dtype), TorchTransformer(config).to(device, dtype)
    )
    x, y = (random_input(n, dtype, device) for n in (SOURCE, TARGET))
    masks = [
        make_mask(kind, length, source, device)
        for length, source in ((SOURCE, SOURCE), (TARGET, TARGET), (TARGET, SOURCE))
    ]
    expected = theirs.transformer(
        x[1],
        y[1],
        src_mask=blocked(masks[0], BATCH, HEADS, SOURCE, SOURCE),
        tgt_mask=blocked(masks[1], BATCH, HEADS, TARGET, TARGET),
        memory_mask=blocked(masks[2], BATCH, HEADS, TARGET, SOURCE),
    )
    output = ours.decoder(y[0], ours.encoder(x[0], masks[0]), masks[1], masks[2])
    assert_same(output, expected)
    for result in (output, expected):
        (result * result.detach().cos()).sum().backward()
    for mine, other in (x, y):
        assert_same(mine.grad, other.grad)
    for stack in ("encoder", "decoder"):
        layers = zip(
            getattr(ours, stack).layers, getattr(theirs.transformer, stack).layers, strict=True
        )
        for mine, other in layers:
            assert_same_gradients(mine, other, TOLERANCES[dtype])


@NORMS
def test_training_steps_stay_together(device: torch.device, norm: str) -> None:
    """Five steps of SGD on the same batch end with the same loss."""
    config = small_config(norm=norm)
    modules = twins(
        Transformer(config).to(device, torch.float64),
        TorchTransformer(config).to(device, torch.float64),
    )
    src, tgt = small_batch(device, config)
    losses = []
    for module in modules:
        optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
        for _ in range(5):
            optimizer.zero_grad()
            loss = sequence_loss(module(src, tgt[:, :-1]), tgt[:, 1:], config.pad_id)
            loss.backward()
            optimizer.step()
        losses.append(loss.detach())
    assert_same(*losses)
