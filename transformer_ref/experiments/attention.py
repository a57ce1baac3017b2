"""Time attention against an LSTM, and fused against written out: ``make one-core``.

The chapters on sequences and attention show these times.
Half a minute on one core; processor time, so that other programs on the machine count less.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import torch
from torch import nn

from transformer_ref.attention import (
    MultiHeadAttention,
    fused_attention,
    scaled_dot_product_attention,
)
from transformer_ref.experiments.results import write_results

LENGTHS = (16, 32, 64, 128, 256, 512, 1024, 2048)
D_MODEL, HEADS = 128, 4


def ways(length: int) -> dict[str, Callable[[], object]]:
    """What is timed: two layers on one sequence, and two ways through the heads of one."""
    torch.manual_seed(0)
    x = torch.randn(1, length, D_MODEL)
    lstm = nn.LSTM(D_MODEL, D_MODEL, batch_first=True)
    attention = MultiHeadAttention(D_MODEL, HEADS)
    heads = [torch.randn(1, HEADS, length, D_MODEL // HEADS) for _ in range(3)]
    return {
        "LSTM": lambda: lstm(x),
        "attention": lambda: attention(x, x, x),
        "written out": lambda: scaled_dot_product_attention(*heads),
        "fused": lambda: fused_attention(*heads),
    }


def milliseconds(lengths: Sequence[int] = LENGTHS, repeats: int = 7) -> dict[str, list[float]]:
    """Time each way at each length, forward only; the least of `repeats` runs after one more."""
    timed: dict[str, list[float]] = {}
    with torch.inference_mode():
        for length in lengths:
            for name, function in ways(length).items():
                function()
                runs = []
                for _ in range(repeats):
                    start = time.thread_time()
                    function()
                    runs.append(time.thread_time() - start)
                timed.setdefault(name, []).append(round(1000 * min(runs), 4))
    return timed


def main() -> None:
    """Time all ways and write the results."""
    torch.set_num_threads(1)
    timed = milliseconds()
    for name, times in timed.items():
        print(f"{name:12}", *(f"{value:9.3f}" for value in times))
    write_results("one_core", {"lengths": list(LENGTHS), "milliseconds": timed})


if __name__ == "__main__":
    main()
