"""What the page "The Transformer today" does by hand, counts and guesses with.

Its examples by hand, what published models take in memory and time, its speculative decoding with
two cheap drafts, and the comparison of its trained models.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os.path import commonprefix
from statistics import mean, stdev
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from transformer_ref.applications.g2p import Speller

Entry = tuple[str, list[list[str]]]
# From a word and the ids so far, the ids that may come next.
Draft = Callable[[str, Sequence[int]], list[int]]

# A query and a key, which the places of their tokens turn: this many radians for each place, as
# in pair 1 of a head with 8 features.
QUERY, KEY, OMEGA = (2.0, 1.0), (2.0, 0.0), 0.1
PLACES = ((0, 0), (5, 1), (15, 11))

# A token and the three matrices of a feed-forward network with a gate.
TOKEN = (2.0, 1.0)
W_GATE = ((1.0, 1.0, -1.0), (0.0, -2.0, 0.0))
W_UP = ((0.0, 1.0, 1.0), (1.0, 1.0, 0.0))
W_DOWN = ((1.0, 0.0), (1.0, 1.0), (0.0, 1.0))

# What the large model and the draft give to three words.
NEXT_WORDS = ("cat", "dog", "hat")
MODEL, DRAFT = (0.6, 0.3, 0.1), (0.3, 0.6, 0.1)

# A router of four experts, and what two of them answer.
W_ROUTER = ((0.0, 1.0, -1.0, 1.0), (1.0, 1.0, 2.0, 0.0))
ANSWERS = {1: (2.0, 1.0), 3: (1.0, 4.0)}

# The nearest word of "knighted" in the training list, and how "knighted" is said with it as the
# draft: guessed, and what the model says.
KNIGHTEN = ("N", "AY", "T", "AH", "N")
KNIGHTED = (
    (("N", "AY", "T"), ("N", "AY", "T", "IH")),
    (("N",), ("D",)),
    ((), ("<eos>",)),
)


def rotary_by_hand() -> list[dict[str, Tensor]]:
    """Turn the query and the key by the places in PLACES.

    Returns:
        For each pair of places: query (2,), key (2,) and their product, a scalar.
    """
    steps = []
    for of_query, of_key in PLACES:
        query, key = (
            _turned(vector, place * OMEGA) for vector, place in ((QUERY, of_query), (KEY, of_key))
        )
        steps.append({"query": query, "key": key, "product": query @ key})
    return steps


def _turned(vector: Sequence[float], angle: float) -> Tensor:
    """Turn a vector (2,) by an angle in radians."""
    sine, cosine = torch.tensor(angle).sin(), torch.tensor(angle).cos()
    a, b = vector
    return torch.stack([a * cosine - b * sine, a * sine + b * cosine])


def gate_by_hand() -> dict[str, Tensor]:
    """Send one token through the network with a gate.

    Returns:
        x (2,), gate, open, up, product (3,) and output (2,).
    """
    x, w_gate, w_up, w_down = (torch.tensor(rows) for rows in (TOKEN, W_GATE, W_UP, W_DOWN))
    gate, up = x @ w_gate, x @ w_up
    product = F.silu(gate) * up
    return {
        "x": x, "gate": gate, "open": F.silu(gate), "up": up,
        "product": product, "output": product @ w_down,
    }  # fmt: skip


def acceptance_by_hand() -> dict[str, Tensor]:
    """Split the probabilities of the model into what the draft already draws, and the rest.

    Returns:
        draft, model, kept and rest (3,), a number for each word.
    """
    draft, model = torch.tensor(DRAFT), torch.tensor(MODEL)
    kept = torch.minimum(draft, model)
    return {"draft": draft, "model": model, "kept": kept, "rest": model - kept}


def router_by_hand() -> dict[str, Tensor]:
    """Choose two of four experts for one token.

    Returns:
        x (2,), scores (4,), chosen (2,), the better one first, weights (2,) and output (2,).
    """
    x, w_router = torch.tensor(TOKEN), torch.tensor(W_ROUTER)
    scores = x @ w_router
    best, chosen = scores.topk(2)
    weights = best.softmax(dim=-1)
    answers = torch.tensor([ANSWERS[int(expert)] for expert in chosen])
    return {
        "x": x, "scores": scores, "chosen": chosen, "weights": weights, "output": weights @ answers,
    }  # fmt: skip


# ---- what a model takes ------------------------------------------------------------------------

WEIGHT_BYTES = 2  # bfloat16, also for gradients and the cache
OPTIMIZER_BYTES = 12  # in float32: Adam's two means, and a copy of the weights
# Of an NVIDIA H100, a second, as `make bench` measured them: bytes read and written in a large
# copy, and operations in a large matrix product in bfloat16.
BANDWIDTH, OPERATIONS = 3.0e12, 7.6e14
CARD_BYTES = 80e9  # of its memory
# Of a quantized weight: 4 bits, and its part of a scale of 2 bytes for each group of 128.
QUANTIZED_BYTES = 4 / 8 + 2 / 128


@dataclass(frozen=True)
class Sizes:
    """The sizes of a published language model.

    Attributes:
        d_model: D.
        num_layers: L.
        num_heads: query heads.
        num_sets: of keys and values, which the heads share.
        d_ff: hidden units of a feed-forward network.
        vocab_size: V.
        tokens: read in training; None = not published.
        learned_positions: rows of a table of positions. 0 = a layer of today (rotary, RMSNorm,
            SwiGLU, no biases, an output matrix of its own); else one of GPT-2.
    """

    d_model: int
    num_layers: int
    num_heads: int
    num_sets: int
    d_ff: int
    vocab_size: int
    tokens: float | None = None
    learned_positions: int = 0


# Sources: Radford et al. 2019, Touvron et al. 2023, Grattafiori et al. 2024, and the configurations
# that were published with the weights.
PUBLISHED = {
    "GPT-2": Sizes(768, 12, 12, 12, 3072, 50_257, learned_positions=1024),
    "Llama 2 7B": Sizes(4096, 32, 32, 32, 11_008, 32_000, tokens=2e12),
    "Llama 3 8B": Sizes(4096, 32, 32, 8, 14_336, 128_256, tokens=15e12),
    "Llama 3 405B": Sizes(16_384, 126, 128, 8, 53_248, 128_256, tokens=15.6e12),
}


@dataclass(frozen=True)
class Resources:
    """What a model takes.

    Attributes:
        parameters: N.
        operations: of its training, 6 N for each token; None if its tokens are not known.
        weights: bytes.
        gradients: bytes.
        optimizer: bytes of its state.
        cache: bytes for each token of the text.
        seconds: for each new token of one text, at least: all weights are read once.
    """

    parameters: int
    operations: float | None
    weights: int
    gradients: int
    optimizer: int
    cache: int
    seconds: float


def count_parameters(sizes: Sizes) -> int:
    """Count the parameters of a language model."""
    d, d_ff, is_gpt2 = sizes.d_model, sizes.d_ff, sizes.learned_positions > 0
    shared = d * sizes.num_sets // sizes.num_heads  # features of all keys of a token
    layer = 2 * d * d + 2 * d * shared  # queries and output, keys and values
    if is_gpt2:
        layer += 2 * d * d_ff + (4 * d + d_ff + d) + 4 * d  # two matrices, biases, two norms
        rest = 2 * d + (sizes.vocab_size + sizes.learned_positions) * d  # the last norm, tables
    else:
        layer += 3 * d * d_ff + 2 * d  # three matrices, two norms
        rest = d + 2 * sizes.vocab_size * d  # the last norm, embedding and output
    return sizes.num_layers * layer + rest


def resources(sizes: Sizes, bandwidth: float = BANDWIDTH) -> Resources:
    """Count what a language model takes in memory and time.

    Args:
        sizes: of the model.
        bandwidth: bytes that are read in a second.
    """
    parameters = count_parameters(sizes)
    weights = WEIGHT_BYTES * parameters
    shared = sizes.d_model * sizes.num_sets // sizes.num_heads
    return Resources(
        parameters=parameters,
        operations=6 * parameters * sizes.tokens if sizes.tokens else None,
        weights=weights,
        gradients=WEIGHT_BYTES * parameters,
        optimizer=OPTIMIZER_BYTES * parameters,
        cache=2 * sizes.num_layers * shared * WEIGHT_BYTES,  # keys and values
        seconds=weights / bandwidth,
    )


def writing(
    sizes: Sizes, texts: int, tokens: int = 4096, weight_bytes: float = WEIGHT_BYTES
) -> dict[str, float]:
    """Count what a card takes to write several texts at once, one token each in a pass.

    Args:
        sizes: of the model.
        texts: how many.
        tokens: of each text so far, all in the cache.
        weight_bytes: of each weight.

    Returns:
        The bytes of "weights" and "caches", and the seconds of "reading weights",
        "reading caches" and "computing", of which the last goes on during the others.
    """
    takes = resources(sizes)
    weights, caches = weight_bytes * takes.parameters, float(texts * tokens * takes.cache)
    return {
        "weights": weights,
        "caches": caches,
        "reading weights": weights / BANDWIDTH,
        "reading caches": caches / BANDWIDTH,
        "computing": 2 * takes.parameters * texts / OPERATIONS,
    }


# ---- speculative decoding ------------------------------------------------------------------------


def speculative_decode(
    speller: Speller, word: str, draft: Draft, max_len: int = 40
) -> tuple[list[int], int]:
    """Say a word by checking several guesses in each pass of the model.

    Args:
        speller: the large model.
        word: to say.
        draft: guesses what comes next, never the end of the word.
        max_len: the most ids to say.

    Returns:
        The ids, from that of the start on, and the number of passes.
    """
    model, phonemes = speller.model, speller.phonemes
    memory = model.encode(speller.source([word]))  # (1, S, D)
    said, passes = [phonemes.bos_id], 0
    while said[-1] != phonemes.eos_id and len(said) <= max_len:
        guess = draft(word, said)
        logits = model.decode(torch.tensor([said + guess]), memory)  # (1, T, V)
        # best[i] is what the model says after the first i guesses.
        best = logits[0, len(said) - 1 :].argmax(dim=-1).tolist()
        right = len(commonprefix([guess, best]))  # noqa: RUF071
        said, passes = said + best[: right + 1], passes + 1
    return said[: max_len + 1], passes


def draft_by_counts(speller: Speller, entries: Sequence[Entry], length: int = 3) -> Draft:
    """Make a guesser that sees no letter: what most often followed the last two phonemes."""
    phonemes = speller.phonemes
    follows: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    for _, pronunciations in entries:
        ids = phonemes.encode(pronunciations[0], bos=True, eos=True)
        for t in range(1, len(ids)):
            follows[tuple(ids[max(0, t - 2) : t])][ids[t]] += 1

    def draft(word: str, said: Sequence[int]) -> list[int]:
        ids = list(said)
        for _ in range(length):
            likeliest = follows[tuple(ids[-2:])].most_common(1)
            if not likeliest or likeliest[0][0] == phonemes.eos_id:
                break
            ids.append(likeliest[0][0])
        return ids[len(said) :]

    return draft


def draft_by_neighbour(speller: Speller, entries: Sequence[Entry], length: int = 3) -> Draft:
    """Make a guesser that copies from the word in the list with the longest common beginning."""
    listed = {word: pronunciations[0] for word, pronunciations in entries}
    words = sorted(listed)

    def draft(word: str, said: Sequence[int]) -> list[int]:
        place = bisect(words, word)
        around = [near for near in words[max(0, place - 2) : place + 1] if near != word]
        # Letters are what is wanted here, not folders.
        nearest = max(around, key=lambda near: len(commonprefix([near, word])))  # noqa: RUF071
        ids = speller.phonemes.encode(listed[nearest], bos=True)
        return ids[len(said) : len(said) + length]

    return draft


# ---- the trained models --------------------------------------------------------------------------


# How many standard errors make an interval of 95%: Student's t, by its degrees of freedom.
STUDENT_T = {2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571}


def paired_difference(
    runs: Mapping[str, Sequence[Mapping[str, Any]]], name: str, other: str = "GPT-2"
) -> tuple[list[float], float, float]:
    """Compare the runs of two layers that have the same seed.

    Args:
        runs: of each layer, with their `bits`, in the order of their seeds.
        name: the layer.
        other: what it is compared with.

    Returns:
        The differences in bits per character, their mean, and how far the interval that has it
        with 95% reaches to either side, by Student's t.
    """
    pairs = zip(runs[name], runs[other], strict=True)
    differences = [mine["bits"] - theirs["bits"] for mine, theirs in pairs]
    error = stdev(differences) / len(differences) ** 0.5
    return differences, mean(differences), STUDENT_T[len(differences) - 1] * error
