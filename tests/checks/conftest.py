"""What the tests of the checks share: untraced children, and a word about the sample."""

from __future__ import annotations

import os
import sys

import pytest

from tests.checks.exams import in_sample, run_here
from tools.draw_sample import sample
from transformer_checks import grading
from transformer_checks.registry import SLUGS, all_tasks
from transformer_checks.running.isolation import run_answer

# Answers run in forked children, which the judge kills. Traced, a child takes a tenth longer, and
# its lines count as missed all the same.
if hasattr(os, "fork"):
    os.register_at_fork(after_in_child=lambda: sys.settrace(None))


@pytest.fixture(autouse=True)
def _in_this_process(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run answers to an assignment's tasks here; test_hostile.py and others test isolation."""
    if request.path.stem.removeprefix("test_") in SLUGS:
        monkeypatch.setattr(grading, "run_answer", run_here)


@pytest.fixture
def own_process(_in_this_process: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each answer in a separate process, as for a student."""
    monkeypatch.setattr(grading, "run_answer", run_answer)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which tasks had their changed answers tried, and how to draw them again."""
    drawn = ", ".join(filter(in_sample, all_tasks()))
    terminalreporter.write_line(f"sample drawn by {sample()}: changed answers of {drawn}")
