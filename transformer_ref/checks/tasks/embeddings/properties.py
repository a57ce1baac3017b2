"""Properties of right results in "embeddings": each says in words what is wrong with a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from transformer_ref.checks.task import Case


def one_one_a_row(case: Case, values: Mapping[str, Any]) -> str | None:
    """Say so if a row has not exactly one number that is not zero."""
    ones = (values["one_hot"] != 0).sum(axis=-1)
    if (ones != 1).any():
        place = tuple(int(index) for index in np.argwhere(ones != 1)[0])
        return (
            f"each row should hold a single one and zeros; that of `ids{list(place)}` holds "
            f"{int(ones[place])} numbers that are not zero"
        )
    return None


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
