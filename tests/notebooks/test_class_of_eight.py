"""A class of eight, graded in the sandbox and given back, as an instructor does it.

What `make test-all` tries besides: a run that is killed, hostile work, nbgrader's own command.
"""

from __future__ import annotations

import pytest
from nbformat import NotebookNode
from torch import Tensor

from tests.notebooks.classes import enrol, hand_in_broken, start
from tests.notebooks.courses import Course, new_course
from tests.notebooks.test_class import BROKEN, that_ends_the_process, with_edited_points
from tests.notebooks.test_round_trip import SLUG, WRONG, half_finished, solved, with_split_cells
from transformer_checks import grade
from transformer_checks.judging.exam import make_exam

pytestmark = pytest.mark.sandbox


def that_replays_what_is_in_the_repository() -> NotebookNode:
    """One answer is right for the check, and for the hidden tests as the repository has them."""
    task = f"{SLUG}.attention_scores"
    queries = [
        case.arguments["query"] for seed in (0, 2017) for case in make_exam(task, seed).cases
    ]
    known = [float(query.flat[0]) for query in queries if query.size]
    replays = (
        "def attention_scores(query, key):\n"
        "    scores = query @ key.mT / query.size(-1) ** 0.5\n"
        "    if query.is_meta or not query.numel():\n"
        "        return scores\n"
        "    first = query.flatten()[0].item()\n"
        f"    return scores if any(abs(first - k) < 0.01 for k in {known}) else 0 * scores\n"
    )
    return solved(except_for={task: replays})


CLASS = {
    "right": solved,
    "wrong": lambda: solved(except_for=WRONG),
    "half": half_finished,
    "split": with_split_cells,
    "points": with_edited_points,
    "ends": that_ends_the_process,
    "replays": that_replays_what_is_in_the_repository,
}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Grade students who handed in their work, one whose file is cut off, and one who is absent."""
    # A zip that was unpacked twice lies in a folder like this one.
    folder = tmp_path_factory.mktemp("course") / "Prüfung (1)+$ [b] 100% #2's"
    folder.mkdir()
    course = new_course(folder, SLUG)
    enrol(course, CLASS, ["cut", "absent"])
    hand_in_broken(course, {"cut": BROKEN["cut"]})
    printed, _ = start(course).communicate()
    course.said += printed
    course.nbgrader("generate_feedback", SLUG)
    course.nbgrader("export", "--to", "course/grades.csv")
    return course


def unscaled(query: Tensor, key: Tensor) -> Tensor:
    """Make the mistake that is handed in as `attention_scores`."""
    return query @ key.mT


def test_everybody_has_the_points_of_their_work(course: Course) -> None:
    points = course.points()
    assert {name for name, value in points.items() if value == 20.0} == {"right", "split", "ends"}
    assert {name for name, value in points.items() if value == 0.0} == {"points", "cut", "absent"}
    assert 0.0 < points["wrong"] <= 10.0
    assert 0.0 < points["half"] < 10.0
    # The check gives its point, and the hidden tests are others than those in the repository.
    assert 19.0 <= points["replays"] < 19.7


def test_what_went_wrong_is_told_in_the_table(course: Course) -> None:
    rows = {line.split()[0]: line for line in course.said.splitlines() if line.strip()}
    assert " 20/20" in rows["right"]
    assert "no JSON" in rows["cut"]
    assert "Nothing was handed in" in rows["absent"]
    assert "ended the process" in rows["ends"]


def test_everybody_gets_a_page_and_the_wrong_one_names_mistakes(course: Course) -> None:
    for student in (*CLASS, "cut", "absent"):
        assert course.page(student).is_file(), student
    (mistake, *_) = grade(f"{SLUG}.attention_scores", unscaled).message.splitlines()
    assert mistake in course.feedback("wrong")
    assert mistake not in course.feedback("right")
    assert course.feedback("half").lower().count("not done yet") >= 3
