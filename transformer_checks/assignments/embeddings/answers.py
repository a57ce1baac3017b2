"""The answers to the tasks of the assignment "embeddings": the text of the solution's cells.

A mistake is a change to one of them.
"""

# mypy: disable-error-code="union-attr"

from __future__ import annotations

import math
from collections.abc import Callable

import torch  # noqa: F401  # changes that make mistakes use it
from torch import Tensor, nn
from torch.nn import functional as F

# This module itself, under the name by which the notebook knows it.
from transformer_checks.assignments.embeddings import answers as reference


def embed(ids: Tensor, weight: Tensor) -> Tensor:
    """Look up a row for each id, and multiply it by sqrt(D).

    Args:
        ids: int64 with at least one axis, values from 0 to V - 1.
        weight: (V, D), floating point.

    Returns:
        (*ids.shape, D), in the dtype of `weight`.
    """
    return weight[ids] * math.sqrt(weight.shape[1])


def skipgram_pairs(ids: list[int], window: int) -> list[tuple[int, int]]:
    """Pair each word with each of its neighbors.

    Args:
        ids: the words of a sentence.
        window: at least 1; how many places away a neighbor may be, to the
            left and to the right, the same for each center.

    Returns:
        A list of pairs (center, context), by the place of the center; the
        contexts of one center from left to right.
    """
    pairs = []
    for place, center in enumerate(ids):
        first = max(0, place - window)
        last = min(len(ids), place + window + 1)
        for other in range(first, last):
            if other != place:
                pairs.append((center, ids[other]))
    return pairs


def negative_sampling_loss(
    center: Tensor,
    positive: Tensor,
    negatives: Tensor,
) -> Tensor:
    """Compute the loss of telling the real neighbor from N drawn words.

    Args:
        center: (B, D), floating point, the vectors that predict.
        positive: (B, D), the real neighbor of each.
        negatives: (B, N, D), the drawn words of each.

    Returns:
        A scalar: -log s(c.p) minus the sum over the negatives of
        log s(-c.n), s the sigmoid; then the mean over the batch. Finite for
        products of +-200, and so is its gradient.
    """
    real = (center * positive).sum(-1)
    drawn = (negatives * center.unsqueeze(1)).sum(-1)
    loss = -F.logsigmoid(real) - F.logsigmoid(-drawn).sum(-1)
    return loss.mean()


def nearest_neighbours(
    weight: Tensor,
    token_id: int,
    k: int,
) -> list[int]:
    """Find the tokens whose rows point most nearly in the same direction.

    Args:
        weight: (V, D), floating point, one row per token.
        token_id: the token.
        k: how many to find, from 1 to V - 1.

    Returns:
        A list of k ids by falling cosine, without `token_id` itself.
    """
    row = weight[token_id].unsqueeze(0)
    cosines = F.cosine_similarity(weight, row)
    cosines[token_id] = float("-inf")
    return cosines.topk(k).indices.tolist()


def embedding_from_pretrained(
    vectors: Tensor,
    trainable: bool,
    pad_id: int | None,
) -> nn.Embedding:
    """Put vectors that were learned elsewhere into an nn.Embedding.

    Args:
        vectors: (V, D), floating point, one row per token.
        trainable: True to train the rows further, False to freeze them.
        pad_id: the row of this id never changes and gets no gradient;
            None if there is no such row.

    Returns:
        An nn.Embedding with the vectors as its rows, in their dtype.
    """
    freeze = not trainable
    return nn.Embedding.from_pretrained(vectors.clone(), freeze, pad_id)


def ids_from_gradient(gradient: Tensor, direction: Tensor) -> list[int]:
    """Read off the gradient of an embedding which tokens were looked up.

    Args:
        gradient: (V, D), floating point, the gradient of the weight.
        direction: (D,), not all zeros; the loss is the sum of its products
            with the looked-up rows.

    Returns:
        the ids that were looked up, in rising order, each as often as it
        was read.
    """
    feature = int(direction.abs().argmax())
    counts = (gradient[:, feature] / direction[feature]).round().long()  # (V,)
    return [token for token, count in enumerate(counts.tolist()) for _ in range(count)]


def language_model(
    ids: Tensor,
    weight: Tensor,
    positions: Tensor,
) -> Tensor:
    """Score the next token, like the code above but without the bug.

    Args:
        ids: (B, T), int64, values from 0 to V - 1.
        weight: (V, D), floating point, the matrix of both ends.
        positions: (T, D), in the same dtype.

    Returns:
        (B, T, V), the logits: h E^T with h = LayerNorm(sqrt(D) E[ids] +
        positions), the norm over the features and without weights.
    """
    rows = reference.embed(ids, weight)  # the look-up alone is scaled
    hidden = F.layer_norm(rows + positions, rows.shape[-1:])
    return F.linear(hidden, weight)


def dead_rows(
    embedding: nn.Embedding,
    loss: Callable[[nn.Embedding], Tensor],
) -> list[int]:
    """List the rows of an embedding that a loss gives no gradient.

    Args:
        embedding: V rows of D numbers, which are not changed. Gradients
            from earlier may be in its `grad`; they do not count.
        loss: takes the embedding and returns a scalar tensor.

    Returns:
        in rising order, each id whose row has a gradient of exactly 0 in
        all D numbers.
    """
    embedding.zero_grad()  # what is left from before would be added
    loss(embedding).backward()
    gradient = embedding.weight.grad
    dead = (gradient == 0).all(dim=-1)
    return dead.nonzero().flatten().tolist()
