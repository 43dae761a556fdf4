// Documents of a small system, made up here: two clients take turns at a counter of a server.

import type { Choice, HazardDocument, HistoryDocument, ModelView, Operation, Step, TraceDocument, Truth } from "../src/document";

export interface Made {
  steps?: number;
  loop?: number | null;
  hostile?: string;
}

const CLIENTS = ["client 1", "client 2"];

/** A trace in which every fourth step is a request, every seventh changes what the property speaks of, and the rest is work. */
export function trace({ steps = 12, loop = null, hostile = "" }: Made = {}): TraceDocument {
  const mark = (text: string): string => (hostile ? `${text} ${hostile}` : text);
  const states: number[][] = [[0, 0, 0, 0]];
  const made: Step[] = [];
  const truths: Truth[] = [{ word: "holds", bad: false, part: "", values: [] }];
  for (let k = 1; k <= steps; k++) {
    const before = states[k - 1] as number[];
    const who = k % 2;
    const kind = k % 7 === 0 ? "add" : k % 4 === 0 ? "ask" : "work";
    const slot = kind === "add" ? 0 : kind === "ask" ? 3 : 1 + who;
    const after = before.map((code, s) => (s === slot ? (slot === 0 ? code + 1 : (code + 1) % 3) : code));
    states.push(after);
    const by = kind === "add" ? "server" : (CLIENTS[who] as string);
    made.push({ action: kind, args: [who], label: mark(`${kind}(${CLIENTS[who]})`), sentence: mark(`${CLIENTS[who]} does ${kind}`), changed: [slot], by, to: kind === "ask" ? "server" : null, from: null });
    const bad = k === steps;
    truths.push({ word: bad ? "fails" : "holds", bad, part: bad ? mark("counter <= 1") : "", values: bad ? [["counter", mark(String(after[0]))]] : [] });
  }
  const enabled = (k: number): Choice[] => {
    const next = made[k];
    const state = states[k] as number[];
    const other: Choice = { action: "work", args: [k % 2], label: mark(`work(${CLIENTS[k % 2]})`), sentence: mark(`${CLIENTS[k % 2]} does work`), effect: [[1 + (k % 2), ((state[1 + (k % 2)] as number) + 1) % 3]], error: "", by: CLIENTS[k % 2] as string, to: null, from: null };
    if (!next) return [other];
    const effect = next.changed.map((slot): [number, number] => [slot, states[k + 1]?.[slot] ?? 0]);
    const { changed: _, ...rest } = next;
    const taken: Choice = { ...rest, effect, error: "" };
    return taken.action === other.action && taken.args[0] === other.args[0] ? [taken] : [taken, other];
  };
  const action = (name: string, role: string) => ({
    name,
    sentence: mark(`Somebody does ${name}.`),
    rules: [],
    role,
    parameters: [{ name: "c", type: { sort: "index" as const, of: "Client" } }],
    guards: [{ name: "in turn", sentence: mark("it is this client's turn"), condition: "turn == c", bound: false }],
  });
  return {
    schema: 1,
    kind: "trace",
    title: mark("COUNT-01 (always)"),
    subject: { model: "counter", scope: "tiny", profile: "", condition: mark("no crash"), engine: "explicit" },
    model: {
      name: "counter",
      indices: [{ name: "Client", elements: CLIENTS.map(mark) }],
      variables: [
        { name: "counter", sentence: mark("how often it was added to"), type: { sort: "int", lo: 0, hi: 1000 }, over: [], first: 0, part: "server" },
        { name: "job.phase", sentence: "what the client does", type: { sort: "enum", names: ["idle", mark("busy"), "done"] }, over: ["Client"], first: 1, part: null },
        { name: "asked", sentence: "how many requests are under way", type: { sort: "int", lo: 0, hi: 2 }, over: [], first: 3, part: "server" },
      ],
      slots: [
        { label: mark("counter"), variable: 0, part: "server" },
        { label: `job[${mark("client 1")}].phase`, variable: 1, part: "client 1" },
        { label: `job[${mark("client 2")}].phase`, variable: 1, part: "client 2" },
        { label: "asked", variable: 2, part: "server" },
      ],
      actions: [action("work", ""), action("ask", ""), action("add", ""), action("crash", "environment")],
      constants: [{ name: "limit", value: mark("1") }],
    },
    property: { id: "COUNT-01", sentence: mark("the counter never exceeds the limit"), kind: "always", formula: mark("counter <= limit"), goal: null },
    parts: ["server", ...CLIENTS],
    states,
    steps: made,
    loop,
    loop_text: loop === null ? "" : `from here the steps ${loop + 1}-${steps} repeat for ever`,
    note: mark(""),
    end: mark(`COUNT-01 fails after step ${steps}`),
    truths,
    choices: states.map((_, k) => ({ enabled: enabled(k), refused: [0], more: [] })),
    refusals: [
      { action: "crash", args: [0], label: mark("crash(client 1)"), guard: "in turn", sentence: mark("it is this client's turn"), bound: true, part: mark("turn == 1"), values: [["turn", mark("0")]], error: "" },
    ],
    commands: [{ label: "walk in it", command: mark("rocketproof explore count.itf.json") }],
    live: null,
  };
}

const operation = (id: number, client: string, begin: number, end: number | null, more: Partial<Operation> = {}): Operation => ({
  id,
  client,
  name: "send",
  label: `send(${id})`,
  response: end === null ? "" : "SUCCESS",
  begin,
  end,
  outcome: end === null ? "unknown" : "ok",
  fields: [["topic", "orders"]],
  answer: end === null ? [] : [["code", "SUCCESS"]],
  position: null,
  status: "beyond",
  ...more,
});

export function history(): HistoryDocument {
  return {
    schema: 1,
    kind: "history",
    title: "run 7",
    subject: { model: "", scope: "", profile: "P49", condition: "", engine: "" },
    clients: ["client 1", "client 2"],
    operations: [
      operation(0, "client 1", 0, 3, { position: 1, status: "explained" }),
      operation(1, "client 2", 1, 5, { position: 0, status: "explained" }),
      operation(2, "client 1", 4, null, { position: 2, status: "explained" }),
      operation(3, "client 2", 7, 9, { status: "refused" }),
      operation(4, "client 1", 10, 12),
    ],
    marks: [
      { at: 6, kind: "crash", text: "broker-a crashes" },
      { at: 6.5, kind: "restart", text: "broker-a starts again" },
    ],
    verdict: { verdict: "illegal", sentence: "no order of steps explains operation 3" },
    order: [1, 0, 2],
    refusal: { operation: 3, recorded: "code 0, offset 7", specified: "answers with offset 2", action: "store(client 2)", guard: "offset follows", sentence: "a message is stored behind the last one", values: [["offset", "7"], ["last", "1"]] },
    commands: [],
    live: null,
  };
}

export function hazard(): HazardDocument {
  return {
    schema: 1,
    kind: "hazard",
    title: "HAZ-01",
    sentence: "counters overflow",
    profile: "P49",
    steps: [
      { text: "A client adds.", facts: [["the counter", "1"]] },
      { text: "The counter overflows.", facts: [["the counter", "0"]] },
    ],
    about: ["Nothing limits the counter."],
    finding: "",
    rules: [["ADD-01", "the counter wraps"]],
    properties: [{ id: "COUNT-01", sentence: "the counter never exceeds the limit", case: { profile: "P49", scope: "tiny", condition: "" } }],
    commands: [{ label: "run it in a terminal", command: "rocketproof hazard HAZ-01" }],
  };
}

/** Two nodes with tables and a hub with a set and a sequence; nodes have no names. */
export const SYSTEM: ModelView = model([
  ["up", { sort: "bool" }, ["Node"]],
  ["config.known", { sort: "bool" }, ["Node", "Topic"]],
  ["config.size", { sort: "int", lo: 0, hi: 9 }, ["Node", "Topic"]],
  ["live", { sort: "bool" }, ["Node"], "hub"],
  ["inbox.length", { sort: "int", lo: 0, hi: 2 }, [], "hub"],
  ["inbox", { sort: "index", of: "Node" }, ["Int(0, 1)"], "hub"],
  ["seen", { sort: "set", of: "Node" }, []],
  ["crashes", { sort: "int", lo: 0, hi: 9 }, []],
]);

function model(variables: [name: string, type: ModelView["variables"][number]["type"], over: string[], part?: string][]): ModelView {
  const indices = [
    { name: "Node", elements: ["0", "1"] },
    { name: "Topic", elements: ["a", "b"] },
    { name: "Int(0, 1)", elements: ["0", "1"] },
  ];
  const view: ModelView = { name: "nodes", indices, variables: [], slots: [], actions: [], constants: [] };
  variables.forEach(([name, type, over, part], k) => {
    view.variables.push({ name, sentence: "", type, over, first: view.slots.length, part: part ?? null });
    const sizes = over.map((axis) => indices.find((index) => index.name === axis)?.elements.length ?? 0);
    const size = sizes.reduce((all, one) => all * one, 1);
    const [table, column] = name.split(".");
    for (let offset = 0; offset < size; offset++) {
      let rest = offset;
      const at = [...over].reverse().map((axis) => {
        const elements = indices.find((index) => index.name === axis)?.elements ?? [];
        const element = elements[rest % elements.length] ?? "";
        rest = Math.floor(rest / elements.length);
        return element;
      });
      const owner = over[0] === "Node" ? `Node ${at.at(-1)}` : "";
      view.slots.push({ label: `${table}${at.length ? `[${at.reverse().join(", ")}]` : ""}${column ? `.${column}` : ""}`, variable: k, part: part ?? owner });
    }
  });
  return view;
}
