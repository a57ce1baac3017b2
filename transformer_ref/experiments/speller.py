"""A speller to come: a small student of two larger teachers.

The one that ships is made by ``make train``, see :mod:`transformer_ref.applications.g2p`.
This one is made by ``python -m transformer_ref.experiments.speller``; no run has reached its end.
Two teachers that were stopped at ten passes (4,650 steps with dropout 0.1, 0.77 core-hours each,
seeds 1 and 2) got 24.4% and 24.5% of the dev words wrong, and the mean of their probabilities
24.0%; the model that ships gets 21.3% wrong, and with it in the mean it is 22.9%.
So a teacher needs at least as many passes as that model had.

The teachers learn from the dictionary.
Then they say, at every position of every training pair and of many made-up words, how probable
they find each phoneme; the student learns to say the same.
It sees more words than the dictionary has, and it sees how sure the teachers are.

Every part is kept in the run's folder, so a stopped run goes on where it was.

Source: Hinton et al. 2015 (learning from a teacher's probabilities).
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer_ref._validate import require_at_least_one
from transformer_ref.applications.g2p import (
    LETTER_VOCABULARY,
    MAX_LEN,
    MODEL_CONFIG,
    PHONEME_VOCABULARY,
    Speller,
    make_examples,
)
from transformer_ref.applications.translation import (
    decode_all,
    describe_run,
    fixed_sample,
    last_epoch_loss,
)
from transformer_ref.batching import Example, pad_batch
from transformer_ref.data import cmudict_hash, load_cmudict
from transformer_ref.device import has_bfloat16
from transformer_ref.files import whole_file, write_json
from transformer_ref.model import Transformer, TransformerConfig
from transformer_ref.training import Batch, Loss, Trainer, TrainingConfig


@dataclass(frozen=True)
class Recipe:
    """How the speller is made.

    Attributes:
        teacher: the larger model.
        teaching: the run of a teacher.
        seeds: one for each teacher, its first weights and the order of its words.
        made_up: how many words are made up.
        student: the model that is made, as large as the one that ships.
        learning: its run.
    """

    teacher: TransformerConfig
    teaching: TrainingConfig
    seeds: tuple[int, ...]
    made_up: int
    student: TransformerConfig
    learning: TrainingConfig


_RUN = TrainingConfig(
    batch_size=256,
    optimizer="muon",
    learning_rate=1.5e-3,
    muon_learning_rate=0.02,
    weight_decay=0.05,
    warmup=500,
    decay_fraction=0.8,
    label_smoothing=0.0,
    precision="bfloat16",
    save_every=250,
)
RECIPE = Recipe(
    teacher=replace(MODEL_CONFIG, d_model=256, num_heads=8, d_ff=1024, dropout=0.2),
    teaching=replace(_RUN, epochs=32),
    seeds=(1, 2),
    made_up=240_000,
    student=replace(MODEL_CONFIG, dropout=0.0),
    learning=replace(_RUN, epochs=14),
)


def made_up_words(
    words: Sequence[str], count: int, known: Collection[str], order: int = 4, seed: int = 0
) -> list[str]:
    """Make up words that look like the given ones, by a Markov chain over letters.

    Each letter is drawn from those that follow the same `order` letters in the given words.

    Args:
        words: what to imitate.
        count: how many to make.
        known: words that do not count as made up.
        order: how many letters decide on the next one.
        seed: of the draws.

    Returns:
        `count` different words of 3 to 18 letters, none of them known, in alphabetical order.

    Raises:
        ValueError: if a number is below 1, or the given words allow too few new ones.
    """
    require_at_least_one(count=count, order=order)
    start, end = "^" * order, "$"
    followers: dict[str, list[str]] = defaultdict(list)
    for word in words:
        text = start + word + end
        for index in range(order, len(text)):
            followers[text[index - order : index]].append(text[index])
    draw = random.Random(seed)
    known, made = set(known), set[str]()
    for _ in range(100 * count):
        if len(made) == count:
            return sorted(made)
        text = start
        while not text.endswith(end):
            text += draw.choice(followers[text[-order:]])
        word = text[order:-1]
        if 3 <= len(word) <= 18 and word not in known:
            made.add(word)
    raise ValueError(f"words must allow {count} new ones, got {len(words)}, which allow too few")


@dataclass(frozen=True)
class SoftTargets:
    """How probable the teachers find each phoneme, for examples one after the other.

    Attributes:
        examples: letter ids and phoneme ids, the latter with begin and end token.
        probabilities: (N, V) float16, a row for each label of each example.
        starts: the row of each example's first label.
    """

    examples: list[Example]
    probabilities: Tensor
    starts: list[int]

    def loss(self, model: Callable[..., Tensor], batch: Batch) -> Tensor:
        """Cross-entropy against the teachers' probabilities: a mean over the labels, in nats."""
        logits = model(batch.source, batch.inputs)
        real = batch.labels != LETTER_VOCABULARY.pad_id
        rows = [
            self.starts[place] + offset
            for place in batch.places
            for offset in range(len(self.examples[place][1]) - 1)
        ]
        targets = self.probabilities[rows].to(logits)
        return -(targets * logits[real].log_softmax(dim=-1)).sum(dim=-1).mean()


def pronounce_made_up(teachers: Sequence[Transformer], words: Sequence[str]) -> list[Example]:
    """Let the teachers pronounce words in turn, greedily.

    Args:
        teachers: each pronounces every n-th word, where there are n.
        words: lower-case words.

    Returns:
        Examples as :func:`~transformer_ref.applications.g2p.make_examples` makes them; words to
        which a teacher finds no end are left out.
    """
    end = PHONEME_VOCABULARY.eos_id
    examples: list[Example] = []
    for index, teacher in enumerate(teachers):
        sources = [LETTER_VOCABULARY.encode(word) for word in words[index :: len(teachers)]]
        answers = decode_all(
            teacher, sources, PHONEME_VOCABULARY.bos_id, end, max_len=MAX_LEN, batch_size=512
        )
        examples += [
            (source, answer[: answer.index(end) + 1])
            for source, answer in zip(sources, answers, strict=True)
            if end in answer
        ]
    return examples


@torch.inference_mode()
def soft_targets(
    teachers: Sequence[Transformer], examples: Sequence[Example], batch_size: int = 512
) -> SoftTargets:
    """Ask the teachers for their probabilities at every label, and take the mean.

    Args:
        teachers: models in eval mode.
        examples: letter ids and phoneme ids, the latter with begin and end token.
        batch_size: examples computed together; like lengths share a batch.

    Returns:
        The probabilities, in the order of `examples`.
    """
    counts = [len(target) - 1 for _, target in examples]
    starts = [0]
    for count in counts[:-1]:
        starts.append(starts[-1] + count)
    fast = has_bfloat16(torch.device("cpu"))
    kept = torch.empty(sum(counts), len(PHONEME_VOCABULARY), dtype=torch.float16)
    order = sorted(range(len(examples)), key=lambda index: (len(examples[index][0]), counts[index]))
    for first in range(0, len(order), batch_size):
        places = order[first : first + batch_size]
        source, target = (
            pad_batch([examples[place][side] for place in places], LETTER_VOCABULARY.pad_id)
            for side in (0, 1)
        )
        with torch.autocast("cpu", torch.bfloat16, enabled=fast):
            logits = [teacher(source, target[:, :-1]) for teacher in teachers]
        mean = torch.stack([part.float().softmax(dim=-1) for part in logits]).mean(dim=0)
        for row, place in enumerate(places):
            kept[starts[place] : starts[place] + counts[place]] = mean[row, : counts[place]].half()
    return SoftTargets(list(examples), kept, starts)


class CoreHours:
    """Processor time of a part of the run, in hours, kept in a file so that it can go on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.total: float = json.loads(path.read_text()) if path.exists() else 0.0
        self._since = time.process_time()

    def add(self) -> None:
        """Add what this process has used since it was made, or since the last call."""
        now = time.process_time()
        self.total += (now - self._since) / 3600
        self._since = now
        write_json(self.path, self.total)


def train_part(
    name: str,
    run_dir: Path,
    model: Transformer,
    examples: Sequence[Example],
    config: TrainingConfig,
    *,
    loss: Loss | None = None,
    limit: int | None = None,
) -> tuple[Trainer, dict[str, Any]]:
    """Train a model, or go on with its run, and score it on dev after each pass.

    Args:
        name: of the part, and of its folder.
        run_dir: the folder of the whole run.
        model: with its first weights.
        examples: what it learns from.
        config: how.
        loss: see :class:`~transformer_ref.training.Trainer`.
        limit: of the words of dev.

    Returns:
        The trainer at the end of its run, and what is to be said of the part.
    """
    spent = CoreHours(run_dir / f"{name}.hours.json")
    trainer = Trainer(
        model, examples, config, run_dir=run_dir / name, device=torch.device("cpu"), loss=loss
    )
    speller, dev = Speller(model, trainer.device), load_cmudict("dev")[:limit]

    def report(trainer: Trainer) -> None:
        rates = speller.evaluate(dev)
        spent.add()
        print(
            f"{name}: epoch {trainer.epoch}: loss {last_epoch_loss(trainer):.4f}, "
            f"dev PER {rates['per']:.2%}, WER {rates['wer']:.2%}, {spent.total:.2f} core-hours",
            flush=True,
        )

    trainer.train(on_epoch=report, progress=False)
    model.eval()
    about = {
        **describe_run(trainer, model),
        "dev": speller.evaluate(dev),
        "core_hours": round(spent.total, 2),
    }
    write_json(run_dir / f"{name}.json", about)
    return trainer, about


def train_teacher(
    run_dir: Path, seed: int, recipe: Recipe = RECIPE, limit: int | None = None
) -> tuple[Transformer, dict[str, Any]]:
    """Train one teacher on the dictionary."""
    torch.manual_seed(seed)
    model = Transformer(recipe.teacher)
    examples = make_examples(load_cmudict("train")[:limit])
    config = replace(recipe.teaching, seed=seed)
    _, about = train_part(f"teacher-{seed}", run_dir, model, examples, config, limit=limit)
    return model, about


def make_lessons(
    run_dir: Path,
    teachers: Sequence[Transformer],
    recipe: Recipe = RECIPE,
    limit: int | None = None,
) -> SoftTargets:
    """Let the teachers answer for the dictionary and for made-up words; keep it in lessons.pt."""
    path = run_dir / "lessons.pt"
    if path.exists():
        return SoftTargets(**torch.load(path, weights_only=True))
    spent = CoreHours(run_dir / "lessons.hours.json")
    entries = load_cmudict("train")[:limit]
    known = {word for split in ("train", "dev", "test") for word, _ in load_cmudict(split)}
    words = made_up_words([word for word, _ in entries], recipe.made_up, known)
    examples = make_examples(entries) + pronounce_made_up(teachers, words)
    lessons = soft_targets(teachers, examples)
    with whole_file(path) as file:
        torch.save(vars(lessons), file)
    spent.add()
    return lessons


def train_speller(run_dir: Path, recipe: Recipe = RECIPE, limit: int | None = None) -> None:
    """Make the speller: teachers, their answers, the student, and its scores.

    Args:
        run_dir: gets a folder for each part, and at its top config.json, model.safetensors and
            results.json, which are what ships.
        recipe: how.
        limit: use only so many words of each split, to try things out.
    """
    run_dir.mkdir(parents=True, exist_ok=True)
    taught = [train_teacher(run_dir, seed, recipe, limit) for seed in recipe.seeds]
    lessons = make_lessons(run_dir, [model for model, _ in taught], recipe, limit)
    torch.manual_seed(recipe.learning.seed)
    student = Transformer(recipe.student)
    _, about = train_part(
        "student", run_dir, student, lessons.examples, recipe.learning,
        loss=lessons.loss, limit=limit,
    )  # fmt: skip
    student.save_pretrained(run_dir)
    test = load_cmudict("test")[:limit]
    speller = Speller(student, torch.device("cpu"))
    lessons_hours = CoreHours(run_dir / "lessons.hours.json").total
    parts = [said for _, said in taught]
    results = {
        "data": {"name": "CMU Pronouncing Dictionary", "sha256": cmudict_hash()},
        "words": {split: len(load_cmudict(split)[:limit]) for split in ("train", "dev", "test")},
        "made_up_words": recipe.made_up,
        **about,
        "rule": "greedy decoding; nearest of the listed variants; stress removed",
        "test": speller.evaluate(test),
        "test_sample": speller.evaluate(fixed_sample(test)),
        "teachers": parts,
        "core_hours": round(lessons_hours + sum(part["core_hours"] for part in [*parts, about]), 2),
    }
    write_json(run_dir / "results.json", results)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m transformer_ref.experiments.speller", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--run-dir", type=Path, default=Path("runs/speller"))
    parser.add_argument("--teacher", type=int, help="only the teacher with this seed")
    parser.add_argument("--limit", type=int, help="only so many words, to try things out")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    if options.teacher is not None:
        options.run_dir.mkdir(parents=True, exist_ok=True)
        train_teacher(options.run_dir, options.teacher, limit=options.limit)
    else:
        train_speller(options.run_dir, limit=options.limit)


if __name__ == "__main__":
    main()
