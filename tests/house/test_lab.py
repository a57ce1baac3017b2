"""`make lab` brings new exercises to my-work/ and never touches what a student has there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import lab


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a course with one exercise, its figure and what Jupyter left beside it."""
    for name in ("attention/attention.ipynb", "attention/figure.svg"):
        path = tmp_path / "exercises" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"released {name}")
    checkpoint = tmp_path / "exercises/attention/.ipynb_checkpoints/attention-checkpoint.ipynb"
    checkpoint.parent.mkdir()
    checkpoint.write_text("old")
    monkeypatch.setattr(lab, "ROOT", tmp_path)
    return tmp_path


def test_the_first_run_copies_everything(course: Path) -> None:
    assert lab.main(["--copy-only"]) == 0
    work = course / "my-work" / "attention"
    assert {path.name for path in work.iterdir()} == {"attention.ipynb", "figure.svg"}
    assert (work / "attention.ipynb").read_text() == "released attention/attention.ipynb"


def test_a_students_file_is_never_overwritten(course: Path) -> None:
    lab.main(["--copy-only"])
    mine = course / "my-work/attention/attention.ipynb"
    mine.write_text("my answer")
    (course / "exercises/attention/attention.ipynb").write_text("a newer release")
    (course / "exercises/masking").mkdir()
    (course / "exercises/masking/masking.ipynb").write_text("new")
    assert lab.copy_new(course / "exercises", course / "my-work") == [Path("masking/masking.ipynb")]
    assert mine.read_text() == "my answer"


def test_a_file_that_the_student_deleted_comes_back(course: Path) -> None:
    lab.main(["--copy-only"])
    (course / "my-work/attention/figure.svg").unlink()
    assert lab.copy_new(course / "exercises", course / "my-work") == [Path("attention/figure.svg")]


def test_a_link_of_the_student_is_left_alone(course: Path) -> None:
    link = course / "my-work/attention/attention.ipynb"
    link.parent.mkdir(parents=True)
    link.symlink_to(course / "gone.ipynb")
    lab.main(["--copy-only"])
    assert link.is_symlink()
    assert not (course / "gone.ipynb").exists()


def test_missing_exercises_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="expected the released exercises"):
        lab.copy_new(tmp_path / "exercises", tmp_path / "my-work")
