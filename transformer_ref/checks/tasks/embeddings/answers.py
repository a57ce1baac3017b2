"""Right answers to tasks of the assignment "embeddings": those that the package does not hold."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from transformer_ref.embeddings import embedding_from_pretrained, tied_logits
from transformer_ref.word2vec import nearest_neighbours, negative_sampling_loss

__all__ = [
    "cbow_examples",
    "embed",
    "embedding_from_pretrained",
    "language_model",
    "nearest_neighbours",
    "negative_sampling_loss",
    "one_hot",
    "skipgram_pairs",
    "tied_logits",
]


def one_hot(ids: Tensor, vocab_size: int) -> Tensor:
    """Write each id as a row of zeros with a single one.

    Args:
        ids: int64 of any shape, from 0 to V - 1.
        vocab_size: V.

    Returns:
        float32 of shape (*ids.shape, V).
    """
    return (ids.unsqueeze(-1) == torch.arange(vocab_size, device=ids.device)).float()


def embed(ids: Tensor, weight: Tensor) -> Tensor:
    """Look up a row for each id, and multiply it by sqrt(D).

    Args:
        ids: int64 of any shape, from 0 to V - 1.
        weight: (V, D) floating.

    Returns:
        (*ids.shape, D) in the dtype of `weight`.
    """
    return weight[ids] * math.sqrt(weight.shape[1])


def skipgram_pairs(ids: Sequence[int], window: int) -> list[tuple[int, int]]:
    """Pair each id with each of its neighbours.

    Args:
        ids: the words of a sentence.
        window: how far a neighbour may be away, on either side.

    Returns:
        (center, context) by the place of the centre; its contexts from left to right.
    """
    return [
        (center, context) for contexts, center in cbow_examples(ids, window) for context in contexts
    ]


def cbow_examples(ids: Sequence[int], window: int) -> list[tuple[list[int], int]]:
    """Put each id together with the list of its neighbours.

    Args:
        ids: the words of a sentence.
        window: how far a neighbour may be away, on either side.

    Returns:
        (context, center) by the place of the centre; none where there is no neighbour.
    """
    examples = []
    for place, center in enumerate(ids):
        left = ids[max(0, place - window) : place]
        context = [*left, *ids[place + 1 : place + 1 + window]]
        if context:
            examples.append((context, center))
    return examples


def language_model(ids: Tensor, weight: Tensor, positions: Tensor) -> Tensor:
    """Score the next token with one matrix for both ends, and nothing but a norm between them.

    Args:
        ids: (B, T) int64, from 0 to V - 1.
        weight: (V, D) floating.
        positions: (T, D), one vector for each place.

    Returns:
        (B, T, V): LayerNorm(sqrt(D) E[ids] + positions) E^T.
    """
    x = embed(ids, weight) + positions
    return tied_logits(F.layer_norm(x, x.shape[-1:]), weight)
