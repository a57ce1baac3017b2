"""Plain answers: what crosses the border, how it is compared, and what a student is told."""

from __future__ import annotations

import json
from collections import Counter, OrderedDict, UserDict, defaultdict, deque, namedtuple
from enum import IntEnum

import numpy as np
import pytest
import torch

from transformer_checks.judging.facts import Fault, fault_of_outcome, find
from transformer_checks.judging.words import fault_in_words
from transformer_checks.running import wire_format
from transformer_checks.running.asking import ReturnedError, describe, described, type_and_size
from transformer_checks.running.comparing import difference, same
from transformer_checks.task import Outcome
from transformer_checks.translation import LANGUAGE_VARIABLE

EXACT = (0.0, 0.0)


# --- bytes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -(10**30),
        2.5,
        float("inf"),
        "",
        "naïve 東京 🙂 \ud800 \0",
        [],
        (),
        {},
        [1, "a", (2.5, None), [False]],
        {"a": {"b": (1, 2)}},
        {("a", "b"): 3, 4: "d", None: [(), []], True: {}},
        {"__array__": 0},
        {"__tuple__": [1]},
        {"__dict__": [], "more": ("__dict__",)},
        [{"__dict__": {"__tuple__": ()}}],
    ],
    ids=repr,
)
def test_plain_data_comes_back_as_it_was(value):
    again = wire_format.decode(wire_format.encode(value))
    assert same(again, value, EXACT)
    assert repr(again) == repr(value)
    assert same(wire_format.copied(value), value, EXACT)


@pytest.mark.parametrize(
    "array",
    [
        np.array(2.5, dtype="float32"),
        np.zeros((0, 3)),
        np.arange(6).reshape(2, 3).T,
        np.array([True, False]),
        np.arange(4, dtype=">i2"),
        np.array([1 + 2j]),
    ],
    ids=["scalar", "empty", "columns first", "bool", "big end first", "complex"],
)
def test_an_array_comes_back_as_it_was_and_can_be_written_to(array):
    _, again = wire_format.decode(wire_format.encode(["x", array]))
    np.testing.assert_array_equal(again, array)
    assert again.dtype == array.dtype
    assert again.shape == array.shape
    assert again.flags.writeable
    assert again.flags.aligned


def test_arrays_come_back_inside_of_anything():
    again = wire_format.decode(
        wire_format.encode({("a", 1): (np.arange(3), [np.eye(2, dtype="float32")])})
    )
    first, (second,) = again["a", 1]
    assert first.dtype == np.arange(3).dtype
    assert second.dtype == np.float32
    assert first.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"garbage",
        wire_format.encode(np.arange(3))[:-1],
        wire_format.encode(np.arange(3)) + b" ",
        (22).to_bytes(8, "big") + b'[[], {"__array__": 3}]',
        (33).to_bytes(8, "big") + b'[[], {"__dict__": [[[1, 2], 3]]}]',
        (200_006).to_bytes(8, "big") + b"[[], " + b"[" * 100_000 + b"]" * 100_001,
        (20).to_bytes(8, "big") + b'[[["<i8", [-2]]], 1]',
    ],
    ids=["empty", "garbage", "cut", "more", "no such array", "list as a key", "deep", "negative"],
)
def test_damaged_bytes_are_a_value_error(data):
    with pytest.raises(ValueError, match="not what encode"):
        wire_format.decode(data)


def test_structure_that_would_fill_the_memory_is_refused():
    tree = b"[[], [" + b"[]," * 2_000_000 + b"[]]]"
    with pytest.raises(ValueError, match="besides numbers"):
        wire_format.decode(len(tree).to_bytes(8, "big") + tree)


def test_no_object_crosses_the_border():
    with pytest.raises(TypeError):
        wire_format.encode({"value": object()})
    with pytest.raises(TypeError, match="must hold numbers"):
        wire_format.encode(np.array([object()]))


@pytest.mark.parametrize("kind", ["|O", "|V8", "<U1", "i4,i4", "no such"])
def test_no_array_of_something_else_than_numbers_is_read(kind):
    written = wire_format.encode(np.arange(3))
    forged = written.replace(b'"<i8"', f'"{kind}"'.encode())
    forged = (len(forged) - 32).to_bytes(8, "big") + forged[8:]  # 24 bytes of numbers, 8 of this
    with pytest.raises(ValueError, match="not what encode"):
        wire_format.decode(forged)


# --- copies ----------------------------------------------------------------------------------


class Liar:
    """What every type below does, too: it says yes, and has nothing in it."""

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    def __hash__(self):
        return 0

    def __len__(self):
        return 0

    def __iter__(self):
        return iter(())

    def __getitem__(self, key):
        raise RuntimeError

    def __contains__(self, key):
        return True

    def __repr__(self):
        raise RuntimeError

    __str__ = __repr__
    __class__ = property(lambda self: dict)


class LyingList(Liar, list):
    pass


class LyingTuple(Liar, tuple):
    __slots__ = ()


class LyingDict(Liar, dict):
    def items(self):
        return []

    keys = values = items


class LyingStr(Liar, str):
    __slots__ = ()


class LyingInt(Liar, int):
    def __int__(self):
        return 7

    __index__ = __int__


class LyingFloat(Liar, float):
    def __float__(self):
        return 7.0


class Colour(IntEnum):
    RED = 3


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (LyingList([1, 2]), [1, 2]),
        (LyingTuple((1, 2)), (1, 2)),
        (LyingDict({"a": 1}), {"a": 1}),
        (LyingStr("abc"), "abc"),
        (LyingInt(3), 3),
        (LyingFloat(2.5), 2.5),
        ({LyingStr("a"): LyingInt(1)}, {"a": 1}),
        (Counter("aab"), {"a": 2, "b": 1}),
        (defaultdict(int, {("a", "b"): 1}), {("a", "b"): 1}),
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (Point(1, "b"), (1, "b")),
        (Colour.RED, 3),
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (np.str_("a"), "a"),
        ([np.uint8(7), True], [7, True]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_subclass_becomes_the_type_itself(value, wanted):
    copied = wire_format.copied(value)
    assert same(copied, wanted, EXACT)
    assert type(copied) is type(wanted)
    assert repr(copied) == repr(wanted)


def itself():
    value = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (object(), ""),
        ({1, 2}, ""),
        ({1: {2}}.keys(), ""),
        (deque([1]), ""),
        (UserDict(a=1), ""),
        ((x for x in "ab"), ""),
        (map(str, [1]), ""),
        (Liar(), ""),
        (b"ab", ""),
        (1j, ""),
        (np.arange(3), ""),
        (np.bool_(True), ""),
        (torch.arange(3), ""),
        ([1, torch.tensor(2)], "[1]"),
        ({"a": [0, {3}]}, "['a'][1]"),
        ({frozenset("ab"): 1}, "{key}"),
        ([{("a", object()): 1}], "[0]{key}[1]"),
        (itself(), ""),
        ("a" * (wire_format.MAX_ENTRIES + 1), ""),
        ([0] * (wire_format.MAX_ENTRIES + 1), ""),
    ],
)
def test_what_is_not_plain_is_told_with_its_place(value, path):
    with pytest.raises(wire_format.NotPlainError) as caught:
        wire_format.copied(value)
    assert caught.value.path == path
    assert str(caught.value)


def test_a_tuple_passes_for_a_list_where_the_form_says_list():
    form = list[tuple[str, str]]
    assert wire_format.copied((("a", "b"), ["c", "d"]), form) == [("a", "b"), ["c", "d"]]
    assert wire_format.copied([("a", "b")], tuple[tuple[str, str], ...]) == [("a", "b")]
    assert wire_format.copied({"a": (1, 2)}, dict[str, list[int]]) == {"a": [1, 2]}
    assert wire_format.copied((("a",), 1), tuple[list[str], int]) == (["a"], 1)
    assert wire_format.copied((("a",), 1, 2), tuple[list[str], int]) == (["a"], 1, 2)


@pytest.mark.parametrize(
    ("value", "form", "said"),
    [
        (["a"], list[str], None),
        ([], list[str], None),
        ([[], [1]], list[list[int]], None),
        ((1, "a"), tuple[int, str], None),
        (("a", "b", "c"), tuple[str, ...], None),
        ({("a", "b"): 1}, dict[tuple[str, str], int], None),
        (3, int, None),
        (True, int, ("", True, int)),
        (3, float, ("", 3, float)),
        ("a", list[str], ("", "a", list[str])),
        (None, list[str], ("", None, list[str])),
        (["a", 1], list[str], ("[1]", 1, str)),
        ([True], list[int], ("[0]", True, int)),
        (["a"], tuple[str, ...], ("", ["a"], tuple[str, ...])),
        (("a",), tuple[str, str], ("", ("a",), tuple[str, str])),
        ([("a", 1)], list[tuple[str, str]], ("[0][1]", 1, str)),
        ({1: "a"}, dict[str, int], ("{key}", 1, str)),
        ({"a": None}, dict[str, int], ("['a']", None, int)),
        (np.arange(2), list[int], ("", "array", list[int])),
    ],
)
def test_a_misfit_is_found_with_its_place(value, form, said):
    found = wire_format.misfit(value, form)
    if isinstance(value, np.ndarray):
        assert found is not None
        assert found[0] == said[0]
    else:
        assert found == said


# --- comparing -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (0, False),
        (1, 1.0),
        (1, "1"),
        ([1], (1,)),
        ([1, 2], [2, 1]),
        ([1], [1, 1]),
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1}, {"a": True}),
        ("é", "e\u0301"),
        (None, False),
        (float("nan"), 1.0),
        (np.arange(3), [0, 1, 2]),
        (np.arange(3), np.arange(4)),
        (np.array([1.0, -np.inf]), np.array([1.0, -1e9])),
    ],
    ids=repr,
)
def test_what_is_not_the_same(one, other):
    assert not same(one, other, (1e-5, 1e-5))
    assert not same(other, one, (1e-5, 1e-5))


def test_floats_are_the_same_within_rounding_and_dictionaries_in_any_order():
    assert same([1.0, float("nan")], [1.0 + 1e-7, float("nan")], (1e-5, 1e-5))
    assert not same([1.0], [1.001], (1e-5, 1e-5))
    assert same({"a": 1, "b": (2.0,)}, {"b": (2.0,), "a": 1}, EXACT)


@pytest.mark.parametrize(
    ("received", "expected", "shown"),
    [
        (["a-b"], ["a", "-", "b"], ["'a'", "'a-b'"]),
        (["a", "-"], ["a", "-", "b"], ["'b'"]),
        (["a", ""], ["a"], ["''"]),
        ([*range(100), 1, *range(100)], [*range(100), 0, *range(100)], ["[100]", "0", "1"]),
        (["x" * 100], ["y" * 200], ["xxx", "yyy"]),
        (1.5, 2.5, ["1.5", "2.5"]),
        ({"a": 1}, {"a": 2, "b": 3}, ["['a']", "1", "2", "'b'", "3"]),
        ({("a", "b"): 1}, {}, ["('a', 'b')"]),
        (dict.fromkeys(range(99), 0), dict.fromkeys(range(2, 99), 0), ["key 0", "2 keys"]),
        (np.array([True, False]), np.array([True, True]), ["[1, 1]", "[1, 0]"]),
    ],
)
def test_a_difference_shows_what_differs_in_few_words(received, expected, shown):
    said = difference("tokens", received, expected, EXACT)
    assert all(each in said for each in shown), said
    assert len(said) < 500


@pytest.mark.parametrize(
    "about",
    [
        {"kind": "values"},
        {"kind": "returned.one", "inside": "x"},
        {"kind": "returned.one", "x": ""},
    ],
)
def test_a_forged_fault_is_not_taken(about):
    assert fault_of_outcome(Outcome(fault="returned", about=about)) == Fault("silent")


def test_what_a_task_tells_in_words_is_a_fault_too(monkeypatch):
    said = "the second result should be a pair (keys, values), received {what}"
    error = ReturnedError(said, **type_and_size([1]))
    fault = fault_of_outcome(Outcome(fault="returned", error=str(error), about=error.about))
    assert find(fault, "told list") is fault
    assert find(fault, "told str") is None
    assert fault_in_words(fault) == said.format(what="a list of 1")
    monkeypatch.setenv(LANGUAGE_VARIABLE, "zh_CN")
    assert fault_in_words(fault).startswith("第二个结果应为一对 (keys, values)")


@pytest.mark.parametrize(
    "said", ["{name.__class__}", "{what:999999999}", "{tolerance}", "}{", "{0}", "{name}{name}"]
)
def test_only_names_of_fields_are_filled_into_what_an_answer_may_have_sent(said):
    about = {"kind": "told", "text": said, "name": "{what}", "received": "list"}
    fault = fault_of_outcome(Outcome(fault="returned", about=about))
    assert fault_in_words(fault) == said.replace("{name}", "{what}")


def test_a_task_describes_a_value_in_the_english_of_its_sentence(monkeypatch):
    monkeypatch.setenv(LANGUAGE_VARIABLE, "zh_CN")
    assert describe([1]) == "a list of 1"
    assert described("list") == "list"


def frame(tree: object) -> bytes:
    """Write a tree as whoever speaks for an answer can: no limit of encode()'s holds."""
    header = json.dumps([[], tree]).encode()
    return len(header).to_bytes(8, "big") + header


# Python gives all of these one hash, so each is compared with all before it.
COLLIDING = [number * (2**61 - 1) for number in range(20_000)]


@pytest.mark.parametrize(
    "tree",
    [
        {"__dict__": [[number, 0] for number in COLLIDING]},
        {"__dict__": [[{"__tuple__": [number, "a"]}, 0] for number in COLLIDING[:9000]]},
        [{"__dict__": [[number, 0] for number in COLLIDING[:400]]}] * 9,
        [[]] * 30_000,
        [0] * 30_000,
    ],
    ids=["numbers", "tuples", "several dictionaries", "lists", "entries"],
)
def test_what_would_keep_the_judge_busy_is_not_read(tree):
    with pytest.raises(ValueError, match="more than"):
        wire_format.decode(frame(tree))


def test_text_is_read_in_any_number():
    value = {(f"a{number}", "b"): "c" for number in range(9_000)}
    assert wire_format.decode(wire_format.encode(value)) == value
    texts = [str(number) for number in range(100_000)]
    assert wire_format.decode(wire_format.encode(texts)) == texts


def test_what_is_copied_can_be_read():
    """A student is told that there is too much; the judge would call it no result at all."""
    for value in ([0] * 30_000, [[]] * 30_000, dict.fromkeys(range(2_000), "a")):
        with pytest.raises(wire_format.NotPlainError, match=r"far too large|not text"):
            wire_format.copied(value)
    assert wire_format.copied(dict.fromkeys(range(900), "a")) == dict.fromkeys(range(900), "a")
