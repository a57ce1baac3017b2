"""See whether an answer calls what it should have written itself.

A call is caught however the name was imported: a Python function has its code object replaced for
the time of the run, and a torch operator passes the function and dispatch modes while the answer
computes. While a module is built there is nothing to compute from, and the modes would cost more
than all the rest.
To mention or import a name is fine.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

# The calls of the running answer; one answer runs at a time in a process.
_calls: list[str] = []
# What it may not call of what is written in C: a part of the operator's name, and the name to say.
_operators: dict[str, str] = {}

# Functions written in C, which are known by their names; torch's fused kernels have many names,
# which all contain one of these.
_IN_C = {
    "torch.nn.functional.one_hot": ("one_hot",),
    "torch.nn.functional.scaled_dot_product_attention": ("scaled_dot_product",),
    "torch.nn.functional.layer_norm": ("layer_norm",),
    "torch.nn.functional.group_norm": ("group_norm",),
    "torch.nn.RNN": ("rnn_tanh",),
    "torch.nn.MultiheadAttention": ("native_multi_head_attention",),
    "torch.nn.TransformerEncoderLayer": ("transformer_encoder_layer_fwd",),
}


class ForbiddenCallError(RuntimeError):
    """The answer called what the task asks it to write."""


def refuse(name: str) -> None:
    """Note a refused call and stop it.

    Args:
        name: dotted name of what was called.

    Raises:
        ForbiddenCallError: always.
    """
    _calls.append(name)
    raise ForbiddenCallError(f"{name} may not be called in this task")


class _FunctionMode(TorchFunctionMode):
    """Sees every call of torch's Python interface."""

    def __init__(self, names: dict[str, str]) -> None:
        super().__init__()
        self.names = names

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        _refuse_if_named(self.names, getattr(func, "__name__", ""))
        return func(*args, **(kwargs or {}))


class _DispatchMode(TorchDispatchMode):
    """Sees every operator that reaches the dispatcher, from scripted code too."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # True would import torch's compiler in each child, a second or more

    def __init__(self, names: dict[str, str]) -> None:
        super().__init__()
        self.names = names

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        _refuse_if_named(self.names, func.__name__)
        return func(*args, **(kwargs or {}))


def _refuse_if_named(names: dict[str, str], called: str) -> None:
    for part, name in names.items():
        if part in called:
            refuse(name)


@contextmanager
def watch(forbidden: tuple[str, ...]) -> Iterator[list[str]]:
    """Refuse calls of Python functions while the block runs; see :func:`watch_operators` too.

    Args:
        forbidden: dotted names of functions and classes.

    Yields:
        the list of refused calls, which an answer that swallows the error cannot empty by that.
    """
    _calls.clear()
    with ExitStack() as stack:
        for name in forbidden:
            for function in _python_functions(_resolve(name)):
                trap = _trap(name, function.__code__.co_freevars)
                stack.enter_context(_replaced(function, trap))
        stack.callback(_operators.clear)
        _operators.update({part: name for name in forbidden for part in _IN_C.get(name, ())})
        yield _calls


@contextmanager
def watch_operators() -> Iterator[None]:
    """Refuse calls of functions written in C while the block runs; outside of `watch` none is."""
    with ExitStack() as stack:
        if _operators:
            stack.enter_context(_FunctionMode(_operators))
            stack.enter_context(_DispatchMode(_operators))
        yield


def _python_functions(target: Any) -> list[FunctionType]:
    """Return the Python functions that run when `target` is called; none for a C function."""
    target = getattr(target, "__func__", target)  # that of a class method
    methods = ("__init__", "forward")
    found = [vars(target).get(each) for each in methods] if isinstance(target, type) else [target]
    return [each for each in found if isinstance(each, FunctionType)]


def _resolve(name: str) -> Any:
    """Find a function or class of a module, or a method of a class of it."""
    owner, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(owner), attribute)
    except ModuleNotFoundError:
        return getattr(_resolve(owner), attribute)


@lru_cache(maxsize=64)
def _trap(name: str, free: tuple[str, ...]) -> CodeType:
    """Return code that refuses; it closes over the same names as the code that it replaces."""
    source = "\n".join(
        [
            "def around():",
            *(f"    {each} = None" for each in free),
            "    def trap(*args, **kwargs):",
            f"        from {__name__} import refuse",
            f"        refuse({name!r})",
            *(f"        {each}" for each in free),
            "    return trap",
        ]
    )
    space: dict[str, Any] = {}
    exec(compile(source, "<forbidden call>", "exec"), space)
    code: CodeType = space["around"]().__code__
    return code


@contextmanager
def _replaced(function: FunctionType, code: CodeType) -> Iterator[None]:
    before = function.__code__
    function.__code__ = code
    try:
        yield
    finally:
        function.__code__ = before
