"""Properties of right results in "blocks": each says in words what is wrong with a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from transformer_checks.assignments.blocks.cases import all_tokens
from transformer_checks.task import Case
from transformer_checks.translation import say

Values = Mapping[str, Any]
CLOSE = 0.01


def _undone(output: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Take weight and bias of a norm off its result."""
    undone: np.ndarray = (output.astype(np.float64) - bias) / weight
    return undone


def _place(array: np.ndarray, wrong: np.ndarray) -> tuple[str, float]:
    """Name the token where something is wrong, and give the number there."""
    index = tuple(int(each) for each in np.argwhere(wrong)[0])
    shown = f"`output[{', '.join(map(str, index))}]`" if index else "`output`"
    return shown, float(array[index])


def tokens_are_normed(case: Case, values: Values) -> str | None:
    """Say so if the features of a token have not the mean 0 and the variance they should."""
    if case.dtype == "float16":
        return None  # rounding hides what is looked at
    total = case.arguments["x"].astype(np.float64) + case.arguments.get("change", 0.0)
    undone = _undone(values["output"], case.arguments["weight"], case.arguments["bias"])
    means = undone.mean(axis=-1)
    off = np.abs(means) > CLOSE
    if off.any():
        place, mean = _place(means, off)
        return say(
            "without weight and bias, the features of each token should have the mean 0; in "
            "{place} it is {mean:.4g}",
            place=place,
            mean=mean,
        )
    variance = total.var(axis=-1)
    right, found = variance / (variance + case.arguments["eps"]), undone.var(axis=-1)
    off = np.abs(found - right) > CLOSE * right + 1e-6
    if off.any():
        place, number = _place(found, off)
        return say(
            "without weight and bias, the features of {place} should have the variance "
            "{right:.4g}, received {mine:.4g}",
            place=place,
            right=right[off].flat[0],
            mine=number,
        )
    return None


def ends_with(norm: str) -> Any:
    """Return a property: with post-norm each token comes out of this norm."""

    def said(case: Case, values: Values) -> str | None:
        if case.settings.get("norm", "post") != "post" or case.dtype == "float16":
            return None
        weight, bias = case.weights[f"{norm}.weight"], case.weights[f"{norm}.bias"]
        means = _undone(values["output"], weight, bias).mean(axis=-1)
        off = np.abs(means) > CLOSE
        if not off.any():
            return None
        place, mean = _place(means, off)
        return say(
            "in post-norm each token comes out of {norm}, so without its weight and bias the "
            "features have the mean 0; in {place} it is {mean:.4g}",
            norm=norm,
            place=place,
            mean=mean,
        )

    return said


def keys_find_their_values(case: Case, values: Values) -> str | None:
    """Say which token finds what it should not."""
    keys, wanted = case.arguments["keys"], case.arguments["values"]
    tokens = all_tokens(keys.shape[1]).numpy()
    for token, output in zip(tokens, values["output"], strict=True):
        same = np.flatnonzero((keys == token).all(axis=1))
        right = wanted[same[0]] if len(same) else np.zeros_like(token)
        if np.abs(output - right).max() > CLOSE:
            named = zip(("token", "right", "mine"), (token, right, output), strict=True)
            shown = {name: [round(float(each), 2) for each in row] for name, row in named}
            if len(same):
                return say(
                    "the token {token} is key {number} and should give {right}, received {mine}",
                    number=same[0],
                    **shown,
                )
            return say(
                "the token {token} is not a key and should give {right}, received {mine}", **shown
            )
    return None
