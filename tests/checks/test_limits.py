"""The limits on time stand in an order that cannot cost a right answer its points."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
import torch
from traitlets.config.loader import PyFileConfigLoader

from tools import notebooks
from transformer_checks import grade, limits
from transformer_checks.running import child_process, clean_process, isolation

ROOT = Path(__file__).parents[2]
SCORES = "attention.attention_scores"


def config():
    return PyFileConfigLoader("nbgrader_config.py", path=str(ROOT)).load_config()


def cell(*, graded):
    made = nbformat.v4.new_code_cell("...")
    made.metadata.nbgrader = {"grade": graded}
    return made


def right(query, key):
    return query @ key.mT / query.shape[-1] ** 0.5


@pytest.mark.parametrize("seconds", [1.0, 10.0, 120.0])
def test_whoever_waits_gives_time_to_all_that_it_waits_for(seconds):
    """Each limit against the parts of the work under it, put together here."""
    copy = sum(limits.READY_SECONDS) + seconds + limits.LIBRARY_SECONDS
    assert limits.copy_seconds(seconds) >= copy
    assert limits.worker_seconds(seconds) >= limits.WORKER_START_SECONDS + copy
    both = copy + limits.WORKER_START_SECONDS + copy
    assert limits.check_cell_seconds(seconds) >= both + limits.JUDGE_SECONDS


def test_a_cell_with_a_check_outlasts_the_check():
    wanted = limits.check_cell_seconds(limits.ANSWER_SECONDS)
    found = config().Execute
    assert found.timeout_func(cell(graded=True)) >= wanted
    assert found.timeout_func(cell(graded=False)) == limits.FREE_CELL_SECONDS
    assert found.timeout_func(nbformat.v4.new_code_cell("1 + 1")) == limits.FREE_CELL_SECONDS
    assert wanted <= notebooks.CELL_TIMEOUT


def test_more_time_for_an_answer_is_more_time_for_its_cell(monkeypatch):
    monkeypatch.setenv(limits.TIME_LIMIT_VARIABLE, "100")
    assert config().Execute.timeout_func(cell(graded=True)) >= limits.check_cell_seconds(100.0)


@pytest.mark.weekly
def test_the_slowest_way_to_a_result_is_within_the_limit(monkeypatch):
    """No copy is ever ready and no worker ever answers: how long is the check really busy?"""
    short = (0.2, 0.3)
    monkeypatch.setattr(limits, "READY_SECONDS", short)
    monkeypatch.setattr(child_process, "READY_SECONDS", short)
    monkeypatch.setattr(limits, "WORKER_START_SECONDS", 1.5)
    monkeypatch.setattr(child_process, "_prove_that_tensors_work", lambda: time.sleep(60))
    monkeypatch.setattr(clean_process, "_MAIN", "import time; time.sleep(60)")
    isolation._worker.stop()
    for with_cuda in (False, True):  # in another order then
        monkeypatch.setattr(torch.cuda, "is_available", lambda with_cuda=with_cuda: with_cuda)
        start = time.monotonic()
        result = grade(SCORES, right, seconds=0.5)
        spent = time.monotonic() - start
        assert "it cannot be run" in result.message
        assert 1.5 < spent < limits.check_cell_seconds(0.5) - limits.JUDGE_SECONDS + 1.0
    isolation._worker.stop()


def test_the_limits_are_read_without_torch():
    code = (
        "import sys; from transformer_checks import limits; "
        "from transformer_checks.classroom import roster; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
