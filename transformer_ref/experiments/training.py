"""Train with one mistake at a time, without warm-up, and once under observation.

``make broken-runs`` does it all, in about ten minutes on one core.
The chapter on training shows the curves of the broken runs and has the reader guess what is wrong;
of the run that was observed it shows thirty checkpoints on a slider.
Its two examples by hand, the loss of a short word and three steps of Adam, and the landmarks of
its curves are here too, for its drawings and its pages.
"""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise, product
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref.applications.g2p import MODEL_CONFIG, Speller, make_examples
from transformer_ref.attention import record_attention
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

# The run that is observed sees each word of the dictionary once; most happens at its beginning.
CHECKPOINTS = (
    *(0, 5, 10, 15, 20, 30, 40, 50, 60, 80, 100, 125, 150, 175, 200),
    *(250, 300, 350, 400, 450, 500, 600, 700, 800, 900, 1000, 1150, 1300, 1450, 1600),
)

# The examples by hand. Loss: what a model might say of "nigh", a row for each position.
TOKENS = ("<pad>", "<eos>", "N", "AY")
LABELS = (2, 3, 1, 0)
PROBABILITIES = (
    (0.05, 0.15, 0.50, 0.30),
    (0.05, 0.20, 0.50, 0.25),
    (0.05, 0.80, 0.05, 0.10),
    (0.05, 0.75, 0.10, 0.10),
)
# Adam: the gradients of one weight in three steps.
GRADIENTS = (4.0, 2.0, -4.0)
BETAS, ADAM_RATE, FIRST_WEIGHT = (0.9, 0.98), 0.1, 1.0


def loss_by_hand() -> dict[str, Tensor]:
    """Return the example of the loss, as its drawing shows it.

    Returns:
        probabilities (4, 4); labels (4,) int64; costs (4,), padding included; loss and
        perplexity, scalars, over the three labels that are not padding.
    """
    probabilities, labels = torch.tensor(PROBABILITIES), torch.tensor(LABELS)
    costs = F.nll_loss(probabilities.log(), labels, reduction="none")
    loss = F.nll_loss(probabilities.log(), labels, ignore_index=0)
    return {
        "probabilities": probabilities, "labels": labels, "costs": costs,
        "loss": loss, "perplexity": loss.exp(),
    }  # fmt: skip


def adam_by_hand() -> list[dict[str, float]]:
    """Return three steps of Adam on one weight, as their drawing shows them.

    Returns:
        For each step the gradient, the two running means m and v, both corrected, the step
        before it is multiplied by the learning rate, and the weight after it.

    Source: Kingma and Ba 2015, algorithm 1.
    """
    (first, second), m, v, weight = BETAS, 0.0, 0.0, FIRST_WEIGHT
    rows = []
    for number, gradient in enumerate(GRADIENTS, start=1):
        m = first * m + (1 - first) * gradient
        v = second * v + (1 - second) * gradient**2
        m_corrected, v_corrected = m / (1 - first**number), v / (1 - second**number)
        step = m_corrected / math.sqrt(v_corrected)
        weight -= ADAM_RATE * step
        rows.append({
            "gradient": gradient, "m": m, "v": v, "m_corrected": m_corrected,
            "v_corrected": v_corrected, "step": step, "weight": weight,
        })  # fmt: skip
    return rows


def landmarks(examples: Sequence[Example]) -> dict[str, float]:
    """Return what models pay that know little, in nats a token.

    Args:
        examples: source and target ids, begin and end included.

    Returns:
        "nothing": ln V; "the frequencies": the entropy of the tokens; "the phoneme before":
        their entropy given the token before.
    """
    targets = [target for _, target in examples]
    pairs = Counter(pair for target in targets for pair in pairwise(target))
    singles: Counter[int] = Counter()
    befores: Counter[int] = Counter()
    for (before, token), count in pairs.items():
        befores[before] += count
        singles[token] += count
    return {
        "nothing": math.log(MODEL_CONFIG.tgt_vocab_size),
        "the frequencies": _entropy(singles),
        "the phoneme before": _entropy(pairs) - _entropy(befores),
    }


def _entropy(counts: Counter[Any]) -> float:
    """The entropy of what was counted, in nats."""
    total = counts.total()
    return -sum(count / total * math.log(count / total) for count in counts.values())


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
    after: Callable[[int], None] = lambda step: None,
) -> list[float]:
    """Train with Adam on `steps` batches, call `after` each; return the loss of every step."""
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
        after(step)
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


def observed_run(checkpoints: Sequence[int] = CHECKPOINTS) -> dict[str, Any]:
    """Train without a mistake, and look at the model at some steps; 0 is before the first.

    The rate rises as in the healthy run, stays, and falls in a straight line in the second half.
    """
    model, last = new_model(), checkpoints[-1]
    seen: list[dict[str, Any]] = []

    def look(step: int) -> None:
        if step in checkpoints:
            seen.append({"step": step, "words": {word: look_at(model, word) for word in WORDS}})

    look(0)
    losses = train(
        model,
        lambda source, target: loss_of(*predict(model, source, target)),
        lambda step: rate_at(step) * min(1, 2 * (last - step) / last),
        last,
        after=look,
    )
    rates = Speller(model, torch.device("cpu")).evaluate(load_cmudict("dev")[DEV_WORDS])
    return {
        "first": round(losses[0], 3),
        "every": EVERY,
        "losses": thinned(losses, EVERY),
        "listed": {word: sounds_of(word) for word in WORDS},
        "checkpoints": seen,
        "per": round(rates["per"], 4),
        "wer": round(rates["wer"], 4),
    }


def sounds_of(word: str) -> list[str]:
    """The first pronunciation of a word that the dictionary lists."""
    splits = (load_cmudict(split) for split in ("train", "dev", "test"))
    return next(variants[0] for split in splits for known, variants in split if known == word)


@torch.inference_mode()
def look_at(model: Transformer, word: str) -> dict[str, Any]:
    """What a model says of a word by itself, and how it answers when it reads the true sounds.

    Returns:
        "said", at most 12 phonemes; "right", the probability of each true token, the end
        included, in percent; "looks", a row for each of these with the weights of the last
        decoder layer's cross-attention over the letters, a mean over the heads, in percent.
    """
    speller = Speller(model, torch.device("cpu"))
    ids = torch.tensor([Speller.phonemes.encode(sounds_of(word), bos=True, eos=True)])
    with record_attention(model) as recorded:
        logits, labels = predict(model, speller.source([word]), ids)
    layer = f"decoder.layers.{model.config.num_decoder_layers - 1}.cross_attention"
    right = logits.softmax(dim=-1).gather(-1, labels.unsqueeze(-1))[0, :, 0]
    return {
        "said": speller.pronounce(word)[:12],
        "right": in_percent(right),
        "looks": in_percent(recorded[layer][0].mean(dim=0)),
    }


def in_percent(shares: Tensor) -> Any:
    """Whole numbers, in nested lists."""
    return (100 * shares).round().int().tolist()


def main() -> None:
    """Train all, print where each one ends, and write both results."""
    torch.set_num_threads(1)
    train_broken()
    write_results("checkpoints", observed_run())


def train_broken() -> None:
    """Make the runs with a mistake, and those with and without warm-up."""
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
