"""The browser tests find a Chromium that starts, or get one without a question."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tools import chromium

pytestmark = pytest.mark.weekly

# Stand-ins for programs: what each does, in the shell.
STARTS = "echo '<html><head></head><body></body></html>'"
FAILS = "echo 'libnss3.so: cannot open shared object file' >&2; exit 127"

MakeProgram = Callable[[str, str], Path]


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without any browser, apt-get or sudo, whose user is not root."""
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(chromium, "MAC_APPLICATIONS", ())
    monkeypatch.setattr(chromium, "playwright_chromium", lambda: None)
    monkeypatch.setattr(chromium, "PLAYWRIGHT_INSTALL", ("playwright", "install", "chromium"))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)


@pytest.fixture
def program(tmp_path: Path) -> MakeProgram:
    """Make a program on PATH that runs a script and notes each call in the file `calls`."""

    def make(name: str, script: str) -> Path:
        path = tmp_path / name
        note = f"echo {name} $* >> {shlex.quote(str(tmp_path / 'calls'))}"
        path.write_text(f"#!/bin/sh\n{note}\n{script}\n")
        path.chmod(0o755)
        return path

    return make


@pytest.fixture
def calls(tmp_path: Path) -> Callable[[], list[str]]:
    """Return the calls of the stand-ins that install, without their further arguments."""

    def read() -> list[str]:
        path = tmp_path / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in lines if not line.startswith("chromium")]

    return read


def installs_chromium(folder: Path, script: str = STARTS) -> str:
    """A script that puts a Chromium on PATH, by what every shell has of its own."""
    target = shlex.quote(str(folder / "chromium"))
    text = shlex.quote(f"#!/bin/sh\n{script}")
    return f"echo {text} > {target}; /bin/chmod +x {target}"


def test_the_chosen_program_wins(monkeypatch: pytest.MonkeyPatch, program: MakeProgram) -> None:
    program("chromium", STARTS)
    chosen = program("my-browser", STARTS)
    monkeypatch.setenv("CHROMIUM", str(chosen))
    assert chromium.find() == chosen


@pytest.mark.parametrize("name", ["no-such-browser", "my-browser"])
def test_a_chosen_program_that_does_not_start_is_named(
    name: str, monkeypatch: pytest.MonkeyPatch, program: MakeProgram
) -> None:
    program("chromium", STARTS)
    program("my-browser", FAILS)
    monkeypatch.setenv("CHROMIUM", name)
    with pytest.raises(ValueError, match=f"CHROMIUM: .*{name}"):
        chromium.find()


@pytest.mark.parametrize("script", [FAILS, "echo 'needs the snap to be installed'"])
def test_a_program_that_shows_no_page_is_passed_over(script: str, program: MakeProgram) -> None:
    assert chromium.find() is None
    program("chromium", script)
    assert chromium.find() is None
    path = program("google-chrome", STARTS)
    assert chromium.find() == path


def test_a_program_that_is_stuck_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, program: MakeProgram
) -> None:
    # Its child keeps the output open, as Chromium's helpers do.
    program("chromium", "/bin/sleep 600 & wait")
    monkeypatch.setattr(chromium, "START_LIMIT", 0.5)
    begin = time.monotonic()
    assert chromium.find() is None
    assert time.monotonic() - begin < 300


def test_playwright_fetches_it_for_any_user(
    program: MakeProgram, calls: Callable[[], list[str]], tmp_path: Path
) -> None:
    program("apt-get", "exit 1")
    program("playwright", installs_chromium(tmp_path))
    assert chromium.fetch(ci=False) == tmp_path / "chromium"
    assert calls() == ["playwright install chromium"]


def test_what_playwright_fetched_must_start_too(program: MakeProgram, tmp_path: Path) -> None:
    program("playwright", installs_chromium(tmp_path, FAILS))
    assert chromium.fetch(ci=False) is None


def test_root_takes_apt_get_where_playwright_fails(
    monkeypatch: pytest.MonkeyPatch,
    program: MakeProgram,
    calls: Callable[[], list[str]],
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    program("playwright", "exit 1")
    asks = "test $DEBIAN_FRONTEND = noninteractive || exit 1"
    program("apt-get", f"{asks}; if test $1 = install; then {installs_chromium(tmp_path)}; fi")
    assert chromium.fetch(ci=False) == tmp_path / "chromium"
    assert [call.split()[:2] for call in calls()] == [
        ["playwright", "install"],
        ["apt-get", "update"],
        ["apt-get", "install"],
    ]


def test_other_users_never_touch_apt_get_or_sudo(
    program: MakeProgram, calls: Callable[[], list[str]]
) -> None:
    for name in ("playwright", "apt-get", "sudo"):
        program(name, "exit 1")
    assert chromium.fetch(ci=False) is None
    assert calls() == ["playwright install chromium"]


def test_ci_takes_apt_get_first_with_a_sudo_that_asks_nothing(
    program: MakeProgram, calls: Callable[[], list[str]], tmp_path: Path
) -> None:
    program("playwright", "exit 1")
    program("sudo", 'test "$1" = --non-interactive && shift && unset DEBIAN_FRONTEND && exec "$@"')
    asks = "test $DEBIAN_FRONTEND = noninteractive || exit 1"
    program("apt-get", f"{asks}; if test $1 = install; then {installs_chromium(tmp_path)}; fi")
    assert chromium.fetch(ci=True) == tmp_path / "chromium"
    assert {call.split()[0] for call in calls()} == {"sudo", "apt-get"}


def test_ci_takes_playwright_where_there_is_no_apt_get(
    program: MakeProgram, calls: Callable[[], list[str]], tmp_path: Path
) -> None:
    program("playwright", installs_chromium(tmp_path))
    assert chromium.fetch(ci=True) == tmp_path / "chromium"
    assert calls() == ["playwright install chromium"]


def test_nobody_is_asked_anything(program: MakeProgram, tmp_path: Path) -> None:
    program("playwright", f"read answer && {installs_chromium(tmp_path)}")
    assert chromium.fetch(ci=False) is None
