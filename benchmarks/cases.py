"""The list of all cases: what each is called, where it runs, and what it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from benchmarks import attention, check_time, decoding, gpu, grading, scaling, skip_gram, training
from benchmarks.rows import Row, Setting

CPU, GPU = ("cpu",), ("cuda",)


@dataclass(frozen=True)
class Case:
    """Something to measure.

    Attributes:
        run: makes its rows, one after the other.
        devices: where it makes sense.
        what: what stands in the table where no device can run it.
    """

    run: Callable[[Setting], Iterable[Row]]
    devices: tuple[str, ...] = CPU + GPU
    what: str = ""


CASES: dict[str, Case] = {
    "training": Case(training.against_torch),
    "bfloat16": Case(training.bfloat16, CPU),
    "threads": Case(training.threads, CPU),
    "attention": Case(attention.time),
    "memory": Case(attention.memory),
    "greedy-prefix": Case(decoding.against_prefix),
    "greedy-weights": Case(decoding.against_weights),
    "greedy-marian": Case(decoding.against_marian),
    "beam-marian": Case(decoding.beam_against_marian),
    "skip-gram": Case(skip_gram.against_gensim, CPU),
    "grading": Case(grading.against_nbgrader, CPU),
    "grading-growth": Case(grading.for_more_students, CPU),
    "check-time": Case(check_time.of_all_tasks, CPU),
    "throughput": Case(scaling.throughput),
    "gpu-training": Case(gpu.training, GPU, "training in bfloat16, compiled, d=512 and d=1024"),
    "gpu-decoding": Case(gpu.decoding, GPU, "greedy decoding in bfloat16, B=1"),
    "gpu-multi30k": Case(gpu.multi30k, GPU, "BLEU on Multi30k, trained on a GPU"),
}
