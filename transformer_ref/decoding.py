"""Decoding: from next-token scores to a sequence, one token at a time.

Source: Vaswani et al. 2017, section 3.1 (auto-regression).
"""

from __future__ import annotations

import torch
from torch import Tensor

from transformer_ref._validate import require_ids
from transformer_ref.cache import KVCache
from transformer_ref.masks import padding_mask
from transformer_ref.model import Transformer


@torch.inference_mode()
def greedy_decode(
    model: Transformer,
    src: Tensor,
    bos_id: int,
    eos_id: int,
    max_len: int,
    use_cache: bool = True,
) -> Tensor:
    """Append the likeliest next token until every row has ended or `max_len` is reached.

    Args:
        model: a Transformer; it is run in eval mode and left as it came.
        src: (B, S) integer source ids, padded with the model's pad_id.
        bos_id: the token that every answer starts with.
        eos_id: the token that ends a row.
        max_len: the longest answer, begin and end token counted.
        use_cache: keep keys and values of earlier tokens; False runs the whole prefix again for
            each token, which gives the same tokens more slowly.

    Returns:
        (B, <= max_len) int64: begin token, tokens, end token if it came, then padding.

    Raises:
        ValueError: if `max_len` is below 1 or above the model's max_len, an id is outside the
            target vocabulary, or `src` does not fit the model.
    """
    config = model.config
    require_ids("src", src)  # its values are checked where they are embedded
    if not 1 <= max_len <= config.max_len:
        raise ValueError(f"max_len must lie in 1..{config.max_len}, got {max_len}")
    for name, token_id in (("bos_id", bos_id), ("eos_id", eos_id)):
        if not 0 <= token_id < config.tgt_vocab_size:
            raise ValueError(f"{name} must lie in 0..{config.tgt_vocab_size - 1}, got {token_id}")
    was_training = model.training
    model.eval()
    try:
        return _greedy(model, src, bos_id, eos_id, max_len, use_cache)
    finally:
        model.train(was_training)


def _greedy(
    model: Transformer, src: Tensor, bos_id: int, eos_id: int, max_len: int, use_cache: bool
) -> Tensor:
    pad_id = model.config.pad_id
    src_mask = padding_mask(src, pad_id)
    memory = model.encode(src, src_mask)
    cache = KVCache(model.config.num_decoder_layers) if use_cache else None
    ids = torch.full((len(src), 1), bos_id, dtype=torch.int64, device=src.device)
    finished = torch.zeros(len(src), dtype=torch.bool, device=src.device)
    while ids.shape[1] < max_len and not finished.all():
        unread = ids[:, cache.length :] if cache is not None else ids
        logits = model.decode(unread, memory, memory_mask=src_mask, cache=cache)[:, -1]
        following = logits.argmax(dim=-1).masked_fill(finished, pad_id)
        ids = torch.cat((ids, following[:, None]), dim=1)
        finished |= following == eos_id
    return ids
