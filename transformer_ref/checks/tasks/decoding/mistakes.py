"""The misconceptions of the assignment "decoding", task by task, each with its implementation.

They come from the notes that the course corrects, and from loops that are widely copied: a name
that is nowhere assigned, a row that goes on behind its end, top-p that drops the token which
crosses the line, a mask that is never put back into the order of the vocabulary, a causal mask on
a single query.
Twins that give the same are one entry: an end token that is compared with a text and one that is
compared with the wrong name; a penalty that is multiplied and one with the wrong sign; rows that
all stop with the first one and rows that are cut to the shortest.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from transformer_ref.checks.authoring.attention_recipes import (
    Recipe,
    over_keys,
    products,
    scaled,
    scaled_by,
    softmax_over,
)
from transformer_ref.checks.authoring.shared_mistakes import (
    CHANGES_INPUT,
    FIRST_ROUND,
    FLOAT32_ONLY,
    LARGEST_LOGIT,
    NOTEBOOK,
    SAMPLED,
    TENSOR_FOR_NUMBER,
    Step,
    in_float32,
)
from transformer_ref.checks.authoring.shared_mistakes import with_wrong as _with
from transformer_ref.checks.task import Misconception

Ids = list[int]
NextTokens = Callable[[Ids], Tensor]
ENDLESS = r"was called more than [\d,]+ times"


# --- a loop of one token at a time, taken apart ----------------------------------------------


def likeliest(logits: Tensor) -> int:
    """Return the place of the largest logit."""
    return int(logits.argmax())


def _drawn(logits: Tensor) -> int:
    return int(torch.multinomial(logits.softmax(dim=-1), 1))


def _one_round(max_len: int, given: int) -> int:
    return min(max_len, given + 1)


def _of_rank(rank: int) -> Callable[[Tensor], int]:
    return lambda logits: int(logits.argsort(descending=True)[rank])


@dataclass(frozen=True)
class Loop:
    """Decoding with the likeliest token, right unless a step is replaced.

    Call it as (next_logits, ids, eos_id, max_len); ids are what is given.
    """

    choose: Callable[[Tensor], int] = likeliest
    shown: Callable[[Ids], Ids] = list
    ends: Callable[[int, int], bool] = operator.eq
    limit: Callable[[int, int], int] = lambda max_len, given: max_len
    finish: Callable[[Ids, int, int, int], Ids] = lambda ids, given, eos_id, max_len: ids

    def __call__(
        self, next_logits: NextTokens, ids: Sequence[int], eos_id: int, max_len: int
    ) -> Ids:
        """Go on with the ids."""
        found, given = list(ids), len(ids)
        while len(found) < self.limit(max_len, given):
            found.append(self.choose(next_logits(self.shown(found))))
            if self.ends(found[-1], eos_id):
                break
        return self.finish(found, given, eos_id, max_len)


RIGHT = Loop()


def _greedy(**steps: Any) -> Step:
    """Return greedy_decode with steps of the loop replaced."""
    loop = replace(RIGHT, **steps)

    def wrong(next_logits: NextTokens, bos_id: int, eos_id: int, max_len: int) -> Ids:
        return loop(next_logits, [bos_id], eos_id, max_len)

    return wrong


def _never(token: int, eos_id: int) -> bool:
    return False


def _no_limit(max_len: int, given: int) -> int:
    return 10**9


def _new_tokens(max_len: int, given: int) -> int:
    return max_len + given


def _one_less(max_len: int, given: int) -> int:
    return max_len - 1


def _without_given(ids: Ids, given: int, eos_id: int, max_len: int) -> Ids:
    return ids[given:]


def _without_end(ids: Ids, given: int, eos_id: int, max_len: int) -> Ids:
    return ids[:-1] if len(ids) > given and ids[-1] == eos_id else ids


def _only_words(ids: Ids, given: int, eos_id: int, max_len: int) -> Ids:
    return _without_end(ids, given, eos_id, max_len)[given:]


def _filled(token: int | None) -> Callable[[Ids, int, int, int], Ids]:
    """Return a finish that fills up to the limit, with the end token where None is given."""

    def finish(ids: Ids, given: int, eos_id: int, max_len: int) -> Ids:
        return ids + [eos_id if token is None else token] * (max_len - len(ids))

    return finish


def _end_added(ids: Ids, given: int, eos_id: int, max_len: int) -> Ids:
    """End in any case: behind the limit, or in the place of the last token."""
    return ids if len(ids) > given and ids[-1] == eos_id else [*ids, eos_id]


def _end_put(ids: Ids, given: int, eos_id: int, max_len: int) -> Ids:
    return [*ids[: max_len - 1], eos_id] if len(ids) >= max_len else ids


def _ends_at_zero(token: int, eos_id: int) -> bool:
    return token == 0


def _ends_at_zero_too(token: int, eos_id: int) -> bool:
    return token in (0, eos_id)


def _begin_not_said(next_logits: NextTokens, bos_id: int, eos_id: int, max_len: int) -> Ids:
    ids = [bos_id]
    while len(ids) < max_len and (ids[-1] != eos_id):
        logits = next_logits(ids).clone()
        logits[bos_id] = -math.inf
        ids.append(int(logits.argmax()))
    return ids


def _repeats_none(next_logits: NextTokens, bos_id: int, eos_id: int, max_len: int) -> Ids:
    ids = [bos_id]
    while len(ids) < max_len and (ids[-1] != eos_id):
        logits = next_logits(ids).clone()
        logits[ids[1:]] = -math.inf
        ids.append(int(logits.argmax()))
    return ids


NEVER_STOPS = Misconception(
    "never-stops",
    "the end token does not stop the loop, which always runs to the limit",
    "What is behind the end token is noise. Compare the id that was just chosen with the id "
    "`eos_id`: a text or another name is never equal to it.",
    (),
)
NO_LIMIT = Misconception(
    "no-limit",
    "nothing stops the loop where the end token does not come",
    "A model need not ever say the end token. Count: `max_len` is the number of all entries.",
    (),
    ENDLESS,
)
GIVEN_LEFT_OUT = Misconception(
    "begin-left-out",
    "what was given is missing at the front of the answer",
    "The answer starts with it. Look at what the list holds before the loop, or at a slice in the "
    "end.",
    (),
)
END_LEFT_OUT = Misconception(
    "end-left-out",
    "the end token is missing in the answer",
    "If the model said it, it is the last entry. Look at which comes first: to append the token or "
    "to leave the loop.",
    (),
)
TOO_LONG = Misconception(
    "limit-counts-new-tokens",
    "the answer may be too long: the limit counts the new tokens only",
    "`max_len` is the number of all entries, those that were given included. Look at how often the "
    "loop runs.",
    (),
)
END_AND_LIMIT = Misconception(
    "end-left-out-and-too-long",
    "the end token is missing, and the limit counts the new tokens only",
    "The end token is the last entry, if it came. And `max_len` is the number of all entries.",
    (),
)
TOO_SHORT = Misconception(
    "one-too-short",
    "the loop stops one token before the limit",
    "`max_len` entries are allowed, not one less. Look at the < and the - 1.",
    (),
)
LAST_ONLY = Misconception(
    "last-token-only",
    "the model is asked about the last token only",
    "What comes next depends on all that came before. Hand over the whole list.",
    (),
)
LEAST = Misconception(
    "least-likely",
    "the least likely token is taken",
    "A larger logit is a larger probability. Look for a min, or for a sort that goes up.",
    (),
)
FILLED_UP = Misconception(
    "filled-up",
    "behind the end the answer is filled up to `max_len`",
    "One sequence needs no padding. It stops with the end token.",
    (),
)
END_ADDED = Misconception(
    "end-added-at-the-limit",
    "an end token is written where the model did not say one",
    "An answer that ran into the limit is not finished, and shows it. Only the model says the end.",
    (),
)
STOPS_AT_ZERO = Misconception(
    "stops-at-id-0",
    "the loop stops at the id 0",
    "0 is a token like others. The end is `eos_id`; a truth value asks for 0.",
    (),
)


def _of_the_notebook(next_logits: NextTokens, bos_id: int, eos_id: int, max_len: int) -> Ids:
    return RIGHT(next_logits, [1], 0, max_len)


GREEDY = (
    _with(SAMPLED, _greedy(choose=_drawn)),
    _with(
        LARGEST_LOGIT,
        _greedy(choose=lambda logits: int(logits.max())),
        _greedy(choose=lambda logits: logits.max().item()),
    ),
    _with(FIRST_ROUND, _greedy(limit=_one_round)),
    _with(
        TENSOR_FOR_NUMBER,
        _greedy(finish=lambda ids, given, eos_id, max_len: torch.tensor(ids)),
        _greedy(finish=lambda ids, given, eos_id, max_len: [*map(torch.tensor, ids)]),
    ),
    _with(
        replace(NOTEBOOK, title="SOS or EOS of the notebook stand where bos_id or eos_id belong"),
        _of_the_notebook,
        lambda next_logits, bos_id, eos_id, max_len: RIGHT(next_logits, [1], eos_id, max_len),
    ),
    _with(NEVER_STOPS, _greedy(ends=_never)),
    _with(NO_LIMIT, _greedy(limit=_no_limit)),
    Misconception(
        "never-stops-at-all",
        "neither the end token nor the limit stops the loop",
        "There are two reasons to stop: the token that was just chosen is `eos_id`, or there are "
        "`max_len` entries.",
        (_greedy(limit=_no_limit, ends=_never),),
        ENDLESS,
    ),
    _with(
        GIVEN_LEFT_OUT,
        _greedy(finish=_without_given),
        _greedy(finish=_without_given, limit=_new_tokens),
    ),
    _with(END_LEFT_OUT, _greedy(finish=_without_end)),
    _with(END_AND_LIMIT, _greedy(finish=_without_end, limit=_new_tokens)),
    Misconception(
        "only-the-words",
        "begin and end token are missing in the answer",
        "To take them off is a later step. Here the answer starts with the one, and ends with the "
        "other if it came.",
        (_greedy(finish=_only_words), _greedy(finish=_only_words, limit=_new_tokens)),
    ),
    _with(TOO_LONG, _greedy(limit=_new_tokens)),
    _with(TOO_SHORT, _greedy(limit=_one_less)),
    _with(LAST_ONLY, _greedy(shown=lambda ids: ids[-1:])),
    Misconception(
        "begin-token-only",
        "the model is asked about the begin token again and again",
        "What was chosen has to go back in: the list that the model sees grows by one each time.",
        (_greedy(shown=lambda ids: ids[:1]),),
    ),
    _with(LEAST, _greedy(choose=_of_rank(-1))),
    Misconception(
        "second-likeliest",
        "the second likeliest token is taken",
        "Look at the index: the first of a sorted list is 0.",
        (_greedy(choose=_of_rank(1)),),
    ),
    _with(FILLED_UP, _greedy(finish=_filled(None)), _greedy(finish=_filled(0))),
    _with(END_ADDED, _greedy(finish=_end_added), _greedy(finish=_end_put)),
    _with(STOPS_AT_ZERO, _greedy(ends=_ends_at_zero), _greedy(ends=_ends_at_zero_too)),
    Misconception(
        "begin-never-said",
        "the begin token is never chosen",
        "It is a token of the vocabulary. If the model finds it the likeliest, greedy decoding "
        "takes it.",
        (_begin_not_said,),
    ),
    Misconception(
        "nothing-said-twice",
        "no token is said twice",
        "That is a penalty for repetition, which some programs add. Greedy decoding takes the "
        "likeliest token, whatever was said before.",
        (_repeats_none,),
    ),
)


# --- filter_logits ---------------------------------------------------------------------------

K = int | None
P = float | None


def _keep_k(logits: Tensor, top_k: K) -> Tensor:
    """Leave the k likeliest, by their rank."""
    return logits if top_k is None else logits.where(_ranks(logits) < top_k, -math.inf)


def _ranks(logits: Tensor) -> Tensor:
    """Say of each token how many are likelier."""
    return logits.argsort(dim=-1, descending=True).argsort(dim=-1)


def _before(logits: Tensor, descending: bool = True) -> tuple[Tensor, Tensor]:
    """Probabilities and, for each token, those of all likelier ones together."""
    shares = logits.softmax(dim=-1)
    ordered, order = shares.sort(dim=-1, descending=descending)
    before = ordered.cumsum(dim=-1) - ordered
    return shares, torch.empty_like(before).scatter(-1, order, before)


def _keep_p(logits: Tensor, top_p: P) -> Tensor:
    """Leave the likeliest that together have this probability, with the one that crosses."""
    return logits if top_p is None else logits.where(_before(logits)[1] < top_p, -math.inf)


def _filter(by_k: Step = _keep_k, by_p: Step = _keep_p, then: Step | None = None) -> Step:
    """Return filter_logits, right unless a step is replaced."""

    def wrong(logits: Tensor, top_k: K = None, top_p: P = None) -> Tensor:
        found = by_p(by_k(logits, top_k), top_p)
        return then(found, logits) if then is not None else found

    return wrong


def _p_first(logits: Tensor, top_k: K = None, top_p: P = None) -> Tensor:
    return _keep_k(_keep_p(logits, top_p), top_k)


def _only_one(logits: Tensor, top_k: K = None, top_p: P = None) -> Tensor:
    return _keep_k(logits, top_k) if top_k is not None else _keep_p(logits, top_p)


def _without_crossing(logits: Tensor, top_p: P) -> Tensor:
    if top_p is None:
        return logits
    shares, before = _before(logits)
    return logits.where(before + shares <= top_p, -math.inf)


def _without_crossing_but_one(logits: Tensor, top_p: P) -> Tensor:
    if top_p is None:
        return logits
    shares, before = _before(logits)
    return logits.where((before + shares <= top_p) | (_ranks(logits) == 0), -math.inf)


def _one_more(logits: Tensor, top_p: P) -> Tensor:
    if top_p is None:
        return logits
    last = (_before(logits)[1] < top_p).sum(dim=-1, keepdim=True)
    return logits.where(_ranks(logits) <= last, -math.inf)


def _order_kept(logits: Tensor, top_p: P) -> Tensor:
    """Leave out by places in the sorted list, and forget to go back."""
    if top_p is None:
        return logits
    ordered = logits.softmax(dim=-1).sort(dim=-1, descending=True).values
    return logits.where(ordered.cumsum(dim=-1) - ordered < top_p, -math.inf)


def _least_first(logits: Tensor, top_p: P) -> Tensor:
    return logits if top_p is None else logits.where(_before(logits, False)[1] < top_p, -math.inf)


def _each_above(share: Callable[[float], float]) -> Step:
    def wrong(logits: Tensor, top_p: P) -> Tensor:
        if top_p is None:
            return logits
        return logits.where(logits.softmax(dim=-1) >= share(top_p), -math.inf)

    return wrong


def _above_share_of_best(logits: Tensor, top_p: P) -> Tensor:
    if top_p is None:
        return logits
    shares = logits.softmax(dim=-1)
    return logits.where(shares >= top_p * shares.amax(dim=-1, keepdim=True), -math.inf)


def _the_rest(logits: Tensor, top_p: P) -> Tensor:
    return logits if top_p is None else logits.where(_before(logits)[1] >= top_p, -math.inf)


def _complement(logits: Tensor, top_p: P) -> Tensor:
    return _keep_p(logits, None if top_p is None else 1 - top_p)


def _complement_but_one(logits: Tensor, top_p: P) -> Tensor:
    if top_p is None:
        return logits
    return logits.where((_before(logits)[1] < 1 - top_p) | (_ranks(logits) == 0), -math.inf)


def _sum_of_logits(logits: Tensor, top_p: P) -> Tensor:
    if top_p is None:
        return logits
    ordered, order = logits.sort(dim=-1, descending=True)
    before = ordered.cumsum(dim=-1) - ordered
    return logits.where(torch.empty_like(before).scatter(-1, order, before) < top_p, -math.inf)


def _least_k(logits: Tensor, top_k: K) -> Tensor:
    return logits if top_k is None else logits.where(_ranks(-logits) < top_k, -math.inf)


def _best_k_out(logits: Tensor, top_k: K) -> Tensor:
    return logits if top_k is None else logits.where(_ranks(logits) >= top_k, -math.inf)


def _k_and(more: int) -> Step:
    return lambda logits, top_k: _keep_k(logits, None if top_k is None else top_k + more)


def _below_the_kth(logits: Tensor, top_k: K) -> Tensor:
    """Keep what is above the k-th logit, and so one too few whatever k is."""
    return logits if top_k is None else _k_and(-1)(logits, min(top_k, logits.shape[-1]))


def _k_of_all(logits: Tensor, top_k: K) -> Tensor:
    return _keep_k(logits.flatten(), top_k).view_as(logits)


def _k_of_the_first(logits: Tensor, top_k: K) -> Tensor:
    if top_k is None:
        return logits
    rows = logits.reshape(-1, logits.shape[-1])
    return logits.where(_ranks(rows[:1]).view(logits.shape[-1]) < top_k, -math.inf)


def _k_up_to_v(logits: Tensor, top_k: K) -> Tensor:
    if top_k is None:
        return logits
    return logits.where(logits >= logits.topk(top_k).values[..., -1:], -math.inf)


def _k_alone(logits: Tensor, top_k: K) -> Tensor:
    return logits if top_k is None else logits.topk(min(top_k, logits.shape[-1])).values


def _in_place(logits: Tensor, top_k: K = None, top_p: P = None) -> Tensor:
    return logits.copy_(_filter()(logits, top_k, top_p))


def _only_those(found: Tensor, logits: Tensor) -> Tensor:
    return found.sort(dim=-1, descending=True).values


def _lowest_number(found: Tensor, logits: Tensor) -> Tensor:
    return found.masked_fill(found == -math.inf, 0.0)


FILTER = (
    Misconception(
        "not-renormalised",
        "top-p is measured on the whole distribution, with what top-k has left out",
        "First top-k, then the probabilities of what is left, which sum to one again, then top-p. "
        "Look at which logits the softmax sees.",
        (_p_first,),
    ),
    Misconception(
        "one-of-the-two",
        "where both are given, only one of them is applied",
        "Both may be asked for in one call. Look for an else, or an early return.",
        (
            _only_one,
            lambda logits, top_k=None, top_p=None: (
                _keep_p(logits, top_p) if top_p is not None else _keep_k(logits, top_k)
            ),
        ),
    ),
    Misconception(
        "crossing-token-left-out",
        "the token that crosses top_p is left out",
        "It stays: those that are kept have at least `top_p` together. Without it, a sure model "
        "could be left with nothing to say.",
        (_filter(by_p=_without_crossing), _filter(by_p=_without_crossing_but_one)),
    ),
    Misconception(
        "one-too-many-by-p",
        "top-p keeps one token more than it needs",
        "The token that crosses the line is the last one. Ask of each token what the likelier ones "
        "have together, without itself.",
        (_filter(by_p=_one_more),),
    ),
    Misconception(
        "sorted-order-kept",
        "what is left out was found in sorted order, and put on tokens in their own order",
        "Place 0 of the sorted list is the likeliest token, not token 0. The indices that sort "
        "gives lead back.",
        (_filter(by_p=_order_kept),),
    ),
    Misconception(
        "least-likely-first",
        "top-p adds up from the least likely token",
        "The likeliest ones stay. Look at the direction of the sort.",
        (_filter(by_p=_least_first),),
    ),
    Misconception(
        "each-against-the-line",
        "each token's own probability is compared with a line",
        "Top-p asks what the tokens have together. Sort, and add up.",
        (
            _filter(by_p=_each_above(lambda top_p: top_p)),
            _filter(by_p=_each_above(lambda top_p: 1 - top_p)),
            _filter(by_p=_above_share_of_best),
        ),
    ),
    Misconception(
        "top-p-inverted",
        "top-p keeps the tail, or leaves out as much as it should keep",
        "The likeliest tokens stay until they have `top_p` together, and the rest goes.",
        (
            _filter(by_p=_the_rest),
            _filter(by_p=_complement),
            _filter(by_p=_complement_but_one),
        ),
    ),
    Misconception(
        "logits-added-up",
        "logits are added up where probabilities should be",
        "Logits have no sum that means anything. A softmax comes first.",
        (_filter(by_p=_sum_of_logits),),
    ),
    Misconception(
        "lowest-k",
        "the k least likely tokens stay",
        "Look at the direction of the sort.",
        (_filter(by_k=_least_k),),
    ),
    Misconception(
        "top-k-left-out",
        "the k likeliest tokens are the ones that are left out",
        "Look at what the condition selects: what stays, or what goes?",
        (_filter(by_k=_best_k_out),),
    ),
    Misconception(
        "k-off-by-one",
        "one token too many stays, or one too few",
        "Exactly k stay. Look at the comparison with the k-th logit, or at an index.",
        (
            _filter(by_k=_k_and(1)),
            _filter(by_k=_k_and(-1)),
            _filter(by_k=_below_the_kth),
        ),
    ),
    Misconception(
        "not-row-by-row",
        "the k likeliest are not found in each row by itself",
        "Each row of the last axis is a distribution of its own. Look for a flatten or an index "
        "that takes rows away.",
        (_filter(by_k=_k_of_all), _filter(by_k=_k_of_the_first)),
    ),
    Misconception(
        "k-above-v",
        "a `top_k` above the size of the vocabulary is an error",
        "More than all is all. Compare k with the size first.",
        (_filter(by_k=_k_up_to_v),),
        r"out of range|out of bounds",
    ),
    Misconception(
        "zero-for-minus-infinity",
        "what is left out gets 0",
        "0 is a logit like others, and often a high one. What is left out must have probability 0 "
        "after the softmax.",
        (_filter(then=_lowest_number),),
    ),
    Misconception(
        "probabilities",
        "the result holds probabilities where logits should be",
        "The tokens that stay keep their logits. The softmax inside is for measuring only.",
        (
            _filter(then=lambda found, logits: found.softmax(dim=-1)),
            _filter(
                then=lambda found, logits: logits.softmax(dim=-1).masked_fill(
                    found == -math.inf, 0.0
                )
            ),
            _filter(
                then=lambda found, logits: logits.softmax(dim=-1).masked_fill(
                    found == -math.inf, -math.inf
                )
            ),
        ),
    ),
    Misconception(
        "log-probabilities",
        "the logits that stay are not the ones that came: they have been normalised",
        "A softmax of the result gives the same, but what was asked for are the logits. Look for a "
        "log_softmax.",
        (
            _filter(then=lambda found, logits: found.log_softmax(dim=-1)),
            _filter(
                then=lambda found, logits: logits.log_softmax(dim=-1).masked_fill(
                    found == -math.inf, -math.inf
                )
            ),
        ),
    ),
    Misconception(
        "sorted-result",
        "the result is sorted",
        "Place i of the result belongs to token i. Put the logits back where they came from.",
        (_filter(then=_only_those),),
    ),
    Misconception(
        "only-k-logits",
        "the result holds the k likeliest logits only, and says no more which tokens they are",
        "Place i of the result belongs to token i, so it has the shape of `logits`. What is left "
        "out gets minus infinity.",
        (_filter(by_k=_k_alone),),
        r"out of range",
    ),
    _with(CHANGES_INPUT, _in_place),
    _with(FLOAT32_ONLY, in_float32(_filter())),
)


# --- beam_search -----------------------------------------------------------------------------

Hypothesis = tuple[float, Ids]
Score = Callable[[float, int, bool, float], float]


def divided(total: float, tokens: int, ended: bool, alpha: float) -> float:
    """Score as the task has it: sum / n ** alpha, n the tokens after bos."""
    return total / float(tokens**alpha)


def _with_n(count: Callable[[int, bool], int]) -> Score:
    return lambda total, tokens, ended, alpha: total / float(max(1, count(tokens, ended)) ** alpha)


@dataclass(frozen=True)
class Search:
    """Beam search, right unless a step is replaced."""

    grow: Callable[[float, float], float] = lambda total, step: total + step
    extend: Callable[[Ids, int], Ids] = lambda ids, token: [*ids, token]
    keep: Callable[[list[list[Hypothesis]], int], list[Hypothesis]] = lambda families, beam_size: (
        _best_of([each for family in families for each in family])[:beam_size]
    )
    ends: Callable[[int, int], bool] = int.__eq__
    score: Score = divided
    pool: Callable[[list[Hypothesis], list[Hypothesis]], list[Hypothesis]] = list.__add__
    stop: Callable[[list[Hypothesis], int], bool] = lambda ended, beam_size: False
    more: int = 0
    by_length: bool = False
    pick: Callable[..., Any] = max
    start: float = 0.0
    finish: Callable[[Ids, int], Ids] = lambda ids, eos_id: ids

    def __call__(
        self,
        next_log_probs: NextTokens,
        bos_id: int,
        eos_id: int,
        beam_size: int,
        max_len: int,
        length_penalty: float = 0.0,
    ) -> Ids:
        """Search."""
        live: list[Hypothesis] = [(self.start, [bos_id])]
        ended: list[Hypothesis] = []
        for _ in range(max_len - 1 + self.more):
            kept = self.keep([self._children(next_log_probs, each) for each in live], beam_size)
            ended += [each for each in kept if self.ends(each[1][-1], eos_id)]
            live = [each for each in kept if not self.ends(each[1][-1], eos_id)]
            full = self.by_length and bool(live) and len(live[0][1]) >= max_len
            if not live or full or self.stop(ended, beam_size):
                break

        def score(each: Hypothesis) -> float:
            total, ids = each
            return self.score(total, len(ids) - 1, ids[-1] == eos_id, length_penalty)

        return self.finish(self.pick(self.pool(ended, live), key=score)[1], eos_id)

    def _children(self, next_log_probs: NextTokens, parent: Hypothesis) -> list[Hypothesis]:
        total, ids = parent
        steps = next_log_probs(ids).tolist()
        return [
            (self.grow(total, step), self.extend(ids, token)) for token, step in enumerate(steps)
        ]


def _shared(ids: Ids, token: int) -> Ids:
    """Append to the list of the parent, which is that of all its children."""
    ids.append(token)
    return ids


def _narrow(search: Search) -> Step:
    """Ask for the likeliest `beam_size` tokens of each step, though there may be fewer."""

    def wrong(
        next_log_probs: NextTokens, bos_id: int, eos_id: int, beam_size: int, *more: Any
    ) -> Ids:
        next_log_probs([bos_id]).topk(beam_size)
        return search(next_log_probs, bos_id, eos_id, beam_size, *more)

    return wrong


def _best_of(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    return sorted(hypotheses, key=lambda each: each[0], reverse=True)


def _worst_of(families: list[list[Hypothesis]], beam_size: int) -> list[Hypothesis]:
    return _best_of([each for family in families for each in family])[-beam_size:]


def _one_child_each(families: list[list[Hypothesis]], beam_size: int) -> list[Hypothesis]:
    """Branch once, and go on greedily with each branch."""
    if len(families) == 1 and len(families[0][0][1]) == 2:
        return _best_of(families[0])[:beam_size]
    return [_best_of(family)[0] for family in families]


def _greedy_beam(families: list[list[Hypothesis]], beam_size: int) -> list[Hypothesis]:
    return _best_of([each for family in families for each in family])[:1]


def _ended_first(ended: list[Hypothesis], live: list[Hypothesis]) -> list[Hypothesis]:
    return ended or live


def _live_first(ended: list[Hypothesis], live: list[Hypothesis]) -> list[Hypothesis]:
    return live or ended


def _first_ended(ended: list[Hypothesis], live: list[Hypothesis]) -> list[Hypothesis]:
    return (ended or live)[:1]


def _cut_end(ids: Ids, eos_id: int) -> Ids:
    return ids[:-1] if ids[-1] == eos_id else ids


BEAM = (
    Misconception(
        "greedy",
        "this is greedy decoding: one hypothesis is kept, whatever `beam_size` says",
        "Keep the `beam_size` best of all extensions at each step. Where an early choice hides a "
        "later doubt, the second best leads further.",
        (Search(keep=_greedy_beam),),
    ),
    Misconception(
        "each-goes-on-greedily",
        "the beams part at the first step only, and each goes on by itself",
        "Rank all extensions of all hypotheses together. Two of the best may have the same parent.",
        (Search(keep=_one_child_each), _narrow(Search(keep=_one_child_each))),
        r"out of range",
    ),
    Misconception(
        "one-list-for-all",
        "all hypotheses are one and the same list",
        "append keeps no copy: every token lands in all of them. [*ids, token] is a new list.",
        (Search(extend=_shared), Search(extend=_shared, by_length=True)),
        ENDLESS,
    ),
    Misconception(
        "beam-above-v",
        "a beam that is wider than the vocabulary is an error",
        "One hypothesis has only V extensions. Compare `beam_size` with that before topk.",
        (_narrow(Search()),),
        r"out of range",
    ),
    Misconception(
        "worst-kept",
        "the worst extensions are kept",
        "Log-probabilities are below 0, and the one nearest to 0 is the best. Look at the "
        "direction of the sort.",
        (Search(keep=_worst_of), Search(keep=_worst_of, pick=min), Search(pick=min)),
    ),
    Misconception(
        "penalty-ignored",
        "the length penalty changes nothing",
        "In the end, the sums are divided by n ** length_penalty. Look at whether the argument is "
        "used.",
        (Search(score=lambda total, tokens, ended, alpha: total),),
    ),
    Misconception(
        "penalty-multiplied",
        "the sums are multiplied by n ** length_penalty",
        "A sum of log-probabilities is below 0; multiplied, it gets worse with length. Divide.",
        (Search(score=lambda total, tokens, ended, alpha: total * float(tokens**alpha)),),
    ),
    Misconception(
        "begin-token-counted",
        "n counts the begin token too",
        "The begin token was given and has no probability. n is the number of tokens behind it.",
        (Search(score=_with_n(lambda tokens, ended: tokens + 1)),),
    ),
    Misconception(
        "end-token-not-counted",
        "n does not count the end token",
        "The end token was chosen, and its log-probability is in the sum. It counts.",
        (Search(score=_with_n(lambda tokens, ended: tokens - ended)),),
    ),
    Misconception(
        "other-length-penalty",
        "this is the length penalty of another paper: ((5 + n) / 6) ** length_penalty",
        "Wu et al. have it so. Here the sum is divided by n ** length_penalty.",
        (
            Search(
                score=lambda total, tokens, ended, alpha: total / float(((5 + tokens) / 6) ** alpha)
            ),
        ),
    ),
    Misconception(
        "always-the-mean",
        "the mean is always taken, whatever `length_penalty` is",
        "With a length penalty of 0 it is the sum that counts.",
        (Search(score=lambda total, tokens, ended, alpha: total / tokens),),
    ),
    Misconception(
        "last-step-only",
        "only the log-probability of the last step counts",
        "A sequence is as likely as all of its steps together. Add each step to the sum so far.",
        (Search(grow=lambda total, step: step),),
    ),
    Misconception(
        "log-probabilities-multiplied",
        "the log-probabilities are multiplied",
        "Probabilities multiply, their logarithms add up.",
        (
            Search(grow=lambda total, step: total * step, start=1.0),
            Search(grow=lambda total, step: total * -step, start=-1.0),
        ),
    ),
    Misconception(
        "probabilities-added",
        "probabilities are added up",
        "Probabilities multiply, their logarithms add up. Leave the logarithms as they come.",
        (Search(grow=lambda total, step: total + math.exp(step)),),
    ),
    Misconception(
        "unfinished-left-out",
        "only sequences that have ended are compared",
        "What the limit cut off takes part too, if no ended one is better.",
        (Search(pool=_ended_first),),
    ),
    Misconception(
        "ended-left-out",
        "what has ended is forgotten: only what is alive at the limit is compared",
        "A hypothesis that ends leaves the beam, but not the contest. Put it aside.",
        (Search(pool=_live_first),),
    ),
    Misconception(
        "first-that-ended",
        "the search stops with the first sequence that ends",
        "A longer one may still be better, with a length penalty in particular. Go on as long as "
        "there is one alive.",
        (
            Search(pool=_first_ended),
            Search(stop=lambda ended, beam_size: bool(ended)),
            Search(stop=lambda ended, beam_size: bool(ended), pool=_ended_first),
        ),
    ),
    Misconception(
        "goes-on-behind-the-end",
        "a hypothesis that has ended is extended like the others",
        "What is behind the end token is noise. A hypothesis that ends leaves the beam.",
        (Search(ends=lambda token, eos_id: False),),
    ),
    Misconception(
        "limit-counts-new-tokens",
        "a sequence may be too long: the limit counts the new tokens only",
        "`max_len` is the number of all entries, the begin token included.",
        (Search(more=1),),
    ),
    Misconception(
        "one-too-short",
        "the search stops one step before the limit",
        "`max_len` entries are allowed, the begin token included, so there are max_len - 1 steps.",
        (Search(more=-1),),
    ),
    Misconception(
        "begin-left-out",
        "the begin token is missing in the answer",
        "Every sequence starts with it. Look for a slice in the end.",
        (Search(finish=lambda ids, eos_id: ids[1:]),),
    ),
    Misconception(
        "end-left-out",
        "the end token is missing in the answer",
        "If the best sequence has ended, its last entry is the end token.",
        (Search(finish=_cut_end),),
    ),
)


# --- cached_attention ------------------------------------------------------------------------

Cache = tuple[Tensor, Tensor] | None


def _appended(old: Tensor | None, new: Tensor) -> Tensor:
    return new if old is None else torch.cat([old, new], dim=2)


def _over(axis: int) -> Step:
    return lambda old, new: new if old is None else torch.cat([old, new], dim=axis)


def _in_front(old: Tensor | None, new: Tensor) -> Tensor:
    return new if old is None else torch.cat([new, old], dim=2)


def _old_only(old: Tensor | None, new: Tensor) -> Tensor:
    return new if old is None else old


def _new_only(old: Tensor | None, new: Tensor) -> Tensor:
    return new


def _window(old: Tensor | None, new: Tensor) -> Tensor:
    return _appended(old, new) if old is None else _appended(old, new)[:, :, 1:]


def _twice(old: Tensor | None, new: Tensor) -> Tensor:
    return torch.cat([_appended(old, new), new], dim=2)


def _written_over(old: Tensor | None, new: Tensor) -> Tensor:
    if old is None:
        return new
    old[:, :, -1:] = new
    return old


def _grown_in_place(old: Tensor | None, new: Tensor) -> Tensor:
    """Append rightly, and leave something else in the cache that came."""
    found = _appended(old, new).clone()
    if old is not None:
        old.zero_()
    return found


@dataclass(frozen=True)
class OneToken:
    """Attention from one new token, right unless a step is replaced."""

    used: Step = _appended
    kept: Step = _appended
    score: Callable[[Tensor, Tensor], Tensor] = scaled
    normalise: Callable[[Tensor], Tensor] = over_keys
    roles: Callable[..., tuple[Tensor, Tensor]] = lambda query, key, value: (key, value)
    pair: Callable[[Tensor, Tensor], Any] = lambda keys, values: (keys, values)
    hide: Callable[[Tensor], Tensor] = lambda scores: scores

    def __call__(self, query: Tensor, key: Tensor, value: Tensor, cache: Cache) -> Any:
        """Attend, and return the new pair."""
        key, value = self.roles(query, key, value)
        old_keys, old_values = (None, None) if cache is None else cache
        keys, values = self.used(old_keys, key), self.used(old_values, value)
        scores = self.hide(self.score(query, keys))
        output = Recipe().combine(self.normalise(scores), values)
        kept = self.kept(old_keys, key), self.kept(old_values, value)
        return output, self.pair(*kept)


def _oldest_only(scores: Tensor) -> Tensor:
    """Hide with a causal mask that is aligned at the first key."""
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    return scores.masked_fill(~seen, -math.inf)


def _newest_only(scores: Tensor) -> Tensor:
    seen = torch.zeros(scores.shape[-2:], dtype=torch.bool, device=scores.device)
    seen[..., -1] = True
    return scores.masked_fill(~seen, -math.inf)


def _not_itself(scores: Tensor) -> Tensor:
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device)
    seen[..., -1] = scores.shape[-1] == 1
    return scores.masked_fill(~seen, -math.inf)


def _behind_zeros(old: Tensor | None, new: Tensor) -> Tensor:
    return _appended(torch.zeros_like(new) if old is None else old, new)


def _values_alone(step: Step) -> Step:
    """Return attention whose values are not joined as the keys are."""

    def wrong(query: Tensor, key: Tensor, value: Tensor, cache: Cache) -> Any:
        old_keys, old_values = (None, None) if cache is None else cache
        keys, values = _appended(old_keys, key), step(old_values, value)
        return over_keys(scaled(query, keys)) @ values, (keys, values)

    return wrong


def _both_ways(step: Step, **steps: Any) -> OneToken:
    """Return attention whose keys and values are joined and kept in the same wrong way."""
    return OneToken(used=step, kept=step, **steps)


CACHED = (
    Misconception(
        "cache-not-used",
        "the new token attends to itself only: the cache is not used",
        "Its one weight is then 1, and the output its own value. Put the keys and values of the "
        "cache in front of the new ones first.",
        (_both_ways(_new_only), OneToken(used=_new_only), OneToken(hide=_newest_only)),
    ),
    Misconception(
        "not-to-itself",
        "the new token does not attend to itself",
        "Under a causal mask a token sees itself. Append its key and value before you attend.",
        (OneToken(used=_old_only), OneToken(hide=_not_itself)),
    ),
    Misconception(
        "causal-mask-on-one-query",
        "only the oldest key is seen: a causal mask was put on",
        "The one row of a mask of shape (1, S) says that the first query sees the first key. This "
        "query is the last one, and all keys are in its past: no mask is needed.",
        (OneToken(hide=_oldest_only),),
    ),
    Misconception(
        "not-appended",
        "the new pair is the old one: the new key and value are not in it",
        "The next token has to find this one in the cache.",
        (OneToken(kept=_old_only), _both_ways(_old_only)),
    ),
    Misconception(
        "only-the-newest-kept",
        "the new pair holds the newest key and value only",
        "What came before is lost then. Hand back all, oldest first.",
        (OneToken(kept=_new_only),),
    ),
    Misconception(
        "newest-first",
        "the newest key and value are put in front",
        "The output is the same, since a sum has no order. But the pair should have the oldest "
        "first, as the positions run.",
        (_both_ways(_in_front), OneToken(kept=_in_front)),
    ),
    Misconception(
        "only-keys-appended",
        "keys are appended, and values are not",
        "There are as many weights as keys, and each of them needs its value.",
        (_values_alone(_new_only),),
        r"batch2",
    ),
    Misconception(
        "joined-along-another-axis",
        "the new key is joined to the cache along another axis than that of the tokens",
        "The axes are batch, heads, tokens, features. Look at `dim`.",
        (_both_ways(_over(1)), _both_ways(_over(0)), _both_ways(_over(3))),
        r"[Ss]izes of tensors must match|must match the size|size of tensor|Expected size",
    ),
    Misconception(
        "drops-the-oldest",
        "the oldest token is dropped: the cache does not grow",
        "A window is a choice that some models make. Here everything is kept.",
        (_both_ways(_window), OneToken(kept=_window)),
    ),
    Misconception(
        "appended-twice",
        "the new token is in the pair twice",
        "Look at whether something appends in two places.",
        (_both_ways(_twice), OneToken(kept=_twice)),
    ),
    Misconception(
        "zeros-for-no-cache",
        "where there is no cache yet, it begins with a token of zeros",
        "A key of zeros has the score 0, and so a weight. The first token sees itself only: the "
        "new pair holds one key and one value.",
        (_both_ways(_behind_zeros),),
    ),
    Misconception(
        "newest-written-over",
        "the new key and value are written over the last ones of the cache",
        "They go behind them. The cache that came stays as it is: other hypotheses may hold it.",
        (_both_ways(_written_over),),
    ),
    Misconception(
        "keys-and-values-swapped",
        "keys and values have changed places",
        "The query is compared with the keys, and the values are averaged. The pair is (keys, "
        "values), in this order.",
        (
            OneToken(pair=lambda keys, values: (values, keys)),
            OneToken(roles=lambda query, key, value: (value, key)),
        ),
    ),
    Misconception(
        "query-kept-as-key",
        "the query is put where the key belongs",
        "The cache holds keys and values. The query is for this step only, and is thrown away.",
        (
            OneToken(roles=lambda query, key, value: (query, value)),
            OneToken(roles=lambda query, key, value: (query, key)),
        ),
    ),
    Misconception(
        "no-scale",
        "the products of queries and keys are not scaled",
        "Divide the scores by sqrt(K), as in the attention of a whole sequence.",
        (OneToken(score=products),),
    ),
    Misconception(
        "scaled-by-length",
        "the scale comes from the number of tokens",
        "K is the size of the vectors that are multiplied: the last axis.",
        (
            OneToken(score=scaled_by(lambda query, keys: keys.shape[-2] ** -0.5)),
            OneToken(score=scaled_by(lambda query, keys: query.shape[1] ** -0.5)),
        ),
    ),
    Misconception(
        "softmax-over-queries",
        "the softmax runs over the queries",
        "There is one query, so every weight is 1 and the output is a sum. Look at `dim`.",
        (OneToken(normalise=softmax_over(-2)),),
    ),
    Misconception(
        "no-softmax",
        "the scores are used as weights",
        "Between the scores and the values there is a softmax.",
        (OneToken(normalise=lambda scores: scores),),
    ),
    Misconception(
        "changes-the-cache",
        "the cache that came is changed",
        "Another hypothesis may go on from the same cache. Make new tensors.",
        (_both_ways(_grown_in_place), OneToken(kept=_grown_in_place)),
    ),
    _with(FLOAT32_ONLY, lambda query, key, value, cache: _as_float32(query, key, value, cache)),
)


def _as_float32(query: Tensor, key: Tensor, value: Tensor, cache: Cache) -> Any:
    small = None if cache is None else (cache[0].float(), cache[1].float())
    return OneToken()(query.float(), key.float(), value.float(), small)


# --- find the bug: the name that is nowhere assigned -----------------------------------------


def _unknown_name(next_logits: NextTokens, prompt: Ids, eos_id: int, max_len: int) -> Ids:
    ids = list(prompt)
    for _ in range(max_len):
        ids.append(likeliest(next_logits(ids)))
        raise NameError("name 'pred_token' is not defined")
    return ids


def _in_the_prompt(next_logits: NextTokens, prompt: Ids, eos_id: int, max_len: int) -> Ids:
    while len(prompt) < max_len:
        prompt.append(likeliest(next_logits(prompt)))
        if prompt[-1] == eos_id:
            break
    return prompt


def _continued(**steps: Any) -> Step:
    return replace(RIGHT, **steps)


BUG = (
    Misconception(
        "bug-is-in",
        "the bug is still in it",
        "The error says which name is not known. Which name does the code give to the token that "
        "it has just chosen?",
        (_unknown_name,),
        r"name '\w+' is not defined|referenced before assignment|not associated with a value",
    ),
    Misconception(
        "other-name-is-left-over",
        "nothing is raised any more, and nothing stops the loop before the limit",
        "To give the unknown name some value does not mend it. It is the token that was just "
        "chosen, of this very step, that has to be compared.",
        (_continued(ends=_never), _continued(ends=_never, limit=_new_tokens)),
    ),
    _with(
        TOO_LONG,
        _continued(limit=_new_tokens),
        _continued(limit=lambda max_len, given: max_len + 1),
    ),
    _with(END_LEFT_OUT, _continued(finish=_without_end)),
    _with(END_AND_LIMIT, _continued(finish=_without_end, limit=_new_tokens)),
    _with(
        GIVEN_LEFT_OUT,
        _continued(finish=_without_given),
        _continued(finish=_without_given, limit=_new_tokens),
    ),
    _with(TOO_SHORT, _continued(limit=_one_less)),
    _with(NO_LIMIT, _continued(limit=_no_limit)),
    _with(LAST_ONLY, _continued(shown=lambda ids: ids[-1:])),
    Misconception(
        "prompt-counted-twice",
        "the prompt is counted off the limit twice",
        "`max_len` entries are allowed, the prompt included.",
        (_continued(limit=lambda max_len, given: max_len - given),),
    ),
    _with(LEAST, _continued(choose=_of_rank(-1))),
    _with(
        replace(
            CHANGES_INPUT,
            title="the function changes the caller's prompt",
            hint="append on the argument itself reaches out of the function. Make a new list.",
        ),
        _in_the_prompt,
    ),
)


# --- find another bug: rows that have ended --------------------------------------------------

Rows = list[Ids]


def _once_ended(before: list[bool], now: list[bool]) -> list[bool]:
    return [one or other for one, other in zip(before, now, strict=True)]


def _in_turns(before: list[bool], now: list[bool]) -> list[bool]:
    return [other and not one for one, other in zip(before, now, strict=True)]


def _batch(
    ended: Callable[[list[bool], list[bool]], list[bool]] = _once_ended,
    over: Callable[[list[bool]], bool] = all,
    goes_on: Callable[[bool], bool] = lambda has_ended: not has_ended,
    limit: Callable[[int, int], int] = lambda max_len, given: max_len,
) -> Step:
    """Return a batch of loops that run side by side, right unless a step is replaced."""

    def wrong(next_logits: NextTokens, prompts: Rows, eos_id: int, max_len: int) -> Rows:
        rows = [list(prompt) for prompt in prompts]
        state = [False] * len(rows)
        length = len(rows[0])
        while not over(state) and length < limit(max_len, len(prompts[0])):
            for row, has_ended in zip(rows, state, strict=True):
                if goes_on(has_ended):
                    row.append(likeliest(next_logits(row)))
            state = ended(state, [row[-1] == eos_id for row in rows])
            length += 1
        return rows

    return wrong


def _of_now(before: list[bool], now: list[bool]) -> list[bool]:
    return now


def _nobody(before: list[bool], now: list[bool]) -> list[bool]:
    return [False] * len(now)


def _always(has_ended: bool) -> bool:
    return True


def _each(**steps: Any) -> Step:
    """Return the loop of one row, with steps replaced, run for each row."""
    loop = replace(RIGHT, **steps)

    def wrong(next_logits: NextTokens, prompts: Rows, eos_id: int, max_len: int) -> Rows:
        return [loop(next_logits, prompt, eos_id, max_len) for prompt in prompts]

    return wrong


def _filled_rows(token: int | None) -> Step:
    """Fill rows up to the longest, with the end token where None is given."""

    def wrong(next_logits: NextTokens, prompts: Rows, eos_id: int, max_len: int) -> Rows:
        rows = _batch()(next_logits, prompts, eos_id, max_len)
        longest = max(map(len, rows))
        filler = eos_id if token is None else token
        return [row + [filler] * (longest - len(row)) for row in rows]

    return wrong


def _left_at_an_ended_row(
    next_logits: NextTokens, prompts: Rows, eos_id: int, max_len: int
) -> Rows:
    rows = [list(prompt) for prompt in prompts]
    for _ in range(max_len - len(prompts[0])):
        for row in rows:
            if row[-1] == eos_id:
                break
            row.append(likeliest(next_logits(row)))
    return rows


def _first_rows_token(next_logits: NextTokens, prompts: Rows, eos_id: int, max_len: int) -> Rows:
    first = RIGHT(next_logits, prompts[0], eos_id, max_len)
    return [[*prompt, *first[len(prompts[0]) :]] for prompt in prompts]


def _in_the_prompts(next_logits: NextTokens, prompts: Rows, eos_id: int, max_len: int) -> Rows:
    found = _batch()(next_logits, prompts, eos_id, max_len)
    for prompt, row in zip(prompts, found, strict=True):
        prompt[:] = row
    return prompts


ANOTHER_BUG = (
    Misconception(
        "bug-is-in",
        "the bug is still in it: rows go on behind their end",
        "Go through the example by hand. After the step in which the first row ends, what does the "
        "code know of it?",
        (
            _batch(ended=_of_now, goes_on=_always),
            _batch(goes_on=_always),
        ),
    ),
    Misconception(
        "never-stops",
        "no end token stops anything, and all rows run to the limit",
        "A row stops when the token that was just chosen for it is `eos_id`.",
        (_batch(ended=_nobody),),
    ),
    Misconception(
        "ended-row-wakes-up",
        "a row that has ended stands still for a step, and then goes on",
        "Once ended, always ended. Look at what becomes of the mark in the next step.",
        (_batch(ended=_in_turns),),
    ),
    Misconception(
        "stops-with-the-first-row",
        "all rows stop when the first of them ends",
        "The others have not said all. Go on as long as one row is at work, and cut none to the "
        "length of another.",
        (
            _batch(over=any),
            _batch(over=any, goes_on=_always),
            _batch(over=lambda state: state[0]),
        ),
    ),
    Misconception(
        "rows-behind-wait",
        "a row that has ended takes the turn from the rows behind it",
        "break leaves the whole loop over the rows. continue goes on with the next row.",
        (_left_at_an_ended_row,),
    ),
    _with(FILLED_UP, _filled_rows(None), _filled_rows(0), _each(finish=_filled(None))),
    _with(END_LEFT_OUT, _each(finish=_without_end)),
    _with(
        GIVEN_LEFT_OUT,
        _each(finish=_without_given),
        _each(finish=_without_given, limit=_new_tokens),
    ),
    _with(
        TOO_LONG,
        _batch(limit=_new_tokens),
        _each(limit=lambda max_len, given: max_len + 1),
    ),
    _with(TOO_SHORT, _each(limit=_one_less)),
    _with(NO_LIMIT, _batch(limit=_no_limit)),
    _with(LAST_ONLY, _each(shown=lambda ids: ids[-1:])),
    Misconception(
        "one-answer-for-all",
        "every row gets the tokens of the first",
        "Each row has its own prompt, and the model is asked about each row.",
        (_first_rows_token,),
    ),
    _with(
        replace(
            CHANGES_INPUT,
            title="the function changes the caller's prompts",
            hint="append on the lists that came reaches out of the function. Make new lists.",
        ),
        _in_the_prompts,
    ),
)
