"""Wrong answers to the tasks of the Transformer today, as beginners write them."""

import math

import torch

from tests.checks.material.unseen import wrong
from transformer_checks import where_next as right


@wrong("where_next.rotate", "the angles are taken for degrees", None)
def rotate_degrees(x, positions, pairing):
    size = x.shape[-1]
    angles = torch.deg2rad(positions[:, None] * 10000.0 ** (-torch.arange(0, size, 2) / size))
    cos, sin = angles.cos().to(x), angles.sin().to(x)
    if pairing == "neighbors":
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


@wrong("where_next.rotate", "a table of 2,048 positions, in which larger ones are clamped", None)
def rotate_clamped(x, positions, pairing):
    return right.rotate(x, positions.clamp(max=2047), pairing)


@wrong("where_next.turned_pairs", "sorted by the second feature", relation="order")
def turned_pairs_sorted(turn, d_k):
    moved = turn(torch.eye(d_k), torch.ones(d_k, dtype=torch.long))
    pairs = [(i, j) for i in range(d_k) for j in range(i + 1, d_k) if moved[i, j] != 0]
    return sorted(pairs, key=lambda pair: pair[1])


@wrong("where_next.turned_pairs", "ends with the first pair", relation="stops-early")
def turned_pairs_first(turn, d_k):
    moved = turn(torch.eye(d_k), torch.ones(d_k, dtype=torch.long))
    for i in range(d_k):
        for j in range(i + 1, d_k):
            if moved[i, j] != 0:
                return [(i, j)]
    return []


@wrong("where_next.grouped_attention", "only the last query sees the other new tokens", None)
def grouped_attention_last(query, key, value):
    share = query.shape[1] // key.shape[1]
    num_new, num_all = query.shape[2], key.shape[2]
    mask = torch.ones(num_new, num_all).bool()
    mask[:-1, num_all - num_new + 1 :] = False
    scores = query @ key.repeat_interleave(share, 1).mT / math.sqrt(query.shape[-1])
    weights = scores.masked_fill(~mask, -math.inf).softmax(-1)
    return weights @ value.repeat_interleave(share, 1)


@wrong("where_next.route", "an expert counts if its weight is above a half", None)
def route_half(scores, num_used):
    _, weights = right.route(scores, num_used)
    share = (weights > 0.5).to(scores).mean(0)
    return scores.shape[1] * (share * scores.softmax(-1).mean(0)).sum(), weights


@wrong("where_next.route", "the weights are divided by the number of experts used", None)
def route_divided(scores, num_used):
    loss, weights = right.route(scores, num_used)
    return loss, weights / num_used


@wrong("where_next.accept", "the draws are those of torch.multinomial", None)
def accept_multinomial(guesses, draft_probs, model_probs, uniforms):
    torch.manual_seed(0)
    for i, guess in enumerate(guesses):
        if uniforms[i] >= model_probs[i, guess] / draft_probs[i, guess]:
            rest = (model_probs[i] - draft_probs[i]).clamp(min=0)
            return [*guesses[:i], int(torch.multinomial(rest, 1))]
    return [*guesses, int(torch.multinomial(model_probs[-1], 1))]


@wrong("where_next.accept", "nothing is drawn where there are no guesses", None)
def accept_nothing(guesses, draft_probs, model_probs, uniforms):
    return right.accept(guesses, draft_probs, model_probs, uniforms) if guesses else []


@wrong("where_next.what_limits", "the weights need room twice", None)
def what_limits_twice(model, card, users, tokens):
    caches = 4 * model["layers"] * model["sets"] * model["d_head"] * users * tokens
    if 4 * model["parameters"] + caches > card["memory"]:
        return 0.0, "memory"
    return right.what_limits(model, card, users, tokens)


@wrong("where_next.what_limits", "memory in steps of 2**30 bytes, needs in steps of 10**9", None)
def what_limits_units(model, card, users, tokens):
    more = {**card, "memory": card["memory"] / 10**9 * 2**30}
    return right.what_limits(model, more, users, tokens)


@wrong("where_next.find_the_bug", "as many pieces as the larger of the two numbers", None)
def find_the_bug_larger(weight, num_heads, num_sets):
    pieces = max(num_sets, num_heads // num_sets)
    return weight.unflatten(0, (pieces, 2, -1)).transpose(1, 2).flatten(end_dim=2)
