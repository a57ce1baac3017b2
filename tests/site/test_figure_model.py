"""The whole model in book/model.html: its shapes, numbers, error rates and norms, what it lights.

The shapes that are expected follow from the sizes of the speller and the tokens that it says; the
error rates are read from the stored results, apart from the page's own reading of them. The numbers
in the boxes are those that hooks see in PyTorch, in float32; the page has the weights in float16
and sums in another order, hence NUMBER, the tolerance.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, Locator, Page, expect

from book._extensions.model import MODULES, PART_TEXTS, TAKEN, WORD
from tests.site.conftest import labels_of, open_page, run_axe
from tools.drawings.model_map import CHAPTERS, PARTS
from tools.inputs import ROOT
from transformer_ref.applications.g2p import Speller
from transformer_ref.attention import record_attention

PAGE = "book/model.html"
FIGURE = "model"
ASSETS = ROOT / "transformer_ref/assets"
NUMBER = 0.01  # tolerance of the page's numbers
OWN = "phoneme"  # a word that is not in the page


@pytest.fixture
def figure(quiet_tab: Page, address: str) -> Locator:
    """Open the page anew and return its figure."""
    quiet_tab.goto("about:blank")
    open_page(quiet_tab, f"{address}/{PAGE}")
    return quiet_tab.locator("figure.moving-figure")


def press(figure: Locator, name: str) -> None:
    """Press a button by keyboard."""
    figure.get_by_role("button", name=name, exact=True).press("Enter")


def choose(figure: Locator, label: str, value: str) -> None:
    figure.get_by_label(label, exact=True).select_option(value)


def send(figure: Locator, word: str) -> None:
    """Type a word, and wait until it stands before the model."""
    field = figure.get_by_label("Word", exact=True)
    field.fill(word)
    field.press("Enter")
    expect(figure.locator(".moving-words").first).to_contain_text(f"{word} waits")


def said(figure: Locator, line: int = 0) -> str:
    text = figure.locator(".moving-words li").nth(line).inner_text()
    return text.replace("\N{NO-BREAK SPACE}", " ")


def marked(figure: Locator, kind: str) -> set[str]:
    """Return the parts that are marked in the picture as "here", "now", "gone" or "chosen"."""
    parts = figure.locator(f"svg .model-{kind}").evaluate_all(
        "all => all.map((part) => part.dataset.part ?? 'mask')"
    )
    return set(parts)


def stored(name: str) -> list[float]:
    """Return the error rates of a stored run in percent, read from the files."""
    capstone = json.loads((ASSETS / "capstone/results.json").read_text(encoding="utf-8"))
    gpt = json.loads((ASSETS / "gpt/results.json").read_text(encoding="utf-8"))
    runs = [run for run in capstone["runs"] if run["name"] == name] or gpt["spellers"][name]
    return [100 * run["dev"]["per"] for run in runs]


# ---- a word on its way --------------------------------------------------------------------------


def expected_shapes(speller: Speller, word: str) -> list[dict[str, tuple[int, ...]]]:
    """Return the shapes of each pass, from the sizes alone."""
    config = speller.model.config
    d, f, h, v = config.d_model, config.d_ff, config.num_heads, config.tgt_vocab_size
    s, passes = len(word), []
    for t in range(1, len(speller.pronounce(word)) + 2):
        shapes: dict[str, tuple[int, ...]] = {"source": (1, s), "target": (1, t)}
        shapes |= dict.fromkeys(("source-embedding", "source-positions", "memory"), (1, s, d))
        shapes |= dict.fromkeys(("encoder-attention", "encoder-feed-forward"), (1, s, d))
        shapes |= dict.fromkeys(("target-embedding", "target-positions", "decoder"), (1, t, d))
        shapes |= dict.fromkeys(("masked-attention", "cross-attention"), (1, t, d))
        shapes |= {"decoder-feed-forward": (1, t, d), "output": (1, t, v)}
        shapes |= {"encoder-hidden": (1, s, f), "decoder-hidden": (1, t, f)}
        shapes |= {"encoder-weights": (1, h, s, s), "masked-weights": (1, h, t, t)}
        passes.append(shapes | {"cross-weights": (1, h, t, s)})
    return passes


def stored_data(site: Path) -> dict[str, Any]:
    page = (site / PAGE).read_text(encoding="utf-8")
    (text,) = re.findall(r'data-for="model">(.*?)</script>', page)
    data: dict[str, Any] = json.loads(text)
    return data


def test_the_page_has_the_shapes_and_tokens_of_the_package(site: Path, speller: Speller) -> None:
    way = stored_data(site)["way"]
    assert way["word"] == WORD
    found = [{key: tuple(shape) for key, shape in one["shapes"].items()} for one in way["passes"]]
    assert found == expected_shapes(speller, WORD)
    pronounced = speller.pronounce(WORD)
    assert [one["next"] for one in way["passes"]] == [*pronounced, "<eos>"]
    assert [one["tokens"] for one in way["passes"]] == [
        ["<bos>", *pronounced[:length]] for length in range(len(way["passes"]))
    ]


def test_every_size_of_the_texts_is_that_of_the_speller(site: Path, speller: Speller) -> None:
    config = speller.model.config
    texts = " ".join(part["text"] for part in stored_data(site)["parts"])
    assert f"D = {config.d_model} features" in texts
    assert f"up to {config.d_ff} hidden units" in texts
    assert f"{config.num_encoder_layers} such layers" in texts
    assert "{" not in texts


@pytest.mark.browser
@pytest.mark.parametrize("word", [WORD, OWN])
def test_a_word_goes_through_step_by_step(figure: Locator, speller: Speller, word: str) -> None:
    if word != WORD:
        send(figure, word)
    pronounced = speller.pronounce(word)
    passes = expected_shapes(speller, word)
    parts = []
    steps = 0
    following = figure.get_by_role("button", name="Next")
    expect(following).to_have_attribute("aria-disabled", "false")
    while following.get_attribute("aria-disabled") == "false":
        press(figure, "Next")
        steps += 1
        assert said(figure).startswith(f"Step {steps} of ")
        (part,) = marked(figure, "now") - {"memory-line"}
        parts.append(part)
    first = ["source", "source-embedding", "source-positions", "encoder-attention"]
    first += ["encoder-feed-forward", "encoder", "memory", "target", "target-embedding"]
    first += ["target-positions", "masked-attention", "cross-attention", "decoder-feed-forward"]
    first += ["decoder", "output", "next"]
    later = ["target", "decoder", "output", "next"]
    assert parts == first + later * (len(passes) - 1)
    assert said(figure).endswith(f"The end: {word} is {' '.join(pronounced)}.")
    for key in ("memory", "cross-attention", "target-embedding", "output"):
        text = figure.locator(f'svg [data-part="{key}"] .model-shape').text_content() or ""
        expected = ", ".join(map(str, passes[-1][key]))
        assert text.replace("\N{NO-BREAK SPACE}", " ") == f"({expected})"
    press(figure, "Back")
    assert said(figure).startswith(f"Step {steps - 1} of {steps}.")
    press(figure, "Reset")
    assert "waits" in said(figure)
    expect(figure.locator("svg .model-real")).to_have_count(0)


@pytest.mark.browser
@pytest.mark.parametrize(
    ("step", "weights"), [(4, "encoder-weights"), (11, "masked-weights"), (12, "cross-weights")]
)
def test_a_step_says_the_shape_of_its_weights(
    figure: Locator, speller: Speller, step: int, weights: str
) -> None:
    send(figure, OWN)
    for _ in range(step):
        press(figure, "Next")
    shape = expected_shapes(speller, OWN)[0][weights]
    assert f"weights ({', '.join(map(str, shape))})" in said(figure)


@pytest.mark.browser
def test_the_tokens_stand_in_the_part_of_the_step(figure: Locator) -> None:
    for _ in range(5):
        tiles = figure.locator(".model-tokens.model-encoder").bounding_box()
        part = "source" if "waits" in said(figure) else marked(figure, "now").pop()
        box = figure.locator(f'svg [data-part="{part}"] .model-outline').bounding_box()
        assert tiles is not None
        assert box is not None
        assert box["y"] < tiles["y"] < box["y"] + box["height"]
        assert box["x"] < tiles["x"]
        assert tiles["x"] + tiles["width"] < box["x"] + box["width"]
        press(figure, "Next")
    letters = figure.locator(".model-tokens.model-encoder text").all_text_contents()
    assert "".join(letters) == WORD


# ---- the numbers in the boxes -------------------------------------------------------------------

# What the package's modules read and give is, in the page's words.
NAMED = {
    "source-embedding": ("", "output"),
    "source-positions": ("before", "output"),
    "encoder-attention": ("x", "output"),
    "encoder-feed-forward": ("x", "output"),
    "memory": ("", "output"),
    "target-embedding": ("", "output"),
    "target-positions": ("before", "output"),
    "masked-attention": ("x", "output"),
    "cross-attention": ("x", "output"),
    "decoder-feed-forward": ("x", "output"),
    "output": ("x", "logits"),
}


@torch.inference_mode()
def package_numbers(speller: Speller, word: str) -> dict[str, list[dict[str, torch.Tensor]]]:
    """Return what hooks see while the package says a word: by part, for each layer."""
    model, phonemes = speller.model, speller.phonemes
    ids = [phonemes.tokens.index(token) for token in ("<bos>", *speller.pronounce(word))]
    seen: dict[str, torch.Tensor] = {}
    hooks = [
        module.register_forward_hook(
            lambda _, inputs, output, name=name: seen.update({f"{name}<": inputs[0], name: output})
        )
        for name, module in model.named_modules()
    ]
    with record_attention(model) as weights:
        model(speller.source([word]), torch.tensor([ids]))
    for hook in hooks:
        hook.remove()
    found: dict[str, list[dict[str, torch.Tensor]]] = {}
    for part in NAMED:
        layers = range(3) if "layers.0" in MODULES[part] else range(1)
        names = [MODULES[part].replace("layers.0", f"layers.{layer}") for layer in layers]
        found[part] = [numbers_of(name, *NAMED[part], seen, weights) for name in names]
    return found


def numbers_of(
    name: str, before: str, after: str, seen: dict[str, Any], weights: dict[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """Return what one module read and gave, without the axis of the batch."""
    found = {after: seen[name][0]} | ({before: seen[f"{name}<"][0]} if before else {})
    if name in weights:
        found |= {"weights": weights[name][0].transpose(0, 1)}
        found |= {key: seen[f"{name}.{key[0]}_proj"][0] for key in ("query", "keys", "values")}
    if f"{name}.linear1" in seen:
        found["hidden"] = seen[f"{name}.linear1"][0].relu()
    return found


@pytest.mark.browser
@pytest.mark.parametrize("word", [WORD, OWN, "a"])
def test_all_numbers_in_the_boxes_are_the_packages(
    figure: Locator, speller: Speller, word: str
) -> None:
    figure.page.evaluate(
        """async (word) => {
          const model = await window.speller.loadModel();
          window.found = window.speller.traceOf(model, word, 64).found;
        }""",
        word,
    )
    for part, layers in package_numbers(speller, word).items():
        for layer, expected in enumerate(layers):
            for key, numbers in expected.items():
                # Keys and values are those of all tokens so far; the last token has seen all.
                whole = key in ("keys", "values")
                ours = figure.page.evaluate(
                    """([part, layer, key, whole]) => {
                      const isVector = (one) => typeof one[0] === "number";
                      const plain = (one) => (isVector(one) ? [...one] : one.map(plain));
                      const places = window.found.get(part)[layer];
                      return plain(whole ? places.at(-1)[key] : places.map((one) => one[key]));
                    }""",
                    [part, layer, key, whole],
                )
                for place, row in enumerate(ours):
                    found, wanted = torch.tensor(row, dtype=torch.float32), numbers[place]
                    if key == "weights":  # the page has no future tokens
                        wanted = wanted[:, : found.shape[-1]]
                    torch.testing.assert_close(
                        found, wanted, rtol=NUMBER, atol=NUMBER, msg=f"{part} {layer} {key} {place}"
                    )


def figures_in(text: str) -> list[float]:
    """Return the numbers in a text."""
    text = text.replace("\N{MINUS SIGN}", "-")
    return [float(found) for found in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?", text)]


def rounds_to(value: float, shown: str) -> bool:
    """Say whether a value, rounded to the digits of a shown number, is that number."""
    digits = len(shown.partition(".")[2])
    return abs(value - figures_in(shown)[0]) <= 0.5 * 10**-digits + 1e-9


def lines_of(figure: Locator) -> list[str]:
    return figure.locator(".inside-lines p").all_inner_texts()


@pytest.mark.browser
@pytest.mark.parametrize("part", ["encoder-attention", "masked-attention", "cross-attention"])
def test_a_score_is_the_sum_of_the_products_that_are_shown(
    figure: Locator, speller: Speller, part: str
) -> None:
    """With the digits that are shown, every line can be worked out again."""
    send(figure, OWN)
    choose(figure, "Part", part)
    inside = figure.locator(".model-inside")
    expected = package_numbers(speller, OWN)[part]
    place = 2
    for layer, head, key in ((0, 0, 0), (1, 3, 2), (2, 1, 1)):
        for label, at in (("Token", place), ("Layer", layer), ("Head", head)):
            inside.get_by_label(label, exact=True).select_option(index=at)
        rows = inside.locator(".inside-row")
        rows.nth(key).press("Enter")
        expect(rows.nth(key)).to_be_focused()
        q = expected[layer]["query"][place].view(4, 32)[head]
        k = expected[layer]["keys"][key].view(4, 32)[head]
        score = (q @ k).item() / 32**0.5
        _, shown_score, shown_weight = rows.nth(key).inner_text().split()
        assert figures_in(shown_score) == [pytest.approx(score, abs=NUMBER)]
        weight = expected[layer]["weights"][place, head, key].item()
        assert figures_in(shown_weight) == [pytest.approx(weight, abs=NUMBER)]
        products = [
            figures_in(text)[0] for text in inside.locator(".inside-grid button").all_inner_texts()
        ]
        assert products == pytest.approx((q * k).tolist(), abs=3 * NUMBER)
        total, root = figures_in(lines_of(figure)[-1])[0], figures_in(lines_of(figure)[-1])[-2]
        assert sum(products) == pytest.approx(total, abs=1e-9)
        assert rounds_to(total / root, shown_score)
        for at in (0, 9, 31):
            inside.locator(".inside-grid button").nth(at).press("Enter")
            number, a, b, product = figures_in(lines_of(figure)[0])
            assert (number, product) == (at + 1, products[at])
            assert rounds_to(a * b, lines_of(figure)[0].split()[-1])


@pytest.mark.browser
def test_every_sum_of_every_box_agrees_with_its_digits(figure: Locator) -> None:
    """All that can be calculated in each box, for its first and last number."""
    inside, checked = figure.locator(".model-inside"), 0
    for part in PART_TEXTS.keys() - {"whole"}:
        choose(figure, "Part", part)
        expect(inside.locator(".inside-lines p").first).to_be_visible()
        sums = inside.get_by_label("Calculate")
        for value in sums.locator("option").evaluate_all("all => all.map((one) => one.value)"):
            sums.evaluate(
                "(one, value) => { one.value = value; one.dispatchEvent(new Event('input')); }",
                value,
            )
            slider = inside.get_by_label("Number", exact=True)
            for end in ("Home", "End"):
                for shown in slider.filter(visible=True).all():
                    shown.press(end)
                products = inside.locator(".inside-grid button").all_inner_texts()
                check_lines(lines_of(figure), [figures_in(text)[0] for text in products])
                checked += 1
    assert checked > 100


def check_lines(lines: list[str], products: list[float]) -> None:
    """Work out again what the lines of a calculation say."""
    for line in lines:
        numbers, said = figures_in(line), line.split()[-1]
        if re.match(r"\(|.*=", line) is None or "e to the score" in line:
            continue
        if "\N{MULTIPLICATION SIGN} weight" in line:
            value, middle, size, weight, bias, _ = figures_in(
                line.replace(" \N{MINUS SIGN} ", " ; ")
            )
            assert rounds_to((value - middle) / size * weight + bias, said), line
        elif " / " in line:
            assert rounds_to(numbers[0] / numbers[1], said), line
        elif "\N{MULTIPLICATION SIGN}" in line:
            assert rounds_to(numbers[-3] * numbers[-2], said), line
        elif " + " in line:
            assert rounds_to(numbers[0] + numbers[1], said), line
    if products:
        extra = [figures_in(line)[-1] for line in lines[1:-1]]
        total = figures_in(lines[-1])[0]
        assert sum(products) + sum(extra) == pytest.approx(total, abs=1e-9), lines
        result = figures_in(lines[-1])[-1]
        if "ReLU" in lines[-1]:
            assert rounds_to(max(0, total), lines[-1].split()[-1]), lines
        elif "divided" not in lines[-1]:
            assert abs(total - result) <= 0.005 + 1e-9, lines


@pytest.mark.browser
def test_a_bar_opens_its_number_by_mouse_and_by_finger(figure_at: Callable[..., Locator]) -> None:
    figure = figure_at(390, has_touch=True, is_mobile=True, reduced_motion="reduce")
    figure.locator('svg [data-part="encoder-feed-forward"] text').first.tap()
    figure.get_by_role("button", name="Numbers").tap()
    inside = figure.locator(".model-inside")
    expect(inside.locator(".inside-title")).to_be_in_viewport()
    expect(inside).to_contain_text("the numbers of knight")
    strip = inside.locator('svg[data-vector="hidden"]')
    box = strip.bounding_box()
    assert box is not None
    strip.tap(position={"x": box["width"] * 100.5 / 512, "y": 5})
    expect(inside.get_by_label("Calculate")).to_have_value("hidden")
    expect(inside.locator("output")).to_have_text("101 of 512")
    inside.get_by_role("button", name="Back to the picture").tap()
    expect(figure.get_by_role("button", name="Next")).to_be_in_viewport()


@pytest.mark.browser
def test_the_model_comes_when_a_box_is_opened_and_not_before(
    browser: Browser, address: str
) -> None:
    page = browser.new_page(reduced_motion="reduce")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rsplit("/", 1)[-1].split("?")[0]))
    page.route("**/weights.js", lambda route: route.abort())
    open_page(page, f"{address}/{PAGE}#from-attention")
    figure = page.locator("figure.moving-figure")
    assert "weights.js" not in asked
    press(figure, "Next")
    expect(figure.locator(".model-inside")).to_contain_text("weights.js could not be loaded")
    assert said(figure).startswith("Step 1 of")  # the shapes are there without it
    page.unroute("**/weights.js")
    press(figure, "Next")
    expect(figure.locator(".model-inside")).to_contain_text("the numbers of knight")
    page.close()


@pytest.mark.browser
def test_a_word_that_does_not_fit_gets_a_message(figure: Locator) -> None:
    field = figure.get_by_label("Word", exact=True)
    for typed, message in (("two words", "One word at a time"), ("x" * 13, "At most 12 letters")):
        field.fill(typed)
        field.press("Enter")
        expect(figure.locator(".moving-words").first).to_contain_text(message)
        expect(field).to_have_attribute("aria-invalid", "true")
    send(figure, "tea")
    expect(field).to_have_attribute("aria-invalid", "false")


# ---- the norms ----------------------------------------------------------------------------------


def heights(figure: Locator, selector: str) -> list[float]:
    """Return where the middles of some elements stand."""
    middles: list[float] = figure.locator(selector).evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect())"
        ".map((box) => (box.top + box.bottom) / 2)"
    )
    return middles


def order_of_norms(figure: Locator, side: int) -> list[bool]:
    """Say of each box in a stack, from top to bottom, whether it is a norm."""
    frame = figure.locator("svg .model-frame").nth(side).bounding_box()
    assert frame is not None
    found = []
    for box in figure.locator("svg .model-part > rect.box.model-outline").all():
        place, is_norm = box.bounding_box(), box.get_attribute("height") == "18"
        assert place is not None
        inside = frame["x"] < place["x"] < frame["x"] + frame["width"]
        if inside and frame["y"] < place["y"] < frame["y"] + frame["height"]:
            found.append((place["y"], is_norm))
    return [is_norm for _, is_norm in sorted(found)]


@pytest.mark.browser
def test_the_switch_moves_the_norms_and_nothing_else(figure: Locator) -> None:
    unmoved = [part for part in PARTS if "attention" not in part and "forward" not in part]
    boxes = ", ".join(f'svg [data-part="{part}"] .model-outline' for part in unmoved)
    before = heights(figure, boxes), said(figure), said(figure, 2)
    for norm, order in (("post", [False, True]), ("pre", [True, False])):
        choose(figure, "Norm", norm)
        assert said(figure, 1).lower().startswith(f"{norm}-norm:")
        assert [order_of_norms(figure, side) for side in range(2)] == [2 * order, 3 * order]
        final = figure.locator('svg [data-part="norm"]').evaluate_all(
            "all => all.map((one) => one.style.opacity).filter((opacity) => opacity !== '')"
        )
        assert final == ["0" if norm == "post" else "1"] * 2  # one more norm ends each stack
        assert (heights(figure, boxes), said(figure), said(figure, 2)) == before


# ---- what is taken away -------------------------------------------------------------------------


def bars(figure: Locator) -> list[str]:
    return figure.locator(".model-number").all_inner_texts()


@pytest.mark.browser
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_error_rates_are_the_stored_ones(figure: Locator, norm: str) -> None:
    choose(figure, "Norm", norm)
    pressed = 0
    for taken in TAKEN:
        names = (taken.post if norm == "post" else None) or taken.pre
        expected = [f"{mean(stored(name)):.1f}%" for name in names]
        for part in taken.parts:
            choose(figure, "Part", part)
            assert bars(figure) == []  # guess first
            press(figure, f"Take away {taken.what}")
            assert bars(figure) == expected, (taken.key, part)
            # The difference is that of the rates as they are shown.
            whole, without = (float(rate[:-1]) for rate in expected)
            points = f"{without - whole:+.1f} points".replace("-", "\N{MINUS SIGN}")
            assert figure.locator(".model-note").inner_text().startswith(points)
            conditions = figure.locator(".model-what").inner_text()
            assert ("post-norm" in conditions) == (names == taken.post)
            assert ("LSTM" in conditions) == names[0].startswith("LSTM")
            assert "mean of 3 seeds" in conditions
            assert all(rate in said(figure, 2) for rate in expected)
            press(figure, f"Take away {taken.what}")
            assert bars(figure) == []
            pressed += 1
    assert pressed >= 10


@pytest.mark.browser
def test_the_ticks_are_the_seeds_and_small_gaps_say_so(figure: Locator) -> None:
    choose(figure, "Part", "norm")
    both = stored("whole"), stored("post-norm")
    assert bars(figure) == [f"{mean(rates):.1f}%" for rates in both]
    ticks = figure.locator(".model-seed").evaluate_all(
        "all => all.map((tick) => parseFloat(tick.style.left))"
    )
    rates = [*both[0], *both[1]]
    assert ticks == pytest.approx([100 * rate / max(rates) for rate in rates], abs=0.1)
    # As the capstone's text says: two standard errors are 0.646.
    assert "No difference seen" in figure.locator(".model-note").inner_text()
    choose(figure, "Part", "encoder-attention")
    press(figure, "Take away all heads but one")
    assert "No difference seen" not in figure.locator(".model-note").inner_text()


@pytest.mark.browser
def test_what_is_taken_away_is_gone_until_a_word_is_sent(figure: Locator) -> None:
    choose(figure, "Part", "residual")
    assert marked(figure, "gone") == set()
    press(figure, "Take away the residual lines")
    assert marked(figure, "gone") == {"residual"}
    press(figure, "Next")
    assert marked(figure, "gone") == set()
    assert bars(figure) == []
    choose(figure, "Part", "masked-attention")
    press(figure, "Take away the causal mask")
    assert marked(figure, "gone") == {"mask"}
    assert "waits" in said(figure)  # a word goes through the whole model only


@pytest.mark.browser
def test_a_part_that_was_not_measured_says_so(figure: Locator) -> None:
    measured = {part for taken in TAKEN for part in taken.parts} | {"norm", "whole"}
    for part in PART_TEXTS.keys() - measured:
        choose(figure, "Part", part)
        expect(figure.locator(".model-take button")).to_have_count(0)
        assert "was not measured" in figure.locator(".model-note").inner_text()


# ---- chapters -----------------------------------------------------------------------------------


@pytest.mark.browser
def test_every_part_leads_to_its_chapters(figure: Locator, site: Path) -> None:
    slugs = set()
    for key, part in PART_TEXTS.items():
        choose(figure, "Part", key)
        links = figure.locator(".model-chapters a")
        found = [str(link.get_attribute("href")) for link in links.all()]
        assert found == [f"{slug}.html" for slug in part.chapters]
        assert all((site / "book" / href).is_file() for href in found)
        slugs |= set(part.chapters)
    assert slugs == set(CHAPTERS)
    for link in figure.locator("svg a").all():
        assert (site / "book" / str(link.get_attribute("href"))).is_file()
    figure.locator('svg a[data-chapter="masking"]').press("Enter")
    expect(figure.page).to_have_url(re.compile(r"book/masking\.html$"))


@pytest.mark.browser
def test_a_click_on_a_box_chooses_it(figure: Locator) -> None:
    for part in ("cross-attention", "output", "residual", "memory", "next"):
        outline = figure.locator(f'svg [data-part="{part}"] .model-outline').first
        outline.scroll_into_view_if_needed()
        box = outline.bounding_box()
        assert box is not None
        figure.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        expect(figure.get_by_label("Part", exact=True)).to_have_value(part)
        assert part in marked(figure, "chosen")
        expect(figure.locator(".model-title")).to_have_text(PART_TEXTS[part].name)


@pytest.mark.browser
def test_who_comes_from_a_chapter_finds_its_parts_lit(quiet_tab: Page, address: str) -> None:
    open_page(quiet_tab, f"{address}/book/positions.html")
    quiet_tab.get_by_role("link", name="The whole model, with these parts lit").click()
    figure = quiet_tab.locator("figure.moving-figure")
    expect(figure.get_by_label("Part", exact=True)).to_have_value("source-positions")
    for slug, lit in CHAPTERS.items():
        quiet_tab.evaluate("(slug) => { location.hash = `#from-${slug}`; }", slug)
        expect(figure.locator(".moving-words li").nth(2)).to_contain_text("You come from")
        quiet_tab.wait_for_function(
            "(count) => new Set([...document.querySelectorAll('svg .model-here')]"
            ".map((part) => part.dataset.part)).size === count",
            arg=len(set(lit)),
        )
        assert marked(figure, "here") == set(lit), slug


# ---- how it stands on a page --------------------------------------------------------------------


@pytest.mark.browser
@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_it_fits_its_place_and_does_not_jump(figure_at: Callable[..., Locator], width: int) -> None:
    figure = figure_at(width, reduced_motion="reduce")
    sizes = """svg => [...svg.querySelectorAll("text")].map(
      (text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"""
    heights, places = set(), set()
    norm = figure.get_by_label("Norm", exact=True)
    for word in (WORD, "cheese"):
        send(figure, word)
        following = figure.get_by_role("button", name="Next")
        expect(following).to_have_attribute("aria-disabled", "false")
        while following.get_attribute("aria-disabled") == "false":
            press(figure, "Next")
            heights.add(norm.evaluate("one => one.offsetTop"))
        parts = labels_of(figure.locator(".model-svg :is(text, rect)"))
        assert [each for each in parts if each.right > each.left and not each.inside] == []
        grid = figure.locator(".inside-grid").evaluate("one => one.scrollWidth - one.clientWidth")
        assert grid <= 0
    for taken in TAKEN:
        choose(figure, "Part", taken.parts[-1])
        press(figure, f"Take away {taken.what}")
        places.add(norm.evaluate("one => one.offsetTop"))
    assert min(figure.locator(".model-svg").evaluate(sizes)) >= (11.99 if width >= 390 else 10.5)
    if width >= 390:  # a smaller phone has more lines of words
        assert len(heights) == len(places) == 1, (heights, places)
    assert figure.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.browser
def test_play_is_offered_only_where_motion_is_welcome(figure_at: Callable[..., Locator]) -> None:
    for motion in ("no-preference", "reduce"):
        figure = figure_at(1280, reduced_motion=motion)
        moves = motion == "no-preference"
        expect(figure.get_by_role("button", name="Play")).to_be_visible(visible=moves)
        duration = figure.locator(".model-tokens").first.evaluate(
            "one => getComputedStyle(one).transitionDuration"
        )
        assert (duration != "0s") == moves


@pytest.mark.browser
def test_play_goes_on_by_itself(timed_figure: Locator) -> None:
    figure, clock = timed_figure, timed_figure.page.clock
    press(figure, "Play")
    clock.run_for(2 * 1100 + 100)
    expect(figure.locator(".moving-words li").first).to_contain_text("Step 2 of")
    press(figure, "Pause")
    clock.run_for(5000)
    expect(figure.locator(".moving-words li").first).to_contain_text("Step 2 of")


@pytest.mark.browser
def test_axe_finds_nothing_while_it_is_used(figure: Locator) -> None:
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    press(figure, "Next")
    choose(figure, "Part", "masked-attention")
    press(figure, "Take away the causal mask")
    assert run_axe(figure.page, axe, "desktop-light", contrast=True) == []


@pytest.mark.browser
@pytest.mark.parametrize("height", [568, 844])
def test_the_part_that_is_lit_and_next_are_seen_together(
    browser: Browser, address: str, height: int
) -> None:
    page = browser.new_page(viewport={"width": 390, "height": height}, reduced_motion="reduce")
    open_page(page, f"{address}/{PAGE}")
    figure = page.locator("figure.moving-figure")
    following = figure.get_by_role("button", name="Next")
    following.evaluate("(e) => e.scrollIntoView({ block: 'end' })")
    while following.get_attribute("aria-disabled") == "false":
        following.click()
        expect(following).to_be_in_viewport(ratio=0.99)
        lit = figure.locator("svg .model-now > .model-outline").first
        if lit.count():  # the frame of a whole stack is higher than a small phone
            expect(lit).to_be_in_viewport(ratio=0.99)
            assert lit.evaluate("(e) => e.getBoundingClientRect().top") > following.evaluate(
                "(e) => e.getBoundingClientRect().bottom"
            )
    page.close()
