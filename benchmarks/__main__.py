"""Run all benchmarks on every device of this machine: `python -m benchmarks --help`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch

from benchmarks import cases, report


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write and print; the status is 1 if a ratio is not what is asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--repetitions", type=int, default=9, help="runs of each side (default: %(default)s)"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path(__file__).parent,
        help="folder for results.json and RESULTS.md (default: %(default)s)",
    )
    options = parser.parse_args(arguments)
    if options.repetitions < 2:
        parser.error(f"--repetitions must be at least 2, got {options.repetitions}")

    torch.set_num_threads(1)
    devices = [torch.device("cpu")]
    if torch.cuda.is_available():
        devices.append(torch.device("cuda"))
    results = []
    for device in devices:
        for case in (cases.attention, cases.transformer):
            row = case(device, options.repetitions)
            results.append(row)
            print(
                f"{row.device}: {row.what} / {row.against}: {row.ratio.median:.2f} "
                f"({row.ratio.lower:.2f} to {row.ratio.upper:.2f}), asked {row.asked}",
                flush=True,
            )
    for path in report.write(results, options.output):
        print(f"written: {path}")
    return 0 if all(row.met for row in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
