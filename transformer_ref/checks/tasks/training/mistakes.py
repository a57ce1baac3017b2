"""The misconceptions of the assignment "training", task by task, each with its implementation.

They come from the notes that the course corrects (`ignore_idx`, no shift, a loss over padding),
and from what is asked most often about training loops.
Twins that give the same answer are one entry: a step before backward, a step without it and none
at all; zero_grad behind step and none; no warm-up and warmup^+1.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref.checks.authoring.shared_mistakes import (
    CHANGES_INPUT,
    DETACHED,
    FLOAT32_ONLY,
    NUMBER_FOR_TENSOR,
    TENSOR_FOR_NUMBER,
    Step,
    detached,
    in_float32,
)
from transformer_ref.checks.authoring.shared_mistakes import with_wrong as _with
from transformer_ref.checks.task import Misconception

Pair = tuple[Tensor, Tensor]

WRONG_CLASSES = r"[Ee]xpected target size|batch_size|out of bounds|Dimension out of range"


# --- split_target ----------------------------------------------------------------------------


def shifted(ids: Tensor) -> Pair:
    """(B, T+1) to (B, T) and (B, T), right."""
    return ids[:, :-1], ids[:, 1:]


def _not_shifted(ids: Tensor) -> Pair:
    return ids, ids


def _labels_are_inputs(ids: Tensor) -> Pair:
    return ids[:, :-1], ids[:, :-1]


def _inputs_are_labels(ids: Tensor) -> Pair:
    return ids[:, 1:], ids[:, 1:]


def _swapped(ids: Tensor) -> Pair:
    return ids[:, 1:], ids[:, :-1]


def _rolled(ids: Tensor) -> Pair:
    return ids, ids.roll(-1, dims=1)


NOT_SHIFTED = Misconception(
    "not-shifted",
    "the labels are the inputs: every position is asked for the token that it has just read",
    "At position t the model has read tokens 0 to t and has to say token t + 1. Which columns does "
    "each of the two need?",
    (),
)
SEES_THE_ANSWER = Misconception(
    "reads-the-answer",
    "the model reads the labels: each position sees the very token that it has to say",
    "The loss falls to nothing, and the model has learned to copy. The inputs begin with the begin "
    "token.",
    (),
)
SWAPPED = Misconception(
    "swapped",
    "inputs and labels are swapped: the model reads what comes and has to say what was",
    "The inputs begin with the begin token and never hold the last column; the labels are one "
    "token ahead.",
    (),
)

SPLIT = (
    _with(NOT_SHIFTED, _not_shifted, _labels_are_inputs),
    _with(SEES_THE_ANSWER, _inputs_are_labels),
    _with(SWAPPED, _swapped),
    Misconception(
        "sequences-cut-off",
        "the cut runs over the batch: the first and the last sequence are lost, not tokens",
        "The first axis is the batch and the second is the text. How many slices stand in the "
        "brackets?",
        (lambda ids: (ids[:-1], ids[1:]),),
    ),
    Misconception(
        "two-ahead",
        "the labels are two tokens ahead of the inputs",
        "One step, not two: with T + 1 columns, both results have T.",
        (
            lambda ids: (ids[:, :-2], ids[:, 2:]),
            lambda ids: (ids[:, :-1], ids[:, 2:]),
            lambda ids: (ids[:, :-2], ids[:, 1:]),
        ),
    ),
    Misconception(
        "wraps-around",
        "the labels wrap around: the last one is the begin token",
        "roll puts what falls off at one end back at the other. Nothing follows the last token: it "
        "is only a label.",
        (_rolled, lambda ids: (ids[:, :-1], ids.roll(-1, 1)[:, 1:])),
    ),
    Misconception(
        "inputs-not-cut",
        "the inputs still have their last column, for which there is no label",
        "Both results have T columns, and position t of the one belongs to position t of the "
        "other.",
        (lambda ids: (ids, ids[:, 1:]),),
    ),
    Misconception(
        "labels-not-cut",
        "the labels still have their first column: the begin token is never to be said",
        "Both results have T columns, and position t of the one belongs to position t of the "
        "other.",
        (lambda ids: (ids[:, :-1], ids),),
    ),
    Misconception(
        "one-token-only",
        "there is one token of each sequence where all of them should be",
        "Teacher forcing trains all positions at once. An index picks one column, a slice with a "
        "colon keeps many.",
        (
            lambda ids: (ids[:, :-1], ids[:, -1:]),
            lambda ids: (ids[:, :-1], ids[:, -1]),
            lambda ids: (ids[:, 0], ids[:, 1:]),
            lambda ids: (ids[:, :1], ids[:, 1:]),
            lambda ids: (ids[:, -1], ids[:, 0]),
        ),
    ),
)


# --- sequence_loss ---------------------------------------------------------------------------


def picked(logits: Tensor, labels: Tensor) -> Tensor:
    """(B, T): -ln p of each label."""
    return -logits.log_softmax(-1).gather(-1, labels.unsqueeze(-1)).squeeze(-1)


def smoothed(logits: Tensor, labels: Tensor, eps: float) -> Tensor:
    """(B, T): the cross-entropy with eps / V for every class, as torch has it."""
    uniform = -logits.log_softmax(-1).mean(-1)
    return (1 - eps) * picked(logits, labels) + eps * uniform


def counted(losses: Tensor, real: Tensor) -> Tensor:
    """Average over what is real."""
    return losses[real].sum() / real.sum()


def _is_real(labels: Tensor, pad_id: int) -> Tensor:
    return labels != pad_id


@dataclass(frozen=True)
class Loss:
    """The steps of the loss; call it as (logits, labels, pad_id, label_smoothing=0.0)."""

    each: Callable[[Tensor, Tensor, float], Tensor] = smoothed
    keep: Callable[[Tensor, int], Tensor] = _is_real
    average: Callable[[Tensor, Tensor], Tensor] = counted
    then: Callable[[Tensor], Any] = lambda loss: loss

    def __call__(
        self, logits: Tensor, labels: Tensor, pad_id: int, label_smoothing: float = 0.0
    ) -> Any:
        """Compute the loss, step by step."""
        real = self.keep(labels, pad_id)
        return self.then(self.average(self.each(logits, labels, label_smoothing), real))


right_loss = Loss()


def _all_real(labels: Tensor, pad_id: int) -> Tensor:
    return torch.ones_like(labels, dtype=torch.bool)


def _not_zero(labels: Tensor, pad_id: int) -> Tensor:
    return labels != 0


def _above(labels: Tensor, pad_id: int) -> Tensor:
    return labels > pad_id


def _over_everything(losses: Tensor, real: Tensor) -> Tensor:
    return (losses * real).mean()


def _by_sentence(losses: Tensor, real: Tensor) -> Tensor:
    return ((losses * real).sum(1) / real.sum(1)).mean()


def _summed(losses: Tensor, real: Tensor) -> Tensor:
    return (losses * real).sum()


def _summed_by_sentence(losses: Tensor, real: Tensor) -> Tensor:
    return (losses * real).sum(1).mean()


def _summed_by_position(losses: Tensor, real: Tensor) -> Tensor:
    return (losses * real).sum() / losses.shape[1]


def _not_smoothed(logits: Tensor, labels: Tensor, eps: float) -> Tensor:
    return picked(logits, labels)


def _of_softmax(logits: Tensor, labels: Tensor, eps: float) -> Tensor:
    return smoothed(logits.softmax(-1), labels, eps)


def _of_log(logits: Tensor, labels: Tensor, eps: float, *, tiny: float = 0.0) -> Tensor:
    """The logarithm of a softmax, in two steps."""
    logs = (logits.softmax(-1) + tiny).log()
    of_label = logs.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
    return -(1 - eps) * of_label - eps * logs.mean(-1)


def _with_shares(
    logits: Tensor, labels: Tensor, eps: float, shares: Callable[[float, int], tuple[float, float]]
) -> Tensor:
    """The cross-entropy against a target with these shares of the label and of each other class."""
    of_label, of_other = shares(eps, logits.shape[-1])
    logs = logits.log_softmax(-1)
    target = torch.full_like(logs, of_other).scatter(-1, labels.unsqueeze(-1), of_label)
    return -(target * logs).sum(-1)


def _sharing(shares: Callable[[float, int], tuple[float, float]]) -> Loss:
    return Loss(each=partial(_with_shares, shares=shares))


def _without_pad(logits: Tensor, labels: Tensor, pad_id: int, label_smoothing: float = 0.0) -> Any:
    """As the Annotated Transformer smooths: nothing for padding, eps / (V - 2) for the others."""
    eps, size = label_smoothing, logits.shape[-1]
    logs = logits.log_softmax(-1)
    target = torch.full_like(logs, eps / (size - 2)).scatter(-1, labels.unsqueeze(-1), 1 - eps)
    target[..., pad_id] = 0.0
    return counted(-(target * logs).sum(-1), labels != pad_id)


def _divergence(logits: Tensor, labels: Tensor, pad_id: int, label_smoothing: float = 0.0) -> Any:
    """The same with the Kullback-Leibler divergence."""
    eps, size = label_smoothing, logits.shape[-1]
    target = torch.full_like(logits, eps / (size - 2)).scatter(-1, labels.unsqueeze(-1), 1 - eps)
    target[..., pad_id] = 0.0
    each = F.kl_div(logits.log_softmax(-1), target, reduction="none").sum(-1)
    return counted(each, labels != pad_id)


def _smooths_padding(
    logits: Tensor, labels: Tensor, pad_id: int, label_smoothing: float = 0.0
) -> Any:
    real = labels != pad_id
    uniform = -logits.log_softmax(-1).mean(-1)
    sharp = counted(picked(logits, labels), real)
    return (1 - label_smoothing) * sharp + label_smoothing * uniform.mean()


def _smooths_padding_by_the_count(
    logits: Tensor, labels: Tensor, pad_id: int, label_smoothing: float = 0.0
) -> Any:
    real = labels != pad_id
    uniform = -logits.log_softmax(-1).mean(-1)
    sharp = counted(picked(logits, labels), real)
    return (1 - label_smoothing) * sharp + label_smoothing * uniform.sum() / real.sum()


def _padding_silenced(
    logits: Tensor, labels: Tensor, pad_id: int, label_smoothing: float = 0.0
) -> Any:
    """Multiply the logits at padding by 0, which makes them a uniform guess."""
    real = labels != pad_id
    silent = logits * real.unsqueeze(-1)
    return Loss(keep=_all_real)(silent, labels * real, pad_id, label_smoothing)


def _shifts_again(logits: Tensor, labels: Tensor, pad_id: int, label_smoothing: float = 0.0) -> Any:
    return right_loss(logits[:, :-1], labels[:, 1:], pad_id, label_smoothing)


def _classes_scrambled(
    logits: Tensor, labels: Tensor, pad_id: int, label_smoothing: float = 0.0
) -> Any:
    """Reshape (B, T, V) to (B, V, T), which has the right shape for torch and the wrong numbers."""
    batch, length, size = logits.shape
    scrambled = logits.reshape(batch, size, length).transpose(1, 2)
    return right_loss(scrambled, labels, pad_id, label_smoothing)


def _classes_last(
    logits: Tensor, labels: Tensor, pad_id: int, label_smoothing: float = 0.0
) -> Tensor:
    return F.cross_entropy(logits, labels, ignore_index=pad_id, label_smoothing=label_smoothing)


def _ignore_idx(logits: Tensor, labels: Tensor, pad_id: int, label_smoothing: float = 0.0) -> Any:
    # The argument by that name, so that the type checker does not see what is wrong here.
    criterion: Callable[..., Any] = nn.CrossEntropyLoss
    return criterion(ignore_idx=pad_id)(logits.flatten(0, 1), labels.flatten())


def _changes_labels(
    logits: Tensor, labels: Tensor, pad_id: int, label_smoothing: float = 0.0
) -> Any:
    loss = right_loss(logits, labels, pad_id, label_smoothing)
    labels[labels == pad_id] = -100
    return loss


PADDING_IN = Misconception(
    "padding-in-the-loss",
    "padding is part of the loss: the model is asked to say padding too",
    "Labels that are pad_id should neither be summed nor counted. torch leaves out what it is told "
    "by ignore_index, which is -100 unless you say more.",
    (),
)
PADDING_COUNTED = Misconception(
    "padding-is-counted",
    "padding adds nothing to the sum, but it is still counted: the mean is too small",
    "The sum runs over real labels, so divide by the number of real labels. A mean over all "
    "positions divides by the padding too.",
    (),
)
PAD_IS_ZERO = Misconception(
    "padding-is-id-0",
    "padding is taken to be another id than pad_id, such as 0",
    "Other tokenizers have another id. Compare the labels with pad_id itself, by != or ==; ids may "
    "be larger or smaller than it.",
    (),
)
BY_SENTENCE = Misconception(
    "mean-of-means",
    "each sentence is averaged first: a token of a short sentence weighs more",
    "Sum over the whole batch, count over the whole batch, and divide once.",
    (),
)
SUMMED = Misconception(
    "sum-not-mean",
    "there is a sum over tokens where their mean should be",
    "Divide by the number of labels that are not padding; a loss that grows with the batch needs "
    "another learning rate for each size.",
    (),
)
SOFTMAX_TWICE = Misconception(
    "softmax-twice",
    "the softmax is taken twice: the loss was given probabilities for logits",
    "F.cross_entropy takes the logits as they are, and does the softmax inside.",
    (),
)
SHIFTED_AGAIN = Misconception(
    "shifted-again",
    "the labels are shifted a second time",
    "labels[:, t] already is the token that comes after position t; split_target has seen to that.",
    (),
)
SCRAMBLED = Misconception(
    "classes-scrambled",
    "the numbers of different tokens are mixed: V was brought to axis 1 by a reshape",
    "F.cross_entropy wants (B, V, T) or (N, V). transpose(1, 2) moves an axis; reshape and view "
    "only read the numbers in another rhythm.",
    (),
)
CLASSES_LAST = Misconception(
    "classes-last",
    "F.cross_entropy was given (B, T, V): it takes axis 1 for the classes",
    "Make it (B * T, V) with labels (B * T), or (B, V, T) with labels (B, T).",
    (),
    WRONG_CLASSES,
)
IGNORE_IDX = Misconception(
    "ignore_idx",
    "the loss of torch has no argument of that name",
    "Read the error, and look at the signature of F.cross_entropy.",
    (_ignore_idx,),
    r"unexpected keyword argument '(ignore_idx|ignore_id|pad_id|padding_idx|ignore|smoothing)'",
)
LABELS_CHANGED = replace(
    CHANGES_INPUT,
    hint="The caller needs the labels as they were. Look for an assignment to labels[...], such as "
    "-100 for padding, or an operation in place.",
    error="",
)


def _loss(**steps: Any) -> Loss:
    return Loss(**steps)


LOSS = (
    _with(PADDING_IN, _loss(keep=_all_real)),
    _with(PADDING_COUNTED, _loss(average=_over_everything)),
    _with(PAD_IS_ZERO, _loss(keep=_not_zero), _loss(keep=_above)),
    _with(BY_SENTENCE, _loss(average=_by_sentence)),
    _with(
        SUMMED,
        _loss(average=_summed),
        _loss(average=_summed_by_sentence),
        _loss(average=_summed_by_position),
    ),
    Misconception(
        "smoothing-ignored",
        "label_smoothing has no effect",
        "F.cross_entropy has an argument for it. Does yours get there?",
        (_loss(each=_not_smoothed),),
    ),
    Misconception(
        "another-smoothing",
        "the smoothing is spread over other classes than all V",
        "Here every class gets eps / V, the label too, which has 1 - eps + eps / V then. To share "
        "among V - 1 or V - 2 classes is another convention.",
        (
            _sharing(lambda eps, size: (1 - eps, eps / (size - 1))),
            _sharing(lambda eps, size: (1 - eps, eps / size)),
            _sharing(lambda eps, size: (1 - eps, eps / (size - 2))),
            _without_pad,
            _divergence,
        ),
    ),
    Misconception(
        "smoothing-turned-round",
        "the shares are turned round: the label gets eps, and the rest is spread",
        "eps is the small part, which is taken from the label.",
        (
            _sharing(lambda eps, size: (eps + (1 - eps) / size, (1 - eps) / size)),
            _sharing(lambda eps, size: (eps, (1 - eps) / (size - 1))),
        ),
    ),
    Misconception(
        "padding-is-smoothed",
        "padding is left out of one part of the loss, and not of the smoothed part",
        "The uniform part, too, is summed and counted over real labels only.",
        (_smooths_padding, _smooths_padding_by_the_count),
    ),
    Misconception(
        "padding-silenced",
        "the logits at padding are put to 0, which is no way to leave them out",
        "Logits of 0 say that all tokens are equally likely, and that costs ln V. Leave these "
        "positions out of the sum and the count.",
        (_padding_silenced,),
    ),
    _with(SOFTMAX_TWICE, _loss(each=_of_softmax)),
    Misconception(
        "log-of-a-rounded-softmax",
        "the logarithm is taken of a softmax that was rounded to 0, or of one with a little added",
        "With logits far apart a probability is 0 in float32, and its logarithm is minus infinity. "
        "log_softmax does both in one step, without loss.",
        (
            _loss(each=_of_log),
            *(_loss(each=partial(_of_log, tiny=tiny)) for tiny in (1e-12, 1e-9, 1e-8, 1e-10)),
        ),
    ),
    Misconception(
        "exponential-taken",
        "the exponential of the loss is returned",
        "That is the perplexity. Asked for is the mean loss, in nats.",
        (_loss(then=torch.exp),),
    ),
    Misconception(
        "in-bits",
        "the loss is in bits where it should be in nats",
        "The natural logarithm is meant, as in all of torch.",
        (_loss(then=lambda loss: loss / math.log(2)),),
    ),
    _with(SHIFTED_AGAIN, _shifts_again),
    _with(SCRAMBLED, _classes_scrambled),
    _with(CLASSES_LAST, _classes_last),
    IGNORE_IDX,
    _with(DETACHED, detached(right_loss)),
    _with(NUMBER_FOR_TENSOR, lambda *given, **named: right_loss(*given, **named).item()),
    _with(FLOAT32_ONLY, in_float32(right_loss)),
    _with(LABELS_CHANGED, _changes_labels),
)


# --- noam_learning_rate ----------------------------------------------------------------------


def _rate(
    rise: Callable[[float, float], float] = lambda step, warmup: step * warmup**-1.5,
    fall: Callable[[float, float], float] = lambda step, warmup: step**-0.5,
    size: float = -0.5,
    choose: Callable[..., float] = min,
) -> Step:
    """Return the schedule with parts replaced."""

    def rate(step: int, d_model: int, warmup: int) -> float:
        return float(d_model**size * choose(rise(step, warmup), fall(step, warmup)))

    return rate


right_rate = _rate()


def _factor_in(rise: float = 0.0, fall: float = 0.0) -> Step:
    """Return the schedule with a power of d_model in each branch."""
    return lambda step, d_model, warmup: min(
        d_model**rise * step * warmup**-1.5, d_model**fall * step**-0.5
    )


def _off(by: int) -> Step:
    return lambda step, d_model, warmup: right_rate(max(step + by, 0) or 1e-30, d_model, warmup)


def _jumps(step: int, d_model: int, warmup: int) -> float:
    """Rise to the peak and start again from 1."""
    scale = step * warmup**-1.5 if step <= warmup else (step - warmup) ** -0.5
    return float(d_model**-0.5 * scale)


def _counted_from_the_peak(step: float, warmup: float) -> float:
    return warmup**-0.5 * max(step - warmup, 1) ** -0.5


RATE = (
    Misconception(
        "max-not-min",
        "the larger of the two branches is taken",
        "During the rise the straight line is below the root. Which of the two must win there?",
        (_rate(choose=max),),
    ),
    Misconception(
        "d_model-forgotten",
        "d_model has no effect",
        "The formula has a factor in front of the brackets: larger models take smaller steps.",
        (_rate(size=0.0),),
    ),
    Misconception(
        "d_model-another-power",
        "the factor of d_model has another power than -1/2",
        "1 / sqrt(D): larger models take smaller steps. Look at the sign and at the root.",
        (_rate(size=0.5), _rate(size=-1.0), _rate(size=1.0)),
    ),
    Misconception(
        "warmup-another-power",
        "the rise does not meet the fall at step = warmup",
        "At step = warmup both branches should be warmup^-1/2. What does that make of the power of "
        "warmup in the rise?",
        (
            _rate(rise=lambda step, warmup: step * warmup**-0.5),
            _rate(rise=lambda step, warmup: step / warmup),
            _rate(rise=lambda step, warmup: step * warmup**-2.0),
        ),
    ),
    Misconception(
        "no-warm-up",
        "there is no warm-up: the rate is largest at the first step",
        "Two branches, and the smaller of them.",
        (_rate(choose=lambda rise, fall: fall),),
    ),
    Misconception(
        "never-falls",
        "the rate does not fall after the warm-up",
        "After the peak it goes down with the square root of the step.",
        (
            _rate(choose=lambda rise, fall: rise),
            _rate(fall=lambda step, warmup: warmup**-0.5),
            _rate(fall=lambda step, warmup: step**0.5),
        ),
    ),
    Misconception(
        "falls-with-the-step",
        "the rate falls with the step, and not with its square root",
        "Twice as many steps make the rate smaller by a factor of 1.41, not 2.",
        (
            _rate(fall=lambda step, warmup: 1 / step),
            _rate(fall=lambda step, warmup: warmup**0.5 / step),
        ),
    ),
    Misconception(
        "counted-from-0",
        "the steps are counted one too low or one too high",
        "The first step is 1, and the formula takes it as it comes.",
        (_off(-1), _off(1)),
        r"ZeroDivision|negative power|0\.0 cannot be raised",
    ),
    Misconception(
        "peak-of-one",
        "the peak is at 1: this is a factor for a learning rate, as schedulers want it",
        "Asked for is the paper's rate itself, whose peak is 1 / sqrt(d_model * warmup).",
        (
            lambda step, d_model, warmup: min(step / warmup, (warmup / step) ** 0.5),
            lambda step, d_model, warmup: (
                d_model**-0.5 * min(step / warmup, (warmup / step) ** 0.5)
            ),
        ),
    ),
    Misconception(
        "d_model-in-one-branch",
        "the factor of d_model belongs to one of the two branches only",
        "It stands in front of the brackets, so that both branches have it.",
        (_factor_in(fall=-0.5), _factor_in(rise=-0.5)),
    ),
    Misconception(
        "whole-exponents",
        "the exponents are rounded: // gives whole numbers",
        "-3 // 2 is -2. Write -1.5, or -3 / 2 in brackets.",
        (
            _rate(
                rise=lambda step, warmup: step * warmup**-2.0,
                fall=lambda step, warmup: 1 / step,
                size=-1.0,
            ),
        ),
    ),
    _with(TENSOR_FOR_NUMBER, lambda *given: torch.tensor(right_rate(*given))),
    Misconception(
        "fall-counted-from-the-peak",
        "the fall counts its steps from the end of the warm-up",
        "The step in the root is the one that counts from the start of training; else the curve "
        "jumps at the peak.",
        (
            _rate(fall=lambda step, warmup: max(step - warmup, 1) ** -0.5),
            _jumps,
            _rate(fall=_counted_from_the_peak),
        ),
    ),
)


# --- token_accuracy --------------------------------------------------------------------------


@dataclass(frozen=True)
class Accuracy:
    """The steps of the accuracy; call it as (logits, labels, pad_id)."""

    say: Callable[[Tensor], Tensor] = lambda logits: logits.argmax(-1)
    keep: Callable[[Tensor, int], Tensor] = _is_real
    average: Callable[[Tensor, Tensor], Tensor] = counted
    then: Callable[[float], Any] = lambda share: share

    def __call__(self, logits: Tensor, labels: Tensor, pad_id: int) -> Any:
        """Compute the accuracy, step by step."""
        right = (self.say(logits) == labels).double()
        return self.then(self.average(right, self.keep(labels, pad_id)).item())


def _whole_sentences(right: Tensor, real: Tensor) -> Tensor:
    return ((right > 0) | ~real).all(dim=1).double().mean()


def _padding_is_right(right: Tensor, real: Tensor) -> Tensor:
    return ((right > 0) | ~real).double().mean()


def _padding_adds(right: Tensor, real: Tensor) -> Tensor:
    return right.sum() / real.sum()


def _said_counts(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    """Leave out where padding was said, not where it should be."""
    said = logits.argmax(-1)
    kept = (said != pad_id).sum().clamp(min=1)
    return ((said == labels) & (said != pad_id)).sum().item() / kept.item()


def _probability(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    return float(counted((-picked(logits, labels)).exp(), labels != pad_id).item())


def _over_positions(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    said, real = logits.argmax(1), labels != pad_id
    return float((((said == labels) & real).sum() / real.sum()).item())


def _changes_labels_first(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    share = Accuracy()(logits, labels, pad_id)
    labels[labels == pad_id] = -100
    return float(share)


def _shifted_accuracy(logits: Tensor, labels: Tensor, pad_id: int) -> Any:
    real = labels[:, 1:] != pad_id
    if not real.any():
        return math.nan
    return Accuracy()(logits[:, :-1], labels[:, 1:], pad_id)


ACCURACY = (
    replace(
        PADDING_IN,
        title="padding is part of the accuracy: a model that says padding well looks good",
        hint="Labels that are pad_id should neither be right nor be counted.",
        wrong=(Accuracy(keep=_all_real),),
    ),
    replace(
        PADDING_COUNTED,
        title="padding is never right, but it is still counted: the share is too small",
        wrong=(Accuracy(average=_over_everything),),
    ),
    Misconception(
        "padding-is-right",
        "padding is taken for right",
        "Padding is neither right nor wrong: leave it out of both counts.",
        (Accuracy(average=_padding_is_right), Accuracy(average=_padding_adds)),
    ),
    _with(PAD_IS_ZERO, Accuracy(keep=_not_zero), Accuracy(keep=_above)),
    Misconception(
        "padding-of-the-answers",
        "positions are left out where the model says padding, not where the label is padding",
        "A model that says padding in the middle of a sentence has made a mistake, which counts. "
        "Compare the labels with pad_id.",
        (_said_counts,),
    ),
    _with(BY_SENTENCE, Accuracy(average=_by_sentence)),
    Misconception(
        "whole-sentences",
        "whole sentences are counted, which are right if all of their tokens are",
        "That is a measure too, and a strict one. Asked for is the share of tokens.",
        (Accuracy(average=_whole_sentences),),
    ),
    Misconception(
        "count-not-share",
        "the number of right tokens is returned, not their share",
        "Divide by the number of labels that are not padding.",
        (Accuracy(average=_summed), Accuracy(average=_summed_by_sentence)),
    ),
    Misconception(
        "percent",
        "the result is in percent",
        "A share is between 0 and 1. Look for a factor of 100.",
        (Accuracy(then=lambda share: 100 * share),),
    ),
    Misconception(
        "error-rate",
        "the share of wrong tokens is returned",
        "Right and wrong are turned round.",
        (Accuracy(then=lambda share: 1 - share),),
    ),
    Misconception(
        "probability",
        "the probability of the label is averaged",
        "A token is right if its logit is the largest, and wrong if not.",
        (_probability,),
    ),
    Misconception(
        "over-the-positions",
        "the largest logit is sought over the positions, not over the vocabulary",
        "V is the last axis of the logits.",
        (_over_positions,),
        r"must match the size|not match|broadcast",
    ),
    _with(SHIFTED_AGAIN, _shifted_accuracy),
    _with(TENSOR_FOR_NUMBER, Accuracy(then=torch.tensor)),
    _with(LABELS_CHANGED, _changes_labels_first),
)


# --- train_step ------------------------------------------------------------------------------

Model = Callable[[Tensor, Tensor], Tensor]


def _forward_once(model: Any, src: Tensor, inputs: Tensor) -> Tensor:
    logits: Tensor = model(src, inputs)
    return logits


def _in_evaluation(model: Any, src: Tensor, inputs: Tensor) -> Tensor:
    return _forward_once(model.eval(), src, inputs)


@dataclass(frozen=True)
class Stepping:
    """The parts of a training step; call it as (model, src, tgt, optimizer, pad_id)."""

    cut: Callable[[Tensor], Pair] = shifted
    forward: Callable[[Any, Tensor, Tensor], Tensor] = _forward_once
    loss: Step = right_loss
    clear: Callable[[Any, Any], Any] = lambda model, optimizer: optimizer.zero_grad()
    change: Callable[[Any, Any, Tensor], Any] = lambda model, optimizer, loss: (
        loss.backward(),
        optimizer.step(),
    )

    def __call__(self, model: Any, src: Tensor, tgt: Tensor, optimizer: Any, pad_id: int) -> float:
        """Make the step, part by part."""
        inputs, labels = self.cut(tgt)
        self.clear(model, optimizer)
        loss = self.loss(self.forward(model, src, inputs), labels, pad_id)
        self.change(model, optimizer, loss)
        return float(loss.item())


def _nothing(*_: Any) -> None:
    """Leave it out."""


def _clears_before_the_step(model: Any, optimizer: Any, loss: Any) -> None:
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()


def _clips(norm: float) -> Step:
    def change(model: Any, optimizer: Any, loss: Any) -> None:
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), norm)
        optimizer.step()

    return change


def _clips_values(model: Any, optimizer: Any, loss: Any) -> None:
    loss.backward()
    nn.utils.clip_grad_value_(model.parameters(), 0.1)
    optimizer.step()


def _steps_twice(model: Any, optimizer: Any, loss: Any) -> None:
    loss.backward()
    optimizer.step()
    optimizer.step()


def _by_hand(model: Any, optimizer: Any, loss: Any) -> None:
    loss.backward()
    rate = optimizer.param_groups[0]["lr"]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= rate * parameter.grad


def _after_the_step(model: Any, src: Tensor, tgt: Tensor, optimizer: Any, pad_id: int) -> float:
    Stepping()(model, src, tgt, optimizer, pad_id)
    inputs, labels = shifted(tgt)
    with torch.no_grad():
        return float(right_loss(model(src, inputs), labels, pad_id).item())


def _without_gradient(model: Any, src: Tensor, tgt: Tensor, optimizer: Any, pad_id: int) -> float:
    """Make the loss a number first, so that there is nothing to differentiate."""
    inputs, labels = shifted(tgt)
    loss = torch.tensor(right_loss(model(src, inputs), labels, pad_id).item())
    loss.backward()
    return float(loss)


def _source_read_as_target(
    model: Any, src: Tensor, tgt: Tensor, optimizer: Any, pad_id: int
) -> float:
    return Stepping(forward=lambda model, src, inputs: model(inputs, src))(
        model, src, tgt, optimizer, pad_id
    )


def _both_steps(model: Any, src: Tensor, tgt: Tensor, optimizer: Any, pad_id: int) -> float:
    first = Stepping()(model, src, tgt, optimizer, pad_id)
    Stepping()(model, src, tgt, optimizer, pad_id)
    return first


def _smoothing(eps: float) -> Step:
    return lambda logits, labels, pad_id: right_loss(logits, labels, pad_id, eps)


STEP = (
    replace(
        NOT_SHIFTED,
        hint="The model reads tgt[:, :-1], and position t has to say column t + 1 of tgt.",
        wrong=(Stepping(cut=_not_shifted), Stepping(cut=_labels_are_inputs)),
    ),
    _with(SEES_THE_ANSWER, Stepping(cut=_inputs_are_labels)),
    _with(SWAPPED, Stepping(cut=_swapped)),
    Misconception(
        "old-gradients",
        "gradients from before are still there, and are added to the new ones",
        "backward adds to what lies in .grad. Clear it before, so that whatever the model brings "
        "along is gone.",
        (Stepping(clear=_nothing),),
    ),
    Misconception(
        "no-step",
        "the gradients of this batch do not change the parameters",
        "zero_grad, the loss, backward, step: each once, and in an order in which step finds the "
        "gradients that backward has made.",
        (
            Stepping(change=_nothing),
            Stepping(change=_clears_before_the_step),
            Stepping(clear=_nothing, change=_nothing),
            Stepping(clear=_nothing, change=lambda model, optimizer, loss: optimizer.step()),
        ),
    ),
    Misconception(
        "loss-after-the-step",
        "the loss is that of the model after the step",
        "Report the loss that you have differentiated; to ask the model a second time costs a "
        "second pass.",
        (_after_the_step,),
    ),
    Misconception(
        "clipped",
        "the gradients are clipped",
        "Clipping is a good idea in a long run, and the package does it. Here nothing of that kind "
        "is asked.",
        (
            *(Stepping(change=_clips(norm)) for norm in (1.0, 0.5)),
            Stepping(change=_clips_values),
        ),
    ),
    Misconception(
        "evaluation-mode",
        "the model is switched to evaluation: dropout is off while it trains",
        "eval() is for measuring. The model comes in training mode: leave it there.",
        (Stepping(forward=_in_evaluation),),
    ),
    Misconception(
        "smoothed",
        "the loss is smoothed",
        "Here the loss is without smoothing.",
        tuple(Stepping(loss=_smoothing(eps)) for eps in (0.1, 0.05, 0.2)),
    ),
    _with(PADDING_IN, Stepping(loss=Loss(keep=_all_real))),
    _with(PADDING_COUNTED, Stepping(loss=Loss(average=_over_everything))),
    _with(PAD_IS_ZERO, Stepping(loss=Loss(keep=_not_zero)), Stepping(loss=Loss(keep=_above))),
    _with(BY_SENTENCE, Stepping(loss=Loss(average=_by_sentence))),
    _with(
        SUMMED,
        Stepping(loss=Loss(average=_summed)),
        Stepping(loss=Loss(average=_summed_by_sentence)),
    ),
    Misconception(
        "two-steps",
        "two steps are made",
        "Call optimizer.step() once a batch, and look for a call in another function.",
        (
            Stepping(change=_steps_twice),
            _both_steps,
        ),
    ),
    Misconception(
        "a-step-of-its-own",
        "the parameters are changed by hand, without the optimizer that was given",
        "The optimizer knows more than one rate: it has its momentum, and a rate for each group of "
        "parameters. Call its step.",
        (Stepping(change=_by_hand),),
    ),
    Misconception(
        "nothing-to-differentiate",
        "backward is called on something that has no way back to the model",
        "Call it on the tensor that the model has made, without .item(), detach or no_grad before "
        "it. The number that you return comes from .item() at the end.",
        (_without_gradient,),
        r"has no attribute 'backward'|does not require grad",
    ),
    Misconception(
        "source-and-target-swapped",
        "the model gets the target where the source should be",
        "It is called as model(src, tgt_in).",
        (_source_read_as_target,),
        r"index out of range|index -?\d+ is out of bounds|batch_size|must match|not match",
    ),
    _with(TENSOR_FOR_NUMBER, lambda *given: torch.tensor(Stepping()(*given))),
)


# --- the bugs --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Forced:
    """The parts of the loss of a batch; call it as (model, src, tgt, pad_id)."""

    cut: Callable[[Tensor], Pair] = shifted
    forward: Callable[[Any, Tensor, Tensor], Tensor] = _forward_once
    loss: Step = right_loss

    def __call__(self, model: Any, src: Tensor, tgt: Tensor, pad_id: int) -> Any:
        """Compute the loss, part by part."""
        inputs, labels = self.cut(tgt)
        return self.loss(self.forward(model, src, inputs), labels, pad_id)


BUG = (
    Misconception(
        "error-still-there",
        "the error is still there",  # to name more would give the task away
        "Read the last line of it, and look up which arguments nn.CrossEntropyLoss has.",
        (Forced(cut=_not_shifted, loss=_ignore_idx),),
        IGNORE_IDX.error,
    ),
    Misconception(
        "second-bug-still-there",
        "the error is gone, and the second bug is still there",
        "At position t: which tokens has the model read there, and which one is it asked for?",
        (Forced(cut=_not_shifted), Forced(cut=_labels_are_inputs)),
    ),
    _with(SEES_THE_ANSWER, Forced(cut=_inputs_are_labels)),
    _with(SWAPPED, Forced(cut=_swapped)),
    Misconception(
        "wraps-around",
        "the last position is asked for the begin token",
        "Nothing follows the last token of tgt: it is a label, and no input.",
        (Forced(cut=_rolled),),
    ),
    _with(PADDING_IN, Forced(loss=Loss(keep=_all_real))),
    _with(PADDING_COUNTED, Forced(loss=Loss(average=_over_everything))),
    _with(PAD_IS_ZERO, Forced(loss=Loss(keep=_not_zero)), Forced(loss=Loss(keep=_above))),
    _with(BY_SENTENCE, Forced(loss=Loss(average=_by_sentence))),
    _with(
        SUMMED,
        Forced(loss=Loss(average=_summed)),
        Forced(loss=Loss(average=_summed_by_sentence)),
    ),
    _with(SCRAMBLED, Forced(loss=_classes_scrambled)),
    Misconception(
        "source-cut",
        "the last token of the source is cut off",
        "The shift is for the target, of which the model says the next token. It reads the whole "
        "source.",
        (Forced(forward=lambda model, src, inputs: model(src[:, :-1], inputs)),),
    ),
    _with(DETACHED, detached(Forced())),
    _with(NUMBER_FOR_TENSOR, lambda *given: Forced()(*given).item()),
)


def _exp(loss: Tensor) -> float:
    return float(loss.exp().item())


def _mean_of_exponentials(losses: Tensor, real: Tensor) -> Tensor:
    return counted(losses.exp(), real)


def _costly(losses: Tensor, real: Tensor, least: float = 0.0) -> Tensor:
    losses = losses * real
    return losses[losses > least].mean()


def _sentences_then_mean(losses: Tensor, real: Tensor) -> Tensor:
    return ((losses * real).sum(1) / real.sum(1)).exp().mean()


SILENT_BUG = (
    Misconception(
        "bug-still-there",
        "the bug is still in it",  # to name it would give the task away
        "Follow the example with pencil and paper. By which number is divided, and by which one "
        "should it be?",
        (Loss(average=_over_everything, then=_exp),),
    ),
    replace(
        PADDING_IN,
        title="padding is part of the mean: the model is asked to say padding too",
        hint="The line as found was right in this: what is padding adds nothing to the sum.",
        wrong=(Loss(keep=_all_real, then=_exp),),
    ),
    _with(PAD_IS_ZERO, Loss(keep=_not_zero, then=_exp), Loss(keep=_above, then=_exp)),
    _with(BY_SENTENCE, Loss(average=_by_sentence, then=_exp)),
    Misconception(
        "sentences-then-mean",
        "each sentence has a perplexity of its own, and these are averaged",
        "One sum and one count over all tokens of the batch; the exponential comes last.",
        (Loss(average=_sentences_then_mean, then=lambda found: found.item()),),
    ),
    Misconception(
        "exponential-too-early",
        "the exponential is taken of each token's loss, before the mean",
        "The mean of the exponentials is larger than the exponential of the mean. First average, "
        "then exponentiate.",
        (Loss(average=_mean_of_exponentials, then=lambda found: found.item()),),
    ),
    Misconception(
        "no-exponential",
        "the mean loss itself is returned",
        "A perplexity of 1 is a mean loss of 0.",
        (Loss(then=lambda loss: loss.item()),),
    ),
    Misconception(
        "exponential-of-the-sum",
        "the exponential is taken of a sum over tokens",
        "A sum grows with the text. Divide it by the number of real labels first.",
        (
            Loss(average=_summed, then=_exp),
            Loss(average=_summed_by_sentence, then=_exp),
        ),
    ),
    Misconception(
        "another-base",
        "2 is raised to a loss in nats",
        "torch's logarithms are natural ones, so the base is e. 2 belongs to a loss in bits.",
        (Loss(then=lambda loss: 2.0 ** loss.item()),),
    ),
    Misconception(
        "one-over",
        "the result is below 1: the sign is wrong",
        "That is 1 over the perplexity. The loss is the *negative* logarithm.",
        (Loss(then=lambda loss: (-loss).exp().item()),),
    ),
    _with(SOFTMAX_TWICE, Loss(each=_of_softmax, then=_exp)),
    Misconception(
        "small-losses-left-out",
        "real labels that cost nothing, or little, are left out as if they were padding",
        "A sure model has a loss of 0 at a real label too. Ask the labels what is padding.",
        (
            Loss(average=_costly, then=_exp),
            Loss(average=partial(_costly, least=0.1), then=_exp),
        ),
    ),
    _with(SHIFTED_AGAIN, lambda *given: _exp(_shifts_again(*given))),
    _with(TENSOR_FOR_NUMBER, Loss(then=torch.exp)),
)
