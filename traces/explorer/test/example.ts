// Documents of a small system, made up here: two clients take turns at a counter of a server.

import type { HazardDocument, HistoryDocument, ModelView, Operation, Step, TraceDocument, Truth } from "../src/document";
import type { ProgramRow, TermRow } from "../src/model/program";

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
    made.push({ action: kind, args: [who], label: mark(`${kind}(c=${CLIENTS[who]})`), sentence: mark(`${CLIENTS[who]} does ${kind}`), changed: [slot], by, to: kind === "ask" ? "server" : null, from: null });
    const bad = k === steps;
    truths.push({ word: bad ? "fails" : "holds", bad, part: bad ? mark("counter <= 1") : "", values: bad ? [["counter", mark(String(after[0]))]] : [] });
  }
  const action = (name: string, role: string) => ({
    name,
    sentence: mark(`Somebody does ${name}.`),
    rules: [],
    role,
    parameters: [{ name: "c", type: { sort: "index" as const, of: "Client" } }],
    guards: name === "add" ? [{ name: "room", sentence: mark("there is room"), bound: false }] : name === "crash" ? [{ name: "in turn", sentence: mark("it is this client's turn"), bound: true }] : [],
  });
  return {
    schema: 2,
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
      program: program(CLIENTS.map(mark), ["idle", mark("busy"), "done"]),
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
    commands: [{ label: "walk in it", command: mark("rocketproof explore count.itf.json") }],
    live: null,
  };
}

const [BOOL, COUNTER, PHASE, CLIENT, ASKED, ANY] = [0, 1, 2, 3, 4, 5];

/** The model: what each action does to the counter, the phases, and the number of requests. */
function program(clients: string[], phases: string[]): ProgramRow {
  const terms: TermRow[] = [];
  const made = (...row: TermRow): number => terms.push(row) - 1;
  const c = made("par", CLIENT, "c");
  const [counter, phase, asked] = [made("ref", COUNTER, 0), made("ref", PHASE, 1, c), made("ref", ASKED, 2)];
  const [limit, always, one, three] = [made("given", COUNTER, "limit"), made("const", BOOL, 1), made("const", ANY, 1), made("const", ANY, 3)];
  const round = (term: number): number => made("rem", ANY, made("add", ANY, term, one), three);
  const within = made("le", BOOL, counter, limit);
  const room = made("lt", BOOL, counter, made("const", ANY, 1000));
  const never = made("and", BOOL, within, made("lt", BOOL, limit, counter));
  const says = (text: string) => ({ pieces: [["", "c", ""], [text, "", ""]] as [string, string, string][], terms: {} });
  const action = (name: string, guards: number[], target: number, value: number) => ({ parameters: [CLIENT], guards, updates: [[target, value, always, "model.py:1"]] as [number, number, number, string][], says: says(` does ${name}`) });
  return {
    version: 1,
    types: [{ sort: "bool" }, { sort: "int", lo: 0, hi: 1000 }, { sort: "enum", names: phases }, { sort: "index", name: "Client", size: 2, names: clients }, { sort: "int", lo: 0, hi: 2 }, { sort: "int", lo: -1, hi: 1001 }],
    terms,
    variables: [[COUNTER], [PHASE, CLIENT], [ASKED]],
    constants: [[COUNTER, 1]],
    sequences: [],
    actions: [
      action("work", [], phase, round(phase)),
      { ...action("ask", [], asked, round(asked)), to: "server" },
      { ...action("add", [room], counter, made("add", ANY, counter, one)), by: "server" },
      action("crash", [never], counter, one),
    ],
    property: { kind: "always", formula: within, once: false, steps: 0 },
    parts: [CLIENT, "server"],
    declared: true,
    roles: {},
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
    schema: 2,
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
    schema: 2,
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
    properties: [{ id: "COUNT-01", sentence: "the counter never exceeds the limit", case: { profile: "P49", scope: "tiny", condition: "" }, page: "" }],
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
  const view: ModelView = { name: "nodes", indices, variables: [], slots: [], actions: [], constants: [], program: { missing: "this system has only states" } };
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
