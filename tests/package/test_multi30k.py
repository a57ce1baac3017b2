"""Multi30k from a folder, plain or gzipped, on files made here: its own text stays outside."""

import gzip
import re

import pytest

from transformer_ref.data import load_multi30k

GERMAN = "Zwei Hunde spielen.\n  Ein Mädchen\u2028lacht. \nGrün\n"
ENGLISH = "Two dogs play.\nA girl laughs.\nGreen\n"
PAIRS = [
    ("Zwei Hunde spielen.", "Two dogs play."),
    ("Ein Mädchen\u2028lacht.", "A girl laughs."),  # U+2028 does not end a line of the file
    ("Grün", "Green"),
]


@pytest.fixture
def folder(tmp_path):
    for split in ("train", "val", "test_2016_flickr"):
        (tmp_path / f"{split}.de").write_text(GERMAN, encoding="utf-8")
        (tmp_path / f"{split}.en").write_text(ENGLISH, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("split", ["train", "val", "test_2016_flickr"])
def test_plain_files(folder, split):
    assert load_multi30k(folder, split) == PAIRS


def test_each_split_has_its_own_files(folder):
    (folder / "val.de").write_text("Katze\n")
    (folder / "val.en").write_text("Cat\n")
    assert load_multi30k(str(folder), "val") == [("Katze", "Cat")]
    assert load_multi30k(str(folder), "train") == PAIRS


def test_gzipped_files_and_a_mixture(folder):
    content = (folder / "val.de").read_bytes()
    (folder / "val.de").unlink()
    (folder / "val.de.gz").write_bytes(gzip.compress(content))
    assert load_multi30k(folder, "val") == PAIRS


def test_windows_line_ends_and_a_missing_last_one(folder):
    (folder / "val.de").write_bytes(GERMAN.replace("\n", "\r\n").encode())
    (folder / "val.en").write_bytes(ENGLISH.removesuffix("\n").encode())
    assert load_multi30k(folder, "val") == PAIRS


def test_an_unknown_split_is_refused_by_name(folder):
    expected = r'split must be "train", "val" or "test_2016_flickr", got \'test\''
    with pytest.raises(ValueError, match=expected):
        load_multi30k(folder, "test")


def test_what_is_missing_is_named_with_where_to_get_it_and_its_licence(folder):
    where = "https://github.com/multi30k/dataset .for research and education only."
    with pytest.raises(OSError, match=rf"missing: .*nowhere does not exist; get .*{where}"):
        load_multi30k(folder / "nowhere", "val")
    (folder / "val.en").unlink()
    with pytest.raises(OSError, match=rf"missing: .*val.en does not exist \(nor .gz\); .*{where}"):
        load_multi30k(folder, "val")


def test_languages_of_different_length_are_refused(folder):
    (folder / "val.en").write_text(ENGLISH + "One more.\n")
    expected = r"val.de and val.en must have the same number of lines, got 3 and 4"
    with pytest.raises(OSError, match=expected):
        load_multi30k(folder, "val")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("val.de", "Grün".encode("latin-1"), "utf-8"),
        ("val.de", b"\n\n", "it holds no text"),
        ("val.de.gz", b"not gzip", "gzip"),
        ("val.de.gz", gzip.compress(b"word " * 100)[:-12], "end-of-stream"),
        ("val.de.gz", gzip.compress(b"word")[:10] + b"\x07" * 30, "decompressing"),
        ("val.de.gz", gzip.compress("Grün".encode("latin-1")), "utf-8"),
    ],
    ids=["latin-1", "blank", "not gzip", "cut short", "bits flipped", "latin-1 gzipped"],
)
def test_damaged_files_are_named(folder, name, content, reason):
    (folder / "val.de").unlink()
    (folder / name).write_bytes(content)
    damaged = rf"Multi30k is damaged: {re.escape(str(folder / name))}: .*{reason}"
    with pytest.raises(OSError, match=damaged):
        load_multi30k(folder, "val")
