"""The times that two chapters show: all there, of a named machine, and never asserted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch

from transformer_ref.experiments import attention as one_core
from transformer_ref.experiments.results import load_results

ROOT = Path(__file__).resolve().parents[2]


def test_each_way_is_timed_at_each_length() -> None:
    timed = one_core.milliseconds(lengths=(8, 16), repeats=1)
    assert set(timed) == {"LSTM", "attention", "written out", "fused"}
    assert all(len(times) == 2 and min(times) > 0 for times in timed.values())


def test_two_ways_to_the_same_attention_are_compared() -> None:
    ways = one_core.ways(8)
    torch.testing.assert_close(ways["written out"]()[0], ways["fused"](), atol=1e-5, rtol=1e-5)


def test_the_committed_times_name_their_machine() -> None:
    results = load_results("one_core")
    assert results["lengths"] == list(one_core.LENGTHS)
    assert {"processor", "threads", "torch", "date"} <= set(results["conditions"])
    assert results["conditions"]["threads"] == 1
    assert all(len(times) == len(one_core.LENGTHS) for times in results["milliseconds"].values())


@pytest.mark.parametrize("chapter", ["closer/attention", "embeddings", "positions", "sequences"])
def test_no_cell_that_reads_a_clock_asserts_a_time(chapter: str) -> None:
    timed = r"microseconds\(|cpu_seconds\(|milliseconds|\bseconds\b|perf_counter|thread_time"
    pages = (ROOT / "book" / f"{chapter}.ipynb", ROOT / "book" / "closer" / f"{chapter}.ipynb")
    cells = [
        cell
        for page in pages
        if page == pages[0] or page.exists()
        for cell in json.loads(page.read_text(encoding="utf-8"))["cells"]
    ]
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and re.search(timed, source):
            assert not re.search(r"^\s*assert ", source, flags=re.MULTILINE), cell["id"]
