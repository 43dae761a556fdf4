// A model with a property as Python exports it, and as the interpreter reads it. Positions follow the model's own lists.

import type { Action, Guard, ModelView } from "../document";
import { codeOf, type Code } from "./numbers.ts";
import { Terms, type ModelVariable, type Op, type Term } from "./terms.ts";
import { typesOf, type IndexType, type ModelType, type TypeRow } from "./types.ts";

const VERSION = 1;

export type TermRow = [op: Op, type: number, ...args: (number | string)[]];

export interface ProgramRow {
  version: number;
  types: TypeRow[];
  terms: TermRow[];
  variables: number[][]; // type, then the types of the indices
  constants: [type: number, code: number | string][];
  sequences: number[]; // variables that are the length of a sequence
  actions: ActionRow[];
  property: PropertyRow;
  parts: (number | string)[]; // of acting parts: an index by its type, or the name of one part
  declared: boolean; // whether the model declares its parts
  roles: Record<string, string>; // the part that acts, by the role of an action
}

interface ActionRow {
  parameters: number[];
  guards: number[];
  updates: [target: number, assigned: number, when: number, place: string][];
  by?: number | string;
  to?: number | string;
  from?: number | string;
  says?: { pieces: [literal: string, name: string, form: string][]; terms: Record<string, number> };
}

interface PropertyRow {
  kind: Kind;
  formula: number;
  goal?: number;
  hold?: number;
  once: boolean;
  steps: number;
  observer?: { first: number; next: number; broken: number; counts: number[] };
}

type Kind = "always" | "reachable" | "step" | "deadlock_free" | "leads_to" | "eventually_always" | "until" | "weak_until" | "within" | "lemma";

export interface Update {
  target: Term;
  assigned: Term;
  when: Term;
  place: string;
}

/** An action: what the page shows of it, and its terms. */
export interface ModelAction {
  view: Action;
  name: string;
  parameters: readonly { name: string; type: ModelType }[];
  guards: readonly { view: Guard; condition: Term }[];
  updates: readonly Update[];
  by: Term | string | null;
  to: Term | string | null;
  from: Term | string | null;
  says: { pieces: [literal: string, name: string, form: string][]; terms: ReadonlyMap<string, Term> } | null;
}

export interface Claim {
  kind: Kind;
  formula: Term;
  goal: Term | null;
  hold: Term | null;
  once: boolean;
  steps: number;
  observer: { first: Term; next: Term; broken: number; counts: readonly Term[] } | null;
}

export interface Program {
  terms: Terms;
  variables: readonly ModelVariable[];
  constants: ReadonlyMap<string, Code>;
  constantTypes: ReadonlyMap<string, ModelType>;
  sequences: ReadonlySet<ModelVariable>;
  actions: readonly ModelAction[];
  claim: Claim;
  parts: readonly (IndexType | string)[];
  declared: boolean;
  roles: ReadonlyMap<string, string>;
}

/** The program of a model. Throws an error of one line if its format is another one. */
export function programOf(row: ProgramRow, model: ModelView): Program {
  if (row.version !== VERSION) throw new Error(`the model has format ${String(row.version).slice(0, 40)}, this page reads ${VERSION}: open it with the rocketproof that wrote it`);
  const types = typesOf(row.types);
  const type = (k: number): ModelType => known(types[k], `type ${k}`);
  const variables = row.variables.map(([of, ...over], k): ModelVariable => {
    const { name, first } = known(model.variables[k], `variable ${k}`);
    return { name, type: type(of as number), over: over.map(type), first };
  });
  const made = new Terms();
  const terms: Term[] = [];
  const term = (k: number): Term => known(terms[k], `term ${k}`);
  for (const [op, of, ...args] of row.terms) terms.push(termOf(made, op, type(of), args, variables, term));
  const part = (one: number | string | undefined): Term | string | null => (one === undefined ? null : typeof one === "string" ? one : term(one));
  const actions = row.actions.map((action, k): ModelAction => {
    const view = known(model.actions[k], `action ${k}`);
    return {
      view,
      name: view.name,
      parameters: action.parameters.map((of, n) => ({ name: known(view.parameters[n], `parameter ${n}`).name, type: type(of) })),
      guards: action.guards.map((condition, n) => ({ view: known(view.guards[n], `guard ${n}`), condition: term(condition) })),
      updates: action.updates.map(([target, assigned, when, place]) => ({ target: term(target), assigned: term(assigned), when: term(when), place })),
      by: part(action.by),
      to: part(action.to),
      from: part(action.from),
      says: action.says ? { pieces: action.says.pieces, terms: new Map(Object.entries(action.says.terms).map(([name, k]) => [name, term(k)])) } : null,
    };
  });
  const { goal, hold, observer, ...claim } = row.property;
  return {
    terms: made,
    variables,
    constants: new Map(row.constants.map(([, code], k) => [known(model.constants[k], `constant ${k}`).name, codeOf(code)])),
    constantTypes: new Map(row.constants.map(([of], k) => [known(model.constants[k], `constant ${k}`).name, type(of)])),
    sequences: new Set(row.sequences.map((k) => known(variables[k], `variable ${k}`))),
    actions,
    claim: {
      ...claim,
      formula: term(claim.formula),
      goal: goal === undefined ? null : term(goal),
      hold: hold === undefined ? null : term(hold),
      observer: observer ? { ...observer, first: term(observer.first), next: term(observer.next), counts: observer.counts.map(term) } : null,
    },
    parts: row.parts.map((one) => (typeof one === "string" ? one : (type(one) as IndexType))),
    declared: row.declared,
    roles: new Map(Object.entries(row.roles)),
  };
}

function known<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`this document is inconsistent: its model has no ${what}`);
  return value;
}

function termOf(made: Terms, op: Op, type: ModelType, args: readonly (number | string)[], variables: readonly ModelVariable[], term: (k: number) => Term): Term {
  const [first, ...rest] = args;
  switch (op) {
    case "const":
      return made.const(codeOf(first as number | string), type);
    case "par":
    case "given":
    case "free":
      return made.leaf(op, first as string, type);
    case "ref":
    case "after":
      return made.element(op, known(variables[first as number], `variable ${first}`), rest.map((k) => term(k as number)));
    default:
      return made.of(op, type, ...args.map((k) => term(k as number)));
  }
}
