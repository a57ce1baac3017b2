"""`make test` runs every stage, adds them up, and never takes a missing browser for a pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import chromium, run_tests
from tools.run_tests import Stage

PASSES = ("-c", "print('fine')")
FAILS = ("-c", "raise SystemExit(3)")


@pytest.fixture(autouse=True)
def no_real_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the stages by quick ones; the browser stage has nothing to drive."""
    stages = (
        Stage("good", (PASSES,)),
        Stage("bad", (FAILS, PASSES)),
        Stage("browser", (PASSES,), browser=True),
    )
    monkeypatch.setattr(run_tests, "STAGES", stages)
    monkeypatch.setattr(chromium, "find", lambda: None)
    monkeypatch.setattr(chromium, "install", lambda: pytest.fail("must not install"))


def words(text: str) -> dict[str, str]:
    """The word that the summary gives to each stage."""
    lines = text.split("=== summary ===")[1].splitlines()
    return {line[:12].strip(): line[12:22].strip() for line in lines if line.endswith(" s")}


def test_every_stage_runs_after_a_failure(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_tests.main([], {}) == 1
    shown = words(capfd.readouterr().out)
    assert shown == {"good": "passed", "bad": "FAILED", "browser": "NOT RUN", "all": ""}


def test_every_command_of_a_stage_runs_after_a_failure(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_tests.main(["bad"], {}) == 1
    assert "fine" in capfd.readouterr().out


def test_all_passed_is_zero() -> None:
    assert run_tests.main(["good"], {}) == 0


def test_a_missing_browser_is_an_error_that_says_what_to_do(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert run_tests.main(["good", "browser"], {}) == 1
    assert "apt-get install chromium" in capfd.readouterr().out


def test_a_browser_left_out_on_purpose_is_not(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_tests.main(["good", "browser"], {"SKIP_BROWSER": "1"}) == 0
    assert words(capfd.readouterr().out)["browser"] == "left out"


def test_in_ci_the_browser_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    there: list[Path] = []

    def install() -> bool:
        there.append(Path("/usr/bin/chromium"))
        return True

    monkeypatch.setattr(chromium, "install", install)
    monkeypatch.setattr(chromium, "find", lambda: there[0] if there else None)
    assert run_tests.main(["browser"], {"CI": "true"}) == 0
    assert there


def test_an_unknown_stage_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run_tests.main(["goood"], {})
    assert "unknown stage goood" in capsys.readouterr().err


def test_the_environment_of_a_stage_reaches_its_commands() -> None:
    code = "import os; raise SystemExit(os.environ['OMP_NUM_THREADS'] != '1')"
    assert run_tests.run_command(("-c", code), {"OMP_NUM_THREADS": "1"})
    assert not run_tests.run_command(("-c", code), {"OMP_NUM_THREADS": "2"})
