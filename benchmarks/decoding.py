"""Decoding with the cache: against the whole prefix each time, and against Hugging Face."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.models import BOS, EOS, describe, never_ending, random_ids, sizes, with_marian
from benchmarks.rows import Asked, Row, Setting, measured
from benchmarks.timing import compare
from transformer_ref import Transformer, TransformerConfig, greedy_decode
from transformer_ref.decoding import beam_search, copy_for_decoding

BASE = sizes(512, 6, 8000)
MEMORY_PROJECTIONS = ("cross_attention.k_proj", "cross_attention.v_proj")
Decode = Callable[[], Tensor]


@dataclass(frozen=True)
class Job:
    """What is decoded: no source has padding, and no answer ends before its last token.

    Attributes:
        config: of the model.
        source: tokens of each source.
        tokens: tokens of each answer, the begin token not counted.
    """

    config: TransformerConfig = BASE
    source: int = 64
    tokens: int = 128

    def describe(self, batch: int) -> str:
        """Say the sizes in a few words."""
        return (
            f"{describe(self.config)}, B={batch}, source {self.source}, {self.tokens} tokens, "
            "float32"
        )


def greedy(model: Transformer, src: Tensor, tokens: int, use_cache: bool = True) -> Decode:
    """Ours, greedy."""
    return lambda: greedy_decode(model, src, BOS, EOS, tokens + 1, use_cache)


def beam(model: Transformer, src: Tensor, tokens: int, beam_size: int) -> Decode:
    """Ours, with a beam."""
    return lambda: beam_search(model, src, BOS, EOS, beam_size, tokens + 1)[0][:, 0]


def marian(model: Any, src: Tensor, tokens: int, beam_size: int = 1) -> Decode:
    """Hugging Face's, with its own cache; the type of its `generate` does not fit its class."""
    every_token = torch.ones_like(src)

    @torch.inference_mode()
    def decode() -> Tensor:
        ids: Tensor = model.generate(
            src,
            attention_mask=every_token,
            max_new_tokens=tokens,
            num_beams=beam_size,
            do_sample=False,
            length_penalty=0.0,
            use_cache=True,
        )
        return ids

    return decode


def require_complete(decode: Decode, tokens: int) -> Tensor:
    """Run once, to warm up, and refuse answers that ended early: they took less time."""
    ids = decode()
    if ids.shape[1] != tokens + 1 or (ids == EOS).any():
        raise RuntimeError(f"answers must have {tokens} tokens, got {tuple(ids.shape)} with an end")
    return ids


def against_prefix(
    setting: Setting, *, job: Job | None = None, batches: tuple[int, int] = (1, 32)
) -> Iterator[Row]:
    """Time greedy decoding that runs the whole prefix for each token over that with the cache."""
    torch.manual_seed(0)
    job = job or Job()
    model = never_ending(job.config, setting.device)
    # One row alone is bound by reading the weights (greedy-weights), and both sides read them all:
    # what that leaves depends on the processor's memory.
    asked: tuple[Asked | None, ...] = Asked(">=", 5.0, goal=True), Asked(">=", 20.0)
    if setting.device.type == "cuda":
        # Starting the kernels takes longer than either side's work, and both start as many.
        asked = None, None
    for batch, bound in zip(batches, asked, strict=True):
        src = random_ids(job.config, batch, job.source, setting.device)
        cached = greedy(model, src, job.tokens)
        require_complete(cached, job.tokens)
        ratio = compare(
            greedy(model, src, job.tokens, use_cache=False),
            cached,
            setting.device,
            # The whole prefix takes minutes with a large batch: warmed up by a shorter answer.
            max(2, setting.repetitions // (3 if batch == 1 else 9)),
            warm_up=[greedy(model, src, min(8, job.tokens), use_cache=False)],
        )
        yield measured(
            "greedy-prefix",
            setting.device,
            f"greedy, the whole prefix for each token: {job.describe(batch)}",
            "the same with the cache",
            ratio,
            bound,
        )


def against_weights(
    setting: Setting, *, job: Job | None = None, batches: tuple[int, ...] = (1, 32)
) -> Iterator[Row]:
    """Time greedy decoding over what no implementation can leave out.

    That is to multiply the tokens of a step with every matrix of the decoder, again for each step.
    With one row that is too little work for the processor to be anything but the wait for the
    weights from memory; with many it is the products themselves.
    """
    torch.manual_seed(0)
    job = job or Job()
    plain = never_ending(job.config, setting.device)
    for batch in batches:
        src = random_ids(job.config, batch, job.source, setting.device)
        for search, model in (
            ("greedy", plain),
            ("greedy, a copy for it", copy_for_decoding(plain)),
        ):
            cached = greedy(model, src, job.tokens)
            require_complete(cached, job.tokens)
            matrices = _matrices(model, batch)
            yield measured(
                "greedy-weights",
                setting.device,
                f"{search} with the cache: {job.describe(batch)}",
                "its matrix products alone, which read every weight once a step",
                compare(
                    cached,
                    _multiply(matrices, job.tokens),
                    setting.device,
                    max(2, setting.repetitions // (1 if batch == 1 else 3)),
                ),
                megabytes_a_step=sum(4 * linear.weight.numel() for linear, _ in matrices) / 1e6,
            )


Matrices = list[tuple[nn.Linear, Tensor]]


def _matrices(model: Transformer, batch: int) -> Matrices:
    """The matrices that each step multiplies with, and vectors for them: (B, 1, features)."""
    return [
        (linear, torch.randn(batch, 1, linear.in_features, device=linear.weight.device))
        for name, linear in [*model.decoder.named_modules(), ("output", model.output_proj)]
        # Keys and values of the memory are computed once, not for each token.
        if isinstance(linear, nn.Linear) and not name.endswith(MEMORY_PROJECTIONS)
    ]


def _multiply(matrices: Matrices, steps: int) -> Decode:
    @torch.inference_mode()
    def multiply() -> Tensor:
        for _ in range(steps):
            for linear, x in matrices:
                y = linear(x)
        return y

    return multiply


def against_marian(
    setting: Setting, *, job: Job | None = None, batches: tuple[int, ...] = (1, 32)
) -> Iterator[Row]:
    """Time greedy decoding over that of Hugging Face's Marian with the same weights."""
    torch.manual_seed(0)
    job = job or Job()
    ours, theirs = with_marian(job.config, setting.device)
    copied = copy_for_decoding(ours)
    for batch in batches:
        src = random_ids(job.config, batch, job.source, setting.device)
        peer = marian(theirs, src, job.tokens)
        sides = greedy(ours, src, job.tokens), peer
        yield _against_marian("greedy-marian", "greedy", setting, job, batch, sides)
        sides = greedy(copied, src, job.tokens), peer
        yield _against_marian("greedy-marian", "greedy, a copy for it", setting, job, batch, sides)


def beam_against_marian(
    setting: Setting, *, job: Job | None = None, batch: int = 32, beam_size: int = 4
) -> Iterator[Row]:
    """Time beam search over that of Hugging Face's Marian with the same weights."""
    torch.manual_seed(0)
    job = job or Job()
    ours, theirs = with_marian(job.config, setting.device)
    src = random_ids(job.config, batch, job.source, setting.device)
    sides = beam(ours, src, job.tokens, beam_size), marian(theirs, src, job.tokens, beam_size)
    yield _against_marian("beam-marian", f"beam of {beam_size}", setting, job, batch, sides)


def _against_marian(
    case: str, search: str, setting: Setting, job: Job, batch: int, sides: tuple[Decode, Decode]
) -> Row:
    first, second = (require_complete(decode, job.tokens) for decode in sides)
    repetitions = max(2, setting.repetitions // (1 if batch == 1 else 2))
    return measured(
        case,
        setting.device,
        f"{search} with the cache: {job.describe(batch)}",
        "Hugging Face MarianMT with the same weights and its own cache",
        compare(*sides, setting.device, repetitions, warm_up=[lambda: None]),
        Asked("<=", 1.0),
        same_tokens=(first == second).float().mean().item(),
    )
