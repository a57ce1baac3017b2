"""Answers to the assignment "decoding" on which the grader itself is measured.

CORRECT must be accepted, WRONG must be rejected with the misconception that stands beside it, and
MUTANTS, which have no name and are harder to notice than any generated mutant, without one.
They are written apart from the checks, in the ways in which people write decoding.
"""

from __future__ import annotations

import heapq
import itertools
import math
import warnings
from collections import namedtuple

import numpy as np
import torch
import torch.nn.functional as F

import transformer_ref.attention as tr

NINF = float("-inf")

# =============================================================================================
# greedy_decode
# =============================================================================================


def greedy_while(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len and not (len(ids) > 1 and ids[-1] == eos_id):
        ids = [*ids, next_logits(ids).argmax().item()]
    return ids


def greedy_for(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len - 1):
        token = torch.argmax(next_logits(ids), dim=-1).item()
        ids.append(token)
        if token == eos_id:
            break
    return ids


def greedy_recursive(next_logits, bos_id, eos_id, max_len):
    def go_on(ids):
        if len(ids) == max_len:
            return ids
        token = int(torch.topk(next_logits(ids), 1).indices[0])
        return [*ids, token] if token == eos_id else go_on([*ids, token])

    return go_on([bos_id])


def greedy_numpy(next_logits, bos_id, eos_id, max_len):
    ids = (bos_id,)
    while len(ids) < max_len:
        ids += (np.argmax(next_logits(list(ids)).numpy()),)
        if ids[-1] == eos_id:
            return ids
    return ids


def greedy_python(next_logits, bos_id, eos_id, max_len):
    out = [bos_id]
    print("decoding from", bos_id)
    for _ in range(1, max_len):
        logits = next_logits(out).tolist()
        out.append(logits.index(max(logits)))
        if out[-1] == eos_id:
            return out
    return out


def greedy_softmax(next_logits, bos_id, eos_id, max_len):
    warnings.warn("softmax first", UserWarning, stacklevel=1)
    ids, done = [bos_id], max_len == 1
    while not done:
        probabilities = next_logits(tuple(ids)).double().softmax(0)
        best = probabilities.max(0).indices.item()
        ids += [best]
        done = best == eos_id or len(ids) >= max_len
    return ids


def m_greedy_is(next_logits, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        ids.append(next_logits(ids).argmax().item())
        if ids[-1] is eos_id:  # true up to 256 only
            break
    return ids


# =============================================================================================
# sample
# =============================================================================================


def sample_threshold(logits, temperature, top_k, top_p, uniform):
    """No sorted order: each token is compared with all others of its row."""
    probs = F.softmax(logits / temperature.unsqueeze(-1), dim=-1)
    ahead = probs[:, None, :] > probs[:, :, None]  # (B, V, V): who is more likely
    probs = probs.masked_fill(ahead.sum(-1) >= top_k[:, None], 0)
    probs = probs / probs.sum(-1, keepdim=True)
    before = (ahead * probs[:, None, :]).sum(-1)
    probs = torch.where(before < top_p[:, None], probs, 0)
    probs = probs / probs.sum(-1, keepdim=True)
    line = probs.cumsum(-1)
    return probs, (line > uniform[:, None]).int().argmax(-1)


def sample_rows(logits, temperature, top_k, top_p, uniform):
    warnings.warn("row by row", UserWarning, stacklevel=1)
    rows, tokens = [], []
    for b in range(len(logits)):
        row = torch.exp(torch.log_softmax(logits[b].double() / temperature[b].double(), 0))
        order = row.argsort(descending=True)
        stay = order[: int(top_k[b])]
        shares = row[stay] / row[stay].sum()
        count = int((shares.cumsum(0) < top_p[b]).sum()) + 1
        stay = stay[:count]
        kept = torch.zeros_like(row)
        kept[stay] = row[stay] / row[stay].sum()
        rows.append(kept)
        tokens.append(int(torch.searchsorted(kept.cumsum(0), uniform[b].double())))
    return torch.stack(rows).to(logits.dtype), torch.tensor(tokens)


def _sample_row(row, temperature, top_k, top_p, uniform):
    order = sorted(range(len(row)), key=lambda i: -row[i])[:top_k]
    weights = {i: math.exp((row[i] - row[order[0]]) / temperature) for i in order}
    whole, so_far, kept = sum(weights.values()), 0.0, {}
    for i in order:
        if so_far >= top_p * whole:
            break
        kept[i] = weights[i]
        so_far += weights[i]
    probs = [kept.get(i, 0.0) / so_far for i in range(len(row))]
    ends = list(itertools.accumulate(probs))
    return probs, next(i for i, end in enumerate(ends) if end > uniform)


def sample_python(logits, temperature, top_k, top_p, uniform):
    columns = (x.tolist() for x in (logits, temperature, top_k, top_p, uniform))
    found = [_sample_row(*settings) for settings in zip(*columns, strict=True)]
    probs, tokens = zip(*found, strict=True)
    print("tokens", tokens)
    return torch.tensor(probs, dtype=logits.dtype), torch.tensor(tokens)


def sample_filled(logits, temperature, top_k, top_p, uniform):
    """Logits of minus infinity, and a softmax after each cut."""
    scaled = logits / temperature[:, None]
    rank = scaled.argsort(-1, descending=True).argsort(-1)
    scaled = torch.where(rank < top_k[:, None], scaled, NINF)
    ordered = scaled.softmax(-1).sort(-1, descending=True).values
    count = (ordered.cumsum(-1) < top_p[:, None]).sum(-1, keepdim=True) + 1
    probs = torch.where(rank < count, scaled, NINF).softmax(-1)
    return probs, torch.searchsorted(probs.cumsum(-1), uniform[:, None]).squeeze(-1)


def sample_numpy(logits, temperature, top_k, top_p, uniform):
    x = logits.numpy().astype(np.float64) / temperature.numpy()[:, None]
    x = np.exp(x - x.max(1, keepdims=True))
    order = (-x).argsort(1)
    down = np.take_along_axis(x, order, 1)
    down[np.arange(x.shape[1])[None] >= top_k.numpy()[:, None]] = 0
    down /= down.sum(1, keepdims=True)
    down[down.cumsum(1) - down >= top_p.numpy()[:, None]] = 0
    down /= down.sum(1, keepdims=True)
    probs = np.zeros_like(x)
    np.put_along_axis(probs, order, down, 1)
    tokens = (probs.cumsum(1) > uniform.numpy()[:, None]).argmax(1)
    return [torch.from_numpy(probs).to(logits.dtype), torch.from_numpy(tokens)]


def sample_ascending(logits, temperature, top_k, top_p, uniform):
    """From the tail: what is thrown away has at most 1 - top_p together."""
    size = logits.shape[1]
    probs = torch.softmax(logits.div(temperature.view(-1, 1)), 1)
    up, order = torch.sort(probs, 1)
    up = up.masked_fill(torch.arange(size) < size - top_k.view(-1, 1), 0.0)
    up = up / up.sum(1, True)
    tail = up.cumsum(1) <= 1 - top_p.view(-1, 1)
    tail[:, -1] = False
    up = up.masked_fill(tail, 0.0)
    back = order.argsort(1)
    probs = (up / up.sum(1, True)).gather(1, back)
    passed = probs.cumsum(1).le(uniform.view(-1, 1))
    return probs, passed.sum(1)


def m_sample_greedy_of_one(logits, temperature, top_k, top_p, uniform):
    """Right, except that two tokens always stay where top_k allows it."""
    top_p = torch.maximum(top_p, logits.softmax(-1).amax(-1) + 1e-3)
    return sample_threshold(logits, temperature, top_k, top_p, uniform)


# =============================================================================================
# beam_search
# =============================================================================================


def beam_lists(next_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty=0.0):
    beams, finished = [([bos_id], 0.0)], []
    while beams and len(beams[0][0]) < max_len:
        candidates = []
        for ids, total in beams:
            for token, step in enumerate(next_log_probs(ids).tolist()):
                candidates.append(([*ids, token], total + step))
        candidates.sort(key=lambda pair: -pair[1])
        beams = []
        for ids, total in candidates[:beam_size]:
            (finished if ids[-1] == eos_id else beams).append((ids, total))
    everything = finished + beams
    return max(everything, key=lambda p: p[1] / (len(p[0]) - 1) ** length_penalty)[0]


def beam_tensors(next_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty=0.0):
    rows, sums = [[bos_id]], torch.zeros(1, dtype=torch.float64)
    best, best_score = None, NINF
    for n in range(1, max_len):
        step = torch.stack([next_log_probs(row).double() for row in rows])
        totals = (sums[:, None] + step).flatten()
        size = step.shape[1]
        top = totals.topk(min(beam_size, len(totals)))
        going, kept = [], []
        for total, place in zip(top.values.tolist(), top.indices.tolist(), strict=True):
            ids = [*rows[place // size], place % size]
            if ids[-1] == eos_id or n == max_len - 1:
                score = total / n**length_penalty
                if score > best_score:
                    best, best_score = ids, score
            if ids[-1] != eos_id:
                going.append(ids)
                kept.append(total)
        if not going:
            break
        rows, sums = going, torch.tensor(kept, dtype=torch.float64)
    return best


def beam_ended_stay(next_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty=0.0):
    """What has ended keeps its place in the beam."""
    beams = [(0.0, (bos_id,))]
    for _ in range(max_len - 1):
        pool = []
        for total, ids in beams:
            if len(ids) > 1 and ids[-1] == eos_id:
                pool.append((total, ids))
            else:
                steps = next_log_probs(list(ids)).tolist()
                pool += [(total + step, (*ids, token)) for token, step in enumerate(steps)]
        beams = heapq.nlargest(beam_size, pool, key=lambda pair: pair[0])
    return list(max(beams, key=lambda b: b[0] / (len(b[1]) - 1) ** length_penalty)[1])


def beam_twice_as_wide(next_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty=0.0):
    """Rank twice as many, so that what ends takes no place in the beam."""
    beams, done = [(0.0, [bos_id])], []
    for _ in range(max_len - 1):
        grown = []
        for total, ids in beams:
            grown += [(total + s, [*ids, t]) for t, s in enumerate(next_log_probs(ids).tolist())]
        grown = sorted(grown, key=lambda pair: pair[0])[::-1][: 2 * beam_size]
        done += [pair for pair in grown[:beam_size] if pair[1][-1] == eos_id]
        beams = [pair for pair in grown if pair[1][-1] != eos_id][:beam_size]
    print("ended:", len(done))
    return max(done + beams, key=lambda b: b[0] / (len(b[1]) - 1) ** length_penalty)[1]


Hypothesis = namedtuple("Hypothesis", "score total ids")


def beam_named(next_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty=0.0):
    warnings.warn("beam search", UserWarning, stacklevel=1)

    def scored(total, ids):
        return Hypothesis(total / math.pow(len(ids) - 1, length_penalty), total, ids)

    live, best = [Hypothesis(0.0, 0.0, [bos_id])], Hypothesis(NINF, NINF, [bos_id])
    for length in range(2, max_len + 1):
        rows = [(h, next_log_probs(h.ids).double().numpy()) for h in live]
        grown = [scored(h.total + x, [*h.ids, i]) for h, row in rows for i, x in enumerate(row)]
        # Of one length, the order of the scores is that of the sums.
        grown = sorted(grown, key=lambda h: h.score, reverse=True)[:beam_size]
        ended = [h for h in grown if h.ids[-1] == eos_id or length == max_len]
        best = max([best, *ended], key=lambda h: h.score)
        live = [h for h in grown if h.ids[-1] != eos_id]
        if not live:
            break
    return best.ids


def beam_stops_early(next_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty=0.0):
    """Stop when nothing alive can win any more: sums only fall."""
    live, best, best_score = [(0.0, [bos_id])], None, NINF
    reach = max(1, max_len - 1) ** length_penalty
    while live:
        pool = [
            (total + float(step), [*ids, token])
            for total, ids in live
            for token, step in enumerate(next_log_probs(ids))
        ]
        pool.sort(key=lambda pair: pair[0], reverse=True)
        live = []
        for total, ids in pool[:beam_size]:
            if ids[-1] == eos_id or len(ids) == max_len:
                score = total / (len(ids) - 1) ** length_penalty
                if score > best_score:
                    best, best_score = ids, score
            else:
                live.append((total, ids))
        if live and live[0][0] / reach < best_score:
            break
    return best


# =============================================================================================
# cached_attention
# =============================================================================================


def cached_cat(query, key, value, cache):
    if cache is None:
        keys, values = key, value
    else:
        keys = torch.cat([cache[0], key], dim=-2)
        values = torch.cat([cache[1], value], dim=-2)
    weights = (query @ keys.transpose(-2, -1) / math.sqrt(query.shape[-1])).softmax(-1)
    return weights @ values, (keys, values)


def cached_einsum(query, key, value, cache):
    past = [] if cache is None else [cache]
    keys = torch.cat([k for k, _ in past] + [key], 2)
    values = torch.cat([v for _, v in past] + [value], 2)
    scores = torch.einsum("bhk,bhsk->bhs", query[:, :, 0], keys) * query.size(-1) ** -0.5
    out = torch.einsum("bhs,bhsk->bhk", F.softmax(scores, dim=-1), values)
    return [out.unsqueeze(2), [keys, values]]


def cached_reference(query, key, value, cache):
    if cache is not None:
        key, value = (torch.cat(pair, 2) for pair in zip(cache, (key, value), strict=True))
    return tr.scaled_dot_product_attention(query, key, value)[0], (key, value)


def cached_room(query, key, value, cache):
    length = 0 if cache is None else cache[0].shape[2]
    shape = (*key.shape[:2], length + 1, key.shape[3])
    keys, values = key.new_empty(shape), value.new_empty(shape)
    if cache is not None:
        keys[:, :, :-1], values[:, :, :-1] = cache
    keys[:, :, -1:], values[:, :, -1:] = key, value
    print("length", length + 1)
    scores = (keys * query).sum(-1) / keys.shape[-1] ** 0.5
    return (scores.softmax(-1).unsqueeze(-1) * values).sum(2, keepdim=True), (keys, values)


def cached_heads(query, key, value, cache):
    warnings.warn("head by head", UserWarning, stacklevel=1)
    keys, values = key, value
    if cache:
        keys, values = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
    heads = []
    for h in range(query.shape[1]):
        scores = torch.bmm(query[:, h], keys[:, h].mT).double() / math.sqrt(query.shape[-1])
        heads.append(torch.bmm(scores.softmax(2).to(values.dtype), values[:, h]))
    return torch.stack(heads, dim=1), (keys, values)


def cached_stacked(query, key, value, cache):
    new = torch.stack([key, value])
    both = new if cache is None else torch.cat([torch.stack(list(cache)), new], dim=3)
    keys, values = both.unbind(0)
    weights = torch.softmax(query.matmul(keys.mT).div(query.shape[-1] ** 0.5), dim=-1)
    return torch.matmul(weights, values), (keys, values)


# =============================================================================================
# find_the_bug
# =============================================================================================


def prompt_for(next_logits, prompt, eos_id, max_len):
    ids = list(prompt)
    for _ in range(max_len - len(prompt)):
        best = int(next_logits(ids).argmax())
        ids.append(best)
        if best == eos_id:
            break
    return ids


def prompt_while(next_logits, prompt, eos_id, max_len):
    ids, token = [*prompt], None
    while token != eos_id and len(ids) < max_len:
        token = next_logits(ids).argmax().item()
        ids.append(token)
    return ids


def prompt_tuple(next_logits, prompt, eos_id, max_len):
    ids = tuple(prompt)
    while len(ids) < max_len:
        ids = (*ids, int(next_logits(ids).max(0).indices))
        if ids[-1] == eos_id:
            return ids
    return ids


def prompt_islice(next_logits, prompt, eos_id, max_len):
    def tokens():
        ids = list(prompt)
        while True:
            yield (token := int(next_logits(ids).topk(1)[1]))
            if token == eos_id:
                return
            ids.append(token)

    return list(prompt) + list(itertools.islice(tokens(), max_len - len(prompt)))


def prompt_recursive(next_logits, prompt, eos_id, max_len):
    print(prompt)
    if len(prompt) >= max_len:
        return prompt
    longer = [*prompt, next_logits(prompt).argmax().item()]
    return (
        longer if longer[-1] == eos_id else prompt_recursive(next_logits, longer, eos_id, max_len)
    )


def m_bug_one_step(next_logits, prompt, eos_id, max_len):
    return [*prompt, int(next_logits(prompt).argmax())]


# =============================================================================================
# find_another_bug
# =============================================================================================


def all_one_by_one(next_logits, prompts, eos_id, max_len):
    return [prompt_for(next_logits, prompt, eos_id, max_len) for prompt in prompts]


def all_flags(next_logits, prompts, eos_id, max_len):
    rows = [list(prompt) for prompt in prompts]
    finished = [False] * len(rows)
    for _ in range(max_len - len(rows[0])):
        for i, row in enumerate(rows):
            if finished[i]:
                continue
            token = int(next_logits(row).argmax())
            row.append(token)
            finished[i] = token == eos_id
        if all(finished):
            break
    return rows


def all_at_work(next_logits, prompts, eos_id, max_len):
    rows = [list(prompt) for prompt in prompts]
    at_work = list(range(len(rows)))
    while at_work and len(rows[at_work[0]]) < max_len:
        best = torch.stack([next_logits(rows[i]) for i in at_work]).argmax(-1).tolist()
        for i, token in zip(at_work, best, strict=True):
            rows[i].append(token)
        at_work = [i for i in at_work if rows[i][-1] != eos_id]
    return rows


def all_cut(next_logits, prompts, eos_id, max_len):
    """Run all to the limit, and cut them behind their ends."""
    given, rows = len(prompts[0]), [list(prompt) for prompt in prompts]
    while len(rows[0]) < max_len:
        rows = [[*row, int(next_logits(row).argmax())] for row in rows]
    print("cut")
    return [row[: row.index(eos_id, given) + 1] if eos_id in row[given:] else row for row in rows]


def all_tuples(next_logits, prompts, eos_id, max_len):
    warnings.warn("tuples", UserWarning, stacklevel=1)
    return tuple(prompt_tuple(next_logits, prompt, eos_id, max_len) for prompt in prompts)


def all_last_token(next_logits, prompts, eos_id, max_len):
    rows, given = [[*prompt] for prompt in prompts], len(prompts[0])
    for length in range(given, max_len):
        for row in rows:
            if len(row) == length and (length == given or row[-1] != eos_id):
                row.append(next_logits(row).argmax().item())
    return rows


# =============================================================================================
# search_or_model
# =============================================================================================


def blame_loop(next_log_probs, said, listed):
    totals = []
    for ids in [said, *listed]:
        total = 0.0
        for place in range(len(ids) - 1):
            total += float(next_log_probs(ids[: place + 1])[ids[place + 1]])
        totals.append(total)
    gap = max(totals[1:]) - totals[0]
    if any(said == each for each in listed):
        verdict = "right"
    elif gap > 0:
        verdict = "search"
    else:
        verdict = "model"
    return gap, verdict


def blame_recursive(next_log_probs, said, listed):
    def score(ids):
        if len(ids) < 2:
            return 0.0
        return score(ids[:-1]) + next_log_probs(ids[:-1]).tolist()[ids[-1]]

    best = sorted(score(each) for each in listed)[-1]
    difference = best - score(said)
    return difference, "right" if said in listed else ("model", "search")[difference > 0]


def blame_tensors(next_log_probs, said, listed):
    def score(ids):
        rows = torch.stack([next_log_probs(ids[:t]) for t in range(1, len(ids))])
        return rows.gather(1, torch.tensor(ids[1:])[:, None]).double().sum()

    gap = (torch.stack([score(each) for each in listed]).max() - score(said)).item()
    if tuple(said) in map(tuple, listed):
        return gap, "right"
    return gap, "search" if gap >= 0 else "model"


def blame_softmax_again(next_log_probs, said, listed):
    warnings.warn("a log-softmax of log-probabilities changes nothing", UserWarning, stacklevel=1)

    def score(ids):
        found = []
        for t, token in enumerate(ids[1:], start=1):
            found += [torch.log_softmax(next_log_probs(ids[:t]), dim=-1)[token].item()]
        return math.fsum(found)

    gaps = [score(each) - score(said) for each in listed]
    return max(gaps), "right" if listed.count(said) else "search" if max(gaps) > 0 else "model"


def blame_numpy(next_log_probs, said, listed):
    def score(ids):
        return np.sum([next_log_probs(ids[:t]).numpy()[ids[t]] for t in range(1, len(ids))])

    gap = max(map(score, listed)) - score(said)
    for each in listed:
        if each == said:
            return gap, "right"
    return (gap, "search") if gap > 0 else (gap, "model")


# =============================================================================================
# cache_bytes
# =============================================================================================


def bytes_steps(config, tokens, source, free):
    heads = config["kv_heads"] if "kv_heads" in config else config["heads"]
    if "window" in config and config["window"] < tokens:
        tokens = config["window"]
    numbers = config["layers"] * heads * config["d_head"] * (tokens + source)
    total = 2 * numbers * config["bytes"]
    fits = 0
    while (fits + 1) * total <= free:
        fits += 1
    return total, fits


def bytes_layers(config, tokens, source, free):
    total = 0
    for _ in range(config["layers"]):
        for length in (min(tokens, config.get("window") or tokens), source):
            keys = values = length * config.get("kv_heads", config["heads"]) * config["d_head"]
            total += (keys + values) * config["bytes"]
    return total, divmod(free, total)[0]


def bytes_tensors(config, tokens, source, free):
    whole = {"kv_heads": config["heads"], "window": math.inf, **config}
    kept = int(min(whole["window"], tokens))
    shape = (2, whole["layers"], whole["kv_heads"], kept + source, whole["d_head"])
    total = torch.empty(shape, device="meta").numel() * whole["bytes"]
    print(shape)
    return total, int(free / total)


def bytes_numpy(config, tokens, source, free):
    warnings.warn("numpy", UserWarning, stacklevel=1)
    names = ("layers", "d_head", "bytes")
    each = np.prod([2, config.get("kv_heads", config["heads"]), *(config[name] for name in names)])
    total = each * (np.minimum(tokens, config.get("window", tokens)) + source)
    return total, np.floor_divide(free, total)


def bytes_pop(config, tokens, source, free):
    config = dict(config)
    heads, window = config.pop("kv_heads", None), config.pop("window", 10**9)
    other = config.pop("heads")
    total = (
        math.prod(config.values()) * 2 * (heads or other) * (sorted([tokens, window])[0] + source)
    )
    return total, math.floor(free / total)


def m_bytes_copies(config, tokens, source, free):
    total, fits = bytes_steps(config, tokens, source, free)
    return total, min(fits, 7)


CORRECT = {
    "decoding.greedy_decode": [
        greedy_while,
        greedy_for,
        greedy_recursive,
        greedy_numpy,
        greedy_python,
        greedy_softmax,
    ],
    "decoding.sample": [
        sample_threshold,
        sample_rows,
        sample_python,
        sample_filled,
        sample_numpy,
        sample_ascending,
    ],
    "decoding.beam_search": [
        beam_lists,
        beam_tensors,
        beam_ended_stay,
        beam_twice_as_wide,
        beam_named,
        beam_stops_early,
    ],
    "decoding.cached_attention": [
        cached_cat,
        cached_einsum,
        cached_reference,
        cached_room,
        cached_heads,
        cached_stacked,
    ],
    "decoding.find_the_bug": [
        prompt_for,
        prompt_while,
        prompt_tuple,
        prompt_islice,
        prompt_recursive,
    ],
    "decoding.find_another_bug": [
        all_one_by_one,
        all_flags,
        all_at_work,
        all_cut,
        all_tuples,
        all_last_token,
    ],
    "decoding.search_or_model": [
        blame_loop,
        blame_recursive,
        blame_tensors,
        blame_softmax_again,
        blame_numpy,
    ],
    "decoding.cache_bytes": [
        bytes_steps,
        bytes_layers,
        bytes_tensors,
        bytes_numpy,
        bytes_pop,
    ],
}

WRONG = {}

MUTANTS = {
    "decoding.greedy_decode": [m_greedy_is],
    "decoding.sample": [m_sample_greedy_of_one],
    "decoding.find_the_bug": [m_bug_one_step],
    "decoding.cache_bytes": [m_bytes_copies],
}
