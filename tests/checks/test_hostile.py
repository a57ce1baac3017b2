"""Whatever an answer does, `grade` gives a result with a message, and the process goes on."""

from __future__ import annotations

import gc
import math
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
import torch

from tests.timeouts import COMMAND_SECONDS
from transformer_checks import grade
from transformer_checks.judging.exam import make_exam
from transformer_checks.limits import TIME_LIMIT_VARIABLE
from transformer_checks.registry import find_task
from transformer_checks.running import child_process, process
from transformer_checks.running.isolation import run_answer
from transformer_checks.task import Case

SCORES = "attention.attention_scores"
MODULE = "attention.MultiHeadAttention"


def right(query, key):
    return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])


def loop(query, key):
    while True:
        pass


def loop_that_catches_everything(query, key):
    while True:
        try:
            time.sleep(0.001)
        except BaseException:
            continue


def loop_that_ignores_signals(query, key):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(1e9)


def loop_in_a_child(query, key):
    if os.fork() == 0:
        time.sleep(1e9)
    os.wait()


@pytest.mark.parametrize(
    "answer",
    [loop, loop_that_catches_everything, loop_that_ignores_signals, loop_in_a_child],
)
def test_an_endless_answer_is_cut_off_with_a_message(answer):
    result = grade(SCORES, answer, seconds=0.7)
    assert result.score == 0.0
    assert "cut off after 0.7 s" in result.message


def test_an_endless_constructor_costs_one_limit():
    class Endless(torch.nn.Module):
        def __init__(self, d_model, num_heads):
            while True:
                pass

    assert "cut off" in grade(MODULE, Endless, seconds=0.5).message


def test_the_limit_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv(TIME_LIMIT_VARIABLE, "0.5")
    assert "after 0.5 s" in grade(SCORES, loop).message
    monkeypatch.setenv(TIME_LIMIT_VARIABLE, "soon")
    with pytest.raises(ValueError, match="must be a number above 0, got 'soon'"):
        grade(SCORES, right)
    with pytest.raises(ValueError, match="seconds must be above 0"):
        grade(SCORES, right, seconds=0)


def waits(query, key):
    time.sleep(0.1)  # as if the processor did something else meanwhile
    return right(query, key)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what another process used")
def test_a_busy_machine_costs_no_points():
    """The limit is on what the answer computes; the clock may run several times as long."""
    result = grade(SCORES, waits, seconds=0.6)
    assert result.score == 1.0, result.message
    assert "cut off after 0.5 s" in grade(SCORES, loop, seconds=0.5).message


@pytest.fixture
def import_slow(monkeypatch, tmp_path):
    """Give an answer's import of a module that takes a second of the processor to load."""
    (tmp_path / "slow_to_load.py").write_text(
        "import time\nstart = time.process_time()\nwhile time.process_time() < start + 1: pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    def load():
        import slow_to_load

        return slow_to_load

    return load


@pytest.mark.weekly
def test_to_load_a_library_takes_no_time_from_the_answer(import_slow):
    """An optimizer of torch loads its compiler, a second or many."""

    def loads(query, key):
        import_slow()
        return right(query, key)

    def loads_and_loops(query, key):
        import_slow()
        loop(query, key)

    result = grade(SCORES, loads, seconds=0.5)
    assert result.score == 1.0, result.message
    assert "cut off after 0.5 s" in grade(SCORES, loads_and_loops, seconds=0.5).message


def test_a_library_that_never_ends_to_load_is_cut_off(monkeypatch, import_slow):
    monkeypatch.setattr(process, "LIBRARY_SECONDS", 0.2)
    assert "cut off after 0.3 s" in grade(SCORES, lambda *_: import_slow(), seconds=0.3).message


@pytest.mark.weekly
def test_what_a_case_needs_is_loaded_before_the_time_runs():
    """The first tensor on "meta" makes torch load hundreds of modules, a second or more."""
    code = """
import sys
from transformer_checks import grade
def answer(length, device=None):
    import sys, torch
    before = set(sys.modules)
    result = torch.ones(1, 1, length, length, dtype=torch.bool, device=device).tril()
    loaded = len(set(sys.modules) - before)
    if loaded > 50:
        raise RuntimeError(f"{loaded} modules were loaded")
    return result
print(grade("masking.causal_mask", answer).message)
"""
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=True,
    )
    assert run.stdout.startswith("masking.causal_mask: all ")


def raises(error):
    def answer(query, key):
        raise error

    return answer


class UnreadableError(Exception):
    def __str__(self):
        raise ValueError


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("no such thing"), "ValueError: no such thing"),
        (SystemExit(3), "SystemExit"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (GeneratorExit(), "GeneratorExit"),
        (UnreadableError(), "UnreadableError"),
        (MemoryError(), "MemoryError"),
        (NotImplementedError("YOUR CODE HERE"), "not solved yet"),
    ],
)
def test_an_exception_is_told(error, said):
    result = grade(SCORES, raises(error))
    assert result.score == 0.0
    assert said in result.message


def test_the_students_own_line_is_shown():
    def answer(query, key):
        return query @ key.no_such_attribute

    message = grade(SCORES, answer).message
    assert "AttributeError" in message
    assert "in `return query @ key.no_such_attribute`" in message


def recursive(query, key):
    return recursive(query, key)


def exits(query, key):
    os._exit(0)


def dies(query, key):
    os.kill(os.getpid(), signal.SIGSEGV)


def closes(query, key):
    os.closerange(3, 200)
    return right(query, key)


def asks(query, key):
    return input("what is the answer?")


def prints_without_end(query, key):
    for _ in range(20_000):
        print("line " * 20)
        sys.stderr.write("line")
    return right(query, key) + 1


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (recursive, "RecursionError"),
        (exits, "ended its process with exit status 0"),
        (dies, "killed by SIGSEGV"),
        (closes, "gave no result"),
        (asks, "EOFError: an answer cannot ask for input"),
        (prints_without_end, "Your code printed: line line"),
    ],
)
def test_a_process_that_misbehaves_is_told(answer, said):
    result = grade(SCORES, answer)
    assert result.score == 0.0
    assert said in result.message
    assert len(result.message) < 2000


# --- memory ----------------------------------------------------------------------------------

SIX_GB = 6 << 30  # more than an answer may take, and less than many machines have


def takes_a_large_tensor(query, key):
    torch.empty(SIX_GB, dtype=torch.uint8)  # not written to: safe where nothing limits it
    return right(query, key)


def takes_a_large_text(query, key):
    bytearray(SIX_GB)
    return right(query, key)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what a process uses")
@pytest.mark.parametrize("with_cuda", [False, True], ids=["CPU build", "CUDA build"])
@pytest.mark.parametrize("answer", [takes_a_large_tensor, takes_a_large_text])
def test_memory_is_limited_however_torch_was_built(monkeypatch, answer, with_cuda):
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: with_cuda)
    result = grade(SCORES, answer)
    assert result.score == 0.0
    assert "memory" in result.message.lower()


def memory_limit(text):
    import resource

    return [str(resource.getrlimit(resource.RLIMIT_DATA)[0])]


def memory_limit_after_too_much(text):
    bytearray(SIX_GB)
    return ["no limit"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what a process uses")
def test_memory_is_not_limited_where_the_device_is_used():
    """CUDA reserves more than any limit; a case of plain data shows what would hold there."""
    import resource

    task = find_task("tokenizers.word_tokenize")
    cases = [Case(name, {"text": "a"}, device=name) for name in ("cpu", "cuda")]
    before = str(resource.getrlimit(resource.RLIMIT_DATA)[0])
    outcomes, how = run_answer(task, memory_limit, cases, 10.0)
    assert how == "done"
    limits = [outcome.values["tokens"][0] for outcome in outcomes]
    assert limits[0] != before
    assert limits[1] == before

    outcomes, _ = run_answer(task, memory_limit_after_too_much, cases, 10.0)
    assert [outcome.fault for outcome in outcomes] == ["raised", "raised"]
    assert all("MemoryError" in outcome.error for outcome in outcomes)


# --- what is returned ------------------------------------------------------------------------


class Liar:
    """Compares equal to everything, claims to be anything."""

    __class__ = torch.Tensor

    def __eq__(self, other):
        return True

    __hash__ = None

    def __getattr__(self, name):
        return lambda *args, **kwargs: self

    def __repr__(self):
        raise RuntimeError


class LyingTensor(torch.Tensor):
    def __eq__(self, other):
        return torch.tensor(True)

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return torch.zeros(())


ODD_RESULTS = {
    "none": None,
    "int": 3,
    "text": "scores",
    "list": [1.0],
    "dict": {},
    "object": object(),
    "liar": Liar(),
    "lying tensor": torch.zeros(3).as_subclass(LyingTensor),
    "float": float("nan"),
    "bool": True,
    "enormous": torch.zeros(1).expand(10_000, 10_000, 10_000),
    "meta": torch.zeros(2, 3, device="meta"),
    "sparse": torch.zeros(2, 2).to_sparse(),
    "complex": torch.zeros(2, dtype=torch.complex64),
    "bfloat16": torch.zeros(2, dtype=torch.bfloat16),
    "scalar": torch.zeros(()),
    "empty": torch.zeros(0),
}


@pytest.mark.parametrize("returned", ODD_RESULTS.values(), ids=ODD_RESULTS.keys())
def test_anything_returned_is_judged(returned):
    result = grade(SCORES, lambda query, key: returned)
    assert result.score == 0.0
    assert "First failing case" in result.message


class Moody:
    """A callable whose every other method raises."""

    def __call__(self, query, key):
        return right(query, key)

    def __getattr__(self, name):
        raise RuntimeError(name)

    @property
    def __signature__(self):
        raise RuntimeError

    def __repr__(self):
        raise RuntimeError

    def __eq__(self, other):
        raise RuntimeError

    __hash__ = None


def test_an_odd_callable_that_is_right_is_accepted():
    assert grade(SCORES, Moody()).score == 1.0


@pytest.mark.parametrize(
    "answer",
    [3, "attention_scores", [right], object(), torch.ones(3)],
    ids=["int", "text", "list", "object", "tensor"],
)
@pytest.mark.parametrize("task", [SCORES, MODULE])
def test_what_is_no_function_is_told(task, answer):
    result = grade(task, answer)
    assert (result.score, result.misconception) == (0.0, None)
    assert f"received {'an' if type(answer).__name__ in ('int', 'object') else 'a'} " in (
        result.message
    )


def test_an_object_in_place_of_the_class_is_told():
    assert "expected the class itself" in grade(MODULE, torch.nn.Linear(2, 2)).message


@pytest.mark.parametrize(
    "answer",
    [int, dict, lambda d_model, num_heads: 3, torch.nn.Identity],
    ids=["int", "dict", "lambda", "identity"],
)
def test_a_class_that_is_no_answer_is_told(answer):
    result = grade(MODULE, answer)
    assert result.score == 0.0
    assert "First failing case" in result.message


def test_the_checks_cannot_be_reached_from_the_answer():
    """What an answer patches in its own process does not change the judging."""

    def answer(query, key):
        import numpy

        from transformer_checks.judging import faults, verdict

        numpy.allclose = torch.allclose = faults.same = lambda *args, **kwargs: True
        faults.find_fault = verdict.find_fault = lambda *args: None
        return query @ key.mT

    result = grade(SCORES, answer)
    assert (result.score, result.misconception) == (0.0, "no-scale")


HELD = []


def looks_for_the_result():
    """Make a right answer that is wrong once it finds its first result in memory."""
    asked = []

    def answer(query, key):
        result = right(query, key)
        asked.append(1)
        return result + (len(asked) == 1 and found_in_memory(result.detach()))

    return answer


def found_in_memory(wanted):
    """Look through all objects and all that they refer to: Python keeps no list of arrays."""
    own = wanted.numpy()
    layer, seen = gc.get_objects(), set()
    while layer:
        seen.update(map(id, layer))
        layer = {id(each): each for each in gc.get_referents(*layer) if id(each) not in seen}
        layer = list(layer.values())
        tensors = [each for each in layer if type(each) is torch.Tensor]
        arrays = [each for each in layer if type(each) is np.ndarray]
        arrays += [each.detach().numpy() for each in tensors if each.shape == wanted.shape]
        for each in arrays:
            elsewhere = each.ctypes.data != own.ctypes.data
            if each.shape == own.shape and elsewhere and np.allclose(each, own):
                return True
    return False


@pytest.mark.weekly
def test_no_right_result_can_be_found_in_memory():
    seed = 4711  # of no other test, so that the first grading has nothing to find
    scores = [grade(SCORES, looks_for_the_result(), seed, seconds=60).score for _ in range(2)]
    assert scores == [1.0, 1.0]
    grade(SCORES, lambda query, key: query @ key.mT, seed)  # with all misconceptions
    assert grade(SCORES, looks_for_the_result(), seed, seconds=60).score == 1.0

    exam = make_exam(SCORES, seed)
    assert exam.expected[0].values  # this process still knows it
    HELD.append(exam.expected[0].values["scores"].copy())
    # Held elsewhere, it is found.
    assert grade(SCORES, looks_for_the_result(), seed, seconds=60).score < 1.0
    HELD.clear()


def test_a_copy_of_the_process_overwrites_what_the_judge_knows():
    exam = make_exam(SCORES, 4712)
    mistake = exam.task.misconceptions[0]
    known = [exam.expected[0].values["scores"], exam.wrong(mistake, 0, 0).values["scores"]]
    before = [each.copy() for each in known]
    assert all(each.any() for each in before)
    ended = child_process.run_forked(lambda send: [send(each.tobytes()) for each in known], 10.0)
    assert [set(frame) for frame in ended.frames] == [{0}, {0}]
    assert all(np.array_equal(*pair) for pair in zip(known, before, strict=True))


def test_warnings_as_errors_outside_do_not_punish_a_warning_inside():
    def answer(query, key):
        warnings.warn("legal", UserWarning, stacklevel=1)
        return right(query, key)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert grade(SCORES, answer).score == 1.0


def test_an_answer_that_cannot_reach_the_device_is_judged_without_it(monkeypatch):
    """What cannot be sent to the clean process is right on the processor, and gets its points."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    lock = threading.Lock()

    def answer(query, key):
        with lock:
            return right(query, key)

    assert grade(SCORES, answer).score == 1.0
    wrong = grade(SCORES, lambda query, key: lock and query @ key.mT)
    assert (wrong.score, wrong.misconception) == (0.0, "no-scale")


def test_no_stream_of_the_caller_is_touched(capfd):
    def answer(query, key):
        print("out")
        print("err", file=sys.stderr)
        os.write(1, b"raw out")
        os.write(2, b"raw err")
        return right(query, key)

    assert grade(SCORES, answer).score == 1.0
    assert capfd.readouterr() == ("", "")


def test_grading_leaves_the_callers_state_alone():
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    before = (torch.get_num_threads(), torch.is_grad_enabled(), signal.getsignal(signal.SIGALRM))
    grade(MODULE, torch.nn.Identity, seed=901)
    assert torch.equal(torch.rand(3), expected)
    assert before == (
        torch.get_num_threads(),
        torch.is_grad_enabled(),
        signal.getsignal(signal.SIGALRM),
    )


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_the_callers_gradient_mode_does_not_matter(mode):
    with mode():
        assert grade(SCORES, right, seed=902).score == 1.0


def test_a_default_dtype_of_float64_does_not_matter():
    torch.set_default_dtype(torch.float64)
    try:
        assert grade(SCORES, right, seed=903).score == 1.0
    finally:
        torch.set_default_dtype(torch.float32)


def test_grading_from_a_thread():
    found = []

    def work():
        found.append(grade(SCORES, right).score)
        found.append(grade(SCORES, loop, seconds=0.5).score)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    assert found == [1.0, 0.0]


OPENMP = """
import math, threading, torch
torch.set_num_threads(2)
a = torch.randn(1200, 1200, requires_grad=True)
for _ in range(3):
    torch.softmax(a @ a, -1).sum().backward()
busy = threading.Event()
def work():
    while not busy.is_set():
        torch.randn(400, 400) @ torch.randn(400, 400)
thread = threading.Thread(target=work, daemon=True)
thread.start()
from transformer_checks import grade
from transformer_checks.running import isolation
isolation._worker.run = None  # the fork itself must do
def right(query, key):
    torch.softmax(torch.randn(900, 900) @ torch.randn(900, 900), -1)
    return query @ key.mT / math.sqrt(query.shape[-1])
print([grade("attention.attention_scores", right, seed).score for seed in range(3)])
busy.set()
thread.join()
"""


@pytest.mark.weekly
def test_a_fork_after_heavy_use_of_openmp_does_not_hang():
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", OPENMP],
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        env={**os.environ, "OMP_NUM_THREADS": "2"},
        check=False,
    )
    assert run.stderr == ""
    assert run.stdout == "[1.0, 1.0, 1.0]\n"


@pytest.mark.weekly
def test_many_gradings_leave_no_process_and_no_descriptor():
    def descriptors():
        return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0

    grade(SCORES, right)
    before = descriptors()
    for number in range(40):
        answer = right if number % 4 else exits
        assert grade(SCORES, answer, seed=number % 2).score == (1.0 if number % 4 else 0.0)
    assert descriptors() == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.parametrize("answer", [right, exits, dies, closes, loop])
def test_no_signal_goes_to_a_process_that_was_reaped(monkeypatch, answer):
    """Once a child is reaped, its number may be that of somebody else's process."""
    events = []
    kill, killpg, waitpid = os.kill, os.killpg, os.waitpid

    def reap(process, options):
        found = waitpid(process, options)
        events.append(("reaped", found[0]))
        return found

    monkeypatch.setattr(os, "waitpid", reap)
    monkeypatch.setattr(os, "kill", lambda *to: (events.append(("signal", to[0])), kill(*to)))
    monkeypatch.setattr(os, "killpg", lambda *to: (events.append(("signal", to[0])), killpg(*to)))
    grade(SCORES, answer, seconds=0.7)
    children = {child for what, child in events if what == "reaped"}
    assert children
    for child in children:
        of_it = [what for what, number in events if number == child]
        assert of_it[-1] == "reaped"
        assert of_it.count("reaped") == 1
        assert "signal" in of_it


def test_how_a_child_ended_is_told_where_the_system_cannot_look_before_it_reaps(monkeypatch):
    monkeypatch.delattr(os, "waitid")  # as on macOS before Python 3.13
    assert "ended its process with exit status 0" in grade(SCORES, exits).message
    assert "killed by SIGSEGV" in grade(SCORES, dies).message


@pytest.mark.weekly
def test_what_an_answer_leaves_running_is_ended(tmp_path):
    written = tmp_path / "alive"

    def leaves_a_process(query, key):
        if os.fork() == 0:
            for _ in range(100):
                time.sleep(0.05)
                written.write_text(str(time.monotonic()))
        os._exit(0)

    assert "exit status 0" in grade(SCORES, leaves_a_process).message
    written.unlink(missing_ok=True)
    time.sleep(0.3)
    assert not written.exists()


def test_descriptors_above_1023():
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2048
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip("this system does not allow so many open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        assert max(held) > 1023
        assert grade(SCORES, right).score == 1.0
        assert "cut off" in grade(SCORES, loop, seconds=0.5).message
    finally:
        for each in held:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_child_is_asked_again_and_ended_once():
    heard = []

    def work(question, send):
        heard.append(question)
        send(b"|".join(heard))

    long = b"b" * 200_000  # more than a pipe holds
    first, child = child_process.ask_forked(work, b"a", 5.0)
    second, again = child_process.ask_forked(work, long, 5.0, child)
    assert [first.frames, second.frames] == [[b"a"], [b"a|" + long]]
    assert again is child
    assert child.end() is not None
    assert child.end() is None


@pytest.mark.weekly
def test_each_question_to_a_child_has_its_own_time():
    def work(question, send):
        until = time.process_time() + 0.6
        while time.process_time() < until:
            pass
        time.sleep(0.7)  # by the clock the time is up: what counts is the processor's

    child = None
    for _ in range(3):
        ended, child = child_process.ask_forked(work, b"", 1.0, child)
        assert ended.how == "done"
    child.end()


def test_a_child_that_has_ended_between_two_questions_is_told():
    def work(question, send):
        threading.Timer(0.1, os._exit, [3]).start()

    ended, child = child_process.ask_forked(work, b"", 5.0)
    assert ended.how == "done"
    time.sleep(0.5)
    ended, child = child_process.ask_forked(work, b"", 5.0, child)
    assert ended.how == "it ended its process with exit status 3"
    assert child is None
