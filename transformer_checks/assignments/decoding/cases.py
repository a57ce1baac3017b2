"""Makes the cases of the assignment "decoding".

A model is a plain function here, from the ids so far to what may come next, so small that every
sequence can be written down. Greedy search has one right answer on it, and so has beam search where
the beam holds all sequences, or on a garden path: readings that differ in when they stop, or in
what an ended hypothesis does to the beam, agree there.
Where an answer is judged, it and the right ones are drawn until they are far enough apart, and
rows of logits until other orders of the cuts give other tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from transformer_checks.running.asking import ReturnedError, type_and_size
from transformer_checks.task import SAID, Case, Made, Maker
from transformer_checks.translation import later

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


# --- cases: sample ---------------------------------------------------------------------------


def _chances(scores: np.ndarray, temperature: float, cuts: tuple[int, float]) -> np.ndarray:
    """Take one row through temperature, top-k and top-p; all numbers are float64."""
    top_k, top_p = cuts
    shares = np.exp((scores - scores.max()) / temperature)
    order = np.argsort(-shares)
    shares[order[top_k:]] = 0.0
    shares /= shares.sum()
    reached = shares[order].cumsum() - shares[order]
    shares[order[reached >= top_p]] = 0.0
    return np.asarray(shares / shares.sum())


def _drawn(chances: np.ndarray, order: np.ndarray, uniform: float) -> int:
    """Find the token at a place of the line on which the tokens lie in this order."""
    return int(order[(chances[order].cumsum() <= uniform).sum()])


def _is_clear(scores: np.ndarray, settings: tuple[float, ...], gap: float) -> bool:
    """Whether rounding cannot change what stays of a row, nor what is drawn."""
    temperature, top_k, top_p, uniform = settings
    on_k = _chances(scores, temperature, (int(top_k), 1.0))
    reached = np.sort(on_k)[::-1].cumsum()[: int(top_k) - 1]
    borders = _chances(scores, temperature, (int(top_k), top_p)).cumsum()
    nearest = min(
        np.abs(np.append(reached, 0.0) - top_p).min(),
        np.abs(np.append(borders, 0.0) - uniform).min(),
    )
    # Two logits that are nearly the same are one number in half precision.
    apart = np.diff(np.sort(scores / temperature)).min() > (gap if gap > PROBABILITY_GAP else 1e-5)
    return bool(apart and nearest > gap)


def _tells_apart(scores: np.ndarray, settings: tuple[float, ...]) -> bool:
    """Whether other orders of the steps keep other tokens, and other lines give another token."""
    temperature, top_k, top_p, uniform = settings
    cuts = (int(top_k), top_p)
    right = _chances(scores, temperature, cuts)
    on_all = _chances(scores, temperature, (len(scores), top_p))
    cut_first = _chances(scores, 1.0, cuts)
    others = ((on_all > 0) & (_chances(scores, temperature, (int(top_k), 1.0)) > 0), cut_first > 0)
    ids, ranked = np.arange(len(scores)), np.argsort(-right)
    token = _drawn(right, ids, uniform)
    tokens = {_drawn(right, ranked, uniform), _drawn(right, ids[::-1], uniform), int(ranked[0])}
    return token not in tokens and all((kept != (right > 0)).any() for kept in others)


def _sample_case(
    rng: np.random.Generator, rows: int, size: int, dtype: str = "float32", **options: Any
) -> Case:
    """Make a case of sample.

    Args:
        rng: the source.
        rows: B.
        size: V.
        dtype: of all but top_k.
        options: `top_k` and `top_p`, for all rows; `shift` and `scale` of the logits; `layout`;
            `note`, for the name.

    Returns:
        the case. Unless cuts are given, other orders of the steps give other results in each row.
    """
    gap = 0.02 if dtype == "float16" else PROBABILITY_GAP
    plain = options.keys() & {"top_k", "top_p"}
    found: list[tuple[np.ndarray, tuple[float, ...]]] = []
    while len(found) < rows:
        scores = options.get("scale", 1.3) * rng.standard_normal(size) + options.get("shift", 0.0)
        scores = scores.astype(dtype)
        top_k = options.get("top_k", int(rng.integers(3, size)))
        reals = (
            rng.choice([rng.uniform(0.3, 0.7), rng.uniform(1.4, 2.5)]),
            options.get("top_p", rng.uniform(0.4, 0.92)),
            rng.uniform(0.03, 0.97),
        )
        temperature, top_p, uniform = (float(np.round(each, 3).astype(dtype)) for each in reals)
        settings = (temperature, float(top_k), top_p, uniform)
        row = scores.astype(np.float64)
        if _is_clear(row, settings, gap) and (plain or _tells_apart(row, settings)):
            found.append((scores, settings))
    columns = np.array([settings for _, settings in found]).T
    arguments = {
        "logits": np.stack([scores for scores, _ in found]),
        "temperature": columns[0].astype(dtype),
        "top_k": columns[1].astype(np.int64),
        "top_p": columns[2].astype(dtype),
        "uniform": columns[3].astype(dtype),
    }
    layout = options.get("layout", "contiguous")
    notes = [options.get("note", ""), "not contiguous" if layout != "contiguous" else ""]
    parts = [f"logits {rows, size}", dtype, *filter(None, notes)]
    return Case(", ".join(parts), arguments, layout=layout)


def sample_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of sample: all steps, one of the cuts alone, none of them, and their edges."""
    sizes = different_sizes(rng, 6, 12)
    cases = [
        _sample_case(rng, 3, sizes[0]),
        _sample_case(rng, 5, sizes[1], "float64"),
        _sample_case(rng, 4, sizes[2], layout="strided"),
        _sample_case(rng, 1, sizes[3]),
        _sample_case(rng, 8, sizes[4], "float64", note="another batch"),
        _sample_case(rng, 3, sizes[1], top_k=sizes[1], top_p=1.0, note="nothing is cut off"),
        _sample_case(rng, 3, sizes[2], top_k=3, top_p=1.0, note="only top-k"),
        _sample_case(rng, 3, sizes[5], top_k=sizes[5] + 9, note="only top-p"),
        _sample_case(rng, 2, sizes[6], top_k=1, note="top_k=1"),
        _sample_case(rng, 2, sizes[0], top_p=0.05, note="a small top_p"),
        _sample_case(rng, 4, sizes[3], shift=-40.0, note="logits near -40"),
        _sample_case(rng, 3, sizes[4], "float64", shift=800.0, note="logits near 800"),
        # As many rows as tokens, where a wrong axis would fit.
        _sample_case(rng, 6, 6, note="as many rows as tokens"),
    ]
    asked_again(cases, cases[1])
    cases += [
        _sample_case(rng, 70, sizes[5], top_k=5),
        _sample_case(rng, 2, 90, "float64", scale=3.0),
        _sample_case(rng, 3, 6, "float16"),
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


# --- cases: cache_bytes ----------------------------------------------------------------------


def _bytes_case(rng: np.random.Generator, tokens: int, **options: Any) -> Case:
    """Make a case of cache_bytes.

    Args:
        rng: the source.
        tokens: of the answer.
        options: `source` (0); `group`, how many query heads share keys and values; `window`;
            `fits`, how many caches the memory has room for, and `spare`, the share of one that is
            left (0.6); `short`, how many bytes are missing (0).

    Returns:
        the case.
    """
    layers, heads, size = (int(each) for each in rng.permutation([3, 5, 7, 11, 13])[:3])
    group, source = options.get("group", 1), options.get("source", 0)
    config = {"layers": layers, "heads": heads * group, "d_head": 8 * size}
    config["bytes"] = int(rng.choice([1, 2, 4]))
    if group > 1:
        config["kv_heads"] = heads
    kept = tokens
    if "window" in options:
        config["window"] = options["window"]
        kept = min(tokens, options["window"])
    total = 16 * layers * heads * size * config["bytes"] * (kept + source)
    free = int((options.get("fits", int(rng.integers(2, 9))) + options.get("spare", 0.6)) * total)
    return plain_case(
        config=config, tokens=tokens, source=source, free=free - options.get("short", 0)
    )


def cache_bytes_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of cache_bytes: with and without shared heads, a window and a source."""
    few, many = int(rng.integers(5, 30)), int(rng.integers(1_000, 9_000))
    cases = [
        _bytes_case(rng, few),
        _bytes_case(rng, many, group=4),
        _bytes_case(rng, few + 9, source=int(rng.integers(3, 9))),
        _bytes_case(rng, few + 20, window=few),
        _bytes_case(rng, few, window=few + 25, group=2),
        _bytes_case(rng, many, window=many // 3, source=many // 7, group=8),
        _bytes_case(rng, few, window=few + 6, source=few + 40),
        _bytes_case(rng, 1, group=6),
        _bytes_case(rng, many + 1, window=many + 1, group=3),
        _bytes_case(rng, few + 3, source=17, fits=4, spare=0.0),  # to the last byte
        _bytes_case(rng, few + 4, fits=4, spare=0.0, short=1),  # a byte is missing
        _bytes_case(rng, many, group=2, fits=0, spare=0.7),  # not even one
        _bytes_case(rng, 131_072, group=8, fits=1, spare=0.9),
        _bytes_case(rng, few, source=few, fits=0, spare=0.0),  # no memory at all
    ]
    asked_again(cases, cases[5])
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
        said = later("expected (output, (keys, values)), received {what}")
        raise ReturnedError(said, **type_and_size(returned))
    output, pair = returned
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        said = later("the second result should be a pair (keys, values), received {what}")
        raise ReturnedError(said, **type_and_size(pair))
    return (output, *pair)
