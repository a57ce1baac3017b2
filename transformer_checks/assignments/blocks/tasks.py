"""The tasks of the assignment "blocks".

The layers are judged to 1e-4: float32 goes through three norms, and every misconception is further
off than that.
"""

from __future__ import annotations

from transformer_checks.assignments.attention.properties import is_left_alone
from transformer_checks.assignments.blocks import answers
from transformer_checks.assignments.blocks.cases import (
    NETWORK,
    STACK,
    add_cases,
    block_cases,
    count_cases,
    damage_cases,
    decoder_cases,
    encoder_cases,
    feed_forward_cases,
    norm_cases,
    unit_cases,
)
from transformer_checks.assignments.blocks.properties import ends_with, tokens_are_normed
from transformer_checks.assignments.misconceptions import misconceptions_of
from transformer_checks.task import FunctionTask, ModuleTask, Task

WHOLE = (
    "torch.nn.functional.multi_head_attention_forward",
    "torch.nn.MultiheadAttention",
    "torch.nn.TransformerEncoderLayer",
    "torch.nn.TransformerDecoderLayer",
    "torch.nn.TransformerEncoder",
)
NORMS = (
    "torch.nn.functional.layer_norm",
    "torch.nn.functional.group_norm",
    "torch.nn.LayerNorm",
)
LAYERS = "transformer_ref.layers"
HERE = "transformer_checks.blocks"
EVERYWHERE = (
    "Results keep the device and the floating dtype of the inputs. The arguments are not changed. "
    "Gradients reach every input."
)
COPIED = f"Judged in eval mode with weights copied in by name. {EVERYWHERE}"
MASKS = "masks boolean, True = may attend, None = all"
LEFT_ALONE = "What is measured is left as it was, and x is not changed. No gradients are asked for."
ONE_SEEN = "Every query may see at least one key."
LAYER_TOLERANCE = {"float32": (1e-4, 1e-4), "float64": (1e-4, 1e-4)}
KINDS = (
    'norm="post" (paper) is norm(x + f(x)), norm="pre" is x + f(norm(x)), for each sublayer f; no '
    "dropout, LayerNorm with eps 1e-5"
)
MISCONCEPTIONS = misconceptions_of("blocks")
TASKS: tuple[Task, ...] = (
    FunctionTask(
        key="blocks.layer_norm",
        stub="layer_norm(x, weight, bias, eps)",
        contract=(
            "x (..., D), weight and bias (D,), eps above 0; returns (..., D): (x - mean) / "
            "sqrt(variance + eps) * weight + bias, mean and variance over the D features of each "
            f"token, the variance with the divisor D. {EVERYWHERE}"
        ),
        returns=("output",),
        reference=answers.layer_norm,
        cases=norm_cases,
        properties=(tokens_are_normed,),
        forbidden=(*NORMS, f"{HERE}.layer_norm"),
        misconceptions=MISCONCEPTIONS["layer_norm"],
    ),
    ModuleTask(
        key="blocks.FeedForward",
        stub="class FeedForward(d_model, d_ff): forward(x)",
        contract=(
            "an nn.Module with the linear layers linear1 (D to d_ff) and linear2 (d_ff to D), both "
            "with bias; x (B, T, D); returns (B, T, D): linear2(max(0, linear1(x))), no dropout. "
            f"{COPIED}"
        ),
        returns=("output",),
        reference=answers.FeedForward,
        cases=feed_forward_cases,
        forbidden=(*WHOLE, f"{LAYERS}.FeedForward"),
        misconceptions=MISCONCEPTIONS["FeedForward"],
    ),
    ModuleTask(
        key="blocks.EncoderLayer",
        stub='class EncoderLayer(d_model, num_heads, d_ff, norm="post"): forward(x, mask=None)',
        contract=(
            "an nn.Module with self_attention (q_proj, k_proj, v_proj, out_proj), feed_forward "
            f"(linear1, linear2), norm1 and norm2; x (B, S, D), {MASKS}, broadcasts to "
            f"(B, H, S, S); returns (B, S, D): self-attention with norm1, then the feed-forward "
            f"network with norm2. {KINDS}. {ONE_SEEN} {COPIED}"
        ),
        returns=("output",),
        reference=answers.EncoderLayer,
        cases=encoder_cases,
        properties=(ends_with("norm2"),),
        forbidden=(*WHOLE, f"{LAYERS}.EncoderLayer", f"{LAYERS}.Block"),
        misconceptions=MISCONCEPTIONS["EncoderLayer"],
        tolerances=LAYER_TOLERANCE,
    ),
    ModuleTask(
        key="blocks.DecoderLayer",
        stub=(
            'class DecoderLayer(d_model, num_heads, d_ff, norm="post"): '
            "forward(x, memory, tgt_mask=None, memory_mask=None)"
        ),
        contract=(
            "an nn.Module with self_attention and cross_attention (q_proj, k_proj, v_proj, "
            "out_proj each), feed_forward (linear1, linear2), norm1, norm2 and norm3; x (B, T, D), "
            f"memory (B, S, D), {MASKS}: tgt_mask broadcasts to (B, H, T, T), memory_mask to "
            "(B, H, T, S); returns (B, T, D): self-attention with norm1, cross-attention to the "
            f"memory with norm2, the feed-forward network with norm3. {KINDS}; the memory is not "
            f"normed. {ONE_SEEN} {COPIED}"
        ),
        returns=("output",),
        reference=answers.DecoderLayer,
        cases=decoder_cases,
        properties=(ends_with("norm3"),),
        # Not the whole block: an encoder layer may lend its parts, and is made by it.
        forbidden=(*WHOLE, f"{LAYERS}.DecoderLayer"),
        misconceptions=MISCONCEPTIONS["DecoderLayer"],
        tolerances=LAYER_TOLERANCE,
    ),
    FunctionTask(
        key="blocks.count_parameters",
        stub="count_parameters(d_model, d_ff, num_layers, vocab_size)",
        contract=(
            "returns an int: the parameters of the paper's model with num_layers layers in the "
            "encoder and as many in the decoder, one embedding matrix (V, D) shared by source, "
            "target and output, no output bias, biases in all linear layers, weight and bias in 2 "
            "norms a layer of the encoder and 3 a layer of the decoder, no norm after the stacks, "
            "sinusoidal positions. 63,082,496 for the base model with V = 37,000."
        ),
        returns=("count",),
        reference=answers.count_parameters,
        cases=count_cases,
        forbidden=(f"{HERE}.count_parameters",),
        misconceptions=MISCONCEPTIONS["count_parameters"],
        form=int,
    ),
    FunctionTask(
        key="blocks.find_the_bug",
        stub="add_and_norm(x, change, weight, bias, eps)",
        contract=(
            "x and change (B, T, D), weight and bias (D,), eps above 0; returns (B, T, D): the "
            "LayerNorm of x + change over the D features of each token, variance with the divisor "
            f"D, eps inside the root. {EVERYWHERE}"
        ),
        returns=("output",),
        reference=answers.add_and_norm,
        cases=add_cases,
        properties=(tokens_are_normed,),
        forbidden=(*NORMS, f"{HERE}.layer_norm", f"{HERE}.add_and_norm"),
        misconceptions=MISCONCEPTIONS["find_the_bug"],
    ),
    ModuleTask(
        key="blocks.find_the_second_bug",
        stub="class CrossAttentionBlock(d_model, num_heads): forward(x, memory, memory_mask=None)",
        contract=(
            "an nn.Module with cross_attention (q_proj, k_proj, v_proj, out_proj) and norm; x "
            "(B, T, D), memory (B, S, D), memory_mask boolean, broadcasts to (B, H, T, S), True = "
            "may attend; returns (B, T, D): norm(x + what x finds in the memory). "
            f"{ONE_SEEN} {COPIED}"
        ),
        returns=("output",),
        reference=answers.CrossAttentionBlock,
        cases=block_cases,
        forbidden=(
            *WHOLE,
            f"{LAYERS}.DecoderLayer",
            f"{LAYERS}.Block",
            f"{HERE}.CrossAttentionBlock",
        ),
        misconceptions=MISCONCEPTIONS["find_the_second_bug"],
        tolerances=LAYER_TOLERANCE,
    ),
    FunctionTask(
        key="blocks.damage_by_sublayer",
        stub="damage_by_sublayer(layers, x)",
        contract=(
            "layers is a list of L pre-norm reference.EncoderLayer in eval mode, x is (B, S, D), "
            "the input of the first one, without a mask; returns (L, 2), floating: for the "
            "self-attention (0) and the feed-forward network (1) of each layer, silenced alone, "
            "the mean over all numbers of the last layer's output of the squared change, with no "
            "norm behind the last layer; to silence a sublayer is to add nothing in its residual "
            f"sum. {LEFT_ALONE}"
        ),
        returns=("damage",),
        reference=answers.damage_by_sublayer,
        cases=damage_cases,
        properties=(is_left_alone("layers"),),
        forbidden=(f"{HERE}.damage_by_sublayer",),
        misconceptions=MISCONCEPTIONS["damage_by_sublayer"],
        tolerances=LAYER_TOLERANCE,
        makers={"layers": STACK},
        any_float=True,
    ),
    FunctionTask(
        key="blocks.dead_units",
        stub="dead_units(feed_forward, x)",
        contract=(
            "feed_forward is a reference.FeedForward in eval mode with ReLU, x is (B, T, D), what "
            "it reads; returns a list of int: the hidden units, counted from 0, in rising "
            "order, that are 0 behind the ReLU for every token of x, [] if there is none. A "
            "unit that linear1 makes exactly 0 is not above zero. "
            f"{LEFT_ALONE}"
        ),
        returns=("units",),
        reference=answers.dead_units,
        cases=unit_cases,
        properties=(is_left_alone("feed_forward"),),
        forbidden=(f"{HERE}.dead_units",),
        misconceptions=MISCONCEPTIONS["dead_units"],
        form=list[int],
        makers={"feed_forward": NETWORK},
    ),
)
