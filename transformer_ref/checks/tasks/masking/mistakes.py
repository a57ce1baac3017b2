"""The misconceptions of the assignment "masking", task by task, each with its implementation.

They come from the notes that the course corrects, and from code that is widely copied: padding that
hides query rows, a fill that float16 cannot hold, a mask made where the batch is not, an epsilon
that is 0 in half precision, rows of NaN.
Twins that give the same numbers are one entry: an inverted causal mask and the future without the
present; a transposed one and triu; a fill of 1e-9 and a multiplied mask.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_ref.checks.authoring.attention_recipes import (
    Recipe,
    hidden,
    not_hidden,
    products,
    scaled,
)
from transformer_ref.checks.authoring.shared_mistakes import (
    CHANGES_INPUT,
    DETACHED,
    FLOAT32_ONLY,
    TOO_MILD,
    Step,
    detached,
    in_float32,
)
from transformer_ref.checks.authoring.shared_mistakes import with_wrong as _with
from transformer_ref.checks.task import Misconception

Device = torch.device | str | None
# What gives different numbers and is the same mistake: a mask of 0 and 1 in each of these.
NUMBERS = (torch.float32, torch.int64, torch.int32, torch.uint8, torch.float64)


# --- what the three masks share --------------------------------------------------------------


def real(ids: Tensor, pad_id: int) -> Tensor:
    """(B, S): True where there is a token."""
    return ids != pad_id


def columns(tokens: Tensor) -> Tensor:
    """(B, S) to (B, 1, 1, S)."""
    return tokens[:, None, None, :]


def rows(tokens: Tensor) -> Tensor:
    """(B, S) to (B, 1, S, 1)."""
    return tokens[:, None, :, None]


def both(tokens: Tensor) -> Tensor:
    """(B, S) to (B, 1, S, S): padding neither looks nor is looked at."""
    return rows(tokens) & columns(tokens)


def lower(length: int, device: Device = None, diagonal: int = 0) -> Tensor:
    """(T, T): True on and below a diagonal."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril(diagonal)


def _added(mask: Tensor) -> Tensor:
    """0 where a mask is True, minus infinity elsewhere."""
    return torch.zeros(mask.shape, device=mask.device).masked_fill(~mask, -math.inf)


def _then(change: Callable[[Tensor], Tensor], make: Step) -> Step:
    """Return a maker of masks whose result is changed."""
    return lambda *args, **kwargs: change(make(*args, **kwargs))


def _as_numbers(make: Step) -> tuple[Step, ...]:
    return tuple(_then(partial(Tensor.to, dtype=kind), make) for kind in NUMBERS)


def _first_pad(ids: Tensor, pad_id: int) -> Tensor:
    """(B, S): True up to the first padding."""
    return real(ids, pad_id).cumprod(dim=1).bool()


def _by_count(ids: Tensor, pad_id: int) -> Tensor:
    """(B, S): True for as many places from the left as there are tokens."""
    lengths = real(ids, pad_id).sum(dim=1, keepdim=True)
    return torch.arange(ids.shape[1], device=ids.device) < lengths


def _emptied(ids: Tensor, pad_id: int) -> Tensor:
    """The right mask, and an argument that holds something else."""
    tokens = real(ids, pad_id)
    ids.masked_fill_(~tokens, 0 if pad_id else -1)
    return tokens


INVERTED = Misconception(
    "true-means-blocked",
    "the mask is inverted: it is True where nothing may be seen",
    'In this course, as in F.scaled_dot_product_attention, True means "may attend". Some other '
    "functions of torch mean the opposite.",
    (),
)
QUERY_ROWS = Misconception(
    "padding-on-query-rows",
    "the padding is on the query rows: it is decided who may look, not what may be seen",
    "The last axis of the scores is the keys, the one before it the queries. A padding token is "
    "hidden as a key.",
    (),
)
BOTH = Misconception(
    "padding-on-rows-and-columns",
    "padding is hidden as a key, but as a query too",
    "A row of padding that may see nothing has no weights to share out. It is harmless as a query, "
    "since nobody reads its answer; only its column is hidden.",
    (),
)
NO_AXES = Misconception(
    "axes-missing",
    "the numbers are right, but the axes that make them broadcast against the scores are missing",
    "Scores have four axes: batch, heads, queries, keys. Every one that the mask does not depend "
    "on needs an axis of size 1 in its place.",
    (),
)
AS_NUMBERS = Misconception(
    "numbers-not-booleans",
    "the mask holds the numbers 0 and 1, where it should hold False and True",
    "`~` and `masked_fill` want bool, and a float mask is added to the scores by torch's own "
    "functions. Compare, or convert at the end.",
    (),
)
ADDED = Misconception(
    "added-to-the-scores",
    "this is the other kind of mask: 0 and minus infinity, to be added to the scores",
    "Here a mask is boolean. It says who may see what; how the scores hide it is decided later.",
    (),
)
PAD_IS_ZERO = Misconception(
    "padding-is-id-0",
    "padding is taken to be the id 0, whatever `pad_id` is",
    "Other tokenizers have another id. Compare with the argument; `> 0` and bool() ask for 0.",
    (),
)
SMALLER = Misconception(
    "smaller-ids-are-hidden",
    "ids below `pad_id` are hidden too",
    "Ids have no order that means anything. Look at the comparison: padding is one id.",
    (),
)
FIRST_PAD = Misconception(
    "cut-at-the-first-padding",
    "everything behind the first padding is hidden",
    "Padding may also stand in front of a sentence, and then nothing would be left. Each place is "
    "judged by its own id.",
    (),
)
BY_COUNT = Misconception(
    "counted-from-the-left",
    "as many places as there are tokens are open, from the left",
    "That is right only where the padding stands at the end. It may stand in front, too. Each "
    "place is judged by its own id.",
    (),
)
ONE_FOR_ALL = Misconception(
    "one-row-for-the-whole-batch",
    "all sequences of the batch get one mask",
    "Every sequence has its own padding. Look for an all, an any or an index that takes the batch "
    "axis away.",
    (),
)


# --- padding_mask ----------------------------------------------------------------------------


def _columns_of(tokens: Callable[[Tensor, int], Tensor]) -> Step:
    return lambda ids, pad_id: columns(tokens(ids, pad_id))


def _shaped(shape: Callable[[Tensor], Tensor]) -> Step:
    return lambda ids, pad_id: shape(real(ids, pad_id))


PADDING = (
    _with(INVERTED, lambda ids, pad_id: columns(ids == pad_id)),
    _with(QUERY_ROWS, _shaped(rows)),
    _with(BOTH, _shaped(both)),
    _with(
        NO_AXES,
        _shaped(lambda tokens: tokens),
        _shaped(lambda tokens: tokens[:, None]),
    ),
    Misconception(
        "axes-in-the-wrong-place",
        "the new axes are not between the batch and the keys",
        "The batch is the first axis of the scores and the keys are the last. The axes of size 1, "
        "for heads and queries, belong between the two.",
        (
            _shaped(lambda tokens: tokens[None, None]),
            _shaped(lambda tokens: tokens[:, :, None, None]),
            _shaped(lambda tokens: tokens[None, :, None]),
            _shaped(lambda tokens: tokens[None, :, :, None]),
        ),
    ),
    Misconception(
        "batch-and-length-swapped",
        "the batch and the length have changed places",
        "The ids come batch first, and the batch stays first. Look for a transpose.",
        (_shaped(lambda tokens: columns(tokens.T)), _shaped(lambda tokens: tokens.T[None, None])),
    ),
    Misconception(
        "repeated-for-every-query",
        "the mask is repeated along the axis of the queries",
        "The mask is the same for every query, and broadcasting repeats it without a copy: that "
        "axis has size 1. With S queries it would not even fit cross-attention.",
        (
            _shaped(lambda tokens: columns(tokens).expand(-1, -1, tokens.shape[1], -1)),
            _shaped(lambda tokens: rows(tokens).expand(-1, -1, -1, tokens.shape[1])),
        ),
    ),
    _with(PAD_IS_ZERO, _columns_of(lambda ids, pad_id: ids != 0)),
    _with(SMALLER, _columns_of(lambda ids, pad_id: ids > pad_id)),
    _with(FIRST_PAD, _columns_of(_first_pad)),
    _with(BY_COUNT, _columns_of(_by_count)),
    _with(
        ONE_FOR_ALL,
        _shaped(lambda tokens: columns(tokens.all(dim=0, keepdim=True))),
        _shaped(lambda tokens: columns(tokens.any(dim=0, keepdim=True))),
        _shaped(lambda tokens: columns(tokens[:1])),
    ),
    _with(AS_NUMBERS, *_as_numbers(_shaped(columns))),
    _with(
        ADDED,
        _then(_added, _shaped(columns)),
        lambda ids, pad_id: (ids == pad_id)[:, None, None] * -1e9,
    ),
    _with(CHANGES_INPUT, _columns_of(_emptied)),
)


# --- causal_mask -----------------------------------------------------------------------------


def _causal(change: Callable[[Tensor], Tensor], diagonal: int = 0) -> Step:
    """Return a maker of causal masks, with (T, T) changed at the end."""

    def wrong(length: int, device: Device = None) -> Tensor:
        return change(lower(length, device, diagonal))

    return wrong


def _four(mask: Tensor) -> Tensor:
    return mask[None, None]


def _of_length(more: int) -> Step:
    def wrong(length: int, device: Device = None) -> Tensor:
        return _four(lower(length + more, device))

    return wrong


def _default_device(length: int, device: Device = None) -> Tensor:
    return _four(lower(length))


UPPER = Misconception(
    "sees-the-future",
    "the triangle is the other one: each position sees itself and what comes after it",
    "Row t is the query at t, column s is the key at s. A query may look back: s is at most t.",
    (),
)
NOT_ITSELF = Misconception(
    "not-itself",
    "no position sees itself",
    "The input at t is known when the token after it is wanted, so the diagonal is open. Without "
    "it the first position sees nothing at all.",
    (),
)
ONE_TOO_FAR = Misconception(
    "one-too-far",
    "each position sees one token of the future",
    "One is enough: it is the very token that has to be predicted. Look at the diagonal.",
    (),
)

CAUSAL = (
    _with(UPPER, _causal(lambda mask: _four(mask.T))),
    _with(INVERTED, _causal(lambda mask: _four(~mask))),
    _with(NOT_ITSELF, _causal(_four, -1)),
    _with(ONE_TOO_FAR, _causal(_four, 1)),
    Misconception(
        "only-itself",
        "each position sees itself only",
        "A language model reads all that came before. What keeps the lower triangle of a matrix?",
        (_causal(lambda mask: _four(mask & mask.T)),),
    ),
    Misconception(
        "nothing-hidden",
        "nothing is hidden",
        "Above the diagonal, where the key is later than the query, the mask is False.",
        (_causal(lambda mask: _four(mask | True)),),
    ),
    Misconception(
        "mirrored",
        "the triangle leans the other way: rows or columns run backwards",
        "Row 0 is the first query, column 0 the first key. Look for a flip or a rotation.",
        (
            _causal(lambda mask: _four(mask.flip(0))),
            _causal(lambda mask: _four(mask.flip(1))),
        ),
    ),
    Misconception(
        "other-length",
        "the mask is for a sequence that is longer or shorter by one",
        "It has as many rows and columns as `length` says. Look for a + 1 or a - 1.",
        (_of_length(1), _of_length(-1)),
    ),
    _with(NO_AXES, _causal(lambda mask: mask), _causal(lambda mask: mask[None])),
    Misconception(
        "ignores-the-device",
        "the mask is made on the default device, whatever `device` says",
        "A mask has to lie where the scores are, or a batch on a GPU fails. Hand the argument on "
        "to what makes the tensor.",
        (_default_device,),
    ),
    _with(AS_NUMBERS, *_as_numbers(_causal(_four))),
    _with(
        ADDED,
        _causal(lambda mask: _added(_four(mask))),
        _causal(lambda mask: _four(~mask) * -1e9),
        _causal(_added),
    ),
)


# --- target_mask -----------------------------------------------------------------------------


def _past(ids: Tensor) -> Tensor:
    """(1, 1, T, T) on the device of the ids."""
    return _four(lower(ids.shape[1], ids.device))


def _target(
    combine: Callable[[Tensor, Tensor], Tensor] = torch.logical_and,
    tokens: Callable[[Tensor, int], Tensor] = real,
    place: Callable[[Tensor], Tensor] = columns,
    past: Callable[[Tensor], Tensor] = _past,
) -> Step:
    """Return a maker of target masks, right unless a step is replaced."""
    return lambda ids, pad_id: combine(place(tokens(ids, pad_id)), past(ids))


def _future(ids: Tensor) -> Tensor:
    return _past(ids).transpose(-2, -1)


def _one_too_far(ids: Tensor) -> Tensor:
    return _four(lower(ids.shape[1], ids.device, 1))


def _not_itself(ids: Tensor) -> Tensor:
    return _four(lower(ids.shape[1], ids.device, -1))


def _whole(padding: Tensor, past: Tensor) -> Tensor:
    return padding.expand(-1, -1, past.shape[-1], -1)


OR = Misconception(
    "or-not-and",
    "a key may be seen if one of the two masks allows it",
    "Both have to allow it: a token of the past that is padding stays hidden, and so does a real "
    "one of the future.",
    (),
)
NO_PADDING = Misconception(
    "padding-forgotten",
    "padding is not hidden",
    "The triangle alone hides the future. Where padding stands in the past, it has to be hidden "
    "too.",
    (),
)
NO_FUTURE = Misconception(
    "future-not-hidden",
    "the future is not hidden",
    "Hiding padding is not enough in a decoder: query t may see keys 0 to t only.",
    (),
)

TARGET = (
    _with(OR, _target(torch.logical_or)),
    Misconception(
        "one-or-the-other",
        "what both masks allow is hidden",
        "`^` is true where exactly one of the two is. Both have to allow a key.",
        (_target(torch.logical_xor),),
    ),
    _with(
        NO_PADDING,
        lambda ids, pad_id: _past(ids).expand(len(ids), -1, -1, -1),
        lambda ids, pad_id: _past(ids),
    ),
    _with(NO_FUTURE, _target(_whole), _target(lambda padding, past: padding)),
    _with(QUERY_ROWS, _target(place=rows)),
    _with(BOTH, _target(place=both)),
    _with(UPPER, _target(past=_future)),
    _with(NOT_ITSELF, _target(past=_not_itself)),
    _with(ONE_TOO_FAR, _target(past=_one_too_far)),
    _with(INVERTED, _then(torch.logical_not, _target())),
    Misconception(
        "one-mask-inverted",
        "one of the two masks is inverted before they meet",
        'True has to mean "may attend" in both. Look for a ~, an == in place of a !=, or a triu.',
        (
            _target(tokens=lambda ids, pad_id: ids == pad_id),
            _target(past=lambda ids: ~_past(ids)),
        ),
    ),
    _with(PAD_IS_ZERO, _target(tokens=lambda ids, pad_id: ids != 0)),
    _with(SMALLER, _target(tokens=lambda ids, pad_id: ids > pad_id)),
    _with(FIRST_PAD, _target(tokens=_first_pad)),
    _with(BY_COUNT, _target(tokens=_by_count)),
    _with(
        ONE_FOR_ALL,
        _target(place=lambda tokens: columns(tokens.all(dim=0, keepdim=True))),
        _target(place=lambda tokens: columns(tokens[:1])),
    ),
    _with(NO_AXES, _then(lambda mask: mask[:, 0], _target())),
    _with(
        AS_NUMBERS,
        *_as_numbers(_target()),
        _target(lambda padding, past: padding.int() + past.int()),
    ),
    _with(ADDED, _then(_added, _target())),
    _with(CHANGES_INPUT, _target(tokens=_emptied)),
)


# --- masked_softmax --------------------------------------------------------------------------


def softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over what may be seen, zeros where that is nothing; not the package's code."""
    return hidden(scores, mask).softmax(dim=-1).nan_to_num(0.0)


def _filled_with(number: float, *, zeroed: bool = False, dim: int = -1) -> Step:
    """Return a softmax whose hidden scores are a fixed number."""

    def wrong(scores: Tensor, mask: Tensor) -> Tensor:
        weights = scores.masked_fill(~mask, number).softmax(dim=dim)
        return weights.masked_fill(~mask, 0.0) if zeroed else weights

    return wrong


def _lowest(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim=-1)


def _nan(scores: Tensor, mask: Tensor) -> Tensor:
    return hidden(scores, mask).softmax(dim=-1)


def _afterwards(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.softmax(dim=-1).masked_fill(~mask, 0.0)


def _renormalised(scores: Tensor, mask: Tensor) -> Tensor:
    weights = _afterwards(scores, mask)
    total = weights.sum(dim=-1, keepdim=True)
    return weights / total.masked_fill(total == 0, 1.0)


def _below_the_largest_of_all(scores: Tensor, mask: Tensor) -> Tensor:
    """Take off the largest score of the row, which may be a hidden one."""
    numerators = (scores - scores.amax(dim=-1, keepdim=True)).exp() * mask
    total = numerators.sum(dim=-1, keepdim=True)
    return torch.where(total > 0, numerators / total.clamp(min=1e-30), 0.0)


def _renormalised_by(epsilon: float) -> Step:
    def wrong(scores: Tensor, mask: Tensor) -> Tensor:
        weights = _afterwards(scores, mask)
        return weights / (weights.sum(dim=-1, keepdim=True) + epsilon)

    return wrong


def _exponentials(scores: Tensor, mask: Tensor) -> Tensor:
    """Numerators that are right: at most 1, and 0 for what is hidden."""
    low = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return (low - low.amax(dim=-1, keepdim=True)).exp() * mask


def _small_epsilon(epsilon: float) -> Step:
    """Return a division that an epsilon should save, in a dtype that may not know it."""

    def wrong(scores: Tensor, mask: Tensor) -> Tensor:
        numerators = _exponentials(scores, mask)
        return numerators / (numerators.sum(dim=-1, keepdim=True) + epsilon)

    return wrong


def _no_shift(scores: Tensor, mask: Tensor) -> Tensor:
    numerators = scores.exp().masked_fill(~mask, 0.0)
    total = numerators.sum(dim=-1, keepdim=True)
    return numerators / total.masked_fill(total == 0, 1.0)


def _no_shift_times(scores: Tensor, mask: Tensor) -> Tensor:
    numerators = scores.exp() * mask
    return numerators / numerators.sum(dim=-1, keepdim=True).clamp(min=1e-6)


def _no_shift_where(scores: Tensor, mask: Tensor) -> Tensor:
    numerators = scores.exp() * mask
    total = numerators.sum(dim=-1, keepdim=True)
    return torch.where(total > 0, numerators / total, 0.0)


def _as_written(epsilon: float = 0.0, *, times: bool = True) -> Step:
    """Return the formula, word by word."""

    def wrong(scores: Tensor, mask: Tensor) -> Tensor:
        numerators = scores.exp() * mask if times else scores.exp().masked_fill(~mask, 0.0)
        return numerators / (numerators.sum(dim=-1, keepdim=True) + epsilon)

    return wrong


def _multiplied(scores: Tensor, mask: Tensor) -> Tensor:
    return (scores * mask).softmax(dim=-1)


def _mask_added(scores: Tensor, mask: Tensor) -> Tensor:
    return (scores + mask).softmax(dim=-1)


def _bias(mask: Tensor, like: Tensor) -> Tensor:
    """0 where a mask is True, minus infinity elsewhere, in the dtype of the scores."""
    return torch.zeros_like(like).masked_fill(~mask, -math.inf).detach()


def _bias_then_clean(scores: Tensor, mask: Tensor) -> Tensor:
    return (scores + _bias(mask, scores)).softmax(dim=-1).nan_to_num(0.0)


def _bias_of_float32(scores: Tensor, mask: Tensor) -> Tensor:
    bias = torch.where(mask, 0.0, -math.inf)
    return (scores + bias).softmax(dim=-1).nan_to_num(0.0)


def _empty_sees_all(scores: Tensor, mask: Tensor) -> Tensor:
    return hidden(scores, mask | ~mask.any(dim=-1, keepdim=True)).softmax(dim=-1)


def _over(dim: int) -> Step:
    def wrong(scores: Tensor, mask: Tensor) -> Tensor:
        axis = dim if -scores.ndim <= dim < scores.ndim else -1
        return hidden(scores, mask).softmax(dim=axis).nan_to_num(0.0)

    return wrong


def _in_place(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill_(~mask, -math.inf).softmax(dim=-1).nan_to_num(0.0)


def _logarithms(scores: Tensor, mask: Tensor) -> Tensor:
    return hidden(scores, mask).log_softmax(dim=-1).nan_to_num(0.0, neginf=-math.inf)


NAN_ROWS = Misconception(
    "nan-where-nothing-is-seen",
    "a row that may see nothing is NaN",
    "Where all scores are minus infinity, the softmax divides 0 by 0. One such row spreads: the "
    "next layer, the loss and all gradients are NaN after it.",
    (),
)
UNIFORM = Misconception(
    "uniform-where-nothing-is-seen",
    "a row that may see nothing shares its weight out evenly over what is hidden",
    "Where all scores are the same number, however low, the softmax makes 1/S of them. The hidden "
    "weights have to be 0 there too.",
    (),
)
FIXED_FILL = Misconception(
    "fill-too-large-for-float16",
    "the hidden scores are filled with a number that float16 does not have",
    "float16 ends at 65,504. There is a value that every floating dtype has, and torch.finfo knows "
    "the lowest one of each.",
    (),
    r"without overflow",
)

MILD = tuple(
    _filled_with(number, zeroed=zeroed)
    for number in (-1.0, -10.0, -100.0)
    for zeroed in (False, True)
)
# Low enough for most scores, and above -30,000; without the zeros the empty rows show first.
LOW = (-1000.0, -1e4)
HIDDEN_ZERO = Misconception(
    "hidden-scores-are-zero",
    "hidden scores are 0, which is a score like any other",
    "exp(0) is 1, so what is hidden still has weight. Its exponential has to be 0.",
    (),
)
AFTERWARDS = Misconception(
    "mask-after-softmax",
    "the mask comes after the softmax, and the weights that are left do not sum to one",
    "The softmax has to share out the weight among what may be seen. Hide the scores, not the "
    "weights.",
    (),
)
NAN_GRADIENT = Misconception(
    "nan-in-the-gradient",
    "the weights are right, but the gradient of a row that may see nothing is NaN",
    "NaN was made on the way and cleaned up at the end; the way back passes it again. Hide "
    "with masked_fill or where, whose gradient is 0 where they hide.",
    (),
)
IGNORED = Misconception(
    "mask-ignored",
    "the mask changes nothing",
    "Look at whether the masked scores are the ones that reach the softmax: masked_fill makes "
    "a new tensor.",
    (),
)
NO_SCALE = Misconception(
    "no-scale",
    "the products of queries and keys are not scaled",
    "That line was right in the code as found: K is under a root there.",
    (),
)

SOFTMAX = (
    _with(NAN_ROWS, _nan),
    _with(
        FIXED_FILL,
        _filled_with(-1e9, zeroed=True),
        _filled_with(-1e9),
    ),
    _with(UNIFORM, _lowest, *map(_filled_with, (*LOW, -6e4))),
    _with(AFTERWARDS, _afterwards),
    Misconception(
        "renormalised-afterwards",
        "what is hidden takes part in the softmax, and is taken out of the weights afterwards",
        "If a hidden score is far above the others, it takes all the weight, and nothing is left "
        "to share out. Hide the scores before the softmax.",
        (
            _renormalised,
            _below_the_largest_of_all,
            *(map(_renormalised_by, (1e-9, 1e-8, 1e-6))),
        ),
    ),
    _with(
        replace(INVERTED, title="the mask is read the wrong way round: what it blocks is seen"),
        lambda scores, mask: softmax(scores, ~mask),
        lambda scores, mask: _lowest(scores, ~mask),
        lambda scores, mask: _nan(scores, ~mask),
    ),
    _with(HIDDEN_ZERO, _multiplied, _filled_with(0.0, zeroed=True)),
    Misconception(
        "mask-is-added",
        "the mask itself is added to the scores: True counts as 1, False as 0",
        "What is seen gets a score that is higher by one, and nothing is hidden. A mask that is "
        "added holds minus infinity.",
        (_mask_added,),
    ),
    _with(TOO_MILD, *MILD, *(_filled_with(number, zeroed=True) for number in LOW)),
    _with(IGNORED, lambda scores, mask: scores.softmax(dim=-1)),
    Misconception(
        "over-the-wrong-axis",
        "the softmax runs over another axis than the last",
        "The keys are the last axis, and the weights of one query sum to one over them. Look at "
        "`dim`.",
        (_over(-2), _over(1), _over(0)),
    ),
    Misconception(
        "formula-as-written",
        "this is the formula, word by word, with all that fails in it",
        "It divides 0 by 0 where nothing may be seen, and exp of a large score is infinite. "
        "torch's softmax takes the largest score off first, and the empty rows need a thought of "
        "their own.",
        (
            _as_written(),
            _as_written(times=False),
            *(_as_written(epsilon) for epsilon in (1e-8, 1e-9, 1e-12)),
        ),
    ),
    Misconception(
        "exponentials-too-large",
        "the exponentials of large scores are larger than the dtype can hold",
        "In float16 exp(12) is too much, in float32 exp(89). Take the largest score of the row off "
        "first; that changes no weight.",
        (_no_shift, _no_shift_times, _no_shift_where),
    ),
    Misconception(
        "epsilon-is-zero-in-half",
        "the epsilon under the fraction is 0 in float16, so an empty row is still 0 / 0",
        "The smallest number above 0 of float16 is 6e-8. Do not rely on an epsilon: see which rows "
        "are empty.",
        (_small_epsilon(1e-9),),
    ),
    Misconception(
        "rows-sum-to-less",
        "the denominator has too much in it: the weights do not sum to one",
        "A 1, or an epsilon that is not small, was added to the sum of the exponentials. Only an "
        "empty row needs another denominator.",
        (_small_epsilon(1.0), _small_epsilon(1e-2), _small_epsilon(1e-3)),
    ),
    _with(NAN_GRADIENT, _bias_then_clean),
    Misconception(
        "empty-row-sees-all",
        "a row that may see nothing sees everything",
        "The NaN is gone, but hidden tokens have weight. Such a row is all zeros.",
        (_empty_sees_all,),
    ),
    Misconception(
        "logarithms",
        "these are the logarithms of the weights",
        "log_softmax is for a loss. Attention multiplies the values by the weights themselves.",
        (_logarithms,),
    ),
    _with(DETACHED, detached(softmax)),
    _with(FLOAT32_ONLY, in_float32(softmax), _bias_of_float32),
    _with(CHANGES_INPUT, _in_place),
)


# --- find the bug: the mask of a decoder -----------------------------------------------------


def _attends(
    mask: Callable[[Tensor, int], Tensor],
    weigh: Callable[[Tensor, Tensor], Tensor] = softmax,
    score: Callable[[Tensor, Tensor], Tensor] = scaled,
) -> Step:
    """Return attention with the mask of a decoder, right if the mask is."""

    def attend(query: Tensor, key: Tensor, value: Tensor, ids: Tensor, pad_id: int) -> Tensor:
        return weigh(score(query, key), mask(ids, pad_id)) @ value

    return attend


OTHER_DEVICE = r"on the expected device|on the same device|is on cpu"


def _past_on_cpu(ids: Tensor) -> Tensor:
    return _four(lower(ids.shape[1]))


BUG = (
    Misconception(
        "both-bugs-are-in",
        "both bugs are still in it",
        "One shows in every batch with padding; the other only where the batch is not on the "
        "default device.",
        (_attends(_target(place=rows, past=_past_on_cpu)),),
        OTHER_DEVICE,
    ),
    Misconception(
        "made-on-the-default-device",
        "one bug is mended; the other shows where the batch is not on the default device",
        "A tensor that is made inside lies on the CPU unless told otherwise, and cannot meet one "
        "on a GPU.",
        (_attends(_target(past=_past_on_cpu)),),
        OTHER_DEVICE,
    ),
    _with(QUERY_ROWS, _attends(_target(place=rows))),
    _with(BOTH, _attends(_target(place=both))),
    _with(OR, _attends(_target(torch.logical_or))),
    _with(NO_PADDING, _attends(lambda ids, pad_id: _past(ids))),
    _with(NO_FUTURE, _attends(_target(lambda padding, past: padding))),
    _with(UPPER, _attends(_target(past=_future))),
    _with(NOT_ITSELF, _attends(_target(past=_not_itself))),
    _with(ONE_TOO_FAR, _attends(_target(past=_one_too_far))),
    _with(
        INVERTED,
        _attends(_then(torch.logical_not, _target())),
        _attends(_then(torch.logical_not, _target()), _nan),
    ),
    _with(PAD_IS_ZERO, _attends(_target(tokens=lambda ids, pad_id: ids != 0))),
    _with(FIRST_PAD, _attends(_target(tokens=_first_pad))),
    _with(BY_COUNT, _attends(_target(tokens=_by_count))),
    _with(NAN_ROWS, _attends(_target(), _nan)),
    _with(UNIFORM, _attends(_target(), _lowest), _attends(_target(), _filled_with(-6e4))),
    _with(NO_SCALE, _attends(_target(), score=products)),
    _with(DETACHED, detached(_attends(_target()))),
)


# --- find another bug: the fill --------------------------------------------------------------


def _fills(weigh: Callable[[Tensor, Tensor], Tensor], **steps: Any) -> Step:
    """Return attention that weighs with a masked softmax, without the weights themselves."""
    recipe = replace(Recipe(), **steps)

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        weights = weigh(recipe.score(query, key), mask)
        return recipe.combine(weights, value)

    return attend


def _raised_to_float32(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    scores = scaled(query.float(), key.float()).masked_fill(~mask, -1e10)
    return (scores.softmax(dim=-1) @ value.float()).to(query.dtype)


def _output_cleaned(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Wipe NaN off the output, behind weights from a bias in float32."""
    scores = scaled(query, key) + torch.where(mask, 0.0, -math.inf)
    return (scores.softmax(dim=-1) @ value).nan_to_num(0.0)


def _unmasked(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    return not_hidden(scaled(query, key), mask).softmax(dim=-1) @ value


ANOTHER_BUG = (
    Misconception(
        "bug-is-in",
        "the bug is still in it",
        "Try float16, and try a row that may see nothing. Both come from one number.",
        (_fills(_filled_with(-1e10)),),
        r"without overflow",
    ),
    Misconception(
        "empty-rows-still-average",
        "float16 works, but a query that may see nothing still gets the average of all values",
        "Where all scores are the same number, the softmax shares out evenly. What is the answer "
        "to a query that may see nothing?",
        (
            _fills(_lowest),
            *(_fills(_filled_with(number)) for number in (*LOW, -6e4)),
            _raised_to_float32,
        ),
    ),
    _with(NAN_ROWS, _fills(_nan)),
    Misconception(
        "zeroed-and-too-large",
        "empty rows are zeros now, but the fill is still a number that float16 does not have",
        "float16 ends at 65,504. There is a value that every floating dtype has, and torch.finfo "
        "knows the lowest one of each.",
        (_fills(_filled_with(-1e10, zeroed=True)),),
        r"without overflow",
    ),
    _with(
        TOO_MILD,
        *map(_fills, MILD),
        *(_fills(_filled_with(number, zeroed=True)) for number in LOW),
    ),
    _with(HIDDEN_ZERO, _fills(_multiplied), _fills(_filled_with(0.0, zeroed=True))),
    _with(AFTERWARDS, _fills(_afterwards)),
    _with(
        INVERTED,
        _fills(lambda scores, mask: softmax(scores, ~mask)),
        _fills(lambda scores, mask: _lowest(scores, ~mask)),
        _fills(lambda scores, mask: _nan(scores, ~mask)),
    ),
    _with(IGNORED, _unmasked),
    _with(
        replace(NAN_GRADIENT, error=r"expected scalar type|same dtype"),
        _fills(_bias_then_clean),
        _output_cleaned,
    ),
    _with(NO_SCALE, _fills(softmax, score=products)),
    _with(DETACHED, detached(_fills(softmax))),
    _with(FLOAT32_ONLY, in_float32(_fills(softmax))),
)
