"""Find tasks by their keys; each assignment lists its own in ``assignments/<slug>/tasks.toml``."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # to load a task loads torch
    from transformer_checks.task import Task

SLUGS = (
    "sequences",
    "tokenizers",
    "embeddings",
    "attention",
    "positions",
    "masking",
    "blocks",
    "training",
    "decoding",
    "gpt",
    "tuning",
    "depth",
    "where_next",
)
# Later tasks of these notebooks use the answers to earlier ones, so students import them.
HANDED_OUT = ("tokenizers", "embeddings")


def all_tasks() -> dict[str, Task]:
    """Return every task by its key, in the order of the assignments."""
    return {task.key: task for slug in SLUGS for task in _tasks_of(slug).values()}


def find_task(key: str) -> Task:
    """Find a task; only its own assignment is loaded.

    Args:
        key: like "attention.split_heads".

    Returns:
        the task.

    Raises:
        KeyError: if there is none of that name; the message lists those there are.
    """
    slug, _, name = key.partition(".") if isinstance(key, str) else ("", "", "")
    if slug not in SLUGS or name not in _tasks_of(slug):
        raise KeyError(f"unknown task {key!r}; known tasks: {', '.join(all_tasks())}")
    return _tasks_of(slug)[name]


def _tasks_of(slug: str) -> dict[str, Task]:
    # By its name, as `assignments` is above this module: tests/house/test_imports.py.
    tasks: dict[str, Task] = importlib.import_module(
        "transformer_checks.assignments.reading"
    ).read_tasks(slug)
    return tasks
