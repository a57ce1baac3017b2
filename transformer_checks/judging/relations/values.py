"""Relations between a wrong array and the right one of the same shape."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, permutations

import numpy as np

from transformer_checks.judging.relations.evidence import MANY, Pair, Relation, where
from transformer_checks.judging.relations.naming import factors, offsets

# Off by less than this share of the largest number, a result is nearly right.
NEARLY = 0.02
# A factor that has no name is told in so many digits.
DIGITS = 4

Both = tuple[np.ndarray, np.ndarray]


def _softmax(array: np.ndarray, axis: int) -> np.ndarray:
    shifted = np.exp(array - array.max(axis=axis, keepdims=True))
    return shifted / shifted.sum(axis=axis, keepdims=True)


def _standardised(array: np.ndarray, axis: int) -> np.ndarray:
    centred = array - array.mean(axis=axis, keepdims=True)
    return centred / np.sqrt(centred.var(axis=axis, keepdims=True))


# What stands in the brackets is the right result, or that of the answer.
ROUNDED = "{} rounded to whole numbers"
FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "the exponential of {}": np.exp,
    "the natural logarithm of {}": np.log,
    "the square of {}": np.square,
    "the square root of {}": np.sqrt,
    "1 divided by {}": lambda array: 1 / array,
    "1 minus {}": lambda array: 1 - array,
    "the tanh of {}": np.tanh,
    "the ReLU of {}": lambda array: np.maximum(array, 0),
    ROUNDED: np.round,
}
ALONG: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "the softmax of {}": _softmax,
    "the logarithm of the softmax of {}": lambda array, axis: np.log(_softmax(array, axis)),
    "the running sum of {}": lambda array, axis: np.cumsum(array, axis=axis),
    "{} divided by its sum": lambda array, axis: array / array.sum(axis=axis, keepdims=True),
    "{} divided by its norm": lambda array, axis: (
        array / np.sqrt(np.square(array).sum(axis=axis, keepdims=True))
    ),
    "{} less its mean": lambda array, axis: array - array.mean(axis=axis, keepdims=True),
    "{} normed to mean 0 and deviation 1": _standardised,
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
        yield Relation("negative", f"{pair.name} is the negative of the right one: turn a sign")
        return
    for text in factors(factor, pair.sizes):
        yield Relation("factor", f"{pair.name} is the right one {text}")
    alone = len({f"{each:.6g}" for each in np.abs(expected[large])}) == 1
    if not alone or not expected.ndim:
        yield Relation("factor", f"{pair.name} is the right one times {factor:.{DIGITS}g}")
    if not alone:
        yield Relation(
            "factor",
            f"{pair.name} is the right one times one number, which is another one in other cases: "
            "look for a factor that should not be there, or is missing",
        )


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
    entries = "each number of " if expected.ndim else ""
    for text in offsets(offset, pair.sizes):
        yield Relation("offset", f"{entries}{pair.name} is {text}")
    if len({f"{each:.6g}" for each in expected[finite]}) > 1:
        yield Relation("offset", f"{pair.name} is the right one plus one and the same number")


@where(_numbers)
def computed(pair: Pair, both: Both) -> Iterator[Relation]:
    """A well-known function of the right result, or the right one such a function of it."""
    received, expected = both
    for text, function in FUNCTIONS.items():
        if pair.alike(received, function(expected)) and received.any():
            yield Relation("function", f"{pair.name} is {text.format('the right one')}")
        if text != ROUNDED and pair.alike(expected, function(received)):
            said = f"the right {pair.name} is {text.format('yours')}, as if this step were missing"
            yield Relation("function-missing", said)
    for axis in range(expected.ndim):
        if expected.shape[axis] == 1:
            continue
        for text, along in ALONG.items():
            over = f"over {pair.axis(axis)}"
            if pair.alike(received, along(expected, axis)):
                said = f"{pair.name} is {text.format('the right one')}, {over}"
                yield Relation("function", said)
            if pair.alike(expected, along(received, axis)):
                said = f"the right {pair.name} is {text.format('yours')}, {over}"
                yield Relation("function-missing", f"{said}, as if this step were missing")


@where(_truths)
def inverted(pair: Pair, both: Both) -> Iterator[Relation]:
    """True where False should be, or only one of the two."""
    received, expected = both
    if (received != expected).all():
        yield Relation("inverted", f"in {pair.name} True and False are exchanged")
    if (received == 1).all():
        yield Relation("constant", f"{pair.name} is True everywhere")
    if (received == 0).all():
        yield Relation("constant", f"{pair.name} is False everywhere")


@where(_truths)
def mostly_too_much(pair: Pair, both: Both) -> Iterator[Relation]:
    """True at more places than should be, and nowhere the other way, or the reverse."""
    received, expected = both
    if (received >= expected).all():
        said = f"{pair.name} is True at places where it should be False, and never the reverse"
        yield Relation("too-much", said)
    if (received <= expected).all():
        said = f"{pair.name} is False at places where it should be True, and never the reverse"
        yield Relation("too-little", said)


@where(_arrays)
def rearranged(pair: Pair, both: Both) -> Iterator[Relation]:
    """The right numbers in another order."""
    received, expected = both
    ndim = expected.ndim
    for one in range(ndim):
        for other in range(one + 1, ndim):
            swapped = expected.swapaxes(one, other)
            if swapped.shape == expected.shape and pair.alike(received, swapped):
                names = f"{pair.axis(one)} and {pair.axis(other)}"
                yield Relation("transposed", f"in {pair.name} the axes {names} are exchanged")
    yield from _reshaped(pair, received, expected)
    for axis in range(ndim):
        if expected.shape[axis] == 1:
            continue
        along = f"along {pair.axis(axis)}"
        if pair.alike(received, np.flip(expected, axis)):
            yield Relation("reversed", f"{pair.name} is the right one in reverse order {along}")
        yield from _rolled(pair, axis, along)
        if pair.alike(received, np.sort(expected, axis)):
            yield Relation("sorted", f"{pair.name} is the right one, sorted {along}")
        if pair.alike(received, -np.sort(-expected, axis)):
            yield Relation("sorted", f"{pair.name} is the right one, sorted {along}, falling")
        if _permuted(pair, axis):
            said = f"{pair.name} has the right parts, but {along} they stand in another order"
            yield Relation("order", said)


def _reshaped(pair: Pair, received: np.ndarray, expected: np.ndarray) -> Iterator[Relation]:
    """The right numbers, read in another order of the axes."""
    ndim = expected.ndim
    if not 2 <= ndim <= 4 or pair.kind == "b":
        return
    right = ", ".join(map(pair.axis, range(ndim)))
    for order in islice(permutations(range(ndim)), 1, None):  # the first one changes nothing
        if pair.alike(received, expected.transpose(order).reshape(expected.shape)):
            said = f"{pair.name} has its numbers in the order of the axes"
            mine = ", ".join(map(pair.axis, order))
            yield Relation(
                "reshaped",
                f"{said} ({mine}), reshaped to ({right}): reshape and view move no number, "
                "transpose and permute exchange axes",
            )


@where(_floats)
def elsewhere(pair: Pair, both: Both) -> Iterator[Relation]:
    """The right numbers, in no order that has a name."""
    flat = [np.sort(each, axis=None) for each in both]
    if both[0].ndim and pair.weight >= MANY and pair.alike(*flat):
        yield Relation("order", f"{pair.name} holds the right numbers, but at other places")


def _rolled(pair: Pair, axis: int, along: str) -> Iterator[Relation]:
    """By one place, with what falls out put in again or not."""
    received, expected = pair.received, pair.expected
    size = expected.shape[axis]
    head, tail = np.arange(size - 1), np.arange(1, size)
    for way, mine, right in (("late", tail, head), ("early", head, tail)):
        if not pair.alike(received.take(mine, axis), expected.take(right, axis)):
            continue
        if not pair.alike(expected.take(mine, axis), expected.take(right, axis)):
            yield Relation("shifted", f"{pair.name} comes one place too {way} {along}")


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
            yield Relation("input", f"{pair.name} is the argument `{name}`, unchanged")
    if _numbers(pair) is None or pair.received.size == 1 or not np.isfinite(pair.received).all():
        return
    first = pair.received.flat[0]
    if (pair.received == first).all():
        what = "zeros" if first == 0 else "ones" if first == 1 else "one number"
        yield Relation("constant", f"{pair.name} is all {what}")
        return
    for axis, size in enumerate(pair.expected.shape):
        if size == 1:
            continue
        mine, right = (each.take([0], axis) for each in (pair.received, pair.expected))
        same = pair.alike(pair.received, np.broadcast_to(mine, pair.received.shape))
        if same and not pair.alike(pair.expected, np.broadcast_to(right, pair.expected.shape)):
            said = f"{pair.name} is the same all along {pair.axis(axis)}"
            yield Relation("independent", f"{said}: it should depend on the place")


@where(_arrays)
def only_at(pair: Pair, both: Both) -> Iterator[Relation]:
    """Wrong at one end, or on or beside a diagonal, and right elsewhere; or the reverse."""
    expected, wrong = both[1], pair.wrong
    for axis, size in enumerate(expected.shape):
        lines = np.asarray(np.moveaxis(wrong, axis, 0).reshape(size, -1).any(axis=1))
        along = f"along {pair.axis(axis)}"
        if axis == expected.ndim - 1 and size % 2 == 0:
            yield from _half_of(pair, lines, along)
        if size < 3:
            continue
        if lines[0] and not lines[1:].any():
            yield Relation("only-first", f"only the first place {along} is wrong in {pair.name}")
        if lines[-1] and not lines[:-1].any():
            yield Relation("only-last", f"only the last place {along} is wrong in {pair.name}")
        if not lines[0] and lines[1:].all():
            said = f"the first place {along} is right in {pair.name}, and all others are wrong"
            yield Relation("all-but-first", said)
        if not lines[-1] and lines[:-1].all():
            said = f"the last place {along} is right in {pair.name}, and all others are wrong"
            yield Relation("all-but-last", said)
    yield from _diagonal(pair)


def _half_of(pair: Pair, lines: np.ndarray, along: str) -> Iterator[Relation]:
    """Wrong at every other place only, or in one half."""
    for start, which in ((0, "even"), (1, "odd")):
        if lines[start::2].any() and not lines[1 - start :: 2].any():
            said = f"only the {which} places {along}, counted from 0, are wrong in {pair.name}"
            yield Relation("only-every-other", said)
    middle = len(lines) // 2
    for mine, other, which in (
        (lines[:middle], lines[middle:], "first"),
        (lines[middle:], lines[:middle], "second"),
    ):
        if mine.any() and not other.any():
            said = f"only the {which} half {along} is wrong in {pair.name}"
            yield Relation("only-half", said)


def _diagonal(pair: Pair) -> Iterator[Relation]:
    """Wrong on the diagonal of the last two axes only, or on one side of it."""
    shape = pair.expected.shape
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] < 3:
        return
    wrong = np.asarray(pair.wrong.reshape(-1, *shape[-2:]).any(axis=0))
    names = f"of {pair.axis(len(shape) - 2)} and {pair.axis(len(shape) - 1)}"
    rows, columns = np.indices(shape[-2:])
    sides = {"on": rows == columns, "above": columns > rows, "below": rows > columns}
    for text, side in sides.items():
        if wrong[side].any() and not wrong[~side].any():
            yield Relation("diagonal", f"{pair.name} is wrong only {text} the diagonal {names}")


@where(_arrays)
def only_where_given(pair: Pair, _: Both) -> Iterator[Relation]:
    """Wrong only where a mask hides, or where there is padding, or only where there is not."""
    for text, chosen in _regions(pair):
        inside, outside = pair.wrong[chosen], pair.wrong[~chosen]
        if inside.any() and outside.size and not outside.any():
            said = f"{pair.name} is wrong only where {text}, and right everywhere else"
            yield Relation("only-where", said)


def _regions(pair: Pair) -> Iterator[tuple[str, np.ndarray]]:
    """Name the parts of a result that masks and ids tell apart."""
    shape, pad_id = pair.expected.shape, pair.case.arguments.get("pad_id")
    for name, value in pair.case.arguments.items():
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "bi" or not value.ndim:
            continue
        marks = value if value.dtype.kind == "b" else np.asarray(value != pad_id)
        if value.dtype.kind == "i" and pad_id is None:
            continue
        for chosen in _fitted(marks, shape):
            hidden, seen = f"`{name}` is False", f"`{name}` is True"
            if value.dtype.kind == "i":
                hidden, seen = f"`{name}` is padding", f"`{name}` is no padding"
            yield hidden, ~chosen
            yield seen, chosen
        if value.dtype.kind == "b" and value.ndim >= 2:
            for chosen in _fitted(np.asarray(value.any(axis=-1, keepdims=True)), shape):
                yield f"`{name}` hides every key from a query", ~chosen


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
        along = f"along {pair.axis(axis)}"
        square = np.square(expected).sum(axis=axis, keepdims=True)
        factor = (received * expected).sum(axis=axis, keepdims=True) / np.maximum(square, 1e-30)
        if pair.alike(received, factor * expected):
            said = f"{pair.name} is right {along} but for a factor, which is another one elsewhere"
            yield Relation("factor-of-row", f"{said}: look at what it is divided by, or normed to")
        offset = (received - expected).mean(axis=axis, keepdims=True)
        if pair.alike(received, expected + offset):
            said = f"{pair.name} is right {along} but for one number that is added"
            yield Relation("offset-of-row", f"{said}, another one elsewhere")


@where(_floats)
def undefined(pair: Pair, both: Both) -> Iterator[Relation]:
    """NaN or infinity where a number should be, and the rest right."""
    received, expected = both
    low = np.isfinite(received) & (expected == -np.inf)
    if low.any() and not (pair.wrong & ~low).any() and (received[low] < -1e3).all():
        said = f"{pair.name} is right but for a large negative number in the place of -inf"
        yield Relation("not-infinite", said)
    bad = ~np.isfinite(received) & np.isfinite(expected)
    if not bad.any():
        return
    what = "NaN" if np.isnan(received[bad]).all() else "an infinite number"
    if bad.all():
        yield Relation("not-finite", f"{pair.name} holds nothing but {what}")
    elif not (pair.wrong & ~bad).any():
        said = f"{pair.name} is right but for the places where it is {what}"
        yield Relation("not-finite", said)


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
        said = f"{pair.name} is nearly right, off by less than {NEARLY:.0%} of its largest number"
        look = "look for a small number that is added or left out, for rounding, or a coarser dtype"
        yield Relation("nearly", f"{said}: {look}")


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
        for times, text in ((1.0, "without"), (-1.0, "with one more")):
            if pair.alike(received, expected - times * base):
                yield Relation("sum", f"{pair.name} is the right one {text} `{name}` in the sum")


STRONG = (inverted, copied, multiplied, rearranged, relative_to_input, moved, computed)
WEAK = (elsewhere, by_row, undefined, only_where_given, only_at, nearly, mostly_too_much)
