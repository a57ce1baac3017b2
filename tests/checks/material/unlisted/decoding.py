"""Wrong answers to the tasks on decoding."""

import math

import torch

from tests.checks.material.unlisted import wrong


@wrong("decoding.greedy_decode", "range(max_len): the begin token is not counted")
def greedy_decode_1(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        token = int(next_logits(ids).argmax())
        ids.append(token)
        if token == eos_id:
            break
    return ids


@wrong("decoding.greedy_decode", "break before append: the end token is missing")
def greedy_decode_2(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        token = int(next_logits(ids).argmax())
        if token == eos_id:
            break
        ids.append(token)
    return ids


@wrong("decoding.greedy_decode", "ids = [eos_id]: begin and end are exchanged")
def greedy_decode_3(next_logits, bos_id, eos_id, max_len):
    ids = [eos_id]
    while len(ids) < max_len:
        token = int(next_logits(ids).argmax())
        ids.append(token)
        if token == bos_id:
            break
    return ids


@wrong("decoding.greedy_decode", "next_logits([token]): only the newest id is read")
def greedy_decode_4(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    token = bos_id
    while len(ids) < max_len:
        token = int(next_logits([token]).argmax())
        ids.append(token)
        if token == eos_id:
            break
    return ids


@wrong("decoding.greedy_decode", "ids[1:]: the begin token is not returned")
def greedy_decode_5(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        token = int(next_logits(ids).argmax())
        ids.append(token)
        if token == eos_id:
            break
    return ids[1:]


@wrong("decoding.greedy_decode", "argmax() without int: tensors stand in the list")
def greedy_decode_6(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        token = next_logits(ids).argmax()
        ids.append(token)
        if token == eos_id:
            break
    return ids


@wrong("decoding.greedy_decode", "token == 0: eos_id is taken for 0")
def greedy_decode_7(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        token = int(next_logits(ids).argmax())
        ids.append(token)
        if token == 0:
            break
    return ids


@wrong("decoding.greedy_decode", "no test of eos_id: it goes on to max_len")
def greedy_decode_8(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        ids.append(int(next_logits(ids).argmax()))
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


@wrong("decoding.greedy_decode", "ids.append(eos_id) at the end: put there though not said")
def greedy_decode_10(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        token = int(next_logits(ids).argmax())
        if token == eos_id:
            break
        ids.append(token)
    ids.append(eos_id)
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


@wrong("decoding.beam_search", "no sum: the total is the newest step alone")
def beam_search_1(next_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty=0.0):
    live, ended = [(0.0, [bos_id])], []
    while live and len(live[0][1]) < max_len:
        grown = [
            (step, [*ids, token])
            for _, ids in live
            for token, step in enumerate(next_log_probs(ids).tolist())
        ]
        grown = sorted(grown, key=lambda pair: pair[0], reverse=True)[:beam_size]
        ended += [pair for pair in grown if pair[1][-1] == eos_id]
        live = [pair for pair in grown if pair[1][-1] != eos_id]
    return max(ended + live, key=lambda pair: score(pair, length_penalty))[1]


@wrong("decoding.beam_search", "sorted without reverse: the worst are kept")
def beam_search_2(next_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty=0.0):
    live, ended = [(0.0, [bos_id])], []
    while live and len(live[0][1]) < max_len:
        grown = grow(next_log_probs, live)[::-1][:beam_size]
        ended += [pair for pair in grown if pair[1][-1] == eos_id]
        live = [pair for pair in grown if pair[1][-1] != eos_id]
    return max(ended + live, key=lambda pair: score(pair, length_penalty))[1]


@wrong("decoding.beam_search", "length_penalty is never used")
def beam_search_3(next_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty=0.0):
    live, ended = [(0.0, [bos_id])], []
    while live and len(live[0][1]) < max_len:
        grown = grow(next_log_probs, live)[:beam_size]
        ended += [pair for pair in grown if pair[1][-1] == eos_id]
        live = [pair for pair in grown if pair[1][-1] != eos_id]
    return max(ended + live)[1]


@wrong("decoding.beam_search", "ended = [] inside the loop: what ended earlier is forgotten")
def beam_search_4(next_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty=0.0):
    live, ended = [(0.0, [bos_id])], []
    while live and len(live[0][1]) < max_len:
        grown = grow(next_log_probs, live)[:beam_size]
        ended = [pair for pair in grown if pair[1][-1] == eos_id]
        live = [pair for pair in grown if pair[1][-1] != eos_id]
    return max(ended + live, key=lambda pair: score(pair, length_penalty))[1]


@wrong("decoding.beam_search", "return the pair: the sum comes along")
def beam_search_5(next_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty=0.0):
    live, ended = [(0.0, [bos_id])], []
    while live and len(live[0][1]) < max_len:
        grown = grow(next_log_probs, live)[:beam_size]
        ended += [pair for pair in grown if pair[1][-1] == eos_id]
        live = [pair for pair in grown if pair[1][-1] != eos_id]
    return max(ended + live, key=lambda pair: score(pair, length_penalty))


@wrong("decoding.beam_search", "live = grown: what has ended is extended on")
def beam_search_6(next_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty=0.0):
    live = [(0.0, [bos_id])]
    while len(live[0][1]) < max_len:
        live = grow(next_log_probs, live)[:beam_size]
    return max(live, key=lambda pair: score(pair, length_penalty))[1]


@wrong("decoding.beam_search", "return at the first eos_id: later ones may be better")
def beam_search_7(next_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty=0.0):
    live = [(0.0, [bos_id])]
    while len(live[0][1]) < max_len:
        live = grow(next_log_probs, live)[:beam_size]
        for _, ids in live:
            if ids[-1] == eos_id:
                return ids
    return max(live, key=lambda pair: score(pair, length_penalty))[1]


@wrong("decoding.beam_search", "len(ids) <= max_len: one entry too many")
def beam_search_8(next_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty=0.0):
    live, ended = [(0.0, [bos_id])], []
    while live and len(live[0][1]) <= max_len:
        grown = grow(next_log_probs, live)[:beam_size]
        ended += [pair for pair in grown if pair[1][-1] == eos_id]
        live = [pair for pair in grown if pair[1][-1] != eos_id]
    return max(ended + live, key=lambda pair: score(pair, length_penalty))[1]


@wrong("decoding.beam_search", "total * n ** alpha: multiplied in the place of divided")
def beam_search_9(next_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty=0.0):
    live, ended = [(0.0, [bos_id])], []
    while live and len(live[0][1]) < max_len:
        grown = grow(next_log_probs, live)[:beam_size]
        ended += [pair for pair in grown if pair[1][-1] == eos_id]
        live = [pair for pair in grown if pair[1][-1] != eos_id]
    return max(ended + live, key=lambda pair: pair[0] * (len(pair[1]) - 1) ** length_penalty)[1]


@wrong("decoding.beam_search", "total = 1.0 and total * step: log-probabilities are multiplied")
def beam_search_10(next_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty=0.0):
    live, ended = [(1.0, [bos_id])], []
    while live and len(live[0][1]) < max_len:
        grown = [
            (total * step, [*ids, token])
            for total, ids in live
            for token, step in enumerate(next_log_probs(ids).tolist())
        ]
        grown = sorted(grown, key=lambda pair: pair[0], reverse=True)[:beam_size]
        ended += [pair for pair in grown if pair[1][-1] == eos_id]
        live = [pair for pair in grown if pair[1][-1] != eos_id]
    return max(ended + live, key=lambda pair: score(pair, length_penalty))[1]


@wrong("decoding.cached_attention", "cat([key, keys]): the newest comes first")
def cached_attention_1(query, key, value, cache):
    if cache is not None:
        key = torch.cat([key, cache[0]], dim=2)
        value = torch.cat([value, cache[1]], dim=2)
    weights = (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return weights @ value, (key, value)


@wrong("decoding.cached_attention", "cat(dim=1): joined along the heads")
def cached_attention_2(query, key, value, cache):
    if cache is not None:
        key = torch.cat([cache[0], key], dim=1)
        value = torch.cat([cache[1], value], dim=1)
    weights = (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return weights @ value, (key, value)


@wrong("decoding.cached_attention", "no / sqrt(K): the scores are not scaled")
def cached_attention_3(query, key, value, cache):
    if cache is not None:
        key = torch.cat([cache[0], key], dim=2)
        value = torch.cat([cache[1], value], dim=2)
    weights = (query @ key.transpose(-2, -1)).softmax(dim=-1)
    return weights @ value, (key, value)


@wrong("decoding.cached_attention", "attends to the cache only: its own key is not seen")
def cached_attention_4(query, key, value, cache):
    if cache is None:
        return value, (key, value)
    keys, values = cache
    weights = (query @ keys.transpose(-2, -1) / math.sqrt(query.shape[-1])).softmax(dim=-1)
    cache = (torch.cat([keys, key], dim=2), torch.cat([values, value], dim=2))
    return weights @ values, cache


@wrong("decoding.cached_attention", "return (key, value): the new cache holds one token")
def cached_attention_5(query, key, value, cache):
    keys, values = key, value
    if cache is not None:
        keys = torch.cat([cache[0], key], dim=2)
        values = torch.cat([cache[1], value], dim=2)
    weights = (query @ keys.transpose(-2, -1) / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return weights @ values, (key, value)


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


@wrong("decoding.cached_attention", "(values, keys) in the new cache: exchanged")
def cached_attention_8(query, key, value, cache):
    if cache is not None:
        keys, values = cache
        key = torch.cat([keys, key], dim=2)
        value = torch.cat([values, value], dim=2)
    weights = (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return weights @ value, (value, key)


@wrong("decoding.cached_attention", "cat([cache[0], value]): keys where the values should be")
def cached_attention_9(query, key, value, cache):
    if cache is not None:
        key = torch.cat([cache[0], key], dim=2)
        value = torch.cat([cache[0], value], dim=2)
    weights = (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return weights @ value, (key, value)


@wrong("decoding.cached_attention", "tril() on the one row: the query sees the oldest key only")
def cached_attention_10(query, key, value, cache):
    if cache is not None:
        key = torch.cat([cache[0], key], dim=2)
        value = torch.cat([cache[1], value], dim=2)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    past = torch.ones(query.shape[2], key.shape[2]).tril().bool()
    weights = scores.masked_fill(~past, -math.inf).softmax(dim=-1)
    return weights @ value, (key, value)
