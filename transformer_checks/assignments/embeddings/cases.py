"""Makes the cases of the assignment "embeddings"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_checks.assignments.shared_cases import (
    asked_again,
    described,
    different_sizes,
    elsewhere,
    normal,
    plain_case,
    with_gradients,
)
from transformer_checks.running.asking import ReturnedError, describe, type_and_size
from transformer_checks.task import SAID, Arrays, Case, Made, Maker
from transformer_checks.translation import later

# --- numbers ---------------------------------------------------------------------------------


def draw_ids(
    rng: np.random.Generator, shape: tuple[int, ...], vocab_size: int, ends: bool = True
) -> np.ndarray:
    """Draw ids; the first and the last of the vocabulary are among them, or neither.

    Args:
        rng: the source.
        shape: of the ids.
        vocab_size: V, at least 3.
        ends: whether 0 and V - 1 are among them; where there is room for one only, it is 0.

    Returns:
        int64.
    """
    ids = rng.integers(1, vocab_size - 1, size=shape)
    if ends:
        places = rng.permutation(ids.size)[:2]
        ids.flat[places] = (0, vocab_size - 1)[: len(places)]
    return ids.astype(np.int64)


def tensor_case(
    arguments: dict[str, Any], dtype: str = "", layout: str = "contiguous", note: str = ""
) -> Case:
    """Make a case whose name says what is tried."""
    odd = "not contiguous" if layout == "strided" else ""
    parts = [*described(arguments), dtype, odd, note]
    return Case(", ".join(part for part in parts if part), arguments, layout=layout)


FLOAT16, FLOAT32, FLOAT64 = "float16", "float32", "float64"
PLAIN, STRIDED = "contiguous", "strided"


# --- cases -----------------------------------------------------------------------------------


def embed_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of embed: more tokens than features and fewer, one to three axes."""

    def case(
        axes: int,
        dtype: str,
        layout: str = PLAIN,
        ends: bool = True,
        note: str = "",
        **fixed: int,
    ) -> Case:
        *shape, vocab_size, d_model = different_sizes(rng, 2, 9, axes + 2)
        vocab_size, d_model = fixed.get("V", vocab_size + 1), fixed.get("D", d_model)
        shape = [fixed.get("T", shape[0])] if axes == 1 else shape
        arguments = {
            "ids": draw_ids(rng, tuple(shape), vocab_size, ends),
            "weight": normal(rng, (vocab_size, d_model), dtype),
        }
        return tensor_case(arguments, dtype, layout, note)

    cases = [
        case(1, FLOAT32),
        case(1, FLOAT64, ends=False),
        case(2, FLOAT32),
        case(2, FLOAT32, ends=False),
        case(2, FLOAT64),
        case(3, FLOAT32),
        case(2, FLOAT32, STRIDED),
        case(1, FLOAT64, STRIDED),
        case(2, FLOAT32, note="more features than tokens", V=4, D=16, ends=False),
        case(2, FLOAT64, note="more tokens than features", V=30, D=3),
        case(1, FLOAT32, note="as many ids as tokens", T=6, V=6),
        case(1, FLOAT32, note="a single id", T=1),
    ]
    asked_again(cases, cases[2])
    for axes, dtype in ((1, FLOAT32), (2, FLOAT64)):
        asked = case(axes, dtype)
        ids, weight = asked.arguments["ids"], asked.arguments["weight"]
        cases.append(with_gradients(asked, rng, (*ids.shape, weight.shape[1])))
    weight = normal(rng, (300, 3), FLOAT32)
    cases.append(tensor_case({"ids": draw_ids(rng, (2, 70), 300), "weight": weight}, FLOAT32))
    return cases


def window_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of skipgram_pairs: short and long windows, ids that come again."""

    def sentence(length: int, vocab_size: int = 90) -> list[int]:
        """Draw ids that are all different, none of which is a place; or some of a few."""
        if vocab_size < 90:
            return [int(each) for each in rng.integers(0, vocab_size, size=length)]
        return [int(each) for each in rng.permutation(np.arange(10, 100))[:length]]

    a, b, c = sentence(3)
    drawn = [
        (sentence(3), 1),
        (sentence(5), 1),
        (sentence(6), 2),
        (sentence(9), 3),
        (sentence(8), 2),
        (sentence(4), 3),
        (sentence(3), 5),
        (sentence(2), 1),
        ([a, b, a, a, c], 1),
        ([a, a, b, c, b, b], 2),
        (sentence(11, 3), 4),
        ([0, a, 0, b, 0], 2),
        (sentence(1), 2),
        ([], 1),
        (sentence(12), int(rng.integers(4, 7))),
        (sentence(14, 4), int(rng.integers(2, 4))),
    ]
    cases = [plain_case(ids=ids, window=window) for ids, window in drawn]
    asked_again(cases, cases[2])
    many = [int(each) for each in rng.permutation(np.arange(300, 370))]
    cases.append(plain_case(ids=[*many, many[0]], window=2))
    return cases


def negative_sampling_loss_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of negative_sampling_loss, among them products that make the sigmoid 0 or 1."""

    def case(dtype: str, layout: str = PLAIN, note: str = "", **fixed: int) -> Case:
        batch, count, d_model = different_sizes(rng, 2, 9, 3)
        batch, count = fixed.get("B", batch), fixed.get("N", count)
        shapes = {"center": (batch,), "positive": (batch,), "negatives": (batch, count)}
        # Products of size one, so that a rounded sigmoid shows only where the products are loud.
        arguments = {
            name: (normal(rng, (*shape, d_model), dtype) * d_model**-0.25).astype(dtype)
            for name, shape in shapes.items()
        }
        return tensor_case(arguments, dtype, layout, note)

    def loud(dtype: str, positive: float, negative: float) -> Case:
        """Make a case in which the products with the centre have these sizes."""
        quiet = case(dtype)
        center = quiet.arguments["center"]
        along = center / (center**2).sum(axis=-1, keepdims=True)
        noise = rng.uniform(0.7, 1.0, size=quiet.arguments["negatives"].shape[:2])
        arguments = {
            "center": center,
            "positive": (positive * along).astype(dtype),
            "negatives": (negative * noise[..., None] * along[:, None]).astype(dtype),
        }
        note = f"products of {positive:g} and up to {negative:g}"
        return tensor_case(arguments, dtype, note=note)

    cases = [
        case(FLOAT32),
        case(FLOAT32),
        case(FLOAT64),
        case(FLOAT32, STRIDED),
        case(FLOAT64, STRIDED),
        case(FLOAT32, note="one negative", N=1),
        case(FLOAT64, note="a batch of one", B=1),
        case(FLOAT32, note="as many negatives as pairs", B=4, N=4),
        loud(FLOAT32, -200.0, -200.0),
        loud(FLOAT32, 200.0, 200.0),
        loud(FLOAT64, -200.0, 200.0),
        loud(FLOAT32, 200.0, -200.0),
    ]
    asked_again(cases, cases[1])
    for asked in (case(FLOAT32), case(FLOAT64), loud(FLOAT32, -200.0, 200.0)):
        cotangent = np.array(rng.uniform(0.5, 2.0), dtype=asked.dtype)
        name = f"{asked.name}, gradients"
        cases.append(replace(asked, name=name, cotangent=cotangent))
    cases.append(case(FLOAT32, note="many negatives", N=70))
    return cases


def nearest_neighbours_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of nearest_neighbours: rows of very different lengths, angles that are not close."""

    def case(dtype: str, k: int, layout: str = PLAIN, place: int | None = None) -> Case:
        """Make a case; k counts from the end of the ranking where it is below 1."""
        vocab_size, d_model = int(rng.integers(7, 13)), int(rng.integers(3, 6))
        token_id = int(rng.integers(vocab_size)) if place is None else place % vocab_size
        weight = _apart(rng, vocab_size, d_model, token_id).astype(dtype)
        k = k if k > 0 else vocab_size - 1 + k
        return tensor_case({"weight": weight, "token_id": token_id, "k": k}, dtype, layout)

    cases = [
        case(FLOAT32, 1),
        case(FLOAT32, 2),
        case(FLOAT64, 3),
        case(FLOAT32, 3, place=0),
        case(FLOAT32, 4, place=-1),
        case(FLOAT64, 4, STRIDED),
        case(FLOAT32, 5, STRIDED),
        case(FLOAT32, 0),
        case(FLOAT64, 0, place=0),
        case(FLOAT32, -1),
        case(FLOAT64, 1, place=-1),
        case(FLOAT32, 3),
        case(FLOAT32, 0, place=-1),
        case(FLOAT64, 5),
    ]
    asked_again(cases, cases[2])
    return cases


def _apart(rng: np.random.Generator, vocab_size: int, d_model: int, token_id: int) -> np.ndarray:
    """Draw rows whose cosines with one of them, also without their signs, lie apart."""
    while True:
        weight = rng.standard_normal((vocab_size, d_model))
        weight *= rng.uniform(0.3, 4.0, size=(vocab_size, 1)) / np.sqrt(d_model)
        unit = weight / np.linalg.norm(weight, axis=1, keepdims=True)
        cosines = np.delete(unit @ unit[token_id], token_id)
        gaps = np.diff(np.sort(np.append(np.abs(cosines), [0.0, 1.0])))
        if gaps.min() > 5e-3 and (cosines < 0).any() and (cosines > 0).any():
            return weight


def embedding_from_pretrained_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of embedding_from_pretrained: frozen and not, padding anywhere and nowhere."""

    def case(
        dtype: str, trainable: bool, pad: int | None, layout: str = PLAIN, **fixed: int
    ) -> Case:
        vocab_size, d_model = different_sizes(rng, 4, 9, 2)
        vocab_size = fixed.get("V", vocab_size)
        arguments = {
            "vectors": normal(rng, (vocab_size, d_model), dtype),
            "trainable": trainable,
            "pad_id": pad if pad is None else pad % vocab_size,
        }
        return tensor_case(arguments, dtype, layout)

    cases = [
        case(FLOAT32, True, None),
        case(FLOAT32, False, None),
        case(FLOAT32, True, 0),
        case(FLOAT32, False, 0),
        case(FLOAT64, True, 2),
        case(FLOAT64, False, 1),
        case(FLOAT32, True, -1),
        case(FLOAT32, False, -1),
        case(FLOAT64, True, 0),
        case(FLOAT64, True, None),
        case(FLOAT32, True, 3, STRIDED),
        case(FLOAT64, False, None, STRIDED),
    ]
    asked_again(cases, cases[4])
    cases.append(case(FLOAT16, True, 1))
    cases.append(case(FLOAT32, True, 70, V=80))
    cases.append(elsewhere(case(FLOAT32, True, 0)))
    return cases


def _direction(rng: np.random.Generator, d_model: int, how: str) -> np.ndarray:
    """Draw a vector with a trait, such as zeros; what is not 0 is at least 0.1 in size."""
    direction = rng.uniform(0.3, 3.0, d_model)
    if how == "negative":
        direction *= -1
    elif how == "zeros":
        direction[[0, -1]] = 0
        direction[1] *= -1
    elif how == "one number":
        direction[np.arange(d_model) != 2] = 0
        direction[2] *= -1
    elif how == "sum of 0":
        quarters = rng.integers(2, 9, d_model // 2) / 4  # exact, so that they cancel
        direction = np.concatenate([quarters, -quarters])
    return direction


def _cut_is_wrong(gradient: np.ndarray, direction: np.ndarray) -> bool:
    """Whether in each feature some quotient is just below a whole number."""
    counts = gradient / direction
    return bool((np.trunc(counts) < np.rint(counts)).any(axis=0).all())


def ids_from_gradient_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of ids_from_gradient: directions with zeros, negative numbers, and a sum of 0."""

    def case(dtype: str, how: str, tokens: int, layout: str = PLAIN, **fixed: int) -> Case:
        vocab_size, d_model = fixed.get("V", int(rng.integers(5, 12))), int(rng.choice([4, 6]))
        ids = draw_ids(rng, (tokens,), vocab_size)
        again = ids[: tokens // 3]
        again[:] = ids[len(again) : 2 * len(again)]  # some are read again
        direction = _direction(rng, d_model, how).astype(dtype)
        gradient = np.zeros((vocab_size, d_model), dtype)
        np.add.at(gradient, ids, direction)
        if how == "to be rounded" and not _cut_is_wrong(gradient, direction):
            return case(dtype, how, tokens, layout, **fixed)
        arguments = {"gradient": gradient, "direction": direction}
        return tensor_case(arguments, dtype, layout, f"{tokens} tokens, {how}")

    cases = [
        case(FLOAT32, "positive", 4),
        case(FLOAT32, "to be rounded", 50),
        case(FLOAT64, "negative", 6),
        case(FLOAT32, "negative", 12, STRIDED),
        case(FLOAT32, "zeros", 7),
        case(FLOAT64, "zeros", 10),
        case(FLOAT32, "one number", 8),
        case(FLOAT32, "sum of 0", 7),
        case(FLOAT64, "sum of 0", 11, STRIDED),
        case(FLOAT32, "positive", 1),
        case(FLOAT32, "to be rounded", 60),
        case(FLOAT32, "positive", 0),
    ]
    asked_again(cases, cases[4])
    cases.append(case(FLOAT32, "negative", 100, V=300))
    return cases


def find_the_bug_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of language_model; in each of them the bug as found shows."""

    def case(dtype: str, layout: str = PLAIN, note: str = "", **fixed: int) -> Case:
        # With eight features or more, the small number in LayerNorm makes no difference.
        batch, length, vocab_size, d_model = (
            *different_sizes(rng, 3, 7, 3),
            int(rng.integers(8, 13)),
        )
        batch, length = fixed.get("B", batch), fixed.get("T", length)
        vocab_size = fixed.get("V", vocab_size)
        arguments = {
            "ids": draw_ids(rng, (batch, length), vocab_size),
            "weight": (0.5 * normal(rng, (vocab_size, d_model), dtype)).astype(dtype),
            "positions": normal(rng, (length, d_model), dtype),
        }
        return tensor_case(arguments, dtype, layout, note)

    cases = [
        case(FLOAT32),
        case(FLOAT32),
        case(FLOAT64),
        case(FLOAT64),
        case(FLOAT32, STRIDED),
        case(FLOAT64, STRIDED),
        case(FLOAT32, note="a batch of one", B=1),
        case(FLOAT32, note="one token", T=1),
        case(FLOAT64, note="a longer text", T=20),
        case(FLOAT32, note="a larger vocabulary", V=31),
    ]
    asked_again(cases, cases[1])
    for dtype in (FLOAT32, FLOAT64):
        asked = case(dtype)
        ids, weight = asked.arguments["ids"], asked.arguments["weight"]
        cases.append(with_gradients(asked, rng, (*ids.shape, len(weight))))
    cases.append(case(FLOAT32, note="a long text", B=1, T=70, V=300))
    return cases


# --- rows and what a loss does to them -------------------------------------------------------

# How a loss uses the embedding; all but the last look rows up.
LOSSES: dict[str, Callable[[nn.Embedding, Mapping[str, Tensor]], Tensor]] = {
    "sum": lambda embedding, its: (embedding(its["ids"]) * its["factors"]).sum(),
    "gate": lambda embedding, its: (embedding(its["ids"]) @ its["direction"]).relu().sum(),
    "own output": lambda embedding, its: F.cross_entropy(
        embedding(its["ids"]) @ its["output"], its["targets"]
    ),
    "tied": lambda embedding, its: F.cross_entropy(
        embedding(its["ids"]) @ embedding.weight.T, its["targets"]
    ),
    "drawn": lambda embedding, its: (
        -F.logsigmoid(embedding(its["ids"]) @ embedding(its["center"]).T * its["signs"]).sum()
    ),
    "lengths": lambda embedding, its: embedding.weight.square().sum(),
}
# Below this a living row has no gradient, but in a case that is about faint ones.
CLEAR, FAINT = 1e-3, 1e-5


def _make_embedding(name: str, case: Case, earlier: Mapping[str, Any]) -> Made:
    description = case.arguments[name]
    weight = torch.from_numpy(description["weight"].copy()).to(case.device)
    rows, d_model = weight.shape
    made = nn.Embedding(rows, d_model, padding_idx=description["pad"], _weight=weight)
    if description["before"] is not None:
        made.weight.grad = torch.from_numpy(description["before"].copy()).to(case.device)
    parameter = made.weight
    return Made(made, left=lambda: {"weight": parameter})


def _make_loss(name: str, case: Case, earlier: Mapping[str, Any]) -> Made:
    description = case.arguments[name]
    kind, arrays = LOSSES[description["kind"]], description["arrays"]
    its = {part: torch.from_numpy(array.copy()).to(case.device) for part, array in arrays.items()}

    def loss(embedding: nn.Embedding) -> Tensor:
        if not isinstance(embedding, nn.Embedding):
            raise TypeError(f"{name} takes an nn.Embedding, received {describe(embedding)}")
        return kind(embedding, its)

    return Made(loss)


EMBEDDING, LOSS = Maker(_make_embedding), Maker(_make_loss)


def row_gradients(case: Case) -> np.ndarray:
    """Return the (V, D) gradient of a case of dead_rows."""
    embedding = _make_embedding("embedding", case, {}).value
    (gradient,) = torch.autograd.grad(
        _make_loss("loss", case, {}).value(embedding), [embedding.weight]
    )
    found: np.ndarray = gradient.cpu().numpy()
    return found


def known_dead(case: Case) -> list[int]:
    """Return the dead rows that follow from how the loss was made, without any gradient."""
    loss, embedding = case.arguments["loss"], case.arguments["embedding"]
    kind, its, weight = loss["kind"], loss["arrays"], embedding["weight"]
    if kind == "tied":
        return []
    if kind == "lengths":
        return [row for row, numbers in enumerate(weight) if not numbers.any()]
    counts = {
        "sum": lambda: its["factors"].any(axis=-1),
        "gate": lambda: weight[its["ids"]] @ its["direction"] > 0,
    }.get(kind, lambda: np.full(its["ids"].shape, True))()
    living = {*its["ids"][counts].tolist(), *its.get("center", np.array([])).tolist()}
    return [row for row in range(len(weight)) if row not in living - {embedding["pad"]}]


def _loss(
    rng: np.random.Generator, kind: str, weight: np.ndarray, pad: int | None, how: str = ""
) -> dict[str, Any]:
    """Describe a loss of one kind; there are always rows that it does not look up."""
    vocab_size, d_model = weight.shape
    some = rng.permutation([row for row in range(vocab_size) if row != pad])[: vocab_size // 2]
    ids = rng.permutation([*some, some[0], *([pad] if pad is not None else [])]).astype(np.int64)
    arrays: Arrays = {"ids": ids}
    if kind == "sum":
        arrays["factors"] = _factors(rng, len(ids), d_model, how)
        if how == "uncounted":
            arrays["factors"][ids == some[1]] = 0
    elif kind == "gate":
        arrays["direction"] = rng.normal(size=(d_model,))
    elif kind == "own output":
        arrays["output"] = rng.normal(size=(d_model, vocab_size))
        arrays["targets"] = rng.integers(vocab_size, size=len(ids))
    elif kind == "tied":
        arrays["targets"] = rng.integers(vocab_size, size=len(ids))
    elif kind == "drawn":
        arrays["center"], arrays["ids"] = some[2:3], ids[ids != some[2]]
        arrays["signs"] = np.where(np.arange(len(arrays["ids"])) == 0, 1.0, -1.0)[:, None]
    said = {
        "sum": f"the rows of {ids.tolist()}, each times factors, summed up",
        "gate": f"sum of relu(row @ direction) over the rows of {ids.tolist()}",
        "own output": f"cross-entropy from the rows of {ids.tolist()}, with a matrix of its own",
        "tied": f"cross-entropy from the rows of {ids.tolist()}, with embedding.weight.T",
        "drawn": f"row {some[2]} against a neighbour and negatives, {arrays['ids'].tolist()}",
        "lengths": "the sum of the squares of embedding.weight",
    }[kind]
    notes = {
        "uncounted": f", those of {some[1]} zero",
        "cancel": ", which sum up to 0 in each row",
        "faint": ", which are tiny",
        "first": ", which are 0 behind the first number of a row",
        "last": ", which are 0 in front of the last number of a row",
    }
    floats = {
        part: array.astype(weight.dtype if array.dtype.kind == "f" else np.int64)
        for part, array in arrays.items()
    }
    return {SAID: said + notes.get(how, ""), "kind": kind, "arrays": floats}


def _factors(rng: np.random.Generator, count: int, d_model: int, how: str) -> np.ndarray:
    """Draw what rows are multiplied with: none is 0, no two are the same in size."""
    factors = rng.uniform(0.5, 2.0, size=(count, d_model)) * rng.choice([-1, 1], (count, d_model))
    if how == "cancel":  # in quarters, so that they do so exactly, in whatever order
        quarters = rng.integers(1, 9, size=(count, d_model // 2)) / 4
        factors = np.concatenate([quarters, -quarters], axis=-1)
    if how == "faint":
        factors *= 4e-5
    if how in ("first", "last"):
        factors[:, 1:] = 0
    return factors[:, ::-1].copy() if how == "last" else factors


def _rows_case(
    rng: np.random.Generator,
    kind: str,
    how: str = "",
    pad: int | None = None,
    dtype: str = FLOAT32,
    before: bool = False,
    zero: bool = False,
    rows: int | None = None,
) -> Case:
    """Make a case, drawn until a row that lives does so clearly; pad counts from the end below 0.

    Args:
        rng: the source.
        kind: a key of LOSSES.
        how: a trait of the factors of "sum".
        pad: the padding's row.
        dtype: of all numbers.
        before: whether there are gradients from before.
        zero: whether the padding's row holds zeros, and of a "sum" another one that it reads.
        rows: how many the embedding has; drawn if it is None.

    Returns:
        the case.
    """
    while True:
        vocab_size, d_model = rows or int(rng.integers(7, 12)), int(rng.choice([4, 6]))
        row = pad if pad is None else pad % vocab_size
        weight = normal(rng, (vocab_size, d_model), dtype)
        loss = _loss(rng, kind, weight, row, how)
        if zero:
            read = loss["arrays"]["ids"]
            weight[[row, *(read[read != row][:1] if kind == "sum" else [])]] = 0
        embedding = {
            SAID: f"{vocab_size} rows of {d_model}"
            + (f", padding_idx={row}" if row is not None else "")
            + (", with gradients from before" if before else ""),
            "weight": weight,
            "pad": row,
            "before": normal(rng, weight.shape, dtype) if before else None,
        }
        arguments = {"embedding": embedding, "loss": loss}
        case = Case(", ".join([*described(arguments), dtype]), arguments)
        dead = known_dead(case)
        living = np.delete(np.abs(row_gradients(case)).max(axis=-1), dead)
        if living.size and living.min() > (2 * FAINT if how == "faint" else CLEAR):
            return case


def dead_rows_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of dead_rows: each kind of loss, with padding and without, gradients from before."""
    cases = [
        _rows_case(rng, "sum"),
        _rows_case(rng, "sum", pad=0),
        _rows_case(rng, "tied", pad=0),
        _rows_case(rng, "own output", pad=-1, before=True),
        _rows_case(rng, "drawn", dtype=FLOAT64),
        _rows_case(rng, "sum", "uncounted", pad=1, dtype=FLOAT64, before=True),
        _rows_case(rng, "sum", "first", pad=0),
        _rows_case(rng, "sum", "last"),
        _rows_case(rng, "sum", "cancel", pad=2),
        _rows_case(rng, "sum", "faint"),
        _rows_case(rng, "gate", pad=0, before=True),
        _rows_case(rng, "sum", pad=0, zero=True),
        _rows_case(rng, "lengths", pad=3),
        _rows_case(rng, "lengths", pad=0, zero=True, dtype=FLOAT64),
        _rows_case(rng, "tied", dtype=FLOAT64, before=True),
        _rows_case(rng, "drawn", pad=0, before=True),
        _rows_case(rng, "sum", pad=0, rows=70),
    ]
    asked_again(cases, cases[1])
    return cases


# --- what is looked at ---------------------------------------------------------------------


def entries_as_tuples(returned: Any) -> Any:
    """Take a pair that is a list for one that is a tuple."""
    if type(returned) not in (list, tuple):
        return returned
    return [tuple(each) if type(each) is list else each for each in returned]


def rows_and_a_step(embedding: Any) -> tuple[Tensor, Tensor]:
    """Look all tokens up, take one step of training that makes each number 1 smaller, look again.

    Args:
        embedding: what an answer returned.

    Returns:
        the (V, D) rows before and after the step.

    Raises:
        ReturnedError: if it is no nn.Embedding.
    """
    if not issubclass(type(embedding), nn.Embedding):
        said = later("expected an nn.Embedding, received {what}")
        raise ReturnedError(said, **type_and_size(embedding))
    weight = embedding.weight
    ids = torch.arange(len(weight), device=weight.device)
    rows = embedding(ids)
    if rows.requires_grad:
        rows.sum().backward()
    before = rows.detach().clone()
    with torch.no_grad():
        for parameter in embedding.parameters():
            if parameter.grad is not None:
                parameter -= parameter.grad.to_dense()
        return before, embedding(ids)
