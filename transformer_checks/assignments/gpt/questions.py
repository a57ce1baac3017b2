"""What is asked of a model whose weights have no names that are known, and what its logits show.

A GPT is judged without the names of its parts, so no weights can be copied in, and no two right
ones give the same numbers. Each case asks one question instead, such as which logits change with
which token. The answer brings back the logits of several calls, and what they show is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from transformer_checks.running.asking import ReturnedError, build, call, type_and_size
from transformer_checks.task import Case, Outcome
from transformer_checks.translation import later

# Two logits are the same if they differ by less than this, compared with how they spread.
SAME = 1e-4
# As sharp as rounding allows: a token of which a head sees little is a token that it sees.
SEEN = 1e-5
# A slope that was measured may be off by this share.
SLOPE_SLACK = 1e-3


# --- GPT: what a case asks, beside the answer ------------------------------------------------

Raw = dict[str, Tensor]


def ask_gpt(answer: Any, case: Case, arguments: Mapping[str, Any]) -> Raw:
    """Build the models that the question of a case needs, and bring back what they give.

    Args:
        answer: the class.
        case: with the settings, and the question as its argument "asked".
        arguments: with the ids as a tensor.

    Returns:
        the logits (B, T, V) of the ids, and more where these have the right shape.
    """
    ids, asked = arguments["ids"], arguments["asked"]
    with torch.no_grad():
        model = _stirred(build(answer, case))
        logits = _logits(model, ids)
    found: Raw = {"logits": logits}
    if logits.shape != (*ids.shape, case.settings["vocab_size"]) or asked not in ASKED:
        return found
    return {**found, **ASKED[asked](answer, case, model, ids)}


def _stirred(model: nn.Module) -> nn.Module:
    """Add noise to all parameters, as some rightly start at 0, such as learned positions."""
    # Little of it: where a softmax saturates, nothing is seen of the other tokens.
    noise = torch.Generator().manual_seed(1)
    for parameter in model.parameters():
        parameter.add_((0.15 * torch.randn(parameter.shape, generator=noise)).to(parameter))
    return model


def _logits(model: Any, ids: Tensor) -> Tensor:
    found = call(model, {"ids": ids})
    if found is None:
        raise ReturnedError(later("forward returned None: is a `return` missing?"))
    if not isinstance(found, Tensor):
        said = later("forward should return the logits alone, received {what}")
        raise ReturnedError(said, **type_and_size(found))
    return found


def _changed_by_one(ids: Tensor, vocab_size: int) -> Tensor:
    """(B, T) to ((T+1) B, T): the rows as they are, and with each token changed in its turn."""
    batch, length = ids.shape
    blocks = ids.repeat(length + 1, 1).view(length + 1, batch, length)
    for place in range(length):
        blocks[place + 1, :, place] = (ids[:, place] + 1) % vocab_size
    return blocks.flatten(0, 1)


@torch.no_grad()
def _which_tokens(answer: Any, case: Case, model: nn.Module, ids: Tensor) -> Raw:
    """The logits of the rows, and of them with each token changed: (T+1, B, T, V)."""
    found = _logits(model, _changed_by_one(ids, case.settings["vocab_size"]))
    return {"rows": found.unflatten(0, (-1, len(ids)))}


@torch.no_grad()
def _which_order(answer: Any, case: Case, model: nn.Module, ids: Tensor) -> Raw:
    """The logits of the rows with their first two tokens swapped."""
    return {"swapped": _logits(model, ids[:, [1, 0, *range(2, ids.shape[1])]])}


@torch.no_grad()
def _which_rows(answer: Any, case: Case, model: nn.Module, ids: Tensor) -> Raw:
    """The logits of the batch turned round, and of each row by itself."""
    alone = torch.cat([_logits(model, row.unsqueeze(0)) for row in ids])
    return {"turned": _logits(model, ids.flip(0)), "alone": alone}


@torch.no_grad()
def _shortened(answer: Any, case: Case, model: nn.Module, ids: Tensor) -> Raw:
    """The logits of each beginning of the rows, all but the whole."""
    return {f"first {n}": _logits(model, ids[:, :n]) for n in range(1, ids.shape[1])}


@torch.no_grad()
def _the_same_again(answer: Any, case: Case, model: nn.Module, ids: Tensor) -> Raw:
    """The logits of the same ids, after those of others."""
    _logits(model, ids[:, :2])
    return {"again": _logits(model, ids)}


def _slope(answer: Any, case: Case, model: nn.Module, ids: Tensor) -> Raw:
    """Slopes of the logits' weighted sum along three directions: by the gradients, and measured.

    In float64, where a small step measures well; the gradients are trusted where the answer's own
    tensors do not allow that, which another case is about.
    """
    try:
        logits = _logits(model.double(), ids)
        sharp = logits.dtype == torch.float64
    except RuntimeError:
        logits, sharp = _logits(model.float(), ids), False
    random = torch.Generator().manual_seed(2)
    weights = torch.randn(logits.shape, generator=random).to(logits)
    parameters = [each for each in model.parameters() if each.requires_grad]
    total = (logits * weights).sum()
    gradients: tuple[Tensor | None, ...] = (None,) * len(parameters)
    if parameters and total.requires_grad:
        gradients = torch.autograd.grad(total, parameters, allow_unused=True)
    slopes = []
    for _ in range(3):
        ways = [torch.randn(each.shape, generator=random).to(each) for each in parameters]
        promised = total.new_zeros(())
        for gradient, way in zip(gradients, ways, strict=True):
            if gradient is not None:
                promised = promised + (gradient * way).sum()
        measured = _measured(model, ids, weights, parameters, ways) if sharp else promised
        slopes.append(torch.stack((promised.detach(), measured)))
    return {"slopes": torch.stack(slopes)}


@torch.no_grad()
def _measured(
    model: nn.Module,
    ids: Tensor,
    weights: Tensor,
    parameters: list[nn.Parameter],
    ways: list[Tensor],
) -> Tensor:
    """How fast the weighted sum of the logits grows if the parameters go that way."""
    step, ends = 1e-7, []  # so short that it seldom meets the bend of a ReLU
    for sign in (1, -2, 1):  # forward, back past the middle, and home
        for parameter, way in zip(parameters, ways, strict=True):
            parameter.add_(sign * step * way)
        ends.append((_logits(model, ids) * weights).sum())
    return (ends[0] - ends[1]) / (2 * step)


@torch.no_grad()
def _parameters(answer: Any, case: Case, model: nn.Module, ids: Tensor) -> Raw:
    """How many parameters there are with 1, 2 and 3 layers, and with a larger d_ff.

    Also the logits of 1 and 3 layers with the same parameters, where they have the same, and how
    those of 3 layers change when the second or the third is stirred, where they have their own.
    """

    def built(layers: int, **settings: int) -> nn.Module:
        changed = {**case.settings, "num_layers": layers, **settings}
        return build(answer, replace(case, settings=changed))

    models = [built(1), built(2), built(3)]
    wide = case.settings["d_ff"] + 4
    models += [built(1, d_ff=wide), built(2, d_ff=wide)]
    parameters = [dict(each.named_parameters()) for each in models]
    counts = [sum(each.numel() for each in found.values()) for found in parameters]
    found = _with_same_parameters(answer, case, ids, "num_layers", (1, 3))
    deep = models[2]
    for number in (2, 3):
        before = _logits(deep, ids)
        names = parameters[number - 1].keys() - parameters[number - 2].keys()
        for name in sorted(names):
            parameter = parameters[2][name]
            parameter.add_(0.3 * torch.randn(parameter.shape).to(parameter))
        if names:
            found[f"layer {number}"] = _logits(deep, ids) - before
    return {"counts": torch.tensor(counts), **found}


@torch.no_grad()
def _heads(answer: Any, case: Case, model: nn.Module, ids: Tensor) -> Raw:
    """The logits of one head and of several, with the same parameters."""
    return _with_same_parameters(answer, case, ids, "num_heads", (1, case.settings["num_heads"]))


def _with_same_parameters(
    answer: Any, case: Case, ids: Tensor, name: str, values: tuple[int, int]
) -> Raw:
    """The logits under two values of a setting; none if the parameters are not the same ones."""
    models = [
        _stirred(build(answer, replace(case, settings={**case.settings, name: value})))
        for value in values
    ]
    parameters = [dict(model.named_parameters()) for model in models]
    shapes = [{key: each.shape for key, each in found.items()} for found in parameters]
    if shapes[0] != shapes[1]:
        return {}
    for key, parameter in parameters[1].items():
        parameter.copy_(parameters[0][key])
    return {f"setting {place}": _logits(model, ids) for place, model in enumerate(models)}


def _of_last_layer(answer: Any, case: Case, model: nn.Module) -> list[Tensor]:
    """The matrices that a model with one layer less has not."""
    fewer = {**case.settings, "num_layers": case.settings["num_layers"] - 1}
    others = dict(build(answer, replace(case, settings=fewer)).named_parameters())
    return [p for name, p in model.named_parameters() if name not in others and p.ndim > 1]


@torch.no_grad()
def _way_round(answer: Any, case: Case, model: nn.Module, ids: Tensor) -> Raw:
    """As :func:`_which_tokens`, with all matrices of the last layer at 0."""
    own = _of_last_layer(answer, case, model)
    for matrix in own:
        matrix.zero_()
    return _which_tokens(answer, case, model, ids) if own else {}


def _sees_itself(answer: Any, case: Case, model: nn.Module, ids: Tensor) -> Raw:
    """How many numbers in the last layer's matrices get a gradient from a text of one token.

    The feed-forward network is tiny here, so it is attention that most of them belong to.
    """
    own = _of_last_layer(answer, case, model)
    logits = _logits(model, ids[:, :1])
    own = [matrix for matrix in own if matrix.requires_grad]
    if not own or not logits.requires_grad:
        return {}
    weights = torch.randn(logits.shape, generator=torch.Generator().manual_seed(2)).to(logits)
    found = torch.autograd.grad((logits * weights).sum(), own, allow_unused=True)
    return {"count": torch.tensor([int((each != 0).sum()) for each in found if each is not None])}


ASKED: dict[str, Callable[[Any, Case, nn.Module, Tensor], Raw]] = {
    "tokens": _which_tokens,
    "order": _which_order,
    "rows": _which_rows,
    "shorter": _shortened,
    "again": _the_same_again,
    "slope": _slope,
    "parameters": _parameters,
    "heads": _heads,
    "way round": _way_round,
    "itself": _sees_itself,
}


# --- GPT: what the logits show, with the judge -----------------------------------------------

Arrived = Mapping[str, np.ndarray]


def find_gpt(case: Case, outcome: Outcome) -> dict[str, str]:
    """Say what the logits that came back show.

    Args:
        case: the question.
        outcome: with the arrays that :func:`ask_gpt` has brought back.

    Returns:
        words by finding; a right model of any kind gives the same.
    """
    values = outcome.values
    logits = values["logits"]
    expected = (*case.arguments["ids"].shape, case.settings["vocab_size"])
    found = {
        "shape": str(logits.shape),
        "dtype": outcome.dtypes["logits"],
        "device": "kept" if outcome.devices["logits"] == case.device else "other",
    }
    if logits.shape != expected:
        return found
    found["numbers"] = _kind_of_numbers(logits)
    asked = case.arguments["asked"]
    if found["numbers"] == "scores" and asked in FOUND:
        found[asked] = FOUND[asked](values)
    return found


def _kind_of_numbers(logits: np.ndarray) -> str:
    wrong = ~np.isfinite(logits).all(axis=(0, 2))
    if wrong.any():
        places = ", ".join(str(place) for place in np.flatnonzero(wrong))
        return f"NaN or infinite at {places}"
    for axis, name in enumerate(("batch", "length", "vocabulary")):
        if (logits >= 0).all() and np.allclose(logits.sum(axis=axis), 1.0, atol=1e-4):
            return f"probabilities over the {name}"
    return "scores" if (logits < 0).any() else "none below 0"


def _differ(one: np.ndarray, other: np.ndarray, least: float = SAME) -> np.ndarray:
    """(..., V) twice: tell for each place whether the logits differ by more than rounding."""
    far: np.ndarray = np.abs(one.astype(np.float64) - other).max(axis=-1)
    return far > least * one.std()


def _seen(values: Arrived) -> str:
    """Say for each place which tokens its logits depend on: "x..|xx.|xxx" where all is right."""
    base, changed = values["rows"][0], values["rows"][1:]
    moved = np.any(_differ(base, changed, SEEN), axis=1)
    return "|".join("".join("x" if each else "." for each in row) for row in moved.T)


def _order(values: Arrived) -> str:
    moved = _differ(values["logits"], values["swapped"], SEEN)[:, 2:]
    return "matters" if moved.any() else "makes no difference"


def _rows(values: Arrived) -> str:
    if _differ(values["logits"][::-1], values["turned"]).any():
        return "their places matter"
    return "mixed" if _differ(values["logits"], values["alone"]).any() else "apart"


def _shorter(values: Arrived) -> str:
    logits = values["logits"]
    beginnings = {n: values.get(f"first {n}") for n in range(1, logits.shape[1])}
    for n, beginning in beginnings.items():
        if beginning is None or beginning.shape != logits[:, :n].shape:
            return "other shapes"
        if _differ(logits[:, :n], beginning).any():
            return "others"
    return "the same"


def _again(values: Arrived) -> str:
    return "others" if _differ(values["logits"], values["again"]).any() else "the same"


def _learning(values: Arrived) -> str:
    promised, measured = values["slopes"].T
    if not promised.any():
        return "no gradient"
    off = np.abs(promised - measured) > SLOPE_SLACK * (np.abs(promised) + np.abs(measured))
    return "partly cut off" if off.sum() > 1 else "whole"  # one may be by chance


def _growth(values: Arrived) -> str:
    one, two, three, wide_one, wide_two = (int(each) for each in values["counts"])
    if three - two != two - one or two <= one:
        used = "setting 0" in values and _differ(values["setting 0"], values["setting 1"]).any()
        layers = "shared or not registered" if used else "no difference"
    else:
        layers = "each its own"
        for name in ("layer 2", "layer 3"):
            change = values.get(name)
            if change is not None and not np.abs(change).max() > SAME:
                layers = "not all used"
    if wide_one <= one:
        return f"layers: {layers}; d_ff: no difference"
    number = "" if wide_two - two == 2 * (wide_one - one) or two <= one else ", not so many"
    return f"layers: {layers}{number}; d_ff: used"


def _heads_matter(values: Arrived) -> str:
    same = "setting 0" in values and not _differ(values["setting 0"], values["setting 1"]).any()
    return "no difference" if same else "matter"


def _passes_round(values: Arrived) -> str:
    if "rows" not in values:
        return "yes"
    base, changed = values["rows"][0], values["rows"][1:]
    moved = np.any(_differ(base, changed, SEEN), axis=1)
    return "yes" if moved.diagonal().all() else "no"


def _is_seen(case_values: Arrived) -> str:
    if "count" not in case_values:
        return "yes"
    return "yes" if int(case_values["count"].sum()) > LEAST_SEEN else "no"


FOUND: dict[str, Callable[[Arrived], str]] = {
    "tokens": _seen,
    "order": _order,
    "rows": _rows,
    "shorter": _shorter,
    "again": _again,
    "slope": _learning,
    "parameters": _growth,
    "heads": _heads_matter,
    "way round": _passes_round,
    "itself": _is_seen,
}
# A feed-forward network of two hidden features has fewer numbers than this at D = 16, and the
# matrices of values and output, which count only if something is attended to, have more.
LEAST_SEEN = 120
