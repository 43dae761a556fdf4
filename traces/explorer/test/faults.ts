// What a reader of the page at hand cannot read: text outside of its box or over other text, too small, or too pale; a page that is too wide.

import type { Page } from "playwright-core";
import { drawn } from "./browser";

const SMALLEST = 11; // pixels of a letter
const PALEST = 4.5; // contrast of text and paper, as WCAG AA requires it

/** Return the faults of a page, light and dark, as lines of text, each with the element that has it. */
export async function faults(page: Page): Promise<string[]> {
  const found: string[] = [];
  await drawn(page); // after a new width, columns are fitted in the next frame
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    const some = await page.evaluate(measure, { smallest: SMALLEST, palest: PALEST, places: colorScheme === "light" }); // places do not depend on colours
    found.push(...some.map((fault) => `${colorScheme}, ${fault}`));
  }
  return found;
}

/** This runs in the page, so it uses nothing of this module. */
function measure({ smallest, palest, places }: { smallest: number; palest: number; places: boolean }): string[] {
  type Box = { left: number; top: number; right: number; bottom: number };
  const found: string[] = [];
  const root = document.documentElement;
  const dialog = document.querySelector("dialog[open]");
  const styles = new Map<Element, CSSStyleDeclaration>();
  const styleOf = (one: Element): CSSStyleDeclaration => {
    const known = styles.get(one) ?? getComputedStyle(one);
    styles.set(one, known);
    return known;
  };
  /** An element and the elements around it. */
  const outwards = (of: Element): Element[] => {
    const all: Element[] = [];
    for (let one: Element | null = of; one; one = one.parentElement) all.push(one);
    return all;
  };
  const isDrawn = (one: Element): boolean => one instanceof SVGElement;
  const called = (one: Element): string => {
    const classes = [...one.classList].map((name) => `.${name}`).join("");
    const text = (one.textContent ?? "").replace(/\s+/g, " ").trim().slice(0, 50);
    return `${one.parentElement?.classList[0] ? `.${one.parentElement.classList[0]} > ` : ""}${one.tagName.toLowerCase()}${classes} “${text}”`;
  };

  if (root.scrollWidth > innerWidth) found.push(`the page is ${root.scrollWidth} wide, the window ${innerWidth}`);

  const crossing = (one: Box, other: Box): Box => ({
    left: Math.max(one.left, other.left),
    top: Math.max(one.top, other.top),
    right: Math.min(one.right, other.right),
    bottom: Math.min(one.bottom, other.bottom),
  });
  const isEmpty = (box: Box): boolean => box.right - box.left < 1 || box.bottom - box.top < 1;

  /** The part of a box that no element around it cuts off. */
  const visible = (of: Element, box: Box): Box => {
    let part = crossing(box, { left: 0, top: 0, right: innerWidth, bottom: innerHeight });
    for (const around of outwards(of)) {
      const style = styleOf(around);
      if (style.visibility === "hidden" || style.display === "none") return { left: 0, top: 0, right: 0, bottom: 0 };
      if (style.overflowX !== "visible" || style.overflowY !== "visible") part = crossing(part, around.getBoundingClientRect());
      if (isEmpty(part) || style.position === "fixed" || around === dialog) break;
    }
    return part;
  };

  const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true }) as CanvasRenderingContext2D;
  const colours = new Map<string, number[]>();
  const rgba = (text: string): number[] => {
    let known = colours.get(text);
    if (!known) {
      paint.clearRect(0, 0, 1, 1);
      paint.fillStyle = text;
      paint.fillRect(0, 0, 1, 1);
      const [r = 0, g = 0, b = 0, a = 0] = paint.getImageData(0, 0, 1, 1).data;
      colours.set(text, (known = [r, g, b, a / 255]));
    }
    return known;
  };
  const over = (top: number[], below: number[], share = top[3] ?? 1): number[] => [0, 1, 2].map((k) => (top[k] ?? 0) * share + (below[k] ?? 0) * (1 - share));
  const light = (colour: number[]): number => {
    const [r = 0, g = 0, b = 0] = colour.map((part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one: number[], other: number[]): number => {
    const [more = 0, less = 0] = [light(one), light(other)].sort((a, b) => b - a);
    return (more + 0.05) / (less + 0.05);
  };
  /** The colour behind an element's text; text of a drawing stands on the shape before it. */
  const paper = (of: Element): number[] => {
    const layers: number[][] = [];
    if (isDrawn(of)) {
      const shape = of.parentElement?.querySelector("rect");
      if (shape) layers.push(rgba(styleOf(shape).fill));
    }
    layers.push(...outwards(of).map((around) => rgba(styleOf(around).backgroundColor)));
    return layers.reverse().reduce((below, top) => over(top, below), rgba(styleOf(root).colorScheme === "dark" ? "#000" : "#fff"));
  };
  const opacity = (of: Element): number => outwards(of).reduce((all, around) => all * Number(styleOf(around).opacity), 1);
  /** Whether an element shows all of its text elsewhere: in its title, or in the panel that its line opens. */
  const readable = (one: Element): boolean => one.closest("[title]") !== null || one.closest("[role=option]") !== null || one.parentElement?.querySelector(":scope > title") != null;

  const filled = (one: Element): string => (isDrawn(one) ? styleOf(one).fill.replace("none", "transparent") : styleOf(one).backgroundColor);

  const texts: { of: Element; box: Box }[] = [];
  const walk = document.createTreeWalker(dialog ?? document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const of = node.parentElement;
    if (!of || !node.textContent?.trim() || of.closest("script, style, title, noscript, option, datalist") || !of.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const shown = [...range.getClientRects()].map((rect) => ({ rect, part: visible(of, rect) })).filter(({ part }) => !isEmpty(part));
    if (!shown.length) continue;
    const style = styleOf(of);
    const size = Number.parseFloat(style.fontSize);
    if (size < smallest) found.push(`${size} pixels: ${called(of)}`);
    const scrolls = outwards(of).some((one) => /auto|scroll/.test(styleOf(one).overflowX));
    for (const { rect, part } of places ? shown : []) {
      const cut = rect.right - part.right > 2 && part.right < innerWidth - 1;
      if (cut && !scrolls && !readable(of)) found.push(`cut off at the side: ${called(of)}`);
      texts.push({ of, box: part });
    }
    const ink = rgba(style.fill !== "none" && isDrawn(of) ? style.fill : style.color);
    const back = paper(of);
    const ratio = contrast(over(ink, back, (ink[3] ?? 1) * opacity(of)), back);
    if (ratio < palest && !of.closest(".dim")) found.push(`contrast ${ratio.toFixed(2)}: ${called(of)}`);
  }

  for (const [k, one] of texts.entries()) {
    for (const other of texts.slice(k + 1)) {
      if (one.of === other.of) continue;
      const both = crossing(one.box, other.box);
      if (both.right - both.left < 2 || both.bottom - both.top < 3) continue;
      const at = document.elementsFromPoint((both.left + both.right) / 2, (both.top + both.bottom) / 2);
      const covered = (what: Element): boolean => {
        const place = at.findIndex((each) => each === what || what.contains(each));
        return at.slice(0, place < 0 ? at.length : place).some((each) => !each.contains(what) && rgba(filled(each))[3] === 1 && what.compareDocumentPosition(each) & (isDrawn(each) ? Node.DOCUMENT_POSITION_FOLLOWING : ~0));
      };
      if (covered(one.of) || covered(other.of)) continue;
      found.push(`over each other: ${called(one.of)} and ${called(other.of)}`);
    }
  }
  return [...new Set(found)];
}
