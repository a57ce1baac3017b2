"""Names for a number that turns up as a factor or a difference: 2, the root of a size, a size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from transformer_checks.judging.facts import Name, Term

# Relative; a factor is a quotient of two rounded numbers.
CLOSE = 2e-4

CONSTANTS: dict[Name, float] = {
    "2": 2.0,
    "3": 3.0,
    "4": 4.0,
    "5": 5.0,
    "6": 6.0,
    "8": 8.0,
    "10": 10.0,
    "100": 100.0,
    Term("root", of="2"): math.sqrt(2),
    Term("root", of="10"): math.sqrt(10),
    "pi": math.pi,
    "pi / 180": math.pi / 180,
    "ln(2)": math.log(2),
    "ln(10)": math.log(10),
    "e": math.e,
}


def factors(value: float, sizes: Mapping[Name, float]) -> Iterator[Term]:
    """Name a factor.

    Args:
        value: the factor.
        sizes: numbers of the case, by name.

    Yields:
        such as times 2, divided by sqrt(K), times B * T; each that fits.
    """
    if value < 0:
        for rest in factors(-value, sizes):
            yield Term("times-minus-1", rest=rest)
        return
    if not 0 < value < math.inf:
        return
    for formula, number in _numbers(sizes):
        if math.isclose(value, number, rel_tol=CLOSE):
            yield Term("times", by=formula)
        if math.isclose(value * number, 1, rel_tol=CLOSE):
            yield Term("divided", by=formula)


def offsets(value: float, sizes: Mapping[Name, float]) -> Iterator[Term]:
    """Name a difference, as "too large by 1"; each name that fits."""
    way = "too-large-by" if value > 0 else "too-small-by"
    value = abs(value)
    whole = round(value)
    if 1 <= whole <= 10 and math.isclose(value, whole, rel_tol=CLOSE):
        yield Term(way, by=whole)
    for name, number in sizes.items():
        for times, by in ((1.0, name), (2.0, ("2 * ", name)), (0.5, Term("half", of=name))):
            if abs(number) > 1 and math.isclose(value, times * abs(number), rel_tol=CLOSE):
                yield Term(way, by=by)


def _numbers(sizes: Mapping[Name, float]) -> Iterator[tuple[Any, float]]:
    """Go through the numbers that a factor may be, simple ones first."""
    yield from CONSTANTS.items()
    above_one = {name: number for name, number in sizes.items() if 1 < number < 1e9}
    for name, number in above_one.items():
        yield name, number
        yield ("sqrt(", name, ")"), math.sqrt(number)
        yield (name, "^2"), number**2
        yield (name, " / (", name, " - 1)"), number / (number - 1)
        if number > 2:
            yield ("(", name, " - 1)"), number - 1
        yield ("(", name, " + 1)"), number + 1
    for (one, first), (other, second) in combinations(above_one.items(), 2):
        yield (one, " * ", other), first * second
        yield ("sqrt(", one, " * ", other, ")"), math.sqrt(first * second)
        yield (one, " / ", other), first / second
        yield ("sqrt(", one, " / ", other, ")"), math.sqrt(first / second)
        for third, last in above_one.items():
            if isinstance(third, Term):  # how many labels are no padding
                yield (one, " * ", other, " / ", third), first * second / last
    for name, number in sizes.items():
        if 0 < number < 1:
            yield name, number
            yield ("1 - ", name), 1 - number
