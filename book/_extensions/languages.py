"""The other languages of the site: what Sphinx does not translate, and the way between them.

A page is translated if `book/locale/<language>/LC_MESSAGES/` holds its catalog; book/README.md says
how catalogs are made. Another language is built from what the English build has read: only pages
with a catalog are read again, all others stay English and say so.
"""

from __future__ import annotations

import gettext
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from babel.messages.extract import extract_from_file
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import CONFIG_OK, BuildEnvironment
from sphinx.locale import _
from sphinx.search.zh import SearchChinese
from sphinx.transforms import SphinxTransform

from book._extensions.figures import scripts_of
from tools.course_zip import NAME as ARCHIVE
from tools.inputs import ENGLISH, LOCALE

ASSETS = "book/assets"
# The catalog of what templates, extensions and shared scripts say; Sphinx adds its own.
SITE = "sphinx"


# ---- catalogs -----------------------------------------------------------------------------------


def catalog_of(root: Path, language: str, page: str) -> Path:
    """Return where the catalog of a page is, if it is translated."""
    return root / LOCALE / language / "LC_MESSAGES" / f"{page}.po"


def translated_pages(root: Path, language: str) -> list[str]:
    """List the pages that have a catalog in a language."""
    folder = root / LOCALE / language / "LC_MESSAGES"
    names = [path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.po")]
    return sorted(name for name in names if name != SITE)


def page_translation(app: Sphinx, page: str) -> gettext.NullTranslations:
    """Return the translations of a page's own messages; Sphinx has compiled them."""
    folder = Path(app.srcdir, LOCALE)
    return gettext.translation(page, folder, [app.config.language], fallback=True)


# ---- messages that Sphinx does not know ---------------------------------------------------------

# What HTML says in a page: the captions of figures that the reader moves, what is shown instead of
# them without JavaScript, and the titles of hints.
HTML_TEXT = re.compile(
    r"""(?:(?<=<figcaption>)|(?<=<summary>)|(?<=<p class="moving-fallback">))"""
    r"""\S.*?(?=</(?:figcaption|summary|p)>)""",
    re.S,
)
FIGURE = re.compile(r'<figure [^>]*data-figure="([a-z]+)"')
DATA = re.compile(r'<script [^>]*class="moving-data"[^>]*>(.*?)</script>', re.S)
WORD = re.compile(r"[a-z]{2}")


class TranslatableHtml(addnodes.translatable, nodes.raw):
    """HTML in a page whose sentences are messages."""

    def preserve_original_messages(self) -> None:
        """Keep the messages apart from what is made of them."""
        self["messages"] = HTML_TEXT.findall(self.astext())

    def extract_original_messages(self) -> list[str]:
        """Return the messages."""
        return list(self["messages"])

    def apply_translated_message(self, original: str, translated: str) -> None:
        """Put a translation in the place of a message."""
        text = self.astext().replace(original, translated)
        self.clear()
        self += nodes.Text(text)


class MarkMessages(SphinxTransform):
    """Say which nodes hold messages, before Sphinx looks for them (10) and translates them (20)."""

    default_priority = 5

    def apply(self, **kwargs: Any) -> None:
        """Change one page, in any language."""
        for raw in list(self.document.findall(nodes.raw)):
            if HTML_TEXT.search(raw.astext()):
                raw.replace_self(TranslatableHtml(raw.rawsource, raw.astext(), **raw.attributes))
        for formula in self.document.findall(nodes.math_block):
            formula["translatable"] = False
        for entry in self.document.findall(nodes.entry):
            # In a dropdown a table has no source, and what has none is no message for Sphinx.
            for text in entry.findall(nodes.TextElement):
                text.source = text.source or self.document["source"]
        for image in self.document.findall(nodes.image):
            # The message of an image is its description; its paragraph would be another one.
            if isinstance(image.parent, nodes.paragraph) and len(image.parent) == 1:
                image.parent["translatable"] = False


def texts_of_drawing(root: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """Find the texts of a drawing that hold words; the others are tokens, letters and numbers."""
    for element in root.iter():
        if element.tag.endswith(("text", "tspan")) and WORD.search(element.text or ""):
            yield element


@cache
def messages_of_script(path: Path) -> tuple[str, ...]:
    """List the messages of a script: what it gives to the function `_`."""
    found = extract_from_file("javascript", path, keywords={"_": None})
    return tuple(dict.fromkeys(str(message) for _, message, *_ in found))


def messages_of_figures(html: str, root: Path) -> list[str]:
    """List the messages of the figures in HTML: of their scripts and the `messages` of their data.

    The figure in which a model runs has more scripts, in a folder.
    """
    found: list[str] = []
    for name in FIGURE.findall(html):
        paths = [root / ASSETS / script for script in scripts_of(name)]
        found += [each for path in paths if path.is_file() for each in messages_of_script(path)]
    for data in map(json.loads, DATA.findall(html)):
        found += data.get("messages", []) if isinstance(data, dict) else []
    return list(dict.fromkeys(found))


# ---- building a language ------------------------------------------------------------------------


def translate_settings(app: Sphinx, config: Config) -> None:
    """Translate what _config.yml says on every page."""
    for name in ("project", "html_title", "copyright", "ogp_site_name"):
        if getattr(config, name, None):
            config[name] = str(_(config[name]))
    logo = config.html_theme_options.get("logo", {})
    if text := logo.get("text"):
        logo["text"] = str(_(text))


def keep_what_was_read(app: Sphinx) -> None:
    """Let no setting that differs make Sphinx read again what it has read for the English site."""
    if app.config.language != ENGLISH:
        app.env.config_status = CONFIG_OK


def read_translated(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> set[str]:
    """Name the pages that are read again in another language; the first one holds the contents."""
    if app.config.language == ENGLISH:
        return set()
    return {app.config.root_doc, *translated_pages(Path(app.srcdir), app.config.language)}


def translate_contents(toctrees: Iterator[addnodes.toctree]) -> None:
    """Translate the captions and titles that _toc.yml gives to pages."""
    for toctree in toctrees:
        caption = toctree.get("caption")
        toctree["caption"] = caption and str(_(caption))
        toctree["entries"] = [(title and str(_(title)), page) for title, page in toctree["entries"]]


def translate_own_contents(app: Sphinx, doctree: nodes.document) -> None:
    """Translate the contents of a page that is read."""
    translate_contents(doctree.findall(addnodes.toctree))


def translate_all_contents(app: Sphinx, env: BuildEnvironment) -> None:
    """Translate the contents below pages that are not read again."""
    for contents in env.tocs.values():
        translate_contents(contents.findall(addnodes.toctree))


# ---- pages --------------------------------------------------------------------------------------


def ways_to_other_languages(app: Sphinx, page: str) -> list[dict[str, str]]:
    """List where else a page is, as the switch above it shows."""
    here, up = app.config.language, "../" * page.count("/")
    home = up if here == ENGLISH else f"../{up}"
    return [
        {"code": code.replace("_", "-"), "name": name, "href": f"{home}{folder}{page}.html"}
        for code, name in app.config.course_languages.items()
        for folder in ["" if code == ENGLISH else f"{code}/"]
        if code != here and (code == ENGLISH or catalog_of(Path(app.srcdir), code, page).is_file())
    ]


def script_messages(app: Sphinx, page: str, context: dict[str, Any]) -> dict[str, str]:
    """Return the translated messages of the scripts that a page loads."""
    own = page_translation(app, page).gettext
    found = {}
    for script in context["script_files"]:
        name = str(script.filename or "").partition("_static/")[2]
        path = Path(app.srcdir, ASSETS, name)
        if name and "/" not in name and path.is_file():
            found.update({each: str(_(each)) for each in messages_of_script(path)})
    figures = messages_of_figures(context.get("body", ""), Path(app.srcdir))
    found.update({each: own(each) for each in figures})
    return {message: said for message, said in found.items() if said != message}


def translate_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give a page the switch, the messages of its scripts, and a note if it is not translated."""
    if doctree is not None:
        context["languages"] = ways_to_other_languages(app, pagename)
    if app.config.language == ENGLISH:
        return
    messages = script_messages(app, pagename, context)
    context["script_messages"] = json.dumps(messages, ensure_ascii=False).replace("</", "<\\/")
    # The archive of the course is there once, beside the English pages.
    archive = rf'(href="(?:\.\./)*)({re.escape(ARCHIVE)}")'
    body = re.sub(archive, r"\1../\2", context.get("body", ""))
    if (
        doctree is not None
        and not catalog_of(Path(app.srcdir), app.config.language, pagename).is_file()
    ):
        note = _("This page has not been translated yet.")
        body = f'<p class="course-untranslated">{note}</p>\n<div lang="{ENGLISH}">{body}</div>'
    context["body"] = body


# ---- search -------------------------------------------------------------------------------------

HAN = r"[\u3400-\u9fff]+"


class SearchHan(SearchChinese):
    """Find Chinese text by pairs of characters, in the index and in what a reader asks for.

    Sphinx's own class cuts words with a dictionary of 19 megabytes, but only in the index: what a
    reader types is not cut, and so it is found only where it happens to be one word.
    """

    js_splitter_code = """
function splitQuery(query) {
  const pairs = (run) => Array.from(run.slice(1) || "-", (_, i) => run.slice(i, i + 2));
  const words = query.match(/[\\u3400-\\u9fff]+|\\w+/g) ?? [];
  return words.flatMap((word) => (/\\w/.test(word) ? [word] : pairs(word)));
}
"""

    def split(self, input: str) -> list[str]:
        """Cut a text into pairs of Chinese characters and words of Latin letters."""
        runs = re.findall(HAN, input)
        pairs = [run[i : i + 2] for run in runs for i in range(max(1, len(run) - 1))]
        return [*self.latin1_letters.findall(input), *pairs]

    def stem(self, word: str) -> str:
        """Stem a word, but not to fewer than three letters.

        Sphinx's own method looks for each word in the list of all words so far, which takes four
        minutes for this book.
        """
        lower = word.lower()
        stem = str(self.stemmer.stemWord(lower))
        return lower if len(stem) < 3 <= len(word) else stem


def setup(app: Sphinx) -> None:
    """Connect to Sphinx."""
    app.add_config_value("course_languages", {ENGLISH: "English"}, "html", [dict])
    app.add_search_language(SearchHan)
    app.add_node(TranslatableHtml, html=(lambda writer, node: writer.visit_raw(node), None))
    app.add_transform(MarkMessages)
    app.connect("config-inited", translate_settings)
    app.connect("builder-inited", keep_what_was_read)
    app.connect("env-get-outdated", read_translated)
    app.connect("doctree-read", translate_own_contents, priority=600)  # external-toc comes at 500
    app.connect("env-updated", translate_all_contents)
    app.connect("html-page-context", translate_page, priority=950)  # all scripts are named by then
