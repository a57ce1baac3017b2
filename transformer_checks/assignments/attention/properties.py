"""Properties of right results in "attention": each says in words what is wrong with a result."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from transformer_checks.task import Case

# What rounding makes of a sum of weights, and of an output, by dtype.
ROUGH_SUM = {"float16": 5e-3}
ROUGH_OUTPUT = {"float16": 1e-2}


def rows_sum_to_one(case: Case, values: Mapping[str, np.ndarray]) -> str | None:
    """Say so if the weights of some query do not sum to one."""
    sums = values["weights"].astype(np.float64).sum(axis=-1)
    worst = sums.flat[np.abs(sums - 1.0).argmax()]
    if abs(worst - 1.0) > ROUGH_SUM.get(case.dtype, 1e-4):
        return (
            f"the weights of a query should sum to 1 over the keys; here a row sums to {worst:.4g}"
        )
    return None


def hidden_keys_weigh_nothing(case: Case, values: Mapping[str, np.ndarray]) -> str | None:
    """Say so if a key that the mask hides has weight."""
    mask = case.arguments.get("mask")
    if mask is None:
        return None
    weights = values["weights"]
    most = float(np.where(np.broadcast_to(mask, weights.shape), 0.0, np.abs(weights)).max())
    if most > 1e-6:
        return f"a key that the mask hides (False) has weight {most:.4g}, expected 0"
    return None


def output_is_weighted_value(case: Case, values: Mapping[str, np.ndarray]) -> str | None:
    """Say so if output and weights do not belong together, though both have the right shape."""
    implied = values["weights"].astype(np.float64) @ case.arguments["value"].astype(np.float64)
    rough = ROUGH_OUTPUT.get(case.dtype, 1e-3)
    if np.abs(implied - values["output"]).max() > rough * max(1.0, np.abs(implied).max()):
        return "the output is not what the returned weights make of the values"
    return None
