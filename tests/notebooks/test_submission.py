"""What a student's folder may hold: how files are read before anything of them is executed.

And what of it gets into the page that is handed back, by nbgrader's own command and by ours.
"""

from __future__ import annotations

import codecs
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from lxml import html
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell
from nbgrader.api import Gradebook
from nbgrader.apps.baseapp import NbGrader
from playwright.sync_api import sync_playwright

from tests.notebooks.assignments import read
from tests.notebooks.classes import start
from tests.notebooks.courses import Course, new_course
from tests.notebooks.test_round_trip import SLUG, index_of, solved
from tools import chromium
from transformer_ref.checks.classroom.course import Classroom, require_usable_ids
from transformer_ref.checks.classroom.sandbox import NoSandbox
from transformer_ref.checks.classroom.submission import (
    RELEASED,
    Submission,
    code_cells,
    read_submission,
)


def submitted(folder: Path, timestamp: str | None = None, mark: bytes = b"") -> Submission:
    """Hand in the solved notebook, behind a mark, with a time; return how it is read."""
    notebook = folder / f"{SLUG}.ipynb"
    notebook.write_bytes(mark + json.dumps(solved()).encode("utf-8"))
    if timestamp is not None:
        (folder / "timestamp.txt").write_text(timestamp, encoding="utf-8")
    return read_submission(folder, read("exercises", SLUG), SLUG)


def test_a_byte_order_mark_costs_nothing(tmp_path: Path) -> None:
    marked = submitted(tmp_path, mark=codecs.BOM_UTF8)
    assert marked.problem == ""
    assert code_cells(marked.notebook) == code_cells(submitted(tmp_path).notebook)


@pytest.mark.parametrize(
    "timestamp",
    [
        "2027-03-02 18:00:00 UTC",
        "2027-03-02 18:00:00.123456 America/Los_Angeles",
        "2027-03-02T18:00:00+01:00",
        "2027-03-02 18:00\n",
    ],
)
def test_a_time_that_begins_with_the_year_counts(tmp_path: Path, timestamp: str) -> None:
    submission = submitted(tmp_path, timestamp)
    assert submission.remark == ""
    assert submission.time == timestamp.strip()


@pytest.mark.parametrize(
    "timestamp",
    ["02.03.2027", "02/03/2027 18:00", "3 Feb 2027", "yesterday", "", "2027-02-30 18:00", "18:00"],
)
def test_any_other_time_is_refused_with_the_form_that_is_taken(
    tmp_path: Path, timestamp: str
) -> None:
    submission = submitted(tmp_path, timestamp)
    assert "timestamp.txt holds no time in the form 2027-03-02 18:00:00 UTC" in submission.remark
    assert submission.time == ""


def test_a_file_of_that_name_in_a_folder_is_no_time(tmp_path: Path) -> None:
    """It may hold anything, and must not stop the grading of the others."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "timestamp.txt").write_bytes(b"\xfcber")
    submission = submitted(tmp_path)
    assert (submission.problem, submission.remark, submission.time) == ("", "", "")


@pytest.mark.parametrize("handed_in", ["{}", json.dumps(read("exercises", SLUG))])
def test_the_courses_own_text_is_told_from_a_students(tmp_path: Path, handed_in: str) -> None:
    """On a page, the first has its hints, and the second is shown as text."""
    (tmp_path / f"{SLUG}.ipynb").write_text(handed_in, encoding="utf-8")
    cells = read_submission(tmp_path, read("exercises", SLUG), SLUG).notebook.cells
    texts = {cell.id: cell.metadata.get(RELEASED) for cell in cells if cell.cell_type != "code"}
    assert texts.pop("title") is True
    answers = [cell for cell in cells if cell.metadata.get("nbgrader", {}).get("solution")]
    assert not [cell for cell in answers if cell.metadata[RELEASED]]
    assert [*texts.values()].count(None) == (handed_in == "{}")  # what says why it is not graded


def test_ids_that_people_have_are_usable() -> None:
    require_usable_ids(["ann", "bob.smith@example.org", "O'Neil, Jr", "s+1", "Jürgen", "42 (b)"])


@pytest.mark.parametrize(
    "name", ["[abc]", "kai[1]", "a*", "who?", "{x}", "a/b", "a\\b", "a\nb", ".x"]
)
def test_an_id_that_is_a_pattern_is_refused_by_name(name: str) -> None:
    with pytest.raises(SystemExit, match="Student ids must not have") as caught:
        require_usable_ids(["ann", name])
    assert repr(name) in str(caught.value)
    assert "ann" not in str(caught.value)


def rows_of(course: Course, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], list[str]]:
    """Return who has a row in the table, and who handed in and has none."""
    monkeypatch.chdir(course.root)
    app = NbGrader()
    app.initialize([])
    classroom = Classroom(SLUG, NoSandbox(), app)
    return [row.student for row in classroom.rows()], classroom.strangers


def test_everybody_who_handed_in_has_a_row_whoever_is_in_the_gradebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first students that a run grades are in the gradebook when it is killed."""
    course = new_course(tmp_path, SLUG)
    for student in ("ann", "bob"):
        course.hand_in(student, read("exercises", SLUG))
    with Gradebook(f"sqlite:///{course.root / 'course' / 'gradebook.db'}", "transformer") as book:
        book.add_student("ann")
    assert rows_of(course, monkeypatch) == (["ann", "bob"], [])

    roster = course.root / "roster.csv"
    roster.write_text("\ufefffirst_name, id\nCleo,cleo\n", encoding="utf-8")
    assert rows_of(course, monkeypatch) == (["ann", "cleo"], ["bob"])
    roster.write_text("name\nCleo\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"roster\.csv cannot be read as a roster"):
        rows_of(course, monkeypatch)
    roster.unlink()

    course.hand_in("[dora]", read("exercises", SLUG))  # nbgrader would take it for a pattern
    with pytest.raises(SystemExit, match=r"\[dora\].*rename the folders"):
        rows_of(course, monkeypatch)


# --- the same work in both commands ----------------------------------------------------------

ANSWER = "attention-scores-solution"
# What somebody writes into a text answer. Each would act in the page of a careless program.
MARKUP = """# A title &lt;img src=x onerror=alert(0)&gt; <img src=x onerror=alert(0)>

<script>window.reached = 1</script>

Some **words**, a formula $a < b$, `code`, and [a link](https://example.org "a title").

<img src=x onerror="window.reached = 2"> [here](javascript:window.reached=3)
[here](java&#115;cript:window.reached=4) [here](data:text/html,<script>window.reached=5</script>)
[here](vbscript:x) <javascript:window.reached=6> [x]("onclick=alert(1))

![a picture](http://example.org/picture.png) ![mine](attachment:mine.png)
![x](" onerror="window.reached=7)

```mermaid
</pre><script>window.reached = 8</script>
```

$\\text{<script>window.reached = 9</script>}$ $</math><img src=x onerror=window.reached=10>$

\\begin{<img src=x onerror=window.reached=11>}x\\end{<img src=x onerror=window.reached=11>}

| a | b |
|---|---|
| <b onclick=alert(1)>x</b> | y |
"""
FILE = "[x](javascript:alert(1)) ![y](http:example.org) <img src=z>.ipynb"
VERSION = "[x](javascript:alert(1)) ![y](http://example.org/y.png) <script>alert(1)</script>"


def with_hand_marked_cells(notebook: NotebookNode) -> NotebookNode:
    """One task of the assignment, a code cell and a text that somebody marks by hand."""
    last = index_of(notebook, "attention-scores-now")
    notebook.cells = notebook.cells[: last + 1]
    for name, cell in (
        ("by-hand", new_code_cell("# YOUR CODE HERE")),
        ("words", new_markdown_cell("YOUR ANSWER HERE")),
    ):
        cell.id = name
        cell.metadata.nbgrader = {
            "grade": True,
            "grade_id": name,
            "locked": False,
            "points": 5,
            "schema_version": 3,
            "solution": True,
            "task": False,
        }
        notebook.cells.append(cell)
    return notebook


def handed_in(source: str = "1 + 1") -> NotebookNode:
    """The right answer, and a source in the cell that somebody marks by hand."""
    notebook = with_hand_marked_cells(solved())
    notebook.cells[-2].source = source
    notebook.cells[-1].source = MARKUP
    return notebook


def scores_itself(course: Course) -> NotebookNode:
    """The cell that somebody marks by hand pretends to be a check, and acts outside."""
    reached = course.root / "reached"
    notebook = handed_in(f"open({str(reached)!r}, 'w').close()\n5.0")
    notebook.cells[-2].metadata.nbgrader.solution = False
    return notebook


def too_large(_: Course) -> NotebookNode:
    """All right, with outputs of 21 MB."""
    notebook = handed_in()
    cell = notebook.cells[index_of(notebook, ANSWER)]
    cell.outputs = [nbformat.v4.new_output("stream", text="x" * (21 << 20))]
    return notebook


WORK: dict[str, Callable[[Course], NotebookNode]] = {
    "right": lambda _: handed_in(),
    "itself": scores_itself,
    "large": too_large,
}
COMMANDS = ("make grade", "nbgrader autograde")


@pytest.fixture(scope="module", params=COMMANDS)
def course(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A course with cells that are marked by hand, graded by one of the two commands."""
    course = new_course(tmp_path_factory.mktemp("course"), SLUG)
    source = with_hand_marked_cells(read("solutions", SLUG))
    nbformat.write(source, course.root / "solutions" / SLUG / f"{SLUG}.ipynb")
    course.nbgrader("db", "assignment", "remove", SLUG, "--force")
    course.nbgrader("generate_assignment", SLUG, "--force")
    for student, make in WORK.items():
        course.hand_in(student, make(course))
    (course.submission("right") / "notes.txt").write_text("of right")
    (course.root / "secret.txt").write_text("of nobody else")
    (course.submission("right") / "link.txt").symlink_to(course.root / "secret.txt")
    os.mkfifo(course.submission("right") / "timestamp.txt")  # whoever reads it waits forever
    other = course.submission("name")
    other.mkdir(parents=True)
    (other / FILE).write_text("{}")
    course.hand_in("version", handed_in())
    path = course.submission("version") / f"{SLUG}.ipynb"
    path.write_text(json.dumps({**json.loads(path.read_text()), "nbformat": VERSION}))
    course.hand_in("cut", handed_in())
    path = course.submission("cut") / f"{SLUG}.ipynb"
    path.write_bytes(path.read_bytes()[:500])
    if request.param == "make grade":
        course.said, _ = start(course).communicate()
    else:
        course.nbgrader("autograde", SLUG)
    course.nbgrader("generate_feedback", SLUG)
    return course


def scores(course: Course) -> dict[str, tuple[float, bool]]:
    """Each student's points, and whether somebody is asked to mark the code by hand."""
    with Gradebook(f"sqlite:///{course.root / 'course' / 'gradebook.db'}", "transformer") as book:
        return {
            str(each.student.id): (
                float(each.score),
                book.find_grade("by-hand", SLUG, SLUG, each.student.id).needs_manual_grade,
            )
            for each in book.assignment_submissions(SLUG)
        }


@pytest.mark.weekly
@pytest.mark.sandbox
def test_both_commands_give_the_same_points(course: Course) -> None:
    full = sum(
        cell.metadata.nbgrader.points
        for cell in with_hand_marked_cells(read("solutions", SLUG)).cells[:-2]
        if cell.metadata.get("nbgrader", {}).get("grade")
    )
    assert full > 0
    found = scores(course)
    assert {name: points for name, (points, _) in found.items()} == {
        "right": full,
        "itself": full,
        "large": 0.0,
        "name": 0.0,
        "version": 0.0,
        "cut": 0.0,
    }
    assert found["right"][1]
    assert found["itself"][1]


@pytest.mark.weekly
@pytest.mark.sandbox
def test_a_cell_marked_by_hand_is_not_executed_outside_the_sandbox(course: Course) -> None:
    assert not (course.root / "reached").exists()


@pytest.mark.weekly
@pytest.mark.sandbox
def test_both_commands_take_the_same_files(course: Course) -> None:
    place = course.root / "course" / "autograded" / "right" / SLUG
    assert {path.name for path in place.iterdir()} == {f"{SLUG}.ipynb", "notes.txt"}


@pytest.mark.weekly
@pytest.mark.sandbox
@pytest.mark.parametrize("student", ["right", "name", "version", "cut", "large"])
def test_nothing_of_a_student_is_live_in_the_page(course: Course, student: str) -> None:
    page = course.page(student).read_text(encoding="utf-8")
    tree = html.fromstring(page.encode("utf-8"))
    assert not tree.xpath("//script | //iframe | //object | //embed | //form | //img | //base")
    assert not tree.xpath("//@*[starts-with(name(), 'on')]")
    links = {str(link) for link in tree.xpath("//@href | //@src | //@action | //@xlink:href",
             namespaces={"xlink": "http://www.w3.org/1999/xlink"})}  # fmt: skip
    assert not [each for each in links if not re.match(r"https?://|#|\.\./|mailto:", each)], links
    assert not [each for each in links if "example.org" in each and student != "right"]
    (policy,) = tree.xpath("//head/meta[@http-equiv='Content-Security-Policy']/@content")
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert tree.xpath("//details/summary"), "the released text has its hints"
    if student != "right":
        assert "This work could not be graded" in course.feedback(student)


@pytest.mark.weekly
@pytest.mark.sandbox
def test_a_text_answer_is_still_easy_to_read(course: Course) -> None:
    page = html.fromstring(course.page("right").read_bytes())
    assert page.xpath("//strong[text()='words']")
    assert page.xpath("//a[@href='https://example.org']")
    assert page.xpath("//math")
    assert "a picture" in course.feedback("right")


@pytest.mark.weekly
@pytest.mark.sandbox
@pytest.mark.browser
def test_the_page_looks_right_under_its_policy(course: Course) -> None:
    program = chromium.find()
    if program is None:
        pytest.skip("there is no Chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        asked, said = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.goto(course.page("right").as_uri())
        assert page.evaluate("window.reached") is None
        assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
        # The styles name a font of icons, which is not handed out and which no page shows.
        assert [line for line in said if "glyphicons" not in line] == []
        assert (
            page.eval_on_selector(".panel", "() => getComputedStyle(document.body).fontSize")
            == "14px"
        )
        assert page.eval_on_selector("summary", "e => getComputedStyle(e).display") == "list-item"
        browser.close()
