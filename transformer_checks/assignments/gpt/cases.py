"""Makes the cases of the assignment "gpt"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from transformer_checks.assignments import made_arguments
from transformer_checks.assignments.shared_cases import (
    asked_again,
    described,
    different_sizes,
    normal,
    plain_case,
)
from transformer_checks.running.asking import describe
from transformer_checks.task import SAID, Arrays, Case, Made, Maker
from transformer_checks.translation import say
from transformer_ref.gpt import GPT, GPTConfig

# More calls of a model than these, for 12 new tokens at most, are an endless loop.
MOST_CALLS = 200
# A vocabulary with ids for which `is` is not ==.
LARGE = 300


# --- cases: lm_batch -------------------------------------------------------------------------


def batch_case(
    rng: np.random.Generator,
    batch: int,
    block_size: int,
    *,
    tensor: bool = False,
    more: int = 12,
    again: bool = False,
) -> Case:
    """Make a case of lm_batch.

    Args:
        rng: the source.
        batch: B.
        block_size: T.
        tensor: whether `starts` is a tensor, and not a list.
        more: tokens of the text beside those that one piece needs.
        again: whether tokens come again in the text, and a piece in the batch.

    Returns:
        the case; the first piece that fits and the last one are in it where B is above 2.
    """
    length = block_size + 1 + more
    # No token twice, so that every place shows, unless they are to.
    ids = rng.integers(0, 4, length) if again else rng.permutation(3 * length)[:length]
    starts = rng.permutation(more + 1)[:batch]
    if batch > 2:
        starts[rng.permutation(batch)[:2]] = [0, more]
    if again:
        starts[-1] = starts[0]
    arguments = {
        "ids": ids.astype(np.int64),
        "block_size": block_size,
        "starts": starts.astype(np.int64) if tensor else [int(start) for start in starts],
    }
    said = f"ids ({length},), block_size={block_size}, starts={[int(start) for start in starts]}"
    return Case(f"{said}, a tensor" if tensor else said, arguments)


def lm_batch_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of lm_batch: lists and tensors, one piece, pieces of one token, a square."""
    sizes = different_sizes(rng, 3, 8)
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
        batch_case(rng, 4, 5, again=True),
    ]
    asked_again(cases, cases[2])
    return cases


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


MODEL = made_arguments.model_maker(TinyModel)


def tiny_model(
    rng: np.random.Generator, vocab_size: int, longest: int, dtype: str = "float32", said: str = ""
) -> dict[str, Any]:
    """Describe a small model over `vocab_size` tokens that takes `longest` of them."""
    d_model = 8
    shapes = {"tokens": vocab_size, "places": longest, "output": vocab_size}
    weights = {name: normal(rng, (size, d_model), dtype) for name, size in shapes.items()}
    said = said or f"(B, T) to (B, T, {vocab_size})"
    return made_arguments.model(said, weights, training=False)


def _named(arguments: dict[str, Any], dtype: str = "float32") -> str:
    return ", ".join([*described(arguments), *[dtype] * (dtype != "float32")])


def loss_case(
    rng: np.random.Generator,
    batch: int,
    length: int,
    dtype: str = "float32",
    note: str = "",
    vocab_size: int = 0,
) -> Case:
    """Make a case of lm_loss: rows of `length` + 1 tokens."""
    vocab_size = vocab_size or int(rng.integers(9, 15))
    while vocab_size in (batch, length):
        vocab_size += 1
    arguments = {
        "model": tiny_model(rng, vocab_size, length + 1, dtype),
        "ids": rng.integers(0, vocab_size, size=(batch, length + 1)),
    }
    name = _named(arguments, dtype)
    return Case(f"{name}, {note}" if note else name, arguments)


def find_the_bug_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of lm_loss: batches, one row, two tokens, a square."""
    cases = [
        *(loss_case(rng, 2, 3), loss_case(rng, 3, 5), loss_case(rng, 4, 7)),
        *(loss_case(rng, 1, 6), loss_case(rng, 5, 2), loss_case(rng, 3, 8, "float64")),
        *(loss_case(rng, 6, 6), loss_case(rng, 2, 9, "float64"), loss_case(rng, 7, 3)),
        loss_case(rng, 3, 20),
    ]
    asked_again(cases, cases[1])
    for case in (loss_case(rng, 3, 4), loss_case(rng, 2, 6, "float64")):
        cotangent = np.array(rng.uniform(0.5, 2.0), dtype=case.dtype)
        cases.append(replace(case, name=f"{case.name}, gradients", cotangent=cotangent))
    cases.append(loss_case(rng, 2, 66, vocab_size=LARGE))
    return cases


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
SHORTER = Question("shorter", "the same text without its last tokens")
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
        the case; no two tokens of a row are the same if there are so many, and the sizes differ
        where they can.
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
    tokens = np.resize(np.arange(settings["vocab_size"]), max(settings["vocab_size"], length))
    ids = np.stack([rng.permutation(tokens)[:length] for _ in range(batch)])
    given = ", ".join(f"{name}={value}" for name, value in settings.items())
    name = f"GPT({given}), ids ({batch}, {length}): {question.words}"
    return Case(
        f"{name}, {dtype}" if dtype != "float32" else name,
        {"ids": ids.astype(np.int64), "asked": question.asked},
        settings=settings,
        precision=dtype,
    )


def _ascending(case: Case) -> Case:
    """Put the large ids of each row behind the small ones."""
    return replace(case, arguments={**case.arguments, "ids": np.sort(case.arguments["ids"])})


def _too_long(rng: np.random.Generator, batch: int, max_len: int, over: int) -> Case:
    case = gpt_case(rng, LOGITS, batch, max_len + over, max_len=max_len)
    refused = say(
        "{count} tokens are more than max_len={max_len}", count=max_len + over, max_len=max_len
    )
    return replace(case, refused=refused)


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
        gpt_case(rng, SHORTER, 2, 5, num_layers=2),
        gpt_case(rng, SHORTER, 3, longest, num_layers=1, max_len=longest),
        # A text longer than the vocabulary, and than a token's vector.
        gpt_case(rng, LOGITS, 2, 14, vocab_size=7, d_model=8, num_heads=2),
        _too_long(rng, 2, longest + 1, 1),
        _too_long(rng, 1, 5, 3),
    ]
    asked_again(cases, cases[8])
    large = gpt_case(rng, SHORTER, 1, 30, num_layers=1, vocab_size=LARGE)
    cases += [gpt_case(rng, SHORTER, 1, 66, num_layers=1), _ascending(large)]
    return cases


# --- models of which it is known how far back they read --------------------------------------

# A layer adds up tokens that are some places back, each times a factor, by places: {0: 1.0, 4: 1.0}
# reads the token itself and the one four places before it.
Layer = dict[int, float]
# How far the logits move at most by a token that is heard faintly, and by one that is noise.
FAINT, FAINTER, NOISE = 3e-3, 8e-4, 5e-6
# To change each token of a text into each other one takes this many calls at most.
MOST_READ = 1_000
# A text of more tokens is not written out in the name of its case.
LONG_TEXT = 20


def _mixing(layers: list[Layer], length: int) -> np.ndarray:
    """(T, T): how much of each token the layers bring to each place, one after the other."""
    all_of_it = np.eye(length)
    for layer in layers:
        all_of_it = sum(part * np.eye(length, k=-far) for far, part in layer.items()) @ all_of_it
    return all_of_it


def _make_reader(name: str, case: Case, earlier: Mapping[str, Any]) -> Made:
    description = case.arguments[name]
    tokens, places, output = (
        torch.from_numpy(description[part]).to(case.device).double()
        for part in ("tokens", "places", "output")
    )
    mixing = torch.from_numpy(_mixing(description["layers"], len(places))).to(case.device)
    calls = 0

    def model(ids: Tensor) -> Tensor:
        nonlocal calls
        calls += 1
        if calls > MOST_READ:
            raise RuntimeError(
                f"model was called more than {MOST_READ:,} times: does the loop end?"
            )
        if not isinstance(ids, Tensor) or ids.ndim != 2 or ids.is_floating_point():
            raise TypeError(f"model takes ids (B, T), received {describe(ids)}")
        length = ids.shape[1]
        if not 0 < length <= len(places):
            raise ValueError(f"model takes 1 to {len(places)} tokens, received {length}")
        if ids.min() < 0 or ids.max() >= len(tokens):
            raise ValueError(f"model knows the ids 0 to {len(tokens) - 1}")
        window = ids[:, -description["newest"] :] if description["newest"] else ids
        read = window.shape[1]
        logits = mixing[:read, :read] @ (tokens[window] + places[:read]) @ output.T
        logits = torch.cat((logits.new_zeros(len(ids), length - read, len(output)), logits), dim=1)
        # Rounded, so that a row gives the same logits in a batch of any size.
        return logits.round(decimals=9).to(getattr(torch, case.dtype))

    return Made(model)


READER = Maker(_make_reader)


def known_context(arguments: Mapping[str, Any]) -> int:
    """Say how many tokens are used, from how the model is made: its layers' steps back add up."""
    description, length = arguments["model"], arguments["ids"].shape[1]
    heard = [
        [far for far, factor in layer.items() if factor == 1.0 or not description["noisy"]]
        for layer in description["layers"]
    ]
    room = min(length, description["newest"] or length)
    return max((sum(steps) + 1 for steps in product(*heard) if sum(steps) < room), default=0)


def context_case(
    rng: np.random.Generator,
    said: str,
    layers: list[Layer],
    length: int,
    dtype: str = "float32",
    *,
    newest: int = 0,
    special: bool = False,
    odd: int | None = None,
    size: int = 0,
    ordered: bool = True,
    scaled: float = 0.0,
    loud: bool = False,
    least: int = 0,
) -> Case:
    """Make a case of context_used.

    Args:
        rng: the source.
        said: of the model, in words.
        layers: what each adds up.
        length: T.
        dtype: of the logits.
        newest: the model cuts off all but so many tokens; 0 = none.
        special: whether all tokens but one look the same to the model, and neither that one nor
            its neighbours in the vocabulary are in the text.
        odd: that one token, from the end of the vocabulary below 0; None draws it.
        size: V; 0 = drawn.
        ordered: whether there are vectors of the places beside those of the tokens.
        scaled: how far the factors of the one layer that are not 1 may move a logit at most, for
            the factor 0.5; 0 = as they are.
        least: the smallest id of the text.
        loud: whether the places make the logits large, whatever the tokens are.

    Returns:
        the case. The likeliest token is likeliest by a margin that no faint token changes.
    """
    while True:
        size, d_model = size or int(rng.integers(8, 12)), 6
        arrays = {
            "tokens": normal(rng, (size, d_model), dtype),
            "places": ordered * (1 + 299 * loud) * normal(rng, (length + 2, d_model), dtype),
            "output": normal(rng, (size, d_model), dtype),
        }
        ids = rng.integers(least, size, size=(1, length))
        if special:
            one = int(rng.integers(2, size - 2)) if odd is None else odd % size
            arrays["tokens"][np.arange(size) != one] = arrays["tokens"][one - 1]
            far_from_it = [each for each in range(size) if abs(each - one) > 1]
            ids = rng.choice(far_from_it, size=(1, length))
        part = 1.0
        if scaled:
            moves = arrays["tokens"] @ arrays["output"].T
            part = 2.0 * scaled / float(np.ptp(moves, axis=0).max())
        description = {
            SAID: said,
            **arrays,
            "layers": [
                {far: each if each == 1.0 else part * each for far, each in layer.items()}
                for layer in layers
            ],
            "newest": newest,
            "noisy": scaled == NOISE,
        }
        arguments = {"model": description, "ids": ids.astype(np.int64)}
        text = f" = {ids[0].tolist()}" if length <= LONG_TEXT else ""
        name = ", ".join(described(arguments)) + f"{text}, {size} tokens, {dtype}"
        case = Case(name, arguments)
        top = np.sort(_make_reader("model", case, {}).value(torch.from_numpy(ids))[0, -1].numpy())
        if not scaled or top[-1] - top[-2] > 10 * FAINT:
            return case


def context_used_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of context_used."""
    one: Layer = {0: 1.0}
    two, three = {0: 1.0, 1: 1.0}, {0: 1.0, 1: 1.0, 2: 1.0}
    gap, far = {0: 1.0, 2: 1.0}, {0: 1.0, 4: 1.0}
    drawn = int(rng.integers(6, 9))
    everything: Layer = dict.fromkeys(range(drawn), 1.0)
    faint, noisy = {0: 1.0, 1: 1.0, 5: 0.5}, {**three, 3: 0.5, 4: 0.5, 6: 0.5}
    window = "layers that read 3 tokens"
    all_of_it = "a layer that reads all tokens so far"

    def case(said: str, layers: list[Layer], length: int, *dtype: str, **options: Any) -> Case:
        return context_case(rng, said, layers, length, *dtype, **options)

    cases = [
        case("a layer that reads its own token", [one], 4),
        case(all_of_it, [everything], drawn),
        case("a layer that reads 3 tokens", [three], drawn, ordered=False),
        case(f"2 {window}", [three] * 2, 8),
        case(f"3 {window}", [three] * 3, 9, "float64", ordered=False),
        case("3 layers that read 2 tokens", [two] * 3, drawn, "float64"),
        case("2 layers that read their token and the second before", [gap] * 2, 8),
        case("a layer that reads its token and the fourth before", [far], drawn),
        case(
            "two such layers: 2 tokens, and the token and the third before",
            [two, {0: 1.0, 3: 1.0}],
            8,
        ),
        case("a layer that reads the third token before only", [{3: 1.0}], drawn),
        case("a layer that reads no token of this text", [{drawn + 1: 1.0}], drawn),
        case(f"{all_of_it}, given the newest 4", [everything], drawn, newest=4),
        case(f"2 {window}, given the newest 4", [three] * 2, drawn, "float64", newest=4),
        case(
            "a layer that reads 3 tokens, and knows one token from the others",
            [three],
            drawn,
            special=True,
        ),
        case(
            f"{all_of_it}, and knows one token from the others",
            [everything],
            drawn,
            "float64",
            special=True,
        ),
        case(
            "a layer that reads 2 tokens, and faintly the fifth before",
            [faint],
            drawn,
            "float64",
            scaled=FAINT,
        ),
        case(
            "a layer that reads 3 tokens, and rounds a little with others",
            [noisy],
            8,
            "float64",
            scaled=NOISE,
        ),
        *(
            case(f"2 {window}, and know one token from the others", [three] * 2, 7, **options)
            for options in (
                {"special": True, "odd": 0},
                {"special": True, "odd": -1, "size": 24},
            )
        ),
        case(f"3 {window}", [three] * 3, 5),
        case("a layer that reads its own token", [one], 1),
    ]
    asked_again(cases, cases[4])
    cases += [
        case("a layer that reads 3 tokens", [three], 66, size=8),
        case("a layer that reads 2 tokens", [two], 3, size=LARGE, least=LARGE - 9),
        case(
            "a layer that reads 2 tokens, and faintly the fifth before; the logits are large",
            [faint],
            drawn,
            "float64",
            scaled=FAINTER,
            loud=True,
        ),
    ]
    return cases


# --- load_gpt2 -------------------------------------------------------------------------------


def _make_gpt(name: str, case: Case, earlier: Mapping[str, Any]) -> Made:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = GPT(GPTConfig(**case.arguments[name]["sizes"], dropout=0.0))
    dtype = getattr(torch, case.dtype)
    before = dict(model.to(dtype).named_parameters())

    def left() -> dict[str, Tensor]:
        after = dict(model.named_parameters())
        flags = {
            "tied": model.output_proj.weight is model.embedding.embedding.weight,
            "kept": all(after.get(part) is each for part, each in before.items()),
            "same dtype": all(each.dtype == dtype for each in before.values()),
        }
        return {**before, **{flag: torch.tensor(float(on)) for flag, on in flags.items()}}

    return Made(model, left=left)


def _make_file(name: str, case: Case, earlier: Mapping[str, Any]) -> Made:
    arrays = {part: each for part, each in case.arguments[name].items() if part != SAID}
    tensors = {part: torch.from_numpy(each.copy()) for part, each in arrays.items()}
    file, model = dict(tensors), earlier["model"]

    def left() -> dict[str, Tensor]:
        places = {each.untyped_storage().data_ptr() for each in tensors.values()}
        own = {each.untyped_storage().data_ptr() for each in model.parameters()}
        flags = {"apart": places.isdisjoint(own), "same names": file.keys() == tensors.keys()}
        return {**tensors, **{flag: torch.tensor(float(on)) for flag, on in flags.items()}}

    return Made(file, left=left)


GPT_MODEL, GPT2_FILE = Maker(_make_gpt), Maker(_make_file)


def load_case(
    rng: np.random.Generator,
    num_layers: int,
    d_model: int,
    d_ff: int,
    *dtypes: str,
    vocab_size: int = 11,
    max_len: int = 7,
    others: bool = False,
) -> Case:
    """Make a case of load_gpt2.

    Args:
        rng: the source.
        num_layers: N.
        d_model: D.
        d_ff: hidden features.
        dtypes: of the model and of the file, float32 if they are left out.
        vocab_size: V.
        max_len: rows of the positions.
        others: whether the file has tensors of unknown names.

    Returns:
        the case; the tensors of the file are in a random order.
    """
    own, theirs = dtypes or ("float32", "float32")
    shapes: dict[str, tuple[int, ...]] = {"wte.weight": (vocab_size, d_model)}
    shapes["wpe.weight"] = (max_len, d_model)
    parts: dict[str, tuple[int, ...]] = {"ln_f": (d_model,)}
    for n in range(num_layers):
        shapes[f"h.{n}.attn.bias"] = (1, 1, max_len, max_len)
        parts |= {f"h.{n}.ln_1": (d_model,), f"h.{n}.ln_2": (d_model,)}
        parts[f"h.{n}.attn.c_attn"] = (d_model, 3 * d_model)
        parts[f"h.{n}.attn.c_proj"] = (d_model, d_model)
        parts |= {f"h.{n}.mlp.c_fc": (d_model, d_ff), f"h.{n}.mlp.c_proj": (d_ff, d_model)}
    for part, shape in parts.items():
        shapes |= {f"{part}.weight": shape, f"{part}.bias": shape[-1:]}
    if others:
        shapes |= {"h.0.attn.masked_bias": (), "steps": (1,), "h.1.mlp.scale": (d_model,)}
    names = [str(name) for name in rng.permutation(list(shapes))]
    file: dict[str, Any] = {name: normal(rng, shapes[name], theirs) for name in names}
    for n in range(num_layers):
        file[f"h.{n}.attn.bias"] = np.tril(np.ones((1, 1, max_len, max_len), theirs))
    sizes = {"vocab_size": vocab_size, "d_model": d_model, "d_ff": d_ff, "max_len": max_len}
    said = ", ".join(f"{name}={size}" for name, size in sizes.items())
    sizes |= {"num_heads": 1, "num_layers": num_layers}
    arguments = {
        "model": {SAID: f"a GPT, num_layers={num_layers}, {said}, {own}", "sizes": sizes},
        "weights": {SAID: f"a file of {len(file)} tensors, {theirs}", **file},
    }
    return Case(", ".join(described(arguments)), arguments, precision=own)


def load_gpt2_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of load_gpt2: square matrices, other dtypes, tensors of no use, many layers."""
    half, double = ("float32", "float16"), ("float64", "float32")
    cases = [
        load_case(rng, 1, 6, 10),
        load_case(rng, 2, 4, 9, max_len=11, others=True),
        load_case(rng, 3, 6, 6, vocab_size=5),  # all but c_attn are square
        load_case(rng, 2, 5, 8, *half),
        load_case(rng, 2, 3, 7, *double, others=True),
        load_case(rng, 2, 9, 27, vocab_size=9, max_len=9),
        load_case(rng, 1, 1, 1, vocab_size=3, max_len=1),
        load_case(rng, 12, 2, 3),
        load_case(rng, 1, 4, 7, "float64", "float64"),
    ]
    asked_again(cases, cases[1])
    return cases


# --- largest_batch ---------------------------------------------------------------------------


def batch_size_case(
    texts: int, spare: int, sizes: tuple[int, int, int, int, int, int], more: int = 0
) -> Case:
    """Make a case of largest_batch.

    Args:
        texts: how many fit.
        spare: bytes that are left, or missing for one text more where below 0.
        sizes: V, D, H, d_ff, N and the tokens of a text.
        more: bytes added to the memory, to take away the weights' room where below 0.

    Returns:
        the case.
    """
    vocab_size, d_model, _, d_ff, num_layers, max_len = sizes
    layer = 4 * d_model * (d_model + 1) + 2 * d_model * d_ff + d_ff + d_model + 4 * d_model
    weights = (vocab_size + max_len) * d_model + num_layers * layer + 2 * d_model
    kept = 2 * num_layers * max_len * d_model
    memory = 2 * weights + 2 * kept * (texts + (spare < 0)) + spare + more
    names = ("vocab_size", "d_model", "num_heads", "d_ff", "num_layers", "max_len")
    return plain_case(**dict(zip(names, sizes, strict=True)), memory=max(1, memory))


def largest_batch_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of largest_batch: just enough, one byte too few, no room, and real models."""

    def sizes(longest: int = 6, layers: int = 4) -> tuple[int, int, int, int, int, int]:
        heads = int(rng.integers(2, 5))
        d_model = heads * int(rng.integers(2, 5))
        d_ff = int(rng.integers(5, 30)) + 4 * d_model
        other = int(rng.integers(1, layers + 1)), int(rng.integers(1, longest + 1))
        return int(rng.integers(30, 200)), d_model, heads, d_ff, *other

    def texts() -> int:
        return int(rng.integers(3, 40))

    cases = [
        *(batch_size_case(texts(), 0, sizes()) for _ in range(3)),
        *(batch_size_case(texts(), -1, sizes()) for _ in range(3)),
        *(batch_size_case(texts(), 0, sizes(1, 1)) for _ in range(2)),  # a text takes few bytes
        *(batch_size_case(texts(), -1, sizes(1, 1)) for _ in range(2)),
        batch_size_case(texts(), 1, sizes(2, 3)),
        batch_size_case(texts(), -77, (60, 8, 2, 37, 3, 2)),  # more than half a text is left
        batch_size_case(1, 0, sizes()),
        batch_size_case(0, -1, sizes()),
        batch_size_case(0, 0, sizes(), more=-1),  # the weights do not fit
        batch_size_case(0, 0, sizes(), more=-3000),
        batch_size_case(texts(), -1, (50_257, 768, 12, 3072, 12, 1024)),
        batch_size_case(texts(), 0, (50_257, 1600, 25, 6400, 48, 1024)),
        batch_size_case(0, 0, (50_257, 12_288, 96, 49_152, 96, 2048), more=-(10**11)),
    ]
    asked_again(cases, cases[2])
    return cases
