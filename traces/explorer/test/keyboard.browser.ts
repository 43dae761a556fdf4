// All pages without a mouse: Tab, arrows, Enter and the keys of the help. The focused element is visible and has a name, and the focus is never lost.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { Bench, focusIs, press, says, stops, tabTo, unfocus } from "./browser";
import { hazard, history, trace } from "./example";
import { serve, type Served } from "./server";

let bench: Bench;
let server: Served;
let catalogue: Served;
before(async () => {
  [bench, server, catalogue] = await Promise.all([Bench.open(), serve(trace()), serve(null)]);
});
after(() => Promise.all([bench.close(), server.close(), catalogue.close()]));

const places = (page: Page): Promise<unknown[]> =>
  page.evaluate(() => [document.scrollingElement?.scrollTop, document.querySelector(".page")?.scrollTop, document.querySelector(".list")?.scrollTop]);

for (const size of [{ width: 390, height: 844 }, { width: 1280, height: 800 }]) {
  test(`Tab reaches every tool of a trace ${size.width} wide, each in sight with a name, and the steps stay where they are`, () =>
    bench.visit(
      bench.file(trace({ steps: 76 })),
      async (page) => {
        await press(page, "f", "End");
        const before = await places(page);
        for (const panel of ["s", "a", "p"]) {
          await press(page, panel);
          const names = await stops(page);
          for (const wanted of [/^Trace$/, /^Search the steps$/, /^Steps of the trace/, /^Actions/]) assert.ok(names.some((name) => wanted.test(name)), `${wanted} in ${names}`);
          assert.deepEqual(await places(page), before);
          await unfocus(page);
        }
        await press(page, "v");
        const names = await stops(page);
        for (const wanted of [/^System$/, /^what never changes/, /^server/, / was .* show it in the state$/]) assert.ok(names.some((name) => wanted.test(name)), `${wanted} in ${names}`);
        await says(page, ".step-number", /step 76 of 76/);
      },
      size,
    ));
}

test("Tab reaches every tool of a history, a hazard, the catalogue, a choice of traces and the help", async () => {
  for (const [document, wanted] of [[history(), "Time line"], [hazard(), "dark or light"]] as const) {
    await bench.visit(bench.file(document, document.kind), async (page) => {
      assert.ok((await stops(page)).includes(wanted));
      await press(page, "?");
      await focusIs(page, /^close$/);
      await press(page, "Enter");
      await page.locator("dialog").waitFor({ state: "detached" });
    });
  }
  await bench.visit(catalogue.address, async (page) => {
    assert.ok((await stops(page)).some((name) => /^HAZ-01/.test(name)));
  });
  await bench.visit(server.address, async (page) => {
    await press(page, "c");
    assert.ok((await stops(page)).includes("Search the counterexamples"));
  });
});

test("the explorer without a mouse: catalogue, hazard, its trace, why not, what if, undo, search, graph, and back", () =>
  bench.visit(catalogue.address, async (page) => {
    await press(page, "/");
    await page.keyboard.type("HAZ-01");
    await press(page, "Tab");
    await focusIs(page, /^HAZ-01/);
    await press(page, "Enter");
    await says(page, "h1", /HAZ-01/);
    await focusIs(page, /^HAZ-01$/); // the heading of a new page
    await press(page, "j");
    await says(page, ".scenario .current", /The counter overflows/);
    await tabTo(page, /^find the shortest trace$/);
    await press(page, "Enter");
    await says(page, "h1", /COUNT-01/);
    await focusIs(page, /Steps of the trace/);
    await press(page, "j", "a");
    await tabTo(page, /^crash/);
    await press(page, "Enter");
    await says(page, ".refused .instance", /refused by in turn/);
    await press(page, "w", "Enter");
    await says(page, ".step-number", /what if 1/);
    await focusIs(page, /./); // the action that was taken went away
    await tabTo(page, /^undo$/);
    await press(page, "Enter");
    await says(page, ".step-number", /step 3 of 12$/);
    await focusIs(page, /^undo$/);
    await press(page, "r");
    await tabTo(page, /^discard$/);
    await press(page, "Enter");
    await focusIs(page, /./); // the button went away with its branch
    await press(page, "/");
    await page.keyboard.type("variable:counter");
    await press(page, "Enter", "Escape");
    await says(page, ".step-number", /step 7/);
    await press(page, "m");
    await says(page, ".graph aside", /states/);
    await focusIs(page, /^State graph/);
    await press(page, "j", "j", "k");
    await tabTo(page, /^walk this path$/);
    await press(page, "Escape", "?");
    await says(page, "dialog", /Keys/);
    await press(page, "Escape", "h");
    await says(page, "h1", /^rocketproof$/);
    await focusIs(page, /^rocketproof$/);
  }));

test("arrows at the last step keep the focus, and a message that is closed gives it back", () =>
  bench.visit(bench.file(trace()), async (page) => {
    await tabTo(page, /^one step on$/);
    for (let k = 0; k < 13; k++) await press(page, "Enter");
    await says(page, ".step-number", /step 12 of 12/);
    await focusIs(page, /^one step on$/);
    await press(page, "m");
    await says(page, ".message", /no server/);
    await tabTo(page, /^close$/);
    await press(page, "Enter");
    await focusIs(page, /./);
    await press(page, "Home");
    await says(page, ".step-number", /step 0/);
  }));
