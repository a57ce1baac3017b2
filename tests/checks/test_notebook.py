"""The check inside a running kernel, whose threads and event loop a fork must not disturb."""

from __future__ import annotations

import nbformat
import pytest
from nbclient import NotebookClient

from tests.timeouts import COMMAND_SECONDS
from transformer_checks.judging.exam import make_exam

CELLS = (
    """
import torch, math
torch.set_num_threads(2)
a = torch.randn(900, 900, requires_grad=True)
torch.softmax(a @ a, -1).sum().backward()
from transformer_checks import check
root = math.sqrt
""",
    """
def attention_scores(query, key):
    print("called")
    return query @ key.transpose(-2, -1) / root(query.shape[-1])
check("attention.attention_scores", attention_scores, 2)
""",
    """
def attention_scores(query, key):
    while True:
        try:
            pass
        except BaseException:
            pass
check("attention.attention_scores", attention_scores, 2)
""",
    """
def attention_scores(query, key):
    products = query @ key.no_such_thing
    return products
check("attention.attention_scores", attention_scores, 2)
""",
    """
import matplotlib.pyplot as plt
from IPython.display import HTML, display
def attention_scores(query, key):
    plt.plot([1, 2])
    plt.show()
    display(plt.gcf())
    display(query.shape)
    display(HTML("<b>shown</b>"))
    return query @ key.transpose(-2, -1)
check("attention.attention_scores", attention_scores, 2)
""",
    """
plt.figure()
def attention_scores(query, key):
    assert not plt.get_fignums(), "figures of earlier cases are open"
    plt.figure()
    plt.show()
    plt.figure()
    return query @ key.transpose(-2, -1) / root(query.shape[-1])
check("attention.attention_scores", attention_scores, 2)
""",
    """
import os
os.environ["NBGRADER_EXECUTION"] = "validate"
attention_scores = lambda query, key: query @ key.transpose(-2, -1) / root(query.shape[-1])
check("attention.attention_scores", globals(), 2)
""",
    """
del os.environ["NBGRADER_EXECUTION"]
def attention_scores(query, key)
    return query
""",
    """
check("attention.attention_scores", globals(), 2)
""",
    # Last, as nothing is left of the names that a notebook has.
    """
from transformer_checks import check as check_of_the_course
def nothing(*args, **kwargs):
    raise RuntimeError("a name of the student's was called")
check = print = float = isinstance = issubclass = len = type = getattr = callable = nothing
str = repr = int = min = max = round = range = list = dict = tuple = super = open = nothing
Exception = BaseException = __import__ = __build_class__ = nothing
torch = transformer_ref = numpy = np = os = sys = None
__name__ = __doc__ = __file__ = __spec__ = __loader__ = 3
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
check_of_the_course("attention.attention_scores", attention_scores, 2)
""",
)


@pytest.fixture(scope="module")
def cells():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in CELLS])
    notebook.cells[7].metadata.tags = ["raises-exception"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRANSFORMER_REF_CHECK_SECONDS", "1.5")
        NotebookClient(notebook, timeout=COMMAND_SECONDS, kernel_name="python3").execute()
    return notebook.cells


def texts(cell):
    """Join what a cell gave by kind; a busy kernel sends one printed text in several parts."""
    found = {}
    for output in cell.outputs:
        kind = output.get("name", output.output_type)
        found[kind] = found.get(kind, "") + (output.get("text") or output["data"]["text/plain"])
    return found


@pytest.mark.weekly
def test_a_right_answer_after_openmp_in_the_kernel(cells):
    total = len(make_exam("attention.attention_scores", 0).cases)
    stdout = f"attention.attention_scores: all {total} cases pass.\nPoints: 2 of 2\n"
    assert texts(cells[1]) == {"stdout": stdout}, "the points are shown once"


def test_an_endless_answer_does_not_hang_the_kernel(cells):
    found = texts(cells[2])
    assert "cut off after 1.5 s" in found["stdout"]
    assert "Points: 0 of 2" in found["stdout"]
    assert found.keys() == {"stdout"}


def test_the_line_of_the_cell_is_shown(cells):
    assert "in `products = query @ key.no_such_thing`" in texts(cells[3])["stdout"]


def test_what_is_shown_is_told_in_words(cells):
    found = texts(cells[4])["stdout"]
    assert "Likely mistake" in found
    assert len(found) < 1000
    assert "Your code printed: <Figure size 640x480 with 1 Axes>" in found
    assert "torch.Size([" in found
    assert "IPython.core.display.HTML object" in found
    assert "display_data" not in texts(cells[4])
    assert "stderr" not in texts(cells[4])


def test_figures_are_closed_after_each_case(cells):
    assert "Points: 2 of 2" in texts(cells[5])["stdout"]
    assert "stderr" not in texts(cells[5])


def test_nbgrader_finds_the_points_in_what_the_cell_shows(cells):
    assert texts(cells[6])["execute_result"] == "2.0"


def test_a_syntax_error_does_not_earn_the_points_of_the_version_before(cells):
    assert cells[7].outputs[-1].ename == "SyntaxError"
    found = texts(cells[8])["stdout"]
    assert "has a syntax error in line 2" in found
    assert "Points: 0 of 2" in found


def test_names_of_the_notebook_do_not_reach_the_check(cells):
    assert " cases pass.\nPoints: 2 of 2" in texts(cells[9])["stdout"]
