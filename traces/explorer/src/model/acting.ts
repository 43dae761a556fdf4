// Who acts in a step, and the sentence that says what it does: "broker-a creates orders with 4 queues".

import type { Actors } from "../document";
import { evaluate, NoValue, type Environment } from "./evaluate.ts";
import { LETTER, literal } from "./patterns.ts";
import type { ModelAction, Program } from "./program.ts";
import { partName, type Term } from "./terms.ts";
import { codes, elementOf, textOf, type IndexType, type ModelType } from "./types.ts";
import type { Code } from "./numbers.ts";

const SYSTEM = "system";

export function acting(program: Program, action: ModelAction, args: readonly number[], scope: Environment): Actors {
  const by = part(action.by, scope) || byDefault(program, action, args);
  if (action.by === null && action.to === null && action.from === null && !program.declared) return { by, to: other(program, action, args, by), from: null };
  const [to, from] = [part(action.to, scope), part(action.from, scope)].map((one) => (one === by ? null : one)) as [string | null, string | null];
  return { by, to, from };
}

function part(term: Term | string | null, scope: Environment): string | null {
  if (term === null || typeof term === "string") return term;
  try {
    return named(term.type, evaluate(term, scope));
  } catch (error) {
    if (error instanceof NoValue) return null; // for example the broker of a request that does not exist
    throw error;
  }
}

function named(type: ModelType, code: Code): string | null {
  if (type.sort === "maybe") return code ? named(type.of, elementOf(type, code)) : null;
  return type.sort === "index" ? partName(type, Number(code)) : null;
}

function byDefault(program: Program, action: ModelAction, args: readonly number[]): string {
  const k = action.parameters.findIndex(({ type }) => type.sort === "index" && (!program.declared || isKind(program, type)));
  const first = action.parameters[k];
  if (first) return partName(first.type as IndexType, args[k] as number);
  const { role } = action.view;
  return program.roles.get(role) ?? (role || SYSTEM);
}

/** Another part among the parameters, in a model that does not declare the involved parts. */
function other(program: Program, action: ModelAction, args: readonly number[], by: string): string | null {
  const parts = action.parameters.map(({ type }, k) => owning(program, type, args[k] as number));
  return parts.find((one) => one && one !== by) ?? null;
}

/** The part that an element is or belongs to, "" if there is none. */
function owning(program: Program, type: ModelType, code: number): string {
  if (type.sort !== "index") return "";
  if (isKind(program, type)) return partName(type, code);
  return type.owner ? owning(program, type.owner, Math.floor(code / type.block)) : "";
}

const isKind = (program: Program, type: IndexType): boolean => program.parts.some((kind) => typeof kind !== "string" && kind.key === type.key);

/** What an action instance does in a state, without a full stop. */
export function stepSentence(program: Program, action: ModelAction, args: readonly number[], scope: Environment, who: Actors): string {
  if (action.says) {
    try {
      return filled(action, action.says, args, scope, who);
    } catch (error) {
      if (!(error instanceof NoValue)) throw error; // a term has no value here: the general sentence does
    }
  }
  return general(program, action, args, who);
}

function filled(action: ModelAction, { pieces, terms }: NonNullable<ModelAction["says"]>, args: readonly number[], scope: Environment, who: Actors): string {
  const roles: Record<string, string> = { by: who.by, to: who.to ?? "", from: who.from ?? "" };
  return pieces
    .map(([literal, name, form]) => {
      const term = terms.get(name);
      const k = action.parameters.findIndex((parameter) => parameter.name === name);
      const type = term?.type ?? action.parameters[k]?.type;
      if (!type) return literal + (Object.hasOwn(roles, name) ? roles[name] : "");
      const code = term ? evaluate(term, scope) : (args[k] as number);
      return literal + inForm(textOf(type, code), form, type.sort === "bool" ? Boolean(code) : null);
    })
    .join("");
}

/** A value's text in a template's form; `truth` is the value of a Bool. */
function inForm(text: string, form: string, truth: boolean | null): string {
  if (!form) return text;
  const bar = form.indexOf("|");
  const [one, many] = bar < 0 ? [form, ""] : [form.slice(0, bar), form.slice(bar + 1)];
  if (truth !== null) return truth ? one : many;
  return `${text} ${text === "1" ? one : many || `${one}s`}`;
}

const END = new RegExp(`(?<=${LETTER}|\\))\\.(?: |$)`, "u");

/** The action's first sentence with elements in the place of nouns, and the actor in front unless it is named. */
function general(program: Program, action: ModelAction, args: readonly number[], who: Actors): string {
  let text = (action.view.sentence.split(END)[0] ?? "").replace(/\.+$/, "");
  for (const [noun, name] of new Map(elements(program, action, args, who))) {
    const after = new RegExp(`${LETTER}$`, "u").test(noun) ? `(?!${LETTER})` : `(?=${LETTER})`;
    text = text.replace(new RegExp(`(?<!${LETTER})(?:the|an?) ${literal(noun)}${after}`, "iu"), () => name);
  }
  const first = text.split(" ")[0] ?? "";
  if (first.slice(1) === first.slice(1).toLowerCase()) text = text.slice(0, 1).toLowerCase() + text.slice(1);
  return who.by === SYSTEM || text.toLowerCase().includes(who.by.toLowerCase()) ? text : `${who.by}: ${text}`;
}

/** Nouns with the elements that they stand for: parameters first, the acting part last, so that it wins. */
function* elements(program: Program, action: ModelAction, args: readonly number[], who: Actors): Generator<[string, string]> {
  for (const [k, { type }] of [...action.parameters.entries()].reverse()) {
    if (type.sort !== "index") continue;
    const noun = type.name.toLowerCase();
    const name = partName(type, args[k] as number);
    yield [noun, /^[0-9]+$/.test(name) ? `${noun} ${name}` : type.names.length ? name : name.toLowerCase()];
  }
  const indices = program.parts.filter((kind) => typeof kind !== "string");
  for (const one of [who.from, who.to, who.by]) {
    for (const of of indices) {
      if (one !== null && [...codes(of)].some((code) => partName(of, code) === one)) yield [of.name.toLowerCase(), one];
    }
  }
}
