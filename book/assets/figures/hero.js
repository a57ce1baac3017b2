// The speller of the start page, book/index.md: the reader types a word, and the picture shows how the model says it.
// Until then the picture is the one that tools/draw_hero.py has drawn; this draws in the same way.
// book/_extensions/figures.py loads this file on pages that hold <figure data-figure="hero">.

(() => {
  const { fill, make, draw, start } = window.moving;
  const { loadModel, makeListen, readWord } = window.speller;
  const [MOST_LETTERS, MOST_TOKENS] = [14, 20]; // that fit the picture
  const [WIDTH, HEIGHT, TOP, BOTTOM] = [520, 250, 62, 188];
  const COLORS = ["#0b7285", "#b4540a", "#5f3dc4"];
  const [LAYER, FAINTEST] = [1, 0.01]; // the second of three; the mean over its heads

  const meanOf = (rows) => rows[0].map((_all, place) => rows.reduce((sum, row) => sum + row[place], 0) / rows.length);
  // Where `count` boxes stand, at most `most` apart, and how wide they are.
  function spread(count, most) {
    const space = Math.min(most, (WIDTH - 8) / count);
    return { at: (place) => WIDTH / 2 + (place - (count - 1) / 2) * space, space };
  }

  function drawBox(svg, x, y, [width, height], colors, [text, kind, size]) {
    draw(svg, "rect", { x: x - width / 2, y, width, height, rx: 10, ...colors });
    draw(svg, "text", { x, y: y + height / 2 + size / 3, class: kind, "font-size": size }, text);
  }

  // Letters below, phonemes above, and curves as wide as the weights between them.
  function drawWord(svg, word, phonemes, weights) {
    svg.replaceChildren();
    const [letters, sounds] = [spread(word.length, 80), spread(phonemes.length, 160)];
    weights.forEach((row, from) => row.forEach((weight, to) => {
      if (weight < FAINTEST) return;
      const [x, y] = [sounds.at(from), letters.at(to)];
      const opacity = 0.25 + 0.65 * Math.min(1, 1.6 * weight);
      const d = `M${x} ${TOP}C${x} 124 ${y} 126 ${y} ${BOTTOM}`;
      draw(svg, "path", { d, fill: "none", stroke: COLORS[from % 3], "stroke-width": 1 + 20 * weight, "stroke-linecap": "round", opacity, "data-weight": weight, "data-step": from });
    }));
    const size = Math.min(26, 0.36 * sounds.space);
    phonemes.forEach((phoneme, row) => {
      drawBox(svg, sounds.at(row), 14, [Math.min(84, sounds.space - 4), 48], { fill: COLORS[row % 3], "data-step": row }, [phoneme, "hero-phoneme", size]);
    });
    [...word.toUpperCase()].forEach((letter, place) => {
      const colors = { fill: "#fff", stroke: "#b8c2cc", "stroke-width": 1.5 };
      drawBox(svg, letters.at(place), BOTTOM, [Math.min(60, letters.space - 4), 50], colors, [letter, "hero-letter", Math.min(30, 0.7 * letters.space)]);
    });
  }

  class Hero {
    constructor(figure) {
      this.image = figure.parentElement.querySelector("img");
      this.form = make(figure, "form", { className: "hero-form", noValidate: true });
      make(this.form, "label", { htmlFor: "hero-word", textContent: _("Your word") });
      this.input = make(this.form, "input", { id: "hero-word", type: "text", autocomplete: "off", spellcheck: false, placeholder: "cheese" });
      this.input.setAttribute("autocapitalize", "none");
      this.input.setAttribute("aria-describedby", "hero-said");
      make(this.form, "button", { type: "submit", textContent: _("Speak") });
      this.said = make(figure, "p", { id: "hero-said", textContent: _("The trained model runs in this page: type any word, real or made up.") });
      this.said.setAttribute("role", "status");
      figure.querySelector(".moving-fallback").remove();
      // The weights are on their way while the reader still types.
      this.input.addEventListener("focus", () => loadModel().catch(() => {}));
      this.form.addEventListener("submit", (event) => {
        event.preventDefault();
        this.speak(this.input.value);
      });
    }

    async speak(typed) {
      const [word, wrong] = readWord(typed, MOST_LETTERS);
      this.asked = word;
      this.input.setAttribute("aria-invalid", String(Boolean(wrong)));
      this.said.textContent = wrong || (window.speller.Model ? "" : _("Loading the model, 3.7 MB ..."));
      if (wrong) return;
      try {
        const model = await loadModel();
        if (word === this.asked) this.show(model, word);
      } catch (error) {
        this.said.textContent = fill(_("The model could not be used: {reason}."), { reason: error.message });
      }
    }

    show(model, word) {
      const steps = model.greedy(word, { maxLength: MOST_TOKENS }).filter(({ id }) => model.phonemes[id] !== "<eos>");
      const phonemes = steps.map(({ id }) => model.phonemes[id]);
      if (!this.svg) {
        this.svg = draw(this.image.parentElement, "svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "hero-picture", role: "img" });
        this.image.replaceWith(this.svg);
        this.hush = makeListen(this.form.parentElement, this.svg, () => this.phonemes);
      }
      this.hush();
      this.phonemes = phonemes;
      drawWord(this.svg, word, phonemes, steps.map(({ cross }) => meanOf(cross[LAYER])));
      const said = { word, phonemes: phonemes.join(" ") };
      this.svg.setAttribute("aria-label", fill(_("Curves join the letters of {word} to the sounds {phonemes}, as wide as the attention of the trained model."), said));
      this.said.textContent = phonemes.length ? fill(_("{word}: the model says {phonemes}."), said) : fill(_("{word}: the model says nothing."), said);
    }
  }

  start("hero", (figure) => new Hero(figure));
})();
