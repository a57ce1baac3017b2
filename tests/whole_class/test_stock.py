"""What `make grade` is compared with in the benchmarks: nbgrader that executes in a kernel."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from benchmarks import grading

pytestmark = [pytest.mark.slow, pytest.mark.weekly]


@pytest.mark.parametrize(
    ("command", "in_a_kernel"), [(grading.THEIRS, True), (grading.OURS, False)]
)
def test_the_peer_executes_in_a_kernel_and_gives_the_same_points(
    command: tuple[str, ...], in_a_kernel: bool, tmp_path: Path
) -> None:
    grading.make_course(tmp_path, 1)
    grading.run(tmp_path, command)
    (path,) = tmp_path.glob("course/autograded/*/*/*.ipynb")
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    # Only what runs a kernel notes when a cell began and ended.
    assert any("execution" in cell.metadata for cell in cells) == in_a_kernel
    graded = [cell for cell in cells if cell.metadata.get("nbgrader", {}).get("grade")]
    points = [float(cell.outputs[-1].data["text/plain"]) for cell in graded]
    assert points == [cell.metadata.nbgrader.points for cell in graded]
