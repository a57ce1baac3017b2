"""The gradebook is kept in PostgreSQL: a class has the same points there as in SQLite."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.notebooks.classes import enrol, results, start
from tests.notebooks.courses import Course, new_course
from tests.notebooks.test_round_trip import SLUG
from tests.whole_class.classes import SMALL_CLASS
from tools import cluster

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.weekly]

USER = "postgres"  # whom Debian's package makes; PostgreSQL refuses to run as root


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of an empty database, on a server of our own without a network."""
    programs = cluster.postgresql()
    assert programs is not None, cluster.HOW_TO_GET_IT
    is_root = os.geteuid() == 0
    # Not below pytest's folder, which is closed to other users.
    folder = Path(tempfile.mkdtemp(prefix="gradebook-"))

    def run(name: str, *arguments: str) -> None:
        command = ["runuser", "-u", USER, "--"] if is_root else []
        command += [str(programs / name), *arguments]
        subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=True)

    if is_root:
        shutil.chown(folder, USER)
    data, log = str(folder / "data"), str(folder / "log")
    run("initdb", "-D", data, "-U", "teacher", "-A", "trust")
    options = f"-k {folder} -c listen_addresses=''"
    run("pg_ctl", "-D", data, "-l", log, "-o", options, "-w", "start")
    try:
        run("createdb", "-h", str(folder), "-U", "teacher", "gradebook")
        yield f"postgresql+psycopg:///gradebook?host={folder}&user=teacher"
    finally:
        run("pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder)


def points(course: Course) -> dict[str, float]:
    course.nbgrader("export", "--to", "course/grades.csv")
    return course.points()


def test_a_class_has_the_same_points_in_postgresql(
    tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    course = new_course(tmp_path, SLUG)
    enrol(course, SMALL_CLASS, ["absent"])
    said, _ = start(course).communicate()
    in_sqlite, before = points(course), results(course)
    assert in_sqlite["right"] == 20.0, said
    (course.root / "course" / "gradebook.db").unlink()

    monkeypatch.setenv("GRADEBOOK_URL", server)
    course.nbgrader("generate_assignment", SLUG, "--force")
    course.nbgrader("db", "student", "import", "roster.csv")
    said, _ = start(course).communicate()
    assert points(course) == in_sqlite, said
    assert results(course) == before, "for another gradebook nothing is executed again"
    course.nbgrader("generate_feedback", SLUG)
    assert course.page("wrong").exists()
    assert not (course.root / "course" / "gradebook.db").exists()
