"""Answers that violate one demand of a task and nothing else, made from the right answer.

A demand is a promise in the text of a task, such as "the dtype of the inputs". Each is listed in
``demands`` in tasks.toml, and an answer that breaks it must not get full marks.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_checks.task import ModuleTask, Task

# From the arguments, by position, and the right result to what a wrong answer returns.
Violation = Callable[[list[Any], Any], Any]
# What runs in the place of a right answer: it is given that answer and its arguments.
Call = Callable[..., Any]

LONG = 64  # a buffer that people make large enough for all that they can think of
LARGE = 256  # Python keeps one object for each int up to here, so `is` works by accident
FAR = 500.0  # beyond what normal numbers reach: exponentials overflow, low fills are too high


def tensors(value: Any) -> Iterator[Tensor]:
    """Go through the tensors in arguments or results."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from tensors(each)


def mapped(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Change each tensor in a result, those of a module too."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, nn.Module):
        return copy.deepcopy(value)._apply(change)
    if isinstance(value, list | tuple):
        return type(value)(mapped(each, change) for each in value)
    return value


def corrupted(value: Any) -> Any:
    """Return another value of the same form."""
    if isinstance(value, Tensor):
        return ~value if value.dtype == torch.bool else value + 1
    if isinstance(value, nn.Module):
        return mapped(value, corrupted)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value}x"
    if isinstance(value, tuple):
        return tuple(corrupted(each) for each in value)
    if isinstance(value, list):
        return [*value[:-1], corrupted(value[-1])] if value else [0]
    return {key: corrupted(each) for key, each in value.items()}


def float32_for(dtype: torch.dtype) -> Violation:
    """Return float32 for arguments of another dtype."""

    def violation(arguments: list[Any], result: Any) -> Any:
        if not any(each.dtype == dtype for each in tensors(arguments)):
            return result
        return mapped(result, lambda each: each.float() if each.is_floating_point() else each)

    return violation


def changes_arguments(arguments: list[Any], result: Any) -> Any:
    """Leave other values in tensors, modules, lists and dictionaries of the caller."""
    result = mapped(result, Tensor.clone)  # it may be a view of an argument
    for value in arguments:
        if isinstance(value, Tensor):
            with torch.no_grad():
                value.logical_not_() if value.dtype == torch.bool else value.add_(1)
        elif isinstance(value, nn.Module):
            adds_to_weights(value)
        elif isinstance(value, list):
            value.append(value[0] if value else 0)
        elif isinstance(value, dict):
            value["another"] = 1
    return result


def on_modules(change: Callable[[nn.Module], Any]) -> Violation:
    """Do something to each module that is given."""

    def violation(arguments: list[Any], result: Any) -> Any:
        for value in arguments:
            for module in value if isinstance(value, list) else [value]:
                if isinstance(module, nn.Module):
                    change(module)
        return result

    return violation


def leaves_hook(module: nn.Module) -> None:
    """Leave a hook that does nothing on all parts of a module."""
    for part in module.modules():
        part.register_forward_hook(lambda module, arguments, result: None)


def adds_to_weights(module: nn.Module) -> None:
    """Leave other weights in a module."""
    for parameter in module.parameters():
        parameter.data.add_(0.01)


def wrong_where(holds: Callable[[Any], bool]) -> Violation:
    """Return a wrong result if something holds for an argument."""

    def violation(arguments: list[Any], result: Any) -> Any:
        return corrupted(result) if any(map(holds, arguments)) else result

    return violation


def is_long(value: Any) -> bool:
    """Whether an argument is longer, along some axis, than a buffer may be."""
    if isinstance(value, nn.Embedding):
        return value.num_embeddings > LONG
    if isinstance(value, Tensor):
        return max(value.shape, default=0) > LONG
    if isinstance(value, list | tuple):
        inner = (each for each in value if isinstance(each, Tensor | list | tuple))
        return len(value) > LONG or any(map(is_long, inner))
    if isinstance(value, str | dict):
        return len(value) > LONG
    return type(value) is int and value > LONG


def is_large(value: Any) -> bool:
    """Whether an argument holds large integers."""
    if isinstance(value, Tensor):
        is_ids = value.dtype == torch.int64 and value.numel() > 0 and not value.is_meta
        return is_ids and int(value.max()) > LARGE
    if isinstance(value, list | tuple):
        return any(is_large(each) for each in value)
    if isinstance(value, dict):
        return any(is_large(each) for each in value.values())
    return type(value) is int and value > LARGE


def is_far(value: Any) -> bool:
    """Whether an argument holds numbers that are far from 0."""
    if not isinstance(value, Tensor) or not value.is_floating_point() or value.is_meta:
        return False
    return bool((value.detach().abs() > FAR).any())


def on_default_device(arguments: list[Any], result: Any) -> Any:
    """Make the result on the default device, wherever the arguments are."""
    default = torch.get_default_device()
    return mapped(
        result,
        lambda each: each if each.device == default else torch.zeros_like(each, device=default),
    )


def after(violation: Violation) -> Call:
    """Violate a demand once the right answer has done its work."""

    def call(plain: Callable[..., Any], *positional: Any, **named: Any) -> Any:
        return violation([*positional, *named.values()], plain(*positional, **named))

    return call


def with_dropout(plain: Any, *positional: Any, **named: Any) -> Any:
    """Drop a tenth of the result of a module in training mode."""
    training = plain.args[0].training
    return mapped(plain(*positional, **named), lambda each: F.dropout(each, 0.1, training))


def without_a_reason(plain: Callable[..., Any], *positional: Any, **named: Any) -> Any:
    """Refuse with a message that does not help."""
    try:
        return plain(*positional, **named)
    except ValueError:
        raise ValueError("this does not work") from None


# Each demand, and the ways to violate it; all of them must be noticed.
VIOLATIONS: dict[str, dict[str, Call]] = {
    "dtype": {
        "float32 for float64": after(float32_for(torch.float64)),
        "float32 for float16": after(float32_for(torch.float16)),
    },
    "unchanged": {"changes arguments": after(changes_arguments)},
    "gradients": {
        "detached": after(lambda arguments, result: mapped(result, Tensor.detach)),
    },
    "left alone": {
        "in mode of evaluation": after(on_modules(nn.Module.eval)),
        "in mode of training": after(on_modules(nn.Module.train)),
        "with a hook": after(on_modules(leaves_hook)),
        "with other weights": after(on_modules(adds_to_weights)),
    },
    "long": {"wrong beyond a buffer": after(wrong_where(is_long))},
    "large": {"wrong for large integers": after(wrong_where(is_large))},
    "far": {"wrong far from 0": after(wrong_where(is_far))},
    "device": {"on the default device": after(on_default_device)},
    "training": {"dropout in mode of training": with_dropout},
    "message": {"a message that does not help": without_a_reason},
}


def violating(task: Task, demand: str) -> dict[str, Callable[..., Any]]:
    """Make answers that violate a demand of a task and nothing else.

    Args:
        task: the task.
        demand: a key of VIOLATIONS.

    Returns:
        functions or classes, as the task asks for, by what they do.
    """
    return {name: _wrapped(task.reference, call) for name, call in VIOLATIONS[demand].items()}


def _wrapped(answer: Any, call: Call) -> Any:
    """Return the function, or a subclass with a `forward`, that runs `call(plain, *arguments)`."""
    if not isinstance(answer, type):

        @functools.wraps(answer)
        def function(*positional: Any, **named: Any) -> Any:
            return call(answer, *positional, **named)

        return function

    @functools.wraps(answer.forward)
    def forward(self: Any, *positional: Any, **named: Any) -> Any:
        return call(functools.partial(answer.forward, self), *positional, **named)

    return type(answer.__name__, (answer,), {"forward": forward})


def is_for(task: Task, demand: str) -> bool:
    """Whether a demand can be made of a task at all."""
    return demand != "training" or isinstance(task, ModuleTask)
