"""The tasks of the assignment "positions".

A float32 angle is off by about 4e-4 at position 5,000, and most code in circulation computes it so.
Tables are therefore judged to 1e-3, which no misconception comes near.
"""

from __future__ import annotations

from transformer_checks.assignments.misconceptions import misconceptions_of
from transformer_checks.assignments.positions import answers
from transformer_checks.assignments.positions.cases import (
    MODEL,
    bug_cases,
    distance_cases,
    effect_cases,
    frequency_cases,
    module_cases,
    shift_cases,
    table_cases,
)
from transformer_checks.assignments.positions.properties import (
    everything_is_dropped,
    falls_evenly,
    first_is_one,
    moves_every_position,
    pairs_are_on_the_circle,
    position_zero_is_at_zero,
    same_in_every_sequence,
    without_order_no_effect,
)
from transformer_checks.task import FunctionTask, ModuleTask, Task

TABLE_TOLERANCE = {"float32": (0.0, 1e-3)}
MODULE = "transformer_ref.positions"
HERE = "transformer_checks.positions"
FLOATS = "float32 or float64"
MISCONCEPTIONS = misconceptions_of("positions")
TASKS: tuple[Task, ...] = (
    FunctionTask(
        key="positions.frequencies",
        stub="frequencies(d_model)",
        contract=(
            f"d_model D, even; returns (D/2,): 10000^(-2i/D) for i = 0 .. D/2 - 1, in {FLOATS}."
        ),
        returns=("frequencies",),
        reference=answers.frequencies,
        cases=frequency_cases,
        properties=(first_is_one, falls_evenly),
        forbidden=(f"{MODULE}.frequencies",),
        misconceptions=MISCONCEPTIONS["frequencies"],
        tolerances={"float32": (1e-5, 1e-9)},
        any_float=True,
    ),
    FunctionTask(
        key="positions.sinusoidal_encoding",
        stub="sinusoidal_encoding(num_positions, d_model)",
        contract=(
            "d_model D, even; returns (num_positions, D) float32: column 2i is sin(pos * w_i), "
            "column 2i + 1 is cos(pos * w_i), w_i = 10000^(-2i/D), positions from 0. Judged to "
            "1e-3, so that angles in float32 pass."
        ),
        returns=("encoding",),
        reference=answers.sinusoidal_encoding,
        cases=table_cases,
        properties=(position_zero_is_at_zero, pairs_are_on_the_circle),
        forbidden=(f"{MODULE}.sinusoidal_encoding", f"{MODULE}.SinusoidalPositions"),
        misconceptions=MISCONCEPTIONS["sinusoidal_encoding"],
        tolerances=TABLE_TOLERANCE,
    ),
    FunctionTask(
        key="positions.shift_matrix",
        stub="shift_matrix(offset, d_model)",
        contract=(
            "offset k, any integer; d_model D, even; returns (D, D): M_k with "
            f"PE(p + k) = M_k @ PE(p) for column vectors at every p, in {FLOATS}. Judged to 1e-3."
        ),
        returns=("matrix",),
        reference=answers.shift_matrix,
        cases=shift_cases,
        properties=(moves_every_position,),
        forbidden=(f"{MODULE}.shift_matrix",),
        misconceptions=MISCONCEPTIONS["shift_matrix"],
        tolerances=TABLE_TOLERANCE,
        any_float=True,
    ),
    ModuleTask(
        key="positions.PositionalEncoding",
        stub="class PositionalEncoding(d_model, max_len, dropout): forward(x)",
        contract=(
            "an nn.Module; x (B, T, D); returns dropout(x + PE(0 .. T - 1)) (B, T, D) in the dtype "
            "of x, where T = max_len works and more is a ValueError. No sqrt(D) in it, and no "
            'trainable parameter. It works where the module is moved to: tried with "meta", whose '
            "tensors have no numbers. Judged in eval mode, the dropout in training mode too. The "
            "argument is not changed. Gradients reach x."
        ),
        returns=("output",),
        reference=answers.PositionalEncoding,
        cases=module_cases,
        properties=(everything_is_dropped, same_in_every_sequence),
        forbidden=(f"{MODULE}.SinusoidalPositions",),
        misconceptions=MISCONCEPTIONS["PositionalEncoding"],
        tolerances={
            "float32": (2e-4, 2e-4),
            "float64": (2e-4, 2e-4),
            "float16": (4e-3, 4e-3),
        },
        nothing_to_learn=True,
    ),
    FunctionTask(
        key="positions.find_the_bug",
        stub="encode_positions(positions, d_model)",
        contract=(
            "positions (...) int64, any shape, from 0; d_model D, even; returns (..., D) float32: "
            "feature 2i is sin(pos * w_i), feature 2i + 1 is cos(pos * w_i), w_i = 10000^(-2i/D). "
            "Judged to 1e-3. The result is on the device of the positions, which are not changed."
        ),
        returns=("encoding",),
        reference=answers.encode_positions_in_float64,
        answer=answers.encode_positions,
        cases=bug_cases,
        properties=(position_zero_is_at_zero, pairs_are_on_the_circle),
        forbidden=(
            f"{MODULE}.sinusoidal_encoding",
            f"{MODULE}.SinusoidalPositions",
            f"{HERE}.encode_positions",
        ),
        misconceptions=MISCONCEPTIONS["find_the_bug"],
        tolerances=TABLE_TOLERANCE,
    ),
    FunctionTask(
        key="positions.order_effect",
        stub="order_effect(model, x, order)",
        contract=(
            "model takes (B, T, D) and returns (B, T, D); x (B, T, D); order (T,) int64, a "
            "permutation: token order[t] is moved to position t; returns a Python float: the mean "
            "over all B * T * D numbers of the squared difference between a token's output in the "
            "new order and in the old one. Neither the model nor the arguments are changed."
        ),
        returns=("effect",),
        reference=answers.order_effect,
        cases=effect_cases,
        properties=(without_order_no_effect,),
        forbidden=(f"{HERE}.order_effect",),
        misconceptions=MISCONCEPTIONS["order_effect"],
        form=float,
        makers={"model": MODEL},
    ),
    FunctionTask(
        key="positions.consistent_distances",
        stub="consistent_distances(table)",
        contract=(
            "table (L, D), row p the vector of position p, L at least 3; returns a list of int, "
            "rising: the k of 0 .. L - 2 for which the dot products of rows p and p + k differ by "
            "less than 0.001 over all p. Tables are rounded to four digits; for each k the dot "
            "products differ by less than 0.0006 or by more than 0.02. The argument is not changed."
        ),
        returns=("distances",),
        reference=answers.consistent_distances,
        cases=distance_cases,
        forbidden=(f"{HERE}.consistent_distances",),
        misconceptions=MISCONCEPTIONS["consistent_distances"],
        form=list[int],
    ),
)
