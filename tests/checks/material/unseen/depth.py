"""Wrong answers to the tasks of depth, as beginners write them."""

import math

import torch

from tests.checks.material.unseen import wrong


@wrong("depth.previous_token_weights", "the matrix has its ones above the diagonal", "looks-ahead")
def _(places, sharpness):
    length, size = places.shape
    move = torch.diag(torch.ones(size - 1, dtype=places.dtype), 1)
    scores = sharpness * (places @ move) @ places.T / math.sqrt(size)
    return torch.softmax(scores.masked_fill(torch.ones(length, length).triu(1) > 0, -1e9), -1)


def attend(query, key, value, mask):
    """Attend under a mask."""
    scores = query @ key.T / math.sqrt(query.shape[-1])
    return scores.masked_fill(~mask, -math.inf).softmax(dim=-1) @ value


@wrong("depth.damage_by_key", "rest[hidden]: a row, so a query is hidden and not a key", None)
def damage_by_key_1(query, key, value, mask):
    whole = attend(query, key, value, mask)
    damages = []
    for hidden in range(len(key)):
        rest = mask.clone()
        rest[min(hidden, len(query) - 1)] = False
        changed = attend(query, key, value, rest).nan_to_num() - whole
        damages.append(changed.square().mean())
    return torch.stack(damages)


@wrong("depth.damage_by_key", "mask[:, hidden] = False and True again: the mask is changed", None)
def damage_by_key_3(query, key, value, mask):
    whole = attend(query, key, value, mask)
    damages = []
    for hidden in range(len(key)):
        mask[:, hidden] = False
        changed = attend(query, key, value, mask) - whole
        damages.append(changed.square().mean())
        mask[:, hidden] = True
    return torch.stack(damages)


@wrong("depth.damage_by_key", "range(len(query)): as many keys as there are queries", None)
def damage_by_key_9(query, key, value, mask):
    whole = attend(query, key, value, mask)
    damages = []
    for hidden in range(len(query)):
        rest = mask.clone()
        rest[:, hidden] = False
        damages.append((attend(query, key, value, rest) - whole).square().mean())
    return torch.stack(damages)
