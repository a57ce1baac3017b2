"""Reads what ``make capstone`` has stored: rates, their spread, and time."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import mean, stdev
from typing import Any

from transformer_ref.experiments.results import load_results

Run = Mapping[str, Any]


def runs_by_name() -> dict[str, list[Run]]:
    """Return the stored runs of each system, a run for each seed."""
    runs: defaultdict[str, list[Run]] = defaultdict(list)
    for run in load_results("capstone")["runs"]:
        runs[run["name"]].append(run)
    return dict(runs)


def rates(runs: Sequence[Run], key: str = "per", split: str = "dev") -> list[float]:
    """Return an error rate of each run, in percent.

    Args:
        runs: of one system.
        key: "per" or "wer".
        split: "dev" or "test".
    """
    return [100 * run[split][key] for run in runs]


def spread(systems: Sequence[Sequence[float]]) -> float:
    """Return the standard deviation of one run around the mean of its system.

    Args:
        systems: the rates of each system's runs; all systems have as many, and scatter alike.
    """
    return math.sqrt(mean(stdev(runs) ** 2 for runs in systems))


def seconds_by_size(measured: Run, epochs: int, larger: Run) -> float:
    """Estimate how long a larger model's training would have taken where a small one's was timed.

    A step costs about 6 operations for each parameter and token, so the time grows with the
    parameters and the passes. That is an upper estimate: large matrices use a processor better.

    Args:
        measured: the small model's run, with its "seconds" and "parameters".
        epochs: its passes over the examples.
        larger: results of the other run, with "parameters" and its "training".
    """
    operations = larger["parameters"] * larger["training"]["epochs"]
    seconds: float = measured["seconds"] * operations / (measured["parameters"] * epochs)
    return seconds
