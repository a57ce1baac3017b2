"""Makes the cases of the assignment "positions"."""

from __future__ import annotations

from typing import Any

import numpy as np

from transformer_ref.checks.authoring.cases import (
    asked_again,
    described,
    normal,
    plain_case,
    with_gradients,
)
from transformer_ref.checks.task import Case

# A rate at which dropout leaves nothing, and which is still below 1, as some code asks for.
ALL = 1 - 1e-9


def _evens(rng: np.random.Generator, start: int, stop: int, count: int) -> list[int]:
    """Draw different even numbers, in their order."""
    found = rng.choice(np.arange(start, stop + 1, 2), size=count, replace=False)
    return sorted(int(number) for number in found)


def frequency_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of frequencies: small, drawn and large sizes, odd and even numbers of pairs."""
    sizes = [4, 6, 2, *_evens(rng, 8, 62, 4), *_evens(rng, 64, 254, 3), 256, 512]
    cases = [plain_case(d_model=size) for size in sizes]
    asked_again(cases, cases[3])
    return cases


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
    asked_again(cases, cases[3])
    return cases


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
    asked_again(cases, cases[4])
    return cases


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
    asked_again(cases, cases[2])
    for options in ({}, {"dtype": "float64"}):
        case = made(**options)
        cases.append(with_gradients(case, rng, case.arguments["x"].shape))
    return cases


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
    asked_again(cases, cases[6])
    return cases
