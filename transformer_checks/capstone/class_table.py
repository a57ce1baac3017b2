"""The points of a whole class, as a table: ``python -m transformer_checks.capstone``."""

from __future__ import annotations

import argparse
import csv
import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from transformer_checks.capstone.ablation import REPORT_FILE, Rates, read_ablation
from transformer_checks.capstone.notebook import load_gold
from transformer_checks.capstone.predictions import read_predictions
from transformer_checks.capstone.reading import HandedInError, unreadable
from transformer_checks.capstone.scoring import FILE, TOO_GOOD, Answer, score_predictions
from transformer_ref.data import Entry
from transformer_ref.files import write_text
from transformer_ref.g2p import load_g2p

# The model that ships is asked for so many words of a class's, spread over all: a second or two.
ASKED = 500
# Of fewer words a good model may say all as the one that ships does.
FEWEST = 200
# The model that ships is wrong in about every fourth word, each time in a way of its own.
SAME = 0.99


@dataclass
class Row:
    """What the table says of one student; empty where there is nothing to say.

    Attributes:
        student: who.
        points: for the predictions, of ``POINTS``.
        per: phoneme error rate, a fraction.
        wer: word error rate, a fraction.
        problem: why there are no rates.
        report_points: for the report, of ``REPORT_POINTS``.
        report_problem: what is wrong with the report.
        remark: what somebody should look at.
    """

    student: str
    points: int = 0
    per: str = ""
    wer: str = ""
    problem: str = ""
    report_points: int = 0
    report_problem: str = ""
    remark: str = ""


def find_files(paths: Sequence[Path]) -> list[tuple[str, Path]]:
    """List the files to judge, with their students.

    Args:
        paths: files, or folders as nbgrader's folder of submissions: one folder for each student.

    Returns:
        Pairs of student and predictions; a student without the file is among them. The report
        lies beside it.
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
    """Judge the predictions and reports of a class, one student after the other.

    Args:
        files: students with their predictions; the report of each lies in the same folder.
        gold: the words, with their listed pronunciations.

    Yields:
        a row for each, whatever is wrong with the file.
    """
    said: dict[tuple[tuple[str, ...], ...], str] = {}
    reported: dict[Rates, str] = {}
    for student, path in files:
        row = Row(student)
        remarks = [
            _judge_predictions(row, path, gold, said),
            _judge_report(row, path.with_name(REPORT_FILE), reported),
        ]
        row.remark = "; ".join(filter(None, remarks))
        yield row


def _judge_predictions(
    row: Row, path: Path, gold: Sequence[Entry], seen: dict[tuple[tuple[str, ...], ...], str]
) -> str:
    """Fill in what there is to say of the predictions; return the remark."""
    try:
        _refuse_link(path)
        score = score_predictions(read_predictions(path, [word for word, _ in gold]), gold)
    except HandedInError as error:
        row.problem = _on_one_line(error)
        return ""
    row.points, row.per, row.wer = score.points, f"{score.per:.4f}", f"{score.wer:.4f}"
    first = seen.setdefault(tuple(answer.said for answer in score.answers), row.student)
    remarks = [f"the same answers as {first}"] if first != row.student else []
    if score.reaches(TOO_GOOD):
        remarks.append("better than any published model")
    if says_what_ships_says(score.answers):
        remarks.append("the answers of the model that ships with the course")
    return "; ".join(remarks)


def says_what_ships_says(answers: Sequence[Answer]) -> bool:
    """Say whether predictions are those of the model that ships with the course.

    Args:
        answers: word by word; nothing can be said of fewer than ``FEWEST``.

    Returns:
        whether hardly one word differs, of ``ASKED`` that are spread over all.
    """
    some = answers[:: max(1, len(answers) // ASKED)]
    if len(some) < FEWEST:
        return False
    theirs = _what_ships_says(tuple(answer.word for answer in some))
    same = sum(answer.said == said for answer, said in zip(some, theirs, strict=True))
    return same >= SAME * len(some)


@cache
def _what_ships_says(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [tuple(said) for said in load_g2p().pronounce_all(words)]


def _judge_report(row: Row, path: Path, seen: dict[Rates, str]) -> str:
    """Fill in what there is to say of the report; return the remark."""
    try:
        _refuse_link(path)
        ablation = read_ablation(path)
    except HandedInError as error:
        row.report_problem = _on_one_line(error)
        return ""
    row.report_points = ablation.points
    row.report_problem = "; ".join(map(str, ablation.problems))
    first = seen.setdefault(ablation.rates, row.student) if ablation.rates else row.student
    return f"the same rates in the report as {first}" if first != row.student else ""


def _refuse_link(path: Path) -> None:
    """Refuse what may lead to another's work."""
    if path.is_symlink() or path.parent.is_symlink():
        raise unreadable(path, "links", "it is a link; expected the file itself")


def _on_one_line(error: HandedInError) -> str:
    return "; ".join(str(error).split("\n  "))


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
        prog="python -m transformer_checks.capstone",
        description="Judge files of predictions without running anything of a student, and print "
        "a CSV table: student, points, PER, WER, problem, the report's points and problem, remark.",
    )
    parser.add_argument(
        "paths",
        nargs="+",
        type=Path,
        help=f"files {FILE}, or a folder with <student>/capstone/{FILE} in it; "
        f"{REPORT_FILE} lies beside it",
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
