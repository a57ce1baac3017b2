"""Bring the catalogs of translations up to date: `python -m book.catalogs [page ...]`.

Without pages it takes those that have a catalog; a page that is named gets one. A message whose
English has changed becomes fuzzy: it keeps the old translation as a draft, and the site shows the
English. The messages are those of the built English pages; the book is built first if necessary.
What the checks say has catalogs beside them, in `transformer_checks/locale/`.
"""

from __future__ import annotations

import argparse
import io
import pickle
import re
import sys
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

import yaml
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir, extract_from_file
from babel.messages.pofile import read_po, write_po
from docutils import nodes
from sphinx.util.nodes import extract_messages

from book._extensions.drawings import FOLDER
from book._extensions.languages import (
    SITE,
    catalog_of,
    messages_of_figures,
    texts_of_drawing,
    translated_pages,
)
from tools import build_book
from tools.inputs import ENGLISH, ROOT
from transformer_checks.assignments.misconceptions import misconceptions_of
from transformer_checks.judging.general_mistakes import GENERAL, NAME_OF_THE_NOTEBOOK
from transformer_checks.judging.words import BETWEEN, FAULTS, MESSAGES, PARTS_OF_CASES, TERMS
from transformer_checks.registry import SLUGS
from transformer_checks.translation import LOCALE as CHECKS

HEADER = """\
msgid ""
msgstr ""
"Language: {language}\\n"
"Content-Type: text/plain; charset=UTF-8\\n"

"""
# The catalog of what the checks say about several assignments.
SHARED = "words"
# What every language leaves as it is. A message that has nothing else is its own translation.
LITERAL = re.compile(
    r"\$[^$]+\$|(?:\{[\w:]+\})?(`+).+?\1|\]\([^)\s]*\)|<[^>]+>|https?://\S+|\{\w+\}|&\w+;"
)
WORD = re.compile(r"[A-Za-z]{2}")


def is_language(message: str) -> bool:
    """Say whether a message has words besides formulas, code and addresses."""
    return bool(WORD.search(LITERAL.sub(" ", message)))


def messages_of_page(doctree: nodes.document, root: Path = ROOT) -> list[str]:
    """List the messages of a page, of its drawings and of the scripts of its figures."""
    found = [message for _, message in extract_messages(doctree)]
    for image in doctree.findall(nodes.image):
        wide = root / image["uri"]
        if image["uri"].startswith(FOLDER):
            for path in (wide, wide.with_name(f"{wide.stem}-narrow.svg")):
                if path.is_file():
                    texts = texts_of_drawing(ElementTree.parse(path).getroot())
                    found += [text.text or "" for text in texts]
    for raw in doctree.findall(nodes.raw):
        found += messages_of_figures(raw.astext(), root)
    return [message for message in dict.fromkeys(found) if message]


def messages_of_site(root: Path = ROOT) -> list[str]:
    """List what templates, extensions, shared scripts, the contents and the theme say."""
    methods = [
        ("_extensions/*.py", "python"),
        ("_templates/**.html", "jinja2"),
        ("assets/*.js", "javascript"),
    ]
    # Babel by itself passes over folders whose names begin with an underscore.
    extracted = extract_from_dir(
        root / "book", methods, keywords={"_": None}, directory_filter=lambda _folder: True
    )
    found = [str(message) for _, _, message, _, _ in extracted]
    settings, contents = (
        yaml.safe_load((root / name).read_text(encoding="utf-8"))
        for name in ("_config.yml", "_toc.yml")
    )
    found += [settings["title"], settings["copyright"]]
    for words in settings["sphinx"]["config"]["search_words"].values():
        found += words
    for part in contents["parts"]:
        sections = [each for page in part["chapters"] for each in page.get("sections", [])]
        found.append(part["caption"])
        found += [page["title"] for page in (*part["chapters"], *sections) if "title" in page]
    theme = files("pydata_sphinx_theme") / "locale/sphinx.pot"
    found += [str(each.id) for each in read_po(io.BytesIO(theme.read_bytes())) if each.id]
    return list(dict.fromkeys(found))


def messages_of_checks() -> dict[str, list[str]]:
    """List what the checks say, by catalog: what all tasks share, and each assignment's own."""
    folder = CHECKS.parent
    keywords = {"say": None, "translate": None, "later": None}
    messages: dict[str, list[str]] = {name: [] for name in (SHARED, *SLUGS)}
    for sentences in (MESSAGES, FAULTS, TERMS, BETWEEN):
        messages[SHARED] += dict.values(sentences)
    messages[SHARED] += PARTS_OF_CASES
    for path in sorted(folder.rglob("*.py")):
        name = path.parent.name if path.parent.name in SLUGS else SHARED
        found = extract_from_file("python", path, keywords=keywords)
        messages[name] += [str(message) for _, message, *_ in found]
    named = {SHARED: [*GENERAL, NAME_OF_THE_NOTEBOOK]}
    for slug in SLUGS:
        named[slug] = [each for task in misconceptions_of(slug).values() for each in task]
    for name, misconceptions in named.items():
        messages[name] += [text for each in misconceptions for text in (each.title, each.hint)]
    return {name: list(dict.fromkeys(sentences)) for name, sentences in messages.items()}


def messages_of(page: str) -> list[str]:
    """List the messages of a catalog, from the English build."""
    if page == SITE:
        return messages_of_site()
    doctree = build_book.STAGED.parent / ".doctrees" / f"{page}.doctree"
    return messages_of_page(pickle.loads(doctree.read_bytes()))


def read(path: Path, language: str) -> Catalog:
    """Read a catalog, or begin one."""
    if not path.is_file():
        return Catalog(locale=language, fuzzy=False)
    return read_po(io.BytesIO(path.read_bytes()), locale=language)


def updated(old: Catalog, messages: Iterable[str], memory: dict[str, str]) -> Catalog:
    """Return a catalog with just these messages, in their order.

    Args:
        old: the catalog so far.
        messages: the English of now.
        memory: translations in other catalogs, for messages that are new to this one.
    """
    template = Catalog()
    for message in messages:
        template.add(message)
    old.update(template, update_header_comment=False)
    for each in old:
        if each.id and not (each.string and not each.fuzzy):
            known = str(each.id) if not is_language(str(each.id)) else memory.get(str(each.id))
            if known:
                each.string = known
                each.flags.discard("fuzzy")
    return old


def write(catalog: Catalog, path: Path, language: str) -> None:
    """Write a catalog: no dates and places, so that it changes only with its messages."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for each in catalog:
        each.flags &= {"fuzzy"}  # roles such as {term} look like Python's formats to babel
    body = io.BytesIO()
    write_po(
        body,
        catalog,
        width=0,
        omit_header=True,
        no_location=True,
        ignore_obsolete=True,
        include_previous=True,
    )
    text = HEADER.format(language=language) + body.getvalue().decode()
    path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


def missing(catalog: Catalog) -> list[str]:
    """List the messages of a catalog that have no translation or a fuzzy one."""
    return [str(each.id) for each in catalog if each.id and (each.fuzzy or not each.string)]


def update(language: str, pages: Sequence[str]) -> None:
    """Bring catalogs of a language up to date, and say what there is to translate."""
    named = dict.fromkeys((SITE, *translated_pages(ROOT, language), *pages))
    messages = {catalog_of(ROOT, language, page): messages_of(page) for page in named}
    for name, found in messages_of_checks().items():
        messages[CHECKS / language / "LC_MESSAGES" / f"{name}.po"] = found
    memory: dict[str, str] = {}
    for path in messages:
        for each in read(path, language):
            if each.id and each.string and not each.fuzzy:
                memory[str(each.id)] = str(each.string)
    for path, found in messages.items():
        catalog = updated(read(path, language), found, memory)
        write(catalog, path, language)
        if left := missing(catalog):
            print(f"{path.relative_to(ROOT)}: {len(left)} messages to translate")


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, build the English pages, and update catalogs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--language", default="zh_CN")
    parser.add_argument("pages", nargs="*", help="pages that get a catalog, such as book/masking")
    options = parser.parse_args(arguments)
    if status := build_book.build(language=ENGLISH):
        return status
    update(options.language, options.pages)
    return 0


if __name__ == "__main__":
    sys.exit(main())
