// The figure in book/closer/decoding.ipynb that shows what a cache saves: greedy decoding of a word twice, side by side,
// with all that one head of the decoder's self-attention computes in each step. Plain SVG, as in positions.js.
// The page holds the tokens, and what the package has been counted to compute in each step.
// book/_extensions/figures.py loads this file on pages that hold <figure data-figure="cache">.

(() => {
  const { fill, make, draw, clear } = window.moving;
  const { makeSlider, makeSteps, makeWords, onNewWidth, dataFor, start } = window.moving;
  const PAUSE = 1600; // milliseconds of a step while it plays
  const FIRST = 2; // the step that is shown at first: something is repeated already
  const FAR = 1000; // tokens of a long answer
  const WAYS = [
    { key: "without", name: _("without a cache") },
    { key: "with", name: _("with a cache") },
  ];

  const whole = (value) => value.toLocaleString("en");
  const upTo = (values, step) => values.slice(0, step).reduce((total, value) => total + value, 0);
  const ratio = (one, other) => (one / other).toFixed(1).replace(".0", "");

  // ---- what is computed in a step ---------------------------------------------------------------

  // Places count from 0, so in step 3 the newest token has place 2.
  function fateOfVector(key, place, step) {
    if (place >= step) return "later";
    if (place === step - 1) return "new";
    return key === "with" ? "kept" : "again";
  }

  function fateOfProduct(key, row, column, step) {
    if (row >= step || column >= step) return "later";
    if (row === step - 1) return "new";
    if (key === "without") return column > row ? "hidden" : "again";
    return column > row ? "later" : "done"; // computed in an earlier step, and not asked for any more
  }

  // ---- drawing ----------------------------------------------------------------------------------

  const MARKS = { again: "\u21bb", kept: "\u2713" };

  function drawCell(svg, x, y, size, fate, part) {
    const cell = { x: x + 1, y: y + 1, width: size - 2, height: size - 2, rx: 3, class: `cache-cell cache-${fate}`, "data-part": part };
    draw(svg, "rect", cell);
    const mark = part === "product" ? undefined : MARKS[fate];
    const middle = { x: x + size / 2, y: y + size / 2 + 4.5, "text-anchor": "middle" };
    if (mark) draw(svg, "text", { ...middle, class: `cache-mark cache-${fate}` }, mark);
    if (fate === "hidden") drawCross(svg, x + 5, y + 5, size - 10);
  }

  function drawCross(svg, x, y, size) {
    const d = `M${x} ${y} l${size} ${size} m0 ${-size} l${-size} ${size}`;
    draw(svg, "path", { d, class: "cache-cross" });
  }

  function drawPanel(svg, { key, name }, { tokens, step }) {
    const count = tokens.length;
    const names = svg.parentElement.clientWidth > 260 ? 62 : 0; // a phone has the names above
    const size = Math.min(34, Math.floor((Math.max(130, svg.parentElement.clientWidth) - names) / count));
    const first = names ? 62 : 80; // of the rows of cells
    const tops = { title: 14, tokens: 36, key: first, value: first + size, products: first + 2 * size + 34 };
    const width = clear(svg, tops.products + count * size + 6, 130);
    const left = names + Math.max(0, (width - names - count * size) / 2);
    const at = (place) => left + place * size;
    draw(svg, "text", { x: left, y: tops.title, class: "cache-title" }, name);
    tokens.forEach((token, place) => {
      const isRead = key === "with" ? place === step - 1 : place < step;
      const kind = place >= step ? "cache-future" : isRead ? "cache-read" : "cache-unread";
      const where = { x: at(place) + size / 2, y: tops.tokens + 14, "text-anchor": "middle", class: kind };
      if (isRead) {
        const box = { x: at(place) + 1, y: tops.tokens - 2, width: size - 2, height: 22, rx: 4, class: "cache-input" };
        draw(svg, "rect", box);
      }
      draw(svg, "text", where, token === "<bos>" ? "\u25b7" : token);
      for (const part of ["key", "value"]) drawCell(svg, at(place), tops[part], size, fateOfVector(key, place, step), part);
    });
    tokens.forEach((_, row) => tokens.forEach((__, column) => {
      drawCell(svg, at(column), tops.products + row * size, size, fateOfProduct(key, row, column, step), "product");
    }));
    drawNames(svg, names, tops, size, left);
    svg.setAttribute("aria-label", spoken(key, step));
  }

  function drawNames(svg, names, tops, size, left) {
    const products = { x: left, y: tops.products - 8, class: "moving-faint" };
    draw(svg, "text", products, _("query \u00b7 key"));
    if (names === 0) return draw(svg, "text", { ...products, y: tops.key - 5 }, _("keys, values"));
    const side = { x: left - 8, "text-anchor": "end", class: "moving-faint" };
    draw(svg, "text", { ...side, y: tops.tokens + 14 }, _("reads"));
    draw(svg, "text", { ...side, y: tops.key + size / 2 + 5 }, _("keys"));
    return draw(svg, "text", { ...side, y: tops.value + size / 2 + 5 }, _("values"));
  }

  function spoken(key, step) {
    const said = key === "with"
      ? _("with a cache, step {step}: a key and a value are new, {before} of each are kept; one row of {step} products.")
      : _("without a cache, step {step}: {step} keys and {step} values are computed, {before} of each again; a square of {step} by {step} products.");
    return fill(said, { step, before: step - 1 });
  }

  // ---- the counters -----------------------------------------------------------------------------

  // How the reader can count the same: a sum for each counter, short enough for its cell.
  function sums(key, what, step) {
    const each = Array.from({ length: step }, (_, index) => index + 1);
    const written = (values) => (step > 4 ? [values[0], values[1], "\u2026", values.at(-1)] : values).join(" + ");
    if (what === "vectors") return key === "with" ? `2 \u00b7 ${step}` : `2 \u00b7 (${written(each)})`;
    return written(key === "with" ? each : each.map((one) => one * one));
  }

  function makeTable(parent) {
    const place = make(parent, "div", { className: "cache-scroll" });
    const table = make(place, "table", { className: "cache-table" });
    const head = make(make(table, "thead"), "tr");
    [_("so far"), ...WAYS.map((way) => way.name)].forEach((textContent) => {
      make(head, "th", { scope: "col", textContent });
    });
    const body = make(table, "tbody");
    return [["vectors", _("keys and values")], ["products", _("products")]].map(([what, textContent]) => {
      const row = make(body, "tr");
      make(row, "th", { scope: "row", textContent });
      const cells = WAYS.map(({ key }) => {
        const cell = make(row, "td");
        const total = make(cell, "strong");
        return { key, total, sum: make(cell, "span", { className: "cache-sum" }) };
      });
      return { what, cells };
    });
  }

  function fillTable(table, { counted, step }) {
    for (const { what, cells } of table) {
      for (const { key, total, sum } of cells) {
        total.textContent = whole(upTo(counted[key][what], step));
        sum.textContent = `= ${sums(key, what, step)}`;
      }
    }
  }

  // ---- what the figure says in words ------------------------------------------------------------

  function describe({ tokens, said, counted, step }) {
    const now = (key, what) => counted[key][what][step - 1];
    const [squares, line] = [(FAR * (FAR + 1) * (2 * FAR + 1)) / 6, (FAR * (FAR + 1)) / 2];
    const again = now("without", "vectors") - now("with", "vectors");
    const values = {
      step, count: tokens.length, read: tokens.slice(0, step).join(" "), chosen: said[step - 1], again,
      vectors: now("without", "vectors"), without: now("without", "products"), with: now("with", "products"),
      far: whole(FAR), squares: whole(squares), line: whole(line), ratio: ratio(squares, line),
    };
    return [
      again === 0
        ? _("Step {step} of {count}: {read} stands there, {chosen} is chosen, by both ways. Without a cache nothing is repeated yet.")
        : _("Step {step} of {count}: {read} stands there, {chosen} is chosen, by both ways. Without a cache {again} of the {vectors} keys and values are repeated."),
      _("Products of this step: {step} \u00b7 {step} = {without} without, of which only the last row is needed; {with} with."),
      _("After T steps: T(T + 1) keys and values without, 2T with; T(T + 1)(2T + 1) / 6 products without, T(T + 1) / 2 with. For T = {far}: {squares} products and {line}, {ratio} times as many."),
    ].map((message) => fill(message, values));
  }

  // ---- controls ---------------------------------------------------------------------------------

  function build(figure) {
    const data = dataFor("cache");
    const last = data.tokens.length;
    const box = document.createElement("div");
    const controls = make(box, "div", { className: "moving-controls" });
    const slider = makeSlider(controls, "cachestep", _("Step"), { min: 1, max: last, value: FIRST }, update);
    const steps = makeSteps(controls, slider.input, PAUSE, go);
    const pictures = make(box, "div", { className: "moving-pictures" });
    const panels = WAYS.map(() => draw(make(pictures, "div"), "svg", { role: "img" }));
    makeLegend(box);
    const table = makeTable(box);
    const say = makeWords(box, 3);

    function update() {
      const state = { ...data, step: Number(slider.input.value) };
      slider.show(fill(_("{step} of {last}"), { step: state.step, last }));
      steps.showEnds();
      WAYS.forEach((way, index) => drawPanel(panels[index], way, state));
      fillTable(table, state);
      say(describe(state));
    }

    function go(step) {
      slider.input.value = step; // the browser keeps it within its range
      update();
    }

    figure.querySelector(".moving-fallback").replaceWith(...box.childNodes);
    onNewWidth(pictures, update);
    update();
  }

  function makeLegend(parent) {
    const legend = make(parent, "p", { className: "cache-legend" });
    const kinds = [["new", _("new")], ["again", _("computed again \u21bb")], ["kept", _("kept \u2713")],
      ["hidden", _("computed, and hidden by the mask \u00d7")], ["done", _("of an earlier step")]];
    for (const [fate, textContent] of kinds) {
      const entry = make(legend, "span");
      make(entry, "i", { className: `cache-swatch cache-${fate}` });
      make(entry, "span", { textContent });
    }
  }

  start("cache", build);
})();
