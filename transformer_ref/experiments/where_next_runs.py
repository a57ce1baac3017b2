"""GPT's layer with each change of the page "The Transformer today", trained: ``make today``.

Language models on the State of the Union learn with GPT-2's layer, with each of the four changes
alone, and with all four; six seeds each. One more model has the sinusoids of 2017 in place of
GPT-2's learned positions. Before, a small pilot chooses the learning rate that all share; the
models of the pilot are also trained with the rate that was best for each.
About twenty minutes on one core.
A run that is done is kept in runs/experiments/, so that a second call goes on after it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import torch

import transformer_ref.modern
from transformer_ref.experiments import gpt
from transformer_ref.experiments.gpt import Corpus, bits_per_character, learn, load_corpus
from transformer_ref.experiments.results import kept, thinned, write_results
from transformer_ref.modern import ModernConfig, ModernGPT

SIZES: dict[str, Any] = {
    "d_model": 96, "num_heads": 4, "num_layers": 2, "d_ff": 384, "max_len": 64, "dropout": 0.0,
}  # fmt: skip
OFF: dict[str, Any] = {
    "rms_norm": False, "rotary": False, "gated": False, "num_sets": 4, "attention_bias": True,
}  # fmt: skip
# Two thirds of the hidden units have as many weights with a gate.
CHANGES: dict[str, dict[str, Any]] = {
    "RMSNorm": {"rms_norm": True},
    "rotary": {"rotary": True},
    "SwiGLU": {"gated": True, "d_ff": 256},
    "grouped": {"num_sets": 2},
}
TODAY: dict[str, Any] = {
    name: value for change in CHANGES.values() for name, value in change.items()
}
SINUSOIDS: dict[str, Any] = {"positions": "sinusoidal"}
LAYERS: dict[str, dict[str, Any]] = {
    "GPT-2": {}, "sinusoids": SINUSOIDS, **CHANGES, "all four": TODAY,
}  # fmt: skip

SEEDS = range(6)
STEPS = 600
PEAKS, PILOT_STEPS, PILOT_SEED = (0.002, 0.004, 0.008), 300, 100
PILOTED = ("GPT-2", "all four")
LONGER = (128, 256)  # tokens that a model with rotary positions can also read at once


def config_of(name: str, vocab_size: int) -> ModernConfig:
    """The sizes of a model whose layer has the changes of this name."""
    return ModernConfig(vocab_size, **{**SIZES, **OFF, **LAYERS[name]})


def train(
    name: str, corpus: Corpus, seed: int, steps: int, peak: float
) -> tuple[ModernGPT, list[float]]:
    """Train a model; its losses are means over 50 steps."""
    torch.manual_seed(seed)
    model = ModernGPT(config_of(name, len(corpus.tokenizer)))
    if model.config.positions == "sinusoidal":
        # As in 2017: next to sines, GPT-2's embeddings of standard deviation 0.02 are tiny.
        model.embedding.scale = model.config.d_model**0.5
    losses = list(learn(model, corpus.ids, steps, peak, seed=seed))
    return model, thinned(losses, 50)


def pilot_run(name: str, corpus: Corpus) -> dict[str, float]:
    """Train short with each peak of the learning rate; bits on the text that decides."""
    bits = {}
    for peak in PEAKS:
        model, _ = train(name, corpus, PILOT_SEED, PILOT_STEPS, peak)
        bits[str(peak)] = round(bits_per_character(model, corpus.tokenizer, corpus.to_stop), 4)
        print("pilot", name, peak, bits[str(peak)], flush=True)
    return bits


def best_peak(pilot: Mapping[str, Mapping[str, float]]) -> float:
    """The peak with the fewest bits, as the mean over the models of the pilot."""
    return min(PEAKS, key=lambda peak: sum(bits[str(peak)] for bits in pilot.values()))


def layer_run(name: str, seed: int, peak: float, corpus: Corpus) -> dict[str, Any]:
    """Train a model with this layer, and measure it on the addresses that were held out."""
    start = time.process_time()
    model, losses = train(name, corpus, seed, STEPS, peak)
    seconds = round(time.process_time() - start)
    config: ModernConfig = model.config
    longer = {}
    if config.rotary:
        for length in LONGER:
            model.config = replace(config, max_len=length)
            longer[str(length)] = bits_per_character(model, corpus.tokenizer, corpus.unseen)
        model.config = config
    bits = bits_per_character(model, corpus.tokenizer, corpus.unseen)
    sets = config.num_sets or config.num_heads
    return {
        "seed": seed,
        "bits": round(bits, 4),
        "longer": {length: round(value, 4) for length, value in longer.items()},
        "losses": losses,
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "cache": 2 * config.num_layers * sets * (config.d_model // config.num_heads) * 2,
        "seconds": seconds,
    }


def main() -> None:
    """Choose a learning rate, train all, print how they do, and write the results."""
    torch.set_num_threads(1)
    corpus = load_corpus()
    code = (__file__, transformer_ref.modern.__file__, gpt.__file__)
    pilot = {
        name: kept(f"today pilot {name}", code, partial(pilot_run, name, corpus))
        for name in PILOTED
    }

    def run(name: str, seed: int, peak: float) -> dict[str, Any]:
        make = partial(layer_run, name, seed, peak, corpus)
        done: dict[str, Any] = kept(f"today {name} {seed} at {peak}", code, make)
        print("done:", name, seed, peak, done["bits"], flush=True)
        return done

    peak = best_peak(pilot)
    runs = {name: [run(name, seed, peak) for seed in SEEDS] for name in LAYERS}
    own: dict[str, Any] = {}
    for name, bits in pilot.items():
        best = best_peak({name: bits})
        own[name] = {"peak": best, "bits": [run(name, seed, best)["bits"] for seed in SEEDS]}
    results = {"steps": STEPS, "peak": peak, "pilot": pilot, "runs": runs, "own peak": own}
    write_results("where_next", results)


if __name__ == "__main__":
    main()
