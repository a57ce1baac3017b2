"""What a submission can do in its sandbox: it earns nothing by it, and harms nobody.

Each test grades a notebook of a few cells, with the answer to one task right and that to another
replaced by what somebody might hand in.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tools.inputs import ROOT
from transformer_checks.classroom import judge, sandbox
from transformer_checks.classroom.course import open_pool
from transformer_checks.classroom.judge import Cell, Graded, grade_notebook
from transformer_checks.classroom.processes import WarmProcess
from transformer_checks.classroom.results import key_of, make_result_of
from transformer_checks.classroom.sandbox import NoSandbox, SandboxError, find_sandbox
from transformer_checks.classroom.submission import files_beside

pytestmark = [pytest.mark.slow, pytest.mark.sandbox]

RIGHT = "import torch\n\n\ndef attention_scores(q, k):\n    return q @ k.mT / k.shape[-1] ** 0.5"
WRONG = "import torch\n\n\ndef split_heads(x, num_heads):\n    return torch.zeros(1)"
# What the released notebooks say at these places.
CHECKS = [
    Cell(
        "from transformer_checks import check as _course_check\n\n"
        f'_course_check("attention.{name}", globals(), points=1)',
        graded=True,
    )
    for name in ("split_heads", "attention_scores")
]


def grade(source: str, folder: Path) -> Graded:
    """Grade a notebook: what is handed in for `split_heads`, and the right `attention_scores`."""
    cells = [Cell(RIGHT), Cell(source), *CHECKS]
    return grade_notebook(cells, folder, find_sandbox())


def points(graded: Graded) -> list[float]:
    """The points for `split_heads` and for `attention_scores`."""
    return [float(cell.value) for cell in graded.cells[-2:]]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the limits on time small enough to wait for."""
    monkeypatch.setattr(judge, "FREE_CELL_SECONDS", 1.0)
    monkeypatch.setattr(judge, "INTERRUPT_SECONDS", 2.0)


def test_right_and_wrong_answers_are_told_apart(tmp_path: Path) -> None:
    right = "def split_heads(x, num_heads):\n    return x.unflatten(-1, (num_heads, -1)).mT.mT"
    right = right.replace(".mT.mT", ".transpose(1, 2)")
    assert points(grade(right, tmp_path)) == [1.0, 1.0]
    graded = grade(WRONG, tmp_path)
    assert points(graded) == [0.0, 1.0]
    assert "shape" in graded.cells[-2].printed
    assert graded.sandbox == "bubblewrap"
    assert graded.peak_bytes > 100 << 20
    assert Graded.from_plain(graded.as_plain()) == graded


def test_a_check_asks_what_stands_under_the_name_by_then(tmp_path: Path) -> None:
    worse = Cell(WRONG.replace("split_heads(x, num_heads)", "attention_scores(query, key)"))
    cells = [Cell(RIGHT), CHECKS[1], CHECKS[1], worse, CHECKS[1], Cell(RIGHT), CHECKS[1]]
    graded = grade_notebook(cells, tmp_path, find_sandbox())
    values = [float(cell.value) for cell in graded.cells if cell.value]
    assert values == [1.0, 1.0, 0.0, 1.0]


# What would have helped where student code and checks shared a process.
TRICKS = {
    "a check of one's own": "check = _course_check = lambda *_, **__: 1.0",
    "checks that were changed": (
        "import transformer_checks\n"
        "transformer_checks.check = transformer_checks.grade = lambda *_, **__: 1.0"
    ),
    "comparisons that were changed": (
        "import torch, numpy\n"
        "torch.allclose = torch.equal = numpy.allclose = lambda *_, **__: True\n"
        "from transformer_checks.engine import comparing, verdict, faults\n"
        "for module in (comparing, verdict, faults):\n"
        "    for name in list(vars(module)):\n"
        "        if callable(getattr(module, name)):\n"
        "            setattr(module, name, lambda *_, **__: '')"
    ),
    "equal to everything": (
        "class Same:\n    def __eq__(self, other): return True\n"
        "    def __float__(self): return 1.0\n"
        "def split_heads(x, num_heads): return Same()"
    ),
    "cells without their asserts": (
        "import ast\n"
        "class Strip(ast.NodeTransformer):\n"
        "    def visit_Assert(self, node): return ast.Pass()\n"
        "get_ipython().ast_transformers.append(Strip())\n"
        "get_ipython().input_transformers_cleanup.append(lambda lines: ['1.0'])"
    ),
    "an answer by word of mouth": (
        "import os\n"
        "for number in range(3, 30):\n"
        "    try:\n        os.write(number, (8).to_bytes(8, 'big') + b'\"right!\"')\n"
        "    except OSError: pass"
    ),
}


@pytest.mark.parametrize("trick", TRICKS)
def test_a_trick_earns_nothing(trick: str, tmp_path: Path) -> None:
    graded = grade(f"{WRONG}\n{TRICKS[trick]}", tmp_path)
    assert points(graded)[0] == 0.0


@pytest.mark.parametrize(
    "source",
    [
        "import os; os._exit(0)",
        "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
        "import ctypes; ctypes.string_at(0)",
    ],
)
def test_a_cell_that_ends_the_process_costs_itself_only(source: str, tmp_path: Path) -> None:
    graded = grade(f"{WRONG}\n{source}", tmp_path)
    assert points(graded) == [0.0, 1.0]
    assert "It ended the process" in graded.cells[1].error
    assert graded.ended
    assert "there is no `split_heads`" in graded.cells[-2].printed


@pytest.mark.parametrize(
    "loop",
    [
        "while True: pass",
        "while True:\n    try:\n        1\n    except BaseException:\n        pass",
    ],
)
def test_an_endless_cell_costs_itself_only(loop: str, tmp_path: Path, short: None) -> None:
    graded = grade(f"{WRONG}\n{loop}", tmp_path)
    assert points(graded) == [0.0, 1.0]
    assert "a loop that never ends" in graded.cells[1].error


@pytest.mark.weekly
def test_all_memory_together_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "SUBMISSION_MEMORY_BYTES", 1 << 30)
    source = (
        "import os\nfor _ in range(4):\n    if os.fork() == 0: break\nblock = bytearray(400 << 20)"
    )
    graded = grade(f"{source}\nimport time; time.sleep(20)", tmp_path)
    assert "more than 1 GiB of memory" in graded.cells[1].error
    assert points(graded) == [0.0, 1.0]


@pytest.mark.weekly
def test_processes_are_limited_and_none_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "SUBMISSION_TASKS", 24)
    grade(WRONG, tmp_path)  # what is copied for each submission stays
    before = set(psutil.Process().children(recursive=True))
    source = (
        "import os, subprocess\n"
        "for _ in range(40):\n    subprocess.Popen(['sleep', '987'], start_new_session=True)\n"
        "import time; time.sleep(5)"
    )
    graded = grade(source, tmp_path)
    assert "more than 24 processes" in graded.cells[1].error
    time.sleep(0.5)
    assert set(psutil.Process().children(recursive=True)) <= before
    left = [
        each for each in psutil.process_iter(["cmdline"]) if "987" in (each.info["cmdline"] or [])
    ]
    assert not left


@pytest.mark.weekly
def test_threads_are_limited(tmp_path: Path) -> None:
    source = (
        "import threading, time\n"
        "for _ in range(500):\n"
        "    threading.Thread(target=time.sleep, args=(20,), daemon=True).start()\n"
        "time.sleep(20)"
    )
    graded = grade(source, tmp_path)
    assert "processes and threads" in graded.cells[1].error
    assert points(graded) == [0.0, 1.0]


def test_no_process_outside_is_reached(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as outside:
        graded = grade(f"{WRONG}\nimport os, signal\nos.kill(-1, signal.SIGKILL)", tmp_path)
        assert outside.poll() is None
        outside.kill()
    assert points(graded) == [0.0, 1.0]


@pytest.mark.weekly
def test_what_is_printed_is_cut(tmp_path: Path) -> None:
    graded = grade(f"{WRONG}\nfor _ in range(200_000): print('x' * 50)", tmp_path)
    assert len(graded.cells[1].printed) <= judge.SUBMISSION_PRINTED
    assert points(graded) == [0.0, 1.0]


def test_no_file_of_the_course_is_seen_and_none_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLASS_TOKEN", "a secret")
    (tmp_path / "gradebook.db").write_text("points")
    root = sandbox.PACKAGES[0].parent
    source = f"""
import os
from pathlib import Path
for place in [{str(tmp_path)!r}, {str(root / "solutions")!r}, {str(root / ".git")!r},
              "/root/.ssh", "/var", "/home"]:
    print(place, os.path.exists(place))
print("secrets", [name for name in os.environ if "TOKEN" in name])
for place in [{str(sandbox.PACKAGES[0])!r}, "/usr", "/etc", "../..", "/"]:
    try:
        Path(place, "written.txt").write_text("by a student")
        print("wrote into", place)
    except OSError:
        pass
commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline")]
print("others", [each for each in commands if b"pytest" in each])
"""
    graded = grade(source, tmp_path)
    printed = graded.cells[1].printed
    assert "secrets []" in printed, graded.cells[1]
    assert "True" not in printed
    assert "others []" in printed
    assert not [*tmp_path.glob("written.txt"), *sandbox.PACKAGES[0].glob("written.txt")]
    assert not Path("/written.txt").exists()


def test_the_answers_are_not_in_the_sandbox(tmp_path: Path) -> None:
    source = """
from pathlib import Path
import transformer_checks, transformer_ref
from transformer_checks import depth
for package in (transformer_checks, transformer_ref):
    for path in Path(package.__file__).parent.rglob("*"):
        if path.is_file() and b"def damage_by_key(" in path.read_bytes():
            print("found in", path)
print("so many files", len(list(Path(transformer_checks.__file__).parent.rglob("*.py"))))
try:
    depth.damage_by_key(None, None, None, None)
except RuntimeError as error:
    print(error)
"""
    answers = sandbox.ASSIGNMENTS / "depth" / "answers.py"
    assert "def damage_by_key(" in answers.read_text(encoding="utf-8")
    printed = grade(source, tmp_path).cells[1].printed
    assert "found in" not in printed
    assert "so many files" in printed
    assert "own damage_by_key is not here" in printed


def test_a_submission_finds_nothing_of_the_one_before(tmp_path: Path) -> None:
    first = """
import os, subprocess, torch
torch.left_behind = "mine"
for folder in ("/tmp", "/dev/shm", "/tmp/home"):
    with open(f"{folder}/left", "w") as file:
        file.write("mine")
subprocess.Popen(["sleep", "986"], start_new_session=True)
print("left")
"""
    second = """
import os, torch
from pathlib import Path
print("files", [path for folder in ("/tmp", "/dev/shm") for path in Path(folder).rglob("left")])
print("memory", hasattr(torch, "left_behind"))
commands = [path.read_text() for path in Path("/proc").glob("[0-9]*/cmdline")]
print("sleeps", [command for command in commands if "986" in command])
"""
    assert grade(first, tmp_path).cells[1].printed == "left\n"
    printed = grade(second, tmp_path).cells[1].printed
    assert "files []" in printed
    assert "memory False" in printed
    assert "sleeps []" in printed


@pytest.mark.weekly
def test_a_course_in_a_temporary_folder_is_there_in_a_copy_too(
    tmp_path: Path, warm: WarmProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "a library"
    library.mkdir()
    (library / "module.py").write_text("said = 'loaded late'")
    folders = [*sandbox._python_folders(), library]
    monkeypatch.setattr(sandbox, "_python_folders", lambda: folders)
    other = WarmProcess(find_sandbox().command)
    monkeypatch.setattr(sandbox, "warm_process", lambda: other)
    source = f"""{WRONG}
import sys
sys.path.append({str(library)!r})
import module
print(module.said)
open({str(library / "written.txt")!r}, "w")
"""
    submission = tmp_path / "submission"
    submission.mkdir()
    cell = grade(source, submission).cells[1]
    other.stop()
    assert cell.printed == "loaded late\n"
    assert "Read-only file system" in cell.error
    assert not (library / "written.txt").exists()


@pytest.mark.parametrize("copied", [True, False])
def test_nothing_of_the_system_is_written_to_or_left_in_it(
    copied: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not copied:
        monkeypatch.setattr(WarmProcess, "copy", lambda _: None)
    source = f"""{WRONG}
import ctypes, os, platform
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/vm/overcommit_memory",
             "/proc/self/oom_score_adj", "/proc/1/oom_score_adj"):
    try:
        open(path, "r+")
        print("can write", path)
    except OSError:
        pass
library = ctypes.CDLL(None, use_errno=True)
add_key, clone = (248, 56) if platform.machine() == "x86_64" else (217, 220)
calls = {{
    "unshare": lambda: library.unshare(1 << 28),
    "clone": lambda: library.syscall(clone, 1 << 28 | 17, 0, 0, 0, 0),
    "mount": lambda: library.mount(b"none", b"/tmp", b"tmpfs", 0, None),
    "memory": lambda: library.memfd_create(b"hidden", 0),
    "shared memory": lambda: library.shmget(0, 1 << 20, 0o1600),
    "keys": lambda: library.syscall(add_key, b"user", b"name", b"secret", 6, -4),
}}
for name, call in calls.items():
    made = call()
    if name == "clone" and made == 0:
        os._exit(0)
    if made != -1:
        print("can call", name)
print("terminals", [name for name in os.listdir("/dev/pts") if name.isdigit()])
print("all tried")
"""
    graded = grade(source, tmp_path)
    assert graded.cells[1].printed == "terminals []\nall tried\n", graded.cells[1]


def test_what_is_said_of_a_cell_is_short_and_fits_a_file(tmp_path: Path) -> None:
    source = "print('\\ud800')\nraise type('A' * 10_000_000, (Exception,), {})('\\ud800')"
    cell = grade(source, tmp_path).cells[1]
    assert cell.printed == "\\ud800\n"
    assert cell.error.encode("utf-8").startswith(b"AAA")
    assert len(cell.error) <= judge.SUBMISSION_PRINTED


def test_hidden_characters_of_a_cell_are_shown(tmp_path: Path) -> None:
    source = "print('\\u202eevil\\x07', 'a\\tb', '\\x1b[31mred')\nraise ValueError('\\u2066x')"
    cell = grade(source, tmp_path).cells[1]
    assert cell.printed == "\\u202eevil\\x07 a\tb \x1b[31mred\n"  # a color is harmless
    assert cell.error.startswith("ValueError: \\u2066x")


def test_a_long_name_of_an_error_takes_no_time_to_judge(tmp_path: Path) -> None:
    name = "no gradient reaches " * 100_000
    source = f"def split_heads(x, num_heads):\n    raise type({name!r}, (Exception,), {{}})()"
    begin = time.process_time()
    assert points(grade(source, tmp_path)) == [0.0, 1.0]
    assert time.process_time() - begin < 30.0  # it was hours


# Replaces what is sent for each case.
SENDING = """
import json
from transformer_checks.running import isolation, wire_format
plain = wire_format.encode

def encode(value):
    if not (isinstance(value, dict) and "fault" in value):
        return plain(value)
    noted = {"__dict__": [[number * (2**61 - 1), 0] for number in range(20_000)]}
    header = json.dumps([[], {"noted": noted}]).encode()
    return len(header).to_bytes(8, "big") + header

wire_format.encode = encode
"""


def test_keys_that_collide_take_no_time_to_judge(tmp_path: Path) -> None:
    begin = time.process_time()
    graded = grade(f"{WRONG}\n{SENDING}", tmp_path)
    assert points(graded)[0] == 0.0
    assert "it sent something that is not a result" in graded.cells[-2].printed
    assert time.process_time() - begin < 10.0  # it was 2 s for each case


def test_more_results_than_cases_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sending = """
from transformer_checks.running import working
plain = working._limited

def repeated(*arguments):
    for outcome in plain(*arguments):
        for _ in range(1_000):
            yield outcome

working._limited = repeated
"""
    read: list[int] = []
    plain = judge.read_frame
    monkeypatch.setattr(judge, "read_frame", lambda *arguments: read.append(1) or plain(*arguments))
    graded = grade(f"{WRONG}\n{sending}", tmp_path)
    assert "sent more results than there are cases" in graded.cells[-2].printed
    assert len(read) < 1_000


def test_a_check_that_does_not_end_costs_itself_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "JUDGE_SECONDS", 6.0)
    busy = Cell(
        "try:\n    while True:\n        sum(range(1000))\nexcept Exception:\n    pass\n1.0",
        graded=True,
    )
    begin = time.process_time()
    graded = grade_notebook([Cell(RIGHT), busy, CHECKS[1]], tmp_path, find_sandbox())
    assert time.process_time() - begin < 20.0
    stopped, right = graded.cells[-2:]
    assert stopped.value == ""
    assert "more than 6 s to judge" in stopped.error
    assert "more than 6 s to judge" in " ".join(graded.ended)
    assert right.value == "1.0"


# What a student's process must not be able to do; the numbers are Linux's.
REACHING_OUT = {
    "a signal to all": "import os; os.kill(-1, 9)",
    "a signal to the group": "import os; os.kill(0, 9)",
    "a signal to whatever is seen": (
        "import os\n"
        "for name in os.listdir('/proc'):\n"
        "    if name.isdigit() and not os.path.samefile(f'/proc/{name}', '/proc/self'):\n"
        "        try:\n            os.kill(int(name), 9)\n"
        "        except OSError:\n            pass"
    ),
    # A process of the namespaces outside has one number in its line NSpid, those inside have two.
    "another's memory": (
        "import os\n"
        "for name in os.listdir('/proc'):\n"
        "    if name.isdigit() and os.readlink('/proc/self') != str(os.getpid()):\n"
        "        status = open(f'/proc/{name}/status').read()\n"
        "        if len(status.partition('NSpid:')[2].split('\\n')[0].split()) == 1:\n"
        "            try:\n                open(f'/proc/{name}/mem', 'rb')\n"
        "            except PermissionError:\n                continue\n"
        "            assert False, name"
    ),
    "another's command line": (
        "import os, subprocess\n"
        "child = subprocess.Popen(['sleep', '5'])\n"
        "for name in os.listdir('/proc'):\n"
        "    if name.isdigit():\n"
        "        status = open(f'/proc/{name}/status').read()\n"
        "        depth = len(status.partition('NSpid:')[2].split('\\n')[0].split())\n"
        "        own = open('/proc/self/status').read()\n"
        "        assert depth == len(own.partition('NSpid:')[2].split('\\n')[0].split()), name\n"
        "child.kill()"
    ),
    "the folder below": (
        "import ctypes\n"
        "library = ctypes.CDLL(None)\n"
        "assert library.umount(b'/tmp') == -1\n"
        "assert library.unshare((1 << 28) | (1 << 17)) == -1\n"
        "assert library.umount(b'/tmp') == -1"
    ),
}


@pytest.fixture
def warm() -> WarmProcess:
    """Return the process that is copied, where the system allows a sandbox in a sandbox."""
    found = sandbox.warm_process()
    copy = found.copy()
    if copy is None:
        pytest.skip("the system allows no sandbox in a sandbox")
    copy.end()
    return found


@pytest.mark.usefixtures("warm")
def test_a_course_in_the_folder_that_is_emptied_is_copied_too(tmp_path: Path) -> None:
    if not tmp_path.is_relative_to("/tmp"):
        pytest.skip("temporary folders are elsewhere")
    for name in ("transformer_checks", "transformer_ref"):
        shutil.copytree(ROOT / name, tmp_path / name)
    program = (
        "from transformer_checks.classroom.sandbox import warm_process\n"
        "copy = warm_process().copy()\n"
        "print(copy is not None)\n"
        "copy and copy.end()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "True\n"


@pytest.mark.parametrize("reaching", REACHING_OUT)
def test_the_process_that_is_copied_is_out_of_reach(
    reaching: str, tmp_path: Path, warm: WarmProcess
) -> None:
    before = warm.pid
    graded = grade(f"{WRONG}\n{REACHING_OUT[reaching]}", tmp_path)
    assert "AssertionError" not in graded.cells[1].error, graded.cells[1].error
    assert points(graded) == [0.0, 1.0]
    assert warm.pid == before


@pytest.mark.weekly
def test_a_warm_process_that_was_killed_is_made_again(tmp_path: Path, warm: WarmProcess) -> None:
    before = warm.pid
    assert before is not None
    os.kill(before, signal.SIGKILL)
    assert points(grade(WRONG, tmp_path)) == [0.0, 1.0]
    assert warm.pid not in (None, before)


@pytest.mark.weekly
def test_where_a_sandbox_allows_no_other_in_it_each_process_loads_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def command(arguments: list[str]) -> list[str]:
        program, *others = find_sandbox().command(arguments)
        return [program, "--unshare-user", "--disable-userns", *others]

    without = WarmProcess(command)
    assert without.copy() is None
    assert without.pid is None
    monkeypatch.setattr(sandbox, "warm_process", lambda: without)
    assert points(grade(WRONG, tmp_path)) == [0.0, 1.0]


def test_a_sandbox_that_dies_at_the_start_says_what_it_wrote(tmp_path: Path) -> None:
    class Broken(NoSandbox):
        def command(self, arguments: list[str]) -> list[str]:
            return [sys.executable, "-c", "import no_such_library"]

    with pytest.raises(RuntimeError, match=r"sandbox none does not start.*'no_such_library'"):
        grade_notebook([Cell("1")], tmp_path, Broken())


@pytest.mark.weekly
@pytest.mark.parametrize("kind", ["Bubblewrap", "NoSandbox"])
def test_the_checkout_that_grades_is_the_one_in_the_sandbox(kind: str, tmp_path: Path) -> None:
    """One environment serves two checkouts; the other one is installed."""
    checkout = tmp_path / "second course"
    for package in sandbox.PACKAGES:
        unneeded = shutil.ignore_patterns("__pycache__")
        shutil.copytree(package, checkout / package.name, ignore=unneeded)
    source = "import transformer_ref; print(transformer_ref.__file__)"
    code = f"""
from pathlib import Path
from transformer_checks.classroom import judge, sandbox
cell = judge.Cell({source!r})
print(judge.grade_notebook([cell], Path("."), sandbox.{kind}()).cells[0].printed)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=checkout, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == str(checkout / "transformer_ref" / "__init__.py"), done.stderr


def test_there_is_no_network(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(1.0)
        heard: list[object] = []

        def listen() -> None:
            with suppress(TimeoutError):
                heard.append(server.accept())

        port = server.getsockname()[1]
        listener = threading.Thread(target=listen)
        graded = grade(
            f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 2)", tmp_path
        )
        listener.start()
        listener.join()
    assert "Error" in graded.cells[1].error
    assert not heard


def test_a_full_disk_is_the_students_own(tmp_path: Path) -> None:
    graded = grade(f"{WRONG}\nopen('big', 'wb').write(bytes(300 << 20))", tmp_path)
    assert "Error" in graded.cells[1].error or "ended" in graded.cells[1].error
    assert points(graded)[1] == 1.0


@pytest.mark.weekly
def test_the_whole_submission_has_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short: None
) -> None:
    monkeypatch.setattr(judge, "SUBMISSION_SECONDS", 8.0)
    endless = Cell("while True:\n    try:\n        1\n    except BaseException:\n        pass")
    started = time.monotonic()
    graded = grade_notebook([*[endless] * 20, *CHECKS], tmp_path, find_sandbox())
    assert time.monotonic() - started < 30
    assert points(graded) == [0.0, 0.0]
    assert "has had its 8 s" in graded.cells[19].error


def test_without_a_sandbox_grading_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError, match="apt-get install bubblewrap"):
        find_sandbox()
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho no user namespaces >&2\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(SandboxError, match="no user namespaces"):
        find_sandbox()


@pytest.mark.weekly
def test_what_was_not_safe_is_recorded(tmp_path: Path) -> None:
    graded = grade_notebook([Cell(RIGHT), CHECKS[1]], tmp_path, NoSandbox())
    assert graded.sandbox == "none"
    assert graded.cells[-1].value == "1.0"


def test_an_ordinary_user_can_grade() -> None:
    if os.getuid() == 0:
        command = [
            "setpriv",
            "--reuid=65534",
            "--clear-groups",
            *find_sandbox().command(["-c", ""]),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0 or "Permission denied" in done.stderr, done.stderr


def test_without_dask_a_scheduler_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    said = pytest.raises(SystemExit, match=r"pip install -e '\.\[cluster\]'")
    with said, open_pool(1, "tcp://127.0.0.1:8786"):
        pass


@pytest.mark.weekly
def test_a_machine_with_other_versions_makes_no_result() -> None:
    cells = [Cell(RIGHT), CHECKS[1]]
    key = key_of(cells, {}, NoSandbox())
    assert make_result_of(key, cells, {}, NoSandbox())["cells"][-1]["value"] == "1.0"
    with pytest.raises(RuntimeError, match="another version of the course"):
        make_result_of("0" * 64, cells, {}, NoSandbox())


def test_what_the_exchange_puts_beside_a_notebook_is_no_work(tmp_path: Path) -> None:
    for name in ("attention.ipynb", "timestamp.txt", "submission_secret.txt", "predictions.csv"):
        (tmp_path / name).write_text("")
    assert [*files_beside(tmp_path)] == ["predictions.csv"]
