// What the stock theme leaves out: for people who use a keyboard or a screen reader, who search, who print.

// Wide code, tables and formulas scroll in their own box, and a keyboard reaches a box only by a tab stop.
// A formula within a line has no box.
const SCROLLING_BOXES = [
  "pre",
  ".output",
  ".pst-scrollable-table-container",
  "mjx-container[display]",
  ".drawing-box",
  "dt.sig",
].map((box) => `.bd-article ${box}`).join(", ");

function makeReachable() {
  for (const box of document.querySelectorAll(SCROLLING_BOXES)) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else if (box.tabIndex === 0) box.removeAttribute("tabindex");
    showWhetherMore(box);
  }
}

// What goes on beyond the right edge fades out there (see course.css).
function showWhetherMore(box) {
  box.classList.toggle("course-more", box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
}

// A button above the article breaks the long lines of all boxes with code, where there are some too wide.
function offerToWrap() {
  const row = document.querySelector(".article-header-buttons");
  const isWide = (box) => box.scrollWidth > box.clientWidth;
  if (!row || ![...document.querySelectorAll(".bd-article pre")].some(isWide)) return;
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "btn btn-sm course-wrap", textContent: "\u21a9", title: _("Wrap long lines") });
  button.setAttribute("aria-label", button.title);
  button.setAttribute("aria-pressed", "false");
  button.addEventListener("click", () => {
    const wraps = document.documentElement.classList.toggle("course-wraps");
    button.setAttribute("aria-pressed", String(wraps));
    makeReachable();
  });
  row.prepend(button);
}

// A link to the page in another language leads to the section that is read; the anchors are the same.
function keepPlace() {
  for (const link of document.querySelectorAll("a.course-language")) {
    link.addEventListener("click", () => {
      const headings = [...document.querySelectorAll(".bd-article section[id] > :is(h2, h3)")];
      const passed = headings.filter((heading) => heading.getBoundingClientRect().top < window.innerHeight / 3);
      link.hash = passed.at(-1)?.parentElement.id ?? "";
    });
  }
}

// The mark of a check opens the fold that holds its code; not every browser does so by itself.
function openChecks() {
  for (const link of document.querySelectorAll(".page-check a")) {
    link.addEventListener("click", () => {
      document.querySelector(link.hash).closest("details").open = true;
    });
  }
}

// The arrows that unfold a part of the table of contents have no name of their own.
function nameArrows() {
  for (const arrow of document.querySelectorAll(".bd-docs-nav li.has-children > details > summary")) {
    const page = arrow.closest("li").querySelector("a").textContent.trim();
    arrow.setAttribute("aria-label", _("Pages under {page}").replace("{page}", page));
  }
}

// Search results come in the order of these kinds of pages, the first the best; within a kind, as Sphinx scores them.
const KINDS = [
  /^book\/(?!api\/|closer\/|conventions$|index$|instructors$|misconceptions$|notes$|references$|speak$|students$)/, // chapters, glossary
  /^book\/closer\//,
  /^exercises\//,
  /^book\/api\//,
  /^book\//,
];

function rank([page, title, anchor, , score]) {
  const kind = KINDS.findIndex((pattern) => pattern.test(page));
  const asked = new URLSearchParams(location.search).get("q") ?? "";
  if (!anchor && title.trim().toLowerCase() === asked.trim().toLowerCase()) return 1e6 + score; // a page by its name
  // The words of _config.yml and of the glossary score 100, more than all else; the glossary comes second.
  const named = score >= 100 && page !== "book/glossary" ? 1e5 : 0;
  return named + 1000 * (kind < 0 ? 0 : KINDS.length - kind) + score;
}

// An excerpt shows sentences: neither the source of a formula nor the buttons and the contents above the article.
function excerptsOf(textOf) {
  return (html, anchor) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    for (const formula of page.querySelectorAll(".math")) formula.replaceWith("\u2026");
    for (const frame of page.querySelectorAll(".bd-header-article, #jb-print-docs-body, .page-check, svg")) frame.remove();
    return textOf(page.documentElement.outerHTML, anchor);
  };
}

function tuneSearch() {
  if (typeof Search === "undefined") return; // a page without Sphinx's search tools
  Scorer.score = rank;
  Search.htmlToText = excerptsOf(Search.htmlToText);
}

// ---- formulas -----------------------------------------------------------------------------------

// MathJax is by far the largest part of a page. It is loaded when a reader does anything, or when a formula is in view,
// and then sets all formulas; the page holds its address in a script that no browser runs.
// Returns a promise of formulas that are set, at once where a page has none.
function setFormulas() {
  setFormulas.done ??= loadMathJax();
  return setFormulas.done;
}

async function loadMathJax() {
  const address = document.querySelector('script[type="text/plain"][src*="mathjax"]')?.src;
  if (!address) return;
  const script = Object.assign(document.createElement("script"), { src: address });
  const loaded = new Promise((done) => script.addEventListener("load", done));
  document.head.append(script);
  await loaded;
  await window.MathJax.startup.promise;
  keepPunctuation();
  makeReachable();
}

// Chromium breaks a line between a formula and the comma after it.
function keepPunctuation() {
  for (const formula of document.querySelectorAll(".bd-article span.math")) {
    const [mark] = formula.nextSibling?.data?.match(/^[,.;:?!)\u3001\u3002\uff0c\uff1a\uff1b\uff1f\uff09]+/) ?? [];
    if (!mark) continue;
    formula.nextSibling.data = formula.nextSibling.data.slice(mark.length);
    const together = Object.assign(document.createElement("span"), { className: "course-together" });
    formula.replaceWith(together);
    together.append(formula, mark);
  }
}

// Not before all else is loaded, so that the figures come first.
function waitForReader() {
  const signs = ["scroll", "pointermove", "pointerdown", "keydown", "beforeprint"];
  const view = new IntersectionObserver((seen) => seen.some((each) => each.isIntersecting) && begin());
  function begin() {
    view.disconnect();
    signs.forEach((sign) => window.removeEventListener(sign, begin));
    if (document.readyState === "complete") setFormulas();
    else window.addEventListener("load", setFormulas);
  }
  signs.forEach((sign) => window.addEventListener(sign, begin, { passive: true }));
  document.querySelectorAll(".bd-article .math").forEach((formula) => view.observe(formula));
}

document.addEventListener("DOMContentLoaded", waitForReader);

// ---- paper --------------------------------------------------------------------------------------

// Paper is light and unfolds nothing: answers are printed open. Hints stay folded, and so does code (see course.css).
function answers() {
  const folds = [...document.querySelectorAll(".bd-article details:is(.sd-dropdown, .hide):not([open])")];
  return folds.filter((fold) => fold.matches(".sd-dropdown") || /Show the answer/.test(fold.textContent));
}

function prepareForPaper() {
  const [page, opened] = [document.documentElement.dataset, answers()];
  const theme = page.theme;
  const unfold = (open) => opened.forEach((fold) => (fold.open = open));
  unfold(true);
  page.theme = "light";
  const restore = () => {
    unfold(false);
    page.theme = theme;
  };
  window.addEventListener("afterprint", restore, { once: true });
}

window.addEventListener("beforeprint", prepareForPaper);

tuneSearch();

document.addEventListener("DOMContentLoaded", () => {
  nameArrows();
  keepPlace();
  openChecks();
  offerToWrap();
  makeReachable();
  document.addEventListener("scroll", ({ target }) => target.matches?.(SCROLLING_BOXES) && showWhetherMore(target), true);
  window.addEventListener("resize", makeReachable);
  document.addEventListener("toggle", makeReachable, true);
  window.addEventListener("load", makeReachable);
});
