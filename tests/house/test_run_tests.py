"""`make test` runs every stage, adds them up, and says at both ends which one it left out."""

from __future__ import annotations

import shlex
from pathlib import Path

import coverage
import pytest

from tools import chromium, cluster, draw_sample, run_tests, sandbox
from tools.run_tests import Stage

pytestmark = pytest.mark.weekly

REAL_STAGES = run_tests.stages
PASSES = ("-c", "print('fine')")
FAILS = ("-c", "raise SystemExit(3)")


def replace_stages(monkeypatch: pytest.MonkeyPatch, *stages: Stage) -> None:
    """Let `make test` have these stages, and `make test-all` no others."""
    monkeypatch.setattr(run_tests, "stages", lambda everything: stages)
    monkeypatch.setattr(run_tests, "ONLY_ALL", ())


@pytest.fixture(autouse=True)
def no_real_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the stages by quick ones; no browser is here, and none can be had."""
    stages = (
        Stage("good", (PASSES,)),
        Stage("bad", (FAILS, PASSES)),
        Stage("browser", (PASSES,), needs="browser"),
    )
    replace_stages(monkeypatch, *stages)
    monkeypatch.setattr(chromium, "find", lambda: None)
    monkeypatch.setattr(chromium, "fetch", lambda ci: None)


def words(text: str) -> dict[str, str]:
    """The word that the summary gives to each stage."""
    lines = text.split("=== summary ===")[1].splitlines()
    return {line[:12].strip(): line[12:22].strip() for line in lines if line.endswith(" s")}


def test_every_stage_and_command_runs_after_a_failure(capfd: pytest.CaptureFixture[str]) -> None:
    stages = [Stage("bad", (FAILS, PASSES)), Stage("good", (PASSES,))]
    outcomes = run_tests.run_all(stages, {})
    assert [outcome.word for outcome in outcomes] == ["FAILED", "passed"]
    assert capfd.readouterr().out.count("fine\n") == 2


@pytest.mark.parametrize("arguments", [[], ["--all"]])
def test_a_browser_that_cannot_be_had_is_left_out_with_the_way_to_get_it(
    arguments: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_tests.main([*arguments, "good", "browser"], {}) == 0
    before, summary = capfd.readouterr().out.split("=== summary ===")
    for part in (before, summary):
        assert "The stage browser is left out." in part
        assert "apt-get install chromium" in part
    assert words(f"=== summary ==={summary}")["browser"] == "left out"


@pytest.mark.parametrize("environ", [{}, {"CI": "true"}], ids=["here", "ci"])
def test_a_browser_is_fetched_before_the_first_stage(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fetch(ci: bool) -> Path:
        print(f"fetching, ci={ci}")
        return Path("/usr/bin/chromium")

    monkeypatch.setattr(chromium, "fetch", fetch)
    assert run_tests.main(["good", "browser"], environ) == 0
    shown = capfd.readouterr().out
    assert f"fetching, ci={bool(environ)}" in shown.split("=== good ===")[0]
    assert words(shown)["browser"] == "passed"


def test_a_browser_that_is_there_is_not_fetched(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(chromium, "find", lambda: Path("/usr/bin/chromium"))
    monkeypatch.setattr(chromium, "fetch", lambda ci: pytest.fail("must not fetch"))
    assert run_tests.main(["browser"], {}) == 0
    assert words(capfd.readouterr().out)["browser"] == "passed"


def test_without_a_sandbox_its_stage_is_left_out_and_in_ci_all_fails(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    stages = (Stage("good", (PASSES,)), Stage("class", (PASSES,), needs="sandbox"))
    replace_stages(monkeypatch, *stages)
    monkeypatch.setattr(sandbox, "why_not", lambda: "apt-get install bubblewrap")
    monkeypatch.setattr(sandbox, "fetch", lambda ci: "apt-get install bubblewrap")
    assert run_tests.main([], {}) == 0
    shown = capfd.readouterr().out
    assert words(shown)["class"] == "left out"
    assert "apt-get install bubblewrap" in shown.split("=== summary ===")[1]
    assert run_tests.main([], {"CI": "true"}) == 1
    assert "=== good ===" not in capfd.readouterr().out
    monkeypatch.setattr(sandbox, "fetch", lambda ci: "")
    assert run_tests.main([], {"CI": "true"}) == 0


def test_what_is_run_on_request_gets_what_it_needs_and_is_in_no_other_run(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    asked = (Stage("whole-class", (PASSES,), needs="cluster"),)
    replace_stages(monkeypatch, Stage("good", (PASSES,)))
    monkeypatch.setattr(run_tests, "ON_REQUEST", asked)
    monkeypatch.setattr(sandbox, "why_not", lambda: "")
    monkeypatch.setattr(cluster, "why_not", lambda: pytest.fail("must not look"))
    assert run_tests.main([], {}) == 0
    assert words(capfd.readouterr().out) == {"good": "passed", "all": ""}
    monkeypatch.setattr(cluster, "why_not", lambda: "no Dask")
    monkeypatch.setattr(cluster, "fetch", lambda ci: "")
    assert run_tests.main(["whole-class"], {"CI": "true"}) == 0
    assert words(capfd.readouterr().out) == {"whole-class": "passed", "all": ""}
    monkeypatch.setattr(cluster, "fetch", lambda ci: "apt-get install postgresql")
    assert run_tests.main(["whole-class"], {}) == 0
    shown = capfd.readouterr().out
    assert words(shown)["whole-class"] == "left out"
    assert "apt-get install postgresql" in shown.split("=== summary ===")[1]
    assert run_tests.main(["whole-class"], {"CI": "true"}) == 1


def test_in_ci_user_namespaces_are_switched_on_where_they_are_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[str] = []
    monkeypatch.setattr(sandbox, "succeeds", lambda command: ran.append(" ".join(command)))
    monkeypatch.setattr(sandbox, "apt_get", lambda *_: [])
    monkeypatch.setattr(sandbox, "why_not", lambda: "no user namespaces")
    assert sandbox.fetch(ci=False) == "no user namespaces"
    assert not ran
    assert sandbox.fetch(ci=True) == "no user namespaces"
    assert any("apparmor_restrict_unprivileged_userns=0" in command for command in ran)


def test_the_extras_of_a_whole_class_are_those_of_the_project() -> None:
    names = [each.partition("[")[0].partition(">")[0] for each in cluster.requirements()]
    assert names == list(cluster.EXTRAS.values())


def test_only_what_a_whole_class_lacks_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "postgresql", lambda: None)
    monkeypatch.setattr(cluster, "names_of_accounts", lambda: None)
    monkeypatch.setattr(cluster.shutil, "which", lambda name: f"/usr/local/bin/{name}")
    assert cluster.packages_missing() == ["postgresql", "libnss-wrapper"]
    monkeypatch.setattr(cluster.shutil, "which", lambda name: None)
    assert cluster.packages_missing() == ["postgresql", "nodejs", "npm", "libnss-wrapper"]


def test_in_ci_a_browser_that_cannot_be_had_fails_at_once(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert run_tests.main(["good", "browser"], {"CI": "true"}) == 1
    shown = capfd.readouterr().out
    assert "apt-get install chromium" in shown
    assert "=== good ===" not in shown


@pytest.mark.parametrize("environ", [{}, {"CI": "true"}], ids=["here", "ci"])
def test_a_browser_that_no_stage_needs_is_not_looked_for(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(chromium, "find", lambda: pytest.fail("must not look"))
    assert run_tests.main(["good"], environ) == 0
    assert run_tests.main(["good", "browser"], {**environ, "SKIP_BROWSER": "1"}) == 0
    assert words(capfd.readouterr().out.split("=== good ===")[-1])["browser"] == "left out"


def test_a_wrong_chromium_is_named_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def find() -> Path:
        raise ValueError("CHROMIUM: no program 'x', expected the path of a Chromium")

    monkeypatch.setattr(chromium, "find", find)
    with pytest.raises(SystemExit):
        run_tests.main(["good", "browser"], {})
    assert "CHROMIUM: no program 'x'" in capsys.readouterr().err


def test_the_package_and_the_checks_are_each_held_to_a_share_of_their_lines() -> None:
    commands = {stage.name: stage.commands[0] for stage in REAL_STAGES(everything=True)}
    daily = {stage.name: stage.commands[0] for stage in REAL_STAGES(everything=False)}
    assert not [word for word in daily["package"] + daily["checks"] if word.startswith("--cov")]
    assert "--cov=transformer_ref" in commands["package"]
    assert "--cov=transformer_checks" in commands["checks"]
    (file,) = [word for word in commands["checks"] if word.startswith("--cov-config=")]
    package = coverage.Coverage(config_file="pyproject.toml")
    checks = coverage.Coverage(config_file=file.removeprefix("--cov-config="))
    assert package.get_option("report:fail_under") >= 95
    assert checks.get_option("report:fail_under") >= 95
    assert package.get_option("run:omit") == ["transformer_checks/*"]
    omitted = checks.get_option("run:omit")
    assert omitted == [
        "transformer_checks/classroom/*",
        "transformer_checks/classroom/for_nbgrader.py",
    ]


def test_an_unknown_stage_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run_tests.main(["goood"], {})
    assert "unknown stage goood" in capsys.readouterr().err


def test_the_environment_of_a_stage_reaches_its_commands() -> None:
    code = "import os; raise SystemExit(os.environ['OMP_NUM_THREADS'] != '1')"
    assert run_tests.run_command(("-c", code), {"OMP_NUM_THREADS": "1"})[0]
    assert not run_tests.run_command(("-c", code), {"OMP_NUM_THREADS": "2"})[0]


def test_each_stage_of_every_day_is_a_part_of_everything() -> None:
    names = [stage.name for stage in REAL_STAGES(everything=True)]
    daily = [stage.name for stage in REAL_STAGES(everything=False)]
    assert daily == names[: len(daily)]


TWO_TESTS = """
import pytest

def test_fails():
    assert False

@pytest.mark.weekly
@pytest.mark.parametrize("name", ["a b", "c"])
def test_weekly(name):
    assert name == "c"
"""


@pytest.fixture
def file_of_tests(tmp_path: Path) -> Path:
    file = tmp_path / "test_two.py"
    file.write_text(TWO_TESTS)
    return file


def pytest_command(file: Path, everything: bool) -> tuple[str, ...]:
    ini = ("-c", str(run_tests.ROOT / "pyproject.toml"), f"--rootdir={file.parent}")
    return (*run_tests.PYTEST, *ini, str(file), *run_tests.marked("not browser", everything))


@pytest.mark.parametrize("everything", [False, True])
def test_what_is_marked_weekly_is_left_out_but_on_request(
    everything: bool, file_of_tests: Path, tmp_path: Path
) -> None:
    command = pytest_command(file_of_tests, everything)
    passed, failed = run_tests.run_command(command, {}, tmp_path / "cache")
    assert not passed
    names = [shlex.split(line)[-1].partition("::")[2] for line in failed]
    assert names == ["test_fails", "test_weekly[a b]"][: 1 + everything]


def test_the_summary_ends_with_commands_that_run_again_what_failed(
    file_of_tests: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    command = pytest_command(file_of_tests, True)
    quoting = Stage("quoting", (command,), {"LANGUAGE_OF_TEST": "en"})
    replace_stages(monkeypatch, Stage("good", (PASSES,)), quoting, Stage("bad", (FAILS,)))
    assert run_tests.main([], {}) == 1
    lines = capfd.readouterr().out.partition("runs each again:\n")[2].splitlines()
    assert len(lines) == 3
    assert "test_fails" in lines[0]
    assert lines[1].startswith("LANGUAGE_OF_TEST=en ")
    assert "raise SystemExit(3)" in lines[2]
    assert shlex.split(lines[1])[-1].endswith("test_weekly[a b]")


def test_a_cell_is_run_again_with_the_cells_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = ["book/a.ipynb::Cell 3", "book/a.ipynb::Cell 4"]
    monkeypatch.setattr(run_tests, "failed_tests", lambda cache: found)
    command = (*run_tests.PYTEST, *run_tests.NBVAL, "nothing.ipynb")
    passed, failed = run_tests.run_command(command, {}, tmp_path / "cache")
    assert not passed
    (line,) = failed
    assert shlex.split(line)[-1] == "book/a.ipynb"
    assert "--nbval" in shlex.split(line)


def test_a_sample_is_another_one_for_another_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"name {number}" for number in range(4000)]
    drawn = {}
    for commit in ("abc", "def", "abc"):
        monkeypatch.setenv("SAMPLE", commit)
        draw_sample.sample.cache_clear()
        found = {name for name in names if draw_sample.is_drawn(name, 4)}
        assert drawn.setdefault(commit, found) == found
    draw_sample.sample.cache_clear()
    assert drawn["abc"] != drawn["def"]
    assert all(len(found) == pytest.approx(1000, abs=120) for found in drawn.values())


def test_stages_of_one_core_run_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each waits for a file of the other's, so one after the other they would never end."""
    code = (
        "import pathlib, sys, time; mine, other = map(pathlib.Path, sys.argv[1:]); mine.touch();"
        "print(mine.name, 'begins')\n"
        "while not other.exists(): time.sleep(0.01)\nprint(mine.name, 'ends')"
    )
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    first = Stage("first", (("-c", code, a, b),), beside="second")
    replace_stages(monkeypatch, first, Stage("second", (("-c", code, b, a),)))
    assert run_tests.main([], {}) == 0
    out = capfd.readouterr().out
    assert words(out) == {"first": "passed", "second": "passed", "all": ""}
    for name in "ab":  # what each prints stays together
        assert f"{name} begins\n{name} ends\n" in out


def test_a_stage_waits_for_another_one_than_that_beside_it(tmp_path: Path) -> None:
    """`make test STAGES="book site"`: the site is there only when the book is built."""
    built = str(tmp_path / "built")
    make = ("-c", "import pathlib, sys, time; time.sleep(1); pathlib.Path(sys.argv[1]).touch()")
    use = ("-c", "import pathlib, sys; raise SystemExit(not pathlib.Path(sys.argv[1]).exists())")
    book = Stage("book", ((*make, built),), beside="exercises")
    outcomes = run_tests.run_all([book, Stage("site", ((*use, built),))], {})
    assert [outcome.word for outcome in outcomes] == ["passed", "passed"]


def test_without_what_it_looks_at_a_stage_is_left_out_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    stages = (Stage("book", (FAILS,)), Stage("site", (PASSES,), after="book"))
    replace_stages(monkeypatch, *stages)
    assert run_tests.main([], {}) == 1
    out = capfd.readouterr().out
    assert words(out) == {"book": "FAILED", "site": "left out", "all": ""}
    assert "site is left out, as the stage book failed" in out
    assert run_tests.main(["site"], {}) == 0
