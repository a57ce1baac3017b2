"""Students' checks on a system that cannot fork: on Windows, or acted out on another one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.timeouts import COMMAND_SECONDS
from tools import lab, notebooks
from tools.draw_sample import rank
from transformer_checks.registry import SLUGS, all_tasks

ROOT = Path(__file__).resolve().parents[2]
WINDOWS = Path(__file__).with_name("as_on_windows")
FOLDERS = ("book", "exercises", "tools", "transformer_checks", "transformer_ref")
TEXTS = {".ipynb", ".json", ".md", ".py", ".toml", ".txt"}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The course with CRLF at the ends of lines, in a folder with a name that a user may have."""
    folder = tmp_path_factory.mktemp("Jörg's Übungen, 1")
    ignored = shutil.ignore_patterns("*.pyc", "figures", "fonts", "mathjax")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        for file in (folder / name).rglob("*"):
            if file.suffix in TEXTS:
                file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    return folder


def run(course: Path, code: str, *arguments: str) -> list[tuple[str, str]]:
    """Run code in that folder as on Windows; return the lines of JSON that it prints."""
    places = (course, ROOT) if os.name == "nt" else (WINDOWS, course, ROOT)
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, *arguments],
        cwd=course,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, places)),
            "PYTHONIOENCODING": "cp1252",
            "PYTHONUTF8": "0",
        },
        capture_output=True,
        encoding="cp1252",
        timeout=COMMAND_SECONDS,
        check=True,
    )
    return [tuple(json.loads(line)) for line in done.stdout.splitlines() if line[:1] == "["]


def test_a_student_without_fork_gets_the_same_messages(course: Path) -> None:
    said = dict(run(course, (WINDOWS / "student.py").read_text(encoding="utf-8")))
    assert said["points"] == 2.0
    assert "not scaled" in said["wrong"]
    assert "cut off after 1 s" in said["loop"]
    assert "exit status 3" in said["crash"]
    assert "nothing limits its memory" in said["crash"]
    # Each answer has its own process: the next one finds torch as it was.
    assert "all 14 cases pass" in said["right"]
    assert "(5, 8)" in said["pours"]
    assert f"fork: False, checks: {course}" in said["where"]
    assert "all 14 cases pass" in said["after the next process died"]
    assert "did not start" in said["no process starts"]


ALL_TASKS = """
import importlib, json, sys
from transformer_checks import grade
from transformer_checks.running import new_process
material = importlib.import_module(f"tests.checks.material.{sys.argv[1]}")
for task in sys.argv[2:]:
    print(json.dumps([task, grade(task, material.CORRECT[task][0]).message]), flush=True)
new_process.stop()
"""


@pytest.mark.weekly
@pytest.mark.parametrize("slug", SLUGS)
def test_a_right_answer_to_each_task_passes(course: Path, slug: str) -> None:
    chosen = [task for task in all_tasks() if task.startswith(f"{slug}.")]
    if os.name != "nt":  # acted out, one of each assignment; Windows itself tries all at every push
        chosen = [min(chosen, key=rank)]
    said = dict(run(course, ALL_TASKS, slug, *chosen))
    assert [*said] == chosen
    assert not {task: text for task, text in said.items() if "cases pass" not in text}


def test_the_exercises_are_copied_with_every_character(
    course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab, "ROOT", course)  # where no site is built that links could lead to
    run(course, "from tools import lab; lab.main(['--copy-only'])")
    exercises = sorted((ROOT / "exercises").glob("*/*.ipynb"))
    assert exercises
    for path in exercises:
        copied = course / lab.WORK / path.relative_to(ROOT / "exercises")
        assert notebooks.read(copied).cells == lab.student_copy(path).cells


def test_grading_a_class_says_where_it_works(course: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as failed:
        run(course, "from transformer_checks.classroom.__main__ import main; main(['attention'])")
    assert "needs Linux" in failed.value.stderr
