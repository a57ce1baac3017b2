"""The Transformer: embeddings, encoder, decoder and the projection to the vocabulary.

Source: Vaswani et al. 2017, figure 1.
"""

from dataclasses import dataclass, fields
from typing import Literal

from torch import Tensor, nn

from transformer_ref._validate import (
    require_at_least_one,
    require_choice,
    require_heads,
    require_hidden,
    require_ids,
    require_mask,
    require_probability,
)
from transformer_ref.cache import KVCache
from transformer_ref.checkpoint import PretrainedModel
from transformer_ref.embeddings import TokenEmbedding, tied_logits
from transformer_ref.layers import DecoderLayer, EncoderLayer, Norm
from transformer_ref.masks import padding_mask, padding_mask_or_none, target_mask
from transformer_ref.positions import Positions, make_positions


@dataclass(frozen=True)
class TransformerConfig:
    """Every size and choice of a Transformer; the defaults are the paper's base model.

    Attributes:
        src_vocab_size: V of the source.
        tgt_vocab_size: V of the target.
        d_model: D, the features of a vector.
        num_heads: H, divides D.
        num_encoder_layers: at least 1.
        num_decoder_layers: at least 1.
        d_ff: hidden size of the feed-forward networks.
        dropout: one rate for all dropouts.
        max_len: the longest source or target.
        norm: "post" (paper) or "pre"; pre-norm ends each stack with one more LayerNorm.
        positions: "sinusoidal" or "learned".
        tie_weights: "none"; "target" (target embedding = output projection);
            "all" (source embedding too, as in the paper: needs one vocabulary).
        pad_id: the id that fills short rows, in both vocabularies.

    Raises:
        ValueError: naming the first field that does not fit.

    Source: Vaswani et al. 2017, table 3, row "base".
    """

    src_vocab_size: int
    tgt_vocab_size: int
    d_model: int = 512
    num_heads: int = 8
    num_encoder_layers: int = 6
    num_decoder_layers: int = 6
    d_ff: int = 2048
    dropout: float = 0.1
    max_len: int = 512
    norm: Norm = "post"
    positions: Positions = "sinusoidal"
    tie_weights: Literal["none", "target", "all"] = "none"
    pad_id: int = 0

    def __post_init__(self) -> None:
        """Refuse what no model could be built from; the modules check the rest."""
        sizes = {f.name: getattr(self, f.name) for f in fields(self) if f.type is int}
        pad_id = sizes.pop("pad_id")
        require_at_least_one(**sizes)
        require_probability(dropout=self.dropout)
        require_choice("norm", self.norm, ("post", "pre"))
        require_choice("positions", self.positions, ("sinusoidal", "learned"))
        require_choice("tie_weights", self.tie_weights, ("none", "target", "all"))
        require_heads(self.d_model, self.num_heads)
        if not isinstance(pad_id, int) or not 0 <= pad_id < min(
            self.src_vocab_size, self.tgt_vocab_size
        ):
            raise ValueError(f"pad_id must be an id of both vocabularies, got {pad_id!r}")
        if self.tie_weights == "all" and self.src_vocab_size != self.tgt_vocab_size:
            raise ValueError(
                'tie_weights="all" needs one vocabulary, '
                f"got src_vocab_size={self.src_vocab_size}, tgt_vocab_size={self.tgt_vocab_size}"
            )


def _stack(
    layer: type[EncoderLayer | DecoderLayer], num_layers: int, config: TransformerConfig
) -> nn.ModuleList:
    sizes = config.d_model, config.num_heads, config.d_ff, config.dropout
    return nn.ModuleList(layer(*sizes, norm=config.norm) for _ in range(num_layers))


def _last_norm(config: TransformerConfig) -> nn.Module:
    """Pre-norm leaves the residual sum as it grew; one more LayerNorm ends the stack."""
    return nn.LayerNorm(config.d_model) if config.norm == "pre" else nn.Identity()


class Encoder(nn.Module):
    """A stack of encoder layers; with pre-norm a last LayerNorm after it."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.layers = _stack(EncoderLayer, config.num_encoder_layers, config)
        self.norm = _last_norm(config)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Map embedded tokens (B, S, D) to the memory (B, S, D): one vector for each token."""
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


class Decoder(nn.Module):
    """A stack of decoder layers that look at the same memory; with pre-norm a last LayerNorm."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.layers = _stack(DecoderLayer, config.num_decoder_layers, config)
        self.norm = _last_norm(config)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        """Map embedded tokens (B, T, D) and the memory (B, S, D) to hidden states (B, T, D)."""
        for index, layer in enumerate(self.layers):
            layer_cache = cache.layers[index] if cache is not None else None
            x = layer(x, memory, tgt_mask, memory_mask, layer_cache)
        return self.norm(x)


def _positions(config: TransformerConfig) -> nn.Module:
    return make_positions(config.positions, config.d_model, config.max_len, config.dropout)


def _embedding(config: TransformerConfig, vocab_size: int, tied: bool) -> TokenEmbedding:
    """Untied rows start with unit variance once scaled; tied ones small, see TokenEmbedding."""
    std = 1.0 / config.d_model if tied else config.d_model**-0.5
    return TokenEmbedding(vocab_size, config.d_model, config.pad_id, init_std=std)


class Transformer(PretrainedModel):
    """The encoder-decoder Transformer.

    Args:
        config: sizes and choices.

    ``save_pretrained(folder)`` writes ``config.json`` and ``model.safetensors``,
    ``from_pretrained(folder)`` reads them.
    """

    config_class = TransformerConfig

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.src_embedding = _embedding(config, config.src_vocab_size, config.tie_weights == "all")
        self.src_positions = _positions(config)
        self.tgt_embedding = (
            self.src_embedding
            if config.tie_weights == "all"
            else _embedding(config, config.tgt_vocab_size, config.tie_weights == "target")
        )
        self.tgt_positions = _positions(config)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.output_proj = nn.Linear(config.d_model, config.tgt_vocab_size, bias=False)
        if config.tie_weights == "none":
            nn.init.normal_(self.output_proj.weight, std=1.0 / config.d_model)
        else:
            self.output_proj.weight = self.tgt_embedding.weight

    def encode(self, src: Tensor, src_mask: Tensor | None = None) -> Tensor:
        """Turn source ids into the memory.

        Args:
            src: (B, S) integer ids.
            src_mask: bool, broadcasts to (B, H, S, S); True = may attend. None = all, padding too.

        Returns:
            memory (B, S, D).

        Raises:
            ValueError: on ids out of the vocabulary, S above max_len, or a mask that does not fit.
        """
        x = self.src_positions(self.src_embedding(src, name="src"))
        if src_mask is not None:
            require_mask("src_mask", src_mask, self._scores_shape(src, src), src.device)
        return self.encoder(x, src_mask)

    def decode(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        """Score the token after each position of the target so far.

        Args:
            tgt: (B, T) integer ids from the begin token on; with a `cache` the new ones only.
            memory: (B, S, D) from :meth:`encode`.
            tgt_mask: bool, broadcasts to (B, H, T, T). None = causal, and no padding keys.
            memory_mask: bool, broadcasts to (B, H, T, S). None = all, padding too.
            cache: what earlier calls with the same memory have computed; it is extended.

        Returns:
            logits (B, T, V).

        Raises:
            ValueError: on ids out of the vocabulary, T above max_len, or a memory, mask or cache
                that does not fit.
        """
        require_hidden("memory", memory, self.output_proj.weight)
        if cache is not None:
            cache.require_layers(self.config.num_decoder_layers)
        offset = cache.length if cache is not None else 0
        x = self.tgt_positions(self.tgt_embedding(tgt, name="tgt"), offset)
        so_far = cache.extend(tgt, name="tgt") if cache is not None else tgt
        if tgt_mask is None:
            tgt_mask = _new_rows(so_far, self.config.pad_id, offset)
        if tgt_mask is not None:
            require_mask("tgt_mask", tgt_mask, self._scores_shape(tgt, so_far), tgt.device)
        if memory_mask is not None:
            require_mask("memory_mask", memory_mask, self._scores_shape(tgt, memory), tgt.device)
        return tied_logits(
            self.decoder(x, memory, tgt_mask, memory_mask, cache), self.output_proj.weight
        )

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Score all target positions in one pass (teacher forcing), with masks made from pad_id.

        Args:
            src: (B, S) integer ids.
            tgt_in: (B, T) integer ids: the target without its last token.

        Returns:
            logits (B, T, V).

        Raises:
            ValueError: as :meth:`encode` and :meth:`decode`, or if the numbers of rows differ.
        """
        require_ids("src", src)
        require_ids("tgt_in", tgt_in)
        if len(src) != len(tgt_in):
            raise ValueError(
                "src and tgt_in must have as many rows, "
                f"got {tuple(src.shape)} and {tuple(tgt_in.shape)}"
            )
        src_mask = padding_mask(src, self.config.pad_id)
        return self.decode(tgt_in, self.encode(src, src_mask), memory_mask=src_mask)

    def _scores_shape(self, queries: Tensor, keys: Tensor) -> tuple[int, ...]:
        return len(queries), self.config.num_heads, queries.shape[1], keys.shape[1]


def _new_rows(ids: Tensor, pad_id: int, offset: int) -> Tensor | None:
    """The target mask from row `offset` on; a single last row sees all, and needs no triangle."""
    if offset == ids.shape[1] - 1:
        return padding_mask_or_none(ids, pad_id)
    return target_mask(ids, pad_id)[:, :, offset:]
