// The figure in book/tuning.ipynb that takes one step of a policy gradient: a model with two answers, their rewards, a
// baseline, and what either answer does to the probabilities when it is sampled. What a push is appears only when the
// reader has sampled that answer, and the mean of both pushes when both have been sampled.
// book/_extensions/figures.py loads this file on pages that hold <figure data-figure="advantage">.

(() => {
  const { number, fill, make, draw, clear } = window.moving;
  const { makeSlider, makeButtons, makeWords, onNewWidth, dataFor, start } = window.moving;
  const [ROW, TOP, TENTHS] = [34, 24, 10];

  const sigmoid = (z) => 1 / (1 + Math.exp(-z));
  const logit = (p) => Math.log(p / (1 - p));

  // For each answer, were it sampled: its advantage, the derivative of ln pi by the logit z of the right one, the push.
  function effectsOf({ p, rewards, baseline }) {
    return [1 - p, -p].map((derivative, answer) => {
      const advantage = rewards[answer] - baseline;
      return { often: answer ? 1 - p : p, advantage, derivative, push: advantage * derivative };
    });
  }

  function momentsOf(effects) {
    const mean = effects.reduce((sum, { often, push }) => sum + often * push, 0);
    const variance = effects.reduce((sum, { often, push }) => sum + often * (push - mean) ** 2, 0);
    return { mean, variance };
  }

  // ---- drawing ----------------------------------------------------------------------------------

  // A bar for each answer; where a step was taken, what it was before is an outline.
  function drawBars(svg, { names, p, after }) {
    const width = clear(svg, TOP + 2 * ROW);
    const [label, digits] = [52, 88];
    const room = width - label - digits;
    draw(svg, "text", { x: 0, y: 13, class: "advantage-title" }, _("Probabilities of both answers"));
    const told = names.map((name, answer) => {
      const [before, now] = [p, after ?? p].map((right) => (answer ? 1 - right : right));
      const y = TOP + ROW * answer;
      draw(svg, "text", { x: 0, y: y + 17 }, name);
      const bar = { x: label, y, height: 24, class: answer ? "advantage-wrong" : "advantage-right" };
      draw(svg, "rect", { ...bar, width: room * now, "data-share": now });
      if (after !== null) draw(svg, "rect", { ...bar, width: room * before, class: "advantage-before" });
      const shown = after === null ? number(now, 2) : `${number(before, 2)} \u2192 ${number(now, 2)}`;
      draw(svg, "text", { x: width, y: y + 17, "text-anchor": "end", class: "advantage-number" }, shown);
      return `${name} ${shown}`;
    });
    svg.setAttribute("aria-label", `${_("Probabilities of both answers")}: ${told.join(", ")}.`);
  }

  function makeTable(parent, names) {
    const table = make(parent, "table", { className: "advantage-table" });
    const head = make(make(table, "thead"), "tr");
    [_("sampled"), _("how often"), _("advantage"), _("derivative"), _("push on z")].forEach((textContent) => {
      make(head, "th", { scope: "col", textContent });
    });
    const body = make(table, "tbody");
    return names.map((name) => {
      const row = make(body, "tr");
      make(row, "th", { scope: "row", textContent: name });
      return [1, 2, 3, 4].map(() => make(row, "td"));
    });
  }

  function fillTable(rows, { effects, known, sampled }) {
    rows.forEach((cells, answer) => {
      const { often, advantage, derivative, push } = effects[answer];
      const shown = [often, advantage, derivative].map((value) => number(value, 2));
      [...shown, known[answer] ? number(push, 2) : "?"].forEach((text, column) => { cells[column].textContent = text; });
      cells[0].parentElement.classList.toggle("advantage-sampled", sampled === answer);
    });
  }

  // ---- what the figure says in words ------------------------------------------------------------

  const describe = (state) => [sayStep(state), sayMean(state)];

  function sayStep({ effects, sampled, rewards, baseline, p, after }) {
    if (sampled === null) return fill(_("Nothing is sampled yet. The right answer has the probability {p}."), { p: number(p, 2) });
    const said = sampled
      ? _("The wrong one was sampled: its advantage is {reward} \u2212 {baseline} = {advantage}, times {derivative} this pushes z by {push}. The right one goes from {p} to {after}.")
      : _("The right one was sampled: its advantage is {reward} \u2212 {baseline} = {advantage}, times {derivative} this pushes z by {push}. The right one goes from {p} to {after}.");
    const { advantage, derivative, push } = effects[sampled];
    const values = { advantage, derivative, push, p, after };
    const shown = Object.entries(values).map(([name, value]) => [name, number(value, 2)]);
    const tenths = { reward: number(rewards[sampled], 1), baseline: number(baseline, 1) };
    return fill(said, { ...Object.fromEntries(shown), ...tenths });
  }

  function sayMean({ effects, known, p, rewards, baseline }) {
    if (!known[0] && !known[1]) return _("When both have been sampled, the mean of their pushes appears here.");
    if (!known[0] || !known[1]) return _("Now sample the other one from the same start.");
    const [own, plain] = [effects, effectsOf({ p, rewards, baseline: 0 })].map(momentsOf);
    const said = baseline
      ? _("On average a sample pushes z by {p} \u00b7 {first} + {q} \u00b7 {second} = {mean}. Without a baseline it is {plain} too, and the variance is {other} instead of {variance}.")
      : _("On average a sample pushes z by {p} \u00b7 {first} + {q} \u00b7 {second} = {mean}, with the variance {variance}.");
    const [first, second] = effects.map(({ push }) => (push < 0 ? `(${number(push, 2)})` : number(push, 2)));
    return fill(said, {
      p: number(p, 2), q: number(1 - p, 2), first, second,
      mean: number(own.mean, 3), plain: number(plain.mean, 3),
      variance: number(own.variance, 3), other: number(plain.variance, 3),
    });
  }

  // ---- controls ---------------------------------------------------------------------------------

  function build(figure) {
    const data = dataFor("advantage");
    const names = [_("right"), _("wrong")];
    const box = document.createElement("div");
    const controls = make(box, "div", { className: "moving-controls" });
    const sliders = [
      ["right", _("Reward of the right answer"), data.rewards[0]],
      ["wrong", _("Reward of the wrong answer"), data.rewards[1]],
      ["baseline", _("Baseline"), 0],
    ].map(([id, label, value]) => ({
      ...makeSlider(controls, `advantage-${id}`, label, { max: TENTHS, value: TENTHS * value }, () => begin()),
      first: TENTHS * value,
    }));
    const buttons = makeButtons(box, [_("Sample the right one"), _("Sample the wrong one"), _("Go on from here"), _("Start again")]);
    const pictures = make(box, "div", { className: "moving-pictures" });
    const bars = draw(make(pictures, "div"), "svg", { role: "img" });
    const rows = makeTable(pictures, names);
    const say = makeWords(box, 2);
    let [p, after, sampled, known] = [data.right, null, null, [false, false]];

    function update() {
      const [right, wrong, baseline] = sliders.map(({ input }) => Number(input.value) / TENTHS);
      const state = { names, p, after, sampled, known, rewards: [right, wrong], baseline };
      state.effects = effectsOf(state);
      if (sampled !== null) {
        after = sigmoid(logit(p) + data.rate * state.effects[sampled].push);
        state.after = after;
      }
      sliders.forEach(({ input, show }) => show(number(Number(input.value) / TENTHS, 1)));
      buttons[2].setAttribute("aria-disabled", String(sampled === null));
      drawBars(bars, state);
      fillTable(rows, state);
      say(describe(state));
    }

    // Before a step, from a probability of the right answer.
    function begin(from = p) {
      [p, after, sampled, known] = [from, null, null, [false, false]];
      update();
    }

    [0, 1].forEach((answer) => buttons[answer].addEventListener("click", () => {
      sampled = answer;
      known[answer] = true;
      update();
    }));
    buttons[2].addEventListener("click", () => sampled !== null && begin(after));
    buttons[3].addEventListener("click", () => {
      sliders.forEach(({ input, first }) => { input.value = first; });
      begin(data.right);
    });
    figure.querySelector(".moving-fallback").replaceWith(...box.childNodes);
    onNewWidth(pictures, update);
    update();
  }

  start("advantage", build);
})();
