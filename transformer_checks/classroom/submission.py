"""Rebuild what a student handed in from the release: only what students may write is taken over.

So nothing comes of points that were edited, of checks that were deleted or changed, of marks that
were lost, doubled or made up, and no notebook can stop the grading of the others.
"""

from __future__ import annotations

import json
import re
import shutil
import stat
from collections import defaultdict
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell
from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import parse_utc

from transformer_checks.classroom.judge import Cell
from transformer_checks.judging.texts import encodable, printable
from transformer_checks.limits import SUBMISSION_NOTEBOOK_BYTES, SUBMISSION_OTHER_BYTES
from transformer_ref.files import write_text

# nbgrader's own: by one it knows what came late, by the other whose feedback it is.
TIMESTAMP, SECRET = "timestamp.txt", "submission_secret.txt"
# nbgrader writes its times so. Of 02.03.2027 nobody can say which is the month.
TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d")
# Where the submissions are that nbgrader reads. Relative to the course: nbgrader makes a regular
# expression of it, in which it escapes the root alone.
REBUILT = "course/rebuilt"
# Metadata of a cell whose text is the course's own, on which a page of feedback may rely.
RELEASED = "transformer_ref_released"
# Not part of a submission, as nbgrader has it.
IGNORED = tuple(CourseDirectory().ignore)


class UnreadableError(ValueError):
    """A submission cannot be read; the text says what to do."""


@dataclass(frozen=True)
class Submission:
    """A submission as it is graded.

    Attributes:
        notebook: the release with the student's work in it.
        problem: why nothing of the student's work could be taken over, or "".
        remark: what else somebody should know, or "".
        files: what else was handed in.
        time: when it was handed in, as its file has it, or "".
    """

    notebook: NotebookNode
    problem: str = ""
    remark: str = ""
    files: tuple[Path, ...] = ()
    time: str = ""


def read_submission(folder: Path, release: NotebookNode, slug: str) -> Submission:
    """Read what lies in a student's folder.

    Args:
        folder: the folder of this student and assignment.
        release: the notebook that was handed out.
        slug: the assignment, and the name of its notebook.

    Returns:
        the submission; where it cannot be read the release without answers, and the reason.
    """
    try:
        if not folder.is_dir() or folder.is_symlink():
            raise UnreadableError("Nothing was handed in.")
        files = _files(folder)
        notebook = rebuild(release, _read(folder / f"{slug}.ipynb", files))
        others = tuple(path for path in files if path.suffix != ".ipynb")
        _require_few_bytes(others)
        times = [path for path in others if path.relative_to(folder).parts[0] == TIMESTAMP]
        time, remark = _read_time(times)
        if remark:
            others = tuple(path for path in others if path not in times)
        return Submission(notebook, remark=remark, files=others, time=time)
    except Exception as error:  # whatever it holds, it must not stop the grading of the others
        known = isinstance(error, UnreadableError)
        why = str(error) if known else f"It cannot be read ({error}). Ask for the file again."
        problem = printable(why)
        notebook = _copy_of(release)
        # As code, since what it quotes, such as the name of a file, may be Markdown or HTML.
        said = f"**This work could not be graded.**\n\n    {problem}"
        notebook.cells.insert(0, new_markdown_cell(said))
        return Submission(notebook, problem=problem)


def rebuild(release: NotebookNode, submitted: NotebookNode) -> NotebookNode:
    """Put a student's work into a copy of the release.

    Taken over are the sources of the cells that students fill in, wherever they were moved to, and
    of all code cells of their own, which stay behind the cell that they stood behind.
    Where a cell was split or copied, all parts count, in their order.

    Args:
        release: the notebook that was handed out.
        submitted: what came back.

    Returns:
        the notebook to grade.

    Raises:
        UnreadableError: if no cell of the release is found in it.
    """
    frame = _copy_of(release)
    cells = {_name(cell): cell for cell in frame.cells}
    found, own = defaultdict(list), defaultdict(list)
    last = ""
    for cell in submitted.cells:
        name = _name(cell)
        if name in cells:
            last = name
            found[name].append(cell.source)
        elif cell.cell_type == "code":
            own[last].append(cell.source)
    if not found:
        raise UnreadableError(
            "Its cells have neither names nor nbgrader's marks, so no answer can be told from "
            "another. Ask for the notebook as Jupyter saved it, made from the released one."
        )
    rebuilt = [new_code_cell(source) for source in own[""]]
    for cell in frame.cells:
        name = _name(cell)
        if _is_students(cell) and found[name]:
            *parts, cell.source = found[name]
            rebuilt += [new_code_cell(part) for part in parts if cell.cell_type == "code"]
        rebuilt += [cell, *(new_code_cell(source) for source in own[name])]
    frame.cells = rebuilt
    return frame


def released_notebook(course: CourseDirectory, slug: str) -> NotebookNode:
    """Read the notebook that was handed out, and put the hidden tests into it.

    Args:
        course: the folders of the course.
        slug: the assignment, and the name of its notebook.

    Returns:
        the release, with the cells that students cannot change as the gradebook has them.

    Raises:
        MissingEntry: if the gradebook does not have the assignment.
    """
    with Gradebook(course.db_url, course.course_id) as gradebook:
        found = gradebook.find_notebook(slug, slug)
        sources = {cell.name: cell.source for cell in found.source_cells}
    place = Path(course.root, course.release_directory, slug)
    notebook: NotebookNode = nbformat.read(place / f"{slug}.ipynb", as_version=4)
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        if marks.get("locked"):
            cell.source = sources.get(marks.get("grade_id"), cell.source)
    return notebook


def write_submission(submission: Submission, slug: str, source: Path, place: Path) -> None:
    """Write a rebuilt submission where nbgrader reads it, with the files beside it.

    Args:
        submission: what to write.
        slug: the assignment.
        source: the folder that it came from.
        place: the folder to write; what was there is replaced.
    """
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for path in submission.files:
        copy = place / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    write_text(place / f"{slug}.ipynb", nbformat.writes(submission.notebook))


def mark_of(place: Path) -> Path:
    """Return the file that says what the gradebook has of a rebuilt submission."""
    return place.with_name(f"{place.name}.written")


def code_cells(notebook: NotebookNode) -> list[Cell]:
    """Return the code cells of a notebook as they are graded."""
    return [
        Cell(cell.source, graded=_is_check(cell))
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def files_beside(folder: Path) -> dict[str, bytes]:
    """Return the files of a submission besides its notebook, by their paths."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in _files(folder)
        if path.suffix != ".ipynb" and path.name not in (TIMESTAMP, SECRET)
    }


def _files(folder: Path) -> list[Path]:
    """List the files of a submission, in its folders too, but for what nbgrader leaves out.

    Links and devices are left out as well.
    """
    found = sorted(path for path in folder.rglob("*") if stat.S_ISREG(path.lstat().st_mode))
    return [path for path in found if not _is_ignored(path.relative_to(folder))]


def _is_ignored(path: Path) -> bool:
    in_notebook = any(part.endswith(".ipynb") for part in path.parts[:-1])
    return in_notebook or any(fnmatch(part, name) for part in path.parts for name in IGNORED)


def _require_few_bytes(files: Sequence[Path]) -> None:
    if sum(path.lstat().st_size for path in files) > SUBMISSION_OTHER_BYTES:
        raise UnreadableError(
            f"The files beside the notebook have more than {SUBMISSION_OTHER_BYTES >> 20} MiB "
            "together. Ask for those that the assignment wants."
        )


def _read_time(files: Sequence[Path]) -> tuple[str, str]:
    """Read the file from which nbgrader has a submission's time: the time, and what is wrong.

    A folder of that name may hold several files. One of the two is always "".
    """
    if not files:
        return "", ""
    try:
        (timestamp,) = (path for path in files if path.name == TIMESTAMP)
        text = timestamp.read_text(encoding="utf-8").strip()
        parse_utc(text)
        time = text if TIME.match(text) else ""
    except Exception:  # what is in it came from outside
        time = ""
    wanted = "2027-03-02 18:00:00 UTC"
    why = f"{TIMESTAMP} holds no time in the form {wanted}, so it counts as handed in on time."
    return time, "" if time else why


def _read(path: Path, files: list[Path]) -> NotebookNode:
    if path not in files:
        others = [str(each.relative_to(path.parent)) for each in files if each.suffix == ".ipynb"]
        there = f"what came is {', '.join(others)}" if others else "no notebook came"
        raise UnreadableError(f"There is no {path.name}; {there}. Put it there, under this name.")
    if path.stat().st_size > SUBMISSION_NOTEBOOK_BYTES:
        most = SUBMISSION_NOTEBOOK_BYTES >> 20
        raise UnreadableError(f"{path.name} has more than {most} MiB. Clear its outputs.")
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors begin with a byte order mark
    except UnicodeDecodeError as error:
        raise UnreadableError(
            f"{path.name} is not UTF-8 ({error}). Ask for the file again."
        ) from error
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(
            f"{path.name} is cut off, or no JSON. Ask for the file again."
        ) from error
    try:
        notebook: NotebookNode = nbformat.reads(text, as_version=4)
        for cell in notebook.cells:
            if not isinstance(cell.source, str) or not isinstance(cell.metadata, dict):
                raise UnreadableError(f"{path.name} has a cell without a text. Ask for it again.")
            cell.source = encodable(cell.source)
        return notebook
    except UnreadableError:
        raise
    except Exception as error:  # of many kinds: nbformat trusts what it reads
        why = str(error) or type(error).__name__
        raise UnreadableError(
            f"{path.name} is no notebook ({why}). Ask for the file again."
        ) from error


def _copy_of(release: NotebookNode) -> NotebookNode:
    """Copy a release, and mark the cells whose text is the course's own."""
    copy = deepcopy(release)
    for cell in copy.cells:
        cell.metadata[RELEASED] = not _is_students(cell)
    return copy


def _name(cell: NotebookNode) -> str:
    """The name of a cell: nbgrader's, or Jupyter's, which a release gives each of its cells."""
    marks = cell.metadata.get("nbgrader")
    name = marks.get("grade_id") if isinstance(marks, dict) else None
    return str(name or cell.get("id", ""))


def _is_check(cell: NotebookNode) -> bool:
    marks = cell.metadata.get("nbgrader", {})
    return bool(marks.get("grade") and not marks.get("solution"))


def _is_students(cell: NotebookNode) -> bool:
    marks = cell.metadata.get("nbgrader", {})
    return bool(marks.get("solution") or (not marks and cell.cell_type == "code"))
