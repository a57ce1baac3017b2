"""Makes the cases of the assignment "training".

A model and an optimizer are described in the cases and made beside the answer; what a step leaves
in the parameters is judged.
"""

from __future__ import annotations

import math
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

PADDING_COUNTS = (
    "the result changes when the batch gets two more columns of padding: padding is counted "
    "somewhere, in the sum or in what the sum is divided by"
)
PADDING_SEEN = (
    "the result changes when the model says something else where the label is padding: those "
    "positions should not count"
)
SHOWN_LABELS = 8
# Longer and with larger ids than what a fixed buffer, or `is` in place of ==, can do.
LONG: dict[str, Any] = {"batch": 2, "length": 70, "vocab_size": 300}
SLOW = 1e-8


# --- the model -------------------------------------------------------------------------------


class TinyTranslator(nn.Module):
    """The smallest model that reads a source and a prefix: the mean of each, and a tanh.

    In training mode every other feature is louder: what dropout does, without the chance.

    Args:
        weights: arrays "source" (source vocabulary, D), "target" and "output" (V, D), for their
            shapes.
    """

    def __init__(self, weights: Arrays) -> None:
        super().__init__()
        self.source = nn.Parameter(torch.zeros(weights["source"].shape))
        self.target = nn.Parameter(torch.zeros(weights["target"].shape))
        self.output = nn.Parameter(torch.zeros(weights["output"].shape))
        self.columns: list[int] = []

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """(B, S) and (B, T) ids to (B, T, V) logits; position t sees tokens 0..t."""
        self.columns.append(tgt_in.shape[1])
        context = self.source[src].mean(dim=1, keepdim=True)
        places = torch.arange(1, tgt_in.shape[1] + 1, device=tgt_in.device).unsqueeze(-1)
        prefix = self.target[tgt_in].cumsum(dim=1) / places
        hidden = torch.tanh(context + prefix)
        if self.training:
            loudness = hidden.new_tensor([2.0, 0.5]).repeat(hidden.shape[-1] // 2)
            hidden = hidden * loudness
        return 2.0 * hidden @ self.output.T


def _make_translator(name: str, case: Case, earlier: Mapping[str, Any]) -> Made:
    made = made_arguments.model_maker(TinyTranslator).make(name, case, earlier)
    return replace(made, noted=lambda: made.value.columns[: made_arguments.MOST_NOTED])


# It notes how many columns of the target it is given, call by call.
MODEL = Maker(_make_translator, form=list[int])


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
    rng: np.random.Generator, sizes: Sizes, labels: np.ndarray, dtype: str, right: float
) -> np.ndarray:
    """(B, T, V): noise, and where a coin says so, the label is the likeliest by far.

    Args:
        rng: the source.
        sizes: of the batch.
        labels: (B, T).
        dtype: of the logits.
        right: how often the label is the likeliest.

    Returns:
        the logits; the largest stands clear of the second.
    """
    shape = (sizes.batch, sizes.length, sizes.vocab_size)
    logits = rng.standard_normal(shape)
    chosen = np.where(
        rng.random(labels.shape) < right, labels, rng.integers(0, sizes.vocab_size, labels.shape)
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
    right: float = 0.5,
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
        right: how often the label is the likeliest.
        fixed: sizes that are given.

    Returns:
        the case.
    """
    sizes = draw_batch(rng, **fixed)
    pad_id %= sizes.vocab_size
    labels = draw_labels(rng, sizes, pad_id, padded)
    arguments: dict[str, Any] = {
        "logits": draw_logits(rng, sizes, labels, dtype, right),
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


def token_accuracy_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of token_accuracy; the model says padding too, and padding where it should."""
    cases = [
        logits_case(rng, padded=False, batch=2, length=3),
        logits_case(rng, batch=2, length=3),
        logits_case(rng, padded=False),
        *(logits_case(rng), logits_case(rng, right=0.8), logits_case(rng, right=0.2)),
        *(logits_case(rng, "float64", -1), logits_case(rng, pad_id=4)),
        logits_case(rng, layout="strided"),
        logits_case(rng, note="a batch of one", batch=1, length=7, padded=False),
        logits_case(rng, note="T = V", length=6, vocab_size=6),
        logits_case(rng, note="mostly wrong", right=0.0),
        logits_case(rng, note="two tokens", batch=3, vocab_size=3, pad_id=2),
    ]
    cases = [_says_padding(rng, _not_all_right(case)) for case in cases]
    cases[4] = _largest_is_the_label(cases[4])
    _with_twins(rng, cases, cases[3])
    cases.append(_says_padding(rng, _not_all_right(logits_case(rng, **LONG))))
    return cases


def _not_all_right(case: Case) -> Case:
    """Make the first label of the batch a wrong guess, so that no accuracy is 1."""
    logits, first = case.arguments["logits"], case.arguments["labels"][0, 0]
    other = next(v for v in range(logits.shape[-1]) if v not in (first, case.arguments["pad_id"]))
    logits[0, 0, other] = logits[0, 0].max() + 1.0
    return case


def _largest_is_the_label(case: Case) -> Case:
    """Move all logits of a place, so that the largest is the number of the label, right or wrong.

    Who takes the largest logit itself for the token finds all of them right.
    """
    logits, labels = case.arguments["logits"], case.arguments["labels"][..., None]
    largest = logits.max(axis=-1, keepdims=True)
    logits[:] = np.where(logits == largest, labels, logits + (labels - largest))
    return case


def _says_padding(rng: np.random.Generator, case: Case) -> Case:
    """Let the model be right about some of the padding, and say padding at one real label."""
    logits, labels, pad_id = (case.arguments[name] for name in ("logits", "labels", "pad_id"))
    said = (labels == pad_id) & (rng.random(labels.shape) < 0.5)
    real = np.argwhere(labels != pad_id)
    said[tuple(real[-1])] = True
    logits[..., pad_id] = np.where(said, logits.max(axis=-1) + 1.0, logits[..., pad_id])
    return case


def find_the_silent_bug_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of perplexity, all with padding."""
    cases = [
        logits_case(rng, batch=2, length=3),
        *(logits_case(rng), logits_case(rng), logits_case(rng, right=0.9)),
        *(logits_case(rng, "float64"), logits_case(rng, pad_id=4), logits_case(rng, pad_id=-1)),
        logits_case(rng, "float64", -1),
        *(
            logits_case(rng, layout="strided"),
            logits_case(rng, note="T = V", length=6, vocab_size=6),
        ),
        logits_case(rng, note="a large batch", batch=12, length=8),
        _sure(logits_case(rng, note="one real label costs nothing")),
        louder(logits_case(rng, "float64", right=0.7), 15.0),
    ]
    _with_twins(rng, cases, cases[1])
    cases.append(logits_case(rng, **LONG))
    return cases


def _sure(case: Case) -> Case:
    """Make the model so sure of one real label that its loss is 0, as that of padding."""
    logits, labels = case.arguments["logits"], case.arguments["labels"]
    row, place = np.argwhere(labels != case.arguments["pad_id"])[0]
    logits[row, place, labels[row, place]] = 200.0
    return case


# --- the learning rate -----------------------------------------------------------------------


def noam_learning_rate_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of noam_learning_rate: the first step, the rise, the peak and the fall."""
    sizes = [int(size) for size in rng.permutation([32, 64, 96, 128, 192, 256, 384, 768])]
    warmups = [int(steps) for steps in rng.integers(20, 3000, size=7)]
    rise, fall = rng.uniform(0.1, 0.9), rng.uniform(1.2, 9.0)
    plan = [
        *((1, 512, 4000), (4000, 512, 4000), (16_000, 512, 4000)),
        *((1, sizes[0], warmups[0]), (warmups[1], sizes[1], warmups[1])),
        *((max(2, int(rise * warmups[2])), sizes[2], warmups[2]),),
        *((math.ceil(fall * warmups[3]), sizes[3], warmups[3]),),
        *((warmups[4] - 1, sizes[4], warmups[4]), (warmups[5] + 1, sizes[5], warmups[5])),
        *((100_000, sizes[6], warmups[6]), (2, 4, 3), (1, 16, 1), (9, 16, 1)),
    ]
    names = ("step", "d_model", "warmup")
    cases = [plain_case(**dict(zip(names, each, strict=True))) for each in plan]
    asked_again(cases, cases[3])
    return cases


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
    momentum: float = 0.0,
    several_rates: bool = False,
    note: str = "",
    **options: Any,
) -> Case:
    """Make a case of train_step: a case with a model, and an optimizer of it."""
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
    }
    return Case(label(arguments, case.dtype, note), arguments)


def _padded_target(case: Case) -> dict[str, Any]:
    tgt = case.arguments["tgt"]
    pads = np.full((len(tgt), 2), case.arguments["pad_id"], dtype=np.int64)
    return {"tgt": np.concatenate((tgt, pads), axis=1)}


def train_step_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of train_step: old gradients, momentum, several rates, other ids of padding."""
    cases = [
        step_case(rng, batch=2, length=3),
        *(step_case(rng), step_case(rng), step_case(rng, "float64")),
        *(step_case(rng, gradients=True), step_case(rng, "float64", gradients=True)),
        *(step_case(rng, pad_id=1), step_case(rng, pad_id=5), step_case(rng, "float64", 3)),
        *(step_case(rng, momentum=0.9), step_case(rng, gradients=True, momentum=0.5)),
        step_case(rng, several_rates=True, momentum=0.8),
        step_case(rng, note="a batch of one", batch=1),
        step_case(rng, note="as many rows as columns", batch=5, length=4),
    ]
    followed(cases, cases[1], _padded_target(cases[1]), "two more columns", PADDING_COUNTS)
    asked_again(cases, cases[2])
    cases.append(step_case(rng, **LONG))
    return cases


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
