// The figure in book/depth.ipynb that hides the keys of a small trained model, one at a time: beside the attention
// weights stands what the model answers without each key. A table of buttons, so that a keyboard and a screen reader
// get what the eye gets. All answers are computed where the page is built; nothing runs a model here.
// book/_extensions/figures.py loads this file on pages that hold <figure data-figure="keys">.

(() => {
  const { percent, fill, make, draw, clear } = window.moving;
  const { makeSelect, makeButtons, makeRoving, makeWords, onNewWidth, dataFor, start } = window.moving;
  const HEIGHT = 150;
  const LABELLED = 0.05; // the smallest probability that is written above its bar

  const best = (shares) => shares.indexOf(Math.max(...shares));

  // ---- the answer -------------------------------------------------------------------------------

  // A bar for each symbol, and dashed what it was with nothing hidden.
  function drawAnswer(svg, { symbols, answer, shares, right }) {
    const width = clear(svg, HEIGHT);
    const [top, bottom, pitch] = [46, HEIGHT - 24, width / symbols.length];
    const tall = (share) => (bottom - top) * share;
    draw(svg, "text", { x: 0, y: 14, class: "keys-title" }, _("How probable is each answer?"));
    [...symbols].forEach((symbol, index) => {
      const middle = (index + 0.5) * pitch;
      const share = shares[index];
      const bar = { x: middle - 0.36 * pitch, width: 0.72 * pitch };
      const before = { ...bar, y: bottom - tall(answer[index]), height: tall(answer[index]) };
      const now = { ...bar, y: bottom - tall(share), height: tall(share), class: "moving-heat" };
      draw(svg, "rect", { ...now, "data-share": share });
      draw(svg, "rect", { ...before, class: "keys-before" });
      if (share >= LABELLED) {
        draw(svg, "text", { x: middle, y: bottom - tall(share) - 5, "text-anchor": "middle" }, percent(share));
      }
      const kind = index === right ? "keys-right" : "moving-faint";
      draw(svg, "text", { x: middle, y: bottom + 17, "text-anchor": "middle", class: kind }, symbol);
    });
    draw(svg, "line", { x1: 0, x2: width, y1: bottom, y2: bottom, class: "moving-line" });
    const said = [...symbols].flatMap((symbol, index) => (
      shares[index] < LABELLED ? [] : `${symbol} ${percent(shares[index])}`));
    const label = _("Probable answers: {said}. Right is {right}.");
    svg.setAttribute("aria-label", fill(label, { said: said.join(_(", ")), right: symbols[right] }));
  }

  // ---- the two maps: rows are keys, columns are layers --------------------------------------------

  function makeTable(parent, { letters, weights, asks }, onPress) {
    parent.replaceChildren();
    const table = make(parent, "table", { className: "keys-table" });
    const head = make(table, "thead");
    const [groups, columns] = [make(head, "tr"), make(head, "tr")];
    make(groups, "td");
    make(columns, "th", { scope: "col", className: "keys-key", textContent: _("key") });
    for (const textContent of [fill(_("Weight from the last {asks}"), { asks }), _("Answer if hidden")]) {
      make(groups, "th", { scope: "colgroup", colSpan: weights.length, textContent });
      weights.forEach((__, layer) => make(columns, "th", { scope: "col", textContent: fill(_("layer {layer}"), { layer }) }));
    }
    const body = make(table, "tbody");
    const cells = letters.map((letter, key) => {
      const row = make(body, "tr");
      const name = make(row, "th", { scope: "row", className: "keys-key" });
      make(name, "small", { textContent: key });
      name.append(letter);
      const buttons = weights.map((map, layer) => {
        const weight = map.at(-1)[key];
        const button = make(make(row, "td"), "button", { type: "button", textContent: percent(weight) });
        button.style.setProperty("--share", weight.toFixed(3));
        const values = { key, letter, layer, weight: percent(weight) };
        button.setAttribute("aria-label", fill(_("hide key {key} {letter} in layer {layer}, weight {weight}"), values));
        button.addEventListener("click", () => onPress(layer, key));
        return button;
      });
      return { buttons, effects: weights.map(() => make(row, "td", { className: "keys-effect" })) };
    });
    makeRoving(cells.map(({ buttons }) => buttons));
    return cells;
  }

  // The right map has only what the reader has tried.
  function fillTable(cells, { symbols, answer, without, right, tried, hidden }) {
    cells.forEach(({ buttons, effects }, key) => buttons.forEach((button, layer) => {
      const isHidden = hidden !== null && hidden.layer === layer && hidden.key === key;
      button.setAttribute("aria-pressed", String(isHidden));
      const [effect, shares] = [effects[layer], without[layer][key]];
      const known = tried.has(`${layer} ${key}`);
      const lost = known ? Math.max(0, 1 - shares[right] / answer[right]) : 0;
      const said = best(shares);
      effect.textContent = known ? `${symbols[said]} ${percent(shares[said])}` : "?";
      effect.style.setProperty("--share", lost.toFixed(3));
      effect.classList.toggle("keys-unknown", !known);
      effect.classList.toggle("keys-changed", known && said !== best(answer));
    }));
  }

  // ---- what the figure says in words ------------------------------------------------------------

  function describe(state) {
    const { symbols, answer, without, asks, tried, hidden } = state;
    const said = best(answer);
    const changed = [...tried].filter((cell) => {
      const [layer, key] = cell.split(" ");
      return best(without[layer][key]) !== said;
    });
    const counts = { tried: tried.size, all: without.flat().length, changed: changed.length };
    const count = fill(_("Tried: {tried} of {all}. The answer changed: {changed}."), counts);
    if (hidden) return [sayAnswer(state), sayWeight(state), count];
    return [
      fill(_("Nothing is hidden, and the answer is {answer} ({share})."), { answer: symbols[said], share: percent(answer[said]) }),
      fill(_("Which keys does the last {asks} need? Predict, then press their weights."), { asks }),
      count,
    ];
  }

  const nameOf = ({ letters }, place) => fill(_("{letter} at place {place}"), { letter: letters[place], place });

  function sayAnswer(state) {
    const { symbols, answer, shares, hidden } = state;
    const [before, now] = [best(answer), best(shares)];
    const said = now === before
      ? _("With {key} hidden in layer {layer}, the answer stays {now} ({share}).")
      : _("With {key} hidden in layer {layer}, the answer changes to {now} ({share}); {before} keeps {rest}.");
    return fill(said, {
      key: nameOf(state, hidden.key), layer: hidden.layer, now: symbols[now], share: percent(shares[now]),
      before: symbols[before], rest: percent(shares[before]),
    });
  }

  // In the last layer only the query that asks can change the answer; below, others can pass on what they read.
  function sayWeight(state) {
    const { weights, asks, hidden: { layer, key } } = state;
    const given = weights[layer].map((row, query) => (query === key ? 0 : row[key]));
    const most = best(given);
    const isOnly = layer === weights.length - 1 || !given[most];
    const others = most === given.length - 1
      ? _("Before, the last {asks} gave it {own} of its weight, more than any other letter did.")
      : _("Before, the last {asks} gave it {own} of its weight, and {other} gave it {share}.");
    return fill(isOnly ? _("Before, the last {asks} gave it {own} of its weight.") : others, {
      asks, own: percent(weights[layer].at(-1)[key]), other: nameOf(state, most), share: percent(given[most]),
    });
  }

  // ---- controls ---------------------------------------------------------------------------------

  function build(figure) {
    const { symbols, questions } = dataFor("keys");
    const box = document.createElement("div");
    const controls = make(box, "div", { className: "moving-controls" });
    const choices = questions.map(({ letters }, index) => [index, fill(_("{letter}, the last of {count} letters"), { letter: letters.at(-1), count: letters.length })]);
    const select = makeSelect(controls, "moving-keys-question", _("Who asks?"), choices, begin);
    const work = make(box, "div", { className: "moving-pictures keys-work" });
    const svg = draw(make(work, "div", { className: "keys-bars" }), "svg", { role: "img" });
    const place = make(work, "div", { className: "keys-maps" });
    const beside = make(work, "div", { className: "keys-beside" });
    const say = makeWords(beside, 3);
    const [all] = makeButtons(beside, [_("Show all")]);
    // What has been tried stays known when the reader comes back to a question.
    const triedOf = questions.map(() => new Set());
    let [cells, hidden] = [[], null];

    function read() {
      const question = questions[select.value];
      const shares = hidden ? question.without[hidden.layer][hidden.key] : question.answer;
      const asks = question.letters.at(-1);
      return { symbols, ...question, asks, shares, hidden, tried: triedOf[select.value] };
    }

    function begin() {
      hidden = null;
      cells = makeTable(place, read(), press);
      update();
    }

    // A second press shows the key again.
    function press(layer, key) {
      const again = hidden && hidden.layer === layer && hidden.key === key;
      hidden = again ? null : { layer, key };
      triedOf[select.value].add(`${layer} ${key}`);
      update();
    }

    function update() {
      const state = read();
      drawAnswer(svg, state);
      fillTable(cells, state);
      say(describe(state));
    }

    all.addEventListener("click", () => {
      const { without, tried } = read();
      without.forEach((keys, layer) => keys.forEach((_, key) => tried.add(`${layer} ${key}`)));
      update();
    });
    figure.querySelector(".moving-fallback").replaceWith(...box.childNodes);
    onNewWidth(work, update);
    begin();
  }

  start("keys", build);
})();
