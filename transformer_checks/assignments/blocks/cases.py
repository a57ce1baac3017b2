"""Makes the cases of the assignment "blocks"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_checks.assignments import made_arguments
from transformer_checks.assignments.attention.cases import Sizes, label, make_mask
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
from transformer_ref import layers as reference

EPS = 1e-5
TINY = 2e-3
BARELY = 1e-10  # far above the rounding of float64, and below all tolerances that come to mind
LEAK = later(
    "the result changes when a token of the memory that memory_mask hides gets another content: "
    "look at which mask goes to which attention"
)

# --- weights ---------------------------------------------------------------------------------


def _linear(rng: np.random.Generator, name: str, inner: int, outer: int, dtype: str) -> Arrays:
    """Weights of a linear layer that keep the variance of its input, with a bias that shows."""
    weight = normal(rng, (outer, inner), dtype) / np.sqrt(inner)
    return {
        f"{name}.weight": weight.astype(dtype),
        f"{name}.bias": (normal(rng, (outer,), dtype) * 0.5).astype(dtype),
    }


def _norm(rng: np.random.Generator, name: str, d_model: int, dtype: str) -> Arrays:
    return {f"{name}.{key}": value for key, value in _scale(rng, d_model, dtype).items()}


def _scale(rng: np.random.Generator, d_model: int, dtype: str) -> Arrays:
    """Weight and bias of a norm: no weight is 0, 1 or that of another norm."""
    weight = rng.uniform(0.5, 1.6, size=d_model) * rng.choice([-1.0, 1.0], size=d_model)
    return {"weight": weight.astype(dtype), "bias": normal(rng, (d_model,), dtype)}


def _attention(rng: np.random.Generator, name: str, d_model: int, dtype: str) -> Arrays:
    found: Arrays = {}
    for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
        found |= _linear(rng, f"{name}.{part}", d_model, d_model, dtype)
    return found


def _feed_forward(
    rng: np.random.Generator, sizes: tuple[int, int], dtype: str, prefix: str = ""
) -> Arrays:
    d_model, d_ff = sizes
    return {
        **_linear(rng, f"{prefix}linear1", d_model, d_ff, dtype),
        **_linear(rng, f"{prefix}linear2", d_ff, d_model, dtype),
    }


def _layer(rng: np.random.Generator, sizes: tuple[int, int], dtype: str, cross: bool) -> Arrays:
    d_model = sizes[0]
    found = _attention(rng, "self_attention", d_model, dtype)
    if cross:
        found |= _attention(rng, "cross_attention", d_model, dtype)
    found |= _feed_forward(rng, sizes, dtype, "feed_forward.")
    for number in range(1, 4 if cross else 3):
        found |= _norm(rng, f"norm{number}", d_model, dtype)
    return found


# --- cases -----------------------------------------------------------------------------------


def _named(
    settings: Mapping[str, Any], arguments: Mapping[str, Any], dtype: str, layout: str
) -> str:
    """Describe a case; an explicit None among the masks is left out."""
    shown = {name: value for name, value in arguments.items() if value is not None}
    parts = [f"{name}={value!r}" for name, value in settings.items()]
    parts += [*described(shown), dtype, *["not contiguous"] * (layout != "contiguous")]
    return ", ".join(parts)


def _shape(rng: np.random.Generator, axes: int) -> tuple[int, ...]:
    """Draw different sizes, the last one the largest: D."""
    *leading, d_model = sorted(different_sizes(rng, 2, 9, axes))
    return (*(int(size) for size in rng.permutation(leading)), d_model + 2)


def _norm_case(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: str, eps: float = EPS, **how: Any
) -> Case:
    """Make a case of layer_norm: tokens of any mean and spread, unless `how` says otherwise."""
    offset, spread = normal(rng, (*shape[:-1], 1), dtype), 0.5 + rng.random((*shape[:-1], 1))
    x = how.get("factor", 1.0) * (
        normal(rng, shape, dtype) * spread + how.get("offset", 2.0) * offset
    )
    if how.get("constant"):
        x[..., :1, :] = 2.0
    arguments: dict[str, Any] = {"x": x.astype(dtype)}
    if how.get("change"):
        arguments["change"] = normal(rng, shape, dtype)
    arguments |= {**_scale(rng, shape[-1], dtype), "eps": eps}
    layout = how.get("layout", "contiguous")
    name = _named({}, arguments, dtype, layout) + how.get("note", "")
    return Case(name, arguments, layout=layout)


def layer_norm_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of layer_norm: 1 to 4 axes, both dtypes, eps from negligible to large."""
    plans: list[tuple[int, str, float, dict[str, Any]]] = [
        (2, "float32", EPS, {}),
        (3, "float32", EPS, {}),
        (1, "float32", EPS, {}),
        (3, "float64", 0.1, {}),
        (3, "float32", 0.5, {}),
        (4, "float32", EPS, {}),
        (4, "float64", 1e-3, {}),
        (3, "float32", EPS, {"layout": "strided"}),
        (2, "float64", 0.2, {"layout": "strided"}),
        (2, "float32", 0.01, {"constant": True, "note": ", a token of equal features"}),
        (3, "float64", EPS, {"factor": 1e-3, "note": ", tiny numbers"}),
        (3, "float32", EPS, {"factor": 6.0}),
    ]
    cases = [
        _norm_case(rng, _shape(rng, axes), dtype, eps, **how) for axes, dtype, eps, how in plans
    ]
    square = int(rng.integers(5, 9))
    cases.append(_norm_case(rng, (square, square), "float32", 0.01))
    cases.append(_norm_case(rng, (1, 1, square + 2), "float64", EPS))
    asked_again(cases, cases[1])
    for axes, dtype in ((3, "float32"), (2, "float64")):
        case = _norm_case(rng, _shape(rng, axes), dtype, 0.1)
        cases.append(with_gradients(case, rng, case.arguments["x"].shape))
    cases.append(_norm_case(rng, (2, 70, 5), "float32", 0.1))
    cases.append(_norm_case(rng, _shape(rng, 3), "float16", 0.1, offset=0.0))
    return cases


def find_the_bug_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of add_and_norm: never a single token, with which the bug would not show."""
    plans: list[tuple[str, float, str]] = [
        ("float32", EPS, "contiguous"),
        ("float32", EPS, "contiguous"),
        ("float64", EPS, "contiguous"),
        ("float64", 0.1, "contiguous"),
        ("float32", 0.5, "contiguous"),
        ("float32", EPS, "strided"),
        ("float64", 0.2, "strided"),
    ]

    def case(
        shape: tuple[int, ...], dtype: str, eps: float, layout: str = "contiguous", **how: Any
    ) -> Case:
        return _norm_case(rng, shape, dtype, eps, layout=layout, change=True, **how)

    cases = [case(_shape(rng, 3), *plan) for plan in plans]
    square = int(rng.integers(5, 8))
    cases += [
        case((1, 3, square + 2), "float32", EPS),
        case((2, square, square), "float32", 0.01),
        case((square, square, square), "float64", 0.01),
    ]
    asked_again(cases, cases[2])
    for dtype in ("float32", "float64"):
        last = case(_shape(rng, 3), dtype, 0.1)
        cases.append(with_gradients(last, rng, last.arguments["x"].shape))
    cases.append(case((2, 70, 5), "float32", 0.1))
    cases.append(case(_shape(rng, 3), "float16", 0.1, offset=0.0))
    return cases


def lookup_network_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of lookup_network: one key, all possible keys, keys that differ in one number."""
    plans: list[tuple[int, int, str]] = [
        (1, 2, "contiguous"),
        (3, 4, "contiguous"),
        (2, 5, "contiguous"),
        (4, 4, "contiguous"),
        (8, 3, "contiguous"),
        (6, 6, "strided"),
        (12, 7, "contiguous"),
        (5, 3, "strided"),
        (70, 7, "contiguous"),
        (1, 6, "contiguous"),
    ]
    cases = [_lookup_case(rng, *plan) for plan in plans]
    asked_again(cases, cases[1])
    return cases


def _lookup_case(rng: np.random.Generator, num_keys: int, d_model: int, layout: str) -> Case:
    """Draw keys, two of them neighbors, and values of which none is 0."""
    rows = all_tokens(d_model).numpy()
    first = int(rng.integers(len(rows)))
    nearest = np.argsort((rows != rows[first]).sum(axis=1), kind="stable")[: 1 + d_model]
    chosen = [first, int(rng.choice(nearest[1:]))]
    chosen += [int(each) for each in rng.permutation(len(rows)) if each not in chosen]
    keys = rng.permutation(rows[chosen[:num_keys]])
    values = rng.uniform(0.5, 4.0, keys.shape) * rng.choice([-1.0, 1.0], keys.shape)
    arguments = {"keys": keys, "values": values.astype("float32")}
    return Case(_named({}, arguments, "float32", layout), arguments, layout=layout)


def all_tokens(d_model: int) -> Tensor:
    """Return all tokens of 1 and -1, as (2**D, D)."""
    numbers = torch.arange(2**d_model)[:, None] >> torch.arange(d_model)
    return 1.0 - 2.0 * (numbers % 2)


def looked_up(network: Any) -> Tensor:
    """Return what a network makes of each token of 1 and -1.

    Args:
        network: what an answer returned.

    Returns:
        (2**D, D), as its weights say.

    Raises:
        ReturnedError: if it is not a FeedForward with ReLU.
    """
    if type(network) is not reference.FeedForward:
        said = later("expected a reference.FeedForward, received {what}")
        raise ReturnedError(said, **type_and_size(network))
    if network.activation != "relu":
        said = later('expected activation="relu", received "{received}"')
        raise ReturnedError(said, received=str(network.activation))
    first, second = network.linear1, network.linear2
    hidden = F.linear(all_tokens(first.weight.shape[1]), first.weight, first.bias).relu()
    return F.linear(hidden, second.weight, second.bias)


def _learning(case: Case) -> Case:
    """Put the module into training mode."""
    return replace(case, name=f"{case.name}, in training mode", training=True)


def _settings(rng: np.random.Generator, sizes: Sizes, norm: str) -> dict[str, Any]:
    """Settings of a layer; without a norm the call says nothing of it."""
    d_ff = int(rng.choice([size for size in range(5, 30) if size not in (sizes.d_model,)]))
    settings = {"d_model": sizes.d_model, "num_heads": sizes.heads, "d_ff": d_ff}
    return {**settings, "norm": norm} if norm else settings


def _small(rng: np.random.Generator, **fixed: int) -> Sizes:
    """Draw sizes whose D stays small enough to be fast."""
    heads, head_size = ((2, 3), (3, 2), (2, 5), (3, 4), (4, 3), (5, 2))[int(rng.integers(6))]
    used = {heads, head_size, *fixed.values()}
    spare = [size for size in range(2, 10) if size not in used]
    batch, *lengths = (int(size) for size in rng.permutation(spare)[:3])
    drawn = Sizes(batch, heads, min(lengths), max(lengths), head_size, head_size)
    return replace(drawn, **fixed)


def _tiny(case: Case) -> Case:
    """Make the numbers so small that the eps of a norm shows."""
    x = case.arguments["x"]
    arguments = {**case.arguments, "x": (TINY * x).astype(x.dtype)}
    return replace(case, name=f"{case.name}, tiny numbers", arguments=arguments)


def _encoder_case(
    rng: np.random.Generator, sizes: Sizes, norm: str, kind: str, dtype: str, layout: str
) -> Case:
    own = replace(sizes, queries=sizes.keys)
    arguments: dict[str, Any] = {"x": normal(rng, (own.batch, own.keys, own.d_model), dtype)}
    mask = make_mask(rng, kind, own, 2)
    if mask is not None:
        arguments["mask"] = mask
    settings = _settings(rng, own, norm)
    weights = _layer(rng, (settings["d_model"], settings["d_ff"]), dtype, cross=False)
    name = _named(settings, arguments, dtype, layout)
    return Case(name, arguments, settings, weights, layout)


def encoder_layer_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of EncoderLayer: each kind of norm, and the default, with each kind of mask."""
    plans = [
        ("", "none", "float32", "contiguous"),
        ("pre", "none", "float32", "contiguous"),
        ("post", "none", "float64", "contiguous"),
        ("", "padding", "float32", "contiguous"),
        ("pre", "padding", "float64", "contiguous"),
        ("post", "causal", "float32", "contiguous"),
        ("pre", "causal", "float32", "contiguous"),
        ("", "target", "float64", "contiguous"),
        ("pre", "square", "float32", "contiguous"),
        ("post", "padding", "float32", "strided"),
        ("pre", "none", "float64", "strided"),
        ("pre", "heads", "float32", "contiguous"),
    ]
    cases = [_encoder_case(rng, _small(rng), *plan) for plan in plans]
    one_token, one_head = replace(_small(rng), batch=1, keys=1), _small(rng, heads=1, head_size=7)
    cases += [
        _encoder_case(rng, one_token, "pre", "none", "float32", "contiguous"),
        _encoder_case(rng, one_head, "post", "target", "float32", "contiguous"),
        _tiny(_encoder_case(rng, _small(rng), "pre", "none", "float32", "contiguous")),
    ]
    asked_again(cases, cases[1], {"mask": None})
    for norm, kind, dtype in (("post", "padding", "float64"), ("pre", "causal", "float32")):
        case = _encoder_case(rng, _small(rng), norm, kind, dtype, "contiguous")
        cases.append(with_gradients(case, rng, case.arguments["x"].shape))
    long = _small(rng, batch=1, keys=66)
    cases += [
        _encoder_case(rng, long, "pre", "causal", "float32", "contiguous"),
        _encoder_case(rng, _small(rng), "post", "padding", "float16", "contiguous"),
        _learning(_encoder_case(rng, _small(rng), "pre", "none", "float32", "contiguous")),
    ]
    return cases


def _target_mask(rng: np.random.Generator, kind: str, sizes: Sizes) -> np.ndarray | None:
    """A mask for T queries and T keys."""
    return make_mask(rng, kind, replace(sizes, keys=sizes.queries), 2)


def _decoder_case(
    rng: np.random.Generator, sizes: Sizes, plan: tuple[str, str, str, str, str]
) -> Case:
    norm, tgt, cross, dtype, layout = plan
    arguments: dict[str, Any] = {
        "x": normal(rng, (sizes.batch, sizes.queries, sizes.d_model), dtype),
        "memory": normal(rng, (sizes.batch, sizes.keys, sizes.d_model), dtype),
    }
    tgt_mask, memory_mask = _target_mask(rng, tgt, sizes), make_mask(rng, cross, sizes, 2)
    if tgt_mask is not None or memory_mask is not None:
        arguments["tgt_mask"] = tgt_mask  # None too, for those who call their arguments otherwise
    if memory_mask is not None:
        arguments["memory_mask"] = memory_mask
    settings = _settings(rng, sizes, norm)
    weights = _layer(rng, (settings["d_model"], settings["d_ff"]), dtype, cross=True)
    name = _named(settings, arguments, dtype, layout)
    return Case(name, arguments, settings, weights, layout)


def _turned(sizes: Sizes) -> Sizes:
    """Make the target the longer of the two."""
    return replace(sizes, queries=sizes.keys, keys=max(3, sizes.queries))


def decoder_layer_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of DecoderLayer: each kind of norm with both masks, T below, above and equal to S."""
    plans = [
        ("", "none", "none", "float32", "contiguous"),
        ("pre", "none", "none", "float32", "contiguous"),
        ("post", "causal", "none", "float64", "contiguous"),
        ("pre", "causal", "padding", "float32", "contiguous"),
        ("", "causal", "padding", "float32", "contiguous"),
        ("post", "none", "padding", "float32", "contiguous"),
        ("pre", "target", "target", "float64", "contiguous"),
        ("", "square", "square", "float32", "contiguous"),
        ("post", "target", "padding", "float32", "strided"),
        ("pre", "none", "none", "float64", "strided"),
        ("pre", "heads", "heads", "float32", "contiguous"),
    ]
    cases = [
        _decoder_case(rng, sizes if number % 2 else _turned(sizes), plan)
        for number, plan in enumerate(plans)
        for sizes in [_small(rng)]
    ]
    for plan in (
        ("post", "none", "none", "float32", "contiguous"),
        ("pre", "causal", "padding", "float64", "contiguous"),
    ):
        sizes = _small(rng)
        cases.append(_decoder_case(rng, replace(sizes, queries=sizes.keys), plan))
    first = replace(_small(rng), batch=1, queries=1)
    cases.append(_decoder_case(rng, first, ("post", "none", "padding", "float32", "contiguous")))
    plan = ("pre", "none", "none", "float32", "contiguous")
    cases.append(_tiny(_decoder_case(rng, _small(rng), plan)))
    for base in (cases[3], cases[4]):
        followed(cases, base, _behind_the_mask(base), "hidden memory changed", LEAK)
    asked_again(cases, cases[1], {"tgt_mask": None, "memory_mask": None})
    for norm, dtype in (("post", "float64"), ("pre", "float32")):
        plan = (norm, "causal", "padding", dtype, "contiguous")
        case = _decoder_case(rng, _small(rng), plan)
        cases.append(with_gradients(case, rng, case.arguments["x"].shape))
    long = _small(rng, batch=1, queries=66, keys=68)
    plan = ("pre", "none", "none", "float32", "contiguous")
    cases += [
        _decoder_case(rng, long, ("post", "causal", "padding", "float32", "contiguous")),
        _decoder_case(rng, _small(rng), ("pre", "causal", "padding", "float16", "contiguous")),
        _learning(_decoder_case(rng, _small(rng), plan)),
    ]
    return cases


def _behind_the_mask(case: Case) -> dict[str, Any]:
    """Give the tokens of the memory that a padding mask hides another content, and a loud one."""
    memory, seen = case.arguments["memory"], case.arguments["memory_mask"][:, 0, 0, :, None]
    return {"memory": np.where(seen, memory, -30.0 * memory).astype(memory.dtype)}


def count_multiplications_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of count_multiplications: by hand, drawn, and the paper's base and big model."""
    sizes = [(2, 4, 1, 3, 3, 2), (4, 6, 2, 7, 2, 5), (6, 5, 3, 11, 1, 1), (4, 8, 1, 10, 6, 6)]
    for _ in range(6):
        d_model = 2 * int(rng.integers(4, 60))
        d_ff, layers = int(rng.integers(9, 400)), int(rng.integers(2, 9))
        src_len, tgt_len = different_sizes(rng, 2, 90, 2)
        sizes.append((d_model, d_ff, layers, int(rng.integers(50, 3000)), src_len, tgt_len))
    sizes += [(512, 2048, 6, 37_000, 25, 25), (1024, 4096, 6, 37_000, 30, 1000)]
    names = ("d_model", "d_ff", "num_layers", "vocab_size", "src_len", "tgt_len")
    cases = [plain_case(**dict(zip(names, each, strict=True))) for each in sizes]
    asked_again(cases, cases[4])
    return cases


# --- layers whose sublayers are silenced ------------------------------------------------------


def _stack(weights: Arrays) -> nn.Module:
    d_model, d_ff = len(weights["0.norm1.weight"]), len(weights["0.feed_forward.linear1.bias"])
    heads, count = int(weights["num_heads"]), sum(name.endswith("norm1.bias") for name in weights)
    return nn.ModuleList(
        reference.EncoderLayer(d_model, heads, d_ff, norm="pre") for _ in range(count)
    )


STACK = made_arguments.measured_model_maker(_stack, list)
CONSTANT = "every norm gives the same for all tokens"
TAKEN_BACK = "the first network takes back what the first attention writes"


def damage_by_sublayer_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of damage_by_sublayer: any layers, and those whose damage is known from their make."""
    plans: list[tuple[str, int, dict[str, int], str, str]] = [
        ("", 2, {}, "float32", "contiguous"),
        ("", 3, {}, "float64", "contiguous"),
        (TAKEN_BACK, 2, {}, "float32", "contiguous"),
        (CONSTANT, 2, {}, "float32", "contiguous"),
        ("", 1, {}, "float32", "contiguous"),
        ("", 2, {"batch": 1}, "float32", "contiguous"),
        ("", 2, {"keys": 1}, "float64", "contiguous"),
        ("", 3, {"heads": 1, "head_size": 7}, "float32", "contiguous"),
        ("", 2, {}, "float32", "strided"),
        (TAKEN_BACK, 3, {}, "float64", "contiguous"),
        (TAKEN_BACK, 1, {}, "float64", "strided"),
        (CONSTANT, 3, {}, "float64", "contiguous"),
    ]
    cases = [_damage_case(rng, *plan) for plan in plans]
    asked_again(cases, cases[0])
    cases.append(_damage_case(rng, "", 2, {}, "float32", "contiguous", training=True))
    cases.append(_damage_case(rng, "", 2, {"batch": 1, "keys": 66}, "float32", "contiguous"))
    return cases


def _damage_case(
    rng: np.random.Generator,
    kind: str,
    count: int,
    fixed: dict[str, int],
    dtype: str,
    layout: str,
    training: bool = False,
) -> Case:
    """Make a case with this many layers, of one kind."""
    sizes = _small(rng, **fixed)
    shape, d_ff = (sizes.batch, sizes.keys, sizes.d_model), _settings(rng, sizes, "")["d_ff"]
    layers = [_layer(rng, (sizes.d_model, d_ff), dtype, cross=False) for _ in range(count)]
    x = normal(rng, shape, dtype)
    if kind == CONSTANT:
        for layer in layers:
            layer["norm1.weight"][:] = layer["norm2.weight"][:] = 0.0
    if kind == TAKEN_BACK:
        _take_back(rng, layers[0])
        up_and_down = np.zeros(sizes.d_model)
        up_and_down[:2] = 1.0, -1.0
        x = (rng.uniform(0.5, 1.5, (*shape[:2], 1)) * up_and_down).astype(dtype)
    weights = {
        f"{n}.{name}": each for n, layer in enumerate(layers) for name, each in layer.items()
    }
    said = f"{count} of d_model={sizes.d_model}, num_heads={sizes.heads}, d_ff={d_ff}"
    said += "; in training mode" * training
    described_weights = {**weights, "num_heads": np.array(sizes.heads)}
    arguments = {
        "layers": made_arguments.model(
            f"{said}; {kind}" if kind else said, described_weights, training=training
        ),
        "x": x,
    }
    return Case(label(arguments, dtype, layout), arguments, layout=layout)


def _take_back(rng: np.random.Generator, layer: Arrays) -> None:
    """Let attention exchange the two features of x, and the network take that back.

    Tokens have the features (a, -a, 0, 0, ...) with a > 0, of which a norm leaves the sign and a
    size that D alone gives. Attention adds so much that the sign turns; one hidden unit sees
    that, and adds the opposite. Without the attention it sees nothing to take back.
    """
    d_model, change = len(layer["norm1.weight"]), rng.uniform(3.0, 5.0)
    for name in ("norm1", "norm2"):
        layer[f"{name}.weight"][:], layer[f"{name}.bias"][:] = 1.0, 0.0
    layer["self_attention.out_proj.weight"][:] = layer["self_attention.out_proj.bias"][:] = 0.0
    layer["self_attention.out_proj.bias"][:2] = -change, change
    first, second = layer["feed_forward.linear1.weight"], layer["feed_forward.linear2.weight"]
    layer["feed_forward.linear1.bias"][:] = -10.0 * d_model  # all hidden units are silent
    layer["feed_forward.linear1.bias"][0] = 0.0  # but this one
    first[0], second[:, 0] = 0.0, 0.0
    first[0, :2] = -0.5, 0.5
    second[:2, 0] = np.array([change, -change]) / np.sqrt(d_model / 2)
    layer["feed_forward.linear2.bias"][:] = 0.0


# --- a network whose hidden units are looked at --------------------------------------------


def _network(weights: Arrays) -> nn.Module:
    return reference.FeedForward(len(weights["linear2.bias"]), len(weights["linear1.bias"]))


NETWORK = made_arguments.measured_model_maker(_network)
# What a hidden unit does on the inputs of its case: the first two are dead.
DEAD_ROLES = ("off", "zero")
ROLES = (*DEAD_ROLES, "once", "often", "on", "unheard")


def dead_units_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of dead_units: each hidden unit has a role, and its bias is made for it."""
    plans: list[tuple[tuple[str, ...], tuple[int, int, int], str, str]] = [
        (ROLES, (2, 3, 4), "float32", "contiguous"),
        (("off", "off", "once", "once", *ROLES), (3, 4, 5), "float32", "contiguous"),
        (("once", "once", "often", *ROLES), (4, 3, 6), "float64", "contiguous"),
        (("zero", "once", "unheard", *ROLES), (3, 5, 4), "float32", "contiguous"),
        (("off", "often", *ROLES), (4, 2, 5), "float32", "strided"),
        (("off", "often", "often", *ROLES), (2, 6, 5), "float64", "strided"),
        (ROLES, (1, 5, 4), "float32", "contiguous"),
        (ROLES, (4, 1, 3), "float64", "contiguous"),
        (("off", "on", "zero", "off", "on"), (1, 1, 4), "float32", "contiguous"),
        (("once", "often", "on", "unheard", "once"), (3, 4, 6), "float32", "contiguous"),
        (("off", "zero", "off"), (2, 3, 5), "float64", "contiguous"),
        (("once", "off", "on", "off"), (3, 2, 9), "float32", "contiguous"),
    ]
    cases = [
        unit_case(rng, [str(role) for role in rng.permutation(roles)], shape, dtype, layout)
        for roles, shape, dtype, layout in plans
    ]
    asked_again(cases, cases[1])
    cases += [
        unit_case(rng, ["off", "on", "once", "off"], (2, 3, 4), "float32", training=True),
        unit_case(rng, ["off", "once", "on", "off"], (1, 66, 4), "float32"),
        unit_case(rng, ["off", "barely", "on", "barely"], (2, 3, 4), "float64"),
    ]
    return cases


def unit_case(
    rng: np.random.Generator,
    roles: list[str],
    shape: tuple[int, int, int],
    dtype: str,
    layout: str = "contiguous",
    training: bool = False,
) -> Case:
    """Make a case whose hidden units have these roles for its tokens.

    Args:
        rng: for all that is drawn.
        roles: of each hidden unit: "off" is always below zero, "zero" always zero itself, "once"
            above zero for a single token, "barely" too, but by hardly anything, "often" for half
            of them, "on" for all; "unheard" is on, and linear2 makes nothing of it.
        shape: of x.
        dtype: of x and the weights.
        layout: of x.
        training: whether the network comes in training mode.

    Returns:
        the case.
    """
    x = normal(rng, shape, dtype)
    x[..., 0] += 3.0  # so that a row alone keeps some units silent, and a bias wakes others
    weights = _feed_forward(rng, (shape[-1], len(roles)), dtype)
    tokens = x.reshape(-1, shape[-1]).astype(np.float64)
    for number, role in enumerate(roles):
        row, bias = _row_and_bias(rng, role, tokens)
        weights["linear1.weight"][number], weights["linear1.bias"][number] = row, bias
        if role == "unheard":
            weights["linear2.weight"][:, number] = 0.0
    said = f"d_model={shape[-1]}, d_ff={len(roles)}" + "; in training mode" * training
    network = made_arguments.model(said, weights, training=training)
    arguments = {"feed_forward": network, "x": x}
    return Case(label(arguments, dtype, layout), arguments, layout=layout)


def _row_and_bias(
    rng: np.random.Generator, role: str, tokens: np.ndarray
) -> tuple[np.ndarray, float]:
    """Draw a row of linear1 until no token comes near zero, but where the unit is zero."""
    if role == "zero":
        return np.zeros(tokens.shape[1]), 0.0
    while True:
        row = normal(rng, tokens.shape[1:], "float64")
        falling = np.sort(tokens @ row)[::-1]
        margin = float(rng.uniform(0.2, 0.8))
        if role == "off":
            return row, -falling[0] - margin
        if role == "barely":
            return row, BARELY - falling[0]
        if role in ("on", "unheard"):
            return row, margin - falling[-1]
        above = 1 if role == "once" else max(1, len(falling) // 2)
        last, next_one = falling[above - 1 : above + 1]
        if last - next_one > 0.1:
            return row, -(last + next_one) / 2
