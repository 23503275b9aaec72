// Search over the titles and headings of all pages. Works from files, without a server.
(() => {
  const input = document.getElementById("search");
  const found = document.getElementById("found");
  const root = document.currentScript.dataset.root;
  const menu = document.querySelector(".menu");
  if (window.matchMedia("(max-width: 60rem)").matches) menu.removeAttribute("open");

  const search = (text) => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    return SEARCH_INDEX.filter(([title]) => words.every((word) => title.toLowerCase().includes(word)))
      .sort((a, b) => a[0].length - b[0].length).slice(0, 12);
  };
  const show = () => {
    found.replaceChildren(...search(input.value).map(([title, place]) => {
      const link = document.createElement("a");
      link.href = `${root}/${place}`;
      link.textContent = title;
      const item = document.createElement("li");
      item.append(link);
      return item;
    }));
    found.hidden = !found.children.length;
  };
  input.addEventListener("input", show);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && found.firstElementChild) found.firstElementChild.firstElementChild.click();
    if (event.key === "Escape") { input.value = ""; show(); }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== input) { event.preventDefault(); input.focus(); }
  });
})();
