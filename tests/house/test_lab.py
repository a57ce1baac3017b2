"""`make lab` brings new exercises to my-work/ and never touches what a student has there."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from mdit_py_plugins.anchors.index import slugify
from nbformat import NotebookNode
from playwright.sync_api import sync_playwright

from tests.house.test_environment import make_environment
from tools import chromium, environment, lab, notebooks

ROOT = lab.ROOT
STUB = 'def f():\n    raise NotImplementedError("Not done yet: put your code here.")'
TOKEN = "for-the-test"


def cell(kind: str, name: str, source: str, **marks: object) -> NotebookNode:
    """A cell of an exercise; with marks it is one of nbgrader's."""
    made = nbformat.v4.new_code_cell if kind == "code" else nbformat.v4.new_markdown_cell
    metadata = {"nbgrader": {"grade_id": name, **marks}} if marks else {}
    return made(source, id=name, metadata=metadata)


def exercise(check: str = "check(f)", stub: str = STUB) -> NotebookNode:
    """An exercise with one task."""
    return nbformat.v4.new_notebook(
        cells=[
            cell("markdown", "f-task", "Write `f`."),
            cell("code", "f-solution", stub, solution=True, locked=False),
            cell("code", "f-try", "f()"),
            cell("code", "f-check", check, solution=False, locked=True, grade=True),
        ]
    )


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a course with one exercise, its figure and what Jupyter left beside it."""
    folder = tmp_path / "exercises" / "attention"
    (folder / ".ipynb_checkpoints").mkdir(parents=True)
    nbformat.write(exercise(), folder / "attention.ipynb")
    (folder / "figure.svg").write_text("a figure")
    (tmp_path / "tools" / "students").mkdir(parents=True)
    (tmp_path / "tools" / "students" / "AGENTS.md").write_text("be a tutor")
    (folder / ".ipynb_checkpoints" / "attention-checkpoint.ipynb").write_text("old")
    monkeypatch.setattr(lab, "ROOT", tmp_path)
    return tmp_path


def copy_course(root: Path) -> None:
    """Copy what the command needs of the course."""
    for folder in ("tools", "exercises", "book", "transformer_checks", "transformer_ref"):
        ignored = shutil.ignore_patterns("__pycache__", "assets")
        shutil.copytree(ROOT / folder, root / folder, ignore=ignored)


def test_the_first_run_copies_everything(course: Path) -> None:
    assert lab.main(["--copy-only"]) == 0
    work = course / "my-work" / "attention"
    assert {path.name for path in work.iterdir()} == {"attention.ipynb", "figure.svg"}
    copied = notebooks.read(work / "attention.ipynb")
    assert copied.cells == exercise().cells
    assert (work / "figure.svg").read_text() == "a figure"
    assert (work.parent / "AGENTS.md").read_text() == "be a tutor"


def test_a_students_file_is_never_overwritten(course: Path) -> None:
    lab.main(["--copy-only"])
    mine = course / "my-work/attention/attention.ipynb"
    mine.write_text("my answer")
    nbformat.write(exercise("newer(f)"), course / "exercises/attention/attention.ipynb")
    (course / "exercises/masking").mkdir()
    nbformat.write(exercise(), course / "exercises/masking/masking.ipynb")
    assert lab.copy_new(course / "exercises", course / "my-work") == [Path("masking/masking.ipynb")]
    assert lab.main(["--copy-only", "--update"]) == 0
    assert mine.read_text() == "my answer"


def test_a_file_that_the_student_deleted_comes_back(course: Path) -> None:
    lab.main(["--copy-only"])
    (course / "my-work/attention/figure.svg").unlink()
    assert lab.copy_new(course / "exercises", course / "my-work") == [Path("attention/figure.svg")]


def test_a_language_is_remembered(course: Path) -> None:
    """The catalog is the one of the real assignment; the second run names no language."""
    english = exercise()
    english.cells[0].source = "## Task\n\nEach task has the same parts."
    nbformat.write(english, course / "exercises/attention/attention.ipynb")
    (course / "exercises/new").mkdir()  # nobody has translated it yet
    nbformat.write(english, course / "exercises/new/new.ipynb")
    for options in (["--language", "zh_CN"], []):
        lab.main(["--copy-only", *options])
        copied = notebooks.read(course / "my-work/attention/attention.ipynb")
        assert not copied.cells[0].source.isascii()
        assert copied.cells[1:] == english.cells[1:]
        assert notebooks.read(course / "my-work/new/new.ipynb").cells == english.cells
        shutil.rmtree(course / "my-work")
    with pytest.raises(SystemExit):
        lab.main(["--copy-only", "--language", "latin"])


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


@pytest.mark.parametrize("with_uv", [True, False])
def test_one_command_without_make_in_a_folder_with_any_name(with_uv: bool, tmp_path: Path) -> None:
    root = tmp_path / "Jörg's Kurs, 1"
    copy_course(root)
    for file in ("lab.py", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / file, root)
    here = make_environment(root / ".venv").parents[1] / environment.STAMP
    here.touch()
    python = ["--offline", "--python", sys.executable]
    start = [sys.executable, "-m", "uv", "run", *python] if with_uv else [sys.executable]
    subprocess.run(
        [*start, "lab.py", "--copy-only"],
        cwd=root,
        env={**os.environ, "UV_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": "/nowhere"},
        check=True,
    )
    assert (root / "my-work/attention/attention.ipynb").exists()
    assert {path.name for path in tmp_path.iterdir()} <= {root.name, "cache"}


# --- an exercise that changed ---------------------------------------------------------------------


def start_and_answer(course: Path) -> Path:
    """A student begins: an answer in two cells, a cell of one's own, a note, another try."""
    lab.main(["--copy-only"])
    mine = course / "my-work/attention/attention.ipynb"
    notebook = notebooks.read(mine)
    solution = notebook.cells[1]
    solution.source = "def f():\n    return g()"
    helper = cell("code", "0a1b2c3d", "def g():\n    return 1", solution=True)
    helper.metadata.nbgrader.grade_id = "f-solution"
    notebook.cells.insert(1, helper)
    notebook.cells.insert(3, nbformat.v4.new_code_cell("mine = 3"))
    notebook.cells[4].source = "f() + mine"
    notebook.cells.append(nbformat.v4.new_markdown_cell("A note."))
    nbformat.write(notebook, mine)
    return mine


def test_nothing_is_said_while_the_exercise_is_the_same(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = start_and_answer(course)
    before = mine.read_bytes()
    assert lab.main(["--copy-only", "--update"]) == 0
    assert "changed" not in capsys.readouterr().out
    assert mine.read_bytes() == before
    assert [path.name for path in mine.parent.glob("*.ipynb")] == ["attention.ipynb"]


@pytest.mark.parametrize("knows_its_release", [True, False])
def test_an_exercise_that_changed_is_named_and_made_beside_the_old_one(
    course: Path, knows_its_release: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = start_and_answer(course)
    if not knows_its_release:
        notebook = notebooks.read(mine)
        del notebook.metadata[lab.RELEASE]
        nbformat.write(notebook, mine)
    before = mine.read_bytes()
    newer = exercise("newer(f)")
    newer.cells.insert(0, cell("markdown", "introduction", "New."))
    nbformat.write(newer, course / "exercises/attention/attention.ipynb")

    assert lab.main(["--copy-only"]) == 0
    said = capsys.readouterr().out
    assert "my-work/attention/attention.ipynb has changed" in said
    assert "lab.py --update" in said
    assert not (mine.parent / "attention-updated.ipynb").exists()

    assert lab.main(["--copy-only", "--update"]) == 0
    assert "attention-updated.ipynb beside it is the new one" in capsys.readouterr().out
    assert mine.read_bytes() == before
    updated = notebooks.read(mine.parent / "attention-updated.ipynb")
    nbformat.validate(updated)
    assert [each.source for each in updated.cells] == [
        "New.",
        "Write `f`.",
        "def g():\n    return 1\n\n\ndef f():\n    return g()",
        "mine = 3",
        "f() + mine",
        "newer(f)",
        "A note.",
    ]

    # What the student does there is safe as well, and the new file is up to date.
    (mine.parent / "attention-updated.ipynb").write_text("more work")
    assert lab.main(["--copy-only", "--update"]) == 0
    assert (mine.parent / "attention-updated.ipynb").read_text() == "more work"
    nbformat.write(updated, mine)
    capsys.readouterr()
    lab.main(["--copy-only"])
    assert "changed" not in capsys.readouterr().out


def test_a_link_to_a_closer_look_leads_to_its_section(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab, "ROOT", tmp_path)
    page = tmp_path / "book/closer/masking.ipynb"
    page.parent.mkdir(parents=True)
    cell = nbformat.v4.new_markdown_cell("## Two masks", id="two-masks")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), page)
    link = "[Two](../../book/closer/masking.ipynb#two-masks)"
    found = lab.CHAPTER_LINK.sub(lab.working_link, link)
    assert found == "[Two](../../book/closer/masking.ipynb#cell-id=two-masks)"
    built = tmp_path / "_build/html/book/closer/masking.html"
    built.parent.mkdir(parents=True)
    built.touch()
    found = lab.CHAPTER_LINK.sub(lab.working_link, link)
    assert found == "[Two](/static/book/closer/masking.html#two-masks)"


def test_a_task_without_an_answer_has_the_new_stub(course: Path) -> None:
    lab.main(["--copy-only"])
    stub = STUB.replace("f()", "f(x)")
    nbformat.write(exercise(stub=stub), course / "exercises/attention/attention.ipynb")
    lab.main(["--copy-only", "--update"])
    updated = notebooks.read(course / "my-work/attention/attention-updated.ipynb")
    assert updated.cells[1].source == stub


# --- links, with a Jupyter server -----------------------------------------------------------------


@dataclass
class Server:
    """JupyterLab as `make lab` starts it."""

    root: Path
    address: str

    def get(self, path: str) -> tuple[int, bytes, str]:
        """Status, body, and where redirections led."""
        request = urllib.request.Request(
            self.address + path, headers={"Authorization": f"token {TOKEN}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read(), answer.url.removeprefix(self.address)
        except urllib.error.HTTPError as error:
            return error.code, b"", path


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server in a copy of the course, in which the page of one chapter is built."""
    root = tmp_path_factory.mktemp("course").resolve()
    copy_course(root)
    (root / "_build/html/book").mkdir(parents=True)
    (root / "_build/html/book/attention.html").write_text("<h2 id='x'>built</h2>")
    port = free_port()
    options = [f"--ServerApp.port={port}", "--no-browser", f"--IdentityProvider.token={TOKEN}"]
    with (root / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tools.lab", *options, "--allow-root"],
            cwd=root,
            env={**os.environ, "JUPYTER_CONFIG_DIR": str(root / ".jupyter/config")},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            made = Server(root, f"http://127.0.0.1:{port}")
            wait_for(made, process)
            yield made
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()


def wait_for(server: Server, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert process.poll() is None, (server.root / "log").read_text()
        try:
            server.get("/api")
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.1)
        else:
            return
    pytest.fail("no answer within a minute: " + (server.root / "log").read_text())


def links(folder: Path) -> list[tuple[str, str]]:
    """All links of all notebooks that lead to another file: the exercise and the target."""
    return [
        (path.parent.name, target)
        for path in sorted(folder.glob("*/*.ipynb"))
        for each in notebooks.read(path).cells
        if each.cell_type == "markdown"
        for target in re.findall(r"\]\(([^)\s]+)\)", each.source)
        if "://" not in target
    ]


@pytest.mark.weekly
def test_jupyterlab_opens_in_my_work(server: Server) -> None:
    status, _, place = server.get("/")
    # Nothing was there yet, so the first exercise is open.
    assert (status, place.split("?")[0]) == (200, "/lab/tree/my-work/sequences/sequences.ipynb")
    status, body, _ = server.get("/api/contents/my-work/attention/attention.ipynb?content=0")
    assert status == 200
    assert json.loads(body)["path"] == "my-work/attention/attention.ipynb"


@pytest.mark.weekly
@pytest.mark.browser
def test_jupyterlab_shows_what_a_student_needs(server: Server) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.find())
        page = browser.new_page()
        page.goto(f"{server.address}/lab/tree/my-work/attention/attention.ipynb?token={TOKEN}")
        page.get_by_role("button", name="Validate").wait_for(timeout=60_000)
        tabs = page.locator(".lm-TabBar-tab").evaluate_all("tabs => tabs.map(tab => tab.title)")
        assert "Property Inspector" in tabs
        assert not [tab for tab in tabs if "nbgrader" in tab.lower()]
        assert page.locator(".lm-MenuBar-itemLabel").get_by_text("Nbgrader").count() == 0
        page.wait_for_timeout(2000)  # a question about news would come a moment later
        assert page.locator(".Toastify__toast").count() == 0
        # A hint shows that it can be opened.
        page.wait_for_function(
            """() => [...document.querySelectorAll("summary")].some(
                each => getComputedStyle(each).listStyleType === "disclosure-closed")""",
            timeout=60_000,
        )
        # A chapter shows a term as a link, not as the Markdown of the book.
        page.goto(f"{server.address}/lab/tree/book/attention.ipynb?token={TOKEN}")
        chapter = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-MarkdownCell").first
        chapter.get_by_role("link", name="attention", exact=True).wait_for(timeout=60_000)
        assert "{term}" not in chapter.inner_text()
        browser.close()


@pytest.mark.weekly
def test_every_link_leads_to_its_section(server: Server) -> None:
    """Where JupyterLab goes for a link: a path from the notebook's folder, or from the root."""
    given, working = links(ROOT / "exercises"), links(server.root / "my-work")
    assert len(working) == len(given) > 100
    opened = {}
    for (slug, released), (_, target) in zip(given, working, strict=True):
        path, _, fragment = target.partition("#")
        anchor = released.partition("#")[2]
        if "book/attention.ipynb" in released:
            assert (path, fragment) == ("/static/book/attention.html", anchor)
            assert server.get(path)[:2] == (200, b"<h2 id='x'>built</h2>")
            continue
        full = os.path.normpath(f"my-work/{slug}/{path}")
        if full not in opened:
            status, body, _ = server.get(f"/api/contents/{urllib.parse.quote(full)}")
            assert status == 200, f"{target} in {slug}"
            opened[full] = json.loads(body)["content"]
        if not anchor:
            assert not fragment
            continue
        kind, _, cell_id = fragment.partition("=")
        assert kind == "cell-id"
        (found,) = [each for each in opened[full]["cells"] if each["id"] == cell_id]
        assert anchor in map(slugify, re.findall(r"^#+ +(.+)$", found["source"], re.MULTILINE))
