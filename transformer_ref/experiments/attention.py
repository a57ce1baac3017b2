"""What the chapter on attention does by hand, and times that ``make one-core`` takes.

The times are those of attention against an LSTM, and of fused against written out; the chapters on
sequences and attention show them.
Half a minute on one core; processor time, so that other programs on the machine count less.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from transformer_ref.attention import (
    MultiHeadAttention,
    fused_attention,
    scaled_dot_product_attention,
)
from transformer_ref.experiments.results import write_results

LENGTHS = (16, 32, 64, 128, 256, 512, 1024, 2048)
D_MODEL, HEADS = 128, 4

# The example by hand: three words with two features each, and the three matrices.
WORDS = ("cat", "sat", "it")
X = ((2.0, 0.0), (0.0, 1.0), (1.0, 1.0))
W_Q = ((0.0, 1.0), (1.0, 0.0))
W_K = ((1.0, 0.0), (1.0, -1.0))
W_V = ((1.0, 2.0), (0.0, 1.0))


def by_hand() -> dict[str, Tensor]:
    """Return each step of the example, as the drawings show them, not yet divided by the root.

    Returns:
        X, W_q, W_k, W_v; Q, K and V (3, 2); products and weights (3, 3); output (3, 2).
    """
    x, w_q, w_k, w_v = (torch.tensor(rows) for rows in (X, W_Q, W_K, W_V))
    query, key, value = x @ w_q, x @ w_k, x @ w_v
    products = query @ key.T
    weights = products.softmax(dim=-1)
    return {
        "X": x, "W_q": w_q, "W_k": w_k, "W_v": w_v, "Q": query, "K": key, "V": value,
        "products": products, "weights": weights, "output": weights @ value,
    }  # fmt: skip


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
