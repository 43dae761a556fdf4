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
    try {
      await page.goto(address);
      await page.waitForSelector("#page > :is(.page, [role=alert])"); // not what is shown while it waits for the server
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

/** Wait until an element says what is expected. */
export async function says(page: Page, selector: string, wanted: RegExp): Promise<void> {
  let text = "";
  for (const end = Date.now() + WAIT; Date.now() < end; await page.waitForTimeout(30)) {
    text = await textOf(page, selector);
    if (wanted.test(text)) return;
  }
  assert.match(text, wanted);
}
