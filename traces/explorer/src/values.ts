// Codes as text, by the type of what they stand for; elements of an index by the names that the model gives.

import type { ModelView, Type, Variable } from "./document";

export type Names = ReadonlyMap<string, readonly string[]>;

export function namesOf(model: ModelView): Names {
  return new Map(model.indices.map((index) => [index.name, index.elements]));
}

function element(names: Names, index: string, k: number): string {
  return names.get(index)?.[k] ?? String(k);
}

export function text(type: Type, code: number, names: Names): string {
  switch (type.sort) {
    case "bool":
      return code ? "True" : "False";
    case "int":
      return String(code);
    case "enum":
      return type.names[code] ?? String(code);
    case "index":
      return element(names, type.of, code);
    case "maybe":
      return code ? element(names, type.of, code - 1) : "None";
    case "set":
      return `{${bits(code)
        .map((k) => element(names, type.of, k))
        .join(", ")}}`;
  }
}

/** Positions of the bits that are set; by division, since a set may have more than 31 elements. */
function bits(code: number): number[] {
  const found = [];
  for (let rest = code, k = 0; rest >= 1; rest = Math.floor(rest / 2), k++) if (rest % 2) found.push(k);
  return found;
}

/** The variable that a slot belongs to. */
export function variableOf(model: ModelView, slot: number): Variable | undefined {
  return model.variables[model.slots[slot]?.variable ?? -1];
}

/** The text of one slot's value in a state. */
export function slotText(model: ModelView, names: Names, slot: number, code: number): string {
  const variable = variableOf(model, slot);
  return variable ? text(variable.type, code, names) : String(code);
}

/** "1 step", "3,840 steps". */
export function counted(n: number, noun: string): string {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}
