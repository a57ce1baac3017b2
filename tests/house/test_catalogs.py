"""The catalogs of translations: complete, nothing lost on the way, one word for each term."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog

from book import catalogs
from book._extensions.languages import ASSETS, SITE, messages_of_figures
from tools.inputs import LOCALE, ROOT
from transformer_checks.translation import LOCALE as CHECKS
from transformer_checks.translation import read_catalog

FOLDERS = (ROOT / LOCALE, CHECKS)
CATALOGS = {
    path.relative_to(folder).as_posix(): path
    for folder in FOLDERS
    for path in sorted(folder.rglob("*.po"))
}
# What a translation keeps, wherever its sentence needs it; of a role the target, but not the title.
KEPT = re.compile(
    r"""(?P<role>\{[\w:]+\})`(?:[^`<]*<)?(?P<target>[^`>]+)>?`
    | \$[^$]+\$                # a formula
    | (?P<mark>`+).+?(?P=mark)  # code
    | \]\([^)\s]*\)           # the address of a link
    | <[^>]+>                   # HTML
    | \{\w+(?::\w+)?\} | %\(\w+\)s  # a value that is put in
    | \d[\d.,]*\d | \d""",
    re.VERBOSE,
)
HAN = r"[\u3400-\u9fff]"
# Half-width marks in Chinese text, and Latin letters that touch it.
UNTIDY = re.compile(rf"{HAN}[,.;:?!()](?!\w)|[,;:?!(]{HAN}|{HAN}[A-Za-z0-9]|[A-Za-z0-9%]{HAN}")


def kept(message: str) -> Counter[str]:
    """Count what a translation of this message must keep."""
    return Counter(
        f"{found['role']}{found['target'].lower()}" if found["role"] else found[0]
        for found in KEPT.finditer(message)
    )


def terms(language: str) -> dict[str, str]:
    """Return the terms of a language: the glossary's, without the English in brackets."""
    path = ROOT / LOCALE / language / "LC_MESSAGES/book/glossary.po"
    return {en: re.split(r"\s*[\uff08(]", said)[0] for en, said in read_catalog(path).items()}


@pytest.mark.parametrize("name", CATALOGS)
def test_every_message_has_a_translation(name: str) -> None:
    language = Path(name).parts[0]
    assert catalogs.missing(catalogs.read(CATALOGS[name], language)) == [], (
        "run `make catalogs`, translate these"
    )


@pytest.mark.parametrize("name", CATALOGS)
def test_nothing_is_lost_in_translation(name: str) -> None:
    lost = {
        message: sorted((kept(message) - kept(said)).elements())
        for message, said in read_catalog(CATALOGS[name]).items()
        if kept(message) - kept(said)
    }
    assert lost == {}


@pytest.mark.parametrize("name", CATALOGS)
def test_a_sentence_is_not_left_in_english(name: str) -> None:
    same = [en for en, said in read_catalog(CATALOGS[name]).items() if en == said]
    assert [each for each in same if catalogs.is_language(each) and len(each.split()) > 2] == []


@pytest.mark.parametrize("name", [name for name in CATALOGS if not name.endswith(f"/{SITE}.po")])
def test_a_term_has_one_translation(name: str) -> None:
    """A link to a term names it as the glossary does; terms of several words count anywhere."""
    known = terms(Path(name).parts[0])
    others = []
    for message, said in read_catalog(CATALOGS[name]).items():
        for shown, target in re.findall(r"\{term\}`(?:([^`<]+?) <)?([^`>]+)>?`", said):
            wanted = known.get(target) or known[target.lower()]
            if wanted.lower() not in (shown or target).lower() and (shown or target) not in wanted:
                others.append((target, shown))
        plain = catalogs.LITERAL.sub(" ", message).lower()
        others += [
            (term, said)
            for term, wanted in known.items()
            if " " in term and re.search(rf"\b{re.escape(term)}s?\b", plain) and wanted not in said
        ]
    assert others == []


@pytest.mark.parametrize("name", [name for name in CATALOGS if name.startswith("zh")])
def test_chinese_is_set_as_usual(name: str) -> None:
    """Full-width marks after Chinese text, and a space between it and Latin text."""
    texts = {
        said: catalogs.LITERAL.sub(lambda found: "`" if found[0][0] in "$`{" else "", said)
        for said in read_catalog(CATALOGS[name]).values()
    }
    assert [said for said, text in texts.items() if UNTIDY.search(text)] == []


def test_a_changed_sentence_becomes_fuzzy_and_a_new_one_is_missing() -> None:
    old = Catalog()
    old.add("The mask hides the future.", "掩码遮住未来。")
    old.add("Nothing leaks.", "没有泄漏。")
    messages = ["The mask hides all the future.", "Nothing leaks.", "$x$", "A new line of text"]
    new = catalogs.updated(old, messages, memory={"A new line of text": "新的一行"})
    assert catalogs.missing(new) == messages[:1]
    assert [str(each.string) for each in new if each.id] == [
        "掩码遮住未来。",
        "没有泄漏。",
        "$x$",
        "新的一行",
    ]


def test_a_figure_says_what_its_script_and_its_data_say(tmp_path: Path) -> None:
    folder = tmp_path / ASSETS / "figures"
    folder.mkdir(parents=True)
    script = 'const said = fill(_("step {step}"), { step }); const name = _(part.name);'
    (folder / "walk.js").write_text(script)
    data = '<script type="application/json" class="moving-data">{"messages": ["Norms"]}</script>'
    names = ("walk", "none")  # the second one has no script
    page = "".join(f'<figure class="moving-figure" data-figure="{name}">' for name in names) + data
    assert messages_of_figures(page, tmp_path) == ["step {step}", "Norms"]
