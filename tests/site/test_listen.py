"""The button "Listen": a recording of each phoneme of the word, in order, and its place lights up.

Where order matters, the browser plays the real recordings and the page goes on at their ends.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.site.conftest import open_page, stop_clock
from tools.build_book import languages
from transformer_ref.applications.g2p import Speller
from transformer_ref.data import PHONEMES

PAGES = {"hero": "book/index.html", "speak": "book/speak.html"}
MOST_BYTES = 300_000
WORD = "mom"  # its first recording is played twice

# Notes what is played while which steps are lit, and when something is silenced.
LISTEN_IN = """
window.played = [];
window.paused = [];
const name = (audio) => audio.src.split("/").at(-1).split(".")[0];
const lit = () => [...document.querySelectorAll(".moving-heard")].map((one) => one.dataset.step);
const { play, pause } = HTMLMediaElement.prototype;
HTMLMediaElement.prototype.play = function () {
  window.played.push([name(this), [...new Set(lit())]]);
  window.sounding = this;
  return window.answer ? window.answer() : play.call(this);
};
HTMLMediaElement.prototype.pause = function () {
  window.paused.push(name(this));
  pause.call(this);
};
"""
# What `play` answers instead of playing: it goes on until the test ends it; it is not allowed.
ENDLESS = "() => { window.answer = () => Promise.resolve(); }"
REFUSED = """() => {
  window.answer = () => Promise.reject(new DOMException("", "NotAllowedError"));
}"""


@pytest.fixture(params=PAGES)
def name(request: pytest.FixtureRequest) -> str:
    """Name the figure: the one of the start page, and that of the page about the speller."""
    return str(request.param)


@pytest.fixture
def tab(browser: Browser) -> Page:
    """Return a tab that notes what is played, for somebody who wants less motion."""
    page = browser.new_page(reduced_motion="reduce")
    page.add_init_script(LISTEN_IN)
    return page


def spoken(page: Page, address: str, name: str) -> Locator:
    """Open a figure and let it speak WORD."""
    open_page(page, f"{address}/{PAGES[name]}")
    figure = page.locator(f'figure[data-figure="{name}"]')
    say(figure, WORD)
    return figure


def say(figure: Locator, word: str) -> None:
    """Type a word and wait until the model has said it."""
    figure.get_by_label("Your word").fill(word)
    figure.get_by_label("Your word").press("Enter")
    expect(
        figure.get_by_text(f"{word}: the model says").or_(figure.get_by_text(f"{word} is over"))
    ).to_be_visible()


def listen(figure: Locator) -> Locator:
    """Press the button and return it."""
    button = figure.get_by_role("button", name="Listen to the phonemes")
    button.press("Enter")
    return button


def wait_for(page: Page, count: int) -> list[tuple[str, list[str]]]:
    """Wait until so many recordings were begun; return them, each with the steps that were lit."""
    page.wait_for_function("count => window.played.length >= count", arg=count)
    return [(phoneme, steps) for phoneme, steps in page.evaluate("window.played")]


def test_there_is_a_recording_of_each_phoneme_and_all_are_small(site: Path) -> None:
    for folder in (site, *(site / language for language in languages())):
        files = list((folder / "_static/phonemes").glob("*.mp3"))
        assert sorted(file.stem for file in files) == sorted(PHONEMES)
        assert sum(file.stat().st_size for file in files) <= MOST_BYTES


@pytest.mark.browser
@pytest.mark.parametrize("served", [True, False], ids=["server", "file"])
def test_the_word_is_played_in_order_and_lit(
    tab: Page, site: Path, address: str, speller: Speller, name: str, served: bool
) -> None:
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(Path(request.url).name))
    figure = spoken(tab, address if served else site.as_uri(), name)
    phonemes = speller.pronounce(WORD)
    assert len(set(phonemes)) < len(phonemes)
    assert tab.evaluate("window.played") == []
    assert not [each for each in asked if each.endswith(".mp3")]
    button = listen(figure)
    played = wait_for(tab, len(phonemes))
    assert played == [(phoneme, [str(step)]) for step, phoneme in enumerate(phonemes)]
    expect(figure.locator(".moving-sounding, .moving-heard")).to_have_count(0)
    assert {each for each in asked if each.endswith(".mp3")} == {f"{one}.mp3" for one in phonemes}
    expect(button).to_be_enabled()
    tab.close()


@pytest.mark.browser
def test_another_press_begins_again_and_another_word_silences(
    tab: Page, address: str, name: str
) -> None:
    figure = spoken(tab, address, name)
    tab.evaluate(ENDLESS)
    listen(figure)
    wait_for(tab, 1)
    tab.evaluate("window.sounding.dispatchEvent(new Event('ended'))")
    assert wait_for(tab, 2)[-1][1] == ["1"]
    listen(figure)
    assert wait_for(tab, 3)[-1] == wait_for(tab, 3)[0]
    tab.evaluate("window.paused = []")
    say(figure, "tea")
    expect(figure.locator(".moving-sounding, .moving-heard")).to_have_count(0)
    assert wait_for(tab, 3)[-1][0] in tab.evaluate("window.paused")
    # What ends late starts nothing.
    tab.evaluate("window.sounding.dispatchEvent(new Event('ended'))")
    assert len(wait_for(tab, 3)) == 3
    tab.close()


@pytest.mark.browser
def test_a_browser_that_plays_nothing_switches_the_button_off(
    tab: Page, address: str, name: str
) -> None:
    problems: list[str] = []
    tab.on("pageerror", lambda error: problems.append(str(error)))
    figure = spoken(tab, address, name)
    tab.route("**/*.mp3", lambda route: route.abort())
    expect(listen(figure)).to_be_disabled()
    expect(figure.locator(".moving-sounding, .moving-heard")).to_have_count(0)
    tab.unroute("**/*.mp3")  # another press tries again
    expect(listen(figure)).to_be_enabled()
    wait_for(tab, 1 + len(WORD))
    tab.evaluate(REFUSED)
    expect(listen(figure)).to_be_disabled()
    expect(figure.locator(".moving-sounding, .moving-heard")).to_have_count(0)
    assert problems == []
    tab.close()


@pytest.mark.browser
def test_the_steps_and_the_sound_do_not_run_together(timed_tab: Page, address: str) -> None:
    timed_tab.add_init_script(LISTEN_IN)
    open_page(timed_tab, f"{address}/{PAGES['speak']}")
    figure = timed_tab.locator('figure[data-figure="speak"]')
    stop_clock(timed_tab)
    timed_tab.evaluate(ENDLESS)
    figure.get_by_role("button", name="Play").click()
    expect(figure.get_by_role("button", name="Pause")).to_be_visible()
    listen(figure)
    expect(figure.get_by_role("button", name="Play")).to_be_visible()
    expect(figure.locator(".moving-words")).to_contain_text("knight is over")
    expect(figure.locator(".moving-heard").first).to_be_visible()
    figure.get_by_role("button", name="Play").click()
    expect(figure.locator(".moving-sounding")).to_have_count(0)


@pytest.mark.browser
def test_no_recording_is_silent_clipped_or_louder_than_others(tab: Page, address: str) -> None:
    """As the browser decodes them: seconds, peak, and root mean square of what is not silent."""
    open_page(tab, f"{address}/{PAGES['speak']}")
    measured = tab.evaluate(
        """names => Promise.all(names.map(async (name) => {
          const file = await fetch(`../_static/phonemes/${name}.mp3`);
          const context = new OfflineAudioContext(1, 1, 22050);
          const sound = await context.decodeAudioData(await file.arrayBuffer());
          const all = [...sound.getChannelData(0)];
          const loud = all.filter((value) => Math.abs(value) > 0.001);
          const square = loud.reduce((sum, value) => sum + value * value, 0) / loud.length;
          return [sound.duration, Math.max(...all.map(Math.abs)), Math.sqrt(square)];
        }))""",
        list(PHONEMES),
    )
    for phoneme, (seconds, peak, loudness) in zip(PHONEMES, measured, strict=True):
        assert 0.06 < seconds < 0.6, phoneme
        assert peak < 0.95, phoneme
        assert loudness == pytest.approx(0.1, rel=0.15), phoneme
    tab.close()
