"""Makes the cases of the assignment "training".

A model and an optimizer are described in the cases and made beside the answer; what a step leaves
in the parameters is judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from transformer_checks.assignments import made_arguments
from transformer_checks.assignments.shared_cases import (
    asked_again,
    described,
    followed,
    normal,
    plain_case,
)
from transformer_checks.task import SAID, Arrays, Case, Made, Maker
from transformer_checks.translation import later

PADDING_COUNTS = later(
    "the result changes when the batch gets two more columns of padding: padding is counted "
    "somewhere, in the sum or in what the sum is divided by"
)
PADDING_SEEN = later(
    "the result changes when the model says something else where the label is padding: those "
    "positions should not count"
)
PIECES_COUNT = later(
    "the result changes when the same batch goes through the model in smaller pieces: each label "
    "should count as much as every other, whichever piece it is in"
)
SHOWN_LABELS = 8
# Longer and with larger ids than what a fixed buffer, or `is` in place of ==, can do.
LONG: dict[str, Any] = {"batch": 2, "length": 70, "vocab_size": 300}
SLOW = 1e-8


# --- the model -------------------------------------------------------------------------------


class TinyTranslator(nn.Module):
    """The smallest model that reads a source and a prefix: the mean of each, and a tanh.

    In training mode every other feature is louder: what dropout does, without the chance.
    It notes each call: how many rows it was given, and how many earlier calls still waited for
    backward then.

    Args:
        weights: arrays "source" (source vocabulary, D), "target" and "output" (V, D), for their
            shapes.
    """

    def __init__(self, weights: Arrays) -> None:
        super().__init__()
        self.source = nn.Parameter(torch.zeros(weights["source"].shape))
        self.target = nn.Parameter(torch.zeros(weights["target"].shape))
        self.output = nn.Parameter(torch.zeros(weights["output"].shape))
        self.calls: list[list[int]] = []
        self.waiting = 0

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """(B, S) and (B, T) ids to (B, T, V) logits; position t sees tokens 0..t."""
        context = self.source[src].mean(dim=1, keepdim=True)
        places = torch.arange(1, tgt_in.shape[1] + 1, device=tgt_in.device).unsqueeze(-1)
        prefix = self.target[tgt_in].cumsum(dim=1) / places
        hidden = torch.tanh(context + prefix)
        if self.training:
            loudness = hidden.new_tensor([2.0, 0.5]).repeat(hidden.shape[-1] // 2)
            hidden = hidden * loudness
        self.calls.append([len(tgt_in), self.waiting])
        if hidden.requires_grad:
            self.waiting += 1
            hidden.register_hook(self._went_back)
        return 2.0 * hidden @ self.output.T

    def _went_back(self, gradient: Tensor) -> None:
        self.waiting -= 1


def _make_translator(name: str, case: Case, earlier: Mapping[str, Any]) -> Made:
    made = made_arguments.model_maker(TinyTranslator).make(name, case, earlier)
    return replace(made, noted=lambda: made.value.calls[: made_arguments.MOST_NOTED])


MODEL = Maker(_make_translator, form=list[list[int]])


# --- sizes and numbers -----------------------------------------------------------------------


@dataclass(frozen=True)
class Sizes:
    """Sizes of one batch, all different unless said, so that a wrong axis shows."""

    batch: int
    length: int
    vocab_size: int


def draw_batch(rng: np.random.Generator, **fixed: int) -> Sizes:
    """Draw a batch of 2 to 4, a length of 5 to 7 and 9 to 13 tokens; `fixed` sizes are given."""
    drawn = Sizes(*(int(rng.integers(*span)) for span in ((2, 5), (5, 8), (9, 14))))
    return replace(drawn, **fixed)


def draw_labels(rng: np.random.Generator, sizes: Sizes, pad_id: int, padded: bool) -> np.ndarray:
    """(B, T): ids that are not padding, and padding behind them in all rows but one.

    Rows are of different lengths, so that a mean of their means is another one.
    """
    spread = rng.permutation(np.linspace(1, sizes.length, sizes.batch).astype(int))
    lengths = spread if padded else np.full(sizes.batch, sizes.length)
    labels = rng.integers(0, sizes.vocab_size - 1, size=(sizes.batch, sizes.length))
    labels += labels >= pad_id  # all ids but that of padding
    labels[np.arange(sizes.length) >= lengths[:, None]] = pad_id
    return labels.astype(np.int64)


def shown_ids(arguments: Mapping[str, Any], name: str) -> str:
    """Write small ids out, so that a case can be worked out by hand."""
    array = arguments[name]
    shown = f" = {array.tolist()}" if array.size <= SHOWN_LABELS else ""
    return f"{name} {array.shape}{shown}"


def label(arguments: Mapping[str, Any], *notes: str) -> str:
    """Describe a case by its arguments."""
    parts = [
        shown_ids(arguments, name)
        if isinstance(value, np.ndarray) and value.dtype.kind == "i"
        else described({name: value})[0]
        for name, value in arguments.items()
    ]
    return ", ".join([*parts, *(note for note in notes if note)])


# --- cases of the shift ----------------------------------------------------------------------


def draw_targets(rng: np.random.Generator, sizes: Sizes, pad_id: int = 0) -> np.ndarray:
    """(B, T+1): begin token, tokens, end token, padding; two special ids beside that of padding."""
    begin, end = [each for each in (0, 1, 2) if each != pad_id][:2]
    ids = np.full((sizes.batch, sizes.length + 1), pad_id, dtype=np.int64)
    free = [each for each in range(sizes.vocab_size) if each not in (pad_id, begin, end)]
    counts = rng.permutation(np.linspace(0, sizes.length - 1, sizes.batch).astype(int))
    for row, count in zip(ids, counts, strict=True):
        row[: count + 2] = [begin, *rng.choice(free, size=count), end]
    return ids


def split_target_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of split_target: padded batches, a single sequence, two columns, a square."""

    def case(pad_id: int = 0, note: str = "", **fixed: int) -> Case:
        sizes = draw_batch(rng, **fixed)
        arguments = {"ids": draw_targets(rng, sizes, pad_id)}
        return Case(label(arguments, note), arguments)

    few = int(rng.integers(2, 4))
    cases = [
        case(batch=2, length=3, vocab_size=7),
        *(case(), case(), case(pad_id=1), case(pad_id=8), case(vocab_size=500)),
        case(batch=1, note="a batch of one"),
        case(batch=3, length=1, note="two columns"),
        case(batch=1, length=1, note="a batch of one, two columns"),
        case(batch=6, length=5, note="as many rows as columns"),
        case(batch=9, length=few, note="more rows than columns"),
        case(batch=2, length=40, note="long"),
    ]
    asked_again(cases, cases[1])
    cases.append(case(batch=2, length=70, vocab_size=600, note="long"))
    return cases


# --- cases with logits -----------------------------------------------------------------------


def draw_logits(
    rng: np.random.Generator, sizes: Sizes, labels: np.ndarray, dtype: str
) -> np.ndarray:
    """(B, T, V): noise, and where a coin says so, the label is the likeliest by far.

    Args:
        rng: the source.
        sizes: of the batch.
        labels: (B, T).
        dtype: of the logits.

    Returns:
        the logits; the largest stands clear of the second.
    """
    shape = (sizes.batch, sizes.length, sizes.vocab_size)
    logits = rng.standard_normal(shape)
    chosen = np.where(
        rng.random(labels.shape) < 0.5, labels, rng.integers(0, sizes.vocab_size, labels.shape)
    )
    np.put_along_axis(logits, chosen[..., None], logits.max(axis=-1, keepdims=True) + 1.0, -1)
    return logits.astype(dtype)


def logits_case(
    rng: np.random.Generator,
    dtype: str = "float32",
    pad_id: int = 0,
    note: str = "",
    *,
    padded: bool = True,
    layout: str = "contiguous",
    smoothing: float | None = None,
    **fixed: int,
) -> Case:
    """Make a case with logits and labels.

    Args:
        rng: the source.
        dtype: of the logits.
        pad_id: below 0 it counts from the end of the vocabulary.
        note: what is special, for the name.
        padded: whether there is padding.
        layout: of the logits in memory.
        smoothing: None = left out of the call.
        fixed: sizes that are given.

    Returns:
        the case.
    """
    sizes = draw_batch(rng, **fixed)
    pad_id %= sizes.vocab_size
    labels = draw_labels(rng, sizes, pad_id, padded)
    arguments: dict[str, Any] = {
        "logits": draw_logits(rng, sizes, labels, dtype),
        "labels": labels,
        "pad_id": pad_id,
    }
    if smoothing is not None:
        arguments["label_smoothing"] = smoothing
    notes = (
        dtype,
        note,
        "" if padded else "no padding",
        "" if layout == "contiguous" else "not contiguous",
    )
    return Case(label(arguments, *notes), arguments, layout=layout)


def louder(case: Case, factor: float) -> Case:
    """Multiply the logits of a case."""
    logits = case.arguments["logits"] * factor
    note = f"logits up to {np.abs(logits).max():.0f}"
    arguments = {**case.arguments, "logits": logits.astype(case.dtype)}
    return replace(case, name=f"{case.name}, {note}", arguments=arguments)


def _other_logits_at_padding(rng: np.random.Generator, case: Case) -> dict[str, Any]:
    logits, labels = case.arguments["logits"], case.arguments["labels"]
    padding = (labels == case.arguments["pad_id"])[..., None]
    other = (4.0 * rng.standard_normal(logits.shape)).astype(logits.dtype)
    return {"logits": np.where(padding, other, logits)}


def _more_padding(rng: np.random.Generator, case: Case) -> dict[str, Any]:
    logits, labels = case.arguments["logits"], case.arguments["labels"]
    more = normal(rng, (len(logits), 2, logits.shape[-1]), case.dtype)
    pads = np.full((len(labels), 2), case.arguments["pad_id"], dtype=np.int64)
    return {
        "logits": np.concatenate((logits, more), axis=1),
        "labels": np.concatenate((labels, pads), axis=1),
    }


def _with_twins(rng: np.random.Generator, cases: list[Case], base: Case) -> None:
    """Add the case again, with other logits at padding, with more padding, and as it is."""
    followed(
        cases, base, _other_logits_at_padding(rng, base), "other logits at padding", PADDING_SEEN
    )
    followed(cases, base, _more_padding(rng, base), "two more columns of padding", PADDING_COUNTS)
    asked_again(cases, base)


def sequence_loss_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of sequence_loss: with and without padding and smoothing, and loud logits."""
    eps = float(rng.choice([0.1, 0.15, 0.2]))
    cases = [
        logits_case(rng, padded=False, batch=2, length=3),
        logits_case(rng, batch=2, length=3),
        logits_case(rng, padded=False),
        logits_case(rng),
        logits_case(rng, "float64", -1),
        logits_case(rng, pad_id=4),
        logits_case(rng, smoothing=0.0),
        logits_case(rng, smoothing=eps, padded=False),
        logits_case(rng, "float64", smoothing=eps),
        logits_case(rng, pad_id=5, smoothing=0.3),
        logits_case(rng, layout="strided"),
        logits_case(rng, "float64", -2, layout="strided", smoothing=eps),
        logits_case(rng, note="a batch of one", batch=1, padded=False),
        logits_case(rng, note="one position", length=1, padded=False),
        logits_case(rng, note="T = V", length=6, vocab_size=6),
        louder(logits_case(rng, pad_id=3), 60.0),
    ]
    _with_twins(rng, cases, cases[3])
    for asked in (
        logits_case(rng),
        logits_case(rng, "float64", -1, smoothing=eps),
        louder(logits_case(rng), 60.0),
    ):
        cases.append(scalar_gradients(asked, rng))
    far = logits_case(rng)
    cases += [
        logits_case(rng, **LONG),
        logits_case(rng, "float16"),
        louder(far, 990.0 / float(np.abs(far.arguments["logits"]).max())),
    ]
    return cases


def scalar_gradients(case: Case, rng: np.random.Generator) -> Case:
    """Ask for gradients too, of a result that is a scalar."""
    cotangent = np.array(rng.uniform(0.5, 2.0), dtype=case.dtype)
    return replace(case, name=f"{case.name}, gradients", cotangent=cotangent)


# --- cases with a model ----------------------------------------------------------------------


def model_case(
    rng: np.random.Generator,
    dtype: str = "float32",
    pad_id: int = 0,
    note: str = "",
    *,
    gradients: bool = False,
    **fixed: int,
) -> Case:
    """Make a case with a model, a source and a target.

    Args:
        rng: the source.
        dtype: of the model.
        pad_id: of the targets.
        note: what is special, for the name.
        gradients: whether the model comes with gradients from before.
        fixed: sizes that are given.

    Returns:
        the case.
    """
    sizes = draw_batch(rng, **fixed)
    d_model, length = 4 if sizes.vocab_size % 2 else 6, int(rng.integers(8, 11))
    source_size = sizes.vocab_size + int(rng.integers(3, 6))
    shapes = {"source": source_size, "target": sizes.vocab_size, "output": sizes.vocab_size}
    weights = {name: 0.7 * normal(rng, (size, d_model), dtype) for name, size in shapes.items()}
    old = {name: normal(rng, (size, d_model), dtype) for name, size in shapes.items()}
    said = f"{source_size} source and {sizes.vocab_size} target tokens"
    said += ", gradients of an earlier batch in it" if gradients else ""
    arguments: dict[str, Any] = {
        "model": made_arguments.model(said, weights, old if gradients else None),
        "src": rng.integers(0, source_size, size=(sizes.batch, length)),
        "tgt": draw_targets(rng, sizes, pad_id),
        "pad_id": pad_id,
    }
    return Case(label(arguments, dtype, note), arguments)


def step_case(
    rng: np.random.Generator,
    *args: Any,
    size: int = 2,
    momentum: float = 0.0,
    several_rates: bool = False,
    note: str = "",
    **options: Any,
) -> Case:
    """Make a case of accumulated_step: a case with a model, and an optimizer of it."""
    case = model_case(rng, *args, **options)
    model, src, tgt, pad_id = case.arguments.values()
    weights = model["weights"]
    rate = round(float(rng.uniform(0.05, 0.2)), 2)
    rates = {
        name: round(rate * (1 + number * several_rates), 2) for number, name in enumerate(weights)
    }
    buffers = {name: normal(rng, each.shape, case.dtype) for name, each in weights.items()}
    arguments = {
        "model": model,
        "src": src,
        "tgt": tgt,
        "optimizer": made_arguments.optimizer(rates, momentum, buffers if momentum else None),
        "pad_id": pad_id,
        "size": size,
    }
    return Case(label(arguments, case.dtype, note), arguments)


def _padded_target(case: Case) -> dict[str, Any]:
    tgt = case.arguments["tgt"]
    pads = np.full((len(tgt), 2), case.arguments["pad_id"], dtype=np.int64)
    return {"tgt": np.concatenate((tgt, pads), axis=1)}


def accumulated_step_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of accumulated_step: a last piece that is smaller, old gradients, momentum."""
    cases = [
        step_case(rng, batch=2, length=3, size=1),
        *(step_case(rng, batch=3), step_case(rng, batch=4), step_case(rng, "float64", batch=6)),
        *(step_case(rng, batch=4, size=3), step_case(rng, "float64", batch=7, size=3)),
        *(step_case(rng, batch=3, size=1), step_case(rng, batch=5, gradients=True)),
        *(step_case(rng, pad_id=1, batch=4), step_case(rng, "float64", 5, batch=5, size=4)),
        *(step_case(rng, batch=4, momentum=0.9), step_case(rng, batch=5, several_rates=True)),
        step_case(rng, note="one piece", batch=3, size=3),
        step_case(rng, note="a piece that is never full", batch=2, size=5),
    ]
    followed(cases, cases[1], _padded_target(cases[1]), "two more columns", PADDING_COUNTS)
    followed(cases, cases[1], {"size": 1}, "in smaller pieces", PIECES_COUNT)
    asked_again(cases, cases[2])
    cases.append(step_case(rng, batch=70, length=70, vocab_size=300, size=66))
    return cases


# --- costs alone -----------------------------------------------------------------------------


def gap_case(rng: np.random.Generator, count: int, parts: int, kind: str = "", **at: float) -> Case:
    """Make a case of largest_gap.

    Args:
        rng: the source.
        count: the number of costs.
        parts: the number of micro-batches.
        kind: "cheap" = a few costs are far below the others, so that these are better alone;
            "costly" = a few are far above; "" = neither.
        at: costs by their place, such as c0=0.0.

    Returns:
        the case; few costs are round numbers, as for pencil and paper.
    """
    spread = rng.gamma(0.6, 1.0, size=count)
    costs = {"cheap": 9.0 - np.minimum(spread, 9.0), "costly": spread}.get(kind)
    if costs is None:
        costs = rng.uniform(0.0, 6.0, size=count)
    listed = [round(float(cost), 1 if count < 8 else 3) for cost in costs]
    for place, cost in at.items():
        listed[int(place[1:])] = cost
    return plain_case(costs=listed, parts=parts)


def largest_gap_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of largest_gap: dear or cheap labels alone, few and many parts."""
    cases = [
        gap_case(rng, 4, 2, "costly", c2=7.5, c0=0.5),
        *(gap_case(rng, 5, 2, "cheap", c1=0.2), gap_case(rng, 6, 3), gap_case(rng, 6, 4)),
        *(gap_case(rng, 7, 3, "costly", c0=6.5), gap_case(rng, 7, 3, "cheap", c6=0.4)),
        *(gap_case(rng, 9, 2), gap_case(rng, 12, 5, "cheap"), gap_case(rng, 12, 5, "costly")),
        *(gap_case(rng, 16, 15, "costly"), gap_case(rng, 24, 6), gap_case(rng, 30, 8, "cheap")),
        *(gap_case(rng, 5, 1, "costly"), gap_case(rng, 5, 5)),
    ]
    asked_again(cases, cases[2])
    cases += [gap_case(rng, 80, 12, "cheap"), gap_case(rng, 300, 70, "costly")]
    cases.append(gap_case(rng, 270, 258, "costly"))
    return cases


# --- the loss of a batch ---------------------------------------------------------------------


def find_the_bug_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of teacher_forced_loss."""
    cases = [
        model_case(rng, batch=2, length=3),
        *(model_case(rng), model_case(rng), model_case(rng, "float64")),
        *(model_case(rng, pad_id=1), model_case(rng, pad_id=5), model_case(rng, "float64", 3)),
        model_case(rng, note="a batch of one", batch=1),
        model_case(rng, note="as many rows as columns", batch=5, length=4),
    ]
    followed(cases, cases[1], _padded_target(cases[1]), "two more columns", PADDING_COUNTS)
    asked_again(cases, cases[2])
    cases += [
        scalar_gradients(case, rng) for case in (model_case(rng), model_case(rng, "float64", 1))
    ]
    cases.append(model_case(rng, **LONG))
    return cases


# --- models of which some parameters are stuck -----------------------------------------------

NO_GRADIENT, NO_STEP = "no gradient", "no step"


class Patchwork(nn.Module):
    """A small translator, in which each parameter can be kept from learning in another way.

    Args:
        weights: arrays "source" and "target" (their vocabulary, D), "inner" (D, D), "gate" (D,),
            "output" (V, D), "bias" (V,), and perhaps "spare" (D, D), which is never used.
        frozen: parameters that want no gradient.
        cut: parameters that are read behind a detach.
    """

    def __init__(self, weights: Arrays, frozen: list[str], cut: list[str]) -> None:
        super().__init__()
        self.cut = cut
        for name, array in weights.items():
            tensor = torch.from_numpy(array.copy())
            self.register_parameter(name, nn.Parameter(tensor, requires_grad=name not in frozen))

    def read(self, name: str) -> Tensor:
        """Return a parameter, or its numbers alone where it is cut off."""
        parameter = self.get_parameter(name)
        return parameter.detach() if name in self.cut else parameter

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """(B, S) and (B, T) ids to (B, T, V) logits; position t sees tokens 0..t."""
        context = self.read("source")[src].mean(dim=1, keepdim=True)
        places = torch.arange(1, tgt_in.shape[1] + 1, device=tgt_in.device).unsqueeze(-1)
        x = context + self.read("target")[tgt_in].cumsum(dim=1) / places
        x = x + self.read("gate") * torch.tanh(x @ self.read("inner"))
        return 2.0 * x @ self.read("output").T + self.read("bias")


def _make_patchwork(name: str, case: Case, earlier: Mapping[str, Any]) -> Made:
    description = case.arguments[name]
    model = Patchwork(description["weights"], description["frozen"], description["cut"])
    for part, old in description["gradients"].items():
        model.get_parameter(part).grad = torch.from_numpy(old.copy())
    return Made(model)


PATCHWORK = Maker(_make_patchwork)


def known_stuck(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Say which parameters are stuck, and why, from how the model and its optimizer are made."""
    model, rates = arguments["model"], arguments["optimizer"]["rates"]
    weights = model["weights"]
    without = {"spare", *model["frozen"], *model["cut"]}
    if not weights["output"].any():
        without |= {"source", "target", "inner", "gate"}
    if not weights["gate"].any():
        without.add("inner")
    return {
        name: NO_GRADIENT if name in without else NO_STEP
        for name in weights
        if name in without or not rates.get(name)
    }


def stuck_case(
    rng: np.random.Generator,
    dtype: str = "float32",
    pad_id: int = 0,
    *,
    spare: bool = True,
    old: bool = False,
    zeros: str = "",
    frozen: tuple[str, ...] = (),
    cut: tuple[str, ...] = (),
    left_out: tuple[str, ...] = (),
    without_rate: tuple[str, ...] = (),
    slow: tuple[str, ...] = (),
    **fixed: int,
) -> Case:
    """Make a case of stuck_parameters.

    Args:
        rng: the source.
        dtype: of the model.
        pad_id: of the targets.
        spare: whether there is a parameter that the model never uses.
        old: whether gradients lie in the model from before, in all that the optimizer holds.
        zeros: the parameter that holds nothing else: "gate", behind which inner gets a gradient
            of zeros, or "output", behind which all but output and bias do.
        frozen: parameters that want no gradient.
        cut: parameters behind a detach.
        left_out: parameters that the optimizer does not hold.
        without_rate: parameters whose learning rate is 0.
        slow: parameters whose learning rate is so small that no tolerance shows the step.
        fixed: sizes that are given.

    Returns:
        the case.
    """
    sizes = draw_batch(rng, **fixed)
    d_model, source_size = int(rng.integers(3, 6)), sizes.vocab_size + int(rng.integers(3, 6))
    shapes: dict[str, tuple[int, ...]] = {
        "source": (source_size, d_model),
        "target": (sizes.vocab_size, d_model),
        **({"spare": (d_model, d_model)} if spare else {}),
        "inner": (d_model, d_model),
        "gate": (d_model,),
        "output": (sizes.vocab_size, d_model),
        "bias": (sizes.vocab_size,),
    }
    weights = {name: 0.7 * normal(rng, shape, dtype) for name, shape in shapes.items()}
    if zeros:
        weights[zeros] *= 0.0
    rate = round(float(rng.uniform(0.05, 0.2)), 2)
    rates = {
        name: 0.0 if name in without_rate else rate for name in weights if name not in left_out
    }
    rates |= dict.fromkeys(slow, SLOW)
    gradients = {name: normal(rng, shapes[name], dtype) for name in rates} if old else {}
    model: dict[str, Any] = {"weights": weights, "gradients": gradients}
    model |= {"frozen": list(frozen), "cut": list(cut)}
    arguments: dict[str, Any] = {
        "model": {SAID: _said_of_patchwork(model, zeros), **model},
        "src": rng.integers(0, source_size, size=(sizes.batch, int(rng.integers(8, 11)))),
        "tgt": draw_targets(rng, sizes, pad_id),
        "optimizer": made_arguments.optimizer(rates),
        "pad_id": pad_id,
    }
    if left_out:
        arguments["optimizer"][SAID] += f", without {' and '.join(left_out)}"
    if any(rates.values()) and without_rate:
        arguments["optimizer"][SAID] += f", 0 for {' and '.join(without_rate)}"
    return Case(label(arguments, dtype), arguments)


def _said_of_patchwork(model: Mapping[str, Any], zeros: str) -> str:
    """Say in words what keeps which parameter from learning."""
    said = [f"parameters {', '.join(model['weights'])}"]
    said += ["spare is never used"] * ("spare" in model["weights"])
    said += [f"{' and '.join(model['frozen'])} with requires_grad=False"] * bool(model["frozen"])
    said += [f"{' and '.join(model['cut'])} behind a detach"] * bool(model["cut"])
    said += [f"{zeros} is all zeros"] * bool(zeros)
    said += ["gradients of an earlier batch in it"] * bool(model["gradients"])
    return "; ".join(said)


def stuck_parameters_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of stuck_parameters: which are stuck is known, and which of the two reasons it has.

    In a target of 2 rows and 3 positions some tokens are not read, and their rows do not change.
    """
    parts = [str(name) for name in rng.permutation(["source", "target", "inner", "gate", "output"])]
    one, two, three, four, five = parts
    small: dict[str, Any] = {"batch": 2, "length": 3}
    cases = [
        stuck_case(rng, spare=False, left_out=("output",), **small),
        stuck_case(rng, spare=False, **small),
        stuck_case(rng, **small),
        stuck_case(rng, left_out=("source", "target"), **small),
        *(stuck_case(rng, frozen=(one,)), stuck_case(rng, cut=(two,))),
        *(stuck_case(rng, zeros="gate"), stuck_case(rng, "float64", 3, zeros="output")),
        stuck_case(rng, spare=False, zeros="gate", left_out=("gate",)),
        stuck_case(rng, "float64", cut=(three,), left_out=(three, four)),
        *(stuck_case(rng, without_rate=(four,)), stuck_case(rng, "float64", without_rate=(five,))),
        stuck_case(rng, "float64", 1, frozen=(five,), left_out=("bias",)),
        stuck_case(rng, old=True, frozen=(two,)),
        stuck_case(rng, "float64", old=True, zeros="gate", without_rate=("bias",)),
        stuck_case(rng, left_out=tuple(parts), batch=1),
        stuck_case(rng, without_rate=(*parts, "bias", "spare")),
    ]
    asked_again(cases, cases[4])
    cases += [stuck_case(rng, "float64", slow=("inner", "output")), stuck_case(rng, **LONG)]
    return cases
