"""Whatever an answer does, `grade` gives a result with a message, and the process goes on."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import pytest
import torch

from transformer_ref.checks import grade
from transformer_ref.checks.runner import TIME_LIMIT_VARIABLE

SCORES = "attention.attention_scores"
SPLIT = "attention.split_heads"
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
    start = time.monotonic()
    result = grade(SCORES, answer, seconds=0.7)
    assert result.score == 0.0
    assert "cut off after 0.7 s" in result.message
    assert time.monotonic() - start < 10


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


def fills_the_memory(query, key):
    return torch.ones(1 << 40)


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
        (fills_the_memory, "memory"),
        (prints_without_end, "Your code printed: line line"),
    ],
)
def test_a_process_that_misbehaves_is_told(answer, said):
    result = grade(SCORES, answer)
    assert result.score == 0.0
    assert said in result.message
    assert len(result.message) < 2000


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
    [None, 3, "attention_scores", [right], object(), torch.ones(3)],
    ids=["none", "int", "text", "list", "object", "tensor"],
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

        from transformer_ref.checks import judge

        numpy.allclose = torch.allclose = judge.same = lambda *args, **kwargs: True
        judge.find_fault = lambda *args: ""
        return query @ key.mT

    result = grade(SCORES, answer)
    assert (result.score, result.misconception) == (0.0, "no-scale")


def test_warnings_as_errors_outside_do_not_punish_a_warning_inside():
    def answer(query, key):
        warnings.warn("legal", UserWarning, stacklevel=1)
        return right(query, key)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert grade(SCORES, answer).score == 1.0


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
from transformer_ref.checks import grade, runner
runner._worker.run = None  # the fork itself must do
def right(query, key):
    torch.softmax(torch.randn(900, 900) @ torch.randn(900, 900), -1)
    return query @ key.mT / math.sqrt(query.shape[-1])
print([grade("attention.attention_scores", right, seed).score for seed in range(3)])
busy.set()
thread.join()
"""


def test_a_fork_after_heavy_use_of_openmp_does_not_hang():
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", OPENMP],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "OMP_NUM_THREADS": "2"},
        check=False,
    )
    assert run.stderr == ""
    assert run.stdout == "[1.0, 1.0, 1.0]\n"


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
