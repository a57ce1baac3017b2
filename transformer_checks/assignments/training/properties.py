"""Properties of right results in "training": each says in words what is wrong with a result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from transformer_checks.assignments.training.cases import known_stuck
from transformer_checks.task import Case

Values = Mapping[str, Any]


def is_a_share(case: Case, values: Values) -> str | None:
    """Say so if an accuracy is no share."""
    found = values["accuracy"]
    if not 0.0 <= found <= 1.0:
        return f"an accuracy is a share, from 0 to 1; here it is {found:.4g}"
    return None


def is_above_zero(case: Case, values: Values) -> str | None:
    """Say so if a learning rate is none."""
    found = values["rate"]
    if not 0.0 < found < math.inf:
        return f"a learning rate should be above 0; here it is {found:.4g}"
    return None


def is_one_at_least(case: Case, values: Values) -> str | None:
    """Say so if a perplexity is none."""
    found = values["perplexity"]
    if not found >= 1.0:
        return (
            f"no perplexity is below 1, that of a model which is sure and right; here: {found:.4g}"
        )
    return None


def last_column_is_not_read(case: Case, values: Values) -> str | None:
    """Say so if the model was given the last column of the target, or more."""
    width = case.arguments["tgt"].shape[1]
    if max(values["model"], default=0) < width:
        return None
    return f"the model was given all {width} columns of `tgt`; it reads `tgt[:, :-1]`"


def something_is_learned(case: Case, values: Values) -> str | None:
    """Say so if the step has changed no parameter, and what was not called."""
    weights = case.arguments["model"]["weights"]
    if any(not np.array_equal(values[f"model.{name}"], old) for name, old in weights.items()):
        return None
    if not values["optimizer"]["steps"]:
        return "the model's parameters are as they were: optimizer.step() was not called"
    return (
        "the model's parameters are as they were: optimizer.step() was called, but there were no "
        "gradients then. Look at the order of zero_grad, backward and step"
    )


def is_measured_around_a_step(case: Case, values: Values) -> str | None:
    """Say so if wrong parameters are listed, and there is no step or no copy from before it."""
    known, found = known_stuck(case.arguments), values["stuck"]
    if found == known:
        return None
    if not values["optimizer"]["steps"]:
        return "optimizer.step() was not called, so no parameter can have moved"
    moved = next((name for name in case.arguments["model"]["weights"] if name not in known), "")
    if moved and found.keys() == case.arguments["model"]["weights"].keys():
        return (
            f"every parameter is listed, and the step does move `{moved}`. A parameter changes in "
            "place: is it compared with a copy from before the step?"
        )
    return None
