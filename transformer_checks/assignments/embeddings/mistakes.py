"""The misconceptions of the assignment "embeddings", task by task, each a change to the answer.

They come from the notes that the course corrects (a product of E with the indices themselves, the
scale on the wrong side of a tied matrix), from tutorials of word2vec (slices that begin below 0,
logarithms of rounded sigmoids), and from the defaults of torch (`freeze=True`).
Twins that give the same answer are one entry: the candidates not normalised and a plain product
rank alike; before a LayerNorm, a scale of rows and positions together is nearly none, and positions
times sqrt(D) are nearly rows divided by it.
"""

from __future__ import annotations

from dataclasses import replace

from transformer_checks.assignments.shared_mistakes import (
    CHANGES_INPUT,
    FIRST_ROUND,
    FLOAT32_ONLY,
    TENSOR_FOR_NUMBER,
    no_gradients,
    with_wrong,
)
from transformer_checks.judging.changes import Change, change
from transformer_checks.judging.general_mistakes import DETACHED
from transformer_checks.task import Misconception

OUT_OF_RANGE = r"out of (range|bounds)"
NO_PRODUCT = r"cannot be multiplied|size mismatch|must match|[Ee]xpected size|[Ee]insum|subscript"


# --- windows, wherever they are written ------------------------------------------------------

LIST_CHANGED = Misconception(
    "changes-its-input",
    "the function changes the caller's list",
    "pop, remove, insert, del, append, += or an assignment to an entry reaches out of the "
    "function. Work on a copy, or only read.",
    (),
)
POSITIONS = Misconception(
    "places-for-ids",
    "the numbers are places in the sentence, not ids",
    "A loop over range(len(ids)) counts places. What stands there is ids[place].",
    (),
)
BY_DISTANCE = Misconception(
    "contexts-by-distance",
    "the contexts of a centre are not in the order of the text",
    "From left to right: the farthest on the left comes first, the farthest on the right last. "
    "Look at the order of the loops, and at ranges that count down.",
    (),
)
CENTER_TOO = Misconception(
    "centre-among-contexts",
    "the centre is among its own contexts",
    "A word is no neighbour of itself. Look for the offset 0.",
    (),
)
ONE_SIDE = Misconception(
    "one-side-only",
    "only one side of the centre is looked at",
    "The window reaches as far to the left as to the right, and each pair of neighbours meets "
    "twice, once with either of them as the centre.",
    (),
)
RIGHT_SHORT = Misconception(
    "right-side-short",
    "the right side is one short",
    "A range and a slice end before their second number. Look at what ends at place + window.",
    (),
)
TOO_FAR = Misconception(
    "one-too-far",
    "the window reaches one place too far",
    "A window of 1 is the next neighbour on each side, and no more. Look at the ends of the range.",
    (),
)
IN_TOTAL = Misconception(
    "window-in-total",
    "the window is shared by both sides",
    "The window counts for each side by itself: a window of 2 is up to four neighbours.",
    (
        change("    for place", "    window = window // 2\n    for place"),
        change("- window", "- window // 2") + change("+ window", "+ window - window // 2"),
        change("    for place", "    window = (window + 1) // 2\n    for place"),
    ),
)
WRAPPED = Misconception(
    "wraps-around",
    "the start of the sentence has neighbours from its end",
    "A place below 0 counts from the end in Python and raises nothing. Let the range begin at "
    "max(0, ...), or ask whether the place is inside.",
    (),
    r"index out of range",
)
BELOW_ZERO = Misconception(
    "slice-below-zero",
    "centres near the start lose neighbours",
    "A slice that begins below 0 begins near the end, and is empty or nearly so. Let it "
    "begin at max(0, place - window).",
    (),
)
FULL_ONLY = Misconception(
    "edges-skipped",
    "centres near the edges are left out",
    "Near an edge the window is shorter, and what is left of it counts. Look at where the loop "
    "over the centres begins and ends, and at a condition on the length of the context.",
    (change("in enumerate(ids)", "in list(enumerate(ids))[window:-window]"),),
)
SAME_ID_LOST = Misconception(
    "same-word-lost",
    "a neighbour with the same id as the centre is left out",
    "In 'very very good' the word is its own neighbour, at another place. Compare places, not ids.",
    (),
)
REPEATED_LOST = Misconception(
    "repetitions-lost",
    "what comes again is left out",
    "How often two words meet is what word2vec learns from. Look for a set or a dictionary.",
    (),
)
FARTHEST_ONLY = Misconception(
    "farthest-only",
    "only the neighbours exactly `window` places away are taken",
    "All places up to the window count, the near ones too. A loop over the offsets is missing.",
    (),
)
FIRST_PLACE = Misconception(
    "first-place-of-a-word",
    "a word that comes again gets the neighbours of its first place",
    "ids.index finds the first place of an id. enumerate gives each place with its id.",
    (change("enumerate(ids):", "enumerate(ids):\n        place = ids.index(center)"),),
)


# --- one_hot ---------------------------------------------------------------------------------

EQUAL = "(ids.unsqueeze(-1) == columns).float()"
EYE = "torch.eye(vocab_size, device=ids.device)"
ROWS_MADE = "    rows = torch.zeros(len(ids), vocab_size, device=ids.device)\n"

ONE_HOT = (
    Misconception(
        "wrong-dtype",
        "the ones and zeros are not float32",
        "They are to be multiplied with a matrix of weights, and integers, booleans and float64 "
        "do not fit it. Look at the dtype of what you make, or convert at the end.",
        (
            change(".float()", ".long()"),
            change(".float()", ""),
            change(".float()", ".double()"),
            change(".float()", ".int()"),
        ),
    ),
    Misconception(
        "counted-from-one",
        "ids are counted from 1",
        "Id 0 is a token like the others, and belongs to the first column. Look for +1 or -1.",
        (
            change(EQUAL, f"{EYE}[ids - 1]"),
            change(EQUAL, f"{EYE}[ids + 1]"),
            change("== columns", "== columns + 1"),
        ),
        OUT_OF_RANGE,
    ),
    Misconception(
        "width-from-ids",
        "the width is the largest id of this call, not the size of the vocabulary",
        "Another batch would get another width, and no matrix fits both. Use vocab_size.",
        (change("arange(vocab_size", "arange(ids.max() + 1"),),
    ),
    Misconception(
        "vocabulary-first",
        "the axis of the vocabulary is the first, not the last",
        "The result is (*ids.shape, V): each id is replaced by a row. Look at the axis that you "
        "add.",
        (
            change(".float()", ".float().movedim(-1, 0)"),
            change(".float()", ".float().transpose(-1, -2)"),
        ),
    ),
    Misconception(
        "flattened",
        "the axes of the ids have become one",
        "A batch stays a batch: (B, T) gives (B, T, V). Bring the shape back.",
        (change("ids.unsqueeze", "ids.flatten().unsqueeze"),),
    ),
    Misconception(
        "one-axis-only",
        "ids with more than one axis are not taken",
        "A batch (B, T) is as good as a row (T,). Look for len(ids) and for a fixed number of "
        "axes; count axes from the end, and use ids.shape.",
        (
            change(
                f"    return {EQUAL}",
                f"{ROWS_MADE}    rows[torch.arange(len(ids)), ids] = 1.0\n    return rows",
            ),
            change(
                f"    return {EQUAL}",
                f"{ROWS_MADE}    return rows.scatter_(1, ids.unsqueeze(1), 1.0)",
            ),
        ),
        r"[Ss]hape mismatch|same number of dimensions|could not be broadcast|only one element",
    ),
    Misconception(
        "all-ids-in-each-row",
        "each row has a one for every id of the call",
        "rows[..., ids] = 1 sets the columns of all ids in all rows. Each row needs its own id: "
        "scatter_, a comparison, or a loop.",
        (
            change(EQUAL, "torch.isin(columns, ids).float().expand(*ids.shape, -1)"),
            change(".float()", ".float().amax(-2, keepdim=True).expand(*ids.shape, -1)"),
        ),
    ),
    Misconception(
        "one-row-a-sequence",
        "a whole sequence has become one row",
        "This is a bag of words, which forgets the order. Each id gets a row of its own.",
        (change(".float()", ".float().sum(-2)"), change(".float()", ".float().amax(-2)")),
    ),
    Misconception(
        "id-written",
        "the id itself stands where the 1 belongs",
        "The place says which token it is; the number there is 1 for all of them.",
        (
            change(".float()", ".float() * ids.unsqueeze(-1)"),
            change(".float()", ".float() * (ids.unsqueeze(-1) + 1)"),
        ),
    ),
    Misconception(
        "inverted",
        "ones and zeros have changed places",
        "Only the column of the id is 1. Look at the comparison.",
        (change("==", "!="),),
    ),
    Misconception(
        "row-of-id-0-empty",
        "the row of id 0 is empty",
        "Nothing is said of padding here: id 0 has its one like the others. Look at a column that "
        "is dropped or a mask.",
        (change(".float()", ".float() * (columns != 0)"),),
    ),
    Misconception(
        "ones-up-to-the-id",
        "all columns up to that of the id are 1",
        "Ids are names, not amounts: 7 is not more than 3. Compare for equality.",
        (change("==", ">="), change("==", ">")),
    ),
    Misconception(
        "list-returned",
        "the result is a list, not a tensor",
        "What comes next is a matrix product. Stack the rows to one tensor.",
        (change(".float()", ".float().tolist()"),),
        r"expected one tensor, received a (list|tuple)",
    ),
    with_wrong(CHANGES_INPUT, change("unsqueeze", "unsqueeze_")),
)


# --- embed -----------------------------------------------------------------------------------

EMBED = (
    Misconception(
        "no-scale",
        "the rows are not scaled",
        "The positions that are added next have numbers of size one, and the rows must not vanish "
        "beside them. Look at the formula's factor.",
        (change(" * math.sqrt(weight.shape[1])", ""),),
    ),
    Misconception(
        "scaled-by-d",
        "the factor is D, not its square root",
        "Look for a root that is missing, or a factor that is applied twice.",
        (change("math.sqrt(weight.shape[1])", "weight.shape[1]"),),
    ),
    Misconception(
        "divided-by-root-d",
        "the rows are divided by sqrt(D) where they should be multiplied",
        "In attention the scale makes products smaller; here it makes small rows larger.",
        (change(" * math", " / math"),),
    ),
    Misconception(
        "scaled-by-another-size",
        "the factor comes from another size than D",
        "D is the number of features of a row, the last axis of the weight. Look at which size "
        "stands under the root.",
        (
            change("weight.shape[1]", "weight.shape[0]"),
            change("weight.shape[1]", "ids.shape[-1]"),
            change("weight.shape[1]", "ids.shape[0]"),
            change("weight.shape[1]", "ids.numel()"),
        ),
    ),
    Misconception(
        "integer-one-hot",
        "the one-hot rows are integers, and the matrix is not",
        "A product wants one dtype: F.one_hot gives int64, which has to become that of the weight.",
        (change("weight[ids]", "F.one_hot(ids, len(weight)) @ weight"),),
        r"same dtype.*long|expected scalar type Long",
    ),
    Misconception(
        "indices-times-matrix",
        "the matrix is multiplied with the ids themselves",
        "An id is a name and not an amount. What the matrix can be multiplied with is the one-hot "
        "row of the id, and a look-up gives the same without the product.",
        (
            change("weight[ids]", "ids.to(weight.dtype) @ weight"),
            change("weight[ids]", "weight @ ids.to(weight.dtype)"),
            change("weight[ids]", "weight[ids] * ids.unsqueeze(-1)"),
        ),
        NO_PRODUCT,
    ),
    Misconception(
        "columns-for-rows",
        "columns of the matrix are looked up, not rows",
        "The weight is (V, D): a token is a row. Look at which axis is indexed or transposed.",
        (
            change("weight[ids]", "weight.T[ids]") + change("shape[1]", "shape[0]"),
            change("weight[ids]", "weight[:, ids]"),
            change("weight[ids]", "weight.T[ids]"),
        ),
        OUT_OF_RANGE,
    ),
    Misconception(
        "counted-from-one",
        "ids are counted from 1",
        "Id 0 is the first row. Look for +1 or -1; -1 takes the last row and raises nothing.",
        (change("[ids]", "[ids - 1]"), change("[ids]", "[ids + 1]")),
        OUT_OF_RANGE,
    ),
    Misconception(
        "normalised",
        "the rows are brought to one length",
        "How long a row is belongs to what is learned. The factor is the same for all rows.",
        (
            change("weight[ids] * math.sqrt(weight.shape[1])", "F.normalize(weight, dim=-1)[ids]"),
            change("weight[ids]", "F.normalize(weight, dim=-1)[ids]"),
        ),
    ),
    Misconception(
        "row-0-zero",
        "the row of id 0 is taken for padding",
        "Nothing is said of padding here: id 0 has a row like the others.",
        (
            change("weight[ids]", "weight[ids] * (ids != 0).unsqueeze(-1)"),
            change("weight[ids]", "F.embedding(ids, weight, padding_idx=0)"),
        ),
    ),
    Misconception(
        "added-up",
        "the rows of a sequence are added up or averaged",
        "Each token keeps its own vector: (B, T) gives (B, T, D). Look for a sum or a mean.",
        (change("[ids]", "[ids].sum(dim=-2)"), change("[ids]", "[ids].mean(dim=-2)")),
    ),
    Misconception(
        "features-before-tokens",
        "the features stand before the tokens",
        "The features are the last axis. With one-hot rows, the product is one_hot @ weight.",
        (change("[ids]", "[ids].transpose(-1, -2)"),),
    ),
    with_wrong(DETACHED, no_gradients("embed")),
    with_wrong(
        FLOAT32_ONLY,
        change("weight[ids]", "weight.float()[ids]"),
        change("weight[ids]", "F.one_hot(ids, len(weight)).float() @ weight"),
    ),
    with_wrong(
        CHANGES_INPUT,
        change(
            "return weight[ids] * math.sqrt(weight.shape[1])",
            "weight *= math.sqrt(weight.shape[1])\n    return weight[ids]",
        ),
    ),
)


# --- skipgram_pairs --------------------------------------------------------------------------

PAIR = "(center, ids[other])"
CONTEXTS = "range(first, last)"
NEIGHBOURS_OF_A_CENTER = """        for other in range(first, last):
            if other != place:
                pairs.append((center, ids[other]))"""


def by_offset(ids: list[int], window: int) -> list[tuple[int, int]]:
    """Go over the offsets first, and over the places of the centres for each of them."""
    return [
        (center, ids[place + offset])
        for offset in (*range(-window, 0), *range(1, window + 1))
        for place, center in enumerate(ids)
        if 0 <= place + offset < len(ids)
    ]


def both_ways_by_distance(ids: list[int], window: int) -> list[tuple[int, int]]:
    """Take each two neighbours once, and write them down both ways."""
    pairs = []
    for distance in range(1, window + 1):
        for left, right in zip(ids, ids[distance:], strict=False):
            pairs += [(left, right), (right, left)]
    return pairs


SKIPGRAM = (
    with_wrong(CENTER_TOO, change("if other != place", "if True")),
    with_wrong(
        ONE_SIDE,
        change("max(0, place - window)", "place"),
        change("min(len(ids), place + window + 1)", "place"),
    ),
    with_wrong(RIGHT_SHORT, change("window + 1", "window")),
    with_wrong(
        TOO_FAR,
        change("- window", "- window - 1") + change("window + 1", "window + 2"),
        change("window + 1", "window + 2"),
        change("- window", "- window - 1"),
    ),
    IN_TOTAL,
    with_wrong(WRAPPED, change("max(0, place", "max(-len(ids), place")),
    with_wrong(
        BELOW_ZERO,
        change(CONTEXTS, "[*range(len(ids))[place - window : place], *range(place, last)]"),
        change(CONTEXTS, "range(len(ids))[place - window : place + window + 1]"),
    ),
    FULL_ONLY,
    with_wrong(SAME_ID_LOST, change("other != place", "ids[other] != center")),
    with_wrong(
        BY_DISTANCE,
        change(CONTEXTS, "sorted(range(first, last), key=lambda each: abs(each - place))"),
        change(
            CONTEXTS, "sorted(reversed(range(first, last)), key=lambda each: abs(each - place))"
        ),
        change(CONTEXTS, "[*range(place - 1, first - 1, -1), *range(place, last)]"),
        change(CONTEXTS, "[*range(place, last), *range(first, place)]"),
        change(CONTEXTS, "reversed(range(first, last))"),
    ),
    with_wrong(FARTHEST_ONLY, change("other != place", "abs(other - place) == window")),
    FIRST_PLACE,
    with_wrong(FIRST_ROUND, change("    return pairs", "        return pairs\n    return pairs")),
    Misconception(
        "context-first",
        "the context stands before the centre",
        "Skip-gram predicts the context from the centre, so the pair is (center, context).",
        (change(PAIR, "(ids[other], center)"),),
    ),
    Misconception(
        "not-by-centre",
        "the pairs are not in the order of their centres",
        "The outer loop goes over the places of the centres, the inner one over their contexts.",
        (by_offset, change("return pairs", "return sorted(pairs)"), both_ways_by_distance),
    ),
    with_wrong(
        REPEATED_LOST,
        change("return pairs", "return list(dict.fromkeys(pairs))"),
        change("return pairs", "return sorted(set(pairs))"),
    ),
    with_wrong(POSITIONS, change(PAIR, "(place, other)"), change(PAIR, "(place, ids[other])")),
    Misconception(
        "contexts-in-a-list",
        "the contexts of a centre stand together in a list",
        "Each pair has one context: a centre with three neighbours gives three pairs.",
        tuple(
            change(
                NEIGHBOURS_OF_A_CENTER,
                "        bag = ids[first:place] + ids[place + 1 : last]\n"
                f"        if bag:\n            pairs.append({pair})",
            )
            for pair in ("(center, bag)", "(bag, center)")
        ),
    ),
    with_wrong(
        LIST_CHANGED,
        change("    return pairs", "    ids.clear()\n    return pairs"),
        change("    return pairs", "    ids.append(0)\n    return pairs"),
    ),
)


# --- cbow_examples ---------------------------------------------------------------------------

LEFT = "ids[max(0, place - window) : place]"
RIGHT = "ids[place + 1 : place + 1 + window]"
EMPTY_KEPT = change("if left or right:", "if True:")


def also_with_empty(entry: Misconception, *wrong: Change) -> Misconception:
    """Make changes, or those of the entry, also in a loop that keeps centres without neighbours."""
    changes = [way for way in wrong or entry.wrong if isinstance(way, Change)]
    return replace(entry, wrong=(*changes, *(way + EMPTY_KEPT for way in changes)))


def window_filled(filler: int | None) -> Change:
    """Fill both sides up to the window."""
    filled = (
        f"        left = [{filler}] * (window - len(left)) + left\n"
        f"        right = right + [{filler}] * (window - len(right))\n"
    )
    return change("        if left", f"{filled}        if left")


ONE_LIST = change("    examples = []", "    examples, context = [], []") + change(
    "examples.append((left + right, center))",
    "context[:] = left + right\n            examples.append((context, center))",
)
COPIED = change("append((context,", "append((list(context),")

CBOW = (
    with_wrong(
        CENTER_TOO,
        change("ids[place + 1 :", "ids[place :"),
        change("left + right,", "[*left, center, *right],"),
    ),
    also_with_empty(ONE_SIDE, change(LEFT, "[]"), change(RIGHT, "[]")),
    also_with_empty(RIGHT_SHORT, change("1 + window", "window")),
    also_with_empty(
        TOO_FAR,
        change("- window", "- window - 1") + change("1 + window", "2 + window"),
        change("1 + window", "2 + window"),
        change("- window", "- window - 1"),
    ),
    also_with_empty(IN_TOTAL),
    with_wrong(
        WRAPPED,
        change(LEFT, "[ids[each] for each in range(max(-len(ids), place - window), place)]"),
    ),
    also_with_empty(
        BELOW_ZERO,
        change("max(0, place - window)", "place - window"),
        change(LEFT, "range(len(ids))[place - window : place + window + 1]")
        + change(RIGHT, "[]")
        + change(
            "        if left",
            "        left = [ids[each] for each in left if each != place]\n        if left",
        ),
    ),
    FULL_ONLY,
    also_with_empty(
        SAME_ID_LOST,
        change(
            "        if left",
            "        left = [each for each in left if each != center]\n"
            "        right = [each for each in right if each != center]\n"
            "        if left",
        ),
    ),
    also_with_empty(
        Misconception(
            "first-equal-word-removed",
            "remove takes out the first word that equals the centre, which may be a neighbour",
            "The centre is a place and not an id: the same word may stand beside it. Leave out the "
            "place.",
            (),
        ),
        change(
            "        if left",
            "        left = ids[max(0, place - window) : place + 1 + window]\n"
            "        left.remove(center)\n"
            "        right = []\n"
            "        if left",
        ),
    ),
    also_with_empty(
        BY_DISTANCE,
        *(
            change(
                "left + right,",
                f"[ids[each] for step in range(1, window + 1) for each in {order}"
                " if 0 <= each < len(ids)],",
            )
            for order in ("(place - step, place + step)", "(place + step, place - step)")
        ),
        change("left + right,", "left[::-1] + right,"),
        change("left + right,", "right + left,"),
        change("left + right,", "(left + right)[::-1],"),
    ),
    also_with_empty(
        FARTHEST_ONLY,
        change(": place]", ": max(0, place - window + 1)]")
        + change("place + 1 :", "place + window :"),
    ),
    also_with_empty(FIRST_PLACE),
    also_with_empty(
        FIRST_ROUND, change("    return examples", "        return examples\n    return examples")
    ),
    Misconception(
        "centre-first",
        "the centre stands before its context",
        "CBOW predicts the centre from the context, so the pair is (context, center).",
        (change("(left + right, center)", "(center, left + right)"),),
    ),
    Misconception(
        "empty-contexts-kept",
        "a centre without any neighbour is kept",
        "There is nothing to predict it from. Look at a sentence of one word.",
        (EMPTY_KEPT,),
    ),
    Misconception(
        "padded",
        "the contexts at the edges are filled up",
        "At the edges the context is shorter: a filler would be taken for a word.",
        (
            window_filled(0),
            window_filled(-1),
            window_filled(None),
            change("left + right,", "left + right + [0] * (2 * window - len(left + right)),"),
        ),
    ),
    Misconception(
        "one-context-a-pair",
        "each context word makes a pair of its own",
        "That is skip-gram. In CBOW all neighbours of a centre predict it together, in one list.",
        tuple(
            change(
                "examples.append((left + right, center))",
                f"examples += [{pair} for each in left + right]",
            )
            for pair in ("([each], center)", "(each, center)", "(center, each)")
        ),
    ),
    with_wrong(
        REPEATED_LOST,
        change("left + right,", "list(dict.fromkeys(left + right)),"),
        change("left + right,", "sorted(set(left + right)),"),
    ),
    Misconception(
        "contexts-sorted",
        "the contexts are sorted by their ids",
        "Left to right means the order of the text. Look for sorted.",
        (change("left + right,", "sorted(left + right),"),),
    ),
    Misconception(
        "context-never-emptied",
        "the context of a centre still holds the neighbours of the centres before it",
        "Each centre has a context of its own. Begin it anew inside the loop over the centres.",
        (ONE_LIST + change("context[:] = left + right", "context += left + right") + COPIED,),
    ),
    Misconception(
        "one-list-for-all",
        "all contexts are one and the same list",
        "append keeps no copy: a list that is cleared or filled anew later changes in all "
        "examples. Make a new list for each centre.",
        (ONE_LIST, ONE_LIST + change("    return", "    context.clear()\n    return")),
    ),
    with_wrong(
        POSITIONS,
        change("    examples = []", "    ids = list(range(len(ids)))\n    examples = []"),
        change("left = ids[", "left = [*range(len(ids))][")
        + change("right = ids[", "right = [*range(len(ids))]["),
        change("right, center)", "right, place)"),
    ),
    with_wrong(LIST_CHANGED, change("    return", "    del ids[1:]\n    return")),
)


# --- negative_sampling_loss ------------------------------------------------------------------

REAL = "(center * positive).sum(-1)"
DRAWN = "(negatives * center.unsqueeze(1)).sum(-1)"


def log_sigmoids(real: str, drawn: str) -> Change:
    """Write others for the logarithms of the sigmoids of `real` and of `-drawn`."""
    return change("F.logsigmoid(real)", real) + change("F.logsigmoid(-drawn)", drawn)


ROUNDED = log_sigmoids("torch.sigmoid(real).log()", "torch.sigmoid(-drawn).log()")
ONE_MINUS = log_sigmoids("torch.sigmoid(real).log()", "(1 - torch.sigmoid(drawn)).log()")
SQUEEZED = change(DRAWN, "(negatives @ center.unsqueeze(2)).squeeze()")

LOSS = (
    Misconception(
        "sign-of-negatives",
        "the negatives are pulled near, like the positive",
        "A drawn word should get a low score: its part is log sigmoid of minus the product. Look "
        "at the sign inside.",
        (change("(-drawn)", "(drawn)"),),
    ),
    Misconception(
        "mean-over-negatives",
        "the negatives are averaged where they should be added up",
        "Each of the N drawn words counts as much as the real one. The mean is that over the "
        "batch only.",
        (
            change("(-drawn).sum", "(-drawn).mean"),
            change("(-drawn).sum", "(-drawn).mean") + change("loss.mean", "loss.sum"),
        ),
    ),
    Misconception(
        "sum-over-batch",
        "the batch is added up where it should be averaged",
        "A loss that grows with the batch makes the step grow with it. Take the mean over B.",
        (change("loss.mean", "loss.sum"),),
    ),
    Misconception(
        "loss-for-each-pair",
        "there is one loss for each pair of the batch, not one number",
        "The stub asks for the mean over the batch, a tensor without axes.",
        (change("loss.mean()", "loss"), change("loss.mean()", "loss.mean(0, keepdim=True)")),
    ),
    Misconception(
        "log-of-a-rounded-sigmoid",
        "the logarithm is taken of a sigmoid that is rounded to 0 or 1",
        "sigmoid(-200) is 0 in float32, and its logarithm infinite. There is a function that "
        "computes the two in one step.",
        (ROUNDED, ONE_MINUS, change("F.logsigmoid(-drawn)", "(1 - torch.sigmoid(drawn)).log()")),
    ),
    Misconception(
        "logarithm-cut-off",
        "a small number or a clamp keeps the logarithm finite, and wrong",
        "log(sigmoid + 1e-8) ends at -18, and the logarithms of binary_cross_entropy at -100. The "
        "true value is -200 and needs no help if both steps are one.",
        (
            *(
                log_sigmoids(
                    f"(torch.sigmoid(real){held}).log()", f"(torch.sigmoid(-drawn){held}).log()"
                )
                for held in (
                    *(f" + {small}" for small in (1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)),
                    *(f".clamp(min={small})" for small in (1e-7, 1e-6)),
                )
            ),
            log_sigmoids(
                "torch.sigmoid(real).log().clamp(min=-100.0)",
                "torch.sigmoid(-drawn).log().clamp(min=-100.0)",
            ),
        ),
    ),
    Misconception(
        "axis-squeezed-away",
        "with a single negative its axis is gone, and the sum runs over the batch",
        "squeeze() without an axis removes every axis of size 1, also that of N or B. Say which "
        "axis it is.",
        (SQUEEZED, SQUEEZED + ROUNDED, SQUEEZED + ONE_MINUS),
    ),
    Misconception(
        "negatives-left-out",
        "the negatives have no effect",
        "With the positive alone all vectors may become the same. Look at the second part of the "
        "formula.",
        (change(" - F.logsigmoid(-drawn).sum(-1)", ""),),
    ),
    Misconception(
        "positive-left-out",
        "the positive has no effect",
        "The real neighbour should get a high score. Look at the first part of the formula.",
        (change("-F.logsigmoid(real) - F", "-F"),),
    ),
    Misconception(
        "not-negated",
        "the result is the log-likelihood, not the loss",
        "Training makes the result small, so both parts carry a minus.",
        (
            change("-F.logsigmoid(real) - F", "F.logsigmoid(real) + F"),
            change(" - F", " + F"),
            change("-F", "F"),
        ),
    ),
    Misconception(
        "no-logarithm",
        "there is no logarithm: these are sigmoids",
        "The loss is the logarithm of a probability. Look at what is done after the sigmoid.",
        (log_sigmoids("torch.sigmoid(real)", "torch.sigmoid(-drawn)"),),
    ),
    Misconception(
        "softmax",
        "a softmax over the positive and the negatives stands where sigmoids belong",
        "Negative sampling asks a yes-or-no question for each word by itself, and that is its "
        "point.",
        (
            change(
                "-F.logsigmoid(real) - F.logsigmoid(-drawn).sum(-1)",
                "-torch.cat([real.unsqueeze(1), drawn], dim=1).log_softmax(dim=1)[:, 0]",
            ),
        ),
    ),
    Misconception(
        "negatives-with-positive",
        "the negatives are multiplied with the positive, not with the centre",
        "It is the centre that predicts, both the real word and the drawn ones.",
        (change("negatives * center", "negatives * positive"),),
    ),
    Misconception(
        "all-pairs-of-the-batch",
        "each centre meets the positives of the whole batch",
        "center @ positive.T is (B, B). Row b of the one belongs to row b of the other only.",
        (change(REAL, "center @ positive.T"),),
    ),
    Misconception(
        "sum-over-the-wrong-axis",
        "the sum of a product runs over the negatives, not over the features",
        "A product of two vectors sums over D, the last axis. Look at the axis of the sum.",
        (change("unsqueeze(1)).sum(-1)", "unsqueeze(1)).sum(1)"),),
    ),
    Misconception(
        "sigmoid-of-each-feature",
        "the sigmoid comes before the sum over the features",
        "First the product of two vectors, one number, and then its sigmoid.",
        (
            change(REAL, "center * positive")
            + change(DRAWN, "negatives * center.unsqueeze(1)")
            + change("(real)", "(real).sum(-1)")
            + change("(-drawn).sum(-1)", "(-drawn).sum((-1, -2))"),
        ),
    ),
    Misconception(
        "products-added-up",
        "the products with the negatives are added up before the sigmoid",
        "Each drawn word has a sigmoid and a logarithm of its own; what is added up is these.",
        (change("(-drawn).sum(-1)", "(-drawn.sum(-1))"),),
    ),
    Misconception(
        "normalised",
        "the vectors are normalised: these are cosines",
        "The length of the vectors is part of the score; the formula has plain products.",
        (
            change(
                "    real",
                "    center = F.normalize(center, dim=-1)\n"
                "    positive = F.normalize(positive, dim=-1)\n"
                "    negatives = F.normalize(negatives, dim=-1)\n"
                "    real",
            ),
        ),
    ),
    Misconception(
        "scaled-products",
        "the products are divided by sqrt(D)",
        "That scale belongs to attention. The formula has plain products.",
        (change("    real", "    center = center / math.sqrt(center.shape[-1])\n    real"),),
    ),
    Misconception(
        "number-returned",
        "the result is a Python number, not a tensor",
        "Training calls backward on it. Look for .item() or float().",
        (change("loss.mean()", "loss.mean().item()"),),
        r"expected one tensor, received a float",
    ),
    with_wrong(
        DETACHED,
        no_gradients("negative_sampling_loss"),
        change("    real", "    center = center.detach()\n    real"),
    ),
    with_wrong(
        FLOAT32_ONLY,
        change(
            "    real",
            "    center, positive = center.float(), positive.float()\n"
            "    negatives = negatives.float()\n"
            "    real",
        ),
    ),
    with_wrong(
        CHANGES_INPUT,
        change("    return", "    center.neg_()\n    return"),
        change("negatives * center", "negatives.neg_() * center") + change("(-drawn)", "(drawn)"),
    ),
)


# --- nearest_neighbours ----------------------------------------------------------------------

COSINES = "F.cosine_similarity(weight, row)"
RANKED = "cosines.topk(k).indices.tolist()"
ITSELF_LEFT_IN = change('    cosines[token_id] = float("-inf")\n', "")
FIRST_DROPPED = ITSELF_LEFT_IN + change(RANKED, "cosines.topk(k + 1).indices.tolist()[1:]")

NEIGHBOURS = (
    Misconception(
        "itself-included",
        "the token is its own nearest neighbour",
        "Its cosine with itself is 1, more than any other. Leave it out before k are taken.",
        (ITSELF_LEFT_IN,),
    ),
    Misconception(
        "one-too-few",
        "there are k - 1 neighbours",
        "The token itself was among the k, and was left out after that. Take k of the others.",
        (ITSELF_LEFT_IN + change(".tolist()", ".tolist()[1:]"),),
    ),
    Misconception(
        "plain-product",
        "the rows are compared by their product, not by the cosine",
        "Long rows, often those of frequent words, win every product. Divide by the lengths, at "
        "least by those of the candidates.",
        (
            change(COSINES, "weight @ weight[token_id]"),
            FIRST_DROPPED + change(COSINES, "weight @ weight[token_id]"),
        ),
    ),
    Misconception(
        "distance",
        "the rows are compared by their distance, not by the cosine",
        "Two rows that point the same way are alike, however long they are.",
        (change(COSINES, "-(weight - row).norm(dim=-1)"),),
    ),
    Misconception(
        "farthest-first",
        "the farthest come first, or the ranking begins at the wrong end",
        "argsort and sorted begin with the smallest. Look for descending or reverse.",
        (
            change("F.cosine", "-F.cosine"),
            FIRST_DROPPED + change("F.cosine", "-F.cosine"),
            change(".tolist()", ".tolist()[::-1]"),
        ),
    ),
    Misconception(
        "sign-lost",
        "a cosine of -0.9 counts as much as one of 0.9",
        "Opposite directions are the farthest of all. Look for abs or a square.",
        (change(", row)", ", row).abs()"),),
    ),
    Misconception(
        "itself-set-to-zero",
        "the token's own score is set to 0, which beats all negative cosines",
        "A cosine can be as low as -1. The token has to get a score below that.",
        (change('float("-inf")', "0.0"),),
    ),
    Misconception(
        "ids-shifted",
        "ids behind the token are one too small",
        "When the token's row is taken out, the rows behind it move up. Keep all rows, and leave "
        "the token out of the ranking.",
        (
            ITSELF_LEFT_IN
            + change(
                "(weight, row)", "(torch.cat([weight[:token_id], weight[token_id + 1 :]]), row)"
            ),
        ),
    ),
    Misconception(
        "k-ignored",
        "there are more neighbours than k",
        "Cut the ranking after k entries.",
        (
            change("topk(k)", "topk(len(weight) - 1)"),
            change("topk(k)", "topk(min(k + 1, len(weight) - 1))"),
        ),
    ),
    Misconception(
        "not-ranked",
        "the neighbours are the right ones, but not the nearest first",
        "Look for a set, sorted, or topk with sorted=False.",
        (change(RANKED, f"sorted({RANKED})"), change(RANKED, f"sorted({RANKED}, reverse=True)")),
    ),
    Misconception(
        "divided-by-the-square",
        "the products are divided by the square of a length, and not by the length",
        "A length is the root of the sum of the squares.",
        (
            change(COSINES, "(weight @ row.T).squeeze(1) / weight.square().sum(dim=1)"),
            change(COSINES, "F.cosine_similarity(weight, row) / weight.norm(dim=1)"),
        ),
    ),
    Misconception(
        "compared-over-tokens",
        "there is one cosine for each feature, and not one for each token",
        "The features are added up, and they are the last axis. Look at `dim`.",
        (change(COSINES, "F.cosine_similarity(weight, row, dim=0)"),),
        r"^(IndexError: index|RuntimeError: selected index k)",
    ),
    Misconception(
        "normalised-over-tokens",
        "the lengths are those of the columns, not of the rows",
        "A token is a row: its length is the norm over the features, the last axis.",
        (change(COSINES, "F.normalize(weight, dim=0) @ F.normalize(weight, dim=0)[token_id]"),),
    ),
    Misconception(
        "cosines-returned",
        "the result holds the cosines, not the ids",
        "topk gives values and indices. What is asked for is the second.",
        (
            change("indices", "values"),
            change(RANKED, "list(zip(*map(torch.Tensor.tolist, cosines.topk(k)), strict=True))"),
            change(
                RANKED,
                "[(each, cosines[each].item()) for each in cosines.topk(k).indices.tolist()]",
            ),
        ),
    ),
    Misconception(
        "tensor-returned",
        "the result is a tensor, or a list of tensors, not a list of int",
        "The ids are used as names, so Python's own integers are wanted. Look for tolist.",
        (change(".tolist()", ""),),
        r"is a(n)? (tensor|ndarray|Tensor)",
    ),
    with_wrong(
        CHANGES_INPUT, change("    row", "    weight /= weight.norm(dim=1, keepdim=True)\n    row")
    ),
)


# --- tied_logits -----------------------------------------------------------------------------

LOGITS = "hidden @ weight.T"

SOFTMAX_INCLUDED = Misconception(
    "softmax-included",
    "the result has already gone through a softmax",
    "Logits are the scores before it: the loss takes the softmax itself.",
    (),
)

TIED = (
    Misconception(
        "scaled-up",
        "the logits carry the sqrt(D) of the input side",
        "The factor makes rows and positions comparable at the input, and has no business at the "
        "output: it makes an untrained model sure of itself.",
        (change(LOGITS, f"{LOGITS} * math.sqrt(weight.shape[1])"),),
    ),
    Misconception(
        "scaled-down",
        "the logits are divided by a size",
        "That scale belongs to attention. Here the products are the logits as they are.",
        (
            change(LOGITS, f"{LOGITS} / math.sqrt(weight.shape[1])"),
            change(LOGITS, f"{LOGITS} / weight.shape[1]"),
            change(LOGITS, f"{LOGITS} / math.sqrt(weight.shape[0])"),
        ),
    ),
    Misconception(
        "not-transposed",
        "the matrix is not transposed",
        "Each hidden vector meets each row of the weight, and the last axis of both is D.",
        (change("weight.T", "weight"),),
        NO_PRODUCT,
    ),
    Misconception(
        "reshaped-not-transposed",
        "the weight is reshaped where it should be transposed",
        "view and reshape keep the order in memory, and so mix the rows of different tokens.",
        (change("weight.T", "weight.reshape(weight.shape[1], weight.shape[0])"),),
    ),
    with_wrong(
        SOFTMAX_INCLUDED,
        change(LOGITS, f"({LOGITS}).softmax(-1)"),
        change(LOGITS, f"({LOGITS}).log_softmax(-1)"),
    ),
    Misconception(
        "cosines",
        "vectors are normalised: these are not plain products",
        "The length of a row says how likely a token is before anything is known. Leave it in.",
        (
            change(LOGITS, "F.normalize(hidden, dim=-1) @ F.normalize(weight, dim=-1).T"),
            change("weight.T", "F.normalize(weight, dim=-1).T"),
            change("hidden @", "F.normalize(hidden, dim=-1) @"),
        ),
    ),
    Misconception(
        "tokens-returned",
        "the result is the best token, not the scores of all",
        "The loss needs the score of each token. Choosing comes later, when the model writes.",
        (change(LOGITS, f"({LOGITS}).argmax(-1)"), change(LOGITS, f"({LOGITS}).amax(-1)")),
    ),
    Misconception(
        "last-token-only",
        "only the last token of each sequence has logits",
        "In training every token predicts its next one, so all T are wanted.",
        (change("hidden @", "hidden[:, -1] @"), change("hidden @", "hidden[:, -1:] @")),
    ),
    Misconception(
        "batch-and-tokens-joined",
        "batch and tokens have become one axis",
        "The stub asks for (B, T, V), with the batch kept apart.",
        (change("hidden @", "hidden.flatten(0, 1) @"),),
    ),
    Misconception(
        "vocabulary-before-tokens",
        "the result is (B, V, T)",
        "The scores of one token stand side by side, on the last axis. Look at which factor comes "
        "first.",
        tuple(
            change(LOGITS, f"({LOGITS}).permute({axes})")
            for axes in ("0, 2, 1", "2, 0, 1", "2, 1, 0")
        ),
    ),
    with_wrong(
        DETACHED,
        no_gradients("tied_logits"),
        change("weight.T", "weight.detach().T"),
        change("hidden @", "hidden.detach() @"),
    ),
    with_wrong(FLOAT32_ONLY, change(LOGITS, "hidden.float() @ weight.float().T")),
    with_wrong(
        CHANGES_INPUT,
        change(f"return {LOGITS}", f"logits = {LOGITS}\n    hidden.zero_()\n    return logits"),
        change("weight.T", "weight.t_()"),
    ),
)


# --- embedding_from_pretrained ---------------------------------------------------------------

MADE = "nn.Embedding.from_pretrained(vectors.clone(), freeze, pad_id)"
PAD_ID_LEFT_OUT = change("freeze, pad_id)", "freeze)")
COPY = "    vectors = vectors.clone()\n"
PAD_ROW_ZERO = change(
    "    freeze", f"{COPY}    if pad_id is not None:\n        vectors[pad_id] = 0.0\n    freeze"
)
SCALED = """    class Scaled(nn.Embedding):
        def forward(self, ids):
            return super().forward(ids) * math.sqrt(self.embedding_dim)

"""

PRETRAINED = (
    Misconception(
        "always-frozen",
        "the rows are frozen, even where they should be trained",
        "from_pretrained freezes by default, and nothing complains: the rows never change. Look "
        "at what becomes of `trainable`.",
        (change("not trainable", "True"),),
    ),
    Misconception(
        "never-frozen",
        "the rows are trained, even where they should stay",
        "A fresh nn.Embedding is trained. Look at what becomes of `trainable`.",
        (change("not trainable", "False"),),
    ),
    Misconception(
        "freeze-inverted",
        "trainable and frozen are the wrong way round",
        "freeze=True means that nothing is trained. Look for a missing `not`.",
        (change("not trainable", "trainable"),),
    ),
    Misconception(
        "pad-row-trained",
        "the row of pad_id is trained like the others",
        "The look-up gives it no gradient only if nn.Embedding knows which row it is. Look at "
        "padding_idx.",
        (PAD_ID_LEFT_OUT,),
    ),
    Misconception(
        "pad-row-zeroed",
        "the row of pad_id is set to zero",
        "It should stay as it came. Look for zeros that are written, or an initialisation that "
        "runs after the vectors are in.",
        (
            PAD_ROW_ZERO,
            PAD_ROW_ZERO + PAD_ID_LEFT_OUT,
            change("    freeze", f"{COPY}    vectors[pad_id] = 0.0\n    freeze"),
        ),
    ),
    Misconception(
        "pad-id-0-ignored",
        "a pad_id of 0 is taken for none",
        "0 counts as false. Ask `pad_id is not None`, or hand it on as it is.",
        (
            change("freeze, pad_id", "freeze, pad_id or None"),
            PAD_ROW_ZERO + change("    vectors = ", "    pad_id = pad_id or None\n    vectors = "),
        ),
    ),
    Misconception(
        "pad-id-always-0",
        "row 0 is always taken for padding",
        "Which row it is, and whether there is one, is what pad_id says.",
        (change("freeze, pad_id", "freeze, 0"), change("freeze, pad_id", "freeze, pad_id or 0")),
    ),
    Misconception(
        "new-vectors",
        "the vectors are not in it",
        "nn.Embedding(V, D) draws rows of its own. Look at how the vectors get in.",
        (
            change("vectors.clone()", "torch.zeros_like(vectors)"),
            change("vectors.clone()", "torch.ones_like(vectors)"),
            change(MADE, "nn.Embedding(*vectors.shape, pad_id).requires_grad_(trainable)"),
        ),
    ),
    Misconception(
        "transposed",
        "rows and columns have changed places",
        "The vectors are (V, D), as nn.Embedding has them. Look at a transpose or at the order of "
        "the two sizes.",
        (
            PAD_ID_LEFT_OUT + change("vectors.clone()", "vectors.T.clone()"),
            change(
                f"return {MADE}",
                "embedding = nn.Embedding(vectors.shape[1], vectors.shape[0])\n"
                "    embedding.weight.data.copy_(vectors)\n"
                "    return embedding.requires_grad_(trainable)",
            ),
        ),
        r"must match the size|[Pp]adding_idx must|size mismatch",
    ),
    Misconception(
        "scaled",
        "the rows are multiplied by sqrt(D)",
        "Here they should come out as they went in; the scale belongs to the model.",
        (
            change("vectors.clone()", "vectors * math.sqrt(vectors.shape[1])"),
            change("    freeze", f"{SCALED}    freeze")
            + change("nn.Embedding.from", "Scaled.from"),
        ),
    ),
    Misconception(
        "normalised",
        "the rows are brought to length 1",
        "Here they should come out as they went in, with their lengths.",
        (change("vectors.clone()", "F.normalize(vectors, dim=-1)"),),
    ),
    Misconception(
        "not-an-embedding",
        "the result is no nn.Embedding",
        "What is asked for is the module, not its weight and not what it looks up.",
        (change(MADE, f"{MADE}.weight"),),
        r"expected an nn\.Embedding",
    ),
    with_wrong(FLOAT32_ONLY, change("vectors.clone()", "vectors.float()")),
    with_wrong(
        CHANGES_INPUT,
        change(f"return {MADE}", f"embedding = {MADE}\n    vectors.zero_()\n    return embedding"),
        change(
            f"return {MADE}",
            f"embedding = {MADE}\n"
            "    if pad_id is not None:\n        vectors[pad_id] = 0.0\n"
            "    return embedding",
        ),
    ),
)


# --- find the bug ----------------------------------------------------------------------------

EMBEDDED = "reference.embed(ids, weight)"
TIED_LOGITS = "reference.tied_logits(hidden, weight)"
NORMED = "F.layer_norm(rows + positions, rows.shape[-1:])"
NO_SCALE = change(EMBEDDED, "weight[ids]")
SCALED_AT_THE_OUTPUT = change(TIED_LOGITS, f"{TIED_LOGITS} * math.sqrt(weight.shape[1])")
DIVIDED_AT_THE_OUTPUT = change(TIED_LOGITS, f"{TIED_LOGITS} / math.sqrt(weight.shape[1])")

BUG = (
    Misconception(
        "still-scaled",
        "the bug is still in it",  # to name it would give the task away
        "Follow the example with pencil and paper to the last line, and ask what each factor is "
        "there for.",
        (SCALED_AT_THE_OUTPUT,),
    ),
    Misconception(
        "scale-lost-at-the-input",
        "the rows are too small beside the positions",
        "The formula has sqrt(D) in one of its two places, and it stands before the positions are "
        "added.",
        (
            NO_SCALE,
            NO_SCALE
            + change("rows + positions", "(rows + positions) * math.sqrt(weight.shape[1])"),
        ),
    ),
    Misconception(
        "scale-moved-to-the-output",
        "the scale has gone from the end where it belongs to the other",
        "Compare with the formula: which of the two uses of E has the factor?",
        (NO_SCALE + SCALED_AT_THE_OUTPUT,),
    ),
    Misconception(
        "output-divided",
        "the logits are divided by sqrt(D)",
        "The factor at the output is to go, not to be turned round: the logits are plain products.",
        (DIVIDED_AT_THE_OUTPUT, NO_SCALE + DIVIDED_AT_THE_OUTPUT),
    ),
    Misconception(
        "scaled-by-d",
        "the factor at the input is D, not its root",
        "The root was not the bug. Look at the formula's factor.",
        (change(EMBEDDED, "weight[ids] * weight.shape[1]"),),
    ),
    Misconception(
        "scaled-by-another-size",
        "the factor at the input comes from another size than D",
        "D is the number of features of a row, and was right. Look at the other use of the matrix.",
        (
            change(EMBEDDED, "weight[ids] * math.sqrt(weight.shape[0])"),
            change(EMBEDDED, "weight[ids] * math.sqrt(ids.shape[1])"),
            change(EMBEDDED, "weight[ids] * math.sqrt(ids.shape[0])"),
        ),
    ),
    Misconception(
        "positions-left-out",
        "the positions are left out",
        "They were right: without them the model does not see the order. Look at the matrix.",
        (change("rows + positions", "rows"),),
    ),
    Misconception(
        "positions-scaled",
        "the positions are scaled in the place of the rows, or the rows are divided",
        "The positions have the right size already. It is the rows that are small, and have to "
        "grow.",
        (
            NO_SCALE + change("+ positions", "+ positions * math.sqrt(weight.shape[1])"),
            change(EMBEDDED, "weight[ids] / math.sqrt(weight.shape[1])"),
        ),
    ),
    Misconception(
        "norm-left-out",
        "the norm is left out",
        "It was right. What is wrong is a factor.",
        (change(NORMED, "rows + positions"),),
    ),
    Misconception(
        "norm-over-everything",
        "the norm runs over more than the features of one token",
        "Each token is normed by itself, over its D features. That line was right.",
        (change("shape[-1:]", "shape[-2:]"), change("shape[-1:]", "shape")),
    ),
    with_wrong(
        SOFTMAX_INCLUDED,
        change(TIED_LOGITS, f"{TIED_LOGITS}.softmax(-1)"),
        change(TIED_LOGITS, f"{TIED_LOGITS}.log_softmax(-1)"),
    ),
    Misconception(
        "cosines",
        "the rows are normalised at the output",
        "What is wrong is one factor, the same for all rows; their lengths have to stay.",
        (
            change("(hidden, weight)", "(hidden, F.normalize(weight, dim=-1))"),
            change(
                "(hidden, weight)", "(F.normalize(hidden, dim=-1), F.normalize(weight, dim=-1))"
            ),
        ),
    ),
    Misconception(
        "tied-at-one-end",
        "the matrix learns from one of its two uses only",
        "Tying means that the gradients of both ends arrive in the one matrix. Look for detach.",
        (
            change("(hidden, weight)", "(hidden, weight.detach())"),
            change("(ids, weight)", "(ids, weight.detach())"),
        ),
    ),
    with_wrong(DETACHED, no_gradients("language_model")),
    with_wrong(
        FLOAT32_ONLY,
        change("    rows", "    weight, positions = weight.float(), positions.float()\n    rows"),
    ),
    with_wrong(CHANGES_INPUT, change("    return", "    positions.zero_()\n    return")),
)


# --- dead_rows -------------------------------------------------------------------------------

CLEARED = "    embedding.zero_grad()  # what is left from before would be added\n"
ALL_ZERO = "(gradient == 0).all(dim=-1)"
IDS = "dead.nonzero().flatten().tolist()"
PAD = "embedding.padding_idx"

DEAD = (
    Misconception(
        "old-gradients",
        "gradients from before are counted, too",
        "backward adds to what lies in grad already. Clear it before you measure.",
        (change(CLEARED, ""),),
    ),
    Misconception(
        "one-zero-is-enough",
        "a row with a single 0 in its gradient is taken for dead",
        "A row is dead if all of its numbers get nothing. Look at any and all.",
        (change(".all(dim=-1)", ".any(dim=-1)"),),
    ),
    Misconception(
        "one-number-of-the-row",
        "only one number of each row's gradient is looked at",
        "A loss may read some features and leave others. Ask about all numbers of the row.",
        (
            change(ALL_ZERO, "gradient[:, 0] == 0"),
            change(ALL_ZERO, "gradient[:, -1] == 0"),
        ),
    ),
    Misconception(
        "signs-cancel",
        "the numbers of a row's gradient are added with their signs, so that they may cancel",
        "1 and -1 add up to 0, and both move the row. Look at each number, or at its size.",
        (
            change(ALL_ZERO, "gradient.sum(dim=-1) == 0"),
            change(ALL_ZERO, "gradient.mean(dim=-1).abs() < 1e-7"),
        ),
    ),
    Misconception(
        "living-rows",
        "these are the rows that get a gradient",
        "Asked for are the others. Look at the comparison with 0.",
        (
            change(ALL_ZERO, "(gradient != 0).any(dim=-1)"),
            change(ALL_ZERO, "(gradient != 0).all(dim=-1)"),
        ),
    ),
    Misconception(
        "features-not-rows",
        "the features are asked, not the rows",
        "The gradient is (V, D), and there is one answer for each of the V rows. Look at the axis.",
        (change("dim=-1", "dim=0"),),
    ),
    Misconception(
        "numbers-not-gradients",
        "rows that hold zeros are listed, not rows with a gradient of 0",
        "A row of zeros may be on its way elsewhere, and a row of other numbers may stay for ever. "
        "Ask the gradient.",
        (
            change("gradient == 0", "embedding.weight == 0"),
            change(ALL_ZERO, "((gradient == 0) | (embedding.weight == 0)).all(dim=-1)"),
        ),
    ),
    Misconception(
        "padding-always-dead",
        "the padding's row is listed in any case",
        "padding_idx keeps away the gradient of the look-up. A loss may reach the row by another "
        "way: measure it like the others.",
        (
            change(
                f"    return {IDS}",
                f"    if {PAD} is not None:\n        dead[{PAD}] = True\n    return {IDS}",
            ),
        ),
    ),
    Misconception(
        "padding-left-out",
        "the padding's row is never listed",
        "It is a row like the others here: if it gets no gradient, it is dead, on purpose or not.",
        (
            change(
                f"    return {IDS}",
                f"    if {PAD} is not None:\n        dead[{PAD}] = False\n    return {IDS}",
            ),
        ),
    ),
    Misconception(
        "small-for-zero",
        "a row with a small gradient is taken for dead",
        "A small gradient moves a row, if slowly. What a loss does not reach has exactly 0.",
        (
            change("gradient == 0", "gradient.abs() < 1e-3"),
            change("gradient == 0", "gradient.abs() < 1e-4"),
        ),
    ),
    Misconception(
        "trains-the-embedding",
        "the embedding is not as it was: the measurement trains it",
        "Who measures should leave no trace. Read the gradient, or take the step on a copy.",
        (
            change("    dead =", "    embedding.weight.data -= gradient\n    dead ="),
            change("    dead =", "    embedding.weight.data -= 0.1 * gradient\n    dead ="),
        ),
    ),
    Misconception(
        "mask-for-ids",
        "there is an entry for every row, not the ids of those that are dead",
        "[True, False, True] says of each row whether it is dead. Asked for is where the True "
        "stands: [0, 2].",
        (
            change(IDS, "dead.tolist()"),
            change(IDS, "dead.long().tolist()"),
        ),
        r"`rows\[0\]` is a bool",
    ),
    with_wrong(TENSOR_FOR_NUMBER, change(IDS, "dead.nonzero().flatten()")),
)

MISCONCEPTIONS = {
    "one_hot": ONE_HOT,
    "embed": EMBED,
    "skipgram_pairs": SKIPGRAM,
    "cbow_examples": CBOW,
    "negative_sampling_loss": LOSS,
    "nearest_neighbours": NEIGHBOURS,
    "tied_logits": TIED,
    "embedding_from_pretrained": PRETRAINED,
    "find_the_bug": BUG,
    "dead_rows": DEAD,
}
