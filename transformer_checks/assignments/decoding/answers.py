"""The answers to the tasks of the assignment "decoding": the text of the solution's cells.

A mistake is a change to one of them.
"""

# The cells name no type for a model, nor for lists that are still empty.
# mypy: disable-error-code="no-untyped-def, var-annotated"

from __future__ import annotations

import math
from collections import Counter

import torch
from torch import Tensor

from transformer_ref import attention as reference


def greedy_decode(next_logits, bos_id: int, eos_id: int, max_len: int) -> list[int]:
    """Say the likeliest token until the end.

    Args:
        next_logits: takes the ids so far, a list of int, and returns the
            logits (V,) of what follows.
        bos_id: the first entry of every answer.
        eos_id: the token that ends an answer.
        max_len: entries that the answer has at most, all counted.

    Returns:
        The ids, a list of int: bos_id, tokens, and eos_id if it was said.
    """
    ids = [bos_id]
    while len(ids) < max_len:
        ids.append(int(next_logits(ids).argmax()))
        if ids[-1] == eos_id:
            break
    return ids


def filter_logits(logits: Tensor, top_k: int | None = None, top_p: float | None = None) -> Tensor:
    """Leave the likeliest tokens: first top_k, then top_p on what is left.

    Args:
        logits: (..., V), floating point.
        top_k: how many tokens stay at most; None means all.
        top_p: the likeliest tokens stay until they have this probability
            together, the one that crosses it included; None means all.

    Returns:
        (..., V): the logits of the tokens that stay, -inf for the others.
    """
    if top_k is not None:
        smallest = logits.topk(min(top_k, logits.shape[-1])).values[..., -1:]
        logits = logits.masked_fill(logits < smallest, -math.inf)
    if top_p is not None:
        probabilities, order = logits.softmax(dim=-1).sort(dim=-1, descending=True)
        likelier = probabilities.cumsum(dim=-1) - probabilities
        left_out = torch.zeros_like(logits, dtype=torch.bool)
        left_out = left_out.scatter(-1, order, likelier >= top_p)
        logits = logits.masked_fill(left_out, -math.inf)
    return logits


def beam_search(
    next_log_probs,
    bos_id: int,
    eos_id: int,
    beam_size: int,
    max_len: int,
    length_penalty: float = 0.0,
) -> list[int]:
    """Search for the best sequence with several hypotheses at once.

    Args:
        next_log_probs: takes the ids so far, a list of int, and returns the
            log-probabilities (V,) of what follows.
        bos_id: the first entry of every sequence.
        eos_id: the token that ends a sequence.
        beam_size: hypotheses that are kept after each step.
        max_len: entries that a sequence has at most, all counted; from 2 up.
        length_penalty: alpha; sum / n ** alpha is what is compared in the
            end, with n tokens behind bos_id.

    Returns:
        The ids of the best sequence, ended or not, a list of int.
    """
    live, ended = [(0.0, [bos_id])], []
    while live and len(live[0][1]) < max_len:
        grown = [
            (total + step, [*ids, token])
            for total, ids in live
            for token, step in enumerate(next_log_probs(ids).tolist())
        ]
        grown.sort(key=lambda pair: pair[0], reverse=True)
        kept = grown[:beam_size]
        ended += [pair for pair in kept if pair[1][-1] == eos_id]
        live = [pair for pair in kept if pair[1][-1] != eos_id]

    def score(pair):
        total, ids = pair
        return total / (len(ids) - 1) ** length_penalty

    return max(ended + live, key=score)[1]


def cached_attention(
    query: Tensor, key: Tensor, value: Tensor, cache: tuple[Tensor, Tensor] | None
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Attend from one new token to all so far.

    Args:
        query: (B, H, 1, K), floating point, of the new token.
        key: (B, H, 1, K), of the new token.
        value: (B, H, 1, K), of the new token.
        cache: None, or (keys, values) of the S tokens before, each
            (B, H, S, K), the oldest first.

    Returns:
        The output (B, H, 1, K), and the new cache: (keys, values), each
        (B, H, S + 1, K), the oldest first.
    """
    keys, values = key, value
    if cache is not None:
        keys = torch.cat([cache[0], key], dim=2)
        values = torch.cat([cache[1], value], dim=2)
    output, _ = reference.scaled_dot_product_attention(query, keys, values)
    return output, (keys, values)


def continue_prompt(next_logits, prompt: list[int], eos_id: int, max_len: int) -> list[int]:
    """Go on with a prompt, as above and without the bugs.

    Args:
        next_logits: takes the ids so far, a list of int, and returns the
            logits (V,) of what follows.
        prompt: the ids to start with; not changed.
        eos_id: the token that ends an answer.
        max_len: entries that the result has at most, the prompt counted.

    Returns:
        The ids, a list of int: the prompt, tokens, and eos_id if it was said.
    """
    ids = list(prompt)
    for _ in range(max_len - len(prompt)):
        best = int(next_logits(ids).argmax())
        ids.append(best)
        if best == eos_id:  # the token of this step
            break
    return ids


def continue_all(
    next_logits, prompts: list[list[int]], eos_id: int, max_len: int
) -> list[list[int]]:
    """Go on with every prompt, as above and without the bug.

    Args:
        next_logits: takes the ids of one row so far, a list of int, and
            returns the logits (V,) of what follows.
        prompts: one list of ids for each row, all of one length.
        eos_id: the token that ends a row.
        max_len: entries that a row has at most, its prompt counted.

    Returns:
        The rows, a list of lists of int: the prompt, tokens, and eos_id if
        it was said. They need not be of one length.
    """
    rows = [list(prompt) for prompt in prompts]
    at_work = rows
    for _ in range(max_len - len(prompts[0])):
        for row in at_work:
            row.append(int(next_logits(row).argmax()))
        at_work = [row for row in at_work if row[-1] != eos_id]  # ended for good
    return rows


def search_or_model(next_log_probs, said: list[int], listed: list[list[int]]) -> tuple[float, str]:
    """Measure whether the search or the model is to blame for an answer.

    Args:
        next_log_probs: takes the ids so far, a list of int, and returns the
            log-probabilities (V,) of what follows.
        said: the ids of an answer, from the begin token to the end token.
        listed: the right answers, one or more, each as `said`.

    Returns:
        The gap, a float: log-probability of the likeliest right answer minus
        that of `said`; and the verdict: "right", "search" or "model".
    """

    def log_probability(ids):
        return sum(next_log_probs(ids[:t])[ids[t]].item() for t in range(1, len(ids)))

    gap = max(log_probability(ids) for ids in listed) - log_probability(said)
    if said in listed:
        return gap, "right"
    return gap, "search" if gap > 0 else "model"


def clipped_precision(
    hypothesis: list[str], references: list[list[str]], n: int
) -> tuple[int, int]:
    """Count the n-grams of a translation that references have too.

    Args:
        hypothesis: the tokens of the translation.
        references: one or more translations made by people, each its tokens.
        n: how many tokens an n-gram has, at least 1.

    Returns:
        Two int: how many n-grams of the hypothesis count, each at most as often
        as in the reference that has it most often; and how many it has in all.
    """

    def ngrams(tokens):
        return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))

    mine = ngrams(hypothesis)
    allowed = Counter()
    for translation in references:
        allowed |= ngrams(translation)  # the larger of two counts
    return (mine & allowed).total(), mine.total()
