// The figure in book/embeddings.ipynb in which the reader does updates of skip-gram one by one: word vectors in the
// plane, pulled to the real context word and pushed away from the drawn ones. Plain SVG and native controls, as in
// positions.js. The page holds the vectors at the start and the pairs; the updates are computed here.
// book/_extensions/figures.py loads this file on pages that hold <figure data-figure="skipgram">.

(() => {
  const { number, fill, dot, make, draw, clear } = window.moving;
  const { makeSlider, makeSwitch, makeSteps, makeWords, onNewWidth, dataFor, start } = window.moving;
  const PAUSE = 1000; // milliseconds of an update while it plays
  const HEIGHT = 350;
  const ROOM = 26; // for the legend above the plane
  const LETTER = 9.2; // the width of a letter in a label, at most on average
  const COMPANY = [["same", _("same company")], ["other", _("other company")]];

  const sigmoid = (score) => 1 / (1 + Math.exp(-score));
  const pair = ([x, y]) => `(${number(x, 2)}, ${number(y, 2)})`;
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

  // ---- the update: the page's formula -------------------------------------------------------------

  // Each score has an error: its sigmoid minus 1 for the real word, minus 0 for a drawn one.
  function update({ centers, contexts }, { center, real, drawn }, rate) {
    const v = centers[center];
    const parts = [real, ...drawn].map((word) => {
      const share = sigmoid(dot(v, contexts[word]));
      const error = share - (word === real ? 1 : 0);
      return { word, share, error, move: contexts[word].map((value) => -rate * error * value) };
    });
    const moved = v.map((value, feature) => parts.reduce((sum, { move }) => sum + move[feature], value));
    const others = parts.map(({ word, error }) => (
      [word, contexts[word].map((value, feature) => value - rate * error * v[feature])]));
    const after = { centers: { ...centers, [center]: moved }, contexts: { ...contexts, ...Object.fromEntries(others) } };
    return { ...after, before: { centers, contexts }, center, real, parts };
  }

  // All states from the start to the last step, each with the update that led to it.
  function train({ centers, contexts, updates, steps, rate }, withDrawn) {
    const states = [{ centers, contexts }];
    for (let step = 0; step < steps; step += 1) {
      const next = updates[step % updates.length];
      states.push(update(states[step], withDrawn ? next : { ...next, drawn: [] }, rate));
    }
    return states;
  }

  // The mean cosine of two centers of one group, and of two centers of different groups.
  function cosines({ centers }, groups) {
    const unit = Object.fromEntries(Object.entries(centers).map(([word, v]) => [word, v.map((x) => x / Math.hypot(...v))]));
    const between = (some, others) => mean(some.flatMap((one) => (
      others.filter((other) => other !== one).map((other) => dot(unit[one], unit[other])))));
    const [first, second] = groups;
    return { same: mean([between(first, first), between(second, second)]), other: between(first, second) };
  }

  // ---- the plane ----------------------------------------------------------------------------------

  function drawArrow(svg, [x1, y1], [x2, y2], kind) {
    const length = Math.hypot(x2 - x1, y2 - y1);
    if (length < 2) return;
    const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
    const head = Math.min(9, length);
    const [x, y] = [x2 - head * dx, y2 - head * dy];
    draw(svg, "line", { x1, y1, x2: x, y2: y, class: `skipgram-move skipgram-${kind}` });
    const [across, along] = [0.5 * head * dy, 0.5 * head * dx];
    const points = `${x2},${y2} ${x - across},${y + along} ${x + across},${y - along}`;
    draw(svg, "polygon", { points, class: `skipgram-head skipgram-${kind}` });
  }

  // A disc for a center and a square for a context: told apart without color.
  function drawTip(svg, role, [x, y], attributes = {}) {
    const kind = { class: `skipgram-tip skipgram-${role}`, ...attributes };
    if (role === "center") draw(svg, "circle", { ...kind, cx: x, cy: y, r: 5 });
    else draw(svg, "rect", { ...kind, x: x - 5, y: y - 5, width: 10, height: 10 });
  }

  function drawLegend(svg) {
    [["center", _("center")], ["context", _("context")]].forEach(([role, name], place) => {
      drawTip(svg, role, [6 + 62 * place, 12]);
      draw(svg, "text", { x: 15 + 62 * place, y: 16 }, name);
    });
    [["pull", _("pull")], ["push", _("push")]].forEach(([kind, name], place) => {
      drawArrow(svg, [136 + 58 * place, 12], [158 + 58 * place, 12], kind);
      draw(svg, "text", { x: 162 + 58 * place, y: 16 }, name);
    });
  }

  // A word stands beyond its tip, within the picture; one that would cover another goes down until it does not.
  function drawLabels(svg, tips, width) {
    const placed = [];
    [...tips].sort((one, other) => one.at[1] - other.at[1]).forEach(({ word, role, at: [x, y], lit, left }) => {
      const length = LETTER * word.length;
      const wanted = left ? x - 9 - length : x + 9;
      const from = Math.max(2, Math.min(width - length - 2, wanted));
      let down = from === wanted ? y + 5 : y - 10;
      const covers = (other) => from < other.to && other.from < from + length && Math.abs(down - other.down) < 15;
      while (placed.some(covers)) down += 2;
      placed.push({ from, to: from + length, down });
      draw(svg, "text", { x: from, y: down, class: `skipgram-${role} ${lit ? "skipgram-lit" : ""}` }, word);
    });
  }

  // What the update did: the center goes along one arrow for each word, and each of these words along one.
  function drawMoves(svg, to, { before, contexts, center, real, parts }) {
    let at = before.centers[center];
    drawTip(svg, "center", to(at), { class: "skipgram-old" });
    parts.forEach(({ word, move }) => {
      const kind = word === real ? "pull" : "push";
      const next = at.map((value, feature) => value + move[feature]);
      drawArrow(svg, to(at), to(next), kind);
      at = next;
      drawTip(svg, "context", to(before.contexts[word]), { class: "skipgram-old" });
      drawArrow(svg, to(before.contexts[word]), to(contexts[word]), kind);
    });
  }

  function drawPlane(svg, { state, step, reach, asked }) {
    const width = clear(svg, HEIGHT);
    const [x0, y0] = [width / 2, ROOM + (HEIGHT - ROOM) / 2];
    const unit = Math.min(width, HEIGHT - ROOM) / 2 / reach;
    const to = ([x, y]) => [x0 + unit * x, y0 - unit * y];
    draw(svg, "line", { x1: 0, x2: width, y1: y0, y2: y0, class: "moving-line skipgram-axis" });
    draw(svg, "line", { x1: x0, x2: x0, y1: ROOM, y2: HEIGHT, class: "moving-line skipgram-axis" });
    drawLegend(svg);
    const taking = state.parts ? [state.center, ...state.parts.map(({ word }) => word)] : [asked.center, asked.real, ...asked.drawn];
    const tips = [["center", state.centers], ["context", state.contexts]].flatMap(([role, words]) => (
      Object.entries(words).map(([word, place]) => ({ word, role, place, at: to(place), left: place[0] < 0, lit: taking.includes(word) }))));
    tips.forEach(({ word, role, place, at, lit }) => {
      const [x2, y2] = at;
      draw(svg, "line", { x1: x0, y1: y0, x2, y2, class: `skipgram-vector skipgram-${role} ${lit ? "skipgram-lit" : ""}` });
      drawTip(svg, role, at, { "data-word": word, "data-place": place.join(" ") });
    });
    if (state.parts) drawMoves(svg, to, state);
    drawLabels(svg, tips, width);
    const list = (words) => Object.entries(words).map(([word, place]) => `${word} ${pair(place)}`).join(_(", "));
    const label = _("The plane after {step} updates. Centers: {centers}. Contexts: {contexts}.");
    svg.setAttribute("aria-label", fill(label, { step, centers: list(state.centers), contexts: list(state.contexts) }));
  }

  // ---- how alike the centers are ------------------------------------------------------------------

  // The curves end at the step that is shown, so that they do not give a prediction away.
  function drawCurves(svg, { curve, steps, step }) {
    const width = clear(svg, HEIGHT);
    const [left, right, top, bottom] = [34, width - 14, 66, HEIGHT - 40];
    const toX = (at) => left + ((right - left) * at) / steps;
    const toY = (value) => (top + bottom) / 2 - ((bottom - top) / 2) * value;
    draw(svg, "text", { x: 0, y: 16 }, _("Mean cosine of two centers"));
    COMPANY.forEach(([kind, name], place) => {
      const x = 142 * place;
      draw(svg, "line", { x1: x, x2: x + 24, y1: 38, y2: 38, class: `skipgram-curve skipgram-${kind}` });
      draw(svg, "text", { x: x + 29, y: 42 }, name);
    });
    for (const value of [-1, 0, 1]) {
      draw(svg, "line", { x1: left, x2: right, y1: toY(value), y2: toY(value), class: "moving-line skipgram-axis" });
      draw(svg, "text", { x: left - 8, y: toY(value) + 4, "text-anchor": "end", class: "moving-faint" }, number(value, 0));
    }
    for (let at = 0; at <= steps; at += 6) {
      draw(svg, "text", { x: toX(at), y: bottom + 20, "text-anchor": "middle", class: "moving-faint" }, String(at));
    }
    draw(svg, "text", { x: right, y: HEIGHT - 4, "text-anchor": "end", class: "moving-faint" }, _("updates"));
    for (const [kind] of COMPANY) {
      const points = curve.slice(0, step + 1).map((cosine, at) => `${toX(at)},${toY(cosine[kind])}`).join(" ");
      draw(svg, "polyline", { points, class: `skipgram-curve skipgram-${kind}` });
      draw(svg, "circle", { cx: toX(step), cy: toY(curve[step][kind]), r: 4.5, class: `skipgram-here skipgram-${kind}` });
    }
    const told = COMPANY.map(([kind, name]) => `${name} ${number(curve[step][kind], 2)}`).join(_(", "));
    svg.setAttribute("aria-label", fill(_("Mean cosine of two centers after {step} updates: {told}."), { step, told }));
  }

  // ---- what the figure says in words --------------------------------------------------------------

  function describeUpdate({ before, centers, center, real, parts }, step) {
    const told = parts.map(({ word, share, error }) => {
      const said = word === real ? _("{word} is real: {share} \u2212 1 = {error}") : _("{word} is drawn: {share} \u2212 0 = {error}");
      return fill(said, { word, share: number(share, 2), error: number(error, 2) });
    });
    return fill(_("Update {step}, {center}: from {before} to {after}. Errors: {told}."), {
      step, center, before: pair(before.centers[center]), after: pair(centers[center]), told: told.join(_("; ")),
    });
  }

  function describe({ state, step, curve, groups, asked, end }) {
    const { center, real, drawn } = asked;
    const next = drawn.length
      ? _("Next is {center} with its real neighbor {real}. Drawn: {drawn}. Where will {center} move?")
      : _("Next is {center} with its real neighbor {real}. No drawn words. Where will {center} move?");
    const alike = end // the groups are named when they can no longer give it away
      ? _("Same company ({pairs}): cosine {same}. Other company: {other}.")
      : _("Same company: cosine {same}. Other company: {other}.");
    const { same, other } = curve[step];
    const pairs = groups.map((group) => group.join(_(" and "))).join(_(", "));
    return [
      state.parts ? describeUpdate(state, step) : _("No update yet."),
      end ? _("This was the last update.") : fill(next, { center, real, drawn: drawn.join(_(" and ")) }),
      fill(alike, { pairs, same: number(same, 2), other: number(other, 2) }),
    ];
  }

  // ---- controls -----------------------------------------------------------------------------------

  // Half the side of a square around the origin that holds every vector of both runs, and a little more.
  function reachOf(runs) {
    const vectors = runs.flat().flatMap(({ centers, contexts }) => [...Object.values(centers), ...Object.values(contexts)]);
    return 1.12 * Math.max(...vectors.flat().map(Math.abs));
  }

  function build(figure) {
    const data = dataFor("skipgram");
    const { groups, updates, steps } = data;
    const runs = { with: train(data, true), without: train(data, false) };
    const curves = Object.fromEntries(Object.entries(runs).map(([way, states]) => (
      [way, states.map((state) => cosines(state, groups))])));
    const reach = reachOf(Object.values(runs));
    const box = document.createElement("div");
    const controls = make(box, "div", { className: "moving-controls" });
    const slider = makeSlider(controls, "skipgram-step", _("Updates"), { max: steps }, () => show(Number(slider.input.value)));
    const off = makeSwitch(controls, _("Negatives off (starts again)"), () => show(0));
    const player = makeSteps(box, slider.input, PAUSE, show);
    const pictures = make(box, "div", { className: "moving-pictures" });
    const [plane, chart] = ["plane", "chart"].map((name) => (
      draw(make(pictures, "div"), "svg", { class: `skipgram-${name}`, role: "img" })));
    const say = makeWords(box, 3);

    function show(wanted) {
      slider.input.value = wanted; // the browser keeps it in its range
      const step = Number(slider.input.value);
      const way = off.checked ? "without" : "with";
      const next = updates[step % updates.length];
      const asked = off.checked ? { ...next, drawn: [] } : next;
      const state = { state: runs[way][step], curve: curves[way], step, steps, groups, reach, asked, end: step === steps };
      slider.show(fill(_("{step} of {steps}"), { step, steps }));
      player.showEnds();
      drawPlane(plane, state);
      drawCurves(chart, state);
      say(describe(state));
    }

    slider.input.addEventListener("input", player.stop);
    off.addEventListener("input", player.stop);
    figure.querySelector(".moving-fallback").replaceWith(...box.childNodes);
    onNewWidth(pictures, () => show(Number(slider.input.value)));
    show(0);
  }

  start("skipgram", build);
})();
