"""Relations between a wrong array and the right one of the same shape."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, permutations

import numpy as np

from transformer_checks.judging.facts import Name, Relation, Term
from transformer_checks.judging.relations.evidence import MANY, Pair, where
from transformer_checks.judging.relations.naming import factors, offsets

# Off by less than this share of the largest number, a result is nearly right.
NEARLY = 0.02
# Numbers that are called the right ones in other places differ by rounding only.
ROUNDING = 1e-5
# A factor that has no name is told in so many digits.
DIGITS = 4

Both = tuple[np.ndarray, np.ndarray]


def _softmax(array: np.ndarray, axis: int) -> np.ndarray:
    shifted = np.exp(array - array.max(axis=axis, keepdims=True))
    return shifted / shifted.sum(axis=axis, keepdims=True)


def _standardised(array: np.ndarray, axis: int) -> np.ndarray:
    centred = array - array.mean(axis=axis, keepdims=True)
    return centred / np.sqrt(centred.var(axis=axis, keepdims=True))


ROUNDED = "rounded"
FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exponential": np.exp,
    "logarithm": np.log,
    "square": np.square,
    "square-root": np.sqrt,
    "inverse": lambda array: 1 / array,
    "one-minus": lambda array: 1 - array,
    "tanh": np.tanh,
    "relu": lambda array: np.maximum(array, 0),
    ROUNDED: np.round,
}
ALONG: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "softmax": _softmax,
    "log-softmax": lambda array, axis: np.log(_softmax(array, axis)),
    "running-sum": lambda array, axis: np.cumsum(array, axis=axis),
    "by-sum": lambda array, axis: array / array.sum(axis=axis, keepdims=True),
    "by-norm": lambda array, axis: array / np.sqrt(np.square(array).sum(axis=axis, keepdims=True)),
    "less-mean": lambda array, axis: array - array.mean(axis=axis, keepdims=True),
    "standardised": _standardised,
}


def _middle(numbers: np.ndarray) -> float:
    """Return the median; numpy's own would first load its masked arrays, a fifth of a second."""
    return float(np.sort(numbers, axis=None)[numbers.size // 2])


def _arrays(pair: Pair, kinds: str = "fib") -> Both | None:
    """Return two arrays of one shape, where they hold numbers of one of these kinds."""
    mine, right = pair.received, pair.expected
    if not isinstance(mine, np.ndarray) or not isinstance(right, np.ndarray):
        return None
    fit = pair.kind in kinds and mine.shape == right.shape and mine.size > 0
    return (mine, right) if fit else None


_numbers = partial(_arrays, kinds="fi")
_floats = partial(_arrays, kinds="f")
_truths = partial(_arrays, kinds="b")


@where(_numbers)
def multiplied(pair: Pair, both: Both) -> Iterator[Relation]:
    """One number times the right result."""
    received, expected = both
    finite = np.isfinite(expected) & (np.abs(expected) > 1e-6)
    size = float(np.abs(expected[finite]).max(initial=0.0))
    large = finite & (np.abs(expected) > 0.01 * size)
    if not large.any() or not np.isfinite(received[large]).all():
        return
    factor = _middle(received[large] / expected[large])
    with np.errstate(invalid="ignore"):
        again = pair.alike(received, factor * expected)
    if not again or abs(factor) < 1e-9:
        return
    if pair.alike(received, -expected):
        yield pair.relation("negative")
        return
    for named in factors(factor, pair.sizes):
        yield pair.relation("factor", factor=named)
    alone = len({f"{each:.6g}" for each in np.abs(expected[large])}) == 1
    if not alone or not expected.ndim:
        yield pair.relation("factor", factor=Term("times", by=f"{factor:.{DIGITS}g}"))
    if not alone:
        yield pair.relation("factor.changing")


@where(_numbers)
def moved(pair: Pair, both: Both) -> Iterator[Relation]:
    """One number more than the right result."""
    received, expected = both
    finite = np.isfinite(expected)
    if not finite.any() or not np.isfinite(received[finite]).all():
        return
    offset = _middle(received[finite] - expected[finite])
    size = float(np.abs(expected[finite]).max())
    # Beside a huge number every right one is within its rounding.
    if abs(offset) > 1e3 * (1 + size) or not pair.alike(received, expected + offset):
        return
    for named in offsets(offset, pair.sizes):
        yield pair.relation("offset.each" if expected.ndim else "offset", offset=named)
    if len({f"{each:.6g}" for each in expected[finite]}) > 1:
        yield pair.relation("offset.constant")


@where(_numbers)
def computed(pair: Pair, both: Both) -> Iterator[Relation]:
    """A well-known function of the right result, or the right one such a function of it."""
    received, expected = both
    right, mine = Term("the-right-one"), Term("yours")
    for key, function in FUNCTIONS.items():
        if pair.alike(received, function(expected)) and received.any():
            yield pair.relation("function", what=Term(f"of.{key}", of=right))
        if key != ROUNDED and pair.alike(expected, function(received)):
            yield pair.relation("function-missing", what=Term(f"of.{key}", of=mine))
    for axis in range(expected.ndim):
        if expected.shape[axis] == 1:
            continue
        for key, along in ALONG.items():
            over = pair.axis(axis)
            if pair.alike(received, along(expected, axis)):
                yield pair.relation("function.along", what=Term(f"of.{key}", of=right), axis=over)
            if pair.alike(expected, along(received, axis)):
                what = Term(f"of.{key}", of=mine)
                yield pair.relation("function-missing.along", what=what, axis=over)


@where(_truths)
def inverted(pair: Pair, both: Both) -> Iterator[Relation]:
    """True where False should be, or only one of the two."""
    received, expected = both
    if (received != expected).all():
        yield pair.relation("inverted")
    if (received == 1).all():
        yield pair.relation("constant.true")
    if (received == 0).all():
        yield pair.relation("constant.false")


@where(_truths)
def mostly_too_much(pair: Pair, both: Both) -> Iterator[Relation]:
    """True at more places than should be, and nowhere the other way, or the reverse."""
    received, expected = both
    if (received >= expected).all():
        yield pair.relation("too-much")
    if (received <= expected).all():
        yield pair.relation("too-little")


@where(_arrays)
def rearranged(pair: Pair, both: Both) -> Iterator[Relation]:
    """The right numbers in another order."""
    received, expected = both
    ndim = expected.ndim
    for one in range(ndim):
        for other in range(one + 1, ndim):
            swapped = expected.swapaxes(one, other)
            if swapped.shape == expected.shape and pair.alike(received, swapped):
                yield pair.relation("transposed", one=pair.letter(one), other=pair.letter(other))
    yield from _reshaped(pair, received, expected)
    for axis in range(ndim):
        if expected.shape[axis] == 1:
            continue
        along = pair.axis(axis)
        if pair.alike(received, np.flip(expected, axis)):
            yield pair.relation("reversed", axis=along)
        yield from _rolled(pair, axis)
        if pair.alike(received, np.sort(expected, axis)):
            yield pair.relation("sorted", axis=along)
        if pair.alike(received, -np.sort(-expected, axis)):
            yield pair.relation("sorted.falling", axis=along)
        if _permuted(pair, axis):
            yield pair.relation("order", axis=along)


def _reshaped(pair: Pair, received: np.ndarray, expected: np.ndarray) -> Iterator[Relation]:
    """The right numbers, read in another order of the axes."""
    ndim = expected.ndim
    if not 2 <= ndim <= 4 or pair.kind == "b":
        return
    right = tuple(map(pair.letter, range(ndim)))
    for order in islice(permutations(range(ndim)), 1, None):  # the first one changes nothing
        if pair.alike(received, expected.transpose(order).reshape(expected.shape)):
            yield pair.relation("reshaped", mine=tuple(map(pair.letter, order)), right=right)


@where(_floats)
def elsewhere(pair: Pair, both: Both) -> Iterator[Relation]:
    """The right numbers, in no order that has a name.

    Within a task's tolerance, many numbers agree once sorted, whatever they are: they have to be
    the same but for rounding, and in half precision exactly the same.
    """
    rounding = 0.0 if pair.case.dtype == "float16" else ROUNDING
    one, other = (np.sort(each, axis=None) for each in both)
    close = np.allclose(one, other, rtol=rounding, atol=rounding, equal_nan=True)
    if both[0].ndim and pair.weight >= MANY and close:
        yield pair.relation("order.places")


def _rolled(pair: Pair, axis: int) -> Iterator[Relation]:
    """By one place, with what falls out put in again or not."""
    received, expected = pair.received, pair.expected
    size = expected.shape[axis]
    head, tail = np.arange(size - 1), np.arange(1, size)
    for way, mine, right in (("late", tail, head), ("early", head, tail)):
        if not pair.alike(received.take(mine, axis), expected.take(right, axis)):
            continue
        if not pair.alike(expected.take(mine, axis), expected.take(right, axis)):
            yield pair.relation("shifted", way=Term(way), axis=pair.axis(axis))


def _permuted(pair: Pair, axis: int) -> bool:
    """Whether the slices along an axis are the right ones in another order."""
    size = pair.expected.shape[axis]
    if size < 3 or pair.expected.size < 2 * size or pair.kind == "b":
        return False
    rows = [np.moveaxis(each, axis, 0).reshape(size, -1) for each in (pair.received, pair.expected)]
    if not all(np.isfinite(each).all() for each in rows):
        return False
    sorted_rows = [each[np.lexsort(each.round(4).T)] for each in rows]
    return pair.alike(*sorted_rows)


def copied(pair: Pair) -> Iterator[Relation]:
    """An argument itself, or one number or row again and again."""
    if not isinstance(pair.received, np.ndarray) or not pair.received.size:
        return
    for name, value in pair.case.arguments.items():
        if not isinstance(value, np.ndarray) or value.size < 2:
            continue
        if pair.alike(pair.received, value.astype(np.float64)):
            yield pair.relation("input", argument=name)
    if _numbers(pair) is None or pair.received.size == 1 or not np.isfinite(pair.received).all():
        return
    first = pair.received.flat[0]
    if (pair.received == first).all():
        which = "zeros" if first == 0 else "ones" if first == 1 else "number"
        yield pair.relation(f"constant.{which}")
        return
    for axis, size in enumerate(pair.expected.shape):
        if size == 1:
            continue
        mine, right = (each.take([0], axis) for each in (pair.received, pair.expected))
        same = pair.alike(pair.received, np.broadcast_to(mine, pair.received.shape))
        if same and not pair.alike(pair.expected, np.broadcast_to(right, pair.expected.shape)):
            yield pair.relation("independent", axis=pair.axis(axis))


@where(_arrays)
def only_at(pair: Pair, both: Both) -> Iterator[Relation]:
    """Wrong at one end, or on or beside a diagonal, and right elsewhere; or the reverse."""
    expected, wrong = both[1], pair.wrong
    for axis, size in enumerate(expected.shape):
        lines = np.asarray(np.moveaxis(wrong, axis, 0).reshape(size, -1).any(axis=1))
        along = pair.axis(axis)
        if axis == expected.ndim - 1 and size % 2 == 0:
            yield from _half_of(pair, lines, along)
        if size < 3:
            continue
        if lines[0] and not lines[1:].any():
            yield pair.relation("only-first", axis=along)
        if lines[-1] and not lines[:-1].any():
            yield pair.relation("only-last", axis=along)
        if not lines[0] and lines[1:].all():
            yield pair.relation("all-but-first", axis=along)
        if not lines[-1] and lines[:-1].all():
            yield pair.relation("all-but-last", axis=along)
    yield from _diagonal(pair)


def _half_of(pair: Pair, lines: np.ndarray, along: Name) -> Iterator[Relation]:
    """Wrong at every other place only, or in one half."""
    for start, which in ((0, "even"), (1, "odd")):
        if lines[start::2].any() and not lines[1 - start :: 2].any():
            yield pair.relation("only-every-other", which=Term(which), axis=along)
    middle = len(lines) // 2
    for mine, other, which in (
        (lines[:middle], lines[middle:], "first"),
        (lines[middle:], lines[:middle], "second"),
    ):
        if mine.any() and not other.any():
            yield pair.relation("only-half", which=Term(which), axis=along)


def _diagonal(pair: Pair) -> Iterator[Relation]:
    """Wrong on the diagonal of the last two axes only, or on one side of it."""
    shape = pair.expected.shape
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] < 3:
        return
    wrong = np.asarray(pair.wrong.reshape(-1, *shape[-2:]).any(axis=0))
    one, other = pair.axis(len(shape) - 2), pair.axis(len(shape) - 1)
    rows, columns = np.indices(shape[-2:])
    sides = {"on": rows == columns, "above": columns > rows, "below": rows > columns}
    for key, side in sides.items():
        if wrong[side].any() and not wrong[~side].any():
            yield pair.relation("diagonal", side=Term(key), one=one, other=other)


@where(_arrays)
def only_where_given(pair: Pair, _: Both) -> Iterator[Relation]:
    """Wrong only where a mask hides, or where there is padding, or only where there is not."""
    for region, chosen in _regions(pair):
        inside, outside = pair.wrong[chosen], pair.wrong[~chosen]
        if inside.any() and outside.size and not outside.any():
            yield pair.relation("only-where", where=region)


def _regions(pair: Pair) -> Iterator[tuple[Term, np.ndarray]]:
    """Name the parts of a result that masks and ids tell apart."""
    shape, pad_id = pair.expected.shape, pair.case.arguments.get("pad_id")
    for name, value in pair.case.arguments.items():
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "bi" or not value.ndim:
            continue
        marks = value if value.dtype.kind == "b" else np.asarray(value != pad_id)
        if value.dtype.kind == "i" and pad_id is None:
            continue
        for chosen in _fitted(marks, shape):
            hidden, seen = "is-false", "is-true"
            if value.dtype.kind == "i":
                hidden, seen = "is-padding", "is-no-padding"
            yield Term(hidden, name=name), ~chosen
            yield Term(seen, name=name), chosen
        if value.dtype.kind == "b" and value.ndim >= 2:
            for chosen in _fitted(np.asarray(value.any(axis=-1, keepdims=True)), shape):
                yield Term("hides-every-key", name=name), ~chosen


def _fitted(marks: np.ndarray, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    """Spread a mask over a result: from the right, or its axes from the left."""
    try:
        yield np.broadcast_to(marks, shape)
        return
    except ValueError:
        pass
    if len(marks.shape) < len(shape) and marks.shape == shape[: marks.ndim]:
        more = (1,) * (len(shape) - marks.ndim)
        yield np.broadcast_to(marks.reshape(*marks.shape, *more), shape)


@where(_floats)
def by_row(pair: Pair, both: Both) -> Iterator[Relation]:
    """Each row is a number of its own times the right one, or that much above it."""
    received, expected = both
    if not np.isfinite(both).all() or expected.ndim < 2:
        return
    for axis, size in enumerate(expected.shape):
        if size < 3:
            continue
        along = pair.axis(axis)
        square = np.square(expected).sum(axis=axis, keepdims=True)
        factor = (received * expected).sum(axis=axis, keepdims=True) / np.maximum(square, 1e-30)
        if pair.alike(received, factor * expected):
            yield pair.relation("factor-of-row", axis=along)
        offset = (received - expected).mean(axis=axis, keepdims=True)
        if pair.alike(received, expected + offset):
            yield pair.relation("offset-of-row", axis=along)


@where(_floats)
def undefined(pair: Pair, both: Both) -> Iterator[Relation]:
    """NaN or infinity where a number should be, and the rest right."""
    received, expected = both
    low = np.isfinite(received) & (expected == -np.inf)
    if low.any() and not (pair.wrong & ~low).any() and (received[low] < -1e3).all():
        yield pair.relation("not-infinite")
    bad = ~np.isfinite(received) & np.isfinite(expected)
    if not bad.any():
        return
    what = Term("nan" if np.isnan(received[bad]).all() else "infinite")
    if bad.all():
        yield pair.relation("not-finite.all", what=what)
    elif not (pair.wrong & ~bad).any():
        yield pair.relation("not-finite", what=what)


@where(_floats)
def nearly(pair: Pair, both: Both) -> Iterator[Relation]:
    """Off by very little everywhere."""
    received, expected = both
    finite = np.isfinite(expected)
    if not finite.any() or not (np.isfinite(received) == finite).all():
        return
    off = np.abs(received[finite] - expected[finite]).max()
    size = np.abs(expected[finite]).max()
    if 0 < off <= NEARLY * size and not math.isclose(size, 0.0):
        yield pair.relation("nearly", share=f"{NEARLY:.0%}")


@where(_floats)
def relative_to_input(pair: Pair, both: Both) -> Iterator[Relation]:
    """What is added to an argument is wrong by a factor, or missing, or the argument is."""
    received, expected = both
    for name, value in pair.case.arguments.items():
        if not isinstance(value, np.ndarray) or value.shape != expected.shape:
            continue
        if value.dtype.kind != "f":
            continue
        base = value.astype(np.float64)
        for times, key in ((1.0, "sum.without"), (-1.0, "sum.one-more")):
            if pair.alike(received, expected - times * base):
                yield pair.relation(key, argument=name)


STRONG = (inverted, copied, multiplied, rearranged, relative_to_input, moved, computed)
WEAK = (elsewhere, by_row, undefined, only_where_given, only_at, nearly, mostly_too_much)
