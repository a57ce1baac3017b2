// The figure in book/sequences.ipynb that follows a decoder letter by letter: its new state, the scores of the encoder's
// states, the weights, the context and the letter that it writes. Plain SVG and native controls, as in positions.js.
// All numbers come from the page, where transformer_ref.experiments.sequences has computed them.
// book/_extensions/figures.py loads this file on pages that hold <figure data-figure="lookback">.

(() => {
  const { number, fill, sentences, make, draw, clear } = window.moving;
  const { makeSlider, makeButtons, makeSteps, makeWords, onNewWidth, dataFor, start } = window.moving;
  const PAUSE = 3000; // milliseconds of a step while it plays
  const HEIGHT = 300;
  const REACH = 1.15; // from the middle of the plane to its edge
  const PARTS = ["state", "scores", "weights", "context", "letter"];
  const NAMES = [_("state"), _("scores"), _("weights"), _("context"), _("letter")];
  const [STATE, SCORES, WEIGHTS, CONTEXT, LETTER] = PARTS.keys();

  const pair = (values, digits = 2) => `(${values.map((value) => number(value, digits)).join(", ")})`;
  const factor = (value, digits) => (value < 0 ? `(${number(value, digits)})` : number(value, digits));
  const afterOf = (letter) => fill(_("after {letter}"), { letter });
  const largest = (values) => values.indexOf(Math.max(...values));

  // Step 0 is the state of the first letter, step 5 that of the second.
  function stateOf(data, at) {
    const place = Math.floor(at / PARTS.length);
    return { ...data, place, part: at % PARTS.length, step: data.steps[place] };
  }

  // ---- the plane --------------------------------------------------------------------------------

  function drawPlane(svg, { word, states, step, part }) {
    const width = clear(svg, HEIGHT);
    const unit = Math.min(width, HEIGHT) / 2 / REACH;
    const to = ([x, y]) => [width / 2 + unit * x, HEIGHT / 2 - unit * y];
    const [[x0, y0], [sx, sy]] = [to([0, 0]), to(step.state)];
    draw(svg, "line", { x1: 0, x2: width, y1: y0, y2: y0, class: "lookback-axis" });
    draw(svg, "line", { x1: x0, x2: x0, y1: 0, y2: HEIGHT, class: "lookback-axis" });
    if (part === SCORES) drawShadows(svg, to, states, step.state);
    const [cx, cy] = to(step.context);
    states.forEach((state, index) => {
      const [x, y] = to(state);
      const weight = step.weights[index];
      if (part >= WEIGHTS) draw(svg, "circle", { cx: x, cy: y, r: 8 + 30 * weight, class: "lookback-share" });
      if (part >= CONTEXT) {
        draw(svg, "line", { x1: cx, y1: cy, x2: x, y2: y, class: "lookback-pull", "stroke-width": 10 * weight });
      }
    });
    drawArrow(svg, [x0, y0], [sx, sy]);
    states.forEach((state, index) => {
      const [x, y] = to(state);
      draw(svg, "circle", { cx: x, cy: y, r: 6, class: "lookback-dot" });
      // On the side of the dot that no arrow takes: beside it, above it or below it.
      const [beside, above] = [state[1] > 0, state[0] > 0];
      const at = beside ? { x: x + 12, y: y + 4 } : { x, y: y + (above ? -13 : 24), "text-anchor": "middle" };
      draw(svg, "text", { ...at, class: "lookback-memory" }, afterOf(word[index]));
    });
    if (part >= CONTEXT) {
      draw(svg, "path", { d: `M${cx} ${cy - 9} l9 9 l-9 9 l-9 -9 z`, class: "lookback-diamond" });
      draw(svg, "text", { x: cx + 12, y: cy - 9, class: "lookback-memory" }, _("context"));
    }
    const dots = word.map((letter, index) => `${afterOf(letter)} ${pair(states[index])}`).join(_(", "));
    const label = part >= CONTEXT
      ? _("Dots in the plane, the encoder\u2019s states: {dots}; an arrow, the decoder\u2019s state {state}; a diamond, the context {context}.")
      : _("Dots in the plane, the encoder\u2019s states: {dots}; an arrow, the decoder\u2019s state {state}.");
    svg.setAttribute("aria-label", fill(label, { dots, state: pair(step.state), context: pair(step.context) }));
  }

  // How far along the arrow each dot lies: the farther, the larger the dot product.
  function drawShadows(svg, to, states, [sx, sy]) {
    const along = ([x, y]) => (x * sx + y * sy) / (sx * sx + sy * sy);
    const on = (share) => to([share * sx, share * sy]);
    const [[x1, y1], [x2, y2]] = [on(-2), on(2)];
    draw(svg, "line", { x1, y1, x2, y2, class: "lookback-along" });
    states.forEach((state) => {
      const [[x3, y3], [x4, y4]] = [to(state), on(along(state))];
      draw(svg, "line", { x1: x3, y1: y3, x2: x4, y2: y4, class: "lookback-shadow" });
    });
  }

  function drawArrow(svg, [x1, y1], [x2, y2]) {
    const length = Math.hypot(x2 - x1, y2 - y1);
    const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
    const [x, y] = [x2 - 12 * dx, y2 - 12 * dy];
    draw(svg, "line", { x1, y1, x2: x, y2: y, class: "lookback-arrow" });
    draw(svg, "polygon", { points: `${x2},${y2} ${x - 6 * dy},${y + 6 * dx} ${x + 6 * dy},${y - 6 * dx}`, class: "lookback-head" });
    const [middle, beside] = [[(x1 + x2) / 2, (y1 + y2) / 2], 16];
    draw(svg, "text", { x: middle[0] - beside * dy, y: middle[1] + beside * dx + 4, "text-anchor": "middle", class: "lookback-target" }, "s");
  }

  // ---- the numbers ------------------------------------------------------------------------------

  // A row of the table: a head, and as many cells as there are letters, or one across all of them.
  function makeRow(body, kind, textContent, count) {
    const row = make(body, "tr", { className: `lookback-${kind}` });
    make(row, "th", { scope: "row", textContent });
    return Array.from({ length: count }, () => make(row, "td", { colSpan: count === 1 ? 3 : 1 }));
  }

  function makeTable(parent, { word, states }) {
    const body = make(make(parent, "table", { className: "lookback-table" }), "tbody");
    const count = word.length;
    const heads = makeRow(body, "heads", _("encoder\u2019s state"), count);
    heads.forEach((cell, index) => {
      make(cell, "b", { textContent: afterOf(word[index]) });
      states[index].forEach((value) => make(cell, "span", { textContent: number(value, 2) }));
    });
    const rows = [["before", _("letter before"), 1], ["state", _("1 state s"), 1], ["scores", _("2 scores s \u00b7 h"), count],
      ["weights", _("3 weights"), count], ["context", _("4 context"), 1], ["letter", _("5 letters"), count],
      ["written", _("written so far"), 1]];
    return Object.fromEntries(rows.map(([kind, name, cells]) => [kind, makeRow(body, kind, name, cells)]));
  }

  // What has not been computed yet is a question mark, so that nothing moves when it is there.
  function fillTable(rows, { letters, word, steps, step, place, part }) {
    const known = (from, text) => (part >= from ? text : "?");
    const write = (cells, texts) => cells.forEach((cell, index) => { cell.textContent = texts[index]; });
    write(rows.before, [step.last === null ? _("none yet") : letters[step.last]]);
    write(rows.state, [pair(step.state)]);
    write(rows.scores, step.scores.map((score) => known(SCORES, number(score, 2))));
    write(rows.weights, step.weights.map((weight) => known(WEIGHTS, number(weight, 2))));
    rows.weights.forEach((cell, index) => cell.style.setProperty("--share", part >= WEIGHTS ? step.weights[index] : 0));
    write(rows.context, [known(CONTEXT, pair(step.context))]);
    write(rows.letter, step.letter_scores.map((score, index) => `${letters[index]}\n${known(LETTER, number(score, 2))}`));
    rows.letter.forEach((cell, index) => cell.classList.toggle("lookback-said", part === LETTER && index === step.said));
    const said = steps.slice(0, place + (part === LETTER)).map((one) => letters[one.said]);
    write(rows.written, [word.map((_, index) => said[index] ?? "_").join(" ")]);
    PARTS.forEach((name, index) => rows[name][0].parentElement.classList.toggle("lookback-now", index === part));
  }

  // ---- what the figure says in words ------------------------------------------------------------

  function describe(state, guess) {
    const { word, letters, states, output, step, place, part } = state;
    const times = (one, other, digits = 2) => one
      .map((value, index) => `${factor(value, 2)} \u00b7 ${factor(other[index], digits)}`).join(" + ");
    const best = largest(step.scores);
    const guessed = guess === best ? _("You guessed {letter}: right.") : _("You guessed {letter}; it is {best}.");
    const powers = step.scores.map(Math.exp);
    const sum = powers.reduce((total, power) => total + power, 0);
    const others = [...word.keys()].filter((index) => index !== best)
      .map((index) => `${afterOf(word[index])} ${number(step.scores[index], 2)}`).join(_(", "));
    const column = output.map((row) => row[step.said]);
    const said = letters[step.said];
    const computed = step.last === null
      ? _("No letter is written yet, so (0, 0) times W_d, plus the state before, {before}, times U_d, is {sums}. Its tanh is the new state, {state}.")
      : _("The letter {letter}, {read}, times W_d, plus the state before, {before}, times U_d, is {sums}. Its tanh is the new state, {state}.");
    return [
      [
        fill(computed, {
          letter: letters[step.last], read: pair(step.read, 0), before: pair(step.before), sums: pair(step.sums), state: pair(step.state),
        }),
        _("Which of the three dots fits this arrow best and gets the largest weight? Guess, then press Next."),
      ],
      [
        fill(_("Score of \u201cafter {letter}\u201d: {terms} = {score}. In the same way: {others}."), {
          letter: word[best], terms: times(step.state, states[best]), score: number(step.scores[best], 2), others,
        }),
        sentences(
          _("The farther a dot lies along the arrow, the higher its score."),
          guess !== undefined && fill(guessed, { letter: word[guess], best: word[best] }),
        ),
      ],
      [
        fill(_("The exponentials of the scores are {powers}, together {sum}. Each divided by this sum is a weight."), {
          powers: powers.map((power) => number(power, 2)).join(_(", ")), sum: number(sum, 2),
        }),
        _("Where will the context be? It is the weighted sum of the three dots."),
      ],
      [
        fill(_("{terms} = {context}."), {
          terms: states.map((one, index) => `${number(step.weights[index], 2)} \u00b7 ${pair(one)}`).join(" + "), context: pair(step.context),
        }),
        _("The context lies between the dots, nearest to the one with the largest weight. Which letter will be written?"),
      ],
      [
        fill(_("The context times the column of W_o for {said}, {column}: {terms} = {score}, the highest score. The decoder writes {said}."), {
          said, column: pair(column, 0), terms: times(step.context, column, 0), score: number(step.letter_scores[step.said], 2),
        }),
        place + 1 < word.length
          ? fill(_("Now {said} is the letter before, and everything begins again with a new state."), { said })
          : fill(_("The word \u201c{word}\u201d is copied."), { word: word.join("") }),
      ],
    ][part];
  }

  // ---- controls ---------------------------------------------------------------------------------

  // A guess for each letter, which may be changed until the scores are there.
  function makeGuesses(parent, word, onGuess) {
    const row = make(parent, "div", { className: "lookback-guess" });
    make(row, "span", { textContent: _("Largest weight:") });
    const buttons = makeButtons(row, word.map(afterOf));
    buttons.forEach((button, index) => button.addEventListener("click", () => onGuess(index)));
    return (guess, open) => buttons.forEach((button, index) => {
      button.setAttribute("aria-pressed", String(index === guess));
      button.setAttribute("aria-disabled", String(!open));
    });
  }

  function build(figure) {
    const given = dataFor("lookback");
    const data = { ...given, word: [...given.word], letters: [...given.letters] };
    const last = PARTS.length * data.steps.length - 1;
    const guesses = [];
    const box = document.createElement("div");
    const controls = make(box, "div", { className: "moving-controls" });
    const slider = makeSlider(controls, "lookback", _("Letter and step"), { max: last }, update);
    const steps = makeSteps(controls, slider.input, PAUSE, go);
    const showGuess = makeGuesses(box, data.word, (guess) => {
      const { place, part } = stateOf(data, Number(slider.input.value));
      if (part !== STATE) return;
      guesses[place] = guess;
      update();
    });
    const pictures = make(box, "div", { className: "moving-pictures" });
    const plane = draw(make(pictures, "div"), "svg", { class: "lookback-plane", role: "img" });
    const rows = makeTable(make(pictures, "div"), data);
    const say = makeWords(box, 2);

    function update() {
      const state = stateOf(data, Number(slider.input.value));
      slider.show(fill(_("{letter} of {count}: {part}"), { letter: state.place + 1, count: data.steps.length, part: NAMES[state.part] }));
      steps.showEnds();
      showGuess(guesses[state.place], state.part === STATE);
      drawPlane(plane, state);
      fillTable(rows, state);
      say(describe(state, guesses[state.place]));
    }

    function go(step) {
      slider.input.value = step; // the browser keeps it within its range
      update();
    }

    figure.querySelector(".moving-fallback").replaceWith(...box.childNodes);
    onNewWidth(pictures, update);
    update();
  }

  start("lookback", build);
})();
