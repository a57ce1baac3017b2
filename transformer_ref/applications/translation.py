"""Translation: a Transformer with its two tokenizers, from text to text.

``python -m transformer_ref train`` trains one from a file of settings.
"""

from __future__ import annotations

import platform
import random
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self, cast

import torch

from transformer_ref._validate import require_at_least_one
from transformer_ref.batching import Example, pad_batch
from transformer_ref.data import Pair as Pair
from transformer_ref.data import Split
from transformer_ref.decoding import beam_search, greedy_decode
from transformer_ref.device import pick_device
from transformer_ref.files import move_together, write_json
from transformer_ref.metrics import CorpusScore, corpus_bleu, corpus_chrf, exact_match
from transformer_ref.model import Transformer, TransformerConfig
from transformer_ref.tokenizers import (
    BPETokenizer,
    CharTokenizer,
    Tokenizer,
    WordTokenizer,
    load_tokenizer,
)
from transformer_ref.training import Trainer, TrainingConfig


def decode_all(
    model: Transformer,
    sources: Sequence[Sequence[int]],
    bos_id: int,
    eos_id: int,
    *,
    max_len: int | None = None,
    beam_size: int = 1,
    length_penalty: float = 1.0,
    batch_size: int = 64,
) -> list[list[int]]:
    """Answer sources of any lengths: like lengths share a batch, the order is kept.

    Args:
        model: where its weights are, there it is run.
        sources: rows of source ids, none empty.
        bos_id: the token that every answer starts with.
        eos_id: the token that ends an answer.
        max_len: the longest answer, begin and end token counted; None = the model's max_len.
        beam_size: 1 = greedy.
        length_penalty: of :func:`~transformer_ref.decoding.beam_search`.
        batch_size: sources decoded together.

    Returns:
        For each source a row of ids: begin token, answer, end token, perhaps padding.

    Raises:
        ValueError: if a size is below 1, or a source is empty or longer than the model's max_len.
    """
    require_at_least_one(beam_size=beam_size, batch_size=batch_size)
    longest, limit = max(map(len, sources), default=1), model.config.max_len
    if not all(sources) or longest > limit:
        raise ValueError(
            f"sources must have 1 to {limit} tokens (the model's max_len), "
            f"got {longest if all(sources) else 0}"
        )
    device = model.output_proj.weight.device
    order = sorted(range(len(sources)), key=lambda index: len(sources[index]))
    answers: list[list[int]] = [[] for _ in sources]
    for start in range(0, len(order), batch_size):
        batch = order[start : start + batch_size]
        src = pad_batch([sources[index] for index in batch], model.config.pad_id).to(device)
        if beam_size == 1:
            ids = greedy_decode(model, src, bos_id, eos_id, max_len or limit)
        else:
            found, _ = beam_search(
                model, src, bos_id, eos_id, beam_size, max_len or limit, length_penalty
            )
            ids = found[:, 0]
        for index, row in zip(batch, ids.tolist(), strict=True):
            answers[index] = row
    return answers


@dataclass(frozen=True)
class TranslationScores:
    """How good translations are.

    Attributes:
        exact_match: share of answers that are the reference; for tasks with one right answer.
        bleu: of the text as it came.
        bleu_lowercase: the same without regard to case.
        chrf: of the text as it came.
    """

    exact_match: float
    bleu: CorpusScore
    bleu_lowercase: CorpusScore
    chrf: CorpusScore


class Translator:
    """A Transformer with a tokenizer for its source and one for its target.

    Args:
        model: moved to `device`, put into eval mode.
        source: cuts the source text.
        target: makes the target text; may be the same.
        device: None = :func:`~transformer_ref.device.pick_device`.

    Raises:
        ValueError: if a tokenizer has not the model's vocabulary size or pad id.
    """

    def __init__(
        self,
        model: Transformer,
        source: Tokenizer,
        target: Tokenizer,
        device: torch.device | None = None,
    ) -> None:
        config = model.config
        for name, tokenizer, size in (
            ("source", source, config.src_vocab_size),
            ("target", target, config.tgt_vocab_size),
        ):
            if (len(tokenizer), tokenizer.pad_id) != (size, config.pad_id):
                raise ValueError(
                    f"the {name} tokenizer must have {size} tokens and pad_id {config.pad_id} like "
                    f"the model, got {len(tokenizer)} tokens and pad_id {tokenizer.pad_id}"
                )
        self.device = device or pick_device()
        self.model = model.to(self.device).eval()
        self.source = source
        self.target = target

    def translate(
        self,
        texts: Sequence[str],
        beam_size: int = 1,
        length_penalty: float = 1.0,
        batch_size: int = 64,
    ) -> list[str]:
        """Translate texts.

        Args:
            texts: one sentence each; white space around them does not count.
            beam_size: 1 = greedy.
            length_penalty: 0 ranks answers by their log-probability, 1 by its mean over the
                tokens; larger values give longer answers.
            batch_size: texts decoded together.

        Returns:
            One answer for each text, in the order of `texts`; nothing for nothing.

        Raises:
            ValueError: if `texts` is not a list of strings, a text is too long for the model, or
                a size is below 1.
        """
        if isinstance(texts, str):
            raise ValueError(f"texts must be a list of strings, got the string {texts[:40]!r}")
        for index, text in enumerate(texts):
            if not isinstance(text, str):
                raise ValueError(f"texts[{index}] must be a string, got {text!r}")
        asked = [index for index, text in enumerate(texts) if text.strip()]
        answers = decode_all(
            self.model,
            [self._encode_source(texts[index], f"texts[{index}]") for index in asked],
            self.target.bos_id,
            self.target.eos_id,
            beam_size=beam_size,
            length_penalty=length_penalty,
            batch_size=batch_size,
        )
        translations = [""] * len(texts)
        for index, ids in zip(asked, answers, strict=True):
            translations[index] = self.target.decode(ids)
        return translations

    def why_not(self, text: str) -> str:
        """Say why :meth:`translate` cannot translate a text, or return ""."""
        try:
            self._encode_source(text, "a text")
        except ValueError as error:
            return str(error)
        return ""

    def _encode_source(self, text: str, name: str) -> list[int]:
        ids = self.source.encode(text.strip(), eos=True)
        self._require_short(ids, name, text)
        return ids

    def _require_short(self, ids: list[int], name: str, text: str) -> None:
        if len(ids) > self.model.config.max_len:
            raise ValueError(
                f"{name} must have at most {self.model.config.max_len} tokens (the model's "
                f"max_len), got {len(ids)}: {text[:40]!r}..."
            )

    def examples(self, pairs: Sequence[Pair]) -> list[Example]:
        """Turn pairs of texts into pairs of ids to train on.

        Args:
            pairs: (source, target) texts.

        Returns:
            Source ids with an end token, target ids with begin and end token.

        Raises:
            ValueError: naming the first pair with a text that is too long for the model.
        """
        examples: list[Example] = []
        for index, (source, target) in enumerate(pairs):
            ids = self.target.encode(target, bos=True, eos=True)
            self._require_short(ids[1:], f"pairs[{index}][1]", target)
            examples.append((self._encode_source(source, f"pairs[{index}][0]"), ids))
        return examples

    def evaluate(
        self,
        pairs: Sequence[Pair],
        beam_size: int = 1,
        length_penalty: float = 1.0,
        batch_size: int = 64,
    ) -> TranslationScores:
        """Translate the sources and compare with the targets.

        Args:
            pairs: (source, target) texts, at least one.
            beam_size: as in :meth:`translate`.
            length_penalty: as in :meth:`translate`.
            batch_size: as in :meth:`translate`.

        Returns:
            Exact match, BLEU and chrF, with their signatures.

        Raises:
            ValueError: if `pairs` is empty, or as :meth:`translate`.
        """
        sources, references = [source for source, _ in pairs], [target for _, target in pairs]
        answers = self.translate(sources, beam_size, length_penalty, batch_size)
        return TranslationScores(
            exact_match(answers, references),
            corpus_bleu(answers, references),
            corpus_bleu(answers, references, lowercase=True),
            corpus_chrf(answers, references),
        )

    def save_pretrained(self, folder: str | Path) -> None:
        """Write config.json, model.safetensors and the folders source/ and target/, all or none.

        Args:
            folder: made if it does not exist.

        Raises:
            OSError: if the folder cannot be written.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as new:
            self.model.save_pretrained(new)
            self.source.save_pretrained(Path(new) / "source")
            self.target.save_pretrained(Path(new) / "target")
            move_together(Path(new), folder, last="config.json")

    @classmethod
    def from_pretrained(cls, folder: str | Path, device: torch.device | None = None) -> Self:
        """Read what :meth:`save_pretrained` wrote.

        Args:
            folder: a local folder.
            device: None = :func:`~transformer_ref.device.pick_device`.

        Returns:
            The translator.

        Raises:
            OSError: if a file is missing or damaged; the message names it.
            ValueError: if the files do not fit each other.
        """
        model = Transformer.from_pretrained(folder)
        source, target = (load_tokenizer(Path(folder) / name) for name in ("source", "target"))
        return cls(model, source, target, device)


def train_tokenizers(
    pairs: Sequence[Pair],
    kind: Literal["word", "char", "bpe"] = "bpe",
    *,
    joint: bool = False,
    num_merges: int = 4000,
    min_freq: int = 1,
) -> tuple[Tokenizer, Tokenizer]:
    """Train a tokenizer for each side of a corpus, or one for both.

    Args:
        pairs: (source, target) texts.
        kind: "word", "char" or "bpe".
        joint: one tokenizer, trained on both sides.
        num_merges: of byte-pair encoding.
        min_freq: rarer words or characters become the unknown token.

    Returns:
        The tokenizers of source and target; the same one twice if `joint`.

    Raises:
        ValueError: on another `kind`, or as the tokenizers' own `train`.
    """

    def train(texts: Iterable[str]) -> Tokenizer:
        if kind == "bpe":
            return BPETokenizer.train(texts, num_merges)
        if kind == "word":
            return WordTokenizer.train(texts, min_freq=min_freq)
        if kind == "char":
            return CharTokenizer.train(texts, min_freq=min_freq)
        raise ValueError(f'kind must be "word", "char" or "bpe", got {kind!r}')

    if joint:
        both = train(text for pair in pairs for text in pair)
        return both, both
    return train(source for source, _ in pairs), train(target for _, target in pairs)


def fixed_sample(entries: Sequence[Any], size: int = 1000) -> list[Any]:
    """Draw the same `size` entries every time: enough to notice a broken model in seconds."""
    return random.Random(0).sample(list(entries), min(size, len(entries)))


def last_epoch_loss(trainer: Trainer) -> float:
    """Return the mean loss of the last `steps_per_epoch` steps."""
    losses = trainer.losses[-trainer.steps_per_epoch :]
    return sum(losses) / len(losses)


def describe_run(trainer: Trainer, model: Transformer) -> dict[str, Any]:
    """Return what a results file says of any run: the model, the training and the machine."""
    return {
        "model": asdict(model.config),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "training": asdict(trainer.config),
        "steps": trainer.step,
        "loss_last_epoch": last_epoch_loss(trainer),
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "device": str(trainer.device),
        "threads": torch.get_num_threads(),
    }


def train_translator(
    run_dir: str | Path,
    splits: Mapping[Split, Sequence[Pair]],
    tokenizers: tuple[Tokenizer, Tokenizer],
    model_config: TransformerConfig,
    training_config: TrainingConfig,
    *,
    device: torch.device | None = None,
) -> dict[str, Any]:
    """Train from scratch, or go on with the run in `run_dir`; then score dev and test, greedily.

    Args:
        run_dir: gets last.pt (to resume), config.json, model.safetensors, source/, target/
            and results.json.
        splits: pairs of texts under "train", "dev" and "test".
        tokenizers: of source and target; the same one twice is one vocabulary.
        model_config: the model; its vocabulary sizes are replaced by those of the tokenizers.
        training_config: the run.
        device: None = :func:`~transformer_ref.device.pick_device`.

    Returns:
        What results.json holds; under torchrun nothing in any process but the first.

    Raises:
        ValueError: if `run_dir` holds a run with another config or other pairs, or a text is too
            long.
        OSError: if a file there is damaged.
    """
    run_dir = Path(run_dir)
    source, target = tokenizers
    model_config = replace(
        model_config,
        src_vocab_size=len(source),
        tgt_vocab_size=len(target),
        pad_id=source.pad_id,
    )
    torch.manual_seed(training_config.seed)
    model = Transformer(model_config)
    # Only a trainer may move it: of several processes each has a GPU of its own.
    examples = Translator(model, source, target, torch.device("cpu")).examples(splits["train"])
    trainer = Trainer(model, examples, training_config, run_dir=run_dir, device=device)
    model = cast(Transformer, trainer.averaged_model)
    translator = Translator(model, source, target, trainer.device)
    sample = fixed_sample(splits["dev"], 200)

    def report(trainer: Trainer) -> None:
        scores = translator.evaluate(sample)
        print(
            f"epoch {trainer.epoch}: loss {last_epoch_loss(trainer):.4f}, "
            f"{len(sample)} dev pairs: "
            f"exact match {scores.exact_match:.1%}, "
            f"BLEU {scores.bleu.score:.2f}, chrF {scores.chrf.score:.2f}",
            flush=True,
        )

    trainer.train(on_epoch=report)
    if trainer.processes.rank > 0:
        return {}
    translator.save_pretrained(run_dir)
    results = {
        "pairs": {split: len(pairs) for split, pairs in splits.items()},
        **describe_run(trainer, model),
        "dev": asdict(translator.evaluate(splits["dev"])),
        "test": asdict(translator.evaluate(splits["test"])),
    }
    write_json(run_dir / "results.json", results)
    return results
