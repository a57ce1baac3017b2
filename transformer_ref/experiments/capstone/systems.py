"""The models that the capstone compares, and the recipe by which all of them are trained."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from transformer_ref.applications.g2p import MODEL_CONFIG, Speller
from transformer_ref.attention import MultiHeadAttention
from transformer_ref.batching import Example, pad_batch
from transformer_ref.cache import LayerCache
from transformer_ref.decoding import evaluation_mode, extend, likeliest
from transformer_ref.layers import DecoderLayer, EncoderLayer, Norm
from transformer_ref.masks import Mask, masked_softmax, padding_mask
from transformer_ref.model import Transformer
from transformer_ref.training import Trainer, TrainingConfig

SMALL = replace(
    MODEL_CONFIG,
    d_model=64,
    d_ff=256,
    num_encoder_layers=2,
    num_decoder_layers=2,
    dropout=0.0,
)
RECIPE = TrainingConfig(epochs=2, batch_size=96, learning_rate=4e-3, label_smoothing=0.0)


def train_and_answer(
    model: nn.Module,
    pairs: Sequence[Example],
    words: Sequence[str],
    recipe: TrainingConfig = RECIPE,
) -> tuple[list[float], dict[str, list[str]]]:
    """Train any model that maps (source, target so far) to logits; let it read the words.

    Returns:
        The loss of every step, and the phonemes of each word.
    """
    trainer = Trainer(model, pairs, recipe, device=torch.device("cpu"))
    trainer.train(progress=False)
    return trainer.losses, answer(model, words)


class WholePrefix:
    """Asks for the next token with all that was said so far, so that any model can be asked."""

    def __init__(self, model: nn.Module, source: Tensor) -> None:
        self.model, self.source = model, source

    def next_logits(self, ids: Tensor) -> Tensor:
        """Score what follows each row of `ids` (R, T): logits (R, V)."""
        logits: Tensor = self.model(self.source, ids)
        return logits[:, -1]

    def select(self, rows: Tensor, same_source: bool = False) -> None:
        """Go on with these rows (R',)."""
        self.source = self.source[rows]


@torch.inference_mode()
def answer(model: nn.Module, words: Sequence[str], batch_size: int = 512) -> dict[str, list[str]]:
    """Pronounce words greedily."""
    phonemes, answers = Speller.phonemes, dict[str, list[str]]()
    words = sorted(words, key=len)  # like lengths share a batch
    with evaluation_mode(model):
        for start in range(0, len(words), batch_size):
            batch = words[start : start + batch_size]
            source = pad_batch([Speller.letters.encode(word) for word in batch], pad_id=0)
            begin = torch.full((len(batch), 1), phonemes.bos_id)
            longest = 2 * source.shape[1] + 8  # room for what a broken model says
            scorer = WholePrefix(model, source)
            ids = extend(scorer, begin, longest, likeliest, phonemes.eos_id, phonemes.pad_id)
            answers |= zip(batch, map(phonemes.decode, ids), strict=True)
    return answers


class Seq2Seq(nn.Module):
    """The LSTM encoder-decoder, with attention over the source or with the last state alone.

    Args:
        size: features of a state, an even number: half for either direction of the encoder.
        attend: whether the decoder looks at all states of the source.
        features: of an embedding.

    Source: Sutskever et al. 2014; the attention is the product of Luong et al. 2015.
    """

    def __init__(self, size: int, attend: bool, features: int = 64) -> None:
        super().__init__()
        self.attend = attend
        self.src_embedding = nn.Embedding(len(Speller.letters), features)
        self.tgt_embedding = nn.Embedding(len(Speller.phonemes), features)
        self.encoder = nn.LSTM(features, size // 2, batch_first=True, bidirectional=True)
        self.decoder = nn.LSTM(features, size, batch_first=True)
        self.output_proj = nn.Linear(size * (2 if attend else 1), len(Speller.phonemes))

    def encode(self, source: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Read the letters (B, S): all states (B, S, size), and the last one for the decoder."""
        lengths = (source != Speller.letters.pad_id).sum(dim=1)
        packed = pack_padded_sequence(
            self.src_embedding(source), lengths, batch_first=True, enforce_sorted=False
        )
        states, last = self.encoder(packed)  # padding is not read, in either direction
        states, _ = pad_packed_sequence(states, batch_first=True, total_length=source.shape[1])
        return states, tuple(both.transpose(0, 1).flatten(1)[None] for both in last)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Score the phonemes: source (B, S) and target (B, T) to logits (B, T, V)."""
        states, last = self.encode(source)
        hidden, _ = self.decoder(self.tgt_embedding(target), last)
        if self.attend:
            mask = padding_mask(source, Speller.letters.pad_id)[:, 0]  # (B, 1, S)
            weights = masked_softmax(hidden @ states.transpose(1, 2), mask)
            hidden = torch.cat([hidden, weights @ states], dim=-1)
        logits: Tensor = self.output_proj(hidden)
        return logits


class NoPositions(nn.Module):
    """Takes the place of positions, and adds none."""

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Return x (B, T, D) as it is."""
        return x


class NoCausalMask(Transformer):
    """Sees the future of the target."""

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Score (B, S) and (B, T) as :class:`~transformer_ref.model.Transformer`: (B, T, V)."""
        src_mask = padding_mask(src, self.config.pad_id)
        tgt_mask = padding_mask(tgt_in, self.config.pad_id)  # and no triangle
        return self.decode(tgt_in, self.encode(src, src_mask), tgt_mask, src_mask)


def _unscaled(projection: nn.Module, inputs: Any, queries: Tensor) -> Tensor:
    head_size = SMALL.d_model // SMALL.num_heads
    return queries * math.sqrt(head_size)  # what the scores will be divided by


def _without_sum(
    layer: EncoderLayer | DecoderLayer,
    x: Tensor,
    norm: nn.LayerNorm,
    sublayer: Callable[[Tensor], Tensor],
) -> Tensor:
    changed: Tensor = norm(sublayer(x)) if layer.norm == "post" else sublayer(norm(x))
    return changed


class EncoderLayerWithoutSums(EncoderLayer):
    """An encoder layer in which each sublayer replaces its input."""

    def forward(
        self,
        x: Tensor,
        mask: Mask | None = None,
        is_causal: bool = False,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """Transform (B, S, D) as :class:`~transformer_ref.layers.EncoderLayer`: (B, S, D)."""
        own = cache.self_attention if cache else None

        def attend(y: Tensor) -> Tensor:
            return self.self_attention(y, y, y, mask, is_causal=is_causal, cache=own)

        x = _without_sum(self, x, self.norm1, attend)
        return _without_sum(self, x, self.norm2, self.feed_forward)


class DecoderLayerWithoutSums(DecoderLayer):
    """A decoder layer in which each sublayer replaces its input."""

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        tgt_mask: Mask | None = None,
        memory_mask: Mask | None = None,
        cache: LayerCache | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Transform (B, T, D) as :class:`~transformer_ref.layers.DecoderLayer`: (B, T, D)."""
        own = cache.self_attention if cache else None
        cross = cache.cross_attention if cache else None

        def attend(y: Tensor) -> Tensor:
            return self.self_attention(y, y, y, tgt_mask, is_causal=is_causal, cache=own)

        def look(y: Tensor) -> Tensor:
            return self.cross_attention(y, memory, memory, memory_mask, cache=cross)

        x = _without_sum(self, x, self.norm1, attend)
        x = _without_sum(self, x, self.norm2, look)
        return _without_sum(self, x, self.norm3, self.feed_forward)


_WITHOUT_SUMS: dict[type[nn.Module], type[nn.Module]] = {
    EncoderLayer: EncoderLayerWithoutSums,
    DecoderLayer: DecoderLayerWithoutSums,
}


def small_speller(without: str | None = None, norm: Norm = "pre", seed: int = 0) -> Transformer:
    """The small model, with one idea of the course taken away.

    Args:
        without: "positions", "scaling" (of the scores), "mask" (the causal one), "heads" (one is
            left), "residual" (sums) or None.
        norm: "post" or "pre".
        seed: of the first weights.
    """
    torch.manual_seed(seed)
    heads = 1 if without == "heads" else SMALL.num_heads
    kind = NoCausalMask if without == "mask" else Transformer
    model = kind(replace(SMALL, num_heads=heads, norm=norm))
    if without == "positions":
        model.src_positions, model.tgt_positions = NoPositions(), NoPositions()
    for module in model.modules():
        if without == "scaling" and isinstance(module, MultiHeadAttention):
            module.q_proj.register_forward_hook(_unscaled)
        if without == "residual":
            module.__class__ = _WITHOUT_SUMS.get(type(module), type(module))
    return model
