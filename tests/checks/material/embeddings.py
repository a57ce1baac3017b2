"""Answers to the assignment "embeddings" on which the grader itself is measured.

CORRECT must be accepted, WRONG must be rejected with the misconception that stands beside it, and
MUTANTS, which have no name and are harder to notice than any generated mutant, without one.
They are written apart from the checks, in the ways in which people write embeddings.
"""

from __future__ import annotations

import copy
import heapq
import itertools
import math
import warnings

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

# =============================================================================================
# embed
# =============================================================================================


def embed_index(ids, weight):
    return weight[ids] * math.sqrt(weight.size(-1))


def embed_functional(ids, weight):
    return F.embedding(ids, weight) * weight.shape[1] ** 0.5


def embed_product(ids, weight):
    hot = F.one_hot(ids, weight.shape[0]).to(weight.dtype)
    return hot @ weight * np.sqrt(weight.shape[1])


def embed_module(ids, weight):
    print("look-up")
    warnings.warn("scaled first", UserWarning, stacklevel=2)
    scaled = weight * torch.tensor(weight.shape[1]).sqrt()
    return torch.index_select(scaled, 0, ids.reshape(-1)).view(*ids.shape, -1)


def embed_loop(ids, weight):
    root = math.sqrt(len(weight[0]))
    rows = [weight[each] * root for each in ids.flatten().tolist()]
    return torch.stack(rows).reshape(*ids.shape, weight.shape[1])


def embed_double(ids, weight):
    found = weight.double()[ids]
    found = found * math.sqrt(weight.shape[1])
    return found.to(weight.dtype)


def embed_gather(ids, weight):
    index = ids.reshape(-1, 1).expand(-1, weight.shape[1])
    rows = weight.gather(0, index).reshape(ids.shape + weight.shape[1:])
    return rows.mul(weight.shape[1] ** 0.5)


def embed_einsum(ids, weight):
    hot = torch.eye(len(weight), dtype=weight.dtype, device=weight.device)[ids]
    return torch.einsum("...v,vd->...d", hot, weight) * math.sqrt(weight.shape[-1])


class Embed(nn.Module):
    def forward(self, ids, weight):
        rows = F.embedding(ids, weight)
        rows *= math.sqrt(rows.size(-1))
        return rows


# =============================================================================================
# skipgram_pairs
# =============================================================================================


def skip_loops(ids, window):
    pairs = []
    for i in range(len(ids)):
        for j in range(max(0, i - window), min(len(ids), i + window + 1)):
            if i != j:
                pairs.append((ids[i], ids[j]))
    return pairs


def skip_slices(ids, window):
    out = []
    for i, center in enumerate(ids):
        before = ids[max(i - window, 0) : i]
        after = ids[i + 1 : i + window + 1]
        out += [(center, context) for context in before + after]
    return out


def skip_offsets(ids, window):
    n = len(ids)
    offsets = list(range(-window, 0)) + list(range(1, window + 1))
    return [(ids[i], ids[i + o]) for i in range(n) for o in offsets if 0 <= i + o < n]


def skip_lists(ids, window):
    return tuple(
        [ids[i], ids[j]]
        for i in range(len(ids))
        for j in range(len(ids))
        if 0 < abs(i - j) <= window
    )


def skip_numpy(ids, window):
    places = np.arange(len(ids))
    distance = np.abs(places[:, None] - places)
    rows, columns = np.nonzero((distance <= window) & (distance > 0))
    values = np.array(ids, dtype=np.int64)
    return list(zip(values[rows], values[columns], strict=True)) if len(ids) else []


def skip_torch(ids, window):
    x = torch.tensor(ids, dtype=torch.long)
    near = torch.ones(len(ids), len(ids)).tril(window).triu(-window).fill_diagonal_(0)
    return x[near.nonzero()].tolist() if len(ids) else []


def skip_permutations(ids, window):
    print("pairs of", ids)
    warnings.warn("all pairs", UserWarning, stacklevel=2)
    found = itertools.permutations(enumerate(ids), 2)
    return [(a, b) for (i, a), (j, b) in found if abs(i - j) <= window]


def skip_padded(ids, window):
    nothing = object()
    row = [nothing] * window + list(ids) + [nothing] * window
    pairs = []
    for i in range(window, window + len(ids)):
        around = row[i - window : i] + row[i + 1 : i + window + 1]
        pairs.extend((row[i], each) for each in around if each is not nothing)
    return pairs


# =============================================================================================
# negative_sampling_loss
# =============================================================================================


def loss_plain(center, positive, negatives):
    real = F.logsigmoid((center * positive).sum(dim=1))
    drawn = F.logsigmoid(-torch.bmm(negatives, center.unsqueeze(2)).squeeze(2)).sum(dim=1)
    return -(real + drawn).mean()


def loss_softplus(center, positive, negatives):
    real = torch.einsum("bd,bd->b", center, positive)
    drawn = torch.einsum("bd,bnd->bn", center, negatives)
    return (F.softplus(-real) + F.softplus(drawn).sum(-1)).mean()


def loss_bce(center, positive, negatives):
    logits = torch.cat([positive.unsqueeze(1), negatives], dim=1) @ center.unsqueeze(-1)
    logits = logits.squeeze(-1)
    target = torch.zeros_like(logits)
    target[:, 0] = 1.0
    loss = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    return loss.sum(1).mean()


def loss_loop(center, positive, negatives):
    total = center.new_zeros(())
    for c, p, rows in zip(center, positive, negatives, strict=True):
        total = total - F.logsigmoid(c.dot(p))
        for n in rows:
            total = total - F.logsigmoid(-c.dot(n))
    return total / len(center)


def loss_logaddexp(center, positive, negatives):
    print("loss")
    warnings.warn("logaddexp", UserWarning, stacklevel=2)
    zero = center.new_zeros(())
    real = (center * positive).sum(-1)
    drawn = (center[:, None] * negatives).sum(-1)
    return torch.logaddexp(zero, -real).mean() + torch.logaddexp(zero, drawn).sum(-1).mean()


def loss_double(center, positive, negatives):
    c, p, n = center.double(), positive.double(), negatives.double()
    loss = -F.logsigmoid((c * p).sum(-1)) - F.logsigmoid(-(n @ c[..., None])[..., 0]).sum(-1)
    return loss.mean().to(center.dtype)


def loss_signs(center, positive, negatives):
    signs = torch.full((1 + negatives.shape[1],), -1.0, dtype=center.dtype, device=center.device)
    signs[0] = 1.0
    words = torch.cat((positive[:, None], negatives), 1)
    return -F.logsigmoid(signs * (words * center[:, None]).sum(-1)).sum() / center.shape[0]


def loss_stable_by_hand(center, positive, negatives):
    def log_sigmoid(x):
        return torch.minimum(x, torch.zeros_like(x)) - torch.log1p(torch.exp(-x.abs()))

    real = log_sigmoid((center * positive).sum(-1))
    drawn = log_sigmoid(-(negatives * center.unsqueeze(1)).sum(-1))
    return torch.mean(-real - torch.sum(drawn, dim=1))


class Loss(nn.Module):
    def forward(self, center, positive, negatives):
        return loss_plain(center, positive, negatives)


# =============================================================================================
# nearest_neighbours
# =============================================================================================


def near_similarity(weight, token_id, k):
    scores = F.cosine_similarity(weight, weight[token_id].unsqueeze(0))
    scores[token_id] = -2
    return scores.topk(k).indices.tolist()


def near_normalised(weight, token_id, k):
    unit = F.normalize(weight, dim=1)
    order = (unit @ unit[token_id]).argsort(descending=True).tolist()
    order.remove(token_id)
    return order[:k]


def near_dropped(weight, token_id, k):
    unit = weight / weight.norm(dim=-1, keepdim=True)
    return torch.topk(unit @ unit[token_id], k + 1)[1][1:].tolist()


def near_loop(weight, token_id, k):
    def cosine(a, b):
        dot = sum(x * y for x, y in zip(a, b, strict=True))
        return dot / math.sqrt(sum(x * x for x in a)) / math.sqrt(sum(x * x for x in b))

    rows = weight.tolist()
    others = [i for i in range(len(rows)) if i != token_id]
    return sorted(others, key=lambda i: cosine(rows[i], rows[token_id]), reverse=True)[:k]


def near_numpy(weight, token_id, k):
    x = weight.detach().cpu().numpy()
    scores = x @ x[token_id] / np.linalg.norm(x, axis=1)
    scores[token_id] = -np.inf
    return list(np.argsort(-scores)[:k])


def near_heap(weight, token_id, k):
    print("nearest of", token_id)
    warnings.warn("a heap", UserWarning, stacklevel=2)
    scores = F.cosine_similarity(weight, weight[token_id][None]).tolist()
    pairs = ((score, i) for i, score in enumerate(scores) if i != token_id)
    return tuple(i for _, i in heapq.nlargest(k, pairs))


def near_unit_distance(weight, token_id, k):
    unit = F.normalize(weight)
    distance = torch.cdist(unit.double(), unit[token_id : token_id + 1].double())[:, 0]
    distance[token_id] = float("inf")
    return [int(i) for i in distance.topk(k, largest=False).indices]


def near_one_by_one(weight, token_id, k):
    cosines = torch.cosine_similarity(weight, weight[token_id], dim=-1)
    cosines = cosines.masked_fill(torch.arange(len(weight), device=weight.device) == token_id, -5)
    found = []
    for _ in range(k):
        best = int(cosines.argmax())
        found.append(best)
        cosines[best] = -5
    return found


def m_near_centred(weight, token_id, k):
    return near_similarity(weight - weight.mean(0), token_id, k)


def m_near_correlation(weight, token_id, k):
    return near_similarity(weight.sign() * weight.abs() ** 3, token_id, k)


# =============================================================================================
# embedding_from_pretrained
# =============================================================================================


def pre_torch(vectors, trainable, pad_id):
    return nn.Embedding.from_pretrained(vectors, freeze=not trainable, padding_idx=pad_id)


def pre_weight(vectors, trainable, pad_id):
    embedding = nn.Embedding(*vectors.shape, padding_idx=pad_id, _weight=vectors.clone())
    embedding.weight.requires_grad = trainable
    return embedding


def pre_copy(vectors, trainable, pad_id):
    v, d = vectors.shape
    embedding = nn.Embedding(v, d, pad_id, device=vectors.device, dtype=vectors.dtype)
    embedding.weight.data.copy_(vectors)
    embedding.requires_grad_(trainable)
    return embedding


def pre_parameter(vectors, trainable, pad_id):
    embedding = nn.Embedding(vectors.size(0), vectors.size(1), padding_idx=pad_id)
    embedding.weight = nn.Parameter(vectors, requires_grad=trainable)
    return embedding


def pre_state(vectors, trainable, pad_id):
    print("rows", len(vectors))
    warnings.warn("state_dict", UserWarning, stacklevel=2)
    embedding = nn.Embedding(len(vectors), len(vectors[0]), padding_idx=pad_id)
    embedding = embedding.to(vectors)
    embedding.load_state_dict({"weight": vectors})
    for parameter in embedding.parameters():
        parameter.requires_grad_(bool(trainable))
    return embedding


def pre_hook(vectors, trainable, pad_id):
    embedding = nn.Embedding.from_pretrained(vectors.detach().clone(), freeze=not trainable)
    if trainable and pad_id is not None:
        keep = torch.ones(len(vectors), 1, dtype=vectors.dtype, device=vectors.device)
        keep[pad_id] = 0
        embedding.weight.register_hook(lambda gradient: gradient * keep)
    return embedding


class OwnEmbedding(nn.Embedding):
    pass


def pre_subclass(vectors, trainable, pad_id):
    embedding = OwnEmbedding.from_pretrained(vectors.clone(), freeze=True, padding_idx=pad_id)
    if trainable:
        embedding.weight.requires_grad_()
    return embedding


def pre_sparse(vectors, trainable, pad_id):
    return nn.Embedding.from_pretrained(
        vectors, freeze=not trainable, padding_idx=pad_id, sparse=True
    )


# =============================================================================================
# find_the_bug
# =============================================================================================


def lm_mended(ids, weight, positions):
    d_model = weight.shape[1]
    embedded = weight[ids] * math.sqrt(d_model)
    hidden = F.layer_norm(embedded + positions, (d_model,))
    return hidden @ weight.T


def lm_divided_back(ids, weight, positions):
    scaled = weight * math.sqrt(weight.shape[1])
    hidden = F.layer_norm(scaled[ids] + positions, (weight.shape[1],))
    return hidden @ scaled.T / math.sqrt(weight.shape[1])


def lm_by_hand(ids, weight, positions):
    x = F.embedding(ids, weight) * weight.size(1) ** 0.5 + positions.unsqueeze(0)
    mean = x.mean(-1, keepdim=True)
    var = x.var(-1, keepdim=True, unbiased=False)
    return torch.einsum("btd,vd->btv", (x - mean) / torch.sqrt(var + 1e-5), weight)


def lm_loops(ids, weight, positions):
    rows = []
    for sequence in ids:
        row = []
        for t, token in enumerate(sequence.tolist()):
            x = weight[token] * math.sqrt(weight.shape[1]) + positions[t]
            row.append(weight @ F.layer_norm(x, x.shape))
        rows.append(torch.stack(row))
    return torch.stack(rows)


def lm_double(ids, weight, positions):
    print("ids", ids.shape)
    warnings.warn("in float64", UserWarning, stacklevel=2)
    w = weight.double()
    x = w[ids] * math.sqrt(w.shape[1]) + positions.double()
    return F.linear(F.layer_norm(x, x.shape[-1:]), w).to(weight.dtype)


def lm_module(ids, weight, positions):
    norm = nn.LayerNorm(weight.shape[1], elementwise_affine=False)
    hot = torch.eye(len(weight), dtype=weight.dtype, device=weight.device)[ids]
    return norm(hot @ weight * math.sqrt(weight.shape[1]) + positions) @ weight.mT


# =============================================================================================
# dead_rows
# =============================================================================================


def dead_autograd(embedding, loss):
    (gradient,) = torch.autograd.grad(loss(embedding), embedding.parameters())
    return [row for row, numbers in enumerate(gradient) if not numbers.any()]


def dead_cleared(embedding, loss):
    embedding.weight.grad = None
    loss(embedding).backward()
    return torch.where(embedding.weight.grad.norm(dim=1) == 0)[0].tolist()


def dead_of_a_copy(embedding, loss):
    twin = copy.deepcopy(embedding)
    twin.zero_grad()
    value = loss(twin)
    value.backward()
    biggest = twin.weight.grad.abs().max(dim=1).values
    return [int(row) for row in torch.argwhere(biggest < 1e-6)]


def dead_difference(embedding, loss):
    """What backward adds to the gradients from before, which stay."""
    weight = embedding.weight
    old = torch.zeros_like(weight) if weight.grad is None else weight.grad.clone()
    weight.grad = None
    loss(embedding).backward()
    new, weight.grad = weight.grad, old
    return sorted({*range(len(weight))} - {*new.nonzero()[:, 0].tolist()})


def dead_step(embedding, loss):
    """One step on a copy: what does not move is dead."""
    twin = copy.deepcopy(embedding)
    twin.zero_grad()
    loss(twin).backward()
    stepped = twin.weight.data - twin.weight.grad
    still = stepped == embedding.weight.detach()
    return tuple(np.flatnonzero(still.cpu().numpy().all(axis=1)).tolist())


def dead_step_taken_back(embedding, loss):
    print("rows before:", embedding.weight.shape)
    before = embedding.weight.detach().clone()
    embedding.zero_grad(set_to_none=False)
    loss(embedding).backward()
    with torch.no_grad():
        embedding.weight -= embedding.weight.grad
        moved = (embedding.weight != before).any(1)
        embedding.weight.copy_(before)
    return [n for n in range(embedding.num_embeddings) if not moved[n]]


def dead_numpy(embedding, loss):
    embedding.zero_grad()
    loss(embedding).backward()
    counts = np.count_nonzero(embedding.weight.grad.cpu().numpy(), axis=1)
    return np.nonzero(counts == 0)[0].tolist()


def _dead(clear=True, find=None, choose=None):
    """A right one in parts that a wrong one overrides; `choose(dead, embedding)` gives the list."""

    def dead_rows(embedding, loss):
        if clear:
            embedding.weight.grad = None
        loss(embedding).backward()
        gradient = embedding.weight.grad.detach()
        dead = find(gradient) if find else gradient.abs().amax(dim=1) == 0
        if choose:
            return choose(dead, embedding)
        return [number for number, each in enumerate(dead) if each]

    return dead_rows


def w_dead_nudged(embedding, loss):
    """Whether the loss feels a row; padding is felt, and never moved."""
    weight, start, found = embedding.weight.data, loss(embedding).item(), []
    for row in range(len(weight)):
        kept = weight[row].clone()
        weight[row] += torch.linspace(0.01, 0.02, weight.shape[1]).to(weight)
        if loss(embedding).item() == start:
            found.append(row)
        weight[row] = kept
    return found


def m_dead_squeezed(embedding, loss):
    """A number where there is only one."""
    gradient = torch.autograd.grad(loss(embedding), embedding.weight)[0]
    return torch.argwhere(~gradient.any(-1)).squeeze().tolist()


# =============================================================================================
# ids_from_gradient
# =============================================================================================


def from_norm(gradient, direction):
    counts = (gradient.norm(dim=1) / direction.norm()).round().int()
    return torch.arange(len(counts)).repeat_interleave(counts).tolist()


def from_product(gradient, direction):
    ids = []
    for token, row in enumerate(gradient):
        ids += [token] * round(((row @ direction) / (direction @ direction)).item())
    return ids


def from_nonzero_feature(gradient, direction):
    feature = direction.nonzero()[0, 0]
    counts = [round(float(each / direction[feature])) for each in gradient[:, feature]]
    return [token for token, count in enumerate(counts) for _ in range(count)]


def from_subtraction(gradient, direction):
    rest, ids = gradient.clone().double(), []
    for token in range(len(rest)):
        while rest[token].abs().max() > 0.05:
            rest[token] -= direction.double()
            ids.append(token)
    return ids


def from_least_squares(gradient, direction):
    counts = torch.linalg.lstsq(direction.double()[:, None], gradient.double().T).solution[0]
    times = (counts + 0.5).int().tolist()
    return list(itertools.chain(*([token] * count for token, count in enumerate(times))))


def from_numpy(gradient, direction):
    counts = np.abs(gradient.numpy()).max(1) / np.abs(direction.numpy()).max()
    return np.repeat(np.arange(len(counts)), np.rint(counts).astype(int)).tolist()


CORRECT = {
    "embeddings.embed": [
        embed_index,
        embed_functional,
        embed_product,
        embed_module,
        embed_loop,
        embed_double,
        embed_gather,
        embed_einsum,
        Embed(),
    ],
    "embeddings.skipgram_pairs": [
        skip_loops,
        skip_slices,
        skip_offsets,
        skip_lists,
        skip_numpy,
        skip_torch,
        skip_permutations,
        skip_padded,
    ],
    "embeddings.negative_sampling_loss": [
        loss_plain,
        loss_softplus,
        loss_bce,
        loss_loop,
        loss_logaddexp,
        loss_double,
        loss_signs,
        loss_stable_by_hand,
        Loss(),
    ],
    "embeddings.nearest_neighbours": [
        near_similarity,
        near_normalised,
        near_dropped,
        near_loop,
        near_numpy,
        near_heap,
        near_unit_distance,
        near_one_by_one,
    ],
    "embeddings.embedding_from_pretrained": [
        pre_torch,
        pre_weight,
        pre_copy,
        pre_parameter,
        pre_state,
        pre_hook,
        pre_subclass,
        pre_sparse,
    ],
    "embeddings.ids_from_gradient": [
        from_norm,
        from_product,
        from_nonzero_feature,
        from_subtraction,
        from_least_squares,
        from_numpy,
    ],
    "embeddings.find_the_bug": [
        lm_mended,
        lm_divided_back,
        lm_by_hand,
        lm_loops,
        lm_double,
        lm_module,
    ],
    "embeddings.dead_rows": [
        dead_autograd,
        dead_cleared,
        dead_of_a_copy,
        dead_difference,
        dead_step,
        dead_step_taken_back,
        dead_numpy,
        _dead(),
    ],
}

WRONG = {
    "embeddings.dead_rows": [
        ("padding-left-out", w_dead_nudged),
    ],
}

MUTANTS = {
    "embeddings.nearest_neighbours": [m_near_centred, m_near_correlation],
    "embeddings.dead_rows": [m_dead_squeezed],
}
