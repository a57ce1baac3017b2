"""The capstone: its baseline reaches the first step, and its files go through nbgrader unrun."""

from __future__ import annotations

import json
import re
import resource
from pathlib import Path

import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbgrader import utils

from tests.notebooks.assignments import ROOT, Shell, read
from tests.notebooks.courses import Course, new_course
from tests.timeouts import COMMAND_SECONDS
from tools.notebooks import EXECUTION_ENVIRONMENT
from transformer_checks.capstone import FILE, POINTS, REPORT_FILE, REPORT_POINTS, STEPS
from transformer_checks.capstone.ablation import EXAMPLE, as_text
from transformer_ref.applications.g2p import MODEL_CONFIG, load_g2p, make_examples
from transformer_ref.data import load_cmudict

SLUG = "capstone"
ASSETS = ROOT / "transformer_ref" / "assets"
TABLE = re.compile(r"^\| PER at most \| points \|\n\|---\|---\|\n((?:\|.*\|\n)+)", re.MULTILINE)


@pytest.mark.parametrize(
    "text",
    [
        read("solutions", SLUG).cells[0].source,
        (ROOT / "book" / "instructors.md").read_text(encoding="utf-8"),
    ],
    ids=["exercise", "guide"],
)
def test_the_published_steps_are_those_of_the_code(text: str) -> None:
    (rows,) = TABLE.findall(text + "\n")
    published = re.findall(r"^\| ([\d.]+)% \| (\d+) \|$", rows, re.MULTILINE)
    assert published == [(step.percent, str(step.points)) for step in STEPS]


def test_the_table_without_a_network_has_the_rate_that_the_text_says() -> None:
    results = json.loads((ASSETS / "capstone" / "results.json").read_text(encoding="utf-8"))
    best = min(table["test"]["per"] for table in results["by_table"])
    text = read("solutions", SLUG).cells[0].source
    assert f"uses no network, has {best:.1%}" in text
    rate = json.loads((ASSETS / "g2p" / "results.json").read_text(encoding="utf-8"))["test"]["per"]
    assert f"The model that ships with the course has a PER of {rate:.1%}" in text


def test_two_cells_have_all_the_points() -> None:
    graded = [cell for cell in read("solutions", SLUG).cells if utils.is_grade(cell)]
    assert [(cell.id, cell.metadata.nbgrader.points) for cell in graded] == [
        ("check", POINTS),
        ("check-report", REPORT_POINTS),
    ]
    assert all(map(utils.is_locked, graded))
    text = read("exercises", SLUG).cells[0].source
    total = POINTS + REPORT_POINTS
    assert f"{total} points: {POINTS} for these predictions, and {REPORT_POINTS} for a" in text


def test_the_exercise_shows_the_form_of_the_report() -> None:
    text = {cell.id: cell.source for cell in read("exercises", SLUG).cells}["report-text"]
    assert f"```json\n{as_text(EXAMPLE)}```" in text


def test_no_predictions_are_released() -> None:
    # nbgrader would put them in the place of every student's own.
    for folder in ("solutions", "exercises"):
        assert [path.name for path in (ROOT / folder / SLUG).iterdir() if path.is_file()] == [
            "capstone.ipynb"
        ]


@pytest.mark.weekly
def test_the_recipe_of_the_solution_is_that_of_the_model_that_ships(tmp_path: Path) -> None:
    """What it scores is in the results file; here it only has to run, on a few words."""
    cells = {cell.id: cell for cell in read("solutions", SLUG).cells}
    shell = Shell()
    for name in ("imports", "mine"):
        assert shell.run(cells[name].source).error is None
    # Its settings, with less to do.
    few = "from functools import partial\nTrainingConfig = partial(TrainingConfig, save_every=1)"
    short = cells["mine"].source.replace("epochs=32", "epochs=1")
    short = short.replace('"run"', repr(str(tmp_path)))
    assert short != cells["mine"].source
    for source in (few, short, "few = make_examples(load_cmudict('dev')[:40])"):
        assert shell.run(source).error is None
    outcome = shell.run("mine(few).model.config")
    assert outcome.error is None
    assert outcome.value == MODEL_CONFIG == load_g2p().model.config
    assert len(make_examples(load_cmudict("dev")[:40])) >= 40
    assert (tmp_path / "last.pt").exists()


# --- a student runs the baseline --------------------------------------------------------------


def run(notebook: NotebookNode, folder: Path) -> dict[str, str]:
    """Run a notebook in a folder; return what each cell printed."""
    NotebookClient(
        notebook,
        timeout=COMMAND_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    ).execute()
    return {
        cell.id: "".join(output.get("text", "") for output in cell.outputs)
        for cell in notebook.cells
        if cell.cell_type == "code"
    }


def with_a_change() -> NotebookNode:
    """The released notebook with the solution's change, and nothing else of it."""
    notebook = read("exercises", SLUG)
    solved = {cell.id: cell.source for cell in read("solutions", SLUG).cells}
    for cell in notebook.cells:
        if cell.id == "my-change":
            cell.source = solved[cell.id]
    return notebook


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str], float]:
    """The folder of a student who named a change and ran all, what it printed, and its seconds."""
    folder = tmp_path_factory.mktemp("my-work")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in EXECUTION_ENVIRONMENT.items():
            patch.setenv(name, value)
        patch.delenv("NBGRADER_EXECUTION", raising=False)
        printed = run(with_a_change(), folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return folder, printed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.weekly
def test_the_baseline_reaches_the_first_step_and_leaves_the_others(
    finished: tuple[Path, dict[str, str], float],
) -> None:
    _, printed, seconds = finished
    assert f"Points: {STEPS[0].points} of {POINTS}" in printed["check"]
    assert f"{STEPS[1].points} points are for a PER of" in printed["check"]
    assert "On the dev words:\n1,266 words: PER" in printed["train"]
    # Of one core, the start of the kernel included; it takes about 60.
    assert seconds < 180


@pytest.mark.weekly
def test_the_report_of_the_small_runs_has_all_its_points(
    finished: tuple[Path, dict[str, str], float],
) -> None:
    folder, printed, _ = finished
    assert printed["ablation"].count("PER") == 6 + 1  # and the one in the file
    assert printed["check-report"].rstrip().endswith(f"Points: {REPORT_POINTS} of {REPORT_POINTS}")
    # Half the batches, and so twice the steps: in runs as short as these nobody misses that.
    assert json.loads((folder / REPORT_FILE).read_text())["verdict"] == "better"


@pytest.mark.weekly
def test_without_a_change_the_rest_of_the_notebook_runs(
    finished: tuple[Path, dict[str, str], float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    (tmp_path / FILE).write_bytes((finished[0] / FILE).read_bytes())
    printed = run(read("exercises", SLUG), tmp_path)
    assert f"Points: {STEPS[0].points} of {POINTS}" in printed["check"]
    assert "there is no such file" in printed["check-report"]
    assert f"Points: 0 of {REPORT_POINTS}" in printed["check-report"]


@pytest.mark.weekly
def test_it_leaves_two_files_and_does_not_train_again(
    finished: tuple[Path, dict[str, str], float], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, first, _ = finished
    assert sorted(path.name for path in folder.iterdir()) == sorted([FILE, REPORT_FILE])
    before = [(folder / name).read_bytes() for name in (FILE, REPORT_FILE)]
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    monkeypatch.chdir(folder)
    shell = Shell()
    again = {
        cell.id: shell.run(cell.source)
        for cell in with_a_change().cells
        if cell.cell_type == "code"
    }
    assert not [name for name, outcome in again.items() if outcome.error is not None]
    assert again["train"].printed.startswith("Not trained: predictions.csv is there.")
    assert again["check"].printed.rstrip() == first["check"].rstrip()
    assert again["check"].value == float(STEPS[0].points)
    assert again["ablation"].printed.startswith("Not trained: ablation.json is there.")
    assert again["check-report"].value == float(REPORT_POINTS)
    assert [(folder / name).read_bytes() for name in (FILE, REPORT_FILE)] == before


# --- and hands it in --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def course(
    tmp_path_factory: pytest.TempPathFactory, finished: tuple[Path, dict[str, str], float]
) -> Course:
    """One student hands in the files, one broken files, and one only the notebook."""
    report = (finished[0] / REPORT_FILE).read_text(encoding="utf-8")
    predictions = (finished[0] / FILE).read_text(encoding="utf-8")
    files = {
        "all": {FILE: predictions, REPORT_FILE: report},
        "broken": {
            FILE: predictions.replace("\naa", "\nbb", 1),
            REPORT_FILE: report.replace("better", "worse"),
        },
        "none": {},
    }
    course = new_course(tmp_path_factory.mktemp("course"), SLUG)
    for student, handed_in in files.items():
        course.hand_in(student, read("exercises", SLUG))
        for name, text in handed_in.items():
            (course.submission(student) / name).write_text(text, encoding="utf-8")
    course.nbgrader("autograde", SLUG)
    course.nbgrader("generate_feedback", SLUG)
    course.nbgrader("export", "--to", "course/grades.csv")
    return course


@pytest.mark.weekly
@pytest.mark.slow
@pytest.mark.sandbox
def test_nbgrader_gives_the_points_of_the_files(course: Course) -> None:
    first, lost = STEPS[0].points, 1
    points = {"all": first + REPORT_POINTS, "broken": REPORT_POINTS - lost, "none": 0.0}
    assert course.points() == points
    assert "Traceback" not in course.said
    assert "ERROR" not in course.said


@pytest.mark.weekly
@pytest.mark.slow
@pytest.mark.sandbox
def test_feedback_says_why_there_are_no_points(course: Course) -> None:
    # The words in quotes come out as in HTML.
    assert "is none of the 12,526 words asked for" in course.feedback("broken")
    assert "no line for the word" in course.feedback("broken")
    assert "there is no such file" in course.feedback("none")
    assert "5 points are for a PER of 20% or less" in course.feedback("all")
    assert "two standard errors are" in course.feedback("broken")


@pytest.mark.weekly
@pytest.mark.slow
@pytest.mark.sandbox
def test_nothing_is_trained_while_it_is_graded(course: Course) -> None:
    for student in ("all", "broken", "none"):
        assert "Not trained: while the notebook is graded" in course.feedback(student)
        assert "step 100 of" not in course.feedback(student)
        assert "seed 0: PER" not in course.feedback(student)
    assert not [*course.root.glob("course/autograded/none/capstone/*.[cj]s*")]
