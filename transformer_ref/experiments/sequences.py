"""Copying strings through one vector, or with a look back; for longer: ``make sequences``.

The chapter trains each model for seconds. The longer runs give them more time, longer strings and
larger vectors, to see what that helps. About five minutes on one core.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref.experiments.results import write_results

LETTERS = 26  # a to z; the id 26 is the begin token

LENGTHS = (1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32)
STEPS = (500, 1000, 2000, 4000, 8000)

Model = TypeVar("Model", bound=nn.Module)


class Seq2Seq(nn.Module):
    """Two LSTMs: the second gets the last state of the first, and may look back at all of them.

    Args:
        size: features of the states.
        attend: whether the decoder looks back.

    Source: Sutskever et al. 2014; with `attend` Bahdanau et al. 2015.
    """

    weights: Tensor  # (B, T, S), of the last call with `attend`

    def __init__(self, size: int, attend: bool) -> None:
        super().__init__()
        self.attend = attend
        self.embedding = nn.Embedding(LETTERS + 1, 32)
        self.encoder = nn.LSTM(32, size, batch_first=True)
        self.decoder = nn.LSTM(32, size, batch_first=True)
        self.query = nn.Linear(size, size)
        self.output = nn.Linear(2 * size, LETTERS)

    def forward(self, source: Tensor, decoder_input: Tensor) -> Tensor:
        """Score the letters: source (B, S) and decoder_input (B, T) to logits (B, T, 26)."""
        states, last = self.encoder(self.embedding(source))
        hidden, _ = self.decoder(self.embedding(decoder_input), last)
        if self.attend:
            scores = self.query(hidden) @ states.transpose(1, 2)
            self.weights = scores.softmax(dim=-1)
            context = self.weights @ states
        else:
            context = states[:, -1:].expand_as(hidden)  # the same for every letter
        logits: Tensor = self.output(torch.cat([hidden, context], dim=-1))
        return logits


def strings(
    count: int, length: int, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    """Draw strings, and what the decoder reads of them: a begin token, then all but the last."""
    source = torch.randint(LETTERS, (count, length), generator=generator)
    begin = torch.full((count, 1), LETTERS)
    return source, torch.cat([begin, source[:, :-1]], dim=1)


def train_to_copy(model: Model, longest: int) -> Iterator[Model]:
    """Train without end, on strings of 1 to `longest` letters; yield the model after each step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    while True:
        length = int(torch.randint(1, longest + 1, ()))  # all lengths equally often
        source, decoder_input = strings(64, length)
        logits = model(source, decoder_input)
        loss = F.cross_entropy(logits.flatten(0, 1), source.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        yield model


@torch.no_grad()
def share_right(model: nn.Module, length: int) -> Tensor:
    """Let a model copy 500 strings: the share that is right of each place, (length,)."""
    source, decoder_input = strings(500, length, torch.Generator().manual_seed(1))
    said = model(source, decoder_input).argmax(dim=-1)
    return (said == source).float().mean(dim=0)


@dataclass(frozen=True)
class Plan:
    """One model to train: the size of its vectors, and whether its decoder may look back."""

    size: int
    attend: bool


PLANS = (Plan(32, False), Plan(64, False), Plan(128, False), Plan(32, True))


def run(
    plan: Plan, steps: Sequence[int] = STEPS, lengths: Sequence[int] = LENGTHS
) -> dict[str, Any]:
    """Train one model; return the share of right letters after each of `steps`, by length."""
    start = time.process_time()
    torch.manual_seed(0)
    training = train_to_copy(Seq2Seq(plan.size, plan.attend), max(lengths))
    right = []
    for step, model in enumerate(training, start=1):
        if step in steps:
            shares = [share_right(model, length).mean().item() for length in lengths]
            right.append([round(share, 4) for share in shares])
        if step == max(steps):
            break
    seconds = round(time.process_time() - start)
    return {**asdict(plan), "right": right, "seconds": seconds}


def main() -> None:
    """Train all, print how far each one gets, and write the results."""
    torch.set_num_threads(1)
    runs = []
    for plan in PLANS:
        runs.append(run(plan))
        print(plan, runs[-1]["seconds"], "s", *runs[-1]["right"][-1], flush=True)
    write_results("sequences", {"lengths": list(LENGTHS), "steps": list(STEPS), "runs": runs})


if __name__ == "__main__":
    main()
