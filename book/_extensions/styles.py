"""Cut the style sheets of the built site down to the rules that its pages can use.

The theme brings all of Bootstrap and a rule for each icon that there is: three quarters of what a
browser must load before it draws anything. A selector stays if every class in it appears in a page
or in a script, which may set it later; a script may also put one together, as in "bs-" + name.
The book's own style sheets stay whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from tinycss2.parser import parse_rule_list, parse_stylesheet
from tinycss2.serializer import serialize

CLASSES = re.compile(r'\bclass="([^"]*)"')
WORDS = re.compile(r"[\w-]+")
NESTING = ("media", "supports")
# They bring their own styles, or no page loads them.
FOREIGN_SCRIPTS = ("mathjax/", "locales/", "vendor/", "scripts/fontawesome", "speller/weights")


def names_in_use(site: Path) -> set[str]:
    """Collect the classes of all pages, and all words of the scripts that set classes."""
    found: set[str] = set()
    static = site / "_static"
    for page in site.rglob("*.html"):
        if not page.is_relative_to(static):
            for value in CLASSES.findall(page.read_text(encoding="utf-8")):
                found.update(value.split())
    for script in static.rglob("*.js"):
        if not script.relative_to(static).as_posix().startswith(FOREIGN_SCRIPTS):
            found.update(WORDS.findall(script.read_text(encoding="utf-8")))
    return found


def selectors(prelude: Iterable[Any]) -> Iterator[list[Any]]:
    """Split what stands before the braces of a rule at its commas; those in parentheses stay."""
    selector: list[Any] = []
    for token in prelude:
        if token.type == "literal" and token.value == ",":
            yield selector
            selector = []
        else:
            selector.append(token)
    yield selector


def is_used(selector: list[Any], names: set[str]) -> bool:
    """Say whether a page can have what a selector asks for; `:not(.a)` asks for nothing."""
    asked = [word.value for dot, word in pairwise(selector) if dot == "." and word.type == "ident"]
    return all(name in names or names.intersection(beginnings(name)) for name in asked)


def beginnings(name: str) -> set[str]:
    """Return what comes before each part of a name, such as "bs-" and "bs-tooltip-"."""
    return {name[: dash.end()] for dash in re.finditer("-", name)}


def trimmed(rules: Iterable[Any], names: set[str]) -> str:
    """Return the rules that can be used as CSS.

    Args:
        rules: as tinycss2 parses them.
        names: the classes that are set.
    """
    kept: list[str] = []
    for rule in rules:
        if rule.type == "qualified-rule":
            used = [each for each in selectors(rule.prelude) if is_used(each, names)]
            if used:
                head = ",".join(serialize(each).strip() for each in used)
                kept.append(f"{head}{{{serialize(rule.content).strip()}}}\n")
        elif rule.type == "at-rule" and rule.lower_at_keyword in NESTING:
            inner = parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True)
            if text := trimmed(inner, names):
                head = serialize(rule.prelude)
                kept.append(f"@{rule.at_keyword}{head}{{\n{text}}}\n")
        elif rule.type == "at-rule":
            kept.append(f"{rule.serialize()}\n")
    return "".join(kept)


def trim_styles(app: Sphinx, exception: Exception | None) -> None:
    """Rewrite the style sheets of the site that was built."""
    if exception is not None or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    names = names_in_use(Path(app.outdir))
    own = [Path(app.confdir, folder) for folder in app.config.html_static_path]
    for sheet in static.rglob("*.css"):
        if any((folder / sheet.relative_to(static)).exists() for folder in own):
            continue
        rules = parse_stylesheet(
            sheet.read_text(encoding="utf-8"), skip_comments=True, skip_whitespace=True
        )
        sheet.write_text(trimmed(rules, names), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Connect to Sphinx; the static files are there when the build has finished."""
    app.connect("build-finished", trim_styles)
