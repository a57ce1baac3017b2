"""Makes the cases of the assignment "depth"."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from transformer_checks.assignments import made_arguments
from transformer_checks.assignments.shared_cases import (
    asked_again,
    described,
    different_sizes,
    normal,
    plain_case,
)
from transformer_checks.task import Arrays, Case

# Two damages that are closer than this share of the larger one are not tried.
GAP = 0.2
# A text of more letters is not written out in the name of its case.
LONG_TEXT = 40


def _case(arguments: dict[str, Any], dtype: str, *notes: str, layout: str = "contiguous") -> Case:
    strided = ["strided"] * (layout != "contiguous")
    return Case(
        ", ".join([*described(arguments), dtype, *notes, *strided]), arguments, layout=layout
    )


# --- cases: cnn_receptive_field --------------------------------------------------------------


def cnn_receptive_field_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of cnn_receptive_field: odd and even kernels, with gaps and without."""
    kernels = [int(size) for size in rng.permutation([2, 3, 4, 5, 6, 7, 9])]
    layers = [int(count) for count in rng.integers(2, 13, size=7)]
    gaps = [int(size) for size in rng.integers(2, 8, size=7)]
    names = ("kernel_size", "num_layers", "dilation")
    plan = [
        *((3, 1), (3, 2), (3, 4, 2), (2, 5), (kernels[0], 1), (kernels[1], 1, gaps[0])),
        *((kernels[2], layers[0]), (kernels[3], layers[1], 1), (kernels[4], layers[2], gaps[1])),
        *((kernels[5], layers[3], gaps[2]), (1, layers[4]), (1, layers[5], gaps[3])),
        *((3, 50), (4, 3, gaps[4]), (5, layers[6], gaps[5]), (2, 4, gaps[6])),
    ]
    plan += [(3, 70), (2, 3, 300)]
    cases = [plain_case(**dict(zip(names, each, strict=False))) for each in plan]
    asked_again(cases, cases[2])
    return cases


# --- previous_token_weights ------------------------------------------------------------------


def _place_case(
    rng: np.random.Generator, tokens: int, head_size: int, start: int, dtype: str = "float32"
) -> Case:
    """Make a case: `tokens` neighbouring places from `start` on, of `head_size` that there are."""
    places = np.eye(head_size, dtype=dtype)[start : start + tokens]
    sharpness = float(rng.integers(4, 40)) / 2
    arguments = {"places": places, "sharpness": sharpness}
    return _case(arguments, dtype, f"from place {start} on")


def previous_token_weights_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of previous_token_weights: whole texts and pieces, two tokens and many."""
    drawn = different_sizes(rng, 4, 11, 6)
    plan = [
        *((5, 5, 0, "float32"), (4, 4, 0, "float32"), (2, 2, 0, "float32")),
        *((drawn[0], drawn[0], 0, "float64"), (drawn[1], drawn[1] + 3, 0, "float32")),
        *((drawn[2], drawn[2] + 4, 2, "float32"), (drawn[3], drawn[3] + 2, 2, "float64")),
        *((drawn[4], 20, 7, "float32"), (drawn[5], 16, 1, "float64"), (3, 9, 6, "float32")),
        *((12, 12, 0, "float32"), (1, 6, 3, "float32"), (70, 72, 1, "float32")),
        (6, 8, 1, "float16"),
    ]
    cases = [_place_case(rng, *each) for each in plan]
    asked_again(cases, cases[3])
    return cases


# --- logit_lens ------------------------------------------------------------------------------


class _Layer(nn.Module):
    """Adds to the residual stream, as a layer of a Transformer does."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) to (B, T, D); a token reads the mean of those up to it."""
        counts = torch.arange(1, x.shape[1] + 1, device=x.device).to(x.dtype)
        seen = x.cumsum(dim=1) / counts[:, None]
        return x + torch.tanh(self.inner(seen))


class Stack(nn.Module):
    """Layers, a norm and an output layer.

    Args:
        weights: by dotted name, for their shapes.
    """

    def __init__(self, weights: Arrays) -> None:
        super().__init__()
        vocab_size, d_model = weights["output_proj.weight"].shape
        count = sum(name.endswith("inner.bias") for name in weights)
        self.layers = nn.ModuleList(_Layer(d_model) for _ in range(count))
        self.norm = nn.LayerNorm(d_model)
        self.output_proj = nn.Linear(d_model, vocab_size, bias=False)


STACK = made_arguments.model_maker(Stack, left_alone=True)


def lens_case(
    rng: np.random.Generator,
    layers: int,
    sizes: tuple[int, int, int, int],
    dtype: str = "float32",
    layout: str = "contiguous",
    training: bool = False,
) -> Case:
    """Make a case of logit_lens.

    Args:
        rng: the source.
        layers: N, 0 and more.
        sizes: B, T, D and V.
        dtype: of all numbers.
        layout: of x.
        training: whether the model comes in training mode.

    Returns:
        the case.
    """
    batch, length, d_model, vocab_size = sizes
    weights = {}
    for layer in range(layers):
        square = normal(rng, (d_model, d_model), dtype)
        weights[f"layers.{layer}.inner.weight"] = square
        weights[f"layers.{layer}.inner.bias"] = normal(rng, (d_model,), dtype)
    weights["norm.weight"] = rng.uniform(0.5, 1.5, d_model).astype(dtype)
    weights["norm.bias"] = normal(rng, (d_model,), dtype)
    weights["output_proj.weight"] = normal(rng, (vocab_size, d_model), dtype)
    said = f"{layers} layer{'s' * (layers != 1)}, D={d_model}, V={vocab_size}"
    arguments = {
        "model": made_arguments.model(said, weights, training=training),
        "x": 2.0 * normal(rng, (batch, length, d_model), dtype) + 1.0,
    }
    return _case(arguments, dtype, *["training mode"] * training, layout=layout)


def logit_lens_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of logit_lens: one layer and many, one sequence, one token."""

    def sizes(*fixed: int) -> tuple[int, int, int, int]:
        batch, length, d_model, vocab_size = different_sizes(rng, 2, 9, 4)
        batch, length = fixed or (batch, length)
        return batch, length, d_model + 2, vocab_size + 4

    cases = [
        lens_case(rng, 1, sizes()),
        lens_case(rng, 2, sizes()),
        lens_case(rng, 3, sizes()),
        lens_case(rng, 3, sizes(), "float64"),
        lens_case(rng, 4, sizes(1, 5)),
        lens_case(rng, 2, sizes(3, 1)),
        lens_case(rng, 6, sizes(), "float64"),
        lens_case(rng, 3, sizes(), "float32", "strided"),
        lens_case(rng, 5, sizes(4, 4)),
        lens_case(rng, 2, sizes(), "float64", "strided"),
        lens_case(rng, 0, sizes()),
        lens_case(rng, 12, sizes(2, 3)),
        lens_case(rng, 2, sizes(), training=True),
        lens_case(rng, 2, sizes(1, 70)),
        lens_case(rng, 2, sizes(), "float16"),
    ]
    asked_again(cases, cases[2])
    return cases


# --- damage_by_key ---------------------------------------------------------------------------


def attended(
    query: np.ndarray, key: np.ndarray, value: np.ndarray, mask: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return output and weights of attention, in float64 and by numpy."""
    scores = query.astype(np.float64) @ key.astype(np.float64).T / np.sqrt(query.shape[-1])
    powers = np.where(mask, np.exp(scores - scores.max()), 0.0)
    weights = powers / powers.sum(axis=-1, keepdims=True)
    return weights @ value.astype(np.float64), weights


def known_damage(arguments: dict[str, Any]) -> np.ndarray:
    """Return the damages without hiding anything, by their closed form.

    A key of weight w and value v takes (w / (1 - w)) (output - v) with it when it goes.
    """
    value = arguments["value"].astype(np.float64)
    output, weights = attended(*(arguments[name] for name in ("query", "key", "value", "mask")))
    lost = (weights / (1.0 - weights))[:, :, None] * (output[:, None, :] - value)
    damage: np.ndarray = np.square(lost).mean(axis=(0, 2))
    return damage


def _seen(rng: np.random.Generator, kind: str, queries: int, keys: int) -> np.ndarray:
    """Make a mask (T, S) in which every query sees two keys at least."""
    if kind == "all":
        return np.ones((queries, keys), dtype=bool)
    if kind == "past":
        return np.arange(keys) <= np.arange(queries)[:, None] + 1
    order = rng.random((queries, keys)).argsort(axis=-1)
    mask: np.ndarray = order < rng.integers(2, keys, size=(queries, 1))
    if kind == "unseen":
        mask[:, int(rng.integers(keys))] = False
        mask |= np.eye(1, keys, int(np.flatnonzero(mask.any(axis=0))[0]), dtype=bool)
        mask |= np.eye(1, keys, int(np.flatnonzero(mask.any(axis=0))[-1]), dtype=bool)
    return mask


def _damage_case(
    rng: np.random.Generator, kind: str, dtype: str, layout: str, fixed: dict[str, int]
) -> Case:
    """Make a case of damage_by_key; "twins" and "average" are keys that can go for their values."""
    queries, keys, head_size, value_size = different_sizes(rng, 3, 9, 4)
    queries, keys = fixed.get("queries", queries), fixed.get("keys", keys)
    arguments = {
        "query": normal(rng, (queries, head_size), dtype),
        "key": normal(rng, (keys, head_size), dtype),
        "value": 2 * normal(rng, (keys, value_size), dtype) + np.array(1.0, dtype),
        "mask": _seen(rng, kind, queries, keys),
    }
    notes = []
    if kind == "twins":
        first, second = (int(each) for each in rng.permutation(keys)[:2])
        for name in ("key", "value"):
            arguments[name][second] = arguments[name][first]
        notes = [f"keys {first} and {second} are the same, with the same value"]
    if kind == "average":
        least = int(rng.integers(keys))
        arguments["query"][:] = arguments["query"][0]  # all look alike
        others = np.arange(keys) != least
        only = np.broadcast_to(others, (queries, keys))
        output, _ = attended(arguments["query"], arguments["key"], arguments["value"], only)
        arguments["value"][least] = output[0].astype(dtype)
        arguments["mask"] = np.ones((queries, keys), dtype=bool)
        notes = [f"the value of key {least} is the average of the others"]
    return _case(arguments, dtype, *notes, layout=layout)


def damage_by_key_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of damage_by_key: masks of several kinds, keys that others replace."""
    plans: list[tuple[str, str, str, dict[str, int]]] = [
        ("all", "float32", "contiguous", {}),
        ("all", "float64", "contiguous", {}),
        ("unseen", "float32", "contiguous", {"keys": 7}),
        ("past", "float32", "contiguous", {"queries": 4, "keys": 5}),
        ("past", "float64", "contiguous", {"queries": 7, "keys": 8}),
        ("scattered", "float32", "contiguous", {"keys": 6}),
        ("scattered", "float64", "contiguous", {"keys": 8}),
        ("twins", "float32", "contiguous", {}),
        ("average", "float32", "contiguous", {}),
        ("average", "float64", "contiguous", {"queries": 1}),
        ("all", "float32", "contiguous", {"queries": 1}),
        ("all", "float32", "contiguous", {"keys": 2}),
        ("scattered", "float32", "strided", {"keys": 5}),
        ("scattered", "float32", "contiguous", {"queries": 66, "keys": 68}),
    ]
    cases = [_damage_case(rng, *plan) for plan in plans]
    asked_again(cases, cases[4])
    return cases


# --- needed_offset ---------------------------------------------------------------------------


def _looking(
    weights: np.ndarray, value: np.ndarray, rng: np.random.Generator, dtype: str, wider: int
) -> dict[str, Any]:
    """Make query and key of a head with these weights (T, T), turned at random: (T, T + wider)."""
    length, head_size = len(weights), len(weights) + wider
    scores = np.sqrt(head_size) * np.log(np.maximum(weights, 1e-4))
    turn = np.linalg.qr(rng.standard_normal((head_size, length)))[0].T
    query, key = scores @ turn, turn
    found = {"query": query, "key": key, "value": value}
    return {name: each.astype(dtype) for name, each in found.items()}


def _shares(length: int, shares: dict[int, float]) -> np.ndarray:
    """Weights (T, T) in which a token gives each offset its share, and itself the rest."""
    weights = np.zeros((length, length))
    for offset, share in shares.items():
        weights += share * np.eye(length, k=-offset)
    return weights + np.diag(1.0 - weights.sum(axis=-1))


def offset_damage(arguments: dict[str, Any]) -> np.ndarray:
    """Return the damage of each offset from 1 on, by the closed form of `known_damage`."""
    names = ("query", "key", "value")
    query, key, value = (arguments[name].astype(np.float64) for name in names)
    length = len(query)
    output, weights = attended(query, key, value, np.tri(length, dtype=bool))
    lost = (weights / np.maximum(1.0 - weights, 1e-12))[:, :, None] * (output[:, None, :] - value)
    return np.array(
        [
            np.square(lost[np.arange(offset, length), np.arange(length - offset)]).sum()
            / output.size
            for offset in range(1, arguments["max_offset"] + 1)
        ]
    )


def _offset_case(
    rng: np.random.Generator, kind: str, length: int, offset: int, most: int, dtype: str
) -> Case:
    """Make a case of needed_offset whose answer is `offset` by construction.

    "sharp": nearly all weight is on the token that far back.
    "last": so it is, but the last query looks elsewhere.
    "spare": most weight is on another offset, at which the same values stand as at the token
    itself, since the text repeats; so that look is spare.
    "echo": what is needed stands again behind the query, where the mask hides it.
    "behind": what a larger offset brings stands behind the query, too, where the mask hides it; to
    an answer that forgets the mask in the whole output, that offset seems to be the needed one.
    "few": for the few queries that reach so far, the largest offset matters as much.
    """
    value = rng.standard_normal((length, int(rng.integers(2, 6))))
    others = [each for each in range(1, most + 1) if each != offset] or [offset]
    other = int(rng.choice(others))
    note = ""
    weights = _shares(length, {offset: 0.9})
    if kind == "last":
        weights[-1] = _shares(length, {other: 0.9})[-1]
        note = f"the last query looks {other} back"
    if kind == "spare":
        # Twice the period would be another offset with these values, and no choice between them.
        period = int(rng.choice([each for each in others if 2 * each > most]))
        weights = _shares(length, {period: 0.45, offset: 0.35})
    if kind == "echo":
        period = offset + 1
        weights = _shares(length, {offset: 0.5, int(rng.integers(1, offset)): 0.4})
        weights += 3.0 * np.eye(length, k=1)
    if kind == "behind":
        larger = int(rng.choice([each for each in others if each > offset]))
        period = larger + 1
        weights = _shares(length, {offset: 0.55, larger: 0.4}) + 3.0 * np.eye(length, k=1)
    if kind == "few":
        weights = _shares(length, {offset: 0.45, most: 0.5})
    if kind in ("spare", "echo", "behind"):
        value = value[np.arange(length) % period]
        note = f"the values repeat after {period}"
    arguments = _looking(weights, value, rng, dtype, wider=int(rng.integers(0, 2 * length)))
    arguments["max_offset"] = most
    return _case(arguments, dtype, *[note] * bool(note))


def is_clear(arguments: dict[str, Any], offset: int) -> bool:
    """Whether this offset does clearly more damage than all others."""
    damage = offset_damage(arguments)
    others = np.delete(damage, offset - 1)
    return bool((others < (1.0 - GAP) * damage[offset - 1]).all())


def _misleads_the_rest(arguments: dict[str, Any], offset: int) -> bool:
    """Whether the offset whose loss leaves the largest output is another one."""
    names = ("query", "key", "value")
    query, key, value = (arguments[name].astype(np.float64) for name in names)
    length = len(query)
    past = np.tri(length, dtype=bool)
    left = [
        np.square(attended(query, key, value, past & ~np.eye(length, k=-hidden, dtype=bool))[0])
        for hidden in range(1, arguments["max_offset"] + 1)
    ]
    return bool(np.argmax([each.sum() for each in left]) != offset - 1)


def _misleads_a_mean(arguments: dict[str, Any], offset: int) -> bool:
    """Whether a mean over only the queries that have such a key chooses another offset."""
    damage = offset_damage(arguments)
    mean = damage / (len(arguments["query"]) - np.arange(1, len(damage) + 1))
    return bool(mean.argmax() != offset - 1)


def needed_offset_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of needed_offset: heads that look back by a known number of tokens."""
    plans = [
        ("sharp", 6, 1, 3, "float32"),
        ("sharp", 8, 2, 4, "float64"),
        ("sharp", 9, 3, 5, "float32"),
        ("sharp", 7, 4, 4, "float32"),
        ("sharp", 10, 1, 6, "float64"),
        ("spare", 12, 1, 4, "float32"),
        ("spare", 14, 1, 3, "float64"),
        ("spare", 13, 3, 5, "float32"),
        ("spare", 11, 2, 3, "float64"),
        ("spare", 15, 5, 6, "float32"),
        ("spare", 12, 4, 5, "float32"),
        ("sharp", 5, 1, 1, "float32"),
        ("sharp", 11, 5, 7, "float32"),
        ("spare", 16, 1, 7, "float64"),
        ("last", 9, 1, 3, "float32"),
        ("last", 11, 2, 4, "float64"),
        ("echo", 10, 2, 4, "float32"),
        ("echo", 13, 3, 5, "float64"),
        ("few", 7, 1, 5, "float32"),
        ("few", 9, 2, 7, "float64"),
        ("sharp", 68, 3, 5, "float32"),
        ("behind", 9, 1, 4, "float32"),
        ("behind", 11, 2, 4, "float64"),
    ]
    cases = []
    for plan in plans:
        case = _offset_case(rng, *plan)
        misleads = {"few": _misleads_a_mean, "last": _misleads_the_rest}.get(plan[0])
        while not is_clear(case.arguments, plan[2]) or (
            misleads and not misleads(case.arguments, plan[2])
        ):
            case = _offset_case(rng, *plan)
        cases.append(case)
    asked_again(cases, cases[5])
    return cases


# --- find_the_bug ----------------------------------------------------------------------------


def _letters_case(rng: np.random.Generator, ids: list[int], dtype: str) -> Case:
    """Make a case: the start, and then these letters."""
    size = max(ids) + 1
    letters = np.vstack([np.zeros((1, size)), np.eye(size)[ids]]).astype(dtype)
    written = " ".join("abcdefghijkl"[each] for each in ids)
    if len(ids) > LONG_TEXT:
        written = f"{len(ids)} letters"
    return _case({"letters": letters}, dtype, written)


def find_the_bug_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of find_the_bug: the same text twice, and letters at random, each more than once."""

    def twice(count: int) -> list[int]:
        once = [int(each) for each in rng.permutation(count)]
        return once + once

    def shuffled(count: int) -> list[int]:
        return [int(each) for each in rng.permutation(twice(count))]

    plans = [
        ([0, 2, 1, 0], "float32"),
        ([0, 1, 0, 1, 2, 0], "float64"),
        (twice(3), "float32"),
        (twice(4), "float64"),
        (twice(5)[:-2], "float32"),
        (twice(6), "float32"),
        (shuffled(4), "float32"),
        (shuffled(5), "float64"),
        (shuffled(6), "float32"),
        (shuffled(8), "float32"),
        ([*shuffled(4), *twice(5)], "float32"),
        (twice(9), "float64"),
        ([*shuffled(12), *shuffled(12), *shuffled(12)], "float32"),
        (twice(5), "float16"),
    ]
    cases = [_letters_case(rng, ids, dtype) for ids, dtype in plans]
    asked_again(cases, cases[2])
    return cases
