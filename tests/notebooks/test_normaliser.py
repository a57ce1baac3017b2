"""The normaliser makes one form of a notebook, and its check names each thing that is off."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tests.notebooks.assignments import Shell
from tools import notebooks

pytestmark = pytest.mark.weekly

URL = "https://example.org/course"
PNG = "iVBORw0KGgo="


def chapter() -> NotebookNode:
    """A small executed chapter as JupyterLab leaves it: everything works, nothing is tidy."""
    setup = new_code_cell("old", id="setup", metadata={"tags": ["setup"]}, execution_count=3)
    figure = new_code_cell(
        "plot()",
        id="a-figure",
        execution_count=7,
        metadata={"execution": {"iopub.busy": "2026-01-01T00:00:00Z"}, "scrolled": True},
        outputs=[
            new_output("stream", name="stdout", text="first "),
            new_output("stream", name="stdout", text="second\n"),
            new_output(
                "display_data",
                {"image/png": PNG, "text/plain": "<Figure size 640x480 with 1 Axes>"},
                metadata={"image/png": {"width": 640}},
            ),
        ],
    )
    value = new_code_cell(
        "1 + 1",
        id="a-sum",
        execution_count=8,
        metadata={"tags": ["keep-me"]},
        outputs=[new_output("execute_result", {"text/plain": "2"}, execution_count=8)],
    )
    notebook = new_notebook(
        cells=[new_markdown_cell("# A title", id="title"), setup, figure, value],
        metadata={
            "kernelspec": {"name": "my-env", "display_name": "Mine", "language": "python"},
            "language_info": {"name": "python", "version": "3.11.7"},
            "widgets": {},
        },
    )
    return notebook


def tidy(executed: bool = True) -> NotebookNode:
    return notebooks.normalise(chapter(), executed=executed, url=URL)


def save(notebook: NotebookNode, folder: Path) -> Path:
    path = folder / "chapter.ipynb"
    path.write_text(notebooks.dumps(notebook), encoding="utf-8")
    return path


def found(notebook: NotebookNode, folder: Path, executed: bool = True) -> list[str]:
    return notebooks.problems(save(notebook, folder), executed=executed, url=URL)


# --- the form ---------------------------------------------------------------------------------


def test_counts_run_from_one_and_reach_the_results() -> None:
    code = [cell for cell in tidy().cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [1, 2, 3]
    assert code[2].outputs[0].execution_count == 3


def test_image_data_goes_and_the_output_stays() -> None:
    outputs = tidy().cells[2].outputs
    assert [output.output_type for output in outputs] == ["stream", "display_data"]
    assert outputs[1].data == {"text/plain": "<Figure size 640x480 with 1 Axes>"}
    assert outputs[1].metadata == {}


def test_pieces_of_a_stream_are_joined() -> None:
    assert tidy().cells[2].outputs[0].text == "first second\n"


def test_metadata_is_what_the_course_means_and_nothing_else() -> None:
    notebook = tidy()
    assert notebook.metadata == notebooks.NOTEBOOK_METADATA
    assert notebook.cells[2].metadata == {}
    assert notebook.cells[3].metadata == {"tags": ["keep-me"]}


def test_exercises_lose_outputs_and_counts() -> None:
    code = [cell for cell in tidy(executed=False).cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)


def test_text_in_other_alphabets_is_written_as_itself(tmp_path: Path) -> None:
    notebook = chapter()
    notebook.cells[0].source = "# Vorwärts, 注意力"
    assert "注意力" in save(notebook, tmp_path).read_text(encoding="utf-8")


def test_twice_is_the_same_bytes_as_once() -> None:
    once = notebooks.dumps(tidy())
    again = notebooks.normalise(nbformat.v4.reads(once), executed=True, url=URL)
    assert notebooks.dumps(again) == once
    assert once.endswith("}\n")


# --- ids --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "kind", "expected"),
    [
        ("text before\n\n## Why divide by the root?\n\ntext", "markdown", "why-divide-by-the-root"),
        ("import torch\n\ndef split_heads(x):\n    pass", "code", "split-heads-x"),
        ("x = torch.ones(2)", "code", "x-torch-ones-2"),
        ("", "code", "code"),
        ("deadbee1", "code", "cell-deadbee1"),
    ],
)
def test_an_id_is_made_from_the_words_of_the_cell(source: str, kind: str, expected: str) -> None:
    make = new_code_cell if kind == "code" else new_markdown_cell
    cell = make(source, id="0b1c2d3e")
    notebooks.normalise_ids([cell])
    assert cell.id == expected


@pytest.mark.parametrize("random", ["0b1c2d3e", "0b1c2d3e-0a1b-4c2d-8e3f-0123456789ab", "Xk3_dF9a"])
def test_random_ids_are_replaced_and_chosen_ones_kept(random: str) -> None:
    cells = [new_markdown_cell("# One", id=random), new_markdown_cell("# Two", id="chosen")]
    notebooks.normalise_ids(cells)
    assert [cell.id for cell in cells] == ["one", "chosen"]


def test_words_that_happen_to_be_hexadecimal_letters_are_not_random() -> None:
    assert notebooks.has_readable_id(new_markdown_cell("", id="deadbeef"))


def test_ids_are_unique_and_the_first_keeps_its_own() -> None:
    cells = [new_markdown_cell("# Same", id=name) for name in ("same", "same", "11111111")]
    del cells[2]["id"]
    notebooks.normalise_ids(cells)
    assert [cell.id for cell in cells] == ["same", "same-2", "same-3"]


# --- the setup cell ---------------------------------------------------------------------------


def test_the_setup_cell_is_filled_from_its_template() -> None:
    assert tidy().cells[1].source == notebooks.setup_source(URL)


@pytest.mark.parametrize("found", [None, object()], ids=["missing", "installed"])
def test_the_setup_cell_installs_from_the_address(
    found: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    shell = Shell()
    shell.shell.register_magic_function(asked.append, magic_name="pip")
    with monkeypatch.context() as patch:
        patch.setattr("importlib.util.find_spec", lambda _: found)
        assert shell.run(notebooks.setup_source(URL)).error is None
    wanted = f'install --quiet "transformer-ref[checks,text] @ git+{URL}"'
    assert asked == ([] if found else [wanted])


def test_without_an_address_the_setup_cell_has_no_dead_link() -> None:
    source = notebooks.setup_source("")
    assert "git+" not in source
    assert "uv run lab.py" in source
    compile(source, "setup", "exec")


@pytest.mark.parametrize("text", ["", "repository:\n  url: ''\n", "repository:\n"])
def test_the_address_may_be_missing_from_the_settings(text: str, tmp_path: Path) -> None:
    config = tmp_path / "_config.yml"
    config.write_text(text or "title: x\n")
    assert notebooks.repository_url(config) == ""
    config.write_text(f"repository:\n  url: {URL}\n")
    notebooks.repository_url.cache_clear()
    assert notebooks.repository_url(config) == URL


# --- the check --------------------------------------------------------------------------------


def test_a_normalised_notebook_has_no_problems(tmp_path: Path) -> None:
    assert found(tidy(), tmp_path) == []
    assert found(tidy(executed=False), tmp_path, executed=False) == []


NOT_NORMALISED = "is not normalised: `make format` does it"


def not_run(notebook: NotebookNode) -> None:
    notebook.cells[2].execution_count = None


def timing(notebook: NotebookNode) -> None:
    notebook.cells[2].metadata["execution"] = {"iopub.busy": "2026-01-01T00:00:00Z"}


def error(notebook: NotebookNode) -> None:
    failed = new_output("error", ename="ValueError", evalue="", traceback=["no"])
    notebook.cells[2].outputs = [failed]


def warning(notebook: NotebookNode) -> None:
    notebook.cells[2].outputs = [new_output("stream", name="stderr", text="UserWarning: hm\n")]


def address(notebook: NotebookNode) -> None:
    text = {"text/plain": "<object at 0x7f0e3d266250>"}
    notebook.cells[2].outputs = [new_output("display_data", text)]


def folder_of_a_person(notebook: NotebookNode) -> None:
    notebook.cells[2].outputs = [new_output("stream", text="/home/ada/course/file.txt\n")]


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (not_run, "cell 3 (a-figure) was not run"),
        (timing, NOT_NORMALISED),
        (error, "cell 3 (a-figure) ended in ValueError"),
        (warning, "cell 3 (a-figure) wrote to stderr: 'UserWarning: hm'"),
        (address, "cell 3 (a-figure) prints '0x7f0e3d266250'"),
        (folder_of_a_person, "cell 3 (a-figure) prints '/home/'"),
    ],
)
def test_the_check_names_the_cell_and_the_fault(
    damage: Callable[[NotebookNode], None], expected: str, tmp_path: Path
) -> None:
    notebook = tidy()
    damage(notebook)
    problems = found(notebook, tmp_path)
    assert any(problem.startswith(expected) for problem in problems), problems


def test_an_error_that_the_text_announces_is_allowed(tmp_path: Path) -> None:
    notebook = tidy()
    error(notebook)
    notebook.cells[2].metadata.tags = ["raises-exception"]
    assert found(notebook, tmp_path) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"tags": []}, "the first code cell is not tagged 'setup'"),
        ({"tags": ["setup"]}, NOT_NORMALISED),
    ],
)
def test_the_setup_cell_is_checked(change: dict[str, Any], expected: str, tmp_path: Path) -> None:
    notebook = tidy()
    notebook.cells[1].metadata = nbformat.from_dict(change)
    notebook.cells[1].source = "import something"
    assert any(problem.startswith(expected) for problem in found(notebook, tmp_path))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("{", "not a notebook"), ('{"nbformat": 3}', "notebook format 3"), ("[]", "not a notebook")],
)
def test_what_is_no_notebook_is_named(text: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.ipynb"
    path.write_text(text)
    (problem,) = notebooks.problems(path, executed=True)
    assert "broken.ipynb" in problem
    assert expected in problem


# --- files and the command line ---------------------------------------------------------------


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a course with one untidy chapter and the exercise of the same name."""
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    for folder in ("book", "exercises/task", "book/.ipynb_checkpoints"):
        (tmp_path / folder).mkdir(parents=True)
        save(chapter(), tmp_path / folder)
    return tmp_path


def test_format_then_check(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert notebooks.main(["check"]) == 1
    assert notebooks.main(["format"]) == 0
    times = {path: path.stat().st_mtime_ns for path in course.rglob("*.ipynb")}
    assert notebooks.main(["check"]) == 0
    assert "2 of 2 notebooks are in order" in capsys.readouterr().out
    assert notebooks.main(["format"]) == 0
    assert times == {path: path.stat().st_mtime_ns for path in course.rglob("*.ipynb")}
    exercise = json.loads((course / "exercises/task/chapter.ipynb").read_text())
    assert all(not cell.get("outputs") for cell in exercise["cells"])


def test_a_closer_look_is_kept_like_a_chapter(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (course / "book/closer").mkdir()
    save(chapter(), course / "book/closer")
    assert notebooks.main(["format"]) == 0
    assert notebooks.main(["check"]) == 0
    assert "3 of 3 notebooks are in order" in capsys.readouterr().out
    pages = [course / "book/chapter.ipynb", course / "book/closer/chapter.ipynb"]
    assert pages[0].read_text() == pages[1].read_text()


def test_a_path_that_does_not_exist_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert notebooks.main(["check", "no/such/notebook.ipynb"]) == 2
    assert "no/such/notebook.ipynb" in capsys.readouterr().err


def small(source: str, folder: Path) -> Path:
    cells = [
        new_code_cell("", id="setup", metadata={"tags": ["setup"]}),
        new_code_cell(source, id="the-cell"),
    ]
    return save(new_notebook(cells=cells), folder)


def test_execute_runs_in_place_and_is_byte_stable(course: Path) -> None:
    source = "import os\nprint(os.environ['OMP_NUM_THREADS'], os.path.basename(os.getcwd()))\n6 * 7"
    path = small(source, course / "book")
    notebooks.write(path, notebooks.normalise(notebooks.read(path), executed=True))
    assert notebooks.main(["execute", str(path)]) == 0
    first = path.read_bytes()
    assert notebooks.main(["check", str(path)]) == 0
    outputs = notebooks.read(path).cells[1].outputs
    assert outputs[0].text == "1 book\n"
    assert outputs[1].data["text/plain"] == "42"
    assert notebooks.main(["execute", str(path)]) == 0
    assert path.read_bytes() == first


def test_execute_runs_an_assignment_where_nothing_that_it_writes_is_released(
    course: Path,
) -> None:
    source = "import pathlib\npathlib.Path('predictions.csv').write_text('word,phones')\n6 * 7"
    (course / "solutions").mkdir(exist_ok=True)
    path = small(source, course / "solutions")
    before = {each for each in course.rglob("*") if each.is_file()}
    assert notebooks.main(["execute", str(path)]) == 0
    assert notebooks.read(path).cells[1].outputs[0].data["text/plain"] == "42"
    assert {each for each in course.rglob("*") if each.is_file()} == before


def test_execute_names_the_notebook_that_fails_and_leaves_it(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = small("1 / 0", course / "book")
    before = path.read_bytes()
    assert notebooks.main(["execute", str(path)]) == 1
    message = capsys.readouterr().err
    assert "chapter.ipynb" in message
    assert "ZeroDivisionError" in message
    assert path.read_bytes() == before
