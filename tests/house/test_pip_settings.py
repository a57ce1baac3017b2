"""What a user has set for pip holds for uv too, or pip does the work."""

from __future__ import annotations

import functools
import http.server
import importlib.metadata
import json
import os
import subprocess
import sys
import sysconfig
import threading
import venv
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tools import environment, pip_settings
from tools.pip_settings import translate

pytestmark = pytest.mark.weekly


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of this machine's would decide the tests."""
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    for name in (*pip_settings.CERTIFICATES, "HTTP_PROXY", "HTTPS_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    # A cache would know what another test has brought.
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """The Python of a new environment that sees the pip and the uv of this one."""
    folder = tmp_path / "env"
    venv.create(folder, with_pip=False)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    here = folder / "lib" / version / "site-packages" / "here.pth"
    here.write_text(sysconfig.get_path("purelib"))
    (folder / "bin" / "uv").symlink_to(Path(sysconfig.get_path("scripts")) / "uv")
    return folder / "bin" / "python"


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """A folder with two versions of a package; it can be served as an index of packages."""
    folder = tmp_path / "index" / "tiny-course-package"
    folder.mkdir(parents=True)
    links = []
    for version in ("1.0", "2.0"):
        name = f"tiny_course_package-{version}"
        info = f"{name}.dist-info"
        with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w") as wheel:
            wheel.writestr("tiny_course_package.py", "")
            metadata = f"Metadata-Version: 2.1\nName: tiny-course-package\nVersion: {version}\n"
            wheel.writestr(f"{info}/METADATA", metadata)
            tags = "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\n"
            wheel.writestr(f"{info}/WHEEL", f"{tags}Tag: py3-none-any\n")
            record = [f"{info}/{file},," for file in ("METADATA", "WHEEL", "RECORD")]
            wheel.writestr(f"{info}/RECORD", "\n".join(["tiny_course_package.py,,", *record]))
        links.append(f'<a href="{name}-py3-none-any.whl">{name}-py3-none-any.whl</a>')
    (folder / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")
    return folder.parent


@pytest.fixture
def address(index: Path) -> Iterator[str]:
    """The index, served on this machine."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

    handler = functools.partial(Quiet, directory=str(index))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock that names the small package and the uv that is here, which nobody need install."""
    lock = tmp_path / "requirements.lock"
    uv = f"uv=={importlib.metadata.version('uv')} ; python_version < '3'"
    lock.write_text(f"tiny-course-package==1.0\n{uv}\n")
    monkeypatch.setattr(environment, "LOCK", lock)


def installed(python: Path) -> dict[str, str]:
    """The version of the small package in an environment, and what installed it."""
    code = (
        "import importlib.metadata, json;"
        "found = importlib.metadata.distribution('tiny-course-package');"
        "print(json.dumps([found.version, found.read_text('INSTALLER').strip()]))"
    )
    result = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    version, installer = json.loads(result.stdout)
    return {"version": version, "installer": installer}


def test_uv_takes_the_package_from_the_folder_that_pip_was_told(
    python: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "true")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index / "tiny-course-package"))
    environment.install_locked(python)
    assert installed(python) == {"version": "1.0", "installer": "uv"}


@pytest.mark.parametrize("name", ["index-url", "extra-index-url"])
def test_uv_takes_the_package_from_the_index_in_the_file_of_pip(
    name: str, python: Path, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"index-url": "http://127.0.0.1:9/simple", name: address}
    if name == "extra-index-url":
        # Where nothing answers, neither pip nor uv goes on: an empty index answers.
        settings["index-url"] = address + "tiny-course-package/"
    lines = "\n".join(f"{key} = {value}" for key, value in settings.items())
    (tmp_path / "pip.conf").write_text(f"[global]\n{lines}\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    environment.install_locked(python)
    assert installed(python) == {"version": "1.0", "installer": "uv"}


@pytest.fixture(params=["variable", "file"])
def set_for_pip(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[dict[str, str]], None]:
    """Set options of pip: by variables, or in a configuration file."""

    def set_for_pip(settings: dict[str, str]) -> None:
        if request.param == "variable":
            for name, value in settings.items():
                monkeypatch.setenv(f"PIP_{name.upper().replace('-', '_')}", value)
        else:
            lines = [f"{name} = {value}" for name, value in settings.items()]
            (tmp_path / "pip.conf").write_text("\n".join(["[global]", *lines, ""]))
            monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))

    return set_for_pip


FOR_OTHER_PROJECTS = {
    "dry-run": "true",
    "prefix": "elsewhere",
    "require-virtualenv": "true",
    "requirement": "elsewhere/requirements.txt",
    "root": "elsewhere",
    "target": "elsewhere",
    "user": "true",
}


@pytest.mark.parametrize("name", FOR_OTHER_PROJECTS)
def test_settings_that_install_elsewhere_do_not_apply_and_the_index_does(
    name: str,
    set_for_pip: Callable[[dict[str, str]], None],
    python: Path,
    address: str,
    tmp_path: Path,
) -> None:
    elsewhere = FOR_OTHER_PROJECTS[name].replace("elsewhere", str(tmp_path / "elsewhere"))
    set_for_pip({name: elsewhere, "index-url": address})
    environment.install_locked(python)
    assert installed(python) == {"version": "1.0", "installer": "uv"}
    environment.run_pip(python, ["install", "tiny-course-package==2.0"], "a package")
    assert installed(python) == {"version": "2.0", "installer": "pip"}
    assert not (tmp_path / "elsewhere").exists()


def test_pip_stays_in_the_environment_when_another_python_is_set_for_it(
    python: Path, address: str, tmp_path: Path, set_for_pip: Callable[[dict[str, str]], None]
) -> None:
    other = tmp_path / "other"
    venv.create(other, with_pip=False)
    set_for_pip({"python": str(other), "index-url": address})
    environment.run_pip(python, ["install", "tiny-course-package==1.0"], "a package")
    assert installed(python) == {"version": "1.0", "installer": "pip"}
    assert not [*other.glob("lib/*/site-packages/tiny*")]


def test_a_file_that_pip_cannot_read_is_named(
    python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pip.conf").write_text("user = true\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    with pytest.raises(environment.SetupError, match=r"pip\.conf"):
        environment.install_locked(python)


def test_pip_does_it_where_uv_cannot_be_told(
    python: Path, index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "true")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index / "tiny-course-package"))
    monkeypatch.setenv("PIP_IGNORE_REQUIRES_PYTHON", "true")
    environment.install_locked(python)
    assert installed(python) == {"version": "1.0", "installer": "pip"}
    assert "ignore-requires-python" in capsys.readouterr().out


def test_pip_does_it_where_uv_fails(
    python: Path, index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "true")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index / "tiny-course-package"))
    uv = python.parent / "uv"
    uv.unlink()
    uv.write_text("#!/bin/sh\necho 'something that nobody foresaw'\nexit 2\n")
    uv.chmod(0o755)
    environment.install_locked(python)
    assert installed(python) == {"version": "1.0", "installer": "pip"}
    assert "something that nobody foresaw" in capsys.readouterr().out


def test_what_fails_with_both_ends_in_the_message(
    python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    for name in ("PIP_RETRIES", "UV_HTTP_RETRIES"):
        monkeypatch.setenv(name, "1")
    with pytest.raises(environment.SetupError, match="no connection to the package index"):
        environment.install_locked(python)


def test_the_build_of_torch_for_the_cpu_comes_from_an_index_that_uv_knows(
    python: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    uv = python.parent / "uv"
    uv.unlink()
    uv.write_text('#!/bin/sh\necho Installed by uv "$*"\n')
    uv.chmod(0o755)
    environment.install_torch(python, "99.0", "cpu")
    shown = capfd.readouterr().out
    assert "Installed by uv pip install --torch-backend cpu torch==99.0" in shown


def test_the_build_of_torch_without_network_ends_in_the_message(
    python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "ALL_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with pytest.raises(environment.SetupError, match="no connection to the package index"):
        environment.install_torch(python, "99.0", "cpu")


def test_a_build_of_torch_that_uv_cannot_bring_names_the_way_out(
    python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_IGNORE_REQUIRES_PYTHON", "true")
    with pytest.raises(environment.SetupError, match="the address of a package index instead"):
        environment.install_torch(python, "99.0", "cpu")


LISTING = """\
:env:.index-url='https://c.example/simple'
:env:.no-index=''
download.index-url='https://d.example/simple'
global.extra-index-url='\\nhttps://e.example\\nhttps://f.example'
global.index-url='https://a.example/simple'
install.index-url='https://b.example/simple'
install.no-deps='true'
"""


def test_of_several_places_the_one_that_pip_prefers_wins() -> None:
    assert pip_settings.parse(LISTING) == {
        "index-url": "https://c.example/simple",
        "extra-index-url": "https://e.example https://f.example",
        "no-deps": "true",
    }


def test_certificates_proxies_limits_of_time_and_the_cache_go_into_the_variables_of_uv() -> None:
    settings = {
        "cert": "/a.pem",
        "client-cert": "/b.pem",
        "proxy": "http://proxy.example:3128",
        "timeout": "40",
        "trusted-host": "one.example two.example",
        "constraint": "/c.txt",
        "progress-bar": "off",
        "cache-dir": "/large disk/pip",
        "no-cache-dir": "1",
    }
    found = translate(settings, {"REQUESTS_CA_BUNDLE": "/other.pem"})
    assert found.variables == {
        "SSL_CERT_FILE": "/a.pem",
        "SSL_CLIENT_CERT": "/b.pem",
        "HTTP_PROXY": "http://proxy.example:3128",
        "HTTPS_PROXY": "http://proxy.example:3128",
        "UV_HTTP_TIMEOUT": "40",
        "UV_CACHE_DIR": "/large disk/pip/uv",
        "UV_NO_CACHE": "1",
    }
    hosts = ["--allow-insecure-host", "one.example", "--allow-insecure-host", "two.example"]
    assert found.options[2:] == [*hosts, "--constraints", "/c.txt"]
    assert found.unknown == []


def test_certificates_that_pip_takes_from_the_environment_are_handed_on() -> None:
    environ = {"CURL_CA_BUNDLE": "/curl.pem", "REQUESTS_CA_BUNDLE": "/requests.pem"}
    assert translate({}, environ).variables == {"SSL_CERT_FILE": "/requests.pem"}


def test_what_no_one_thought_of_is_for_pip() -> None:
    assert translate({"require-hashes": "true"}, {}).unknown == ["require-hashes"]
    assert translate({"no-index": "false"}, {}).unknown == []
