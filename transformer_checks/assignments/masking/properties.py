"""Properties of right results in "masking": each says in words what is wrong with a result."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from operator import itemgetter
from typing import Any

import numpy as np

from transformer_checks.assignments.masking.cases import depends, failing
from transformer_checks.task import Case
from transformer_checks.translation import say

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
    known = {"place": list(place), "key": key, "wrong": len(wrong), "total": mask.size}
    if padding[place]:
        return say(
            "`mask{place}` should be False: key {key} is padding "
            "({wrong} of {total} entries are wrong)",
            **known,
        )
    if late[place]:
        return say(
            "`mask{place}` should be False: key {key} comes after query {query} "
            "({wrong} of {total} entries are wrong)",
            query=query,
            **known,
        )
    if mask.shape[-2] > 1:
        return say(
            "`mask{place}` should be True: key {key} is a token, which query {query} may see "
            "({wrong} of {total} entries are wrong)",
            query=query,
            **known,
        )
    return say(
        "`mask{place}` should be True: key {key} is a token ({wrong} of {total} entries are wrong)",
        **known,
    )


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
    weight = most[place]
    if mask[place[:-1]].any():
        return say(
            "a weight that the mask hides (False) is {weight:.4g}, expected 0", weight=weight
        )
    return say(
        "in a row that may see nothing a weight that the mask hides (False) is {weight:.4g}, "
        "expected 0",
        weight=weight,
    )


def seen_rows_sum_to_one(case: Case, values: Values) -> str | None:
    """Say so if the weights of a row that sees something do not sum to one."""
    weights, mask = values["weights"].astype(np.float64), case.arguments["mask"]
    sees = np.broadcast_to(mask, weights.shape).any(axis=-1)
    off = np.abs(weights.sum(axis=-1) - 1.0) * sees
    if off.max() <= ROUGH_SUM[case.dtype]:
        return None
    worst = float(weights.sum(axis=-1).flat[off.argmax()])
    return say(
        "a row that may see something should sum to 1; here one sums to {worst:.4g}", worst=worst
    )


ROUGH_SUM = {"float64": 1e-4, "float32": 1e-4, "float16": 0.02, "bfloat16": 0.1}


def says_who_shares_a_document(case: Case, values: Values) -> str | None:
    """Say of the first wrong entry of the mask, or of the positions, what it should be and why."""
    documents, mask, positions = case.arguments["documents"], values["mask"], values["positions"]
    same = documents[:, :, None] == documents[:, None, :]
    right = (same & (documents > 0)[:, None] & np.tri(documents.shape[1], dtype=bool))[:, None]
    wrong = np.argwhere(mask != right)
    if len(wrong):
        b, _, t, s = (int(index) for index in wrong[0])
        return _says_what_they_are(documents[b, t], documents[b, s], right[b, 0, t, s], b, t, s)
    counted = np.maximum(right[:, 0].sum(axis=-1) - 1, 0)
    wrong = np.argwhere(positions != counted)
    if not len(wrong):
        return None
    b, t = (int(index) for index in wrong[0])
    known = {"b": b, "t": t, "right": counted[b, t], "mine": positions[b, t]}
    if documents[b, t]:
        return say(
            "`positions[{b}, {t}]` should be {right}, received {mine:g}: "
            "place {t} is token {right} of document {document}, counted from 0",
            document=documents[b, t],
            **known,
        )
    return say(
        "`positions[{b}, {t}]` should be {right}, received {mine:g}: place {t} is padding", **known
    )


def _says_what_they_are(query: int, key: int, right: bool, b: int, t: int, s: int) -> str:
    """Say what an entry of the mask should be, by the documents of its query and of its key."""
    known = {"b": b, "t": t, "s": s, "right": right}
    if not query and not key:
        return say(
            "`mask[{b}, 0, {t}, {s}]` should be {right}: "
            "query {t} is padding, and key {s} is padding",
            **known,
        )
    if not query:
        return say(
            "`mask[{b}, 0, {t}, {s}]` should be {right}: "
            "query {t} is padding, and key {s} is in document {key}",
            key=key,
            **known,
        )
    if not key:
        return say(
            "`mask[{b}, 0, {t}, {s}]` should be {right}: "
            "query {t} is in document {query}, and key {s} is padding",
            query=query,
            **known,
        )
    if query == key:
        return say(
            "`mask[{b}, 0, {t}, {s}]` should be {right}: "
            "query {t} is in document {query}, and key {s} is in document {query} too",
            query=query,
            **known,
        )
    return say(
        "`mask[{b}, 0, {t}, {s}]` should be {right}: "
        "query {t} is in document {query}, and key {s} is in document {key}",
        query=query,
        key=key,
        **known,
    )


def the_row_fails_first(case: Case, values: Values) -> str | None:
    """Say so if the row that was found does not fail, or if another one fails before it."""
    row, longest = values["row"], case.arguments["longest"]
    if not set(row) <= {0, 1} or len(row) > longest:
        return say(
            "{row} is not a row of zeros and ones with at most {longest} places",
            row=row,
            longest=longest,
        )
    if row and not len(failing(case, row)):
        return say(
            "{row} does not fail: its tokens see what they should; padding does not count", row=row
        )
    for length in range(1, longest + 1):
        for other in product((0, 1), repeat=length):
            if list(other) == row:
                return None
            if len(places := failing(case, other)):
                t, s = places[0]
                return say(
                    "{row} fails already: look at query {t} and key {s}", row=list(other), t=t, s=s
                )
    return None


def says_what_is_furthest(case: Case, values: Values) -> str | None:
    """Say which output sees furthest ahead, by how the model is made."""
    ahead = [(int(s - t), int(t), int(s)) for t, s in np.argwhere(depends(case.arguments["model"]))]
    furthest, t, s = max(ahead, key=itemgetter(0), default=(0, 0, 0))
    places = values["places"]
    if places == max(furthest, 0):
        return None
    if furthest <= 0:
        return say(
            "expected 0, received {places}: no output of this model depends on a later token",
            places=places,
        )
    return say(
        "expected {furthest}, received {places}: output {t} of this model depends on token {s}, "
        "and no output sees further ahead",
        furthest=furthest,
        places=places,
        t=t,
        s=s,
    )
