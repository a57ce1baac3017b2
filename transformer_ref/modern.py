"""The layer of today: RMSNorm, rotary positions, shared keys and values, and a gate.

Each of the four changes can be made alone, so that their effects can be compared.
Without any of them, :class:`ModernGPT` computes what :class:`~transformer_ref.gpt.GPT` does.

Source: Touvron et al. 2023 (Llama 2), whose largest model has all four.
"""

# No postponed annotations here: the Hub's mixin reads that of `config` (see pretrained.py).
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref._validate import require_at_least_one, require_choice
from transformer_ref.attention import merge_heads, split_heads
from transformer_ref.cache import GrowingCache, LayerCache
from transformer_ref.gpt import GPT, GPTConfig
from transformer_ref.layers import FeedForward
from transformer_ref.masks import Mask, PreparedMask
from transformer_ref.positions import frequencies

Pairing = Literal["neighbors", "halves"]


def rotate(x: Tensor, positions: Tensor, pairing: Pairing = "neighbors") -> Tensor:
    """Turn queries or keys by angles that grow with their positions.

    Args:
        x: (..., T, K) floating.
        positions: (T,) integers.
        pairing: which features turn together: "neighbors" 2i and 2i + 1 (the paper), or "halves"
            i and i + K/2 (Llama in the ``transformers`` library). Weights that were trained with
            one of them give wrong results with the other.

    Returns:
        (..., T, K) in the dtype of `x`.

    Raises:
        ValueError: if K is odd, or on another `pairing`.

    Source: Su et al. 2021, equation 34.
    """
    require_choice("pairing", pairing, get_args(Pairing))
    # Only the finished sines are rounded, as in sinusoidal_encoding.
    angles = torch.outer(positions.double(), frequencies(x.shape[-1]).to(x.device))  # (T, K/2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    shape, axis = ((-1, 2), -1) if pairing == "neighbors" else ((2, -1), -2)
    a, b = x.unflatten(-1, shape).unbind(axis)  # (..., T, K/2) each
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=axis).flatten(start_dim=-2)


class GroupedAttention(nn.Module):
    """Masked self-attention whose heads share keys and values, with rotary positions.

    Args:
        d_model: D, the features of a vector.
        num_heads: H, divides D.
        num_sets: G of keys and values, divides H. The first H/G heads share the first set.
        rotary: whether queries and keys are turned, in neighboring pairs.
        bias: whether the four matrices have biases.
        dropout: rate for the attention weights.

    Source: Ainslie et al. 2023; Su et al. 2021.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        num_sets: int,
        rotary: bool = True,
        bias: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.num_heads, self.num_sets = num_heads, num_sets
        self.rotary, self.dropout = rotary, dropout
        shared = d_model // num_heads * num_sets
        self.q_proj = nn.Linear(d_model, d_model, bias)
        self.k_proj = nn.Linear(d_model, shared, bias)
        self.v_proj = nn.Linear(d_model, shared, bias)
        self.out_proj = nn.Linear(d_model, d_model, bias)
        start_like_attention(self)

    def forward(
        self,
        x: Tensor,
        mask: Mask | None = None,
        is_causal: bool = True,
        cache: GrowingCache | None = None,
    ) -> Tensor:
        """Let each token read itself and the tokens before it.

        Args:
            x: (B, T, D); with a `cache` the new tokens only.
            mask: bool, broadcasts to (B, H, T, S); True = may attend. S counts cached tokens too.
            is_causal: position t sees 0..t only; instead of `mask`, without cached tokens.
            cache: keys, already turned, and values of earlier tokens.

        Returns:
            (B, T, D).
        """
        q = split_heads(self.q_proj(x), self.num_heads)  # (B, H, T, K)
        k = split_heads(self.k_proj(x), self.num_sets)  # (B, G, T, K)
        v = split_heads(self.v_proj(x), self.num_sets)  # (B, G, T, K)
        if self.rotary:
            first = 0 if cache is None else cache.length
            positions = torch.arange(first, first + x.shape[1], device=x.device)  # (T,)
            q, k = rotate(q, positions), rotate(k, positions)
        if cache is not None:
            k, v = cache.append(k, v)  # (B, G, S, K)
        prepared = PreparedMask.of(mask)
        attended = F.scaled_dot_product_attention(
            q,
            k,
            v,
            None if prepared is None else prepared.inside,
            self.dropout if self.training else 0.0,
            is_causal,
            enable_gqa=self.num_sets < self.num_heads,
        )  # (B, H, T, K)
        return self.out_proj(merge_heads(attended))  # (B, T, D)


class SwiGLU(nn.Module):
    """A feed-forward network with a gate: (SiLU(x W_1) * x W_3) W_2, without biases.

    Args:
        d_model: D, the features of a vector.
        d_ff: hidden units; two thirds of those without a gate make as many weights.

    Source: Shazeer 2020.
    """

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)
        start_like_attention(self)

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., D) to (..., D), each token by itself."""
        return self.down(F.silu(self.gate(x)) * self.up(x))


def start_like_attention(module: nn.Module) -> None:
    """Initialize the matrices of a module as the package's attention does."""
    for linear in module.children():
        if isinstance(linear, nn.Linear):
            nn.init.xavier_uniform_(linear.weight)
            if linear.bias is not None:
                nn.init.zeros_(linear.bias)


@dataclass(frozen=True)
class ModernConfig(GPTConfig):
    """The sizes of a GPT, and which of the four changes it has.

    Attributes:
        rms_norm: RMSNorm instead of LayerNorm.
        rotary: queries and keys are turned, and `positions` is ignored.
        gated: SwiGLU with `d_ff` hidden units as the feed-forward network.
        num_sets: G of keys and values, divides H; None = one for each head.
        attention_bias: whether the matrices of attention have biases, as in GPT-2.

    Raises:
        ValueError: naming the first field that does not fit.
    """

    rms_norm: bool = True
    rotary: bool = True
    gated: bool = True
    num_sets: int | None = None
    attention_bias: bool = False

    def __post_init__(self) -> None:
        """Refuse what no model could be built from."""
        super().__post_init__()
        require_choice("norm", self.norm, ("pre",))
        if self.num_sets is not None:
            require_at_least_one(num_sets=self.num_sets)
            if self.num_heads % self.num_sets:
                raise ValueError(
                    f"num_sets must divide num_heads = {self.num_heads}, got {self.num_sets}"
                )
        if self.rotary and self.d_model // self.num_heads % 2:
            raise ValueError(
                "rotary needs an even number of features in each head, "
                f"got d_model / num_heads = {self.d_model // self.num_heads}"
            )


class ModernLayer(nn.Module):
    """Pre-norm self-attention and a feed-forward network, with the changes of a config."""

    def __init__(self, config: ModernConfig) -> None:
        super().__init__()
        d_model, heads, dropout = config.d_model, config.num_heads, config.dropout
        norm = nn.RMSNorm if config.rms_norm else nn.LayerNorm
        self.norm1, self.norm2 = norm(d_model), norm(d_model)
        self.self_attention = GroupedAttention(
            d_model, heads, config.num_sets or heads, config.rotary, config.attention_bias, dropout
        )
        self.feed_forward = (
            SwiGLU(d_model, config.d_ff)
            if config.gated
            else FeedForward(d_model, config.d_ff, dropout, config.activation)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        mask: Mask | None = None,
        is_causal: bool = True,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """Transform (B, T, D); the arguments are those of :class:`GroupedAttention`."""
        own = cache.self_attention if cache else None
        attended = self.self_attention(self.norm1(x), mask, is_causal, own)  # (B, T, D)
        x = x + self.dropout(attended)  # (B, T, D)
        return x + self.dropout(self.feed_forward(self.norm2(x)))  # (B, T, D)


class NoPositions(nn.Module):
    """Takes the place of positions that are added: attention turns its queries and keys."""

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Return x (B, T, D) unchanged."""
        return x


class ModernGPT(GPT):
    """A GPT with any of the four changes.

    Args:
        config: sizes and changes.

    Source: Touvron et al. 2023.
    """

    config_class = ModernConfig

    def __init__(self, config: ModernConfig) -> None:
        super().__init__(config)
        if config.rotary:
            self.positions = NoPositions()
        self.layers = nn.ModuleList(ModernLayer(config) for _ in range(config.num_layers))
        if config.rms_norm:
            self.norm = nn.RMSNorm(config.d_model)
        self._shrink_what_is_added()
