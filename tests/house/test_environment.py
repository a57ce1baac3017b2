"""`make setup` never takes a half-made environment for a good one, and follows the user's pip."""

from __future__ import annotations

import functools
import http.server
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
import venv
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tools import environment

pytestmark = pytest.mark.weekly

SetForPip = Callable[[dict[str, str]], None]


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove this machine's own settings, and the cache, which knows what another test fetched."""
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")


def make_environment(folder: Path) -> Path:
    """An environment that sees the pip and the uv of this one; return its Python."""
    venv.create(folder, with_pip=False)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    here = folder / "lib" / version / "site-packages" / "here.pth"
    here.write_text(sysconfig.get_path("purelib"))
    (folder / "bin" / "uv").symlink_to(Path(sysconfig.get_path("scripts")) / "uv")
    return folder / "bin" / "python"


# --- an environment is never half-made ------------------------------------------------------------


@pytest.mark.parametrize("version", [(2, 7, 18), (3, 10, 13), (3, 15, 0)])
def test_a_python_that_does_not_fit_is_named_with_the_way_out(
    version: tuple[int, ...], tmp_path: Path
) -> None:
    python = tmp_path / "python"
    code = f"import sys; sys.version_info = {version}; exec(sys.argv[2])"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{code}" "$@"\n')
    python.chmod(0o755)
    command = ["make", "setup", f"PYTHON={python}", f"VENV={tmp_path / 'env'}"]
    done = subprocess.run(command, cwd=environment.ROOT, capture_output=True, text=True)
    assert done.returncode != 0
    assert f"Python {version[0]}.{version[1]} " in done.stderr
    assert "make PYTHON=" in done.stderr
    assert not (tmp_path / "env").exists()


def test_reasons_to_remake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "env"
    assert environment.reason_to_remake(folder) == "there is none yet"
    python = make_environment(folder)
    assert "did not finish" in str(environment.reason_to_remake(folder))
    (folder / environment.STAMP).touch()
    assert environment.reason_to_remake(folder) is None
    with monkeypatch.context() as other:
        other.setattr(sys, "version_info", (3, 99, 0))
        assert "another version" in str(environment.reason_to_remake(folder))
    python.unlink()
    assert environment.reason_to_remake(folder) == "its Python is gone"


@pytest.fixture
def set_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], int]:
    """Run the command line on the folder `env`; the installation installs nothing, or fails."""
    create = venv.create

    def create_without_pip(folder: Path, clear: bool = False, **_: bool) -> None:
        create(folder, clear=clear, symlinks=True)

    def set_up(works: bool) -> int:
        def install(*_: object) -> None:
            if not works:
                raise subprocess.CalledProcessError(2, ["uv"])

        monkeypatch.setattr(environment, "install_uv", lambda _: None)
        monkeypatch.setattr(environment.venv, "create", create_without_pip)
        monkeypatch.setattr(environment, "install", install)
        monkeypatch.setattr(environment, "wants_cpu_index", lambda _: False)
        return environment.main(["--venv", str(tmp_path / "env")])

    return set_up


def test_a_failed_installation_is_begun_again(
    tmp_path: Path, set_up: Callable[[bool], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "env"
    monkeypatch.setattr(environment, "SMOKE_TEST", "")
    assert set_up(False) != 0
    assert not (folder / environment.STAMP).exists()
    left_over = folder / "half-installed"
    left_over.touch()
    assert set_up(True) == 0
    assert not left_over.exists()
    assert (folder / environment.STAMP).exists()


def test_an_environment_that_is_made_again_loses_its_stamp_first(
    tmp_path: Path, set_up: Callable[[bool], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    stamp = tmp_path / "env" / environment.STAMP
    stamp.parent.mkdir()
    stamp.touch()

    def disk_usage(folder: Path) -> None:
        assert not stamp.exists()
        raise KeyboardInterrupt

    monkeypatch.setattr(environment.shutil, "disk_usage", disk_usage)
    assert set_up(True) != 0
    assert environment.reason_to_remake(stamp.parent) == "an earlier run did not finish it"


def test_a_failed_update_is_tried_again_and_keeps_the_environment(
    tmp_path: Path, set_up: Callable[[bool], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "env"
    make_environment(folder)
    stamp = folder / environment.STAMP
    stamp.touch()
    os.utime(stamp, (10**9, 10**9))  # older than the lock, so `make` runs the update again
    assert set_up(False) != 0
    assert stamp.stat().st_mtime == 10**9
    monkeypatch.setattr(environment, "SMOKE_TEST", "")
    assert set_up(True) == 0
    assert stamp.stat().st_mtime > 10**9
    assert (folder / "bin" / "uv").exists()


def test_an_environment_in_which_a_tool_is_missing_is_not_ready(
    tmp_path: Path, set_up: Callable[[bool], int], capfd: pytest.CaptureFixture[str]
) -> None:
    assert set_up(True) != 0
    assert "No module named 'torch'" in capfd.readouterr().err
    assert not (tmp_path / "env" / environment.STAMP).exists()


def test_a_full_disk_is_named_before_anything_is_fetched(
    set_up: Callable[[bool], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage("/")._replace(free=1_500_000_000)
    monkeypatch.setattr(environment.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(SystemExit, match=r"1\.5 GB free"):
        set_up(True)


def test_the_lock_names_no_address_and_no_cuda_package() -> None:
    lines = environment.LOCK.read_text().splitlines()
    requirements = [line for line in lines if line and not line.lstrip().startswith("#")]
    assert len(requirements) > 100
    assert not [line for line in lines if "://" in line or line.startswith("--")]
    names = [line.split("==")[0] for line in requirements]
    assert not [name for name in names if name.startswith(("nvidia-", "cuda-", "triton"))]
    assert names.count("numpy") == 1


def test_torch_comes_from_the_index_that_is_asked_for() -> None:
    assert environment.torch_options("") == []
    assert environment.torch_options("cu130") == ["--torch-backend", "cu130"]
    address = "https://packages.example/simple"
    assert environment.torch_options(address) == ["--default-index", address]


@pytest.mark.parametrize("answers", [True, False])
def test_linux_without_a_gpu_takes_the_build_for_the_cpu(
    answers: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "torch"
    monkeypatch.setattr(environment, "CPU_INDEX", page.as_uri())
    monkeypatch.setattr(environment, "NVIDIA", tmp_path / "driver")
    if answers:
        page.touch()
    here = Path(sys.executable)
    with monkeypatch.context() as system:
        system.setattr(sys, "platform", "linux")
        assert environment.wants_cpu_index(here) is answers
        system.setenv("PIP_INDEX_URL", "https://packages.example/simple")
        assert not environment.wants_cpu_index(here)
        system.delenv("PIP_INDEX_URL")
        (tmp_path / "driver").touch()
        assert not environment.wants_cpu_index(here)
    for platform in ("darwin", "win32"):  # the default index has no CUDA there
        monkeypatch.setattr(sys, "platform", platform)
        assert not environment.wants_cpu_index(here)


def test_an_environment_is_current_until_the_lock_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("requirements.lock", "pyproject.toml"):
        (tmp_path / name).touch()
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    monkeypatch.setattr(environment, "LOCK", tmp_path / "requirements.lock")
    assert not environment.is_current(tmp_path)
    (tmp_path / environment.STAMP).touch()
    assert environment.is_current(tmp_path)
    os.utime(tmp_path / environment.STAMP, (10**9, 10**9))
    assert not environment.is_current(tmp_path)


# --- what is set for pip --------------------------------------------------------------------------


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """An index of packages, served on this machine, with one version of a package."""
    folder = tmp_path / "index" / "tiny-course-package"
    folder.mkdir(parents=True)
    name = "tiny_course_package-1.0"
    info = f"{name}.dist-info"
    files = {
        "tiny_course_package.py": "",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: tiny-course-package\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": f"tiny_course_package.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n",
    }
    with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w") as wheel:
        for file, text in files.items():
            wheel.writestr(file, text)
    link = f'<a href="{name}-py3-none-any.whl">{name}-py3-none-any.whl</a>'
    (folder / "index.html").write_text(f"<!DOCTYPE html><html><body>{link}</body></html>")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(params=["variable", "file"])
def set_for_pip(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> SetForPip:
    """Set options of pip: by variables, or in a configuration file."""

    def set_for_pip(settings: dict[str, str]) -> None:
        if request.param == "variable":
            for name, value in settings.items():
                monkeypatch.setenv(f"PIP_{name.upper().replace('-', '_')}", value)
        else:
            lines = [f"{name} = {value}" for name, value in settings.items()]
            file = tmp_path / ".config" / "pip" / "pip.conf"
            file.parent.mkdir(parents=True)
            file.write_text("\n".join(["[global]", *lines, ""]))
            monkeypatch.setenv("HOME", str(tmp_path))
            monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path / "none"))
            monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
            monkeypatch.delenv("PIP_CONFIG_FILE")

    return set_for_pip


def installed_by(python: Path) -> str:
    """What installed the small package into an environment."""
    code = (
        "import importlib.metadata, json;"
        "found = importlib.metadata.distribution('tiny-course-package');"
        "print(json.dumps(found.read_text('INSTALLER').strip()))"
    )
    result = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return str(json.loads(result.stdout))


@pytest.mark.parametrize("name", ["index-url", "extra-index-url", "find-links"])
def test_packages_come_from_where_pip_is_told(
    name: str, set_for_pip: SetForPip, address: str, tmp_path: Path
) -> None:
    # The small package alone is not an index; nothing is found there, but it answers.
    settings = {"index-url": f"{address}tiny-course-package/", name: address}
    if name == "find-links":
        settings[name] = str(tmp_path / "index" / "tiny-course-package")
    set_for_pip(settings)
    python = make_environment(tmp_path / "env")
    environment.install(python, "tiny-course-package")
    assert installed_by(python) == "uv"


def test_pip_settings_that_install_elsewhere_do_not_apply(
    set_for_pip: SetForPip, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    venv.create(elsewhere, with_pip=False)
    names = ("prefix", "python", "root", "target")
    switches = dict.fromkeys(("dry-run", "require-virtualenv", "user"), "true")
    set_for_pip(dict.fromkeys(names, str(elsewhere)) | switches | {"index-url": address})
    python = make_environment(tmp_path / "env")
    monkeypatch.setattr(environment, "locked", lambda _: "tiny-course-package==1.0")
    environment.install_uv(python)
    assert installed_by(python) == "pip"
    environment.install(python, "--reinstall", "tiny-course-package")
    assert installed_by(python) == "uv"
    assert not [*elsewhere.rglob("tiny*")]


def test_of_several_places_the_one_that_pip_prefers_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "[install]\nindex-url = b\ntimeout = 2\n[global]\nindex-url = a\ntimeout = 1\ncert =\n"
    (tmp_path / "pip.conf").write_text(text)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PIP_INDEX_URL", "c")
    found = environment.pip_settings(Path(sys.executable))
    assert (found["index-url"], found["timeout"]) == ("c", "2")
    assert found.keys() <= environment.UV_VARIABLES.keys() - {"cert"}


def test_a_file_that_pip_cannot_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pip.conf").write_text("user = true\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    with pytest.raises(subprocess.CalledProcessError):
        environment.pip_settings(Path(sys.executable))
    assert "pip.conf" in capfd.readouterr().err


def test_uv_reads_settings_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/requests.pem")
    monkeypatch.setenv("UV_INDEX", "https://c.example")
    settings = {"extra-index-url": "https://a.example https://b.example", "find-links": "/a /b"}
    variables = environment.variables_for_uv(settings)
    assert variables["UV_FIND_LINKS"] == "/a,/b"
    assert variables["SSL_CERT_FILE"] == "/requests.pem"
    assert variables["UV_INDEX"] == "https://c.example"  # set for uv itself
    variables = environment.variables_for_uv({"cert": "/company.pem"})
    assert variables["SSL_CERT_FILE"] == "/company.pem"
