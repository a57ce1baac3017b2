// What a term of the glossary means, beside a link to it: when it is pointed at or has the focus; Escape closes it.
// book/_extensions/terms.py puts the first sentences of the definitions into the page. A finger follows the link, as ever.

(() => {
  const PAUSE = 300; // milliseconds: who only passes by sees nothing, and the way into the box is long enough
  const GAP = 8; // pixels between a link and its box, and between the box and the edge

  const box = Object.assign(document.createElement("div"), { id: "course-term", className: "term-box", hidden: true });
  box.setAttribute("role", "tooltip");
  let shownFor = null; // the link whose term is shown
  let timer = null;

  function place(link) {
    const line = link.getClientRects()[0]; // a link may go over two lines
    const room = document.documentElement.clientWidth;
    const left = Math.max(GAP, Math.min(line.left, room - box.offsetWidth - GAP));
    const below = line.bottom + GAP + box.offsetHeight <= window.innerHeight;
    const top = below ? line.bottom + GAP : line.top - GAP - box.offsetHeight;
    box.style.left = `${left + window.scrollX}px`;
    box.style.top = `${top + window.scrollY}px`;
  }

  async function show(link, definition) {
    hide();
    box.replaceChildren(...definition.cloneNode(true).childNodes);
    box.hidden = false;
    shownFor = link;
    link.setAttribute("aria-describedby", box.id);
    place(link);
    if (!box.querySelector(".math")) return;
    await window.setFormulas();
    await window.MathJax?.typesetPromise([box]);
    if (shownFor === link) place(link); // a formula has another size than its source
  }

  function hide() {
    clearTimeout(timer);
    if (!shownFor) return;
    shownFor.removeAttribute("aria-describedby");
    shownFor = null;
    box.hidden = true;
  }

  function later(action) {
    clearTimeout(timer);
    timer = setTimeout(action, PAUSE);
  }

  function watch(link, definition) {
    link.addEventListener("pointerenter", (event) => {
      if (event.pointerType === "touch") return;
      if (shownFor === link) clearTimeout(timer);
      else later(() => show(link, definition));
    });
    link.addEventListener("pointerleave", () => later(hide));
    link.addEventListener("focus", () => link.matches(":focus-visible") && show(link, definition));
    link.addEventListener("blur", hide);
  }

  document.addEventListener("DOMContentLoaded", () => {
    const terms = document.getElementById("course-terms");
    if (!terms) return;
    const definitions = new Map([...terms.content.children].map((entry) => [entry.dataset.term, entry]));
    for (const link of document.querySelectorAll('.bd-article a[href*="glossary.html#term-"]')) {
      const definition = definitions.get(decodeURIComponent(link.hash.slice(1)));
      if (definition) watch(link, definition);
    }
    document.body.append(box);
    // The box stays while it is pointed at, so that it can be read with a magnifier.
    box.addEventListener("pointerenter", () => clearTimeout(timer));
    box.addEventListener("pointerleave", () => later(hide));
    document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  });
})();
