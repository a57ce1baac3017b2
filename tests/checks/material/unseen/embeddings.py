"""Wrong answers to the tasks of embeddings, as beginners write them."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.checks.material.unseen import wrong

ids = [5, 3, 8, 3]
window = 2


# embeddings.embedding_from_pretrained


@wrong("embeddings.embedding_from_pretrained", "freeze is left at its default", "always-frozen")
def _(vectors, trainable, pad_id):
    return nn.Embedding.from_pretrained(vectors, padding_idx=pad_id)


@wrong(
    "embeddings.embedding_from_pretrained", "freeze=trainable, without the not", "freeze-inverted"
)
def _(vectors, trainable, pad_id):
    return nn.Embedding.from_pretrained(vectors, freeze=trainable, padding_idx=pad_id)


@wrong("embeddings.embedding_from_pretrained", "pad_id is forgotten", "pad-row-trained")
def _(vectors, trainable, pad_id):
    return nn.Embedding.from_pretrained(vectors, freeze=not trainable)


@wrong("embeddings.embedding_from_pretrained", "if pad_id: an id of 0 is no id", "pad-id-0-ignored")
def _(vectors, trainable, pad_id):
    if pad_id:
        return nn.Embedding.from_pretrained(vectors, freeze=not trainable, padding_idx=pad_id)
    return nn.Embedding.from_pretrained(vectors, freeze=not trainable)


@wrong(
    "embeddings.embedding_from_pretrained", "the row of padding is set to zero", "pad-row-zeroed"
)
def _(vectors, trainable, pad_id):
    vectors = vectors.clone()
    if pad_id is not None:
        vectors[pad_id] = 0
    return nn.Embedding.from_pretrained(vectors, freeze=not trainable, padding_idx=pad_id)


@wrong(
    "embeddings.embedding_from_pretrained",
    "random rows: the vectors are never copied in",
    "new-vectors",
)
def _(vectors, trainable, pad_id):
    emb = nn.Embedding(vectors.shape[0], vectors.shape[1], padding_idx=pad_id)
    emb.weight.requires_grad = trainable
    return emb


@wrong("embeddings.embedding_from_pretrained", "always trainable", "never-frozen")
def _(vectors, trainable, pad_id):
    emb = nn.Embedding(*vectors.shape, padding_idx=pad_id, dtype=vectors.dtype)
    emb.weight.data.copy_(vectors)
    return emb


@wrong("embeddings.embedding_from_pretrained", "requires_grad is set on the module", "never-frozen")
def _(vectors, trainable, pad_id):
    emb = nn.Embedding.from_pretrained(vectors, freeze=False, padding_idx=pad_id)
    emb.requires_grad = trainable
    return emb


@wrong("embeddings.embedding_from_pretrained", "times sqrt(D)", "scaled")
def _(vectors, trainable, pad_id):
    return nn.Embedding.from_pretrained(
        vectors * math.sqrt(vectors.shape[1]), freeze=not trainable, padding_idx=pad_id
    )


@wrong("embeddings.embedding_from_pretrained", "the dtype becomes float32", "float32-only")
def _(vectors, trainable, pad_id):
    emb = nn.Embedding(vectors.shape[0], vectors.shape[1], padding_idx=pad_id)
    emb.weight.data.copy_(vectors)
    emb.weight.requires_grad = trainable
    return emb


@wrong("embeddings.embedding_from_pretrained", "padding_idx is always 0", "pad-id-always-0")
def _(vectors, trainable, pad_id):
    return nn.Embedding.from_pretrained(vectors, freeze=not trainable, padding_idx=0)


@wrong(
    "embeddings.embedding_from_pretrained",
    "the weight is returned, not the module",
    "not-an-embedding",
)
def _(vectors, trainable, pad_id):
    emb = nn.Embedding.from_pretrained(vectors, freeze=not trainable, padding_idx=pad_id)
    return emb.weight


# embeddings.embed


@wrong("embeddings.embed", "no factor", "no-scale")
def _(ids, weight):
    return weight[ids]


@wrong("embeddings.embed", "the root of V", "scaled-by-another-size")
def _(ids, weight):
    return weight[ids] * math.sqrt(weight.shape[0])


@wrong("embeddings.embed", "divided by the root", "divided-by-root-d")
def _(ids, weight):
    return weight[ids] / math.sqrt(weight.shape[1])


@wrong("embeddings.embed", "times D, without the root", "scaled-by-d")
def _(ids, weight):
    return weight[ids] * weight.shape[1]


@wrong("embeddings.embed", "row 0 is taken for padding and gets no gradient", "row-0-zero")
def _(ids, weight):
    return F.embedding(ids, weight, padding_idx=0) * math.sqrt(weight.shape[1])


# embeddings.skipgram_pairs


@wrong("embeddings.skipgram_pairs", "(context, center)", "context-first")
def _(ids, window):
    out = []
    for i in range(len(ids)):
        for j in range(max(0, i - window), min(len(ids), i + window + 1)):
            if i != j:
                out.append((ids[j], ids[i]))
    return out


@wrong("embeddings.skipgram_pairs", "range ends one early", "right-side-short")
def _(ids, window):
    out = []
    for i in range(len(ids)):
        for j in range(max(0, i - window), min(len(ids), i + window)):
            if i != j:
                out.append((ids[i], ids[j]))
    return out


@wrong("embeddings.skipgram_pairs", "pairs a word with itself", "centre-among-contexts")
def _(ids, window):
    out = []
    for i in range(len(ids)):
        for j in range(max(0, i - window), min(len(ids), i + window + 1)):
            out.append((ids[i], ids[j]))
    return out


@wrong("embeddings.skipgram_pairs", "compares ids instead of places", "same-word-lost")
def _(ids, window):
    out = []
    for i in range(len(ids)):
        for j in range(max(0, i - window), min(len(ids), i + window + 1)):
            if ids[i] != ids[j]:
                out.append((ids[i], ids[j]))
    return out


@wrong("embeddings.skipgram_pairs", "a set: repeated pairs are lost", "repetitions-lost")
def _(ids, window):
    out = []
    for i in range(len(ids)):
        for j in range(max(0, i - window), min(len(ids), i + window + 1)):
            if i != j and (ids[i], ids[j]) not in out:
                out.append((ids[i], ids[j]))
    return out


# embeddings.negative_sampling_loss


@wrong("embeddings.negative_sampling_loss", "log of sigmoid", "log-of-a-rounded-sigmoid")
def _(center, positive, negatives):
    pos = torch.log(torch.sigmoid((center * positive).sum(-1)))
    neg = torch.log(torch.sigmoid(-(negatives @ center.unsqueeze(-1)).squeeze(-1))).sum(-1)
    return -(pos + neg).mean()


@wrong(
    "embeddings.negative_sampling_loss", "no minus inside for the negatives", "sign-of-negatives"
)
def _(center, positive, negatives):
    pos = F.logsigmoid((center * positive).sum(-1))
    neg = F.logsigmoid((negatives * center.unsqueeze(1)).sum(-1)).sum(-1)
    return -(pos + neg).mean()


@wrong("embeddings.negative_sampling_loss", "mean over the negatives", "mean-over-negatives")
def _(center, positive, negatives):
    pos = F.logsigmoid((center * positive).sum(-1))
    neg = F.logsigmoid(-(negatives * center.unsqueeze(1)).sum(-1)).mean(-1)
    return -(pos + neg).mean()


@wrong("embeddings.negative_sampling_loss", "the minus in front is missing", "not-negated")
def _(center, positive, negatives):
    pos = F.logsigmoid((center * positive).sum(-1))
    neg = F.logsigmoid(-(negatives * center.unsqueeze(1)).sum(-1)).sum(-1)
    return (pos + neg).mean()


@wrong("embeddings.negative_sampling_loss", "sum over the batch", "sum-over-batch")
def _(center, positive, negatives):
    pos = F.logsigmoid((center * positive).sum(-1))
    neg = F.logsigmoid(-(negatives * center.unsqueeze(1)).sum(-1)).sum(-1)
    return -(pos + neg).sum()


# embeddings.nearest_neighbours


@wrong("embeddings.nearest_neighbours", "the token itself is among them", "itself-included")
def _(weight, token_id, k):
    cos = F.cosine_similarity(weight, weight[token_id].unsqueeze(0))
    return cos.topk(k).indices.tolist()


@wrong("embeddings.nearest_neighbours", "the plain product", "plain-product")
def _(weight, token_id, k):
    scores = weight @ weight[token_id]
    scores[token_id] = -math.inf
    return scores.topk(k).indices.tolist()


@wrong("embeddings.nearest_neighbours", "the own score becomes 0", "itself-set-to-zero")
def _(weight, token_id, k):
    cos = F.cosine_similarity(weight, weight[token_id].unsqueeze(0))
    cos[token_id] = 0
    return cos.topk(k).indices.tolist()


@wrong("embeddings.nearest_neighbours", "the smallest first", "farthest-first")
def _(weight, token_id, k):
    cos = F.cosine_similarity(weight, weight[token_id].unsqueeze(0))
    cos[token_id] = math.inf
    return cos.argsort()[:k].tolist()


@wrong("embeddings.nearest_neighbours", "the row is deleted: ids behind it move up", "ids-shifted")
def _(weight, token_id, k):
    rest = torch.cat([weight[:token_id], weight[token_id + 1 :]])
    cos = F.cosine_similarity(rest, weight[token_id].unsqueeze(0))
    return cos.topk(k).indices.tolist()


# embeddings.find_the_bug


@wrong("embeddings.find_the_bug", "the factor is gone from both ends", "scale-lost-at-the-input")
def _(ids, weight, positions):
    d_model = weight.shape[1]
    hidden = F.layer_norm(weight[ids] + positions, (d_model,))
    return hidden @ weight.T


@wrong(
    "embeddings.find_the_bug",
    "the factor stands behind instead of in front",
    "scale-moved-to-the-output",
)
def _(ids, weight, positions):
    d_model = weight.shape[1]
    hidden = F.layer_norm(weight[ids] + positions, (d_model,))
    return hidden @ (weight * math.sqrt(d_model)).T


@wrong("embeddings.find_the_bug", "the logits are divided by D", "output-divided")
def _(ids, weight, positions):
    d_model = weight.shape[1]
    table = weight * math.sqrt(d_model)
    hidden = F.layer_norm(table[ids] + positions, (d_model,))
    return hidden @ table.T / d_model


@wrong("embeddings.find_the_bug", "the positions are scaled, too", "scale-lost-at-the-input")
def _(ids, weight, positions):
    d_model = weight.shape[1]
    hidden = F.layer_norm((weight[ids] + positions) * math.sqrt(d_model), (d_model,))
    return hidden @ weight.T


@wrong("embeddings.find_the_bug", "a softmax calms it down", "softmax-included")
def _(ids, weight, positions):
    d_model = weight.shape[1]
    table = weight * math.sqrt(d_model)
    hidden = F.layer_norm(table[ids] + positions, (d_model,))
    return (hidden @ weight.T).softmax(-1)


# embeddings.dead_rows


@wrong("embeddings.dead_rows", "the old gradients are not cleared", "old-gradients")
def _(embedding, loss):
    loss(embedding).backward()
    return (embedding.weight.grad == 0).all(dim=1).nonzero().flatten().tolist()


@wrong("embeddings.dead_rows", "any for all: one zero is enough", "one-zero-is-enough")
def _(embedding, loss):
    embedding.zero_grad()
    loss(embedding).backward()
    return (embedding.weight.grad == 0).any(dim=1).nonzero().flatten().tolist()


@wrong("embeddings.dead_rows", "the living rows", "living-rows")
def _(embedding, loss):
    embedding.zero_grad()
    loss(embedding).backward()
    return [i for i, row in enumerate(embedding.weight.grad) if row.any()]


@wrong("embeddings.dead_rows", "the sum of the row is zero", "signs-cancel")
def _(embedding, loss):
    embedding.zero_grad()
    loss(embedding).backward()
    return [i for i, row in enumerate(embedding.weight.grad) if row.sum() == 0]


@wrong(
    "embeddings.dead_rows",
    "rows of the weight that are zero, and not of the gradient",
    "numbers-not-gradients",
)
def _(embedding, loss):
    loss(embedding).backward()
    return [i for i, row in enumerate(embedding.weight) if (row == 0).all()]


# embeddings.ids_from_gradient


@wrong("embeddings.ids_from_gradient", "the rows that are not zero, once each", "counted-once")
def _(gradient, direction):
    return gradient.abs().sum(-1).nonzero().flatten().tolist()


@wrong("embeddings.ids_from_gradient", "column 0 is divided", "feature-of-zero")
def _(gradient, direction):
    ids = []
    for token, count in enumerate(gradient[:, 0] / direction[0]):
        ids += [token] * round(count.item())
    return ids


@wrong("embeddings.ids_from_gradient", "means over the features", "sum-may-be-zero")
def _(gradient, direction):
    counts = (gradient.mean(1) / direction.mean()).round().int()
    return torch.arange(len(counts)).repeat_interleave(counts).tolist()


@wrong("embeddings.ids_from_gradient", "the largest number of each row is the count", "not-divided")
def _(gradient, direction):
    feature = int(direction.abs().argmax())
    counts = gradient[:, feature].round().int().tolist()
    return [token for token, count in enumerate(counts) for _ in range(count)]


@wrong("embeddings.ids_from_gradient", "int() of the quotient", "cut-off")
def _(gradient, direction):
    feature = direction.abs().argmax()
    counts = [int(number) for number in gradient[:, feature] / direction[feature]]
    return [token for token, count in enumerate(counts) for _ in range(count)]


@wrong("embeddings.ids_from_gradient", "ids from 1", "counted-from-one")
def _(gradient, direction):
    counts = (gradient @ direction / direction.square().sum()).round().int()
    return torch.arange(1, len(counts) + 1).repeat_interleave(counts).tolist()


@wrong("embeddings.ids_from_gradient", "a count for each token", "counts-returned")
def _(gradient, direction):
    return (gradient @ direction / direction.square().sum()).round().int().tolist()


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
