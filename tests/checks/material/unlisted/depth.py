"""Wrong answers to the tasks on depth."""

import math

import torch

from tests.checks.material.unlisted import wrong


def attend(query, key, value, mask):
    """Attend under a mask."""
    scores = query @ key.T / math.sqrt(query.shape[-1])
    return scores.masked_fill(~mask, -math.inf).softmax(dim=-1) @ value


@wrong("depth.damage_by_key", "rest[hidden]: a row, so a query is hidden and not a key")
def damage_by_key_1(query, key, value, mask):
    whole = attend(query, key, value, mask)
    damages = []
    for hidden in range(len(key)):
        rest = mask.clone()
        rest[min(hidden, len(query) - 1)] = False
        changed = attend(query, key, value, rest).nan_to_num() - whole
        damages.append(changed.square().mean())
    return torch.stack(damages)


@wrong("depth.damage_by_key", "rest = mask: no copy, more and more keys are hidden")
def damage_by_key_2(query, key, value, mask):
    whole = attend(query, key, value, mask)
    rest = mask.clone()
    damages = []
    for hidden in range(len(key)):
        rest[:, hidden] = False
        changed = attend(query, key, value, rest).nan_to_num() - whole
        damages.append(changed.square().mean())
    return torch.stack(damages)


@wrong("depth.damage_by_key", "mask[:, hidden] = False and True again: the mask is changed")
def damage_by_key_3(query, key, value, mask):
    whole = attend(query, key, value, mask)
    damages = []
    for hidden in range(len(key)):
        mask[:, hidden] = False
        changed = attend(query, key, value, mask) - whole
        damages.append(changed.square().mean())
        mask[:, hidden] = True
    return torch.stack(damages)


@wrong("depth.damage_by_key", "weights[:, hidden] = 0 after the softmax: not shared out anew")
def damage_by_key_4(query, key, value, mask):
    scores = query @ key.T / math.sqrt(query.shape[-1])
    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
    whole = weights @ value
    damages = []
    for hidden in range(len(key)):
        rest = weights.clone()
        rest[:, hidden] = 0.0
        damages.append((rest @ value - whole).square().mean())
    return torch.stack(damages)


@wrong("depth.damage_by_key", ".abs().mean(): not squared")
def damage_by_key_5(query, key, value, mask):
    whole = attend(query, key, value, mask)
    damages = []
    for hidden in range(len(key)):
        rest = mask.clone()
        rest[:, hidden] = False
        damages.append((attend(query, key, value, rest) - whole).abs().mean())
    return torch.stack(damages)


@wrong("depth.damage_by_key", ".square().sum(): not divided by T V")
def damage_by_key_6(query, key, value, mask):
    whole = attend(query, key, value, mask)
    damages = []
    for hidden in range(len(key)):
        rest = mask.clone()
        rest[:, hidden] = False
        damages.append((attend(query, key, value, rest) - whole).square().sum())
    return torch.stack(damages)


@wrong("depth.damage_by_key", "changed.mean().square(): the mean is taken before the square")
def damage_by_key_7(query, key, value, mask):
    whole = attend(query, key, value, mask)
    damages = []
    for hidden in range(len(key)):
        rest = mask.clone()
        rest[:, hidden] = False
        damages.append((attend(query, key, value, rest) - whole).mean().square())
    return torch.stack(damages)


@wrong("depth.damage_by_key", "torch.ones_like(mask): the mask that was given is not kept")
def damage_by_key_8(query, key, value, mask):
    whole = attend(query, key, value, torch.ones_like(mask))
    damages = []
    for hidden in range(len(key)):
        rest = torch.ones_like(mask)
        rest[:, hidden] = False
        damages.append((attend(query, key, value, rest) - whole).square().mean())
    return torch.stack(damages)


@wrong("depth.damage_by_key", "range(len(query)): as many keys as there are queries")
def damage_by_key_9(query, key, value, mask):
    whole = attend(query, key, value, mask)
    damages = []
    for hidden in range(len(query)):
        rest = mask.clone()
        rest[:, hidden] = False
        damages.append((attend(query, key, value, rest) - whole).square().mean())
    return torch.stack(damages)


@wrong("depth.damage_by_key", "all keys but one are hidden: ~rest for rest")
def damage_by_key_10(query, key, value, mask):
    whole = attend(query, key, value, mask)
    damages = []
    for kept in range(len(key)):
        rest = torch.zeros_like(mask)
        rest[:, kept] = True
        damages.append((attend(query, key, value, rest) - whole).square().mean())
    return torch.stack(damages)
