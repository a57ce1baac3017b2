"""What a GPU makes of the model, as shares of what it makes of one large product or one copy.

Nothing here needs CUDA but its speed; without it the cases say so and are left out.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch

from benchmarks.decoding import Job, greedy, require_complete
from benchmarks.models import describe, never_ending, random_ids, sizes
from benchmarks.rows import Asked, Row, Setting, measured, not_measured
from benchmarks.timing import repeated, seconds
from transformer_ref import Transformer, TransformerConfig
from transformer_ref.experiments.capstone import multi30k as multi30k_run
from transformer_ref.training import Trainer, TrainingConfig

CONFIGS = tuple(sizes(d_model, 6, 8000) for d_model in (512, 1024))


def median_seconds(
    function: Callable[[], object], device: torch.device, repetitions: int, loops: int = 1
) -> float:
    """Median time of a call; with `loops` so many are timed together, as GPUs queue them."""
    run = repeated(function, loops)
    run()
    return statistics.median(seconds(run, device) for _ in range(repetitions)) / loops


def matmul_rate(
    device: torch.device, repetitions: int, dtype: torch.dtype = torch.bfloat16, size: int = 8192
) -> float:
    """Floating-point operations a second of one large product of random matrices."""
    a, b = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    return 2 * size**3 / median_seconds(lambda: a @ b, device, repetitions, loops=10)


def copy_rate(device: torch.device, repetitions: int, size: int = 2**30) -> float:
    """Bytes a second of a large copy, those read and those written counted."""
    source = torch.randint(256, (size,), dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * size / median_seconds(lambda: target.copy_(source), device, repetitions, loops=10)


def forward_flops(config: TransformerConfig, batch: int, source: int, target: int) -> int:
    """Operations of all matrix products of a forward pass, a multiply-add being two.

    A causal mask spares nothing here: the squares of attention count as a whole.
    """
    d = config.d_model
    feed_forward = 4 * d * config.d_ff
    encoder = source * (8 * d**2 + feed_forward) + 4 * source**2 * d
    own = target * (8 * d**2 + feed_forward) + 4 * target**2 * d
    cross = 4 * (source + target) * d**2 + 4 * source * target * d
    output = 2 * target * d * config.tgt_vocab_size
    layers = config.num_encoder_layers * encoder + config.num_decoder_layers * (own + cross)
    return batch * (layers + output)


def bytes_a_token(model: Transformer, source: int, tokens: int) -> float:
    """The least that must be read for each token of one answer: weights, keys and values.

    The weights that project the memory are read once for all tokens, and are left out.
    """
    config = model.config
    once = ("cross_attention.k_proj", "cross_attention.v_proj")
    parameters = [model.output_proj.weight] + [
        parameter
        for name, parameter in model.decoder.named_parameters()
        if not any(part in name for part in once)
    ]
    cached = 2 * config.num_decoder_layers * config.d_model * (source + (tokens + 1) / 2)
    return sum(p.nbytes for p in parameters) + cached * parameters[0].element_size()


def training(
    setting: Setting,
    *,
    configs: Sequence[TransformerConfig] = CONFIGS,
    batch: int = 256,
    length: int = 128,
    compiled: bool = True,
    matrix: int = 8192,
) -> Iterator[Row]:
    """Time whole steps of `Trainer` in bfloat16, from lists of ids to new weights."""
    device = setting.device
    ceiling = matmul_rate(device, setting.repetitions, size=matrix)
    for config in configs:
        step = training_step(config, batch, length, device, compiled)
        time = median_seconds(step, device, setting.repetitions, 10)
        rate = 3 * forward_flops(config, batch, length, length) / time  # backward is twice as much
        yield measured(
            "gpu-training",
            device,
            f"model FLOPs of a step of Trainer, bfloat16{', compiled' if compiled else ''}: "
            f"{describe(config)}, B={batch}, T={length}",
            "one large matrix product",
            rate / ceiling,
            Asked(">=", 0.5, goal=True),
            unit="share",
            note=f"{batch * length / time:,.0f} target tokens a second",
            target_tokens_per_second=batch * length / time,
            model_flops_per_second=rate,
            matmul_flops_per_second=ceiling,
        )


def training_step(
    config: TransformerConfig, batch: int, length: int, device: torch.device, compiled: bool
) -> Callable[[], object]:
    """One more step of a run that has room for more than are timed."""
    torch.manual_seed(0)
    source, target = (
        random_ids(config, batch, size, torch.device("cpu")).tolist()
        for size in (length, length + 1)
    )
    trainer = Trainer(
        Transformer(config),
        list(zip(source, target, strict=True)),
        TrainingConfig(epochs=10_000, batch_size=batch, precision="bfloat16", compile=compiled),
        pad_id=config.pad_id,
        device=device,
    )
    return lambda: trainer.train(max_steps=trainer.step + 1, progress=False)


def decoding(
    setting: Setting,
    *,
    configs: Sequence[TransformerConfig] = CONFIGS,
    source: int = 64,
    tokens: int = 128,
    copied: int = 2**30,
) -> Iterator[Row]:
    """Time greedy decoding of one answer in bfloat16, which is bound by what must be read."""
    device = setting.device
    ceiling = copy_rate(device, setting.repetitions, copied)
    for config in configs:
        torch.manual_seed(0)
        job = Job(config, source, tokens)
        model = never_ending(config, device).to(torch.bfloat16)
        decode = greedy(model, random_ids(config, 1, source, device), tokens)
        require_complete(decode, tokens)
        time = median_seconds(decode, device, setting.repetitions) / tokens
        rate = bytes_a_token(model, source, tokens) / time
        yield measured(
            "gpu-decoding",
            device,
            f"bytes read by greedy decoding: {job.describe(1).replace('float32', 'bfloat16')}",
            "one large copy",
            rate / ceiling,
            Asked(">=", 0.6, goal=True),
            unit="share",
            note=f"{1 / time:,.0f} tokens a second",
            tokens_per_second=1 / time,
            bytes_per_second=rate,
            copy_bytes_per_second=ceiling,
        )


def multi30k(setting: Setting, *, config: str = "multi30k") -> Iterator[Row]:
    """Train on Multi30k and score test 2016, if the folder of the data is given."""
    what = "BLEU on Multi30k, German to English, test 2016, lower-cased, beam search"
    asked = Asked(">=", 37.0, goal=True)
    case, device = "gpu-multi30k", setting.device
    if setting.multi30k is None:
        why = "no folder of the data was given: --multi30k FOLDER"
        yield not_measured(case, device.type, what, "", why, asked)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.json"
        arguments = {
            "--data": setting.multi30k,
            "--config": config,
            "--run-dir": Path(folder) / "run",
            "--output": path,
            "--device": device,
        }
        if multi30k_run.main([str(part) for pair in arguments.items() for part in pair]):
            raise RuntimeError("the run on Multi30k failed; its message stands above")
        results = json.loads(path.read_text(encoding="utf-8"))
    time = results["seconds_of_training"]
    yield measured(
        case,
        device,
        what,
        "",
        results["test"]["beam"]["bleu_lowercase"]["score"],
        asked,
        unit="BLEU",
        note=f"trained in {time} seconds (goal <= 300)",
        **results,
    )
