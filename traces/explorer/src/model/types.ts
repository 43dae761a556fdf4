// Types of a model's values. A value is an integer code between `lo` and `hi`; these functions give its text.

import { add, codeOf, hasBit, sub, type Code } from "./numbers.ts";

export type ModelType = BoolType | IntType | EnumType | IndexType | MaybeType | SetType;

interface Range {
  lo: Code;
  hi: Code;
  key: string; // equal for equal types
}

interface BoolType extends Range {
  sort: "bool";
}

interface IntType extends Range {
  sort: "int";
}

export interface EnumType extends Range {
  sort: "enum";
  names: readonly string[];
}

export interface IndexType extends Range {
  sort: "index";
  name: string;
  names: readonly string[];
  owner: IndexType | null;
  block: number; // elements of one owner
}

export interface MaybeType extends Range {
  sort: "maybe";
  of: ModelType;
}

export interface SetType extends Range {
  sort: "set";
  of: ModelType;
}

/** A row of the exported types; `of` and `owner` are positions of earlier rows. */
export type TypeRow =
  | { sort: "bool" }
  | { sort: "int"; lo: number | string; hi: number | string }
  | { sort: "enum"; names: string[] }
  | { sort: "index"; name: string; size: number; names: string[]; owner?: number }
  | { sort: "maybe" | "set"; of: number };

export const Bool: BoolType = { sort: "bool", lo: 0, hi: 1, key: "bool" };

export const int = (lo: Code, hi: Code): IntType => ({ sort: "int", lo, hi, key: `int ${lo} ${hi}` });

export const maybe = (of: ModelType): MaybeType => ({ sort: "maybe", lo: 0, hi: sizeOf(of), of, key: `maybe ${of.key}` });

/** The type of the sets of a type with at most 32 values, one bit for each value. */
export const set = (of: ModelType): SetType => ({ sort: "set", lo: 0, hi: sub(2 ** Number(sizeOf(of)), 1), of, key: `set ${of.key}` });

export const sizeOf = (type: ModelType): Code => add(sub(type.hi, type.lo), 1);

export function typesOf(rows: readonly TypeRow[]): ModelType[] {
  const types: ModelType[] = [];
  for (const row of rows) types.push(typeOf(row, types));
  return types;
}

function typeOf(row: TypeRow, before: readonly ModelType[]): ModelType {
  switch (row.sort) {
    case "bool":
      return Bool;
    case "int":
      return int(codeOf(row.lo), codeOf(row.hi));
    case "enum":
      return { sort: "enum", lo: 0, hi: row.names.length - 1, names: row.names, key: `enum ${JSON.stringify(row.names)}` };
    case "index": {
      const owner = row.owner === undefined ? null : (before[row.owner] as IndexType);
      const block = owner ? Math.floor(row.size / Number(sizeOf(owner))) : row.size;
      return { sort: "index", lo: 0, hi: row.size - 1, name: row.name, names: row.names, owner, block, key: `index ${JSON.stringify(row)} ${owner?.key}` };
    }
    case "maybe":
      return maybe(before[row.of] as ModelType);
    case "set":
      return set(before[row.of] as ModelType);
  }
}

/** The type of the values that a Maybe or a set holds; any other type itself. */
export const held = (type: ModelType): ModelType => (type.sort === "maybe" || type.sort === "set" ? type.of : type);

/** What the language calls the sort of a type: elements of an index are numbers. */
export const sortOf = (type: ModelType): "bool" | "int" | "enum" | "maybe" | "set" => (type.sort === "index" ? "int" : type.sort);

export const inside = (type: ModelType, code: Code): boolean => type.lo <= code && code <= type.hi;

export function* codes(type: ModelType): Generator<number> {
  for (let code = Number(type.lo); code <= Number(type.hi); code++) yield code;
}

/** The value in the words of the model, with the names of an index's elements. */
export function textOf(type: ModelType, code: Code): string {
  switch (type.sort) {
    case "bool":
      return code ? "True" : "False";
    case "int":
      return String(code);
    case "enum":
    case "index":
      return type.names[Number(code)] ?? String(code);
    case "maybe": {
      if (!code) return "None";
      const text = textOf(type.of, elementOf(type, code));
      return type.of.sort === "maybe" ? `some(${text})` : text;
    }
    case "set":
      return `{${members(type, code).map((member) => textOf(type.of, member)).join(", ")}}`;
  }
}

/** The code of the value that a Maybe holds. */
export const elementOf = (type: MaybeType, code: Code): Code => add(sub(code, 1), type.of.lo);

/** The codes of the values that a set has. */
export function members(type: SetType, code: Code): Code[] {
  return [...codes(type.of)].filter((member) => hasBit(code, sub(member, type.of.lo)));
}

/** The name of a type, as in messages. */
export function nameOf(type: ModelType): string {
  switch (type.sort) {
    case "bool":
      return "Bool";
    case "int":
      return `Int(${type.lo}, ${type.hi})`;
    case "enum":
      return `Enum(${type.names.join(", ")})`;
    case "index":
      return `${type.name}(0..${type.hi})`;
    case "maybe":
      return `Maybe(${nameOf(type.of)})`;
    case "set":
      return `SetOf(${nameOf(type.of)})`;
  }
}

/** The values of a type, for messages. */
export function describe(type: ModelType): string {
  switch (type.sort) {
    case "bool":
      return "True, False";
    case "enum":
      return type.names.join(", ");
    case "maybe":
      return type.of.sort === "maybe" ? `None, some of ${describe(type.of)}` : `None, ${describe(type.of)}`;
    case "set":
      return `sets of ${describe(type.of)}`;
    default:
      return (type.sort === "index" && type.names.join(", ")) || `${type.lo}..${type.hi}`;
  }
}
