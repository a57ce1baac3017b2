"""The workflows: actions are pinned, torch comes for the CPU, what we cannot run is named."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))


def load(path: Path) -> dict[Any, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def jobs() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Yield each job with its name and its workflow."""
    for path in WORKFLOWS:
        workflow = load(path)
        for name, job in workflow["jobs"].items():
            yield f"{path.stem}.{name}", job, workflow


def test_every_action_is_pinned_by_a_commit_with_its_version_beside_it() -> None:
    pins: dict[str, set[str]] = {}
    for path in GITHUB.rglob("*.yml"):
        for line in re.findall(r"uses: *(.*)", path.read_text(encoding="utf-8")):
            if line.startswith("./"):
                assert (ROOT / line / "action.yml").exists(), line
                continue
            found = re.fullmatch(r"([\w/-]+)@([0-9a-f]{40} # v\d+\.\d+\.\d+)", line)
            assert found, f"{path.name}: {line}"
            pins.setdefault(found[1], set()).add(found[2])
    assert {"actions/checkout", "actions/setup-python", "actions/deploy-pages"} <= set(pins)
    assert not {name for name, versions in pins.items() if len(versions) > 1}


def test_dependabot_looks_after_the_actions() -> None:
    updates = load(GITHUB / "dependabot.yml")["updates"]
    folders = {
        folder
        for update in updates
        if update["package-ecosystem"] == "github-actions"
        for folder in update["directories"]
    }
    assert folders == {"/", "/.github/actions/*"}


def test_no_job_may_write_to_the_repository_and_each_has_a_limit() -> None:
    for name, job, workflow in jobs():
        rights = {**workflow["permissions"], **job.get("permissions", {})}
        assert rights.get("contents", "none") != "write", name
        assert workflow["permissions"] == {"contents": "read"}, name
        assert job["timeout-minutes"] <= 90, name


def test_torch_comes_for_the_cpu_unless_a_variable_says_otherwise() -> None:
    # The default index brings CUDA only on Linux.
    linux = {name: workflow for name, job, workflow in jobs() if "ubuntu" in job["runs-on"]}
    assert linux
    for name, workflow in linux.items():
        if any("make" in str(step) or ".ci" in str(step) for step in _steps(workflow)):
            assert workflow["env"]["TORCH_INDEX"] == "${{ vars.TORCH_INDEX || 'cpu' }}", name


def _steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_the_checks_run_on_macos() -> None:
    (job,) = [job for _, job, _ in jobs() if job["runs-on"] == "macos-latest"]
    (command,) = [step["run"] for step in job["steps"] if "run" in step]
    assert command == 'make test STAGES="house checks"'


def test_what_students_do_runs_on_the_systems_that_we_do_not_have() -> None:
    ((job, systems),) = [
        (job, job["strategy"]["matrix"]["include"])
        for _, job, _ in jobs()
        if job["runs-on"] == "${{ matrix.system }}"
    ]
    assert {each["system"] for each in systems} == {"windows-latest", "macos-latest"}
    set_up, check = (step["run"] for step in job["steps"] if "run" in step)
    page = (ROOT / "book/students.md").read_text(encoding="utf-8")
    assert set_up.replace(" --copy-only", "").strip() in page
    assert (ROOT / check.split()[-1]).is_file()


def test_the_site_is_published_only_when_the_tests_passed() -> None:
    workflow = load(GITHUB / "workflows/pages.yml")
    trigger = workflow[True]["workflow_run"]  # YAML takes `on` for true
    assert trigger["workflows"] == [load(GITHUB / "workflows/ci.yml")["name"]]
    condition = workflow["jobs"]["build"]["if"]
    assert "conclusion == 'success'" in condition
    assert "event == 'push'" in condition  # not a fork's branch that is called main too
    assert workflow["jobs"]["publish"]["permissions"] == {"pages": "write", "id-token": "write"}


def test_every_week_and_release_begins_from_nothing_and_runs_every_test() -> None:
    workflow = load(GITHUB / "workflows/weekly.yml")
    assert {"schedule", "release"} <= set(workflow[True])  # YAML takes `on` for true
    weekly = workflow["jobs"]
    assert not [step for step in weekly["cold-build"]["steps"] if "./" in step.get("uses", "")]
    commands = [step.get("run") for job in weekly.values() for step in job["steps"]]
    assert {"make book", "make linkcheck", "make test-all", "make test-class"} <= set(commands)


@pytest.mark.parametrize("form", sorted((GITHUB / "ISSUE_TEMPLATE").glob("[!c]*.yml")))
def test_the_forms_of_issues_ask_for_something(form: Path) -> None:
    fields = load(form)["body"]
    wanted = [f for f in fields if f.get("validations", {}).get("required")]
    assert wanted
    names = [field["id"] for field in fields if field["type"] != "markdown"]
    assert len(names) == len(set(names))


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = project["version"]
    assert tuple(map(int, version.split("."))) > (0, 1, 0)
    citation = load(ROOT / "CITATION.cff")
    assert citation["version"] == version
    released = citation["date-released"]
    assert released == date.fromisoformat(str(released))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", changes, flags=re.MULTILINE)[0] == f"{version}, {released}"
