"""Results that are right ones for other arguments: the reference is asked, and no answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from transformer_checks.task import SAID, Case

# A change of the question: what it is called, and the other question, or None where it is the same.
Asked = tuple[str, Case]


def other_questions(case: Case, axes: Mapping[str, tuple[str, ...]]) -> Iterator[Asked]:
    """Go through the questions to which an answer may be the right one.

    Args:
        case: the question that was put.
        axes: names of the axes by argument, as the contract has them.

    Yields:
        what was taken for what, to stand behind "right if", and the other question. What it is
        called is the same in all cases.
    """
    yield from _exchanged(case)
    yield from _one_of_the_batch(case, axes)
    for name, value in case.arguments.items():
        if isinstance(value, dict) and SAID in value:
            continue
        for text, other in _others(f"`{name}`", value, axes.get(name, ())):
            yield text, replace(case, arguments={**case.arguments, name: other})
        if value is not None and name == "mask":
            rest = {each: other for each, other in case.arguments.items() if each != name}
            yield f"`{name}` is left out", replace(case, arguments=rest)
    for name, value in case.settings.items():
        if type(value) is str or name == "num_heads":
            for text, other in _settings(f"`{name}`", value):
                yield text, replace(case, settings={**case.settings, name: other})
    yield from _weights(case)


def _one_of_the_batch(case: Case, axes: Mapping[str, tuple[str, ...]]) -> Iterator[Asked]:
    """Only one sequence of the batch, of all arguments that have a batch."""
    batched = {
        name: value
        for name, value in case.arguments.items()
        if isinstance(value, np.ndarray) and axes.get(name, ())[:1] == ("B",) and len(value) > 1
    }
    for text, chosen in (("first", slice(0, 1)), ("last", slice(-1, None))):
        if batched:
            alone = {name: value[chosen].copy() for name, value in batched.items()}
            said = f"only the {text} sequence of the batch is used"
            yield said, replace(case, arguments={**case.arguments, **alone})


def _exchanged(case: Case) -> Iterator[Asked]:
    """One argument in the place of another of the same type, or both exchanged."""
    names = list(case.arguments)
    for one in names:
        for other in names:
            mine, right = case.arguments[one], case.arguments[other]
            if one == other or not _same_kind(mine, right):
                continue
            yield (
                f"`{one}` stands in the place of `{other}`",
                replace(case, arguments={**case.arguments, other: mine}),
            )
            if one < other:
                both = {**case.arguments, one: right, other: mine}
                yield f"`{one}` and `{other}` are exchanged", replace(case, arguments=both)


def _same_kind(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and one.ndim == other.ndim
    return type(one) is type(other) is int


def _others(name: str, value: Any, axes: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Other values for an argument."""
    if value is None:
        return
    if isinstance(value, np.ndarray):
        yield from _other_arrays(name, value, axes)
    elif isinstance(value, bool):
        for switch in (True, False):
            yield f"`{switch}` stands in the place of {name}", switch
    elif isinstance(value, int):
        for step, text in ((1, "1 larger"), (-1, "1 smaller"), (2, "2 larger"), (-2, "2 smaller")):
            yield f"{name} is {text}", value + step
        for number in (0, 1, 2, 3, 4, 5):
            yield f"{name} is always {number}", number
        yield f"{name} is doubled", 2 * value
        yield f"{name} is halved", value // 2
    elif isinstance(value, float):
        for text, other in (
            ("always 0", 0.0),
            ("always 1", 1.0),
            ("squared", value**2),
            ("replaced by its root", abs(value) ** 0.5),
            ("doubled", 2 * value),
            ("halved", value / 2),
            ("replaced by 1 minus it", 1 - value),
        ):
            yield f"{name} is {text}", other
    elif isinstance(value, str | list | tuple) and value:
        yield f"{name} is read from its end", value[::-1]
        yield f"{name} lacks its first entry", value[1:]
        yield f"{name} lacks its last entry", value[:-1]
        yield f"only the first entry of {name} is used", value[:1]
        yield f"only the last entry of {name} is used", value[-1:]
        if type(value) is list and {type(each) for each in value} in ({int}, {str}, {float}):
            yield f"{name} has each entry only once", list(dict.fromkeys(value))
            yield f"{name} is sorted", sorted(value)
    elif isinstance(value, dict) and value:
        yield f"each value of {name} is 1", dict.fromkeys(value, 1)
        yield f"only the first entry of {name} is used", dict([next(iter(value.items()))])


def _other_arrays(
    name: str, value: np.ndarray, axes: tuple[str, ...]
) -> Iterator[tuple[str, np.ndarray]]:
    if value.dtype.kind == "b":
        yield f"in {name} True and False are exchanged", ~value
        yield f"{name} hides nothing", np.ones_like(value)
    if value.dtype.kind == "i" and value.ndim == 1:
        yield f"{name} is sorted", np.sort(value)
    if value.dtype.kind == "f":
        yield f"{name} is left out, or 0", np.zeros_like(value)
        yield f"{name} has the other sign", -value
        yield f"{name} is doubled", 2 * value
        yield f"{name} is halved", value / 2
        yield f"{name} is 1 everywhere", np.ones_like(value)
        size = value.shape[-1] ** 0.5 if value.ndim else 1.0
        text = f"{name} is divided by the root of its last size"
        yield text, (value / size).astype(value.dtype)
    if value.ndim >= 2 and value.shape[-1] == value.shape[-2]:
        yield f"{name} is transposed", np.ascontiguousarray(value.swapaxes(-1, -2))
    for axis, size in enumerate(value.shape):
        if size == 1:
            continue
        along = f"along {axes[axis] if len(axes) == value.ndim else f'axis {axis}'}"
        first = np.repeat(value.take([0], axis), size, axis)
        yield f"the first of {name} {along} serves for all", first
        yield f"{name} is reversed {along}", np.flip(value, axis).copy()
        yield f"{name} is moved on by one {along}", np.roll(value, 1, axis)
        yield f"{name} is moved back by one {along}", np.roll(value, -1, axis)


def _settings(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if type(value) is str:
        for other in ("pre", "post"):
            yield f'{name} is always "{other}"', other
    else:
        yield f"{name} is 1", 1
        yield f"{name} is doubled", 2 * value


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
        yield "all biases are left out", replace(case, weights=biases)
        yield "no weight gets the transpose of a linear layer", replace(case, weights=turned)
    for name, array in case.weights.items():
        if name.endswith("bias"):
            changed = {**case.weights, name: np.zeros_like(array)}
            yield f"`{name}` is left out", replace(case, weights=changed)
        elif array.ndim == 2 and array.shape[0] == array.shape[1]:
            changed = {**case.weights, name: np.ascontiguousarray(array.T)}
            yield (
                f"`{name}` is used without the transpose of a linear layer",
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
    yield f"`{one}` and `{other}` are exchanged", both
    yield (
        f"`{other}` stands in the place of `{one}`",
        replace(case, weights={**case.weights, **mine}),
    )
    yield (
        f"`{one}` stands in the place of `{other}`",
        replace(case, weights={**case.weights, **right}),
    )
