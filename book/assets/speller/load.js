// What the figures with the trained speller share: how the model gets into the page, and which words it can read.
// model.js and weights.js are added to the page when they are first needed. They are classic scripts, because a page
// that was opened as a file may neither fetch nor import anything.
// book/_extensions/figures.py loads this file on the pages of these figures.

window.speller = (() => {
  const { fill, make } = window.moving;
  const FOLDER = new URL("./", document.currentScript.src);

  // ---- the model comes when it is asked for -----------------------------------------------------

  function addScript(name) {
    return new Promise((resolve, reject) => {
      const script = make(document.head, "script", { src: new URL(name, FOLDER).href });
      script.addEventListener("load", resolve);
      script.addEventListener("error", () => reject(new Error(fill(_("{name} could not be loaded"), { name }))));
    });
  }

  let loading = null;
  function loadModel() {
    loading ??= Promise.all(["model.js", "weights.js"].map(addScript)).then(() => {
      return new window.speller.Model(window.speller.weights);
    });
    loading.catch(() => (loading = null)); // the next key or click tries again
    return loading;
  }

  // ---- what may be typed ------------------------------------------------------------------------

  // Returns [word, what is wrong with it]; one of the two is empty.
  function readWord(typed, most = 28) {
    const word = typed.trim().toLowerCase().replaceAll("\u2019", "'");
    if (word === "") return ["", _("Type a word first.")];
    if (/\s/.test(word)) return ["", _("One word at a time, please: the model has never seen a space.")];
    const unknown = [...word].find((letter) => !/[a-z']/.test(letter));
    if (unknown) return ["", fill(_("The model knows the letters a to z and the apostrophe. It has no token for \u201c{unknown}\u201d."), { unknown })];
    if (word.length > most) return ["", fill(_("At most {most} letters; this word has {count}."), { most, count: word.length })];
    return [word, ""];
  }

  return { loadModel, readWord };
})();
