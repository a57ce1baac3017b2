"""The misconceptions of the assignment "masking", task by task, each a change to the answer.

They come from the notes that the course corrects, and from code that is widely copied: padding that
hides query rows, a fill that float16 cannot hold, a mask made where the batch is not, an epsilon
that is 0 in half precision, rows of NaN.
Twins that give the same numbers are one entry: an inverted causal mask and the future without the
present; a transposed one and triu; a fill of 1e-9 and a multiplied mask.
"""

from __future__ import annotations

from dataclasses import replace

from transformer_checks.assignments.shared_mistakes import (
    CHANGES_INPUT,
    FLOAT32_ONLY,
    TENSOR_FOR_NUMBER,
    TOO_MILD,
    after,
    no_gradients,
    with_wrong,
)
from transformer_checks.judging.changes import Change, change
from transformer_checks.judging.general_mistakes import DETACHED
from transformer_checks.task import Misconception

# What gives different numbers and is the same mistake: a mask of 0 and 1 in each of these.
NUMBERS = ("torch.float32", "torch.int64", "torch.int32", "torch.uint8", "torch.float64")


# --- the mask of padding, wherever it is written ---------------------------------------------

COLUMNS = "[:, None, None, :]"

QUERY_ROWS = Misconception(
    "padding-on-query-rows",
    "the padding is on the query rows: it is decided who may look, not what may be seen",
    "The last axis of the scores is the keys, the one before it the queries. A padding token is "
    "hidden as a key.",
    (change(COLUMNS, "[:, None, :, None]"),),
)
BOTH = Misconception(
    "padding-on-rows-and-columns",
    "padding is hidden as a key, but as a query too",
    "A row of padding that may see nothing has no weights to share out. It is harmless as a query, "
    "since nobody reads its answer; only its column is hidden.",
    (change(COLUMNS, "[:, None, :, None] & (ids != pad_id)[:, None, None, :]"),),
)
PAD_IS_ZERO = Misconception(
    "padding-is-id-0",
    "padding is taken to be the id 0, whatever `pad_id` is",
    "Other tokenizers have another id. Compare with the argument; `> 0` and bool() ask for 0.",
    (change("!= pad_id", "!= 0"),),
)
SMALLER = Misconception(
    "smaller-ids-are-hidden",
    "ids below `pad_id` are hidden too",
    "Ids have no order that means anything. Look at the comparison: padding is one id.",
    (change("!= pad_id", "> pad_id"),),
)
FIRST_PAD = Misconception(
    "cut-at-the-first-padding",
    "everything behind the first padding is hidden",
    "Padding may also stand in front of a sentence, and then nothing would be left. Each place is "
    "judged by its own id.",
    (change("(ids != pad_id)", "(ids != pad_id).cumprod(dim=1).bool()"),),
)
BY_COUNT = Misconception(
    "counted-from-the-left",
    "as many places as there are tokens are open, from the left",
    "That is right only where the padding stands at the end. It may stand in front, too. Each "
    "place is judged by its own id.",
    (
        change(
            "(ids != pad_id)",
            "(torch.arange(ids.shape[1], device=ids.device) < (ids != pad_id).sum(1, True))",
        ),
    ),
)
ONE_FOR_ALL = Misconception(
    "one-row-for-the-whole-batch",
    "all sequences of the batch get one mask",
    "Every sequence has its own padding. Look for an all, an any or an index that takes the batch "
    "axis away.",
    (
        change("(ids != pad_id)", "(ids != pad_id).all(dim=0, keepdim=True)"),
        change("(ids != pad_id)", "(ids != pad_id).any(dim=0, keepdim=True)"),
        change("(ids != pad_id)", "(ids != pad_id)[:1]"),
    ),
)
INVERTED = Misconception(
    "true-means-blocked",
    "the mask is inverted: it is True where nothing may be seen",
    'In this course, as in F.scaled_dot_product_attention, True means "may attend". Some other '
    "functions of torch mean the opposite.",
    (change("!=", "=="),),
)
NO_AXES = Misconception(
    "axes-missing",
    "the numbers are right, but the axes that make them broadcast against the scores are missing",
    "Scores have four axes: batch, heads, queries, keys. Every one that the mask does not depend "
    "on needs an axis of size 1 in its place.",
    (
        change(COLUMNS, ""),
        change(COLUMNS, "[:, None]"),
    ),
)
AS_NUMBERS = Misconception(
    "numbers-not-booleans",
    "the mask holds the numbers 0 and 1, where it should hold False and True",
    "`~` and `masked_fill` want bool, and a float mask is added to the scores by torch's own "
    "functions. Compare, or convert at the end.",
    (*(change(COLUMNS, f"{COLUMNS}.to({kind})") for kind in NUMBERS),),
)
ADDED = Misconception(
    "added-to-the-scores",
    "this is the other kind of mask: 0 and minus infinity, to be added to the scores",
    "Here a mask is boolean. It says who may see what; how the scores hide it is decided later.",
    (
        change("(ids != pad_id)", "torch.where(ids == pad_id, -math.inf, 0.0)"),
        change("(ids != pad_id)[:, None, None, :]", "(ids == pad_id)[:, None, None] * -1e9"),
    ),
)

OF_PADDING = (PAD_IS_ZERO, SMALLER, FIRST_PAD, BY_COUNT, ONE_FOR_ALL)

PADDING = (
    INVERTED,
    QUERY_ROWS,
    BOTH,
    NO_AXES,
    Misconception(
        "axes-in-the-wrong-place",
        "the new axes are not between the batch and the keys",
        "The batch is the first axis of the scores and the keys are the last. The axes of size 1, "
        "for heads and queries, belong between the two.",
        (
            change(COLUMNS, "[None, None]"),
            change(COLUMNS, "[:, :, None, None]"),
            change(COLUMNS, "[None, :, None]"),
            change(COLUMNS, "[None, :, :, None]"),
        ),
    ),
    Misconception(
        "batch-and-length-swapped",
        "the batch and the length have changed places",
        "The ids come batch first, and the batch stays first. Look for a transpose.",
        (
            change(COLUMNS, ".T[:, None, None, :]"),
            change(COLUMNS, ".T[None, None]"),
        ),
    ),
    Misconception(
        "repeated-for-every-query",
        "the mask is repeated along the axis of the queries",
        "The mask is the same for every query, and broadcasting repeats it without a copy: that "
        "axis has size 1. With S queries it would not even fit cross-attention.",
        (
            change(COLUMNS, "[:, None, None, :].expand(-1, -1, ids.shape[1], -1)"),
            change(COLUMNS, "[:, None, :, None].expand(-1, -1, -1, ids.shape[1])"),
        ),
    ),
    *OF_PADDING,
    AS_NUMBERS,
    ADDED,
    with_wrong(
        CHANGES_INPUT,
        change("return (ids != pad_id)", "tokens = ids != pad_id\n    return tokens")
        + change("    return", "    ids.masked_fill_(~tokens, 0 if pad_id else -1)\n    return"),
    ),
)


# --- causal_mask -----------------------------------------------------------------------------

CAUSAL = (
    Misconception(
        "sees-the-future",
        "the triangle is the other one: each position sees itself and what comes after it",
        "Row t is the query at t, column s is the key at s. A query may look back: s is at most t.",
        (change("tril()", "triu()"),),
    ),
    with_wrong(INVERTED, change("return every", "return ~every")),
    Misconception(
        "not-itself",
        "no position sees itself",
        "The input at t is known when the token after it is wanted, so the diagonal is open. "
        "Without it the first position sees nothing at all.",
        (change("tril()", "tril(-1)"),),
    ),
    Misconception(
        "one-too-far",
        "each position sees one token of the future",
        "One is enough: it is the very token that has to be predicted. Look at the diagonal.",
        (change("tril()", "tril(1)"),),
    ),
    Misconception(
        "only-itself",
        "each position sees itself only",
        "A language model reads all that came before. What keeps the lower triangle of a matrix?",
        (change("tril()", "tril().triu()"),),
    ),
    Misconception(
        "nothing-hidden",
        "nothing is hidden",
        "Above the diagonal, where the key is later than the query, the mask is False.",
        (change(".tril()", ""),),
    ),
    Misconception(
        "mirrored",
        "the triangle leans the other way: rows or columns run backwards",
        "Row 0 is the first query, column 0 the first key. Look for a flip or a rotation.",
        (
            change("tril()", "tril().flip(0)"),
            change("tril()", "tril().flip(1)"),
        ),
    ),
    Misconception(
        "other-length",
        "the mask is for a sequence that is longer or shorter by one",
        "It has as many rows and columns as `length` says. Look for a + 1 or a - 1.",
        (
            change("(length, length", "(length + 1, length + 1"),
            change("(length, length", "(length - 1, length - 1"),
        ),
    ),
    with_wrong(NO_AXES, change("[None, None]", ""), change("[None, None]", "[None]")),
    Misconception(
        "ignores-the-device",
        "the mask is made on the default device, whatever `device` says",
        "A mask has to lie where the scores are, or a batch on a GPU fails. Hand the argument on "
        "to what makes the tensor.",
        (change(", device=device", ""),),
    ),
    with_wrong(
        AS_NUMBERS, *(change("[None, None]", f"[None, None].to({kind})") for kind in NUMBERS)
    ),
    with_wrong(
        ADDED,
        change("every.tril()", "torch.where(every.tril(), 0.0, -math.inf)"),
        change("return every.tril()[None, None]", "return ~every.tril()[None, None] * -1e9"),
        change("every.tril()[None, None]", "torch.where(every.tril(), 0.0, -math.inf)"),
    ),
)


# --- target_mask -----------------------------------------------------------------------------

# The lines of `causal_attention`, which do without the package's masks.
MASKS_WRITTEN_OUT = change(
    "    past = reference.causal_mask(ids.shape[1], device=ids.device)\n"
    "    return reference.padding_mask(ids, pad_id) & past",
    "    length = ids.shape[1]\n"
    "    tokens = (ids != pad_id)[:, None, None, :]\n"
    "    past = torch.tril(torch.ones(length, length, dtype=torch.bool, device=ids.device))\n"
    "    return tokens & past",
)

UPPER = Misconception(
    "sees-the-future",
    "the triangle is the other one: each position sees itself and what comes after it",
    "Row t is the query at t, column s is the key at s. A query may look back: s is at most t.",
    (change("torch.tril", "torch.triu"),),
)
NOT_ITSELF = Misconception(
    "not-itself",
    "no position sees itself",
    "The input at t is known when the token after it is wanted, so the diagonal is open. Without "
    "it the first position sees nothing at all.",
    (change("device=ids.device)", "device=ids.device), -1"),),
)
ONE_TOO_FAR = Misconception(
    "one-too-far",
    "each position sees one token of the future",
    "One is enough: it is the very token that has to be predicted. Look at the diagonal.",
    (change("device=ids.device)", "device=ids.device), 1"),),
)
OR = Misconception(
    "or-not-and",
    "a key may be seen if one of the two masks allows it",
    "Both have to allow it: a token of the past that is padding stays hidden, and so does a real "
    "one of the future.",
    (change("tokens & past", "tokens | past"),),
)
NO_PADDING = Misconception(
    "padding-forgotten",
    "padding is not hidden",
    "The triangle alone hides the future. Where padding stands in the past, it has to be hidden "
    "too.",
    (
        change("tokens & past", "past.expand(len(ids), 1, -1, -1)"),
        change("tokens & past", "past[None, None]"),
    ),
)
NO_FUTURE = Misconception(
    "future-not-hidden",
    "the future is not hidden",
    "Hiding padding is not enough in a decoder: query t may see keys 0 to t only.",
    (
        change("tokens & past", "tokens.expand(-1, -1, length, -1)"),
        change("tokens & past", "tokens"),
    ),
)

TARGET = after(
    MASKS_WRITTEN_OUT,
    OR,
    Misconception(
        "one-or-the-other",
        "what both masks allow is hidden",
        "`^` is true where exactly one of the two is. Both have to allow a key.",
        (change("tokens & past", "tokens ^ past"),),
    ),
    NO_PADDING,
    NO_FUTURE,
    QUERY_ROWS,
    BOTH,
    UPPER,
    NOT_ITSELF,
    ONE_TOO_FAR,
    with_wrong(INVERTED, change("tokens & past", "~(tokens & past)")),
    Misconception(
        "one-mask-inverted",
        "one of the two masks is inverted before they meet",
        'True has to mean "may attend" in both. Look for a ~, an == in place of a !=, or a triu.',
        (
            change("!=", "=="),
            change("tokens & past", "tokens & ~past"),
        ),
    ),
    *OF_PADDING,
    with_wrong(NO_AXES, change("tokens & past", "(tokens & past)[:, 0]")),
    with_wrong(
        AS_NUMBERS,
        *(change("tokens & past", f"(tokens & past).to({kind})") for kind in NUMBERS),
        change("tokens & past", "tokens.int() + past.int()"),
    ),
    with_wrong(ADDED, change("tokens & past", "torch.where(tokens & past, 0.0, -math.inf)")),
    with_wrong(
        CHANGES_INPUT,
        change(
            "    return", "    ids.masked_fill_(ids == pad_id, 0 if pad_id else -1)\n    return"
        ),
    ),
)


# --- masked_softmax --------------------------------------------------------------------------

FILL = "torch.finfo(scores.dtype).min"
HIDDEN = "scores.masked_fill(~mask, lowest)"
RESULT = "weights.masked_fill(~mask, 0.0)"
WITH_INFINITY = change(FILL, 'float("-inf")')
NOT_ZEROED = change(RESULT, "weights")
CLEANED = change(RESULT, "weights.nan_to_num(0.0)")
NOT_HIDDEN = change(HIDDEN, "scores")
READ_INVERTED = change("    lowest =", "    mask = ~mask\n    lowest =")
# Numerators instead of weights, which the last line divides by their sum.
EXPONENTIALS = change(f"{HIDDEN}.softmax(dim=-1)", "scores.exp() * mask")
EXPONENTIALS_FILLED = change(f"{HIDDEN}.softmax(dim=-1)", "scores.exp().masked_fill(~mask, 0.0)")
SHIFTED = change(
    f"weights = {HIDDEN}.softmax(dim=-1)",
    f"low = {HIDDEN}\n    weights = (low - low.amax(dim=-1, keepdim=True)).exp() * mask",
)
SUM = "weights.sum(dim=-1, keepdim=True)"
DIVIDED = change(RESULT, f"weights / {SUM}")
DIVIDED_OR_ZERO = change(RESULT, f"weights / {SUM}.masked_fill({SUM} == 0, 1.0)")


def _divided(epsilon: float) -> Change:
    return change(RESULT, f"weights / ({SUM} + {epsilon})")


NAN_ROWS = Misconception(
    "nan-where-nothing-is-seen",
    "a row that may see nothing is NaN",
    "Where all scores are minus infinity, the softmax divides 0 by 0. One such row spreads: the "
    "next layer, the loss and all gradients are NaN after it.",
    (WITH_INFINITY + NOT_ZEROED,),
)
HIDDEN_ZERO = Misconception(
    "hidden-scores-are-zero",
    "hidden scores are 0, which is a score like any other",
    "exp(0) is 1, so what is hidden still has weight. Its exponential has to be 0.",
    (
        change(HIDDEN, "(scores * mask)") + NOT_ZEROED,
        change(FILL, "0.0"),
    ),
)
AFTERWARDS = Misconception(
    "mask-after-softmax",
    "the mask comes after the softmax, and the weights that are left do not sum to one",
    "The softmax has to share out the weight among what may be seen. Hide the scores, not the "
    "weights.",
    (NOT_HIDDEN,),
)
# Above -30,000, or even above most scores; without the zeros the empty rows show first.
MILD = with_wrong(
    TOO_MILD,
    *(change(FILL, fill) for fill in ("-1.0", "-10.0", "-100.0", "-1000.0", "-1e4")),
    *(change(FILL, fill) + NOT_ZEROED for fill in ("-1.0", "-10.0", "-100.0")),
)
IGNORED = Misconception(
    "mask-ignored",
    "the mask changes nothing",
    "Look at whether the masked scores are the ones that reach the softmax: masked_fill makes a "
    "new tensor.",
    (NOT_HIDDEN + NOT_ZEROED,),
)
NAN_GRADIENT = Misconception(
    "nan-in-the-gradient",
    "the weights are right, but the gradient of a row that may see nothing is NaN",
    "NaN was made on the way and cleaned up at the end; the way back passes it again. Hide with "
    "masked_fill or where, whose gradient is 0 where they hide.",
    (
        change(HIDDEN, '(scores + torch.zeros_like(scores).masked_fill(~mask, float("-inf")))')
        + CLEANED,
    ),
)

SOFTMAX = (
    NAN_ROWS,
    Misconception(
        "fill-too-large-for-float16",
        "the hidden scores are filled with a number that float16 does not have",
        "float16 ends at 65,504. There is a value that every floating dtype has, and torch.finfo "
        "knows the lowest one of each.",
        (
            change(FILL, "-1e9"),
            change(FILL, "-1e9") + NOT_ZEROED,
        ),
        r"without overflow",
    ),
    Misconception(
        "uniform-where-nothing-is-seen",
        "a row that may see nothing shares its weight out evenly over what is hidden",
        "Where all scores are the same number, however low, the softmax makes 1/S of them. The "
        "hidden weights have to be 0 there too.",
        (
            NOT_ZEROED,
            *(change(FILL, fill) + NOT_ZEROED for fill in ("-1000.0", "-1e4", "-6e4")),
        ),
    ),
    AFTERWARDS,
    Misconception(
        "renormalised-afterwards",
        "what is hidden takes part in the softmax, and is taken out of the weights afterwards",
        "If a hidden score is far above the others, it takes all the weight, and nothing is left "
        "to share out. Hide the scores before the softmax.",
        (
            NOT_HIDDEN + change("softmax(dim=-1)", "softmax(dim=-1) * mask") + DIVIDED_OR_ZERO,
            change(HIDDEN, "(scores - scores.amax(dim=-1, keepdim=True))")
            + change(".softmax(dim=-1)", ".exp() * mask")
            + change(RESULT, f"torch.where({SUM} > 0, weights / {SUM}.clamp(min=1e-30), 0.0)"),
            *(
                NOT_HIDDEN + change("softmax(dim=-1)", "softmax(dim=-1) * mask") + _divided(epsilon)
                for epsilon in (1e-9, 1e-8, 1e-6)
            ),
        ),
    ),
    Misconception(
        "true-means-blocked",
        "the mask is read the wrong way round: what it blocks is seen",
        'In this course, as in F.scaled_dot_product_attention, True means "may attend". Some '
        "other functions of torch mean the opposite.",
        (
            READ_INVERTED,
            change(HIDDEN, HIDDEN.replace("~mask", "mask")),
            READ_INVERTED + NOT_ZEROED,
            READ_INVERTED + NOT_ZEROED + WITH_INFINITY,
        ),
    ),
    HIDDEN_ZERO,
    Misconception(
        "mask-is-added",
        "the mask itself is added to the scores: True counts as 1, False as 0",
        "What is seen gets a score that is higher by one, and nothing is hidden. A mask that is "
        "added holds minus infinity.",
        (change(HIDDEN, "(scores + mask)") + NOT_ZEROED,),
    ),
    MILD,
    IGNORED,
    Misconception(
        "over-the-wrong-axis",
        "the softmax runs over another axis than the last",
        "The keys are the last axis, and the weights of one query sum to one over them. Look at "
        "`dim`.",
        (*(change("dim=-1", f"dim={axis}") for axis in (-2, 1, 0)),),
    ),
    Misconception(
        "formula-as-written",
        "this is the formula, word by word, with all that fails in it",
        "It divides 0 by 0 where nothing may be seen, and exp of a large score is infinite. "
        "torch's softmax takes the largest score off first, and the empty rows need a thought of "
        "their own.",
        (
            EXPONENTIALS + DIVIDED,
            EXPONENTIALS_FILLED + DIVIDED,
            *(EXPONENTIALS + _divided(epsilon) for epsilon in (1e-8, 1e-9, 1e-12)),
        ),
    ),
    Misconception(
        "exponentials-too-large",
        "the exponentials of large scores are larger than the dtype can hold",
        "In float16 exp(12) is too much, in float32 exp(89). Take the largest score of the row off "
        "first; that changes no weight.",
        (
            EXPONENTIALS_FILLED + DIVIDED_OR_ZERO,
            EXPONENTIALS + change(RESULT, f"weights / {SUM}.clamp(min=1e-6)"),
            EXPONENTIALS + change(RESULT, f"torch.where({SUM} > 0, weights / {SUM}, 0.0)"),
        ),
    ),
    Misconception(
        "epsilon-is-zero-in-half",
        "the epsilon under the fraction is 0 in float16, so an empty row is still 0 / 0",
        "The smallest number above 0 of float16 is 6e-8. Do not rely on an epsilon: see which rows "
        "are empty.",
        (SHIFTED + _divided(1e-9),),
    ),
    Misconception(
        "rows-sum-to-less",
        "the denominator has too much in it: the weights do not sum to one",
        "A 1, or an epsilon that is not small, was added to the sum of the exponentials. Only an "
        "empty row needs another denominator.",
        (*(SHIFTED + _divided(epsilon) for epsilon in (1.0, 1e-2, 1e-3)),),
    ),
    NAN_GRADIENT,
    Misconception(
        "empty-row-sees-all",
        "a row that may see nothing sees everything",
        "The NaN is gone, but hidden tokens have weight. Such a row is all zeros.",
        (
            change(
                "    lowest =", "    mask = mask | ~mask.any(dim=-1, keepdim=True)\n    lowest ="
            ),
        ),
    ),
    Misconception(
        "logarithms",
        "these are the logarithms of the weights",
        "log_softmax is for a loss. Attention multiplies the values by the weights themselves.",
        (
            WITH_INFINITY
            + change(".softmax(", ".log_softmax(")
            + change(RESULT, "weights.nan_to_num(0.0, neginf=-math.inf)"),
        ),
    ),
    with_wrong(DETACHED, no_gradients("masked_softmax")),
    with_wrong(
        FLOAT32_ONLY,
        change("    lowest =", "    scores = scores.float()\n    lowest ="),
        change(HIDDEN, '(scores + torch.where(mask, 0.0, float("-inf")))') + CLEANED,
    ),
    with_wrong(CHANGES_INPUT, change("scores.masked_fill(", "scores.masked_fill_(")),
)


# --- find the bug: the mask of a decoder -----------------------------------------------------

SOFTMAX_CALL = "reference.masked_softmax(scores, tokens & past)"
OTHER_DEVICE = r"on the expected device|on the same device|is on cpu"
ON_CPU = change(", device=ids.device", "")

BUG = (
    Misconception(
        "both-bugs-are-in",
        "both bugs are still in it",
        "One shows in every batch with padding; the other only where the batch is not on the "
        "default device.",
        (ON_CPU + change(COLUMNS, "[:, None, :, None]"),),
        r"on the expected device|on the same device|is on cpu",
    ),
    Misconception(
        "made-on-the-default-device",
        "one bug is mended; the other shows where the batch is not on the default device",
        "A tensor that is made inside lies on the CPU unless told otherwise, and cannot meet one "
        "on a GPU.",
        (ON_CPU,),
        r"on the expected device|on the same device|is on cpu",
    ),
    QUERY_ROWS,
    BOTH,
    OR,
    with_wrong(NO_PADDING, change("tokens & past", "past")),
    with_wrong(NO_FUTURE, change("tokens & past", "tokens")),
    UPPER,
    NOT_ITSELF,
    ONE_TOO_FAR,
    with_wrong(
        INVERTED,
        change("tokens & past", "~(tokens & past)"),
        change(SOFTMAX_CALL, "scores.masked_fill(tokens & past, -math.inf).softmax(dim=-1)"),
    ),
    PAD_IS_ZERO,
    FIRST_PAD,
    BY_COUNT,
    with_wrong(
        NAN_ROWS,
        change(SOFTMAX_CALL, "scores.masked_fill(~(tokens & past), -math.inf).softmax(dim=-1)"),
    ),
    Misconception(
        "uniform-where-nothing-is-seen",
        "a row that may see nothing shares its weight out evenly over what is hidden",
        "Where all scores are the same number, however low, the softmax makes 1/S of them. The "
        "hidden weights have to be 0 there too.",
        (
            change(SOFTMAX_CALL, f"scores.masked_fill(~(tokens & past), {FILL}).softmax(dim=-1)"),
            change(SOFTMAX_CALL, "scores.masked_fill(~(tokens & past), -6e4).softmax(dim=-1)"),
        ),
    ),
    Misconception(
        "no-scale",
        "the products of queries and keys are not scaled",
        "That line was right in the code as found: K is under a root there.",
        (change(" / math.sqrt(query.shape[-1])", ""),),
    ),
    with_wrong(DETACHED, no_gradients("causal_attention")),
)


# --- find another bug: the fill --------------------------------------------------------------

# The lines of `masked_softmax`.
SOFTMAX_WRITTEN_OUT = change(
    "    weights = reference.masked_softmax(scores, mask)\n    return weights",
    f"    lowest = {FILL}\n    weights = {HIDDEN}.softmax(dim=-1)\n    return {RESULT}",
)

ANOTHER_BUG = (
    *after(
        SOFTMAX_WRITTEN_OUT,
        Misconception(
            "bug-is-in",
            "the bug is still in it",
            "Try float16, and try a row that may see nothing. Both come from one number.",
            (change(FILL, "-1e10") + NOT_ZEROED,),
            r"without overflow",
        ),
        Misconception(
            "empty-rows-still-average",
            "float16 works, but a query that may see nothing still gets the average of all values",
            "Where all scores are the same number, the softmax shares out evenly. What is the "
            "answer to a query that may see nothing?",
            (
                NOT_ZEROED,
                *(change(FILL, fill) + NOT_ZEROED for fill in ("-1000.0", "-1e4", "-6e4")),
                change("query @ key", "query.float() @ key.float()")
                + change(FILL, "-1e10")
                + NOT_ZEROED
                + change("weights @ value", "(weights @ value.float()).to(query.dtype)"),
            ),
        ),
        NAN_ROWS,
        Misconception(
            "zeroed-and-too-large",
            "empty rows are zeros now, but the fill is still a number that float16 does not have",
            "float16 ends at 65,504. There is a value that every floating dtype has, and "
            "torch.finfo knows the lowest one of each.",
            (change(FILL, "-1e10"),),
            r"without overflow",
        ),
        MILD,
        HIDDEN_ZERO,
        AFTERWARDS,
        with_wrong(
            INVERTED,
            READ_INVERTED,
            READ_INVERTED + NOT_ZEROED,
            READ_INVERTED + NOT_ZEROED + WITH_INFINITY,
        ),
        IGNORED,
        replace(
            with_wrong(
                NAN_GRADIENT,
                *NAN_GRADIENT.wrong,
                change(HIDDEN, '(scores + torch.where(mask, 0.0, float("-inf")))')
                + NOT_ZEROED
                + change("weights @ value", "(weights @ value).nan_to_num(0.0)"),
            ),
            error=r"expected scalar type|same dtype",
        ),
    ),
    Misconception(
        "no-scale",
        "the products of queries and keys are not scaled",
        "That line was right in the code as found: K is under a root there.",
        (change(" / math.sqrt(query.shape[-1])", ""),),
    ),
    with_wrong(DETACHED, no_gradients("masked_attention")),
    with_wrong(
        FLOAT32_ONLY,
        change("query @ key", "query.float() @ key.float()") + change("@ value", "@ value.float()"),
    ),
)


# --- the leak test ---------------------------------------------------------------------------

NEW_TOKEN = "changed[:, s] = torch.randn_like(changed[:, s])"
COPY = "        changed = x.clone()\n"
MOVES = "(model(changed) - before).abs()"
OVER = "amax(dim=(0, -1)) > 1e-4"
FEATURES = "moves.amax(dim=(0, -1))"


def _token(how: str) -> Change:
    """Change the token, or something else, in another way."""
    return change(NEW_TOKEN, how)


MORE_TOKENS = Misconception(
    "more-than-one-token",
    "more than one token is changed at a time",
    "Each round changes one token alone, so each starts from x as it was. Look at the slice, and "
    "whether each round has a copy of its own.",
    (
        change(COPY, "        changed = x\n"),
        change(COPY, "        changed = x.clone() if s == 0 else changed\n"),
        _token("changed[:, : s + 1] = torch.randn_like(changed[:, : s + 1])"),
    ),
)
HOW_MEASURED = (
    Misconception(
        "sequence-changed",
        "a sequence of the batch is changed, not a token",
        "x is (B, T, D): the first axis is the batch, and the tokens are the second.",
        (_token("changed[s] = torch.randn_like(changed[s])"),),
        r"out of bounds|out of range",
    ),
    Misconception(
        "feature-changed",
        "a feature of all tokens is changed, not a token",
        "x is (B, T, D): the last axis is the features, and the tokens are the second.",
        (_token("changed[..., s] = torch.randn_like(changed[..., s])"),),
    ),
    Misconception(
        "change-that-a-norm-hides",
        "the change is one that a norm takes away: one number added to all features, or a factor",
        "A layer norm takes off the mean of a token and divides by its size. Random numbers in the "
        "place of the token change more than these two.",
        (
            _token("changed[:, s] += 1.0"),
            _token("changed[:, s] *= 2.0"),
            _token("changed[:, s] += torch.randn(())"),
        ),
    ),
    Misconception(
        "zeros-for-the-token",
        "the token is replaced by zeros, or turned round, and a token of zeros stays what it was",
        "Where x holds zeros, nothing has changed then. Put random numbers in its place.",
        (_token("changed[:, s] = 0.0"), _token("changed[:, s] *= -1.0")),
    ),
    Misconception(
        "one-feature-changed",
        "only one feature of the token is changed",
        "The model may read the others only. Change all D numbers of the token.",
        (
            _token("changed[:, s, 0] = torch.randn_like(changed[:, s, 0])"),
            _token("changed[:, s, -1] = torch.randn_like(changed[:, s, -1])"),
        ),
    ),
    Misconception(
        "one-feature-of-the-output",
        "only one feature of the outputs is looked at",
        "A leak may be in any of the D numbers of an output. Look for an index.",
        (
            change(FEATURES, "moves[..., 0].amax(dim=0)"),
            change(FEATURES, "moves[..., -1].amax(dim=0)"),
        ),
    ),
    Misconception(
        "one-sequence-only",
        "only one sequence of the batch is changed or looked at, or all of them have to move",
        "One sequence that moves is enough, and which one nobody knows. Change the token in all of "
        "them, and take the largest change over the batch, too.",
        (
            change(FEATURES, "moves[0].amax(dim=-1)"),
            change(FEATURES, "moves.amax(dim=-1).amin(dim=0)"),
            _token("changed[0, s] = torch.randn_like(changed[0, s])"),
        ),
    ),
    Misconception(
        "all-features-must-move",
        "an output counts as moved only if all its numbers move",
        "One number that moves is enough: the largest change decides, and not the smallest.",
        (change(FEATURES, "moves.amin(dim=-1).amax(dim=0)"),),
    ),
    Misconception(
        "signed",
        "changes up and down cancel each other, or those down are not seen",
        "A change of -2 is as large as one of 2. Take the absolute value before anything else; "
        "behind a layer norm the changes of a token sum to 0.",
        (
            change(MOVES, "(model(changed) - before)"),
            change(MOVES, "(model(changed) - before)")
            + change(FEATURES, "moves.sum(dim=-1).abs().amax(dim=0)"),
            change(MOVES, "(model(changed).sum(dim=-1, keepdim=True) - before.sum(-1)[..., None])")
            + change(FEATURES, "moves.abs().amax(dim=(0, -1))"),
        ),
    ),
    Misconception(
        "rounding-taken-for-a-leak",
        "the smallest rounding error counts as a movement",
        "Two ways to the same sum differ in the last digit. An output has moved where a number "
        "changes by more than 1e-4.",
        (
            change(OVER, "amax(dim=(0, -1)) > 0"),
            change(OVER, "amax(dim=(0, -1)) > 1e-12"),
        ),
    ),
    Misconception(
        "everything-moves",
        "every output counts as moved by every token, as when outputs are compared with x",
        "A model may move every token by itself. What matters is the difference between two "
        "outputs, with and without the change.",
        (change("before = model(x)", "before = x"),),
    ),
    Misconception(
        "compared-with-the-round-before",
        "the outputs are compared with those of the round before",
        "These two differ in two tokens. Compare each round with the outputs of x as it is.",
        (
            change(COPY, f"{COPY}        before = before if s == 0 else after\n")
            + change(MOVES, "((after := model(changed)) - before).abs()"),
        ),
    ),
    with_wrong(
        CHANGES_INPUT,
        change(COPY, f"{COPY}        x += 0.0 if s else 1e-3\n"),
    ),
)

MOVED = (
    Misconception(
        "rows-and-columns-swapped",
        "the map is on its side: its rows are the changed tokens",
        "A round gives one column: a row for each output, a column for each changed token. Look at "
        "the axis along which the rounds are joined.",
        (change("columns, dim=-1", "columns, dim=0"),),
    ),
    Misconception(
        "only-leaks",
        "only the outputs before the change are in the map",
        "The lower half matters as much: a model that ignores its input has no leak either. Put "
        "down every output that moves.",
        (change("columns, dim=-1)", "columns, dim=-1).triu(1)"),),
    ),
    Misconception(
        "future-cut-off",
        "only the outputs from the change on are in the map",
        "Whether the outputs before the change move is what the test is for. Measure them, too.",
        (change("columns, dim=-1)", "columns, dim=-1).tril()"),),
    ),
    Misconception(
        "true-where-still",
        "True stands where an output does not move",
        "Look at the comparison, and at which side of 1e-4 is a movement.",
        (change(OVER, "amax(dim=(0, -1)) <= 1e-4"),),
    ),
    Misconception(
        "numbers-not-booleans",
        "the map holds numbers, not booleans",
        "The size of each change is more than is asked for: compare it with 1e-4.",
        (
            change(" > 1e-4", ""),
            *(change("columns, dim=-1)", f"columns, dim=-1).to({kind})") for kind in NUMBERS),
        ),
    ),
    Misconception(
        "an-axis-too-many",
        "the batch or the features are still in the map",
        "The map is (T, T). An output has moved if any of its D numbers does, in any sequence.",
        (change(FEATURES, "moves.amax(dim=-1)"), change(FEATURES, "moves.amax(dim=0)")),
    ),
    with_wrong(
        MORE_TOKENS,
        *MORE_TOKENS.wrong,
        _token("changed[:, s:] = torch.randn_like(changed[:, s:])"),
        _token("changed = torch.randn_like(x)"),
    ),
    *HOW_MEASURED,
)

FURTHEST = "furthest = max(furthest, s - t)"

AHEAD = (
    Misconception(
        "not-the-furthest",
        "this is the distance of one leak, such as the nearest or the last that was found",
        "Go on when you have found a leak, and keep the larger of what you have and what you find.",
        (
            change(FURTHEST, "furthest = min(furthest or s - t, s - t)"),
            change(FURTHEST, "return s - t"),
            change("range(s):", "reversed(range(s)):") + change(FURTHEST, "return s - t"),
            change(FURTHEST, "furthest = s - t"),
        ),
    ),
    Misconception(
        "past-and-future",
        "tokens before the output count, as if it might not see them",
        "An output may see as far back as it likes. Only an output before the changed token is a "
        "leak, and its distance is s - t.",
        (
            change("range(s):", "range(x.shape[1]):") + change(", s - t)", ", abs(s - t))"),
            change("range(s):", "range(s, x.shape[1]):") + change(", s - t)", ", t - s)"),
        ),
    ),
    Misconception(
        "counted",
        "leaks are counted, and not how many places they go",
        "An output may see a token far ahead and none between. What counts is the distance s - t.",
        (
            change(FURTHEST, "furthest += 1"),
            change(FURTHEST, "furthest = max(furthest, int(moved[:s].sum()))"),
            change("furthest = 0", "counts = [0] * x.shape[1]")
            + change(FURTHEST, "counts[t] += 1")
            + change("return furthest", "return max(counts)"),
        ),
    ),
    Misconception(
        "next-token-only",
        "only the token right after each output is tried, so that the result is 0 or 1",
        "The layers of a model hand a leak on, and it gets further with each. Look at all outputs "
        "before the changed token.",
        (change("range(s):", "range(max(s - 1, 0), s):"),),
    ),
    Misconception(
        "one-token-only",
        "only one token is changed, or only one output looked at",
        "A leak may be at one place alone. Change each token in turn, and look at all outputs "
        "before it.",
        (
            change("for s in range(x.shape[1]):", "for s in [x.shape[1] - 1]:"),
            change("range(s):", "range(min(s, 1)):"),
        ),
    ),
    Misconception(
        "one-too-many",
        "the number is one too large: the output's own place is counted",
        "The next token is one place ahead, and a token is no place ahead of itself.",
        (
            change(", s - t)", ", s - t + 1)"),
            change(", s - t)", ", s - t + 1)") + change("range(s):", "range(s + 1):"),
        ),
    ),
    Misconception(
        "place-not-distance",
        "this is the place of a token, and not how far it is ahead of the output",
        "Take the place of the output off.",
        (change(", s - t)", ", s)"), change(", s - t)", ", t)")),
    ),
    Misconception(
        "below-zero",
        "a model whose outputs see no later token, and not their own either, gets less than 0",
        "Causal is 0, however little a model sees. Where does your largest number start?",
        (
            change("furthest = 0", "furthest = -x.shape[1]")
            + change("range(s):", "range(x.shape[1]):"),
            change("furthest = 0", "furthest = -1"),
        ),
    ),
    Misconception(
        "yes-or-no",
        "the result is True or False",
        "Say how far the leak goes: a whole number.",
        (change("return furthest", "return furthest > 0"),),
        r"is a bool",
    ),
    with_wrong(
        TENSOR_FOR_NUMBER,
        change("return furthest", "return torch.tensor(furthest)"),
    ),
    MORE_TOKENS,
    *HOW_MEASURED,
)

MISCONCEPTIONS = {
    "padding_mask": PADDING,
    "causal_mask": CAUSAL,
    "target_mask": TARGET,
    "masked_softmax": SOFTMAX,
    "find_the_bug": BUG,
    "find_another_bug": ANOTHER_BUG,
    "moved_outputs": MOVED,
    "how_far_ahead": AHEAD,
}
