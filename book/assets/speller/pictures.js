// What is drawn on the page book/speak.md: ribbons, bars, tables and sentences, each made anew from a "view".
// A view is {word, phonemes, steps, at, layer, head, hidden, off, forced, plain}: the tokens' names, the steps that
// the model made, how many of them are shown, whose attention ("mean" or a number), the letters that are hidden,
// the heads that are off, what the reader forced, and the answer without all this.

window.speller.pictures = (() => {
  const { number, percent, fill, sentences, softmax, make, draw } = window.moving;
  const END = "<eos>";
  const [MOST, FAINTEST] = [5, 0.03]; // tokens shown as bars; weights below this are not drawn

  const name = (view, id) => (view.phonemes[id] === END ? _("end") : view.phonemes[id]);
  const say = (view, ids) => ids.map((id) => view.phonemes[id]).filter((each) => each !== END).join(" ") || _("nothing");

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
    const ofLayer = head === "mean" ? _("layer {layer}, the mean of its heads") : _("layer {layer}, head {head}");
    const ofAll = head === "mean" ? _("the mean of all layers and heads") : _("head {head}, the mean of the layers");
    return fill(layer === "mean" ? ofAll : ofLayer, { layer: layer + 1, head: head + 1 });
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
    svg.setAttribute("aria-label", fill(_("Where the model looks: {looks}"), { looks: sentenceOfLook(view) }));
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
    if (view.hidden.size === view.word.length) return _("all letters are hidden, so there is nothing to look at.");
    if (highest === 0) return fill(_("nothing comes from the letters: what is chosen, {whose}, is off."), { whose: whose(view) });
    const places = weights.map((weight, place) => [weight, place]).filter(([weight]) => weight >= 0.1);
    places.sort(([one], [other]) => other - one);
    const shares = places.slice(0, 3).map(([weight, place]) => (
      fill(_("{letter} (letter {place}) {share}"), { letter: view.word[place], place: place + 1, share: percent(weight) })));
    return fill(_("to say {token}, it looks at {letters}; this is {whose}."), {
      token: name(view, step.id), letters: shares.join(_(", ")) || _("no letter in particular"), whose: whose(view),
    });
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
      const values = { token: name(view, id), probability: probability.toFixed(3) };
      rows[place].setAttribute("aria-label", fill(_("{token}, probability {probability}"), values));
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
      return [layer === lens.length - 1 ? fill(_("{layer}: the model"), { layer: layer + 1 }) : layer + 1, ...words];
    });
    table(box, fill(_("What each layer would say at step {step}"), { step: view.at }), [_("layer"), _("first"), _("second")], rows);
  }

  // The heat map: a row for each phoneme, a column for each letter, the darker, the larger the weight.
  function showNumbers(box, view) {
    box.replaceChildren();
    const steps = view.steps.slice(0, view.at);
    const rows = steps.map((step) => [name(view, step.id), ...look(view, step).map((weight) => weight.toFixed(2))]);
    const caption = fill(_("Attention weights, {whose}; each row sums to 1"), { whose: whose(view) });
    const cells = table(box, caption, [_("phoneme"), ...view.word], rows);
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
      ? _("Both give the same answer.")
      : _("The beam finds an answer that the model takes to be {times} times as probable.");
    const values = {
      greedy: say(view, greedy.at(-1).ids.slice(1)), greedySum: sum(greedy.at(-1)), size, beam: say(view, first.ids.slice(1)), beamSum: sum(first),
      times: Math.exp(first.sum - greedy.at(-1).sum).toFixed(1),
    };
    const answers = _("Greedy: {greedy}, log-probability {greedySum}. Beam of {size}: {beam}, {beamSum}.");
    make(box, "p", { className: "speak-verdict", textContent: fill(sentences(answers, verdict), values) });
    const heads = [_("Step"), _("greedy"), ...columns[0].map((__, place) => fill(_("beam, no. {place}"), { place: place + 1 }))];
    const cell = (one) => `${beginning(view, one.ids.slice(1))} ${sum(one)}`;
    const rows = columns.map((kept, step) => [step + 1, greedy[step] ? cell(greedy[step]) : "", ...kept.map(cell)]);
    const caption = _("What is kept at each step, with the sum of its log-probabilities; in bold what greedy search has");
    table(box, caption, heads, rows).forEach((cells, step) => {
      columns[step].forEach((one, place) => {
        cells[place + 1].classList.toggle("speak-same", one.ids.join() === greedy[step]?.ids.join());
      });
    });
  }

  // ---- in words ---------------------------------------------------------------------------------

  function describe(view) {
    const step = view.steps[view.at - 1];
    const before = view.at === 1 ? _("the begin token") : say(view, view.steps.slice(0, view.at - 1).map(({ id }) => id));
    const [own] = likeliest(step.lens.at(-1), 1);
    const chance = softmax(step.lens.at(-1))[step.id].toFixed(2);
    const [first, second, third] = step.lens.map((logits) => name(view, likeliest(logits, 1)[0].id));
    const values = { step: view.at, count: view.steps.length, before, token: name(view, step.id), chance };
    return [
      sentences(
        fill(_("Step {step} of {count}, after {before}: {token}, with probability {chance}."), values),
        own.id !== step.id && fill(_("You chose it; the model would have said {own}."), { own: name(view, own.id) }),
      ),
      fill(_("Attention: {looks}"), { looks: sentenceOfLook(view) }),
      fill(_("The likeliest after layer 1 is {first}, after layer 2 {second}, after layer 3 {third}."), { first, second, third }),
      ending(view),
    ];
  }

  function ending(view) {
    if (view.at < view.steps.length) return _("The word goes on.");
    const said = say(view, view.steps.map(({ id }) => id));
    const stopped = view.phonemes[view.steps.at(-1).id] !== END;
    const changes = [
      ...[...view.hidden].sort((one, other) => one - other).map((place) => (
        fill(_("{letter} (letter {place}) hidden"), { letter: view.word[place], place: place + 1 }))),
      ...[...view.off].sort().map((key) => fill(_("head {key} off"), { key })),
      ...[...view.forced].map(([row, id]) => fill(_("{token} forced at step {step}"), { token: name(view, id), step: row + 1 })),
    ];
    const changed = _("With {changes}; without, it says {plain}.");
    const over = stopped ? _("{word} was stopped after {count} phonemes: {said}.") : _("{word} is over: {said}.");
    return sentences(
      fill(over, { word: view.word, count: view.steps.length, said }),
      changes.length > 0 && fill(changed, { changes: changes.join(_(", ")), plain: view.plain }),
    );
  }

  return { say, drawRibbons, showLetters, makeBars, showBars, showLens, showNumbers, showBeams, describe };
})();
