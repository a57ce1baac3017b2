"""A LayerNorm, a layer and a count of parameters taken apart, so that one step can be done wrong.

As in :mod:`transformer_ref.checks.authoring.attention_recipes`, the right steps are written here a
second time, apart from the reference package.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from transformer_ref.checks.authoring import attention_recipes as recipes

Mask = Tensor | None
Axes = tuple[int, ...]
Step = Callable[..., Any]

# --- LayerNorm -------------------------------------------------------------------------------


def features(x: Tensor) -> Axes:
    """Return the axis that a LayerNorm runs over."""
    return (-1,)


def centred(x: Tensor, axes: Axes) -> Tensor:
    """Take the mean off."""
    return x - x.mean(axes, keepdim=True)


def spread(x: Tensor, axes: Axes) -> Tensor:
    """Return the variance of what has the mean 0."""
    return x.square().mean(axes, keepdim=True)


def divided(x: Tensor, variance: Tensor, eps: float) -> Tensor:
    """Divide by the standard deviation, eps inside the root."""
    return x / torch.sqrt(variance + eps)


def weighted(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Give each feature its own scale and offset."""
    return x * weight + bias


@dataclass(frozen=True)
class NormRecipe:
    """The steps of a LayerNorm; call it as (x, weight, bias, eps)."""

    axes: Callable[[Tensor], Axes] = features
    centre: Callable[[Tensor, Axes], Tensor] = centred
    spread: Callable[[Tensor, Axes], Tensor] = spread
    divide: Callable[[Tensor, Tensor, float], Tensor] = divided
    finish: Callable[[Tensor, Tensor, Tensor], Tensor] = weighted

    def __call__(self, x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
        """Norm, step by step."""
        axes = self.axes(x)
        x = self.centre(x, axes)
        return self.finish(self.divide(x, self.spread(x, axes), eps), weight, bias)


def norm_module(norm: Callable[..., Tensor]) -> type[nn.Module]:
    """Return a module with weight and bias that norms as a function does."""

    class Norm(nn.Module):
        def __init__(self, d_model: int) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(d_model))
            self.bias = nn.Parameter(torch.zeros(d_model))

        def forward(self, x: Tensor) -> Tensor:
            return norm(x, self.weight, self.bias, 1e-5)

    return Norm


# --- the feed-forward network ----------------------------------------------------------------


def two_layers(module: Any, x: Tensor) -> Tensor:
    """Map, cut off below 0, map back."""
    hidden: Tensor = module.linear1(x)
    result: Tensor = module.linear2(hidden.clamp(min=0))
    return result


def feed_forward(
    flow: Step = two_layers,
    *,
    bias: bool = True,
    names: tuple[str, str] = ("linear1", "linear2"),
    sizes: Callable[[int, int], tuple[int, int]] = lambda d_model, d_ff: (d_model, d_ff),
) -> type[nn.Module]:
    """Return a FeedForward class, right unless something is replaced.

    Args:
        flow: from the module and x to the result.
        bias: whether the layers have one.
        names: of the two layers.
        sizes: from (d_model, d_ff) to the sizes of input and hidden layer.

    Returns:
        the class.
    """

    class Built(nn.Module):
        def __init__(self, d_model: int, d_ff: int) -> None:
            super().__init__()
            outer, inner = sizes(d_model, d_ff)
            setattr(self, names[0], nn.Linear(outer, inner, bias=bias))
            setattr(self, names[1], nn.Linear(inner, outer, bias=bias))

        def forward(self, x: Tensor) -> Any:
            return flow(self, x)

    return Built


# The classes that the recipes take for right.
ATTENTION = recipes.multi_head()
FEED_FORWARD = feed_forward()

# --- layers ----------------------------------------------------------------------------------


def joined(kind: str, x: Tensor, norm: Step, sublayer: Step) -> Any:
    """Post: norm(x + f(x)). Pre: x + f(norm(x))."""
    return norm(x + sublayer(x)) if kind == "post" else x + sublayer(norm(x))


def encode(module: Any, join: Step, x: Tensor, mask: Mask) -> Any:
    """Attend to oneself, then feed forward."""
    x = join(module.kind, x, module.norm1, lambda y: module.self_attention(y, y, y, mask))
    return join(module.kind, x, module.norm2, module.feed_forward)


def decode(
    module: Any, join: Step, x: Tensor, memory: Tensor, tgt_mask: Mask, memory_mask: Mask
) -> Any:
    """Attend to oneself, then to the memory, then feed forward."""
    x = join(module.kind, x, module.norm1, lambda y: module.self_attention(y, y, y, tgt_mask))
    x = join(
        module.kind,
        x,
        module.norm2,
        lambda y: module.cross_attention(y, memory, memory, memory_mask),
    )
    return join(module.kind, x, module.norm3, module.feed_forward)


class _Encoder(nn.Module):
    kind: str

    def __init__(self, recipe: LayerRecipe) -> None:
        super().__init__()
        self.recipe = recipe

    def forward(self, x: Tensor, mask: Mask = None) -> Any:
        return self.recipe.flow(self, self.recipe.join, x, mask)


class _Decoder(_Encoder):
    def forward(  # type: ignore[override]
        self, x: Tensor, memory: Tensor, tgt_mask: Mask = None, memory_mask: Mask = None
    ) -> Any:
        return self.recipe.flow(self, self.recipe.join, x, memory, tgt_mask, memory_mask)


@dataclass(frozen=True)
class LayerRecipe:
    """A layer of the encoder, or of the decoder with `cross`; call it as the class.

    Attributes:
        flow: from the module, the join and the arguments of forward to the result.
        join: puts norm and residual sum around a sublayer.
        attention: makes the attention.
        feed_forward: makes the feed-forward network.
        norm: makes a LayerNorm.
        default: of `norm` in the call.
        after: changes the module once it is built.
        cross: whether there is a memory to look at.
    """

    flow: Step = encode
    join: Step = joined
    attention: Step = ATTENTION
    feed_forward: Step = FEED_FORWARD
    norm: Step = nn.LayerNorm
    default: str = "post"
    after: Callable[[nn.Module], None] = lambda module: None
    cross: bool = False

    def __call__(
        self, d_model: int, num_heads: int, d_ff: int, norm: str | None = None
    ) -> nn.Module:
        """Build the layer."""
        module = _Decoder(self) if self.cross else _Encoder(self)
        module.kind = norm or self.default
        module.self_attention = self.attention(d_model, num_heads)
        if self.cross:
            module.cross_attention = self.attention(d_model, num_heads)
        module.feed_forward = self.feed_forward(d_model, d_ff)
        for number in range(1, 4 if self.cross else 3):
            setattr(module, f"norm{number}", self.norm(d_model))
        self.after(module)
        return module


ENCODER = LayerRecipe()
DECODER = LayerRecipe(decode, cross=True)


def cross_block(
    flow: Step, attention: Step = ATTENTION, norm: Step = nn.LayerNorm
) -> type[nn.Module]:
    """Return a CrossAttentionBlock class.

    Args:
        flow: from the module, x, the memory and its mask to the result.
        attention: makes the attention.
        norm: makes the LayerNorm.

    Returns:
        the class.
    """

    class Built(nn.Module):
        def __init__(self, d_model: int, num_heads: int) -> None:
            super().__init__()
            self.cross_attention = attention(d_model, num_heads)
            self.norm = norm(d_model)

        def forward(self, x: Tensor, memory: Tensor, memory_mask: Mask = None) -> Any:
            return flow(self, x, memory, memory_mask)

    return Built


# --- parameters ------------------------------------------------------------------------------


@dataclass(frozen=True)
class CountRecipe:
    """The parts of a count; call it as (d_model, d_ff, num_layers, vocab_size)."""

    attention: Callable[[int], int] = lambda d_model: 4 * (d_model * d_model + d_model)
    feed_forward: Callable[[int, int], int] = lambda d_model, d_ff: (
        2 * d_model * d_ff + d_ff + d_model
    )
    norm: Callable[[int], int] = lambda d_model: 2 * d_model
    attentions: tuple[int, int] = (1, 2)
    norms: tuple[int, int] = (2, 3)
    layers: Callable[[int], tuple[float, float]] = lambda num_layers: (num_layers, num_layers)
    rest: Callable[[int, int], int] = lambda d_model, vocab_size: vocab_size * d_model
    give: Callable[[int], Any] = int

    def __call__(self, d_model: int, d_ff: int, num_layers: int, vocab_size: int) -> Any:
        """Add the parts up."""
        total: float = self.rest(d_model, vocab_size)
        stacks = zip(self.layers(num_layers), self.attentions, self.norms, strict=True)
        for layers, attentions, norms in stacks:
            total += layers * (
                attentions * self.attention(d_model)
                + self.feed_forward(d_model, d_ff)
                + norms * self.norm(d_model)
            )
        return self.give(int(total))
