// The meaning of terms, exactly that of Python's interpreter: the same values, and the same words where there is none.

import * as numbers from "./numbers.ts";
import type { Code } from "./numbers.ts";
import { elementName, show, slotAt, walk, type Term } from "./terms.ts";
import { held, inside, nameOf } from "./types.ts";

/** A term has no value in a state: an index out of range, a remainder by zero, a value outside its type. */
export class NoValue extends Error {}

export type State = readonly number[];
export type Values = ReadonlyMap<string, Code>;

/** The inputs of a term: state, the action's arguments, constants, the state after; values that are known are kept. */
export class Environment {
  readonly known = new Map<Term, Code | NoValue>();
  readonly state: State;
  readonly constants: Values;
  readonly after: State | null;
  readonly args: Values;
  readonly shared: Environment | null;

  /** `args` are the arguments of an action or unknowns. What does not depend on them is kept in `shared`. */
  constructor(state: State, constants: Values, after: State | null = null, args: Values = new Map(), shared: Environment | null = null) {
    this.state = state;
    this.constants = constants;
    this.after = after;
    this.args = args;
    this.shared = shared;
  }

  /** The same state with the arguments of an action. */
  under(args: Values): Environment {
    return new Environment(this.state, this.constants, this.after, args, this);
  }
}

const DEEPEST = 500; // levels of a term through which `evaluate` recurses

/** The code of a term. Throws NoValue if it has none. */
export function evaluate(term: Term, scope: Environment): Code {
  switch (term.op) {
    case "const":
      return term.code;
    case "par":
    case "free":
      return scope.args.get(term.name) as Code;
    case "given":
      return scope.constants.get(term.name) as Code;
  }
  if (scope.shared && !term.ofAction) return evaluate(term, scope.shared);
  let value = scope.known.get(term);
  if (value === undefined) {
    if (term.depth > DEEPEST) partsFirst(term, scope);
    scope.known.set(term, (value = operation(term, scope)));
  } else if (value instanceof NoValue) throw value;
  return value;
}

/** Evaluate parts of a deep term first, which bounds the recursion. What has no value throws where it is needed. */
function partsFirst(term: Term, scope: Environment): void {
  for (const part of walk(term, Math.min(DEEPEST, term.depth - 1))) {
    if (part === term || scope.known.has(part)) continue;
    try {
      scope.known.set(part, operation(part, scope));
    } catch (error) {
      if (!(error instanceof NoValue)) throw error;
      scope.known.set(part, error);
    }
  }
}

const truth = (yes: boolean): Code => (yes ? 1 : 0);

function operation(term: Term, scope: Environment): Code {
  const [a, b, c] = term.args as [Term, Term, Term];
  switch (term.op) {
    case "ref":
      return scope.state[slotOf(term, scope)] as number;
    case "after":
      if (!scope.after) throw new NoValue(`${show(term)} asked outside a step`);
      return scope.after[slotOf(term, scope)] as number;
    case "and":
      return evaluate(a, scope) && evaluate(b, scope);
    case "or":
      return evaluate(a, scope) || evaluate(b, scope);
    case "ite":
      return evaluate(evaluate(a, scope) ? b : c, scope);
  }
  const x = evaluate(a, scope);
  switch (term.op) {
    case "not":
      return numbers.sub(1, x);
    case "single":
      return numbers.bit(numbers.sub(x, held(term.type).lo));
    case "some":
      return numbers.add(numbers.sub(x, held(term.type).lo), 1);
    case "wrap32":
      return numbers.wrap32(x);
    case "get":
      if (x === 0) throw new NoValue(nothing(a));
      return numbers.add(numbers.sub(x, 1), held(a.type).lo);
    case "has":
      return truth(numbers.hasBit(x, numbers.sub(evaluate(b, scope), held(a.type).lo)));
  }
  const y = evaluate(b, scope);
  switch (term.op) {
    case "add":
      return numbers.add(x, y);
    case "sub":
      return numbers.sub(x, y);
    case "mul":
      return numbers.mul(x, y);
    case "rem":
      if (y === 0) throw new NoValue("remainder by zero");
      return numbers.rem(x, y);
    case "owner":
      return numbers.quotient(x, y);
    case "bitand":
      return numbers.bitand(x, y);
    case "bitor":
      return numbers.bitor(x, y);
    case "bitandnot":
      return numbers.bitandnot(x, y);
    case "lt":
      return truth(x < y);
    case "le":
      return truth(x <= y);
    case "eq":
      return truth(x === y);
  }
  throw new Error(`the operation ${term.op} is not known`);
}

/** What is wrong with `get` of a Maybe that is None. */
function nothing(maybe: Term): string {
  const [test, some, none] = maybe.args;
  if (maybe.op === "const") return `a number is no value of ${nameOf(held(maybe.type))} where it is put in a ${nameOf(maybe.type)}; guard it`;
  if (maybe.op === "ite" && some?.op === "some" && none?.op === "const") return `an item is asked where there is none; guard it with ${show(test as Term)}`;
  return `${show(maybe)} is None where its element is asked`;
}

/** The slot of a reference. Throws NoValue if an index is out of range. */
export function slotOf(ref: Term, scope: Environment): number {
  const variable = ref.variable;
  if (!variable) throw new Error(`${ref.op} reads no variable`);
  if (!ref.args.length) return variable.first;
  const at = ref.args.map((index) => evaluate(index, scope));
  at.forEach((k, number) => {
    const axis = variable.over[number];
    if (axis && !inside(axis, k)) throw new NoValue(beyond(ref, number).replace("index ?", () => `index ${k}`));
  });
  return slotAt(variable, at as number[]);
}

/** What is wrong with an index out of range, or with an item that a sequence does not have. */
function beyond(ref: Term, number: number): string {
  const index = ref.args[number] as Term;
  const name = ref.variable?.name ?? "";
  const test = index.args[0];
  if (index.op === "ite" && test?.op === "lt" && test.args[0] === index.args[1]) {
    const length = test.args[1];
    const long = length?.op === "ref" ? (length.variable?.name ?? "") : "";
    const base = long.slice(0, Math.max(0, long.lastIndexOf(".length")));
    if (base && (name === base || name.startsWith(`${base}.`))) {
      const whole = elementName(base, ref.args.slice(0, number).map(show));
      return `${whole}[${show(index.args[1] as Term)}] is asked where ${whole} has no such item; guard it with ${show(test)}`;
    }
  }
  const axis = ref.variable?.over[number];
  return `${show(ref)}: index ? is outside ${axis ? nameOf(axis) : "its range"}`;
}
