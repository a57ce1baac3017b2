"""The container for Codespaces and VS Code: its form, and that it uses what the course has.

We cannot start it here.  The schema below is what `devContainer.base.schema.json` of the
specification says about the properties that we use, so that a misspelled one is noticed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

import jsonschema

from tools import environment, lab

ROOT = Path(__file__).resolve().parents[2]
CONTAINER = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))

COMMAND = {"type": ["string", "array"], "items": {"type": "string"}}
SIZE = {"type": "string", "pattern": r"^\d+([tgmk]b)?$"}
SCHEMA = {
    "type": "object",
    "required": ["image"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string"},
        "image": {"type": "string", "pattern": r"^[\w./-]+:\d+\.\d+$"},
        "hostRequirements": {
            "additionalProperties": False,
            "properties": {
                "cpus": {"type": "integer", "minimum": 1},
                "memory": SIZE,
                "storage": SIZE,
            },
        },
        "containerEnv": {"additionalProperties": {"type": "string"}},
        "updateContentCommand": COMMAND,
        "customizations": {"type": "object"},
    },
}


def test_the_file_has_the_form_of_the_specification() -> None:
    jsonschema.validate(CONTAINER, SCHEMA)


def test_the_container_sets_itself_up_with_the_command_for_students() -> None:
    program, script, *options = CONTAINER["updateContentCommand"]
    assert shutil.which(program)
    command = [sys.executable, "-m", f"tools.{Path(script).stem}", *options, "--help"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    assert (ROOT / script).is_file()
    version = tuple(map(int, CONTAINER["image"].rpartition(":")[2].split(".")))
    assert (3, 11) <= version <= (3, 14)


def test_the_editor_opens_the_first_exercise_with_the_python_of_the_course() -> None:
    vscode = CONTAINER["customizations"]["vscode"]
    python = vscode["settings"]["python.defaultInterpreterPath"]
    expected = environment.python_of(PurePosixPath("${containerWorkspaceFolder}/.venv"))
    assert PurePosixPath(python) == expected
    files = CONTAINER["customizations"]["codespaces"]["openFiles"]
    assert files == [f"{lab.WORK}{lab.first_exercise()}"]
    assert (ROOT / files[0].replace(lab.WORK, "exercises")).is_file()
