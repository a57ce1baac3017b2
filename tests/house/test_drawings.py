"""The drawings of the book are what their modules draw, and can be read."""

from __future__ import annotations

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest

from tools.drawings.__main__ import ASSETS, all_drawings, all_files, main
from tools.drawings.kit import Area, Drawing
from tools.drawings.model_map import CHAPTERS, PARTS
from tools.drawings.palette import DARK_PAGE, LIGHT_PAGE

DRAWINGS = all_drawings()
EVERY_DRAWING = pytest.mark.parametrize("name", DRAWINGS)
PHONE = 348  # pixels for a drawing on a phone of 380
PAGE = 688  # and on a page


def test_the_files_are_what_the_modules_draw() -> None:
    files = all_files()
    there = {path for path in ASSETS.glob("drawings/**/*") if path.is_file()}
    assert there == {path for path in files if path.suffix == ".svg"}
    for path, text in files.items():
        assert path.read_text(encoding="utf-8") == text, "run `make drawings`"


def test_a_stale_file_is_told_and_made_again(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr("tools.drawings.__main__.ASSETS", tmp_path)
    assert main(["--check"]) == 1
    assert not list(tmp_path.rglob("*.svg"))
    assert main([]) == 0
    assert main(["--check"]) == 0
    stale = tmp_path / "drawings/attention/heads.svg"
    stale.write_text("<svg/>")
    assert main(["--check"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "stale: drawings/attention/heads.svg"


@EVERY_DRAWING
def test_no_two_texts_stand_in_the_same_place(name: str) -> None:
    for (one, here), (other, there) in combinations(DRAWINGS[name].words, 2):
        across = min(here.right, there.right) - max(here.x, there.x)
        down = min(here.bottom, there.bottom) - max(here.y, there.y)
        # A character's width is an estimate from above, so texts may touch by it.
        assert across <= 5 or down <= 2, f"{one!r} and {other!r}"


@EVERY_DRAWING
def test_letters_can_be_read_where_the_drawing_is_scaled_down(name: str) -> None:
    root = ElementTree.fromstring(DRAWINGS[name].svg())
    wide = f"{name}-narrow" in DRAWINGS
    scale = min(1, (PAGE if wide else PHONE) / float(root.attrib["width"]))
    smallest = min(float(text.attrib["font-size"]) for text in root.iterfind(".//{*}text"))
    assert scale * smallest >= 11


@EVERY_DRAWING
def test_every_class_has_a_look(name: str) -> None:
    root = ElementTree.fromstring(DRAWINGS[name].svg())
    style = root.findtext("{*}style") or ""
    classes = {word for element in root.iter() for word in element.get("class", "").split()}
    for word in classes:
        assert re.search(rf"\.{word}\b", style), word


def luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("page", [LIGHT_PAGE, DARK_PAGE], ids=["light", "dark"])
def test_every_color_can_be_read_on_the_page(page: dict[str, str]) -> None:
    ground = luminance(page["ground"])
    for name, color in page.items():
        if name != "ground":
            high, low = sorted([luminance(color), ground], reverse=True)
            assert (high + 0.05) / (low + 0.05) >= 4.5, name
    assert LIGHT_PAGE.keys() == DARK_PAGE.keys()


def test_chapters_light_parts_that_there_are() -> None:
    assert {part for lit in CHAPTERS.values() for part in lit} == set(PARTS)


def test_a_grid_shows_its_numbers_and_a_drawing_is_as_large_as_what_is_on_it() -> None:
    drawing = Drawing()
    area = drawing.grid((10, 20), [[1.0, -0.5], [0.125, 3.0]], "key", cell=(40, 20))
    assert area == Area(10, 20, 80, 40)
    root = ElementTree.fromstring(drawing.svg())
    texts = [element.text for element in root.iterfind("{*}text")]
    assert texts == ["1", "\N{MINUS SIGN}0.50", "0.12", "3"]
    assert root.attrib["viewBox"] == "4 14 92 52"


def test_an_underscore_makes_a_subscript() -> None:
    drawing = Drawing()
    drawing.text((0, 0), "X W_q = Q")
    text = ElementTree.fromstring(drawing.svg()).find("{*}text")
    assert text is not None
    assert "".join(text.itertext()).replace("\n", "") == "X Wq = Q"
    assert [float(part.attrib["dy"]) for part in text] == [3.5, -3.5]
