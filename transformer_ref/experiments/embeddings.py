"""What the chapter on embeddings does by hand, and what it trains and measures.

The drawings show the numbers of the example by hand.
Word vectors are trained on the course's text, the State of the Union addresses from 1961 to 2000;
analogies are counted on them.
The closer look puts them into classifiers, compares them with GloVe, and recites the alphabet with
a model that uses one matrix at both ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref.data import load_addresses
from transformer_ref.embeddings import TokenEmbedding, embedding_from_pretrained, tied_logits
from transformer_ref.masks import causal_mask
from transformer_ref.model import Encoder, TransformerConfig
from transformer_ref.positions import SinusoidalPositions
from transformer_ref.tokenizers import WordTokenizer
from transformer_ref.word2vec import SkipGram, analogy, context_windows, nearest_neighbours

# The example by hand. First the look-up: a row of three features for each of five words.
WORDS = ("we", "must", "keep", "the", "peace")
E = (
    (1.0, 0.0, 2.0),
    (0.0, 3.0, 1.0),
    (2.0, 1.0, 0.0),
    (1.0, 3.0, 2.0),
    (0.0, 2.0, 3.0),
)
LOOKED_UP = "keep"
READ = ("the", "peace", "the")  # the words whose rows get a gradient
STEP = 0.5  # length of both steps by hand: a learning rate, far larger than in training
# Then one update of skip-gram: a word, its neighbour, and two drawn words, with two features each.
CENTER, OTHERS = "keep", ("peace", "oil", "january")
V_CENTER = (1.0, 1.0)
U_OTHERS = ((1.0, 0.0), (-1.0, 1.0), (0.0, 2.0))
REAL = (1.0, 0.0, 0.0)
HIDDEN = (1.0, 1.0, 0.0)  # a vector that a model may have at its end
# The figure that moves: vectors at the start, picked so that they point every way, and updates
# that are done again and again. Each center and its real word are neighbours in the text.
IN_THE_PLANE = {
    "centers": {
        "oil": (0.7, 0.4), "gas": (-0.9, 0.3), "peace": (-0.2, -1.0), "freedom": (0.7, -0.3),
    },
    "contexts": {"production": (0.4, -1.0), "world": (0.5, 0.6), "our": (-0.1, 1.1)},
    "groups": (("oil", "gas"), ("peace", "freedom")),
    "updates": (
        {"center": "oil", "real": "production", "drawn": ("world",)},
        {"center": "peace", "real": "world", "drawn": ("production",)},
        {"center": "gas", "real": "production", "drawn": ("world", "our")},
        {"center": "freedom", "real": "world", "drawn": ("production", "our")},
        {"center": "oil", "real": "our", "drawn": ("world",)},
        {"center": "peace", "real": "our", "drawn": ("production",)},
        {"center": "gas", "real": "our", "drawn": ("world",)},
        {"center": "freedom", "real": "our", "drawn": ("production",)},
    ),
    "steps": 24,
    "rate": 1.0,
}  # fmt: skip

# Words that belong together, picked by hand.
GROUPS = {
    "months": "january february april july september december",
    "energy": "oil gas coal crude petroleum solar barrels",
    "school": "schools teachers teacher classrooms students grade college",
    "crime": "crime police guns drugs criminals violent",
    "health": "doctors medicare hospital insurance coverage care",
    "arms": "missiles nuclear weapons nato soviet arms treaty",
}
# Pairs with one relation each; every two pairs of a line make a question.
ANALOGIES = {
    "plural": (
        "nation nations school schools program programs job jobs family families worker workers "
        "weapon weapons country countries problem problems child children city cities "
        "people peoples state states"
    ),
    "past": (
        "keep kept make made say said begin began give gave know knew build built come came "
        "take took"
    ),
    "comparative": (
        "great greater strong stronger large larger high higher low lower safe safer big bigger "
        "small smaller"
    ),
    "-ing": (
        "make making build building give giving work working take taking help helping "
        "create creating grow growing"
    ),
    "woman": "man woman men women he she his her father mother him her fathers mothers",
}


def by_hand() -> dict[str, Tensor]:
    """Return each step of the example, as the drawings show them.

    Returns:
        E (5, 3), one_hot (5,), row (3,): the look-up; gradient and E_after (5, 3): a step on the
        sum of three rows that were read; v (2,), u (3, 2), real, scores, sigmoids, errors (3,),
        v_after, u_after, scores_after, loss and loss_after: one update of skip-gram; hidden (3,)
        and logits (5,): a score for each word from the same E.
    """
    table = torch.tensor(E, requires_grad=True)
    one_hot = F.one_hot(torch.tensor(WORDS.index(LOOKED_UP)), len(WORDS)).float()
    table[[WORDS.index(word) for word in READ]].sum().backward()
    assert table.grad is not None
    before = table.detach()
    v, u, real = torch.tensor(V_CENTER), torch.tensor(U_OTHERS), torch.tensor(REAL)
    scores = u @ v
    errors = scores.sigmoid() - real
    v_after = v - STEP * errors @ u
    u_after = u - STEP * torch.outer(errors, v)
    scores_after = u_after @ v_after
    loss, loss_after = (
        F.binary_cross_entropy_with_logits(x, real, reduction="sum") for x in (scores, scores_after)
    )
    return {
        "E": before, "one_hot": one_hot, "row": one_hot @ before,
        "gradient": table.grad, "E_after": before - STEP * table.grad,
        "v": v, "u": u, "real": real, "scores": scores, "sigmoids": scores.sigmoid(),
        "errors": errors, "v_after": v_after, "u_after": u_after, "scores_after": scores_after,
        "loss": loss, "loss_after": loss_after,
        "hidden": torch.tensor(HIDDEN), "logits": before @ torch.tensor(HIDDEN),
    }  # fmt: skip


@dataclass(frozen=True)
class Text:
    """The addresses as sentences in lower case, without punctuation.

    Attributes:
        training: sentences with their years.
        held_back: 2,000 more, which no word vectors are trained on.
        tokenizer: knows the words that come six times or more in training.
        corpus: ids of the training sentences, without unknown words.
    """

    training: list[tuple[str, int]]
    held_back: list[tuple[str, int]]
    tokenizer: WordTokenizer
    corpus: list[list[int]]

    @property
    def words(self) -> tuple[str, ...]:
        """The words in the order of their ids; the first four are special tokens."""
        return self.tokenizer.vocabulary.tokens

    def encode(self, text: str) -> list[int]:
        """Return the ids of the words that are in the vocabulary."""
        return _known(self.tokenizer, text)

    def id_of(self, word: str) -> int:
        """Return the id of a word of the vocabulary."""
        (word_id,) = self.encode(word)
        return word_id


def _known(tokenizer: WordTokenizer, text: str) -> list[int]:
    return [i for i in tokenizer.encode(text) if i != tokenizer.unk_id]


def read_text() -> Text:
    """Cut the addresses into sentences, and hold some back at random."""
    sentences = [
        (" ".join(re.findall("[a-z]+", sentence.lower())), address.year)
        for address in load_addresses()
        for sentence in re.split(r"(?<=[.?!])\s+", address.text)
    ]
    shuffled = torch.Generator().manual_seed(0)
    order = torch.randperm(len(sentences), generator=shuffled).tolist()
    held_back, training = ([sentences[i] for i in part] for part in (order[:2000], order[2000:]))
    texts = [text for text, _ in training]
    tokenizer = WordTokenizer.train(texts, min_freq=6, pretokenized=True)
    return Text(training, held_back, tokenizer, [_known(tokenizer, text) for text in texts])


def all_pairs(corpus: Sequence[Sequence[int]], reach: int) -> tuple[Tensor, Tensor]:
    """Return every pair of a word and a neighbour up to `reach` places away: two (P,) of ids."""
    flat = torch.tensor([i for sentence in corpus for i in sentence])
    lengths = torch.tensor([len(sentence) for sentence in corpus])
    number = torch.repeat_interleave(lengths)  # of the sentence
    windows, there = context_windows(flat, number, torch.full_like(flat, reach))
    return flat[:, None].expand_as(there)[there], windows[there]


def train_without_drawn_words(text: Text, steps: int = 300) -> tuple[SkipGram, float]:
    """Train skip-gram on real pairs alone; return it and its last loss."""
    torch.manual_seed(0)
    centers, contexts = all_pairs(text.corpus, reach=2)
    model = SkipGram(len(text.tokenizer), 50)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    loss = torch.zeros(())
    for _ in range(steps):
        rows = torch.randint(len(centers), (2048,))
        v = model.input_embedding(centers[rows])
        u = model.output_embedding(contexts[rows])
        loss = -F.logsigmoid((v * u).sum(dim=-1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model, loss.item()


def mean_cosine(weight: Tensor) -> float:
    """Return the mean cosine of all pairs of different words, special tokens left out."""
    unit = F.normalize(weight.detach()[4:], dim=1)
    n = len(unit)
    return float((unit.sum(dim=0).square().sum() - n) / (n * (n - 1)))


def grouped(text: Text) -> tuple[list[str], Tensor]:
    """Return the words of ``GROUPS``, and for each the number of its group."""
    lines = [line.split() for line in GROUPS.values()]
    numbers = [number for number, line in enumerate(lines) for _ in line]
    return [word for line in lines for word in line], torch.tensor(numbers)


def share_with_own(weight: Tensor, text: Text) -> float:
    """Return for which share of the grouped words the nearest of the others is of their group."""
    chosen, group = grouped(text)
    unit = F.normalize(weight.detach()[[text.id_of(word) for word in chosen]], dim=1)
    nearest = (unit @ unit.T).fill_diagonal_(-2).argmax(dim=1)
    return (group[nearest] == group).float().mean().item()


def chance_of_own(text: Text) -> float:
    """Return what :func:`share_with_own` is on average if neighbours are drawn by lot."""
    sizes = torch.bincount(grouped(text)[1])
    total = sizes.sum()
    return float((sizes * (sizes - 1)).sum() / (total * (total - 1)))


class AnalogyCount(NamedTuple):
    """How many questions there are, and how many are answered right in each of three ways."""

    questions: int
    first: int  # the word nearest to b - a + c
    first_five: int  # one of the five nearest
    nearest_to_c: int  # the word nearest to c, without looking at a and b's difference


def count_analogies(weight: Tensor, text: Text) -> dict[str, AnalogyCount]:
    """Ask all questions of ``ANALOGIES``: a is to b as c is to what?"""
    counts = {}
    for name, line in ANALOGIES.items():
        ids = [text.id_of(word) for word in line.split()]
        pairs = list(zip(ids[::2], ids[1::2], strict=True))
        found = []
        for a, b in pairs:
            for c, d in pairs:
                if len({a, b, c, d}) == 4:
                    five = analogy(weight, a, b, c, 5)
                    near = nearest_neighbours(weight, c, 3)
                    alone = next(word for word in near if word not in (a, b))
                    found.append((five[0] == d, d in five, alone == d))
        counts[name] = AnalogyCount(
            len(found), *(sum(column) for column in zip(*found, strict=True))
        )
    return counts


def train_glove(text: Text, d_model: int = 50, epochs: int = 8) -> tuple[Tensor, list[float]]:
    """Train GloVe: products of vectors fit the logarithms of how often two words meet.

    Returns:
        The vectors (V, D), sums of both matrices as in the paper, and the mean loss of each epoch.

    Source: Pennington et al. 2014, "GloVe: Global Vectors for Word Representation", equation 8.
    """
    torch.manual_seed(0)
    vocab_size = len(text.tokenizer)
    centers, contexts = all_pairs(text.corpus, reach=5)
    pairs, counts = torch.unique(centers * vocab_size + contexts, return_counts=True)
    first, second, counts = pairs // vocab_size, pairs % vocab_size, counts.float()
    target, weight = counts.log(), (counts / 100).clamp(max=1) ** 0.75
    w, u = ((torch.rand(vocab_size, d_model) - 0.5) / d_model for _ in range(2))
    b, c = torch.zeros(vocab_size), torch.zeros(vocab_size)
    tables = [table.requires_grad_() for table in (w, u, b, c)]
    optimizer = torch.optim.Adagrad(tables, lr=0.1, fused=True)
    losses = []
    for _ in range(epochs):
        total = 0.0
        for rows in torch.randperm(len(pairs)).split(4096):
            i, j = first[rows], second[rows]
            fit = (F.embedding(i, w) * F.embedding(j, u)).sum(dim=-1) + b[i] + c[j]
            loss = (weight[rows] * (fit - target[rows]).square()).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        losses.append(total / len(pairs))
    return (w + u).detach(), losses


# Sentences with a key word of exactly one subject are about that subject.
SUBJECTS = (
    "economy inflation tax taxes budget deficit spending",
    "soviet peace nations war allies vietnam military",
    "children school schools health education families crime",
)
Question = Literal["subject", "period"]
Start = Literal["frozen", "tuned", "absent"]
Examples = tuple[Tensor, Tensor]  # ids (B, T), padded with 0, and labels (B,)


def examples(text: Text, question: Question, part: Sequence[tuple[str, int]]) -> Examples:
    """Label the sentences of a part: which of three subjects, or before 1981 or later.

    For the subject the key words are cut out; a sentence without exactly one subject is left out,
    and so is one of fewer than five words.
    """
    keys = [set(text.encode(line)) for line in SUBJECTS]
    rows, labels = [], []
    for sentence, year in part:
        ids, label = text.encode(sentence), int(year >= 1981)
        if question == "subject":
            hits = [number for number, key in enumerate(keys) if not key.isdisjoint(ids)]
            if len(hits) != 1:
                continue
            ids, label = [i for i in ids if not any(i in key for key in keys)], hits[0]
        if len(ids) >= 5:
            rows.append(torch.tensor(ids[:60]))
            labels.append(label)
    return nn.utils.rnn.pad_sequence(rows, batch_first=True), torch.tensor(labels)


class Classifier(nn.Module):
    """The mean of a sentence's embeddings, and one linear layer."""

    def __init__(self, embedding: nn.Embedding, num_classes: int) -> None:
        super().__init__()
        self.embedding = embedding
        self.output = nn.Linear(embedding.embedding_dim, num_classes)

    def forward(self, ids: Tensor) -> Tensor:
        """Return the logits (B, num_classes) of ids (B, T), padded with 0."""
        real = (ids != 0).unsqueeze(-1)
        total = (self.embedding(ids) * real).sum(dim=1)
        logits: Tensor = self.output(total / real.sum(dim=1))
        return logits


def train_classifier(
    vectors: Tensor, start: Start, data: Examples, size: int, seed: int, lr: float = 0.015
) -> Classifier:
    """Train on `size` labelled sentences, with pretrained vectors frozen, tuned or absent."""
    torch.manual_seed(seed)
    picked = torch.randperm(len(data[0]))[:size]
    ids, labels = (part[picked] for part in data)
    unit_std = vectors / vectors.std()  # that of absent ones, so that only what they know differs
    if start == "absent":
        embedding = nn.Embedding(vectors.shape[0], vectors.shape[1], padding_idx=0)
    else:
        embedding = embedding_from_pretrained(unit_std, start == "tuned", pad_id=0)
    model = Classifier(embedding, int(labels.max()) + 1)
    optimizer = torch.optim.Adam(
        [p for p in model.parameters() if p.requires_grad], lr=lr, fused=True
    )
    for _ in range(100):
        batch = torch.randint(size, (64,))
        longest = int((ids[batch] != 0).sum(dim=1).max())
        loss = F.cross_entropy(model(ids[batch, :longest]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


@torch.inference_mode()
def accuracy(model: Classifier, data: Examples) -> float:
    """Return the share of sentences that is classified right."""
    ids, labels = data
    return (model(ids).argmax(dim=1) == labels).float().mean().item()


def accuracies(
    vectors: Tensor, train: Examples, test: Examples, sizes: Sequence[int], seeds: int = 3
) -> dict[str, Tensor]:
    """Return for each start the accuracies (sizes, seeds) on the test sentences."""
    starts: tuple[Start, ...] = ("frozen", "tuned", "absent")
    return {
        start: torch.tensor(
            [
                [
                    accuracy(train_classifier(vectors, start, train, size, seed), test)
                    for seed in range(seeds)
                ]
                for size in sizes
            ]
        )
        for start in starts
    }


class Reciter(nn.Module):
    """A small causal model of the alphabet, which may use one matrix at both ends.

    Args:
        std: standard deviation of the embedding's first values.
        positions: whether positions are added.
        tied: whether the output uses the embedding's matrix.
        d_model: D.
    """

    def __init__(
        self, std: float, positions: bool = True, tied: bool = True, d_model: int = 128
    ) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(26, d_model, None, init_std=std)
        add = SinusoidalPositions(d_model, max_len=32)
        self.positions = add if positions else nn.Identity()
        config = TransformerConfig(
            26, 26, d_model, num_heads=4, num_encoder_layers=2, d_ff=2 * d_model,
            norm="pre", dropout=0.0,
        )  # fmt: skip
        self.layers = Encoder(config)
        own = nn.Parameter(torch.randn(26, d_model) / d_model)
        self.output = self.embedding.weight if tied else own

    def forward(self, ids: Tensor) -> Tensor:
        """Return the logits (B, T, 26) of the next letters."""
        x = self.positions(self.embedding(ids))
        x = self.layers(x, causal_mask(ids.shape[1]))
        return tied_logits(x, self.output)


def recite(make: Callable[[], Reciter], steps: int = 100) -> list[float]:
    """Train a model to recite the alphabet from any letter on; return the loss of each step."""
    torch.manual_seed(0)
    model, losses = make(), []
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    for _ in range(steps):
        ids = (torch.randint(26, (16, 1)) + torch.arange(17)) % 26
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
