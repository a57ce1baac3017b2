"""Wrong answers to the tasks of embeddings, as beginners write them."""

import torch
from torch import nn

from tests.checks.material.unseen import wrong

ids = [5, 3, 8, 3]


window = 2


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


@wrong("embeddings.embedding_from_pretrained", "V and D are swapped", relation="axes-swapped")
def _(vectors, trainable, pad_id):
    table = nn.Embedding(vectors.shape[1], vectors.shape[0], padding_idx=pad_id)
    table.weight.data = vectors.T.clone()
    table.weight.requires_grad = trainable
    return table


@wrong(
    "embeddings.embedding_from_pretrained",
    "everything is frozen as soon as there is padding",
    relation="input",
)
def _(vectors, trainable, pad_id):
    return nn.Embedding.from_pretrained(
        vectors, freeze=not trainable or pad_id is not None, padding_idx=pad_id
    )


@wrong(
    "embeddings.skipgram_pairs", "range(i - window, ...) without max: wraps around to the end", None
)
def skipgram_pairs_5(ids, window):
    result = []
    for i in range(len(ids)):
        for j in range(i - window, i + window + 1):
            if j != i and j < len(ids):
                result.append((ids[i], ids[j]))
    return result


@wrong("embeddings.skipgram_pairs", "ids[i - 1] and ids[i + 1]: the window is always 1", None)
def skipgram_pairs_9(ids, window):
    pairs = []
    for i in range(len(ids)):
        if i > 0:
            pairs.append((ids[i], ids[i - 1]))
        if i + 1 < len(ids):
            pairs.append((ids[i], ids[i + 1]))
    return pairs


@wrong(
    "embeddings.skipgram_pairs", "ids.pop(i): the list of the caller is emptied on the way", None
)
def skipgram_pairs_10(ids, window):
    pairs = []
    for i in range(len(ids)):
        around = ids[max(0, i - window) : i + window + 1]
        center = ids.pop(0)
        around.remove(center)
        pairs += [(center, context) for context in around]
    return pairs
