// The figure in book/training.ipynb that lets the reader guess: the curve of a run with a mistake, what else is
// known of it, and a button for each mistake. A wrong guess shows what that mistake's curve looks like.
// Plain SVG and native controls, as in positions.js; the page holds the stored runs.
// book/_extensions/figures.py loads this file on pages that hold <figure data-figure="broken">.

(() => {
  const { number, percent, fill, make, draw, clear } = window.moving;
  const { makeSelect, makeWords, onNewWidth, dataFor, start } = window.moving;
  const HEIGHT = 290;
  const [LOWEST, HIGHEST] = [0.005, 150];

  // What each mistake does to the curve, told to who guesses it wrongly and to who finds it.
  const LOOKS = {
    mask: _("The curve with this mistake goes with the healthy one for a while, then falls far below it: the look ahead has to be learned"),
    padding: _("The curve with this mistake has the shape of the healthy one, at little more than half its height: to say padding is easy"),
    rate: _("The curve with this mistake falls to the landmark of the phoneme before and stays there: the steps are too large to go on"),
    shift: _("The curve with this mistake falls to almost nothing within a hundred steps: to copy the token just read is easiest of all"),
    start: _("The curve with this mistake begins far above the others, at more than ten times the loss of knowing nothing"),
  };

  // What the data calls the mistakes and the landmarks.
  const NAMES = {
    rate: _("large rate"), start: _("large start"), mask: _("no causal mask"), padding: _("padding counts"), shift: _("no shift"),
  };
  const KNOWN = { nothing: _("knows nothing"), "the phoneme before": _("knows the phoneme before") };

  // ---- drawing ----------------------------------------------------------------------------------

  function drawCurves(svg, { data, run, guessed }) {
    const width = clear(svg, HEIGHT);
    const [left, right, top, bottom] = [44, width - 8, 22, HEIGHT - 44];
    const last = data.every * data.healthy.losses.length;
    const x = (step) => left + ((right - left) * step) / last;
    const height = (loss) => Math.log(loss / LOWEST) / Math.log(HIGHEST / LOWEST);
    const y = (loss) => bottom - (bottom - top) * height(loss);
    draw(svg, "text", { x: 0, y: 12, class: "moving-faint" }, _("loss in nats"));
    for (const loss of [0.01, 0.1, 1, 10, 100]) {
      draw(svg, "line", { x1: left, x2: right, y1: y(loss), y2: y(loss), class: "moving-line broken-grid" });
      draw(svg, "text", { x: left - 8, y: y(loss) + 4, "text-anchor": "end", class: "moving-faint" }, loss);
    }
    for (const step of [0, last / 2, last]) {
      const anchor = step === last ? "end" : "middle";
      draw(svg, "text", { x: x(step), y: bottom + 18, "text-anchor": anchor, class: "moving-faint" }, step);
    }
    draw(svg, "text", { x: right, y: HEIGHT - 8, "text-anchor": "end", class: "moving-faint" }, _("step"));
    data.landmarks.forEach(([name, loss], index) => {
      draw(svg, "line", { x1: left, x2: right, y1: y(loss), y2: y(loss), class: "broken-landmark" });
      const beside = { x: right, y: y(loss) + (index === 0 ? -5 : 14), "text-anchor": "end", class: "moving-faint" };
      draw(svg, "text", beside, KNOWN[name]);
    });
    const trace = ({ first, losses }, kind) => {
      const points = [[1, first], ...losses.map((loss, index) => [data.every * (index + 1), loss])];
      const written = points.filter(([, loss]) => loss >= LOWEST).map(([step, loss]) => `${x(step).toFixed(1)},${y(loss).toFixed(1)}`).join(" ");
      draw(svg, "polyline", { points: written, class: `broken-curve broken-${kind}` });
    };
    trace(data.healthy, "healthy");
    if (guessed && guessed !== run.fault) trace(data.runs.find(({ fault }) => fault === guessed), "guessed");
    trace(run, "shown");
    svg.setAttribute("aria-label", spoken(data, run, guessed));
  }

  function spoken({ healthy, every }, run, guessed) {
    const at = (one, step) => number(one.losses[step / every - 1], 2);
    const tell = (one) => fill(_("{first} at first, {early} after 100 steps, {middle} after 300, {late} after 600"), {
      first: number(one.first, 2), early: at(one, 100), middle: at(one, 300), late: at(one, 600),
    });
    const said = guessed && guessed !== run.fault
      ? _("Loss of the run: {run}. Healthy run: {healthy}. Dashed: the run with the mistake that was guessed.")
      : _("Loss of the run: {run}. Healthy run: {healthy}.");
    return fill(said, { run: tell(run), healthy: tell(healthy) });
  }

  // ---- what the figure says in words ------------------------------------------------------------

  function evidence({ first, losses, wrong, said }) {
    return {
      first: number(first, 2), last: number(losses.at(-1), 2), wrong: percent(wrong), said: said || _("nothing"),
    };
  }

  function describe({ data, run, letter, guessed }) {
    return [
      verdict(run, letter, guessed),
      fill(_("Run {letter} (blue): loss {first} at first, {last} at last; {wrong} wrong; for knighted it says {said}."), { letter, ...evidence(run) }),
      fill(_("Healthy run (gray): loss {first} at first, {last} at last; {wrong} wrong; for knighted it says {said}."), evidence(data.healthy)),
    ];
  }

  function verdict(run, letter, guessed) {
    if (!guessed) return fill(_("Which mistake has run {letter}? Choose one."), { letter });
    const said = guessed === run.fault
      ? _("Right, run {letter} is \u201c{name}\u201d. {curve}.")
      : _("Not \u201c{name}\u201d. {curve} (dashed).");
    return fill(said, { letter, name: NAMES[guessed], curve: LOOKS[guessed] });
  }

  // ---- controls ---------------------------------------------------------------------------------

  function build(figure) {
    const data = dataFor("broken");
    const letters = data.runs.map((_, index) => String.fromCharCode(65 + index));
    const box = document.createElement("div");
    const controls = make(box, "div", { className: "moving-controls" });
    let guessed = null;
    const select = makeSelect(controls, "moving-run", _("Run"), letters.map((letter, index) => [index, letter]), () => {
      guessed = null;
      update();
    });
    const pictures = make(box, "div", { className: "moving-pictures" });
    const svg = draw(make(pictures, "div"), "svg", { role: "img" });
    const row = make(box, "div", { className: "moving-buttons broken-guesses" });
    const faults = Object.keys(data.choices); // not in the order of the runs
    const buttons = faults.map((fault) => make(row, "button", { type: "button", textContent: NAMES[fault] }));
    buttons.forEach((button, index) => button.addEventListener("click", () => {
      guessed = faults[index];
      update();
    }));
    const say = makeWords(box, 3);

    function update() {
      const index = Number(select.value);
      const state = { data, run: data.runs[index], letter: letters[index], guessed };
      buttons.forEach((button, at) => {
        button.setAttribute("aria-pressed", String(faults[at] === guessed));
        button.classList.toggle("broken-right", faults[at] === guessed && guessed === state.run.fault);
      });
      drawCurves(svg, state);
      say(describe(state));
    }

    figure.querySelector(".moving-fallback").replaceWith(...box.childNodes);
    onNewWidth(pictures, update);
    update();
  }

  start("broken", build);
})();
