// The page before the real explorer: what ROCKETPROOF names is started, its address opened, and a newcomer walks. Without it this is left out.

import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Bench, press, says } from "./browser";

const command = process.env["ROCKETPROOF"];
const left = command ? {} : { skip: "ROCKETPROOF names no command" };
const folder = mkdtempSync(join(tmpdir(), "explorer-real-"));
let bench: Bench;
let explorer: ChildProcess | null = null;
let address = "";

before(async () => {
  if (!command) return;
  bench = await Bench.open();
  explorer = spawn(command, ["explore", "--no-browser"], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  address = await firstLine(explorer);
});
after(async () => {
  explorer?.kill("SIGINT");
  if (command) await bench.close();
  rmSync(folder, { recursive: true, force: true });
});

function firstLine(process: ChildProcess): Promise<string> {
  return new Promise((found, failed) => {
    let text = "";
    process.stdout?.on("data", (part: Buffer) => {
      text += part.toString();
      if (text.includes("\n")) found(text.split("\n")[0] ?? "");
    });
    process.on("exit", () => failed(new Error(`the explorer ended at once: ${text}`)));
  });
}

test("a newcomer finds a property, lets it be checked, walks to where it fails, and goes on otherwise", left, () =>
  bench.visit(
    address,
    async (page) => {
      await page.getByLabel("Search").fill("INV-16");
      const card = page.locator("details.card", { has: page.getByText("INV-16", { exact: true }) });
      await card.locator("summary").click();
      await card.locator(".cases", { hasText: "TBW102 from the file" }).locator("button.violated").first().click();
      await says(page, "h1", /^INV-16/);
      await press(page, "End");
      await says(page, ".here", /INV-16 fails/);
      await press(page, "Home", "a");
      await page.getByLabel("Filter the actions").fill("request");
      await page.locator(".follow[aria-disabled=false]", { hasText: "what if" }).first().click();
      await says(page, ".step-number", /step 1 of 1 · what if 1/);
      await page.getByLabel("Expression to evaluate").fill("nonsense[");
      await press(page, "Enter");
      await page.waitForSelector(".message");
      await page.getByRole("button", { name: "undo" }).click();
      await says(page, ".step-number", /step 0 of \d+$/);
    },
    { width: 1280, height: 800 },
  ));

test("a scope is walked freely, its graph drawn, a state of it reached by its path, and the address leads back there", left, () =>
  bench.visit(address, async (page) => {
    await page.getByRole("button", { name: /^tiny/ }).click();
    await says(page, ".step-number", /step 0 of 0/);
    await press(page, "m");
    await says(page, ".graph aside", /states.*These are all the states of the scope/);
    const box = await page.locator("canvas").boundingBox();
    const middle = (box?.x ?? 0) + (box?.width ?? 0) / 2;
    for (let y = 110; y < 780 && !(await page.locator(".route li").count()); y += 9) await page.mouse.click(middle, (box?.y ?? 0) + y);
    const steps = await page.locator(".route li").count();
    assert.ok(steps > 0);
    await page.getByRole("button", { name: "walk this path" }).click();
    await says(page, ".step-number", new RegExp(`step ${steps} of ${steps} · what if 1`));
    await page.waitForURL(/branch=/);
    const link = page.url();
    await page.goto("about:blank");
    await page.goto(link);
    await says(page, ".step-number", new RegExp(`step ${steps} of ${steps} · what if 1`));
  }));
