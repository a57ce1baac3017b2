// The figure in book/training.ipynb that looks at a training run: thirty checkpoints on a slider, and at each one the
// loss, the word that the model says by itself, and where it looks when it reads the true sounds.
// Plain SVG and native controls, as in positions.js; the page holds the stored run.
// book/_extensions/figures.py loads this file on pages that hold <figure data-figure="checkpoints">.

(() => {
  const { number, percent, fill, make, draw, clear } = window.moving;
  const { makeSlider, makeSelect, makeSteps, makeWords, onNewWidth, dataFor, start } = window.moving;
  const PAUSE = 700; // milliseconds of a checkpoint while it plays
  const HEIGHT = 290;
  const HIGHEST = 4; // nats at the top of the picture

  const sounds = (phonemes) => phonemes.join(" ") || _("(nothing)");
  // The landmarks, as the data calls them.
  const KNOWN = {
    nothing: _("knows nothing"), "the frequencies": _("knows the frequencies"), "the phoneme before": _("knows the phoneme before"),
  };

  // The loss of the last steps before a checkpoint, as the results hold it: a mean for every `every` steps.
  const lossAt = ({ first, losses, every }, step) => (step < every ? first : losses[Math.floor(step / every) - 1]);

  // ---- drawing ----------------------------------------------------------------------------------

  function drawLosses(svg, { data, step }) {
    const width = clear(svg, HEIGHT);
    const [left, right, top, bottom] = [26, width - 12, 30, HEIGHT - 44];
    const last = data.checkpoints.at(-1).step;
    const x = (at) => left + ((right - left) * at) / last;
    const y = (loss) => bottom - (bottom - top) * (loss / HIGHEST);
    draw(svg, "text", { x: 0, y: 14 }, _("Training loss in nats"));
    for (const loss of [0, 1, 2, 3, 4]) {
      draw(svg, "line", { x1: left, x2: right, y1: y(loss), y2: y(loss), class: "moving-line checkpoints-grid" });
      draw(svg, "text", { x: left - 8, y: y(loss) + 4, "text-anchor": "end", class: "moving-faint" }, loss);
    }
    for (const at of [0, last / 2, last]) {
      const anchor = at === last ? "end" : "middle";
      draw(svg, "text", { x: x(at), y: bottom + 18, "text-anchor": anchor, class: "moving-faint" }, at);
    }
    draw(svg, "text", { x: right, y: HEIGHT - 8, "text-anchor": "end", class: "moving-faint" }, _("step"));
    data.landmarks.forEach(([name, loss]) => {
      draw(svg, "line", { x1: left, x2: right, y1: y(loss), y2: y(loss), class: "checkpoints-landmark" });
      draw(svg, "text", { x: right, y: y(loss) - 5, "text-anchor": "end", class: "moving-faint" }, KNOWN[name]);
    });
    const points = [[0, data.first], ...data.losses.map((loss, index) => [data.every * (index + 1), loss])];
    const written = (some) => some.map(([at, loss]) => `${x(at).toFixed(1)},${y(loss).toFixed(1)}`).join(" ");
    draw(svg, "polyline", { points: written(points), class: "checkpoints-curve checkpoints-later" });
    const done = points.filter(([at]) => at <= step);
    draw(svg, "polyline", { points: written(done), class: "checkpoints-curve" });
    draw(svg, "circle", { cx: x(step), cy: y(lossAt(data, step)), r: 6, class: "checkpoints-here" });
    const values = { first: number(data.first, 2), last: number(data.losses.at(-1), 2), step, now: number(lossAt(data, step), 2) };
    svg.setAttribute("aria-label", fill(_("Loss against step. It begins at {first} and ends at {last}; at step {step} it is {now}."), values));
  }

  // A row for each sound that is asked for, a column for each letter, and how probable the sound is behind the row.
  function drawLooks(svg, { word, asked, seen }) {
    const [names, behind, top] = [46, 46, 54];
    const width = clear(svg, HEIGHT);
    const size = Math.min(34, (width - names - behind) / word.length, (HEIGHT - top - 4) / asked.length);
    const left = names + (width - names - behind - size * word.length) / 2;
    draw(svg, "text", { x: 0, y: 14 }, _("Attention, and how probable the sound is"));
    [...word].forEach((letter, column) => {
      draw(svg, "text", { x: left + (column + 0.5) * size, y: top - 8, "text-anchor": "middle" }, letter);
    });
    asked.forEach((sound, row) => {
      const middle = top + (row + 0.5) * size + 4.5;
      draw(svg, "text", { x: left - 8, y: middle, "text-anchor": "end" }, sound);
      seen.looks[row].forEach((weight, column) => {
        const place = { x: left + column * size, y: top + row * size, width: size - 1, height: size - 1 };
        draw(svg, "rect", { ...place, class: "checkpoints-cell" });
        draw(svg, "rect", { ...place, class: "moving-heat", "fill-opacity": weight / 100 });
      });
      const sure = { x: left + word.length * size + 6, y: middle, class: seen.right[row] < 50 ? "moving-faint" : "" };
      draw(svg, "text", sure, `${seen.right[row]}%`);
    });
    const told = asked.map((sound, row) => {
      const most = Math.max(...seen.looks[row]);
      const values = { sound, letter: word[seen.looks[row].indexOf(most)], share: `${most}%` };
      return fill(_("{sound} looks most at {letter} ({share})"), values);
    });
    svg.setAttribute("aria-label", fill(_("Attention over the letters of {word}: {told}."), { word, told: told.join(_(", ")) }));
  }

  // ---- what the figure says in words ------------------------------------------------------------

  function describe({ data, step, word, listed, asked, seen }) {
    const surest = asked.filter((_, row) => seen.right[row] >= 50).length;
    const same = sounds(seen.said) === sounds(listed);
    const values = {
      step, last: data.checkpoints.at(-1).step, loss: number(lossAt(data, step), 2),
      word, said: sounds(seen.said), listed: sounds(listed), surest, count: asked.length, share: percent(0.5),
    };
    return [
      _("After step {step} of {last}: a loss of {loss}."),
      same
        ? _("By itself the model says {word} as {said}, as the dictionary does.")
        : _("By itself the model says {word} as {said}; listed is {listed}."),
      _("Reading the true sounds instead of its own, it gives {surest} of the {count} right answers at least {share}."),
    ].map((message) => fill(message, values));
  }

  // ---- controls ---------------------------------------------------------------------------------

  function build(figure) {
    const data = dataFor("checkpoints");
    const box = document.createElement("div");
    const controls = make(box, "div", { className: "moving-controls" });
    const names = Object.keys(data.listed).map((word) => [word, word]);
    const select = makeSelect(controls, "moving-checkpoints-word", _("Word"), names, update);
    const slider = makeSlider(controls, "checkpoint", _("Checkpoint"), { max: data.checkpoints.length - 1 }, () => {
      steps.stop();
      update();
    });
    const steps = makeSteps(box, slider.input, PAUSE, (index) => {
      slider.input.value = index;
      update();
    });
    const pictures = make(box, "div", { className: "moving-pictures" });
    const [losses, looks] = [1, 2].map(() => draw(make(pictures, "div"), "svg", { role: "img" }));
    const say = makeWords(box, 3);

    function update() {
      const { step, words } = data.checkpoints[Number(slider.input.value)];
      const word = select.value;
      const listed = data.listed[word];
      const state = { data, step, word, listed, asked: [...listed, _("end")], seen: words[word] };
      slider.show(fill(_("step {step}"), { step }));
      steps.showEnds();
      drawLosses(losses, state);
      drawLooks(looks, state);
      say(describe(state));
    }

    figure.querySelector(".moving-fallback").replaceWith(...box.childNodes);
    onNewWidth(pictures, update);
    update();
  }

  start("checkpoints", build);
})();
