"""Attention: scaled dot-product and multi-head, written out and fused.

The functions check what they are given; the module, which layers and models call, only what its
kernels would pass over in silence.

Source: Vaswani et al. 2017, section 3.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref._validate import (
    require_attention,
    require_heads,
    require_mask,
    require_probability,
)
from transformer_ref.cache import AttentionCache, FixedCache
from transformer_ref.masks import Mask, PreparedMask, causal_mask, masked_softmax


def attention_scores(query: Tensor, key: Tensor) -> Tensor:
    """Compare every query with every key: q k^T / sqrt(K).

    Args:
        query: (..., T, K) floating.
        key: (..., S, K), the same dtype and leading axes.

    Returns:
        (..., T, S) scores; the scale keeps their variance near 1 when q and k have unit variance.

    Raises:
        ValueError: if shapes, dtypes or devices do not fit, or a tensor is not floating.
    """
    require_attention(query, key)
    return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, *, dropout_p: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Attention written out, with the weights that the fused path never makes.

    Args:
        query: (..., T, K) floating.
        key: (..., S, K).
        value: (..., S, K_v).
        mask: bool, broadcasts to (..., T, S); True = may attend.
        dropout_p: rate at which weights are dropped; pass 0 outside training.

    Returns:
        output (..., T, K_v) and weights (..., T, S).
        The weights are those before dropout: their rows sum to 1, or to 0 where nothing may be
        seen.

    Raises:
        ValueError: if shapes, dtypes or devices do not fit, the mask is not boolean or does not
            broadcast, or the rate is outside [0, 1).

    Source: Vaswani et al. 2017, equation 1.
    """
    require_attention(query, key, value)
    require_probability(dropout_p=dropout_p)
    weights = masked_softmax(attention_scores(query, key), mask)
    return F.dropout(weights, dropout_p, training=dropout_p > 0.0) @ value, weights


def fused_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    dropout_p: float = 0.0,
    is_causal: bool = False,
) -> Tensor:
    """The same attention by torch's fused kernels, without the (B, H, T, S) weights in memory.

    From a mask torch's kernel for the CPU makes floats of the mask's own shape; `is_causal` makes
    neither.

    Args:
        query: (B, H, T, K) floating.
        key: (B, H, S, K).
        value: (B, H, S, K).
        mask: bool, broadcasts to (B, H, T, S); True = may attend.
        dropout_p: rate at which weights are dropped; pass 0 outside training.
        is_causal: position t sees 0..t; needs T == S and no `mask`, and never makes a mask.

    Returns:
        (B, H, T, K). Rows that may see nothing are zeros.

    Raises:
        ValueError: if shapes, dtypes or devices do not fit, the mask is not boolean or does not
            broadcast, the rate is outside [0, 1), or `is_causal` comes with a mask or with T != S.

    Source: Dao et al. 2022 (FlashAttention); Rabe and Staats 2021.
    """
    require_attention(query, key, value)
    require_probability(dropout_p=dropout_p)
    return _fused(query, key, value, mask, dropout_p, is_causal)


def _fused(
    query: Tensor, key: Tensor, value: Tensor, mask: Mask | None, dropout: float, is_causal: bool
) -> Tensor:
    """The fused kernels, for heads that are known to fit each other."""
    if is_causal:
        _require_causal_fits(query, key, mask)
    prepared = PreparedMask.of(mask)
    if prepared is None:
        return F.scaled_dot_product_attention(
            query, key, value, dropout_p=dropout, is_causal=is_causal
        )
    require_mask("mask", prepared.mask, (*query.shape[:-1], key.shape[-2]), query.device)
    output = F.scaled_dot_product_attention(
        query, key, value, attn_mask=prepared.inside, dropout_p=dropout
    )
    return output.masked_fill(prepared.empty, 0.0)


def _require_causal_fits(query: Tensor, key: Tensor, mask: Mask | None) -> None:
    """Refuse what the kernels would take for something else, or name badly."""
    if mask is not None or query.shape[-2] != key.shape[-2]:
        plain = mask.mask if isinstance(mask, PreparedMask) else mask
        raise ValueError(
            f"is_causal needs T == S and mask=None, got T={query.shape[-2]}, S={key.shape[-2]}, "
            f"mask={None if plain is None else tuple(plain.shape)}"
        )


class MultiHeadAttention(nn.Module):
    """H attentions side by side, each in its own K = D/H dimensions.

    Args:
        d_model: D, the features of a vector.
        num_heads: H, divides D.
        dropout: rate for the attention weights.

    Attributes:
        keep_weights: is handed the weights (B, H, T, S) of each pass, which then takes the path
            that writes them out; see :func:`record_attention`.

    Raises:
        ValueError: if `num_heads` does not divide `d_model`, a size is below 1 or the rate is off.

    Source: Vaswani et al. 2017, section 3.2.2.
    """

    keep_weights: Callable[[Tensor], None] | None = None

    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        require_heads(d_model, num_heads)
        require_probability(dropout=dropout)
        self.num_heads = num_heads
        self.dropout = dropout
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        for projection in (self.q_proj, self.k_proj, self.v_proj, self.out_proj):
            nn.init.xavier_uniform_(projection.weight)
            nn.init.zeros_(projection.bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Mask | None = None,
        need_weights: bool = False,
        is_causal: bool = False,
        cache: AttentionCache | None = None,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend from `query` to `key` and `value`.

        Args:
            query: (B, T, D) floating.
            key: (B, S, D).
            value: (B, S, D).
            mask: bool, broadcasts to (B, H, T, S); True = may attend. Prepared, it serves
                several layers.
            need_weights: also return the weights, by the path that writes them out.
            is_causal: position t sees 0..t only; instead of `mask`, and cheaper.
            cache: keys and values of earlier calls; S then counts the cached tokens too.

        Returns:
            (B, T, D), or with `need_weights` the pair of it and the weights (B, H, T, S).

        Raises:
            ValueError: if the batches differ, or the lengths of `key` and `value`; if the mask is
                not boolean or does not broadcast, or `is_causal` comes with a mask or T != S.
                What does not fit the weights is an error of torch.
        """
        # The kernels would take values without keys from wherever they are in memory.
        if key.shape != value.shape or query.shape[0] != key.shape[0]:
            raise ValueError(
                "query, key and value must share the batch, key and value the length, "
                f"got {tuple(query.shape)}, {tuple(key.shape)} and {tuple(value.shape)}"
            )
        q = split_heads(self.q_proj(query), self.num_heads)
        k, v = self._keys_and_values(key, value, cache)
        dropout_p = self.dropout if self.training else 0.0
        if not need_weights and self.keep_weights is None:
            attended = _fused(q, k, v, mask, dropout_p, is_causal)
            return self.out_proj(merge_heads(attended))
        if is_causal:
            _require_causal_fits(q, k, mask)
            mask = causal_mask(query.shape[1], device=query.device)
        plain = mask.mask if isinstance(mask, PreparedMask) else mask
        attended, weights = scaled_dot_product_attention(q, k, v, plain, dropout_p=dropout_p)
        if self.keep_weights is not None:
            self.keep_weights(weights.detach())
        output = self.out_proj(merge_heads(attended))
        return (output, weights) if need_weights else output

    def _keys_and_values(
        self, key: Tensor, value: Tensor, cache: AttentionCache | None
    ) -> tuple[Tensor, Tensor]:
        """Project what is new, and put it behind what is cached; a memory is projected once."""
        if isinstance(cache, FixedCache) and cache.stored is not None:
            return cache.stored
        keys = split_heads(self.k_proj(key), self.num_heads)
        values = split_heads(self.v_proj(value), self.num_heads)
        return (keys, values) if cache is None else cache.append(keys, values)


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """Cut the features of each token into `num_heads` slices, one a head.

    Args:
        x: (B, T, D).
        num_heads: H, divides D.

    Returns:
        (B, H, T, K) with K = D/H, a view; head h holds features h*K .. (h+1)*K - 1 of every token.
    """
    batch, length, d_model = x.shape
    return x.view(batch, length, num_heads, d_model // num_heads).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """Undo :func:`split_heads`: lay the heads' results for each token side by side.

    Args:
        x: (B, H, T, K).

    Returns:
        (B, T, H*K).
    """
    return x.transpose(1, 2).flatten(start_dim=2)


@contextmanager
def record_attention(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Keep the attention weights of every forward pass made inside the ``with`` block.

    The model's results stay the same; only the path is the one that writes the weights out.

    Args:
        model: any module that holds :class:`MultiHeadAttention` modules.

    Yields:
        A dict from module name to (B, H, T, S) weights of the latest pass, detached.
    """
    recorded: dict[str, Tensor] = {}
    modules = {n: m for n, m in model.named_modules() if isinstance(m, MultiHeadAttention)}
    before = [module.keep_weights for module in modules.values()]
    for name, module in modules.items():
        module.keep_weights = partial(recorded.__setitem__, name)
    try:
        yield recorded
    finally:
        for module, keep in zip(modules.values(), before, strict=True):
            module.keep_weights = keep
