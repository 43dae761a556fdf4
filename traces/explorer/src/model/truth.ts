// The truth of a property in a state of a path: a word, and the part of the formula that decides it, with its values.

import type { Truth } from "../document";
import { argumentsOf, environment, holds, successors } from "./interpreter.ts";
import { Environment, evaluate, NoValue, type State } from "./evaluate.ts";
import type { ModelAction, Program } from "./program.ts";
import { falsePart, valuesOf } from "./refusals.ts";
import { show, type Term } from "./terms.ts";

const WAITING = "waiting";
const NO_VALUE = "no value";
const NOT_YET = "not yet";

/** The step that leads to a state. */
interface Before {
  state: State;
  action: ModelAction;
  args: readonly number[];
  word: string; // the truth before it
}

const waits = (word: string): boolean => word.startsWith(WAITING);

/** The word from which the truth after these states goes on: the last one that has a value. */
export function lastWord(truths: readonly Truth[]): string {
  return truths.findLast(({ word }) => word !== NO_VALUE)?.word ?? "";
}

/** The truth in a state; `before` is the step that leads there, null for the first state of a path. */
export function truthOf(program: Program, state: State, before: Before | null): Truth {
  const { claim } = program;
  let word: string;
  try {
    word = wordOf(program, state, before);
  } catch (error) {
    if (!(error instanceof NoValue)) throw error;
    word = NO_VALUE;
  }
  const bad = ["fails", "stuck", NO_VALUE].includes(word);
  if (!word || word === "goes on") return { word, bad, part: "", values: [] };
  let term = claim.formula;
  if (claim.goal && (waits(word) || word === "reached" || word === "fails")) term = word === "fails" && claim.hold ? claim.hold : claim.goal;
  const scope = claim.kind === "step" && before ? environment(program, before.state, state) : environment(program, state);
  const part = ["holds", "reached", "may end", NO_VALUE].includes(word) ? term : deciding(term, scope);
  return { word, bad, part: part === term ? "" : show(part), values: valuesOf(part, scope) };
}

function wordOf(program: Program, state: State, before: Before | null): string {
  const { claim } = program;
  if (claim.kind === "lemma") return "";
  if (claim.kind === "step") return !before ? "" : holds(program, claim.formula, before.state, state) ? "holds" : "fails";
  if (claim.kind === "deadlock_free") {
    if (!successors(program, state).next().done) return "goes on";
    return holds(program, claim.formula, state) ? "may end" : "stuck";
  }
  if (claim.observer) return observed(program, state, before);
  const now = holds(program, claim.formula, state);
  if (claim.kind === "always") return now ? "holds" : "fails";
  if (claim.kind === "eventually_always") return now ? "holds" : NOT_YET;
  if (!claim.goal) return now ? "reached" : NOT_YET;
  const required = now || (before !== null && waits(before.word));
  if (holds(program, claim.goal, state)) return required ? "reached" : "not asked";
  return required ? WAITING : "not asked";
}

/** The word of a property with an observer, from the observer's number in the state. */
function observed(program: Program, state: State, before: Before | null): string {
  const { claim } = program;
  const { observer } = claim;
  if (!observer) return "";
  let old = 0;
  let number;
  if (!before) number = evaluate(observer.first, environment(program, state));
  else {
    const counts = observer.counts[program.actions.indexOf(before.action)] as Term;
    const counted = evaluate(counts, environment(program, before.state).under(argumentsOf(before.action, before.args)));
    const done = waits(before.word) ? Number.parseInt(before.word.slice(WAITING.length + 1) || "0", 10) : -1;
    old = before.word === "fails" ? observer.broken : done + 1;
    const unknowns = new Map([
      ["before", old],
      ["counts", counted],
    ]);
    number = evaluate(observer.next, new Environment(state, program.constants, null, unknowns));
  }
  if (number === observer.broken) return "fails";
  if (number) return claim.kind !== "within" ? WAITING : `${WAITING} ${Number(number) - 1}/${claim.steps}`;
  const required = old > 0 || (claim.once ? !before : holds(program, claim.formula, state));
  return required ? "reached" : "not asked";
}

/** The part that makes a term false; for an implication whose premise holds, the false conjunct of its conclusion. */
function deciding(term: Term, scope: Environment): Term {
  let part = falsePart(term, scope);
  for (;;) {
    const [left, right] = part.args as [Term, Term];
    if (part.op !== "or" || (left.op === "not") === (right.op === "not")) return part;
    part = falsePart(left.op === "not" ? right : left, scope);
  }
}
