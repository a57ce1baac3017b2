"""Every target of the Makefile has a line in `make help` and runs something that exists."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "Makefile").read_text(encoding="utf-8")
PHONY = TEXT.split(".PHONY:")[1].split("\n\n")[0].replace("\\\n", " ").split()


def make(*arguments: str) -> str:
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_help_lists_every_target() -> None:
    listed = re.findall(r"^  ([a-z0-9-]+) +\S", make(), flags=re.MULTILINE)
    assert listed == PHONY


@pytest.mark.parametrize("module", sorted(set(re.findall(r"-m (\S+)", TEXT))))
def test_the_modules_behind_the_targets_exist(module: str) -> None:
    path = ROOT.joinpath(*module.split("."))
    ours = path.parts[len(ROOT.parts)] in {"tools", "transformer_ref", "benchmarks"}
    assert not ours or path.with_suffix(".py").exists() or (path / "__main__.py").exists()


def test_the_environment_is_made_again_when_the_lock_changes() -> None:
    database = subprocess.run(
        ["make", "--print-data-base", "--question", "help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    ).stdout
    rule = re.search(r"^\.venv/\.complete: (.*)$", database, flags=re.MULTILINE)
    assert rule is not None
    assert {"requirements.lock", "pyproject.toml"} <= set(rule[1].split())


def test_what_people_set_for_other_projects_stays_outside(tmp_path: Path) -> None:
    names = (
        "JUPYTER_PATH",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONHOME",
        "PYTHONPATH",
        "PYTHONSAFEPATH",
        "PYTHONSTARTUP",
    )
    theirs = dict.fromkeys(names, str(tmp_path))
    makefile = tmp_path / "Makefile"
    makefile.write_text(f"{TEXT}\nshow:\n\t@env | grep -E '^({'|'.join(names)})=' || true\n")
    done = subprocess.run(
        ["make", "--no-print-directory", "-f", str(makefile), "show"],
        env={**os.environ, **theirs},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ""


def test_continuous_integration_runs_the_command_of_the_readme() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    commands = [line for line in lines if line and not line.startswith(("#", "set ", "cd "))]
    assert commands == ["exec make test"]
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    steps = workflow["jobs"]["test"]["steps"]
    assert [step["run"] for step in steps if "run" in step] == [".ci/run"]
    assert workflow["jobs"]["test"]["strategy"]["matrix"]["python"] == ["3.11", "3.13", "3.14"]
