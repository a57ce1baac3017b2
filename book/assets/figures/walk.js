// The figures in book/attention.ipynb and book/closer/attention.ipynb in which the reader walks through attention,
// matrix by matrix: a cell that is chosen lights the row and the column that made it, and says its sum term by term.
// In the closer look a choice makes one of three mistakes. Tables and native controls; the steps are computed here,
// from what the page has taken from the package.
// book/_extensions/figures.py loads this file on pages that hold <figure data-figure="walk">.

(() => {
  const { digitsOf, number, fill, dot, softmax } = window.moving;
  const { make, makeSelect, makeButtons, makeWords, onNewWidth, dataFor, start } = window.moving;
  const FEW = 4; // so many tokens have room on a phone
  const NARROW = 560; // below this width more tokens have smaller cells, with fewer features and digits
  const MISTAKES = [
    ["right", _("none: as it should be")],
    ["axis", _("softmax over the wrong axis")],
    ["root", _("root of the number of heads")],
    ["view", _("heads by view alone")],
  ];

  // The matrices that no letter names.
  const NAMES = {
    "K transposed": _("K transposed"), products: _("products"), scores: _("scores"), masked: _("masked"),
    weights: _("weights"), output: _("output"),
  };

  const transpose = (rows) => rows[0].map((_, column) => rows.map((row) => row[column]));
  const times = (left, right) => left.map((row) => transpose(right).map((column) => dot(row, column)));
  const map = (rows, change) => rows.map((row, i) => row.map((value, j) => change(value, i, j)));
  const sum = (values) => values.reduce((total, value) => total + value, 0);

  // ---- attention, step by step --------------------------------------------------------------------

  // The rows of one head: of each token its own features, or, with the mistake, what `view` alone finds in that place.
  function headOf(all, { heads, head }, mistake) {
    const size = all[0].length / heads;
    if (mistake !== "view") return all.map((row) => row.slice(head * size, (head + 1) * size));
    const stored = all.flat(); // as it lies in memory, token after token
    return all.map((_, row) => stored.slice((head * all.length + row) * size, (head * all.length + row + 1) * size));
  }

  // Which token a row of the head really holds.
  const ownerOf = (row, { heads, head, rows }) => Math.floor((head * rows.length + row) / heads);

  function project(data, letter) {
    const { X, W, bias, all } = data;
    const computed = map(times(X, W[letter]), (value, _, column) => value + (bias ? bias[letter][column] : 0));
    if (!all) return computed;
    // The page holds all features of all heads, and the weights of the first few of this head only.
    const first = (data.head * X[0].length) / data.heads;
    return map(all[letter], (value, row, column) => computed[row][column - first] ?? value);
  }

  function attend(data, mistake) {
    const [Q, K, V] = ["q", "k", "v"].map((letter) => headOf(project(data, letter), data, mistake));
    const size = Q[0].length;
    const under = mistake === "root" ? data.heads : size;
    const products = times(Q, transpose(K));
    const scores = data.divide ? map(products, (value) => value / Math.sqrt(under)) : products;
    const masked = data.causal ? map(scores, (value, row, column) => (column > row ? -Infinity : value)) : scores;
    const weights = mistake === "axis" ? transpose(transpose(masked).map(softmax)) : masked.map(softmax);
    return { X: data.X, Q, K, V, products, scores, masked, weights, output: times(weights, V), under, size };
  }

  // ---- the steps: what is multiplied with what ------------------------------------------------------

  // `left` and `top` make `result`, cell by cell; without `top`, each cell comes from the one in its place, or its row.
  function stepsOf({ causal, divide }) {
    const names = [["Q", "q", _("Q = X W_q: the queries")], ["K", "k", _("K = X W_k: the keys")], ["V", "v", _("V = X W_v: the values")]];
    const projections = names.map(([name, letter, title]) => (
      { kind: "project", letter, left: "X", top: `W_${letter}`, result: name, chip: name, title }));
    const steps = [
      ...projections,
      { kind: "product", left: "Q", top: "K transposed", result: "products", chip: "Q K\u1d40",
        title: _("Q K\u1d40: each query meets each key") },
      { kind: "scale", left: "products", result: "scores", chip: _("\u00f7 root"),
        title: _("divided by the root: the scores") },
      { kind: "mask", left: "scores", result: "masked", chip: _("mask"), title: _("masked: nobody sees what comes later") },
      { kind: "softmax", left: causal ? "masked" : divide ? "scores" : "products", result: "weights", chip: "softmax",
        title: _("softmax of each row: the weights") },
      { kind: "output", left: "weights", top: "V", result: "output", chip: _("times V"),
        title: _("weights times V: the output") },
    ];
    return steps.filter(({ kind }) => (causal || kind !== "mask") && (divide || kind !== "scale"));
  }

  // What a matrix is made of, and how much of it is shown.
  function matrixOf(name, found, data, few) {
    const ofTokens = ["products", "scores", "masked", "weights"].includes(name);
    const role = { X: "residual", Q: "query", W_q: "query", K: "key", W_k: "key", "K transposed": "key",
      V: "value", W_v: "value", output: "value", weights: "query" }[name] ?? "ink";
    const weight = name.match(/^W_(.)$/);
    let rows = weight ? data.W[weight[1]] : found[name === "K transposed" ? "K" : name];
    if (name === "K transposed") rows = transpose(rows);
    const { rows: tokens } = data;
    const sizes = [rows.length, weight ? found.size : rows[0].length];
    const turned = name === "K transposed";
    const labels = [weight || turned ? null : tokens, turned || ofTokens ? tokens : null];
    const shown = sizes.map((size, axis) => (labels[axis] ? size : Math.min(size, few)));
    const cells = rows.slice(0, shown[0]).map((row) => row.slice(0, shown[1]));
    return { name, role, cells, sizes, shown, labels };
  }

  // ---- numbers --------------------------------------------------------------------------------------

  const whole = (data) => !data.all; // the numbers by hand are short
  function tidy(value, data, digits = 2) {
    if (value === -Infinity) return "\u2212\u221e";
    if (whole(data) && Math.abs(value - Math.round(value)) < 1e-9) return number(value, 0);
    return number(value, Math.abs(value) < 10 ? digits : digits - 1);
  }

  const bracketed = (text) => (text.startsWith("\u2212") ? `(${text})` : text);

  // The first few terms, and how many more there are.
  function added(terms, few, extra = []) {
    const more = terms.length > few ? [fill(_("\u2026 ({count} more)"), { count: terms.length - few })] : [];
    return [...terms.slice(0, few), ...more, ...extra].join(" + ");
  }

  function sumOf(left, right, data, few, { extra = [], digits = 2 } = {}) {
    const terms = left.map((value, index) => {
      const first = tidy(value, data, digits);
      return `${index === 0 ? first : bracketed(first)} \u00b7 ${bracketed(tidy(right[index], data))}`;
    });
    return added(terms, few, extra);
  }

  function softmaxSum(values, place, data, few) {
    const seen = values.filter((value) => value !== -Infinity);
    const [power, total] = [Math.exp(values[place]), sum(seen.map(Math.exp))];
    const digits = digitsOf([power, total], ([one, all]) => one / all, 2);
    const shown = (value) => tidy(value, data, digitsOf([value], ([one]) => Math.exp(one), digits));
    const powers = added(seen.map((value) => `exp(${shown(value)})`), few);
    if (values[place] === -Infinity) return _("exp(\u2212\u221e) = 0, so the weight is 0");
    const results = [`${number(power, digits)} / ${number(total, digits)}`, number(power / total, 2)];
    return [`exp(${shown(values[place])}) / (${powers})`, ...results].join(" = ");
  }

  // How a cell of the result came about, in one line.
  function explain({ step, found, data, cell: [row, column], mistake, few }) {
    const value = tidy(found[step.result][row][column], data);
    if (step.kind === "project") {
      const { W, bias } = data;
      const extra = bias ? [fill(_("bias {value}"), { value: bracketed(tidy(bias[step.letter][column], data)) })] : [];
      const [owner, own] = [ownerOf(row, data), row].map((place) => data.rows[place]);
      if (mistake === "view") return fill(_("{value}: a feature of {owner}, in the row of {own}"), { value, owner, own });
      return `${sumOf(data.X[row], transpose(W[step.letter])[column], data, few, { extra })} = ${value}`;
    }
    if (step.kind === "product") return `${sumOf(found.Q[row], found.K[column], data, few)} = ${value}`;
    if (step.kind === "output") {
      const digits = whole(data) ? 3 : 2; // so that whoever adds up gets the same
      return `${sumOf(found.weights[row], transpose(found.V)[column], data, few, { digits })} = ${value}`;
    }
    if (step.kind === "scale") return `${tidy(found.products[row][column], data)} / \u221a${found.under} = ${value}`;
    if (step.kind === "mask") return fill(column > row ? _("hidden: {value}") : _("may be seen: stays {value}"), { value });
    const line = mistake === "axis" ? transpose(found.masked)[column] : found.masked[row];
    return softmaxSum(line, mistake === "axis" ? row : column, data, few);
  }

  // What the cell means.
  function meaning({ step, data, cell: [row, column] }) {
    const [own, other] = [row, column].map((place) => `\u201c${data.rows[place]}\u201d`);
    const projected = {
      q: _("Feature {feature} of the query of {own}."),
      k: _("Feature {feature} of the key of {own}."),
      v: _("Feature {feature} of the value of {own}."),
    };
    const said = {
      project: projected[step.letter],
      product: _("The query of {own} meets the key of {other}."),
      scale: _("The score of {own} for {other}."),
      mask: column > row ? _("{own} must not see {other}, which comes later.") : _("{own} may see {other}."),
      softmax: _("How much of {other} goes into {own}."),
      output: _("Feature {feature} of the output of {own}: that of each value, times its weight."),
    };
    return fill(said[step.kind], { own, other, feature: column + 1 });
  }

  // The largest difference from what is right in this step; hidden cells are hidden in both.
  function apart(step, found, right) {
    const differences = found[step.result].flatMap((row, i) => row.map((value, j) => {
      const other = right[step.result][i][j];
      return value === other ? 0 : Math.abs(value - other);
    }));
    return Math.max(...differences);
  }

  // How one could have noticed the mistake: the shapes do not say it.
  function notice({ step, steps, found, right, data, mistake, told }) {
    const { rows } = data;
    const ofTokens = ["product", "scale", "mask", "softmax"].includes(step.kind);
    const shape = { rows: rows.length, columns: ofTokens ? rows.length : found.size };
    if (mistake === "right") return fill(_("Shape ({rows}, {columns}). Choose a mistake: no shape changes."), shape);
    const gap = apart(step, found, right);
    const first = steps.findIndex((one) => apart(one, found, right) > 0);
    const said = gap > 0
      ? _("Shape ({rows}, {columns}) as it should be, but wrong by up to {gap}. {how}")
      : _("Shape ({rows}, {columns}) as it should be, still right, and wrong from step {first} on. {how}");
    const how = told ? hint(mistake, found, right, data) : _("What would you check?");
    return fill(said, { ...shape, gap: number(gap, 2), first: first + 1, how });
  }

  function hint(mistake, found, right, data) {
    const { rows, heads } = data;
    const totals = found.weights.map((row) => number(sum(row), 2)).join(_(", "));
    const sharpest = ({ weights }) => number(sum(weights.map((row) => Math.max(...row))) / weights.length, 2);
    const factor = number(Math.sqrt(found.size / heads), 2);
    const last = rows.length - 1;
    const said = {
      axis: _("To notice it, add up the rows of the weights: {totals}, and each should be 1."),
      root: _("To notice it, compare with PyTorch: rows sum to 1, but scores are {factor} times too large, and the mean of the largest weights is {found} instead of {right}."),
      view: _("To notice it, change the token {changed}: its row should change, but it holds {held}."),
    };
    return fill(said[mistake], {
      totals, factor, found: sharpest(found), right: sharpest(right), changed: rows[last], held: rows[ownerOf(last, data)],
    });
  }

  // ---- tables ---------------------------------------------------------------------------------------

  // Names in their order: what is lit, and whether it can be chosen.
  function drawTable(place, matrix, { data, narrow, lit, side, heading, choose }) {
    place.replaceChildren();
    const { name, role, cells, sizes, shown, labels } = matrix;
    const digits = narrow && name !== "weights" ? 1 : 2;
    const table = make(place, "table", { className: `walk-table walk-${role}` });
    if (choose) table.setAttribute("role", "grid");
    const [moreRows, moreColumns] = shown.map((count, axis) => count < sizes[axis]);
    const label = { name: NAMES[name] ?? name, rows: sizes[0], columns: sizes[1] };
    table.setAttribute("aria-label", fill(_("{name}, {rows} by {columns}"), label));
    if (heading && labels[1]) {
      const row = make(table, "tr");
      if (side === "left") make(row, "td", { className: "walk-empty" });
      labels[1].forEach((label) => make(row, "th", { scope: "col", textContent: label }));
    }
    cells.forEach((values, i) => {
      const row = make(table, "tr");
      const label = labels[0] && (side === "left" || side === "right");
      if (label && side === "left") make(row, "th", { scope: "row", textContent: labels[0][i] });
      values.forEach((value, j) => {
        const cell = make(row, "td", { textContent: tidy(value, data, digits) });
        cell.className = lit(i, j);
        if (name === "weights") cell.style.setProperty("--share", value);
        if (choose) choose(cell, i, j);
      });
      if (moreColumns) make(row, "td", { className: "walk-more", textContent: "\u2026" });
      if (label && side === "right") make(row, "th", { scope: "row", textContent: labels[0][i] });
    });
    if (moreRows) {
      const row = make(table, "tr");
      make(row, "td", { className: "walk-more", textContent: "\u22ee", colSpan: shown[1] });
    }
  }

  function titleOf({ name, sizes, shown, labels }, narrow) {
    const axis = [0, 1].find((one) => !labels[one] && shown[one] < sizes[one]);
    const what = name === "K transposed" ? "K\u1d40" : NAMES[name] ?? name;
    if (axis === undefined) return what;
    const both = [0, 1].every((one) => shown[one] < sizes[one]);
    if (both) {
      const values = { what, rows: shown[0], ofRows: sizes[0], columns: shown[1], ofColumns: sizes[1] };
      return fill(_("{what}: {rows} of {ofRows} by {columns} of {ofColumns}"), values);
    }
    const along = axis ? _("{what}: {shown} of {all} columns") : _("{what}: {shown} of {all} rows");
    return fill(narrow ? _("{what}: {shown} of {all}") : along, { what, shown: shown[axis], all: sizes[axis] });
  }

  function drawStage(stage, state, choose) {
    const { step, found, data, cell: [row, column], narrow, few, mistake } = state;
    const [left, top, result] = [step.left, step.top, step.result].map((name) => (
      name && matrixOf(name, found, data, few)));
    stage.box.classList.toggle("walk-alone", !top);
    stage.box.classList.toggle("walk-narrow", narrow);
    stage.top.hidden = !top;
    const common = { data, narrow };
    // Where the result comes from: the row on the left, the column above, or the cell in its place.
    // With the wrong view, a row holds the features of another token, and of another head than the one above.
    const strayed = step.kind === "project" && mistake === "view";
    const source = strayed ? ownerOf(row, data) : row;
    const byColumn = step.kind === "softmax" && mistake === "axis";
    const inLeft = (i, j) => {
      if (step.kind === "softmax") return byColumn ? j === column : i === row;
      return i === source && (Boolean(top) || j === column);
    };
    const lit = (test) => (i, j) => (test(i, j) ? "walk-lit" : "");
    drawTable(stage.left, left, { ...common, side: "left", heading: !top, lit: lit(inLeft) });
    const above = lit((_, j) => j === column && !strayed);
    if (top) drawTable(stage.top, top, { ...common, side: "right", heading: true, lit: above });
    const side = top ? "none" : narrow ? "left" : "none";
    const chosen = lit((i, j) => i === row && j === column);
    drawTable(stage.result, result, { ...common, side, heading: !top, lit: chosen, choose });
    stage.leftName.textContent = titleOf(left, narrow);
    stage.leftName.className = `walk-name walk-${left.role}`;
    if (top) stage.topName.textContent = titleOf(top, narrow);
    stage.topName.hidden = !top;
    stage.topName.className = `walk-name walk-${top ? top.role : ""}`;
    stage.resultName.textContent = titleOf(result, narrow);
    stage.resultName.className = `walk-name walk-${result.role}`;
    stage.result.querySelector(".walk-lit")?.setAttribute("tabindex", "0");
    return result.shown;
  }

  // ---- controls -------------------------------------------------------------------------------------

  function makeStage(parent) {
    const box = make(parent, "div", { className: "walk-stage" });
    const part = (className) => make(box, "div", { className });
    return {
      box, topName: part(""), top: part("walk-top"), left: part("walk-left"), result: part("walk-result"),
      leftName: part(""), resultName: part(""),
    };
  }

  function build(figure) {
    const data = dataFor("walk");
    const steps = stepsOf(data);
    let { step: at, cell } = data.begin;
    const box = document.createElement("div");
    const chips = make(box, "ol", { className: "walk-steps" });
    const marks = steps.map(({ chip }, index) => {
      const button = make(make(chips, "li"), "button", { type: "button", textContent: chip });
      button.addEventListener("click", () => go(index));
      return button;
    });
    const bar = make(box, "div", { className: "walk-bar" });
    const [back, next] = makeButtons(bar, [_("Back"), _("Next")]);
    const choice = data.heads > 1 && makeSelect(bar, "walk-mistake", _("Mistake"), MISTAKES, () => tell(false));
    const [check] = choice ? makeButtons(bar, [_("Show a check")]) : [];
    const title = make(box, "p", { className: "walk-title" });
    const stage = makeStage(make(box, "div", { className: "moving-pictures" }));
    const say = makeWords(box, choice ? 3 : 2);
    const right = attend(data, "right");
    let shown = [1, 1];
    let told = false; // how to notice the mistake: first the reader thinks of a check

    function update() {
      const mistake = choice ? choice.value : "right";
      const narrow = stage.box.clientWidth < NARROW && data.rows.length > FEW;
      const few = narrow ? 2 : 3;
      const found = mistake === "right" ? right : attend(data, mistake);
      const state = { step: steps[at], steps, found, right, data, mistake, narrow, few, told };
      const { sizes, shown: visible } = matrixOf(steps[at].result, found, data, few);
      cell = cell.map((place, axis) => Math.min(place, Math.min(sizes[axis], visible[axis]) - 1));
      state.cell = cell;
      shown = drawStage(stage, state, choose);
      title.textContent = fill(_("Step {step} of {count}: {title}"), { step: at + 1, count: steps.length, title: steps[at].title });
      marks.forEach((mark, index) => {
        mark.classList.toggle("walk-wrong", apart(steps[index], found, right) > 0);
        if (index === at) mark.setAttribute("aria-current", "step");
        else mark.removeAttribute("aria-current");
      });
      back.setAttribute("aria-disabled", String(at === 0));
      next.setAttribute("aria-disabled", String(at === steps.length - 1));
      say([explain(state), meaning(state), ...(choice ? [notice(state)] : [])]);
    }

    function tell(all) {
      told = all;
      check.setAttribute("aria-disabled", String(told || choice.value === "right"));
      update();
    }

    // A cell of the result can be chosen by mouse, by finger and by the arrow keys.
    function choose(element, i, j) {
      element.setAttribute("role", "gridcell");
      element.setAttribute("tabindex", "-1");
      element.setAttribute("aria-selected", String(i === cell[0] && j === cell[1]));
      element.addEventListener("click", () => moveTo(i, j));
    }

    function moveTo(i, j) {
      cell = [i, j].map((place, axis) => Math.max(0, Math.min(shown[axis] - 1, place)));
      update();
      stage.result.querySelector(".walk-lit").focus({ preventScroll: true });
    }

    stage.result.addEventListener("keydown", (event) => {
      const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!by) return;
      event.preventDefault();
      moveTo(cell[0] + by[0], cell[1] + by[1]);
    });
    function go(step) {
      at = Math.max(0, Math.min(steps.length - 1, step));
      update();
    }
    back.addEventListener("click", () => go(at - 1));
    next.addEventListener("click", () => go(at + 1));

    // The tallest step gives the figure its height, so that nothing below it jumps.
    function measure() {
      const now = { at, cell };
      stage.box.style.minHeight = "";
      const heights = steps.map((_, index) => {
        at = index;
        update();
        return Math.ceil(stage.box.getBoundingClientRect().height);
      });
      stage.box.style.minHeight = `${Math.max(...heights)}px`;
      ({ at, cell } = now);
      update();
    }

    check?.addEventListener("click", () => choice.value !== "right" && tell(true));
    check?.setAttribute("aria-disabled", "true");
    figure.querySelector(".moving-fallback").replaceWith(box);
    onNewWidth(stage.box.parentElement, measure);
    measure();
  }

  start("walk", build);
})();
