"""Data parallel training: several processes with the same model, each with a share of every batch.

``torchrun --nproc-per-node 2 script.py`` starts a script twice and tells each process by the
environment variables RANK, WORLD_SIZE and LOCAL_RANK which one it is.
The gradients of all shares are summed, so that every process makes the same step.

Source: Li et al. 2020, "PyTorch Distributed: Experiences on Accelerating Data Parallel Training".
"""

from __future__ import annotations

import atexit
import os
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

# While the first process evaluates, the others wait for it: with NCCL by default for 10 minutes.
# Nobody waits that long for one that died, as torchrun then ends them all.
PATIENCE = timedelta(days=1)


@dataclass(frozen=True)
class Processes:
    """The processes that train together, seen from one of them.

    Attributes:
        rank: the number of this process, from 0.
        size: how many there are; 1 = this one is alone, and nothing is exchanged.
    """

    rank: int = 0
    size: int = 1

    def sum(self, value: Tensor) -> Tensor:
        """Return the sum over all processes of a tensor that each of them has."""
        if self.size > 1:
            value = value.clone()
            dist.all_reduce(value)
        return value

    def gather(self, item: Any) -> list[Any]:
        """Return what each process has, by rank."""
        items = [item] * self.size
        if self.size > 1:
            dist.all_gather_object(items, item)
        return items

    def share_gradients(self, model: nn.Module) -> nn.Module:
        """Wrap a model so that ``backward`` averages the gradients over all processes.

        All start from the weights of rank 0.
        """
        if self.size == 1:
            return model
        return DistributedDataParallel(model, forward_sync_buffers=False)


def join_processes(device: torch.device) -> Processes:
    """Join the processes that ``torchrun`` started; without it, this one is alone.

    The process group is made if there is none yet, and left when Python ends.

    Args:
        device: CUDA exchanges by NCCL, and the GPU of LOCAL_RANK becomes the process's current one,
            which "cuda" then means; the CPU exchanges by gloo.

    Returns:
        All processes, seen from this one.

    Raises:
        ValueError: if WORLD_SIZE says that there are several, and RANK, LOCAL_RANK, MASTER_ADDR or
            MASTER_PORT is missing, there are fewer GPUs, or the device has a number or is neither
            CUDA nor the CPU.
    """
    if not dist.is_initialized():
        if _environment_integer("WORLD_SIZE", "1") == 1:
            return Processes()
        if device.index is not None:
            raise ValueError(
                "device must be without a number for several processes, where each takes the GPU "
                f"of its LOCAL_RANK, got {device}"
            )
        if device.type == "cuda":
            gpu, gpus = _environment_integer("LOCAL_RANK"), torch.cuda.device_count()
            if gpu >= gpus:
                raise ValueError(f"LOCAL_RANK must be below the {gpus} GPUs found, got {gpu}")
            torch.cuda.set_device(gpu)
        elif device.type != "cpu":
            raise ValueError(f"device must be CUDA or the CPU for several processes, got {device}")
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=PATIENCE)
        atexit.register(_leave)
    return Processes(dist.get_rank(), dist.get_world_size())


def _environment_integer(name: str, default: str = "") -> int:
    value = os.environ.get(name, default)
    if not value.isdecimal():
        raise ValueError(f"{name} must be an integer, as torchrun sets it, got {value!r}")
    return int(value)


def _leave() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()
