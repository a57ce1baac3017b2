"""Tokenizers: what they promise, held to naive definitions and to the `tokenizers` library."""

from __future__ import annotations

import json
import lzma
import pickle
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import babel
import pytest
import regex
import tokenizers as library
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer_ref.data import CMUDICT_PATH
from transformer_ref.tokenizers import (
    BYTES,
    BPETokenizer,
    CharTokenizer,
    Tokenizer,
    WordTokenizer,
    learn_merges,
    load_tokenizer,
)

Merge = tuple[str, str]
MANY = settings(max_examples=200, deadline=None, database=None, derandomize=True)
FEW = settings(MANY, max_examples=40)

TEXTS = ["the cat sat", "the cat", "a dog, the dog's bone"]
CLASSES = {"word": WordTokenizer, "char": CharTokenizer, "bpe": BPETokenizer}
FILES: dict[type, str] = dict.fromkeys(CLASSES.values(), "vocabulary.json")
FILES[BPETokenizer] = "tokenizer.json"
each_class = pytest.mark.parametrize("tokenizer_class", CLASSES.values(), ids=CLASSES.keys())

# Text that tokenizers are known to stumble over.
AWKWARD = {
    "empty": "",
    "space": " ",
    "spaces": "  a   b    ",
    "newlines": "\n\na\r\nb\n \n",
    "tabs": "\tif x:\n\t\treturn",
    "other-spaces": "a\u00a0b\u3000c\u2028d\x1ce\x85f",
    "nul": "a\x00b\x00",
    "specials": "<pad><bos> a <eos> b<unk> <eos>",
    "printable-bytes": "Ġhello Ċ Ā ÿ",
    "emoji": "👩‍👩‍👧‍👦 👍🏽🇩🇪 ❤️",
    "lone-marks": "\u0301 a\u0301\u0302 \u0301\u0301",
    "marks": "नमस्ते ภาษาไทย مُحَمَّد می‌خواهم",
    "not-normalised": "e\u0301 é ﬁ \u212b",
    "no-spaces": "日本語とかな漢字ー、。",
    "byte-order-mark": "\ufeffa\ufffe\uffff",
    "outside-the-plane": "\U0001d518\U0001d52b 𐍈 \U0010ffff",
    "punctuation": "don't 'quote' t-shirt... (a) [b] $5.00 50% x_y ½ ٣",
    "long": "ab" * 500,
}
awkward = pytest.mark.parametrize("text", AWKWARD.values(), ids=AWKWARD.keys())


@pytest.fixture(scope="module")
def many_scripts() -> list[str]:
    """Lines in some hundred languages: the names of all languages, and text with specials."""
    lines = []
    for name in sorted(babel.localedata.locale_identifiers()):
        if "_" not in name:
            languages = sorted(babel.Locale.parse(name).languages.items())
            lines.append(", ".join(language for _, language in languages[:40]))
    lines += [f"<bos> {line[:20]}<eos><pad> <unk>" for line in lines]
    return lines + list(AWKWARD.values())


@pytest.fixture(scope="module")
def bpe(many_scripts: list[str]) -> BPETokenizer:
    return BPETokenizer.train(many_scripts[::2], 800, specials=["<sep>"])


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")


def in_library(tokenizer: BPETokenizer, folder: Path) -> library.Tokenizer:
    tokenizer.save_pretrained(folder)
    return library.Tokenizer.from_file(str(folder / "tokenizer.json"))


# --- what all three share -----------------------------------------------------------------------


@each_class
def test_ids_of_the_specials(tokenizer_class: Any) -> None:
    tokenizer = tokenizer_class.train(TEXTS, specials=iter(["<sep>", "<mask>"]))
    names = ["<pad>", "<bos>", "<eos>", "<unk>", "<sep>", "<mask>"]
    assert tokenizer.convert_tokens_to_ids(names) == [0, 1, 2, 3, 4, 5]
    assert [tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.unk_id] == [0, 1, 2, 3]
    assert tokenizer.specials == ("<sep>", "<mask>")
    assert tokenizer.vocabulary.tokens[:6] == tuple(names)
    assert len(tokenizer) == len(tokenizer.vocabulary.tokens) > 6


@each_class
def test_encode_is_tokenize_and_look_up(tokenizer_class: Any) -> None:
    tokenizer = tokenizer_class.train(TEXTS)
    ids = tokenizer.convert_tokens_to_ids(tokenizer.tokenize("the dog sat"))
    assert [tokenizer.vocabulary.tokens[i] for i in ids] == tokenizer.tokenize("the dog sat")
    assert tokenizer.encode("the dog sat") == ids
    assert tokenizer.encode("the dog sat", bos=True) == [1, *ids]
    assert tokenizer.encode("the dog sat", eos=True) == [*ids, 2]
    assert tokenizer.encode("the dog sat", True, True) == [1, *ids, 2]
    assert tokenizer.encode("", bos=True, eos=True) == [1, 2]


@each_class
@pytest.mark.parametrize("make", [list, tuple, torch.tensor], ids=["list", "tuple", "tensor"])
def test_decode_stops_at_the_end_and_drops_specials(
    tokenizer_class: Any, make: Callable[[list[int]], Any]
) -> None:
    tokenizer = tokenizer_class.train(TEXTS, specials=["<sep>"])
    ids = tokenizer.encode("the cat")
    assert tokenizer.decode(make([1, *ids[:1], 0, 4, *ids[1:], 2, *ids])) == "the cat"
    assert tokenizer.decode([]) == tokenizer.decode([1, 2, 5]) == ""


@each_class
def test_decode_shows_where_something_unknown_was(tokenizer_class: Any) -> None:
    tokenizer = tokenizer_class.train(TEXTS)
    assert tokenizer.decode([1, 3, 2]) == "<unk>"


@each_class
def test_save_and_load(tokenizer_class: Any, tmp_path: Path) -> None:
    tokenizer = tokenizer_class.train([*TEXTS, "Zwölf Bücher 漢字\u2028\x00"], specials=["<sep>"])
    folder = tmp_path / "deeper" / "still"
    tokenizer.save_pretrained(folder)
    assert [path.name for path in folder.iterdir()] == [FILES[tokenizer_class]]
    for loaded in (load_tokenizer(str(folder)), tokenizer_class.from_pretrained(folder)):
        assert type(loaded) is tokenizer_class
        assert loaded.vocabulary.tokens == tokenizer.vocabulary.tokens
        assert loaded.specials == ("<sep>",)
        for text in (*TEXTS, *AWKWARD.values()):
            assert loaded.encode(text) == tokenizer.encode(text)
            assert loaded.tokenize(text) == tokenizer.tokenize(text)


@each_class
def test_another_tokenizer_takes_the_place_of_the_one_before(
    tokenizer_class: Any, tmp_path: Path
) -> None:
    for first in CLASSES.values():
        first.train(["abc"]).save_pretrained(tmp_path)
        tokenizer_class.train(["other text"]).save_pretrained(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == [FILES[tokenizer_class]]
        assert type(load_tokenizer(tmp_path)) is tokenizer_class


@each_class
def test_a_tokenizer_travels_to_another_process(tokenizer_class: Any) -> None:
    tokenizer = tokenizer_class.train(TEXTS)
    copy = pickle.loads(pickle.dumps(tokenizer))
    assert copy.encode("the dog") == tokenizer.encode("the dog")


def test_texts_may_come_one_at_a_time() -> None:
    for tokenizer_class in CLASSES.values():
        lazy: Any = tokenizer_class.train(text for text in TEXTS)
        assert lazy.vocabulary.tokens == tokenizer_class.train(TEXTS).vocabulary.tokens


# --- words --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        (" \t\n ", []),
        ("A man,  a plan.", ["A", "man", ",", "a", "plan", "."]),
        ("don't", ["don", "'", "t"]),
        ("3.5 x2 ½", ["3", ".", "5", "x2", "½"]),
        ("...?!", [".", ".", ".", "?", "!"]),
        ("snake_case", ["snake", "_", "case"]),
        ("Größe\u00a0漢字", ["Größe", "漢字"]),
        ("👍👍", ["👍", "👍"]),
        # A letter keeps its marks.
        ("un cafe\u0301s!", ["un", "cafe\u0301s", "!"]),
        ("नमस्ते दुनिया।", ["नमस्ते", "दुनिया", "।"]),
        ("❤\ufe0f", ["❤\ufe0f"]),
        ("\u0301a", ["\u0301", "a"]),
        ("a \u0301", ["a", "\u0301"]),
        ("a.\u0301b", ["a", ".\u0301", "b"]),
    ],
)
def test_words(text: str, tokens: list[str]) -> None:
    assert WordTokenizer([]).tokenize(text) == tokens


def words_by_definition(text: str) -> list[str]:
    """Runs of letters and digits; single others that are not white space."""
    tokens: list[str] = []
    run = False
    after_space = True
    for character in text:
        is_mark = unicodedata.category(character)[0] == "M"
        if (character.isalnum() and run) or (is_mark and not after_space):
            tokens[-1] += character
        elif not character.isspace():
            tokens.append(character)
        run = character.isalnum() or (is_mark and run)
        after_space = character.isspace()
    return tokens


@pytest.mark.weekly
@MANY
@given(st.text())
def test_words_are_what_the_definition_says(text: str) -> None:
    assert WordTokenizer([]).tokenize(text) == words_by_definition(text)


@MANY
@given(st.text("ae\u0301\u0302 .\u0928\u092e\u0938\u094d\u0924\u0947"))
def test_marks_stay_with_their_letters(text: str) -> None:
    assert WordTokenizer([]).tokenize(text) == words_by_definition(text)


def test_words_by_falling_frequency_ties_alphabetical() -> None:
    tokenizer = WordTokenizer.train(["b b c", "a c B", "d d d"])
    assert tokenizer.vocabulary.tokens[4:] == ("d", "b", "c", "B", "a")


@pytest.mark.parametrize(
    ("limits", "tokens"),
    [
        ({"min_freq": 2}, ("d", "b", "c")),
        ({"min_freq": 3}, ("d",)),
        ({"min_freq": 4}, ()),
        ({"vocab_size": 6}, ("d", "b")),
        ({"vocab_size": 4}, ()),
        ({"vocab_size": 99}, ("d", "b", "c", "B", "a")),
        ({"vocab_size": 8, "min_freq": 2}, ("d", "b", "c")),
        ({"vocab_size": 6, "specials": ["<sep>"]}, ("d",)),
    ],
)
@pytest.mark.parametrize("tokenizer_class", [WordTokenizer, CharTokenizer], ids=["word", "char"])
def test_rare_tokens_are_left_out(
    tokenizer_class: Any, limits: dict[str, Any], tokens: tuple[str, ...]
) -> None:
    texts = ["bbc", "acB", "ddd"]
    if tokenizer_class is WordTokenizer:
        texts = [" ".join(text) for text in texts]
    tokenizer = tokenizer_class.train(texts, **limits)
    assert tokenizer.vocabulary.tokens[len(tokenizer.vocabulary.specials) :] == tokens


def test_unknown_words() -> None:
    tokenizer = WordTokenizer.train(["the cat sat"])
    assert tokenizer.tokenize("the cow sat") == ["the", "cow", "sat"]
    assert tokenizer.encode("the cow sat")[1] == tokenizer.unk_id
    assert tokenizer.decode(tokenizer.encode("the cow sat")) == "the <unk> sat"


def test_lower_case() -> None:
    tokenizer = WordTokenizer.train(["The THE the Café"], lowercase=True)
    assert tokenizer.vocabulary.tokens[4:] == ("the", "café")
    assert tokenizer.encode("tHe CAFÉ") == [4, 5]
    assert WordTokenizer.train(["The the"]).vocabulary.tokens[4:] == ("The", "the")


def test_text_that_is_split_already() -> None:
    tokenizer = WordTokenizer.train(["HH AH' L. OW_1"], pretokenized=True)
    assert tokenizer.tokenize(" HH  AH'\tL. OW_1\n") == ["HH", "AH'", "L.", "OW_1"]
    assert tokenizer.decode(tokenizer.encode("L. AH' HH")) == "L. AH' HH"
    assert tokenizer.encode("<eos> HH") == [2, tokenizer.encode("HH")[0]]


def test_a_special_in_the_text_keeps_its_id() -> None:
    tokenizer = WordTokenizer.train(["<unk> a <unk> b", "<sep>"], pretokenized=True)
    assert tokenizer.vocabulary.tokens[3:] == ("<unk>", "<sep>", "a", "b")
    tokenizer = WordTokenizer.train(["<unk> <sep> a"], pretokenized=True, specials=["<sep>"])
    assert tokenizer.vocabulary.tokens[3:] == ("<unk>", "<sep>", "a")
    assert tokenizer.encode("<unk> <sep>") == [3, 4]


@pytest.mark.parametrize(
    "text",
    [
        "Two men (one old, one young) sit; they talk.",
        "A man's t-shirt: it's red!",
        "Why? 5% of [all] {things}\u2026",
        "the girl\u2019s dog",
    ],
)
def test_decode_joins_words_as_they_are_written(text: str) -> None:
    tokenizer = WordTokenizer.train([text])
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_what_words_lose() -> None:
    tokenizer = WordTokenizer.train(["a b - '"])
    assert tokenizer.decode(tokenizer.encode("a  b\n")) == "a b"
    assert tokenizer.decode(tokenizer.encode("a - b")) == "a-b"


def test_the_options_of_words_are_saved(tmp_path: Path) -> None:
    tokenizer = WordTokenizer.train(["A, b"], lowercase=True, pretokenized=True)
    tokenizer.save_pretrained(tmp_path)
    assert WordTokenizer.from_pretrained(tmp_path).tokenize("A, B") == ["a,", "b"]


# --- characters ---------------------------------------------------------------------------------


def test_characters() -> None:
    tokenizer = CharTokenizer.train(["abracadabra\n"])
    assert tokenizer.vocabulary.tokens[4:] == ("a", "b", "r", "\n", "c", "d")
    assert tokenizer.tokenize("a b\n") == ["a", " ", "b", "\n"]
    assert tokenizer.encode("cab x") == [8, 4, 5, 3, 3]
    assert tokenizer.decode(tokenizer.encode("cab x")) == "cab<unk><unk>"


@awkward
def test_characters_lose_nothing_that_they_know(text: str) -> None:
    tokenizer = CharTokenizer.train([text, "x"])
    assert tokenizer.decode(tokenizer.encode(text, bos=True, eos=True)) == text


# --- byte pairs: the merges ---------------------------------------------------------------------


def merge_everywhere(word: tuple[str, ...], pair: Merge) -> tuple[str, ...]:
    merged: list[str] = []
    for symbol in word:
        if len(merged) > 0 and (merged[-1], symbol) == pair:
            merged[-1:] = ["".join(pair), ""]  # the empty symbol keeps "aaa" from one more merge
        else:
            merged.append(symbol)
    return tuple(symbol for symbol in merged if symbol)


def learn_by_rescanning(word_counts: dict[str, int], num_merges: int) -> list[Merge]:
    words = [(tuple(word), count) for word, count in word_counts.items()]
    merges: list[Merge] = []
    for _ in range(num_merges):
        pairs: Counter[Merge] = Counter()
        for word, count in words:
            for pair in pairwise(word):
                pairs[pair] += count
        if not pairs:
            break
        merges.append(max(pairs, key=lambda pair: (pairs[pair], pair)))
        words = [(merge_everywhere(word, merges[-1]), count) for word, count in words]
    return merges


def test_the_rescanning_trainer_by_hand() -> None:
    assert merge_everywhere(tuple("aaaab"), ("a", "a")) == ("aa", "aa", "b")
    assert merge_everywhere(tuple("aaab"), ("a", "a")) == ("aa", "a", "b")
    # lo 7, ow 7, ne 6, es 9, st 9; of es and st the greater
    counts = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
    expected = [("s", "t"), ("e", "st"), ("o", "w"), ("l", "ow"), ("w", "est")]
    assert learn_by_rescanning(counts, 5) == learn_merges(counts, 5) == expected


@MANY
@given(
    st.dictionaries(st.text("abc", max_size=12), st.integers(1, 9), max_size=6), st.integers(0, 30)
)
def test_merges_are_those_of_rescanning(word_counts: dict[str, int], num_merges: int) -> None:
    assert learn_merges(word_counts, num_merges) == learn_by_rescanning(word_counts, num_merges)


@FEW
@given(st.lists(st.text("ab ", max_size=60), max_size=4), st.integers(0, 60))
def test_merges_of_long_words_are_those_of_rescanning(texts: list[str], num_merges: int) -> None:
    word_counts = Counter(texts)
    assert learn_merges(word_counts, num_merges) == learn_by_rescanning(word_counts, num_merges)


@pytest.mark.parametrize(
    ("word_counts", "expected"),
    [
        ({}, []),
        ({"": 3, "a": 9}, []),
        ({"ab": 1, "cd": 1}, [("c", "d"), ("a", "b")]),
        ({"aab": 1}, [("a", "b"), ("a", "ab")]),
        ({"ab": 1, "aa": 1, "é": 1, "éa": 1}, [("é", "a"), ("a", "b"), ("a", "a")]),
        ({"aaa": 1, "ab": 2}, [("a", "b"), ("a", "a"), ("aa", "a")]),
    ],
    ids=["nothing", "no-pairs", "tie", "tie-in-the-second", "not-ascii", "overlap-counts-twice"],
)
def test_ties_go_to_the_greatest_pair(word_counts: dict[str, int], expected: list[Merge]) -> None:
    assert learn_merges(word_counts, 9) == expected


def learn_on_bytes(texts: list[str], num_merges: int) -> list[tuple[bytes, bytes]]:
    """The same on bytes themselves: of equals the greatest pair, as Python compares bytes."""
    words = Counter(
        tuple(bytes([byte]) for byte in word.encode())
        for text in texts
        for word in regex.findall(BPETokenizer.PATTERN, text)
    )
    merges = []
    for _ in range(num_merges):
        pairs: Counter[tuple[bytes, bytes]] = Counter()
        for word, count in words.items():
            for pair in pairwise(word):
                pairs[pair] += count
        merges.append(max(pairs, key=lambda pair: (pairs[pair], pair)))
        joined: Counter[tuple[bytes, ...]] = Counter()
        for word, count in words.items():
            parts: list[bytes] = []
            for symbol in word:
                if parts and (parts[-1], symbol) == merges[-1]:
                    parts[-1] += symbol
                else:
                    parts.append(symbol)
            joined[tuple(parts)] += count
        words = joined
    return merges


def test_ties_by_bytes_are_those_of_a_trainer_on_bytes() -> None:
    texts = ["no note on a boat", "Über überall, o so oft", "naïve café \t\n漢字"]
    expected = learn_on_bytes(texts, 30)
    by_bytes = BPETokenizer.train(texts, 30, ties="bytes")
    as_bytes = [
        tuple(bytes(map(BYTES.index, symbol)) for symbol in pair) for pair in by_bytes.merges
    ]
    assert as_bytes == expected
    assert by_bytes.merges != BPETokenizer.train(texts, 30).merges
    # One tie: a space before "a" against "b" before "c".  The space shows as a later character.
    assert BPETokenizer.train(["x a", "bc"], 1).merges == (("Ġ", "a"),)
    assert BPETokenizer.train(["x a", "bc"], 1, ties="bytes").merges == (("b", "c"),)


def test_the_library_takes_the_pair_of_the_least_ids() -> None:
    other = library.Tokenizer(library.models.BPE())
    trainer = library.trainers.BpeTrainer(vocab_size=5, show_progress=False)
    other.train_from_iterator(["ab", "cd"], trainer)
    merges = json.loads(other.to_str())["model"]["merges"]
    assert merges == [["a", "b"]]
    assert learn_merges({"ab": 1, "cd": 1}, 1) == [("c", "d")]


@pytest.mark.parametrize("special", ["user", "hello", "us"])
def test_no_merge_makes_the_name_of_a_special(special: str) -> None:
    texts = ["user:hello", "users hello"]
    tokenizer = BPETokenizer.train(texts, specials=[special])
    assert tokenizer.tokenize(special) != [special]
    for text in texts:
        assert tokenizer.decode(tokenizer.encode(text)) == text
    free = BPETokenizer.train(texts, specials=["<sep>"])
    assert special in free.vocabulary.tokens  # which is what would have been learned


def test_training_counts_printable_bytes_of_words() -> None:
    texts = ["low lower lowest", "ein Überfluß überall", "naïve café"]
    words = ["low", "Ġlower", "Ġlowest", "ein", "ĠÃľberfluÃŁ", "ĠÃ¼berall", "naÃ¯ve", "ĠcafÃ©"]
    expected = learn_by_rescanning(dict.fromkeys(words, 1), 25)
    tokenizer = BPETokenizer.train(texts, 25)
    assert list(tokenizer.merges) == expected
    assert tokenizer.vocabulary.tokens[260:] == tuple(map("".join, expected))


@pytest.mark.weekly
def test_a_thousand_merges_of_a_megabyte_in_seconds() -> None:
    text = lzma.decompress(CMUDICT_PATH.read_bytes()).decode()[:1_000_000]
    start = time.process_time()
    tokenizer = BPETokenizer.train(text.split("\n"), 1000)
    seconds = time.process_time() - start
    assert len(tokenizer.merges) == 1000
    assert seconds < 15, f"took {seconds:.1f} s"


@pytest.mark.parametrize("text", ["ab" * 20_000, "a" * 40_000], ids=["pairs", "one-letter"])
def test_a_long_word_takes_no_square_of_its_length(text: str) -> None:
    start = time.process_time()
    tokenizer = BPETokenizer.train([text], 10)
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert time.process_time() - start < 8


@pytest.mark.parametrize(
    ("limits", "merges"),
    [
        ({"num_merges": 0}, 0),
        ({"num_merges": 7}, 7),
        ({"vocab_size": 260}, 0),
        ({"vocab_size": 270}, 10),
        ({"vocab_size": 270, "specials": ["<a>", "<b>"]}, 8),
        ({}, 1000),
    ],
)
def test_number_of_merges(limits: dict[str, Any], merges: int) -> None:
    text = lzma.decompress(CMUDICT_PATH.read_bytes()).decode()[:40_000]
    tokenizer = BPETokenizer.train([text], **limits)
    assert len(tokenizer.merges) == merges
    assert len(tokenizer) == len(tokenizer.vocabulary.specials) + 256 + merges


def test_training_stops_when_no_pair_is_left() -> None:
    assert BPETokenizer.train(["ab ab"], 50).merges == (("a", "b"), ("Ġ", "ab"))


# --- byte pairs: encoding -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the cat sat.", ["the", " cat", " sat", "."]),
        ("don't 'quote'", ["don", "'t", " '", "quote", "'"]),
        ("a  b   c ", ["a", " ", " b", "  ", " c", " "]),
        ("a\n\n  b", ["a", "\n\n ", " b"]),
        ("x2 = 3.14 + 10", ["x", "2", " =", " 3", ".", "14", " +", " 10"]),
        ("e\u0301te\u0301 नमस्ते", ["e\u0301te\u0301", " नमस्ते"]),
        ("(a)!!! 👍🏽👍", ["(", "a", ")!!!", " 👍🏽👍"]),
        ("snake_case", ["snake", "_", "case"]),
    ],
)
def test_merges_do_not_cross_words(text: str, words: list[str]) -> None:
    pieces = BPETokenizer.train([text] * 2, 500)
    assert [pieces.decode([i]) for i in pieces.encode(text)] == words


def encode_by_definition(word: str, merges: tuple[Merge, ...]) -> list[str]:
    """Of the pairs that a merge joins, always the earliest learned, the leftmost of its places."""
    symbols = list(word)
    while True:
        places = {
            (merges.index(pair), i): i for i, pair in enumerate(pairwise(symbols)) if pair in merges
        }
        if not places:
            return symbols
        i = places[min(places)]
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]


def draw_merges(data: st.DataObject, alphabet: str) -> list[Merge]:
    """Any valid list of merges, also such as no training would find."""
    tokens = list(alphabet)
    merges = []
    for _ in range(data.draw(st.integers(0, 12))):
        merges.append((data.draw(st.sampled_from(tokens)), data.draw(st.sampled_from(tokens))))
        tokens.append("".join(merges[-1]))
    return merges


@MANY
@given(st.data())
def test_encoding_is_what_the_definition_says(data: st.DataObject) -> None:
    tokenizer = BPETokenizer(draw_merges(data, "ab"))
    word = data.draw(st.text("ab", max_size=20))
    assert tokenizer.tokenize(word) == encode_by_definition(word, tokenizer.merges)
    assert tokenizer.tokenize(word) == tokenizer.tokenize(word)  # from the cache


@awkward
def test_awkward_text_comes_back(text: str, bpe: BPETokenizer) -> None:
    for tokenizer in (bpe, BPETokenizer([])):
        assert tokenizer.decode(tokenizer.encode(text)) == text
        assert tokenizer.decode(tokenizer.encode(text, bos=True, eos=True)) == text


def test_any_text_comes_back(bpe: BPETokenizer) -> None:
    @MANY
    @given(st.text())
    def comes_back(text: str) -> None:
        assert bpe.decode(bpe.encode(text, bos=True, eos=True)) == text

    comes_back()


def test_text_never_turns_into_a_special(bpe: BPETokenizer) -> None:
    text = "".join(bpe.vocabulary.specials)
    assert min(bpe.encode(text)) >= len(bpe.vocabulary.specials)
    assert bpe.decode(bpe.encode(text)) == text


def test_bytes_have_their_order() -> None:
    assert BPETokenizer([]).encode("Aé\n") == [4 + byte for byte in "Aé\n".encode()]


def test_the_cache_of_words_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BPETokenizer, "_CACHED_WORDS", 3)
    tokenizer = BPETokenizer.train(["abcabc abab"], 5)
    for text in map("".join, product("abc", repeat=3)):
        assert tokenizer.decode(tokenizer.encode(text)) == text
        assert len(tokenizer._cache) <= 3


def test_a_kept_answer_cannot_be_changed_from_outside() -> None:
    tokenizer = BPETokenizer.train(["abab ab"], 5)
    tokens = tokenizer.tokenize("abab")
    tokens.append("x")
    assert tokenizer.tokenize("abab") == tokens[:-1]


def test_bytes_that_are_no_text_show_as_the_replacement_character() -> None:
    assert BPETokenizer([]).decode([4 + ord("a"), 4 + 0xC3, 4 + ord("b")]) == "a\ufffdb"


# --- byte pairs: the tokenizers library ---------------------------------------------------------


def test_the_library_writes_bytes_alike() -> None:
    alphabet = library.pre_tokenizers.ByteLevel.alphabet()
    assert set(BPETokenizer([]).vocabulary.tokens[4:]) == set(alphabet)


def test_the_library_encodes_every_line_alike(
    bpe: BPETokenizer, many_scripts: list[str], tmp_path: Path
) -> None:
    other = in_library(bpe, tmp_path)
    assert len(many_scripts) > 300
    for line in many_scripts:
        encoding = other.encode(line)
        assert bpe.encode(line) == encoding.ids
        assert bpe.tokenize(line) == encoding.tokens
        assert other.decode(encoding.ids, skip_special_tokens=False) == line
    assert other.get_vocab_size() == len(bpe)
    assert [other.token_to_id(name) for name in bpe.vocabulary.specials] == [0, 1, 2, 3, 4]


def test_the_library_encodes_any_text_alike(bpe: BPETokenizer, tmp_path: Path) -> None:
    other = in_library(bpe, tmp_path)
    # The two may know different versions of Unicode: no characters that Python does not know.
    known = st.characters(codec="utf-8", exclude_categories=["Cn"])

    @settings(MANY, max_examples=500)
    @given(st.text(known))
    def alike(text: str) -> None:
        assert bpe.encode(text) == other.encode(text).ids

    alike()


def test_the_library_decodes_any_ids_alike(bpe: BPETokenizer, tmp_path: Path) -> None:
    other = in_library(bpe, tmp_path)

    @MANY
    @given(st.lists(st.integers(5, len(bpe) - 1)))
    def alike(ids: list[int]) -> None:
        assert bpe.decode(ids) == other.decode(ids)

    alike()


@FEW
@given(st.data())
def test_the_library_applies_any_merges_alike(data: st.DataObject) -> None:
    tokenizer = BPETokenizer(draw_merges(data, "ab"))
    other = library.Tokenizer.from_str(json.dumps(tokenizer._content()))
    for word in data.draw(st.lists(st.text("ab", max_size=20), max_size=5)):
        assert tokenizer.tokenize(word) == other.encode(word).tokens


def test_what_the_library_writes_can_be_read(bpe: BPETokenizer, tmp_path: Path) -> None:
    in_library(bpe, tmp_path / "ours").save(str(tmp_path / "tokenizer.json"))
    assert BPETokenizer.from_pretrained(tmp_path).merges == bpe.merges


def test_the_library_finds_as_many_merges(many_scripts: list[str]) -> None:
    """Its ties go another way, but as good a choice needs as few tokens."""
    ours = BPETokenizer.train(many_scripts, 300)
    other = library.Tokenizer.from_str(json.dumps(BPETokenizer([])._content()))
    alphabet = library.pre_tokenizers.ByteLevel.alphabet()
    trainer = library.trainers.BpeTrainer(
        vocab_size=556, initial_alphabet=alphabet, show_progress=False
    )
    other.train_from_iterator(many_scripts, trainer)
    lengths = [
        sum(len(ours.encode(line)) for line in many_scripts),
        sum(len(other.encode(line).ids) for line in many_scripts),
    ]
    assert lengths[0] == pytest.approx(lengths[1], rel=1e-3)


# --- bad arguments: see bad_input.py for all the others ------------------------------------------

WORD = WordTokenizer(["a", "b"])
BPE = BPETokenizer([("a", "b")])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: BPETokenizer.train(["a"], 5, vocab_size=300),
            "num_merges or vocab_size, not both, got num_merges=5, vocab_size=300",
        ),
        (
            lambda: CharTokenizer.train(["a"], vocab_size=4, specials=["<sep>"]),
            "vocab_size must be an integer of at least 5, got 4",
        ),
        (lambda: BPETokenizer([("a", "b")], specials=["ab"]), "got twice: ['ab']"),
        (lambda: BPETokenizer.train(["b"], specials=["a"]), "got twice: ['a']"),
    ],
    ids=["merges-and-size", "size-with-specials", "special-is-a-merge", "special-is-a-byte"],
)
def test_arguments_that_exclude_each_other(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        call()


# --- bad files ----------------------------------------------------------------------------------


def saved(tokenizer: Tokenizer, folder: Path) -> dict[str, Any]:
    tokenizer.save_pretrained(folder)
    path = folder / FILES[type(tokenizer)]
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


@each_class
@pytest.mark.parametrize("damage", ["cut", "empty", "not-utf8", "not-json"])
def test_a_damaged_file_is_named(tokenizer_class: Any, damage: str, tmp_path: Path) -> None:
    tokenizer_class.train(["Zwölf"]).save_pretrained(tmp_path)
    path = tmp_path / FILES[tokenizer_class]
    whole = path.read_bytes()
    path.write_bytes(
        {
            "cut": whole[: len(whole) // 2],
            "empty": b"",
            "not-utf8": whole.replace(b"a", b"\xff") if b"a" in whole else b"\xff",
            "not-json": b"version https://git-lfs.github.com/spec/v1",
        }[damage]
    )
    with pytest.raises(OSError, match=re.escape(f"{path} is damaged")):
        load_tokenizer(tmp_path)


def test_a_folder_in_place_of_the_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").mkdir()
    with pytest.raises(OSError, match="tokenizer"):
        load_tokenizer(tmp_path)


def test_a_file_in_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    with pytest.raises(OSError, match="file"):
        WORD.save_pretrained(tmp_path / "file")
    with pytest.raises(OSError, match=r"neither tokenizer\.json nor .*vocabulary\.json exists"):
        load_tokenizer(tmp_path / "file")


def changed(content: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return the content with one entry, such as "model/vocab/a", set to a value."""
    *parents, name = path.split("/")
    place = content
    for parent in parents:
        place = place[parent]
    place[name] = value
    return content


FOREIGN: dict[str, Callable[[Path], Any]] = {
    "list": lambda _: ["a"],
    "string": lambda _: "word",
    "null": lambda _: None,
    "number": lambda _: 3,
    "nothing": lambda _: {},
    "other-type": lambda folder: changed(saved(WORD, folder), "type", "syllable"),
    "word-without-tokens": lambda _: {"type": "word"},
    "word-one-string": lambda folder: changed(saved(WORD, folder), "tokens", "ab"),
    "word-numbers": lambda folder: changed(saved(WORD, folder), "tokens", [1, 2]),
    "word-twice": lambda folder: changed(saved(WORD, folder), "tokens", ["a", "a"]),
    "word-option": lambda folder: changed(saved(WORD, folder), "lowercase", "no"),
    "word-unknown-option": lambda folder: changed(saved(WORD, folder), "stem", True),
    "char-without-specials": lambda _: {"type": "char", "tokens": ["a"]},
    "bpe-id": lambda folder: changed(saved(BPE, folder), "model/vocab/a", 9),
    "bpe-id-text": lambda folder: changed(saved(BPE, folder), "model/vocab/a", "9"),
    "bpe-more-tokens": lambda folder: changed(saved(BPE, folder), "model/vocab/xyz", 261),
    "bpe-merges": lambda folder: changed(saved(BPE, folder), "model/merges", ["a b"]),
    "bpe-merge-unknown": lambda folder: changed(saved(BPE, folder), "model/merges", [["a", "x?"]]),
    "bpe-merges-none": lambda folder: changed(saved(BPE, folder), "model/merges", None),
    "bpe-fewer-merges": lambda folder: changed(saved(BPE, folder), "model/merges", []),
    "bpe-other-model": lambda folder: changed(saved(BPE, folder), "model/type", "Unigram"),
    "bpe-normalizer": lambda folder: changed(saved(BPE, folder), "normalizer", {"type": "NFC"}),
    "bpe-pre-tokenizer": lambda folder: changed(saved(BPE, folder), "pre_tokenizer", None),
    "bpe-added-tokens": lambda folder: changed(
        saved(BPE, folder), "added_tokens", [{"id": 0, "content": "<pad>"}]
    ),
    "bpe-no-specials": lambda _: {
        "model": {"vocab": {chr(i): i for i in range(256)}, "merges": []}
    },
    "library-words": lambda _: json.loads(
        library.Tokenizer(library.models.WordLevel({"a": 0}, unk_token="a")).to_str()
    ),
}


@pytest.mark.parametrize("make", FOREIGN.values(), ids=FOREIGN.keys())
def test_a_foreign_file_is_named(make: Callable[[Path], Any], tmp_path: Path) -> None:
    content = make(tmp_path)
    (tmp_path / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(str(tmp_path / "tokenizer.json"))):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("tokenizer", "reader"),
    [(WORD, CharTokenizer), (BPE, WordTokenizer), (CharTokenizer("ab"), BPETokenizer)],
    ids=["word-as-char", "bpe-as-word", "char-as-bpe"],
)
def test_a_file_of_another_class_is_named(
    tokenizer: Tokenizer, reader: Any, tmp_path: Path
) -> None:
    tokenizer.save_pretrained(tmp_path)
    message = (
        f"{tmp_path / FILES[type(tokenizer)]} must hold a {reader.__name__}, "
        f"got a {type(tokenizer).__name__}"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        reader.from_pretrained(tmp_path)
