"""Finding what followed, with one layer and with several; for longer: ``make depth``.

The chapter trains models of one, two and three layers for seconds, on a task of two steps.
The longer runs have more seeds, more time and width for the single layer, and a task that takes a
step more. About six minutes on one core.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref.experiments.results import write_results
from transformer_ref.gpt import GPT, GPTConfig

SYMBOLS, LENGTH = 12, 24
NOT_ASKED = -100  # what cross_entropy leaves out

TEN_SEEDS, THREE_SEEDS = range(10), range(3)
LAYERS, LAYERS_FOR_TWO = (1, 2, 3), (1, 2, 3, 4)
WIDTHS, STEPS = (48, 96), (120, 500, 2000, 8000)
STEPS_FOR_TWO, STEPS_ALONE = 600, 1500
BATCH, PEAK, WARM_UP = 64, 0.006, 20


def recall_batch(count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Draw sequences in which each symbol comes twice; what followed the first time is asked.

    Args:
        count: B, how many.

    Returns:
        The ids, the labels (NOT_ASKED where a symbol comes for the first time), and the place
        where the answer stands: int64, (B, LENGTH) each.
    """
    in_order = torch.arange(LENGTH).expand(count, -1) % SYMBOLS
    ids = in_order.gather(1, torch.rand(count, LENGTH).argsort(dim=1))
    same = ids[:, :, None] == ids[:, None, :]
    earlier = same & torch.ones(LENGTH, LENGTH).tril(-1).bool()
    answer_at = earlier.int().argmax(dim=-1) + 1  # one after the first time
    is_asked = earlier.any(dim=-1)
    labels = ids.gather(1, answer_at).masked_fill(~is_asked, NOT_ASKED)
    return ids, labels, answer_at


def second_step(labels: Tensor, answer_at: Tensor) -> Tensor:
    """Labels for twice the step: the label at the place of the first answer, (B, LENGTH)."""
    at_the_answer = labels.gather(1, answer_at)
    return at_the_answer.masked_fill(labels == NOT_ASKED, NOT_ASKED)


def share_right(logits: Tensor, labels: Tensor) -> float:
    """The share of what is asked that is right: logits (B, T, V) against labels (B, T)."""
    asked = labels != NOT_ASKED
    return (logits.argmax(dim=-1) == labels)[asked].float().mean().item()


def new_reader(num_layers: int, d_model: int = 48, outputs: int = SYMBOLS) -> GPT:
    """A small GPT of one head a layer; larger first embeddings shorten the waiting."""
    sizes: dict[str, Any] = {"d_model": d_model, "d_ff": d_model, "max_len": LENGTH, "num_heads": 1}
    config = GPTConfig(outputs, num_layers=num_layers, dropout=0.0, tie_weights=False, **sizes)
    model = GPT(config)
    for table in (model.embedding, model.positions):
        assert isinstance(table.weight, Tensor)
        nn.init.normal_(table.weight, std=0.5)
    return model


def train_reader(
    num_layers: int, seed: int, d_model: int = 48, steps: int = 120
) -> tuple[GPT, Tensor]:
    """Train on new sequences at every step.

    Returns:
        The model, and the share that was right, a mean over every ten steps.
    """
    torch.manual_seed(seed)
    model, shares = new_reader(num_layers, d_model), []
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98))
    for step in range(1, steps + 1):
        optimizer.param_groups[0]["lr"] = PEAK * min(1, step / WARM_UP)
        ids, labels, _ = recall_batch(BATCH)
        logits = model(ids)
        loss = F.cross_entropy(logits.transpose(1, 2), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        shares.append(share_right(logits, labels))
    return model, torch.tensor(shares).view(-1, 10).mean(dim=1)


def seeds_run(layers: int, seeds: Sequence[int] = TEN_SEEDS) -> dict[str, Any]:
    """Train as the chapter does, with more seeds; what is right over the last ten steps."""
    right = [round(train_reader(layers, seed)[1][-1].item(), 4) for seed in seeds]
    return {"layers": layers, "right": right}


def width_run(d_model: int, steps: Sequence[int] = STEPS) -> dict[str, Any]:
    """Train a single layer of some width for longer; what is right after each of `steps`."""
    _, shares = train_reader(1, 0, d_model, max(steps))
    return {"d_model": d_model, "right": [round(shares[n // 10 - 1].item(), 4) for n in steps]}


def two_step_run(layers: int, seed: int, steps: int, first_too: bool = True) -> list[float]:
    """Train on the second step, beside the first or alone; what is right of each at the end."""
    torch.manual_seed(seed)
    model = new_reader(layers, outputs=2 * SYMBOLS)
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98))
    tail: list[list[float]] = []
    for step in range(1, steps + 1):
        fall = 2 * (1 - step / (steps + 1))
        optimizer.param_groups[0]["lr"] = PEAK * min(1.0, step / WARM_UP, fall)
        ids, labels, answer_at = recall_batch(BATCH)
        wanted = [labels, second_step(labels, answer_at)]
        logits = model(ids).split(SYMBOLS, dim=-1)
        pairs = list(zip(logits, wanted, strict=True))[0 if first_too else 1 :]
        losses = [F.cross_entropy(part.transpose(1, 2), asked) for part, asked in pairs]
        optimizer.zero_grad()
        torch.stack(losses).sum().backward()
        optimizer.step()
        if step > steps - 10:
            tail.append([share_right(part, asked) for part, asked in pairs])
    return [round(sum(column) / len(column), 4) for column in zip(*tail, strict=True)]


def all_runs() -> Iterator[tuple[str, Any]]:
    """Train all: the name of a part of the results, and what came out of one run."""
    for layers in LAYERS:
        yield "seeds", seeds_run(layers)
    for layers in LAYERS_FOR_TWO:
        right = [two_step_run(layers, seed, STEPS_FOR_TWO) for seed in THREE_SEEDS]
        yield "steps_by_layers", {"layers": layers, "right": right}
    alone = [two_step_run(3, seed, STEPS_ALONE, first_too=False) for seed in THREE_SEEDS]
    yield "second_step_alone", {"layers": 3, "right": [share for (share,) in alone]}
    for d_model in WIDTHS:
        yield "widths", width_run(d_model)


def main() -> None:
    """Train all, print how far each gets, and write the results."""
    torch.set_num_threads(1)
    results: dict[str, Any] = {"steps": list(STEPS)}
    for part, result in all_runs():
        print(part, result, flush=True)
        if part == "second_step_alone":
            results[part] = result
        else:
            results.setdefault(part, []).append(result)
    write_results("depth", results)


if __name__ == "__main__":
    main()
