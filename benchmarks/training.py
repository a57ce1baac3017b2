"""Training steps: against torch's own Transformer, bfloat16 against float32, and threads."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.models import describe, random_ids, sizes
from benchmarks.peers.pytorch import TorchTransformer, copy_weights
from benchmarks.rows import Asked, Row, Setting, measured, not_measured
from benchmarks.timing import compare
from transformer_ref import Transformer
from transformer_ref.applications.settings import read_settings
from transformer_ref.applications.toys import reversal_pairs
from transformer_ref.applications.translation import Translator, train_tokenizers
from transformer_ref.device import has_bfloat16
from transformer_ref.training import Trainer

Batch = tuple[Tensor, Tensor, Tensor]


def training_step(
    model: nn.Module, batch: Batch, precision: torch.dtype = torch.float32
) -> Callable[[], None]:
    """Forward and backward of a teacher-forced batch."""
    src, tgt_in, labels = batch

    def step() -> None:
        model.zero_grad(set_to_none=True)
        with torch.autocast(src.device.type, precision, enabled=precision != torch.float32):
            logits = model(src, tgt_in)
        F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten()).backward()

    return step


def against_torch(
    setting: Setting,
    *,
    d_model: int = 512,
    num_layers: int = 6,
    vocab_size: int = 8000,
    tokens: int = 1024,
    lengths: Sequence[int] = (64, 512, 2048),
) -> Iterator[Row]:
    """Time forward and backward of `Transformer` over those of torch's, with the same weights.

    Longer targets show the causal kernel, which ours takes where padding stands on the right;
    torch's takes the masks as they are.
    """
    for length in lengths:
        batch = max(1, tokens // length)
        yield _against_torch(setting, d_model, num_layers, vocab_size, batch, length)


def _against_torch(
    setting: Setting, d_model: int, num_layers: int, vocab_size: int, batch: int, length: int
) -> Row:
    torch.manual_seed(0)
    device = setting.device
    config = sizes(d_model, num_layers, vocab_size, max_len=max(512, length))
    ours, theirs = Transformer(config).to(device), TorchTransformer(config).to(device)
    copy_weights(ours, theirs)
    src, tgt_in, labels = (random_ids(config, batch, length, device) for _ in range(3))
    src[0, length // 2 :] = tgt_in[0, length // 2 :] = config.pad_id
    with torch.no_grad():
        real = tgt_in != config.pad_id
        pair = (model(src, tgt_in)[real] for model in (ours, theirs))
        torch.testing.assert_close(*pair, rtol=1e-3, atol=1e-3)
    our_step, their_step = (
        training_step(model.train(), (src, tgt_in, labels)) for model in (ours, theirs)
    )
    return measured(
        "training",
        device,
        f"training step: {describe(config)}, B={batch}, T={length}, no dropout, float32",
        "torch.nn.Transformer with the same embeddings and projection",
        compare(our_step, their_step, device, max(4, 2 * setting.repetitions * 64 // length)),
        Asked("<=", 0.97),
    )


def bfloat16(
    setting: Setting,
    *,
    d_model: int = 512,
    num_layers: int = 6,
    vocab_size: int = 8000,
    batch: int = 16,
    length: int = 64,
) -> list[Row]:
    """Time a training step in float32 over one in bfloat16."""
    device, config = setting.device, sizes(d_model, num_layers, vocab_size)
    what = f"training step in float32: {describe(config)}, B={batch}, T={length}, no dropout"
    against = "the same step under autocast to bfloat16"
    asked = Asked(">=", 2.0)
    supported = has_bfloat16(device)
    if not supported and not setting.slow_bfloat16:
        why = "the processor has no bfloat16 instructions (AVX512-BF16 or AMX)"
        return [not_measured("bfloat16", device.type, what, against, why, asked)]
    torch.manual_seed(0)
    model = Transformer(config).to(device).train()
    data = tuple(random_ids(config, batch, length, device) for _ in range(3))
    single, half = (training_step(model, data, dtype) for dtype in (torch.float32, torch.bfloat16))
    ratio = compare(single, half, device, setting.repetitions)
    if supported:
        return [measured("bfloat16", device, what, against, ratio, asked)]
    note = "without bfloat16 instructions, where nothing is asked"
    return [measured("bfloat16", device, what, against, ratio, note=note)]


def threads(setting: Setting, *, steps: int = 20) -> list[Row]:
    """Time steps of a small model on one thread over those on a thread for each core.

    By the clock on the wall: processor time would add up over the threads. So the machine must
    have a core to spare beside this process; where it has not, threads that wait for each other
    take minutes for these steps.
    """
    cores, device, load = os.cpu_count() or 1, setting.device, os.getloadavg()[0]
    what = f"{steps} training steps of the config `reversal` on one thread"
    against, asked = f"the same on {cores} threads", Asked("<=", 1.1, goal=True)
    if cores == 1 or load > cores - 0.5:
        why = f"{cores} cores, of which {load:.1f} are busy"
        return [not_measured("threads", device.type, what, against, why, asked)]
    settings, before = read_settings("reversal"), torch.get_num_threads()
    pairs = reversal_pairs("train", steps * settings.training.batch_size)
    source, target = train_tokenizers(pairs, "char")

    def on(number: int) -> Callable[[], None]:
        torch.manual_seed(0)
        model = Transformer(
            replace(settings.model, src_vocab_size=len(source), tgt_vocab_size=len(target))
        )
        examples = Translator(model, source, target, device).examples(pairs)
        training = replace(settings.training, epochs=1000)
        trainer = Trainer(model, examples, training, device=device)

        def run() -> None:
            torch.set_num_threads(number)
            trainer.train(max_steps=trainer.step + steps, progress=False)

        return run

    try:
        ratio = compare(on(1), on(cores), device, setting.repetitions, clock=time.perf_counter)
    finally:
        torch.set_num_threads(before)
    return [
        measured(
            "threads",
            device,
            what,
            against,
            ratio,
            asked,
            load_average=load,
        )
    ]
