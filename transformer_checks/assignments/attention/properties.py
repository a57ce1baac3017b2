"""Properties of right results in "attention": each says in words what is wrong with a result."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from transformer_checks.task import Case


def rows_sum_to_one(case: Case, values: Mapping[str, np.ndarray]) -> str | None:
    """Say so if the weights of some query do not sum to one."""
    sums = values["weights"].astype(np.float64).sum(axis=-1)
    worst = sums.flat[np.abs(sums - 1.0).argmax()]
    if abs(worst - 1.0) > 1e-4:
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
    if np.abs(implied - values["output"]).max() > 1e-3 * max(1.0, np.abs(implied).max()):
        return "the output is not what the returned weights make of the values"
    return None
