"""Figures that the reader moves: loaded where they are used, and made by directives of the book.

Most are written in a notebook's Markdown; book/README.md says how.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from transformer_ref.plotting import MovingData

# The scripts of a figure besides its own, in book/assets/speller.
HELPERS = {
    "hero": ("load.js", "sound.js"),
    "model": ("load.js", "inside.js"),
    "speak": ("load.js", "pictures.js", "sound.js", "tour.js"),
}


def scripts_of(name: str) -> list[str]:
    """List the scripts of a figure in book/assets, its own last."""
    return [*(f"speller/{helper}" for helper in HELPERS.get(name, ())), f"figures/{name}.js"]


def moving_figure(name: str, caption: Sequence[str], still: str, note: str, data: Any) -> nodes.raw:
    """Return a figure with its data.

    Args:
        name: its script is book/assets/figures/<name>.js.
        caption: lines of HTML.
        still: SVG that is shown without JavaScript.
        note: what is said below it then.
        data: what JSON can hold.
    """
    html = (
        f'<figure class="moving-figure" data-figure="{name}">\n'
        f"<figcaption>{' '.join(caption)}</figcaption>\n"
        f'<div class="moving-fallback"><div class="drawing-box">{still}</div>\n'
        f"<p>{note}</p></div>\n{MovingData(**{name: data})._repr_html_()}\n</figure>"
    )
    return nodes.raw("", html, format="html")


def load_figures(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Load the script and the styles of a figure on the pages that hold it, and nowhere else.

    Sphinx puts the files of html_js_files on every page, but those added here on this page only.
    """
    names = re.findall(r'<figure [^>]*data-figure="([a-z]+)"', context.get("body", ""))
    if names:  # deferred scripts run in this order; without a priority it is 500
        app.add_js_file("moving.js", loading_method="defer", priority=300)
    for name in sorted(set(names)):
        for script in scripts_of(name):
            app.add_js_file(script, loading_method="defer")
        # After course.css (priority 800), on which it builds; from the head, so before first paint.
        app.add_css_file(f"figures/{name}.css", priority=850)


def setup(app: Sphinx) -> None:
    """Connect to Sphinx."""
    app.connect("html-page-context", load_figures)
