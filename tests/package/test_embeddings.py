"""Embeddings: scaled look-up, the padding row, and logits from the same matrix."""

from __future__ import annotations

import math

import pytest
import torch

from transformer_ref import TokenEmbedding, tied_logits
from transformer_ref.embeddings import embedding_from_pretrained


def test_rows_are_scaled_by_the_root_of_d(device: torch.device) -> None:
    embedding = TokenEmbedding(11, 6, pad_id=0).to(device)
    ids = torch.tensor([[3, 10, 3]], device=device)
    expected = embedding.weight[torch.tensor([3, 10, 3])][None] * math.sqrt(6)
    torch.testing.assert_close(embedding(ids), expected)


def test_int32_ids_are_taken(device: torch.device) -> None:
    embedding = TokenEmbedding(11, 6).to(device)
    ids = torch.tensor([[3, 10]], device=device)
    assert torch.equal(embedding(ids.int()), embedding(ids))


@pytest.mark.parametrize("pad_id", [0, 4])
def test_padding_row_is_zero_and_gets_no_gradient(device: torch.device, pad_id: int) -> None:
    embedding = TokenEmbedding(11, 6, pad_id=pad_id).to(device)
    ids = torch.tensor([[pad_id, 3]], device=device)
    output = embedding(ids)
    output.sum().backward()
    assert torch.all(output[0, 0] == 0)
    assert torch.all(embedding.weight.grad[pad_id] == 0)
    assert torch.all(embedding.weight.grad[3] == math.sqrt(6))


def test_no_padding_row() -> None:
    assert torch.all(TokenEmbedding(11, 64, pad_id=None).weight.abs().sum(dim=1) > 0)


@pytest.mark.parametrize(("init_std", "expected"), [(None, 1 / 256), (0.02, 0.02)])
def test_first_rows_have_the_asked_spread(init_std: float | None, expected: float) -> None:
    embedding = TokenEmbedding(500, 256, init_std=init_std)
    assert embedding.weight[1:].std().item() == pytest.approx(expected, rel=0.02)


def test_reset_draws_anew_and_keeps_the_padding_row_zero() -> None:
    embedding = TokenEmbedding(11, 6, pad_id=2)
    before = embedding.weight.detach().clone()
    torch.nn.init.ones_(embedding.weight)
    embedding.reset_parameters()
    assert torch.all(embedding.weight[2] == 0)
    assert not torch.equal(embedding.weight, before)
    assert embedding.weight.requires_grad


def test_tied_logits_are_products_with_each_row(device: torch.device) -> None:
    hidden = torch.randn(2, 3, 6, device=device)
    weight = torch.randn(11, 6, device=device)
    expected = torch.einsum("btd,vd->btv", hidden, weight)
    torch.testing.assert_close(tied_logits(hidden, weight), expected)


@pytest.mark.parametrize("trainable", [False, True])
def test_pretrained_rows_are_looked_up_as_they_came(device: torch.device, trainable: bool) -> None:
    vectors = torch.randn(5, 3, dtype=torch.float64, device=device)
    embedding = embedding_from_pretrained(vectors, trainable, pad_id=2)
    assert type(embedding) is torch.nn.Embedding
    assert embedding.weight.requires_grad == trainable
    ids = torch.tensor([[4, 2, 0]], device=device)
    assert torch.equal(embedding(ids), vectors[[4, 2, 0]][None])


def test_tuning_moves_all_pretrained_rows_but_that_of_padding(device: torch.device) -> None:
    vectors = torch.randn(5, 3, device=device)
    before = vectors.clone()
    embedding = embedding_from_pretrained(vectors, trainable=True, pad_id=2)
    optimizer = torch.optim.SGD(embedding.parameters(), lr=0.5)
    embedding(torch.tensor([[4, 2, 0]], device=device)).sum().backward()
    optimizer.step()
    moved = (embedding.weight - before).tolist()
    for row, by in enumerate([-0.5, 0.0, 0.0, 0.0, -0.5]):
        assert moved[row] == pytest.approx([by] * 3)
    assert torch.equal(vectors, before)


def test_without_padding_every_pretrained_row_learns() -> None:
    embedding = embedding_from_pretrained(torch.randn(5, 3), trainable=True, pad_id=None)
    embedding(torch.arange(5)).sum().backward()
    assert torch.all(embedding.weight.grad == 1)


def test_vectors_that_a_model_still_learns_are_taken() -> None:
    vectors = torch.nn.Parameter(torch.randn(5, 3))
    embedding = embedding_from_pretrained(vectors, trainable=True, pad_id=None)
    embedding(torch.arange(5)).sum().backward()
    assert vectors.grad is None
