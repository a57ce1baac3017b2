"""The tasks of the assignment "attention".

The misconceptions come from the notes that the course corrects, from tutorials that are widely
read, and from the ways in which tests are known to be fooled.
"""

from __future__ import annotations

from transformer_checks.assignments.attention import answers
from transformer_checks.assignments.attention.cases import (
    LOWEST,
    MODULE,
    attend_cases,
    bug_cases,
    damage_cases,
    merge_cases,
    module_cases,
    pair_cases,
    score_cases,
    split_cases,
)
from transformer_checks.assignments.attention.properties import (
    hidden_keys_weigh_nothing,
    module_is_left_alone,
    output_is_weighted_value,
    rows_sum_to_one,
)
from transformer_checks.assignments.misconceptions import misconceptions_of
from transformer_checks.task import FunctionTask, ModuleTask, Task

FUSED = (
    "torch.nn.functional.scaled_dot_product_attention",
    "torch.nn.functional.multi_head_attention_forward",
    "torch.nn.MultiheadAttention",
    "torch.nn.TransformerEncoderLayer",
    "torch.nn.TransformerDecoderLayer",
    "torch.nn.TransformerEncoder",
)
EVERYWHERE = (
    "Results keep the device and the floating dtype of the inputs. The arguments are not changed. "
    "Gradients reach every input."
)
# They hide the heads that are to be silenced.
WITHOUT_HEADS = (
    "torch.nn.functional.multi_head_attention_forward",
    "torch.nn.MultiheadAttention",
)
MEASURED = (
    "module is a reference.MultiHeadAttention in eval mode, x is (B, T, D) and serves as query, "
    "key and value, without a mask; to silence a head is to set its K features to zero before "
    "out_proj"
)
LEFT_ALONE = "The module is left as it was, and x is not changed. No gradients are asked for."
SEEN = f"Every query may see at least one key. Scores go down to {LOWEST:,.0f}."
MISCONCEPTIONS = misconceptions_of("attention")
TASKS: tuple[Task, ...] = (
    FunctionTask(
        key="attention.attention_scores",
        stub="attention_scores(query, key)",
        contract=(
            "query (..., T, K) and key (..., S, K), any leading axes; returns (..., T, S): "
            f"q k^T / sqrt(K). {EVERYWHERE}"
        ),
        returns=("scores",),
        reference=answers.attention_scores,
        cases=score_cases,
        forbidden=(*FUSED, "transformer_ref.attention.attention_scores"),
        misconceptions=MISCONCEPTIONS["attention_scores"],
    ),
    FunctionTask(
        key="attention.scaled_dot_product_attention",
        stub="scaled_dot_product_attention(query, key, value, mask=None)",
        contract=(
            "query (..., T, K), key (..., S, K), value (..., S, V); mask boolean, broadcasts to "
            "(..., T, S), True = may attend; returns (output (..., T, V), weights (..., T, S)). "
            f"{SEEN} {EVERYWHERE}"
        ),
        returns=("output", "weights"),
        reference=answers.scaled_dot_product_attention,
        cases=attend_cases,
        properties=(rows_sum_to_one, hidden_keys_weigh_nothing, output_is_weighted_value),
        forbidden=(*FUSED, "transformer_ref.attention.scaled_dot_product_attention"),
        misconceptions=MISCONCEPTIONS["scaled_dot_product_attention"],
    ),
    FunctionTask(
        key="attention.split_heads",
        stub="split_heads(x, num_heads)",
        contract=(
            "x (B, T, D), num_heads divides D; returns (B, H, T, K), head h holding the features "
            f"h*K to (h+1)*K - 1 of every token. A view or a copy. {EVERYWHERE}"
        ),
        returns=("heads",),
        reference=answers.split_heads,
        cases=split_cases,
        forbidden=(*FUSED, "transformer_ref.attention.split_heads"),
        misconceptions=MISCONCEPTIONS["split_heads"],
    ),
    FunctionTask(
        key="attention.merge_heads",
        stub="merge_heads(x)",
        contract=f"x (B, H, T, K); returns (B, T, D), which undoes split_heads. {EVERYWHERE}",
        returns=("merged",),
        reference=answers.merge_heads,
        cases=merge_cases,
        forbidden=(*FUSED, "transformer_ref.attention.merge_heads"),
        misconceptions=MISCONCEPTIONS["merge_heads"],
    ),
    ModuleTask(
        key="attention.MultiHeadAttention",
        stub="class MultiHeadAttention(d_model, num_heads): forward(query, key, value, mask=None)",
        contract=(
            "an nn.Module with the linear layers q_proj, k_proj, v_proj, out_proj, all with bias; "
            "query (B, T, D), key and value (B, S, D); mask boolean, broadcasts to (B, H, T, S), "
            "True = may attend; returns (B, T, D). Judged in eval mode with weights copied in by "
            f"name. {SEEN} {EVERYWHERE}"
        ),
        returns=("output",),
        reference=answers.MultiHeadAttention,
        cases=module_cases,
        forbidden=(*FUSED, "transformer_ref.attention.MultiHeadAttention"),
        misconceptions=MISCONCEPTIONS["MultiHeadAttention"],
    ),
    FunctionTask(
        key="attention.find_the_bug",
        stub="multi_head_attention(query, key, value, num_heads, mask=None)",
        contract=(
            "query (B, T, D), key and value (B, S, D), already projected; num_heads divides D; "
            "mask boolean, broadcasts to (B, H, T, S), True = may attend; returns (B, T, D), the "
            f"heads side by side. {SEEN} {EVERYWHERE}"
        ),
        returns=("output",),
        reference=answers.multi_head_attention,
        cases=bug_cases,
        forbidden=FUSED,
        misconceptions=MISCONCEPTIONS["find_the_bug"],
    ),
    FunctionTask(
        key="attention.damage_by_head",
        stub="damage_by_head(module, x)",
        contract=(
            f"{MEASURED}; returns (H,), floating: for each head, silenced alone, the mean over all "
            f"numbers of the output of the squared change. {LEFT_ALONE}"
        ),
        returns=("damage",),
        reference=answers.damage_by_head,
        cases=damage_cases,
        properties=(module_is_left_alone,),
        forbidden=WITHOUT_HEADS,
        misconceptions=MISCONCEPTIONS["damage_by_head"],
        makers={"module": MODULE},
        any_float=True,
    ),
    FunctionTask(
        key="attention.redundant_heads",
        stub="redundant_heads(module, x)",
        contract=(
            f"{MEASURED}; returns the two heads as [a, b] with a < b, counted from 0, that change "
            "the output least when both are silenced at once: the mean over all numbers of the "
            f"squared change. One pair is clearly the best. {LEFT_ALONE}"
        ),
        returns=("heads",),
        reference=answers.redundant_heads,
        cases=pair_cases,
        properties=(module_is_left_alone,),
        forbidden=WITHOUT_HEADS,
        misconceptions=MISCONCEPTIONS["redundant_heads"],
        form=list[int],
        makers={"module": MODULE},
    ),
)
