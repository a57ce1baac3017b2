"""The tasks of the assignment "masking"."""

from __future__ import annotations

from transformer_checks.assignments.attention.tasks import FUSED
from transformer_checks.assignments.masking import answers
from transformer_checks.assignments.masking.cases import (
    FULL,
    HALF,
    MODEL,
    bug_cases,
    causal_cases,
    fill_cases,
    ids_cases,
    leak_cases,
    softmax_cases,
)
from transformer_checks.assignments.masking.properties import (
    hidden_weigh_nothing,
    says_what_depends,
    says_what_is_furthest,
    says_who_may_see,
    seen_rows_sum_to_one,
)
from transformer_checks.assignments.misconceptions import misconceptions_of
from transformer_checks.task import FunctionTask, Task

MODULE = "transformer_ref.masks"
TRUE = "True = may attend"
MEASURED = (
    "model is any function from (B, T, D) to (B, T, D) that gives the same for the same x, for any "
    "B; x (B, T, D), which may hold zeros. An output moves if one of its numbers "
    "changes by more than 1e-4, in any of the sequences"
)
CHANGED = (
    "Tokens are changed one at a time and in all sequences at once. A change that some models "
    "cannot see, such as the same number added to all features, is not enough; random numbers of "
    "size one are. x is not changed."
)
# What an output depends on is measured here, and not taken from a mask.
MASKS = ("transformer_ref.masks.causal_mask", "transformer_ref.masks.target_mask")
MISCONCEPTIONS = misconceptions_of("masking")
TASKS: tuple[Task, ...] = (
    FunctionTask(
        key="masking.padding_mask",
        stub="padding_mask(ids, pad_id)",
        contract=(
            f"ids (B, S) int64; returns (B, 1, 1, S) bool, {TRUE}: False wherever ids is pad_id, "
            "at the end, in front or inside, True elsewhere. On the device of ids, which are not "
            "changed."
        ),
        returns=("mask",),
        reference=answers.padding_mask,
        cases=ids_cases,
        properties=(says_who_may_see,),
        forbidden=(f"{MODULE}.padding_mask",),
        misconceptions=MISCONCEPTIONS["padding_mask"],
    ),
    FunctionTask(
        key="masking.causal_mask",
        stub="causal_mask(length, device=None)",
        contract=(
            f"length T from 1 up; returns (1, 1, T, T) bool, {TRUE}: query t sees keys 0 .. t. "
            'On `device`, a name such as "cuda" or "meta"; None is the default device.'
        ),
        returns=("mask",),
        reference=answers.causal_mask,
        cases=causal_cases,
        properties=(says_who_may_see,),
        forbidden=(f"{MODULE}.causal_mask",),
        misconceptions=MISCONCEPTIONS["causal_mask"],
    ),
    FunctionTask(
        key="masking.target_mask",
        stub="target_mask(ids, pad_id)",
        contract=(
            f"ids (B, T) int64; returns (B, 1, T, T) bool, {TRUE}: query t sees keys 0 .. t that "
            "are not padding. Padding is hidden as a key only. On the device of ids, which are "
            "not changed."
        ),
        returns=("mask",),
        reference=answers.target_mask,
        cases=ids_cases,
        properties=(says_who_may_see,),
        forbidden=(f"{MODULE}.target_mask",),
        misconceptions=MISCONCEPTIONS["target_mask"],
    ),
    FunctionTask(
        key="masking.masked_softmax",
        stub="masked_softmax(scores, mask)",
        contract=(
            "scores (..., T, S) float32, float64, float16 or bfloat16; mask bool, broadcasts to "
            f"them, {TRUE}; returns (..., T, S) weights in the dtype of the scores: softmax over "
            "the last axis, over what may be seen. A row that may see nothing is all zeros, and "
            "no NaN is in the values or in the gradient. Scores may be far from 0, the hidden ones "
            "too: they go down to -30,000. The arguments are not changed."
        ),
        returns=("weights",),
        reference=answers.masked_softmax,
        cases=softmax_cases,
        properties=(hidden_weigh_nothing, seen_rows_sum_to_one),
        forbidden=(f"{MODULE}.masked_softmax",),
        misconceptions=MISCONCEPTIONS["masked_softmax"],
        tolerances={**FULL, **HALF},
    ),
    FunctionTask(
        key="masking.find_the_bug",
        stub="causal_attention(query, key, value, ids, pad_id)",
        contract=(
            "query and key (B, H, T, K), value (B, H, T, V), ids (B, T) int64; returns "
            "(B, H, T, V): query t attends to keys 0 .. t that are not padding, and gets zeros "
            "where there are none. Padding is hidden as a key only. Everything may lie on a device "
            'that is not the default one; tried with "meta", whose tensors have no numbers to '
            "read. The arguments are not changed. Gradients reach query, key and value."
        ),
        returns=("output",),
        reference=answers.causal_attention,
        cases=bug_cases,
        forbidden=(
            *FUSED,
            *(f"{MODULE}.{name}" for name in ("padding_mask", "causal_mask", "target_mask")),
            "transformer_checks.masking.causal_attention",
        ),
        misconceptions=MISCONCEPTIONS["find_the_bug"],
    ),
    FunctionTask(
        key="masking.find_another_bug",
        stub="masked_attention(query, key, value, mask)",
        contract=(
            "query (B, H, T, K), key (B, H, S, K), value (B, H, S, V), in float16, float32 or "
            f"float64; mask bool, broadcasts to (B, H, T, S), {TRUE}; returns (B, H, T, V) in the "
            "dtype of the inputs, zeros for a query that may see nothing, with no NaN in the "
            "gradients. Scores go down to -30,000. The arguments are not changed. Gradients reach "
            "query, key and value."
        ),
        returns=("output",),
        reference=answers.masked_attention,
        cases=fill_cases,
        forbidden=(*FUSED, "transformer_checks.masking.masked_attention"),
        misconceptions=MISCONCEPTIONS["find_another_bug"],
        tolerances={**FULL, "float16": (1e-2, 1e-2)},
    ),
    FunctionTask(
        key="masking.moved_outputs",
        stub="moved_outputs(model, x)",
        contract=(
            f"{MEASURED}; returns (T, T) bool: row t, column s is True where output t moves when "
            f"token s is changed. {CHANGED}"
        ),
        returns=("moved",),
        reference=answers.moved_outputs,
        cases=leak_cases,
        properties=(says_what_depends,),
        forbidden=MASKS,
        misconceptions=MISCONCEPTIONS["moved_outputs"],
        makers={"model": MODEL},
    ),
    FunctionTask(
        key="masking.how_far_ahead",
        stub="how_far_ahead(model, x)",
        contract=(
            f"{MEASURED}; returns the largest s - t, an int, of an output t that moves when token "
            f"s is changed, and 0 if no output moves by a later token. {CHANGED}"
        ),
        returns=("places",),
        reference=answers.how_far_ahead,
        cases=leak_cases,
        properties=(says_what_is_furthest,),
        forbidden=MASKS,
        misconceptions=MISCONCEPTIONS["how_far_ahead"],
        form=int,
        makers={"model": MODEL},
    ),
)
