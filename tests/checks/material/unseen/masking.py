"""Wrong answers to the tasks of masking, as beginners write them."""

import torch

from tests.checks.material.unseen import wrong
from transformer_ref import masks as reference

# masking.masked_softmax


@wrong(
    "masking.masked_softmax",
    "an epsilon in the denominator changes the weights",
    relation="factor-of-row",
)
def _(scores, mask):
    shifted = scores - scores.max(dim=-1, keepdim=True).values
    e = torch.exp(shifted) * mask
    return e / (e.sum(dim=-1, keepdim=True) + 1e-3)


# masking.padding_mask


# masking.causal_mask


# masking.target_mask


@wrong("masking.target_mask", "and instead of &", "whole-tensor-as-condition")
def _(ids, pad_id):
    return reference.padding_mask(ids, pad_id) and reference.causal_mask(ids.shape[1], ids.device)


# masking.find_the_bug


# masking.how_far_ahead


# masking.packed_inputs


@wrong("masking.packed_inputs", "only a token and the one before it", relation="diagonal")
def _(documents):
    same = documents[:, :, None] == documents[:, None, :]
    mask = same.tril().triu(-1) & (documents != 0)[:, None, :]
    return mask[:, None], same.tril(-1).sum(dim=-1) * (documents != 0)


# masking.shortest_failure
