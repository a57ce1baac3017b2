"""Put the schematics of book/assets/drawings into the pages, as SVG instead of as images.

Only what stands in a page takes its colours from the page's style sheet, and follows a change from
light to dark. A drawing `name.svg` may have a second layout for phones, `name-narrow.svg`: then the
page holds both, and book/assets/course.css shows the one that fits the width.
What is no HTML, such as the link check, keeps the images; so does JupyterLab.
Below a chapter's map stands a link to the page of the whole model, which lights the same parts.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util import logging

from book._extensions.languages import page_translation, texts_of_drawing

LOGGER = logging.getLogger(__name__)

FOLDER = "book/assets/drawings/"
MODEL_PAGE = "book/model"
SVG = "{http://www.w3.org/2000/svg}"
# What a reader must still be able to read, in pixels; a drawing is made no smaller than that.
SMALLEST_TEXT = 11.0


def inline_drawings(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Replace the images that are schematics by the SVG itself.

    The files are read whenever a page is written, which `make book` does with all of them.
    A missing one was reported when Sphinx collected the images, and stays an image.
    """
    if app.builder.format != "html":
        return
    translate = page_translation(app, docname).gettext
    for image in list(doctree.findall(nodes.image)):
        wide = Path(app.srcdir, image["uri"])
        if not (image["uri"].startswith(FOLDER) and wide.suffix == ".svg" and wide.is_file()):
            continue
        narrow = wide.with_name(f"{wide.stem}-narrow.svg")
        layouts = {"wide": wide, "narrow": narrow} if narrow.is_file() else {"": wide}
        try:
            parts = [
                inline_svg(
                    path.read_text(encoding="utf-8"), image.get("alt", ""), layout, translate
                )
                for layout, path in layouts.items()
            ]
        except ElementTree.ParseError as error:
            LOGGER.warning("%s is no SVG: %s", image["uri"], error, location=image)
            continue
        if wide.stem == "map" and MODEL_PAGE in app.env.found_docs:
            page = app.builder.get_relative_uri(docname, MODEL_PAGE)
            parts.append(link_to_model(f"{page}#from-{wide.parent.name}"))
        # docutils writes the classes as a box around it: a span in a paragraph, else a div.
        box = nodes.raw("", "".join(parts), format="html", classes=["drawing-box"])
        image.replace_self(box)


def link_to_model(address: str) -> str:
    """Return the line below a chapter's map."""
    text = _("The whole model, with these parts lit")
    return f'<a class="drawing-more" href="{address}">{text}</a>'


def inline_svg(text: str, alt: str, layout: str = "", translate: Callable[[str], str] = str) -> str:
    """Turn the text of a file into SVG that may stand in a page.

    Args:
        text: a whole SVG file.
        alt: what is to be seen, for those who do not see it.
        layout: "wide" or "narrow" where there are two of them.
        translate: returns a text of the drawing in the language of the page.

    Raises:
        xml.etree.ElementTree.ParseError: it is no XML, or its root is no `svg`.
    """
    root = ElementTree.fromstring(text)
    if root.tag != f"{SVG}svg":
        raise ElementTree.ParseError(f"the root is {root.tag!r}, expected SVG's svg")
    for style in root.findall(f"{SVG}style"):
        root.remove(style)  # the page has the same rules, for all drawings and both themes
    for element in texts_of_drawing(root):
        element.text = translate(element.text or "")
    for element in root.iter():
        element.tag = element.tag.removeprefix(SVG)
    root.set("role", "img")
    root.set("aria-label", alt)
    if layout:
        root.set("class", f"{root.get('class', '')} drawing-{layout}".lstrip())
    sizes = [float(size) for element in root.iter("text") if (size := element.get("font-size"))]
    shrinks = min(1.0, SMALLEST_TEXT / min(sizes, default=SMALLEST_TEXT))
    root.set("style", f"min-width: {float(root.get('width', 0)) * shrinks:.0f}px")
    return ElementTree.tostring(root, encoding="unicode", method="html").strip()


def setup(app: Sphinx) -> None:
    """Connect the functions above to Sphinx's events."""
    # After the extension of the book (priority 500) has looked at the images' alt text.
    app.connect("doctree-resolved", inline_drawings, priority=600)
