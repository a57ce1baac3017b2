"""Checks of the assignment "gpt": cases, properties, misconceptions, tasks.

A GPT is judged without the names of its parts, so no weights can be copied in, and no two right
ones give the same numbers. Each case asks one question instead, such as which logits change with
which token. The answer brings back the logits of several calls, and what they show is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref import gpt as package
from transformer_ref.checks import gpt_mistakes as mistakes
from transformer_ref.checks import made
from transformer_ref.checks.cases import UNSTEADY, described, followed, normal, numbered, plain_case
from transformer_ref.checks.run import ReturnedError, build, call, describe
from transformer_ref.checks.task import Arrays, Case, Outcome, Task

# Two logits are the same if they differ by less than this, compared with how they spread.
SAME = 1e-4
# As sharp as rounding allows: a token of which a head sees little is a token that it sees.
SEEN = 1e-5
# A slope that was measured may be off by this share.
SLOPE_SLACK = 1e-3
# More calls of a model than these, for 12 new tokens at most, are an endless loop.
MOST_CALLS = 200
# Two logits that are closer than this are not tried: rounding might choose.
GAP = 0.02


# --- the answers -----------------------------------------------------------------------------


def cnn_receptive_field(kernel_size: int, num_layers: int, dilation: int = 1) -> int:
    """Count the inputs that one output of a stacked convolution depends on.

    Args:
        kernel_size: of every layer.
        num_layers: all with stride 1.
        dilation: of every layer.

    Returns:
        the number of neighbouring places, the gaps between them counted.
    """
    return 1 + num_layers * (kernel_size - 1) * dilation


def lm_batch(ids: Tensor, block_size: int, starts: list[int] | Tensor) -> tuple[Tensor, Tensor]:
    """Cut pieces out of one long text.

    Args:
        ids: (N,) int64, the text.
        block_size: T, the length of a piece.
        starts: where each piece starts.

    Returns:
        inputs and labels, (B, T) each; the labels are one later.
    """
    rows = torch.stack([ids[int(start) : int(start) + block_size + 1] for start in starts])
    return rows[:, :-1], rows[:, 1:]


class GPT(nn.Module):
    """The package's GPT, with the arguments of the task.

    Args:
        vocab_size: V.
        d_model: D.
        num_heads: H, a divisor of D.
        d_ff: size of the hidden layers.
        num_layers: at least 1.
        max_len: the longest input.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        num_heads: int,
        d_ff: int,
        num_layers: int,
        max_len: int,
    ) -> None:
        super().__init__()
        config = package.GPTConfig(
            vocab_size, d_model, num_heads, num_layers, d_ff, max_len, dropout=0.0
        )
        self.model = package.GPT(config)

    def forward(self, ids: Tensor) -> Tensor:
        """(B, T) ids to (B, T, V) logits; position t has seen the tokens 0..t."""
        return self.model(ids)


Model = Callable[[Tensor], Tensor]


def generate(model: Model, ids: Tensor, max_new_tokens: int) -> Tensor:
    """Append the likeliest token, again and again.

    Args:
        model: (B, T) ids to (B, T, V) logits.
        ids: (B, T) int64.
        max_new_tokens: how many tokens.

    Returns:
        (B, T + max_new_tokens) int64.
    """
    return generate_long(model, ids, max_new_tokens, ids.shape[1] + max_new_tokens)


def lm_loss(model: Model, ids: Tensor) -> Tensor:
    """Return the mean loss of the next token; what the first bug hunt asks for.

    Args:
        model: (B, T) ids to (B, T, V) logits.
        ids: (B, T+1) int64.

    Returns:
        a scalar.
    """
    logits = model(ids[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def generate_long(model: Model, ids: Tensor, max_new_tokens: int, max_len: int) -> Tensor:
    """Append tokens past the end of the window; what the second bug hunt asks for.

    Args:
        model: (B, T) ids to (B, T, V) logits, T at most max_len.
        ids: (B, T) int64.
        max_new_tokens: how many tokens.
        max_len: the model is shown so many of the last tokens.

    Returns:
        (B, T + max_new_tokens) int64.
    """
    for _ in range(max_new_tokens):
        best = model(ids[:, -max_len:])[:, -1].argmax(dim=-1, keepdim=True)
        ids = torch.cat((ids, best), dim=1)
    return ids


# --- cases: cnn_receptive_field --------------------------------------------------------------


def field_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of cnn_receptive_field: odd and even kernels, with gaps and without."""
    kernels = [int(size) for size in rng.permutation([2, 3, 4, 5, 6, 7, 9])]
    layers = [int(count) for count in rng.integers(2, 13, size=7)]
    gaps = [int(size) for size in rng.integers(2, 8, size=7)]
    names = ("kernel_size", "num_layers", "dilation")
    plan = [
        *((3, 1), (3, 2), (3, 4, 2), (2, 5), (kernels[0], 1), (kernels[1], 1, gaps[0])),
        *((kernels[2], layers[0]), (kernels[3], layers[1], 1), (kernels[4], layers[2], gaps[1])),
        *((kernels[5], layers[3], gaps[2]), (1, layers[4]), (1, layers[5], gaps[3])),
        *((3, 50), (4, 3, gaps[4]), (5, layers[6], gaps[5]), (2, 4, gaps[6])),
    ]
    cases = [plain_case(**dict(zip(names, each, strict=False))) for each in plan]
    followed(cases, cases[2], {}, "asked again", UNSTEADY)
    return numbered(cases)


# --- cases: lm_batch -------------------------------------------------------------------------


def batch_case(
    rng: np.random.Generator, batch: int, block_size: int, *, tensor: bool = False, more: int = 12
) -> Case:
    """Make a case of lm_batch.

    Args:
        rng: the source.
        batch: B.
        block_size: T.
        tensor: whether `starts` is a tensor, and not a list.
        more: tokens of the text beside those that one piece needs.

    Returns:
        the case; the first piece that fits and the last one are in it where B is above 2.
    """
    length = block_size + 1 + more
    ids = rng.permutation(3 * length)[:length]  # no token twice, so that every place shows
    starts = rng.permutation(more + 1)[:batch]
    if batch > 2:
        starts[rng.permutation(batch)[:2]] = [0, more]
    arguments = {
        "ids": ids.astype(np.int64),
        "block_size": block_size,
        "starts": starts.astype(np.int64) if tensor else [int(start) for start in starts],
    }
    said = f"ids ({length},), block_size={block_size}, starts={[int(start) for start in starts]}"
    return Case(f"{said}, a tensor" if tensor else said, arguments)


def lm_batch_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of lm_batch: lists and tensors, one piece, pieces of one token, a square."""
    sizes = [int(size) for size in rng.permutation(np.arange(3, 9))]
    cases = [
        batch_case(rng, 2, 4),
        batch_case(rng, 3, sizes[0]),
        batch_case(rng, 4, sizes[1] + 2, tensor=True),
        batch_case(rng, 1, sizes[2]),
        batch_case(rng, 1, sizes[3], tensor=True),
        batch_case(rng, 5, 1),
        batch_case(rng, 5, 5, tensor=True),
        batch_case(rng, 6, 2, tensor=True),
        batch_case(rng, 3, sizes[4], more=3),
        batch_case(rng, 1, sizes[5], more=0),
        batch_case(rng, 8, 30, more=60),
        batch_case(rng, 7, 3, more=200),
    ]
    followed(cases, cases[2], {}, "asked again", UNSTEADY)
    return numbered(cases)


# --- a small model that reads all it is given ------------------------------------------------


class TinyModel(nn.Module):
    """Logits that depend on all tokens so far, their order, and on nothing later.

    Args:
        weights: arrays "tokens" and "output" (V, D) and "places" (longest input, D), for their
            shapes.
    """

    def __init__(self, weights: Arrays) -> None:
        super().__init__()
        self.tokens = nn.Parameter(torch.zeros(weights["tokens"].shape))
        self.places = nn.Parameter(torch.zeros(weights["places"].shape))
        self.output = nn.Parameter(torch.zeros(weights["output"].shape))
        self.calls = 0

    def forward(self, ids: Tensor) -> Tensor:
        """(B, T) ids to (B, T, V) logits."""
        self.calls += 1
        if self.calls > MOST_CALLS:
            raise RuntimeError(f"model was called more than {MOST_CALLS} times: does the loop end?")
        if not isinstance(ids, Tensor) or ids.ndim != 2 or ids.is_floating_point():
            raise TypeError(f"model takes ids (B, T), received {describe(ids)}")
        length = ids.shape[1]
        if not 0 < length <= len(self.places):
            raise ValueError(f"model takes 1 to {len(self.places)} tokens, received {length}")
        read = self.tokens[ids]
        counts = torch.arange(1, length + 1, device=ids.device).unsqueeze(-1)
        before = (read * self.places[:length]).cumsum(dim=1) / counts.sqrt()
        return 2.0 * torch.tanh(read + 2.0 * before) @ self.output.T


MODEL = made.model_maker(TinyModel)


def tiny_model(
    rng: np.random.Generator, vocab_size: int, longest: int, dtype: str = "float32", said: str = ""
) -> dict[str, Any]:
    """Describe a small model over `vocab_size` tokens that takes `longest` of them."""
    d_model = 8
    shapes = {"tokens": vocab_size, "places": longest, "output": vocab_size}
    weights = {name: normal(rng, (size, d_model), dtype) for name, size in shapes.items()}
    said = said or f"(B, T) to (B, T, {vocab_size})"
    return made.model(said, weights, training=False)


def _is_clear(description: dict[str, Any], ids: np.ndarray, new: int, max_len: int) -> bool:
    """Tell whether the likeliest token is likeliest by a margin, and not always the same.

    Also whether the oldest tokens alone would lead elsewhere, where not all of them fit.
    """
    weights = description["weights"]
    model = TinyModel(weights)
    for name, parameter in model.named_parameters():
        parameter.data = torch.from_numpy(weights[name])
    found = torch.from_numpy(ids)
    with torch.no_grad():
        for _ in range(new):
            two = model(found[:, -max_len:])[:, -1].topk(2)
            if (two.values[:, 0] - two.values[:, 1]).min() < GAP:
                return False
            found = torch.cat((found, two.indices[:, :1]), dim=1)
        length = found.shape[1] - 1
        if length > max_len:
            stuck = model(found[:, :max_len])[:, -1].argmax(dim=-1)
            if torch.equal(stuck, found[:, -1]):
                return False
    behind = found[:, ids.shape[1] :]
    return new < 3 or bool((behind[:, 1:] != behind[:, :-1]).any(dim=1).all())


def generate_case(
    rng: np.random.Generator,
    batch: int,
    length: int,
    new: int,
    dtype: str = "float32",
    max_len: int | None = None,
) -> Case:
    """Make a case of generate, or of generate_long where there is a `max_len`."""
    vocab_size = int(rng.integers(11, 20))
    longest = max_len or length + new + 4
    while True:
        model = tiny_model(rng, vocab_size, longest, dtype)
        ids = rng.integers(0, vocab_size, size=(batch, length))
        if _is_clear(model, ids, new, longest):
            break
    arguments: dict[str, Any] = {"model": model, "ids": ids, "max_new_tokens": new}
    if max_len is not None:
        arguments["max_len"] = max_len
    return Case(_named(arguments, dtype), arguments)


def _named(arguments: dict[str, Any], dtype: str = "float32") -> str:
    return ", ".join([*described(arguments), *[dtype] * (dtype != "float32")])


def generate_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of generate: batches, one row, one token, many new ones."""
    cases = [
        generate_case(rng, 1, 3, 2),
        *(generate_case(rng, 2, 4, 3), generate_case(rng, 3, 5, 6), generate_case(rng, 4, 3, 7)),
        *(generate_case(rng, 1, 1, 5), generate_case(rng, 3, 1, 4), generate_case(rng, 1, 6, 8)),
        *(generate_case(rng, 2, 5, 1), generate_case(rng, 1, 4, 1), generate_case(rng, 5, 2, 3)),
        *(generate_case(rng, 2, 7, 4, "float64"), generate_case(rng, 1, 3, 12)),
        *(generate_case(rng, 3, 3, 3), generate_case(rng, 2, 9, 2)),
    ]
    followed(cases, cases[2], {}, "asked again", UNSTEADY)
    return numbered(cases)


def window_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of generate_long: the text gets longer than the model can read, in each of them."""

    def case(batch: int, length: int, new: int, max_len: int, dtype: str = "float32") -> Case:
        return generate_case(rng, batch, length, new, dtype, max_len)

    cases = [
        *(case(1, 3, 4, 4), case(2, 4, 6, 5), case(3, 2, 8, 4), case(1, 5, 7, 5)),
        *(case(2, 6, 3, 6), case(2, 3, 12, 5), case(4, 3, 5, 3), case(1, 1, 9, 4)),
        *(case(3, 7, 4, 5), case(1, 9, 5, 6), case(2, 8, 3, 4, "float64")),  # a long prompt
        *(case(2, 3, 7, 8), case(1, 3, 8, 9)),  # nearly all of it fits
        case(2, 4, 5, 6, "float64"),
    ]
    followed(cases, cases[2], {}, "asked again", UNSTEADY)
    return numbered(cases)


def loss_case(
    rng: np.random.Generator, batch: int, length: int, dtype: str = "float32", note: str = ""
) -> Case:
    """Make a case of lm_loss: rows of `length` + 1 tokens."""
    vocab_size = int(rng.integers(9, 15))
    while vocab_size in (batch, length):
        vocab_size += 1
    arguments = {
        "model": tiny_model(rng, vocab_size, length + 1, dtype),
        "ids": rng.integers(0, vocab_size, size=(batch, length + 1)),
    }
    name = _named(arguments, dtype)
    return Case(f"{name}, {note}" if note else name, arguments)


def lm_loss_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of lm_loss: batches, one row, two tokens, a square."""
    cases = [
        *(loss_case(rng, 2, 3), loss_case(rng, 3, 5), loss_case(rng, 4, 7)),
        *(loss_case(rng, 1, 6), loss_case(rng, 5, 2), loss_case(rng, 3, 8, "float64")),
        *(loss_case(rng, 6, 6), loss_case(rng, 2, 9, "float64"), loss_case(rng, 7, 3)),
        loss_case(rng, 3, 20),
    ]
    followed(cases, cases[1], {}, "asked again", UNSTEADY)
    for case in (loss_case(rng, 3, 4), loss_case(rng, 2, 6, "float64")):
        cotangent = np.array(rng.uniform(0.5, 2.0), dtype=case.dtype)
        cases.append(replace(case, name=f"{case.name}, gradients", cotangent=cotangent))
    return numbered(cases)


# --- GPT: what a case asks, beside the answer ------------------------------------------------

Raw = dict[str, Tensor]


def ask_gpt(answer: Any, case: Case, arguments: Mapping[str, Any]) -> Raw:
    """Build the models that the question of a case needs, and bring back what they give.

    Args:
        answer: the class.
        case: with the settings, and the question as its argument "asked".
        arguments: with the ids as a tensor.

    Returns:
        the logits (B, T, V) of the ids, and more where these have the right shape.
    """
    ids, asked = arguments["ids"], arguments["asked"]
    with torch.no_grad():
        model = _stirred(build(answer, case))
        logits = _logits(model, ids)
    found: Raw = {"logits": logits}
    if logits.shape != (*ids.shape, case.settings["vocab_size"]) or asked not in ASKED:
        return found
    return {**found, **ASKED[asked](answer, case, model, ids)}


def _stirred(model: nn.Module) -> nn.Module:
    """Add noise to all parameters, as some rightly start at 0, such as learned positions."""
    # Little of it: where a softmax saturates, nothing is seen of the other tokens.
    noise = torch.Generator().manual_seed(1)
    for parameter in model.parameters():
        parameter.add_((0.15 * torch.randn(parameter.shape, generator=noise)).to(parameter))
    return model


def _logits(model: Any, ids: Tensor) -> Tensor:
    found = call(model, {"ids": ids})
    if found is None:
        raise ReturnedError("forward returned None: is a `return` missing?")
    if not isinstance(found, Tensor):
        raise ReturnedError(f"forward should return the logits alone, received {describe(found)}")
    return found


def _changed_by_one(ids: Tensor, vocab_size: int) -> Tensor:
    """(B, T) to ((T+1) B, T): the rows as they are, and with each token changed in its turn."""
    batch, length = ids.shape
    blocks = ids.repeat(length + 1, 1).view(length + 1, batch, length)
    for place in range(length):
        blocks[place + 1, :, place] = (ids[:, place] + 1) % vocab_size
    return blocks.flatten(0, 1)


@torch.no_grad()
def _which_tokens(answer: Any, case: Case, model: nn.Module, ids: Tensor) -> Raw:
    """The logits of the rows, and of them with each token changed: (T+1, B, T, V)."""
    found = _logits(model, _changed_by_one(ids, case.settings["vocab_size"]))
    return {"rows": found.unflatten(0, (-1, len(ids)))}


@torch.no_grad()
def _which_order(answer: Any, case: Case, model: nn.Module, ids: Tensor) -> Raw:
    """The logits of the rows with their first two tokens swapped."""
    return {"swapped": _logits(model, ids[:, [1, 0, *range(2, ids.shape[1])]])}


@torch.no_grad()
def _which_rows(answer: Any, case: Case, model: nn.Module, ids: Tensor) -> Raw:
    """The logits of the batch turned round, and of each row by itself."""
    alone = torch.cat([_logits(model, row.unsqueeze(0)) for row in ids])
    return {"turned": _logits(model, ids.flip(0)), "alone": alone}


@torch.no_grad()
def _the_same_again(answer: Any, case: Case, model: nn.Module, ids: Tensor) -> Raw:
    """The logits of the same ids, after those of others."""
    _logits(model, ids[:, :2])
    return {"again": _logits(model, ids)}


def _slope(answer: Any, case: Case, model: nn.Module, ids: Tensor) -> Raw:
    """Slopes of the logits' weighted sum along three directions: by the gradients, and measured.

    In float64, where a small step measures well; the gradients are trusted where the answer's own
    tensors do not allow that, which another case is about.
    """
    try:
        logits = _logits(model.double(), ids)
        sharp = logits.dtype == torch.float64
    except RuntimeError:
        logits, sharp = _logits(model.float(), ids), False
    random = torch.Generator().manual_seed(2)
    weights = torch.randn(logits.shape, generator=random).to(logits)
    parameters = [each for each in model.parameters() if each.requires_grad]
    total = (logits * weights).sum()
    gradients: tuple[Tensor | None, ...] = (None,) * len(parameters)
    if parameters and total.requires_grad:
        gradients = torch.autograd.grad(total, parameters, allow_unused=True)
    slopes = []
    for _ in range(3):
        ways = [torch.randn(each.shape, generator=random).to(each) for each in parameters]
        promised = total.new_zeros(())
        for gradient, way in zip(gradients, ways, strict=True):
            if gradient is not None:
                promised = promised + (gradient * way).sum()
        measured = _measured(model, ids, weights, parameters, ways) if sharp else promised
        slopes.append(torch.stack((promised.detach(), measured)))
    return {"slopes": torch.stack(slopes)}


@torch.no_grad()
def _measured(
    model: nn.Module,
    ids: Tensor,
    weights: Tensor,
    parameters: list[nn.Parameter],
    ways: list[Tensor],
) -> Tensor:
    """How fast the weighted sum of the logits grows if the parameters go that way."""
    step, ends = 1e-7, []  # so short that it seldom meets the bend of a ReLU
    for sign in (1, -2, 1):  # forward, back past the middle, and home
        for parameter, way in zip(parameters, ways, strict=True):
            parameter.add_(sign * step * way)
        ends.append((_logits(model, ids) * weights).sum())
    return (ends[0] - ends[1]) / (2 * step)


@torch.no_grad()
def _parameters(answer: Any, case: Case, model: nn.Module, ids: Tensor) -> Raw:
    """How many parameters there are with 1, 2 and 3 layers, and with a larger d_ff.

    Also the logits of 1 and 3 layers with the same parameters, where they have the same, and how
    those of 3 layers change when the second or the third is stirred, where they have their own.
    """

    def built(layers: int, **settings: int) -> nn.Module:
        changed = {**case.settings, "num_layers": layers, **settings}
        return build(answer, replace(case, settings=changed))

    models = [built(1), built(2), built(3)]
    wide = case.settings["d_ff"] + 4
    models += [built(1, d_ff=wide), built(2, d_ff=wide)]
    parameters = [dict(each.named_parameters()) for each in models]
    counts = [sum(each.numel() for each in found.values()) for found in parameters]
    found = _with_same_parameters(answer, case, ids, "num_layers", (1, 3))
    deep = models[2]
    for number in (2, 3):
        before = _logits(deep, ids)
        names = parameters[number - 1].keys() - parameters[number - 2].keys()
        for name in sorted(names):
            parameter = parameters[2][name]
            parameter.add_(0.3 * torch.randn(parameter.shape).to(parameter))
        if names:
            found[f"layer {number}"] = _logits(deep, ids) - before
    return {"counts": torch.tensor(counts), **found}


@torch.no_grad()
def _heads(answer: Any, case: Case, model: nn.Module, ids: Tensor) -> Raw:
    """The logits of one head and of several, with the same parameters."""
    return _with_same_parameters(answer, case, ids, "num_heads", (1, case.settings["num_heads"]))


def _with_same_parameters(
    answer: Any, case: Case, ids: Tensor, name: str, values: tuple[int, int]
) -> Raw:
    """The logits under two values of a setting; none if the parameters are not the same ones."""
    models = [
        _stirred(build(answer, replace(case, settings={**case.settings, name: value})))
        for value in values
    ]
    parameters = [dict(model.named_parameters()) for model in models]
    shapes = [{key: each.shape for key, each in found.items()} for found in parameters]
    if shapes[0] != shapes[1]:
        return {}
    for key, parameter in parameters[1].items():
        parameter.copy_(parameters[0][key])
    return {f"setting {place}": _logits(model, ids) for place, model in enumerate(models)}


def _of_last_layer(answer: Any, case: Case, model: nn.Module) -> list[Tensor]:
    """The matrices that a model with one layer less has not."""
    fewer = {**case.settings, "num_layers": case.settings["num_layers"] - 1}
    others = dict(build(answer, replace(case, settings=fewer)).named_parameters())
    return [p for name, p in model.named_parameters() if name not in others and p.ndim > 1]


@torch.no_grad()
def _way_round(answer: Any, case: Case, model: nn.Module, ids: Tensor) -> Raw:
    """As :func:`_which_tokens`, with all matrices of the last layer at 0."""
    own = _of_last_layer(answer, case, model)
    for matrix in own:
        matrix.zero_()
    return _which_tokens(answer, case, model, ids) if own else {}


def _sees_itself(answer: Any, case: Case, model: nn.Module, ids: Tensor) -> Raw:
    """How many numbers in the last layer's matrices get a gradient from a text of one token.

    The feed-forward network is tiny here, so it is attention that most of them belong to.
    """
    own = _of_last_layer(answer, case, model)
    logits = _logits(model, ids[:, :1])
    own = [matrix for matrix in own if matrix.requires_grad]
    if not own or not logits.requires_grad:
        return {}
    weights = torch.randn(logits.shape, generator=torch.Generator().manual_seed(2)).to(logits)
    found = torch.autograd.grad((logits * weights).sum(), own, allow_unused=True)
    return {"count": torch.tensor([int((each != 0).sum()) for each in found if each is not None])}


ASKED: dict[str, Callable[[Any, Case, nn.Module, Tensor], Raw]] = {
    "tokens": _which_tokens,
    "order": _which_order,
    "rows": _which_rows,
    "again": _the_same_again,
    "slope": _slope,
    "parameters": _parameters,
    "heads": _heads,
    "way round": _way_round,
    "itself": _sees_itself,
}


# --- GPT: what the logits show, with the judge -----------------------------------------------

Arrived = Mapping[str, np.ndarray]


def find_gpt(case: Case, outcome: Outcome) -> dict[str, str]:
    """Say what the logits that came back show.

    Args:
        case: the question.
        outcome: with the arrays that :func:`ask_gpt` has brought back.

    Returns:
        words by finding; a right model of any kind gives the same.
    """
    values = outcome.values
    logits = values["logits"]
    expected = (*case.arguments["ids"].shape, case.settings["vocab_size"])
    found = {
        "shape": str(logits.shape),
        "dtype": outcome.dtypes["logits"],
        "device": "kept" if outcome.devices["logits"] == case.device else "other",
    }
    if logits.shape != expected:
        return found
    found["numbers"] = _kind_of_numbers(logits)
    asked = case.arguments["asked"]
    if found["numbers"] == "scores" and asked in FOUND:
        found[asked] = FOUND[asked](values)
    return found


def _kind_of_numbers(logits: np.ndarray) -> str:
    wrong = ~np.isfinite(logits).all(axis=(0, 2))
    if wrong.any():
        places = ", ".join(str(place) for place in np.flatnonzero(wrong))
        return f"NaN or infinite at {places}"
    for axis, name in enumerate(("batch", "length", "vocabulary")):
        if (logits >= 0).all() and np.allclose(logits.sum(axis=axis), 1.0, atol=1e-4):
            return f"probabilities over the {name}"
    return "scores" if (logits < 0).any() else "none below 0"


def _differ(one: np.ndarray, other: np.ndarray, least: float = SAME) -> np.ndarray:
    """(..., V) twice: tell for each place whether the logits differ by more than rounding."""
    far: np.ndarray = np.abs(one.astype(np.float64) - other).max(axis=-1)
    return far > least * one.std()


def _seen(values: Arrived) -> str:
    """Say for each place which tokens its logits depend on: "x..|xx.|xxx" where all is right."""
    base, changed = values["rows"][0], values["rows"][1:]
    moved = np.any(_differ(base, changed, SEEN), axis=1)
    return "|".join("".join("x" if each else "." for each in row) for row in moved.T)


def _order(values: Arrived) -> str:
    moved = _differ(values["logits"], values["swapped"], SEEN)[:, 2:]
    return "matters" if moved.any() else "makes no difference"


def _rows(values: Arrived) -> str:
    if _differ(values["logits"][::-1], values["turned"]).any():
        return "their places matter"
    return "mixed" if _differ(values["logits"], values["alone"]).any() else "apart"


def _again(values: Arrived) -> str:
    return "others" if _differ(values["logits"], values["again"]).any() else "the same"


def _learning(values: Arrived) -> str:
    promised, measured = values["slopes"].T
    if not promised.any():
        return "no gradient"
    off = np.abs(promised - measured) > SLOPE_SLACK * (np.abs(promised) + np.abs(measured))
    return "partly cut off" if off.sum() > 1 else "whole"  # one may be by chance


def _growth(values: Arrived) -> str:
    one, two, three, wide_one, wide_two = (int(each) for each in values["counts"])
    if three - two != two - one or two <= one:
        used = "setting 0" in values and _differ(values["setting 0"], values["setting 1"]).any()
        layers = "shared or not registered" if used else "no difference"
    else:
        layers = "each its own"
        for name in ("layer 2", "layer 3"):
            change = values.get(name)
            if change is not None and not np.abs(change).max() > SAME:
                layers = "not all used"
    if wide_one <= one:
        return f"layers: {layers}; d_ff: no difference"
    number = "" if wide_two - two == 2 * (wide_one - one) or two <= one else ", not so many"
    return f"layers: {layers}{number}; d_ff: used"


def _heads_matter(values: Arrived) -> str:
    same = "setting 0" in values and not _differ(values["setting 0"], values["setting 1"]).any()
    return "no difference" if same else "matter"


def _passes_round(values: Arrived) -> str:
    if "rows" not in values:
        return "yes"
    base, changed = values["rows"][0], values["rows"][1:]
    moved = np.any(_differ(base, changed, SEEN), axis=1)
    return "yes" if moved.diagonal().all() else "no"


def _is_seen(case_values: Arrived) -> str:
    if "count" not in case_values:
        return "yes"
    return "yes" if int(case_values["count"].sum()) > LEAST_SEEN else "no"


FOUND: dict[str, Callable[[Arrived], str]] = {
    "tokens": _seen,
    "order": _order,
    "rows": _rows,
    "again": _again,
    "slope": _learning,
    "parameters": _growth,
    "heads": _heads_matter,
    "way round": _passes_round,
    "itself": _is_seen,
}

# A feed-forward network of two hidden features has fewer numbers than this at D = 16, and the
# matrices of values and output, which count only if something is attended to, have more.
LEAST_SEEN = 120


# --- GPT: cases ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """A question to a GPT: its key, and its words in the name of a case."""

    asked: str
    words: str


LOGITS = Question("logits", "the logits")
TOKENS = Question("tokens", "which logits change with which token")
ORDER = Question("order", "the first two tokens swapped")
ROWS = Question("rows", "the rows of the batch alone and in another order")
AGAIN = Question("again", "the same ids a second time")
SLOPE = Question("slope", "the gradients against the slope measured")
PARAMETERS = Question("parameters", "the number of parameters with 1, 2, 3 layers and other d_ff")
HEADS = Question("heads", "one head and several with the same parameters")
ROUND = Question("way round", "all matrices of the last layer put to 0")
ITSELF = Question("itself", "a text of one token")


def gpt_case(
    rng: np.random.Generator,
    question: Question,
    batch: int,
    length: int,
    dtype: str = "float32",
    **fixed: int,
) -> Case:
    """Make a case of GPT.

    Args:
        rng: the source.
        question: what is asked.
        batch: B.
        length: T.
        dtype: of the parameters.
        fixed: settings that are given.

    Returns:
        the case; no two tokens of a row are the same, and the sizes differ where they can.
    """
    heads = int(rng.integers(2, 4))
    d_model = 2 * heads * int(rng.integers(2, 4))
    drawn = {
        "vocab_size": int(rng.integers(19, 24)),
        "d_model": d_model,
        "num_heads": heads,
        "d_ff": d_model + int(rng.integers(1, 6)),
        "num_layers": int(rng.integers(1, 3)),
        "max_len": length + int(rng.integers(8, 11)),
    }
    settings = {**drawn, **fixed}
    ids = np.stack([rng.permutation(settings["vocab_size"])[:length] for _ in range(batch)])
    given = ", ".join(f"{name}={value}" for name, value in settings.items())
    name = f"GPT({given}), ids ({batch}, {length}): {question.words}"
    return Case(
        f"{name}, {dtype}" if dtype != "float32" else name,
        {"ids": ids.astype(np.int64), "asked": question.asked},
        settings=settings,
        precision=dtype,
    )


def _too_long(rng: np.random.Generator, batch: int, max_len: int, over: int) -> Case:
    case = gpt_case(rng, LOGITS, batch, max_len + over, max_len=max_len)
    return replace(case, refused=f"{max_len + over} tokens are more than max_len={max_len}")


def gpt_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of GPT, each with one question."""
    longest = int(rng.integers(6, 9))
    cases = [
        gpt_case(rng, LOGITS, 2, 5),
        gpt_case(rng, AGAIN, 2, 5, num_layers=2),
        gpt_case(rng, LOGITS, 1, 1),
        gpt_case(rng, LOGITS, 3, longest, max_len=longest),
        gpt_case(rng, ROWS, 3, 5),
        gpt_case(rng, ROWS, 4, 4, num_layers=1),
        gpt_case(rng, TOKENS, 3, 4, num_layers=1),
        gpt_case(rng, TOKENS, 3, 6, num_layers=2),
        gpt_case(rng, TOKENS, 4, 5, num_layers=3),
        gpt_case(rng, ORDER, 4, 5, num_layers=1),
        gpt_case(rng, ORDER, 3, 7, num_layers=1),
        gpt_case(rng, SLOPE, 2, 4, num_layers=1),
        gpt_case(rng, SLOPE, 2, 5, num_layers=2),
        gpt_case(rng, PARAMETERS, 1, 4),
        gpt_case(rng, HEADS, 2, 5, num_layers=1),
        gpt_case(rng, ROUND, 3, 4, num_layers=2),
        gpt_case(rng, LOGITS, 2, 4, "float64"),
        gpt_case(rng, ITSELF, 1, 3, num_layers=2, d_model=16, num_heads=2, d_ff=2),
        _too_long(rng, 2, longest + 1, 1),
        _too_long(rng, 1, 5, 3),
    ]
    followed(cases, cases[8], {}, "asked again", UNSTEADY)
    return numbered(cases)


# --- GPT: properties -------------------------------------------------------------------------

Values = Mapping[str, Any]


def has_logits(case: Case, values: Values) -> str | None:
    """Say so if what came back is not a number for each token of the vocabulary at each place."""
    found = values["found"]
    expected = (*case.arguments["ids"].shape, case.settings["vocab_size"])
    if found["shape"] != str(expected):
        return f"the logits should have the shape (B, T, V) = {expected}, received {found['shape']}"
    if found["dtype"] != case.dtype:
        return f"the parameters are {case.dtype}, and the logits {found['dtype']}"
    if found["device"] != "kept":
        return "the logits are on another device than the parameters"
    if found["numbers"].startswith("prob"):
        return (
            "all numbers are above 0, and they sum to 1 over the "
            f"{found['numbers'].split()[-1]}: these are probabilities, and no logits"
        )
    if found["numbers"].startswith("none"):
        return "no logit is below 0: a logit may be any number, so nothing should cut them off"
    if found["numbers"] != "scores":
        places = found["numbers"].removeprefix("NaN or infinite at ")
        return f"there are logits that are NaN or infinite, at the places {places}"
    return None


def sees_the_past(case: Case, values: Values) -> str | None:
    """Say so if logits depend on later tokens, or do not depend on earlier ones."""
    rows = values["found"].get("tokens", "").split("|")
    for place, row in enumerate(rows if rows != [""] else []):
        later = [token for token in range(place + 1, len(row)) if row[token] == "x"]
        if later:
            return (
                f"the logits at place {place} (of 0 to {len(row) - 1}) change when the token at "
                f"place {later[0]} is another one, and that one lies in their future"
            )
    for place, row in enumerate(rows if rows != [""] else []):
        if "." in row[: place + 1]:
            return (
                f"the logits at place {place} do not change when the token at place "
                f"{row.index('.')} is another one; they should depend on all tokens up to their own"
            )
    return None


# Finding: what it should be; otherwise what is said, by the finding, "" for all others.
SAID: dict[str, tuple[str, dict[str, str]]] = {
    "again": ("the same", {"": f"in eval mode, {UNSTEADY}"}),
    "order": (
        "matters",
        {
            "": "with the first two tokens swapped, the logits at the places behind them are the "
            "same: the model does not know the order of its tokens"
        },
    ),
    "rows": (
        "apart",
        {
            "mixed": "the logits of a row are others when it is alone in its batch: the rows of a "
            "batch must not touch each other",
            "": "the logits of a row are others when it stands at another place of the batch: rows "
            "must not touch each other, nor have positions of their own",
        },
    ),
    "slope": (
        "whole",
        {
            "no gradient": "no gradient reaches any parameter: training would learn nothing. Look "
            "for detach, .data, no_grad, .item() or a new torch.tensor",
            "": "some way through the model has no gradient, though the logits change along it. "
            "Look for detach, .data, no_grad, .item() or a new torch.tensor",
        },
    ),
    "heads": (
        "matter",
        {"": "with the same parameters, one head and several give the same logits: num_heads is "
         "not used"},
    ),
    "way round": (
        "yes",
        {
            "": "with the matrices of the last layer at 0, the logits do not depend on the tokens "
            "any more: a residual sum should lead every token round each part of a layer"
        },
    ),
    "itself": (
        "yes",
        {
            "": "in a text of one token, attention makes no difference: each place may see itself, "
            "and this one has nothing else to see"
        },
    ),
}  # fmt: skip


def answers_the_question(case: Case, values: Values) -> str | None:
    """Say in words what else was found."""
    for name, (right, said) in SAID.items():
        found = values["found"].get(name, right)
        if found != right:
            return said.get(found, said[""])
    return None


def grows_as_it_should(case: Case, values: Values) -> str | None:
    """Say so if the number of parameters does not follow num_layers and d_ff."""
    found = values["found"].get("parameters", "")
    if "no difference; d_ff" in found:
        return (
            "the model has as many parameters with one layer as with three, and the same logits: "
            "num_layers is not used"
        )
    if "not all" in found:
        return "there are three layers with num_layers=3, but not all of them change the logits"
    if "shared" in found:
        return (
            "the model has not one layer's parameters more for each layer. Every layer has its "
            "own, and model.parameters() must find them"
        )
    if "d_ff: no" in found:
        return "the model has as many parameters with a larger d_ff: it is not used"
    if "not so many" in found:
        return (
            "d_ff adds parameters in more layers, or fewer, than there should be: num_layers=1 "
            "means one layer, and 2 means two"
        )
    return None


# --- properties of the other tasks -----------------------------------------------------------


def is_one_at_least(case: Case, values: Values) -> str | None:
    """Say so if a receptive field is too small for its own place."""
    found = values["size"]
    if found < 1:
        return f"an output depends on one input at least; here the size is {found}"
    return None


def labels_are_later(case: Case, values: Values) -> str | None:
    """Say so if the first row of a batch is not the piece that it should be."""
    ids, block_size = case.arguments["ids"], case.arguments["block_size"]
    start = int(case.arguments["starts"][0])
    for name, first in (("inputs", start), ("labels", start + 1)):
        right = ids[first : first + block_size]
        if not np.array_equal(values[name][0], right):
            return (
                f"the first row of `{name}` should be ids[{first}:{first + block_size}] = "
                f"{_few(right)}, received {_few(values[name][0])}"
            )
    return None


def _few(row: np.ndarray) -> str:
    shown = ", ".join(str(int(each)) for each in row[:6])
    return f"[{shown}, ...]" if len(row) > 6 else f"[{shown}]"


def begins_with_the_prompt(case: Case, values: Values) -> str | None:
    """Say so if the prompt is not what the result begins with, or a token is none."""
    given, found = case.arguments["ids"], values["ids"]
    if not np.array_equal(found[:, : given.shape[1]], given):
        return "the rows of the result should begin with the prompts; here they do not"
    return None


# --- tasks -----------------------------------------------------------------------------------

MODULE = "transformer_ref.gpt"
HERE = "transformer_ref.checks.gpt"
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

TASKS: tuple[Task, ...] = (
    Task(
        key="gpt.cnn_receptive_field",
        stub="cnn_receptive_field(kernel_size, num_layers, dilation=1)",
        contract=(
            "num_layers convolutions along one axis, one behind the other, all with stride 1, the "
            "same kernel_size and the same dilation; returns an int: how many neighbouring inputs "
            "lie between the first and the last one that an output depends on, both counted. All "
            "three are at least 1."
        ),
        kind="function",
        returns=("size",),
        reference=cnn_receptive_field,
        cases=field_cases,
        properties=(is_one_at_least,),
        forbidden=(f"{HERE}.cnn_receptive_field",),
        misconceptions=mistakes.FIELD,
        form=int,
    ),
    Task(
        key="gpt.lm_batch",
        stub="lm_batch(ids, block_size, starts)",
        contract=(
            "ids (N,) int64, one long text; starts a list of B int or a tensor (B,) int64, each so "
            "that start + block_size + 1 <= N; returns (inputs, labels), (B, block_size) each: row "
            "b of the inputs is the block_size ids from starts[b] on, and the labels are the ids "
            f"one later. Views or copies. {KEPT}"
        ),
        kind="function",
        returns=("inputs", "labels"),
        reference=lm_batch,
        cases=lm_batch_cases,
        properties=(labels_are_later,),
        forbidden=(f"{HERE}.lm_batch",),
        misconceptions=mistakes.BATCH,
    ),
    Task(
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
        kind="class",
        returns=("found",),
        reference=GPT,
        cases=gpt_cases,
        properties=(has_logits, sees_the_past, answers_the_question, grows_as_it_should),
        forbidden=(*WHOLE, f"{MODULE}.GPT", f"{HERE}.GPT"),
        misconceptions=mistakes.MODEL,
        form=dict[str, str],
        ask=ask_gpt,
        find=find_gpt,
    ),
    Task(
        key="gpt.generate",
        stub="generate(model, ids, max_new_tokens)",
        contract=(
            f"{CALLABLE}; ids (B, T) int64, max_new_tokens at least 1; returns (B, T + "
            "max_new_tokens) int64: each row goes on with its likeliest next token after all "
            f"tokens so far, again and again. Ties are not tried. {KEPT}"
        ),
        kind="function",
        returns=("ids",),
        reference=generate,
        cases=generate_cases,
        properties=(begins_with_the_prompt,),
        forbidden=WRITERS,
        misconceptions=mistakes.GENERATE,
        makers={"model": MODEL},
    ),
    Task(
        key="gpt.find_the_bug",
        stub="lm_loss(model, ids)",
        contract=(
            f"{CALLABLE}; ids (B, T+1) int64 without padding, T at least 2; returns a scalar "
            "tensor: the cross-entropy of ids[:, 1:] under model(ids[:, :-1]), averaged over all "
            f"of them. Gradients reach the model. {KEPT}"
        ),
        kind="function",
        returns=("loss",),
        reference=lm_loss,
        cases=lm_loss_cases,
        forbidden=(f"{HERE}.lm_loss",),
        misconceptions=mistakes.LOSS,
        makers={"model": MODEL},
    ),
    Task(
        key="gpt.find_another_bug",
        stub="generate_long(model, ids, max_new_tokens, max_len)",
        contract=(
            f"{CALLABLE}, which refuses T above max_len; ids (B, T) int64 of any length; returns "
            "(B, T + max_new_tokens) int64: each row goes on with its likeliest next token after "
            "its last max_len tokens, all of them where there are no more, again and again. Ties "
            f"are not tried. {KEPT}"
        ),
        kind="function",
        returns=("ids",),
        reference=generate_long,
        cases=window_cases,
        properties=(begins_with_the_prompt,),
        forbidden=WRITERS,
        misconceptions=mistakes.WINDOW,
        makers={"model": MODEL},
    ),
)
