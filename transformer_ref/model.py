"""The Transformer: embeddings, encoder, decoder and the projection to the vocabulary.

Source: Vaswani et al. 2017, figure 1.
"""

import contextlib
import io
import json
import os
import tempfile
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, Self

import torch
from huggingface_hub import PyTorchModelHubMixin
from safetensors import SafetensorError
from torch import Tensor, nn

from transformer_ref._validate import (
    require_at_least_one,
    require_hidden,
    require_ids,
    require_mask,
    require_probability,
)
from transformer_ref.cache import KVCache
from transformer_ref.embeddings import TokenEmbedding, tied_logits
from transformer_ref.layers import DecoderLayer, EncoderLayer, Norm
from transformer_ref.masks import padding_mask, target_mask
from transformer_ref.positions import LearnedPositions, SinusoidalPositions


@dataclass(frozen=True)
class TransformerConfig:
    """Every size and choice of a Transformer; the defaults are the paper's base model.

    Attributes:
        src_vocab_size: V of the source.
        tgt_vocab_size: V of the target.
        d_model: D.
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
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    tie_weights: Literal["none", "target", "all"] = "none"
    pad_id: int = 0

    def __post_init__(self) -> None:
        """Refuse what no model could be built from; the modules check the rest."""
        sizes = {f.name: getattr(self, f.name) for f in fields(self) if f.type is int}
        pad_id = sizes.pop("pad_id")
        require_at_least_one(**sizes)
        require_probability(dropout=self.dropout)
        choices = {
            "norm": ("post", "pre"),
            "positions": ("sinusoidal", "learned"),
            "tie_weights": ("none", "target", "all"),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {allowed}, got {getattr(self, name)!r}")
        if self.d_model % self.num_heads:
            raise ValueError(
                f"num_heads must divide d_model, "
                f"got d_model={self.d_model}, num_heads={self.num_heads}"
            )
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
    kinds = {"sinusoidal": SinusoidalPositions, "learned": LearnedPositions}
    return kinds[config.positions](config.d_model, config.max_len, config.dropout)


def _embedding(config: TransformerConfig, vocab_size: int, tied: bool) -> TokenEmbedding:
    """Untied rows start with unit variance once scaled; tied ones small, see TokenEmbedding."""
    std = 1.0 / config.d_model if tied else config.d_model**-0.5
    return TokenEmbedding(vocab_size, config.d_model, config.pad_id, init_std=std)


class Transformer(nn.Module, PyTorchModelHubMixin):
    """The encoder-decoder Transformer.

    Args:
        config: sizes and choices.

    ``save_pretrained(folder)`` writes ``config.json`` and ``model.safetensors``,
    ``from_pretrained(folder)`` reads them.
    """

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
            ValueError: on ids out of the vocabulary, T above max_len, or a mask that does not fit.
        """
        require_hidden("memory", memory, self.config.d_model)
        offset = cache.length if cache is not None else 0
        x = self.tgt_positions(self.tgt_embedding(tgt, name="tgt"), offset)
        so_far = cache.extend(tgt) if cache is not None else tgt
        if tgt_mask is None:
            tgt_mask = target_mask(so_far, self.config.pad_id)[:, :, offset:]
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
            ValueError: as :meth:`encode` and :meth:`decode`.
        """
        require_ids("src", src)
        src_mask = padding_mask(src, self.config.pad_id)
        return self.decode(tgt_in, self.encode(src, src_mask), memory_mask=src_mask)

    def _scores_shape(self, queries: Tensor, keys: Tensor) -> tuple[int, ...]:
        return len(queries), self.config.num_heads, queries.shape[1], keys.shape[1]

    def save_pretrained(self, save_directory: str | Path, **kwargs: Any) -> None:
        """Write config.json and model.safetensors (tied weights once), each whole or not at all.

        Args:
            save_directory: made if it does not exist.
            kwargs: as in ``PyTorchModelHubMixin.save_pretrained``.

        Raises:
            OSError: if the folder cannot be written; what was there before stays.
        """
        folder = Path(save_directory)
        folder.mkdir(parents=True, exist_ok=True)
        kwargs.setdefault("repo_id", folder.name)  # the mixin would take the temporary name
        with tempfile.TemporaryDirectory(dir=folder) as new:
            super().save_pretrained(new, config=asdict(self.config), **kwargs)
            for name in ("model.safetensors", "config.json"):
                os.replace(Path(new) / name, folder / name)

    @classmethod
    def from_pretrained(  # type: ignore[override]
        cls, folder: str | Path, *, map_location: str | torch.device = "cpu", **kwargs: Any
    ) -> Self:
        """Read what :meth:`save_pretrained` wrote.

        Args:
            folder: a local folder. For a model on the Hugging Face Hub pass its name
                and ``local_files_only=False``; nothing is ever fetched without that.
            map_location: the device of the loaded model.
            kwargs: as in ``PyTorchModelHubMixin.from_pretrained``.

        Returns:
            The model, in eval mode.

        Raises:
            OSError: if a file is missing or damaged; the message names it.
            ValueError: if config.json and the weights do not fit each other.
        """
        kwargs.setdefault("strict", True)  # the mixin would leave missing weights untrained
        if kwargs.setdefault("local_files_only", True):
            _require_checkpoint(Path(folder))
        try:
            # The mixin prints where it loads from; a library should not.
            with contextlib.redirect_stdout(io.StringIO()):
                return super().from_pretrained(folder, **kwargs).to(map_location)
        except SafetensorError as error:
            raise OSError(f"{Path(folder) / 'model.safetensors'} is damaged: {error}") from error
        except RuntimeError as error:
            raise ValueError(
                f"the weights in {folder} do not fit its config.json: {error}"
            ) from error


def _require_checkpoint(folder: Path) -> None:
    """Refuse a folder without a readable config.json or without weights, by name."""
    for path in (folder, folder / "config.json", folder / "model.safetensors"):
        if not path.exists():
            raise OSError(f"no checkpoint at {folder}: {path} does not exist")
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        TransformerConfig(**config)
    except ValueError as error:
        raise OSError(f"{folder / 'config.json'} is damaged: {error}") from error
    except TypeError as error:
        raise ValueError(
            f"{folder / 'config.json'} is not the config of a Transformer: {error}"
        ) from error
