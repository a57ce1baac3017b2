"""The tasks of the assignment "training"."""

from __future__ import annotations

from transformer_checks.assignments import made_arguments
from transformer_checks.assignments.misconceptions import misconceptions_of
from transformer_checks.assignments.training import answers
from transformer_checks.assignments.training.cases import (
    MODEL,
    NO_GRADIENT,
    NO_STEP,
    PATCHWORK,
    accuracy_cases,
    bug_cases,
    loss_cases,
    perplexity_cases,
    rate_cases,
    split_cases,
    step_cases,
    stuck_cases,
)
from transformer_checks.assignments.training.properties import (
    is_a_share,
    is_above_zero,
    is_measured_around_a_step,
    is_one_at_least,
    something_is_learned,
)
from transformer_checks.task import FunctionTask, Task

MODULE = "transformer_ref.training"
HERE = "transformer_checks.training"
LOGITS = (
    "logits (B, T, V) floating; labels (B, T) int64, at least one of them not pad_id; pad_id an id "
    "of the vocabulary"
)
MODEL_ARGUMENTS = (
    "model maps (B, S) and (B, T) ids to logits (B, T, V), in training mode; src (B, S); "
    "tgt (B, T+1): begin token, tokens, end token, padding of the id pad_id"
)
KEPT = "The arguments are not changed."
MISCONCEPTIONS = misconceptions_of("training")
TASKS: tuple[Task, ...] = (
    FunctionTask(
        key="training.split_target",
        stub="split_target(ids)",
        contract=(
            "ids (B, T+1) int64: begin token, tokens, end token, padding; returns (inputs (B, T), "
            f"labels (B, T)): all columns but the last, and all but the first. {KEPT}"
        ),
        returns=("inputs", "labels"),
        reference=answers.split_target,
        cases=split_cases,
        forbidden=(f"{MODULE}.split_target",),
        misconceptions=MISCONCEPTIONS["split_target"],
    ),
    FunctionTask(
        key="training.sequence_loss",
        stub="sequence_loss(logits, labels, pad_id, label_smoothing=0.0)",
        contract=(
            f"{LOGITS}; returns a scalar tensor: the cross-entropy, averaged over all labels of "
            "the batch that are not pad_id. With label_smoothing eps the target is as torch has "
            "it: eps / V for every class, and 1 - eps more for the label. Finite for logits up to "
            f"500. Keeps the dtype of the logits. {KEPT} Gradients reach the logits."
        ),
        returns=("loss",),
        reference=answers.sequence_loss,
        cases=loss_cases,
        forbidden=(f"{MODULE}.sequence_loss",),
        misconceptions=MISCONCEPTIONS["sequence_loss"],
    ),
    FunctionTask(
        key="training.noam_learning_rate",
        stub="noam_learning_rate(step, d_model, warmup)",
        contract=(
            "step counts from 1; returns a float: "
            "d_model^-0.5 * min(step^-0.5, step * warmup^-1.5)."
        ),
        returns=("rate",),
        reference=answers.noam_learning_rate,
        cases=rate_cases,
        properties=(is_above_zero,),
        forbidden=(f"{MODULE}.noam_learning_rate",),
        misconceptions=MISCONCEPTIONS["noam_learning_rate"],
        tolerances={"float32": (1e-5, 1e-12)},
        form=float,
    ),
    FunctionTask(
        key="training.token_accuracy",
        stub="token_accuracy(logits, labels, pad_id)",
        contract=(
            f"{LOGITS}; returns a Python float in [0, 1]: the share of the labels that are not "
            "pad_id at which the largest logit is that of the label. Two largest logits are not "
            f"tried. {KEPT}"
        ),
        returns=("accuracy",),
        reference=answers.token_accuracy,
        cases=accuracy_cases,
        properties=(is_a_share,),
        forbidden=(f"{HERE}.token_accuracy",),
        misconceptions=MISCONCEPTIONS["token_accuracy"],
        form=float,
    ),
    FunctionTask(
        key="training.train_step",
        stub="train_step(model, src, tgt, optimizer, pad_id)",
        contract=(
            f"{MODEL_ARGUMENTS}; the optimizer holds the model's parameters. Calls "
            "model(src, tgt[:, :-1]), makes one step on the cross-entropy of tgt[:, 1:], averaged "
            "over all labels that are not pad_id, without smoothing and clipping; old gradients do "
            "not count; returns the loss from before the step as a Python float."
        ),
        returns=("loss",),
        reference=answers.train_step,
        cases=step_cases,
        properties=(something_is_learned,),
        forbidden=(f"{HERE}.train_step", f"{MODULE}.Trainer"),
        misconceptions=MISCONCEPTIONS["train_step"],
        form=float,
        makers={"model": MODEL, "optimizer": made_arguments.OPTIMIZER},
    ),
    FunctionTask(
        key="training.find_the_bug",
        stub="teacher_forced_loss(model, src, tgt, pad_id)",
        contract=(
            f"{MODEL_ARGUMENTS}; returns a scalar tensor: the cross-entropy of tgt[:, 1:] under "
            "model(src, tgt[:, :-1]), averaged over all labels that are not pad_id. Gradients "
            "reach the model."
        ),
        returns=("loss",),
        reference=answers.teacher_forced_loss,
        cases=bug_cases,
        forbidden=(f"{HERE}.teacher_forced_loss",),
        misconceptions=MISCONCEPTIONS["find_the_bug"],
        makers={"model": MODEL},
    ),
    FunctionTask(
        key="training.find_the_silent_bug",
        stub="perplexity(logits, labels, pad_id)",
        contract=(
            f"{LOGITS}; returns a Python float: e to the mean, over all labels of the batch that "
            f"are not pad_id, of -ln p(label). {KEPT}"
        ),
        returns=("perplexity",),
        reference=answers.perplexity,
        cases=perplexity_cases,
        properties=(is_one_at_least,),
        forbidden=(f"{HERE}.perplexity", f"{MODULE}.sequence_loss"),
        misconceptions=MISCONCEPTIONS["find_the_silent_bug"],
        form=float,
    ),
    FunctionTask(
        key="training.stuck_parameters",
        stub="stuck_parameters(model, src, tgt, optimizer, pad_id)",
        contract=(
            "model maps (B, S) and (B, T) ids to logits (B, T, V), and nothing in it is random; "
            "src (B, S); tgt (B, T+1): begin token, tokens, end token, padding of the id pad_id; "
            "the optimizer is plain gradient descent, and may hold some of the parameters only. "
            "Old gradients, which do not count, lie at most in those that it holds. Returns a "
            "dictionary with the names, as named_parameters has them, of the parameters of which "
            "no number is changed by one training step as in train_step, in any order. The value "
            f'is "{NO_GRADIENT}" if the gradient of this batch is None or all zeros, and else '
            f'"{NO_STEP}". At least one parameter gets a gradient. Whether the step stays in the '
            "model does not matter."
        ),
        returns=("stuck",),
        reference=answers.stuck_parameters,
        cases=stuck_cases,
        properties=(is_measured_around_a_step,),
        forbidden=(f"{HERE}.stuck_parameters",),
        misconceptions=MISCONCEPTIONS["stuck_parameters"],
        form=dict[str, str],
        makers={"model": PATCHWORK, "optimizer": made_arguments.OPTIMIZER},
    ),
)
