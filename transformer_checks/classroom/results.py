"""Keep what came of a submission in a file of its own, named by all that it depends on."""

from __future__ import annotations

import hashlib
import json
import platform
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from transformer_checks.classroom.judge import Cell, Graded, grade_notebook
from transformer_checks.classroom.sandbox import PACKAGES, Sandbox
from transformer_checks.limits import time_limit
from transformer_checks.translation import language
from transformer_ref.files import write_json

# What the checks are made of, and what of transformer_ref they never run.
CODE = {".py", ".toml", ".md", ".po"}
NOT_IN_CHECKS = {"experiments", "README.md"}
# A check has the folder and the output of its process to itself; a worker may have many threads.
_ONE_AT_A_TIME = threading.Lock()


def key_of(cells: Sequence[Cell], files: Mapping[str, bytes], sandbox: Sandbox) -> str:
    """Return the name of a result: a hash of the submission, the checks and the environment.

    Args:
        cells: of the notebook, checks included.
        files: what was handed in beside it, by its path.
        sandbox: where it is executed.
    """
    said = {
        "cells": [asdict(cell) for cell in cells],
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())},
        "environment": [*_environment(), sandbox.name, time_limit(), language()],
    }
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def load_result(folder: Path, key: str) -> Graded | None:
    """Return the result of that name, or None where there is none."""
    path = folder / f"{key}.json"
    return Graded.from_plain(json.loads(path.read_text("utf-8"))) if path.exists() else None


def keep_result(folder: Path, key: str, graded: Graded) -> None:
    """Write a result, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / f"{key}.json", graded.as_plain())


def make_result(cells: Sequence[Cell], files: Mapping[str, bytes], sandbox: Sandbox) -> Graded:
    """Grade a submission in a folder of its own, which is gone afterwards.

    Args:
        cells: of the notebook.
        files: what was handed in beside it; the checks find it in their folder.
        sandbox: where student code is executed.

    Returns:
        what came of it.

    Raises:
        RuntimeError: if the sandbox does not start.
    """
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="grading-") as name:
        for path, data in files.items():
            place = Path(name, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        return grade_notebook(cells, Path(name), sandbox)


def make_result_of(
    key: str, cells: Sequence[Cell], files: Mapping[str, bytes], sandbox: Sandbox
) -> dict[str, Any]:
    """Grade a submission on whatever machine this is, if it would have given the same name.

    Args:
        key: the name of the result.
        cells: of the notebook.
        files: what was handed in beside it.
        sandbox: where student code is executed.

    Returns:
        what came of it, as plain data.

    Raises:
        RuntimeError: if this machine has other versions than the one that named the result, or no
            sandbox.
    """
    if key_of(cells, files, sandbox) != key:
        raise RuntimeError(
            f"{platform.node()} has another version of the course, of Python, torch, numpy or "
            "IPython, or another time limit: received another name for the result, expected the "
            "same. Install the same versions there, and start its worker again"
        )
    _require(sandbox)
    with _ONE_AT_A_TIME:
        return make_result(cells, files, sandbox).as_plain()


@cache
def _require(sandbox: Sandbox) -> None:
    sandbox.require()


@cache
def _environment() -> tuple[str, ...]:
    """What a result depends on besides the submission: our code, Python, and what it uses."""
    code = hashlib.sha256()
    for package in PACKAGES:
        for path in sorted(package.rglob("*")):
            name = path.relative_to(package)
            if path.suffix in CODE and name.parts[0] not in NOT_IN_CHECKS:
                code.update(name.as_posix().encode() + path.read_bytes())
    libraries = [f"{name} {version(name)}" for name in ("torch", "numpy", "ipython")]
    return (code.hexdigest(), platform.python_version(), *libraries)
