"""Wrong answers to the tasks of masking, as beginners write them."""

import torch

from tests.checks.material.unseen import wrong
from transformer_ref import masks as reference


@wrong(
    "masking.masked_softmax",
    "an epsilon in the denominator changes the weights",
    relation="factor-of-row",
)
def _(scores, mask):
    shifted = scores - scores.max(dim=-1, keepdim=True).values
    e = torch.exp(shifted) * mask
    return e / (e.sum(dim=-1, keepdim=True) + 1e-3)


@wrong("masking.target_mask", "and instead of &", "whole-tensor-as-condition")
def _(ids, pad_id):
    return reference.padding_mask(ids, pad_id) and reference.causal_mask(ids.shape[1], ids.device)


@wrong("masking.packed_inputs", "only a token and the one before it", relation="diagonal")
def _(documents):
    same = documents[:, :, None] == documents[:, None, :]
    mask = same.tril().triu(-1) & (documents != 0)[:, None, :]
    return mask[:, None], same.tril(-1).sum(dim=-1) * (documents != 0)


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


@wrong("masking.causal_mask", "unsqueeze(-1) twice: the shape is (T, T, 1, 1)", None)
def causal_mask_10(length, device=None):
    places = torch.arange(length, device=device)
    mask = places[None, :] <= places[:, None]
    return mask.unsqueeze(-1).unsqueeze(-1)


@wrong("masking.target_mask", "length = ids.shape[0]: the batch is taken for the length", None)
def target_mask_7(ids, pad_id):
    length = ids.shape[0]
    past = torch.ones(length, length, device=ids.device).tril().bool()
    return (ids != pad_id)[:, None, None, :] & past


@wrong("masking.target_mask", "ids[0]: every row gets the padding of the first one", None)
def target_mask_8(ids, pad_id):
    batch, length = ids.shape
    past = torch.ones(length, length, device=ids.device).tril().bool()
    mask = (ids[0] != pad_id)[None, :] & past
    return mask.expand(batch, 1, length, length)
