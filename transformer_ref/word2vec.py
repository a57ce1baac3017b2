"""word2vec: a vector for each word, learned by telling its real neighbours from drawn ones.

Skip-gram predicts each neighbour from a word, CBOW predicts a word from the mean of its neighbours.
Both learn two matrices: input vectors, which are kept, and output vectors, which predict.
Words are ids, as a tokenizer makes them; sentences are lists of ids.

Letters here, besides those of the conventions: N drawn words for each prediction, C context words,
P predictions, W the window.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref._validate import require_at_least_one, require_ids, require_token_id
from transformer_ref.files import write_text


def negative_sampling_loss(center: Tensor, positive: Tensor, negatives: Tensor) -> Tensor:
    """Tell the one real neighbour from N words that were drawn: -log s(c.p) - sum log s(-c.n).

    Args:
        center: (B, D) the vector that predicts, for CBOW the mean of the context.
        positive: (B, D) output vectors of the words that really stand there.
        negatives: (B, N, D) output vectors of the drawn words.

    Returns:
        A scalar, the loss in nats; the mean over the batch, the sum over the negatives.

    Raises:
        ValueError: if shapes, dtypes or devices do not fit, or the batch is empty.

    Source: Mikolov et al. 2013, "Distributed Representations of Words and Phrases", equation 4.
    """
    given = (center, positive, negatives)
    fits = center.ndim == 2 and center.shape == positive.shape and negatives.ndim == 3
    alike = center.is_floating_point() and len({(x.dtype, x.device) for x in given}) == 1
    if not (fits and alike and negatives.shape[::2] == center.shape and negatives.numel()):
        got = ", ".join(f"{tuple(x.shape)} {x.dtype} on {x.device}" for x in given)
        raise ValueError(
            "center, positive and negatives must have shapes (B, D), (B, D) and (B, N, D), none "
            f"of them 0, one floating dtype and one device, got {got}"
        )
    # log(sigmoid(x)) in one step stays finite where sigmoid(x) is rounded to 0.
    loss = -F.logsigmoid((center * positive).sum(-1))
    loss = loss - F.logsigmoid(-(negatives @ center.unsqueeze(2)).squeeze(2)).sum(-1)
    return loss.mean()


class _Predictions(NamedTuple):
    """P predictions to learn from, as ids.

    Attributes:
        words: (P, C) whose input vectors predict; C is 1 in skip-gram.
        shares: (P, C) floating weights for the sum of these vectors; each row adds up to 1.
        predicted: (P,) what they predict.
    """

    words: Tensor
    shares: Tensor
    predicted: Tensor


class _Word2Vec(nn.Module):
    """The two matrices that skip-gram and CBOW share."""

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        require_at_least_one(vocab_size=vocab_size, d_model=d_model)
        self.input_embedding = nn.Embedding(vocab_size, d_model)
        self.output_embedding = nn.Embedding(vocab_size, d_model)
        self.reset_parameters()

    @property
    def weight(self) -> Tensor:
        """The (V, D) matrix of input vectors: the word vectors that one keeps."""
        return self.input_embedding.weight

    def reset_parameters(self) -> None:
        """Draw small input vectors anew; output vectors start at zero, so every score is 0."""
        bound = 0.5 / self.input_embedding.embedding_dim
        nn.init.uniform_(self.input_embedding.weight, -bound, bound)
        nn.init.zeros_(self.output_embedding.weight)

    def _predictions(self, ids: Tensor, contexts: Tensor, mask: Tensor) -> _Predictions:
        """Say what each window asks the model to predict.

        Args:
            ids: (T,) the words.
            contexts: (T, 2W) the neighbours of each.
            mask: (T, 2W) boolean, True where there is such a neighbour.
        """
        raise NotImplementedError

    def _require_batch(self, rows: dict[str, Tensor], single: dict[str, Tensor]) -> None:
        """Refuse ids (B, any) in `rows` and (B,) in `single` that do not fit the model."""
        batch = len(rows["negatives"]) if rows["negatives"].ndim else 0
        for name, ids in (rows | single).items():
            wanted = 2 if name in rows else 1
            if ids.ndim != wanted or len(ids) != batch or batch == 0:
                raise ValueError(
                    f"{name} must have shape {'(B,)' if wanted == 1 else '(B, any)'}, B at least 1 "
                    f"and that of negatives, {batch}, got {tuple(ids.shape)}"
                )
            vocab_size, device = len(self.weight), self.weight.device
            require_ids(name, ids.reshape(batch, -1), vocab_size, device)


class SkipGram(_Word2Vec):
    """Skip-gram: each word predicts every one of its neighbours.

    The rows of `weight`, (V, D), are the word vectors.

    Args:
        vocab_size: V, the number of words.
        d_model: D, the features of a vector.

    Raises:
        ValueError: if a size is below 1.

    Source: Mikolov et al. 2013, "Efficient Estimation of Word Representations in Vector Space".
    """

    def forward(self, center: Tensor, context: Tensor, negatives: Tensor) -> Tensor:
        """Compute the loss of a batch of pairs.

        Args:
            center: (B,) int64 ids.
            context: (B,) int64 ids, a neighbour of each.
            negatives: (B, N) int64 ids, drawn words.

        Returns:
            The scalar :func:`~transformer_ref.word2vec.negative_sampling_loss`.

        Raises:
            ValueError: if shapes, dtypes, devices or ids do not fit.
        """
        self._require_batch({"negatives": negatives}, {"center": center, "context": context})
        return negative_sampling_loss(
            self.input_embedding(center),
            self.output_embedding(context),
            self.output_embedding(negatives),
        )

    def _predictions(self, ids: Tensor, contexts: Tensor, mask: Tensor) -> _Predictions:
        """Predict each neighbour from the word alone: one prediction a pair."""
        words = ids.unsqueeze(1).expand_as(mask)[mask].unsqueeze(1)
        return _Predictions(words, torch.ones_like(words, dtype=self.weight.dtype), contexts[mask])


class CBOW(_Word2Vec):
    """Continuous bag of words: the mean of the neighbours' input vectors predicts the word.

    The rows of `weight`, (V, D), are the word vectors.

    Args:
        vocab_size: V, the number of words.
        d_model: D, the features of a vector.

    Raises:
        ValueError: if a size is below 1.

    Source: Mikolov et al. 2013, "Efficient Estimation of Word Representations in Vector Space".
    """

    def forward(
        self, contexts: Tensor, center: Tensor, negatives: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """Compute the loss of a batch of words and their contexts.

        Args:
            contexts: (B, C) int64 ids, the neighbours of each word.
            center: (B,) int64 ids, the words to predict.
            negatives: (B, N) int64 ids, drawn words.
            mask: (B, C) boolean, True where there is a neighbour; None = everywhere.

        Returns:
            The scalar :func:`~transformer_ref.word2vec.negative_sampling_loss`.

        Raises:
            ValueError: if shapes, dtypes, devices or ids do not fit, or a context is empty.
        """
        self._require_batch({"negatives": negatives, "contexts": contexts}, {"center": center})
        mask = torch.ones_like(contexts, dtype=torch.bool) if mask is None else mask
        if (mask.shape, mask.dtype, mask.device) != (contexts.shape, torch.bool, contexts.device):
            raise ValueError(
                f"mask must be boolean of shape {tuple(contexts.shape)} on {contexts.device}, "
                f"got {mask.dtype} of shape {tuple(mask.shape)} on {mask.device}"
            )
        empty = ~mask.any(dim=1)
        if not torch.compiler.is_compiling() and empty.any():
            raise ValueError(f"mask must leave each row a neighbour, got {int(empty.sum())} empty")
        shares = _equal_shares(mask, self.weight.dtype)
        return negative_sampling_loss(
            (shares.unsqueeze(2) * self.input_embedding(contexts)).sum(dim=1),
            self.output_embedding(center),
            self.output_embedding(negatives),
        )

    def _predictions(self, ids: Tensor, contexts: Tensor, mask: Tensor) -> _Predictions:
        """Predict each word from its neighbours, if it has any: C = 2W, with shares of 0."""
        some = mask.any(dim=1)
        shares = _equal_shares(mask[some], self.weight.dtype)
        return _Predictions(contexts[some], shares, ids[some])


def _equal_shares(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Weights that take the mean over what the mask allows: (B, C), rows add up to 1."""
    return mask.to(dtype) / mask.sum(dim=1, keepdim=True)


def keep_probability(counts: Tensor, sample: float) -> Tensor:
    """Say how often each word is kept, so that frequent words do not fill all windows.

    With f the share of a word in the text it is sqrt(sample / f) + sample / f, at most 1.
    The paper has the first term alone; the second is in the authors' program, and in gensim.

    Args:
        counts: (V,) how often each word comes.
        sample: the share above which a word is thinned out; 0 keeps all.

    Returns:
        (V,) float32 probabilities.

    Raises:
        ValueError: if `counts` are no counts, or `sample` is negative.

    Source: Mikolov et al. 2013, "Distributed Representations of Words and Phrases", equation 5.
    """
    _require_counts(counts)
    _require_rates(sample=sample)
    ratio = sample / (counts.double() / counts.sum())
    kept = ratio.sqrt() + ratio if sample else torch.ones_like(ratio)
    return kept.clamp(max=1.0).float()


def noise_distribution(counts: Tensor) -> Tensor:
    """Say how often each word is drawn as a negative: by its count to the power 0.75.

    Args:
        counts: (V,) how often each word comes.

    Returns:
        (V,) float32 probabilities.

    Raises:
        ValueError: if `counts` are no counts.

    Source: Mikolov et al. 2013, "Distributed Representations of Words and Phrases", section 2.2.
    """
    _require_counts(counts)
    weights = counts.double() ** 0.75
    return (weights / weights.sum()).float()


def _require_counts(counts: Tensor) -> None:
    if counts.ndim != 1 or not (counts >= 0).all() or not counts.any():
        raise ValueError(
            "counts must have shape (V,) with some above and none below 0, "
            f"got {reprlib.repr(counts.tolist())}"
        )


def _require_rates(**rates: float) -> None:
    for name, value in rates.items():
        if not isinstance(value, int | float) or not 0.0 <= value < math.inf:
            raise ValueError(f"{name} must be a finite number of at least 0, got {value!r}")


def context_windows(ids: Tensor, sentence: Tensor, reach: Tensor) -> tuple[Tensor, Tensor]:
    """Look up the neighbours of every word at once, up to a reach of its own.

    Args:
        ids: (T,) the words of all sentences.
        sentence: (T,) the number of the sentence of each; no window crosses into another.
        reach: (T,) how many words each looks to the left and to the right; W is the largest.

    Returns:
        contexts (T, 2W) ids, from left to right; mask (T, 2W), True where there is such a neighbour
        and False where a row holds any id.

    Raises:
        ValueError: if the three differ in shape or device, or are no integers of one axis.
    """
    given = {"ids": ids, "sentence": sentence, "reach": reach}
    for name, x in given.items():
        if x.ndim != 1 or len(x) != len(ids) or x.dtype != torch.int64 or x.device != ids.device:
            raise ValueError(
                f"{name} must be int64 of shape (T,) like ids, {tuple(ids.shape)} on {ids.device}, "
                f"got {x.dtype} of shape {tuple(x.shape)} on {x.device}"
            )
    window = int(reach.max()) if len(reach) else 0
    steps = torch.arange(-window, window + 1, device=ids.device)
    steps = steps[steps != 0]
    places = torch.arange(len(ids), device=ids.device).unsqueeze(1) + steps
    inside = (places >= 0) & (places < len(ids))
    places = places.clamp(0, len(ids) - 1)
    same_sentence = sentence[places] == sentence.unsqueeze(1)
    return ids[places], inside & same_sentence & (steps.abs() <= reach.unsqueeze(1))


@torch.no_grad()
def _descend(
    model: SkipGram | CBOW,
    batch: _Predictions,
    noise: Tensor,
    negatives: int,
    learning_rate: float,
) -> Tensor:
    """Take one step of gradient descent, with the gradient written by hand.

    Autograd would make gradients of the size of both matrices, though a batch touches few rows;
    this adds to those rows alone.
    The step is the gradient of the sum over the batch, not of the mean:
    each prediction moves its vectors as far as if it came alone.

    Args:
        model: the two matrices, which are changed.
        batch: B predictions.
        noise: (S,) ids of drawn words, which all predictions of the batch share.
        negatives: N, for how many words they count: the noise has the weight N / S.
        learning_rate: length of the step.

    Returns:
        The loss before the step, summed over the batch: a scalar.
    """
    inputs, outputs = model.input_embedding.weight, model.output_embedding.weight
    words, shares, predicted = batch
    center = (shares.unsqueeze(2) * F.embedding(words, inputs)).sum(dim=1)  # (B, D)
    positive, negative = F.embedding(predicted, outputs), F.embedding(noise, outputs)
    positive_score = (center * positive).sum(dim=1, keepdim=True)  # (B, 1)
    negative_scores = center @ negative.T  # (B, S)
    share = negatives / len(noise)
    # -log s(x) has the derivative -s(-x): a step down pulls together what was seen together, the
    # more the less it was expected, and pushes apart what was drawn.
    pull = learning_rate * torch.sigmoid(-positive_score)
    push = -learning_rate * share * torch.sigmoid(negative_scores)
    center_step = pull * positive + push @ negative
    outputs.index_add_(0, predicted, pull * center)
    outputs.index_add_(0, noise, push.T @ center)
    word_steps = shares.unsqueeze(2) * center_step.unsqueeze(1)  # (B, C, D)
    inputs.index_add_(0, words.flatten(), word_steps.flatten(0, 1))
    return F.softplus(-positive_score).sum() + share * F.softplus(negative_scores).sum()


def train_word2vec(
    model: SkipGram | CBOW,
    sentences: Iterable[Sequence[int]],
    *,
    window: int = 5,
    negatives: int = 5,
    sample: float = 1e-3,
    epochs: int = 5,
    learning_rate: float | None = None,
    min_learning_rate: float = 1e-4,
    batch_size: int | None = None,
    noise_size: int = 50,
    seed: int = 0,
) -> list[float]:
    """Train word vectors in place, where the model is and in the dtype that it has.

    Each epoch thins out frequent words, draws the reach of every window from 1 to `window`
    (so that near words count more), and goes through all predictions in a random order.
    The learning rate falls linearly.
    It takes some hundred bytes of memory for each word of the text.

    The objective is that of the papers and of gensim. What differs from gensim:

    - The predictions of a batch share their drawn words, more than N of them with weights that add
      up to N. On average over the draws the loss is the same, and it takes matrix products.
    - They are made with the same vectors, before any of them moves.
    - A drawn word may happen to be the word to predict.
    - The gradient of CBOW is that of the mean: gensim leaves out the division by C, so that here
      CBOW wants a larger learning rate.

    Args:
        model: the model to train.
        sentences: lists of ids; leave out the ids of unknown words.
        window: the largest reach of a context to each side, in words.
        negatives: N, how much drawn words count for each prediction.
        sample: as in :func:`~transformer_ref.word2vec.keep_probability`;
            a small text wants a large one, or 0 for none.
        epochs: times through the text.
        learning_rate: the first learning rate; None = 0.025 for skip-gram, 0.1 for CBOW.
        min_learning_rate: the last one.
        batch_size: predictions a step; None = 512, but at most V / 4 and at least 16, since steps
            of the same word add up, and with too many in a batch training diverges.
        noise_size: S, the words drawn for a batch.
        seed: of everything that is drawn. The first weights are drawn when the model is made.

    Returns:
        The mean loss of each epoch, in nats a prediction.

    Raises:
        ValueError: if an argument is out of its range, an id is outside the vocabulary,
            no sentence has two words, or `sample` leaves no two words together.
        FloatingPointError: if training diverges.

    Source: Mikolov et al. 2013, both papers.
    """
    if batch_size is None:
        batch_size = min(512, max(16, len(model.weight) // 4))
    if learning_rate is None:
        learning_rate = 0.1 if isinstance(model, CBOW) else 0.025
    require_at_least_one(
        window=window,
        negatives=negatives,
        epochs=epochs,
        batch_size=batch_size,
        noise_size=noise_size,
    )
    _require_rates(sample=sample, learning_rate=learning_rate, min_learning_rate=min_learning_rate)
    if learning_rate < min_learning_rate:
        raise ValueError(
            f"learning_rate must be at least min_learning_rate, {min_learning_rate}, "
            f"got {learning_rate}"
        )
    device = model.weight.device
    ids, sentence = _flatten(sentences, len(model.weight))
    counts = torch.bincount(ids, minlength=len(model.weight))
    keep, noise = keep_probability(counts, sample).to(device), noise_distribution(counts).to(device)
    ids, sentence = ids.to(device), sentence.to(device)
    generator = torch.Generator(device).manual_seed(seed)
    losses = []
    for epoch in range(epochs):
        predictions = _draw_predictions(model, ids, sentence, keep[ids], window, generator)
        size = len(predictions.predicted)
        if size == 0:
            raise ValueError(f"sample={sample!r} left no two words together: take more, or 0")
        order = torch.randperm(size, generator=generator, device=device).split(batch_size)
        drawn = torch.multinomial(noise, len(order) * noise_size, True, generator=generator)
        total = torch.zeros((), device=device)
        for step, (rows, words) in enumerate(zip(order, drawn.split(noise_size), strict=True)):
            done = (epoch + step / len(order)) / epochs
            rate = learning_rate + done * (min_learning_rate - learning_rate)
            batch = _Predictions(*(part.index_select(0, rows) for part in predictions))
            total += _descend(model, batch, words, negatives, rate)
        losses.append(total.item() / size)
        if not math.isfinite(losses[-1]):
            raise FloatingPointError(
                f"learning_rate={learning_rate!r} with batch_size={batch_size} made the training "
                f"diverge in epoch {epoch + 1}: take a smaller one"
            )
    return losses


def _draw_predictions(
    model: SkipGram | CBOW,
    ids: Tensor,
    sentence: Tensor,
    keep: Tensor,
    window: int,
    generator: torch.Generator,
) -> _Predictions:
    """Draw which words (T,) stay and how far each looks; ask the model for its predictions."""
    kept = torch.rand(ids.shape, generator=generator, device=ids.device) < keep
    ids, sentence = ids[kept], sentence[kept]
    reach = torch.randint(1, window + 1, ids.shape, generator=generator, device=ids.device)
    return model._predictions(ids, *context_windows(ids, sentence, reach))


def _flatten(sentences: Iterable[Sequence[int]], vocab_size: int) -> tuple[Tensor, Tensor]:
    """Put all sentences behind each other: ids (T,), and the number of the sentence of each."""
    try:
        sentences = [list(sentence) for sentence in sentences]
    except TypeError as error:
        raise ValueError(f"sentences must be lists of ids, got something else: {error}") from error
    words = list(chain.from_iterable(sentences))
    strange = next((word for word in words if not isinstance(word, int)), None)
    if strange is not None:
        raise ValueError(f"sentences must hold ids as int, got {strange!r}")
    if max(map(len, sentences), default=0) < 2:
        raise ValueError("sentences must hold one of at least two words, got none")
    if not 0 <= min(words) <= max(words) < vocab_size:
        raise ValueError(
            f"sentences must hold ids in 0..{vocab_size - 1} (vocabulary of {vocab_size}), "
            f"got ids from {min(words)} to {max(words)}"
        )
    lengths = torch.tensor([len(sentence) for sentence in sentences])
    return torch.tensor(words), torch.repeat_interleave(lengths)


def nearest_neighbours(weight: Tensor, token_id: int, k: int) -> list[int]:
    """Find the words whose vectors point most nearly the same way.

    Args:
        weight: (V, D) floating, one row a word.
        token_id: the word.
        k: how many to find, at most V - 1.

    Returns:
        k ids by falling cosine, without the word itself.

    Raises:
        ValueError: if `weight` is no floating matrix, or `token_id` or `k` is out of range.
    """
    _require_rows(weight, k, token_id=token_id)
    return _by_cosine(weight, weight[token_id], k, without=(token_id,))


def analogy(weight: Tensor, a: int, b: int, c: int, k: int = 1) -> list[int]:
    """Find what is to `c` as `b` is to `a`: the words nearest to b - a + c, of unit vectors.

    Args:
        weight: (V, D) floating, one row a word.
        a: a word.
        b: its counterpart.
        c: the word whose counterpart is sought.
        k: how many to find, at most V less the words given.

    Returns:
        k ids by falling cosine, without the three words.

    Raises:
        ValueError: if `weight` is no floating matrix, or an id or `k` is out of range.

    Source: Mikolov et al. 2013, "Linguistic Regularities in Continuous Space Word Representations".
    """
    _require_rows(weight, k, a=a, b=b, c=c)
    of_a, of_b, of_c = F.normalize(weight[[a, b, c]].detach(), dim=1)
    return _by_cosine(weight, of_b - of_a + of_c, k, without=(a, b, c))


@torch.no_grad()
def _by_cosine(weight: Tensor, vector: Tensor, k: int, without: Sequence[int]) -> list[int]:
    cosines = F.cosine_similarity(weight, vector.unsqueeze(0))
    cosines[list(without)] = -torch.inf
    return cosines.topk(k).indices.tolist()


def _require_rows(weight: Tensor, k: int, **ids: int) -> None:
    if weight.ndim != 2 or not weight.is_floating_point():
        raise ValueError(
            f"weight must be floating with shape (V, D), got {weight.dtype} of shape "
            f"{tuple(weight.shape)}"
        )
    require_token_id(len(weight), **ids)
    others = len(weight) - len(set(ids.values()))
    if not isinstance(k, int) or not 1 <= k <= others:
        raise ValueError(f"k must lie in 1..{others} (the other words), got {k!r}")


def save_vectors(path: str | Path, tokens: Sequence[str], weight: Tensor) -> None:
    """Write word vectors in the text format of word2vec, which gensim and others read.

    The first line is "V D", then each line is a token and its D numbers, between single spaces.

    Args:
        path: the file; it is written whole or not at all.
        tokens: V distinct tokens without white space.
        weight: (V, D) floating; written as float32, each number with the digits that restore it.

    Raises:
        ValueError: if tokens and rows differ in number, a token cannot be told from the numbers
            beside it or comes twice, or a number is not finite.
        OSError: if the file cannot be written.
    """
    if weight.ndim != 2 or len(tokens) != len(weight) or not weight.is_floating_point():
        raise ValueError(
            f"weight must be floating with shape ({len(tokens)}, D), a row a token, "
            f"got {weight.dtype} of shape {tuple(weight.shape)}"
        )
    if not weight.isfinite().all():
        raise ValueError("weight must be finite, got infinity or NaN")
    strange = next((token for token in tokens if token.split() != [token]), None)
    if strange is not None:
        raise ValueError(f"tokens must be without white space and not empty, got {strange!r}")
    if len(set(tokens)) < len(tokens):
        raise ValueError(f"tokens must be distinct, got {len(set(tokens))} in {len(tokens)}")
    lines = [f"{len(weight)} {weight.shape[1]}"]
    for token, row in zip(tokens, weight.detach().float().tolist(), strict=True):
        lines.append(" ".join((token, *(f"{number:.9g}" for number in row))))
    write_text(Path(path), "\n".join(lines) + "\n")


def load_vectors(path: str | Path) -> tuple[list[str], Tensor]:
    """Read word vectors in the text format of word2vec, as gensim and the first tool write it.

    Args:
        path: the file.

    Returns:
        tokens, a list of V; weight (V, D) float32 in main memory.

    Raises:
        OSError: if the file is missing or damaged; the message names it and the line.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except FileNotFoundError as error:
        raise OSError(f"word vectors are missing: {path} does not exist") from error
    except UnicodeDecodeError as error:
        raise OSError(f"word vectors are damaged: {path}: {error}") from error
    # Not splitlines(), nor split(): other white space may be part of a token.
    header, *lines = text.removesuffix("\n").split("\n")
    sizes = header.split()
    if len(sizes) != 2 or not all(size.isdecimal() for size in sizes):
        raise OSError(f"{path}, line 1: must be two numbers, V and D, got {header[:40]!r}")
    size, d_model = map(int, sizes)
    if len(lines) != size:
        raise OSError(f"{path}, line 1: says {size} words, but {len(lines)} lines follow")
    weight = np.empty((size, d_model), dtype=np.float32)
    tokens: dict[str, int] = {}
    for row, line in enumerate(lines):
        token, *numbers = line.rstrip(" \r").split(" ")
        if len(numbers) != d_model or not token or not _fill(weight[row], numbers):
            raise OSError(
                f"{path}, line {row + 2}: must be a token and {d_model} numbers, got {line[:40]!r}"
            )
        if tokens.setdefault(token, row) != row:
            raise OSError(
                f"{path}, line {row + 2}: {token!r} stands on line {tokens[token] + 2} too"
            )
    return list(tokens), torch.from_numpy(weight)


def _fill(row: NDArray[np.float32], numbers: Sequence[str]) -> bool:
    """Write the numbers into a row; False if one is no finite number of float32."""
    try:
        with np.errstate(over="ignore"):  # what is too large becomes infinite
            row[:] = [float(number) for number in numbers]
    except ValueError:
        return False
    return bool(np.isfinite(row).all())
