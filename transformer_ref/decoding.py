"""Decoding: from next-token scores to a sequence, one token at a time.

Greedy takes the likeliest token, sampling draws one, beam search keeps several beginnings at once.
Rows that have ended leave the batch, and with a cache no token is computed twice.

Source: Vaswani et al. 2017, section 3.1 (auto-regression) and 6.1 (beam search).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref._validate import require_at_least_one, require_ids, require_token_id
from transformer_ref.cache import KVCache
from transformer_ref.device import queues_work
from transformer_ref.masks import padding_mask_or_none
from transformer_ref.model import Transformer


def greedy_decode(
    model: Transformer,
    src: Tensor,
    bos_id: int,
    eos_id: int,
    max_len: int,
    use_cache: bool = True,
) -> Tensor:
    """Append the likeliest next token until every row has ended or `max_len` is reached.

    Args:
        model: a Transformer; it is run in eval mode and left as it came.
        src: (B, S) integer source ids, padded with the model's pad_id.
        bos_id: the token that every answer starts with.
        eos_id: the token that ends a row.
        max_len: the longest answer, begin and end token counted.
        use_cache: keep keys and values of earlier tokens; False runs the whole prefix again for
            each token, which gives the same tokens more slowly.

    Returns:
        (B, <= max_len) int64: begin token, tokens, end token if it came, then padding.

    Raises:
        ValueError: if `max_len` is below 1 or above the model's max_len, an id is outside the
            target vocabulary, `src` does not fit the model, or its logits are not finite.
    """
    return _decode(model, src, bos_id, eos_id, max_len, use_cache, likeliest)


def sample(
    model: Transformer,
    src: Tensor,
    bos_id: int,
    eos_id: int,
    max_len: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
    use_cache: bool = True,
) -> Tensor:
    """Draw each next token from the model's distribution, made sharper or flatter and cut off.

    Args:
        model: a Transformer; it is run in eval mode and left as it came.
        src: (B, S) integer source ids, padded with the model's pad_id.
        bos_id: the token that every answer starts with.
        eos_id: the token that ends a row.
        max_len: the longest answer, begin and end token counted.
        temperature: logits are divided by it; above 0. Below 1 is sharper, towards greedy.
        top_k: draw from the so many likeliest tokens only; None = all.
        top_p: draw from the likeliest tokens that together have this probability; None = all.
        generator: gives the random numbers, on the device of `src`; None = torch's global one.
        use_cache: as in :func:`greedy_decode`.

    Returns:
        (B, <= max_len) int64: begin token, tokens, end token if it came, then padding.

    Raises:
        ValueError: as :func:`greedy_decode` and :func:`filter_logits`,
            or if `temperature` is not above 0 or `generator` is on another device.

    Source: Fan et al. 2018 (top-k); Holtzman et al. 2020 (top-p).
    """
    choose = random_choice(temperature, top_k, top_p, generator, src.device)
    return _decode(model, src, bos_id, eos_id, max_len, use_cache, choose)


def filter_logits(logits: Tensor, top_k: int | None = None, top_p: float | None = None) -> Tensor:
    """Put all but the likeliest tokens to -inf: first top-k, then top-p on what is left.

    Args:
        logits: (..., V) floating.
        top_k: how many tokens stay; more than V means all. None = all.
        top_p: the likeliest tokens stay until their probabilities, renormalised after top-k,
            sum to at least this; the token that crosses the line stays too. None and 1 = all.
            The sums are taken in float32 at least.

    Returns:
        (..., V): the logits of the tokens that stay, -inf for the others; one at least stays.

    Raises:
        ValueError: if `logits` is not floating, `top_k` is below 1 or `top_p` outside (0, 1].

    Source: Fan et al. 2018 (top-k); Holtzman et al. 2020 (top-p).
    """
    if logits.ndim < 1 or not logits.is_floating_point():
        raise ValueError(
            f"logits must be floating of shape (..., V), got {logits.dtype} "
            f"of shape {tuple(logits.shape)}"
        )
    if top_k is not None:
        require_at_least_one(top_k=top_k)
        best = logits.topk(min(top_k, logits.shape[-1]), dim=-1)
        logits = torch.full_like(logits, -torch.inf).scatter(-1, best.indices, best.values)
    if top_p is not None:
        if not isinstance(top_p, int | float) or not 0.0 < top_p <= 1.0:
            raise ValueError(f"top_p must lie in (0, 1], got {top_p!r}")
        if top_p < 1.0:  # sums of rounded probabilities may reach 1 too early
            logits = logits.masked_fill(_behind_top_p(logits, top_p), -torch.inf)
    return logits


def _behind_top_p(logits: Tensor, top_p: float) -> Tensor:
    """Say which tokens are not among the likeliest that have `top_p` together: (..., V) bool."""
    dtype = _at_least_float32(logits)
    probabilities, order = logits.softmax(dim=-1, dtype=dtype).sort(dim=-1, descending=True)
    # What the likelier tokens have together; by a shift, as a difference would round once more.
    before = F.pad(probabilities.cumsum(dim=-1)[..., :-1], (1, 0))  # (..., V)
    return torch.empty_like(order, dtype=torch.bool).scatter(-1, order, before >= top_p)


def beam_search(
    model: Transformer,
    src: Tensor,
    bos_id: int,
    eos_id: int,
    beam_size: int,
    max_len: int,
    length_penalty: float = 0.0,
    num_return: int = 1,
    use_cache: bool = True,
) -> tuple[Tensor, Tensor]:
    """Keep the `beam_size` best beginnings of each row at once, and return the best sequences.

    Each step ranks all extensions of all live hypotheses by the sum of their log-probabilities
    and keeps `beam_size`; those that end leave the beam.
    A row is done when nothing that its beam could still become would be returned.

    Args:
        model: a Transformer; it is run in eval mode and left as it came.
        src: (B, S) integer source ids, padded with the model's pad_id.
        bos_id: the token that every answer starts with.
        eos_id: the token that ends a hypothesis.
        beam_size: hypotheses kept, at least 1, which is greedy decoding.
        max_len: the longest answer, begin and end token counted.
        length_penalty: alpha, at least 0. A hypothesis of n tokens after the begin token
            (the end token counted) scores the sum of its log-probabilities / n^alpha:
            0 favours short answers, 1 is the mean a token.
        num_return: how many of the best to return, at most `beam_size`.
        use_cache: as in :func:`greedy_decode`.

    Returns:
        ids (B, num_return, <= max_len) int64, best first: begin token, tokens, end token if it
        came, then padding. And their scores (B, num_return) in nats.
        Where there are fewer hypotheses, the rest is padding with the score -inf.

    Raises:
        ValueError: as :func:`greedy_decode`, or if `beam_size`, `length_penalty` or `num_return`
            is out of range.

    Source: Sutskever et al. 2014, section 3.2; length penalty in the form of Wu et al. 2016,
        section 7, without its constant 5.
    """
    _require_decoding(model, src, bos_id, eos_id, max_len)
    require_at_least_one(beam_size=beam_size, num_return=num_return)
    if num_return > beam_size:
        raise ValueError(
            f"num_return must be at most beam_size, got {num_return} of beam_size {beam_size}"
        )
    if not isinstance(length_penalty, int | float) or not 0.0 <= length_penalty < torch.inf:
        raise ValueError(f"length_penalty must be at least 0, got {length_penalty!r}")
    with torch.inference_mode(), evaluation_mode(model):
        scorer = _SourceScorer(model, src, use_cache)
        start = _begin(src, bos_id)
        dtype = _at_least_float32(scorer.memory)
        beams = _Beams(start, dtype, beam_size, num_return, max_len, length_penalty)
        finite = torch.ones((), dtype=torch.bool, device=src.device)
        while len(beams.rows) and beams.length < max_len:
            width = beams.sums.shape[1]
            logits = scorer.next_logits(beams.ids)  # (R * W, V)
            finite &= have_a_largest(logits)
            parents = beams.advance(logits)
            beams.collect(eos_id)
            going = beams.drop_decided()
            stays = len(going) == len(parents) and parents.shape[1] == width
            scorer.select(parents[going].flatten(), same_source=stays)
        require_finite(finite)
        ids, scores = beams.best(model.config.pad_id)
    return ids.clone(), scores.clone()  # ordinary tensors, which autograd takes


def copy_for_decoding(model: Transformer) -> Transformer:
    """Copy a model for decoding on a processor, where the copy takes a tenth less time.

    The copy has its weights in memory input by input, as the product with one token, or with a
    few, reads them on its way; :class:`torch.nn.Linear` has them output by output.
    Shapes and names stay, and results up to rounding.

    Args:
        model: on any device; it is left as it is.

    Returns:
        a copy in eval mode. A matrix that is an embedding too stays as it lies: its rows are read.
    """
    made = copy.deepcopy(model).eval()
    embeddings = {
        id(module.weight) for module in made.modules() if isinstance(module, nn.Embedding)
    }
    for module in made.modules():
        if isinstance(module, nn.Linear) and id(module.weight) not in embeddings:
            module.weight.data = module.weight.data.t().contiguous().t()
    return made


class Scorer(Protocol):
    """A batch of sequences at work: what could follow each, and which of them go on."""

    def next_logits(self, ids: Tensor) -> Tensor:
        """Score what follows each row of `ids` (R, T): logits (R, V)."""

    def select(self, rows: Tensor, same_source: bool = False) -> None:
        """Go on with these rows (R',), as :meth:`~transformer_ref.cache.KVCache.select`."""


Choice = Callable[[Tensor], Tensor]  # from logits (R, V) to the next token of each row (R,)


def likeliest(logits: Tensor) -> Tensor:
    """Choose greedily: logits (R, V) to ids (R,)."""
    return logits.argmax(dim=-1)


def random_choice(
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    generator: torch.Generator | None,
    device: torch.device,
) -> Choice:
    """Make the choice of :func:`sample`; see there for arguments and errors."""
    if not isinstance(temperature, int | float) or not temperature > 0.0:
        raise ValueError(f"temperature must be above 0 (greedy is its limit), got {temperature!r}")
    if generator is not None and generator.device.type != device.type:
        raise ValueError(f"generator must be on {device} like the ids, got {generator.device}")
    filter_logits(torch.zeros(1), top_k, top_p)  # refuses bad values before any work is done

    def choose(logits: Tensor) -> Tensor:
        # At least float32: half precision rounds probabilities of 1 in 10,000 away.
        logits = logits.to(_at_least_float32(logits))  # (R, V)
        limits = torch.finfo(logits.dtype)
        divisor = min(max(temperature, limits.tiny), limits.max)
        # The largest becomes 0, which no temperature takes beyond the largest number.
        logits = (logits - logits.amax(dim=-1, keepdim=True)) / divisor
        # The caller reports NaN at the end; multinomial would crash a GPU at once.
        probabilities = filter_logits(logits, top_k, top_p).softmax(dim=-1).nan_to_num(nan=1.0)
        return probabilities.multinomial(1, generator=generator).squeeze(-1)

    return choose


def extend(
    scorer: Scorer, ids: Tensor, max_len: int, choose: Choice, eos_id: int | None, pad_id: int
) -> Tensor:
    """Append a chosen token to every row until all have said `eos_id` or `max_len` is reached.

    Which rows have ended is looked at every few steps, as a GPU waits each time.
    Until then they go on with the others, and what they say is thrown away.

    Args:
        scorer: scores the next tokens.
        ids: (B, T) int64, what every row begins with.
        max_len: the longest answer, T at least.
        choose: from logits to tokens.
        eos_id: ends a row, which then leaves the batch; None = no token does.
        pad_id: fills rows that have ended.

    Returns:
        (B, <= max_len) int64.

    Raises:
        ValueError: as :func:`require_finite`.
    """
    start, every = ids.shape[1], _steps_between_looks(ids.device)
    answer = ids.new_full((len(ids), max_len), pad_id)
    answer[:, :start] = ids
    rows = torch.arange(len(ids), device=ids.device)
    finite = torch.ones((), dtype=torch.bool, device=ids.device)
    while ids.shape[1] < max_len and len(rows):
        logits = scorer.next_logits(ids)  # (R, V)
        finite &= have_a_largest(logits)
        following = choose(logits)  # (R,)
        answer[rows, ids.shape[1]] = following
        ids = torch.cat((ids, following[:, None]), dim=1)
        if eos_id is not None and (ids.shape[1] - start) % every == 0:
            going = (ids[:, -every:] != eos_id).all(dim=1).nonzero().squeeze(-1)
            if len(going) < len(rows):
                rows, ids = rows[going], ids[going]
                scorer.select(going)
    require_finite(finite)
    answer = answer[:, : ids.shape[1]]
    return answer if eos_id is None else _ended(answer, start, eos_id, pad_id)


def have_a_largest(logits: Tensor) -> Tensor:
    """Say whether each row of logits (R, V) has a largest number: a bool () on their device.

    False for a row that holds NaN or +inf, or only -inf.
    """
    return logits.amax(dim=-1).isfinite().all()


def require_finite(finite: Tensor) -> None:
    """Refuse what a model computed, once for a whole answer: a GPU waits only here.

    Args:
        finite: a bool (), false if any logits had no largest number.

    Raises:
        ValueError: if it is false.
    """
    if not finite:
        raise ValueError(
            "model must give finite logits, got NaN, +inf or a row of -inf; "
            "are its weights finite, and does every token see at least one other?"
        )


def _ended(answer: Tensor, start: int, eos_id: int, pad_id: int) -> Tensor:
    """Fill each row up after its first end token from `start` on, and cut off what is full."""
    said = answer[:, start:] == eos_id
    after = said.cumsum(dim=1) > said
    answer[:, start:].masked_fill_(after, pad_id)
    return answer[:, : start + int((~after).any(dim=0).sum())]


def _steps_between_looks(device: torch.device) -> int:
    """A row that has ended costs its share of each step; a look costs a GPU that waits."""
    return 8 if queues_work(device) else 1


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Switch dropout off inside the ``with`` block; then each submodule has its own mode again."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, was_training in modes:
            module.training = was_training


def _at_least_float32(x: Tensor) -> torch.dtype:
    return torch.promote_types(x.dtype, torch.float32)


def _require_decoding(
    model: Transformer, src: Tensor, bos_id: int, eos_id: int, max_len: int
) -> None:
    require_ids("src", src)  # its values are checked where they are embedded
    if not isinstance(max_len, int) or not 1 <= max_len <= model.config.max_len:
        raise ValueError(f"max_len must lie in 1..{model.config.max_len}, got {max_len!r}")
    require_token_id(model.config.tgt_vocab_size, bos_id=bos_id, eos_id=eos_id)


def _decode(
    model: Transformer,
    src: Tensor,
    bos_id: int,
    eos_id: int,
    max_len: int,
    use_cache: bool,
    choose: Choice,
) -> Tensor:
    """Extend the begin token of every row; what greedy decoding and sampling share."""
    _require_decoding(model, src, bos_id, eos_id, max_len)
    with torch.inference_mode(), evaluation_mode(model):
        scorer = _SourceScorer(model, src, use_cache)
        ids = extend(scorer, _begin(src, bos_id), max_len, choose, eos_id, model.config.pad_id)
    return ids.clone()  # an ordinary tensor, which autograd takes


def _begin(src: Tensor, bos_id: int) -> Tensor:
    return torch.full((len(src), 1), bos_id, dtype=torch.int64, device=src.device)


class _SourceScorer:
    """The decoder of a Transformer at work on one batch of sources."""

    def __init__(self, model: Transformer, src: Tensor, use_cache: bool) -> None:
        self.model = model
        self.mask = padding_mask_or_none(src, model.config.pad_id)
        self.memory = model.encode(src, self.mask)
        self.cache = KVCache(model.config.num_decoder_layers) if use_cache else None

    def next_logits(self, ids: Tensor) -> Tensor:
        unread = ids if self.cache is None else ids[:, self.cache.length :]
        logits = self.model.decode(
            unread, self.memory, memory_mask=self.mask, cache=self.cache, check_ids=False
        )
        return logits[:, -1]

    def select(self, rows: Tensor, same_source: bool = False) -> None:
        if self.cache is not None:
            self.cache.select(rows, same_source)
        if not same_source:
            self.memory = self.memory[rows]
            self.mask = self.mask[rows] if self.mask is not None else None


class _Beams:
    """The live hypotheses of each row of the batch, and the best that are complete.

    Attributes:
        rows: (R,) which rows of the batch are still at work.
        ids: (R * W, T) the live hypotheses, row by row; W is 1 first, then the beam size.
        sums: (R, W) sums of their log-probabilities; -inf for those that have ended.
    """

    def __init__(
        self,
        ids: Tensor,
        dtype: torch.dtype,
        beam_size: int,
        num_return: int,
        max_len: int,
        length_penalty: float,
    ) -> None:
        self.beam_size = beam_size
        self.max_len = max_len
        self.length_penalty = length_penalty
        self._every = _steps_between_looks(ids.device)
        self.ids = ids
        self.rows = torch.arange(len(ids), device=ids.device)
        self.sums = torch.zeros(len(ids), 1, dtype=dtype, device=ids.device)
        self._best_scores = self.sums.new_full((len(ids), num_return), -torch.inf)
        self._best_ids = ids.new_full((len(ids), num_return, max_len), _NO_TOKEN)
        if max_len == 1:
            self.collect(_NO_TOKEN)

    @property
    def length(self) -> int:
        """T, the tokens of each live hypothesis."""
        return self.ids.shape[1]

    def advance(self, logits: Tensor) -> Tensor:
        """Replace the hypotheses by their best extensions.

        Args:
            logits: (R * W, V), what could follow each.

        Returns:
            (R, W') int64, the place in the batch of the hypothesis that each new one extends.
        """
        num_rows, width = self.sums.shape
        vocab_size = logits.shape[-1]
        log_probs = logits.log_softmax(dim=-1, dtype=_at_least_float32(logits))
        totals = self.sums[:, :, None] + log_probs.view(num_rows, width, vocab_size)
        self.sums, best = totals.flatten(1).topk(min(self.beam_size, width * vocab_size))
        first = torch.arange(num_rows, device=best.device)[:, None] * width
        parents = first + best // vocab_size
        tokens = (best % vocab_size).view(-1, 1)
        self.ids = torch.cat((self.ids[parents.flatten()], tokens), dim=1)
        return parents

    def collect(self, eos_id: int) -> None:
        """Take hypotheses that have ended out of the beams; at `max_len` all have."""
        length = self.length
        ids = self.ids.view(*self.sums.shape, length)
        ended = ids[:, :, -1] == eos_id
        if length == self.max_len:
            ended = torch.ones_like(ended)
        scores = (self.sums / max(1, length - 1) ** self.length_penalty).where(ended, -torch.inf)
        ids = F.pad(ids, (0, self.max_len - length), value=_NO_TOKEN)
        ids = ids.masked_fill(scores[:, :, None] == -torch.inf, _NO_TOKEN)
        scores = torch.cat((self._best_scores[self.rows], scores), dim=1)
        ids = torch.cat((self._best_ids[self.rows], ids), dim=1)
        best = scores.topk(self._best_scores.shape[1])
        self._best_scores[self.rows] = best.values
        self._best_ids[self.rows] = ids.take_along_dim(best.indices[:, :, None], dim=1)
        self.sums = self.sums.masked_fill(ended, -torch.inf)

    def drop_decided(self) -> Tensor:
        """Drop the rows that no live hypothesis can change, and return (R',) which places go on.

        Sums only fall, so none can end with more than its sum now over the largest n^alpha.
        Between two looks such rows stay, and their hypotheses count as ended.
        """
        reachable = self.sums.amax(dim=1) / max(1, self.max_len - 1) ** self.length_penalty
        undecided = reachable > self._best_scores[self.rows, -1]
        if (self.length - 1) % self._every:
            self.sums = self.sums.masked_fill(~undecided[:, None], -torch.inf)
            return torch.arange(len(self.rows), device=self.rows.device)
        going = undecided.nonzero().squeeze(-1)
        self.ids = self.ids.view(*self.sums.shape, self.length)[going].flatten(0, 1)
        self.rows, self.sums = self.rows[going], self.sums[going]
        return going

    def best(self, pad_id: int) -> tuple[Tensor, Tensor]:
        """Return ids (B, num_return, longest) and scores (B, num_return), best first."""
        longest = int((self._best_ids != _NO_TOKEN).flatten(0, 1).any(dim=0).sum())
        ids = self._best_ids[:, :, :longest]
        return ids.masked_fill(ids == _NO_TOKEN, pad_id), self._best_scores


_NO_TOKEN = -1  # marks what is not filled; the padding token itself could be said by a model
