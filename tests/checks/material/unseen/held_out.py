"""A second bank of wrong answers, measured once, when no name was changed any more."""

import torch
from torch import nn

from tests.checks.material.tokenizers import count_loop
from tests.checks.material.unseen import wrong
from transformer_checks import tokenizers as reference

# gpt.lm_batch


@wrong("gpt.lm_batch", "pieces are one longer than asked", relation="length")
def _(ids, block_size, starts):
    x = torch.stack([ids[s : s + block_size + 1] for s in starts])
    return x[:, :-1], x


@wrong(
    "gpt.lm_batch",
    "len(starts) rows, cut one behind the other from the beginning",
    "starts-not-used",
)
def _(ids, block_size, starts):
    n = len(starts) * block_size
    return ids[:n].view(-1, block_size), ids[1 : n + 1].view(-1, block_size)


@wrong("gpt.lm_batch", "random starts of its own", relation="unsteady")
def _(ids, block_size, starts):
    starts = torch.randint(len(ids) - block_size, (len(starts),))
    x = torch.stack([ids[s : s + block_size] for s in starts])
    y = torch.stack([ids[s + 1 : s + block_size + 1] for s in starts])
    return x, y


# decoding.greedy_decode


# embeddings.embedding_from_pretrained


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


# masking.masked_softmax


@wrong(
    "masking.masked_softmax", "minus infinity times the mask: NaN everywhere", relation="constant"
)
def _(scores, mask):
    scores = scores + (~mask) * float("-inf")
    return scores.softmax(-1).nan_to_num(0.0)


@wrong(
    "masking.masked_softmax",
    "the hidden keys are taken out, and the rest is shared over all rows",
    relation="factor-of-row",
)
def _(scores, mask):
    out = torch.zeros_like(scores)
    mask = mask.expand_as(scores)
    out[mask] = scores[mask].softmax(-1)
    return out


# tokenizers.train_bpe


@wrong("tokenizers.train_bpe", "returns the words, not the merges")
def _(word_counts, num_merges):
    words = {tuple(w): n for w, n in word_counts.items()}
    for _ in range(num_merges):
        counts = count_loop(words)
        if not counts:
            break
        best = max(counts, key=lambda p: (counts[p], p))
        words = {reference.merge_pair(w, best): n for w, n in words.items()}
    return list(words)
