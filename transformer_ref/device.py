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


def has_bfloat16(device: torch.device) -> bool:
    """Say whether a device has instructions for bfloat16.

    A processor without them takes about 100 times as long for a product as in float32.

    Args:
        device: where to compute.

    Returns:
        True if so; for MPS, which torch cannot tell of, False.
    """
    if device.type == "cuda":
        # torch.cuda.is_bf16_supported counts the devices each time, which took 4 ms.
        return torch.cuda.get_device_capability(device) >= (8, 0)
    if device.type != "cpu":
        return False
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in ("avx512_bf16", "amx_bf16", "bf16"))
