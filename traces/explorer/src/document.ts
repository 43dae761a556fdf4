// What Python hands to the page: one document, of a trace, a history or a hazard. Codes are integers; `values.ts` makes text of them.

import type { ProgramRow } from "./model/program";

export type Type =
  | { sort: "bool" }
  | { sort: "int"; lo: number; hi: number }
  | { sort: "enum"; names: string[] }
  | { sort: "index"; of: string }
  | { sort: "maybe"; of: string }
  | { sort: "set"; of: string };

export interface Variable {
  name: string;
  sentence: string;
  type: Type;
  over: string[];
  first: number;
  part: string | null;
}

export interface Slot {
  label: string;
  variable: number;
  part: string;
}

export interface Guard {
  name: string;
  sentence: string;
  bound: boolean;
}

export interface Action {
  name: string;
  sentence: string;
  rules: string[];
  role: string;
  parameters: { name: string; type: Type }[];
  guards: Guard[];
}

export interface ModelView {
  name: string;
  indices: { name: string; elements: string[] }[];
  variables: Variable[];
  slots: Slot[];
  actions: Action[];
  constants: { name: string; value: string }[];
  program: ProgramRow | { missing: string }; // the model's terms, or why a page cannot take steps by them
}

export interface Property {
  id: string;
  sentence: string;
  kind: "always" | "reachable" | "step" | "deadlock_free" | "leads_to" | "eventually" | "eventually_always" | "until" | "within" | "lemma";
  formula: string;
  goal: string | null;
}

/** Who acts, whom it sends to, whose message it takes. */
export interface Actors {
  by: string;
  to: string | null;
  from: string | null;
}

export interface Step extends Actors {
  action: string;
  args: number[];
  label: string;
  sentence: string; // who does what, such as "broker-a creates orders with 4 queues"
  changed: number[];
}

export interface Truth {
  word: string;
  bad: boolean;
  part: string;
  values: [string, string][];
}

export interface Choice extends Actors {
  action: string;
  args: number[];
  label: string;
  sentence: string;
  effect: [number, number][];
  error: string;
}

export interface Refused {
  action: string;
  args: number[];
  label: string;
  guard: string;
  sentence: string;
  bound: boolean;
  part: string;
  values: [string, string][];
  error: string;
}

export interface Subject {
  model: string;
  scope: string;
  profile: string;
  condition: string;
  engine: string;
}

export interface Command {
  label: string;
  command: string;
}

/** A running explorer, which searches the state graph of this session's model. */
export interface Live {
  session: string;
}

export interface TraceDocument {
  schema: number;
  kind: "trace";
  title: string;
  subject: Subject;
  model: ModelView;
  property: Property;
  parts: string[];
  states: number[][];
  steps: Step[];
  loop: number | null;
  loop_text: string;
  note: string;
  end: string;
  truths: Truth[];
  commands: Command[];
  live: Live | null;
  run?: boolean; // the page belongs to the page of a run, which is `../index.html`
}

export interface Operation {
  id: number;
  client: string;
  name: string;
  label: string;
  response: string; // in short, such as "SUCCESS queue 0 offset 7"; "" without a response
  begin: number;
  end: number | null;
  nanos?: [number, number | null]; // since the history began, where it has clocks
  outcome: "ok" | "fail" | "unknown";
  fields: [string, string][];
  answer: [string, string][];
  position: number | null;
  status: "explained" | "refused" | "beyond" | "unjudged";
}

export interface Mark {
  at: number;
  kind: string;
  text: string;
}

/** What nothing explains: an operation, or (-1) what a broker itself said, which a mark tells. */
export interface Refusal {
  operation: number;
  recorded?: string;
  specified: string;
  action: string;
  guard: string;
  sentence: string;
  values: [string, string][];
}

export interface HistoryDocument {
  schema: number;
  kind: "history";
  title: string;
  subject: Subject;
  clients: string[];
  operations: Operation[];
  marks: Mark[];
  verdict: { verdict: string; sentence: string };
  order: number[];
  refusal: Refusal | null;
  left_out?: { before: number; after: number } | null; // operations, faults and changes of a long history that are not here
  commands: Command[];
  live: Live | null;
  run?: boolean;
}

/** A known hazard: the steps of its scenario, each with the facts after it. */
export interface HazardDocument {
  schema: number;
  kind: "hazard";
  title: string;
  sentence: string;
  profile: string;
  steps: { text: string; facts: [string, string][] }[];
  about: string[];
  finding: string; // how the scenario differs from its description, "" if it does not
  rules: [string, string][];
  properties: { id: string; sentence: string; case: Omit<Case, "expected"> | null; page: string }[]; // the case whose counterexample shows it, and the address of its page if there is one
  commands: Command[];
}

export type Document = TraceDocument | HistoryDocument | HazardDocument;

export interface Case {
  profile: string;
  scope: string;
  condition: string;
  expected: string;
}

/** A known hazard with its properties and the sentences of its scenario. */
export interface Hazard {
  id: string;
  title: string;
  profile: string;
  properties: string[];
  steps: string[];
}

export interface Catalogue {
  hazards: Hazard[];
  properties: { id: string; sentence: string; cases: Case[] }[];
  witnesses: { id: string; title: string; path: string }[];
  scopes: { name: string; about: string }[];
}

export interface Start {
  document: Document | null;
  catalogue: Catalogue;
  version: string;
}

const SCHEMA = 2;

/** The document in a text, or an error of one line that says what is wrong with it. */
export function readDocument(text: string): Document {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error("this is not a document of a trace: its text is no JSON, or it was cut short");
  }
  return checkDocument(value);
}

export function checkDocument(value: unknown): Document {
  const some = value as Partial<Document> | null;
  if (typeof some !== "object" || some === null || !("schema" in some)) {
    throw new Error("this is not a document of a trace: it names no schema");
  }
  if (some.schema !== SCHEMA) {
    throw new Error(`this document has schema ${String(some.schema).slice(0, 40)}, this page reads ${SCHEMA}: open it with the rocketproof that wrote it`);
  }
  if (some.kind === "trace") return checkTrace(some as TraceDocument);
  if (some.kind === "history") return checkHistory(some as HistoryDocument);
  if (some.kind === "hazard") return checkHazard(some as HazardDocument);
  throw new Error("this document is neither a trace, a history nor a hazard");
}

function checkTrace(trace: TraceDocument): TraceDocument {
  const states = trace.states?.length;
  const lengths: [string, number | undefined, number][] = [
    ["steps", trace.steps?.length, states - 1],
    ["truths", trace.truths?.length, states],
  ];
  if (!states || !trace.model?.slots || !trace.model.program || !trace.parts) throw new Error("this document is incomplete: it has no states, no model or no parts");
  for (const [name, have, want] of lengths) {
    if (have !== want) throw new Error(`this document is incomplete: ${states} states need ${want} ${name}, it has ${have ?? "none"}`);
  }
  if (trace.states.some((state) => state.length !== trace.model.slots.length)) {
    throw new Error("this document is inconsistent: a state has another number of values than the model");
  }
  return trace;
}

function checkHistory(history: HistoryDocument): HistoryDocument {
  for (const name of ["clients", "operations", "marks", "order", "commands"] as const) {
    if (!Array.isArray(history[name])) throw new Error(`this document is incomplete: it has no ${name}`);
  }
  return history;
}

function checkHazard(hazard: HazardDocument): HazardDocument {
  for (const name of ["steps", "about", "rules", "properties", "commands"] as const) {
    if (!Array.isArray(hazard[name])) throw new Error(`this document is incomplete: it has no ${name}`);
  }
  return hazard;
}

/** The document in a file that somebody opens: JSON, or a page that carries one. */
export function documentOfFile(text: string): Document {
  if (!text.trimStart().startsWith("<")) return readDocument(text);
  const inside = new DOMParser().parseFromString(text, "text/html").getElementById("document")?.textContent;
  if (!inside || inside === "null") throw new Error("this page carries no trace");
  return readDocument(inside);
}
