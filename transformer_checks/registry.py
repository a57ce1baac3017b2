"""All tasks by key. Those of a slug stand in ``assignments/<slug>/tasks.py``."""

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
    "depth",
)


def all_tasks() -> dict[str, Task]:
    """Return every task by its key, in the order of the assignments."""
    return {
        task.key: task
        for slug in SLUGS
        for task in importlib.import_module(f"transformer_checks.assignments.{slug}.tasks").TASKS
    }


def find_task(key: str) -> Task:
    """Find a task.

    Args:
        key: like "attention.split_heads".

    Returns:
        the task.

    Raises:
        KeyError: if there is none of that name; the message lists those there are.
    """
    tasks = all_tasks()
    if not isinstance(key, str) or key not in tasks:
        raise KeyError(f"unknown task {key!r}; known tasks: {', '.join(tasks)}")
    return tasks[key]
