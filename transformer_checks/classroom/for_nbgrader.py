"""What is done to a submission beside what nbgrader does: ``nbgrader_config.py`` names the classes.

Submissions are rebuilt from the release, by what ``make grade`` rebuilds them with.
A graded cell that gives no number has none, where nbgrader would give all.
Only nbgrader imports this module.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

from docutils.utils.math.latex2mathml import tex2mathml
from jinja2 import FileSystemLoader, pass_context
from nbconvert.exporters import NotebookExporter
from nbconvert.exporters.exporter import ResourcesDict
from nbconvert.exporters.html import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader import utils
from nbgrader.api import MissingEntry
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors.base import NbGraderPreprocessor
from traitlets import Bool, Enum, Unicode, default

from transformer_checks.classroom.judge import Graded
from transformer_checks.classroom.results import (
    keep_result,
    key_of,
    load_result,
    make_result,
)
from transformer_checks.classroom.sandbox import SANDBOXES, NoSandbox
from transformer_checks.classroom.seeds import cells_to_grade
from transformer_checks.classroom.submission import (
    REBUILT,
    RELEASED,
    files_beside,
    mark_of,
    read_submission,
    released_notebook,
    write_submission,
)
from transformer_checks.judging.texts import printable

Converted = tuple[NotebookNode, ResourcesDict]


class SubmissionExporter(NotebookExporter):
    """Let ``nbgrader autograde`` read submissions as ``make grade`` does.

    nbgrader makes its exporter when it has found the submissions, and before it reads any.
    So here they are read, rebuilt from the release, and written to another folder; the converter,
    which is the parent, then reads that folder in place of the one where they were handed in.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        if isinstance(self.parent, Autograde):
            _rebuild_submissions(self.parent)


def _rebuild_submissions(converter: Autograde) -> None:
    """Rebuild the submissions that a converter has found, and let it convert these."""
    found, course = converter.assignments, converter.coursedir
    assert course is not None  # nbgrader has found the submissions with it
    slug = course.assignment_id
    try:
        release = released_notebook(course, slug)
    except (MissingEntry, OSError) as error:
        why = f"{slug} is not released. First: nbgrader generate_assignment {slug} --force"
        converter.log.error("%s", why)  # nbgrader's command does not show the exception
        raise NbGraderException(why) from error
    options = {name: getattr(course, name) for name in course.trait_names(config=True)}
    # A copy, since formgrader keeps its own for as long as it runs.
    rebuilt = CourseDirectory(parent=converter, **{**options, "submitted_directory": REBUILT})
    converter.assignments = {}
    for folder in map(Path, found):
        student = folder.parent.name
        submission = read_submission(folder, release, slug)
        if submission.problem or submission.remark:
            said = printable(" ".join(filter(None, [submission.problem, submission.remark])))
            converter.log.warning("%s: %s", printable(student), said)
        place = Path(rebuilt.format_path(REBUILT, student, slug))
        mark_of(place).unlink(missing_ok=True)  # `make grade` looks again at what is written now
        try:
            write_submission(submission, slug, folder, place)
        except OSError as error:  # it must not stop the grading of the others
            converter.log.error("%s is not graded: %s", printable(student), error)
            continue
        converter.assignments[str(place)] = [str(place / f"{slug}.ipynb")]
    converter.coursedir = rebuilt


class GradeInSandbox(NbGraderPreprocessor):
    """Execute what students wrote in a sandbox, and the checks outside of it.

    What ``make grade`` has executed before is taken from its result.
    """

    unsafe_no_sandbox = Bool(
        False, help="Execute student code without a sandbox, with all rights of who grades."
    ).tag(config=True)
    sandbox = Enum([*SANDBOXES], "bubblewrap", help="What student code is executed in.").tag(
        config=True
    )
    results_directory = Unicode("course/results", help="Where results are kept.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> Converted:
        """Fill in the outputs of all code cells."""
        sandbox = NoSandbox() if self.unsafe_no_sandbox else SANDBOXES[self.sandbox]()
        if self.unsafe_no_sandbox:
            self.log.warning("Student code is executed WITHOUT A SANDBOX, with your rights.")
        files = files_beside(Path(resources["metadata"]["path"]))
        results, student = Path(self.results_directory), resources["nbgrader"]["student"]
        cells = cells_to_grade(nb, results, student)
        key = key_of(cells, files, sandbox)
        graded = load_result(results, key)
        if graded is None:
            sandbox.require()
            graded = make_result(cells, files, sandbox)
            keep_result(results, key, graded)
        _fill_in(nb, graded)
        return nb, resources


def _fill_in(notebook: NotebookNode, graded: Graded) -> None:
    """Write the results of cells as their outputs, as a kernel would."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for count, (cell, result) in enumerate(zip(cells, graded.cells, strict=True), start=1):
        cell.execution_count, cell.outputs = count, []
        if result.printed:
            cell.outputs.append(new_output("stream", name="stdout", text=result.printed))
        if result.error:
            name, _, said = result.error.partition(": ")
            shown = [result.error]
            cell.outputs.append(new_output("error", ename=name, evalue=said, traceback=shown))
        if result.value:
            text = {"text/plain": result.value}
            cell.outputs.append(new_output("execute_result", text, execution_count=count))


class RequirePoints(NbGraderPreprocessor):
    """Give 0 to a graded cell whose last value is not a number from 0 to its points.

    nbgrader gives all points for None, False, NaN or -1, and loses the submission for too many.
    """

    def preprocess_cell(
        self, cell: NotebookNode, resources: ResourcesDict, cell_index: int
    ) -> Converted:
        """Make an error of a value that is no number of points."""
        if not utils.is_grade(cell) or cell.cell_type != "code" or utils.is_solution(cell):
            return cell, resources
        results = [out for out in cell.outputs if out.output_type == "execute_result"]
        values = [result.data.get("text/plain") for result in results]
        if not utils.has_failed(cell) and not _is_points(values, cell.metadata.nbgrader.points):
            said = "This cell scores 0: it did not end with a number of points."
            error = new_output("error", ename="NoPoints", evalue=said, traceback=[said])
            cell.outputs.insert(0, error)
        return cell, resources


class FeedbackPage(HTMLExporter):
    """The page that students get back: nbgrader's, with what ``feedback.html.j2`` changes.

    It needs no network: formulas are MathML, which browsers show, and not text for MathJax, which
    nbgrader's template takes from outside.
    """

    @default("template_file")
    def _template_file_default(self) -> str:
        return "feedback.html.j2"

    @default("extra_loaders")
    def _extra_loaders_default(self) -> list[FileSystemLoader]:
        return [FileSystemLoader(Path(__file__).parent)]

    @pass_context
    def markdown2html(self, context: Any, source: str) -> str:
        """Write the text of a cell as HTML."""
        return markdown2html(context, source)

    def from_notebook_node(  # type: ignore[override]  # as HTMLExporter's own
        self, nb: NotebookNode, resources: Any | None = None, **options: Any
    ) -> tuple[str, dict[str, Any]]:
        """Write the page, without what would load MathJax."""
        page, resources = super().from_notebook_node(nb, resources, **options)
        return _MATHJAX.sub("", page), resources


_MATHJAX = re.compile(
    "<!-- Loading mathjax macro -->.*?<!-- End of mathjax configuration -->", re.DOTALL
)


class _WithFormulas(IPythonRenderer):
    """Writes formulas as MathML."""

    def block_math(self, body: str) -> str:
        return _formula(body, as_block=True)

    def inline_math(self, body: str) -> str:
        return _formula(body, as_block=False)


class _OfStudents(_WithFormulas):
    """Writes Markdown of which nothing acts: no HTML, no picture, no link but to a page."""

    def __init__(self) -> None:
        super().__init__(escape=True, allow_harmful_protocols=False, exclude_anchor_links=True)

    def link(self, text: str, url: str, title: str | None = None) -> str:
        if not _LINK.match(url):
            return f"{text} ({escape(url)})"
        return f'<a href="{escape(url)}" rel="noreferrer">{text}</a>'

    def image(self, text: str, url: str, title: str | None = None) -> str:
        return f"[picture: {text}]"

    def block_mermaidjs(self, code: str) -> str:
        return f"<pre>{escape(code)}</pre>"


_LINK = re.compile(r"https?://[!-~]*\Z", re.IGNORECASE)


@pass_context
def markdown2html(context: Any, source: str) -> str:
    """Write the text of a cell as HTML: all that the course wrote, and of a student's the text.

    Args:
        context: of the template; a cell without the metadata that a release gives is a student's.
        source: Markdown.

    Returns:
        HTML.
    """
    cell = context.get("cell") or {}
    if cell.get("metadata", {}).get(RELEASED) is True:
        renderer = _WithFormulas(escape=False, attachments=cell.get("attachments", {}))
    else:
        renderer = _OfStudents()
    return MarkdownWithMath(renderer).render(source)


def _formula(text: str, as_block: bool) -> str:
    known = re.sub(r"\\dots\b", r"\\ldots", re.sub(r"\\big\b", "", text))
    try:
        formula: str = tex2mathml(known, as_block=as_block)
    except (SyntaxError, ValueError):  # it stays as it was written
        return f"<code>{escape(text)}</code>"
    return f'<div class="formula">{formula}</div>' if as_block else formula


def _is_points(values: list[str | None], points: float) -> bool:
    try:
        (value,) = values
        return 0.0 <= float(value or "") <= points
    except ValueError:
        return False
