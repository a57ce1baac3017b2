"""Makes the cases of the assignment "decoding".

A model is a plain function here, from the ids so far to what may come next, so small that every
sequence can be written down. Greedy search has one right answer on it, and so has beam search where
the beam holds all sequences, or on a garden path: readings that differ in when they stop, or in
what an ended hypothesis does to the beam, agree there.
Where an answer is judged, it and the right ones are drawn until they are far enough apart, and
sentences until other ways to count give other numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from transformer_checks.assignments.made_arguments import token_function
from transformer_checks.assignments.shared_cases import (
    asked_again,
    described,
    different_sizes,
    normal,
    plain_case,
)
from transformer_checks.running.asking import ReturnedError, describe
from transformer_checks.task import SAID, Case, Made, Maker

Prefix = tuple[int, ...]
Table = dict[Prefix, np.ndarray]
# More calls of a model than these, for 30 tokens at most, are an endless loop.
MOST_CALLS = 300
# Two sequences whose scores are closer than this are not tried: rounding might choose.
GAP = 0.02
# Nor is a top_p that the probabilities reach within this.
PROBABILITY_GAP = 2e-3
# A vocabulary with ids for which `is` is not ==.
LARGE = 300
# What was said and what is right are at least so far apart, in log-probability.
BLAME_GAP = 0.1


# --- cases: one way through a small model ----------------------------------------------------


def scripted(
    rng: np.random.Generator, size: int, paths: Sequence[Sequence[int]], **options: Any
) -> dict[str, Any]:
    """Describe a model whose likeliest tokens are written down.

    Args:
        rng: the source.
        size: V.
        paths: sequences; after each beginning of one, its next token is the likeliest.
        options: `starts`, how many tokens of each path are given to the answer (1); `dtype`;
            `shift`, added to all logits; `without`, an id whose logit is always -inf.

    Returns:
        the description of next_logits. What follows a token *by itself* is another token than
        the one that follows the same token in a path.
    """
    dtype, shift = options.get("dtype", "float32"), options.get("shift", 0.0)

    def favouring(token: int) -> np.ndarray:
        logits = rng.standard_normal(size)
        logits[token] = logits.max() + rng.uniform(0.5, 2.0)
        if "without" in options:
            logits[options["without"]] = -np.inf
        return np.asarray(logits + shift).astype(dtype)

    table: Table = {}
    avoided: dict[int, set[int]] = {}
    for path in paths:
        for place in range(options.get("starts", 1), len(path)):
            table[tuple(path[:place])] = favouring(path[place])
            avoided.setdefault(path[place - 1], set()).add(path[place])
    barred = {options["without"]} if "without" in options else set()
    ends = {path[-1] for path in paths}
    after = []
    for token in range(size):
        free = [each for each in range(size) if each not in avoided.get(token, set()) | barred]
        going_on = [each for each in free if each not in ends] or free
        after.append(favouring(int(rng.choice(going_on))))
    said = f"over {size} tokens"
    return token_function(np.stack(after), table, said=said, most_calls=MOST_CALLS)


def _words(rng: np.random.Generator, size: int, count: int, without: set[int]) -> list[int]:
    """Draw tokens, of which no two neighbours are the same."""
    free = [each for each in range(size) if each not in without]
    found: list[int] = []
    while len(found) < count:
        token = int(rng.choice(free))
        if not found or token != found[-1]:
            found.append(token)
    return found


def _greedy_case(
    rng: np.random.Generator, size: int, words: int, max_len: int, **options: Any
) -> Case:
    """Make a case of greedy_decode: `words` tokens between the two special ones.

    `bos` and `eos` may be given, and `path` in place of all.
    """
    taken = {options.get("bos"), options.get("eos"), options.get("without")}
    free = [int(each) for each in rng.permutation(size) if each not in taken]
    bos, eos = options.pop("bos", free[0]), options.pop("eos", free[1])
    barred = {bos, eos, options.get("without", eos)}
    path = options.pop("path", None) or [bos, *_words(rng, size, words, barred), eos]
    model = scripted(rng, size, [path], **options)
    arguments = {"next_logits": model, "bos_id": path[0], "eos_id": eos, "max_len": max_len}
    return Case(_named(arguments, options.get("dtype", "float32")), arguments)


def _named(arguments: dict[str, Any], dtype: str) -> str:
    return ", ".join([*described(arguments), *[dtype] * (dtype != "float32")])


def greedy_decode_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of greedy_decode: the end comes, at once, at the limit, too late, or never."""
    size = int(rng.integers(8, 13))
    spread = different_sizes(rng, 4, 8)
    cases = [
        _greedy_case(rng, 4, 2, 6, bos=1, eos=2),
        _greedy_case(rng, 5, 0, 6),
        _greedy_case(rng, 6, 9, 5),
        _greedy_case(rng, 6, 4, 6),
        _greedy_case(rng, 7, 5, 6),
        *(_greedy_case(rng, 5, 3, 1), _greedy_case(rng, 5, 3, 2)),
        _greedy_case(rng, size, 6, 20, dtype="float64"),
        _greedy_case(rng, 7, 4, 12, shift=-30.0),
        # 0 is neither begin nor end, and the begin token is said again.
        _greedy_case(rng, 9, 0, 12, eos=3, path=[2, spread[0], 0, spread[1], 2, spread[2], 3]),
        _greedy_case(rng, 8, 0, 11, eos=0, path=[1, 5, 5, 5, 6, 6, 0]),
        _greedy_case(rng, 6, 3, 9, eos=5, without=3),
        _greedy_case(rng, 12, 20, 30),
        _greedy_case(rng, 6, 5, 9, bos=0),
    ]
    asked_again(cases, cases[7])
    cases.append(_greedy_case(rng, LARGE, 66, 70, bos=LARGE - 1, eos=LARGE - 2))
    return cases


def find_the_bug_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of continue_prompt: prompts of one to five tokens, with the end and without."""

    def drawn(given: int, words: int, max_len: int, **options: Any) -> Case:
        size = options.pop("size", 0) or int(rng.integers(7, 11))
        eos = options.pop("eos", None) or int(rng.integers(size))
        path = [*_words(rng, size, given + words, {eos}), eos]
        model = scripted(rng, size, [path], starts=given, **options)
        arguments = {
            "next_logits": model,
            "prompt": path[:given],
            "eos_id": eos,
            "max_len": max_len,
        }
        return Case(_named(arguments, options.get("dtype", "float32")), arguments)

    cases = [
        *(drawn(1, 3, 9), drawn(2, 2, 9), drawn(3, 4, 12), drawn(5, 3, 15)),
        *(drawn(2, 9, 7), drawn(4, 9, 8), drawn(1, 8, 6)),  # the limit comes first
        *(drawn(2, 0, 8), drawn(3, 4, 8), drawn(2, 3, 5)),  # at once, at the limit, one too late
        *(drawn(4, 6, 5), drawn(1, 12, 20, dtype="float64"), drawn(3, 3, 10, shift=-30.0)),
    ]
    asked_again(cases, cases[2])
    cases.append(drawn(66, 4, 80, size=LARGE, eos=LARGE - 1))
    return cases


def find_another_bug_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of continue_all: rows that end at different steps, and some that do not.

    In each, a row has ended some steps before another.
    """

    def drawn(given: int, words: Sequence[int], max_len: int, **options: Any) -> Case:
        size = options.pop("size", 0) or int(rng.integers(9, 13))
        eos = options.pop("eos", None) or int(rng.integers(size))
        firsts = [int(each) for each in rng.permutation(size) if each != eos]
        paths = [
            [first, *_words(rng, size, given + count - 1, {eos, first}), eos]
            for first, count in zip(firsts, words, strict=False)
        ]
        if options.pop("again", False):
            # Behind its end, the first row would say it again just when the second one ends.
            paths[0] += [*_words(rng, size, words[1] - words[0] - 1, {eos}), eos]
        model = scripted(rng, size, paths, starts=given, **options)
        arguments = {
            "next_logits": model,
            "prompts": [path[:given] for path in paths],
            "eos_id": eos,
            "max_len": max_len,
        }
        return Case(_named(arguments, options.get("dtype", "float32")), arguments)

    cases = [
        *(drawn(1, (1, 3), 8), drawn(1, (4, 1), 9), drawn(2, (2, 5, 1), 12)),
        *(drawn(3, (1, 2, 3, 4), 12), drawn(2, (0, 3), 9), drawn(2, (3, 0, 1), 11)),
        *(drawn(1, (2, 20), 7), drawn(2, (20, 1, 20), 8), drawn(1, (1, 6, 3), 5)),
        *(drawn(2, (3, 1), 6), drawn(4, (1, 4, 2), 9), drawn(1, (2, 4), 9, dtype="float64")),
        *(drawn(2, (1, 5), 12, shift=-30.0), drawn(2, (1, 4), 12, again=True)),
    ]
    asked_again(cases, cases[3])
    cases.append(drawn(66, (2, 4), 80, size=LARGE, eos=LARGE - 1))
    return cases


# --- cases: filter_logits --------------------------------------------------------------------


def _kept_by_p(scores: np.ndarray, top_p: float, gap: float) -> np.ndarray | None:
    """Count how many stay in each row; None if a sum of probabilities is within `gap` of it."""
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    reached = (shares / shares.sum(axis=-1, keepdims=True)).cumsum(axis=-1)
    near = np.abs(reached - top_p).min() <= gap
    return None if near else (reached < top_p).sum(axis=-1) + 1


def _between(rng: np.random.Generator, logits: np.ndarray, top_k: int | None) -> float | None:
    """Draw a top_p that no row reaches nearly.

    Where there is a top_k too, to measure on the whole distribution must give another result.

    Returns:
        the number, or None if these logits have none.
    """
    scores = np.sort(logits.astype(np.float64).reshape(-1, logits.shape[-1]))[:, ::-1]
    gap = 10 * PROBABILITY_GAP if logits.dtype == np.float16 else PROBABILITY_GAP
    for _ in range(40):
        top_p = round(float(rng.uniform(0.4, 0.92)), 3)
        kept = _kept_by_p(scores[:, :top_k], top_p, gap)
        on_all = _kept_by_p(scores, top_p, 0.0)
        if kept is None or on_all is None:
            continue
        if top_k is None or (np.minimum(on_all, top_k) != kept).any():
            return top_p
    return None


def _filter_case(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: str = "float32", **options: Any
) -> Case:
    """Make a case of filter_logits; `top_p=True` draws one, all else is taken as it is."""
    layout, scale = options.pop("layout", "contiguous"), options.pop("scale", 1.5)
    shift, peak = options.pop("shift", 0.0), options.pop("peak", 0.0)
    top_p = options.get("top_p")
    while True:
        logits = scale * normal(rng, shape, "float64") + shift
        logits[..., int(rng.integers(shape[-1]))] += peak
        logits = logits.astype(dtype)
        if any(len({*row}) < len(row) for row in logits.reshape(-1, shape[-1])):
            continue  # equal logits, which are common in float16
        if top_p is not True:
            break
        drawn = _between(rng, logits, options.get("top_k"))
        if drawn is not None:
            options["top_p"] = drawn
            break
    if "top_p" in options:
        # Both: an answer that takes *args gets its arguments by their places.
        options = {"top_k": None, **options}
    arguments = {"logits": logits, **options}
    parts = [*described(arguments), dtype, *["not contiguous"] * (layout != "contiguous")]
    return Case(", ".join(parts), arguments, layout=layout)


def filter_logits_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of filter_logits: each of the two, both, none, and their edges."""
    sizes = different_sizes(rng, 6, 12)
    cases = [
        _filter_case(rng, (sizes[0],), top_k=3),
        _filter_case(rng, (sizes[1],), top_p=True),
        _filter_case(rng, (3, sizes[2]), top_k=4, top_p=True),
        _filter_case(rng, (4, sizes[3]), "float64", top_k=2),
        _filter_case(rng, (5, sizes[4]), "float64", top_p=True),
        _filter_case(rng, (2, 3, sizes[5]), top_k=5, top_p=True),
        _filter_case(rng, (2, 3, sizes[6]), top_p=True, layout="strided"),
        _filter_case(rng, (2, sizes[0])),
        _filter_case(rng, (3, sizes[1]), top_k=None, top_p=None),
        _filter_case(rng, (2, sizes[2]), top_k=1),
        _filter_case(rng, (2, sizes[3]), top_k=sizes[3] + 4),
        _filter_case(rng, (3, sizes[4]), top_k=None, top_p=0.02),
        _filter_case(rng, (3, sizes[5]), top_p=0.9, peak=9.0),
        _filter_case(rng, (3, sizes[6]), top_k=4, top_p=0.01),
        _filter_case(rng, (2, sizes[0]), top_k=sizes[0], top_p=0.999, scale=0.4),
        _filter_case(rng, (3, sizes[1]), top_k=3, top_p=True, shift=-40.0),
        _filter_case(rng, (3, sizes[4]), "float64", top_k=4, top_p=True, shift=800.0),
        _filter_case(rng, (1, sizes[3]), top_k=4, top_p=True),
        # So flat that top_p alone would leave more than k.
        _filter_case(rng, (2, 12), top_k=3, top_p=0.8, scale=0.1),
    ]
    asked_again(cases, cases[5])
    cases += [
        _filter_case(rng, (2, 80), top_k=70),
        _filter_case(rng, (3, sizes[2]), "float16", top_k=4, top_p=True, scale=1.0),
    ]
    return cases


# --- cases: beam_search ----------------------------------------------------------------------

Score = Callable[[float, int, bool], float]


def _sequences(
    table: Table, bos: int, eos: int, max_len: int
) -> Iterator[tuple[float, list[int], bool]]:
    """Go through all that a search may return: sum of log-probabilities, ids, whether ended."""
    live: list[tuple[float, list[int]]] = [(0.0, [bos])]
    for length in range(2, max_len + 1):
        grown = [
            (total + float(step), [*ids, token])
            for total, ids in live
            for token, step in enumerate(table[tuple(ids)])
        ]
        live = [each for each in grown if each[1][-1] != eos]
        yield from ((*each, True) for each in grown if each[1][-1] == eos)
        if length == max_len:
            yield from ((*each, False) for each in live)


def _random_table(
    rng: np.random.Generator, size: int, bos: int, eos: int, max_len: int, dtype: str
) -> Table:
    """Draw log-probabilities after every beginning that has not ended."""
    table: Table = {}
    live: list[Prefix] = [(bos,)]
    for _ in range(max_len - 1):
        for ids in live:
            logits = 1.2 * rng.standard_normal(size)
            table[ids] = (logits - np.log(np.exp(logits).sum())).astype(dtype)
        live = [(*ids, token) for ids in live for token in range(size) if token != eos]
    return table


def _greedy_way(table: Table, bos: int, eos: int, max_len: int) -> list[int]:
    ids = [bos]
    while len(ids) < max_len and ids[-1] != eos:
        ids.append(int(table[tuple(ids)].argmax()))
    return ids


def _ranked(
    found: Sequence[tuple[float, list[int], bool]], score: Score
) -> list[tuple[float, list[int], bool]]:
    """Sort sequences, best first, with their scores in place of their sums."""
    scored = [(score(total, len(ids) - 1, ended), ids, ended) for total, ids, ended in found]
    return sorted(scored, key=lambda each: each[0], reverse=True)


def _divided(alpha: float) -> Score:
    return lambda total, tokens, ended: total / tokens**alpha


def _rivals(alpha: float) -> dict[str, Score]:
    """Other ways to score, which a case can be drawn to tell from the right one."""
    return {
        "no penalty": lambda total, tokens, ended: total,
        "mean": lambda total, tokens, ended: total / tokens,
        "begin counted": lambda total, tokens, ended: total / (tokens + 1) ** alpha,
        "end not counted": lambda total, tokens, ended: total / max(1, tokens - ended) ** alpha,
        "multiplied": lambda total, tokens, ended: total * tokens**alpha,
        "shifted": lambda total, tokens, ended: total / ((5 + tokens) / 6) ** alpha,
        "ended only": lambda total, tokens, ended: total / tokens**alpha if ended else -np.inf,
    }


def _full_case(
    rng: np.random.Generator, size: int, max_len: int, alpha: float | None, **options: Any
) -> Case:
    """Make a case of beam_search whose beam holds all sequences.

    Args:
        rng: the source.
        size: V.
        max_len: entries of the longest sequence.
        alpha: the length penalty; None = left out of the call.
        options: `apart`, names of rivals that must each choose another sequence; `ended`, whether
            the best one has; `length`, how many entries it has; `dtype`.

    Returns:
        the case; the best sequence is best by a margin, and greedy search misses it where it has
        more than two entries.
    """
    dtype = options.get("dtype", "float32")
    bos, eos = (int(each) for each in rng.permutation(size)[:2])
    while True:
        table = _random_table(rng, size, bos, eos, max_len, dtype)
        found = list(_sequences(table, bos, eos, max_len))
        best, second = _ranked(found, _divided(alpha or 0.0))[:2]
        rivals = [_rivals(alpha or 0.0)[name] for name in options.get("apart", ())]
        chosen = {tuple(_ranked(found, rival)[0][1]) for rival in rivals}
        if (
            best[0] - second[0] > GAP
            and len(chosen | {tuple(best[1])}) == len(rivals) + 1
            and best[2] == options.get("ended", best[2])
            and len(best[1]) == options.get("length", len(best[1]))
            and (len(best[1]) == 2 or _greedy_way(table, bos, eos, max_len) != best[1])
        ):
            break
    width = size ** (max_len - 1)
    return _beam_case(rng, size, table, (bos, eos, width, max_len), alpha, dtype)


def _beam_case(
    rng: np.random.Generator,
    size: int,
    table: Table,
    numbers: tuple[int, int, int, int],
    alpha: float | None,
    dtype: str = "float32",
) -> Case:
    logits = rng.standard_normal((size, size))
    after = (logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))).astype(dtype)
    names = ("bos_id", "eos_id", "beam_size", "max_len")
    arguments: dict[str, Any] = {
        "next_log_probs": token_function(after, table, said=f"over {size} tokens"),
        **dict(zip(names, numbers, strict=True)),
    }
    if alpha is not None:
        arguments["length_penalty"] = alpha
    return Case(_named(arguments, dtype), arguments)


def _garden_case(
    rng: np.random.Generator,
    size: int,
    deep: int,
    beam_size: int,
    alpha: float | None,
    special: tuple[int, ...] = (),
) -> Case:
    """Make a case of beam_search in which the likeliest first step leads nowhere.

    Args:
        rng: the source.
        size: V, at least 5.
        deep: steps that are certain before the two ways part.
        beam_size: 2 or 3.
        alpha: the length penalty.
        special: begin and end, if they are not drawn.

    Returns:
        the case. One way has 0.55 and then spreads over all tokens, the other 0.4 and is nearly
        certain to its end.
    """
    drawn = [int(each) for each in rng.permutation(size) if each not in special]
    bos, eos, wide, narrow, last = (*special, *drawn)[:5]
    max_len = deep + 6

    def chances(likely: dict[int, float]) -> np.ndarray:
        shares = rng.uniform(0.8, 1.2, size=size)  # no two alike
        shares[list(likely)] = 0.0
        shares *= (1 - sum(likely.values())) / shares.sum()
        shares[list(likely)] = list(likely.values())
        return np.log(shares).astype(np.float32)

    stem = (bos, *_words(rng, size, deep, {bos, eos, wide, narrow}))
    table = {stem[:place]: chances({stem[place]: 0.97}) for place in range(1, len(stem))}
    table[stem] = chances({wide: 0.55, narrow: 0.4})
    table[(*stem, narrow)] = chances({last: 0.95})
    table[(*stem, narrow, last)] = chances({eos: 0.96})
    # Not quite flat, so that no two sequences tie, and with little for the end.
    flat = rng.uniform(-0.05, 0.0, size=(size, size))
    flat[:, eos] -= 1.0
    flat -= np.log(np.exp(flat).sum(axis=-1, keepdims=True))
    case = _beam_case(rng, size, table, (bos, eos, beam_size, max_len), alpha)
    model = {**case.arguments["next_log_probs"], "after": flat.astype(np.float32)}
    return replace(case, arguments={**case.arguments, "next_log_probs": model})


def beam_search_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of beam_search: beams that hold all sequences, and garden paths."""
    cases = [
        _full_case(rng, 3, 3, 0.0, length=3),
        _full_case(rng, 3, 4, 0.0, ended=True, length=3),
        _full_case(rng, 4, 4, 0.0, apart=("mean",)),
        _full_case(rng, 4, 4, None, ended=True, length=3),
        _full_case(rng, 4, 4, 0.0, length=2, ended=True),
        _full_case(rng, 4, 4, 1.0, apart=("no penalty", "multiplied"), ended=True),
        _full_case(rng, 3, 5, 1.0, apart=("begin counted", "shifted")),
        _full_case(rng, 4, 4, 0.6, apart=("end not counted", "no penalty")),
        _full_case(rng, 3, 5, 0.8, apart=("shifted", "no penalty")),
        _full_case(rng, 4, 4, 1.0, ended=False, apart=("ended only",), dtype="float64"),
        _full_case(rng, 5, 2, 0.0),
        _full_case(rng, 3, 4, 0.0, ended=False, apart=("ended only",)),
        *(_garden_case(rng, 6, 0, 2, 0.0), _garden_case(rng, 7, 1, 3, 0.0)),
        *(_garden_case(rng, 8, 2, 2, 1.0), _garden_case(rng, 6, 0, 2, None)),
    ]
    # A beam of one is greedy decoding.
    narrow = {**cases[12].arguments, "beam_size": 1, "length_penalty": 0.0}
    cases.append(Case(_named(narrow, "float32"), narrow))
    asked_again(cases, cases[7])
    large = _garden_case(rng, LARGE, 0, 2, 0.0, special=(LARGE - 2, LARGE - 1))
    return [*cases, large]


# --- cases: cached_attention -----------------------------------------------------------------


def _make_cache(name: str, case: Case, earlier: Mapping[str, Any]) -> Made:
    """Make the pair of tensors that a cache is, laid out as the other tensors of the case."""
    description = case.arguments[name]
    if description is None:
        return Made(None)
    parts = {}
    for part in ("keys", "values"):
        tensor = torch.from_numpy(description[part].copy()).to(case.device)
        if case.layout == "strided":
            tensor = tensor.transpose(1, 2).contiguous().transpose(1, 2)
        parts[part] = tensor
    kept = dict(parts)
    return Made((parts["keys"], parts["values"]), left=lambda: kept)


CACHE = Maker(_make_cache)


def _cache_case(
    rng: np.random.Generator, length: int, dtype: str = "float32", **options: Any
) -> Case:
    """Make a case of cached_attention.

    Args:
        rng: the source.
        length: how many tokens are in the cache; 0 is None.
        dtype: of all tensors.
        options: `shape`, (B, H, K); `layout`.

    Returns:
        the case.
    """
    others = [size for size in range(2, 10) if size not in (length, length + 1)]
    drawn = (int(size) for size in rng.permutation(others)[:3])
    batch, heads, size = options.get("shape") or drawn
    layout = options.get("layout", "contiguous")
    names = ("query", "key", "value")
    arguments: dict[str, Any] = {
        name: normal(rng, (batch, heads, 1, size), dtype) for name in names
    }
    kept = (batch, heads, length, size)
    arguments["cache"] = None
    if length:
        said = f"keys and values {kept}"
        pair = {part: normal(rng, kept, dtype) for part in ("keys", "values")}
        arguments["cache"] = {SAID: said, **pair}
    parts = [*described(arguments), dtype, *["not contiguous"] * (layout != "contiguous")]
    return Case(", ".join(parts), arguments, layout=layout)


def _low(case: Case) -> Case:
    """Move all scores down, by a feature that all keys share: their exponentials are 0."""
    cached, new = case.arguments["cache"]["keys"], case.arguments["key"]
    for keys in (cached, new):
        keys[..., 0] = 30.0 * new.shape[-1] ** 0.5
    case.arguments["query"][..., 0] = -30.0
    return replace(case, name=f"{case.name}, scores near -900")


def cached_attention_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of cached_attention: no cache yet, one token in it, and many."""
    cases = [
        *(_cache_case(rng, 0), _cache_case(rng, 3), _cache_case(rng, 1)),
        *(_cache_case(rng, 5, "float64"), _cache_case(rng, 0, "float64"), _cache_case(rng, 7)),
        *(_cache_case(rng, 4, layout="strided"), _cache_case(rng, 2, shape=(1, 1, 5))),
        _cache_case(rng, 6, shape=(4, 1, 3)),
        # Sizes at which a wrong axis would fit.
        *(_cache_case(rng, 1, shape=(2, 2, 2)), _cache_case(rng, 12, "float64", shape=(1, 3, 8))),
        _cache_case(rng, 30, shape=(2, 3, 4)),
        _low(_cache_case(rng, 5, "float64")),
    ]
    asked_again(cases, cases[3])
    cases += [_cache_case(rng, 70, shape=(1, 2, 3)), _cache_case(rng, 4, "float16")]
    return cases


# --- cases: search_or_model ------------------------------------------------------------------


def known_answers(
    rng: np.random.Generator, kind: str, words: Sequence[int], **options: Any
) -> tuple[dict[str, Any], float]:
    """Draw a model, an answer of it and the right answers, until the verdict is the wanted one.

    Args:
        rng: the source.
        kind: the verdict: "search", "model", "right" where what was said is the likeliest of the
            right answers, or "right, another likelier".
        words: tokens between begin and end, first of `said`, then of each right answer but the
            one that was said.
        options: `dtype`; `scale` of the logits; `size`, V.

    Returns:
        the arguments of search_or_model, and the gap. A right answer that is likelier than the
        others is neither the first of them nor the last where there are three.
    """
    dtype = options.get("dtype", "float32")
    size = options.get("size") or int(rng.integers(6, 10))
    bos, eos = (int(each) for each in rng.permutation(size)[:2])
    while True:
        paths = [[bos, *_words(rng, size, count, {bos, eos}), eos] for count in words]
        table = _table_along(rng, size, paths, options.get("scale", 1.5), dtype)
        totals = [_log_probability(table, path) for path in paths]
        said, *others = totals
        gap = max(others) - said
        apart = len({*map(tuple, paths)}) == len(paths) and abs(gap) > BLAME_GAP
        if apart and (gap > 0) == (kind in ("search", "right, another likelier")):
            break
    # The likeliest one in the middle: whoever looks at one end only misses it.
    by_rank = sorted(range(1, len(paths)), key=lambda number: totals[number])
    listed = [paths[number] for number in by_rank]
    if len(listed) > 1:
        listed.insert(1, listed.pop())
    if kind.startswith("right"):
        listed.insert(len(listed) // 2, paths[0])
        gap = max(gap, 0.0)
    logits = rng.standard_normal((size, size))
    after = (logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))).astype(dtype)
    model = token_function(after, table, said=f"over {size} tokens")
    return {"next_log_probs": model, "said": paths[0], "listed": listed}, gap


def _table_along(
    rng: np.random.Generator,
    size: int,
    paths: Sequence[Sequence[int]],
    scale: float,
    dtype: str,
) -> Table:
    """Draw log-probabilities after every beginning of the paths, the whole paths included."""
    table: Table = {}
    for path in paths:
        for place in range(1, len(path) + 1):
            logits = scale * rng.standard_normal(size)
            row = logits - np.log(np.exp(logits).sum())
            table.setdefault(tuple(path[:place]), row.astype(dtype))
    return table


def _log_probability(table: Table, path: Sequence[int]) -> float:
    return sum(float(table[tuple(path[:t])][path[t]]) for t in range(1, len(path)))


def search_or_model_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of search_or_model: each verdict, with one right answer and with several."""
    plans: list[tuple[str, tuple[int, ...], dict[str, Any]]] = [
        ("search", (3, 3), {}),
        ("model", (3, 3), {}),
        ("right", (4, 2), {}),
        ("search", (2, 4), {}),
        ("model", (4, 2), {}),
        ("right, another likelier", (4, 3), {}),
        ("search", (4, 3, 5, 4), {}),
        ("model", (3, 5, 3, 4), {}),
        ("right", (3, 4, 5, 2), {}),
        ("right, another likelier", (5, 4, 3), {}),
        ("search", (5, 5), {"dtype": "float64"}),
        ("model", (0, 2, 1), {}),
        ("search", (1, 0, 3), {}),
        # Their probabilities are too small for a float, and their logarithms are not.
        ("search", (14, 15), {"scale": 90.0, "dtype": "float64"}),
        ("model", (16, 13, 15), {"scale": 90.0, "dtype": "float64"}),
    ]
    cases = []
    for kind, words, options in plans:
        arguments, _ = known_answers(rng, kind, words, **options)
        cases.append(Case(_named(arguments, options.get("dtype", "float32")), arguments))
    asked_again(cases, cases[6])
    arguments, _ = known_answers(rng, "search", (66, 67), size=LARGE, dtype="float64")
    cases.append(Case(_named(arguments, "float64"), arguments))
    # The likeliest of many right answers is one of the last.
    arguments, _ = known_answers(rng, "search", (4, 3, 5, 4, 3, 4))
    arguments["listed"] = arguments["listed"][::-1]
    cases.append(Case(_named(arguments, "float32"), arguments))
    return cases


# --- cases: clipped_precision ----------------------------------------------------------------

Sentence = list[str]
WORDS = ("the", "cat", "sat", "on", "a", "mat")


def _ngrams(tokens: Sentence, n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[place : place + n]) for place in range(len(tokens) - n + 1))


def _largest(counted: Iterable[Counter[tuple[str, ...]]]) -> Counter[tuple[str, ...]]:
    """Take the largest count of each n-gram."""
    allowed = Counter[tuple[str, ...]]()
    for each in counted:
        allowed |= each
    return allowed


def _unordered(counted: Counter[tuple[str, ...]]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(sorted(gram)) for gram in counted.elements())


def _other_counts(hypothesis: Sentence, references: list[Sentence], n: int) -> dict[str, int]:
    """Count in other ways, which a case can be drawn to tell from the right one."""
    mine, theirs = _ngrams(hypothesis, n), [_ngrams(each, n) for each in references]
    together = sum(theirs, Counter[tuple[str, ...]]())
    return {
        "not clipped": sum(count for gram, count in mine.items() if gram in together),
        "sum": (mine & together).total(),
        "first only": (mine & theirs[0]).total(),
        "last only": (mine & theirs[-1]).total(),
        "best reference": max((mine & each).total() for each in theirs),
        "once each": len(mine & together),
        "joined": (mine & _ngrams(sum(references, Sentence()), n)).total(),
        "unordered": (_unordered(mine) & _largest(map(_unordered, theirs))).total(),
    }


def _sentences_case(
    rng: np.random.Generator, n: int, lengths: Sequence[int], apart: Sequence[str], words: int = 3
) -> Case:
    """Make a case of clipped_precision.

    Args:
        rng: the source.
        n: of the n-grams.
        lengths: of the hypothesis, and of each reference.
        apart: names of other counts, which must all give other numbers.
        words: how many different ones there are; few, so that n-grams come again.

    Returns:
        the case. Some n-grams of the hypothesis count, and some do not.
    """
    while True:
        known = [str(each) for each in rng.permutation(WORDS)[:words]]
        hypothesis, *references = ([str(w) for w in rng.choice(known, size)] for size in lengths)
        allowed = _largest(_ngrams(each, n) for each in references)
        right = (_ngrams(hypothesis, n) & allowed).total()
        others = _other_counts(hypothesis, references, n)
        different = len({right, *(others[name] for name in apart)}) == len(apart) + 1
        if different and 0 < right < len(hypothesis) - n + 1:
            return plain_case(hypothesis=hypothesis, references=references, n=n)


def clipped_precision_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of clipped_precision: one reference and several, n from 1 to 4, and the edges."""
    several = ("sum", "first only", "best reference")
    cases = [
        _sentences_case(rng, 1, (8, 6), ("not clipped", "once each")),
        _sentences_case(rng, 2, (9, 8), ("unordered", "not clipped")),
        _sentences_case(rng, 1, (11, 5, 6), ("not clipped", *several)),
        _sentences_case(rng, 1, (10, 4, 5, 6), ("last only", *several)),
        _sentences_case(rng, 2, (11, 8, 7), several, 2),
        _sentences_case(rng, 2, (11, 8, 7), ("joined", "sum")),
        _sentences_case(rng, 2, (12, 7, 8), ("not clipped", *several), 2),
        _sentences_case(rng, 3, (12, 9, 8), ("first only", "best reference"), 2),
        _sentences_case(rng, 3, (11, 10), ("not clipped", "unordered"), 2),
        _sentences_case(rng, 4, (11, 12, 9), ("first only",), 2),
        _sentences_case(rng, 1, (5, 9, 12), ("first only",), 4),
        # A reference, and then the hypothesis, that is too short for one n-gram.
        _sentences_case(rng, 3, (9, 2, 9), (), 2),
        plain_case(hypothesis=["the", "cat"], references=[["the", "cat", "sat", "on"]], n=4),
        plain_case(hypothesis=[], references=[["a", "cat"]], n=1),
        plain_case(hypothesis=["a", "cat", "sat"], references=[["on", "the", "mat"]], n=1),
        plain_case(hypothesis=["the", "cat"], references=[["a", "mat"], ["the", "cat"]], n=2),
        plain_case(
            hypothesis=["The", "cat", "über", "Über"],
            references=[["the", "cat", "über"], ["Cat", "über"]],
            n=1,
        ),
        # Joined without their borders, the tokens would be the same.
        plain_case(hypothesis=["cats", "at", "sea"], references=[["cat", "sat", "sea"]], n=2),
    ]
    asked_again(cases, cases[2])
    cases += [
        _sentences_case(rng, 2, (70, 66), ("not clipped",), 6),
        # Only the last of many references has the tokens; case counts in references, too.
        plain_case(hypothesis=["a", "mat"], references=[*([["on"]] * 5), ["a", "mat"]], n=1),
        plain_case(hypothesis=["the", "cat"], references=[["The", "CAT", "the"]], n=1),
    ]
    return cases


def output_and_pair(returned: Any) -> tuple[Any, ...]:
    """Lay (output, (keys, values)) out flat.

    Args:
        returned: what the answer gave.

    Returns:
        output, keys and values.

    Raises:
        ReturnedError: if it has another form.
    """
    if not isinstance(returned, list | tuple) or len(returned) != 2:
        raise ReturnedError(f"expected (output, (keys, values)), received {describe(returned)}")
    output, pair = returned
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        raise ReturnedError(
            f"the second result should be a pair (keys, values), received {describe(pair)}"
        )
    return (output, *pair)
