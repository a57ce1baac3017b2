"""Every argument of every public function: what it must refuse, and that nothing is forgotten."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from typing import Any

import pytest
import torch
from torch import Tensor

import transformer_ref
from tests.package import bad_input
from tests.package.bad_input import WITHOUT_A_CASE, Bad, Entry

pytestmark = pytest.mark.weekly

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
