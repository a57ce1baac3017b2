"""What is done to a submission beside what nbgrader does: ``nbgrader_config.py`` names the classes.

Students split, copy and delete cells, as one does in a notebook, and keep their points.
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
from nbconvert.exporters.exporter import ResourcesDict
from nbconvert.exporters.html import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode, from_dict
from nbformat.corpus.words import generate_corpus_id
from nbformat.v4 import new_output
from nbgrader import utils
from nbgrader.nbgraderformat.v3 import MetadataValidatorV3
from nbgrader.preprocessors.base import NbGraderPreprocessor
from nbgrader.preprocessors.deduplicateids import DeduplicateIds
from nbgrader.preprocessors.overwritecells import OverwriteCells
from traitlets import Bool, Enum, Unicode, default

from transformer_ref.checks.classroom.judge import Graded
from transformer_ref.checks.classroom.results import (
    keep_result,
    key_of,
    load_result,
    make_result,
)
from transformer_ref.checks.classroom.sandbox import SANDBOXES, NoSandbox
from transformer_ref.checks.classroom.seeds import course_secret, with_own_seeds
from transformer_ref.checks.classroom.submission import code_cells, files_beside

Converted = tuple[NotebookNode, ResourcesDict]


class MendMarks(DeduplicateIds):
    """Leave nbgrader's marks (its metadata) on one cell of each name, in the form of today.

    JupyterLab copies the marks when a cell is split or copied.
    The last cell of a name keeps them, as nbgrader has it.
    """

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> Converted:
        """Mend the marks of all cells."""
        for cell in nb.cells:
            marks = cell.metadata.pop("nbgrader", None)
            if isinstance(marks, dict) and marks.get("grade_id"):
                # nbgrader stops the whole run at another version, and says not at whose.
                marks["schema_version"] = MetadataValidatorV3.schema_version
                cell.metadata.nbgrader = marks
        return super().preprocess(nb, resources)


class RestoreCells(OverwriteCells):
    """Put back every cell that students cannot change, and not only the graded ones.

    An answer needs the imports above it.
    A task that was deleted with its answer has no points, and costs no others:
    nbgrader looks for the place of a check beside the answer, and fails without it.
    """

    def preprocess_cell(
        self, cell: NotebookNode, resources: ResourcesDict, cell_index: int
    ) -> Converted:
        """Make a cell without a name, such as a copy, one that is executed like any other.

        nbgrader takes the name from copies and from cells that are not in the gradebook, leaves
        the rest of the marks, and then fails for the whole submission.
        """
        cell, resources = super().preprocess_cell(cell, resources, cell_index)
        if not cell.metadata.get("nbgrader", {}).get("grade_id"):
            cell.metadata.pop("nbgrader", None)
        return cell, resources

    def add_missing_grade_cells(self, nb: NotebookNode, resources: ResourcesDict) -> Converted:
        """Add the missing cells, each behind the one that it stood behind."""
        released = self.gradebook.find_notebook(self.notebook_id, self.assignment_id)
        points = {cell.name: cell.max_score for cell in released.grade_cells}
        here = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in nb.cells]
        place = 0
        for cell in released.source_cells:
            if cell.name in here:
                place = here.index(cell.name) + 1
            elif cell.locked:
                self.log.warning("Missing cell %s encountered, adding to notebook", cell.name)
                nb.cells.insert(place, self._restored(cell, points.get(cell.name)))
                here.insert(place, cell.name)
                place += 1
        return nb, resources

    def _restored(self, cell: Any, points: float | None) -> NotebookNode:
        restored = from_dict(self.missing_cell_transform(cell, points or 0.0))
        restored.id = generate_corpus_id()
        if points is None:
            restored.metadata.nbgrader.grade = False
            del restored.metadata.nbgrader["points"]
        return restored


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
        cells = with_own_seeds(code_cells(nb), course_secret(results), student)
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
        return [FileSystemLoader(Path(__file__).parent.parent / "assets")]

    @pass_context
    def markdown2html(self, context: Any, source: str) -> str:
        """Write the text of a cell as HTML."""
        attachments = context.get("cell", {}).get("attachments", {})
        return MarkdownWithMath(_WithFormulas(escape=False, attachments=attachments)).render(source)

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
