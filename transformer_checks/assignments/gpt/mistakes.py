"""The misconceptions of the assignment "gpt", task by task, each a change to the answer.

A GPT is told by what its logits depend on, so ideas that show the same are one entry: a mask that
is not there and one that hides nothing; positions that are missing and positions that are all the
same.
Attention whose softmax runs over the queries has no entry: it lets the future in as a missing mask
does. Nor has dropout that is never switched off, whose answers are random.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from transformer_checks.assignments.shared_mistakes import (
    CHANGES_INPUT,
    FIRST_ROUND,
    LARGEST_LOGIT,
    NOTEBOOK,
    NUMBER_FOR_TENSOR,
    SAMPLED,
    TENSOR_FOR_NUMBER,
    no_gradients,
    with_wrong,
)
from transformer_checks.judging.changes import Change, change
from transformer_checks.judging.general_mistakes import DETACHED
from transformer_checks.task import Misconception

# --- lm_batch --------------------------------------------------------------------------------

# What torch says where a piece would reach past the end of the text.
RAGGED = r"stack expects each tensor to be equal size|out of (range|bounds)"
INPUT, LABEL = "ids[start : start + block_size]", "ids[start + 1 : start + 1 + block_size]"
BOTH = "inputs, labels"
FIRST_LINE = "    inputs = "

BATCH = (
    Misconception(
        "no-shift",
        "the labels are the inputs",
        "At each place the model would be asked for the token that it reads there, and learn to "
        "copy. The label is the token after it.",
        (change(LABEL, INPUT),),
    ),
    Misconception(
        "shift-of-two",
        "the labels are two later",
        "At place t the model has read token t; it is asked for token t + 1.",
        (change(LABEL, "ids[start + 2 : start + 2 + block_size]"),),
        RAGGED,
    ),
    Misconception(
        "backwards",
        "the labels are earlier than the inputs",
        "That asks for what the model has read already. Which of the two begins at starts[b], "
        "and which is returned first?",
        (change(BOTH, "labels, inputs"),),
    ),
    Misconception(
        "one-label-a-row",
        "there is one label for each row, the token behind the piece",
        "Every place of the row has a label of its own, so that one row trains block_size "
        "predictions at once.",
        (
            change(BOTH, "inputs, labels[:, -1]"),
            change(BOTH, "inputs, labels[:, -1:]"),
        ),
    ),
    Misconception(
        "one-too-short",
        "the rows are one token too short",
        "block_size inputs and as many labels take block_size + 1 tokens of the text.",
        (change(BOTH, "inputs[:, :-1], inputs[:, 1:]"),),
    ),
    Misconception(
        "one-too-long",
        "the rows are one token too long",
        "block_size + 1 tokens of the text are one piece; inputs and labels have block_size each.",
        (
            change(INPUT, "ids[start : start + block_size + 1]")
            + change(LABEL, "ids[start + 1 : start + 1 + block_size + 1]"),
            change(INPUT, "ids[start : start + block_size + 1]") + change(BOTH, "inputs, inputs"),
        ),
        RAGGED,
    ),
    Misconception(
        "next-block",
        "the labels are the block behind that of the inputs",
        "The label of each place is the very next token, so that the labels overlap the inputs.",
        (change(LABEL, "ids[start + block_size : start + 2 * block_size]"),),
        RAGGED,
    ),
    Misconception(
        "one-row",
        "there is one row only, whatever the number of starts",
        "A return in the loop ends it after the first row, and a name that is assigned in it keeps "
        "the last one. Collect the pieces in a list, and stack them behind the loop.",
        tuple(change(BOTH, f"inputs[{row}], labels[{row}]") for row in ("0:1", "-1:", "0", "-1")),
    ),
    Misconception(
        "no-pair-of-tensors",
        "what comes back is no pair of tensors, inputs and labels",
        "Stack the pieces of each to a tensor (B, block_size), and return the two.",
        (change(BOTH, "list(inputs), list(labels)"),),
        r"should be a tensor, received a|expected \(inputs, labels\)",
    ),
    with_wrong(
        replace(NOTEBOOK, error=RAGGED),
        change(FIRST_LINE, f"    ids = torch.arange(10, 20)\n{FIRST_LINE}"),
    ),
    Misconception(
        "wraps-around",
        "the last label is the first token of the row",
        "roll turns the row round. The label of the last place is the token behind the piece.",
        (change(BOTH, "inputs, inputs.roll(-1, dims=1)"),),
    ),
    Misconception(
        "last-label-filled",
        "the last label is filled up, though the text goes on",
        "Cut one token more out of the text, and nothing needs filling.",
        (
            change("    return", "    labels[:, -1] = 0\n    return"),
            change("    return", "    labels[:, -1] = -100\n    return"),
            change("    return", "    labels[:, -1] = inputs[:, -1]\n    return"),
        ),
    ),
    Misconception(
        "starts-count-blocks",
        "starts are taken for numbers of blocks",
        "A start is a place in the text, so pieces may overlap. Do not multiply by block_size.",
        (
            change(
                FIRST_LINE,
                "    last = len(ids) - block_size - 1\n"
                f"    starts = [min(start * block_size, last) for start in starts]\n{FIRST_LINE}",
            ),
            change(
                FIRST_LINE, f"    starts = [start * block_size for start in starts]\n{FIRST_LINE}"
            ),
        ),
        RAGGED,
    ),
    Misconception(
        "starts-not-used",
        "the pieces follow one another, wherever they should start",
        "Row b of the inputs begins at ids[starts[b]].",
        (
            change(
                FIRST_LINE,
                f"    starts = range(0, len(starts) * block_size, block_size)\n{FIRST_LINE}",
            ),
            change(FIRST_LINE, f"    starts = range(len(starts))\n{FIRST_LINE}"),
        ),
        RAGGED,
    ),
    Misconception(
        "starts-one-late",
        "every piece begins one token late",
        "The first input of row b is ids[starts[b]] itself.",
        (change(FIRST_LINE, f"    starts = [start + 1 for start in starts]\n{FIRST_LINE}"),),
        RAGGED,
    ),
    Misconception(
        "first-start-only",
        "all rows begin where the first one does",
        "Row b of the inputs begins at ids[starts[b]].",
        (change(FIRST_LINE, f"    starts = [starts[0]] * len(starts)\n{FIRST_LINE}"),),
    ),
    Misconception(
        "floats-for-ids",
        "the ids come back as floating numbers",
        "An id is the number of a row, and an embedding takes whole numbers only. Look for a "
        "tensor that is made without a dtype, or for float.",
        (change(BOTH, "inputs.float(), labels.float()"),),
    ),
    Misconception(
        "axes-swapped",
        "the pieces stand in columns",
        "The batch is the first axis: (B, block_size).",
        (change(BOTH, "inputs.T, labels.T"),),
    ),
    Misconception(
        "flat",
        "all rows are one row",
        "Stack the pieces; do not join them.",
        (change(BOTH, "inputs.flatten(), labels.flatten()"),),
    ),
    Misconception(
        "next-row",
        "the labels are the next row of the batch",
        "The batch is the first axis and the place in the text the second. The shift is in the "
        "text.",
        (change(BOTH, "inputs, inputs.roll(-1, dims=0)"),),
    ),
)


# --- GPT -------------------------------------------------------------------------------------

MASK = "causal_mask(length, ids.device)"
PLACES = "self.places(torch.arange(length, device=ids.device))"
CHECK = (
    "        if length > self.max_len:\n"
    '            raise ValueError(f"ids has {length} tokens, at most {self.max_len} fit")\n'
)
LOGITS = "self.output(self.norm(x))"
# The layer is the package's. Where the mistake is in it, it is written out first.
LAYER = "            x = layer(x, mask)\n"
LAYER_WRITTEN_OUT = change(
    LAYER,
    "            y = layer.norm1(x)\n"
    "            x = x + layer.self_attention(y, y, y, mask)\n"
    "            x = x + layer.feed_forward(layer.norm2(x))\n",
)
ATTENTION_WRITTEN_OUT = LAYER_WRITTEN_OUT + change(
    "            x = x + layer.self_attention(y, y, y, mask)\n",
    "            attention = layer.self_attention\n"
    "            projected = attention.q_proj(y), attention.k_proj(y), attention.v_proj(y)\n"
    "            heads = (each.unflatten(2, (attention.num_heads, -1)) for each in projected)\n"
    "            query, key, value = (each.transpose(1, 2) for each in heads)\n"
    "            scores = query @ key.mT / math.sqrt(query.shape[-1])\n"
    "            weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)\n"
    "            merged = (weights @ value).transpose(1, 2).flatten(2)\n"
    "            x = x + attention.out_proj(merged)\n",
)
HIDES_ITSELF = change(MASK, f"{MASK}.tril(-1)")

MODEL = (
    Misconception(
        "no-causal-mask",
        "every token sees those behind it: the causal mask is missing, too late, or hides nothing",
        "Query t may see the keys 0 to t. The scores of the others become -inf before the softmax.",
        (change("layer(x, mask)", "layer(x)"),),
    ),
    Misconception(
        "mask-turned-round",
        "every token sees itself and what is behind it, but nothing before",
        "The mask is transposed or inverted. In row t, for query t, the keys 0 to t are allowed.",
        (change(MASK, f"{MASK}.mT"),),
    ),
    Misconception(
        "sees-the-next",
        "every token sees the next one, which it is to predict",
        "The diagonal of the mask is off by one: key t is the last one that query t may see.",
        (change(MASK, f"torch.ones_like({MASK}).tril(1)"),),
    ),
    Misconception(
        "cannot-see-itself",
        "attention hides each token from itself",
        "The diagonal of the mask is off by one: query t may see key t too. The first token has "
        "nothing else.",
        (
            ATTENTION_WRITTEN_OUT + HIDES_ITSELF,
            ATTENTION_WRITTEN_OUT + HIDES_ITSELF + change("-math.inf", "-1e9"),
            HIDES_ITSELF,
        ),
    ),
    Misconception(
        "one-layer-masked",
        "the mask is not in every layer: with one layer all is right, with two the future leaks",
        "One layer without the mask is enough for a leak. Hand it to each of them.",
        (change("(x, mask)", "(x, mask if layer is self.layers[0] else None)"),),
    ),
    Misconception(
        "no-positions",
        "the model has no positions, or the same one for all places",
        "Without them, attention takes the earlier tokens for a set. Add something to each vector "
        "that depends on its place 0 to T - 1.",
        (change(f" + {PLACES}", ""),),
    ),
    Misconception(
        "positions-of-the-batch",
        "positions are counted along the batch, and not along the text",
        "ids is (B, T), so shape[1] is the length, and the positions are (T, D).",
        (
            change(PLACES, "self.places.weight[: ids.shape[0], None]"),
            change(PLACES, "self.places.weight[: ids.shape[0]]"),
        ),
        r"must match the size of tensor",
    ),
    Misconception(
        "attention-over-the-batch",
        "attention runs along the batch, and not along the text",
        "The length has to be the last axis but one of the heads: (B, H, T, K). Some modules of "
        "torch expect the batch second.",
        (
            change(MASK, "causal_mask(ids.shape[0], ids.device)")
            + change("layer(x, mask)", "layer(x.transpose(0, 1), mask).transpose(0, 1)"),
        ),
    ),
    Misconception(
        "tokens-do-not-meet",
        "every logit hangs on its own token only: nothing comes from the earlier ones",
        "Are the layers run at all, and does attention mix the values of several tokens?",
        (
            change(f"        for layer in self.layers:\n{LAYER}", ""),
            change(MASK, "torch.eye(length, dtype=torch.bool, device=ids.device)"),
        ),
    ),
    Misconception(
        "no-residual",
        "there is no residual sum around the parts of a layer",
        "A part adds to what it was given, x = x + part(...). Without the sum the gradient dies "
        "out in a deep model.",
        (LAYER_WRITTEN_OUT + change("x + layer.self_attention", "layer.self_attention"),),
    ),
    Misconception(
        "probabilities",
        "softmax has been applied to the logits",
        "cross_entropy does it again, and on probabilities the loss cannot fall far. Return the "
        "output of the last linear layer as it is.",
        (
            change(LOGITS, f"{LOGITS}.softmax(dim=-1)"),
            change(LOGITS, f"{LOGITS}.softmax(dim=1)"),
        ),
    ),
    Misconception(
        "last-place-only",
        "there are logits for the last place only",
        "In training every place predicts its next token. What is not needed in generation is cut "
        "off there.",
        (
            change(LOGITS, f"{LOGITS}[:, -1]"),
            change(LOGITS, f"{LOGITS}[:, -1:]"),
        ),
    ),
    Misconception(
        "no-output-layer",
        "the vectors of the last layer are returned, not logits",
        "One linear layer from D to V turns each vector into a number for each token.",
        (change(LOGITS, "self.norm(x)"),),
    ),
    Misconception(
        "axes-of-the-logits",
        "the axes of the logits are swapped",
        "The vocabulary is the last axis: (B, T, V).",
        (
            change(LOGITS, f"{LOGITS}.transpose(1, 2)"),
            change(LOGITS, f"{LOGITS}.transpose(0, 1)"),
            change(LOGITS, f"{LOGITS}.flatten(0, 1)"),
        ),
    ),
    Misconception(
        "one-layer-shared",
        "all layers are the same one",
        "[layer] * n holds one module n times, and a layer that is made once and run n times is "
        "one, too. Make a new one for each.",
        (
            change("reference.EncoderLayer", "[reference.EncoderLayer")
            + change(" for _ in range(num_layers)", "] * num_layers"),
        ),
    ),
    Misconception(
        "plain-list",
        "the model does not know the parameters of its layers",
        "A Python list hides modules from model.parameters(), so no optimizer would train them. "
        "nn.ModuleList registers them.",
        (change("nn.ModuleList(", "list("),),
    ),
    Misconception(
        "num-layers-not-used",
        "num_layers makes no difference",
        "Look for a number that stands where num_layers should, or a loop that runs one layer.",
        (change("range(num_layers)", "range(1)"),),
    ),
    Misconception(
        "number-of-layers",
        "there is one layer too many, or one too few",
        "num_layers=1 means one layer. Look at the range of the loop that makes them.",
        (
            change("range(num_layers)", "range(num_layers + 1)"),
            change("range(num_layers)", "range(num_layers - 1)"),
        ),
    ),
    Misconception(
        "only-one-layer-counts",
        "the layers do not follow one another: only one of them makes the result",
        "What a layer returns is what the next one is given, x = layer(x), and forward returns "
        "when the loop is over.",
        (
            change(LAYER, "            y = layer(x, mask)\n        x = y\n"),
            change(LAYER, f"{LAYER}            break\n"),
        ),
    ),
    Misconception(
        "d-ff-not-used",
        "d_ff makes no difference",
        "The hidden layer of the feed-forward network has d_ff features, and not always 4 * D.",
        (change("num_heads, d_ff,", "num_heads, 4 * d_model,"),),
    ),
    Misconception(
        "one-head",
        "there is one head, whatever num_heads says",
        "Each head has a softmax of its own over its part of the features.",
        (change("d_model, num_heads, d_ff", "d_model, 1, d_ff"),),
    ),
    Misconception(
        "no-error-past-max-len",
        "a text longer than max_len is not refused with a ValueError",
        "Compare ids.shape[1] with max_len at the start of forward, and raise a ValueError that "
        "gives both numbers.",
        (
            change(CHECK, ""),
            change(CHECK, "") + change(PLACES, "self.places(torch.arange(length) % self.max_len)"),
            change(CHECK, "        ids = ids[:, -self.max_len :]\n        length = ids.shape[1]\n"),
        ),
    ),
    Misconception(
        "max-len-refused",
        "a text of max_len tokens is refused, though it fits",
        "Only what is longer than max_len is too long.",
        (change("length > self.max_len", "length >= self.max_len"),),
        r"^ValueError",
    ),
    Misconception(
        "cut-off",
        "part of the model, or all of it, gets no gradient",
        "Look for detach, .data, no_grad, .item() or a new torch.tensor on the way from the "
        "parameters to the logits.",
        (
            change(LOGITS, f"{LOGITS}.detach()"),
            LAYER_WRITTEN_OUT
            + change("x + layer.self_attention", "x.detach() + layer.self_attention"),
            change(LOGITS, "self.output(self.norm(x.detach()))"),
        ),
    ),
)


# --- a loop that goes on with a text, wherever it is written ---------------------------------

LOOP = "    for _ in range(max_new_tokens):"
CHOICE = "[:, -1].argmax(dim=-1, keepdim=True)"

DRAWN = with_wrong(
    SAMPLED, change("argmax(dim=-1, keepdim=True)", "softmax(dim=-1).multinomial(1)")
)
LARGEST = with_wrong(
    replace(LARGEST_LOGIT, error=r"model takes ids \(B, T\)"),
    change("argmax", "amax"),
    change(CHOICE, "[:, -1].amax(dim=-1, keepdim=True).long()"),
)
ONE_ROUND = with_wrong(FIRST_ROUND, change("    return ids", "        return ids"))
ONE_FEWER = Misconception(
    "one-too-few",
    "there is one new token too few",
    "Each step of the loop appends one token, and there are max_new_tokens steps.",
    (change("range(max_new_tokens)", "range(max_new_tokens - 1)"),),
)
ONE_MORE = Misconception(
    "one-too-many",
    "there is one new token too many",
    "Each step of the loop appends one token, and there are max_new_tokens steps.",
    (change("range(max_new_tokens)", "range(max_new_tokens + 1)"),),
)
NEW_ONLY = Misconception(
    "prompt-left-out",
    "the result holds the new tokens alone",
    "Return the prompt and what follows it, (B, T + max_new_tokens).",
    (change("return ids", "return ids[:, -max_new_tokens:]"),),
)
LAST_TOKEN = Misconception(
    "last-token-only",
    "the model is shown the last token only",
    "Without a cache the model remembers nothing. Show it all tokens so far, in each step.",
    (),
)
PROMPT_AGAIN = Misconception(
    "prompt-again",
    "the same token comes again and again, because the model is always shown the same",
    "What was chosen has to go back in: the next step sees the prompt and the tokens behind it.",
    (),
)
FIRST_PLACE = Misconception(
    "first-place",
    "the token is read off the first place, and not the last",
    "The logits at place t say what follows token t. What is to come follows the last token.",
    (change("[:, -1]", "[:, 0]"),),
)
FIRST_ROW = Misconception(
    "first-row-for-all",
    "all rows get the token of the first one",
    "Each row of the batch goes on by itself: argmax over the vocabulary gives one token a row.",
    (change("[ids, best]", "[ids, best[:1].expand_as(best)]"),),
)
PROMPT_CHANGED = with_wrong(
    CHANGES_INPUT,
    change(LOOP, f"    prompt = ids\n{LOOP}")
    + change("    return ids", "    prompt.fill_(-1)\n    return ids"),
)


# --- generate --------------------------------------------------------------------------------


def _all_at_once(model: Any, ids: Tensor, max_new_tokens: int) -> Tensor:
    """Read the new tokens off one call, at places whose tokens are not known yet."""
    gaps = torch.zeros(len(ids), max_new_tokens, dtype=ids.dtype)
    best = model(torch.cat((ids, gaps), dim=1)).argmax(dim=-1)
    start = ids.shape[1] - 1
    return torch.cat((ids, best[:, start : start + max_new_tokens]), dim=1)


GENERATE = (
    with_wrong(
        LAST_TOKEN,
        change("model(ids)", "model(ids[:, -1:])"),
        change(LOOP, f"    best = ids\n{LOOP}") + change("model(ids)", "model(best)"),
    ),
    DRAWN,
    LARGEST,
    ONE_ROUND,
    with_wrong(
        NOTEBOOK,
        change("model(ids)", "(3.0 * F.one_hot((ids + 1) % 10, num_classes=10))"),
    ),
    Misconception(
        "axis-lost",
        "the new token has lost an axis, so that it cannot be joined to the text",
        "The text is (B, T), so what is put behind it is (B, 1). Look for keepdim or unsqueeze.",
        (
            change("dim=-1, keepdim=True", "dim=-1"),
            change("dim=-1, keepdim=True", "dim=-1") + change("dim=1)", "dim=0)"),
        ),
        r"same number of dimensions|zero-dimensional tensor",
    ),
    Misconception(
        "joined-along-the-batch",
        "the new tokens are put below the text, and not behind it",
        "The batch is axis 0, and the place in the text axis 1. Along which of them does it grow?",
        (change("dim=1)", "dim=0)"),),
        r"except in dimension 0",
    ),
    Misconception(
        "one-token-for-all",
        "the largest logit of the whole batch is sought, and not that of each row",
        "argmax without an axis counts through all numbers. Each row has a likeliest token.",
        (
            change("argmax(dim=-1, keepdim=True)", "argmax().expand(len(ids), 1)"),
            change("best = model", "logits = model")
            + change(
                CHOICE,
                "[:, -1]\n        best = logits.argmax().expand(len(ids), 1) % logits.shape[-1]",
            ),
        ),
        r"index out of range",
    ),
    Misconception(
        "first-row-only",
        "only the first row of the batch comes back",
        "ids is (B, T), one prompt a row, and each of them goes on.",
        (change(LOOP, f"    ids = ids[:1]\n{LOOP}"),),
    ),
    FIRST_PLACE,
    Misconception(
        "place-before-the-last",
        "the token is read off the last place but one, so the last token is said again or guessed",
        "The logits at the last place, -1, say what comes behind the last token.",
        (change("[:, -1]", "[:, -2:][:, 0]"),),
    ),
    with_wrong(
        PROMPT_AGAIN,
        change(LOOP, f"    prompt = ids\n{LOOP}") + change("model(ids)", "model(prompt)"),
    ),
    FIRST_ROW,
    NEW_ONLY,
    ONE_FEWER,
    ONE_MORE,
    Misconception(
        "counts-the-prompt",
        "max_new_tokens is taken for the length of the whole result",
        "The prompt does not count: the result has T + max_new_tokens tokens.",
        (change("range(max_new_tokens)", "range(max_new_tokens - ids.shape[1])"),),
    ),
    Misconception(
        "least-likely",
        "the least likely token is taken",
        "argmax, not argmin, and no minus before the logits.",
        (change("argmax", "argmin"),),
    ),
    Misconception(
        "put-in-front",
        "the new token is put before the others",
        "The text grows at its end: first what was there, then the new token.",
        (change("[ids, best]", "[best, ids]"),),
    ),
    Misconception(
        "wrong-axis",
        "the largest logit is searched along the wrong axis",
        "The logits are (B, T, V), and tokens are counted along the last axis.",
        (
            change(CHOICE, ".argmax(dim=1)[:, -1:]"),
            change(CHOICE, ".argmax(dim=1)[:, :1]"),
        ),
    ),
    Misconception(
        "best-of-all-places",
        "the largest logit of all places is taken",
        "Only the last place says what follows the last token. Cut it out first.",
        (
            change("best = model", "logits = model")
            + change(
                CHOICE,
                "\n        best = logits.flatten(1).argmax(dim=1, keepdim=True) % logits.shape[-1]",
            ),
        ),
    ),
    Misconception(
        "every-place-appended",
        "what the model says at every place is appended",
        "One token a row and step: of the logits (B, T, V) only those of the last place count.",
        (change(CHOICE, ".argmax(dim=-1)"),),
    ),
    Misconception(
        "all-at-once",
        "all new tokens are read off one call of the model",
        "A token can only be predicted when those before it are known: one call for each.",
        (_all_at_once,),
    ),
    Misconception(
        "prompt-replaced",
        "the prompt is replaced by what the model would have said",
        "Append the new token to the tokens that are there, and leave those as they are.",
        (change(CHOICE, ".argmax(dim=-1)") + change("[ids, best]", "[ids[:, :1], best]"),),
    ),
    Misconception(
        "prompt-sized-window",
        "the model is shown only as many tokens as the prompt has",
        "Nothing has to be cut off here: show it all tokens so far.",
        (
            change(LOOP, f"    length = ids.shape[1]\n{LOOP}")
            + change("model(ids)", "model(ids[:, -length:])"),
        ),
    ),
    PROMPT_CHANGED,
)


# --- find_the_bug: lm_loss -------------------------------------------------------------------

SHIFTED = "ids[:, :-1], ids[:, 1:]"
MEAN = "labels.flatten())"


def _kept(places: str, of_labels: str) -> Change:
    """Leave out some of the places of the logits, and of the labels."""
    return change("logits.flatten", f"logits[:, {places}].flatten") + change(
        "labels.flatten", f"labels[:, {of_labels}].flatten"
    )


LOSS = (
    Misconception(
        "bug-is-in",
        "the bug is still in it",
        "Write below each other, for the row 0 1 2 3: which token the model has read last, and "
        "which one it is asked for.",
        (_kept(":-1", "1:"),),
    ),
    Misconception(
        "no-shift",
        "now nothing is shifted: the model is asked for the token that it has just read",
        "Copying is learned at once, and the loss goes to 0. One shift is right.",
        (
            change(SHIFTED, "ids[:, :-1], ids[:, :-1]"),
            change(SHIFTED, "ids, ids"),
        ),
    ),
    Misconception(
        "sees-the-answer",
        "the model reads the labels",
        "Inputs are all columns but the last; labels all but the first.",
        (change(SHIFTED, "ids[:, 1:], ids[:, 1:]"),),
    ),
    Misconception(
        "swapped",
        "inputs and labels are swapped: the model is asked for the token before",
        "The model reads the earlier column and is asked for the later one.",
        (
            change(SHIFTED, "ids[:, 1:], ids[:, :-1]"),
            _kept("1:", ":-1"),
        ),
    ),
    Misconception(
        "wraps-around",
        "the last token is asked for the first one",
        "Nothing follows the last token of the row: it is a label, and no input.",
        (change(SHIFTED, "ids, ids.roll(-1, dims=1)"),),
    ),
    Misconception(
        "one-label-lost",
        "one prediction of each row does not count",
        "There are T + 1 tokens and so T predictions; every one of them counts.",
        (_kept(":-1", ":-1"), _kept("1:", "1:")),
    ),
    Misconception(
        "last-place-only",
        "only the last place counts",
        "Every place has a prediction and a label. That is why one row trains so much.",
        (_kept("-1:", "-1:"),),
    ),
    Misconception(
        "summed",
        "the losses are added up, and not averaged",
        "Divide by the number of all labels in the batch.",
        (
            change(MEAN, 'labels.flatten(), reduction="sum")'),
            change(MEAN, f"{MEAN} * labels.shape[1]"),
            change(MEAN, f"{MEAN} * labels.shape[0]"),
        ),
    ),
    Misconception(
        "softmax-twice",
        "softmax is applied before cross_entropy, which does it again",
        "cross_entropy takes logits as they come out of the model.",
        (change("logits.flatten", "logits.softmax(dim=-1).flatten"),),
    ),
    Misconception(
        "classes-scrambled",
        "view or reshape mixes places and vocabulary",
        "cross_entropy wants the classes on axis 1. Flatten batch and length, or transpose.",
        (
            change("logits.flatten(0, 1)", "logits.reshape(len(logits), logits.shape[-1], -1)")
            + change("labels.flatten()", "labels"),
        ),
    ),
    Misconception(
        "wrong-sign",
        "the sign is wrong: the loss is below 0",
        "The loss is the negative logarithm of the probability.",
        (change("return F", "return -F"),),
    ),
    Misconception(
        "perplexity",
        "the exponential of the loss is returned",
        "That is the perplexity. The loss is what stands in the exponent.",
        (change(MEAN, f"{MEAN}.exp()"),),
    ),
    with_wrong(DETACHED, no_gradients("lm_loss")),
    with_wrong(NUMBER_FOR_TENSOR, change(MEAN, f"{MEAN}.item()")),
)


# --- find_another_bug: generate_long ---------------------------------------------------------

WINDOWED = "ids[:, -max_len:]"

WINDOW = (
    Misconception(
        "bug-is-in",
        "the bug is still in it",
        "Write down what the model is shown in the last three steps of the example.",
        (change(WINDOWED, "ids[:, :max_len]"),),
    ),
    Misconception(
        "no-window",
        "the model is shown more than it can read",
        "Only max_len tokens fit. Which of them should it be?",
        (change(WINDOWED, "ids"),),
        r"model takes 1 to \d+ tokens",
    ),
    Misconception(
        "window-too-small",
        "the window is smaller than it could be",
        "The model reads max_len tokens, the newest of them included.",
        (
            change(WINDOWED, "ids[:, -max(1, max_len - 1) :]"),
            change(WINDOWED, "ids[:, -max(1, max_len // 2) :]"),
        ),
    ),
    Misconception(
        "text-cut-off",
        "the text itself is cut to the window, and its beginning is lost",
        "Only what the model is shown is cut. Keep all tokens for the result.",
        (
            change("[ids, best]", "[window, best]"),
            change("return ids", "return ids[:, -max_len:]"),
        ),
    ),
    Misconception(
        "stops-when-full",
        "the text ends where the window is full",
        "It goes on: the window moves along with the text.",
        (change("range(max_new_tokens)", "range(min(max_new_tokens, max_len - ids.shape[1]))"),),
    ),
    Misconception(
        "window-starts-anew",
        "when the window is full an empty one begins, and the model forgets all before",
        "The window moves by one token in each step, so that it stays full.",
        (change(WINDOWED, "ids[:, (ids.shape[1] - 1) // max_len * max_len :]"),),
    ),
    Misconception(
        "prompt-sized-window",
        "the window has the size of the prompt",
        "The model reads max_len tokens, whatever the prompt has.",
        (change(LOOP, f"    max_len = min(ids.shape[1], max_len)\n{LOOP}"),),
    ),
    with_wrong(LAST_TOKEN, change(WINDOWED, "ids[:, -1:]")),
    with_wrong(
        PROMPT_AGAIN,
        change(LOOP, f"    prompt = ids\n{LOOP}") + change(WINDOWED, "prompt[:, -max_len:]"),
    ),
    DRAWN,
    LARGEST,
    ONE_ROUND,
    NEW_ONLY,
    ONE_FEWER,
    ONE_MORE,
    FIRST_PLACE,
    FIRST_ROW,
    PROMPT_CHANGED,
)


# --- context_used ----------------------------------------------------------------------------

SOME, OLDEST_FIRST = "moves.max() > 1e-4", "range(ids.shape[1]):"
FOUND = f"        if {SOME}:\n            return ids.shape[1] - s\n    return 0"
ALL_TOKENS = "        changed[:, s] = torch.arange(size)\n"
NEWEST_FIRST = change(OLDEST_FIRST, "reversed(range(ids.shape[1])):")
DIFFERENCE = "(model(changed)[:, -1] - before).abs()"

CONTEXT = (
    Misconception(
        "stops-at-a-gap",
        "the search goes back from the end, and stops at the first token that changes nothing",
        "A model may skip a token and read the one before it. Which token do you have to find, the "
        "newest that does not matter or the oldest that does?",
        (
            NEWEST_FIRST
            + change(
                FOUND,
                f"        if not {SOME}:\n            return ids.shape[1] - 1 - s\n"
                "    return ids.shape[1]",
            ),
        ),
    ),
    Misconception(
        "newest-token-that-matters",
        "the search ends at the newest token that matters",
        "Asked for is the oldest one. Where does the loop begin, and when does it return?",
        (NEWEST_FIRST,),
    ),
    Misconception(
        "tokens-counted",
        "the tokens that matter are counted, and those between them are not",
        "The context reaches from the oldest token that matters to the end of the text, whatever "
        "lies between.",
        (
            change("    for s", "    count = 0\n    for s")
            + change(FOUND, f"        count += int({SOME})\n    return count"),
        ),
    ),
    Misconception(
        "one-other-token-only",
        "one other token is tried at each place, and not all of them",
        "A model may know some tokens from each other and not others. Put each token of the "
        "vocabulary there.",
        (
            change(ALL_TOKENS, "        changed[:, s] = (changed[:, s] + 1) % size\n"),
            change(ALL_TOKENS, "        changed[:, s] = (changed[:, s] - 1) % size\n"),
            change(ALL_TOKENS, "        changed[:, s] = 0\n"),
            change(ALL_TOKENS, "        changed[:, s] = size - 1\n"),
        ),
    ),
    Misconception(
        "all-places-compared",
        "the logits of all places are compared, and not those of the last one",
        "A token always matters for what is said at its own place. What follows the text is said "
        "at the last place.",
        (
            change("model(ids)[:, -1]", "model(ids)")
            + change("model(changed)[:, -1]", "model(changed)"),
        ),
    ),
    Misconception(
        "guess-compared",
        "the likeliest tokens are compared, and not the logits",
        "The likeliest token often stays the same where all logits have moved. Compare numbers.",
        (
            change(
                DIFFERENCE,
                "(model(changed)[:, -1].argmax(dim=-1) - before.argmax(dim=-1)).abs()",
            ),
        ),
    ),
    Misconception(
        "rounding-counts",
        "differences that are rounding are taken for an effect",
        "Two ways to the same sum may differ in the last digits. What does not reach 0.0001 is no "
        "effect here.",
        (change(SOME, "moves.max() > 0"), change(SOME, "moves.max() > 1e-6")),
    ),
    Misconception(
        "small-effects-missed",
        "an effect that is small, and far above rounding, is taken for none",
        "A token that is far away often has a small weight. The limit is 0.0001.",
        (change(SOME, "moves.max() > 1e-2"), change(SOME, "moves.max() > 0.1")),
    ),
    Misconception(
        "one-off",
        "the result is one token too small or too large",
        "The last token counts too: if it alone matters, the result is 1. And 0 is what is left "
        "where none does.",
        (
            change("return ids.shape[1] - s", "return ids.shape[1] - 1 - s"),
            change("return ids.shape[1] - s", "return ids.shape[1] - s + 1"),
        ),
    ),
    Misconception(
        "place-returned",
        "the place of the oldest token that matters is returned, counted from the front",
        "Places count from the front, and a context from the end. How many tokens stand from there "
        "to the end?",
        (change("return ids.shape[1] - s", "return s"),),
    ),
    Misconception(
        "text-cut-off",
        "tokens are taken away, and not changed: those behind them move to other places",
        "A model knows the places of its tokens. Change one token, and leave all others where they "
        "stand.",
        (
            change("        changed = ids.repeat(size, 1)\n" + ALL_TOKENS, "")
            + change(
                "model(changed)[:, -1]",
                "(model(ids[:, s + 1 :])[:, -1] if s + 1 < ids.shape[1] else 0)",
            ),
            change("        changed = ids.repeat(size, 1)\n" + ALL_TOKENS, "")
            + change("    for s", "    if ids.shape[1] == 1:\n        return 1\n    for s")
            + change("model(changed)", "model(torch.cat((ids[:, :s], ids[:, s + 1 :]), dim=1))"),
        ),
    ),
    Misconception(
        "changes-pile-up",
        "a token that was changed stays changed in the rounds after it",
        "Each round changes one token of the text as it was. Make the copy inside the loop.",
        (
            change("        changed = ids.repeat(size, 1)\n", "")
            + change("    for s", "    changed = ids.repeat(size, 1)\n    for s")
            + NEWEST_FIRST
            + change("    for s", "    found = 0\n    for s")
            + change(
                FOUND, f"        if {SOME}:\n            found = ids.shape[1] - s\n    return found"
            ),
        ),
    ),
    with_wrong(
        CHANGES_INPUT,
        change("changed = ids.repeat(size, 1)", "changed = ids")
        + change(ALL_TOKENS, "        changed[:, s] = (changed[:, s] + 1) % size\n"),
    ),
    with_wrong(
        TENSOR_FOR_NUMBER,
        change("return ids.shape[1] - s", "return torch.tensor(ids.shape[1] - s)"),
    ),
)

MISCONCEPTIONS = {
    "lm_batch": BATCH,
    "GPT": MODEL,
    "generate": GENERATE,
    "find_the_bug": LOSS,
    "find_another_bug": WINDOW,
    "context_used": CONTEXT,
}
