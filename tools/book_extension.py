"""The book's own Sphinx extension: what _config.yml cannot say by itself.

It names the execution cache after the package, switches on the repository's buttons when there is
a repository, folds the answers in solutions, puts a download link on exercises, loads moving
figures and MathJax where they are needed, leads searches to chapters, keeps printed lines
and signatures whole, and refuses figures without alt text and modules without an API page.
"""

from __future__ import annotations

import json
import pkgutil
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_nb.core import render
from nbformat import NotebookNode
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

import transformer_ref
from tools.book_execution import execute_ahead
from tools.course_zip import NAME
from tools.inputs import execution_cache

LOGGER = logging.getLogger(__name__)

COLAB = "https://colab.research.google.com"

EXERCISE_NOTE = """
:::{{admonition}} This page only shows the exercise
:class: tip
To solve it, <a href="../../{archive}" download>download the course</a>, unpack it,
and run `make lab` in its folder;
or {{download}}`download the notebook </{docname}.ipynb>` alone.
The page [](/book/students.md) says how to work with it.
:::
"""

SOLUTION_NOTE = """
:::{admonition} This page gives the answers away
:class: warning
Each answer is folded; open one after you have tried the task yourself.
:::
"""


def name_execution_cache(app: Sphinx, config: Config) -> None:
    """Say where the outputs of executed chapters are.

    Another package is another folder, which also makes Sphinx read all pages again, because it is
    part of the settings.
    """
    config.nb_execution_cache_path = str(execution_cache(app.outdir.parent))


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


def prepare_notebook(app: Sphinx, docname: str, source: list[str]) -> None:
    """Add to the pages of exercises and solutions what the notebooks themselves need not carry."""
    folder = docname.split("/")[0]
    if folder not in ("exercises", "solutions"):
        return
    notebook = json.loads(source[0])
    title = next(cell for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    note = EXERCISE_NOTE.format(docname=docname, archive=NAME)
    if folder == "solutions":
        note = SOLUTION_NOTE
    title["source"] = "".join(title["source"]) + "\n" + note
    if folder == "solutions":
        # The release has the same title; in the table of contents the two must differ.
        title["source"] = re.sub(r"\A# (?:Exercises?: *)?", "# Solutions: ", title["source"])
        for cell in notebook["cells"]:
            fold_answer(cell)
    source[0] = json.dumps(notebook)


def fold_answer(cell: dict[str, Any]) -> None:
    """Hide the source of a cell in which a student writes an answer; a click shows it."""
    metadata = cell["metadata"]
    if not metadata.get("nbgrader", {}).get("solution"):
        return
    if cell["cell_type"] == "code":
        metadata.setdefault("tags", []).append("hide-input")
        metadata.setdefault("mystnb", {}).update(
            code_prompt_show="Show the answer", code_prompt_hide="Hide the answer"
        )
    else:
        text = "".join(cell["source"])
        cell["source"] = f"::::::{{dropdown}} Show the answer\n{text}\n::::::"


def lead_to_chapter(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Let a search for some words find the page that _config.yml names for them."""
    words = app.config.search_words.get(docname, [])
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


def require_api_pages(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn, which fails the build, where a public module of transformer_ref has no API page."""
    documented = {
        name for name, entry in env.domaindata["py"]["objects"].items() if entry.objtype == "module"
    }
    for module in pkgutil.iter_modules(transformer_ref.__path__, "transformer_ref."):
        is_public = not module.name.rpartition(".")[2].startswith("_")
        if is_public and module.name not in documented:
            LOGGER.warning(
                "%s has no API page: add book/api/%s.md and name it in _toc.yml",
                module.name,
                module.name.rpartition(".")[2],
            )


def join_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Join what a cell printed, as it came; the pieces are those of the kernel's clock.

    myst-nb merges them too (nb_merge_streams), but ends each piece with a new line, so that the
    lines of a page would depend on when the kernel sent them.
    """
    joined: list[NotebookNode] = []
    streams: dict[str, NotebookNode] = {}
    for output in outputs:
        name = output.get("name") if output["output_type"] == "stream" else None
        if name in streams:
            streams[name]["text"] += output["text"]
            continue
        if name is not None:
            streams[name] = output = NotebookNode(output)
        joined.append(output)
    return joined


def readable_defaults(
    app: Sphinx,
    what: str,
    name: str,
    obj: Any,
    options: Any,
    signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    """Write a default that a dataclass makes as "...": "<factory>" is no Python.

    Sphinx leaves a signature that it cannot parse without links and with raw names of types.
    """
    return signature and signature.replace("<factory>", "..."), returns


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
        app.add_js_file(f"figures/{name}.js", loading_method="defer")
        # After course.css (priority 800), on which it builds; from the head, so before first paint.
        app.add_css_file(f"figures/{name}.css", priority=850)


def clean_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Leave out scripts and addresses that would not work, and mend its lists and title.

    Jupyter Book loads sphinx-thebe on every page, which declares a constant twice (a console error)
    and names a CDN; the book has no live code.
    Without a base address, OpenGraph's page address would be wrong.
    docutils gives the items of a bibliography a role that ARIA has dropped, inside a list,
    and viewcode nests lists in lists; screen readers lose count of both.
    """
    context["script_files"] = [
        script for script in context["script_files"] if not is_thebe_script(script)
    ]
    context["css_files"] = [
        style for style in context["css_files"] if "thebe" not in str(style.filename)
    ]
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
    """Load MathJax only where there are formulas, and say how large each picture is.

    Jupyter Book loads MathJax on every page. What a notebook drew has its size as a style alone,
    which does not keep its place free while it is loaded.
    """
    body = context.get("body", "")
    if 'class="math' not in body:
        context["script_files"] = [
            script
            for script in context["script_files"]
            if "mathjax" not in str(script.filename or script.attributes.get("body")).lower()
        ]
    size = r'style="width: ([\d.]+)px; height: ([\d.]+)px;"'
    context["body"] = re.sub(f"(<img [^>]*){size}", sized, body)


def sized(image: re.Match[str]) -> str:
    """Return an image with its size as attributes, in whole pixels."""
    return f'{image[1]}width="{round(float(image[2]))}" height="{round(float(image[3]))}"'


def is_thebe_script(script: Any) -> bool:
    """Say whether a script belongs to sphinx-thebe, by its name or by what it declares."""
    body = script.attributes.get("body") or ""
    return "thebe" in str(script.filename or "") or "THEBE_JS_URL" in body


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the functions above to Sphinx's events."""
    myst_nb: Any = render  # there is no option for this
    merge = myst_nb.coalesce_streams
    myst_nb.coalesce_streams = lambda outputs: merge(join_streams(outputs))
    app.add_config_value("search_words", {}, "env", [dict])
    app.connect("config-inited", name_execution_cache)
    app.connect("config-inited", switch_repository_links)
    app.connect("env-before-read-docs", execute_ahead)
    app.connect("source-read", prepare_notebook)
    app.connect("autodoc-process-signature", readable_defaults)
    app.connect("doctree-resolved", require_alt_text)
    app.connect("doctree-resolved", lead_to_chapter)
    app.connect("env-check-consistency", require_api_pages)
    app.connect("html-page-context", load_figures)
    # After the themes and OpenGraph (priority 500 and 501) have filled the page's context.
    app.connect("html-page-context", clean_page, priority=900)
    app.connect("html-page-context", lighten_page, priority=900)
    version = Path(__file__).stat().st_mtime_ns
    return {"version": str(version), "parallel_read_safe": True, "parallel_write_safe": True}
