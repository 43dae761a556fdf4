"use strict";
{
  const words = document.getElementById("words");
  const boxes = [...document.querySelectorAll("#filter input[type=checkbox]")];
  const rows = [...document.querySelectorAll("#table tbody tr")];
  const folds = [...document.querySelectorAll("#table details:not(.how)")].reverse();  // inner ones first
  const first = new Map(folds.map((one) => [one, one.open]));
  const said = document.getElementById("shown");
  const help = document.getElementById("help");
  const fold = document.getElementById("fold");
  let all = false;
  const filter = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const outcomes = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    let shown = 0;
    for (const row of rows) {
      const fits = outcomes.has(row.dataset.outcome) && wanted.every((word) => row.dataset.words.includes(word));
      row.hidden = !fits;
      shown += fits;
    }
    const few = wanted.length > 0 && shown <= 40;
    for (const one of folds) {
      one.hidden = !one.querySelector("tbody tr:not([hidden])");
      one.open = all || few || (wanted.length > 0 && one.matches(".theme") && !one.hidden) || first.get(one);
    }
    said.value = `${shown} of ${rows.length} cases shown`;
  };
  const openAll = () => {
    all = !all;
    fold.textContent = all ? "fold what is as expected" : "open all";
    filter();
  };
  const root = document.documentElement;
  const theme = () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  };
  const stops = () => [...document.querySelectorAll("summary, .finding")].filter((one) => one.offsetParent !== null);
  const go = (places, way) => {
    const visible = places.filter((one) => one.offsetParent !== null);
    const now = visible.indexOf(document.activeElement);
    const next = visible[now < 0 ? (way > 0 ? 0 : visible.length - 1) : now + way];
    if (!next) return;
    next.tabIndex = next.tabIndex < 0 ? -1 : next.tabIndex;
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  };
  const keys = {
    j: () => go(stops(), 1),
    k: () => go(stops(), -1),
    n: () => go([...document.querySelectorAll(".finding, tr.differs, tr.error")], 1),
    f: openAll,
    t: theme,
    "/": () => words.focus(),
    "?": () => help.showModal(),
  };
  const form = document.getElementById("filter");
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  fold.addEventListener("click", openAll);
  document.getElementById("theme").addEventListener("click", theme);
  document.getElementById("keys").addEventListener("click", () => help.showModal());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (document.activeElement === words) {
      if (event.key !== "Escape") return;
      words.value = "";
      words.blur();
      filter();
    } else if (keys[event.key]) {
      event.preventDefault();
      keys[event.key]();
    }
  });
  for (const one of document.querySelectorAll(".finding, tr.differs, tr.error")) one.tabIndex = -1;
  window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => (one.open = true)));
  filter();
}
