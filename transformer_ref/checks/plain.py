"""Plain data as bytes: what crosses the border between a student's code and the judge.

Only numbers, strings, lists, dictionaries and numpy arrays pass.
Reading never runs code, as unpickling would.
"""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np

_ARRAY = "__array__"


def encode(value: Any) -> bytes:
    """Write plain data as bytes.

    Args:
        value: any nesting of dict (str keys), list, tuple, str, int, float, bool, None and
            numpy arrays of numbers.

    Returns:
        bytes that :func:`decode` reads; tuples come back as lists.

    Raises:
        TypeError: if something else is inside.
    """
    arrays: list[np.ndarray] = []

    def replace(item: Any) -> Any:
        if isinstance(item, np.ndarray):
            arrays.append(item)
            return {_ARRAY: len(arrays) - 1}
        if isinstance(item, dict):
            return {key: replace(entry) for key, entry in item.items()}
        if isinstance(item, list | tuple):
            return [replace(entry) for entry in item]
        return item

    header = json.dumps(replace(value)).encode()
    stream = io.BytesIO()
    stream.write(len(header).to_bytes(8, "big") + header)
    for array in arrays:
        np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def decode(data: bytes) -> Any:
    """Read what :func:`encode` wrote.

    Args:
        data: the bytes.

    Returns:
        the plain data.

    Raises:
        ValueError: if the bytes are damaged.
    """
    try:
        stream = io.BytesIO(data)
        tree = json.loads(stream.read(int.from_bytes(stream.read(8), "big")))
        arrays = []
        while stream.tell() < len(data):
            arrays.append(np.load(stream, allow_pickle=False))
        return _restore(tree, arrays)
    except Exception as error:
        raise ValueError(f"data is not what encode() writes: {error}") from error


def _restore(item: Any, arrays: list[np.ndarray]) -> Any:
    if isinstance(item, dict):
        if set(item) == {_ARRAY}:
            return arrays[item[_ARRAY]]
        return {key: _restore(entry, arrays) for key, entry in item.items()}
    if isinstance(item, list):
        return [_restore(entry, arrays) for entry in item]
    return item
