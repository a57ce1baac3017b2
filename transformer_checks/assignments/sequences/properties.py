"""Properties of right results in "sequences": each says in words what is wrong with a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from transformer_checks.task import Case
from transformer_checks.translation import say

Values = Mapping[str, Any]


def _inside_of_tanh(name: str) -> Any:
    """Return a property: all numbers lie between -1 and 1."""

    def said(case: Case, values: Values) -> str | None:
        most = float(np.abs(values[name]).max())
        if most > 1.0 + 1e-6:
            return say(
                "a tanh gives numbers from -1 to 1; here `{name}` holds one of size {most:.4g}",
                name=name,
                most=most,
            )
        return None

    return said


hidden_is_inside = _inside_of_tanh("new_hidden")
states_are_inside = _inside_of_tanh("states")


def weights_are_shares(case: Case, values: Values) -> str | None:
    """Say so if a hidden state has weight, or the weights of a sequence do not sum to one."""
    weights = values["weights"].astype(np.float64)
    most = float(np.where(case.arguments["mask"], 0.0, np.abs(weights)).max())
    if most > 1e-6:
        return say(
            "a state that the mask hides (False) has weight {most:.4g}, expected 0", most=most
        )
    sums = weights.sum(axis=-1)
    worst = int(np.abs(sums - 1.0).argmax())
    if abs(sums[worst] - 1.0) > 1e-4:
        return say(
            "the weights of sequence {worst} should sum to 1; here they sum to {total:.4g}",
            worst=worst,
            total=sums[worst],
        )
    return None


def context_belongs_to_the_weights(case: Case, values: Values) -> str | None:
    """Say so if context and weights do not belong together, though both have the right shape."""
    states = case.arguments["states"].astype(np.float64)
    implied = np.einsum("bs,bsn->bn", values["weights"].astype(np.float64), states)
    if np.abs(implied - values["context"]).max() > 1e-3 * max(1.0, np.abs(implied).max()):
        return say("the context is not what the returned weights make of the states")
    return None


def costs_are_three(case: Case, values: Values) -> str | None:
    """Say so if there are not three numbers, or one of them is below 1."""
    found = values["costs"]
    if len(found) != 3:
        return say("three numbers are asked for, received {count}", count=len(found))
    if min(found) < 1:
        return say("no cost is below 1; received {least}", least=min(found))
    return None


def is_a_place(case: Case, values: Values) -> str | None:
    """Say so if the span is no place of the sequence."""
    last = case.arguments["x"].shape[1] - 1
    if not 0 <= values["span"] <= last:
        return say(
            "the span should be a place from 0 to {last}, received {span}",
            last=last,
            span=values["span"],
        )
    return None
