// Keeps the focus in the page: if the element that has it is removed, the focus moves to an element around it, or to the heading of a new page.

const HOLDS = "[tabindex], nav, dialog"; // elements that take the focus of a removed element inside them

/** Watch everything below `root`. */
export function keepFocus(root: HTMLElement): void {
  let chain: Element[] = []; // the element that had the focus last, and the elements around it
  let frame = 0;
  const lost = (): boolean => document.activeElement === document.body;
  root.addEventListener("focusin", ({ target }) => {
    chain = [];
    for (let one = target as Element | null; one && one !== root; one = one.parentElement) chain.push(one);
  });
  root.addEventListener("pointerdown", () => (chain = [])); // a reader with a mouse needs no focus
  const left = (): void => {
    if (chain[0]?.isConnected && lost()) chain = []; // Esc left an element that is still there
  };
  root.addEventListener("focusout", () => requestAnimationFrame(left));
  const restore = (): void => {
    if (!chain[0] || chain[0].isConnected || !lost()) return;
    const place = chain.find((one) => one.isConnected && one.matches(HOLDS));
    const next = place?.matches("nav") ? place.querySelector("button") : place;
    ((next ?? root.querySelector(".list") ?? root.querySelector("h1")) as HTMLElement | null)?.focus({ preventScroll: true });
  };
  new MutationObserver(() => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(restore); // after the page is drawn
  }).observe(root, { childList: true, subtree: true });
}
