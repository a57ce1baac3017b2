"""Plain data: what crosses the border between a student's code and the judge, and its bytes.

Only numbers, strings, None, lists, tuples, dictionaries and numpy arrays pass.
Reading never runs code, as unpickling would.
"""

from __future__ import annotations

import json
from typing import Any, get_args, get_origin

import numpy as np

from transformer_checks.limits import STRUCTURE_BYTES
from transformer_checks.translation import later

MAX_ENTRIES = 200_000
MAX_DEPTH = 20
# Numbers can be chosen so that a dictionary or a set of n of them takes n * n steps. Python adds a
# secret to the hashes of text only. The largest right result has 500 entries that are not text.
MAX_NUMBERS = 20_000
MAX_NUMBERKEYS = 1_000

# JSON has no arrays of numbers, no tuples, and keys that are strings only.
_ARRAY, _TUPLE, _DICT = "__array__", "__tuple__", "__dict__"
_MARKS = {_ARRAY, _TUPLE, _DICT}
# In a path: not an entry of the dictionary, but one of its keys.
KEY = "{key}"


class NotPlainError(TypeError):
    """Something else than plain data is inside.

    Args:
        path: where, such as "[2]"; empty for the whole.
        value: what is there.
        why: in words, where it is not the type of the value.
    """

    def __init__(self, path: str, value: Any, why: str = "") -> None:
        super().__init__(why or f"no plain data: {type(value).__name__}")
        self.path = path
        self.value = value
        self.why = why


# --- bytes -----------------------------------------------------------------------------------


def encode(value: Any) -> bytes:
    """Write plain data as bytes.

    Args:
        value: any nesting of dict, list, tuple, str, int, float, bool, None and numpy arrays of
            numbers.

    Returns:
        bytes that :func:`decode` reads.

    Raises:
        TypeError: if something else is inside.
    """
    arrays: list[np.ndarray] = []

    def replace(item: Any) -> Any:
        if isinstance(item, np.ndarray):
            arrays.append(item)
            return {_ARRAY: len(arrays) - 1}
        if isinstance(item, dict):
            if _MARKS.isdisjoint(item) and all(isinstance(key, str) for key in item):
                return {key: replace(entry) for key, entry in item.items()}
            return {_DICT: [[replace(key), replace(entry)] for key, entry in item.items()]}
        if isinstance(item, tuple):
            return {_TUPLE: [replace(entry) for entry in item]}
        if isinstance(item, list):
            return [replace(entry) for entry in item]
        return item

    tree = replace(value)
    kinds = [[_number_type(array.dtype.str).str, array.shape] for array in arrays]
    header = json.dumps([kinds, tree]).encode()
    size = len(header).to_bytes(8, "big")
    return b"".join([size, header, *(array.tobytes() for array in arrays)])


def decode(data: bytes) -> Any:
    """Read what :func:`encode` wrote.

    Args:
        data: the bytes.

    Returns:
        the plain data.

    Raises:
        ValueError: if the bytes are damaged, or hold more than can be wanted.
    """
    try:
        place = 8 + int.from_bytes(data[:8], "big")
        if place > STRUCTURE_BYTES:
            raise ValueError(f"received {place} bytes besides numbers, at most {STRUCTURE_BYTES}")
        kinds, tree = json.loads(data[8:place])
        arrays = []
        for kind, shape in kinds:
            array = np.ndarray(shape, _number_type(kind), data, place)
            arrays.append(array.copy())  # may be written to, and lies as the processor wants it
            place += array.nbytes
        if place != len(data):
            raise ValueError(f"received {len(data)} bytes, expected {place}")
        return _Restorer(arrays).restore(tree)
    except Exception as error:
        raise ValueError(f"data is not what encode() writes: {error}") from error


def _number_type(name: str) -> np.dtype[Any]:
    """Return numpy's type of that name, if it is one of numbers."""
    kind = np.dtype(name)
    if kind.kind not in "biufc":
        raise TypeError(f"an array must hold numbers, received {kind}")
    return kind


class _Restorer:
    """Restores one value, and counts what is not text in it."""

    def __init__(self, arrays: list[np.ndarray]) -> None:
        self.arrays = arrays
        self.numbers = 0
        self.number_keys = 0

    def restore(self, item: Any) -> Any:
        if isinstance(item, str):
            return item
        self.numbers += 1
        if self.numbers > MAX_NUMBERS:
            raise ValueError(f"received more than {MAX_NUMBERS} entries that are not text")
        if isinstance(item, dict):
            if set(item) == {_ARRAY}:
                return self.arrays[item[_ARRAY]]
            if set(item) == {_TUPLE}:
                return tuple(self.restore(entry) for entry in item[_TUPLE])
            if set(item) == {_DICT}:
                return {self._key(key): self.restore(entry) for key, entry in item[_DICT]}
            return {key: self.restore(entry) for key, entry in item.items()}
        if isinstance(item, list):
            return [self.restore(entry) for entry in item]
        return item

    def _key(self, item: Any) -> Any:
        key = self.restore(item)
        self.number_keys += not _is_text(key)
        if self.number_keys > MAX_NUMBERKEYS:
            raise ValueError(f"received more than {MAX_NUMBERKEYS} keys that are not text")
        return key


def _is_text(key: Any) -> bool:
    """Say whether a key is a string or a tuple of strings, whose hashes nobody can choose."""
    return isinstance(key, str) or (
        isinstance(key, tuple) and all(isinstance(part, str) for part in key)
    )


# --- copies ----------------------------------------------------------------------------------


def copied(value: Any, form: Any = None) -> Any:
    """Copy plain data without arrays, and leave behind whatever pretends to be plain.

    Subclasses (a Counter, but also a list that compares equal to everything) become the type
    itself; none of their own methods runs. numpy's integers and floats become Python's.

    Args:
        value: what a student's code gave.
        form: the wanted type, such as list[str]; a tuple in the place of a list becomes a list.

    Returns:
        str, int, float, bool, None, lists, tuples and dictionaries.

    Raises:
        NotPlainError: if something else is inside, or more than can be wanted.
    """
    return _Copier().copy(value, form, "", 0)


class _Copier:
    """Copies one value, and counts the entries and characters that it holds."""

    def __init__(self) -> None:
        self.entries = 0
        self.numbers = 0
        self.number_keys = 0

    def copy(self, value: Any, form: Any, path: str, depth: int) -> Any:
        kind = type(value)  # isinstance would ask the value, which may lie
        self.numbers += not issubclass(kind, str)
        if self.numbers > MAX_NUMBERS:
            raise NotPlainError("", value, later("is far too large"))
        if kind is bool or value is None:
            return value
        self.entries += 1 + next(
            (base.__len__(value) for base in (str, list, tuple, dict) if issubclass(kind, base)), 0
        )
        if depth > MAX_DEPTH or self.entries > MAX_ENTRIES:
            deep = depth > MAX_DEPTH
            why = later("is nested too deeply") if deep else later("is far too large")
            raise NotPlainError("", value, why)
        if issubclass(kind, str):
            return str.__str__(value)
        if issubclass(kind, int):
            return int.__int__(value)
        if issubclass(kind, np.integer):
            return int(np.integer.__int__(value))
        if issubclass(kind, float | np.floating):
            return float.__float__(value) if issubclass(kind, float) else float(value)
        if issubclass(kind, list | tuple):
            return self._sequence(value, form, path, depth)
        if issubclass(kind, dict):
            return self._dictionary(value, form, path, depth)
        raise NotPlainError(path, value)

    def _sequence(self, value: Any, form: Any, path: str, depth: int) -> list[Any] | tuple[Any]:
        base = list if issubclass(type(value), list) else tuple
        inner = get_args(form) if get_origin(form) in (list, tuple) else ()
        entries = [
            self.copy(entry, _of_entry(inner, number), f"{path}[{number}]", depth + 1)
            for number, entry in enumerate(base.__iter__(value))
        ]
        return entries if base is list or get_origin(form) is list else tuple(entries)

    def _dictionary(self, value: Any, form: Any, path: str, depth: int) -> dict[Any, Any]:
        of_key, of_entry = get_args(form) if get_origin(form) is dict else (None, None)
        found = {}
        for key, entry in dict.items(value):
            name = self.copy(key, of_key, f"{path}{KEY}", depth + 1)
            self.number_keys += not _is_text(name)
            if self.number_keys > MAX_NUMBERKEYS:
                why = f"has more than {MAX_NUMBERKEYS} keys that are not text"
                raise NotPlainError("", value, why)
            found[name] = self.copy(entry, of_entry, f"{path}[{name!r}]", depth + 1)
        return found


def _of_entry(inner: tuple[Any, ...], number: int) -> Any:
    """Return the form of an entry: list[X] and tuple[X, ...] have one, tuple[X, Y] two."""
    if len(inner) == 1 or inner[1:] == (...,):
        return inner[0]
    return inner[number] if number < len(inner) else None


def misfit(value: Any, form: Any, path: str = "") -> tuple[str, Any, Any] | None:
    """Find where plain data has not the wanted form.

    Args:
        value: plain data, as from :func:`copied` or :func:`decode`.
        form: a type made of str, int, float, bool, list, tuple and dict, such as list[str].
        path: of the value, for the result.

    Returns:
        the path, what is there and the form that should be; None if all fits.
    """
    kind = get_origin(form) or form
    inner = get_args(form)
    if type(value) is not kind:
        return path, value, form
    if kind is dict:
        parts = [(key, inner[0], f"{path}{KEY}") for key in value]
        parts += [(entry, inner[1], f"{path}[{key!r}]") for key, entry in value.items()]
    elif kind in (list, tuple) and inner:
        if kind is tuple and inner[1:] != (...,) and len(value) != len(inner):
            return path, value, form
        parts = [
            (entry, _of_entry(inner, number), f"{path}[{number}]")
            for number, entry in enumerate(value)
        ]
    else:
        return None
    return next((found for part in parts if (found := misfit(*part))), None)


def written(form: Any) -> str:
    """Write a form as a stub does, e.g. "list[str]"."""
    return form.__name__ if isinstance(form, type) and not get_args(form) else str(form)
