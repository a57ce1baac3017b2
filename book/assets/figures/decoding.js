// The figure in book/closer/decoding.ipynb that the reader steps through: a beam search for the sounds of a word,
// and where the model looks in the word at each step. Plain SVG and native controls, as in positions.js.
// The search is done here, on what the page has asked the model; the page holds that.
// book/_extensions/figures.py loads this file on pages that hold <figure data-figure="decoding">.

(() => {
  const { number, percent, fill, sentences, make, draw, clear } = window.moving;
  const { makeSlider, makeSelect, makeSteps, makeWords, onNewWidth, dataFor, start } = window.moving;
  const END = "<eos>";
  const DROPPED = 2; // so many of the best that are not kept are shown
  const PAUSE = 1500; // milliseconds of a step while it plays
  const LANE = 46; // from one beginning to the next below it

  const name = (token) => (token === END ? _("end") : token);

  // ---- the search -------------------------------------------------------------------------------

  // One column for each number of tokens: the beginnings that are kept, best first, and the best of the others.
  function search(asked, beamSize) {
    const columns = [{ kept: [{ said: "", token: "", depth: 0, sum: 0, parent: null }], dropped: [] }];
    let complete = null;
    for (;;) {
      const live = columns.at(-1).kept.filter((node) => node.token !== END);
      if (live.length === 0 || (complete && live[0].sum <= complete.sum)) return { columns, complete };
      const candidates = live.flatMap((parent) => asked[parent.said].next.map((next) => extend(parent, next)));
      candidates.sort((one, other) => other.sum - one.sum);
      const kept = candidates.slice(0, beamSize);
      columns.push({ kept, dropped: candidates.slice(beamSize, beamSize + DROPPED) });
      for (const node of kept) {
        if (node.token === END && (!complete || node.sum > complete.sum)) complete = node;
      }
    }
  }

  function extend(parent, [token, logProbability]) {
    const said = token === END ? parent.said : `${parent.said} ${token}`.trim();
    const [sum, depth] = [parent.sum + logProbability, parent.depth + 1];
    return { said, token, depth, sum, parent, probability: Math.exp(logProbability) };
  }

  // From the first token to this one, without the begin token.
  function way(node) {
    return node.parent === null ? [] : [...way(node.parent), node];
  }

  // ---- drawing ----------------------------------------------------------------------------------

  // Where the columns of the tree stand; the begin token is a disc and needs less room.
  function columnsOf(width, steps) {
    const gap = Math.min(150, (width - 24) / (steps + 0.15));
    const box = Math.min(50, 0.77 * gap);
    return { gap, box, x: (column) => 8 + Math.max(0, column * gap - box / 2 + 6) };
  }

  function drawBox(parent, x, y, box, label, kind) {
    draw(parent, "rect", { x: x - box / 2, y: y - 13, width: box, height: 26, rx: 7, class: `moving-box ${kind}` });
    draw(parent, "text", { x, y: y + 4.5, "text-anchor": "middle", class: kind }, label);
  }

  function drawTree(svg, { columns, step, beamSize, chosen }) {
    const width = clear(svg, 34 + LANE * (beamSize + DROPPED));
    const { gap, box, x } = columnsOf(width, columns.length - 1);
    const y = (lane) => 40 + LANE * lane;
    svg.classList.toggle("moving-narrow", gap < 44);
    const places = new Map();
    const chosenWay = new Set([columns[0].kept[0], ...way(chosen)]);
    const complete = columns.slice(0, step).flatMap(({ kept }) => kept.filter((node) => node.token === END));
    const alive = new Set([...columns[step].kept, ...complete].flatMap(way));
    columns.forEach((__, column) => {
      const [label, anchor] = column === 0 ? [_("step"), "start"] : [column, "middle"];
      draw(svg, "text", { x: column === 0 ? 0 : x(column), y: 14, "text-anchor": anchor, class: "moving-faint" }, label);
    });
    const [edges, boxes] = [draw(svg, "g"), draw(svg, "g")];
    const put = (node, column, lane, kind) => {
      places.set(node, [x(column), y(lane)]);
      if (node.parent === null) return draw(boxes, "circle", { cx: x(0), cy: y(0), r: 6, class: "moving-root" });
      const from = node.parent.parent === null ? 6 : box / 2;
      drawEdge(edges, places.get(node.parent), places.get(node), [from, box / 2], node.probability, kind);
      const group = draw(boxes, "g", { "data-column": column, "data-lane": lane, class: "moving-node" });
      drawBox(group, x(column), y(lane), box, name(node.token), node.token === END ? `${kind} moving-end` : kind);
      const below = { x: x(column), y: y(lane) + 26, "text-anchor": "middle", class: "moving-sum" };
      if (gap > 95) {
        const beside = { ...below, x: x(column) - box / 2 - 5, y: y(lane) - 6, "text-anchor": "end" };
        draw(group, "text", beside, node.probability.toFixed(2));
      }
      return draw(group, "text", below, number(node.sum, 2));
    };
    columns.slice(0, step + 1).forEach(({ kept }, column) => {
      kept.forEach((node, lane) => {
        const kind = chosenWay.has(node) ? "moving-chosen-way" : alive.has(node) ? "moving-alive" : "moving-dead";
        put(node, column, lane, node === chosen ? `${kind} moving-shown` : kind);
      });
    });
    columns[step].dropped.forEach((node, index) => put(node, step, beamSize + index, "moving-dropped"));
    const kept = columns[step].kept.map((node) => node.said || _("nothing")).join(_(", then "));
    svg.setAttribute("aria-label", fill(_("Tree of beginnings after step {step}. Kept, best first: {kept}."), { step, kept }));
  }

  function drawEdge(parent, [x1, y1], [x2, y2], [before, behind], probability, kind) {
    const [from, to] = [x1 + before, x2 - behind];
    const middle = (from + to) / 2;
    const d = `M${from} ${y1} C${middle} ${y1} ${middle} ${y2} ${to} ${y2}`;
    draw(parent, "path", { d, class: `moving-edge ${kind}`, "stroke-width": 1 + 4 * probability });
  }

  // Tokens above, letters below, and a curve as wide as each weight; the newest token's are the strong ones.
  function drawLooks(svg, { word, asked, columns, chosen }) {
    const [height, top, bottom] = [240, 42, 182];
    const width = clear(svg, height);
    const spread = (count, most) => {
      const space = Math.min(most, (width - 4) / count);
      return { space, at: (place) => width / 2 + (place - (count - 1) / 2) * space };
    };
    const { space: chipSpace, at: x } = spread(columns.length - 1, 60);
    const { space, at: letterX } = spread(word.length, 52);
    const box = Math.min(48, chipSpace - 5);
    const said = way(chosen);
    draw(svg, "text", { x: 0, y: 14, class: "moving-faint" }, fill(_("where it looks, to say {token}"), { token: name(chosen.token) }));
    const rows = said.map((node) => asked[node.parent.said].look);
    const newest = rows.at(-1);
    said.forEach((node, row) => {
      const now = row === said.length - 1;
      rows[row].forEach((weight, place) => {
        if (weight < 0.03) return;
        const [from, to, middle] = [x(row), letterX(place), (top + bottom) / 2];
        const d = `M${from} ${top + 14} C${from} ${middle} ${to} ${middle} ${to} ${bottom - 17}`;
        const kind = now ? "moving-look moving-new" : "moving-look moving-old";
        draw(svg, "path", { d, class: kind, pathLength: 1, "stroke-width": 1 + 13 * weight, "data-weight": weight });
      });
    });
    said.forEach((node, row) => {
      const kind = row === said.length - 1 ? "moving-chosen-way moving-shown" : "moving-chosen-way";
      drawBox(svg, x(row), top, box, name(node.token), kind);
    });
    [...word].forEach((letter, place) => {
      const tile = { x: letterX(place) - space / 2 + 2, y: bottom - 17, width: space - 4, height: 36, rx: 7 };
      draw(svg, "rect", { ...tile, class: "moving-letter" });
      draw(svg, "rect", { ...tile, class: "moving-heat", "fill-opacity": (0.75 * newest[place]).toFixed(2) });
      draw(svg, "text", { x: letterX(place), y: bottom + 7, class: "moving-big", "text-anchor": "middle" }, letter);
      const share = newest[place] < 0.05 ? "" : percent(newest[place]);
      draw(svg, "text", { x: letterX(place), y: height - 20, "text-anchor": "middle" }, share);
    });
    const shares = [...word].map((letter, place) => `${letter} ${percent(newest[place])}`).join(_(", "));
    svg.setAttribute("aria-label", fill(_("Attention while {token} is chosen: {shares}."), { token: name(chosen.token), shares }));
  }

  function drawNext(svg, { asked, columns, step, chosen }) {
    const { next } = asked[chosen.parent.said];
    const width = clear(svg, 30 + 27 * next.length);
    const [start, room] = [36, width - 36 - 118];
    const before = [_("begin"), ...way(chosen.parent).map((node) => node.token)];
    draw(svg, "text", { x: 0, y: 14, class: "moving-faint" }, fill(_("what could follow {before}"), { before: before.slice(-4).join(" ") }));
    const spoken = next.map(([token, logProbability], row) => {
      const y = 26 + 27 * row;
      const probability = Math.exp(logProbability);
      const place = columns[step].kept.findIndex((node) => node.parent === chosen.parent && node.token === token);
      const fate = place < 0 ? _("dropped") : fill(_("kept, no. {place}"), { place: place + 1 });
      const kind = place < 0 ? "moving-dropped" : token === chosen.token ? "moving-shown" : "moving-alive";
      draw(svg, "text", { x: start - 8, y: y + 15, "text-anchor": "end" }, name(token));
      draw(svg, "rect", { x: start, y, width: Math.max(1, room * probability), height: 20, class: `moving-bar ${kind}` });
      draw(svg, "text", { x: width - 112, y: y + 15 }, probability.toFixed(2));
      draw(svg, "text", { x: width - 74, y: y + 15, class: "moving-faint" }, fate);
      return fill(_("{token} {probability}, {fate}"), { token: name(token), probability: probability.toFixed(2), fate });
    });
    svg.setAttribute("aria-label", fill(_("What could follow: {spoken}."), { spoken: spoken.join(_("; ")) }));
  }

  // ---- what the figure says in words ------------------------------------------------------------

  function describe({ word, asked, listed, columns, complete, step, chosen }) {
    const goesIn = ["<bos>", ...way(chosen.parent).map((node) => node.token)].join(" ");
    const { look } = asked[chosen.parent.said];
    const most = look.indexOf(Math.max(...look));
    const marked = `${word.slice(0, most)}[${word[most]}]${word.slice(most + 1)}`;
    const beam = columns[step].kept.map((node) => {
      const tokens = way(node).map(({ token }) => token).join(" ");
      return `${tokens} (${number(node.sum, 2)})`;
    });
    const values = {
      step, last: columns.length - 1, goesIn, token: chosen.token, probability: chosen.probability.toFixed(2),
      marked, share: percent(look[most]), beam: beam.join(_(", ")),
    };
    return [
      fill(_("Step {step} of {last}. Goes in: {goesIn}. Comes out: {token}, with probability {probability}."), values),
      fill(_("The model looks most at {marked}, with {share} of its attention."), values),
      fill(_("Kept, best first: {beam}."), values),
      verdict(columns, complete, step, listed),
    ];
  }

  function verdict(columns, complete, step, listed) {
    const open = columns[step].kept.find((node) => node.token !== END);
    if (step < columns.length - 1) {
      return fill(_("The search goes on, with {sum} for the best beginning."), { sum: number(open.sum, 2) });
    }
    const found = listed.includes(complete.said)
      ? _("The dictionary lists {listed}, so this is right.")
      : _("The dictionary lists {listed}, so this counts as wrong.");
    return sentences(
      fill(_("The search is over: {said}, with {sum}."), { said: complete.said, sum: number(complete.sum, 2) }),
      fill(found, { listed: listed.join(_(" and ")) }),
    );
  }

  // ---- controls ---------------------------------------------------------------------------------

  function makeControls(parent, data, update, go) {
    const box = make(parent, "div", { className: "moving-controls" });
    const word = makeSelect(box, "moving-word", _("Word"), data.map((one) => [one.word, one.word]), update);
    const sliders = {
      beam: makeSlider(box, "beam", _("Beam size"), { min: 1, max: 4, value: 2 }, update),
      step: makeSlider(box, "step", _("Step"), { min: 1, max: 1 }, update),
      shown: makeSlider(box, "shown", _("Beginning shown, best first"), { min: 1, max: 1 }, update),
    };
    return { word, sliders, steps: makeSteps(parent, sliders.step.input, PAUSE, go) };
  }

  // What the controls say, and the search that follows from it.
  function read({ word, sliders }, data) {
    const one = data.find((entry) => entry.word === word.value);
    const beamSize = Number(sliders.beam.input.value);
    const { columns, complete } = search(one.asked, beamSize);
    sliders.step.input.max = columns.length - 1; // the browser moves a value that is too large
    const step = Number(sliders.step.input.value);
    const { kept } = columns[step];
    sliders.shown.input.max = kept.length;
    const chosen = kept[Number(sliders.shown.input.value) - 1];
    return { ...one, beamSize, columns, complete, step, chosen };
  }

  function show({ sliders, steps }, state) {
    const of = (shown, last) => fill(_("{shown} of {last}"), { shown, last });
    const said = { beam: String(state.beamSize), step: of(state.step, state.columns.length - 1) };
    said.shown = of(sliders.shown.input.value, state.columns[state.step].kept.length);
    for (const [key, slider] of Object.entries(sliders)) slider.show(said[key]);
    steps.showEnds();
  }

  function build(figure) {
    const data = dataFor("decoding");
    const box = document.createElement("div");
    const controls = makeControls(box, data, update, (step) => go(step));
    const pictures = make(box, "div", { className: "moving-pictures" });
    const panels = ["tree", "looks", "next"].map((kind) => {
      const place = make(pictures, "div", { className: `moving-place-${kind}` });
      return draw(place, "svg", { class: `moving-${kind}`, role: "img" });
    });
    const say = makeWords(box, 4);

    function update() {
      const state = read(controls, data);
      show(controls, state);
      [drawTree, drawLooks, drawNext].forEach((drawPicture, index) => drawPicture(panels[index], state));
      say(describe(state));
    }

    function go(step, shown = controls.sliders.shown.input.value) {
      controls.sliders.step.input.value = step; // the browser keeps it within its range
      const state = read(controls, data);
      controls.sliders.shown.input.value = Math.min(shown, state.columns[state.step].kept.length);
      update();
    }

    // A short cut for the mouse; the sliders do the same.
    panels[0].addEventListener("click", (event) => {
      const node = event.target.closest(".moving-node");
      const lane = Number(node?.dataset.lane);
      if (node && lane < Number(controls.sliders.beam.input.value)) go(Number(node.dataset.column), lane + 1);
    });
    figure.querySelector(".moving-fallback").replaceWith(box);
    onNewWidth(pictures, update);
    update();
  }

  start("decoding", build);
})();
