"""Makes the cases of the assignment "positions"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_checks.assignments import made_arguments
from transformer_checks.assignments.shared_cases import (
    asked_again,
    described,
    different_sizes,
    elsewhere,
    normal,
    plain_case,
    with_gradients,
)
from transformer_checks.task import Arrays, Case
from transformer_checks.translation import say

# A rate at which dropout leaves nothing, and which is still below 1, as some code asks for.
ALL = 1 - 1e-9


def _evens(rng: np.random.Generator, start: int, stop: int, count: int) -> list[int]:
    """Draw different even numbers, in their order."""
    found = rng.choice(np.arange(start, stop + 1, 2), size=count, replace=False)
    return sorted(int(number) for number in found)


def frequencies_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of frequencies: small, drawn and large sizes, odd and even numbers of pairs."""
    sizes = [4, 6, 2, *_evens(rng, 8, 62, 4), *_evens(rng, 64, 254, 3), 256, 512]
    cases = [plain_case(d_model=size) for size in sizes]
    asked_again(cases, cases[3])
    return cases


def sinusoidal_encoding_cases(rng: np.random.Generator) -> list[Case]:
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


def shift_matrix_cases(rng: np.random.Generator) -> list[Case]:
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
        options: dtype, layout, dropout, training and device, where they are not the usual ones.

    Returns:
        the case; to be refused where T is above `max_len`.
    """
    dtype, layout = options.get("dtype", "float32"), options.get("layout", "contiguous")
    dropout, training = options.get("dropout", 0.0), options.get("training", False)
    device = options.get("device", "cpu")
    arguments = {"x": normal(rng, shape, dtype)}
    settings = {"d_model": shape[2], "max_len": max_len, "dropout": dropout}
    parts = [f"d_model={shape[2]}, max_len={max_len}, dropout={dropout:g}", *described(arguments)]
    parts += [dtype, *["not contiguous"] * (layout != "contiguous")]
    parts += ["training mode"] * training + [f"on {device}"] * (device != "cpu")
    refused = ""
    says: tuple[str, ...] = ()
    if shape[1] > max_len:
        refused = say(
            "x has {length} positions and max_len = {max_len}, with both in its message",
            length=shape[1],
            max_len=max_len,
        )
        says = (str(shape[1]), str(max_len))
    return Case(
        ", ".join(parts),
        arguments,
        settings,
        layout=layout,
        device=device,
        refused=refused,
        says=says,
        training=training,
    )


def _sizes(rng: np.random.Generator) -> tuple[tuple[int, int, int], int]:
    """Draw a shape (B, T, D) and a max_len, all four different, and the batch the smallest."""
    batch, length = int(rng.integers(2, 5)), int(rng.integers(6, 12))
    d_model = int(rng.choice([size for size in range(6, 18, 2) if size != length]))
    spare = [size for size in range(length + 2, length + 12) if size != d_model]
    return (batch, length, d_model), int(rng.choice(spare))


def positional_encoding_cases(rng: np.random.Generator) -> list[Case]:
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
        # Stands in for a GPU: only what the module knows moves there.
        _module_case(rng, (1, 5, 6), 8, device="meta"),
    ]
    asked_again(cases, cases[2])
    for options in ({}, {"dtype": "float64"}):
        case = made(**options)
        cases.append(with_gradients(case, rng, case.arguments["x"].shape))
    cases.append(_module_case(rng, (2, 70, 6), 80))
    return cases


def _read_case(
    positions: Any, d_model: int, dtype: str = "float64", layout: str = "contiguous"
) -> Case:
    """Make a case of read_positions: the encodings, rounded to three decimals."""
    places = np.asarray(positions, dtype=np.float64)
    angles = places[..., None] * 10_000.0 ** (-np.arange(0, d_model, 2) / d_model)
    rows = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(*places.shape, d_model)
    arguments = {"encodings": rows.round(3).astype(dtype)}
    shown = f" of {places.round(2).tolist()}" if places.size <= 4 else ""
    parts = [
        f"{described(arguments)[0]}{shown}",
        dtype,
        *["not contiguous"] * (layout != "contiguous"),
    ]
    return Case(", ".join(parts), arguments, layout=layout)


def read_positions_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of read_positions: few hands and many, near and far, whole numbers and others."""

    def drawn(shape: tuple[int, ...], d_model: int, low: float = 0.0) -> np.ndarray:
        """Draw positions from `low` to 0.9 rounds of the slowest hand, below 5,000."""
        a_round = 2 * np.pi * 10_000.0 ** (1 - 2 / d_model)
        return rng.uniform(low, 0.9, shape) * min(a_round, 5000 / 0.9)

    batch, length = int(rng.integers(2, 4)), int(rng.integers(5, 8))
    middle, large = (int(rng.choice(sizes)) for sizes in ([10, 12, 14], [48, 62, 96]))
    # With few hands in float64: a mistake is small there, and its dtype would contradict a name.
    cases = [
        *(_read_case(27.4, 4), _read_case(drawn((3,), 4), 4), _read_case(drawn((3,), 2), 2)),
        *(_read_case(np.arange(length), 6), _read_case(drawn((length,), 8), 8, "float32")),
        _read_case(drawn((batch, length), middle), middle, "float32"),
        *(_read_case(drawn((length, batch), 16), 16), _read_case(drawn((1, 3), 128), 128)),
        _read_case(drawn((2, 3, 4), 8), 8, "float32", layout="strided"),
        _read_case(drawn((length,), large), large, "float32"),
        *(_read_case(drawn((4,), 4, 0.55), 4), _read_case(drawn((4,), 6, 0.55), 6)),
        _read_case(rng.uniform(0, 20, length), 32, "float32"),
        _read_case(drawn((length, length), length // 2 * 2), length // 2 * 2),
    ]
    asked_again(cases, cases[4])
    # The fast hand is near half a round or a whole one; the slow one cannot say on which side.
    near = np.pi * rng.permutation(np.arange(1, 81)) + rng.choice([-0.01, 0.01], 80)
    cases += [_read_case(near, 4), _read_case(drawn((70,), 10), 10)]
    return cases


def find_the_bug_cases(rng: np.random.Generator) -> list[Case]:
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
    cases.append(case(drawn((70,), 500), 6))
    cases.append(elsewhere(case(drawn((2, 5), 100), 6)))
    return cases


# --- models that see the order, and models that do not ---------------------------------------


class _ByHand(nn.Module):
    """Mixes the tokens in fixed parts, after a table is added, and adds plain attention.

    Attention moves with the tokens; all else is linear, so that the effect of an order is known.
    """

    mix: nn.Parameter
    table: nn.Parameter
    attention: nn.Parameter

    def __init__(self, weights: Arrays) -> None:
        super().__init__()
        for name, array in weights.items():
            self.register_parameter(name, nn.Parameter(torch.empty(array.shape), False))

    def forward(self, x: Tensor) -> Tensor:
        """Take and return (B, T, D)."""
        if x.ndim != 3 or x.shape[1:] != self.table.shape:
            length, d_model = self.table.shape
            raise ValueError(f"model takes (B, {length}, {d_model}), received {tuple(x.shape)}")
        mixed: Tensor = self.mix @ (x + self.table)
        return mixed + self.attention * F.scaled_dot_product_attention(x, x, x)


MODEL = made_arguments.measured_model_maker(_ByHand)


def known_effect(case: Case) -> float:
    """Return the effect that follows from how the model was made, without asking it."""
    weights = case.arguments["model"]["weights"]
    mix, table = (weights[name].astype(np.float64) for name in ("mix", "table"))
    back = np.argsort(case.arguments["order"])
    mixes_otherwise = (mix[back][:, back] - mix) @ case.arguments["x"].astype(np.float64)
    added_otherwise = (mix @ table)[back] - mix @ table
    return float(np.square(mixes_otherwise + added_otherwise).mean())


def _model(
    rng: np.random.Generator, kind: str, length: int, d_model: int, dtype: str
) -> dict[str, Any]:
    """Describe a model of one kind; the first four do not see the order.

    A long one comes in training mode, which changes nothing.
    """
    one, none = np.eye(length), np.zeros((length, d_model))
    drawn = rng.normal(size=(length, d_model))
    running = np.tril(np.ones((length, length))) / np.arange(1, length + 1)[:, None]
    distances = np.abs(np.subtract.outer(np.arange(length), np.arange(length)))
    pairs = np.kron(np.eye(length // 2), np.full((2, 2), 0.5)) if kind == "pairs" else one
    mean = np.full((length, length), 1 / length)
    said, mix, table, attention = {
        "attention": ("attention without positions", 2 * one, none, 1.0),
        "mean": ("a table of positions is added, then each gets the mean of all", mean, drawn, 0.0),
        "same": ("the same row is added everywhere, attention", one, none + drawn[0], 1.0),
        "pairs": ("each gets the mean of its pair: 0 and 1, 2 and 3, ...", pairs, none, 0.0),
        "added": ("a table of positions is added", one, drawn, 0.0),
        "running": ("each gets the mean of all up to itself", running, none, 0.0),
        "before": ("each gets the token before", np.eye(length, k=-1), none, 0.0),
        "near": ("each gets most from its neighbours", 0.5**distances, none, 0.0),
        "factors": ("each position has a factor", np.diag(rng.normal(size=length)), none, 1.0),
        "all": ("positions, a causal mean and attention", running, drawn, 1.0),
    }[kind]
    weights = {"mix": mix, "table": table, "attention": np.array(attention)}
    described_weights = {name: array.astype(dtype) for name, array in weights.items()}
    return made_arguments.model(said, described_weights, training=length > 8)


def order_effect_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of order_effect: each kind of model, with orders that are not undone by themselves."""
    plans = [
        *(("added", "float32", "contiguous"), ("attention", "float32", "contiguous")),
        *(("running", "float32", "contiguous"), ("mean", "float64", "contiguous")),
        *(("before", "float64", "contiguous"), ("near", "float32", "strided")),
        *(("same", "float32", "contiguous"), ("factors", "float64", "contiguous")),
        *(("all", "float32", "strided"), ("all", "float64", "contiguous")),
    ]
    cases = []
    for kind, dtype, layout in plans:
        length = int(rng.integers(5, 9))
        batch, d_model = [size for size in different_sizes(rng, 2, 8) if size != length][:2]
        cases.append(_effect_case(rng, kind, (batch, length, d_model), dtype, layout))
    reversal, swaps = np.arange(3)[::-1], np.array([1, 0, 2, 3, 5, 4])
    cases += [
        _effect_case(rng, "running", (2, 3, 4), order=reversal),
        _effect_case(rng, "pairs", (2, 6, 3), order=swaps),
        _effect_case(rng, "all", (5, 5, 5)),  # on every axis the order fits
        _effect_case(rng, "all", (1, 6, 4)),
    ]
    asked_again(cases, cases[0])
    cases.append(_effect_case(rng, "all", (2, 70, 3)))
    return cases


def _effect_case(
    rng: np.random.Generator,
    kind: str,
    shape: tuple[int, int, int],
    dtype: str = "float32",
    layout: str = "contiguous",
    order: np.ndarray | None = None,
) -> Case:
    """Make a case; an order that is drawn is neither its own inverse nor leaves an end in place."""
    length = shape[1]
    while order is None:
        drawn = rng.permutation(length)
        moves_the_ends = drawn[0] != 0 and drawn[-1] != length - 1
        if moves_the_ends and (drawn[drawn] != np.arange(length)).any():
            order = drawn
    arguments = {
        "model": _model(rng, kind, length, shape[2], dtype),
        "x": normal(rng, shape, dtype),
        "order": order.astype(np.int64),
    }
    parts = [*described({name: arguments[name] for name in ("model", "x")})]
    parts += [f"order = {order.tolist()}", dtype, *["not contiguous"] * (layout != "contiguous")]
    return Case(", ".join(parts), arguments, layout=layout)


# --- tables of positions ---------------------------------------------------------------------

Table = tuple[np.ndarray, list[int]]


def _turns(rng: np.random.Generator, length: int, d_model: int) -> np.ndarray:
    """Draw clock hands: sines and cosines of one angle, which grows by the same at each step."""
    angles = np.outer(np.arange(length), rng.uniform(0.2, 2.5, d_model // 2))
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, -1)


def _of_length_one(rng: np.random.Generator, length: int, d_model: int) -> np.ndarray:
    rows = rng.normal(size=(length, d_model))
    unit: np.ndarray = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
    return unit


def _all(length: int) -> list[int]:
    return list(range(length - 1))


def _hands(rng: np.random.Generator, length: int, d_model: int) -> Table:
    return _turns(rng, length, d_model), _all(length)


def _hands_seen_from_elsewhere(rng: np.random.Generator, length: int, d_model: int) -> Table:
    """No feature is a sine or a cosine any more, and every dot product is as before."""
    turned, _ = np.linalg.qr(rng.normal(size=(d_model, d_model)))
    return _turns(rng, length, d_model) @ turned, _all(length)


def _one_hot(rng: np.random.Generator, length: int, d_model: int) -> Table:
    return np.eye(length, length + 2), _all(length)


def _slowly_longer(rng: np.random.Generator, length: int, d_model: int) -> Table:
    """A row's score with itself grows by less than 0.001 at each step, and by far more in all."""
    lengths = np.sqrt(1.0 + 7e-4 * np.arange(length))
    return np.eye(length) * lengths[:, None], _all(length)[1:]


def _learned(rng: np.random.Generator, length: int, d_model: int) -> Table:
    return rng.normal(size=(length, d_model)), []


def _learned_of_length_one(rng: np.random.Generator, length: int, d_model: int) -> Table:
    return _of_length_one(rng, length, d_model), [0]


def _repeated(rng: np.random.Generator, length: int, d_model: int) -> Table:
    """Every third row is the same."""
    return np.resize(_of_length_one(rng, 3, d_model), (length, d_model)), _all(length)[::3]


def _alternating(rng: np.random.Generator, length: int, d_model: int) -> Table:
    """One hand, which takes a short step and a long one in turn: two of them are always alike."""
    angles = np.cumsum(np.resize(rng.uniform([0.2, 0.8], [0.5, 1.2]), length))
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1), _all(length)[::2]


def _numbers(rng: np.random.Generator, length: int, d_model: int) -> Table:
    """The position itself, at one feature."""
    return np.outer(np.arange(length), np.eye(d_model)[0]) * 0.5, []


def _growing(rng: np.random.Generator, length: int, d_model: int) -> Table:
    return _turns(rng, length, d_model) * (1 + 0.2 * np.arange(length))[:, None], []


def _last_row_replaced(rng: np.random.Generator, length: int, d_model: int) -> Table:
    table = _turns(rng, length, d_model)
    table[-1] = rng.normal(size=d_model)
    return table, []


def _last_rows_exchanged(rng: np.random.Generator, length: int, d_model: int) -> Table:
    table = _turns(rng, length, d_model)
    table[[-1, -2]] = table[[-2, -1]]
    return table, [0]


TABLES: dict[str, Callable[[np.random.Generator, int, int], Table]] = {
    "clock hands": _hands,
    "clock hands, their features mixed": _hands_seen_from_elsewhere,
    "one-hot": _one_hot,
    "drawn at random": _learned,
    "drawn at random, of length 1": _learned_of_length_one,
    "three rows, again and again": _repeated,
    "one hand with two steps in turn": _alternating,
    "the position itself": _numbers,
    "clock hands that grow": _growing,
    "clock hands, the last row another": _last_row_replaced,
    "clock hands, the last two rows exchanged": _last_rows_exchanged,
}


def known_table(kind: str, rng: np.random.Generator, length: int, d_model: int) -> Table:
    """Draw a table of one kind, until no score is nearly the same as another.

    It is rounded to four digits, so that no two scores are the same to the last one, in whatever
    order an answer adds.

    Args:
        kind: a key of TABLES.
        rng: the source.
        length: L.
        d_model: D, even; some kinds have a width of their own.

    Returns:
        (L, D) float64, and the distances that are consistent by construction.
    """
    while True:
        exact, known = TABLES[kind](rng, length, d_model)
        table = exact.round(4)
        scores = table @ table.T
        spreads = [float(np.ptp(np.diagonal(scores, k))) for k in range(length - 1)]
        if all(s < 6e-4 if k in known else s > 0.02 for k, s in enumerate(spreads)):
            return table, known


def consistent_distances_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of consistent_distances: each kind of table, some of them twice."""
    twice = ("clock hands", "one hand with two steps in turn", "three rows, again and again")
    cases = []
    for number, kind in enumerate([*TABLES, *twice]):
        length, d_model = int(rng.integers(7, 11)), int(rng.choice([4, 6]))
        dtype = ("float32", "float64")[number % 2]
        layout = "strided" if number % 5 == 4 else "contiguous"
        table = known_table(kind, rng, length, d_model)[0].astype(dtype)
        cases.append(_table_case(table, kind, layout))
    cases.append(_table_case(known_table("clock hands", rng, 3, 2)[0], "clock hands"))
    cases.append(_table_case(known_table("clock hands", rng, 4, 10)[0], "clock hands"))
    asked_again(cases, cases[0])
    long = _slowly_longer(rng, 70, 0)[0].round(4)
    cases.append(_table_case(long, "one-hot, each row a little longer than the one before"))
    return cases


def _table_case(table: np.ndarray, kind: str, layout: str = "contiguous") -> Case:
    parts = [f"table {table.shape}: {kind}", str(table.dtype)]
    parts += ["not contiguous"] * (layout != "contiguous")
    return Case(", ".join(parts), {"table": table}, layout=layout)
