"""The model that runs in the page book/speak.html: it computes what the package computes.

What is expected is asked of PyTorch here, in float32; the page has the weights in float16 and sums
in another order. Hence the tolerances: logits and sums of log-probabilities differ by less than
0.01, attention weights by less than 0.005.
"""

from __future__ import annotations

import copy
import itertools
import json
import random
import re
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, Locator, Page, Route, expect

from book._extensions.speller import WEIGHTS, spoken_steps, weights_script
from tests.site.conftest import SETTLE, open_page, run_axe
from transformer_ref.applications.g2p import Speller
from transformer_ref.data import PHONEMES, load_cmudict
from transformer_ref.decoding import beam_search

PAGE = "book/speak.html"
FIGURE = "speak"
LOGITS, WEIGHT = 0.01, 0.005  # tolerances
WORDS = ("knight", "chaos", "o'clock", "dethrone", "a", "antidisestablishmentarianism")

# The model, without the figure: the scripts are added as the figure adds them.
LOAD = """async () => {
  for (const name of ["model.js", "weights.js"]) {
    await new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = `../_static/speller/${name}`;
      script.onload = resolve;
      script.onerror = reject;
      document.head.append(script);
    });
  }
  window.model = new window.speller.Model(window.speller.weights);
}"""


@pytest.fixture(scope="module")
def engine(browser: Browser, address: str) -> Iterator[Page]:
    """Open the page and load its model as `window.model`."""
    page = browser.new_page()
    open_page(page, f"{address}/{PAGE}")
    page.evaluate(LOAD)
    yield page
    page.close()


@pytest.fixture
def figure(quiet_tab: Page, address: str) -> Locator:
    """Open the page anew and return its figure."""
    quiet_tab.emulate_media(media="screen")
    open_page(quiet_tab, f"{address}/{PAGE}")
    return quiet_tab.locator("figure.moving-figure")


def speak(figure: Locator, word: str) -> None:
    """Type a word and wait for the answer."""
    figure.get_by_label("Your word").fill(word)
    figure.get_by_label("Your word").press("Enter")
    expect(figure.locator(".moving-words")).to_contain_text(f"{word} is over")


def ending(figure: Locator) -> str:
    """Return the last sentence about the word."""
    return figure.locator(".moving-words li").last.inner_text()


# ---- what is built ----------------------------------------------------------------------------


def test_the_weights_are_those_of_the_checkpoint(site: Path, speller: Speller) -> None:
    """Of another checkpoint, or none, when what is built is stale."""
    built = (site / WEIGHTS).read_text(encoding="utf-8")
    is_current = built == weights_script(speller)
    assert is_current, "the checkpoint has changed since the site was built"  # without a diff
    assert 3.6e6 < len(built) < 3.9e6


def test_the_first_word_is_stored_as_the_package_says_it(site: Path, speller: Speller) -> None:
    page = (site / PAGE).read_text(encoding="utf-8")
    (stored,) = re.findall(r'data-for="speak">(.*?)</script>', page)
    data = json.loads(stored)
    assert data["phonemes"] == list(speller.phonemes.tokens)
    assert_steps_agree(data["steps"], spoken_steps(speller, data["word"]), 0.0002, 0.0002)


def assert_steps_agree(
    found: list[dict[str, Any]], expected: list[dict[str, Any]], logits: float, weight: float
) -> None:
    """Compare steps: the tokens, the attention of each head, the logits after each layer."""
    assert [step["id"] for step in found] == [step["id"] for step in expected]
    for key, tolerance in (("cross", weight), ("lens", logits)):
        ours, theirs = (
            torch.cat([torch.tensor(s[key], dtype=torch.float32) for s in steps])
            for steps in (found, expected)
        )
        torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


# ---- the model --------------------------------------------------------------------------------


@pytest.mark.browser
def test_500_words_are_spoken_as_by_the_package(engine: Page, speller: Speller) -> None:
    words = [word for word, _ in load_cmudict("test")]
    chosen = random.Random(0).sample(words, 500)
    spoken = engine.evaluate(
        """words => words.map((word) => {
          const ids = model.greedy(word).map(({ id }) => id);
          return ids.slice(0, -1).map((id) => model.phonemes[id]);
        })""",
        chosen,
    )
    assert dict(zip(chosen, spoken, strict=True)) == dict(
        zip(chosen, speller.pronounce_all(chosen), strict=True)
    )


@pytest.mark.browser
@pytest.mark.parametrize("word", WORDS)
def test_attention_and_logits_of_each_layer_are_the_packages(
    engine: Page, speller: Speller, word: str
) -> None:
    found = engine.evaluate("word => model.greedy(word)", word)
    assert_steps_agree(found, spoken_steps(speller, word), LOGITS, WEIGHT)


@pytest.mark.browser
@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("size", [1, 2, 5])
def test_beams_are_the_packages(engine: Page, speller: Speller, word: str, size: int) -> None:
    bos_id, eos_id = speller.phonemes.bos_id, speller.phonemes.eos_id
    ids, scores = beam_search(
        speller.model, speller.source([word]), bos_id, eos_id, size, 64, num_return=size
    )
    found = engine.evaluate(
        "([word, size]) => model.beamSearch(word, size).best.map(({ ids, sum }) => ({ ids, sum }))",
        [word, size],
    )
    expected = [[i for i in row if i != speller.phonemes.pad_id] for row in ids[0].tolist()]
    assert [beam["ids"] for beam in found] == expected
    assert [beam["sum"] for beam in found] == pytest.approx(scores[0].tolist(), abs=LOGITS)


@torch.inference_mode()
def changed(
    speller: Speller, word: str, hidden: set[int], off: tuple[int, int] | None
) -> list[int]:
    """Say a word with letters hidden from the decoder and a head off, by the package's parts."""
    model, phonemes = speller.model, speller.phonemes
    if off is not None:
        model = copy.deepcopy(model)
        attention: Any = model.decoder.layers[off[0]].cross_attention
        size = model.config.d_model // model.config.num_heads
        attention.out_proj.weight[:, off[1] * size : (off[1] + 1) * size] = 0.0
    memory = model.encode(speller.source([word]))
    mask = torch.tensor([[[[place not in hidden for place in range(len(word))]]]])
    ids = [phonemes.bos_id]
    while ids[-1] != phonemes.eos_id and len(ids) < model.config.max_len:
        logits = model.decode(torch.tensor([ids]), memory, memory_mask=mask)
        ids.append(int(logits[0, -1].argmax()))
    return ids[1:]


@pytest.mark.browser
@pytest.mark.parametrize(
    ("word", "hidden", "off"),
    [
        *(("knight", {place}, None) for place in range(6)),
        ("knight", set(range(6)), None),
        *(("chaos", set(), pair) for pair in itertools.product(range(3), range(4))),
        ("though", {3}, (1, 2)),
    ],
)
def test_hiding_letters_and_heads_does_what_the_packages_masks_do(
    engine: Page, speller: Speller, word: str, hidden: set[int], off: tuple[int, int] | None
) -> None:
    heads = [[(layer, head) == off for head in range(4)] for layer in range(3)]
    found = engine.evaluate(
        """([word, hidden, off]) => {
          const steps = model.greedy(word, { hidden: new Set(hidden), off });
          return steps.map(({ id, cross }) => [id, cross]);
        }""",
        [word, sorted(hidden), heads],
    )
    assert [step for step, _ in found] == changed(speller, word, hidden, off)
    for _, cross in found:
        assert all(row[place] == 0 for layer in cross for row in layer for place in hidden)


@pytest.mark.browser
def test_a_forced_phoneme_is_read_by_the_next_steps(engine: Page, speller: Speller) -> None:
    """By the package: the logits after the forced beginning, all at once."""
    forced = [speller.phonemes.tokens.index(token) for token in ("K", "EY")]
    found = engine.evaluate(
        "ids => model.greedy('chaos', { forced: new Map(ids.entries()) })", forced
    )
    ids = [step["id"] for step in found]
    assert speller.phonemes.decode(ids) == ["K", "EY", "AA", "S"]
    with torch.inference_mode():
        tgt = torch.tensor([[speller.phonemes.bos_id, *ids[:-1]]])
        logits = speller.model(speller.source(["chaos"]), tgt)[0]
    ours = torch.tensor([step["lens"][-1] for step in found])
    torch.testing.assert_close(ours, logits, rtol=0, atol=LOGITS)


# ---- the page ---------------------------------------------------------------------------------


@pytest.mark.browser
def test_the_model_is_loaded_by_the_first_key_and_not_before(
    browser: Browser, address: str
) -> None:
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rsplit("/", 1)[-1].split("?")[0]))
    open_page(page, f"{address}/{PAGE}")
    figure = page.locator("figure.moving-figure")
    for name in ("Back", "Back", "Next"):
        figure.get_by_role("button", name=name).click()
    figure.get_by_label("Decoder layer").select_option("2")
    figure.get_by_text("The numbers, as a heat map").click()
    page.evaluate(SETTLE)
    assert not {"model.js", "weights.js"} & set(asked)
    with page.expect_request("**/weights.js"):
        figure.get_by_label("Your word").press("s")
    page.close()
    assert asked.count("model.js") == asked.count("weights.js") == 1


@pytest.mark.browser
def test_it_works_from_a_file_without_a_server(browser: Browser, site: Path) -> None:
    page = browser.new_page(reduced_motion="reduce")
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    open_page(page, (site / PAGE).as_uri())
    figure = page.locator("figure.moving-figure")
    speak(figure, "phone")
    assert ending(figure) == "phone is over: F OW N."
    page.close()
    assert problems == []


@pytest.mark.browser
def test_the_stored_word_is_shown_with_its_ribbons(figure: Locator, speller: Speller) -> None:
    assert ending(figure) == "knight is over: N AY T."
    steps = spoken_steps(speller, "knight")
    for layer, head in (("mean", "mean"), ("1", "3"), ("3", "mean"), ("mean", "2")):
        figure.get_by_label("Decoder layer").select_option(layer)
        figure.get_by_label("Head", exact=True).select_option(head)
        for row, step in enumerate(steps):
            weights = torch.tensor(step["cross"])
            weights = weights.mean(dim=0) if layer == "mean" else weights[int(layer) - 1]
            weights = weights.mean(dim=0) if head == "mean" else weights[int(head) - 1]
            curves = figure.locator(f'.speak-ribbons path[data-step="{row}"]')
            shown = curves.evaluate_all("all => all.map((one) => Number(one.dataset.weight))")
            expected = [weight for weight in weights.tolist() if weight >= 0.03]
            assert shown == pytest.approx(expected, abs=0.0002), (layer, head, row)
            drawn = curves.evaluate_all("all => all.map((one) => one.getAttribute('stroke-width'))")
            assert list(map(float, drawn)) == pytest.approx([1 + 13 * w for w in shown])


@pytest.mark.browser
def test_the_numbers_are_the_weights(figure: Locator, speller: Speller) -> None:
    figure.get_by_label("Decoder layer").select_option("2")
    figure.get_by_text("The numbers, as a heat map").click()
    rows = figure.locator('[data-part="numbers"] tbody tr')
    expect(rows).to_have_count(4)
    for row, step in zip(rows.all(), spoken_steps(speller, "knight"), strict=True):
        shown = [float(cell) for cell in row.locator("td").all_inner_texts()]
        expected = torch.tensor(step["cross"])[1].mean(dim=0).tolist()
        assert shown == pytest.approx(expected, abs=0.006)


@pytest.mark.browser
def test_all_is_done_by_keyboard(figure: Locator) -> None:
    """A word, its steps, a phoneme of one's own, a hidden letter, a head, and the way back."""
    keyboard, words = figure.page.keyboard, figure.locator(".moving-words")
    speak(figure, "chaos")
    assert ending(figure) == "chaos is over: CH AW Z."
    for name, times in (("Back", 3), ("Next", 1), ("Back", 1)):
        figure.get_by_role("button", name=name).focus()
        for _ in range(times):
            keyboard.press("Enter")
    expect(words).to_contain_text("Step 1 of 4, after the begin token: CH, with probability 0.65")
    figure.get_by_role("button", name="K, probability").press("Enter")
    expect(words).to_contain_text(
        "K, with probability 0.20. You chose it; the model would have said CH"
    )
    expect(figure.get_by_role("button", name="K, probability")).to_be_focused()
    figure.get_by_role("button", name="Next").focus()
    for _ in range(9):
        keyboard.press("Enter")
    expect(words).to_contain_text(
        "chaos is over: K EY AA S. With K forced at step 1; without, it says CH AW Z."
    )
    figure.get_by_role("button", name="Reset").press("Enter")
    expect(words).to_contain_text("Step 1 of 4")
    expect(words).not_to_contain_text("You chose")
    figure.get_by_role("button", name="Hide letter 2, h").press("Space")
    figure.get_by_role("button", name="Head 2.3").press("Space")
    figure.get_by_role("button", name="Next").focus()
    for _ in range(9):
        keyboard.press("Enter")
    expect(words).to_contain_text(
        "With h (letter 2) hidden, head 2.3 off; without, it says CH AW Z."
    )
    expect(figure.get_by_role("button", name="Head 2.3")).to_have_attribute("aria-pressed", "false")


@pytest.mark.browser
def test_a_tab_stop_leads_to_each_control(figure: Locator) -> None:
    """In the order of the page, and none of them is a trap."""
    figure.get_by_role("button", name="Take the tour").focus()
    reached = []
    for _ in range(60):
        figure.page.keyboard.press("Tab")
        inside = "document.activeElement.closest('.speak') !== null"
        if not figure.page.evaluate(inside):
            break
        reached.append(
            figure.page.evaluate("document.activeElement.id || document.activeElement.innerText")
        )
    parts = [
        "speak-input",
        "Speak",
        "speak-layer",
        "speak-head",
        "Back",
        "Next",
        "Reset",
        "1.1",
        "3.4",
    ]
    places = [next(i for i, name in enumerate(reached) if name.startswith(part)) for part in parts]
    assert places == sorted(places), reached
    assert len(reached) == 33  # with 6 letters, 5 bars, 12 heads, 2 folds and Listen


@pytest.mark.browser
@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("", "Type a word first"),
        ("two words", "One word at a time"),
        ("caf\u00e9", "It has no token for \u201c\u00e9\u201d"),
        ("b4", "It has no token for \u201c4\u201d"),
        ("x" * 29, "At most 28 letters; this word has 29"),
    ],
)
def test_what_the_model_cannot_read_gets_a_message(
    figure: Locator, typed: str, message: str
) -> None:
    field, before = figure.get_by_label("Your word"), ending(figure)
    field.fill(typed)
    field.press("Enter")
    expect(figure.get_by_role("status")).to_contain_text(message)
    expect(field).to_have_attribute("aria-invalid", "true")
    assert ending(figure) == before
    speak(figure, "tea")
    expect(figure.get_by_role("status")).to_be_empty()
    expect(field).to_have_attribute("aria-invalid", "false")


@pytest.mark.browser
def test_capitals_and_a_curly_apostrophe_are_read(figure: Locator, speller: Speller) -> None:
    figure.get_by_label("Your word").fill(" O\u2019Clock ")
    figure.get_by_label("Your word").press("Enter")
    answer = " ".join(speller.pronounce("o'clock"))
    expect(figure.locator(".moving-words")).to_contain_text(f"o'clock is over: {answer}.")


@pytest.mark.browser
def test_a_script_that_does_not_come_is_told_and_asked_again(
    browser: Browser, address: str
) -> None:
    page = browser.new_page(reduced_motion="reduce")
    page.route("**/weights.js", lambda route: route.abort())
    open_page(page, f"{address}/{PAGE}")
    figure = page.locator("figure.moving-figure")
    figure.get_by_label("Your word").fill("tea")
    figure.get_by_label("Your word").press("Enter")
    expect(figure.get_by_role("status")).to_contain_text("weights.js could not be loaded")
    page.unroute("**/weights.js")
    speak(figure, "tea")
    page.close()


@pytest.mark.browser
def test_what_is_done_while_the_model_comes_is_not_lost(browser: Browser, address: str) -> None:
    page = browser.new_page(reduced_motion="reduce")
    asked: list[Route] = []
    page.route("**/weights.js", lambda route: asked.append(route))  # goes on when it is told
    open_page(page, f"{address}/{PAGE}")
    figure = page.locator("figure.moving-figure")
    for place in (1, 2):
        figure.locator(f".speak-letters button:nth-child({place})").click()
    expect(figure.get_by_role("status")).to_contain_text("Loading the model")
    for route in asked:
        route.continue_()
    expect(figure.locator(".moving-words")).to_contain_text("k (letter 1) hidden, n (letter 2)")
    page.close()


@pytest.mark.browser
def test_phonemes_come_one_by_one_and_all_at_once_for_less_motion(
    timed_figure: Locator, figure: Locator
) -> None:
    speak(figure, "tea")
    expect(figure.get_by_role("button", name="Play")).to_be_hidden()
    moving = timed_figure
    moving.get_by_label("Your word").fill("tea")
    moving.get_by_label("Your word").press("Enter")
    expect(moving.locator(".moving-words")).to_contain_text("Step 1 of 3")
    expect(moving.locator(".speak-phoneme")).to_have_count(1)
    expect(moving.get_by_role("button", name="Pause")).to_be_visible()
    moving.page.clock.run_for(2 * 900 + 100)
    expect(moving.locator(".speak-phoneme")).to_have_count(3)
    expect(moving.get_by_role("button", name="Play")).to_be_visible()


@pytest.mark.browser
def test_greedy_and_beam_stand_side_by_side(figure: Locator, speller: Speller) -> None:
    speak(figure, "attach")
    figure.get_by_text("Greedy and beam search, side by side").click()
    verdict = figure.locator(".speak-verdict")
    for size in (2, 4):
        figure.get_by_label("Beam size").select_option(str(size))
        expect(figure.locator('[data-part="beam"] thead th')).to_have_count(size + 2)
        text = verdict.inner_text().replace("\N{MINUS SIGN}", "-")
        for beam_size, pattern in (
            (1, r"Greedy: ([A-Z ]+), log-probability (\S+)\. "),
            (size, rf"Beam of {size}: ([A-Z ]+), (\S+)\. "),
        ):
            ids, scores = beam_search(
                speller.model, speller.source(["attach"]), 1, 2, beam_size, 64
            )
            found = re.search(pattern, text)
            assert found, text
            assert found[1].split() == speller.phonemes.decode(ids[0, 0].tolist())
            assert float(found[2]) == pytest.approx(scores[0, 0].item(), abs=LOGITS)
    expect(figure.locator('[data-part="beam"] td.speak-same')).to_have_count(5)
    speak(figure, "tea")
    expect(verdict).to_contain_text("Both give the same answer.")


@pytest.mark.browser
def test_the_tour_lights_what_it_speaks_of_and_is_right(figure: Locator, speller: Speller) -> None:
    """Each card says in capitals what the model says, and in the figure it is seen."""
    figure.get_by_role("button", name="Take the tour").press("Enter")
    tour = figure.get_by_role("group", name="Guided tour")
    seen = [  # a part that is lit, and what the words beside it say on each card
        ("word", "knight is over: N AY T."),
        ("player", "Step 1 of 4, after the begin token: N"),
        ("look", "looks at n (letter 2) 51%, k (letter 1) 48%; this is the mean of all layers"),
        ("look", "looks at k (letter 1) 97%; this is layer 1"),
        ("look", "knight is over: N AY T. With k (letter 1) hidden"),
        ("look", "knight is over: K AY T. With n (letter 2) hidden"),
        ("lens", "after layer 1 is K, after layer 2 N, after layer 3 N"),
        ("look", "chaos is over: K EY AA S. With K forced at step 1; without, it says CH AW Z."),
        ("look", "chaos is over: K EY AA S. With head 3.4 off; without, it says CH AW Z."),
        ("beam", "attach is over: AE T AH K."),
    ]
    for number, (part, words) in enumerate(seen, start=1):
        expect(tour).to_contain_text(f"{number} of {len(seen)}")
        expect(tour.locator(".speak-title")).to_be_focused()
        lit = figure.locator(".speak-lit")
        expect(lit).to_have_count(1)
        expect(lit).to_have_attribute("data-part", part)
        expect(lit).to_be_in_viewport()
        expect(figure.locator(".moving-words")).to_contain_text(words)
        if part == "beam":
            expect(figure.locator(".speak-verdict")).to_contain_text("AH T AE CH")
        tour.get_by_role("button", name="Next" if number < len(seen) else "Done").press("Enter")
    expect(tour).to_have_count(0)
    expect(figure.get_by_role("button", name="Take the tour")).to_be_focused()


@pytest.mark.browser
def test_the_tour_is_left_at_any_card(figure: Locator) -> None:
    begin = figure.get_by_role("button", name="Take the tour")
    tour = figure.get_by_role("group", name="Guided tour")
    begin.press("Enter")
    tour.get_by_role("button", name="Next").press("Enter")
    figure.page.keyboard.press("Escape")
    expect(tour).to_have_count(0)
    expect(figure.locator(".speak-lit")).to_have_count(0)
    begin.press("Enter")
    expect(tour).to_contain_text("1 of 10")
    tour.get_by_role("button", name="Leave").press("Enter")
    expect(begin).to_be_focused()


@pytest.mark.browser
def test_weights_of_heads_that_are_off_are_left_out(figure: Locator) -> None:
    speak(figure, "knight")
    words = figure.locator(".moving-words")
    for layer in (1, 2, 3):
        expect(words).not_to_contain_text("nothing comes")
        for head in (1, 2, 3, 4):
            figure.get_by_role("button", name=f"Head {layer}.{head}").click()
    expect(words).to_contain_text("nothing comes from the letters")
    expect(figure.locator(".speak-ribbons path")).to_have_count(0)


@pytest.mark.browser
def test_a_way_leads_back_from_the_figure_to_the_question(figure: Locator) -> None:
    back = figure.get_by_role("button", name="Back to the question")
    expect(back).to_be_hidden()
    asked = figure.page.locator("button.speak-try").nth(4)
    asked.click()
    back.click()
    expect(asked).to_be_focused()
    expect(asked).to_be_in_viewport()


@pytest.mark.browser
def test_the_prompts_are_right_about_the_model(figure: Locator, speller: Speller) -> None:
    listed: dict[str, list[list[str]]] = {}
    for split in ("train", "dev", "test"):
        listed |= dict(load_cmudict(split))  # type: ignore[arg-type]
    buttons = figure.page.locator("button.speak-try").all()
    assert len(buttons) >= 8
    for button in buttons:
        data: dict[str, str] = button.evaluate("one => ({ ...one.dataset })")
        hidden = {int(data["hide"]) - 1} if "hide" in data else set()
        said = changed(speller, data["word"], hidden, None)
        assert " ".join(speller.phonemes.decode(said)) == data["says"]
        expected = data.get("listed", "").split()
        assert not expected or expected in listed[data["word"]]
        button.click()
        expect(figure.locator(".moving-words")).to_contain_text(
            f"{data['word']} is over: {data['says']}."
        )
    train = dict(load_cmudict("train"))
    assert "www" not in listed
    assert {"chaos", "though", "colonel", "ibm", "fbi"} <= set(train)
    assert max(map(len, train)) == 22


@pytest.mark.weekly
@torch.inference_mode()
def test_a_head_less_changes_as_many_words_as_the_tour_says(speller: Speller) -> None:
    words = [word for word, _ in load_cmudict("dev")[:600]]
    before, size = speller.pronounce_all(words), 32
    for layer, head in itertools.product(range(3), range(4)):
        model: Any = copy.deepcopy(speller.model)
        out_proj = model.decoder.layers[layer].cross_attention.out_proj
        out_proj.weight[:, head * size : (head + 1) * size] = 0.0
        after = Speller(model, speller.device).pronounce_all(words)
        share = sum(old != new for old, new in zip(before, after, strict=True)) / len(words)
        assert 0.035 < share < 0.095, (layer, head)


@pytest.mark.browser
def test_without_javascript_there_are_a_picture_and_a_summary(
    browser: Browser, address: str
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/{PAGE}")
    still = page.locator(".moving-fallback")
    expect(still.locator("svg.drawing")).to_be_visible()
    expect(still.locator("svg.drawing")).to_have_attribute("aria-label", re.compile("N AY T"))
    expect(still).to_contain_text("The model says N AY T for knight")
    expect(page.locator("button.speak-try").first).to_be_hidden()
    context.close()


@pytest.mark.browser
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing_when_all_is_open(
    figure_at: Callable[..., Locator], colours: str
) -> None:
    """A page's own test looks at it as it opens; here are a card, both folds and each state."""
    figure = figure_at(1280, reduced_motion="reduce", color_scheme=colours)
    speak(figure, "chaos")
    figure.get_by_text("The numbers, as a heat map").click()
    figure.get_by_role("button", name="Take the tour").click()
    tour = figure.get_by_role("group", name="Guided tour")
    for _ in range(9):
        tour.get_by_role("button", name="Next").click()
    expect(figure.locator(".speak-verdict")).to_contain_text("AH T AE CH")
    figure.get_by_role("button", name="Hide letter 1, a").click()
    figure.get_by_role("button", name="Head 1.2").click()
    expect(figure.locator(".moving-words")).to_contain_text("head 1.2 off; without")
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    mode = "desktop-dark" if colours == "dark" else "desktop-light"
    assert run_axe(figure.page, axe, mode, contrast=True) == []


@pytest.mark.weekly
def test_each_phoneme_of_the_fold_is_in_its_word() -> None:
    text = Path("book/speak.md").read_text(encoding="utf-8")
    fold = text.partition("The 39 phonemes, each with a word")[2].partition(":::")[0]
    examples = dict(re.findall(r"`([A-Z]+)` \*(\w+)\*", fold))
    listed = {
        word: said for split in ("train", "dev", "test") for word, said in load_cmudict(split)
    }
    assert sorted(examples) == sorted(PHONEMES)
    missing = [
        word
        for phoneme, word in examples.items()
        if not any(phoneme in said for said in listed[word])
    ]
    assert missing == []


@pytest.mark.browser
def test_what_is_printed_is_the_picture_and_its_words(figure: Locator) -> None:
    figure.page.emulate_media(media="print")
    expect(figure.locator(".speak-ribbons svg")).to_be_visible()
    expect(figure.locator(".moving-words")).to_be_visible()
    for control in ("#speak-input", ".moving-buttons", ".speak-heads", ".speak-begin"):
        expect(figure.locator(control).first).to_be_hidden()


@pytest.mark.browser
@pytest.mark.parametrize("word", ["knight", "antidisestablishmentarianism"])
def test_it_fits_a_phone_and_can_be_read(figure_at: Callable[..., Locator], word: str) -> None:
    figure = figure_at(375, reduced_motion="reduce")
    speak(figure, word)
    for fold in figure.locator("summary").all():
        fold.click()
    expect(figure.locator(".speak-verdict")).to_be_visible()
    found = figure.evaluate(
        """figure => {
          const kinds = ".speak-ribbons :is(text, rect), .speak-letters button";
          const drawn = [...figure.querySelectorAll(kinds)];
          const scroll = figure.querySelector(".speak-scroll:has(.speak-letters)");
          const wide = scroll.firstElementChild.getBoundingClientRect();
          const letters = [...figure.querySelectorAll(".speak-letters button")];
          return {
            narrowest: Math.min(...letters.map((one) => one.getBoundingClientRect().width)),
            scrolled: scroll.scrollWidth <= scroll.clientWidth || scroll.scrollLeft > 0,
            sideways: document.documentElement.scrollWidth - document.documentElement.clientWidth,
            outside: drawn.map((one) => one.getBoundingClientRect())
              .filter((box) => box.left < wide.left - 1 || box.right > wide.right + 1).length,
            smallest: Math.min(...[...figure.querySelectorAll(".speak :is(text, button, td, li)")]
              .map((one) => parseFloat(getComputedStyle(one).fontSize))),
          };
        }"""
    )
    assert found["sideways"] <= 0
    assert found["outside"] == 0
    assert found["narrowest"] >= 21  # wide enough for a finger, and then the word scrolls
    assert found["scrolled"]  # to the step that is shown, the last one
    assert found["smallest"] >= 11
