"""Properties of right results in "where_next": each says in words what is wrong with a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from transformer_checks.task import Case
from transformer_checks.translation import say

Values = Mapping[str, Any]
LIMITS = ("memory", "bandwidth", "operations")


def keeps_lengths(case: Case, values: Values) -> str | None:
    """Say so if a vector became longer or shorter, which turning cannot do."""
    before, after = (
        np.linalg.norm(each.astype(np.float64), axis=-1)
        for each in (case.arguments["x"], values["turned"])
    )
    if np.isnan(after).any() or np.allclose(after, before, rtol=0.02, atol=0.02):
        return None
    place = np.unravel_index(np.abs(after - before).argmax(), after.shape)
    return say(
        "turning keeps the length of a vector; at {place} it was {before:.3g} and is {after:.3g}",
        place=tuple(map(int, place)),
        before=before[place],
        after=after[place],
    )


def each_feature_once(case: Case, values: Values) -> str | None:
    """Say so if a feature is in two pairs, or a pair is not in order."""
    pairs = values["pairs"]
    for i, j in pairs:
        if not 0 <= i < j < case.arguments["d_k"]:
            return say(
                "a pair (i, j) has 0 <= i < j < d_k; here one of them is ({i}, {j})", i=i, j=j
            )
    features = [each for pair in pairs for each in pair]
    for each in features:
        if features.count(each) > 1:
            return say("a feature is in one pair at most; feature {each} is in several", each=each)
    return None


def weights_sum_to_one(case: Case, values: Values) -> str | None:
    """Say so if the weights of a token do not sum to 1, or too many experts have some."""
    weights, used = values["weights"].astype(np.float64), case.arguments["num_used"]
    sums = weights.sum(axis=-1)
    worst = int(np.abs(sums - 1.0).argmax())
    if not np.isclose(sums[worst], 1.0, atol=0.01):
        return say(
            "the weights of a token sum to 1; those of token {worst} sum to {found:.4g}",
            worst=worst,
            found=sums[worst],
        )
    counts = (weights != 0).sum(axis=-1)
    worst = int(np.abs(counts - used).argmax())
    if counts[worst] != used:
        return say(
            "{used} experts have a weight; for token {worst} there are {found}",
            used=used,
            worst=worst,
            found=counts[worst],
        )
    return None


def keeps_a_beginning(case: Case, values: Values) -> str | None:
    """Say so if the new tokens are not a beginning of the guesses and one more."""
    new, guesses = values["tokens"], case.arguments["guesses"]
    if not 1 <= len(new) <= len(guesses) + 1:
        return say(
            "{guesses} guesses give 1 to {most} tokens; here {found}",
            guesses=len(guesses),
            most=len(guesses) + 1,
            found=len(new),
        )
    if new[:-1] != guesses[: len(new) - 1]:
        return say(
            "all new tokens but the last are the first guesses, {guesses}; here {new}",
            guesses=guesses,
            new=new,
        )
    return None


def rate_and_limit_agree(case: Case, values: Values) -> str | None:
    """Say so if the limit is none of the three, or does not fit the rate."""
    rate, limit = values["result"]
    if limit not in LIMITS:
        return say(
            "the limit is one of {limits}; here it is {limit!r}",
            limits=", ".join(map(repr, LIMITS)),
            limit=limit,
        )
    if (limit == "memory") != (rate == 0.0):
        return say(
            'the rate is 0.0 for the limit "memory", and only there; here {found}',
            found=(rate, limit),
        )
    return None


def has_each_row_once(case: Case, values: Values) -> str | None:
    """Say so if the rows are not those of the matrix, in any order."""
    before, after = (
        np.array(sorted(each.astype(np.float64).tolist()))
        for each in (case.arguments["weight"], values["reordered"])
    )
    if before.shape == after.shape and not np.allclose(before, after, atol=1e-2):
        return say("each row of the matrix should be there once, unchanged; here it is not")
    return None
