"""The names by which the checks and their answers are found."""

from __future__ import annotations

import importlib

import pytest

import transformer_checks
from transformer_checks.registry import SLUGS


@pytest.mark.parametrize("slug", SLUGS)
def test_notebooks_find_the_answers_of_an_assignment_by_its_slug(slug: str) -> None:
    answers = importlib.import_module(f"transformer_checks.assignments.{slug}.answers")
    assert getattr(transformer_checks, slug) is answers
    with pytest.raises(AttributeError, match="no attribute 'capston'"):
        getattr(transformer_checks, "capston")  # noqa: B009
