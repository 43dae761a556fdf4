// A model as the page uses it: what can happen in a state, the truth of the property, the value of an expression.

import { stateAfter } from "../branches.ts";
import type { Choice, TraceDocument, Truth } from "../document";
import { choiceOf, optionsOf, type Options } from "./choices.ts";
import type { State } from "./evaluate.ts";
import { evaluated, type Evaluated } from "./expressions.ts";
import { attempt, attempts, environment } from "./interpreter.ts";
import { programOf, type ModelAction, type Program } from "./program.ts";
import { Reader } from "./read.ts";
import { lastWord, truthOf } from "./truth.ts";
import { inside } from "./types.ts";

const KEPT = 50; // states whose options are kept

export class Model {
  private reader: Reader | null = null; // made for the first expression
  private readonly known = new Map<string, Options>();
  private readonly program: Program;

  private constructor(program: Program) {
    this.program = program;
  }

  /** The model of a trace, or the reason why the page cannot take its steps. */
  static of({ model }: TraceDocument): Model | string {
    if ("missing" in model.program) return `This page cannot take other steps: ${model.program.missing}`;
    return new Model(programOf(model.program, model));
  }

  /** What can happen in a state, and what cannot and why. */
  options(state: State): Options {
    const key = state.join();
    let options = this.known.get(key);
    if (!options) {
      if (this.known.size >= KEPT) this.known.clear();
      this.known.set(key, (options = optionsOf(this.program, state)));
    }
    return options;
  }

  /** One action instance, null if there is none or a guard refuses it. */
  choice(state: State, name: string, args: readonly number[]): Choice | null {
    const action = this.action(name);
    if (!action || args.length !== action.parameters.length) return null;
    if (!action.parameters.every(({ type }, k) => inside(type, args[k] as number))) return null;
    const one = attempt(this.program, environment(this.program, state), action, args);
    return one.refused ? null : choiceOf(this.program, one);
  }

  /** The first action instance that leads to a state, null if none does. */
  leading(state: State, to: State): Choice | null {
    const wanted = to.join();
    for (const one of attempts(this.program, state)) if (one.after?.join() === wanted) return choiceOf(this.program, one);
    return null;
  }

  /** The truth of the property after a choice; `truths` are those before it. */
  truthAfter(state: State, choice: Choice, truths: readonly Truth[]): Truth {
    const action = this.action(choice.action);
    return truthOf(this.program, stateAfter(state, choice), action ? { state, action, args: choice.args, word: lastWord(truths) } : null);
  }

  /** An expression's values along a path. Throws a ReadingError if it has none. */
  evaluate(expression: string, states: readonly State[]): Evaluated {
    this.reader ??= new Reader(this.program);
    try {
      return evaluated(this.program, this.reader.read(expression), states);
    } catch (error) {
      if (error instanceof RangeError) throw new Error("the expression is nested too deeply; write a shorter one"); // JavaScript's stack is full
      throw error;
    }
  }

  private action(name: string): ModelAction | undefined {
    return this.program.actions.find((one) => one.name === name);
  }
}

export type { Options };
