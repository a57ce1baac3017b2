"""The capstone: points for a file of pronunciations, by their phoneme error rate.

Nothing of a student is run: the file is read, compared with the dictionary, and gets its points by
``STEPS``. For a whole class at once:

    python -m transformer_ref.checks.capstone course/submitted > capstone.csv
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from transformer_ref.checks.predictions import (
    PredictionsError,
    read_gold,
    read_predictions,
)
from transformer_ref.checks.predictions import write_predictions as write_predictions
from transformer_ref.data import Entry, load_cmudict
from transformer_ref.files import write_text
from transformer_ref.metrics import edit_distance

FILE = "predictions.csv"
POINTS = 20


@dataclass(frozen=True)
class Step:
    """What a phoneme error rate is worth.

    Attributes:
        permille: the highest rate that reaches it, in thousandths, so that it is exact.
        points: of ``POINTS``.
    """

    permille: int
    points: int

    @property
    def percent(self) -> str:
        """The highest rate for people, without the sign."""
        return f"{self.permille / 10:g}"

    def wrong_phones(self, length: int) -> int:
        """Return how many phonemes of `length` may be wrong."""
        return self.permille * length // 1000


# The one place where they stand; tests compare the tables in the exercise and the guide with it.
STEPS = (Step(300, 4), Step(200, 7), Step(140, 9), Step(100, 11), Step(80, 16), Step(65, 20))
# No published model comes near it, on whatever split.
TOO_GOOD = Step(40, 20)

NOTHING = "-"
_LENGTHS = ((1, 4), (5, 6), (7, 8), (9, 10), (11, 99))
_SHOWN = 10
_SHOWN_PHONES = 20


@dataclass(frozen=True)
class Answer:
    """One scored word.

    Attributes:
        word: the word.
        said: the predicted phonemes.
        wanted: the listed pronunciation that is nearest to them.
        edits: how far the two are apart.
    """

    word: str
    said: tuple[str, ...]
    wanted: tuple[str, ...]
    edits: int


@dataclass(frozen=True)
class Score:
    """Predictions compared with the listed pronunciations.

    Attributes:
        answers: word by word.
    """

    answers: tuple[Answer, ...]

    @property
    def edits(self) -> int:
        """How many phonemes of all words are wrong, be they left out, put in or another."""
        return sum(answer.edits for answer in self.answers)

    @property
    def length(self) -> int:
        """Phonemes over all words, of the nearest pronunciations."""
        return sum(len(answer.wanted) for answer in self.answers)

    @property
    def per(self) -> float:
        """The phoneme error rate, as :func:`transformer_ref.metrics.phoneme_error_rate` has it."""
        return self.edits / self.length

    @property
    def wer(self) -> float:
        """The share of words with an error, as in :mod:`transformer_ref.metrics`."""
        return sum(answer.edits > 0 for answer in self.answers) / len(self.answers)

    @property
    def points(self) -> int:
        """The points of the best step that is reached, or 0."""
        return max((step.points for step in STEPS if self.reaches(step)), default=0)

    @property
    def next_step(self) -> Step | None:
        """The nearest step that is not reached."""
        return next((step for step in STEPS if not self.reaches(step)), None)

    def reaches(self, step: Step) -> bool:
        """Say whether the rate, not rounded, is low enough for a step."""
        return self.edits <= step.wrong_phones(self.length)


def score_predictions(predictions: Mapping[str, Sequence[str]], gold: Sequence[Entry]) -> Score:
    """Compare pronunciations with the listed ones.

    Args:
        predictions: the phonemes of each word.
        gold: words with their listed pronunciations.

    Returns:
        The score; of equally near pronunciations the longest counts.

    Raises:
        ValueError: if `gold` is empty, or a word of it has no prediction.
    """
    if not gold:
        raise ValueError("gold must hold at least one word, got none")
    if missing := [word for word, _ in gold if word not in predictions]:
        raise ValueError(
            f"predictions must hold every word of gold, {len(missing)} are missing: {missing[0]!r}"
        )
    return Score(tuple(_compare(word, predictions[word], variants) for word, variants in gold))


def _compare(word: str, said: Sequence[str], variants: Sequence[Sequence[str]]) -> Answer:
    edits, _, wanted = min(
        (edit_distance(said, variant), -len(variant), tuple(variant)) for variant in variants
    )
    return Answer(word, tuple(said), wanted, edits)


# --- what is printed --------------------------------------------------------------------------


def report(score: Score) -> str:
    """Say how good predictions are, and where they are wrong.

    Args:
        score: of :func:`score_predictions`.

    Returns:
        several lines.
    """
    parts = [
        f"{len(score.answers):,} words: PER {score.per:.2%}, WER {score.wer:.2%}",
        _by_length(score),
    ]
    if score.edits:
        parts += [_confusions(score), _worst_words(score)]
    return "\n\n".join(parts)


def next_step(score: Score) -> str:
    """Say how far the next step is.

    Args:
        score: of :func:`score_predictions`.

    Returns:
        one line; "" where there is no further step.
    """
    if score.reaches(TOO_GOOD):
        return "That is better than any published model: were the answers looked up?"
    if (step := score.next_step) is None:
        return ""
    too_many = score.edits - step.wrong_phones(score.length)
    return (
        f"{step.points} points are for a PER of {step.percent}% or less: "
        f"{too_many:,} wrong phones fewer than your {score.edits:,}."
    )


def _by_length(score: Score) -> str:
    lines = ["letters  words     PER     WER"]
    for shortest, longest in _LENGTHS:
        part = [a for a in score.answers if shortest <= len(a.word) <= longest]
        if part:
            of_length = Score(tuple(part))
            name = f"{shortest} to {longest}" if longest < _LENGTHS[-1][1] else f"{shortest} up"
            lines.append(f"{name:<7}{len(part):>7,}{of_length.per:>8.1%}{of_length.wer:>8.1%}")
    return "\n".join(lines)


def _confusions(score: Score) -> str:
    counts = Counter(
        (wanted, said)
        for answer in score.answers
        if answer.edits
        for wanted, said in align(answer.wanted, answer.said)
        if wanted != said
    )
    shown = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_SHOWN]
    lines = [f"{wanted:<3}-> {said:<3}{count:>6,}" for (wanted, said), count in shown]
    return "\n".join([f"Most frequent, wanted -> said ({NOTHING} is nothing):", *lines])


def align(wanted: Sequence[str], said: Sequence[str]) -> list[tuple[str, str]]:
    """Put two pronunciations side by side, with as few differences as there can be.

    Args:
        wanted: phonemes.
        said: phonemes.

    Returns:
        Pairs; ``NOTHING`` stands for a phoneme that one of them lacks.
    """
    table = [[i + j for j in range(len(said) + 1)] for i in range(len(wanted) + 1)]
    for i, mine in enumerate(wanted, start=1):
        for j, yours in enumerate(said, start=1):
            table[i][j] = min(
                table[i - 1][j - 1] + (mine != yours), table[i - 1][j] + 1, table[i][j - 1] + 1
            )
    pairs = []
    i, j = len(wanted), len(said)
    while i or j:
        if i and j and table[i][j] == table[i - 1][j - 1] + (wanted[i - 1] != said[j - 1]):
            i, j = i - 1, j - 1
            pairs.append((wanted[i], said[j]))
        elif i and table[i][j] == table[i - 1][j] + 1:
            i -= 1
            pairs.append((wanted[i], NOTHING))
        else:
            j -= 1
            pairs.append((NOTHING, said[j]))
    return pairs[::-1]


def _worst_words(score: Score) -> str:
    wrong = [answer for answer in score.answers if answer.edits]
    worst = sorted(wrong, key=lambda a: (-a.edits, len(a.wanted), a.word))[:_SHOWN]
    lines = []
    for answer in worst:
        cut = " ..." * (len(answer.said) > _SHOWN_PHONES)
        lines.append(f"{answer.word}: {' '.join(answer.said[:_SHOWN_PHONES])}{cut}")
        lines.append(" " * (len(answer.word) + 2) + " ".join(answer.wanted))
    return "\n".join(["Furthest off, said above wanted:", *lines])


# --- in the notebook --------------------------------------------------------------------------


def should_train(path: str | Path = FILE, again: bool = False) -> bool:
    """Say whether a notebook should train now, and print why not.

    When a notebook is graded its cells run from the top. The file that was handed in counts then,
    and what takes an hour must not run again.

    Args:
        path: the file that the training makes.
        again: train although it is there.

    Returns:
        False while nbgrader grades or validates; else whether the file is missing or `again`.
    """
    if "NBGRADER_EXECUTION" in os.environ:
        print("Not trained: while the notebook is graded, the file that was handed in counts.")
        return False
    if Path(path).exists() and not again:
        print(f"Not trained: {Path(path).name} is there. To make it anew, say again=True.")
        return False
    return True


def check_predictions(
    path: str | Path = FILE, points: float = POINTS, gold: str | Path | None = None
) -> float:
    """Judge a file in a notebook: print what there is to say and return the points.

    Args:
        path: the file; see :func:`~transformer_ref.checks.predictions.read_predictions`.
        points: what the last step is worth.
        gold: a file of other words with their pronunciations, see
            :func:`~transformer_ref.checks.predictions.read_gold`; None = the test words of
            the dictionary.

    Returns:
        a plain float in [0, points], as the last value of a graded cell should be.

    Raises:
        ValueError: if `points` is no number from 0 up, or `gold` cannot be read. Whatever is in
            the file at `path` is never an exception.
    """
    worth = float(points)
    if not 0.0 <= worth < float("inf"):
        raise ValueError(f"points must be a number from 0 up, got {points!r}")
    entries = load_gold(gold)
    try:
        score = score_predictions(read_predictions(path, [word for word, _ in entries]), entries)
    except PredictionsError as error:
        print(f"{error}\nPoints: 0 of {worth:g}")
        return 0.0
    earned = round(worth * score.points / POINTS, 4)
    print(f"{report(score)}\n\nPoints: {earned:g} of {worth:g}\n{next_step(score)}".rstrip())
    return earned


def load_gold(path: str | Path | None = None) -> list[Entry]:
    """Return the words to pronounce, with their listed pronunciations.

    Args:
        path: a file of words; None = the test words of the dictionary.

    Returns:
        The words.

    Raises:
        PredictionsError: if the file cannot be read; it is a ValueError.
    """
    return load_cmudict("test") if path is None else read_gold(path)


# --- a whole class ----------------------------------------------------------------------------


@dataclass
class Row:
    """What the table says of one student; empty where there is nothing to say.

    Attributes:
        student: who.
        points: of ``POINTS``.
        per: phoneme error rate, a fraction.
        wer: word error rate, a fraction.
        problem: why there are no rates.
        remark: what somebody should look at.
    """

    student: str
    points: int = 0
    per: str = ""
    wer: str = ""
    problem: str = ""
    remark: str = ""


def find_files(paths: Sequence[Path]) -> list[tuple[str, Path]]:
    """List the files to judge, with their students.

    Args:
        paths: files, or folders as nbgrader's folder of submissions: one folder for each student.

    Returns:
        Pairs; a student without the file is among them.
    """
    found = []
    for path in paths:
        if path.is_dir():
            students = sorted(each for each in path.iterdir() if each.is_dir())
            found += [(each.name, each / "capstone" / FILE) for each in students]
        else:
            in_its_place = path.parent.name == "capstone" and path.parent.parent.name
            found.append((in_its_place or str(path), path))
    return [(student, path) for student, path in found if not student.startswith(".")]


def judge_all(files: Sequence[tuple[str, Path]], gold: Sequence[Entry]) -> Iterator[Row]:
    """Judge the files of a class, one after the other.

    Args:
        files: students with their files.
        gold: the words, with their listed pronunciations.

    Yields:
        a row for each, whatever is wrong with the file.
    """
    words = [word for word, _ in gold]
    seen: dict[tuple[tuple[str, ...], ...], str] = {}
    for student, path in files:
        if path.is_symlink() or path.parent.is_symlink():  # it may lead to another's work
            yield Row(student, problem=f"{path.name} is a link; expected the file itself")
            continue
        try:
            score = score_predictions(read_predictions(path, words), gold)
        except PredictionsError as error:
            yield Row(student, problem="; ".join(str(error).split("\n  ")))
            continue
        first = seen.setdefault(tuple(answer.said for answer in score.answers), student)
        remarks = [f"the same answers as {first}"] if first != student else []
        if score.reaches(TOO_GOOD):
            remarks.append("better than any published model")
        yield Row(
            student, score.points, f"{score.per:.4f}", f"{score.wer:.4f}", "", "; ".join(remarks)
        )


def as_csv(rows: Sequence[Row]) -> str:
    """Lay rows out as CSV, with a header.

    Args:
        rows: of students.

    Returns:
        the text of the file.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Row.__dataclass_fields__)
    writer.writerows(vars(row).values() for row in rows)
    return text.getvalue()


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge the files of a class and print a table.

    Args:
        arguments: None = those of the process.

    Returns:
        0, also if files are bad. Wrong options end the process with 2.
    """
    parser = argparse.ArgumentParser(
        prog="python -m transformer_ref.checks.capstone",
        description="Judge files of predictions without running anything of a student, and print "
        "a CSV table: student, points, PER, WER, problem, remark.",
    )
    parser.add_argument(
        "paths",
        nargs="+",
        type=Path,
        help=f"files {FILE}, or a folder with <student>/capstone/{FILE} in it",
    )
    parser.add_argument(
        "--gold", type=Path, help="score these words (a row word,phones for each pronunciation)"
    )
    parser.add_argument("--output", type=Path, help="write the table to a file")
    options = parser.parse_args(arguments)
    if missing := [str(path) for path in options.paths if not os.path.lexists(path)]:
        parser.error(f"no such file or folder: {', '.join(missing)}")
    files = find_files(options.paths)
    if not files:
        parser.error(f"no folder of a student in {', '.join(map(str, options.paths))}")
    try:
        table = as_csv([*judge_all(files, load_gold(options.gold))])
        if options.output:
            write_text(options.output, table)
        else:
            print(table, end="")
    except (ValueError, OSError) as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
