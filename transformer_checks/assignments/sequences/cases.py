"""Makes the cases of the assignment "sequences"."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from transformer_checks.assignments import made_arguments
from transformer_checks.assignments.shared_cases import (
    asked_again,
    described,
    different_sizes,
    elsewhere,
    normal,
    plain_case,
    with_gradients,
)
from transformer_checks.task import Arrays, Case

# No distance of memory_span is closer to the share that is asked for than by this factor.
CLEAR = 1.15
# The longest of the usual sequences.
LONGEST = 14

Plan = tuple[dict[str, int], str, str]
# Sizes that are given, dtype and layout: B, T or S, D, N and A are different unless they are said.
PLANS: tuple[Plan, ...] = (
    ({}, "float32", "contiguous"),
    ({}, "float64", "contiguous"),
    ({"batch": 1}, "float32", "contiguous"),
    ({}, "float32", "strided"),
    ({}, "float64", "strided"),
    ({"batch": 4, "length": 4}, "float32", "contiguous"),
    ({"token": 5, "state": 5, "compared": 5}, "float64", "contiguous"),
    ({"batch": 3, "state": 3}, "float32", "contiguous"),
    ({"length": 1}, "float32", "contiguous"),
)
# Asked last; the first of them once more where new tensors would lie elsewhere.
MORE: tuple[Plan, ...] = (
    ({}, "float16", "contiguous"),
    ({"length": 70, "token": 70}, "float32", "contiguous"),
)
WITH_GRADIENTS: tuple[Plan, ...] = (
    ({}, "float32", "contiguous"),
    ({}, "float64", "contiguous"),
)


def _case(arguments: dict[str, Any], dtype: str, *notes: str, layout: str = "contiguous") -> Case:
    strided = ["strided"] * (layout != "contiguous")
    return Case(
        ", ".join([*described(arguments), dtype, *notes, *strided]), arguments, layout=layout
    )


def _sizes(rng: np.random.Generator, fixed: dict[str, int]) -> dict[str, int]:
    """Draw sizes from 2 to 8, all different from each other and from those that are given."""
    names = ("batch", "length", "token", "state", "compared")
    free = [size for size in different_sizes(rng, 2, 8) if size not in fixed.values()]
    return {**dict(zip(names, free, strict=False)), **fixed}


def _parameters(rng: np.random.Generator, sizes: dict[str, int], dtype: str) -> Arrays:
    """Draw the parameters of a recurrent network whose tanh is seldom near its ends."""
    token, state = sizes["token"], sizes["state"]
    found = {
        "weight_x": normal(rng, (state, token), "float64") / math.sqrt(token),
        "weight_h": normal(rng, (state, state), "float64") / math.sqrt(state),
        "bias": normal(rng, (state,), "float64") / 2,
    }
    return {name: each.astype(dtype) for name, each in found.items()}


# --- recurrent_step --------------------------------------------------------------------------


def _step_case(rng: np.random.Generator, plan: Plan) -> Case:
    fixed, dtype, layout = plan
    sizes = _sizes(rng, fixed)
    arguments = {
        "x": normal(rng, (sizes["batch"], sizes["token"]), dtype),
        "hidden": 0.7 * normal(rng, (sizes["batch"], sizes["state"]), dtype),
        **_parameters(rng, sizes, dtype),
    }
    return _case(arguments, dtype, layout=layout)


def recurrent_step_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of recurrent_step: one sequence and many, a state larger and smaller than a token."""
    plans = [*PLANS, ({"token": 9, "state": 2}, "float32", "contiguous")]
    cases = [_step_case(rng, plan) for plan in plans]
    for plan in WITH_GRADIENTS:
        base = _step_case(rng, plan)
        cases.append(with_gradients(base, rng, base.arguments["hidden"].shape))
    asked_again(cases, cases[1])
    cases += [_step_case(rng, plan) for plan in MORE]
    cases.append(elsewhere(_step_case(rng, MORE[0])))
    return cases


# --- unroll ----------------------------------------------------------------------------------


def _read_case(rng: np.random.Generator, plan: Plan) -> Case:
    fixed, dtype, layout = plan
    sizes = _sizes(rng, fixed)
    batch, length, token, state = (sizes[name] for name in ("batch", "length", "token", "state"))
    arguments = {
        "x": normal(rng, (batch, length, token), dtype),
        "hidden": 0.7 * normal(rng, (batch, state), dtype),
        **_parameters(rng, sizes, dtype),
    }
    return _case(arguments, dtype, layout=layout)


def unroll_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of unroll: short and long sequences, one and many, each with a state to begin from."""
    plans = [*PLANS, ({"length": 12}, "float64", "contiguous")]
    cases = [_read_case(rng, plan) for plan in plans]
    for plan in WITH_GRADIENTS:
        base = _read_case(rng, plan)
        batch, length, _ = base.arguments["x"].shape
        cases.append(with_gradients(base, rng, (batch, length, len(base.arguments["bias"]))))
    asked_again(cases, cases[1])
    cases += [_read_case(rng, plan) for plan in MORE]
    cases.append(elsewhere(_read_case(rng, MORE[0])))
    return cases


# --- additive_attention ----------------------------------------------------------------------


def _padding(rng: np.random.Generator, batch: int, length: int) -> np.ndarray:
    """(B, S): True for the first states of each sequence; two or more are seen, if there are."""
    lengths = rng.integers(min(2, length), length + 1, size=(batch, 1))
    if length > 2:
        lengths[0] = rng.integers(2, length)  # so that something is hidden
    seen: np.ndarray = np.arange(length) < lengths
    return seen


def _scattered(rng: np.random.Generator, batch: int, length: int) -> np.ndarray:
    """(B, S): at random, with at least one hidden and two seen, if there are so many."""
    order = rng.random((batch, length)).argsort(axis=-1)
    seen: np.ndarray = order < rng.integers(min(2, length), max(length, 3), size=(batch, 1))
    return seen


def _look_case(rng: np.random.Generator, plan: Plan, kind: str) -> Case:
    fixed, dtype, layout = plan
    sizes = _sizes(rng, fixed)
    batch, length, state = (sizes[name] for name in ("batch", "length", "state"))
    compared = sizes["compared"]
    masks = {"padding": _padding, "scattered": _scattered}
    all_seen = np.ones((batch, length), dtype=bool)
    arguments = {
        "query": normal(rng, (batch, state), dtype),
        "states": normal(rng, (batch, length, state), dtype) + np.array(0.5, dtype),
        "weight_query": normal(rng, (compared, state), dtype) / np.array(math.sqrt(state), dtype),
        "weight_states": normal(rng, (compared, state), dtype) / np.array(math.sqrt(state), dtype),
        "vector": 1.5 * normal(rng, (compared,), dtype),
        "mask": masks[kind](rng, batch, length) if kind in masks else all_seen,
    }
    return _case(arguments, dtype, {"all": "all seen"}.get(kind, f"{kind} hidden"), layout=layout)


def additive_attention_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of additive_attention: with padding, with other masks, and with nothing hidden."""
    kinds = ("scattered", "padding")
    # As many states as sequences, or as numbers in a state: a wrong axis makes no error there.
    plans = [*PLANS, ({"length": 6, "state": 6}, "float32", "contiguous")]
    cases = [_look_case(rng, plan, kinds[number % 2]) for number, plan in enumerate(plans)]
    cases.append(_look_case(rng, ({}, "float32", "contiguous"), "all"))
    for plan, kind in zip(WITH_GRADIENTS, ("padding", "scattered"), strict=True):
        base = _look_case(rng, plan, kind)
        cases.append(with_gradients(base, rng, base.arguments["query"].shape))
    asked_again(cases, cases[1])
    cases.append(_look_case(rng, MORE[1], "scattered"))
    cases.append(elsewhere(_look_case(rng, PLANS[0], "padding")))
    return cases


# --- layer_cost ------------------------------------------------------------------------------


def layer_cost_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of layer_cost: kernels that reach the end exactly and not, batches of one and many."""
    sizes = iter(int(size) for size in rng.permutation(np.arange(5, 40)))
    plan: list[tuple[Any, ...]] = [
        *(("recurrent", 1, 4, 3), ("attention", 1, 4, 3), ("convolution", 1, 4, 3)),
        *(("recurrent", 2, 7, 5), ("attention", 3, 7, 5), ("convolution", 2, 8, 5, 4)),
        *(("convolution", 1, 9, 2, 5), ("convolution", 3, 10, 6, 5), ("convolution", 2, 6, 3, 2)),
        *(("convolution", 1, 3, 4, 7), ("attention", 1, 2, 6), ("recurrent", 4, 2, 6)),
        ("recurrent", next(sizes), next(sizes), next(sizes)),
        ("attention", next(sizes), next(sizes), next(sizes)),
        ("convolution", next(sizes), next(sizes), next(sizes)),
        ("convolution", next(sizes), next(sizes), next(sizes), int(rng.integers(4, 9))),
        ("recurrent", next(sizes), next(sizes), next(sizes), int(rng.integers(4, 9))),
        ("attention", next(sizes), next(sizes), next(sizes), int(rng.integers(4, 9))),
    ]
    names = ("layer", "batch_size", "length", "size", "kernel_size")
    cases = [plain_case(**dict(zip(names, each, strict=False))) for each in plan]
    asked_again(cases, cases[5])
    for each in (("recurrent", 2, 300, 7), ("attention", 2, 300, 7), ("convolution", 2, 300, 7, 4)):
        cases.append(plain_case(**dict(zip(names, each, strict=False))))
    return cases


# --- memory_span -----------------------------------------------------------------------------


class Mixing(nn.Module):
    """Gives each output a sum of the tokens, with weights of its own for each number.

    Args:
        weights: "mix" (T, T, N), by output, token and number; "project" (N, D).
    """

    mix: Tensor
    project: Tensor

    def __init__(self, weights: Arrays) -> None:
        super().__init__()
        for name in ("mix", "project"):
            self.register_parameter(name, nn.Parameter(torch.zeros(weights[name].shape)))

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) to (B, T, N)."""
        length = x.shape[1]
        return torch.einsum("tsn,bsn->btn", self.mix[:length, :length], x @ self.project.T)


class Reader(nn.Module):
    """A recurrent network that returns its states alone.

    Args:
        weights: "weight_x" (N, D), "weight_h" (N, N) and "bias" (N,).
    """

    weight_x: Tensor
    weight_h: Tensor
    bias: Tensor

    def __init__(self, weights: Arrays) -> None:
        super().__init__()
        for name in ("weight_x", "weight_h", "bias"):
            self.register_parameter(name, nn.Parameter(torch.zeros(weights[name].shape)))

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) to (B, T, N)."""
        hidden, states = torch.zeros_like(self.bias).expand(len(x), -1), []
        for token in x.unbind(dim=1):
            hidden = torch.tanh(token @ self.weight_x.T + hidden @ self.weight_h.T + self.bias)
            states.append(hidden)
        return torch.stack(states, dim=1)


def _build(weights: Arrays) -> nn.Module:
    return Mixing(weights) if "mix" in weights else Reader(weights)


MODEL = made_arguments.measured_model_maker(_build)


def chain(taps: np.ndarray) -> np.ndarray:
    """Make "mix" (T, T, N) of what is left of a token after each number of steps, taps (T, N)."""
    length = len(taps)
    mix = np.zeros((length, length, taps.shape[1]))
    for token in range(length):
        mix[token:, token] = taps[: length - token]
    return mix


def _taps(rng: np.random.Generator, kind: str, length: int, size: int) -> np.ndarray:
    """Say how much of a token is left after each number of steps: (T, N), row 0 is 1."""
    steps = np.arange(length)[:, None]
    taps = np.zeros((length, size))
    if kind == "fading":
        taps[:] = float(rng.uniform(0.5, 0.9)) ** steps
    if kind == "turning":
        taps[:] = (-float(rng.uniform(0.6, 0.9))) ** steps
    if kind == "adding":
        taps[:] = 1.0
    if kind == "swelling":  # the first distance is not the largest one
        taps[:] = 2.0
        taps[length // 2 :] = 0.8
    if kind == "echo":  # forgets all, and then it is there again
        taps[int(rng.integers(length // 2, length - 1))] = float(rng.uniform(0.7, 1.0))
        taps[1] = 0.4
    if kind == "uneven":  # some numbers of the state keep more than others
        taps[:] = np.linspace(0.4, 0.95, size) ** steps
    if kind == "spread":  # one number keeps more than the others, and then it is alone
        taps[2] = 0.28
        taps[2, 0] = 0.95
        taps[length // 2, 0] = 1.0
        taps[-1, 0] = 0.5
    if kind == "opposed":  # what the numbers keep cancels out when it is added up
        taps[: length // 2] = np.where(np.arange(size) % 2, -0.9, 0.9)
    taps[0] = 1.0
    return taps


def _mix(rng: np.random.Generator, kind: str, length: int, size: int) -> np.ndarray:
    """Make "mix" (T, T, N); a model that is no chain sees all tokens, or those behind it."""
    everywhere = np.ones((length, length, size))
    if kind == "looking":
        return everywhere / length + np.eye(length)[:, :, None]
    if kind == "backwards":
        return chain(_taps(rng, "fading", length, size))[::-1, ::-1].copy()
    return chain(_taps(rng, kind, length, size))


def distances(arguments: dict[str, Any]) -> np.ndarray:
    """Return the distance of the two runs at each place (T,), by numpy and in float64."""
    weights = {name: each.astype(float) for name, each in arguments["model"]["weights"].items()}
    x = arguments["x"][0].astype(float)
    change = arguments["other"].astype(float) - x[0]
    if "mix" in weights:
        moved: np.ndarray = weights["mix"][:, 0] * (weights["project"] @ change)
        return np.asarray(np.linalg.norm(moved, axis=-1))
    hidden = np.zeros((2, len(weights["bias"])))
    found = []
    for place, token in enumerate(x):
        tokens = np.array([token, arguments["other"] if place == 0 else token], dtype=float)
        hidden = np.tanh(
            tokens @ weights["weight_x"].T + hidden @ weights["weight_h"].T + weights["bias"]
        )
        found.append(np.linalg.norm(hidden[0] - hidden[1]))
    return np.array(found)


def known_span(arguments: dict[str, Any]) -> int:
    """Return the last place at which enough of the difference is left."""
    found = distances(arguments)
    return int(np.flatnonzero(found >= arguments["share"] * found[0]).max())


def is_clear(arguments: dict[str, Any]) -> bool:
    """Whether no distance is near the share that is asked for."""
    found = distances(arguments)
    ratio = np.maximum(found / found[0], 1e-9) / arguments["share"]
    return bool((np.maximum(ratio, 1 / ratio)[1:] > CLEAR).all())


def span_case(
    rng: np.random.Generator, kind: str, length: int, share: float, dtype: str = "float32"
) -> Case:
    """Make a case of memory_span.

    Args:
        rng: the source.
        kind: of the model, as in `_taps` and `_mix`, or "tanh", a recurrent network.
        length: T.
        share: of the first distance.
        dtype: of all numbers.

    Returns:
        the case.
    """
    token, state = different_sizes(rng, 3, 6, 2)
    if kind in ("spread", "opposed"):
        token, state = 6, 4
    if kind == "tanh":
        sizes = {"token": token, "state": state}
        weights = _parameters(rng, sizes, dtype)
        turn = np.linalg.qr(rng.standard_normal((state, state)))[0]
        weights["weight_h"] = (rng.uniform(0.7, 1.1) * turn).astype(dtype)
    else:
        weights = {
            "mix": _mix(rng, kind, length, state).astype(dtype),
            "project": normal(rng, (state, token), dtype),
        }
    said = f"{'a recurrent network' if kind == 'tanh' else kind}, {state} numbers"
    x = 2 * normal(rng, (1, length, token), dtype)
    other = normal(rng, (token,), dtype)
    if kind in ("spread", "opposed"):
        # All numbers of the first output change by 1; the first one does not change, or less than
        # the others, if the token goes away or something is added to it.
        outputs = np.array([[1.0, 0.0], *[[2.0, 1.0]] * (state - 1)])
        other[:], x[0, 0] = (np.linalg.pinv(weights["project"]) @ outputs).T
    arguments = {
        # A long x comes with a model in training mode, which changes nothing.
        "model": made_arguments.model(said, weights, training=length > LONGEST),
        "x": x,
        "other": other,
        "share": share,
    }
    return _case(arguments, dtype)


def memory_span_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of memory_span: models that fade, keep, forget for a while, or are no chain at all."""
    plans = [
        ("fading", 9, 0.3, "float32"),
        ("fading", 12, 0.1, "float64"),
        ("turning", 10, 0.25, "float32"),
        ("adding", 6, 0.8, "float32"),
        ("swelling", 7, 0.6, "float64"),
        ("echo", 9, 0.5, "float32"),
        ("echo", 12, 0.3, "float64"),
        ("uneven", 11, 0.4, "float32"),
        ("uneven", 14, 0.2, "float64"),
        ("spread", 9, 0.4, "float32"),
        ("opposed", 8, 0.5, "float64"),
        ("looking", 6, 0.1, "float32"),
        ("looking", 5, 0.4, "float64"),
        ("backwards", 7, 0.2, "float32"),
        ("tanh", 12, 0.3, "float32"),
        ("tanh", 14, 0.1, "float64"),
        ("tanh", 10, 0.5, "float32"),
        ("fading", 2, 0.2, "float32"),
        ("fading", 70, 0.3, "float64"),
    ]
    cases = []
    for plan in plans:
        case = span_case(rng, *plan)
        while not is_clear(case.arguments):
            case = span_case(rng, *plan)
        cases.append(case)
    asked_again(cases, cases[5])
    return cases


# --- find_the_bug ----------------------------------------------------------------------------


def _torch_reader(weights: Arrays) -> nn.Module:
    state, token = weights["weight_ih_l0"].shape
    return nn.RNN(token, state, batch_first=True)


READER = made_arguments.measured_model_maker(_torch_reader)


def _reader(rng: np.random.Generator, sizes: dict[str, int], dtype: str) -> dict[str, Any]:
    """Describe an nn.RNN."""
    drawn = _parameters(rng, sizes, dtype)
    weights = {
        "weight_ih_l0": drawn["weight_x"],
        "weight_hh_l0": drawn["weight_h"],
        "bias_ih_l0": drawn["bias"],
        "bias_hh_l0": normal(rng, drawn["bias"].shape, dtype) / np.array(4.0, dtype),
    }
    said = f"nn.RNN({sizes['token']}, {sizes['state']})"
    return made_arguments.model(said, weights, training=sizes["length"] > LONGEST)


def _both_case(rng: np.random.Generator, plan: Plan) -> Case:
    fixed, dtype, layout = plan
    sizes = _sizes(rng, fixed)
    arguments = {
        "forwards": _reader(rng, sizes, dtype),
        "backwards": _reader(rng, sizes, dtype),
        "x": normal(rng, (sizes["batch"], sizes["length"], sizes["token"]), dtype),
    }
    return _case(arguments, dtype, layout=layout)


def find_the_bug_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of find_the_bug, none of which the code as found passes: no sequence of one token."""
    plans = [
        *(plan for plan in PLANS if plan[0].get("length") != 1),
        ({"length": 2}, "float32", "contiguous"),
        ({"length": 9}, "float64", "contiguous"),
        ({"batch": 1, "length": 3}, "float32", "contiguous"),
        ({"batch": 2, "length": 6}, "float32", "contiguous"),
    ]
    cases = [_both_case(rng, plan) for plan in plans]
    asked_again(cases, cases[1])
    cases += [_both_case(rng, plan) for plan in MORE]
    return cases
