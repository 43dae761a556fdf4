// Terms of a model: the operations of the language, each applied to terms. Equal terms of a model are one object.

import { split } from "../tree.ts";
import type { Code } from "./numbers.ts";
import { sizeOf, textOf, type IndexType, type ModelType } from "./types.ts";

export type Op =
  | "const"
  | "ref"
  | "after"
  | "par"
  | "given"
  | "free"
  | "add"
  | "sub"
  | "mul"
  | "rem"
  | "wrap32"
  | "bitand"
  | "bitor"
  | "bitandnot"
  | "has"
  | "single"
  | "some"
  | "get"
  | "owner"
  | "lt"
  | "le"
  | "eq"
  | "and"
  | "or"
  | "not"
  | "ite";

/** A variable or an array of them; `first` is the slot of its first element. */
export interface ModelVariable {
  name: string;
  type: ModelType;
  over: readonly ModelType[];
  first: number;
}

export interface Term {
  op: Op;
  type: ModelType;
  args: readonly Term[]; // its subterms; of `ref` and `after` the indices
  code: Code; // of `const`
  name: string; // of `par`, `given` and `free`
  variable: ModelVariable | null; // of `ref` and `after`
  depth: number; // 1 for a leaf
  ofAction: boolean; // whether it depends on the parameters of an action or on unknowns
}

/** Makes terms; equal ones once. */
export class Terms {
  private readonly known = new Map<string, Term>();
  private readonly numbers = new Map<Term, number>();

  const(code: Code, type: ModelType): Term {
    return this.made("const", type, [], code);
  }

  leaf(op: "par" | "given" | "free", name: string, type: ModelType): Term {
    return this.made(op, type, [], 0, name);
  }

  element(op: "ref" | "after", variable: ModelVariable, at: readonly Term[]): Term {
    return this.made(op, variable.type, at, 0, "", variable);
  }

  of(op: Op, type: ModelType, ...args: Term[]): Term {
    return this.made(op, type, args);
  }

  private made(op: Op, type: ModelType, args: readonly Term[], code: Code = 0, name = "", variable: ModelVariable | null = null): Term {
    const key = [op, type.key, code, name, variable?.first ?? "", ...args.map((arg) => this.numbers.get(arg))].join("\n");
    let term = this.known.get(key);
    if (!term) {
      const depth = 1 + args.reduce((most, arg) => Math.max(most, arg.depth), 0);
      const ofAction = op === "par" || op === "free" || args.some((arg) => arg.ofAction);
      term = { op, type, args, code, name, variable, depth, ofAction };
      this.known.set(key, term);
      this.numbers.set(term, this.numbers.size);
    }
    return term;
  }
}

/** Every distinct subterm once, children first; terms of at most `deeperThan` levels are left out. */
export function* walk(term: Term, deeperThan = 0): Generator<Term> {
  const seen = new Set<Term>();
  const stack: [Term, boolean][] = [[term, false]];
  for (let top = stack.pop(); top; top = stack.pop()) {
    const [one, ready] = top;
    if (ready) yield one;
    else if (!seen.has(one) && one.depth > deeperThan) {
      seen.add(one);
      stack.push([one, true]);
      for (let k = one.args.length - 1; k >= 0; k--) stack.push([one.args[k] as Term, false]);
    }
  }
}

/** `offset[broker-a, orders, 0]`, or for a table's column `config[broker-a, orders].perm`. */
export function elementName(variable: string, at: readonly string[]): string {
  const [table, column] = split(variable);
  return table + (at.length ? `[${at.join(", ")}]` : "") + (column && `.${column}`);
}

/** The slot of an element whose indices are in range. */
export function slotAt(variable: ModelVariable, at: readonly number[]): number {
  let offset = 0;
  variable.over.forEach((axis, k) => {
    offset = offset * Number(sizeOf(axis)) + (at[k] as number) - Number(axis.lo);
  });
  return variable.first + offset;
}

/** The name of an element by its slot. */
export function labelOf(variable: ModelVariable, slot: number): string {
  const at: string[] = [];
  let offset = slot - variable.first;
  for (const axis of [...variable.over].reverse()) {
    const size = Number(sizeOf(axis));
    at.unshift(textOf(axis, Number(axis.lo) + (offset % size)));
    offset = Math.floor(offset / size);
  }
  return elementName(variable.name, at);
}

const INFIX: Partial<Record<Op, string>> = {
  add: "+",
  sub: "-",
  mul: "*",
  rem: "%",
  lt: "<",
  le: "<=",
  eq: "==",
  bitandnot: "&~",
  and: "&",
  or: "|",
  bitand: "&",
  bitor: "|",
};

/** The readable text of a term, which can be read as an expression again. */
export function show(term: Term): string {
  let text = "";
  const stack: (string | Term)[] = [term];
  for (let part = stack.pop(); part !== undefined; part = stack.pop()) {
    if (typeof part === "string") text += part;
    else stack.push(...pieces(part).reverse());
  }
  return text;
}

function pieces(term: Term): (string | Term)[] {
  const [x, y, z] = term.args as [Term, Term, Term];
  const sign = INFIX[term.op];
  switch (term.op) {
    case "const":
      return [textOf(term.type, term.code)];
    case "ref":
    case "after": {
      const [table, column] = split(term.variable?.name ?? "");
      return [table, ...(term.args.length ? ["[", ...listed(term.args), "]"] : []), column && `.${column}`, term.op === "after" ? "'" : ""];
    }
    case "par":
    case "given":
    case "free":
      return [term.name];
    case "eq": {
      const [maybe] = x.args;
      if (x.op === "get" && maybe?.type.sort === "maybe" && maybe.type.of.sort === "bool") return ["(", x, " == True)"];
      break;
    }
    case "not":
      return x.op === "eq" ? ["(", x.args[0] as Term, " != ", x.args[1] as Term, ")"] : ["~", x];
    case "ite":
      return ["(", y, " if ", x, " else ", z, ")"];
    case "has":
      return ["(", y, " in ", x, ")"];
    case "get":
      return term.type.sort === "maybe" ? [x, ".get"] : [x];
    case "some":
      return x.type.sort === "maybe" ? ["some(", x, ")"] : [x];
    case "owner":
      return ["owner(", x, ")"];
    case "single":
      if (x.type.sort !== "index") return ["{", x, "}"];
  }
  return sign ? ["(", x, ` ${sign} `, y, ")"] : [`${term.op}(`, ...listed(term.args), ")"];
}

function listed(terms: readonly Term[]): (string | Term)[] {
  return terms.flatMap((term, k) => (k ? [", ", term] : [term]));
}

/** The name of an element of an index as an actor. */
export function partName(of: IndexType, code: number): string {
  return of.names.length ? (of.names[code] ?? String(code)) : `${of.name} ${code}`;
}
