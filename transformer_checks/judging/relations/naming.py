"""Names for a number that turns up as a factor or a difference: 2, the root of a size, a size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import combinations

# Relative; a factor is a quotient of two rounded numbers.
CLOSE = 2e-4

CONSTANTS = {
    "2": 2.0,
    "3": 3.0,
    "4": 4.0,
    "5": 5.0,
    "6": 6.0,
    "8": 8.0,
    "10": 10.0,
    "100": 100.0,
    "the root of 2": math.sqrt(2),
    "the root of 10": math.sqrt(10),
    "pi": math.pi,
    "pi / 180": math.pi / 180,
    "ln(2)": math.log(2),
    "ln(10)": math.log(10),
    "e": math.e,
}


def factors(value: float, sizes: Mapping[str, float]) -> Iterator[str]:
    """Name a factor.

    Args:
        value: the factor.
        sizes: numbers of the case, by name.

    Yields:
        such as "times 2", "divided by sqrt(K)", "times B * T"; each that fits.
    """
    if value < 0:
        for rest in factors(-value, sizes):
            yield f"times -1 and {rest}"
        return
    if not 0 < value < math.inf:
        return
    for text, number in _numbers(sizes):
        if math.isclose(value, number, rel_tol=CLOSE):
            yield f"times {text}"
        if math.isclose(value * number, 1, rel_tol=CLOSE):
            yield f"divided by {text}"


def offsets(value: float, sizes: Mapping[str, float]) -> Iterator[str]:
    """Name a difference, as "too large by 1"; each name that fits."""
    way = "too large" if value > 0 else "too small"
    value = abs(value)
    whole = round(value)
    if 1 <= whole <= 10 and math.isclose(value, whole, rel_tol=CLOSE):
        yield f"{way} by {whole}"
    for text, number in sizes.items():
        for times, said in ((1.0, ""), (2.0, "2 * "), (0.5, "half of ")):
            if abs(number) > 1 and math.isclose(value, times * abs(number), rel_tol=CLOSE):
                yield f"{way} by {said}{text}"


def _numbers(sizes: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Go through the numbers that a factor may be, simple ones first."""
    yield from CONSTANTS.items()
    above_one = {text: number for text, number in sizes.items() if 1 < number < 1e9}
    for text, number in above_one.items():
        yield text, number
        yield f"sqrt({text})", math.sqrt(number)
        yield f"{text}^2", number**2
        yield f"{text} / ({text} - 1)", number / (number - 1)
        if number > 2:
            yield f"({text} - 1)", number - 1
        yield f"({text} + 1)", number + 1
    for (one, first), (other, second) in combinations(above_one.items(), 2):
        yield f"{one} * {other}", first * second
        yield f"sqrt({one} * {other})", math.sqrt(first * second)
        yield f"{one} / {other}", first / second
        yield f"sqrt({one} / {other})", math.sqrt(first / second)
        for third, last in above_one.items():
            if "padding" in third:
                yield f"{one} * {other} / {third}", first * second / last
    for text, number in sizes.items():
        if 0 < number < 1:
            yield text, number
            yield f"1 - {text}", 1 - number
