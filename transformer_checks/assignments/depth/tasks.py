"""The tasks of the assignment "depth"."""

from __future__ import annotations

from transformer_checks.assignments.depth import answers
from transformer_checks.assignments.depth.cases import (
    STACK,
    damage_cases,
    field_cases,
    induction_cases,
    lens_cases,
    offset_cases,
    place_cases,
)
from transformer_checks.assignments.depth.properties import (
    is_an_offset,
    is_one_at_least,
    keys_that_nobody_sees_do_nothing,
    rows_are_weights,
)
from transformer_checks.assignments.misconceptions import misconceptions_of
from transformer_checks.task import FunctionTask, Task

HERE = "transformer_checks.depth"
KEPT = "The arguments are not changed. No gradients are asked for."
MISCONCEPTIONS = misconceptions_of("depth")
TASKS: tuple[Task, ...] = (
    FunctionTask(
        key="depth.cnn_receptive_field",
        stub="cnn_receptive_field(kernel_size, num_layers, dilation=1)",
        contract=(
            "num_layers convolutions along one axis, one behind the other, all with stride 1, the "
            "same kernel_size and the same dilation; returns an int: how many neighbouring inputs "
            "lie between the first and the last one that an output depends on, both counted. All "
            "three are at least 1."
        ),
        returns=("size",),
        reference=answers.cnn_receptive_field,
        cases=field_cases,
        properties=(is_one_at_least,),
        forbidden=(f"{HERE}.cnn_receptive_field",),
        misconceptions=MISCONCEPTIONS["cnn_receptive_field"],
        form=int,
    ),
    FunctionTask(
        key="depth.previous_token_weights",
        stub="previous_token_weights(places, sharpness)",
        contract=(
            "places (T, K) floating, one-hot, T <= K: rows of neighbouring places, the first of "
            "them any; sharpness a float above 0; returns (T, T), the causal attention weights "
            "of a head whose keys are the places, and whose query has the product `sharpness` "
            "with the key of the place before and 0 with all others; scores are divided by "
            f"sqrt(K). Results keep the device and the dtype of places. {KEPT}"
        ),
        returns=("weights",),
        reference=answers.previous_token_weights,
        cases=place_cases,
        properties=(rows_are_weights,),
        forbidden=(f"{HERE}.previous_token_weights",),
        misconceptions=MISCONCEPTIONS["previous_token_weights"],
    ),
    FunctionTask(
        key="depth.logit_lens",
        stub="logit_lens(model, x)",
        contract=(
            "model has layers, a list of N modules from (B, T, D) to (B, T, D), a norm (B, T, D) "
            "to the same, and output_proj, (B, T, D) to (B, T, V); x (B, T, D) is the residual "
            "stream before the first layer; returns (N+1, B, T, V): the logits that norm and "
            "output_proj read from the stream before the first layer and after each. The model is "
            f"left as it was. {KEPT}"
        ),
        returns=("logits",),
        reference=answers.logit_lens,
        cases=lens_cases,
        forbidden=(f"{HERE}.logit_lens",),
        misconceptions=MISCONCEPTIONS["logit_lens"],
        makers={"model": STACK},
    ),
    FunctionTask(
        key="depth.damage_by_key",
        stub="damage_by_key(query, key, value, mask)",
        contract=(
            "query (T, K), key (S, K), value (S, V); mask (T, S) boolean, True = may attend, two "
            "or more in each row; scores are divided by sqrt(K); returns (S,), floating: for each "
            "key, hidden alone from all queries, the mean over all numbers of the output of the "
            f"squared change. {KEPT}"
        ),
        returns=("damage",),
        reference=answers.damage_by_key,
        cases=damage_cases,
        properties=(keys_that_nobody_sees_do_nothing,),
        forbidden=(f"{HERE}.damage_by_key",),
        misconceptions=MISCONCEPTIONS["damage_by_key"],
        any_float=True,
    ),
    FunctionTask(
        key="depth.needed_offset",
        stub="needed_offset(query, key, value, max_offset)",
        contract=(
            "query (T, K), key (T, K), value (T, V), causal attention with scores divided by "
            "sqrt(K); max_offset from 1 to T - 1; returns an int from 1 to max_offset: the offset "
            "for which the output changes most, by the mean of the squared change, when the key "
            "that many tokens before each query is hidden from it, for all queries at once. One "
            f"offset is clearly the most needed. {KEPT}"
        ),
        returns=("offset",),
        reference=answers.needed_offset,
        cases=offset_cases,
        properties=(is_an_offset,),
        forbidden=(f"{HERE}.needed_offset",),
        misconceptions=MISCONCEPTIONS["needed_offset"],
        form=int,
    ),
    FunctionTask(
        key="depth.find_the_bug",
        stub="induction(letters)",
        contract=(
            "letters (T, V) floating, row 0 zeros and all others one-hot; returns (T, V), the "
            "output of two layers of causal attention, both with a sharpness of 20 and scores "
            "divided by the root of the size of the queries: layer 0 writes into each token the "
            "letter before, layer 1 looks from each letter for the tokens before which it stood, "
            f"and brings theirs. Results keep the device and the dtype of letters. {KEPT}"
        ),
        returns=("found",),
        reference=answers.induction,
        cases=induction_cases,
        forbidden=(f"{HERE}.induction",),
        misconceptions=MISCONCEPTIONS["find_the_bug"],
    ),
)
