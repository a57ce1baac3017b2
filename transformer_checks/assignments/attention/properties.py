"""Properties of right results in "attention": each says in words what is wrong with a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from transformer_checks.assignments.attention.cases import ENOUGH, partners_and_depths, texts_of
from transformer_checks.task import Case
from transformer_checks.translation import say

# What rounding makes of a sum of weights, and of an output, by dtype.
ROUGH_SUM = {"float16": 5e-3}
ROUGH_OUTPUT = {"float16": 1e-2}
SHOWN_TEXT = 40  # characters of a text of brackets


def rows_sum_to_one(case: Case, values: Mapping[str, np.ndarray]) -> str | None:
    """Say so if the weights of some query do not sum to one."""
    sums = values["weights"].astype(np.float64).sum(axis=-1)
    worst = sums.flat[np.abs(sums - 1.0).argmax()]
    if abs(worst - 1.0) > ROUGH_SUM.get(case.dtype, 1e-4):
        return say(
            "the weights of a query should sum to 1 over the keys; here a row sums to {worst:.4g}",
            worst=worst,
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
        return say("a key that the mask hides (False) has weight {most:.4g}, expected 0", most=most)
    return None


def output_is_weighted_value(case: Case, values: Mapping[str, np.ndarray]) -> str | None:
    """Say so if output and weights do not belong together, though both have the right shape."""
    implied = values["weights"].astype(np.float64) @ case.arguments["value"].astype(np.float64)
    rough = ROUGH_OUTPUT.get(case.dtype, 1e-3)
    if np.abs(implied - values["output"]).max() > rough * max(1.0, np.abs(implied).max()):
        return say("the output is not what the returned weights make of the values")
    return None


def looks_at_its_partner(case: Case, values: Mapping[str, Any]) -> str | None:
    """Say where the first token looks that does not look at the opening bracket of its pair."""
    rows = 3 + max(map(len, values["looks"])) // 2
    if rows != 3 + case.arguments["pairs"]:
        expected = 3 + case.arguments["pairs"]
        return say(
            "W_q and W_k should have 3 + pairs = {expected} rows, received {rows}",
            expected=expected,
            rows=rows,
        )
    for text, looks in zip(texts_of(rows - 3), values["looks"], strict=True):
        partners, depths = partners_and_depths(text)
        for token, (key, partner) in enumerate(zip(looks, partners, strict=True)):
            if key != partner:
                about = {
                    "shown": text if len(text) <= SHOWN_TEXT else f"{text[:SHOWN_TEXT]}...",
                    "token": token,
                    "bracket": text[token],
                    "depth": depths[token],
                    "partner": partner,
                }
                if key < 0:
                    return say(
                        "in {shown} token {token}, `{bracket}` of depth {depth}, gives no key "
                        "{enough} of its weight, expected token {partner}",
                        enough=ENOUGH,
                        **about,
                    )
                return say(
                    "in {shown} token {token}, `{bracket}` of depth {depth}, looks at token {key}, "
                    "`{other}` of depth {other_depth}, expected token {partner}",
                    key=key,
                    other=text[key],
                    other_depth=depths[key],
                    **about,
                )
    return None
