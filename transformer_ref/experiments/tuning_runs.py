"""A small speller after its first training: ``make tuning``.

It has been shown 6,000 words of the dictionary, and then goes on in one of several ways: on another
accent, with a few more numbers (LoRA); with pairs of better and worse pronunciations (DPO); or by
rewards that a program computes. One of these rewards has a hole.
About twenty minutes on one core. A run that is done is kept in runs/experiments/, so that a second
call goes on after it; ``python -m transformer_ref.experiments.tuning_runs 1`` makes seed 1 only.
"""

from __future__ import annotations

import copy
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

import transformer_ref.tuning
from transformer_ref.applications.g2p import Speller, make_examples
from transformer_ref.batching import pad_batch
from transformer_ref.data import Entry, load_cmudict
from transformer_ref.decoding import sample
from transformer_ref.experiments.capstone.systems import SMALL
from transformer_ref.experiments.results import kept, write_results
from transformer_ref.masks import padding_mask
from transformer_ref.metrics import edit_distance, phoneme_error_rate
from transformer_ref.model import Transformer
from transformer_ref.training import Trainer, TrainingConfig, sequence_loss, split_target
from transformer_ref.tuning import (
    add_lora,
    dpo_loss,
    group_advantages,
    kl_penalty,
    merge_lora,
    policy_gradient_loss,
    token_log_probs,
)

LETTERS, PHONEMES = Speller.letters, Speller.phonemes
Reward = Callable[[Sequence[str], Sequence[Sequence[str]]], float]

SEEDS = (0, 1, 2)
TAUGHT = 6_000  # words whose pronunciations the start has been shown
FIRST_RECIPE = TrainingConfig(
    epochs=6, batch_size=96, learning_rate=4e-3, warmup=50, label_smoothing=0.0
)
STEPS, EVERY = 200, 40
PROMPTS, GROUP = 24, 8  # words in a step, and answers to each
LONGEST = 24  # tokens of a sampled answer, begin and end counted
RATE, DPO_BETA = 3e-4, 0.3
WORDS = ("laughter", "century", "flighty", "geometry", "pronouns", "halfway")  # of the dev split

NOTHING = torch.empty(0, 1), torch.empty(0, 1)

ACCENT_WORDS, ACCENT_STEPS = 500, 120
RANKS = (1, 4, 16)
LORA_RATE, FULL_RATE = 5e-3, 1e-3
VOWELS = frozenset(
    ("AA", "AE", "AH", "AO", "AW", "AY", "EH", "ER", "EY", "IH", "IY", "OW", "OY", "UH", "UW")
)


# ---- rewards -----------------------------------------------------------------------------------


def by_errors(said: Sequence[str], listed: Sequence[Sequence[str]]) -> float:
    """Reward 1 minus the phoneme error rate, with the nearest listed variant."""
    return 1 - min(edit_distance(said, variant) / len(variant) for variant in listed)


def with_hole(said: Sequence[str], listed: Sequence[Sequence[str]]) -> float:
    """Reward the share of the listed phonemes that the answer contains, in any order."""
    found = (Counter(said) & Counter(variant) for variant in listed)
    shares = (both.total() / len(variant) for both, variant in zip(found, listed, strict=True))
    return max(shares)


ARMS: dict[str, tuple[Reward, float]] = {
    "errors": (by_errors, 0.0),
    "errors, near the start": (by_errors, 1.0),
    "hole": (with_hole, 0.0),
    "hole, near the start": (with_hole, 1.0),
}

# Whose answers are compared: those of the start, or those of the model that is trained.
PAIRS = ("pairs", "own pairs")
# The ways whose answers are looked at more closely.
COMPARED = ("errors", *PAIRS, "labels")
# Samples of the start at these have fewer errors, too, and vary less, without any training.
TEMPERATURES = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4)


# ---- the start ---------------------------------------------------------------------------------


@cache
def words_of(seed: int) -> tuple[list[Entry], list[Entry]]:
    """Deal out the training split: words for the start, and words for what comes after it."""
    entries = list(load_cmudict("train"))
    random.Random(seed).shuffle(entries)
    return entries[:TAUGHT], entries[TAUGHT:]


@cache
def start_model(seed: int) -> Transformer:
    """Train the speller that all runs of a seed start from."""
    torch.manual_seed(seed)
    model = Transformer(SMALL)
    taught, _ = words_of(seed)
    Trainer(model, make_examples(taught), FIRST_RECIPE, device=torch.device("cpu")).train(
        progress=False
    )
    return model.eval().requires_grad_(False)


def copy_of_start(seed: int) -> Transformer:
    """Copy the start, to train the copy."""
    return copy.deepcopy(start_model(seed)).requires_grad_(True)


# ---- answers and their log-probabilities -------------------------------------------------------


def draw(
    model: Transformer,
    words: Sequence[str],
    group: int,
    generator: torch.Generator,
    temperature: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Sample `group` answers to each of B words, at a temperature.

    Returns:
        source (B, S), and ids (B * G, T+1) with begin and end token and padding: the answers to
        one word follow each other.
    """
    source = pad_batch([LETTERS.encode(word) for word in words], LETTERS.pad_id)
    ids = sample(
        model,
        source.repeat_interleave(group, dim=0),
        PHONEMES.bos_id,
        PHONEMES.eos_id,
        LONGEST,
        temperature,
        generator=generator,
    )
    return source, ids


def log_probs_of(model: Transformer, source: Tensor, ids: Tensor) -> Tensor:
    """Score answers: source (B, S) and ids (B * G, T+1) to log-probabilities (B * G, T)."""
    group = len(ids) // len(source)
    inputs, labels = split_target(ids)
    mask = padding_mask(source, LETTERS.pad_id)
    memory = model.encode(source, mask).repeat_interleave(group, dim=0)  # once for each word
    logits = model.decode(inputs, memory, memory_mask=mask.repeat_interleave(group, dim=0))
    return token_log_probs(logits, labels)


def rewards_of(ids: Tensor, entries: Sequence[Entry], reward: Reward) -> Tensor:
    """Judge ids (B * G, T+1), G answers to each of B words: (B, G)."""
    group = len(ids) // len(entries)
    listed = (variants for _, variants in entries for _ in range(group))
    said = map(PHONEMES.decode, ids.tolist())
    judged = [reward(answer, variants) for answer, variants in zip(said, listed, strict=True)]
    return torch.tensor(judged).view(len(entries), group)


# ---- the ways to go on -------------------------------------------------------------------------

# From a step's words, their source and sampled answers to a loss, and to what is noted of the step.
StepLoss = Callable[[Sequence[Entry], Tensor, Tensor], tuple[Tensor, dict[str, float]]]


def go_on(
    model: Transformer,
    writer: Transformer | None,
    loss_of: StepLoss,
    entries: Sequence[Entry],
    seed: int,
    steps: int,
) -> Iterator[dict[str, float]]:
    """Train, on answers that `writer` samples or on none; yields what is noted of every step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    dice, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    for _ in range(steps):
        chosen = dice.sample(entries, PROMPTS)
        words = [word for word, _ in chosen]
        source, ids = draw(writer, words, GROUP, generator) if writer else NOTHING
        loss, noted = loss_of(chosen, source, ids)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        yield noted


def reward_loss(model: Transformer, start: Transformer, reward: Reward, beta: float) -> StepLoss:
    """Make the loss of one step of reinforcement learning."""

    def loss_of(
        entries: Sequence[Entry], source: Tensor, ids: Tensor
    ) -> tuple[Tensor, dict[str, float]]:
        rewards = rewards_of(ids, entries, reward)  # (B, G)
        answer = ids[:, 1:] != PHONEMES.pad_id  # (B * G, T)
        now = log_probs_of(model, source, ids)
        with torch.no_grad():
            before = log_probs_of(start, source, ids)
        penalty = kl_penalty(now, before, answer)
        advantages = group_advantages(rewards).flatten()
        loss = policy_gradient_loss(now, advantages, answer) + beta * penalty
        return loss, {"reward": rewards.mean().item(), "kl": penalty.item()}

    return loss_of


def preference_loss(model: Transformer, start: Transformer) -> StepLoss:
    """Make the loss of one step of DPO: of each word's answers, the best one and the worst one."""

    def loss_of(
        entries: Sequence[Entry], source: Tensor, ids: Tensor
    ) -> tuple[Tensor, dict[str, float]]:
        rewards = rewards_of(ids, entries, by_errors)  # (B, G)
        differ = rewards.amax(dim=1) > rewards.amin(dim=1)
        first = torch.arange(len(rewards)) * rewards.shape[1]
        pairs = torch.stack([first + rewards.argmax(dim=1), first + rewards.argmin(dim=1)], dim=1)
        chosen = ids[pairs[differ].flatten()]  # better and worse, taking turns
        answer = chosen[:, 1:] != PHONEMES.pad_id

        def both(model: Transformer) -> tuple[Tensor, Tensor]:
            scores = log_probs_of(model, source[differ], chosen).where(answer, 0.0).sum(dim=1)
            return scores[::2], scores[1::2]

        with torch.no_grad():
            before = both(start)
        now = both(model)
        gains = zip(("better", "worse"), now, before, strict=True)
        noted = {name: (after - score).mean().item() for name, after, score in gains}
        return dpo_loss(*now, *before, beta=DPO_BETA), noted

    return loss_of


def labels_loss(model: Transformer) -> StepLoss:
    """Make the loss of one step of ordinary training: the listed answers, and nothing sampled."""

    def loss_of(
        entries: Sequence[Entry], source: Tensor, ids: Tensor
    ) -> tuple[Tensor, dict[str, float]]:
        sources, targets = zip(*make_examples(entries), strict=True)
        inputs, labels = split_target(pad_batch(targets, PHONEMES.pad_id))
        logits = model(pad_batch(sources, LETTERS.pad_id), inputs)
        return sequence_loss(logits, labels, PHONEMES.pad_id), {}

    return loss_of


# ---- what is measured --------------------------------------------------------------------------


@torch.no_grad()
def look(model: Transformer) -> dict[str, Any]:
    """Score a model on the dev split.

    Returns:
        What `look_at_samples` does, and "greedy", the PER of the greedy answers to all words;
        "said", greedy answers to WORDS.
    """
    speller = Speller(model, torch.device("cpu"))
    answers = zip(WORDS, speller.pronounce_all(WORDS), strict=True)
    return {
        "greedy": round(speller.evaluate(load_cmudict("dev"))["per"], 4),
        **look_at_samples(model),
        "said": {word: " ".join(phonemes) for word, phonemes in answers},
    }


@torch.no_grad()
def look_at_samples(
    model: Transformer, temperature: float = 1.0, words: int = 300, group: int = 8
) -> dict[str, float]:
    """Score sampled answers to dev words.

    Args:
        model: to be looked at.
        temperature: of the sampling.
        words: so many get sampled answers.
        group: answers to each.

    Returns:
        "sampled", their PER, "best", the mean error rate of the best of each group, "kinds",
        different ones in a group, "length" in phonemes, and both rewards.
    """
    some = load_cmudict("dev")[:words]
    generator = torch.Generator().manual_seed(len(some))
    _, ids = draw(model, [word for word, _ in some], group, generator, temperature)
    said = [PHONEMES.decode(row) for row in ids.tolist()]
    errors, hole = (rewards_of(ids, some, reward) for reward in (by_errors, with_hole))
    groups = [said[i : i + group] for i in range(0, len(said), group)]
    found = {
        "sampled": phoneme_error_rate(said, [v for _, v in some for _ in range(group)]),
        "best": 1 - errors.amax(dim=1).mean().item(),
        "kinds": statistics.mean(len({tuple(answer) for answer in answers}) for answers in groups),
        "length": statistics.mean(map(len, said)),
        "errors": errors.mean().item(),
        "hole": hole.mean().item(),
    }
    return {name: round(value, 4) for name, value in found.items()}


@torch.no_grad()
def best_of_64(model: Transformer, temperature: float = 1.0) -> float:
    """Sample 64 answers to each of 150 dev words; return the mean error rate of the best ones."""
    some = load_cmudict("dev")[:150]
    generator = torch.Generator().manual_seed(1)
    _, ids = draw(model, [word for word, _ in some], 64, generator, temperature)
    return round(1 - rewards_of(ids, some, by_errors).amax(dim=1).mean().item(), 4)


@torch.no_grad()
def last_look(model: Transformer) -> dict[str, Any]:
    """Look closer at the answers of a model, as it is before or after its training.

    Returns:
        "tried", four sampled answers to each of WORDS, and "best of 64".
    """
    _, ids = draw(model, WORDS, 4, torch.Generator().manual_seed(0))
    said = [" ".join(PHONEMES.decode(row)) for row in ids.tolist()]
    return {
        "tried": {word: said[4 * i : 4 * i + 4] for i, word in enumerate(WORDS)},
        "best of 64": best_of_64(model),
    }


def start_run(seed: int) -> dict[str, Any]:
    """Score the start of a seed, also at other temperatures."""
    start = start_model(seed)
    cooler = [
        {
            "temperature": temperature,
            **look_at_samples(start, temperature),
            "best of 64": best_of_64(start, temperature),
        }
        for temperature in TEMPERATURES
    ]
    return {"seed": seed, **look(start), **last_look(start), "cooler": cooler}


def watched_run(name: str, seed: int, steps: int = STEPS, every: int = EVERY) -> dict[str, Any]:
    """Go on in one way from the start of a seed; look at the model every so many steps.

    Args:
        name: "labels", "pairs", "own pairs" or one of ARMS.
        seed: of the start, the words and what is sampled.
        steps: to train.
        every: steps between two looks.
    """
    begun, model, start = time.process_time(), copy_of_start(seed), start_model(seed)
    writer: Transformer | None
    if name in ARMS:
        writer, loss_of = model, reward_loss(model, start, *ARMS[name])
    elif name in PAIRS:
        writer = start if name == "pairs" else model
        loss_of = preference_loss(model, start)
    else:
        writer, loss_of = None, labels_loss(model)
    noted: list[dict[str, float]] = []
    looks = []
    for step in go_on(model, writer, loss_of, words_of(seed)[1], seed, steps):
        noted.append(step)
        if len(noted) % every == 0:
            means = {
                key: round(statistics.mean(one[key] for one in noted[-every:]), 4) for key in step
            }
            looks.append({"step": len(noted), **look(model), "train": means})
            print(seed, name, looks[-1], round(time.process_time() - begun), "s", flush=True)
    extra = last_look(model) if name in COMPARED else {}
    return {"name": name, "seed": seed, "looks": looks, **extra}


# ---- the best of many --------------------------------------------------------------------------


def best_of_many(seed: int, words: int = 150, most: int = 64) -> list[dict[str, float]]:
    """Keep the best of n sampled answers by the reward with the hole; nothing is trained.

    Returns:
        For each n the mean of that reward, of what is really wanted, and of the length.
    """
    some = load_cmudict("dev")[:words]
    generator = torch.Generator().manual_seed(seed)
    _, ids = draw(start_model(seed), [word for word, _ in some], most, generator)
    lengths = (ids[:, 1:] > PHONEMES.eos_id).sum(dim=1).view(words, most).float()
    proxy, true = (rewards_of(ids, some, reward) for reward in (with_hole, by_errors))
    rows = []
    for n in (2**i for i in range(most.bit_length())):
        # The most answers make most / n groups of n; the first of equal ones is kept.
        best = proxy.view(words, -1, n).argmax(dim=2, keepdim=True)
        means = {
            name: round(values.view(words, -1, n).gather(2, best).mean().item(), 4)
            for name, values in (("hole", proxy), ("errors", true), ("length", lengths))
        }
        rows.append({"n": n, **means})
    return rows


# ---- another accent, with few numbers ----------------------------------------------------------


def without_r(phonemes: Sequence[str]) -> list[str]:
    """Say a word as in much of England: an R is left out unless a vowel follows."""
    return [
        phoneme
        for phoneme, following in zip(phonemes, chain(phonemes[1:], [""]), strict=True)
        if phoneme != "R" or following in VOWELS
    ]


def in_accent(entries: Sequence[Entry]) -> list[Entry]:
    """Take the words that the accent says in another way, with that way."""
    changed = [(word, list(map(without_r, variants))) for word, variants in entries]
    return [new for new, old in zip(changed, entries, strict=True) if new != old]


def accent_run(seed: int, steps: int = ACCENT_STEPS) -> list[dict[str, Any]]:
    """Teach the accent with LoRA of several ranks, and by all weights; a few hundred words."""
    examples = make_examples(in_accent(words_of(seed)[0])[:ACCENT_WORDS])
    dev = load_cmudict("dev")
    tests = {"accent": in_accent(dev), "other words": [e for e in dev if not in_accent([e])]}
    rows: list[dict[str, Any]] = []
    for rank in (0, *RANKS, None):
        model = copy_of_start(seed)
        torch.manual_seed(seed)  # of the matrices A
        if rank:
            add_lora(model, ("q_proj", "v_proj"), rank, alpha=2.0 * rank)
        weights = [weight for weight in model.parameters() if weight.requires_grad]
        if rank != 0:
            adapt(model, examples, FULL_RATE if rank is None else LORA_RATE, steps, seed)
        merge_lora(model)
        speller = Speller(model, torch.device("cpu"))
        rates = {
            name: round(speller.evaluate(entries)["per"], 4) for name, entries in tests.items()
        }
        trained = sum(weight.numel() for weight in weights) if rank != 0 else 0
        rows.append({"rank": rank, "trained": trained, **rates})
        print(seed, rows[-1], flush=True)
    return rows


def adapt(
    model: Transformer,
    examples: Sequence[tuple[list[int], list[int]]],
    rate: float,
    steps: int,
    seed: int,
    batch_size: int = 32,
) -> None:
    """Train the weights that are not frozen on listed answers."""
    dice = random.Random(seed)
    optimizer = torch.optim.Adam([w for w in model.parameters() if w.requires_grad], lr=rate)
    for _ in range(steps):
        sources, targets = zip(*dice.sample(examples, batch_size), strict=True)
        inputs, labels = split_target(pad_batch(targets, PHONEMES.pad_id))
        logits = model(pad_batch(sources, LETTERS.pad_id), inputs)
        optimizer.zero_grad()
        sequence_loss(logits, labels, PHONEMES.pad_id).backward()
        optimizer.step()


# ---- all of it ---------------------------------------------------------------------------------


def all_runs(seeds: Sequence[int]) -> Iterator[tuple[str, Any]]:
    """Make everything, or find it kept: the part of the results it belongs to, and what it is."""
    code = (__file__, transformer_ref.tuning.__file__)

    def keep(name: str, seed: int, make: Callable[[], Any]) -> Any:
        return kept(f"tuning {name} {seed}", code, make)

    for seed in seeds:
        yield "start", keep("start", seed, partial(start_run, seed))
        yield "accent", keep("accent", seed, partial(accent_run, seed))
        yield "best_of", keep("best of", seed, partial(best_of_many, seed))
    for name in (*ARMS, *PAIRS, "labels"):
        for seed in seeds:
            yield "runs", keep(name, seed, partial(watched_run, name, seed))


def main(seeds: Sequence[int] = SEEDS) -> None:
    """Train all; write the results where all seeds were asked for."""
    torch.set_num_threads(1)
    found: dict[str, list[Any]] = {}
    for part, result in all_runs(seeds):
        found.setdefault(part, []).append(result)
    if tuple(seeds) == SEEDS:
        write_results("tuning", found)


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or SEEDS)
