"""Time two functions by turns, so that whatever disturbs the machine disturbs both."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Ratio:
    """How long one function takes, over how long another does.

    Attributes:
        median: of the ratios of neighbouring runs.
        lower: their first quartile.
        upper: their third quartile.
        numerator_seconds: median time of the function above the line.
        denominator_seconds: median time of the function below it.
        repetitions: runs of each.
    """

    median: float
    lower: float
    upper: float
    numerator_seconds: float
    denominator_seconds: float
    repetitions: int


Clock = Callable[[], float]


def seconds(
    function: Callable[[], object], device: torch.device, clock: Clock | None = None
) -> float:
    """Time one run: by events on CUDA, elsewhere by the processor time of this process.

    On one thread processor time is what a clock on the wall shows on an idle machine,
    and it leaves out the time that other programs take. Several threads want another `clock`.
    """
    if device.type != "cuda":
        clock = clock or time.process_time
        start = clock()
        function()
        return clock() - start
    torch.cuda.synchronize(device)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    function()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1000.0


def repeated(function: Callable[[], object], times: int) -> Callable[[], None]:
    """Call a function so many times."""

    def run() -> None:
        for _ in range(times):
            function()

    return run


def compare(
    numerator: Callable[[], object],
    denominator: Callable[[], object],
    device: torch.device,
    repetitions: int,
    warm_up: Sequence[Callable[[], object]] = (),
    clock: Clock | None = None,
) -> Ratio:
    """Run both by turns, who begins changing each time, after one run of each that is not timed.

    Args:
        numerator: what stands above the line.
        denominator: what stands below it.
        device: where they compute.
        repetitions: runs of each.
        warm_up: what to run first instead of both, where one run takes minutes.
        clock: of :func:`seconds`.

    Raises:
        ValueError: if `repetitions` is below 2, which has no spread.
    """
    if repetitions < 2:
        raise ValueError(f"repetitions must be at least 2, got {repetitions}")
    for function in warm_up or (numerator, denominator):
        function()
    above: list[float] = []
    below: list[float] = []
    for turn in range(repetitions):
        pair = [(numerator, above), (denominator, below)]
        for function, times in pair if turn % 2 == 0 else reversed(pair):
            times.append(seconds(function, device, clock))
    ratios = [a / b for a, b in zip(above, below, strict=True)]
    lower, median, upper = statistics.quantiles(ratios, n=4, method="inclusive")
    return Ratio(
        median, lower, upper, statistics.median(above), statistics.median(below), repetitions
    )
