"""The misconceptions of the assignment "positions", task by task, each with its implementation.

They come from the notes that the course corrects, and from tutorials and repositories that are
widely copied: a cosine with a frequency of its own, a table whose row 0 is empty, halves instead of
pairs, positions counted along the batch.
Twins that give the same numbers are one entry: 2i/(D/2) and 2i with i as the feature; a transposed
M_k, the textbook's rotation, one for (cosine, sine) pairs and a turn by -k.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from transformer_ref.checks.authoring.shared_mistakes import (
    CHANGES_INPUT,
    DETACHED,
    FLOAT32_ONLY,
    Step,
)
from transformer_ref.checks.authoring.shared_mistakes import with_wrong as _with
from transformer_ref.checks.task import Misconception

BASE = 10_000.0
Rates = Callable[[int], Tensor]


# --- frequencies -----------------------------------------------------------------------------


def _exponents(d_model: int) -> Tensor:
    """(D/2,): 2i/D."""
    return torch.arange(0, d_model, 2, dtype=torch.float64) / d_model


def rates(d_model: int) -> Tensor:
    """(D/2,): the right frequencies, written a second time apart from the package."""
    return torch.exp(-_exponents(d_model) * math.log(BASE))


def _power(factor: float) -> Rates:
    """Return frequencies whose exponent is `factor` times the right one."""
    return lambda d_model: rates(d_model) ** factor


def _of_base(base: float) -> Rates:
    return lambda d_model: base ** -_exponents(d_model)


def _to_the_end(d_model: int) -> Tensor:
    """From 1 to 1/10000, both included, as tensor2tensor has it."""
    pairs = d_model // 2
    return BASE ** -(torch.arange(pairs, dtype=torch.float64) / max(1, pairs - 1))


def _linear(d_model: int) -> Tensor:
    return torch.linspace(1, 1 / BASE, d_model // 2, dtype=torch.float64)


def _linear_as_far(d_model: int) -> Tensor:
    return torch.linspace(1, float(rates(d_model)[-1]), d_model // 2, dtype=torch.float64)


def _products(d_model: int) -> Tensor:
    return 1 / (BASE * _exponents(d_model))


def _products_from_one(d_model: int) -> Tensor:
    divisors = BASE * _exponents(d_model)
    return 1 / torch.where(divisors == 0, 1.0, divisors)


def _from_one(d_model: int) -> Tensor:
    return BASE ** -(_exponents(d_model) + 2 / d_model)


def _every_feature(factor: float) -> Rates:
    """Return D frequencies, one for each feature."""
    return lambda d_model: BASE ** (-factor * torch.arange(d_model, dtype=torch.float64) / d_model)


def _after(change: Step) -> Rates:
    """Return the right frequencies, changed at the end."""
    return lambda d_model: change(rates(d_model))


SQUARED = Misconception(
    "exponent-doubled",
    "the exponents are twice as large as they should be: every frequency is squared",
    "i counts pairs, from 0 to D/2 - 1, and the last exponent is nearly -1. Look at whether i "
    "counts features here and gets the 2 on top, or is divided by D/2 together with the 2.",
    (),
)
ROOT = Misconception(
    "exponent-halved",
    "the exponents are half as large as they should be",
    "The last exponent should be nearly -1, so that the slowest hand takes nearly 2 pi * 10000 "
    "positions for a round. Look at what became of the 2, or at what i is divided by.",
    (),
)
GROWING = Misconception(
    "growing",
    "the frequencies grow from pair to pair where they should fall",
    "The first hand is the fastest. Look at the sign of the exponent: 10000^(2i/D) is what the "
    "position is divided by.",
    (),
)
ROUNDS = Misconception(
    "two-pi",
    "there is a factor of 2 pi that the formula does not have",
    "A frequency here is an angle in radians a position. A full round is 2 pi, but nothing asks "
    "for rounds or wavelengths.",
    (),
)
TO_THE_END = Misconception(
    "last-is-exactly-1/10000",
    "the last frequency is exactly 1/10000: the exponents end at -1",
    "Some programs do it so, the paper does not: 2i/D stops one step short of 1. Look for a "
    "linspace with both ends, or a D/2 - 1.",
    (),
)
LINEAR = Misconception(
    "evenly-spaced",
    "the frequencies are evenly spaced: each differs from the one before by the same amount",
    "Each should be the same *multiple* of the one before. i belongs into the exponent.",
    (),
)
PRODUCT = Misconception(
    "product-not-power",
    "10000 is multiplied by 2i/D where it should be raised to that power",
    "Look at what stands between 10000 and the fraction: one star or two.",
    (),
)
FROM_ONE = Misconception(
    "i-from-one",
    "i counts from 1",
    "The first pair is i = 0, and its frequency is 10000^0 = 1. Look at where the range starts.",
    (),
)
OTHER_BASE = Misconception(
    "other-base",
    "the base is not 10000",
    "Some other number is raised to the power. Count the zeros.",
    (),
)
OTHER_LOGARITHM = Misconception(
    "other-logarithm",
    "the exponential and the logarithm do not belong together",
    "exp undoes the natural logarithm only. Look for a log10, a log2, or a logarithm that is "
    "missing.",
    (),
)
REVERSED = Misconception(
    "reversed",
    "the frequencies come from the slowest to the fastest",
    "i = 0 is the fastest, with frequency 1, and stands first.",
    (),
)
WHOLE_DIVISION = Misconception(
    "whole-division",
    "all frequencies are the same: every exponent is the same whole number",
    "2i/D is a fraction below 1. Look for // or for a conversion to int.",
    (),
)


FREQUENCIES = (
    Misconception(
        "one-for-each-feature",
        "there are D frequencies, one for each feature",
        "A frequency belongs to a pair of features, a sine and a cosine. There are D/2 pairs.",
        (
            _every_feature(1.0),
            _every_feature(2.0),
            _after(lambda found: found.repeat_interleave(2)),
            _after(lambda found: torch.cat([found, found])),
        ),
    ),
    _with(SQUARED, _power(2.0)),
    _with(ROOT, _power(0.5)),
    _with(GROWING, _power(-1.0)),
    _with(
        ROUNDS,
        _after(lambda found: 2 * math.pi / found),
        _after(lambda found: found / (2 * math.pi)),
        _after(lambda found: found * 2 * math.pi),
    ),
    _with(TO_THE_END, _to_the_end),
    _with(LINEAR, _linear, _linear_as_far),
    _with(PRODUCT, _products, _products_from_one),
    _with(FROM_ONE, _from_one),
    _with(OTHER_BASE, *map(_of_base, (1_000.0, 100_000.0, 1_000_000.0))),
    _with(
        OTHER_LOGARITHM,
        *(lambda d_model, log=log: torch.exp(-_exponents(d_model) * log) for log in (1.0, BASE)),
        *(
            lambda d_model, log=log: torch.exp(-_exponents(d_model) * log(BASE))
            for log in (math.log10, math.log2)
        ),
    ),
    _with(REVERSED, _after(lambda found: found.flip(0))),
    _with(WHOLE_DIVISION, _after(torch.ones_like)),
    Misconception(
        "exponents-only",
        "these are the exponents 2i/D: nothing is raised to them",
        "The frequency is 10000 to the power of minus this.",
        (_exponents, lambda d_model: -_exponents(d_model)),
    ),
    Misconception(
        "logarithms",
        "these are the logarithms of the frequencies",
        "The exponential is missing at the end.",
        (_after(torch.log), _after(lambda found: -torch.log(found))),
    ),
    Misconception(
        "every-second-missing",
        "every second frequency is missing",
        "There is one for each i from 0 to D/2 - 1. Look at whether the range takes steps of 2 and "
        "stops at D/2.",
        (
            _after(lambda found: found[::2]),
            lambda d_model: rates(d_model)[: (d_model // 2 + 1) // 2],
        ),
    ),
    Misconception(
        "an-axis-too-many",
        "the numbers are right, but there is an axis too many",
        "The result is (D/2,), a plain row. Look for unsqueeze, view, None or a pair of brackets "
        "too many.",
        (_after(lambda found: found[:, None]), _after(lambda found: found[None])),
    ),
    Misconception(
        "list",
        "the result is a list of numbers, not a tensor",
        "What comes after this multiplies with it, and a list cannot.",
        (_after(lambda found: found.tolist()),),
        r"expected one tensor, received a (list|tuple)",
    ),
    Misconception(
        "few-digits",
        "the numbers have too few digits for float32",
        "Half precision keeps three digits, and an angle far out needs more. Look for half, "
        "bfloat16 or a rounding.",
        (
            _after(lambda found: found.half()),
            _after(lambda found: found.bfloat16()),
            _after(lambda found: found.half().float()),
            _after(lambda found: found.bfloat16().float()),
        ),
    ),
)


# --- the table -------------------------------------------------------------------------------


def by_rates(found: Rates) -> Callable[[Tensor, int], Tensor]:
    """Return a step that gives the angles (..., D/2) of positions (...)."""
    return lambda positions, d_model: positions.unsqueeze(-1) * found(d_model)


right_angles = by_rates(rates)


def in_pairs(angles: Tensor) -> Tensor:
    """(..., D/2) -> (..., D): sine and cosine in turn."""
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


def _alternating(angles: Tensor) -> Tensor:
    """(..., D) -> (..., D): the sine of the even ones, the cosine of the odd ones."""
    even = torch.arange(angles.shape[-1]) % 2 == 0
    return torch.where(even, angles.sin(), angles.cos())


def _cosine_first(angles: Tensor) -> Tensor:
    return torch.stack([angles.cos(), angles.sin()], dim=-1).flatten(-2)


def _halves(angles: Tensor) -> Tensor:
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


def _halves_cosine_first(angles: Tensor) -> Tensor:
    return torch.cat([angles.cos(), angles.sin()], dim=-1)


def _same(first: Step, second: Step) -> Step:
    return lambda angles: torch.stack([first(angles), second(angles)], dim=-1).flatten(-2)


def _quotient_to_the_power(positions: Tensor, d_model: int) -> Tensor:
    return (positions.unsqueeze(-1) / BASE) ** _exponents(d_model)


def _small_floats(dtype: torch.dtype) -> Callable[[Tensor, int], Tensor]:
    """Return angles whose positions were rounded to a small float type first."""
    return lambda positions, d_model: positions.to(dtype).double().unsqueeze(-1) * rates(d_model)


@dataclass(frozen=True)
class Encoding:
    """The steps of the sinusoidal encoding, right unless one is replaced.

    Call it with (num_positions, d_model), or its method `of` with positions.
    """

    places: Step = lambda positions: positions
    angles: Callable[[Tensor, int], Tensor] = right_angles
    lay: Step = in_pairs
    finish: Step = lambda table, positions: table.float()

    def of(self, positions: Tensor, d_model: int) -> Any:
        """Encode positions (...) as (..., D)."""
        positions = positions.double()
        table = self.lay(self.angles(self.places(positions), d_model))
        return self.finish(table, positions)

    def __call__(self, num_positions: int, d_model: int) -> Any:
        """Encode positions 0 .. num_positions - 1."""
        return self.of(torch.arange(num_positions), d_model)


def _empty_at_zero(table: Tensor, positions: Tensor) -> Tensor:
    return torch.where(positions.unsqueeze(-1) == 0, 0.0, table.float())


QUOTIENT = Misconception(
    "power-of-the-quotient",
    "the power is taken of pos / 10000, not of 10000 alone",
    "Python takes a power before a quotient, unless a bracket says otherwise. Look at what stands "
    "to the left of **.",
    (),
)
FROM_POSITION_ONE = Misconception(
    "positions-from-one",
    "positions count from 1",
    "The first position is 0: sines 0, cosines 1. Look at where the range starts, and for a + 1.",
    (),
)
HALVES = Misconception(
    "halves-side-by-side",
    "all sines come first, then all cosines",
    "Some programs lay them out so; the paper takes them in turn: sine in the even columns, cosine "
    "in the odd ones.",
    (),
)
COSINE_FIRST = Misconception(
    "cosine-first",
    "the cosines stand where the sines belong",
    "Column 0 is a sine. At position 0 it is 0.",
    (),
)
OWN_FREQUENCY = Misconception(
    "odd-columns-have-their-own-frequency",
    "the sine and the cosine of a pair have different frequencies",
    "Columns 2i and 2i + 1 share one i, and so one angle. Look at what the cosine's exponent is "
    "made of.",
    (),
)
ONE_KIND = Misconception(
    "only-sines-or-only-cosines",
    "there are only sines, or only cosines",
    "Each angle gives two features, a sine and a cosine.",
    (),
)
NO_SINE = Misconception(
    "angles-only",
    "these are the angles: no sine or cosine is taken",
    "The angle itself grows without bound; its sine and cosine stay between -1 and 1.",
    (),
)
EMPTY_COLUMNS = Misconception(
    "columns-left-empty",
    "every second column is still as it was made",
    "Both the even and the odd columns have to be filled. Look at where the slices start.",
    (),
)
NOT_FLOAT32 = Misconception(
    "not-float32",
    "the numbers are right, but they are not float32",
    "float64 on the way is good; the finished table is cast once, at the end.",
    (),
)
ROUNDED_POSITIONS = Misconception(
    "positions-in-half-precision",
    "far positions are wrong: they were rounded to half precision",
    "bfloat16 has no 257, and float16 no 2049. Cast the finished table, never the positions.",
    (),
)

_QUOTIENT = Encoding(angles=_quotient_to_the_power)
_FROM_ONE = Encoding(places=lambda positions: positions + 1)
_SMALL = (torch.float16, torch.bfloat16)
_ROUNDED = tuple(Encoding(angles=_small_floats(dtype)) for dtype in _SMALL)

_BY_RATES: tuple[tuple[Misconception, tuple[Rates, ...]], ...] = (
    (SQUARED, (_power(2.0),)),
    (ROOT, (_power(0.5),)),
    (GROWING, (_power(-1.0),)),
    (
        ROUNDS,
        (_after(lambda f: f * 2 * math.pi), _after(lambda f: f / (2 * math.pi))),
    ),
    (TO_THE_END, (_to_the_end,)),
    (LINEAR, (_linear, _linear_as_far)),
    (PRODUCT, (_products, _products_from_one)),
    (FROM_ONE, (_from_one,)),
    (OTHER_BASE, tuple(map(_of_base, (1_000.0, 100_000.0)))),
    (REVERSED, (_after(lambda f: f.flip(0)),)),
)
_BY_STEPS: tuple[tuple[Misconception, tuple[Encoding, ...]], ...] = (
    (FROM_POSITION_ONE, (_FROM_ONE,)),
    *(
        (entry, tuple(Encoding(angles=by_rates(each)) for each in found))
        for entry, found in _BY_RATES
    ),
    (
        WHOLE_DIVISION,
        (Encoding(angles=by_rates(_after(torch.ones_like))),),
    ),
    (HALVES, (Encoding(lay=_halves), Encoding(lay=_halves_cosine_first))),
    (COSINE_FIRST, (Encoding(lay=_cosine_first),)),
    (
        OWN_FREQUENCY,
        tuple(
            Encoding(angles=by_rates(_every_feature(factor)), lay=_alternating)
            for factor in (1.0, 2.0)
        ),
    ),
    (
        ONE_KIND,
        (
            Encoding(lay=_same(torch.sin, torch.sin)),
            Encoding(lay=_same(torch.cos, torch.cos)),
            Encoding(angles=by_rates(_every_feature(1.0)), lay=torch.sin),
        ),
    ),
    (
        NO_SINE,
        (
            Encoding(lay=_same(lambda angles: angles, lambda angles: angles)),
            Encoding(angles=by_rates(_every_feature(1.0)), lay=lambda angles: angles),
        ),
    ),
    (
        EMPTY_COLUMNS,
        (
            Encoding(lay=_same(torch.sin, torch.zeros_like)),
            Encoding(lay=_same(torch.cos, torch.zeros_like)),
            Encoding(lay=_same(torch.zeros_like, torch.cos)),
        ),
    ),
    (
        NOT_FLOAT32,
        (
            Encoding(finish=lambda table, positions: table),
            Encoding(finish=lambda table, positions: table.half()),
        ),
    ),
)


def _counted_in(dtype: torch.dtype) -> Step:
    """Return a table whose positions are counted in a small float type, and rounded so."""
    return lambda num_positions, d_model: Encoding().of(
        torch.arange(num_positions, dtype=dtype), d_model
    )


TABLE = (
    _with(QUOTIENT, _QUOTIENT),
    *(_with(entry, *wrong) for entry, wrong in _BY_STEPS),
    _with(ROUNDED_POSITIONS, *_ROUNDED, *map(_counted_in, _SMALL)),
    Misconception(
        "position-zero-left-empty",
        "the row of position 0 is all zeros",
        "Programs that keep row 0 for padding do so. Here 0 is a position like any other: its "
        "cosines are 1.",
        (Encoding(finish=_empty_at_zero),),
    ),
    Misconception(
        "transposed",
        "rows and columns have changed places: the result is (D, num_positions)",
        "Each row is one position. Look at which axis the positions vary along.",
        (lambda num_positions, d_model: Encoding()(num_positions, d_model).T,),
    ),
    Misconception(
        "divided-by-the-length",
        "positions are divided by the number of positions",
        "Position 3 must look the same in a short table and in a long one.",
        (
            lambda num_positions, d_model: Encoding().of(
                torch.arange(num_positions, dtype=torch.float64) / num_positions, d_model
            ),
            lambda num_positions, d_model: Encoding().of(
                torch.linspace(0, 1, num_positions, dtype=torch.float64), d_model
            ),
        ),
    ),
    Misconception(
        "batch-axis",
        "the numbers are right, but there is an axis too many",
        "The table is (num_positions, D). An axis for the batch is added where the table is used.",
        (
            Encoding(finish=lambda table, positions: table.float().unsqueeze(0)),
            Encoding(finish=lambda table, positions: table.float().unsqueeze(1)),
        ),
    ),
    Misconception(
        "a-row-too-many-or-too-few",
        "the number of rows is not num_positions",
        "Positions go from 0 to num_positions - 1, both included. Look at where the range stops.",
        (
            lambda num_positions, d_model: Encoding()(num_positions + 1, d_model),
            lambda num_positions, d_model: Encoding()(num_positions, d_model)[1:],
            lambda num_positions, d_model: Encoding()(num_positions, d_model)[:-1],
        ),
    ),
    Misconception(
        "scaled",
        "the sines and cosines are right, but the table is multiplied by a number",
        "All of them lie between -1 and 1, and the fastest ones reach both. Look for a "
        "normalisation or a square root at the end.",
        (
            lambda num_positions, d_model: (
                Encoding()(num_positions, d_model) / math.sqrt(d_model / 2)
            ),
            lambda num_positions, d_model: Encoding()(num_positions, d_model) / math.sqrt(d_model),
            lambda num_positions, d_model: Encoding()(num_positions, d_model) * math.sqrt(d_model),
        ),
    ),
)


# --- the shift -------------------------------------------------------------------------------


Turn = Callable[[int, int], Tensor]


def _blocks(angles: Tensor, entries: Step) -> Tensor:
    """Lay 2x2 blocks on the diagonal, from `entries(cosine, sine)`, row by row."""
    four = torch.stack(torch.broadcast_tensors(*entries(angles.cos(), angles.sin())), dim=-1)
    return torch.block_diag(*four.view(-1, 2, 2))


def _right(cosine: Tensor, sine: Tensor) -> tuple[Tensor, ...]:
    return cosine, sine, -sine, cosine


def _by(found: Rates) -> Turn:
    """Return a step that gives the angles of the blocks, with some frequencies."""
    return lambda offset, d_model: offset * found(d_model)


_right_turn = _by(rates)


def _turned(turn: Turn = _right_turn, entries: Step = _right) -> Callable[[int, int], Tensor]:
    """Return a shift_matrix, right unless a step is replaced."""
    return lambda offset, d_model: _blocks(turn(offset, d_model), entries)


_turn = _turned()


def _in_halves(offset: int, d_model: int) -> Tensor:
    angles = offset * rates(d_model)
    cosines, sines = torch.diag(angles.cos()), torch.diag(angles.sin())
    return torch.cat([torch.cat([cosines, sines], 1), torch.cat([-sines, cosines], 1)])


def _not_laid_out(offset: int, d_model: int) -> Tensor:
    angles = offset * rates(d_model)
    return torch.stack(_right(angles.cos(), angles.sin()), dim=-1).view(-1, 2, 2)


def _one_row_of_blocks(offset: int, d_model: int) -> Tensor:
    return torch.cat(tuple(_not_laid_out(offset, d_model)), dim=1)


def _overlapping(offset: int, d_model: int) -> Tensor:
    matrix = torch.zeros(d_model, d_model, dtype=torch.float64)
    for row, block in enumerate(_not_laid_out(offset, d_model)):
        matrix[row : row + 2, row : row + 2] = block
    return matrix


def _off_diagonal(offset: int, d_model: int) -> Tensor:
    if abs(offset) >= d_model:
        return torch.zeros(d_model, d_model, dtype=torch.float64)
    return torch.ones(d_model - abs(offset), dtype=torch.float64).diag(offset)


def _rolled(axis: int) -> Step:
    return lambda offset, d_model: torch.eye(d_model, dtype=torch.float64).roll(offset, axis)


def _encoding_of(offset: int, d_model: int) -> Tensor:
    return in_pairs(offset * rates(d_model))


SHIFT = (
    Misconception(
        "moves-back",
        "the matrix moves back by k: it is the transpose of the one asked for",
        "Most textbooks turn (cosine, sine) against the clock; here the sine stands first. For "
        "columns, row 0 has to give sin(a + b) from sin a and cos a. Look at the signs.",
        (_turned(lambda k, d: -k * rates(d)),),
    ),
    Misconception(
        "no-minus",
        "a minus is missing, or stands at the wrong place: the block is no rotation",
        "Look at the two identities: sin(a + b) has a plus, cos(a + b) has a minus.",
        (
            _turned(entries=lambda c, s: (c, s, s, c)),
            _turned(entries=lambda c, s: (c, -s, -s, c)),
            _turned(entries=lambda c, s: (c, s, s, -c)),
            _turned(entries=lambda c, s: (-c, s, s, c)),
        ),
    ),
    Misconception(
        "sine-and-cosine-exchanged",
        "sine and cosine have changed places in the blocks",
        "For k = 0 nothing moves, so M_0 is the identity: what stands on the diagonal must be 1 at "
        "angle 0.",
        (
            _turned(entries=lambda c, s: (s, c, -c, s)),
            _turned(entries=lambda c, s: (s, c, c, -s)),
            _turned(entries=lambda c, s: (s, c, c, s)),
            _turned(entries=lambda c, s: (s, -c, c, s)),
        ),
    ),
    Misconception(
        "for-halves",
        "the matrix is for encodings with all sines first and then all cosines",
        "Here sine and cosine of a pair are neighbours, so that each block stands on the diagonal "
        "at rows and columns 2i and 2i + 1.",
        (_in_halves, lambda offset, d_model: _in_halves(offset, d_model).T),
    ),
    Misconception(
        "one-angle-for-all",
        "every pair turns by the same angle",
        "Pair i turns by k * w_i, each by its own frequency.",
        (_turned(lambda k, d: k * torch.ones_like(rates(d))),),
    ),
    Misconception(
        "offset-without-effect",
        "the offset has no effect on the angles",
        "Every pair turns by k times its frequency. Look at where k goes.",
        (_turned(lambda k, d: rates(d)), lambda offset, d_model: torch.eye(d_model).double()),
    ),
    Misconception(
        "negative-offset-moves-forward",
        "a negative offset moves forward",
        "Sine changes its sign with the angle. Look for abs, or for a square.",
        (_turned(lambda k, d: abs(k) * rates(d)),),
    ),
    Misconception(
        "one-step-off",
        "the turn is by k + 1 or by k - 1 positions",
        "M_0 moves nothing, so that it is the identity. Look for a + 1 or a - 1 beside k.",
        (_turned(lambda k, d: (k + 1) * rates(d)), _turned(lambda k, d: (k - 1) * rates(d))),
    ),
    *(_with(entry, *(_turned(_by(each)) for each in found)) for entry, found in _BY_RATES),
    _with(
        QUOTIENT,
        _turned(lambda k, d: (abs(k) / BASE) ** _exponents(d)),
        _turned(lambda k, d: math.copysign(1, k) * (abs(k) / BASE) ** _exponents(d)),
    ),
    Misconception(
        "no-sines",
        "there are only the cosines on the diagonal",
        "sin(a + b) needs cos a too, which stands in the column beside. Look at what is off the "
        "diagonal.",
        (
            _turned(entries=lambda c, s: (c, 0 * s, 0 * s, c)),
            _turned(entries=lambda c, s: (c, s, 0 * s, c)),
            _turned(entries=lambda c, s: (c, 0 * s, -s, c)),
        ),
    ),
    Misconception(
        "encoding-on-the-diagonal",
        "the diagonal holds the encoding of k: each feature is multiplied by a number",
        "No multiple of sin a is sin(a + b) for every a. Each new feature is made of both old ones "
        "of its pair.",
        (lambda offset, d_model: _encoding_of(offset, d_model).diag(),),
    ),
    Misconception(
        "moves-features",
        "the matrix moves features, not positions: it shifts or rolls the columns",
        "The encoding of the next position is no shifted copy. Each pair of features stays where "
        "it is and turns.",
        (
            _off_diagonal,
            lambda offset, d_model: _off_diagonal(-offset, d_model),
            _rolled(0),
            _rolled(1),
        ),
    ),
    Misconception(
        "blocks-not-on-the-diagonal",
        "the blocks are right, but not put on the diagonal of one matrix",
        "The result is (D, D), zero outside the blocks. Look at torch.block_diag, or fill a matrix "
        "of zeros.",
        (_not_laid_out, _one_row_of_blocks),
    ),
    Misconception(
        "blocks-overlap",
        "the blocks overlap: block i stands at rows and columns i and i + 1",
        "A block is two rows high, so that the next one starts two rows further down.",
        (_overlapping,),
    ),
    Misconception(
        "one-block-only",
        "there is only one 2x2 block",
        "There is one block for each of the D/2 pairs.",
        (
            lambda offset, d_model: _turn(offset, d_model)[:2, :2],
            lambda offset, d_model: _turn(offset, d_model)[-2:, -2:],
        ),
    ),
)


# --- the module ------------------------------------------------------------------------------

Limit = Callable[[Tensor, int], None]


def _by_axis(axis: int, spare: int = 0) -> Limit:
    """Return a check of the length that looks at one axis of x, with a limit that is off."""

    def limit(x: Tensor, max_len: int) -> None:
        if x.shape[axis] > max_len + spare:
            raise ValueError(f"{x.shape[axis]} positions, but max_len = {max_len}")

    return limit


_length = _by_axis(1)


def _no_limit(x: Tensor, max_len: int) -> None:
    """Leave the error to whatever comes next."""


def _first_rows(table: Tensor, x: Tensor) -> Tensor:
    return table[: x.shape[1]]


def _dropped_sum(drop: Step, x: Tensor, rows: Tensor) -> Any:
    return drop(x + rows)


def _as_buffer(module: nn.Module, table: Tensor) -> None:
    module.register_buffer("pe", table)


def _as_parameter(module: nn.Module, table: Tensor) -> None:
    module.pe = nn.Parameter(table)


def _as_attribute(module: nn.Module, table: Tensor) -> None:
    module.pe = table


@dataclass(frozen=True)
class Adder:
    """The steps of the module, right unless one is replaced; `built` gives the class."""

    table: Callable[[int, int], Tensor] = Encoding()
    keep: Callable[[nn.Module, Tensor], None] = _as_buffer
    limit: Limit = _length
    rows: Step = _first_rows
    join: Step = _dropped_sum
    always: bool = False

    def built(self) -> type[nn.Module]:
        """Return the class."""
        steps = self

        class Built(nn.Module):
            pe: Tensor

            def __init__(self, d_model: int, max_len: int, dropout: float) -> None:
                super().__init__()
                self.max_len = max_len
                self.rate = dropout
                steps.keep(self, steps.table(max_len, d_model))

            def drop(self, x: Tensor) -> Tensor:
                return nn.functional.dropout(x, self.rate, self.training or steps.always)

            def forward(self, x: Tensor) -> Any:
                steps.limit(x, self.max_len)
                return steps.join(self.drop, x, steps.rows(self.pe, x))

        return Built


def _added(**steps: Any) -> tuple[type[nn.Module], ...]:
    """Return a wrong class, with the check of the length and without one."""
    wrong = Adder(**steps)
    return wrong.built(), replace(wrong, limit=_no_limit).built()


def _by_batch(table: Tensor, x: Tensor) -> Tensor:
    """Rows by the place in the batch, as code for (T, B, D) has it."""
    return table[: x.shape[0]].unsqueeze(1)


def _longer_table(table: Tensor, x: Tensor) -> Tensor:
    return Encoding()(x.shape[1], x.shape[2]).to(x)


def _modulo(table: Tensor, x: Tensor) -> Tensor:
    return table[torch.arange(x.shape[1]) % len(table)]


def _last_again(table: Tensor, x: Tensor) -> Tensor:
    return table[torch.arange(x.shape[1]).clamp(max=len(table) - 1)]


def _cut_off(drop: Step, x: Tensor, rows: Tensor) -> Tensor:
    return drop(x[:, : len(rows)] + rows)


def _the_rest_bare(drop: Step, x: Tensor, rows: Tensor) -> Tensor:
    return drop(x + nn.functional.pad(rows, (0, 0, 0, x.shape[1] - len(rows))))


def _in_place(drop: Step, x: Tensor, rows: Tensor) -> Tensor:
    x += rows
    return drop(x)


def _without_gradient(drop: Step, x: Tensor, rows: Tensor) -> Tensor:
    with torch.no_grad():
        return drop(x + rows)


def _drawn(module: nn.Module, table: Tensor) -> None:
    module.pe = nn.Parameter(torch.randn_like(table))


def _embedding(module: nn.Module, table: Tensor) -> None:
    module.pe = nn.Embedding(*table.shape).weight


def _zeros(module: nn.Module, table: Tensor) -> None:
    module.pe = nn.Parameter(torch.zeros_like(table))


def _scaled_first(drop: Step, x: Tensor, rows: Tensor) -> Tensor:
    return drop(x * math.sqrt(x.shape[-1]) + rows)


MODULE = (
    Misconception(
        "position-by-batch",
        "the position is taken from the batch axis: all tokens of a sequence get the same row",
        "Widely copied code is for inputs (T, B, D); here x is (B, T, D). Look at which axis of x "
        "says how many rows are taken.",
        tuple(
            Adder(rows=_by_batch, limit=limit).built()
            for limit in (_by_axis(1), _by_axis(0), _no_limit)
        ),
    ),
    Misconception(
        "scaled-by-root-d",
        "x is multiplied by sqrt(D) before the positions are added",
        "That factor belongs to the embedding, which has already applied it.",
        _added(join=_scaled_first),
    ),
    Misconception(
        "positions-only",
        "the result is the encoding without x",
        "Position is added to what is there; without x the token is lost.",
        _added(join=lambda drop, x, rows: drop(0 * x + rows)),
    ),
    Misconception(
        "nothing-added",
        "x comes back without the positions",
        "Look at whether the sum is returned, and whether the table has been filled.",
        _added(join=lambda drop, x, rows: drop(x + 0 * rows)),
    ),
    Misconception(
        "joined-not-added",
        "the positions are put beside x: the result is (B, T, 2D)",
        "They are added, feature by feature, so that the size stays D.",
        _added(join=lambda drop, x, rows: drop(torch.cat([x, rows.expand_as(x)], dim=-1))),
    ),
    Misconception(
        "multiplied",
        "x is multiplied by the positions",
        "The formula has a sum. A sine of 0 would wipe out the token.",
        _added(join=lambda drop, x, rows: drop(x * rows)),
    ),
    Misconception(
        "whole-table",
        "the whole table is added, however long x is",
        "x has T positions and needs the first T rows.",
        _added(rows=lambda table, x: table),
        r"must match|broadcast",
    ),
    Misconception(
        "one-row-for-all",
        "one row of the table is added to all positions",
        "An index takes one row, a slice takes all rows up to it.",
        (
            *_added(rows=lambda table, x: table[x.shape[1] - 1]),
            *_added(rows=lambda table, x: table[x.shape[1]]),
            *_added(rows=lambda table, x: table[0]),
        ),
    ),
    _with(
        FROM_POSITION_ONE,
        *_added(table=_FROM_ONE),
        *_added(rows=lambda table, x: table[1 : x.shape[1] + 1]),
    ),
    _with(QUOTIENT, *_added(table=_QUOTIENT)),
    _with(HALVES, *_added(table=Encoding(lay=_halves))),
    _with(COSINE_FIRST, *_added(table=Encoding(lay=_cosine_first))),
    _with(SQUARED, *_added(table=Encoding(angles=by_rates(_power(2.0))))),
    _with(
        OWN_FREQUENCY,
        *(
            each
            for factor in (1.0, 2.0)
            for each in _added(
                table=Encoding(angles=by_rates(_every_feature(factor)), lay=_alternating)
            )
        ),
    ),
    Misconception(
        "table-is-trained",
        "the table is a parameter: training would change it",
        "It is a formula and has nothing to learn. Look at how the module keeps it; what moves "
        "with the module and is not trained is a buffer.",
        (Adder(keep=_as_parameter).built(), Adder(keep=_as_parameter, limit=_no_limit).built()),
    ),
    Misconception(
        "learned-vectors",
        "the positions are vectors to be learned, not sines and cosines",
        "Learned positions are another method, and a good one. Here the table is the formula.",
        (*_added(keep=_drawn), *_added(keep=_embedding), *_added(keep=_zeros)),
    ),
    Misconception(
        "other-error",
        "an x that is too long does not give a ValueError but some other error, or one by accident",
        "The sum fails by itself, with an error about sizes that names neither x nor the limit. "
        "Compare T with max_len first, and raise a ValueError that names both.",
        (Adder(limit=_no_limit).built(),),
    ),
    Misconception(
        "other-axis-checked",
        "it is not the length of x that is compared with max_len, but the size of another axis",
        "x is (B, T, D), and T is what must not be above max_len.",
        (Adder(limit=_by_axis(0)).built(), Adder(limit=_by_axis(-1)).built()),
        r"^ValueError",
    ),
    Misconception(
        "max-len-refused",
        "an x of exactly max_len positions is refused",
        "max_len positions are 0 .. max_len - 1, and all of them are in the table. Look at the "
        "comparison.",
        (Adder(limit=_by_axis(1, -1)).built(),),
        r"^ValueError",
    ),
    Misconception(
        "limit-one-too-high",
        "an x of max_len + 1 positions is not refused by the check, and fails after it",
        "The table has max_len rows. Look at the comparison.",
        (Adder(limit=_by_axis(1, 1)).built(),),
    ),
    Misconception(
        "no-limit",
        "an x that is too long gets positions past max_len",
        "The contract says max_len, and a module that silently goes on hides a mistake. Raise a "
        "ValueError.",
        (
            Adder(limit=_no_limit, rows=_longer_table).built(),
            Adder(limit=_no_limit, rows=_modulo).built(),
            Adder(limit=_no_limit, rows=_last_again).built(),
        ),
    ),
    Misconception(
        "cut-off-in-silence",
        "of an x that is too long the end is lost, or gets no position, without a word",
        "A slice past the end of a tensor is no error in Python. Compare T with max_len first, and "
        "raise a ValueError.",
        (
            Adder(limit=_no_limit, join=_cut_off).built(),
            Adder(limit=_no_limit, join=_the_rest_bare).built(),
        ),
    ),
    Misconception(
        "dropout-never-off",
        "dropout is on in eval mode too",
        "nn.Dropout knows the mode of its module; the function F.dropout has to be told.",
        _added(always=True),
    ),
    Misconception(
        "no-dropout",
        "there is no dropout, or its result is not used",
        "In training mode the sum goes through dropout. Look at what is returned.",
        _added(join=lambda drop, x, rows: x + rows),
    ),
    Misconception(
        "dropout-on-one-part",
        "dropout is applied to x or to the positions alone",
        "It is applied to the sum: dropout(x + pe).",
        (
            *_added(join=lambda drop, x, rows: x + drop(rows)),
            *_added(join=lambda drop, x, rows: drop(x) + rows),
        ),
    ),
    _with(
        FLOAT32_ONLY,
        Adder(keep=_as_attribute).built(),
        Adder(join=lambda drop, x, rows: drop(x.float() + rows.float())).built(),
    ),
    _with(
        DETACHED,
        *_added(join=_without_gradient),
        *_added(join=lambda drop, x, rows: drop(x.detach() + rows)),
    ),
    _with(CHANGES_INPUT, *_added(join=_in_place)),
)


# --- the bug ---------------------------------------------------------------------------------


def _power_of_the_position(positions: Tensor, d_model: int) -> Tensor:
    return positions.unsqueeze(-1) ** _exponents(d_model) / BASE


def _exponent_as_factor(positions: Tensor, d_model: int) -> Tensor:
    return positions.unsqueeze(-1) / BASE * _exponents(d_model)


def _in_order(positions: Tensor) -> Tensor:
    return torch.arange(positions.shape[-1], dtype=torch.float64).expand_as(positions)


BUG = (
    Misconception(
        "still-the-power-of-the-quotient",
        "the bug is still in it",  # to name it would give the task away
        "Take position 2 and D = 4, and go through the lines by hand. What is the first angle, and "
        "what should it be?",
        (_QUOTIENT.of,),
    ),
    Misconception(
        "power-of-the-position",
        "now it is the position alone that is raised to the power",
        "One of the two numbers has the exponent in the formula. It is not the position.",
        (Encoding(angles=_power_of_the_position).of,),
    ),
    Misconception(
        "exponent-as-factor",
        "the fraction 2i/D is multiplied in where it should be an exponent",
        "The power itself was right; the question is what it is the power of.",
        (Encoding(angles=_exponent_as_factor).of,),
    ),
    Misconception(
        "positions-ignored",
        "the positions that are given are not used: it counts from 0 itself",
        "A row may start anywhere, and positions may come in any order. Look at where the "
        "argument is used.",
        (
            Encoding(places=_in_order).of,
            lambda positions, d_model: Encoding()(positions.shape[-1], d_model),
        ),
    ),
    *(_with(entry, *(each.of for each in wrong)) for entry, wrong in _BY_STEPS),
    _with(ROUNDED_POSITIONS, *(each.of for each in _ROUNDED)),
)
