"""Train with one mistake at a time, and without warm-up: ``make broken-runs``.

The chapter on training shows the curves of these runs and has the reader guess what is wrong.
About seven minutes on one core.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice, product
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref.applications.g2p import MODEL_CONFIG, Speller, make_examples
from transformer_ref.batching import Example, pad_batch
from transformer_ref.data import load_cmudict
from transformer_ref.experiments.results import thinned, write_results
from transformer_ref.masks import padding_mask
from transformer_ref.model import Transformer
from transformer_ref.training import sequence_loss, split_target

PAD = Speller.phonemes.pad_id

FAULTS = (None, "mask", "padding", "rate", "shift", "start")
STEPS, WARM_UP_STEPS = 600, 300
EVERY = 10  # losses are kept as means over so many steps
BATCH_SIZE = 64
WORDS = ("knighted", "cheese", "photograph")
DEV_WORDS = slice(None, None, 4)

NORMS, WARM_UPS, SEEDS = ("post", "pre"), (1, 100), (0, 1, 2)
WARM_UP_LAYERS, PEAK = 4, 0.004


def new_model(fault: str | None = None) -> Transformer:
    """A small model; with the fault "start" its tied rows are as nn.Embedding draws them."""
    torch.manual_seed(0)
    layers = {"num_encoder_layers": 2, "num_decoder_layers": 2}
    sizes: dict[str, Any] = {"d_model": 64, "d_ff": 256, "dropout": 0.0, **layers}
    model = Transformer(replace(MODEL_CONFIG, **sizes, tie_weights="target"))
    if fault == "start":
        nn.init.normal_(model.tgt_embedding.weight)
    return model


def predict(
    model: Transformer, source: Tensor, target: Tensor, fault: str | None = None
) -> tuple[Tensor, Tensor]:
    """Logits (B, T, V) and labels (B, T); "shift" reads what is asked, "mask" sees the future."""
    inputs, labels = split_target(target)
    if fault == "shift":
        inputs = labels = target
    source_mask = padding_mask(source, PAD)
    target_mask = padding_mask(inputs, PAD) if fault == "mask" else None  # None: causal
    memory = model.encode(source, source_mask)
    return model.decode(inputs, memory, target_mask, source_mask), labels


def loss_of(logits: Tensor, labels: Tensor, fault: str | None = None) -> Tensor:
    """Cross-entropy, a mean over the labels; with the fault "padding" these count too."""
    ignored = PAD if fault != "padding" else -100  # what torch leaves out by itself
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=ignored)


def rate_at(step: int, fault: str | None = None) -> float:
    """The learning rate of a step; with the fault "rate" ten times as high."""
    peak = 0.003 if fault != "rate" else 0.03
    return peak * min(1, step / 50)


def batches(seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Deal the training split out, words of all lengths together."""
    examples = make_examples(load_cmudict("train"))
    random.Random(seed).shuffle(examples)
    for start in range(0, len(examples), BATCH_SIZE):
        yield padded(examples[start : start + BATCH_SIZE])


def padded(rows: list[Example]) -> tuple[Tensor, Tensor]:
    """Source and target of some examples."""
    sources, targets = zip(*rows, strict=True)
    return pad_batch(sources, Speller.letters.pad_id), pad_batch(targets, PAD)


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


def broken_run(fault: str | None, steps: int = STEPS) -> dict[str, Any]:
    """Train with one mistake of the chapter, or with none; say what the model says afterwards."""
    model = new_model(fault)

    def loss_of_batch(source: Tensor, target: Tensor) -> Tensor:
        return loss_of(*predict(model, source, target, fault), fault)

    losses = train(model, loss_of_batch, lambda step: rate_at(step, fault), steps)
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
        return sequence_loss(model(source, inputs), labels, PAD)

    def rate_at(step: int) -> float:
        """Both fall alike, with the root of the step, from the step where the longer rise ends."""
        return PEAK * min(1.0, step / warm_up, (max(WARM_UPS) / step) ** 0.5)

    losses = train(model, loss_of_batch, rate_at, steps, seed)
    return {"norm": norm, "warm_up": warm_up, "seed": seed, "losses": thinned(losses, EVERY)}


def main() -> None:
    """Train all, print where each one ends, and write the results."""
    torch.set_num_threads(1)
    start = time.process_time()
    runs: list[dict[str, Any]] = []
    for fault in FAULTS:
        runs.append(broken_run(fault))
        print(fault, runs[-1]["first"], runs[-1]["losses"][-1], runs[-1]["per"], flush=True)
    rises: list[dict[str, Any]] = []
    for norm, warm_up, seed in product(NORMS, WARM_UPS, SEEDS):
        rises.append(warm_up_run(norm, warm_up, seed))
        print(norm, warm_up, seed, rises[-1]["losses"][-1], flush=True)
    seconds = round(time.process_time() - start)
    tables = {"every": EVERY, "runs": runs, "warm_up": rises, "seconds": seconds}
    write_results("training", tables)


if __name__ == "__main__":
    main()
