"""Relations between a single wrong number and the right one, seen over all failing cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations_with_replacement

import numpy as np

from transformer_ref.checks.relations.evidence import Pair, Relation
from transformer_ref.checks.relations.naming import factors, offsets

# A law in so many arguments needs some more cases than arguments before it is none by chance.
SPARE_CASES = 2
CLOSE = 1e-6
LARGEST_COEFFICIENT = 12

FUNCTIONS: dict[str, Callable[[float], float]] = {
    "the exponential of {}": math.exp,
    "the natural logarithm of {}": math.log,
    "the square of {}": lambda number: number**2,
    "the square root of {}": math.sqrt,
    "1 divided by {}": lambda number: 1 / number,
    "1 minus {}": lambda number: 1 - number,
    "a hundred times {}": lambda number: 100 * number,
    # A 0 may be there for any reason.
    "the whole part of {}": lambda number: math.floor(number) or math.nan,
    "{} rounded to a whole number": lambda number: round(number) or math.nan,
    "2 to the power of {}": lambda number: 2.0**number,
    "the absolute value of {}": abs,
}


def _numbers(pair: Pair) -> tuple[float, float] | None:
    """Return both numbers, where they are two."""
    both = (pair.received, pair.expected)
    if all(isinstance(each, np.ndarray) and each.shape == () for each in both):
        both = (float(both[0]), float(both[1]))
    if any(type(each) not in (int, float) for each in both):
        return None
    if any(not math.isfinite(each) or abs(each) > 1e100 for each in both):
        return None
    return float(both[0]), float(both[1])


def _close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=CLOSE, abs_tol=1e-12)


def simple(pair: Pair) -> Iterator[Relation]:
    """A factor, a difference, a function."""
    both = _numbers(pair)
    if both is None:
        return
    mine, right = both
    if mine == -right:
        yield Relation("negative", f"{pair.name} is the negative of the right one: turn a sign")
    if right and mine and mine != -right:
        for text in factors(mine / right, pair.sizes):
            yield Relation("factor", f"{pair.name} is the right one {text}")
    for text in offsets(mine - right, pair.sizes):
        yield Relation("offset", f"{pair.name} is {text}")
    for text, function in FUNCTIONS.items():
        missing = f"the right {pair.name} is {text.format('yours')}, as if this step were missing"
        for one, other, key, said in (
            (mine, right, "function", f"{pair.name} is {text.format('the right one')}"),
            (right, mine, "function-missing", missing),
        ):
            try:
                if _close(one, function(other)):
                    yield Relation(key, said)
            except (ValueError, OverflowError, ZeroDivisionError, TypeError):
                continue


def from_arguments(pair: Pair) -> Iterator[Relation]:
    """An argument, or what is left to one."""
    both = _numbers(pair)
    if both is None:
        return
    mine, right = both
    for name, size in pair.sizes.items():
        if mine == size:
            yield Relation("input", f"{pair.name} is {name} itself")
        for less in (0, 1):
            if mine == size - less - right:
                rest = f"{name} - {less}" if less else name
                yield Relation("other-end", f"{pair.name} is {rest} minus the right one")
    yield Relation("constant", f"{pair.name} is {mine:.6g} whatever the arguments are")


def coarse(pair: Pair) -> Iterator[Relation]:
    """Off by very little."""
    both = _numbers(pair)
    if both is None:
        return
    mine, right = both
    if right and abs(mine - right) <= 0.02 * abs(right):
        yield Relation("nearly", f"{pair.name} is nearly right, off by less than 2%")


LOOKS = (simple, from_arguments)
WEAK = (coarse,)


def laws(pairs: Sequence[Pair]) -> Relation | None:
    """Find in which way the error hangs on the arguments: a product of powers, as factor or sum.

    Args:
        pairs: of one number, one from each failing case.

    Returns:
        the relation, or None.
    """
    both = [_numbers(pair) for pair in pairs]
    if any(each is None for each in both) or len(pairs) < 4:
        return None
    mine, right = np.array(both, dtype=np.float64).T
    names = [name for name in pairs[0].sizes if all(name in pair.sizes for pair in pairs)]
    values = {name: np.array([pair.sizes[name] for pair in pairs]) for name in names}
    values = {name: each for name, each in values.items() if len(set(each.tolist())) > 1}
    name = pairs[0].name
    return _difference(name, mine - right, values) or _quotient(name, mine, right, values)


def _difference(name: str, off: np.ndarray, values: Mapping[str, np.ndarray]) -> Relation | None:
    """A whole number times a product of at most three arguments, too much or too little."""
    if not (off != 0).all() or not ((off > 0).all() or (off < 0).all()):
        return None
    for count in (1, 2, 3):
        for chosen in combinations_with_replacement(values, count):
            term = np.prod([values[each] for each in chosen], axis=0)
            if not (term != 0).all():
                continue
            times = off / term
            spread = len({f"{each:.9g}" for each in term})
            if np.ptp(times) > CLOSE * abs(times[0]) or spread < 1 + SPARE_CASES:
                continue
            text = _coefficient(abs(float(times[0])))
            if text is not None:
                way = "large" if times[0] > 0 else "small"
                said = " * ".join([*([text] if text else []), *chosen])
                return Relation("law", f"{name} is too {way} by {said} in every failing case")
    return None


def _coefficient(times: float) -> str | None:
    """Write a whole number or a half, "" for 1, None for anything else."""
    if _close(times, 1.0):
        return ""
    for text, number in (("1/2", 0.5), ("1/4", 0.25), ("3/2", 1.5)):
        if _close(times, number):
            return text
    whole = round(times)
    return str(whole) if 2 <= whole <= LARGEST_COEFFICIENT and _close(times, whole) else None


def _quotient(
    name: str, mine: np.ndarray, right: np.ndarray, values: Mapping[str, np.ndarray]
) -> Relation | None:
    """Powers of arguments, in halves, times a number."""
    names = [each for each, numbers in values.items() if (numbers > 0).all()]
    if not (right != 0).all() or not (mine / right > 0).all() or not 0 < len(names) <= 4:
        return None
    logarithms = np.log([values[each] for each in names]).T
    matrix = np.column_stack([logarithms, np.ones(len(mine))])
    if len(mine) < len(names) + 1 + SPARE_CASES or np.linalg.matrix_rank(matrix) <= len(names):
        return None
    wanted = np.log(mine / right)
    powers = np.linalg.lstsq(matrix, wanted, rcond=None)[0]
    halves = np.round(2 * powers[:-1]) / 2
    rest = wanted - logarithms @ halves
    if np.ptp(rest) > 1e-5 or not halves.any() or np.abs(halves).max() > 4:
        return None
    if len({f"{each:.6g}" for each in wanted}) < 1 + SPARE_CASES:
        return None
    said = " * ".join(
        each if power == 1 else f"{each}^{power:g}"
        for each, power in zip(names, halves, strict=True)
        if power
    )
    constant = math.exp(float(rest.mean()))
    text = "" if _close(constant, 1.0) else f"{constant:.4g} * "
    return Relation("law", f"{name} is the right one times {text}{said} in every failing case")
