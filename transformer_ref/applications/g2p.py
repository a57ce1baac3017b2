"""Grapheme to phoneme: the course's model, trained on the CMU dictionary; from letters to sounds.

``python -m transformer_ref train --config g2p`` trains it again from scratch and writes its results
file; to ship the result, copy config.json, model.safetensors and results.json to assets/g2p.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from transformer_ref._validate import require_several
from transformer_ref.applications.translation import (
    decode_all,
    describe_run,
    fixed_sample,
    last_epoch_loss,
)
from transformer_ref.attention import record_attention
from transformer_ref.batching import Example, pad_batch
from transformer_ref.data import LETTERS, PHONEMES, Entry, Split, cmudict_hash, load_cmudict
from transformer_ref.device import pick_device
from transformer_ref.files import write_json
from transformer_ref.metrics import phoneme_error_rate, word_error_rate
from transformer_ref.model import Transformer, TransformerConfig
from transformer_ref.training import Trainer, TrainingConfig
from transformer_ref.vocabulary import Vocabulary

CHECKPOINT = Path(__file__).parents[1] / "assets" / "g2p"
LETTER_VOCABULARY = Vocabulary(LETTERS)
PHONEME_VOCABULARY = Vocabulary(PHONEMES)
MAX_LEN = 64

MODEL_CONFIG = TransformerConfig(
    src_vocab_size=len(LETTER_VOCABULARY),
    tgt_vocab_size=len(PHONEME_VOCABULARY),
    d_model=128,
    num_heads=4,
    num_encoder_layers=3,
    num_decoder_layers=3,
    d_ff=512,
    dropout=0.05,
    max_len=MAX_LEN,
    norm="pre",
    pad_id=Vocabulary.pad_id,
)
TRAINING_CONFIG = TrainingConfig(epochs=32, precision="bfloat16")


def _as_word(text: str) -> str:
    """Write a word as the dictionary does: in lower case, with a straight apostrophe."""
    return text.strip().lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")


class Speller:
    """A trained grapheme-to-phoneme model with its two vocabularies.

    Args:
        model: maps letters to phonemes; moved to `device`, put into eval mode.
        device: None = :py:func:`transformer_ref.device.pick_device`.

    Raises:
        ValueError: if the model's vocabularies are not those of the letters and phonemes.
    """

    letters = LETTER_VOCABULARY
    phonemes = PHONEME_VOCABULARY

    def __init__(self, model: Transformer, device: torch.device | None = None) -> None:
        got = model.config.src_vocab_size, model.config.tgt_vocab_size
        if got != (len(self.letters), len(self.phonemes)):
            raise ValueError(
                f"model must have {len(self.letters)} source and {len(self.phonemes)} target "
                f"tokens, got {got[0]} and {got[1]}"
            )
        self.device = device or pick_device()
        self.model = model.to(self.device).eval()

    def source(self, words: Sequence[str]) -> Tensor:
        """Turn words into a padded batch of letter ids.

        Args:
            words: lower-case words of the letters a to z and the apostrophe.

        Returns:
            (B, longest) int64 on the model's device.

        Raises:
            ValueError: naming a letter that is not in the vocabulary, an empty word, or one
                string in place of several.
        """
        return pad_batch(self._encode(words), self.letters.pad_id).to(self.device)

    def _encode(self, words: Sequence[str]) -> list[list[int]]:
        require_several(words=words)
        if not all(words):
            raise ValueError("words must not be empty strings")
        return [self.letters.encode(word) for word in words]

    def pronounce_all(
        self,
        words: Sequence[str],
        batch_size: int = 512,
        beam_size: int = 1,
        length_penalty: float = 1.0,
    ) -> list[list[str]]:
        """Pronounce many words.

        Args:
            words: lower-case words.
            batch_size: words decoded together; words of like length share a batch.
            beam_size: 1 = greedy.
            length_penalty: of :func:`~transformer_ref.decoding.beam_search`.

        Returns:
            One list of phonemes for each word, in the order of `words`.

        Raises:
            ValueError: as :meth:`source`.
        """
        answers = decode_all(
            self.model,
            self._encode(words),
            self.phonemes.bos_id,
            self.phonemes.eos_id,
            max_len=MAX_LEN,
            beam_size=beam_size,
            length_penalty=length_penalty,
            batch_size=batch_size,
        )
        return [self.phonemes.decode(ids) for ids in answers]

    def translate(
        self,
        texts: Sequence[str],
        beam_size: int = 1,
        length_penalty: float = 1.0,
        batch_size: int = 512,
    ) -> list[str]:
        """Pronounce words as a translator does.

        Args:
            texts: one word each, as people type it: capitals, white space around it and a
                typographic apostrophe do not matter.
            beam_size: as in :meth:`pronounce_all`.
            length_penalty: as in :meth:`pronounce_all`.
            batch_size: as in :meth:`pronounce_all`.

        Returns:
            For each text its phonemes in one string, with spaces between; nothing for nothing.

        Raises:
            ValueError: as :meth:`source`; :meth:`why_not` tells it beforehand.
        """
        require_several(texts=texts)
        words = list(map(_as_word, texts))
        asked = [word for word in words if word]
        answers = iter(self.pronounce_all(asked, batch_size, beam_size, length_penalty))
        return [" ".join(next(answers)) if word else "" for word in words]

    def why_not(self, text: str) -> str:
        """Say why :meth:`translate` cannot pronounce a text, or return ""."""
        word = _as_word(text)
        try:
            ids = self._encode([word]) if word else [[]]
        except ValueError as error:
            return str(error)
        longest = self.model.config.max_len
        too_long = len(ids[0]) > longest
        return f"a word has at most {longest} letters, got {len(ids[0])}" if too_long else ""

    def pronounce(self, word: str) -> list[str]:
        """Pronounce one lower-case word: its phonemes, stress left out."""
        return self.pronounce_all([word])[0]

    def attention(self, word: str) -> tuple[list[str], list[Tensor]]:
        """Pronounce a word and keep where the decoder looked.

        Args:
            word: a lower-case word of S letters.

        Returns:
            The T predicted tokens, the end token included, and for each decoder layer the
            cross-attention weights (H, T, S) with which they were predicted.
        """
        src = self.source([word])
        pronunciation = self.pronounce(word)
        ids = self.phonemes.encode(pronunciation, bos=True)
        with torch.inference_mode(), record_attention(self.model) as recorded:
            self.model(src, torch.tensor([ids], device=self.device))
        layers = range(self.model.config.num_decoder_layers)
        weights = [recorded[f"decoder.layers.{i}.cross_attention"][0].cpu() for i in layers]
        return [*pronunciation, self.phonemes.tokens[self.phonemes.eos_id]], weights

    def evaluate(
        self,
        entries: Sequence[Entry],
        beam_size: int = 1,
        length_penalty: float = 1.0,
        batch_size: int = 512,
    ) -> dict[str, float]:
        """Score pronunciations by the any-variant rule.

        Args:
            entries: words with their listed pronunciations.
            beam_size: as in :meth:`pronounce_all`.
            length_penalty: as in :meth:`pronounce_all`.
            batch_size: as in :meth:`pronounce_all`.

        Returns:
            ``{"per": ..., "wer": ...}`` as fractions.

        Raises:
            ValueError: if `entries` is empty.
        """
        words = [word for word, _ in entries]
        hypotheses = self.pronounce_all(words, batch_size, beam_size, length_penalty)
        references = [variants for _, variants in entries]
        return {
            "per": phoneme_error_rate(hypotheses, references),
            "wer": word_error_rate(hypotheses, references),
        }


def load_g2p(device: torch.device | None = None, folder: str | Path = CHECKPOINT) -> Speller:
    """Load the trained model that ships with the package.

    Args:
        device: None = :py:func:`transformer_ref.device.pick_device`.
        folder: another folder that :func:`train_g2p` wrote.

    Returns:
        The model with its vocabularies.

    Raises:
        OSError: if a file is missing or damaged.
        ValueError: if config.json and the weights do not fit each other.
    """
    return Speller(Transformer.from_pretrained(folder), device)


def make_examples(entries: Sequence[Entry]) -> list[Example]:
    """Turn dictionary entries into training pairs, one for each listed variant.

    Args:
        entries: words with their listed pronunciations.

    Returns:
        Pairs of letter ids and phoneme ids, the latter with begin and end token.
    """
    return [
        (LETTER_VOCABULARY.encode(word), PHONEME_VOCABULARY.encode(variant, bos=True, eos=True))
        for word, variants in entries
        for variant in variants
    ]


def train_g2p(
    run_dir: str | Path,
    model_config: TransformerConfig = MODEL_CONFIG,
    training_config: TrainingConfig = TRAINING_CONFIG,
    *,
    device: torch.device | None = None,
    limit: int | None = None,
) -> dict[str, Any]:
    """Train from scratch, or go on with the run in `run_dir`; then score dev and test.

    Args:
        run_dir: gets last.pt (to resume), config.json, model.safetensors and results.json.
        model_config: the model.
        training_config: the run.
        device: None = :py:func:`transformer_ref.device.pick_device`.
        limit: use only so many words of each split, to try things out.

    Returns:
        What results.json holds; under torchrun nothing in any process but the first.

    Raises:
        ValueError: if `run_dir` holds a run with another config or limit.
        OSError: if a file there is damaged.
    """
    run_dir = Path(run_dir)
    entries: dict[Split, list[Entry]] = {
        split: load_cmudict(split)[:limit] for split in ("train", "dev", "test")
    }
    torch.manual_seed(training_config.seed)
    model = Transformer(model_config)
    trainer = Trainer(
        model, make_examples(entries["train"]), training_config, run_dir=run_dir, device=device
    )
    model = cast(Transformer, trainer.averaged_model)
    speller = Speller(model, trainer.device)

    def report(trainer: Trainer) -> None:
        rates = speller.evaluate(entries["dev"])
        print(
            f"epoch {trainer.epoch}: loss {last_epoch_loss(trainer):.4f}, "
            f"dev PER {100 * rates['per']:.2f}%, WER {100 * rates['wer']:.2f}%",
            flush=True,
        )

    trainer.train(on_epoch=report)
    if trainer.processes.rank > 0:
        return {}
    model.save_pretrained(run_dir)
    results = {
        "data": {"name": "CMU Pronouncing Dictionary", "sha256": cmudict_hash()},
        "words": {split: len(words) for split, words in entries.items()},
        **describe_run(trainer, model),
        "rule": "greedy decoding; nearest of the listed variants; stress removed",
        "dev": speller.evaluate(entries["dev"]),
        "test": speller.evaluate(entries["test"]),
        "test_sample": speller.evaluate(fixed_sample(entries["test"])),
    }
    write_json(run_dir / "results.json", results)
    return results
