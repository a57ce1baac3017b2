"""JupyterHub and nbgrader's exchange: a round through a student's server, as the guide has it.

The hub runs with accounts of its own making: to the processes, whoever runs the tests is called
jovyan, as in a container, where nbgrader takes the name on the hub.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest

from tests.notebooks.classes import start, wait_until
from tests.notebooks.courses import Course, environment, new_course
from tests.notebooks.test_round_trip import SLUG, solved
from tests.timeouts import COMMAND_SECONDS
from tools import cluster

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.weekly]

STUDENT, TOKEN = "ann", "only-for-these-tests"
START_SECONDS = 180.0

# nbgrader's settings of all users, as the guide has them.
SETTINGS = """\
c = get_config()
c.CourseDirectory.course_id = "transformer"
c.Exchange.root = {exchange!r}
"""
# The guide's, and what makes it run in a folder of these tests.
HUB = """\
c = get_config()
c.JupyterHub.authenticator_class = "dummy"
c.JupyterHub.spawner_class = "simple"
c.Authenticator.allowed_users = {{"teacher", {student!r}}}
c.SimpleLocalProcessSpawner.home_dir_template = {homes!r}
c.JupyterHub.bind_url = "http://127.0.0.1:{ports[0]}"
c.JupyterHub.hub_port = {ports[1]}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{ports[2]}"
c.ConfigurableHTTPProxy.command = [{proxy!r}]
c.Spawner.args = ["--allow-root"]
c.Spawner.start_timeout = c.Spawner.http_timeout = 120
c.Spawner.env_keep = {kept!r}
c.JupyterHub.services = [{{"name": "tests", "api_token": {token!r}}}]
c.JupyterHub.load_roles = [
    {{
        "name": "tests",
        "services": ["tests"],
        "scopes": ["admin:users", "admin:servers", "access:servers"],
    }}
]
"""


@dataclass
class Hub:
    """A hub that runs, the exchange that its users share, and the course of the teacher."""

    url: str
    course: Course
    folder: Path
    process: subprocess.Popen[bytes]

    def ask(self, method: str, path: str, **form: str) -> Any:
        """Ask the hub, or a student's server behind it; return what it says."""
        data = urlencode(form).encode() if form else (b"" if method == "POST" else None)
        headers = {"Authorization": f"token {TOKEN}"}
        with urlopen(
            Request(f"{self.url}{path}", data, headers, method=method), timeout=COMMAND_SECONDS
        ) as got:
            text = got.read().decode()
        return json.loads(text) if text else None

    def of_student(self, method: str, path: str, **form: str) -> Any:
        """Ask nbgrader's list of assignments on the student's server."""
        said = self.ask(method, f"/user/{STUDENT}/assignments{path}", **form)
        assert said["success"], said
        return said["value"]

    def wait_for_server(self) -> None:
        """Start the student's server and wait until it answers."""
        self.ask("POST", f"/hub/api/users/{STUDENT}/server")
        about = f"/hub/api/users/{STUDENT}"
        wait_until(
            lambda: bool(self.ask("GET", about)["servers"].get("", {}).get("ready")),
            self.process,
            START_SECONDS,
        )

    def answers(self) -> bool:
        """Say whether the hub itself answers."""
        try:
            self.ask("GET", "/hub/api/")
        except (URLError, OSError):
            return False
        return True


def free_ports(count: int) -> list[int]:
    """Return ports that nothing listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """Start a hub with a teacher, who has a course, and a student."""
    proxy, names = cluster.proxy(), cluster.names_of_accounts()
    assert proxy is not None, cluster.HOW_TO_GET_IT
    assert names is not None, cluster.HOW_TO_GET_IT
    homes, exchange, settings = (tmp_path / name for name in ("homes", "exchange", "settings"))
    for place in (homes / STUDENT, exchange, settings, tmp_path / "course"):
        place.mkdir(parents=True)
    course = new_course(tmp_path / "course", SLUG)
    exchange.chmod(0o777)
    (settings / "nbgrader_config.py").write_text(SETTINGS.format(exchange=str(exchange)))
    accounts = tmp_path / "accounts"
    accounts.write_text(f"jovyan:x:{os.getuid()}:{os.getgid()}::{tmp_path}:/bin/sh\n")
    groups = tmp_path / "groups"
    groups.write_text(f"jovyan:x:{os.getgid()}:\n")
    kept = {
        "LD_PRELOAD": str(names),
        "NSS_WRAPPER_PASSWD": str(accounts),
        "NSS_WRAPPER_GROUP": str(groups),
        "JUPYTER_CONFIG_PATH": str(settings),
        "PATH": environment()["PATH"],
    }
    for name, value in kept.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("JUPYTERHUB_USER", "teacher")

    ports = free_ports(3)
    (tmp_path / "jupyterhub_config.py").write_text(
        HUB.format(
            student=STUDENT,
            homes=str(homes / "{username}"),
            ports=ports,
            proxy=str(proxy),
            kept=[*kept],
            token=TOKEN,
        )
    )
    with (tmp_path / "hub.log").open("w") as log:
        command = [sys.executable, "-m", "jupyterhub", "-f", "jupyterhub_config.py"]
        process = subprocess.Popen(
            command, cwd=tmp_path, stdout=log, stderr=log, start_new_session=True
        )
        try:
            found = Hub(f"http://127.0.0.1:{ports[0]}", course, tmp_path, process)
            wait_until(found.answers, process, START_SECONDS)
            found.wait_for_server()
            yield found
        finally:
            process.terminate()  # it ends the servers of its users, and the proxy
            process.wait(60)
            print((tmp_path / "hub.log").read_text())  # shown where a test has failed


def test_a_round_through_the_exchange(hub: Hub) -> None:
    course = hub.course
    course.nbgrader("release_assignment", SLUG)
    (listed,) = hub.of_student("GET", "?course_id=transformer")
    assert (listed["assignment_id"], listed["status"]) == (SLUG, "released")
    about = {"course_id": "transformer", "assignment_id": SLUG}
    hub.of_student("POST", "/fetch", **about)

    fetched = next((hub.folder / "homes" / STUDENT).rglob(f"{SLUG}.ipynb"))
    fetched.write_text(json.dumps(solved()), encoding="utf-8")
    hub.of_student("POST", "/submit", **about)

    course.nbgrader("db", "student", "add", STUDENT)
    course.nbgrader("collect", SLUG)
    assert (course.submission(STUDENT) / "timestamp.txt").exists()
    said, _ = start(course).communicate()
    course.nbgrader("export", "--to", "course/grades.csv")
    assert course.points() == {STUDENT: 20.0}, said
    course.nbgrader("generate_feedback", SLUG)
    course.nbgrader("release_feedback", SLUG)

    hub.of_student("POST", "/fetch_feedback", **about)
    pages = list((hub.folder / "homes" / STUDENT).rglob(f"feedback/**/{SLUG}.html"))
    assert [page.read_text("utf-8") for page in pages] == [course.page(STUDENT).read_text("utf-8")]


def test_the_hub_of_the_guide_is_the_one_that_is_tried() -> None:
    guide = (Path(__file__).parents[2] / "book" / "large_classes.md").read_text(encoding="utf-8")
    for line in HUB.splitlines()[:3]:
        assert line in guide
    assert shutil.which("npm") is not None
