// The logic of the page, without a page.

import assert from "node:assert/strict";
import { test } from "node:test";
import { align } from "../src/align";
import * as branches from "../src/branches";
import { colouring, COLOURS } from "../src/colouring";
import { sidesOf } from "../src/compare";
import { checkDocument, readDocument, type Choice, type Step, type Truth } from "../src/document";
import { foldText, lineOf, lines, nextReason, readSlots, reasons, runOf } from "../src/folding";
import { drawing, lanesOf, messagesOf } from "../src/lanes";
import { layout, pathTo } from "../src/layout";
import { readRequest, requestText } from "../src/opened";
import { fragment, operationFragment, placeOf, readOperation, readPlace } from "../src/place";
import { found, readQuery } from "../src/search";
import { columnsOf, members, only, route, systemOf, unfolded, type Box, type Group } from "../src/system";
import { timelineOf } from "../src/timeline";
import { changedRows, lively, treeOf } from "../src/tree";
import { namesOf, slotText, text } from "../src/values";
import { widthsOf } from "../src/widths";
import { history, SYSTEM, trace } from "./example";

const names = new Map([["Broker", ["broker-a", "broker-b"]]]);
const holds: Truth = { word: "holds", bad: false, part: "", values: [] };

test("codes of every type are shown by the names of what they stand for", () => {
  assert.equal(text({ sort: "bool" }, 1, names), "True");
  assert.equal(text({ sort: "int", lo: -1, hi: 3 }, -1, names), "-1");
  assert.equal(text({ sort: "enum", names: ["idle", "busy"] }, 1, names), "busy");
  assert.equal(text({ sort: "index", of: "Broker" }, 1, names), "broker-b");
  assert.equal(text({ sort: "maybe", of: "Broker" }, 0, names), "None");
  assert.equal(text({ sort: "maybe", of: "Broker" }, 1, names), "broker-a");
  assert.equal(text({ sort: "set", of: "Broker" }, 3, names), "{broker-a, broker-b}");
  assert.equal(text({ sort: "set", of: "Queue" }, 2 ** 40, names), "{40}");
});

test("a document that is cut short, newer or inconsistent is refused in one line that says so", () => {
  const whole = JSON.stringify(trace());
  assert.equal(readDocument(whole).kind, "trace");
  assert.throws(() => readDocument(whole.slice(0, 500)), /cut short/);
  assert.throws(() => checkDocument({ ...trace(), schema: 3 }), /schema 3, this page reads 2/);
  assert.throws(() => checkDocument({ ...trace(), truths: [] }), /13 states need 13 truths, it has 0/);
  assert.throws(() => checkDocument({ ...trace(), states: trace().states.map(() => [1]) }), /another number of values/);
  assert.throws(() => checkDocument(null), /names no schema/);
  assert.throws(() => checkDocument({ ...history(), marks: undefined }), /no marks/);
});

test("steps that the property, its truth, a message or a fault make interesting are lines, runs of others are folded", () => {
  const one = trace();
  const why = reasons(one);
  assert.deepEqual(why, ["start", "", "", "", "message", "", "", "property", "message", "", "", "", "truth"]);
  const list = lines(why, new Set());
  assert.deepEqual(list.map((line) => (line.sort === "state" ? line.k : `${line.from}-${line.to}`)), [0, "1-3", 4, "5-6", 7, 8, "9-11", 12]);
  assert.equal(lineOf(list, 10), 6);
  assert.deepEqual(runOf(why, 10), [9, 10, 11]);
  assert.deepEqual(lines(why, new Set(runOf(why, 10))).length, 10);
  assert.equal(lines(why, new Set(), true).length, 13);
  assert.equal(nextReason(why, 8, 1), 12);
  assert.equal(nextReason(why, 8, -1), 7);
  assert.equal(foldText(one.steps, 1, 3), "work (3)");
  const crashed = { ...one, steps: one.steps.map((step, k) => (k === 1 ? { ...step, action: "crash" } : step)) };
  assert.equal(reasons(crashed)[2], "outside");
});

test("a lasso of 77 states stands in three screens, its loop's first and last step with it", () => {
  const lasso = trace({ steps: 76, loop: 30 });
  const list = lines(reasons(lasso), new Set());
  assert.ok(list.length * 22 < 3 * 700, `${list.length} lines`);
  assert.ok(list.some((line) => line.sort === "state" && line.k === 31));
});

test("the tree has the parts in order, tables as rows of fields, and says what changed", () => {
  const one = trace();
  const tree = treeOf(one.model, one.parts);
  assert.deepEqual(tree.map(({ part }) => part), one.parts);
  assert.deepEqual(tree[1]?.rows, [{ key: "job[client 1]", variable: "job", sentence: "what the client does", fields: [{ slot: 1, name: "phase" }] }]);
  assert.deepEqual(changedRows(tree, [0, 2]).map(({ row }) => row.key), ["counter", "job[client 2]"]);
  assert.deepEqual([...lively([[0, 1], [0, 2], [0, 2]])], [1]);
  assert.equal(namesOf(one.model).get("Client")?.[1], "client 2");
});

test("an arrow goes to whom a message is sent and comes, dashed, from whose message is taken", () => {
  const lanes = lanesOf(["a", "b"], [], 400);
  assert.deepEqual(lanesOf(["a"], trace().steps, 400).names, ["a", "client 2", "client 1", "server"]);
  assert.deepEqual(drawing(lanes, { by: "a", to: "b", from: null }), { acts: 46, other: 138, arrows: [{ from: 46, to: 138, taken: false }] });
  assert.deepEqual(drawing(lanes, { by: "a", to: null, from: "b" }).arrows, [{ from: 138, to: 46, taken: true }]);
  assert.deepEqual(drawing(lanes, { by: "a", to: "a", from: null }).arrows, []);
});

const choice = (action: string, slot: number, code: number): Choice => ({ action, args: [0], label: `${action}(0)`, sentence: `${action} happens`, effect: [[slot, code]], error: "", by: "", to: null, from: null });

test("a choice that the trace takes walks on; another one makes a branch, which grows until it is kept", () => {
  const start = branches.walkOf(trace());
  const first = start.paths[0]?.steps[0] as Step;
  const taken = { ...choice(first.action, 0, 1), args: first.args };
  assert.equal(branches.follow(start, taken, holds).paths.length, 1);
  let walk = branches.follow({ ...start, at: 2 }, choice("crash", 0, 9), holds);
  assert.deepEqual([walk.current, walk.at, branches.currentPath(walk).name, branches.currentPath(walk).fork], [1, 3, "what if 1", 2]);
  assert.deepEqual(branches.currentPath(walk).states[3], [9, 1, 1, 0]);
  walk = branches.follow(walk, choice("add", 0, 10), holds);
  assert.deepEqual([walk.paths.length, branches.currentPath(walk).steps.length], [2, 4]);
  walk = branches.keep(walk, "crash");
  walk = branches.follow(walk, choice("work", 1, 0), holds);
  assert.deepEqual(walk.paths.map((path) => path.name), ["", "crash", "what if 1"]);
  assert.equal(branches.currentPath(walk).fork, 2);
  walk = branches.keep(walk, "crash");
  assert.deepEqual(walk.paths.map((path) => path.name), ["", "crash", "crash (2)"]);
  assert.deepEqual(branches.discard(walk, 2).current, 0);
  assert.equal(branches.discard(walk, 0), walk);
  assert.equal(branches.change({ ...walk, at: 5 }, 1).at, 4);
});

test("undo and redo bring whole walks back", () => {
  const first = branches.walkOf(trace());
  const second = branches.follow(first, choice("crash", 0, 9), holds);
  const [undo, back] = branches.undone(branches.done(branches.NOTHING, first), second);
  assert.equal(back, first);
  const [again, forward] = branches.redone(undo, back);
  assert.equal(forward, second);
  assert.equal(again.past.length, 1);
  assert.deepEqual(branches.redone(again, forward), [again, forward]);
});

test("the address names step, path and branches, and what is broken in one is left out", () => {
  const walk = branches.keep(branches.follow({ ...branches.walkOf(trace()), at: 2 }, choice("crash", 0, 9), holds), "a & b=1~2");
  const place = placeOf(walk, "compare", "witness|x");
  assert.deepEqual(readPlace(fragment(place)), { ...place, branches: [{ name: "a & b=1-2", fork: 2, moves: [{ action: "crash", args: [0] }] }] });
  assert.deepEqual(readPlace("#step=-3&view=evil&branch=x&branch=x~1~a.b.c&branch=~2"), { step: 0, path: "", view: "trace", branches: [], opened: "" });
  assert.equal(readPlace("").step, 0);
});

test("what was opened comes back from the address", () => {
  for (const request of [{ witness: "a|b" }, { property: "LIV-03", profile: "P49", scope: "small", condition: "a|b" }, { scope: "tiny", profile: "P40" }]) {
    assert.deepEqual(readRequest(requestText(request)), request);
  }
  assert.equal(readRequest("nonsense|x"), null);
  assert.equal(readRequest(""), null);
});

test("a search finds steps by words and by actor, action, variable and truth", () => {
  const { steps, truths, model } = trace();
  assert.deepEqual(readQuery('ask actor:"client 1" odd:x'), { words: ["ask", "odd:x"], only: [{ key: "actor", value: "client 1" }] });
  assert.equal(found("  ", steps, truths, model), null);
  assert.deepEqual([...(found("action:ask", steps, truths, model) ?? [])], [4, 8, 12]);
  assert.deepEqual([...(found("variable:counter", steps, truths, model) ?? [])], [7]);
  assert.deepEqual([...(found("truth:fails", steps, truths, model) ?? [])], [12]);
  assert.deepEqual([...(found("actor:server ask", steps, truths, model) ?? [])], [4, 8, 12]);
  assert.equal(found("nowhere", steps, truths, model)?.size, 0);
});

test("two traces are alike up to the first difference, and the same steps after it stand beside each other", () => {
  const left = { states: [[0], [1], [2], [3]], steps: [{ label: "a" }, { label: "b" }, { label: "c" }] };
  const right = { states: [[0], [1], [7], [8], [9]], steps: [{ label: "a" }, { label: "x" }, { label: "b" }, { label: "c" }] };
  const { pairs, first } = align(left, right);
  assert.equal(first, 2);
  assert.deepEqual(pairs.map((pair) => [pair.left, pair.right]), [[0, 0], [1, 1], [null, 2], [2, 3], [3, 4]]);
  assert.deepEqual(align(left, left).first, null);
  const other = trace();
  const renamed = { ...other, model: { ...other.model, slots: other.model.slots.map((slot, k) => (k ? slot : { ...slot, label: "total" })) } };
  const sides = sidesOf({ name: "l", trace: other, path: other }, { name: "r", trace: renamed, path: renamed });
  assert.deepEqual(sides.shared, ["job[client 1].phase", "job[client 2].phase", "asked"]);
  assert.deepEqual(sides.left.states[1], ["idle", "busy", "0"]);
});

test("a state graph lies in layers, and each state knows a shortest path to it", () => {
  const graph = { states: [[0], [1], [2], [3]], depth: [0, 1, 1, 2], edges: [[0, 1, 0], [0, 2, 1], [1, 1, 0], [2, 3, 2], [3, 0, 3]] as [number, number, number][], complete: true, truths: null };
  const placed = layout(graph);
  assert.deepEqual(pathTo(placed.parent, 3), [0, 2, 3]);
  assert.deepEqual([...placed.via], [-1, 0, 1, 2]);
  assert.equal(new Set([0, 1, 2, 3].map((k) => `${placed.x[k]},${placed.y[k]}`)).size, 4);
});

test("ten thousand states are laid out in well under a second", () => {
  const count = 10_000;
  const states = Array.from({ length: count }, (_, k) => [k]);
  const depth = states.map((_, k) => Math.floor(Math.log2(k + 1)));
  const edges = states.flatMap((_, k): [number, number, number][] => [1, 2].flatMap((way) => (2 * k + way < count ? [[k, 2 * k + way, way] as [number, number, number]] : [[k, (k * 7) % count, 0] as [number, number, number]])));
  const begin = performance.now();
  const placed = layout({ states, depth, edges, complete: true, truths: null });
  assert.ok(performance.now() - begin < 1000);
  assert.ok(placed.width < 3 * placed.height, `${placed.width} by ${placed.height}`);
  assert.equal(new Set(states.map((_, k) => `${placed.x[k]},${placed.y[k]}`)).size, count);
  assert.equal(pathTo(placed.parent, count - 1).length, (depth[count - 1] ?? 0) + 1);
});

test("a graph is coloured by values, by ranges of many numbers, and by the most frequent of many words", () => {
  const by = (values: (string | null)[]) => {
    const { shades, of } = colouring("x", { values });
    return { shades: shades.map(({ text, count, colour }) => `${colour} ${text}: ${count}`), of: [...of] };
  };
  assert.deepEqual(by(["True", "False", null, "True"]), { shades: ["0 False: 1", "1 True: 2", "-1 no value: 1"], of: [1, 0, -1, 1] });
  assert.deepEqual(by(["10", "9", "-1"]).shades, ["0 -1: 1", "1 9: 1", "2 10: 1"]);
  const many = by(Array.from({ length: 20 }, (_, k) => String(k - 2)));
  assert.deepEqual(many.shades.map((shade) => shade.slice(2)), ["-2 to 0: 3", "1 to 3: 3", "4 to 6: 3", "7 to 9: 3", "10 to 12: 3", "13 to 15: 3", "16 to 18: 2"]);
  const words = by([...Array.from({ length: 20 }, (_, k) => `w${k}`), "w19", "w19"]);
  assert.equal(words.shades.length, COLOURS + 1);
  assert.deepEqual([words.shades[0], words.shades.at(-1)], ["0 w19: 3", "-1 other values: 12"]);
  assert.deepEqual(by([null, null]).shades, ["-1 no value: 2"]);
});

test("the address of a history names what was opened and the operation", () => {
  const address = operationFragment("witness|a b.ndjson", 40);
  assert.equal(readPlace(address).opened, "witness|a b.ndjson");
  assert.equal(readOperation(address), 40);
  assert.equal(operationFragment("", 3), "#operation=3");
  assert.equal(readOperation("#operation=-1"), null);
});

test("on the time line operations of one client do not cover each other, and the order's points go forward within their bars", () => {
  const made = history();
  const { bars, points, lanes } = timelineOf(made);
  assert.deepEqual(lanes.map(({ client, rows }) => [client, rows]), [["client 1", 2], ["client 2", 1]]);
  assert.deepEqual(points.map((point) => point.id), [1, 0, 2]);
  let before = -1;
  for (const point of points) {
    const bar = bars.find((one) => one.operation.id === point.id);
    assert.ok(bar && bar.from <= point.at && point.at <= bar.to && point.at > before);
    before = point.at;
  }
  assert.ok(bars.find((bar) => bar.operation.id === 2)?.open);
});

test("columns of steps: values and lanes give way in a narrow list, and lines wrap unless there are many", () => {
  assert.deepEqual(widthsOf(1200, 300, 12, 2, true), { narrow: false, wrapped: false, inside: false, template: "50px 300px minmax(0, 1fr) 88px 88px 92px" });
  assert.deepEqual(widthsOf(1000, 300, 12, 1, true), { narrow: false, wrapped: true, inside: false, template: "50px 300px minmax(0, 1fr) 88px 92px" });
  assert.deepEqual(widthsOf(800, 300, 12, 1, true), { narrow: false, wrapped: true, inside: true, template: "50px 300px minmax(0, 1fr) 92px" });
  assert.deepEqual(widthsOf(390, 300, 12, 1, true), { narrow: true, wrapped: true, inside: true, template: "50px 0px minmax(0, 1fr) 72px" });
  assert.deepEqual(widthsOf(390, 300, 1500, 1, false), { narrow: true, wrapped: false, inside: false, template: "77px 0px minmax(0, 1fr) 56px 72px" });
  assert.equal(widthsOf(Infinity, 300, 5, 9, true).wrapped, false);
});

test("a part has a box with its values, and kinds stand in the order of the lanes", () => {
  const { boxes, names: readable } = systemOf(SYSTEM, ["Node 1", "hub"]);
  assert.deepEqual(boxes.map(({ name, kind }) => [name, kind]), [["Node 0", "Node"], ["Node 1", "Node"], ["hub", "hub"], ["shared by all", ""]]);
  const [first, , hub, shared] = boxes as [Box, Box, Box, Box];
  assert.deepEqual(first.groups, [{ sort: "values", title: "", sentence: "", cells: [{ slot: 0, name: "up" }] }, { sort: "table", title: "config", sentence: "", columns: ["known", "size"], rows: [{ name: "a", slots: [2, 6] }, { name: "b", slots: [3, 7] }] }]);
  assert.deepEqual(hub.groups[0], { sort: "members", title: "live", sentence: "", cells: [{ slot: 10, name: "Node 0" }, { slot: 11, name: "Node 1" }] });
  assert.deepEqual(hub.groups[1], { sort: "sequence", title: "inbox", sentence: "", length: 12, items: [[{ slot: 13, name: "" }], [{ slot: 14, name: "" }]] });
  assert.deepEqual(shared.groups[0], { sort: "values", title: "", sentence: "", cells: [{ slot: 15, name: "seen" }, { slot: 16, name: "crashes" }] });
  assert.equal(slotText(SYSTEM, readable, 13, 1), "Node 1", "an element without a name is called by its index");
  assert.deepEqual(members(SYSTEM, readable, 15, 1, 2), [{ name: "Node 0", was: true, is: false }, { name: "Node 1", was: false, is: true }]);
  assert.equal(members(SYSTEM, readable, 13, 0, 1), null);
  assert.equal(systemOf(SYSTEM, ["hub", "system"]).boxes.at(-1)?.name, "system", "variables without a part belong to the actor without a name");
});

test("a table shows the rows and columns with a value that is wanted, and a long one its changes first", () => {
  const table = systemOf(SYSTEM, []).boxes[0]?.groups[1] as Group & { sort: "table" };
  assert.deepEqual(only(table, (slot) => slot === 7), { ...table, columns: ["size"], rows: [{ name: "b", slots: [7] }] });
  assert.equal(only(table, () => false), null);
  assert.deepEqual([...unfolded([false, false, false, true], 2)], [3, 0]);
  assert.deepEqual([...unfolded([true, true, true], 2)], [0, 1, 2], "a change is never folded");
});

test("each kind has its column, the highest kind gets those that are left, and a narrow page has fewer", () => {
  const { boxes } = systemOf(SYSTEM, []);
  const columns = (width: number): string[][] => columnsOf(boxes, () => 100, width).map((column) => column.map(({ name }) => name));
  assert.deepEqual(columns(1400), [["Node 0"], ["Node 1"], ["hub"], ["shared by all"]]);
  assert.deepEqual(columns(900), [["Node 0", "Node 1"], ["hub"], ["shared by all"]]);
  assert.deepEqual(columns(700), [["Node 0", "Node 1"], ["hub", "shared by all"]]);
  assert.deepEqual(columns(390), [["Node 0", "Node 1", "hub", "shared by all"]]);
  assert.equal(columns(0).length, 1);
});

test("an arrow leaves the actor and runs beside and above the boxes, never over one", () => {
  const box = (column: number, row: number) => ({ left: 34 + column * 284, right: 284 + column * 284, top: 26 + row * 200, bottom: 176 + row * 200 });
  const places = [0, 1, 2].flatMap((column) => [0, 1].map((row) => box(column, row)));
  for (const from of places) {
    for (const to of places) {
      if (from === to) continue;
      const corners = route(from, to, 26);
      assert.deepEqual([corners[0]?.[1], corners.at(-1)?.[1]], [from.top + 14, to.top + 14]);
      for (const [k, [x, y]] of corners.slice(1).entries()) {
        const [px, py] = corners[k] as [number, number];
        assert.ok(x === px || y === py, "a corner is a right angle");
        const covers = places.some(({ left, right, top, bottom }) => Math.max(x, px) > left && Math.min(x, px) < right && Math.max(y, py) > top && Math.min(y, py) < bottom);
        assert.ok(!covers, `${JSON.stringify(corners)} covers a box`);
      }
    }
  }
  assert.deepEqual(messagesOf({ by: "b", to: "c", from: "a" }), [{ from: "a", to: "b", taken: true }, { from: "b", to: "c", taken: false }]);
  assert.deepEqual(messagesOf({ by: "b", to: "b", from: null }), []);
});

test("a property reads the elements that it names, otherwise the columns, otherwise all of a table", () => {
  const reads = (formula: string, goal: string | null = null): number[] => [...readSlots(SYSTEM, { ...trace().property, formula, goal }).entries()].flatMap(([slot, is]) => (is ? [slot] : []));
  assert.deepEqual(reads("config[1, b].size > xconfig[0, a].size"), [9]);
  assert.deepEqual(reads("config[1, b].size > config[n, t].size"), [6, 7, 8, 9]);
  assert.deepEqual(reads("config[0] == config[1]"), [2, 3, 4, 5, 6, 7, 8, 9]);
  assert.deepEqual(reads("crashes == 0", "up[0] & ~up[1]"), [0, 1, 16]);
});
