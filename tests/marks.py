"""Marks that the tests of several folders use."""

from __future__ import annotations

from typing import Any

import pytest


def weekly(*values: Any) -> list[Any]:
    """Mark values of a parameter, or tuples of several, for `make test-all` only."""
    return [
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.weekly)
        for value in values
    ]
