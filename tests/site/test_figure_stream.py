"""The figure of the chapter on blocks that follows letters through layers, with sums or without."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, expect
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref.applications.g2p import load_g2p
from transformer_ref.attention import MultiHeadAttention
from transformer_ref.experiments.blocks import make_sublayers

PAGE = "book/blocks.html"
FIGURE = "stream"
WORD = "knighted"
SUM = "With the sum, x + f(x)"
LAYERS = {"fresh": 8, "trained": 3}

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def streams() -> dict[tuple[str, bool], list[Tensor]]:
    """Run the package's sublayers, with the sum and the norm around them done here.

    Returns, for each encoder and way, (S, D) before each layer and after the last.
    """
    speller = load_g2p(torch.device("cpu"))
    model = speller.model
    with torch.inference_mode():
        start = model.src_positions(model.src_embedding(speller.source([WORD])))
        fresh = list(make_sublayers(start.shape[-1], LAYERS["fresh"]))
        trained: list[nn.Module] = []
        norms: list[nn.Module] = []
        layers: Any = model.encoder.layers
        for layer in layers:
            trained += [layer.self_attention, layer.feed_forward]
            norms += [layer.norm1, layer.norm2]
        plain = nn.LayerNorm(start.shape[-1], elementwise_affine=False).double()
        found = {}
        for add in (True, False):
            found["fresh", add] = run(start.double(), fresh, [plain] * len(fresh), add)
            found["trained", add] = run(start, trained, norms, add)
    return found


def run(x: Tensor, sublayers: list[nn.Module], norms: list[nn.Module], add: bool) -> list[Tensor]:
    """Run sublayers behind their norms; return the first input, and each second output."""
    states = [x[0]]
    for index, (sublayer, norm) in enumerate(zip(sublayers, norms, strict=True)):
        read = norm(x)
        is_attention = isinstance(sublayer, MultiHeadAttention)
        change = sublayer(read, read, read) if is_attention else sublayer(read)
        x = add * x + change
        if index % 2:
            states.append(x[0])
    return states


def show(figure: Locator, stack: str, layer: int, add: bool) -> None:
    """Choose the layers, how many are passed, and whether the sum is there."""
    figure.get_by_label("Layers", exact=True).select_option(stack)
    figure.get_by_label("Layers passed", exact=True).fill(str(layer))
    figure.get_by_label(SUM, exact=True).set_checked(add)


def places(figure: Locator) -> Tensor:
    """Return where the dots stand, in pixels: (S, 2)."""
    styles = figure.locator(".stream-token").evaluate_all(
        "dots => dots.map((d) => d.style.transform)"
    )
    return torch.tensor([[float(n) for n in re.findall(r"-?[\d.]+", style)] for style in styles])


def words_of(figure: Locator) -> str:
    """Return what the figure says, with a hyphen for the minus sign."""
    return figure.locator(".moving-words").inner_text().replace("\N{MINUS SIGN}", "-")


def distances(points: Tensor) -> Tensor:
    """Return the distances of all pairs."""
    return torch.pdist(points.double())


@pytest.mark.parametrize("add", [True, False], ids=["with", "without"])
@pytest.mark.parametrize("stack", LAYERS)
def test_cosines_and_places_are_those_of_the_layers(
    figure: Locator, streams: dict[tuple[str, bool], list[Tensor]], stack: str, add: bool
) -> None:
    normed = {
        way: [F.layer_norm(x, x.shape[-1:]) for x in streams[stack, way]] for way in (True, False)
    }
    every = torch.cat(normed[True]).double()
    # The plane of the largest variance, by another way than the package's.
    plane = torch.linalg.eigh(torch.cov(every.T)).eigenvectors[:, -2:]
    scale = None
    for layer, state in enumerate(streams[stack, add]):
        show(figure, stack, layer, add)
        alike = F.cosine_similarity(state[:, None], state[None], dim=-1)
        expected = (alike.sum() - len(WORD)) / (len(WORD) * (len(WORD) - 1))
        said = re.search(r"mean cosine of two letters is (-?[\d.]+)\.", words_of(figure))
        assert said
        assert float(said[1]) == pytest.approx(expected.item(), abs=0.0051)
        shown, wanted = distances(places(figure)), distances(normed[add][layer].double() @ plane)
        scale = scale or (shown.sum() / wanted.sum()).item()
        torch.testing.assert_close(shown, scale * wanted, atol=0.5, rtol=0.01)


def test_without_the_sum_the_dots_fall_together(figure: Locator) -> None:
    show(figure, "fresh", 0, True)
    start = places(figure)
    show(figure, "fresh", 0, False)
    assert torch.equal(places(figure), start)
    show(figure, "fresh", 4, False)
    assert distances(places(figure)).max() < 1
    show(figure, "fresh", 4, True)
    assert distances(places(figure)).max() > 50


def test_a_curve_is_drawn_only_as_far_as_the_reader_has_come(figure: Locator) -> None:
    chart = figure.locator("svg").nth(1)
    asked = "What do you expect without the sum?"
    show(figure, "fresh", 0, True)
    assert "without the sum:" not in (chart.get_attribute("aria-label") or "")
    show(figure, "fresh", 3, True)
    assert asked in words_of(figure)
    assert len((chart.get_attribute("aria-label") or "").split(", ")) == 4
    show(figure, "fresh", 3, False)
    show(figure, "fresh", 3, True)
    assert asked not in words_of(figure)
    assert "Without the sum it would be" in words_of(figure)


def test_the_slider_is_moved_by_keyboard_and_stays_within_the_layers(figure: Locator) -> None:
    slider = figure.get_by_label("Layers passed", exact=True)

    def drawn() -> list[Any]:
        return [
            places(figure).tolist(),
            words_of(figure),
            figure.locator("svg").nth(1).inner_html(),
        ]

    slider.press("ArrowRight")  # the curve stays as long as the reader has seen it
    slider.press("ArrowLeft")
    before = drawn()
    slider.press("ArrowRight")
    assert all(old != new for old, new in zip(before, drawn(), strict=True))
    slider.press("ArrowLeft")
    assert drawn() == before
    slider.press("End")
    expect(slider).to_have_attribute("aria-valuetext", "8 of 8")
    figure.get_by_label("Layers", exact=True).select_option("trained")
    expect(slider).to_have_attribute("aria-valuetext", "3 of 3")
    figure.get_by_label(SUM, exact=True).press("Space")
    assert "without the sum" in words_of(figure)


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_play_and_gliding_are_for_those_who_like_motion(
    figure_at: Callable[..., Locator], motion: str
) -> None:
    figure = figure_at(390, reduced_motion=motion)
    likes_motion = motion == "no-preference"
    expect(figure.get_by_role("button", name="Play")).to_be_visible(visible=likes_motion)
    figure.get_by_label("Layers passed", exact=True).press("ArrowRight")
    gliding = (
        "document.getAnimations().filter((one) => one.transitionProperty === 'transform').length"
    )
    assert bool(figure.page.evaluate(gliding)) is likes_motion
    if likes_motion:
        figure.get_by_role("button", name="Play").click()
        # It stays at the last layer, so a slow machine cannot miss this state.
        expect(figure.get_by_label("Layers passed", exact=True)).to_have_value("4")
    heights = figure.locator("svg text").evaluate_all(
        "texts => texts.map((text) => text.getBoundingClientRect().height)"
    )
    assert min(heights) >= 12
