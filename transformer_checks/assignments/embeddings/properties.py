"""Properties of right results in "embeddings": each says in words what is wrong with a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from transformer_checks.assignments.embeddings.cases import row_gradients
from transformer_checks.task import Case


def loss_is_finite(case: Case, values: Mapping[str, Any]) -> str | None:
    """Say so if the loss is infinite."""
    if not np.isfinite(values["loss"]).all():
        return (
            f"the loss is {float(values['loss']):g}: a sigmoid was rounded to 0 or 1 before the "
            "logarithm was taken"
        )
    return None


def neighbours_are_others(case: Case, values: Mapping[str, Any]) -> str | None:
    """Say so if the token is its own neighbour, or one of them is no token."""
    token_id, size = case.arguments["token_id"], len(case.arguments["weight"])
    if token_id in values["ids"]:
        return f"the token itself, {token_id}, is among its neighbours: {values['ids']}"
    strange = [each for each in values["ids"] if not 0 <= each < size]
    if strange:
        return f"{strange[0]} is no id: there are {size} tokens, with ids from 0 to {size - 1}"
    return None


def dead_are_those_without_gradient(case: Case, values: Mapping[str, Any]) -> str | None:
    """Say so if a row that is listed has a gradient, or one without any is missing."""
    largest = np.abs(row_gradients(case)).max(axis=-1)
    pad = case.arguments["embedding"]["pad"]
    for row in values["rows"]:
        if not 0 <= row < len(largest):
            return f"{row} is no row: there are {len(largest)}, from 0 to {len(largest) - 1}"
    for row, size in enumerate(largest):
        name = f"row {row}, the padding," if row == pad else f"row {row}"
        if size and row in values["rows"]:
            return f"{name} is in the list, but its gradient has numbers up to {size:.2g}"
        if not size and row not in values["rows"]:
            return f"{name} is not in the list, but its gradient is 0 in all numbers"
    return None
