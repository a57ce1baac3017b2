"""The picture of the start page shows what the shipped model does."""

from __future__ import annotations

import re

import pytest

from tools.draw_hero import FAINTEST, PICTURE, draw, measure


def test_the_picture_is_that_of_the_shipped_model() -> None:
    phonemes, weights = measure()
    drawn = [float(text) for text in weight_texts(PICTURE.read_text(encoding="utf-8"))]
    expected = [weight for row in weights for weight in row if weight >= FAINTEST]
    assert phonemes == ["CH", "IY", "Z"]
    assert drawn == pytest.approx(expected, abs=0.02)


def test_every_phoneme_and_letter_is_drawn() -> None:
    picture = draw(["CH", "IY", "Z"], [[1.0, 0, 0, 0, 0, 0]] * 3)
    assert len(weight_texts(picture)) == 3
    assert re.findall(r">([A-Z]+)</text>", picture) == ["CH", "IY", "Z", *"CHEESE"]


def weight_texts(picture: str) -> list[str]:
    return re.findall(r'data-weight="([0-9.]+)"', picture)
