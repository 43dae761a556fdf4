// A state as a tree: parts (lanes), rows (a variable's element, or all columns of a table's row), fields. Built once for a model.

import type { ModelView } from "./document";

export interface Field {
  slot: number;
  name: string; // the column, "" for a plain variable
}

export interface Row {
  key: string; // "config[broker-a, orders]"
  variable: string; // "config"
  sentence: string;
  fields: Field[];
}

export interface Branch {
  part: string;
  rows: Row[];
}

export const ELSEWHERE = "shared";

export function treeOf(model: ModelView, parts: readonly string[]): Branch[] {
  const branches = new Map<string, Map<string, Row>>(parts.map((part) => [part, new Map()]));
  model.slots.forEach((slot, k) => {
    const variable = model.variables[slot.variable];
    const [table = "", column = ""] = split(variable?.name ?? "");
    const key = rowKey(slot.label, variable?.name ?? "", table, column);
    const part = slot.part || ELSEWHERE;
    const rows = branches.get(part) ?? new Map<string, Row>();
    branches.set(part, rows);
    const row = rows.get(key) ?? { key, variable: table, sentence: "", fields: [] };
    rows.set(key, row);
    row.sentence ||= variable?.sentence ?? "";
    row.fields.push({ slot: k, name: key === slot.label ? "" : column });
  });
  return [...branches].map(([part, rows]) => ({ part, rows: [...rows.values()] })).filter((branch) => branch.rows.length);
}

/** `config[broker-a, orders]` of `config[broker-a, orders].perm` and of `config.perm[broker-a, orders]`. */
function rowKey(label: string, name: string, table: string, column: string): string {
  if (!column) return label;
  if (label.endsWith(`.${column}`)) return label.slice(0, -column.length - 1);
  return label.startsWith(name) ? table + label.slice(name.length) : label;
}

/** "config.perm" is column perm of table config. */
export function split(name: string): [string, string] {
  const dot = name.indexOf(".");
  return dot < 0 ? [name, ""] : [name.slice(0, dot), name.slice(dot + 1)];
}

export function changedSlots(before: readonly number[], after: readonly number[]): number[] {
  const found: number[] = [];
  after.forEach((code, k) => {
    if (code !== before[k]) found.push(k);
  });
  return found;
}

/** The slots that ever have two values in these states. */
export function lively(states: readonly (readonly number[])[]): Set<number> {
  const found = new Set<number>();
  const first = states[0] ?? [];
  for (const state of states) state.forEach((code, k) => code !== first[k] && found.add(k));
  return found;
}

/** A step's changes as rows, in the order of the slots. */
export function changedRows(tree: readonly Branch[], changed: readonly number[]): { row: Row; fields: Field[] }[] {
  const set = new Set(changed);
  return tree.flatMap((branch) =>
    branch.rows.flatMap((row) => {
      const fields = row.fields.filter((field) => set.has(field.slot));
      return fields.length ? [{ row, fields }] : [];
    }),
  );
}
