"""Train the copying models of the chapter on sequences for longer: ``make sequences``.

The chapter trains each of them for seconds. Here they get more time, longer strings and larger
vectors, to see what that helps. The code is the chapter's own, read from its cells.
About five minutes on one core.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.chapters import chapter_code
from benchmarks.report import conditions
from transformer_ref.files import write_json

ROOT = Path(__file__).resolve().parent.parent
CHAPTER = ROOT / "book" / "sequences.ipynb"
RESULTS = ROOT / "transformer_ref" / "assets" / "sequences" / "results.json"
CELLS = ("imports", "copying-models", "copying-training")

LONGEST = 32
LENGTHS = (1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32)
STEPS = (500, 1000, 2000, 4000, 8000)


@dataclass(frozen=True)
class Plan:
    """One model to train: the size of its vectors, and whether its decoder may look back."""

    size: int
    attend: bool


PLANS = (Plan(32, False), Plan(64, False), Plan(128, False), Plan(32, True))


def run(
    plan: Plan,
    code: dict[str, Any],
    steps: Sequence[int] = STEPS,
    lengths: Sequence[int] = LENGTHS,
) -> dict[str, Any]:
    """Train one model; return the share of right letters after each of `steps`, by length."""
    start = time.process_time()
    training = code["train_to_copy"](plan.size, plan.attend, longest=max(lengths))
    right = []
    for step, model in enumerate(training, start=1):
        if step in steps:
            shares = [code["share_right"](model, length).mean().item() for length in lengths]
            right.append([round(share, 4) for share in shares])
        if step == max(steps):
            break
    seconds = round(time.process_time() - start)
    return {**asdict(plan), "right": right, "seconds": seconds}


def main() -> None:
    """Train all, print how far each one gets, and write the results."""
    torch.set_num_threads(1)
    code, runs = chapter_code(CHAPTER, CELLS), []
    for plan in PLANS:
        runs.append(run(plan, code))
        print(plan, runs[-1]["seconds"], "s", *runs[-1]["right"][-1], flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    tables = {"lengths": list(LENGTHS), "steps": list(STEPS), "runs": runs}
    write_json(RESULTS, {**tables, "conditions": conditions()})
    print(f"written: {RESULTS.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
