"""Answers to the assignment "decoding" on which the grader itself is measured.

CORRECT must be accepted, WRONG must be rejected with the misconception that stands beside it, and
MUTANTS, which have no name and are harder to notice than any generated mutant, without one.
They are written apart from the checks, in the ways in which people write decoding.
"""

from __future__ import annotations

import collections
import functools
import heapq
import itertools
import math
import operator
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
# filter_logits
# =============================================================================================


def filter_scatter(logits, top_k=None, top_p=None):
    if top_k is not None:
        values, places = logits.topk(min(top_k, logits.size(-1)), dim=-1)
        logits = torch.full_like(logits, NINF).scatter(-1, places, values)
    if top_p is not None:
        ordered, order = torch.sort(logits, dim=-1, descending=True)
        before = torch.softmax(ordered, -1).cumsum(-1).roll(1, -1)
        before[..., 0] = 0
        gone = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order, before >= top_p)
        logits = logits.masked_fill(gone, NINF)
    return logits


def filter_threshold(logits, top_k=None, top_p=None):
    out = logits.clone()
    if top_k is not None and top_k < out.shape[-1]:
        kth = torch.sort(out, dim=-1, descending=True).values[..., top_k - 1 : top_k]
        out[out < kth] = NINF
    if top_p is not None:
        shares = F.softmax(out, dim=-1)
        # What is at least as likely as a token has these shares together; without itself.
        likelier = shares[..., None, :] > shares[..., :, None]
        together = (likelier * shares[..., None, :]).sum(-1)
        out[together >= top_p] = NINF
    return out


def _filter_row(row, top_k, top_p):
    order = sorted(range(len(row)), key=lambda i: -row[i])
    if top_k is not None:
        order = order[:top_k]
    if top_p is not None:
        weights = [math.exp(row[i] - row[order[0]]) for i in order]
        total, count, so_far = sum(weights), 0, 0.0
        while count < len(order) and (count == 0 or so_far < top_p * total):
            so_far += weights[count]
            count += 1
        order = order[:count]
    return [value if i in order else NINF for i, value in enumerate(row)]


def filter_python(logits, top_k=None, top_p=None):
    rows = logits.reshape(-1, logits.shape[-1]).tolist()
    found = [_filter_row(row, top_k, top_p) for row in rows]
    return torch.tensor(found, dtype=logits.dtype, device=logits.device).reshape(logits.shape)


def filter_numpy(logits, top_k=None, top_p=None):
    x = logits.detach().cpu().numpy().astype(np.float64)
    rank = (-x).argsort(-1).argsort(-1)
    if top_k is not None:
        x = np.where(rank < top_k, x, -np.inf)
    if top_p is not None:
        p = np.exp(x - x.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        order = (-p).argsort(-1)
        before = np.take_along_axis(p, order, -1).cumsum(-1) - np.take_along_axis(p, order, -1)
        keep = np.empty_like(before)
        np.put_along_axis(keep, order, before, -1)
        x = np.where(keep < top_p, x, -np.inf)
    print("filtered", x.shape)
    return torch.from_numpy(x).to(logits.device, logits.dtype)


def filter_ascending(logits, top_k=None, top_p=None):
    warnings.warn("from the tail", UserWarning, stacklevel=1)
    if top_k:
        k = min(top_k, logits.size(-1))
        logits = logits.masked_fill(logits < logits.topk(k)[0][..., -1, None], NINF)
    if top_p:
        ordered, order = logits.sort(descending=False, dim=-1)
        tail = ordered.softmax(dim=-1).cumsum(dim=-1)
        gone = tail <= 1 - top_p
        gone[..., -1] = False
        logits = logits.masked_fill(gone.scatter(-1, order, gone), NINF)
    return logits


def filter_where(logits, *, top_k=None, top_p=None):
    rank = logits.argsort(-1, descending=True).argsort(-1)
    keep = torch.ones_like(rank, dtype=torch.bool) if top_k is None else rank < top_k
    logits = torch.where(keep, logits, NINF)
    if top_p is not None:
        p = logits.softmax(-1).sort(-1, descending=True).values
        count = (p.cumsum(-1) < top_p).sum(-1, keepdim=True) + 1
        logits = torch.where(rank < count, logits, NINF)
    return logits


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
# clipped_precision
# =============================================================================================


def precision_dict(hypothesis, references, n):
    def counted(tokens):
        found = {}
        for start in range(len(tokens) - n + 1):
            gram = " ".join(tokens[start : start + n])
            found[gram] = found.get(gram, 0) + 1
        return found

    mine = counted(hypothesis)
    theirs = [counted(each) for each in references]
    clipped = 0
    for gram, times in mine.items():
        clipped += min(times, max(each.get(gram, 0) for each in theirs))
    return clipped, sum(mine.values())


def precision_lists(hypothesis, references, n):
    def grams(tokens):
        return [tokens[i : i + n] for i in range(len(tokens)) if i + n <= len(tokens)]

    mine, theirs = grams(hypothesis), [grams(each) for each in references]
    different = [gram for i, gram in enumerate(mine) if gram not in mine[:i]]
    allowed = [max(each.count(gram) for each in theirs) for gram in different]
    counted = zip(different, allowed, strict=True)
    return sum(min(mine.count(gram), limit) for gram, limit in counted), len(mine)


def precision_zip(hypothesis, references, n):
    def grams(tokens):
        return list(zip(*(tokens[i:] for i in range(n)), strict=False))

    left = {}
    for each in references:
        for gram in grams(each):
            left[gram] = max(left.get(gram, 0), grams(each).count(gram))
    clipped = 0
    for gram in grams(hypothesis):
        if left.get(gram, 0) > 0:
            left[gram] -= 1
            clipped += 1
    return clipped, max(0, len(hypothesis) - n + 1)


def precision_union(hypothesis, references, n):
    def grams(tokens):
        return collections.Counter(
            tuple(tokens[i : i + n]) for i in range(max(0, len(tokens) - n + 1))
        )

    together = functools.reduce(operator.or_, map(grams, references))
    kept = grams(hypothesis) & together
    return sum(kept.values()), sum(grams(hypothesis).values())


def precision_numpy(hypothesis, references, n):
    words = sorted({word for each in [hypothesis, *references] for word in each})

    def rows(tokens):
        ids = [words.index(word) for word in tokens]
        return np.array([ids[i : i + n] for i in range(len(ids) - n + 1)]).reshape(-1, n)

    mine, theirs = rows(hypothesis), [rows(each) for each in references]
    clipped = 0
    for gram in np.unique(mine, axis=0):
        limit = max((each == gram).all(1).sum() for each in theirs)
        clipped += min((mine == gram).all(1).sum(), limit)
    return int(clipped), len(mine)


def m_precision_missed(hypothesis, references, n):
    clipped, total = precision_dict(hypothesis, references, n)
    return total - clipped, total


CORRECT = {
    "decoding.greedy_decode": [
        greedy_while,
        greedy_for,
        greedy_recursive,
        greedy_numpy,
        greedy_python,
        greedy_softmax,
    ],
    "decoding.filter_logits": [
        filter_scatter,
        filter_threshold,
        filter_python,
        filter_numpy,
        filter_ascending,
        filter_where,
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
    "decoding.clipped_precision": [
        precision_dict,
        precision_lists,
        precision_zip,
        precision_union,
        precision_numpy,
    ],
}

WRONG = {}

MUTANTS = {
    "decoding.greedy_decode": [m_greedy_is],
    "decoding.find_the_bug": [m_bug_one_step],
    "decoding.clipped_precision": [m_precision_missed],
}
