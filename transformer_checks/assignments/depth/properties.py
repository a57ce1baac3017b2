"""Properties of right results in "depth": each says in words what is wrong with a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from transformer_checks.task import Case
from transformer_checks.translation import say

Values = Mapping[str, Any]


def is_one_at_least(case: Case, values: Values) -> str | None:
    """Say so if a receptive field is too small for its own place."""
    found = values["size"]
    if found < 1:
        return say("an output depends on one input at least; here the size is {found}", found=found)
    return None


def rows_are_weights(case: Case, values: Values) -> str | None:
    """Say so if the weights of some token do not sum to one, or reach its future."""
    weights = values["weights"].astype(np.float64)
    if np.isnan(weights).any():
        return None
    later = np.abs(np.triu(weights, 1)).max()
    if later > 1e-6:
        return say(
            "a token may not see those behind it; here one of them has weight {later:.4g}",
            later=later,
        )
    sums = weights.sum(axis=-1)
    worst = int(np.abs(sums - 1.0).argmax())
    if abs(sums[worst] - 1.0) > (1e-2 if case.dtype == "float16" else 1e-4):
        return say(
            "the weights of token {worst} should sum to 1; here they sum to {found:.4g}",
            worst=worst,
            found=sums[worst],
        )
    return None


def keys_that_nobody_sees_do_nothing(case: Case, values: Values) -> str | None:
    """Say so if a damage is below 0, or a key that was hidden from the start does any."""
    damage = values["damage"]
    if damage.min() < 0:
        return say(
            "a mean of squares is not below 0; here the damage of a key is {damage:.4g}",
            damage=damage.min(),
        )
    unseen = np.flatnonzero(~case.arguments["mask"].any(axis=0))
    for key in unseen:
        if abs(damage[key]) > 1e-6:
            return say(
                "no query may see key {key} anyway, so to hide it changes nothing; "
                "here its damage is {damage:.4g}",
                key=key,
                damage=damage[key],
            )
    return None


def is_an_offset(case: Case, values: Values) -> str | None:
    """Say so if the choice is none of those that there are."""
    most = case.arguments["max_offset"]
    if not 1 <= values["offset"] <= most:
        return say(
            "the offset should be one of 1 to {most}, received {received}",
            most=most,
            received=values["offset"],
        )
    return None
