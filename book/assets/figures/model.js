// The figure in book/model.md: the whole model, through which the reader sends a word, whose norms move, and of which
// parts are taken away. Shapes, error rates and chapters come with the page, from book/_extensions/model.py; the
// numbers in the boxes come from the model itself, which runs in the page (speller/inside.js shows them).
// book/_extensions/figures.py loads this file on pages that hold <figure data-figure="model">.

(() => {
  const { fill, sentences, softmax, make, draw, clear } = window.moving;
  const { makeSelect, makeButtons, makePlayer, makeWords, onNewWidth, dataFor, start } = window.moving;
  const { Inside, loadModel, readWord, traceOf } = window.speller;
  const [MOST_LETTERS, MOST_TOKENS] = [12, 20]; // that fit the boxes
  const PAUSE = 1100; // milliseconds of a step while it plays
  const GAP = 8; // pixels between the part that is lit and the edge
  const MOVING = 600; // milliseconds in which the norms change their place
  const still = window.matchMedia("(prefers-reduced-motion: reduce)");

  // From top to bottom; a sublayer with its norm and its sum has one height in both kinds of norm.
  const ENDS = 36;
  const BOX = 38;
  const UNIT = 94;
  const TOP = 5;
  const AT = { embedding: TOP + 48, positions: TOP + 98, frame: TOP + 162, units: TOP + 172 };
  const ENCODER = ["encoder-attention", "encoder-feed-forward"];
  const DECODER = ["masked-attention", "cross-attention", "decoder-feed-forward"];
  // Where norm, sublayer and sum stand within a unit: [post-norm, pre-norm].
  const PLACES = { norm: [69, 2], sublayer: [6, 28], sum: [57, 80] };
  const HEIGHT = AT.units + 3 * UNIT + 130;

  const between = ([post, pre], share) => post + (pre - post) * share;
  const shapeText = (shape) => `(${shape.join(",\u00a0")})`; // it stays on one line
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const rate = (value) => `${value.toFixed(1)}%`;

  // ---- where everything stands ------------------------------------------------------------------

  // Two columns; on a wide page the names of the chapters stand beside them.
  function layoutOf(width) {
    const isWide = width >= 500;
    const [margin, rail, middle] = isWide ? [94, 20, 36] : [0, 12, 22];
    const loop = isWide ? 0 : 10; // the way back of a phoneme needs room on the right
    const room = (width - 2 * (margin + rail) - middle - loop) / 2;
    const box = Math.min(170, room);
    const left = (width - loop - 2 * box - middle - 2 * rail) / 2 + rail;
    const columns = [left, left + box + middle].map((x, side) => ({
      x, box, centre: x + box / 2, right: x + box,
      rail: side === 0 ? x - rail + 6 : x + box + rail - 6,
      frame: side === 0 ? [x - rail, x + box + 7] : [x - 7, x + box + rail],
    }));
    return { width, isWide, encoder: columns[0], decoder: columns[1], loop: isWide ? width - 2 : width - 1 };
  }

  const bottomOf = (units) => AT.units + units * UNIT - 2;

  // The top of the box of each part that is no sublayer.
  function tops() {
    const [encoder, decoder] = [bottomOf(2), bottomOf(3)];
    return {
      "source": TOP, "target": TOP,
      "source-embedding": AT.embedding, "target-embedding": AT.embedding,
      "source-positions": AT.positions, "target-positions": AT.positions,
      "memory": encoder + 44, "output": decoder + 42, "next": decoder + 92,
    };
  }

  // ---- drawing: once for a width ----------------------------------------------------------------

  class Picture {
    constructor(svg, data) {
      Object.assign(this, { svg, data, parts: new Map(data.parts.map((part) => [part.key, part])) });
    }

    draw() {
      this.width = clear(this.svg, HEIGHT, 300);
      this.layout = layoutOf(this.width);
      this.groups = new Map();
      this.shapes = new Map();
      this.units = [];
      this.tops = tops();
      const { encoder, decoder } = this.layout;
      // What is drawn is said in words below; the links to the chapters stand outside of it.
      this.root = draw(this.svg, "g", { "aria-hidden": "true" });
      this.back = draw(this.root, "g");
      this.drawFrame("encoder", encoder, 2);
      this.drawFrame("decoder", decoder, 3);
      this.drawWays(encoder, decoder);
      for (const [key, y] of Object.entries(this.tops)) this.drawEnd(key, y);
      ENCODER.forEach((key, index) => this.drawUnit(key, encoder, index));
      DECODER.forEach((key, index) => this.drawUnit(key, decoder, index));
      this.finals = [[encoder, 2], [decoder, 3]].map(([column, units]) => this.drawNorm(column, bottomOf(units) + 13));
      this.drawTokens();
      if (this.layout.isWide) this.drawChapters(encoder, decoder);
    }

    group(key, parent = this.root) {
      const group = draw(parent, "g", { "data-part": key, class: "model-part" });
      this.groups.set(key, [...(this.groups.get(key) ?? []), group]);
      return group;
    }

    columnOf(key) {
      const isEncoder = key.startsWith("source") || key.startsWith("encoder") || key === "memory";
      return this.layout[isEncoder ? "encoder" : "decoder"];
    }

    roleOf(key) {
      return key === "memory" ? "memory" : this.parts.get(key).role;
    }

    drawFrame(key, { frame: [x, right] }, units) {
      const group = this.group(key);
      const height = bottomOf(units) - AT.frame;
      draw(group, "rect", { x, y: AT.frame, width: right - x, height, rx: 8, class: "frame model-frame" });
      const y = AT.frame - 7;
      draw(group, "text", { x: x + 1, y, class: "muted" }, { encoder: _("encoder"), decoder: _("decoder") }[key]);
      const layers = fill(_("{layers} layers"), this.data.sizes);
      draw(group, "text", { x: right - 1, y, class: "muted", "text-anchor": "end" }, layers);
    }

    // The stream through each column, from the encoder to the decoder, and back to the phonemes so far.
    drawWays(encoder, decoder) {
      for (const [column, end] of [[encoder, this.tops.memory], [decoder, this.tops.next]]) {
        const d = `M${column.centre} ${TOP + ENDS} V${end - 4}`;
        draw(this.back, "path", { d, class: "line muted model-way" });
      }
      const from = this.tops.memory + BOX / 2;
      const to = AT.units + UNIT;
      const across = (encoder.right + 7 + decoder.x - 7) / 2;
      this.memoryLine = this.group("memory-line");
      this.memoryWay = draw(this.memoryLine, "path", { class: "line memory model-memory" });
      this.memoryHead = draw(this.memoryLine, "polygon", { class: "head memory" });
      this.memoryAt = { from: [encoder.right, from], across, to };
      const [x, y1, y2] = [decoder.centre + 66, this.tops.next + 12, TOP + 12];
      const d = `M${x} ${y1} H${this.layout.loop} V${y2} H${x + 6}`;
      draw(this.back, "path", { d, class: "line target dashed model-loop" });
      this.drawHead(this.back, x, y2, "target", "left");
    }

    drawHead(parent, x, y, role, to = "down") {
      const corners = { down: [[0, 0], [-4, -8], [4, -8]], left: [[0, 0], [8, -4], [8, 4]], right: [[0, 0], [-8, -4], [-8, 4]] };
      const points = corners[to].map(([across, down]) => `${x + across},${y + down}`).join(" ");
      return draw(parent, "polygon", { points, class: `head ${role}` });
    }

    drawBox(group, { x, box, centre }, y, height, role, label, isFree = false) {
      if (!isFree) draw(group, "rect", { x, y, width: box, height, rx: 6, class: "model-ground" });
      const kind = isFree ? "model-free" : "box";
      draw(group, "rect", { x, y, width: box, height, rx: 6, class: `${kind} ${role} model-outline` });
      const name = draw(group, "text", { x: centre, y: y + 16, "text-anchor": "middle", class: `${role} bold` }, label);
      if (name.getComputedTextLength() > box - 8) name.setAttribute("textLength", box - 8);
      return draw(group, "text", { x: centre, y: y + 31, "text-anchor": "middle", class: "model-shape" });
    }

    // A part that stands still: tokens, embedding, positions, memory, output.
    drawEnd(key, y) {
      const column = this.columnOf(key);
      const group = this.group(key);
      const isFree = ["source", "target", "next"].includes(key);
      const label = key === "memory" ? _("memory") : _(this.parts.get(key).label);
      const [height, role] = [isFree ? ENDS : BOX, this.roleOf(key)];
      this.shapes.set(key, this.drawBox(group, column, y, height, role, label, isFree));
      if (y > TOP) this.drawHead(group, column.centre, y, "muted");
    }

    drawNorm(column, y) {
      const group = this.group("norm");
      const [x, width] = [column.x + column.box * 0.2, column.box * 0.6];
      draw(group, "rect", { x, y, width, height: 18, rx: 9, class: "model-ground" });
      draw(group, "rect", { x, y, width, height: 18, rx: 9, class: "box ink model-outline" });
      draw(group, "text", { x: column.centre, y: y + 13, "text-anchor": "middle" }, _("norm"));
      return group;
    }

    drawUnit(key, column, index) {
      const top = AT.units + index * UNIT;
      const residual = this.group("residual");
      const way = draw(residual, "path", { class: "line residual model-residual" });
      const head = draw(residual, "polygon", { class: "head residual" });
      const sum = draw(residual, "g");
      draw(sum, "circle", { cx: column.centre, cy: 0, r: 8, class: "model-ground" });
      draw(sum, "circle", { cx: column.centre, cy: 0, r: 8, class: "box residual model-outline" });
      const d = `M${column.centre - 4} 0 h8 m-4 -4 v8`;
      draw(sum, "path", { d, class: "line residual" });
      const sublayer = this.group(key);
      const label = _(this.parts.get(key).label);
      this.shapes.set(key, this.drawBox(sublayer, column, 0, BOX, this.roleOf(key), label));
      this.drawHead(sublayer, column.centre, 0, "muted");
      if (key === "masked-attention") this.drawMask(sublayer, column);
      const norm = this.drawNorm(column, 0);
      this.units.push({ key, column, top, way, head, sum, sublayer, norm });
    }

    // A small triangle, the causal mask, that can be taken away.
    drawMask(parent, { x }) {
      const group = this.group("mask", parent);
      group.removeAttribute("data-part"); // a click means the sublayer
      const d = `M${x + 6} 21 v12 h12 z`;
      draw(group, "path", { d, class: "model-mask" });
    }

    // ---- what moves -----------------------------------------------------------------------------

    // Puts norms, sublayers and sums where they stand between post-norm (0) and pre-norm (1).
    place(share) {
      this.share = share;
      for (const unit of this.units) {
        const { column, top } = unit;
        const [norm, sublayer, sum] = ["norm", "sublayer", "sum"].map((kind) => top + between(PLACES[kind], share));
        unit.norm.setAttribute("transform", `translate(0 ${norm})`);
        unit.sublayer.setAttribute("transform", `translate(0 ${sublayer})`);
        unit.sum.setAttribute("transform", `translate(0 ${sum})`);
        this.tops[unit.key] = sublayer;
        const isLeft = column.rail < column.x;
        const edge = column.centre + (isLeft ? -9 : 9);
        const d = `M${column.centre} ${top - 3} H${column.rail} V${sum} H${edge + (isLeft ? -6 : 6)}`;
        unit.way.setAttribute("d", d);
        const side = isLeft ? -8 : 8;
        unit.head.setAttribute("points", `${edge},${sum} ${edge + side},${sum - 4} ${edge + side},${sum + 4}`);
      }
      this.finals.forEach((norm) => (norm.style.opacity = share));
      this.placeMemory();
    }

    placeMemory() {
      const { from: [x, y], across } = this.memoryAt;
      const to = this.tops["cross-attention"] + BOX / 2;
      const end = this.layout.decoder.x - 2;
      this.memoryWay.setAttribute("d", `M${x} ${y} H${across} V${to} H${end - 6}`);
      this.memoryHead.setAttribute("points", `${end},${to} ${end - 8},${to - 4} ${end - 8},${to + 4}`);
    }

    // ---- chapters beside the parts, as links ----------------------------------------------------

    drawChapters(encoder, decoder) {
      const left = ["source", "source-embedding", "source-positions", "encoder-attention", "encoder-feed-forward"];
      const right = ["masked-attention", "cross-attention", "decoder-feed-forward", "output"];
      for (const key of left) this.drawChapter(key, encoder.frame[0] - 10, "end");
      for (const key of right) this.drawChapter(key, decoder.frame[1] + 10, "start");
      this.drawLink("depth", encoder.frame[0] - 10, AT.frame - 7, "end");
      this.drawLink("gpt", decoder.frame[1] + 10, AT.frame - 7, "start");
      this.drawLink("decoding", decoder.frame[1] + 10, this.tops.next + 30, "start");
    }

    drawChapter(key, x, anchor) {
      const unit = this.units.find((one) => one.key === key);
      const y = unit ? unit.top + UNIT / 2 + 3 : this.tops[key] + 23;
      this.drawLink(this.parts.get(key).chapters[0], x, y, anchor);
    }

    drawLink(slug, x, y, anchor) {
      const link = draw(this.svg, "a", { href: `${slug}.html`, class: "model-link", "data-chapter": slug });
      const wide = 82;
      draw(link, "rect", { x: anchor === "end" ? x - wide : x, y: y - 18, width: wide, height: 26, class: "model-target" });
      draw(link, "text", { x, y, "text-anchor": anchor }, _(this.data.chapters[slug]));
    }

    // ---- tokens ---------------------------------------------------------------------------------

    drawTokens() {
      this.tokens = ["encoder", "decoder"].map((side) => draw(this.root, "g", { class: `model-tokens model-${side}` }));
      this.shown = ["", ""];
    }

    // Small tiles, in the box of a part or nowhere.
    putTokens(side, tokens, key) {
      const group = this.tokens[side];
      group.classList.toggle("model-away", !key);
      if (!key) return;
      const column = this.layout[side === 0 ? "encoder" : "decoder"];
      const name = tokens.join(" ");
      if (this.shown[side] !== name) {
        this.shown[side] = name;
        group.replaceChildren();
        drawTiles(group, tokens, column.box, side === 0 ? "source" : "target");
      }
      group.style.transform = `translate(${column.centre}px, ${this.topOf(key) + 19}px)`;
    }

    // A stack shows its tokens where they leave its last sublayer.
    topOf(key) {
      const last = { encoder: ENCODER.at(-1), decoder: DECODER.at(-1) };
      return this.tops[last[key] ?? key];
    }
  }

  const LEAST_SCALE = 0.62; // of tiles; below, the first of them are left out

  function drawTiles(group, names, room, role) {
    const widthOf = (list) => list.reduce((sum, token) => sum + 7.4 * token.length + 9, -2);
    let tokens = names;
    while (widthOf(tokens) * LEAST_SCALE > room - 4) tokens = ["\u2026", ...tokens.slice(tokens[0] === "\u2026" ? 2 : 1)];
    const widths = tokens.map((token) => 7.4 * token.length + 7);
    const all = widthOf(tokens);
    const scale = Math.min(1, (room - 4) / all);
    let x = (-all * scale) / 2;
    tokens.forEach((token, index) => {
      const width = widths[index] * scale;
      draw(group, "rect", { x, y: 0, width, height: 17, rx: 4, class: `model-tile ${role}` });
      draw(group, "text", { x: x + width / 2, y: 12.8, "text-anchor": "middle", class: "model-token" }, token);
      x += width + 2 * scale;
    });
  }

  // ---- a word on its way: its steps -------------------------------------------------------------

  // The encoder runs once; the first phoneme goes through every part of the decoder, later ones in fewer steps.
  function stepsOf({ word, passes }, { D, d_ff: hidden, H, V, layers }) {
    const first = passes[0].shapes;
    const shown = (key) => shapeText(first[key]);
    const values = { word, count: [...word].length, D, H, more: layers - 1, weights: shown("encoder-weights"), hidden: shown("encoder-hidden") };
    const steps = [
      ["source", _("{word} comes in as {count} ids: {shape}, a batch of B = 1 word with S = {count} letters.")],
      ["source-embedding", _("Each id becomes a vector with D = {D} features: {shape}.")],
      ["source-positions", _("Each vector is told its place: {shape}, as before.")],
      ["encoder-attention", _("Every letter looks at every letter: {H} heads with weights {weights}. Out: {shape}.")],
      ["encoder-feed-forward", _("Each vector by itself: {hidden} hidden units, and back to {shape}.")],
      ["encoder", _("{more} more layers of this kind: {shape}, as before."), "memory"],
      ["memory", _("The memory is ready, one vector for each letter: {shape}. The encoder runs once for a word.")],
    ].map(([part, says, key = part]) => ({ part, says: fill(says, { ...values, shape: shown(key) }), pass: 0, side: 0 }));
    passes.forEach((pass, index) => steps.push(...stepsOfPass(pass, index, { word, passes, D, hidden, V, layers })));
    return steps;
  }

  function stepsOfPass({ tokens, shapes, next, probability }, pass, { word, passes, D, hidden, V, layers }) {
    const shown = (key) => shapeText(shapes[key]);
    const values = {
      tokens: tokens.join(" "), count: tokens.length, D, V, more: layers - 1, hidden: shown("decoder-hidden"),
      masked: shown("masked-weights"), cross: shown("cross-weights"),
      next, probability: probability.toFixed(2), word, said: passes.slice(0, -1).map((one) => one.next).join(" "),
    };
    const isLast = pass === passes.length - 1;
    const steps = pass === 0 ? [
      ["target", _("The decoder begins with the begin token, T = 1: {shape}.")],
      ["target-embedding", _("Its id becomes a vector with D = {D} features: {shape}.")],
      ["target-positions", _("It is told its place: {shape}.")],
      ["masked-attention", _("It looks at itself and what stands before it: weights {masked}. Out: {shape}.")],
      ["cross-attention", _("It looks at the memory of the letters: weights {cross}. Out: {shape}.")],
      ["decoder-feed-forward", _("Each vector by itself: {hidden} hidden units, and back to {shape}.")],
      ["decoder", _("{more} more layers of this kind: {shape}.")],
    ] : [
      ["target", _("{tokens} goes in, T = {count}: {shape}.")],
      ["decoder", _("Through the whole decoder again: masked weights {masked}, cross weights {cross}. Out: {shape}.")],
    ];
    steps.push(["output", _("A score for each of V = {V} tokens: {shape}. The softmax of the last row counts.")]);
    steps.push(["next", sentences(
      _("The most probable token is {next}, with {probability}."),
      isLast ? _("The end: {word} is {said}.") : _("It joins the phonemes so far."),
    )]);
    return steps.map(([part, says]) => (
      { part, says: fill(says, { ...values, shape: shapes[part] && shown(part) }), pass, side: 1 }));
  }

  // A word of the reader's own, as book/_extensions/model.py has it of the first word.
  function wayOf({ word, steps, tokens }, { D, d_ff: hidden, H, V }) {
    const S = word.length;
    const source = [1, S, D];
    const passes = steps.map(({ id, lens }, index) => {
      const T = index + 1;
      const target = [1, T, D];
      const shapes = {
        "source": [1, S], "target": [1, T], "memory": source, "encoder-hidden": [1, S, hidden], "decoder-hidden": [1, T, hidden],
        "encoder-weights": [1, H, S, S], "masked-weights": [1, H, T, T], "cross-weights": [1, H, T, S], "decoder": target, "output": [1, T, V],
      };
      for (const key of ["source-embedding", "source-positions", ...ENCODER]) shapes[key] = source;
      for (const key of ["target-embedding", "target-positions", ...DECODER]) shapes[key] = target;
      return { tokens: tokens.slice(0, T), shapes, next: tokens[T], probability: softmax(lens.at(-1))[id] };
    });
    return { word, passes };
  }

  // ---- what was measured ------------------------------------------------------------------------

  // What of a part can be taken away; the norms have a comparison of their own.
  function measuredOf(part, { taken }) {
    return taken.filter(({ parts }) => parts.includes(part));
  }

  // The difference of the two rates as they are shown.
  function verdict({ with: whole, without, seen }) {
    const gap = Number(mean(without).toFixed(1)) - Number(mean(whole).toFixed(1));
    const points = `${gap > 0 ? "+" : "\u2212"}${Math.abs(gap).toFixed(1)}`;
    const said = seen ? _("{points} points.") : _("{points} points. No difference seen: within two standard errors.");
    return fill(said, { points });
  }

  // Two bars, each the mean of its seeds, which stand on it as ticks.
  function showBars(place, rows, most) {
    place.replaceChildren();
    for (const [label, values, kind] of rows) {
      const row = make(place, "div", { className: `model-bar model-${kind}` });
      make(row, "span", { className: "model-name", textContent: label });
      const track = make(row, "span", { className: "model-track" });
      make(track, "span", { className: "model-fill" }).style.width = `${(100 * mean(values)) / most}%`;
      for (const value of values) {
        make(track, "span", { className: "model-seed" }).style.left = `${(100 * value) / most}%`;
      }
      make(row, "span", { className: "model-number", textContent: rate(mean(values)) });
    }
  }

  // ---- the figure -------------------------------------------------------------------------------

  class Figure {
    constructor(figure) {
      this.data = dataFor("model");
      this.parts = new Map(this.data.parts.map((part) => [part.key, part]));
      Object.assign(this, { step: 0, taken: null, part: "whole", here: null, way: this.data.way, trace: null, wrong: "", asked: 0 });
      const box = document.createElement("div");
      box.className = "model";
      this.build(box);
      this.picture = new Picture(this.svg, this.data);
      figure.querySelector(".moving-fallback").replaceWith(box);
      this.arrive();
      window.addEventListener("hashchange", () => this.arrive());
      onNewWidth(this.place, () => this.redraw());
    }

    build(box) {
      this.buildWalk(make(box, "div", { className: "model-walk" }));
      this.place = make(box, "div", { className: "model-place" });
      this.svg = draw(this.place, "svg", { class: "drawing model-svg", role: "group" });
      this.svg.setAttribute("aria-label", _("The whole model, and beside its parts links to their chapters"));
      const controls = make(box, "div", { className: "moving-controls model-choice" });
      const norms = [["post", _("post-norm, as in the paper")], ["pre", _("pre-norm, as in the speller")]];
      this.norm = makeSelect(controls, "model-norm", _("Norm"), norms, () => this.moveNorms());
      this.norm.value = "pre";
      const parts = this.data.parts.map(({ key, name }) => [key, _(name)]);
      this.choice = makeSelect(controls, "model-part", _("Part"), parts, () => this.enter(this.choice.value));
      this.inside = new Inside(make(box, "div", { className: "model-inside", role: "group" }));
      this.inside.box.setAttribute("aria-label", _("The numbers in the box"));
      this.up = make(this.inside.box, "button", { type: "button", className: "model-up", textContent: _("Back to the picture") });
      this.up.addEventListener("click", () => {
        this.walk.scrollIntoView({ behavior: still.matches ? "auto" : "smooth" });
        this.next.focus({ preventScroll: true });
      });
      const side = make(box, "div", { className: "model-side" });
      this.say = makeWords(side, 2);
      this.panel = make(side, "div", { className: "model-panel" });
      // A short cut for the mouse; the list of parts does the same.
      this.svg.addEventListener("click", (event) => {
        const key = event.target.closest("[data-part]")?.dataset.part;
        if (key) this.enter(key === "memory-line" ? "memory" : key);
      });
    }

    // What sends a word through; on a phone it stays above the picture, which is as high as the window.
    buildWalk(walk) {
      this.walk = walk;
      const form = make(walk, "form", { className: "model-form", noValidate: true });
      make(form, "label", { htmlFor: "model-word", textContent: _("Word") });
      this.input = make(form, "input", { id: "model-word", type: "text", autocomplete: "off", spellcheck: false, value: this.way.word });
      this.input.setAttribute("autocapitalize", "none");
      make(form, "button", { type: "submit", textContent: _("Send") });
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        this.stop();
        this.send(this.input.value);
      });
      this.input.addEventListener("input", () => loadModel().catch(() => {}));
      const names = [_("Back"), _("Next"), _("Play"), _("Reset"), _("Numbers")];
      [this.back, this.next, this.play, this.reset, this.down] = makeButtons(walk, names);
      this.sayStep = makeWords(walk, 1);
      this.stop = makePlayer(this.play, PAUSE, {
        begin: () => this.step === this.steps().length && this.go(0),
        step: () => {
          this.go(this.step + 1);
          return this.step === this.steps().length;
        },
      });
      const move = (to) => () => {
        this.stop();
        this.go(to());
      };
      this.back.addEventListener("click", move(() => this.step - 1));
      this.next.addEventListener("click", move(() => this.step + 1));
      this.reset.addEventListener("click", move(() => 0));
      // On a phone the numbers stand below the picture.
      const behavior = still.matches ? "auto" : "smooth";
      this.down.className = "model-down";
      this.down.addEventListener("click", () => {
        this.inside.box.scrollIntoView({ behavior });
        this.up.focus({ preventScroll: true });
      });
    }

    // ---- state ----------------------------------------------------------------------------------

    steps() {
      return stepsOf(this.way, this.data.sizes);
    }

    // Takes a word of the reader's own; it waits before the model then.
    async send(typed) {
      const [word, wrong] = readWord(typed, MOST_LETTERS);
      this.wrong = wrong;
      this.input.setAttribute("aria-invalid", String(Boolean(wrong)));
      if (wrong) {
        this.update();
        return;
      }
      this.input.value = word;
      this.asked += 1;
      const mine = this.asked;
      const model = await this.model();
      if (!model || mine !== this.asked) return; // another word was asked for meanwhile
      this.trace = traceOf(model, word, MOST_TOKENS);
      this.way = wayOf(this.trace, this.data.sizes);
      this.go(0);
    }

    // Returns the model, or nothing where it cannot be had.
    async model() {
      if (!window.speller.Model) this.inside.tell(_("Loading the model, 3.7 MB ..."));
      try {
        return await loadModel();
      } catch (error) {
        this.inside.tell(fill(_("The model could not be used: {reason}."), { reason: error.message }));
        return null;
      }
    }

    // Opens a part that the reader has chosen.
    enter(part) {
      this.choose(part);
      this.look(part);
    }

    // Shows the numbers of a part, those of the newest token of the step.
    async look(part, pass = this.steps()[this.step - 1]?.pass) {
      this.opened = { part, pass };
      const model = await this.model();
      if (model && this.opened) this.showNumbers(model);
    }

    showNumbers(model) {
      const { part, pass } = this.opened;
      const { word } = this.way;
      if (this.trace?.word !== word) this.trace = traceOf(model, word, MOST_TOKENS);
      if (part === "whole") {
        this.invite();
        return;
      }
      this.inside.title.textContent = fill(_("{part}: the numbers of {word}"), { part: _(this.parts.get(part).name), word });
      this.inside.open(part, this.trace, /^(source|encoder|memory|norm|residual)/.test(part) ? undefined : pass);
    }

    // What stands there before a part is opened.
    invite() {
      this.opened = null;
      const { word } = this.way;
      this.inside.title.textContent = fill(_("The numbers of {word}"), { word });
      this.inside.tell(_("Press Next, or choose a box: here you see what it computes, down to a single product. The model, 3.7 MB, comes to your browser when you do."));
    }

    // Who comes from a chapter finds its parts lit.
    arrive() {
      const [, slug] = window.location.hash.match(/^#from-(\w+)$/) ?? [];
      this.here = slug in this.data.here ? slug : null;
      const parts = this.here ? this.data.here[slug] : [];
      const main = this.data.parts.find(({ key, chapters }) => parts.includes(key) && chapters[0] === slug);
      this.invite();
      this.choose(main?.key ?? parts.find((key) => this.parts.has(key) && parts.length < 10) ?? "whole");
    }

    choose(part) {
      this.part = part;
      this.taken = null;
      this.choice.value = part;
      this.showPanel();
      this.update();
    }

    // A word goes through the whole model, so what was taken away comes back.
    go(step) {
      this.step = Math.max(0, Math.min(step, this.steps().length));
      this.wrong = "";
      if (this.taken !== null) this.take(null);
      const now = this.steps()[this.step - 1];
      if (now) this.look(now.part, now.pass);
      else if (this.trace) this.look(this.part);
      else this.invite();
      this.update();
      this.follow();
    }

    // Scrolls to the part that is lit, where the window is too low for the whole picture.
    follow() {
      const [lit] = this.picture.groups?.get(this.steps()[this.step - 1]?.part) ?? [];
      const bar = this.walk.getBoundingClientRect();
      if (!lit || getComputedStyle(this.walk).position !== "sticky" || bar.bottom < 0 || bar.top > innerHeight) return;
      const { top, bottom } = lit.getBoundingClientRect();
      const by = Math.min(0, top - bar.bottom - GAP) || Math.max(0, bottom + GAP - innerHeight);
      if (by) window.scrollBy({ top: by, behavior: still.matches ? "auto" : "smooth" });
    }

    take(taken) {
      this.taken = taken;
      this.showMeasured();
      this.update();
    }

    moveNorms() {
      this.showMeasured();
      const goal = this.norm.value === "pre" ? 1 : 0;
      const [from, begin] = [this.picture.share, performance.now()];
      cancelAnimationFrame(this.frame);
      const move = (now) => {
        const done = still.matches ? 1 : Math.min(1, Math.max(0, now - begin) / MOVING);
        const eased = done * done * (3 - 2 * done);
        this.picture.place(from + (goal - from) * eased);
        this.update();
        if (done < 1) this.frame = requestAnimationFrame(move);
      };
      move(begin);
    }

    redraw() {
      cancelAnimationFrame(this.frame);
      this.picture.draw();
      this.picture.place(this.norm.value === "pre" ? 1 : 0);
      this.update();
    }

    // ---- the panel of the chosen part -----------------------------------------------------------

    showPanel() {
      const { name, text, chapters, shape } = this.parts.get(this.part);
      this.panel.replaceChildren();
      make(this.panel, "p", { className: "model-title", textContent: _(name) });
      make(this.panel, "p", { textContent: sentences(_(text), shape && fill(_("Out: {shape}."), { shape: shape.replaceAll(" ", "\u00a0") })) });
      const links = make(this.panel, "p", { className: "model-chapters" });
      for (const slug of chapters) {
        make(links, "a", { href: `${slug}.html`, textContent: _(this.data.chapters[slug]) });
      }
      this.buttons = make(this.panel, "div", { className: "moving-buttons model-take" });
      for (const taken of measuredOf(this.part, this.data.measured)) {
        const button = make(this.buttons, "button", { type: "button", textContent: fill(_("Take away {what}"), { what: _(taken.what) }) });
        button.dataset.taken = taken.key;
        button.addEventListener("click", () => {
          this.stop();
          this.step = 0;
          this.take(this.taken === taken ? null : taken);
        });
      }
      this.bars = make(this.panel, "div", { className: "model-bars" });
      this.note = make(this.panel, "p", { className: "model-note" });
      this.showMeasured();
    }

    // The comparison that stands below the buttons: [rows of bars, what is said of them].
    comparison() {
      const { norms } = this.data.measured;
      if (this.part === "norm") {
        const rows = [[_("pre-norm"), norms.with, "with"], [_("post-norm"), norms.without, "with"]];
        return [rows, sentences(verdict(norms), _("A model without norms was not measured.")), "small Transformer"];
      }
      if (this.taken === null) return null;
      const { model, note } = this.taken;
      const measured = this.measuredNow();
      const rows = [[_("with"), measured.with, "with"], [_("without"), measured.without, "without"]];
      return [rows, sentences(verdict(measured), _(note)), model];
    }

    // Post-norm where that was measured and is shown, else pre-norm.
    measuredNow() {
      return (this.norm.value === "post" && this.taken.post) || this.taken.pre;
    }

    kindOfNorm() {
      if (this.taken === null || this.taken.model === "LSTM") return "";
      return this.measuredNow() === this.taken.post ? _("post-norm") : _("pre-norm");
    }

    showMeasured() {
      for (const button of this.buttons.children) {
        button.setAttribute("aria-pressed", String(button.dataset.taken === this.taken?.key));
      }
      const shown = this.comparison();
      this.bars.replaceChildren();
      if (shown === null) {
        const none = _("What it costs to train a model without this part was not measured in this course.");
        const guess = _("How many phonemes will it get wrong without? Guess, then press.");
        const begin = _("Choose a part: what is it for, and what does it cost to take it away?");
        this.note.textContent = this.buttons.children.length ? guess : this.part === "whole" ? begin : none;
        return;
      }
      const [rows, said, model] = shown;
      make(this.bars, "p", { className: "model-what", textContent: this.conditions(model) });
      const list = make(this.bars, "div");
      showBars(list, rows, Math.max(...rows.flatMap(([, values]) => values)));
      this.note.textContent = said;
    }

    conditions(model) {
      const { seeds, epochs, layers } = this.data.measured;
      const system = model === "LSTM" ? model : fill(_("small Transformer of {layers} + {layers} layers"), { layers });
      const norm = this.kindOfNorm();
      const said = norm
        ? _("Phoneme error rate on dev, {system}, {norm}, {epochs} epochs; mean of {seeds} seeds, each a tick:")
        : _("Phoneme error rate on dev, {system}, {epochs} epochs; mean of {seeds} seeds, each a tick:");
      return fill(said, { system, norm, epochs, seeds });
    }

    // ---- what follows from the state ------------------------------------------------------------

    update() {
      if (!this.picture?.groups) return;
      const { picture } = this;
      const steps = this.steps();
      const now = steps[this.step - 1];
      const lit = this.here ? this.data.here[this.here] : [];
      const ghosts = this.taken?.ghosts ?? [];
      const changed = this.taken && ghosts.length === 0 ? this.taken.parts : [];
      for (const [key, groups] of picture.groups) {
        for (const { classList } of groups) {
          classList.toggle("model-chosen", key === this.part);
          classList.toggle("model-here", lit.includes(key));
          classList.toggle("model-now", key === now?.part);
          classList.toggle("model-gone", ghosts.includes(key));
          classList.toggle("model-changed", changed.includes(key));
        }
      }
      picture.memoryLine.classList.toggle("model-now", now?.part === "cross-attention");
      this.showShapes(steps);
      this.showTokens(steps, now);
      this.back.setAttribute("aria-disabled", String(this.step === 0));
      this.next.setAttribute("aria-disabled", String(this.step === steps.length));
      this.describe(now, steps.length);
    }

    // The numbers where the word has been, letters where it has not; none where tokens stand.
    showShapes(steps) {
      const { passes } = this.way;
      const been = new Map();
      steps.slice(0, this.step).forEach(({ part, pass }) => {
        const inside = part === "decoder" ? ["target-embedding", "target-positions", ...DECODER] : [part];
        for (const key of inside) been.set(key, passes[pass].shapes[key]);
      });
      for (const [key, text] of this.picture.shapes) {
        const shape = been.get(key);
        text.textContent = shape ? shapeText(shape) : this.parts.get(key).shape;
        text.classList.toggle("model-real", Boolean(shape));
        text.classList.remove("model-hidden");
      }
    }

    showTokens(steps, now) {
      const { word, passes } = this.way;
      const letters = now?.side === 1 ? "memory" : (now?.part ?? "source");
      this.putTokens(0, [...word], letters);
      const pass = now?.side === 1 ? passes[now.pass] : passes[0];
      const tokens = now?.part === "next" ? [pass.next] : pass.tokens;
      this.putTokens(1, tokens, now?.side === 1 ? now.part : "target");
    }

    putTokens(side, tokens, key) {
      this.picture.putTokens(side, tokens, key);
      const at = { encoder: ENCODER.at(-1), decoder: DECODER.at(-1) }[key] ?? key;
      this.picture.shapes.get(at)?.classList.add("model-hidden");
    }

    describe(now, count) {
      const isPre = this.norm.value === "pre";
      const before = _("Pre-norm: no norm stands on the residual line, and one more ends each stack.");
      const after = _("Post-norm: a norm follows every sum, so the residual line passes all of them.");
      const word = now
        ? _("Step {step} of {count}. {says}")
        : _("{word} waits before the encoder, the begin token before the decoder. Press Next.");
      this.sayStep([this.wrong || fill(word, { step: this.step, count, says: now?.says, word: this.way.word })]);
      this.say([isPre ? before : after, this.describePart()]);
    }

    describePart() {
      const from = this.here && fill(_("You come from {chapter}: its parts are lit."), { chapter: _(this.data.chapters[this.here]) });
      if (this.taken === null) return sentences(from, fill(_("Chosen: {name}."), { name: _(this.parts.get(this.part).name) }));
      const { with: whole, without } = this.measuredNow();
      const said = _("Taken away: {what}. Phoneme error rate {without}, and {whole} with it.");
      return sentences(from, fill(said, { what: _(this.taken.what), without: rate(mean(without)), whole: rate(mean(whole)) }));
    }
  }

  start("model", (figure) => new Figure(figure));
})();
