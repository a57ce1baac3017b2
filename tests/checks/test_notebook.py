"""The check inside a running kernel, whose threads and event loop a fork must not disturb."""

from __future__ import annotations

import nbformat
import pytest
from nbclient import NotebookClient

CELLS = (
    """
import torch, math
torch.set_num_threads(2)
a = torch.randn(900, 900, requires_grad=True)
torch.softmax(a @ a, -1).sum().backward()
from transformer_ref.checks import check
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
)


@pytest.fixture(scope="module")
def cells():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in CELLS])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRANSFORMER_REF_CHECK_SECONDS", "1.5")
        NotebookClient(notebook, timeout=240, kernel_name="python3").execute()
    return notebook.cells


def texts(cell):
    return {
        output.get("name", output.output_type): output.get("text") or output["data"]["text/plain"]
        for output in cell.outputs
    }


def test_a_right_answer_after_openmp_in_the_kernel(cells):
    assert texts(cells[1]) == {
        "stdout": "attention.attention_scores: all 12 cases pass.\nPoints: 2 of 2\n",
        "execute_result": "2.0",
    }


def test_an_endless_answer_does_not_hang_the_kernel(cells):
    found = texts(cells[2])
    assert "cut off after 1.5 s" in found["stdout"]
    assert found["execute_result"] == "0.0"
    assert "stderr" not in found


def test_the_line_of_the_cell_is_shown(cells):
    assert "in `products = query @ key.no_such_thing`" in texts(cells[3])["stdout"]
