"""Properties of right results in "positions": each says in words what is wrong with a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from transformer_checks.assignments.positions.answers import encode_positions
from transformer_checks.assignments.positions.cases import ALL, known_effect
from transformer_checks.task import Case
from transformer_checks.translation import say

CLOSE = 1e-3
Values = Mapping[str, Any]


def first_is_one(case: Case, values: Values) -> str | None:
    """Say so if the fastest hand does not turn one radian a position."""
    first = float(values["frequencies"][0])
    if abs(first - 1.0) > CLOSE:
        return say(
            "the first frequency, that of i = 0, should be 1; here it is {first:.4g}", first=first
        )
    return None


def falls_evenly(case: Case, values: Values) -> str | None:
    """Say so if the frequencies do not fall by the same factor from pair to pair."""
    found = values["frequencies"].astype(np.float64)
    if not (found > 0).all():
        return say(
            "a frequency should be above 0; here the smallest is {smallest:.4g}",
            smallest=found.min(),
        )
    if (np.diff(found) >= 0).any():
        return say("the frequencies should fall from pair to pair, from fast hands to slow ones")
    factors = found[1:] / found[:-1]
    if len(factors) and factors.max() - factors.min() > CLOSE:
        return say(
            "from pair to pair the frequencies should fall by the same factor; here by factors "
            "from {smallest:.4g} to {largest:.4g}",
            smallest=factors.min(),
            largest=factors.max(),
        )
    return None


def _pairs(values: Values) -> np.ndarray:
    """(..., D/2, 2): the columns 2i and 2i + 1 side by side."""
    table: np.ndarray = values["encoding"].astype(np.float64)
    return table.reshape(*table.shape[:-1], -1, 2)


def pairs_are_on_the_circle(case: Case, values: Values) -> str | None:
    """Say so if two neighbours are not the sine and the cosine of one angle."""
    squares = np.square(_pairs(values)).sum(axis=-1)
    off = np.abs(squares - 1.0)
    if off.max() <= 0.01:
        return None
    *row, pair = (int(index) for index in np.argwhere(off > 0.01)[0])
    place = "".join(f"[{index}]" for index in row)
    return say(
        "columns {even} and {odd} should be the sine and the cosine of one angle, whose squares "
        "sum to 1; in `encoding{place}` they sum to {total:.4g}",
        even=2 * pair,
        odd=2 * pair + 1,
        place=place,
        total=squares[*row, pair],
    )


def position_zero_is_at_zero(case: Case, values: Values) -> str | None:
    """Say so if the angle of position 0 is not zero."""
    pairs = _pairs(values)
    if "positions" in case.arguments:
        pairs = pairs[case.arguments["positions"] == 0]
    first = pairs[:1]
    if first.size and np.abs(first - [0.0, 1.0]).max() > 0.01:
        numbers = [f"{number:.3g}" for number in first.ravel()[:4]]
        return say(
            "at position 0 all angles are 0: sines 0 and cosines 1, in turn; "
            "here position 0 has [{shown}]",
            shown=", ".join([*numbers, *["..."] * (first.size > 4)]),
        )
    return None


def moves_every_position(case: Case, values: Values) -> str | None:
    """Say so if the matrix does not take the encoding at p to the one at p + k."""
    offset, d_model = case.arguments["offset"], case.arguments["d_model"]
    matrix = values["matrix"].astype(np.float64)
    start = max(0, -offset)
    for position in (start, start + 1, start + 5, start + 2000):
        both = encode_positions(torch.tensor([position, position + offset]), d_model)
        here, there = both.double().numpy()
        off = float(np.abs(matrix @ here - there).max())
        if not off <= 2 * CLOSE * d_model:
            return say(
                "M_k @ PE(p) should be PE(p + k); for k = {offset} and p = {position} "
                "it is off by up to {off:.3g}",
                offset=offset,
                position=position,
                off=off,
            )
    return None


def agrees_with_every_hand(case: Case, values: Values) -> str | None:
    """Say so if a hand is not where it would be at the position that was read off."""
    found, given = values["positions"].astype(np.float64), case.arguments["encodings"]
    if not np.isfinite(found).all():
        return say("a position should be a finite number")
    omegas = 10_000.0 ** (-np.arange(0, given.shape[-1], 2) / given.shape[-1])
    angles = found[..., None] * omegas
    hands = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    off = np.abs(hands - given.reshape(hands.shape)).max(axis=-1)
    if not (off > 0.02).any():
        return None
    *place, hand = (int(index) for index in np.argwhere(off > 0.02)[0])
    sine, cosine = hands[*place, hand]
    wanted = given[*place, 2 * hand : 2 * hand + 2]
    where = "".join(f"[{index}]" for index in place)
    return say(
        "at position {position:.6g}, hand {hand} would have sine {sine:.3f} and cosine "
        "{cosine:.3f}; in `encodings{where}` it has {right_sine:.3f} and {right_cosine:.3f}",
        position=found[*place],
        hand=hand,
        sine=sine,
        cosine=cosine,
        where=where,
        right_sine=wanted[0],
        right_cosine=wanted[1],
    )


def same_in_every_sequence(case: Case, values: Values) -> str | None:
    """Say so if what is added to a token depends on the sequence it is in."""
    x, output = case.arguments["x"], values["output"]
    if case.training or len(x) < 2:
        return None
    added = output.astype(np.float64) - x
    if np.abs(added - added[:1]).max() > 0.02:
        return say(
            "what is added to the first sequence of the batch is not what is added to the others; "
            "it should depend on the position only"
        )
    return None


def everything_is_dropped(case: Case, values: Values) -> str | None:
    """Say so if something comes through a dropout that drops all."""
    if not case.training or case.settings["dropout"] < ALL:
        return None
    most = float(np.abs(values["output"].astype(np.float64)).max())
    if most > 0:
        return say(
            "in training mode, with a dropout rate of 1, nothing should come through: dropout is "
            "applied to the sum; here the result holds {most:.4g}",
            most=most,
        )
    return None


def without_order_no_effect(case: Case, values: Values) -> str | None:
    """Say so if an effect is found in a model that does not see this order."""
    found = values["effect"]
    if known_effect(case) < 1e-9 and abs(found) > 1e-4:
        return say(
            "in this model each token gets the same in both orders, so the effect should be 0; "
            "here it is {effect:.4g}",
            effect=found,
        )
    return None
