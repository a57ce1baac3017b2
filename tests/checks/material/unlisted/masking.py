"""Wrong answers to the tasks on masking."""

import torch

from tests.checks.material.unlisted import wrong


@wrong("masking.causal_mask", "unsqueeze(-1) twice: the shape is (T, T, 1, 1)")
def causal_mask_10(length, device=None):
    places = torch.arange(length, device=device)
    mask = places[None, :] <= places[:, None]
    return mask.unsqueeze(-1).unsqueeze(-1)


@wrong("masking.target_mask", "length = ids.shape[0]: the batch is taken for the length")
def target_mask_7(ids, pad_id):
    length = ids.shape[0]
    past = torch.ones(length, length, device=ids.device).tril().bool()
    return (ids != pad_id)[:, None, None, :] & past


@wrong("masking.target_mask", "ids[0]: every row gets the padding of the first one")
def target_mask_8(ids, pad_id):
    batch, length = ids.shape
    past = torch.ones(length, length, device=ids.device).tril().bool()
    mask = (ids[0] != pad_id)[None, :] & past
    return mask.expand(batch, 1, length, length)
