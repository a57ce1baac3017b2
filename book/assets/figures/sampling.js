// The figure in book/decoding.ipynb and book/gpt.ipynb that the reader moves: what temperature, top-k and top-p make of
// the model's guess, and what comes out when tokens are drawn from it. Plain SVG and native controls, as in positions.js.
// The page holds the logits, and this file does what transformer_ref.decoding does with them.
// book/_extensions/figures.py loads this file on pages that hold <figure data-figure="sampling">.

(() => {
  const { number, percent, fill, sentences, softmax, make, draw, clear } = window.moving;
  const { makeSlider, makeSelect, makeButtons, makeWords, onNewWidth, dataFor, start } = window.moving;
  const SHOWN = 10; // so many tokens have a row, and one row is for all others
  const ROW = 26;
  const HEAD = 26; // room for the names of the columns
  const ALL = Infinity;
  const TOP_KS = [1, 2, 3, 5, 8, 10, 20, 50, 100, 300, ALL];
  const SCALES = [0.1, 0.2, 0.4, 0.6, 0.8, 1];
  const OUTSIDE = 0.01; // how often a fair draw may leave the range that is shown

  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const whole = (value) => value.toLocaleString("en");
  const share = (value) => (value > 0 && value < 0.0995 ? `${(100 * value).toFixed(1)}%` : percent(value));
  const bits = (probabilities) => -sum(probabilities.map((p) => (p > 0 ? p * Math.log2(p) : 0)));
  const said = (name) => name.replace(/ /g, "\u2423").replace(/\n/g, "\u21b5");

  // ---- what the rules make of the logits --------------------------------------------------------

  // The likeliest first. `why` names the rule that cuts a token off, or is empty.
  function apply(logits, { temperature, topK, topP }) {
    const before = softmax(logits);
    const tempered = softmax(logits.map((logit) => logit / temperature));
    const why = logits.map((_, index) => (index >= topK ? "top-k" : ""));
    const left = sum(tempered.filter((_, index) => why[index] === ""));
    let likelier = 0; // what the likelier tokens have together, of what top-k has left
    tempered.forEach((p, index) => {
      if (why[index] === "" && topP < 1 && likelier / left >= topP) why[index] = "top-p";
      likelier += p;
    });
    const kept = sum(tempered.filter((_, index) => why[index] === ""));
    const after = tempered.map((p, index) => (why[index] === "" ? p / kept : 0));
    return { before, tempered, after, why, kept };
  }

  // A fair draw of `total` leaves this range once in a hundred times at most.
  function fairRange(probability, total) {
    if (probability <= 0 || probability >= 1) return [probability * total, probability * total].map(Math.round);
    const range = [];
    let chance = total * Math.log(1 - probability); // its logarithm, for a count of 0
    let upTo = Math.exp(chance);
    for (let count = 0; count <= total; count += 1) {
      if (range.length === 0 && upTo > OUTSIDE / 2) range.push(count);
      if (upTo >= 1 - OUTSIDE / 2) return [...range, count];
      chance += Math.log((total - count) / (count + 1)) + Math.log(probability / (1 - probability));
      upTo += Math.exp(chance);
    }
    return [range[0], total];
  }

  // Random numbers that begin with the same ones for every reader (mulberry32).
  function makeRandom(seed) {
    let state = seed;
    return () => {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    };
  }

  // Each draw is a random point on a line on which every token is as long as its probability.
  function drawTokens(after, total, random) {
    const ends = [];
    after.forEach((p) => ends.push((ends.at(-1) ?? 0) + p));
    const points = Array.from({ length: total }, random);
    const indices = points.map((point) => {
      const found = ends.findIndex((end) => point < end);
      return found < 0 ? after.findLastIndex((p) => p > 0) : found; // the last end may be rounded below 1
    });
    const counts = after.map(() => 0);
    indices.forEach((index) => (counts[index] += 1));
    return { total, points, indices, counts };
  }

  // The rows of the picture: the likeliest tokens, and the others together.
  function rowsOf({ names, before, after, why, drawn }) {
    const rows = names.slice(0, SHOWN).map((name, index) => ({
      name: said(name), before: before[index], after: after[index], why: why[index], count: drawn?.counts[index],
    }));
    if (names.length <= SHOWN) return withRanges(rows, drawn);
    const rest = (values) => sum(values.slice(SHOWN));
    const cut = after[SHOWN] > 0 ? "" : why[SHOWN];
    const others = { name: _("others"), before: rest(before), after: rest(after), why: cut, isRest: true };
    rows.push({ ...others, count: drawn && rest(drawn.counts) });
    return withRanges(rows, drawn);
  }

  function withRanges(rows, drawn) {
    return rows.map((row) => ({ ...row, range: drawn && fairRange(Math.min(1, row.after), drawn.total) }));
  }

  // ---- drawing ----------------------------------------------------------------------------------

  // Where the columns end; a phone has no room for the model's own percentages.
  function columnsOf(width) {
    const isNarrow = width < 480;
    const bar = isNarrow ? 66 : 84;
    const drawn = width - (isNarrow ? 62 : 76);
    const after = drawn - (isNarrow ? 50 : 56);
    const end = after - (isNarrow ? 42 : 110);
    return { isNarrow, bar, room: end - bar, before: isNarrow ? null : after - 58, after, drawn, range: width };
  }

  function drawHead(svg, at, scale, count) {
    const names = { after: _("after"), drawn: _("drawn"), range: at.isNarrow ? _("fair") : _("fair range") };
    if (at.before) names.before = _("before");
    draw(svg, "text", { x: at.bar - 8, y: 14, "text-anchor": "end", class: "moving-faint" }, _("token"));
    for (const [column, name] of Object.entries(names)) {
      draw(svg, "text", { x: at[column], y: 14, "text-anchor": "end", class: "moving-faint" }, name);
    }
    [0, 0.5, 1].forEach((part, index) => {
      const x = at.bar + part * at.room;
      draw(svg, "line", { x1: x, x2: x, y1: 20, y2: HEAD + ROW * count, class: "moving-line sampling-grid" });
      if (at.isNarrow && part < 1) return;
      const anchor = ["start", "middle", "end"][index];
      draw(svg, "text", { x, y: 14, "text-anchor": anchor, class: "moving-faint" }, percent(part * scale));
    });
  }

  function drawRow(svg, row, y, at, scale) {
    const length = (p) => at.room * Math.min(1, p / scale);
    const group = draw(svg, "g", { class: `sampling-row${row.why ? " sampling-cut" : ""}` });
    draw(group, "text", { x: at.bar - 8, y: y + 16, "text-anchor": "end", class: "sampling-name" }, row.name);
    if (row.isRest) {
      const what = row.why ? _("all are cut") : at.isNarrow ? _("each is small") : _("each of them is small");
      draw(group, "text", { x: at.bar + 4, y: y + 16, class: "moving-faint" }, what);
    } else {
      draw(group, "rect", { x: at.bar, y: y + 3, width: length(row.after), height: 18, class: "sampling-after" });
      draw(group, "rect", { x: at.bar, y: y + 3, width: length(row.before), height: 18, class: "sampling-before" });
      const why = { x: at.bar + length(row.before) + 6, y: y + 16, class: "moving-faint" };
      if (row.why) draw(group, "text", why, fill(_("cut by {rule}"), { rule: row.why }));
    }
    const numbers = { before: share(row.before), after: share(row.after) };
    if (row.range && row.after > 0) Object.assign(numbers, { drawn: row.count, range: row.range.join("\u2013") });
    for (const [column, shown] of Object.entries(numbers)) {
      if (!at[column]) continue;
      draw(group, "text", { x: at[column], y: y + 16, "text-anchor": "end", class: `sampling-${column}-number` }, shown);
    }
  }

  // The range of a fair draw as a whisker, and what came out as a diamond.
  function drawCount(svg, row, total, y, at, scale) {
    const x = (count) => at.bar + at.room * Math.min(1, count / total / scale);
    const [low, high] = row.range.map(x);
    const middle = y + 12;
    const d = `M${low} ${middle} H${high} M${low} ${middle - 5} v10 M${high} ${middle - 5} v10`;
    draw(svg, "path", { d, class: "sampling-range" });
    const [place, size] = [x(row.count), 5.5];
    const diamond = `M${place} ${middle - size} l${size} ${size} l${-size} ${size} l${-size} ${-size} Z`;
    draw(svg, "path", { d: diamond, class: "sampling-drawn" });
  }

  // Every token as long as its probability; those with a row in turns darker and lighter.
  function drawLine(svg, values, y, width, why) {
    let x = 0;
    values.slice(0, SHOWN).forEach((p, index) => {
      const kind = why[index] ? "sampling-lost" : `sampling-part sampling-${index % 2 ? "odd" : "even"}`;
      draw(svg, "rect", { x, y, width: p * width, height: 16, class: kind });
      x += p * width;
    });
    const kept = sum(values.filter((_, index) => index >= SHOWN && !why[index])) * width;
    draw(svg, "rect", { x, y, width: kept, height: 16, class: "sampling-part sampling-rest" });
    const lost = { x: x + kept, y, width: Math.max(0, width - x - kept), height: 16, class: "sampling-lost" };
    draw(svg, "rect", lost);
  }

  function drawLines(svg, state, top, width) {
    const { tempered, after, why, kept, drawn } = state;
    const [first, second] = [top + 20, top + 78];
    const isAll = why.every((rule) => rule === "");
    const temperature = number(state.temperature, 1);
    draw(svg, "text", { x: 0, y: top + 12 }, fill(_("All {count} tokens at temperature {temperature}, side by side"), { count: whole(after.length), temperature }));
    drawLine(svg, tempered, first, width, why);
    const d = `M0 ${first + 18} L${kept * width} ${first + 18} L${width} ${second - 2} L0 ${second - 2} Z`;
    draw(svg, "path", { d, class: "sampling-stretch" });
    const told = isAll ? _("nothing is cut") : fill(_("the {share} that are kept become 100%"), { share: share(kept) });
    draw(svg, "text", { x: 6, y: first + 42, class: "sampling-told" }, told);
    drawLine(svg, after, second, width, why);
    draw(svg, "rect", { x: 0, y: second, width, height: 16, class: "moving-line" });
    const strength = drawn?.total > 100 ? 0.25 : 0.8;
    const ticks = (drawn?.points ?? []).map((point) => `M${(point * width).toFixed(1)} ${second + 19} v12`);
    draw(svg, "path", { d: ticks.join(" "), class: "sampling-ticks", "stroke-opacity": strength });
    const below = drawn ? _("Each draw is a random point on the lower line.") : _("A draw is a random point on the lower line.");
    draw(svg, "text", { x: 0, y: second + 48, class: "moving-faint" }, below);
  }

  function drawAll(svg, state) {
    const rows = rowsOf(state);
    const top = HEAD + ROW * rows.length + 14;
    const width = clear(svg, top + 134);
    const at = columnsOf(width);
    const most = Math.max(...rows.filter((row) => !row.isRest).flatMap((row) => [row.before, row.after]));
    const scale = SCALES.find((end) => end >= Math.min(1, 1.3 * most)); // a draw may pass its bar
    drawHead(svg, at, scale, rows.filter((row) => !row.isRest).length);
    rows.forEach((row, index) => drawRow(svg, row, HEAD + ROW * index, at, scale));
    rows.forEach((row, index) => {
      if (state.drawn && row.after > 0 && !row.isRest) drawCount(svg, row, state.drawn.total, HEAD + ROW * index, at, scale);
    });
    drawLines(svg, state, top, width);
    const spoken = rows.map(({ name, before, after, why }) => (
      fill(_("{name} {before}, then {after}"), { name, before: share(before), after: why ? _("cut") : share(after) })));
    const label = _("Next token after {prompt}, before and after: {spoken}.");
    svg.setAttribute("aria-label", fill(label, { prompt: state.prompt, spoken: spoken.join(_("; ")) }));
  }

  // ---- what the figure says in words ------------------------------------------------------------

  function describe(state) {
    const [before, after] = [bits(state.before), bits(state.after)];
    const like = (entropy) => number(2 ** entropy, entropy < 4 ? 1 : 0);
    return [
      fill(_("Entropy, the mean cost of a drawn token: {before} bits before, {after} bits after. So it is as open as a draw among {now} equally likely tokens (before: {then})."), {
        before: number(before, 1), after: number(after, 1), now: like(after), then: like(before),
      }),
      tellCuts(state),
      tellDraws(state),
    ];
  }

  function tellCuts({ names, why, kept, topK, topP }) {
    const count = why.filter((rule) => rule === "").length;
    if (count === names.length) return fill(_("Nothing is cut: all {count} tokens can come."), { count: whole(count) });
    const rules = [];
    if (topK !== ALL) rules.push(topK === 1 ? _("Top-k keeps the likeliest token.") : _("Top-k keeps the {topK} likeliest tokens."));
    if (topP < 1) {
      rules.push(topK === ALL ? _("Top-p keeps the likeliest until they have {topP}.") : _("Top-p keeps the likeliest until they have {topP} of what is left."));
    }
    rules.push(count === 1
      ? _("{count} of {all} tokens is left; together they had {share} at this temperature.")
      : _("{count} of {all} tokens are left; together they had {share} at this temperature."));
    const values = { topK, topP: percent(topP), count, all: whole(names.length), share: share(kept) };
    return sentences(...rules.map((rule) => fill(rule, values)));
  }

  function tellDraws(state) {
    const { names, drawn } = state;
    if (!drawn) return _("Drawn: nothing yet. Guess first how often the first token will come.");
    const rows = rowsOf(state).filter((row) => row.after > 0);
    const fair = rows.filter(({ count, range }) => count >= range[0] && count <= range[1]);
    const first = drawn.indices.slice(0, 6).map((index) => said(names[index])).join(" ");
    return fill(_("Drawn: {total} tokens, beginning with {first}. {fair} of {rows} counts lie in the range that holds 99 of 100 fair draws."), {
      total: whole(drawn.total), first, fair: fair.length, rows: rows.length,
    });
  }

  // ---- controls ---------------------------------------------------------------------------------

  function makeControls(parent, data, change) {
    const box = make(parent, "div", { className: "moving-controls" });
    const prompt = makeSelect(box, "moving-prompt", _("Text so far"), data.prompts.map(({ text }, index) => [index, text]), change);
    const temperature = makeSlider(box, "temperature", _("Temperature"), { min: 1, max: 20, value: 10 }, change);
    const topK = makeSlider(box, "topk", _("Top-k"), { max: TOP_KS.length - 1, value: TOP_KS.length - 1 }, change);
    const topP = makeSlider(box, "topp", _("Top-p"), { min: 1, max: 20, value: 20 }, change);
    return { prompt, temperature, topK, topP };
  }

  function read({ prompt, temperature, topK, topP }, sorted) {
    const rules = {
      temperature: Number(temperature.input.value) / 10,
      topK: TOP_KS[Number(topK.input.value)],
      topP: Number(topP.input.value) / 20,
    };
    temperature.show(number(rules.temperature, 1));
    topK.show(rules.topK === ALL ? _("all") : String(rules.topK));
    topP.show(rules.topP === 1 ? _("all") : number(rules.topP, 2));
    const chosen = sorted[Number(prompt.value)];
    return { ...chosen, ...rules, ...apply(chosen.logits, rules) };
  }

  // The tokens of each prompt, the likeliest first; no rule changes this order. A prompt may have tokens of its own.
  function sortTokens(data) {
    return data.prompts.map(({ text, logits, names = data.names }) => {
      const order = logits.map((_, index) => index).sort((one, other) => logits[other] - logits[one]);
      return { prompt: text, logits: order.map((index) => logits[index]), names: order.map((index) => names[index]) };
    });
  }

  function build(figure) {
    const data = dataFor("sampling");
    const sorted = sortTokens(data);
    const random = makeRandom(1);
    const box = document.createElement("div");
    const controls = makeControls(box, data, forget);
    const buttons = makeButtons(box, [_("Draw 100"), _("Draw 1,000")]);
    const pictures = make(box, "div", { className: "moving-pictures" });
    const svg = draw(make(pictures, "div"), "svg", { class: "sampling-picture", role: "img" });
    const say = makeWords(box, 3);
    let drawn = null;

    function update() {
      const state = { ...read(controls, sorted), drawn };
      drawAll(svg, state);
      say(describe(state));
    }

    function forget() {
      drawn = null; // it was drawn from another distribution
      update();
    }

    [100, 1000].forEach((total, index) => buttons[index].addEventListener("click", () => {
      drawn = drawTokens(read(controls, sorted).after, total, random);
      update();
    }));
    figure.querySelector(".moving-fallback").replaceWith(...box.childNodes);
    onNewWidth(pictures, update);
    update();
  }

  start("sampling", build);
})();
