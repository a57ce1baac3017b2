"""What the capstone's notebook calls: whether to train, and the points for its two files."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

from transformer_checks.capstone.ablation import (
    CRITERIA,
    REPORT_FILE,
    REPORT_POINTS,
    SIDES,
    Ablation,
    read_ablation,
    two_standard_errors,
)
from transformer_checks.capstone.predictions import read_gold, read_predictions
from transformer_checks.capstone.reading import HandedInError
from transformer_checks.capstone.scoring import (
    FILE,
    POINTS,
    next_step,
    report,
    score_predictions,
)
from transformer_checks.notebook import as_value, is_graded
from transformer_ref.data import Entry, load_cmudict


def should_train(path: str | Path = FILE, again: bool = False) -> bool:
    """Say whether a notebook should train now, and print why not.

    When a notebook is graded its cells run from the top. The file that was handed in counts then,
    and what takes an hour must not run again.

    Args:
        path: the file that the training makes.
        again: train although it is there.

    Returns:
        False while nbgrader grades or validates; else whether the file is missing or `again`.
    """
    if is_graded():
        print("Not trained: while the notebook is graded, the file that was handed in counts.")
        return False
    if Path(path).exists() and not again:
        print(f"Not trained: {Path(path).name} is there. To make it anew, say again=True.")
        return False
    return True


def check_predictions(
    path: str | Path = FILE, points: float = POINTS, gold: str | Path | None = None
) -> float:
    """Judge a file in a notebook: print what there is to say and return the points.

    Args:
        path: the file; see :func:`~transformer_checks.capstone.predictions.read_predictions`.
        points: what the last step is worth.
        gold: a file of other words with their pronunciations, see
            :func:`~transformer_checks.capstone.predictions.read_gold`; None = the test words of
            the dictionary.

    Returns:
        a float in [0, points], as :func:`transformer_checks.check` returns it.

    Raises:
        ValueError: if `points` is no number from 0 up, or `gold` cannot be read. Whatever is in
            the file at `path` is never an exception.
    """
    worth = _worth(points)
    entries = load_gold(gold)
    try:
        score = score_predictions(read_predictions(path, [word for word, _ in entries]), entries)
    except HandedInError as error:
        print(f"{error}\nPoints: 0 of {worth:g}")
        return as_value(0.0)
    earned = round(worth * score.points / POINTS, 4)
    print(
        f"{report(score)}\n\nPoints: {round(earned, 2):g} of {worth:g}\n{next_step(score)}".rstrip()
    )
    return as_value(earned)


def check_ablation(path: str | Path = REPORT_FILE, points: float = REPORT_POINTS) -> float:
    """Judge a report in a notebook: print what there is to say and return the points.

    Args:
        path: the file; see :func:`~transformer_checks.capstone.ablation.read_ablation`.
        points: what a report without faults is worth.

    Returns:
        a float in [0, points], as :func:`transformer_checks.check` returns it.

    Raises:
        ValueError: if `points` is no number from 0 up. Whatever is in the file is never an
            exception.
    """
    worth = _worth(points)
    try:
        ablation = read_ablation(path)
    except HandedInError as error:
        print(f"{error}\nPoints: 0 of {worth:g}")
        return as_value(0.0)
    earned = round(worth * ablation.points / REPORT_POINTS, 4)
    print(f"{_describe(ablation)}\n\nPoints: {round(earned, 2):g} of {worth:g}")
    return as_value(earned)


def _worth(points: float) -> float:
    worth = float(points)
    if not 0.0 <= worth < float("inf"):
        raise ValueError(f"points must be a number from 0 up, got {points!r}")
    return worth


def _describe(ablation: Ablation) -> str:
    """Show the rates, then each criterion with what is wrong there."""
    lines = []
    for side, rates in zip(SIDES, ablation.rates or (), strict=False):
        shown = "  ".join(f"{rate:.4f}" for rate in rates)
        lines.append(f"{side + ':':<9}{shown}   mean {mean(rates):.4f}")
    if ablation.rates:
        without, changed = ablation.rates
        gap, limit = mean(changed) - mean(without), two_standard_errors(without, changed)
        lines += [f"difference {gap:+.4f}, two standard errors {limit:.4f}", ""]
    for criterion in CRITERIA:
        lines.append(f"{'no ' if criterion in ablation.lost else 'yes'}  {criterion}")
        faults = [str(each) for each in ablation.problems if each.kind == criterion]
        if criterion in ablation.lost and not faults:
            faults = ["not computed, as the rates are not in order"]
        lines += [f"     {fault}" for fault in faults]
    return "\n".join(lines)


def load_gold(path: str | Path | None = None) -> list[Entry]:
    """Return the words to pronounce, with their listed pronunciations.

    Args:
        path: a file of words; None = the test words of the dictionary.

    Returns:
        The words.

    Raises:
        HandedInError: if the file cannot be read; it is a ValueError.
    """
    return load_cmudict("test") if path is None else read_gold(path)
