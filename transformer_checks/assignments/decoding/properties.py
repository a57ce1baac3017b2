"""Properties of right results in "decoding": each says in words what is wrong with a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from transformer_checks.task import Case
from transformer_checks.translation import later, say

Values = Mapping[str, Any]


def _in_bounds(ids: list[int], given: list[int], eos_id: int, max_len: int) -> str | None:
    """Say so if ids do not begin as they should, are too many, or go on behind the end."""
    if ids[: len(given)] != given:
        return say("the ids should begin with {given}; here they are {ids}", given=given, ids=ids)
    if len(ids) > max_len:
        return say(
            "max_len = {max_len} counts all entries; here there are {count}: {ids}",
            max_len=max_len,
            count=len(ids),
            ids=ids,
        )
    if eos_id in ids[len(given) : -1]:
        place = ids.index(eos_id, len(given))
        return say(
            "the end token {eos_id} is at place {place}, and more ids follow it: {ids}",
            eos_id=eos_id,
            place=place,
            ids=ids,
        )
    return None


def begins_and_ends(case: Case, values: Values) -> str | None:
    """Say so if the ids of one sequence are not laid out as the task asks."""
    given = case.arguments.get("prompt", [case.arguments.get("bos_id")])
    return _in_bounds(values["ids"], given, case.arguments["eos_id"], case.arguments["max_len"])


def rows_begin_and_end(case: Case, values: Values) -> str | None:
    """Say so if there are not as many rows as prompts, or one is not laid out as asked."""
    prompts = case.arguments["prompts"]
    if len(values["rows"]) != len(prompts):
        return say(
            "expected {count} rows, one for each prompt, received {received}",
            count=len(prompts),
            received=len(values["rows"]),
        )
    for number, (row, prompt) in enumerate(zip(values["rows"], prompts, strict=True)):
        said = _in_bounds(row, prompt, case.arguments["eos_id"], case.arguments["max_len"])
        if said:
            return say("in row {number} {said}", number=number, said=said)
    return None


def rows_are_distributions(case: Case, values: Values) -> str | None:
    """Say so if the probabilities of a row are not a distribution, or its token has none."""
    for number, row in enumerate(values["probs"].astype(np.float64)):
        if not np.isclose(row.sum(), 1.0, atol=0.01) or (row < 0.0).any():
            return say(
                "probabilities are at least 0 and sum to 1; row {number} sums to {total:.4g}",
                number=number,
                total=row.sum(),
            )
    for number, token in enumerate(values["tokens"]):
        row = values["probs"][number]
        if not 0 <= token < len(row) or row[token] == 0.0:
            return say(
                "in row {number} the token is {token}, which your probabilities rule out",
                number=number,
                token=token,
            )
    return None


def oldest_first(case: Case, values: Values) -> str | None:
    """Say so if the new keys are not those of the cache with the new one behind them."""
    cache = case.arguments["cache"]
    wrong_keys = later(
        "the new pair should hold the keys of the cache, oldest first, and `key` behind them; "
        "here the keys are others"
    )
    wrong_values = later(
        "the new pair should hold the values of the cache, oldest first, and `value` behind them; "
        "here the values are others"
    )
    for part, new, said in (("keys", "key", wrong_keys), ("values", "value", wrong_values)):
        parts = ([cache[part]] if cache else []) + [case.arguments[new]]
        right = np.concatenate(parts, axis=2)
        if not np.allclose(values[part], right, atol=1e-6):
            return said
    return None


VERDICTS = ("right", "search", "model")


def gap_and_verdict_agree(case: Case, values: Values) -> str | None:
    """Say so if the verdict is no verdict, or is another one than its own gap says."""
    gap, verdict = values["result"]
    if verdict not in VERDICTS:
        return say(
            'the verdict is "right", "search" or "model"; here it is {verdict!r}', verdict=verdict
        )
    if case.arguments["said"] in case.arguments["listed"] or verdict == "right":
        return None
    if gap > 0 and verdict == "model":
        return say(
            'your gap is {gap:.4g}, above 0, and your verdict "model"; the two disagree', gap=gap
        )
    if not gap > 0 and verdict == "search":
        return say(
            'your gap is {gap:.4g}, below 0, and your verdict "search"; the two disagree', gap=gap
        )
    return None
