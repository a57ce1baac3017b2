"""The benchmarks run on small sizes and write well-formed files; no time is judged here."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import __main__ as command
from benchmarks import (
    attention,
    check_time,
    decoding,
    gpu,
    grading,
    models,
    report,
    scaling,
    skip_gram,
    training,
)
from benchmarks.cases import CASES, GPU, Case
from benchmarks.memory import peak_bytes
from benchmarks.rows import Asked, Row, Setting, measured, not_measured
from benchmarks.timing import Ratio, compare
from transformer_ref import Transformer
from transformer_ref.training import Trainer

pytestmark = pytest.mark.weekly

CPU = torch.device("cpu")
TINY = models.sizes(16, 1, 31, max_len=64)
JOB = decoding.Job(TINY, source=5, tokens=4)
SIZES = {"d_model": 16, "num_layers": 1, "vocab_size": 31}
STEP = {**SIZES, "batch": 2, "length": 6}
SMALL: dict[str, Callable[[Setting], Any]] = {
    "training": partial(training.against_torch, **SIZES, tokens=12, lengths=(6, 12)),
    "bfloat16": partial(training.bfloat16, **STEP),
    "threads": partial(training.threads, steps=1),
    "attention": partial(attention.time, batch=1, heads=2, length=16),
    "memory": partial(attention.memory, heads=2, length=64),
    "greedy-prefix": partial(decoding.against_prefix, job=JOB, batches=(1, 3)),
    "greedy-weights": partial(decoding.against_weights, job=JOB, batches=(1, 3)),
    "greedy-marian": partial(decoding.against_marian, job=JOB, batches=(1, 3)),
    "beam-marian": partial(decoding.beam_against_marian, job=JOB, batch=3, beam_size=2),
    "skip-gram": partial(
        skip_gram.against_gensim,
        texts=["A b c d e f. G h i j k l! " * 40],
        d_model=4,
        epochs=1,
        queries=5,
    ),
    # None needs a course: what a class costs is no question of a test.
    "grading": partial(
        grading.against_nbgrader, make=lambda *_: None, commands=(("-c", ""), ("-c", ""))
    ),
    "grading-growth": partial(grading.for_more_students, make=lambda *_: None, command=("-c", "")),
    "check-time": partial(check_time.of_all_tasks, keys=["depth.cnn_receptive_field"]),
    "throughput": partial(
        scaling.throughput, config=TINY, lengths=(4, 8, 16, 32), batches=(1, 2, 4), length=4
    ),
    "gpu-training": partial(
        gpu.training, configs=[TINY], batch=2, length=6, compiled=False, matrix=64
    ),
    "gpu-decoding": partial(gpu.decoding, configs=[TINY], source=5, tokens=4, copied=2**16),
    "gpu-multi30k": gpu.multi30k,
}


@pytest.fixture
def small_cases(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The same cases, on sizes that take milliseconds."""
    for name, case in CASES.items():
        monkeypatch.setitem(CASES, name, replace(case, run=SMALL[name]))
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def run(folder: Path, *arguments: str) -> tuple[int, list[dict[str, Any]], list[str]]:
    """Status, rows of results.json, and lines of the table."""
    status = command.main(["--repetitions", "2", "--output", str(folder), *arguments])
    rows = json.loads((folder / "results.json").read_text(encoding="utf-8"))["results"]
    table = (folder / "RESULTS.md").read_text(encoding="utf-8").splitlines()
    return status, rows, [line for line in table if line.startswith("|")]


@pytest.mark.usefixtures("small_cases")
def test_every_case_writes_its_rows(tmp_path: Path) -> None:
    status, rows, table = run(tmp_path, "--device", "cpu")
    names = [name for name, case in CASES.items() if case.devices != GPU]
    assert list(dict.fromkeys(row["case"] for row in rows)) == names
    assert status == int(any(row["failed"] for row in rows))
    assert len(table) == 2 + len(rows)
    assert {line.count("|") for line in table} == {9}
    for row in rows:
        assert row["device"] == "cpu"
        assert row["conditions"]["threads"] == 1
        assert row["conditions"]["torch"] == torch.__version__
        assert row["value"] is not None or row["note"]
        if row["quartiles"]:
            lower, upper = row["quartiles"]
            assert lower <= row["value"] <= upper
    figure = (tmp_path / "throughput.svg").read_text(encoding="utf-8")
    assert figure.startswith("<?xml")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "RESULTS.md",
        "results.json",
        "throughput.svg",
    ]


@pytest.mark.usefixtures("small_cases")
def test_what_needs_cuda_says_so_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    status, rows, table = run(tmp_path, "--device", "cuda")
    assert [row["case"] for row in rows] == [n for n, c in CASES.items() if c.devices == GPU]
    assert all(row["value"] is None and row["device"] == "cuda" for row in rows)
    assert all("not measured: this machine has no CUDA device" in line for line in table[2:])
    assert status == 0


@pytest.mark.usefixtures("small_cases")
def test_a_run_of_one_case_keeps_the_others(tmp_path: Path) -> None:
    run(tmp_path, "--device", "cpu", "--only", "attention", "throughput")
    path = tmp_path / "results.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    for row in content["results"]:
        row["conditions"]["date"] = "1999-12-31"
    path.write_text(json.dumps(content), encoding="utf-8")
    _, rows, table = run(tmp_path, "--device", "cpu", "--only", "training", "attention")
    dates = {row["case"]: row["conditions"]["date"] for row in rows}
    assert list(dates) == ["training", "attention", "throughput"]
    assert dates["throughput"] == "1999-12-31" != dates["attention"] == dates["training"]
    runs = [line.split("|")[-2].strip() for line in table[2:]]
    assert runs == ["1", "1", "1", "2", "2", "2", "2"]


def row(case: str, device: str = "cpu", value: float | None = 1.0, what: str = "") -> Row:
    return Row(case, device, what, "", value=value, note="" if value else "why")


@pytest.mark.parametrize(
    ("old", "new", "merged"),
    [
        ([row("a", value=1.0)], [row("a", value=2.0)], [row("a", value=2.0)]),
        ([row("a", what="gone")], [row("a", what="x")], [row("a", what="x")]),
        ([row("a")], [row("a", value=None)], [row("a")]),
        ([row("a", value=None)], [row("a")], [row("a")]),
        ([row("a", "cuda")], [row("a")], [row("a"), row("a", "cuda")]),
        ([row("b"), row("no case")], [row("a")], [row("a"), row("b")]),
        (
            [row("a", value=1.0)],
            [row("a", value=None), row("a", what="x", value=2.0)],
            [row("a", value=None), row("a", what="x", value=2.0)],
        ),
    ],
    ids=["new wins", "whole case", "keeps figures", "fills", "devices", "order", "mixed"],
)
def test_merging(old: list[Row], new: list[Row], merged: list[Row]) -> None:
    assert report.merge(old, new, ["a", "b"]) == merged


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"results": [{"case": "a"}]}', '{"results": [1]}', "{}"]
)
def test_damaged_results_are_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "results.json").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=r"results\.json holds no results: .*; delete it"):
        report.read(tmp_path)


def test_rows_come_back_as_they_were_written(tmp_path: Path) -> None:
    rows = [
        measured("a", CPU, "x", "y", Ratio(2.0, 1.0, 3.0, 2.0, 1.0, 3), Asked("<=", 2.5), extra=1),
        not_measured("b", "cuda", "x", "y", "why"),
    ]
    report.write(rows, tmp_path)
    assert report.read(tmp_path) == rows


@pytest.mark.parametrize(
    ("asked", "text", "met", "failed"),
    [
        (Asked("<=", 2.0), "<= 2", True, False),
        (Asked("<=", 1.9), "<= 1.9", False, True),
        (Asked(">=", 2.1), ">= 2.1", False, True),
        (Asked(">=", 2.1, goal=True), "goal >= 2.1", False, False),
        (None, "", None, False),
    ],
)
def test_the_median_is_judged(
    asked: Asked | None, text: str, met: bool | None, failed: bool
) -> None:
    made = measured("a", CPU, "x", "y", Ratio(2.0, 1.0, 3.0, 2.0, 1.0, 3), asked)
    assert (made.asked, made.met, made.failed) == (text, met, failed)
    assert (made.value, made.quartiles) == (2.0, (1.0, 3.0))


def test_a_miss_gives_the_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, status in ((1.0, 1), (3.0, 0)):
        made = measured("attention", CPU, "x", "y", 2.0, Asked("<=", limit), unit="MiB")
        monkeypatch.setitem(CASES, "attention", Case(lambda setting, made=made: [made], ("cpu",)))
        assert run(tmp_path, "--only", "attention")[0] == status


def test_runs_by_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    times = [0.0, 3.0, 10.0, 12.0, 20.0, 22.0, 30.0, 36.0]
    sides = (lambda: calls.append("a"), lambda: calls.append("b"))
    for warm_up, first in (((), "ab"), ([lambda: calls.append("w")], "w")):
        calls.clear()
        clock = iter(times)
        monkeypatch.setattr("time.process_time", lambda clock=clock: next(clock))
        ratio = compare(*sides, CPU, repetitions=2, warm_up=warm_up)
        assert "".join(calls) == f"{first}abba"
        figures = ratio.median, ratio.numerator_seconds, ratio.denominator_seconds
        assert figures == (2.25, 4.5, 2.0)


def test_threads_are_set_and_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    used = []

    def train(trainer: Trainer, *, max_steps: int, progress: bool) -> None:
        used.append((torch.get_num_threads(), max_steps - trainer.step))

    monkeypatch.setattr(training.Trainer, "train", train)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "getloadavg", lambda: (1.2, 1.0, 1.0))
    before = torch.get_num_threads()
    (made,) = training.threads(Setting(CPU, repetitions=2), steps=3)
    assert used == [(n, 3) for n in (1, 2, 1, 2, 2, 1)]
    assert made.against == "the same on 2 threads"
    assert torch.get_num_threads() == before
    for cores, load, why in ((1, 0.0, "1 cores, of which 0.0"), (2, 1.6, "2 cores, of which 1.6")):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 0.0, 0.0))
        (made,) = training.threads(Setting(CPU))
        assert made.value is None
        assert why in made.note


@pytest.mark.parametrize("repetitions", [1, 0])
def test_a_single_run_has_no_spread(repetitions: int, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--repetitions", str(repetitions)])
    assert f"--repetitions must be at least 2, got {repetitions}" in capsys.readouterr().err


@pytest.mark.parametrize("supported", [True, False])
def test_bfloat16_is_asked_for_only_where_the_processor_has_it(
    supported: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "has_bfloat16", lambda device: supported)
    setting = Setting(CPU, repetitions=2)
    (by_itself,) = training.bfloat16(setting, **STEP)
    (forced,) = training.bfloat16(replace(setting, slow_bfloat16=True), **STEP)
    assert (by_itself.value is not None) == supported
    assert forced.value is not None
    assert (by_itself.asked, forced.asked) == (">= 2", ">= 2" if supported else "")


def test_both_sides_of_a_search_say_the_same(device: torch.device) -> None:
    """The weights are the same, and no answer ends early: so the times are of the same work."""
    for case in (SMALL["greedy-marian"], SMALL["beam-marian"]):
        for made in case(Setting(device, repetitions=2)):
            assert made.details["same_tokens"] == 1.0


def test_an_answer_that_ends_early_is_no_measurement() -> None:
    for ids in (torch.tensor([[1, 5, 6]]), torch.tensor([[1, 5, 6, 2, 0]])):
        with pytest.raises(RuntimeError, match="answers must have 4 tokens"):
            decoding.require_complete(lambda ids=ids: ids, 4)


def test_peak_memory_counts_what_is_freed_again(device: torch.device) -> None:
    x = torch.randn(1000, 256, device=device)

    def two_copies() -> tuple[torch.Tensor]:
        first = x + 1.0
        second = first * 2.0
        del first
        return (second.sum(dim=1),)

    result = x.nbytes // 256
    assert peak_bytes(two_copies, device) == pytest.approx(2 * x.nbytes - result, rel=0.01)


def test_memory_of_attention_grows_as_it_should(device: torch.device) -> None:
    """Written out, with the square of the length; fused and causal, not."""
    peaks = {}
    for length in (256, 512):
        rows = attention.memory(Setting(device), heads=2, length=length)
        for name, made in zip(("causal", "masked", "written out", "both"), rows, strict=True):
            peaks[name, length] = made.value
    square = 2 * 512**2 * 4 / 2**20  # weights of two heads in float32
    assert peaks["written out", 512] >= 2 * square
    assert peaks["written out", 512] > 3.5 * peaks["written out", 256]
    assert peaks["causal", 512] < square / 2
    assert peaks["both", 512] < 2 * square


def test_fitted_exponents() -> None:
    sizes = [1, 2, 4, 8]
    assert scaling.fit_exponent(sizes, [3.0 * n**1.5 for n in sizes]) == pytest.approx(1.5)


def test_the_same_rows_make_the_same_figure(tmp_path: Path) -> None:
    rows = list(SMALL["throughput"](Setting(CPU, repetitions=2)))
    rows += [replace(made, device="cuda") for made in rows]
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        scaling.draw(rows, tmp_path / name / "throughput.svg")
    first, second = ((tmp_path / name / "throughput.svg").read_bytes() for name in ("a", "b"))
    assert first == second


@pytest.mark.parametrize("layers", [1, 3])
def test_model_flops_are_those_of_the_products(layers: int) -> None:
    config = models.sizes(32, layers, 50)
    batch, source, target = 3, 7, 5
    model = Transformer(config)
    ids = [models.random_ids(config, batch, length, CPU) for length in (source, target)]
    # The attention written out is made of products, which the counter knows.
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        logits = model(*ids)
        forward = counter.get_total_flops()
        logits.sum().backward()
    assert gpu.forward_flops(config, batch, source, target) == forward
    assert counter.get_total_flops() == pytest.approx(3 * forward, rel=0.02)


def test_bytes_a_token_are_those_of_weights_and_cache() -> None:
    config = models.sizes(32, 2, 50)
    model = Transformer(config).to(torch.bfloat16)
    layer = 6 * 32 * 33 + (128 * 33 + 32 * 129) + 6 * 32  # projections, feed-forward, norms
    read = 2 * (2 * layer + 50 * 32)
    cached = 2 * 2 * 2 * 32 * (7 + (1 + 2 + 3) / 3)
    assert gpu.bytes_a_token(model, source=7, tokens=3) == read + cached


def test_rates_and_shares_are_positive(device: torch.device) -> None:
    assert gpu.matmul_rate(device, 2, torch.float32, 64) > 0
    assert gpu.copy_rate(device, 2, 2**16) > 0
    for name in ("gpu-training", "gpu-decoding"):
        (made,) = SMALL[name](Setting(device, repetitions=2))
        assert made.value is not None
        assert made.value > 0
        assert made.asked.startswith("goal")
        assert not made.failed


def test_multi30k_needs_its_folder() -> None:
    (made,) = gpu.multi30k(Setting(CPU))
    assert made.value is None
    assert "--multi30k FOLDER" in made.note


def test_rare_words_are_left_out_of_sentences() -> None:
    texts = ["It's late. Is it late?", "It's 9 -- late! No"]
    sentences, words = skip_gram.sentences_of(texts, min_count=2)
    assert sentences == [["it's", "late"], ["late"], ["it's", "late"], []]
    assert words == ["late", "it's"]


def test_overlap_is_the_share_of_common_neighbours() -> None:
    angles = torch.tensor([0.0, 0.1, 0.3, 1.0, 1.2])
    one = torch.stack([angles.cos(), angles.sin()], dim=1)
    other = one[[0, 1, 4, 3, 2]]  # words 2 and 4 change places
    assert skip_gram.overlap(one, 7 * one, queries=5, k=2) == 1.0
    # Of word 0 the nearest are 1 and 2, then 1 and 4; of word 1 they are 0 and 2, then 0 and 4.
    assert skip_gram.overlap(one, other, queries=2, k=2) == 0.5
    assert skip_gram.overlap(one, other, queries=1, k=1) == 1.0


def test_no_two_of_the_class_that_is_graded_hand_in_the_same() -> None:
    import nbformat

    path = grading.ROOT / "exercises" / grading.SLUG / f"{grading.SLUG}.ipynb"
    released = nbformat.read(path, as_version=4)
    texts = []
    for number in range(12):
        cells = grading.hand_in(released, number).cells
        texts.append("".join(cell.source for cell in cells if cell.id.endswith("-solution")))
    right = texts[0]
    assert "NotImplementedError" not in right
    assert all((text == right) == (number % 3 == 0) for number, text in enumerate(texts))
    assert len(set(texts)) >= 6
