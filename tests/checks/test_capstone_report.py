"""The capstone's report on an ablation: what is accepted, and every fault by its name.

GOOD holds right reports in other packaging, BAD what is wrong with one, the points that are left,
and the words that must be said.
"""

from __future__ import annotations

import contextlib
import copy
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

from transformer_checks.capstone import check_ablation, write_ablation
from transformer_checks.capstone.ablation import (
    CRITERIA,
    EXAMPLE,
    REPORT_FILE,
    REPORT_POINTS,
    as_text,
    read_ablation,
    two_standard_errors,
)
from transformer_checks.capstone.reading import HandedInError
from transformer_ref.experiments.capstone.comparison import spread
from transformer_ref.experiments.results import load_results

RIGHT: dict[str, Any] = {
    "changed": "batch_size",
    "measured": "PER on dev",
    "seeds": [3, 5, 8],
    "without": {"value": 64, "rates": [0.31, 0.29, 0.33], "mean": 0.31},
    "with": {"value": 32, "rates": [0.24, 0.25, 0.23], "mean": 0.24},
    "difference": -0.07,
    "verdict": "better",
}
TEXT = as_text(RIGHT)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / REPORT_FILE


def changed(*place: str, to: object) -> str:
    """A right report with one field changed; ... takes the field away."""
    report = copy.deepcopy(RIGHT)
    inner = report
    for name in place[:-1]:
        inner = inner[name]
    if to is ...:
        del inner[place[-1]]
    else:
        inner[place[-1]] = to
    return json.dumps(report)


def swapped() -> str:
    """The same runs told from the other end: the change makes it worse."""
    report = RIGHT | {"without": RIGHT["with"], "with": RIGHT["without"]}
    return json.dumps(report | {"difference": 0.07, "verdict": "worse"})


def with_rates(rates: list[Any], mean: float, difference: float, verdict: str) -> str:
    other = {"value": 32, "rates": rates, "mean": mean}
    return json.dumps(RIGHT | {"with": other, "difference": difference, "verdict": verdict})


def of_setting(name: str, before: object, after: object) -> str:
    sides = {"without": RIGHT["without"] | {"value": before}}
    sides["with"] = RIGHT["with"] | {"value": after}
    return json.dumps(RIGHT | {"changed": name} | sides)


GOOD = {
    "as written": TEXT,
    "on one line": json.dumps(RIGHT),
    "a byte order mark": "\ufeff" + TEXT,
    "Windows": TEXT.replace("\n", "\r\n"),
    "another order": json.dumps(dict(reversed(RIGHT.items()))),
    "a field more": changed("remark", to="twice as many steps"),
    "worse": swapped(),
    "within chance": with_rates([0.31, 0.3, 0.29], 0.3, -0.01, "within chance"),
    "means rounded to three decimals": with_rates([0.2403, 0.2501, 0.2299], 0.24, -0.07, "better"),
    "a rate of 0 and a whole number": with_rates([0, 0, 0], 0, -0.31, "better"),
    "a model that says nothing": with_rates([1, 1, 1], 1.0, 0.69, "worse"),
    "a part of the model": of_setting("norm", "pre", "post"),
    "nothing as a value": of_setting("batch_tokens", None, 4000),
    "a pair as a value": of_setting("betas", [0.9, 0.98], [0.9, 0.999]),
    "true and false": of_setting("compile", False, True),
    "a whole number for a fraction": of_setting("dropout", 0, 0.1),
}


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
def test_a_right_report_has_all_points(
    file: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_bytes(text.encode())
    assert read_ablation(file).problems == ()
    points = check_ablation(file)
    assert points == 4.0
    assert capsys.readouterr().out.endswith("Points: 4 of 4\n")


# The content, the points that are left, and what must be said.
BAD: dict[str, tuple[str | bytes, int, str]] = {
    # The change and its seeds.
    "an unknown setting": (changed("changed", to="heads"), 3, "changed: received 'heads'"),
    "a setting that is no name": (changed("changed", to=[1]), 3, "changed: received a list of 1"),
    "the seed as the change": (of_setting("seed", 0, 1), 3, "a setting that is no seed"),
    "no change named": (changed("changed", to=...), 3, "changed: there is no such field, expected"),
    "no value": (changed("with", "value", to=...), 3, "with: value: there is no such field"),
    "text for a number": (of_setting("dropout", "no", 0.1), 3, "value: received 'no', expected"),
    "a fraction for a number": (of_setting("d_model", 64, 6.5), 3, "6.5, expected a whole number"),
    "an infinite number": (
        of_setting("dropout", 0.5, 0.75).replace("0.75", "1e999"),
        3,
        "with: value: received Infinity, expected a number",
    ),
    "an unknown choice": (of_setting("norm", "pre", "no"), 3, "'no', expected 'post' or 'pre'"),
    "a list that is too short": (of_setting("betas", [0.9], [0.9, 1]), 3, "a list of 2 numbers"),
    "true for a number": (of_setting("epochs", True, 2), 3, "true, expected a whole number"),
    "text for null": (of_setting("batch_tokens", None, "many"), 3, "a whole number or null"),
    "a number for true": (of_setting("compile", 0, True), 3, "received 0, expected true or false"),
    "no change": (of_setting("norm", "pre", "pre"), 3, "both sides have 'pre', expected two diff"),
    "another measure": (changed("measured", to="PER on test"), 3, "received 'PER on test'"),
    "a seed twice": (changed("seeds", to=[1, 1, 2]), 3, "seeds: received 1, 1, 2, expected 3 diff"),
    "two seeds": (changed("seeds", to=[1, 2]), 3, "seeds: received a list of 2, expected a list"),
    "one seed": (changed("seeds", to=1), 3, "seeds: received 1, expected a list of 3 seeds"),
    "a seed that is text": (changed("seeds", to=[1, 2, "3"]), 3, "received '3', expected whole"),
    "a seed below 0": (changed("seeds", to=[1, 2, -3]), 3, "received -3, expected whole numbers"),
    "no seeds": (changed("seeds", to=...), 3, "seeds: there is no such field"),
    # The rates, without which the rest cannot be computed.
    "percent": (with_rates([24, 25, 23], 24, -7, "better"), 1, "0.24 and not 24 percent"),
    "a negative rate": (with_rates([-0.1, 0.2, 0.3], 0.1, 0, "better"), 1, "received -0.1"),
    "a rate far off": (with_rates([1e9, 0.2, 0.3], 0.1, 0, "better"), 1, "expected a fraction"),
    "a rate of 1e999": (TEXT.replace("0.25", "1e999"), 1, "rates: received Infinity, expected a"),
    "a rate that is text": (with_rates(["0.2", 0.2, 0.3], 0, 0, "better"), 1, "received '0.2'"),
    "a rate that is true": (with_rates([True, 0.2, 0.3], 0, 0, "better"), 1, "received true"),
    "a rate that is a list": (with_rates([[0], 0.2, 0.3], 0, 0, "better"), 1, "a list of 1, expec"),
    "two rates": (with_rates([0.2, 0.3], 0.25, 0, "better"), 1, "rates: received a list of 2"),
    "no rates": (changed("with", "rates", to=...), 1, "with: rates: there is no such field"),
    "rates without a list": (changed("with", "rates", to=0.2), 1, "rates: received 0.2, expected"),
    "all rates the same": (
        TEXT.replace("0.29, 0.33", "0.31, 0.31").replace("0.24, 0.25, 0.23", "0.31, 0.31, 0.31"),
        1,
        "rates: all six are 0.31, expected those of six runs",
    ),
    "a list for a side": (changed("with", to=[1]), 0, "received nothing, as 'with' is a"),
    "no side": (changed("with", to=...), 0, "received nothing, as 'with' is missing"),
    # What is computed from them.
    "a wrong mean": (changed("with", "mean", to=0.25), 3, "mean: received 0.25, expected 0.2400"),
    "a mean that is text": (changed("with", "mean", to="0.24"), 3, "mean: received '0.24'"),
    "no mean": (changed("with", "mean", to=...), 3, "mean: there is no such field"),
    "a huge mean": (changed("with", "mean", to=10**19), 3, "received 10000000000000000000"),
    "the other sign": (changed("difference", to=0.07), 3, "received 0.07, expected -0.0700"),
    "no difference": (changed("difference", to=None), 3, "difference: received null"),
    "the other verdict": (changed("verdict", to="worse"), 3, "verdict: received 'worse'"),
    "too careful": (changed("verdict", to="within chance"), 3, "two standard errors are 0.0258"),
    "too bold": (
        with_rates([0.31, 0.3, 0.29], 0.3, -0.01, "better"),
        3,
        "expected 'within chance'",
    ),
    "an unknown verdict": (changed("verdict", to="good"), 3, "expected one of 'better'"),
    "a verdict that is no text": (changed("verdict", to=[]), 3, "received an empty list, expected"),
    # What is no report at all.
    "nothing": (b"", 0, "line 1: it is not JSON: Expecting value, at column 1"),
    "cut off": (TEXT[:-10], 0, "it is not JSON: "),
    "Python's quotes": (str(RIGHT), 0, "line 1: it is not JSON: Expecting property name"),
    "a list": ("[1, 2]", 0, "it holds a list of 2, expected an object with fields in braces"),
    "null": ("null", 0, "it holds null, expected an object"),
    "half a character": ('"\\ud800"', 0, "it holds '\\ud800', expected an object"),
    "NaN": (TEXT.replace("0.25", "NaN"), 0, "received NaN, which JSON does not have"),
    "a field twice": (TEXT.replace("{", '{"seeds": 1,', 1), 0, "'seeds' stands in it twice, exp"),
    "thousands of digits": (TEXT.replace("32", "3" * 9000), 0, "a number of 9,000 digits"),
    "too deep": ("[" * 15_000, 0, "nested too deeply"),
    "too large": (" " * 20_001, 0, "it has more than 20,000 bytes; a report takes about 400"),
    "Latin-1": (TEXT.replace("PER", "\xe4").encode("latin-1"), 0, "the byte 0xe4 is not UTF-8"),
}


@pytest.mark.parametrize(("content", "points", "said"), BAD.values(), ids=BAD)
def test_a_fault_is_named_and_costs_its_points(
    file: Path, content: str | bytes, points: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert check_ablation(file) == points
    printed = capsys.readouterr().out
    assert said in printed
    assert printed.endswith(f"Points: {points} of 4\n")
    assert all(len(line) < 250 for line in printed.splitlines())


def test_every_fault_is_named(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text('{"with": {"value": 1}}')
    assert check_ablation(file) == 0.0
    printed = capsys.readouterr().out
    for field in ("changed", "without: value", "measured", "seeds", "without: rates"):
        assert f"{field}: " in printed
    file.write_text(changed("changed", to="heads").replace('"value": 32, ', ""))
    assert check_ablation(file) == 3.0
    assert "with: value: there is no such field, expected a value" in capsys.readouterr().out


def test_what_cannot_be_computed_is_said(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(changed("with", "rates", to=[0.2]))
    assert check_ablation(file) == 1.0
    assert capsys.readouterr().out.count("not computed, as the rates are not in order") == 2


def test_a_missing_file_is_named_with_what_stands_in_its_place(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (file.parent / "ablation.json.txt").write_text(TEXT)
    assert check_ablation(file) == 0.0
    assert "there is no such file; in its place stands 'ablation.json.txt'" in (
        capsys.readouterr().out
    )


def test_noise_never_ends_in_a_traceback(file: Path) -> None:
    draw = random.Random(0)
    junk = [None, True, -1, 10**19, 1e308, "", "\ud800", [], {}, [[]], {"value": 1}, [0.1] * 3]
    places = [("seeds",), ("with",), ("with", "rates"), ("with", "value"), ("without", "mean")]
    places += [("changed",), ("measured",), ("difference",), ("verdict",), ("without",)]
    for _ in range(1000):
        report = copy.deepcopy(RIGHT)
        for *outer, name in draw.sample(places, draw.randint(0, 4)):
            with contextlib.suppress(TypeError, IndexError):  # the outer one is junk by now
                (report[outer[0]] if outer else report)[name] = draw.choice(junk)
        text = json.dumps(report)
        start = draw.randrange(len(text)) if draw.random() < 0.3 else len(text)
        file.write_bytes(text[:start].encode() + bytes(draw.choices(range(256), k=start % 2)))
        assert 0 <= check_ablation(file) <= REPORT_POINTS


# --- the rule ---------------------------------------------------------------------------------


def test_the_limit_is_that_of_the_chapter() -> None:
    sides = [0.31, 0.29, 0.335], [0.24, 0.25, 0.23]
    assert two_standard_errors(*sides) == pytest.approx(2 * spread(sides) * (2 / 3) ** 0.5)


def test_chance_passes_it_as_often_as_the_exercise_says() -> None:
    """About once in nine times; Student's t with four degrees of freedom has 0.116."""
    draw = random.Random(0)
    passed = 0
    for _ in range(4000):
        sides = [[draw.gauss(0.2, 0.01) for _ in range(3)] for _ in range(2)]
        passed += abs(sum(sides[0]) - sum(sides[1])) / 3 > two_standard_errors(*sides)
    assert passed / 4000 == pytest.approx(0.116, abs=0.02)


def test_on_the_limit_both_verdicts_are_right(file: Path) -> None:
    """What was computed from rates before they were rounded may lie on the other side of it."""
    one = [0.3, 0.31, 0.32]
    limit = two_standard_errors(one, one)
    for verdict, allowed in (("within chance", True), ("worse", True), ("better", False)):
        other = [round(rate + limit, 4) for rate in one]
        sides = {"without": {"value": 64, "rates": one, "mean": 0.31}}
        sides["with"] = {"value": 32, "rates": other, "mean": sum(other) / 3}
        report = RIGHT | sides | {"difference": limit, "verdict": verdict}
        file.write_text(json.dumps(report))
        assert (read_ablation(file).points == 4) == allowed


# --- rates that come with the course ----------------------------------------------------------


def stored_rates() -> dict[str, list[float]]:
    rates: dict[str, list[float]] = {}
    for run in load_results("capstone")["runs"]:
        for split in ("dev", "test"):
            rates.setdefault(f"{run['name']} {split}", []).append(run[split]["per"])
    return {name: each for name, each in rates.items() if len(set(each)) > 1}


@pytest.mark.parametrize(("name", "rates"), stored_rates().items(), ids=stored_rates())
@pytest.mark.parametrize("digits", [5, 4])
def test_rates_of_the_chapter_are_refused(
    file: Path, name: str, rates: list[float], digits: int
) -> None:
    shown = [round(rate, digits) for rate in reversed(rates)]
    mean = sum(shown) / 3
    file.write_text(with_rates(shown, mean, mean - 0.31, "better"))
    with pytest.raises(HandedInError) as caught:
        read_ablation(file)
    assert f"with: the rates are those of the system {name.rpartition(' ')[0]!r}" in (
        str(caught.value)
    )
    assert check_ablation(file) == 0.0


def test_the_example_is_right_and_refused(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(as_text(EXAMPLE))
    assert check_ablation(file) == 0.0
    assert "those of the example (without); expected rates of your own" in capsys.readouterr().out
    # Other rates in its place would be accepted, so the form that it shows is right.
    shifted = copy.deepcopy(EXAMPLE)
    for side in ("without", "with"):
        shifted[side]["rates"] = [rate + 0.01 for rate in shifted[side]["rates"]]
        shifted[side]["mean"] += 0.01
    file.write_text(as_text(shifted))
    assert check_ablation(file) == 4.0


# --- writing ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(1, 21))
def test_what_is_written_is_right(file: Path, seed: int) -> None:
    draw = random.Random(seed)
    rates = [[draw.uniform(0.1, 0.1 + 0.01 * seed) for _ in range(3)] for _ in range(2)]
    write_ablation(file, "betas", ((0.9, 0.98), (0.9, 0.999)), rates, range(3))
    assert check_ablation(file) == 4.0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("heads", (1, 2), RIGHT, (0, 1, 2)), "changed: received 'heads'"),
        (("epochs", (1, 1), RIGHT, (0, 1, 2)), "both sides have 1"),
        (("epochs", (1, 2), RIGHT, (0, 1)), "seeds: received a list of 2"),
        (("epochs", (1, 2), [[0.1, 0.2, math.nan], [0.1] * 3], (0, 1, 2)), "received NaN"),
        (("epochs", (1, 2), [[0.1, 0.2, object()], [0.1] * 3], (0, 1, 2)), "object at"),
        (("epochs", (1, 2), [[10.0, 9.0, 8.0], [0.1] * 3], (0, 1, 2)), "0.1 and not 10 percent"),
        (("epochs", (1, 2), [[0.1] * 3], (0, 1, 2)), "got 2 and 1"),
    ],
)
def test_what_would_be_refused_is_not_written(
    file: Path, arguments: tuple[Any, ...], said: str
) -> None:
    name, values, rates, seeds = arguments
    if rates is RIGHT:
        rates = [RIGHT[side]["rates"] for side in ("without", "with")]
    file.write_text("before")
    with pytest.raises(ValueError, match=said):
        write_ablation(file, name, values, rates, seeds)
    assert file.read_text() == "before"


def test_there_is_a_point_for_each_criterion(file: Path) -> None:
    assert len(CRITERIA) == REPORT_POINTS
    file.write_text(changed("verdict", to="worse"))
    assert check_ablation(file, points=8) == 6.0
