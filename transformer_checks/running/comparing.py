"""Compare two results, arrays or plain data, and show where they first differ."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from transformer_checks.translation import later, say

Tolerance = tuple[float, float]

# A misconception shows in far more than rounding; an other order of operations must not hide it.
MATCH_SLACK = 10.0

SHOWN_NUMBERS = 4
# The whole of an answer is shown up to this many characters, else what stands around the place.
SHOWN_WHOLE = 120
SHOWN_ENTRY = 80
SHOWN_NEIGHBOURS = 3

# Of the keys of a dictionary.
ONE_MISSING = later("the key {key} is missing (its value should be {value}{more})")
SEVERAL_MISSING = later("; {count} keys are missing")
ONE_EXTRA = later("the key {key} should not be there (its value is {value}{more})")
SEVERAL_EXTRA = later("; {count} keys too many")


def same(received: Any, expected: Any, tolerance: Tolerance) -> bool:
    """Tell whether two results are the same: arrays and floats within rounding, all else exactly.

    Args:
        received: an array or plain data.
        expected: the other.
        tolerance: relative and absolute.

    Returns:
        True if so; NaN is the same as NaN. A list is not a tuple, and True is not 1.
    """
    if type(received) is not type(expected):
        return False
    if isinstance(expected, np.ndarray):
        return received.shape == expected.shape and bool(
            np.allclose(
                received.astype(np.float64),
                expected.astype(np.float64),
                rtol=tolerance[0],
                atol=tolerance[1],
                equal_nan=True,
            )
        )
    if isinstance(expected, float):
        if math.isnan(expected) or math.isnan(received):
            return math.isnan(expected) and math.isnan(received)
        return math.isclose(received, expected, rel_tol=tolerance[0], abs_tol=tolerance[1])
    if isinstance(expected, list | tuple):
        return len(received) == len(expected) and all(
            same(mine, right, tolerance) for mine, right in zip(received, expected, strict=True)
        )
    if isinstance(expected, dict):
        return received.keys() == expected.keys() and all(
            same(received[key], right, tolerance) for key, right in expected.items()
        )
    return bool(received == expected)


def difference(name: str, received: Any, expected: Any, tolerance: Tolerance) -> str:
    """Show the first place where two results differ.

    Args:
        name: of the result: a plural where it is a list, as in "tokens".
        received: an array or plain data, of the same type as `expected`.
        expected: the right result.
        tolerance: relative and absolute.

    Returns:
        one or two sentences without the last full stop.
    """
    if isinstance(expected, np.ndarray):
        return f"`{name}`{array_difference(received, expected, tolerance)}"
    if isinstance(expected, list | tuple):
        return _sequence_difference(name, received, expected, tolerance)
    if isinstance(expected, dict):
        return _dictionary_difference(name, received, expected, tolerance)
    if isinstance(expected, float) and isinstance(received, float):
        right, mine = _in_digits(
            lambda digits: (f"{expected:.{digits}g}", f"{received:.{digits}g}")
        )
    else:
        right, mine = _entry(expected), _entry(received)
    return say("`{name}`: expected {right}, received {mine}", name=name, right=right, mine=mine)


def _in_digits(write: Callable[[int], tuple[str, str]]) -> tuple[str, str]:
    """Write two results with as few digits as tell them apart."""
    written = (write(digits) for digits in (4, 8, 17))
    return next((both for both in written if both[0] != both[1]), write(17))


def array_difference(received: np.ndarray, expected: np.ndarray, tolerance: Tolerance) -> str:
    """Show the row of the first wrong number, expected and received.

    Args:
        received: numbers.
        expected: the right ones.
        tolerance: relative and absolute.

    Returns:
        the place and the numbers, to stand right behind the name of the array.
    """
    if received.shape != expected.shape:
        sizes = {"right": expected.shape, "mine": received.shape}
        return say(": expected shape {right}, received {mine}", **sizes)
    received, expected = received.astype(np.float64), expected.astype(np.float64)
    relative, absolute = tolerance
    # Not by subtraction: a finite number is infinitely far from -inf, but within its tolerance.
    wrong = ~np.isclose(received, expected, rtol=relative, atol=absolute, equal_nan=True)
    if not received.ndim:
        return difference("", float(received), float(expected), tolerance).removeprefix("``")
    *row, column = (int(index) for index in np.argwhere(wrong)[0])
    start = max(0, min(column, received.shape[-1] - SHOWN_NUMBERS))
    stop = min(start + SHOWN_NUMBERS, received.shape[-1])
    place = ", ".join([*map(str, row), f"{start}:{stop}"])
    here: Any = (*row, slice(start, stop))
    right, mine = _in_digits(
        lambda digits: (_numbers(expected[here], digits), _numbers(received[here], digits))
    )
    return f"[{place}]" + say(
        ": expected {right}, received {mine} ({count} of {total} numbers differ)",
        right=right,
        mine=mine,
        count=int(wrong.sum()),
        total=wrong.size,
    )


def _numbers(row: np.ndarray, digits: int) -> str:
    return "[" + ", ".join(f"{float(number):.{digits}g}" for number in row) + "]"


def _sequence_difference(name: str, received: Any, expected: Any, tolerance: Tolerance) -> str:
    """Compare two lists or tuples: their lengths, and the first entry that differs."""
    shorter = min(len(received), len(expected))
    pairs = zip(received, expected, strict=False)
    wrong = [number for number, pair in enumerate(pairs) if not same(*pair, tolerance)]
    first = wrong[0] if wrong else shorter
    parts = []
    if len(received) != len(expected):
        sizes = {"counted": _counted(received, name), "right": len(expected)}
        parts.append(say("your answer has {counted}, expected {right}", **sizes))
    place = f"`{name}[{first}]`"
    if wrong:
        both = {"right": _entry(expected[first]), "mine": _entry(received[first])}
        parts.append(say("{place} should be {right}, received {mine}", place=place, **both))
    elif len(received) > shorter:
        parts.append(
            say("{mine} at {place} is too much", mine=_entry(received[first]), place=place)
        )
    else:
        right = _entry(expected[first])
        parts.append(say("{right} is missing at {place}", right=right, place=place))
    both = {"right": _around(expected, first), "mine": _around(received, first)}
    return say(": ").join(parts) + say(". Expected {right}, received {mine}", **both)


def _counted(entries: Any, name: str) -> str:
    return f"{len(entries)} {name[:-1] if len(entries) == 1 and name.endswith('s') else name}"


def _dictionary_difference(name: str, received: Any, expected: Any, tolerance: Tolerance) -> str:
    """Compare two dictionaries: a key that is missing, one too much, or a wrong value."""
    missing = [key for key in expected if key not in received]
    extra = [key for key in received if key not in expected]
    wrong = [
        key
        for key in expected
        if key in received and not same(received[key], expected[key], tolerance)
    ]
    parts = []
    if wrong:
        both = {"right": _entry(expected[wrong[0]]), "mine": _entry(received[wrong[0]])}
        place = f"`{name}[{_entry(wrong[0])}]`"
        parts.append(
            say("{place} should be {right}, received {mine}", place=place, **both)
            + say(" ({count} of {total} values differ)", count=len(wrong), total=len(expected))
        )
    for keys, values, one, several in (
        (missing, expected, ONE_MISSING, SEVERAL_MISSING),
        (extra, received, ONE_EXTRA, SEVERAL_EXTRA),
    ):
        if keys:
            more = say(several, count=len(keys)) if len(keys) > 1 else ""
            parts.append(say(one, key=_entry(keys[0]), value=_entry(values[keys[0]]), more=more))
    both = {"right": repr(expected), "mine": repr(received)}
    if max(map(len, both.values())) <= SHOWN_WHOLE:
        return say("; ").join(parts) + say(". Expected {right}, received {mine}", **both)
    return say("; ").join(parts)


def _entry(value: Any) -> str:
    """Write one entry, cut where it is long."""
    text = repr(value)
    return text if len(text) <= SHOWN_ENTRY else f"{text[:SHOWN_ENTRY]}..."


def _around(values: Any, place: int) -> str:
    """Write a list or tuple, whole or only what stands around a place."""
    whole = repr(values)
    if len(whole) <= SHOWN_WHOLE:
        return whole
    start, stop = max(0, place - SHOWN_NEIGHBOURS), place + SHOWN_NEIGHBOURS + 1
    shown = [_entry(value) for value in values[start:stop]]
    before, after = ["..."] * (start > 0), ["..."] * (stop < len(values))
    left, right = "[]" if isinstance(values, list) else "()"
    return f"{left}{', '.join([*before, *shown, *after])}{right}"
