"""The plots show the numbers they are given, refuse what does not fit, and leave no trace."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator

import matplotlib
import numpy as np
import pytest
import torch

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from transformer_ref import plotting

QUERIES = ["N", "AY", "T"]
KEYS = "night"


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture
def weights() -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(2, 4, len(QUERIES), len(KEYS)).softmax(dim=-1)


def drawn(ax: Axes) -> np.ndarray:
    """Return the numbers of the colour mesh on an Axes."""
    return np.asarray(ax.collections[0].get_array())


def test_attention_map_has_a_row_for_each_query_from_top_to_bottom(weights):
    ax = plotting.plot_attention(weights[0, 0], QUERIES, KEYS, title="one head")
    np.testing.assert_allclose(drawn(ax), weights[0, 0].numpy(), rtol=1e-6)
    assert [label.get_text() for label in ax.get_yticklabels()] == QUERIES
    assert [label.get_text() for label in ax.get_xticklabels()] == list(KEYS)
    assert ax.yaxis_inverted()
    assert ax.get_title() == "one head"


def test_colors_mean_the_same_in_every_map(weights):
    faint = plotting.plot_attention(weights[0, 0] / 2, QUERIES, KEYS)
    assert faint.collections[0].get_clim() == (0, 1)


def test_a_map_is_drawn_on_the_axes_that_it_gets(weights):
    _, ax = plt.subplots()
    assert plotting.plot_attention(weights[0, 0], QUERIES, KEYS, ax, colorbar=False) is ax
    assert ax.figure.axes == [ax]


@pytest.mark.parametrize("as_list", [True, False])
def test_grid_has_heads_down_and_layers_across(weights, as_list):
    axes = plotting.plot_attention_grid(list(weights) if as_list else weights, QUERIES, KEYS)
    assert axes.shape == (4, 2)
    for (head, layer), ax in np.ndenumerate(axes):
        np.testing.assert_allclose(drawn(ax), weights[layer, head].numpy(), rtol=1e-6)
        assert ax.yaxis_inverted(), (head, layer)
    assert [ax.get_title() for ax in axes[0]] == ["layer 0", "layer 1"]
    assert [ax.get_ylabel() for ax in axes[:, 0]] == [f"head {h}" for h in range(4)]


def test_grid_of_an_odd_number_of_panels_is_not_upside_down(weights):
    axes = plotting.plot_attention_grid(weights[:1, :3], QUERIES, KEYS)
    assert all(ax.yaxis_inverted() for ax in axes.flat)


def test_grid_draws_on_given_axes(weights):
    _, axes = plt.subplots(4, 2)
    assert plotting.plot_attention_grid(weights, QUERIES, KEYS, axes) is axes
    assert all(ax.yaxis_inverted() for ax in axes.flat)


def test_head_values_are_written_where_they_belong():
    values = torch.tensor([[0.5, -1.25, 0.0], [2.0, 0.125, -0.75]])
    ax = plotting.plot_head_values(values, label="points")
    texts = {text.get_position(): text.get_text() for text in ax.texts}
    assert texts[(1.5, 0.5)] == "\N{MINUS SIGN}1.25"
    assert texts[(0.5, 1.5)] == "2.00"
    assert ax.collections[0].get_clim() == (-2.0, 2.0), "zero must be white"
    assert ax.yaxis_inverted()


def test_curves_have_their_labels_scales_and_numbers():
    ax = plotting.plot_curves(
        [1, 2, 4], {"a": torch.tensor([1.0, 2.0, 3.0]), "b": [3, 2, 1]}, xlabel="x", log="xy"
    )
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]
    assert (ax.get_xscale(), ax.get_yscale(), ax.get_xlabel()) == ("log", "log", "x")
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), [3, 2, 1])
    assert ax.lines[0].get_linestyle() != ax.lines[1].get_linestyle(), "not by colour alone"


def test_one_curve_needs_no_legend():
    assert plotting.plot_curves([1, 2], {"a": [1, 2]}).get_legend() is None


def test_encodings_have_positions_down_and_zero_in_the_middle():
    table = torch.linspace(-0.5, 2, 12).view(4, 3)
    ax = plotting.plot_encodings(table)
    np.testing.assert_allclose(np.asarray(ax.images[0].get_array()), table.numpy(), rtol=1e-6)
    assert ax.images[0].get_clim() == (-2.0, 2.0)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("feature", "position")


def test_tensors_with_gradients_and_half_precision_are_drawn(weights):
    half = weights[0, 0].to(torch.bfloat16).requires_grad_()
    plotting.plot_attention(half, QUERIES, KEYS)
    assert half.grad is None


def test_drawing_changes_no_settings_and_style_does(weights):
    with matplotlib.rc_context():
        before = dict(matplotlib.rcParams)
        plotting.plot_attention_grid(weights, QUERIES, KEYS)
        plotting.plot_curves([1, 2], {"a": [1, 2]}, log="xy")
        plotting.plot_encodings(torch.ones(2, 3))
        assert dict(matplotlib.rcParams) == before
        plotting.style()
        assert matplotlib.rcParams["savefig.facecolor"] == "white"
        assert dict(matplotlib.rcParams) != before


def test_nothing_is_shown(weights, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *a, **k: pytest.fail("show was called"))
    plotting.plot_attention(weights[0, 0], QUERIES, KEYS)
    plotting.plot_head_values(weights[:, :, 0, 0])


@pytest.mark.weekly
def test_the_package_does_not_need_matplotlib():
    script = "import sys; sys.modules['matplotlib'] = None; import transformer_ref.applications.g2p"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_moving_data_is_json_that_cannot_end_its_element() -> None:
    figures = {"one": {"x": torch.tensor([1 / 3, 2.0]), "names": ["</script>", "a  b"], "n": 3}}
    html = plotting.MovingData(digits=2, **figures)._repr_html_()
    found = re.fullmatch(r"<script [^>]*data-for=\"one\">([^< ]*)</script>", html)
    assert found is not None
    read = json.loads(found[1])
    assert read == {"x": [0.33, 2.0], "names": ["</script>", "a  b"], "n": 3}
