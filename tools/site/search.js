// Search over titles, headings and texts of all pages. Works from files, without a server.
(() => {
  const input = document.getElementById("search");
  const found = document.getElementById("found");
  const root = document.currentScript.dataset.root;
  const menu = document.querySelector(".menu");
  const SHOWN = 12;
  const SNIPPET = 110; // characters
  if (window.matchMedia("(max-width: 60rem)").matches) menu.removeAttribute("open");

  // The index is loaded when the search is first used: it has the text of all pages.
  let entries = [];
  let requested = false;
  const load = () => {
    if (requested) return;
    requested = true;
    const script = document.createElement("script");
    script.src = `${root}/search-index.js`;
    script.addEventListener("load", () => {
      entries = SEARCH_INDEX.map(([title, section, place, text]) => ({
        title, section, place, text,
        heads: [(section || title).toLowerCase(), title.toLowerCase()], body: text.toLowerCase(),
        weight: place.startsWith("source/") ? 0.5 : 1, // the pages for users come before those of the source
      }));
      show();
    });
    document.head.append(script);
  };
  // A word without the s of its plural, and the pattern of a word that begins with it.
  const read = (word) => {
    const stem = word.length > 3 ? word.replace(/s$/, "") : word;
    return { stem, start: new RegExp(`(^|[^a-z0-9])${stem.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}`) };
  };
  // A word counts most in the heading of a section (of a page: its title), then in the page's title, then in the text; 0: it is nowhere.
  const weigh = (entry, { stem, start }) => {
    const grade = (text, whole, part) => (!text.includes(stem) ? 0 : start.test(text) ? whole : part);
    return grade(entry.heads[0], 8, 4) + grade(entry.heads[1], 6, 3) + grade(entry.body, 2, 1);
  };
  const search = (text) => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean).map(read);
    if (!words.length) return [];
    const hits = [];
    for (const entry of entries) {
      const weights = words.map((word) => weigh(entry, word));
      if (weights.every((weight) => weight > 0)) hits.push([entry.weight * weights.reduce((a, b) => a + b), entry]);
    }
    const length = (entry) => entry.title.length + entry.section.length;
    hits.sort((a, b) => b[0] - a[0] || length(a[1]) - length(b[1]));
    return hits.slice(0, SHOWN).map(([, entry]) => [entry, words[0].stem]);
  };
  const element = (name, kind, text) => {
    const made = document.createElement(name);
    made.className = kind;
    made.textContent = text;
    return made;
  };
  const row = ([entry, word]) => {
    const link = document.createElement("a");
    link.href = `${root}/${entry.place}`;
    link.append(element("b", "", entry.section || entry.title));
    if (entry.section) link.append(element("span", "page", entry.title));
    const at = Math.max(0, entry.body.indexOf(word) - SNIPPET / 3);
    link.append(element("span", "snippet", `${at > 0 ? "… " : ""}${entry.text.slice(at, at + SNIPPET)}`));
    const item = document.createElement("li");
    item.append(link);
    return item;
  };
  const show = () => {
    const hits = search(input.value);
    found.replaceChildren(...hits.map(row));
    if (input.value.trim() && entries.length && !hits.length) found.append(element("li", "none", "Nothing found."));
    found.hidden = !found.children.length;
  };
  const links = () => [...found.querySelectorAll("a")];
  const move = (by) => {
    const all = [input, ...links()];
    const next = all[all.indexOf(document.activeElement) + by];
    if (next) next.focus();
  };
  input.addEventListener("focus", load);
  input.addEventListener("input", () => { load(); show(); });
  document.querySelector(".search").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target === input && links().length) links()[0].click();
    else if (event.key === "ArrowDown") { event.preventDefault(); move(1); }
    else if (event.key === "ArrowUp") { event.preventDefault(); move(-1); }
    else if (event.key === "Escape") { input.value = ""; show(); input.focus(); }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== input) { event.preventDefault(); input.focus(); }
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest(".search")) found.hidden = true;
  });
})();
