"""The clean process that grades where this one cannot be forked."""

from __future__ import annotations

import math
import os
import threading
import time

import pytest
import torch

from transformer_checks import grade
from transformer_checks.running import child_process, isolation
from transformer_checks.running.clean_process import Worker, WorkerError
from transformer_checks.running.process import Ended

SCORES = "attention.attention_scores"
FACTOR = torch.tensor(0.5)


@pytest.fixture(scope="module", autouse=True)
def _stop_afterwards():
    yield
    isolation._worker.stop()


@pytest.fixture(autouse=True)
def _no_fork_here(monkeypatch):
    """A child of this process never gets ready, as after autograd has used a GPU."""

    def stuck(work, seconds):
        return Ended([], "not ready")

    monkeypatch.setattr(isolation, "run_forked", stuck)


def helper(query):
    return math.sqrt(query.shape[-1]) * 2 * FACTOR


def right(query, key):
    return query @ key.transpose(-2, -1) / helper(query)


class Scaled(torch.nn.Module):
    def forward(self, query, key):
        return super().__call__ and right(query, key)


def test_right_answers_of_all_kinds():
    root = 0.5

    def closure(query, key):
        return query @ key.mT * query.shape[-1] ** -root

    class Nested:
        def __call__(self, query, key):
            return closure(query, key)

    answers = [right, closure, Nested(), Scaled(), lambda query, key: right(query, key)]
    assert [grade(SCORES, answer).score for answer in answers] == [1.0] * len(answers)


def test_wrong_answers_are_named():
    result = grade(SCORES, lambda query, key: query @ key.mT)
    assert (result.score, result.misconception) == (0.0, "no-scale")


def test_a_class():
    class MultiHeadAttention(torch.nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            self.q_proj = torch.nn.Linear(d_model, d_model)

    assert "no layer `k_proj`" in grade("attention.MultiHeadAttention", MultiHeadAttention).message


def loop(query, key):
    while True:
        pass


def test_an_endless_answer_is_cut_off_and_the_worker_lives_on():
    assert "cut off after 0.5 s" in grade(SCORES, loop, seconds=0.5).message
    before = isolation._worker._process
    assert grade(SCORES, right).score == 1.0
    assert isolation._worker._process is before


def test_the_end_of_the_child_is_not_the_end_of_the_worker():
    assert "exit status 5" in grade(SCORES, lambda query, key: os._exit(5)).message
    assert grade(SCORES, right).score == 1.0


def test_a_worker_that_was_killed_is_started_again():
    assert grade(SCORES, right).score == 1.0
    isolation._worker._process.kill()
    isolation._worker._process.wait()
    assert grade(SCORES, right).score == 1.0


def test_what_cannot_be_sent_is_told():
    lock = threading.Lock()

    def answer(query, key):
        with lock:
            return right(query, key)

    result = grade(SCORES, answer)
    assert result.score == 0.0
    assert "cannot be sent to the grading process" in result.message


def test_a_worker_that_does_not_answer_is_an_error(monkeypatch):
    worker = Worker()
    monkeypatch.setattr("transformer_checks.running.clean_process._MAIN", "raise SystemExit")
    with pytest.raises(WorkerError, match="does not answer"):
        worker.run(SCORES, right, b"", 1.0)
    assert worker._process is None


@pytest.mark.weekly
def test_the_worker_reads_descriptors_above_1023():
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2048:
        pytest.skip("this system does not allow so many open files")
    isolation._worker.stop()  # its pipes are to have the high numbers
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        assert grade(SCORES, right).score == 1.0
    finally:
        for each in held:
            os.close(each)
        isolation._worker.stop()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.weekly
def test_an_answer_that_is_plain_data():
    def word_tokenize(text):
        return text.split()

    assert grade("tokenizers.word_tokenize", word_tokenize).misconception == "split-only"


def test_a_copy_that_is_stuck_is_replaced(monkeypatch, tmp_path):
    tried, prove = tmp_path / "tried", child_process._prove_that_tensors_work

    def stuck_once():
        if not tried.exists():
            tried.touch()
            time.sleep(60)
        prove()

    monkeypatch.setattr(child_process, "_prove_that_tensors_work", stuck_once)
    ended = child_process.run_forked(lambda send: send(b"an outcome"), seconds=10)
    assert (ended.frames, ended.how) == ([b"an outcome"], "done")
    assert tried.exists()
