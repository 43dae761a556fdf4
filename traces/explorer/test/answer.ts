// Answers questions about models, one line of JSON for each on the standard input: what the page would show. Python's tests compare it
// with the interpreter. Node runs this file as it is, without a build.

import { createInterface } from "node:readline";
import type { TraceDocument, Truth } from "../src/document";
import { optionsOf } from "../src/model/choices.ts";
import { evaluate, NoValue, type Environment, type State } from "../src/model/evaluate.ts";
import { attempts, environment } from "../src/model/interpreter.ts";
import { programOf, type Program, type ProgramRow } from "../src/model/program.ts";
import { evaluated } from "../src/model/expressions.ts";
import { ReadingError } from "../src/model/mistakes.ts";
import { Reader } from "../src/model/read.ts";
import { lastWord, truthOf } from "../src/model/truth.ts";
import type { Code } from "../src/model/numbers.ts";
import type { Term } from "../src/model/terms.ts";

interface Question {
  document: TraceDocument;
  states: number[][];
  rows: boolean; // also the rows of the panel of actions
  expressions: string[]; // each has a value in each state; the state after a step is the next one of the list
}

function answer({ document, states, rows, expressions }: Question): unknown {
  const program = programOf(document.model.program as ProgramRow, document.model);
  const reader = new Reader(program);
  return {
    states: states.map((state) => inState(program, state, rows)),
    truths: truthsOf(program, document),
    expressions: expressions.map((text) => valuesAlong(program, reader, text, states)),
  };
}

/** An expression's type and its values as text, null without a value; or the error. */
function valuesAlong(program: Program, reader: Reader, text: string, states: number[][]): unknown {
  try {
    return evaluated(program, reader.read(text), states);
  } catch (error) {
    if (error instanceof ReadingError) return { error: error.message };
    throw error;
  }
}

const written = (code: Code): number | string => (typeof code === "bigint" ? String(code) : code);

/** The value, or in a list the error of a term without one. */
function valueOf(term: Term, scope: Environment): number | string | [string] {
  try {
    return written(evaluate(term, scope));
  } catch (error) {
    if (error instanceof NoValue) return [error.message];
    throw error;
  }
}

function inState(program: Program, state: State, rows: boolean): unknown {
  const instances = [...attempts(program, state)].map(({ action, scope, refused, after, error }) => ({
    guards: action.guards.map(({ condition }) => valueOf(condition, scope)),
    refused: refused ? refused.view.name : null,
    after,
    error,
  }));
  const { formula, hold, goal } = program.claim;
  const formulas = [formula, hold, goal].filter((term) => term !== null).map((term) => valueOf(term, environment(program, state)));
  return { instances, formulas, ...(rows ? optionsOf(program, state) : {}) };
}

function truthsOf(program: Program, document: TraceDocument): Truth[] {
  const truths: Truth[] = [];
  document.states.forEach((state, k) => {
    const step = document.steps[k - 1];
    const action = program.actions.find(({ name }) => name === step?.action);
    const before = step && action ? { state: document.states[k - 1] as number[], action, args: step.args, word: lastWord(truths) } : null;
    truths.push(truthOf(program, state, before));
  });
  return truths;
}

for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(answer(JSON.parse(line) as Question)));
