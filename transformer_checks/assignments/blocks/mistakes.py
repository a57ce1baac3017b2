"""The misconceptions of the assignment "blocks", task by task, each a change to the answer.

They come from the notes that the course corrects (LayerNorm over all axes but the batch), from
tutorials that are widely read (unbiased deviation plus eps, as in the Annotated Transformer), from
other architectures (RMSNorm, BLOOM's residual from the norm, GPT-J's parallel layers), and from
libraries whose attention takes (value, key, query).
Twins that give the same numbers are one entry: one norm object under two names and the second norm
used twice; sources exchanged in cross-attention and the arguments in another order; a count without
the norm of cross-attention and one without the bias of the second linear layer.
"""

from __future__ import annotations

from transformer_checks.assignments.attention.mistakes import MEASURED
from transformer_checks.assignments.shared_mistakes import (
    CHANGES_INPUT,
    FLOAT32_ONLY,
    TENSOR_FOR_NUMBER,
    after,
    no_gradients,
    with_wrong,
)
from transformer_checks.judging.changes import Change, change
from transformer_checks.judging.general_mistakes import DETACHED
from transformer_checks.task import Misconception

# --- LayerNorm -------------------------------------------------------------------------------

# In both answers that norm.
ROOT = "torch.sqrt(variance + eps)"
ROOT_THEN_EPS = change(ROOT, "(torch.sqrt(variance) + eps)")

UNBIASED = Misconception(
    "unbiased-variance",
    "the variance is the unbiased one: the squares are divided by D - 1",
    "LayerNorm divides by D. torch's var and std divide by D - 1 unless they are told not to; look "
    "for their argument.",
    (change("correction=0", "correction=1"),),
)
EPS_OUTSIDE = Misconception(
    "eps-outside-the-root",
    "eps is added to the standard deviation, not to the variance",
    "eps stands inside the root, beside the variance. Look at what is done first, the root or the "
    "sum.",
    (ROOT_THEN_EPS,),
)
UNBIASED_OUTSIDE = Misconception(
    "unbiased-std-plus-eps",
    "two things at once: the deviation is the unbiased one, and eps stands outside the root",
    "A widely read tutorial has it so. LayerNorm divides the squares by D and adds eps to the "
    "variance, before the root.",
    (change("correction=0", "correction=1") + ROOT_THEN_EPS,),
)
OVER_BATCH = Misconception(
    "over-the-batch",
    "each feature is normed over the tokens: these are the axes of BatchNorm",
    "A token is normed by itself, over its own D features. Look at the axis of mean and variance.",
    (),
)
OVER_TOKENS = Misconception(
    "over-one-axis-of-tokens",
    "mean and variance are taken along another axis than that of the features",
    "The features are the last axis, however many stand in front. Count it from the end.",
    (),
    r"[Dd]imension out of range",
)
OVER_SENTENCE = Misconception(
    "over-tokens-and-features",
    "mean and variance are taken over tokens and features together",
    "That is how it is told for images, over all axes but the batch. In a Transformer each token "
    "is normed by itself: else what one token becomes depends on the others, and on padding.",
    (),
    r"[Dd]imension out of range",
)
OVER_ALL = Misconception(
    "over-everything",
    "one mean and one variance are taken over the whole tensor",
    "Each token has its own, over its D features. Look at whether mean and var are given an axis.",
    (),
)

VARIANCE = "x.var(dim=-1, keepdim=True, correction=0)"
SUM_OF_SQUARES = change(VARIANCE, "(x - mean).square().sum(dim=-1, keepdim=True)")
MEAN_DETACHED = change("mean(dim=-1, keepdim=True)", "mean(dim=-1, keepdim=True).detach()")
VARIANCE_DETACHED = change(VARIANCE, f"{VARIANCE}.detach()")


def _over(*axes: str) -> tuple[Change, ...]:
    """Take mean and variance of layer_norm over other axes; it is asked with 1 to 4."""
    return tuple(
        change("x.mean(dim=-1", f"x.mean(dim={each}") + change("x.var(dim=-1", f"x.var(dim={each}")
        for each in axes
    )


LAYER_NORM = (
    UNBIASED,
    with_wrong(EPS_OUTSIDE, ROOT_THEN_EPS, change(ROOT, "(torch.sqrt(variance) + eps**0.5)")),
    UNBIASED_OUTSIDE,
    Misconception(
        "brackets-missing",
        "only the mean is divided by the root, and not the difference",
        "Python divides before it subtracts. The difference x - mean needs brackets.",
        (
            change("(x - mean) / torch.sqrt(variance + eps)", f"(x - mean / {ROOT})"),
            change("return (x - mean)", "return x - mean"),
        ),
    ),
    Misconception(
        "eps-as-a-floor",
        "eps hardly counts: it is a floor under the deviation, or a tiny number stands for it",
        "eps is added to the variance of every token, and not only where that is small.",
        (
            change(ROOT, "torch.sqrt(variance).clamp_min(eps)"),
            change(ROOT, "torch.sqrt(variance.clamp_min(eps))"),
        ),
    ),
    Misconception(
        "eps-missing",
        "eps is not used",
        "It keeps the division finite where all features of a token are equal. It belongs to the "
        "variance, inside the root.",
        (change(ROOT, "torch.sqrt(variance)"),),
    ),
    Misconception(
        "eps-fixed",
        "eps is a number of your own, not the argument",
        "The caller says how large it is. Look for 1e-5 or 1e-6 in the code.",
        (*(change(ROOT, f"torch.sqrt(variance + {eps})") for eps in (1e-5, 1e-6, 1e-8)),),
    ),
    with_wrong(
        OVER_SENTENCE,
        *_over("tuple(range(min(1, x.ndim - 1), x.ndim))", "(-2, -1)[-x.ndim :]", "(1, 2)"),
    ),
    with_wrong(OVER_BATCH, *_over("tuple(range(x.ndim - 1)) or -1", "(0, 1)[: x.ndim]")),
    with_wrong(
        OVER_TOKENS,
        *_over("0", "min(1, x.ndim - 1)", "min(2, x.ndim - 1)", "max(-2, -x.ndim)", "1"),
    ),
    with_wrong(OVER_ALL, *_over("tuple(range(x.ndim))")),
    Misconception(
        "mean-not-taken-off",
        "the mean is not taken off",
        "That is RMSNorm, which newer models use. LayerNorm first makes the mean of each token 0.",
        (
            change("return (x - mean)", "return x")
            + change(VARIANCE, "x.square().mean(dim=-1, keepdim=True)"),
            change("return (x - mean)", "return x"),
        ),
    ),
    Misconception(
        "not-divided",
        "the mean is taken off, but nothing is divided by the deviation",
        "After the norm each token has the mean 0 and the variance 1, before weight and bias.",
        (change(f" / {ROOT}", ""),),
    ),
    Misconception(
        "divided-by-the-variance",
        "the division is by the variance, not by its root",
        "Variance is a square. Look for the missing root.",
        (change(ROOT, "(variance + eps)"),),
    ),
    Misconception(
        "sum-of-squares",
        "the squares are summed up, not averaged: each token gets the length 1",
        "The variance is the mean of the squares. Look for sum or norm where mean belongs.",
        (
            SUM_OF_SQUARES,
            SUM_OF_SQUARES + ROOT_THEN_EPS,
            SUM_OF_SQUARES + change(ROOT, "torch.sqrt(variance)"),
        ),
    ),
    Misconception(
        "weight-not-used",
        "the weight is not used",
        "After the norm each feature is multiplied by its own weight.",
        (change(" * weight + bias\n", " + bias\n"),),
    ),
    Misconception(
        "bias-not-used",
        "the bias is not used",
        "At the end each feature gets its own bias.",
        (change(" * weight + bias\n", " * weight\n"),),
    ),
    Misconception(
        "neither-weight-nor-bias",
        "neither weight nor bias is used",
        "After the norm each feature is multiplied by its own weight, and gets its own bias.",
        (change(" * weight + bias\n", "\n"),),
    ),
    Misconception(
        "weight-and-bias-exchanged",
        "weight and bias have changed places",
        "The weight multiplies, the bias is added.",
        (change(" * weight + bias\n", " * bias + weight\n"),),
    ),
    Misconception(
        "bias-weighted-too",
        "the bias is added before the weight multiplies",
        "Multiply first, then add: the weight acts on the normed features only.",
        (
            change("return (x - mean)", "return ((x - mean)")
            + change("* weight + bias\n", "+ bias) * weight\n"),
        ),
    ),
    Misconception(
        "one-plus-weight",
        "the factor is 1 + weight",
        "Some models store the weight so. Here the weight itself is the factor.",
        (change(" * weight + bias\n", " * (1 + weight) + bias\n"),),
    ),
    Misconception(
        "no-keepdim",
        "mean and variance have lost an axis, so that they meet the wrong numbers",
        "(B, T) does not fit (B, T, D): broadcasting counts axes from the end. Look for the "
        "argument that keeps the axis with size 1.",
        (
            change("mean(dim=-1, keepdim=True)", "mean(dim=-1)")
            + change(VARIANCE, "x.var(dim=-1, correction=0)"),
            change("mean(dim=-1, keepdim=True)", "mean(dim=-1)")
            + change(VARIANCE, "x.var(dim=-1)"),
        ),
        r"must match the size",
    ),
    with_wrong(
        DETACHED,
        no_gradients("layer_norm"),
        MEAN_DETACHED + VARIANCE_DETACHED,
        VARIANCE_DETACHED,
        MEAN_DETACHED,
    ),
    with_wrong(
        FLOAT32_ONLY,
        change("x.mean(", "x.float().mean(")
        + change("x.var(", "x.float().var(")
        + change("return (x - mean)", "return (x.float() - mean)")
        + change("* weight + bias\n", "* weight.float() + bias.float()\n"),
    ),
    with_wrong(CHANGES_INPUT, change("return (x - mean)", "return x.sub_(mean)")),
)


# --- the feed-forward network ----------------------------------------------------------------

HIDDEN = "torch.relu(self.linear1(x))"
RESULT = f"self.linear2({HIDDEN})"
ANOTHER_FUNCTION = (
    "F.gelu",
    'nn.GELU("tanh")',
    "F.silu",
    "torch.tanh",
    "torch.sigmoid",
    "F.leaky_relu",
    "F.elu",
    "F.softplus",
    "F.relu6",
    "nn.LeakyReLU(0.1)",
    "nn.LeakyReLU(0.2)",
)
# What is said of a weight that is built the other way round.
TURNED_ROUND = r"has shape \((\d+), (\d+)\), expected \(\2, \1\)"


def _made(first: str, second: str) -> Change:
    """Make the two layers in another way."""
    return change("self.linear1 = nn.Linear(d_model, d_ff)", first) + change(
        "self.linear2 = nn.Linear(d_ff, d_model)", second
    )


FEED_FORWARD = (
    Misconception(
        "no-activation",
        "there is no ReLU between the two layers",
        "Two linear layers in a row are one linear layer. Look at what stands between them.",
        (change(HIDDEN, "self.linear1(x)"),),
    ),
    Misconception(
        "another-activation",
        "the function between the two layers is not ReLU",
        "The paper's is max(0, x). GELU and SiLU came later, tanh and the sigmoid before.",
        (*(change("torch.relu", each) for each in ANOTHER_FUNCTION),),
    ),
    Misconception(
        "softmax",
        "a softmax stands between the two layers",
        "The paper's function is max(0, x), for each number by itself.",
        (change(HIDDEN, "torch.softmax(self.linear1(x), dim=-1)"),),
    ),
    Misconception(
        "activation-at-the-end",
        "the result goes through a ReLU",
        "Only what is between the two layers is cut off below 0; the result may be negative.",
        (
            change(RESULT, "torch.relu(self.linear2(self.linear1(x)))"),
            change(RESULT, f"torch.relu({RESULT})"),
        ),
    ),
    Misconception(
        "activation-first",
        "the input goes through a ReLU",
        "The ReLU comes after the first layer.",
        (
            change(HIDDEN, "self.linear1(torch.relu(x))"),
            change(HIDDEN, "torch.relu(self.linear1(torch.relu(x)))"),
        ),
    ),
    Misconception(
        "residual-included",
        "the input is added to the result",
        "The residual sum belongs to the layer around this network, not into it.",
        (change(RESULT, f"x + {RESULT}"),),
    ),
    Misconception(
        "norm-included",
        "the result, or the input, goes through a LayerNorm",
        "The norm belongs to the layer around this network, not into it.",
        (
            change(RESULT, f"F.layer_norm({RESULT}, x.shape[-1:])"),
            change("self.linear1(x)", "self.linear1(F.layer_norm(x, x.shape[-1:]))"),
            change(RESULT, f"F.layer_norm(x + {RESULT}, x.shape[-1:])"),
        ),
    ),
    Misconception(
        "sizes-exchanged",
        "the sizes of the layers are exchanged: the first maps from d_ff to d_model",
        "linear1 goes from d_model to d_ff, linear2 comes back.",
        (
            _made(
                "self.linear1 = nn.Linear(d_ff, d_model)", "self.linear2 = nn.Linear(d_model, d_ff)"
            ),
        ),
        TURNED_ROUND,
    ),
    Misconception(
        "layers-exchanged",
        "linear1 and linear2 have changed places: linear2 maps to the hidden size",
        "linear1 comes first and goes from d_model to d_ff.",
        (
            _made(
                "self.linear1 = nn.Linear(d_ff, d_model)", "self.linear2 = nn.Linear(d_model, d_ff)"
            )
            + change(RESULT, "self.linear1(torch.relu(self.linear2(x)))"),
        ),
        TURNED_ROUND,
    ),
    Misconception(
        "d-ff-ignored",
        "the hidden layer has another size than d_ff",
        "linear1 goes from d_model to d_ff, linear2 comes back.",
        (
            change("        super()", "        d_ff = 4 * d_model\n        super()"),
            change("        super()", "        d_ff = d_model\n        super()"),
        ),
        r"linear1\.weight has shape \(\d+, (\d+)\), expected \(\d+, \1\)",
    ),
    Misconception(
        "no-bias",
        "a linear layer has no bias",
        "Both layers of the contract have one. Look at how they are made.",
        (
            change("nn.Linear(d_model, d_ff)", "nn.Linear(d_model, d_ff, bias=False)")
            + change("nn.Linear(d_ff, d_model)", "nn.Linear(d_ff, d_model, bias=False)"),
        ),
        r"has no bias",
    ),
    Misconception(
        "wrong-names",
        "the layers have other names than the stub lists",
        "Weights are copied in by name: linear1 and linear2.",
        (
            _made("self.fc1 = nn.Linear(d_model, d_ff)", "self.fc2 = nn.Linear(d_ff, d_model)")
            + change(RESULT, "self.fc2(torch.relu(self.fc1(x)))"),
        ),
        r"has no layer",
    ),
    Misconception(
        "one-layer-only",
        "the second layer is missing: the result has d_ff features",
        "linear2 maps the d_ff features back to d_model.",
        (change(RESULT, HIDDEN), change(RESULT, "self.linear1(x)")),
    ),
    with_wrong(
        DETACHED,
        change(RESULT, f"{RESULT}.detach()"),
        change("self.linear1(x)", "self.linear1(x.detach())"),
        change("self.linear1(x)", "self.linear1(x).detach()"),
    ),
    with_wrong(
        FLOAT32_ONLY,
        change(RESULT, f"{RESULT}.float()"),
        change("self.linear1(x)", "self.linear1(x.float())"),
    ),
    with_wrong(
        CHANGES_INPUT,
        change(f"return {RESULT}", f"result = {RESULT}\n        x.relu_()\n        return result"),
    ),
)


# --- both layers: norm and residual sum ------------------------------------------------------

# Many write norm and residual sum once, as a function: then a mistake in them is one change.
ADD = """\
        def add(x, norm, sublayer):
            if self.norm == "pre":
                return x + sublayer(norm(x))
            return norm(x + sublayer(x))

"""
PRE, POST = "x + sublayer(norm(x))", "norm(x + sublayer(x))"
END = "\n        return x"
# The answer writes them out for each kind of norm, where one of the two may be wrong alone.
InPreAndPost = tuple[Change, Change]


def _either(*places: InPreAndPost) -> tuple[Change, ...]:
    """Make the mistake at these places in both kinds of norm, in pre-norm, and in post-norm."""
    pre = sum((each for each, _ in places), Change(()))
    post = sum((each for _, each in places), Change(()))
    return pre + post, pre, post


def _first(line: str) -> Change:
    """Begin `forward` with one more line."""
    return change("        def add(", f"        {line}\n        def add(")


def _in_sums(pre: str, post: str) -> tuple[Change, ...]:
    """Write the sums in another way: both, that of pre-norm, and that of post-norm."""
    return _either((change(PRE, pre), change(POST, post)))


OWN_NORM = change(
    "add(x, norm, sublayer):\n",
    """\
add(x, layer, sublayer):
            def norm(x, axes=-1, eps=1e-5):
                variance = x.var(axes, keepdim=True, correction=0)
                normed = (x - x.mean(axes, keepdim=True)) / torch.sqrt(variance + eps)
                return normed * layer.weight + layer.bias

""",
)
UNBIASED_NORM = OWN_NORM + change("correction=0", "correction=1")
FEED_ANOTHER = "lambda y: self.feed_forward.linear2({}(self.feed_forward.linear1(y))))"

NO_RESIDUAL = Misconception(
    "no-residual",
    "a residual sum is missing",
    "Around each sublayer its input is added to its result. Without that the gradient of a deep "
    "stack vanishes.",
    (),
)
NO_SUM_AT_ATTENTION = (
    change("= x + self.self", "= self.self"),
    change("(x + self.self", "(self.self"),
)
NO_SUM_AT_MEMORY = (
    change("= x + self.cross", "= self.cross"),
    change("(x + self.cross", "(self.cross"),
)
NO_SUM_AT_FEED = (
    change("return x + self.feed", "return self.feed"),
    change("(x + self.feed", "(self.feed"),
)

NO_NORM = Misconception(
    "norm-missing",
    "a norm is missing",
    "Each sublayer has a norm of its own, in post-norm after its sum, in pre-norm before it.",
    (),
)
NO_FIRST_NORM = change("y = self.norm1(x)", "y = x"), change("self.norm1(x +", "(x +")

HEADS_IGNORED = Misconception(
    "heads-ignored",
    "attention has one head, whatever num_heads says",
    "Look at what is handed on to the attention when it is built.",
    (change("        super()", "        num_heads = 1\n        super()"),),
)

# The same ideas in both layers.
OF_BOTH_LAYERS = (
    Misconception(
        "pre-and-post-exchanged",
        'norm="post" and norm="pre" are exchanged',
        "Post is the paper's: the norm comes after the residual sum. Pre: it stands before the "
        "sublayer, and the sum is not normed.",
        (change('self.norm == "pre"', 'self.norm == "post"'),),
    ),
    Misconception(
        "always-post",
        'norm="pre" has no effect: the layer is always post-norm',
        'With norm="pre" the sublayer gets the normed x, and its result is added to x as it was.',
        (change('self.norm == "pre"', "False"),),
    ),
    Misconception(
        "always-pre",
        'the layer is always pre-norm, also with norm="post"',
        'With norm="post" the sublayer gets x as it is, and the sum goes through the norm.',
        (change('self.norm == "pre"', "True"),),
    ),
    Misconception(
        "default-is-pre",
        'without a word about the norm the layer is pre-norm; the stub has norm="post"',
        "Look at the default in __init__.",
        (change('norm: str = "post"', 'norm: str = "pre"'),),
    ),
    Misconception(
        "norm-inside-the-sum",
        "the norm is laid over the sublayer's result before it is added",
        "Post is norm(x + f(x)), with the sum inside the norm. Pre norms what goes into f, not "
        "what comes out.",
        _in_sums("x + norm(sublayer(x))", "x + norm(sublayer(x))"),
    ),
    Misconception(
        "residual-from-the-norm",
        "in pre-norm the normed x is added, not x itself",
        "The path of the residual sums goes past the norms, from the first layer to the last. Look "
        "at whether x was overwritten.",
        (
            change(PRE, "norm(x) + sublayer(norm(x))"),
            change(PRE, "norm(x) + sublayer(norm(x))")
            + change(POST, "norm(x) + sublayer(norm(x))"),
        ),
    ),
    Misconception(
        "normed-before-and-after",
        "the norm is applied twice, before the sublayer and after the sum",
        "It is one or the other: pre-norm before the sublayer, post-norm after the sum.",
        _in_sums("norm(x + sublayer(norm(x)))", "norm(x + sublayer(norm(x)))"),
    ),
    Misconception(
        "subtracted",
        "the sublayer's result is subtracted",
        "The residual connection is a sum: what the sublayer has found is added to what it was "
        "given.",
        (change(PRE, "x - sublayer(norm(x))") + change(POST, "norm(x - sublayer(x))"),),
    ),
    Misconception(
        "norm-of-ones-own",
        "the norms are not LayerNorm as torch has it",
        "Over the features of each token, the biased variance, eps 1e-5 inside the root. Look at "
        "your own norm, or take nn.LayerNorm.",
        (
            UNBIASED_NORM,
            UNBIASED_NORM + change("torch.sqrt(variance + eps)", "(torch.sqrt(variance) + eps)"),
            *(
                OWN_NORM + change("axes=-1", f"axes={axes}")
                for axes in ("(1, 2)", "(0, 1)", "1", "(0, 1, 2)")
            ),
        ),
    ),
    Misconception(
        "another-eps",
        "the norms have another eps than 1e-5",
        "It shows where the numbers are tiny. Take nn.LayerNorm(d_model) as it comes.",
        (*(OWN_NORM + change("eps=1e-5", f"eps={eps}") for eps in (1e-6, 1e-8, 1e-12)),),
    ),
    HEADS_IGNORED,
    Misconception(
        "no-argument-norm",
        "the class takes no argument `norm`",
        "The stub has it as the last one, with the default 'post'.",
        (change(', norm: str = "post"', "") + change("self.norm = norm", 'self.norm = "post"'),),
        r"unexpected keyword argument '?norm|positional arguments? but \d+ were given",
    ),
    Misconception(
        "wrong-names",
        "the parts have other names than the stub lists",
        "Weights are copied in by name, such as self_attention.q_proj.weight or "
        "feed_forward.linear1.",
        (change("self.feed_forward =", "self.ffn =") + change("self.feed_forward)", "self.ffn)"),),
        r"has no layer",
    ),
    Misconception(
        "d-ff-ignored",
        "the feed-forward network has another hidden size than d_ff",
        "Look at what is handed on to it when it is built.",
        (change("FeedForward(d_model, d_ff)", "FeedForward(d_model, 4 * d_model)"),),
        r"feed_forward\.linear1\.weight has shape",
    ),
    Misconception(
        "another-activation",
        "the feed-forward network has another function than ReLU in it, or none",
        "The paper's is max(0, x). Take the one of task 2.",
        (
            *(
                change("self.feed_forward)", FEED_ANOTHER.format(function))
                for function in ("", *ANOTHER_FUNCTION[:3])
            ),
        ),
    ),
    with_wrong(
        DETACHED,
        change(PRE, f"{PRE}.detach()") + change(POST, "norm(x + sublayer(x).detach())"),
        change(PRE, "x.detach() + sublayer(norm(x))")
        + change(POST, "norm(x.detach() + sublayer(x))"),
        no_gradients("forward"),
        _first("x = x.detach()"),
    ),
    with_wrong(FLOAT32_ONLY, change(END, f"{END}.float()"), _first("x = x.float()")),
    with_wrong(
        CHANGES_INPUT,
        change(PRE, "x.add_(sublayer(norm(x)))") + change(POST, "norm(x.add_(sublayer(x)))"),
        change(PRE, "x.add_(sublayer(norm(x)))"),
    ),
)

MASK_IGNORED = Misconception(
    "mask-ignored",
    "a mask has no effect",
    "The layer hands each mask on to the attention that it belongs to.",
    (),
)
MASK_INVERTED = Misconception(
    "mask-inverted",
    "a mask is the wrong way round: what may be seen is hidden",
    "True means may attend, in every mask of the course. Boolean masks of nn.MultiheadAttention "
    "are the other way round.",
    (),
)
NORM_REUSED = Misconception(
    "norm-reused",
    "a norm is used for more than one sublayer, or the norms are exchanged",
    "Each sublayer has its own: norm1 the first, norm2 the second, and so on. Look at which stands "
    "where, and that they are different objects.",
    (),
)
ORDER = Misconception(
    "order-of-the-sublayers",
    "the sublayers come in another order",
    "First the tokens look at each other, then at the memory if there is one, and at the end each "
    "is worked on by itself.",
    (),
)
SUBLAYER_MISSING = Misconception(
    "sublayer-missing",
    "a sublayer is left out",
    "Look at which of the parts that __init__ makes is used in forward.",
    (),
)
FROM_THE_START = Misconception(
    "residual-from-the-start",
    "a later residual sum adds the input of the whole layer",
    "Each sum adds the input of its own sublayer, which is what the sublayer before has given.",
    (),
)
NORM_AT_THE_END = Misconception(
    "norm-at-the-end",
    "a pre-norm layer ends with a norm",
    "Its result is the sum as it is. The one last norm belongs to the stack of layers.",
    (),
)
ONLY_QUERY_NORMED = Misconception(
    "only-the-query-is-normed",
    "in pre-norm only the query of self-attention is normed",
    "Query, key and value are all made from the normed x. Look at the three arguments.",
    (),
)
RETURNS_MORE = Misconception(
    "returns-more",
    "forward returns more than the new x",
    "The stub asks for one tensor of the shape of x; attention weights and masks stay inside.",
    (change(END, f"{END}, None"),),
    r"expected one tensor, received a (tuple|list)",
)


def _inverted(mask: str) -> Change:
    """Turn a mask round."""
    return _first(f"{mask} = None if {mask} is None else ~{mask}")


def _nan_for_the_blind(mask: str) -> Change:
    """Give NaN to a query that sees nothing, as attention written out does; the package zeros."""
    blind = f"torch.where({mask}.any(-1), 0.0, torch.nan).view(-1, {mask}.shape[-2], 1)"
    return change(END, f"{END} + (0 if {mask} is None else {blind})")


def _ends_with(norm: str) -> Change:
    """Put one more norm at the end of a pre-norm layer."""
    return change(END, f'{END} if self.norm == "post" else self.{norm}(x)')


def _sublayers(*pairs: tuple[int, str]) -> str:
    """Write the sublayers with `add`, each with the number of its norm."""
    return "".join(f"        x = add(x, self.norm{norm}, {each})\n" for norm, each in pairs)


FEED = "self.feed_forward"
START_KEPT = change("        if self.norm ==", "        start = x\n        if self.norm ==")
MEMORY_ADDS_START = (
    change("= x + self.cross", "= start + self.cross"),
    change("(x + self.cross", "(start + self.cross"),
)
FEED_ADDS_START = (
    change("return x + self.feed", "return start + self.feed"),
    change("(x + self.feed", "(start + self.feed"),
)

# --- the encoder's layer ---------------------------------------------------------------------

ATTEND = "lambda y: self.self_attention(y, y, y, mask)"
ENCODER_ORDER = _sublayers((1, ATTEND), (2, FEED))
ENCODER_ADDS = change(
    """\
        if self.norm == "pre":
            y = self.norm1(x)
            x = x + self.self_attention(y, y, y, mask)
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.self_attention(x, x, x, mask))
        return self.norm2(x + self.feed_forward(x))
""",
    f"{ADD}{ENCODER_ORDER}        return x\n",
)
NO_SECOND_NORM = change("(self.norm2(x))", "(x)"), change("self.norm2(x +", "(x +")
SIDE_BY_SIDE = (
    change(
        "x = x + self.self_attention(y, y, y, mask)\n            return x +",
        "return x + self.self_attention(y, y, y, mask) +",
    ),
    change(
        "x = self.norm1(x + self.self_attention(x, x, x, mask))\n        return self.norm2(x +",
        "return self.norm2(x + self.self_attention(x, x, x, mask) +",
    ),
)
NORMED_SIDE_BY_SIDE = change("x = self.norm1(x +", "found = self.norm1(x +") + change(
    "self.norm2(x + self", "self.norm2(found + self"
)

ENCODER_LAYER = (
    with_wrong(
        MASK_IGNORED,
        *_either((change("(y, y, y, mask)", "(y, y, y)"), change("(x, x, x, mask)", "(x, x, x)"))),
    ),
    *after(
        ENCODER_ADDS,
        with_wrong(
            MASK_INVERTED, _inverted("mask"), _inverted("mask") + _nan_for_the_blind("mask")
        ),
    ),
    with_wrong(
        NORM_REUSED,
        *_either((change("(self.norm2", "(self.norm1"), change("norm2(x +", "norm1(x +"))),
        *_either((change("y = self.norm1", "y = self.norm2"), change("norm1(x +", "norm2(x +"))),
        ENCODER_ADDS + change(ENCODER_ORDER, _sublayers((2, ATTEND), (1, FEED))),
    ),
    *after(
        ENCODER_ADDS,
        with_wrong(
            ORDER,
            change(ENCODER_ORDER, _sublayers((1, FEED), (2, ATTEND))),
            change(ENCODER_ORDER, _sublayers((2, FEED), (1, ATTEND))),
        ),
        with_wrong(
            SUBLAYER_MISSING,
            change(ENCODER_ORDER, _sublayers((2, FEED))),
            change(ENCODER_ORDER, _sublayers((1, ATTEND))),
        ),
    ),
    with_wrong(FROM_THE_START, *(START_KEPT + way for way in _either(FEED_ADDS_START))),
    Misconception(
        "in-parallel",
        "the sublayers all get the input of the layer, side by side",
        "Some models do it so. Here each sublayer works on what the one before has given.",
        (
            *_either(SIDE_BY_SIDE),
            *_either((SIDE_BY_SIDE[0], NORMED_SIDE_BY_SIDE))[::2],
            _either(SIDE_BY_SIDE)[0] + change("return self.norm2(", "return self.norm1("),
        ),
    ),
    *after(
        ENCODER_ADDS,
        with_wrong(NORM_AT_THE_END, _ends_with("norm2"), _ends_with("norm1")),
        with_wrong(ONLY_QUERY_NORMED, change("(y, y, y, mask)", "(y, x, x, mask)")),
        RETURNS_MORE,
    ),
    with_wrong(
        NO_RESIDUAL,
        *_either(NO_SUM_AT_ATTENTION),
        *_either(NO_SUM_AT_FEED),
        *_either(NO_SUM_AT_ATTENTION, NO_SUM_AT_FEED),
        *(START_KEPT + way for way in _either(NO_SUM_AT_ATTENTION, FEED_ADDS_START)),
    ),
    with_wrong(
        NO_NORM,
        *_either(NO_FIRST_NORM),
        *_either(NO_SECOND_NORM),
        *_either(NO_FIRST_NORM, NO_SECOND_NORM),
    ),
    *after(ENCODER_ADDS, *OF_BOTH_LAYERS),
)


# --- the decoder's layer ---------------------------------------------------------------------

OWN = "lambda y: self.self_attention(y, y, y, tgt_mask)"
LOOKED_UP = "(y, memory, memory, memory_mask)"
CROSS = f"lambda y: self.cross_attention{LOOKED_UP}"
DECODER_ORDER = _sublayers((1, OWN), (2, CROSS), (3, FEED))
DECODER_ADDS = change(
    """\
        if self.norm == "pre":
            y = self.norm1(x)
            x = x + self.self_attention(y, y, y, tgt_mask)
            y = self.norm2(x)
            x = x + self.cross_attention(y, memory, memory, memory_mask)
            return x + self.feed_forward(self.norm3(x))
        x = self.norm1(x + self.self_attention(x, x, x, tgt_mask))
        x = self.norm2(x + self.cross_attention(x, memory, memory, memory_mask))
        return self.norm3(x + self.feed_forward(x))
""",
    f"{ADD}{DECODER_ORDER}        return x\n",
)
NO_MEMORY_NORM = change("y = self.norm2(x)", "y = x"), change("self.norm2(x +", "(x +")
NO_THIRD_NORM = change("(self.norm3(x))", "(x)"), change("self.norm3(x +", "(x +")
CAUSAL = "torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril()"


def _in_cross(given: str) -> InPreAndPost:
    """Give cross-attention other arguments; {0} is the target."""
    return (
        change("(y, memory, memory, memory_mask)", given.format("y")),
        change("(x, memory, memory, memory_mask)", given.format("x")),
    )


DECODER_LAYER = (
    Misconception(
        "memory-as-query",
        "in cross-attention the memory asks, and the target answers",
        "The target asks (query), the source answers (key and value). The result then has one row "
        "for each target token, as the residual sum needs.",
        (
            *_either(_in_cross("(memory, {0}, {0}, memory_mask)")),
            DECODER_ADDS + change(LOOKED_UP, "(memory, memory, memory, memory_mask)"),
        ),
        r"must match|shape|[Ee]xpected|size|broadcast",
    ),
    *after(
        DECODER_ADDS,
        Misconception(
            "sources-mixed",
            "in cross-attention key and value come from different sequences",
            "Keys say where to look, values what is found there, so both are the memory. Look at "
            "the order of the arguments: some libraries take (value, key, query).",
            (
                change(LOOKED_UP, "(memory, memory, y, memory_mask)"),
                change(LOOKED_UP, "(y, memory, y, memory_mask)"),
                change(LOOKED_UP, "(y, y, memory, memory_mask)"),
                change(LOOKED_UP, "(memory, y, memory, memory_mask)"),
            ),
            r"must match|share the batch|shape|[Ee]xpected|size",
        ),
        Misconception(
            "memory-not-used",
            "the memory has no effect: cross-attention looks at the target itself",
            "Key and value of cross-attention are the memory.",
            (
                change(LOOKED_UP, "(y, y, y)"),
                change(LOOKED_UP, "(y, y, y, tgt_mask)"),
                change(LOOKED_UP, "(y, y, y, memory_mask)"),
            ),
            r"must match|broadcast|size",
        ),
    ),
    Misconception(
        "memory-normed",
        "the memory goes through norm2 as well",
        "In pre-norm the stack of the encoder ends with a norm of its own, so the memory is "
        "normed already. Only x goes through norm2.",
        (
            change(LOOKED_UP, "(y, self.norm2(memory), self.norm2(memory), memory_mask)"),
            DECODER_ADDS + _first("memory = self.norm2(memory)"),
        ),
    ),
    *after(
        DECODER_ADDS,
        Misconception(
            "masks-exchanged",
            "an attention gets the mask that belongs to the other one",
            "tgt_mask is (.., T, T) and belongs to self-attention, memory_mask is (.., T, S) and "
            "belongs to cross-attention.",
            (
                _first("tgt_mask, memory_mask = memory_mask, tgt_mask"),
                _first("memory_mask = tgt_mask"),
                _first("tgt_mask = memory_mask"),
            ),
            r"must match|broadcast|size",
        ),
    ),
    with_wrong(
        MASK_IGNORED,
        *_either(
            (change("(y, y, y, tgt_mask)", "(y, y, y)"), change("(x, x, x, tgt_mask)", "(x, x, x)"))
        ),
        *_either(_in_cross("({0}, memory, memory)")),
        DECODER_ADDS + _first("tgt_mask = memory_mask = None"),
    ),
    *after(
        DECODER_ADDS,
        with_wrong(
            MASK_INVERTED,
            _inverted("tgt_mask") + _inverted("memory_mask"),
            _inverted("tgt_mask") + _inverted("memory_mask") + _nan_for_the_blind("tgt_mask"),
            _inverted("tgt_mask"),
            _inverted("tgt_mask") + _nan_for_the_blind("tgt_mask"),
            _inverted("memory_mask"),
        ),
        Misconception(
            "causal-by-itself",
            "the layer makes a causal mask of its own",
            "Who calls the layer says what may be seen; without tgt_mask that is everything.",
            (
                _first(f"tgt_mask = {CAUSAL} if tgt_mask is None else tgt_mask"),
                _first(f"tgt_mask = {CAUSAL} & (True if tgt_mask is None else tgt_mask)"),
            ),
        ),
        Misconception(
            "one-attention-for-both",
            "self-attention and cross-attention share their weights",
            "They are two modules, self_attention and cross_attention. Look at which is called.",
            (
                change("self.cross_attention(y", "self.self_attention(y"),
                change("self.self_attention(y", "self.cross_attention(y"),
                change(OWN, OWN.replace("self_", "cross_"))
                + change(CROSS, CROSS.replace("cross_", "self_")),
            ),
        ),
    ),
    with_wrong(
        NORM_REUSED,
        *_either((change("(self.norm3", "(self.norm2"), change("norm3(x +", "norm2(x +"))),
        change("            y = self.norm2(x)\n", ""),
        *(
            DECODER_ADDS
            + change(DECODER_ORDER, _sublayers((first, OWN), (second, CROSS), (third, FEED)))
            for first, second, third in (
                *((1, 1, 1), (3, 3, 3), (1, 1, 3), (2, 2, 3), (1, 2, 1)),
                *((1, 3, 2), (2, 1, 3), (3, 2, 1)),
            )
        ),
    ),
    *after(
        DECODER_ADDS,
        with_wrong(
            ORDER,
            change(DECODER_ORDER, _sublayers((1, CROSS), (2, OWN), (3, FEED))),
            change(DECODER_ORDER, _sublayers((2, CROSS), (1, OWN), (3, FEED))),
            change(DECODER_ORDER, _sublayers((1, OWN), (2, FEED), (3, CROSS))),
            change(DECODER_ORDER, _sublayers((1, FEED), (2, OWN), (3, CROSS))),
        ),
        with_wrong(
            SUBLAYER_MISSING,
            change(DECODER_ORDER, _sublayers((2, CROSS), (3, FEED))),
            change(DECODER_ORDER, _sublayers((1, OWN), (3, FEED))),
            change(DECODER_ORDER, _sublayers((1, OWN), (2, CROSS))),
            change(DECODER_ORDER, _sublayers((1, OWN), (2, FEED))),
        ),
    ),
    with_wrong(
        FROM_THE_START,
        *(START_KEPT + way for way in _either(MEMORY_ADDS_START, FEED_ADDS_START)),
        START_KEPT + _either(MEMORY_ADDS_START)[0],
        START_KEPT + _either(FEED_ADDS_START)[0],
    ),
    *after(
        DECODER_ADDS,
        with_wrong(NORM_AT_THE_END, _ends_with("norm3")),
        with_wrong(ONLY_QUERY_NORMED, change("(y, y, y, tgt_mask)", "(y, x, x, tgt_mask)")),
        RETURNS_MORE,
    ),
    with_wrong(
        NO_RESIDUAL,
        *_either(NO_SUM_AT_ATTENTION),
        *_either(NO_SUM_AT_MEMORY),
        *_either(NO_SUM_AT_FEED),
        *_either(NO_SUM_AT_ATTENTION, NO_SUM_AT_MEMORY, NO_SUM_AT_FEED),
    ),
    with_wrong(
        NO_NORM,
        *_either(NO_FIRST_NORM),
        *_either(NO_MEMORY_NORM),
        *_either(NO_THIRD_NORM),
        *_either(NO_FIRST_NORM, NO_MEMORY_NORM, NO_THIRD_NORM),
    ),
    *after(DECODER_ADDS, *OF_BOTH_LAYERS),
)


# --- the count -------------------------------------------------------------------------------

ATTENTION_COUNT = "4 * (d_model * d_model + d_model)"
FEED_COUNT = "(d_model * d_ff + d_ff) + (d_ff * d_model + d_model)"
EMBEDDING, STACKS = "vocab_size * d_model", "num_layers * (encoder_layer + decoder_layer)"
WITHOUT_BIASES = change(ATTENTION_COUNT, "4 * d_model * d_model") + change(
    FEED_COUNT, "2 * d_model * d_ff"
)


def _instead(right: str, *wrong: str) -> tuple[Change, ...]:
    """Count something in other ways."""
    return tuple(change(right, each) for each in wrong)


COUNT = (
    Misconception(
        "no-biases",
        "the biases of the linear layers are not counted",
        "A linear layer from n to m has n * m weights and m biases. All of them have biases here.",
        (WITHOUT_BIASES,),
    ),
    Misconception(
        "matrices-only",
        "only the matrices are counted, neither biases nor norms",
        "A linear layer from n to m has n * m weights and m biases. A norm has a weight and a bias "
        "for each of the D features.",
        (WITHOUT_BIASES + change("norm = 2 * d_model", "norm = 0"),),
    ),
    Misconception(
        "no-biases-in-attention",
        "the biases of attention are not counted, or not all of them",
        "All four layers of an attention have a bias of size D.",
        _instead(
            ATTENTION_COUNT,
            "4 * d_model * d_model",
            "4 * d_model * d_model + d_model",
            "4 * d_model * d_model + 3 * d_model",
        ),
    ),
    Misconception(
        "biases-of-the-feed-forward-network",
        "the biases of the feed-forward network are miscounted",
        "The first layer gives d_ff numbers and so has d_ff biases; the second has D.",
        _instead(
            FEED_COUNT,
            "2 * d_model * d_ff",
            "2 * d_model * d_ff + 2 * d_model",
            "2 * d_model * d_ff + 2 * d_ff",
            "2 * d_model * d_ff + d_model",
        ),
    ),
    Misconception(
        "no-output-projection",
        "an attention is counted with three matrices",
        "Query, key, value, and the output projection behind the merged heads: four.",
        _instead(ATTENTION_COUNT, "3 * (d_model * d_model + d_model)", "3 * d_model * d_model"),
    ),
    Misconception(
        "one-matrix-an-attention",
        "an attention is counted with one or two matrices",
        "Query, key, value and output each have their own, of (D, D).",
        _instead(
            ATTENTION_COUNT, "d_model * d_model + d_model", "2 * (d_model * d_model + d_model)"
        ),
    ),
    Misconception(
        "one-matrix-in-the-feed-forward-network",
        "the feed-forward network is counted with one of its two matrices",
        "It goes from D to d_ff and comes back.",
        _instead(
            FEED_COUNT,
            "d_model * d_ff + d_ff",
            "d_model * d_ff + d_model",
            "d_model * d_ff + d_ff + d_model",
        ),
    ),
    Misconception(
        "d-ff-ignored",
        "the hidden size is taken for 4 D",
        "In the paper it is; here it is the argument d_ff.",
        _instead(FEED_COUNT, "8 * d_model * d_model + 5 * d_model"),
    ),
    Misconception(
        "no-cross-attention",
        "a layer of the decoder is counted with one attention",
        "It has two: self-attention and cross-attention.",
        (
            change("2 * attention", "attention"),
            change("2 * attention", "attention") + change("3 * norm", "2 * norm"),
        ),
    ),
    Misconception(
        "norms-of-a-layer",
        "the norms of a layer are miscounted",
        "Each sublayer has one: two in a layer of the encoder, three in one of the decoder.",
        (
            change("3 * norm", "2 * norm"),
            change("2 * norm", "norm") + change("3 * norm", "norm"),
            change("2 * norm", "3 * norm"),
            change("2 * norm", "norm") + change("3 * norm", "2 * norm"),
        ),
    ),
    Misconception(
        "parameters-of-a-norm",
        "the parameters of a LayerNorm are miscounted",
        "A weight and a bias for each of the D features. Mean and variance are computed, not "
        "learned.",
        _instead("norm = 2 * d_model", "norm = 0", "norm = d_model", "norm = 2"),
    ),
    Misconception(
        "norms-after-the-stacks",
        "a norm after each stack is counted",
        "Pre-norm has one there. This model is the paper's, which has none.",
        _instead(EMBEDDING, f"{EMBEDDING} + 4 * d_model", f"{EMBEDDING} + 2 * d_model"),
    ),
    Misconception(
        "embedding-counted-again",
        "the embedding is counted more than once",
        "Source, target and output share one matrix of (V, D).",
        _instead(EMBEDDING, f"2 * {EMBEDDING}", f"3 * {EMBEDDING}"),
    ),
    Misconception(
        "no-embedding",
        "the embedding is not counted",
        "One matrix of (V, D), for source, target and output together.",
        _instead(f"{EMBEDDING} + ", ""),
    ),
    Misconception(
        "output-bias",
        "a bias of the output layer is counted",
        "The logits are a product with the embedding, without a bias.",
        _instead(EMBEDDING, f"{EMBEDDING} + vocab_size"),
    ),
    Misconception(
        "positions-counted",
        "positions are counted",
        "Sinusoidal positions are computed: no parameter is learned for them.",
        _instead(
            EMBEDDING, *(f"(vocab_size + {length}) * d_model" for length in (512, 1024, 5000))
        ),
    ),
    Misconception(
        "one-stack-only",
        "only one of encoder and decoder is counted",
        "There are num_layers layers in each of the two.",
        _instead(STACKS, "num_layers * encoder_layer", "num_layers * decoder_layer"),
    ),
    Misconception(
        "layers-shared-out",
        "num_layers is taken for the layers of both stacks together",
        "The encoder has num_layers layers, and the decoder has as many again.",
        _instead(
            STACKS,
            "int(num_layers / 2 * (encoder_layer + decoder_layer))",
            "num_layers // 2 * (encoder_layer + decoder_layer)",
        ),
    ),
    Misconception(
        "one-layer",
        "only one layer of each stack is counted",
        "Each of the num_layers layers has weights of its own.",
        _instead(STACKS, "encoder_layer + decoder_layer"),
    ),
    Misconception(
        "not-an-int",
        "the number is right, but it is not an int",
        "Parameters are counted in whole numbers. Look for a division or for a unit such as "
        "millions.",
        _instead(
            f"{EMBEDDING} + {STACKS}",
            f"float({EMBEDDING} + {STACKS})",
            f"({EMBEDDING} + {STACKS}) / 1e6",
        ),
    ),
)


# --- the first bug: add and norm -------------------------------------------------------------

TOTAL = "total = x + change"
OF_TOTAL = "total.var(axes, correction=0, keepdim=True)"
OVER_BOTH = change("(-1,)", "(1, 2)")
MEAN_OF_TOTAL_DETACHED = change("total.mean(", "total.detach().mean(")
VARIANCE_OF_TOTAL_DETACHED = change("total.var(", "total.detach().var(")


def _along(*axes: str) -> tuple[Change, ...]:
    return tuple(change("(-1,)", each) for each in axes)


ADD_AND_NORM = (
    Misconception(
        "still-over-tokens-and-features",
        "the bug is still in it",  # to name it would give the task away
        "Change the last token of a sentence, and look at what becomes of the first.",
        (
            OVER_BOTH,
            OVER_BOTH + change("correction=0", "correction=1"),
            OVER_BOTH + ROOT_THEN_EPS,
            OVER_BOTH + change("correction=0", "correction=1") + ROOT_THEN_EPS,
        ),
    ),
    with_wrong(OVER_BATCH, *_along("(0, 1)")),
    with_wrong(OVER_TOKENS, *_along("(1,)", "(0,)")),
    with_wrong(OVER_ALL, *_along("(0, 1, 2)")),
    UNBIASED,
    EPS_OUTSIDE,
    UNBIASED_OUTSIDE,
    Misconception(
        "mean-not-taken-off",
        "the mean is not taken off",
        "That line was right. The bug is in which numbers meet, not in what is done with them.",
        (
            change("(total - mean)", "total")
            + change(OF_TOTAL, "total.square().mean(axes, keepdim=True)"),
            change("(total - mean)", "total"),
        ),
    ),
    Misconception(
        "different-axes",
        "mean and variance are taken over different axes",
        "Both belong to the same numbers: those of one token.",
        (
            change("total.var(axes", "total.var((1, 2)"),
            change("total.mean(axes", "total.mean((1, 2)"),
            change(OF_TOTAL, "(total - mean).square().mean((1, 2), keepdim=True)"),
        ),
    ),
    Misconception(
        "no-residual",
        "x is not added any more",
        "The sum was right: a layer adds what the sublayer has found to what it was given.",
        (change(TOTAL, "total = change"),),
    ),
    Misconception(
        "change-lost",
        "the change is not added any more",
        "The sum was right: a layer adds what the sublayer has found to what it was given.",
        (change(TOTAL, "total = x"),),
    ),
    Misconception(
        "norm-inside-the-sum",
        "only one of the two is normed, and the other added to it",
        "The order was right: first the sum, then the norm.",
        (
            change(TOTAL, "total = change") + change("* weight + bias", "* weight + bias + x"),
            change(TOTAL, "total = x") + change("* weight + bias", "* weight + bias + change"),
        ),
    ),
    Misconception(
        "weight-or-bias-lost",
        "weight or bias is not used any more",
        "That line was right: each feature has its own weight and its own bias.",
        (
            change(" * weight + bias", ""),
            change(" * weight + bias", " * weight"),
            change(" * weight + bias", " + bias"),
        ),
    ),
    Misconception(
        "no-keepdim",
        "mean and variance have lost an axis, so that they meet the wrong numbers",
        "(B, T) does not fit (B, T, D): broadcasting counts axes from the end. keepdim was right.",
        (change("(axes, keepdim=True)", "(axes)") + change(", keepdim=True)", ")"),),
        r"must match the size",
    ),
    with_wrong(
        DETACHED,
        no_gradients("add_and_norm"),
        MEAN_OF_TOTAL_DETACHED + VARIANCE_OF_TOTAL_DETACHED,
        VARIANCE_OF_TOTAL_DETACHED,
    ),
    with_wrong(
        FLOAT32_ONLY,
        change(TOTAL, "total = (x + change).float()")
        + change("* weight + bias", "* weight.float() + bias.float()"),
    ),
    with_wrong(CHANGES_INPUT, change(TOTAL, "total = x.add_(change)")),
)


# --- the second bug: cross-attention ---------------------------------------------------------

ASKED = "query=x, key=memory, value=memory"
FOUND = f"self.cross_attention({ASKED}, mask=memory_mask)"
NORMED = "self.norm(x + found)"

CROSS_ATTENTION = (
    Misconception(
        "still-another-order",
        "the bug is still in it",  # to name it would give the task away
        "Which sequence asks, and which one answers? Where does the block take its values from?",
        (change(ASKED, "query=memory, key=memory, value=x"),),
        r"must share the batch|must match|size",
    ),
    Misconception(
        "memory-as-query",
        "the memory asks, and the target answers",
        "It is the target that wants to know something, one row for each of its tokens.",
        (
            change(ASKED, "query=memory, key=x, value=x"),
            change(FOUND, "self.cross_attention(memory, x, x)")
            + change(NORMED, "self.norm(memory + found)"),
            change(FOUND, "self.cross_attention(memory, x, x)")
            + change(NORMED, "self.norm(x + F.pad(found, (0, 0, 0, x.shape[1] - found.shape[1])))"),
            change(ASKED, "query=memory, key=memory, value=memory"),
        ),
        r"must match|broadcast|size|cannot be broadcast",
    ),
    Misconception(
        "sources-mixed",
        "key and value come from different sequences",
        "Keys say where to look, values what is found there: both are the source.",
        (
            change(ASKED, "query=x, key=memory, value=x"),
            change(ASKED, "query=x, key=x, value=memory"),
            change(ASKED, "query=memory, key=x, value=memory"),
        ),
        r"must share the batch|must match|size",
    ),
    Misconception(
        "memory-not-used",
        "the memory has no effect",
        "Where does the block take from the source?",
        (
            change(ASKED, "query=x, key=x, value=x"),
            change(FOUND, "self.cross_attention(x, x, x)"),
        ),
        r"must match|broadcast|size",
    ),
    with_wrong(MASK_IGNORED, change(", mask=memory_mask", "")),
    with_wrong(
        MASK_INVERTED,
        change("mask=memory_mask", "mask=None if memory_mask is None else ~memory_mask"),
    ),
    Misconception(
        "no-residual",
        "x is not added any more",
        "The sum was right: a layer adds what the sublayer has found to what it was given.",
        (change(NORMED, "self.norm(found)"),),
    ),
    Misconception(
        "memory-in-the-sum",
        "what was found is added to the memory, and not to x",
        "The sum was right: a layer adds what the sublayer has found to what it was given.",
        (change(NORMED, "self.norm(memory + found)"),),
        r"must match",
    ),
    Misconception(
        "norm-missing",
        "the sum is not normed any more",
        "That line was right. The bug is in what attention is asked.",
        (change(NORMED, "x + found"), change(NORMED, "found")),
    ),
    Misconception(
        "norm-elsewhere",
        "the norm stands in another place",
        "This block is post-norm, as in the paper: the norm comes after the sum.",
        (
            change(NORMED, "x + self.norm(found)"),
            change("query=x", "query=self.norm(x)") + change(NORMED, "x + found"),
        ),
    ),
    Misconception(
        "memory-normed",
        "the memory goes through the norm as well",
        "The memory comes as the encoder has left it. Only the sum is normed.",
        (change("key=memory, value=memory", "key=self.norm(memory), value=self.norm(memory)"),),
    ),
    HEADS_IGNORED,
    with_wrong(RETURNS_MORE, change(NORMED, f"{NORMED}, found")),
    with_wrong(
        DETACHED,
        no_gradients("forward"),
        change(NORMED, "self.norm(x + found.detach())"),
        change("        found =", "        memory = memory.detach()\n        found ="),
    ),
    with_wrong(
        FLOAT32_ONLY,
        change(NORMED, f"{NORMED}.float()"),
        change("        found =", "        x, memory = x.float(), memory.float()\n        found ="),
    ),
    with_wrong(CHANGES_INPUT, change(NORMED, "self.norm(x.add_(found))")),
)


# --- which sublayer does the work ------------------------------------------------------------

ATTEND = "layer.self_attention(read, read, read)"
ADDED = f"y = y + {ATTEND}"
NOT_ATTENTION = "silenced != (number, 0)"
NOT_NETWORK = "silenced != (number, 1)"
NETWORK_ADDED = "y = y + layer.feed_forward(layer.norm2(y))"


def _silent_where(condition: str) -> Change:
    """Run a sublayer, which is called `part` in the condition, where another condition holds."""
    return change(NOT_ATTENTION, condition.replace("part", "0")) + change(
        NOT_NETWORK, condition.replace("part", "1")
    )


def _in_its_place(attention: str, network: str) -> Change:
    """Let something else happen where a sublayer is silenced."""
    return change(
        ADDED,
        f"{ADDED}\n            else:\n                {attention}",
    ) + change(NETWORK_ADDED, f"{NETWORK_ADDED}\n            else:\n                {network}")


def _before_each_run(*lines: str) -> Change:
    body = "".join(f"            {line}\n" for line in lines)
    return change("            changed = run", f"{body}            changed = run")


ALL_OUTPUTS = change("        y = x\n", "        y, outputs = x, []\n") + change(
    "        return y\n", "            outputs.append(y)\n        return torch.stack(outputs)\n"
)
POST_NORM = (
    change("read = layer.norm1(y)", "read = y")
    + change(ADDED, f"y = layer.norm1(y + {ATTEND})")
    + change(NETWORK_ADDED, "y = layer.norm2(y + layer.feed_forward(y))")
)
LAST_LAYERS = "(layers[number].self_attention.out_proj, layers[number].feed_forward.linear2)[part]"
SILENCED_SUBLAYER = "(layers[number].self_attention, layers[number].feed_forward)[part]"

DAMAGE = (
    Misconception(
        "what-it-writes",
        "the size of what the sublayer writes is measured, not what changes in the end",
        "Later sublayers read the sum: without this one they write something else. Run all layers "
        "once more, and compare the two last outputs.",
        (
            change("    def run(", "    written = []\n\n    def run(")
            + change(ADDED, f"written.append({ATTEND})\n{16 * ' '}y = y + written[-1]")
            + change(
                NETWORK_ADDED,
                NETWORK_ADDED.replace("y = y + ", "written.append(")
                + f")\n{16 * ' '}y = y + written[-1]",
            )
            + change("run((number, part)) - whole", "written[2 * number + part]"),
        ),
    ),
    Misconception(
        "not-at-the-end",
        "the change is measured behind other layers than the last one",
        "What a sublayer is worth shows when all layers after it have answered. Compare what the "
        "last layer gives out, and nothing else.",
        (
            ALL_OUTPUTS
            + change("run((number, part)) - whole", "(run((number, part)) - whole)[number]"),
            ALL_OUTPUTS,
        ),
    ),
    Misconception(
        "whole-layer-silenced",
        "both sublayers of the layer are silenced",
        "A layer has two residual sums. Only one of them gets nothing added.",
        (_silent_where("silenced is None or silenced[0] != number"),),
    ),
    Misconception(
        "in-every-layer",
        "the sublayer is silenced in all layers at once",
        "One sublayer of one layer is silenced, and all others speak.",
        (_silent_where("silenced is None or silenced[1] != part"),),
    ),
    Misconception(
        "silenced-for-good",
        "the sublayers that were silenced before are still silent when the next one is",
        "Each sublayer is silenced alone, so each run starts with all of them at work.",
        (_silent_where("silenced is None or (number, part) > silenced"),),
    ),
    Misconception(
        "all-but-one",
        "all sublayers but one are silenced",
        "The question is what is lost when this one alone is silent, and all others speak.",
        (_silent_where("silenced in (None, (number, part))"),),
    ),
    Misconception(
        "input-silenced",
        "the sublayer is given zeros, and what it makes of them is still added",
        "Of zeros its biases make something. To silence it is to add nothing: look at which side "
        "of the sublayer the zeros come in.",
        (
            _silent_where("True")
            + change("layer.norm1(y)", f"layer.norm1(y) * ({NOT_ATTENTION})")
            + change("layer.norm2(y)", f"layer.norm2(y) * ({NOT_NETWORK})"),
            _silent_where("True")
            + change("layer.norm1(y)", f"layer.norm1(y * ({NOT_ATTENTION}))")
            + change("layer.norm2(y)", f"layer.norm2(y * ({NOT_NETWORK}))"),
        ),
    ),
    Misconception(
        "bias-left",
        "the last weights of the sublayer are silenced, and its last bias is still added",
        "out_proj and linear2 have a bias too. Nothing at all is added for a silent sublayer.",
        (
            _in_its_place(
                "y = y + layer.self_attention.out_proj.bias",
                "y = y + layer.feed_forward.linear2.bias",
            ),
        ),
    ),
    Misconception(
        "residual-cut",
        "what the token was is lost too: the residual line is cut, not only the sublayer",
        "In x + f(x) only f(x) goes. The x stays, and goes on to the next sublayer.",
        (
            _in_its_place("y = torch.zeros_like(y)", "y = torch.zeros_like(y)"),
            _in_its_place(
                "y = layer.self_attention(*[layer.norm1(y)] * 3)",
                "y = layer.feed_forward(layer.norm2(y))",
            ),
        ),
    ),
    Misconception(
        "norm-forgotten",
        "the sublayers read the residual sum itself, without its norm",
        "In a pre-norm layer norm1 stands before the attention, and norm2 before the network.",
        (change("layer.norm1(y)", "y") + change("layer.norm2(y)", "y"),),
    ),
    Misconception(
        "post-norm",
        "the norm stands behind the sum: that is post-norm",
        "These layers are pre-norm: x + f(norm(x)). No norm stands on the residual line.",
        (
            POST_NORM,
            _in_its_place("y = layer.norm1(y)", "y = layer.norm2(y)") + POST_NORM,
        ),
    ),
    Misconception(
        "normed-residual",
        "the normed vector is what the sublayer is added to",
        "The residual line goes round the norm as well: x + f(norm(x)), with the x that came in.",
        (
            change(ADDED, f"y = read + {ATTEND}")
            + change(NETWORK_ADDED, "y = layer.norm2(y) + layer.feed_forward(layer.norm2(y))"),
            _in_its_place("y = layer.norm1(y)", "y = layer.norm2(y)"),
        ),
    ),
    Misconception(
        "last-output-normed",
        "one more norm stands behind the last layer",
        "A whole pre-norm model has it. Here only the layers are given: their output is measured.",
        (change("return y\n", "return F.layer_norm(y, y.shape[-1:])\n"),),
    ),
    Misconception(
        "columns-exchanged",
        "the network stands first, the attention second",
        "A row has the self-attention in column 0 and the feed-forward network in column 1.",
        (change("part in (0, 1)", "part in (1, 0)"),),
    ),
    Misconception(
        "another-shape",
        "the numbers do not stand in a row for each layer, with its two sublayers",
        "Layers go down and sublayers across: (L, 2).",
        (
            change(".reshape(len(layers), 2)", ""),
            change(".reshape(len(layers), 2)", ".reshape(2, len(layers))"),
            change(".reshape(len(layers), 2)", ".reshape(len(layers), 2).T"),
        ),
    ),
    Misconception(
        "weights-left-zeroed",
        "weights of the layers are zeroed and not put back",
        "Whoever uses the layers next gets some that lack a sublayer. Put back what you change, or "
        "leave the weights alone and do not add.",
        (
            _before_each_run(
                f"last = {LAST_LAYERS}", "last.weight.data.zero_()", "last.bias.data.zero_()"
            ),
            change(
                "    return torch.stack",
                "    layers[-1].feed_forward.linear2.weight.data.zero_()\n"
                "    layers[-1].feed_forward.linear2.bias.data.zero_()\n    return torch.stack",
            ),
        ),
    ),
    Misconception(
        "hooks-left",
        "a hook stays on a sublayer after the call",
        "register_forward_hook gives a handle back, and its remove() takes the hook away again. Do "
        "that for every hook, right after the run that needs it.",
        (
            _before_each_run(
                f"sublayer = {SILENCED_SUBLAYER}",
                "sublayer.register_forward_hook(lambda *given: torch.zeros_like(given[-1]))",
            ),
            change(
                "    return torch.stack",
                "    layers[-1].feed_forward.register_forward_hook(lambda *given: None)\n"
                "    return torch.stack",
            ),
        ),
    ),
    *MEASURED,
)


# --- hidden units that never fire ---------------------------------------------------------

FIRES = "(hidden > 0).flatten(0, 1).any(dim=0)"
OF_X = "feed_forward.linear1(x)"


def _fires(how: str) -> Change:
    """Find out in another way which units fire."""
    return change(FIRES, how)


DEAD = (
    Misconception(
        "silent-for-some-token",
        "these units are zero for some token, not for every one",
        "A unit that fires for a single token is at work. Look at whether any or all is asked "
        "for, and of what.",
        (_fires(FIRES.replace("any", "all")),),
    ),
    Misconception(
        "not-all-tokens",
        "only some of the tokens are looked at, such as those of the first sequence",
        "A unit may fire for any token of any sequence. Both leading axes of (B, T, d_ff) go.",
        (
            _fires("(hidden > 0)[0].any(dim=0)"),
            _fires("(hidden > 0)[-1].any(dim=0)"),
            _fires("(hidden > 0)[:, 0].any(dim=0)"),
            _fires("(hidden > 0)[:, -1].any(dim=0)"),
            _fires("(hidden > 0)[0, 0]"),
            _fires("(hidden > 0)[-1, -1]"),
        ),
    ),
    Misconception(
        "below-zero-on-average",
        "these units are not above zero on average, before the ReLU",
        "One token may make a unit fire, whatever the others do: no average shows it. Look at "
        "the largest number, or at each.",
        (_fires(f"{OF_X}.flatten(0, 1).mean(dim=0) > 0"),),
    ),
    Misconception(
        "without-the-bias",
        "the bias of linear1 is left out",
        "It decides how much a unit needs before it fires. Call the layer as it is.",
        (change(OF_X, "x @ feed_forward.linear1.weight.T"),),
    ),
    Misconception(
        "exactly-zero-fires",
        "a unit that is exactly zero is taken for one that fires",
        "max(0, 0) is 0: such a unit adds nothing either. Look at > and >=.",
        (
            change(f"torch.relu({OF_X})", OF_X) + change("hidden > 0", "hidden >= 0"),
            change("hidden > 0", "hidden >= 0"),
        ),
    ),
    Misconception(
        "zero-before-the-relu",
        "units are looked for that are exactly zero before the ReLU",
        "Before the ReLU a silent unit is negative, and hardly ever zero.",
        (change(f"torch.relu({OF_X})", OF_X) + change("hidden > 0", "hidden != 0"),),
    ),
    Misconception(
        "below-zero-is-alive",
        "units below zero are taken for alive, and those above zero for dead",
        "The ReLU passes what is above zero.",
        (change(f"torch.relu({OF_X})", OF_X) + change("hidden > 0", "hidden < 0"),),
    ),
    Misconception(
        "weights-not-inputs",
        "the weights alone are judged, without the inputs",
        "Whether a unit fires depends on what it is given. Send x through linear1.",
        (
            _fires("feed_forward.linear1.bias > 0"),
            _fires("(feed_forward.linear1.weight > 0).any(dim=1)"),
            _fires("(feed_forward.linear2.weight != 0).any(dim=0)"),
        ),
    ),
    Misconception(
        "unheard-taken-for-dead",
        "units that fire are listed too, where linear2 makes nothing of them",
        "They change nothing, but they are alive: another linear2 would hear them. Look at the "
        "hidden layer alone.",
        (_fires(f"{FIRES} & (feed_forward.linear2.weight != 0).any(dim=0)"),),
    ),
    Misconception(
        "numbers-of-the-output",
        "the D numbers of the output are looked at, not the hidden units",
        "The hidden layer lies between linear1 and linear2, and has d_ff units.",
        (change(f"torch.relu({OF_X})", "feed_forward(x)"),),
    ),
    Misconception(
        "tokens-listed",
        "tokens or sequences are counted, not units",
        "The units are the last axis of (B, T, d_ff); the axes before it are asked for any.",
        (
            _fires("(hidden > 0).flatten(0, 1).any(dim=1)"),
            _fires("(hidden > 0).flatten(1).any(dim=1)"),
        ),
    ),
    Misconception(
        "alive-listed",
        "the units that fire are listed, not the dead ones",
        "The units that never fire are asked for.",
        (change("if not alive", "if alive"),),
    ),
    Misconception(
        "counted-from-one",
        "the units are counted from 1",
        "The first unit is number 0, as everywhere in Python.",
        (change("[number for", "[number + 1 for"),),
    ),
    with_wrong(
        TENSOR_FOR_NUMBER,
        change("return [number", "return torch.tensor([number")
        + change("if not alive]", "if not alive])"),
        change("[number for", "[torch.tensor(number) for"),
    ),
)

MISCONCEPTIONS = {
    "layer_norm": LAYER_NORM,
    "FeedForward": FEED_FORWARD,
    "EncoderLayer": ENCODER_LAYER,
    "DecoderLayer": DECODER_LAYER,
    "count_parameters": COUNT,
    "find_the_bug": ADD_AND_NORM,
    "find_the_second_bug": CROSS_ATTENTION,
    "damage_by_sublayer": DAMAGE,
    "dead_units": DEAD,
}
