"""Where to compute, and what it costs to look at a result there."""

from __future__ import annotations

import torch


def pick_device() -> torch.device:
    """Return the fastest device that this machine has: CUDA, then MPS (Apple), then CPU.

    Nothing else in the package chooses a device.
    A module works where its weights and inputs are.

    Returns:
        ``torch.device("cuda")``, ``torch.device("mps")`` or ``torch.device("cpu")``.
    """
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def queues_work(device: torch.device) -> bool:
    """Say whether a device works behind the program, which waits where it reads a value.

    Args:
        device: where a tensor is.

    Returns:
        False for the CPU, True for a GPU.
    """
    return device.type != "cpu"
