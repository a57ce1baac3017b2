"""Wrong answers to the tasks of decoding, as beginners write them."""

import math

import torch

from tests.checks.material.unseen import wrong

EOS, SOS = 0, 1
max_len = 10


# decoding.greedy_decode


@wrong(
    "decoding.greedy_decode",
    "the begin token does not count for max_len",
    "limit-counts-new-tokens",
)
def _(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        nxt = next_logits(ids).argmax().item()
        ids.append(nxt)
        if nxt == eos_id:
            break
    return ids


@wrong("decoding.greedy_decode", "the end token is left out", "end-left-out")
def _(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        nxt = next_logits(ids).argmax().item()
        if nxt == eos_id:
            break
        ids.append(nxt)
    return ids


@wrong("decoding.greedy_decode", "never stops at the end token", "never-stops")
def _(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        ids.append(int(next_logits(ids).argmax()))
    return ids


@wrong("decoding.greedy_decode", "the begin token is left out of the result", "begin-left-out")
def _(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        nxt = int(next_logits(ids).argmax())
        ids.append(nxt)
        if nxt == eos_id:
            break
    return ids[1:]


@wrong("decoding.greedy_decode", "max instead of argmax", "max-not-argmax")
def _(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        nxt = int(next_logits(ids).max())
        ids.append(nxt)
        if nxt == eos_id:
            break
    return ids


@wrong("decoding.greedy_decode", "samples instead of taking the likeliest", "sampled")
def _(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        probs = torch.softmax(next_logits(ids), dim=-1)
        nxt = int(torch.multinomial(probs, 1))
        ids.append(nxt)
        if nxt == eos_id:
            break
    return ids


@wrong("decoding.greedy_decode", "return inside the loop", "returns-in-the-loop")
def _(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        nxt = int(next_logits(ids).argmax())
        ids.append(nxt)
        if nxt == eos_id:
            break
        return ids
    return ids


@wrong("decoding.greedy_decode", "the model sees only the last token", "last-token-only")
def _(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        nxt = int(next_logits(ids[-1:]).argmax())
        ids.append(nxt)
        if nxt == eos_id:
            break
    return ids


@wrong("decoding.greedy_decode", "the ids are tensors", "tensor-for-a-number")
def _(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        nxt = next_logits(ids).argmax()
        ids.append(nxt)
        if nxt == eos_id:
            break
    return torch.tensor(ids)


@wrong(
    "decoding.greedy_decode",
    "the notebook's EOS and SOS instead of the arguments",
    "name-of-the-notebook",
)
def _(next_logits, bos_id, eos_id, max_len):
    ids = [SOS]
    while len(ids) < max_len:
        nxt = int(next_logits(ids).argmax())
        ids.append(nxt)
        if nxt == EOS:
            break
    return ids


@wrong("decoding.greedy_decode", "the model is asked once", "begin-token-only")
def _(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    logits = next_logits(ids)
    while len(ids) < max_len:
        nxt = int(logits.argmax())
        ids.append(nxt)
        if nxt == eos_id:
            break
    return ids


@wrong("decoding.greedy_decode", "an end token is put behind in any case", "end-added-at-the-limit")
def _(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        nxt = int(next_logits(ids).argmax())
        if nxt == eos_id:
            break
        ids.append(nxt)
    ids.append(eos_id)
    return ids


# decoding.beam_search


@wrong("decoding.beam_search", "log-probabilities are multiplied", "log-probabilities-multiplied")
def _(next_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty=0.0):
    live, ended = [(1.0, [bos_id])], []
    while live and len(live[0][1]) < max_len:
        grown = [
            (total * lp, [*ids, tok])
            for total, ids in live
            for tok, lp in enumerate(next_log_probs(ids).tolist())
        ]
        grown.sort(key=lambda h: h[0], reverse=True)
        live = []
        for h in grown[:beam_size]:
            (ended if h[1][-1] == eos_id else live).append(h)
    return max(ended + live, key=lambda h: h[0] / (len(h[1]) - 1) ** length_penalty)[1]


@wrong("decoding.beam_search", "all hypotheses share one list", "one-list-for-all")
def _(next_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty=0.0):
    live, ended = [(0.0, [bos_id])], []
    while live and len(live[0][1]) < max_len:
        grown = []
        for total, ids in live:
            for tok, lp in enumerate(next_log_probs(ids).tolist()):
                new = ids
                new.append(tok)
                grown.append((total + lp, new))
        grown.sort(key=lambda h: h[0], reverse=True)
        live = []
        for h in grown[:beam_size]:
            (ended if h[1][-1] == eos_id else live).append(h)
    return max(ended + live, key=lambda h: h[0] / (len(h[1]) - 1) ** length_penalty)[1]


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


@wrong("decoding.beam_search", "length penalty is never used", "penalty-ignored")
def _(next_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty=0.0):
    live, ended = [(0.0, [bos_id])], []
    while live and len(live[0][1]) < max_len:
        grown = [
            (total + lp, [*ids, tok])
            for total, ids in live
            for tok, lp in enumerate(next_log_probs(ids).tolist())
        ]
        grown.sort(key=lambda h: h[0], reverse=True)
        live = []
        for h in grown[:beam_size]:
            (ended if h[1][-1] == eos_id else live).append(h)
    return max(ended + live)[1]


@wrong(
    "decoding.beam_search",
    "each hypothesis keeps only its own best token: parallel greedy",
    "each-goes-on-greedily",
)
def _(next_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty=0.0):
    lp, tok = next_log_probs([bos_id]).topk(beam_size)
    beams = [(p, [bos_id, t]) for p, t in zip(lp.tolist(), tok.tolist(), strict=True)]
    for _ in range(max_len - 2):
        new = []
        for total, ids in beams:
            if ids[-1] == eos_id:
                new.append((total, ids))
                continue
            p, t = next_log_probs(ids).max(-1)
            new.append((total + p.item(), [*ids, t.item()]))
        beams = new
    return max(beams, key=lambda h: h[0] / (len(h[1]) - 1) ** length_penalty)[1]


# decoding.cached_attention


def _attend(query, keys, values):
    weights = (query @ keys.transpose(-2, -1) / math.sqrt(query.shape[-1])).softmax(-1)
    return weights @ values


@wrong("decoding.cached_attention", "an empty cache is a token of zeros", "zeros-for-no-cache")
def _(query, key, value, cache):
    if cache is None:
        cache = (torch.zeros_like(key), torch.zeros_like(value))
    keys = torch.cat([cache[0], key], dim=2)
    values = torch.cat([cache[1], value], dim=2)
    return _attend(query, keys, values), (keys, values)


@wrong("decoding.cached_attention", "attends to the cache without the new token", "not-to-itself")
def _(query, key, value, cache):
    if cache is None:
        return _attend(query, key, value), (key, value)
    keys, values = cache
    out = _attend(query, keys, values)
    return out, (torch.cat([keys, key], dim=2), torch.cat([values, value], dim=2))


@wrong("decoding.cached_attention", "the new token is put in front", "newest-first")
def _(query, key, value, cache):
    if cache is not None:
        key = torch.cat([key, cache[0]], dim=2)
        value = torch.cat([value, cache[1]], dim=2)
    return _attend(query, key, value), (key, value)


@wrong(
    "decoding.cached_attention", "the new cache holds the new token only", "only-the-newest-kept"
)
def _(query, key, value, cache):
    keys, values = key, value
    if cache is not None:
        keys = torch.cat([cache[0], key], dim=2)
        values = torch.cat([cache[1], value], dim=2)
    return _attend(query, keys, values), (key, value)


@wrong(
    "decoding.cached_attention", "the values are not cached, only the keys", relation="independent"
)
def _(query, key, value, cache):
    keys = key
    if cache is not None:
        keys = torch.cat([cache[0], key], dim=2)
        value = value.expand(-1, -1, keys.shape[2], -1)
    return _attend(query, keys, value), (keys, value)


# decoding.find_the_bug


@wrong(
    "decoding.find_the_bug",
    "only the name is mended: max_len new tokens",
    "limit-counts-new-tokens",
)
def _(next_logits, prompt, eos_id, max_len):
    ids = list(prompt)
    for _ in range(max_len):
        best = int(next_logits(ids).argmax())
        ids.append(best)
        if best == eos_id:
            break
    return ids


@wrong(
    "decoding.find_the_bug",
    "the name gets a value before the loop: never ends",
    "other-name-is-left-over",
)
def _(next_logits, prompt, eos_id, max_len):
    ids = list(prompt)
    pred_token = None
    for _ in range(max_len - len(prompt)):
        best = int(next_logits(ids).argmax())
        ids.append(best)
        if pred_token == eos_id:
            break
    return ids


@wrong("decoding.find_the_bug", "the prompt itself grows", "changes-its-input")
def _(next_logits, prompt, eos_id, max_len):
    while len(prompt) < max_len:
        best = int(next_logits(prompt).argmax())
        prompt.append(best)
        if best == eos_id:
            break
    return prompt


@wrong("decoding.find_the_bug", "one token short", "one-too-short")
def _(next_logits, prompt, eos_id, max_len):
    ids = list(prompt)
    for _ in range(max_len - len(prompt) - 1):
        best = int(next_logits(ids).argmax())
        ids.append(best)
        if best == eos_id:
            break
    return ids


@wrong("decoding.find_the_bug", "stops before the end token is appended", "end-left-out")
def _(next_logits, prompt, eos_id, max_len):
    ids = list(prompt)
    while len(ids) < max_len:
        best = int(next_logits(ids).argmax())
        if best == eos_id:
            break
        ids.append(best)
    return ids


# decoding.find_another_bug


@wrong("decoding.find_another_bug", "the marks are kept, but ended rows still grow", "bug-is-in")
def _(next_logits, prompts, eos_id, max_len):
    rows = [list(prompt) for prompt in prompts]
    finished = [False] * len(rows)
    while not all(finished) and len(rows[0]) < max_len:
        for i, row in enumerate(rows):
            row.append(int(next_logits(row).argmax()))
            finished[i] = finished[i] or row[-1] == eos_id
    return rows


@wrong(
    "decoding.find_another_bug", "stops as soon as any row has ended", "stops-with-the-first-row"
)
def _(next_logits, prompts, eos_id, max_len):
    rows = [list(prompt) for prompt in prompts]
    finished = [False] * len(rows)
    while not any(finished) and len(rows[0]) < max_len:
        for row in rows:
            row.append(int(next_logits(row).argmax()))
        finished = [row[-1] == eos_id for row in rows]
    return rows


@wrong(
    "decoding.find_another_bug",
    "only the first row's length is looked at: others grow too long",
    "stops-with-the-first-row",
)
def _(next_logits, prompts, eos_id, max_len):
    rows = [list(prompt) for prompt in prompts]
    finished = [False] * len(rows)
    while not all(finished) and len(rows[0]) < max_len:
        for i, row in enumerate(rows):
            if not finished[i]:
                row.append(int(next_logits(row).argmax()))
        finished = [row[-1] == eos_id for row in rows]
        if finished[0]:
            break
    return rows


@wrong("decoding.find_another_bug", "ended rows are filled up with the end token", "filled-up")
def _(next_logits, prompts, eos_id, max_len):
    rows = [list(prompt) for prompt in prompts]
    finished = [False] * len(rows)
    while not all(finished) and len(rows[0]) < max_len:
        for i, row in enumerate(rows):
            row.append(eos_id if finished[i] else int(next_logits(row).argmax()))
            finished[i] = finished[i] or row[-1] == eos_id
    return rows


@wrong(
    "decoding.find_another_bug",
    "break leaves the loop over rows at the first ended row",
    "rows-behind-wait",
)
def _(next_logits, prompts, eos_id, max_len):
    rows = [list(prompt) for prompt in prompts]
    for _ in range(max_len - len(prompts[0])):
        for row in rows:
            if row[-1] == eos_id:
                break
            row.append(int(next_logits(row).argmax()))
    return rows


# decoding.sample


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


@wrong("decoding.sample", "what is cut off gets the logit 0", "zero-for-minus-infinity")
def _(logits, temperature, top_k, top_p, uniform):
    scaled = logits / temperature[:, None]
    rank = scaled.argsort(descending=True).argsort()
    scaled = scaled.masked_fill(rank >= top_k[:, None], 0.0)
    probs, order = scaled.softmax(-1).sort(descending=True)
    cut = torch.zeros_like(rank, dtype=torch.bool).scatter(
        1, order, probs.cumsum(-1) - probs >= top_p[:, None]
    )
    probs = scaled.masked_fill(cut, 0.0).softmax(-1)
    return probs, (probs.cumsum(-1) < uniform[:, None]).sum(-1)


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


@wrong(
    "decoding.sample",
    "probabilities are raised to 1 / temperature after the cuts",
    "temperature-last",
)
def _(logits, temperature, top_k, top_p, uniform):
    down, ids = logits.softmax(-1).sort(descending=True)
    place = torch.arange(logits.shape[1])
    down = torch.where(place < top_k[:, None], down, 0)
    down = down / down.sum(1, keepdim=True)
    down = torch.where(down.cumsum(1) - down < top_p[:, None], down, 0)
    down = down ** (1 / temperature[:, None])
    down = down / down.sum(1, keepdim=True)
    probs = torch.empty_like(down).scatter(1, ids, down)
    return probs, (probs.cumsum(1) < uniform[:, None]).sum(1)


def _right(logits, temperature, top_k, top_p):
    down, ids = (logits / temperature[:, None]).softmax(-1).sort(descending=True)
    down = torch.where(torch.arange(logits.shape[1]) < top_k[:, None], down, 0)
    down = down / down.sum(1, keepdim=True)
    down = torch.where(down.cumsum(1) - down < top_p[:, None], down, 0)
    down = down / down.sum(1, keepdim=True)
    return torch.empty_like(down).scatter(1, ids, down)


@wrong("decoding.sample", "the last token that ends before uniform is taken", "neighbor-drawn")
def _(logits, temperature, top_k, top_p, uniform):
    probs = _right(logits, temperature, top_k, top_p)
    return probs, (torch.searchsorted(probs.cumsum(1), uniform[:, None]) - 1).squeeze(1)


@wrong(
    "decoding.sample", "the first token whose own probability is above uniform", "no-running-sum"
)
def _(logits, temperature, top_k, top_p, uniform):
    probs = _right(logits, temperature, top_k, top_p)
    return probs, (probs > uniform[:, None]).int().argmax(1)


@wrong("decoding.sample", "topk with the largest k of the batch", "first-row-for-all")
def _(logits, temperature, top_k, top_p, uniform):
    k = min(int(top_k.max()), logits.shape[1])
    return_k = torch.full_like(top_k, k)
    probs = _right(logits, temperature, return_k, top_p)
    return probs, (probs.cumsum(1) < uniform[:, None]).sum(1)


@wrong(
    "decoding.sample",
    "only the probabilities that stay, sorted, and no columns for others",
    "sorted-result",
)
def _(logits, temperature, top_k, top_p, uniform):
    down, ids = (logits / temperature[:, None]).softmax(-1).sort(descending=True)
    down = torch.where(torch.arange(logits.shape[1]) < top_k[:, None], down, 0)
    down = down / down.sum(1, keepdim=True)
    down = torch.where(down.cumsum(1) - down < top_p[:, None], down, 0)
    down = down / down.sum(1, keepdim=True)
    place = (down.cumsum(1) < uniform[:, None]).sum(1)
    return down, ids[torch.arange(len(ids)), place]


@wrong(
    "decoding.sample",
    "top-p with cumsum <= top_p, and the first one always",
    "crossing-token-left-out",
)
def _(logits, temperature, top_k, top_p, uniform):
    down, ids = (logits / temperature[:, None]).softmax(-1).sort(descending=True)
    down = torch.where(torch.arange(logits.shape[1]) < top_k[:, None], down, 0)
    down = down / down.sum(1, keepdim=True)
    keep = down.cumsum(1) <= top_p[:, None]
    keep[:, 0] = True
    down = down * keep
    down = down / down.sum(1, keepdim=True)
    probs = torch.empty_like(down).scatter(1, ids, down)
    return probs, (probs.cumsum(1) < uniform[:, None]).sum(1)


@wrong("decoding.sample", "the token has shape (B, 1)", relation="axis-too-many")
def _(logits, temperature, top_k, top_p, uniform):
    probs = _right(logits, temperature, top_k, top_p)
    return probs, torch.searchsorted(probs.cumsum(1), uniform[:, None])


# decoding.cache_bytes


@wrong("decoding.cache_bytes", "all query heads are kept", "query-heads-counted")
def _(config, tokens, source, free):
    d_model = config["heads"] * config["d_head"]
    n = min(tokens, config.get("window", tokens)) + source
    total = 2 * config["layers"] * n * d_model * config["bytes"]
    return total, free // total


@wrong("decoding.cache_bytes", "kv_heads is always read", "missing-entry")
def _(config, tokens, source, free):
    n = tokens
    if "window" in config:
        n = min(n, config["window"])
    total = 2 * config["layers"] * (n + source) * config["kv_heads"] * config["d_head"]
    total *= config["bytes"]
    return total, free // total


def _token(config):
    heads = config.get("kv_heads", config["heads"])
    return 2 * heads * config["d_head"] * config["bytes"]


@wrong("decoding.cache_bytes", "the source is kept once for all layers", "source-once")
def _(config, tokens, source, free):
    n = min(tokens, config.get("window", tokens))
    total = config["layers"] * n * _token(config) + source * _token(config)
    return total, free // total


@wrong("decoding.cache_bytes", "the bytes of one token, not of the answer", "one-token-only")
def _(config, tokens, source, free):
    each = config["layers"] * _token(config)
    return each, free // (each * (min(tokens, config.get("window", tokens)) + source))


@wrong("decoding.cache_bytes", "MiB for bytes", "other-unit")
def _(config, tokens, source, free):
    n = min(tokens, config.get("window", tokens)) + source
    total = config["layers"] * n * _token(config)
    return total // 2**20, free // total


@wrong("decoding.cache_bytes", "the source has keys only", "source-otherwise")
def _(config, tokens, source, free):
    n = min(tokens, config.get("window", tokens))
    total = config["layers"] * (n * _token(config) + source * _token(config) // 2)
    return total, free // total


@wrong("decoding.cache_bytes", "a window is always full", "window-always-full")
def _(config, tokens, source, free):
    if "window" in config:
        tokens = config["window"]
    total = config["layers"] * (tokens + source) * _token(config)
    return total, free // total


@wrong(
    "decoding.cache_bytes", "cross-attention is counted with all query heads", "source-otherwise"
)
def _(config, tokens, source, free):
    n = min(tokens, config.get("window", tokens))
    cross = 2 * config["heads"] * config["d_head"] * config["bytes"]
    total = config["layers"] * (n * _token(config) + source * cross)
    return total, free // total


@wrong("decoding.cache_bytes", "two bytes a number, whatever the model has", "numbers-for-bytes")
def _(config, tokens, source, free):
    heads = config.get("kv_heads", config["heads"])
    n = min(tokens, config.get("window", tokens)) + source
    total = config["layers"] * n * 2 * heads * config["d_head"] * 2
    return total, free // total


@wrong("decoding.cache_bytes", "the memory is divided by the bytes of a layer", "tokens-that-fit")
def _(config, tokens, source, free):
    n = min(tokens, config.get("window", tokens)) + source
    each = n * _token(config)
    return config["layers"] * each, free // each
