// The pages of the real commands: the tests start the command that ROCKETPROOF names, and walk in its explorer and in its page of a run. Without it they are skipped.

import assert from "node:assert/strict";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { Bench, focusIs, press, says, stops, tabTo, textOf, unfocus, WIDTHS } from "./browser";
import { faults } from "./faults";

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
      await page.locator(".follow", { hasText: "what if" }).first().click();
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

const COUNTER = `
from rocketproof import Int, Model

model = Model("counter")
count = model.var("count", Int(0, 3), init=0)

@model.action()
def add(a):
    "The counter grows."
    a.guard("room", count < 3, "there is room")
    a.set(count, count + 1)

model.always("few", count < 2, "there are few")
model.always("bounded", count < 9, "the counter is bounded")
scopes = {"small": {}}
`;

/** Two sends to one queue; the second answer has the wrong offset. */
function recorded(): string {
  const fields = { producerGroup: "g", topic: "T", defaultTopic: "TBW102", defaultTopicQueueNums: "4", queueId: "0", sysFlag: "0", bornTimestamp: "1", flag: "0" };
  const events = [0, 7].flatMap((offset) => [
    { type: "invoke", value: { to: "broker-a", fields, bodySize: 1 } },
    { type: "ok", value: { code: 0, fields: { queueId: "0", queueOffset: String(offset) } } },
  ]);
  const header = { v: 1, type: "header", schema: "rocketproof-history", version: 1, origin: {}, start: null, note: "" };
  return [header, ...events.map((event, seq) => ({ v: 1, seq, time: seq, process: "client 0", op: "send", ...event }))].map((row) => `${JSON.stringify(row)}\n`).join("");
}

/** The page of a run: of a model with a violated property, and of a history that nothing explains. */
function reports(): { model: string; history: string } {
  writeFileSync(join(folder, "counter.py"), COUNTER);
  writeFileSync(join(folder, "runs.ndjson"), recorded());
  for (const [page, line] of [
    ["model", ["check", "counter.py"]],
    ["history", ["judge", "runs.ndjson", "--profile", "P494"]],
  ] as const) {
    const done = spawnSync(command ?? "", [...line, "--html", page], { cwd: folder, encoding: "utf8" });
    assert.equal(done.status, 1, done.stderr);
  }
  const page = (name: string): string => pathToFileURL(join(folder, name, "index.html")).href;
  return { model: page("model"), history: page("history") };
}

test("the catalogue, HAZ-03 and its trace without a mouse", left, () =>
  bench.visit(address, async (page) => {
    await press(page, "/");
    await page.keyboard.type("HAZ-03");
    await press(page, "Tab", "Enter");
    await says(page, "h1", /^HAZ-03$/);
    assert.equal(await page.locator(".scenario li").count(), 4);
    await press(page, "j", "j", "j");
    await says(page, ".scenario .current", /No first message creates a topic any more/);
    await stops(page);
    await tabTo(page, /^find the shortest trace$/);
    await press(page, "Enter");
    await says(page, "h1", /^LIV-08/);
    await press(page, "j", "w", "Enter");
    await says(page, ".step-number", /what if 1/);
    await press(page, "u", "a");
    await page.locator(".refused").first().waitFor();
    await tabTo(page, /needs: /);
    await press(page, "Enter");
    await says(page, ".refused[open] .instance", /refused by/);
    await press(page, "p");
    await tabTo(page, /^HAZ-03/);
    await press(page, "Enter");
    await says(page, "h1", /^HAZ-03$/);
  }));

const EXAMPLES = join(process.env["EXPLORER"] ?? "", "../../model/examples");
const TRACES: [name: string, what: string[]][] = [
  ["philosophers", [join(EXAMPLES, "philosophers.py"), "--scope", "alike", "--property", "no deadlock"]],
  ["two-phase commit", [join(EXAMPLES, "two_phase_commit.py"), "--scope", "three", "--property", "all commit"]],
  ["cache coherence", [join(EXAMPLES, "msi.py"), "--scope", "careless", "--property", "newest"]],
  ["the specification", ["--property", "LIV-03"]],
];

const LOW = { width: 390, height: 620 }; // most boxes are out of sight

/** How many changed values of the system view are in sight. */
const inSight = (page: Page): Promise<number> =>
  page.evaluate(() => {
    const view = document.querySelector(".system")?.getBoundingClientRect();
    const top = document.querySelector(".signs")?.getBoundingClientRect().bottom ?? 0;
    const places = [...document.querySelectorAll(".stage .moved")].map((one) => one.getBoundingClientRect());
    return places.filter((place) => view && place.top >= top - 1 && place.bottom <= view.bottom + 1).length;
  });

for (const [name, what] of TRACES) {
  test(`the system view of ${name}: every step has an actor and a change in sight, wide and narrow`, left, async () => {
    const file = join(folder, `${name}.html`);
    const done = spawnSync(command ?? "", ["explore", ...what, "--html", file], { cwd: folder, encoding: "utf8" });
    assert.equal(done.status, 0, done.stderr);
    await bench.visit(pathToFileURL(file).href, async (page) => {
      await press(page, "v");
      const steps = Number((await textOf(page, ".step-number")).split(" ").at(-1));
      for (const size of [...WIDTHS, LOW]) {
        await page.setViewportSize(size);
        await press(page, "Home");
        for (let k = 1; k <= steps; k++) {
          await press(page, "ArrowRight");
          await says(page, ".step-number", new RegExp(`^step ${k} of`));
          assert.equal(await page.locator(".box.acts").count(), 1, `step ${k}`);
          const changes = await page.locator(".part.just .row").count();
          assert.ok(!changes || (await inSight(page)) > 0, `${size.width} wide, step ${k}: no change is in sight`);
        }
        assert.deepEqual(await faults(page), [], `${size.width} wide`);
      }
    });
  });
}
test("a live hazard in a folder: its scenario, its trace, what if, why not, and an expression, without a network", left, async () => {
  const done = spawnSync(command ?? "", ["hazard", "HAZ-03", "--live", "live"], { cwd: folder, encoding: "utf8" });
  assert.equal(done.status, 0, done.stderr);
  await bench.visit(pathToFileURL(join(folder, "live", "index.html")).href, async (page) => {
    await page.getByRole("link", { name: "HAZ-03" }).click();
    await says(page, "h1", /^HAZ-03$/);
    await page.getByRole("link", { name: "walk through the trace" }).click();
    await says(page, "h1", /^LIV-08/);
    await press(page, "j", "w", "Enter");
    await says(page, ".step-number", /what if 1/);
    await press(page, "a");
    await page.locator(".refused summary").first().click();
    await says(page, ".refused[open] .instance", /refused by .* which needs: /);
    await page.getByLabel("Expression to evaluate").fill("count(step[producer] != None for producer in Producer)");
    await press(page, "Enter");
    await says(page, ".message", /column \d+: nothing is called 'step'/);
    await page.getByLabel("Expression to evaluate").fill("count(b == broker-a for b in Broker)");
    await press(page, "Enter");
    await says(page, ".line.current .cell", /^1$/);
    for (const size of WIDTHS) {
      await page.setViewportSize(size);
      assert.deepEqual(await faults(page), [], `${size.width} wide`);
    }
  });
});

test("the page of a run and its traces: readable at all widths, walked without a mouse, there and back", left, async () => {
  const { model, history } = reports();
  for (const [address, link, title] of [
    [model, /^walk through the trace$/, /few/],
    [history, /^open the history$/, /runs\.ndjson/],
  ] as const) {
    await bench.visit(address, async (page) => {
      for (const size of WIDTHS) {
        await page.setViewportSize(size);
        assert.deepEqual(await faults(page), [], `${size.width} wide`);
      }
      const names = await stops(page);
      for (const wanted of ["To the verdicts", "dark or light", "help", "open all"]) assert.ok(names.includes(wanted), `${wanted} in ${names}`);
      await press(page, "?");
      await says(page, "dialog", /the next unexpected verdict/);
      assert.deepEqual(await faults(page), [], "help");
      await press(page, "Escape", "/");
      await page.keyboard.type("nothing of this name");
      await says(page, "#shown", /^0 of/);
      await press(page, "Escape", "f", "n");
      await focusIs(page, /./);
      await unfocus(page);
      await page.reload();
      await tabTo(page, link);
      await press(page, "Enter");
      await says(page, "h1", title);
      assert.deepEqual(await faults(page), [], "the trace");
      await stops(page);
      await press(page, "h");
      await page.waitForURL(address);
    });
  }
});
