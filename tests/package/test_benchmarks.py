"""The benchmarks run on small sizes and write well-formed files; no time is judged here."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

import pytest
import torch

from benchmarks import cases, report
from benchmarks.__main__ import main
from benchmarks.timing import Ratio, compare


@pytest.fixture
def small_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same cases, on sizes that take milliseconds."""
    sizes = {
        "transformer": {"d_model": 16, "num_layers": 1, "vocab_size": 11, "batch": 2, "length": 6},
        "attention": {"batch": 1, "heads": 2, "length": 16},
    }
    for name, small in sizes.items():
        monkeypatch.setattr(cases, name, partial(getattr(cases, name), **small))


@pytest.mark.usefixtures("small_cases")
def test_writes_both_files(tmp_path: Path) -> None:
    threads = torch.get_num_threads()
    try:
        status = main(["--repetitions", "2", "--output", str(tmp_path)])
    finally:
        torch.set_num_threads(threads)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["RESULTS.md", "results.json"]
    data = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert data["conditions"]["threads"] == 1
    assert data["conditions"]["torch"] == torch.__version__
    assert {row["device"] for row in data["results"]} >= {"cpu"}
    for row in data["results"]:
        ratio = row["ratio"]
        assert 0 < ratio["lower"] <= ratio["median"] <= ratio["upper"]
        assert ratio["repetitions"] == 2
    assert status == (0 if all(row["met"] for row in data["results"]) else 1)
    table = (tmp_path / "RESULTS.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in table if line.startswith("|")]
    assert len(rows) == 2 + len(data["results"])
    assert {row.count("|") for row in rows} == {8}


def test_runs_by_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    clock = iter([0.0, 3.0, 10.0, 12.0, 20.0, 22.0, 30.0, 36.0])
    monkeypatch.setattr("time.process_time", lambda: next(clock))
    ratio = compare(
        lambda: calls.append("a"), lambda: calls.append("b"), torch.device("cpu"), repetitions=2
    )
    assert calls == ["a", "b", "a", "b", "b", "a"]
    assert (ratio.median, ratio.numerator_seconds, ratio.denominator_seconds) == (2.25, 4.5, 2.0)


@pytest.mark.parametrize(
    ("bound", "limit", "met"), [("<=", 2.0, True), ("<=", 1.9, False), (">=", 2.1, False)]
)
def test_the_median_is_judged(bound: str, limit: float, met: bool) -> None:
    ratio = Ratio(2.0, 1.0, 3.0, 2.0, 1.0, 3)
    row = cases.judged("a", "b", bound, limit, "cpu", ratio)
    assert (row.met, row.asked) == (met, f"{bound} {limit:g}")


def test_a_failing_write_leaves_the_old_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "RESULTS.md").write_text("old", encoding="utf-8")

    def disk_full(*args: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "replace", disk_full)
    with pytest.raises(OSError, match="No space left"):
        report.write([], tmp_path)
    assert (tmp_path / "RESULTS.md").read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize("repetitions", [1, 0])
def test_a_single_run_has_no_spread(repetitions: int, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--repetitions", str(repetitions)])
    assert f"--repetitions must be at least 2, got {repetitions}" in capsys.readouterr().err
