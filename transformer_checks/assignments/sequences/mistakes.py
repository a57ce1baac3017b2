"""The misconceptions of the assignment "sequences", task by task, each a change to the answer."""

from __future__ import annotations

from transformer_checks.assignments.shared_mistakes import (
    CHANGES_INPUT,
    FIRST_ROUND,
    FLOAT32_ONLY,
    TENSOR_FOR_NUMBER,
    no_gradients,
    with_wrong,
)
from transformer_checks.judging.changes import change
from transformer_checks.judging.general_mistakes import DETACHED
from transformer_checks.task import Misconception

SHAPES_DO_NOT_FIT = r"mat1 and mat2 shapes|shapes cannot be multiplied|must match the size"

# --- recurrent_step --------------------------------------------------------------------------

NEW = "torch.tanh(x @ weight_x.T + hidden @ weight_h.T + bias)"
TOKEN, STATE = "x @ weight_x.T", "hidden @ weight_h.T"

STEP = (
    Misconception(
        "no-tanh",
        "the tanh is missing, so the state can grow without end",
        "What is left is a sum. The formula puts something around it.",
        (change(NEW, f"{TOKEN} + {STATE} + bias"),),
    ),
    Misconception(
        "another-squash",
        "another function than tanh squeezes the sum",
        "The state of this network lies between -1 and 1, and a sum of 0 stays 0.",
        (
            change("torch.tanh(", "torch.sigmoid("),
            change("torch.tanh(", "torch.relu("),
            change(NEW, f"({TOKEN} + {STATE} + bias).softmax(dim=-1)"),
        ),
    ),
    Misconception(
        "tanh-of-a-part",
        "the tanh is taken of a part, or of each part alone",
        "One tanh stands around the whole sum: the token's part, the state's part and the bias.",
        (
            change(NEW, f"torch.tanh({TOKEN} + {STATE}) + bias"),
            change(NEW, f"torch.tanh({TOKEN} + bias) + {STATE}"),
            change(NEW, f"torch.tanh({TOKEN}) + torch.tanh({STATE}) + bias"),
            change(NEW, f"torch.tanh({TOKEN}) + {STATE} + bias"),
            change(NEW, f"torch.tanh({STATE} + bias) + {TOKEN}"),
        ),
    ),
    Misconception(
        "not-transposed",
        "a matrix is used as it comes, and PyTorch keeps it transposed",
        "A row of the matrix belongs to one number of the new state. weight_h is square, so there "
        "no error tells you: which of its numbers should meet the first number of the state?",
        (
            change(STATE, "hidden @ weight_h"),
            change(TOKEN, "x @ weight_x"),
            change(TOKEN, "x @ weight_x") + change(STATE, "hidden @ weight_h"),
        ),
        SHAPES_DO_NOT_FIT,
    ),
    Misconception(
        "matrices-swapped",
        "each matrix meets the vector of the other one",
        "weight_x belongs to the token and weight_h to the state.",
        (
            change(NEW, "torch.tanh(x @ weight_h.T + hidden @ weight_x.T + bias)"),
            change(NEW, "torch.tanh(x @ weight_h + hidden @ weight_x + bias)"),
        ),
        SHAPES_DO_NOT_FIT,
    ),
    Misconception(
        "state-left-out",
        "the state before has no part in the new one",
        "Without it the network would forget everything at each step.",
        (change(f" + {STATE}", ""),),
    ),
    Misconception(
        "token-left-out",
        "the token has no part in the new state",
        "The new state comes from two things, and one of them is what has just been read.",
        (change(f"{TOKEN} + ", ""),),
    ),
    Misconception(
        "bias-left-out",
        "the bias is missing",
        "There are three parts in the sum.",
        (change(" + bias", ""),),
    ),
    Misconception(
        "bias-twice",
        "the bias is added twice",
        "torch.nn.RNN has two vectors to add. Here there is one, and it is added once.",
        (change("+ bias", "+ 2 * bias"),),
    ),
    Misconception(
        "state-added",
        "the state before is added to the new one, or mixed with it",
        "The tanh is the new state. The old one goes into the sum inside only.",
        (
            change(NEW, f"hidden + {NEW}"),
            change(NEW, f"(hidden + {NEW}) / 2"),
            change(STATE, f"{STATE} + hidden"),
        ),
    ),
    with_wrong(DETACHED, no_gradients("recurrent_step")),
    with_wrong(FLOAT32_ONLY, change(NEW, f"{NEW}.float()")),
    with_wrong(
        CHANGES_INPUT,
        change(f"return {NEW}", f"hidden.copy_({NEW})\n    return hidden"),
        change(f"return {NEW}", f"new = {NEW}\n    x.zero_()\n    return new"),
    ),
)


# --- unroll ----------------------------------------------------------------------------------

ROUND = "hidden = torch.tanh(token @ weight_x.T + hidden @ weight_h.T + bias)"
SUM = "token @ weight_x.T + hidden @ weight_h.T + bias"
LOOP = "for token in x.unbind(dim=1):"
STACKED = "torch.stack(states, dim=1)"
KEPT = "states.append(hidden)"

UNROLL = (
    Misconception(
        "last-state-only",
        "only the state after the last token comes back",
        "The result has a state for every token. Collect them on the way.",
        (
            change(f"return {STACKED}", "return hidden"),
            change(STACKED, f"{STACKED}[:, -1]"),
            change(STACKED, "torch.stack(states[-1:], dim=1)"),
        ),
    ),
    Misconception(
        "time-axis-first",
        "the states lie on the first axis, where the sequences of the batch should be",
        "torch.stack puts the new axis first, unless it is told otherwise. Which axis is time?",
        (change(STACKED, "torch.stack(states)"),),
    ),
    Misconception(
        "reshaped",
        "the shape is right, and the numbers are mixed up between sequences and tokens",
        "view and reshape keep the order in memory. To exchange two axes is another operation.",
        (
            change(STACKED, "torch.stack(states).reshape(len(x), x.shape[1], -1)"),
            change(STACKED, "torch.cat(states).reshape(len(x), x.shape[1], -1)"),
        ),
    ),
    Misconception(
        "loop-over-the-batch",
        "the loop goes over the sequences of the batch, and not over the tokens",
        "`for token in x` walks along the first axis. Which axis of x is time?",
        (
            change(LOOP, "for token in x:") + change(STACKED, "torch.stack(states)"),
            change(LOOP, "for token in x:"),
            change(LOOP, "for token in x:")
            + change(STACKED, "torch.stack(states).reshape(len(x), x.shape[1], -1)"),
        ),
        r"must match the size|index \d+ is out of bounds",
    ),
    Misconception(
        "starts-from-zero",
        "the state before the first token is zero, and not the one that is given",
        "In the chapter it is zero. Here `hidden` says where each sequence begins.",
        (
            change("    states = []\n", "    states = []\n    hidden = torch.zeros_like(hidden)\n"),
            change("    states = []\n", "    states = []\n    hidden = torch.ones_like(hidden)\n"),
        ),
    ),
    Misconception(
        "each-step-from-the-start",
        "every step begins from the first state: nothing is carried along",
        "The state that a step makes is the one that the next step gets.",
        (
            change("hidden = torch.tanh", "new = torch.tanh") + change(KEPT, "states.append(new)"),
            change("token @ weight_x.T + hidden @ weight_h.T", "token @ weight_x.T"),
        ),
    ),
    Misconception(
        "start-in-the-result",
        "the states begin with the one that was given, a place too early",
        "State t is the one after token t. The one before the first token is no part of it.",
        (
            change("states = []", "states = [hidden]"),
            change("states = []", "states = [hidden]")
            + change(STACKED, "torch.stack(states[:-1], dim=1)"),
            change(f"        {ROUND}\n        {KEPT}", f"        {KEPT}\n        {ROUND}"),
        ),
    ),
    Misconception(
        "one-too-few",
        "one token is not read",
        "T tokens make T states. Look at where the loop begins and ends.",
        (
            change("x.unbind(dim=1)", "x.unbind(dim=1)[:-1]"),
            change("x.unbind(dim=1)", "x.unbind(dim=1)[1:]"),
        ),
        r"non-empty TensorList",
    ),
    Misconception(
        "one-tensor-for-all-states",
        "all states are the same one, the last",
        "A list holds the tensor itself and no copy. A step that writes into it changes all "
        "entries at once.",
        (
            change("    states = []\n", "    states = []\n    hidden = hidden.clone()\n")
            + change(ROUND, f"hidden.data.copy_(torch.tanh({SUM}))"),
            change(ROUND, f"hidden.data.copy_(torch.tanh({SUM}))"),
            change(STACKED, "torch.stack([hidden] * len(states), dim=1)"),
        ),
        r"modified by an inplace operation",
    ),
    Misconception(
        "reads-backwards",
        "the sequence is read from its end, or the states come back in that order",
        "Token 0 is read first, and its state comes first.",
        (
            change("x.unbind(dim=1)", "reversed(x.unbind(dim=1))"),
            change("x.unbind(dim=1)", "x.flip(1).unbind(dim=1)")
            + change(STACKED, f"{STACKED}.flip(1)"),
            change(STACKED, f"{STACKED}.flip(1)"),
        ),
    ),
    Misconception(
        "no-tanh",
        "the tanh is missing, so the states can grow without end",
        "Each step squeezes its sum before it hands it on.",
        (
            change(ROUND, f"hidden = {SUM}"),
            change(ROUND, f"hidden = {SUM}") + change(STACKED, f"torch.tanh({STACKED})"),
        ),
    ),
    Misconception(
        "not-transposed",
        "a matrix is used as it comes, and PyTorch keeps it transposed",
        "A row of the matrix belongs to one number of the new state. weight_h is square, so there "
        "no error tells you.",
        (
            change("weight_h.T", "weight_h"),
            change("weight_x.T", "weight_x"),
            change("weight_x.T", "weight_x") + change("weight_h.T", "weight_h"),
        ),
        r"mat1 and mat2 shapes|shapes cannot be multiplied",
    ),
    Misconception(
        "matrices-swapped",
        "each matrix meets the vector of the other one",
        "weight_x belongs to the tokens and weight_h to the states.",
        (change(SUM, "token @ weight_h.T + hidden @ weight_x.T + bias"),),
        r"mat1 and mat2 shapes|shapes cannot be multiplied",
    ),
    Misconception(
        "bias-not-once",
        "the bias is added twice, or not at all",
        "There is one bias, and each step adds it once.",
        (change("+ bias", "+ 2 * bias"), change(" + bias", "")),
    ),
    Misconception(
        "list-for-a-tensor",
        "the result is a list",
        "torch.stack makes one tensor of the states.",
        (change(STACKED, "states"),),
        r"expected one tensor, received a (list|tuple)",
    ),
    with_wrong(FIRST_ROUND, change(KEPT, f"{KEPT}\n        return {STACKED}")),
    with_wrong(
        DETACHED,
        no_gradients("unroll"),
        change("hidden @ weight_h.T", "hidden.detach() @ weight_h.T"),
        change(KEPT, "states.append(hidden.detach())"),
    ),
    with_wrong(FLOAT32_ONLY, change(STACKED, f"{STACKED}.float()")),
    with_wrong(
        CHANGES_INPUT,
        change(KEPT, "states.append(hidden)\n        token.data.zero_()"),
        change("    states = []\n", "    states, given = [], hidden\n")
        + change(f"    return {STACKED}", f"    given.data.copy_(hidden)\n    return {STACKED}"),
    ),
)


# --- additive_attention ----------------------------------------------------------------------

ASKED = "(query @ weight_query.T).unsqueeze(1)"
COMPARED = "states @ weight_states.T"
SCORES = "torch.tanh(asked + compared) @ vector"
WEIGHTS = "scores.masked_fill(~mask, -math.inf).softmax(dim=-1)"
CONTEXT = "(weights.unsqueeze(1) @ states).squeeze(1)"

ADDITIVE = (
    Misconception(
        "mask-forgotten",
        "states that the mask hides have weight",
        "Padding is no part of the sequence. Which score gives a weight of 0?",
        (change(".masked_fill(~mask, -math.inf)", ""),),
    ),
    Misconception(
        "mask-after-softmax",
        "the mask comes after the softmax, so the weights do not sum to 1",
        "The hidden states have taken their part by then. Hide the scores before the softmax.",
        (change(WEIGHTS, "scores.softmax(dim=-1) * mask"),),
    ),
    Misconception(
        "mask-the-wrong-way-round",
        "the states that may be seen are hidden, and the others are seen",
        "True means may attend. masked_fill fills where its mask is True.",
        (change("~mask", "mask"),),
        r"holds NaN",
    ),
    Misconception(
        "score-of-zero",
        "a hidden state has the score 0, which is not hidden",
        "e to the 0 is 1, so such a state still has weight. Which score has none?",
        (
            change("-math.inf", "0.0"),
            change("-math.inf", "-1.0"),
            change(COMPARED, f"({COMPARED}) * mask.unsqueeze(-1)")
            + change(".masked_fill(~mask, -math.inf)", ""),
        ),
    ),
    Misconception(
        "softmax-over-the-batch",
        "the softmax runs over the sequences of the batch",
        "Each sequence shares out a weight of 1 over its own states, which are the last axis.",
        (change("dim=-1", "dim=0"),),
    ),
    Misconception(
        "scores-for-weights",
        "these are scores and no weights",
        "A softmax turns scores into weights that sum to 1.",
        (
            change(WEIGHTS, "scores"),
            change(WEIGHTS, "scores.masked_fill(~mask, 0.0)"),
            change(WEIGHTS, "scores.masked_fill(~mask, -math.inf).sigmoid()"),
        ),
    ),
    Misconception(
        "mean-for-weighted-sum",
        "the context is the plain mean of the states, and the weights have no say",
        "Each state is multiplied by its weight before they are added up.",
        (
            change(CONTEXT, "states.mean(dim=1)"),
            change(
                CONTEXT,
                "(states * mask[..., None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)",
            ),
            change(CONTEXT, "states.sum(dim=1)"),
            change(CONTEXT, "(weights.unsqueeze(-1) * states).mean(dim=1)"),
        ),
    ),
    Misconception(
        "not-added-up",
        "the states are multiplied by their weights and not added up",
        "The context is one vector for each sequence, whatever its length is.",
        (change(CONTEXT, "weights.unsqueeze(-1) * states"),),
    ),
    Misconception(
        "axis-left-over",
        "the context has one axis too many, of size 1",
        "One query for each sequence makes one context for each: (B, N).",
        (change(".squeeze(1)", ""),),
    ),
    Misconception(
        "best-state-alone",
        "the context is the one state with the largest weight",
        "The context is a sum in which all states have their share, however small.",
        (change(CONTEXT, "states[torch.arange(len(states)), weights.argmax(dim=-1)]"),),
    ),
    Misconception(
        "compared-for-states",
        "the context is made of what the states were compared by, and not of the states",
        "The matrix is there for the comparison only. What is added up are the states themselves.",
        (change(CONTEXT, "(weights.unsqueeze(1) @ compared).squeeze(1)"),),
    ),
    Misconception(
        "pair-the-other-way-round",
        "context and weights are returned in the opposite order",
        "First the context, (B, N), and then the weights, (B, S), of which it is made.",
        (change("return context, weights", "return weights, context"),),
    ),
    Misconception(
        "no-tanh",
        "the tanh is missing, or stands around the scores",
        "The tanh is taken of the sum, before the vector. Without it there the query would add the "
        "same number to all scores of a sequence, and the weights would not depend on it.",
        (
            change(SCORES, "(asked + compared) @ vector"),
            change(SCORES, "torch.tanh((asked + compared) @ vector)"),
        ),
    ),
    Misconception(
        "query-left-out",
        "the query has no say in the weights",
        "Two products are added, and the tanh is taken of their sum. What the query adds to all "
        "scores alike, outside of the tanh, the softmax takes out again.",
        (
            change("asked + compared", "compared"),
            change(SCORES, "(torch.tanh(asked) + torch.tanh(compared)) @ vector"),
        ),
    ),
    Misconception(
        "products-multiplied",
        "the two products are multiplied and not added",
        "This score is called additive. The dot product is another one, of later papers.",
        (
            change("asked + compared", "asked * compared"),
            change(SCORES, "(asked * compared).sum(dim=-1)"),
            change(SCORES, "(asked * compared) @ vector"),
            change(SCORES, "(states @ query.unsqueeze(-1)).squeeze(-1)"),
        ),
    ),
    Misconception(
        "vector-left-out",
        "the compared numbers are added up or averaged without the vector",
        "The vector says how much each of the A numbers counts in the score.",
        (
            change(" @ vector", ".sum(dim=-1)"),
            change(" @ vector", ".mean(dim=-1)"),
        ),
    ),
    Misconception(
        "matrices-swapped",
        "each matrix meets what belongs to the other one",
        "weight_query is for the query and weight_states for the states. Both have the same "
        "shape, so no error tells you.",
        (
            change("query @ weight_query.T", "query @ weight_states.T")
            + change(COMPARED, "states @ weight_query.T"),
        ),
    ),
    Misconception(
        "not-transposed",
        "a matrix is used as it comes, and PyTorch keeps it transposed",
        "A row of the matrix belongs to one of the A numbers that are compared.",
        (
            change("weight_query.T", "weight_query") + change("weight_states.T", "weight_states"),
            change("weight_query.T", "weight_query"),
            change("weight_states.T", "weight_states"),
        ),
        r"mat1 and mat2 shapes|shapes cannot be multiplied|size mismatch"
        r"|[Ee]xpected size for first two dimensions",
    ),
    Misconception(
        "query-of-another-sequence",
        "the query meets the states of other sequences",
        "The query has no axis for the S states. Where does it need one, so that each query meets "
        "the states of its own sequence?",
        (
            change(ASKED, "query @ weight_query.T"),
            change(ASKED, "(query @ weight_query.T)[:1]"),
        ),
        r"must match the size",
    ),
    Misconception(
        "scaled",
        "the scores are divided by a root",
        "That is done to the dot product. The additive score is not divided.",
        (
            change("@ vector", "@ vector / math.sqrt(len(vector))"),
            change("@ vector", "@ vector / math.sqrt(query.shape[-1])"),
        ),
    ),
    with_wrong(
        DETACHED,
        no_gradients("additive_attention"),
        change("weights.unsqueeze(1)", "weights.detach().unsqueeze(1)"),
    ),
    with_wrong(
        FLOAT32_ONLY,
        change("return context, weights", "return context.float(), weights.float()"),
        change("return context, weights", "return context, weights.float()"),
    ),
    with_wrong(CHANGES_INPUT, change("~mask", "mask.logical_not_()")),
)


# --- layer_cost ------------------------------------------------------------------------------

RECURRENT = "batch_size * 2 * length * size**2"
ATTENTION = "batch_size * 2 * length**2 * size"
CONVOLUTION = "batch_size * kernel_size * length * size**2"
PATH = "math.ceil((length - 1) / (kernel_size - 1))"
CHAIN_STEPS = "size**2, length, length"
LOOK_STEPS = "size, 1, 1"
SLIDE_STEPS = "size**2, 1, path"

COST = (
    Misconception(
        "additions-too",
        "the additions are counted with the multiplications",
        "Counters of operations do that, and give twice the number. Here only multiplications "
        "count.",
        (
            change(RECURRENT, f"2 * {RECURRENT}")
            + change(ATTENTION, f"2 * {ATTENTION}")
            + change(CONVOLUTION, f"2 * {CONVOLUTION}"),
        ),
    ),
    Misconception(
        "one-product-only",
        "one of two matrix products is not counted",
        "A recurrent step has a matrix for the token and one for the state. Attention compares, "
        "and then it adds up.",
        (
            change(RECURRENT, RECURRENT.replace(" 2 *", "")),
            change(ATTENTION, ATTENTION.replace(" 2 *", "")),
            change(RECURRENT, RECURRENT.replace(" 2 *", ""))
            + change(ATTENTION, ATTENTION.replace(" 2 *", "")),
        ),
    ),
    Misconception(
        "layers-exchanged",
        "the multiplications of the recurrent layer and of attention are exchanged",
        "Which of the two has a matrix of D rows and D columns, and which compares every token "
        "with every token?",
        (change(RECURRENT, ATTENTION) + change(f"{ATTENTION}, 1, 1", f"{RECURRENT}, 1, 1"),),
    ),
    Misconception(
        "length-not-squared",
        "attention grows with the length, and not with its square",
        "Each of T tokens is compared with each of T tokens.",
        (
            change(ATTENTION, "batch_size * 2 * length * size"),
            change(ATTENTION, "batch_size * 2 * length * size**2"),
            change(ATTENTION, "batch_size * length * size"),
        ),
    ),
    Misconception(
        "size-not-squared",
        "a product with a matrix is counted as D multiplications",
        "A vector of D numbers times a matrix of D rows and D columns: every number of the matrix "
        "is used once.",
        (
            change(RECURRENT, RECURRENT.replace("**2", ""))
            + change(CONVOLUTION, CONVOLUTION.replace("**2", "")),
            change(RECURRENT, RECURRENT.replace("**2", "")),
            change(CONVOLUTION, CONVOLUTION.replace("**2", "")),
        ),
    ),
    Misconception(
        "size-squared-in-attention",
        "attention is counted with a matrix of D rows and D columns, or with its three projections",
        "In the form of the chapter it has no learned matrix: a comparison is a dot product of D "
        "multiplications.",
        (
            change(ATTENTION, "batch_size * 2 * length**2 * size**2"),
            change(ATTENTION, "batch_size * (2 * length**2 * size + 3 * length * size**2)"),
            change(ATTENTION, "batch_size * (2 * length**2 * size + 4 * length * size**2)"),
        ),
    ),
    Misconception(
        "batch-left-out",
        "the multiplications are those of one sequence",
        "Every sequence of the batch has to be computed.",
        (
            change(RECURRENT, RECURRENT.replace("batch_size * ", ""))
            + change(ATTENTION, ATTENTION.replace("batch_size * ", ""))
            + change(CONVOLUTION, CONVOLUTION.replace("batch_size * ", "")),
        ),
    ),
    Misconception(
        "batch-waits",
        "the sequences of the batch wait for one another",
        "They have nothing to say to each other, so a step is made for all of them at once.",
        (
            change(CHAIN_STEPS, "size**2, batch_size * length, length"),
            change(CHAIN_STEPS, "size**2, batch_size * length, batch_size * length"),
            change(CHAIN_STEPS, "size**2, batch_size * length, length")
            + change(LOOK_STEPS, "size, batch_size, 1")
            + change(SLIDE_STEPS, "size**2, batch_size, path"),
        ),
    ),
    Misconception(
        "attention-waits",
        "attention is counted as if its outputs waited for one another",
        "Can the last output be computed without the others? Then nothing waits, and every path "
        "is one step.",
        (
            change(LOOK_STEPS, "size, length, 1"),
            change(LOOK_STEPS, "size, length, length"),
            change(LOOK_STEPS, "size, 1, length"),
        ),
    ),
    Misconception(
        "products-for-steps",
        "matrix products are counted where steps are asked for",
        "A step holds both of its products, in the recurrent layer as in attention.",
        (
            change(LOOK_STEPS, "size, 2, 1"),
            change(LOOK_STEPS, "size, 2, 2"),
            change(CHAIN_STEPS, "size**2, 2 * length, length"),
            change(CHAIN_STEPS, "size**2, 2 * length, 2 * length"),
            change(CHAIN_STEPS, "size**2, 2 * length, length") + change(LOOK_STEPS, "size, 2, 1"),
        ),
    ),
    Misconception(
        "one-step-less",
        "a step of the chain is missing",
        "From state to state it is T - 1 steps. The first token enters the first state in a step "
        "of its own.",
        (
            change(CHAIN_STEPS, "size**2, length, length - 1"),
            change(CHAIN_STEPS, "size**2, length - 1, length - 1"),
            change(CHAIN_STEPS, "size**2, length - 1, length"),
        ),
    ),
    Misconception(
        "convolution-waits",
        "the outputs of a convolution are counted as if they waited for one another",
        "An output of the convolution reads tokens and no other output. The layers of the path "
        "are no part of this number, which is that of one layer.",
        (
            change(SLIDE_STEPS, "size**2, length, path"),
            change(SLIDE_STEPS, "size**2, path, path"),
            change(SLIDE_STEPS, "size**2, kernel_size, path"),
        ),
    ),
    Misconception(
        "one-layer-only",
        "the path of the convolution ends in its first layer",
        "One layer brings a token k - 1 places further. How many does it take to come to the last?",
        (change(PATH, "1"), change(PATH, "kernel_size")),
    ),
    Misconception(
        "rounded-down",
        "the path is rounded down, so the first token does not arrive",
        "If a part of a layer is needed, the whole layer is.",
        (
            change(PATH, "(length - 1) // (kernel_size - 1)"),
            change(PATH, "max(1, (length - 1) // (kernel_size - 1))"),
            change(PATH, "round((length - 1) / (kernel_size - 1))"),
        ),
    ),
    Misconception(
        "whole-kernel-a-layer",
        "each layer is thought to carry k places further, and not k - 1",
        "One of the k tokens is the output's own place. Take a kernel of 2: how far does it reach?",
        (
            change(PATH, "math.ceil((length - 1) / kernel_size)"),
            change(PATH, "math.ceil(length / kernel_size)"),
        ),
    ),
    Misconception(
        "half-kernel-a-layer",
        "the kernel is thought to stand around its output, with one half on each side",
        "This one sees the output's own token and those before it.",
        (
            change(PATH, "math.ceil((length - 1) / (kernel_size // 2))"),
            change(PATH, "math.ceil((length - 1) / ((kernel_size - 1) / 2))"),
        ),
    ),
    Misconception(
        "path-of-powers",
        "the path is a logarithm",
        "That is so if each layer leaves larger gaps. Here all layers are the same, and each adds "
        "k - 1 places.",
        (
            change(PATH, "math.ceil(math.log(length, kernel_size))"),
            change(PATH, "math.ceil(math.log2(length))"),
        ),
    ),
    Misconception(
        "one-place-too-far",
        "the path of the convolution goes one place too far",
        "From the first of T tokens to the last it is T - 1 places.",
        (
            change(PATH, "math.ceil(length / (kernel_size - 1))"),
            change(PATH, "1 + (length - 1) // (kernel_size - 1)"),
            change(PATH, "1 + math.ceil((length - 1) / (kernel_size - 1))"),
        ),
    ),
    Misconception(
        "kernel-not-counted",
        "the multiplications of the convolution do not have the right number of matrices",
        "Each of the k tokens that an output sees has a matrix of its own.",
        (
            change(CONVOLUTION, "batch_size * length * size**2"),
            change(CONVOLUTION, "batch_size * 2 * length * size**2"),
            change(CONVOLUTION, "batch_size * kernel_size**2 * length * size**2"),
        ),
    ),
    Misconception(
        "edges-left-out",
        "zeros in front of the first token are not counted, or their outputs are left out",
        "A layer gives T outputs, and each of them is a full sum of k products.",
        (
            change(CONVOLUTION, "batch_size * kernel_size * (length - kernel_size + 1) * size**2"),
            change(
                CONVOLUTION,
                "batch_size * kernel_size * max(length - kernel_size + 1, 0) * size**2",
            ),
            change(
                CONVOLUTION,
                "batch_size * sum(min(t + 1, kernel_size) for t in range(length)) * size**2",
            ),
        ),
    ),
    Misconception(
        "kernel-of-three",
        "the kernel has three tokens, whatever kernel_size says",
        "3 is what it is if nobody says otherwise.",
        (
            change(f"    path = {PATH}", f"    kernel_size = 3\n    path = {PATH}"),
            change(PATH, "math.ceil((length - 1) / 2)"),
        ),
    ),
    Misconception(
        "order-of-the-three",
        "the three numbers come in another order",
        "First the multiplications, then the sequential operations, then the path.",
        (
            change(SLIDE_STEPS, "size**2, path, 1"),
            change(f"return {RECURRENT}, length, length", f"return length, length, {RECURRENT}")
            + change(f"return {ATTENTION}, 1, 1", f"return 1, 1, {ATTENTION}")
            + change(f"return {CONVOLUTION}, 1, path", f"return 1, path, {CONVOLUTION}"),
            change(f"return {RECURRENT}, length, length", f"return length, {RECURRENT}, length")
            + change(f"return {ATTENTION}, 1, 1", f"return 1, {ATTENTION}, 1")
            + change(f"return {CONVOLUTION}, 1, path", f"return 1, {CONVOLUTION}, path"),
        ),
    ),
    Misconception(
        "no-int",
        "a result is no int",
        "All three are counted, so they are whole numbers: look for / and for 2.0.",
        (
            change(PATH, "(length - 1) / (kernel_size - 1)"),
            change(RECURRENT, f"float({RECURRENT})")
            + change(ATTENTION, f"float({ATTENTION})")
            + change(CONVOLUTION, f"float({CONVOLUTION})"),
        ),
        r"is a float, expected int",
    ),
)


# --- memory_span -----------------------------------------------------------------------------

CHANGED = "    changed[:, 0] = other\n"
COPY = "changed = x.clone()"
DISTANCE = "(model(x) - model(changed))[0].norm(dim=-1)"
KEEPS = "distance >= share * distance[0]"
CHOICE = "int(kept.nonzero().max())"

SPAN = (
    Misconception(
        "not-the-first-token-alone",
        "the two runs do not differ in the first token alone",
        "Print where x and its changed copy differ. It should be at place 0 of the time axis, and "
        "nowhere else.",
        (
            change(CHANGED, ""),
            change(COPY, "changed = x"),
            change(CHANGED, "    changed[:, -1] = other\n"),
            change(CHANGED, "    changed[:, 1] = other\n"),
            change("model(changed)", "model(x)[:, :1]"),
            change("changed[:, 0]", "changed[:]"),
        ),
    ),
    Misconception(
        "forgets-for-good",
        "what comes back after a gap is not seen",
        "A model may forget for some tokens and remember again. The last place counts, not the "
        "place before the first gap.",
        (change(CHOICE, "int(kept.long().cumprod(dim=0).sum()) - 1"),),
    ),
    Misconception(
        "first-forgotten",
        "the first place that is forgotten is named",
        "Asked for is the last place that still keeps the share. It stands before the first one "
        "that does not, and after a gap it is another place altogether.",
        (change(CHOICE, "int(kept.long().cumprod(dim=0).sum())"),),
    ),
    Misconception(
        "places-counted",
        "the places are counted, and not the last one named",
        "With a gap in between there are fewer places than the last one says. And places count "
        "from 0.",
        (change(CHOICE, "int(kept.sum()) - 1"), change(CHOICE, "int(kept.sum())")),
    ),
    Misconception(
        "one-too-many",
        "the place after the last one is named",
        "Places count from 0: one that is 3 tokens later than the first is place 3.",
        (change(CHOICE, "int(kept.nonzero().max()) + 1"),),
    ),
    Misconception(
        "one-too-few",
        "the place before the last one is named",
        "The last place at which enough is left is part of the span.",
        (change(CHOICE, "int(kept.nonzero().max()) - 1"),),
    ),
    Misconception(
        "first-for-last",
        "the first place with enough left is named, which is always 0",
        "How long something is remembered is said by the last one.",
        (change(".max()", ".min()"),),
    ),
    Misconception(
        "share-of-one",
        "the distances are compared with the share itself",
        "A share of what? Of the distance at the first token.",
        (change(" * distance[0]", ""),),
    ),
    Misconception(
        "share-of-another",
        "the share is taken of another distance than that at the first token",
        "The first token itself says how much there is to remember.",
        (
            change("distance[0]", "distance.max()"),
            change("distance[0]", "distance.mean()"),
            change("distance[0]", "distance.sum()"),
            change("distance[0]", "distance[1]"),
        ),
    ),
    Misconception(
        "squared",
        "squared distances are compared",
        "The length of a difference has a root: a half of it is a quarter of its square.",
        (
            change(".norm(dim=-1)", ".square().sum(dim=-1)"),
            change(".norm(dim=-1)", ".square().mean(dim=-1)"),
        ),
    ),
    Misconception(
        "another-size",
        "the difference is measured by another size than its length",
        "The chapter takes the norm: the root of the sum of the squares.",
        (
            change(".norm(dim=-1)", ".abs().sum(dim=-1)"),
            change(".norm(dim=-1)", ".abs().amax(dim=-1)"),
        ),
    ),
    Misconception(
        "signed",
        "differences up and down cancel each other",
        "A difference of -2 is as large as one of 2. Take the length before anything is added up.",
        (
            change(".norm(dim=-1)", ".sum(dim=-1)"),
            change(".norm(dim=-1)", ".sum(dim=-1).abs()"),
        ),
    ),
    Misconception(
        "lengths-compared",
        "the lengths of the two outputs are compared, and not the outputs",
        "Two vectors may be far apart and equally long. Subtract first.",
        (
            change(DISTANCE, "(model(x)[0].norm(dim=-1) - model(changed)[0].norm(dim=-1)).abs()"),
            change(DISTANCE, "model(x)[0].norm(dim=-1) - model(changed)[0].norm(dim=-1)"),
        ),
    ),
    Misconception(
        "another-token",
        "the first token is taken away, or `other` is added to it",
        "`other` stands in the place of the first token, as *too* stands for *noo*.",
        (
            change("= other", "= 0"),
            change("= other", "+= other"),
        ),
    ),
    Misconception(
        "the-other-way-round",
        "the places are kept at which little is left",
        "Look at the comparison: which side is the larger one?",
        (change(">=", "<"), change(">=", "<=")),
        r"max\(\): Expected reduction dim|non-zero size|numel\(\) == 0|IndexError",
    ),
    with_wrong(TENSOR_FOR_NUMBER, change(CHOICE, "kept.nonzero().max()")),
    Misconception(
        "no-int",
        "the result is no int",
        "A place is a whole number, and no share or distance.",
        (change(CHOICE, "float(kept.nonzero().max())"),),
        r"is a float, expected int",
    ),
    with_wrong(
        CHANGES_INPUT,
        change(COPY, "before, changed = model(x), x") + change("(model(x) -", "(before -"),
    ),
)


# --- find_the_bug ----------------------------------------------------------------------------

TURNED = "backwards(x.flip(dims=[1]))"
BACK = "right_to_left.flip(dims=[1])"
JOINED = f"torch.cat([left_to_right, {BACK}], dim=-1)"

BUG = (
    Misconception(
        "bug-is-in",
        "the bug is still in it",
        "Take two tokens and say for each state of the second reader which tokens it has read. "
        "Does it stand beside the right token?",
        (change(BACK, "right_to_left"),),
    ),
    Misconception(
        "turned-around-the-batch",
        "the sequences of the batch are turned around, and not the tokens",
        "Axis 0 is the batch. Which axis is time?",
        (
            change(BACK, "right_to_left.flip(dims=[0])"),
            change(BACK, "right_to_left.flip(dims=[0, 1])"),
        ),
    ),
    Misconception(
        "numbers-turned-around",
        "the numbers of a state are turned around",
        "The last axis is the state. Its numbers keep their order.",
        (
            change(BACK, "right_to_left.flip(dims=[-1])"),
            change(BACK, "right_to_left.flip(dims=[1, 2])"),
        ),
    ),
    Misconception(
        "not-turned-to-read",
        "the second reader reads from left to right as well",
        "It has to read the tokens from the end, and its states are put in order afterwards.",
        (
            change(TURNED, "backwards(x)"),
            change(TURNED, "backwards(x)") + change(BACK, "right_to_left"),
        ),
    ),
    Misconception(
        "all-turned-around",
        "the states of the first reader are turned around too",
        "The first reader's states stood beside the right tokens as they were found.",
        (
            change(JOINED, "torch.cat([left_to_right, right_to_left], dim=-1).flip(dims=[1])"),
            change("[left_to_right,", "[left_to_right.flip(dims=[1]),"),
            change("forwards(x)", "forwards(x.flip(dims=[1]))"),
        ),
    ),
    Misconception(
        "halves-exchanged",
        "the second reader's states come first",
        "First what was read from the left, then what was read from the right.",
        (change(JOINED, f"torch.cat([{BACK}, left_to_right], dim=-1)"),),
    ),
    Misconception(
        "added",
        "the two states of a token are added or averaged, and not put side by side",
        "The result has 2N numbers for each token, as it was found.",
        (
            change(JOINED, f"left_to_right + {BACK}"),
            change(JOINED, f"(left_to_right + {BACK}) / 2"),
        ),
    ),
    Misconception(
        "side-by-side-on-another-axis",
        "the states are put side by side on another axis than the last",
        "A token gets more numbers. The sequence does not get longer, nor the batch larger.",
        (
            change("dim=-1)", "dim=1)"),
            change("dim=-1)", "dim=0)"),
            change(JOINED, f"torch.stack([left_to_right, {BACK}], dim=-1)"),
        ),
    ),
    Misconception(
        "one-reader-twice",
        "the same reader reads both ways",
        "There are two of them, each with parameters of its own.",
        (
            change(TURNED, "forwards(x.flip(dims=[1]))"),
            change("forwards(x)", "backwards(x)"),
            change("forwards(x)", "backwards(x)") + change(TURNED, "forwards(x.flip(dims=[1]))"),
        ),
    ),
    Misconception(
        "last-states-only",
        "every token gets the same: what a reader knows at its end",
        "Each token has a state of its own from both readers. The last one is only for the last.",
        (
            change(BACK, "right_to_left[:, -1:].expand_as(left_to_right)"),
            change(
                JOINED,
                "torch.cat([left_to_right[:, -1], right_to_left[:, -1]], dim=-1)",
            ),
            change(BACK, "right_to_left[:, :1].expand_as(left_to_right)"),
        ),
    ),
    Misconception(
        "own-token-left-out",
        "the states of the second reader are moved by one place",
        "The state beside a token has read this token too, in both directions.",
        (
            change(BACK, f"{BACK}.roll(-1, dims=1)"),
            change(BACK, f"{BACK}.roll(1, dims=1)"),
        ),
    ),
)

MISCONCEPTIONS = {
    "recurrent_step": STEP,
    "unroll": UNROLL,
    "additive_attention": ADDITIVE,
    "layer_cost": COST,
    "memory_span": SPAN,
    "find_the_bug": BUG,
}
