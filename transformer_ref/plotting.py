"""Plotting: attention maps, values by head, curves and encodings, as the book shows them.

Needs matplotlib, which the rest of the package does not.
Every function draws on the Axes that it gets, or on a new figure, and returns the Axes.
None calls ``show``; only :func:`style` changes matplotlib's settings.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm
from matplotlib.rcsetup import cycler
from torch import Tensor

# Okabe and Ito's palette without its yellow, which is too pale for a line on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# What plays a part in the model has a colour of its own, in plots, drawings and formulas alike.
ROLES = {
    "query": "#0069a6",
    "key": "#b84d00",
    "value": "#00785a",
    "source": "#7d6600",
    "target": "#a0457f",
    "memory": "#6b4fa0",
    "residual": "#4d5b66",
    "mask": "#66727a",
}
LINES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D")


def style() -> None:
    """Set matplotlib's defaults for the book: readable at phone width, safe for colour-blind eyes.

    Figures keep a white ground, so that they read the same on a light and on a dark page.
    """
    plt.rcParams.update(
        {
            "axes.grid": False,
            "axes.prop_cycle": cycler(color=COLORS),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlesize": 11,
            "figure.constrained_layout.use": True,
            "figure.dpi": 100,
            "figure.facecolor": "white",
            "figure.figsize": (5.6, 3.4),
            "font.size": 11,
            "legend.frameon": False,
            "lines.linewidth": 2,
            "savefig.facecolor": "white",
        }
    )


def plot_attention(
    weights: Tensor,
    queries: Sequence[str],
    keys: Sequence[str],
    ax: Axes | None = None,
    *,
    title: str = "",
    colorbar: bool = True,
) -> Axes:
    """Draw one attention map: a row for each query, a column for each key, dark = much weight.

    Args:
        weights: (T, S) with values in [0, 1].
        queries: T labels, for example phonemes.
        keys: S labels, for example the letters of a word; a string counts as its characters.
        ax: where to draw; None = a new figure.
        title: stands above the map.
        colorbar: explain the colours beside the map.

    Returns:
        The Axes.

    Raises:
        ValueError: if `weights` is not (T, S), lies outside [0, 1] or the labels do not fit it.
    """
    _require_map("weights", weights, len(queries), len(keys))
    ax = _axes(ax)
    # A mesh and not an image: its cells stay sharp at any size.
    mesh = ax.pcolormesh(_array(weights), cmap="Blues", vmin=0, vmax=1)
    mesh.set(edgecolor="#d9d9d9", linewidth=0.5)
    ax.set_xticks(np.arange(len(keys)) + 0.5, list(keys))
    ax.set_yticks(np.arange(len(queries)) + 0.5, list(queries))
    ax.tick_params(length=0)
    ax.set_ylim(len(queries), 0)
    ax.set_title(title)
    if colorbar:
        _colorbar(mesh, ax, "attention weight")
    return ax


def plot_attention_grid(
    weights: Sequence[Tensor],
    queries: Sequence[str],
    keys: Sequence[str],
    axes: np.ndarray[Any, Any] | None = None,
) -> np.ndarray[Any, Any]:
    """Draw the maps of all heads: a column for each layer, a row for each head.

    Args:
        weights: for each of L layers (H, T, S), as
            :meth:`transformer_ref.applications.g2p.Speller.attention` returns them; a tensor
            (L, H, T, S) counts as its layers.
        queries: T labels.
        keys: S labels.
        axes: (H, L) Axes to draw on; None = a new figure.

    Returns:
        The (H, L) Axes.

    Raises:
        ValueError: if the layers are none, differ in shape, or do not fit the labels or `axes`.
    """
    layers = list(weights)
    if not layers or any(w.ndim != 3 or w.shape != layers[0].shape for w in layers):
        raise ValueError(
            "weights must hold one (H, T, S) tensor for each layer, all of one shape, "
            f"got {[tuple(w.shape) for w in layers]}"
        )
    shape = (len(layers[0]), len(layers))
    if axes is None:
        size = (0.8 + 0.2 * len(keys) * shape[1], 0.6 + 0.19 * len(queries) * shape[0])
        _, axes = plt.subplots(*shape, figsize=size, squeeze=False, sharex=True, sharey=True)
    elif axes.shape != shape:
        raise ValueError(f"axes must have shape (H, L) = {shape}, got {axes.shape}")
    for (head, layer), ax in np.ndenumerate(axes):
        plot_attention(layers[layer][head], queries, keys, ax, colorbar=False)
        ax.label_outer()
        ax.tick_params(labelsize=9)
        if head == 0:
            ax.set_title(f"layer {layer}")
        if layer == 0:
            ax.set_ylabel(f"head {head}")
    return axes


def plot_head_values(
    values: Tensor, ax: Axes | None = None, *, label: str = "", digits: int = 2
) -> Axes:
    """Write one number for each head into a table of layers and heads, coloured by its size.

    Args:
        values: (L, H) floating; below zero is blue, above is red, zero is white.
        ax: where to draw; None = a new figure.
        label: what the numbers are, for the colour bar.
        digits: digits after the point.

    Returns:
        The Axes.

    Raises:
        ValueError: if `values` is not a finite (L, H) tensor.
    """
    _require_map("values", values)
    ax = _axes(ax)
    array = _array(values)
    bound = max(float(np.abs(array).max()), 1e-12)
    mesh = ax.pcolormesh(array, cmap="RdBu_r", norm=TwoSlopeNorm(0, -bound, bound))
    for (layer, head), value in np.ndenumerate(array):
        color = "white" if abs(value) > 0.6 * bound else "black"
        text = f"{value:.{digits}f}".replace("-", "\N{MINUS SIGN}")
        ax.text(head + 0.5, layer + 0.5, text, ha="center", va="center", color=color)
    ax.set_xticks(np.arange(array.shape[1]) + 0.5, [f"head {h}" for h in range(array.shape[1])])
    ax.set_yticks(np.arange(array.shape[0]) + 0.5, [f"layer {i}" for i in range(array.shape[0])])
    ax.tick_params(length=0)
    ax.set_ylim(len(array), 0)
    _colorbar(mesh, ax, label)
    return ax


def plot_curves(
    x: Tensor | Sequence[float],
    curves: Mapping[str, Tensor | Sequence[float]],
    ax: Axes | None = None,
    *,
    xlabel: str = "",
    ylabel: str = "",
    log: str = "",
    markers: bool = True,
) -> Axes:
    """Draw curves over a common x, told apart by colour, line and marker.

    Args:
        x: N numbers.
        curves: label to N numbers; a label that begins with "_" is left out of the legend.
        ax: where to draw; None = a new figure.
        xlabel: says what x is, with its unit.
        ylabel: says what the curves are, with their unit.
        log: axes with a logarithmic scale: "", "x", "y" or "xy". For x it is base 2.
        markers: mark the points.

    Returns:
        The Axes.

    Raises:
        ValueError: if there is no curve, a curve has another length than `x`, or `log` is unknown.
    """
    if log not in ("", "x", "y", "xy"):
        raise ValueError(f'log must be "", "x", "y" or "xy", got {log!r}')
    if not curves:
        raise ValueError("curves must hold at least one curve, got none")
    points = _array(x)
    ax = _axes(ax)
    for index, (label, curve) in enumerate(curves.items()):
        y = _array(curve)
        if points.ndim != 1 or y.shape != points.shape:
            raise ValueError(
                f"x and curves[{label!r}] must be 1-D and of one length, "
                f"got shapes {points.shape} and {y.shape}"
            )
        marker = MARKERS[index % len(MARKERS)] if markers else None
        ax.plot(points, y, LINES[index % len(LINES)], marker=marker, label=label)
    if "x" in log:
        ax.set_xscale("log", base=2)
        ax.set_xticks(points[:: math.ceil(len(points) / 6)])
        ax.xaxis.set_major_formatter("{x:.0f}")
    if "y" in log:
        ax.set_yscale("log")
    ax.set(xlabel=xlabel, ylabel=ylabel)
    if len([label for label in curves if not label.startswith("_")]) > 1:
        ax.legend()
    return ax


def plot_encodings(table: Tensor, ax: Axes | None = None) -> Axes:
    """Draw positional encodings or embeddings: a row for each position, a column for each feature.

    Args:
        table: (T, D) floating.
        ax: where to draw; None = a new figure.

    Returns:
        The Axes.

    Raises:
        ValueError: if `table` is not a finite (T, D) tensor.
    """
    _require_map("table", table)
    ax = _axes(ax)
    array = _array(table)
    bound = max(float(np.abs(array).max()), 1e-12)
    # Thousands of cells: an image is small where a mesh would be large.
    image = ax.imshow(array, cmap=colormaps["RdBu_r"], vmin=-bound, vmax=bound, aspect="auto")
    ax.set(xlabel="feature", ylabel="position")
    _colorbar(image, ax, "value")
    return ax


class MovingData:
    """What the moving figures of a page show; a notebook hands it to the page that is built of it.

    Args:
        digits: decimals that are kept of each number.
        figures: for the name of each figure what JSON can hold, with tensors as nested lists.
    """

    def __init__(self, digits: int = 4, **figures: Any) -> None:
        self.figures = {name: _rounded(data, digits) for name, data in figures.items()}

    def _repr_html_(self) -> str:
        """Return a script element for each figure, in which nothing can end it or be wrapped."""
        return "".join(
            f'<script type="application/json" class="moving-data" data-for="{name}">'
            + _escaped(json.dumps(data, separators=(",", ":")))
            + "</script>"
            for name, data in self.figures.items()
        )

    def __repr__(self) -> str:
        return f"data for the figures {', '.join(self.figures)}"


def _rounded(data: Any, digits: int) -> Any:
    """Round each number in nested data, and turn tensors into lists."""
    if isinstance(data, Tensor):
        return _rounded(data.tolist(), digits)
    if isinstance(data, Mapping):
        return {key: _rounded(value, digits) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_rounded(value, digits) for value in data]
    return round(data, digits) if isinstance(data, float) else data


def _escaped(content: str) -> str:
    return content.replace("<", "\\u003c").replace(" ", "\\u0020")


def _axes(ax: Axes | None) -> Axes:
    return plt.subplots()[1] if ax is None else ax


def _array(x: Tensor | Sequence[float]) -> np.ndarray[Any, Any]:
    return torch.as_tensor(x).detach().to("cpu", torch.float64).numpy()


def _colorbar(mappable: Any, ax: Axes, label: str) -> None:
    bar = ax.figure.colorbar(mappable, ax=ax, label=label, shrink=0.9)
    bar.outline.set_visible(False)


def _require_map(
    name: str, values: Tensor, num_rows: int | None = None, num_columns: int | None = None
) -> None:
    """Refuse what is not a finite matrix; with labels, also other sizes and what is no weight."""
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"{name} must be a matrix, got shape {tuple(values.shape)}")
    if not bool(values.isfinite().all()):
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    if num_rows is None or num_columns is None:
        return
    if tuple(values.shape) != (num_rows, num_columns):
        raise ValueError(
            f"{name} must have a row for each of {num_rows} queries and a column for each of "
            f"{num_columns} keys, got shape {tuple(values.shape)}"
        )
    lowest, highest = values.min().item(), values.max().item()
    if lowest < 0.0 or highest > 1.0 + 1e-3:
        raise ValueError(f"{name} must lie in [0, 1], got values from {lowest} to {highest}")
