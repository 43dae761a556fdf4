// The focus stays in the page: if the element that has it goes away, it moves to what stands around it, or to the heading of a new page.

const HOLDS = "[tabindex], nav, dialog"; // what takes the focus of an element that it contained

/** Watch everything below `root`. */
export function keepFocus(root: HTMLElement): void {
  let chain: Element[] = []; // the element that had the focus last, and those around it
  let frame = 0;
  root.addEventListener("focusin", ({ target }) => {
    chain = [];
    for (let one = target as Element | null; one && one !== root; one = one.parentElement) chain.push(one);
  });
  root.addEventListener("pointerdown", () => (chain = [])); // whoever points needs no focus, and may give it away
  root.addEventListener("focusout", () => requestAnimationFrame(() => chain[0]?.isConnected && document.activeElement === document.body && (chain = []))); // it was left with Esc
  const restore = (): void => {
    if (!chain[0] || chain[0].isConnected || document.activeElement !== document.body) return;
    const place = chain.find((one) => one.isConnected && one.matches(HOLDS));
    const next = place?.matches("nav") ? place.querySelector("button") : place;
    ((next ?? root.querySelector(".list") ?? root.querySelector("h1")) as HTMLElement | null)?.focus({ preventScroll: true });
  };
  new MutationObserver(() => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(restore); // when all of it is drawn
  }).observe(root, { childList: true, subtree: true });
}
