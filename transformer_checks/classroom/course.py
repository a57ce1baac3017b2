"""The work of a class on an assignment: read, graded by several processes, and written.

Everybody's work is rebuilt from the release, executed in sandboxes on all cores or on a cluster,
and kept in a file of its own; nbgrader writes the gradebook, in this process alone.
A run that was stopped goes on where it was: what has a result, and what nbgrader has, stays.
"""

from __future__ import annotations

import csv
import ctypes
import gc
import glob
import io
import multiprocessing
import re
import resource
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    as_completed,
)
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from nbconvert.exporters import NotebookExporter
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.apps.api import NbGraderAPI
from nbgrader.apps.baseapp import NbGrader
from nbgrader.coursedir import CourseDirectory
from tqdm import tqdm

from transformer_checks.classroom.alike import find_alike
from transformer_checks.classroom.judge import Cell, Graded
from transformer_checks.classroom.results import (
    keep_result,
    key_of,
    load_result,
    make_result_of,
)
from transformer_checks.classroom.roster import read_roster
from transformer_checks.classroom.sandbox import NoSandbox, Sandbox
from transformer_checks.classroom.seeds import cells_to_grade
from transformer_checks.classroom.submission import (
    REBUILT,
    Submission,
    files_beside,
    mark_of,
    read_submission,
    released_notebook,
    write_submission,
)
from transformer_checks.judging.texts import printable
from transformer_checks.limits import JUDGE_MEMORY_BYTES
from transformer_ref.files import write_text

UNUSABLE_IN_ID = re.compile(r"[][*?{}/\\\x00-\x1f\x7f]")
ROSTER = "roster.csv"  # beside nbgrader's settings
PARENT_DEATH_SIGNAL = 1  # Linux's number, from prctl.h

Work = tuple[list[Cell], dict[str, bytes]]  # what a result is made from
Started = dict[Future[dict[str, Any]], str]  # and the name of each result that is being made


@dataclass
class Row:
    """A student in the class's table.

    Attributes:
        student: the name of the folder.
        folder: where the submission lies.
        submission: what is graded.
        key: the name of its result.
        graded: the result.
        problem: why there is none, or why the work could not be read.
        points: as nbgrader has them, with what may be had.
        penalty: the points that are lost for being late.
        written_as: what the gradebook's entry depends on; another one is written again.
        alike: by task, whose code it is, too; see :func:`find_alike`.
    """

    student: str
    folder: Path
    submission: Submission
    key: str = ""
    graded: Graded | None = None
    problem: str = ""
    points: tuple[float, float] = (0.0, 0.0)
    penalty: float = 0.0
    written_as: str = ""
    alike: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def reports_errors(self) -> Iterator[None]:
        """Make an error the problem of this row: it must not stop the grading of the others."""
        try:
            yield
        except Exception as error:
            self.problem = f"Not graded: {str(error) or type(error).__name__}."

    @property
    def remarks(self) -> str:
        """What somebody should look at."""
        ended = self.graded.ended if self.graded else []
        said = [self.problem, self.submission.remark, *dict.fromkeys(ended)]
        return printable(" ".join(filter(None, said)))


@dataclass
class Classroom:
    """The course's folders and gradebook, for one assignment.

    Attributes:
        slug: the assignment, and the name of its notebook.
        sandbox: where student code is executed.
        app: nbgrader, with the settings of the course.
        strangers: students who handed in and are not in the roster.
    """

    slug: str
    sandbox: Sandbox
    app: NbGrader
    strangers: list[str] = field(default_factory=list)

    @cached_property
    def course(self) -> CourseDirectory:
        """The folders of the course, as nbgrader names them."""
        return CourseDirectory(parent=self.app)

    @property
    def results(self) -> Path:
        """Where the results are kept."""
        return Path(self.course.root, "course", "results")

    @property
    def rebuilt(self) -> Path:
        """Where the submissions are that nbgrader reads."""
        return Path(self.course.root, REBUILT)

    def rows(self) -> list[Row]:
        """Read the work of everybody in the gradebook or the roster.

        Without a roster, of everybody who handed in, too: that somebody is in the gradebook may
        only say that an earlier run has graded them.
        """
        try:
            release = released_notebook(self.course, self.slug)
        except MissingEntry as error:
            raise SystemExit(
                f"The gradebook has no assignment {self.slug!r}. First: "
                f"nbgrader generate_assignment {self.slug} --force"
            ) from error
        with Gradebook(self.course.db_url, self.course.course_id) as gradebook:
            known = {str(student.id) for student in gradebook.students}
            due = gradebook.find_assignment(self.slug).duedate
        place = Path(self.course.root, self.course.submitted_directory)
        came = {path.parent.name for path in place.glob(f"*/{self.slug}")}
        roster = ids_in(Path(self.course.root, ROSTER))
        known |= came if roster is None else roster
        require_usable_ids([*known])
        self.strangers = sorted(came - known)
        rows = []
        for student in sorted(known):
            folder = place / student / self.slug
            submission = read_submission(folder, release, self.slug)
            row = Row(student, folder, submission, problem=submission.problem)
            row.written_as = f"handed in {submission.time}, due {due}"
            rows.append(row)
        alike = find_alike(
            {row.student: row.submission.notebook for row in rows}, release, self.slug
        )
        for row in rows:
            row.alike = alike[row.student]
        return rows

    def grade(self, rows: Sequence[Row], jobs: int, scheduler: str = "") -> None:
        """Make the results that are not there yet, in several processes; write each as it comes.

        Args:
            rows: the class.
            jobs: how many processes.
            scheduler: see :func:`open_pool`.
        """
        self.results.mkdir(parents=True, exist_ok=True)
        waiting: dict[str, list[Row]] = {}
        work: dict[str, Work] = {}
        for row in rows:
            with row.reports_errors():
                key, its_work = self._prepare(row)
                if row.graded is None:  # two with the same work share a result
                    waiting.setdefault(key, []).append(row)
                    work[key] = its_work
        with open_pool(jobs, scheduler) as pool:
            started = self._start(pool, work)
            for row in rows:
                self._write(row)
            lost = self._keep(started, waiting)
        # Whose work has ended a process is found by trying each of those that were lost with it.
        for key in lost:
            with open_pool(1) as pool:
                self._keep(self._start(pool, {key: work[key]}), waiting)
        self._read_points(rows)

    def _prepare(self, row: Row) -> tuple[str, Work]:
        """Write what nbgrader reads, and look for the result of it."""
        place = self.rebuilt / row.student / self.slug
        write_submission(row.submission, self.slug, row.folder, place)
        cells = cells_to_grade(row.submission.notebook, self.results, row.student)
        files = files_beside(place)
        row.key = key_of(cells, files, self.sandbox)
        row.written_as = f"{row.key}, {row.written_as}"
        row.graded = load_result(self.results, row.key)
        return row.key, (cells, files)

    def _start(self, pool: Executor, work: dict[str, Work]) -> Started:
        started: Started = {}
        for key, each in work.items():
            try:
                job = pool.submit(make_result_of, key, *each, self.sandbox)
            except BrokenExecutor as error:  # by one that was handed in before
                job = Future()
                job.set_exception(error)
            started[job] = key
        return started

    def _keep(self, started: Started, waiting: dict[str, list[Row]]) -> list[str]:
        """Keep each result as it comes, and write it; return what was lost with a process."""
        lost = []
        for job in tqdm(as_completed(started), total=len(started), unit="result"):
            key, graded = started[job], None
            for row in waiting[key]:
                with row.reports_errors():
                    row.problem = row.submission.problem
                    if graded is None:
                        graded = Graded.from_plain(job.result())
                        keep_result(self.results, key, graded)
                    row.graded = graded
                    self._write(row)
            if isinstance(job.exception(), BrokenExecutor):
                lost.append(key)
        return lost

    def _write(self, row: Row) -> None:
        """Let nbgrader write a result into the gradebook, where that does not have it yet."""
        with row.reports_errors():
            if row.graded is None or self._is_written(row):
                return
            said = self._nbgrader.autograde(self.slug, glob.escape(row.student))
            with self._log.open("a", encoding="utf-8", errors="backslashreplace") as log:
                log.write(f"{row.student}\n{said.get('log', '')}{said.get('error', '')}\n")
            if said["success"]:
                write_text(self._mark(row), row.written_as)

    @cached_property
    def _nbgrader(self) -> NbGraderAPI:
        """The commands of nbgrader, which find the rebuilt submissions where others lie."""
        unsafe = isinstance(self.sandbox, NoSandbox)
        option = {"unsafe_no_sandbox": True} if unsafe else {"sandbox": self.sandbox.name}
        self.app.config.GradeInSandbox.update(option)
        # They are rebuilt already, for the whole class.
        self.app.config.Autograde.exporter_class = NotebookExporter
        course = CourseDirectory(parent=self.app, submitted_directory=REBUILT)
        return NbGraderAPI(course, parent=self.app)

    @cached_property
    def _log(self) -> Path:
        path = self.results / f"{self.slug}.log"
        write_text(path, "")
        return path

    def _read_points(self, rows: Sequence[Row]) -> None:
        with Gradebook(self.course.db_url, self.course.course_id) as gradebook:
            for row in rows:
                # nbgrader takes away what it could not finish; an earlier score may still stand.
                if row.graded is None or not self._autograded(row).exists():
                    row.problem = row.problem or f"nbgrader did not grade it; see {self._log.name}."
                    continue
                found = gradebook.find_submission(self.slug, row.student)
                row.points = (float(found.score or 0.0), float(found.max_score or 0.0))
                row.penalty = float(found.late_submission_penalty or 0.0)

    def _autograded(self, row: Row) -> Path:
        return Path(self.course.root, self.course.autograded_directory, row.student, self.slug)

    def _mark(self, row: Row) -> Path:
        return mark_of(self.rebuilt / row.student / self.slug)

    def _is_written(self, row: Row) -> bool:
        mark = self._mark(row)
        if not mark.exists() or mark.read_text("utf-8") != row.written_as:
            return False
        with Gradebook(self.course.db_url, self.course.course_id) as gradebook:
            try:
                gradebook.find_submission(self.slug, row.student)
            except MissingEntry:  # perhaps it is another gradebook than last time
                return False
        return self._autograded(row).exists()


def require_usable_ids(students: Sequence[str]) -> None:
    """Refuse student ids that nbgrader takes for patterns of file names: it would lose their work.

    Args:
        students: their ids, from the roster, or from the names of folders.

    Raises:
        SystemExit: naming the ids, and what they may not have.
    """
    unusable = [name for name in students if UNUSABLE_IN_ID.search(name) or name.startswith(".")]
    if unusable:
        raise SystemExit(
            f"Student ids must not have any of [ ] * ? {{ }} / \\ or control characters, nor begin "
            f"with a dot; got {', '.join(map(repr, sorted(set(unusable))))}. Change them in the "
            "roster, or rename the folders."
        )


def ids_in(roster: Path) -> set[str] | None:
    """Return the student ids of a roster; None if there is no such file.

    Raises:
        SystemExit: if it cannot be read, or has no column `id`.
    """
    if not roster.exists():
        return None
    try:
        return {student["id"] for student in read_roster(roster)}
    except (OSError, ValueError) as error:
        raise SystemExit(f"The roster cannot be read. {error}") from error


@contextmanager
def open_pool(jobs: int, scheduler: str = "") -> Iterator[Executor]:
    """Start what grades several submissions at once: processes here, or those of a cluster.

    Args:
        jobs: how many processes.
        scheduler: address of a Dask scheduler, whose workers are taken instead.

    Yields:
        the pool.

    Raises:
        SystemExit: if Dask is not installed, or no scheduler answers.
    """
    if not scheduler:
        # A fork has all that this process has loaded, and no submission has run in either.
        gc.freeze()  # which no collection has to go through, neither there nor at the end
        how = "fork" if sys.platform == "linux" else "spawn"
        context = multiprocessing.get_context(how)
        with ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin_to_judge) as pool:
            yield pool
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise SystemExit(
            "--scheduler needs Dask, which comes with an extra: pip install -e '.[cluster]'"
        ) from error
    try:
        client = Client(scheduler)
    except (OSError, ValueError) as error:
        raise SystemExit(
            f"--scheduler: no Dask scheduler answers at {scheduler}: {error}"
        ) from error
    with client, client.get_executor(pure=False) as pool:
        print(f"{len(client.nthreads())} workers at {scheduler}", file=sys.stderr)
        yield pool


def _begin_to_judge() -> None:
    """Limit the memory of this process, and let it end with that which started it, on Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
        most = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (JUDGE_MEMORY_BYTES, most))


def table(rows: Sequence[Row]) -> str:
    """Return the class as a table for people: points, seconds, and what to look at.

    The column "alike" counts the tasks with the code of the package or a classmate; lines below
    the table say whose it is.
    """
    lines = [f"{'student':<24}{'points':>10}{'late':>7}{'seconds':>9}{'alike':>7}  remarks"]
    for row in rows:
        points = f"{row.points[0]:g}/{row.points[1]:g}"
        seconds = f"{row.graded.seconds:.1f}" if row.graded else ""
        name, late = printable(row.student), f"-{row.penalty:g}" if row.penalty else ""
        alike = str(len(row.alike) or "")
        line = f"{name:<24}{points:>10}{late:>7}{seconds:>9}{alike:>7}  {row.remarks}"
        lines.append(line.rstrip())
    for row in rows:
        if row.alike:
            lines.append(f"The same code: {printable(row.student)} as {_whose(row)}")
    return "\n".join(lines)


def table_as_csv(rows: Sequence[Row]) -> str:
    """Return the class as comma-separated values."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    head = ["student", "points", "of", "sandbox", "seconds", "peak_bytes", "remarks", "penalty"]
    head.append("alike")
    writer.writerow(head)
    for row in rows:
        graded = row.graded or Graded()
        numbers = [*row.points, graded.sandbox, graded.seconds, graded.peak_bytes]
        others = [row.remarks, row.penalty, _whose(row)]
        writer.writerow([printable(row.student), *numbers, *others])
    return out.getvalue()


def _whose(row: Row) -> str:
    """Say whose code it is, too, such as "the package (find-the-bug); ann (split-heads)"."""
    tasks: dict[str, list[str]] = {}
    for task, who in row.alike.items():
        tasks.setdefault(who, []).append(task)
    return printable("; ".join(f"{who} ({', '.join(each)})" for who, each in tasks.items()))
