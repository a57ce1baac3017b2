"""The exercises are what the solutions make, are complete, and score 0 unsolved and full solved."""

from __future__ import annotations

import ast
import math
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbgrader import utils

from tests.checks.exams import run_here
from tests.notebooks.assignments import (
    ASSIGNMENTS,
    REGION,
    ROLES,
    ROOT,
    SLUGS,
    Shell,
    Task,
    prepared_shell,
    read,
    tasks,
)
from tools import exercises
from transformer_checks import check, grade, grading, registry
from transformer_checks.classroom.for_nbgrader import FeedbackPage

HEADER = re.compile(
    r"^\*\*Difficulty (?P<difficulty>[1-5]) of 5\*\* "
    r'<span aria-hidden="true">(?P<dots>●+○*)</span> \| '
    r"\*\*(?P<minutes>\d+) minutes\*\* \| "
    r"\*\*(?P<points>\d+) points\*\*: (?P<check>\d+) in the check, "
    r"(?P<hidden>\d+) in the hidden tests$",
    re.MULTILINE,
)
ALL_TASKS = [
    pytest.param(slug, task, id=task.key)
    for slug in SLUGS
    for task in tasks(read("solutions", slug))
]
# What a student may have called so, with a value that nbgrader would take for full marks.
TAKEN_NAMES = "check = grade = points = _course_check = lambda *arguments, **options: None"
CODE_WIDTH = 76
every_assignment = pytest.mark.parametrize("slug", ASSIGNMENTS)
with_tasks = pytest.mark.parametrize("slug", SLUGS)
every_task = pytest.mark.parametrize(("slug", "task"), ALL_TASKS)


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run answers here: a process for each takes longer than most of them."""
    monkeypatch.setattr(grading, "run_answer", run_here)


# --- made from the solutions ---------------------------------------------------------------------


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A copy of what one of the exercises is made from, with the exercise made."""
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    shutil.copytree(ROOT / "solutions" / "attention", tmp_path / "solutions" / "attention")
    assert exercises.main([], root=tmp_path) == 0
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_exercises_are_what_the_solutions_make() -> None:
    assert exercises.main(["--check"]) == 0


def test_a_second_run_changes_no_byte_and_leaves_no_gradebook(course: Path) -> None:
    before = contents(course)
    assert exercises.main([], root=course) == 0
    assert contents(course) == before
    assert not [name for name in before if name.endswith((".db", ".new"))]


def change_one_byte(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"Exercises", b"exercises", 1))


def add_a_left_over(path: Path) -> None:
    (path.parent / "left_over.py").write_text("")


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (change_one_byte, "exercises/attention/attention.ipynb"),
        (Path.unlink, "exercises/attention/attention.ipynb"),
        (add_a_left_over, "exercises/attention/left_over.py"),
    ],
)
def test_check_names_what_differs_and_a_run_mends_it(
    course: Path,
    damage: Callable[[Path], None],
    named: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    good = contents(course)
    damage(course / "exercises" / "attention" / "attention.ipynb")
    bad = contents(course)
    assert bad != good

    assert exercises.main(["--check"], root=course) == 1
    assert named in capsys.readouterr().err
    assert contents(course) == bad, "--check must not write"

    assert exercises.main([], root=course) == 0
    assert contents(course) == good


def test_an_assignment_without_a_source_is_named(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(course / "exercises" / "attention", course / "exercises" / "gone")
    assert exercises.main(["--check"], root=course) == 1
    assert "exercises/gone/attention.ipynb" in capsys.readouterr().err


def test_a_checkpoint_of_jupyter_is_nobodys_business(course: Path) -> None:
    checkpoint = course / "exercises" / "attention" / ".ipynb_checkpoints" / "a-checkpoint.ipynb"
    checkpoint.parent.mkdir()
    checkpoint.write_text("{}")
    assert exercises.main(["--check"], root=course) == 0


def test_a_source_that_nbgrader_refuses_is_a_clear_error(course: Path) -> None:
    source = course / "solutions" / "attention" / "attention.ipynb"
    source.write_text(source.read_text(encoding="utf-8").replace("### END SOLUTION", "### END"))
    with pytest.raises(ValueError, match="solutions/attention"):
        exercises.main([], root=course)


# --- what is in them -----------------------------------------------------------------------------


def released(cell: NotebookNode) -> str:
    """What students should see of a cell, worked out without nbgrader."""
    stub = (
        r"\1# YOUR CODE HERE\n"
        r'\1raise NotImplementedError("Not done yet: put your code here.")\n'
    )
    replaced = REGION.sub(
        lambda match: match.expand(stub) if match[2] == "SOLUTION" else "", cell.source
    )
    return replaced.rstrip("\n")


@every_assignment
def test_nothing_of_the_solutions_and_hidden_tests_leaks(slug: str) -> None:
    source, exercise = read("solutions", slug), read("exercises", slug)
    assert [cell.id for cell in exercise.cells] == [cell.id for cell in source.cells]
    for given, full in zip(exercise.cells, source.cells, strict=True):
        assert given.source.rstrip("\n") == released(full), full.id
        assert not given.get("outputs"), full.id
        assert given.get("execution_count") is None, full.id
    for task in tasks(source) if slug in SLUGS else []:
        assert "NotImplementedError" in released(task.cells["solution"]), task.key
        assert "check" not in released(task.cells["hidden"]), task.key


@every_assignment
def test_no_line_of_code_runs_out_of_a_notebook(slug: str) -> None:
    """JupyterLab, with its folders beside the notebook, and a page of the book are that wide."""
    code = [cell for cell in read("exercises", slug).cells if cell.cell_type == "code"]
    lines = [(cell.id, line) for cell in code for line in cell.source.splitlines()]
    assert [each for each in lines if len(each[1]) > CODE_WIDTH] == []


@every_task
def test_a_task_is_complete(slug: str, task: Task) -> None:
    assert tuple(task.cells) == ROLES
    assert task.key.split(".")[0] == slug
    text = task.cells["task"].source
    header = HEADER.search(text)
    assert header, f"{task.prefix}-task has no line with difficulty, minutes and points"
    assert header["dots"] == "●" * int(header["difficulty"]) + "○" * (5 - int(header["difficulty"]))
    assert (int(header["check"]), int(header["hidden"])) == task.points
    assert int(header["points"]) == sum(task.points)
    assert "**Not allowed:**" in text
    assert "*By hand.*" in text
    assert "**In the chapter:** [" in text
    # A third hint, the line itself, may be folded into the second.
    assert text.count("<details>") == text.count("</details>")
    assert text.count("<details>") in (2, 3)


@every_task
def test_a_name_that_is_not_there_is_asked_for(
    slug: str, task: Task, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whose cell was not run, or renamed the function, reads no NameError."""
    wanted = registry.find_task(task.key).name
    defined = {
        getattr(made, "name", None) for made in ast.parse(task.cells["solution"].source).body
    }
    assert wanted in defined
    exec(task.cells["check"].source, {})
    printed = capsys.readouterr().out
    assert f"there is no `{wanted}`: run the cell that defines it" in printed
    assert "Points: 0 of" in printed


@every_task
def test_nbgrader_knows_the_role_of_each_cell(slug: str, task: Task) -> None:
    solution, check_cell, hidden = (task.cells[role] for role in ("solution", "check", "hidden"))
    assert utils.is_solution(solution)
    assert not utils.is_grade(solution)
    for cell in (check_cell, hidden):
        assert utils.is_grade(cell)
        assert utils.is_locked(cell)
        assert cell.metadata.nbgrader.grade_id == cell.id
    # A cell that raises does not stop "Run all" in JupyterLab: unsolved tasks stay in nobody's way.
    assert "raises-exception" in task.cells["try"].metadata.tags


@every_assignment
def test_a_graded_cell_imports_what_it_calls_and_ends_with_it(slug: str) -> None:
    """No name of a student's reaches the call, and no cell of another place is needed for it."""
    notebook = read("solutions", slug)
    graded = [cell for cell in notebook.cells if utils.is_grade(cell)]
    assert graded
    for cell in graded:
        imported, call = ast.parse(cell.source).body
        assert isinstance(imported, ast.ImportFrom), cell.id
        assert str(imported.module).startswith("transformer_checks"), cell.id
        (name,) = imported.names
        assert isinstance(call, ast.Expr), cell.id
        assert isinstance(call.value, ast.Call), cell.id
        assert isinstance(call.value.func, ast.Name), cell.id
        assert name.asname == call.value.func.id == "_course_check", cell.id
    others = [cell.source for cell in notebook.cells if not utils.is_grade(cell)]
    assert "_course_check" not in "\n".join(others)


@every_assignment
def test_feedback_can_show_every_formula(slug: str) -> None:
    page = FeedbackPage()
    for cell in read("exercises", slug).cells:
        if cell.cell_type == "markdown":
            text = re.sub("`[^`]*`", "", cell.source)
            formulas = re.findall(r"\$\$.+?\$\$|\$[^$]+\$", text, re.DOTALL)
            shown = page.markdown2html({}, cell.source)
            assert shown.count("<math ") == len(formulas), cell.id


@with_tasks
def test_the_totals_in_the_introduction_are_those_of_the_tasks(slug: str) -> None:
    notebook = read("solutions", slug)
    headers = [HEADER.search(task.cells["task"].source) for task in tasks(notebook)]
    introduction = notebook.cells[0].source
    points = sum(int(header["points"]) for header in headers)
    minutes = sum(int(header["minutes"]) for header in headers)
    assert f"{points} points" in introduction
    assert f"{minutes} minutes" in introduction
    in_metadata = sum(
        cell.metadata.nbgrader.points for cell in notebook.cells if utils.is_grade(cell)
    )
    assert in_metadata == points


@every_assignment
def test_cell_ids_are_unique_and_can_be_read(slug: str) -> None:
    ids = [cell.id for cell in read("solutions", slug).cells]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z]+(-[a-z0-9]+)*", name) for name in ids), ids


def test_each_assignment_has_its_checks() -> None:
    assert sorted(SLUGS) == sorted(registry.SLUGS)


# --- unsolved and solved -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shells() -> Iterator[dict[tuple[str, str], Shell]]:
    """One shell for each released and each solved notebook, with all but the graded cells run."""
    prepared = {}
    for slug in SLUGS:
        for folder in ("exercises", "solutions"):
            notebook = read(folder, slug)
            shell = prepared_shell(notebook)
            for task in tasks(notebook):
                assert shell.run(task.cells["solution"].source).error is None
            assert shell.run(TAKEN_NAMES).error is None
            prepared[folder, slug] = shell
    return prepared


@every_task
def test_a_solved_task_has_all_points(
    slug: str, task: Task, shells: dict[tuple[str, str], Shell]
) -> None:
    for role, points in zip(("check", "hidden"), task.points, strict=True):
        outcome = shells["solutions", slug].run(task.cells[role].source)
        assert outcome.error is None
        assert outcome.value == points, outcome.printed
        assert not outcome.complaints, "nbgrader scores 0 for a line on stderr"


@every_task
def test_an_unsolved_task_has_no_points_and_says_so_in_one_line(
    slug: str, task: Task, shells: dict[tuple[str, str], Shell]
) -> None:
    # The hidden cell of the source: in the released notebook it is empty.
    for role in ("check", "hidden"):
        outcome = shells["exercises", slug].run(task.cells[role].source)
        assert outcome.error is None
        assert outcome.value == 0.0
        assert not outcome.complaints
        message, points = outcome.printed.strip().splitlines()
        assert "not solved yet" in message
        assert points.startswith("Points: 0 of")


# What the hint on the code as found must leave to the students.
SECRETS = {
    "blocks.find_the_bug": ("axes",),
    "depth.find_the_bug": ("value",),
    "gpt.find_the_bug": ("shift",),
    "masking.find_the_bug": ("None", "row", "column"),
    "positions.find_the_bug": ("10000",),
    "sequences.find_the_bug": ("flip",),
    "training.find_the_bug": ("ignore_index",),
    "tuning.find_the_bug": ("detach", "advantage"),
    "where_next.find_the_bug": ("num_sets", "//"),
}


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.weekly) for seed in (1, 2, 3))]
)
@with_tasks
def test_a_bug_as_found_scores_nothing(
    slug: str, seed: int, shells: dict[tuple[str, str], Shell]
) -> None:
    shell = shells["exercises", slug]
    cells = [cell for cell in read("exercises", slug).cells if cell.id.endswith("-as-found")]
    assert cells[0].id == "find-the-bug-as-found"
    for as_found in cells:
        task = as_found.id.removesuffix("-as-found").replace("-", "_")
        assert shell.run(as_found.source).error is None
        name = re.search(r"^(?:def|class) (\w+)", as_found.source, re.MULTILINE)
        assert name
        key = f"{slug}.{task}"
        result = grade(key, shell.run(name[1]).value, seed)
        assert result.score == 0.0, result.message
        entry = next(
            e for e in registry.find_task(key).misconceptions if e.key == result.misconception
        )
        given_away = [word for word in SECRETS.get(key, ()) if word in entry.title + entry.hint]
        assert not given_away, "the hint says where the bug is"


@every_task
def test_hidden_tests_try_other_inputs_than_the_check(slug: str, task: Task) -> None:
    visible, hidden = task.cells["check"].source, task.cells["hidden"].source
    assert "seed" not in visible
    assert re.search(r"seed=[1-9]\d*", hidden)


@pytest.mark.weekly
@pytest.mark.parametrize(
    "answer",
    [None, False, True, math.nan, math.inf, 1.0, "full marks", object(), type],
    ids=["None", "False", "True", "nan", "inf", "1.0", "text", "object", "type"],
)
@every_task
def test_what_nbgrader_takes_for_full_marks_scores_nothing(
    slug: str, task: Task, answer: object
) -> None:
    def returns_it(*args: object, **kwargs: object) -> object:
        return answer

    for attempt in (answer, returns_it):
        points = check(task.key, attempt, points=3)
        assert points == 0.0
