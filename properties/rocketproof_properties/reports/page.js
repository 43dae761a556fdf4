"use strict";
{
  const words = document.getElementById("words");
  const boxes = [...document.querySelectorAll("#filter input[type=checkbox]")];
  const rows = [...document.querySelectorAll("#table tbody tr")];
  const said = document.getElementById("shown");
  const filter = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const outcomes = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    let shown = 0;
    for (const row of rows) {
      const fits = outcomes.has(row.dataset.outcome) && wanted.every((word) => row.dataset.words.includes(word));
      row.hidden = !fits;
      shown += fits;
    }
    said.value = `${shown} of ${rows.length} shown`;
  };
  const form = document.getElementById("filter");
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== words && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      words.focus();
    } else if (event.key === "Escape" && document.activeElement === words) {
      words.value = "";
      filter();
    }
  });
  window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => (one.open = true)));
  filter();
}
