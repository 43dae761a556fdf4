// Why a formula is false: its false part, and the values of the variables, constants and parameters in it.

import { evaluate, NoValue, type Environment } from "./evaluate.ts";
import { elementName, show, walk, type Term } from "./terms.ts";
import { members, textOf, type ModelType } from "./types.ts";
import type { Code } from "./numbers.ts";

/** The first false conjunct, at any depth of conjunctions; the term itself if it is no conjunction. */
export function falsePart(term: Term, scope: Environment): Term {
  let part = term;
  while (part.op === "and") {
    const [left, right] = part.args as [Term, Term];
    part = evaluate(left, scope) ? right : left;
  }
  return part;
}

/** The leaves of a term with their indices filled in, each with its value. Parameters that are an index only are left out. */
export function valuesOf(term: Term, scope: Environment): [string, string][] {
  const values = new Map<string, string>();
  const indices = new Set([...walk(term)].flatMap((one) => (one.op === "ref" || one.op === "after" ? one.args : [])));
  for (const leaf of walk(term)) {
    if (!["ref", "after", "par", "given", "free"].includes(leaf.op) || (leaf.op === "par" && indices.has(leaf))) continue;
    try {
      const value = valueText(leaf.type, evaluate(leaf, scope));
      values.set(filled(leaf, scope), value);
    } catch (error) {
      if (!(error instanceof NoValue)) throw error;
      values.set(show(leaf), `no value (${error.message})`);
    }
  }
  return [...values];
}

function filled(leaf: Term, scope: Environment): string {
  if (!leaf.variable) return show(leaf);
  const { name, over } = leaf.variable;
  const at = over.map((axis, k) => valueText(axis, evaluate(leaf.args[k] as Term, scope)));
  return elementName(name, at) + (leaf.op === "after" ? "'" : "");
}

/** The text of a value in an explanation: sets of names that no index gives are sorted, as in Python. */
function valueText(type: ModelType, code: Code): string {
  if (type.sort !== "set" || type.of.sort !== "enum") return textOf(type, code);
  const names = members(type, code).map((member) => textOf(type.of, member));
  return `{${names.sort((a, b) => (a < b ? -1 : 1)).join(", ")}}`;
}

