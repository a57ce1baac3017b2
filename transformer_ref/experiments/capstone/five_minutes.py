"""Train a small speller for five minutes on one core, the course's number to beat.

``make five-minutes`` runs it and stores how many words it says right.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from transformer_ref.applications.g2p import MODEL_CONFIG
from transformer_ref.experiments.capstone.ablations import measure
from transformer_ref.experiments.results import write_results
from transformer_ref.model import Transformer
from transformer_ref.training import TrainingConfig

MODEL = replace(
    MODEL_CONFIG,
    d_model=64,
    d_ff=256,
    num_encoder_layers=2,
    num_decoder_layers=2,
    dropout=0.0,  # in five minutes no word is seen often enough to be learned by heart
)
RECIPE = TrainingConfig(
    epochs=6, batch_size=64, learning_rate=3e-3, warmup=100, decay_fraction=0.7, seed=0
)


def run(limit: int | None = None) -> dict[str, Any]:
    """Train the model and score it.

    Args:
        limit: use only so many words of each split, to try things out.

    Returns:
        Seconds of processor time for training and for saying dev and test, and PER and WER of dev
        and test as fractions.
    """
    torch.set_num_threads(1)
    torch.manual_seed(RECIPE.seed)
    found = measure(Transformer(MODEL), RECIPE, limit)
    return {name: found[name] for name in ("seconds", "dev", "test")}


def main() -> None:
    """Run it and store the results."""
    write_results("five_minutes", run())


if __name__ == "__main__":
    main()
