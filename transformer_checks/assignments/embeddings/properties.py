"""Properties of right results in "embeddings": each says in words what is wrong with a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from transformer_checks.assignments.embeddings.cases import row_gradients
from transformer_checks.task import Case
from transformer_checks.translation import say


def loss_is_finite(case: Case, values: Mapping[str, Any]) -> str | None:
    """Say so if the loss is infinite."""
    if not np.isfinite(values["loss"]).all():
        return say(
            "the loss is {loss:g}: a sigmoid was rounded to 0 or 1 before the logarithm was taken",
            loss=float(values["loss"]),
        )
    return None


def neighbours_are_others(case: Case, values: Mapping[str, Any]) -> str | None:
    """Say so if the token is its own neighbour, or one of them is no token."""
    token_id, size = case.arguments["token_id"], len(case.arguments["weight"])
    if token_id in values["ids"]:
        return say(
            "the token itself, {token_id}, is among its neighbours: {ids}",
            token_id=token_id,
            ids=values["ids"],
        )
    strange = [each for each in values["ids"] if not 0 <= each < size]
    if strange:
        return say(
            "{mine} is no id: there are {count} tokens, with ids from 0 to {last}",
            mine=strange[0],
            count=size,
            last=size - 1,
        )
    return None


def dead_are_those_without_gradient(case: Case, values: Mapping[str, Any]) -> str | None:
    """Say so if a row that is listed has a gradient, or one without any is missing."""
    largest = np.abs(row_gradients(case)).max(axis=-1)
    pad = case.arguments["embedding"]["pad"]
    for row in values["rows"]:
        if not 0 <= row < len(largest):
            return say(
                "{row} is no row: there are {count}, from 0 to {last}",
                row=row,
                count=len(largest),
                last=len(largest) - 1,
            )
    for row, size in enumerate(largest):
        listed = row in values["rows"]
        if size and listed:
            return _said_of_a_living_row(row, size, row == pad)
        if not size and not listed:
            return _said_of_a_dead_row(row, row == pad)
    return None


def _said_of_a_living_row(row: int, size: float, is_padding: bool) -> str:
    if is_padding:
        return say(
            "row {row}, the padding, is in the list, but its gradient has numbers up to {size:.2g}",
            row=row,
            size=size,
        )
    return say(
        "row {row} is in the list, but its gradient has numbers up to {size:.2g}",
        row=row,
        size=size,
    )


def _said_of_a_dead_row(row: int, is_padding: bool) -> str:
    if is_padding:
        return say(
            "row {row}, the padding, is not in the list, but its gradient is 0 in all numbers",
            row=row,
        )
    return say("row {row} is not in the list, but its gradient is 0 in all numbers", row=row)
