"""What the makers of cases share: names, numbers, and cases that repeat an earlier one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from transformer_checks.task import SAID, UNSTEADY, Case

# A longer argument is cut in the name of its case, which is read by people.
SHOWN_ARGUMENT = 400


def normal(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Draw standard normal numbers: scores of size one, at which no softmax saturates."""
    # numpy has no bfloat16; a case of that precision holds float32.
    return rng.standard_normal(shape).astype("float32" if dtype == "bfloat16" else dtype)


def different_sizes(
    rng: np.random.Generator, low: int, high: int, count: int | None = None
) -> list[int]:
    """Draw different sizes from `low` to `high`, so that a wrong axis shows; None = all of them."""
    return [int(size) for size in rng.permutation(np.arange(low, high + 1))[:count]]


def described(arguments: dict[str, Any]) -> list[str]:
    """Describe arguments: arrays by shape, made ones in words, all else as it is written."""
    return [_described(name, value) for name, value in arguments.items()]


def _described(name: str, value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{name} {value.shape}"
    if isinstance(value, dict) and SAID in value:
        return f"{name}: {value[SAID]}"
    return f"{name}={_cut(repr(value))}"


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_ARGUMENT else f"{text[:SHOWN_ARGUMENT]}..."


def plain_case(**arguments: Any) -> Case:
    """Make a case whose arguments are plain data; its name shows them."""
    return Case(", ".join(described(arguments)), arguments)


def with_gradients(case: Case, rng: np.random.Generator, shape: tuple[int, ...]) -> Case:
    """Ask for gradients too, with a random cotangent of the result's shape."""
    return replace(case, name=f"{case.name}, gradients", cotangent=normal(rng, shape, case.dtype))


def elsewhere(case: Case) -> Case:
    """Ask a case while the default device is another one than that of its tensors."""
    return replace(
        case, name=f'{case.name}, while the default device is "meta"', default_device="meta"
    )


def followed(cases: list[Case], base: Case, changed: dict[str, Any], note: str, why: str) -> None:
    """Add a case that must repeat the results of an earlier one."""
    twin = replace(
        base,
        name=f"{base.name}, {note}",
        arguments={**base.arguments, **changed},
        same_as=base.name,
        same_because=why,
    )
    cases.append(twin)


def asked_again(cases: list[Case], base: Case, changed: dict[str, Any] | None = None) -> None:
    """Add a case that asks the same as an earlier one, at most with what is None left out or said.

    Args:
        cases: so far.
        base: one of them.
        changed: arguments that are said otherwise and mean the same.
    """
    followed(cases, base, changed or {}, "asked again", UNSTEADY)
