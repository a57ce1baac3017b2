"""What every page gets: links into the repository, words for the search, only what it needs.

MathJax is named where it is used, pictures must have alt text, and markup that confuses screen
readers is corrected.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.locale import _
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)

COLAB = "https://colab.research.google.com"


def switch_repository_links(app: Sphinx, config: Config) -> None:
    """Turn every link into the repository on, or all of them off while no address is set."""
    options = config.html_theme_options
    address = (options.get("repository_url") or "").rstrip("/")
    options["repository_url"] = address
    options["use_repository_button"] = bool(address)
    options["use_edit_page_button"] = bool(address)
    options["use_issues_button"] = bool(address)
    on_github = address.startswith("https://github.com/")
    options["launch_buttons"] = {"colab_url": COLAB} if on_github else {}
    config.ogp_site_url = config.html_baseurl
    config.ogp_image = "_static/social.png" if config.html_baseurl else None


def lead_to_chapter(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Let a search for some words find the page that _config.yml names, in each language."""
    english = app.config.search_words.get(docname, [])
    words = sorted({*english, *(str(_(word)) for word in english)})
    entries = [("single", word, "", "main", None) for word in words]
    if entries:
        doctree += addnodes.index(entries=entries)


def require_alt_text(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Warn, which fails the build, where an image's alt text is missing or is a path."""
    for image in doctree.findall(nodes.image):
        alt = image.get("alt", "").strip()
        if not alt or alt == image.get("uri") or re.search(r"\.(png|svg|jpe?g|gif)$", alt):
            LOGGER.warning(
                "image without alt text: set metadata.mystnb.image.alt on the cell "
                "(or write it between the brackets of a Markdown image); got %r",
                alt,
                location=docname,
            )


def clean_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Leave out an address that would not work, and correct lists and a title.

    Without a base address, OpenGraph's page address would be wrong.
    docutils gives the items of a bibliography a role that ARIA has dropped, inside a list,
    and viewcode nests lists in lists; screen readers lose count of both.
    """
    body = context.get("body", "").replace('role="doc-biblioentry"', 'role="listitem"')
    if pagename == "_modules/index":
        body = re.sub(r"(?<=</li>)\s*<ul>|</ul>(?=<li>|</ul>)", "", body)
    context["body"] = body
    if pagename == app.config.root_doc:
        context["docstitle"] = ""  # the name of the book is the title of this page already
    if not app.config.html_baseurl:
        metatags = context.get("metatags", "")
        context["metatags"] = re.sub(r'<meta property="og:url"[^>]*>\n?', "", metatags)


def lighten_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Name a script only where it has work, say how large each picture is, and load it late.

    Sphinx also names MathJax where only a page further down in the contents has formulas, and
    sphinx-design the script of its tabs on every page. What a notebook drew has its size only in a
    style, which keeps no place free while it is loaded.
    """
    body = context.get("body", "")
    for script, work in (("mathjax", 'class="math'), ("design-tabs", "sd-tab-set")):
        if work not in body:
            context["script_files"] = [
                file
                for file in context["script_files"]
                if script not in str(file.filename or file.attributes.get("body")).lower()
            ]
    size = r'style="width: ([\d.]+)px; height: ([\d.]+)px;"'
    context["body"] = re.sub(f"(<img [^>]*){size}", sized, body)


def sized(image: re.Match[str]) -> str:
    """Return an image with its size as attributes, in whole pixels, that waits to be near."""
    width, height = (round(float(size)) for size in image.groups()[1:])
    return f'{image[1]}loading="lazy" width="{width}" height="{height}"'


def setup(app: Sphinx) -> None:
    """Connect the functions above to Sphinx's events."""
    app.add_config_value("search_words", {}, "env", [dict])
    app.connect("config-inited", switch_repository_links)
    app.connect("doctree-resolved", require_alt_text)
    app.connect("doctree-resolved", lead_to_chapter)
    # After the themes and OpenGraph (priority 500 and 501) have filled the page's context.
    app.connect("html-page-context", clean_page, priority=900)
    app.connect("html-page-context", lighten_page, priority=900)
