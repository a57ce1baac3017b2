"""Peak memory of a call, as torch's allocator sees it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile


def peak_bytes(function: Callable[[], tuple[Tensor, ...]], device: torch.device) -> int:
    """Bytes that a call needs at its peak, beyond what was there before and what it returns."""
    if device.type == "cuda":
        function()  # the first product sets memory aside for cuBLAS, which keeps it
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        result = function()
        peak = torch.cuda.max_memory_allocated(device) - before
    else:
        os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # it would report to stderr
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
            result = function()
        peak = _peak_of_trace(profiler)
    return peak - sum(tensor.nbytes for tensor in result)


def _peak_of_trace(profiler: profile) -> int:
    """The largest sum of what was allocated and not yet freed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    changes = sorted((e["ts"], e["args"]["Bytes"]) for e in events if e["name"] == "[memory]")
    allocated = peak = 0
    for _, change in changes:
        allocated += change
        peak = max(peak, allocated)
    return peak
