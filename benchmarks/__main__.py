"""Measure speed and memory, and write the results: `python -m benchmarks --help`.

Every case runs on each device of this machine on which it makes sense.
What a run does not measure stays in the results as it was, with the date of its own run.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from benchmarks import report
from benchmarks.cases import CASES
from benchmarks.rows import Row, Setting, not_measured
from transformer_ref.experiments import results


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write and print; the status is 1 if a figure is not what is asked."""
    options = parse(arguments)
    torch.set_num_threads(1)
    conditions = results.conditions(("transformers", "gensim"))
    old, new = report.read(options.output), []
    for name in options.only:
        for row in measure(name, options):
            new.append(replace(row, conditions=conditions))
            against = f" / {row.against}" if row.against else ""
            asked = f", asked {row.asked}" if row.asked else ""
            print(f"{name} on {row.device}: {row.what}{against}", flush=True)
            print(f"    {report.describe(row)}{asked}", flush=True)
        # After each case, so that an interrupted run keeps what it has measured.
        paths = report.write(report.merge(old, new, list(CASES)), options.output)
    for path in paths:
        print(f"written: {path}")
    return 1 if any(row.failed for row in new) else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only",
        nargs="+",
        choices=CASES,
        default=list(CASES),
        metavar="CASE",
        help=f"some of {', '.join(CASES)} (default: all)",
    )
    parser.add_argument(
        "--device",
        nargs="+",
        choices=("cpu", "cuda"),
        default=["cpu", "cuda"],
        help="where to measure (default: both)",
    )
    parser.add_argument(
        "--repetitions",
        type=int,
        default=9,
        help="runs of each side of a quick case; slow cases take fewer (default: %(default)s)",
    )
    parser.add_argument(
        "--slow-bfloat16",
        action="store_true",
        help="measure bfloat16 where the processor has no instructions for it too",
    )
    parser.add_argument(
        "--multi30k", type=Path, metavar="FOLDER", help="the data, to train on them on a GPU"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path(__file__).parent,
        help="folder for the results (default: %(default)s)",
    )
    options = parser.parse_args(arguments)
    if options.repetitions < 2:
        parser.error(f"--repetitions must be at least 2, got {options.repetitions}")
    return options


def measure(name: str, options: argparse.Namespace) -> Iterator[Row]:
    """Run one case on each device that was asked for."""
    case = CASES[name]
    for device in case.devices:
        if device not in options.device:
            continue
        if device == "cuda" and not torch.cuda.is_available():
            if case.devices == ("cuda",):  # else the rows of the processor stand for the case
                yield not_measured(name, device, case.what, "", "this machine has no CUDA device")
            continue
        yield from case.run(
            Setting(
                torch.device(device),
                options.repetitions,
                options.slow_bfloat16,
                options.multi30k,
            )
        )
        gc.collect()


if __name__ == "__main__":
    raise SystemExit(main())
