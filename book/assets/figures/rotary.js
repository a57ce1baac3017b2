// The figure in book/where_next.ipynb in which the places of a query and a key turn both: rotary positions for one pair
// of features. Plain SVG and native controls, as in positions.js. The page holds both vectors and the angle of a place.
// book/_extensions/figures.py loads this file on pages that hold <figure data-figure="rotary">.

(() => {
  const { number, fill, dot, make, draw, clear } = window.moving;
  const { makeSlider, makeButtons, makeWords, onNewWidth, dataFor, start } = window.moving;
  const HEIGHT = 280;
  const LAST = 60; // the last place: nearly one round
  const SHIFT = 5; // places that a button moves both by
  const NAMES = ["query", "key"];
  const ROUND = 2 * Math.PI;

  const angleOf = ([x, y]) => Math.atan2(y, x);
  const pair = (vector) => `(${vector.map((feature) => number(feature, 2)).join(", ")})`;

  function turned([a, b], angle) {
    const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
    return [a * cosine - b * sine, a * sine + b * cosine];
  }

  // ---- the two vectors on one dial ----------------------------------------------------------------

  function dialOf(width, longest) {
    const unit = (Math.min(width, HEIGHT) / 2 - 34) / longest;
    return {
      unit,
      to: ([x, y]) => [width / 2 + unit * x, HEIGHT / 2 - unit * y],
      from: ([x, y]) => [x - width / 2, HEIGHT / 2 - y],
    };
  }

  function drawDial(svg, { vectors, start: begin, longest, places }) {
    const width = clear(svg, HEIGHT);
    const { unit, to } = dialOf(width, longest);
    const [x0, y0] = to([0, 0]);
    draw(svg, "circle", { cx: x0, cy: y0, r: unit * longest, class: "rotary-rim" });
    begin.forEach((vector, index) => {
      const [x2, y2] = to(vector);
      draw(svg, "line", { x1: x0, y1: y0, x2, y2, class: `rotary-begin rotary-${NAMES[index]}` });
    });
    // The angle between the two, the short way round.
    const [query, key] = vectors;
    const between = angleOf(turned(query, -angleOf(key)));
    const [from, till] = [key, query].map((vector) => to(turned([36 / unit, 0], angleOf(vector))).map((one) => one.toFixed(1)));
    const sweep = between > 0 ? 0 : 1;
    draw(svg, "path", { d: `M${from.join(" ")} A36 36 0 0 ${sweep} ${till.join(" ")}`, class: "rotary-between" });
    // The key first, so that the query, which is longer, does not hide its tip.
    [1, 0].forEach((index) => {
      const [name, vector] = [NAMES[index], vectors[index]];
      const [x2, y2] = to(vector);
      const ends = { "data-vector": vector.join(" "), class: `rotary-hand rotary-${name}` };
      draw(svg, "line", { x1: x0, y1: y0, x2, y2, ...ends });
      draw(svg, "circle", { cx: x2, cy: y2, r: 7, class: `rotary-tip rotary-${name}` });
    });
    // The query's name stands beyond its tip, the key's beside the middle of its hand, away from the query.
    const beyond = turned([longest + 20 / unit, 0], angleOf(query));
    const beside = turned([0, (between > 0 ? -15 : 15) / unit], angleOf(key)).map((one, axis) => one + 0.6 * key[axis]);
    [beyond, beside].forEach((point, index) => {
      const [x, y] = to(point);
      draw(svg, "text", { x, y: y + 5, "text-anchor": "middle", class: `rotary-name rotary-${NAMES[index]}` }, NAMES[index][0]);
    });
    const label = _("Two vectors on a dial: the query at place {asks} points to {query}, the key at place {seen} points to {key}.");
    svg.setAttribute("aria-label", fill(label, { asks: places[0], query: pair(query), seen: places[1], key: pair(key) }));
  }

  // ---- the product, for each distance that the reader has tried -----------------------------------

  // There is no curve: a curve would tell what both buttons do before they are pressed.
  function drawProducts(svg, { product, distance, seen, most }) {
    const width = clear(svg, HEIGHT);
    const [left, right, top, bottom] = [30, width - 14, 90, HEIGHT - 44];
    const x = (at) => left + ((right - left) * (at + LAST)) / (2 * LAST);
    const y = (value) => (top + bottom) / 2 - ((bottom - top) / 2) * (value / most);
    draw(svg, "text", { x: 0, y: 16 }, _("Dot product q \u00b7 k"));
    draw(svg, "text", { x: 0, y: 58, class: "rotary-number" }, number(product, 2));
    for (const value of [-4, 0, 4]) {
      draw(svg, "line", { x1: left, x2: right, y1: y(value), y2: y(value), class: "moving-line rotary-grid" });
      draw(svg, "text", { x: left - 8, y: y(value) + 4, "text-anchor": "end", class: "moving-faint" }, number(value, 0));
    }
    for (const at of [-LAST, -LAST / 2, 0, LAST / 2, LAST]) {
      draw(svg, "text", { x: x(at), y: bottom + 20, "text-anchor": "middle", class: "moving-faint" }, number(at, 0));
    }
    draw(svg, "text", { x: right, y: HEIGHT - 6, "text-anchor": "end", class: "moving-faint" }, _("distance: query\u2019s place minus key\u2019s"));
    seen.forEach(({ product: value }, at) => draw(svg, "circle", { cx: x(at), cy: y(value), r: 4, class: "rotary-seen" }));
    draw(svg, "circle", { cx: x(distance), cy: y(product), r: 7, class: "rotary-here" });
    const told = [...seen].map(([at, one]) => (
      fill(_("{product} at {distance}"), { product: number(one.product, 2), distance: number(at, 0) })));
    svg.setAttribute("aria-label", fill(_("Products by distance, as far as you have tried: {told}."), { told: told.join(_(", ")) }));
  }

  // ---- what the figure says in words --------------------------------------------------------------

  const placed = (count) => fill(count === 1 ? _("{count} place") : _("{count} places"), { count });
  const where = (distance) => {
    if (distance === 0) return _("Both are at the same place, and q \u00b7 k = {product}.");
    return distance > 0
      ? _("The query is {places} after the key, and q \u00b7 k = {product}.")
      : _("The query is {places} before the key, and q \u00b7 k = {product}.");
  };

  function compare({ places, distance, seen, isNew }) {
    const first = seen.get(distance).places;
    if (first.join() !== places.join()) {
      return fill(_("Same distance and same product as with the query at {query} and the key at {key}."), { query: first[0], key: first[1] });
    }
    if (seen.size === 1) {
      return fill(_("What happens to the product if both move by {places}? Say it first, then shift both."), { places: placed(SHIFT) });
    }
    return isNew ? _("You have not tried this distance before: a new dot.") : _("You have already tried these two places.");
  }

  function describe(state) {
    const { places, vectors, product, distance } = state;
    const [query, key] = vectors.map(pair);
    return [
      fill(_("q = {query} at place {asks}, k = {key} at place {seen}."), { query, asks: places[0], key, seen: places[1] }),
      fill(where(distance), { places: placed(Math.abs(distance)), product: number(product, 2) }),
      compare(state),
    ];
  }

  // ---- controls -----------------------------------------------------------------------------------

  function build(figure) {
    const data = dataFor("rotary");
    const begin = NAMES.map((name) => data[name]);
    const lengths = begin.map((vector) => Math.hypot(...vector));
    const [longest, most] = [Math.max(...lengths), lengths[0] * lengths[1]];
    const seen = new Map(); // from a distance to the first places that had it, and their product
    const box = document.createElement("div");
    const controls = make(box, "div", { className: "moving-controls" });
    const sliders = NAMES.map((name, index) => (
      makeSlider(controls, `rotary-${name}`, [_("Place of the query"), _("Place of the key")][index], { max: LAST, value: data.places[index] }, update)
    ));
    const buttons = makeButtons(box, [_("Shift both by {shift}"), _("Shift both back by {shift}")].map((name) => fill(name, { shift: SHIFT })));
    const pictures = make(box, "div", { className: "moving-pictures" });
    const [dial, chart] = ["dial", "chart"].map((name) => (
      draw(make(pictures, "div"), "svg", { class: `rotary-${name}`, role: "img" })
    ));
    const say = makeWords(box, 3);

    const readPlaces = () => sliders.map(({ input }) => Number(input.value));
    const canShift = (by) => readPlaces().every((place) => place + by >= 0 && place + by <= LAST);

    function update() {
      const places = readPlaces();
      const vectors = begin.map((vector, index) => turned(vector, places[index] * data.omega));
      const [product, distance] = [dot(...vectors), places[0] - places[1]];
      const isNew = !seen.has(distance);
      if (isNew) seen.set(distance, { places, product });
      sliders.forEach(({ show }, index) => show(String(places[index])));
      // Not `disabled`, which would take the focus away from who presses it.
      buttons.forEach((button, index) => button.setAttribute("aria-disabled", String(!canShift([SHIFT, -SHIFT][index]))));
      drawDial(dial, { vectors, start: begin, longest, places });
      drawProducts(chart, { product, distance, seen, most });
      say(describe({ places, vectors, product, distance, seen, isNew }));
    }

    buttons.forEach((button, index) => button.addEventListener("click", () => {
      const by = [SHIFT, -SHIFT][index];
      if (!canShift(by)) return;
      for (const { input } of sliders) input.value = Number(input.value) + by;
      update();
    }));

    // A shortcut for the mouse and the finger, which take the nearer hand; the sliders do the same.
    let held = 0;
    function pointAt(event) {
      const place = dial.getBoundingClientRect();
      const { unit, from } = dialOf(place.width, longest);
      return from([event.clientX - place.left, event.clientY - place.top]).map((one) => one / unit);
    }
    function drag(event) {
      const turn = (angleOf(pointAt(event)) - angleOf(begin[held]) + 2 * ROUND) % ROUND;
      // Between the last place and a full round, the nearer end.
      const isPast = turn > (LAST * data.omega + ROUND) / 2;
      sliders[held].input.value = isPast ? 0 : Math.round(turn / data.omega);
      update();
    }
    dial.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      const [x, y] = pointAt(event);
      const [query, key] = readPlaces().map((place, index) => {
        const tip = turned(begin[index], place * data.omega);
        return Math.hypot(x - tip[0], y - tip[1]);
      });
      held = query <= key ? 0 : 1;
      dial.setPointerCapture(event.pointerId);
    });
    dial.addEventListener("pointermove", (event) => dial.hasPointerCapture(event.pointerId) && drag(event));

    figure.querySelector(".moving-fallback").replaceWith(...box.childNodes);
    onNewWidth(pictures, update);
    update();
  }

  start("rotary", build);
})();
