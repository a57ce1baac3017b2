"""`make notebooks-elsewhere` runs notebooks as on two other processors, and sees what differs."""

from __future__ import annotations

import platform
from pathlib import Path

import nbformat
import pytest

from tools import elsewhere
from tools.run_tests import PASSED, Outcome, Stage

pytestmark = pytest.mark.weekly

X86 = pytest.mark.skipif(
    platform.machine().lower() not in {"x86_64", "amd64"},
    reason="the settings choose among the instructions of x86 processors",
)


def notebook(folder: Path, source: str, output: str) -> Path:
    """Write a notebook of one cell that was run and printed `output`."""
    printed = nbformat.v4.new_output("stream", name="stdout", text=output)
    cell = nbformat.v4.new_code_cell(source, execution_count=1, outputs=[printed])
    path = folder / f"prints {output.strip()}.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    return path


@X86
def test_torch_runs_as_on_each_processor_in_turn_and_what_differs_on_one_fails(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    seen = tmp_path / "seen"
    source = f"""\
import torch
with open({str(seen)!r}, "a") as file:
    print(torch.backends.cpu.get_cpu_capability(), file=file)
print(torch.get_num_threads(), "thread")"""
    same = notebook(tmp_path, source, "1 thread\n")
    source = "import os\nprint(os.environ['ATEN_CPU_CAPABILITY'])"
    other = notebook(tmp_path, source, "default\n")
    assert elsewhere.main([str(same), str(other)]) == 1
    assert seen.read_text().split() == ["DEFAULT", "AVX2"]
    summary = capfd.readouterr().out.split("=== summary ===")[1]
    lines = [line for line in summary.splitlines() if line.endswith(" s")]
    assert [line.split()[-3] for line in lines][:2] == ["passed", "FAILED"]
    assert other.name in summary
    assert same.name not in summary


def test_some_notebooks_run_on_one_of_them_each_if_they_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: dict[str, set[str]] = {}

    def note(stage: Stage) -> Outcome:
        ran[stage.name] = {word for word in stage.commands[0] if word.endswith(".ipynb")}
        return Outcome(stage, PASSED, 0.0)

    monkeypatch.setattr(elsewhere, "run_stage", note)
    paths = {str(tmp_path / f"{number}.ipynb") for number in range(80)}
    for path in paths:
        Path(path).touch()
    assert elsewhere.main([str(tmp_path), "--drawn"]) == 0
    one, other = ran.values()
    assert one | other < paths
    assert one
    assert other
    assert not one & other
