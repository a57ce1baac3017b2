"""The misconceptions of the assignment "depth", task by task, each a change to the answer."""

from __future__ import annotations

from transformer_checks.assignments.shared_mistakes import (
    FIRST_ROUND,
    TENSOR_FOR_NUMBER,
    with_wrong,
)
from transformer_checks.judging.changes import change
from transformer_checks.task import Misconception

# --- cnn_receptive_field ---------------------------------------------------------------------

SIZE = "1 + num_layers * (kernel_size - 1) * dilation"

FIELD = (
    Misconception(
        "kernels-added-up",
        "the kernels of all layers are added up, or that with gaps",
        "Two layers share a place: the second kernel looks at neighbours whose kernels overlap. "
        "How many places does each layer add at the edge?",
        (
            change(SIZE, "num_layers * kernel_size"),
            change(SIZE, "num_layers * kernel_size * dilation"),
            change(SIZE, "num_layers * ((kernel_size - 1) * dilation + 1)"),
        ),
    ),
    Misconception(
        "kernels-multiplied",
        "the size grows as a power of the kernel size",
        "That would be so if the layers did not overlap, with a stride as large as the kernel. "
        "With stride 1 each layer adds the same number of places.",
        (
            change(SIZE, "kernel_size**num_layers"),
            change(SIZE, "((kernel_size - 1) * dilation + 1) ** num_layers"),
        ),
    ),
    Misconception(
        "own-place-left-out",
        "one place is missing: the one that the output stands at",
        "Take one layer with a kernel of 3: what does the formula give?",
        (change("1 + ", ""),),
    ),
    Misconception(
        "whole-kernel-a-layer",
        "each layer adds a whole kernel, and not one less",
        "One of the places of a kernel was in the field before. Take one layer with a kernel of 3.",
        (
            change(SIZE, "1 + num_layers * kernel_size * dilation"),
            change(SIZE, "1 + num_layers * kernel_size"),
        ),
    ),
    Misconception(
        "no-dilation",
        "dilation makes no difference",
        "With a dilation of 2 there is a gap between the inputs of a kernel. From the first to the "
        "last, how far is it?",
        (change(" * dilation", ""),),
    ),
    Misconception(
        "dilation-doubles",
        "the dilation is a power that grows with each layer",
        "Some models do that. Here all layers have the same dilation.",
        (
            change(SIZE, "1 + (kernel_size - 1) * sum(dilation**n for n in range(num_layers))"),
            change(SIZE, "1 + (kernel_size - 1) * sum(dilation * 2**n for n in range(num_layers))"),
            change(SIZE, "1 + (kernel_size - 1) * sum(2**n for n in range(num_layers))"),
            change("* dilation", "* dilation**num_layers"),
        ),
    ),
    Misconception(
        "one-side-only",
        "only the places on one side are counted",
        "A kernel reaches to both sides; together it adds one less than its size in each layer.",
        (
            change("(kernel_size - 1)", "(kernel_size // 2)"),
            change("1 + num_layers * (kernel_size - 1)", "num_layers * (kernel_size // 2)"),
        ),
    ),
    Misconception(
        "dilation-once",
        "the dilation counts in one layer only",
        "Every layer has it, the first as well as the last.",
        (
            change(SIZE, "1 + (kernel_size - 1) * dilation + (num_layers - 1) * (kernel_size - 1)"),
            change(SIZE, "kernel_size + (num_layers - 1) * (kernel_size - 1) * dilation"),
        ),
    ),
    Misconception(
        "dilation-as-gap",
        "a dilation of d is taken for d places left out between two inputs",
        "A dilation of 1 is no gap at all: it is the step from one input to the next.",
        (change("* dilation", "* (dilation + 1)"),),
    ),
    Misconception(
        "one-layer",
        "num_layers makes no difference",
        "The second layer looks at outputs of the first, which have looked further already.",
        (change("num_layers * ", ""),),
    ),
    Misconception(
        "half-kernels",
        "each layer adds k // 2 places on both sides, which is one too many where k is even",
        "A kernel of 2 reaches one place further, and not two. How many steps are there from its "
        "first input to its last?",
        (
            change(SIZE, "1 + num_layers * 2 * (kernel_size // 2) * dilation"),
            change(SIZE, "1 + num_layers * 2 * (kernel_size // 2 * dilation // 2)"),
        ),
    ),
    Misconception(
        "places-read",
        "the gaps between the inputs are not counted",
        "The field goes from the first input to the last, whether all between are read or not.",
        (change("* dilation", "+ (dilation - 1)"),),
    ),
    Misconception(
        "on-a-plane",
        "the field is counted on a plane",
        "These convolutions run along one axis, as a text does.",
        (change(SIZE, f"({SIZE}) ** 2"),),
    ),
    Misconception(
        "no-int",
        "the result is no int",
        "A number of places is an int: look for / and for math functions.",
        (change(SIZE, f"float({SIZE})"),),
        r"is a float, expected int",
    ),
)


# --- previous_token_weights ------------------------------------------------------------------

BACK = "torch.diag(torch.ones(head_size - 1), -1)"
PAST = "torch.ones(num_tokens, num_tokens, device=places.device).tril().bool()"
RESULT = "scores.masked_fill(~past, -math.inf).softmax(dim=-1)"
QUERY = "query = sharpness * places @ look_back"

PREVIOUS = (
    Misconception(
        "looks-ahead",
        "each token looks for the one after it, which is hidden, so that its weights are even",
        "The matrix, or the shift, should turn place 2 into place 1. Work it out for one row: on "
        "which side of the diagonal does its number stand?",
        (change(BACK, "torch.diag(torch.ones(head_size - 1), 1)"), change(QUERY, f"{QUERY}.T")),
        r"mat1 and mat2 shapes|shapes cannot be multiplied",
    ),
    Misconception(
        "looks-at-itself",
        "each token looks at itself",
        "A query that is the place itself fits the key of its own place. It has to be moved first.",
        (change(BACK, "torch.eye(head_size)"),),
    ),
    Misconception(
        "two-back",
        "each token looks at the one before the one before",
        "The number stands one below the diagonal, and one move is enough.",
        (
            change(
                BACK, "torch.diag(torch.ones(max(head_size - 2, 0)), -2)[:head_size, :head_size]"
            ),
        ),
    ),
    Misconception(
        "no-mask",
        "tokens see what comes behind them",
        "A score of 0 is not hidden: e to the 0 is 1, so such a key still has weight. Which score "
        "has none?",
        (change(RESULT, "scores.softmax(dim=-1)"),),
    ),
    Misconception(
        "mask-after-softmax",
        "the mask comes after the softmax, so the weights do not sum to 1",
        "The hidden keys have taken their part by then. Hide the scores before the softmax.",
        (change(RESULT, "scores.softmax(dim=-1) * past"),),
    ),
    Misconception(
        "itself-hidden",
        "a token may not see itself, and the first one sees nothing at all",
        "The first token has none before it, and looks at itself. Keep the diagonal.",
        (
            change(".tril()", ".tril(-1)"),
            change(".tril()", ".tril(-1)")
            + change(".softmax(dim=-1)", ".softmax(dim=-1).nan_to_num()"),
        ),
    ),
    Misconception(
        "no-scale",
        "the scores are not divided by the root of K",
        "K is the number of features of a query, here the number of places that there are.",
        (change(" / math.sqrt(head_size)", ""),),
    ),
    Misconception(
        "scaled-by-the-length",
        "the scores are divided by the root of the number of tokens, or by K without the root",
        "The size of a query counts, which is the second axis of places, and its root.",
        (
            change("math.sqrt(head_size)", "math.sqrt(num_tokens)"),
            change("math.sqrt(head_size)", "head_size"),
        ),
    ),
    Misconception(
        "scaled-twice",
        "sharpness is counted twice, in the query and in the key",
        "The product of the two should be `sharpness`, so only one of them has it.",
        (change("query @ places.T", "query @ (sharpness * places).T"),),
    ),
    Misconception(
        "no-sharpness",
        "sharpness makes no difference",
        "The product of a query with the key before it is `sharpness`, and not 1.",
        (change("sharpness * places", "places"),),
    ),
    Misconception(
        "softmax-over-queries",
        "the softmax runs over the queries",
        "Each token shares out a weight of 1 over the keys, which are the last axis.",
        (change("dim=-1", "dim=0"),),
    ),
    Misconception(
        "scores-for-weights",
        "these are scores and no weights",
        "A softmax turns scores into weights that sum to 1.",
        (change(".softmax(dim=-1)", ""), change(RESULT, "scores")),
    ),
    Misconception(
        "all-weight-on-one",
        "a weight is exactly 1 or 0, as if nothing else had any",
        "A softmax leaves something for every key that may be seen. Compute it, do not round.",
        (
            change(RESULT, f"{RESULT}.round()"),
            change(RESULT, "torch.eye(num_tokens, num_tokens).roll(-1, 1).tril(-1).to(places)"),
            change(
                RESULT,
                "torch.eye(num_tokens)[torch.arange(-1, num_tokens - 1).clamp(0)].to(places)",
            ),
        ),
    ),
)


# --- logit_lens ------------------------------------------------------------------------------

START = "logits = [model.output_proj(model.norm(x))]"
ROUND = "logits.append(model.output_proj(model.norm(x)))"
STEP = "        x = layer(x)\n"
STACKED = "torch.stack(logits)"
KEEP_START = change("    logits = [", "    start = x\n    logits = [")

LENS = (
    Misconception(
        "no-norm",
        "the last norm is left out, everywhere or before the end",
        "The output layer was trained on what the norm makes of the stream. Every state goes "
        "through both.",
        (
            change(START, "logits = [model.output_proj(x)]")
            + change(ROUND, "logits.append(model.output_proj(x))"),
            change(START, "logits = [model.output_proj(x)]")
            + change(ROUND, "logits.append(model.output_proj(x))")
            + change(STACKED, "torch.stack([*logits[:-1], model.output_proj(model.norm(x))])"),
        ),
    ),
    Misconception(
        "norm-stays-in-the-stream",
        "the next layer gets what the norm has made for reading",
        "The norm belongs to the lens and not to the stream. Give its result a name of its own.",
        (
            change(STEP, "        x = model.norm(layer(x))\n")
            + change(ROUND, "logits.append(model.output_proj(x))"),
            change("    logits = [", "    x = model.norm(x)\n    logits = [")
            + change(
                "logits = [model.output_proj(model.norm(x))]", "logits = [model.output_proj(x)]"
            )
            + change(STEP, "        x = model.norm(layer(x))\n")
            + change(ROUND, "logits.append(model.output_proj(x))"),
            change(STEP, "        x = layer(model.norm(x))\n"),
        ),
    ),
    Misconception(
        "start-left-out",
        "the state before the first layer is missing",
        "N layers have N + 1 states: one before them all, and one after each.",
        (change(START, "logits = []"), change(STACKED, "torch.stack(logits[1:])")),
        r"non-empty TensorList",
    ),
    Misconception(
        "end-left-out",
        "the state after the last layer is missing",
        "N layers have N + 1 states. Is the state read before each layer only?",
        (change(STACKED, "torch.stack(logits[:-1])"),),
        r"non-empty TensorList",
    ),
    Misconception(
        "last-only",
        "there are only the logits behind the last layer",
        "The lens looks at every state on the way. Collect the logits in a list, and stack them.",
        (
            change(STACKED, "logits[-1]"),
            change(STACKED, "torch.stack(logits[-1:])"),
        ),
    ),
    Misconception(
        "each-layer-from-the-start",
        "every layer gets the state before the first one",
        "A layer reads what all layers before it have written. Go on with its result.",
        (KEEP_START + change(STEP, "        x = layer(start)\n"),),
    ),
    Misconception(
        "what-a-layer-adds",
        "only what each layer adds is read, and not the sum",
        "The stream is the sum of all that was added so far, and the lens reads that sum.",
        (
            change(STEP, "        old, x = x, layer(x)\n")
            + change(ROUND, "logits.append(model.output_proj(model.norm(x - old)))"),
            KEEP_START + change(ROUND, "logits.append(model.output_proj(model.norm(x - start)))"),
            change(STACKED, "torch.stack([logits[0], *torch.stack(logits).diff(dim=0)])"),
        ),
    ),
    Misconception(
        "added-twice",
        "the stream is added once more to what a layer gives back",
        "A layer returns the stream with its part added already.",
        (change(STEP, "        x = x + layer(x)\n"),),
    ),
    Misconception(
        "logits-added-up",
        "the logits of all states so far are added up, or averaged",
        "The stream holds the sum already. Each state is read by itself.",
        (
            change(STACKED, "torch.stack(logits).cumsum(dim=0)"),
            change(
                STACKED,
                "torch.stack([sum(logits[: n + 1]) / (n + 1) for n in range(len(logits))])",
            ),
        ),
    ),
    Misconception(
        "other-way-round",
        "the states come in the opposite order, or the layers run in it",
        "Row 0 is the state before the first layer, and the layers run as they stand in the list.",
        (
            change(STACKED, "torch.stack(logits[::-1])"),
            change("in model.layers", "in reversed(model.layers)"),
        ),
    ),
    Misconception(
        "probabilities",
        "these are probabilities, or their logarithms, and no logits",
        "Logits come before the softmax.",
        (
            change(STACKED, "torch.stack(logits).softmax(dim=-1)"),
            change(STACKED, "torch.stack(logits).log_softmax(dim=-1)"),
        ),
    ),
    Misconception(
        "ids-for-logits",
        "these are the tokens, and no logits",
        "The argmax chooses the best token. Here all V numbers are asked for.",
        (change(STACKED, "torch.stack(logits).argmax(dim=-1)"),),
    ),
    Misconception(
        "states-on-another-axis",
        "the states are not on the first axis",
        "torch.stack puts the new axis first, unless it is told otherwise; torch.cat makes none.",
        (
            change(STACKED, "torch.stack(logits, dim=1)"),
            change(STACKED, "torch.stack(logits, dim=2)"),
            change(STACKED, "torch.stack(logits, dim=-1)"),
            change(STACKED, "torch.cat(logits)"),
        ),
    ),
    Misconception(
        "list-for-a-tensor",
        "the result is a list",
        "torch.stack makes one tensor of the states.",
        (change(STACKED, "logits"),),
        r"expected one tensor, received a (list|tuple)",
    ),
    Misconception(
        "last-place-only",
        "there are only the logits at the last place",
        "The lens reads every token of every sequence.",
        (change(STACKED, "torch.stack(logits)[:, :, -1]"),),
    ),
    with_wrong(
        FIRST_ROUND,
        change(STEP, f"{STEP}        {ROUND}\n        return torch.stack(logits)\n"),
    ),
)


# --- damage_by_key ---------------------------------------------------------------------------

SCALE = " / math.sqrt(query.shape[-1])"
WITHOUT = "scores.masked_fill(~rest, -math.inf).softmax(dim=-1) @ value - whole"
SIZE = "changed.square().mean()"
HIDE = "rest[:, hidden] = False"
COPY = "        rest = mask.clone()\n"
WITH_WEIGHTS = change(
    "    whole = scores.masked_fill(~mask, -math.inf).softmax(dim=-1) @ value\n",
    "    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)\n"
    "    whole = weights @ value\n",
)

DAMAGE = (
    Misconception(
        "weight-for-damage",
        "this is how much weight the keys have, and not what happens without them",
        "A key may have much weight and be missed by nobody, since others say the same. Hide it, "
        "and measure what changes.",
        (
            WITH_WEIGHTS + change(SIZE, "weights[:, hidden].mean()"),
            WITH_WEIGHTS + change(SIZE, "weights[:, hidden].square().mean()"),
        ),
    ),
    Misconception(
        "weight-not-passed-on",
        "the weight of the hidden key is gone, and the other keys do not get it",
        "A query that may not see a key gives its weight to the others: they sum to 1 again. Hide "
        "the score before the softmax, not the weight or the value after it.",
        (WITH_WEIGHTS + change(WITHOUT, "(weights * rest) @ value - whole"),),
    ),
    Misconception(
        "score-of-zero",
        "the score of the hidden key is 0, which is not hidden",
        "e to the 0 is 1, so such a key still has weight. Which score has none?",
        (
            change(
                WITHOUT,
                "(scores * (torch.arange(len(key)) != hidden)).masked_fill(mask == 0, -math.inf)"
                ".softmax(dim=-1) @ value - whole",
            ),
            change(WITHOUT, WITHOUT.replace("-math.inf", "0.0")),
        ),
    ),
    Misconception(
        "all-but-the-key",
        "all keys but one are hidden",
        "The question is what is lost when this key alone is hidden, and all others are seen.",
        (
            change(COPY, "        rest = torch.zeros_like(mask)\n")
            + change(HIDE, "rest[:, hidden] = True"),
            change(HIDE, "rest[:, :hidden] = rest[:, hidden + 1 :] = False"),
        ),
    ),
    Misconception(
        "hidden-for-good",
        "the keys that were hidden before are still hidden when the next one is",
        "Each key is hidden alone, so each round starts from the mask as it was: a copy is needed.",
        (
            change("mask.clone()", "mask"),
            change("    damage = []\n", "    damage = []\n    rest = mask.clone()\n")
            + change(COPY + "        rest[", "        rest["),
            change("    damage = []\n", "    damage = []\n    rest = mask.clone()\n")
            + change(COPY + "        rest[", "        rest[")
            + change(WITHOUT, WITHOUT.replace(" @ value", ".nan_to_num() @ value")),
        ),
    ),
    Misconception(
        "mask-forgotten",
        "hidden keys are seen again when another one is hidden, or in both outputs",
        "One more False in the mask that is given: all others stay.",
        (
            change("mask.clone()", "torch.ones_like(mask)"),
            change("mask.clone()", "torch.ones_like(mask)")
            + change(".masked_fill(~mask, -math.inf)", ""),
        ),
    ),
    Misconception(
        "query-for-key",
        "a query is hidden, and not a key",
        "A row of the mask is a query, and a column is a key: the first index takes the row.",
        (
            change(HIDE, "rest[hidden] = False"),
            change(HIDE, "rest[hidden] = False")
            + change(WITHOUT, WITHOUT.replace(" @ value", ".nan_to_num() @ value")),
        ),
        r"^IndexError: index \d+ is out of bounds for dimension 0",
    ),
    Misconception(
        "one-query-only",
        "the key is hidden from one query only, or only one query is measured",
        "All queries lose the key, and the output of all of them counts.",
        (
            change("rest[:, hidden] = False", "rest[-1, hidden] = False"),
            change("rest[:, hidden] = False", "rest[0, hidden] = False"),
            change(SIZE, "changed[-1].square().mean()"),
            change(SIZE, "changed[0].square().mean()"),
        ),
    ),
    Misconception(
        "sum-for-mean",
        "the squares are added up, over all numbers or over some",
        "The mean is over all T times V numbers of the output.",
        (
            change(SIZE, "changed.square().sum()"),
            change(SIZE, "changed.square().sum(dim=-1).mean()"),
            change(SIZE, "changed.square().mean(dim=-1).sum()"),
        ),
    ),
    Misconception(
        "averaged-before-squared",
        "changes up and down cancel each other, as the mean is taken first",
        "A change of -2 is as large as one of 2. Square every number, then average.",
        (
            change(SIZE, "changed.mean().square()"),
            change(SIZE, "changed.mean().abs()"),
            change(SIZE, "changed.mean()"),
        ),
    ),
    Misconception(
        "not-squared",
        "the change is measured by another size: absolute, a length, or with a root",
        "The mean of the squares is asked for as it is.",
        (
            change(SIZE, "changed.abs().mean()"),
            change(SIZE, "changed.square().mean().sqrt()"),
            change(SIZE, "changed.norm()"),
            change(SIZE, "changed.norm(dim=-1).mean()"),
        ),
    ),
    Misconception(
        "only-what-is-left",
        "the output without the key is measured, and not its change",
        "Subtract the output with all keys, from before anything was hidden.",
        (change(" @ value - whole", " @ value"),),
    ),
    Misconception(
        "share-of-all",
        "the damage is divided by something: the size of the output, or all damages together",
        "The mean of the squared change is asked for as it is.",
        (
            change("torch.stack(damage)", "torch.stack(damage) / whole.square().mean()"),
            change("torch.stack(damage)", "torch.stack(damage) / sum(damage)"),
        ),
    ),
    Misconception(
        "weights-compared",
        "the change of the weights is measured, and not that of the output",
        "Weight that moves between keys of the same value changes nothing. Compare the outputs.",
        (WITH_WEIGHTS + change(WITHOUT, WITHOUT.replace("@ value - whole", "- weights")),),
    ),
    Misconception(
        "no-scale",
        "the scores are not divided by the root of K",
        "K is the number of features of a query.",
        (change(SCALE, ""), change("math.sqrt(query.shape[-1])", "query.shape[-1]")),
    ),
    Misconception(
        "scaled-by-the-keys",
        "the scores are divided by the root of the number of keys, or of queries",
        "K is the number of features of a query, which is its last axis.",
        (
            change("query.shape[-1]", "len(key)"),
            change("query.shape[-1]", "len(query)"),
        ),
    ),
)


# --- needed_offset ---------------------------------------------------------------------------

BAND = "past.tril(-offset) & past.triu(-offset)"
OFFSET_SIZE = "changed.square().mean().item()"
CHOICE = "1 + damage.index(max(damage))"
LEFT = "scores.masked_fill(~rest, -math.inf).softmax(dim=-1) @ value"

OFFSET = (
    Misconception(
        "largest-weight",
        "this is the offset with the most weight, which need not be missed",
        "Where a query looks is not what it needs: it may find the same elsewhere. Hide each "
        "offset in turn, and compare the outputs.",
        (
            change("softmax(dim=-1) @ value\n    damage", "softmax(dim=-1)\n    damage")
            + change(f"changed = {LEFT} - whole", "changed = whole[hidden]")
            + change(OFFSET_SIZE, "changed.mean().item()"),
            change("softmax(dim=-1) @ value\n    damage", "softmax(dim=-1)\n    damage")
            + change(f"changed = {LEFT} - whole", "changed = whole[hidden]")
            + change(OFFSET_SIZE, "changed.sum().item()"),
            change(OFFSET_SIZE, "scores[hidden].mean().item()"),
        ),
    ),
    Misconception(
        "least-damage",
        "this is the offset that is missed least",
        "The needed key is the one without which the output changes most.",
        (change("max(damage)", "min(damage)"),),
    ),
    Misconception(
        "counted-from-zero",
        "the offsets are counted from 0",
        "Offset 1 is the token before. At which place of a list does its damage stand?",
        (change("1 + damage", "damage"),),
    ),
    Misconception(
        "largest-not-tried",
        "the largest offset is not tried",
        "A range ends before its second number, and max_offset itself is allowed.",
        (
            change("range(1, max_offset + 1)", "range(1, max(2, max_offset))"),
            change("range(1, max_offset + 1)", "range(1, max_offset)"),
        ),
        r"max\(\) (arg|iterable argument) is",
    ),
    Misconception(
        "counted-from-the-far-end",
        "the offset is counted from the far end",
        "Offset 1 is the token before, the nearest one that is tried.",
        (change(CHOICE, "max_offset - damage.index(max(damage))"),),
    ),
    Misconception(
        "all-further-back",
        "everything that stands so far back or further is hidden at once",
        "Of each query one key is hidden: a single diagonal, and not the triangle below it.",
        (change(BAND, "past.tril(-offset)"), change(BAND, "past.tril(-offset - 1)")),
    ),
    Misconception(
        "all-nearer",
        "everything from the token before up to this offset is hidden at once",
        "Of each query one key is hidden: a single diagonal. Does each round start from the causal "
        "mask as it was?",
        (
            change(BAND, "past.tril(-1) & past.triu(-offset)"),
            change(BAND, "past.tril(-1) & past.triu(1 - offset)"),
        ),
    ),
    Misconception(
        "one-too-far",
        "the diagonal that is hidden is one too far, or one too near",
        "Offset 1 hides key t - 1 from query t. Try it with three tokens.",
        (
            change(BAND, "past.tril(-offset - 1) & past.triu(-offset - 1)"),
            change(CHOICE, "2 + damage.index(max(damage))"),
        ),
    ),
    Misconception(
        "only-this-offset",
        "only the key at this offset is seen, with or without the token itself",
        "Hide one key of each query and leave all others; then the largest change is that of the "
        "key which is needed.",
        (change("rest = past & ~hidden", "rest = hidden | torch.eye(len(query)).bool()"),),
    ),
    Misconception(
        "key-by-its-place",
        "one key is hidden from all queries, and not the one that far before each of them",
        "The key differs from query to query: it is t - offset. These are the cells of a diagonal, "
        "not of a column.",
        (
            change(BAND, "past & (torch.arange(len(query)) == offset)"),
            change(BAND, "past & (torch.arange(len(query)) == len(query) - 1 - offset)"),
        ),
    ),
    Misconception(
        "last-query-only",
        "only the last query is looked at",
        "What one query needs may be chance. All queries of the text count.",
        (change(OFFSET_SIZE, "changed[-1].square().mean().item()"),),
    ),
    Misconception(
        "averaged-before-squared",
        "changes up and down cancel each other, as the mean is taken first",
        "A change of -2 is as large as one of 2. Square every number, then average.",
        (
            change(OFFSET_SIZE, "changed.mean().item()"),
            change(OFFSET_SIZE, "changed.mean().abs().item()"),
        ),
    ),
    Misconception(
        "only-what-is-left",
        "the size of the output without the key is measured, and not its change",
        "Subtract the output with all keys, from before anything was hidden.",
        (change(f"{LEFT} - whole", LEFT),),
    ),
    Misconception(
        "future-seen",
        "tokens see what comes behind them",
        "The attention is causal: the mask has one more False where a key is hidden, and keeps all "
        "that it had.",
        (change("rest = past & ~hidden", "rest = ~hidden"),),
    ),
    with_wrong(
        TENSOR_FOR_NUMBER,
        change(CHOICE, "1 + torch.tensor(damage).argmax()"),
    ),
)


# --- find_the_bug ----------------------------------------------------------------------------

SECOND = "query, key, value = 20 * letters, before, letters"
FIRST = "query, key, value = places @ look_back, places, letters"
DIAGONAL = "torch.diag(torch.ones(len(letters) - 1), -1)"
FOUND = "found, _ = reference.scaled_dot_product_attention(query, key, value, past)"
FOUND_BEFORE = "before, _ = reference.scaled_dot_product_attention(query, key, value, past)"

INDUCTION = (
    Misconception(
        "bug-is-in",
        "the bug is still in it",
        "Take the last letter of the example, and write down which token layer 1 looks at, and "
        "what that token hands over.",
        (change(SECOND, "query, key, value = 20 * letters, letters, before"),),
    ),
    Misconception(
        "finds-itself",
        "each letter finds its own kind, and brings it",
        "The query is right. Which key fits it, where the token *behind* the letter is wanted?",
        (change(SECOND, "query, key, value = 20 * letters, letters, letters"),),
    ),
    Misconception(
        "brings-the-letter-before",
        "the right token is found, and it hands over the letter before it",
        "That is the letter that was looked for. The one that follows is the token's own.",
        (change(SECOND, "query, key, value = 20 * letters, before, before"),),
    ),
    Misconception(
        "asks-with-the-letter-before",
        "the query is the letter before, and not the token's own",
        "What follows the last letter is wanted, so the last letter itself is the query.",
        (
            change(SECOND, "query, key, value = 20 * before, letters, letters"),
            change(SECOND, "query, key, value = 20 * before, before, letters"),
            change(SECOND, "query, key, value = 20 * before, letters, before"),
        ),
    ),
    Misconception(
        "looks-for-places",
        "layer 1 looks for places, and not for letters",
        "Its query is the token's own letter, and its key a letter too.",
        (change(SECOND, FIRST.replace("letters", "before")),),
    ),
    Misconception(
        "looks-ahead",
        "layer 0 is changed: it looks for the token after, which is hidden",
        "Layer 0 was right as it was found. Look at layer 1.",
        (change(DIAGONAL, "torch.diag(torch.ones(len(letters) - 1), 1)"),),
    ),
    Misconception(
        "two-back",
        "layer 0 is changed: it looks at the token before the one before",
        "Layer 0 was right as it was found. Look at layer 1.",
        (change(DIAGONAL, "torch.diag(torch.ones(len(letters) - 2), -2)"),),
    ),
    Misconception(
        "future-seen",
        "a layer sees what comes behind a token",
        "Both layers have the causal mask, as it was found.",
        (
            change(FOUND, FOUND.replace(", past", "")),
            change(FOUND_BEFORE, FOUND_BEFORE.replace(", past", "")),
            change(FOUND, FOUND.replace(", past", ""))
            + change(FOUND_BEFORE, FOUND_BEFORE.replace(", past", "")),
        ),
    ),
    Misconception(
        "not-sharp",
        "the 20 is gone from a layer, so that it looks at everything a little",
        "A softmax needs a large product to choose one key. The 20 was right as it was found.",
        (
            change("20 * letters", "letters"),
            change("20 * torch.diag", "torch.diag"),
        ),
    ),
    Misconception(
        "first-layer-only",
        "this is what layer 0 writes, the letter before",
        "The guess comes from layer 1, which reads what layer 0 has written.",
        (change("return found", "return before"),),
    ),
    Misconception(
        "letter-added",
        "what was found is added to something: the letter, or the letter before",
        "In a model it is added to the residual stream. Here only what layer 1 finds is asked for.",
        (
            change("return found", "return found + letters"),
            change("return found", "return found + before"),
        ),
    ),
    Misconception(
        "chosen",
        "this is the likeliest letter alone, and not the shares of all",
        "The output of a head is a weighted sum of values. Leave it as it is.",
        (
            change(
                "return found",
                "return (found == found.amax(dim=-1, keepdim=True)).to(letters)",
            ),
            change("return found", "return found.round()"),
        ),
    ),
)

MISCONCEPTIONS = {
    "cnn_receptive_field": FIELD,
    "previous_token_weights": PREVIOUS,
    "logit_lens": LENS,
    "damage_by_key": DAMAGE,
    "needed_offset": OFFSET,
    "find_the_bug": INDUCTION,
}
