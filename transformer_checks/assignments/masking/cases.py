"""Makes the cases of the assignment "masking".

Padding stands at the end, in front, in the middle and nowhere, and its id is rarely 0: code that
is right on the first batch of a tutorial is wrong on another.
A batch on the device "meta" has shapes and no numbers. It stands in for one on a GPU: what is made
on the default device cannot meet it.
Models that are tested for leaks are made by hand: what each output depends on follows from their
masks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from transformer_checks.assignments.attention.cases import (
    LEAK,
    LOWEST,
    Sizes,
    draw_sizes,
    make_mask,
    scattered,
)
from transformer_checks.assignments.shared_cases import (
    asked_again,
    described,
    different_sizes,
    elsewhere,
    followed,
    normal,
    plain_case,
    with_gradients,
)
from transformer_checks.running.asking import describe
from transformer_checks.task import SAID, Case, Made, Maker

HALF = {"float16": (5e-3, 2e-3), "bfloat16": (3e-2, 1e-2)}
FULL = {"float32": (2e-5, 2e-5), "float64": (1e-5, 1e-5)}

# Ids with at most so many numbers are shown in the name of their case.
SHOWN_IDS = 12
# How far a row of scores is moved up or down, by dtype: exp() of it is too large, or 0.
FAR = {"float32": 300.0, "float64": 2000.0, "float16": 40.0}


# --- cases: ids ------------------------------------------------------------------------------


def draw_ids(
    rng: np.random.Generator, shape: tuple[int, int], pad_id: int, where: str
) -> np.ndarray:
    """Draw a padded batch.

    Args:
        rng: the source.
        shape: (B, S).
        pad_id: the id of padding.
        where: "end", "front", "both", "inside", "none", "empty" (at the end, and one row is
            padding only).

    Returns:
        (B, S) int64. Each row has a token at least, but one of "empty"; ids below `pad_id`
        and, if that is not `pad_id`, the id 0 are among the tokens.
    """
    batch, length = shape
    others = np.setdiff1d(np.arange(pad_id + 9), [pad_id])
    ids = rng.choice(others, size=shape)
    counts = rng.permutation(np.arange(batch) % max(1, length - 1)) + 1  # of padding in each row
    places = np.arange(length)
    for row, count in enumerate(counts):
        middle = 1 + int(rng.integers(0, max(1, length - count - 1)))
        hidden = {
            "end": places >= length - count,
            "empty": places >= length - count,
            "front": places < count,
            "both": (places < count - count // 2) | (places >= length - count // 2),
            "inside": (places >= middle) & (places < middle + count) & (places < length - 1),
            "none": places < 0,
        }[where]
        if length > 1:
            ids[row, np.flatnonzero(~hidden)[0]] = 0 if pad_id else 1
            ids[row, hidden] = pad_id
    if where == "empty":
        ids[rng.integers(batch)] = pad_id
    return ids.astype(np.int64)


def _draw_shape(rng: np.random.Generator, **fixed: int) -> tuple[int, int]:
    """Draw (B, S), different, with several places to hide."""
    batch, length = int(rng.integers(2, 5)), int(rng.integers(6, 11))
    return fixed.get("batch", batch), fixed.get("length", length)


def _ids_case(ids: np.ndarray, pad_id: int) -> Case:
    arguments = {"ids": ids, "pad_id": pad_id}
    shape, pad = described(arguments)
    shown = f" = {ids.tolist()}" if ids.size <= SHOWN_IDS else ""
    return Case(f"{shape}{shown}, {pad}", arguments)


def ids_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of padding_mask and target_mask: where padding stands, and what its id is."""
    high = different_sizes(rng, 2, 8)

    def drawn(where: str, pad_id: int, **fixed: int) -> Case:
        return _ids_case(draw_ids(rng, _draw_shape(rng, **fixed), pad_id, where), pad_id)

    last = np.where(rng.permutation(3) == 0, high[6], high[5])[:, None].astype(np.int64)
    cases = [
        _ids_case(draw_ids(rng, (2, 4), 0, "end"), 0),
        _ids_case(draw_ids(rng, (2, 3), 1, "end"), 1),
        *(drawn("end", 0), drawn("end", high[0]), drawn("front", high[1])),
        *(drawn("both", high[2]), drawn("inside", high[3]), drawn("none", high[4])),
        *(drawn("empty", 0), drawn("end", 1, batch=1), _ids_case(last, high[6])),
        drawn("end", high[5], batch=5, length=5),
        drawn("front", 0, batch=7, length=4),
    ]
    asked_again(cases, cases[3])
    # Beyond what a buffer holds, and with an id that Python has no single object for.
    cases.append(drawn("end", 300, batch=2, length=70))
    cases.append(elsewhere(drawn("end", high[0], batch=3)))
    return cases


def causal_mask_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of causal_mask: lengths, and the device left out, None, named, and another one."""
    drawn = different_sizes(rng, 6, 29)
    cases = [plain_case(length=length) for length in (3, 2, 4, 1, 5, *drawn[:3], 64)]
    cases += [plain_case(length=drawn[3], device=None), plain_case(length=drawn[4], device="cpu")]
    cases += [plain_case(length=length, device="meta") for length in (4, drawn[5], drawn[6])]
    asked_again(cases, cases[5])
    cases.append(plain_case(length=70))
    return cases


# --- cases: scores ---------------------------------------------------------------------------


def _emptied(rng: np.random.Generator, mask: np.ndarray) -> np.ndarray:
    """Hide everything from one row of each sequence, or everything in one sequence."""
    mask = mask.copy()
    if mask.shape[-2] == 1:
        mask[rng.integers(mask.shape[0])] = False
    else:
        mask[..., rng.integers(mask.shape[-2]), :] = False
    return mask


def _scores_case(
    rng: np.random.Generator, kind: str, axes: int = 2, dtype: str = "float32", **options: Any
) -> Case:
    """Make a case of masked_softmax.

    Args:
        rng: the source.
        kind: of the mask, as for ``make_mask`` of the assignment "attention"; "all" hides nothing.
        axes: leading axes of the scores, 0, 1 or 2.
        dtype: of the scores; bfloat16 too.
        options: `sizes`, `layout`, `empty` (rows that may see nothing), `far` (rows of scores that
            are far from 0, all in one direction).

    Returns:
        the case.
    """
    sizes: Sizes = options.get("sizes") or draw_sizes(rng)
    mask = make_mask(rng, "target" if kind == "all" else kind, sizes, axes)
    assert mask is not None
    mask = mask | (kind == "all")
    if options.get("empty"):
        mask = _emptied(rng, mask)
    shape = (*(sizes.batch, sizes.heads)[:axes], sizes.queries, sizes.keys)
    scores = 2.0 * normal(rng, shape, "float64")
    if options.get("far"):
        scores += FAR[dtype] * (1 - 2 * (np.arange(sizes.queries) % 2))[:, None]
    stored = "float32" if dtype == "bfloat16" else dtype
    arguments = {"scores": scores.astype(stored), "mask": mask}
    layout = options.get("layout", "contiguous")
    parts = [*described(arguments), dtype, *["not contiguous"] * (layout != "contiguous")]
    parts += ["rows that may see nothing"] * bool(options.get("empty"))
    parts += ["scores far from 0"] * bool(options.get("far"))
    precision = dtype if dtype != stored else ""
    return Case(", ".join(parts), arguments, layout=layout, precision=precision)


def masked_softmax_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of masked_softmax: masks that broadcast, four dtypes, empty rows, far scores."""
    sizes = draw_sizes(rng)
    plan: list[tuple[str, int, str, dict[str, Any]]] = [
        *(("square", 0, "float32", {}), ("square", 1, "float64", {})),
        *(("padding", 2, "float32", {}), ("causal", 2, "float32", {})),
        *(("target", 2, "float64", {}), ("all", 2, "float32", {})),
        ("target", 2, "float32", {"layout": "strided"}),
        ("target", 2, "float32", {"sizes": replace(sizes, queries=sizes.keys)}),
        ("heads", 2, "float32", {}),
        ("target", 2, "float32", {"sizes": replace(sizes, batch=1, heads=1, queries=1)}),
        *(("padding", 2, "float16", {}), ("square", 1, "bfloat16", {})),
        *(("square", 0, "float32", {"empty": True}), ("padding", 2, "float32", {"empty": True})),
        *(("target", 2, "float64", {"empty": True}), ("target", 2, "float16", {"empty": True})),
        *(("padding", 2, "float16", {"empty": True}), ("square", 1, "bfloat16", {"empty": True})),
        *(("square", 1, "float32", {"far": True}), ("target", 2, "float16", {"far": True})),
    ]
    cases = [_scores_case(rng, kind, axes, dtype, **more) for kind, axes, dtype, more in plan]
    for number in (2, 7):
        followed(cases, cases[number], _loud(cases[number]), "hidden scores changed", LEAK)
    asked_again(cases, cases[4])
    for kind, dtype, empty in (
        ("target", "float64", False),
        ("padding", "float32", True),
        ("target", "float16", True),
    ):
        case = _scores_case(rng, kind, 2, dtype, empty=empty)
        cases.append(with_gradients(case, rng, case.arguments["scores"].shape))
    cases += [_two_low_scores(), *(_low_case(rng, dtype) for dtype in (*FULL, *HALF))]
    cases += [_ends_case(rng, dtype) for dtype in (*FULL, *HALF)]
    long = replace(sizes, batch=1, heads=2, queries=3, keys=70)
    cases.append(_scores_case(rng, "target", sizes=long))
    return cases


def _ends_case(rng: np.random.Generator, dtype: str) -> Case:
    """Make a case of masked_softmax with scores at both ends: some are seen, the largest never.

    Only float64 can tell close scores apart there: elsewhere they are whole steps of bfloat16.
    """
    sizes = draw_sizes(rng)
    shape = (sizes.batch, sizes.queries, sizes.keys)
    mask = scattered(rng, shape)
    step = 128.0
    low = LOWEST + 48.0 + step * rng.permuted(np.indices(shape)[-1], axis=-1)
    if dtype == "float64":
        low = LOWEST + 4.0 * rng.random(shape)
    hidden = np.where(rng.random(shape) < 0.5, -LOWEST, 0.0)
    stored = "float32" if dtype == "bfloat16" else dtype
    arguments = {"scores": np.where(mask, low, hidden).astype(stored), "mask": mask}
    parts = [*described(arguments), dtype, f"seen from {LOWEST:,.0f}, hidden up to {-LOWEST:,.0f}"]
    return Case(", ".join(parts), arguments, precision=dtype if dtype != stored else "")


def _low_case(rng: np.random.Generator, dtype: str) -> Case:
    """Make a case of masked_softmax where a row sees one key, whose score is as low as it gets."""
    sizes = draw_sizes(rng)
    scores = 2.0 * normal(rng, (sizes.batch, sizes.queries, sizes.keys), "float64")
    mask = np.arange(sizes.keys) == rng.integers(sizes.keys, size=(*scores.shape[:-1], 1))
    stored = "float32" if dtype == "bfloat16" else dtype
    arguments = {"scores": np.where(mask, LOWEST, scores).astype(stored), "mask": mask}
    parts = [*described(arguments), dtype, f"what may be seen has the score {LOWEST:,.0f}"]
    return Case(", ".join(parts), arguments, precision=dtype if dtype != stored else "")


def _two_low_scores() -> Case:
    arguments = {
        "scores": np.array([[-2000.0, -1999.0, 0.0]]),
        "mask": np.array([[True, True, False]]),
    }
    said = "scores [-2000, -1999, 0], mask [True, True, False], float64"
    return Case(said, arguments)


def _loud(case: Case) -> dict[str, Any]:
    """Make the hidden scores large, so that a share of theirs shows."""
    scores, mask = case.arguments["scores"], case.arguments["mask"]
    return {"scores": np.where(mask, scores, 500.0).astype(scores.dtype)}


# --- cases: attention ------------------------------------------------------------------------


def _sequences(rng: np.random.Generator, sizes: Sizes, dtype: str) -> dict[str, Any]:
    leading = (sizes.batch, sizes.heads)
    return {
        "query": normal(rng, (*leading, sizes.queries, sizes.head_size), dtype),
        "key": normal(rng, (*leading, sizes.keys, sizes.head_size), dtype),
        "value": normal(rng, (*leading, sizes.keys, sizes.value_size), dtype),
    }


def _named(arguments: dict[str, Any], dtype: str, layout: str, *more: str) -> str:
    parts = [*described(arguments), dtype, *["not contiguous"] * (layout != "contiguous"), *more]
    return ", ".join(parts)


def find_the_bug_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of causal_attention: a batch with padding, and one on another device.

    The code as found fails in all of them.
    """

    def drawn(where: str, dtype: str = "float32", **options: Any) -> Case:
        sizes = draw_sizes(rng, keys=options.get("length", int(rng.integers(6, 10))))
        sizes = replace(sizes, queries=sizes.keys, batch=options.get("batch", sizes.batch))
        pad_id = options.get("pad_id", int(rng.integers(0, 7)))
        layout, device = options.get("layout", "contiguous"), options.get("device", "cpu")
        ids = draw_ids(rng, (sizes.batch, sizes.keys), pad_id, where)
        arguments = {**_sequences(rng, sizes, dtype), "ids": ids, "pad_id": pad_id}
        said = {
            "none": "no padding",
            "empty": "padding at the end, and one row has nothing else",
        }.get(where, f"padding {'at the ' if where == 'end' else ''}{where}")
        on = [f'on the device "{device}"'] * (device != "cpu")
        name = _named(arguments, dtype, layout, said, *on)
        return Case(name, arguments, layout=layout, device=device)

    cases = [
        *(drawn("end", length=4, pad_id=0), drawn("front"), drawn("end", pad_id=3)),
        *(drawn("end", "float64"), drawn("front", pad_id=2), drawn("inside", "float64", pad_id=5)),
        *(drawn("empty"), drawn("both", layout="strided", pad_id=1)),
        drawn("front", batch=1, pad_id=7),
        *(drawn("end", device="meta"), drawn("none", device="meta"), drawn("front", device="meta")),
    ]
    followed(cases, cases[2], _behind_padding(cases[2]), "keys of padding changed", LEAK)
    asked_again(cases, cases[3])
    for where, dtype in (("end", "float32"), ("front", "float64")):
        case = drawn(where, dtype)
        cases.append(with_gradients(case, rng, case.arguments["value"].shape))
    cases.append(drawn("end", length=66, pad_id=300, batch=1))
    cases.append(drawn("front", "float16"))
    return cases


def _behind_padding(case: Case) -> dict[str, Any]:
    """Give the keys and values of padding another content, and a loud one."""
    hidden = (case.arguments["ids"] == case.arguments["pad_id"])[:, None, :, None]
    changed = {}
    for name, loudness in (("key", -1.5), ("value", 1000.0)):
        old = case.arguments[name]
        changed[name] = np.where(hidden, loudness * old, old).astype(old.dtype)
    return changed


# --- cases: packed documents -----------------------------------------------------------------


def _packed_row(rng: np.random.Generator, length: int, where: str, numbers: list[int]) -> list[int]:
    """Draw a row of documents with padding at the "end", in "front", "between" or nowhere."""
    padding = 0 if where == "none" else int(rng.integers(1, 4))
    first = int(rng.integers(1, min(4, length - padding)))
    parts, left = [[numbers[0]] * first], length - padding - first
    while left:
        size = left if len(parts) == len(numbers) - 1 else min(left, int(rng.integers(1, 5)))
        parts.append([numbers[len(parts)]] * size)
        left -= size
    place = {"front": 0, "between": int(rng.integers(1, len(parts)))}.get(where, len(parts))
    parts.insert(place, [0] * padding)
    return [number for part in parts for number in part]


def _packed_case(rows: list[list[int]] | np.ndarray) -> Case:
    documents = np.array(rows, dtype=np.int64)
    shown = f" = {documents.tolist()}" if documents.size <= SHOWN_IDS else ""
    return Case(f"documents {documents.shape}{shown}", {"documents": documents})


def packed_inputs_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of packed_inputs: where padding is, and the numbers and sizes of the documents."""

    def drawn(where: str, order: int = 0, above: int = 0, **fixed: int) -> Case:
        batch, length = _draw_shape(rng, **fixed)
        rows = []
        for _ in range(batch):
            numbers = [above + int(each) for each in rng.permutation(np.arange(1, 12))]
            numbers = sorted(numbers, reverse=order < 0) if order else numbers
            rows.append(_packed_row(rng, length, where, numbers))
        return _packed_case(rows)

    shape = _draw_shape(rng)
    apart = np.stack([rng.permutation(np.arange(1, shape[1] + 1)) for _ in range(shape[0])])
    empty = drawn("end").arguments["documents"]
    empty[rng.integers(len(empty))] = 0
    cases = [
        *(drawn("end", batch=1, length=6), drawn("none", batch=2, length=5)),
        *(drawn("end"), drawn("front"), drawn("between"), drawn("none")),
        *(drawn("end", 1), drawn("none", -1), drawn("between", -1), drawn("front", 1)),
        _packed_case(rng.permutation(np.arange(1, 12))[: shape[0], None].repeat(shape[1], axis=1)),
        *(_packed_case(apart), _packed_case(empty), drawn("between", batch=7, length=7)),
    ]
    asked_again(cases, cases[3])
    cases += [drawn("end", above=300), drawn("between", batch=2, length=70)]
    cases.append(elsewhere(drawn("between")))
    return cases


# --- masks that are wrong somewhere ----------------------------------------------------------


def _past(real: np.ndarray, ahead: int = 0) -> np.ndarray:
    """Return who comes before whom, (T, T), or up to some places after."""
    return np.tri(len(real), k=ahead, dtype=bool)


def _in_front(real: np.ndarray) -> np.ndarray:
    """Say which places come after the first token, or are it."""
    return np.cumsum(real) > 0


# From what is no padding, (T,), and a number to the mask (T, T), by what a student reads of it.
RULES: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "is a decoder's": lambda real, n: _past(real) & real,
    "hides padding as a query": lambda real, n: _past(real) & real[:, None],
    "hides padding as a key and as a query": lambda real, n: _past(real) & real & real[:, None],
    "shows everything to padding": lambda real, n: _past(real) & real | ~real[:, None],
    "shows {n} places too many": lambda real, n: _past(real, n) & real,
    "hides each place from itself": lambda real, n: _past(real, -1) & real,
    "does not hide padding": lambda real, n: _past(real),
    "does not hide what comes later": lambda real, n: real & np.ones((len(real), 1), dtype=bool),
    "hides everything": lambda real, n: _past(real) & False,
    "shows the last {n} places": lambda real, n: _past(real) & ~_past(real, -n) & real,
    "hides padding only in front of the first token": (
        lambda real, n: _past(real) & _in_front(real)
    ),
    "hides the first {n} paddings": (lambda real, n: _past(real) & (real | (np.cumsum(~real) > n))),
    "hides nothing in a row without padding": (lambda real, n: (_past(real) | real.all()) & real),
    "does not hide what comes later in a row with padding": (
        lambda real, n: (_past(real) | ~real.all()) & real
    ),
    "shows everything to the places from {n} on": (
        lambda real, n: (_past(real) | (np.arange(len(real)) >= n)[:, None]) & real
    ),
    "shows the first {n} places to all": (
        lambda real, n: (_past(real) | (np.arange(len(real)) < n)) & real
    ),
    "does not hide what comes later in a row of at most {n} places": (
        lambda real, n: (_past(real) | (len(real) <= n)) & real
    ),
    "hides place {n} from the places after it": (
        lambda real, n: _past(real) & real & (np.eye(len(real)) + (np.arange(len(real)) != n) > 0)
    ),
    "is a decoder's up to {n} tokens, and hides padding no more with more": (
        lambda real, n: _past(real) & (real | (real.sum() > n))
    ),
}


def failing(case: Case, row: Sequence[int]) -> np.ndarray:
    """Return the places (t, s), N of them as (N, 2), at which a row fails for a token t."""
    real, description = np.array(row) == 1, case.arguments["make_mask"]
    wrong = RULES[description["rule"]](real, description["n"]) != (_past(real) & real)
    return np.argwhere(wrong & real[:, None])


def _make_mask(name: str, case: Case, earlier: Mapping[str, Any]) -> Made:
    description = case.arguments[name]
    rule, number = RULES[description["rule"]], description["n"]

    def make_mask(ids: Tensor, pad_id: int) -> Tensor:
        if not isinstance(ids, Tensor) or ids.ndim != 2 or ids.dtype != torch.int64:
            raise ValueError(f"{name} takes ids (B, T) int64, received {describe(ids)}")
        masks = [rule(row, number) for row in (ids != pad_id).numpy()]
        return torch.from_numpy(np.stack(masks))[:, None]

    return Made(make_mask)


MASK = Maker(_make_mask)


def shortest_failure_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of shortest_failure: each rule, and rows that are too short to fail."""

    def drawn(rule: str, longest: int, n: int = 0) -> Case:
        description = {SAID: f"a mask that {rule.format(n=n)}", "rule": rule, "n": n}
        return plain_case(make_mask=description, longest=longest)

    two, three = (int(rng.integers(low, low + 2)) for low in (2, 3))
    plan = {
        "shows {n} places too many": [(5, 1), (1, 1), (2, two)],
        "shows the last {n} places": [(three + 2, three), (three, three), (3, 2)],
        "hides the first {n} paddings": [(two + 2, two), (two + 1, two)],
        "shows everything to the places from {n} on": [(three + 2, three), (4, 2)],
        "shows the first {n} places to all": [(4, two)],
        "does not hide what comes later in a row of at most {n} places": [(5, 3), (two + 3, two)],
        "hides place {n} from the places after it": [(three + 3, three), (two + 2, two)],
        "is a decoder's up to {n} tokens, and hides padding no more with more": [(8, 6)],
    }
    cases = [drawn(rule, int(rng.integers(4, 7))) for rule in RULES if rule not in plan]
    cases += [drawn(rule, *numbers) for rule, asked in plan.items() for numbers in asked]
    asked_again(cases, cases[1])
    return cases


# --- models that are tested for leaks --------------------------------------------------------

ONE_LEAK = "a mask that is causal but for one place"
# How a layer mixes tokens: evenly over what its mask shows; by a softmax with the mask behind it,
# whose rows then sum to less; the same with the rows put right; evenly, and the mean of all tokens
# is added to each.
# Not a layer: a number falls a little for each token that is another one than in the case.
EVEN, AFTER, RENORMALISED, ADDED = "even", "after", "renormalised", "added"
FALLS = "falls"
SAID_OF = {
    EVEN: "",
    AFTER: ", applied after the softmax",
    RENORMALISED: ", applied after the softmax, and the rows divided by their sums",
    ADDED: ", and the mean of all tokens added to each",
    FALLS: ", of whose outputs one number near 200 falls by 0.0003 when a token is changed",
}
# Where the tokens are normed: before the layers, which then cannot see what all features of a token
# share; behind them, where the features of an output then sum to 0.
BEFORE, BEHIND = "before", "behind"
# What a model with few features does with two of them, and leaves all others alone.
READS, WRITES, ENDS = "reads", "writes", "writes the first and the last"
# Each layer makes what it has found louder: behind three of them it is still no rounding.
GAIN = 2.0
# More than 0.0001, but less than a thousandth, and than 0.00001 of the output.
FALL, HEIGHT = 3e-4, 200.0


def depends(description: Mapping[str, Any]) -> np.ndarray:
    """Say what each output of a model depends on, from how the model is made.

    Args:
        description: of the model.

    Returns:
        (T, T) bool: row t is True in the columns of the tokens that output t depends on. Through
        layers it is the product of their masks; a row's sum over all keys, or a mean of all tokens,
        shows everything.
    """
    masks = description["masks"]
    if description["how"] in (AFTER, ADDED):
        return np.ones_like(masks[0])
    seen = np.eye(masks.shape[-1], dtype=np.int64)
    for mask in masks:
        seen = mask @ seen
    return seen > 0


def _mixed(hidden: Tensor, mask: Tensor, how: str, look: Tensor) -> Tensor:
    """Give each place a weighted sum of the tokens, as one layer does."""
    if how in (EVEN, ADDED):
        mean = hidden.mean(dim=1, keepdim=True) if how == ADDED else 0.0
        return mask @ hidden / mask.sum(dim=-1, keepdim=True).clamp(min=1.0) + mean
    scores = hidden @ look @ hidden.transpose(-2, -1)
    weights = scores.softmax(dim=-1) * mask
    if how == RENORMALISED:
        weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ hidden


def _make_model(name: str, case: Case, earlier: Mapping[str, Any]) -> Made:
    description = case.arguments[name]
    look, turn = torch.from_numpy(description["look"]), torch.from_numpy(description["turn"])
    masks = torch.from_numpy(description["masks"]).to(turn.dtype)
    length, d_model = masks.shape[-1], len(turn)
    start = torch.from_numpy(case.arguments["x"])

    def normed(where: str, hidden: Tensor) -> Tensor:
        if description["norm"] != where:
            return hidden
        # Almost nothing is added to the variance: a token twice as large gives the same.
        return F.layer_norm(hidden, (d_model,), eps=1e-9)

    def model(x: Tensor) -> Tensor:
        if not isinstance(x, Tensor) or x.ndim != 3 or x.shape[1:] != (length, d_model):
            raise ValueError(f"{name} takes (B, {length}, {d_model}), received {describe(x)}")
        hidden = normed(BEFORE, x.to(turn.dtype))
        if description["how"] == FALLS:
            away = (hidden - start + 1e-3).abs().mean(dim=-1, keepdim=True)
            return HEIGHT - FALL * F.pad(masks @ torch.tanh(50.0 * away), (0, d_model - 1))
        for mask in masks:
            hidden = _mixed(hidden, mask, description["how"], look) @ turn
        return normed(BEHIND, hidden)

    return Made(model)


MODEL = Maker(_make_model)


def _turn(rng: np.random.Generator, d_model: int, narrow: str) -> np.ndarray:
    """Draw a rotation of the features, or a matrix that reads or writes but two of them."""
    if not narrow:
        return np.linalg.qr(rng.standard_normal((d_model, d_model)))[0]
    turn, two = np.zeros((d_model, d_model)), [0, -1] if narrow == ENDS else [1, 2]
    place = (two, slice(None)) if narrow == READS else (slice(None), two)
    # All of one sign: where every token gets smaller, so does all that is written.
    turn[place] = rng.uniform(0.2, 0.6, turn[place].shape)
    return turn


def _masks_by_name(rng: np.random.Generator, length: int) -> dict[str, np.ndarray]:
    """Make the masks of a layer, (T, T), which are named as a student reads it."""
    queries, keys = np.ogrid[:length, :length]
    ahead = keys - queries
    leaks_to, prefix = int(rng.integers(3, max(4, length - 1))), int(rng.integers(3, 5))
    return {
        "a causal mask": ahead <= 0,
        "a mask one too far": ahead <= 1,
        "a mask two too far": ahead <= 2,
        "a mask of the past without the token itself": ahead < 0,
        "a mask of the future": ahead >= 0,
        "no mask": ahead < length,
        "a mask that hides everything": ahead > length,
        "a mask of some tokens": rng.random((length, length)) < 0.4,
        ONE_LEAK: (ahead <= 0) | ((queries == 1) & (keys == leaks_to)),
        "a mask of the token itself and the one two later": (ahead == 0) | (ahead == 2),
        "a mask that lets the first tokens see each other": (ahead <= 0) | (keys < prefix),
    }


def _model_case(
    rng: np.random.Generator, kind: str, layers: int = 1, how: str = EVEN, **options: Any
) -> Case:
    """Make a case of a model of these layers and an x.

    Args:
        rng: the source.
        kind: of the mask, a key of ``_masks_by_name``; all layers have the same.
        layers: how many.
        how: the layers mix the tokens.
        options: `batch`, `length`, `dtype`, `layout`; `norm` and `narrow`, as above; `empty` (the
            first token that leaks is zeros), `still` (the first sequence is, where scores are 0
            then and a softmax hides what they depend on), `high` (all numbers are).

    Returns:
        the case.
    """
    dtype, layout = options.get("dtype", "float32"), options.get("layout", "contiguous")
    drawn, d_model = different_sizes(rng, 5, 8, 2)
    batch, length = options.get("batch", int(rng.integers(2, 5))), options.get("length", drawn)
    mask = _masks_by_name(rng, length)[kind]
    norm, narrow, empty = (options.get(name, "") for name in ("norm", "narrow", "empty"))
    said = [f"{layers} layer{'s' * (layers > 1)} with {kind}{SAID_OF[how]}"]
    said += [f"a norm {norm} {'it' if layers == 1 else 'them'}"] * bool(norm)
    said += [f"it {narrow}{' only' if narrow == ENDS else ' two features only'}"] * bool(narrow)
    look = rng.standard_normal((d_model, d_model)) / d_model
    turn = GAIN * _turn(rng, d_model, narrow)
    x = normal(rng, (batch, length, d_model), dtype) + 4.0 * options.get("high", False)
    if empty:
        x[:, np.argwhere(np.triu(mask, 1))[0][1]] = 0.0
    x[:1] *= not options.get("still", False)
    arguments = {
        "model": {
            SAID: ", ".join(said),
            "how": how,
            "masks": np.stack([mask] * layers),
            "look": look.astype(dtype),
            "turn": turn.astype(dtype),
            "norm": norm,
        },
        "x": x.astype(dtype),
    }
    more = ["one token of zeros"] * bool(empty)
    more += ["a sequence of zeros"] * options.get("still", False)
    return Case(_named(arguments, dtype, layout, *more), arguments, layout=layout)


def how_far_ahead_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of how_far_ahead: what each output depends on is known."""
    causal, too_far, itself = "a causal mask", "a mask one too far", "a mask of the token itself"
    plan: list[tuple[str, int, str, dict[str, Any]]] = [
        *((causal, 1, EVEN, {}), (too_far, 1, EVEN, {"dtype": "float64"})),
        *((too_far, 2, EVEN, {}), (too_far, 3, EVEN, {"layout": "strided"})),
        *(
            (causal, 1, AFTER, {"batch": 4, "still": True}),
            (causal, 1, RENORMALISED, {}),
            (causal, 1, ADDED, {}),
        ),
        (causal, 1, RENORMALISED, {"dtype": "float64"}),
        *((ONE_LEAK, 1, EVEN, {"dtype": "float64"}), (ONE_LEAK, 1, EVEN, {"empty": True})),
        ("a mask of the past without the token itself", 1, EVEN, {"layout": "strided"}),
        *(("a mask of the future", 1, EVEN, {}), ("no mask", 1, EVEN, {"dtype": "float64"})),
        ("a mask that hides everything", 1, EVEN, {}),
        *(("a mask of some tokens", 1, EVEN, {}), ("a mask of some tokens", 2, EVEN, {})),
        (f"{itself} and the one two later", 2, EVEN, {"dtype": "float64"}),
        ("a mask that lets the first tokens see each other", 1, EVEN, {"narrow": READS}),
        *((too_far, 1, EVEN, {"narrow": WRITES}), (too_far, 1, EVEN, {"narrow": ENDS})),
        ("a mask two too far", 1, EVEN, {"narrow": WRITES, "high": True, "batch": 1}),
        *((too_far, 2, EVEN, {"norm": BEFORE}), (too_far, 1, EVEN, {"norm": BEHIND})),
        *((too_far, 1, EVEN, {"batch": 1}), (causal, 1, EVEN, {"length": 1})),
    ]
    # A fall is seen in a single sequence only: a model does not know which one of several it gets.
    more: list[tuple[str, int, str, dict[str, Any]]] = [
        (too_far, 1, FALLS, {"batch": 1, "dtype": "float64"}),
        ("a mask two too far", 1, EVEN, {"batch": 1, "length": 66}),
    ]
    cases = [_model_case(rng, kind, layers, how, **options) for kind, layers, how, options in plan]
    asked_again(cases, cases[2])
    cases += [_model_case(rng, kind, layers, how, **options) for kind, layers, how, options in more]
    return cases
