"""Makes the cases of the assignment "tuning"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from transformer_checks.assignments import made_arguments
from transformer_checks.assignments.shared_cases import (
    asked_again,
    described,
    different_sizes,
    followed,
    normal,
)
from transformer_checks.running.asking import ReturnedError, type_and_size
from transformer_checks.task import Arrays, Case, Made, Maker
from transformer_checks.translation import later

FLOAT16, FLOAT32, FLOAT64 = "float16", "float32", "float64"
# The rewards of a group are equal, or their standard deviation is at least this.
LEAST_SPREAD = 0.01
# Longer and with larger ids than what a fixed buffer, or `is` in place of ==, can do.
LONG, MANY = 70, 300
PADDING_COUNTS = (
    "the result changes with what is at the places that belong to no answer: they should not count"
)
SHOWN = 10


def _case(
    arguments: dict[str, Any], dtype: str, note: str = "", layout: str = "contiguous"
) -> Case:
    """Make a case that is named by its arguments; small integers are written out."""
    said = [
        f"{name} = {value.tolist()}"
        if isinstance(value, np.ndarray) and value.dtype.kind == "i" and value.size <= SHOWN
        else described({name: value})[0]
        for name, value in arguments.items()
    ]
    notes = [dtype, note, "" if layout == "contiguous" else "strided"]
    return Case(", ".join([*said, *(each for each in notes if each)]), arguments, layout=layout)


def _asked_for_gradients(case: Case, rng: np.random.Generator) -> Case:
    cotangent = np.array(rng.uniform(0.5, 2.0), dtype=case.dtype)
    return replace(case, name=f"{case.name}, gradients", cotangent=cotangent)


def _answers(rng: np.random.Generator, rows: int, length: int, full: bool = False) -> np.ndarray:
    """(rows, length): where answers are, behind a prompt and before padding, of other lengths."""
    if full:
        return np.ones((rows, length), dtype=bool)
    places = np.arange(length)
    begin = rng.integers(0, max(1, length // 2), size=(rows, 1))
    counts = rng.permutation(np.linspace(1, length - length // 2, rows).astype(int))[:, None]
    inside: np.ndarray = (places >= begin) & (places < begin + counts)
    return inside


# --- answer_loss -----------------------------------------------------------------------------


def _loss_case(
    rng: np.random.Generator,
    dtype: str = FLOAT32,
    note: str = "",
    *,
    batch: int = 0,
    length: int = 0,
    vocab_size: int = 0,
    pad_id: int = 0,
    prompt: int = 0,
    loud: float = 1.0,
    shortest: float = 0.0,
    layout: str = "contiguous",
) -> Case:
    """Make a case of answer_loss.

    A size of 0 is drawn, `prompt` fixes that of all prompts, and `shortest` is the share of the
    room behind its prompt that the shortest answer takes: with 0, one row has no answer.
    """
    drawn = different_sizes(rng, 3, 9, 3)
    batch, length = batch or min(drawn[0], 6), length or drawn[1] + 2
    vocab_size = vocab_size or drawn[2] + 5
    ids = rng.integers(0, vocab_size - 1, size=(batch, length + 1))
    ids += ids >= pad_id
    prompts = rng.integers(1, max(2, length - 1), size=batch)
    if prompt:
        prompts[:] = prompt
    shares = np.linspace(shortest, 1, batch)  # of the room, for the answers
    ends = rng.permutation(shares)
    for row, start, share in zip(ids, prompts, ends, strict=True):
        row[start + int(np.ceil(share * (length + 1 - start))) :] = pad_id
    if batch == 1:
        ids[0, int(prompts[0])] = (pad_id + 1) % vocab_size
    logits = loud * normal(rng, (batch, length, vocab_size), FLOAT64)
    arguments = {
        "logits": logits.astype(dtype),
        "ids": ids.astype(np.int64),
        "prompt_lengths": prompts.astype(np.int64),
        "pad_id": pad_id,
    }
    return _case(arguments, dtype, note, layout)


def answer_loss_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of answer_loss: short and long prompts, padding of any id, a row without an answer."""
    cases = [
        _loss_case(rng, batch=2, length=4, vocab_size=5, prompt=1, shortest=0.25),
        _loss_case(rng),
        _loss_case(rng, pad_id=3),
        _loss_case(rng, FLOAT64, pad_id=1),
        _loss_case(rng, FLOAT64, "prompts of one token", prompt=1),
        _loss_case(rng, batch=1, note="one row"),
        _loss_case(rng, layout="strided"),
        _loss_case(rng, length=6, vocab_size=6, note="T = V"),
        _loss_case(rng, loud=200.0, note="logits of several hundred"),
        _loss_case(rng, batch=3, length=LONG, vocab_size=MANY, pad_id=280, note="long"),
        _loss_case(rng, FLOAT16),
    ]
    base = cases[2]
    logits, ids = base.arguments["logits"], base.arguments["ids"]
    unread = np.arange(1, ids.shape[1]) < base.arguments["prompt_lengths"][:, None]
    unread = (unread | (ids[:, 1:] == 3))[..., None]
    other = np.where(unread, normal(rng, logits.shape, FLOAT32), logits)
    followed(cases, base, {"logits": other}, "other logits for prompt and padding", PADDING_COUNTS)
    asked_again(cases, cases[1])
    for asked in (_loss_case(rng), _loss_case(rng, FLOAT64, pad_id=4)):
        cases.append(_asked_for_gradients(asked, rng))
    return cases


# --- LoRALinear ------------------------------------------------------------------------------


class _Linear(nn.Linear):
    """A linear layer that is as large as the arrays are."""

    def __init__(self, weights: Arrays) -> None:
        out_features, in_features = weights["weight"].shape
        super().__init__(in_features, out_features, bias="bias" in weights)


def _make_linear(name: str, case: Case, earlier: Mapping[str, Any]) -> Made:
    made = made_arguments.model_maker(_Linear).make(name, case, earlier).value
    plain = nn.Linear(made.in_features, made.out_features, bias=made.bias is not None)
    for part, parameter in made.named_parameters():
        getattr(plain, part).data = parameter.data
    kept = dict(plain.named_parameters())
    return Made(plain, left=lambda: {part: each.detach() for part, each in kept.items()})


LINEAR = Maker(_make_linear)


def two_ways(layer: Any) -> tuple[Tensor, ...]:
    """Ask a LoRALinear for the same input at the start, with other A and B, and merged.

    Args:
        layer: what an answer returned.

    Returns:
        the sizes of A and B, and four outputs (2, 3, out): at the start, with other numbers in A
        and B, of the merged layer, and of the layer after it was merged. A layer of rank 1 is not
        merged, so that an answer whose merge() is wrong still has cases that it passes.

    Raises:
        ReturnedError: if a part is missing or starts with the wrong numbers.
    """
    if not isinstance(layer, nn.Module):
        said = later("expected an nn.Module, received {what}")
        raise ReturnedError(said, **type_and_size(layer))
    parameters = dict(layer.named_parameters())
    for name in ("A", "B"):
        if name not in parameters and hasattr(layer, name):
            said = later("`{name}` should be an nn.Parameter, received {what}")
            raise ReturnedError(said, name=name, **type_and_size(getattr(layer, name)))
        if name not in parameters or parameters[name].ndim != 2:
            said = later("expected a parameter `{name}` with two axes in the layer")
            raise ReturnedError(said, name=name)
    a, b = parameters["A"], parameters["B"]
    if a.shape[0] != b.shape[1]:
        said = later("`A` should be (rank, in) and `B` (out, rank), received {received}")
        raise ReturnedError(said, received=f"{tuple(a.shape)}, {tuple(b.shape)}")
    _require_start(a, b, {name for name, each in parameters.items() if each.requires_grad})
    noise = torch.Generator().manual_seed(1)

    def drawn(*shape: int) -> Tensor:
        return torch.randn(shape, generator=noise).to(a)

    x = drawn(2, 3, a.shape[1])
    with torch.no_grad():
        a.copy_(drawn(*a.shape))
        start = layer(x)
        b.copy_(drawn(*b.shape))
        output = layer(x)
        sizes = torch.tensor([*a.shape, *b.shape])
        if len(a) == 1:
            return sizes, start, output, output, layer(x)
        merged = layer.merge()  # type: ignore[operator]
        if not isinstance(merged, nn.Linear):
            said = later("merge() should return an nn.Linear, received {what}")
            raise ReturnedError(said, **type_and_size(merged))
        wanted, received = (len(b), a.shape[1]), tuple(merged.weight.shape)
        if received != wanted:
            said = later("the merged layer's weight should be {expected}, received {received}")
            raise ReturnedError(said, expected=str(wanted), received=str(received))
        return sizes, start, output, merged(x), layer(x)


def _require_start(a: Tensor, b: Tensor, trained: set[str]) -> None:
    """Refuse a layer that starts with wrong numbers in A and B, or trains something else."""
    if not {"A", "B"} <= trained:
        raise ReturnedError(
            later("training should change `A` and `B`, and one of them needs no gradient")
        )
    if others := trained - {"A", "B"}:
        said = later("training should change only `A` and `B`, and it changes `{name}`")
        raise ReturnedError(said, name=min(others))
    if b.any() and a.any():
        raise ReturnedError(later("`B` should be zero at the start"))
    if b.any():
        raise ReturnedError(later("`B` should be zero at the start, and not `A`"))
    if not a.any():
        raise ReturnedError(later("`A` and `B` are both zero at the start"))


def lora_linear_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of LoRALinear: with a bias and without, thin and wide, of one rank and many."""

    def case(
        dtype: str = FLOAT32, bias: bool = True, rank: int = 0, alpha: float = 0, **fixed: int
    ) -> Case:
        wide, high, drawn = different_sizes(rng, 4, 12, 3)
        wide, high = fixed.get("wide", wide), fixed.get("high", high)
        weights = {"weight": normal(rng, (high, wide), dtype)}
        if bias:
            weights["bias"] = normal(rng, (high,), dtype)
        kind = f"Linear({wide}, {high}{'' if bias else ', bias=False'})"
        arguments = {
            "linear": made_arguments.model(kind, weights),
            "rank": rank or min(drawn, 5),
            "alpha": alpha or float(rng.integers(1, 40)) / 2,
        }
        return _case(arguments, dtype)

    cases = [
        *(case(wide=3, high=2, rank=1), case(), case(FLOAT64), case(bias=False)),
        *(case(rank=1), case(FLOAT64, bias=False), case(rank=4, wide=7, high=7), case(rank=3)),
        # A long sum of large terms would leave too few digits of a small result.
        case(rank=2, wide=LONG + 10, high=5, alpha=1.0),
        *(case(rank=2, wide=6, high=MANY), case(rank=LONG)),
        case(FLOAT16, rank=2),
    ]
    asked_again(cases, cases[1])
    return cases


# --- dpo_loss --------------------------------------------------------------------------------


def _pair_case(
    rng: np.random.Generator,
    dtype: str = FLOAT32,
    note: str = "",
    *,
    loud: float = 1.0,
    layout: str = "contiguous",
    full: bool = False,
    **fixed: int,
) -> Case:
    """Make a case of dpo_loss; the model has moved from the start by about a half of each logit."""
    sizes = different_sizes(rng, 3, 9, 3)
    batch, length = fixed.get("batch", min(sizes[0], 5)), fixed.get("length", sizes[1] + 1)
    vocab_size = fixed.get("vocab_size", sizes[2] + 4)
    shape = (2, batch, length, vocab_size)
    start = loud * normal(rng, shape, FLOAT64)
    now = start + 0.7 * loud * normal(rng, shape, FLOAT64)
    labels = rng.integers(0, vocab_size, size=shape[:-1])
    beta = float(rng.integers(2, 20)) / 10
    if loud > 1:  # in the first pair the better answer has become nearly impossible
        now[1, 0] = start[1, 0]
        now[0, 0, np.arange(length), labels[0, 0]] -= 3 * loud
        beta += 1
    arguments = {
        "logits": now.clip(-1000, 1000).astype(dtype),
        "start_logits": start.clip(-1000, 1000).astype(dtype),
        "labels": labels,
        "answer": _answers(rng, 2 * batch, length, full).reshape(shape[:-1]),
        "beta": beta,
    }
    return _case(arguments, dtype, note, layout)


def dpo_loss_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of dpo_loss: one pair and many, answers of all lengths, margins of hundreds."""
    cases = [
        _pair_case(rng, batch=1, length=2, vocab_size=3, note="one pair", full=True),
        *(_pair_case(rng), _pair_case(rng, FLOAT64), _pair_case(rng, batch=2, length=2)),
        *(_pair_case(rng, layout="strided"), _pair_case(rng, FLOAT64, full=True)),
        *(_pair_case(rng, loud=200.0, batch=4), _pair_case(rng, FLOAT64, loud=200.0, batch=4)),
        _pair_case(rng, batch=3, length=LONG, vocab_size=MANY, note="long"),
        _pair_case(rng, FLOAT16, length=4),
    ]
    base = cases[1]
    others = ~base.arguments["answer"]
    moved = normal(rng, base.arguments["logits"].shape, FLOAT32) * others[..., None]
    changed = {
        "logits": base.arguments["logits"] + moved,
        "labels": np.where(others, 0, base.arguments["labels"]),
    }
    followed(cases, base, changed, "other logits and labels elsewhere", PADDING_COUNTS)
    asked_again(cases, cases[2])
    for asked in (_pair_case(rng), _pair_case(rng, FLOAT64), _pair_case(rng, loud=150.0)):
        cases.append(_asked_for_gradients(asked, rng))
    return cases


# --- group_advantages ------------------------------------------------------------------------


def group_advantages_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of group_advantages: right or wrong, shares, near to each other, and all equal."""

    def case(rewards: np.ndarray, dtype: str = FLOAT32, note: str = "") -> Case:
        return _case({"rewards": rewards.astype(dtype)}, dtype, note)

    def right_or_wrong(*shape: int) -> np.ndarray:
        rewards: np.ndarray = rng.random(shape) < 0.5
        rewards[:, 0] = ~rewards[:, 1]
        return rewards

    def shares(*shape: int) -> np.ndarray:
        rewards = rng.uniform(0, 1, shape)
        rewards[:, 0], rewards[:, -1] = rng.uniform(0, 0.2), rng.uniform(0.8, 1)
        return rewards

    batch, size, more = different_sizes(rng, 3, 8, 3)
    equal = shares(4, int(rng.integers(7, 10)))
    # The mean of seven to nine times 0.1 misses 0.1 by rounding, that of as many ones is 1.
    equal[0], equal[1], equal[3] = 0.1, 1.0, 0.7
    near = 0.7 + LEAST_SPREAD * np.array([[-2.0, 2.0, 0.5, -0.5], [1.1, -1.1, 1.1, -1.1]])
    cases = [
        case(np.array([[1.0, 0.0, 0.0, 0.0]])),
        case(right_or_wrong(batch, size), note="right or wrong"),
        case(shares(batch, size)),
        case(shares(size, more), FLOAT64),
        case(shares(size, size), FLOAT64, "as many questions as answers"),
        case(shares(batch, 2), note="two answers"),
        case(equal, note="some groups all equal"),
        case(np.repeat(rng.uniform(0, 1, (5, 1)), 7, axis=1), note="all groups all equal"),
        case(np.full((3, 3), 0.1), FLOAT64, note="all rewards 0.1"),
        case(near, note="rewards close to each other"),
        case(shares(2, LONG), note="many answers"),
        case(right_or_wrong(LONG, 3), FLOAT64, note="many questions"),
        case(shares(3, 5), FLOAT16),
    ]
    asked_again(cases, cases[2])
    return cases


# --- kl_penalty ------------------------------------------------------------------------------


def _log_probs(rng: np.random.Generator, *shape: int) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities of tokens at the start, and of a model that has moved from there."""
    start = -rng.uniform(0.3, 3.0, shape)
    return start, np.minimum(start + 0.8 * rng.standard_normal(shape), -0.01)


def kl_penalty_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of kl_penalty: more and less likely than at the start, and padding of any number."""

    def case(dtype: str = FLOAT32, note: str = "", full: bool = False, **fixed: int) -> Case:
        batch, length = different_sizes(rng, 3, 9, 2)
        batch, length = fixed.get("batch", batch), fixed.get("length", length + 1)
        start, now = _log_probs(rng, batch, length)
        answer = _answers(rng, batch, length, full)
        arguments = {
            "log_probs": now.astype(dtype),
            "start_log_probs": start.astype(dtype),
            "answer": answer,
        }
        return _case(arguments, dtype, note)

    def far(case: Case) -> Case:
        """Make the tokens that do not count nearly impossible under one of the models."""
        elsewhere = ~case.arguments["answer"]
        sides = rng.random(elsewhere.shape) < 0.5
        changed = {
            name: np.where(elsewhere & side, -900.0, case.arguments[name]).astype(case.dtype)
            for name, side in (("log_probs", sides), ("start_log_probs", ~sides))
        }
        return _case({**case.arguments, **changed}, case.dtype, "padding of -900")

    cases = [
        *(case(batch=1, length=2, full=True), case(), case(FLOAT64), case(full=True)),
        *(case(FLOAT64, full=True), case(batch=1), case(batch=4, length=4), far(case())),
        *(far(case(FLOAT64)), case(length=LONG, note="long"), case(FLOAT16)),
    ]
    same = case()
    still = {**same.arguments, "start_log_probs": same.arguments["log_probs"].copy()}
    cases.append(_case(still, FLOAT32, "a model that has not moved"))
    base = cases[1]
    other = np.where(base.arguments["answer"], base.arguments["log_probs"], -1.5)
    changed = {"log_probs": other.astype(FLOAT32)}
    followed(cases, base, changed, "other numbers at the padding", PADDING_COUNTS)
    asked_again(cases, cases[2])
    strided = case(FLOAT64)
    strided = _case(strided.arguments, FLOAT64, layout="strided")
    cases += [_asked_for_gradients(asked, rng) for asked in (case(), strided, far(case()))]
    return cases


# --- best_of_n -------------------------------------------------------------------------------


def best_of_n_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of best_of_n: a proxy that agrees with what is wanted, and some that can be fooled."""

    def case(kind: str, n: int, size: int = 0, dtype: str = FLOAT32) -> Case:
        size = size or int(rng.integers(4, 10))
        proxy = np.arange(size) + rng.uniform(0, 0.5, size)  # rising, no two alike
        true = proxy + rng.normal(0, 2, size)
        if kind == "fooled":
            true[-1] = -float(size)  # the answer with the highest proxy reward is useless
        if kind == "against":
            true = -proxy
        order = rng.permutation(size)
        arguments = {"proxy": proxy[order].astype(dtype), "true": true[order].astype(dtype), "n": n}
        return _case(arguments, dtype, kind)

    by_hand = {"proxy": np.array([2.0, 4.0, 1.0, 3.0]), "true": np.array([4.0, 2.0, 0.0, 10.0])}
    cases = [
        _case({**by_hand, "n": 2}, FLOAT64, "by hand"),
        *(case("honest", 1), case("honest", 2), case("fooled", 3), case("fooled", 5)),
        *(case("fooled", 2, 9), case("honest", 4, dtype=FLOAT64), case("against", 3)),
        *(case("fooled", 20), case("honest", 300), case("honest", 3, 1), case("fooled", 10, 3)),
        *(case("honest", 6, LONG), case("fooled", LONG, LONG + 20)),
    ]
    asked_again(cases, cases[3])
    return cases


# --- find_the_bug ----------------------------------------------------------------------------


def find_the_bug_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of policy_loss: right or wrong, shares, one question and many, all with gradients."""

    def case(
        dtype: str = FLOAT32, note: str = "", layout: str = "contiguous", **fixed: int
    ) -> Case:
        batch, size, length = different_sizes(rng, 2, 7, 3)
        batch, size = fixed.get("batch", batch), fixed.get("size", size)
        length = fixed.get("length", length + 1)
        start, now = _log_probs(rng, batch, size, length)
        rewards = np.round(rng.uniform(0, 1, (batch, size)), 2)
        if note == "equal rewards":
            rewards[:] = 1.0
        arguments = {
            "log_probs": now.astype(dtype),
            "start_log_probs": start.astype(dtype),
            "rewards": rewards.astype(dtype),
            "answer": _answers(rng, batch * size, length).reshape(now.shape),
            "beta": float(rng.integers(4, 20)) / 10,
        }
        return _asked_for_gradients(_case(arguments, dtype, note, layout), rng)

    cases = [
        *(case(batch=1, size=2, length=1), case(), case(FLOAT64), case(batch=1, size=4)),
        *(case(size=2), case(FLOAT64, layout="strided"), case(batch=3, size=3, length=3)),
        *(case(FLOAT64), case(), case(note="equal rewards")),
        *(case(length=LONG, note="long"), case(FLOAT16, batch=1, size=2, length=3)),
    ]
    base = cases[1]
    other = np.where(base.arguments["answer"], base.arguments["log_probs"], -2.0)
    changed = {"log_probs": other.astype(FLOAT32)}
    followed(cases, base, changed, "other numbers at the padding", PADDING_COUNTS)
    asked_again(cases, cases[2])
    return cases
