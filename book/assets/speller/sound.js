// Lets a word be heard: a button plays a recording of each phoneme, one after the other, and lights what sounds.
// The recordings come when the button is pressed, as audio elements with an address, because a page that was opened as
// a file may not fetch anything. book/assets/phonemes/README.md says how they are made.
// book/_extensions/figures.py loads this file on the pages of the figures that speak.

(() => {
  const { make, makeButtons } = window.moving;
  const FOLDER = new URL("../phonemes/", document.currentScript.src);
  const SOUND = /^[A-Z]+$/; // special tokens such as <eos> have none

  // One element per phoneme, however often it occurs: browsers limit how many a page may have.
  const recordings = new Map();
  function recordingOf(phoneme) {
    const known = recordings.get(phoneme);
    if (known && !known.error) return known;
    const audio = new Audio(new URL(`${phoneme}.mp3`, FOLDER).href);
    audio.load(); // while the button is pressed; otherwise Safari plays only the first one
    recordings.set(phoneme, audio);
    return audio;
  }

  // Resolves when a recording is over; rejects if the browser cannot or may not play it.
  function sound(audio) {
    return new Promise((resolve, reject) => {
      Object.assign(audio, { onended: resolve, onerror: reject, currentTime: 0 });
      audio.play().catch(reject);
    });
  }

  function light(svg, step) {
    svg.classList.toggle("moving-sounding", step !== null);
    svg.querySelectorAll("[data-step]").forEach((part) => {
      part.classList.toggle("moving-heard", part.dataset.step === String(step));
    });
  }

  // Adds the button; `begin()` shows the whole word and returns its phonemes. In the picture, what belongs to the first
  // one has 0 as its data-step. Returns what stops the sound.
  window.speller.makeListen = (parent, svg, begin) => {
    const [button] = makeButtons(parent, [_("Listen")]);
    const note = _("A synthetic voice (espeak-ng) says one phoneme after the other; a person would join them.");
    make(button.parentElement, "span", { id: "speller-voice", className: "moving-note", textContent: note });
    button.setAttribute("aria-label", _("Listen to the phonemes"));
    button.setAttribute("aria-describedby", "speller-voice");
    let playing = [];

    function stop() {
      playing.forEach(({ audio }) => audio.pause());
      playing = [];
      light(svg, null);
    }

    async function play() {
      stop();
      const mine = begin()
        .map((phoneme, step) => ({ step, audio: SOUND.test(phoneme) && recordingOf(phoneme) }))
        .filter(({ audio }) => audio);
      playing = mine;
      button.setAttribute("aria-disabled", "false");
      try {
        for (const { audio, step } of mine) {
          light(svg, step);
          await sound(audio);
          if (playing !== mine) return;
        }
      } catch {
        if (playing !== mine) return; // it was stopped
        // Not `disabled`, which would take the focus away from who presses it; another press tries again.
        button.setAttribute("aria-disabled", "true");
      }
      stop();
    }

    button.addEventListener("click", play);
    return stop;
  };
})();
