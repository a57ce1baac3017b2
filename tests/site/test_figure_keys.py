"""The figure of the chapter on depth that hides keys of a trained reader."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

pytestmark = pytest.mark.browser

PAGE = "book/depth.html"
FIGURE = "keys"
LAYERS = (0, 1)


def data_of(figure: Locator) -> dict[str, Any]:
    """Return what the page holds."""
    script = figure.page.locator('script.moving-data[data-for="keys"]')
    held: dict[str, Any] = json.loads(script.text_content() or "")
    return held


def ask(figure: Locator, index: int) -> None:
    """Choose a question."""
    figure.get_by_label("Who asks?").select_option(str(index))


def weight_of(figure: Locator, layer: int, key: int) -> Locator:
    """Return the button that hides a key."""
    return figure.locator("tbody tr").nth(key).get_by_role("button").nth(layer)


def effects(figure: Locator) -> list[list[str]]:
    """Return the cells of the map on the right, by layers."""
    columns = [figure.locator(f"tbody td.keys-effect:nth-child({4 + i})") for i in LAYERS]
    return [column.all_inner_texts() for column in columns]


def words_of(figure: Locator) -> str:
    """Return what the figure says."""
    return figure.locator(".moving-words").inner_text()


def shown_shares(figure: Locator) -> list[float]:
    """Return the probabilities of the bars."""
    bars = figure.locator(".keys-bars [data-share]")
    return [float(bar.get_attribute("data-share") or "") for bar in bars.all()]


def followed_at(letters: list[str]) -> int:
    """Return the place after the first time of the letter that asks."""
    return letters.index(letters[-1]) + 1


def test_nothing_is_given_away_at_first(figure: Locator) -> None:
    for index, question in enumerate(data_of(figure)["questions"]):
        ask(figure, index)
        count = len(question["letters"])
        assert effects(figure) == [["?"] * count] * 2
        assert f"Tried: 0 of {2 * count}. The answer changed: 0." in words_of(figure)
        assert shown_shares(figure) == question["answer"]


def test_each_answer_is_the_computed_one(figure: Locator) -> None:
    held = data_of(figure)
    for index, question in enumerate(held["questions"]):
        ask(figure, index)
        for layer in LAYERS:
            for key, letter in enumerate(question["letters"]):
                button = weight_of(figure, layer, key)
                share = question["weights"][layer][-1][key]
                assert button.inner_text() == f"{100 * share:.0f}%"
                button.press("Enter")
                shares = question["without"][layer][key]
                assert shown_shares(figure) == shares
                said = held["symbols"][shares.index(max(shares))]
                assert effects(figure)[layer][key] == f"{said} {100 * max(shares):.0f}%"
                text = words_of(figure)
                assert f"With {letter} at place {key} hidden in layer {layer}, the answer" in text
                right = held["symbols"][question["right"]]
                assert (f"stays {said}" in text) is (said == right)
        # What the chapter says: the letter before the answer in layer 0, the answer in layer 1.
        followed = followed_at(question["letters"])
        changed = figure.locator("tbody tr").evaluate_all(
            "rows => rows.map((row) => [...row.querySelectorAll('.keys-effect')]"
            ".map((cell) => cell.classList.contains('keys-changed')))"
        )
        found = {(layer, key) for key, row in enumerate(changed) for layer in LAYERS if row[layer]}
        assert found == {(0, followed - 1), (1, followed)}
        assert words_of(figure).endswith("The answer changed: 2.")


def test_the_key_that_is_needed_below_has_its_weight_from_another_letter(figure: Locator) -> None:
    question = data_of(figure)["questions"][0]
    followed = followed_at(question["letters"])
    weight_of(figure, 0, followed - 1).press("Space")
    text = words_of(figure)
    own = re.search(
        r"the last g gave it (\d+)% of its weight, and b at place 4 gave it (\d+)%", text
    )
    assert own
    assert int(own[1]) < 10 < 60 < int(own[2])
    weight_of(figure, 0, len(question["letters"]) - 2).press("Space")
    assert "more than any other letter did" in words_of(figure)


def test_a_second_press_shows_the_key_again_and_what_was_tried_stays(figure: Locator) -> None:
    needed = followed_at(data_of(figure)["questions"][0]["letters"])
    button = weight_of(figure, 1, needed)
    button.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")
    button.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "false")
    assert "Nothing is hidden" in words_of(figure)
    ask(figure, 1)
    assert "Tried: 0" in words_of(figure)
    ask(figure, 0)
    assert effects(figure)[1][needed] != "?"
    assert "Tried: 1 of 26. The answer changed: 1." in words_of(figure)


def test_all_can_be_shown_at_once(figure: Locator) -> None:
    figure.get_by_role("button", name="Show all").press("Enter")
    assert not any("?" in column for column in effects(figure))
    assert "Tried: 26 of 26. The answer changed: 2." in words_of(figure)


def test_the_arrows_lead_from_weight_to_weight(figure: Locator) -> None:
    weight_of(figure, 0, 0).focus()
    for key, place in (("ArrowDown", (0, 1)), ("ArrowRight", (1, 1)), ("ArrowUp", (1, 0))):
        figure.page.keyboard.press(key)
        expect(weight_of(figure, *place)).to_be_focused()
    figure.page.keyboard.press("ArrowUp")
    expect(weight_of(figure, 1, 0)).to_be_focused()
    expect(figure.locator('tbody button[tabindex="0"]')).to_have_count(1)


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_a_finger_has_room_and_the_page_stays_in_place(
    figure_at: Callable[..., Locator], width: int
) -> None:
    figure = figure_at(width, has_touch=True)
    height = figure.evaluate("one => one.offsetHeight")
    for layer, key in ((0, 0), (1, 1), (0, 12)):
        weight_of(figure, layer, key).tap()
        assert figure.evaluate("one => one.offsetHeight") == height
    boxes = figure.locator("tbody button").evaluate_all(
        """buttons => buttons.map((button) => {
          const frame = button.closest("figure").getBoundingClientRect();
          const box = button.getBoundingClientRect();
          return [box.width, box.height, frame.right - box.right];
        })"""
    )
    assert min(min(wide, high) for wide, high, _ in boxes) >= 32
    assert min(room for _, _, room in boxes) >= 0
