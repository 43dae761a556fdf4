// The system as boxes: one for each part, its variables as values, sets, tables and sequences, and the arrows of a step between boxes.
// Everything is derived from the owner of each slot and the indices of the variables, so any model has this view.

import { COLOURS } from "./colouring";
import type { ModelView, Variable } from "./document";
import { hasBit } from "./model/numbers";
import { split } from "./tree";
import { namesOf, variableOf, type Names } from "./values";

/** A value with the name it has inside its group, "" for the only one. */
export interface Cell {
  slot: number;
  name: string;
}

interface Titled {
  title: string; // the variable or table, "" for the values that have no group
  sentence: string;
}

/** `values`: names with values. `members`: an array of booleans as a set. */
export type Group =
  | (Titled & { sort: "values" | "members"; cells: Cell[] })
  | (Titled & { sort: "table"; columns: string[]; rows: { name: string; slots: number[] }[] })
  | (Titled & { sort: "sequence"; length: number; items: Cell[][] });

export interface Box {
  part: string; // as steps and slots name it, "" for the variables that belong to no part
  name: string;
  kind: string; // the index that the part is an element of, or the part itself
  colour: number;
  groups: Group[];
}

export interface System {
  boxes: Box[];
  names: Names; // elements of indices as a reader knows them: "RM 0" where the model gives no name
}

const SYSTEM = "system"; // acts where the model names no part
const NUMBER = /^-?\d+$/;
const INTERVAL = /^(Int|Bool|Maybe|Enum)\b/; // a type that is no index has its own text as its name

/** The boxes of a model in a stable order: kinds in the order of the lanes, elements in the order of their index. */
export function systemOf(model: ModelView, lanes: readonly string[]): System {
  const names = readable(model);
  const kinds = kindsOf(model, names);
  const slots = grouped([...model.slots.keys()], (slot) => model.slots[slot]?.part ?? "");
  const rest = slots.get("") ?? [];
  slots.delete("");
  const shared = rest.length > 0 && lanes.includes(SYSTEM) && !slots.has(SYSTEM) ? SYSTEM : "";
  const parts = [...new Set([...lanes, ...slots.keys()])].filter((part) => part !== "" && part !== shared);
  const order = [...new Set(parts.map((part) => kinds.get(part)?.kind ?? part))];
  const place = (part: string): [number, number] => [order.indexOf(kinds.get(part)?.kind ?? part), kinds.get(part)?.element ?? 0];
  parts.sort((one, other) => place(one)[0] - place(other)[0] || place(one)[1] - place(other)[1]);
  const boxes = parts.map((part, k): Box => ({ part, name: part, kind: kinds.get(part)?.kind ?? part, colour: k % COLOURS, groups: groupsOf(model, names, part, slots.get(part) ?? []) }));
  if (rest.length) boxes.push({ part: shared, name: shared || "shared by all", kind: "", colour: -1, groups: groupsOf(model, names, "", rest) });
  return { boxes, names };
}

/** The names of indices' elements; an element without a name is called by its index, as in lanes. */
function readable(model: ModelView): Names {
  return new Map([...namesOf(model)].map(([index, elements]) => [index, INTERVAL.test(index) ? elements : elements.map((element) => (NUMBER.test(element) ? `${index} ${element}` : element))]));
}

function kindsOf(model: ModelView, names: Names): Map<string, { kind: string; element: number }> {
  const found = new Map<string, { kind: string; element: number }>();
  for (const { name } of model.indices) {
    if (!INTERVAL.test(name)) names.get(name)?.forEach((element, k) => found.has(element) || found.set(element, { kind: name, element: k }));
  }
  return found;
}

/** A slot of a part: its variable, and the elements that tell it from the part's other slots of this variable. */
interface Place {
  slot: number;
  variable: Variable;
  axes: string[];
  at: string[];
}

function grouped<T>(all: readonly T[], key: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) {
    const known = groups.get(key(one));
    if (known) known.push(one);
    else groups.set(key(one), [one]);
  }
  return groups;
}

function groupsOf(model: ModelView, names: Names, part: string, slots: readonly number[]): Group[] {
  const all = slots.flatMap((slot) => {
    const variable = variableOf(model, slot);
    return variable ? [placeOf(variable, slot, part, names)] : [];
  });
  const tables = grouped(all, ({ variable }) => split(variable.name)[0]);
  const single: Cell[] = [];
  const groups: Group[] = [];
  for (const [table, places] of tables) {
    const plain = places.length === 1 && places[0]?.axes.length === 0 ? places[0] : undefined;
    if (plain) single.push({ slot: plain.slot, name: plain.variable.name });
    else groups.push(...tableGroups(table, places));
  }
  return single.length ? [{ sort: "values", title: "", sentence: "", cells: single }, ...groups] : groups;
}

/** Where a slot stands in its variable, without the axis of the part that owns it. */
function placeOf(variable: Variable, slot: number, part: string, names: Names): Place {
  const axes: string[] = [];
  const at: string[] = [];
  let offset = slot - variable.first;
  for (const axis of [...variable.over].reverse()) {
    const elements = names.get(axis) ?? [];
    axes.unshift(axis);
    at.unshift(elements[offset % elements.length] ?? "");
    offset = Math.floor(offset / elements.length);
  }
  const own = variable.part ? -1 : at.indexOf(part);
  if (own >= 0) {
    axes.splice(own, 1);
    at.splice(own, 1);
  }
  return { slot, variable, axes, at };
}

function tableGroups(table: string, all: readonly Place[]): Group[] {
  const { sequences, rest } = sequencesOf(table, all);
  const shapes = grouped(rest, ({ variable, axes }) => [variable.name.includes("."), ...axes].join("\n"));
  return [...sequences, ...[...shapes.values()].map((places) => groupOf(table, places))];
}

function groupOf(table: string, places: readonly Place[]): Group {
  const first = places[0] as Place;
  const column = ({ variable }: Place): string => split(variable.name)[1];
  const row = ({ at }: Place): string => at.join(", ");
  const titled = { title: table, sentence: first.variable.sentence };
  const columns = new Set(places.map(({ variable }) => variable.name));
  const cells = (name: (place: Place) => string): Cell[] => places.map((place) => ({ slot: place.slot, name: name(place) }));
  if (columns.size > 1 && first.axes.length > 0) return { ...titled, sort: "table", ...grid(places, row, column) };
  if (columns.size > 1) return { ...titled, sort: "values", sentence: "", cells: cells(column) };
  const title = first.variable.name;
  if (first.variable.type.sort === "bool" && first.axes.length > 0) return { ...titled, title, sort: "members", cells: cells(row) };
  if (first.axes.length > 1) return { ...titled, title, sort: "table", ...grid(places, ({ at }) => at.slice(0, -1).join(", "), ({ at }) => at.at(-1) ?? "") };
  return { ...titled, title, sort: "values", cells: cells(row) };
}

function grid(places: readonly Place[], row: (place: Place) => string, column: (place: Place) => string): { columns: string[]; rows: { name: string; slots: number[] }[] } {
  const columns = [...new Set(places.map(column))];
  const rows = [...grouped(places, row)].map(([name, some]) => {
    const slots = new Map(some.map((place) => [column(place), place.slot]));
    return { name, slots: columns.map((each) => slots.get(each) ?? -1) };
  });
  return { columns, rows };
}

/** Sequences: `x.length`, and variables of the same table with one more axis, which is the position in the sequence. */
function sequencesOf(table: string, all: readonly Place[]): { sequences: Group[]; rest: Place[] } {
  const lengths = all.filter(({ variable }) => variable.name === `${table}.length`);
  const axes = lengths[0]?.axes.join("\n") ?? "";
  const items = all.filter((place) => !lengths.includes(place) && place.axes.slice(0, -1).join("\n") === axes && place.axes.length > 0);
  if (!lengths.length || lengths.length + items.length !== all.length || !items.length) return { sequences: [], rest: [...all] };
  const sequences = lengths.map((length): Group => {
    const own = items.filter(({ at }) => at.slice(0, -1).join("\n") === length.at.join("\n"));
    const places = [...grouped(own, ({ at }) => at.at(-1) ?? "").values()];
    const field = ({ variable }: Place): string => split(variable.name)[1].replace(/^\d+$/, "");
    return {
      sort: "sequence",
      title: length.at.length ? `${table} ${length.at.join(", ")}` : table,
      sentence: length.variable.sentence,
      length: length.slot,
      items: places.map((some) => some.map((place) => ({ slot: place.slot, name: field(place) }))),
    };
  });
  return { sequences, rest: [] };
}

/** All slots of a group. */
export function slotsOf(group: Group): number[] {
  if (group.sort === "table") return group.rows.flatMap(({ slots }) => slots.filter((slot) => slot >= 0));
  if (group.sort === "sequence") return [group.length, ...group.items.flat().map(({ slot }) => slot)];
  return group.cells.map(({ slot }) => slot);
}

/** A group with only the slots that are wanted: rows and columns of a table in which one is; a sequence as a whole. Null if none is. */
export function only(group: Group, wanted: (slot: number) => boolean): Group | null {
  if (!slotsOf(group).some(wanted)) return null;
  if (group.sort === "sequence") return group;
  if (group.sort !== "table") return { ...group, cells: group.cells.filter(({ slot }) => wanted(slot)) };
  const rows = group.rows.filter(({ slots }) => slots.some((slot) => slot >= 0 && wanted(slot)));
  const kept = group.columns.map((_, k) => rows.some(({ slots }) => (slots[k] ?? -1) >= 0 && wanted(slots[k] ?? -1)));
  return { ...group, columns: group.columns.filter((_, k) => kept[k]), rows: rows.map(({ name, slots }) => ({ name, slots: slots.filter((_, k) => kept[k]) })) };
}

/** What a set gains, keeps and loses in a step, as names of members. */
export function members(model: ModelView, names: Names, slot: number, before: number, after: number): { name: string; was: boolean; is: boolean }[] | null {
  const type = variableOf(model, slot)?.type;
  if (type?.sort !== "set") return null;
  return (names.get(type.of) ?? []).map((name, k) => ({ name, was: hasBit(before, k), is: hasBit(after, k) })).filter(({ was, is }) => was || is);
}

/** Positions of a long list's entries that are shown while it is folded: those that changed, and the first others if there is room. */
export function unfolded(changed: readonly boolean[], most: number): Set<number> {
  const kept = new Set([...changed.keys()].filter((k) => changed[k]));
  for (let k = 0; k < changed.length && kept.size < most; k++) kept.add(k);
  return kept;
}

// Columns

const NARROWEST = 250; // width of a column of boxes in pixels
const GAP = 34; // between columns, where arrows run

/** Columns of boxes: each kind has columns of its own if there is room, otherwise neighbouring kinds share one. */
export function columnsOf(boxes: readonly Box[], height: (box: Box) => number, width: number): Box[][] {
  const most = Math.max(1, Math.floor((width - GAP) / (NARROWEST + GAP)));
  const kinds = [...grouped(boxes, ({ kind }) => kind).values()];
  const sum = (some: readonly Box[]): number => some.reduce((all, box) => all + height(box), 0);
  if (kinds.length > most) return shared(kinds, most, sum);
  const counts = kinds.map(() => 1);
  for (let left = most - kinds.length; left > 0; left--) {
    const gains = kinds.map((some, k) => ((counts[k] ?? 1) < some.length ? sum(some) / (counts[k] ?? 1) : 0));
    const highest = gains.indexOf(Math.max(...gains));
    if (!gains[highest]) break;
    counts[highest] = (counts[highest] ?? 1) + 1;
  }
  return kinds.flatMap((some, k) => {
    const columns = Array.from({ length: counts[k] ?? 1 }, (): Box[] => []);
    some.forEach((box, i) => columns[i % columns.length]?.push(box));
    return columns;
  });
}

/** Neighbouring kinds in `most` columns, so that the highest is as low as it can be. */
function shared(kinds: readonly Box[][], most: number, sum: (some: readonly Box[]) => number): Box[][] {
  const heights = kinds.map(sum);
  const filled = (limit: number): Box[][] => {
    const columns: Box[][] = [];
    let rest = 0;
    kinds.forEach((some, k) => {
      const high = heights[k] ?? 0;
      if (!columns.length || high > rest) {
        columns.push([]);
        rest = limit;
      }
      columns.at(-1)?.push(...some);
      rest -= high;
    });
    return columns;
  };
  const limits = heights.flatMap((_, from) => heights.slice(from).map((__, k) => heights.slice(from, from + k + 1).reduce((a, b) => a + b, 0)));
  const enough = limits.sort((a, b) => a - b).find((limit) => limit >= Math.max(...heights) && filled(limit).length <= most);
  return filled(enough ?? Infinity);
}

/** Lines that a group takes, for the heights of columns. */
export function linesOf(group: Group): number {
  if (group.sort === "table") return group.rows.length + 2;
  return 1 + Math.ceil((group.sort === "sequence" ? group.items.length : group.cells.length) / 2);
}

// Arrows

export interface Rect {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

const HEAD = 14; // pixels below the top of a box where its arrows end
const ABOVE = 11; // pixels above the highest box, where arrows pass over columns

/**
 * The corners of an arrow between two boxes, which runs between columns and above them, never over a box. `top`: of the highest box;
 * `beside`: how far it keeps from the way of another arrow.
 */
export function route(from: Rect, to: Rect, top: number, beside = 0): [number, number][] {
  const [start, end] = [from.top + HEAD + beside, to.top + HEAD + beside];
  const half = GAP / 2;
  const same = from.left < to.right && to.left < from.right;
  const left = from.left - half - beside;
  if (same) return [[from.left, start], [left, start], [left, end], [to.left, end]];
  const right = to.left > from.right;
  const [out, into] = right ? [from.right, to.left] : [from.left, to.right];
  const [leave, arrive] = right ? [out + half + beside, into - half + beside] : [out - half + beside, into + half + beside];
  if (Math.abs(leave - arrive) < 2) return [[out, start], [leave, start], [leave, end], [into, end]];
  return [[out, start], [leave, start], [leave, top - ABOVE + beside], [arrive, top - ABOVE + beside], [arrive, end], [into, end]];
}
