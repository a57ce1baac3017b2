"""Relations between wrong results and the right ones: where they hold, and where they must not."""

from __future__ import annotations

import ast
import math
from pathlib import Path
from string import Formatter
from types import SimpleNamespace

import numpy as np
import pytest

from transformer_checks import grade
from transformer_checks.judging import relations as relations_of_checks
from transformer_checks.judging.exam import make_exam
from transformer_checks.judging.facts import TOLD, Fault, Relation, Term
from transformer_checks.judging.relations import errors, lists, numbers, shapes, values
from transformer_checks.judging.relations.arguments import other_questions
from transformer_checks.judging.relations.evidence import in_common, make_pair, sizes_of
from transformer_checks.judging.relations.finding import STRONG, WEAK, find_relation
from transformer_checks.judging.relations.which_cases import find_trait
from transformer_checks.judging.words import FAULTS, TERMS, in_words
from transformer_checks.task import Case, Outcome
from transformer_checks.translation import LANGUAGE_VARIABLE

RNG = np.random.default_rng(0)
FLOATS = RNG.standard_normal((3, 4, 5))
SQUARE = RNG.standard_normal((4, 4))
IDS = RNG.permutation(60)[:24].reshape(4, 6).astype(np.float64)
WRONG = Fault("values", "x")
MASK = RNG.random((5, 5)) < 0.5
SHARES = np.exp(FLOATS) / np.exp(FLOATS).sum(-1, keepdims=True)


def pair(received, expected, arguments=None, sizes=None):
    case = Case("a case", arguments or {})
    if isinstance(expected, np.ndarray):
        received = np.asarray(received)
        if expected.dtype.kind == "f" and (expected == np.round(expected)).all():
            expected = expected.astype(np.int64)
    return make_pair(0, case, "`x`", received, expected, (2e-5, 2e-5), sizes or {})


def keys(looks, *pairs):
    with np.errstate(all="ignore"):
        return [relation.kind for relation in in_common(looks, pairs)]


def relations(looks, *pairs):
    with np.errstate(all="ignore"):
        return in_common(looks, pairs)


def of_x(key, **parameters):
    return Relation(key, name="`x`", **parameters)


@pytest.mark.parametrize(
    ("received", "expected", "key"),
    [
        (2 * FLOATS, FLOATS, "factor"),
        (-FLOATS, FLOATS, "negative"),
        (FLOATS + 1, FLOATS, "offset"),
        (np.exp(FLOATS), FLOATS, "function"),
        (np.log(SHARES), SHARES, "function-missing"),
        (FLOATS, SHARES, "function-missing"),
        (np.cumsum(FLOATS, axis=1), FLOATS, "function"),
        (np.diff(FLOATS, axis=1, prepend=0), FLOATS, "function-missing"),
        (SQUARE.T, SQUARE, "transposed"),
        (FLOATS[:, ::-1], FLOATS, "reversed"),
        (np.roll(FLOATS, 1, axis=2), FLOATS, "shifted"),
        (np.concatenate([FLOATS[:, 1:], 0 * FLOATS[:, :1]], axis=1), FLOATS, "shifted"),
        (np.sort(FLOATS, axis=2), FLOATS, "sorted"),
        (FLOATS[:, [2, 0, 3, 1]], FLOATS, "order"),
        (FLOATS.transpose(2, 0, 1).reshape(3, 4, 5), FLOATS, "reshaped"),
        (np.zeros_like(FLOATS), FLOATS, "constant"),
        (np.repeat(FLOATS[:, :1], 4, axis=1), FLOATS, "independent"),
        (~MASK, MASK, "inverted"),
        (np.ones_like(MASK), MASK, "constant"),
        (IDS[:, ::-1], IDS, "reversed"),
        (IDS + 1, IDS, "offset"),
    ],
)
def test_what_arrays_have_to_do_with_each_other(received, expected, key):
    assert keys(values.STRONG, pair(received, expected))[0] == key


@pytest.mark.parametrize(
    ("received", "expected", "key"),
    [
        (FLOATS * np.arange(1, 13).reshape(3, 4, 1), FLOATS, "factor-of-row"),
        (FLOATS + np.arange(1, 13).reshape(3, 4, 1), FLOATS, "offset-of-row"),
        (np.where(np.arange(5) == 0, 9.0, FLOATS), FLOATS, "only-first"),
        (np.where(np.arange(5) == 4, 9.0 + FLOATS, FLOATS), FLOATS, "only-last"),
        (SQUARE + 1000 * np.eye(4) * SQUARE, SQUARE, "diagonal"),
        (np.where(np.arange(4) < 2, SQUARE, 0.0), SQUARE, "only-half"),
        (np.where(np.arange(4) % 2, SQUARE, -SQUARE), SQUARE, "only-every-other"),
        (np.where(FLOATS < 0, np.nan, FLOATS), FLOATS, "not-finite"),
        (np.where(FLOATS < 0, -1e9, FLOATS), np.where(FLOATS < 0, -np.inf, FLOATS), "not-infinite"),
        (RNG.permutation(FLOATS.ravel()).reshape(3, 4, 5), FLOATS, "order"),
        (1.001 * FLOATS + 0.001 * FLOATS**2, FLOATS, "nearly"),
        (MASK | np.eye(5, dtype=bool) | ~MASK, MASK, "too-much"),
    ],
)
def test_where_arrays_differ(received, expected, key):
    assert key in keys(values.WEAK, pair(received, expected))


@pytest.mark.parametrize(
    "received",
    [
        FLOATS * np.linspace(1, 1.5, 5),  # another factor in each place
        np.where(FLOATS[1, 2, 3] == FLOATS, 7.0, 2 * FLOATS),  # one place is off
        RNG.standard_normal((3, 4, 5)),
        np.where(RNG.random((3, 4, 5)) < 0.5, FLOATS[:, ::-1], FLOATS),
        FLOATS + RNG.standard_normal((3, 4, 5)),
        np.full((3, 4, 5), np.nan),
        np.full((3, 4, 5), 1e300),
    ],
)
def test_near_misses_are_no_relation(received):
    found = keys(values.STRONG, pair(received, FLOATS))
    assert set(found) <= {"constant"}
    assert bool(found) == bool((received == received.flat[0]).all())


def test_a_relation_must_hold_in_every_failing_case():
    other = RNG.standard_normal((3, 4, 5))
    assert keys(values.STRONG, pair(2 * FLOATS, FLOATS), pair(other, FLOATS)) == []
    assert keys(values.STRONG, pair(2 * FLOATS, FLOATS), pair(2 * other, other))[0] == "factor"


def test_few_numbers_are_a_coincidence():
    """Two truth values are inverted, reversed and shifted, all at once."""
    few = np.array([True, False])
    assert keys(values.STRONG, pair(~few, few)) == []
    small = np.array([1.0, 2.0])
    assert keys(values.STRONG, pair(small[::-1].copy(), small)) == []


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_numbers_that_agree_only_within_a_wide_tolerance_are_not_the_right_ones(dtype):
    right = np.random.default_rng(0).standard_normal((20, 30)).astype(dtype)
    wrong = right + (0.04 * np.random.default_rng(1).standard_normal((20, 30))).astype(dtype)
    case = Case("a case", {"x": right})
    for received, found in ((wrong, False), (RNG.permutation(right.ravel()).reshape(20, 30), True)):
        one = make_pair(0, case, "`x`", received, right, (0.01, 0.01))
        assert ("order" in keys(values.WEAK, one)) == found


def test_an_axis_of_size_one_is_not_reversed_nor_shifted():
    one = RNG.standard_normal((3, 1))
    assert keys(values.STRONG, pair(RNG.standard_normal((3, 1)), one)) == []


def test_a_factor_gets_the_name_that_it_has_in_all_cases():
    def case(size, other):
        return pair(FLOATS / math.sqrt(size), FLOATS, sizes={"K": size, "T": other})

    found = relations(values.STRONG, case(4, 4), case(9, 16), case(25, 8))
    root = Term("divided", by=("sqrt(", "K", ")"))
    assert found == [of_x("factor", factor=root), of_x("factor.changing")]
    nameless = relations(values.STRONG, case(4, 4), pair(0.1234 * FLOATS, FLOATS))
    assert nameless == [of_x("factor.changing")]


def test_an_input_that_comes_back_is_recognised():
    both = pair(FLOATS, 3 * FLOATS**2, arguments={"query": FLOATS})
    assert relations(values.STRONG, both)[0] == of_x("input", argument="query")


def test_places_that_a_mask_hides_are_told_apart():
    seen = RNG.random((4, 5)) < 0.5
    expected = np.where(seen, RNG.standard_normal((4, 5)), 0.0)
    received = np.where(seen, expected, 0.7 + RNG.random((4, 5)))
    found = relations(values.WEAK, pair(received, expected, arguments={"mask": seen}))
    assert found[0] == of_x("only-where", where=Term("is-false", name="mask"))


@pytest.mark.parametrize(
    ("received", "key", "terms"),
    [
        (FLOATS.transpose(1, 0, 2), "axes-swapped.alone", set()),
        (FLOATS[:, :3], "length.end", {"last", "one-is", "is-missing"}),
        (
            np.concatenate([FLOATS[:, :1], FLOATS], axis=1),
            "length.end",
            {"first", "one-is", "is-extra"},
        ),
        (FLOATS.sum(1), "axis-missing.reduced", {"the-sum"}),
        (FLOATS.mean(2), "axis-missing.reduced", {"the-mean"}),
        (FLOATS.reshape(12, 5), "axes-merged", {"numbers-right"}),
        (FLOATS[None], "axis-too-many.size-1", {"numbers-right"}),
        (FLOATS[:, :1], "length.one-entry", set()),
        (RNG.standard_normal((3, 7, 5)), "length.alone", {"long"}),
        (RNG.standard_normal((6, 7, 9)), "lengths", set()),
    ],
)
def test_shapes(received, key, terms):
    again = pair(received, FLOATS)
    found = in_common((*shapes.STRONG, *shapes.WEAK), (again, again))
    assert found[0].key == key
    values = dict(found[0].parameters).values()
    assert {each.key for each in values if isinstance(each, Term)} - {"axis"} == terms


@pytest.mark.parametrize(
    ("received", "expected", "key"),
    [
        ([1, 2, 3, 4], [1, 2, 3], "one-too-many"),
        ([1, 2], [1, 2, 3], "one-missing"),
        ([2, 3], [1, 2, 3], "one-missing"),
        ([1, 2], [1, 2, 3, 4], "stops-early"),
        ([1, 2, 3, 9, 9], [1, 2, 3], "goes-on"),
        ([3, 2, 1, 5], [5, 1, 2, 3], "reversed"),
        ([1, 2, 3], [1, 2, 2, 3], "once-each"),
        ([1, 3, 2], [2, 1, 2, 3], "once-each"),
        (["a", "b", "c"], ["ab", "c"], "characters"),
        ([2, 1, 3, 0], [1, 2, 0, 3], "order"),
        ([1, 2, 2, 3], [1, 2, 3], "repeated"),
        ([2, 3, 4], [1, 2, 3], "offset"),
        ([(2, 1), (4, 3)], [(1, 2), (3, 4)], "entries-reversed"),
        (["the", "cat"], ["The", "cat"], "case"),
        (["a", "", "b"], ["a", "b"], "empty-entries"),
        ([], [1, 2], "empty"),
    ],
)
def test_lists(received, expected, key):
    again = [pair(received, expected)] * 4
    assert keys(lists.STRONG, *again)[0] == key


@pytest.mark.parametrize(
    ("received", "expected", "found"),
    [
        (["ab", "c"], ["a", "bc"], of_x("cut")),
        ([1, 2], [1, 3, 2], of_x("missing", few=Term("one-entry"))),
        ([9, 2, 3], [1, 2, 3], of_x("only-first.entry")),
        (
            [([1], 5), ([1, 2, 3], 6)],
            [([1], 5), ([1, 3], 6)],
            Relation(
                "too-many",
                name=Term("part-of-entry", part=Term("first"), of="`x`"),
                few=Term("one-entry"),
            ),
        ),
        ([(1, 5), (3, 7)], [(1, 2), (3, 4)], of_x("part-of-entries", part=Term("second"))),
    ],
)
def test_what_shows_in_lists_where_nothing_else_does(received, expected, found):
    assert relations(lists.WEAK, *[pair(received, expected)] * 4)[0] == found


@pytest.mark.parametrize(
    ("received", "expected"),
    [([1, 9, 3], [1, 2, 3]), (["x"], ["y"]), ([5, 6, 7, 8], [1, 2, 3])],
)
def test_lists_that_have_nothing_to_do_with_each_other(received, expected):
    assert keys(lists.STRONG, *[pair(received, expected)] * 4) == []


@pytest.mark.parametrize(
    ("received", "expected", "key"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, "missing"),
        ({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 2}, "too-many"),
        ({"a": 2, "b": 3}, {"a": 1, "b": 2}, "offset"),
        ({"c": 1, "b": 2}, {"a": 1, "b": 2}, "keys"),
    ],
)
def test_dictionaries(received, expected, key):
    assert keys(lists.WEAK, *[pair(received, expected)] * 4)[0] == key


def _numbers(mine, right, sizes):
    return [
        pair(mine(**each), right(**each), sizes={f"`{name}`": size for name, size in each.items()})
        for each in sizes
    ]


SIZES = [{"d": d, "n": n} for d, n in ((2, 3), (4, 1), (5, 7), (8, 2), (3, 6))]


def test_a_number_that_is_off_by_a_product_of_arguments():
    pairs = _numbers(lambda d, n: 100 + d - 2 * d * n, lambda d, n: 100 + d, SIZES)
    factors = ("2", "`d`", "`n`")
    assert numbers.laws(pairs) == of_x("law.difference", way=Term("small"), factors=factors)


def test_a_number_that_is_off_by_powers_of_arguments():
    pairs = _numbers(lambda d, n: d**0.5 * n**-1.0, lambda d, n: d**-0.5 * n**0.5, SIZES)
    factors = ("`d`", ("`n`", "^-1.5"))
    assert numbers.laws(pairs) == of_x("law.quotient", factors=factors)
    assert "times `d` * `n`^-1.5 in" in in_words(numbers.laws(pairs))


def test_numbers_without_a_law():
    assert numbers.laws(_numbers(lambda d, n: d**2 + 3 * n + 1, lambda d, n: d + n, SIZES)) is None
    few = SIZES[:3]
    assert numbers.laws(_numbers(lambda d, n: d * n + 1.0, lambda d, n: 1.0, few)) is None


def test_a_single_number_has_the_relations_of_an_array():
    pairs = [pair(2.0 * number, number) for number in (1.5, 0.3, 7.1)]
    assert relations(values.STRONG, *pairs) == [of_x("factor", factor=Term("times", by="2"))]
    pairs = [pair(number + 1, number) for number in (3, 60_000_000, 5, 9)]
    assert relations(values.STRONG, *pairs)[0] == of_x("offset", offset=Term("too-large-by", by=1))
    assert pair(2**5000, 1) is None


def test_an_argument_that_is_changed_is_told():
    exam = make_exam("embeddings.skipgram_pairs", 0)
    sent = [(0, 7), (1, 1), (5, 2)]
    outcomes = [Outcome(values={"pairs": sent}, changed=["ids"]) for _ in exam.cases]
    found = find_relation(exam, outcomes, [WRONG] * len(outcomes))
    assert found == Relation("changed", names=("`ids`",))
    outcomes[-1].changed = []
    assert find_relation(exam, outcomes, [WRONG] * len(outcomes)) is None


def test_errors_are_put_in_terms_of_the_sizes():
    text = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x{} and {}x5) (in `x @ w`)"
    cases = [(text.format(d, n), {"D": d, "N": n, "T": 5}) for d, n in ((5, 3), (2, 7))]
    found = errors.explain(cases)
    first, second = (Term("of-size", name=letter) for letter in "DN")
    assert found == Relation("error.matrix-product", size1=first, size2=second)
    assert errors.explain([("RuntimeError: something new", {})]) is None
    assert errors.explain([cases[0], ("IndexError: list index out of range", {})]) is None


def _exam(*arguments):
    cases = [Case(f"[{n}]", each) for n, each in enumerate(arguments)]
    return SimpleNamespace(cases=cases, task=SimpleNamespace(shapes={"x": ("B", "T")}))


def test_the_cases_that_fail_are_told_by_what_they_have():
    mask = np.array([True, False])
    given = [{"x": np.zeros((2, 3)), "mask": mask if n % 2 else None} for n in range(8)]
    failing = [WRONG if n % 2 else None for n in range(8)]
    given_mask = Term("is-given", name="`mask`")
    assert find_trait(_exam(*given), failing) == Relation("only-cases", where=given_mask)
    assert find_trait(_exam(*given), [WRONG, *failing[1:]]) is None
    assert find_trait(_exam(*given), [WRONG] * 8) is None


def test_batches_of_one_are_told_apart():
    given = [{"x": np.zeros((1 + n % 2, 2 + n))} for n in range(8)]
    failing = [WRONG if n % 2 else None for n in range(8)]
    above = Term("above-1", name="B")
    assert find_trait(_exam(*given), failing) == Relation("only-cases", where=above)


def test_sizes_have_the_names_of_axes_and_arguments():
    shapes = {"query": ("...", "T", "K"), "key": ("...", "S", "K"), "ids": ("B", "T+1")}
    case = Case("", {"query": np.zeros((7, 2, 3)), "ids": np.zeros((7, 3), int), "eps": 0.1})
    assert sizes_of(case, shapes) == {"T": 2, "K": 3, "B": 7, "`eps`": 0.1}


def test_one_sequence_of_the_batch_is_another_question():
    case = Case("", {"x": np.arange(6.0).reshape(2, 3), "size": 3})
    asked = dict(other_questions(case, {"x": ("B", "T")}))
    last = Term("one-of-batch", end=Term("last"))
    alone = asked[last].arguments["x"]
    assert alone.tolist() == [[3.0, 4.0, 5.0]]
    assert last not in dict(other_questions(case, {}))


def test_other_questions_differ_from_the_question():
    case = Case("", {"step": 40, "d_model": 64, "warmup": 7})
    changes = [change for change, _ in other_questions(case, {})]
    assert len(changes) == len(set(changes))
    assert Term("exchanged", one="`step`", other="`warmup`") in changes


def test_every_term_has_words_for_all_that_it_needs():
    """A key without words would be an error where a message is written."""
    calls = [
        (call.func, call)
        for path in Path(relations_of_checks.__file__).parent.glob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and call.args and all(k.arg for k in call.keywords)
    ]
    found = 0
    for function, call in calls:
        name = getattr(function, "id", getattr(function, "attr", ""))
        key = getattr(call.args[0], "value", None)
        if name in ("Relation", "Term", "relation") and isinstance(key, str):
            given = {k.arg for k in call.keywords} | ({"name"} if name == "relation" else set())
            needed = {field for _, field, _, _ in Formatter().parse(TERMS[key]) if field}
            assert needed <= given, (key, needed, given)
            found += 1
    assert found > 100
    tables = [key for _, key in (*errors.ERRORS, *errors.FORMS)]
    functions = [f"of.{key}" for key in (*values.FUNCTIONS, *values.ALONG)]
    assert TERMS.keys() >= {*tables, *functions}
    assert FAULTS.keys() >= TOLD


HOSTILE = [
    np.array([], dtype=np.float64),
    np.array(np.nan),
    np.full((2, 3), np.inf),
    np.zeros((1,) * 12),
    np.array([[1, 2]], dtype=np.uint8),
    np.full(4, 1e308),
    None,
    "text",
    [],
    {},
    float("nan"),
    2**5000,
    [[[]]],
    {"a": np.zeros(3)},
    (1, "a", None),
]


@pytest.mark.parametrize("key", ["attention.attention_scores", "tokenizers.build_vocab"])
@pytest.mark.parametrize("value", HOSTILE, ids=map(str, range(len(HOSTILE))))
def test_hostile_values_are_no_error(key, value):
    exam = make_exam(key, 0)
    name = exam.task.returns[0]
    sent = Outcome(values={name: value}, dtypes={name: "float32"}, devices={name: "cpu"})
    outcomes = [sent] * len(exam.cases)
    found = find_relation(exam, outcomes, [WRONG] * len(outcomes))
    assert found is None or in_words(found)
    in_common((*STRONG, *WEAK), [pair(value, [1, 2])] * 8)


# --- real tasks ------------------------------------------------------------------------------


def transposed_sum(query, key):
    return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]) + 1


def count_with_something_more(d_model, d_ff, num_layers, vocab_size, src_len, tgt_len):
    linear = (src_len + tgt_len) * (6 * d_model * d_model + 2 * d_model * d_ff)
    pairs = src_len**2 + tgt_len**2 + src_len * tgt_len
    layers = linear + 2 * pairs * d_model + 3 * d_ff
    return tgt_len * d_model * vocab_size + num_layers * layers


def always_two(ids, window):
    found = []
    for place, center in enumerate(ids):
        context = ids[max(0, place - 2) : place] + ids[place + 1 : place + 3]
        found += [(center, each) for each in context]
    return found


def counted_from_one(query, key):
    return query[..., query.shape[-1]] @ key.transpose(-2, -1)


@pytest.mark.parametrize(
    ("task", "answer", "key", "said"),
    [
        ("attention.attention_scores", transposed_sum, "offset", "`scores` is too large by 1"),
        (
            "blocks.count_multiplications",
            count_with_something_more,
            "law",
            "`count` is too large by 3 * `d_ff` * `num_layers`",
        ),
        ("embeddings.skipgram_pairs", always_two, "other-question", "`window` is always 2"),
        ("attention.attention_scores", counted_from_one, "error", "the end of an axis of size K"),
    ],
)
def test_messages_of_real_tasks(task, answer, key, said):
    result = grade(task, answer)
    assert result.misconception is None
    assert result.relation == key
    line = next(each for each in result.message.split("\n") if said in each)
    assert line.startswith("What shows in every case that fails: ")
    assert result.message.index(line) < result.message.index("First failing case")


def test_a_name_comes_without_a_relation():
    result = grade("attention.attention_scores", lambda query, key: query @ key.transpose(-2, -1))
    assert result.misconception == "no-scale"
    assert result.relation == ""


def test_a_right_answer_has_no_relation():
    def right(query, key):
        return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])

    assert grade("attention.attention_scores", right).relation == ""


def test_chinese_words_have_no_space_between_them(monkeypatch):
    monkeypatch.setenv(LANGUAGE_VARIABLE, "zh_CN")
    late, axis = Term("late"), Term("axis", place=0)
    for name, along, said in (
        ("`x`", "T", "`x` 沿 T 往后错了一位"),
        (Term("gradient-of", name="x"), axis, "`x` 的梯度沿轴 0 往后错了一位"),
    ):
        assert in_words(Relation("shifted", name=name, way=late, axis=along)) == said
