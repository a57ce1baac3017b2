// Quick questions that take an answer: the reader picks or types, is told what the mistake is, and may open the answer.
// book/_extensions/questions.py writes what is right and what is wrong into a <template> in the dropdown of a question, and
// loads this file where there is one. Nothing is sent or stored.

(() => {
  const UNKNOWN = _("Not yet, and no usual mistake gives this number. Try once more, or open the answer.");
  const NO_NUMBER = _("Please type a number, such as 3 or 0.25.");
  const RIGHT = _("Right.");

  function make(parent, tag, properties = {}) {
    const made = Object.assign(document.createElement(tag), properties);
    parent.append(made);
    return made;
  }

  // The options of a question: nodes of what is shown, nodes of what is said, and whether it is right.
  function optionsOf(template) {
    return [...template.content.children].map((option) => {
      const [text, said] = [...option.children].map((paragraph) => [...paragraph.childNodes]);
      return { text, said: said ?? [], right: option.hasAttribute("data-right") };
    });
  }

  const copies = (list) => list.map((node) => node.cloneNode(true));

  // Formulas that came with an answer; those of the question are set with the page.
  async function typeset(place) {
    if (!place.querySelector(".math")) return;
    await window.setFormulas();
    await window.MathJax?.typesetPromise([place]);
  }

  // Begins with the verdict; a screen reader reads it out, since its place has been there before.
  function say(verdict, { right, said }) {
    const words = copies(said);
    verdict.dataset.verdict = right ? "right" : "wrong";
    verdict.replaceChildren(right ? RIGHT : _("Not yet."), ...(words.length ? [" ", ...words] : []));
    typeset(verdict);
  }

  function sayPlainly(verdict, text) {
    verdict.dataset.verdict = "wrong";
    verdict.textContent = text;
  }

  // A button that holds nothing but formulas has no name until MathJax has drawn them, and none in some browsers.
  function nameOf(button) {
    const formulas = [...button.querySelectorAll(".math")].map((formula) => formula.textContent);
    const rest = formulas.reduce((text, formula) => text.replace(formula, ""), button.textContent);
    return /\w/.test(rest) ? "" : button.textContent.replace(/\\[()]/g, "").trim();
  }

  // ---- a choice ---------------------------------------------------------------------------------

  function makeChoices(place, options, verdict) {
    for (const option of options) {
      const button = make(place, "button", { type: "button", className: "quick-choice" });
      make(button, "span", { className: "quick-mark" });
      make(button, "span").append(...copies(option.text));
      const name = nameOf(button);
      if (name) button.setAttribute("aria-label", name);
      button.addEventListener("click", () => {
        if (name) button.setAttribute("aria-label", `${option.right ? _("right:") : _("not it:")} ${name}`);
        button.dataset.verdict = option.right ? "right" : "wrong";
        button.firstChild.textContent = option.right ? "\u2713" : "\u2717";
        button.firstChild.setAttribute("role", "img");
        button.firstChild.setAttribute("aria-label", option.right ? _("right:") : _("not it:"));
        say(verdict, option);
      });
    }
  }

  // ---- a number ---------------------------------------------------------------------------------

  // As people write numbers: with a comma, a real minus sign, or as a fraction. NaN where it is none.
  function numberOf(text) {
    const parts = text.replace(",", ".").split("/").map((part) => (part.trim() === "" ? NaN : Number(part)));
    return parts.length > 2 ? NaN : parts.reduce((above, below) => above / below);
  }

  // What may be meant: the comma of "1,280" may also part the thousands.
  function readingsOf(typed) {
    const text = typed.trim().replace(/[\u2212\u2013]/g, "-");
    const grouped = /^-?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/.test(text) ? [Number(text.replaceAll(",", ""))] : [];
    return [numberOf(text), ...grouped].filter(Number.isFinite);
  }

  const digitsOf = (text) => (text.split(".")[1] ?? "").length;

  // A unit in the last digit after the point is left to rounding on the way.
  function fits(given, text) {
    const digits = digitsOf(text);
    const room = digits ? 10 ** -digits : 0;
    return Math.abs(given - Number(text)) <= room + 1e-9;
  }

  function makeField(place, options, verdict, number) {
    const texts = options.map((option) => option.text.map((node) => node.textContent).join("").trim());
    const digits = digitsOf(texts[options.findIndex((option) => option.right)]);
    const form = make(place, "form", { className: "quick-form", noValidate: true });
    const precise = digits > 1 ? _("Your answer (to {digits} digits after the point)") : _("Your answer (to 1 digit after the point)");
    const hint = digits ? precise.replace("{digits}", digits) : _("Your answer");
    make(form, "label", { htmlFor: `quick-field-${number}`, textContent: hint });
    const field = make(form, "input", { id: `quick-field-${number}`, type: "text", inputMode: "decimal", autocomplete: "off" });
    make(form, "button", { type: "submit", textContent: _("Check") });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const readings = readingsOf(field.value);
      field.setAttribute("aria-invalid", String(!readings.length));
      if (!readings.length) return sayPlainly(verdict, NO_NUMBER);
      const found = texts.findIndex((text) => readings.some((given) => fits(given, text)));
      return found < 0 ? sayPlainly(verdict, UNKNOWN) : say(verdict, options[found]);
    });
  }

  // ---- a question -------------------------------------------------------------------------------

  // The question stands above, then what the reader answers with, then the dropdown, which keeps the answer alone.
  function build(template, number) {
    const fold = template.closest("details");
    const title = fold.querySelector(".sd-summary-text");
    const box = Object.assign(document.createElement("div"), { className: "quick-question" });
    fold.before(box);
    const question = make(box, "p", { className: "quick-text", id: `quick-${number}` });
    question.append(...title.childNodes);
    title.textContent = _("The answer");
    const place = make(box, "div", { className: "quick-options" });
    place.setAttribute("role", "group");
    place.setAttribute("aria-labelledby", question.id);
    const verdict = make(box, "p", { className: "quick-verdict" });
    verdict.setAttribute("role", "status");
    const options = optionsOf(template);
    if (template.dataset.kind === "number") makeField(place, options, verdict, number);
    else makeChoices(place, options, verdict);
    box.append(fold);
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("template.quick-answer").forEach(build);
  });
})();
