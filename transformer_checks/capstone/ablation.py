"""The report on an ablation: read it, compute it again, name all that is wrong with it, write it.

A report is a file of JSON: the setting that was changed, the phoneme error rates of three seeds
with and without the change, their means, and what follows from them by the chapter's rule.
"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from statistics import mean, variance
from typing import Any, Literal, NoReturn, get_args, get_origin, get_type_hints

from transformer_checks.capstone.reading import (
    Problem,
    read_text,
    short,
    unreadable,
)
from transformer_ref.files import write_text
from transformer_ref.model import TransformerConfig
from transformer_ref.training import TrainingConfig

REPORT_FILE = "ablation.json"
REPORT_POINTS = 4
MEASURED = "PER on dev"
SEEDS = 3
MAX_RATE = 4.0  # the worst model of the chapter has 3.1
TOLERANCE = 2e-4  # of means of rates that have four decimals
VERDICTS = ("better", "worse", "within chance")
SIDES = ("without", "with")
# A point for each. The last two are computed from the rates.
CHANGE, RATES, MEANS, VERDICT = CRITERIA = (
    "the change and its seeds",
    "the rates",
    "the means and their difference",
    "the verdict",
)
# The exercise shows it; its rates are made up.
EXAMPLE: dict[str, Any] = {
    "changed": "label_smoothing",
    "measured": MEASURED,
    "seeds": [0, 1, 2],
    "without": {"value": 0.05, "rates": [0.2034, 0.1987, 0.2079], "mean": 0.2033},
    "with": {"value": 0.2, "rates": [0.2101, 0.2016, 0.2048], "mean": 0.2055},
    "difference": 0.0022,
    "verdict": "within chance",
}

_MAX_BYTES = 20_000
_TOO_LARGE = "a report takes about 400. Is it another file?"
_MAX_DIGITS = 20
_MISSING = object()
_RESULTS = resources.files("transformer_ref") / "assets" / "capstone" / "results.json"

Rates = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True)
class Ablation:
    """A report that was read.

    Attributes:
        problems: what is wrong with it, each of the kind of one of ``CRITERIA``.
        rates: those without the change and those with it; None where they are not in order.
    """

    problems: tuple[Problem, ...]
    rates: Rates | None

    @property
    def lost(self) -> frozenset[str]:
        """The criteria that are not met; without rates the last two are not."""
        computed = set() if self.rates else {MEANS, VERDICT}
        return frozenset({problem.kind for problem in self.problems} | computed)

    @property
    def points(self) -> int:
        """Of ``REPORT_POINTS``, one for each criterion that is met."""
        return len(CRITERIA) - len(self.lost)


def read_ablation(path: str | Path) -> Ablation:
    """Read a report and compute it again.

    Args:
        path: a text file in UTF-8 with an object of JSON, of the form of ``EXAMPLE``.

    Returns:
        What is wrong with it, and its rates.

    Raises:
        HandedInError: if there is no such file, it is no object of JSON, or its rates are those
            that come with the course.
    """
    path = Path(path)
    content = _parse(path)
    ablation = _judge(content)
    for side, rates in zip(SIDES, ablation.rates or (), strict=False):
        if source := _copied_from(rates):
            message = f"{side}: the rates are those of {source}; expected rates of your own runs"
            raise unreadable(path, "copied rates", message)
    return ablation


def write_ablation(
    path: str | Path,
    changed: str,
    values: Sequence[object],
    rates: Sequence[Sequence[float]],
    seeds: Sequence[int],
) -> None:
    """Compute means, difference and verdict, and write the report, whole or not at all.

    Args:
        path: the file; its folder must exist.
        changed: a setting of ``TrainingConfig`` or ``TransformerConfig``.
        values: its value without the change, and with it.
        rates: the PER on dev as fractions, for each of the two values one for each seed.
        seeds: three, the same for both.

    Raises:
        ValueError: naming what the check would refuse in such a report.
        OSError: if the file cannot be written; what was there before stays.
    """
    if len(values) != len(SIDES) or len(rates) != len(SIDES):
        raise ValueError(
            "values and rates must have two entries, without the change and with it, "
            f"got {len(values)} and {len(rates)}"
        )
    rounded = [[_round(rate) for rate in side] for side in rates]
    content: dict[str, Any] = {"changed": changed, "measured": MEASURED, "seeds": list(seeds)}
    for side, value, row in zip(SIDES, values, rounded, strict=True):
        value = list(value) if isinstance(value, tuple) else value  # JSON has no tuples
        content[side] = {"value": value, "rates": row}
    found, faults = _rates_of(content)
    faults = [*_wrong_change(content), *faults]
    if found is None or faults:
        raise ValueError("; ".join(faults))
    for side, its_rates in zip(SIDES, found, strict=True):
        content[side]["mean"] = round(mean(its_rates), 4)
    gap = mean(found[1]) - mean(found[0])
    content["difference"] = round(gap, 4)
    content["verdict"] = _verdict(gap, two_standard_errors(*found))
    write_text(Path(path), as_text(content))


def as_text(content: Mapping[str, object]) -> str:
    """Lay a report out as JSON, a line for each of its fields.

    Args:
        content: the fields.

    Returns:
        the text of the file.
    """
    lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in content.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def two_standard_errors(without: Sequence[float], changed: Sequence[float]) -> float:
    """Return what a difference of two means must pass, by the rule of the chapter.

    Args:
        without: the rates of three seeds or more without the change.
        changed: as many, with it.

    Returns:
        Twice ``s * sqrt(1 / n + 1 / n)``, where s is the standard deviation of one run around the
        mean of its side.
    """
    s = math.sqrt(mean([variance(without), variance(changed)]))
    return 2 * s * math.sqrt(2 / len(without))


def _verdict(gap: float, limit: float) -> str:
    """Say what a difference means; of error rates the smaller one is the better."""
    if abs(gap) <= limit:
        return "within chance"
    return "better" if gap < 0 else "worse"


def _round(rate: object) -> object:
    return round(rate, 4) if isinstance(rate, float) else rate


# --- reading ----------------------------------------------------------------------------------


def _parse(path: Path) -> dict[str, Any]:
    """Read an object of JSON, with each field once and without NaN."""
    text = read_text(path, _MAX_BYTES, _TOO_LARGE, (".json", ".txt"))
    try:
        content = json.loads(
            text, object_pairs_hook=_once, parse_int=_whole, parse_constant=_refuse_constant
        )
    except json.JSONDecodeError as error:
        message = f"it is not JSON: {error.msg}, at column {error.colno}"
        raise unreadable(path, "not JSON", message, error.lineno) from None
    except RecursionError:
        raise unreadable(path, "not JSON", "lists or objects are nested too deeply") from None
    except ValueError as error:  # of the functions below
        raise unreadable(path, "not JSON", f"it cannot be read: {error}") from None
    if not isinstance(content, dict):
        message = f"it holds {_shown(content)}, expected an object with fields in braces"
        raise unreadable(path, "not JSON", message)
    return content


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {short(twice)} stands in it twice, expected once")
    return fields


def _whole(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:  # Python itself refuses thousands, and says so in other words
        raise ValueError(
            f"received a number of {len(digits):,} digits, expected at most {_MAX_DIGITS}"
        )
    return int(digits)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"received {name}, which JSON does not have; expected a number")


def _is_number(value: object) -> bool:
    """Whether a value is a finite number; True and False are none."""
    # isfinite would overflow at a whole number that no float can hold.
    return type(value) is int or (isinstance(value, float) and math.isfinite(value))


def _shown(value: object) -> str:
    """Show what was received as JSON has it; what has parts could be of any size."""
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, str):
        return short(value)
    return short(json.dumps(value, default=str))[1:-1]


# --- computing it again -----------------------------------------------------------------------


def _judge(content: Mapping[str, Any]) -> Ablation:
    rates, wrong_rates = _rates_of(content)
    found = {CHANGE: _wrong_change(content), RATES: wrong_rates}
    if rates:
        found |= {MEANS: _wrong_means(content, *rates), VERDICT: _wrong_verdict(content, *rates)}
    problems = [Problem(kind, message) for kind, messages in found.items() for message in messages]
    return Ablation(tuple(problems), rates)


def _field(content: Mapping[str, Any], *names: str) -> tuple[Any, str]:
    """Return a field, in its object, and how to begin a message on what was received."""
    *outer, name = names
    place = ": ".join(names)
    for each in outer:
        if not isinstance(content.get(each), dict):
            is_there = f"is {_shown(content[each])}" if each in content else "is missing"
            message = f"{place}: received nothing, as {each!r} {is_there} and not an object,"
            return _MISSING, message
        content = content[each]
    if name not in content:
        return _MISSING, f"{place}: there is no such field,"
    return content[name], f"{place}: received {_shown(content[name])},"


def _wrong_change(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the setting, its two values, and what both sides share."""
    changed, received = _field(content, "changed")
    hints = _settings()
    known = isinstance(changed, str) and changed in hints
    if changed == "seed":
        yield f"{received} expected a setting that is no seed: these differ on both sides anyway"
    elif not known:
        yield f"{received} expected a setting of TrainingConfig or TransformerConfig"
    values = [_field(content, side, "value") for side in SIDES]
    for value, message in values:
        if value is _MISSING:
            yield f"{message} expected a value of the setting"
        elif known and not _fits(value, hints[changed]):
            yield f"{message} expected {_kind(hints[changed])}, as {changed} has"
    (before, _), (after, _) = values
    if before is not _MISSING and before == after:
        yield f"value: both sides have {_shown(before)}, expected two different values"
    yield from _wrong_conditions(content)


def _wrong_conditions(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the measure and the seeds, which are the same on both sides."""
    measured, received = _field(content, "measured")
    if measured != MEASURED:
        yield f"{received} expected {MEASURED!r}"
    seeds, received = _field(content, "seeds")
    if not isinstance(seeds, list) or len(seeds) != SEEDS:
        yield f"{received} expected a list of {SEEDS} seeds"
    elif wrong := [seed for seed in seeds if type(seed) is not int or seed < 0]:
        yield f"seeds: received {_shown(wrong[0])}, expected whole numbers from 0 up"
    elif len(set(seeds)) < SEEDS:
        yield f"seeds: received {', '.join(map(_shown, seeds))}, expected {SEEDS} different ones"


@cache
def _settings() -> dict[str, Any]:
    """The types of all settings but the seed."""
    hints = get_type_hints(TransformerConfig) | get_type_hints(TrainingConfig)
    return {name: hint for name, hint in hints.items() if name != "seed"}


def _fits(value: object, hint: Any) -> bool:
    """Whether JSON's value is of the type of a setting."""
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) is tuple:
        return (
            isinstance(value, list)
            and len(value) == len(get_args(hint))
            and all(map(_is_number, value))
        )
    if get_origin(hint) is types.UnionType:
        return any(_fits(value, option) for option in get_args(hint))
    return _is_number(value) if hint is float else type(value) is hint


def _kind(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(map(repr, get_args(hint)))
    if get_origin(hint) is tuple:
        return f"a list of {len(get_args(hint))} numbers"
    if get_origin(hint) is types.UnionType:
        return "a whole number or null"
    return {int: "a whole number", float: "a number", bool: "true or false"}[hint]


def _rates_of(content: Mapping[str, Any]) -> tuple[Rates | None, list[str]]:
    """Return the rates of both sides, or None and what is wrong with them."""
    sides, wrong = [], []
    for side in SIDES:
        rates, received = _field(content, side, "rates")
        if not isinstance(rates, list) or len(rates) != SEEDS:
            wrong.append(f"{received} expected a list of {SEEDS} rates, one for each seed")
            continue
        bad = [rate for rate in rates if not _is_number(rate) or not 0 <= rate <= MAX_RATE]
        wrong += [f"{side}: rates: received {_shown(rate)}, {_no_rate(rate)}" for rate in bad]
        sides.append(tuple(rates))
    if wrong:
        return None, wrong
    without, changed = sides
    if len({*without, *changed}) == 1:
        return None, [
            f"rates: all six are {without[0]:g}, expected those of six runs, which differ"
        ]
    return (without, changed), []


def _no_rate(received: object) -> str:
    if isinstance(received, int | float) and MAX_RATE < received <= 100 * MAX_RATE:
        return f"expected a fraction: {received / 100:g} and not {received:g} percent"
    return f"expected a fraction from 0 to {MAX_RATE:g}"


def _wrong_means(
    content: Mapping[str, Any], without: Sequence[float], changed: Sequence[float]
) -> Iterator[str]:
    """Yield what is wrong with the three numbers that come from the rates."""
    found = zip(SIDES, (mean(without), mean(changed)), strict=True)
    expected = [(*_field(content, side, "mean"), right) for side, right in found]
    difference = mean(changed) - mean(without)
    expected.append((*_field(content, "difference"), difference))
    for number, received, right in expected:
        # Compared and not subtracted: a whole number of any size may have come.
        if not _is_number(number) or not right - TOLERANCE <= number <= right + TOLERANCE:
            yield f"{received} expected {right:.4f}"


def _wrong_verdict(
    content: Mapping[str, Any], without: Sequence[float], changed: Sequence[float]
) -> Iterator[str]:
    """Yield what is wrong with the verdict; on the very limit two of them are right."""
    gap, limit = mean(changed) - mean(without), two_standard_errors(without, changed)
    right = {_verdict(gap + rounding, limit) for rounding in (-TOLERANCE, 0, TOLERANCE)}
    verdict, received = _field(content, "verdict")
    if not isinstance(verdict, str) or verdict not in VERDICTS:
        yield f"{received} expected one of {', '.join(map(repr, VERDICTS))}"
    elif verdict not in right:
        yield (
            f"{received} expected {_verdict(gap, limit)!r}: the difference is {gap:+.4f}, "
            f"two standard errors are {limit:.4f}"
        )


# --- rates that come with the course ----------------------------------------------------------


def _copied_from(rates: Sequence[float]) -> str:
    """Name whose rates these are, in any order and rounded to four decimals; "" if nobody's."""
    for source, theirs in _stored().items():
        pairs = zip(sorted(rates), theirs, strict=True)
        if all(abs(mine - yours) < TOLERANCE / 2 for mine, yours in pairs):
            return source
    return ""


@cache
def _stored() -> dict[str, list[float]]:
    """The rates of the example and of the chapter's systems, from low to high."""
    rates = {f"the example ({side})": list(EXAMPLE[side]["rates"]) for side in SIDES}
    for run in json.loads(_RESULTS.read_text(encoding="utf-8"))["runs"]:
        for split in ("dev", "test"):
            name = f"the system {run['name']!r} in the chapter, on {split}"
            rates.setdefault(name, []).append(run[split]["per"])
    # A model that says nothing has a rate of 1 with every seed, and anybody's may do so.
    return {name: sorted(each) for name, each in rates.items() if len(set(each)) > 1}
