"""The names by which the checks and their answers are found."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import transformer_checks
from transformer_checks.registry import HANDED_OUT, SLUGS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("slug", SLUGS)
def test_the_answers_are_handed_out_where_a_notebook_imports_them(slug: str) -> None:
    notebook = (ROOT / "exercises" / slug / f"{slug}.ipynb").read_text(encoding="utf-8")
    imports = f"from transformer_checks import {slug} as reference" in notebook
    assert imports == (slug in HANDED_OUT)


@pytest.mark.parametrize("slug", SLUGS)
def test_notebooks_find_the_answers_of_an_assignment_by_its_slug(slug: str) -> None:
    answers = importlib.import_module(f"transformer_checks.assignments.{slug}.answers")
    assert getattr(transformer_checks, slug) is answers
    with pytest.raises(AttributeError, match="no attribute 'capston'"):
        getattr(transformer_checks, "capston")  # noqa: B009
