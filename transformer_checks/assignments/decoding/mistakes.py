"""The misconceptions of the assignment "decoding", task by task, each a change to the answer.

They come from the notes that the course corrects, and from loops that are widely copied: a name
that is nowhere assigned, a row that goes on behind its end, top-p that drops the token which
crosses the line, a mask that is never put back into the order of the vocabulary, a causal mask on
a single query.
Twins that give the same are one entry: an end token that is compared with a text and one that is
compared with the wrong name; a penalty that is multiplied and one with the wrong sign; rows that
all stop with the first one and rows that are cut to the shortest.
"""

from __future__ import annotations

from dataclasses import replace

from transformer_checks.assignments.shared_mistakes import (
    CHANGES_INPUT,
    FIRST_ROUND,
    FLOAT32_ONLY,
    LARGEST_LOGIT,
    NOTEBOOK,
    SAMPLED,
    TENSOR_FOR_NUMBER,
    after,
    with_wrong,
)
from transformer_checks.judging.changes import change
from transformer_checks.task import Misconception

ENDLESS = r"was called more than [\d,]+ times"


# --- a loop of one token at a time, wherever it is written -----------------------------------

NEVER_STOPS = Misconception(
    "never-stops",
    "the end token does not stop the loop, which always runs to the limit",
    "What is behind the end token is noise. Compare the id that was just chosen with the id "
    "`eos_id`: a text or another name is never equal to it.",
    (change("== eos_id", '== "<eos>"'),),
)
NO_LIMIT = Misconception(
    "no-limit",
    "nothing stops the loop where the end token does not come",
    "A model need not ever say the end token. Count: `max_len` is the number of all entries.",
    (change("len(ids) < max_len", "True"),),
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
    (change("argmax", "argmin"),),
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


# --- greedy_decode ---------------------------------------------------------------------------

ONE_MORE = change("< max_len", "<= max_len")
CHOSEN = "int(next_logits(ids).argmax())"

GREEDY = (
    with_wrong(SAMPLED, change("argmax()", "softmax(dim=-1).multinomial(1)")),
    with_wrong(
        LARGEST_LOGIT,
        change("argmax", "max"),
        change(CHOSEN, "next_logits(ids).max().item()"),
    ),
    with_wrong(
        FIRST_ROUND, change("        if ids[-1] == eos_id:\n            break", "        break")
    ),
    with_wrong(TENSOR_FOR_NUMBER, change("return ids", "return torch.tensor(ids)")),
    with_wrong(
        replace(NOTEBOOK, title="SOS or EOS of the notebook stand where bos_id or eos_id belong"),
        change("[bos_id]", "[1]") + change("== eos_id", "== 0"),
        change("[bos_id]", "[1]"),
    ),
    NEVER_STOPS,
    NO_LIMIT,
    Misconception(
        "never-stops-at-all",
        "neither the end token nor the limit stops the loop",
        "There are two reasons to stop: the token that was just chosen is `eos_id`, or there are "
        "`max_len` entries.",
        (change("== eos_id", '== "<eos>"') + change("len(ids) < max_len", "True"),),
        ENDLESS,
    ),
    with_wrong(
        GIVEN_LEFT_OUT,
        change("return ids", "return ids[1:]"),
        change("return ids", "return ids[1:]") + ONE_MORE,
    ),
    with_wrong(END_LEFT_OUT, change("break", "return ids[:-1]")),
    with_wrong(END_AND_LIMIT, change("break", "return ids[:-1]") + ONE_MORE),
    Misconception(
        "only-the-words",
        "begin and end token are missing in the answer",
        "To take them off is a later step. Here the answer starts with the one, and ends with the "
        "other if it came.",
        (
            change("return ids", "return ids[1:]") + change("break", "return ids[1:-1]"),
            change("return ids", "return ids[1:]") + change("break", "return ids[1:-1]") + ONE_MORE,
        ),
    ),
    Misconception(
        "begin-and-end-exchanged",
        "begin token and end token are exchanged",
        "The answer starts with `bos_id`, and `eos_id` ends it. Look at where each of them stands.",
        (
            change("== eos_id", "== bos_id"),
            change("[bos_id]", "[eos_id]") + change("== eos_id", "== bos_id"),
            change("[bos_id]", "[eos_id]"),
        ),
    ),
    Misconception(
        "end-seen-too-late",
        "the end token is seen one step too late",
        "Compare the token that was said just now: the last one in the list.",
        (change("ids[-1] == eos_id", "ids[-2] == eos_id"),),
    ),
    with_wrong(TOO_LONG, ONE_MORE),
    with_wrong(TOO_SHORT, change("< max_len", "< max_len - 1")),
    with_wrong(LAST_ONLY, change("next_logits(ids)", "next_logits(ids[-1:])")),
    Misconception(
        "begin-token-only",
        "the model is asked about the begin token again and again",
        "What was chosen has to go back in: the list that the model sees grows by one each time.",
        (change("next_logits(ids)", "next_logits(ids[:1])"),),
    ),
    LEAST,
    Misconception(
        "second-likeliest",
        "the second likeliest token is taken",
        "Look at the index: the first of a sorted list is 0.",
        (change("argmax()", "argsort(descending=True)[1]"),),
    ),
    with_wrong(
        FILLED_UP,
        change("return ids", "return ids + [eos_id] * (max_len - len(ids))"),
        change("return ids", "return ids + [0] * (max_len - len(ids))"),
    ),
    with_wrong(
        END_ADDED,
        change("return ids", "return [*ids, eos_id]") + change("break", "return ids"),
        change("return ids", "return [*ids[:-1], eos_id]"),
    ),
    with_wrong(
        STOPS_AT_ZERO,
        change("if ids[-1] == eos_id", "if not ids[-1]"),
        change("== eos_id", "in (0, eos_id)"),
    ),
    Misconception(
        "begin-never-said",
        "the begin token is never chosen",
        "It is a token of the vocabulary. If the model finds it the likeliest, greedy decoding "
        "takes it.",
        (
            change(
                f"ids.append({CHOSEN})",
                "logits = next_logits(ids)\n"
                "        logits[bos_id] = -math.inf\n"
                "        ids.append(int(logits.argmax()))",
            ),
        ),
    ),
    Misconception(
        "nothing-said-twice",
        "no token is said twice",
        "That is a penalty for repetition, which some programs add. Greedy decoding takes the "
        "likeliest token, whatever was said before.",
        (
            change(
                f"ids.append({CHOSEN})",
                "logits = next_logits(ids)\n"
                "        logits[ids[1:]] = -math.inf\n"
                "        ids.append(int(logits.argmax()))",
            ),
        ),
    ),
)


# --- filter_logits ---------------------------------------------------------------------------

KEEP_GIVEN = change("    if top_k is", "    given = logits\n    if top_k is")
LEFT_OUT = "left_out.scatter(-1, order, likelier >= top_p)"
SIZE = "logits.shape[-1]"

FILTER = (
    Misconception(
        "not-renormalised",
        "top-p is measured on the whole distribution, with what top-k has left out",
        "First top-k, then the probabilities of what is left, which sum to one again, then top-p. "
        "Look at which logits the softmax sees.",
        (KEEP_GIVEN + change("logits.softmax", "given.softmax"),),
    ),
    Misconception(
        "one-of-the-two",
        "where both are given, only one of them is applied",
        "Both may be asked for in one call. Look for an else, or an early return.",
        (
            change("if top_p is not None", "elif top_p is not None"),
            change("if top_k is not None", "if top_k is not None and top_p is None"),
        ),
    ),
    Misconception(
        "crossing-token-left-out",
        "the token that crosses top_p is left out",
        "It stays: those that are kept have at least `top_p` together. Without it, a sure model "
        "could be left with nothing to say.",
        (
            change("likelier >= top_p", "likelier + probabilities > top_p"),
            change("likelier >= top_p", "(likelier + probabilities > top_p) & (likelier > 0)"),
        ),
    ),
    Misconception(
        "one-too-many-by-p",
        "top-p keeps one token more than it needs",
        "The token that crosses the line is the last one. Ask of each token what the likelier ones "
        "have together, without itself.",
        (change("likelier >= top_p", "F.pad(likelier, (1, -1)) >= top_p"),),
    ),
    Misconception(
        "gather-for-scatter",
        "what is left out is taken from the places of `order`, and not put there",
        "`order` says where each of the sorted ones came from. gather reads at these places, "
        "scatter writes there.",
        (change(LEFT_OUT, "(likelier >= top_p).gather(-1, order)"),),
    ),
    Misconception(
        "softmax-over-rows",
        "the softmax runs over the rows, not over the tokens of each",
        "The vocabulary is the last axis. Look at the axis of the softmax.",
        (change(".softmax(dim=-1)", ".softmax(dim=0)"),),
    ),
    Misconception(
        "sorted-order-kept",
        "what is left out was found in sorted order, and put on tokens in their own order",
        "Place 0 of the sorted list is the likeliest token, not token 0. The indices that sort "
        "gives lead back.",
        (change(LEFT_OUT, "likelier >= top_p"),),
    ),
    Misconception(
        "least-likely-first",
        "top-p adds up from the least likely token",
        "The likeliest ones stay. Look at the direction of the sort.",
        (change(", descending=True", ""),),
    ),
    Misconception(
        "each-against-the-line",
        "each token's own probability is compared with a line",
        "Top-p asks what the tokens have together. Sort, and add up.",
        (
            change(LEFT_OUT, "logits.softmax(dim=-1) < top_p"),
            change(LEFT_OUT, "logits.softmax(dim=-1) < 1 - top_p"),
            change(LEFT_OUT, "logits.softmax(dim=-1) < top_p * probabilities[..., :1]"),
        ),
    ),
    Misconception(
        "top-p-inverted",
        "top-p keeps the tail, or leaves out as much as it should keep",
        "The likeliest tokens stay until they have `top_p` together, and the rest goes.",
        (
            change("likelier >= top_p", "likelier < top_p"),
            change("likelier >= top_p", "likelier >= 1 - top_p"),
        ),
    ),
    Misconception(
        "logits-added-up",
        "logits are added up where probabilities should be",
        "Logits have no sum that means anything. A softmax comes first.",
        (change(".softmax(dim=-1)", ""),),
    ),
    Misconception(
        "lowest-k",
        "the k least likely tokens stay",
        "Look at the direction of the sort.",
        (change(f"{SIZE}))", f"{SIZE}), largest=False)") + change("< smallest", "> smallest"),),
    ),
    Misconception(
        "top-k-left-out",
        "the k likeliest tokens are the ones that are left out",
        "Look at what the condition selects: what stays, or what goes?",
        (change("< smallest", ">= smallest"),),
    ),
    Misconception(
        "k-off-by-one",
        "one token too many stays, or one too few",
        "Exactly k stay. Look at the comparison with the k-th logit, or at an index.",
        (
            change("min(top_k,", "min(top_k + 1,"),
            change("< smallest", "<= smallest")
            + change("if top_k is not None", f"if top_k is not None and top_k <= {SIZE}"),
            change("< smallest", "<= smallest"),
        ),
    ),
    Misconception(
        "not-row-by-row",
        "the k likeliest are not found in each row by itself",
        "Each row of the last axis is a distribution of its own. Look for a flatten or an index "
        "that takes rows away.",
        (
            change(f"logits.topk(min(top_k, {SIZE}))", "logits.flatten().topk(top_k)"),
            change(
                "        smallest = logits",
                f"        row = logits.reshape(-1, {SIZE})[0]\n        smallest = row",
            )
            + change("logits < smallest", "row < smallest"),
        ),
    ),
    Misconception(
        "k-above-v",
        "a `top_k` above the size of the vocabulary is an error",
        "More than all is all. Compare k with the size first.",
        (change(f"min(top_k, {SIZE})", "top_k"),),
        r"out of range|out of bounds",
    ),
    Misconception(
        "zero-for-minus-infinity",
        "what is left out gets 0",
        "0 is a logit like others, and often a high one. What is left out must have probability 0 "
        "after the softmax.",
        (
            change("return logits", "return logits.masked_fill(logits == -math.inf, 0.0)"),
            change("smallest, -math.inf", "smallest, 0.0")
            + change("left_out, -math.inf", "left_out, 0.0"),
        ),
    ),
    Misconception(
        "probabilities",
        "the result holds probabilities where logits should be",
        "The tokens that stay keep their logits. The softmax inside is for measuring only.",
        (
            change("return logits", "return logits.softmax(dim=-1)"),
            KEEP_GIVEN
            + change("return logits", "return given.softmax(dim=-1) * (logits > -math.inf)"),
            KEEP_GIVEN
            + change(
                "return logits", "return given.softmax(dim=-1).where(logits > -math.inf, -math.inf)"
            ),
        ),
    ),
    Misconception(
        "log-probabilities",
        "the logits that stay are not the ones that came: they have been normalised",
        "A softmax of the result gives the same, but what was asked for are the logits. Look for a "
        "log_softmax.",
        (
            change("return logits", "return logits.log_softmax(dim=-1)"),
            change("    if top_k is", "    logits = logits.log_softmax(dim=-1)\n    if top_k is"),
        ),
    ),
    Misconception(
        "sorted-result",
        "the result is sorted",
        "Place i of the result belongs to token i. Put the logits back where they came from.",
        (change("return logits", "return logits.sort(dim=-1, descending=True).values"),),
    ),
    Misconception(
        "only-k-logits",
        "the result holds the k likeliest logits only, and says no more which tokens they are",
        "Place i of the result belongs to token i, so it has the shape of `logits`. What is left "
        "out gets minus infinity.",
        (
            change(".values[..., -1:]", ".values")
            + change("logits.masked_fill(logits < smallest, -math.inf)", "smallest"),
        ),
        r"out of range",
    ),
    with_wrong(CHANGES_INPUT, KEEP_GIVEN + change("return logits", "return given.copy_(logits)")),
    with_wrong(
        FLOAT32_ONLY, change("    if top_k is", "    logits = logits.float()\n    if top_k is")
    ),
)


# --- beam_search -----------------------------------------------------------------------------

# What takes the beam_size likeliest of each hypothesis, though there may be fewer.
TOPK = change(
    "token, step in enumerate(next_log_probs(ids).tolist())",
    "step, token in zip(*(x.tolist() for x in next_log_probs(ids).topk(beam_size)))",
)
EACH_BY_ITSELF = change(
    "        kept = grown[:beam_size]\n",
    "        kept = grown[:beam_size]\n"
    "        if len(live[0][1]) > 1:\n"
    "            kept = [next(pair for pair in grown if pair[1][:-1] == ids) for _, ids in live]\n",
)
ONE_LIST = change("[*ids, token]", "ids.append(token) or ids")
SUM = "total + step"
N = "(len(ids) - 1)"

BEAM = (
    Misconception(
        "greedy",
        "this is greedy decoding: one hypothesis is kept, whatever `beam_size` says",
        "Keep the `beam_size` best of all extensions at each step. Where an early choice hides a "
        "later doubt, the second best leads further.",
        (change("grown[:beam_size]", "grown[:1]"),),
    ),
    Misconception(
        "each-goes-on-greedily",
        "the beams part at the first step only, and each goes on by itself",
        "Rank all extensions of all hypotheses together. Two of the best may have the same parent.",
        (EACH_BY_ITSELF, EACH_BY_ITSELF + TOPK),
        r"out of range",
    ),
    Misconception(
        "one-list-for-all",
        "all hypotheses are one and the same list",
        "append keeps no copy: every token lands in all of them. [*ids, token] is a new list.",
        (
            ONE_LIST
            + change("while live and len(live[0][1]) < max_len", "for _ in range(max_len - 1)"),
            ONE_LIST,
        ),
        ENDLESS,
    ),
    Misconception(
        "beam-above-v",
        "a beam that is wider than the vocabulary is an error",
        "One hypothesis has only V extensions. Compare `beam_size` with that before topk.",
        (TOPK,),
        r"out of range",
    ),
    Misconception(
        "worst-kept",
        "the worst extensions are kept",
        "Log-probabilities are below 0, and the one nearest to 0 is the best. Look at the "
        "direction of the sort.",
        (
            change("[:beam_size]", "[-beam_size:]"),
            change("[:beam_size]", "[-beam_size:]") + change("max(ended", "min(ended"),
            change("max(ended", "min(ended"),
        ),
    ),
    Misconception(
        "penalty-ignored",
        "the length penalty changes nothing",
        "In the end, the sums are divided by n ** length_penalty. Look at whether the argument is "
        "used.",
        (change(f" / {N} ** length_penalty", ""),),
    ),
    Misconception(
        "penalty-multiplied",
        "the sums are multiplied by n ** length_penalty",
        "A sum of log-probabilities is below 0; multiplied, it gets worse with length. Divide.",
        (change(f"/ {N}", f"* {N}"),),
    ),
    Misconception(
        "begin-token-counted",
        "n counts the begin token too",
        "The begin token was given and has no probability. n is the number of tokens behind it.",
        (change(N, "len(ids)"),),
    ),
    Misconception(
        "end-token-not-counted",
        "n does not count the end token",
        "The end token was chosen, and its log-probability is in the sum. It counts.",
        (change(N, "max(1, len(ids) - 1 - (ids[-1] == eos_id))"),),
    ),
    Misconception(
        "other-length-penalty",
        "this is the length penalty of another paper: ((5 + n) / 6) ** length_penalty",
        "Wu et al. have it so. Here the sum is divided by n ** length_penalty.",
        (change(N, "((5 + len(ids) - 1) / 6)"),),
    ),
    Misconception(
        "always-the-mean",
        "the mean is always taken, whatever `length_penalty` is",
        "With a length penalty of 0 it is the sum that counts.",
        (change(" ** length_penalty", ""),),
    ),
    Misconception(
        "last-step-only",
        "only the log-probability of the last step counts",
        "A sequence is as likely as all of its steps together. Add each step to the sum so far.",
        (change(SUM, "step"),),
    ),
    Misconception(
        "log-probabilities-multiplied",
        "the log-probabilities are multiplied",
        "Probabilities multiply, their logarithms add up.",
        (
            change(SUM, "total * step") + change("(0.0, [bos_id])", "(1.0, [bos_id])"),
            change(SUM, "total * -step") + change("(0.0, [bos_id])", "(-1.0, [bos_id])"),
        ),
    ),
    Misconception(
        "probabilities-added",
        "probabilities are added up",
        "Probabilities multiply, their logarithms add up. Leave the logarithms as they come.",
        (change(SUM, "total + math.exp(step)"),),
    ),
    Misconception(
        "unfinished-left-out",
        "only sequences that have ended are compared",
        "What the limit cut off takes part too, if no ended one is better.",
        (change("ended + live", "ended or live"),),
    ),
    Misconception(
        "ended-left-out",
        "what has ended is forgotten: only what is alive at the limit is compared",
        "A hypothesis that ends leaves the beam, but not the contest. Put it aside.",
        (change("ended + live", "live or ended"),),
    ),
    Misconception(
        "ended-forgotten",
        "a sequence that has ended early never wins",
        "It waits, and is compared with the others when the search is over. Look for a list that "
        "begins anew in each round, or for the length in the comparison.",
        (change("ended += ", "ended = "),),
    ),
    Misconception(
        "first-that-ended",
        "the search stops with the first sequence that ends",
        "A longer one may still be better, with a length penalty in particular. Go on as long as "
        "there is one alive.",
        (
            change("ended + live", "(ended or live)[:1]"),
            change("while live", "while live and not ended"),
        ),
    ),
    Misconception(
        "goes-on-behind-the-end",
        "a hypothesis that has ended is extended like the others",
        "What is behind the end token is noise. A hypothesis that ends leaves the beam.",
        (change("== eos_id", '== "<eos>"') + change("!= eos_id", '!= "<eos>"'),),
    ),
    Misconception(
        "limit-counts-new-tokens",
        "a sequence may be too long: the limit counts the new tokens only",
        "`max_len` is the number of all entries, the begin token included.",
        (change("< max_len", "<= max_len"),),
    ),
    Misconception(
        "one-too-short",
        "the search stops one step before the limit",
        "`max_len` entries are allowed, the begin token included, so there are max_len - 1 steps.",
        (change("< max_len", "< max_len - 1"),),
    ),
    Misconception(
        "begin-left-out",
        "the begin token is missing in the answer",
        "Every sequence starts with it. Look for a slice in the end.",
        (change("key=score)[1]", "key=score)[1][1:]"),),
    ),
    Misconception(
        "end-left-out",
        "the end token is missing in the answer",
        "If the best sequence has ended, its last entry is the end token.",
        (
            change(
                "return max(ended + live, key=score)[1]",
                "ids = max(ended + live, key=score)[1]\n"
                "    return ids[:-1] if ids[-1] == eos_id else ids",
            ),
        ),
    ),
)


# --- cached_attention ------------------------------------------------------------------------

# Changes to the attention itself are made to these lines, as if it were written out.
WRITTEN_OUT = change(
    "output, _ = reference.scaled_dot_product_attention(query, keys, values)",
    "scores = query @ keys.transpose(-2, -1) / math.sqrt(query.shape[-1])\n"
    "    output = scores.softmax(dim=-1) @ values",
)
ATTENDED = "(query, keys, values)"
GIVEN_BACK = "return output, (keys, values)"
KEYS, VALUES = "torch.cat([cache[0], key], dim=2)", "torch.cat([cache[1], value], dim=2)"
START = "    keys, values = key, value\n"
TWICE = "keys, values = torch.cat([keys, key], dim=2), torch.cat([values, value], dim=2)\n"

CACHED = (
    Misconception(
        "cache-not-used",
        "the new token attends to itself only: the cache is not used",
        "Its one weight is then 1, and the output its own value. Put the keys and values of the "
        "cache in front of the new ones first.",
        (
            change(KEYS, "key") + change(VALUES, "value"),
            change(ATTENDED, "(query, key, value)"),
        ),
    ),
    Misconception(
        "not-to-itself",
        "the new token does not attend to itself",
        "Under a causal mask a token sees itself. Append its key and value before you attend.",
        (change(ATTENDED, "(query, *(cache or (key, value)))"),),
    ),
    Misconception(
        "causal-mask-on-one-query",
        "only the oldest key is seen: a causal mask was put on",
        "The one row of a mask of shape (1, S) says that the first query sees the first key. This "
        "query is the last one, and all keys are in its past: no mask is needed.",
        (change(ATTENDED, "(query, keys, values, torch.ones(1, keys.shape[2]).tril().bool())"),),
    ),
    Misconception(
        "one-half-of-the-cache",
        "one half of the cache stands for both: keys for values, or values for keys",
        "cache[0] holds the keys and cache[1] the values. Look at what each of the two is joined "
        "to.",
        (change(VALUES, VALUES.replace("1", "0")), change(KEYS, KEYS.replace("0", "1"))),
    ),
    Misconception(
        "not-appended",
        "the new pair is the old one: the new key and value are not in it",
        "The next token has to find this one in the cache.",
        (
            change(GIVEN_BACK, "return output, cache or (key, value)"),
            change(KEYS, "cache[0]") + change(VALUES, "cache[1]"),
        ),
    ),
    Misconception(
        "only-the-newest-kept",
        "the new pair holds the newest key and value only",
        "What came before is lost then. Hand back all, oldest first.",
        (change(GIVEN_BACK, "return output, (key, value)"),),
    ),
    Misconception(
        "newest-first",
        "the newest key and value are put in front",
        "The output is the same, since a sum has no order. But the pair should have the oldest "
        "first, as the positions run.",
        (
            change("[cache[0], key]", "[key, cache[0]]")
            + change("[cache[1], value]", "[value, cache[1]]"),
        ),
    ),
    Misconception(
        "only-keys-appended",
        "keys are appended, and values are not",
        "There are as many weights as keys, and each of them needs its value.",
        (change(VALUES, "value"),),
        r"batch2|one row of key and value",  # of torch, and of the package
    ),
    Misconception(
        "joined-along-another-axis",
        "the new key is joined to the cache along another axis than that of the tokens",
        "The axes are batch, heads, tokens, features. Look at `dim`.",
        (change("key], dim=2", "key], dim=1") + change("value], dim=2", "value], dim=1"),),
        r"[Ss]izes of tensors must match|must match the size|size of tensor|Expected size",
    ),
    Misconception(
        "drops-the-oldest",
        "the oldest token is dropped: the cache does not grow",
        "A window is a choice that some models make. Here everything is kept.",
        (
            change(KEYS, f"{KEYS}[:, :, 1:]") + change(VALUES, f"{VALUES}[:, :, 1:]"),
            change(
                "    return",
                "    if cache is not None:\n"
                "        keys, values = keys[:, :, 1:], values[:, :, 1:]\n"
                "    return",
            ),
        ),
    ),
    Misconception(
        "appended-twice",
        "the new token is in the pair twice",
        "Look at whether something appends in two places.",
        (
            change("    output, _", f"    {TWICE}    output, _"),
            change("    return", f"    {TWICE}    return"),
        ),
    ),
    Misconception(
        "zeros-for-no-cache",
        "where there is no cache yet, it begins with a token of zeros",
        "A key of zeros has the score 0, and so a weight. The first token sees itself only: the "
        "new pair holds one key and one value.",
        (change(START, "    cache = cache or (torch.zeros_like(key), torch.zeros_like(value))\n"),),
    ),
    Misconception(
        "newest-written-over",
        "the new key and value are written over the last ones of the cache",
        "They go behind them. The cache that came stays as it is: other hypotheses may hold it.",
        (
            change(KEYS, "cache[0]")
            + change(VALUES, "cache[1]\n        keys[:, :, -1:], values[:, :, -1:] = key, value"),
        ),
    ),
    Misconception(
        "keys-and-values-swapped",
        "keys and values have changed places",
        "The query is compared with the keys, and the values are averaged. The pair is (keys, "
        "values), in this order.",
        (
            change(GIVEN_BACK, "return output, (values, keys)"),
            change(START, f"    key, value = value, key\n{START}"),
        ),
    ),
    Misconception(
        "query-kept-as-key",
        "the query is put where the key belongs",
        "The cache holds keys and values. The query is for this step only, and is thrown away.",
        (
            change(START, f"    key, value = query, value\n{START}"),
            change(START, f"    key, value = query, key\n{START}"),
        ),
    ),
    *after(
        WRITTEN_OUT,
        Misconception(
            "no-scale",
            "the products of queries and keys are not scaled",
            "Divide the scores by sqrt(K), as in the attention of a whole sequence.",
            (change(" / math.sqrt(query.shape[-1])", ""),),
        ),
        Misconception(
            "scaled-by-length",
            "the scale comes from the number of tokens",
            "K is the size of the vectors that are multiplied: the last axis.",
            (
                change("query.shape[-1]", "keys.shape[-2]"),
                change("query.shape[-1]", "query.shape[1]"),
            ),
        ),
        Misconception(
            "softmax-over-queries",
            "the softmax runs over the queries",
            "There is one query, so every weight is 1 and the output is a sum. Look at `dim`.",
            (change("softmax(dim=-1)", "softmax(dim=-2)"),),
        ),
        Misconception(
            "no-softmax",
            "the scores are used as weights",
            "Between the scores and the values there is a softmax.",
            (change("scores.softmax(dim=-1)", "scores"),),
        ),
    ),
    Misconception(
        "changes-the-cache",
        "the cache that came is changed",
        "Another hypothesis may go on from the same cache. Make new tensors.",
        (
            change(
                "    return",
                "    if cache is not None:\n        cache[0].zero_(), cache[1].zero_()\n    return",
            ),
        ),
    ),
    with_wrong(
        FLOAT32_ONLY,
        change(START, f"    query, key, value = query.float(), key.float(), value.float()\n{START}")
        + change("[cache[0],", "[cache[0].float(),")
        + change("[cache[1],", "[cache[1].float(),"),
    ),
)


# --- find the bug: the name that is nowhere assigned -----------------------------------------

ROUNDS = "max_len - len(prompt)"
NEW_COUNTED = change(ROUNDS, "max_len")
# To leave the loop comes before to append.
LEAVES_FIRST = change("        ids.append(best)\n", "") + change(
    "            break\n", "            break\n        ids.append(best)\n"
)
FIXED_WITH_NONE = change("    ids =", "    pred_token = None\n    ids =") + change(
    "best == eos_id", "pred_token == eos_id"
)
NEW_ONLY = change("return ids", "return ids[len(prompt) :]")

BUG = (
    Misconception(
        "bug-is-in",
        "the bug is still in it",
        "The error says which name is not known. Which name does the code give to the token that "
        "it has just chosen?",
        (change("best == eos_id", "pred_token == eos_id"),),
        r"name '\w+' is not defined|referenced before assignment|not associated with a value",
    ),
    Misconception(
        "other-name-is-left-over",
        "nothing is raised any more, and nothing stops the loop before the limit",
        "To give the unknown name some value does not mend it. It is the token that was just "
        "chosen, of this very step, that has to be compared.",
        (FIXED_WITH_NONE, FIXED_WITH_NONE + NEW_COUNTED),
    ),
    with_wrong(TOO_LONG, NEW_COUNTED, change(ROUNDS, f"{ROUNDS} + 1")),
    with_wrong(END_LEFT_OUT, LEAVES_FIRST),
    with_wrong(END_AND_LIMIT, LEAVES_FIRST + NEW_COUNTED),
    with_wrong(GIVEN_LEFT_OUT, NEW_ONLY, NEW_COUNTED + NEW_ONLY),
    with_wrong(TOO_SHORT, change(ROUNDS, f"{ROUNDS} - 1")),
    with_wrong(NO_LIMIT, change(f"for _ in range({ROUNDS})", "while True")),
    with_wrong(LAST_ONLY, change("next_logits(ids)", "next_logits(ids[-1:])")),
    Misconception(
        "prompt-counted-twice",
        "the prompt is counted off the limit twice",
        "`max_len` entries are allowed, the prompt included.",
        (change(ROUNDS, f"{ROUNDS} - len(prompt)"),),
    ),
    LEAST,
    with_wrong(
        replace(
            CHANGES_INPUT,
            title="the function changes the caller's prompt",
            hint="append on the argument itself reaches out of the function. Make a new list.",
        ),
        change("list(prompt)", "prompt"),
    ),
)


# --- find another bug: rows that have ended --------------------------------------------------

ALL_ROUNDS = "max_len - len(prompts[0])"
ENDED_FOR_GOOD = "[row for row in at_work if row[-1] != eos_id]  # ended for good"
TURN = "        for row in at_work:\n"

ANOTHER_BUG = (
    Misconception(
        "bug-is-in",
        "the bug is still in it: rows go on behind their end",
        "Go through the example by hand. After the step in which the first row ends, what does the "
        "code know of it?",
        (
            change(
                f"at_work = {ENDED_FOR_GOOD}",
                "if all(row[-1] == eos_id for row in rows):\n            break",
            ),
            change(TURN, "        for row in at_work and rows:\n"),
        ),
    ),
    Misconception(
        "never-stops",
        "no end token stops anything, and all rows run to the limit",
        "A row stops when the token that was just chosen for it is `eos_id`.",
        (change("!= eos_id", '!= "<eos>"'),),
    ),
    Misconception(
        "ended-row-wakes-up",
        "a row that has ended stands still for a step, and then goes on",
        "Once ended, always ended. Look at what becomes of the mark in the next step.",
        (
            change(
                ENDED_FOR_GOOD,
                "at_work and [row for row in rows if row[-1] != eos_id or row not in at_work]",
            ),
        ),
    ),
    Misconception(
        "stops-with-the-first-row",
        "all rows stop when the first of them ends",
        "The others have not said all. Go on as long as one row is at work, and cut none to the "
        "length of another.",
        (
            change(TURN, f"        if len(at_work) < len(rows):\n            break\n{TURN}"),
            change(TURN, f"        if rows[0] not in at_work:\n            break\n{TURN}"),
        ),
    ),
    Misconception(
        "rows-behind-wait",
        "a row that has ended takes the turn from the rows behind it",
        "break leaves the whole loop over the rows. continue goes on with the next row.",
        (
            change(
                TURN,
                "        for row in rows:\n"
                "            if row[-1] == eos_id:\n"
                "                break\n",
            ),
        ),
    ),
    with_wrong(
        FILLED_UP,
        change(
            "return rows",
            "longest = max(map(len, rows))\n"
            "    return [row + [eos_id] * (longest - len(row)) for row in rows]",
        ),
        change(
            "return rows",
            "longest = max(map(len, rows))\n"
            "    return [row + [0] * (longest - len(row)) for row in rows]",
        ),
        change("return rows", "return [row + [eos_id] * (max_len - len(row)) for row in rows]"),
    ),
    with_wrong(
        END_LEFT_OUT,
        change("return rows", "return [row[:-1] if row[-1] == eos_id else row for row in rows]"),
    ),
    with_wrong(
        GIVEN_LEFT_OUT,
        change("return rows", "return [row[len(prompts[0]) :] for row in rows]"),
        change("return rows", "return [row[len(prompts[0]) :] for row in rows]")
        + change(ALL_ROUNDS, "max_len"),
    ),
    with_wrong(
        TOO_LONG,
        change(ALL_ROUNDS, "max_len"),
        change(ALL_ROUNDS, f"{ALL_ROUNDS} + 1"),
    ),
    with_wrong(TOO_SHORT, change(ALL_ROUNDS, f"{ALL_ROUNDS} - 1")),
    with_wrong(NO_LIMIT, change(f"for _ in range({ALL_ROUNDS})", "while at_work")),
    with_wrong(LAST_ONLY, change("next_logits(row)", "next_logits(row[-1:])")),
    Misconception(
        "one-answer-for-all",
        "every row gets the tokens of the first",
        "Each row has its own prompt, and the model is asked about each row.",
        (
            change(TURN, f"        best = int(next_logits(rows[0]).argmax())\n{TURN}")
            + change("int(next_logits(row).argmax())", "best"),
        ),
    ),
    with_wrong(
        replace(
            CHANGES_INPUT,
            title="the function changes the caller's prompts",
            hint="append on the lists that came reaches out of the function. Make new lists.",
        ),
        change("[list(prompt) for prompt in prompts]", "prompts"),
    ),
)


# --- search_or_model -------------------------------------------------------------------------

STEPS = "next_log_probs(ids[:t])[ids[t]].item() for t in range(1, len(ids))"
TOTAL = f"sum({STEPS})"
OVER_LISTED = "log_probability(ids) for ids in listed"
LIKELIEST = f"max({OVER_LISTED})"
GAP = f"{LIKELIEST} - log_probability(said)"
IS_RIGHT = "if said in listed:"
BLAMED = '"search" if gap > 0 else "model"'

BLAME = (
    Misconception(
        "one-step-only",
        "only one step of an answer counts",
        "An answer is as likely as all of its steps together: one for each token behind the begin "
        "token.",
        (
            change(TOTAL, "next_log_probs(ids[:-1])[ids[-1]].item()"),
            change(TOTAL, "next_log_probs(ids[:1])[ids[1]].item()"),
        ),
    ),
    Misconception(
        "end-left-out",
        "the step to the end token does not count",
        "To stop is a choice of the model too. Look at where the range ends: the last entry of the "
        "answer is the end token.",
        (change("range(1, len(ids))", "range(1, len(ids) - 1)"),),
    ),
    Misconception(
        "begin-token-counted",
        "the model is asked for the begin token, which it never says",
        "Nothing stands before it, so there is no beginning to ask the model about. The first step "
        "is the one to the entry behind it.",
        (change("range(1, len(ids))", "range(len(ids))"),),
        r"received 0\b",
    ),
    Misconception(
        "asked-behind-the-token",
        "the model has seen the token already when it is asked how probable it is",
        "next_log_probs(ids) says what comes *behind* ids. For a token it gets the entries that "
        "stand before it, and no more.",
        (change("ids[:t]", "ids[: t + 1]"),),
    ),
    with_wrong(LAST_ONLY, change("ids[:t]", "ids[t - 1 : t]")),
    Misconception(
        "listed-behind-what-was-said",
        "the tokens of the right answers are looked up behind the beginnings of what was said",
        "Each answer is asked about behind its own beginnings. What the model said belongs to the "
        "other answer.",
        (
            change(OVER_LISTED, OVER_LISTED.replace("log_probability(ids)", f"sum({STEPS})"))
            + change(
                "ids[:t])[ids[t]].item() for t in range(1, len(ids))) for ids in",
                "said[:t])[ids[t]].item() for t in range(1, len(ids))) for ids in",
            ),
            change(OVER_LISTED, OVER_LISTED.replace("log_probability(ids)", f"sum({STEPS})"))
            + change(
                "ids[:t])[ids[t]].item() for t in range(1, len(ids))) for ids in",
                "said[:t])[ids[t]].item() for t in range(1, min(len(said), len(ids)))) for ids in",
            ),
        ),
    ),
    Misconception(
        "mean-of-the-steps",
        "the mean over the steps is compared, and not the sum",
        "The mean is what a length penalty of 1 compares. How likely an answer is, is the product "
        "over all steps, so its logarithm is their sum.",
        (change(TOTAL, f"{TOTAL} / (len(ids) - 1)"), change(TOTAL, f"{TOTAL} / len(ids)")),
    ),
    Misconception(
        "probabilities-added",
        "the probabilities of the steps are added up",
        "Probabilities multiply, their logarithms add up. Leave the logarithms as they come.",
        (
            change(
                STEPS, STEPS.replace("next_log", "math.exp(next_log").replace(".item()", ".item())")
            ),
        ),
    ),
    Misconception(
        "gap-of-probabilities",
        "the gap is one of probabilities: their difference, or their quotient",
        "The gap is a difference of two log-probabilities. No exp is needed anywhere.",
        (
            change(TOTAL, f"math.exp({TOTAL})"),
            change(GAP, f"math.exp({GAP})") + change("gap > 0", "gap > 1"),
        ),
    ),
    Misconception(
        "product-too-small",
        "probabilities are multiplied, and the product of a long answer is 0 for a computer",
        "That is why logarithms are added up: the sum of a long answer is a number like any other.",
        (
            change(
                TOTAL,
                "math.log(math.prod(math.exp(next_log_probs(ids[:t])[ids[t]].item()) "
                "for t in range(1, len(ids))))",
            ),
            change(
                TOTAL,
                "torch.tensor([next_log_probs(ids[:t])[ids[t]].item() "
                "for t in range(1, len(ids))]).double().exp().prod().log().item()",
            ),
        ),
        r"math domain error|expected a positive input",
    ),
    Misconception(
        "gap-turned-round",
        "the gap has the wrong sign",
        "From the likeliest right answer subtract what was said: above 0, the right one is the "
        "likelier.",
        (
            change(GAP, f"log_probability(said) - {LIKELIEST}"),
            change(GAP, f"log_probability(said) - {LIKELIEST}") + change("gap > 0", "gap < 0"),
        ),
    ),
    Misconception(
        "verdicts-exchanged",
        '"search" and "model" have changed places',
        "If the model finds a right answer likelier, it is not the model that went wrong: the "
        "search has not found it.",
        (change("gap > 0", "gap < 0"),),
    ),
    Misconception(
        "first-listed-only",
        "only one of the right answers is looked at",
        "There may be several. The likeliest of them is the one to compare with.",
        (
            change(LIKELIEST, "log_probability(listed[0])"),
            change(LIKELIEST, "log_probability(listed[0])")
            + change("said in listed", "said == listed[0]"),
            change(LIKELIEST, "log_probability(listed[-1])"),
            change(LIKELIEST, "log_probability(listed[-1])")
            + change("said in listed", "said == listed[-1]"),
        ),
    ),
    Misconception(
        "not-the-likeliest-listed",
        "what was said is not compared with the likeliest right answer",
        "One right answer that is likelier than what was said is enough: the search has missed it. "
        "Look for a min, a sum or a mean over `listed`.",
        (
            change(LIKELIEST, f"min({OVER_LISTED})"),
            change(LIKELIEST, f"sum({OVER_LISTED})"),
            change(LIKELIEST, f"sum({OVER_LISTED}) / len(listed)"),
            change(LIKELIEST, "math.log(sum(math.exp(log_probability(ids)) for ids in listed))"),
        ),
    ),
    Misconception(
        "right-not-seen",
        "an answer that is right gets the blame",
        "What was said may stand anywhere in `listed`, and then nobody made a mistake, even if "
        "another right answer is likelier.",
        (
            change(IS_RIGHT, "if False:"),
            change(IS_RIGHT, "if gap == 0:"),
            change(IS_RIGHT, "if said == listed[0]:"),
        ),
    ),
    with_wrong(TENSOR_FOR_NUMBER, change(".item()", "")),
)


# --- clipped_precision -----------------------------------------------------------------------

SLICES = "tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)"
COUNTER = f"Counter({SLICES})"
LARGER = "allowed |= ngrams(translation)  # the larger of two counts"
CLIPPED = "(mine & allowed).total()"
ALL_OF_THEM = ", mine.total()"

PRECISION = (
    Misconception(
        "not-clipped",
        "nothing is clipped: an n-gram counts as often as the hypothesis has it",
        "That way *the the the the* would be perfect. An n-gram counts at most as often as a "
        "reference has it.",
        (change(CLIPPED, "sum(count for gram, count in mine.items() if gram in allowed)"),),
    ),
    Misconception(
        "references-added",
        "the counts of the references are added up",
        "Each reference by itself says how often an n-gram may come; two of them do not make twice "
        "as many right. Keep the larger of two counts.",
        (change("allowed |= ngrams(translation)", "allowed += ngrams(translation)"),),
    ),
    Misconception(
        "smallest-of-the-references",
        "an n-gram counts only as often as the reference has it that has it least often",
        "The references are several good translations, and it is enough if one of them has it.",
        (
            change(
                "    for translation in references:\n        allowed |=",
                "    allowed |= ngrams(references[0])\n"
                "    for translation in references:\n        allowed &=",
            ),
        ),
    ),
    Misconception(
        "first-reference-only",
        "only one of the references is looked at",
        "There may be several, and each can have n-grams that the others have not.",
        (
            change("in references:", "in references[:1]:"),
            change("in references:", "in references[-1:]:"),
        ),
    ),
    Misconception(
        "best-reference-only",
        "the count is the one with the best single reference",
        "One n-gram may come from one reference and the next from another: take the larger count "
        "for each n-gram by itself, and add up behind it.",
        (
            change(CLIPPED, "max((mine & ngrams(each)).total() for each in references)"),
            change(CLIPPED, "sum((mine & ngrams(each)).total() for each in references)"),
        ),
    ),
    Misconception(
        "references-joined",
        "the references are joined to one long text",
        "Then counts add up, and n-grams arise across the border. Count in each reference by "
        "itself.",
        (
            change(
                "    for translation in references:\n",
                "    for translation in [sum(references, [])]:\n",
            ),
        ),
    ),
    Misconception(
        "each-n-gram-once",
        "an n-gram that comes several times counts once",
        "Every place of the hypothesis where an n-gram begins is one of its n-grams. Look for a "
        "set, or for the keys without their counts.",
        (
            change(f"{CLIPPED}{ALL_OF_THEM}", "len(mine & allowed), len(mine)"),
            change(CLIPPED, "len(mine & allowed)"),
            change(ALL_OF_THEM, ", len(mine)"),
        ),
    ),
    Misconception(
        "tokens-counted",
        "the second number counts tokens, and not n-grams",
        "The last places have not enough tokens behind them for an n-gram to begin.",
        (change(ALL_OF_THEM, ", len(hypothesis)"),),
    ),
    Misconception(
        "fewer-than-none",
        "the second number is below 0 where the hypothesis is shorter than n",
        "A short hypothesis has no n-gram, so there are 0. Count them, or do not let a difference "
        "fall below 0.",
        (change(ALL_OF_THEM, ", len(hypothesis) - n + 1"),),
    ),
    Misconception(
        "total-of-the-reference",
        "the second number counts the n-grams of the reference",
        "That would be the recall. A precision asks how much of the *hypothesis* is right.",
        (
            change(ALL_OF_THEM, ", ngrams(references[0]).total()"),
            change(ALL_OF_THEM, ", allowed.total()"),
            change(ALL_OF_THEM, ", max(ngrams(each).total() for each in references)"),
            change(ALL_OF_THEM, ", sum(ngrams(each).total() for each in references)"),
        ),
    ),
    Misconception(
        "last-n-gram-missing",
        "the last n-gram is missing",
        "Count by hand: three tokens have two n-grams of two tokens. Look at where the range ends.",
        (change("- n + 1", "- n"),),
    ),
    Misconception(
        "shorter-ones-at-the-end",
        "slices at the end that are shorter than n are counted as n-grams",
        "A slice that goes over the end is cut without an error. Let the range end earlier.",
        (change("len(tokens) - n + 1", "len(tokens)"),),
    ),
    Misconception(
        "without-overlap",
        "the text is cut into pieces of n tokens, which do not overlap",
        "An n-gram begins at every place, so neighbours share all tokens but one.",
        (
            change("len(tokens) - n + 1", "0, len(tokens) - n + 1, n"),
            change("len(tokens) - n + 1", "0, len(tokens), n"),
        ),
    ),
    Misconception(
        "order-ignored",
        "the order of the tokens in an n-gram is ignored",
        "*cat the* is not *the cat*. A tuple keeps the order; a set or a sorted list does not.",
        (
            change("tuple(tokens[i : i + n])", "tuple(sorted(tokens[i : i + n]))"),
            change("tuple(tokens[i : i + n])", "frozenset(tokens[i : i + n])"),
        ),
    ),
    Misconception(
        "borders-lost",
        "the tokens of an n-gram are joined without their borders",
        "*cats at* and *cat sat* are the same letters. A tuple keeps the tokens apart.",
        (change("tuple(tokens[i : i + n])", '"".join(tokens[i : i + n])'),),
    ),
    Misconception(
        "n-ignored",
        "n has no effect, or shorter n-grams count too",
        "Every n-gram has exactly n tokens. Look at where the slice ends.",
        (
            change(SLICES, "(token,) for token in tokens"),
            change(
                SLICES,
                "tuple(tokens[i : i + m]) for m in range(1, n + 1) "
                "for i in range(len(tokens) - m + 1)",
            ),
        ),
    ),
    Misconception(
        "share-for-counts",
        "the result is the share, and not the two counts",
        "Over many sentences the counts are added before anything is divided. Return both.",
        (change(f"{CLIPPED}{ALL_OF_THEM}", f"{CLIPPED} / max(1, mine.total())"),),
    ),
)

MISCONCEPTIONS = {
    "greedy_decode": GREEDY,
    "filter_logits": FILTER,
    "beam_search": BEAM,
    "cached_attention": CACHED,
    "find_the_bug": BUG,
    "find_another_bug": ANOTHER_BUG,
    "search_or_model": BLAME,
    "clipped_precision": PRECISION,
}
