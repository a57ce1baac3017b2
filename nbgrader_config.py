"""Settings of nbgrader: where assignments and a class's work lie, and how work is graded.

nbgrader reads this file from the folder in which its commands run.
Run them from the root of the repository, with the virtual environment active.
The guide for instructors in the book shows the commands in their order.
"""

import atexit
import csv
import glob
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from nbconvert.preprocessors import ClearMetadataPreprocessor
from nbgrader import preprocessors
from nbgrader.apps.dbapp import DbGenericImportApp, DbStudentImportApp

from transformer_checks import limits
from transformer_checks.classroom.roster import read_roster

root = Path(__file__).resolve().parent
if glob.escape(str(root)) != str(root):
    # nbgrader would take [ ] * ? in the path for a pattern; by a link, the path has none.
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    link = Path(folder, "course")
    link.symlink_to(root)
    root = link
c = get_config()  # nbgrader puts this name here when it reads the file


def seconds_for(cell: Any) -> float:
    """Return how long a cell may take: one with a check longer than one without."""
    if cell.metadata.get("nbgrader", {}).get("grade"):
        return limits.check_cell_seconds(limits.time_limit())
    return limits.FREE_CELL_SECONDS


# solutions/attention/attention.ipynb makes exercises/attention/attention.ipynb.
# What belongs to a class (gradebook, submissions, feedback) lies under course/, out of git.
c.CourseDirectory.root = str(root)
c.CourseDirectory.course_id = "transformer"
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"
c.CourseDirectory.submitted_directory = "course/submitted"
c.CourseDirectory.autograded_directory = "course/autograded"
c.CourseDirectory.feedback_directory = "course/feedback"
c.CourseDirectory.solution_directory = "course/solution"
c.CourseDirectory.source_with_tests_directory = "course/source_with_tests"
c.ZipCollectApp.downloaded_directory = "course/downloaded"
# Those who grade together keep the gradebook in PostgreSQL; an address with a password stays out of
# git, and so comes from the environment.
c.CourseDirectory.db_url = os.environ.get(
    "GRADEBOOK_URL", f"sqlite:///{root / 'course' / 'gradebook.db'}"
)

# What stands in an exercise where the solution was.
c.ClearSolutions.code_stub = {
    "python": '# YOUR CODE HERE\nraise NotImplementedError("Not done yet: put your code here.")'
}

# Submissions are rebuilt from the release when they are read, as `make grade` does it: there is
# nothing left to sanitize.
HERE = "transformer_checks.classroom.for_nbgrader"
c.Autograde.exporter_class = f"{HERE}.SubmissionExporter"
c.Autograde.sanitize_preprocessors = []
# The rest of the list is nbgrader's own.
c.Autograde.autograde_preprocessors = [
    f"{HERE}.GradeInSandbox",
    preprocessors.IgnorePattern,
    f"{HERE}.RequirePoints",
    ClearMetadataPreprocessor,
    preprocessors.LimitOutput,
    preprocessors.SaveAutoGrades,
    preprocessors.AssignLatePenalties,
    preprocessors.CheckCellMetadata,
]

# A line on stderr in a cell with points would score 0, a harmless warning included.
# The points come from the value of the cell, and an error is still an error.
c.IgnorePattern.enabled = True
c.IgnorePattern.pattern = "(?s)."

# The files that a student hands in count, also where some lie beside the source by mistake.
c.Autograde.exclude_overwriting = {"capstone": ["predictions.csv", "ablation.json"]}

c.GenerateFeedback.exporter_class = f"{HERE}.FeedbackPage"
# Formgrader's pages show what students wrote, too.
c.HTMLExporter.filters = {"markdown2html": f"{HERE}.markdown2html"}

c.GradeInSandbox.results_directory = str(root / "course" / "results")

# `nbgrader validate`, with which students try their own notebook, executes it in a kernel.
c.Execute.timeout_func = seconds_for
c.Execute.iopub_timeout = 30
c.Execute.error_on_timeout = {
    "ename": "CellTimeoutError",
    "evalue": "stopped, as its time was up",
    "traceback": [
        "This cell was stopped: it did not end in the time that a cell has. "
        "Look for a loop that does not end. The cell scores 0."
    ],
}


def import_roster(app: DbStudentImportApp) -> None:
    """Import a roster as Excel saves it: with a byte order mark, and in German with semicolons."""
    if len(app.extra_args) != 1 or not Path(app.extra_args[0]).is_file():
        DbGenericImportApp.start(app)  # which says what is missing
        return
    try:
        students = read_roster(Path(app.extra_args[0]))
    except ValueError as error:
        app.fail(str(error))
    with tempfile.TemporaryDirectory() as folder:
        # nbgrader takes commas only, and reads in the system's encoding.
        plain = Path(folder, "roster.csv")
        with plain.open("w", newline="") as file:
            writer = csv.DictWriter(file, [*students[0]] if students else ["id"])
            writer.writeheader()
            writer.writerows(students)
        app.extra_args = [str(plain)]
        DbGenericImportApp.start(app)


DbStudentImportApp.start = import_roster
