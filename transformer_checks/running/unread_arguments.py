"""Find an argument that an answer never reads, where it reads a variable of the notebook instead.

The answer's code is looked at and not called.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any


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
