"""What all tests share: `make test` does not even import a file that it runs nothing of."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ALL_WEEKLY = re.compile(r"^pytestmark = .*pytest\.mark\.weekly\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out a file whose tests are all marked weekly; to import some takes seconds."""
    if "not weekly" not in config.option.markexpr or not collection_path.name.startswith("test_"):
        return None
    return bool(ALL_WEEKLY.search(collection_path.read_text(encoding="utf-8"))) or None
