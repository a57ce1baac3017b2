"""The names by which the checks and their answers are found."""

from __future__ import annotations

import importlib

import pytest

from transformer_ref import checks
from transformer_ref.checks.registry import SLUGS


def test_the_folder_of_the_tasks_does_not_hide_the_function() -> None:
    """Both have one name: the folder is imported first, and the function defined after it."""
    assert importlib.import_module("transformer_ref.checks.tasks.attention.tasks").TASKS
    assert checks.tasks()[0] == "sequences.recurrent_step"


@pytest.mark.parametrize("slug", SLUGS)
def test_notebooks_find_the_answers_of_an_assignment_by_its_slug(slug: str) -> None:
    answers = importlib.import_module(f"transformer_ref.checks.tasks.{slug}.answers")
    assert getattr(checks, slug) is answers
    with pytest.raises(AttributeError, match="no attribute 'capston'"):
        getattr(checks, "capston")  # noqa: B009
