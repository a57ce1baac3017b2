"""Results that are right ones for other arguments: the reference is asked, and no answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from transformer_checks.judging.facts import Name, Term
from transformer_checks.task import SAID, Case, Shapes

# A change of the question, and the other question.
Asked = tuple[Term, Case]


def other_questions(case: Case, axes: Shapes) -> Iterator[Asked]:
    """Go through the questions to which an answer may be the right one.

    Args:
        case: the question that was put.
        axes: names of the axes by argument, from the task.

    Yields:
        what was taken for what, the same in all cases, and the other question.
    """
    yield from _exchanged(case)
    yield from _one_of_the_batch(case, axes)
    for name, value in case.arguments.items():
        if isinstance(value, dict) and SAID in value:
            continue
        for change, other in _others(f"`{name}`", value, axes.get(name, ())):
            yield change, replace(case, arguments={**case.arguments, name: other})
        if value is not None and name == "mask":
            rest = {each: other for each, other in case.arguments.items() if each != name}
            yield Term("left-out", name=f"`{name}`"), replace(case, arguments=rest)
    for name, value in case.settings.items():
        if type(value) is str or name == "num_heads":
            for change, other in _settings(f"`{name}`", value):
                yield change, replace(case, settings={**case.settings, name: other})
    yield from _weights(case)


def _one_of_the_batch(case: Case, axes: Shapes) -> Iterator[Asked]:
    """Only one sequence of the batch, of all arguments that have a batch."""
    batched = {
        name: value
        for name, value in case.arguments.items()
        if isinstance(value, np.ndarray) and axes.get(name, ())[:1] == ("B",) and len(value) > 1
    }
    for end, chosen in (("first", slice(0, 1)), ("last", slice(-1, None))):
        if batched:
            alone = {name: value[chosen].copy() for name, value in batched.items()}
            change = Term("one-of-batch", end=Term(end))
            yield change, replace(case, arguments={**case.arguments, **alone})


def _exchanged(case: Case) -> Iterator[Asked]:
    """One argument in the place of another of the same type, or both exchanged."""
    names = list(case.arguments)
    for one in names:
        for other in names:
            mine, right = case.arguments[one], case.arguments[other]
            if one == other or not _same_kind(mine, right):
                continue
            yield (
                Term("instead", one=f"`{one}`", other=f"`{other}`"),
                replace(case, arguments={**case.arguments, other: mine}),
            )
            if one < other:
                both = {**case.arguments, one: right, other: mine}
                change = Term("exchanged", one=f"`{one}`", other=f"`{other}`")
                yield change, replace(case, arguments=both)


def _same_kind(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and one.ndim == other.ndim
    return type(one) is type(other) is int


def _others(name: str, value: Any, axes: tuple[str, ...]) -> Iterator[tuple[Term, Any]]:
    """Other values for an argument."""
    if isinstance(value, np.ndarray):
        yield from _other_arrays(name, value, axes)
    elif isinstance(value, bool):
        for switch in (True, False):
            yield Term("instead", one=f"`{switch}`", other=name), switch
    elif isinstance(value, int):
        for step, way in ((1, "larger"), (-1, "smaller"), (2, "larger"), (-2, "smaller")):
            yield Term("off-by", name=name, by=abs(step), way=Term(way)), value + step
        for number in (0, 1, 2, 3, 4, 5):
            yield Term("always", name=name, value=number), number
        yield Term("doubled", name=name), 2 * value
        yield Term("halved", name=name), value // 2
    elif isinstance(value, float):
        yield Term("always", name=name, value=0), 0.0
        yield Term("always", name=name, value=1), 1.0
        yield Term("squared", name=name), value**2
        yield Term("its-root", name=name), abs(value) ** 0.5
        yield Term("doubled", name=name), 2 * value
        yield Term("halved", name=name), value / 2
        yield Term("one-minus-it", name=name), 1 - value
    elif isinstance(value, str | list | tuple) and value:
        yield Term("from-its-end", name=name), value[::-1]
        yield Term("lacks-first", name=name), value[1:]
        yield Term("lacks-last", name=name), value[:-1]
        yield Term("only-first-used", name=name), value[:1]
        yield Term("only-last-used", name=name), value[-1:]
        if type(value) is list and {type(each) for each in value} in ({int}, {str}, {float}):
            yield Term("each-once", name=name), list(dict.fromkeys(value))
            yield Term("is-sorted", name=name), sorted(value)
    elif isinstance(value, dict) and value:
        yield Term("values-are-1", name=name), dict.fromkeys(value, 1)
        yield Term("only-first-used", name=name), dict([next(iter(value.items()))])


def _other_arrays(
    name: str, value: np.ndarray, axes: tuple[str, ...]
) -> Iterator[tuple[Term, np.ndarray]]:
    if value.dtype.kind == "b":
        yield Term("inverted", name=name), ~value
        yield Term("hides-nothing", name=name), np.ones_like(value)
    if value.dtype.kind == "i" and value.ndim == 1:
        yield Term("is-sorted", name=name), np.sort(value)
    if value.dtype.kind == "f":
        yield Term("left-out-or-0", name=name), np.zeros_like(value)
        yield Term("other-sign", name=name), -value
        yield Term("doubled", name=name), 2 * value
        yield Term("halved", name=name), value / 2
        yield Term("is-1-everywhere", name=name), np.ones_like(value)
        size = value.shape[-1] ** 0.5 if value.ndim else 1.0
        yield Term("by-root-of-size", name=name), (value / size).astype(value.dtype)
    if value.ndim >= 2 and value.shape[-1] == value.shape[-2]:
        yield Term("is-transposed", name=name), np.ascontiguousarray(value.swapaxes(-1, -2))
    for axis, size in enumerate(value.shape):
        if size == 1:
            continue
        along: Name = axes[axis] if len(axes) == value.ndim else Term("axis", place=axis)
        first = np.repeat(value.take([0], axis), size, axis)
        yield Term("first-for-all", name=name, axis=along), first
        yield Term("is-reversed", name=name, axis=along), np.flip(value, axis).copy()
        yield Term("moved-on", name=name, axis=along), np.roll(value, 1, axis)
        yield Term("moved-back", name=name, axis=along), np.roll(value, -1, axis)


def _settings(name: str, value: Any) -> Iterator[tuple[Term, Any]]:
    if type(value) is str:
        for other in ("pre", "post"):
            yield Term("always", name=name, value=f'"{other}"'), other
    else:
        yield Term("is", name=name, value=1), 1
        yield Term("doubled", name=name), 2 * value


def _weights(case: Case) -> Iterator[Asked]:
    """Weights that are left out, transposed, or in the place of others."""
    parts = list(dict.fromkeys(name.rpartition(".")[0] for name in case.weights))
    biases = {
        name: np.zeros_like(array) if name.endswith("bias") else array
        for name, array in case.weights.items()
    }
    turned = {
        name: np.ascontiguousarray(array.T)
        if array.ndim == 2 and array.shape[0] == array.shape[1]
        else array
        for name, array in case.weights.items()
    }
    if parts:
        yield Term("no-biases"), replace(case, weights=biases)
        yield Term("no-transposes"), replace(case, weights=turned)
    for name, array in case.weights.items():
        if name.endswith("bias"):
            changed = {**case.weights, name: np.zeros_like(array)}
            yield Term("left-out", name=f"`{name}`"), replace(case, weights=changed)
        elif array.ndim == 2 and array.shape[0] == array.shape[1]:
            changed = {**case.weights, name: np.ascontiguousarray(array.T)}
            yield (
                Term("no-transpose", name=f"`{name}`"),
                replace(case, weights=changed),
            )
    for place, one in enumerate(parts):
        for other in parts[place + 1 :]:
            yield from _exchanged_parts(case, one, other)


def _exchanged_parts(case: Case, one: str, other: str) -> Iterator[Asked]:
    ends = ("weight", "bias")
    if any(
        f"{one}.{end}" not in case.weights
        or f"{other}.{end}" not in case.weights
        or case.weights[f"{one}.{end}"].shape != case.weights[f"{other}.{end}"].shape
        for end in ends
    ):
        return
    mine = {f"{one}.{end}": case.weights[f"{other}.{end}"] for end in ends}
    right = {f"{other}.{end}": case.weights[f"{one}.{end}"] for end in ends}
    both = replace(case, weights={**case.weights, **mine, **right})
    names = {"one": f"`{one}`", "other": f"`{other}`"}
    yield Term("exchanged", **names), both
    yield (
        Term("instead", one=names["other"], other=names["one"]),
        replace(case, weights={**case.weights, **mine}),
    )
    yield (
        Term("instead", **names),
        replace(case, weights={**case.weights, **right}),
    )
