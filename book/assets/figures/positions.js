// The figure in book/positions.ipynb that the reader moves: one hand of the sinusoidal encoding at two positions,
// the waves that it draws, and the two encodings whole. Plain SVG and native controls, so that it works without
// a kernel and a network, by keyboard and on a phone.
// book/_extensions/figures.py loads this file on pages that hold <figure data-figure="positions">.

(() => {
  const { number, fill, dot, make, draw, makeSlider, makeWords, start } = window.moving;
  const SIZES = [4, 8, 12, 16, 32, 64, 128];
  const LAST = 130; // the largest position plus the largest offset

  // name, what the label says, and the range; `pair` and `size` depend on the state.
  const CONTROLS = [
    { name: "position", label: _("Position pos"), max: 100, value: 5 },
    { name: "offset", label: _("Offset k"), max: 30, value: 3 },
    { name: "pair", label: _("Pair i, from fast to slow"), max: 5, value: 1 },
    { name: "size", label: _("Dimension D"), max: SIZES.length - 1, value: 2 },
  ];

  const frequency = (pair, size) => 10000 ** ((-2 * pair) / size);
  const degrees = (radians) => (radians * 180) / Math.PI;
  const short = (value) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));

  const subscript = (value) => String(value).replace(/\d/g, (digit) => String.fromCharCode(0x2080 + Number(digit)));

  function encoding(position, size) {
    const angles = Array.from({ length: size / 2 }, (_, pair) => position * frequency(pair, size));
    return angles.flatMap((angle) => [Math.sin(angle), Math.cos(angle)]);
  }

  // Blue for -1, white for 0, red for 1: the ends of the map of the static figures.
  function colour(value) {
    const end = value < 0 ? [33, 102, 172] : [178, 24, 43];
    const mixed = end.map((channel) => Math.round(255 + (channel - 255) * Math.abs(value)));
    return `rgb(${mixed.join(" ")})`;
  }

  function panel(parent, name, width, height) {
    const viewBox = `0 0 ${width} ${height}`;
    return draw(parent, "svg", { class: `moving-${name}`, viewBox, role: "img" });
  }

  // ---- the three pictures: each is drawn afresh from the state ----------------------------------

  // Position 0 stands at twelve o'clock, since its sine is 0 and its cosine 1, and time runs clockwise.
  function drawClock(svg, { position, offset, pair, size }) {
    svg.replaceChildren();
    const [x, y, radius] = [100, 104, 78];
    const turn = offset * frequency(pair, size);
    const at = (angle, length) => [x + length * Math.sin(angle), y - length * Math.cos(angle)];
    draw(svg, "circle", { cx: x, cy: y, r: radius, class: "moving-line" });
    for (let hour = 0; hour < 12; hour += 1) {
      const [x1, y1] = at((hour * Math.PI) / 6, radius - 6);
      const [x2, y2] = at((hour * Math.PI) / 6, radius);
      draw(svg, "line", { x1, y1, x2, y2, class: "moving-line" });
    }
    const first = position * frequency(pair, size);
    drawTurn(svg, at, first, turn);
    for (const [which, angle] of [["now", first], ["later", first + turn]]) {
      const [x2, y2] = at(angle, radius - 10);
      draw(svg, "line", { x1: x, y1: y, x2, y2, class: `moving-hand moving-${which}` });
      drawMark(svg, which, x2, y2);
    }
    draw(svg, "text", { x, y: 14, "text-anchor": "middle" }, _("cosine 1"));
    draw(svg, "text", { x, y: 198, "text-anchor": "middle" }, fill(_("hand of pair {pair}"), { pair }));
    const [now, later] = [first, first + turn].map((angle) => number(degrees(angle) % 360, 0));
    const label = _("Clock: the hand of pair {pair} at {now} and at {later} degrees from twelve o'clock.");
    svg.setAttribute("aria-label", fill(label, { pair, now, later }));
  }

  // The angle between the hands, as a sector; more than one round fills the circle.
  function drawTurn(svg, at, from, turn) {
    const angle = Math.min(turn, 2 * Math.PI - 1e-3);
    const [[x1, y1], [x2, y2], [x, y]] = [at(from, 36), at(from + angle, 36), at(0, 0)];
    const path = `M${x} ${y} L${x1} ${y1} A36 36 0 ${angle > Math.PI ? 1 : 0} 1 ${x2} ${y2} Z`;
    draw(svg, "path", { d: path, class: "moving-turn" });
  }

  // A disc now and a square later: told apart without colour.
  function drawMark(svg, which, x, y) {
    const mark = { class: `moving-mark moving-${which}` };
    if (which === "now") draw(svg, "circle", { ...mark, cx: x, cy: y, r: 5 });
    else draw(svg, "rect", { ...mark, x: x - 5, y: y - 5, width: 10, height: 10 });
  }

  function drawWaves(svg, { position, offset, pair, size }) {
    svg.replaceChildren();
    const omega = frequency(pair, size);
    const toX = (place) => 30 + (place / LAST) * 320;
    const toY = (value) => 100 - 74 * value;
    for (const value of [-1, 0, 1]) {
      draw(svg, "line", { x1: 30, x2: 350, y1: toY(value), y2: toY(value), class: "moving-line" });
      draw(svg, "text", { x: 24, y: toY(value) + 4, "text-anchor": "end" }, number(value, 0));
    }
    for (const place of [0, 50, 100]) {
      draw(svg, "text", { x: toX(place), y: 192, "text-anchor": "middle" }, String(place));
    }
    draw(svg, "text", { x: 350, y: 192, "text-anchor": "end" }, _("position"));
    for (const [name, wave] of [["sine", Math.sin], ["cosine", Math.cos]]) {
      const points = Array.from({ length: 521 }, (_, step) => {
        const place = (step / 520) * LAST;
        return `${toX(place).toFixed(1)},${toY(wave(place * omega)).toFixed(1)}`;
      });
      draw(svg, "polyline", { points: points.join(" "), class: `moving-wave moving-${name}` });
    }
    for (const [which, place] of [["now", position], ["later", position + offset]]) {
      const x = toX(place);
      draw(svg, "line", { x1: x, x2: x, y1: toY(1), y2: toY(-1), class: `moving-at moving-${which}` });
      for (const wave of [Math.sin, Math.cos]) drawMark(svg, which, x, toY(wave(place * omega)));
    }
    draw(svg, "text", { x: 30, y: 14 }, fill(_("pair {pair}: sine (solid), cosine (dotted)"), { pair }));
    const label = _("Sine and cosine of pair {pair} over positions 0 to {last}, marked at {now} and {later}.");
    svg.setAttribute("aria-label", fill(label, { pair, last: LAST, now: position, later: position + offset }));
  }

  function drawStrips(svg, { position, offset, pair, size }) {
    svg.replaceChildren();
    const width = 358 / size;
    [position, position + offset].forEach((place, row) => {
      const y = 15 + 30 * row;
      draw(svg, "text", { x: 1, y: y - 4 }, `PE(${place})`);
      encoding(place, size).forEach((value, feature) => {
        const x = 1 + feature * width;
        draw(svg, "rect", { x, y, width, height: 14, fill: colour(value) });
      });
      draw(svg, "rect", { x: 1, y, width: 358, height: 14, class: "moving-line" });
      const chosen = { x: 1 + 2 * pair * width, y: y - 3, width: 2 * width, height: 20 };
      draw(svg, "rect", { ...chosen, class: "moving-chosen" });
    });
    draw(svg, "text", { x: 1, y: 72 }, fill(_("feature {feature}"), { feature: 0 }));
    draw(svg, "text", { x: 359, y: 72, "text-anchor": "end" }, fill(_("feature {feature}"), { feature: size - 1 }));
    const label = _("The {size} features of PE({now}) and PE({later}), blue below and red above zero; pair {pair} is outlined.");
    svg.setAttribute("aria-label", fill(label, { size, now: position, later: position + offset, pair }));
  }

  // ---- what the figure says in words ------------------------------------------------------------

  function describe({ position, offset, pair, size }) {
    const omega = frequency(pair, size);
    const later = position + offset;
    const [cosine, sine] = [Math.cos(offset * omega), Math.sin(offset * omega)];
    const block = `${number(cosine, 2)}, ${number(sine, 2)}; ${number(-sine, 2)}, ${number(cosine, 2)}`;
    const product = dot(encoding(position, size), encoding(later, size));
    const values = {
      pair, last: size / 2 - 1, round: short((2 * Math.PI) / omega),
      now: position, later, angle: number(degrees(offset * omega), 1),
      matrix: `M${subscript(offset)}`, block, product: number(product, 2), most: size / 2,
    };
    return [
      _("Pair {pair} of 0 to {last}: one round takes {round} positions."),
      _("From position {now} to {later} its hand turns by {angle}\u00b0."),
      _("Its block of {matrix} is [{block}]."),
      _("PE({now}) \u00b7 PE({later}) = {product}, of at most {most}."),
    ].map((message) => fill(message, values));
  }

  // ---- controls ---------------------------------------------------------------------------------

  function build(figure) {
    const fallback = figure.querySelector(".moving-fallback");
    const controls = {};
    const place = document.createElement("div");
    const box = make(place, "div", { className: "moving-controls" });
    const pictures = make(place, "div", { className: "moving-pictures" });
    const [clock, waves, strips] = [["clock", 200, 204], ["waves", 360, 204], ["strips", 360, 78]]
      .map((sizes) => panel(pictures, ...sizes));
    const say = makeWords(place, 4);

    function update() {
      const read = (name) => Number(controls[name].input.value);
      const size = SIZES[read("size")];
      controls.pair.input.max = size / 2 - 1; // the browser moves a value that is too large
      const state = { position: read("position"), offset: read("offset"), pair: read("pair"), size };
      for (const [name, { show }] of Object.entries(controls)) show(String(state[name]));
      drawClock(clock, state);
      drawWaves(waves, state);
      drawStrips(strips, state);
      say(describe(state));
    }

    for (const { name, label, max, value } of CONTROLS) controls[name] = makeSlider(box, name, label, { max, value }, update);
    fallback.replaceWith(...place.childNodes);
    update();
  }

  start("positions", build);
})();
