// What is drawn on the page book/speak.md: ribbons, bars, tables and sentences, each made anew from a "view".
// A view is {word, phonemes, steps, at, layer, head, hidden, off, forced, plain}: the tokens' names, the steps that
// the model made, how many of them are shown, whose attention ("mean" or a number), the letters that are hidden,
// the heads that are off, what the reader forced, and the answer without all this.

window.speller = {};

window.speller.pictures = (() => {
  const { number, percent, softmax, make, draw } = window.moving;
  const END = "<eos>";
  const [MOST, FAINTEST] = [5, 0.03]; // tokens shown as bars; weights below this are not drawn

  const name = (view, id) => (view.phonemes[id] === END ? "end" : view.phonemes[id]);
  const say = (view, ids) => ids.map((id) => name(view, id)).filter((each) => each !== "end").join(" ") || "nothing";

  // The likeliest tokens that a layer would say: [{id, probability}], best first.
  function likeliest(logits, most) {
    const all = softmax(logits).map((probability, id) => ({ id, probability }));
    return all.sort((one, other) => other.probability - one.probability).slice(0, most);
  }

  // The weight of each letter in one step, for one head, or as a mean over heads, layers or both; what is off is left out.
  function look({ layer, head, off }, step) {
    const rows = step.cross.flatMap((heads, depth) => heads.filter((_, number) => {
      const chosen = (layer === "mean" || layer === depth) && (head === "mean" || head === number);
      return chosen && !off.has(`${depth + 1}.${number + 1}`);
    }));
    if (rows.length === 0) return step.cross[0][0].map(() => 0);
    return rows[0].map((_, place) => rows.reduce((sum, row) => sum + row[place], 0) / rows.length);
  }

  function whose({ layer, head }) {
    const heads = head === "mean" ? "the mean of its heads" : `head ${head + 1}`;
    if (layer === "mean") return head === "mean" ? "the mean of all layers and heads" : `head ${head + 1}, the mean of the layers`;
    return `layer ${layer + 1}, ${heads}`;
  }

  // ---- ribbons from phonemes to letters ---------------------------------------------------------

  function spread(width, count, most, margin = 4) {
    const space = Math.min(most, (width - margin) / count);
    return { space, at: (place) => width / 2 + (place - (count - 1) / 2) * space };
  }

  // Letters are buttons of HTML below this picture, so that a finger and a keyboard reach them.
  function drawRibbons(svg, view) {
    const width = Math.max(240, svg.parentElement.clientWidth);
    const { space, at: x } = spread(width, view.steps.length, 64, 26);
    const crowded = space < 30; // then every second phoneme stands lower
    const [top, bottom] = [crowded ? 56 : 26, crowded ? 190 : 170];
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${bottom}`);
    svg.setAttribute("height", bottom);
    const letters = spread(width, view.word.length, 52);
    const shown = view.steps.slice(0, view.at);
    const complete = view.at === view.steps.length;
    shown.forEach((step, row) => {
      const now = complete || row === shown.length - 1;
      look(view, step).forEach((weight, place) => {
        if (weight < FAINTEST) return;
        const [from, to, middle] = [x(row), letters.at(place), (top + bottom) / 2];
        const d = `M${from} ${top + 14} C${from} ${middle} ${to} ${middle} ${to} ${bottom}`;
        const kind = `moving-look ${now ? "" : "moving-old"} ${now && !complete ? "moving-new" : ""}`;
        const thickness = 1 + Math.min(13, letters.space / 2) * weight;
        draw(svg, "path", { d, class: kind, pathLength: 1, "stroke-width": thickness, "data-step": row, "data-weight": weight });
      });
    });
    shown.forEach((step, row) => drawPhoneme(svg, view, row, x(row), top - (crowded && row % 2 ? 30 : 0), (crowded ? 2 : 1) * space));
    svg.setAttribute("aria-label", `Where the model looks: ${sentenceOfLook(view)}`);
  }

  function drawPhoneme(svg, view, row, x, y, space) {
    const box = Math.min(52, space - 6);
    const now = row === view.at - 1;
    const kind = `speak-phoneme ${now ? "speak-now" : ""} ${view.forced.has(row) ? "speak-forced" : ""}`;
    const group = draw(svg, "g", { class: kind, "data-step": row });
    draw(group, "rect", { x: x - box / 2, y: y - 15, width: box, height: 29, rx: 7 });
    draw(group, "text", { x, y: y + 4.5, "text-anchor": "middle" }, name(view, view.steps[row].id));
  }

  function showLetters(buttons, view) {
    const width = Math.max(240, buttons[0]?.parentElement.clientWidth ?? 0);
    const { space } = spread(width, view.word.length, 52);
    const weights = look(view, view.steps[view.at - 1]);
    buttons.forEach((button, place) => {
      const [letter, share] = button.children;
      button.style.width = `${space}px`;
      letter.style.fontSize = `${Math.min(18, Math.max(11, 0.9 * space))}px`;
      letter.style.setProperty("--share", weights[place]);
      share.textContent = weights[place] < 0.05 || space < 26 ? "" : percent(weights[place]);
      button.setAttribute("aria-pressed", String(view.hidden.has(place)));
    });
  }

  function sentenceOfLook(view) {
    const step = view.steps[view.at - 1];
    const weights = look(view, step);
    const highest = Math.max(...weights);
    if (view.hidden.size === view.word.length) return "all letters are hidden, so there is nothing to look at.";
    if (highest === 0) return `nothing comes from the letters: what is chosen, ${whose(view)}, is off.`;
    const places = weights.map((weight, place) => [weight, place]).filter(([weight]) => weight >= 0.1);
    places.sort(([one], [other]) => other - one);
    const shares = places.slice(0, 3).map(([weight, place]) => `${view.word[place]} (letter ${place + 1}) ${percent(weight)}`);
    return `to say ${name(view, step.id)}, it looks at ${shares.join(", ") || "no letter in particular"}; this is ${whose(view)}.`;
  }

  // ---- the next phoneme, and what each layer would say ------------------------------------------

  // The rows are made once, so that a key that was pressed on one keeps its focus.
  function makeBars(parent, onChoose) {
    return Array.from({ length: MOST }, () => {
      const row = make(parent, "button", { type: "button", className: "speak-bar" });
      const parts = ["speak-token", "speak-track", "speak-number"].map((className) => make(row, "span", { className }));
      make(parts[1], "span", { className: "speak-fill" });
      row.addEventListener("click", () => onChoose(Number(row.dataset.id)));
      return row;
    });
  }

  function showBars(rows, view) {
    const step = view.steps[view.at - 1];
    likeliest(step.lens.at(-1), MOST).forEach(({ id, probability }, place) => {
      const [token, track, figure] = rows[place].children;
      rows[place].dataset.id = id;
      token.textContent = name(view, id);
      track.firstChild.style.width = percent(probability);
      figure.textContent = probability.toFixed(3);
      rows[place].setAttribute("aria-pressed", String(id === step.id));
      rows[place].setAttribute("aria-label", `${name(view, id)}, probability ${probability.toFixed(3)}`);
    });
  }

  function table(parent, caption, heads, rows) {
    const made = make(parent, "table", { className: "speak-table" });
    make(made, "caption", { textContent: caption });
    const top = make(make(made, "thead"), "tr");
    heads.forEach((textContent) => make(top, "th", { scope: "col", textContent }));
    const body = make(made, "tbody");
    return rows.map(([first, ...cells]) => {
      const row = make(body, "tr");
      make(row, "th", { scope: "row", textContent: first });
      return cells.map((textContent) => make(row, "td", { textContent }));
    });
  }

  function showLens(box, view) {
    box.replaceChildren();
    const { lens } = view.steps[view.at - 1];
    const rows = lens.map((logits, layer) => {
      const words = likeliest(logits, 2).map(({ id, probability }) => `${name(view, id)} ${probability.toFixed(2)}`);
      return [layer === lens.length - 1 ? `${layer + 1}: the model` : layer + 1, ...words];
    });
    table(box, `What each layer would say at step ${view.at}`, ["layer", "first", "second"], rows);
  }

  // The heat map: a row for each phoneme, a column for each letter, the darker, the larger the weight.
  function showNumbers(box, view) {
    box.replaceChildren();
    const steps = view.steps.slice(0, view.at);
    const rows = steps.map((step) => [name(view, step.id), ...look(view, step).map((weight) => weight.toFixed(2))]);
    const cells = table(box, `Attention weights, ${whose(view)}; each row sums to 1`, ["phoneme", ...view.word], rows);
    cells.flat().forEach((cell) => cell.style.setProperty("--share", cell.textContent));
  }

  // ---- greedy and beam --------------------------------------------------------------------------

  // Its last tokens: the others stand in the rows above.
  function beginning(view, ids) {
    const names = ids.map((id) => name(view, id));
    return names.length > 4 ? `\u2026 ${names.slice(-4).join(" ")}` : names.join(" ");
  }

  function showBeams(box, view, { greedy, best, columns, size }) {
    box.replaceChildren();
    const sum = (one) => number(one.sum, 2);
    const [first] = best;
    const same = first.ids.join() === greedy.at(-1).ids.join();
    const verdict = same
      ? "Both give the same answer."
      : `The beam finds an answer that the model takes to be ${Math.exp(first.sum - greedy.at(-1).sum).toFixed(1)} times as probable.`;
    make(box, "p", { className: "speak-verdict", textContent: `Greedy: ${say(view, greedy.at(-1).ids.slice(1))}, log-probability ${sum(greedy.at(-1))}. Beam of ${size}: ${say(view, first.ids.slice(1))}, ${sum(first)}. ${verdict}` });
    const heads = ["Step", "greedy", ...columns[0].map((_, place) => `beam, no. ${place + 1}`)];
    const cell = (one) => `${beginning(view, one.ids.slice(1))} ${sum(one)}`;
    const rows = columns.map((kept, step) => [step + 1, greedy[step] ? cell(greedy[step]) : "", ...kept.map(cell)]);
    table(box, "What is kept at each step, with the sum of its log-probabilities; in bold what greedy search has", heads, rows).forEach((cells, step) => {
      columns[step].forEach((one, place) => {
        cells[place + 1].classList.toggle("speak-same", one.ids.join() === greedy[step]?.ids.join());
      });
    });
  }

  // ---- in words ---------------------------------------------------------------------------------

  function describe(view) {
    const step = view.steps[view.at - 1];
    const before = view.at === 1 ? "the begin token" : say(view, view.steps.slice(0, view.at - 1).map(({ id }) => id));
    const [own] = likeliest(step.lens.at(-1), 1);
    const chance = softmax(step.lens.at(-1))[step.id].toFixed(2);
    const forced = own.id === step.id ? "" : ` You chose it; the model would have said ${name(view, own.id)}.`;
    const lens = step.lens.map((logits) => name(view, likeliest(logits, 1)[0].id));
    return [
      `Step ${view.at} of ${view.steps.length}, after ${before}: ${name(view, step.id)}, with probability ${chance}.${forced}`,
      `Attention: ${sentenceOfLook(view)}`,
      `The likeliest after layer 1 is ${lens[0]}, after layer 2 ${lens[1]}, after layer 3 ${lens[2]}.`,
      ending(view),
    ];
  }

  function ending(view) {
    if (view.at < view.steps.length) return "The word goes on.";
    const said = say(view, view.steps.map(({ id }) => id));
    const stopped = view.phonemes[view.steps.at(-1).id] !== END;
    const changes = [
      ...[...view.hidden].sort((one, other) => one - other).map((place) => `${view.word[place]} (letter ${place + 1}) hidden`),
      ...[...view.off].sort().map((key) => `head ${key} off`),
      ...[...view.forced].map(([row, id]) => `${name(view, id)} forced at step ${row + 1}`),
    ];
    const changed = changes.length ? ` With ${changes.join(", ")}; without, it says ${view.plain}.` : "";
    if (stopped) return `${view.word} was stopped after ${view.steps.length} phonemes: ${said}.${changed}`;
    return `${view.word} is over: ${said}.${changed}`;
  }

  return { say, drawRibbons, showLetters, makeBars, showBars, showLens, showNumbers, showBeams, describe };
})();
