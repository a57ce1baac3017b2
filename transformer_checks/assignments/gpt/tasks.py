"""The tasks of the assignment "gpt"."""

from __future__ import annotations

from transformer_checks.assignments.gpt import answers
from transformer_checks.assignments.gpt.cases import (
    MODEL,
    READER,
    context_cases,
    generate_cases,
    gpt_cases,
    lm_batch_cases,
    lm_loss_cases,
    window_cases,
)
from transformer_checks.assignments.gpt.properties import (
    answers_the_question,
    begins_with_the_prompt,
    counts_tokens_of_the_text,
    grows_as_it_should,
    has_logits,
    labels_are_later,
    sees_the_past,
)
from transformer_checks.assignments.gpt.questions import ask_gpt, find_gpt
from transformer_checks.assignments.misconceptions import misconceptions_of
from transformer_checks.task import FunctionTask, ProbeTask, Task

MODULE = "transformer_ref.gpt"
HERE = "transformer_checks.gpt"
WRITERS = (
    f"{MODULE}.generate",
    "transformer_ref.decoding.extend",
    *(f"{HERE}.{name}" for name in ("generate", "generate_long")),
)
# By their constructors: to look for what they call in C takes three times as long.
WHOLE = (
    "torch.nn.functional.multi_head_attention_forward",
    "torch.nn.MultiheadAttention.__init__",
    "torch.nn.TransformerEncoderLayer.__init__",
    "torch.nn.TransformerDecoderLayer.__init__",
    "torch.nn.TransformerEncoder",
)
CALLABLE = "model is a callable from ids (B, T) int64 to logits (B, T, V)"
KEPT = "The arguments are not changed."
MISCONCEPTIONS = misconceptions_of("gpt")
TASKS: tuple[Task, ...] = (
    FunctionTask(
        key="gpt.lm_batch",
        stub="lm_batch(ids, block_size, starts)",
        contract=(
            "ids (N,) int64, one long text; starts a list of B int or a tensor (B,) int64, each so "
            "that start + block_size + 1 <= N; returns (inputs, labels), (B, block_size) each: row "
            "b of the inputs is the block_size ids from starts[b] on, and the labels are the ids "
            f"one later. Views or copies. {KEPT}"
        ),
        returns=("inputs", "labels"),
        reference=answers.lm_batch,
        cases=lm_batch_cases,
        properties=(labels_are_later,),
        forbidden=(f"{HERE}.lm_batch",),
        misconceptions=MISCONCEPTIONS["lm_batch"],
    ),
    ProbeTask(
        key="gpt.GPT",
        stub=("class GPT(vocab_size, d_model, num_heads, d_ff, num_layers, max_len): forward(ids)"),
        contract=(
            "an nn.Module; ids (B, T) int64; returns (B, T, V) logits, of which those at place t "
            "depend on the tokens 0 to t, on their order and on nothing later; ValueError for T "
            "above max_len. num_layers layers of causal self-attention with num_heads heads and a "
            "feed-forward network with d_ff hidden features, a residual sum around each, every "
            "layer with parameters of its own. Norms, activation, kind of positions, tying and all "
            "names are free. Rows of a batch do not touch each other. Judged in eval mode, "
            "with random numbers in all parameters; the logits have the dtype and the device of "
            "the parameters; gradients reach every parameter that the logits depend on. num_heads "
            "divides d_model, which is even."
        ),
        returns=("found",),
        reference=answers.GPT,
        cases=gpt_cases,
        properties=(has_logits, sees_the_past, answers_the_question, grows_as_it_should),
        forbidden=(*WHOLE, f"{MODULE}.GPT", f"{HERE}.GPT"),
        misconceptions=MISCONCEPTIONS["GPT"],
        form=dict[str, str],
        ask=ask_gpt,
        find=find_gpt,
    ),
    FunctionTask(
        key="gpt.generate",
        stub="generate(model, ids, max_new_tokens)",
        contract=(
            f"{CALLABLE}; ids (B, T) int64, max_new_tokens at least 1; returns (B, T + "
            "max_new_tokens) int64: each row goes on with its likeliest next token after all "
            f"tokens so far, again and again. Ties are not tried. {KEPT}"
        ),
        returns=("ids",),
        reference=answers.generate,
        cases=generate_cases,
        properties=(begins_with_the_prompt,),
        forbidden=WRITERS,
        misconceptions=MISCONCEPTIONS["generate"],
        makers={"model": MODEL},
    ),
    FunctionTask(
        key="gpt.find_the_bug",
        stub="lm_loss(model, ids)",
        contract=(
            f"{CALLABLE}; ids (B, T+1) int64 without padding, T at least 2; returns a scalar "
            "tensor: the cross-entropy of ids[:, 1:] under model(ids[:, :-1]), averaged over all "
            f"of them. Gradients reach the model. {KEPT}"
        ),
        returns=("loss",),
        reference=answers.lm_loss,
        cases=lm_loss_cases,
        forbidden=(f"{HERE}.lm_loss",),
        misconceptions=MISCONCEPTIONS["find_the_bug"],
        makers={"model": MODEL},
    ),
    FunctionTask(
        key="gpt.find_another_bug",
        stub="generate_long(model, ids, max_new_tokens, max_len)",
        contract=(
            f"{CALLABLE}, which refuses T above max_len; ids (B, T) int64 of any length; returns "
            "(B, T + max_new_tokens) int64: each row goes on with its likeliest next token after "
            "its last max_len tokens, all of them where there are no more, again and again. Ties "
            f"are not tried. {KEPT}"
        ),
        returns=("ids",),
        reference=answers.generate_long,
        cases=window_cases,
        properties=(begins_with_the_prompt,),
        forbidden=WRITERS,
        misconceptions=MISCONCEPTIONS["find_another_bug"],
        makers={"model": MODEL},
    ),
    FunctionTask(
        key="gpt.context_used",
        stub="context_used(model, ids)",
        contract=(
            f"{CALLABLE}; ids (1, T) int64; returns an int from 0 to T: T - s for the first place "
            "s at which some other token of the vocabulary, put there alone, changes one of the V "
            "logits of the last place, model(ids)[:, -1], by more than 0.0001; 0 if there is no "
            "such place. All V tokens are tried, and all other tokens stay. Nothing in the model "
            f"is random, and it takes any batch size. No logit is moved by about 0.0001. {KEPT}"
        ),
        returns=("used",),
        reference=answers.context_used,
        cases=context_cases,
        properties=(counts_tokens_of_the_text,),
        forbidden=(f"{HERE}.context_used",),
        misconceptions=MISCONCEPTIONS["context_used"],
        form=int,
        makers={"model": READER},
    ),
)
