// The figures in book/attention.ipynb in which the reader moves a query: in the plane, among the keys of three words
// (data-part="plane"), and a random one among random keys, in more and more dimensions (data-part="root").
// Plain SVG and native controls, as in positions.js. Keys, values and random products come from the page.
// book/_extensions/figures.py loads this file on pages that hold <figure data-figure="query">.

(() => {
  const { number, fill, dot, softmax, make, draw, clear } = window.moving;
  const { makeSlider, makeSwitch, makeButtons, makeWords, onNewWidth, dataFor, start } = window.moving;
  const ROW = 26; // from one bar to the next
  const LONGEST = 1.75; // the longest query, in lengths of the first one
  const TURN = 5; // degrees of one step
  const STRETCH = 5; // percent of one step

  const mean = (weights, values) => [0, 1].map((feature) => dot(weights, values.map((value) => value[feature])));
  const pair = ([first, second], digits = 2) => `(${number(first, digits)}, ${number(second, digits)})`;
  const list = (names, values) => names.map((name, index) => `${name} ${number(values[index], 2)}`).join(_(", "));

  function panel(parent, name) {
    const place = make(parent, "div", { className: `moving-place-${name}` });
    return draw(place, "svg", { class: `moving-${name}`, role: "img" });
  }

  // ---- bars: what was compared, and the weights that follow ---------------------------------------

  // A row for each key: on the left a bar with a sign, on the right the share.
  function drawBars(svg, { names, values, weights, most, titles }) {
    const width = clear(svg, 26 + ROW * names.length);
    const [label, digits, gap] = [38, 48, 14];
    const room = width - label - 2 * digits - gap;
    const [signed, shares] = [0.6 * room, 0.4 * room];
    const zero = label + signed / 2;
    const second = label + signed + digits + gap;
    titles.forEach((title, column) => {
      const x = [label, second][column];
      draw(svg, "text", { x, y: 13, class: `moving-title ${column ? "moving-query" : ""}` }, title);
    });
    draw(svg, "line", { x1: zero, x2: zero, y1: 20, y2: 24 + ROW * names.length, class: "moving-line" });
    draw(svg, "line", { x1: second, x2: second, y1: 20, y2: 24 + ROW * names.length, class: "moving-line" });
    names.forEach((name, row) => {
      const y = 24 + ROW * row;
      const length = (signed / 2) * Math.min(1, Math.abs(values[row]) / most);
      const x = values[row] < 0 ? zero - length : zero;
      draw(svg, "text", { x: 0, y: y + 15 }, name);
      draw(svg, "rect", { x, y: y + 1, width: length, height: 18, class: "moving-product" });
      const at = { x: label + signed + digits - 4, y: y + 15, "text-anchor": "end" };
      draw(svg, "text", { ...at, class: "moving-number" }, number(values[row], 2));
      const share = { x: second, y: y + 1, width: shares * weights[row], height: 18, class: "moving-share" };
      draw(svg, "rect", { ...share, "data-weight": weights[row] });
      const beside = { x: width, y: y + 15, "text-anchor": "end", class: "moving-number" };
      draw(svg, "text", beside, number(weights[row], 2));
    });
    const told = { values: list(names, values), weights: list(names, weights), first: titles[0], second: titles[1] };
    svg.setAttribute("aria-label", fill(_("{first}: {values}. {second}: {weights}."), told));
  }

  // ---- the plane of queries and keys --------------------------------------------------------------

  // How a point of the plane comes to a point of the picture, and back.
  function planeOf(width, height, reach) {
    const unit = Math.min(width, height) / 2 / reach;
    const [x0, y0] = [width / 2, height / 2];
    return {
      unit,
      to: ([x, y]) => [x0 + unit * x, y0 - unit * y],
      from: ([x, y]) => [(x - x0) / unit, (y0 - y) / unit],
    };
  }

  function drawArrow(svg, [x1, y1], [x2, y2], kind) {
    const length = Math.hypot(x2 - x1, y2 - y1);
    if (length < 1) return;
    const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
    const head = Math.min(11, length);
    const [x, y] = [x2 - head * dx, y2 - head * dy];
    draw(svg, "line", { x1, y1, x2: x, y2: y, class: `moving-arrow ${kind}` });
    const [across, along] = [0.45 * head * dy, 0.45 * head * dx];
    const points = `${x2},${y2} ${x - across},${y + along} ${x + across},${y - along}`;
    draw(svg, "polygon", { points, class: `moving-head ${kind}` });
  }

  function overlap(one, other) {
    const [a, b] = [one, other].map((text) => text.getBBox());
    return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
  }

  function drawPlane(svg, { words, keys, query, weights, asks, reach }) {
    const height = 300;
    const width = clear(svg, height);
    const { to } = planeOf(width, height, reach);
    const [x0, y0] = to([0, 0]);
    draw(svg, "line", { x1: 0, x2: width, y1: y0, y2: y0, class: "moving-axis" });
    draw(svg, "line", { x1: x0, x2: x0, y1: 0, y2: height, class: "moving-axis" });
    draw(svg, "text", { x: 0, y: 13, class: "moving-title" }, _("keys and query"));
    // The more weight, the stronger the arrow of the key.
    keys.forEach((key, index) => {
      const [x, y] = to(key);
      draw(svg, "line", { x1: x0, y1: y0, x2: x, y2: y, class: "moving-halo", "stroke-width": 22 * weights[index] });
      drawArrow(svg, [x0, y0], [x, y], "moving-key");
    });
    // The label stands beyond the tip, on the side where no other key is.
    const labels = keys.map((key, index) => {
      const [x, y] = to(key);
      const below = key[1] < 0 && key[0] < 1.5;
      const at = below ? { x: x - 8, y: y + 17, "text-anchor": "middle" } : { x: x + 7, y: y + (key[1] < 0 ? 13 : -3) };
      return draw(svg, "text", { ...at, class: "moving-key" }, words[index]);
    });
    const [x, y] = to(query);
    drawArrow(svg, [x0, y0], [x, y], "moving-query");
    draw(svg, "circle", { cx: x, cy: y, r: 22, class: "moving-grip" });
    draw(svg, "circle", { cx: x, cy: y, r: 8, class: "moving-handle" });
    const beside = y < 36 || (query[1] < 0 && y < height - 36) ? 27 : -15; // within the picture
    const middle = Math.max(48, Math.min(width - 48, x));
    const at = { x: middle, y: y + beside, "text-anchor": "middle", class: "moving-query" };
    const named = draw(svg, "text", at, fill(_("query of \u201c{asks}\u201d"), { asks }));
    // On the other side of the handle, where it would lie on the name of a key.
    if (labels.some((other) => overlap(other, named))) named.setAttribute("y", y + (beside > 0 ? -15 : 27));
    const arrows = words.map((word, index) => `${word} ${pair(keys[index], 0)}`).join(_(", "));
    const label = _("Arrows in the plane. Query {query}; keys {arrows}.");
    svg.setAttribute("aria-label", fill(label, { query: pair(query), arrows }));
  }

  // ---- the plane of values and output -------------------------------------------------------------

  // The output is a mean with positive weights, so it stays between the values.
  function drawValues(svg, { words, values, weights, output, asks }) {
    const [height, left, right, top, bottom] = [200, 30, 60, 44, 20];
    const width = clear(svg, height);
    const range = (feature) => [Math.min, Math.max].map((end) => end(...values.map((value) => value[feature])));
    const [[lowX, highX], [lowY, highY]] = [range(0), range(1)];
    const to = ([x, y]) => [
      left + ((width - left - right) * (x - lowX)) / (highX - lowX),
      height - bottom - ((height - top - bottom) * (y - lowY)) / (highY - lowY),
    ];
    const title = { x: 0, y: 13, class: "moving-title moving-value" };
    draw(svg, "text", title, fill(_("values and output {output}"), { output: pair(output) }));
    const corners = values.map((value) => to(value));
    draw(svg, "polygon", { points: corners.map((corner) => corner.join(",")).join(" "), class: "moving-hull" });
    const [x, y] = to(output);
    corners.forEach(([x2, y2], index) => {
      const width = 10 * weights[index];
      draw(svg, "line", { x1: x, y1: y, x2, y2, class: "moving-pull", "stroke-width": width });
    });
    corners.forEach(([cx, cy], index) => {
      draw(svg, "circle", { cx, cy, r: 5, class: "moving-dot" });
      const beside = index === 2 ? { x: cx - 10, y: cy - 8, "text-anchor": "end" } : { x: cx + 11, y: cy + 5 };
      draw(svg, "text", { ...beside, class: "moving-value" }, words[index]);
    });
    draw(svg, "circle", { cx: x, cy: y, r: 8, class: "moving-output", "data-output": output.join(" ") });
    const points = words.map((word, index) => `${word} ${pair(values[index], 0)}`).join(_(", "));
    const label = _("Values {points}; between them the output of \u201c{asks}\u201d, {output}.");
    svg.setAttribute("aria-label", fill(label, { points, asks, output: pair(output) }));
  }

  // ---- the first figure: one query, three words ---------------------------------------------------

  // The query is that of the drawing, turned and made longer or shorter.
  function turned([x, y], degrees, percent) {
    const angle = (degrees * Math.PI) / 180;
    const [cosine, sine] = [Math.cos(angle), Math.sin(angle)].map((part) => (part * percent) / 100);
    return [cosine * x - sine * y, sine * x + cosine * y];
  }

  function describePlane({ words, query, products, weights, output }) {
    const largest = Math.max(...weights);
    const [first, second, third] = words.filter((_word, index) => largest - weights[index] < 0.005);
    const much = largest > 0.5 ? _("mostly the value of \u201c{word}\u201d") : _("more than any other the value of \u201c{word}\u201d");
    const two = _("\u201c{first}\u201d and \u201c{second}\u201d alike, and less of the third value");
    const share = third ? _("all three values alike") : fill(second ? two : much, { word: first, first, second });
    return [
      fill(_("Query {query}. Products: {products}."), { query: pair(query), products: list(words, products) }),
      fill(_("After the softmax: {weights}."), { weights: list(words, weights) }),
      fill(_("Output {output}: {share}."), { output: pair(output), share }),
    ];
  }

  function buildPlane(box) {
    const data = dataFor("query");
    const { words, keys, values } = data;
    const asks = words.at(-1);
    const base = Math.hypot(...data.query);
    const reach = 1.08 * LONGEST * base;
    const most = LONGEST * base * Math.max(...keys.map((key) => Math.hypot(...key))); // the largest product
    const controls = make(box, "div", { className: "moving-controls" });
    const turn = makeSlider(controls, "query-turn", _("Turn the query"), { min: -180, max: 180, value: 0 }, update);
    const percents = { max: 100 * LONGEST, value: 100 };
    const longer = makeSlider(controls, "query-length", _("Length of the query"), percents, update);
    turn.input.step = TURN;
    longer.input.step = STRETCH;
    const pictures = make(box, "div", { className: "moving-pictures" });
    const [plane, bars, target] = ["plane", "bars", "values"].map((name) => panel(pictures, name));
    const say = makeWords(box, 3);

    function update() {
      const query = turned(data.query, Number(turn.input.value), Number(longer.input.value));
      const products = keys.map((key) => dot(query, key));
      const weights = softmax(products);
      const state = { ...data, asks, reach, query, products, weights, output: mean(weights, values) };
      turn.show(`${number(Number(turn.input.value), 0)}\u00b0`);
      longer.show(number(Math.hypot(...query), 2));
      drawPlane(plane, state);
      const titles = [_("products q \u00b7 k"), _("weights")];
      drawBars(bars, { names: words, values: products, weights, most, titles });
      drawValues(target, state);
      say(describePlane(state));
    }

    // A shortcut for the mouse and the finger, anywhere in the plane; the sliders do the same.
    function drag(event) {
      const place = plane.getBoundingClientRect();
      const { from } = planeOf(place.width, place.height, reach);
      const [x, y] = from([event.clientX - place.left, event.clientY - place.top]);
      const degrees = ((Math.atan2(y, x) - Math.atan2(data.query[1], data.query[0])) * 180) / Math.PI;
      turn.input.value = ((degrees + 540) % 360) - 180; // the browser takes the nearest step
      longer.input.value = (100 * Math.hypot(x, y)) / base;
      update();
    }
    plane.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      plane.setPointerCapture(event.pointerId);
      drag(event);
    });
    plane.addEventListener("pointermove", (event) => plane.hasPointerCapture(event.pointerId) && drag(event));
    return { pictures, update };
  }

  // ---- the second figure: random vectors, with and without the root --------------------------------

  // The mean over many queries, for the numbers of features that the reader has already passed.
  function drawMeans(svg, { sizes, means, place, divided, passed }) {
    const [height, left, right, top, bottom] = [250, 30, 20, 30, 40];
    const width = clear(svg, height);
    const toX = (index) => left + ((width - left - right) * index) / (sizes.length - 1);
    const toY = (share) => height - bottom - (height - top - bottom) * share;
    draw(svg, "text", { x: 0, y: 13, class: "moving-title" }, _("largest weight, on average"));
    [0, 0.5, 1].forEach((share) => {
      draw(svg, "line", { x1: left, x2: width - right, y1: toY(share), y2: toY(share), class: "moving-axis" });
      draw(svg, "text", { x: left - 6, y: toY(share) + 4, "text-anchor": "end" }, String(share));
    });
    sizes.forEach((size, index) => {
      if (index % 2 === 0) draw(svg, "text", { x: toX(index), y: height - 22, "text-anchor": "middle" }, String(size));
    });
    draw(svg, "text", { x: width - right, y: height - 5, "text-anchor": "end" }, _("features"));
    for (const [name, label] of [["without", _("not divided")], ["scaled", _("divided")]]) {
      const last = passed[name];
      if (last < 0) continue;
      const points = means[name].slice(0, last + 1).map((share, index) => `${toX(index)},${toY(share)}`).join(" ");
      const now = (name === "scaled") === divided;
      draw(svg, "polyline", { points, class: `moving-mean ${now ? "moving-on" : ""}` });
      const [at, down] = name === "without" ? [Math.min(last, 4), -12] : [last, 22];
      const beside = { x: Math.max(toX(at), left + 76), y: toY(means[name][at]) + down, "text-anchor": "end" };
      draw(svg, "text", { ...beside, class: now ? "moving-on" : "" }, label);
    }
    const now = means[divided ? "scaled" : "without"][place];
    draw(svg, "circle", { cx: toX(place), cy: toY(now), r: 6, class: "moving-output" });
    const label = _("Largest weight, on average: at {size} features {weight}.");
    svg.setAttribute("aria-label", fill(label, { size: sizes[place], weight: number(now, 2) }));
  }

  function describeRoot({ size, divided, scores, weights, means, place, which, count }) {
    const best = weights.indexOf(Math.max(...weights));
    const spread = Math.sqrt(dot(scores, scores) / scores.length);
    const root = { size, root: number(Math.sqrt(size), 2) };
    const done = divided ? fill(_("divided by \u221a{size} = {root}"), root) : _("not divided");
    const kind = divided ? "scaled" : "without";
    const asked = size === 1
      ? _("Query {which} of {count}, {size} feature, {done}: its products are about {spread} in size.")
      : _("Query {which} of {count}, {size} features, {done}: its products are about {spread} in size.");
    return [
      fill(asked, { which: which + 1, count, size, done, spread: number(spread, 1) }),
      fill(_("Key {key} gets {weight} of the weight; an equal share is 0.10."), { key: best + 1, weight: number(weights[best], 2) }),
      fill(_("Over 1,000 queries the largest weight is {mean} on average."), { mean: number(means[kind][place], 2) }),
    ];
  }

  function buildRoot(box) {
    const { sizes, products, means } = dataFor("query").random;
    const count = products[0].length;
    const most = Math.max(...products.flat(2).map(Math.abs));
    const controls = make(box, "div", { className: "moving-controls" });
    const places = { max: sizes.length - 1, value: 0 };
    const features = makeSlider(controls, "query-size", _("Features of a query"), places, update);
    const root = makeSwitch(controls, _("Divide by the root of the features"), update);
    const [another] = makeButtons(box, [_("Another query")]);
    const pictures = make(box, "div", { className: "moving-pictures" });
    const [bars, curve] = ["bars", "means"].map((name) => panel(pictures, name));
    const say = makeWords(box, 3);

    // The first query is the one whose largest weight stays nearest to the mean.
    const distances = Array.from({ length: count }, (_, query) => sizes.reduce((sum, __, place) => (
      sum + Math.abs(Math.max(...softmax(products[place][query])) - means.without[place])), 0));
    let which = distances.indexOf(Math.min(...distances));
    const passed = { without: -1, scaled: -1 }; // how far the reader has moved the slider

    function update() {
      const place = Number(features.input.value);
      const [size, divided] = [sizes[place], root.checked];
      const kind = divided ? "scaled" : "without";
      passed[kind] = Math.max(passed[kind], place);
      const scores = products[place][which].map((product) => (divided ? product / Math.sqrt(size) : product));
      const weights = softmax(scores);
      const names = scores.map((__, index) => fill(_("key {key}"), { key: index + 1 }));
      features.show(String(size));
      const titles = [divided ? `q \u00b7 k / \u221a${size}` : _("products q \u00b7 k"), _("weights")];
      drawBars(bars, { names, values: scores, weights, most, titles });
      drawMeans(curve, { sizes, means, place, divided, passed });
      say(describeRoot({ size, divided, scores, weights, means, place, which, count }));
    }

    another.addEventListener("click", () => {
      which = (which + 1) % count;
      update();
    });
    return { pictures, update };
  }

  function build(figure) {
    const box = document.createElement("div");
    const parts = { plane: buildPlane, root: buildRoot };
    const { pictures, update } = parts[figure.dataset.part](box);
    figure.querySelector(".moving-fallback").replaceWith(box);
    onNewWidth(pictures, update);
    update();
  }

  start("query", build);
})();
