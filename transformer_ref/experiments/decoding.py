"""What the chapter on decoding does by hand, and what its moving figures show of real searches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from transformer_ref.applications.g2p import Speller
from transformer_ref.attention import record_attention
from transformer_ref.decoding import beam_search, filter_logits, greedy_decode
from transformer_ref.metrics import edit_distance

# A model that is a table: what may follow each token, and how probable it is.
FOLLOWS = {
    "<bos>": {"I": 0.9, "a": 0.1},
    "I": {"have": 0.6, "own": 0.4},
    "have": {"a": 0.55, "got": 0.45},
    "own": {"a": 0.85, "cat": 0.15},
    "got": {"a": 1.0},
    "a": {"cat": 0.8, "dog": 0.2},
    "cat": {"<eos>": 0.9, "and": 0.1},
    "dog": {"<eos>": 0.9, "and": 0.1},
    "and": {"I": 1.0},
}
BOS, EOS = "<bos>", "<eos>"

# Two steps of a model that draws, one open and one sure.
STEPS = {
    "open": {"cat": 0.4, "dog": 0.3, "house": 0.2, "idea": 0.1},
    "sure": {"cat": 0.9, "dog": 0.05, "house": 0.03, "idea": 0.02},
}
TOP_K, TOP_P = 2, 0.8

# A word that the speller gets wrong: what it says, and what the dictionary lists.
BUTTE = (("B", "AH", "T"), ("B", "Y", "UW", "T"))

HYPOTHESIS = ("the", "the", "cat", "sat", "on", "the")
REFERENCE = ("the", "cat", "sat", "on", "the", "mat")


@dataclass(frozen=True)
class Hypothesis:
    """The beginning of a sequence.

    Attributes:
        tokens: without the begin token.
        probability: of all of them.
    """

    tokens: tuple[str, ...]
    probability: float


@dataclass(frozen=True)
class Step:
    """One step of a beam search.

    Attributes:
        kept: the hypotheses that stay, best first; what has ended stays for this step only.
        dropped: those that are not kept, of any probability above 0, best first.
    """

    kept: list[Hypothesis]
    dropped: list[Hypothesis]


def beam_by_hand(beam_size: int = 2) -> list[Step]:
    """Search in the table, as the drawing shows it, until no hypothesis is alive.

    Args:
        beam_size: hypotheses that are kept.

    Returns:
        A step for each token.
    """
    steps: list[Step] = []
    live = [Hypothesis((), 1.0)]
    while live:
        grown = [
            Hypothesis((*beginning.tokens, token), beginning.probability * probability)
            for beginning in live
            for token, probability in FOLLOWS[(BOS, *beginning.tokens)[-1]].items()
        ]
        grown.sort(key=lambda hypothesis: -hypothesis.probability)
        steps.append(Step(grown[:beam_size], grown[beam_size:]))
        live = [hypothesis for hypothesis in grown[:beam_size] if hypothesis.tokens[-1] != EOS]
    return steps


def cut_by_hand() -> dict[tuple[str, str], list[float]]:
    """Cut the tail off both steps by both rules.

    Returns:
        For a step and a rule ("top-k" or "top-p") the probabilities of its tokens; 0 = cut off.
    """
    rules: dict[str, dict[str, Any]] = {"top-k": {"top_k": TOP_K}, "top-p": {"top_p": TOP_P}}
    return {
        (step, name): filter_logits(torch.tensor(list(follows.values())).log(), **rule)
        .softmax(dim=-1)
        .tolist()
        for step, follows in STEPS.items()
        for name, rule in rules.items()
    }


def edits_by_hand(
    said: Sequence[str] = BUTTE[0], wanted: Sequence[str] = BUTTE[1]
) -> list[list[int]]:
    """Return the edit distance of each beginning of `said` (rows) to each of `wanted` (columns)."""
    return [
        [edit_distance(said[:row], wanted[:column]) for column in range(len(wanted) + 1)]
        for row in range(len(said) + 1)
    ]


def clipped_by_hand(longest: int = 4) -> list[list[bool]]:
    """Say which sequences of 1 to `longest` words of the hypothesis count for BLEU.

    Returns:
        A row for each length, with an entry for each word that such a sequence begins with:
        whether the reference has it as often as the hypothesis up to here.
    """
    rows = []
    for n in range(1, longest + 1):
        left = Counter(REFERENCE[i : i + n] for i in range(len(REFERENCE) - n + 1))
        row = []
        for i in range(len(HYPOTHESIS) - n + 1):
            row.append(left[HYPOTHESIS[i : i + n]] > 0)
            left[HYPOTHESIS[i : i + n]] -= 1
        rows.append(row)
    return rows


def listen(speller: Speller, word: str, beam_size: int) -> dict[str, dict[str, list[Any]]]:
    """Search for the sounds of a word, and return what the search asks and is told.

    Args:
        speller: the trained model.
        word: a lower-case word.
        beam_size: of the search.

    Returns:
        For each beginning that was asked about, as phonemes with spaces: under "next" the five
        likeliest tokens with their log-probabilities, under "look" the weight of each letter in
        cross-attention, a mean over layers and heads.
    """
    model, phonemes = speller.model, speller.phonemes
    asked: list[list[int]] = []
    heard: dict[str, dict[str, list[Any]]] = {}

    def note(embedding: nn.Module, args: tuple[Tensor, ...]) -> None:
        asked[:] = args[0].tolist()

    def keep(decoder: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> None:
        logits = model.output_proj(output[:, -1])
        maps = [w[:, :, -1] for name, w in recorded.items() if "cross" in name]
        looks = torch.stack(maps).mean(dim=(0, 2))
        for prefix, row, look in zip(asked, logits.log_softmax(-1), looks, strict=True):
            if phonemes.eos_id in prefix:
                continue  # it has ended; the batch keeps its place until the row is done
            best = row.topk(5)
            heard[" ".join(phonemes.tokens[i] for i in prefix[1:])] = {
                "next": [
                    [phonemes.tokens[i], round(log_prob, 4)]
                    for log_prob, i in zip(best.values.tolist(), best.indices.tolist(), strict=True)
                ],
                "look": [round(weight, 3) for weight in look.tolist()],
            }

    hooks = (
        model.tgt_embedding.register_forward_pre_hook(note),
        model.decoder.register_forward_hook(keep),
    )
    try:
        with record_attention(model) as recorded:
            beam_search(
                model, speller.source([word]), phonemes.bos_id, phonemes.eos_id,
                beam_size, max_len=20, use_cache=False,
            )  # fmt: skip
    finally:
        for hook in hooks:
            hook.remove()
    return heard


def work_by_step(speller: Speller, word: str, use_cache: bool) -> dict[str, list[int]]:
    """Say a word greedily, and count what one head of the first decoder layer computes.

    Args:
        speller: the trained model.
        word: a lower-case word.
        use_cache: whether keys and values are kept.

    Returns:
        Lists with an entry for each step: under "vectors" the keys and values, under "products"
        the products of a query and a key in self-attention, those that the mask hides too.
    """
    model, phonemes = speller.model, speller.phonemes
    attention: Any = model.decoder.layers[0].self_attention
    vectors: list[int] = []
    products: list[int] = []

    def count(projection: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> None:
        vectors.append(output.shape[1])

    hooks = [proj.register_forward_hook(count) for proj in (attention.k_proj, attention.v_proj)]
    attention.keep_weights = lambda weights: products.append(weights[0, 0].numel())
    try:
        greedy_decode(
            model, speller.source([word]), phonemes.bos_id, phonemes.eos_id,
            max_len=64, use_cache=use_cache,
        )  # fmt: skip
    finally:
        attention.keep_weights = None
        for hook in hooks:
            hook.remove()
    keys, values = vectors[::2], vectors[1::2]
    both = [of_keys + of_values for of_keys, of_values in zip(keys, values, strict=True)]
    return {"vectors": both, "products": products}
