"""The CMU dictionary: what the split gives, against counts and entries known from outside."""

import hashlib
import lzma

import pytest

from transformer_ref import data
from transformer_ref.data import CMUDICT_PATH, PHONEMES, load_cmudict


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


def test_an_unknown_split_is_refused_by_name():
    with pytest.raises(ValueError, match=r'split must be "train", "dev" or "test", got \'valid\''):
        load_cmudict("valid")


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
