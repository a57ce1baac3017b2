"""Misconceptions that answers with tensors share, whatever the task is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from transformer_ref.checks.task import Misconception

Step = Callable[..., Any]

DETACHED = Misconception(
    "detached",
    "the values are right, but no gradient flows back through them",
    "Training needs the path from the result to the inputs. Look for detach, .data, no_grad, "
    "numpy, .item() or a new torch.tensor.",
    (),
)
FLOAT32_ONLY = Misconception(
    "float32-only",
    "the result is float32 whatever the input is",
    "Compute in the dtype that comes in. Look for .float(), dtype=torch.float32, or a tensor that "
    "is made new inside without the input's dtype.",
    (),
    r"same dtype|expected scalar type",
)
CHANGES_INPUT = Misconception(
    "changes-its-input",
    "the function changes the caller's tensor",
    "An operation in place (+=, /=, a name that ends in _) on an argument reaches out of the "
    "function. Make a new tensor instead.",
    (),
    r"leaf [Vv]ariable that requires grad",
)


def with_wrong(entry: Misconception, *wrong: Step) -> Misconception:
    """Give an entry that several tasks share its implementations in one of them."""
    return replace(entry, wrong=wrong)


def detached(function: Step) -> Step:
    """Return the same function, cut off from the gradients."""

    def wrong(*args: Any, **kwargs: Any) -> Any:
        with torch.no_grad():
            return function(*args, **kwargs)

    return wrong


def in_float32(function: Step) -> Step:
    """Return the same function, always in float32."""

    def wrong(*args: Any, **kwargs: Any) -> Any:
        return function(*map(_to_float32, args), **{k: _to_float32(v) for k, v in kwargs.items()})

    return wrong


def _to_float32(value: Any) -> Any:
    return value.float() if isinstance(value, Tensor) and value.is_floating_point() else value
