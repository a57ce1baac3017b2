"""Wrong answers to the tasks of embeddings, as beginners write them."""

import torch
from torch import nn

from tests.checks.material.unseen import wrong

ids = [5, 3, 8, 3]
window = 2


# embeddings.embedding_from_pretrained


@wrong("embeddings.embedding_from_pretrained", "always trainable", "never-frozen")
def _(vectors, trainable, pad_id):
    emb = nn.Embedding(*vectors.shape, padding_idx=pad_id, dtype=vectors.dtype)
    emb.weight.data.copy_(vectors)
    return emb


@wrong("embeddings.embedding_from_pretrained", "the dtype becomes float32", "float32-only")
def _(vectors, trainable, pad_id):
    emb = nn.Embedding(vectors.shape[0], vectors.shape[1], padding_idx=pad_id)
    emb.weight.data.copy_(vectors)
    emb.weight.requires_grad = trainable
    return emb


# embeddings.embed


# embeddings.skipgram_pairs


# embeddings.negative_sampling_loss


# embeddings.nearest_neighbours


# embeddings.find_the_bug


# embeddings.dead_rows


# embeddings.ids_from_gradient


@wrong("embeddings.ids_from_gradient", "the square is left out below")
def _(gradient, direction):
    counts = (gradient @ direction / direction.norm()).round().int()
    return torch.arange(len(counts)).repeat_interleave(counts).tolist()


@wrong("embeddings.ids_from_gradient", "negative counts are lost")
def _(gradient, direction):
    largest = direction.abs().max()
    counts = (gradient.max(1).values / largest).round().int()
    return torch.arange(len(counts)).repeat_interleave(counts).tolist()


@wrong("embeddings.ids_from_gradient", "often read ids first", relation="order")
def _(gradient, direction):
    counts = (gradient.norm(dim=1) / direction.norm()).round().int().tolist()
    order = sorted(range(len(counts)), key=lambda token: -counts[token])
    return [token for token in order for _ in range(counts[token])]
