"""Copy the exercises into my-work/ and open JupyterLab there: `make lab`, or lab.py, runs this.

With them go instructions for coding assistants, from tools/students/.

A file that is in my-work/ already is never overwritten, whatever has become of the exercise.
An exercise that has changed since it was copied is named, and `--update` makes the new one in a
file of its own beside the old one, with the answers in it.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from mdit_py_plugins.anchors.index import slugify
from nbformat import NotebookNode

from tools import notebooks
from tools.inputs import ENGLISH
from tools.translated import translate_exercise
from transformer_checks.registry import SLUGS
from transformer_checks.translation import LANGUAGE_VARIABLE, languages
from transformer_ref.files import write_text

ROOT = Path(__file__).resolve().parent.parent
WORK = "my-work"
# Where Jupyter, IPython and matplotlib keep what they keep, which otherwise is the home folder.
SETTINGS = ".jupyter"
KEPT_HERE = {
    "IPYTHONDIR": "ipython",
    "JUPYTER_CONFIG_DIR": "config",
    "JUPYTER_DATA_DIR": "data",
    "MPLCONFIGDIR": "matplotlib",
}
# Our settings: labconfig/ turns off JupyterLab's question about news and what nbgrader adds for
# instructors; custom/ has styles, which JupyterLab reads from the student's folder only.
OURS = ROOT / "tools" / "jupyter"
SKIPPED = frozenset({".ipynb_checkpoints", "__pycache__"})

# In the metadata of a copied notebook: which state of the exercise it was made from.
RELEASE = "course_release"
# What stands in an exercise where an answer is to come.
UNSOLVED = 'raise NotImplementedError("Not done yet'
CHAPTER_LINK = re.compile(
    r"\]\(\.\./\.\./book/(?P<page>[\w/]+)\.(?P<kind>ipynb|md)(?:#(?P<at>[\w-]+))?\)"
)


# --- a copy of an exercise ------------------------------------------------------------------------


def working_link(found: re.Match[str], language: str = ENGLISH) -> str:
    """Return a link to a chapter as JupyterLab can follow it.

    It leads to the page of the built site, where there is one: Jupyter serves the site under
    /static.
    Otherwise it leads to the chapter's notebook or to the module that a page of the reference
    describes.
    JupyterLab has ids of its own for headings, so a section is named by its cell.
    """
    page, kind, at = found["page"], found["kind"], found["at"]
    fragment = f"#{at}" if at else ""
    own = "" if language == ENGLISH else f"{language}/"
    if (ROOT / "_build" / "html" / own / "book" / f"{page}.html").exists():
        return f"](/static/{own}book/{page}.html{fragment})"
    if page.startswith("api/"):
        module = page.removeprefix("api/")
        is_folder = (ROOT / "transformer_ref" / module).is_dir()
        return f"](../../transformer_ref/{module}{'/__init__' if is_folder else ''}.py)"
    if kind == "ipynb" and at:
        fragment = f"#cell-id={cell_with_heading(ROOT / 'book' / f'{page}.ipynb', at)}"
    return f"](../../book/{page}.{kind}{fragment})"


def cell_with_heading(chapter: Path, slug: str) -> str:
    """Return the id of the cell that holds a heading.

    Raises:
        ValueError: the chapter has no such heading.
    """
    for cell in notebooks.read(chapter).cells:
        if cell.cell_type == "markdown":
            headings = re.findall(r"^#+ +(.+)$", cell.source, re.MULTILINE)
            if slug in map(slugify, headings):
                return str(cell.id)
    raise ValueError(f"{chapter.name} has no heading with the anchor #{slug}")


def release_of(exercise: Path) -> str:
    """Return a name for the present state of an exercise."""
    return hashlib.sha256(exercise.read_bytes()).hexdigest()[:16]


def student_copy(exercise: Path, language: str = ENGLISH) -> NotebookNode:
    """Return an exercise as it goes to my-work/: its links work there, its release is in it."""
    notebook = notebooks.read(exercise)
    if language != ENGLISH:
        translate_exercise(notebook, exercise.stem, language)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            link = partial(working_link, language=language)
            cell.source = CHAPTER_LINK.sub(link, cell.source)
    notebook.metadata[RELEASE] = release_of(exercise)
    return notebook


def copy_new(source: Path, target: Path, language: str = ENGLISH) -> list[Path]:
    """Copy the files of a folder that are missing in another one.

    Args:
        source: the folder with the exercises.
        target: the folder of the student; made when it is missing.
        language: of the texts in notebooks.

    Returns:
        The copied files, relative to either folder.

    Raises:
        OSError: ``source`` does not exist, or a file cannot be written.
    """
    if not source.is_dir():
        raise FileNotFoundError(f"source: no folder {source}, expected the released exercises")
    copied = []
    for path in sorted(source.rglob("*")):
        name = path.relative_to(source)
        # lexists: also a dangling link is the student's own.
        if path.is_dir() or SKIPPED & set(name.parts) or os.path.lexists(target / name):
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".ipynb":
            notebooks.write(target / name, student_copy(path, language))
        else:
            temporary = (target / name).with_name(f".{name.name}.new")
            shutil.copyfile(path, temporary)
            temporary.replace(target / name)
        copied.append(name)
    return copied


# --- an exercise that has changed -----------------------------------------------------------------


def marks(cell: NotebookNode) -> NotebookNode:
    """Return nbgrader's metadata of a cell, empty where there is none."""
    return cell.metadata.get("nbgrader") or NotebookNode()


def has_changed(mine: Path, exercise: Path) -> bool:
    """Say whether an exercise has changed since a student's notebook was made from it.

    A notebook that does not say from which release it is has the cells that cannot be edited.
    """
    notebook = notebooks.read(mine)
    if RELEASE in notebook.metadata:
        return bool(notebook.metadata[RELEASE] != release_of(exercise))
    here = {marks(cell).get("grade_id"): cell.source for cell in notebook.cells}
    locked = [cell for cell in notebooks.read(exercise).cells if marks(cell).get("locked")]
    return any(here.get(marks(cell).grade_id) != cell.source for cell in locked)


def with_answers(new: NotebookNode, old: NotebookNode) -> NotebookNode:
    """Put the work in an older notebook into a new one.

    Args:
        new: the exercise as it is now; changed in place.
        old: the student's notebook. An answer that was split is in several cells of one name.

    Returns:
        The new notebook. It has the answers, what the student wrote in the cells that are free,
        and the cells that the student added, behind the cells that they stood behind.
    """
    place = {cell.id: index for index, cell in enumerate(new.cells)}
    named = {marks(cell).get("grade_id"): cell for cell in new.cells if marks(cell)}
    answers: dict[str, list[str]] = {}
    own: list[tuple[int, NotebookNode]] = []
    at = 0
    for cell in old.cells:
        name = str(marks(cell).get("grade_id"))
        at = place.get(named[name].id if name in named else cell.get("id"), at)
        counterpart = new.cells[at]
        if name in named or cell.get("id") in place:
            if marks(counterpart).get("solution") and UNSOLVED not in cell.source:
                answers.setdefault(name, []).append(cell.source)
            elif cell.cell_type == "code" and not marks(counterpart):
                counterpart.source = cell.source
        elif "id" in cell and not marks(cell) and not notebooks.has_readable_id(cell):
            own.append((at, cell))
    for name, sources in answers.items():
        named[name].source = "\n\n\n".join(sources)
    for index, cell in reversed(own):
        new.cells.insert(index + 1, cell)
    return new


def report_changes(exercises: Path, work: Path, update: bool, language: str = ENGLISH) -> None:
    """Say which exercises have changed; on request make the new ones beside the old."""
    changed = False
    for exercise in sorted(exercises.glob("*/*.ipynb")):
        mine = work / exercise.relative_to(exercises)
        new = mine.with_name(f"{mine.stem}-updated.ipynb")
        try:
            if not has_changed(mine, exercise):
                continue
            if not new.exists() and update:
                copy = student_copy(exercise, language)
                notebooks.write(new, with_answers(copy, notebooks.read(mine)))
        except (OSError, ValueError) as error:
            print(f"Not compared with the exercise: {error}")
            continue
        changed = True
        names = f"{WORK}/{mine.relative_to(work)}"
        if new.exists():
            print(f"{names} has changed since you started. {new.name} beside it is the new one,")
            print(f"  with your answers: look through it, and hand it in as {mine.name}.")
        else:
            print(f"{names} has changed since you started.")
    if changed and not update:
        print(
            "`uv run lab.py --update` makes the new ones beside yours, with your answers in them."
        )


# --- the command line -----------------------------------------------------------------------------


def first_exercise() -> str:
    """Return the path of the first exercise in my-work/, for an address."""
    return f"/{SLUGS[0]}/{SLUGS[0]}.ipynb"


def remembered_language(chosen: str | None) -> str:
    """Return the language that is chosen now, or was last time; English at first."""
    file = ROOT / SETTINGS / "language"
    if chosen:
        file.parent.mkdir(exist_ok=True)
        write_text(file, chosen)
    return file.read_text(encoding="utf-8") if file.is_file() else ENGLISH


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; where it can, JupyterLab replaces this process."""
    parser = argparse.ArgumentParser(prog="python -m tools.lab", description=__doc__)
    parser.add_argument("--copy-only", action="store_true", help="do not open JupyterLab")
    parser.add_argument(
        "--update", action="store_true", help="make exercises that changed beside your own"
    )
    parser.add_argument(
        "--language",
        choices=[ENGLISH, *languages()],
        help="of texts and messages, from now on; of notebooks that are in my-work/ already only "
        "the messages change",
    )
    options, rest = parser.parse_known_args(arguments)
    language = remembered_language(options.language)
    work = ROOT / WORK
    is_new = not work.exists()
    copied = copy_new(ROOT / "exercises", work, language)
    copied += copy_new(ROOT / "tools" / "students", work)
    print(f"{len(copied)} new files in {WORK}/; what was there already is as you left it.")
    report_changes(ROOT / "exercises", work, options.update, language)
    if options.copy_only:
        return 0
    # The root is the repository, so that links to the chapters open.
    command = [
        *(sys.executable, "-m", "jupyterlab"),
        f"--ServerApp.root_dir={ROOT}",
        f"--LabApp.default_url=/lab/tree/{WORK}{first_exercise() if is_new else ''}",
        f"--ServerApp.extra_static_paths={ROOT / '_build' / 'html'}",
        "--LabApp.custom_css=True",
        *rest,
    ]
    for variable, folder in KEPT_HERE.items():
        os.environ.setdefault(variable, str(ROOT / SETTINGS / folder))
    os.environ.setdefault("JUPYTER_CONFIG_PATH", str(OURS))
    os.environ[LANGUAGE_VARIABLE] = language
    styles = ROOT / SETTINGS / KEPT_HERE["JUPYTER_CONFIG_DIR"] / "custom"
    shutil.copytree(OURS / "custom", styles, dirs_exist_ok=True)
    os.chdir(work)
    sys.stdout.flush()
    if not hasattr(os, "fork"):  # Windows would start another process, and mistake spaces in a path
        return subprocess.run(command).returncode
    os.execv(sys.executable, command)


if __name__ == "__main__":
    sys.exit(main())
