"""Wrong answers to the tasks on decoding."""

import math

import torch

from tests.checks.material.unlisted import wrong


@wrong("decoding.greedy_decode", "argmax() without int: tensors stand in the list")
def greedy_decode_6(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        token = next_logits(ids).argmax()
        ids.append(token)
        if token == eos_id:
            break
    return ids


@wrong("decoding.greedy_decode", "int(next_logits(ids).max()): the logit and not its place")
def greedy_decode_9(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        token = int(next_logits(ids).max())
        ids.append(token)
        if token == eos_id:
            break
    return ids


def grow(next_log_probs, live):
    """Extend every hypothesis by every token, the best first."""
    grown = [
        (total + step, [*ids, token])
        for total, ids in live
        for token, step in enumerate(next_log_probs(ids).tolist())
    ]
    return sorted(grown, key=lambda pair: pair[0], reverse=True)


def score(pair, length_penalty):
    """Return what is compared in the end."""
    return pair[0] / (len(pair[1]) - 1) ** length_penalty


@wrong("decoding.beam_search", "return the pair: the sum comes along")
def beam_search_5(next_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty=0.0):
    live, ended = [(0.0, [bos_id])], []
    while live and len(live[0][1]) < max_len:
        grown = grow(next_log_probs, live)[:beam_size]
        ended += [pair for pair in grown if pair[1][-1] == eos_id]
        live = [pair for pair in grown if pair[1][-1] != eos_id]
    return max(ended + live, key=lambda pair: score(pair, length_penalty))


@wrong("decoding.cached_attention", "return output: the new cache is not returned")
def cached_attention_6(query, key, value, cache):
    if cache is not None:
        key = torch.cat([cache[0], key], dim=2)
        value = torch.cat([cache[1], value], dim=2)
    weights = (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return weights @ value


@wrong("decoding.cached_attention", "keys, values = cache without a test: None cannot be unpacked")
def cached_attention_7(query, key, value, cache):
    keys, values = cache
    keys = torch.cat([keys, key], dim=2)
    values = torch.cat([values, value], dim=2)
    weights = (query @ keys.transpose(-2, -1) / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return weights @ values, (keys, values)
