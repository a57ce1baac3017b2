"""The assignment "embeddings": its answers against the package, and what its checks say."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.checks.exams import faults, run
from transformer_checks import embeddings as reference
from transformer_checks import grade
from transformer_checks.assignments.embeddings.cases import FAINT, known_dead, row_gradients
from transformer_checks.judging.exam import make_exam
from transformer_ref import embeddings as package
from transformer_ref import word2vec

SKIPGRAM = "embeddings.skipgram_pairs"
LOSS = "embeddings.negative_sampling_loss"
NEIGHBOURS = "embeddings.nearest_neighbours"
PRETRAINED = "embeddings.embedding_from_pretrained"
GRADIENT = "embeddings.ids_from_gradient"
BUG = "embeddings.find_the_bug"
DEAD = "embeddings.dead_rows"


# --- the answers -----------------------------------------------------------------------------


def test_the_look_up_is_that_of_the_package():
    embedding = package.TokenEmbedding(7, 6, pad_id=None)
    ids = torch.randint(7, (2, 5))
    torch.testing.assert_close(embedding(ids), reference.embed(ids, embedding.weight))


@pytest.mark.parametrize("seed", range(3))
def test_windows_are_those_of_the_package(seed):
    for case in make_exam(SKIPGRAM, seed).cases:
        ids, window = case.arguments["ids"], case.arguments["window"]
        words = torch.tensor(ids, dtype=torch.int64)
        sentence, reach = torch.zeros_like(words), torch.full_like(words, window)
        contexts, mask = word2vec.context_windows(words, sentence, reach)
        kept = [row[seen].tolist() for row, seen in zip(contexts, mask, strict=True)]
        pairs = [(c, each) for contexts, c in zip(kept, ids, strict=True) for each in contexts]
        assert reference.skipgram_pairs(ids, window) == pairs


@pytest.mark.parametrize(
    ("key", "function"),
    [
        (LOSS, word2vec.negative_sampling_loss),
        (NEIGHBOURS, word2vec.nearest_neighbours),
        (PRETRAINED, package.embedding_from_pretrained),
    ],
)
def test_the_answers_are_those_of_the_package(key, function):
    exam = make_exam(key, 14)
    assert not any(faults(exam, run(exam, function)))


@pytest.mark.parametrize("seed", range(3))
def test_the_ids_are_those_that_autograd_saw(seed):
    exam = make_exam(GRADIENT, seed)
    for case, expected in zip(exam.cases, exam.expected, strict=True):
        weight = torch.zeros(case.arguments["gradient"].shape, dtype=torch.float64)
        ids = torch.tensor(expected.values["ids"], dtype=torch.int64)
        direction = torch.from_numpy(case.arguments["direction"]).double()
        (weight.requires_grad_()[ids] @ direction).sum().backward()
        np.testing.assert_allclose(weight.grad, case.arguments["gradient"], rtol=1e-4)


def test_the_first_loss_of_an_untrained_model_tells_the_bug():
    """As the exercise says: ln V without the bug, sqrt(D) and more with it."""
    torch.manual_seed(0)
    ids, weight = torch.randint(1000, (8, 33)), torch.randn(1000, 256) / 256
    logits = reference.language_model(ids[:, :-1], weight, torch.zeros(32, 256)).flatten(0, 1)
    labels = ids[:, 1:].flatten()
    assert abs(F.cross_entropy(logits, labels) - math.log(1000)) < 0.1
    assert F.cross_entropy(16 * logits, labels) > 15.5
    assert torch.equal(logits.argmax(-1), ids[:, :-1].flatten())


# --- the cases -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_the_neighbours_are_far_enough_apart_to_be_told(seed):
    for case in make_exam(NEIGHBOURS, seed).cases:
        weight = case.arguments["weight"].astype(np.float64)
        unit = weight / np.linalg.norm(weight, axis=1, keepdims=True)
        cosines = np.sort(unit @ unit[case.arguments["token_id"]])
        assert np.diff(cosines).min() > 1e-3
        assert 1 <= case.arguments["k"] < len(weight)


@pytest.mark.parametrize("seed", range(5))
def test_products_of_the_loss_reach_200(seed):
    sizes = set()
    for case in make_exam(LOSS, seed).cases:
        center = case.arguments["center"]
        product = (center * case.arguments["positive"]).sum(-1)
        drawn = (center[:, None] * case.arguments["negatives"]).sum(-1)
        if "products of" in case.name:
            np.testing.assert_allclose(np.abs(product), 200.0, rtol=1e-4)
            assert 130 < np.abs(drawn).min() <= np.abs(drawn).max() < 200.1
            sizes.add((product[0] > 0, drawn[0, 0] > 0))
        else:
            assert np.abs(drawn).max() < 30
    assert len(sizes) == 4


@pytest.mark.parametrize("seed", range(10))
def test_the_dead_rows_follow_from_how_the_loss_was_made(seed):
    exam = make_exam(DEAD, seed)
    for case, expected in zip(exam.cases, exam.expected, strict=True):
        dead = expected.values["rows"]
        assert dead == known_dead(case)
        living = np.delete(np.abs(row_gradients(case)).max(axis=-1), dead)
        assert living.min() > FAINT
    assert {0, 1} < {len(expected.values["rows"]) for expected in exam.expected}
    embeddings = [case.arguments["embedding"] for case in exam.cases]
    padding = [each["pad"] for each in embeddings if each["pad"] is not None]
    assert 0 in padding
    assert any(padding)
    assert len(padding) < len(embeddings)
    assert any(each["before"] is not None for each in embeddings)


# --- what is told ----------------------------------------------------------------------------


def test_a_loss_with_an_infinite_gradient_is_told():
    """Values are right: where() chooses the finite branch, and its gradient is NaN."""

    def log(x):
        return torch.where(x > -80, torch.log(torch.sigmoid(x)), x)

    def answer(center, positive, negatives):
        real = (center * positive).sum(-1)
        return -(log(real) + log(-(negatives @ center[..., None])[..., 0]).sum(-1)).mean()

    result = grade(LOSS, answer)
    assert result.score < 1.0
    assert "the gradient of `center`" in result.message


# --- modules that are returned ---------------------------------------------------------------


class Liar(nn.Embedding):
    """Shows one thing and trains another."""

    def forward(self, ids):
        raise RuntimeError("no")


class NoWeight(nn.Embedding):
    weight = property(lambda self: 3)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (lambda vectors: Liar.from_pretrained(vectors), "it raised RuntimeError: no"),
        (lambda vectors: nn.Embedding, "received a type"),
        (lambda vectors: nn.Linear(2, 2), "received a Linear"),
        (lambda vectors: nn.Embedding(0, 3), "expected shape"),
        (lambda vectors: object.__new__(NoWeight), "TypeError"),
        (lambda vectors: object.__new__(nn.Embedding), "AttributeError"),
    ],
)
def test_whatever_is_returned_for_a_module_is_judged(returned, said):
    result = grade(PRETRAINED, lambda vectors, trainable, pad_id: returned(vectors))
    assert result.score == 0.0
    assert said in result.message, result.message


# --- what may and may not be called ----------------------------------------------------------


def test_earlier_pieces_are_welcome():
    def answer(ids, weight, positions):
        hidden = F.layer_norm(reference.embed(ids, weight) + positions, weight.shape[1:])
        return package.tied_logits(hidden, weight)

    assert grade(BUG, answer).score == 1.0
