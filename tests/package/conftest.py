"""What every test of the package gets: fixed seeds, and each device of this machine in turn."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import nullcontext

import pytest
import torch
from tqdm import tqdm

# Forked processes share tqdm's own lock: one that is killed while it holds it stops all others,
# as when mutation testing (make mutation) cuts a test off.
tqdm.set_lock(threading.RLock())

CUDA = pytest.param(
    "cuda",
    marks=[
        pytest.mark.cuda,
        pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
    ],
)


@pytest.fixture(params=["cpu", CUDA])
def device(request: pytest.FixtureRequest) -> torch.device:
    """A device to compute on; a test that takes it runs once on each."""
    return torch.device(request.param)


@pytest.fixture(params=["cpu", CUDA])
def default_device(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each device as the one on which tensors are made, for tests that cannot take `device`."""
    with torch.device(request.param) if request.param != "cpu" else nullcontext():
        yield


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)
