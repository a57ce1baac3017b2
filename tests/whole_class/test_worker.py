"""A process that judges is killed while it does: nobody else loses anything by it."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from tests.notebooks.classes import enrol, results, start, wait_until
from tests.notebooks.courses import new_course
from tests.notebooks.test_round_trip import SLUG
from tests.whole_class.classes import CLASS

pytestmark = [pytest.mark.slow, pytest.mark.weekly]


def test_whose_process_was_killed_is_graded_all_the_same(tmp_path: Path) -> None:
    course = new_course(tmp_path, SLUG)
    names = ("right", "wrong", "half", "split", "names", "twins")
    enrol(course, {name: CLASS[name] for name in names}, [])
    run = start(course)
    wait_until(lambda: len(results(course)) >= 1, run, 300.0)
    started = psutil.Process(run.pid).children()
    judges = [each for each in started if "transformer_checks.classroom" in each.cmdline()]
    assert judges
    judges[0].kill()
    said, _ = run.communicate()
    assert run.returncode == 0, said
    assert "Not graded" not in said
    assert said.count(" 20/20") == 4
