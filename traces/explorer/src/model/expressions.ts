// The values of an expression along a path of states.

import { evaluate, NoValue, type State } from "./evaluate.ts";
import { environment } from "./interpreter.ts";
import type { Program } from "./program.ts";
import { ofStep } from "./read.ts";
import type { Term } from "./terms.ts";
import { nameOf, textOf } from "./types.ts";

export interface Evaluated {
  type: string;
  values: (string | null)[]; // null without a value
  ofStep: boolean; // it speaks of the step that follows, so it has no value in a state alone
}

export function evaluated(program: Program, term: Term, states: readonly State[]): Evaluated {
  const stepping = ofStep(term);
  const values = states.map((state, k) => {
    const after = stepping ? (states[k + 1] ?? null) : null;
    try {
      return textOf(term.type, evaluate(term, environment(program, state, after)));
    } catch (error) {
      if (error instanceof NoValue) return null;
      throw error;
    }
  });
  return { type: nameOf(term.type), values, ofStep: stepping };
}
