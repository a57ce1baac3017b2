"""The tasks of the assignment "embeddings".

From ids to vectors (one-hot, look-up), from a text to vectors (word2vec), and back from vectors to
a score for each token (tying).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from transformer_checks.assignments.embeddings import answers
from transformer_checks.assignments.embeddings.cases import (
    EMBEDDING,
    LOSS,
    bug_cases,
    embed_cases,
    loss_cases,
    neighbour_cases,
    one_hot_cases,
    pretrained_cases,
    rows_cases,
    tied_cases,
    window_cases,
)
from transformer_checks.assignments.embeddings.properties import (
    dead_are_those_without_gradient,
    loss_is_finite,
    neighbours_are_others,
    one_one_a_row,
)
from transformer_checks.assignments.misconceptions import misconceptions_of
from transformer_checks.running.asking import ReturnedError, describe
from transformer_checks.task import FunctionTask, Task

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

HERE = "transformer_checks.embeddings"
EVERYWHERE = (
    "Results keep the device and the floating dtype of the inputs. The arguments are not changed. "
    "Gradients reach every input that is floating."
)
WINDOW = (
    "ids: a list of int; window: an int of at least 1, how far a context may be away from the "
    "centre, to the left and to the right, the same for each centre."
)
MISCONCEPTIONS = misconceptions_of("embeddings")
TASKS: tuple[Task, ...] = (
    FunctionTask(
        key="embeddings.one_hot",
        stub="one_hot(ids, vocab_size)",
        contract=(
            "ids: int64 with at least one axis, values from 0 to V - 1; vocab_size: V; returns "
            "float32 of shape (*ids.shape, V) on the device of ids: 1 at the place of the id, 0 "
            "elsewhere. The arguments are not changed."
        ),
        returns=("one_hot",),
        reference=answers.one_hot,
        cases=one_hot_cases,
        properties=(one_one_a_row,),
        forbidden=("torch.nn.functional.one_hot", f"{HERE}.one_hot"),
        misconceptions=MISCONCEPTIONS["one_hot"],
    ),
    FunctionTask(
        key="embeddings.embed",
        stub="embed(ids, weight)",
        contract=(
            "ids: int64 with at least one axis, values from 0 to V - 1; weight (V, D); returns "
            f"(*ids.shape, D): row ids[...] of weight, times sqrt(D). {EVERYWHERE}"
        ),
        returns=("embedded",),
        reference=answers.embed,
        cases=embed_cases,
        forbidden=(f"{HERE}.embed", "transformer_ref.embeddings.TokenEmbedding"),
        misconceptions=MISCONCEPTIONS["embed"],
    ),
    FunctionTask(
        key="embeddings.skipgram_pairs",
        stub="skipgram_pairs(ids, window)",
        contract=(
            f"{WINDOW} Returns a list of pairs (center, context), one for each id that is at most "
            "window places away from the centre and not at its place. By the place of the centre; "
            "the contexts of one centre from left to right. The arguments are not changed."
        ),
        returns=("pairs",),
        form=list[tuple[int, int]],
        observe=entries_as_tuples,
        reference=answers.skipgram_pairs,
        cases=window_cases,
        forbidden=(f"{HERE}.skipgram_pairs",),
        misconceptions=MISCONCEPTIONS["skipgram_pairs"],
    ),
    FunctionTask(
        key="embeddings.cbow_examples",
        stub="cbow_examples(ids, window)",
        contract=(
            f"{WINDOW} Returns a list of pairs (context, center), by the place of the centre. The "
            "context is a list of the ids that are at most window places away, from left to "
            "right, without the centre; at the edges it is shorter. A centre without any context "
            "is left out. The arguments are not changed."
        ),
        returns=("examples",),
        form=list[tuple[list[int], int]],
        observe=entries_as_tuples,
        reference=answers.cbow_examples,
        cases=window_cases,
        forbidden=(f"{HERE}.cbow_examples",),
        misconceptions=MISCONCEPTIONS["cbow_examples"],
    ),
    FunctionTask(
        key="embeddings.negative_sampling_loss",
        stub="negative_sampling_loss(center, positive, negatives)",
        contract=(
            "center (B, D), positive (B, D), negatives (B, N, D); returns a scalar tensor: "
            "-log s(c.p) minus the sum over the negatives of log s(-c.n), with s the sigmoid, "
            "then the mean over the batch. Finite, with finite gradients, for products of +-200. "
            f"{EVERYWHERE}"
        ),
        returns=("loss",),
        reference=answers.negative_sampling_loss,
        cases=loss_cases,
        properties=(loss_is_finite,),
        forbidden=(
            f"{HERE}.negative_sampling_loss",
            "transformer_ref.word2vec.negative_sampling_loss",
        ),
        misconceptions=MISCONCEPTIONS["negative_sampling_loss"],
    ),
    FunctionTask(
        key="embeddings.nearest_neighbours",
        stub="nearest_neighbours(weight, token_id, k)",
        contract=(
            "weight (V, D); token_id and k: int, k from 1 to V - 1; returns a list of k int: the "
            "ids whose rows have the largest cosine with that of token_id, which is not among "
            "them, the nearest first. Equal cosines and rows of zeros are not tried. The "
            "arguments are not changed."
        ),
        returns=("ids",),
        form=list[int],
        reference=answers.nearest_neighbours,
        cases=neighbour_cases,
        properties=(neighbours_are_others,),
        forbidden=(f"{HERE}.nearest_neighbours", "transformer_ref.word2vec.nearest_neighbours"),
        misconceptions=MISCONCEPTIONS["nearest_neighbours"],
    ),
    FunctionTask(
        key="embeddings.tied_logits",
        stub="tied_logits(hidden, weight)",
        contract=(
            "hidden (B, T, D), weight (V, D), the matrix of the embedding; returns (B, T, V): "
            f"hidden @ weight^T, without a scale, a bias or a softmax. {EVERYWHERE}"
        ),
        returns=("logits",),
        reference=answers.tied_logits,
        cases=tied_cases,
        forbidden=(f"{HERE}.tied_logits", "transformer_ref.embeddings.tied_logits"),
        misconceptions=MISCONCEPTIONS["tied_logits"],
    ),
    FunctionTask(
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
        returns=("rows", "rows_after_a_step"),
        observe=rows_and_a_step,
        reference=answers.embedding_from_pretrained,
        cases=pretrained_cases,
        forbidden=(
            f"{HERE}.embedding_from_pretrained",
            "transformer_ref.embeddings.embedding_from_pretrained",
        ),
        misconceptions=MISCONCEPTIONS["embedding_from_pretrained"],
    ),
    FunctionTask(
        key="embeddings.find_the_bug",
        stub="language_model(ids, weight, positions)",
        contract=(
            "ids (B, T) int64, values from 0 to V - 1; weight (V, D); positions (T, D); returns "
            "the logits (B, T, V): h E^T with E the weight and h the LayerNorm, over the features "
            "and without parameters, of sqrt(D) E[ids] + positions. "
            f"{EVERYWHERE}"
        ),
        returns=("logits",),
        reference=answers.language_model,
        cases=bug_cases,
        forbidden=(f"{HERE}.language_model",),
        misconceptions=MISCONCEPTIONS["find_the_bug"],
    ),
    FunctionTask(
        key="embeddings.dead_rows",
        stub="dead_rows(embedding, loss)",
        contract=(
            "embedding: an nn.Embedding of V rows, with a padding_idx or without, its weight "
            "trainable and its gradients dense; loss takes the embedding and returns a scalar "
            "tensor, the same one each time; returns a list of int, rising: the ids whose rows get "
            "from the loss a gradient of exactly 0 in all D numbers. Any other row's gradient has "
            "a number beyond 0.00001. Gradients from before may lie in weight.grad and do not "
            "count; what lies there afterwards is not judged. The weight is not changed."
        ),
        returns=("rows",),
        form=list[int],
        reference=answers.dead_rows,
        cases=rows_cases,
        properties=(dead_are_those_without_gradient,),
        forbidden=(f"{HERE}.dead_rows",),
        misconceptions=MISCONCEPTIONS["dead_rows"],
        makers={"embedding": EMBEDDING, "loss": LOSS},
    ),
)
