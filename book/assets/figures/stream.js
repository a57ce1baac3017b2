// The figure in book/blocks.ipynb that follows the letters of a word through the layers of an encoder, with the
// residual sums and without them: each letter is a dot in a plane. Plain SVG and native controls, as in positions.js.
// The page holds the places and the cosines, which transformer_ref.experiments.blocks has computed.
// book/_extensions/figures.py loads this file on pages that hold <figure data-figure="stream">.

(() => {
  const { number, fill, sentences, make, draw, clear } = window.moving;
  const { makeSlider, makeSelect, makeButtons, makePlayer, makeWords, onNewWidth, dataFor, start } = window.moving;
  const PAUSE = 1300; // milliseconds of a layer while it plays
  const HEIGHT = 300;
  const EDGE = 30; // between the outermost dots and the edge of the plane
  const BESIDE = 16; // from a dot to its letter
  const STACKS = [["fresh", _("untrained layers")], ["trained", _("the trained speller")]];
  const WAYS = [["with", _("with the sum")], ["without", _("without the sum")]];

  const nameOf = (pairs, key) => pairs.find(([one]) => one === key)[1];
  // Letters stand around their dots, each on a side of its own, so that they can be read when all dots are one.
  const sideOf = (index, count) => -Math.PI / 2 + (2 * Math.PI * index) / count;

  // ---- the plane --------------------------------------------------------------------------------

  // The same for all layers and for both ways, so that only the letters move.
  function scaleOf({ points }, width) {
    const all = [...points.with, ...points.without].flat(2);
    const end = Math.max(...all.map(Math.abs));
    const unit = (Math.min(width, HEIGHT) / 2 - EDGE) / end;
    return ([x, y]) => [width / 2 + unit * x, HEIGHT / 2 - unit * y];
  }

  // The dots stay while they move, so that the browser can glide them; the rest is drawn afresh.
  function makePlane(parent, letters) {
    const svg = draw(parent, "svg", { class: "stream-plane", role: "img" });
    const [back, front] = [draw(svg, "g"), draw(svg, "g")];
    const dots = letters.map((letter, index) => {
      const group = draw(front, "g", { class: "stream-token" });
      draw(group, "circle", { r: 6 });
      const [x, y] = [Math.cos, Math.sin].map((part) => BESIDE * part(sideOf(index, letters.length)));
      draw(group, "text", { x, y: y + 4.5, "text-anchor": "middle" }, letter);
      return group;
    });
    return { svg, back, dots };
  }

  function drawPlane({ svg, back, dots }, state) {
    const { points, way, layer, letters } = state;
    const width = Math.max(260, svg.parentElement.clientWidth);
    svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    svg.setAttribute("height", HEIGHT);
    svg.classList.toggle("stream-alone", way === "without");
    back.replaceChildren();
    const place = scaleOf(state, width);
    draw(back, "rect", { x: 0.5, y: 0.5, width: width - 1, height: HEIGHT - 1, rx: 8, class: "stream-frame" });
    letters.forEach((_, index) => {
      const trail = points[way].slice(0, layer + 1).map((tokens) => place(tokens[index]).map((one) => one.toFixed(1)).join(" "));
      draw(back, "path", { d: `M${trail.join(" L")}`, class: "stream-trail" });
    });
    dots.forEach((dot, index) => {
      const [x, y] = place(points[way][layer][index]);
      dot.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
    });
    const label = layer === 0
      ? _("The letters {letters} as dots in a plane before the first layer, {way}. Their mean cosine is {cosine}.")
      : _("The letters {letters} as dots in a plane after layer {layer}, {way}. Their mean cosine is {cosine}.");
    svg.setAttribute("aria-label", fill(label, {
      letters: letters.join(_(", ")), layer, way: nameOf(WAYS, way), cosine: number(state.cosine[way][layer], 2),
    }));
  }

  // ---- how alike the letters are ----------------------------------------------------------------

  // A curve grows as the reader goes through the layers, so that it does not give a prediction away.
  function drawCosines(svg, { cosine, way, layer, reached }) {
    const width = clear(svg, HEIGHT);
    const [left, right, top, bottom] = [34, width - 12, 92, HEIGHT - 40];
    const last = cosine.with.length - 1;
    const x = (at) => left + ((right - left) * at) / last;
    const y = (value) => bottom - (bottom - top) * Math.max(0, value);
    draw(svg, "text", { x: 0, y: 16 }, _("How alike the letters are: mean cosine"));
    draw(svg, "text", { x: 0, y: 62, class: "stream-number" }, number(cosine[way][layer], 2));
    draw(svg, "text", { x: 122, y: 50, class: "moving-faint" }, _("1: all point the same way"));
    draw(svg, "text", { x: 122, y: 66, class: "moving-faint" }, _("0: nothing in common"));
    for (const value of [0, 0.5, 1]) {
      draw(svg, "line", { x1: left, x2: right, y1: y(value), y2: y(value), class: "moving-line stream-grid" });
      draw(svg, "text", { x: left - 8, y: y(value) + 4, "text-anchor": "end", class: "moving-faint" }, String(value));
    }
    for (let at = 0; at <= last; at += 1) {
      draw(svg, "text", { x: x(at), y: bottom + 18, "text-anchor": "middle", class: "moving-faint" }, at);
    }
    draw(svg, "text", { x: right, y: HEIGHT - 6, "text-anchor": "end", class: "moving-faint" }, _("layers passed"));
    for (const [key, name] of WAYS) {
      const seen = cosine[key].slice(0, reached[key] + 1);
      if (!seen.length) continue;
      const points = seen.map((value, at) => `${x(at)},${y(value)}`).join(" ");
      const kind = `stream-curve stream-${key}${key === way ? " stream-chosen" : ""}`;
      draw(svg, "polyline", { points, class: kind });
      if (seen.length <= last) continue;
      const above = y(Math.max(0.06, cosine[key][last])) - 8;
      draw(svg, "text", { x: right, y: above, "text-anchor": "end", class: `stream-name stream-${key}` }, name);
    }
    draw(svg, "circle", { cx: x(layer), cy: y(cosine[way][layer]), r: 6, class: `stream-here stream-${way}` });
    const told = WAYS.filter(([key]) => reached[key] >= 0).map(([key, name]) => {
      const seen = cosine[key].slice(0, reached[key] + 1);
      return fill(_("{name}: {values}."), { name, values: seen.map((value) => number(value, 2)).join(_(", ")) });
    });
    svg.setAttribute("aria-label", sentences(_("Mean cosine by layer."), ...told));
  }

  // ---- what the figure says in words ------------------------------------------------------------

  const AFTERWORDS = {
    fresh: _("These layers are not trained: this is where training would have to begin."),
    trained: _("This encoder was trained with its sums; nobody would run it without them."),
  };

  function compare({ cosine, way, layer, reached }) {
    const other = way === "with" ? "without" : "with";
    if (layer === 0) return _("Both ways begin here.");
    if (reached[other] >= layer) {
      const said = other === "with" ? _("With the sum it would be {cosine}.") : _("Without the sum it would be {cosine}.");
      return fill(said, { cosine: number(cosine[other][layer], 2) });
    }
    return other === "with"
      ? _("What do you expect with the sum? Switch it to see.")
      : _("What do you expect without the sum? Switch it to see.");
  }

  function describe(state) {
    const { cosine, points, way, layer, letters, stack } = state;
    const value = cosine[way][layer];
    const [one, two] = farthest(points[way][layer]).map((index) => letters[index]);
    const here = layer === 0
      ? _("Before the first layer, {way}: the mean cosine of two letters is {cosine}.")
      : _("After layer {layer}, {way}: the mean cosine of two letters is {cosine}.");
    return [
      sentences(fill(here, { layer, way: nameOf(WAYS, way), cosine: number(value, 2) }), compare(state)),
      value > 0.99
        ? _("The letters are nearly one vector, and what is computed from equal vectors stays equal.")
        : fill(_("In the plane, {one} and {two} are farthest apart."), { one, two }),
      AFTERWORDS[stack],
    ];
  }

  function farthest(tokens) {
    let [best, pair] = [-1, [0, 1]];
    tokens.forEach((one, i) => tokens.slice(0, i).forEach((other, j) => {
      const distance = Math.hypot(one[0] - other[0], one[1] - other[1]);
      if (distance > best) [best, pair] = [distance, [j, i]];
    }));
    return pair;
  }

  // ---- controls ---------------------------------------------------------------------------------

  function makeSwitch(parent, onInput) {
    const row = make(parent, "div", { className: "moving-control stream-switch" });
    const input = make(row, "input", { id: "moving-sum", type: "checkbox", checked: true });
    make(row, "label", { htmlFor: input.id, textContent: _("With the sum, x + f(x)") });
    input.addEventListener("input", onInput);
    return input;
  }

  function build(figure) {
    const data = dataFor("stream");
    const { letters } = data;
    const box = document.createElement("div");
    const controls = make(box, "div", { className: "moving-controls" });
    const stack = makeSelect(controls, "moving-stack", _("Layers"), STACKS, glide);
    const slider = makeSlider(controls, "layer", _("Layers passed"), { max: data.fresh.with.cosine.length - 1, value: 0 }, glide);
    const sum = makeSwitch(controls, glide);
    const [play] = makeButtons(controls, [_("Play")]);
    const pictures = make(box, "div", { className: "moving-pictures" });
    const plane = makePlane(make(pictures, "div"), letters);
    const chart = draw(make(pictures, "div"), "svg", { role: "img" });
    const say = makeWords(box, 3);
    // The last layer that the reader has seen, for each kind of layers and each way.
    const reached = Object.fromEntries(STACKS.map(([key]) => [key, { with: -1, without: -1 }]));

    function read() {
      const chosen = data[stack.value];
      slider.input.max = chosen.with.cosine.length - 1; // the browser moves a value that is too large
      const points = { with: chosen.with.points, without: chosen.without.points };
      const cosine = { with: chosen.with.cosine, without: chosen.without.cosine };
      const way = sum.checked ? "with" : "without";
      const layer = Number(slider.input.value);
      const seen = reached[stack.value];
      seen[way] = Math.max(seen[way], layer);
      return { letters, points, cosine, way, layer, reached: seen, stack: stack.value };
    }

    function update() {
      const state = read();
      slider.show(fill(_("{layer} of {last}"), { layer: state.layer, last: slider.input.max }));
      drawPlane(plane, state);
      drawCosines(chart, state);
      say(describe(state));
    }

    // The dots glide to where the reader sends them, but stand at once where the page puts them.
    function glide() {
      plane.svg.classList.add("stream-glides");
      update();
    }

    const atEnd = () => slider.input.value === slider.input.max;
    function go(layer) {
      slider.input.value = layer;
      glide();
    }
    makePlayer(play, PAUSE, {
      begin: () => atEnd() && go(0),
      step: () => {
        go(Number(slider.input.value) + 1);
        return atEnd();
      },
    });
    figure.querySelector(".moving-fallback").replaceWith(...box.childNodes);
    onNewWidth(pictures, () => {
      plane.svg.classList.remove("stream-glides");
      update();
    });
    update();
  }

  start("stream", build);
})();
