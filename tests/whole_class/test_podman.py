"""podman in place of bubblewrap: what a submission does earns nothing, and harms nobody."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.checks.test_classroom import CHECKS, RIGHT, TRICKS, WRONG, points
from tests.whole_class.test_sixty import HARM
from transformer_checks.classroom import judge
from transformer_checks.classroom.judge import Cell, Graded, grade_notebook
from transformer_checks.classroom.sandbox import Podman, SandboxError

pytestmark = [pytest.mark.slow, pytest.mark.weekly]

LOOKING_AROUND = """
import os, socket
from pathlib import Path
print("seen", [place for place in {places} if os.path.exists(place)])
print("secrets", [name for name in os.environ if "TOKEN" in name])
for place in ("/", "/usr", "/etc"):
    try:
        Path(place, "written").write_text("by a student")
        print("wrote into", place)
    except OSError:
        pass
try:
    socket.create_connection(("192.0.2.1", 80), 2)
except OSError as error:
    print("network", error.strerror)
"""


@pytest.fixture(scope="module", autouse=True)
def podman() -> Podman:
    """Return the sandbox, where there is one."""
    sandbox = Podman()
    try:
        sandbox.require()
    except SandboxError as error:
        pytest.skip(str(error))
    return sandbox


def grade(source: str, folder: Path, sandbox: Podman) -> Graded:
    """Grade a notebook: a wrong `split_heads` with more, and the right `attention_scores`."""
    return grade_notebook([Cell(RIGHT), Cell(f"{WRONG}\n{source}"), *CHECKS], folder, sandbox)


@pytest.mark.parametrize("source", [*TRICKS.values(), *HARM.values()])
def test_whatever_it_does_it_has_the_points_of_its_answers(
    source: str, tmp_path: Path, podman: Podman, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "FREE_CELL_SECONDS", 5.0)
    graded = grade(source, tmp_path, podman)
    assert graded.sandbox == "podman"
    assert points(graded) == [0.0, 1.0]


def test_it_sees_no_file_of_the_course_and_no_network(
    tmp_path: Path, podman: Podman, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLASS_TOKEN", "a secret")
    root = Path(__file__).resolve().parents[2]
    places = [str(tmp_path), str(root / "solutions"), str(root / ".git"), "/home", "/root/.ssh"]
    printed = grade(LOOKING_AROUND.format(places=places), tmp_path, podman).cells[1].printed
    assert "seen []" in printed
    assert "secrets []" in printed
    assert "wrote" not in printed
    assert "network Network is unreachable" in printed


def test_no_container_is_left(podman: Podman) -> None:
    command = ["podman", "ps", "--all", "--quiet", "--filter=name=grading-"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout == ""
