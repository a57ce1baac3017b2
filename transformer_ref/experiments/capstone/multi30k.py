"""Train German to English on Multi30k and write the scores: ``make multi30k DATA=folder``.

The training follows transformer_ref/assets/configs/multi30k.toml.
The length penalty of beam search is chosen on val; test 2016 is looked at once for each search.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from transformer_ref.applications.command_line import load_pairs
from transformer_ref.applications.settings import Settings, read_settings
from transformer_ref.applications.translation import (
    Pair,
    Translator,
    train_tokenizers,
    train_translator,
)
from transformer_ref.data import Split
from transformer_ref.device import pick_device
from transformer_ref.experiments.results import ASSETS, conditions
from transformer_ref.files import write_json

RESULTS = ASSETS / "multi30k" / "results.json"
PENALTIES = (0.0, 0.5, 1.0, 1.5)


def train(
    settings: Settings, run_dir: Path, splits: dict[Split, list[Pair]], device: torch.device
) -> dict[str, Any]:
    """Train, or find the run done; return its results with the seconds that it took."""
    path = run_dir / "results.json"
    if path.exists():
        return dict(json.loads(path.read_text(encoding="utf-8")))
    if (run_dir / "last.pt").exists():
        raise ValueError(f"{run_dir} holds an unfinished run, whose time is not known: delete it")
    # On a CPU others may be at work too, so what this process used of it is counted.
    clock = time.process_time if device.type == "cpu" else time.perf_counter
    start = clock()
    tokenizers = train_tokenizers(splits["train"], **asdict(settings.tokenizer))
    results = train_translator(
        run_dir, splits, tokenizers, settings.model, settings.training, device=device
    )
    results["seconds"] = round(clock() - start)
    write_json(path, results)
    return results


def score(
    translator: Translator, splits: dict[Split, list[Pair]], beam_size: int
) -> dict[str, dict[str, Any]]:
    """Score test with greedy and with beam search, its length penalty the best on val."""

    def bleu_of_val(penalty: float) -> float:
        return translator.evaluate(splits["dev"], beam_size, penalty).bleu.score

    on_val = {penalty: bleu_of_val(penalty) for penalty in PENALTIES}
    best = max(PENALTIES, key=lambda penalty: on_val[penalty])
    return {
        "greedy": asdict(translator.evaluate(splits["test"])),
        "beam": {
            "beam_size": beam_size,
            "length_penalty": best,
            "val_bleu": {str(penalty): bleu for penalty, bleu in on_val.items()},
            **asdict(translator.evaluate(splits["test"], beam_size, best)),
        },
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, score, write; see --help."""
    parser = argparse.ArgumentParser(prog="make multi30k", description=__doc__)
    parser.add_argument("--data", required=True, help="the folder with train.de, train.en ...")
    parser.add_argument("--config", default="multi30k", help="a name or a TOML file")
    parser.add_argument("--run-dir", type=Path, default=Path("runs/multi30k"))
    parser.add_argument("--output", type=Path, default=RESULTS, help=f"default: {RESULTS}")
    parser.add_argument("--device", type=torch.device, default=pick_device())
    parser.add_argument("--threads", type=int, default=1, help="on a CPU; default: 1")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)
    try:
        settings = read_settings(options.config)
        settings = replace(settings, data=replace(settings.data, folder=options.data))
        splits: dict[Split, list[Pair]] = {
            split: load_pairs(settings, split) for split in ("train", "dev", "test")
        }
        run = train(settings, options.run_dir, splits, options.device)
        translator = Translator.from_pretrained(options.run_dir, options.device)
        scores = score(translator, splits, settings.decoding.beam_size)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    write_json(
        options.output,
        {
            "what": "Multi30k, German to English, test_2016_flickr",
            "conditions": conditions(),
            "seconds_of_training": run["seconds"],
            "parameters": run["parameters"],
            "tokenizer": asdict(settings.tokenizer),
            "model": run["model"],
            "training": run["training"],
            "steps": run["steps"],
            "test": scores,
        },
    )
    for name, found in scores.items():
        for key in ("bleu", "bleu_lowercase", "chrf"):
            print(f"{name}: {found[key]['name']} {found[key]['score']:.2f} ", end="")
            print(f"({found[key]['signature']})")
    print(f"written: {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
