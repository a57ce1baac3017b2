"""A self-attention that was trained: each pronoun of a made sentence must find its noun.

The sentences are of the kind "Mia followed the dog because she liked it".
The model has one attention with one head and no positions, and must name the noun of each pronoun.
``make pronouns`` trains it from three seeds and stores the first; about a minute on one core.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref.attention import MultiHeadAttention
from transformer_ref.experiments import results
from transformer_ref.masks import padding_mask

NOUNS = {
    "she": ("Anna", "Eva", "Mia", "Lea"),
    "he": ("Ben", "Tom", "Max", "Leo"),
    "it": ("cat", "dog", "horse", "bird"),
}
OBJECTS = {"she": "her", "he": "him", "it": "it"}
DEEDS = ("saw", "called", "followed", "met")
FEELINGS = ("liked", "missed", "knew", "feared")
ALL_NOUNS = tuple(itertools.chain(*NOUNS.values()))
WORDS = ("<pad>", "the", "because", *DEEDS, *FEELINGS, *NOUNS, "her", "him", *ALL_NOUNS)
IDS = {word: number for number, word in enumerate(WORDS)}

SEEDS = range(3)
D_MODEL, STEPS, BATCH, RATE = 32, 1200, 64, 0.003
NOT_ASKED = -100  # what cross_entropy leaves out


class Sentence(NamedTuple):
    """A sentence and what it asks: the noun of the pronoun at each of two places."""

    words: tuple[str, ...]
    answers: dict[int, str]
    held_out: bool


class PronounReader(nn.Module):
    """An embedding, one self-attention whose output is added, and a score for each word."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(WORDS), D_MODEL)
        self.attention = MultiHeadAttention(D_MODEL, num_heads=1)
        self.output = nn.Linear(D_MODEL, len(WORDS))

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the scores of all words (B, T, V) and the attention weights (B, T, T)."""
        x = self.embedding(ids)  # (B, T, D)
        found, weights = self.attention(x, x, x, mask, need_weights=True)
        return self.output(x + found), weights[:, 0]

    @torch.inference_mode()
    def read(self, sentence: str) -> tuple[list[str], Tensor]:
        """Return the word named at each place of a sentence, and the attention weights (T, T)."""
        logits, weights = self(torch.tensor([[IDS[word] for word in sentence.split()]]))
        return [WORDS[best] for best in logits[0].argmax(dim=-1).tolist()], weights[0]


def sentences() -> list[Sentence]:
    """Return all sentences: two nouns with different pronouns, in either role.

    A quarter of the pairs of nouns, such as Anna and the cat, is held out.
    """
    made = []
    for (subject, object_), deed, feeling in itertools.product(
        itertools.permutations(NOUNS, 2), DEEDS, FEELINGS
    ):
        for i, j in itertools.product(range(4), repeat=2):
            doer, other = NOUNS[subject][i], NOUNS[object_][j]
            named = [word for noun in (doer, deed, other) for word in with_article(noun)]
            for first, second in ((subject, object_), (object_, subject)):
                words = (*named, "because", first, feeling, OBJECTS[second])
                nouns = {subject: doer, object_: other}
                answers = {len(words) - 3: nouns[first], len(words) - 1: nouns[second]}
                made.append(Sentence(words, answers, held_out=i == j))
    return made


def with_article(word: str) -> tuple[str, ...]:
    """Return "the cat" for "cat", and a name or a verb alone."""
    return ("the", word) if word in NOUNS["it"] else (word,)


def as_batch(made: list[Sentence]) -> tuple[Tensor, Tensor]:
    """Return ids and labels, both (B, T); labels are only at pronouns."""
    length = max(len(sentence.words) for sentence in made)
    ids = torch.zeros(len(made), length, dtype=torch.long)
    labels = torch.full_like(ids, NOT_ASKED)
    for row, sentence in enumerate(made):
        ids[row, : len(sentence.words)] = torch.tensor([IDS[word] for word in sentence.words])
        for place, noun in sentence.answers.items():
            labels[row, place] = IDS[noun]
    return ids, labels


def train_reader(seed: int, steps: int = STEPS) -> PronounReader:
    """Train a fresh reader; the loss counts the answers at pronouns and nothing else."""
    ids, labels = as_batch([sentence for sentence in sentences() if not sentence.held_out])
    torch.manual_seed(seed)
    reader = PronounReader()
    optimizer = torch.optim.Adam(reader.parameters(), lr=RATE)
    for _ in range(steps):
        chosen = torch.randint(len(ids), (BATCH,))
        logits, _ = reader(ids[chosen], padding_mask(ids[chosen], pad_id=0))
        loss = F.cross_entropy(logits.mT, labels[chosen], ignore_index=NOT_ASKED)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return reader


@torch.inference_mode()
def measure(reader: PronounReader) -> dict[str, Any]:
    """Read the held-out sentences.

    Returns:
        "right", the share of pronouns whose noun is named; "on_noun", for each noun the mean
        weight that its pronouns give to it.
    """
    made = [sentence for sentence in sentences() if sentence.held_out]
    ids, labels = as_batch(made)
    logits, weights = reader(ids, padding_mask(ids, pad_id=0))
    asked = labels != NOT_ASKED
    right = (logits.argmax(dim=-1) == labels)[asked].float().mean().item()
    found: dict[str, list[float]] = {noun: [] for noun in ALL_NOUNS}
    for sentence, rows in zip(made, weights.tolist(), strict=True):
        for place, noun in sentence.answers.items():
            found[noun].append(rows[place][sentence.words.index(noun)])
    means = {noun: round(sum(shares) / len(shares), 3) for noun, shares in found.items()}
    return {"right": round(right, 4), "on_noun": means}


def load_reader() -> PronounReader:
    """Return the stored reader, which was trained from the first seed."""
    reader = PronounReader()
    reader.load_state_dict(load_file(results.ASSETS / "pronouns" / "model.safetensors"))
    return reader.eval()


def main() -> None:
    """Train from each seed, write what was measured, and store the first model."""
    torch.set_num_threads(1)
    readers = [train_reader(seed) for seed in SEEDS]
    runs = [{"seed": seed, **measure(reader)} for seed, reader in zip(SEEDS, readers, strict=True)]
    for run in runs:
        print(f"seed {run['seed']}: {run['right']:.0%} right; weight on", run["on_noun"])
    results.write_results("pronouns", {"steps": STEPS, "runs": runs})
    save_file(readers[0].state_dict(), results.ASSETS / "pronouns" / "model.safetensors")


if __name__ == "__main__":
    main()
