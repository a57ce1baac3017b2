"""The misconceptions of the assignment "blocks", task by task, each with its implementation.

They come from the notes that the course corrects (LayerNorm over all axes but the batch), from
tutorials that are widely read (unbiased deviation plus eps, as in the Annotated Transformer), from
other architectures (RMSNorm, BLOOM's residual from the norm, GPT-J's parallel layers), and from
libraries whose attention takes (value, key, query).
Twins that give the same numbers are one entry: one norm object under two names and the second norm
used twice; sources exchanged in cross-attention and the arguments in another order; a count without
the norm of cross-attention and one without the bias of the second linear layer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref import attention as package
from transformer_ref.checks.authoring import attention_recipes as recipes
from transformer_ref.checks.authoring.shared_mistakes import (
    CHANGES_INPUT,
    DETACHED,
    FLOAT32_ONLY,
    Step,
)
from transformer_ref.checks.authoring.shared_mistakes import detached as _detached
from transformer_ref.checks.authoring.shared_mistakes import in_float32 as _in_float32
from transformer_ref.checks.authoring.shared_mistakes import with_wrong as _with
from transformer_ref.checks.task import Misconception
from transformer_ref.checks.tasks.blocks.recipes import (
    DECODER,
    ENCODER,
    Axes,
    CountRecipe,
    LayerRecipe,
    Mask,
    NormRecipe,
    cross_block,
    decode,
    encode,
    feed_forward,
    joined,
    norm_module,
    spread,
    two_layers,
)

# --- LayerNorm -------------------------------------------------------------------------------


def _over(*axes: int) -> NormRecipe:
    """Norm over other axes, those of them that there are."""

    def those(x: Tensor) -> Axes:
        found = tuple(axis for axis in axes if -x.ndim <= axis < x.ndim)
        return found or (-1,)

    return NormRecipe(axes=those)


def _strictly_over(*axes: int) -> NormRecipe:
    """Norm over other axes, and fail where there are none of these numbers."""
    return NormRecipe(axes=lambda x: axes)


def _all_but_first(x: Tensor) -> Axes:
    return tuple(range(min(1, x.ndim - 1), x.ndim))


def _all_but_last(x: Tensor) -> Axes:
    return tuple(range(x.ndim - 1)) or (-1,)


def _all(x: Tensor) -> Axes:
    return tuple(range(x.ndim))


def _unbiased(x: Tensor, axes: Axes) -> Tensor:
    count = math.prod(x.shape[axis] for axis in axes)
    return spread(x, axes) * (count / (count - 1) if count > 1 else math.nan)


def _no_keepdim(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    mean, variance = x.mean(-1), x.var(-1, correction=0)
    return (x - mean) / torch.sqrt(variance + eps) * weight + bias


def _no_keepdim_unbiased(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    return (x - x.mean(-1)) / torch.sqrt(x.var(-1) + eps) * weight + bias


def _divided_outside(x: Tensor, variance: Tensor, eps: float) -> Tensor:
    return x / (variance.sqrt() + eps)


def _changes_x(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    x -= x.mean(-1, keepdim=True)
    return NormRecipe()(x, weight, bias, eps)


def _statistics_detached(x: Tensor, axes: Axes) -> Tensor:
    return spread(x.detach(), axes)


def _mean_detached(x: Tensor, axes: Axes) -> Tensor:
    return x - x.detach().mean(axes, keepdim=True)


def _raw(x: Tensor, axes: Axes) -> Tensor:
    return x


def _variance_of_raw(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    return x / torch.sqrt(x.var(-1, keepdim=True, correction=0) + eps) * weight + bias


UNBIASED = Misconception(
    "unbiased-variance",
    "the variance is the unbiased one: the squares are divided by D - 1",
    "LayerNorm divides by D. torch's var and std divide by D - 1 unless they are told not to; look "
    "for their argument.",
    (),
)
EPS_OUTSIDE = Misconception(
    "eps-outside-the-root",
    "eps is added to the standard deviation, not to the variance",
    "eps stands inside the root, beside the variance. Look at what is done first, the root or the "
    "sum.",
    (),
)
UNBIASED_OUTSIDE = Misconception(
    "unbiased-std-plus-eps",
    "two things at once: the deviation is the unbiased one, and eps stands outside the root",
    "A widely read tutorial has it so. LayerNorm divides the squares by D and adds eps to the "
    "variance, before the root.",
    (),
)
OVER_BATCH = Misconception(
    "over-the-batch",
    "each feature is normed over the tokens: these are the axes of BatchNorm",
    "A token is normed by itself, over its own D features. Look at the axis of mean and variance.",
    (),
)
OVER_TOKENS = Misconception(
    "over-one-axis-of-tokens",
    "mean and variance are taken along another axis than that of the features",
    "The features are the last axis, however many stand in front. Count it from the end.",
    (),
    r"[Dd]imension out of range",
)
OVER_SENTENCE = Misconception(
    "over-tokens-and-features",
    "mean and variance are taken over tokens and features together",
    "That is how it is told for images, over all axes but the batch. In a Transformer each token "
    "is normed by itself: else what one token becomes depends on the others, and on padding.",
    (),
    r"[Dd]imension out of range",
)
OVER_ALL = Misconception(
    "over-everything",
    "one mean and one variance are taken over the whole tensor",
    "Each token has its own, over its D features. Look at whether mean and var are given an axis.",
    (),
)

LAYER_NORM = (
    _with(UNBIASED, NormRecipe(spread=_unbiased)),
    _with(
        EPS_OUTSIDE,
        NormRecipe(divide=_divided_outside),
        NormRecipe(divide=lambda x, variance, eps: x / (variance.sqrt() + math.sqrt(eps))),
    ),
    _with(UNBIASED_OUTSIDE, NormRecipe(spread=_unbiased, divide=_divided_outside)),
    Misconception(
        "eps-missing",
        "eps is not used",
        "It keeps the division finite where all features of a token are equal. It belongs to the "
        "variance, inside the root.",
        (NormRecipe(divide=lambda x, variance, eps: x / variance.sqrt()),),
    ),
    Misconception(
        "eps-fixed",
        "eps is a number of your own, not the argument",
        "The caller says how large it is. Look for 1e-5 or 1e-6 in the code.",
        (
            lambda x, weight, bias, eps: NormRecipe()(x, weight, bias, 1e-5),
            lambda x, weight, bias, eps: NormRecipe()(x, weight, bias, 1e-6),
            lambda x, weight, bias, eps: NormRecipe()(x, weight, bias, 1e-8),
            lambda x, weight, bias, eps: NormRecipe()(x, weight, bias, 1e-12),
        ),
    ),
    _with(OVER_SENTENCE, NormRecipe(axes=_all_but_first), _over(-2, -1), _strictly_over(1, 2)),
    _with(OVER_BATCH, NormRecipe(axes=_all_but_last), _over(0, 1)),
    _with(OVER_TOKENS, *(_over(axis) for axis in (0, 1, 2, -2)), _strictly_over(1)),
    _with(OVER_ALL, NormRecipe(axes=_all)),
    Misconception(
        "mean-not-taken-off",
        "the mean is not taken off",
        "That is RMSNorm, which newer models use. LayerNorm first makes the mean of each token 0.",
        (NormRecipe(centre=_raw), _variance_of_raw),
    ),
    Misconception(
        "not-divided",
        "the mean is taken off, but nothing is divided by the deviation",
        "After the norm each token has the mean 0 and the variance 1, before weight and bias.",
        (NormRecipe(divide=lambda x, variance, eps: x),),
    ),
    Misconception(
        "divided-by-the-variance",
        "the division is by the variance, not by its root",
        "Variance is a square. Look for the missing root.",
        (NormRecipe(divide=lambda x, variance, eps: x / (variance + eps)),),
    ),
    Misconception(
        "sum-of-squares",
        "the squares are summed up, not averaged: each token gets the length 1",
        "The variance is the mean of the squares. Look for sum or norm where mean belongs.",
        (
            NormRecipe(spread=lambda x, axes: x.square().sum(axes, keepdim=True)),
            NormRecipe(
                spread=lambda x, axes: x.square().sum(axes, keepdim=True),
                divide=_divided_outside,
            ),
            NormRecipe(
                spread=lambda x, axes: x.square().sum(axes, keepdim=True),
                divide=lambda x, variance, eps: x / variance.sqrt(),
            ),
        ),
    ),
    Misconception(
        "weight-not-used",
        "the weight is not used",
        "After the norm each feature is multiplied by its own weight.",
        (NormRecipe(finish=lambda x, weight, bias: x + bias),),
    ),
    Misconception(
        "bias-not-used",
        "the bias is not used",
        "At the end each feature gets its own bias.",
        (NormRecipe(finish=lambda x, weight, bias: x * weight),),
    ),
    Misconception(
        "neither-weight-nor-bias",
        "neither weight nor bias is used",
        "After the norm each feature is multiplied by its own weight, and gets its own bias.",
        (NormRecipe(finish=lambda x, weight, bias: x),),
    ),
    Misconception(
        "weight-and-bias-exchanged",
        "weight and bias have changed places",
        "The weight multiplies, the bias is added.",
        (NormRecipe(finish=lambda x, weight, bias: x * bias + weight),),
    ),
    Misconception(
        "bias-weighted-too",
        "the bias is added before the weight multiplies",
        "Multiply first, then add: the weight acts on the normed features only.",
        (NormRecipe(finish=lambda x, weight, bias: (x + bias) * weight),),
    ),
    Misconception(
        "one-plus-weight",
        "the factor is 1 + weight",
        "Some models store the weight so. Here the weight itself is the factor.",
        (NormRecipe(finish=lambda x, weight, bias: x * (1 + weight) + bias),),
    ),
    Misconception(
        "no-keepdim",
        "mean and variance have lost an axis, so that they meet the wrong numbers",
        "(B, T) does not fit (B, T, D): broadcasting counts axes from the end. Look for the "
        "argument that keeps the axis with size 1.",
        (_no_keepdim, _no_keepdim_unbiased),
        r"must match the size",
    ),
    _with(
        DETACHED,
        _detached(NormRecipe()),
        NormRecipe(centre=_mean_detached, spread=_statistics_detached),
        NormRecipe(spread=_statistics_detached),
        NormRecipe(centre=_mean_detached),
    ),
    _with(FLOAT32_ONLY, _in_float32(NormRecipe())),
    _with(CHANGES_INPUT, _changes_x),
)


# --- the feed-forward network ----------------------------------------------------------------


def _activated(activation: Step) -> Step:
    return lambda module, x: module.linear2(activation(module.linear1(x)))


# What is said of a weight that is built the other way round.
TURNED_ROUND = r"has shape \((\d+), (\d+)\), expected \(\2, \1\)"

ANOTHER_ACTIVATION = (
    F.gelu,
    lambda x: F.gelu(x, approximate="tanh"),
    F.silu,
    torch.tanh,
    torch.sigmoid,
    F.leaky_relu,
    F.elu,
    F.softplus,
    F.relu6,
    lambda x: F.leaky_relu(x, 0.1),
    lambda x: F.leaky_relu(x, 0.2),
)

FEED_FORWARD = (
    Misconception(
        "no-activation",
        "there is no ReLU between the two layers",
        "Two linear layers in a row are one linear layer. Look at what stands between them.",
        (feed_forward(_activated(lambda x: x)),),
    ),
    Misconception(
        "another-activation",
        "the function between the two layers is not ReLU",
        "The paper's is max(0, x). GELU and SiLU came later, tanh and the sigmoid before.",
        tuple(feed_forward(_activated(each)) for each in ANOTHER_ACTIVATION),
    ),
    Misconception(
        "softmax",
        "a softmax stands between the two layers",
        "The paper's function is max(0, x), for each number by itself.",
        (feed_forward(_activated(lambda x: x.softmax(-1))),),
    ),
    Misconception(
        "activation-at-the-end",
        "the result goes through a ReLU",
        "Only what is between the two layers is cut off below 0; the result may be negative.",
        (
            feed_forward(lambda module, x: module.linear2(module.linear1(x)).relu()),
            feed_forward(lambda module, x: two_layers(module, x).relu()),
        ),
    ),
    Misconception(
        "activation-first",
        "the input goes through a ReLU",
        "The ReLU comes after the first layer.",
        (
            feed_forward(lambda module, x: module.linear2(module.linear1(x.relu()))),
            feed_forward(lambda module, x: two_layers(module, x.relu())),
        ),
    ),
    Misconception(
        "residual-included",
        "the input is added to the result",
        "The residual sum belongs to the layer around this network, not into it.",
        (feed_forward(lambda module, x: x + two_layers(module, x)),),
    ),
    Misconception(
        "norm-included",
        "the result, or the input, goes through a LayerNorm",
        "The norm belongs to the layer around this network, not into it.",
        (
            feed_forward(lambda module, x: F.layer_norm(two_layers(module, x), x.shape[-1:])),
            feed_forward(lambda module, x: two_layers(module, F.layer_norm(x, x.shape[-1:]))),
            feed_forward(lambda module, x: F.layer_norm(x + two_layers(module, x), x.shape[-1:])),
        ),
    ),
    Misconception(
        "sizes-exchanged",
        "the sizes of the layers are exchanged: the first maps from d_ff to d_model",
        "linear1 goes from d_model to d_ff, linear2 comes back.",
        (feed_forward(sizes=lambda d_model, d_ff: (d_ff, d_model)),),
        TURNED_ROUND,
    ),
    Misconception(
        "layers-exchanged",
        "linear1 and linear2 have changed places: linear2 maps to the hidden size",
        "linear1 comes first and goes from d_model to d_ff.",
        (
            feed_forward(
                lambda module, x: module.linear1(module.linear2(x).relu()),
                names=("linear2", "linear1"),
            ),
        ),
        TURNED_ROUND,
    ),
    Misconception(
        "d-ff-ignored",
        "the hidden layer has another size than d_ff",
        "linear1 goes from d_model to d_ff, linear2 comes back.",
        (
            feed_forward(sizes=lambda d_model, d_ff: (d_model, 4 * d_model)),
            feed_forward(sizes=lambda d_model, d_ff: (d_model, d_model)),
        ),
        r"linear1\.weight has shape \(\d+, (\d+)\), expected \(\d+, \1\)",
    ),
    Misconception(
        "no-bias",
        "a linear layer has no bias",
        "Both layers of the contract have one. Look at how they are made.",
        (feed_forward(bias=False),),
        r"has no bias",
    ),
    Misconception(
        "wrong-names",
        "the layers have other names than the stub lists",
        "Weights are copied in by name: linear1 and linear2.",
        (feed_forward(names=("fc1", "fc2")),),
        r"has no layer",
    ),
    Misconception(
        "one-layer-only",
        "the second layer is missing: the result has d_ff features",
        "linear2 maps the d_ff features back to d_model.",
        (
            feed_forward(lambda module, x: module.linear1(x).relu()),
            feed_forward(lambda module, x: module.linear1(x)),
        ),
    ),
    _with(
        DETACHED,
        feed_forward(lambda module, x: two_layers(module, x).detach()),
        feed_forward(lambda module, x: two_layers(module, x.detach())),
        feed_forward(_activated(lambda x: x.detach().relu())),
    ),
    _with(
        FLOAT32_ONLY,
        feed_forward(lambda module, x: two_layers(module, x).float()),
        feed_forward(lambda module, x: two_layers(module, x.float())),
    ),
    _with(
        CHANGES_INPUT,
        feed_forward(lambda module, x: (two_layers(module, x), x.relu_())[0]),
    ),
)


# --- layers: norm and residual sum -----------------------------------------------------------

Join = Callable[[str, Tensor, Step, Step], Any]
Entries = tuple[tuple[Misconception, tuple[LayerRecipe, ...]], ...]


def _kinds(*, post: Join = joined, pre: Join = joined) -> Join:
    """Return a join that is wrong in one kind of norm, or in each in its own way."""
    return lambda kind, x, norm, f: (post if kind == "post" else pre)(kind, x, norm, f)


def _as(kind: str) -> Join:
    return lambda _, x, norm, f: joined(kind, x, norm, f)


def _exchanged(kind: str, x: Tensor, norm: Step, f: Step) -> Any:
    return joined("pre" if kind == "post" else "post", x, norm, f)


def _no_residual(kind: str, x: Tensor, norm: Step, f: Step) -> Any:
    return norm(f(x)) if kind == "post" else f(norm(x))


def _no_norm(kind: str, x: Tensor, norm: Step, f: Step) -> Any:
    return x + f(x)


def _normed_change(kind: str, x: Tensor, norm: Step, f: Step) -> Any:
    return x + norm(f(x))


def _from_the_norm(kind: str, x: Tensor, norm: Step, f: Step) -> Any:
    y = norm(x)
    return y + f(y)


def _twice_normed(kind: str, x: Tensor, norm: Step, f: Step) -> Any:
    return norm(x + f(norm(x)))


def _in_place(kind: str, x: Tensor, norm: Step, f: Step) -> Any:
    if kind == "post":
        x += f(x)
        return norm(x)
    x += f(norm(x))
    return x


def _norm_in_place(kind: str, x: Tensor, norm: Step, f: Step) -> Any:
    return joined(kind, x, norm, f) if kind == "post" else x.add_(f(norm(x)))


def _cut(kind: str, x: Tensor, norm: Step, f: Step) -> Any:
    return joined(kind, x, norm, lambda y: f(y).detach())


def _residual_cut(kind: str, x: Tensor, norm: Step, f: Step) -> Any:
    return norm(x.detach() + f(x)) if kind == "post" else x.detach() + f(norm(x))


def _gated(kind: str, x: Tensor, norm: Step, f: Step) -> Any:
    return norm(x - f(x)) if kind == "post" else x - f(norm(x))


_HALVES = (_no_residual, _kinds(post=_no_residual), _kinds(pre=_no_residual))
_HALVES_UNNORMED = (_no_norm, _kinds(post=_no_norm), _kinds(pre=_no_norm))


class _WithoutNorm(LayerRecipe):
    """Takes no argument `norm`."""

    def __call__(self, d_model: int, num_heads: int, d_ff: int) -> nn.Module:  # type: ignore[override]
        return super().__call__(d_model, num_heads, d_ff)


class _OtherNames(LayerRecipe):
    """The parts have names of their own."""

    def __call__(
        self, d_model: int, num_heads: int, d_ff: int, norm: str | None = None
    ) -> nn.Module:
        module = super().__call__(d_model, num_heads, d_ff, norm)
        module.attention, module.ffn = module.self_attention, module.feed_forward
        del module.self_attention, module.feed_forward
        return module


def _layer_norm_with(eps: float) -> Step:
    return lambda d_model: nn.LayerNorm(d_model, eps=eps)


def _one_head(d_model: int, num_heads: int) -> nn.Module:
    return recipes.multi_head()(d_model, 1)


# Where norm and residual sum stand: the same ideas in both layers.
EXCHANGED = Misconception(
    "pre-and-post-exchanged",
    'norm="post" and norm="pre" are exchanged',
    "Post is the paper's: the norm comes after the residual sum. Pre: it stands before the "
    "sublayer, and the sum is not normed.",
    (),
)
ALWAYS_POST = Misconception(
    "always-post",
    'norm="pre" has no effect: the layer is always post-norm',
    'With norm="pre" the sublayer gets the normed x, and its result is added to x as it was.',
    (),
)
ALWAYS_PRE = Misconception(
    "always-pre",
    'the layer is always pre-norm, also with norm="post"',
    'With norm="post" the sublayer gets x as it is, and the sum goes through the norm.',
    (),
)
DEFAULT_PRE = Misconception(
    "default-is-pre",
    'without a word about the norm the layer is pre-norm; the stub has norm="post"',
    "Look at the default in __init__.",
    (),
)
NO_RESIDUAL = Misconception(
    "no-residual",
    "a residual sum is missing",
    "Around each sublayer its input is added to its result. Without that the gradient of a deep "
    "stack vanishes.",
    (),
)
NO_NORM = Misconception(
    "norm-missing",
    "a norm is missing",
    "Each sublayer has a norm of its own, in post-norm after its sum, in pre-norm before it.",
    (),
)
NORMED_CHANGE = Misconception(
    "norm-inside-the-sum",
    "the norm is laid over the sublayer's result before it is added",
    "Post is norm(x + f(x)), with the sum inside the norm. Pre norms what goes into f, not what "
    "comes out.",
    (),
)
FROM_THE_NORM = Misconception(
    "residual-from-the-norm",
    "in pre-norm the normed x is added, not x itself",
    "The path of the residual sums goes past the norms, from the first layer to the last. Look at "
    "whether x was overwritten.",
    (),
)
TWICE_NORMED = Misconception(
    "normed-before-and-after",
    "the norm is applied twice, before the sublayer and after the sum",
    "It is one or the other: pre-norm before the sublayer, post-norm after the sum.",
    (),
)
SUBTRACTED = Misconception(
    "subtracted",
    "the sublayer's result is subtracted",
    "The residual connection is a sum: what the sublayer has found is added to what it was given.",
    (),
)
NORM_STATISTICS = Misconception(
    "norm-of-ones-own",
    "the norms are not LayerNorm as torch has it",
    "Over the features of each token, the biased variance, eps 1e-5 inside the root. Look at your "
    "own norm, or take nn.LayerNorm.",
    (),
)
ANOTHER_EPS = Misconception(
    "another-eps",
    "the norms have another eps than 1e-5",
    "It shows where the numbers are tiny. Take nn.LayerNorm(d_model) as it comes.",
    (),
)
HEADS_IGNORED = Misconception(
    "heads-ignored",
    "attention has one head, whatever num_heads says",
    "Look at what is handed on to the attention when it is built.",
    (),
)
WITHOUT_NORM = Misconception(
    "no-argument-norm",
    "the class takes no argument `norm`",
    "The stub has it as the last one, with the default 'post'.",
    (),
    r"unexpected keyword argument '?norm|positional arguments? but \d+ were given",
)
WRONG_NAMES = Misconception(
    "wrong-names",
    "the parts have other names than the stub lists",
    "Weights are copied in by name, such as self_attention.q_proj.weight or feed_forward.linear1.",
    (),
    r"has no layer",
)
D_FF_IGNORED = Misconception(
    "d-ff-ignored",
    "the feed-forward network has another hidden size than d_ff",
    "Look at what is handed on to it when it is built.",
    (),
    r"feed_forward\.linear1\.weight has shape",
)
OTHER_ACTIVATION = Misconception(
    "another-activation",
    "the feed-forward network has another function than ReLU in it, or none",
    "The paper's is max(0, x). Take the one of task 2.",
    (),
)


def _joins(base: LayerRecipe) -> Entries:
    """Return the mistakes that both layers share."""

    def joining(*joins: Join) -> tuple[LayerRecipe, ...]:
        return tuple(replace(base, join=each) for each in joins)

    own_norms = (
        NormRecipe(spread=_unbiased),
        NormRecipe(spread=_unbiased, divide=_divided_outside),
        NormRecipe(axes=_all_but_first),
        NormRecipe(axes=_all_but_last),
        _over(1),
        NormRecipe(axes=_all),
    )
    return (
        (EXCHANGED, (replace(base, join=_exchanged),)),
        (ALWAYS_POST, joining(_as("post"))),
        (ALWAYS_PRE, joining(_as("pre"))),
        (DEFAULT_PRE, (replace(base, default="pre"),)),
        (NO_RESIDUAL, joining(*_HALVES)),
        (NO_NORM, joining(*_HALVES_UNNORMED)),
        (
            NORMED_CHANGE,
            joining(_normed_change, _kinds(post=_normed_change), _kinds(pre=_normed_change)),
        ),
        (
            FROM_THE_NORM,
            joining(_kinds(pre=_from_the_norm), _from_the_norm),
        ),
        (
            TWICE_NORMED,
            joining(_twice_normed, _kinds(post=_twice_normed), _kinds(pre=_twice_normed)),
        ),
        (SUBTRACTED, joining(_gated)),
        (NORM_STATISTICS, tuple(replace(base, norm=norm_module(each)) for each in own_norms)),
        (
            ANOTHER_EPS,
            tuple(replace(base, norm=_layer_norm_with(eps)) for eps in (1e-6, 1e-8, 1e-12)),
        ),
        (HEADS_IGNORED, (replace(base, attention=_one_head),)),
        (WITHOUT_NORM, (_WithoutNorm(base.flow, cross=base.cross),)),
        (WRONG_NAMES, (_OtherNames(base.flow, cross=base.cross),)),
        (
            D_FF_IGNORED,
            (replace(base, feed_forward=lambda d, d_ff: feed_forward()(d, 4 * d)),),
        ),
        (
            OTHER_ACTIVATION,
            tuple(
                replace(base, feed_forward=feed_forward(_activated(each)))
                for each in (lambda x: x, *ANOTHER_ACTIVATION[:3])
            ),
        ),
        (
            DETACHED,
            (
                *joining(_cut, _residual_cut),
                replace(base, flow=_detached(base.flow)),
                replace(
                    base,
                    flow=lambda module, join, x, *rest: base.flow(module, join, x.detach(), *rest),
                ),
            ),
        ),
        (
            FLOAT32_ONLY,
            (
                replace(base, flow=lambda *args: base.flow(*args).float()),
                replace(base, flow=_in_float32(base.flow)),
            ),
        ),
        (CHANGES_INPUT, joining(_in_place, _norm_in_place)),
    )


def _with_norms(flow: Step, **names: str) -> Step:
    """Return the same flow, in which some norms are others."""

    class Renamed:
        def __init__(self, module: Any) -> None:
            self.module = module

        def __getattr__(self, name: str) -> Any:
            return getattr(self.module, names.get(name, name))

    return lambda module, *rest: flow(Renamed(module), *rest)


def _skipping(flow: Step, *skipped: str) -> Step:
    """Return the same flow, in which the sublayers with these norms are left out."""

    def wrong(module: Any, join: Join, *rest: Any) -> Any:
        without = [getattr(module, name) for name in skipped]

        def leaves_out(kind: str, x: Tensor, norm: Step, f: Step) -> Any:
            return x if any(norm is each for each in without) else join(kind, x, norm, f)

        return flow(module, leaves_out, *rest)

    return wrong


def _only_at(flow: Step, name: str, wrong_join: Join) -> Step:
    """Return the same flow, with another join at the sublayer with this norm."""

    def wrong(module: Any, join: Join, *rest: Any) -> Any:
        there = getattr(module, name)

        def chosen(kind: str, x: Tensor, norm: Step, f: Step) -> Any:
            return (wrong_join if norm is there else join)(kind, x, norm, f)

        return flow(module, chosen, *rest)

    return wrong


def _each_at(flow: Step, count: int, *joins: Join) -> tuple[Step, ...]:
    """Return the flows that are wrong at one of the sublayers."""
    places = range(1, count + 1)
    return tuple(_only_at(flow, f"norm{place}", each) for each in joins for place in places)


def _from_start(flow: Step, *names: str) -> Step:
    """Return the same flow, where the sums with these norms add the input of the layer."""

    def wrong(module: Any, join: Join, x: Tensor, *rest: Any) -> Any:
        places = [getattr(module, name) for name in names]

        def chosen(kind: str, y: Tensor, norm: Step, f: Step) -> Any:
            if not any(norm is each for each in places):
                return join(kind, y, norm, f)
            return norm(x + f(y)) if kind == "post" else x + f(norm(y))

        return flow(module, chosen, x, *rest)

    return wrong


def _norm_at_the_end(flow: Step, name: str) -> Step:
    """Return the same flow, with one more norm at the end of a pre-norm layer."""

    def wrong(module: Any, *rest: Any) -> Any:
        x = flow(module, *rest)
        return getattr(module, name)(x) if module.kind == "pre" else x

    return wrong


def _entries(base: LayerRecipe, shared: Entries, *own: Any) -> tuple[Misconception, ...]:
    """Make entries of mistakes with recipes, or with flows, for a layer; each once."""
    found: dict[str, Misconception] = {}
    for entry, wrong in (*own, *shared):
        made = [
            each if isinstance(each, LayerRecipe) else replace(base, flow=each) for each in wrong
        ]
        before = found[entry.key].wrong if entry.key in found else ()
        found[entry.key] = _with(entry, *before, *made)
    return tuple(found.values())


def _either(flow: Step, right: Step) -> tuple[Step, ...]:
    """Return a flow, and those wrong in one kind of norm only: people write two branches."""

    def only(kind: str) -> Step:
        return lambda module, *rest: (flow if module.kind == kind else right)(module, *rest)

    return flow, only("pre"), only("post")


# --- the encoder's layer ---------------------------------------------------------------------

MASK_IGNORED = Misconception(
    "mask-ignored",
    "a mask has no effect",
    "The layer hands each mask on to the attention that it belongs to.",
    (),
)
MASK_INVERTED = Misconception(
    "mask-inverted",
    "a mask is the wrong way round: what may be seen is hidden",
    "True means may attend, in every mask of the course. Boolean masks of nn.MultiheadAttention "
    "are the other way round.",
    (),
)
NORM_REUSED = Misconception(
    "norm-reused",
    "a norm is used for more than one sublayer, or the norms are exchanged",
    "Each sublayer has its own: norm1 the first, norm2 the second, and so on. Look at which stands "
    "where, and that they are different objects.",
    (),
)
ORDER = Misconception(
    "order-of-the-sublayers",
    "the sublayers come in another order",
    "First the tokens look at each other, then at the memory if there is one, and at the end each "
    "is worked on by itself.",
    (),
)
SUBLAYER_MISSING = Misconception(
    "sublayer-missing",
    "a sublayer is left out",
    "Look at which of the parts that __init__ makes is used in forward.",
    (),
)
FROM_THE_START = Misconception(
    "residual-from-the-start",
    "a later residual sum adds the input of the whole layer",
    "Each sum adds the input of its own sublayer, which is what the sublayer before has given.",
    (),
)
PARALLEL = Misconception(
    "in-parallel",
    "the sublayers all get the input of the layer, side by side",
    "Some models do it so. Here each sublayer works on what the one before has given.",
    (),
)
NORM_AT_THE_END = Misconception(
    "norm-at-the-end",
    "a pre-norm layer ends with a norm",
    "Its result is the sum as it is. The one last norm belongs to the stack of layers.",
    (),
)
ONLY_QUERY_NORMED = Misconception(
    "only-the-query-is-normed",
    "in pre-norm only the query of self-attention is normed",
    "Query, key and value are all made from the normed x. Look at the three arguments.",
    (),
)
RETURNS_MORE = Misconception(
    "returns-more",
    "forward returns more than the new x",
    "The stub asks for one tensor of the shape of x; attention weights and masks stay inside.",
    (),
    r"expected one tensor, received a (tuple|list)",
)


def _encode_parallel(last: str) -> Step:
    """Return a flow with both sublayers side by side; `last` is post-norm's one norm."""

    def flow(module: Any, join: Step, x: Tensor, mask: Mask) -> Any:
        post = module.kind == "post"
        y, z = (x, x) if post else (module.norm1(x), module.norm2(x))
        x = x + module.self_attention(y, y, y, mask) + module.feed_forward(z)
        return getattr(module, last)(x) if post else x

    return flow


def _encode_lost_sum(module: Any, join: Step, x: Tensor, mask: Mask) -> Any:
    """What attention gives is not added, and the last sum adds the input of the layer."""
    y = _no_residual(module.kind, x, module.norm1, lambda y: module.self_attention(y, y, y, mask))
    if module.kind == "pre":
        return x + module.feed_forward(module.norm2(y))
    return module.norm2(x + module.feed_forward(y))


def _encode_query_normed(module: Any, join: Step, x: Tensor, mask: Mask) -> Tensor:
    first = join(module.kind, x, module.norm1, lambda y: module.self_attention(y, x, x, mask))
    return join(module.kind, first, module.norm2, module.feed_forward)


def _encode_reversed(module: Any, join: Step, x: Tensor, mask: Mask) -> Tensor:
    x = join(module.kind, x, module.norm1, module.feed_forward)
    return join(module.kind, x, module.norm2, lambda y: module.self_attention(y, y, y, mask))


def _encode_reversed_with_norms(module: Any, join: Step, x: Tensor, mask: Mask) -> Tensor:
    x = join(module.kind, x, module.norm2, module.feed_forward)
    return join(module.kind, x, module.norm1, lambda y: module.self_attention(y, y, y, mask))


def _not(mask: Mask) -> Mask:
    return None if mask is None else ~mask


# A row that may see nothing is zero in the package's attention and NaN in one written out.
_ATTENTIONS = (recipes.multi_head(), package.MultiHeadAttention)


def _by_attentions(base: LayerRecipe, flow: Step) -> tuple[LayerRecipe, ...]:
    return tuple(replace(base, flow=flow, attention=each) for each in _ATTENTIONS)


ENCODER_LAYER = _entries(
    ENCODER,
    _joins(ENCODER),
    (
        MASK_IGNORED,
        _either(lambda module, join, x, mask: encode(module, join, x, None), encode),
    ),
    (
        MASK_INVERTED,
        _by_attentions(ENCODER, lambda module, join, x, mask: encode(module, join, x, _not(mask))),
    ),
    (
        NORM_REUSED,
        (
            *_either(_with_norms(encode, norm2="norm1"), encode),
            *_either(_with_norms(encode, norm1="norm2"), encode),
            _with_norms(encode, norm1="norm2", norm2="norm1"),
        ),
    ),
    (ORDER, (_encode_reversed, _encode_reversed_with_norms)),
    (SUBLAYER_MISSING, (_skipping(encode, "norm1"), _skipping(encode, "norm2"))),
    (FROM_THE_START, _either(_from_start(encode, "norm2"), encode)),
    (PARALLEL, (_encode_parallel("norm1"), *_either(_encode_parallel("norm2"), encode))),
    (NORM_AT_THE_END, (_norm_at_the_end(encode, "norm2"), _norm_at_the_end(encode, "norm1"))),
    (ONLY_QUERY_NORMED, (_encode_query_normed,)),
    (RETURNS_MORE, (lambda module, join, x, mask: (encode(module, join, x, mask), x),)),
    (NO_RESIDUAL, (*_each_at(encode, 2, *_HALVES), *_either(_encode_lost_sum, encode))),
    (NO_NORM, _each_at(encode, 2, *_HALVES_UNNORMED)),
)


# --- the decoder's layer ---------------------------------------------------------------------

Attend = Callable[[Any, Tensor, Tensor, Mask, Mask], Tensor]


def _decoding(
    *,
    own: Attend | None = None,
    cross: Attend | None = None,
    order: tuple[str, ...] = ("own", "cross", "feed"),
) -> Step:
    """Return the flow of the decoder with another self- or cross-attention, or another order.

    Args:
        own: from the module, y, the memory and both masks to the result of self-attention.
        cross: the same of cross-attention.
        order: of the sublayers, which take the norms in turn.
    """

    def flow(
        module: Any, join: Step, x: Tensor, memory: Tensor, tgt_mask: Mask, memory_mask: Mask
    ) -> Any:
        def attends(y: Tensor) -> Tensor:
            if own is not None:
                return own(module, y, memory, tgt_mask, memory_mask)
            result: Tensor = module.self_attention(y, y, y, tgt_mask)
            return result

        def looks(y: Tensor) -> Tensor:
            if cross is not None:
                return cross(module, y, memory, tgt_mask, memory_mask)
            result: Tensor = module.cross_attention(y, memory, memory, memory_mask)
            return result

        steps = {"own": attends, "cross": looks, "feed": module.feed_forward}
        for number, name in enumerate(order, start=1):
            x = join(module.kind, x, getattr(module, f"norm{number}"), steps[name])
        return x

    return flow


def _sources(key: str, value: str, query: str = "y") -> Step:
    """Return a flow whose cross-attention takes its arguments from elsewhere."""

    def cross(module: Any, y: Tensor, memory: Tensor, tgt_mask: Mask, memory_mask: Mask) -> Tensor:
        given = {"y": y, "memory": memory}
        result: Tensor = module.cross_attention(given[query], given[key], given[value], memory_mask)
        return result

    return _decoding(cross=cross)


def _causal(x: Tensor) -> Tensor:
    return torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril()


def _own_causal(module: Any, y: Tensor, memory: Tensor, mask: Mask, other: Mask) -> Tensor:
    result: Tensor = module.self_attention(y, y, y, _causal(y) if mask is None else mask)
    return result


def _always_causal(module: Any, y: Tensor, memory: Tensor, mask: Mask, other: Mask) -> Tensor:
    both = _causal(y) if mask is None else mask & _causal(y)
    result: Tensor = module.self_attention(y, y, y, both)
    return result


def _looks_at_itself(masked: bool) -> Attend:
    """Return a cross-attention that never sees the memory."""

    def cross(module: Any, y: Tensor, memory: Tensor, tgt_mask: Mask, memory_mask: Mask) -> Tensor:
        result: Tensor = module.cross_attention(y, y, y, tgt_mask if masked else None)
        return result

    return cross


def _memory_normed(module: Any, join: Step, *rest: Any) -> Any:
    """In pre-norm the memory goes through norm2 too."""

    def cross(module: Any, y: Tensor, memory: Tensor, tgt_mask: Mask, memory_mask: Mask) -> Tensor:
        if module.kind == "pre":
            memory = module.norm2(memory)
        result: Tensor = module.cross_attention(y, memory, memory, memory_mask)
        return result

    return _decoding(cross=cross)(module, join, *rest)


def _memory_always_normed(module: Any, join: Step, x: Tensor, memory: Tensor, *masks: Mask) -> Any:
    return decode(module, join, x, module.norm2(memory), *masks)


def _decode_query_normed(
    module: Any, join: Step, x: Tensor, memory: Tensor, tgt_mask: Mask, memory_mask: Mask
) -> Any:
    def own(module: Any, y: Tensor, memory: Tensor, mask: Mask, other: Mask) -> Tensor:
        result: Tensor = module.self_attention(y, x, x, mask)
        return result

    return _decoding(own=own)(module, join, x, memory, tgt_mask, memory_mask)


def _masks(change: Callable[[Mask, Mask], tuple[Mask, Mask]]) -> Step:
    """Return the flow with other masks."""
    return lambda module, join, x, memory, tgt_mask, memory_mask: decode(
        module, join, x, memory, *change(tgt_mask, memory_mask)
    )


def _shared_attention(name: str, other: str) -> Step:
    """Return the flow in which one of the two attentions does the work of both."""
    return _with_norms(decode, **{name: other})


MEMORY_AS_QUERY = Misconception(
    "memory-as-query",
    "in cross-attention the memory asks, and the target answers",
    "The target asks (query), the source answers (key and value). The result then has one row for "
    "each target token, as the residual sum needs.",
    (),
    r"must match|shape|[Ee]xpected|size|broadcast",
)
SOURCES_MIXED = Misconception(
    "sources-mixed",
    "in cross-attention key and value come from different sequences",
    "Keys say where to look, values what is found there, so both are the memory. Look at the order "
    "of the arguments: some libraries take (value, key, query).",
    (),
    r"must match|share the batch|shape|[Ee]xpected|size",
)

DECODER_LAYER = _entries(
    DECODER,
    _joins(DECODER),
    (
        MEMORY_AS_QUERY,
        (
            *_either(_sources("y", "y", "memory"), decode),
            _sources("memory", "memory", "memory"),
        ),
    ),
    (
        SOURCES_MIXED,
        (
            _sources("memory", "y", "memory"),
            _sources("memory", "y"),
            _sources("y", "memory"),
            _sources("y", "memory", "memory"),
        ),
    ),
    (
        Misconception(
            "memory-not-used",
            "the memory has no effect: cross-attention looks at the target itself",
            "Key and value of cross-attention are the memory.",
            (),
            r"must match|broadcast|size",
        ),
        (
            _decoding(cross=_looks_at_itself(masked=False)),
            _decoding(cross=_looks_at_itself(masked=True)),
            _sources("y", "y"),
        ),
    ),
    (
        Misconception(
            "memory-normed",
            "the memory goes through norm2 as well",
            "In pre-norm the stack of the encoder ends with a norm of its own, so the memory is "
            "normed already. Only x goes through norm2.",
            (),
        ),
        (_memory_normed, _memory_always_normed),
    ),
    (
        Misconception(
            "masks-exchanged",
            "an attention gets the mask that belongs to the other one",
            "tgt_mask is (.., T, T) and belongs to self-attention, memory_mask is (.., T, S) and "
            "belongs to cross-attention.",
            (),
            r"must match|broadcast|size",
        ),
        (
            _masks(lambda tgt, memory: (memory, tgt)),
            _masks(lambda tgt, memory: (tgt, tgt)),
            _masks(lambda tgt, memory: (memory, memory)),
        ),
    ),
    (
        MASK_IGNORED,
        (
            *_either(_masks(lambda tgt, memory: (None, memory)), decode),
            *_either(_masks(lambda tgt, memory: (tgt, None)), decode),
            _masks(lambda tgt, memory: (None, None)),
        ),
    ),
    (
        MASK_INVERTED,
        (
            *_by_attentions(DECODER, _masks(lambda tgt, memory: (_not(tgt), _not(memory)))),
            *_by_attentions(DECODER, _masks(lambda tgt, memory: (_not(tgt), memory))),
            *_by_attentions(DECODER, _masks(lambda tgt, memory: (tgt, _not(memory)))),
        ),
    ),
    (
        Misconception(
            "causal-by-itself",
            "the layer makes a causal mask of its own",
            "Who calls the layer says what may be seen; without tgt_mask that is everything.",
            (),
        ),
        (_decoding(own=_own_causal), _decoding(own=_always_causal)),
    ),
    (
        Misconception(
            "one-attention-for-both",
            "self-attention and cross-attention share their weights",
            "They are two modules, self_attention and cross_attention. Look at which is called.",
            (),
        ),
        (
            _shared_attention("cross_attention", "self_attention"),
            _shared_attention("self_attention", "cross_attention"),
            _with_norms(decode, self_attention="cross_attention", cross_attention="self_attention"),
        ),
    ),
    (
        NORM_REUSED,
        (
            _with_norms(decode, norm2="norm1", norm3="norm1"),
            _with_norms(decode, norm1="norm3", norm2="norm3"),
            *_either(_with_norms(decode, norm3="norm2"), decode),
            _with_norms(decode, norm2="norm1"),
            _with_norms(decode, norm1="norm2"),
            _with_norms(decode, norm3="norm1"),
            _with_norms(decode, norm2="norm3", norm3="norm2"),
            _with_norms(decode, norm1="norm2", norm2="norm1"),
            _with_norms(decode, norm1="norm3", norm3="norm1"),
        ),
    ),
    (
        ORDER,
        (
            _decoding(order=("cross", "own", "feed")),
            _with_norms(_decoding(order=("cross", "own", "feed")), norm1="norm2", norm2="norm1"),
            _decoding(order=("own", "feed", "cross")),
            _decoding(order=("feed", "own", "cross")),
        ),
    ),
    (
        SUBLAYER_MISSING,
        (
            *(_skipping(decode, f"norm{number}") for number in (1, 2, 3)),
            _decoding(order=("own", "feed")),
        ),
    ),
    (
        FROM_THE_START,
        (
            *_either(_from_start(decode, "norm2", "norm3"), decode),
            _from_start(decode, "norm2"),
            _from_start(decode, "norm3"),
        ),
    ),
    (NORM_AT_THE_END, (_norm_at_the_end(decode, "norm3"),)),
    (ONLY_QUERY_NORMED, (_decode_query_normed,)),
    (RETURNS_MORE, (lambda *args: (decode(*args), args[2]),)),
    (NO_RESIDUAL, _each_at(decode, 3, *_HALVES)),
    (NO_NORM, _each_at(decode, 3, *_HALVES_UNNORMED)),
)


# --- the count -------------------------------------------------------------------------------


def _attention_of(matrices: int, biases: int) -> Callable[[int], int]:
    return lambda d_model: matrices * d_model * d_model + biases * d_model


def _feed_of(first: Callable[[int, int], int]) -> Callable[[int, int], int]:
    """Return the count of a feed-forward network with other biases."""
    return lambda d_model, d_ff: 2 * d_model * d_ff + first(d_model, d_ff)


def _rest_of(extra: Callable[[int, int], int]) -> CountRecipe:
    """Return a count with something beside the layers and one embedding."""
    return CountRecipe(
        rest=lambda d_model, vocab_size: vocab_size * d_model + extra(d_model, vocab_size)
    )


def _no_bias(d_model: int, d_ff: int) -> int:
    return 0


COUNT = (
    Misconception(
        "no-biases",
        "the biases of the linear layers are not counted",
        "A linear layer from n to m has n * m weights and m biases. All of them have biases here.",
        (CountRecipe(_attention_of(4, 0), _feed_of(_no_bias)),),
    ),
    Misconception(
        "matrices-only",
        "only the matrices are counted, neither biases nor norms",
        "A linear layer from n to m has n * m weights and m biases. A norm has a weight and a bias "
        "for each of the D features.",
        (CountRecipe(_attention_of(4, 0), _feed_of(_no_bias), lambda d_model: 0),),
    ),
    Misconception(
        "no-biases-in-attention",
        "the biases of attention are not counted, or not all of them",
        "All four layers of an attention have a bias of size D.",
        tuple(CountRecipe(_attention_of(4, biases)) for biases in (0, 1, 3)),
    ),
    Misconception(
        "biases-of-the-feed-forward-network",
        "the biases of the feed-forward network are miscounted",
        "The first layer gives d_ff numbers and so has d_ff biases; the second has D.",
        tuple(
            CountRecipe(feed_forward=_feed_of(each))
            for each in (
                _no_bias,
                lambda d_model, d_ff: 2 * d_model,
                lambda d_model, d_ff: 2 * d_ff,
                lambda d_model, d_ff: d_model,
            )
        ),
    ),
    Misconception(
        "no-output-projection",
        "an attention is counted with three matrices",
        "Query, key, value, and the output projection behind the merged heads: four.",
        (CountRecipe(_attention_of(3, 3)), CountRecipe(_attention_of(3, 0))),
    ),
    Misconception(
        "one-matrix-an-attention",
        "an attention is counted with one or two matrices",
        "Query, key, value and output each have their own, of (D, D).",
        (CountRecipe(_attention_of(1, 1)), CountRecipe(_attention_of(2, 2))),
    ),
    Misconception(
        "one-matrix-in-the-feed-forward-network",
        "the feed-forward network is counted with one of its two matrices",
        "It goes from D to d_ff and comes back.",
        (
            CountRecipe(feed_forward=lambda d_model, d_ff: d_model * d_ff + d_ff),
            CountRecipe(feed_forward=lambda d_model, d_ff: d_model * d_ff + d_model),
            CountRecipe(feed_forward=lambda d_model, d_ff: d_model * d_ff + d_ff + d_model),
        ),
    ),
    Misconception(
        "d-ff-ignored",
        "the hidden size is taken for 4 D",
        "In the paper it is; here it is the argument d_ff.",
        (CountRecipe(feed_forward=lambda d_model, d_ff: 8 * d_model * d_model + 5 * d_model),),
    ),
    Misconception(
        "no-cross-attention",
        "a layer of the decoder is counted with one attention",
        "It has two: self-attention and cross-attention.",
        (CountRecipe(attentions=(1, 1)), CountRecipe(attentions=(1, 1), norms=(2, 2))),
    ),
    Misconception(
        "norms-of-a-layer",
        "the norms of a layer are miscounted",
        "Each sublayer has one: two in a layer of the encoder, three in one of the decoder.",
        tuple(CountRecipe(norms=each) for each in ((2, 2), (1, 1), (3, 3), (1, 2))),
    ),
    Misconception(
        "parameters-of-a-norm",
        "the parameters of a LayerNorm are miscounted",
        "A weight and a bias for each of the D features. Mean and variance are computed, not "
        "learned.",
        tuple(
            CountRecipe(norm=each)
            for each in (lambda d_model: 0, lambda d_model: d_model, lambda d_model: 2)
        ),
    ),
    Misconception(
        "norms-after-the-stacks",
        "a norm after each stack is counted",
        "Pre-norm has one there. This model is the paper's, which has none.",
        (
            _rest_of(lambda d_model, vocab_size: 4 * d_model),
            _rest_of(lambda d_model, vocab_size: 2 * d_model),
        ),
    ),
    Misconception(
        "embedding-counted-again",
        "the embedding is counted more than once",
        "Source, target and output share one matrix of (V, D).",
        (
            _rest_of(lambda d_model, vocab_size: vocab_size * d_model),
            _rest_of(lambda d_model, vocab_size: 2 * vocab_size * d_model),
        ),
    ),
    Misconception(
        "no-embedding",
        "the embedding is not counted",
        "One matrix of (V, D), for source, target and output together.",
        (CountRecipe(rest=lambda d_model, vocab_size: 0),),
    ),
    Misconception(
        "output-bias",
        "a bias of the output layer is counted",
        "The logits are a product with the embedding, without a bias.",
        (_rest_of(lambda d_model, vocab_size: vocab_size),),
    ),
    Misconception(
        "positions-counted",
        "positions are counted",
        "Sinusoidal positions are computed: no parameter is learned for them.",
        (
            _rest_of(lambda d_model, vocab_size: 512 * d_model),
            _rest_of(lambda d_model, vocab_size: 1024 * d_model),
            _rest_of(lambda d_model, vocab_size: 5000 * d_model),
        ),
    ),
    Misconception(
        "one-stack-only",
        "only one of encoder and decoder is counted",
        "There are num_layers layers in each of the two.",
        (
            CountRecipe(layers=lambda num_layers: (num_layers, 0)),
            CountRecipe(layers=lambda num_layers: (0, num_layers)),
        ),
    ),
    Misconception(
        "layers-shared-out",
        "num_layers is taken for the layers of both stacks together",
        "The encoder has num_layers layers, and the decoder has as many again.",
        (
            CountRecipe(layers=lambda num_layers: (num_layers / 2, num_layers / 2)),
            CountRecipe(layers=lambda num_layers: (num_layers // 2, num_layers // 2)),
        ),
    ),
    Misconception(
        "one-layer",
        "only one layer of each stack is counted",
        "Each of the num_layers layers has weights of its own.",
        (CountRecipe(layers=lambda num_layers: (1, 1)),),
    ),
    Misconception(
        "not-an-int",
        "the number is right, but it is not an int",
        "Parameters are counted in whole numbers. Look for a division or for a unit such as "
        "millions.",
        (CountRecipe(give=float), CountRecipe(give=lambda total: total / 1e6)),
    ),
)


# --- the first bug: add and norm -------------------------------------------------------------


def _adding(norm: Callable[..., Tensor]) -> Step:
    return lambda x, change, weight, bias, eps: norm(x + change, weight, bias, eps)


def _by_axes(of_mean: Axes, of_variance: Axes) -> Callable[..., Tensor]:
    """Return a norm whose mean and variance are taken over different axes."""

    def norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
        mean = x.mean(of_mean, keepdim=True)
        variance = x.var(of_variance, keepdim=True, correction=0)
        return (x - mean) / torch.sqrt(variance + eps) * weight + bias

    return norm


def _adds_in_place(x: Tensor, change: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    x += change
    return NormRecipe()(x, weight, bias, eps)


def _change_in_place(x: Tensor, change: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    change.add_(x)
    return NormRecipe()(change, weight, bias, eps)


def _bug_entry(entry: Misconception, *norms: Callable[..., Tensor]) -> Misconception:
    return _with(entry, *map(_adding, norms))


ADD_AND_NORM = (
    _bug_entry(
        Misconception(
            "still-over-tokens-and-features",
            "the bug is still in it",  # to name it would give the task away
            "Change the last token of a sentence, and look at what becomes of the first.",
            (),
        ),
        _over(1, 2),
        replace(_over(1, 2), spread=_unbiased),
        replace(_over(1, 2), divide=_divided_outside),
        replace(_over(1, 2), spread=_unbiased, divide=_divided_outside),
    ),
    _bug_entry(OVER_BATCH, _over(0, 1)),
    _bug_entry(OVER_TOKENS, _over(1), _over(0)),
    _bug_entry(OVER_ALL, _over(0, 1, 2)),
    _bug_entry(UNBIASED, NormRecipe(spread=_unbiased)),
    _bug_entry(EPS_OUTSIDE, NormRecipe(divide=_divided_outside)),
    _bug_entry(UNBIASED_OUTSIDE, NormRecipe(spread=_unbiased, divide=_divided_outside)),
    _bug_entry(
        Misconception(
            "mean-not-taken-off",
            "the mean is not taken off",
            "That line was right. The bug is in which numbers meet, not in what is done with them.",
            (),
        ),
        NormRecipe(centre=_raw),
        _variance_of_raw,
    ),
    _bug_entry(
        Misconception(
            "different-axes",
            "mean and variance are taken over different axes",
            "Both belong to the same numbers: those of one token.",
            (),
        ),
        _by_axes((-1,), (1, 2)),
        _by_axes((1, 2), (-1,)),
        NormRecipe(spread=lambda x, axes: spread(x, (1, 2))),
    ),
    Misconception(
        "no-residual",
        "x is not added any more",
        "The sum was right: a layer adds what the sublayer has found to what it was given.",
        (lambda x, change, *rest: NormRecipe()(change, *rest),),
    ),
    Misconception(
        "change-lost",
        "the change is not added any more",
        "The sum was right: a layer adds what the sublayer has found to what it was given.",
        (lambda x, change, *rest: NormRecipe()(x, *rest),),
    ),
    Misconception(
        "norm-inside-the-sum",
        "only one of the two is normed, and the other added to it",
        "The order was right: first the sum, then the norm.",
        (
            lambda x, change, *rest: x + NormRecipe()(change, *rest),
            lambda x, change, *rest: NormRecipe()(x, *rest) + change,
        ),
    ),
    _bug_entry(
        Misconception(
            "weight-or-bias-lost",
            "weight or bias is not used any more",
            "That line was right: each feature has its own weight and its own bias.",
            (),
        ),
        NormRecipe(finish=lambda x, weight, bias: x),
        NormRecipe(finish=lambda x, weight, bias: x * weight),
        NormRecipe(finish=lambda x, weight, bias: x + bias),
    ),
    _bug_entry(
        Misconception(
            "no-keepdim",
            "mean and variance have lost an axis, so that they meet the wrong numbers",
            "(B, T) does not fit (B, T, D): broadcasting counts axes from the end. keepdim was "
            "right.",
            (),
            r"must match the size",
        ),
        _no_keepdim,
    ),
    _bug_entry(
        DETACHED,
        _detached(NormRecipe()),
        NormRecipe(centre=_mean_detached, spread=_statistics_detached),
        NormRecipe(spread=_statistics_detached),
    ),
    _bug_entry(FLOAT32_ONLY, _in_float32(NormRecipe())),
    _with(CHANGES_INPUT, _adds_in_place, _change_in_place),
)


# --- the second bug: cross-attention ---------------------------------------------------------


def _crossing(
    query: str = "x", key: str = "memory", value: str = "memory", mask: Step = lambda mask: mask
) -> Step:
    """Return the flow of the block with other arguments of the attention."""

    def flow(module: Any, x: Tensor, memory: Tensor, memory_mask: Mask) -> Tensor:
        given = {"x": x, "memory": memory}
        found = module.cross_attention(given[query], given[key], given[value], mask(memory_mask))
        result: Tensor = module.norm(x + found)
        return result

    return flow


def _finished(finish: Callable[[Any, Tensor, Tensor, Tensor], Any]) -> Step:
    """Return the flow of the block with another end, given module, x, memory and what was found."""

    def flow(module: Any, x: Tensor, memory: Tensor, memory_mask: Mask) -> Any:
        found = module.cross_attention(x, memory, memory, memory_mask)
        return finish(module, x, memory, found)

    return flow


def _fitted(module: Any, x: Tensor, memory: Tensor, memory_mask: Mask) -> Tensor:
    """The memory asks, and its rows are cut or filled up to those of x."""
    found = module.cross_attention(memory, x, x)
    missing = x.shape[1] - found.shape[1]
    result: Tensor = module.norm(x + F.pad(found, (0, 0, 0, missing)))
    return result


def _returns_memory(module: Any, x: Tensor, memory: Tensor, memory_mask: Mask) -> Tensor:
    result: Tensor = module.norm(memory + module.cross_attention(memory, x, x))
    return result


CROSS_ATTENTION = (
    Misconception(
        "still-another-order",
        "the bug is still in it",  # to name it would give the task away
        "Which sequence asks, and which one answers? Where does the block take its values from?",
        (cross_block(_crossing("memory", "memory", "x")),),
        r"must share the batch|must match|size",
    ),
    Misconception(
        "memory-as-query",
        "the memory asks, and the target answers",
        "It is the target that wants to know something, one row for each of its tokens.",
        (
            cross_block(_crossing("memory", "x", "x")),
            cross_block(_returns_memory),
            cross_block(_fitted),
            cross_block(_crossing("memory")),
        ),
        r"must match|broadcast|size|cannot be broadcast",
    ),
    Misconception(
        "sources-mixed",
        "key and value come from different sequences",
        "Keys say where to look, values what is found there: both are the source.",
        (
            cross_block(_crossing("x", "memory", "x")),
            cross_block(_crossing("x", "x", "memory")),
            cross_block(_crossing("memory", "x", "memory")),
        ),
        r"must share the batch|must match|size",
    ),
    Misconception(
        "memory-not-used",
        "the memory has no effect",
        "Where does the block take from the source?",
        (
            cross_block(_crossing("x", "x", "x")),
            cross_block(_crossing("x", "x", "x", lambda mask: None)),
        ),
        r"must match|broadcast|size",
    ),
    _with(MASK_IGNORED, cross_block(_crossing(mask=lambda mask: None))),
    _with(
        MASK_INVERTED,
        *(cross_block(_crossing(mask=_not), attention=each) for each in _ATTENTIONS),
    ),
    Misconception(
        "no-residual",
        "x is not added any more",
        "The sum was right: a layer adds what the sublayer has found to what it was given.",
        (cross_block(_finished(lambda module, x, memory, found: module.norm(found))),),
    ),
    Misconception(
        "memory-in-the-sum",
        "what was found is added to the memory, and not to x",
        "The sum was right: a layer adds what the sublayer has found to what it was given.",
        (cross_block(_finished(lambda module, x, memory, found: module.norm(memory + found))),),
        r"must match",
    ),
    Misconception(
        "norm-missing",
        "the sum is not normed any more",
        "That line was right. The bug is in what attention is asked.",
        (
            cross_block(_finished(lambda module, x, memory, found: x + found)),
            cross_block(_finished(lambda module, x, memory, found: found)),
        ),
    ),
    Misconception(
        "norm-elsewhere",
        "the norm stands in another place",
        "This block is post-norm, as in the paper: the norm comes after the sum.",
        (
            cross_block(_finished(lambda module, x, memory, found: x + module.norm(found))),
            cross_block(
                lambda module, x, memory, mask: (
                    x + module.cross_attention(module.norm(x), memory, memory, mask)
                )
            ),
        ),
    ),
    Misconception(
        "memory-normed",
        "the memory goes through the norm as well",
        "The memory comes as the encoder has left it. Only the sum is normed.",
        (
            cross_block(
                lambda module, x, memory, mask: _crossing()(module, x, module.norm(memory), mask)
            ),
        ),
    ),
    _with(HEADS_IGNORED, cross_block(_crossing(), attention=_one_head)),
    _with(
        RETURNS_MORE,
        cross_block(_finished(lambda module, x, memory, found: (module.norm(x + found), found))),
    ),
    _with(
        DETACHED,
        cross_block(_detached(_crossing())),
        cross_block(_finished(lambda module, x, memory, found: module.norm(x + found.detach()))),
        cross_block(lambda module, x, memory, mask: _crossing()(module, x, memory.detach(), mask)),
    ),
    _with(
        FLOAT32_ONLY,
        cross_block(_finished(lambda module, x, memory, found: module.norm(x + found).float())),
        cross_block(_in_float32(_crossing())),
    ),
    _with(
        CHANGES_INPUT,
        cross_block(_finished(lambda module, x, memory, found: module.norm(x.add_(found)))),
    ),
)
