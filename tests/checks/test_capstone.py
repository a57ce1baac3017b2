"""The capstone's file of predictions: what is read, what is refused by which name, and the points.

What `make grader-report` is to the tasks, the two lists BAD and GOOD are here: every kind of broken
file is refused and named, every harmless way to pack a right one is accepted.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest

from transformer_checks import capstone
from transformer_checks.capstone import (
    STEPS,
    Answer,
    Score,
    align,
    check_predictions,
    predictions,
    report,
    score_predictions,
    should_train,
    write_ablation,
)
from transformer_checks.capstone.class_table import says_what_ships_says
from transformer_checks.capstone.predictions import (
    read_gold,
    read_predictions,
    write_predictions,
)
from transformer_checks.capstone.reading import HandedInError
from transformer_ref.data import PHONEMES, load_cmudict
from transformer_ref.g2p import load_g2p
from transformer_ref.metrics import phoneme_error_rate, word_error_rate

GOLD = [
    ("abel", [["EY", "B", "AH", "L"]]),
    ("adam's", [["AE", "D", "AH", "M", "Z"]]),
    ("read", [["R", "IY", "D"], ["R", "EH", "D"]]),
    ("two", [["T", "UW"]]),
]
WORDS = [word for word, _ in GOLD]
RIGHT = {word: variants[0] for word, variants in GOLD}
TEXT = "word,phones\nabel,EY B AH L\nadam's,AE D AH M Z\nread,R IY D\ntwo,T UW\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "predictions.csv"


@pytest.fixture
def gold_file(tmp_path: Path) -> Path:
    path = tmp_path / "own" / "gold.csv"
    path.parent.mkdir()
    path.write_text(TEXT + "read,R EH D\n")
    return path


def problems_of(file: Path, words: Sequence[str] = WORDS) -> list[str]:
    with pytest.raises(HandedInError) as caught:
        read_predictions(file, words)
    return [str(problem) for problem in caught.value.problems]


# --- harmless packaging -----------------------------------------------------------------------

GOOD = {
    "as written": TEXT,
    "no newline at the end": TEXT.rstrip("\n"),
    "empty lines": TEXT.replace("\n", "\n\n") + "\n  \n",
    "Windows": TEXT.replace("\n", "\r\n"),
    "an old Mac": TEXT.replace("\n", "\r"),
    "a byte order mark": "\ufeff" + TEXT,
    "a byte order mark, as a spreadsheet saves it": "\ufeff" + TEXT.replace("\n", "\r\n"),
    "quotes around all": "".join(
        ",".join(f'"{each}"' for each in line.split(",")) + "\n" for line in TEXT.splitlines()
    ),
    "quotes around phones": TEXT.replace(",T UW", ',"T UW"'),
    "another order": "word,phones\n" + "\n".join(reversed(TEXT.splitlines()[1:])),
    "spaces around fields": TEXT.replace(",", " , ").replace("\n", " \n"),
    "a space before a quote": TEXT.replace(",T UW", ', "T UW"'),
    "several spaces between phones": TEXT.replace(" ", "   "),
    "tabs between phones": TEXT.replace(" ", "\t"),
}


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
def test_harmless_packaging_is_accepted(file: Path, text: str) -> None:
    file.write_bytes(text.encode())
    assert read_predictions(file, WORDS) == RIGHT
    assert [*read_predictions(file, WORDS)] == WORDS


# --- broken files -----------------------------------------------------------------------------


def changed(old: str, new: str) -> str:
    assert old in TEXT
    return TEXT.replace(old, new)


# What is in the file, and what must be said: the line, what was received, what was expected.
BAD: dict[str, tuple[str | bytes, str]] = {
    "a missing word": (changed("read,R IY D\n", ""), "no line for the word 'read'"),
    "a word twice": (TEXT + "two,T UW\n", "line 6: 'two' stands already in line 5; expected once"),
    "a word not asked for": (TEXT + "zzz,Z\n", "line 6: 'zzz' is none of the 4 words asked for"),
    "a training word": (TEXT + "abandon,AH\n", "line 6: 'abandon'*of the split 'train'"),
    "a dev word": (TEXT + "bercier,AH\n", "line 6: 'bercier'*of the split 'dev'"),
    "a word in capitals": (changed("abel", "Abel"), "line 2: 'Abel'*expected 'abel'"),
    "a curly apostrophe": (changed("adam's", "adam\u2019s"), 'line 3: *expected "adam\'s"'),
    "no word": (TEXT + ",T UW\n", "line 6: nothing stands before the comma"),
    "no phones": (changed("T UW", ""), "line 5: the pronunciation of 'two' is empty; expected"),
    "only spaces for phones": (changed("T UW", "   "), "line 5: *'two' is empty; expected"),
    "an unknown phone": (changed("T UW", "T OO"), "line 5: unknown phone 'OO'*'two'; expected one"),
    "a lower-case phone": (changed("T UW", "T uw"), "line 5: unknown phone 'uw'*expected 'UW'"),
    "a stress digit": (changed("T UW", "T UW1"), "line 5: unknown phone 'UW1'*expected 'UW'"),
    "lower case and stress": (changed("T UW", "T uw1"), "line 5: unknown phone 'uw1'*'UW'"),
    "an end token": (changed("T UW", "T UW <eos>"), "line 5: unknown phone '<eos>'*'two'"),
    "phones without spaces": (changed("T UW", "TUW"), "line 5: unknown phone 'TUW'"),
    "too many phones": (changed("T UW", "T " * 101), "line 5: *101 phones, expected at most 100"),
    "commas between phones": (changed("T UW", "T,UW"), "line 5: received 'two,T,UW': 3 fields"),
    "no comma": (changed("two,T UW", "two T UW"), "line 5: received 'two T UW': no comma"),
    "one semicolon": (changed("two,T", "two;T"), "line 5: *a comma, not semicolons"),
    "an open quote": (changed("two,T UW", 'two,"T UW'), "line 5: *quotation mark*not closed"),
    "an open quote early": (changed("abel,EY", 'abel,"EY'), "line 2: *quotation mark*not closed"),
    "all semicolons": (TEXT.replace(",", ";"), "line 1: *'word;phones'*'word,phones'*semicolons"),
    "all tabs": (TEXT.replace(",", "\t"), "line 1: the header is *expected 'word,phones'*tabs"),
    "no header": (
        TEXT.partition("\n")[2],
        "line 1: there is no header: *'abel,EY B AH L'*expected",
    ),
    "another header": (changed("word,phones", "a,b"), "line 1: the header is 'a,b', expected"),
    "a header in capitals": (changed("word,phones", "Word,Phones"), "line 1: *in lower case"),
    "columns the other way": (changed("word,phones", "phones,word"), "line 1: *the other order"),
    "a third column": (changed("word,phones", "word,phones,score"), "line 1: *'word,phones'"),
    "a column of row numbers": (changed("word,phones", ",word,phones"), "line 1: *index=False"),
    "nothing": ("", "it holds no text"),
    "only spaces": (" \n\n \n", "it holds no text"),
    "only a header": ("word,phones\n", "no line for the word 'abel' (the first of 4 missing)"),
    "UTF-16": (TEXT.encode("utf-16"), "it is text in UTF-16; expected plain text in UTF-8"),
    "UTF-16 without a mark": (TEXT.encode("utf-16-le"), "line 1: a character with the code 0"),
    "Latin-1": (changed("abel", "\xe4bel").encode("latin-1"), "line 2: the byte 0xe4 is not UTF-8"),
    "Latin-1 from Windows": (
        changed("two", "\xe4").replace("\n", "\r\n").encode("latin-1"),
        "line 5: the byte 0xe4 is not UTF-8",
    ),
    "a code of zero": (changed("UW", "U\0W"), "line 5: a character with the code 0"),
    "a spreadsheet": (b"PK\x03\x04" + bytes(50), "it is a spreadsheet"),
    "gzip": (b"\x1f\x8b\x08" + bytes(50), "it is compressed with gzip"),
    "too large": (b"x" * 5_000_001, "it has more than 5,000,000 bytes"),
    "a field too long for csv": (changed("T UW", "T" * 200_000), "line 5: "),
}


def says(message: str, expected: str) -> bool:
    """Whether the parts of `expected` between asterisks stand in the message, in this order."""
    place = 0
    for part in expected.split("*"):
        place = message.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return message.startswith(expected.split("*")[0])


@pytest.mark.weekly
@pytest.mark.parametrize(("content", "expected"), BAD.values(), ids=BAD)
def test_a_broken_file_is_refused_by_name(
    file: Path,
    gold_file: Path,
    content: str | bytes,
    expected: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    found = problems_of(file)
    # One fault is one problem, besides the words that go missing by it.
    (message,) = [message for message in found if "no line for" not in message] or found[:1]
    assert says(message, expected), message
    assert check_predictions(file, gold=gold_file) == 0.0
    printed = capsys.readouterr().out
    assert "predictions.csv cannot be scored: " in printed
    assert printed.endswith("Points: 0 of 16\n")
    assert all(len(line) < 300 for line in printed.splitlines())


def test_a_missing_file_is_named_with_what_stands_in_its_place(file: Path) -> None:
    assert problems_of(file) == ["there is no such file"]
    (file.parent / "predictions (1).csv").write_text(TEXT)
    assert problems_of(file) == ["there is no such file; in its place stands 'predictions (1).csv'"]
    assert problems_of(file.parent / "no" / "folder.csv") == ["there is no such file"]


def test_what_is_no_file_does_not_hang(file: Path) -> None:
    os.mkfifo(file)
    assert problems_of(file) == ["it is a folder or a device; expected a file"]
    assert problems_of(file.parent) == ["it is a folder or a device; expected a file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(file: Path) -> None:
    file.write_text(TEXT)
    file.chmod(0)
    assert problems_of(file) == ["it cannot be read: Permission denied"]


def test_all_problems_at_once_ten_of_them_and_a_count(file: Path) -> None:
    lines = [f"two{i},T" for i in range(30)] + ["two,oo", "abel"]
    file.write_text("word,phones\n" + "\n".join(lines))
    with pytest.raises(HandedInError) as caught:
        read_predictions(file, WORDS)
    assert len(caught.value.problems) == 34
    first, *shown, rest = str(caught.value).split("\n  ")
    assert first == "predictions.csv cannot be scored: 34 problems"
    assert len(shown) == 10
    assert rest == "and 24 more (words not asked for: 23; missing words: 1)"
    # One of each kind is among the ten, and they stand in the order of the file.
    for expected in ("line 2: 'two0'", "line 32: unknown", "line 33: received 'abel'", "no line"):
        assert any(line.startswith(expected) for line in shown)
    assert [line.split(":")[0] for line in shown[:9]] == [
        *(f"line {number}" for number in range(2, 9)),
        "line 32",
        "line 33",
    ]


def test_noise_never_ends_in_a_traceback(file: Path) -> None:
    draw = random.Random(0)
    pieces = ["word,phones", *TEXT.split("\n"), ",", '"', "\0", "\r", "\n", ";", "\u2028", "é", " "]
    for _ in range(500):
        text = "".join(draw.choice(pieces) for _ in range(draw.randint(0, 12)))
        file.write_bytes(text.encode() + bytes(draw.choices(range(256), k=draw.randint(0, 2))))
        with contextlib.suppress(HandedInError):
            assert read_predictions(file, WORDS)


# --- the score --------------------------------------------------------------------------------


def distance(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    """The edit distance once more, from its definition."""

    @cache
    def between(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        if a[i - 1] == b[j - 1]:
            return between(i - 1, j - 1)
        return 1 + min(between(i - 1, j - 1), between(i - 1, j), between(i, j - 1))

    return between(len(a), len(b))


def rates(
    said: dict[str, list[str]], gold: list[tuple[str, list[list[str]]]]
) -> tuple[int, int, float]:
    """PER in two numbers, and WER: of the nearest variants the longest counts."""
    edits = length = wrong = 0
    for word, variants in gold:
        options = [(distance(tuple(said[word]), tuple(v)), len(v)) for v in variants]
        nearest = min(edit for edit, _ in options)
        edits += nearest
        length += max(size for edit, size in options if edit == nearest)
        wrong += said[word] not in variants
    return edits, length, wrong / len(gold)


def spoiled(variants: list[list[str]], draw: random.Random, share: float) -> list[str]:
    """A pronunciation with phonemes left out, put in and changed."""
    said = []
    for phone in draw.choice(variants):
        if draw.random() < share:
            said += draw.choices(PHONEMES, k=draw.randint(0, 2))
        else:
            said.append(phone)
    return said or ["AH"]


@pytest.fixture(scope="module")
def some_gold() -> list[tuple[str, list[list[str]]]]:
    test = load_cmudict("test")
    several = [entry for entry in test if len(entry[1]) > 1]
    return random.Random(0).sample(test, 300) + several[:100]


@pytest.mark.parametrize("share", [0.0, 0.05, 0.3, 1.0])
def test_the_rates_are_those_of_a_second_way_to_count(
    some_gold: list[tuple[str, list[list[str]]]], share: float
) -> None:
    draw = random.Random(share)
    said = {word: spoiled(variants, draw, share) for word, variants in some_gold}
    score = score_predictions(said, some_gold)
    assert (score.edits, score.length, score.wer) == rates(said, some_gold)
    answers, references = [said[w] for w, _ in some_gold], [v for _, v in some_gold]
    assert score.per == phoneme_error_rate(answers, references)
    assert score.wer == word_error_rate(answers, references)
    assert (share == 0) == (score.edits == 0)


def test_an_alignment_has_as_many_differences_as_there_are_edits(
    some_gold: list[tuple[str, list[list[str]]]],
) -> None:
    draw = random.Random(1)
    for _, (wanted, *_) in some_gold:
        said = spoiled([wanted], draw, 0.4)
        pairs = align(wanted, said)
        assert sum(a != b for a, b in pairs) == distance(tuple(wanted), tuple(said))
        assert [a for a, _ in pairs if a != capstone.NOTHING] == wanted
        assert [b for _, b in pairs if b != capstone.NOTHING] == said


def of_rate(edits: int, length: int) -> Score:
    return Score((Answer("word", ("AH",) * length, ("AH",) * length, edits),))


@pytest.mark.parametrize(
    ("edits", "length", "points"),
    [
        (301, 1000, 0),
        (300, 1000, 3),
        (201, 1000, 3),
        (200, 1000, 5),
        (141, 1000, 5),
        (140, 1000, 7),
        (101, 1000, 7),
        (100, 1000, 9),
        (81, 1000, 9),
        (80, 1000, 13),
        (66, 1000, 13),
        (65, 1000, 16),
        (0, 1000, 16),
        (5151, 79239, 13),  # 6.5006%
        (5150, 79239, 16),
        (2000, 1000, 0),
    ],
)
def test_a_step_is_reached_exactly_and_not_by_rounding(
    edits: int, length: int, points: int
) -> None:
    assert of_rate(edits, length).points == points


def test_the_steps_rise_to_all_points() -> None:
    assert [step.points for step in STEPS] == sorted({step.points for step in STEPS})
    assert [step.permille for step in STEPS] == sorted(
        {step.permille for step in STEPS}, reverse=True
    )
    assert STEPS[-1].points == capstone.POINTS


@pytest.mark.parametrize("seed", range(5))
def test_more_right_words_never_score_less(
    some_gold: list[tuple[str, list[list[str]]]], seed: int
) -> None:
    draw = random.Random(seed)
    said = {word: spoiled(variants, draw, 0.45) for word, variants in some_gold}
    answers = {a.word: a for a in score_predictions(said, some_gold).answers}
    points = [Score(tuple(answers.values())).points]
    for word, variants in draw.sample(some_gold, len(some_gold)):
        right = draw.choice(variants)
        answers |= {word: score_predictions({word: right}, [(word, variants)]).answers[0]}
        points.append(Score(tuple(answers.values())).points)
    assert points == sorted(points)
    assert (points[0], points[-1]) == (0, capstone.POINTS)


def test_gold_without_words_and_words_without_answers_are_refused() -> None:
    with pytest.raises(ValueError, match="gold must hold at least one word"):
        score_predictions({}, [])
    with pytest.raises(ValueError, match="1 are missing: 'two'"):
        score_predictions({"abel": ["EY"], "adam's": ["AE"], "read": ["R"]}, GOLD)


def test_the_report_says_where_it_is_wrong() -> None:
    said = RIGHT | {"abel": ["AA", "B", "L"], "two": ["T", "UW", "UW"]}
    text = report(score_predictions(said, GOLD))
    assert "4 words: PER 21.43%, WER 50.00%" in text
    assert "1 to 4       3   33.3%   66.7%" in text
    assert "5 to 6       1    0.0%    0.0%" in text
    for pair in ("EY -> AA", "AH -> - ", "-  -> UW"):
        assert f"{pair:<9}     1" in text
    assert "abel: AA B L\n      EY B AH L\n" in text
    assert "two: T UW UW\n     T UW" in text
    assert "read:" not in text
    assert "wanted" not in report(score_predictions(RIGHT, GOLD))


# --- in the notebook --------------------------------------------------------------------------


def test_own_words_are_read_with_all_their_pronunciations(gold_file: Path) -> None:
    assert read_gold(gold_file) == GOLD


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("word,phones\n", "it holds no word"),
        ("word,phones\ntwo,OO\n", "line 2: unknown phone 'OO'"),
        ("word,phones\n,OW\n", "line 2: nothing stands before the comma"),
    ],
)
def test_own_words_that_cannot_be_read_are_named(file: Path, text: str, named: str) -> None:
    file.write_text(text)
    with pytest.raises(ValueError, match=named):
        read_gold(file)


def test_the_check_prints_points_and_the_next_step(
    file: Path, gold_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_predictions(file, RIGHT | {"abel": ["AA", "B", "L"], "two": ["T", "UW", "UW"]})
    points = check_predictions(file, points=8, gold=gold_file)
    assert points == 1.5
    assert capsys.readouterr().out.endswith(
        "Points: 1.5 of 8\n"
        "5 points are for a PER of 20% or less: 1 wrong phones fewer than your 3.\n"
    )


@pytest.mark.parametrize("points", [-1.0, float("nan"), float("inf")])
def test_points_that_are_no_points_are_refused(file: Path, points: float) -> None:
    with pytest.raises(ValueError, match="points must be a number from 0 up"):
        check_predictions(file, points=points)


def test_the_answers_themselves_have_all_points_and_a_question(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    test = load_cmudict("test")
    write_predictions(file, {word: variants[-1] for word, variants in test})
    assert check_predictions(file) == 16.0
    printed = capsys.readouterr().out
    assert "12,526 words: PER 0.00%, WER 0.00%" in printed
    assert "better than any published model" in printed
    # Every entry of the dictionary fits into what a line may hold.
    longest = max(len(variant) for _, variants in test for variant in variants)
    assert longest < predictions.MAX_PHONES


def test_training_happens_once_again_when_asked_and_never_in_grading(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    assert should_train(file)
    assert not capsys.readouterr().out
    file.write_text(TEXT)
    assert not should_train(file)
    assert "again=True" in capsys.readouterr().out
    assert should_train(file, again=True)
    for mode in ("autograde", "validate"):
        monkeypatch.setenv("NBGRADER_EXECUTION", mode)
        assert not should_train(file, again=True)
        file.unlink(missing_ok=True)
        assert not should_train(file)
        assert "handed in" in capsys.readouterr().out


def test_only_what_can_be_read_is_written(file: Path) -> None:
    write_predictions(file, RIGHT)
    assert file.read_text(encoding="utf-8") == TEXT
    with pytest.raises(ValueError, match="unknown phone 'OO' in the pronunciation of 'two'"):
        write_predictions(file, RIGHT | {"two": ["OO"]})
    with pytest.raises(ValueError, match="the pronunciation of 'two' is empty"):
        write_predictions(file, RIGHT | {"two": []})
    assert file.read_text(encoding="utf-8") == TEXT


# --- a whole class ----------------------------------------------------------------------------


@pytest.fixture
def submitted(tmp_path: Path) -> Path:
    """Five students and more: three have handed in what cannot be scored."""
    folder = tmp_path / "submitted"
    contents = {
        "ann": "".join(f"{line}\n" for line in TEXT.splitlines()).replace("T UW", "T OW"),
        "ben": TEXT.replace(",", ";"),
        "cay": None,
        "dee": TEXT.replace("T UW", "T oo").replace("two,", "to,"),
        "eve": TEXT.replace("\n", "\r\n").replace("T UW", "T OW"),
        "fay": TEXT,
        ".ipynb_checkpoints": TEXT,
    }
    for student, text in contents.items():
        place = folder / student / "capstone"
        place.mkdir(parents=True)
        if text is not None:
            (place / "predictions.csv").write_bytes(text.encode())
    values, rates = (0.05, 0.2), [[0.21, 0.2, 0.22], [0.23, 0.2, 0.21]]
    for student in ("ann", "cay", "fay"):
        place = folder / student / "capstone" / "ablation.json"
        write_ablation(place, "label_smoothing", values, rates, (1, 2, 3))
    wrong = place.read_text().replace("0.22]", "0.225]").replace("within chance", "better")
    place.write_text(wrong)  # fay's: a mean, and the verdict
    (folder / "ben" / "capstone" / "ablation.json").symlink_to(place)
    (folder / "dee" / "capstone" / "ablation.json").write_text("[1, 2")
    (folder / "gus" / "capstone").mkdir(parents=True)
    (folder / "gus" / "capstone" / "predictions.csv").symlink_to(
        folder / "fay" / "capstone" / "predictions.csv"
    )
    (folder / "notes.txt").write_text("not a student")
    return folder


def table(text: str) -> dict[str, dict[str, str]]:
    return {row["student"]: row for row in csv.DictReader(io.StringIO(text))}


def test_a_class_has_a_row_for_each_student(
    submitted: Path, gold_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert capstone.main([str(submitted), "--gold", str(gold_file)]) == 0
    rows = table(capsys.readouterr().out)
    assert list(rows) == ["ann", "ben", "cay", "dee", "eve", "fay", "gus"]
    assert [*rows["ann"]] == [
        *("student", "points", "per", "wer", "problem"),
        *("report_points", "report_problem", "remark"),
    ]
    assert [*rows["ann"].values()] == ["ann", "13", "0.0714", "0.2500", "", "4", "", ""]
    assert rows["eve"]["remark"] == "the same answers as ann"
    assert rows["fay"]["points"] == "16"
    assert rows["fay"]["remark"] == "better than any published model"
    for student, problem in {
        "ben": "1 problem; line 1: the header is 'word;phones'",
        "cay": "1 problem; there is no such file",
        "dee": "3 problems; line 5: 'to' is none of the 4 words asked for; it is of the split",
        "gus": "it is a link; expected the file itself",
    }.items():
        assert rows[student]["points"] == "0"
        assert rows[student]["per"] == rows[student]["wer"] == ""
        assert problem in rows[student]["problem"]


def test_a_class_has_the_points_and_problems_of_the_reports(
    submitted: Path, gold_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert capstone.main([str(submitted), "--gold", str(gold_file)]) == 0
    rows = table(capsys.readouterr().out)
    points = {student: row["report_points"] for student, row in rows.items()}
    expected = {"ann": "4", "cay": "4", "fay": "2"}
    assert points == dict.fromkeys(rows, "0") | expected
    assert rows["cay"]["remark"] == "the same rates in the report as ann"
    assert "same rates" not in rows["fay"]["remark"]
    for student, problem in {
        "ben": "it is a link; expected the file itself",
        "dee": "line 1: it is not JSON",
        "eve": "there is no such file",
        "fay": "without: mean: received 0.21, expected 0.2117; difference: received",
    }.items():
        assert problem in rows[student]["report_problem"]


def test_single_files_and_a_table_in_a_file(
    submitted: Path, gold_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [submitted / name / "capstone" / "predictions.csv" for name in ("fay", "ben")]
    alone = tmp_path / "mine.csv"
    alone.write_text(TEXT)
    output = tmp_path / "table.csv"
    arguments = [*map(str, [*files, alone]), "--gold", str(gold_file), "--output", str(output)]
    assert capstone.main(arguments) == 0
    assert not capsys.readouterr().out
    rows = table(output.read_text())
    assert list(rows) == ["fay", "ben", str(alone)]
    assert rows[str(alone)]["remark"].startswith("the same answers as fay")


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda folder: [], "the following arguments are required: paths"),
        (lambda folder: [folder / "nothing"], "no such file or folder"),
        (lambda folder: [folder], "no folder of a student"),
        (lambda folder: [Path(__file__), "--gold", folder / "no.csv"], "no.csv cannot be scored"),
        (lambda folder: [Path(__file__), "--output", folder / "no" / "table.csv"], "No such file"),
    ],
)
def test_only_wrong_options_are_errors_of_the_command(
    make: Callable[[Path], list[object]],
    named: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        capstone.main([str(each) for each in make(tmp_path)])
    assert ended.value.code == 2
    assert named in capsys.readouterr().err


@pytest.mark.weekly
def test_the_command_runs_as_the_guide_has_it(submitted: Path, gold_file: Path) -> None:
    command = [sys.executable, "-m", "transformer_checks.capstone"]
    done = subprocess.run(
        [*command, str(submitted), "--gold", str(gold_file)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr
    assert len(table(done.stdout)) == 7


def test_the_answers_of_the_model_that_ships_are_recognised() -> None:
    words = [word for word, _ in load_cmudict("test")][::50]
    said = dict(zip(words, load_g2p().pronounce_all(words), strict=True))
    gold = [entry for entry in load_cmudict("test") if entry[0] in said]
    one_word_changed = said | {words[0]: ["AA"]}
    one_in_ten_changed = said | {word: ["AA"] for word in words[::10]}
    right = {word: variants[0] for word, variants in gold}
    for what, copied in ((said, 1), (one_word_changed, 1), (one_in_ten_changed, 0), (right, 0)):
        assert says_what_ships_says(score_predictions(what, gold).answers) == bool(copied)
    few = score_predictions(said, gold[:100])
    assert not says_what_ships_says(few.answers)
