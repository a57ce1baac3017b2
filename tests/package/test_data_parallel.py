"""Data parallel: two processes under torchrun make the same run as one with the whole batch."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.package.data_parallel_worker import EXACT, RUNS, STOPPED, UNEVEN, result
from tests.package.training_runs import TINY, new_trainer
from tests.timeouts import COMMAND_SECONDS
from transformer_ref import parallel
from transformer_ref.applications import translation
from transformer_ref.applications.command_line import _device
from transformer_ref.parallel import Processes, join_processes

pytestmark = pytest.mark.weekly

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def launched(tmp_path_factory):
    """The folder in which two processes left their runs, and what they printed."""
    folder = tmp_path_factory.mktemp("two processes")
    process = subprocess.run(
        [
            *(sys.executable, "-W", "error", "-m", "torch.distributed.run"),
            *("--standalone", "--nproc-per-node", "2", "--no-python"),
            *(sys.executable, "-W", "error", "-m", "tests.package.data_parallel_worker"),
            str(folder),
        ],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
    )
    assert process.returncode == 0, process.stderr
    return folder, process


@pytest.fixture(scope="module")
def results(launched):
    """What each process left, by rank."""
    folder, _ = launched
    return [torch.load(folder / f"results {rank}.pt") for rank in (0, 1)]


def assert_same_weights(weights, expected, **tolerance):
    assert weights.keys() == expected.keys()
    for name, weight in weights.items():
        torch.testing.assert_close(
            weight, expected[name], **tolerance, msg=lambda m, name=name: f"{name}: {m}"
        )


@pytest.mark.parametrize("name", list(RUNS))
def test_two_processes_make_the_run_of_one(results, name):
    alone = new_trainer(config=replace(RUNS[name], accumulate=1), **EXACT)
    alone.train(progress=False)
    expected = result(alone)
    for found in results:
        history = torch.tensor(found[name]["history"], dtype=torch.float64)
        torch.testing.assert_close(
            history, torch.tensor(expected["history"], dtype=torch.float64), rtol=1e-9, atol=0
        )
        assert_same_weights(found[name]["weights"], expected["weights"], rtol=1e-8, atol=1e-10)


def test_the_uneven_run_has_a_batch_with_an_empty_share():
    trainer = new_trainer(config=UNEVEN)
    assert 1 in [len(batch) for batch in trainer._deal(0)]


@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_a_stopped_run_goes_on_to_the_same_result(results, precision):
    for found in results:
        assert found[f"resumed {precision} at"] == 10
        whole, resumed = found[f"whole {precision}"], found[f"resumed {precision}"]
        assert resumed["history"] == whole["history"]
        assert_same_weights(resumed["weights"], whole["weights"], rtol=0, atol=0)


def test_micro_batches_exchange_gradients_once_a_step(results):
    for found in results:
        assert found["micro-batches"]["exchanges"] == found["uneven and empty shares"]["exchanges"]
        assert found["micro-batches"]["exchanges"] >= 16


def test_dropout_differs_between_the_processes(results):
    assert results[0]["random"] != results[1]["random"]


def test_only_the_first_process_writes_and_calls_back(launched):
    folder, process = launched
    assert process.stdout.split("\n") == [*[f"epoch {n}" for n in (1, 2)] * 2, ""]
    assert process.stderr.count("| 0/16 [") == 2  # one bar starts for each of the two runs
    assert sorted(path.name for path in (folder / "float32").iterdir()) == [
        "last.pt",
        "metrics.csv",
    ]
    rows = (folder / "float32" / "metrics.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["step", *map(str, range(1, 17))]
    assert not (folder / "elsewhere").exists()


def test_sums_and_gathered_items_are_those_of_both(results):
    for rank, found in enumerate(results):
        assert found["sum"] == ([2.0, 10.0], [1.0, 10.0 * rank])  # the value itself stays
        assert found["gathered"] == ["from 0", "from 1"]


def test_the_process_group_is_left_at_the_end(launched):
    folder, _ = launched
    assert [(folder / f"end {rank}").read_text() for rank in (0, 1)] == ["False", "False"]


def test_nothing_is_warned_of(launched):
    _, process = launched
    assert "warn" not in process.stderr.lower()


def test_a_run_that_diverges_stops_in_all_processes(launched, results):
    folder, _ = launched
    for found in results:
        assert found["diverged"].startswith("FloatingPointError: step ")
        assert found["diverged after"] > 0
    resumed_at = len((folder / "diverged" / "metrics.csv").read_text().splitlines()) - 1
    assert resumed_at == results[0]["diverged after"] == results[1]["diverged after"]


def test_processes_with_different_folders_are_refused(results):
    for found in results:
        message = r"ValueError: run_dir must be one folder for all processes, got .*"
        assert re.fullmatch(message, found["two folders"])


def test_a_run_of_another_number_of_processes_is_refused(launched):
    folder, _ = launched
    message = r"last\.pt was made with processes=2, got processes=1; use another folder"
    with pytest.raises(ValueError, match=message):
        new_trainer(folder / "float32", STOPPED)


def test_the_others_wait_for_a_long_evaluation(results):
    """By default they would wait for half an hour, or with NCCL for ten minutes."""
    for found in results:
        assert found["seconds of patience"] >= 12 * 3600


def test_each_process_takes_its_gpu_before_the_model_is_moved(monkeypatch):
    calls = []
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", lambda gpu: calls.append(f"take {gpu}"))
    monkeypatch.setattr(parallel.atexit, "register", lambda _: None)
    monkeypatch.setattr(parallel.dist, "get_rank", lambda: 1)
    monkeypatch.setattr(parallel.dist, "get_world_size", lambda: 2)
    monkeypatch.setattr(
        parallel.dist, "init_process_group", lambda kind, **_: calls.append(f"join {kind}")
    )

    class MovedError(Exception):
        pass

    def move(_, device):
        calls.append(f"move to {device}")
        if str(device).startswith("cuda"):
            raise MovedError

    monkeypatch.setattr(torch.nn.Module, "to", lambda self, device: move(self, device) or self)
    pairs = {split: [("ab", "ba")] for split in ("train", "dev", "test")}
    tokenizers = translation.train_tokenizers(pairs["train"], "char")
    with pytest.raises(MovedError):
        translation.train_translator(
            "runs", pairs, tokenizers, TINY, UNEVEN, device=_device("cuda")
        )
    assert [call for call in calls if call != "move to cpu"] == [
        *("take 1", "join nccl", "move to cuda"),
    ]


def test_one_process_exchanges_nothing():
    alone = join_processes(torch.device("cpu"))
    assert alone == Processes(rank=0, size=1)
    value, model = torch.ones(2), torch.nn.Linear(1, 1)
    assert alone.sum(value) is value
    assert alone.gather("x") == ["x"]
    assert alone.share_gradients(model) is model


@pytest.mark.parametrize(
    ("environment", "device", "message"),
    [
        ({"WORLD_SIZE": "two"}, "cpu", "WORLD_SIZE must be an integer, as torchrun sets it"),
        ({"WORLD_SIZE": "2"}, "cpu", "RANK"),
        ({"WORLD_SIZE": "2"}, "mps", "device must be CUDA or the CPU for several processes"),
        (
            {"WORLD_SIZE": "2", "LOCAL_RANK": "0"},
            "cuda:0",
            "device must be without a number for several processes, .*, got cuda:0",
        ),
        ({"WORLD_SIZE": "2"}, "cuda", "LOCAL_RANK must be an integer, as torchrun sets it, got ''"),
        (
            {"WORLD_SIZE": "2", "LOCAL_RANK": str(torch.cuda.device_count())},
            "cuda",
            "LOCAL_RANK must be below the .* GPUs found",
        ),
    ],
)
def test_a_bad_environment_is_named(monkeypatch, environment, device, message):
    for name in ("RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=message):
        join_processes(torch.device(device))
