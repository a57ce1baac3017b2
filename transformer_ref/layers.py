"""Layers: the feed-forward network, and the layers of encoder and decoder.

They trust what comes: ids, masks and memories are checked where they enter a model.

Source: Vaswani et al. 2017, sections 3.1 and 3.3; for ``norm="pre"`` Xiong et al. 2020.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, get_args

from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref._validate import require_choice
from transformer_ref.attention import MultiHeadAttention
from transformer_ref.cache import LayerCache
from transformer_ref.masks import Mask

Norm = Literal["post", "pre"]
Activation = Literal["relu", "gelu", "gelu_exact"]

_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": partial(F.gelu, approximate="tanh"),
    "gelu_exact": F.gelu,
}


class FeedForward(nn.Module):
    """Two linear layers with a ReLU between them, the same for every token.

    Args:
        d_model: D, the features of a vector.
        d_ff: size of the hidden layer, 4 D in the paper.
        dropout: rate inside, after the activation.
        activation: "relu" (paper); "gelu" in its tanh form, as in GPT-2; or "gelu_exact", x times
            the normal distribution function, as in BERT and in torch's "gelu".

    Raises:
        ValueError: on another activation.

    Source: Vaswani et al. 2017, equation 2; Hendrycks and Gimpel 2016 for GELU.
    """

    def __init__(
        self, d_model: int, d_ff: int, dropout: float = 0.0, activation: Activation = "relu"
    ) -> None:
        super().__init__()
        require_choice("activation", activation, get_args(Activation))
        self.activation = activation
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        for linear in (self.linear1, self.linear2):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., D) to (..., D), each token by itself."""
        hidden = _ACTIVATIONS[self.activation](self.linear1(x))
        if self.dropout.training:  # elsewhere the call alone would cost time, once a token
            hidden = self.dropout(hidden)
        return self.linear2(hidden)


class Block(nn.Module):
    """Self-attention, attention to a memory if there is one, and the feed-forward network.

    Each stands inside a residual sum; `norm` says where the LayerNorm stands.

    Args:
        d_model: D, the features of a vector.
        num_heads: H, divides D.
        d_ff: hidden size of the feed-forward network.
        dropout: one rate for attention weights, feed-forward and residual sums.
        norm: "post" (paper) or "pre"; pre-norm leaves the memory as it is.
        activation: of the feed-forward network, as :class:`FeedForward`.

    Attributes:
        has_memory: whether there is cross-attention.

    Raises:
        ValueError: on sizes that do not fit, a rate outside [0, 1), another `norm` or `activation`.
    """

    has_memory = False

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        norm: Norm = "post",
        activation: Activation = "relu",
    ) -> None:
        super().__init__()
        require_choice("norm", norm, get_args(Norm))
        self.norm = norm
        self.self_attention = MultiHeadAttention(d_model, num_heads, dropout)
        if self.has_memory:
            self.cross_attention = MultiHeadAttention(d_model, num_heads, dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout, activation)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        if self.has_memory:
            self.norm3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def _drop(self, change: Tensor) -> Tensor:
        """Drop out parts of what is added to the residual stream."""
        return self.dropout(change) if self.dropout.training else change  # as in the feed-forward


class EncoderLayer(Block):
    """Self-attention, then the feed-forward network: a :class:`Block` without a memory."""

    def forward(
        self,
        x: Tensor,
        mask: Mask | None = None,
        is_causal: bool = False,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """Transform a sequence.

        Args:
            x: (B, S, D) floating.
            mask: bool, broadcasts to (B, H, S, S); True = may attend.
            is_causal: position t sees 0..t only; instead of `mask`, and cheaper.
            cache: keys and values of earlier calls; `x` then holds the new tokens only.

        Returns:
            (B, S, D).
        """
        own = cache.self_attention if cache else None
        if self.norm == "pre":
            y = self.norm1(x)  # (B, S, D)
            attended = self.self_attention(y, y, y, mask, is_causal=is_causal, cache=own)
            x = x + self._drop(attended)  # (B, S, D)
            return x + self._drop(self.feed_forward(self.norm2(x)))  # (B, S, D)
        attended = self.self_attention(x, x, x, mask, is_causal=is_causal, cache=own)
        x = self.norm1(x + self._drop(attended))  # (B, S, D)
        return self.norm2(x + self._drop(self.feed_forward(x)))  # (B, S, D)


class DecoderLayer(Block):
    """Masked self-attention, cross-attention to the memory, feed-forward: a :class:`Block`."""

    has_memory = True

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        tgt_mask: Mask | None = None,
        memory_mask: Mask | None = None,
        cache: LayerCache | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Transform the target so far, looking at the encoded source.

        Args:
            x: (B, T, D) floating.
            memory: (B, S, D), the output of the last encoder layer.
            tgt_mask: bool, broadcasts to (B, H, T, T); True = may attend. None = all.
            memory_mask: bool, broadcasts to (B, H, T, S); True = may attend. None = all.
            cache: keys and values of earlier calls; `x` then holds the new tokens only.
            is_causal: position t sees 0..t only; instead of `tgt_mask`, and cheaper.

        Returns:
            (B, T, D).
        """
        own = cache.self_attention if cache else None
        cross = cache.cross_attention if cache else None
        if self.norm == "pre":
            y = self.norm1(x)  # (B, T, D)
            attended = self.self_attention(y, y, y, tgt_mask, is_causal=is_causal, cache=own)
            x = x + self._drop(attended)  # (B, T, D)
            y = self.norm2(x)  # (B, T, D); the memory is not normed again
            x = x + self._drop(self.cross_attention(y, memory, memory, memory_mask, cache=cross))
            return x + self._drop(self.feed_forward(self.norm3(x)))  # (B, T, D)
        attended = self.self_attention(x, x, x, tgt_mask, is_causal=is_causal, cache=own)
        x = self.norm1(x + self._drop(attended))  # (B, T, D)
        attended = self.cross_attention(x, memory, memory, memory_mask, cache=cross)
        x = self.norm2(x + self._drop(attended))  # (B, T, D)
        return self.norm3(x + self._drop(self.feed_forward(x)))  # (B, T, D)


def last_norm(norm: Norm, d_model: int) -> nn.Module:
    """Return what ends a stack of layers.

    Args:
        norm: of the layers.
        d_model: D, the features of a vector.

    Returns:
        one more LayerNorm with pre-norm, where the residual stream has grown from layer to layer;
        with post-norm, whose layers end in a LayerNorm, a module that changes nothing.
    """
    return nn.LayerNorm(d_model) if norm == "pre" else nn.Identity()
