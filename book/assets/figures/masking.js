// The figures in book/masking.ipynb that the reader moves: what two masks hide of a decoder's scores and what goes
// wrong without them, and a mask to build by hand. Tables and native controls, so that a keyboard and a screen
// reader get what the eye gets. The scores and the masks are the package's: the page holds them.
// book/_extensions/figures.py loads this file on pages that hold <figure data-figure="masking">.

(() => {
  const { number, percent, fill, softmax, make, makeSelect, makeButtons, makeRoving, makeWords, dataFor, start } = window.moving;
  const PAD = "pad";

  // What the data calls its inputs, such as "sea, padding in front".
  const choicesOf = (inputs) => inputs.map(({ name }, index) => [index, name
    .replace(", padding in front", _(", padding in front"))
    .replace(", padding at the end", _(", padding at the end"))]);

  const share = (weight) => (weight < 0.005 ? _("under 1%") : percent(weight));
  const listed = (names) => {
    const all = [...names];
    const last = all.pop();
    return all.length ? fill(_("{names} and {last}"), { names: all.join(_(", ")), last }) : last;
  };

  // ---- tables: rows are queries, columns are keys --------------------------------------------------

  // Makes an empty table with both axes named; returns its rows, to which the cells are added.
  function makeTable(parent, title, tokens, labels = null) {
    const table = make(parent, "table", { className: "mask-table" });
    make(table, "caption", { textContent: title });
    const head = make(table, "thead");
    const names = make(head, "tr");
    make(names, "td", { className: "mask-corner" });
    const keys = make(names, "th", { className: "mask-keys", scope: "colgroup", textContent: [_("keys"), "\u2192"].join(" ") });
    keys.colSpan = tokens.length;
    if (labels) make(names, "td");
    const columns = make(head, "tr");
    make(columns, "th", { className: "mask-queries", scope: "col", textContent: [_("queries"), "\u2193"].join(" ") });
    tokens.forEach((token) => make(columns, "th", { scope: "col", className: kindOf(token), textContent: token }));
    if (labels) make(columns, "th", { scope: "col", className: "mask-label", textContent: _("must say") });
    const body = make(table, "tbody");
    return tokens.map((token) => {
      const row = make(body, "tr");
      make(row, "th", { scope: "row", className: kindOf(token), textContent: token });
      return row;
    });
  }

  const kindOf = (token) => (token === PAD ? "mask-pad" : "");

  // ---- what the masks do -------------------------------------------------------------------------

  // What may be seen: both masks come from the package; one that is switched off hides nothing.
  function visible({ word, causal, padding }, data) {
    return word.tokens.map((_, query) => word.tokens.map((__, key) =>
      (!causal || data.causal[query][key]) && (!padding || word.padding[key])));
  }

  // The masked softmax of the page: a row that may see nothing has only zeros.
  function weigh(scores, may) {
    if (!may.includes(true)) return scores.map(() => 0);
    return softmax(scores.map((score, key) => (may[key] ? score : -Infinity)));
  }

  // What a position must say is the next token that goes in; after the last one it is the end.
  function labelsOf({ tokens }) {
    return tokens.map((token, place) => {
      if (token === PAD) return "";
      return place + 1 < tokens.length && tokens[place + 1] !== PAD ? tokens[place + 1] : "eos";
    });
  }

  function drawScores(place, { word, may }) {
    place.replaceChildren();
    makeTable(place, _("Before: scores"), word.tokens).forEach((row, query) => {
      word.scores[query].forEach((score, key) => {
        const textContent = may[query][key] ? number(score, 2) : "\u2212\u221e";
        make(row, "td", { textContent, className: may[query][key] ? "" : "mask-hidden" });
      });
    });
  }

  function drawWeights(place, { word, may, weights, labels }) {
    place.replaceChildren();
    makeTable(place, _("After the softmax: weights"), word.tokens, labels).forEach((row, query) => {
      weights[query].forEach((weight, key) => {
        const cell = make(row, "td", { className: may[query][key] ? "mask-weight" : "mask-hidden" });
        cell.style.setProperty("--share", weight.toFixed(3));
        cell.dataset.weight = weight;
        make(cell, "span", { textContent: may[query][key] ? percent(weight) : "0" });
        if (!may[query][key]) return;
        if (isOwnLabel(word, query, key)) {
          cell.classList.add("mask-leak");
          make(cell, "small", { textContent: _("label") });
        } else if (word.tokens[key] === PAD) cell.classList.add("mask-waste");
      });
      make(row, "td", { className: "mask-label", textContent: labels[query] });
    });
  }

  const isOwnLabel = ({ tokens }, query, key) =>
    key === query + 1 && tokens[query] !== PAD && tokens[key] !== PAD;

  // ---- what the figure says in words ---------------------------------------------------------------

  function describe(state) {
    return [sayFuture(state), sayPadding(state), saySums(state)];
  }

  function sayFuture({ word: { tokens }, word, may, weights }) {
    const leaks = tokens.flatMap((token, query) => {
      const key = query + 1;
      if (!isOwnLabel(word, query, key) || !may[query][key]) return [];
      const values = { query, token, key, seen: tokens[key], share: share(weights[query][key]) };
      return fill(_("position {query} ({token}) sees token {key} ({seen}) with {share}"), values);
    });
    if (!leaks.length) return _("Future: no position sees what it must say.");
    const said = leaks.length > 1
      ? _("Alarm, future: {leaks}, each its own label. It could copy.")
      : _("Alarm, future: {leaks}, its own label. It could copy.");
    return fill(said, { leaks: listed(leaks) });
  }

  function sayPadding({ word: { tokens }, may, weights }) {
    const looking = tokens.flatMap((token, query) => {
      const looks = tokens.some((key, place) => key === PAD && may[query][place]);
      const given = weights[query].reduce((sum, weight, key) => sum + (tokens[key] === PAD ? weight : 0), 0);
      return looks ? [{ token, given: share(given) }] : [];
    });
    const real = looking.filter(({ token }) => token !== PAD);
    const said = real.map((one, place) => fill(place ? "{token} {given}" : _("{token} gives it {given}"), one));
    if (real.length) return fill(_("Alarm, padding: of its weight, {given}."), { given: listed(said) });
    if (looking.length) {
      return _("Padding: only padding itself looks at padding. Nobody reads its row, so it does no harm.");
    }
    return tokens.includes(PAD) ? _("Padding: no row looks at it.") : _("Padding: this word has none.");
  }

  function saySums({ word: { tokens }, may }) {
    const empty = tokens.flatMap((token, query) => (may[query].includes(true) ? [] : fill(_("row {query}"), { query })));
    if (!may.flat().includes(false)) return _("Nothing is hidden: each row sums to 100% over all keys.");
    if (!empty.length) return _("What is hidden leaves its weight to the others: each row still sums to 100%.");
    return fill(_("In {rows} nothing may be seen: all weights are set to 0. The other rows sum to 100%."), { rows: listed(empty) });
  }

  // ---- the figure that switches the masks ----------------------------------------------------------

  function makeSwitch(parent, id, label, onInput) {
    const row = make(parent, "div", { className: "mask-switch" });
    const input = make(row, "input", { id: `moving-${id}`, type: "checkbox" });
    make(row, "label", { htmlFor: input.id, textContent: label });
    input.addEventListener("input", onInput);
    return input;
  }

  function buildSwitches(figure, data) {
    const box = document.createElement("div");
    const controls = make(box, "div", { className: "mask-controls" });
    const choices = choicesOf(data.words);
    const word = makeSelect(controls, "moving-mask-word", _("Word"), choices, update);
    word.value = 1; // the first word has no padding
    const causal = makeSwitch(controls, "causal", _("Causal mask"), update);
    const padding = makeSwitch(controls, "padding", _("Padding mask"), update);
    const grids = make(box, "div", { className: "mask-grids" });
    const [before, after] = ["scores", "weights"].map((kind) => make(grids, "div", { className: `mask-${kind}` }));
    makeLegend(box);
    const say = makeWords(box, 3);

    function update() {
      const state = { word: data.words[word.value], causal: causal.checked, padding: padding.checked };
      state.may = visible(state, data);
      state.labels = labelsOf(state.word);
      state.weights = state.word.scores.map((scores, query) => weigh(scores, state.may[query]));
      drawScores(before, state);
      drawWeights(after, state);
      const said = describe(state);
      say(said);
      [...box.querySelectorAll(".moving-words li")].forEach((line, index) =>
        line.classList.toggle("mask-alarm", said[index].startsWith(_("Alarm"))));
    }

    figure.querySelector(".moving-fallback").replaceWith(box);
    update();
  }

  function makeLegend(parent) {
    const legend = make(parent, "p", { className: "mask-legend" });
    [["mask-leak", _("sees its own label")], ["mask-waste", _("sees padding")], ["mask-hidden", _("hidden")]].forEach(([kind, name]) => {
      const entry = make(legend, "span");
      make(entry, "i", { className: kind });
      entry.append(name);
    });
  }

  // ---- the mask to build: what an answer is --------------------------------------------------------

  const map = (grid, change) => grid.map((row, query) => row.map((may, key) => change(may, query, key)));
  const invert = (grid) => map(grid, (may) => !may);
  const exchange = (grid) => map(grid, (_, query, key) => grid[key][query]);
  const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

  // Answers that are wrong as a whole; what is said of single cells would only hide what happened.
  function wholeMistake(answer, { right, causal, padding }) {
    const turned = map(exchange(causal), (may, _, key) => may && padding[key]);
    const oneOf = (...grids) => grids.some((grid) => same(answer, grid));
    if (!answer.flat().includes(true)) return _("The grid is empty: no query may see anything.");
    if (oneOf(invert(right), invert(causal))) {
      return _("Inverted: you marked what is to be hidden. Here 1 means: may be seen.");
    }
    if (oneOf(exchange(right), exchange(causal), turned)) {
      return _("Rows and columns are exchanged: a row is the query, which looks; a column is the key, which is seen.");
    }
    if (oneOf(invert(exchange(right)), invert(exchange(causal)))) {
      return _("Rows and columns are exchanged, and it is inverted: a row is the query, and 1 means: may be seen.");
    }
    if (padding[0] === false && same(answer, map(causal, (may, query) => may && padding[query]))) {
      return _("The padding mask hides rows instead of columns: ask of each key, not of each query, whether it is real.");
    }
    return null;
  }

  // A mistake in one cell has one kind; the first that fits.
  const KINDS = [
    [_("Padding is allowed"), ({ key, padding }) => !padding[key]],
    [_("A future position is allowed"), ({ query, key }) => key > query],
    [_("Its own position is forbidden"), ({ query, key }) => key === query],
    [_("An earlier token is forbidden"), () => true],
  ];

  function wrongCells(answer, { tokens, right, padding }) {
    return tokens.flatMap((_, query) => tokens.flatMap((__, key) => {
      if (answer[query][key] === right[query][key]) return [];
      const [kind] = KINDS.find(([, fits]) => fits({ query, key, padding }));
      return [{ query, key, kind }];
    }));
  }

  const PADDING_ROWS = _("Right for all real tokens. The rows of padding are empty, which does no harm: nobody reads them. The code's mask allows there what is real and not later.");

  const onlyPaddingRowsEmpty = (answer, wrong, { padding }) => wrong.every(({ query }) => !padding[query])
    && answer.every((row, query) => padding[query] || !row.includes(true));

  function judge(answer, task) {
    const whole = wholeMistake(answer, task);
    const wrong = wrongCells(answer, task);
    if (!wrong.length) return { wrong, said: [_("Right: this is what target_mask makes.")], passed: true };
    if (whole) return { wrong: [], said: [whole], passed: false };
    if (onlyPaddingRowsEmpty(answer, wrong, task)) return { wrong: [], said: [PADDING_ROWS], passed: true };
    const said = KINDS.flatMap(([kind]) => {
      const cells = wrong.filter((cell) => cell.kind === kind);
      return cells.length ? [fill(_("{kind}: {cells}."), { kind, cells: sayCells(cells, task) })] : [];
    });
    return { wrong, said, passed: false };
  }

  // Positions stand with the tokens, as "pad" comes more than once.
  function sayCells(cells, { tokens }) {
    const name = ({ query, key }) =>
      fill(_("row {query} ({asks}), column {key} ({seen})"), { query, asks: tokens[query], key, seen: tokens[key] });
    const shown = cells.slice(0, 2).map(name);
    const more = cells.length > 2 ? [fill(_("and {count} more"), { count: cells.length - 2 })] : [];
    return [...shown, ...more].join(_("; "));
  }

  // ---- the mask to build: the grid -----------------------------------------------------------------

  function makeGrid(place, task, onChange, onReach) {
    place.replaceChildren();
    const { tokens } = task;
    const answer = map(task.right, () => false);
    const buttons = makeTable(place, _("May the query see the key?"), tokens).map((row, query) => tokens.map((seen, key) => {
      const button = make(make(row, "td"), "button", { type: "button" });
      const values = { query, asks: tokens[query], key, seen };
      button.setAttribute("aria-label", fill(_("query {query} {asks}, key {key} {seen}"), values));
      button.addEventListener("click", () => {
        answer[query][key] = !answer[query][key];
        show();
        onChange();
      });
      for (const event of ["focus", "click", "pointerenter"]) button.addEventListener(event, () => onReach(query, key));
      return button;
    }));
    makeRoving(buttons);

    function show(wrong = []) {
      map(answer, (may, query, key) => {
        const button = buttons[query][key];
        button.textContent = may ? "1" : "0";
        button.setAttribute("aria-pressed", String(may));
        button.classList.toggle("mask-wrong", wrong.some((cell) => cell.query === query && cell.key === key));
      });
    }

    show();
    return { answer, show };
  }

  function buildTask(figure, data) {
    const box = document.createElement("div");
    const controls = make(box, "div", { className: "mask-controls" });
    const choices = choicesOf(data.tasks);
    const which = makeSelect(controls, "moving-mask-task", _("Input of the decoder"), choices, begin);
    const work = make(box, "div", { className: "mask-work" });
    const place = make(work, "div", { className: "mask-build" });
    const beside = make(work, "div", { className: "mask-beside" });
    const cell = make(beside, "p", { className: "mask-cell" });
    const [check, clear] = makeButtons(beside, [_("Check"), _("Clear")]);
    const verdict = make(beside, "div", { className: "mask-verdict" });
    verdict.setAttribute("aria-live", "polite");
    let grid = null;

    function begin() {
      const task = data.tasks[which.value];
      grid = { ...makeGrid(place, task, forget, sayCell), task };
      cell.textContent = _("Nothing is allowed yet.");
      forget();
    }

    // What the reader has set, read aloud: who looks, and at what.
    function sayCell(query, key) {
      const { tokens } = grid.task;
      const said = grid.answer[query][key]
        ? _("Row {query}, column {key}: the query {asks} sees the key {seen}.")
        : _("Row {query}, column {key}: the query {asks} does not see the key {seen}.");
      cell.textContent = fill(said, { query, key, asks: tokens[query], seen: tokens[key] });
    }

    // What was said of an answer does not hold of the next one.
    function forget() {
      verdict.classList.remove("mask-passed", "mask-failed");
      verdict.replaceChildren();
      make(verdict, "p", { textContent: _("Mark every cell that may be seen, then press Check.") });
    }

    check.addEventListener("click", () => {
      const { wrong, said, passed } = judge(grid.answer, grid.task);
      grid.show(wrong);
      verdict.replaceChildren();
      verdict.classList.toggle("mask-passed", passed);
      verdict.classList.toggle("mask-failed", !passed);
      said.forEach((textContent) => make(verdict, "p", { textContent }));
    });
    clear.addEventListener("click", begin);
    figure.querySelector(".moving-fallback").replaceWith(box);
    begin();
  }

  start("masking", (figure) => {
    const data = dataFor("masking");
    if (figure.dataset.part === "build") buildTask(figure, data);
    else buildSwitches(figure, data);
  });
})();
