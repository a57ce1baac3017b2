"""The tasks of the assignment "sequences"."""

from __future__ import annotations

from transformer_checks.assignments.misconceptions import misconceptions_of
from transformer_checks.assignments.sequences import answers
from transformer_checks.assignments.sequences.cases import (
    MODEL,
    READER,
    both_cases,
    cost_cases,
    look_cases,
    read_cases,
    span_cases,
    step_cases,
)
from transformer_checks.assignments.sequences.properties import (
    context_belongs_to_the_weights,
    costs_are_three,
    hidden_is_inside,
    is_a_place,
    model_is_left_alone,
    states_are_inside,
    weights_are_shares,
)
from transformer_checks.task import FunctionTask, Task

HERE = "transformer_checks.sequences"
READERS = ("torch.nn.RNN", "torch.nn.RNNCell")
EVERYWHERE = (
    "Results keep the device and the floating dtype of the inputs. The arguments are not changed. "
    "Gradients reach every input."
)
LEFT_ALONE = "The arguments are not changed. No gradients are asked for."
MISCONCEPTIONS = misconceptions_of("sequences")
TASKS: tuple[Task, ...] = (
    FunctionTask(
        key="sequences.recurrent_step",
        stub="recurrent_step(x, hidden, weight_x, weight_h, bias)",
        contract=(
            "x (B, D), hidden (B, N), weight_x (N, D), weight_h (N, N), bias (N,): row n of a "
            "matrix belongs to number n of the new state; returns (B, N), the tanh of the sum of "
            f"token part, state part and bias. {EVERYWHERE}"
        ),
        returns=("new_hidden",),
        reference=answers.recurrent_step,
        cases=step_cases,
        properties=(hidden_is_inside,),
        forbidden=(*READERS, f"{HERE}.recurrent_step"),
        misconceptions=MISCONCEPTIONS["recurrent_step"],
    ),
    FunctionTask(
        key="sequences.unroll",
        stub="unroll(x, hidden, weight_x, weight_h, bias)",
        contract=(
            "x (B, T, D), hidden (B, N), the state before the first token, parameters as in "
            "recurrent_step; returns (B, T, N): place t holds the state after token t. "
            f"T is at least 1. {EVERYWHERE}"
        ),
        returns=("states",),
        reference=answers.unroll,
        cases=read_cases,
        properties=(states_are_inside,),
        forbidden=(*READERS, f"{HERE}.unroll"),
        misconceptions=MISCONCEPTIONS["unroll"],
    ),
    FunctionTask(
        key="sequences.additive_attention",
        stub="additive_attention(query, states, weight_query, weight_states, vector, mask)",
        contract=(
            "query (B, N), states (B, S, N), weight_query and weight_states (A, N), row a of each "
            "belonging to number a of what is compared, vector (A,); mask (B, S) boolean, True = "
            "may attend, one or more in each row; returns (context (B, N), weights (B, S)): the "
            "scores are the tanh of the sum of both products, times the vector, not divided by "
            f"anything; a hidden state has weight 0. {EVERYWHERE}"
        ),
        returns=("context", "weights"),
        reference=answers.additive_attention,
        cases=look_cases,
        properties=(weights_are_shares, context_belongs_to_the_weights),
        forbidden=(f"{HERE}.additive_attention",),
        misconceptions=MISCONCEPTIONS["additive_attention"],
    ),
    FunctionTask(
        key="sequences.layer_cost",
        stub="layer_cost(layer, batch_size, length, size, kernel_size=3)",
        contract=(
            'layer "recurrent", "attention" or "convolution"; B sequences of T tokens, at least '
            "2; D numbers in a token, a state and an output; kernel_size at least 2, which only "
            "the convolution uses; returns three int, a tuple or a list: the multiplications in "
            "the matrix products for the whole batch, the sequential operations of one layer, and "
            "the steps of the path from the first token to the last output, through as many "
            "layers of the kind as that takes. Attention has no learned matrices; an output of "
            "the convolution sees its own token and the kernel_size - 1 before it, zeros in front "
            "of the first token counted, each with a matrix of D rows and D columns."
        ),
        returns=("costs",),
        reference=answers.layer_cost,
        cases=cost_cases,
        properties=(costs_are_three,),
        forbidden=(f"{HERE}.layer_cost",),
        misconceptions=MISCONCEPTIONS["layer_cost"],
        form=list[int],
    ),
    FunctionTask(
        key="sequences.memory_span",
        stub="memory_span(model, x, other, share)",
        contract=(
            "model from (B, T, D) to (B, T, N), an output for each token; x (1, T, D), T at least "
            "2; other (D,); share a float above 0 and below 1; returns an int from 0 to T - 1: "
            "the last place at which the norm of the difference between the outputs for x and "
            "those for x with `other` as its first token is at least `share` times that norm at "
            "place 0. No distance is near the share, and the one at place 0 is not 0. The model is "
            f"left as it was. {LEFT_ALONE}"
        ),
        returns=("span",),
        reference=answers.memory_span,
        cases=span_cases,
        properties=(is_a_place, model_is_left_alone),
        forbidden=(f"{HERE}.memory_span",),
        misconceptions=MISCONCEPTIONS["memory_span"],
        makers={"model": MODEL},
        form=int,
    ),
    FunctionTask(
        key="sequences.find_the_bug",
        stub="read_both_ways(forwards, backwards, x)",
        contract=(
            "forwards and backwards are nn.RNN with batch_first=True, from D to N numbers, each "
            "with parameters of its own; x (B, T, D), T at least 2; returns (B, T, 2N): beside "
            "each token the state of forwards, which has read the tokens up to this one, and "
            "then that of backwards, which has read from the last token back to this one. Results "
            f"keep the device and the dtype of x. {LEFT_ALONE}"
        ),
        returns=("both",),
        reference=answers.read_both_ways,
        cases=both_cases,
        forbidden=(f"{HERE}.read_both_ways",),
        misconceptions=MISCONCEPTIONS["find_the_bug"],
        makers={"forwards": READER, "backwards": READER},
    ),
)
