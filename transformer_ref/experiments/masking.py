"""What the chapter on masking does by hand, and the two small models that it trains.

Both are the speller with one layer on each side, trained on short words: one with the causal mask,
one without.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import torch
from torch import Tensor

from transformer_ref.applications.g2p import Speller, make_examples
from transformer_ref.attention import attention_scores, split_heads
from transformer_ref.batching import pad_batch
from transformer_ref.data import Entry, load_cmudict
from transformer_ref.masks import causal_mask, padding_mask, target_mask
from transformer_ref.metrics import word_error_rate
from transformer_ref.model import Transformer
from transformer_ref.training import sequence_loss, split_target

# The mean of what came before: three tokens with two features each.
VALUES = ((6.0, 0.0), (2.0, 4.0), (1.0, 2.0))
# What the decoder reads of "through", "sea" and "oh", and these tokens as numbers; 0 is padding.
INPUTS = (("bos", "TH", "R", "UW"), ("bos", "S", "IY", "pad"), ("bos", "OW", "pad", "pad"))
IDS = ((1, 2, 3, 4), (1, 5, 6, 0), (1, 7, 0, 0))
# One query that may see two keys, and one that may see none.
SCORES = ((2.0, 1.0, 3.0), (2.0, 1.0, 3.0))
ALLOWED = ((True, True, False), (False, False, False))
# What the figure that switches masks shows, and the inputs whose mask a reader builds.
SWITCHED = {
    "through": "TH R UW", "sea": "S IY", "oh": "OW", "sea, padding in front": "S IY",
}  # fmt: skip
BUILT = {"tea, padding at the end": "T IY", "tea, padding in front": "T IY"}
HEAD = 2  # of the first layer: it looks mostly at a neighbour


def mean_by_hand() -> dict[str, Tensor]:
    """Return the steps from equal scores under a causal mask to the mean of earlier values.

    Returns:
        values (3, 2); scores, masked, exponentials, weights (3, 3); output (3, 2).
    """
    values = torch.tensor(VALUES)
    scores = torch.zeros(3, 3)
    masked = scores.masked_fill(~causal_mask(3)[0, 0], -math.inf)
    exponentials = masked.exp()
    weights = exponentials / exponentials.sum(dim=-1, keepdim=True)
    return {
        "values": values, "scores": scores, "masked": masked, "exponentials": exponentials,
        "weights": weights, "output": weights @ values,
    }  # fmt: skip


def masks_by_hand() -> dict[str, Tensor]:
    """Return the masks of three words: padding (3, 1, 1, 4), causal (1, 1, 4, 4), both together."""
    ids = torch.tensor(IDS)
    return {
        "padding": padding_mask(ids, 0), "causal": causal_mask(ids.shape[1]),
        "both": target_mask(ids, 0),
    }  # fmt: skip


def empty_row_by_hand() -> dict[str, Tensor]:
    """Return the steps of the masked softmax, each (2, 3); the second row may see nothing."""
    scores, allowed = torch.tensor(SCORES), torch.tensor(ALLOWED)
    lowest = torch.finfo(scores.dtype).min
    filled = scores.masked_fill(~allowed, lowest)
    softmax = filled.softmax(dim=-1)
    return {
        "scores": scores, "filled": filled, "softmax": softmax,
        "weights": softmax.masked_fill(~allowed, 0.0),
    }  # fmt: skip


@torch.inference_mode()
def first_scores(speller: Speller, target: Tensor) -> Tensor:
    """Return the scores (B, H, T, T) of the decoder's first self-attention.

    No mask changes them: what is compared are the embeddings with their positions.

    Args:
        speller: the trained model.
        target: (B, T) what the decoder reads.
    """
    model = speller.model
    layer: Any = model.decoder.layers[0]
    x = model.tgt_positions(model.tgt_embedding(target))
    x = layer.norm1(x) if layer.norm == "pre" else x
    own = layer.self_attention
    query, key = (split_heads(project(x), own.num_heads) for project in (own.q_proj, own.k_proj))
    return attention_scores(query, key)


def in_a_batch(speller: Speller, spoken: Mapping[str, str], length: int) -> Tensor:
    """Return what the decoder reads of some words, (B, length); a name may say "in front"."""
    rows = []
    for name, sounds in spoken.items():
        ids = speller.phonemes.encode(sounds.split(), bos=True)
        padding = [0] * (length - len(ids))
        rows.append([*padding, *ids] if name.endswith("in front") else [*ids, *padding])
    return torch.tensor(rows)


def masks_to_move(speller: Speller) -> dict[str, Any]:
    """Return what the two moving figures of the chapter hold.

    Returns:
        "causal": the mask (4, 4); "words": for each a name, its tokens, what is padding, and the
        scores of one head to two decimals; "tasks": for each input a name, its tokens, and three
        masks: padding (5,), causal and right (5, 5).
    """
    tokens_of = [token.strip("<>") for token in speller.phonemes.tokens]
    words, tasks = in_a_batch(speller, SWITCHED, 4), in_a_batch(speller, BUILT, 5)
    scores = first_scores(speller, words)[:, HEAD]
    return {
        "causal": causal_mask(4)[0, 0].tolist(),
        "words": [
            {
                "name": name,
                "tokens": [tokens_of[i] for i in ids],
                "padding": padding_mask(ids[None], 0).flatten().tolist(),
                "scores": [[round(score, 2) for score in row] for row in rows],
            }
            for name, ids, rows in zip(SWITCHED, words, scores.tolist(), strict=True)
        ],
        "tasks": [
            {
                "name": name,
                "tokens": [tokens_of[i] for i in ids],
                "padding": padding_mask(ids[None], 0).flatten().tolist(),
                "causal": causal_mask(5)[0, 0].tolist(),
                "right": target_mask(ids[None], 0)[0, 0].tolist(),
            }
            for name, ids in zip(BUILT, tasks, strict=True)
        ],
    }


def see_all(length: int) -> Tensor:
    """Return a mask (1, 1, T, T) that hides nothing, to be tried in the causal one's place."""
    return torch.ones(1, 1, length, length, dtype=torch.bool)


@torch.inference_mode()
def write_out(
    speller: Speller,
    source: Tensor,
    source_mask: Tensor | None,
    memory_mask: Tensor | None,
    own_mask: Callable[[int], Tensor] = causal_mask,
    model: Transformer | None = None,
) -> list[list[str]]:
    """Write the most likely phoneme, step by step, under any masks.

    Args:
        speller: whose vocabulary is used.
        source: (B, S) letters.
        source_mask: what the encoder may see; None = everything.
        memory_mask: (B, 1, 1, S), what the decoder may see of the memory; None = everything.
        own_mask: makes the mask of the decoder's own input from its length.
        model: which writes; None = the speller's own.

    Returns:
        The phonemes of each word, at most 20.
    """
    model = speller.model if model is None else model
    memory = model.encode(source, source_mask)
    ids = torch.full((len(source), 21), speller.phonemes.eos_id)
    ids[:, 0] = speller.phonemes.bos_id
    going = torch.arange(len(source))  # the words that have not ended
    for length in range(1, 21):
        seen = None if memory_mask is None else memory_mask[going]
        logits = model.decode(ids[going, :length], memory[going], own_mask(length), seen)
        ids[going, length] = logits[:, -1].argmax(dim=-1)
        going = going[ids[going, length] != speller.phonemes.eos_id]
        if not len(going):
            break
    return [speller.phonemes.decode(row) for row in ids.tolist()]


def short_words(split: str) -> list[Entry]:
    """Return the dictionary's words of up to five letters."""
    return [entry for entry in load_cmudict(split) if len(entry[0]) <= 5]  # type: ignore[arg-type]


def padded(entries: Sequence[Entry]) -> tuple[Tensor, Tensor]:
    """Return letters (N, S) and phonemes (N, T + 1), of those with up to six phonemes."""
    pairs = [pair for pair in make_examples(entries) if len(pair[1]) <= 8]
    letters, phonemes = (pad_batch(side, pad_id=0) for side in zip(*pairs, strict=True))
    return letters, phonemes


def predict(model: Transformer, letters: Tensor, inputs: Tensor, causal: bool) -> Tensor:
    """Return the logits (B, T, V) for true inputs, with or without the causal mask."""
    shown = padding_mask(letters, pad_id=0)
    own = (target_mask if causal else padding_mask)(inputs, pad_id=0)
    return model.decode(inputs, model.encode(letters, shown), own, shown)


@cache
def _to_train_on() -> tuple[Tensor, Tensor]:
    """Both small models read the same words."""
    return padded(short_words("train"))


def train_small(speller: Speller, causal: bool, steps: int = 300) -> tuple[Transformer, Tensor]:
    """Train a small model from one seed; return it with its loss, the mean of each ten steps."""
    letters, pronunciations = _to_train_on()
    torch.manual_seed(0)
    config = replace(
        speller.model.config, num_encoder_layers=1, num_decoder_layers=1, d_model=64, d_ff=128,
        dropout=0.0,
    )  # fmt: skip
    small, losses = Transformer(config), []
    optimizer = torch.optim.Adam(small.parameters(), lr=3e-3, fused=True)
    for _ in range(steps):
        rows = torch.randint(len(letters), (64,))
        inputs, labels = split_target(pronunciations[rows])
        loss = sequence_loss(predict(small, letters[rows], inputs, causal), labels, pad_id=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return small.eval(), torch.tensor(losses).view(-1, 10).mean(dim=1)


@dataclass(frozen=True)
class Measured:
    """How a small model does on the dev split's short words.

    Attributes:
        loss: in nats a token, the true earlier phonemes given.
        next_right: the share of phonemes right, the true earlier ones given.
        next_right_elsewhere: the same with the letters of another word.
        words_right: the share of words right that it writes by itself.
        written: those words.
    """

    loss: float
    next_right: float
    next_right_elsewhere: float
    words_right: float
    written: list[list[str]]


@torch.inference_mode()
def measure(speller: Speller, small: Transformer, causal: bool) -> Measured:
    """Measure a small model on the dev split's words of up to five letters."""
    entries = short_words("dev")
    letters, target = padded(entries)
    inputs, labels = split_target(target)
    shares = []
    logits = predict(small, letters, inputs, causal)
    for answer in (logits, predict(small, letters.roll(1, dims=0), inputs, causal)):
        hits = (answer.argmax(dim=-1) == labels)[labels != 0]
        shares.append(hits.float().mean().item())
    spelling = speller.source([word for word, _ in entries])
    shown = padding_mask(spelling, pad_id=0)
    rule = causal_mask if causal else see_all
    written = write_out(speller, spelling, shown, shown, rule, small)
    errors = word_error_rate(written, [variants for _, variants in entries])
    loss = sequence_loss(logits, labels, pad_id=0).item()
    return Measured(loss, shares[0], shares[1], 1 - errors, written)
