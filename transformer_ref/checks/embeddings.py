"""Checks of the assignment "embeddings": right answers, cases, properties, tasks.

From ids to vectors (one-hot, look-up), from a text to vectors (word2vec), and back from vectors to
a score for each token (tying).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref.checks import embeddings_mistakes as mistakes
from transformer_ref.checks.cases import (
    UNSTEADY,
    described,
    followed,
    normal,
    numbered,
    plain_case,
    with_gradients,
)
from transformer_ref.checks.run import ReturnedError, describe
from transformer_ref.checks.task import Case, Task
from transformer_ref.embeddings import embedding_from_pretrained, tied_logits
from transformer_ref.word2vec import nearest_neighbours, negative_sampling_loss

__all__ = [
    "cbow_examples",
    "embed",
    "embedding_from_pretrained",
    "language_model",
    "nearest_neighbours",
    "negative_sampling_loss",
    "one_hot",
    "skipgram_pairs",
    "tied_logits",
]

# --- right answers ---------------------------------------------------------------------------


def one_hot(ids: Tensor, vocab_size: int) -> Tensor:
    """Write each id as a row of zeros with a single one.

    Args:
        ids: int64 of any shape, from 0 to V - 1.
        vocab_size: V.

    Returns:
        float32 of shape (*ids.shape, V).
    """
    return (ids.unsqueeze(-1) == torch.arange(vocab_size, device=ids.device)).float()


def embed(ids: Tensor, weight: Tensor) -> Tensor:
    """Look up a row for each id, and multiply it by sqrt(D).

    Args:
        ids: int64 of any shape, from 0 to V - 1.
        weight: (V, D) floating.

    Returns:
        (*ids.shape, D) in the dtype of `weight`.
    """
    return weight[ids] * math.sqrt(weight.shape[1])


def skipgram_pairs(ids: Sequence[int], window: int) -> list[tuple[int, int]]:
    """Pair each id with each of its neighbours.

    Args:
        ids: the words of a sentence.
        window: how far a neighbour may be away, on either side.

    Returns:
        (center, context) by the place of the centre; its contexts from left to right.
    """
    return [
        (center, context) for contexts, center in cbow_examples(ids, window) for context in contexts
    ]


def cbow_examples(ids: Sequence[int], window: int) -> list[tuple[list[int], int]]:
    """Put each id together with the list of its neighbours.

    Args:
        ids: the words of a sentence.
        window: how far a neighbour may be away, on either side.

    Returns:
        (context, center) by the place of the centre; none where there is no neighbour.
    """
    examples = []
    for place, center in enumerate(ids):
        left = ids[max(0, place - window) : place]
        context = [*left, *ids[place + 1 : place + 1 + window]]
        if context:
            examples.append((context, center))
    return examples


def language_model(ids: Tensor, weight: Tensor, positions: Tensor) -> Tensor:
    """Score the next token with one matrix for both ends, and nothing but a norm between them.

    Args:
        ids: (B, T) int64, from 0 to V - 1.
        weight: (V, D) floating.
        positions: (T, D), one vector for each place.

    Returns:
        (B, T, V): LayerNorm(sqrt(D) E[ids] + positions) E^T.
    """
    x = embed(ids, weight) + positions
    return tied_logits(F.layer_norm(x, x.shape[-1:]), weight)


# --- numbers ---------------------------------------------------------------------------------


def draw_sizes(rng: np.random.Generator, count: int, low: int = 2, high: int = 9) -> list[int]:
    """Draw different sizes, so that a wrong axis shows."""
    return [int(size) for size in rng.permutation(np.arange(low, high + 1))[:count]]


def draw_ids(
    rng: np.random.Generator, shape: tuple[int, ...], vocab_size: int, ends: bool = True
) -> np.ndarray:
    """Draw ids; the first and the last of the vocabulary are among them, or neither.

    Args:
        rng: the source.
        shape: of the ids.
        vocab_size: V, at least 3.
        ends: whether 0 and V - 1 are among them; where there is room for one only, it is 0.

    Returns:
        int64.
    """
    ids = rng.integers(1, vocab_size - 1, size=shape)
    if ends:
        places = rng.permutation(ids.size)[:2]
        ids.flat[places] = (0, vocab_size - 1)[: len(places)]
    return ids.astype(np.int64)


def tensor_case(
    arguments: dict[str, Any], dtype: str = "", layout: str = "contiguous", note: str = ""
) -> Case:
    """Make a case whose name says what is tried."""
    odd = "not contiguous" if layout == "strided" else ""
    parts = [*described(arguments), dtype, odd, note]
    return Case(", ".join(part for part in parts if part), arguments, layout=layout)


FLOAT32, FLOAT64 = "float32", "float64"
PLAIN, STRIDED = "contiguous", "strided"


# --- cases -----------------------------------------------------------------------------------


def one_hot_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of one_hot: one to three axes, and vocabularies far larger than the ids drawn."""
    cases = []
    for axes, ends in ((1, True), (1, False), (2, True), (2, False), (2, True), (3, True)):
        *shape, vocab_size = draw_sizes(rng, axes + 1)
        vocab_size += 2
        ids = draw_ids(rng, tuple(shape), vocab_size, ends)
        cases.append(tensor_case({"ids": ids, "vocab_size": vocab_size}))
    few, many = sorted(draw_sizes(rng, 2))
    odd: tuple[tuple[tuple[int, ...], int, str], ...] = (
        ((1,), few + 1, "a single id"),
        ((few, 1), many + 2, "sequences of one"),
        ((1, many), few + 2, "a batch of one"),
        ((many, many + 1), 3, "many more ids than tokens"),
        ((few, many), 40, "many more tokens than ids"),
        ((many, many), many, "B = T = V"),
    )
    for sizes, size, note in odd:
        ids = draw_ids(rng, sizes, max(size, 3), ends=size < 40)
        cases.append(tensor_case({"ids": ids, "vocab_size": max(size, 3)}, note=note))
    same = np.full((few,), rng.integers(1, many), dtype=np.int64)
    cases.append(tensor_case({"ids": same, "vocab_size": many + 2}, note="one id only"))
    followed(cases, cases[2], {}, "asked again", UNSTEADY)
    return numbered(cases)


def embed_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of embed: more tokens than features and fewer, one to three axes."""

    def case(
        axes: int,
        dtype: str,
        layout: str = PLAIN,
        ends: bool = True,
        note: str = "",
        **fixed: int,
    ) -> Case:
        *shape, vocab_size, d_model = draw_sizes(rng, axes + 2)
        vocab_size, d_model = fixed.get("V", vocab_size + 1), fixed.get("D", d_model)
        shape = [fixed.get("T", shape[0])] if axes == 1 else shape
        arguments = {
            "ids": draw_ids(rng, tuple(shape), vocab_size, ends),
            "weight": normal(rng, (vocab_size, d_model), dtype),
        }
        return tensor_case(arguments, dtype, layout, note)

    cases = [
        case(1, FLOAT32),
        case(1, FLOAT64, ends=False),
        case(2, FLOAT32),
        case(2, FLOAT32, ends=False),
        case(2, FLOAT64),
        case(3, FLOAT32),
        case(2, FLOAT32, STRIDED),
        case(1, FLOAT64, STRIDED),
        case(2, FLOAT32, note="more features than tokens", V=4, D=16, ends=False),
        case(2, FLOAT64, note="more tokens than features", V=30, D=3),
        case(1, FLOAT32, note="as many ids as tokens", T=6, V=6),
        case(1, FLOAT32, note="a single id", T=1),
    ]
    followed(cases, cases[2], {}, "asked again", UNSTEADY)
    for axes, dtype in ((1, FLOAT32), (2, FLOAT64)):
        asked = case(axes, dtype)
        ids, weight = asked.arguments["ids"], asked.arguments["weight"]
        cases.append(with_gradients(asked, rng, (*ids.shape, weight.shape[1])))
    return numbered(cases)


def window_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of skipgram_pairs and cbow_examples: short and long windows, ids that come again."""

    def sentence(length: int, vocab_size: int = 90) -> list[int]:
        """Draw ids that are all different, none of which is a place; or some of a few."""
        if vocab_size < 90:
            return [int(each) for each in rng.integers(0, vocab_size, size=length)]
        return [int(each) for each in rng.permutation(np.arange(10, 100))[:length]]

    a, b, c = sentence(3)
    drawn = [
        (sentence(3), 1),
        (sentence(5), 1),
        (sentence(6), 2),
        (sentence(9), 3),
        (sentence(8), 2),
        (sentence(4), 3),
        (sentence(3), 5),
        (sentence(2), 1),
        ([a, b, a, a, c], 1),
        ([a, a, b, c, b, b], 2),
        (sentence(11, 3), 4),
        ([0, a, 0, b, 0], 2),
        (sentence(1), 2),
        ([], 1),
        (sentence(12), int(rng.integers(4, 7))),
        (sentence(14, 4), int(rng.integers(2, 4))),
    ]
    cases = [plain_case(ids=ids, window=window) for ids, window in drawn]
    followed(cases, cases[2], {}, "asked again", UNSTEADY)
    return numbered(cases)


def loss_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of negative_sampling_loss, among them products that make the sigmoid 0 or 1."""

    def case(dtype: str, layout: str = PLAIN, note: str = "", **fixed: int) -> Case:
        batch, count, d_model = draw_sizes(rng, 3)
        batch, count = fixed.get("B", batch), fixed.get("N", count)
        shapes = {"center": (batch,), "positive": (batch,), "negatives": (batch, count)}
        # Products of size one, so that a rounded sigmoid shows only where the products are loud.
        arguments = {
            name: (normal(rng, (*shape, d_model), dtype) * d_model**-0.25).astype(dtype)
            for name, shape in shapes.items()
        }
        return tensor_case(arguments, dtype, layout, note)

    def loud(dtype: str, positive: float, negative: float) -> Case:
        """Make a case in which the products with the centre have these sizes."""
        quiet = case(dtype)
        center = quiet.arguments["center"]
        along = center / (center**2).sum(axis=-1, keepdims=True)
        noise = rng.uniform(0.7, 1.0, size=quiet.arguments["negatives"].shape[:2])
        arguments = {
            "center": center,
            "positive": (positive * along).astype(dtype),
            "negatives": (negative * noise[..., None] * along[:, None]).astype(dtype),
        }
        note = f"products of {positive:g} and up to {negative:g}"
        return tensor_case(arguments, dtype, note=note)

    cases = [
        case(FLOAT32),
        case(FLOAT32),
        case(FLOAT64),
        case(FLOAT32, STRIDED),
        case(FLOAT64, STRIDED),
        case(FLOAT32, note="one negative", N=1),
        case(FLOAT64, note="a batch of one", B=1),
        case(FLOAT32, note="as many negatives as pairs", B=4, N=4),
        loud(FLOAT32, -200.0, -200.0),
        loud(FLOAT32, 200.0, 200.0),
        loud(FLOAT64, -200.0, 200.0),
        loud(FLOAT32, 200.0, -200.0),
    ]
    followed(cases, cases[1], {}, "asked again", UNSTEADY)
    for asked in (case(FLOAT32), case(FLOAT64), loud(FLOAT32, -200.0, 200.0)):
        cotangent = np.array(rng.uniform(0.5, 2.0), dtype=asked.dtype)
        name = f"{asked.name}, gradients"
        cases.append(replace(asked, name=name, cotangent=cotangent))
    return numbered(cases)


def neighbour_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of nearest_neighbours: rows of very different lengths, angles that are not close."""

    def case(dtype: str, k: int, layout: str = PLAIN, place: int | None = None) -> Case:
        """Make a case; k counts from the end of the ranking where it is below 1."""
        vocab_size, d_model = int(rng.integers(7, 13)), int(rng.integers(3, 6))
        token_id = int(rng.integers(vocab_size)) if place is None else place % vocab_size
        weight = _apart(rng, vocab_size, d_model, token_id).astype(dtype)
        k = k if k > 0 else vocab_size - 1 + k
        return tensor_case({"weight": weight, "token_id": token_id, "k": k}, dtype, layout)

    cases = [
        case(FLOAT32, 1),
        case(FLOAT32, 2),
        case(FLOAT64, 3),
        case(FLOAT32, 3, place=0),
        case(FLOAT32, 4, place=-1),
        case(FLOAT64, 4, STRIDED),
        case(FLOAT32, 5, STRIDED),
        case(FLOAT32, 0),
        case(FLOAT64, 0, place=0),
        case(FLOAT32, -1),
        case(FLOAT64, 1, place=-1),
        case(FLOAT32, 3),
        case(FLOAT32, 0, place=-1),
        case(FLOAT64, 5),
    ]
    followed(cases, cases[2], {}, "asked again", UNSTEADY)
    return numbered(cases)


def _apart(rng: np.random.Generator, vocab_size: int, d_model: int, token_id: int) -> np.ndarray:
    """Draw rows whose cosines with one of them, also without their signs, lie apart."""
    while True:
        weight = rng.standard_normal((vocab_size, d_model))
        weight *= rng.uniform(0.3, 4.0, size=(vocab_size, 1)) / np.sqrt(d_model)
        unit = weight / np.linalg.norm(weight, axis=1, keepdims=True)
        cosines = np.delete(unit @ unit[token_id], token_id)
        gaps = np.diff(np.sort(np.append(np.abs(cosines), [0.0, 1.0])))
        if gaps.min() > 5e-3 and (cosines < 0).any() and (cosines > 0).any():
            return weight


def tied_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of tied_logits: V and D differ, but for one in which a product without .T fits."""

    def case(dtype: str, layout: str = PLAIN, note: str = "", **fixed: int) -> Case:
        batch, length, d_model, vocab_size = draw_sizes(rng, 4)
        batch, length = fixed.get("B", batch), fixed.get("T", length)
        vocab_size = fixed.get("V", vocab_size) if "square" not in note else d_model
        arguments = {
            "hidden": normal(rng, (batch, length, d_model), dtype),
            "weight": normal(rng, (vocab_size, d_model), dtype),
        }
        return tensor_case(arguments, dtype, layout, note)

    cases = [
        case(FLOAT32),
        case(FLOAT32),
        case(FLOAT64),
        case(FLOAT32, STRIDED),
        case(FLOAT64, STRIDED),
        case(FLOAT32, note="a square matrix"),
        case(FLOAT64, note="a square matrix"),
        case(FLOAT32, note="one token", T=1),
        case(FLOAT32, note="a batch of one", B=1),
        case(FLOAT64, note="a larger vocabulary", V=33),
    ]
    followed(cases, cases[1], {}, "asked again", UNSTEADY)
    for dtype in (FLOAT32, FLOAT64):
        asked = case(dtype)
        hidden, weight = asked.arguments["hidden"], asked.arguments["weight"]
        cases.append(with_gradients(asked, rng, (*hidden.shape[:-1], len(weight))))
    return numbered(cases)


def pretrained_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of embedding_from_pretrained: frozen and not, padding anywhere and nowhere."""

    def case(dtype: str, trainable: bool, pad: int | None, layout: str = PLAIN) -> Case:
        vocab_size, d_model = draw_sizes(rng, 2, 4)
        arguments = {
            "vectors": normal(rng, (vocab_size, d_model), dtype),
            "trainable": trainable,
            "pad_id": pad if pad is None else pad % vocab_size,
        }
        return tensor_case(arguments, dtype, layout)

    cases = [
        case(FLOAT32, True, None),
        case(FLOAT32, False, None),
        case(FLOAT32, True, 0),
        case(FLOAT32, False, 0),
        case(FLOAT64, True, 2),
        case(FLOAT64, False, 1),
        case(FLOAT32, True, -1),
        case(FLOAT32, False, -1),
        case(FLOAT64, True, 0),
        case(FLOAT64, True, None),
        case(FLOAT32, True, 3, STRIDED),
        case(FLOAT64, False, None, STRIDED),
    ]
    followed(cases, cases[4], {}, "asked again", UNSTEADY)
    return numbered(cases)


def bug_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of language_model; in each of them the bug as found shows."""

    def case(dtype: str, layout: str = PLAIN, note: str = "", **fixed: int) -> Case:
        # With eight features or more, the small number in LayerNorm makes no difference.
        batch, length, vocab_size, d_model = *draw_sizes(rng, 3, 3, 7), int(rng.integers(8, 13))
        batch, length = fixed.get("B", batch), fixed.get("T", length)
        vocab_size = fixed.get("V", vocab_size)
        arguments = {
            "ids": draw_ids(rng, (batch, length), vocab_size),
            "weight": (0.5 * normal(rng, (vocab_size, d_model), dtype)).astype(dtype),
            "positions": normal(rng, (length, d_model), dtype),
        }
        return tensor_case(arguments, dtype, layout, note)

    cases = [
        case(FLOAT32),
        case(FLOAT32),
        case(FLOAT64),
        case(FLOAT64),
        case(FLOAT32, STRIDED),
        case(FLOAT64, STRIDED),
        case(FLOAT32, note="a batch of one", B=1),
        case(FLOAT32, note="one token", T=1),
        case(FLOAT64, note="a longer text", T=20),
        case(FLOAT32, note="a larger vocabulary", V=31),
    ]
    followed(cases, cases[1], {}, "asked again", UNSTEADY)
    for dtype in (FLOAT32, FLOAT64):
        asked = case(dtype)
        ids, weight = asked.arguments["ids"], asked.arguments["weight"]
        cases.append(with_gradients(asked, rng, (*ids.shape, len(weight))))
    return numbered(cases)


# --- properties ------------------------------------------------------------------------------


def one_one_a_row(case: Case, values: Mapping[str, Any]) -> str | None:
    """Say so if a row has not exactly one number that is not zero."""
    ones = (values["one_hot"] != 0).sum(axis=-1)
    if (ones != 1).any():
        place = tuple(int(index) for index in np.argwhere(ones != 1)[0])
        return (
            f"each row should hold a single one and zeros; that of `ids{list(place)}` holds "
            f"{int(ones[place])} numbers that are not zero"
        )
    return None


def loss_is_finite(case: Case, values: Mapping[str, Any]) -> str | None:
    """Say so if the loss is infinite."""
    if not np.isfinite(values["loss"]).all():
        return (
            f"the loss is {float(values['loss']):g}: a sigmoid was rounded to 0 or 1 before the "
            "logarithm was taken"
        )
    return None


def neighbours_are_others(case: Case, values: Mapping[str, Any]) -> str | None:
    """Say so if the token is its own neighbour, or one of them is no token."""
    token_id, size = case.arguments["token_id"], len(case.arguments["weight"])
    if token_id in values["ids"]:
        return f"the token itself, {token_id}, is among its neighbours: {values['ids']}"
    strange = [each for each in values["ids"] if not 0 <= each < size]
    if strange:
        return f"{strange[0]} is no id: there are {size} tokens, with ids from 0 to {size - 1}"
    return None


# --- what is looked at -----------------------------------------------------------------------


def entries_as_tuples(returned: Any) -> Any:
    """Take a pair that is a list for one that is a tuple."""
    if type(returned) not in (list, tuple):
        return returned
    return [tuple(each) if type(each) is list else each for each in returned]


def rows_and_a_step(embedding: Any) -> tuple[Tensor, Tensor]:
    """Look all tokens up, take one step of training that makes each number 1 smaller, look again.

    Args:
        embedding: what an answer returned.

    Returns:
        the (V, D) rows before and after the step.

    Raises:
        ReturnedError: if it is no nn.Embedding.
    """
    if not issubclass(type(embedding), nn.Embedding):
        raise ReturnedError(f"expected an nn.Embedding, received {describe(embedding)}")
    weight = embedding.weight
    ids = torch.arange(len(weight), device=weight.device)
    rows = embedding(ids)
    if rows.requires_grad:
        rows.sum().backward()
    before = rows.detach().clone()
    with torch.no_grad():
        for parameter in embedding.parameters():
            if parameter.grad is not None:
                parameter -= parameter.grad.to_dense()
        return before, embedding(ids)


# --- tasks -----------------------------------------------------------------------------------

HERE = "transformer_ref.checks.embeddings"
EVERYWHERE = (
    "Results keep the device and the floating dtype of the inputs. The arguments are not changed. "
    "Gradients reach every input that is floating."
)
WINDOW = (
    "ids: a list of int; window: an int of at least 1, how far a context may be away from the "
    "centre, to the left and to the right, the same for each centre."
)

TASKS: tuple[Task, ...] = (
    Task(
        key="embeddings.one_hot",
        stub="one_hot(ids, vocab_size)",
        contract=(
            "ids: int64 with at least one axis, values from 0 to V - 1; vocab_size: V; returns "
            "float32 of shape (*ids.shape, V) on the device of ids: 1 at the place of the id, 0 "
            "elsewhere. The arguments are not changed."
        ),
        kind="function",
        returns=("one_hot",),
        reference=one_hot,
        cases=one_hot_cases,
        properties=(one_one_a_row,),
        forbidden=("torch.nn.functional.one_hot", f"{HERE}.one_hot"),
        misconceptions=mistakes.ONE_HOT,
    ),
    Task(
        key="embeddings.embed",
        stub="embed(ids, weight)",
        contract=(
            "ids: int64 with at least one axis, values from 0 to V - 1; weight (V, D); returns "
            f"(*ids.shape, D): row ids[...] of weight, times sqrt(D). {EVERYWHERE}"
        ),
        kind="function",
        returns=("embedded",),
        reference=embed,
        cases=embed_cases,
        forbidden=(f"{HERE}.embed", "transformer_ref.embeddings.TokenEmbedding"),
        misconceptions=mistakes.EMBED,
    ),
    Task(
        key="embeddings.skipgram_pairs",
        stub="skipgram_pairs(ids, window)",
        contract=(
            f"{WINDOW} Returns a list of pairs (center, context), one for each id that is at most "
            "window places away from the centre and not at its place. By the place of the centre; "
            "the contexts of one centre from left to right. The arguments are not changed."
        ),
        kind="function",
        returns=("pairs",),
        form=list[tuple[int, int]],
        observe=entries_as_tuples,
        reference=skipgram_pairs,
        cases=window_cases,
        forbidden=(f"{HERE}.skipgram_pairs",),
        misconceptions=mistakes.SKIPGRAM,
    ),
    Task(
        key="embeddings.cbow_examples",
        stub="cbow_examples(ids, window)",
        contract=(
            f"{WINDOW} Returns a list of pairs (context, center), by the place of the centre. The "
            "context is a list of the ids that are at most window places away, from left to "
            "right, without the centre; at the edges it is shorter. A centre without any context "
            "is left out. The arguments are not changed."
        ),
        kind="function",
        returns=("examples",),
        form=list[tuple[list[int], int]],
        observe=entries_as_tuples,
        reference=cbow_examples,
        cases=window_cases,
        forbidden=(f"{HERE}.cbow_examples",),
        misconceptions=mistakes.CBOW,
    ),
    Task(
        key="embeddings.negative_sampling_loss",
        stub="negative_sampling_loss(center, positive, negatives)",
        contract=(
            "center (B, D), positive (B, D), negatives (B, N, D); returns a scalar tensor: "
            "-log s(c.p) minus the sum over the negatives of log s(-c.n), with s the sigmoid, "
            "then the mean over the batch. Finite, with finite gradients, for products of +-200. "
            f"{EVERYWHERE}"
        ),
        kind="function",
        returns=("loss",),
        reference=negative_sampling_loss,
        cases=loss_cases,
        properties=(loss_is_finite,),
        forbidden=("transformer_ref.word2vec.negative_sampling_loss",),
        misconceptions=mistakes.LOSS,
    ),
    Task(
        key="embeddings.nearest_neighbours",
        stub="nearest_neighbours(weight, token_id, k)",
        contract=(
            "weight (V, D); token_id and k: int, k from 1 to V - 1; returns a list of k int: the "
            "ids whose rows have the largest cosine with that of token_id, which is not among "
            "them, the nearest first. Equal cosines and rows of zeros are not tried. The "
            "arguments are not changed."
        ),
        kind="function",
        returns=("ids",),
        form=list[int],
        reference=nearest_neighbours,
        cases=neighbour_cases,
        properties=(neighbours_are_others,),
        forbidden=("transformer_ref.word2vec.nearest_neighbours",),
        misconceptions=mistakes.NEIGHBOURS,
    ),
    Task(
        key="embeddings.tied_logits",
        stub="tied_logits(hidden, weight)",
        contract=(
            "hidden (B, T, D), weight (V, D), the matrix of the embedding; returns (B, T, V): "
            f"hidden @ weight^T, without a scale, a bias or a softmax. {EVERYWHERE}"
        ),
        kind="function",
        returns=("logits",),
        reference=tied_logits,
        cases=tied_cases,
        forbidden=("transformer_ref.embeddings.tied_logits",),
        misconceptions=mistakes.TIED,
    ),
    Task(
        key="embeddings.embedding_from_pretrained",
        stub="embedding_from_pretrained(vectors, trainable, pad_id)",
        contract=(
            "vectors (V, D); trainable: bool; pad_id: int or None; returns an nn.Embedding whose "
            "rows are the vectors, of their dtype and on their device, not scaled. Training "
            "changes the rows if trainable, else none. The row of pad_id stays as it came in "
            "either case; None: there is no such row. Whether it shares memory with vectors is "
            "not judged. Judged on all its rows, before and after a step that makes each number "
            "that is trained 1 smaller."
        ),
        kind="function",
        returns=("rows", "rows_after_a_step"),
        observe=rows_and_a_step,
        reference=embedding_from_pretrained,
        cases=pretrained_cases,
        forbidden=("transformer_ref.embeddings.embedding_from_pretrained",),
        misconceptions=mistakes.PRETRAINED,
    ),
    Task(
        key="embeddings.find_the_bug",
        stub="language_model(ids, weight, positions)",
        contract=(
            "ids (B, T) int64, values from 0 to V - 1; weight (V, D); positions (T, D); returns "
            "the logits (B, T, V): h E^T with E the weight and h the LayerNorm, over the features "
            "and without parameters, of sqrt(D) E[ids] + positions. "
            f"{EVERYWHERE}"
        ),
        kind="function",
        returns=("logits",),
        reference=language_model,
        cases=bug_cases,
        forbidden=(f"{HERE}.language_model",),
        misconceptions=mistakes.BUG,
    ),
)
