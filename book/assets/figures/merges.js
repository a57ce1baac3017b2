// The figure in book/tokenizers.ipynb that the reader steps through: byte pairs are learned from a text of the reader's
// own, one merge after another. Plain elements and native controls, as in positions.js.
// The rule is that of the page and of learn_merges in transformer_ref/tokenizers.py; a test compares the merges.
// book/_extensions/figures.py loads this file on pages that hold <figure data-figure="merges">.

(() => {
  const { fill, sentences, make, makeSlider, makeSelect, makeSteps, makeWords, start } = window.moving;
  const MOST = 120; // characters of a text
  const ROWS = 6; // so many pairs are listed
  const PAUSE = 1500; // milliseconds of a step while it plays
  const OWN = "";
  const EXAMPLES = [
    [_("five words"), "new new old old newer newer newer newer older older older colder"],
    [_("a woodchuck"), "how much wood would a woodchuck chuck if a woodchuck could chuck wood"],
    [_("endings"), "walk walks walked walking talk talks talked talking"],
    [_("bananas"), "banana bananas bandana"],
  ];

  // ---- the algorithm -------------------------------------------------------------------------------

  // As `cut` on the page: a run of letters and digits, or one other character that is not white space.
  const cut = (text) => text.match(/[\p{L}\p{N}_]+|[^\p{L}\p{N}_\p{White_Space}]/gu) ?? [];

  // As Python compares strings: by code points, where JavaScript would take halves of them.
  function compare(one, other) {
    const [left, right] = [[...one], [...other]];
    for (let place = 0; place < Math.min(left.length, right.length); place += 1) {
      const difference = left[place].codePointAt(0) - right[place].codePointAt(0);
      if (difference) return difference;
    }
    return left.length - right.length;
  }

  // All pairs with their counts, the winner first: the most frequent, of equals the last in the order of code points.
  function countPairs(words) {
    const found = new Map();
    for (const { symbols, count } of words) {
      symbols.slice(1).forEach((second, place) => {
        const key = JSON.stringify([symbols[place], second]);
        found.set(key, (found.get(key) ?? 0) + count);
      });
    }
    const pairs = [...found].map(([key, count]) => ({ pair: JSON.parse(key), count }));
    return pairs.sort((one, other) => other.count - one.count
      || compare(other.pair[0], one.pair[0]) || compare(other.pair[1], one.pair[1]));
  }

  // Where a pair is joined in a word, from left to right: in "aaa" only once.
  function placesOf(symbols, [first, second]) {
    const places = [];
    for (let place = 0; place + 1 < symbols.length; place += 1) {
      if (symbols[place] === first && symbols[place + 1] === second) {
        places.push(place);
        place += 1;
      }
    }
    return places;
  }

  function mergePair(symbols, pair) {
    const places = new Set(placesOf(symbols, pair));
    return symbols.flatMap((symbol, place) => {
      if (places.has(place - 1)) return [];
      return [places.has(place) ? pair.join("") : symbol];
    });
  }

  // What the words are before the first and after each merge, and which pairs they then hold.
  function learn(text) {
    const counts = new Map();
    for (const word of cut(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
    let words = [...counts].map(([word, count]) => ({ symbols: [...word], count }));
    const characters = [...new Set(words.flatMap(({ symbols }) => symbols))];
    const states = [];
    const merges = [];
    for (;;) {
      const pairs = countPairs(words);
      states.push({ words, pairs });
      if (!pairs.length) return { states, merges, characters };
      const [{ pair }] = pairs;
      merges.push(pair);
      words = words.map(({ symbols, count }) => ({ symbols: mergePair(symbols, pair), count }));
    }
  }

  const lengthOf = (words) => words.reduce((sum, { symbols, count }) => sum + symbols.length * count, 0);

  // ---- drawing -------------------------------------------------------------------------------------

  function drawWords(place, { states, merges }, step) {
    place.replaceChildren();
    const { words } = states[step];
    const made = step ? merges[step - 1].join("") : null;
    for (const { symbols, count } of words) {
      const next = step < merges.length ? placesOf(symbols, merges[step]) : [];
      const outlined = new Set(next.flatMap((first) => [first, first + 1]));
      const entry = make(place, "span");
      const word = make(entry, "span", { className: "merges-word", dir: "auto" });
      symbols.forEach((symbol, index) => {
        const box = make(word, "span", { className: "merges-symbol" });
        box.classList.toggle("merges-made", symbol === made);
        box.classList.toggle("merges-next", outlined.has(index));
        for (const textContent of symbol) make(box, "i", { textContent });
      });
      make(entry, "span", { className: "merges-times", textContent: `\u00d7${count}` });
    }
    const said = words.map(({ symbols, count }) => fill(_("{word}, {count} times"), { word: symbols.join(" "), count })).join(_("; "));
    place.setAttribute("aria-label", fill(_("The words as symbols: {said}."), { said }));
  }

  function drawPairs(list, title, { pairs }) {
    list.replaceChildren();
    const all = { rows: ROWS, count: pairs.length };
    title.textContent = pairs.length > ROWS ? fill(_("Pairs, the best {rows} of {count}"), all) : _("Pairs, the best first");
    for (let row = 0; row < ROWS; row += 1) {
      const entry = make(list, "li", { className: row ? "" : "merges-winner" });
      if (row >= pairs.length) {
        entry.setAttribute("aria-hidden", "true"); // it only keeps its place
        continue;
      }
      const { pair, count } = pairs[row];
      make(entry, "span", { textContent: pair.join(" + ") });
      make(entry, "span", { className: "merges-bar" }).style.width = `${(100 * count) / pairs[0].count}%`;
      make(entry, "span", { textContent: count });
    }
  }

  function drawVocabulary(list, title, { characters, merges }, step) {
    list.replaceChildren();
    const sizes = { characters: characters.length, step, tokens: characters.length + step };
    title.textContent = fill(_("Vocabulary: {characters} + {step} = {tokens} tokens"), sizes);
    for (const textContent of characters) make(list, "li", { textContent });
    merges.forEach((pair, index) => {
      const chip = make(list, "li", { textContent: `${pair.join("")} ` });
      make(chip, "small", { textContent: index + 1 });
      chip.classList.toggle("merges-made", index === step - 1);
      chip.classList.toggle("merges-later", index >= step);
    });
  }

  // ---- what the figure says in words ---------------------------------------------------------------

  function describe({ states, merges, characters }, step) {
    const [first, second] = step ? merges[step - 1] : ["", ""];
    const done = step
      ? _("Merge {step} has joined {first} and {second}: a new token, {joined}.")
      : _("No merge yet: the {count} different characters are the first tokens.");
    const length = step ? _("The text has {now} tokens, at the start it had {before}.") : _("The text has {now} tokens.");
    const [before, now] = [states[0], states[step]].map(({ words }) => lengthOf(words));
    const values = { step, first, second, joined: `${first}${second}`, count: characters.length, before, now };
    return [sentences(fill(done, values), fill(length, values)), sayNext(states[step].pairs)];
  }

  function sayNext(pairs) {
    if (!pairs.length) return _("Every word is one symbol, so no pair is left and training ends.");
    const [{ pair: [first, second], count }] = pairs;
    const equal = pairs.filter((other) => other.count === count).length;
    const times = count === 1 ? _("once") : count === 2 ? _("twice") : fill(_("{count} times"), { count });
    const said = pairs.length === 1
      ? _("Next: {first} and {second}, the only pair left.")
      : equal === 1
        ? _("Next: {first} and {second}, which occurs {times}, more often than any other pair.")
        : _("Next: {equal} pairs occur {times} each; the last of them in alphabetical order is {first} and {second}.");
    return fill(said, { first, second, equal, times });
  }

  // ---- controls ------------------------------------------------------------------------------------

  // Says what is wrong with a text, or nothing.
  function refusal(text) {
    const length = [...text].length;
    if (length > MOST) {
      return fill(_("Too long: {length} characters, and {most} are the most. Below is still the text before."), { length, most: MOST });
    }
    if (!cut(text).length) return _("Type at least one word. Below is still the text before.");
    return "";
  }

  function makeText(parent, onText) {
    const row = make(parent, "div", { className: "merges-text" });
    const choices = [...EXAMPLES.map(([name, text]) => [text, name]), [OWN, _("my own text")]];
    const example = makeSelect(row, "moving-example", _("Example"), choices, () => {
      input.value = example.value;
      if (example.value === OWN) input.focus();
      read();
    });
    const control = make(row, "div", { className: "moving-control" });
    make(control, "label", { htmlFor: "moving-text", textContent: _("Text to learn from") });
    const input = make(control, "input", { id: "moving-text", type: "text", value: EXAMPLES[0][1] });
    Object.assign(input, { autocomplete: "off", spellcheck: false });
    const message = make(row, "p", { className: "merges-message", id: "moving-message" });
    message.setAttribute("role", "status");
    input.setAttribute("aria-describedby", message.id);

    function read() {
      const refused = refusal(input.value);
      input.setAttribute("aria-invalid", String(refused !== ""));
      message.classList.toggle("merges-refused", refused !== "");
      message.textContent = refused || fill(_("Type over it, in any script, up to {most} characters; words are cut as above."), { most: MOST });
      if (!refused) onText(input.value);
    }
    input.addEventListener("input", () => {
      const known = EXAMPLES.some(([, text]) => text === input.value);
      example.value = known ? input.value : OWN;
      read();
    });
    return read;
  }

  function makeTables(parent) {
    const tables = make(parent, "div", { className: "merges-tables" });
    return [["ol", "merges-pairs"], ["ul", "merges-vocabulary"]].flatMap(([tag, className]) => {
      const table = make(tables, "div");
      const title = make(table, "p");
      return [make(table, tag, { className }), title];
    });
  }

  function makeLegend(parent) {
    const legend = make(parent, "p", { className: "merges-legend" });
    for (const [kind, name] of [["merges-next", _("joined next")], ["merges-made", _("just joined")]]) {
      make(legend, "span", { className: `merges-symbol ${kind}` });
      legend.append(name);
    }
  }

  function build(figure) {
    const box = document.createElement("div");
    let learned = null;
    const read = makeText(box, (text) => {
      stop();
      learned = learn(text);
      slider.input.max = learned.merges.length;
      go(0);
    });
    const steps = make(box, "div", { className: "merges-steps" });
    const slider = makeSlider(steps, "merges", _("Merges done"), { max: 0 }, () => {
      stop();
      update();
    });
    const { stop, showEnds } = makeSteps(steps, slider.input, PAUSE, go);
    const words = make(box, "div", { className: "merges-words" });
    words.setAttribute("role", "img");
    makeLegend(box);
    const say = makeWords(box, 2);
    const [pairs, pairsTitle, vocabulary, vocabularyTitle] = makeTables(box);

    function update() {
      const [step, last] = [Number(slider.input.value), learned.merges.length];
      slider.show(fill(_("{step} of {last}"), { step, last }));
      showEnds();
      drawWords(words, learned, step);
      drawPairs(pairs, pairsTitle, learned.states[step]);
      drawVocabulary(vocabulary, vocabularyTitle, learned, step);
      say(describe(learned, step));
    }

    function go(step) {
      slider.input.value = step; // the browser keeps it within its range
      update();
    }

    figure.querySelector(".moving-fallback").replaceWith(box);
    read();
  }

  start("merges", build);
})();
