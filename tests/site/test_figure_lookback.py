"""The figure of the chapter on sequences that follows a decoder with attention by its letters."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch
from playwright.sync_api import Locator, expect
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref.experiments import sequences

PAGE = "book/sequences.html"
FIGURE = "lookback"
WORD = "not"
PARTS = ("state", "scores", "weights", "context", "letter")

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def decoded() -> list[dict[str, Tensor]]:
    """Run the decoder with torch's own cell, attention and product; return each letter's step."""
    vectors = torch.tensor([sequences.VECTORS[letter] for letter in "not"])
    encoder, decoder = nn.RNN(2, 2), nn.RNNCell(2, 2, bias=False)
    encoder.load_state_dict(
        {
            "weight_ih_l0": torch.tensor(sequences.W).T,
            "weight_hh_l0": torch.tensor(sequences.U).T,
            "bias_ih_l0": torch.tensor(sequences.B),
            "bias_hh_l0": torch.zeros(2),
        }
    )
    decoder.load_state_dict(
        {
            "weight_ih": torch.tensor(sequences.W_D).T,
            "weight_hh": torch.tensor(sequences.U_D).T,
        }
    )
    with torch.no_grad():
        states, _ = encoder(vectors)
        state, read, found = states[-1:], torch.zeros(1, 2), []
        for _ in WORD:
            state = decoder(read, state)
            context = F.scaled_dot_product_attention(state, states, states, scale=1.0)
            scores = F.linear(states, state)[:, 0]
            letter = F.linear(context, torch.tensor(sequences.W_O).T)[0]
            read = vectors[letter.argmax()][None]
            found.append(
                {
                    "state": state[0],
                    "scores": scores,
                    "weights": scores.exp() / scores.exp().sum(),
                    "context": context[0],
                    "letter": letter,
                }
            )
    return found


def go_to(figure: Locator, place: int, part: str) -> None:
    """Move the slider to a part of the step of a letter."""
    slider = figure.get_by_label("Letter and step", exact=True)
    slider.fill(str(len(PARTS) * place + PARTS.index(part)))


def row(figure: Locator, kind: str) -> str:
    """Return what the cells of a row say, with a hyphen for the minus sign."""
    cells = figure.locator(f".lookback-{kind} td").all_inner_texts()
    return " ".join(cells).replace("\N{MINUS SIGN}", "-")


def numbers(text: str) -> list[float]:
    """Return the numbers with two decimals in a text."""
    return [float(number) for number in re.findall(r"-?\d+\.\d\d", text)]


def words_of(figure: Locator) -> list[str]:
    """Return what the figure says, line by line, with a hyphen for the minus sign."""
    lines = figure.locator(".moving-words li").all_inner_texts()
    return [line.replace("\N{MINUS SIGN}", "-") for line in lines]


def test_each_number_is_that_of_torch_and_comes_only_when_it_is_computed(
    figure: Locator, decoded: list[dict[str, Tensor]]
) -> None:
    for place, expected in enumerate(decoded):
        for done, part in enumerate(PARTS):
            go_to(figure, place, part)
            for index, kind in enumerate(PARTS):
                shown = row(figure, kind)
                if index > done:
                    assert "?" in shown
                    assert numbers(shown) == []
                else:
                    assert numbers(shown) == pytest.approx(expected[kind].tolist(), abs=0.0051)
            written = WORD[: place + (part == "letter")]
            assert row(figure, "written").split() == [*written, *"_" * (len(WORD) - len(written))]
    said = [WORD[int(step["letter"].argmax())] for step in decoded]
    assert "".join(said) == WORD


def test_the_picture_shows_the_state_and_the_context(
    figure: Locator, decoded: list[dict[str, Tensor]]
) -> None:
    for place, expected in enumerate(decoded):
        go_to(figure, place, "weights")
        expect(figure.locator(".lookback-diamond")).to_have_count(0)
        go_to(figure, place, "context")
        axes = figure.locator(".lookback-axis").evaluate_all(
            "lines => [lines[1].x1.baseVal.value, lines[0].y1.baseVal.value]"
        )
        arrow = figure.locator(".lookback-head").get_attribute("points")
        diamond = figure.locator(".lookback-diamond").get_attribute("d")
        assert arrow
        assert diamond
        tip = [float(number) for number in arrow.split()[0].split(",")]
        top = [float(number) for number in re.findall(r"-?[\d.]+", diamond)[:2]]
        middle = torch.tensor(axes)
        ends = torch.tensor([tip, [top[0], top[1] + 9]]) - middle
        drawn = ends * torch.tensor([1.0, -1.0])  # y grows downwards
        wanted = torch.stack([expected["state"], expected["context"]])
        unit = drawn[0].norm() / wanted[0].norm()
        torch.testing.assert_close(drawn, unit * wanted, atol=0.5, rtol=0)


def test_the_sums_that_are_written_out_are_right(figure: Locator) -> None:
    for place in range(len(WORD)):
        for part in ("scores", "letter"):
            go_to(figure, place, part)
            sums = re.findall(r": ([^:=]*\N{MIDDLE DOT}[^:=]*) = (-?\d+\.\d+)", words_of(figure)[0])
            assert len(sums) == 1
            written, result = sums[0]
            factors = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", written)]
            total = sum(a * b for a, b in zip(factors[::2], factors[1::2], strict=True))
            assert float(result) == pytest.approx(total, abs=0.03)


def test_a_guess_is_judged_when_the_scores_are_there(figure: Locator) -> None:
    def guess(letter: str) -> Locator:
        return figure.get_by_role("button", name=f"after {letter}", exact=True)

    guess("t").press("Enter")
    guess("o").press("Enter")
    expect(guess("o")).to_have_attribute("aria-pressed", "true")
    expect(guess("t")).to_have_attribute("aria-pressed", "false")
    assert "right" not in " ".join(words_of(figure))
    figure.get_by_role("button", name="Next").press("Enter")
    assert words_of(figure)[1].endswith("You guessed o; it is n.")
    guess("n").press("Enter")
    expect(guess("n")).to_have_attribute("aria-pressed", "false")
    go_to(figure, 1, "state")
    expect(guess("o")).to_have_attribute("aria-pressed", "false")
    guess("o").press("Enter")
    go_to(figure, 1, "scores")
    assert words_of(figure)[1].endswith("You guessed o: right.")
    go_to(figure, 0, "scores")
    assert words_of(figure)[1].endswith("You guessed o; it is n."), "the guess of the first letter"


@pytest.mark.parametrize("width", [390, 1280])
def test_it_has_room_and_nothing_jumps(figure_at: Callable[..., Locator], width: int) -> None:
    figure = figure_at(width, reduced_motion="reduce")
    expect(figure.get_by_role("button", name="Play")).to_be_hidden()
    heights = set()
    for place in range(len(WORD)):
        for part in PARTS:
            go_to(figure, place, part)
            heights.add(figure.evaluate("one => one.offsetHeight"))
            boxes = figure.locator("svg text, .lookback-table :is(th, td)").evaluate_all(
                """texts => texts.map((text) => {
                  const frame = text.closest("svg, figure").getBoundingClientRect();
                  const box = text.getBoundingClientRect();
                  const inside = text.scrollWidth <= text.clientWidth + 1 || !text.clientWidth;
                  return [box.left - frame.left, frame.right - box.right, box.height, inside];
                })"""
            )
            for left, right, height, inside in boxes:
                assert left >= -1
                assert right >= -1
                assert height >= 12
                assert inside
    assert len(heights) == 1
