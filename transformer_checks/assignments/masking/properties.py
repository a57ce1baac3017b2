"""Properties of right results in "masking": each says in words what is wrong with a result."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import Any

import numpy as np

from transformer_checks.assignments.masking.cases import depends
from transformer_checks.task import Case

Values = Mapping[str, Any]


def says_who_may_see(case: Case, values: Values) -> str | None:
    """Say of the first wrong entry of a mask why it should be True or False."""
    mask = values["mask"]
    if case.arguments.get("device") == "meta":
        return None
    late, padding = np.broadcast_arrays(*_reasons(case, mask.shape), mask)[:2]
    wrong = np.argwhere(mask == (late | padding))
    if not len(wrong):
        return None
    place = tuple(int(index) for index in wrong[0])
    query, key = place[-2:]
    if padding[place]:
        why = f"False: key {key} is padding"
    elif late[place]:
        why = f"False: key {key} comes after query {query}"
    else:
        may = f", which query {query} may see" if mask.shape[-2] > 1 else ""
        why = f"True: key {key} is a token{may}"
    return f"`mask{list(place)}` should be {why} ({len(wrong)} of {mask.size} entries are wrong)"


def _reasons(case: Case, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Say which keys come after the query, and which are padding, to broadcast to a mask."""
    queries, keys = np.ogrid[: shape[-2], : shape[-1]]
    late = (keys > queries) & (shape[-2] > 1)
    if "ids" not in case.arguments:
        return late, np.zeros((1, 1), dtype=bool)
    return late, (case.arguments["ids"] == case.arguments["pad_id"])[:, None, None, :]


def hidden_weigh_nothing(case: Case, values: Values) -> str | None:
    """Say so if what the mask hides has weight, and whether the whole row is hidden."""
    weights, mask = values["weights"], case.arguments["mask"]
    mask = np.broadcast_to(mask, weights.shape)
    most = np.where(mask, 0.0, np.abs(weights))
    if most.max() <= 1e-6:
        return None
    place = tuple(int(index) for index in np.argwhere(most > 1e-6)[0])
    said = f"a weight that the mask hides (False) is {most[place]:.4g}, expected 0"
    return said if mask[place[:-1]].any() else f"in a row that may see nothing {said}"


def seen_rows_sum_to_one(case: Case, values: Values) -> str | None:
    """Say so if the weights of a row that sees something do not sum to one."""
    weights, mask = values["weights"].astype(np.float64), case.arguments["mask"]
    sees = np.broadcast_to(mask, weights.shape).any(axis=-1)
    off = np.abs(weights.sum(axis=-1) - 1.0) * sees
    if off.max() <= ROUGH_SUM[case.dtype]:
        return None
    worst = float(weights.sum(axis=-1).flat[off.argmax()])
    return f"a row that may see something should sum to 1; here one sums to {worst:.4g}"


ROUGH_SUM = {"float64": 1e-4, "float32": 1e-4, "float16": 0.02, "bfloat16": 0.1}


def says_what_depends(case: Case, values: Values) -> str | None:
    """Say of the first wrong entry of a leak test what that output depends on."""
    moved, seen = values["moved"], depends(case.arguments["model"])
    wrong = np.argwhere(moved != seen)
    if not len(wrong):
        return None
    t, s = (int(index) for index in wrong[0])
    why = "depends" if seen[t, s] else "does not depend"
    return (
        f"`moved[{t}, {s}]` should be {bool(seen[t, s])}: output {t} of this model {why} on token "
        f"{s} ({len(wrong)} of {moved.size} entries are wrong)"
    )


def says_what_is_furthest(case: Case, values: Values) -> str | None:
    """Say which output sees furthest ahead, by how the model is made."""
    ahead = [(int(s - t), int(t), int(s)) for t, s in np.argwhere(depends(case.arguments["model"]))]
    furthest, t, s = max(ahead, key=itemgetter(0), default=(0, 0, 0))
    places = values["places"]
    if places == max(furthest, 0):
        return None
    if furthest <= 0:
        return f"expected 0, received {places}: no output of this model depends on a later token"
    return (
        f"expected {furthest}, received {places}: output {t} of this model depends on token {s}, "
        "and no output sees further ahead"
    )
