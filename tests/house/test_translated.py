"""The exercises in other languages: every text, in the same form, and the code as it was."""

from __future__ import annotations

import pytest
from markdown_it.token import Token

from tests.site.test_languages import ENGLISH, QUOTED
from tools import notebooks
from tools.inputs import ROOT
from tools.translated import PARSER, SUMMARY, translate_exercise, translate_markdown
from transformer_checks.registry import SLUGS
from transformer_checks.translation import languages

EVERY_EXERCISE = pytest.mark.parametrize(
    ("language", "slug"), [(language, slug) for language in languages() for slug in SLUGS]
)


def form(tokens: list[Token]) -> list[str]:
    """Describe headings, lists, formulas and the like, without the words."""
    return [
        token.type if token.type != "html_block" else SUMMARY.sub("", token.content)
        for token in tokens
    ]


@EVERY_EXERCISE
def test_an_exercise_has_the_same_form_and_no_english(language: str, slug: str) -> None:
    english = notebooks.read(ROOT / "exercises" / slug / f"{slug}.ipynb")
    other = notebooks.read(ROOT / "exercises" / slug / f"{slug}.ipynb")
    translate_exercise(other, slug, language)
    for before, after in zip(english.cells, other.cells, strict=True):
        if before.cell_type != "markdown":
            assert after == before
            continue
        tokens = PARSER.parse(after.source)
        assert form(tokens) == form(PARSER.parse(before.source))
        # Without what is emphasized: names in the code, which stay.
        texts = [
            "".join(
                child.content
                for child in token.children or []
                if child.level == 0 and child.type == "text"
            )
            for token in tokens
        ]
        assert ENGLISH.findall(QUOTED.sub("", "\n".join(texts))) == []


def test_marks_stay_where_the_words_change() -> None:
    source = """## One *more*

1. The first
   of two lines.
   - An item inside.

| a key | its value |
|---|---|
| on the left | on the right |

<details>
<summary>Hint 1: where</summary>

Look here
and there.
</details>"""
    words = {
        "One *more*": "*Eins*",
        "The first of two lines.": "Zwei Zeilen.",
        "An item inside.": "Darin.",
        "its value": "Wert",
        "on the right": "rechts",
        "Hint 1: where": "Hinweis 1",
        "Look here and there.": "Da.",
    }
    assert (
        translate_markdown(source, words)
        == """## *Eins*

1. Zwei Zeilen.
   - Darin.

| a key | Wert |
|---|---|
| on the left | rechts |

<details>
<summary>Hinweis 1</summary>

Da.
</details>"""
    )
