// The figure in book/decoding.ipynb in which a beam search grows step by step: the tree of the hypotheses, and below
// it the keys and values that are kept for each of them. Plain SVG and native controls, as in positions.js.
// The page holds the table of the model, and this file searches in it.
// book/_extensions/figures.py loads this file on pages that hold <figure data-figure="beam">.

(() => {
  const { number, fill, make, draw, clear } = window.moving;
  const { makeSlider, makeSelect, makeSteps, makeWords, onNewWidth, dataFor, start } = window.moving;
  const PAUSE = 2000; // milliseconds of half a step while it plays
  const LANE = 42; // from one leaf of the tree to the next below it
  const ROW = 34; // of the cache
  const MOST = 3; // the widest beam
  const [BEGIN, END] = ["<bos>", "<eos>"];
  const RANKINGS = [[0, _("sum of logs (\u03b1 = 0)")], [1, _("mean of logs (\u03b1 = 1)")]];

  const fitting = (token, width) => (width < 44 ? token.replace(/[<>]/g, "") : token); // of <bos>, "bos" on a phone
  const shown = (probability) => probability.toFixed(3);
  const words = (node) => node.tokens.join(" ");

  // ---- the search -------------------------------------------------------------------------------

  // Each step holds the hypotheses that were alive before it, all their extensions, and those that are kept.
  function search({ follows, longest }, beamSize) {
    const root = { token: BEGIN, tokens: [], probability: 1, parent: null, children: [] };
    const steps = [];
    for (let live = [root]; live.length > 0 && steps.length < longest;) {
      live.forEach((parent) => {
        parent.children = Object.entries(follows[parent.token]).map(([token, p]) => extend(parent, token, p));
      });
      const grown = live.flatMap((parent) => parent.children);
      grown.sort((one, other) => other.probability - one.probability);
      const kept = grown.slice(0, beamSize);
      steps.push({ live, grown, kept, dropped: grown.slice(beamSize) });
      live = kept.filter((node) => node.token !== END);
    }
    return { root, steps };
  }

  function extend(parent, token, p) {
    return { token, tokens: [...parent.tokens, token], probability: parent.probability * p, parent, children: [] };
  }

  // The best of the hypotheses that have ended or are still alive.
  function bestOf(steps, alpha) {
    const score = (node) => Math.log(node.probability) / node.tokens.length ** alpha;
    const ended = steps.flatMap(({ kept }) => kept.filter((node) => node.token === END));
    const answers = [...ended, ...steps.at(-1).kept.filter((node) => node.token !== END)];
    const best = answers.reduce((one, other) => (score(other) > score(one) ? other : one));
    return { best, score: score(best) };
  }

  const wayTo = (node) => (node === null ? [] : [...wayTo(node.parent), node]);

  // Gives each node its lane, so that no branches cross; returns the number of leaves.
  function layOut(root) {
    let leaves = 0;
    const visit = (node) => {
      node.children.forEach(visit);
      if (node.children.length === 0) node.lane = leaves++;
      else node.lane = (node.children[0].lane + node.children.at(-1).lane) / 2;
    };
    visit(root);
    return leaves;
  }

  // ---- the tree ---------------------------------------------------------------------------------

  function kindOf(node, { steps, step, isDecided, best }) {
    const depth = node.tokens.length;
    if (depth === step && !isDecided) return "beam-open";
    if (depth > 0 && !steps[depth - 1].kept.includes(node)) return "beam-dropped";
    return best && wayTo(best).includes(node) ? "beam-best" : "beam-kept";
  }

  function drawTree(svg, state) {
    const { root, steps, step, leaves } = state;
    const width = clear(svg, 26 + LANE * leaves);
    const gap = (width - 4) / (steps.length + 1);
    const box = Math.min(62, gap - 10);
    const x = (node) => 2 + node.tokens.length * gap;
    const y = (node) => 26 + LANE * (node.lane + 0.5);
    svg.classList.toggle("beam-narrow", box < 46);
    for (let depth = 1; depth <= steps.length; depth += 1) {
      const label = { x: depth * gap + box / 2, y: 14, "text-anchor": "middle", class: "moving-faint" };
      draw(svg, "text", label, box < 46 ? depth : fill(_("step {step}"), { step: depth }));
    }
    const [edges, boxes] = [draw(svg, "g"), draw(svg, "g")];
    const visit = (node) => {
      const kind = kindOf(node, state);
      if (node.parent) {
        const [from, to] = [x(node.parent) + box, x(node)];
        const middle = (from + to) / 2;
        const d = `M${from} ${y(node.parent)} C${middle} ${y(node.parent)} ${middle} ${y(node)} ${to} ${y(node)}`;
        draw(edges, "path", { d, class: `beam-edge ${kind}` });
      }
      const group = draw(boxes, "g", { class: `beam-node ${kind}`, "data-tokens": node.tokens.join(" ") });
      draw(group, "rect", { x: x(node), y: y(node) - 17, width: box, height: 34, rx: 6 });
      const middle = { x: x(node) + box / 2, "text-anchor": "middle" };
      draw(group, "text", { ...middle, y: y(node) - 2, class: "beam-token" }, fitting(node.token, box));
      draw(group, "text", { ...middle, y: y(node) + 12, class: "beam-number" }, node.parent ? shown(node.probability) : "1");
      if (node.tokens.length < step) node.children.forEach(visit);
    };
    visit(root);
    const grown = step === 0 ? [] : steps[step - 1].grown.map((node) => `${words(node)} ${shown(node.probability)}`);
    const seen = grown.join(_(", ")) || _("only the begin token");
    svg.setAttribute("aria-label", fill(_("The tree after step {step}: {seen}."), { step, seen }));
  }

  // ---- the cache --------------------------------------------------------------------------------

  // Whose keys and values a hypothesis has in the cache, once the model has run it.
  const cached = (node) => [BEGIN, ...node.tokens];

  function drawRow(svg, tokens, x, y, cell, newest) {
    tokens.forEach((token, place) => {
      const kind = newest && place === tokens.length - 1 ? "beam-cell beam-new" : "beam-cell";
      draw(svg, "rect", { x: x + place * cell + 1, y: y + 1, width: cell - 2, height: ROW - 10, rx: 3, class: kind });
      const middle = { x: x + (place + 0.5) * cell, y: y + 17, "text-anchor": "middle" };
      const size = Math.min(13, 0.42 * cell); // "have" fits
      draw(svg, "text", { ...middle, style: `font-size: ${size.toFixed(1)}px` }, fitting(token, cell));
    });
  }

  function drawCache(svg, { steps, step, isDecided, best }) {
    const width = clear(svg, 26 + ROW * MOST);
    const middle = width < 480 ? 34 : 80;
    const cell = Math.min(46, (width - middle) / 2 / steps.length);
    const right = width - cell * steps.length;
    draw(svg, "text", { x: 0, y: 14 }, width < 480 ? _("cache: keys, values") : _("cache: keys and values of each live hypothesis"));
    if (step === 0) {
      draw(svg, "text", { x: 0, y: 44, class: "moving-faint" }, _("empty: the model has not run yet"));
      svg.setAttribute("aria-label", _("The cache is empty."));
      return;
    }
    const { live, kept } = steps[step - 1];
    const y = (row) => 26 + ROW * row;
    live.forEach((node, row) => drawRow(svg, cached(node), 0, y(row), cell, !isDecided));
    const next = best ? [] : kept.filter((node) => node.token !== END);
    if (isDecided) {
      draw(svg, "text", { x: right, y: 14 }, width < 480 ? _("copied for") : _("copied for the next step"));
      next.forEach((node, row) => {
        const from = live.indexOf(node.parent);
        const [x1, y1, x2, y2] = [cell * step + 4, y(from) + 13, right - 4, y(row) + 13];
        const half = (x1 + x2) / 2;
        draw(svg, "path", { d: `M${x1} ${y1} C${half} ${y1} ${half} ${y2} ${x2} ${y2}`, class: "beam-copy" });
        drawRow(svg, cached(node.parent), right, y(row), cell, false);
      });
      const none = width < 480 ? _("nothing") : _("nothing: the search is over");
      if (next.length === 0) draw(svg, "text", { x: right, y: y(0) + 17, class: "moving-faint" }, none);
    }
    const rows = live.map((node) => cached(node).join(" ")).join(_("; "));
    svg.setAttribute("aria-label", fill(_("Rows of the cache: {rows}."), { rows }));
  }

  // ---- what the figure says in words ------------------------------------------------------------

  function describe(state) {
    const { steps, step, isDecided, beamSize } = state;
    if (step === 0) return [_("Which beginnings will the beam hold after step 2? Look them up in the table, then press Next."), "", ""];
    const { live, grown, kept } = steps[step - 1];
    const count = isDecided ? grown.length - kept.length : grown.length;
    const asked = count === 1
      ? _("Step {step}: the model was asked about {live}, which gives {count} extension. Which {most} will be kept?")
      : _("Step {step}: the model was asked about {live}, which gives {count} extensions. Which {most} will be kept?");
    const decided = count === 1
      ? _("Step {step}: kept, best first: {kept}. {count} extension dropped.")
      : _("Step {step}: kept, best first: {kept}. {count} extensions dropped.");
    const told = fill(isDecided ? decided : asked, {
      step,
      count,
      kept: kept.map((node) => `${words(node)} (${shown(node.probability)})`).join(_(", ")),
      live: live.map((node) => cached(node).join(" ")).join(_(" and ")),
      most: Math.min(beamSize, grown.length),
    });
    return [told, tellWork(state), tellEnd(state)];
  }

  // A pass over the newest token of each live hypothesis, against one over all its tokens.
  function tellWork({ steps, step }) {
    const done = steps.slice(0, step).map(({ live }) => live.length);
    const total = done.reduce((sum, rows) => sum + rows, 0);
    const whole = done.reduce((sum, rows, index) => sum + rows * (index + 1), 0);
    const said = total === 1
      ? _("So far the decoder has run {total} token, one for each live hypothesis in each step; without the cache {whole}.")
      : _("So far the decoder has run {total} tokens, one for each live hypothesis in each step; without the cache {whole}.");
    return fill(said, { total, whole });
  }

  function tellEnd({ steps, step, isDecided, best, score, alpha }) {
    const ended = isDecided ? steps[step - 1].kept.filter((node) => node.token === END) : [];
    if (best) {
      const how = alpha === 0 ? `ln ${shown(best.probability)}` : `(ln ${shown(best.probability)}) / ${best.tokens.length}`;
      const values = { answer: words(best), how, score: number(score, 3) };
      const isCut = steps.at(-1).kept.some((node) => node.token !== END);
      return isCut
        ? fill(_("max_len = {limit} is reached, so the search is over. Best answer: {answer}, with {how} = {score}."), { ...values, limit: steps.length + 1 })
        : fill(_("The search is over. Best answer: {answer}, with {how} = {score}."), values);
    }
    return ended.length > 0 ? fill(_("Set aside: {ended}. The search goes on."), { ended: ended.map(words).join(_(", ")) }) : "";
  }

  // ---- controls ---------------------------------------------------------------------------------

  function build(figure) {
    const data = dataFor("beam");
    const box = document.createElement("div");
    const controls = make(box, "div", { className: "moving-controls" });
    const beam = makeSlider(controls, "beam", _("Beam size W"), { min: 1, max: MOST, value: 2 }, restart);
    const moment = makeSlider(controls, "moment", _("Half steps"), { min: 0, max: 1, value: 0 }, update);
    const ranking = makeSelect(controls, "moving-ranking", _("Rank the answers by"), RANKINGS, update);
    const buttons = makeSteps(box, moment.input, PAUSE, (value) => {
      moment.input.value = value; // the browser keeps it within its range
      update();
    });
    const pictures = make(box, "div", { className: "moving-pictures" });
    const [tree, cache] = ["tree", "cache"].map((kind) => draw(make(pictures, "div"), "svg", { class: `beam-${kind}`, role: "img" }));
    const say = makeWords(box, 3);

    function read() {
      const beamSize = Number(beam.input.value);
      const found = search(data, beamSize);
      moment.input.max = 2 * found.steps.length;
      const at = Number(moment.input.value);
      const [step, isDecided] = [Math.ceil(at / 2), at % 2 === 0];
      const alpha = Number(ranking.value);
      const isOver = at === 2 * found.steps.length;
      const end = isOver ? bestOf(found.steps, alpha) : { best: null, score: 0 };
      return { ...found, ...end, leaves: layOut(found.root), beamSize, step, isDecided, alpha };
    }

    function update() {
      const state = read();
      beam.show(String(state.beamSize));
      const half = state.isDecided ? _("step {step}: keep") : _("step {step}: extend");
      moment.show(state.step === 0 ? _("begin") : fill(half, state));
      buttons.showEnds();
      drawTree(tree, state);
      drawCache(cache, state);
      say(describe(state));
    }

    function restart() {
      moment.input.value = 0; // another beam is another search
      update();
    }

    figure.querySelector(".moving-fallback").replaceWith(...box.childNodes);
    onNewWidth(pictures, update);
    update();
  }

  start("beam", build);
})();
