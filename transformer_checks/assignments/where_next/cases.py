"""Makes the cases of the assignment "where_next".

What is chosen by comparing numbers, such as a guess that is kept or the longer of two times, is
drawn until rounding cannot change the choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from transformer_checks.assignments.shared_cases import (
    asked_again,
    described,
    different_sizes,
    normal,
    plain_case,
    with_gradients,
)
from transformer_checks.running.asking import describe
from transformer_checks.task import SAID, Case, Made, Maker

# The largest position that is tried: no number of half precision, and right in float32.
LAST = 5_000
# What a given rotary function turns a pair by, in radians for each position.
SLOWEST, FASTEST = 1e-4, 1.0
# Uniform numbers are at least so far from the border between two tokens, or kept and not kept.
CLEAR = 2e-3


def _case(arguments: dict[str, Any], dtype: str, layout: str = "contiguous") -> Case:
    strided = ["strided"] * (layout != "contiguous")
    return Case(", ".join([*described(arguments), dtype, *strided]), arguments, layout=layout)


# --- rotate ----------------------------------------------------------------------------------


def _rotate_case(
    rng: np.random.Generator,
    shape: tuple[int, ...],
    pairing: str,
    positions: list[int],
    dtype: str = "float32",
    layout: str = "contiguous",
) -> Case:
    x = normal(rng, shape, dtype)
    arguments = {"x": x, "positions": np.array(positions), "pairing": pairing}
    shown = str(positions) if len(positions) < 8 else f"{positions[0]} to {positions[-1]}"
    case = _case(arguments, dtype, layout)
    return Case(f"{case.name}, positions {shown}", arguments, layout=layout)


def rotate_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of rotate: both pairings, near and far, in order and not."""
    cases = []
    for pairing in ("neighbors", "halves"):
        batch, heads, tokens = different_sizes(rng, 2, 6, 3)
        start = int(rng.integers(300, 2_000))
        far = [LAST, *(int(each) for each in rng.integers(2_100, LAST, size=tokens - 1))]
        shuffled = [int(each) for each in rng.permutation(40)[:7]]
        plan: list[tuple[Any, ...]] = [
            ((3, 2), [0, 1, 2]),
            ((tokens, 4), [*range(tokens)]),
            ((batch, heads, tokens, 8), [*range(start, start + tokens)]),
            ((batch, 7, 6), shuffled, "float64"),
            ((heads, tokens, 10), far),
            ((batch, heads, tokens, 12), far, "float16"),
            ((batch, 1, 16), [start], "float32", "strided"),
            ((66, 8), [*range(5, 71)]),
            ((2, 5, 130), [*range(9, 14)]),
        ]
        cases += [_rotate_case(rng, shape, pairing, *rest) for shape, *rest in plan]
        for dtype in ("float32", "float64"):
            case = _rotate_case(rng, (batch, heads, 5, 6), pairing, [0, 3, 1, 9, 4], dtype)
            cases.append(with_gradients(case, rng, case.arguments["x"].shape))
    asked_again(cases, cases[2])
    return cases


# --- turned_pairs ----------------------------------------------------------------------------


def _make_turn(name: str, case: Case, earlier: Mapping[str, Any]) -> Made:
    description = case.arguments[name]
    pairs, speeds = description["pairs"], torch.from_numpy(description["speeds"])
    size = case.arguments["d_k"]

    def turn(x: Tensor, positions: Tensor) -> Tensor:
        if not isinstance(x, Tensor) or not x.is_floating_point() or x.shape[-1:] != (size,):
            raise ValueError(f"{name} takes x (T, {size}) floating, received {describe(x)}")
        fits = isinstance(positions, Tensor) and positions.shape == x.shape[-2:-1]
        if not fits or positions.dtype != torch.int64:
            raise ValueError(
                f"{name} takes positions (T,) int64, one for each row of x, received "
                f"{describe(positions)}"
            )
        if len(positions) and not 0 <= int(positions.min()) <= int(positions.max()) <= LAST:
            raise ValueError(f"{name} takes positions from 0 to {LAST:,}")
        angles = positions[:, None] * speeds  # (T, pairs)
        cos, sin = angles.cos().to(x), angles.sin().to(x)
        first, second = pairs.T.tolist()
        a, b = x[..., first], x[..., second]
        turned = x.clone()
        turned[..., first] = a * cos - b * sin
        turned[..., second] = a * sin + b * cos
        return turned

    return Made(turn)


TURN = Maker(_make_turn)


def _turn_case(rng: np.random.Generator, d_k: int, pairs: list[tuple[int, int]], said: str) -> Case:
    """Make a case: these pairs turn, some of them nearly as slowly as any may, and some back."""
    powers = rng.uniform(np.log10(SLOWEST * 1.2), 0.0, size=len(pairs))
    powers[-1:] = np.log10(SLOWEST * 1.2)
    speeds = 10.0**powers * rng.choice([-1.0, 1.0], size=len(pairs))
    turn = {
        SAID: said,
        "pairs": np.array(pairs, dtype=np.int64).reshape(-1, 2),
        "speeds": speeds,
    }
    arguments = {"turn": turn, "d_k": d_k}
    return Case(", ".join(described(arguments)), arguments)


def turned_pairs_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of turned_pairs: both usual pairings, a part of the features, and any pairs at all."""

    def neighbors(size: int, first: int = 0) -> list[tuple[int, int]]:
        return [(i, i + 1) for i in range(first, first + size, 2)]

    def halves(size: int, first: int = 0) -> list[tuple[int, int]]:
        return [(i, i + size // 2) for i in range(first, first + size // 2)]

    def drawn(d_k: int, count: int) -> list[tuple[int, int]]:
        order = [int(each) for each in rng.permutation(d_k)[: 2 * count]]
        return [(min(two), max(two)) for two in zip(order[::2], order[1::2], strict=True)]

    def outside_in(d_k: int) -> list[tuple[int, int]]:
        return [(i, d_k - 1 - i) for i in range(d_k // 2)]

    plan = [
        (8, neighbors(8), "neighbors"),
        (8, halves(8), "halves"),
        (12, halves(4), "halves of the first 4 features"),
        (12, neighbors(6), "neighbors among the first 6 features"),
        (10, halves(6, 4), "halves of the last 6 features"),
        (11, neighbors(8, 3), "neighbors among the last 8 features"),
        (9, drawn(9, 3), "three pairs anywhere"),
        (14, drawn(14, 7), "seven pairs anywhere"),
        (10, outside_in(10), "from both ends inward"),
        (7, drawn(7, 1), "one pair"),
        (6, [], "nothing is turned"),
        (2, [(0, 1)], "one pair, and no other feature"),
        (66, drawn(66, 30), "thirty pairs anywhere"),
    ]
    cases = [_turn_case(rng, *each) for each in plan]
    asked_again(cases, cases[6])
    return cases


# --- grouped_attention -----------------------------------------------------------------------


def _grouped_case(
    rng: np.random.Generator,
    heads: tuple[int, int],
    tokens: tuple[int, int],
    dtype: str = "float32",
    layout: str = "contiguous",
) -> Case:
    """Make a case: H and G, T and S."""
    batch, size, wide = different_sizes(rng, 2, 7, 3)
    (num_heads, sets), (new, all_of_them) = heads, tokens
    arguments = {
        "query": 2 * normal(rng, (batch, num_heads, new, size), dtype),
        "key": normal(rng, (batch, sets, all_of_them, size), dtype),
        "value": normal(rng, (batch, sets, all_of_them, wide), dtype),
    }
    return _case(arguments, dtype, layout)


def grouped_attention_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of grouped_attention: sets for one head, some or all; with a cache and without."""
    new, old = int(rng.integers(3, 7)), int(rng.integers(2, 6))
    plan: list[tuple[Any, ...]] = [
        ((2, 2), (4, 4)),
        ((4, 2), (5, 5)),
        ((6, 2), (new, new + old)),
        ((6, 3), (new, new + old), "float64"),
        ((4, 1), (new, new + 1)),
        ((8, 2), (1, old + 7)),
        ((6, 2), (1, 1)),
        ((9, 3), (2, old + 9), "float32", "strided"),
        ((4, 4), (new, new + old)),
        ((4, 2), (3, 70)),
        ((4, 2), (67, 67)),
        ((6, 3), (new, new + old), "float16"),
        ((6, 2), (4, 4), "float64"),
    ]
    cases = [_grouped_case(rng, *each) for each in plan]
    for dtype in ("float32", "float64"):
        case = _grouped_case(rng, (6, 2), (3, 5), dtype)
        query, value = case.arguments["query"], case.arguments["value"]
        cases.append(with_gradients(case, rng, (*query.shape[:3], value.shape[-1])))
    asked_again(cases, cases[2])
    return cases


# --- route -----------------------------------------------------------------------------------


def _route_case(
    rng: np.random.Generator,
    num_tokens: int,
    num_experts: int,
    num_used: int,
    dtype: str = "float32",
    favors: float = 0.0,
    layout: str = "contiguous",
) -> Case:
    """Make a case; the scores of the later experts are lower by `favors`."""
    slope = favors * np.linspace(0.5, -0.5, num_experts)
    while True:
        scores = (slope + rng.standard_normal((num_tokens, num_experts))).astype(dtype)
        if np.diff(np.sort(scores.astype(np.float64)), axis=1).min(initial=1.0) > 1e-4:
            return _case({"scores": scores, "num_used": num_used}, dtype, layout)


def route_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of route: one expert, some, all; an even load, and experts that nobody uses."""
    few, more = (int(each) for each in rng.permutation([5, 6, 7, 8, 9])[:2])
    plan: list[tuple[Any, ...]] = [
        (3, 4, 2),
        (few, 4, 1),
        (more, 5, 2),
        (few, 6, 3, "float64", 0.0, "strided"),
        (7, 5, 5),
        (1, 6, 2),
        (more, 8, 2, "float32", 9.0),
        (few, 7, 1, "float64", 12.0),
        (3, 12, 1),
        (4, 1, 1),
        (70, 4, 2),
        (6, 66, 3, "float64"),
        (few, 5, 2, "float16"),
        (more, 6, 1, "float16", 4.0),
    ]
    cases = [_route_case(rng, *each) for each in plan]
    for dtype, used in (("float32", 2), ("float64", 1)):
        cases.append(with_gradients(_route_case(rng, 5, 4, used, dtype, 3.0), rng, ()))
    asked_again(cases, cases[2])
    return cases


# --- accept ----------------------------------------------------------------------------------


def _drawn(chances: np.ndarray, uniform: float) -> int:
    """Return where a uniform number falls."""
    return int((chances.cumsum() <= uniform).sum())


def _rest(model: np.ndarray, draft: np.ndarray) -> np.ndarray:
    rest = np.maximum(model - draft, 0.0)
    return np.asarray(rest / max(rest.sum(), 1e-9))


def _kept(arguments: dict[str, Any]) -> int:
    """Count the guesses that are kept."""
    ratios = _ratios(arguments)
    refused = np.flatnonzero(arguments["uniforms"][: len(ratios)] >= ratios)
    return int(refused[0]) if len(refused) else len(ratios)


def _ratios(arguments: dict[str, Any]) -> np.ndarray:
    rows, guesses = np.arange(len(arguments["guesses"])), arguments["guesses"]
    found: np.ndarray = (
        arguments["model_probs"][rows, guesses] / arguments["draft_probs"][rows, guesses]
    )
    return found


def _misleading(arguments: dict[str, Any], kept: int) -> Iterator[int]:
    """Go through the tokens that come of drawing in another way, where it ends at `kept`."""
    model, uniforms = arguments["model_probs"][kept], arguments["uniforms"]
    yield int(model.argmax())
    yield _drawn(model[::-1], uniforms[-1])
    if kept < len(arguments["guesses"]):
        draft = arguments["draft_probs"][kept]
        yield from (_drawn(model, uniforms[-1]), _drawn(draft, uniforms[-1]))
        yield from (_drawn(_rest(model, draft), uniforms[kept]), arguments["guesses"][kept])
        yield from (int((model - draft).argmax()), _drawn(_rest(draft, model), uniforms[-1]))
        yield _drawn(np.maximum(model - draft, 0.0), uniforms[-1])


def is_clear(arguments: dict[str, Any], kept: int) -> bool:
    """Whether these guesses are kept, and no rounding and no other way to draw says the same."""
    ratios, uniforms = _ratios(arguments), arguments["uniforms"]
    chances = arguments["model_probs"][kept]
    if kept < len(ratios):
        chances = _rest(chances, arguments["draft_probs"][kept])
    token = _drawn(chances, uniforms[-1])
    borders = np.append(chances.cumsum()[:-1], [0.0, 1.0])
    return bool(
        _kept(arguments) == kept
        and np.abs(ratios - uniforms[:-1]).min(initial=1.0) > CLEAR
        and np.abs(borders - uniforms[-1]).min() > CLEAR
        and token not in set(_misleading(arguments, kept))
    )


def _accept_case(
    rng: np.random.Generator, count: int, kept: int, size: int, dtype: str = "float32"
) -> Case:
    """Make a case: so many guesses of which so many are kept, and V tokens."""
    while True:
        # Both have few likely tokens, and often the same ones.
        even = np.full(size, min(0.6, 3.0 / size))
        shared, *others = (rng.dirichlet(even, size=count + 1) for _ in range(3))
        model, draft = (0.5 * shared + 0.5 * other for other in others)
        guesses = [int(rng.choice(size, p=row)) for row in draft[:-1]]
        arguments: dict[str, Any] = {
            "guesses": guesses,
            "draft_probs": draft[:-1].astype(dtype),
            "model_probs": model.astype(dtype),
            "uniforms": rng.uniform(size=count + 1).astype(dtype),
        }
        # By chance, the right number would seldom be kept.
        shares, uniforms = np.minimum(_ratios(arguments), 1.0), arguments["uniforms"]
        uniforms[:kept] *= shares[:kept]
        if kept < count:
            uniforms[kept] = shares[kept] + (1.0 - shares[kept]) * uniforms[kept]
        if is_clear(arguments, kept):
            return _case(arguments, dtype)


def accept_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of accept: no guess, all kept, none kept, and every number between."""
    plan: list[tuple[Any, ...]] = [
        (1, 0, 3),
        (1, 1, 4),
        (3, 1, 5),
        (3, 3, 5),
        (0, 0, 6),
        (2, 0, 4, "float64"),
        (4, 2, 6, "float64"),
        (4, 3, 7),
        (2, 2, 5, "float64"),
        (5, 1, 4),
        (5, 0, 8),
        (3, 2, 5),
        (4, 4, 4),
        (3, 1, 300),
        (2, 2, 300, "float64"),
        (70, 68, 5),
        (66, 66, 4, "float64"),
    ]
    cases = [_accept_case(rng, *each) for each in plan]
    asked_again(cases, cases[3])
    return cases


# --- what_limits -----------------------------------------------------------------------------


def _limits_case(rng: np.random.Generator, limit: str, **options: Any) -> Case:
    """Make a case of what_limits.

    Args:
        rng: the source.
        limit: what limits it.
        options: `users`, `tokens`; `spare`, bytes of memory that are left (a fifth of what is
            needed); `dense`, whether a token uses all parameters (True); `size`, the number of
            parameters.
    """
    layers, sets, size = (int(each) for each in rng.permutation([3, 4, 5, 6, 7, 9])[:3])
    parameters = int(options.get("size", rng.integers(10**6, 10**9)))
    used = parameters if options.get("dense", True) else int(parameters * rng.uniform(0.2, 0.4))
    users, tokens = options["users"], options.get("tokens", int(rng.integers(100, 3_000)))
    model = {
        "parameters": parameters,
        "used": used,
        "layers": layers,
        "sets": sets,
        "d_head": 8 * size,
    }
    needed = 2 * parameters + 32 * layers * sets * size * users * tokens
    spare = -needed // 3 if limit == "memory" else needed // 5
    bandwidth = int(rng.integers(2, 9)) * 10**11
    ratio = float(rng.uniform(1.5, 3.0)) ** (1 if limit == "operations" else -1)
    operations = 2 * used * users * bandwidth / (needed * ratio)
    card = {
        "memory": needed + options.get("spare", spare),
        "bandwidth": bandwidth,
        "operations": float(f"{operations:.3g}"),
    }
    return plain_case(model=model, card=card, users=users, tokens=tokens)


def what_limits_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of what_limits: each limit, one user and many, with and without experts."""
    some, many = int(rng.integers(3, 30)), int(rng.integers(70, 300))
    cases = [
        _limits_case(rng, "bandwidth", users=1),
        _limits_case(rng, "bandwidth", users=some),
        _limits_case(rng, "operations", users=some),
        _limits_case(rng, "memory", users=some),
        _limits_case(rng, "operations", users=many, size=10**7),
        _limits_case(rng, "bandwidth", users=many, size=10**6),
        _limits_case(rng, "bandwidth", users=some, dense=False),
        _limits_case(rng, "bandwidth", users=1, dense=False),
        _limits_case(rng, "operations", users=many, dense=False),
        _limits_case(rng, "memory", users=many, dense=False),
        _limits_case(rng, "memory", users=2, tokens=50, size=10**8, dense=False),
        _limits_case(rng, "bandwidth", users=some, spare=0),  # to the last byte
        _limits_case(rng, "memory", users=some, spare=-1),  # a byte is missing
        _limits_case(rng, "memory", users=1, tokens=1),  # the weights alone are too much
        _limits_case(rng, "operations", users=1, tokens=1),
        _limits_case(rng, "operations", users=some, size=5 * 10**10, dense=False),
        _limits_case(rng, "bandwidth", users=many, size=10**6, tokens=9_000, dense=False),
    ]
    asked_again(cases, cases[6])
    return cases


# --- find_the_bug ----------------------------------------------------------------------------


def find_the_bug_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of find_the_bug: the code as found cuts into H / G heads, which are never G."""
    plan = [
        (8, 2, 8, 5, "float32"),
        (32, 4, 16, 7, "float32"),
        (6, 1, 12, 3, "float32"),
        (12, 2, 18, 4, "float64"),
        (4, 1, 8, 6, "float32"),
        (16, 2, 16, 1, "float32"),
        (12, 6, 6, 5, "float64"),
        (9, 1, 18, 4, "float32"),
        (6, 3, 12, 5, "float32"),
        (8, 1, 80, 3, "float32"),
        (6, 2, 12, 70, "float32"),
        (8, 2, 8, 3, "float16"),
    ]
    cases = []
    for heads, sets, size, wide, dtype in plan:
        weight = normal(rng, (sets * size, wide), dtype)
        arguments = {"weight": weight, "num_heads": heads, "num_sets": sets}
        cases.append(_case(arguments, dtype))
    asked_again(cases, cases[2])
    return cases
