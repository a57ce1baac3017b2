"""The figures in which the reader walks through attention: three words by hand, and the speller."""

from __future__ import annotations

import math
import re

import pytest
import torch
from playwright.sync_api import Browser, Locator, Page, expect
from torch import Tensor

from tests.site.conftest import open_page
from transformer_ref.applications.g2p import load_g2p
from transformer_ref.attention import record_attention
from transformer_ref.experiments.attention import by_hand

pytestmark = pytest.mark.browser

PAGE, CLOSER = "book/attention.html", "book/closer/attention.html"
HAND_STEPS = ("Q", "K", "V", "products", "weights", "output")
# A sum in words has factors of two digits, weights, each times up to 4.
ROUNDED = {"output": 0.005 * (4 + 1 + 3)}
STEPS = ("Q", "K", "V", "products", "scores", "masked", "weights", "output")
MISTAKES = ("right", "axis", "root", "view")
FEATURES = 3  # so many are shown


@pytest.fixture
def walk(tab: Page, address: str) -> Locator:
    """Open the chapter and return its figure."""
    open_page(tab, f"{address}/{PAGE}")
    return tab.locator('figure[data-figure="walk"]')


@pytest.fixture
def long_walk(tab: Page, address: str) -> Locator:
    """Open the closer look and return its figure."""
    open_page(tab, f"{address}/{CLOSER}")
    return tab.locator('figure[data-figure="walk"]')


def go_to(walk: Locator, step: int) -> None:
    """Step back to the beginning, and on to a step."""
    back, forward = (walk.get_by_role("button", name=name) for name in ("Back", "Next"))
    while back.get_attribute("aria-disabled") == "false":
        back.click()
    for _ in range(step):
        forward.click()


def grid(walk: Locator) -> Tensor:
    """Return the numbers of the result."""
    rows = walk.locator(".walk-result tr").evaluate_all(
        "rows => rows.map((row) => [...row.querySelectorAll('[role=gridcell]')]"
        ".map((cell) => cell.textContent)).filter((row) => row.length)"
    )
    return torch.tensor([[value_of(cell) for cell in row] for row in rows])


def value_of(text: str) -> float:
    """Return a number as the figure writes it."""
    return float(text.replace("\N{MINUS SIGN}", "-").replace("\N{INFINITY}", "inf"))


def said(walk: Locator) -> list[str]:
    """Return the lines of words, with a hyphen for the minus sign."""
    lines = walk.locator(".moving-words li").all_inner_texts()
    return [line.replace("\N{MINUS SIGN}", "-") for line in lines]


def computed(line: str) -> tuple[float, float]:
    """Compute the left side of a sum that the figure writes; return it and the right side."""
    parts = line.replace("\N{MIDDLE DOT}", "*").split(" = ")
    term = re.sub(r"\N{SQUARE ROOT}(\d+)", r"\1 ** 0.5", parts[0])
    assert re.fullmatch(r"[-+*/(). \dexp]+", term), term
    return eval(term, {"exp": math.exp}), float(parts[-1])


def assert_shown(shown: Tensor, expected: Tensor) -> None:
    """Compare what is shown, two digits of a few features, with what is."""
    part = expected[:, : shown.shape[1]]
    torch.testing.assert_close(shown, part.to(shown.dtype), rtol=0.006, atol=0.0061)


# ---- three words by hand -------------------------------------------------------------------------


def test_each_step_by_hand_is_that_of_the_package(walk: Locator) -> None:
    expected = by_hand()
    for index, name in enumerate(HAND_STEPS):
        go_to(walk, index)
        expect(walk.locator(".walk-title")).to_contain_text(f"Step {index + 1} of 6")
        shown = grid(walk)
        assert shown.shape == expected[name].shape
        assert_shown(shown, expected[name])
        for row in range(shown.shape[0]):
            for column in range(shown.shape[1]):
                walk.locator(".walk-result tr:has([role=gridcell])").nth(row).locator(
                    "[role=gridcell]"
                ).nth(column).click()
                left, right = computed(said(walk)[0])
                assert left == pytest.approx(right, abs=ROUNDED.get(name, 0.006)), (
                    name,
                    row,
                    column,
                )
                assert right == pytest.approx(shown[row, column].item(), abs=1e-6)


def test_it_begins_with_the_product_of_the_page(walk: Locator) -> None:
    assert said(walk)[0] == "1 \N{MIDDLE DOT} 2 + 1 \N{MIDDLE DOT} 0 = 2"
    lit = walk.locator(".walk-left .walk-lit").all_inner_texts()
    assert lit == ["1", "1"], "the query of it"
    assert walk.locator(".walk-top .walk-lit").all_inner_texts() == ["2", "0"], "the key of cat"
    assert walk.locator(".walk-result .walk-lit").all_inner_texts() == ["2"]


def test_cells_are_chosen_by_keyboard(walk: Locator) -> None:
    walk.get_by_role("gridcell", selected=True).focus()
    keyboard = walk.page.keyboard
    for key, line in (
        ("ArrowUp", "1 * 2 + 0 * 0 = 2"),
        ("ArrowRight", "1 * 1 + 0 * (-1) = 1"),
        ("ArrowUp", "0 * 1 + 2 * (-1) = -2"),
        ("ArrowUp", "0 * 1 + 2 * (-1) = -2"),  # it is the first row
        ("ArrowLeft", "0 * 2 + 2 * 0 = 0"),
    ):
        keyboard.press(key)
        assert said(walk)[0].replace("\N{MIDDLE DOT}", "*") == line
        expect(walk.get_by_role("gridcell", selected=True)).to_be_focused()
    expect(walk.locator("[role=gridcell][tabindex='0']")).to_have_count(1)


def test_the_buttons_stay_within_the_steps(walk: Locator) -> None:
    back, forward = (walk.get_by_role("button", name=name) for name in ("Back", "Next"))
    height = walk.locator(".walk-stage").bounding_box()
    go_to(walk, 0)
    back.press("Enter")  # does nothing, and keeps the focus
    expect(walk.locator(".walk-title")).to_contain_text("Step 1 of 6")
    expect(back).to_be_focused()
    for _ in range(6):
        forward.press("Enter")
        now = walk.locator(".walk-stage").bounding_box()
        assert now
        assert height
        assert now["height"] == height["height"], "nothing below jumps"
    expect(walk.locator(".walk-title")).to_contain_text("Step 6 of 6")
    expect(forward).to_have_attribute("aria-disabled", "true")
    expect(walk.locator(".walk-steps [aria-current]")).to_have_text("times V")


def test_a_step_is_chosen_in_the_row_of_steps(walk: Locator) -> None:
    for index, press in ((3, "Enter"), (5, "Space"), (0, "Enter")):
        chip = walk.locator(".walk-steps button").nth(index)
        chip.press(press)
        expect(walk.locator(".walk-title")).to_contain_text(f"Step {index + 1} of 6")
        expect(chip).to_have_attribute("aria-current", "step")
        expect(chip).to_be_focused()


# ---- the speller, with mistakes ------------------------------------------------------------------


@pytest.fixture(scope="module")
def passed() -> dict[str, Tensor]:
    """What passes the first masked self-attention while the speller says knighted."""
    speller = load_g2p(torch.device("cpu"))
    found: dict[str, Tensor] = {}
    layer = "decoder.layers.0.self_attention"
    hooks = [
        speller.model.get_submodule(f"{layer}.{projection}").register_forward_hook(
            lambda _, __, output, name=name: found.update({name: output.detach()})
        )
        for name, projection in {"Q": "q_proj", "K": "k_proj", "V": "v_proj"}.items()
    ]
    ids = torch.tensor([speller.phonemes.encode(speller.pronounce("knighted"), bos=True)])
    with torch.no_grad(), record_attention(speller.model) as maps:
        speller.model(speller.source(["knighted"]), ids)
    for hook in hooks:
        hook.remove()
    found["weights"] = maps[layer][0, 0]
    return found


def steps_with(passed: dict[str, Tensor], mistake: str) -> dict[str, Tensor]:
    """Compute all steps of the first head with torch, with one mistake or none."""
    batch, length, size = passed["Q"].shape
    step = {}
    for name in "QKV":
        heads = passed[name].view(batch, length, 4, size // 4).transpose(1, 2)
        if mistake == "view":
            heads = passed[name].reshape(batch, 4, length, size // 4)
        step[name] = heads[0, 0]
    step["products"] = step["Q"] @ step["K"].T
    step["scores"] = step["products"] / math.sqrt(4 if mistake == "root" else 32)
    hidden = torch.ones(length, length).triu(1).bool()
    step["masked"] = step["scores"].masked_fill(hidden, -math.inf)
    step["weights"] = step["masked"].softmax(dim=-2 if mistake == "axis" else -1)
    step["output"] = step["weights"] @ step["V"]
    return step


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_speller_and_its_mistakes_are_those_of_torch(
    long_walk: Locator, passed: dict[str, Tensor], mistake: str
) -> None:
    expected, right = steps_with(passed, mistake), steps_with(passed, "right")
    torch.testing.assert_close(right["weights"], passed["weights"])
    long_walk.get_by_label("Mistake", exact=True).select_option(mistake)
    go_to(long_walk, 0)
    underlined = long_walk.locator(".walk-steps button").evaluate_all(
        "chips => chips.map((chip) => chip.classList.contains('walk-wrong'))"
    )
    changed = [not torch.allclose(expected[name], right[name], atol=1e-3) for name in STEPS]
    assert underlined == changed
    for index, name in enumerate(STEPS):
        shown = grid(long_walk)
        width = FEATURES if name in ("Q", "K", "V", "output") else 6
        assert shown.shape == (6, width)
        # Ten and more has one digit.
        size = 0.051 if expected[name].isfinite().all() and expected[name].abs().max() > 9.9 else 0
        part = expected[name][:, :width]
        torch.testing.assert_close(shown, part, rtol=0, atol=max(size, 0.0062))
        if index + 1 < len(STEPS):
            long_walk.get_by_role("button", name="Next").click()


def test_the_words_say_how_to_notice(long_walk: Locator, passed: dict[str, Tensor]) -> None:
    choice = long_walk.get_by_label("Mistake", exact=True)
    assert "(6, 6)" in said(long_walk)[2]
    check = long_walk.get_by_role("button", name="Show a check")
    expect(check).to_have_attribute("aria-disabled", "true")
    choice.select_option("axis")
    assert said(long_walk)[2].endswith("What would you check?")
    check.click()
    totals = steps_with(passed, "axis")["weights"].sum(dim=-1)
    shown = re.findall(r"\d\.\d\d", said(long_walk)[2].partition("weights:")[2])
    assert [float(total) for total in shown] == pytest.approx(totals.tolist(), abs=0.006)
    choice.select_option("root")
    assert said(long_walk)[2].endswith("What would you check?")
    check.click()
    means = [steps_with(passed, m)["weights"].amax(-1).mean().item() for m in ("root", "right")]
    assert f"is {means[0]:.2f} instead of {means[1]:.2f}" in said(long_walk)[2]
    assert f"{math.sqrt(32 / 4):.2f} times too large" in said(long_walk)[2]
    choice.select_option("view")
    check.click()
    # The last row of the first head holds the second head of the second token.
    strayed, name = steps_with(passed, "view")["Q"][5], passed["Q"].view(1, 6, 4, 32)
    assert torch.equal(strayed, name[0, 1, 1])
    assert "change the token D: its row should change, but it holds N" in said(long_walk)[2]


def test_a_mistake_keeps_the_step_and_the_cell(long_walk: Locator) -> None:
    title = long_walk.locator(".walk-title").inner_text()
    before = grid(long_walk)
    for mistake in ("axis", "right"):
        long_walk.get_by_label("Mistake", exact=True).select_option(mistake)
        expect(long_walk.locator(".walk-title")).to_have_text(title)
        chosen = long_walk.get_by_role("gridcell", selected=True)
        expect(chosen).to_have_count(1)
    assert torch.equal(grid(long_walk), before)
    assert before[4, 2] == value_of(chosen.inner_text())


# ---- how it looks --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [PAGE, CLOSER])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_grids_fit_and_can_be_touched(
    browser: Browser, address: str, name: str, width: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    open_page(page, f"{address}/{name}")
    walk = page.locator('figure[data-figure="walk"]')
    count = walk.locator(".walk-steps li").count()
    for index in range(count):
        go_to(walk, index) if index == 0 else walk.get_by_role("button", name="Next").click()
        place = walk.locator(".moving-pictures")
        assert place.evaluate("one => one.scrollWidth <= one.clientWidth"), index
        sizes = walk.locator("[role=gridcell]").evaluate_all(
            "cells => cells.map((one) => one.getBoundingClientRect())"
            ".map(({ width, height }) => Math.min(width, height))"
        )
        assert min(sizes) >= 24, index
        letters = walk.locator("td, th").evaluate_all(
            "cells => cells.map((one) => parseFloat(getComputedStyle(one).fontSize))"
        )
        assert min(letters) >= 12, index
        # The row on the left stands beside the cell that it makes, and the column above it.
        if walk.locator(".walk-top").bounding_box():
            boxes = [
                walk.locator(f"{part} .walk-lit").first.bounding_box()
                for part in (".walk-left", ".walk-top", ".walk-result")
            ]
            left, top, cell = boxes
            assert left
            assert top
            assert cell
            assert left["y"] == pytest.approx(cell["y"], abs=1.5), index
            assert top["x"] == pytest.approx(cell["x"], abs=1.5), index
    page.close()
