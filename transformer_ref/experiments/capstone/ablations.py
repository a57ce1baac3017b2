"""Score the baselines and the ablations of the capstone: ``make capstone``.

Every model is trained three times, with three seeds, on the whole training split by one recipe,
and reads the words of dev and test.
About an hour on one core; ``ARGS=--jobs=2`` uses two. A run that is done is kept in
runs/experiments/, so that a second call goes on where the first one was stopped.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from typing import Any

import torch
from torch import nn

from transformer_ref.applications.g2p import make_examples
from transformer_ref.data import Entry, Split, load_cmudict
from transformer_ref.experiments.capstone import counting, systems
from transformer_ref.experiments.results import kept, thinned, write_results
from transformer_ref.layers import Norm
from transformer_ref.metrics import phoneme_error_rate, word_error_rate
from transformer_ref.training import TrainingConfig

SEEDS = (0, 1, 2)
EVERY = 20  # losses are kept as means over so many steps
WIDEST = 4  # letters on either side of one, in the table of most frequent sounds
WORDS_TO_ALIGN = 20_000


@dataclass(frozen=True)
class System:
    """One row of the table: what is trained, and what is missing in it."""

    name: str
    kind: str = "transformer"  # or "lstm"
    without: str | None = None
    norm: Norm = "pre"
    warmup: int = 200


SYSTEMS = (
    System("whole"),
    System("no positions", without="positions"),
    System("no scaling", without="scaling"),
    System("no causal mask", without="mask"),
    System("one head", without="heads"),
    System("no residual", without="residual"),
    System("no warm-up", warmup=1),
    System("post-norm", norm="post"),
    System("post-norm, no scaling", without="scaling", norm="post"),
    System("post-norm, no residual", without="residual", norm="post"),
    System("post-norm, no warm-up", norm="post", warmup=1),
    System("LSTM, last state", kind="lstm"),
    System("LSTM, attention", kind="lstm", without="bottleneck"),
)
LSTM_SIZES = {None: 156, "bottleneck": 152}  # as many parameters as the small Transformer


def measure(model: nn.Module, recipe: TrainingConfig, limit: int | None = None) -> dict[str, Any]:
    """Train a model that maps (source, target so far) to logits, and score what it reads.

    Args:
        model: any such model; it is trained.
        recipe: how, with the seed of the order of the words.
        limit: use only so many words of each split, to try things out.

    Returns:
        Parameters, seconds of processor time for training and for saying dev and test, thinned
        losses, and PER and WER of dev and test as fractions.
    """
    splits: dict[Split, list[Entry]] = {
        split: load_cmudict(split)[:limit] for split in ("train", "dev", "test")
    }
    words = [word for split in ("dev", "test") for word, _ in splits[split]]
    start = time.process_time()
    examples = make_examples(splits["train"])
    losses, answers = systems.train_and_answer(model, examples, words, recipe)
    return {
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "seconds": round(time.process_time() - start),
        "losses": thinned(losses, EVERY),
        **{split: scores(answers, splits[split]) for split in ("dev", "test")},
    }


def scores(answers: Mapping[str, Sequence[str]], entries: Sequence[Entry]) -> dict[str, float]:
    """PER and WER of the answers to some entries, as fractions."""
    said = [answers[word] for word, _ in entries]
    variants = [listed for _, listed in entries]
    return {
        "per": round(phoneme_error_rate(said, variants), 5),
        "wer": round(word_error_rate(said, variants), 5),
    }


def run(system: System, seed: int, limit: int | None = None) -> dict[str, Any]:
    """Train and score one system with one seed."""
    torch.set_num_threads(1)
    recipe = replace(systems.RECIPE, seed=seed, warmup=system.warmup)
    model: nn.Module
    if system.kind == "lstm":
        torch.manual_seed(seed)
        model = systems.Seq2Seq(LSTM_SIZES[system.without], attend=system.without is not None)
    else:
        model = systems.small_speller(system.without, system.norm, seed)
    return {"name": system.name, "seed": seed, **measure(model, recipe, limit)}


def by_table(limit: int | None = None) -> list[dict[str, Any]]:
    """Score the most frequent sounds of a letter and its neighbours, by their number."""
    pairs = [(w, tuple(sounds)) for w, listed in load_cmudict("train")[:limit] for sounds in listed]
    cost = counting.learn_to_align(pairs[:: max(1, len(pairs) // WORDS_TO_ALIGN)])
    table = counting.most_frequent(pairs, cost, WIDEST)
    rows: list[dict[str, Any]] = []
    for reach in range(WIDEST + 1):
        row: dict[str, Any] = {"reach": reach}
        for split in ("dev", "test"):
            entries = load_cmudict(split)[:limit]
            said = {word: counting.read_by_table(word, table, reach) for word, _ in entries}
            row[split] = scores(said, entries)
        row["windows"] = sum(len(window) <= 2 * reach + 1 for window in table)
        rows.append(row)
    return rows


def kept_run(system: System, seed: int) -> dict[str, Any]:
    """One run, computed now or before."""
    code = (__file__, systems.__file__)
    found: dict[str, Any] = kept(f"{system.name} {seed}", code, lambda: run(system, seed))
    print(system.name, seed, found["dev"], found["test"], found["seconds"], "s", flush=True)
    return found


def kept_table() -> list[dict[str, Any]]:
    """The scores of counting, computed now or before."""
    found: list[dict[str, Any]] = kept("by table", (__file__, counting.__file__), by_table)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all, print their scores and write the results; see --help."""
    parser = argparse.ArgumentParser(prog="make capstone", description=__doc__)
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time; default: 1")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    todo = [(system, seed) for seed in SEEDS for system in SYSTEMS]
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        runs = list(pool.map(kept_run, *zip(*todo, strict=True)))
    described = [asdict(system) for system in SYSTEMS]
    tables = {"systems": described, "every": EVERY, "by_table": kept_table(), "runs": runs}
    write_results("capstone", tables)
    return 0


if __name__ == "__main__":
    sys.exit(main())
