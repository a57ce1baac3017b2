"""The bootstrap says clearly what stands in the way, and never takes a half-made environment."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest

from tests.timeouts import COMMAND_SECONDS
from tools import bootstrap, environment
from tools.environment import Machine, SetupError

pytestmark = pytest.mark.weekly

GOOD_MACHINES = [
    Machine("Linux", "x86_64", ("glibc", "2.28")),
    Machine("Linux", "aarch64", ("glibc", "2.41")),
    Machine("Darwin", "arm64", macos="14.0"),
    Machine("Darwin", "arm64", macos="26.1"),
]
BAD_MACHINES = [
    (Machine("Windows", "AMD64"), "WSL"),
    (Machine("Darwin", "x86_64", macos="15.1"), "Intel"),
    (Machine("Darwin", "arm64", macos="13.7"), "macOS 13.7"),
    (Machine("Linux", "x86_64", ("", "")), "musl"),
    (Machine("Linux", "x86_64", ("glibc", "2.17")), "glibc 2.17"),
    (Machine("Linux", "armv7l", ("glibc", "2.36")), "armv7l"),
    (Machine("FreeBSD", "amd64"), "FreeBSD"),
]


@pytest.fixture
def lock_of_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lock file that names one version of torch, in place of the real one."""
    lock = tmp_path / "requirements.lock"
    lock.write_text("torch==2.13.0\n")
    monkeypatch.setattr(environment, "LOCK", lock)
    return lock


@pytest.mark.parametrize("version", [(2, 7, 18), (3, 10, 13), (3, 15, 0), (4, 0, 0)])
def test_a_python_out_of_range_is_named_with_the_way_out(version: tuple[int, ...]) -> None:
    problem = bootstrap.version_problem(version)
    assert problem is not None
    assert f"Python {version[0]}.{version[1]} " in problem
    assert "make PYTHON=" in problem


@pytest.mark.parametrize("version", [(3, 11, 0), (3, 14, 2)])
def test_a_supported_python_has_no_problem(version: tuple[int, ...]) -> None:
    assert bootstrap.version_problem(version) is None


def test_bootstrap_has_no_syntax_that_an_old_python_cannot_parse() -> None:
    tree = ast.parse(Path(bootstrap.__file__).read_text())
    newer = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.AsyncFunctionDef, ast.Match)
    assert not [node for node in ast.walk(tree) if isinstance(node, newer)]
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert functions
    assert all(function.returns is None for function in functions)
    assert all(argument.annotation is None for f in functions for argument in f.args.args)


@pytest.mark.parametrize("machine", GOOD_MACHINES, ids=str)
def test_supported_machines_pass(machine: Machine) -> None:
    environment.check_platform(machine)


@pytest.mark.parametrize(("machine", "named"), BAD_MACHINES, ids=str)
def test_unsupported_machines_are_named(machine: Machine, named: str) -> None:
    with pytest.raises(SetupError, match=named) as caught:
        environment.check_platform(machine)
    assert "Supported systems" in str(caught.value)


def test_a_full_disk_is_stated_with_what_is_free_and_what_is_needed(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"1\.5 GB free.*need about 3 GB"):
        environment.check_disk(tmp_path, needed=3 * 10**9, free=1_500_000_000)
    environment.check_disk(tmp_path, needed=3 * 10**9, free=3 * 10**9)


def test_a_python_without_ensurepip_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    real = environment.importlib.util.find_spec
    monkeypatch.setattr(
        environment.importlib.util,
        "find_spec",
        lambda name: None if name == "ensurepip" else real(name),
    )
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
    with pytest.raises(SetupError, match=rf"lacks ensurepip\.\n.*{version}"):
        environment.check_venv_module()


NETWORK_OUTPUT = """\
WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError': /simple/torch/
ERROR: Could not find a version that satisfies the requirement torch==2.13.0 (from versions: none)
ERROR: No matching distribution found for torch==2.13.0
"""


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (NETWORK_OUTPUT, "no connection to the package index"),
        ("ERROR: No matching distribution found for torch==2.13.0", "has no build of torch"),
        ("OSError: [Errno 28] No space left on device", "The disk is full"),
        ("Traceback\nsomething nobody foresaw", "something nobody foresaw"),
    ],
    ids=["network", "wheel", "disk", "other"],
)
def test_a_failed_pip_is_explained(output: str, expected: str) -> None:
    assert expected in environment.explain_failure(output, "torch==2.13.0")


def test_a_real_pip_without_network_ends_in_the_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    arguments = ["install", "--dry-run", "--retries", "1", "--timeout", "2"]
    unreachable = ["--index-url", "http://127.0.0.1:9/simple", "no-such-package-here"]
    with pytest.raises(SetupError, match="no connection to the package index"):
        environment.run_pip(Path(sys.executable), [*arguments, *unreachable], "a package")


def test_locked_version_reads_the_real_lock_and_names_what_is_missing() -> None:
    text = environment.LOCK.read_text()
    assert environment.locked_version(text, "torch").startswith("2.")
    with pytest.raises(SetupError, match="does not name no-such-package"):
        environment.locked_version(text, "no-such-package")


def make_environment(folder: Path) -> None:
    venv.create(folder, with_pip=False)


def test_reasons_to_remake(tmp_path: Path) -> None:
    folder = tmp_path / "env"
    here = sys.version_info[:2]
    assert environment.reason_to_remake(folder, here) == "there is none yet"
    make_environment(folder)
    assert environment.reason_to_remake(folder, here) is None
    assert "another version" in str(environment.reason_to_remake(folder, (3, 99)))
    (folder / environment.STARTED_NAME).touch()
    assert "did not finish" in str(environment.reason_to_remake(folder, here))
    (folder / environment.STARTED_NAME).unlink()
    (folder / "bin" / "python").unlink()
    assert environment.reason_to_remake(folder, here) == "its Python is gone"


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_set_up_that_is_cut_off_is_begun_again(tmp_path: Path, by: signal.Signals) -> None:
    folder = tmp_path / "env"
    command = [sys.executable, str(environment.ROOT / "tools/bootstrap.py"), "--venv", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + COMMAND_SECONDS
    while not (folder / "pyvenv.cfg").exists():
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(by)
    assert process.wait(COMMAND_SECONDS) != 0
    reason = environment.reason_to_remake(folder, sys.version_info[:2])
    assert reason == "an earlier run did not finish it"


@pytest.mark.usefixtures("lock_of_nothing")
def test_a_failed_installation_leaves_no_stamp_and_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "env"
    monkeypatch.setattr(environment, "check_disk", lambda *_: None)

    def broken(*_: object) -> None:
        raise SetupError("the network went away")

    monkeypatch.setattr(environment, "install_torch", broken)
    assert environment.main(["--venv", str(folder)], {}) == 2
    assert "the network went away" in capsys.readouterr().err
    assert not (folder / environment.STAMP_NAME).exists()
    left_over = folder / "half-installed"
    left_over.touch()

    monkeypatch.setattr(environment, "install_torch", lambda *_: None)
    monkeypatch.setattr(environment, "install_lock", lambda *_: None)
    assert environment.main(["--venv", str(folder)], {}) == 0
    assert not left_over.exists()
    assert (folder / environment.STAMP_NAME).exists()
    assert not (folder / environment.STARTED_NAME).exists()


@pytest.mark.usefixtures("lock_of_nothing")
def test_a_failed_update_keeps_the_environment_but_not_the_stamp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "env"
    make_environment(folder)
    (folder / environment.STAMP_NAME).touch()
    installed_before = folder / "installed-before"
    installed_before.touch()

    def broken(*_: object) -> None:
        raise SetupError("the network went away")

    monkeypatch.setattr(environment, "install_torch", broken)
    assert environment.main(["--venv", str(folder)], {}) == 2
    assert not (folder / environment.STAMP_NAME).exists()
    assert installed_before.exists()


def test_an_environment_in_which_a_tool_is_missing_is_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_environment(tmp_path / "env")
    monkeypatch.setattr(environment, "run_pip", lambda *_: "")
    with pytest.raises(SetupError, match=r"does not work:(.|\n)*No module named 'torch'"):
        environment.install_lock(tmp_path / "env" / "bin" / "python")


def test_the_lock_names_no_address_and_no_cuda_package() -> None:
    lines = environment.LOCK.read_text().splitlines()
    requirements = [line for line in lines if line and not line.lstrip().startswith("#")]
    assert len(requirements) > 100
    assert not [line for line in lines if "://" in line or line.startswith("--")]
    names = [line.split("==")[0] for line in requirements]
    assert not [name for name in names if name.startswith(("nvidia-", "cuda-", "triton"))]
    assert names.count("numpy") == 1
