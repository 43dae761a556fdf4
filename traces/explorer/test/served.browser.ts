// The served page: branches, expressions, the state graph, the catalogue; a link that leads back; two pages at once.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { Bench, press, says } from "./browser";
import { trace } from "./example";
import { serve, TOKEN, type Served } from "./server";

let bench: Bench;
let server: Served;
let catalogue: Served;
before(async () => {
  [bench, server, catalogue] = await Promise.all([Bench.open(), serve(trace()), serve(null)]);
});
after(() => Promise.all([bench.close(), server.close(), catalogue.close()]));

async function whatIf(page: Page, label: string): Promise<void> {
  await press(page, "a");
  const others = page.locator(".choice details summary");
  for (const one of await others.all()) if (!(await one.locator("..").evaluate((box) => (box as HTMLDetailsElement).open))) await one.click();
  await page.locator(".follow", { hasText: label }).first().click();
}

test("what if: another action makes a branch, undo and redo walk it, and it is kept under a name", () =>
  bench.visit(server.address, async (page) => {
    await press(page, "j", "j");
    const asked = server.asked.length;
    await whatIf(page, "add(c=client 2)");
    await says(page, ".here", /step 5 of 5 · what if 1.*add\(c=client 2\)/);
    await whatIf(page, "add(c=client 1)");
    await says(page, ".here", /step 6 of 6.*COUNT-01 fails.*counter = 2/);
    assert.deepEqual(server.asked.slice(asked), [], "the page takes the steps itself");
    await press(page, "u");
    await says(page, ".here", /step 5 of 5 · what if 1/);
    await press(page, "r");
    await says(page, ".here", /step 6 of 6/);
    await page.getByRole("button", { name: "keep" }).click();
    await page.getByLabel("Name of the branch").fill("twice");
    await press(page, "Enter");
    await says(page, ".step-number", /step 6 of 6 · twice/);
    await page.waitForURL(/path=twice.*branch=twice/);
    const address = page.url();
    await page.goto("about:blank");
    await page.goto(address);
    await says(page, ".step-number", /step 6 of 6 · twice/);
    await press(page, "c");
    await says(page, ".compare", /They part at state 5/);
    await page.getByLabel("or a witness").selectOption("w1");
    await says(page, ".compare", /They part at state 5/);
    await says(page, ".pair.head .side:last-child", /^COUNT-01$/);
    await press(page, "Escape");
    await page.getByLabel("Which branch is walked").selectOption("0");
    await says(page, ".step-number", /step 6 of 12$/);
    await page.getByLabel("Which branch is walked").selectOption("1");
    await page.getByRole("button", { name: "discard" }).click();
    await says(page, ".step-number", /step 4 of 12$/);
  }));

test("the system view shows a branch too, and what if works there", () =>
  bench.visit(server.address, async (page) => {
    await press(page, "v", "w");
    await page.waitForFunction(() => document.activeElement?.classList.contains("follow"));
    await press(page, "Enter");
    await says(page, ".step-number", /step 1 of 1 · what if 1/);
    await says(page, ".box.acts", /acts .* → /);
    assert.equal(await page.locator(".value.moved").count(), 1);
    await press(page, "u");
    await page.locator(".value.moved").waitFor({ state: "detached" });
  }));

test("what if has a key: it goes through the other actions, and Enter takes one", () =>
  bench.visit(server.address, async (page) => {
    await press(page, "w");
    await page.waitForFunction(() => document.activeElement?.matches(".instance:not(.taken) .follow"));
    const first = await page.evaluate(() => document.activeElement?.textContent);
    await press(page, "w");
    assert.notEqual(await page.evaluate(() => document.activeElement?.textContent), first);
    await press(page, "W", "Enter");
    await says(page, ".step-number", /step 1 of 1 · what if 1/);
  }));

test("the trace's own step walks on and asks nobody", () =>
  bench.visit(server.address, async (page) => {
    await press(page, "a");
    const asked = server.asked.length;
    await page.locator(".instance.taken .follow").click();
    await says(page, ".step-number", /step 1 of 12$/);
    assert.deepEqual(server.asked.slice(asked), []);
  }));

test("an expression stands beside the steps, on a branch too; a wrong one says what is wrong", () =>
  bench.visit(server.address, async (page) => {
    await page.getByLabel("Expression to evaluate").fill("counter");
    await press(page, "Enter");
    await says(page, ".line.head .cell", /^counter$/);
    await press(page, "End");
    await says(page, ".line.current .cell", /^1$/);
    await whatIf(page, "add(c=client 1)");
    await says(page, ".line.current .cell", /^2$/);
    await page.getByLabel("Expression to evaluate").fill("<b>nothing");
    await press(page, "Enter");
    await says(page, ".message", /column 1: < is not expected here/);
    await page.getByRole("button", { name: "counter ×" }).click();
    assert.equal(await page.locator(".line.head .cell").count(), 0);
  }));

test("the state graph has ten thousand states, a click shows one with its path, and the path can be walked", () =>
  bench.visit(server.address, async (page) => {
    await press(page, "m");
    await says(page, ".graph aside", /10,000 states.*depth/);
    await page.waitForTimeout(300);
    const slowest = await page.evaluate(async () => {
      const canvas = document.querySelector("canvas") as HTMLCanvasElement;
      let worst = 0;
      for (let k = 0; k < 12; k++) {
        const begin = performance.now();
        canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: k % 2 ? 60 : -60, clientX: 400, clientY: 300, bubbles: true, cancelable: true }));
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        worst = Math.max(worst, performance.now() - begin);
      }
      return worst;
    });
    assert.ok(slowest < 1500, `a frame took ${slowest.toFixed(0)} ms`); // drawn by the processor, on a busy machine
    const box = await page.locator("canvas").boundingBox();
    for (let k = 0; k < 400 && !(await page.locator(".route").count()); k++) await page.mouse.click((box?.x ?? 0) + 60 + (k % 20) * 30, (box?.y ?? 0) + 60 + Math.floor(k / 20) * 22);
    const steps = await page.locator(".route li").count();
    assert.ok(steps > 0);
    await page.getByRole("button", { name: "walk this path" }).click();
    await says(page, ".step-number", new RegExp(`step ${steps} of`));
  }));

test("the state graph is coloured by an expression, with what each colour stands for; a wrong one says why", () =>
  bench.visit(server.address, async (page) => {
    const coloured = (): Promise<number> =>
      page.evaluate(() => {
        const canvas = document.querySelector("canvas") as HTMLCanvasElement;
        const { data } = (canvas.getContext("2d") as CanvasRenderingContext2D).getImageData(0, 0, canvas.width, canvas.height);
        const found = new Set<string>();
        for (let k = 0; k < data.length; k += 4) if (data[k + 3] === 255) found.add(`${data[k]},${data[k + 1]},${data[k + 2]}`);
        return ["31,119,180", "224,138,0", "42,157,107"].filter((one) => found.has(one)).length;
      });
    await press(page, "m");
    await says(page, ".graph aside", /10,000 states/);
    assert.equal(await coloured(), 0);
    await says(page, ".legend", /^COUNT-01 holds [\d,]+ fails [\d,]+$/);
    await page.getByLabel("Expression to colour the states by").fill("asked");
    await press(page, "Enter");
    await says(page, ".legend", /^asked 0 [\d,]+ 1 [\d,]+ 2 [\d,]+$/);
    assert.equal(await coloured(), 3);
    await page.getByLabel("Expression to colour the states by").fill("asked'");
    await press(page, "Enter");
    await says(page, ".message", /speaks of the state after a step/);
    await page.getByLabel("Expression to colour the states by").fill("nothing");
    await press(page, "Enter");
    await says(page, ".message", /nothing is called 'nothing'/);
    await page.getByRole("button", { name: "by truth" }).click();
    await says(page, ".legend", /^COUNT-01 holds/);
  }));

test("a known hazard stands on top of the catalogue and opens its scenario, which leads to a trace; the address of a history leads back to its operation", () =>
  bench.visit(catalogue.address, async (page) => {
    await says(page, ".choose h2", /^Known hazards 1$/);
    await page.getByText("scenario").click();
    await says(page, ".hazard ol", /A client adds\. The counter overflows\./);
    await page.getByRole("button", { name: /HAZ-01 counters overflow/ }).click();
    await says(page, "h1", /HAZ-01/);
    assert.equal(await page.locator(".scenario li").count(), 2);
    await page.waitForURL(/open=hazard/);
    await page.getByRole("button", { name: "find the shortest trace" }).click();
    await says(page, "h1", /COUNT-01/);
    await says(page, ".step-number", /step 0/);
    await press(page, "p");
    await page.getByRole("button", { name: /HAZ-01/ }).click();
    await says(page, "h1", /HAZ-01/);
    await page.getByRole("button", { name: "catalogue" }).click();
    await page.getByRole("button", { name: "run 7" }).click();
    await says(page, "aside", /client/);
    await press(page, "Home");
    await page.waitForURL(/open=witness.*operation=1$/);
    const address = page.url();
    await page.goto("about:blank");
    await page.goto(address);
    await says(page, "aside", /client 2 · explained · number 1 of the order/);
    await page.goto(address.replace("operation=1", "operation=0"));
    await says(page, "aside", /client 1 · explained · number 2 of the order/);
  }));

test("the catalogue: a search, a case, its progress, its trace; a property that holds says so; the address leads back", () =>
  bench.visit(catalogue.address, async (page) => {
    await says(page, ".choose", /Properties 2.*COUNT-01/);
    await page.getByLabel("Search").fill("served");
    assert.equal(await page.locator("details.card").count(), 1);
    await page.getByText("somebody is served").click();
    await page.getByRole("button", { name: /P49/ }).click();
    await says(page, ".message", /COUNT-02 holds/);
    await page.getByLabel("Search").fill("");
    await page.getByRole("button", { name: "count.itf.json" }).click();
    await says(page, "h1", /COUNT-01 \(always\)/);
    await press(page, "End");
    await page.waitForURL(/open=witness.*step=12/);
    const address = page.url();
    await page.goto("about:blank");
    await page.goto(address);
    await says(page, ".step-number", /step 12 of 12/);
    await page.getByRole("button", { name: "catalogue" }).click();
    await says(page, ".choose", /Properties 2/);
  }));

test("two pages at once go their own ways", () =>
  bench.visit(server.address, (one) =>
    bench.visit(server.address, async (other) => {
      await press(one, "End");
      await whatIf(one, "add(c=client 1)");
      await press(other, "j");
      await says(one, ".step-number", /step 13 of 13 · what if 1/);
      await says(other, ".step-number", /step 3 of 12$/);
    }),
  ));

test("a page without the right token says what is wrong", async () => {
  const page = await bench.browser.newPage();
  await page.goto(server.address.replace(TOKEN, "wrong"));
  await says(page, "[role=alert]", /the token is missing/);
  await page.close();
});
