"""The same work is graded by `make grade` and by `nbgrader autograde`, hostile work among it.

Both give the same points, and nothing that a student wrote acts in the page that is given back.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable

import nbformat
import pytest
from lxml import html
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell
from nbgrader.api import Gradebook
from playwright.sync_api import sync_playwright

from tests.notebooks.assignments import read
from tests.notebooks.classes import start
from tests.notebooks.courses import Course, new_course
from tests.notebooks.test_round_trip import SLUG, index_of, solved
from tools import chromium

pytestmark = [pytest.mark.weekly, pytest.mark.sandbox]

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


def test_a_cell_marked_by_hand_is_not_executed_outside_the_sandbox(course: Course) -> None:
    assert not (course.root / "reached").exists()


def test_both_commands_take_the_same_files(course: Course) -> None:
    place = course.root / "course" / "autograded" / "right" / SLUG
    assert {path.name for path in place.iterdir()} == {f"{SLUG}.ipynb", "notes.txt"}


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


def test_a_text_answer_is_still_easy_to_read(course: Course) -> None:
    page = html.fromstring(course.page("right").read_bytes())
    assert page.xpath("//strong[text()='words']")
    assert page.xpath("//a[@href='https://example.org']")
    assert page.xpath("//math")
    assert "a picture" in course.feedback("right")


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
