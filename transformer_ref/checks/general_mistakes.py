"""Mistakes that have a name in every task: they show in the fault itself, whatever the task is.

A task's own misconceptions are looked for first, as they say more.
"""

from __future__ import annotations

import dis
import re
from collections.abc import Iterator
from dataclasses import replace
from types import CodeType, FunctionType, ModuleType
from typing import Any

from transformer_ref.checks.shared_mistakes import DETACHED
from transformer_ref.checks.task import Misconception, Outcome

# What they are told by is searched in what is said of each failing case. A group that the pattern
# names, and `task`, the stub, may stand in the title and the hint.
GENERAL = (
    Misconception(
        "undefined-name",
        "`{name}` is not defined when your code is called",
        "No cell that was run defines it. Run the cell that does, or look at the spelling; the "
        "task's own names are those of `{task}`.",
        (),
        r"NameError: name '(?P<name>\w+)' is not defined",
    ),
    Misconception(
        "whole-tensor-as-condition",
        "`and`, `or`, `not` or `if` is asked of a whole tensor",
        "These words of Python want a single True or False. Entry by entry it is & for and, "
        "| for or, ~ for not, with brackets around each comparison, and torch.where for if.",
        (),
        r"Boolean value of Tensor with more than one value is ambiguous",
    ),
    Misconception(
        "number-for-a-tensor",
        "{what} of Python comes where a tensor is asked for",
        "A tensor keeps its device, its dtype and the path of the gradients. Look for .item(), "
        "float(), int(), len() or .tolist().",
        (),
        r"(?:expected one tensor|should be a tensor), received (?P<what>a float|an int|a bool)\b",
    ),
    Misconception(
        "one-number-of-many",
        "a tensor of many numbers is turned into a single one of Python",
        "Look for .item(), float() or int() of a tensor; go on computing with the tensor itself.",
        (),
        r"cannot be converted to Scalar|only one element tensors can be converted",
    ),
    Misconception(
        "numpy",
        "numpy is used where a tensor is asked for",
        "numpy knows no gradients and no devices, and detach() only hides that. torch has the same "
        "functions, mostly under the same names.",
        (),
        r"Can't call numpy\(\)|received an? (?:nd\w+|numpy\w*|float\d+|int\d+)\b",
    ),
    Misconception(
        "other-device",
        "the result, or a part of it, lies on another device than the inputs",
        "Look for .cpu(), and for a tensor that is made without `device=`; "
        "such as torch.arange(n, device=x.device) goes where x is.",
        (),
        r"expected it on \w+, received it on|tensors to be on the same device"
        r"|Cannot copy out of meta tensor",
    ),
    replace(
        DETACHED,
        title="no gradient flows back to {names}",
        error=r"no gradient reaches (?P<names>[^:]+):",
    ),
)


def find_general_mistake(stub: str, reasons: list[str]) -> Misconception | None:
    """Find the general mistake that shows in most of the failing cases.

    Args:
        stub: of the task.
        reasons: what is wrong with each, "" where it passes.

    Returns:
        the mistake, in words for this answer, or None if none shows in half of the failing cases.
    """
    failing = [reason for reason in reasons if reason]
    best: tuple[int, Misconception] | None = None
    for entry in GENERAL:
        found = [match for reason in failing if (match := re.search(entry.error, reason))]
        if 2 * len(found) >= len(failing) and (best is None or len(found) > best[0]):
            words = {"task": stub, **found[0].groupdict()}
            named = replace(
                entry, title=entry.title.format(**words), hint=entry.hint.format(**words)
            )
            best = (len(found), named)
    return best[1] if best else None


def find_global_for_argument(outcomes: list[Outcome], reasons: list[str]) -> Misconception | None:
    """Say that a variable of the notebook is used, where no case passes and an argument is idle.

    Args:
        outcomes: the answer's.
        reasons: what is wrong with each, "" where it passes.

    Returns:
        the mistake, or None.
    """
    if not all(reasons) or not outcomes or len(outcomes[0].instead) != 2:
        return None
    argument, variable = outcomes[0].instead
    return Misconception(
        "name-of-the-notebook",
        f"`{variable}` is a variable of the notebook, and the argument `{argument}` is never used",
        "The function is called with other inputs than those of the cell that you tried. Compute "
        "from the arguments alone.",
        (),
    )


def used_instead(answer: Any) -> list[str]:
    """Find an argument that an answer never reads, and data of the notebook that it reads.

    Args:
        answer: the function or class; it is looked at and not called.

    Returns:
        the names of the argument and the variable, or an empty list.
    """
    for function, skipped in _functions(answer):
        code = function.__code__
        own = code.co_varnames[skipped : code.co_argcount + code.co_kwonlyargcount]
        local, free = _names_read(code)
        idle = [name for name in own if name not in local]
        space = function.__globals__
        data = [name for name in free if name in space and _is_data(name, space[name])]
        if idle and data:
            return [idle[0], data[0]]
    return []


def _functions(answer: Any) -> list[tuple[FunctionType, int]]:
    """Return the functions of an answer, each with the number of arguments that are not asked."""
    if type(answer) is FunctionType:
        return [(answer, 0)]
    if not issubclass(type(answer), type):
        return []
    methods = [type.__getattribute__(answer, "__dict__").get(name) for name in _METHODS]
    return [(each, 1) for each in methods if type(each) is FunctionType]


_METHODS = ("forward", "__init__")


def _names_read(code: CodeType) -> tuple[set[str], list[str]]:
    """Return the local and the global names that code reads, with what is defined inside it."""
    local: set[str] = set()
    free: list[str] = []
    for instruction in _instructions(code):
        value = instruction.argval
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            free.append(value)
        elif "LOAD" in instruction.opname and instruction.opname not in _NO_READING:
            local.update([value] if isinstance(value, str) else _texts(value))
    return local, free


# A name that is set aside, and a cell that is handed on: neither is a look at what it holds.
_NO_READING = ("LOAD_FAST_AND_CLEAR", "LOAD_CLOSURE", "LOAD_ATTR", "LOAD_METHOD", "LOAD_CONST")


def _texts(value: Any) -> tuple[str, ...]:
    """Return the names of an instruction that reads two at once, as Python 3.13 has them."""
    names = isinstance(value, tuple) and all(isinstance(each, str) for each in value)
    return value if names else ()


def _instructions(code: CodeType) -> Iterator[dis.Instruction]:
    yield from dis.get_instructions(code)
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _instructions(each)


def _is_data(name: str, value: Any) -> bool:
    """Tell data from what code is made of; a constant has capital letters."""
    kind = type(value)
    return not (
        name.isupper()
        or name.startswith("__")
        or issubclass(kind, ModuleType | type)
        or callable(value)
    )
