"""The answers to the tasks of the assignment "decoding": the text of the solution's cells.

A mistake is a change to one of them.
"""

# The cells name no type for a model, nor for lists that are still empty.
# mypy: disable-error-code="no-untyped-def, var-annotated"

from __future__ import annotations

import torch
from torch import Tensor

from transformer_ref import attention as reference


def greedy_decode(
    next_logits,
    bos_id: int,
    eos_id: int,
    max_len: int,
) -> list[int]:
    """Choose the most likely token until the end.

    Args:
        next_logits: takes the ids so far, a list of int, and returns the
            logits (V,) of what follows.
        bos_id: the first entry of every answer.
        eos_id: the token that ends an answer.
        max_len: the largest number of entries, including both of these.

    Returns:
        The ids, a list of int: bos_id, tokens, and eos_id if it was chosen.
    """
    ids = [bos_id]
    while len(ids) < max_len:
        ids.append(int(next_logits(ids).argmax()))
        if ids[-1] == eos_id:
            break
    return ids


def sample(
    logits: Tensor,
    temperature: Tensor,
    top_k: Tensor,
    top_p: Tensor,
    uniform: Tensor,
) -> tuple[Tensor, Tensor]:
    """Choose a token in each row, with the settings of that row.

    Args:
        logits: (B, V), floating point.
        temperature: (B,), above 0; the logits are divided by it.
        top_k: (B,), int64: how many tokens stay at most.
        top_p: (B,): the most likely tokens stay until they have this
            probability together, including the one that crosses it.
        uniform: (B,), from 0 to 1: where to look on the line.

    Returns:
        The probabilities (B, V) after all cuts, and the tokens (B,), int64.
    """
    probs = (logits / temperature[:, None]).softmax(dim=-1)
    ordered, order = probs.sort(dim=-1, descending=True)
    places = torch.arange(logits.shape[-1], device=logits.device)
    ordered = ordered * (places < top_k[:, None])
    ordered = ordered / ordered.sum(dim=-1, keepdim=True)
    likelier = ordered.cumsum(dim=-1) - ordered
    ordered = ordered * (likelier < top_p[:, None])
    ordered = ordered / ordered.sum(dim=-1, keepdim=True)
    probs = torch.zeros_like(probs).scatter(-1, order, ordered)
    tokens = (probs.cumsum(dim=-1) <= uniform[:, None]).sum(dim=-1)
    return probs, tokens


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
        max_len: the largest number of entries, all counted; at least 2.
        length_penalty: alpha; at the end, sum / n ** alpha is compared,
            with n tokens after bos_id.

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
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cache: tuple[Tensor, Tensor] | None,
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Attend from one new token to all tokens so far.

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


def continue_prompt(
    next_logits,
    prompt: list[int],
    eos_id: int,
    max_len: int,
) -> list[int]:
    """Continue a prompt, as above and without the bugs.

    Args:
        next_logits: takes the ids so far, a list of int, and returns the
            logits (V,) of what follows.
        prompt: the ids to start with; not changed.
        eos_id: the token that ends an answer.
        max_len: the largest number of entries, including the prompt.

    Returns:
        The ids, a list of int: the prompt, tokens, and eos_id if it was
        chosen.
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
    """Continue every prompt, as above and without the bug.

    Args:
        next_logits: takes the ids of one row so far, a list of int, and
            returns the logits (V,) of what follows.
        prompts: one list of ids for each row, all of one length.
        eos_id: the token that ends a row.
        max_len: the largest number of entries of a row, including its
            prompt.

    Returns:
        The rows, a list of lists of int: the prompt, tokens, and eos_id if
        it was chosen. They may differ in length.
    """
    rows = [list(prompt) for prompt in prompts]
    at_work = rows
    for _ in range(max_len - len(prompts[0])):
        for row in at_work:
            row.append(int(next_logits(row).argmax()))
        at_work = [row for row in at_work if row[-1] != eos_id]  # ended for good
    return rows


def search_or_model(
    next_log_probs,
    said: list[int],
    listed: list[list[int]],
) -> tuple[float, str]:
    """Measure whether the search or the model is to blame for an answer.

    Args:
        next_log_probs: takes the ids so far, a list of int, and returns the
            log-probabilities (V,) of what follows.
        said: the ids of an answer, from the begin token to the end token.
        listed: the right answers, one or more, each as `said`.

    Returns:
        The gap, a float: log-probability of the most likely right answer
        minus that of `said`; and the verdict: "right", "search" or "model".
    """

    def log_probability(ids):
        return sum(next_log_probs(ids[:t])[ids[t]].item() for t in range(1, len(ids)))

    gap = max(log_probability(ids) for ids in listed) - log_probability(said)
    if said in listed:
        return gap, "right"
    return gap, "search" if gap > 0 else "model"


def cache_bytes(
    config: dict[str, int],
    tokens: int,
    source: int,
    free: int,
) -> tuple[int, int]:
    """Count the bytes of a key/value cache, and how many such caches fit.

    Args:
        config: "layers", "heads", "d_head" and "bytes" (of one number), and
            maybe "kv_heads" and "window".
        tokens: of the answer so far, at least 1.
        source: tokens of the source, 0 for a model without an encoder.
        free: bytes of memory.

    Returns:
        Two int: the bytes for one answer, and how many answers fit at once.
    """
    heads = config.get("kv_heads", config["heads"])
    kept = min(tokens, config.get("window", tokens)) + source
    each = 2 * heads * config["d_head"] * config["bytes"]  # a key and a value
    total = config["layers"] * kept * each
    return total, free // total
