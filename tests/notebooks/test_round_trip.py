"""A class goes through nbgrader: release, hand in, autograde, feedback, export.

All by nbgrader's own commands, as the guide for instructors has them, in a course of its own.
"""

from __future__ import annotations

import inspect
import re
from copy import deepcopy

import pytest
from nbformat import NotebookNode
from playwright.sync_api import sync_playwright

from tests.notebooks.assignments import ROOT, Task, prepared_shell, read, tasks
from tests.notebooks.courses import Course, new_course
from tools import chromium
from transformer_checks import Result, grade
from transformer_checks.classroom.judge import Cell
from transformer_checks.classroom.seeds import course_secret, with_own_seeds
from transformer_checks.judging.changes import Change, changed_source
from transformer_checks.registry import find_task

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.weekly]

SLUG = "attention"


def mistaken(key: str) -> str:
    """The answer to a task with the first mistake that is listed as a change to it."""
    task = find_task(key)
    ways = (way for entry in task.misconceptions for way in entry.wrong if isinstance(way, Change))
    return changed_source(inspect.getsource(task.answer or task.reference), next(ways))


WRONG = {task.key: mistaken(task.key) for task in tasks(read("solutions", SLUG))}

# Right without a mask, in which it forgets what it was given: part of the points.
WITHOUT_MASK = """
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = reference.attention_scores(query, key).softmax(dim=-1)
    return weights @ value, weights
"""

MISSING_MODULE = "import helpers_that_were_not_handed_in\n\n"


def solved(
    except_for: dict[str, str] | None = None, without: set[str] = frozenset()
) -> NotebookNode:
    """The released notebook with the right answers in it.

    Args:
        except_for: other sources for the tasks with these keys.
        without: keys of tasks that stay as they were released.
    """
    notebook, source = read("exercises", SLUG), read("solutions", SLUG)
    for task, full in zip(tasks(notebook), tasks(source), strict=True):
        if full.key not in without:
            answer = (except_for or {}).get(full.key, full.cells["solution"].source)
            task.cells["solution"].source = answer
    return notebook


def half_finished() -> NotebookNode:
    """Three tasks are done, one of them in part; a check was deleted by mistake."""
    notebook = solved(
        except_for={"attention.scaled_dot_product_attention": WITHOUT_MASK},
        without={
            "attention.MultiHeadAttention",
            "attention.find_the_bug",
            "attention.damage_by_head",
            "attention.redundant_heads",
            "attention.bracket_head",
        },
    )
    notebook.cells = [cell for cell in notebook.cells if cell.id != "split-heads-check"]
    return notebook


def raises_at_import() -> NotebookNode:
    """The first answer imports a file that was not handed in; the others are right."""
    first = tasks(read("solutions", SLUG))[0]
    return solved(except_for={first.key: MISSING_MODULE + first.cells["solution"].source})


def index_of(notebook: NotebookNode, cell_id: str) -> int:
    return [cell.id for cell in notebook.cells].index(cell_id)


def copied(cell: NotebookNode, source: str | None = None) -> NotebookNode:
    """A copy as JupyterLab makes it: with another id, and with all that nbgrader marks."""
    copy = deepcopy(cell)
    copy.id += "-copied"
    copy.source = cell.source if source is None else source
    return copy


def with_split_cells() -> NotebookNode:
    """An answer of two functions is split between them; a check was copied below all others."""
    first = tasks(read("solutions", SLUG))[0]
    helper = "def root(size):\n    return math.sqrt(size)\n\n\n"
    answer = first.cells["solution"].source.replace("math.sqrt(query", "root(query")
    notebook = solved(except_for={first.key: answer})
    place = index_of(notebook, first.cells["solution"].id)
    notebook.cells.insert(place, copied(notebook.cells[place], helper))
    notebook.cells.append(copied(notebook.cells[index_of(notebook, first.cells["check"].id)]))
    return notebook


def with_a_backup() -> NotebookNode:
    """Earlier attempts are kept above what counts; the imports are gone."""
    notebook = solved()
    for task in tasks(notebook):
        solution = task.cells["solution"]
        place = index_of(notebook, solution.id)
        notebook.cells.insert(place, copied(solution, WRONG[task.key]))
    notebook.cells = [cell for cell in notebook.cells if cell.id != "imports"]
    return notebook


def with_a_variable_check() -> NotebookNode:
    """Names that the checks could have, in the student's own cells and in an old form of marks."""
    notebook = solved()
    place = index_of(notebook, "attention-scores-try")
    notebook.cells[place].source = "check = grade = points = torch.ones(3)\n_course_check = None"
    notebook.cells[index_of(notebook, "imports")].metadata.nbgrader.schema_version = 1
    return notebook


def without_an_answer() -> NotebookNode:
    """Nothing is done but to put something else in the place of the check."""
    notebook = read("exercises", SLUG)
    place = index_of(notebook, "attention-scores-try")
    notebook.cells[place].source = (
        "import transformer_checks\n"
        "check = transformer_checks.check = lambda *arguments, **options: None"
    )
    return notebook


def without_a_task() -> NotebookNode:
    """One task is deleted with its answer and its checks; one of another release is there."""
    notebook = solved()
    third = tasks(notebook)[2].cells.values()
    gone = {cell.id for cell in third}
    notebook.cells = [cell for cell in notebook.cells if cell.id not in gone]
    for cell in third:
        cell.id = f"old-{cell.id}"
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader.grade_id = cell.id
            notebook.cells.append(cell)
    return notebook


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """The round trip itself; the tests look at what came of it."""
    course = new_course(tmp_path_factory.mktemp("course"), SLUG)
    course.hand_in("right", solved())
    course.hand_in("wrong", solved(except_for=WRONG))
    course.hand_in("half", half_finished())
    course.hand_in("import", raises_at_import())
    course.hand_in("split", with_split_cells())
    course.hand_in("backup", with_a_backup())
    course.hand_in("variable", with_a_variable_check())
    course.hand_in("nothing", without_an_answer())
    course.hand_in("no-task", without_a_task())
    course.nbgrader("autograde", SLUG)
    course.nbgrader("generate_feedback", SLUG)
    course.nbgrader("export", "--to", "course/grades.csv")
    return course


@pytest.fixture(scope="module")
def all_tasks() -> dict[str, Task]:
    return {task.key: task for task in tasks(read("solutions", SLUG))}


def results(course: Course, student: str, key: str, source: str, task: Task) -> list[Result]:
    """What `grade` says about a student's answer, in the check and in the hidden tests."""
    shell = prepared_shell(read("solutions", SLUG))
    as_found = next(c for c in read("solutions", SLUG).cells if c.id == "find-the-bug-as-found")
    assert shell.run(as_found.source).error is None
    assert shell.run(source).error is None
    secret = course_secret(course.root / "course" / "results")
    (hidden,) = with_own_seeds([Cell(task.cells["hidden"].source, graded=True)], secret, student)
    seed = re.search(r"seed=(\d+)", hidden.source)
    assert seed
    answer = shell.run(find_task(key).name).value
    return [grade(key, answer), grade(key, answer, seed=int(seed[1]))]


def points_by_grade(course: Course, student: str, key: str, source: str, task: Task) -> float:
    found = results(course, student, key, source, task)
    # A cell says its points with four decimals.
    return sum(round(p * result.score, 4) for p, result in zip(task.points, found, strict=True))


def test_the_released_notebook_is_the_committed_one(course: Course) -> None:
    made = (course.root / "exercises" / SLUG / f"{SLUG}.ipynb").read_bytes()
    assert made == (ROOT / "exercises" / SLUG / f"{SLUG}.ipynb").read_bytes()


@pytest.mark.parametrize("student", ["right", "split", "backup", "variable"])
def test_right_answers_have_all_points(course: Course, student: str) -> None:
    assert course.points()[student] == 20.0


def test_who_replaces_the_check_has_no_points(course: Course) -> None:
    assert course.points()["nothing"] == 0.0
    # The checks run where nothing of the student's is: they are asked, and find nothing done.
    assert course.feedback("nothing").count("It is not solved yet") >= 5


def test_a_deleted_task_costs_only_its_own_points(
    course: Course, all_tasks: dict[str, Task]
) -> None:
    lost = sum(all_tasks["attention.split_heads"].points)
    assert course.points()["no-task"] == 20.0 - lost


def test_wrong_answers_have_the_points_of_the_cases_they_pass(
    course: Course, all_tasks: dict[str, Task]
) -> None:
    expected = sum(
        points_by_grade(course, "wrong", key, WRONG[key], task) for key, task in all_tasks.items()
    )
    assert course.points()["wrong"] == pytest.approx(expected)
    assert expected <= 10.0


def test_half_of_the_work_has_its_points_with_partial_credit(
    course: Course, all_tasks: dict[str, Task]
) -> None:
    full = sum(
        sum(all_tasks[key].points)
        for key in ("attention.attention_scores", "attention.split_heads")
    )
    key = "attention.scaled_dot_product_attention"
    partial = points_by_grade(course, "half", key, WITHOUT_MASK, all_tasks[key])
    assert 0.0 < partial < sum(all_tasks[key].points)
    assert course.points()["half"] == pytest.approx(full + partial)


def test_a_failed_import_costs_only_its_own_task(
    course: Course, all_tasks: dict[str, Task]
) -> None:
    assert course.points()["import"] == 20.0 - sum(all_tasks["attention.attention_scores"].points)


@pytest.mark.parametrize("key", WRONG)
def test_feedback_names_the_mistake(course: Course, all_tasks: dict[str, Task], key: str) -> None:
    result = results(course, "wrong", key, WRONG[key], all_tasks[key])[0]
    assert result.misconception is not None
    feedback = " ".join(course.feedback("wrong").split())
    first_line = " ".join(result.message.strip().splitlines()[0].split())
    assert first_line in feedback
    assert first_line not in " ".join(course.feedback("right").split())


def test_feedback_shows_the_students_own_error_and_none_of_ours(course: Course) -> None:
    assert "No module named 'helpers_that_were_not_handed_in'" in course.feedback("import")
    for student in ("right", "wrong", "import"):
        assert "Traceback" not in course.feedback(student)


def test_feedback_needs_no_network_and_shows_its_formulas(course: Course) -> None:
    page = course.page("right").read_text(encoding="utf-8")
    assert "MathJax" not in page
    assert not re.search(
        r"""(src|srcset)=["']?https?:|url\(["']?https?:|<link [^>]*https?:""", page
    )
    assert page.count("<math ") > 5


def test_feedback_names_the_tasks_and_gives_each_score_once(course: Course) -> None:
    feedback = " ".join(course.feedback("wrong").split())
    assert feedback.count("Task 1: compare every query with every key check 0 of 1 hidden") == 1
    assert "Test cell" not in feedback
    message = "Points: 0 of 1"
    graded = [part.split("What you can do now")[0] for part in feedback.split(message)[1:]]
    assert graded
    assert not [part for part in graded if part.strip().startswith("Out[")]


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_feedback_fits_the_screen_and_shows_that_hints_open(course: Course, width: int) -> None:
    program = chromium.find()
    if program is None:
        pytest.skip("there is no Chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.route("http*://**", lambda route: route.abort())
        page.goto(course.page("wrong").as_uri())
        scrolls = "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.innerText)"
        assert page.eval_on_selector_all("html, pre, div.output_area", scrolls) == []
        displays = "all => [...new Set(all.map(e => getComputedStyle(e).display))]"
        assert page.eval_on_selector_all("summary", displays) == ["list-item"]
        browser.close()


def test_nbgrader_reported_no_traceback_and_no_error(course: Course) -> None:
    assert "Traceback" not in course.said
    assert "ERROR" not in course.said
