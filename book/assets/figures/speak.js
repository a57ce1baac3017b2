// The figure in book/speak.md: a word of the reader's own, spoken by the trained model in the page.
// Here are its state and its controls; pictures.js draws, sound.js speaks, tour.js has the guided tour,
// load.js gets the model.
// book/_extensions/figures.py loads this file on pages that hold <figure data-figure="speak">.

(() => {
  const { loadModel, makeListen, pictures, readWord } = window.speller;
  const { fill, make, draw, makeSelect, makeButtons, makeWords, onNewWidth, start } = window.moving;
  const MOST_TOKENS = 32;
  const PAUSE = 900; // milliseconds of a step while it plays
  const LETTER = 22; // pixels that a letter has at least, for a finger
  const still = window.matchMedia("(prefers-reduced-motion: reduce)");

  // ---- the parts of the figure ------------------------------------------------------------------

  function part(parent, key, title) {
    const box = make(parent, "div", { className: "speak-part" });
    box.dataset.part = key;
    if (!title) return box;
    box.setAttribute("role", "group");
    box.setAttribute("aria-labelledby", make(box, "p", { className: "speak-title", id: `speak-${key}`, textContent: title }).id);
    return box;
  }

  function makeForm(parent) {
    const form = make(part(parent, "word"), "form", { className: "speak-form", noValidate: true });
    make(form, "label", { htmlFor: "speak-input", textContent: _("Your word") });
    const input = make(form, "input", { id: "speak-input", type: "text", autocomplete: "off", spellcheck: false });
    input.setAttribute("autocapitalize", "none");
    input.setAttribute("aria-describedby", "speak-message");
    make(form, "button", { type: "submit", textContent: _("Speak") });
    const message = make(form, "p", { id: "speak-message", className: "speak-message" });
    message.setAttribute("role", "status");
    return { form, input, message };
  }

  function makePlayer(parent) {
    const box = part(parent, "player");
    return makeButtons(box, [_("Back"), _("Next"), _("Play"), _("Reset")]);
  }

  function makeLook(parent, { layers, heads }) {
    const box = part(parent, "look", _("Where it looks: tap a letter to hide it from the decoder"));
    const controls = make(box, "div", { className: "moving-controls" });
    const numbered = (count) => [["mean", _("mean of all")], ...Array.from({ length: count }, (__, i) => [i + 1, i + 1])];
    const layer = makeSelect(controls, "speak-layer", _("Decoder layer"), numbered(layers));
    const head = makeSelect(controls, "speak-head", _("Head"), numbered(heads));
    const frame = make(box, "div", { className: "speak-scroll" }); // a long word is wider than a phone
    const wide = make(frame, "div", { className: "speak-ribbons" });
    const svg = draw(wide, "svg", { role: "img" });
    const letters = make(wide, "div", { className: "speak-letters" });
    return { layer, head, frame, svg, letters };
  }

  // Buttons "1.1" to "3.4", pressed while the head is on.
  function makeHeads(parent, { layers, heads }, onPress) {
    const box = part(parent, "heads", _("Cross-attention heads, layer and head: press one to switch it off"));
    const grid = make(box, "div", { className: "speak-heads" });
    grid.style.setProperty("--heads", heads);
    return Array.from({ length: layers * heads }, (__, i) => {
      const key = `${Math.floor(i / heads) + 1}.${(i % heads) + 1}`;
      const button = make(grid, "button", { type: "button", textContent: key });
      button.setAttribute("aria-label", fill(_("Head {key}"), { key }));
      button.addEventListener("click", () => onPress(key));
      return button;
    });
  }

  function makeFold(parent, key, title) {
    const fold = make(parent, "details", { className: "speak-fold speak-part" });
    fold.dataset.part = key;
    make(fold, "summary", { textContent: title });
    const inner = make(fold, "div");
    const scroll = make(inner, "div", { className: "speak-scroll", tabIndex: 0 });
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", title);
    return { fold, inner, scroll };
  }

  // ---- the figure -------------------------------------------------------------------------------

  class Figure {
    constructor(figure) {
      const data = JSON.parse(figure.querySelector("script.moving-data").textContent);
      this.box = document.createElement("div");
      this.box.className = "speak";
      const { cross } = data.steps[0];
      this.build({ layers: cross.length, heads: cross[0].length });
      this.asked = 0; // words so far: what was meant for an earlier word and comes late is left out
      figure.querySelector(".moving-fallback").replaceWith(this.box);
      this.forget(data.word, data.phonemes);
      this.take(data.steps);
      this.showLast();
      onNewWidth(this.box, () => this.update());
    }

    build(sizes) {
      Object.assign(this, makeForm(this.box));
      Object.assign(this, makeLook(this.box, sizes));
      [this.back, this.next, this.play, this.reset] = makePlayer(this.box);
      this.hush = makeListen(part(this.box, "listen"), this.svg, () => this.wholeWord());
      this.say = makeWords(this.box, 4);
      const pair = make(this.box, "div", { className: "speak-pair" });
      this.bars = pictures.makeBars(part(pair, "next", _("The five most probable: press one to go on from it")), (id) => this.force(id));
      this.lens = make(part(pair, "lens", _("If the model stopped after this layer")), "div");
      this.switches = makeHeads(this.box, sizes, (key) => this.change(() => toggle(this.off, key)));
      this.numbers = makeFold(this.box, "numbers", _("The numbers, as a heat map"));
      this.beam = makeFold(this.box, "beam", _("Greedy and beam search, side by side"));
      this.size = makeSelect(this.beam.inner, "speak-size", _("Beam size"), [2, 3, 4, 5].map((size) => [size, size]));
      this.size.value = 3;
      this.beam.inner.prepend(this.size.parentElement);
      this.connect();
    }

    connect() {
      this.form.addEventListener("submit", (event) => {
        event.preventDefault();
        this.speak(this.input.value);
      });
      // The weights are on their way while the reader still types.
      this.input.addEventListener("input", () => loadModel().catch(() => {}));
      this.back.addEventListener("click", () => this.go(this.at - 1));
      this.next.addEventListener("click", () => this.go(this.at + 1));
      this.play.addEventListener("click", () => (this.timer ? this.stop() : this.start()));
      this.play.hidden = still.matches;
      this.reset.addEventListener("click", () => this.undo());
      this.layer.addEventListener("input", () => this.update());
      this.head.addEventListener("input", () => this.update());
      this.size.addEventListener("input", () => this.search());
      this.beam.fold.addEventListener("toggle", () => this.search());
      this.numbers.fold.addEventListener("toggle", () => this.update());
      this.svg.addEventListener("click", (event) => {
        const chip = event.target.closest(".speak-phoneme"); // a short cut; Back and Next do the same
        if (chip) this.go(Number(chip.dataset.step) + 1);
      });
    }

    // ---- asking the model -----------------------------------------------------------------------

    // A new word, and nothing of what was done to the last one.
    forget(word, phonemes) {
      Object.assign(this, { word, phonemes, hidden: new Set(), off: new Set(), forced: new Map() });
      this.input.value = word;
      this.input.setAttribute("aria-invalid", "false");
      this.letters.replaceChildren();
      this.letters.parentElement.style.minWidth = `${LETTER * word.length}px`;
      this.tiles = [...word].map((letter, place) => {
        const tile = make(this.letters, "button", { type: "button" });
        make(tile, "span", { className: "speak-letter", textContent: letter });
        make(tile, "span", { className: "speak-share" });
        tile.setAttribute("aria-label", fill(_("Hide letter {place}, {letter}"), { place: place + 1, letter }));
        tile.addEventListener("click", () => this.change(() => toggle(this.hidden, place)));
        return tile;
      });
    }

    take(steps) {
      this.steps = steps;
      this.at = Math.min(this.at ?? 1, steps.length);
      if (!this.isChanged()) this.plain = pictures.say(this, steps.map(({ id }) => id));
    }

    isChanged() {
      return this.hidden.size + this.off.size + this.forced.size > 0;
    }

    options() {
      const off = this.steps[0].cross.map((heads, layer) => heads.map((_, head) => this.off.has(`${layer + 1}.${head + 1}`)));
      return { hidden: this.hidden, off, forced: this.forced, maxLength: MOST_TOKENS };
    }

    // Calls `work` with the model once it is there, unless another word was asked for meanwhile; says whether it did.
    async withModel(work) {
      const mine = this.asked;
      if (!window.speller.Model) this.tell(_("Loading the model, 3.7 MB ..."));
      try {
        const model = await loadModel();
        if (mine !== this.asked) return false;
        this.tell("");
        work(model);
        return true;
      } catch (error) {
        this.tell(fill(_("The model could not be used: {reason}."), { reason: error.message }));
        return false;
      }
    }

    async speak(typed) {
      const [word, wrong] = readWord(typed);
      if (!wrong) {
        if (await this.set({ word })) this.animate();
        return;
      }
      this.asked += 1;
      this.input.setAttribute("aria-invalid", "true");
      this.tell(wrong);
    }

    // Says a word with letters hidden, heads off or tokens forced, and shows one step, or the last one.
    set({ word, hide = [], off = [], force = [], at = Infinity, layer = "mean", head = "mean" }) {
      this.stop();
      this.asked += 1;
      return this.withModel((model) => {
        this.forget(word, model.phonemes);
        this.take(model.greedy(word, { maxLength: MOST_TOKENS }));
        hide.forEach((place) => this.hidden.add(place));
        off.forEach((key) => this.off.add(key));
        force.forEach(([step, token]) => this.forced.set(step, model.phonemes.indexOf(token)));
        if (this.isChanged()) this.take(model.greedy(word, this.options()));
        [this.layer.value, this.head.value] = [layer, head];
        this.show(at);
        this.search();
      });
    }

    // Phonemes come one by one, or all at once for those who want less motion.
    animate() {
      if (still.matches) return;
      this.at = 1;
      this.start();
    }

    // Changes what the decoder may use, and lets it speak again.
    async change(edit) {
      this.stop();
      const { word } = this;
      await this.withModel((model) => {
        if (word !== this.word) return; // it was meant for the word before
        const complete = this.at === this.steps.length;
        edit();
        this.take(model.greedy(this.word, this.options()));
        if (complete) this.at = this.steps.length;
        this.update();
        this.search();
      });
    }

    // The step that is shown says this token instead; what was forced after it is forgotten.
    async force(id) {
      const step = this.at - 1;
      await this.change(() => {
        this.forced = new Map([...this.forced].filter(([earlier]) => earlier < step));
        const own = this.steps[step].lens.at(-1);
        if (own.indexOf(Math.max(...own)) !== id) this.forced.set(step, id);
      });
      this.go(step + 1);
    }

    // The letters, the heads and the model's own phonemes come back; then to the first step.
    async undo() {
      if (this.isChanged()) {
        await this.change(() => [this.hidden, this.off, this.forced].forEach((each) => each.clear()));
      }
      this.go(1);
    }

    // Greedy and beam search of the word with what is hidden and off; what was forced does not count here.
    search() {
      if (!this.beam.fold.open) return undefined;
      return this.withModel((model) => {
        const size = Number(this.size.value);
        const { best, columns } = model.beamSearch(this.word, size, this.options());
        const greedy = model.beamSearch(this.word, 1, this.options()).columns.map(([only]) => only);
        pictures.showBeams(this.beam.scroll, this, { greedy, best, columns, size });
      });
    }

    // ---- showing --------------------------------------------------------------------------------

    tell(text) {
      if (this.message.textContent !== text) this.message.textContent = text;
    }

    go(step) {
      this.stop();
      this.show(step);
    }

    show(step) {
      this.at = Math.max(1, Math.min(this.steps.length, step));
      this.update();
      // The phoneme in the middle, where the word is wider than its window.
      const { scrollWidth, clientWidth } = this.frame;
      this.frame.scrollLeft = (scrollWidth * (this.at - 0.5)) / this.steps.length - clientWidth / 2;
    }

    showLast() {
      this.show(this.steps.length);
    }

    // What Listen plays: the phonemes of all steps, which it shows.
    wholeWord() {
      this.go(this.steps.length);
      return this.steps.map(({ id }) => this.phonemes[id]);
    }

    start() {
      this.hush();
      if (this.at === this.steps.length) this.at = 1;
      this.update();
      this.play.textContent = _("Pause");
      this.timer = setInterval(() => {
        this.show(this.at + 1);
        if (this.at === this.steps.length) this.stop();
      }, PAUSE);
    }

    stop() {
      this.hush();
      clearInterval(this.timer);
      this.timer = null;
      this.play.textContent = _("Play");
    }

    view() {
      const chosen = (select) => (select.value === "mean" ? "mean" : Number(select.value) - 1);
      const { word, phonemes, steps, at, hidden, off, forced, plain } = this;
      return { word, phonemes, steps, at, hidden, off, forced, plain, layer: chosen(this.layer), head: chosen(this.head) };
    }

    update() {
      const view = this.view();
      pictures.drawRibbons(this.svg, view);
      pictures.showLetters(this.tiles, view);
      pictures.showBars(this.bars, view);
      pictures.showLens(this.lens, view);
      if (this.numbers.fold.open) pictures.showNumbers(this.numbers.scroll, view);
      this.switches.forEach((button) => button.setAttribute("aria-pressed", String(!this.off.has(button.textContent))));
      // Not `disabled`, which would take the focus away from who presses it.
      this.back.setAttribute("aria-disabled", String(this.at === 1));
      this.next.setAttribute("aria-disabled", String(this.at === this.steps.length));
      this.say(pictures.describe(view));
    }
  }

  function toggle(set, key) {
    if (!set.delete(key)) set.add(key);
  }

  // ---- buttons in the text of the page ----------------------------------------------------------

  // <button class="speak-try" data-word="..." data-hide="1"> speaks the word, with that letter hidden.
  // The answer lies below the button, so a way leads back to it.
  function connectTries(figure) {
    const behavior = still.matches ? "auto" : "smooth";
    const back = make(figure.message.parentElement, "button", { type: "button", textContent: _("Back to the question"), hidden: true });
    let asked = null;
    back.addEventListener("click", () => {
      asked.scrollIntoView({ block: "center", behavior });
      asked.focus({ preventScroll: true });
    });
    for (const button of document.querySelectorAll("button.speak-try")) {
      button.hidden = false;
      button.addEventListener("click", async () => {
        [asked, back.hidden] = [button, false];
        figure.box.scrollIntoView({ behavior });
        const { word, hide } = button.dataset;
        if (await figure.set({ word, hide: hide ? [hide - 1] : [] })) figure.animate();
      });
    }
  }

  start("speak", (place) => {
    const figure = new Figure(place);
    connectTries(figure);
    window.speller.addTour?.(figure);
  });
})();
