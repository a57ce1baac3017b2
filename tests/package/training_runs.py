"""Small training runs that the tests of one process and of several share."""

from __future__ import annotations

from pathlib import Path

import torch

from transformer_ref import Transformer, TransformerConfig
from transformer_ref.training import Trainer, TrainingConfig

TINY = TransformerConfig(
    src_vocab_size=12,
    tgt_vocab_size=13,
    d_model=16,
    num_heads=2,
    num_encoder_layers=1,
    num_decoder_layers=1,
    d_ff=32,
    dropout=0.1,
    max_len=16,
    norm="pre",
)
RUN = TrainingConfig(epochs=4, batch_size=8, learning_rate=1e-2, warmup=5, save_every=3)


def reversal_examples(count: int = 50, seed: int = 0) -> list[tuple[list[int], list[int]]]:
    """Source ids and the same reversed, with begin token 1 and end token 2."""
    generator = torch.Generator().manual_seed(seed)
    examples = []
    for _ in range(count):
        length = int(torch.randint(1, 7, (), generator=generator))
        ids = torch.randint(3, 12, (length,), generator=generator).tolist()
        examples.append((ids, [1, *reversed(ids), 2]))
    return examples


def new_trainer(
    run_dir: str | Path | None = None,
    config: TrainingConfig = RUN,
    device: str | torch.device = "cpu",
    model: TransformerConfig = TINY,
    dtype: torch.dtype = torch.float32,
    init_seed: int = 0,
) -> Trainer:
    """A trainer of a tiny model, the same at every call."""
    torch.manual_seed(init_seed)
    return Trainer(
        Transformer(model).to(dtype),
        reversal_examples(),
        config,
        run_dir=run_dir,
        device=torch.device(device),
    )
