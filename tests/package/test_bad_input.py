"""Every argument of every public function: what it must refuse, and that nothing is forgotten."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
import sys
import types
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import transformer_ref
from tests.package import bad_input
from tests.package.bad_input import WITHOUT_A_CASE, Bad, Entry, ids
from tests.package.examples import small_model
from transformer_ref import (
    GPT,
    GPTConfig,
    TransformerConfig,
    beam_search,
    generate,
    greedy_decode,
    sample,
)

ENTRIES: dict[str, Entry] = {
    name: entry
    for table in vars(bad_input).values()
    if isinstance(table, dict)
    for name, entry in table.items()
    if isinstance(entry, Entry)
}
CASES = [
    pytest.param(name, argument, bad, id=f"{name}-{argument}-{index}")
    for name, entry in ENTRIES.items()
    for argument, values in entry.bad.items()
    for index, bad in enumerate(values)
]


def words_about(value: Any) -> list[str]:
    """What a message may say of a value that it refuses."""
    if not isinstance(value, Tensor):
        return [repr(value)]
    words = [str(tuple(value.shape)), str(value.dtype), str(value.device)]
    if value.dtype == torch.int64 and not value.is_meta and value.numel():
        words.append(f"from {value.min()} to {value.max()}")
    return words


@pytest.mark.parametrize(("name", "argument", "bad"), CASES)
def test_a_bad_argument_is_named(name: str, argument: str, bad: Any) -> None:
    entry = ENTRIES[name]
    if isinstance(bad, Bad):
        value, words = bad.value, [bad.words]
        called = argument if bad.name is None else bad.name
    else:
        value, words, called = bad, [f"got .. {word}" for word in words_about(bad)], argument
    with pytest.raises((ValueError, OSError)) as caught:
        entry.call(**{**entry.good, argument: value})
    message = str(caught.value)
    assert re.search(rf"\b{called}\b", message), message
    patterns = [".*".join(map(re.escape, said.split(" .. "))) for said in words]
    assert any(re.search(pattern, message, re.DOTALL) for pattern in patterns), message


@pytest.mark.parametrize("name", [name for name, entry in ENTRIES.items() if entry.runs])
def test_the_good_arguments_are_taken(name: str) -> None:
    ENTRIES[name].call(**ENTRIES[name].good)


# Values of these types are looked at; objects of a class, flags and functions are taken on trust.
LOOKED_AT = re.compile(
    r"\b(int|float|str|Tensor|Path|Sequence|Iterable|Mapping|tuple|Literal|Norm|Activation|Positions"
    r"|Split|Multi30kSplit|Task|Tokens|dtype)\b"
)


def public_arguments() -> Iterator[str]:
    """Name every argument of every public function, class and method that is looked at."""
    for found in pkgutil.walk_packages(transformer_ref.__path__, "transformer_ref."):
        path = found.name.removeprefix("transformer_ref.")
        if path.startswith("_") or path.partition(".")[0] in ("checks", "experiments"):
            continue  # the grader is made for bad input, and has tests of its own
        module = importlib.import_module(found.name)
        for name, member in vars(module).items():
            if name.startswith("_") or getattr(member, "__module__", None) != module.__name__:
                continue
            for qualified_name, function in functions_of(f"{path}.{name}", member):
                for argument in inspect.signature(function).parameters.values():
                    if LOOKED_AT.search(re.sub(r"Callable.*", "", str(argument.annotation))):
                        yield f"{qualified_name}.{argument.name}"


def functions_of(name: str, member: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The function itself, or the public methods that a class defines."""
    if inspect.isfunction(member):
        yield name, member
    elif inspect.isclass(member):
        for method_name, method in vars(member).items():
            function = getattr(method, "__func__", method)
            public = not method_name.startswith("_") or method_name == "__init__"
            if public and inspect.isfunction(function):
                yield f"{name}.{method_name}", function


def test_no_argument_is_forgotten() -> None:
    there = set(public_arguments())
    tried = {f"{name}.{argument}" for name, entry in ENTRIES.items() for argument in entry.bad}
    excused = {
        argument
        for argument in there
        if any(fnmatch(argument, pattern) for pattern in WITHOUT_A_CASE)
    }
    assert sorted(there - tried - excused) == []
    assert sorted(tried & excused) == []


@pytest.mark.parametrize("name", ENTRIES)
def test_the_names_are_those_of_the_package(name: str) -> None:
    assert callable(pkgutil.resolve_name(f"transformer_ref.{name}"))


def test_no_excuse_is_out_of_date() -> None:
    there = set(public_arguments())
    idle = [p for p in WITHOUT_A_CASE if not any(fnmatch(name, p) for name in there)]
    assert idle == []


# --- at the edge ------------------------------------------------------------------------------


def test_the_smallest_legal_sizes_are_taken() -> None:
    config = TransformerConfig(
        2, 2, d_model=2, num_heads=1, num_encoder_layers=1, num_decoder_layers=1, d_ff=1, max_len=1
    )
    assert small_model(**vars(config))(ids(1, 1), ids(1, 1)).shape == (1, 1, 2)


def test_ids_at_both_ends_of_the_vocabulary_are_taken() -> None:
    small_model()(torch.tensor([[0, 22]]), torch.tensor([[0, 18]]))


def test_a_batch_of_no_rows_gives_no_rows() -> None:
    model, gpt = small_model(), GPT(GPTConfig(19, 12, 3, 2, 20, 16))
    src = ids(0, 7)
    assert model(src, ids(0, 5)).shape == (0, 5, 19)
    assert gpt(ids(0, 5)).shape == (0, 5, 19)
    for max_len in (1, 8):
        assert len(greedy_decode(model, src, 1, 2, max_len)) == 0
        assert len(sample(model, src, 1, 2, max_len)) == 0
        found, scores = beam_search(model, src, 1, 2, 3, max_len, num_return=2)
        assert found.shape[:2] == scores.shape == (0, 2)
    assert len(generate(gpt, src, 3)) == 0


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_batch_left_on_the_cpu_is_named() -> None:
    with pytest.raises(ValueError, match="src must be on cuda:0 like the weights, got cpu"):
        small_model("cuda")(ids(2, 7), ids(2, 5))


@pytest.mark.parametrize("config", [TransformerConfig, GPTConfig])
def test_sizes_are_checked_where_annotations_are_postponed(config: type) -> None:
    """As they are once a file begins with ``from __future__ import annotations``."""
    source = Path(inspect.getfile(config)).read_text(encoding="utf-8")
    flags = annotations.compiler_flag
    module = types.ModuleType(f"{config.__module__}_postponed")
    sys.modules[module.__name__] = module
    try:
        exec(compile(source, config.__module__, "exec", flags), vars(module))
        postponed = getattr(module, config.__name__)
    finally:
        del sys.modules[module.__name__]
    sizes = [field.name for field in dataclasses.fields(config) if field.type is int]
    assert len(sizes) > 5
    good = {name: 4 for name in sizes if name.endswith("vocab_size")} | {"num_heads": 1}
    for name in sizes:
        if name != "pad_id":  # which may be 0
            with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1, got 0"):
                postponed(**(good | {name: 0}))
