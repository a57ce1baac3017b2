"""Layers: the feed-forward network, and one block of the encoder and of the decoder.

Source: Vaswani et al. 2017, sections 3.1 and 3.3; for ``norm="pre"`` Xiong et al. 2020.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref._validate import (
    require_alike,
    require_at_least_one,
    require_choice,
    require_hidden,
    require_probability,
)
from transformer_ref.attention import MultiHeadAttention
from transformer_ref.cache import GrowingCache, LayerCache
from transformer_ref.masks import Mask

Norm = Literal["post", "pre"]
Activation = Literal["relu", "gelu", "gelu_exact"]


class FeedForward(nn.Module):
    """Two linear layers with a ReLU between them, the same for every token.

    Args:
        d_model: D, the features of a vector.
        d_ff: size of the hidden layer, 4 D in the paper.
        dropout: rate inside, after the activation.
        activation: "relu" (paper); "gelu" in its tanh form, as in GPT-2; or "gelu_exact", x times
            the normal distribution function, as in BERT and in torch's "gelu".

    Raises:
        ValueError: on a size below 1, a rate outside [0, 1) or another activation.

    Source: Vaswani et al. 2017, equation 2; Hendrycks and Gimpel 2016 for GELU.
    """

    def __init__(
        self, d_model: int, d_ff: int, dropout: float = 0.0, activation: Activation = "relu"
    ) -> None:
        super().__init__()
        require_at_least_one(d_model=d_model, d_ff=d_ff)
        require_probability(dropout=dropout)
        require_choice("activation", activation, get_args(Activation))
        self.activation = activation
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        for linear in (self.linear1, self.linear2):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., D) to (..., D), each token by itself.

        Raises:
            ValueError: if `x` is not floating or its last axis not D, or it is of another dtype
                or device than the weights.
        """
        if not x.is_floating_point() or x.shape[-1:] != (self.linear1.in_features,):
            raise ValueError(
                f"x must be floating with shape (..., {self.linear1.in_features}), "
                f"got {x.dtype} of shape {tuple(x.shape)}"
            )
        require_alike("x", x, self.linear1.weight)
        hidden = self.linear1(x)
        if self.activation == "relu":
            hidden = F.relu(hidden)
        else:
            hidden = F.gelu(hidden, approximate="tanh" if self.activation == "gelu" else "none")
        if self.dropout.training:  # elsewhere the call alone would cost time, once a token
            hidden = self.dropout(hidden)
        return self.linear2(hidden)


class _Block(nn.Module):
    """What encoder and decoder layers share: where the norm and the residual sum stand."""

    def __init__(self, d_model: int, dropout: float, norm: Norm) -> None:
        super().__init__()
        require_choice("norm", norm, ("post", "pre"))
        require_at_least_one(d_model=d_model)
        require_probability(dropout=dropout)
        self.norm = norm
        self.dropout = nn.Dropout(dropout)

    def _add(self, x: Tensor, norm: nn.LayerNorm, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Post: norm(x + f(x)). Pre: x + f(norm(x)). Dropout stands before the sum."""
        change = sublayer(x if self.norm == "post" else norm(x))
        if self.dropout.training:  # as in the feed-forward network
            change = self.dropout(change)
        return norm(x + change) if self.norm == "post" else x + change


class EncoderLayer(_Block):
    """Self-attention, then the feed-forward network, each inside a residual sum.

    Args:
        d_model: D, the features of a vector.
        num_heads: H, divides D.
        d_ff: hidden size of the feed-forward network.
        dropout: one rate for attention weights, feed-forward and residual sums.
        norm: "post" (paper) or "pre".
        activation: of the feed-forward network, as :class:`FeedForward`.

    Raises:
        ValueError: on sizes that do not fit, a rate outside [0, 1), another `norm` or `activation`.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        norm: Norm = "post",
        activation: Activation = "relu",
    ) -> None:
        super().__init__(d_model, dropout, norm)
        self.self_attention = MultiHeadAttention(d_model, num_heads, dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout, activation)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)

    def forward(
        self,
        x: Tensor,
        mask: Mask | None = None,
        is_causal: bool = False,
        cache: GrowingCache | None = None,
    ) -> Tensor:
        """Transform a sequence.

        Args:
            x: (B, S, D) floating.
            mask: bool, broadcasts to (B, H, S, S); True = may attend.
            is_causal: position t sees 0..t only; instead of `mask`, and cheaper.
            cache: keys and values of earlier calls; `x` then holds the new tokens only.

        Returns:
            (B, S, D).

        Raises:
            ValueError: if a shape or the mask does not fit.
        """
        require_hidden("x", x, self.norm1.weight)
        x = self._add(
            x,
            self.norm1,
            lambda y: self.self_attention(y, y, y, mask, is_causal=is_causal, cache=cache),
        )
        return self._add(x, self.norm2, self.feed_forward)


class DecoderLayer(_Block):
    """Masked self-attention, cross-attention to the memory, feed-forward.

    Args:
        d_model: D, the features of a vector.
        num_heads: H, divides D.
        d_ff: hidden size of the feed-forward network.
        dropout: one rate for attention weights, feed-forward and residual sums.
        norm: "post" (paper) or "pre"; pre-norm leaves the memory as it is.

    Raises:
        ValueError: on sizes that do not fit, a rate outside [0, 1) or another `norm`.
    """

    def __init__(
        self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0, norm: Norm = "post"
    ) -> None:
        super().__init__(d_model, dropout, norm)
        self.self_attention = MultiHeadAttention(d_model, num_heads, dropout)
        self.cross_attention = MultiHeadAttention(d_model, num_heads, dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)

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

        Raises:
            ValueError: if a shape or a mask does not fit.
        """
        require_hidden("x", x, self.norm1.weight)
        require_hidden("memory", memory, self.norm1.weight)
        if memory.shape[0] != x.shape[0]:
            raise ValueError(
                f"memory must have the batch of x, got {tuple(memory.shape)} for {tuple(x.shape)}"
            )
        own = cache.self_attention if cache is not None else None
        cross = cache.cross_attention if cache is not None else None
        x = self._add(
            x,
            self.norm1,
            lambda y: self.self_attention(y, y, y, tgt_mask, is_causal=is_causal, cache=own),
        )
        x = self._add(
            x,
            self.norm2,
            lambda y: self.cross_attention(y, memory, memory, memory_mask, cache=cross),
        )
        return self._add(x, self.norm3, self.feed_forward)
