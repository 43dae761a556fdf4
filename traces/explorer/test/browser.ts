// A browser and pages for the tests. Whatever a page asks a network for, or reports as an error, is a failure of the test that opened it.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import type { Document } from "../src/document";

const PAGE = join(process.env["EXPLORER"] ?? "", "../rocketproof_traces/explorer/page.html");
const PLACE = '<script type="application/json" id="document">null</script>';
const WAIT = 15_000; // milliseconds; machines that test are busy
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** Windows in which all pages are read: a phone, a tablet, a notebook, a screen. */
export const WIDTHS = [
  { width: 390, height: 844 },
  { width: 800, height: 900 },
  { width: 1280, height: 800 },
  { width: 1920, height: 1080 },
];

export class Bench {
  private constructor(
    readonly browser: Browser,
    private readonly folder: string,
  ) {}

  static async open(): Promise<Bench> {
    const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
    return new Bench(await chromium.launch({ executablePath, args: FLAGS }), mkdtempSync(join(tmpdir(), "explorer-page-")));
  }

  async close(): Promise<void> {
    await this.browser.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The address of a static page with a document in it; a text stands there as it is. */
  file(document: Document | string, name = "trace"): string {
    const html = readFileSync(PAGE, "utf8");
    assert.equal(html.split(PLACE).length, 2, "the page has one place for a document");
    const text = typeof document === "string" ? document : JSON.stringify(document);
    const path = join(this.folder, `${name}.html`);
    writeFileSync(path, html.replace(PLACE, () => PLACE.replace("null", () => text.replaceAll("<", "\\u003c"))));
    return pathToFileURL(path).href;
  }

  /** Open an address, do something there, and see that nothing went wrong and nothing left the machine. */
  async visit(address: string, job: (page: Page) => Promise<void>, size = { width: 1280, height: 800 }): Promise<void> {
    const page = await this.browser.newPage({ viewport: size });
    page.setDefaultTimeout(WAIT);
    const wrong: string[] = [];
    const own = new URL(address).origin;
    page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
    page.on("console", (message) => message.type() === "error" && wrong.push(`console: ${message.text()}`));
    page.on("dialog", (dialog) => {
      wrong.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("request", (request) => {
      const { protocol, origin } = new URL(request.url());
      if (protocol !== "data:" && protocol !== "file:" && origin !== own) wrong.push(`request: ${request.url()}`);
    });
    await page.context().setOffline(address.startsWith("file:")); // a page in a file works without a network
    try {
      await page.goto(address);
      await page.waitForSelector("#page > :is(.page, [role=alert]), body > main"); // not what is shown while it waits for the server
      await job(page);
      assert.deepEqual(wrong, []);
    } finally {
      await page.close();
    }
  }
}

/** The text of an element as a reader sees it. */
export async function textOf(page: Page, selector: string): Promise<string> {
  return (await page.locator(selector).first().innerText()).replace(/\s+/g, " ").trim();
}

export async function press(page: Page, ...keys: string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
}

/** Read a text until it matches; returns the last one read. */
async function until(page: Page, wanted: RegExp, read: () => Promise<string>): Promise<string> {
  let text = "";
  for (const end = Date.now() + WAIT; Date.now() < end; await page.waitForTimeout(30)) {
    text = await read();
    if (wanted.test(text)) break;
  }
  return text;
}

/** Wait until an element shows the expected text. */
export async function says(page: Page, selector: string, wanted: RegExp): Promise<void> {
  assert.match(await until(page, wanted, () => textOf(page, selector)), wanted);
}

/** Wait until the browser has drawn the page: the second frame begins after the first is drawn. */
export function drawn(page: Page): Promise<void> {
  return page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))));
}

/** The element that has the focus. */
interface Stop {
  what: string;
  name: string;
  ring: boolean; // a reader sees that it has the focus
  inSight: boolean;
  again: boolean; // Tab has reached it before
}

const MOST = 250; // presses of Tab

/** The element that has the focus; null if none has. Marks it. */
function stop(page: Page): Promise<Stop | null> {
  return page.evaluate((): Stop | null => {
    const one = document.activeElement as HTMLElement | null;
    if (!one || one === document.body) return null;
    const again = one.hasAttribute("data-stop");
    one.setAttribute("data-stop", "");
    const style = getComputedStyle(one);
    const { left, top, width, height } = one.getBoundingClientRect();
    const at = document.elementFromPoint(Math.min(left + Math.min(width, 20) / 2, innerWidth - 1), Math.min(top + Math.min(height, 12) / 2, innerHeight - 1));
    const name = one.getAttribute("aria-label") || [...((one as HTMLInputElement).labels ?? [])].map((label) => label.textContent).join(" ") || one.textContent || one.title;
    return {
      what: one.outerHTML.slice(0, 120),
      name: name.replace(/\s+/g, " ").trim(),
      ring: style.outlineStyle !== "none" && Number.parseFloat(style.outlineWidth) >= 1,
      inSight: at !== null && (one.contains(at) || at.contains(one)),
      again,
    };
  });
}

/** Press Tab to the end of a page. Each element reached has a name and a ring and is in sight. Returns their names. */
export async function stops(page: Page): Promise<string[]> {
  const names: string[] = [];
  await page.evaluate(() => document.querySelectorAll("[data-stop]").forEach((one) => one.removeAttribute("data-stop")));
  for (let k = 0; k < MOST; k++) {
    await page.keyboard.press("Tab");
    const reached = await stop(page);
    if (!reached || reached.again) return names;
    assert.ok(reached.name, `it has no name: ${reached.what}`);
    assert.ok(reached.ring, `nothing shows that it has the focus: ${reached.what}`);
    assert.ok(reached.inSight, `it has the focus and is not in sight: ${reached.what}`);
    names.push(reached.name);
  }
  return names;
}

/** Press Tab until the focused element has a name that matches. */
export async function tabTo(page: Page, wanted: RegExp): Promise<void> {
  for (let k = 0; k < MOST; k++) {
    await page.keyboard.press("Tab");
    if (wanted.test(await focused(page))) return;
  }
  assert.fail(`Tab does not reach ${wanted}`);
}

/** The name of the focused element; "" if there is none. */
async function focused(page: Page): Promise<string> {
  return (await stop(page))?.name ?? "";
}

/** Wait until the focused element has a name that matches. */
export async function focusIs(page: Page, wanted: RegExp): Promise<void> {
  const name = await until(page, wanted, () => focused(page));
  assert.match(name, wanted, `“${name}” has the focus, and not ${wanted}`);
}

/** Take the focus from the element that has it. */
export async function unfocus(page: Page): Promise<void> {
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
  await drawn(page);
}
