"""Settings of nbgrader: where assignments and a class's work lie, and how work is graded.

nbgrader reads this file from the folder in which its commands run.
Run them from the root of the repository, with the virtual environment active.
The guide for instructors in the book shows the commands in their order.
"""

import os
from pathlib import Path
from typing import Any

# Seconds that one cell may take before it is stopped.
CELL_TIMEOUT = 60

root = Path(__file__).resolve().parent
c = get_config()  # nbgrader puts this name here when it reads the file


def one_thread_per_kernel(**_: Any) -> None:
    """Make the kernels that grade use one thread each.

    With one thread per core, torch slows down many times over on a machine that is busy,
    and a right answer runs into the timeout.
    The setting is made when grading starts: JupyterLab may read this file too, and keeps all cores.
    """
    os.environ["OMP_NUM_THREADS"] = "1"


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
c.CourseDirectory.db_url = f"sqlite:///{root / 'course' / 'gradebook.db'}"

# What stands in an exercise where the solution was.
c.ClearSolutions.code_stub = {
    "python": "# YOUR CODE HERE\n"
    'raise NotImplementedError("Not done yet: put your code in the place of this line.")'
}

# A check that a student deleted comes back, and is graded.
c.OverwriteCells.add_missing_cells = True

# A line on stderr in a cell with points would score 0, a harmless warning included.
# The points come from the value of the cell, and an error is still an error.
c.IgnorePattern.enabled = True
c.IgnorePattern.pattern = "(?s)."

# The file that a student hands in counts, also where one lies beside the source by mistake.
c.Autograde.exclude_overwriting = {"capstone": ["predictions.csv"]}

c.Autograde.pre_convert_hook = one_thread_per_kernel
c.Execute.timeout = CELL_TIMEOUT
c.Execute.iopub_timeout = 30
c.Execute.error_on_timeout = {
    "ename": "CellTimeoutError",
    "evalue": f"stopped after {CELL_TIMEOUT} seconds",
    "traceback": [
        f"This cell was stopped: it gave no answer within {CELL_TIMEOUT} seconds. "
        "Look for a loop that does not end. The cell scores 0."
    ],
}
