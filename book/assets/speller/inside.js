// The numbers inside the boxes of book/model.md, for the reader's own word: vectors as bars, scores as sums, and each
// product. model.js computes them; here they are shown, so that every line is right with the digits that it shows.

Object.assign(window.speller, (() => {
  const { digitsOf, fill, number, softmax, make, draw, makeSelect, makeSlider, makeRoving } = window.moving;
  const DIGITS = 2; // of results
  const MOST_TERMS = 32;
  const COLUMNS = { 2: 8, 3: 6 }; // of products with so many digits; of more, 4
  const BEGIN = 1; // the id of the token that the decoder starts from

  // ---- what the model computes on its way -------------------------------------------------------

  // Everything that the model computes for a word: found.get(part)[layer][place].
  function traceOf(model, word, maxLength) {
    const found = new Map();
    const note = (part, layer, place, what) => {
      if (!found.has(part)) found.set(part, []);
      (found.get(part)[layer] ??= [])[place] = what;
    };
    const steps = model.greedy(word, { note, maxLength });
    const ids = [BEGIN, ...steps.map(({ id }) => id)];
    return { model, word, found, steps, letters: [...word], tokens: ids.map((id) => model.phonemes[id]) };
  }

  const isSource = (part) => part.startsWith("source") || part.startsWith("encoder") || part === "memory";

  // ---- calculations: {says, terms, bias, after, result} or {lines} ------------------------------

  const round = (value, digits) => Number(value.toFixed(digits));

  const add = (values) => values.reduce((sum, value) => sum + value, 0);
  const multiply = ([a, b]) => a * b;

  // A row of a matrix times a vector, plus the bias.
  function rowTimes({ weight, bias }, row, x) {
    const terms = Array.from(x, (value, i) => [weight[row * x.length + i], value]);
    return { terms, bias: bias?.[row] };
  }

  function normOf(before, x, { weight, bias }, at) {
    const mean = add([...before]) / before.length;
    const spread = Math.sqrt(add([...before].map((value) => (value - mean) ** 2)) / before.length + 1e-5);
    const values = [before[at], mean, spread, weight[at], bias[at]];
    const combine = ([value, middle, size, w, b]) => ((value - middle) / size) * w + b;
    const count = digitsOf(values, combine, DIGITS, x[at]);
    const [value, middle, size, w, b] = values.map((each) => number(each, count));
    return { lines: [
      fill(_("Before the norm: {value}. The mean of all {count} numbers is {middle}, their standard deviation {size}."), { value, middle, size, count: before.length }),
      fill(_("({value} \u2212 {middle}) / {size} \u00d7 weight {w} + bias {b} = {result}"), { value, middle, size, w, b, result: number(x[at], DIGITS) }),
    ] };
  }

  function sumOf(before, output, after, at) {
    const values = [before[at], output[at]];
    const count = digitsOf(values, add, DIGITS, after[at]);
    const [value, change] = values.map((each) => number(each, count));
    return { lines: [fill(_("what came in {value} + what came out of the box {change} = {result}"), { value, change, result: number(after[at], DIGITS) })] };
  }

  // e to the score, divided by the sum of all of them.
  function shareOf(scores, at, name) {
    const powers = scores.map((score) => Math.exp(score));
    const result = powers[at] / add(powers);
    const count = digitsOf([powers[at], add(powers)], ([power, sum]) => power / sum, DIGITS, result);
    const digits = digitsOf([scores[at]], ([score]) => Math.exp(score), count);
    return { lines: [
      fill(_("e to the score of {name}: e^{score} = {power}. All {count} together: {sum}."), {
        name, count: scores.length, score: number(scores[at], digits), power: powers[at].toFixed(count), sum: add(powers).toFixed(count),
      }),
      fill(_("{power} / {sum} = {result}"), { power: powers[at].toFixed(count), sum: add(powers).toFixed(count), result: result.toFixed(DIGITS) }),
    ] };
  }

  // ---- what each box holds: {vectors, rows, sums} -----------------------------------------------

  // A vector is {key, name, values}; the key names the sum of which each of its numbers is the result.
  // A sum is {key, name, count, run}, where `run(at)` is the calculation of one of its `count` numbers.
  const vectorOf = (key, name, values, run) => ({ key, name, values, count: values.length, run });

  function embedding({ id, row, output }, { token, size }) {
    const times = (at) => ({ says: _("The row of the table times the root of D"), terms: [[row[at], Math.sqrt(size)]], result: output[at] });
    return [{ lines: [fill(_("{token} has the id {id}: row {id} of the table."), { token, id })] }, vectorOf("out", _("out"), output, times)];
  }

  function positions({ before, waves, output }) {
    const run = (at) => {
      const count = digitsOf([before[at], waves[at]], add, DIGITS, output[at]);
      const [value, wave] = [before[at], waves[at]].map((each) => number(each, count));
      return { lines: [fill(_("embedding {value} + position {wave} = {result}"), { value, wave, result: number(output[at], DIGITS) })] };
    };
    return [vectorOf("out", _("out"), output, run), vectorOf("wave", _("position"), waves, run)];
  }

  // The two ends of every sublayer: its norm, and the sum on the residual line.
  function ends({ before, x, output, after }, norm) {
    return {
      norm: vectorOf("norm", _("x, normed"), x, (at) => normOf(before, x, norm, at)),
      sum: vectorOf("sum", _("residual sum"), after, (at) => sumOf(before, output, after, at)),
    };
  }

  function feedForward(entry, { layer, last }) {
    const { linear1, linear2 } = layer.feed_forward;
    const { x, hidden, output } = entry;
    const { norm, sum } = ends(entry, last);
    const relu = { combine: (total) => Math.max(0, total), says: _("ReLU keeps what is above 0") };
    const unit = (at) => ({ says: _("A row of W1 times x, plus the bias"), ...rowTimes(linear1, at, x), after: relu, result: hidden[at] });
    const out = (at) => ({ says: _("A row of W2 times the hidden units, plus the bias"), ...rowTimes(linear2, at, hidden), result: output[at] });
    return [norm, vectorOf("hidden", _("hidden units"), hidden, unit), vectorOf("out", _("out"), output, out), sum];
  }

  function attention(entry, { layer, norm, part, head, key, xs, keyNames, token, heads }) {
    const module = layer[part === "cross-attention" ? "cross_attention" : "self_attention"];
    const { x, query, scores, weights, keys, values, joined, output } = entry;
    const size = query.length / heads;
    const cut = (vector) => vector.subarray(head * size, (head + 1) * size);
    const names = { token, key: keyNames[key], head: head + 1, size };
    const project = (kind, from, result) => (at) => ({ says: fill(_("A row of W_{kind} times x, plus the bias"), { kind }), ...rowTimes(module[`${kind}_proj`], head * size + at, from), result: cut(result)[at] });
    const root = { combine: (total) => total / round(Math.sqrt(size), 3), says: fill(_("divided by \u221a{size} = {root}"), { size, root: Math.sqrt(size).toFixed(3) }) };
    const score = () => ({ says: fill(_("{size} products: a number of q times the same number of k"), names), terms: Array.from(cut(query), (q, i) => [q, cut(keys[key])[i]]), after: root, result: scores[head][key] });
    const mixed = (at) => ({ says: _("The weight of each token times its value"), terms: values.map((value, place) => [weights[head][place], cut(value)[at]]), result: cut(joined)[at] });
    const out = (at) => ({ says: _("A row of W_out times the outputs of all heads, plus the bias"), ...rowTimes(module.out_proj, at, joined), result: output[at] });
    const both = ends(entry, norm);
    return [
      { key: "score", name: fill(_("score of {key} for {token}"), names), count: 1, run: score },
      { key: "share", name: fill(_("weight of {key} for {token}"), names), count: 1, run: () => shareOf(scores[head], key, keyNames[key]) },
      { rows: keyNames.slice(0, keys.length).map((name, place) => ({ name, score: scores[head][place], weight: weights[head][place] })) },
      both.norm,
      vectorOf("query", fill(_("q of {token}"), names), cut(query), project("q", x, query)),
      vectorOf("key", fill(_("k of {key}"), names), cut(keys[key]), project("k", xs[key], keys[key])),
      vectorOf("value", fill(_("v of {key}"), names), cut(values[key]), project("v", xs[key], values[key])),
      vectorOf("mixed", fill(_("out of head {head}"), names), cut(joined), mixed),
      vectorOf("out", _("out of all heads"), output, out),
      both.sum,
    ];
  }

  function output({ before, x, logits }, { model, key }) {
    const ranked = Array.from(logits, (_all, id) => id).sort((one, other) => logits[other] - logits[one]);
    const names = ranked.map((id) => model.phonemes[id]);
    const sorted = ranked.map((id) => logits[id]);
    const shares = softmax(sorted);
    const score = () => ({ says: fill(_("The row of {key} in the output matrix times x"), { key: names[key] }), ...rowTimes(model.weights.output_proj, ranked[key], x), result: sorted[key] });
    return [
      { key: "score", name: fill(_("score of {key}"), { key: names[key] }), count: 1, run: score },
      { key: "share", name: fill(_("probability of {key}"), { key: names[key] }), count: 1, run: () => shareOf(sorted, key, names[key]) },
      { rows: names.slice(0, 5).map((name, place) => ({ name, score: sorted[place], weight: shares[place] })) },
      vectorOf("norm", _("x, normed"), x, (at) => normOf(before, x, model.weights.decoder.norm, at)),
    ];
  }

  // A part that has no box of its own is shown where it is used, with the sum that tells of it.
  const INSTEAD = {
    encoder: ["memory", "norm"], decoder: ["decoder-feed-forward", "sum"], norm: ["encoder-attention", "norm"],
    residual: ["encoder-attention", "sum"], source: ["source-embedding", "out"], target: ["target-embedding", "out"], next: ["output", "share"],
  };

  // What a part holds for one token, from the trace.
  function contentOf(part, { trace, layer, head, place, key }) {
    const { model, found } = trace;
    const entry = found.get(part)[layer][place];
    const weights = (isSource(part) ? model.encoderLayers : model.decoderLayers)[layer];
    const token = (isSource(part) ? trace.letters : trace.tokens)[place];
    const norms = { "encoder-attention": "norm1", "masked-attention": "norm1", "cross-attention": "norm2", "encoder-feed-forward": "norm2", "decoder-feed-forward": "norm3" };
    const norm = weights?.[norms[part]];
    if (part.endsWith("embedding")) return embedding(entry, { token, size: entry.row.length });
    if (part.endsWith("positions")) return positions(entry);
    if (part.endsWith("feed-forward")) return feedForward(entry, { layer: weights, last: norm });
    if (part === "memory") return [vectorOf("norm", _("memory"), entry.output, (at) => normOf(entry.before, entry.output, model.weights.encoder.norm, at))];
    if (part === "output") return output(entry, { model, key });
    const isCross = part === "cross-attention";
    const xs = isCross ? found.get("memory")[0].map((each) => each.output) : found.get(part)[layer].map((each) => each.x);
    const keyNames = part === "masked-attention" ? trace.tokens : trace.letters;
    return attention(entry, { layer: weights, norm, part, head, key, xs, keyNames, token, heads: model.heads });
  }

  // ---- the box in which all this is shown -------------------------------------------------------

  class Inside {
    constructor(box) {
      Object.assign(this, { box, trace: null, part: "whole", layer: 0, head: 0, place: 0, key: 0, sum: "", at: 0, term: null });
      this.title = make(box, "p", { className: "inside-title" });
      this.note = make(box, "p", { className: "inside-note" });
      this.body = make(box, "div");
      this.controls = make(this.body, "div", { className: "inside-controls" });
      const change = (name, isReset) => (select) => {
        this[name] = Number(select.value);
        if (isReset) this.key = Math.min(this.key, this.place);
        this.update();
      };
      const choose = (id, label, then) => {
        const select = makeSelect(this.controls, `inside-${id}`, label, [], () => then(select));
        return select;
      };
      this.tokens = choose("token", _("Token"), change("place", true));
      this.layers = choose("layer", _("Layer"), change("layer"));
      this.heads = choose("head", _("Head"), change("head"));
      this.list = make(this.body, "div", { className: "inside-rows" });
      this.vectors = make(this.body, "div", { className: "inside-vectors" });
      const below = make(this.body, "div", { className: "inside-sum" });
      this.sums = makeSelect(below, "inside-of", _("Calculate"), [], () => this.calculate(this.sums.value, 0));
      this.slider = makeSlider(below, "inside-number", _("Number"), { max: 1 }, () => this.calculate(this.sum, Number(this.slider.input.value)));
      this.says = make(below, "p", { className: "inside-says" });
      this.grid = make(below, "div", { className: "inside-grid" });
      this.lines = make(below, "div", { className: "inside-lines" });
      this.lines.setAttribute("aria-live", "polite");
      this.tell("");
    }

    // Words instead of numbers: what to do, or that the model is on its way.
    tell(text) {
      this.note.textContent = text;
      this.note.hidden = !text;
      this.body.hidden = Boolean(text);
    }

    // Shows a part, with the token of this place, or the last one.
    open(name, trace, place) {
      const [part, sum] = INSTEAD[name] ?? [name, ""];
      const isNew = name !== this.name || trace !== this.trace;
      Object.assign(this, { name, part, trace });
      const tokens = isSource(part) ? trace.letters : trace.tokens.slice(0, -1);
      this.place = Math.min(place ?? this.place, tokens.length - 1);
      if (isNew) Object.assign(this, { sum, at: 0, term: null, key: 0 });
      if (part === "masked-attention" || part === "encoder-attention") this.key = Math.min(this.key, this.place);
      this.tell("");
      this.update();
    }

    calculate(sum, at) {
      Object.assign(this, { sum, at, term: null });
      this.update();
    }

    update() {
      const { part, trace } = this;
      const layers = trace.found.get(part);
      this.layer = Math.min(this.layer, layers.length - 1);
      const names = isSource(part) ? trace.letters : trace.tokens.slice(0, -1);
      fillSelect(this.tokens, names.map((name, place) => `${place + 1}: ${name}`), this.place);
      fillSelect(this.layers, layers.map((_all, layer) => layer + 1), this.layer);
      const heads = part.endsWith("attention") ? trace.model.heads : 1;
      fillSelect(this.heads, Array.from({ length: heads }, (_all, head) => head + 1), this.head);
      const content = contentOf(part, this);
      const all = content.filter((each) => each.run);
      const chosen = all.find(({ key }) => key === this.sum) ?? all[0];
      this.sum = chosen.key;
      this.at = Math.min(this.at, chosen.count - 1);
      this.showRows(content.find(({ rows }) => rows)?.rows ?? [], content.find(({ lines }) => lines)?.lines);
      this.showVectors(all.filter(({ values }) => values));
      fillSelect(this.sums, all.map(({ name }) => name), all.indexOf(chosen), all.map(({ key }) => key));
      this.slider.input.parentElement.hidden = chosen.count === 1;
      Object.assign(this.slider.input, { max: chosen.count - 1, value: this.at });
      this.slider.show(fill(_("{at} of {count}"), { at: this.at + 1, count: chosen.count }));
      this.showSum(chosen.run(this.at));
    }

    // A row for each key: pressed, its score is calculated.
    showRows(rows, lines = []) {
      this.list.replaceChildren();
      lines.forEach((textContent) => make(this.list, "p", { textContent }));
      const isOf = (place) => place === this.key && ["score", "share"].includes(this.sum);
      const buttons = rows.map(({ name, score, weight }, place) => {
        const row = make(this.list, "button", { type: "button", className: "inside-row" });
        make(row, "span", { className: "inside-name", textContent: name });
        make(row, "span", { textContent: number(score, DIGITS) });
        make(make(row, "span", { className: "inside-track" }), "span", { className: "inside-fill" }).style.width = `${100 * weight}%`;
        make(row, "span", { textContent: weight.toFixed(DIGITS) });
        row.setAttribute("aria-label", fill(_("{name}: score {score}, weight {weight}"), { name, score: number(score, DIGITS), weight: weight.toFixed(DIGITS) }));
        row.setAttribute("aria-pressed", String(isOf(place)));
        row.addEventListener("click", () => {
          this.key = place;
          this.calculate(this.sum === "share" ? "share" : "score", 0);
          this.list.querySelectorAll("button")[place].focus({ preventScroll: true });
        });
        return [row];
      });
      makeRoving(buttons);
      buttons.forEach(([row], place) => { row.tabIndex = place === Math.min(this.key, rows.length - 1) ? 0 : -1; });
    }

    showVectors(vectors) {
      this.vectors.replaceChildren();
      for (const { key, name, values } of vectors) {
        const row = make(this.vectors, "div", { className: "inside-vector" });
        make(row, "span", { textContent: name });
        const most = Math.max(...values.map(Math.abs), 1e-9);
        const svg = draw(row, "svg", { viewBox: `0 0 ${values.length} 20`, preserveAspectRatio: "none", role: "img", "data-vector": key });
        const range = { name, count: values.length, low: number(Math.min(...values), DIGITS), high: number(Math.max(...values), DIGITS) };
        svg.setAttribute("aria-label", fill(_("{name}: {count} numbers, from {low} to {high}"), range));
        const bars = Array.from(values, (value, i) => `M${i + 0.1} 10 h0.8 v${(-9.5 * value) / most} h-0.8 z`);
        draw(svg, "path", { d: bars.join(" "), class: "inside-bars" });
        if (key === this.sum) draw(svg, "path", { d: `M${this.at} 0 h1 v20 h-1 z ${bars[this.at]}`, class: "inside-now" });
        svg.addEventListener("click", (event) => {
          const { left, width } = svg.getBoundingClientRect();
          this.calculate(key, Math.min(values.length - 1, Math.floor(((event.clientX - left) / width) * values.length)));
        });
      }
    }

    showSum({ says = "", terms = [], bias = 0, after, result, lines }) {
      this.says.textContent = says;
      this.grid.replaceChildren();
      if (lines) {
        this.write(lines);
        return;
      }
      const products = terms.map(multiply);
      const shown = largest(products);
      const rest = add(products) - add(shown.map((i) => products[i]));
      const all = [...shown.map((i) => products[i]), ...(shown.length < terms.length ? [rest] : []), ...(bias ? [bias] : [])];
      const finish = after?.combine ?? ((total) => total);
      const digits = digitsOf(all, (each) => finish(add(each)), DIGITS, result);
      this.term = shown.includes(this.term) ? this.term : shown.reduce((one, i) => (Math.abs(products[i]) > Math.abs(products[one]) ? i : one));
      const chosen = terms[this.term];
      const factors = digitsOf(chosen, multiply, digits);
      const [a, b] = chosen.map((value) => number(value, factors));
      const product = number(products[this.term], digits);
      if (terms.length > 1) this.showTerms(shown, products, digits);
      const said = terms.length > 1 ? [fill(_("No. {at}: {a} \u00d7 {b} = {product}"), { at: this.term + 1, a, b, product })] : [`${a} \u00d7 ${b} = ${product}`];
      if (shown.length < terms.length) said.push(fill(_("The {count} smaller products together: {rest}"), { count: terms.length - shown.length, rest: number(rest, digits) }));
      if (bias) said.push(fill(_("The bias: {bias}"), { bias: number(bias, digits) }));
      const total = number(add(all.map((each) => round(each, digits))), digits);
      const end = { total, after: after?.says, result: number(result, DIGITS) };
      if (after) said.push(fill(_("Added up: {total}; {after}: {result}"), end));
      else if (terms.length > 1) said.push(fill(digits > DIGITS ? _("Added up: {total}, rounded {result}") : _("Added up: {total}"), end));
      this.write(said);
    }

    // The products as buttons, of which each shows its two factors.
    showTerms(shown, products, digits) {
      const columns = COLUMNS[digits] ?? 4;
      this.grid.style.setProperty("--columns", columns);
      const buttons = shown.map((i) => {
        const button = make(this.grid, "button", { type: "button", textContent: number(products[i], digits) });
        button.setAttribute("aria-pressed", String(i === this.term));
        button.addEventListener("click", () => {
          this.term = i;
          this.update();
          this.grid.children[shown.indexOf(i)].focus({ preventScroll: true });
        });
        return button;
      });
      makeRoving(Array.from({ length: Math.ceil(buttons.length / columns) }, (_all, row) => buttons.slice(row * columns, (row + 1) * columns)));
      buttons.forEach((button, index) => { button.tabIndex = shown[index] === this.term ? 0 : -1; });
    }

    write(lines) {
      this.lines.replaceChildren();
      lines.forEach((textContent) => make(this.lines, "p", { textContent }));
    }
  }

  // The places of the largest products, in their order; all, where they are few.
  function largest(products) {
    const places = products.map((_all, i) => i);
    if (products.length <= MOST_TERMS) return places;
    places.sort((one, other) => Math.abs(products[other]) - Math.abs(products[one]));
    return places.slice(0, MOST_TERMS).sort((one, other) => one - other);
  }

  // New choices for a list, which is hidden where there is only one.
  function fillSelect(select, names, chosen, values = names.map((_all, i) => i)) {
    const now = names.join("\n");
    if (select.dataset.names !== now) {
      select.replaceChildren();
      names.forEach((textContent, i) => make(select, "option", { value: values[i], textContent }));
      select.dataset.names = now;
    }
    select.value = values[chosen];
    select.parentElement.hidden = names.length < 2;
  }

  return { Inside, traceOf };
})());
