"""Throughput of a training step against sequence length and batch, with fitted exponents."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator

from benchmarks.models import describe, random_ids, sizes
from benchmarks.rows import Row, Setting, measured
from benchmarks.timing import repeated, seconds
from benchmarks.training import training_step
from transformer_ref import Transformer, TransformerConfig
from transformer_ref.files import whole_file
from transformer_ref.plotting import COLORS, MARKERS, style

AXES = {"length": "sequence length T", "batch": "batch B"}


def throughput(
    setting: Setting,
    *,
    config: TransformerConfig | None = None,
    lengths: Sequence[int] = (32, 64, 128, 256, 512, 1024, 2048, 4096),
    batches: Sequence[int] = (1, 2, 4, 8, 16, 32),
    length: int = 32,
) -> Iterator[Row]:
    """Time steps of growing size, and fit the time by a power of the size at both ends.

    The power of the length is near 1 while the projections of the tokens take the time,
    and goes towards 2 as attention does.
    """
    torch.manual_seed(0)
    config = config or sizes(256, 2, 1000, max_len=max(lengths))
    model = Transformer(config).to(setting.device).train()
    described = f"{describe(config)}, float32"

    def step(batch: int, length: int) -> Callable[[], None]:
        src, tgt_in, labels = (random_ids(config, batch, length, setting.device) for _ in range(3))
        return training_step(model, (src, tgt_in, labels))

    for axis, sweep in (
        ("length", {size: step(1, size) for size in lengths}),
        ("batch", {size: step(size, length) for size in batches}),
    ):
        tokens = [size * (1 if axis == "length" else length) for size in sweep]
        times = time_all(list(sweep.values()), tokens, setting)
        fixed = "B=1" if axis == "length" else f"T={length}"
        for part in (slice(None, 3), slice(-3, None)):  # both ends of the sweep
            points = list(sweep)[part]
            exponents = [fit_exponent(points, run[part]) for run in times]
            lower, middle, upper = statistics.quantiles(exponents, n=4, method="inclusive")
            yield measured(
                "throughput",
                setting.device,
                f"time of a training step as a power of the {axis}, "
                f"from {points[0]} to {points[-1]}: {described}, {fixed}",
                "",
                middle,
                unit="power",
                quartiles=(lower, upper),
                model=described,
                axis=axis,
                points=points,
                fixed=fixed,
                sizes=list(sweep),
                tokens=tokens,
                seconds=[statistics.median(column) for column in zip(*times, strict=True)],
            )


def time_all(
    steps: Sequence[Callable[[], object]], tokens: Sequence[int], setting: Setting
) -> list[list[float]]:
    """Time every step in each of a few rounds, short ones several times in a row."""
    loops = [max(1, max(tokens) // (4 * number)) for number in tokens]
    sides = list(zip(map(repeated, steps, loops), loops, strict=True))
    for run, _ in sides:
        run()  # not timed
    rounds = max(2, setting.repetitions // 2)
    return [[seconds(run, setting.device) / n for run, n in sides] for _ in range(rounds)]


def fit_exponent(points: Sequence[float], times: Sequence[float]) -> float:
    """The power a of times ~ points^a, by least squares of the logarithms."""
    return float(np.polyfit(np.log(points), np.log(times), 1)[0])


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw what the rows of the case hold: tokens a second, and the fits as lines.

    Args:
        rows: those of :func:`throughput`, of one device or several.
        path: an SVG file, written whole or not at all.
    """
    with plt.rc_context({"svg.hashsalt": path.stem}):  # the same numbers make the same file
        style()
        figure, axes = plt.subplots(1, 2, figsize=(7.6, 3.4), sharey=True)
        for ax, (axis, label) in zip(axes, AXES.items(), strict=True):
            for index, device in enumerate(sorted({row.device for row in rows})):
                sweep = [r for r in rows if (r.details["axis"], r.device) == (axis, device)]
                _draw_sweep(ax, sweep, device, index)
            ax.set(xscale="log", yscale="log", xlabel=label)
            ticks = next(r.details["sizes"] for r in rows if r.details["axis"] == axis)
            ax.set_xticks(ticks, [str(tick) for tick in ticks])
            ax.xaxis.minorticks_off()
            ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            ax.yaxis.set_major_formatter(lambda rate, _: f"{rate:,.0f}")
            ax.yaxis.minorticks_off()
            ax.tick_params(labelsize=8)
            ax.legend(fontsize=8)
        axes[0].set_ylabel("target tokens a second")
        figure.suptitle(f"training step: {rows[0].details['model']}", fontsize=10)
        with whole_file(path) as file:
            figure.savefig(file, format="svg", metadata={"Date": None})
        plt.close(figure)


def _draw_sweep(ax: Axes, sweep: Sequence[Row], device: str, index: int) -> None:
    """Draw the points of one device, and over them a line for each fit."""
    if not sweep:
        return
    color, marker = COLORS[index], MARKERS[index]
    series = sweep[0].details
    rates = dict(zip(series["sizes"], _rates(series), strict=True))
    label = f"{device}, {series['fixed']}"
    ax.plot(list(rates), list(rates.values()), marker, color=color, label=label)
    for row, line in zip(sweep, ("--", "-"), strict=True):
        points = np.array(row.details["points"], dtype=float)
        # Tokens grow with the size, and time with its power: their quotient has the power 1 - a.
        shape = points ** (1 - (row.value or 0.0))
        measured_there = np.array([rates[point] for point in row.details["points"]])
        scale = np.exp(np.mean(np.log(measured_there / shape)))
        name = f"time ~ {'T' if series['axis'] == 'length' else 'B'}^{row.value:.2f}"
        ax.plot(points, scale * shape, line, color=color, label=name)


def _rates(series: dict[str, Any]) -> list[float]:
    return [n / t for n, t in zip(series["tokens"], series["seconds"], strict=True)]
