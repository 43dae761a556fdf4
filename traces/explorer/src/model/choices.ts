// What can happen in a state and what cannot: the rows of the panel of actions.

import type { Choice, Refused } from "../document";
import { acting, stepSentence } from "./acting.ts";
import type { State } from "./evaluate.ts";
import { attempts, label, type Attempt } from "./interpreter.ts";
import type { Program } from "./program.ts";
import { falsePart, valuesOf } from "./refusals.ts";
import { show } from "./terms.ts";

export interface Options {
  enabled: Choice[];
  refused: Refused[];
  more: { action: string; guard: string; count: number }[]; // instances that are not listed; guard is "" for enabled ones
}

const ENABLED = 400; // listed instances of an action
const REFUSED = 12; // listed instances of an action that one guard refuses

export function optionsOf(program: Program, state: State): Options {
  const options: Options = { enabled: [], refused: [], more: [] };
  const counts = new Map<string, number>();
  const left = new Map<string, Options["more"][number]>();
  for (const one of attempts(program, state)) {
    const action = one.action.name;
    const guard = one.refused?.view.name ?? "";
    const key = JSON.stringify([action, guard]);
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    if (count > (one.refused ? REFUSED : ENABLED)) left.set(key, { action, guard, count: (left.get(key)?.count ?? 0) + 1 });
    else if (one.refused) options.refused.push(refusal(one, one.refused));
    else options.enabled.push(choiceOf(program, one));
  }
  options.more = [...left.values()];
  return options;
}

/** An enabled action instance with its effect, and what it says of who acts. */
export function choiceOf(program: Program, { action, args, scope, after, error }: Attempt): Choice {
  const who = acting(program, action, args, scope);
  const effect = (after ?? scope.state).flatMap((code, slot): [number, number][] => (code === scope.state[slot] ? [] : [[slot, code]]));
  return { action: action.name, args: [...args], label: label(action, args), sentence: stepSentence(program, action, args, scope, who), effect, error, ...who };
}

function refusal({ action, args, scope, error }: Attempt, { view, condition }: NonNullable<Attempt["refused"]>): Refused {
  const part = error ? condition : falsePart(condition, scope);
  return {
    action: action.name,
    args: [...args],
    label: label(action, args),
    guard: view.name,
    sentence: view.sentence,
    bound: view.bound,
    part: part === condition ? "" : show(part),
    values: valuesOf(part, scope),
    error,
  };
}

