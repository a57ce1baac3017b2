"""Makes the cases of the assignment "attention"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import torch
from torch import Tensor

from transformer_checks.assignments import made_arguments
from transformer_checks.assignments.shared_cases import (
    asked_again,
    described,
    different_sizes,
    followed,
    normal,
    plain_case,
    with_gradients,
)
from transformer_checks.running.asking import ReturnedError, type_and_size
from transformer_checks.task import Arrays, Case
from transformer_checks.translation import later
from transformer_ref import attention as reference

LEAK = later(
    "the result changes when a key that the mask hides gets another content: hidden keys still "
    "have weight. Look at what their scores are when the softmax sees them"
)

# --- sizes and numbers -----------------------------------------------------------------------


@dataclass(frozen=True)
class Sizes:
    """Sizes of one case, all different unless said, so that a wrong axis shows."""

    batch: int
    heads: int
    queries: int
    keys: int
    head_size: int
    value_size: int

    @property
    def d_model(self) -> int:
        """D = H * K."""
        return self.heads * self.head_size


def draw_sizes(rng: np.random.Generator, **fixed: int) -> Sizes:
    """Draw six different sizes from 2 to 8, with fewer queries than keys.

    Args:
        rng: the source.
        fixed: sizes that are given.

    Returns:
        the sizes.
    """
    batch, heads, head_size, value_size, *lengths = different_sizes(rng, 2, 8, 6)
    drawn = Sizes(batch, heads, min(lengths), max(lengths), head_size, value_size)
    return replace(drawn, **fixed)


def padding(rng: np.random.Generator, sizes: Sizes) -> np.ndarray:
    """(B, S): True for the first tokens of each sequence; at least two are seen, one is hidden.

    A query that sees a single key gives it all its weight, whatever the scale is.
    """
    lengths = rng.integers(2, sizes.keys, size=(sizes.batch, 1))
    return np.arange(sizes.keys) < lengths


def causal(sizes: Sizes) -> np.ndarray:
    """(T, S): query t sees keys 0..t."""
    return np.tril(np.ones((sizes.queries, sizes.keys), dtype=bool))


def scattered(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """At random, each row with at least one seen and one hidden."""
    mask = rng.random(shape) < 0.5
    order = rng.random(shape).argsort(axis=-1)
    np.put_along_axis(mask, order[..., :1], True, axis=-1)
    np.put_along_axis(mask, order[..., 1:2], False, axis=-1)
    return mask


def make_mask(rng: np.random.Generator, kind: str, sizes: Sizes, axes: int) -> np.ndarray | None:
    """Make a mask for scores with `axes` leading axes.

    Args:
        rng: the source.
        kind: "padding" (B,1,1,S), "causal" (1,1,T,S), "square" (T,S), "target" (B,1,T,S), "heads"
            (B,H,T,S), "none".
        sizes: the case's.
        axes: 0, 1 or 2; with fewer than 2 the mask loses its head axis, then its batch axis.

    Returns:
        a boolean array; every query sees at least one key.
    """
    if kind == "none":
        return None
    if kind == "square":
        return scattered(rng, (sizes.queries, sizes.keys))
    if kind == "heads":
        return scattered(rng, (*(sizes.batch, sizes.heads)[:axes], sizes.queries, sizes.keys))
    if kind == "padding":
        mask = padding(rng, sizes)[:, None, None, :]
    elif kind == "causal":
        mask = causal(sizes)[None, None]
    else:
        mask = scattered(rng, (sizes.batch, 1, sizes.queries, sizes.keys))
    return mask.reshape([mask.shape[0]] * min(axes, 1) + [1] * (axes - 1) + list(mask.shape[2:]))


def label(arguments: dict[str, Any], dtype: str, layout: str = "contiguous") -> str:
    """Describe a case by its arguments."""
    parts = described(arguments)
    if "mask" not in arguments and "value" in arguments:
        parts.append("no mask")
    return ", ".join([*parts, dtype, *([] if layout == "contiguous" else ["not contiguous"])])


# --- cases -----------------------------------------------------------------------------------


def attention_scores_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of attention_scores: 0, 1, 2 and 3 leading axes, both dtypes, T != S."""
    cases = []
    for axes, dtype, layout in (
        (0, "float32", "contiguous"),
        (1, "float32", "contiguous"),
        (2, "float32", "contiguous"),
        (2, "float64", "contiguous"),
        (2, "float32", "strided"),
        (1, "float64", "strided"),
        (3, "float32", "contiguous"),
    ):
        cases.append(_score_case(rng, draw_sizes(rng), axes, dtype, layout))
    cases.append(_score_case(rng, draw_sizes(rng, batch=1, queries=1), 2, "float32", "contiguous"))
    sizes = draw_sizes(rng)
    square = replace(sizes, queries=sizes.keys)
    cases.append(_score_case(rng, square, 1, "float64", "contiguous"))
    asked_again(cases, cases[2])
    for axes, dtype in ((1, "float32"), (2, "float64")):
        sizes = draw_sizes(rng)
        case = _score_case(rng, sizes, axes, dtype, "contiguous")
        shape = (*case.arguments["query"].shape[:-1], sizes.keys)
        cases.append(with_gradients(case, rng, shape))
    long = draw_sizes(rng, batch=2, queries=3, keys=70)
    cases.append(_score_case(rng, long, 1, "float32", "contiguous"))
    cases.append(_score_case(rng, draw_sizes(rng), 2, "float16", "contiguous"))
    return cases


def _score_case(rng: np.random.Generator, sizes: Sizes, axes: int, dtype: str, layout: str) -> Case:
    leading = _leading(sizes, axes)
    arguments = {
        "query": normal(rng, (*leading, sizes.queries, sizes.head_size), dtype),
        "key": normal(rng, (*leading, sizes.keys, sizes.head_size), dtype),
    }
    return Case(label(arguments, dtype, layout), arguments, layout=layout)


def _leading(sizes: Sizes, axes: int) -> tuple[int, ...]:
    return (sizes.batch, sizes.heads, 9)[:axes]


# How low a score gets, as the tasks say: a fill has to be lower.
LOWEST = -30_000.0
AttendMaker = Callable[[np.random.Generator, Sizes, str, int, str, str], Case]


def scaled_dot_product_attention_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of scaled_dot_product_attention."""
    return _attention_cases(rng, _attend_case, (0, 1, 2), "value_size")


def multi_head_attention_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of MultiHeadAttention, with weights to copy in."""
    return _attention_cases(rng, _module_case, (2, 2, 2), "d_model")


def find_the_bug_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of the repaired multi_head_attention, none of which the code as found passes."""
    # Where a query sees one key no scale shows; so the scores are low in one sequence only.
    return _attention_cases(rng, _bug_case, (2, 2, 2), "d_model", low=slice(1))


def _attention_cases(
    rng: np.random.Generator,
    make: AttendMaker,
    axes: tuple[int, int, int],
    last: str,
    low: slice = slice(None),
) -> list[Case]:
    """Make the cases that all three attention tasks share, from the simple to the odd.

    Args:
        rng: the source.
        make: makes one case of the task.
        axes: leading axes in the simple cases, for tasks that take any.
        last: attribute of the sizes that is the last axis of the result.
        low: the sequences of the last case that have low scores.

    Returns:
        the cases.
    """
    few, some, full = axes
    cases = [
        make(rng, draw_sizes(rng), kind, leading, dtype, layout)
        for kind, leading, dtype, layout in (
            ("none", few, "float32", "contiguous"),
            ("none", some, "float32", "contiguous"),
            ("none", full, "float64", "contiguous"),
            ("square", few, "float32", "contiguous"),
            ("padding", full, "float32", "contiguous"),
            ("causal", full, "float32", "contiguous"),
            ("square", full, "float32", "contiguous"),
            ("target", full, "float64", "contiguous"),
            ("padding", some, "float64", "contiguous"),
            ("padding", full, "float32", "strided"),
            ("heads", full, "float32", "contiguous"),
        )
    ]
    cases += _corner_cases(rng, make, full)
    followed(cases, cases[4], _behind_the_mask(cases[4]), "hidden keys changed", LEAK)
    followed(cases, cases[5], _behind_the_mask(cases[5]), "hidden keys changed", LEAK)
    asked_again(cases, cases[1], {"mask": None})
    for kind, leading, dtype in (("padding", full, "float64"), ("none", some, "float32")):
        sizes = draw_sizes(rng)
        case = make(rng, sizes, kind, leading, dtype, "contiguous")
        shape = (*case.arguments["query"].shape[:-1], getattr(sizes, last))
        cases.append(with_gradients(case, rng, shape))
    cases.append(_low(make(rng, draw_sizes(rng), "target", full, "float64", "contiguous"), low))
    cases.append(_ends(make(rng, draw_sizes(rng), "padding", full, "float64", "contiguous")))
    long = draw_sizes(rng, batch=2, heads=9, queries=3, keys=70)
    cases.append(make(rng, long, "padding", full, "float32", "contiguous"))
    cases.append(make(rng, draw_sizes(rng), "none", some, "float16", "contiguous"))
    if cases[0].settings:
        cases.append(replace(cases[3], name=f"{cases[3].name}, training mode", training=True))
    return cases


def _low(case: Case, sequences: slice) -> Case:
    """Move all scores of some sequences down, by a feature that all keys of a head share.

    A query sees one key there, so that rounding at such scores makes no difference.
    """
    mask = case.arguments["mask"][sequences]
    mask &= np.arange(mask.shape[-1]) == mask.argmax(axis=-1, keepdims=True)
    keys, queries = case.arguments["key"][sequences], case.arguments["query"][sequences]
    size = _head_size(case)
    if case.weights:  # the biases are what the keys share
        for name in ("q_proj", "k_proj"):
            case.weights[f"{name}.weight"][::size] = 0.0
        keys, queries = case.weights["k_proj.bias"], case.weights["q_proj.bias"]
    keys[..., ::size] = 100.0 * np.sqrt(size)
    queries[..., ::size] = LOWEST / 100.0
    return replace(case, name=f"{case.name}, scores near {LOWEST:,.0f}")


def _ends(case: Case) -> Case:
    """Move the scores of all keys that are seen down, and those of hidden ones as far up."""
    keys, queries = case.arguments["key"], case.arguments["query"]
    size = _head_size(case)
    mask = case.arguments["mask"].any(axis=-2)  # (B, 1, S)
    signs = np.where(mask if keys.ndim == 4 else mask[:, 0], 1.0, -1.0)
    if case.weights:  # the sign is the first feature of a key's token
        weights = case.weights
        for name in ("q_proj", "k_proj"):
            weights[f"{name}.weight"][::size] = weights[f"{name}.bias"][::size] = 0.0
        weights["k_proj.weight"][::size, 0] = 100.0 * np.sqrt(size)
        weights["q_proj.bias"][::size] = LOWEST / 100.0
        keys[..., 0] = signs
    else:
        keys[..., ::size] = 100.0 * np.sqrt(size) * signs[..., None]
        queries[..., ::size] = LOWEST / 100.0
    said = f"scores near {LOWEST:,.0f}, those of hidden keys near {-LOWEST:,.0f}"
    return replace(case, name=f"{case.name}, {said}")


def _head_size(case: Case) -> int:
    heads = case.arguments.get("num_heads", case.settings.get("num_heads", 1))
    size: int = case.arguments["key"].shape[-1] // heads
    return size


def _corner_cases(rng: np.random.Generator, make: AttendMaker, full: int) -> list[Case]:
    """One token, one head, and equal sizes where a mistake would raise at different ones.

    With as many queries as keys a transposed mask fits, with values as wide as keys they can be
    taken for each other.
    """
    sizes = draw_sizes(rng)
    square = replace(sizes, queries=sizes.keys)
    wide = draw_sizes(rng)
    return [
        make(rng, draw_sizes(rng, batch=1, queries=1), "padding", full, "float32", "contiguous"),
        make(rng, draw_sizes(rng, heads=1), "target", full, "float32", "contiguous"),
        make(rng, square, "padding", full, "float64", "contiguous"),
        make(rng, square, "causal", full, "float32", "contiguous"),
        make(rng, replace(wide, value_size=wide.head_size), "none", full, "float32", "contiguous"),
    ]


def _behind_the_mask(case: Case) -> dict[str, Any]:
    """Give the keys that no query may see another content, and a loud one."""
    mask = case.arguments["mask"]
    unseen = ~mask.any(axis=-2).reshape(mask.shape[0], -1)  # (B or 1, S)
    changed = {}
    for name, loudness in (("key", -1.5), ("value", 1000.0)):
        old = case.arguments[name]
        where = unseen.reshape(unseen.shape[0], *[1] * (old.ndim - 3), unseen.shape[1], 1)
        changed[name] = np.where(where, loudness * old, old).astype(old.dtype)
    return changed


def _with_mask(
    rng: np.random.Generator, arguments: dict[str, Any], kind: str, sizes: Sizes, axes: int
) -> dict[str, Any]:
    mask = make_mask(rng, kind, sizes, axes)
    return arguments if mask is None else {**arguments, "mask": mask}


def _attend_case(
    rng: np.random.Generator, sizes: Sizes, kind: str, axes: int, dtype: str, layout: str
) -> Case:
    leading = _leading(sizes, axes)
    arguments: dict[str, Any] = {
        "query": normal(rng, (*leading, sizes.queries, sizes.head_size), dtype),
        "key": normal(rng, (*leading, sizes.keys, sizes.head_size), dtype),
        "value": normal(rng, (*leading, sizes.keys, sizes.value_size), dtype),
    }
    arguments = _with_mask(rng, arguments, kind, sizes, axes)
    return Case(label(arguments, dtype, layout), arguments, layout=layout)


def _sequences(rng: np.random.Generator, sizes: Sizes, dtype: str) -> dict[str, Any]:
    return {
        "query": normal(rng, (sizes.batch, sizes.queries, sizes.d_model), dtype),
        "key": normal(rng, (sizes.batch, sizes.keys, sizes.d_model), dtype),
        "value": normal(rng, (sizes.batch, sizes.keys, sizes.d_model), dtype),
    }


def _bug_case(
    rng: np.random.Generator, sizes: Sizes, kind: str, axes: int, dtype: str, layout: str
) -> Case:
    arguments = {**_sequences(rng, sizes, dtype), "num_heads": sizes.heads}
    arguments = _with_mask(rng, arguments, kind, sizes, axes)
    return Case(label(arguments, dtype, layout), arguments, layout=layout)


def _module_case(
    rng: np.random.Generator, sizes: Sizes, kind: str, axes: int, dtype: str, layout: str
) -> Case:
    arguments = _with_mask(rng, _sequences(rng, sizes, dtype), kind, sizes, axes)
    settings = {"d_model": sizes.d_model, "num_heads": sizes.heads}
    name = f"d_model={sizes.d_model}, num_heads={sizes.heads}, {label(arguments, dtype, layout)}"
    return Case(name, arguments, settings, _weights(rng, sizes.d_model, dtype), layout)


def _weights(rng: np.random.Generator, d_model: int, dtype: str) -> Arrays:
    """Weights that keep the variance of their input, with biases that show."""
    weights: Arrays = {}
    for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
        square = normal(rng, (d_model, d_model), dtype) / np.sqrt(d_model)
        weights[f"{name}.weight"] = square.astype(dtype)
        weights[f"{name}.bias"] = (normal(rng, (d_model,), dtype) * 0.5).astype(dtype)
    return weights


def split_heads_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of split_heads."""
    plans: list[tuple[dict[str, int], str, str]] = [
        ({}, "float32", "contiguous"),
        ({}, "float32", "contiguous"),
        ({}, "float64", "contiguous"),
        ({"batch": 1}, "float32", "contiguous"),
        ({"queries": 1}, "float32", "contiguous"),
        ({"heads": 1}, "float64", "contiguous"),
        ({"head_size": 1}, "float32", "contiguous"),
        ({"heads": 3, "queries": 3}, "float32", "contiguous"),
        ({}, "float32", "strided"),
    ]
    cases = [
        _split_case(rng, draw_sizes(rng, **fixed), dtype, layout) for fixed, dtype, layout in plans
    ]
    asked_again(cases, cases[1])
    for dtype in ("float32", "float64"):
        sizes = draw_sizes(rng)
        shape = (sizes.batch, sizes.heads, sizes.queries, sizes.head_size)
        cases.append(with_gradients(_split_case(rng, sizes, dtype, "contiguous"), rng, shape))
    long = draw_sizes(rng, batch=2, heads=2, queries=70, head_size=3)
    cases.append(_split_case(rng, long, "float32", "contiguous"))
    cases.append(_split_case(rng, draw_sizes(rng), "float16", "contiguous"))
    return cases


def _split_case(rng: np.random.Generator, sizes: Sizes, dtype: str, layout: str) -> Case:
    shape = (sizes.batch, sizes.queries, sizes.d_model)
    arguments: dict[str, Any] = {"x": normal(rng, shape, dtype), "num_heads": sizes.heads}
    return Case(label(arguments, dtype, layout), arguments, layout=layout)


# --- a module whose heads are silenced -------------------------------------------------------


def _build(weights: Arrays) -> reference.MultiHeadAttention:
    d_model = len(weights["out_proj.bias"])
    return reference.MultiHeadAttention(d_model, int(weights["num_heads"]))


MODULE = made_arguments.measured_model_maker(_build)


def _module_and_tokens(
    rng: np.random.Generator, sizes: Sizes, weights: Arrays, note: str, dtype: str, layout: str
) -> Case:
    """Make a case with a module of these weights, and an x to attend to itself.

    A long x comes with a module in training mode, which changes nothing: it has no dropout.
    """
    said = f"d_model={sizes.d_model}, num_heads={sizes.heads}{note}"
    described_weights = {**weights, "num_heads": np.array(sizes.heads)}
    arguments = {
        "module": made_arguments.model(said, described_weights, training=sizes.queries > 8),
        "x": normal(rng, (sizes.batch, sizes.queries, sizes.d_model), dtype),
    }
    return Case(label(arguments, dtype, layout), arguments, layout=layout)


def _scale_heads(weights: Arrays, loudness: np.ndarray) -> None:
    """Let each head write more or less into the output."""
    columns = weights["out_proj.weight"]
    size = columns.shape[1] // len(loudness)
    columns *= np.repeat(loudness, size).astype(columns.dtype)


def _copy_head(weights: Arrays, first: int, second: int, sign: float, size: int) -> None:
    """Let the second head look where the first looks, and write the same or its opposite.

    It finds and writes a little more than the first: no choice between equals would be right.
    """
    old, new = (slice(head * size, (head + 1) * size) for head in (first, second))
    for name, factor in (("q_proj", 1.0), ("k_proj", 1.0), ("v_proj", 1.1)):
        for part in ("weight", "bias"):
            weights[f"{name}.{part}"][new] = factor * weights[f"{name}.{part}"][old]
    weights["out_proj.weight"][:, new] = sign * weights["out_proj.weight"][:, old]


def damage_by_head_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of damage_by_head: heads that write more and less, two of them sharp at times."""
    plans: list[tuple[dict[str, int], float, str, str]] = [
        ({}, 1.0, "float32", "contiguous"),
        ({}, 1.0, "float64", "contiguous"),
        ({}, 3.0, "float32", "contiguous"),
        ({"batch": 1}, 1.0, "float32", "contiguous"),
        ({"queries": 1}, 1.0, "float32", "contiguous"),
        ({"heads": 1}, 1.0, "float64", "contiguous"),
        ({"head_size": 1}, 2.0, "float64", "contiguous"),
        ({"heads": 2}, 1.0, "float32", "contiguous"),
        ({"heads": 8, "queries": 3}, 2.0, "float32", "contiguous"),
        ({"heads": 3, "queries": 7}, 1.0, "float64", "contiguous"),
        ({}, 1.0, "float32", "strided"),
        ({"heads": 4}, 2.0, "float64", "strided"),
    ]
    cases = [_damage_case(rng, *plan) for plan in plans]
    asked_again(cases, cases[0])
    long = {"batch": 2, "heads": 2, "queries": 70, "head_size": 2}
    cases.append(_damage_case(rng, long, 1.0, "float32", "contiguous"))
    return cases


def _damage_case(
    rng: np.random.Generator, fixed: dict[str, int], sharpness: float, dtype: str, layout: str
) -> Case:
    """Make a case; the sharper, the more does each query choose a single key."""
    sizes = draw_sizes(rng, **fixed)
    weights = _weights(rng, sizes.d_model, dtype)
    weights["q_proj.weight"] *= sharpness
    _scale_heads(weights, rng.uniform(0.5, 2.0, sizes.heads))
    return _module_and_tokens(rng, sizes, weights, "", dtype, layout)


def redundant_heads_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of redundant_heads, in which two heads have roles that are known."""
    plans: list[tuple[str, dict[str, int], str, str]] = [
        ("opposite", {"heads": 4}, "float32", "contiguous"),
        ("opposite", {"heads": 5}, "float64", "contiguous"),
        ("opposite", {"heads": 6}, "float32", "strided"),
        ("alike", {"heads": 4}, "float32", "contiguous"),
        ("alike", {"heads": 5}, "float64", "contiguous"),
        ("alike", {"heads": 6}, "float32", "contiguous"),
        ("alike", {"heads": 4, "batch": 1}, "float64", "strided"),
        ("quiet", {"heads": 5}, "float32", "contiguous"),
        ("quiet", {"heads": 6}, "float64", "contiguous"),
        ("any", {"heads": 2}, "float32", "contiguous"),
        ("any", {"heads": 3}, "float32", "contiguous"),
        ("opposite", {"heads": 3}, "float64", "contiguous"),
        ("any", {"heads": 6}, "float32", "contiguous"),
    ]
    # Last of all, so that the numbers of the others do not depend on it.
    plans.append(
        ("opposite", {"batch": 2, "heads": 3, "queries": 70, "head_size": 2}, *plans[0][2:])
    )
    cases = []
    for plan in plans:
        case = _pair_case(rng, *plan)
        while not _has_one_answer(case):
            case = _pair_case(rng, *plan)
        cases.append(case)
    asked_again(cases, cases[0])
    return cases


def _pair_case(
    rng: np.random.Generator, role: str, fixed: dict[str, int], dtype: str, layout: str
) -> Case:
    """Make a case in which two heads cancel each other, do the same, or write little."""
    sizes = draw_sizes(rng, **fixed)
    weights = _weights(rng, sizes.d_model, dtype)
    loudness = rng.uniform(0.9, 1.2, sizes.heads)
    first, second = (int(head) for head in rng.permutation(sizes.heads)[:2])
    loudness[[first, second]] *= {"opposite": 1.5, "alike": 0.75, "quiet": 0.3}.get(role, 1.0)
    _scale_heads(weights, loudness)
    if role in ("opposite", "alike"):
        _copy_head(weights, first, second, -1.0 if role == "opposite" else 1.0, sizes.head_size)
    notes = {"opposite": ", two of them cancel each other", "alike": ", two of them do the same"}
    return _module_and_tokens(rng, sizes, weights, notes.get(role, ""), dtype, layout)


def _has_one_answer(case: Case) -> bool:
    """Whether the best pair is better than the next by more than rounding, as heads add up."""
    module = MODULE.make("module", case, {}).value
    x = torch.from_numpy(case.arguments["x"])
    with torch.no_grad():
        projections = (module.q_proj, module.k_proj, module.v_proj)
        q, k, v = (reference.split_heads(each(x), module.num_heads) for each in projections)
        heads, _ = reference.scaled_dot_product_attention(q, k, v)
        columns = module.out_proj.weight.unflatten(-1, (module.num_heads, -1))
        written = torch.einsum("bhtk,dhk->hbtd", heads, columns)
        pairs = combinations(range(module.num_heads), 2)
        damage = sorted((written[a] + written[b]).square().mean().item() for a, b in pairs)
    return len(damage) == 1 or damage[1] > damage[0] + 0.05 * damage[-1]


# --- a head whose weights are set by hand ------------------------------------------------------

ENOUGH = 0.99  # of its weight a token gives to a key that it looks at


def bracket_head_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of bracket_head: few pairs and many; a head is tried on texts of all lengths."""
    some = sorted(int(size) for size in rng.permutation(np.arange(7, 30))[:3])
    cases = [plain_case(pairs=pairs) for pairs in (2, 1, 3, 4, *some, 100)]
    asked_again(cases, cases[2])
    return cases


def texts_of(pairs: int) -> list[str]:
    """Return texts of at most so many pairs of brackets: flat, deep, short, and random ones."""
    rng = np.random.default_rng(pairs)
    texts = ["()" * pairs, "(" * pairs + ")" * pairs]
    for count in (max(1, pairs // 2), pairs, pairs, pairs):
        text, depth = "", 0
        while len(text) < 2 * count:
            left = 2 * count - len(text)
            opens = depth == 0 or (depth < left and rng.random() < 0.5)
            depth += 1 if opens else -1
            text += "(" if opens else ")"
        texts.append(text)
    return list(dict.fromkeys(texts))


def partners_and_depths(text: str) -> tuple[list[int], list[int]]:
    """Return for each bracket the opening one of its pair, and how many pairs are around it."""
    partners, depths, around = [], [], []
    for position, bracket in enumerate(text):
        if bracket == "(":
            around.append(position)
        partners.append(around[-1])
        depths.append(len(around) - 1)
        if bracket == ")":
            around.pop()
    return partners, depths


def where_it_looks(returned: Any) -> list[list[int]]:
    """Say for each token of each text at which key a head with these weights looks.

    Args:
        returned: what the answer gave.

    Returns:
        for each text the positions of the keys with nearly all the weight, -1 where there is none.

    Raises:
        ReturnedError: if it is not a pair of matrices of the same shape.
    """
    if not isinstance(returned, list | tuple) or len(returned) != 2:
        said = later("expected (W_q, W_k), received {what}")
        raise ReturnedError(said, **type_and_size(returned))
    for each in returned:
        if not isinstance(each, Tensor) or each.ndim != 2 or not each.is_floating_point():
            said = later("expected two floating matrices, received {what}; dtype: {name}")
            dtype = str(getattr(each, "dtype", None))
            raise ReturnedError(said, name=dtype, **type_and_size(each))
    w_q, w_k = (each.detach().cpu().double() for each in returned)
    if w_q.shape != w_k.shape or len(w_q) < 4 or not w_q.shape[1]:
        said = later("expected the shape (3 + pairs, K) twice, received {received}")
        raise ReturnedError(said, received=f"{tuple(w_q.shape)}, {tuple(w_k.shape)}")
    return [_looks(text, w_q, w_k) for text in texts_of(len(w_q) - 3)]


def _looks(text: str, w_q: Tensor, w_k: Tensor) -> list[int]:
    x = torch.zeros(len(text), len(w_q), dtype=torch.float64)
    positions = torch.arange(len(text))
    x[positions, torch.tensor([int(bracket == ")") for bracket in text])] = 1.0
    x[:, 2] = positions.double()
    x[positions, 3 + torch.tensor(partners_and_depths(text)[1])] = 1.0
    scores = (x @ w_q) @ (x @ w_k).T / w_q.shape[1] ** 0.5
    future = torch.ones(len(text), len(text)).triu(1).bool()
    most, keys = scores.masked_fill(future, -torch.inf).softmax(dim=-1).max(dim=-1)
    return torch.where(most >= ENOUGH, keys, -1).tolist()
