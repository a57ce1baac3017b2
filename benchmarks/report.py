"""Write what was measured: results.json for programs, RESULTS.md and a figure for people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks import scaling
from benchmarks.rows import TIME_RATIO, Row
from transformer_ref.files import write_json, write_text

FIGURE = "throughput.svg"


def merge(old: Iterable[Row], new: Iterable[Row], order: Sequence[str]) -> list[Row]:
    """Put new rows in the place of old ones of the same case and device; keep the others.

    Rows without a figure never replace rows with one, which another machine has measured.

    Args:
        old: rows of earlier runs.
        new: rows of this run.
        order: names of all cases; rows of others are dropped.

    Returns:
        The rows by case, then by device.
    """
    groups: dict[tuple[str, str], list[Row]] = {}
    for rows in (old, new):
        found: dict[tuple[str, str], list[Row]] = {}
        for row in rows:
            found.setdefault((row.case, row.device), []).append(row)
        for key, group in found.items():
            if key not in groups or any(row.value is not None for row in group):
                groups[key] = group
    keys = sorted((key for key in groups if key[0] in order), key=lambda k: (order.index(k[0]), k))
    return [row for key in keys for row in groups[key]]


def read(folder: Path) -> list[Row]:
    """Read the rows of earlier runs; none if there was none.

    Raises:
        ValueError: if results.json is damaged.
    """
    path = folder / "results.json"
    if not path.exists():
        return []
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return [Row.from_dict(values) for values in content["results"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} holds no results: {error}; delete it to start anew") from error


def describe(row: Row) -> str:
    """The figure of a row in words, or why there is none."""
    if row.value is None:
        return f"not measured: {row.note}"
    figure = f"{row.value:.2f}" + ("" if row.unit == TIME_RATIO else f" {row.unit}")
    return figure + (f" ({row.note})" if row.note else "")


def markdown(rows: Sequence[Row]) -> str:
    """The table, and under it how, where and when its rows were measured."""
    places: list[dict[str, str | int]] = []
    lines = [
        "# Speed and memory against peers",
        "",
        "Written by `make bench`; every figure with what belongs to it stands in `results.json`.",
        "",
        "| What | Against | Measured | Quartiles | Asked | Met | Device | Run |",
        "| --- | --- | --- | ---: | ---: | --- | --- | ---: |",
    ]
    for row in rows:
        if row.conditions not in places:
            places.append(row.conditions)
        spread = "{:.2f} to {:.2f}".format(*row.quartiles) if row.quartiles else ""
        met = {True: "yes", False: "no", None: ""}[row.met]
        cells = (row.what, row.against, describe(row), spread, row.asked, met, row.device)
        lines.append(f"| {' | '.join(cells)} | {places.index(row.conditions) + 1} |")
    lines += [
        "",
        "A figure without a unit is the time of the first over the time of the second:",
        "the median over runs by turns in one process, after one run of each that is not timed.",
        "On a processor the time is processor time of one thread, on CUDA that between two events.",
        "",
    ]
    if any(row.case == "throughput" for row in rows):
        lines += [f"![Tokens a second against sequence length and batch]({FIGURE})", ""]
    lines += ["## Runs", ""]
    for number, place in enumerate(places, start=1):
        described = ", ".join(f"{name} {value}" for name, value in place.items())
        lines.append(f"{number}. {described}")
    return "\n".join([*lines, ""])


def write(rows: Sequence[Row], folder: Path) -> list[Path]:
    """Write all files, each whole or not at all.

    Returns:
        The paths: results.json, RESULTS.md, and the figure if there is something to draw.

    Raises:
        OSError: if the folder cannot be written; what was there before stays.
    """
    folder.mkdir(parents=True, exist_ok=True)
    table, data, figure = (folder / name for name in ("RESULTS.md", "results.json", FIGURE))
    write_json(data, {"results": [row.as_dict() for row in rows]})
    write_text(table, markdown(rows))
    drawn = [row for row in rows if row.case == "throughput" and row.value is not None]
    if not drawn:
        return [data, table]
    scaling.draw(drawn, figure)
    return [data, table, figure]
