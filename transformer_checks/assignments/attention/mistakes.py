"""The misconceptions of the assignment "attention", task by task, each a change to the answer.

An entry is said when its changed answer gives the student's numbers: `judging/diagnosis.py`.
Twins that give the same numbers are one entry here: K instead of sqrt(K) and scaling twice; a fill
of -1e-9 and a multiplied mask; an inverted mask and a penalty of the wrong sign.
Dropout that stays on has no entry, as its numbers are random: the case asked twice tells it.
"""

from __future__ import annotations

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

# --- attention itself: what can go wrong in it wherever it is written ------------------------

# The changes below are to these lines, which stand in `multi_head_attention`. The other answers
# call the package for them: first they are written out, as in an answer that makes the mistake.
SCORES_WRITTEN_OUT = change(
    "    scores = reference.attention_scores(query, key)",
    "    scale = math.sqrt(query.shape[-1])\n    scores = query @ key.transpose(-2, -1) / scale",
) + change("scores.softmax(", "torch.softmax(scores, ")
HEADS_WRITTEN_OUT = change(
    "        heads, _ = reference.scaled_dot_product_attention(q, k, v, mask)",
    "        query, key, value = q, k, v\n"
    "        scale = math.sqrt(query.shape[-1])\n"
    "        scores = query @ key.transpose(-2, -1) / scale\n"
    "        if mask is not None:\n"
    '            scores = scores.masked_fill(~mask, float("-inf"))\n'
    "        heads = torch.softmax(scores, dim=-1) @ value",
)
# People fill with -inf or with -1e9; a wrong step can tell them apart.
WITH_NUMBER = change('float("-inf")', "-1e9")
UNMASKED = change("scores = scores.masked_fill", "scores.masked_fill")
MULTIPLIED = change('scores.masked_fill(~mask, float("-inf"))', "scores * mask")
WEIGHTS_AS_SCORES = change("torch.softmax(scores, dim=-1)", "scores")
HIDDEN = "(torch.tensor(False) if mask is None else ~mask)"

NO_SCALE = Misconception(
    "no-scale",
    "the products of queries and keys are not scaled",
    "The variance of a product of two random vectors grows with their size K; something must bring "
    "it back to 1. Look at the formula's denominator.",
    (change(" / scale", ""),),
)
BY_K = Misconception(
    "scaled-by-k",
    "the products are divided by K, not by its square root",
    "The variance is K, so the standard deviation is sqrt(K). Look for a missing root, or for a "
    "scale by sqrt(K) that is applied to both query and key, or twice.",
    (change("scale = math.sqrt(", "scale = float("),),
)
TIMES_ROOT = Misconception(
    "multiplied-by-root-k",
    "the products are multiplied by sqrt(K) where they should be divided",
    "The scale has to make large products smaller. Look at what the operator or the sign of the "
    "exponent does to them.",
    (change("/ scale", "* scale"),),
)
BY_HEADS = Misconception(
    "scaled-by-num-heads",
    "the scale comes from the number of heads, or the size of another axis, not from K",
    "K is the size of the vectors that are multiplied: the last axis. Look at which size is under "
    "the root.",
    (
        change("/ scale", "/ query.shape[1] ** 0.5"),
        change("/ scale", "/ (query.shape[-3] if query.ndim > 2 else 1) ** 0.5"),
        change("/ scale", "/ query.shape[0] ** 0.5"),
    ),
)
BY_MODEL = Misconception(
    "scaled-by-d-model",
    "the scale is sqrt(D) of the whole model, not sqrt(K) of one head",
    "Each product sums over the K features of one head only. Look at which size is under the root.",
    (change("/ scale", "/ (query.shape[-1] * (query.shape[-3] if query.ndim > 2 else 1)) ** 0.5"),),
)
BY_LENGTH = Misconception(
    "scaled-by-length",
    "the scale comes from the length of a sequence",
    "The sum in each product runs over features, not over tokens. Look at which axis' size is "
    "under the root.",
    (
        change("/ scale", "/ query.shape[-2] ** 0.5"),
        change("/ scale", "/ key.shape[-2] ** 0.5"),
        change("/ scale", "/ scale / key.shape[-2] ** 0.5"),
    ),
)
LATE_SCALE = Misconception(
    "scale-after-softmax",
    "the scale is applied after the softmax",
    "Weights that are divided no longer sum to 1, and the softmax still saw the large scores. Look "
    "at the order of the steps.",
    (
        change(" / scale", "") + change("dim=-1)", "dim=-1) / scale"),
        change("dim=-1)", "dim=-1) / scale"),
        change(" / scale", "") + change("@ value", "@ value / scale"),
    ),
)
OVER_QUERIES = Misconception(
    "softmax-over-queries",
    "the softmax runs over the queries",
    "Each query spreads one unit of weight over the keys: its row sums to 1. Look at the softmax's "
    "axis.",
    (
        change("dim=-1", "dim=-2"),
        change("dim=-1", "dim=-2") + WITH_NUMBER,
    ),
)
OVER_HEADS = Misconception(
    "softmax-dim-1",
    "the softmax runs over axis 1, which is not the keys once there are batch and head axes",
    "Count the keys' axis from the end, so that it is right for any number of leading axes.",
    (
        change("dim=-1", "dim=1"),
        change("dim=-1", "dim=1") + WITH_NUMBER,
    ),
)
NO_SOFTMAX = Misconception(
    "no-softmax",
    "the scores weigh the values without a softmax",
    "Weights are not negative and sum to 1 for each query; scores are neither. A step is missing.",
    (
        WEIGHTS_AS_SCORES,
        WEIGHTS_AS_SCORES + WITH_NUMBER,
        WEIGHTS_AS_SCORES + MULTIPLIED,
        WEIGHTS_AS_SCORES + UNMASKED,
    ),
)
IGNORED = Misconception(
    "mask-ignored",
    "the mask has no effect",
    "With a mask, hidden keys must get no weight at all. Look at whether the mask is handed on, "
    "and whether the masked scores are the ones that go on (masked_fill without a final _ returns "
    "a new tensor).",
    (UNMASKED,),
)
INVERTED = Misconception(
    "mask-inverted",
    "the mask is the wrong way round: hidden keys are seen and seen ones hidden",
    "True means may attend. Look at which positions get the very low score, and at the sign of it.",
    (
        change("~mask", "mask"),
        change("~mask", "mask") + WITH_NUMBER,
    ),
)
AFTER = Misconception(
    "mask-after-softmax",
    "the mask comes after the softmax, so the rows no longer sum to 1",
    "What is zeroed after the softmax has already taken its share. Hide the keys before the "
    "normalisation.",
    (
        UNMASKED + change("dim=-1)", "dim=-1) * (1 if mask is None else mask)"),
        UNMASKED + change("dim=-1)", f"dim=-1).masked_fill({HIDDEN}, -1e9)"),
        UNMASKED + change("dim=-1)", f'dim=-1).masked_fill({HIDDEN}, float("-inf"))'),
    ),
)
ZEROED = Misconception(
    "masked-score-zero",
    "hidden keys get a score of about 0, which is no low score",
    "exp(0) is 1, so a score of 0 (a product with the mask, a fill of -1e-9) still earns weight. "
    "Look at how small a score must be for its exponential to vanish.",
    (
        MULTIPLIED,
        change('float("-inf")', "-1e-9"),
    ),
)
ADDED = Misconception(
    "mask-added",
    "the boolean mask is added to the scores",
    "True and False add 1 and 0, a small bonus for what is seen. What is hidden needs a score that "
    "vanishes in the softmax.",
    (change('scores.masked_fill(~mask, float("-inf"))', "scores + mask"),),
)
MILD = with_wrong(
    TOO_MILD, *(change('float("-inf")', fill) for fill in ("-10.0", "-20.0", "-100.0", "-1e4"))
)
ON_ROWS = Misconception(
    "mask-on-rows",
    "the mask is laid over the queries (rows) where it belongs on the keys (columns)",
    "A padded token must not be looked at: it is a column of the (T, S) scores. Look at the last "
    "two axes of the mask; with T = S nothing complains.",
    (
        change("~mask", "~mask.transpose(-2, -1)"),
        change("~mask", "~mask.transpose(-2, -1)") + WITH_NUMBER,
    ),
    r"must match the (existing )?size|not broadcastable|[Tt]he expanded size",
)

BY_VALUES = Misconception(
    "scaled-by-value-size",
    "the scores are scaled by the size of a value, not by that of a key",
    "A score adds up K products, one for each feature of the query and the key. The values come in "
    "after the softmax, and may have another size.",
    (change("math.sqrt(query.shape[-1])", "math.sqrt(value.shape[-1])"),),
)

OF_THE_SCALE = (NO_SCALE, BY_K, TIMES_ROOT, BY_MODEL, BY_LENGTH, LATE_SCALE)
OF_THE_MASK = (IGNORED, INVERTED, AFTER, ZEROED, ADDED, MILD, ON_ROWS)


# --- scores ----------------------------------------------------------------------------------

SCORES = (
    with_wrong(NO_SCALE, change(" / math.sqrt(query.shape[-1])", "")),
    with_wrong(BY_K, change("math.sqrt(query.shape[-1])", "query.shape[-1]")),
    with_wrong(TIMES_ROOT, change("/ math.sqrt", "* math.sqrt")),
    with_wrong(
        BY_LENGTH,
        change("query.shape[-1]", "query.shape[-2]"),
        change("query.shape[-1]", "key.shape[-2]"),
    ),
    with_wrong(
        BY_HEADS,
        change("query.shape[-1]", "query.shape[1]"),
        change("query.shape[-1]", "(query.shape[-3] if query.ndim > 2 else 1)"),
        change("query.shape[-1]", "query.shape[0]"),
    ),
    with_wrong(
        BY_MODEL,
        change("shape[-1]", "shape[-1] * (query.shape[-3] if query.ndim > 2 else 1)"),
    ),
    Misconception(
        "fourth-root",
        "only one of query and key is scaled, by the fourth root of K",
        "The fourth root is right if both factors get it. Look at whether the other one does.",
        (change("math.sqrt(query.shape[-1])", "query.shape[-1] ** 0.25"),),
    ),
    Misconception(
        "softmax-included",
        "the result has already gone through a softmax",
        "Scores are the numbers before the softmax and may be negative. Return them as they are.",
        (change("return query", "return (query") + change("[-1])", "[-1])).softmax(dim=-1)"),),
    ),
    Misconception(
        "roles-swapped",
        "query and key have changed places: the result is (..., S, T)",
        "Rows belong to queries, columns to keys. Look at which one is transposed.",
        (change("query @ key.", "key @ query."),),
    ),
    Misconception(
        "reshaped-not-transposed",
        "the key is reshaped where it should be transposed",
        "view and reshape keep the order in memory and so mix features of different tokens; look "
        "for the operation that exchanges two axes.",
        (change("transpose(-2, -1)", "reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])"),),
    ),
    Misconception(
        "all-axes-reversed",
        "the key has all its axes reversed, not only the last two",
        "`.T` reverses every axis, and fixed axis numbers fit one number of axes only. Count the "
        "two axes from the end.",
        (
            change("transpose(-2, -1)", "permute(*range(key.ndim - 1, -1, -1))"),
            change("transpose(-2, -1)", "transpose(1, 2)"),
            change("transpose(-2, -1)", "transpose(0, 1)"),
        ),
        r"size mismatch|must match|Expected size|[Dd]imension out of range|only supported",
    ),
    Misconception(
        "elementwise",
        "query and key are multiplied element by element, not as matrices",
        "Each query has to meet each key, which gives a (T, S) table; `*` pairs equal positions.",
        (
            change("@ key.transpose(-2, -1)", "* key"),
            change("query @ key.transpose(-2, -1)", "(query * key).sum(dim=-1)"),
        ),
        r"must match the size",
    ),
    Misconception(
        "cosine",
        "the vectors are normalised: these are cosines, not scaled products",
        "The length of the vectors is part of the score. Divide by a number made of K only.",
        (
            change("query @ key", "F.normalize(query, dim=-1) @ F.normalize(key, dim=-1)"),
            change("query @ key", "F.normalize(query, dim=-1) @ F.normalize(key, dim=-1)")
            + change(" / math.sqrt(query.shape[-1])", ""),
        ),
    ),
    with_wrong(DETACHED, no_gradients("attention_scores")),
    with_wrong(FLOAT32_ONLY, change("query @ key.", "query.float() @ key.float().")),
    with_wrong(
        CHANGES_INPUT,
        change("return query @", "query /= math.sqrt(query.shape[-1])\n    return query @")
        + change("(-2, -1) / math.sqrt(query.shape[-1])", "(-2, -1)"),
    ),
)


# --- attention -------------------------------------------------------------------------------

ATTENTION = (
    *after(SCORES_WRITTEN_OUT, NO_SCALE, BY_K, TIMES_ROOT, BY_HEADS, BY_MODEL, BY_LENGTH),
    *after(SCORES_WRITTEN_OUT, LATE_SCALE, BY_VALUES),
    *after(SCORES_WRITTEN_OUT, OVER_QUERIES, OVER_HEADS),
    Misconception(
        "softmax-dim-0",
        "the softmax runs over axis 0, the first of the tensor",
        "Axis 0 is the batch as soon as there is one, so sequences compete with each other. Look "
        "for the axis of the keys, counted from the end.",
        (
            change("dim=-1", "dim=0"),
            change("dim=-1", "dim=0") + WITH_NUMBER,
        ),
    ),
    Misconception(
        "softmax-over-everything",
        "one softmax runs over queries and keys together",
        "Each query has its own distribution. Look at what was flattened before the softmax.",
        (
            change(
                "scores.softmax(dim=-1)", "scores.flatten(-2).softmax(dim=-1).reshape(scores.shape)"
            ),
            change(
                "scores.softmax(dim=-1)",
                "scores.exp() / scores.exp().sum(dim=(-2, -1), keepdim=True)",
            ),
        ),
    ),
    *after(SCORES_WRITTEN_OUT, NO_SOFTMAX),
    Misconception(
        "sigmoid",
        "a sigmoid stands where the softmax belongs",
        "A sigmoid looks at each key alone; attention makes the keys compete for one unit of "
        "weight.",
        (change("scores.softmax(dim=-1)", "scores.sigmoid()"),),
    ),
    *OF_THE_MASK,
    Misconception(
        "returns-scores",
        "the second result holds the scores, not the weights",
        "Weights are what the softmax gives: not negative, and each row sums to 1.",
        (
            change("value, weights", "value, scores"),
            change("value, weights", "value, weights.log()"),
        ),
    ),
    Misconception(
        "returns-unmasked-scores",
        "the second result holds the scores from before the mask, not the weights",
        "Weights are what the softmax gives: not negative, and each row sums to 1.",
        (change("value, weights", "value, reference.attention_scores(query, key)"),),
    ),
    Misconception(
        "order-of-results",
        "the two results are in the wrong order",
        "The stub asks for the output first and the weights second.",
        (change("weights @ value, weights", "weights, weights @ value"),),
    ),
    Misconception(
        "output-only",
        "only the output is returned",
        "The stub asks for a pair: the output and the weights that made it.",
        (change("@ value, weights", "@ value"),),
        r"expected \(output, weights\), received a tensor",
    ),
    Misconception(
        "values-not-used",
        "the values are not weighted: the output is the table of weights itself",
        "The output has the size of the values, a weighted mean of them for each query.",
        (change("weights @ value,", "weights,"),),
    ),
    Misconception(
        "key-for-value",
        "the weights are applied to the keys where the values belong",
        "Keys say where to look, values what is found there. Look at the last product.",
        (change("@ value", "@ key"),),
    ),
    Misconception(
        "value-for-key",
        "the queries are compared with the values, not with the keys",
        "Keys say where to look, values what is found there. Look at the first product.",
        (change("(query, key)", "(query, value)"),),
        r"mat1 and mat2|Expected size|size mismatch",
    ),
    Misconception(
        "reshaped-not-transposed",
        "the key is reshaped where it should be transposed",
        "view and reshape keep the order in memory and so mix features of different tokens; look "
        "for the operation that exchanges two axes.",
        (
            SCORES_WRITTEN_OUT
            + change("transpose(-2, -1)", "reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])"),
        ),
    ),
    with_wrong(DETACHED, no_gradients("scaled_dot_product_attention")),
    with_wrong(
        FLOAT32_ONLY,
        change("(query, key)", "(query.float(), key.float())")
        + change("@ value", "@ value.float()"),
    ),
    with_wrong(
        CHANGES_INPUT,
        SCORES_WRITTEN_OUT
        + change("scores = query @", "query /= scale\n    scores = query @")
        + change(" / scale\n    if", "\n    if"),
        change("~mask", "mask.logical_not_()"),
    ),
)


# --- heads -----------------------------------------------------------------------------------

SPLIT = (
    Misconception(
        "no-transpose",
        "the heads are cut out but not moved in front of the tokens: the result is (B, T, H, K)",
        "Attention runs over the last two axes, which must be tokens and features. Two axes have "
        "to change places.",
        (change(".transpose(1, 2)", ""),),
    ),
    Misconception(
        "cut-across-time",
        "the shape is right, but the tensor was reshaped straight to (B, H, T, K)",
        "reshape and view never move numbers in memory: this way a head gets pieces of other "
        "tokens. Cut the last axis first, then exchange two axes.",
        (
            change(
                "unflatten(-1, (num_heads, -1)).transpose(1, 2)",
                "reshape(len(x), num_heads, x.shape[1], -1)",
            ),
        ),
    ),
    Misconception(
        "interleaved",
        "the heads take every H-th feature in turn, not K features side by side",
        "Look at the order of the two sizes into which the last axis is cut: heads first.",
        (change("(num_heads, -1)).transpose(1, 2)", "(-1, num_heads)).permute(0, 3, 1, 2)"),),
    ),
    Misconception(
        "sizes-exchanged",
        "num_heads is used as the size of a head",
        "There are num_heads heads of D / num_heads features each. Look at which number stands "
        "where.",
        (
            change("(num_heads, -1)", "(-1, num_heads)"),
            change("(num_heads, -1)).transpose(1, 2)", "(-1, num_heads))"),
        ),
    ),
    Misconception(
        "features-before-tokens",
        "the last two axes are the wrong way round: the result is (B, H, K, T)",
        "A head holds one row for each token. Look at the order of the axes in the permutation.",
        (
            change("transpose(1, 2)", "permute(0, 2, 3, 1)"),
            change(
                "unflatten(-1, (num_heads, -1)).transpose(1, 2)",
                "mT.reshape(len(x), num_heads, -1, x.shape[1])",
            ),
        ),
    ),
    Misconception(
        "heads-in-batch",
        "the heads are folded into the batch: the result has three axes",
        "The stub asks for an axis of its own for the heads, the second one.",
        (
            change("transpose(1, 2)", "transpose(1, 2).flatten(0, 1)"),
            change("transpose(1, 2)", "permute(2, 0, 1, 3).flatten(0, 1)"),
        ),
    ),
    Misconception(
        "heads-first",
        "the heads come before the batch: the result is (H, B, T, K)",
        "Batch first, here as everywhere in the course. Look at the axis along which the heads are "
        "stacked.",
        (change("transpose(1, 2)", "permute(2, 0, 1, 3)"),),
    ),
    Misconception(
        "heads-last",
        "the heads are the last axis: the result is (B, T, K, H)",
        "The stub asks for the heads as the second axis, tokens and features behind them.",
        (change("transpose(1, 2)", "transpose(2, 3)"),),
    ),
    Misconception(
        "every-head-sees-all",
        "every head holds all D features",
        "The heads share the features out: each gets its own D / H of them.",
        (
            change(
                "unflatten(-1, (num_heads, -1)).transpose(1, 2)",
                "unsqueeze(1).repeat(1, num_heads, 1, 1)",
            ),
            change("unflatten(-1, (num_heads, -1)).transpose(1, 2)", "unsqueeze(1)"),
        ),
    ),
    Misconception(
        "same-slice",
        "all heads hold the same features",
        "Head h holds the features from h*K on. Look at where each slice starts.",
        (change("transpose(1, 2)", "transpose(1, 2)[:, :1].repeat(1, num_heads, 1, 1)"),),
    ),
    Misconception(
        "list-of-heads",
        "the heads come as a list or tuple, not as one tensor",
        "Join them along a new axis, the second one.",
        (change("transpose(1, 2)", "unbind(2)"),),
        r"expected one tensor, received a (list|tuple)",
    ),
    Misconception(
        "tokens-cut",
        "the tokens are shared out among the heads, and not the features",
        "Every head sees every token, but only its own K of the D features. Look at which axis is "
        "cut.",
        (
            change(
                "x.unflatten(-1, (num_heads, -1)).transpose(1, 2)",
                "torch.stack(x.chunk(num_heads, 1), 1)",
            ),
            change(
                "unflatten(-1, (num_heads, -1)).transpose(1, 2)",
                "reshape(len(x), num_heads, -1, x.shape[2])",
            ),
        ),
        r"stack expects|invalid for input of size",
    ),
    with_wrong(DETACHED, no_gradients("split_heads")),
    with_wrong(FLOAT32_ONLY, change("x.unflatten", "x.float().unflatten")),
    with_wrong(
        CHANGES_INPUT,
        change("return x.", "heads = x.")
        + change("transpose(1, 2)", "transpose(1, 2).clone()\n    x.zero_()\n    return heads"),
    ),
)

MERGE = (
    Misconception(
        "no-transpose",
        "the shape is right, but heads and tokens were not exchanged before joining",
        "A straight reshape of (B, H, T, K) fills each row with pieces of one head at several "
        "tokens. The axes to be joined must stand next to each other.",
        (change("transpose(1, 2).flatten(start_dim=2)", "reshape(x.shape[0], x.shape[2], -1)"),),
    ),
    Misconception(
        "view-of-strided",
        "view is asked to join axes that do not lie next to each other in memory",
        "transpose changes the reading order only. Look for the call that makes the memory follow, "
        "or for view's sibling that does so when it must.",
        (change("flatten(start_dim=2)", "view(x.shape[0], x.shape[2], -1)"),),
        r"view size is not compatible",
    ),
    Misconception(
        "interleaved",
        "the features of the heads are interleaved, not laid side by side",
        "The result has all K features of head 0 first, then those of head 1. Look at the order of "
        "the last two axes before they are joined.",
        (change("transpose(1, 2)", "permute(0, 2, 3, 1)"),),
    ),
    Misconception(
        "not-joined",
        "the axes are exchanged but not joined: the result is (B, T, H, K)",
        "The last two axes have to become one of size D = H * K.",
        (change(".flatten(start_dim=2)", ""),),
    ),
    Misconception(
        "wrong-axes-exchanged",
        "other axes are exchanged than heads and tokens",
        "Look at which axes stand side by side before they are joined: heads, then features.",
        (
            change("(1, 2).flatten(start_dim=2)", "(2, 3).reshape(x.shape[0], x.shape[2], -1)"),
            change("(1, 2).flatten(start_dim=2)", "(1, 3).reshape(x.shape[0], x.shape[2], -1)"),
        ),
    ),
    Misconception(
        "mean-of-heads",
        "the heads are averaged",
        "Nothing is lost in merging: each token keeps all H * K numbers, side by side.",
        (change("transpose(1, 2).flatten(start_dim=2)", "mean(dim=1)"),),
    ),
    Misconception(
        "sum-of-heads",
        "the heads are added up",
        "Nothing is lost in merging: each token keeps all H * K numbers, side by side.",
        (change("transpose(1, 2).flatten(start_dim=2)", "sum(dim=1)"),),
    ),
    Misconception(
        "joined-along-time",
        "the heads are joined along the tokens: the result is (B, H*T, K)",
        "The number of tokens stays as it is; the features grow. Look at the axis of joining.",
        (
            change("transpose(1, 2).flatten(start_dim=2)", "flatten(1, 2)"),
            change("start_dim=2", "1, 2"),
        ),
    ),
    Misconception(
        "batch-and-tokens-joined",
        "batch and tokens have become one axis",
        "The stub asks for (B, T, D), with the batch kept apart.",
        (change("start_dim=2)", "start_dim=2).flatten(0, 1)"),),
    ),
    Misconception(
        "tokens-and-features-joined",
        "tokens and features have become one axis: the result is (B, H, T*K)",
        "It is heads and features that are to be joined, and they are not neighbours yet.",
        (change("transpose(1, 2).", ""),),
    ),
    Misconception(
        "one-head-only",
        "only one head is left",
        "Each token keeps all H * K numbers. Look at where the other heads are dropped.",
        (
            change("x.transpose(1, 2).flatten(start_dim=2)", "x[:, 0]"),
            change("x.transpose(1, 2).flatten(start_dim=2)", "x[:, -1]"),
        ),
    ),
    Misconception(
        "heads-reversed",
        "the heads are side by side, but from the last to the first",
        "Head 0 comes first, so that merging undoes splitting.",
        (change("x.transpose", "x.flip(1).transpose"),),
    ),
    with_wrong(DETACHED, no_gradients("merge_heads")),
    with_wrong(FLOAT32_ONLY, change("x.transpose", "x.float().transpose")),
    with_wrong(
        CHANGES_INPUT,
        change("return x.", "merged = x.")
        + change("start_dim=2)", "start_dim=2).clone()\n    x.zero_()\n    return merged"),
    ),
)


# --- several heads ---------------------------------------------------------------------------


def _cut(how: str) -> Change:
    """Cut the heads of a MultiHeadAttention in another way; `x` is what is cut."""
    return sum(
        (
            change(
                f"{name[0]} = reference.split_heads(self.{name[0]}_proj({name}), self.num_heads)",
                f"x = self.{name[0]}_proj({name})\n        {name[0]} = {how}",
            )
            for name in ("query", "key", "value")
        ),
        Change(()),
    )


def _projected(query: str, key: str, value: str) -> Change:
    """Let a MultiHeadAttention cut other things into heads."""
    return (
        change("self.q_proj(query)", query)
        + change("self.k_proj(key)", key)
        + change("self.v_proj(value)", value)
    )


def _merged(how: str) -> Change:
    return change("reference.merge_heads(heads)", how)


ACROSS_TIME = "x.reshape(len(x), self.num_heads, x.shape[1], -1)"
EVERY_HTH = "x.unflatten(2, (-1, self.num_heads)).permute(0, 3, 1, 2)"
# They differ where the mask has added an axis.
MERGES = (
    "heads.transpose(1, 2).flatten(2)",
    "heads.transpose(1, 2).reshape(heads.shape[0], -1, heads.shape[-3] * heads.shape[-1])",
    "torch.cat(heads.unbind(1), dim=-1)",
)

CUT_ACROSS_TIME = Misconception(
    "heads-cut-across-time",
    "the heads are cut by a straight reshape to (B, H, T, K)",
    "reshape and view never move numbers in memory: a head gets pieces of other tokens. Cut the "
    "last axis first, then exchange two axes.",
    (_cut(ACROSS_TIME),),
)
INTERLEAVED = Misconception(
    "heads-interleaved",
    "the heads take every H-th feature in turn",
    "Head h holds K features side by side. Look at the order of the two sizes of the cut.",
    (
        _cut(EVERY_HTH),
        _cut(EVERY_HTH) + _merged("heads.permute(0, 2, 3, 1).flatten(2)"),
    ),
)
NOT_TRANSPOSED = Misconception(
    "merge-without-transpose",
    "the heads are merged by a straight reshape of (B, H, T, K)",
    "Heads and tokens have to change places before heads and features are joined; reshape does not "
    "move anything.",
    (_merged("heads.reshape(query.shape)"),),
)
SINGLE_HEAD = Misconception(
    "single-head",
    "there is only one head over all D features",
    "num_heads has no effect here. Each head attends by itself with its own slice of features.",
    (change("self.num_heads = num_heads", "self.num_heads = 1"),),
)
MASK_SHAPE = Misconception(
    "mask-shape",
    "the mask does not fit the scores, though it has a shape of the contract",
    "The mask broadcasts to (B, H, T, S) as it comes. Look for an unsqueeze, an index or a reshape "
    "of the mask, and for scores that lack the head axis.",
    (
        *(
            HEADS_WRITTEN_OUT + change("~mask", "~mask.unsqueeze(1)") + _merged(each)
            for each in MERGES
        ),
    ),
    r"must match|broadcast|expanded size|shape .* is invalid|[Ee]xpected|dimension",
)

PROJECTED = (("q_proj", "query"), ("k_proj", "key"), ("v_proj", "value"))


def _linear(layer: str, argument: str, turned: str = "", bias: str = ", self.{}.bias") -> str:
    """Write out the call of a linear layer, with another weight or without the bias."""
    return f"F.linear({argument}, self.{layer}.weight{turned}{bias.format(layer)})"


MULTI_HEAD = (
    *after(HEADS_WRITTEN_OUT, BY_HEADS, *OF_THE_SCALE, OVER_QUERIES, OVER_HEADS, NO_SOFTMAX),
    *after(HEADS_WRITTEN_OUT, *OF_THE_MASK),
    CUT_ACROSS_TIME,
    INTERLEAVED,
    NOT_TRANSPOSED,
    SINGLE_HEAD,
    MASK_SHAPE,
    Misconception(
        "bias-not-used",
        "the biases of the linear layers are not used",
        "A linear layer is x W^T + b. To call the layer does both.",
        (
            _projected(*(_linear(*each, bias="") for each in PROJECTED))
            + change("self.out_proj(", "F.linear(")
            + change("merge_heads(heads))", "merge_heads(heads), self.out_proj.weight)"),
            _projected(*(_linear(*each, bias="") for each in PROJECTED)),
        ),
    ),
    Misconception(
        "weight-not-transposed",
        "the weights of the linear layers are not transposed",
        "nn.Linear keeps its weight as (out, in) and computes x W^T + b. To call the layer does "
        "so.",
        (
            _projected(*(_linear(*each, turned=".T") for each in PROJECTED))
            + change("self.out_proj(", "F.linear(")
            + change(
                "merge_heads(heads))",
                "merge_heads(heads), self.out_proj.weight.T, self.out_proj.bias)",
            ),
            _projected(*(_linear(*each, turned=".T") for each in PROJECTED)),
        ),
    ),
    Misconception(
        "merged-in-turn",
        "merging takes one feature from each head in turn, not head behind head",
        "Head h had the features h*K to (h+1)*K - 1, and gets them back.",
        (change("reference.merge_heads(heads)", "heads.permute(0, 2, 3, 1).flatten(2)"),),
    ),
    Misconception(
        "no-out-proj",
        "the merged heads are returned without the output projection",
        "out_proj mixes what the heads have found. Look at the last step of forward.",
        (change("self.out_proj(reference.merge_heads(heads))", "reference.merge_heads(heads)"),),
    ),
    Misconception(
        "projections-exchanged",
        "k_proj and v_proj have changed places",
        "Each layer belongs to the argument of its name. Look at which layer gets which.",
        (_projected("self.q_proj(query)", "self.v_proj(key)", "self.k_proj(value)"),),
    ),
    Misconception(
        "sources-exchanged",
        "key and value have changed places: keys are made from the value and values from the key",
        "Each layer belongs to the argument of its name. Look at which argument goes where.",
        (_projected("self.q_proj(query)", "self.k_proj(value)", "self.v_proj(key)"),),
    ),
    Misconception(
        "value-from-key",
        "the values are made from the key argument",
        "In training code key and value are often the same tensor, here they are not. Look at what "
        "v_proj gets.",
        (change("self.v_proj(value)", "self.v_proj(key)"),),
    ),
    Misconception(
        "self-attention-only",
        "keys and values are made from the query",
        "This is self-attention only; in cross-attention keys and values come from elsewhere, with "
        "S tokens. Look at what k_proj and v_proj get.",
        (_projected("self.q_proj(query)", "self.k_proj(query)", "self.v_proj(query)"),),
        r"must match|shape|[Ee]xpected|size|dimension",
    ),
    Misconception(
        "one-projection",
        "query, key and value all go through q_proj",
        "Three roles need three layers. Look at which layer is used for key and value.",
        (_projected("self.q_proj(query)", "self.q_proj(key)", "self.q_proj(value)"),),
    ),
    Misconception(
        "not-projected",
        "query, key and value are not projected",
        "Before the heads are cut, each of the three goes through its own linear layer.",
        (_projected("query", "key", "value"),),
    ),
    Misconception(
        "value-not-projected",
        "the value is not projected",
        "All three go through their own layer, the value through v_proj.",
        (change("self.v_proj(value)", "value"),),
    ),
    Misconception(
        "residual-included",
        "the query is added to the result",
        "The residual connection belongs to the layer around attention, not into it.",
        (change("return self.out_proj", "return query + self.out_proj"),),
    ),
    Misconception(
        "no-bias",
        "a linear layer has no bias",
        "All four layers of the contract have one. Look at how the layers are made.",
        (
            change(
                "self.q_proj = nn.Linear(d_model, d_model",
                "self.q_proj = nn.Linear(d_model, d_model, False",
            ),
        ),
        r"has no bias",
    ),
    Misconception(
        "wrong-names",
        "the layers have other names than the stub lists",
        "Weights are copied in by name: q_proj, k_proj, v_proj and out_proj.",
        (
            change("self.q_proj = ", "self.query_layer = ")
            + change("self.q_proj(", "self.query_layer("),
        ),
        r"has no layer",
    ),
    Misconception(
        "returns-weights-too",
        "forward returns more than the output",
        "The stub asks for one tensor (B, T, D).",
        (change("merge_heads(heads))", "merge_heads(heads)), heads"),),
        r"expected one tensor, received a (tuple|list)",
    ),
    with_wrong(
        DETACHED,
        change("merge_heads(heads))", "merge_heads(heads)).detach()"),
        change("merge_heads(heads)", "merge_heads(heads).detach()"),
        _projected(
            "self.q_proj(query)", "self.k_proj(key.detach())", "self.v_proj(value.detach())"
        ),
        change("(q, k, v, mask)", "(q.detach(), k.detach(), v.detach(), mask)"),
        HEADS_WRITTEN_OUT + change("dim=-1)", "dim=-1).detach()"),
    ),
    with_wrong(
        FLOAT32_ONLY,
        change("merge_heads(heads))", "merge_heads(heads)).float()"),
        _projected(
            "self.q_proj(query.float())", "self.k_proj(key.float())", "self.v_proj(value.float())"
        ),
    ),
)


# --- find the bug ----------------------------------------------------------------------------


def _reshaped(old: str, new: str) -> Change:
    """Reshape query, key and value of `multi_head_attention` in another way."""
    return sum(
        (
            change(
                f"{name}.reshape(batch, {length}, {old}",
                f"{name}.reshape(batch, {new.format(length)}",
            )
            for name, length in (("query", "queries"), ("key", "keys"), ("value", "keys"))
        ),
        Change(()),
    )


CUT = "num_heads, head_size).transpose(1, 2)"

BUG = (
    Misconception(
        "still-scaled-by-num-heads",
        "the bug is still in it",
        "Take one query and one key of one head: how many products does their score sum up?",
        (change("math.sqrt(head_size)", "math.sqrt(num_heads)"),),
    ),
    Misconception(
        "scaled-by-num-heads-without-root",
        "the scores are divided by the number of heads",
        "The root was not the bug. Take one query and one key of one head: how many products does "
        "their score sum up?",
        (change("math.sqrt(head_size)", "num_heads"),),
    ),
    Misconception(
        "scaled-by-batch",
        "the scale comes from the size of the batch",
        "After the heads are cut the axes have other places. K is the last one.",
        (change("math.sqrt(head_size)", "math.sqrt(batch)"),),
    ),
    *OF_THE_SCALE,
    OVER_QUERIES,
    OVER_HEADS,
    NO_SOFTMAX,
    *OF_THE_MASK,
    with_wrong(
        CUT_ACROSS_TIME,
        _reshaped(CUT, "num_heads, {}, head_size)"),
    ),
    with_wrong(
        INTERLEAVED,
        _reshaped(CUT, "{}, head_size, num_heads).permute(0, 3, 1, 2)"),
        _reshaped(CUT, "{}, head_size, num_heads).permute(0, 3, 1, 2)")
        + change("heads.transpose(1, 2)", "heads.permute(0, 2, 3, 1)"),
    ),
    with_wrong(NOT_TRANSPOSED, change("heads.transpose(1, 2)", "heads")),
    with_wrong(
        SINGLE_HEAD,
        change("head_size = d_model // num_heads", "num_heads, head_size = 1, d_model"),
    ),
    with_wrong(
        MASK_SHAPE,
        *(
            change("~mask", "~mask.unsqueeze(1)")
            + change("heads.transpose(1, 2).reshape(batch, queries, d_model)", each)
            for each in MERGES
        ),
    ),
    Misconception(
        "key-for-value",
        "the weights are applied to the keys where the values belong",
        "That line was right. The bug makes the softmax too sharp or too flat, no more.",
        (change("@ value", "@ key"),),
    ),
    with_wrong(DETACHED, no_gradients("multi_head_attention")),
    with_wrong(
        FLOAT32_ONLY,
        change("query.reshape", "query.float().reshape")
        + change("key.reshape", "key.float().reshape")
        + change("value.reshape", "value.float().reshape"),
    ),
)


# --- which head does the work ----------------------------------------------------------------


def _rest(*lines: str) -> Change:
    """Silence something else than the head; `lines` make the `rest` that goes to out_proj."""
    body = "".join(f"        {line}\n" for line in lines)
    return change("        rest = heads.clone()\n        rest[:, head] = 0.0\n", body)


def _joined(where: str) -> Change:
    """Zero this part of the joined heads, (B, T, D)."""
    return _rest(
        "size = heads.shape[-1]",
        "joined = reference.merge_heads(heads).clone()",
        f"joined[{where}] = 0.0",
    ) + change("reference.merge_heads(rest)", "joined")


def _projected_again(name: str, where: str) -> Change:
    """Zero a part of the weight of one of the projections, and attend again."""
    arguments = ", ".join("again" if each == name else each for each in "qkv")
    return _rest(
        "part = slice(head * q.shape[-1], (head + 1) * q.shape[-1])",
        f"weight = module.{name}_proj.weight.clone()",
        f"weight[{where}] = 0.0",
        f"again = F.linear(x, weight, module.{name}_proj.bias)",
        "again = reference.split_heads(again, module.num_heads)",
        f"rest, _ = reference.scaled_dot_product_attention({arguments})",
    )


def _size(how: str) -> Change:
    """Measure the size of the change in another way."""
    return change("changed.square().mean()", how)


# How large a change is; blocks measures its changes in the same words.
MEASURED = (
    Misconception(
        "not-compared",
        "what is left of the output is measured, not how much it has changed",
        "Take the difference to the output of the whole module before you square.",
        (change(" - whole", ""),),
    ),
    Misconception(
        "absolute",
        "the absolute change is averaged, not the squared one",
        "The size of the change is the mean of its squares.",
        (_size("changed.abs().mean()"),),
    ),
    Misconception(
        "summed",
        "squared changes are added up, not averaged over all numbers",
        "The mean runs over all numbers of the output. Look at what each reduction divides by.",
        (
            _size("changed.square().sum()"),
            _size("changed.square().sum(dim=-1).mean()"),
            _size("changed.square().sum() / len(x)"),
        ),
    ),
    Misconception(
        "root-taken",
        "a root is taken of the mean of the squares",
        "The size is the mean of the squared change itself. Look for sqrt, norm or std.",
        (_size("changed.square().mean().sqrt()"), _size("changed.norm()")),
    ),
    Misconception(
        "averaged-before-squared",
        "changes up and down cancel each other, as the mean is taken first",
        "A change of -2 is as large as one of 2. Square every number, then average.",
        (_size("changed.mean()"), _size("changed.mean().square()"), _size("changed.mean().abs()")),
    ),
    Misconception(
        "relative",
        "the damage is divided by something: the size of the output, or all damages together",
        "The mean of the squared change is asked for as it is.",
        (
            change("torch.stack(damage)", "torch.stack(damage).div(whole.square().mean())"),
            change("torch.stack(damage)", "torch.stack(damage).div(sum(damage))"),
        ),
    ),
)

OF_WEIGHT = "module.out_proj.weight[:, head * rest.shape[-1] : (head + 1) * rest.shape[-1]]"
SILENT_HOOK = (
    "def silence(layer, given, head=head, size=heads.shape[-1]):",
    "    joined = given[0].clone()",
    "    joined[..., head * size : (head + 1) * size] = 0.0",
    "    return joined",
    "hook = module.out_proj.register_forward_pre_hook(silence)",
    "rest = heads",
)
OTHER_HEADS = change("rest = heads.clone()", "rest = torch.zeros_like(heads)")

DAMAGE = (
    Misconception(
        "map-silenced",
        "the scores of the head are silenced, and not what the head has found",
        "Equal scores are no silence: the softmax makes equal weights of them, and the head hands "
        "over the plain mean of its values. Look at where in the chain the zeros come in.",
        (
            _rest(
                "rest = heads.clone()",
                "rest[:, head] = v[:, head].mean(dim=1, keepdim=True)",
            ),
            _projected_again("q", "part"),
        ),
    ),
    Misconception(
        "inputs-of-a-projection-silenced",
        "columns of q_proj, k_proj or v_proj are zeroed: those are features of x",
        "The heads are cut from what a projection gives out, not from what goes in. Silence what "
        "the head has found, after the attention.",
        (
            _projected_again("q", ":, part"),
            _projected_again("k", ":, part"),
            _projected_again("v", ":, part"),
        ),
    ),
    Misconception(
        "features-of-x-silenced",
        "a slice of x is zeroed, before any head has seen it",
        "Every head reads all features of x. What belongs to one head alone is its slice of the "
        "joined heads, which goes into out_proj.",
        (
            _rest(
                "less = x.clone()",
                "size = q.shape[-1]",
                "less[..., head * size : (head + 1) * size] = 0.0",
                "projections = (module.q_proj, module.k_proj, module.v_proj)",
                "cut = [reference.split_heads(each(less), len(heads[0])) for each in projections]",
                "rest, _ = reference.scaled_dot_product_attention(*cut)",
            ),
        ),
    ),
    Misconception(
        "bias-of-the-values-left",
        "the weights that make the head's values are zeroed, and their bias still speaks",
        "The head hands over the bias of v_proj now. Silence what the head has found, after the "
        "attention: then no bias can be forgotten.",
        (_projected_again("v", "part"),),
    ),
    Misconception(
        "after-out-proj",
        "numbers of the output are zeroed, behind out_proj",
        "out_proj mixes the heads: no number of the output belongs to one head. The zeros have to "
        "come in before it.",
        (
            _rest(
                "rest = whole.unflatten(-1, (module.num_heads, -1)).clone()",
                "rest[:, :, head] = 0.0",
            )
            + change("module.out_proj(reference.merge_heads(rest))", "rest.flatten(2)"),
            _rest(
                "rest = whole - module.out_proj.bias",
                "rest = rest.unflatten(-1, (module.num_heads, -1)).clone()",
                "rest[:, :, head] = 0.0",
            )
            + change(
                "module.out_proj(reference.merge_heads(rest))",
                "rest.flatten(2) + module.out_proj.bias",
            ),
        ),
    ),
    Misconception(
        "tokens-silenced",
        "tokens are zeroed, not the features of a head",
        "A head sees all tokens and writes its own K features of each. Count the axes: (B, H, T, "
        "K) before the heads are joined, (B, T, D) after that.",
        (
            change("rest[:, head]", "rest[:, :, head]"),
            _joined(":, head * size : (head + 1) * size"),
        ),
        r"out of bounds|out of range",
    ),
    Misconception(
        "sequences-silenced",
        "a sequence of the batch is zeroed, not a head",
        "The first axis of (B, H, T, K) is the batch. Look at the index that gets the zeros.",
        (change("rest[:, head]", "rest[head]"),),
        r"out of bounds|out of range",
    ),
    Misconception(
        "every-hth-feature",
        "every H-th feature is zeroed, and so a bit of each head",
        "A head holds K features side by side: h*K to (h+1)*K - 1.",
        (_joined("..., head :: module.num_heads"),),
    ),
    Misconception(
        "one-feature",
        "a single feature is zeroed, not the K features of the head",
        "Feature h of the joined heads is not head h, which holds h*K to (h+1)*K - 1.",
        (_joined("..., head"),),
    ),
    Misconception(
        "all-but-the-head",
        "all heads but one are silenced",
        "The question is what is lost when this head alone is silent, and all others speak.",
        (OTHER_HEADS + change("rest[:, head] = 0.0", "rest[:, head] = heads[:, head]"),),
    ),
    Misconception(
        "silenced-for-good",
        "the heads that were silenced before are still silent when the next one is",
        "Each head is silenced alone, so each round starts from the heads as they were. Look for "
        "an assignment that reaches the tensor of the round before, where a copy is needed.",
        (change("rest = heads.clone()", "rest = heads"),),
    ),
    Misconception(
        "weights-left-zeroed",
        "weights of the module are zeroed and not put back",
        "Whoever uses the module next gets one that lacks its heads. Put back what you change, or "
        "zero the tensor that goes into out_proj and leave the weights alone.",
        (
            change("rest[:, head] = 0.0", f"{OF_WEIGHT}.data.zero_()"),
            change(
                "    return",
                "    module.out_proj.weight.data[:, -rest.shape[-1] :] = 0.0\n    return",
            ),
        ),
    ),
    Misconception(
        "hooks-left",
        "a hook stays on the module after the call",
        "register_forward_pre_hook gives a handle back, and its remove() takes the hook away "
        "again. Do that for every hook, right after the call that needs it.",
        (
            _rest(*SILENT_HOOK),
            _rest("if head:", "    hook.remove()", *SILENT_HOOK),
            change("rest = heads.clone()", f"rest = heads.clone()\n        {SILENT_HOOK[0]}")
            + change(
                "size=heads.shape[-1]):",
                "size=heads.shape[-1]):\n            return None\n"
                "        module.out_proj.register_forward_pre_hook(silence)",
            ),
        ),
    ),
    Misconception(
        "bias-of-out-proj-forgotten",
        "one of the two outputs has the bias of out_proj, and the other has not",
        "Their difference then holds the bias. Both go through the same layer, weight and bias.",
        (
            change(
                "module.out_proj(reference.merge_heads(rest))",
                "reference.merge_heads(rest) @ module.out_proj.weight.T",
            ),
        ),
    ),
    Misconception(
        "before-out-proj",
        "the change of the joined heads is measured, not that of the output",
        "A head may be loud and out_proj may hardly listen to it. Send both through out_proj, then "
        "compare.",
        (
            change(
                "module.out_proj(reference.merge_heads(rest)) - whole",
                "reference.merge_heads(rest) - reference.merge_heads(heads)",
            ),
        ),
    ),
    *MEASURED,
)

ALONE = (
    "        for head in pair:\n"
    "            rest = heads.clone()\n"
    "            rest[:, head] = 0.0\n"
    "            changed = module.out_proj(reference.merge_heads(rest)) - whole\n"
    "            damage[pair] {} changed.square().mean().item()\n"
)
TOGETHER = "        damage[pair] = changed.square().mean().item()\n"


PAIR = (
    Misconception(
        "least-alone",
        "these are the two heads that do the least damage one at a time",
        "Damages of single heads do not add up: two heads may replace each other, or cancel. "
        "Silence both of a pair at once, for every pair.",
        (change(TOGETHER, f"        damage[pair] = 0.0\n{ALONE.format('+=')}"),),
    ),
    Misconception(
        "alike-taken-for-redundant",
        "these are two heads that do the same work, and together they do more than twice as much",
        "Of two heads that do the same one may be spare, but without both the work is not done. "
        "Look at the damage of the pair.",
        (
            change(
                TOGETHER,
                f"        damage[pair] = -changed.square().mean().item()\n{ALONE.format('+=')}",
            ),
        ),
    ),
    Misconception(
        "largest-saving",
        "these are the two heads whose damage together is the furthest below the sum of the two",
        "Such heads work against each other, and what is left may still be much. The damage of the "
        "pair itself has to be the smallest.",
        (change(TOGETHER, f"{TOGETHER}{ALONE.format('-=')}"),),
    ),
    Misconception(
        "one-head-twice",
        "one head is tried together with itself",
        "Two heads are asked for. To silence one of them twice is to silence it once.",
        (
            change(
                "combinations(range(module.num_heads), 2)",
                "[(a, b) for a in range(module.num_heads) for b in range(module.num_heads)]",
            ),
        ),
    ),
    Misconception(
        "most-damage",
        "these are the two heads that are needed most",
        "Redundant heads are those whose silence changes the output least.",
        (change("min(damage", "max(damage"),),
    ),
    Misconception(
        "all-but-the-pair",
        "all heads but the two are silenced",
        "That finds the pair which does best alone. Silence the two, and let all others speak.",
        (
            OTHER_HEADS
            + change("rest[:, list(pair)] = 0.0", "rest[:, list(pair)] = heads[:, list(pair)]"),
        ),
    ),
    Misconception(
        "neighbours-only",
        "only heads that stand side by side are tried",
        "Any two heads may be redundant: there are H (H - 1) / 2 pairs.",
        (
            change(
                "combinations(range(module.num_heads), 2)",
                "zip(range(module.num_heads), range(1, module.num_heads))",
            ),
        ),
    ),
    Misconception(
        "averaged-before-squared",
        "changes up and down cancel each other, as the mean is taken first",
        "A change of -2 is as large as one of 2. Square every number, then average.",
        (
            change("changed.square().mean()", "changed.mean()"),
            change("changed.square().mean()", "changed.mean().abs()"),
        ),
    ),
    Misconception(
        "before-out-proj",
        "the change of the joined heads is measured, not that of the output",
        "Whether two heads cancel each other shows only behind out_proj, where they meet.",
        (
            change(
                "module.out_proj(reference.merge_heads(rest)) - whole",
                "reference.merge_heads(rest) - reference.merge_heads(heads)",
            ),
        ),
    ),
    Misconception(
        "silenced-for-good",
        "the heads that were silenced before are still silent when the next pair is",
        "Each round starts from the heads as they were: a copy is needed.",
        (change("rest = heads.clone()", "rest = heads"),),
    ),
    Misconception(
        "counted-from-one",
        "the heads are counted from 1",
        "The first head is number 0, as everywhere in Python.",
        (change("list(best)", "[head + 1 for head in best]"),),
    ),
    Misconception(
        "larger-first",
        "the right two heads, the larger number first",
        "The smaller number comes first.",
        (change("list(best)", "sorted(best, reverse=True)"),),
    ),
    with_wrong(
        TENSOR_FOR_NUMBER,
        change("list(best)", "torch.tensor(best)"),
        change("list(best)", "list(torch.tensor(best))"),
    ),
)

MISCONCEPTIONS = {
    "attention_scores": SCORES,
    "scaled_dot_product_attention": ATTENTION,
    "split_heads": SPLIT,
    "merge_heads": MERGE,
    "MultiHeadAttention": MULTI_HEAD,
    "find_the_bug": BUG,
    "damage_by_head": DAMAGE,
    "redundant_heads": PAIR,
}
