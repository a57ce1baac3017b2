"""The misconceptions of the assignment "attention", task by task, each with its implementation.

Twins that give the same numbers are one entry here: K instead of sqrt(K) and scaling twice; a fill
of -1e-9 and a multiplied mask; an inverted mask and a penalty of the wrong sign.
Dropout that stays on has no entry, as its numbers are random: the case asked twice tells it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from transformer_ref.checks.authoring.attention_recipes import (
    HeadsRecipe,
    Mask,
    Recipe,
    hidden,
    merge,
    multi_head,
    not_hidden,
    products,
    projected,
    scaled,
    scaled_by,
    softmax_over,
    split,
    with_attention,
)
from transformer_ref.checks.authoring.shared_mistakes import (
    CHANGES_INPUT,
    DETACHED,
    FLOAT32_ONLY,
    TOO_MILD,
    Step,
)
from transformer_ref.checks.authoring.shared_mistakes import detached as _detached
from transformer_ref.checks.authoring.shared_mistakes import in_float32 as _in_float32
from transformer_ref.checks.authoring.shared_mistakes import with_wrong as _with
from transformer_ref.checks.task import Misconception

# --- scores ----------------------------------------------------------------------------------


def _leading_size(query: Tensor, axis: int) -> int:
    """Size of an axis, 1 where there is none."""
    return query.shape[axis] if -query.ndim <= axis < query.ndim else 1


def _by_axis(axis: int) -> Step:
    """Score with the square root of the size of another axis of the query."""
    return scaled_by(lambda query, key: _leading_size(query, axis) ** -0.5)


BY_MODEL = scaled_by(lambda query, key: (_leading_size(query, -3) * query.shape[-1]) ** -0.5)
BY_SOURCE = scaled_by(lambda query, key: key.shape[-2] ** -0.5)
BY_K = scaled_by(lambda query, key: 1 / query.shape[-1])
TIMES_ROOT = scaled_by(lambda query, key: query.shape[-1] ** 0.5)
BY_FOURTH_ROOT = scaled_by(lambda query, key: query.shape[-1] ** -0.25)


def _query_in_place(query: Tensor, key: Tensor) -> Tensor:
    query /= math.sqrt(query.shape[-1])
    return products(query, key)


def _reshaped_key(query: Tensor, key: Tensor) -> Tensor:
    flipped = key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])
    return query @ flipped / math.sqrt(query.shape[-1])


def _cosine(query: Tensor, key: Tensor) -> Tensor:
    unit = torch.nn.functional.normalize
    return products(unit(query, dim=-1), unit(key, dim=-1))


def _reversed_key(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.permute(*range(key.ndim - 1, -1, -1)) / math.sqrt(query.shape[-1])


def _elementwise(query: Tensor, key: Tensor) -> Tensor:
    return query * key / math.sqrt(query.shape[-1])


NO_SCALE_HINT = (
    "The variance of a product of two random vectors grows with their size K; something must "
    "bring it back to 1. Look at the formula's denominator."
)
NO_SCALE = Misconception(
    "no-scale", "the products of queries and keys are not scaled", NO_SCALE_HINT, ()
)
BY_K_ENTRY = Misconception(
    "scaled-by-k",
    "the products are divided by K, not by its square root",
    "The variance is K, so the standard deviation is sqrt(K). Look for a missing root, or for a "
    "scale by sqrt(K) that is applied to both query and key, or twice.",
    (),
)
TIMES_ENTRY = Misconception(
    "multiplied-by-root-k",
    "the products are multiplied by sqrt(K) where they should be divided",
    "The scale has to make large products smaller. Look at what the operator or the sign of the "
    "exponent does to them.",
    (),
)
BY_HEADS_ENTRY = Misconception(
    "scaled-by-num-heads",
    "the scale comes from the number of heads, or the size of another axis, not from K",
    "K is the size of the vectors that are multiplied: the last axis. Look at which size is under "
    "the root.",
    (),
)
BY_MODEL_ENTRY = Misconception(
    "scaled-by-d-model",
    "the scale is sqrt(D) of the whole model, not sqrt(K) of one head",
    "Each product sums over the K features of one head only. Look at which size is under the root.",
    (),
)
BY_LENGTH_ENTRY = Misconception(
    "scaled-by-length",
    "the scale comes from the length of a sequence",
    "The sum in each product runs over features, not over tokens. Look at which axis' size is "
    "under the root.",
    (),
)


SCORES = (
    _with(NO_SCALE, products),
    _with(BY_K_ENTRY, BY_K),
    _with(TIMES_ENTRY, TIMES_ROOT),
    _with(BY_LENGTH_ENTRY, _by_axis(-2), BY_SOURCE),
    _with(BY_HEADS_ENTRY, _by_axis(1), _by_axis(-3), _by_axis(0)),
    _with(BY_MODEL_ENTRY, BY_MODEL),
    Misconception(
        "fourth-root",
        "only one of query and key is scaled, by the fourth root of K",
        "The fourth root is right if both factors get it. Look at whether the other one does.",
        (BY_FOURTH_ROOT,),
    ),
    Misconception(
        "softmax-included",
        "the result has already gone through a softmax",
        "Scores are the numbers before the softmax and may be negative. Return them as they are.",
        (lambda query, key: torch.softmax(scaled(query, key), dim=-1),),
    ),
    Misconception(
        "roles-swapped",
        "query and key have changed places: the result is (..., S, T)",
        "Rows belong to queries, columns to keys. Look at which one is transposed.",
        (lambda query, key: scaled(key, query),),
    ),
    Misconception(
        "reshaped-not-transposed",
        "the key is reshaped where it should be transposed",
        "view and reshape keep the order in memory and so mix features of different tokens; look "
        "for the operation that exchanges two axes.",
        (_reshaped_key,),
    ),
    Misconception(
        "all-axes-reversed",
        "the key has all its axes reversed, not only the last two",
        "`.T` reverses every axis, and fixed axis numbers fit one number of axes only. Count the "
        "two axes from the end.",
        (
            _reversed_key,
            lambda query, key: query @ key.transpose(1, 2) / math.sqrt(query.shape[-1]),
            lambda query, key: query @ key.transpose(0, 1) / math.sqrt(query.shape[-1]),
        ),
        r"size mismatch|must match|Expected size|[Dd]imension out of range|only supported",
    ),
    Misconception(
        "elementwise",
        "query and key are multiplied element by element, not as matrices",
        "Each query has to meet each key, which gives a (T, S) table; `*` pairs equal positions.",
        (
            _elementwise,
            lambda query, key: _elementwise(query, key).sum(dim=-1),
        ),
        r"must match the size",
    ),
    Misconception(
        "cosine",
        "the vectors are normalised: these are cosines, not scaled products",
        "The length of the vectors is part of the score. Divide by a number made of K only.",
        (_cosine, lambda query, key: _cosine(query, key) / math.sqrt(query.shape[-1])),
    ),
    _with(DETACHED, _detached(scaled)),
    _with(FLOAT32_ONLY, _in_float32(scaled)),
    _with(CHANGES_INPUT, _query_in_place),
)


# --- masks -----------------------------------------------------------------------------------


def _inverted(fill: float) -> Step:
    return lambda scores, mask: scores if mask is None else scores.masked_fill(mask, fill)


def _filled(scores: Tensor, mask: Mask) -> Tensor:
    """Right, but other than minus infinity where a whole axis is hidden."""
    return scores if mask is None else scores.masked_fill(~mask, -1e9)


def _multiplied(scores: Tensor, mask: Mask) -> Tensor:
    return scores if mask is None else scores * mask


def _added(scores: Tensor, mask: Mask) -> Tensor:
    return scores if mask is None else scores + mask


def _transposed_mask(scores: Tensor, mask: Mask) -> Tensor:
    return scores if mask is None else hidden(scores, mask.transpose(-2, -1))


def _transposed_mask_filled(scores: Tensor, mask: Mask) -> Tensor:
    if mask is None:
        return scores
    return scores.masked_fill(~mask.transpose(-2, -1), -1e9)


def _filled_mildly(number: float) -> Step:
    def hide(scores: Tensor, mask: Mask) -> Tensor:
        return scores if mask is None else scores.masked_fill(~mask, number)

    return hide


def _small_fill(scores: Tensor, mask: Mask) -> Tensor:
    return scores if mask is None else scores.masked_fill(~mask, torch.finfo(torch.float32).tiny)


def _times_mask(weights: Tensor, mask: Mask) -> Tensor:
    return weights if mask is None else weights * mask


def _weights_filled(weights: Tensor, mask: Mask) -> Tensor:
    return _filled(weights, mask)


def _weights_hidden(weights: Tensor, mask: Mask) -> Tensor:
    return hidden(weights, mask)


def _reversed_pair(output: Tensor, weights: Tensor, scores: Tensor) -> Any:
    return weights, output


def _jointly(scores: Tensor) -> Tensor:
    return torch.softmax(scores.flatten(-2), dim=-1).reshape(scores.shape)


def _jointly_by_hand(scores: Tensor) -> Tensor:
    numerators = scores.exp()
    return numerators / numerators.sum(dim=(-2, -1), keepdim=True)


IGNORED = Misconception(
    "mask-ignored",
    "the mask has no effect",
    "With a mask, hidden keys must get no weight at all. Look at whether the masked scores are the "
    "ones that go on (masked_fill without a final _ returns a new tensor).",
    (),
)
INVERTED = Misconception(
    "mask-inverted",
    "the mask is the wrong way round: hidden keys are seen and seen ones hidden",
    "True means may attend. Look at which positions get the very low score, and at the sign of it.",
    (),
)
AFTER = Misconception(
    "mask-after-softmax",
    "the mask comes after the softmax, so the rows no longer sum to 1",
    "What is zeroed after the softmax has already taken its share. Hide the keys before the "
    "normalisation.",
    (),
)
ZEROED = Misconception(
    "masked-score-zero",
    "hidden keys get a score of about 0, which is no low score",
    "exp(0) is 1, so a score of 0 (a product with the mask, a fill of -1e-9) still earns weight. "
    "Look at how small a score must be for its exponential to vanish.",
    (),
)
ADDED = Misconception(
    "mask-added",
    "the boolean mask is added to the scores",
    "True and False add 1 and 0, a small bonus for what is seen. What is hidden needs a score that "
    "vanishes in the softmax.",
    (),
)
ON_ROWS = Misconception(
    "mask-on-rows",
    "the mask is laid over the queries (rows) where it belongs on the keys (columns)",
    "A padded token must not be looked at: it is a column of the (T, S) scores. Look at the last "
    "two axes of the mask; with T = S nothing complains.",
    (),
    r"must match the (existing )?size|not broadcastable|[Tt]he expanded size",
)
OVER_QUERIES = Misconception(
    "softmax-over-queries",
    "the softmax runs over the queries",
    "Each query spreads one unit of weight over the keys: its row sums to 1. Look at the softmax's "
    "axis.",
    (),
)
OVER_HEADS = Misconception(
    "softmax-dim-1",
    "the softmax runs over axis 1, which is not the keys once there are batch and head axes",
    "Count the keys' axis from the end, so that it is right for any number of leading axes.",
    (),
)
JOINTLY = Misconception(
    "softmax-over-everything",
    "one softmax runs over queries and keys together",
    "Each query has its own distribution. Look at what was flattened before the softmax.",
    (),
)
NO_SOFTMAX = Misconception(
    "no-softmax",
    "the scores weigh the values without a softmax",
    "Weights are not negative and sum to 1 for each query; scores are neither. A step is missing.",
    (),
)
SIGMOID = Misconception(
    "sigmoid",
    "a sigmoid stands where the softmax belongs",
    "A sigmoid looks at each key alone; attention makes the keys compete for one unit of weight.",
    (),
)
LATE_SCALE = Misconception(
    "scale-after-softmax",
    "the scale is applied after the softmax",
    "Weights that are divided no longer sum to 1, and the softmax still saw the large scores. Look "
    "at the order of the steps.",
    (),
)


class _LateScale(Recipe):
    """The scale divides the weights."""

    def __call__(self, query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Any:
        weights = torch.softmax(hidden(products(query, key), mask), dim=-1)
        weights = weights / math.sqrt(query.shape[-1])
        return weights @ value, weights


class _ScaledOutput(Recipe):
    """The scale divides the output."""

    def __call__(self, query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Any:
        weights = torch.softmax(hidden(products(query, key), mask), dim=-1)
        return weights @ value / math.sqrt(query.shape[-1]), weights


class _TwiceScaled(Recipe):
    """The scale divides the scores and the weights."""

    def __call__(self, query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Any:
        weights = torch.softmax(hidden(scaled(query, key), mask), dim=-1)
        weights = weights / math.sqrt(query.shape[-1])
        return weights @ value, weights


def _query_changed(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Any:
    query /= math.sqrt(query.shape[-1])
    return Recipe(score=products)(query, key, value, mask)


def _mask_changed(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Any:
    if mask is None:
        return Recipe()(query, key, value)
    scores = scaled(query, key).masked_fill(mask.logical_not_(), float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


def _key_for_value(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Any:
    return Recipe()(query, key, key, mask)


def _value_for_key(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Any:
    return Recipe()(query, value, value, mask)


def _unchanged(scores: Tensor) -> Tensor:
    return scores


# People fill with -inf or -1e9; a wrong step can tell them apart.
_HIDES = (hidden, _filled)
_LOOSE_HIDES = (*_HIDES, _multiplied, not_hidden)
_MILD = tuple(_filled_mildly(number) for number in (-10.0, -20.0, -100.0, -1e4))
_AFTERS = (_times_mask, _weights_filled, _weights_hidden)

ATTENTION = (
    _with(NO_SCALE, Recipe(score=products)),
    _with(BY_K_ENTRY, Recipe(score=BY_K)),
    _with(TIMES_ENTRY, Recipe(score=TIMES_ROOT)),
    _with(
        BY_HEADS_ENTRY,
        *(Recipe(score=_by_axis(axis)) for axis in (1, -3, 0)),
    ),
    _with(BY_MODEL_ENTRY, Recipe(score=BY_MODEL)),
    _with(
        BY_LENGTH_ENTRY,
        Recipe(score=_by_axis(-2)),
        Recipe(score=BY_SOURCE),
        Recipe(score=scaled_by(lambda query, key: key.shape[-1] ** -0.5 / key.shape[-2] ** 0.5)),
    ),
    _with(LATE_SCALE, _LateScale(), _ScaledOutput(), _TwiceScaled()),
    _with(OVER_QUERIES, *(Recipe(hide=each, normalise=softmax_over(-2)) for each in _HIDES)),
    _with(OVER_HEADS, *(Recipe(hide=each, normalise=softmax_over(1)) for each in _HIDES)),
    _with(
        Misconception(
            "softmax-dim-0",
            "the softmax runs over axis 0, the first of the tensor",
            "Axis 0 is the batch as soon as there is one, so sequences compete with each other. "
            "Look for the axis of the keys, counted from the end.",
            (),
        ),
        *(Recipe(hide=each, normalise=softmax_over(0)) for each in _HIDES),
    ),
    _with(JOINTLY, Recipe(normalise=_jointly), Recipe(normalise=_jointly_by_hand)),
    _with(NO_SOFTMAX, *(Recipe(hide=each, normalise=_unchanged) for each in _LOOSE_HIDES)),
    _with(SIGMOID, Recipe(normalise=torch.sigmoid)),
    _with(IGNORED, Recipe(hide=not_hidden)),
    _with(INVERTED, Recipe(hide=_inverted(float("-inf"))), Recipe(hide=_inverted(-1e9))),
    _with(AFTER, *(Recipe(hide=not_hidden, then=each) for each in _AFTERS)),
    _with(ZEROED, Recipe(hide=_multiplied), Recipe(hide=_small_fill)),
    _with(ADDED, Recipe(hide=_added)),
    _with(TOO_MILD, *(Recipe(hide=each) for each in _MILD)),
    _with(ON_ROWS, Recipe(hide=_transposed_mask), Recipe(hide=_transposed_mask_filled)),
    Misconception(
        "returns-scores",
        "the second result holds the scores, not the weights",
        "Weights are what the softmax gives: not negative, and each row sums to 1.",
        (
            Recipe(give=lambda output, weights, scores: (output, scores)),
            Recipe(give=lambda output, weights, scores: (output, torch.log(weights))),
        ),
    ),
    Misconception(
        "returns-unmasked-scores",
        "the second result holds the scores from before the mask, not the weights",
        "Weights are what the softmax gives: not negative, and each row sums to 1.",
        (
            lambda query, key, value, mask=None: (
                Recipe()(query, key, value, mask)[0],
                scaled(query, key),
            ),
        ),
    ),
    Misconception(
        "order-of-results",
        "the two results are in the wrong order",
        "The stub asks for the output first and the weights second.",
        (Recipe(give=_reversed_pair),),
    ),
    Misconception(
        "output-only",
        "only the output is returned",
        "The stub asks for a pair: the output and the weights that made it.",
        (Recipe(give=lambda output, weights, scores: output),),
        r"expected \(output, weights\), received a tensor",
    ),
    Misconception(
        "values-not-used",
        "the values are not weighted: the output is the table of weights itself",
        "The output has the size of the values, a weighted mean of them for each query.",
        (Recipe(combine=lambda weights, value: weights),),
    ),
    Misconception(
        "key-for-value",
        "the weights are applied to the keys where the values belong",
        "Keys say where to look, values what is found there. Look at the last product.",
        (_key_for_value,),
    ),
    Misconception(
        "value-for-key",
        "the queries are compared with the values, not with the keys",
        "Keys say where to look, values what is found there. Look at the first product.",
        (_value_for_key,),
        r"mat1 and mat2|Expected size|size mismatch",
    ),
    Misconception(
        "reshaped-not-transposed",
        "the key is reshaped where it should be transposed",
        "view and reshape keep the order in memory and so mix features of different tokens; look "
        "for the operation that exchanges two axes.",
        (Recipe(score=_reshaped_key),),
    ),
    _with(DETACHED, _detached(Recipe())),
    _with(FLOAT32_ONLY, _in_float32(Recipe())),
    _with(CHANGES_INPUT, _query_changed, _mask_changed),
)


# --- heads -----------------------------------------------------------------------------------


def _cut_across_time(x: Tensor, num_heads: int) -> Tensor:
    batch, length, d_model = x.shape
    return x.reshape(batch, num_heads, length, d_model // num_heads)


def _interleaved(x: Tensor, num_heads: int) -> Tensor:
    return x.unflatten(2, (-1, num_heads)).permute(0, 3, 1, 2)


def _split_in_place(x: Tensor, num_heads: int) -> Tensor:
    heads = split(x, num_heads).clone()
    x.zero_()
    return heads


SPLIT = (
    Misconception(
        "no-transpose",
        "the heads are cut out but not moved in front of the tokens: the result is (B, T, H, K)",
        "Attention runs over the last two axes, which must be tokens and features. Two axes have "
        "to change places.",
        (lambda x, num_heads: x.unflatten(2, (num_heads, -1)),),
    ),
    Misconception(
        "cut-across-time",
        "the shape is right, but the tensor was reshaped straight to (B, H, T, K)",
        "reshape and view never move numbers in memory: this way a head gets pieces of other "
        "tokens. Cut the last axis first, then exchange two axes.",
        (_cut_across_time,),
    ),
    Misconception(
        "interleaved",
        "the heads take every H-th feature in turn, not K features side by side",
        "Look at the order of the two sizes into which the last axis is cut: heads first.",
        (_interleaved,),
    ),
    Misconception(
        "sizes-exchanged",
        "num_heads is used as the size of a head",
        "There are num_heads heads of D / num_heads features each. Look at which number stands "
        "where.",
        (
            lambda x, num_heads: x.unflatten(2, (-1, num_heads)).transpose(1, 2),
            lambda x, num_heads: x.unflatten(2, (-1, num_heads)),
        ),
    ),
    Misconception(
        "features-before-tokens",
        "the last two axes are the wrong way round: the result is (B, H, K, T)",
        "A head holds one row for each token. Look at the order of the axes in the permutation.",
        (
            lambda x, num_heads: split(x, num_heads).transpose(2, 3),
            lambda x, num_heads: x.transpose(1, 2).reshape(x.shape[0], num_heads, -1, x.shape[1]),
        ),
    ),
    Misconception(
        "heads-in-batch",
        "the heads are folded into the batch: the result has three axes",
        "The stub asks for an axis of its own for the heads, the second one.",
        (
            lambda x, num_heads: split(x, num_heads).flatten(0, 1),
            lambda x, num_heads: split(x, num_heads).transpose(0, 1).flatten(0, 1),
        ),
    ),
    Misconception(
        "heads-first",
        "the heads come before the batch: the result is (H, B, T, K)",
        "Batch first, here as everywhere in the course. Look at the axis along which the heads are "
        "stacked.",
        (lambda x, num_heads: split(x, num_heads).transpose(0, 1),),
    ),
    Misconception(
        "heads-last",
        "the heads are the last axis: the result is (B, T, K, H)",
        "The stub asks for the heads as the second axis, tokens and features behind them.",
        (
            lambda x, num_heads: x.unflatten(2, (num_heads, -1)).transpose(2, 3),
            lambda x, num_heads: split(x, num_heads).permute(0, 2, 3, 1),
        ),
    ),
    Misconception(
        "every-head-sees-all",
        "every head holds all D features",
        "The heads share the features out: each gets its own D / H of them.",
        (
            lambda x, num_heads: x.unsqueeze(1).repeat(1, num_heads, 1, 1),
            lambda x, num_heads: x.unsqueeze(1),
        ),
    ),
    Misconception(
        "same-slice",
        "all heads hold the same features",
        "Head h holds the features from h*K on. Look at where each slice starts.",
        (lambda x, num_heads: split(x, num_heads)[:, :1].repeat(1, num_heads, 1, 1),),
    ),
    Misconception(
        "list-of-heads",
        "the heads come as a list or tuple, not as one tensor",
        "Join them along a new axis, the second one.",
        (lambda x, num_heads: list(split(x, num_heads).unbind(1)),),
        r"expected one tensor, received a (list|tuple)",
    ),
    Misconception(
        "tokens-cut",
        "the tokens are shared out among the heads, and not the features",
        "Every head sees every token, but only its own K of the D features. Look at which axis is "
        "cut.",
        (
            lambda x, num_heads: torch.stack(x.chunk(num_heads, dim=1), dim=1),
            lambda x, num_heads: x.reshape(len(x), num_heads, -1, x.shape[2]),
        ),
        r"stack expects|invalid for input of size",
    ),
    _with(DETACHED, _detached(split)),
    _with(FLOAT32_ONLY, _in_float32(split)),
    _with(CHANGES_INPUT, _split_in_place),
)


def _merge_in_place(x: Tensor) -> Tensor:
    merged = merge(x).clone()
    x.zero_()
    return merged


MERGE = (
    Misconception(
        "no-transpose",
        "the shape is right, but heads and tokens were not exchanged before joining",
        "A straight reshape of (B, H, T, K) fills each row with pieces of one head at several "
        "tokens. The axes to be joined must stand next to each other.",
        (lambda x: x.reshape(x.shape[0], x.shape[2], -1),),
    ),
    Misconception(
        "view-of-strided",
        "view is asked to join axes that do not lie next to each other in memory",
        "transpose changes the reading order only. Look for the call that makes the memory follow, "
        "or for view's sibling that does so when it must.",
        (lambda x: x.transpose(1, 2).view(x.shape[0], x.shape[2], -1),),
        r"view size is not compatible",
    ),
    Misconception(
        "interleaved",
        "the features of the heads are interleaved, not laid side by side",
        "The result has all K features of head 0 first, then those of head 1. Look at the order of "
        "the last two axes before they are joined.",
        (lambda x: x.permute(0, 2, 3, 1).flatten(2),),
    ),
    Misconception(
        "not-joined",
        "the axes are exchanged but not joined: the result is (B, T, H, K)",
        "The last two axes have to become one of size D = H * K.",
        (lambda x: x.transpose(1, 2),),
    ),
    Misconception(
        "wrong-axes-exchanged",
        "other axes are exchanged than heads and tokens",
        "Look at which axes stand side by side before they are joined: heads, then features.",
        (
            lambda x: x.transpose(2, 3).reshape(x.shape[0], x.shape[2], -1),
            lambda x: x.transpose(1, 3).reshape(x.shape[0], x.shape[2], -1),
        ),
    ),
    Misconception(
        "mean-of-heads",
        "the heads are averaged",
        "Nothing is lost in merging: each token keeps all H * K numbers, side by side.",
        (lambda x: x.mean(dim=1),),
    ),
    Misconception(
        "sum-of-heads",
        "the heads are added up",
        "Nothing is lost in merging: each token keeps all H * K numbers, side by side.",
        (lambda x: x.sum(dim=1),),
    ),
    Misconception(
        "joined-along-time",
        "the heads are joined along the tokens: the result is (B, H*T, K)",
        "The number of tokens stays as it is; the features grow. Look at the axis of joining.",
        (
            lambda x: x.flatten(1, 2),
            lambda x: x.transpose(1, 2).flatten(1, 2),
        ),
    ),
    Misconception(
        "batch-and-tokens-joined",
        "batch and tokens have become one axis",
        "The stub asks for (B, T, D), with the batch kept apart.",
        (lambda x: merge(x).flatten(0, 1),),
    ),
    Misconception(
        "tokens-and-features-joined",
        "tokens and features have become one axis: the result is (B, H, T*K)",
        "It is heads and features that are to be joined, and they are not neighbours yet.",
        (lambda x: x.flatten(2),),
    ),
    Misconception(
        "one-head-only",
        "only one head is left",
        "Each token keeps all H * K numbers. Look at where the other heads are dropped.",
        (lambda x: x[:, 0], lambda x: x[:, -1]),
    ),
    Misconception(
        "heads-reversed",
        "the heads are side by side, but from the last to the first",
        "Head 0 comes first, so that merging undoes splitting.",
        (lambda x: merge(x.flip(1)),),
    ),
    _with(DETACHED, _detached(merge)),
    _with(FLOAT32_ONLY, _in_float32(merge)),
    _with(CHANGES_INPUT, _merge_in_place),
)


# --- several heads ---------------------------------------------------------------------------


def _heads_by_axis(axis: int) -> HeadsRecipe:
    return with_attention(score=_by_axis(axis))


def _single_head(
    query: Tensor, key: Tensor, value: Tensor, num_heads: int, mask: Mask = None
) -> Tensor:
    """All features in one head: the head axis has size 1."""
    return HeadsRecipe()(query, key, value, 1, mask)


def _unsqueezed_mask(scores: Tensor, mask: Mask) -> Tensor:
    return scores if mask is None else hidden(scores, mask.unsqueeze(1))


def _merged_by_size(x: Tensor) -> Tensor:
    """Merge as :func:`merge`; other numbers if a mask has added an axis."""
    return x.transpose(1, 2).reshape(x.shape[0], -1, x.shape[-3] * x.shape[-1])


def _merged_by_cat(x: Tensor) -> Tensor:
    """Merge as :func:`merge`; other numbers if a mask has added an axis."""
    return torch.cat(x.unbind(1), dim=-1)


def _exchanged(module: Any, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
    return module.q_proj(query), module.v_proj(key), module.k_proj(value)


def _one_projection(module: Any, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
    return module.q_proj(query), module.q_proj(key), module.q_proj(value)


def _from_query(module: Any, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
    return module.q_proj(query), module.k_proj(query), module.v_proj(query)


def _value_from_key(module: Any, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
    return module.q_proj(query), module.k_proj(key), module.v_proj(key)


def _sources_exchanged(
    module: Any, query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, ...]:
    return module.q_proj(query), module.k_proj(value), module.v_proj(key)


def _not_projected(module: Any, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
    return query, key, value


def _value_not_projected(
    module: Any, query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, ...]:
    return module.q_proj(query), module.k_proj(key), value


def _memory_detached(module: Any, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
    return projected(module, query, key.detach(), value.detach())


def _merged_wrongly(x: Tensor) -> Tensor:
    return x.reshape(x.shape[0], x.shape[2], -1)


TRANSPOSE_FORGOTTEN = Misconception(
    "merge-without-transpose",
    "the heads are merged by a straight reshape of (B, H, T, K)",
    "Heads and tokens have to change places before heads and features are joined; reshape does not "
    "move anything.",
    (),
)
CUT_ACROSS_TIME = Misconception(
    "heads-cut-across-time",
    "the heads are cut by a straight reshape to (B, H, T, K)",
    "reshape and view never move numbers in memory: a head gets pieces of other tokens. Cut the "
    "last axis first, then exchange two axes.",
    (),
)
INTERLEAVED = Misconception(
    "heads-interleaved",
    "the heads take every H-th feature in turn",
    "Head h holds K features side by side. Look at the order of the two sizes of the cut.",
    (),
)
SINGLE_HEAD = Misconception(
    "single-head",
    "there is only one head over all D features",
    "num_heads has no effect here. Each head attends by itself with its own slice of features.",
    (),
)
MASK_SHAPE = Misconception(
    "mask-shape",
    "the mask does not fit the scores, though it has a shape of the contract",
    "The mask broadcasts to (B, H, T, S) as it comes. Look for an unsqueeze, an index or a reshape "
    "of the mask, and for scores that lack the head axis.",
    (),
    r"must match|broadcast|expanded size|shape .* is invalid|[Ee]xpected|dimension",
)

_CORE: tuple[tuple[Misconception, tuple[Any, ...]], ...] = (
    (NO_SCALE, (with_attention(score=products),)),
    (BY_K_ENTRY, (with_attention(score=BY_K),)),
    (TIMES_ENTRY, (with_attention(score=TIMES_ROOT),)),
    (BY_MODEL_ENTRY, (with_attention(score=BY_MODEL),)),
    (BY_LENGTH_ENTRY, (_heads_by_axis(-2), with_attention(score=BY_SOURCE))),
    (
        LATE_SCALE,
        (
            HeadsRecipe(attend=_LateScale()),
            HeadsRecipe(attend=_TwiceScaled()),
        ),
    ),
    *(
        (entry, tuple(with_attention(hide=each, normalise=softmax_over(axis)) for each in _HIDES))
        for entry, axis in ((OVER_QUERIES, -2), (OVER_HEADS, 1))
    ),
    (
        NO_SOFTMAX,
        tuple(with_attention(hide=each, normalise=_unchanged) for each in _LOOSE_HIDES),
    ),
    (IGNORED, (with_attention(hide=not_hidden),)),
    (
        INVERTED,
        (
            with_attention(hide=_inverted(float("-inf"))),
            with_attention(hide=_inverted(-1e9)),
        ),
    ),
    (AFTER, tuple(with_attention(hide=not_hidden, then=each) for each in _AFTERS)),
    (ZEROED, (with_attention(hide=_multiplied), with_attention(hide=_small_fill))),
    (ADDED, (with_attention(hide=_added),)),
    (TOO_MILD, tuple(with_attention(hide=each) for each in _MILD)),
    (
        ON_ROWS,
        (
            with_attention(hide=_transposed_mask),
            with_attention(hide=_transposed_mask_filled),
        ),
    ),
    (CUT_ACROSS_TIME, (HeadsRecipe(split=_cut_across_time),)),
    (
        INTERLEAVED,
        (
            HeadsRecipe(split=_interleaved),
            HeadsRecipe(split=_interleaved, merge=lambda x: x.permute(0, 2, 3, 1).flatten(2)),
        ),
    ),
    (TRANSPOSE_FORGOTTEN, (HeadsRecipe(merge=_merged_wrongly),)),
    (SINGLE_HEAD, (_single_head,)),
    (
        MASK_SHAPE,
        tuple(
            replace(with_attention(hide=_unsqueezed_mask), merge=each)
            for each in (merge, _merged_by_size, _merged_by_cat)
        ),
    ),
)

MULTI_HEAD = (
    _with(BY_HEADS_ENTRY, multi_head(_heads_by_axis(1)), multi_head(_heads_by_axis(0))),
    *(_with(entry, *map(multi_head, wrong)) for entry, wrong in _CORE),
    Misconception(
        "no-out-proj",
        "the merged heads are returned without the output projection",
        "out_proj mixes what the heads have found. Look at the last step of forward.",
        (multi_head(finish=lambda module, merged, query: merged),),
    ),
    Misconception(
        "projections-exchanged",
        "k_proj and v_proj have changed places",
        "Each layer belongs to the argument of its name. Look at which layer gets which.",
        (multi_head(project=_exchanged),),
    ),
    Misconception(
        "sources-exchanged",
        "key and value have changed places: keys are made from the value and values from the key",
        "Each layer belongs to the argument of its name. Look at which argument goes where.",
        (multi_head(project=_sources_exchanged),),
    ),
    Misconception(
        "value-from-key",
        "the values are made from the key argument",
        "In training code key and value are often the same tensor, here they are not. Look at what "
        "v_proj gets.",
        (multi_head(project=_value_from_key),),
    ),
    Misconception(
        "self-attention-only",
        "keys and values are made from the query",
        "This is self-attention only; in cross-attention keys and values come from elsewhere, with "
        "S tokens. Look at what k_proj and v_proj get.",
        (multi_head(project=_from_query),),
        r"must match|shape|[Ee]xpected|size|dimension",
    ),
    Misconception(
        "one-projection",
        "query, key and value all go through q_proj",
        "Three roles need three layers. Look at which layer is used for key and value.",
        (multi_head(project=_one_projection),),
    ),
    Misconception(
        "not-projected",
        "query, key and value are not projected",
        "Before the heads are cut, each of the three goes through its own linear layer.",
        (multi_head(project=_not_projected),),
    ),
    Misconception(
        "value-not-projected",
        "the value is not projected",
        "All three go through their own layer, the value through v_proj.",
        (multi_head(project=_value_not_projected),),
    ),
    Misconception(
        "residual-included",
        "the query is added to the result",
        "The residual connection belongs to the layer around attention, not into it.",
        (multi_head(finish=lambda module, merged, query: module.out_proj(merged) + query),),
    ),
    Misconception(
        "no-bias",
        "a linear layer has no bias",
        "All four layers of the contract have one. Look at how the layers are made.",
        (multi_head(bias=False),),
        r"has no bias",
    ),
    Misconception(
        "wrong-names",
        "the layers have other names than the stub lists",
        "Weights are copied in by name: q_proj, k_proj, v_proj and out_proj.",
        (multi_head(names=("query_layer", "key_layer", "value_layer", "output_layer")),),
        r"has no layer",
    ),
    Misconception(
        "returns-weights-too",
        "forward returns more than the output",
        "The stub asks for one tensor (B, T, D).",
        (multi_head(finish=lambda module, merged, query: (module.out_proj(merged), merged)),),
        r"expected one tensor, received a (tuple|list)",
    ),
    _with(
        DETACHED,
        multi_head(finish=lambda module, merged, query: module.out_proj(merged).detach()),
        multi_head(finish=lambda module, merged, query: module.out_proj(merged.detach())),
        multi_head(project=_memory_detached),
        multi_head(HeadsRecipe(attend=_detached(Recipe()))),
        multi_head(with_attention(then=lambda weights, mask: weights.detach())),
    ),
    _with(
        FLOAT32_ONLY,
        multi_head(finish=lambda module, merged, query: module.out_proj(merged).float()),
        multi_head(project=_in_float32(projected)),
    ),
)

BUG = (
    Misconception(
        "still-scaled-by-num-heads",
        "the bug is still in it",  # to name it would give the task away
        "Take one query and one key of one head: how many products does their score sum up?",
        (_heads_by_axis(1),),
    ),
    Misconception(
        "scaled-by-num-heads-without-root",
        "the scores are divided by the number of heads",
        "The root was not the bug. Take one query and one key of one head: how many products does "
        "their score sum up?",
        (with_attention(score=scaled_by(lambda query, key: 1 / query.shape[1])),),
    ),
    Misconception(
        "scaled-by-batch",
        "the scale comes from the size of the batch",
        "After the heads are cut the axes have other places. K is the last one.",
        (_heads_by_axis(0),),
    ),
    *(_with(entry, *wrong) for entry, wrong in _CORE),
    Misconception(
        "key-for-value",
        "the weights are applied to the keys where the values belong",
        "That line was right. The bug makes the softmax too sharp or too flat, no more.",
        (
            lambda query, key, value, num_heads, mask=None: HeadsRecipe()(
                query, key, key, num_heads, mask
            ),
        ),
    ),
    _with(DETACHED, _detached(HeadsRecipe())),
    _with(FLOAT32_ONLY, _in_float32(HeadsRecipe())),
)
