"""Give each student hidden tests of their own.

The seed of the released hidden tests stands in the course's repository, so their expected results
can be worked out beforehand. In a class another seed takes its place, which depends on the student
and on a secret of the course; the check that students run keeps its own.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from nbformat import NotebookNode

from transformer_checks.classroom.judge import Cell
from transformer_checks.classroom.submission import code_cells

SEED = re.compile(r"\bseed=\d+")


def cells_to_grade(notebook: NotebookNode, results: Path, student: str) -> list[Cell]:
    """Return the code cells of a student's notebook, with the student's own hidden tests.

    Args:
        notebook: the rebuilt one.
        results: the folder of the course's results.
        student: whose work it is.
    """
    return with_own_seeds(code_cells(notebook), course_secret(results), student)


def course_secret(results: Path) -> bytes:
    """Return the secret of a course, made when it is first asked for.

    Args:
        results: the folder of the course's results. Without the file in it all are made anew.
    """
    path = results / "secret.txt"
    results.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError), path.open("x", encoding="ascii") as file:
        path.chmod(0o600)
        file.write(secrets.token_hex())
    return path.read_bytes()


def with_own_seeds(cells: Sequence[Cell], secret: bytes, student: str) -> list[Cell]:
    """Return a notebook's cells, with the seeds of hidden tests replaced by the student's own.

    Args:
        cells: as the course released them.
        secret: of the course.
        student: whose work it is.
    """

    def own(found: re.Match[str]) -> str:
        said = f"{found[0]} {student}".encode()
        number = int.from_bytes(hmac.digest(secret, said, hashlib.sha256)[:4])
        return f"seed={number + 1}"  # without a seed, or with 0, it is the check of the student

    return [
        replace(cell, source=SEED.sub(own, cell.source)) if cell.graded else cell for cell in cells
    ]
