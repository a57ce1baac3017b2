"""A Dask cluster grades a class as one process does, also where a worker dies in the middle."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.notebooks.classes import enrol, results, start, wait_until
from tests.notebooks.courses import Course, environment, new_course
from tests.notebooks.test_round_trip import SLUG
from tests.whole_class.classes import SMALL_CLASS, judged

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.weekly]


def dask(folder: Path, command: str, *options: str) -> subprocess.Popen[bytes]:
    """Start a scheduler, or a worker without anybody who would start it again."""
    module = f"distributed.cli.dask_{command}"
    with (folder / "log.txt").open("a") as log:
        return subprocess.Popen(
            [sys.executable, "-m", module, "--scheduler-file", "it.json", *options],
            cwd=folder,
            env=environment(),
            stdout=log,
            stderr=log,
        )


@pytest.fixture(scope="module")
def cluster(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a scheduler, and its two workers."""
    folder = tmp_path_factory.mktemp("cluster")
    local = ("--no-dashboard", "--host=127.0.0.1")
    scheduler = dask(folder, "scheduler", "--port=0", *local)
    workers = [dask(folder, "worker", "--nthreads=1", "--no-nanny", *local) for _ in range(2)]
    file = folder / "it.json"
    try:
        wait_until(file.exists, scheduler, 600.0)
        yield json.loads(file.read_text("utf-8"))["address"], workers
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    course = new_course(tmp_path_factory.mktemp("course"), SLUG)
    enrol(course, SMALL_CLASS, ["absent"])
    return course


def points(course: Course) -> dict[str, float]:
    course.nbgrader("export", "--to", "course/grades.csv")
    return course.points()


def test_a_cluster_that_loses_a_worker_grades_as_one_process_does(
    course: Course, cluster: tuple[str, list[subprocess.Popen[bytes]]]
) -> None:
    address, workers = cluster
    running = start(course, f"--scheduler={address}")
    wait_until(lambda: bool(results(course)), running, 600.0)
    workers[0].kill()  # with what it was grading
    said, _ = running.communicate()
    assert running.returncode == 0, said
    assert "2 workers" in said
    on_cluster, its_points = judged(course), points(course)
    assert len(on_cluster) == len(SMALL_CLASS) + 1

    for path in course.root.glob("course/results/*.json"):
        path.unlink()
    for path in course.root.glob("course/rebuilt/*/*.written"):
        path.unlink()
    said, _ = start(course, "--jobs=1").communicate()
    alone = judged(course)
    both = [(alone[name]["cells"], on_cluster[name]["cells"]) for name in alone]
    cells = [pair for each in both for pair in zip(*each, strict=True)]
    assert [pair for pair in cells if pair[0] != pair[1]] == [], said  # shows these alone
    assert alone == on_cluster, said
    assert points(course) == its_points
    assert its_points["right"] == 20.0
    assert its_points["absent"] == 0.0


def test_a_scheduler_that_is_not_there_is_named(course: Course) -> None:
    running = start(course, "--scheduler=tcp://127.0.0.1:9")
    said, _ = running.communicate()
    assert running.returncode
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in said
