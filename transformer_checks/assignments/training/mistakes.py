"""The misconceptions of the assignment "training", task by task, each a change to the answer.

They come from the notes that the course corrects (`ignore_idx`, no shift, a loss over padding),
and from what is asked most often about training loops.
Twins that give the same answer are one entry: a step before backward, a step without it and none
at all; zero_grad behind step and none; no warm-up and warmup^+1.5.
"""

from __future__ import annotations

from dataclasses import replace

from transformer_checks.assignments.shared_mistakes import (
    CHANGES_INPUT,
    FLOAT32_ONLY,
    LARGEST_LOGIT,
    NUMBER_FOR_TENSOR,
    TENSOR_FOR_NUMBER,
    after,
    no_gradients,
    with_wrong,
)
from transformer_checks.judging.changes import Change, change
from transformer_checks.judging.general_mistakes import DETACHED
from transformer_checks.task import Misconception

# --- split_target ----------------------------------------------------------------------------

BOTH = "ids[:, :-1], ids[:, 1:]"

NOT_SHIFTED = Misconception(
    "not-shifted",
    "the labels are the inputs: every position is asked for the token that it has just read",
    "At position t the model has read tokens 0 to t and has to say token t + 1. Which columns does "
    "each of the two need?",
    (
        change(BOTH, "ids, ids"),
        change(BOTH, "ids[:, :-1], ids[:, :-1]"),
    ),
)
SEES_THE_ANSWER = Misconception(
    "reads-the-answer",
    "the model reads the labels: each position sees the very token that it has to say",
    "The loss falls to nothing, and the model has learned to copy. The inputs begin with the begin "
    "token.",
    (change(BOTH, "ids[:, 1:], ids[:, 1:]"),),
)
SWAPPED = Misconception(
    "swapped",
    "inputs and labels are swapped: the model reads what comes and has to say what was",
    "The inputs begin with the begin token and never hold the last column; the labels are one "
    "token ahead.",
    (change(BOTH, "ids[:, 1:], ids[:, :-1]"),),
)

SPLIT = (
    NOT_SHIFTED,
    SEES_THE_ANSWER,
    SWAPPED,
    Misconception(
        "sequences-cut-off",
        "the cut runs over the batch: the first and the last sequence are lost, not tokens",
        "The first axis is the batch and the second is the text. How many slices stand in the "
        "brackets?",
        (change(BOTH, "ids[:-1], ids[1:]"),),
    ),
    Misconception(
        "two-ahead",
        "the labels are two tokens ahead of the inputs",
        "One step, not two: with T + 1 columns, both results have T.",
        (
            change(BOTH, "ids[:, :-2], ids[:, 2:]"),
            change(BOTH, "ids[:, :-1], ids[:, 2:]"),
            change(BOTH, "ids[:, :-2], ids[:, 1:]"),
        ),
    ),
    Misconception(
        "wraps-around",
        "the labels wrap around: the last one is the begin token",
        "roll puts what falls off at one end back at the other. Nothing follows the last token: it "
        "is only a label.",
        (
            change(BOTH, "ids, ids.roll(-1, dims=1)"),
            change(BOTH, "ids[:, :-1], ids.roll(-1, dims=1)[:, 1:]"),
        ),
    ),
    Misconception(
        "inputs-not-cut",
        "the inputs still have their last column, for which there is no label",
        "Both results have T columns, and position t of the one belongs to position t of the "
        "other.",
        (change(BOTH, "ids, ids[:, 1:]"),),
    ),
    Misconception(
        "labels-not-cut",
        "the labels still have their first column: the begin token is never to be said",
        "Both results have T columns, and position t of the one belongs to position t of the "
        "other.",
        (change(BOTH, "ids[:, :-1], ids"),),
    ),
    Misconception(
        "one-token-only",
        "there is one token of each sequence where all of them should be",
        "Teacher forcing trains all positions at once. An index picks one column, a slice with a "
        "colon keeps many.",
        (
            change(BOTH, "ids[:, :-1], ids[:, -1:]"),
            change(BOTH, "ids[:, :-1], ids[:, -1]"),
            change(BOTH, "ids[:, 0], ids[:, 1:]"),
            change(BOTH, "ids[:, :1], ids[:, 1:]"),
            change(BOTH, "ids[:, -1], ids[:, 0]"),
        ),
    ),
)


# --- the loss, wherever it is written --------------------------------------------------------

# The changes below are to these lines; the answers leave them to torch or to the package.
MEAN = "losses[real].mean()"
MEAN_WRITTEN_OUT = f"    real = labels != pad_id\n    return {MEAN}"

PADDING_IN = Misconception(
    "padding-in-the-loss",
    "padding is part of the loss: the model is asked to say padding too",
    "Labels that are pad_id should neither be summed nor counted. torch leaves out what it is told "
    "by ignore_index, which is -100 unless you say more.",
    (change(MEAN, "losses.mean()"),),
)
PADDING_COUNTED = Misconception(
    "padding-is-counted",
    "padding adds nothing to the sum, but it is still counted: the mean is too small",
    "The sum runs over real labels, so divide by the number of real labels. A mean over all "
    "positions divides by the padding too.",
    (change(MEAN, "(losses * real).mean()"),),
)
PAD_IS_ZERO = Misconception(
    "padding-is-id-0",
    "padding is taken to be another id than pad_id, such as 0",
    "Other tokenizers have another id. Compare the labels with pad_id itself, by != or ==; ids may "
    "be larger or smaller than it.",
    (
        change("!= pad_id", "!= 0"),
        change("!= pad_id", "> pad_id"),
    ),
)
BY_SENTENCE = Misconception(
    "mean-of-means",
    "each sentence is averaged first: a token of a short sentence weighs more",
    "Sum over the whole batch, count over the whole batch, and divide once.",
    (change(MEAN, "((losses * real).sum(1) / real.sum(1)).mean()"),),
)
SUMMED = Misconception(
    "sum-not-mean",
    "there is a sum over tokens where their mean should be",
    "Divide by the number of labels that are not padding; a loss that grows with the batch needs "
    "another learning rate for each size.",
    (
        change(MEAN, "(losses * real).sum()"),
        change(MEAN, "(losses * real).sum(1).mean()"),
        change(MEAN, "(losses * real).sum() / losses.shape[1]"),
    ),
)

OF_PADDING = (PADDING_IN, PADDING_COUNTED, PAD_IS_ZERO, BY_SENTENCE, SUMMED)


# --- sequence_loss ---------------------------------------------------------------------------

CALL = """F.cross_entropy(
        logits.flatten(0, 1),
        labels.flatten(),
        ignore_index=pad_id,
        label_smoothing=label_smoothing,
    )"""
SMOOTHED = "-(1 - eps) * picked - eps * logs.mean(dim=-1)"
LOSS_WRITTEN_OUT = change(
    f"    return {CALL}",
    "    eps, size = label_smoothing, logits.shape[-1]\n"
    "    logs = logits.log_softmax(dim=-1)\n"
    "    picked = logs.gather(-1, labels.unsqueeze(-1)).squeeze(-1)\n"
    f"    losses = {SMOOTHED}\n{MEAN_WRITTEN_OUT}",
)


def _shared_out(label: str, others: str, then: str = "") -> Change:
    """Give the label and the other classes other shares of the target."""
    return LOSS_WRITTEN_OUT + change(
        f"    losses = {SMOOTHED}",
        f"    target = torch.full_like(logs, {others}).scatter(-1, labels.unsqueeze(-1), {label})\n"
        f"{then}    losses = -(target * logs).sum(dim=-1)",
    )


WITHOUT_PAD = _shared_out("1 - eps", "eps / (size - 2)", "    target[..., pad_id] = 0.0\n")

SOFTMAX_TWICE = Misconception(
    "softmax-twice",
    "the softmax is taken twice: the loss was given probabilities for logits",
    "F.cross_entropy takes the logits as they are, and does the softmax inside.",
    (change("logits.flatten", "logits.softmax(dim=-1).flatten"),),
)
SHIFTED_AGAIN = Misconception(
    "shifted-again",
    "the labels are shifted a second time",
    "labels[:, t] already is the token that comes after position t; split_target has seen to that.",
    (change("    return", "    logits, labels = logits[:, :-1], labels[:, 1:]\n    return"),),
)
SCRAMBLED = Misconception(
    "classes-scrambled",
    "the numbers of different tokens are mixed: V was brought to axis 1 by a reshape",
    "F.cross_entropy wants (B, V, T) or (N, V). transpose(1, 2) moves an axis; reshape and view "
    "only read the numbers in another rhythm.",
    (
        change("logits.flatten(0, 1)", "logits.reshape(len(logits), -1, logits.shape[1])")
        + change("labels.flatten()", "labels"),
    ),
)
LABELS_CHANGED = replace(
    CHANGES_INPUT,
    hint="The caller needs the labels as they were. Look for an assignment to labels[...], such as "
    "-100 for padding, or an operation in place.",
    error="",
)

LOSS = (
    *after(LOSS_WRITTEN_OUT, *OF_PADDING),
    Misconception(
        "smoothing-ignored",
        "label_smoothing has no effect",
        "F.cross_entropy has an argument for it. Does yours get there?",
        (change("        label_smoothing=label_smoothing,\n", ""),),
    ),
    Misconception(
        "smoothing-of-its-own",
        "the loss is smoothed where no smoothing was asked for",
        "label_smoothing says how much, and 0 is none. Look for a number of your own.",
        (
            change("label_smoothing=label_smoothing", "label_smoothing=label_smoothing or 0.1"),
            change("label_smoothing=label_smoothing", "label_smoothing=0.1"),
        ),
    ),
    Misconception(
        "another-smoothing",
        "the smoothing is spread over other classes than all V",
        "Here every class gets eps / V, the label too, which has 1 - eps + eps / V then. To share "
        "among V - 1 or V - 2 classes is another convention.",
        (
            _shared_out("1 - eps", "eps / (size - 1)"),
            _shared_out("1 - eps", "eps / size"),
            _shared_out("1 - eps", "eps / (size - 2)"),
            WITHOUT_PAD,
            WITHOUT_PAD + change("-(target * logs)", 'F.kl_div(logs, target, reduction="none")'),
        ),
    ),
    Misconception(
        "smoothing-turned-round",
        "the shares are turned round: the label gets eps, and the rest is spread",
        "eps is the small part, which is taken from the label.",
        (
            _shared_out("eps + (1 - eps) / size", "(1 - eps) / size"),
            _shared_out("eps", "(1 - eps) / (size - 1)"),
        ),
    ),
    Misconception(
        "padding-is-smoothed",
        "padding is left out of one part of the loss, and not of the smoothed part",
        "The uniform part, too, is summed and counted over real labels only.",
        (
            LOSS_WRITTEN_OUT + change(MEAN, "-(1 - eps) * picked[real].mean() - eps * logs.mean()"),
            LOSS_WRITTEN_OUT
            + change(
                MEAN, "-(1 - eps) * picked[real].mean() - eps * logs.mean(-1).sum() / real.sum()"
            ),
        ),
    ),
    Misconception(
        "padding-silenced",
        "the logits at padding are put to 0, which is no way to leave them out",
        "Logits of 0 say that all tokens are equally likely, and that costs ln V. Leave these "
        "positions out of the sum and the count.",
        (
            change("logits.flatten", "(logits * (labels != pad_id).unsqueeze(-1)).flatten")
            + change(
                "labels.flatten(),\n        ignore_index=pad_id",
                "(labels * (labels != pad_id)).flatten()",
            ),
        ),
    ),
    SOFTMAX_TWICE,
    Misconception(
        "log-of-a-rounded-softmax",
        "the logarithm is taken of a softmax that was rounded to 0, or of one with a little added",
        "With logits far apart a probability is 0 in float32, and its logarithm is minus infinity. "
        "log_softmax does both in one step, without loss.",
        (
            *(
                LOSS_WRITTEN_OUT
                + change("logits.log_softmax(dim=-1)", f"(logits.softmax(dim=-1) + {tiny}).log()")
                for tiny in (0.0, 1e-12, 1e-9, 1e-8, 1e-10)
            ),
        ),
    ),
    Misconception(
        "exponential-taken",
        "the exponential of the loss is returned",
        "That is the perplexity. Asked for is the mean loss, in nats.",
        (change(CALL, f"{CALL}.exp()"),),
    ),
    Misconception(
        "in-bits",
        "the loss is in bits where it should be in nats",
        "The natural logarithm is meant, as in all of torch.",
        (change(CALL, f"{CALL} / math.log(2)"),),
    ),
    SHIFTED_AGAIN,
    SCRAMBLED,
    Misconception(
        "classes-last",
        "F.cross_entropy was given (B, T, V): it takes axis 1 for the classes",
        "Make it (B * T, V) with labels (B * T), or (B, V, T) with labels (B, T).",
        (change("logits.flatten(0, 1)", "logits") + change("labels.flatten()", "labels"),),
        r"[Ee]xpected target size|batch_size|out of bounds|Dimension out of range",
    ),
    Misconception(
        "ignore_idx",
        "the loss of torch has no argument of that name",
        "Read the error, and look at the signature of F.cross_entropy.",
        (change("ignore_index", "ignore_idx"),),
        r"unexpected keyword argument '(ignore_idx|ignore_id|pad_id|padding_idx|ignore|smoothing)'",
    ),
    with_wrong(DETACHED, no_gradients("sequence_loss")),
    with_wrong(NUMBER_FOR_TENSOR, change(CALL, f"{CALL}.item()")),
    with_wrong(FLOAT32_ONLY, change("logits.flatten", "logits.float().flatten")),
    with_wrong(
        LABELS_CHANGED,
        change("ignore_index=pad_id", "ignore_index=-100")
        + change("    return", "    labels[labels == pad_id] = -100\n    return"),
    ),
)


# --- noam_learning_rate ----------------------------------------------------------------------

SIZE, FALL, RISE = "d_model**-0.5", "step**-0.5", "step * warmup**-1.5"
SMALLER = f"min({FALL}, {RISE})"

RATE = (
    Misconception(
        "max-not-min",
        "the larger of the two branches is taken",
        "During the rise the straight line is below the root. Which of the two must win there?",
        (change(SMALLER, f"max({FALL}, {RISE})"),),
    ),
    Misconception(
        "d_model-forgotten",
        "d_model has no effect",
        "The formula has a factor in front of the brackets: larger models take smaller steps.",
        (change(f"{SIZE} * ", ""),),
    ),
    Misconception(
        "d_model-another-power",
        "the factor of d_model has another power than -1/2",
        "1 / sqrt(D): larger models take smaller steps. Look at the sign and at the root.",
        (
            change(SIZE, "d_model**0.5"),
            change(SIZE, "d_model**-1.0"),
            change(SIZE, "d_model**1.0"),
        ),
    ),
    Misconception(
        "warmup-another-power",
        "the rise does not meet the fall at step = warmup",
        "At step = warmup both branches should be warmup^-1/2. What does that make of the power of "
        "warmup in the rise?",
        (
            change(RISE, "step * warmup**-0.5"),
            change(RISE, "step / warmup"),
            change(RISE, "step * warmup**-2.0"),
        ),
    ),
    Misconception(
        "no-warm-up",
        "there is no warm-up: the rate is largest at the first step",
        "Two branches, and the smaller of them. Before the peak it should be the one with warmup: "
        "is it there, and is the sign of its power right?",
        (change(SMALLER, FALL),),
    ),
    Misconception(
        "sum-of-the-branches",
        "the two branches are added up",
        "At each step one of the two counts, the smaller one.",
        (change(SMALLER, f"({FALL} + {RISE})"),),
    ),
    Misconception(
        "powers-exchanged",
        "the powers of the two branches are exchanged",
        "One branch falls with the root of the step. Which of the two powers is a root?",
        (change(SMALLER, "min(step**-1.5, step * warmup**-0.5)"),),
    ),
    Misconception(
        "no-step-in-the-rise",
        "the rise is no rise: its branch does not grow with the step",
        "The branch of the warm-up is a straight line: twice the step, twice the rate.",
        (change(RISE, "warmup**-1.5"),),
    ),
    Misconception(
        "brackets-closed-too-early",
        "the power of warmup stands outside the brackets, and belongs to one of the branches",
        "min compares two whole branches. Count the brackets.",
        (change(SMALLER, f"min({FALL}, step) * warmup**-1.5"),),
    ),
    Misconception(
        "never-falls",
        "the rate does not fall after the warm-up",
        "After the peak it goes down with the square root of the step.",
        (
            change(SMALLER, RISE),
            change(FALL, "warmup**-0.5"),
            change(FALL, "step**0.5"),
        ),
    ),
    Misconception(
        "falls-with-the-step",
        "the rate falls with the step, and not with its square root",
        "Twice as many steps make the rate smaller by a factor of 1.41, not 2.",
        (
            change(FALL, "1 / step"),
            change(FALL, "warmup**0.5 / step"),
        ),
    ),
    Misconception(
        "counted-from-0",
        "the steps are counted one too low or one too high",
        "The first step is 1, and the formula takes it as it comes.",
        (
            change("    return", "    step = max(step - 1, 1e-30)\n    return"),
            change("    return", "    step = step + 1\n    return"),
        ),
        r"ZeroDivision|negative power|0\.0 cannot be raised",
    ),
    Misconception(
        "peak-of-one",
        "the peak is at 1: this is a factor for a learning rate, as schedulers want it",
        "Asked for is the paper's rate itself, whose peak is 1 / sqrt(d_model * warmup).",
        (
            change(f"{SIZE} * {SMALLER}", "min(step / warmup, (warmup / step) ** 0.5)"),
            change(SMALLER, "min(step / warmup, (warmup / step) ** 0.5)"),
        ),
    ),
    Misconception(
        "d_model-in-one-branch",
        "the factor of d_model belongs to one of the two branches only",
        "It stands in front of the brackets, so that both branches have it.",
        (
            change(f"{SIZE} * {SMALLER}", f"min({SIZE} * {FALL}, {RISE})"),
            change(f"{SIZE} * {SMALLER}", f"min({FALL}, {SIZE} * {RISE})"),
        ),
    ),
    Misconception(
        "whole-exponents",
        "the exponents are rounded: // gives whole numbers",
        "-3 // 2 is -2. Write -1.5, or -3 / 2 in brackets.",
        (
            change(SIZE, "d_model ** (-1 // 2)")
            + change(FALL, "step ** (-1 // 2)")
            + change(RISE, "step * warmup ** (-3 // 2)"),
        ),
    ),
    with_wrong(
        TENSOR_FOR_NUMBER, change(f"{SIZE} * {SMALLER}", f"torch.tensor({SIZE} * {SMALLER})")
    ),
    Misconception(
        "power-of-the-product",
        "the power is taken of step * warmup, and not of warmup alone",
        "The rise is a straight line in the step. Look at the brackets before the power.",
        (change(RISE, "(step * warmup) ** -1.5"), change(RISE, "(step * warmup) ** -0.5")),
    ),
    Misconception(
        "minus-before-the-power",
        "the minus stands before a power, where it should stand in the exponent",
        "Python takes the power first: -d_model**0.5 is minus the root. Write d_model**-0.5.",
        (
            change(SIZE, "-(d_model**0.5)")
            + change(SMALLER, "min(-(step**0.5), step * -(warmup**1.5))"),
            change(SIZE, "-(d_model**0.5)"),
        ),
    ),
    Misconception(
        "fall-counted-from-the-peak",
        "the fall counts its steps from the end of the warm-up",
        "The step in the root is the one that counts from the start of training; else the curve "
        "jumps at the peak.",
        (
            change(FALL, "max(step - warmup, 1) ** -0.5"),
            change(SMALLER, f"({RISE} if step <= warmup else (step - warmup) ** -0.5)"),
            change(FALL, "warmup**-0.5 * max(step - warmup, 1) ** -0.5"),
        ),
    ),
)


# --- token_accuracy --------------------------------------------------------------------------

SHARE = "(right & real).sum().item() / real.sum().item()"

# As torch divides; Python raises an error.
NAN_WHERE_NONE = change("real.sum().item()", "(real.sum().item() or math.nan)")

ACCURACY = (
    replace(
        with_wrong(PADDING_IN, change(SHARE, "right.double().mean().item()")),
        title="padding is part of the accuracy: a model that says padding well looks good",
        hint="Labels that are pad_id should neither be right nor be counted.",
    ),
    replace(
        with_wrong(PADDING_COUNTED, change(SHARE, "(right & real).double().mean().item()")),
        title="padding is never right, but it is still counted: the share is too small",
    ),
    Misconception(
        "padding-is-right",
        "padding is taken for right",
        "Padding is neither right nor wrong: leave it out of both counts.",
        (
            change(SHARE, "(right | ~real).double().mean().item()"),
            change("(right & real)", "right"),
        ),
    ),
    *after(NAN_WHERE_NONE, PAD_IS_ZERO),
    Misconception(
        "padding-of-the-answers",
        "positions are left out where the model says padding, not where the label is padding",
        "A model that says padding in the middle of a sentence has made a mistake, which counts. "
        "Compare the labels with pad_id.",
        (
            change("labels != pad_id", "logits.argmax(dim=-1) != pad_id")
            + change("real.sum().item()", "max(1, real.sum().item())"),
        ),
    ),
    with_wrong(
        BY_SENTENCE, change(SHARE, "((right & real).sum(1).double() / real.sum(1)).mean().item()")
    ),
    Misconception(
        "whole-sentences",
        "whole sentences are counted, which are right if all of their tokens are",
        "That is a measure too, and a strict one. Asked for is the share of tokens.",
        (change(SHARE, "(right | ~real).all(dim=1).double().mean().item()"),),
    ),
    Misconception(
        "count-not-share",
        "the number of right tokens is returned, not their share",
        "Divide by the number of labels that are not padding.",
        (
            change(SHARE, "(right & real).double().sum().item()"),
            change(SHARE, "(right & real).double().sum(1).mean().item()"),
        ),
    ),
    Misconception(
        "percent",
        "the result is in percent",
        "A share is between 0 and 1. Look for a factor of 100.",
        (change(SHARE, f"100 * {SHARE}"),),
    ),
    Misconception(
        "error-rate",
        "the share of wrong tokens is returned",
        "Right and wrong are turned round.",
        (change(SHARE, f"1 - {SHARE}"),),
    ),
    Misconception(
        "probability",
        "the probability of the label is averaged",
        "A token is right if its logit is the largest, and wrong if not.",
        (
            change(
                SHARE, "logits.softmax(dim=-1).gather(-1, labels.unsqueeze(-1))[real].mean().item()"
            ),
        ),
    ),
    with_wrong(LARGEST_LOGIT, change("argmax(dim=-1)", "amax(dim=-1)")),
    Misconception(
        "rounded-down",
        "the share is rounded to a whole number, which is nearly always 0",
        "// is a division without a rest. A share needs /, and no int or round.",
        (change(SHARE, "float((right & real).sum() // real.sum())"),),
    ),
    Misconception(
        "over-the-positions",
        "the largest logit is sought over the positions, not over the vocabulary",
        "V is the last axis of the logits.",
        (
            change("dim=-1", "dim=1"),
            change("argmax(dim=-1)", "argmax(dim=1)[:, : labels.shape[1]]"),
        ),
        r"must match the size|not match|broadcast",
    ),
    with_wrong(
        SHIFTED_AGAIN,
        change("    real =", "    logits, labels = logits[:, :-1], labels[:, 1:]\n    real =")
        + NAN_WHERE_NONE,
    ),
    with_wrong(TENSOR_FOR_NUMBER, change(SHARE, f"torch.tensor({SHARE})")),
    with_wrong(
        LABELS_CHANGED,
        change(
            f"return {SHARE}",
            f"share = {SHARE}\n    labels[labels == pad_id] = -100\n    return share",
        ),
    ),
)


# --- train_step ------------------------------------------------------------------------------

CUT = "reference.split_target(tgt)"
CLEAR = "    optimizer.zero_grad()\n"
BACK = "    loss.backward()\n"
CHANGE = "    optimizer.step()\n"
STEP_WRITTEN_OUT = change(
    "    loss = reference.sequence_loss(model(src, inputs), labels, pad_id)",
    '    losses = F.cross_entropy(model(src, inputs).mT, labels, reduction="none")\n'
    f"    real = labels != pad_id\n    loss = {MEAN}",
)

STEP = (
    replace(
        with_wrong(NOT_SHIFTED, change(CUT, "tgt, tgt"), change(CUT, "tgt[:, :-1], tgt[:, :-1]")),
        hint="The model reads tgt[:, :-1], and position t has to say column t + 1 of tgt.",
    ),
    with_wrong(SEES_THE_ANSWER, change(CUT, "tgt[:, 1:], tgt[:, 1:]")),
    with_wrong(SWAPPED, change(CUT, "tgt[:, 1:], tgt[:, :-1]")),
    Misconception(
        "old-gradients",
        "gradients from before are still there, and are added to the new ones",
        "backward adds to what lies in .grad. Clear it before, so that whatever the model brings "
        "along is gone.",
        (change(CLEAR, ""),),
    ),
    Misconception(
        "no-step",
        "the gradients of this batch do not change the parameters",
        "zero_grad, the loss, backward, step: each once, and in an order in which step finds the "
        "gradients that backward has made.",
        (
            change(BACK + CHANGE, ""),
            change(CHANGE, CLEAR + CHANGE),
            change(CLEAR, "") + change(BACK + CHANGE, ""),
            change(CLEAR, "") + change(BACK, ""),
        ),
    ),
    Misconception(
        "loss-after-the-step",
        "the loss is that of the model after the step",
        "Report the loss that you have differentiated; to ask the model a second time costs a "
        "second pass.",
        (
            change(
                "return loss.item()",
                "return reference.sequence_loss(model(src, inputs), labels, pad_id).item()",
            ),
        ),
    ),
    Misconception(
        "clipped",
        "the gradients are clipped",
        "Clipping is a good idea in a long run, and the package does it. Here nothing of that kind "
        "is asked.",
        (
            *(
                change(BACK, f"{BACK}    nn.utils.clip_grad_norm_(model.parameters(), {norm})\n")
                for norm in (1.0, 0.5)
            ),
            change(BACK, f"{BACK}    nn.utils.clip_grad_value_(model.parameters(), 0.1)\n"),
        ),
    ),
    Misconception(
        "evaluation-mode",
        "the model is switched to evaluation: dropout is off while it trains",
        "eval() is for measuring. The model comes in training mode: leave it there.",
        (change("model(src", "model.eval()(src"),),
    ),
    Misconception(
        "smoothed",
        "the loss is smoothed",
        "Here the loss is without smoothing.",
        (*(change("labels, pad_id)", f"labels, pad_id, {eps})") for eps in (0.1, 0.05, 0.2)),),
    ),
    *after(STEP_WRITTEN_OUT, *OF_PADDING),
    Misconception(
        "two-steps",
        "two steps are made",
        "Call optimizer.step() once a batch, and look for a call in another function.",
        (
            change(CHANGE, CHANGE + CHANGE),
            change(
                CHANGE,
                CHANGE
                + CLEAR
                + "    reference.sequence_loss(model(src, inputs), labels, pad_id).backward()\n"
                + CHANGE,
            ),
        ),
    ),
    Misconception(
        "a-step-of-its-own",
        "the parameters are changed by hand, without the optimizer that was given",
        "The optimizer knows more than one rate: it has its momentum, and a rate for each group of "
        "parameters. Call its step.",
        (
            change(
                CHANGE,
                "    with torch.no_grad():\n"
                "        for parameter in model.parameters():\n"
                "            parameter -= optimizer.param_groups[0]['lr'] * parameter.grad\n",
            ),
        ),
    ),
    Misconception(
        "nothing-to-differentiate",
        "backward is called on something that has no way back to the model",
        "Call it on the tensor that the model has made, without .item(), detach or no_grad before "
        "it. The number that you return comes from .item() at the end.",
        (change("loss.backward()", "torch.tensor(loss.item()).backward()"),),
        r"has no attribute 'backward'|does not require grad",
    ),
    Misconception(
        "source-and-target-swapped",
        "the model gets the target where the source should be",
        "It is called as model(src, tgt_in).",
        (change("model(src, inputs)", "model(inputs, src)"),),
        r"index out of range|index -?\d+ is out of bounds|batch_size|must match|not match",
    ),
    with_wrong(TENSOR_FOR_NUMBER, change("loss.item()", "loss.detach()")),
)


# --- the bugs --------------------------------------------------------------------------------

READ, SAID = "model(src, tgt[:, :-1])", "tgt[:, 1:].flatten()"
ALL_READ = change(READ, "model(src, tgt)")
LABELS_READ = change(READ, "model(src, tgt[:, 1:])")
BUG_WRITTEN_OUT = change(
    "    criterion = nn.CrossEntropyLoss(ignore_index=pad_id)\n"
    "    return criterion(logits.flatten(0, 1), tgt[:, 1:].flatten())  # says the next",
    "    labels = tgt[:, 1:]\n"
    '    losses = F.cross_entropy(logits.mT, labels, reduction="none")\n'
    f"{MEAN_WRITTEN_OUT}",
)

BUG = (
    Misconception(
        "error-still-there",
        "the error is still there",
        "Read the last line of it, and look up which arguments nn.CrossEntropyLoss has.",
        (ALL_READ + change(SAID, "tgt.flatten()") + change("ignore_index", "ignore_idx"),),
        r"unexpected keyword argument '(ignore_idx|ignore_id|pad_id|padding_idx|ignore|smoothing)'",
    ),
    Misconception(
        "second-bug-still-there",
        "the error is gone, and the second bug is still there",
        "At position t: which tokens has the model read there, and which one is it asked for?",
        (
            ALL_READ + change(SAID, "tgt.flatten()"),
            change(SAID, "tgt[:, :-1].flatten()"),
        ),
    ),
    with_wrong(SEES_THE_ANSWER, LABELS_READ),
    with_wrong(SWAPPED, LABELS_READ + change(SAID, "tgt[:, :-1].flatten()")),
    Misconception(
        "wraps-around",
        "the last position is asked for the begin token",
        "Nothing follows the last token of tgt: it is a label, and no input.",
        (ALL_READ + change(SAID, "tgt.roll(-1, dims=1).flatten()"),),
    ),
    *after(BUG_WRITTEN_OUT, *OF_PADDING),
    with_wrong(
        SCRAMBLED,
        change("logits.flatten(0, 1)", "logits.reshape(len(logits), -1, logits.shape[1])")
        + change(SAID, "tgt[:, 1:]"),
    ),
    Misconception(
        "source-cut",
        "the last token of the source is cut off",
        "The shift is for the target, of which the model says the next token. It reads the whole "
        "source.",
        (change("model(src,", "model(src[:, :-1],"),),
    ),
    with_wrong(DETACHED, no_gradients("teacher_forced_loss")),
    with_wrong(NUMBER_FOR_TENSOR, change(f"{SAID})", f"{SAID}).item()")),
)

CHOSEN = "losses[labels != pad_id]"
CHOSEN_WRITTEN_OUT = change(
    "    return losses[labels != pad_id]", "    real = labels != pad_id\n    return losses[real]"
)

SILENT_BUG = (
    Misconception(
        "bug-still-there",
        "the bug is still in it",
        "Follow the example with pencil and paper. By which number is divided, and by which one "
        "should it be?",
        (CHOSEN_WRITTEN_OUT + change(MEAN, "(losses * real).mean()"),),
    ),
    replace(
        with_wrong(PADDING_IN, change(CHOSEN, "losses")),
        title="padding is part of the mean: the model is asked to say padding too",
        hint="The line as found was right in this: what is padding adds nothing to the sum.",
    ),
    PAD_IS_ZERO,
    *after(CHOSEN_WRITTEN_OUT, BY_SENTENCE),
    Misconception(
        "sentences-then-mean",
        "each sentence has a perplexity of its own, and these are averaged",
        "One sum and one count over all tokens of the batch; the exponential comes last.",
        (
            CHOSEN_WRITTEN_OUT
            + change(f"{MEAN}.exp()", "((losses * real).sum(1) / real.sum(1)).exp().mean()"),
        ),
    ),
    Misconception(
        "exponential-too-early",
        "the exponential is taken of each token's loss, before the mean",
        "The mean of the exponentials is larger than the exponential of the mean. First average, "
        "then exponentiate.",
        (change("mean().exp()", "exp().mean()"),),
    ),
    Misconception(
        "no-exponential",
        "the mean loss itself is returned",
        "A perplexity of 1 is a mean loss of 0.",
        (change(".exp()", ""),),
    ),
    Misconception(
        "exponential-of-the-sum",
        "the exponential is taken of a sum over tokens",
        "A sum grows with the text. Divide it by the number of real labels first.",
        (
            CHOSEN_WRITTEN_OUT + change(MEAN, "(losses * real).sum()"),
            CHOSEN_WRITTEN_OUT + change(MEAN, "(losses * real).sum(1).mean()"),
        ),
    ),
    Misconception(
        "another-base",
        "2 is raised to a loss in nats",
        "torch's logarithms are natural ones, so the base is e. 2 belongs to a loss in bits.",
        (change("mean().exp()", "mean().exp2()"),),
    ),
    Misconception(
        "one-over",
        "the result is below 1: the sign is wrong",
        "That is 1 over the perplexity. The loss is the *negative* logarithm.",
        (change("mean().exp()", "mean().neg().exp()"),),
    ),
    with_wrong(SOFTMAX_TWICE, change("logits.transpose", "logits.softmax(dim=-1).transpose")),
    Misconception(
        "small-losses-left-out",
        "real labels that cost nothing, or little, are left out as if they were padding",
        "A sure model has a loss of 0 at a real label too. Ask the labels what is padding.",
        (
            *(
                change(CHOSEN, f"losses[(losses > {least}) & (labels != pad_id)]")
                for least in (0.0, 0.1)
            ),
        ),
    ),
    with_wrong(
        SHIFTED_AGAIN,
        change("    losses =", "    logits, labels = logits[:, :-1], labels[:, 1:]\n    losses ="),
    ),
    with_wrong(TENSOR_FOR_NUMBER, change(".exp().item()", ".exp()")),
)


# --- stuck_parameters ------------------------------------------------------------------------

STOOD = "p.equal(before[name])"
NOTHING = "p.grad is None or not p.grad.any()"
REASON = '"no gradient" if nothing else "no step"'
HELD = 'any(p is each for group in optimizer.param_groups for each in group["params"])'

STUCK = (
    Misconception(
        "nothing-seems-to-move",
        "every parameter is listed, as if nothing had moved",
        "A step changes parameters in place: keep a copy of their numbers, and make the step "
        "before you compare. A copy of the whole model is another one than the optimizer holds.",
        (
            change("p.detach().clone()", "p"),
            change(CHANGE, ""),
            change(f"if {STOOD}", "if True"),
            change(
                "    before =", "    import copy\n\n    model = copy.deepcopy(model)\n    before ="
            ),
        ),
    ),
    Misconception(
        "some-numbers-the-same",
        "parameters are listed of which only some numbers have stayed as they were",
        "In an embedding the rows of tokens that were not read do not change, and it still learns. "
        "Look at whether any or all is asked for.",
        (
            change(STOOD, "(p == before[name]).any()"),
            change(STOOD, "(p == before[name])[0].any()"),
        ),
    ),
    Misconception(
        "gradient-taken-for-a-step",
        "what got a gradient is taken for changed",
        "A gradient says where to go; the step is made by the optimizer, for what it holds. "
        "Compare the numbers before and after.",
        (
            change(STOOD, NOTHING),
            change(STOOD, "p.grad is None"),
            change(STOOD, "not p.requires_grad"),
        ),
    ),
    Misconception(
        "gradient-of-zeros",
        "a gradient of zeros is taken for one",
        "Behind a factor of 0 the chain rule gives 0: the parameter is used, its gradient is "
        "there, and nothing arrives.",
        (change(NOTHING, "p.grad is None"),),
    ),
    Misconception(
        "some-zeros-in-the-gradient",
        "a gradient in which some numbers are 0 is taken for none",
        "The rows of tokens that were not read have a gradient of 0, the others have not. Look at "
        "whether any or all is asked for.",
        (change("not p.grad.any()", "not p.grad.all()"),),
    ),
    Misconception(
        "asked-whether-frozen",
        "the reason is read off from requires_grad",
        "requires_grad says that a gradient is wanted, not that one has come. What is never used, "
        "or stands behind a detach, wants one in vain. Look at grad, after backward.",
        (change(NOTHING, "not p.requires_grad"),),
    ),
    Misconception(
        "asked-whether-held",
        "the reason is read off from what the optimizer holds",
        "A parameter in the optimizer may have a learning rate of 0, and one outside may have no "
        "gradient. Look at the gradient: is there one, and is any number in it not 0?",
        (
            change(NOTHING, HELD),
            change(f"            nothing = {NOTHING}\n", "")
            + change(REASON, f'"no gradient" if {HELD} and ({NOTHING}) else "no step"'),
        ),
    ),
    Misconception(
        "not-in-the-optimizer-only",
        "only what the optimizer does not hold is listed",
        "What it holds may have no gradient, or a rate of 0, and stays as it was too. Compare the "
        "numbers before and after.",
        (change(STOOD, f"not {HELD}"),),
    ),
    Misconception(
        "old-gradients",
        "gradients from before are still there, and move what got none from this batch",
        "backward adds to what lies in .grad. Clear it before, so that whatever the model brings "
        "along is gone.",
        (change(CLEAR, ""),),
    ),
    Misconception(
        "cleared-too-early",
        "the gradients are gone when they are looked at",
        "Clear them before backward, and leave them where they are until you have seen which "
        "parameters got one. A copy of the model has gradients of its own.",
        (
            change(CLEAR, "") + change(BACK, BACK + CLEAR),
            change(CHANGE, CHANGE + CLEAR),
        ),
    ),
    Misconception(
        "reasons-swapped",
        "the two reasons are turned round",
        '"no gradient" is for what got none; "no step" for what got one and was not moved by it.',
        (change(REASON, '"no step" if nothing else "no gradient"'),),
    ),
    Misconception(
        "moved-listed",
        "the parameters that have moved are listed",
        "Those belong into the result of which no number has changed.",
        (change(f"if {STOOD}", f"if not {STOOD}"),),
    ),
)

MISCONCEPTIONS = {
    "split_target": SPLIT,
    "sequence_loss": LOSS,
    "noam_learning_rate": RATE,
    "token_accuracy": ACCURACY,
    "train_step": STEP,
    "find_the_bug": BUG,
    "find_the_silent_bug": SILENT_BUG,
    "stuck_parameters": STUCK,
}
