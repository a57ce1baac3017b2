"""What each process does in test_data_parallel.py: ``torchrun -m`` this module with a folder.

All runs go into one start of the processes, which takes longer than the runs themselves.
"""

from __future__ import annotations

import atexit
import sys
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

from tests.package.training_runs import RUN, TINY, new_trainer
from transformer_ref.training import Trainer

# In float64 the order of a sum does not matter; without dropout chance does not.
EXACT = {"model": replace(TINY, dropout=0.0), "dtype": torch.float64}
# 50 examples by 7 leave a last batch of one: the second process has nothing of it.
UNEVEN = replace(RUN, batch_size=7, epochs=2)
STOPPED = replace(UNEVEN, accumulate=2)
RUNS = {
    "uneven and empty shares": UNEVEN,
    "micro-batches": STOPPED,
    "batches by tokens": replace(UNEVEN, batch_tokens=60, schedule="noam"),
}


def result(trainer: Trainer) -> dict[str, Any]:
    """What a process has at the end of a run."""
    return {
        "history": [astuple(record)[:-1] for record in trainer.history],  # without the seconds
        "weights": trainer.model.state_dict(),
    }


def count_exchanges(trainer: Trainer) -> list[int]:
    """A list that gets an entry whenever gradients are exchanged."""
    exchanges: list[int] = []

    def exchange(group, bucket):
        exchanges.append(bucket.index())
        return allreduce_hook(group, bucket)

    trainer._shared.register_comm_hook(None, exchange)
    return exchanges


def caught(call: Any) -> str:
    """The message of the error that a call raises."""
    try:
        call()
    except (ValueError, FloatingPointError) as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def main(folder: Path) -> None:
    """Run everything and leave the results of this process in the folder."""
    torch.set_num_threads(1)
    # What is registered first is called last: after the trainer's own farewell.
    atexit.register(lambda: (folder / f"end {rank}").write_text(str(dist.is_initialized())))
    results: dict[str, Any] = {}
    for name, config in RUNS.items():
        # The second process starts from other weights: those of the first must count.
        trainer = new_trainer(config=config, **EXACT, init_seed=1)
        trainer = new_trainer(config=config, **EXACT, init_seed=trainer.processes.rank)
        exchanges = count_exchanges(trainer)
        trainer.train(progress=False)
        results[name] = result(trainer) | {"exchanges": len(exchanges)}

    for precision in ("float32", "float16"):
        config = replace(STOPPED, precision=precision)
        whole = new_trainer(folder / f"whole {precision}", config)
        whole.train(on_epoch=lambda trainer: print(f"epoch {trainer.epoch}", flush=True))
        new_trainer(folder / precision, config).train(max_steps=10, progress=False)
        resumed = new_trainer(folder / precision, config)
        results[f"resumed {precision} at"] = resumed.step
        resumed.train(progress=False)
        results[f"whole {precision}"] = result(whole)
        results[f"resumed {precision}"] = result(resumed)

    trainer = new_trainer()
    trainer.train(max_steps=1, progress=False)
    results["random"] = torch.rand(3).tolist()  # as dropout would draw
    processes = trainer.processes
    rank = processes.rank
    only_here = folder / "float32" if rank == 0 else folder / "elsewhere"
    results["two folders"] = caught(lambda: new_trainer(only_here, STOPPED))
    diverging = new_trainer(folder / "diverged", replace(RUN, learning_rate=1e30, save_every=1))
    results["diverged"] = caught(lambda: diverging.train(progress=False))
    results["diverged after"] = diverging.step
    value = torch.tensor([1.0, 10.0 * rank])
    results["sum"] = processes.sum(value).tolist(), value.tolist()
    group = dist.distributed_c10d._get_default_group()
    patience = group._get_backend(torch.device("cpu")).options._timeout
    results["seconds of patience"] = patience.total_seconds()
    results["gathered"] = processes.gather(f"from {rank}")
    torch.save(results, folder / f"results {rank}.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
