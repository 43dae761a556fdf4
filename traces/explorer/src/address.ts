// Writes the page's address, a little after the last change: browsers refuse to change it hundreds of times a minute.

const LATER = 120; // milliseconds

let timer = 0;
let next = "";

export function setAddress(fragment: string): void {
  next = fragment;
  clearTimeout(timer);
  timer = window.setTimeout(write, LATER);
}

function write(): void {
  if (next !== location.hash) history.replaceState(null, "", next);
}

addEventListener("pagehide", write);
