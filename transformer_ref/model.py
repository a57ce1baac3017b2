"""The Transformer: embeddings, encoder, decoder and the projection to the vocabulary.

A token's way from id to logit: ``Transformer.forward``; ``encode``: embedding, positions and the
``Encoder``, whose layers are ``layers.EncoderLayer``; ``decode``: the same with the ``Decoder``,
masks and the memory; ``output_proj``.

What comes in is checked on the way in: by the models, the embedding and the positions.
Layers trust it, and attention looks only at what torch's kernels would pass over in silence.

Source: Vaswani et al. 2017, figure 1.
"""

import copy
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from transformer_ref._validate import (
    require_choice,
    require_hidden,
    require_ids,
    require_in_vocabulary,
    require_mask,
    require_model_config,
    values_of,
)
from transformer_ref.cache import KVCache
from transformer_ref.device import queues_work
from transformer_ref.embeddings import TokenEmbedding
from transformer_ref.layers import DecoderLayer, EncoderLayer, Norm, last_norm
from transformer_ref.masks import (
    Mask,
    PreparedMask,
    later_rows,
    padding_mask,
    padding_mask_or_none,
    target_mask,
)
from transformer_ref.positions import Positions, make_positions
from transformer_ref.pretrained import PretrainedModel


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
        """Refuse what no model could be built from."""
        require_model_config(self)
        require_choice("tie_weights", self.tie_weights, ("none", "target", "all"))
        smaller = min(self.src_vocab_size, self.tgt_vocab_size)
        if not isinstance(self.pad_id, int) or not 0 <= self.pad_id < smaller:
            raise ValueError(f"pad_id must be an id of both vocabularies, got {self.pad_id!r}")
        if self.tie_weights == "all" and self.src_vocab_size != self.tgt_vocab_size:
            raise ValueError(
                'tie_weights="all" needs one vocabulary, '
                f"got src_vocab_size={self.src_vocab_size}, tgt_vocab_size={self.tgt_vocab_size}"
            )


class Encoder(nn.Module):
    """A stack of encoder layers; with pre-norm a last LayerNorm after it."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        sizes = config.d_model, config.num_heads, config.d_ff, config.dropout, config.norm
        self.layers = nn.ModuleList(EncoderLayer(*sizes) for _ in range(config.num_encoder_layers))
        self.norm = last_norm(config.norm, config.d_model)

    def forward(self, x: Tensor, mask: Mask | None = None) -> Tensor:
        """Map embedded tokens (B, S, D) to the memory (B, S, D): one vector for each token."""
        mask = PreparedMask.of(mask)
        for layer in self.layers:
            x = layer(x, mask)  # (B, S, D)
        return self.norm(x)


class Decoder(nn.Module):
    """A stack of decoder layers that look at the same memory; with pre-norm a last LayerNorm."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        sizes = config.d_model, config.num_heads, config.d_ff, config.dropout, config.norm
        self.layers = nn.ModuleList(DecoderLayer(*sizes) for _ in range(config.num_decoder_layers))
        self.norm = last_norm(config.norm, config.d_model)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        tgt_mask: Mask | None = None,
        memory_mask: Mask | None = None,
        cache: KVCache | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Map embedded tokens (B, T, D) and the memory (B, S, D) to hidden states (B, T, D)."""
        tgt_mask, memory_mask = PreparedMask.of(tgt_mask), PreparedMask.of(memory_mask)
        for index, layer in enumerate(self.layers):
            own = cache.layers[index] if cache is not None else None
            x = layer(x, memory, tgt_mask, memory_mask, own, is_causal)  # (B, T, D)
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
        if config.tie_weights == "all":
            # A module of its own with the same matrix, which the memo tells not to copy:
            # torch.func takes one module under two names for two.
            shared = self.src_embedding.weight
            self.tgt_embedding = copy.deepcopy(self.src_embedding, {id(shared): shared})
        else:
            tied = config.tie_weights == "target"
            self.tgt_embedding = _embedding(config, config.tgt_vocab_size, tied)
        self.tgt_positions = _positions(config)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.output_proj = nn.Linear(config.d_model, config.tgt_vocab_size, bias=False)
        if config.tie_weights == "none":
            nn.init.normal_(self.output_proj.weight, std=1.0 / config.d_model)
        else:
            self.output_proj.weight = self.tgt_embedding.weight

    def encode(
        self, src: Tensor, src_mask: Tensor | None = None, *, check_ids: bool = True
    ) -> Tensor:
        """Turn source ids into the memory.

        Args:
            src: (B, S) integer ids.
            src_mask: bool, broadcasts to (B, H, S, S); True = may attend. None = all, padding too.
            check_ids: look whether the ids are in the vocabulary, for which a GPU waits.

        Returns:
            memory (B, S, D).

        Raises:
            ValueError: on ids out of the vocabulary, S above max_len, or a mask that does not fit.
        """
        x = self.src_positions(self.src_embedding(src, "src", check_ids))
        self._require_mask("src_mask", src_mask, src, src)
        return self.encoder(x, src_mask)

    def decode(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        cache: KVCache | None = None,
        *,
        is_causal: bool = False,
        check_ids: bool = True,
    ) -> Tensor:
        """Score the token after each position of the target so far.

        Args:
            tgt: (B, T) integer ids from the begin token on; with a `cache` the new ones only.
            memory: (B, S, D) from :meth:`encode`.
            tgt_mask: bool, broadcasts to (B, H, T, T). None = causal, and no padding keys.
            memory_mask: bool, broadcasts to (B, H, T, S). None = all, padding too.
            cache: what earlier calls with the same memory have computed; it is extended, unless
                the call fails.
            is_causal: instead of `tgt_mask`: causal alone, and cheaper. Padding on the right needs
                no more, since real tokens stand before it.
            check_ids: look whether the ids are in the vocabulary, for which a GPU waits.

        Returns:
            logits (B, T, V).

        Raises:
            ValueError: on ids out of the vocabulary, T above max_len, or a memory, mask or cache
                that does not fit.
        """
        require_hidden("memory", memory, self.tgt_embedding.weight)
        offset = cache.length if cache is not None else 0
        x = self.tgt_positions(self.tgt_embedding(tgt, "tgt", check_ids), offset)
        _require_batch("memory", memory, "tgt", tgt)
        so_far = tgt if cache is None else cache.begin(tgt, self.config.num_decoder_layers, "tgt")
        tgt_mask = self._target_mask(tgt, so_far, tgt_mask, is_causal)
        self._require_mask("memory_mask", memory_mask, tgt, memory)
        first_causal = is_causal and offset == 0
        hidden = self.decoder(x, memory, tgt_mask, memory_mask, cache, is_causal=first_causal)
        logits = self.output_proj(hidden)
        if cache is not None:
            cache.keep(so_far)
        return logits

    def _target_mask(
        self, new: Tensor, ids: Tensor, mask: Tensor | None, is_causal: bool
    ) -> Tensor | None:
        """The mask of the `new` ids, which end `ids`; one token sees all, and needs no triangle."""
        offset, pad_id = ids.shape[1] - new.shape[1], self.config.pad_id
        if is_causal and mask is not None:
            raise ValueError(f"is_causal needs tgt_mask=None, got {tuple(mask.shape)}")
        if is_causal:
            return later_rows(new.shape[1], offset, new.device)
        if mask is not None:
            self._require_mask("tgt_mask", mask, new, ids)
            return mask
        if offset < ids.shape[1] - 1:
            return target_mask(ids, pad_id)[:, :, offset:]
        # A mask costs less than the wait of a GPU that is asked whether one is needed.
        return (padding_mask if queues_work(ids.device) else padding_mask_or_none)(ids, pad_id)

    def _require_mask(self, name: str, mask: Tensor | None, queries: Tensor, keys: Tensor) -> None:
        if mask is not None:
            scores = queries.shape[0], self.config.num_heads, queries.shape[1], keys.shape[1]
            require_mask(name, mask, scores, queries.device)

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Score all target positions in one pass (teacher forcing), with masks made from pad_id.

        The ids are looked at once: whether they are in the vocabulary, and where padding stands.
        A target padded on the right only, as batches are, gets no mask but the causal one, which
        hides padding from every real token, so that the cheapest kernel serves.
        At padded positions the logits, for which there are no labels, are then others than those
        of :meth:`decode`, whose causal mask hides padding too; so only `decode` scores what
        follows a padding token that a model has said.
        Where ids cannot be read (torch.compile, torch.export, vmap), that mask is always made;
        :meth:`decode` with `is_causal` avoids it there.

        Args:
            src: (B, S) integer ids.
            tgt_in: (B, T) integer ids: the target without its last token.

        Returns:
            logits (B, T, V).

        Raises:
            ValueError: as :meth:`encode` and :meth:`decode`, or if the numbers of rows differ.
        """
        require_ids("src", src, device=self.src_embedding.weight.device)
        require_ids("tgt_in", tgt_in, device=src.device)
        _require_batch("src", src, "tgt_in", tgt_in)
        config, is_causal = self.config, False
        src_mask: Tensor | None = padding_mask(src, config.pad_id)
        found = values_of(src, lambda: _facts(src, tgt_in, config.pad_id))
        if found is not None:
            *src_range, tgt_low, tgt_high, is_full, is_right = found
            require_in_vocabulary("src", config.src_vocab_size, *src_range)
            require_in_vocabulary("tgt_in", config.tgt_vocab_size, tgt_low, tgt_high)
            src_mask, is_causal = None if is_full else src_mask, bool(is_right)
        memory = self.encode(src, src_mask, check_ids=False)
        return self.decode(
            tgt_in, memory, memory_mask=src_mask, is_causal=is_causal, check_ids=False
        )


def _require_batch(name: str, x: Tensor, other_name: str, other: Tensor) -> None:
    if x.shape[0] != other.shape[0]:
        got = f"{tuple(x.shape)} for {tuple(other.shape)}"
        raise ValueError(f"{name} must have the batch of {other_name}, got {got}")


def _facts(src: Tensor, tgt_in: Tensor, pad_id: int) -> Tensor:
    """Six numbers: the range of both ids, is the source full, is the target padded on the right."""
    real = tgt_in != pad_id
    is_full, is_right = (src != pad_id).all(), (real[:, :-1] >= real[:, 1:]).all()
    return torch.stack((*torch.aminmax(src), *torch.aminmax(tgt_in), is_full, is_right))
