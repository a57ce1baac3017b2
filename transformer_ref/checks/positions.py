"""Checks of the assignment "positions": cases, properties, misconceptions, tasks.

A float32 angle is off by about 4e-4 at position 5,000, and most code in circulation computes it so.
Tables are therefore judged to 1e-3, which no misconception comes near.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from transformer_ref import positions as reference
from transformer_ref.checks import positions_mistakes as mistakes
from transformer_ref.checks.cases import (
    UNSTEADY,
    described,
    followed,
    normal,
    numbered,
    plain_case,
    with_gradients,
)
from transformer_ref.checks.task import Case, Task

# A rate at which dropout leaves nothing, and which is still below 1, as some code asks for.
ALL = 1 - 1e-9
TABLE_TOLERANCE = {"float32": (0.0, 1e-3)}
CLOSE = 1e-3


def encode_positions(positions: Tensor, d_model: int) -> Tensor:
    """Encode any positions, not only those of a table from 0 up.

    Args:
        positions: (...) int64.
        d_model: D, even.

    Returns:
        (..., D) float32: sine and cosine of each pair side by side.
    """
    angles = positions.unsqueeze(-1) * reference.frequencies(d_model).to(positions.device)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).float()


# --- cases -----------------------------------------------------------------------------------


def _evens(rng: np.random.Generator, start: int, stop: int, count: int) -> list[int]:
    """Draw different even numbers, in their order."""
    found = rng.choice(np.arange(start, stop + 1, 2), size=count, replace=False)
    return sorted(int(number) for number in found)


def frequency_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of frequencies: small, drawn and large sizes, odd and even numbers of pairs."""
    sizes = [4, 6, 2, *_evens(rng, 8, 62, 4), *_evens(rng, 64, 254, 3), 256, 512]
    cases = [plain_case(d_model=size) for size in sizes]
    followed(cases, cases[3], {}, "asked again", UNSTEADY)
    return numbered(cases)


def table_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of sinusoidal_encoding: other lengths than sizes, a square one, and far positions."""
    drawn = _evens(rng, 8, 40, 7)
    lengths = [int(length) for length in rng.permutation(np.arange(9, 42, 2))[:6]]
    sizes = [(3, 4), (2, 2), (5, 6), *zip(lengths, rng.permutation(drawn[:6]), strict=True)]
    sizes += [
        (drawn[6], drawn[6]),
        (1, drawn[0]),
        (90, 64),
        (280, 8),
        (int(rng.integers(3000, 5000)), 6),
    ]
    cases = [plain_case(num_positions=int(rows), d_model=int(size)) for rows, size in sizes]
    followed(cases, cases[3], {}, "asked again", UNSTEADY)
    return numbered(cases)


def shift_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of shift_matrix: forth and back, near and far, and no move at all."""
    drawn = _evens(rng, 6, 40, 6)
    offsets = [int(offset) for offset in rng.permutation(np.arange(2, 40))[:4]]
    near, far = int(rng.integers(41, 90)), int(rng.integers(300, 1000))
    plan = [
        *((1, 4), (1, 2), (-1, 4), (0, 6), (offsets[0], drawn[0]), (offsets[1], drawn[1])),
        *((-offsets[2], drawn[2]), (-offsets[3], drawn[3]), (near, drawn[4]), (far, drawn[5])),
        *((-far, drawn[0]), (drawn[1], drawn[1])),
    ]
    cases = [plain_case(offset=offset, d_model=size) for offset, size in plan]
    followed(cases, cases[4], {}, "asked again", UNSTEADY)
    return numbered(cases)


def _module_case(
    rng: np.random.Generator, shape: tuple[int, int, int], max_len: int, **options: Any
) -> Case:
    """Make a case of PositionalEncoding.

    Args:
        rng: the source.
        shape: of x, (B, T, D).
        max_len: the module's.
        options: dtype, layout, dropout and training, where they are not the usual ones.

    Returns:
        the case; to be refused where T is above `max_len`.
    """
    dtype, layout = options.get("dtype", "float32"), options.get("layout", "contiguous")
    dropout, training = options.get("dropout", 0.0), options.get("training", False)
    arguments = {"x": normal(rng, shape, dtype)}
    settings = {"d_model": shape[2], "max_len": max_len, "dropout": dropout}
    parts = [f"d_model={shape[2]}, max_len={max_len}, dropout={dropout:g}", *described(arguments)]
    parts += [dtype, *["not contiguous"] * (layout != "contiguous")]
    parts += ["training mode"] * training
    refused = ""
    if shape[1] > max_len:
        refused = f"x has {shape[1]} positions and max_len = {max_len}"
    return Case(
        ", ".join(parts),
        arguments,
        settings,
        layout=layout,
        refused=refused,
        training=training,
    )


def _sizes(rng: np.random.Generator) -> tuple[tuple[int, int, int], int]:
    """Draw a shape (B, T, D) and a max_len, all four different, and the batch the smallest."""
    batch, length = int(rng.integers(2, 5)), int(rng.integers(6, 12))
    d_model = int(rng.choice([size for size in range(6, 18, 2) if size != length]))
    spare = [size for size in range(length + 2, length + 12) if size != d_model]
    return (batch, length, d_model), int(rng.choice(spare))


def module_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of PositionalEncoding: shapes, both modes, and the edge of the table."""

    def made(**options: Any) -> Case:
        return _module_case(rng, *_sizes(rng), **options)

    def at_the_edge(beyond: int) -> Case:
        (batch, length, _), _ = _sizes(rng)
        d_model = int(rng.choice([16, 18]))  # longer than any of these sequences
        return _module_case(rng, (batch, length + beyond, d_model), length)

    cases = [
        _module_case(rng, (1, 3, 4), 5),
        *(made(), made(dropout=0.1), made(dtype="float64", dropout=0.5), made(dtype="float16")),
        made(layout="strided"),
        _module_case(rng, (3, 1, 6), 9),
        _module_case(rng, (7, 4, 8), 5),  # more sequences than positions
        *(at_the_edge(0), at_the_edge(1), at_the_edge(4)),
        made(training=True),
        *(made(training=True, dropout=ALL), made(training=True, dropout=ALL, dtype="float64")),
    ]
    followed(cases, cases[2], {}, "asked again", UNSTEADY)
    for options in ({}, {"dtype": "float64"}):
        case = made(**options)
        cases.append(with_gradients(case, rng, case.arguments["x"].shape))
    return numbered(cases)


def bug_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of encode_positions: positions in order, in any order, and far ones."""

    def case(positions: np.ndarray, d_model: int) -> Case:
        arguments = {"positions": positions.astype(np.int64), "d_model": d_model}
        shown = f" = {positions.tolist()}" if positions.size <= 8 else ""
        parts = described(arguments)
        return Case(", ".join([f"{parts[0]}{shown}", *parts[1:]]), arguments)

    def drawn(shape: tuple[int, ...], below: int) -> np.ndarray:
        return rng.integers(0, below, size=shape)

    sizes = [int(size) for size in rng.permutation(_evens(rng, 6, 40, 9))]
    batch, length = int(rng.integers(2, 5)), int(rng.integers(6, 10))
    start = int(rng.integers(20, 60))
    padded = np.maximum(np.arange(length) - rng.integers(0, 4, size=(batch, 1)), 0)
    cases = [
        *(case(np.arange(3), 4), case(np.array([4, 1]), 4), case(np.array([2]), 2)),
        *(case(np.arange(length), sizes[0]), case(np.arange(start, start + 5), sizes[1])),
        *(case(padded, sizes[2]), case(drawn((batch, length), 100), sizes[3])),
        *(case(drawn((length, batch), 30), sizes[4]), case(drawn((2, 3, 4), 50), sizes[5])),
        *(case(drawn((1, 7), 40), sizes[6]), case(2049 + 2 * drawn((length,), 1400), sizes[7])),
        case(drawn((3, 8), 500), 8),
    ]
    followed(cases, cases[6], {}, "asked again", UNSTEADY)
    return numbered(cases)


# --- properties ------------------------------------------------------------------------------

Values = Mapping[str, Any]


def first_is_one(case: Case, values: Values) -> str | None:
    """Say so if the fastest hand does not turn one radian a position."""
    first = float(values["frequencies"][0])
    if abs(first - 1.0) > CLOSE:
        return f"the first frequency, that of i = 0, should be 1; here it is {first:.4g}"
    return None


def falls_evenly(case: Case, values: Values) -> str | None:
    """Say so if the frequencies do not fall by the same factor from pair to pair."""
    found = values["frequencies"].astype(np.float64)
    if not (found > 0).all():
        return f"a frequency should be above 0; here the smallest is {found.min():.4g}"
    if (np.diff(found) >= 0).any():
        return "the frequencies should fall from pair to pair, from fast hands to slow ones"
    factors = found[1:] / found[:-1]
    if len(factors) and factors.max() - factors.min() > CLOSE:
        return (
            "from pair to pair the frequencies should fall by the same factor; here by factors "
            f"from {factors.min():.4g} to {factors.max():.4g}"
        )
    return None


def _pairs(values: Values) -> np.ndarray:
    """(..., D/2, 2): the columns 2i and 2i + 1 side by side."""
    table: np.ndarray = values["encoding"].astype(np.float64)
    return table.reshape(*table.shape[:-1], -1, 2)


def pairs_are_on_the_circle(case: Case, values: Values) -> str | None:
    """Say so if two neighbours are not the sine and the cosine of one angle."""
    squares = np.square(_pairs(values)).sum(axis=-1)
    off = np.abs(squares - 1.0)
    if off.max() <= 0.01:
        return None
    *row, pair = (int(index) for index in np.argwhere(off > 0.01)[0])
    place = "".join(f"[{index}]" for index in row)
    return (
        f"columns {2 * pair} and {2 * pair + 1} should be the sine and the cosine of one angle, "
        f"whose squares sum to 1; in `encoding{place}` they sum to {squares[*row, pair]:.4g}"
    )


def position_zero_is_at_zero(case: Case, values: Values) -> str | None:
    """Say so if the angle of position 0 is not zero."""
    pairs = _pairs(values)
    if "positions" in case.arguments:
        pairs = pairs[case.arguments["positions"] == 0]
    first = pairs[:1]
    if first.size and np.abs(first - [0.0, 1.0]).max() > 0.01:
        shown = ", ".join(f"{number:.3g}" for number in first.ravel()[:4])
        return (
            "at position 0 all angles are 0: sines 0 and cosines 1, in turn; "
            f"here position 0 has [{shown}{', ...' if first.size > 4 else ''}]"
        )
    return None


def moves_every_position(case: Case, values: Values) -> str | None:
    """Say so if the matrix does not take the encoding at p to the one at p + k."""
    offset, d_model = case.arguments["offset"], case.arguments["d_model"]
    matrix = values["matrix"].astype(np.float64)
    start = max(0, -offset)
    for position in (start, start + 1, start + 5, start + 2000):
        both = encode_positions(torch.tensor([position, position + offset]), d_model)
        here, there = both.double().numpy()
        off = float(np.abs(matrix @ here - there).max())
        if not off <= 2 * CLOSE * d_model:
            return (
                f"M_k @ PE(p) should be PE(p + k); for k = {offset} and p = {position} "
                f"it is off by up to {off:.3g}"
            )
    return None


def same_in_every_sequence(case: Case, values: Values) -> str | None:
    """Say so if what is added to a token depends on the sequence it is in."""
    x, output = case.arguments["x"], values["output"]
    if case.training or len(x) < 2:
        return None
    added = output.astype(np.float64) - x
    if np.abs(added - added[:1]).max() > 0.02:
        return (
            "what is added to the first sequence of the batch is not what is added to the others; "
            "it should depend on the position only"
        )
    return None


def everything_is_dropped(case: Case, values: Values) -> str | None:
    """Say so if something comes through a dropout that drops all."""
    if not case.training or case.settings["dropout"] < ALL:
        return None
    most = float(np.abs(values["output"].astype(np.float64)).max())
    if most > 0:
        return (
            "in training mode, with a dropout rate of 1, nothing should come through: dropout is "
            f"applied to the sum; here the result holds {most:.4g}"
        )
    return None


# --- tasks -----------------------------------------------------------------------------------

MODULE = "transformer_ref.positions"
FLOATS = "float32 or float64"

TASKS: tuple[Task, ...] = (
    Task(
        key="positions.frequencies",
        stub="frequencies(d_model)",
        contract=(
            f"d_model D, even; returns (D/2,): 10000^(-2i/D) for i = 0 .. D/2 - 1, in {FLOATS}."
        ),
        kind="function",
        returns=("frequencies",),
        reference=reference.frequencies,
        cases=frequency_cases,
        properties=(first_is_one, falls_evenly),
        forbidden=(f"{MODULE}.frequencies",),
        misconceptions=mistakes.FREQUENCIES,
        tolerances={"float32": (1e-5, 1e-9)},
        any_float=True,
    ),
    Task(
        key="positions.sinusoidal_encoding",
        stub="sinusoidal_encoding(num_positions, d_model)",
        contract=(
            "d_model D, even; returns (num_positions, D) float32: column 2i is sin(pos * w_i), "
            "column 2i + 1 is cos(pos * w_i), w_i = 10000^(-2i/D), positions from 0. Judged to "
            "1e-3, so that angles in float32 pass."
        ),
        kind="function",
        returns=("encoding",),
        reference=reference.sinusoidal_encoding,
        cases=table_cases,
        properties=(position_zero_is_at_zero, pairs_are_on_the_circle),
        forbidden=(f"{MODULE}.sinusoidal_encoding", f"{MODULE}.SinusoidalPositions"),
        misconceptions=mistakes.TABLE,
        tolerances=TABLE_TOLERANCE,
    ),
    Task(
        key="positions.shift_matrix",
        stub="shift_matrix(offset, d_model)",
        contract=(
            "offset k, any integer; d_model D, even; returns (D, D): M_k with "
            f"PE(p + k) = M_k @ PE(p) for column vectors at every p, in {FLOATS}. Judged to 1e-3."
        ),
        kind="function",
        returns=("matrix",),
        reference=reference.shift_matrix,
        cases=shift_cases,
        properties=(moves_every_position,),
        forbidden=(f"{MODULE}.shift_matrix",),
        misconceptions=mistakes.SHIFT,
        tolerances=TABLE_TOLERANCE,
        any_float=True,
    ),
    Task(
        key="positions.PositionalEncoding",
        stub="class PositionalEncoding(d_model, max_len, dropout): forward(x)",
        contract=(
            "an nn.Module; x (B, T, D); returns dropout(x + PE(0 .. T - 1)) (B, T, D) in the dtype "
            "of x, where T = max_len works and more is a ValueError. No sqrt(D) in it, and no "
            "trainable parameter. Judged in eval mode, the dropout in training mode too. The "
            "argument is not changed. Gradients reach x."
        ),
        kind="class",
        returns=("output",),
        reference=reference.SinusoidalPositions,
        cases=module_cases,
        properties=(everything_is_dropped, same_in_every_sequence),
        forbidden=(f"{MODULE}.SinusoidalPositions",),
        misconceptions=mistakes.MODULE,
        tolerances={
            "float32": (2e-4, 2e-4),
            "float64": (2e-4, 2e-4),
            "float16": (4e-3, 4e-3),
        },
        nothing_to_learn=True,
    ),
    Task(
        key="positions.find_the_bug",
        stub="encode_positions(positions, d_model)",
        contract=(
            "positions (...) int64, any shape, from 0; d_model D, even; returns (..., D) float32: "
            "feature 2i is sin(pos * w_i), feature 2i + 1 is cos(pos * w_i), w_i = 10000^(-2i/D). "
            "Judged to 1e-3. The result is on the device of the positions, which are not changed."
        ),
        kind="function",
        returns=("encoding",),
        reference=encode_positions,
        cases=bug_cases,
        properties=(position_zero_is_at_zero, pairs_are_on_the_circle),
        forbidden=(
            f"{MODULE}.sinusoidal_encoding",
            f"{MODULE}.SinusoidalPositions",
            "transformer_ref.checks.positions.encode_positions",
        ),
        misconceptions=mistakes.BUG,
        tolerances=TABLE_TOLERANCE,
    ),
)
