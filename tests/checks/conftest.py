"""What the tests of the checks share: untraced children, and a word about the sample."""

from __future__ import annotations

import os
import sys

import pytest

from tests.checks.exams import in_sample
from tools.draw_sample import sample
from transformer_ref.checks.registry import all_tasks

# Answers run in forked children, which the judge kills. Traced, a child takes a tenth longer, and
# its lines count as missed all the same.
os.register_at_fork(after_in_child=lambda: sys.settrace(None))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which tasks had their changed answers tried, and how to draw them again."""
    drawn = ", ".join(filter(in_sample, all_tasks()))
    terminalreporter.write_line(f"sample drawn by {sample()}: changed answers of {drawn}")
