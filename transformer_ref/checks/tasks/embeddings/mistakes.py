"""The misconceptions of the assignment "embeddings", task by task, each with its implementation.

They come from the notes that the course corrects (a product of E with the indices themselves, the
scale on the wrong side of a tied matrix), from tutorials of word2vec (slices that begin below 0,
logarithms of rounded sigmoids), and from the defaults of torch (`freeze=True`).
Twins that give the same answer are one entry: the candidates not normalised and a plain product
rank alike; before a LayerNorm, a scale of rows and positions together is nearly none, and positions
times sqrt(D) are nearly rows divided by it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref.checks.authoring.shared_mistakes import (
    CHANGES_INPUT,
    DETACHED,
    FIRST_ROUND,
    FLOAT32_ONLY,
    Step,
    detached,
    in_float32,
    with_wrong,
)
from transformer_ref.checks.task import Misconception

OUT_OF_RANGE = r"out of (range|bounds)"
NO_PRODUCT = r"cannot be multiplied|size mismatch|must match|[Ee]xpected size|[Ee]insum|subscript"

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
    (),
)
WRAPPED = Misconception(
    "wraps-around",
    "the start of the sentence has neighbours from its end",
    "A place below 0 counts from the end in Python and raises nothing. Let the range begin at "
    "max(0, ...), or ask whether the place is inside.",
    (),
    r"index out of range",
)
FULL_ONLY = Misconception(
    "edges-skipped",
    "centres near the edges are left out",
    "Near an edge the window is shorter, and what is left of it counts. Look at where the loop "
    "over the centres begins and ends.",
    (),
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


# --- one_hot ---------------------------------------------------------------------------------


def _one_hot(ids: Tensor, vocab_size: int) -> Tensor:
    return torch.eye(vocab_size, device=ids.device)[ids]


def _in_place_ids(ids: Tensor, vocab_size: int) -> Tensor:
    return torch.zeros(*ids.shape, vocab_size).scatter_(-1, ids.unsqueeze_(-1), 1.0)


def _all_ids_everywhere(ids: Tensor, vocab_size: int) -> Tensor:
    rows = torch.zeros(*ids.shape, vocab_size, device=ids.device)
    rows[..., ids.flatten()] = 1.0
    return rows


def _ids_of_the_row(ids: Tensor, vocab_size: int) -> Tensor:
    rows = _one_hot(ids, vocab_size).amax(dim=-2, keepdim=True)
    return rows.expand(*ids.shape, vocab_size).clone()


def _value_written(ids: Tensor, vocab_size: int) -> Tensor:
    return _one_hot(ids, vocab_size) * ids.unsqueeze(-1)


def _one_axis_indexed(ids: Tensor, vocab_size: int) -> Tensor:
    rows = torch.zeros(len(ids), vocab_size, device=ids.device)
    rows[torch.arange(len(ids), device=ids.device), ids] = 1.0
    return rows


def _one_axis_scattered(ids: Tensor, vocab_size: int) -> Tensor:
    rows = torch.zeros(ids.shape[0], vocab_size, device=ids.device)
    return rows.scatter_(1, ids.unsqueeze(1), 1.0)


ONE_HOT = (
    Misconception(
        "wrong-dtype",
        "the ones and zeros are not float32",
        "They are to be multiplied with a matrix of weights, and integers, booleans and float64 "
        "do not fit it. Look at the dtype of what you make, or convert at the end.",
        (
            lambda ids, vocab_size: _one_hot(ids, vocab_size).long(),
            lambda ids, vocab_size: _one_hot(ids, vocab_size).bool(),
            lambda ids, vocab_size: _one_hot(ids, vocab_size).double(),
            lambda ids, vocab_size: _one_hot(ids, vocab_size).int(),
        ),
    ),
    Misconception(
        "counted-from-one",
        "ids are counted from 1",
        "Id 0 is a token like the others, and belongs to the first column. Look for +1 or -1.",
        (
            lambda ids, vocab_size: _one_hot(ids - 1, vocab_size),
            lambda ids, vocab_size: _one_hot(ids + 1, vocab_size),
            lambda ids, vocab_size: _one_hot(ids, vocab_size + 1)[..., 1:],
        ),
        OUT_OF_RANGE,
    ),
    Misconception(
        "width-from-ids",
        "the width is the largest id of this call, not the size of the vocabulary",
        "Another batch would get another width, and no matrix fits both. Use vocab_size.",
        (lambda ids, vocab_size: _one_hot(ids, int(ids.max()) + 1),),
    ),
    Misconception(
        "vocabulary-first",
        "the axis of the vocabulary is the first, not the last",
        "The result is (*ids.shape, V): each id is replaced by a row. Look at the axis that you "
        "add.",
        (
            lambda ids, vocab_size: _one_hot(ids, vocab_size).movedim(-1, 0),
            lambda ids, vocab_size: _one_hot(ids, vocab_size).transpose(-1, -2),
        ),
    ),
    Misconception(
        "flattened",
        "the axes of the ids have become one",
        "A batch stays a batch: (B, T) gives (B, T, V). Bring the shape back.",
        (lambda ids, vocab_size: _one_hot(ids.flatten(), vocab_size),),
    ),
    Misconception(
        "one-axis-only",
        "ids with more than one axis are not taken",
        "A batch (B, T) is as good as a row (T,). Look for len(ids) and for a fixed number of "
        "axes; count axes from the end, and use ids.shape.",
        (_one_axis_indexed, _one_axis_scattered),
        r"[Ss]hape mismatch|same number of dimensions|could not be broadcast|only one element",
    ),
    Misconception(
        "all-ids-in-each-row",
        "each row has a one for every id of the call",
        "rows[..., ids] = 1 sets the columns of all ids in all rows. Each row needs its own id: "
        "scatter_, a comparison, or a loop.",
        (_all_ids_everywhere, _ids_of_the_row),
    ),
    Misconception(
        "one-row-a-sequence",
        "a whole sequence has become one row",
        "This is a bag of words, which forgets the order. Each id gets a row of its own.",
        (
            lambda ids, vocab_size: _one_hot(ids, vocab_size).sum(dim=-2),
            lambda ids, vocab_size: _one_hot(ids, vocab_size).amax(dim=-2),
        ),
    ),
    Misconception(
        "id-written",
        "the id itself stands where the 1 belongs",
        "The place says which token it is; the number there is 1 for all of them.",
        (_value_written, lambda ids, vocab_size: _one_hot(ids, vocab_size) * (ids[..., None] + 1)),
    ),
    Misconception(
        "inverted",
        "ones and zeros have changed places",
        "Only the column of the id is 1. Look at the comparison.",
        (lambda ids, vocab_size: 1.0 - _one_hot(ids, vocab_size),),
    ),
    Misconception(
        "row-of-id-0-empty",
        "the row of id 0 is empty",
        "Nothing is said of padding here: id 0 has its one like the others. Look at a column that "
        "is dropped or a mask.",
        (lambda ids, vocab_size: _one_hot(ids, vocab_size) * (ids != 0).unsqueeze(-1),),
    ),
    Misconception(
        "ones-up-to-the-id",
        "all columns up to that of the id are 1",
        "Ids are names, not amounts: 7 is not more than 3. Compare for equality.",
        (
            lambda ids, vocab_size: (
                torch.arange(vocab_size, device=ids.device) <= ids.unsqueeze(-1)
            ).float(),
            lambda ids, vocab_size: (
                torch.arange(vocab_size, device=ids.device) < ids.unsqueeze(-1)
            ).float(),
        ),
    ),
    Misconception(
        "list-returned",
        "the result is a list, not a tensor",
        "What comes next is a matrix product. Stack the rows to one tensor.",
        (
            lambda ids, vocab_size: _one_hot(ids, vocab_size).tolist(),
            lambda ids, vocab_size: list(_one_hot(ids, vocab_size)),
        ),
        r"expected one tensor, received a (list|tuple)",
    ),
    with_wrong(CHANGES_INPUT, _in_place_ids),
)


# --- embed -----------------------------------------------------------------------------------


def _root(weight: Tensor) -> float:
    return math.sqrt(weight.shape[1])


def _looked_up(ids: Tensor, weight: Tensor) -> Tensor:
    return weight[ids] * _root(weight)


def _scaled_by(size: Callable[[Tensor, Tensor], float]) -> Step:
    return lambda ids, weight: weight[ids] * size(ids, weight)


def _weight_changed(ids: Tensor, weight: Tensor) -> Tensor:
    weight *= _root(weight)
    return weight[ids]


def _columns(ids: Tensor, weight: Tensor) -> Tensor:
    return weight[:, ids].movedim(0, -1) * math.sqrt(weight.shape[0])


def _indices_times_matrix(ids: Tensor, weight: Tensor) -> Tensor:
    return ids.to(weight.dtype) @ weight * _root(weight)


def _one_hot_in_float32(ids: Tensor, weight: Tensor) -> Tensor:
    return _one_hot(ids, weight.shape[0]) @ weight * _root(weight)


EMBED = (
    Misconception(
        "no-scale",
        "the rows are not scaled",
        "The positions that are added next have numbers of size one, and the rows must not vanish "
        "beside them. Look at the formula's factor.",
        (lambda ids, weight: weight[ids],),
    ),
    Misconception(
        "scaled-by-d",
        "the factor is D, not its square root",
        "Look for a root that is missing, or a factor that is applied twice.",
        (_scaled_by(lambda ids, weight: weight.shape[1]),),
    ),
    Misconception(
        "divided-by-root-d",
        "the rows are divided by sqrt(D) where they should be multiplied",
        "In attention the scale makes products smaller; here it makes small rows larger.",
        (_scaled_by(lambda ids, weight: 1 / _root(weight)),),
    ),
    Misconception(
        "scaled-by-another-size",
        "the factor comes from another size than D",
        "D is the number of features of a row, the last axis of the weight. Look at which size "
        "stands under the root.",
        (
            _scaled_by(lambda ids, weight: math.sqrt(weight.shape[0])),
            _scaled_by(lambda ids, weight: math.sqrt(ids.shape[-1])),
            _scaled_by(lambda ids, weight: math.sqrt(ids.shape[0])),
            _scaled_by(lambda ids, weight: math.sqrt(ids.numel())),
        ),
    ),
    Misconception(
        "integer-one-hot",
        "the one-hot rows are integers, and the matrix is not",
        "A product wants one dtype: F.one_hot gives int64, which has to become that of the weight.",
        (lambda ids, weight: F.one_hot(ids, len(weight)) @ weight * _root(weight),),
        r"same dtype.*long|expected scalar type Long",
    ),
    Misconception(
        "indices-times-matrix",
        "the matrix is multiplied with the ids themselves",
        "An id is a name and not an amount. What the matrix can be multiplied with is the one-hot "
        "row of the id, and a look-up gives the same without the product.",
        (
            _indices_times_matrix,
            lambda ids, weight: weight @ ids.to(weight.dtype) * _root(weight),
            lambda ids, weight: _looked_up(ids, weight) * ids.unsqueeze(-1),
        ),
        NO_PRODUCT,
    ),
    Misconception(
        "columns-for-rows",
        "columns of the matrix are looked up, not rows",
        "The weight is (V, D): a token is a row. Look at which axis is indexed or transposed.",
        (
            _columns,
            lambda ids, weight: weight[:, ids] * _root(weight),
            lambda ids, weight: weight[:, ids].movedim(0, -1) * _root(weight),
        ),
        OUT_OF_RANGE,
    ),
    Misconception(
        "counted-from-one",
        "ids are counted from 1",
        "Id 0 is the first row. Look for +1 or -1; -1 takes the last row and raises nothing.",
        (
            lambda ids, weight: _looked_up(ids - 1, weight),
            lambda ids, weight: _looked_up(ids + 1, weight),
        ),
        OUT_OF_RANGE,
    ),
    Misconception(
        "normalised",
        "the rows are brought to one length",
        "How long a row is belongs to what is learned. The factor is the same for all rows.",
        (
            lambda ids, weight: F.normalize(weight, dim=-1)[ids],
            lambda ids, weight: F.normalize(weight, dim=-1)[ids] * _root(weight),
        ),
    ),
    Misconception(
        "row-0-zero",
        "the row of id 0 is taken for padding",
        "Nothing is said of padding here: id 0 has a row like the others.",
        (
            lambda ids, weight: _looked_up(ids, weight) * (ids != 0).unsqueeze(-1),
            lambda ids, weight: F.embedding(ids, weight, padding_idx=0) * _root(weight),
        ),
    ),
    Misconception(
        "added-up",
        "the rows of a sequence are added up or averaged",
        "Each token keeps its own vector: (B, T) gives (B, T, D). Look for a sum or a mean.",
        (
            lambda ids, weight: _looked_up(ids, weight).sum(dim=-2),
            lambda ids, weight: _looked_up(ids, weight).mean(dim=-2),
        ),
    ),
    Misconception(
        "features-before-tokens",
        "the features stand before the tokens",
        "The features are the last axis. With one-hot rows, the product is one_hot @ weight.",
        (lambda ids, weight: _looked_up(ids, weight).transpose(-1, -2),),
    ),
    with_wrong(DETACHED, detached(_looked_up)),
    with_wrong(FLOAT32_ONLY, in_float32(_looked_up), _one_hot_in_float32),
    with_wrong(CHANGES_INPUT, _weight_changed),
)


# --- windows ---------------------------------------------------------------------------------

Contexts = list[tuple[int, list[int]]]


def _places(
    ids: Sequence[int],
    window: int,
    *,
    left: int | None = None,
    right: int | None = None,
    center: bool = False,
    wrap: bool = False,
    centers: Callable[[int, int], Iterable[int]] = lambda size, window: range(size),
    order: Callable[[list[int], int], list[int]] = lambda places, center: places,
) -> Contexts:
    """Find the places in the window of each place, right unless a step is replaced.

    Args:
        ids: the words.
        window: the reach.
        left: the reach to the left, where it is another.
        right: the reach to the right, where it is another.
        center: whether the centre is its own neighbour.
        wrap: whether places below 0 count from the end.
        centers: from the number of words and the window, the places of the centres.
        order: puts the places of the contexts into an order, or leaves some out.

    Returns:
        the place of each centre with the places of its contexts.
    """
    first, last = window if left is None else left, window if right is None else right
    found = []
    for place in centers(len(ids), window):
        places = [
            each
            for each in range(place - first, place + last + 1)
            if (-len(ids) if wrap else 0) <= each < len(ids) and (center or each != place)
        ]
        found.append((place, order(places, place)))
    return found


Finder = Callable[..., Contexts]


def _pairs(find: Finder = _places) -> Step:
    """Return skipgram_pairs with another way to find the places."""

    def wrong(ids: Sequence[int], window: int) -> Any:
        return [
            (ids[center], ids[context])
            for center, contexts in find(ids, window)
            for context in contexts
        ]

    return wrong


def _bags(find: Finder = _places, empty: bool = False) -> Step:
    """Return cbow_examples with another way to find the places, and perhaps with empty contexts."""

    def wrong(ids: Sequence[int], window: int) -> Any:
        return [
            ([ids[context] for context in contexts], ids[center])
            for center, contexts in find(ids, window)
            if contexts or empty
        ]

    return wrong


def _reach(left: Callable[[int], int], right: Callable[[int], int]) -> Finder:
    return lambda ids, window: _places(ids, window, left=left(window), right=right(window))


def _same(window: int) -> int:
    return window


def _nearest_first(places: list[int], center: int) -> list[int]:
    return sorted(places, key=lambda place: (abs(place - center), place))


def _right_first(places: list[int], center: int) -> list[int]:
    return sorted(places, key=lambda place: (abs(place - center), -place))


def _left_reversed(places: list[int], center: int) -> list[int]:
    left = [place for place in places if place < center]
    return [*left[::-1], *places[len(left) :]]


def _right_side_first(places: list[int], center: int) -> list[int]:
    left = [place for place in places if place < center]
    return [*places[len(left) :], *left]


def _full_windows(size: int, window: int) -> range:
    return range(window, size - window)


def _other_ids(ids: Sequence[int], window: int) -> Contexts:
    return [
        (place, [each for each in contexts if ids[each] != ids[place]])
        for place, contexts in _places(ids, window, center=True)
    ]


def _farthest(ids: Sequence[int], window: int) -> Contexts:
    return [
        (place, [each for each in contexts if abs(each - place) == window])
        for place, contexts in _places(ids, window)
    ]


def _by_index(ids: Sequence[int], window: int) -> Contexts:
    places = _places(ids, window)
    return [places[ids.index(each)] for each in ids]


def _sliced_wrongly(ids: Sequence[int], window: int) -> Contexts:
    """Slice from place - window, which gives nothing where that is below 0."""
    places = list(range(len(ids)))
    return [
        (place, places[place - window : place] + places[place + 1 : place + window + 1])
        for place in places
    ]


def _sliced_whole(ids: Sequence[int], window: int) -> Contexts:
    """Slice once, and leave the centre out after that."""
    places = list(range(len(ids)))
    return [
        (place, [each for each in places[place - window : place + window + 1] if each != place])
        for place in places
    ]


_TWO_SIDED: tuple[tuple[Misconception, tuple[Finder, ...]], ...] = (
    (CENTER_TOO, (partial(_places, center=True),)),
    (ONE_SIDE, (_reach(lambda window: 0, _same), _reach(_same, lambda window: 0))),
    (RIGHT_SHORT, (_reach(_same, lambda window: window - 1),)),
    (
        TOO_FAR,
        (
            _reach(lambda window: window + 1, lambda window: window + 1),
            _reach(_same, lambda window: window + 1),
            _reach(lambda window: window + 1, _same),
        ),
    ),
    (
        IN_TOTAL,
        (
            _reach(lambda window: window // 2, lambda window: window // 2),
            _reach(lambda window: window // 2, lambda window: window - window // 2),
            _reach(lambda window: (window + 1) // 2, lambda window: (window + 1) // 2),
        ),
    ),
    (WRAPPED, (partial(_places, wrap=True),)),
    (
        Misconception(
            "slice-below-zero",
            "centres near the start lose neighbours",
            "A slice that begins below 0 begins near the end, and is empty or nearly so. Let it "
            "begin at max(0, place - window).",
            (),
        ),
        (_sliced_wrongly, _sliced_whole),
    ),
    (FULL_ONLY, (partial(_places, centers=_full_windows),)),
    (SAME_ID_LOST, (_other_ids,)),
    (
        BY_DISTANCE,
        tuple(
            partial(_places, order=order)
            for order in (
                _nearest_first,
                _right_first,
                _left_reversed,
                _right_side_first,
                lambda places, center: places[::-1],
            )
        ),
    ),
    (FARTHEST_ONLY, (_farthest,)),
    (
        Misconception(
            "first-place-of-a-word",
            "a word that comes again gets the neighbours of its first place",
            "ids.index finds the first place of an id. enumerate gives each place with its id.",
            (),
        ),
        (_by_index,),
    ),
    (FIRST_ROUND, (lambda ids, window: _places(ids, window)[:1],)),
)


# --- skipgram_pairs --------------------------------------------------------------------------


def _pairs_by_offset(ids: Sequence[int], window: int) -> Any:
    offsets = [offset for offset in range(-window, window + 1) if offset]
    return [
        (ids[place], ids[place + offset])
        for offset in offsets
        for place in range(len(ids))
        if 0 <= place + offset < len(ids)
    ]


def _ids_used_up(ids: list[int], window: int) -> Any:
    pairs = _pairs()(ids, window)
    ids.clear()
    return pairs


def _ids_with_edges(ids: list[int], window: int) -> Any:
    pairs = _pairs()(ids, window)
    ids.append(0)
    return pairs


SKIPGRAM = (
    *(with_wrong(entry, *map(_pairs, finders)) for entry, finders in _TWO_SIDED),
    Misconception(
        "context-first",
        "the context stands before the centre",
        "Skip-gram predicts the context from the centre, so the pair is (center, context).",
        (lambda ids, window: [(context, center) for center, context in _pairs()(ids, window)],),
    ),
    Misconception(
        "not-by-centre",
        "the pairs are not in the order of their centres",
        "The outer loop goes over the places of the centres, the inner one over their contexts.",
        (
            _pairs_by_offset,
            lambda ids, window: sorted(_pairs()(ids, window)),
            lambda ids, window: [
                pair
                for offset in range(1, window + 1)
                for place in range(len(ids) - offset)
                for pair in (
                    (ids[place], ids[place + offset]),
                    (ids[place + offset], ids[place]),
                )
            ],
        ),
    ),
    with_wrong(
        REPEATED_LOST,
        lambda ids, window: list(dict.fromkeys(_pairs()(ids, window))),
        lambda ids, window: sorted(set(_pairs()(ids, window))),
    ),
    with_wrong(
        POSITIONS,
        lambda ids, window: [
            (center, context) for center, contexts in _places(ids, window) for context in contexts
        ],
        lambda ids, window: [
            (center, ids[context])
            for center, contexts in _places(ids, window)
            for context in contexts
        ],
    ),
    Misconception(
        "contexts-in-a-list",
        "the contexts of a centre stand together in a list",
        "Each pair has one context: a centre with three neighbours gives three pairs.",
        (
            lambda ids, window: [(center, bag) for bag, center in _bags()(ids, window)],
            lambda ids, window: _bags()(ids, window),
        ),
    ),
    with_wrong(LIST_CHANGED, _ids_used_up, _ids_with_edges),
)


# --- cbow_examples ---------------------------------------------------------------------------


def _padded(filler: Any) -> Step:
    """Return cbow_examples that fills contexts up to two windows."""

    def wrong(ids: Sequence[int], window: int) -> Any:
        row = [filler] * window + list(ids) + [filler] * window
        return [
            (row[place : place + window] + row[place + window + 1 : place + 2 * window + 1], center)
            for place, center in enumerate(ids)
        ]

    return wrong


def _padded_behind(ids: Sequence[int], window: int) -> Any:
    return [
        (context + [0] * (2 * window - len(context)), center)
        for context, center in _bags()(ids, window)
    ]


def _one_list(ids: Sequence[int], window: int) -> Any:
    """Use one list for all contexts, which in the end holds the last."""
    examples = _bags()(ids, window)
    return [(examples[-1][0], center) for _, center in examples]


def _one_list_cleared(ids: Sequence[int], window: int) -> Any:
    return [([], center) for _, center in _bags()(ids, window)]


def _centre_taken_out(ids: list[int], window: int) -> Any:
    examples = _bags()(ids, window)
    if len(ids) > 1:
        del ids[0]
    return examples


CBOW = (
    *(
        with_wrong(entry, *(_bags(find, empty) for find in finders for empty in (False, True)))
        for entry, finders in _TWO_SIDED
    ),
    Misconception(
        "centre-first",
        "the centre stands before its context",
        "CBOW predicts the centre from the context, so the pair is (context, center).",
        (lambda ids, window: [(center, bag) for bag, center in _bags()(ids, window)],),
    ),
    Misconception(
        "empty-contexts-kept",
        "a centre without any neighbour is kept",
        "There is nothing to predict it from. Look at a sentence of one word.",
        (_bags(empty=True),),
    ),
    Misconception(
        "padded",
        "the contexts at the edges are filled up",
        "At the edges the context is shorter: a filler would be taken for a word.",
        (*map(_padded, (0, -1, None)), _padded_behind),
    ),
    Misconception(
        "one-context-a-pair",
        "each context word makes a pair of its own",
        "That is skip-gram. In CBOW all neighbours of a centre predict it together, in one list.",
        (
            lambda ids, window: [
                ([context], center) for bag, center in _bags()(ids, window) for context in bag
            ],
            lambda ids, window: [
                (context, center) for bag, center in _bags()(ids, window) for context in bag
            ],
            _pairs(),
        ),
    ),
    with_wrong(
        REPEATED_LOST,
        lambda ids, window: [
            (list(dict.fromkeys(bag)), center) for bag, center in _bags()(ids, window)
        ],
        lambda ids, window: [(sorted(set(bag)), center) for bag, center in _bags()(ids, window)],
    ),
    Misconception(
        "contexts-sorted",
        "the contexts are sorted by their ids",
        "Left to right means the order of the text. Look for sorted.",
        (lambda ids, window: [(sorted(bag), center) for bag, center in _bags()(ids, window)],),
    ),
    Misconception(
        "one-list-for-all",
        "all contexts are one and the same list",
        "append keeps no copy: a list that is cleared or filled anew later changes in all "
        "examples. Make a new list for each centre.",
        (_one_list, _one_list_cleared),
    ),
    with_wrong(
        POSITIONS,
        lambda ids, window: [
            (contexts, center) for center, contexts in _places(ids, window) if contexts
        ],
        lambda ids, window: [
            (contexts, ids[center]) for center, contexts in _places(ids, window) if contexts
        ],
        lambda ids, window: [
            ([ids[each] for each in contexts], center)
            for center, contexts in _places(ids, window)
            if contexts
        ],
    ),
    with_wrong(LIST_CHANGED, _centre_taken_out),
)


# --- negative_sampling_loss ------------------------------------------------------------------


def _products(center: Tensor, positive: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor]:
    """Return (B,) and (B, N)."""
    return (center * positive).sum(-1), (negatives * center.unsqueeze(1)).sum(-1)


def _loss(
    center: Tensor,
    positive: Tensor,
    negatives: Tensor,
    *,
    products: Step = _products,
    log: Step = F.logsigmoid,
    sign: float = -1.0,
    over_negatives: Step = lambda logs: logs.sum(-1),
    over_batch: Step = lambda loss: loss.mean(),
    parts: tuple[float, float] = (1.0, 1.0),
) -> Any:
    """Compute the loss, right unless a step is replaced.

    Args:
        center: (B, D).
        positive: (B, D).
        negatives: (B, N, D).
        products: gives those with the positive and the negatives.
        log: of the sigmoid.
        sign: of the products with the negatives.
        over_negatives: makes (B,) of (B, N).
        over_batch: makes a scalar of (B,).
        parts: what the two parts of the loss count.

    Returns:
        the loss.
    """
    real, drawn = products(center, positive, negatives)
    loss = -parts[0] * log(real) - parts[1] * over_negatives(log(sign * drawn))
    return over_batch(loss)


def _log_of_sigmoid(x: Tensor) -> Tensor:
    return torch.log(torch.sigmoid(x))


def _squeezed(center: Tensor, positive: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor]:
    return (center * positive).sum(-1), (negatives @ center.unsqueeze(2)).squeeze()


def _log_of_one_minus(
    center: Tensor, positive: Tensor, negatives: Tensor, products: Step = _products
) -> Tensor:
    real, drawn = products(center, positive, negatives)
    loss = -torch.sigmoid(real).log() - (1 - torch.sigmoid(drawn)).log().sum(-1)
    return loss.mean()


def _half_rounded(center: Tensor, positive: Tensor, negatives: Tensor) -> Tensor:
    real, drawn = _products(center, positive, negatives)
    return (-F.logsigmoid(real) - (1 - torch.sigmoid(drawn)).log().sum(-1)).mean()


def _log_of_one_plus(x: Tensor) -> Tensor:
    return -torch.log(1 + torch.exp(-x))


def _log_of_more(small: float) -> Step:
    return lambda x: torch.log(torch.sigmoid(x) + small)


def _log_clamped(small: float) -> Step:
    return lambda x: torch.log(torch.sigmoid(x).clamp(min=small))


def _cross_entropy(x: Tensor) -> Tensor:
    """Cut logarithms off at -100, as torch's binary cross-entropy of probabilities does."""
    return torch.log(torch.sigmoid(x)).clamp(min=-100.0)


def _with_positive(center: Tensor, positive: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor]:
    return (center * positive).sum(-1), (negatives * positive.unsqueeze(1)).sum(-1)


def _cosines(center: Tensor, positive: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor]:
    return _products(*(F.normalize(each, dim=-1) for each in (center, positive, negatives)))


def _divided(center: Tensor, positive: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor]:
    real, drawn = _products(center, positive, negatives)
    return real / math.sqrt(center.shape[-1]), drawn / math.sqrt(center.shape[-1])


def _over_count(center: Tensor, positive: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor]:
    return (center * positive).sum(-1), (negatives * center.unsqueeze(1)).sum(1)


def _feature_by_feature(center: Tensor, positive: Tensor, negatives: Tensor) -> Tensor:
    real = F.logsigmoid(center * positive).sum(-1)
    drawn = F.logsigmoid(-negatives * center.unsqueeze(1)).sum((-1, -2))
    return -(real + drawn).mean()


def _softmax_loss(center: Tensor, positive: Tensor, negatives: Tensor) -> Tensor:
    real, drawn = _products(center, positive, negatives)
    return -torch.cat([real.unsqueeze(1), drawn], dim=1).log_softmax(dim=1)[:, 0].mean()


def _all_pairs(center: Tensor, positive: Tensor, negatives: Tensor) -> Tensor:
    real = F.logsigmoid(center @ positive.T)
    drawn = F.logsigmoid(-(negatives @ center.unsqueeze(2)).squeeze(2)).sum(-1)
    return -(real + drawn).mean()


def _all_pairs_apart(center: Tensor, positive: Tensor, negatives: Tensor) -> Tensor:
    real = F.logsigmoid(center @ positive.T).mean()
    drawn = F.logsigmoid(-(negatives @ center.unsqueeze(2)).squeeze(2)).sum(-1)
    return -real - drawn.mean()


def _summed_first(center: Tensor, positive: Tensor, negatives: Tensor) -> Tensor:
    real, drawn = _products(center, positive, negatives)
    return -(F.logsigmoid(real) + F.logsigmoid(-drawn.sum(-1))).mean()


def _center_changed(center: Tensor, positive: Tensor, negatives: Tensor) -> Tensor:
    loss = _loss(center, positive, negatives)
    center.neg_()
    return loss


def _negatives_changed(center: Tensor, positive: Tensor, negatives: Tensor) -> Tensor:
    negatives.neg_()
    return _loss(center, positive, negatives, sign=1.0)


def _mean(logs: Tensor) -> Tensor:
    return logs.mean(-1)


LOSS = (
    Misconception(
        "sign-of-negatives",
        "the negatives are pulled near, like the positive",
        "A drawn word should get a low score: its part is log sigmoid of minus the product. Look "
        "at the sign inside.",
        (partial(_loss, sign=1.0),),
    ),
    Misconception(
        "mean-over-negatives",
        "the negatives are averaged where they should be added up",
        "Each of the N drawn words counts as much as the real one. The mean is that over the "
        "batch only.",
        (
            partial(_loss, over_negatives=_mean),
            partial(_loss, over_negatives=_mean, over_batch=lambda loss: loss.sum()),
        ),
    ),
    Misconception(
        "sum-over-batch",
        "the batch is added up where it should be averaged",
        "A loss that grows with the batch makes the step grow with it. Take the mean over B.",
        (partial(_loss, over_batch=lambda loss: loss.sum()),),
    ),
    Misconception(
        "loss-for-each-pair",
        "there is one loss for each pair of the batch, not one number",
        "The stub asks for the mean over the batch, a tensor without axes.",
        (
            partial(_loss, over_batch=lambda loss: loss),
            partial(_loss, over_batch=lambda loss: loss.mean(0, keepdim=True)),
        ),
    ),
    Misconception(
        "log-of-a-rounded-sigmoid",
        "the logarithm is taken of a sigmoid that is rounded to 0 or 1",
        "sigmoid(-200) is 0 in float32, and its logarithm infinite. There is a function that "
        "computes the two in one step.",
        (
            partial(_loss, log=_log_of_sigmoid),
            _log_of_one_minus,
            _half_rounded,
            partial(_loss, log=_log_of_one_plus),
        ),
    ),
    Misconception(
        "logarithm-cut-off",
        "a small number or a clamp keeps the logarithm finite, and wrong",
        "log(sigmoid + 1e-8) ends at -18, and the logarithms of binary_cross_entropy at -100. The "
        "true value is -200 and needs no help if both steps are one.",
        (
            *(
                partial(_loss, log=make(small))
                for small in (1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)
                for make in (_log_of_more, _log_clamped)
            ),
            partial(_loss, log=_cross_entropy),
        ),
    ),
    Misconception(
        "axis-squeezed-away",
        "with a single negative its axis is gone, and the sum runs over the batch",
        "squeeze() without an axis removes every axis of size 1, also that of N or B. Say which "
        "axis it is.",
        (
            partial(_loss, products=_squeezed),
            partial(_loss, products=_squeezed, log=_log_of_sigmoid),
            partial(_log_of_one_minus, products=_squeezed),
        ),
    ),
    Misconception(
        "negatives-left-out",
        "the negatives have no effect",
        "With the positive alone all vectors may become the same. Look at the second part of the "
        "formula.",
        (partial(_loss, parts=(1.0, 0.0)),),
    ),
    Misconception(
        "positive-left-out",
        "the positive has no effect",
        "The real neighbour should get a high score. Look at the first part of the formula.",
        (partial(_loss, parts=(0.0, 1.0)),),
    ),
    Misconception(
        "not-negated",
        "the result is the log-likelihood, not the loss",
        "Training makes the result small, so both parts carry a minus.",
        (
            partial(_loss, parts=(-1.0, -1.0)),
            partial(_loss, parts=(1.0, -1.0)),
            partial(_loss, parts=(-1.0, 1.0)),
        ),
    ),
    Misconception(
        "no-logarithm",
        "there is no logarithm: these are sigmoids",
        "The loss is the logarithm of a probability. Look at what is done after the sigmoid.",
        (partial(_loss, log=torch.sigmoid),),
    ),
    Misconception(
        "softmax",
        "a softmax over the positive and the negatives stands where sigmoids belong",
        "Negative sampling asks a yes-or-no question for each word by itself, and that is its "
        "point.",
        (_softmax_loss,),
    ),
    Misconception(
        "negatives-with-positive",
        "the negatives are multiplied with the positive, not with the centre",
        "It is the centre that predicts, both the real word and the drawn ones.",
        (partial(_loss, products=_with_positive),),
    ),
    Misconception(
        "all-pairs-of-the-batch",
        "each centre meets the positives of the whole batch",
        "center @ positive.T is (B, B). Row b of the one belongs to row b of the other only.",
        (_all_pairs, _all_pairs_apart),
    ),
    Misconception(
        "sum-over-the-wrong-axis",
        "the sum of a product runs over the negatives, not over the features",
        "A product of two vectors sums over D, the last axis. Look at the axis of the sum.",
        (partial(_loss, products=_over_count),),
    ),
    Misconception(
        "sigmoid-of-each-feature",
        "the sigmoid comes before the sum over the features",
        "First the product of two vectors, one number, and then its sigmoid.",
        (_feature_by_feature,),
    ),
    Misconception(
        "products-added-up",
        "the products with the negatives are added up before the sigmoid",
        "Each drawn word has a sigmoid and a logarithm of its own; what is added up is these.",
        (_summed_first,),
    ),
    Misconception(
        "normalised",
        "the vectors are normalised: these are cosines",
        "The length of the vectors is part of the score; the formula has plain products.",
        (partial(_loss, products=_cosines),),
    ),
    Misconception(
        "scaled-products",
        "the products are divided by sqrt(D)",
        "That scale belongs to attention. The formula has plain products.",
        (partial(_loss, products=_divided),),
    ),
    Misconception(
        "number-returned",
        "the result is a Python number, not a tensor",
        "Training calls backward on it. Look for .item() or float().",
        (partial(_loss, over_batch=lambda loss: loss.mean().item()),),
        r"expected one tensor, received a float",
    ),
    with_wrong(DETACHED, detached(_loss), lambda c, p, n: _loss(c.detach(), p, n)),
    with_wrong(FLOAT32_ONLY, in_float32(_loss)),
    with_wrong(CHANGES_INPUT, _center_changed, _negatives_changed),
)


# --- nearest_neighbours ----------------------------------------------------------------------


def _cosine(weight: Tensor, token_id: int) -> Tensor:
    return F.cosine_similarity(weight, weight[token_id].unsqueeze(0), dim=-1)


def _product(weight: Tensor, token_id: int) -> Tensor:
    return weight @ weight[token_id]


def _closeness(weight: Tensor, token_id: int) -> Tensor:
    return -(weight - weight[token_id]).norm(dim=-1)


def _over_tokens(weight: Tensor, token_id: int) -> Tensor:
    unit = F.normalize(weight, dim=0)
    return unit @ unit[token_id]


def _others(ids: list[int], token_id: int, k: int) -> list[int]:
    return [each for each in ids if each != token_id][:k]


def _ranked(
    weight: Tensor,
    token_id: int,
    k: int,
    *,
    score: Callable[[Tensor, int], Tensor] = _cosine,
    take: Callable[[list[int], int, int], Any] = _others,
) -> Any:
    """Rank all ids by their score, right unless a step is replaced."""
    ids = score(weight, token_id).argsort(descending=True, stable=True).tolist()
    return take(ids, token_id, k)


def _first_dropped(ids: list[int], token_id: int, k: int) -> list[int]:
    return ids[1 : k + 1]


def _zeroed(weight: Tensor, token_id: int) -> Tensor:
    cosines = _cosine(weight, token_id).clone()
    cosines[token_id] = 0.0
    return cosines


def _row_deleted(weight: Tensor, token_id: int, k: int) -> list[int]:
    others = torch.cat([weight[:token_id], weight[token_id + 1 :]])
    cosines = F.cosine_similarity(others, weight[token_id].unsqueeze(0))
    return [int(each) for each in cosines.argsort(descending=True)[:k]]


def _best(weight: Tensor, token_id: int, k: int) -> tuple[list[float], list[int]]:
    ids = _ranked(weight, token_id, k)
    return [float(each) for each in _cosine(weight, token_id)[ids]], ids


def _weight_normalised(weight: Tensor, token_id: int, k: int) -> Any:
    weight /= weight.norm(dim=1, keepdim=True)
    return _ranked(weight, token_id, k)


def _row_cleared(weight: Tensor, token_id: int, k: int) -> Any:
    ids = _ranked(weight, token_id, k)
    weight[token_id] = 0.0
    return ids


NEIGHBOURS = (
    Misconception(
        "itself-included",
        "the token is its own nearest neighbour",
        "Its cosine with itself is 1, more than any other. Leave it out before k are taken.",
        (partial(_ranked, take=lambda ids, token_id, k: ids[:k]),),
    ),
    Misconception(
        "one-too-few",
        "there are k - 1 neighbours",
        "The token itself was among the k, and was left out after that. Take k of the others.",
        (
            partial(
                _ranked,
                take=lambda ids, token_id, k: [each for each in ids[:k] if each != token_id],
            ),
        ),
    ),
    Misconception(
        "plain-product",
        "the rows are compared by their product, not by the cosine",
        "Long rows, often those of frequent words, win every product. Divide by the lengths, at "
        "least by those of the candidates.",
        (
            partial(_ranked, score=_product),
            partial(_ranked, score=_product, take=_first_dropped),
        ),
    ),
    Misconception(
        "distance",
        "the rows are compared by their distance, not by the cosine",
        "Two rows that point the same way are alike, however long they are.",
        (partial(_ranked, score=_closeness),),
    ),
    Misconception(
        "farthest-first",
        "the farthest come first, or the ranking begins at the wrong end",
        "argsort and sorted begin with the smallest. Look for descending or reverse.",
        (
            partial(_ranked, score=lambda weight, token_id: -_cosine(weight, token_id)),
            partial(
                _ranked,
                score=lambda weight, token_id: -_cosine(weight, token_id),
                take=lambda ids, token_id, k: ids[1 : k + 1],
            ),
            partial(_ranked, take=lambda ids, token_id, k: ids[1 : k + 1][::-1]),
        ),
    ),
    Misconception(
        "sign-lost",
        "a cosine of -0.9 counts as much as one of 0.9",
        "Opposite directions are the farthest of all. Look for abs or a square.",
        (
            partial(_ranked, score=lambda weight, token_id: _cosine(weight, token_id).abs()),
            partial(
                _ranked,
                score=lambda weight, token_id: _cosine(weight, token_id).abs(),
                take=_first_dropped,
            ),
        ),
    ),
    Misconception(
        "itself-set-to-zero",
        "the token's own score is set to 0, which beats all negative cosines",
        "A cosine can be as low as -1. The token has to get a score below that.",
        (partial(_ranked, score=_zeroed, take=lambda ids, token_id, k: ids[:k]),),
    ),
    Misconception(
        "ids-shifted",
        "ids behind the token are one too small",
        "When the token's row is taken out, the rows behind it move up. Keep all rows, and leave "
        "the token out of the ranking.",
        (_row_deleted,),
    ),
    Misconception(
        "k-ignored",
        "there are more neighbours than k",
        "Cut the ranking after k entries.",
        (
            partial(
                _ranked,
                take=lambda ids, token_id, k: [each for each in ids if each != token_id],
            ),
            partial(
                _ranked,
                take=lambda ids, token_id, k: [each for each in ids if each != token_id][: k + 1],
            ),
        ),
    ),
    Misconception(
        "not-ranked",
        "the neighbours are the right ones, but not the nearest first",
        "Look for a set, sorted, or topk with sorted=False.",
        (
            lambda weight, token_id, k: sorted(_ranked(weight, token_id, k)),
            lambda weight, token_id, k: sorted(_ranked(weight, token_id, k), reverse=True),
        ),
    ),
    Misconception(
        "normalised-over-tokens",
        "the lengths are those of the columns, not of the rows",
        "A token is a row: its length is the norm over the features, the last axis.",
        (partial(_ranked, score=_over_tokens),),
    ),
    Misconception(
        "cosines-returned",
        "the result holds the cosines, not the ids",
        "topk gives values and indices. What is asked for is the second.",
        (
            lambda weight, token_id, k: _best(weight, token_id, k)[0],
            lambda weight, token_id, k: list(zip(*_best(weight, token_id, k), strict=True)),
            lambda weight, token_id, k: list(zip(*_best(weight, token_id, k)[::-1], strict=True)),
        ),
    ),
    Misconception(
        "tensor-returned",
        "the result is a tensor, or a list of tensors, not a list of int",
        "The ids are used as names, so Python's own integers are wanted. Look for tolist.",
        (
            lambda weight, token_id, k: torch.tensor(_ranked(weight, token_id, k)),
            lambda weight, token_id, k: list(torch.tensor(_ranked(weight, token_id, k))),
        ),
        r"is a(n)? (tensor|ndarray|Tensor)",
    ),
    with_wrong(CHANGES_INPUT, _weight_normalised, _row_cleared),
)


# --- tied_logits -----------------------------------------------------------------------------


def _tied(hidden: Tensor, weight: Tensor) -> Tensor:
    return hidden @ weight.transpose(0, 1)


def _unit(x: Tensor) -> Tensor:
    return F.normalize(x, dim=-1)


def _hidden_changed(hidden: Tensor, weight: Tensor) -> Tensor:
    logits = _tied(hidden, weight)
    hidden.zero_()
    return logits


def _weight_transposed(hidden: Tensor, weight: Tensor) -> Tensor:
    return hidden @ weight.t_()


TIED = (
    Misconception(
        "scaled-up",
        "the logits carry the sqrt(D) of the input side",
        "The factor makes rows and positions comparable at the input, and has no business at the "
        "output: it makes an untrained model sure of itself.",
        (lambda hidden, weight: _tied(hidden, weight) * math.sqrt(weight.shape[1]),),
    ),
    Misconception(
        "scaled-down",
        "the logits are divided by a size",
        "That scale belongs to attention. Here the products are the logits as they are.",
        (
            lambda hidden, weight: _tied(hidden, weight) / math.sqrt(weight.shape[1]),
            lambda hidden, weight: _tied(hidden, weight) / weight.shape[1],
            lambda hidden, weight: _tied(hidden, weight) / math.sqrt(weight.shape[0]),
        ),
    ),
    Misconception(
        "not-transposed",
        "the matrix is not transposed",
        "Each hidden vector meets each row of the weight, and the last axis of both is D.",
        (
            lambda hidden, weight: hidden @ weight,
            lambda hidden, weight: torch.einsum("btd,dv->btv", hidden, weight),
        ),
        NO_PRODUCT,
    ),
    Misconception(
        "reshaped-not-transposed",
        "the weight is reshaped where it should be transposed",
        "view and reshape keep the order in memory, and so mix the rows of different tokens.",
        (lambda hidden, weight: hidden @ weight.reshape(weight.shape[1], weight.shape[0]),),
    ),
    Misconception(
        "softmax-included",
        "the result has already gone through a softmax",
        "Logits are the scores before it: the loss takes the softmax itself.",
        (
            lambda hidden, weight: _tied(hidden, weight).softmax(-1),
            lambda hidden, weight: _tied(hidden, weight).log_softmax(-1),
        ),
    ),
    Misconception(
        "cosines",
        "vectors are normalised: these are not plain products",
        "The length of a row says how likely a token is before anything is known. Leave it in.",
        (
            lambda hidden, weight: _tied(_unit(hidden), _unit(weight)),
            lambda hidden, weight: _tied(hidden, _unit(weight)),
            lambda hidden, weight: _tied(_unit(hidden), weight),
        ),
    ),
    Misconception(
        "tokens-returned",
        "the result is the best token, not the scores of all",
        "The loss needs the score of each token. Choosing comes later, when the model writes.",
        (
            lambda hidden, weight: _tied(hidden, weight).argmax(-1),
            lambda hidden, weight: _tied(hidden, weight).amax(-1),
        ),
    ),
    Misconception(
        "last-token-only",
        "only the last token of each sequence has logits",
        "In training every token predicts its next one, so all T are wanted.",
        (
            lambda hidden, weight: _tied(hidden[:, -1], weight),
            lambda hidden, weight: _tied(hidden[:, -1:], weight),
        ),
    ),
    Misconception(
        "batch-and-tokens-joined",
        "batch and tokens have become one axis",
        "The stub asks for (B, T, V), with the batch kept apart.",
        (lambda hidden, weight: _tied(hidden, weight).flatten(0, 1),),
    ),
    Misconception(
        "vocabulary-before-tokens",
        "the result is (B, V, T)",
        "The scores of one token stand side by side, on the last axis. Look at which factor comes "
        "first.",
        (
            lambda hidden, weight: _tied(hidden, weight).transpose(1, 2),
            lambda hidden, weight: _tied(hidden, weight).permute(2, 0, 1),
            lambda hidden, weight: _tied(hidden, weight).permute(2, 1, 0),
        ),
    ),
    with_wrong(
        DETACHED,
        detached(_tied),
        lambda hidden, weight: _tied(hidden, weight.detach()),
        lambda hidden, weight: _tied(hidden.detach(), weight),
    ),
    with_wrong(FLOAT32_ONLY, in_float32(_tied)),
    with_wrong(CHANGES_INPUT, _hidden_changed, _weight_transposed),
)


# --- embedding_from_pretrained ---------------------------------------------------------------


def _embedding(
    vectors: Tensor,
    trainable: bool,
    pad_id: int | None,
    *,
    rows: Callable[[Tensor, int | None], Tensor] = lambda vectors, pad_id: vectors.clone(),
    train: Callable[[bool], bool] = bool,
    pad: Callable[[int | None], int | None] = lambda pad_id: pad_id,
) -> nn.Embedding:
    """Make an embedding of vectors, right unless a step is replaced."""
    weight = rows(vectors, pad_id)
    return nn.Embedding.from_pretrained(
        weight, freeze=not train(trainable), padding_idx=pad(pad_id)
    )


def _pad_row_zero(vectors: Tensor, pad_id: int | None) -> Tensor:
    rows = vectors.clone()
    if pad_id is not None:
        rows[pad_id] = 0.0
    return rows


def _pad_rows_zero(vectors: Tensor, pad_id: int | None) -> Tensor:
    """Write zeros without asking for None, which as an index means all rows."""
    rows = vectors.clone()
    rows[pad_id] = 0.0
    return rows


def _pad_row_zero_if_true(vectors: Tensor, pad_id: int | None) -> Tensor:
    return _pad_row_zero(vectors, pad_id or None)


def _pad_row_counts(pad_id: int | None) -> int | None:
    return None


def _vectors_changed(vectors: Tensor, trainable: bool, pad_id: int | None) -> nn.Embedding:
    embedding = _embedding(vectors, trainable, pad_id)
    vectors.zero_()
    return embedding


def _pad_row_changed(vectors: Tensor, trainable: bool, pad_id: int | None) -> nn.Embedding:
    embedding = _embedding(vectors, trainable, pad_id)
    if pad_id is not None:
        vectors[pad_id] = 0.0
    return embedding


class _Scaled(nn.Embedding):
    """Looks up rows times sqrt(D)."""

    def forward(self, ids: Tensor) -> Tensor:
        return super().forward(ids) * math.sqrt(self.embedding_dim)


def _scaled_look_up(vectors: Tensor, trainable: bool, pad_id: int | None) -> nn.Embedding:
    return _Scaled.from_pretrained(vectors.clone(), freeze=not trainable, padding_idx=pad_id)


def _transposed(vectors: Tensor, pad_id: int | None) -> Tensor:
    return vectors.T.clone()


def _drawn_rows(vectors: Tensor, trainable: bool, pad_id: int | None) -> nn.Embedding:
    embedding = nn.Embedding(vectors.shape[0], vectors.shape[1], padding_idx=pad_id)
    return embedding.requires_grad_(trainable)


def _first(vectors: Tensor, trainable: bool, pad_id: int | None) -> Any:
    return _embedding(vectors, trainable, pad_id).weight


def _sizes_exchanged(vectors: Tensor, trainable: bool, pad_id: int | None) -> nn.Embedding:
    embedding = nn.Embedding(vectors.shape[1], vectors.shape[0])
    embedding.weight.data.copy_(vectors)
    return embedding.requires_grad_(trainable)


PRETRAINED = (
    Misconception(
        "always-frozen",
        "the rows are frozen, even where they should be trained",
        "from_pretrained freezes by default, and nothing complains: the rows never change. Look "
        "at what becomes of `trainable`.",
        (partial(_embedding, train=lambda trainable: False),),
    ),
    Misconception(
        "never-frozen",
        "the rows are trained, even where they should stay",
        "A fresh nn.Embedding is trained. Look at what becomes of `trainable`.",
        (partial(_embedding, train=lambda trainable: True),),
    ),
    Misconception(
        "freeze-inverted",
        "trainable and frozen are the wrong way round",
        "freeze=True means that nothing is trained. Look for a missing `not`.",
        (partial(_embedding, train=lambda trainable: not trainable),),
    ),
    Misconception(
        "pad-row-trained",
        "the row of pad_id is trained like the others",
        "The look-up gives it no gradient only if nn.Embedding knows which row it is. Look at "
        "padding_idx.",
        (partial(_embedding, pad=_pad_row_counts),),
    ),
    Misconception(
        "pad-row-zeroed",
        "the row of pad_id is set to zero",
        "It should stay as it came. Look for zeros that are written, or an initialisation that "
        "runs after the vectors are in.",
        (
            partial(_embedding, rows=_pad_row_zero),
            partial(_embedding, rows=_pad_row_zero, pad=_pad_row_counts),
            partial(_embedding, rows=_pad_rows_zero),
        ),
    ),
    Misconception(
        "pad-id-0-ignored",
        "a pad_id of 0 is taken for none",
        "0 counts as false. Ask `pad_id is not None`, or hand it on as it is.",
        (
            partial(_embedding, pad=lambda pad_id: pad_id or None),
            partial(
                _embedding,
                pad=lambda pad_id: pad_id or None,
                rows=_pad_row_zero_if_true,
            ),
        ),
    ),
    Misconception(
        "pad-id-always-0",
        "row 0 is always taken for padding",
        "Which row it is, and whether there is one, is what pad_id says.",
        (
            partial(_embedding, pad=lambda pad_id: 0),
            partial(_embedding, pad=lambda pad_id: pad_id or 0),
        ),
    ),
    Misconception(
        "new-vectors",
        "the vectors are not in it",
        "nn.Embedding(V, D) draws rows of its own. Look at how the vectors get in.",
        (
            partial(_embedding, rows=lambda vectors, pad_id: torch.zeros_like(vectors)),
            partial(_embedding, rows=lambda vectors, pad_id: torch.ones_like(vectors)),
            _drawn_rows,
        ),
    ),
    Misconception(
        "transposed",
        "rows and columns have changed places",
        "The vectors are (V, D), as nn.Embedding has them. Look at a transpose or at the order of "
        "the two sizes.",
        (partial(_embedding, rows=_transposed, pad=_pad_row_counts), _sizes_exchanged),
        r"must match the size|[Pp]adding_idx must|size mismatch",
    ),
    Misconception(
        "scaled",
        "the rows are multiplied by sqrt(D)",
        "Here they should come out as they went in; the scale belongs to the model.",
        (
            partial(
                _embedding,
                rows=lambda vectors, pad_id: vectors * math.sqrt(vectors.shape[1]),
            ),
            _scaled_look_up,
        ),
    ),
    Misconception(
        "normalised",
        "the rows are brought to length 1",
        "Here they should come out as they went in, with their lengths.",
        (partial(_embedding, rows=lambda vectors, pad_id: _unit(vectors)),),
    ),
    Misconception(
        "not-an-embedding",
        "the result is no nn.Embedding",
        "What is asked for is the module, not its weight and not what it looks up.",
        (
            _first,
            lambda vectors, trainable, pad_id: vectors.clone(),
            lambda vectors, trainable, pad_id: (_embedding(vectors, trainable, pad_id),),
        ),
        r"expected an nn\.Embedding",
    ),
    with_wrong(
        FLOAT32_ONLY,
        partial(_embedding, rows=lambda vectors, pad_id: vectors.float()),
    ),
    with_wrong(CHANGES_INPUT, _vectors_changed, _pad_row_changed),
)


# --- find the bug ----------------------------------------------------------------------------


def _norm(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:])


def _model(
    ids: Tensor,
    weight: Tensor,
    positions: Tensor,
    *,
    scale: Callable[[Tensor, Tensor], float] = lambda ids, weight: _root(weight),
    add: Step = torch.add,
    norm: Step = _norm,
    score: Step = _tied,
    finish: Step = lambda logits, weight: logits,
) -> Any:
    """Compute the model, right unless a step is replaced."""
    x = add(weight[ids] * scale(ids, weight), positions)
    return finish(score(norm(x), weight), weight)


def _times_root(logits: Tensor, weight: Tensor) -> Tensor:
    return logits * _root(weight)


def _by_root(logits: Tensor, weight: Tensor) -> Tensor:
    return logits / _root(weight)


def _no_scale(ids: Tensor, weight: Tensor) -> float:
    return 1.0


def _positions_changed(ids: Tensor, weight: Tensor, positions: Tensor) -> Tensor:
    logits = _model(ids, weight, positions)
    positions.zero_()
    return logits


BUG = (
    Misconception(
        "still-scaled",
        "the bug is still in it",  # to name it would give the task away
        "Follow the example with pencil and paper to the last line, and ask what each factor is "
        "there for.",
        (partial(_model, finish=_times_root),),
    ),
    Misconception(
        "scale-lost-at-the-input",
        "the rows are too small beside the positions",
        "The formula has sqrt(D) in one of its two places, and it stands before the positions are "
        "added.",
        (
            partial(_model, scale=_no_scale),
            partial(
                _model,
                scale=_no_scale,
                add=lambda x, positions: (x + positions) * math.sqrt(x.shape[-1]),
            ),
        ),
    ),
    Misconception(
        "scale-moved-to-the-output",
        "the scale has gone from the end where it belongs to the other",
        "Compare with the formula: which of the two uses of E has the factor?",
        (partial(_model, scale=_no_scale, finish=_times_root),),
    ),
    Misconception(
        "output-divided",
        "the logits are divided by sqrt(D)",
        "The factor at the output is to go, not to be turned round: the logits are plain products.",
        (
            partial(_model, finish=_by_root),
            partial(_model, scale=_no_scale, finish=_by_root),
        ),
    ),
    Misconception(
        "scaled-by-d",
        "the factor at the input is D, not its root",
        "The root was not the bug. Look at the formula's factor.",
        (partial(_model, scale=lambda ids, weight: weight.shape[1]),),
    ),
    Misconception(
        "scaled-by-another-size",
        "the factor at the input comes from another size than D",
        "D is the number of features of a row, and was right. Look at the other use of the matrix.",
        (
            partial(_model, scale=lambda ids, weight: math.sqrt(weight.shape[0])),
            partial(_model, scale=lambda ids, weight: math.sqrt(ids.shape[1])),
            partial(_model, scale=lambda ids, weight: math.sqrt(ids.shape[0])),
        ),
    ),
    Misconception(
        "positions-left-out",
        "the positions are left out",
        "They were right: without them the model does not see the order. Look at the matrix.",
        (partial(_model, add=lambda x, positions: x),),
    ),
    Misconception(
        "positions-scaled",
        "the positions are scaled in the place of the rows, or the rows are divided",
        "The positions have the right size already. It is the rows that are small, and have to "
        "grow.",
        (
            partial(
                _model,
                scale=_no_scale,
                add=lambda x, positions: x + positions * math.sqrt(x.shape[-1]),
            ),
            partial(_model, scale=lambda ids, weight: 1 / _root(weight)),
        ),
    ),
    Misconception(
        "norm-left-out",
        "the norm is left out",
        "It was right. What is wrong is a factor.",
        (partial(_model, norm=lambda x: x),),
    ),
    Misconception(
        "norm-over-everything",
        "the norm runs over more than the features of one token",
        "Each token is normed by itself, over its D features. That line was right.",
        (
            partial(_model, norm=lambda x: F.layer_norm(x, x.shape[-2:])),
            partial(_model, norm=lambda x: F.layer_norm(x, x.shape)),
        ),
    ),
    Misconception(
        "softmax-included",
        "the result has already gone through a softmax",
        "Logits are the scores before it: the loss takes the softmax itself.",
        (
            partial(_model, finish=lambda logits, weight: logits.softmax(-1)),
            partial(_model, finish=lambda logits, weight: logits.log_softmax(-1)),
        ),
    ),
    Misconception(
        "cosines",
        "the rows are normalised at the output",
        "What is wrong is one factor, the same for all rows; their lengths have to stay.",
        (
            partial(_model, score=lambda hidden, weight: _tied(hidden, _unit(weight))),
            partial(_model, score=lambda hidden, weight: _tied(_unit(hidden), _unit(weight))),
        ),
    ),
    Misconception(
        "tied-at-one-end",
        "the matrix learns from one of its two uses only",
        "Tying means that the gradients of both ends arrive in the one matrix. Look for detach.",
        (
            partial(_model, score=lambda hidden, weight: _tied(hidden, weight.detach())),
            lambda ids, weight, positions: _tied(
                _norm(_looked_up(ids, weight.detach()) + positions), weight
            ),
        ),
    ),
    with_wrong(DETACHED, detached(_model)),
    with_wrong(FLOAT32_ONLY, in_float32(_model)),
    with_wrong(CHANGES_INPUT, _positions_changed),
)
