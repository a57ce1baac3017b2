"""A second bank of wrong answers, measured once, when no name was changed any more."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.checks.material.tokenizers import count_loop
from tests.checks.material.unseen import wrong
from transformer_checks import tokenizers as reference

# gpt.lm_batch


@wrong("gpt.lm_batch", "pieces are one longer than asked", relation="length")
def _(ids, block_size, starts):
    x = torch.stack([ids[s : s + block_size + 1] for s in starts])
    return x[:, :-1], x


@wrong("gpt.lm_batch", "the labels are two later", "shift-of-two")
def _(ids, block_size, starts):
    x = torch.stack([ids[s : s + block_size] for s in starts])
    y = torch.stack([ids[s + 2 : s + block_size + 2] for s in starts])
    return x, y


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


@wrong(
    "gpt.lm_batch", "labels are rolled inputs: the last label is the first input", "wraps-around"
)
def _(ids, block_size, starts):
    x = torch.stack([ids[s : s + block_size] for s in starts])
    return x, torch.roll(x, -1, dims=1)


@wrong("gpt.lm_batch", "inputs and labels in one tensor", "no-pair-of-tensors")
def _(ids, block_size, starts):
    return torch.stack([ids[s : s + block_size + 1] for s in starts])


# decoding.greedy_decode


@wrong("decoding.greedy_decode", "looks at the token before the one just said", "end-seen-too-late")
def _(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len and ids[-2:-1] != [eos_id]:
        ids.append(int(next_logits(ids).argmax()))
    return ids


@wrong("decoding.greedy_decode", "one entry too many", "limit-counts-new-tokens")
def _(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) <= max_len:
        ids.append(int(next_logits(ids).argmax()))
        if ids[-1] == eos_id:
            break
    return ids


@wrong("decoding.greedy_decode", "one entry too few", "one-too-short")
def _(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len - 2):
        ids.append(int(next_logits(ids).argmax()))
        if ids[-1] == eos_id:
            break
    return ids


@wrong("decoding.greedy_decode", "the least likely token", "least-likely")
def _(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        ids.append(int(next_logits(ids).argmin()))
        if ids[-1] == eos_id:
            break
    return ids


@wrong(
    "decoding.greedy_decode",
    "stops at the begin token instead of the end token",
    "begin-and-end-exchanged",
)
def _(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        ids.append(int(next_logits(ids).argmax()))
        if ids[-1] == bos_id:
            break
    return ids


@wrong("decoding.greedy_decode", "filled up to max_len with the end token", "filled-up")
def _(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len and ids[-1] != eos_id:
        ids.append(int(next_logits(ids).argmax()))
    return ids + [eos_id] * (max_len - len(ids))


# embeddings.embedding_from_pretrained


@wrong(
    "embeddings.embedding_from_pretrained",
    "trainable is ignored: always frozen by detach",
    "always-frozen",
)
def _(vectors, trainable, pad_id):
    table = nn.Embedding(*vectors.shape, padding_idx=pad_id, dtype=vectors.dtype)
    table.weight = nn.Parameter(vectors.clone(), requires_grad=False)
    return table


@wrong("embeddings.embedding_from_pretrained", "V and D are swapped", relation="axes-swapped")
def _(vectors, trainable, pad_id):
    table = nn.Embedding(vectors.shape[1], vectors.shape[0], padding_idx=pad_id)
    table.weight.data = vectors.T.clone()
    table.weight.requires_grad = trainable
    return table


@wrong(
    "embeddings.embedding_from_pretrained",
    "nn.Embedding sets the row of padding to zero first",
    "pad-row-zeroed",
)
def _(vectors, trainable, pad_id):
    table = nn.Embedding.from_pretrained(vectors.clone(), freeze=not trainable, padding_idx=pad_id)
    with torch.no_grad():
        table._fill_padding_idx_with_zero()
    return table


@wrong("embeddings.embedding_from_pretrained", "the rows are normed", "normalised")
def _(vectors, trainable, pad_id):
    vectors = F.normalize(vectors, dim=-1)
    return nn.Embedding.from_pretrained(vectors, freeze=not trainable, padding_idx=pad_id)


@wrong("embeddings.embedding_from_pretrained", "a pad_id of None becomes 0", "pad-id-always-0")
def _(vectors, trainable, pad_id):
    return nn.Embedding.from_pretrained(vectors, freeze=not trainable, padding_idx=pad_id or 0)


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
    "masking.masked_softmax",
    "finfo.min, and the empty rows stay even",
    "uniform-where-nothing-is-seen",
)
def _(scores, mask):
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1)


@wrong("masking.masked_softmax", "the result is float32", "float32-only")
def _(scores, mask):
    filled = scores.float().masked_fill(~mask, float("-inf"))
    return torch.softmax(filled, dim=-1).nan_to_num(0.0)


@wrong(
    "masking.masked_softmax", "minus infinity times the mask: NaN everywhere", relation="constant"
)
def _(scores, mask):
    scores = scores + (~mask) * float("-inf")
    return scores.softmax(-1).nan_to_num(0.0)


@wrong("masking.masked_softmax", "1 - mask with -10000, and zeroing", "fill-too-mild")
def _(scores, mask):
    scores = scores + (1.0 - mask.to(scores.dtype)) * -10000.0
    return scores.softmax(-1) * mask


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


@wrong("masking.masked_softmax", "empty rows become even by hand", "uniform-where-nothing-is-seen")
def _(scores, mask):
    weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
    return torch.where(weights.isnan(), torch.full_like(weights, 1 / scores.shape[-1]), weights)


# tokenizers.train_bpe


@wrong("tokenizers.train_bpe", "ties by the last pair that was counted", "ties-as-they-came")
def _(word_counts, num_merges):
    words = {tuple(w): n for w, n in word_counts.items()}
    merges = []
    for _ in range(num_merges):
        counts = count_loop(words)
        if not counts:
            break
        best = sorted(counts, key=counts.get)[-1]
        merges.append(best)
        words = {reference.merge_pair(w, best): n for w, n in words.items()}
    return merges


@wrong("tokenizers.train_bpe", "one merge more", "one-too-few")
def _(word_counts, num_merges):
    words = {tuple(w): n for w, n in word_counts.items()}
    merges = []
    while len(merges) <= num_merges:
        counts = count_loop(words)
        if not counts:
            break
        best = max(counts, key=lambda p: (counts[p], p))
        merges.append(best)
        words = {reference.merge_pair(w, best): n for w, n in words.items()}
    return merges


@wrong("tokenizers.train_bpe", "the rarest pair", "rarest-pair")
def _(word_counts, num_merges):
    words = {tuple(w): n for w, n in word_counts.items()}
    merges = []
    for _ in range(num_merges):
        counts = count_loop(words)
        if not counts:
            break
        best = min(counts, key=lambda p: (counts[p], p))
        merges.append(best)
        words = {reference.merge_pair(w, best): n for w, n in words.items()}
    return merges


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


@wrong(
    "tokenizers.train_bpe", "the greatest pair first, the count breaks ties", "greatest-pair-only"
)
def _(word_counts, num_merges):
    words = {tuple(w): n for w, n in word_counts.items()}
    merges = []
    for _ in range(num_merges):
        counts = count_loop(words)
        if not counts:
            break
        best = max(counts, key=lambda p: (p, counts[p]))
        merges.append(best)
        words = {reference.merge_pair(w, best): n for w, n in words.items()}
    return merges


@wrong(
    "tokenizers.train_bpe",
    "merges in the joined text: parts of symbols are joined",
    "inside-symbols",
)
def _(word_counts, num_merges):
    words = {" ".join(w): n for w, n in word_counts.items()}
    merges = []
    for _ in range(num_merges):
        counts = count_loop({tuple(w.split()): n for w, n in words.items()})
        if not counts:
            break
        best = max(counts, key=lambda p: (counts[p], p))
        merges.append(best)
        words = {w.replace(" ".join(best), "".join(best)): n for w, n in words.items()}
    return merges
