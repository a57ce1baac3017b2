"""Wrong answers to the tasks of decoding, as beginners write them."""

import math

import torch

from tests.checks.material.unseen import wrong

EOS, SOS = 0, 1


max_len = 10


@wrong("decoding.greedy_decode", "max instead of argmax", "max-not-argmax")
def _(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        nxt = int(next_logits(ids).max())
        ids.append(nxt)
        if nxt == eos_id:
            break
    return ids


@wrong("decoding.beam_search", "finished hypotheses are forgotten")
def _(next_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty=0.0):
    live = [(0.0, [bos_id])]
    while len(live[0][1]) < max_len:
        grown = [
            (total + lp, [*ids, tok])
            for total, ids in live
            for tok, lp in enumerate(next_log_probs(ids).tolist())
        ]
        grown.sort(key=lambda h: h[0], reverse=True)
        live = grown[:beam_size]
        if live[0][1][-1] == eos_id:
            break
        live = [h for h in live if h[1][-1] != eos_id]
        if not live:
            break
    return live[0][1]


def _attend(query, keys, values):
    weights = (query @ keys.transpose(-2, -1) / math.sqrt(query.shape[-1])).softmax(-1)
    return weights @ values


@wrong(
    "decoding.cached_attention", "the values are not cached, only the keys", relation="independent"
)
def _(query, key, value, cache):
    keys = key
    if cache is not None:
        keys = torch.cat([cache[0], key], dim=2)
        value = value.expand(-1, -1, keys.shape[2], -1)
    return _attend(query, keys, value), (keys, value)


@wrong("decoding.sample", "multinomial draws with its own random numbers", relation="unsteady")
def _(logits, temperature, top_k, top_p, uniform):
    probs = torch.zeros_like(logits)
    for b in range(logits.shape[0]):
        p = (logits[b] / temperature[b]).softmax(-1)
        values, ids = p.sort(descending=True)
        values = values[: top_k[b]] / values[: top_k[b]].sum()
        n = int((values.cumsum(0) < top_p[b]).sum()) + 1
        probs[b, ids[:n]] = values[:n] / values[:n].sum()
    return probs, torch.multinomial(probs, 1).squeeze(1)


@wrong("decoding.sample", "the mask of top-p stays in sorted order", "sorted-order-kept")
def _(logits, temperature, top_k, top_p, uniform):
    probs = (logits / temperature[:, None]).softmax(-1)
    rank = probs.argsort(descending=True).argsort()
    probs = probs * (rank < top_k[:, None])
    probs = probs / probs.sum(-1, keepdim=True)
    down = probs.sort(descending=True).values
    keep = down.cumsum(-1) - down < top_p[:, None]
    probs = probs * keep
    probs = probs / probs.sum(-1, keepdim=True)
    return probs, (probs.cumsum(-1) < uniform[:, None]).sum(-1)


def _right(logits, temperature, top_k, top_p):
    down, ids = (logits / temperature[:, None]).softmax(-1).sort(descending=True)
    down = torch.where(torch.arange(logits.shape[1]) < top_k[:, None], down, 0)
    down = down / down.sum(1, keepdim=True)
    down = torch.where(down.cumsum(1) - down < top_p[:, None], down, 0)
    down = down / down.sum(1, keepdim=True)
    return torch.empty_like(down).scatter(1, ids, down)


@wrong("decoding.sample", "the token has shape (B, 1)", relation="axis-too-many")
def _(logits, temperature, top_k, top_p, uniform):
    probs = _right(logits, temperature, top_k, top_p)
    return probs, torch.searchsorted(probs.cumsum(1), uniform[:, None])


@wrong("decoding.greedy_decode", "argmax() without int: tensors stand in the list", None)
def greedy_decode_6(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        token = next_logits(ids).argmax()
        ids.append(token)
        if token == eos_id:
            break
    return ids


@wrong("decoding.greedy_decode", "int(next_logits(ids).max()): the logit and not its place", None)
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


@wrong("decoding.beam_search", "return the pair: the sum comes along", None)
def beam_search_5(next_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty=0.0):
    live, ended = [(0.0, [bos_id])], []
    while live and len(live[0][1]) < max_len:
        grown = grow(next_log_probs, live)[:beam_size]
        ended += [pair for pair in grown if pair[1][-1] == eos_id]
        live = [pair for pair in grown if pair[1][-1] != eos_id]
    return max(ended + live, key=lambda pair: score(pair, length_penalty))


@wrong("decoding.cached_attention", "return output: the new cache is not returned", None)
def cached_attention_6(query, key, value, cache):
    if cache is not None:
        key = torch.cat([cache[0], key], dim=2)
        value = torch.cat([cache[1], value], dim=2)
    weights = (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return weights @ value


@wrong(
    "decoding.cached_attention",
    "keys, values = cache without a test: None cannot be unpacked",
    None,
)
def cached_attention_7(query, key, value, cache):
    keys, values = cache
    keys = torch.cat([keys, key], dim=2)
    values = torch.cat([values, value], dim=2)
    weights = (query @ keys.transpose(-2, -1) / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return weights @ values, (keys, values)
