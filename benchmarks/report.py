"""Write what was measured: results.json for programs, RESULTS.md for people."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Sequence
from pathlib import Path

import torch

from benchmarks.cases import Result
from transformer_ref.files import write_json, write_text


def processor_name() -> str:
    """The name of the processor, as Linux has it, else as Python has it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def conditions() -> dict[str, str | int]:
    """Say on what machine and with what versions the ratios were measured."""
    gpu = {"gpu": torch.cuda.get_device_name()} if torch.cuda.is_available() else {}
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "processor": processor_name(),
        "threads": torch.get_num_threads(),
        **gpu,
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def markdown(results: Sequence[Result], measured: dict[str, str | int]) -> str:
    """The table, and under it how it was measured."""
    lines = [
        "# Speed against peers",
        "",
        "Written by `make bench`.",
        "",
        "| What | Against | Time ratio | Quartiles | Asked | Met | Device |",
        "| --- | --- | ---: | ---: | ---: | --- | --- |",
    ]
    for row in results:
        ratio = row.ratio
        lines.append(
            f"| {row.what} | {row.against} | {ratio.median:.2f} "
            f"| {ratio.lower:.2f} to {ratio.upper:.2f} | {row.asked} "
            f"| {'yes' if row.met else 'no'} | {row.device} |"
        )
    lines += [
        "",
        "A ratio is the time of the first over the time of the second:",
        "the median over runs by turns in one process, after one run of each that is not timed.",
        "On a processor the time is processor time of one thread, on CUDA that between two events.",
        "",
        *(f"- {name}: {value}" for name, value in measured.items()),
        "",
    ]
    return "\n".join(lines)


def write(results: Sequence[Result], folder: Path) -> tuple[Path, Path]:
    """Write both files, each whole or not at all.

    Returns:
        The paths of results.json and RESULTS.md.

    Raises:
        OSError: if the folder cannot be written; what was there before stays.
    """
    measured = conditions()
    folder.mkdir(parents=True, exist_ok=True)
    table, data = folder / "RESULTS.md", folder / "results.json"
    write_json(data, {"conditions": measured, "results": [row.as_dict() for row in results]})
    write_text(table, markdown(results, measured))
    return data, table
