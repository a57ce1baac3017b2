"""Train the readers of the chapter on depth for longer, and on two steps: ``make depth``.

The chapter trains models of one, two and three layers for seconds, on a task of two steps.
Here are more seeds, more time and width for the single layer, and a task that takes a step more.
The code is the chapter's own, read from its cells. About six minutes on one core.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F

from benchmarks.chapters import chapter_code
from benchmarks.report import conditions
from transformer_ref.files import write_json

ROOT = Path(__file__).resolve().parent.parent
CHAPTER = ROOT / "book" / "depth.ipynb"
RESULTS = ROOT / "transformer_ref" / "assets" / "depth" / "results.json"
CELLS = ("imports", "recall-batch", "recall-training", "second-step-rule")

TEN_SEEDS, THREE_SEEDS = range(10), range(3)
LAYERS, LAYERS_FOR_TWO = (1, 2, 3), (1, 2, 3, 4)
WIDTHS, STEPS = (48, 96), (120, 500, 2000, 8000)
STEPS_FOR_TWO, STEPS_ALONE = 600, 1500
BATCH, PEAK, WARM_UP = 64, 0.006, 20


def seeds_run(
    layers: int, code: dict[str, Any], seeds: Sequence[int] = TEN_SEEDS
) -> dict[str, Any]:
    """Train as the chapter does, with more seeds; what is right over the last ten steps."""
    right = [round(code["train_reader"](layers, seed)[1][-1].item(), 4) for seed in seeds]
    return {"layers": layers, "right": right}


def width_run(d_model: int, code: dict[str, Any], steps: Sequence[int] = STEPS) -> dict[str, Any]:
    """Train a single layer of some width for longer; what is right after each of `steps`."""
    _, shares = code["train_reader"](1, 0, d_model, max(steps))
    return {"d_model": d_model, "right": [round(shares[n // 10 - 1].item(), 4) for n in steps]}


def two_step_run(
    layers: int, seed: int, steps: int, code: dict[str, Any], first_too: bool = True
) -> list[float]:
    """Train on the second step, beside the first or alone; what is right of each at the end."""
    torch.manual_seed(seed)
    symbols = code["SYMBOLS"]
    model = code["new_reader"](layers, outputs=2 * symbols)
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98))
    tail: list[list[float]] = []
    for step in range(1, steps + 1):
        fall = 2 * (1 - step / (steps + 1))
        optimizer.param_groups[0]["lr"] = PEAK * min(1.0, step / WARM_UP, fall)
        ids, labels, answer_at = code["recall_batch"](BATCH)
        wanted = [labels, code["second_step"](labels, answer_at)]
        logits = model(ids).split(symbols, dim=-1)
        pairs = list(zip(logits, wanted, strict=True))[0 if first_too else 1 :]
        loss = sum(F.cross_entropy(part.transpose(1, 2), asked) for part, asked in pairs)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[union-attr]
        optimizer.step()
        if step > steps - 10:
            tail.append([code["share_right"](part, asked) for part, asked in pairs])
    return [round(sum(column) / len(column), 4) for column in zip(*tail, strict=True)]


def main() -> None:
    """Train all, print how far each gets, and write the results."""
    torch.set_num_threads(1)
    code = chapter_code(CHAPTER, CELLS)
    results: dict[str, Any] = {"steps": list(STEPS), "seeds": [], "widths": []}
    for layers in LAYERS:
        results["seeds"].append(seeds_run(layers, code))
        print(results["seeds"][-1], flush=True)
    results["steps_by_layers"] = []
    for layers in LAYERS_FOR_TWO:
        right = [two_step_run(layers, seed, STEPS_FOR_TWO, code) for seed in THREE_SEEDS]
        results["steps_by_layers"].append({"layers": layers, "right": right})
        print(results["steps_by_layers"][-1], flush=True)
    alone = [two_step_run(3, seed, STEPS_ALONE, code, first_too=False) for seed in THREE_SEEDS]
    results["second_step_alone"] = {"layers": 3, "right": [share for (share,) in alone]}
    print(results["second_step_alone"], flush=True)
    for d_model in WIDTHS:
        results["widths"].append(width_run(d_model, code))
        print(results["widths"][-1], flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    write_json(RESULTS, {**results, "conditions": conditions()})
    print(f"written: {RESULTS.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
