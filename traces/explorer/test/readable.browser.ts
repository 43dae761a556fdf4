// Everything on a page can be read, at four widths, light and dark: nothing is cut off, over other text, too small or too pale.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { Bench, press, WIDTHS } from "./browser";
import { hazard, history, trace } from "./example";
import { faults } from "./faults";
import { serve, type Served } from "./server";

let bench: Bench;
let server: Served;
let catalogue: Served;
before(async () => {
  [bench, server, catalogue] = await Promise.all([Bench.open(), serve(trace()), serve(null)]);
});
after(() => Promise.all([bench.close(), server.close(), catalogue.close()]));

async function check(page: Page, what: string): Promise<void> {
  assert.deepEqual(await faults(page), [], what);
}

for (const size of WIDTHS) {
  test(`a page in a file can be read ${size.width} wide: trace, help, compare, history, hazard`, () => {
    const other = bench.file(trace({ steps: 30 }), "other");
    return bench.visit(
      bench.file(trace({ steps: 40, loop: 20 })),
      async (page) => {
        for (const key of ["End", "a", "p", "s", "?", "Escape"]) {
          await press(page, key);
          await check(page, `trace, ${key}`);
        }
        await page.locator(".state-panel .field").first().click();
        await check(page, "a pinned value");
        await press(page, "v");
        for (const key of ["Home", "j", "j", "j", "j", "End"]) {
          await press(page, key);
          await check(page, `system, ${key}`);
        }
        await page.getByLabel("what never changes").first().check();
        await check(page, "system with what never changes");
        await press(page, "c");
        await check(page, "a choice of traces");
        await page.locator("input[type=file]").setInputFiles(new URL(other).pathname);
        await page.waitForSelector(".pair");
        await check(page, "compare");
        for (const document of [history(), hazard()]) {
          await page.goto(bench.file(document, document.kind));
          await check(page, document.kind);
        }
      },
      size,
    );
  });

  test(`the catalogue can be read ${size.width} wide`, () => bench.visit(catalogue.address, (page) => check(page, "catalogue"), size));

  test(`a served trace can be read ${size.width} wide: branch, expression, graph`, () =>
    bench.visit(
      server.address,
      async (page) => {
        await press(page, "j", "w", "Enter");
        await page.waitForSelector("select[aria-label='Which branch is walked']");
        await page.getByLabel("Expression to evaluate").fill("counter");
        await press(page, "Enter");
        await page.getByText("counter ×").waitFor();
        await check(page, "a branch with an expression");
        await press(page, "m");
        await page.waitForSelector(".legend");
        await press(page, "j", "j");
        await check(page, "graph");
      },
      size,
    ));
}
