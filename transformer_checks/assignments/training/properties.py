"""Properties of right results in "training": each says in words what is wrong with a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from transformer_checks.assignments.training.cases import known_stuck
from transformer_checks.task import Case
from transformer_checks.translation import say

Values = Mapping[str, Any]


def goes_in_pieces(case: Case, values: Values) -> str | None:
    """Say so if the model was given too many rows, or backward was not called for each piece."""
    size = case.arguments["size"]
    for rows, waiting in values["model"]:
        if rows > size:
            return say(
                "the model was given {rows} rows at once, and `size` allows {size}",
                rows=rows,
                size=size,
            )
        if waiting:
            return say(
                "the model gets the next micro-batch before backward was called for the previous "
                "one, so the memory has to hold what both need"
            )
    return None


def something_is_learned(case: Case, values: Values) -> str | None:
    """Say so if the step has changed no parameter, and what was not called."""
    weights = case.arguments["model"]["weights"]
    if any(not np.array_equal(values[f"model.{name}"], old) for name, old in weights.items()):
        return None
    if not values["optimizer"]["steps"]:
        return say("the model's parameters are as they were: optimizer.step() was not called")
    return say(
        "the model's parameters are as they were: optimizer.step() was called, but there were no "
        "gradients then. Look at the order of zero_grad, backward and step"
    )


def is_measured_around_a_step(case: Case, values: Values) -> str | None:
    """Say so if wrong parameters are listed, and there is no step or no copy from before it."""
    known, found = known_stuck(case.arguments), values["stuck"]
    if found == known:
        return None
    if not values["optimizer"]["steps"]:
        return say("optimizer.step() was not called, so no parameter can have moved")
    moved = next((name for name in case.arguments["model"]["weights"] if name not in known), "")
    if moved and found.keys() == case.arguments["model"]["weights"].keys():
        return say(
            "every parameter is listed, and the step does move `{moved}`. A parameter changes in "
            "place: is it compared with a copy from before the step?",
            moved=moved,
        )
    return None
