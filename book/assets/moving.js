// What the figures that the reader moves have in common: elements, numbers in words, controls, and when to draw.
// book/_extensions/figures.py loads this file before the figures of a page. Nothing here knows of a figure.

window.moving = (() => {
  // A minus sign, not a hyphen, and no "-0".
  const number = (value, digits) => {
    const text = value.toFixed(digits);
    return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "\u2212");
  };
  // The fewest digits of some numbers that lead to the result as it is shown with its digits: a reader who works it out
  // again from what is shown gets what is shown.
  function digitsOf(values, combine, digits, result = combine(values)) {
    const round = (value, count) => Number(value.toFixed(count));
    const leads = (count) => combine(values.map((value) => round(value, count))).toFixed(digits) === result.toFixed(digits);
    let count = digits;
    while (count < 8 && !leads(count)) count += 1;
    return count;
  }

  const percent = (share) => `${Math.round(100 * share)}%`;
  const dot = (a, b) => a.reduce((sum, value, index) => sum + value * b[index], 0);

  function softmax(scores) {
    const highest = Math.max(...scores);
    const powers = scores.map((score) => Math.exp(score - highest));
    const sum = powers.reduce((total, power) => total + power, 0);
    return powers.map((power) => power / sum);
  }

  // A message with its values; `_`, which translates one, is Sphinx's (book/_extensions/languages.py).
  const fill = (message, values) => message.replace(/\{(\w+)\}/g, (_all, name) => values[name]);

  // Sentences in a row: Chinese has no space between them.
  const sentences = (...said) =>
    said.filter(Boolean).reduce((first, second) => fill(_("{first} {second}"), { first, second }));

  // ---- elements ---------------------------------------------------------------------------------

  function make(parent, tag, properties = {}) {
    const made = Object.assign(document.createElement(tag), properties);
    parent.append(made);
    return made;
  }

  function draw(parent, tag, attributes = {}, text = "") {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.textContent = text;
    parent.append(element);
    return element;
  }

  // Empties a picture and makes it as wide as its place, so that letters keep their size on a phone.
  function clear(svg, height, least = 260) {
    const width = Math.max(least, svg.parentElement.clientWidth);
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("height", height);
    return width;
  }

  // ---- controls ---------------------------------------------------------------------------------

  // A slider of whole numbers, with `say` as what its value is called; returns {input, show}.
  function makeSlider(parent, id, label, { min = 0, max, value = min }, onInput) {
    const row = make(parent, "div", { className: "moving-control" });
    make(row, "label", { htmlFor: `moving-${id}`, textContent: label });
    const input = make(row, "input", { id: `moving-${id}`, type: "range", min, max, step: 1, value });
    const output = make(row, "output", { htmlFor: input.id });
    // The slider itself says its value; an output that spoke as well would say it twice.
    output.setAttribute("aria-hidden", "true");
    input.addEventListener("input", onInput);
    const show = (said) => {
      output.textContent = said;
      input.setAttribute("aria-valuetext", said);
    };
    return { input, show };
  }

  // A list to choose from; `choices` are pairs of a value and what it is called.
  function makeSelect(parent, id, label, choices, onInput) {
    const row = make(parent, "div", { className: "moving-control" });
    make(row, "label", { htmlFor: id, textContent: label });
    const select = make(row, "select", { id });
    choices.forEach(([value, textContent]) => make(select, "option", { value, textContent }));
    if (onInput) select.addEventListener("input", onInput);
    return select;
  }

  function makeButtons(parent, names) {
    const row = make(parent, "div", { className: "moving-buttons" });
    return names.map((textContent) => make(row, "button", { type: "button", textContent }));
  }

  // A box to check, with its name beside it.
  function makeSwitch(parent, text, onInput) {
    const label = make(parent, "label", { className: "moving-switch" });
    const input = make(label, "input", { type: "checkbox" });
    input.setAttribute("role", "switch");
    label.append(text);
    input.addEventListener("input", onInput);
    return input;
  }

  const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

  // Rows of buttons of which the tab key reaches one; the arrows go on from there.
  function makeRoving(buttons) {
    buttons.forEach((row, down) => row.forEach((button, right) => {
      button.tabIndex = down + right ? -1 : 0;
      button.addEventListener("focus", () => {
        buttons.flat().forEach((other) => { other.tabIndex = other === button ? 0 : -1; });
      });
      button.addEventListener("keydown", (event) => {
        if (!(event.key in MOVES)) return;
        event.preventDefault(); // the page would scroll
        const [rows, columns] = MOVES[event.key];
        buttons[down + rows]?.[right + columns]?.focus();
      });
    }));
  }

  // A button that lets a figure step by itself until `step()` says that it was the last one.
  // Whoever wants less motion does not see it, and steps by hand. Returns what stops it.
  function makePlayer(play, pause, { begin, step }) {
    let timer = null;
    const stop = () => {
      clearInterval(timer);
      timer = null;
      play.textContent = _("Play");
    };
    play.hidden = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    play.addEventListener("click", () => {
      if (timer !== null) return stop();
      play.textContent = _("Pause");
      begin();
      timer = setInterval(() => step() && stop(), pause);
      return undefined;
    });
    return stop;
  }

  // Back, Next and Play for a slider of steps, each of which `go(step)` shows; the browser keeps a step in its range.
  // Returns what stops the playing, and what marks a button that leads no further.
  function makeSteps(parent, input, pause, go) {
    const [back, next, play] = makeButtons(parent, [_("Back"), _("Next"), _("Play")]);
    const by = (change) => go(Number(input.value) + change);
    const isAt = (end) => input.value === input[end];
    const stop = makePlayer(play, pause, {
      begin: () => isAt("max") && go(Number(input.min)),
      step: () => {
        by(1);
        return isAt("max");
      },
    });
    [[back, -1], [next, 1]].forEach(([button, change]) => button.addEventListener("click", () => {
      stop();
      by(change);
    }));
    // Not `disabled`, which would take the focus away from who presses it.
    const showEnds = () => [[back, "min"], [next, "max"]].forEach(([button, end]) => {
      button.setAttribute("aria-disabled", String(isAt(end)));
    });
    return { stop, showEnds };
  }

  // What the figure says in words; only what has changed is written, because a screen reader reads out what is written.
  function makeWords(parent, count) {
    const list = make(parent, "ul", { className: "moving-words" });
    list.setAttribute("aria-live", "polite");
    const lines = Array.from({ length: count }, () => make(list, "li"));
    return (said) => {
      said.forEach((line, index) => {
        if (lines[index].textContent !== line) lines[index].textContent = line;
      });
    };
  }

  // ---- when -------------------------------------------------------------------------------------

  // Calls `update` when a place has another width; a new height is no reason to draw again.
  function onNewWidth(place, update) {
    let width = 0;
    new ResizeObserver(() => {
      if (place.clientWidth === width) return;
      width = place.clientWidth;
      requestAnimationFrame(update);
    }).observe(place);
  }

  // What the page says that the figure shows.
  const dataFor = (name) => JSON.parse(document.querySelector(`script.moving-data[data-for="${name}"]`).textContent);

  // Builds each figure of this name when the page is there.
  function start(name, build) {
    const all = () => document.querySelectorAll(`figure[data-figure="${name}"]`).forEach(build);
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", all);
    else all();
  }

  return {
    number, percent, digitsOf, fill, sentences, dot, softmax, make, draw, clear,
    makeSlider, makeSelect, makeSwitch, makeButtons, makeRoving, makePlayer, makeSteps, makeWords, onNewWidth, dataFor, start,
  };
})();
