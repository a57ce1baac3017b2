"""The figure of the chapter after pretraining that takes one step of a policy gradient."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch
from playwright.sync_api import Locator, expect

from tests.site.conftest import labels_of
from transformer_ref.tuning import policy_gradient_loss

PAGE = "book/tuning.html"
FIGURE = "advantage"

pytestmark = pytest.mark.browser

SLIDERS = ("Reward of the right answer", "Reward of the wrong answer", "Baseline")
STATES = [(1.0, 0.0, 0.0), (1.0, 0.0, 0.2), (1.0, 0.5, 0.0), (1.0, 0.5, 0.6), (0.3, 0.9, 1.0)]


def set_to(figure: Locator, *values: float) -> None:
    """Put the three sliders at values."""
    for slider, value in zip(SLIDERS, values, strict=True):
        figure.get_by_label(slider, exact=True).fill(str(round(10 * value)))


def press(figure: Locator, name: str) -> None:
    """Press a button by keyboard."""
    figure.get_by_role("button", name=name, exact=True).press("Enter")


def share(figure: Locator) -> float:
    """Return the length of the right answer's bar, as a probability."""
    return float(figure.locator("rect[data-share]").first.get_attribute("data-share") or "nan")


def push_of(right: float, sampled: int, advantage: float) -> float:
    """Return the push on the logit of the right answer, by the package's loss and autograd."""
    z = torch.tensor(right, dtype=torch.float64).logit().requires_grad_()
    log_probs = torch.stack([z, z.new_zeros(())]).log_softmax(dim=0)[sampled].view(1, 1)
    weight, mask = torch.tensor([advantage]), torch.ones(1, 1, dtype=torch.bool)
    (gradient,) = torch.autograd.grad(policy_gradient_loss(log_probs, weight.double(), mask), z)
    return -gradient.item()


def cells(figure: Locator, answer: int) -> list[str]:
    """Return the numbers in a row of the table."""
    row = figure.locator(".advantage-table tbody tr").nth(answer)
    return [text.replace("\N{MINUS SIGN}", "-") for text in row.locator("td").all_inner_texts()]


@pytest.mark.parametrize("state", STATES)
def test_a_step_is_that_of_the_package(figure: Locator, state: tuple[float, float, float]) -> None:
    set_to(figure, *state)
    baseline = state[2]
    for sampled, name in enumerate(("right", "wrong")):
        assert cells(figure, sampled)[-1] == "?"
        press(figure, f"Sample the {name} one")
        push = push_of(0.2, sampled, state[sampled] - baseline)
        assert float(cells(figure, sampled)[-1]) == pytest.approx(push, abs=0.0051)
        z = torch.tensor(0.2).logit() + 2 * push
        assert share(figure) == pytest.approx(z.sigmoid().item(), abs=1e-6)


def test_the_mean_is_the_same_with_every_baseline(figure: Locator) -> None:
    said = figure.locator(".moving-words li").last
    for baseline in (0.0, 0.2, 0.9):
        set_to(figure, 1.0, 0.0, baseline)
        expect(said).to_contain_text("When both have been sampled")
        press(figure, "Sample the wrong one")
        expect(said).to_contain_text("Now sample the other one")
        press(figure, "Sample the right one")
        expect(said).to_contain_text("= 0.160")
    expect(said).to_contain_text("the variance is 0.102 instead of 0.002")


def test_steps_add_up_and_can_be_undone(figure: Locator) -> None:
    set_to(figure, 1.0, 0.0, 0.2)
    go_on = figure.get_by_role("button", name="Go on from here", exact=True)
    expect(go_on).to_have_attribute("aria-disabled", "true")
    before = share(figure)
    for _ in range(3):
        press(figure, "Sample the right one")
        expect(go_on).to_have_attribute("aria-disabled", "false")
        after = share(figure)
        assert after > before
        press(figure, "Go on from here")
        assert share(figure) == pytest.approx(after)
        before = after
    press(figure, "Start again")
    assert share(figure) == pytest.approx(0.2)
    for slider, value in zip(SLIDERS, ("1.0", "0.0", "0.0"), strict=True):
        control = figure.get_by_label(slider, exact=True)
        expect(control).to_have_attribute("aria-valuetext", value)


def test_another_reward_hides_the_answers_again(figure: Locator) -> None:
    press(figure, "Sample the wrong one")
    assert re.fullmatch(r"-?\d\.\d\d", cells(figure, 1)[-1])
    figure.get_by_label(SLIDERS[1], exact=True).press("ArrowRight")
    assert cells(figure, 1)[-1] == "?"


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_it_fits(figure_at: Callable[..., Locator], width: int) -> None:
    figure = figure_at(width)
    set_to(figure, 0.3, 0.9, 1.0)
    for name in ("right", "wrong"):
        press(figure, f"Sample the {name} one")
    parts = labels_of(figure.locator("svg :is(text, rect)"))
    assert [each for each in parts if not each.inside or (each.text and each.height < 11)] == []
    right = figure.bounding_box()
    assert right
    boxes = [one.bounding_box() for one in figure.locator("td, button, input").all()]
    assert all(box and box["x"] + box["width"] <= right["x"] + right["width"] for box in boxes)
