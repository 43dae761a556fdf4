// A static page in a real browser: the walk of a newcomer, keys, folds, search, comparison, what is hostile, what is missing, paper.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { Bench, press, says, textOf } from "./browser";
import { hazard, history, trace } from "./example";

let bench: Bench;
before(async () => void (bench = await Bench.open()));
after(() => bench.close());

test("a newcomer walks: the start, a message, the end, why it fails there, and back", () =>
  bench.visit(bench.file(trace()), async (page) => {
    await says(page, "h1", /^COUNT-01 \(always\)$/);
    await says(page, ".here", /step 0 of 12.*initial state/);
    await says(page, ".line.state >> nth=1", /client 1 does ask ask\(c=client 1\)/);
    await page.getByText("client 1 does ask").first().click();
    await says(page, ".here", /step 4 of 12.*client 1 does ask ask\(c=client 1\) client 1 → server: Somebody does ask\./);
    await says(page, ".just", /^changed by this step asked 0 → 1$/);
    await page.keyboard.press("End");
    await says(page, ".verdict", /COUNT-01 fails.*counter <= 1.*counter = 1/);
    await page.getByRole("tab", { name: "Actions" }).click();
    await page.locator(".refused summary").click();
    await says(page, ".refused .instance", /refused by in turn, which needs: it is this client's turn.*bound.*\(limit < counter\) is false.*limit = 1.*counter = 1/);
    await page.getByRole("tab", { name: "Property" }).click();
    await says(page, ".property-panel", /counter <= limit.*rocketproof explore count/);
    await page.keyboard.press("Home");
    await page.waitForURL(/#step=0$/);
  }));

test("keys walk lines and steps, fold and unfold, and the address follows and leads back", () =>
  bench.visit(bench.file(trace()), async (page) => {
    const where = async (): Promise<string> => (await textOf(page, ".step-number")).split(" ")[1] ?? "";
    await press(page, "j", "j");
    assert.equal(await where(), "4", "a fold is passed at once");
    await press(page, "ArrowLeft");
    assert.equal(await where(), "3", "one step back opens the fold");
    assert.equal(await page.locator(".line.fold").count(), 2);
    await press(page, "n", "n");
    assert.equal(await where(), "7");
    await press(page, "f");
    assert.equal(await page.locator(".line.state").count(), 13);
    await press(page, "a");
    assert.equal(await page.getByRole("tab", { name: "Actions" }).getAttribute("aria-selected"), "true");
    await press(page, "?");
    await says(page, "dialog", /the next line.*what if: the next other action.*Two traces.*The state graph.*Everywhere/);
    await press(page, "j", "Escape");
    assert.equal(await where(), "7", "a dialog keeps the keys");
    await page.waitForURL(/#step=7$/);
    const address = page.url();
    await page.goto("about:blank");
    await page.goto(address);
    assert.equal(await where(), "7");
    await page.evaluate(() => (location.hash = "#step=2"));
    await says(page, ".step-number", /step 2 of 12/);
    await page.getByRole("button", { name: "client 1", exact: true }).click();
    await says(page, ".search .count", /^6 found$/);
  }));

test("the system view marks actor, receiver and change; a click on the change shows it in the state", () =>
  bench.visit(bench.file(trace()), async (page) => {
    await press(page, "v");
    assert.deepEqual(await page.locator(".box > summary b").allInnerTexts(), ["server", "client 1", "client 2"]);
    assert.equal(await page.locator(".value.moved, .arrows path").count(), 0, "nothing has changed yet");
    await press(page, "j", "j", "j", "ArrowRight");
    await says(page, ".step-number", /step 4 of 12/);
    await says(page, ".box.acts summary", /client 1 acts/);
    await says(page, ".box.receives summary", /server receives/);
    assert.equal(await page.locator(".arrows .line").count(), 1);
    await says(page, ".box.receives .value.moved", /^asked 0 → 1$/);
    assert.equal(await page.locator(".value.read").count(), 1, "the counter, which the property reads");
    await page.locator(".value.moved").click();
    assert.deepEqual(await page.locator("details.part .row .key").allInnerTexts(), ["asked"]);
    await page.locator(".value.moved").focus();
    await press(page, "Enter");
    assert.ok((await page.locator("details.part .row .key").count()) > 1, "once more shows all of the state");
    await page.waitForURL(/view=system/);
    await press(page, "v");
    await page.waitForSelector(".steps");
  }));

test("a narrow system view opens the boxes that change, and a box opens by its name", () =>
  bench.visit(
    bench.file(trace()),
    async (page) => {
      await press(page, "v", "j");
      await says(page, ".box[open] summary", /client 2 acts/);
      assert.equal(await page.locator(".box[open]").count(), 1);
      await page.locator(".box > summary", { hasText: "server" }).press("Enter");
      assert.equal(await page.locator(".box[open]").count(), 2);
    },
    { width: 390, height: 844 },
  ));

test("the loop is one bracket and can be one line", () =>
  bench.visit(bench.file(trace({ steps: 76, loop: 30 })), async (page) => {
    assert.equal(await page.locator(".loop-first").count(), 1);
    assert.equal(await page.locator(".loop-last").count(), 1);
    const height = await page.locator(".list").evaluate((list) => list.scrollHeight);
    assert.ok(height < 3 * 800, `${height} pixels`);
    await press(page, "o");
    await says(page, ".step-number", /step 76 of 76 · in the loop/);
    await press(page, "o");
    await says(page, ".step-number", /step 31 of 76/);
    await press(page, "l");
    await says(page, ".loop-first", /31–76.*46 steps/);
  }));

test("a search marks what it finds, Enter goes there, Escape leaves it", () =>
  bench.visit(bench.file(trace()), async (page) => {
    await press(page, "/");
    await page.keyboard.type("variable:counter");
    assert.equal(await page.locator(".line.hit").count(), 1);
    await press(page, "Enter");
    await says(page, ".step-number", /step 7/);
    await page.getByText("only these").click();
    assert.equal(await page.locator(".line.state").count(), 1);
    await page.locator(".bar input[type=search]").focus();
    await press(page, "Escape");
    assert.equal(await page.locator(".line.hit").count(), 0);
  }));

test("a value that is pinned stands beside every step, and a filter finds values", () =>
  bench.visit(bench.file(trace()), async (page) => {
    await page.getByRole("button", { name: /^counter is 0/ }).click();
    await says(page, ".line.head .cell", /^counter$/);
    await press(page, "End");
    await says(page, ".line.current .cell", /^1$/);
    await page.getByLabel("Filter the state").fill("phase");
    assert.deepEqual(await page.locator("details .row .key").allInnerTexts(), ["job[client 1]", "job[client 2]"]);
    await page.getByRole("button", { name: "job[client 2]", exact: true }).click();
    await says(page, ".search .count", /^5 found$/);
  }));

test("the state graph needs the served page and says so, with the command", () =>
  bench.visit(bench.file(trace()), async (page) => {
    await press(page, "m");
    await says(page, ".message", /no server.*rocketproof explore count\.itf\.json/);
  }));

test("what if, in a file: a branch with its own truth and refusals, undo, a name, and a link that leads back", () =>
  bench.visit(bench.file(trace()), async (page) => {
    await press(page, "j", "j", "a");
    await page.locator(".follow", { hasText: "add(c=client 2)" }).click();
    await says(page, ".here", /step 5 of 5 · what if 1.*client 2 does add/);
    await says(page, ".refused", /crash\s*needs: it is this client's turn/);
    await page.locator(".follow", { hasText: "add(c=client 1)" }).click();
    await says(page, ".here", /step 6 of 6.*COUNT-01 fails.*counter = 2.*limit = 1/);
    await page.locator(".refused summary").first().click();
    await says(page, ".refused .instance", /refused by in turn.*bound.*\(counter <= limit\) is false.*counter = 2.*limit = 1/);
    await press(page, "u");
    await says(page, ".here", /step 5 of 5/);
    await press(page, "r");
    await page.getByRole("button", { name: "keep" }).click();
    await page.getByLabel("Name of the branch").fill("twice");
    await press(page, "Enter");
    await page.waitForURL(/path=twice.*branch=twice/);
    const address = page.url();
    await page.goto("about:blank");
    await page.goto(address);
    await says(page, ".step-number", /step 6 of 6 · twice/);
    await page.goto("about:blank");
    await page.goto(address.replace("add.0", "crash.0"));
    await says(page, ".message", /branch ends after 1 of its 2 steps: crash cannot happen there/);
  }));

test("an expression in a file stands beside the steps, also of a branch; a wrong one says what is wrong and where", () =>
  bench.visit(bench.file(trace()), async (page) => {
    const evaluate = async (text: string): Promise<void> => {
      await page.getByLabel("Expression to evaluate").fill(text);
      await press(page, "Enter");
    };
    await evaluate("count(job[c].phase == busy for c in Client)");
    await says(page, ".line.head .cell", /^count/);
    await says(page, ".line.current .cell", /^0$/);
    await press(page, "j", "a");
    await page.locator(".follow", { hasText: "add(c=client 1)" }).click();
    await says(page, ".line.current .cell", /^[012]$/);
    await evaluate("1 + countr");
    await says(page, ".message", /column 5: nothing is called 'countr'; did you mean counter\?/);
    await evaluate("<b>");
    await says(page, ".message", /column 1: < is not expected here/);
  }));

test("a model with numbers that a page cannot keep says why no other step can be taken", () => {
  const one = trace();
  return bench.visit(bench.file({ ...one, model: { ...one.model, program: { missing: "variable x is too large; give it a smaller type" } } }), async (page) => {
    await press(page, "a");
    await says(page, ".actions-panel", /cannot take other steps: variable x is too large/);
    await press(page, "j");
    await says(page, ".step-number", /step 3/);
  });
});

test("a page of another trace is read beside this one, and the first difference is named", () =>
  bench.visit(bench.file(trace()), async (page) => {
    const other = trace({ steps: 13 });
    const path = new URL(bench.file(other, "other")).pathname;
    await press(page, "c");
    await page.locator("input[type=file]").setInputFiles(path);
    await says(page, ".compare", /They part at state 13/);
    assert.equal(await page.locator(".pair.first").count(), 1);
    writeFileSync(path, "<!doctype html><p>no trace");
    await page.locator("input[type=file]").setInputFiles(path);
    await says(page, ".message", /carries no trace/);
  }));

const HOSTILE = '</script><img src=x onerror="alert(1)"><script>alert(2)</script><!-- ‮desrever‬ שלום 🦀 \u0000 {{x}} ' + "w".repeat(5000);

test("whatever a trace says is text: markup, right-to-left, and values of thousands of letters", () =>
  bench.visit(bench.file(trace({ hostile: HOSTILE })), async (page) => {
    for (const key of ["End", "a", "p", "s", "f", "?", "Escape", "c"]) await press(page, key);
    assert.equal(await page.locator("img, #page script").count(), 0);
    assert.ok((await page.content()).includes("&lt;img"));
    await press(page, "Escape", "a");
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 1280, `the page is ${width} wide`);
  }));

test("a history shows lanes, the explained order, faults, and what nothing explains with its guard", () =>
  bench.visit(bench.file(history()), async (page) => {
    assert.equal(await page.locator(".operation").count(), 5);
    assert.equal(await page.locator(".mark").count(), 2);
    await says(page, "aside", /explained by nothing.*store\(client 2\) is refused by offset follows, which needs: a message is stored behind the last one.*offset = 7.*last = 1/);
    await says(page, "aside", /Recorded: code 0, offset 7/);
    await press(page, "Home");
    await says(page, "aside", /client 2 · explained · number 1 of the order.*send\(1\) → SUCCESS/);
    assert.ok((await page.locator(".operation .response").allTextContents()).includes("SUCCESS"));
    await press(page, "ArrowRight");
    await says(page, "aside", /client 1.*number 2 of the order/);
    assert.equal(await page.locator(".point").count(), 2);
    await press(page, "n");
    await page.waitForURL(/#operation=3$/);
    await press(page, "+", "+");
    assert.equal(await page.locator(".operation.open .fade").count(), 3);
  }));

test("a history that is too long for a page says what is not there, also where that is what nothing explains", () => {
  const whole = history();
  const beginning = { ...whole, operations: whole.operations.slice(0, 3), left_out: { before: 0, after: 1200 } };
  return bench.visit(bench.file(beginning), async (page) => {
    await says(page, ".left-out", /operations, faults and changes \(1,200 after these\) are left out.*--around EVENT/);
    await says(page, "aside", /store\(client 2\) is refused by offset follows/);
    await press(page, "n", "End");
    await says(page, "aside", /number 3 of the order/);
  });
});

test("a broken, a newer and a missing document are told of in a line", async () => {
  for (const [text, wanted] of [
    [JSON.stringify(trace()).slice(0, 3000), /cut short/],
    [JSON.stringify({ ...trace(), schema: 99 }), /schema 99, this page reads 2/],
    ["null", /carries no trace/],
  ] as const) {
    await bench.visit(bench.file(text), async (page) => says(page, "[role=alert]", wanted));
  }
});

test("a trace of 1,500 states walks at once, only what is in sight is drawn, and all of it is printed", () =>
  bench.visit(bench.file(trace({ steps: 1500 })), async (page) => {
    const paint = await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime).then((found) => found.jsonValue());
    assert.ok(paint && paint < 5000, `first paint after ${paint} ms`); // 0.3 s on a machine that does nothing else
    await press(page, "f", "End");
    await says(page, ".line.current .number", /1500/);
    assert.ok((await page.locator(".line").count()) < 200);
    await page.emulateMedia({ media: "print" });
    await page.waitForFunction(() => document.querySelectorAll(".line.state").length === 1501);
    assert.equal(await page.locator("aside").first().isVisible(), false);
  }));

test("a keyboard is enough: what if by its key, the property, compare, back, and a hazard's steps", () =>
  bench.visit(bench.file(trace()), async (page) => {
    await press(page, "w");
    await page.waitForFunction(() => document.activeElement?.classList.contains("follow"));
    assert.equal(await page.getByRole("tab", { name: "Actions" }).getAttribute("aria-selected"), "true");
    await press(page, "Enter");
    await says(page, ".step-number", /step 1 of 1 · what if 1/);
    await press(page, "u", "j", "p");
    await says(page, ".property-panel", /counter <= limit/);
    await press(page, "c");
    await says(page, ".choose-trace", /Compare this trace with.*a branch of it: choose “what if”.*another page or document/);
    await press(page, "Escape", "e");
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("aria-label")), "Expression to evaluate at each state");
    await page.goto(bench.file(hazard(), "hazard"));
    await says(page, ".scenario .current", /A client adds\. the counter 1/);
    await press(page, "j");
    await says(page, ".scenario .current", /The counter overflows/);
    await press(page, "?");
    await says(page, "dialog", /the next step of the scenario/);
  }));

test("a page of a run leads back to it by its link and by its key", () =>
  bench.visit(bench.file({ ...trace(), run: true }), async (page) => {
    assert.equal(await page.getByRole("link", { name: "run" }).getAttribute("href"), "../index.html");
  }));

test("it can be used 900 wide, in the dark, with nothing cut off at the side", () =>
  bench.visit(
    bench.file(trace()),
    async (page) => {
      const light = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      await page.emulateMedia({ colorScheme: "dark" });
      assert.notEqual(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), light);
      await press(page, "t");
      assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), light);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 900);
    },
    { width: 900, height: 700 },
  ));
