"""Properties of right results in "tuning": each says in words what is wrong with a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from transformer_checks.task import Case
from transformer_checks.translation import say

Values = Mapping[str, Any]


def keeps_the_bias(case: Case, values: Values) -> str | None:
    """Say so if the merged layer is off by the same numbers for every input."""
    off = values["merged"].astype(np.float64) - values["output"]
    apart = np.ptp(off.reshape(-1, off.shape[-1]), axis=0).max()
    if np.abs(off).max() > 0.1 and apart < 0.05:
        return say(
            "the merged layer and yours differ by the same numbers for every input: by a bias"
        )
    return None


def is_never_negative(case: Case, values: Values) -> str | None:
    """Say so if a penalty is below 0."""
    penalty = float(values["penalty"])
    if penalty < -1e-6:
        return say(
            "the penalty of a token is never negative; here their mean is {penalty:.4g}",
            penalty=penalty,
        )
    return None


def groups_are_centered(case: Case, values: Values) -> str | None:
    """Say so if equal rewards have an advantage, or those of a group do not sum to 0."""
    rewards, advantages = case.arguments["rewards"], values["advantages"].astype(np.float64)
    if advantages.shape != rewards.shape or not np.isfinite(advantages).all():
        return None
    slack = 0.02 if case.dtype == "float16" else 1e-3
    for row, found in zip(rewards, advantages, strict=True):
        if (row == row[0]).all() and np.abs(found).max() > 1e-4:
            return say(
                "all rewards of a group are {reward:.4g}, so no answer is better than another; "
                "here one of them has the advantage {advantage:.4g}",
                reward=row[0],
                advantage=found[np.abs(found).argmax()],
            )
        if abs(found.mean()) > slack:
            return say(
                "the advantages of a group have the mean 0; here it is {mean:.4g}",
                mean=found.mean(),
            )
    return None


def is_between_the_rewards(case: Case, values: Values) -> str | None:
    """Say so if an expected reward is outside of the rewards that there are."""
    true, found = case.arguments["true"].astype(np.float64), values["reward"]
    if not true.min() - 1e-4 <= found <= true.max() + 1e-4:
        return say(
            "the true rewards go from {least:.4g} to {most:.4g}, so no mean of them is "
            "{found:.4g}: do the weights sum to 1?",
            least=true.min(),
            most=true.max(),
            found=found,
        )
    return None
