"""Train the models of the chapter on GPT for longer, and two spellers by one recipe: ``make gpt``.

The chapter trains a language model for seconds. Here a larger one reads the same text for eleven
minutes, and the chapter's own is tuned to a later president, by texts of three sizes. Then come
spellers without encoder, trained by the recipe of the capstone.
The code is the chapter's own, read from its cells; about half an hour on one core.
A run that is done is kept in runs/chapters/, so that a second call goes on after it.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks import capstone
from benchmarks.chapters import chapter_code, kept
from benchmarks.report import conditions
from transformer_ref.files import write_json
from transformer_ref.gpt import GPT

ROOT = Path(__file__).resolve().parent.parent
CHAPTER = ROOT / "book" / "gpt.ipynb"
RESULTS = ROOT / "transformer_ref" / "assets" / "gpt" / "results.json"
CELLS = ("imports", "addresses", "language-model", "go-on", "small-text", "tune")
SPELLER_CELLS = ("imports", "letters-as-prompt")

SEEDS = (0, 1, 2)
SPELLERS = {"decoder-only": False, "prefix both ways": True}
KEPT_SCORES = ("seed", "parameters", "seconds", "dev", "test")
STEPS, EVERY = 5000, 250
LARGER = {"d_model": 128, "num_layers": 3, "block": 128, "dropout": 0.1}
SAMPLES = (0.0, 0.5, 0.8, 1.0, 1.3)
PROMPT = "My fellow Americans"
SHORT_STEPS = 600  # of the chapter's model, before it is tuned
SIZES = {4_000: (50, 150), 32_000: (150, 300), 131_000: (300, 600)}
# Characters of the small text; steps to tune, and steps from nothing.


def long_run(code: Mapping[str, Any], steps: int = STEPS, every: int = EVERY) -> dict[str, Any]:
    """Train the larger model; its costs in bits per character on the way, and what it writes."""
    start = time.process_time()
    model = code["new_gpt"](**LARGER)
    known = code["text"][:40_000]
    curve: list[dict[str, float]] = []
    losses: list[float] = []
    for step, loss in enumerate(code["learn"](model, code["ids"], steps, peak=0.003), start=1):
        losses.append(loss)
        if step % every == 0:
            bits = code["bits_per_character"]
            row = {"unseen": bits(model, code["unseen"]), "known": bits(model, known)}
            row["loss"] = sum(losses[-every:]) / every
            curve.append({"step": step, **{name: round(x, 4) for name, x in row.items()}})
            print(curve[-1], round(time.process_time() - start), "s", flush=True)
    return {
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "curve": curve,
        "samples": samples(model, code),
        "seconds": round(time.process_time() - start),
    }


def samples(model: GPT, code: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the model writes after the prompt, at several temperatures."""
    generator = torch.Generator().manual_seed(0)
    return [
        {"temperature": t, "text": code["go_on"](model, PROMPT, 100, t, generator)} for t in SAMPLES
    ]


def tuning_run(
    seed: int,
    code: Mapping[str, Any],
    sizes: Mapping[int, tuple[int, int]] = SIZES,
    steps: int = SHORT_STEPS,
) -> dict[str, Any]:
    """Train on small texts of another president, from scratch and from the chapter's model."""
    pretrained = code["new_gpt"](seed=seed)
    for _ in code["learn"](pretrained, code["ids"], steps, seed=seed):
        pass
    bits, later = code["bits_per_character"], code["later"]
    result: dict[str, Any] = {"seed": seed, "untuned": round(bits(pretrained, later), 4)}
    for size, (steps_tuned, steps_alone) in sizes.items():
        small = {"small": code["small_text"][:size], "seed": seed}
        tuned = copy.deepcopy(pretrained)
        alone = code["new_gpt"](seed=seed + 100)
        code["tune"](tuned, steps=steps_tuned, peak=0.0006, every=25, **small)
        code["tune"](alone, steps=steps_alone, peak=0.004, every=50, **small)
        result[str(size)] = {
            "tuned": round(bits(tuned, later), 4),
            "alone": round(bits(alone, later), 4),
        }
        print(seed, size, result[str(size)], flush=True)
    return result


def speller_run(both_ways: bool, seed: int, limit: int | None = None) -> dict[str, Any]:
    """Train and score a speller without encoder, as the capstone does with its models."""
    code = chapter_code(CHAPTER, SPELLER_CELLS)
    recipe = chapter_code(capstone.CHAPTER, capstone.CELLS)
    model = code["DecoderOnly"](both_ways, seed)
    training = replace(recipe["RECIPE"], seed=seed)
    return {"seed": seed, **capstone.measure(model, training, recipe, limit)}


def all_runs() -> Iterator[tuple[str, Any]]:
    """Everything that is trained, now or before: its part of the results, and what came out."""
    code = chapter_code(CHAPTER, CELLS)

    def of_text(name: str, settings: object, make: Callable[[], Any]) -> Any:
        return kept(f"gpt {name}", CHAPTER, CELLS, settings, make)

    yield "long", of_text("long", (LARGER, STEPS, SAMPLES), partial(long_run, code))
    for seed in SEEDS:
        make = partial(tuning_run, seed, code)
        yield "tuning", of_text(f"tuning {seed}", (SIZES, SHORT_STEPS), make)
    recipe = chapter_code(capstone.CHAPTER, capstone.CELLS)["RECIPE"]
    for name, both_ways in SPELLERS.items():
        for seed in SEEDS:
            make = partial(speller_run, both_ways, seed)
            yield name, kept(f"gpt {name} {seed}", CHAPTER, SPELLER_CELLS, recipe, make)


def main() -> None:
    """Train all, print how they do, and write the results."""
    torch.set_num_threads(1)
    found: dict[str, list[Any]] = {}
    for part, result in all_runs():
        found.setdefault(part, []).append(result)
        print("done:", part, len(found[part]), flush=True)
    scores = {
        name: [{key: run[key] for key in KEPT_SCORES} for run in found[name]] for name in SPELLERS
    }
    RESULTS.parent.mkdir(exist_ok=True)
    results = {"prompt": PROMPT, "long": found["long"][0], "tuning": found["tuning"]}
    write_json(RESULTS, {**results, "spellers": scores, "conditions": conditions()})
    print(f"written: {RESULTS.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
