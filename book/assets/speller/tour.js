// The guided tour of book/speak.md: cards that light the part they speak of and set the figure for it.
// Each card is right about the trained model that ships with the course; a test of the site reads them.

(() => {
  const { fill, make, makeButtons } = window.moving;
  const still = window.matchMedia("(prefers-reduced-motion: reduce)");

  // What is lit, what the figure is set to, and what the card says.
  const CARDS = [
    {
      part: "word",
      state: { word: "knight" },
      title: _("A word goes in"),
      text: _("The encoder has read the six letters of knight, all at once, and made one vector for each. That is the memory. It stays the same while the decoder speaks."),
    },
    {
      part: "player",
      state: { word: "knight", at: 1 },
      title: _("Phonemes come out one by one"),
      text: _("The decoder starts from a begin token and says N. Then it reads what it has said, and says the next one, until it says that the word is over. Back and Next under the curves do this step by step."),
    },
    {
      part: "look",
      state: { word: "knight", at: 1 },
      title: _("A ribbon is an attention weight"),
      text: _("To say N, the decoder looks at k and at n, with about half of its attention each. This is the mean over three layers with four heads each."),
    },
    {
      part: "look",
      state: { word: "knight", at: 1, layer: 1 },
      title: _("One layer at a time"),
      text: _("Here is layer 1 alone. All its heads look at k, with more than nine tenths of their attention. Does the model need the k?"),
    },
    {
      part: "look",
      state: { word: "knight", hide: [0] },
      title: _("Hide the letter"),
      text: _("Now the k is hidden from the decoder, and it still says N AY T. The encoder has mixed the letters, so the vector of n can carry what the k had to say."),
    },
    {
      part: "look",
      state: { word: "knight", hide: [1] },
      title: _("Hide another one"),
      text: _("With the n hidden instead, it says K AY T. What happens when you take something away is better evidence than a wide ribbon."),
    },
    {
      part: "lens",
      state: { word: "knight", at: 1 },
      title: _("What each layer would say"),
      text: _("If the decoder stopped after layer 1, it would say K, and be unsure. After layer 2 it says N, still unsure. After layer 3 it is sure."),
    },
    {
      part: "look",
      state: { word: "chaos", force: [[0, "K"]] },
      title: _("Make it say something else"),
      text: _("For chaos the model begins with CH, and ends wrong. Here it was made to begin with K, its second choice. It read that K at the next steps and said K EY AA S, which is right. Any of the five bars can be pressed so."),
    },
    {
      part: "look",
      state: { word: "chaos", off: ["3.4"] },
      title: _("Switch a head off"),
      text: _("Without head 3.4, the same word comes out right: K EY AA S. This is one word: to switch off any one of the 12 heads changes the answer for 4 to 9% of the first 600 dev words, for better or worse. The switches of the heads are below."),
    },
    {
      part: "beam",
      state: { word: "attach" },
      title: _("Greedy and beam search"),
      text: _("Greedy search takes the best first phoneme of attach and ends with AE T AH K. A beam keeps the second best too, and finds AH T AE CH, which is right and more probable as a whole. Now type a word of your own."),
    },
  ];

  class Tour {
    constructor(figure) {
      this.figure = figure;
      this.begin = make(document.createElement("div"), "button", { type: "button", textContent: fill(_("Take the tour: {count} cards"), { count: CARDS.length }) });
      this.begin.className = "speak-begin";
      figure.box.prepend(this.begin);
      this.begin.addEventListener("click", () => this.show(0));
      this.card = document.createElement("div");
      this.card.className = "speak-card";
      this.card.setAttribute("role", "group");
      this.card.setAttribute("aria-label", _("Guided tour"));
      this.title = make(this.card, "p", { className: "speak-title", tabIndex: -1 });
      this.text = make(this.card, "p");
      const [back, next, leave] = makeButtons(this.card, [_("Previous card"), _("Next card"), _("Leave")]);
      Object.assign(this, { back, next });
      back.addEventListener("click", () => this.show(this.at - 1));
      next.addEventListener("click", () => this.show(this.at + 1));
      leave.addEventListener("click", () => this.leave());
      this.card.addEventListener("keydown", (event) => {
        if (event.key === "Escape") this.leave();
      });
    }

    show(at) {
      if (at < 0) return;
      if (at === CARDS.length) {
        this.leave();
        return;
      }
      const { part, state, title, text } = CARDS[at];
      this.at = at;
      this.unlight();
      const place = this.figure.box.querySelector(`[data-part="${part}"]`);
      place.classList.add("speak-lit");
      if (place.tagName === "DETAILS") place.open = true;
      place.before(this.card);
      this.begin.hidden = true;
      this.title.textContent = fill(_("{card} of {count}: {title}"), { card: at + 1, count: CARDS.length, title });
      this.text.textContent = text;
      this.back.setAttribute("aria-disabled", String(at === 0));
      this.next.textContent = at === CARDS.length - 1 ? _("Done") : _("Next card");
      this.figure.set(state);
      this.card.scrollIntoView({ block: "start", behavior: still.matches ? "auto" : "smooth" });
      this.title.focus({ preventScroll: true });
    }

    unlight() {
      this.figure.box.querySelector(".speak-lit")?.classList.remove("speak-lit");
    }

    // The figure stays as the card has set it.
    leave() {
      this.unlight();
      this.card.remove();
      this.begin.hidden = false;
      this.begin.focus();
    }
  }

  window.speller.addTour = (figure) => new Tour(figure);
})();
