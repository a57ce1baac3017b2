// What the stock theme leaves out for people who use a keyboard or a screen reader.

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
  }
}

// The arrows that unfold a part of the table of contents have no name of their own.
function nameArrows() {
  for (const arrow of document.querySelectorAll(".bd-docs-nav li.has-children > details > summary")) {
    const page = arrow.closest("li").querySelector("a").textContent.trim();
    arrow.setAttribute("aria-label", `Pages under ${page}`);
  }
}

document.addEventListener("DOMContentLoaded", () => {
  nameArrows();
  makeReachable();
  window.addEventListener("resize", makeReachable);
  document.addEventListener("toggle", makeReachable, true);
  window.addEventListener("load", async () => {
    await window.MathJax?.startup?.promise;
    makeReachable();
  });
});
