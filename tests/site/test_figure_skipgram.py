"""The figure of the chapter on embeddings in which word vectors are pulled and pushed."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, expect
from torch import Tensor
from torch.nn import functional as F

from tests.site.conftest import labels_of
from transformer_ref.experiments.embeddings import IN_THE_PLANE
from transformer_ref.word2vec import negative_sampling_loss

pytestmark = pytest.mark.browser

PAGE = "book/embeddings.html"
FIGURE = "skipgram"
STEP, OFF = "Updates", "Negatives off (starts again)"
DATA: dict[str, Any] = IN_THE_PLANE
LAST: int = DATA["steps"]


def show(figure: Locator, step: int, *, drawn: bool) -> None:
    """Choose whether there are drawn words, and how many updates are done."""
    figure.get_by_role("switch", name=OFF).set_checked(not drawn)
    figure.get_by_label(STEP, exact=True).fill(str(step))


def places(figure: Locator) -> dict[str, list[float]]:
    """Return where each vector ends, in numbers of the plane."""
    found = figure.locator("[data-word]").evaluate_all(
        "tips => tips.map((tip) => [tip.dataset.word, tip.dataset.place])"
    )
    return {word: [float(number) for number in place.split()] for word, place in found}


def words_of(figure: Locator) -> str:
    """Return what the figure says, with a hyphen for the minus sign."""
    return figure.locator(".moving-words").inner_text().replace("\N{MINUS SIGN}", "-")


def train(steps: int, *, drawn: bool) -> dict[str, Tensor]:
    """Do the updates by the gradient that torch finds for the package's loss."""
    vectors = {word: torch.tensor(v) for word, v in (DATA["centers"] | DATA["contexts"]).items()}
    for step in range(steps):
        one = DATA["updates"][step % len(DATA["updates"])]
        names = [one["center"], one["real"], *(one["drawn"] if drawn else ())]
        v, real, *others = (vectors[name].clone().requires_grad_() for name in names)
        if others:
            loss = negative_sampling_loss(v[None], real[None], torch.stack(others)[None])
        else:
            loss = -(v @ real).sigmoid().log()
        gradients = torch.autograd.grad(loss, [v, real, *others])
        for name, gradient in zip(names, gradients, strict=True):
            vectors[name] = vectors[name] - DATA["rate"] * gradient
    return vectors


@pytest.mark.parametrize("drawn", [True, False], ids=["negatives", "no-negatives"])
@pytest.mark.parametrize("step", [0, 1, 3, 7, LAST])
def test_the_vectors_move_by_the_gradient(figure: Locator, step: int, drawn: bool) -> None:
    show(figure, step, drawn=drawn)
    expected, shown = train(step, drawn=drawn), places(figure)
    assert shown.keys() == expected.keys()
    for word, vector in expected.items():
        assert shown[word] == pytest.approx(vector.tolist(), abs=1e-4), word


def test_the_errors_are_the_derivatives_of_the_loss(figure: Locator) -> None:
    show(figure, 3, drawn=True)
    one, before = DATA["updates"][2], train(2, drawn=True)
    scores = torch.stack(
        [before[word] @ before[one["center"]] for word in (one["real"], *one["drawn"])]
    )
    scores.requires_grad_()
    real = torch.eye(len(scores))[0]
    F.binary_cross_entropy_with_logits(scores, real, reduction="sum").backward()
    assert scores.grad is not None
    said = [float(number) for number in re.findall(r"= (-?\d\.\d\d)", words_of(figure))]
    assert said == pytest.approx(scores.grad.tolist(), abs=0.0051)


@pytest.mark.parametrize("drawn", [True, False], ids=["negatives", "no-negatives"])
def test_the_cosines_are_those_of_torch(figure: Locator, drawn: bool) -> None:
    show(figure, LAST, drawn=drawn)
    vectors = train(LAST, drawn=drawn)
    group = {word: number for number, words in enumerate(DATA["groups"]) for word in words}
    found: dict[bool, list[float]] = {True: [], False: []}
    for one, other in combinations(group, 2):
        cosine = F.cosine_similarity(vectors[one], vectors[other], dim=0).item()
        found[group[one] == group[other]].append(cosine)
    same, others = (torch.tensor(found[alike]).mean().item() for alike in (True, False))
    said = re.search(r"cosine (-?[\d.]+)\. Other company: (-?[\d.]+)\.", words_of(figure))
    assert said
    assert [float(number) for number in said.groups()] == pytest.approx([same, others], abs=0.0051)
    assert same > 0.9, "words with the same company end up side by side"
    assert (others > 0.9) is not drawn, "without drawn words so do all the others"


def test_nothing_is_shown_before_the_reader_has_predicted_it(figure: Locator) -> None:
    arrows = figure.locator(".skipgram-plane .skipgram-old")
    expect(arrows).to_have_count(0)
    assert "Where will oil move?" in words_of(figure)
    assert "oil and gas" not in words_of(figure)
    figure.get_by_role("button", name="Next").press("Enter")
    expect(arrows).to_have_count(1 + 1 + len(DATA["updates"][0]["drawn"]))
    figure.get_by_role("switch", name=OFF).press("Space")
    expect(figure.get_by_label(STEP, exact=True)).to_have_value("0")
    expect(arrows).to_have_count(0)


def test_the_figure_is_stepped_by_keyboard(figure: Locator) -> None:
    def drawn() -> list[str]:
        parts = (".skipgram-plane", ".skipgram-chart", ".moving-words")
        return [figure.locator(part).inner_html() for part in parts]

    before, slider = drawn(), figure.get_by_label(STEP, exact=True)
    slider.press("ArrowRight")
    assert all(old != new for old, new in zip(before, drawn(), strict=True))
    figure.get_by_role("button", name="Back").press("Enter")
    assert drawn() == before
    slider.press("End")
    expect(slider).to_have_attribute("aria-valuetext", f"{LAST} of {LAST}")
    assert "This was the last update." in words_of(figure)


def test_play_goes_on_until_the_reader_switches(timed_figure: Locator) -> None:
    figure, clock = timed_figure, timed_figure.page.clock
    figure.get_by_role("button", name="Play").click()
    clock.run_for(3100)
    expect(figure.get_by_label(STEP, exact=True)).to_have_value("3")
    figure.get_by_role("switch", name=OFF).check()
    clock.run_for(3100)
    expect(figure.get_by_label(STEP, exact=True)).to_have_value("0")


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_letters_can_be_read_and_do_not_cover_each_other(
    figure_at: Callable[..., Locator], width: int
) -> None:
    figure = figure_at(width)
    for drawn in (True, False):
        for step in (0, 1, 6, LAST):
            show(figure, step, drawn=drawn)
            labels = labels_of(figure.locator(".skipgram-plane text"))
            small = 11 if width > 320 else 10
            assert all(each.inside and each.height >= small for each in labels)
            for one, other in combinations(labels, 2):
                across = min(one.right, other.right) - max(one.left, other.left)
                down = min(one.bottom, other.bottom) - max(one.top, other.top)
                assert across <= 1 or down <= 4, (step, drawn)
