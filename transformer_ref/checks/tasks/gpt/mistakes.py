"""The misconceptions of the assignment "gpt", task by task, each with its implementation.

A GPT is told by what its logits depend on, so ideas that show the same are one entry: a mask that
is not there and one that hides nothing; positions that are missing and positions that are all the
same.
Attention whose softmax runs over the queries has no entry: it lets the future in as a missing mask
does. Nor has dropout that is never switched off, whose answers are random.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref.checks.authoring.attention_recipes import merge, split
from transformer_ref.checks.authoring.shared_mistakes import (
    CHANGES_INPUT,
    DETACHED,
    FIRST_ROUND,
    LARGEST_LOGIT,
    NOTEBOOK,
    NUMBER_FOR_TENSOR,
    SAMPLED,
    Step,
    detached,
)
from transformer_ref.checks.authoring.shared_mistakes import with_wrong as _with
from transformer_ref.checks.task import Misconception

# --- cnn_receptive_field ---------------------------------------------------------------------


def _field(function: Callable[[int, int, int], Any]) -> Step:
    def wrong(kernel_size: int, num_layers: int, dilation: int = 1) -> Any:
        return function(kernel_size, num_layers, dilation)

    return wrong


FIELD = (
    Misconception(
        "kernels-added-up",
        "the kernels of all layers are added up, or that with gaps",
        "Two layers share a place: the second kernel looks at neighbours whose kernels overlap. "
        "How many places does each layer add at the edge?",
        (
            _field(lambda k, n, d: n * k),
            _field(lambda k, n, d: n * k * d),
            _field(lambda k, n, d: n * ((k - 1) * d + 1)),
        ),
    ),
    Misconception(
        "kernels-multiplied",
        "the size grows as a power of the kernel size",
        "That would be so if the layers did not overlap, with a stride as large as the kernel. "
        "With stride 1 each layer adds the same number of places.",
        (_field(lambda k, n, d: k**n), _field(lambda k, n, d: ((k - 1) * d + 1) ** n)),
    ),
    Misconception(
        "own-place-left-out",
        "one place is missing: the one that the output stands at",
        "Take one layer with a kernel of 3: what does the formula give?",
        (_field(lambda k, n, d: n * (k - 1) * d),),
    ),
    Misconception(
        "whole-kernel-a-layer",
        "each layer adds a whole kernel, and not one less",
        "One of the places of a kernel was in the field before. Take one layer with a kernel of 3.",
        (_field(lambda k, n, d: 1 + n * k * d), _field(lambda k, n, d: 1 + n * k)),
    ),
    Misconception(
        "no-dilation",
        "dilation makes no difference",
        "With a dilation of 2 there is a gap between the inputs of a kernel. From the first to the "
        "last, how far is it?",
        (_field(lambda k, n, d: 1 + n * (k - 1)),),
    ),
    Misconception(
        "dilation-doubles",
        "the dilation is a power that grows with each layer",
        "Some models do that. Here all layers have the same dilation.",
        (
            _field(lambda k, n, d: 1 + (k - 1) * sum(d**layer for layer in range(n))),
            _field(lambda k, n, d: 1 + (k - 1) * sum(d * 2**layer for layer in range(n))),
            _field(lambda k, n, d: 1 + (k - 1) * sum(2**layer for layer in range(n))),
            _field(lambda k, n, d: 1 + n * (k - 1) * d**n),
        ),
    ),
    Misconception(
        "one-side-only",
        "only the places on one side are counted",
        "A kernel reaches to both sides; together it adds one less than its size in each layer.",
        (_field(lambda k, n, d: 1 + n * (k // 2) * d), _field(lambda k, n, d: n * (k // 2) * d)),
    ),
    Misconception(
        "dilation-once",
        "the dilation counts in one layer only",
        "Every layer has it, the first as well as the last.",
        (
            _field(lambda k, n, d: 1 + (k - 1) * d + (n - 1) * (k - 1)),
            _field(lambda k, n, d: k + (n - 1) * (k - 1) * d),
        ),
    ),
    Misconception(
        "dilation-as-gap",
        "a dilation of d is taken for d places left out between two inputs",
        "A dilation of 1 is no gap at all: it is the step from one input to the next.",
        (_field(lambda k, n, d: 1 + n * (k - 1) * (d + 1)),),
    ),
    Misconception(
        "one-layer",
        "num_layers makes no difference",
        "The second layer looks at outputs of the first, which have looked further already.",
        (_field(lambda k, n, d: 1 + (k - 1) * d),),
    ),
    Misconception(
        "half-kernels",
        "each layer adds k // 2 places on both sides, which is one too many where k is even",
        "A kernel of 2 reaches one place further, and not two. How many steps are there from its "
        "first input to its last?",
        (
            _field(lambda k, n, d: 1 + 2 * n * (k // 2) * d),
            _field(lambda k, n, d: 1 + 2 * n * (k // 2 * d // 2)),
        ),
    ),
    Misconception(
        "places-read",
        "the gaps between the inputs are not counted",
        "The field goes from the first input to the last, whether all between are read or not.",
        (_field(lambda k, n, d: 1 + n * (k - 1) + (d - 1)),),
    ),
    Misconception(
        "on-a-plane",
        "the field is counted on a plane",
        "These convolutions run along one axis, as a text does.",
        (_field(lambda k, n, d: (1 + n * (k - 1) * d) ** 2),),
    ),
    Misconception(
        "no-int",
        "the result is no int",
        "A number of places is an int: look for / and for math functions.",
        (_field(lambda k, n, d: float(1 + n * (k - 1) * d)),),
        r"is a float, expected int",
    ),
)


# --- lm_batch --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cut:
    """Cutting pieces out of a text, right unless a step is replaced."""

    start: Callable[[int, int, int], int] = lambda start, size, number: start
    shift: int = 1
    size: int = 0
    give: Callable[[Tensor, Tensor], Any] = lambda inputs, labels: (inputs, labels)

    def __call__(self, ids: Tensor, block_size: int, starts: Any) -> Any:
        """Cut."""
        first = [self.start(int(s), block_size, n) for n, s in enumerate(starts)]
        size = block_size + self.size
        inputs = torch.stack([ids[s : s + size] for s in first])
        labels = torch.stack([ids[s + self.shift : s + self.shift + size] for s in first])
        return self.give(inputs, labels)


def _one_after_all(ids: Tensor, block_size: int, starts: Any) -> Any:
    inputs, _ = Cut()(ids, block_size, starts)
    return inputs, torch.stack([ids[int(start) + block_size] for start in starts])


def _as_column(ids: Tensor, block_size: int, starts: Any) -> Any:
    inputs, label = _one_after_all(ids, block_size, starts)
    return inputs, label.unsqueeze(1)


def _piece_for_shift(ids: Tensor, block_size: int, starts: Any) -> Any:
    pieces, _ = Cut()(ids, block_size, starts)
    return pieces[:, :-1], pieces[:, 1:]


def _next_row(inputs: Tensor, labels: Tensor) -> Any:
    return inputs, inputs.roll(-1, dims=0)


def _last_is_first(inputs: Tensor, labels: Tensor) -> Any:
    return inputs, inputs.roll(-1, dims=1)


def _last_is_zero(inputs: Tensor, labels: Tensor) -> Any:
    labels = labels.clone()
    labels[:, -1] = 0
    return inputs, labels


def _last_is_ignored(inputs: Tensor, labels: Tensor) -> Any:
    labels = labels.clone()
    labels[:, -1] = -100
    return inputs, labels


def _whole_pieces(ids: Tensor, block_size: int, starts: Any) -> Any:
    pieces = torch.stack([ids[int(start) : int(start) + block_size + 1] for start in starts])
    return pieces, pieces


def _one_row(row: int | slice) -> Cut:
    return Cut(give=lambda inputs, labels: (inputs[row], labels[row]))


# What torch says where a piece would reach past the end of the text.
RAGGED = r"stack expects each tensor to be equal size|out of (range|bounds)"

BATCH = (
    Misconception(
        "no-shift",
        "the labels are the inputs",
        "At each place the model would be asked for the token that it reads there, and learn to "
        "copy. The label is the token after it.",
        (Cut(shift=0),),
    ),
    Misconception(
        "shift-of-two",
        "the labels are two later",
        "At place t the model has read token t; it is asked for token t + 1.",
        (Cut(shift=2),),
        RAGGED,
    ),
    Misconception(
        "backwards",
        "the labels are earlier than the inputs",
        "That asks for what the model has read already. Which of the two begins at starts[b]?",
        (Cut(give=lambda inputs, labels: (labels, inputs)),),
    ),
    Misconception(
        "one-label-a-row",
        "there is one label for each row, the token behind the piece",
        "Every place of the row has a label of its own, so that one row trains block_size "
        "predictions at once.",
        (_one_after_all, _as_column),
    ),
    Misconception(
        "one-too-short",
        "the rows are one token too short",
        "block_size inputs and as many labels take block_size + 1 tokens of the text.",
        (_piece_for_shift, Cut(size=-1)),
    ),
    Misconception(
        "one-too-long",
        "the rows are one token too long",
        "block_size + 1 tokens of the text are one piece; inputs and labels have block_size each.",
        (Cut(size=1), _whole_pieces),
        RAGGED,
    ),
    Misconception(
        "next-block",
        "the labels are the block behind that of the inputs",
        "The label of each place is the very next token, so that the labels overlap the inputs.",
        (lambda ids, size, starts: Cut(shift=size)(ids, size, starts),),
        RAGGED,
    ),
    Misconception(
        "one-row",
        "there is one row only, whatever the number of starts",
        "A return in the loop ends it after the first row, and a name that is assigned in it keeps "
        "the last one. Collect the pieces in a list, and stack them behind the loop.",
        (_one_row(slice(1)), _one_row(slice(-1, None)), _one_row(0), _one_row(-1)),
    ),
    Misconception(
        "no-pair-of-tensors",
        "what comes back is no pair of tensors, inputs and labels",
        "Stack the pieces of each to a tensor (B, block_size), and return the two.",
        (
            Cut(give=lambda inputs, labels: (list(inputs), list(labels))),
            Cut(give=lambda inputs, labels: inputs),
        ),
        r"should be a tensor, received a|expected \(inputs, labels\)",
    ),
    _with(
        replace(NOTEBOOK, error=RAGGED),
        lambda ids, size, starts: Cut()(torch.arange(10, 20), size, starts),
    ),
    Misconception(
        "wraps-around",
        "the last label is the first token of the row",
        "roll turns the row round. The label of the last place is the token behind the piece.",
        (Cut(give=_last_is_first),),
    ),
    Misconception(
        "last-label-filled",
        "the last label is filled up, though the text goes on",
        "Cut one token more out of the text, and nothing needs filling.",
        (Cut(give=_last_is_zero), Cut(give=_last_is_ignored)),
    ),
    Misconception(
        "starts-count-blocks",
        "starts are taken for numbers of blocks",
        "A start is a place in the text, so pieces may overlap. Do not multiply by block_size.",
        (
            lambda ids, block_size, starts: Cut(
                start=lambda start, size, number: min(start * size, len(ids) - size - 1)
            )(ids, block_size, starts),
            Cut(start=lambda start, size, number: start * size),
        ),
        RAGGED,
    ),
    Misconception(
        "starts-not-used",
        "the pieces follow one another, wherever they should start",
        "Row b of the inputs begins at ids[starts[b]].",
        (
            Cut(start=lambda start, size, number: number * size),
            Cut(start=lambda start, size, number: number),
        ),
        RAGGED,
    ),
    Misconception(
        "starts-one-late",
        "every piece begins one token late",
        "The first input of row b is ids[starts[b]] itself.",
        (Cut(start=lambda start, size, number: start + 1),),
        RAGGED,
    ),
    Misconception(
        "first-start-only",
        "all rows begin where the first one does",
        "Row b of the inputs begins at ids[starts[b]].",
        (lambda ids, block_size, starts: Cut()(ids, block_size, [int(starts[0])] * len(starts)),),
    ),
    Misconception(
        "axes-swapped",
        "the pieces stand in columns",
        "The batch is the first axis: (B, block_size).",
        (Cut(give=lambda inputs, labels: (inputs.T, labels.T)),),
    ),
    Misconception(
        "flat",
        "all rows are one row",
        "Stack the pieces; do not join them.",
        (Cut(give=lambda inputs, labels: (inputs.flatten(), labels.flatten())),),
    ),
    Misconception(
        "next-row",
        "the labels are the next row of the batch",
        "The batch is the first axis and the place in the text the second. The shift is in the "
        "text.",
        (Cut(give=_next_row),),
    ),
)


# --- GPT: a model taken apart ----------------------------------------------------------------

Allowed = Callable[[int], Tensor]


def _up_to_now(length: int) -> Tensor:
    """(T, T), True where the query of the row may see the key of the column."""
    return torch.ones(length, length, dtype=torch.bool).tril()


def _everything(length: int) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool)


def _of_diagonal(diagonal: int) -> Allowed:
    return lambda length: torch.ones(length, length, dtype=torch.bool).tril(diagonal)


def _hidden(fill: float) -> Step:
    return lambda scores, allowed: scores.masked_fill(~allowed, fill).softmax(dim=-1)


_rightly = _hidden(-math.inf)


def _nothing_for_nobody(scores: Tensor, allowed: Tensor) -> Tensor:
    return _rightly(scores, allowed).nan_to_num(0.0)


def _together(x: Tensor, layer: Any) -> tuple[Tensor, ...]:
    query, key, value = (split(part, layer.num_heads) for part in layer.qkv(x).chunk(3, dim=-1))
    return query, key, value


class Layer(nn.Module):
    """A pre-norm layer; its model's recipe says what is done."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int, recipe: Model) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.recipe = (recipe,)  # no part of the module
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.qkv, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)
        self.up, self.down = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor, allowed: Tensor) -> Tensor:
        """(B, T, D) to (B, T, D)."""
        (recipe,) = self.recipe
        x = recipe.join(x, recipe.attend(self, self.norm1(x), allowed))
        return recipe.join_second(x, self.down(F.gelu(self.up(self.norm2(x)))))


def _attend(layer: Any, x: Tensor, allowed: Tensor) -> Tensor:
    (recipe,) = layer.recipe
    query, key, value = _together(x, layer)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return layer.out(merge(recipe.weigh(scores, allowed.to(x.device)) @ value))


def _attend_over_the_batch(layer: Any, x: Tensor, allowed: Tensor) -> Tensor:
    turned = x.transpose(0, 1)
    return _attend(layer, turned, _up_to_now(turned.shape[1])).transpose(0, 1)


def _attend_with_one_head(layer: Any, x: Tensor, allowed: Tensor) -> Tensor:
    layer.num_heads = 1
    return _attend(layer, x, allowed)


def _only_values(layer: Any, x: Tensor, allowed: Tensor) -> Tensor:
    return layer.out(layer.qkv(x).chunk(3, dim=-1)[2])


def _add(x: Tensor, change: Tensor) -> Tensor:
    return x + change


def _replace(x: Tensor, change: Tensor) -> Tensor:
    return change


def _add_cut_off(x: Tensor, change: Tensor) -> Tensor:
    return x.detach() + change


def _run(layers: Any, x: Tensor, allowed: Tensor) -> Tensor:
    for layer in layers:
        x = layer(x, allowed)
    return x


def _masked_in(place: int) -> Step:
    """Give the causal mask to one layer only."""

    def run(layers: Any, x: Tensor, allowed: Tensor) -> Tensor:
        masked = place % len(layers)
        for number, layer in enumerate(layers):
            x = layer(x, allowed if number == masked else torch.ones_like(allowed))
        return x

    return run


def _places(model: Any, ids: Tensor) -> Tensor:
    return model.places.weight[: ids.shape[1]]


def _no_places(model: Any, ids: Tensor) -> Tensor:
    return 0.0 * model.places.weight[0]


def _place_of_length(model: Any, ids: Tensor) -> Tensor:
    return model.places.weight[ids.shape[1] - 1]


def _places_of_batch(model: Any, ids: Tensor) -> Tensor:
    return model.places.weight[: ids.shape[0]].unsqueeze(1)


def _places_of_batch_unturned(model: Any, ids: Tensor) -> Tensor:
    return model.places.weight[: ids.shape[0]]


def _refuse_above(allowance: int) -> Step:
    def check(model: Any, ids: Tensor) -> Tensor:
        if ids.shape[1] > model.max_len + allowance:
            raise ValueError(f"{ids.shape[1]} tokens are too many")
        return ids

    return check


_not_too_long = _refuse_above(0)


def _index_error(model: Any, ids: Tensor) -> Tensor:
    if ids.shape[1] > model.max_len:
        raise IndexError("index out of range in self")
    return ids


def _with_more_room(model: Any, ids: Tensor) -> Tensor:
    missing = ids.shape[1] - model.max_len
    if missing > 0:
        more = torch.zeros(missing, model.places.weight.shape[1])
        model.places.weight = nn.Parameter(torch.cat((model.places.weight, more)))
    return ids


def _last_of_it(model: Any, ids: Tensor) -> Tensor:
    return ids[:, -model.max_len :]


def _listed(make: Callable[[], nn.Module], count: int) -> Any:
    return nn.ModuleList(make() for _ in range(count))


@dataclass(frozen=True)
class Model:
    """A GPT, right unless a step is replaced; call it as the class."""

    allowed: Allowed = _up_to_now
    weigh: Step = _rightly
    attend: Step = _attend
    join: Step = _add
    join_second: Step = _add
    layers: Callable[[Callable[[], nn.Module], int], Any] = _listed
    run: Step = _run
    places: Step = _places
    check: Step = _not_too_long
    sizes: Callable[[int, int, int], tuple[int, int, int]] = lambda d, heads, d_ff: (d, heads, d_ff)
    finish: Step = lambda model, x: model.output(model.norm(x))

    def __call__(
        self,
        vocab_size: int,
        d_model: int,
        num_heads: int,
        d_ff: int,
        num_layers: int,
        max_len: int,
    ) -> nn.Module:
        """Build the model."""
        return _Built(self, vocab_size, (d_model, num_heads, d_ff), num_layers, max_len)


class _Built(nn.Module):
    def __init__(
        self,
        recipe: Model,
        vocab_size: int,
        sizes: tuple[int, int, int],
        num_layers: int,
        max_len: int,
    ) -> None:
        super().__init__()
        self.recipe = (recipe,)
        self.max_len = max_len
        sizes = recipe.sizes(*sizes)
        self.tokens = nn.Embedding(vocab_size, sizes[0])
        self.places = nn.Embedding(max_len, sizes[0])
        self.layers = recipe.layers(lambda: Layer(*sizes, recipe), num_layers)
        self.norm = nn.LayerNorm(sizes[0])
        self.output = nn.Linear(sizes[0], vocab_size)

    def forward(self, ids: Tensor) -> Tensor:
        (recipe,) = self.recipe
        ids = recipe.check(self, ids)
        x = self.tokens(ids) + recipe.places(self, ids)
        allowed = recipe.allowed(ids.shape[1]).to(ids.device)
        return recipe.finish(self, recipe.run(self.layers, x, allowed))


def _logits(model: Any, x: Tensor) -> Tensor:
    return model.output(model.norm(x))


def _then(function: Callable[[Tensor], Tensor]) -> Step:
    return lambda model, x: function(_logits(model, x))


def _one_shared(make: Callable[[], nn.Module], count: int) -> Any:
    return nn.ModuleList([make()] * count)


def _always(number: int) -> Step:
    return lambda make, count: nn.ModuleList(make() for _ in range(number))


def _plain_list(make: Callable[[], nn.Module], count: int) -> Any:
    return [make() for _ in range(count)]


def _other_count(change: int) -> Step:
    return lambda make, count: nn.ModuleList(make() for _ in range(count + change))


MODEL = (
    Misconception(
        "no-causal-mask",
        "every token sees those behind it: there is no causal mask, or it hides nothing",
        "Query t may see the keys 0 to t. The scores of the others become -inf before the softmax.",
        (
            Model(allowed=_everything),
            Model(weigh=lambda scores, allowed: scores.softmax(dim=-1)),
        ),
    ),
    Misconception(
        "mask-turned-round",
        "every token sees itself and what is behind it, but nothing before",
        "The mask is transposed or inverted. In row t, for query t, the keys 0 to t are allowed.",
        (Model(allowed=lambda length: _up_to_now(length).T),),
    ),
    Misconception(
        "sees-the-next",
        "every token sees the next one, which it is to predict",
        "The diagonal of the mask is off by one: key t is the last one that query t may see.",
        (Model(allowed=_of_diagonal(1)),),
    ),
    Misconception(
        "cannot-see-itself",
        "attention hides each token from itself",
        "The diagonal of the mask is off by one: query t may see key t too. The first token has "
        "nothing else.",
        (
            Model(allowed=_of_diagonal(-1)),
            Model(allowed=_of_diagonal(-1), weigh=_hidden(-1e9)),
            Model(allowed=_of_diagonal(-1), weigh=_nothing_for_nobody),
        ),
    ),
    Misconception(
        "one-layer-masked",
        "the mask is not in every layer: with one layer all is right, with two the future leaks",
        "One layer without the mask is enough for a leak. Hand it to each of them.",
        (Model(run=_masked_in(0)), Model(run=_masked_in(-1))),
    ),
    Misconception(
        "no-positions",
        "the model has no positions, or the same one for all places",
        "Without them, attention takes the earlier tokens for a set. Add something to each vector "
        "that depends on its place 0 to T - 1.",
        (Model(places=_no_places), Model(places=_place_of_length)),
    ),
    Misconception(
        "positions-of-the-batch",
        "positions are counted along the batch, and not along the text",
        "ids is (B, T), so shape[1] is the length, and the positions are (T, D).",
        (Model(places=_places_of_batch), Model(places=_places_of_batch_unturned)),
        r"must match the size of tensor",
    ),
    Misconception(
        "attention-over-the-batch",
        "attention runs along the batch, and not along the text",
        "The length has to be the last axis but one of the heads: (B, H, T, K). Some modules of "
        "torch expect the batch second.",
        (Model(attend=_attend_over_the_batch),),
    ),
    Misconception(
        "tokens-do-not-meet",
        "every logit hangs on its own token only: nothing comes from the earlier ones",
        "Are the layers run at all, and does attention mix the values of several tokens?",
        (
            Model(run=lambda layers, x, allowed: x),
            Model(attend=_only_values),
            Model(weigh=lambda scores, allowed: torch.eye(scores.shape[-1]).to(scores)),
        ),
    ),
    Misconception(
        "no-residual",
        "there is no residual sum around the parts of a layer",
        "A part adds to what it was given, x = x + part(...). Without the sum the gradient dies "
        "out in a deep model.",
        (
            Model(join=_replace),
            Model(join_second=_replace),
            Model(join=_replace, join_second=_replace),
        ),
    ),
    Misconception(
        "probabilities",
        "softmax has been applied to the logits",
        "cross_entropy does it again, and on probabilities the loss cannot fall far. Return the "
        "output of the last linear layer as it is.",
        (
            Model(finish=_then(lambda logits: logits.softmax(dim=-1))),
            Model(finish=_then(lambda logits: logits.softmax(dim=1))),
        ),
    ),
    Misconception(
        "last-place-only",
        "there are logits for the last place only",
        "In training every place predicts its next token. What is not needed in generation is cut "
        "off there.",
        (
            Model(finish=_then(lambda logits: logits[:, -1])),
            Model(finish=_then(lambda logits: logits[:, -1:])),
        ),
    ),
    Misconception(
        "no-output-layer",
        "the vectors of the last layer are returned, not logits",
        "One linear layer from D to V turns each vector into a number for each token.",
        (Model(finish=lambda model, x: model.norm(x)),),
    ),
    Misconception(
        "axes-of-the-logits",
        "the axes of the logits are swapped",
        "The vocabulary is the last axis: (B, T, V).",
        (
            Model(finish=_then(lambda logits: logits.transpose(1, 2))),
            Model(finish=_then(lambda logits: logits.transpose(0, 1))),
            Model(finish=_then(lambda logits: logits.flatten(0, 1))),
        ),
    ),
    Misconception(
        "one-layer-shared",
        "all layers are the same one",
        "[layer] * n holds one module n times, and a layer that is made once and run n times is "
        "one, too. Make a new one for each.",
        (Model(layers=_one_shared),),
    ),
    Misconception(
        "plain-list",
        "the model does not know the parameters of its layers",
        "A Python list hides modules from model.parameters(), so no optimizer would train them. "
        "nn.ModuleList registers them.",
        (Model(layers=_plain_list),),
    ),
    Misconception(
        "num-layers-not-used",
        "num_layers makes no difference",
        "Look for a number that stands where num_layers should, or a loop that runs one layer.",
        (Model(layers=_always(1)), Model(layers=_always(2))),
    ),
    Misconception(
        "number-of-layers",
        "there is one layer too many, or one too few",
        "num_layers=1 means one layer. Look at the range of the loop that makes them.",
        (Model(layers=_other_count(1)), Model(layers=_other_count(-1))),
    ),
    Misconception(
        "only-one-layer-counts",
        "the layers do not follow one another: only one of them makes the result",
        "What a layer returns is what the next one is given, x = layer(x), and forward returns "
        "when the loop is over.",
        (
            Model(run=lambda layers, x, allowed: layers[-1](x, allowed)),
            Model(run=lambda layers, x, allowed: layers[0](x, allowed)),
        ),
    ),
    Misconception(
        "d-ff-not-used",
        "d_ff makes no difference",
        "The hidden layer of the feed-forward network has d_ff features, and not always 4 * D.",
        (
            Model(sizes=lambda d, heads, d_ff: (d, heads, 4 * d)),
            Model(sizes=lambda d, heads, d_ff: (d, heads, d)),
        ),
    ),
    Misconception(
        "one-head",
        "there is one head, whatever num_heads says",
        "Each head has a softmax of its own over its part of the features.",
        (Model(attend=_attend_with_one_head),),
    ),
    Misconception(
        "no-error-past-max-len",
        "a text longer than max_len is not refused with a ValueError",
        "Compare ids.shape[1] with max_len at the start of forward, and raise a ValueError that "
        "gives both numbers.",
        (Model(check=_index_error), Model(check=_with_more_room), Model(check=_last_of_it)),
    ),
    Misconception(
        "max-len-refused",
        "a text of max_len tokens is refused, though it fits",
        "Only what is longer than max_len is too long.",
        (Model(check=_refuse_above(-1)),),
        r"^ValueError",
    ),
    Misconception(
        "cut-off",
        "part of the model, or all of it, gets no gradient",
        "Look for detach, .data, no_grad, .item() or a new torch.tensor on the way from the "
        "parameters to the logits.",
        (
            Model(finish=_then(torch.Tensor.detach)),
            Model(join=_add_cut_off),
            Model(finish=lambda model, x: _logits(model, x.detach())),
        ),
    ),
)


# --- generate --------------------------------------------------------------------------------


def _last_place(logits: Tensor) -> Tensor:
    """(B, T, V) to (B, 1): the likeliest token behind the last one."""
    return logits[:, -1].argmax(dim=-1, keepdim=True)


@dataclass(frozen=True)
class Loop:
    """Greedy generation, right unless a step is replaced; a window only where there is one."""

    count: Callable[[int, int], int] = lambda new, length: new
    shown: Callable[[Tensor, int], Tensor] = lambda ids, length: ids
    choose: Callable[[Tensor], Tensor] = _last_place
    grow: Callable[[Tensor, Tensor], Tensor] = lambda ids, best: torch.cat((ids, best), dim=1)
    finish: Callable[[Tensor, int], Any] = lambda ids, length: ids

    def __call__(self, model: Any, ids: Tensor, max_new_tokens: int) -> Any:
        """Go on with the rows."""
        length = ids.shape[1]
        for _ in range(self.count(max_new_tokens, length)):
            ids = self.grow(ids, self.choose(model(self.shown(ids, length))))
        return self.finish(ids, length)


def _drawn(logits: Tensor) -> Tensor:
    return torch.multinomial(logits[:, -1].softmax(dim=-1), 1)


def _flat(logits: Tensor) -> Tensor:
    """Give every row the place of the largest logit of the whole batch."""
    return logits[:, -1].argmax().expand(len(logits), 1)


def _counting(ids: Tensor) -> Tensor:
    """The model of the notebook's example."""
    return 3.0 * F.one_hot((ids + 1) % 10, num_classes=10)


def _only_the_first_row(model: Any, ids: Tensor, max_new_tokens: int) -> Any:
    return Loop()(model, ids[:1], max_new_tokens)


def _newest_shown(model: Any, ids: Tensor, max_new_tokens: int) -> Tensor:
    """Show the prompt first, and after that the newest token only."""
    shown = ids
    for _ in range(max_new_tokens):
        shown = _last_place(model(shown))
        ids = torch.cat((ids, shown), dim=1)
    return ids


def _of_first_row(logits: Tensor) -> Tensor:
    return _last_place(logits)[:1].expand(len(logits), 1)


def _over_the_batch(logits: Tensor) -> Tensor:
    return logits[:, -1].argmax(dim=0)[: len(logits)].unsqueeze(1)


def _over_the_text(logits: Tensor) -> Tensor:
    return logits.argmax(dim=1)[:, -1:]


def _from_all_places(logits: Tensor) -> Tensor:
    best = logits.flatten(1).argmax(dim=1, keepdim=True)
    return best % logits.shape[-1]


def _all_at_once(model: Any, ids: Tensor, max_new_tokens: int) -> Tensor:
    """Read the new tokens off one call, at places whose tokens are not known yet."""
    gaps = torch.zeros(len(ids), max_new_tokens, dtype=ids.dtype)
    best = model(torch.cat((ids, gaps), dim=1)).argmax(dim=-1)
    start = ids.shape[1] - 1
    return torch.cat((ids, best[:, start : start + max_new_tokens]), dim=1)


def _all_chosen_anew(model: Any, ids: Tensor, max_new_tokens: int) -> Tensor:
    """Replace the whole text by what the model says at each place."""
    for _ in range(max_new_tokens):
        ids = torch.cat((ids[:, :1], model(ids).argmax(dim=-1)), dim=1)
    return ids


def _in_place(model: Any, ids: Tensor, max_new_tokens: int) -> Tensor:
    new: list[Tensor] = []
    for _ in range(max_new_tokens):
        new.append(_last_place(model(torch.cat((ids, *new), dim=1))))
    result = torch.cat((ids, *new), dim=1)
    ids.fill_(-1)
    return result


def _once(model: Any, ids: Tensor, max_new_tokens: int) -> Tensor:
    best = _last_place(model(ids))
    return torch.cat((ids, best.expand(-1, max_new_tokens)), dim=1)


ONE_FEWER = Misconception(
    "one-too-few",
    "there is one new token too few",
    "Each step of the loop appends one token, and there are max_new_tokens steps.",
    (Loop(count=lambda new, length: new - 1),),
)
ONE_MORE = Misconception(
    "one-too-many",
    "there is one new token too many",
    "Each step of the loop appends one token, and there are max_new_tokens steps.",
    (Loop(count=lambda new, length: new + 1),),
)
COUNTED_IN_ALL = Misconception(
    "counts-the-prompt",
    "max_new_tokens is taken for the length of the whole result",
    "The prompt does not count: the result has T + max_new_tokens tokens.",
    (Loop(count=lambda new, length: max(0, new - length)),),
)
NEW_ONLY = Misconception(
    "prompt-left-out",
    "the result holds the new tokens alone",
    "Return the prompt and what follows it, (B, T + max_new_tokens).",
    (Loop(finish=lambda ids, length: ids[:, length:]),),
)
LAST_TOKEN = Misconception(
    "last-token-only",
    "the model is shown the last token only",
    "Without a cache the model remembers nothing. Show it all tokens so far, in each step.",
    (Loop(shown=lambda ids, length: ids[:, -1:]), _newest_shown),
)
PROMPT_AGAIN = Misconception(
    "prompt-again",
    "the same token comes again and again, because the model is always shown the same",
    "What was chosen has to go back in: the next step sees the prompt and the tokens behind it.",
    (_once,),
)
FIRST_PLACE = Misconception(
    "first-place",
    "the token is read off the first place, and not the last",
    "The logits at place t say what follows token t. What is to come follows the last token.",
    (Loop(choose=lambda logits: logits[:, 0].argmax(dim=-1, keepdim=True)),),
)
PLACE_BEFORE = Misconception(
    "place-before-the-last",
    "the token is read off the last place but one, so the last token is said again or guessed",
    "The logits at the last place, -1, say what comes behind the last token.",
    (Loop(choose=lambda logits: logits[:, -2:][:, 0].argmax(dim=-1, keepdim=True)),),
)
FIRST_ROW = Misconception(
    "first-row-for-all",
    "all rows get the token of the first one",
    "Each row of the batch goes on by itself: argmax over the vocabulary gives one token a row.",
    (Loop(choose=_of_first_row),),
)
LEAST_LIKELY = Misconception(
    "least-likely",
    "the least likely token is taken",
    "argmax, not argmin, and no minus before the logits.",
    (Loop(choose=lambda logits: logits[:, -1].argmin(dim=-1, keepdim=True)),),
)
IN_FRONT = Misconception(
    "put-in-front",
    "the new token is put before the others",
    "The text grows at its end: first what was there, then the new token.",
    (Loop(grow=lambda ids, best: torch.cat((best, ids), dim=1)),),
)

DRAWN = _with(SAMPLED, Loop(choose=_drawn))
LARGEST = _with(
    replace(LARGEST_LOGIT, error=r"model takes ids \(B, T\)"),
    Loop(choose=lambda logits: logits[:, -1].amax(dim=-1, keepdim=True)),
    Loop(choose=lambda logits: logits[:, -1].amax(dim=-1, keepdim=True).long()),
)
ONE_ROUND = _with(FIRST_ROUND, Loop(count=lambda new, length: 1))

GENERATE = (
    LAST_TOKEN,
    DRAWN,
    LARGEST,
    ONE_ROUND,
    _with(NOTEBOOK, lambda model, ids, max_new_tokens: Loop()(_counting, ids, max_new_tokens)),
    Misconception(
        "one-token-for-all",
        "the largest logit of the whole batch is sought, and not that of each row",
        "argmax without an axis counts through all numbers. Each row has a likeliest token.",
        (
            Loop(choose=_flat),
            Loop(choose=lambda logits: _flat(logits) % logits.shape[-1]),
        ),
        r"index out of range",
    ),
    Misconception(
        "first-row-only",
        "only the first row of the batch comes back",
        "ids is (B, T), one prompt a row, and each of them goes on.",
        (_only_the_first_row,),
    ),
    FIRST_PLACE,
    PLACE_BEFORE,
    PROMPT_AGAIN,
    FIRST_ROW,
    NEW_ONLY,
    ONE_FEWER,
    ONE_MORE,
    COUNTED_IN_ALL,
    LEAST_LIKELY,
    IN_FRONT,
    Misconception(
        "wrong-axis",
        "the largest logit is searched along the wrong axis",
        "The logits are (B, T, V), and tokens are counted along the last axis.",
        (
            Loop(choose=_over_the_text),
            Loop(choose=lambda logits: logits.argmax(dim=1)[:, :1]),
        ),
    ),
    Misconception(
        "best-of-all-places",
        "the largest logit of all places is taken",
        "Only the last place says what follows the last token. Cut it out first.",
        (Loop(choose=_from_all_places),),
    ),
    Misconception(
        "every-place-appended",
        "what the model says at every place is appended",
        "One token a row and step: of the logits (B, T, V) only those of the last place count.",
        (Loop(choose=lambda logits: logits.argmax(dim=-1)),),
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
        (_all_chosen_anew,),
    ),
    Misconception(
        "prompt-sized-window",
        "the model is shown only as many tokens as the prompt has",
        "Nothing has to be cut off here: show it all tokens so far.",
        (Loop(shown=lambda ids, length: ids[:, -length:]),),
    ),
    _with(CHANGES_INPUT, _in_place),
)


# --- find_the_bug: lm_loss -------------------------------------------------------------------


def _mean(logits: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


@dataclass(frozen=True)
class Loss:
    """The loss of the next token, right unless a step is replaced."""

    cut: Callable[[Tensor], tuple[Tensor, Tensor]] = lambda ids: (ids[:, :-1], ids[:, 1:])
    keep: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] = lambda logits, labels: (
        logits,
        labels,
    )
    average: Callable[[Tensor, Tensor], Tensor] = _mean
    finish: Callable[[Tensor], Tensor] = lambda loss: loss

    def __call__(self, model: Any, ids: Tensor) -> Tensor:
        """Ask for every next token."""
        inputs, labels = self.cut(ids)
        return self.finish(self.average(*self.keep(model(inputs), labels)))


def _scrambled(logits: Tensor, labels: Tensor) -> Tensor:
    classes = logits.reshape(len(logits), logits.shape[-1], -1)
    return F.cross_entropy(classes, labels)


LOSS = (
    Misconception(
        "bug-is-in",
        "the bug is still in it",  # to name it would give the task away
        "Write below each other, for the row 0 1 2 3: which token the model has read last, and "
        "which one it is asked for.",
        (Loss(keep=lambda logits, labels: (logits[:, :-1], labels[:, 1:])),),
    ),
    Misconception(
        "no-shift",
        "now nothing is shifted: the model is asked for the token that it has just read",
        "Copying is learned at once, and the loss goes to 0. One shift is right.",
        (Loss(cut=lambda ids: (ids[:, :-1], ids[:, :-1])), Loss(cut=lambda ids: (ids, ids))),
    ),
    Misconception(
        "sees-the-answer",
        "the model reads the labels",
        "Inputs are all columns but the last; labels all but the first.",
        (Loss(cut=lambda ids: (ids[:, 1:], ids[:, 1:])),),
    ),
    Misconception(
        "swapped",
        "inputs and labels are swapped: the model is asked for the token before",
        "The model reads the earlier column and is asked for the later one.",
        (
            Loss(cut=lambda ids: (ids[:, 1:], ids[:, :-1])),
            Loss(keep=lambda logits, labels: (logits[:, 1:], labels[:, :-1])),
        ),
    ),
    Misconception(
        "wraps-around",
        "the last token is asked for the first one",
        "Nothing follows the last token of the row: it is a label, and no input.",
        (Loss(cut=lambda ids: (ids, ids.roll(-1, dims=1))),),
    ),
    Misconception(
        "one-label-lost",
        "one prediction of each row does not count",
        "There are T + 1 tokens and so T predictions; every one of them counts.",
        (
            Loss(keep=lambda logits, labels: (logits[:, :-1], labels[:, :-1])),
            Loss(keep=lambda logits, labels: (logits[:, 1:], labels[:, 1:])),
        ),
    ),
    Misconception(
        "last-place-only",
        "only the last place counts",
        "Every place has a prediction and a label. That is why one row trains so much.",
        (Loss(keep=lambda logits, labels: (logits[:, -1:], labels[:, -1:])),),
    ),
    Misconception(
        "summed",
        "the losses are added up, and not averaged",
        "Divide by the number of all labels in the batch.",
        (
            Loss(average=lambda logits, labels: _mean(logits, labels) * labels.numel()),
            Loss(average=lambda logits, labels: _mean(logits, labels) * labels.shape[1]),
            Loss(average=lambda logits, labels: _mean(logits, labels) * labels.shape[0]),
        ),
    ),
    Misconception(
        "softmax-twice",
        "softmax is applied before cross_entropy, which does it again",
        "cross_entropy takes logits as they come out of the model.",
        (Loss(average=lambda logits, labels: _mean(logits.softmax(dim=-1), labels)),),
    ),
    Misconception(
        "classes-scrambled",
        "view or reshape mixes places and vocabulary",
        "cross_entropy wants the classes on axis 1. Flatten batch and length, or transpose.",
        (Loss(average=_scrambled),),
    ),
    Misconception(
        "wrong-sign",
        "the sign is wrong: the loss is below 0",
        "The loss is the negative logarithm of the probability.",
        (Loss(finish=lambda loss: -loss),),
    ),
    Misconception(
        "perplexity",
        "the exponential of the loss is returned",
        "That is the perplexity. The loss is what stands in the exponent.",
        (Loss(finish=lambda loss: loss.exp()),),
    ),
    _with(DETACHED, detached(Loss())),
    _with(NUMBER_FOR_TENSOR, lambda model, ids: Loss()(model, ids).item()),
)


# --- find_another_bug: generate_long ---------------------------------------------------------


def _long(shown: Callable[[Tensor, int, int], Tensor], loop: Loop = Loop()) -> Step:
    """Return generate_long.

    Args:
        shown: from all ids, max_len and the length of the prompt, what the model is shown.
        loop: the rest.

    Returns:
        the function.
    """

    def wrong(model: Any, ids: Tensor, max_new_tokens: int, max_len: int) -> Any:
        own = replace(loop, shown=lambda found, length: shown(found, max_len, length))
        return own(model, ids, max_new_tokens)

    return wrong


def _newest(ids: Tensor, max_len: int, length: int) -> Tensor:
    return ids[:, -max_len:]


def _window_is_all(model: Any, ids: Tensor, max_new_tokens: int, max_len: int) -> Tensor:
    for _ in range(max_new_tokens):
        ids = ids[:, -max_len:]
        ids = torch.cat((ids, _last_place(model(ids))), dim=1)
    return ids


def _last_window(model: Any, ids: Tensor, max_new_tokens: int, max_len: int) -> Tensor:
    return _long(_newest)(model, ids, max_new_tokens, max_len)[:, -max_len:]


def _stops_when_full(model: Any, ids: Tensor, max_new_tokens: int, max_len: int) -> Tensor:
    new = min(max_new_tokens, max(0, max_len - ids.shape[1]))
    return Loop()(model, ids, new)


def _from_the_start(ids: Tensor, max_len: int, length: int) -> Tensor:
    """Begin a new window when the last one is full."""
    start = (ids.shape[1] - 1) // max_len * max_len
    return ids[:, start:]


def _in_place_long(model: Any, ids: Tensor, max_new_tokens: int, max_len: int) -> Tensor:
    result = _long(_newest)(model, ids, max_new_tokens, max_len)
    ids.fill_(-1)
    return result


def _with_window(entry: Misconception) -> Misconception:
    """Give an entry of `generate` the right window."""
    return _with(entry, *(_long(_newest, loop) for loop in entry.wrong if isinstance(loop, Loop)))


TOO_LONG = r"model takes 1 to \d+ tokens"

WINDOW = (
    Misconception(
        "bug-is-in",
        "the bug is still in it",  # to name it would give the task away
        "Write down what the model is shown in the last three steps of the example.",
        (_long(lambda ids, max_len, length: ids[:, :max_len]),),
    ),
    Misconception(
        "no-window",
        "the model is shown more than it can read",
        "Only max_len tokens fit. Which of them should it be?",
        (
            _long(lambda ids, max_len, length: ids),
            _long(lambda ids, max_len, length: ids[:, -max_len - 1 :]),
        ),
        TOO_LONG,
    ),
    Misconception(
        "window-too-small",
        "the window is smaller than it could be",
        "The model reads max_len tokens, the newest of them included.",
        (
            _long(lambda ids, max_len, length: ids[:, -max(1, max_len - 1) :]),
            _long(lambda ids, max_len, length: ids[:, -max(1, max_len // 2) :]),
        ),
    ),
    Misconception(
        "text-cut-off",
        "the text itself is cut to the window, and its beginning is lost",
        "Only what the model is shown is cut. Keep all tokens for the result.",
        (_window_is_all, _last_window),
    ),
    Misconception(
        "stops-when-full",
        "the text ends where the window is full",
        "It goes on: the window moves along with the text.",
        (_stops_when_full,),
    ),
    Misconception(
        "window-starts-anew",
        "when the window is full an empty one begins, and the model forgets all before",
        "The window moves by one token in each step, so that it stays full.",
        (_long(_from_the_start),),
    ),
    Misconception(
        "prompt-sized-window",
        "the window has the size of the prompt",
        "The model reads max_len tokens, whatever the prompt has.",
        (_long(lambda ids, max_len, length: ids[:, -min(length, max_len) :]),),
    ),
    _with(LAST_TOKEN, _long(lambda ids, max_len, length: ids[:, -1:])),
    _with(
        PROMPT_AGAIN,
        lambda model, ids, new, max_len: torch.cat(
            (ids, _last_place(model(ids[:, -max_len:])).expand(-1, new)), dim=1
        ),
    ),
    _with_window(DRAWN),
    _with_window(LARGEST),
    _with_window(ONE_ROUND),
    _with_window(NEW_ONLY),
    _with_window(ONE_FEWER),
    _with_window(ONE_MORE),
    _with_window(FIRST_PLACE),
    _with_window(FIRST_ROW),
    _with(CHANGES_INPUT, _in_place_long),
)
