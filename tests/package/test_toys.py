"""The toy tasks: right by definition, the same by seed, no example in two splits, learnable."""

import datetime
import re
import unicodedata

import pytest
from babel.dates import format_date, parse_date

from transformer_ref.applications.toys import FORMATS, LOCALES, date_pairs, reversal_pairs

SPLITS = ("train", "dev", "test")


@pytest.mark.parametrize("draw", [reversal_pairs, date_pairs])
def test_the_seed_decides_the_pairs(draw):
    assert draw("dev", 50, seed=1) == draw("dev", 50, seed=1)
    assert draw("dev", 50, seed=1) != draw("dev", 50, seed=2)
    assert draw("dev", 50) == draw("dev", 50, seed=0)
    assert draw("train", 20) == draw("train", 50)[:20]


@pytest.mark.parametrize("draw", [reversal_pairs, date_pairs])
def test_no_answer_is_in_two_splits_whatever_the_seed(draw):
    answers = {
        split: {answer for seed in (0, 1) for _, answer in draw(split, 500, seed=seed)}
        for split in SPLITS
    }
    assert not answers["train"] & answers["dev"]
    assert not answers["train"] & answers["test"]
    assert not answers["dev"] & answers["test"]


def test_reversal_reverses_strings_of_every_length():
    pairs = reversal_pairs("train", 2000, max_length=6)
    assert all(answer == "".join(reversed(text)) for text, answer in pairs)
    lengths = [len(text) for text, _ in pairs]
    assert set(lengths) == set(range(1, 7))
    assert all(lengths.count(n) == pytest.approx(2000 / 6, rel=0.25) for n in range(1, 7))
    assert set("".join(text for text, _ in pairs)) == set("abcdefghijklmnopqrstuvwxyz")


def test_dates_are_iso_of_the_day_that_is_written():
    """Each written form is looked up among all forms of the day and of its neighbours."""
    for text, iso in date_pairs("dev", 100):
        day = datetime.date.fromisoformat(iso)
        assert 1900 <= day.year <= 2099
        forms = {format_date(day, style, locale) for style in FORMATS for locale in LOCALES}
        assert text in forms


def test_dates_by_hand():
    pairs = dict(date_pairs("train", 2000, seed=3))
    german = next(pair for pair in pairs.items() if ". März " in pair[0])
    day, _, year = german[0].rpartition(", ")[2].split()
    assert german[1] == f"{year}-03-{int(day.rstrip('.')):02}"
    japanese = [(text, iso) for text, iso in pairs.items() if "/" in text]
    assert all(text.replace("/", "-") == iso for text, iso in japanese)
    assert japanese
    numeric = [pair for pair in pairs.items() if re.fullmatch(r"\d\d\.\d\d\.\d{4}", pair[0])]
    assert all(parse_date(text, locale="de").isoformat() == iso for text, iso in numeric)
    assert numeric


def test_all_scripts_and_orders_come():
    texts = [text for text, _ in date_pairs("train", 1000)]
    scripts = {unicodedata.name(letter).split()[0] for letter in "".join(texts) if letter.isalpha()}
    assert scripts >= {"LATIN", "GREEK", "CYRILLIC", "CJK", "HANGUL"}
    for part in ("tháng", " de ", "March", "März", "/", "kuuta", ", "):
        assert any(part in text for text in texts), part


def test_no_two_days_are_written_alike():
    """Else no model could be right: that is why the short format is left out."""
    owner: dict[str, datetime.date] = {}
    for ordinal in range(366):
        day = datetime.date(2000, 1, 1) + datetime.timedelta(days=ordinal)
        for locale in LOCALES:
            for style in FORMATS:
                assert owner.setdefault(format_date(day, style, locale), day) == day
