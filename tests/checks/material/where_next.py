"""Answers to the assignment "where_next" on which the grader itself is measured.

CORRECT must be accepted, WRONG must be rejected with the misconception that stands beside it, and
MUTANTS, which have no name and are harder to notice than any generated mutant, without one.
They are written apart from the checks.
"""

from __future__ import annotations

import itertools

import numpy as np
import torch
from torch.nn import functional as F

from transformer_ref.positions import frequencies, shift_matrix

ROTATE = "where_next.rotate"
PAIRS = "where_next.turned_pairs"
GROUPED = "where_next.grouped_attention"
ROUTE = "where_next.route"
ACCEPT = "where_next.accept"
LIMITS = "where_next.what_limits"
BUG = "where_next.find_the_bug"

# =============================================================================================
# rotate
# =============================================================================================


def _order(size, pairing):
    """The features, pair by pair."""
    if pairing == "neighbors":
        return list(range(size))
    return [each for i in range(size // 2) for each in (i, i + size // 2)]


def rotate_half(x, positions, pairing):
    """As transformers does it, with the features of neighbors moved there and back."""
    half = x.shape[-1] // 2
    order = torch.arange(2 * half)
    if pairing == "neighbors":
        order = torch.cat([order[::2], order[1::2]])
    x = x[..., order]
    angles = torch.outer(positions.float(), frequencies(2 * half).float())
    cos, sin = (torch.cat([each, each], dim=-1) for each in (angles.cos(), angles.sin()))
    turned = x * cos.to(x.dtype) + torch.cat([-x[..., half:], x[..., :half]], -1) * sin.to(x.dtype)
    return turned[..., order.argsort()]


def rotate_complex(x, positions, pairing):
    """As Llama's own code does it: a product of complex numbers."""
    wide = x.double()
    wide = wide.unflatten(-1, (2, -1)).mT if pairing == "halves" else wide.unflatten(-1, (-1, 2))
    size = x.shape[-1]
    speeds = 10000.0 ** -(torch.arange(0, size, 2).double() / size)
    angles = positions.double()[:, None] * speeds
    product = torch.view_as_complex(wide.contiguous()) * torch.polar(
        torch.ones_like(angles), angles
    )
    pairs = torch.view_as_real(product)
    return (pairs.mT if pairing == "halves" else pairs).flatten(-2).to(x.dtype)


def rotate_by_matrices(x, positions, pairing):
    """One matrix for each token."""
    size = x.shape[-1]
    order = _order(size, pairing)
    turns = torch.stack([shift_matrix(-int(place), size) for place in positions])
    turned = torch.empty_like(x)
    turned[..., order] = (turns.to(x) @ x[..., order, None])[..., 0]
    return turned


def rotate_loop(x, positions, pairing):
    """Feature by feature."""
    size, parts = x.shape[-1], [None] * x.shape[-1]
    order = _order(size, pairing)
    for i in range(size // 2):
        first, second = order[2 * i], order[2 * i + 1]
        angle = positions * 10000 ** (-2 * i / size)
        cos, sin = torch.cos(angle).to(x.dtype), torch.sin(angle).to(x.dtype)
        parts[first] = x[..., first] * cos - x[..., second] * sin
        parts[second] = x[..., second] * cos + x[..., first] * sin
    return torch.stack(parts, dim=-1)


def m_rotate_far(x, positions, pairing):
    """Positions above 4,095 wrap, as in a table."""
    return rotate_half(x, positions % 4096, pairing)


# =============================================================================================
# turned_pairs
# =============================================================================================


def pairs_one_by_one(turn, d_k):
    found = []
    for i in range(d_k):
        x = torch.zeros(1, d_k)
        x[0, i] = 1.0
        y = turn(x, torch.tensor([1]))[0]
        for j in torch.nonzero(y).flatten().tolist():
            if j > i:
                found.append((i, j))
    return found


def pairs_many_positions(turn, d_k):
    """The largest that a feature becomes at any of many positions."""
    table = torch.zeros(d_k, d_k)
    for place in (1, 2, 3, 5, 100, 5000):
        table = torch.maximum(table, turn(torch.eye(d_k), torch.full((d_k,), place)).abs())
    return [tuple(pair) for pair in (table > 1e-7).triu(1).nonzero().tolist()]


def pairs_large_numbers(turn, d_k):
    """Vectors of a thousand, in float64, compared with themselves."""
    x = 1000 * torch.eye(d_k, dtype=torch.float64)
    change = (turn(x, torch.ones(d_k).long()) - x).abs() > 0.01
    pairs = {(min(i, j), max(i, j)) for i, j in change.nonzero().tolist() if i != j}
    return sorted(pairs)


def pairs_combinations(turn, d_k):
    moved = turn(torch.eye(d_k), torch.tensor([3] * d_k)).tolist()
    return [(i, j) for i, j in itertools.combinations(range(d_k), 2) if abs(moved[i][j]) > 1e-5]


def pairs_by_length(turn, d_k):
    """A pair keeps its length, and no feature alone does."""
    x = torch.randn(200, d_k, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    moved = turn(x, torch.full((200,), 2000)) - x
    loads = torch.linalg.lstsq(x, moved).solution
    off = (loads - torch.diag(loads.diagonal())).abs() > 1e-9
    return [(i, j) for i in range(d_k) for j in range(i, d_k) if off[i, j]]


# =============================================================================================
# grouped_attention
# =============================================================================================


def grouped_folded(query, key, value):
    """The heads of a set are more queries of one head."""
    batch, heads, new, size = query.shape
    sets, seen = key.shape[1:3]
    q = query.reshape(batch, sets, heads // sets * new, size)
    scores = q @ key.transpose(-1, -2) * size**-0.5
    place = torch.arange(heads // sets * new) % new + seen - new
    hidden = torch.arange(seen)[None, :] > place[:, None]
    weights = torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1)
    return (weights @ value).reshape(batch, heads, new, -1)


def grouped_broadcast(query, key, value):
    share = query.shape[1] // key.shape[1]
    q = query.unflatten(1, (-1, share))
    scores = torch.einsum("bgrtk,bgsk->bgrts", q, key) / query.shape[-1] ** 0.5
    new, seen = scores.shape[-2:]
    bias = torch.full((new, seen), -torch.inf, dtype=query.dtype).triu(seen - new + 1)
    weights = F.softmax(scores + bias, dim=-1)
    return torch.einsum("bgrts,bgsv->bgrtv", weights, value).flatten(1, 2)


def grouped_token_by_token(query, key, value):
    heads, new = query.shape[1:3]
    which = torch.arange(heads) // (heads // key.shape[1])
    key, value = key[:, which], value[:, which]
    rows = []
    for t in range(new):
        end = key.shape[2] - new + t + 1
        scores = (key[:, :, :end] * query[:, :, t : t + 1]).sum(-1) / query.shape[-1] ** 0.5
        rows.append((scores.softmax(-1)[..., None] * value[:, :, :end]).sum(2))
    return torch.stack(rows, dim=2)


def grouped_double(query, key, value):
    """The whole square of tokens, of which the last rows are taken."""
    sets, seen = key.shape[1:3]
    share, new = query.shape[1] // sets, query.shape[2]
    k, v = (
        each.double()[:, :, None].expand(-1, -1, share, -1, -1).flatten(1, 2)
        for each in (key, value)
    )
    scores = query.double() @ k.mT / query.shape[-1] ** 0.5
    past = torch.ones(seen, seen).tril()[-new:].bool()
    return (torch.where(past, scores, -1e300).softmax(-1) @ v).to(query.dtype)


def m_grouped_long(query, key, value):
    """The cache is seen as far as 64 tokens back."""
    seen = min(key.shape[2], 64 + query.shape[2])
    return grouped_folded(query, key[:, :, -seen:], value[:, :, -seen:])


# =============================================================================================
# route
# =============================================================================================


def route_masked(scores, num_used):
    """Hide what is not chosen, and count with a mask."""
    chosen = torch.zeros_like(scores, dtype=torch.bool)
    chosen.scatter_(1, scores.topk(num_used).indices, True)
    weights = scores.masked_fill(~chosen, -torch.inf).softmax(1)
    share = chosen.to(scores.dtype).mean(0) / num_used
    return scores.shape[1] * share @ scores.softmax(1).mean(0), weights


def route_sorted(scores, num_used):
    order = scores.argsort(dim=1, descending=True)[:, :num_used]
    part = scores.gather(1, order).exp()
    weights = torch.zeros_like(scores)
    weights[torch.arange(len(scores))[:, None], order] = part / part.sum(1, keepdim=True)
    counts = F.one_hot(order, scores.shape[1]).sum((0, 1))
    mean = torch.softmax(scores, 1).mean(0)
    return (counts.to(mean) / counts.sum() * mean).mean() * scores.shape[1] ** 2, weights


def route_renormalized(scores, num_used):
    """From the probabilities of all experts."""
    probs = F.softmax(scores, dim=-1)
    line = probs.sort(dim=-1, descending=True).values[:, num_used - 1 : num_used]
    kept = probs * (probs >= line)
    weights = kept / kept.sum(dim=-1, keepdim=True)
    share = (weights.detach() > 0).sum(dim=0) / (len(scores) * num_used)
    return len(share) * torch.dot(share.to(scores.dtype), probs.mean(dim=0)), weights


def route_loop(scores, num_used):
    """Token by token."""
    num_tokens, num_experts = scores.shape
    counts, rows = [0] * num_experts, []
    for row in scores:
        experts = sorted(range(num_experts), key=lambda e, row=row: -row[e].item())[:num_used]
        parts = torch.stack([row[e] for e in experts]).softmax(0)
        rows.append(torch.zeros_like(row).index_add(0, torch.tensor(experts), parts))
        for e in experts:
            counts[e] += 1
    mean = scores.softmax(-1).sum(0) / num_tokens
    loss = sum(counts[e] / (num_tokens * num_used) * mean[e] for e in range(num_experts))
    return [loss * num_experts, torch.stack(rows)]


# =============================================================================================
# accept
# =============================================================================================


def _draw(chances, number):
    for token, end in enumerate(chances.cumsum(0).tolist()):
        if number < end:
            return token
    return len(chances) - 1


def accept_for_else(guesses, draft_probs, model_probs, uniforms):
    new = []
    for p, q, u, guess in zip(model_probs[:-1], draft_probs, uniforms[:-1], guesses, strict=True):
        if u * q[guess] >= p[guess]:
            rest = torch.relu(p - q)
            return [*new, _draw(rest / rest.sum(), float(uniforms[-1]))]
        new.append(guess)
    return [*new, _draw(model_probs[-1], float(uniforms[-1]))]


def accept_vectors(guesses, draft_probs, model_probs, uniforms):
    """All comparisons at once; a row of zeros for the draft behind the last guess."""
    count = len(guesses)
    rows = torch.arange(count)
    chosen = torch.tensor(guesses, dtype=torch.long)
    fine = uniforms[:count] < model_probs[rows, chosen] / draft_probs[rows, chosen]
    kept = int(fine.long().cumprod(0).sum())
    draft = torch.cat([draft_probs, torch.zeros_like(model_probs[:1])])[kept]
    rest = torch.maximum(model_probs[kept] - draft, torch.zeros_like(draft))
    edges = rest.cumsum(0) / rest.sum()
    return [*chosen[:kept].tolist(), torch.searchsorted(edges, uniforms[-1], right=True).item()]


def accept_numpy(guesses, draft_probs, model_probs, uniforms):
    q, p, u = (each.double().numpy() for each in (draft_probs, model_probs, uniforms))
    for i, guess in enumerate(guesses):
        if u[i] >= min(1.0, p[i, guess] / q[i, guess]):
            rest = np.clip(p[i] - q[i], 0, None)
            return [*guesses[:i], int(np.argmax(rest.cumsum() / rest.sum() > u[-1]))]
    return (*guesses, int(np.argmax(p[-1].cumsum() > u[-1])))


def accept_kept_shares(guesses, draft_probs, model_probs, uniforms):
    """The rest as the model without what both have."""
    kept = 0
    for guess in guesses:
        both = torch.minimum(model_probs[kept], draft_probs[kept])
        if not uniforms[kept] < both[guess] / draft_probs[kept][guess]:
            rest = model_probs[kept] - both
            return [*guesses[:kept], _draw(rest / (1 - both.sum()), uniforms[-1].item())]
        kept += 1
    return [*guesses[:], _draw(model_probs[kept], uniforms[-1].item())]


def m_accept_certain(guesses, draft_probs, model_probs, uniforms):
    """After a refusal, the number for the draw is read from the other end of the line."""
    new = accept_for_else(guesses, draft_probs, model_probs, uniforms)
    if len(new) <= len(guesses):
        turned = torch.cat([uniforms[:-1], 1 - uniforms[-1:]])
        new[-1] = accept_for_else(guesses, draft_probs, model_probs, turned)[-1]
    return new


# =============================================================================================
# what_limits
# =============================================================================================


def limits_rates(model, card, users, tokens):
    """Two rates, of which the smaller one counts."""
    per_token = 2 * 2 * model["layers"] * model["sets"] * model["d_head"]
    need = model["parameters"] * 2 + per_token * tokens * users
    if need > card["memory"]:
        return 0.0, "memory"
    rates = {
        "bandwidth": users * card["bandwidth"] / need,
        "operations": card["operations"] / (2 * model["used"]),
    }
    limit = min(rates, key=rates.get)
    return float(rates[limit]), limit


def limits_loop(model, card, users, tokens):
    need = 2 * model["parameters"]
    for _ in range(users):
        need += 4 * model["layers"] * model["sets"] * model["d_head"] * tokens
    if not need <= card["memory"]:
        return (0.0, "memory")
    times = sorted(
        [
            (need / card["bandwidth"], "bandwidth"),
            (users * model["used"] / (card["operations"] / 2), "operations"),
        ]
    )
    return users / times[-1][0], times[-1][1]


def limits_intensity(model, card, users, tokens):
    """Operations per byte, of the work and of the card."""
    cache = 4 * tokens * users * model["d_head"] * model["sets"] * model["layers"]
    moved, work = 2 * model["parameters"] + cache, 2 * model["used"] * users
    if moved > card["memory"]:
        return 0.0, "memory"
    if work / moved > card["operations"] / card["bandwidth"]:
        return users * card["operations"] / work, "operations"
    return users * card["bandwidth"] / moved, "bandwidth"


def m_limits_layers(model, card, users, tokens):
    """The new token's own key and value are counted, too."""
    return limits_rates(model, card, users, tokens + 1)


# =============================================================================================
# find_the_bug
# =============================================================================================


def neighbors_by_order(weight, num_heads, num_sets):
    size = len(weight) // num_sets
    order = [
        first + i + part * size // 2
        for first in range(0, len(weight), size)
        for i in range(size // 2)
        for part in (0, 1)
    ]
    return weight[order]


def neighbors_stacked(weight, num_heads, num_sets):
    sets = []
    for one in weight.chunk(num_sets):
        first, second = one.chunk(2)
        sets.append(torch.stack([first, second], dim=1).flatten(end_dim=1))
    return torch.cat(sets)


def neighbors_reshaped(weight, num_heads, num_sets):
    """As many converters write it."""
    rows, columns = weight.shape
    cut = weight.reshape(num_sets, 2, rows // num_sets // 2, columns)
    return cut.swapaxes(1, 2).reshape(rows, columns)


def neighbors_filled(weight, num_heads, num_sets):
    size = weight.shape[0] // num_sets
    found = torch.empty_like(weight)
    for row in range(weight.shape[0]):
        place, inside = divmod(row, size)
        part, i = divmod(inside, size // 2)
        found[place * size + 2 * i + part] = weight[row]
    return found


def m_neighbors_last(weight, num_heads, num_sets):
    """The last set is left as it was."""
    found = neighbors_reshaped(weight, num_heads, num_sets)
    size = len(weight) // num_sets
    return torch.cat([found[: -size // 2], weight[-size // 2 :]])


CORRECT = {
    ROTATE: [rotate_half, rotate_complex, rotate_by_matrices, rotate_loop],
    PAIRS: [
        pairs_one_by_one,
        pairs_many_positions,
        pairs_large_numbers,
        pairs_combinations,
        pairs_by_length,
    ],
    GROUPED: [grouped_folded, grouped_broadcast, grouped_token_by_token, grouped_double],
    ROUTE: [route_masked, route_sorted, route_renormalized, route_loop],
    ACCEPT: [accept_for_else, accept_vectors, accept_numpy, accept_kept_shares],
    LIMITS: [limits_rates, limits_loop, limits_intensity],
    BUG: [neighbors_by_order, neighbors_stacked, neighbors_reshaped, neighbors_filled],
}

WRONG: dict[str, list[tuple[str, object]]] = {}

MUTANTS = {
    ROTATE: [m_rotate_far],
    GROUPED: [m_grouped_long],
    ACCEPT: [m_accept_certain],
    LIMITS: [m_limits_layers],
    BUG: [m_neighbors_last],
}
