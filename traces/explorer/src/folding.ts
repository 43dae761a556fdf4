// Which steps a reader needs to see, and the runs of others that are folded into one line.

import type { ModelView, Property, Step, TraceDocument, Truth } from "./document";
import { messagesOf } from "./lanes";
import { split } from "./tree";

export type Why = "start" | "end" | "loop" | "truth" | "property" | "message" | "outside" | "";

/** A line of the list: one state with the step that led there, or a folded run of steps `from` to `to`, both included. */
export type Line = { sort: "state"; k: number } | { sort: "fold"; from: number; to: number };

const OUTSIDE = /environment|fault|administrator/i;
const FAULT = /environment|fault/i;
const WORD = /[A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*)*/g;
const ELEMENT = /[A-Za-z_][\w.]*\[[^[\]]*\](?:\.\w+)*/g;
export const SHORTEST = 2; // a single step takes the same line as its fold

/** Whether actions of this role are faults, and what else happens to a system without anybody's doing. */
export function isFault(role: string): boolean {
  return FAULT.test(role);
}

/**
 * For each slot, whether a property reads it: an element that its formula names, such as `config[broker-a, orders].known`. If the
 * formula also names the variable otherwise, it reads all elements; of a table the columns that it names, or all if it names none.
 */
export function readSlots({ variables, slots }: ModelView, property: Property): boolean[] {
  const labels = new Set(slots.map(({ label }) => label));
  const named = new Set<string>();
  const rest = `${property.formula} ${property.goal ?? ""}`.replace(ELEMENT, (label) => {
    if (!labels.has(label)) return label;
    named.add(label);
    return " ";
  });
  const words = new Set(rest.match(WORD) ?? []);
  const columns = new Map<string, string[]>();
  for (const [table, column] of variables.map(({ name }) => split(name))) columns.set(table, [...(columns.get(table) ?? []), column]);
  const whole = variables.map(({ name }) => {
    const [table, column] = split(name);
    if (!column || words.has(name)) return words.has(name);
    return words.has(table) && (words.has(column) || !columns.get(table)?.some((one) => words.has(one)));
  });
  return slots.map(({ label, variable }) => named.has(label) || (whole[variable] ?? false));
}

export function sameTruth(one: Truth | undefined, other: Truth | undefined): boolean {
  return one?.word === other?.word && one?.bad === other?.bad && one?.part === other?.part;
}

export type Path = Pick<TraceDocument, "states" | "steps" | "truths" | "loop" | "model" | "property">;

/** For each state, why its step is worth a line of its own; "" where it is not. */
export function reasons(path: Path): Why[] {
  const roles = new Map(path.model.actions.map((action) => [action.name, action.role]));
  const reads = readSlots(path.model, path.property);
  const last = path.states.length - 1;
  return path.states.map((_, k): Why => {
    const step = path.steps[k - 1];
    if (!step) return "start";
    if (!sameTruth(path.truths[k - 1], path.truths[k])) return "truth";
    if (OUTSIDE.test(roles.get(step.action) ?? "")) return "outside";
    if (step.changed.some((slot) => reads[slot])) return "property";
    if (messagesOf(step).length) return "message";
    if (k === last) return "end";
    return path.loop !== null && k === path.loop + 1 ? "loop" : "";
  });
}

/** The lines, with every run of steps without a reason folded unless one of them is in `open`. */
export function lines(why: readonly Why[], open: ReadonlySet<number>, all = false): Line[] {
  const found: Line[] = [];
  for (let k = 0; k < why.length; k++) {
    let to = k;
    while (!all && to < why.length && why[to] === "" && !open.has(to)) to++;
    if (to - k >= SHORTEST) {
      found.push({ sort: "fold", from: k, to: to - 1 });
      k = to - 1;
    } else found.push({ sort: "state", k });
  }
  return found;
}

/** The line in which a state stands. */
export function lineOf(list: readonly Line[], k: number): number {
  return list.findIndex((line) => (line.sort === "state" ? line.k === k : line.from <= k && k <= line.to));
}

/** The states of the run that a state belongs to, so that the whole run opens. */
export function runOf(why: readonly Why[], k: number): number[] {
  if (why[k] !== "") return [];
  let from = k;
  let to = k;
  while (why[from - 1] === "") from--;
  while (why[to + 1] === "") to++;
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}

/** The next state, in either direction, whose step is worth a line. */
export function nextReason(why: readonly Why[], k: number, way: 1 | -1): number {
  for (let at = k + way; at >= 0 && at < why.length; at += way) if (why[at] !== "") return at;
  return k;
}

/** What a folded run does, in few words: "look_up, put (2), unlock". */
export function foldText(steps: readonly Step[], from: number, to: number): string {
  const words: [string, number][] = [];
  for (let k = from; k <= to; k++) {
    const name = steps[k - 1]?.action ?? "";
    const last = words.at(-1);
    if (last?.[0] === name) last[1]++;
    else words.push([name, 1]);
  }
  return words.map(([name, times]) => (times > 1 ? `${name} (${times})` : name)).join(", ");
}
