// The steps of a model: which guard refuses an action instance, and where an enabled one leads.

import { Environment, evaluate, NoValue, slotOf, type State, type Values } from "./evaluate.ts";
import type { ModelAction, Program, Update } from "./program.ts";
import { labelOf, show, type ModelVariable, type Term } from "./terms.ts";
import { codes, inside, nameOf, textOf } from "./types.ts";
import type { Code } from "./numbers.ts";

/** An action instance in a state: refused by a guard, or enabled with its effect. `error`: why guard or effect has no value. */
export interface Attempt {
  action: ModelAction;
  args: readonly number[];
  scope: Environment;
  refused: ModelAction["guards"][number] | null;
  after: State | null;
  error: string;
}

export const environment = (program: Program, state: State, after: State | null = null): Environment => new Environment(state, program.constants, after);

/** All instances of all actions in a state, in the order of the model. */
export function* attempts(program: Program, state: State): Generator<Attempt> {
  const shared = environment(program, state);
  for (const action of program.actions) for (const args of instances(action)) yield attempt(program, shared, action, args);
}

/** The parameter tuples of an action, in the order that is part of the language's contract. */
export function* instances(action: ModelAction, from = 0): Generator<number[]> {
  const parameter = action.parameters[from];
  if (!parameter) return yield [];
  for (const code of codes(parameter.type)) for (const rest of instances(action, from + 1)) yield [code, ...rest];
}

export function attempt(program: Program, shared: Environment, action: ModelAction, args: readonly number[]): Attempt {
  const scope = shared.under(argumentsOf(action, args));
  let refused: Attempt["refused"] = null;
  try {
    for (const guard of action.guards) {
      refused = guard;
      if (!evaluate(guard.condition, scope)) return { action, args, scope, refused, after: null, error: "" };
    }
    refused = null;
    return { action, args, scope, refused, after: effect(program, action, args, scope), error: "" };
  } catch (error) {
    if (!(error instanceof NoValue)) throw error;
    return { action, args, scope, refused, after: null, error: error.message };
  }
}

export function argumentsOf(action: ModelAction, args: readonly number[]): Values {
  return new Map(action.parameters.map(({ name }, k) => [name, args[k] as number]));
}

/** `send(p=1, b=0)`, as printed and as typed on the command line. */
export function label(action: ModelAction, args: readonly number[]): string {
  return `${action.name}(${action.parameters.map(({ name, type }, k) => `${name}=${textOf(type, args[k] as number)}`).join(", ")})`;
}

/** The state after an enabled action. Throws NoValue if a value leaves its type, or an element gets two values. */
function effect(program: Program, action: ModelAction, args: readonly number[], scope: Environment): State {
  const after = [...scope.state];
  const written = new Map<number, [Code, Update]>();
  for (const update of action.updates) {
    if (!evaluate(update.when, scope)) continue;
    const code = evaluate(update.assigned, scope);
    const variable = update.target.variable as ModelVariable;
    if (!inside(variable.type, code)) throw new NoValue(unfit(program, variable, code, label(action, args)));
    const slot = slotOf(update.target, scope);
    const earlier = written.get(slot);
    if (earlier && earlier[0] !== code) {
      const writes = `${write(earlier[1], earlier[0])} and ${write(update, code)}`;
      throw new NoValue(`${labelOf(variable, slot)} gets two values by ${label(action, args)}: ${writes}`);
    }
    if (!earlier) written.set(slot, [code, update]);
    after[slot] = code as number;
  }
  return after;
}

function unfit(program: Program, variable: ModelVariable, code: Code, what: string): string {
  if (!program.sequences.has(variable)) return `${variable.name} becomes ${code} by ${what}, outside ${nameOf(variable.type)}`;
  const name = variable.name.slice(0, -".length".length);
  if (code < 0) return `${name} loses an item by ${what} where it has none; guard it with ~${name}.is_empty`;
  return `${name} gets ${code} items by ${what} and has room for ${variable.type.hi}; guard its length`;
}

function write(update: Update, code: Code): string {
  const when = update.when.op === "const" ? "" : ` when ${show(update.when)}`;
  const value = textOf((update.target.variable as ModelVariable).type, code);
  return `${value} by ${show(update.target)} := ${show(update.assigned)}${when} (${update.place})`;
}

/** The enabled action instances of a state that have an effect. */
export function* successors(program: Program, state: State): Generator<Attempt> {
  for (const one of attempts(program, state)) {
    if (one.error) throw new NoValue(one.error);
    if (!one.refused) yield one;
  }
}

export function holds(program: Program, formula: Term, state: State, after: State | null = null): boolean {
  return Boolean(evaluate(formula, environment(program, state, after)));
}
