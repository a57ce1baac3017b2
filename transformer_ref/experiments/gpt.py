"""Language models on the State of the Union, and spellers without encoder: ``make gpt``.

The chapter trains a language model for seconds. In the longer runs a larger one reads the same
text for eleven minutes, and the chapter's own is tuned to a later president, by texts of three
sizes. Then come spellers without encoder, trained by the recipe of the capstone.
About half an hour on one core.
A run that is done is kept in runs/experiments/, so that a second call goes on after it.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref.applications.g2p import MAX_LEN, Speller
from transformer_ref.data import load_addresses
from transformer_ref.embeddings import TokenEmbedding
from transformer_ref.experiments.capstone import ablations, systems
from transformer_ref.experiments.results import kept, write_results
from transformer_ref.gpt import GPT, GPTConfig, generate
from transformer_ref.masks import causal_mask
from transformer_ref.model import Transformer
from transformer_ref.tokenizers import BPETokenizer

LETTERS, PHONEMES = Speller.letters, Speller.phonemes
HELD_OUT = (1968, 1976, 1984)  # by Johnson, Ford and Reagan

SEEDS = (0, 1, 2)
SPELLERS = {"decoder-only": False, "prefix both ways": True}
KEPT_SCORES = ("seed", "parameters", "seconds", "dev", "test")
STEPS, EVERY = 5000, 250
LARGER: dict[str, Any] = {"d_model": 128, "num_layers": 3, "block": 128, "dropout": 0.1}
SAMPLES = (0.0, 0.5, 0.8, 1.0, 1.3)
PROMPT = "My fellow Americans"
SHORT_STEPS = 600  # of the chapter's model, before it is tuned
SIZES = {4_000: (50, 150), 32_000: (150, 300), 131_000: (300, 600)}
# Characters of the small text; steps to tune, and steps from nothing.


@dataclass(frozen=True)
class Corpus:
    """Addresses on the State of the Union, and the tokenizer that was trained on the large text.

    Attributes:
        text: those of 1961 to 1992 but three; the models learn from it.
        unseen: the three that were put aside.
        small: those of 1993 to 1995, to tune a model.
        to_stop: the beginning of that of 1996, which decides when to stop.
        later: those of 1999 and 2000, to judge a tuned model by.
        tokenizer: byte pairs.
        ids: the large text in tokens, (N,) int64.
    """

    text: str
    unseen: str
    small: str
    to_stop: str
    later: str
    tokenizer: BPETokenizer
    ids: Tensor


def load_corpus() -> Corpus:
    """Read the addresses and train the tokenizer, which takes seconds."""
    text = addresses_of(set(range(1961, 1993)) - set(HELD_OUT))
    tokenizer = BPETokenizer.train([text], num_merges=1024)
    return Corpus(
        text=text,
        unseen=addresses_of(HELD_OUT),
        small=addresses_of({1993, 1994, 1995}),
        to_stop=addresses_of({1996})[:20_000],
        later=addresses_of({1999, 2000}),
        tokenizer=tokenizer,
        ids=torch.tensor(tokenizer.encode(text)),
    )


def addresses_of(years: Collection[int]) -> str:
    """The addresses of some years, one paragraph a line."""
    return "\n".join(address.text for address in load_addresses() if address.year in years)


def new_gpt(
    vocab_size: int,
    d_model: int = 96,
    num_layers: int = 2,
    block: int = 64,
    dropout: float = 0.0,
    seed: int = 0,
) -> GPT:
    """The chapter's language model: four heads, and blocks of `block` tokens."""
    torch.manual_seed(seed)
    sizes: dict[str, Any] = {"num_heads": 4, "num_layers": num_layers, "d_ff": 4 * d_model}
    return GPT(GPTConfig(vocab_size, d_model, max_len=block, dropout=dropout, **sizes))


def learn(
    model: GPT, ids: Tensor, steps: int, peak: float = 0.004, rows: int = 8, seed: int = 0
) -> Iterator[float]:
    """Train on random pieces of a text (N,); yield the loss of each step."""
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=0.1)
    block, generator = model.config.max_len, torch.Generator().manual_seed(seed)
    for step in range(steps):
        for group in optimizer.param_groups:  # up for 50 steps, then down to zero
            group["lr"] = peak * min((step + 1) / 50, 1 - step / steps)
        starts = torch.randint(len(ids) - block, (rows, 1), generator=generator)
        piece = ids[starts + torch.arange(block + 1)]
        logits = model.train()(piece[:, :-1])
        loss = F.cross_entropy(logits.transpose(1, 2), piece[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        yield loss.item()


@torch.inference_mode()
def bits_per_character(model: GPT, tokenizer: BPETokenizer, text: str) -> float:
    """What a text costs; each token has half a block before it at least."""
    ids = torch.tensor(tokenizer.encode("\n" + text))
    half = model.config.max_len // 2
    windows = ids.unfold(0, 2 * half + 1, half)
    nats = [
        F.cross_entropy(model.eval()(part[:, :-1]).transpose(1, 2), part[:, 1:], reduction="none")
        for part in windows.split(64)
    ]
    counted = torch.ones(len(windows), 2 * half, dtype=torch.bool)
    counted[1:, :half] = False  # paid for in the window before
    characters = len(tokenizer.decode(windows[:, 1:][counted].tolist()))
    return torch.cat(nats)[counted].sum().item() / math.log(2) / characters


def go_on(
    model: GPT,
    tokenizer: BPETokenizer,
    start: str,
    tokens: int,
    temperature: float,
    generator: torch.Generator,
) -> str:
    """Let the model write some tokens more, after the start of a paragraph."""
    prompt = torch.tensor([tokenizer.encode("\n" + start)])
    written = generate(model, prompt, tokens, temperature=temperature, generator=generator)
    return tokenizer.decode(written[0].tolist()).strip()


def tune(
    model: GPT,
    corpus: Corpus,
    small: str,
    steps: int,
    peak: float,
    seed: int = 0,
    rows: int = 8,
    every: int = 20,
) -> GPT:
    """Train on a small text, and go back to the weights that were best on a text like it."""

    def price() -> float:
        return bits_per_character(model, corpus.tokenizer, corpus.to_stop)

    best, weights = price(), copy.deepcopy(model.state_dict())
    small_ids = torch.tensor(corpus.tokenizer.encode(small))
    for step, _ in enumerate(learn(model, small_ids, steps, peak, rows, seed), start=1):
        if step % every == 0 and (bits := price()) < best:
            best, weights = bits, copy.deepcopy(model.state_dict())
    model.load_state_dict(weights)
    return model


class DecoderOnly(nn.Module):
    """A speller without encoder: it reads the letters, and goes on with the phonemes.

    From outside it looks like an encoder-decoder, so that any training loop can train it.
    Its width is such that it has as many parameters as the capstone's small speller.

    Args:
        both_ways: whether letters see the letters behind them.
        seed: of its first weights.
    """

    def __init__(self, both_ways: bool = False, seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.both_ways = both_ways
        self.gpt = GPT(
            GPTConfig(
                vocab_size=len(PHONEMES) + len(LETTERS),
                d_model=64,
                num_heads=4,
                num_layers=4,
                d_ff=318,
                max_len=2 * MAX_LEN,
                dropout=0.0,
                positions="sinusoidal",
                activation="relu",
                tie_weights=False,
            )
        )
        # As in the encoder-decoder, where positions and embeddings are of like size.
        self.gpt.embedding = TokenEmbedding(len(PHONEMES) + len(LETTERS), 64, pad_id=None)

    def join(self, src: Tensor, tgt_in: Tensor) -> tuple[Tensor, Tensor]:
        """One row: letters, then what was said so far, then padding; and where that stands."""
        is_letter = src != LETTERS.pad_id
        letters = (src + len(PHONEMES)) * is_letter  # ids behind those of the phonemes
        places = is_letter.sum(dim=1, keepdim=True) + torch.arange(tgt_in.shape[1])
        ids = F.pad(letters, (0, tgt_in.shape[1]))
        return ids.scatter(1, places, tgt_in), places

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Score the phonemes: src (B, S) and tgt_in (B, T) to logits (B, T, V)."""
        ids, places = self.join(src, tgt_in)
        logits = self.score(ids, places[:, :1]) if self.both_ways else self.gpt(ids)
        logits = logits.gather(1, places[:, :, None].expand(-1, -1, logits.shape[-1]))
        return logits[:, :, : len(PHONEMES)]

    def score(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """What GPT computes, but that all may see all letters."""
        place = torch.arange(ids.shape[1])
        mask = causal_mask(len(place)) | (place < lengths)[:, None, None]
        x = self.gpt.positions(self.gpt.embedding(ids))
        for layer in self.gpt.layers:
            x = layer(x, mask)
        logits: Tensor = self.gpt.output_proj(self.gpt.norm(x))
        return logits


def letters_felt(speller: DecoderOnly, src: Tensor, tgt_in: Tensor, place: int) -> list[int]:
    """Which places of the joined row of src (1, S) and tgt_in (1, T) one place feels at the top."""
    seen: dict[str, Tensor] = {}

    def read_from_here(module: nn.Module, args: Any, x: Tensor) -> Tensor:
        seen["x"] = x.detach().requires_grad_()
        return seen["x"]

    def note_the_top(module: nn.Module, args: Any, x: Tensor) -> None:
        seen["top"] = x

    handles = [
        speller.gpt.embedding.register_forward_hook(read_from_here),
        speller.gpt.layers[-1].register_forward_hook(note_the_top),
    ]
    speller(src, tgt_in)
    for handle in handles:
        handle.remove()
    (gradient,) = torch.autograd.grad(seen["top"][0, place].sum(), seen["x"])
    return [i for i, size in enumerate(gradient[0].norm(dim=-1)) if size > 0]


def letter_states(speller: DecoderOnly, word: str) -> Tensor:
    """What the last layer keeps of each letter: (letters, D)."""
    kept_states: list[Tensor] = []
    handle = speller.gpt.layers[-1].register_forward_hook(
        lambda module, args, x: kept_states.append(x)
    )
    with torch.inference_mode():
        speller.eval()(torch.tensor([LETTERS.encode(word)]), torch.tensor([[PHONEMES.bos_id]]))
    handle.remove()
    return kept_states[0][0, : len(word)]


class Squeezed(Transformer):
    """Hands the decoder one vector, whatever the length of the word.

    Args:
        model: whose weights it has.
        way: "mean" of the memory, or "last" of its vectors.
    """

    def __init__(self, model: Transformer, way: Literal["mean", "last"]) -> None:
        super().__init__(model.config)
        self.load_state_dict(model.state_dict())
        self.way = way
        self.eval()

    def encode(self, src: Tensor, src_mask: Tensor | None = None, **options: Any) -> Tensor:
        """Read (B, S) ids: a memory (B, S, D) whose vectors are all the same in a row."""
        memory = super().encode(src, src_mask, **options)
        real = (src != self.config.pad_id)[:, :, None]
        if self.way == "mean":
            one = (memory * real).sum(dim=1) / real.sum(dim=1)
        else:
            one = memory[torch.arange(len(src)), real.sum(dim=1)[:, 0] - 1]
        return one[:, None].expand_as(memory)


def long_run(corpus: Corpus, steps: int = STEPS, every: int = EVERY) -> dict[str, Any]:
    """Train the larger model; its costs in bits per character on the way, and what it writes."""
    start = time.process_time()
    tokenizer = corpus.tokenizer
    model = new_gpt(len(tokenizer), **LARGER)
    texts = {"unseen": corpus.unseen, "known": corpus.text[:40_000]}
    curve: list[dict[str, float]] = []
    losses: list[float] = []
    for step, loss in enumerate(learn(model, corpus.ids, steps, peak=0.003), start=1):
        losses.append(loss)
        if step % every == 0:
            row = {name: bits_per_character(model, tokenizer, t) for name, t in texts.items()}
            row["loss"] = sum(losses[-every:]) / every
            curve.append({"step": step, **{name: round(x, 4) for name, x in row.items()}})
            print(curve[-1], round(time.process_time() - start), "s", flush=True)
    return {
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "curve": curve,
        "samples": samples(model, tokenizer),
        "seconds": round(time.process_time() - start),
    }


def samples(model: GPT, tokenizer: BPETokenizer) -> list[dict[str, Any]]:
    """What the model writes after the prompt, at several temperatures."""
    generator = torch.Generator().manual_seed(0)
    return [
        {"temperature": t, "text": go_on(model, tokenizer, PROMPT, 100, t, generator)}
        for t in SAMPLES
    ]


def tuning_run(
    seed: int,
    corpus: Corpus,
    sizes: Mapping[int, tuple[int, int]] = SIZES,
    steps: int = SHORT_STEPS,
) -> dict[str, Any]:
    """Train on small texts of another president, from scratch and from the chapter's model."""
    vocab_size = len(corpus.tokenizer)
    pretrained = new_gpt(vocab_size, seed=seed)
    for _ in learn(pretrained, corpus.ids, steps, seed=seed):
        pass

    def price(model: GPT) -> float:
        return round(bits_per_character(model, corpus.tokenizer, corpus.later), 4)

    result: dict[str, Any] = {"seed": seed, "untuned": price(pretrained)}
    for size, (steps_tuned, steps_alone) in sizes.items():
        tuned, alone = copy.deepcopy(pretrained), new_gpt(vocab_size, seed=seed + 100)
        small = corpus.small[:size]
        tune(tuned, corpus, small, steps_tuned, peak=0.0006, seed=seed, every=25)
        tune(alone, corpus, small, steps_alone, peak=0.004, seed=seed, every=50)
        result[str(size)] = {"tuned": price(tuned), "alone": price(alone)}
        print(seed, size, result[str(size)], flush=True)
    return result


def speller_run(both_ways: bool, seed: int, limit: int | None = None) -> dict[str, Any]:
    """Train and score a speller without encoder, as the capstone does with its models."""
    model = DecoderOnly(both_ways, seed)
    return {"seed": seed, **ablations.measure(model, replace(systems.RECIPE, seed=seed), limit)}


def all_runs() -> Iterator[tuple[str, Any]]:
    """Everything that is trained, now or before: its part of the results, and what came out."""
    corpus = load_corpus()
    yield "long", kept("gpt long", [__file__], partial(long_run, corpus))
    for seed in SEEDS:
        yield "tuning", kept(f"gpt tuning {seed}", [__file__], partial(tuning_run, seed, corpus))
    code = (__file__, ablations.__file__, systems.__file__)
    for name, both_ways in SPELLERS.items():
        for seed in SEEDS:
            yield name, kept(f"gpt {name} {seed}", code, partial(speller_run, both_ways, seed))


def main() -> None:
    """Train all, print how they do, and write the results."""
    torch.set_num_threads(1)
    found: dict[str, list[Any]] = {}
    for part, result in all_runs():
        found.setdefault(part, []).append(result)
        print("done:", part, len(found[part]), flush=True)
    scores = {
        name: [{key: run[key] for key in KEPT_SCORES} for run in found[name]] for name in SPELLERS
    }
    results = {"prompt": PROMPT, "long": found["long"][0], "tuning": found["tuning"]}
    write_results("gpt", {**results, "spellers": scores})


if __name__ == "__main__":
    main()
