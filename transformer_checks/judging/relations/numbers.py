"""Relations between a single wrong number and the right one, seen over all failing cases."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from transformer_checks.judging.facts import Name, Relation, Term
from transformer_checks.judging.relations.evidence import Pair, where

# A law in so many arguments needs some more cases than arguments before it is none by chance.
SPARE_CASES = 2
CLOSE = 1e-6
LARGEST_COEFFICIENT = 12


def _numbers(pair: Pair) -> tuple[float, float] | None:
    """Return both numbers, where they are two."""
    both = (pair.received, pair.expected)
    if any(not isinstance(each, np.ndarray) or each.ndim for each in both):
        return None
    return (float(both[0]), float(both[1])) if np.isfinite(both).all() else None


def _close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=CLOSE, abs_tol=1e-12)


@where(_numbers)
def constant(pair: Pair, both: tuple[float, float]) -> Iterator[Relation]:
    """An argument, or the same number in every case."""
    mine = both[0]
    for name, size in pair.sizes.items():
        if mine == size:
            yield pair.relation("input.size", size=name)
    yield pair.relation("constant.value", value=f"{mine:.6g}")


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
    pair = pairs[0]
    return _difference(pair, mine - right, values) or _quotient(pair, mine, right, values)


def _difference(pair: Pair, off: np.ndarray, values: Mapping[Name, np.ndarray]) -> Relation | None:
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
                way = Term("large" if times[0] > 0 else "small")
                factors = (text, *chosen) if text else chosen
                return pair.relation("law.difference", way=way, factors=factors)
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
    pair: Pair, mine: np.ndarray, right: np.ndarray, values: Mapping[Name, np.ndarray]
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
    factors: list[Any] = [
        each if power == 1 else (each, f"^{power:g}")
        for each, power in zip(names, halves, strict=True)
        if power
    ]
    constant = math.exp(float(rest.mean()))
    if not _close(constant, 1.0):
        factors.insert(0, f"{constant:.4g}")
    return pair.relation("law.quotient", factors=tuple(factors))
