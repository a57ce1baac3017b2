"""The tasks of the assignment "decoding"."""

from __future__ import annotations

from typing import Any

from transformer_checks.assignments.attention.tasks import FUSED
from transformer_checks.assignments.decoding import answers
from transformer_checks.assignments.decoding.cases import (
    CACHE,
    batch_cases,
    beam_cases,
    blame_cases,
    cache_cases,
    filter_cases,
    greedy_cases,
    precision_cases,
    prompt_cases,
)
from transformer_checks.assignments.decoding.properties import (
    begins_and_ends,
    gap_and_verdict_agree,
    keeps_or_leaves_out,
    oldest_first,
    rows_begin_and_end,
)
from transformer_checks.assignments.made_arguments import TOKEN_FUNCTION
from transformer_checks.assignments.misconceptions import misconceptions_of
from transformer_checks.running.asking import ReturnedError, describe
from transformer_checks.task import FunctionTask, Task

# --- cases: cached_attention -----------------------------------------------------------------


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


# --- tasks -----------------------------------------------------------------------------------

MODULE = "transformer_ref.decoding"
HERE = "transformer_checks.decoding"
LISTED = "ids are a list of int and next_logits(ids) gives (V,)"
MISCONCEPTIONS = misconceptions_of("decoding")
TASKS: tuple[Task, ...] = (
    FunctionTask(
        key="decoding.greedy_decode",
        stub="greedy_decode(next_logits, bos_id, eos_id, max_len)",
        contract=(
            f"{LISTED}; returns a list of int: bos_id, then the likeliest token after all ids so "
            "far, again and again. It ends with eos_id if that came, and has at most max_len "
            "entries in all."
        ),
        returns=("ids",),
        reference=answers.greedy_decode,
        cases=greedy_cases,
        properties=(begins_and_ends,),
        forbidden=(
            f"{MODULE}.greedy_decode",
            f"{MODULE}.extend",
            *(f"{HERE}.{name}" for name in ("greedy_decode", "continue_prompt")),
        ),
        misconceptions=MISCONCEPTIONS["greedy_decode"],
        form=list[int],
        makers={"next_logits": TOKEN_FUNCTION},
    ),
    FunctionTask(
        key="decoding.filter_logits",
        stub="filter_logits(logits, top_k=None, top_p=None)",
        contract=(
            "logits (..., V) float32 or float64; returns (..., V): the logits of the tokens that "
            "stay, -inf for the others, in each row of the last axis. First top_k: the k likeliest "
            "stay, all if k is above V. Then top_p: probabilities are renormalised over what is "
            "left, and the likeliest stay until they sum to top_p; the token that crosses it stays "
            "too, so that one stays at least. None leaves nothing out. Ties are not tried. The "
            "argument is not changed."
        ),
        returns=("filtered",),
        reference=answers.filter_logits,
        cases=filter_cases,
        properties=(keeps_or_leaves_out,),
        forbidden=(f"{MODULE}.filter_logits",),
        misconceptions=MISCONCEPTIONS["filter_logits"],
    ),
    FunctionTask(
        key="decoding.beam_search",
        stub=(
            "beam_search(next_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty=0.0)"
        ),
        contract=(
            "ids are a list of int and next_log_probs(ids) gives (V,) log-probabilities; returns "
            "the ids of the best sequence, a list of int. Each step ranks all extensions of all "
            "live hypotheses by their sums and keeps beam_size; those that end with eos_id leave "
            "the beam; a sequence has at most max_len entries in all. Best is the largest sum / n "
            "** length_penalty over ended and unfinished ones, n the tokens after bos, eos "
            "counted. Tried with beams that hold all sequences, and on garden paths."
        ),
        returns=("ids",),
        reference=answers.beam_search,
        cases=beam_cases,
        properties=(begins_and_ends,),
        forbidden=(f"{MODULE}.beam_search", f"{HERE}.beam_search"),
        misconceptions=MISCONCEPTIONS["beam_search"],
        form=list[int],
        makers={"next_log_probs": TOKEN_FUNCTION},
    ),
    FunctionTask(
        key="decoding.cached_attention",
        stub="cached_attention(query, key, value, cache)",
        contract=(
            "query, key, value (B, H, 1, K) of one new token; cache None, or (keys, values), each "
            "(B, H, S, K), oldest first; returns (output, (keys, values)): the output (B, H, 1, K) "
            "of attention from the new token to all of the cache and itself, scaled by 1 / "
            "sqrt(K), and the new pair (B, H, S + 1, K), oldest first. Nothing that came is "
            "changed. Results keep the dtype and the device."
        ),
        returns=("output", "keys", "values"),
        reference=answers.cached_attention,
        cases=cache_cases,
        properties=(oldest_first,),
        forbidden=(*FUSED, f"{HERE}.cached_attention"),
        misconceptions=MISCONCEPTIONS["cached_attention"],
        observe=output_and_pair,
        makers={"cache": CACHE},
    ),
    FunctionTask(
        key="decoding.find_the_bug",
        stub="continue_prompt(next_logits, prompt, eos_id, max_len)",
        contract=(
            f"{LISTED}; prompt is a list of int; returns a list of int: the prompt, then the "
            "likeliest token after all ids so far, again and again. It ends with eos_id if that "
            "came, and has at most max_len entries in all. The prompt is not changed, shorter than "
            "max_len, and has no eos_id in it."
        ),
        returns=("ids",),
        reference=answers.continue_prompt,
        cases=prompt_cases,
        properties=(begins_and_ends,),
        forbidden=(f"{MODULE}.extend", f"{HERE}.continue_prompt"),
        misconceptions=MISCONCEPTIONS["find_the_bug"],
        form=list[int],
        makers={"next_logits": TOKEN_FUNCTION},
    ),
    FunctionTask(
        key="decoding.find_another_bug",
        stub="continue_all(next_logits, prompts, eos_id, max_len)",
        contract=(
            f"{LISTED}; prompts are lists of int of one length; returns a list of lists of int, "
            "one for each prompt: the prompt, then the likeliest token after all ids of this row "
            "so far. A row ends with eos_id if that came, and has at most max_len entries; the "
            "rows need not be of one length. The prompts are not changed."
        ),
        returns=("rows",),
        reference=answers.continue_all,
        cases=batch_cases,
        properties=(rows_begin_and_end,),
        forbidden=(
            f"{MODULE}.extend",
            *(f"{HERE}.{name}" for name in ("continue_all", "continue_prompt")),
        ),
        misconceptions=MISCONCEPTIONS["find_another_bug"],
        form=list[list[int]],
        makers={"next_logits": TOKEN_FUNCTION},
    ),
    FunctionTask(
        key="decoding.search_or_model",
        stub="search_or_model(next_log_probs, said, listed)",
        contract=(
            "ids are a list of int and next_log_probs(ids) gives (V,) log-probabilities; said is "
            "the ids of an answer and listed those of the right ones, a list of one or more; each "
            "starts with the begin token and ends with the end token, which counts. Returns a "
            "tuple (gap, verdict): gap is a float, the log-probability of the likeliest of listed "
            'minus that of said; verdict is "right" where said is in listed, else "search" where '
            'gap is above 0, else "model". Elsewhere than in "right" gap is not tried near 0. '
            "Nothing that came is changed."
        ),
        returns=("result",),
        reference=answers.search_or_model,
        cases=blame_cases,
        properties=(gap_and_verdict_agree,),
        forbidden=(f"{HERE}.search_or_model",),
        misconceptions=MISCONCEPTIONS["search_or_model"],
        form=tuple[float, str],
        makers={"next_log_probs": TOKEN_FUNCTION},
    ),
    FunctionTask(
        key="decoding.clipped_precision",
        stub="clipped_precision(hypothesis, references, n)",
        contract=(
            "hypothesis is a list of str, references a list of one or more such lists, n from 1 "
            "up; returns a tuple (clipped, total) of int: the n-grams of the hypothesis that "
            "count, each at most as often as in the reference that has it most often, and all of "
            "its n-grams; (0, 0) where it is shorter than n. Nothing that came is changed."
        ),
        returns=("result",),
        reference=answers.clipped_precision,
        cases=precision_cases,
        forbidden=("transformer_ref.metrics.corpus_bleu", f"{HERE}.clipped_precision"),
        misconceptions=MISCONCEPTIONS["clipped_precision"],
        form=tuple[int, int],
    ),
)
