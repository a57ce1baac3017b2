"""Wrong answers to the tasks on masking."""

import torch

from tests.checks.material.unlisted import wrong


@wrong("masking.causal_mask", "triu: the future is seen and the past hidden")
def causal_mask_1(length, device=None):
    return torch.ones(1, 1, length, length, dtype=torch.bool, device=device).triu()


@wrong("masking.causal_mask", "tril(diagonal=-1): a position does not see itself")
def causal_mask_2(length, device=None):
    return torch.ones(1, 1, length, length, dtype=torch.bool, device=device).tril(-1)


@wrong("masking.causal_mask", "tril(diagonal=1): one position too many")
def causal_mask_3(length, device=None):
    places = torch.ones(length, length, device=device).tril(diagonal=1)
    return places.bool().view(1, 1, length, length)


@wrong("masking.causal_mask", "no .bool(): zeros and ones in float32")
def causal_mask_4(length, device=None):
    return torch.tril(torch.ones(1, 1, length, length, device=device))


@wrong("masking.causal_mask", "no [None, None]: the shape is (T, T)")
def causal_mask_5(length, device=None):
    return torch.ones(length, length, device=device).tril().bool()


@wrong("masking.causal_mask", "torch.ones without device: always on the CPU")
def causal_mask_6(length, device=None):
    return torch.ones(1, 1, length, length).tril().bool()


@wrong("masking.causal_mask", "arange <= arange without a second axis: T times True")
def causal_mask_7(length, device=None):
    places = torch.arange(length, device=device)
    return (places <= places).expand(1, 1, length, length)


@wrong("masking.causal_mask", "torch.eye: each position sees itself alone")
def causal_mask_8(length, device=None):
    return torch.eye(length, device=device).bool().unsqueeze(0).unsqueeze(0)


@wrong("masking.causal_mask", "full(-inf).triu(1): what is added to the scores, no boolean mask")
def causal_mask_9(length, device=None):
    hidden = torch.full((length, length), float("-inf"), device=device)
    return hidden.triu(diagonal=1)[None, None]


@wrong("masking.causal_mask", "unsqueeze(-1) twice: the shape is (T, T, 1, 1)")
def causal_mask_10(length, device=None):
    places = torch.arange(length, device=device)
    mask = places[None, :] <= places[:, None]
    return mask.unsqueeze(-1).unsqueeze(-1)


@wrong("masking.target_mask", "real | past: one of the two is enough")
def target_mask_1(ids, pad_id):
    length = ids.shape[1]
    past = torch.ones(length, length, device=ids.device).tril().bool()
    return (ids != pad_id)[:, None, None, :] | past


@wrong("masking.target_mask", "real[:, None, :, None]: padding is hidden as a query")
def target_mask_2(ids, pad_id):
    length = ids.shape[1]
    past = torch.ones(length, length, device=ids.device).tril().bool()
    return (ids != pad_id)[:, None, :, None] & past


@wrong("masking.target_mask", "ids == pad_id: tokens are hidden and padding is seen")
def target_mask_3(ids, pad_id):
    length = ids.shape[1]
    past = torch.ones(length, length, device=ids.device).tril().bool()
    return (ids == pad_id)[:, None, None, :] & past


@wrong("masking.target_mask", "ids != 0: pad_id is not used")
def target_mask_4(ids, pad_id):
    length = ids.shape[1]
    past = torch.ones(length, length, device=ids.device).tril().bool()
    return (ids != 0)[:, None, None, :] & past


@wrong("masking.target_mask", "torch.ones(T, T).bool() without tril: no future is hidden")
def target_mask_5(ids, pad_id):
    length = ids.shape[1]
    past = torch.ones(length, length, device=ids.device).bool()
    return (ids != pad_id)[:, None, None, :] & past


@wrong("masking.target_mask", "real[:, None, :] & past: the axis of the heads is missing")
def target_mask_6(ids, pad_id):
    length = ids.shape[1]
    past = torch.ones(length, length, device=ids.device).tril().bool()
    return (ids != pad_id)[:, None, :] & past


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


@wrong("masking.target_mask", "real & real.T: a padding query sees nothing either")
def target_mask_9(ids, pad_id):
    real = ids != pad_id
    length = ids.shape[1]
    past = torch.ones(length, length, device=ids.device).tril().bool()
    return (real[:, None, :, None] & real[:, None, None, :]) & past


@wrong("masking.target_mask", "real * past.float(): a product of numbers, float32")
def target_mask_10(ids, pad_id):
    length = ids.shape[1]
    past = torch.ones(length, length, device=ids.device).tril()
    return (ids != pad_id)[:, None, None, :] * past


@wrong("masking.masked_softmax", "masked_fill(-inf) and softmax: NaN where nothing may be seen")
def masked_softmax_1(scores, mask):
    return scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)


@wrong("masking.masked_softmax", "masked_fill(~mask, 0.0): a hidden score is 0 and not low")
def masked_softmax_2(scores, mask):
    return scores.masked_fill(~mask, 0.0).softmax(dim=-1) * mask


@wrong("masking.masked_softmax", "masked_fill(mask, ...): what may be seen is hidden")
def masked_softmax_3(scores, mask):
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(mask, lowest).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


@wrong("masking.masked_softmax", "softmax(scores) * mask: the rows do not sum to 1")
def masked_softmax_4(scores, mask):
    return scores.softmax(dim=-1) * mask


@wrong("masking.masked_softmax", "dim=-2: the softmax runs over the queries")
def masked_softmax_5(scores, mask):
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(~mask, lowest).softmax(dim=-2)
    return weights * mask


@wrong("masking.masked_softmax", "scores.masked_fill_: the caller's scores are overwritten")
def masked_softmax_6(scores, mask):
    filled = scores.masked_fill_(~mask, torch.finfo(scores.dtype).min)
    return filled.softmax(dim=-1) * mask


@wrong("masking.masked_softmax", "scores.float(): the result is float32 for float16 scores")
def masked_softmax_7(scores, mask):
    wide = scores.float().masked_fill(~mask, torch.finfo(torch.float32).min)
    return wide.softmax(dim=-1) * mask


@wrong("masking.masked_softmax", "exp(scores) without the maximum: infinite for large scores")
def masked_softmax_8(scores, mask):
    powers = torch.exp(scores) * mask
    total = powers.sum(dim=-1, keepdim=True)
    return powers / total.clamp(min=1e-9)


@wrong("masking.masked_softmax", "masked_fill(~mask, -1e4): low scores lie below the fill")
def masked_softmax_9(scores, mask):
    weights = scores.masked_fill(~mask, -1e4).softmax(dim=-1)
    return torch.where(mask, weights, 0.0)


@wrong("masking.masked_softmax", "no weights * mask: a row that sees nothing is even, not zero")
def masked_softmax_10(scores, mask):
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim=-1)
