"""Properties of right results in "gpt": each says in words what is wrong with a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from transformer_checks.task import Case
from transformer_checks.translation import later, say

# --- GPT: properties -------------------------------------------------------------------------

Values = Mapping[str, Any]


def has_logits(case: Case, values: Values) -> str | None:
    """Say so if what came back is not a number for each token of the vocabulary at each place."""
    found = values["found"]
    expected = (*case.arguments["ids"].shape, case.settings["vocab_size"])
    if found["shape"] != str(expected):
        return say(
            "the logits should have the shape (B, T, V) = {expected}, received {received}",
            expected=expected,
            received=found["shape"],
        )
    if found["dtype"] != case.dtype:
        return say(
            "the parameters are {expected}, and the logits {received}",
            expected=case.dtype,
            received=found["dtype"],
        )
    if found["device"] != "kept":
        return say("the logits are on another device than the parameters")
    if found["numbers"].startswith("prob"):
        return {
            "batch": later(
                "all numbers are above 0, and they sum to 1 over the batch: these are "
                "probabilities, not logits"
            ),
            "length": later(
                "all numbers are above 0, and they sum to 1 over the length: these are "
                "probabilities, not logits"
            ),
            "vocabulary": later(
                "all numbers are above 0, and they sum to 1 over the vocabulary: these are "
                "probabilities, not logits"
            ),
        }[found["numbers"].split()[-1]]
    if found["numbers"].startswith("none"):
        return say("no logit is below 0: a logit may be any number, so nothing should cut them off")
    if found["numbers"] != "scores":
        places = found["numbers"].removeprefix("NaN or infinite at ")
        return say(
            "there are logits that are NaN or infinite, at the places {places}", places=places
        )
    return None


def sees_the_past(case: Case, values: Values) -> str | None:
    """Say so if logits depend on later tokens, or do not depend on earlier ones."""
    rows = values["found"].get("tokens", "").split("|")
    for place, row in enumerate(rows if rows != [""] else []):
        behind = [token for token in range(place + 1, len(row)) if row[token] == "x"]
        if behind:
            return say(
                "the logits at place {place} (of 0 to {last}) change when the token at place "
                "{later} is another one, and that one lies in their future",
                place=place,
                last=len(row) - 1,
                later=behind[0],
            )
    for place, row in enumerate(rows if rows != [""] else []):
        if "." in row[: place + 1]:
            return say(
                "the logits at place {place} do not change when the token at place {earlier} is "
                "another one; they should depend on all tokens up to their own",
                place=place,
                earlier=row.index("."),
            )
    return None


# Finding: what it should be; otherwise what is said, by the finding, "" for all others.
SAID: dict[str, tuple[str, dict[str, str]]] = {
    "again": (
        "the same",
        {
            "": later(
                "in eval mode, the same call gave another result the second time: is something "
                "random, as dropout, or remembered from call to call?"
            )
        },
    ),
    "order": (
        "matters",
        {
            "": later(
                "with the first two tokens swapped, the logits at the places behind them are "
                "the same: the model does not know the order of its tokens"
            )
        },
    ),
    "rows": (
        "apart",
        {
            "mixed": later(
                "the logits of a row are others when it is alone in its batch: the rows of a "
                "batch must not touch each other"
            ),
            "": later(
                "the logits of a row are others when it stands at another place of the batch: "
                "rows must not touch each other, nor have positions of their own"
            ),
        },
    ),
    "shorter": (
        "the same",
        {
            "": later(
                "the logits of the first places are others when the last tokens are cut off: "
                "they may not depend on how much text follows. Do all positions count from the "
                "start?"
            )
        },
    ),
    "slope": (
        "whole",
        {
            "no gradient": later(
                "no gradient reaches any parameter: training would learn nothing. Look for "
                "detach, .data, no_grad, .item() or a new torch.tensor"
            ),
            "": later(
                "some way through the model has no gradient, though the logits change along "
                "it. Look for detach, .data, no_grad, .item() or a new torch.tensor"
            ),
        },
    ),
    "heads": (
        "matter",
        {
            "": later(
                "with the same parameters, one head and several give the same logits: "
                "num_heads is not used"
            )
        },
    ),
    "way round": (
        "yes",
        {
            "": later(
                "with the matrices of the last layer at 0, the logits do not depend on the "
                "tokens any more: a residual sum should lead every token round each part of a "
                "layer"
            )
        },
    ),
    "itself": (
        "yes",
        {
            "": later(
                "in a text of one token, attention makes no difference: each place may see "
                "itself, and this one has nothing else to see"
            )
        },
    ),
}


def answers_the_question(case: Case, values: Values) -> str | None:
    """Say in words what else was found."""
    for name, (right, said) in SAID.items():
        found = values["found"].get(name, right)
        if found != right:
            return said.get(found, said[""])
    return None


def grows_as_it_should(case: Case, values: Values) -> str | None:
    """Say so if the number of parameters does not follow num_layers and d_ff."""
    found = values["found"].get("parameters", "")
    if "no difference; d_ff" in found:
        return say(
            "the model has as many parameters with one layer as with three, and the same logits: "
            "num_layers is not used"
        )
    if "not all" in found:
        return say(
            "there are three layers with num_layers=3, but not all of them change the logits"
        )
    if "shared" in found:
        return say(
            "each further layer should add the parameters of one layer. Every layer has its own, "
            "and model.parameters() must find them"
        )
    if "d_ff: no" in found:
        return say("the model has as many parameters with a larger d_ff: it is not used")
    if "not so many" in found:
        return say(
            "d_ff adds parameters in more layers, or fewer, than there should be: num_layers=1 "
            "means one layer, and 2 means two"
        )
    return None


# --- properties of the other tasks -----------------------------------------------------------


def labels_are_later(case: Case, values: Values) -> str | None:
    """Say so if the first row of a batch is not the piece that it should be."""
    ids, block_size = case.arguments["ids"], case.arguments["block_size"]
    start = int(case.arguments["starts"][0])
    for name, first in (("inputs", start), ("labels", start + 1)):
        right = ids[first : first + block_size]
        if not np.array_equal(values[name][0], right):
            return say(
                "the first row of `{name}` should be ids[{first}:{end}] = {right}, received {mine}",
                name=name,
                first=first,
                end=first + block_size,
                right=_few(right),
                mine=_few(values[name][0]),
            )
    return None


def _few(row: np.ndarray) -> str:
    shown = ", ".join(str(int(each)) for each in row[:6])
    return f"[{shown}, ...]" if len(row) > 6 else f"[{shown}]"


def is_loaded_in_place(case: Case, values: Values) -> str | None:
    """Say so if the model has other parameters than before, or shares them with the file."""
    if not values["model.kept"] or not values["model.same dtype"]:
        return say(
            "a parameter of the model was replaced, or has another dtype now: copy the numbers "
            "into the parameter that is there, so that an optimizer that holds it keeps it"
        )
    if not values["model.tied"]:
        return say("`model.output_proj.weight` is not the embedding's weight any more")
    if not values["weights.apart"]:
        return say(
            "a parameter of the model shares its memory with a tensor of the file, so training "
            "would change the file: copy the numbers"
        )
    if not values["weights.same names"]:
        return say("`weights` holds other names after the call")
    return None


def counts_tokens_of_the_text(case: Case, values: Values) -> str | None:
    """Say so if more tokens are used than there are, or fewer than none."""
    length, used = case.arguments["ids"].shape[1], values["used"]
    if not 0 <= used <= length:
        return say(
            "of {length} tokens, 0 to {length} can be used; here it is {used}",
            length=length,
            used=used,
        )
    return None
