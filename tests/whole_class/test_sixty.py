"""A class of 60: what is right, wrong, half done, broken and hostile, killed halfway and resumed.

Everybody's points lie where the answers that they handed in put them, whatever else came along.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from nbformat import NotebookNode

from tests.checks.test_classroom import TRICKS
from tests.checks.test_classroom import WRONG as NO_HEADS
from tests.notebooks.assignments import read, tasks
from tests.notebooks.classes import enrol, grade_killed_and_resumed, hand_in_broken
from tests.notebooks.courses import Course, new_course
from tests.notebooks.test_class import ALL_POINTS, BROKEN
from tests.notebooks.test_round_trip import (
    SLUG,
    WRONG,
    raises_at_import,
    solved,
    with_a_variable_check,
    without_a_task,
    without_an_answer,
)
from tests.whole_class.classes import CLASS

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.weekly]

POINTS = {task.key: sum(task.points) for task in tasks(read("exercises", SLUG))}
ALL = sum(POINTS.values())
NOTHING = "absent"  # who hands in nothing
HEADS = "attention.split_heads"  # whose answer a hostile submission replaces

# What a submission may do besides TRICKS.
HARM = {
    "leaves": "import os; os._exit(0)",
    "crashes": "import ctypes; ctypes.string_at(0)",
    "loops": "while True: pass",
    "forks": "import os\nwhile True: os.fork()",
    "fills memory": "blocks = []\nwhile True: blocks.append(bytearray(1 << 28))",
    "fills the disk": "open('big', 'wb').write(bytes(300 << 20))",
    "kills": "import os, signal; os.kill(-1, signal.SIGKILL)",
    "prints": "for _ in range(100_000): print('x' * 50)",
}


@dataclass(frozen=True)
class Member:
    """A student, and between what their points must lie."""

    make: Callable[[], NotebookNode]
    least: float
    most: float


def hostile(source: str, least: float) -> Member:
    """All is right but one task, which something else has taken the place of."""
    answer = f"{NO_HEADS}\n{source}"
    return Member(lambda: solved(except_for={HEADS: answer}), least, ALL - POINTS[HEADS])


def members() -> dict[str, Member]:
    """Everybody who hands in a notebook that can be read, and whose points follow from it."""
    found = {name: Member(CLASS[name], ALL, ALL) for name in ALL_POINTS}
    found["points"] = Member(CLASS["points"], 0.0, 0.0)
    found["wrong"] = Member(CLASS["wrong"], 0.0, ALL / 2)
    found["half"] = Member(CLASS["half"], 0.0, ALL / 2)
    found["no-marks"] = Member(CLASS["no-marks"], 0.0, 0.0)
    found["variable"] = Member(with_a_variable_check, ALL, ALL)
    found["nothing-done"] = Member(without_an_answer, 0.0, 0.0)
    third = POINTS[list(POINTS)[2]]
    found["no-task"] = Member(without_a_task, ALL - third, ALL - third)
    found["import"] = Member(raises_at_import, 0.0, ALL - POINTS[next(iter(POINTS))])
    for number, (key, worth) in enumerate(POINTS.items()):
        wrong = {key: WRONG[key]}
        others = set(POINTS) - {key}
        found[f"one-wrong-{number}"] = Member(
            lambda wrong=wrong: solved(except_for=wrong), ALL - worth, ALL - worth / 2
        )
        found[f"all-but-{number}"] = Member(
            lambda key=key: solved(without={key}), ALL - worth, ALL - worth
        )
        found[f"only-{number}"] = Member(lambda others=others: solved(without=others), worth, worth)
    # A trick may break what the student's own answers need; harm costs the cell that does it.
    found |= {f"trick-{number}": hostile(each, 0.0) for number, each in enumerate(TRICKS.values())}
    rest = ALL - POINTS[HEADS]
    found |= {f"harm-{number}": hostile(each, rest) for number, each in enumerate(HARM.values())}
    found |= {f"copy-{number}": Member(solved, ALL, ALL) for number in range(2)}
    return found


MEMBERS = members()


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    course = new_course(tmp_path_factory.mktemp("course"), SLUG)
    made = {name: member.make for name, member in MEMBERS.items()}
    enrol(course, made, [*BROKEN, NOTHING])
    hand_in_broken(course, BROKEN)
    grade_killed_and_resumed(course, at_least=25)
    return course


def test_sixty_have_a_row_a_page_and_a_result(course: Course) -> None:
    everybody = {*MEMBERS, *BROKEN, NOTHING}
    assert len(everybody) >= 60
    assert set(course.points()) == everybody
    assert all(course.page(student).exists() for student in everybody)
    with (course.root / "course" / "results" / f"{SLUG}.csv").open(newline="") as table:
        rows = list(csv.DictReader(table))
    assert {row["student"] for row in rows} == everybody
    assert {row["sandbox"] for row in rows} == {"bubblewrap"}
    assert all(0.0 < float(row["seconds"]) < 600.0 for row in rows)


@pytest.mark.parametrize("student", MEMBERS)
def test_points_are_those_of_the_answers(course: Course, student: str) -> None:
    member = MEMBERS[student]
    assert member.least <= course.points()[student] <= member.most


@pytest.mark.parametrize("student", [*BROKEN, NOTHING])
def test_what_cannot_be_read_has_nothing(course: Course, student: str) -> None:
    assert course.points()[student] == 0.0


def test_nothing_is_left_behind(course: Course) -> None:
    places = {path.name for path in (course.root / "course" / "submitted").iterdir()}
    assert places == {*MEMBERS, *BROKEN}
