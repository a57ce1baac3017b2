"""Train with one mistake at a time, and without warm-up: ``make broken-runs``.

The chapter on training shows the curves of these runs and has the reader guess what is wrong.
The models and their mistakes are the chapter's own, read from its cells.
About seven minutes on one core.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.chapters import chapter_code, thinned
from benchmarks.report import conditions
from transformer_ref.batching import Example, pad_batch
from transformer_ref.data import load_cmudict
from transformer_ref.files import write_json
from transformer_ref.g2p import MODEL_CONFIG, Speller, make_examples
from transformer_ref.model import Transformer
from transformer_ref.training import sequence_loss, split_target

ROOT = Path(__file__).resolve().parent.parent
CHAPTER = ROOT / "book" / "training.ipynb"
RESULTS = ROOT / "transformer_ref" / "assets" / "training" / "results.json"
CELLS = ("imports", "suspects")

FAULTS = (None, "mask", "padding", "rate", "shift", "start")
STEPS, WARM_UP_STEPS = 600, 300
EVERY = 10  # losses are kept as means over so many steps
BATCH_SIZE = 64
WORDS = ("knighted", "cheese", "photograph")
DEV_WORDS = slice(None, None, 4)

NORMS, WARM_UPS, SEEDS = ("post", "pre"), (1, 100), (0, 1, 2)
WARM_UP_LAYERS, PEAK = 4, 0.004


def batches(seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Deal the training split out, words of all lengths together."""
    examples = make_examples(load_cmudict("train"))
    random.Random(seed).shuffle(examples)
    for start in range(0, len(examples), BATCH_SIZE):
        yield padded(examples[start : start + BATCH_SIZE])


def padded(rows: list[Example]) -> tuple[Tensor, Tensor]:
    """Source and target of some examples."""
    sources, targets = zip(*rows, strict=True)
    return pad_batch(sources, Speller.letters.pad_id), pad_batch(targets, Speller.phonemes.pad_id)


def train(
    model: nn.Module,
    loss_of_batch: Callable[[Tensor, Tensor], Tensor],
    rate_at: Callable[[int], float],
    steps: int,
    seed: int = 0,
) -> list[float]:
    """Train with Adam on `steps` batches; return the loss of every step."""
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98))
    losses = []
    for step, (source, target) in enumerate(islice(batches(seed), steps), start=1):
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step)
        optimizer.zero_grad()
        loss = loss_of_batch(source, target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def broken_run(fault: str | None, code: dict[str, Any], steps: int = STEPS) -> dict[str, Any]:
    """Train with one mistake of the chapter, or with none; say what the model says afterwards."""
    model = code["new_model"](fault)

    def loss_of_batch(source: Tensor, target: Tensor) -> Tensor:
        loss: Tensor = code["loss_of"](*code["predict"](model, source, target, fault), fault)
        return loss

    losses = train(model, loss_of_batch, lambda step: float(code["rate_at"](step, fault)), steps)
    speller = Speller(model, torch.device("cpu"))
    rates = speller.evaluate(load_cmudict("dev")[DEV_WORDS])
    said = dict(zip(WORDS, speller.pronounce_all(WORDS), strict=True))
    return {
        "fault": fault,
        "first": round(losses[0], 3),
        "losses": thinned(losses, EVERY),
        "per": round(rates["per"], 4),
        "wer": round(rates["wer"], 4),
        "said": {word: " ".join(phonemes[:12]) for word, phonemes in said.items()},
    }


def warm_up_run(norm: str, warm_up: int, seed: int, steps: int = WARM_UP_STEPS) -> dict[str, Any]:
    """Train a deeper model with a rise of `warm_up` steps; 1 is no rise at all."""
    layers = {"num_encoder_layers": WARM_UP_LAYERS, "num_decoder_layers": WARM_UP_LAYERS}
    sizes: dict[str, Any] = {"d_model": 64, "d_ff": 256, "dropout": 0.0, "norm": norm, **layers}
    torch.manual_seed(seed)
    model = Transformer(replace(MODEL_CONFIG, **sizes))

    def loss_of_batch(source: Tensor, target: Tensor) -> Tensor:
        inputs, labels = split_target(target)
        return sequence_loss(model(source, inputs), labels, Speller.phonemes.pad_id)

    def rate_at(step: int) -> float:
        """Both fall alike, with the root of the step, from the step where the longer rise ends."""
        return PEAK * min(1.0, step / warm_up, (max(WARM_UPS) / step) ** 0.5)

    losses = train(model, loss_of_batch, rate_at, steps, seed)
    return {"norm": norm, "warm_up": warm_up, "seed": seed, "losses": thinned(losses, EVERY)}


def main() -> None:
    """Train all, print where each one ends, and write the results."""
    torch.set_num_threads(1)
    start, code = time.process_time(), chapter_code(CHAPTER, CELLS)
    runs: list[dict[str, Any]] = []
    for fault in FAULTS:
        runs.append(broken_run(fault, code))
        print(fault, runs[-1]["first"], runs[-1]["losses"][-1], runs[-1]["per"], flush=True)
    rises: list[dict[str, Any]] = []
    for norm in NORMS:
        for warm_up in WARM_UPS:
            for seed in SEEDS:
                rises.append(warm_up_run(norm, warm_up, seed))
                print(norm, warm_up, seed, rises[-1]["losses"][-1], flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    seconds = round(time.process_time() - start)
    tables = {"every": EVERY, "runs": runs, "warm_up": rises, "seconds": seconds}
    write_json(RESULTS, {**tables, "conditions": conditions()})
    print(f"written: {RESULTS.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
