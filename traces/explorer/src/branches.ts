// Paths that somebody walks: the document's trace, and branches that leave it ("what if"). Values only; the model's steps are taken elsewhere.

import type { Choice, Step, TraceDocument, Truth } from "./document";

export interface Path {
  name: string; // "" is the document's trace
  kept: boolean;
  fork: number; // the last state in common with the document's trace
  states: number[][];
  steps: Step[];
  truths: Truth[];
  loop: number | null;
}

/** What can be undone: the paths, which one is walked, and where. */
export interface Walk {
  paths: Path[];
  current: number;
  at: number;
}

export function walkOf(trace: TraceDocument): Walk {
  const { states, steps, truths, loop } = trace;
  return { paths: [{ name: "", kept: true, fork: states.length - 1, states, steps, truths, loop }], current: 0, at: 0 };
}

export function currentPath(walk: Walk): Path {
  return walk.paths[walk.current] ?? (walk.paths[0] as Path);
}

export function stateAfter(state: readonly number[], choice: Choice): number[] {
  const after = [...state];
  for (const [slot, code] of choice.effect) after[slot] = code;
  return after;
}

export function sameMove(step: Step | undefined, choice: { action: string; args: number[] }): boolean {
  return step?.action === choice.action && step.args.length === choice.args.length && step.args.every((a, k) => a === choice.args[k]);
}

/**
 * Go on from the current state with a choice: along the path if that is its next step; else on a branch, which is the current one
 * if that is not kept, so that walking freely makes one branch.
 */
export function follow(walk: Walk, choice: Choice, truth: Truth): Walk {
  const path = currentPath(walk);
  if (sameMove(path.steps[walk.at], choice)) return { ...walk, at: walk.at + 1 };
  const state = path.states[walk.at] ?? [];
  const cut = walk.at + 1;
  const { action, args, label, sentence, by, to, from } = choice;
  const changed = choice.effect.map(([slot]) => slot).sort((a, b) => a - b);
  const branch: Path = {
    name: path.kept ? freshName(walk) : path.name,
    kept: false,
    fork: walk.current === 0 ? walk.at : Math.min(path.fork, walk.at),
    states: [...path.states.slice(0, cut), stateAfter(state, choice)],
    steps: [...path.steps.slice(0, walk.at), { action, args, label, sentence, changed, by, to, from }],
    truths: [...path.truths.slice(0, cut), truth],
    loop: null,
  };
  const others = walk.paths.filter((other) => other.kept);
  return { paths: [...others, branch], current: others.length, at: cut };
}

export function freshName(walk: Walk): string {
  const taken = new Set(walk.paths.filter((path) => path.kept).map((path) => path.name));
  for (let n = 1; ; n++) if (!taken.has(`what if ${n}`)) return `what if ${n}`;
}

/** Keep the current branch under a name; a name that another one has gets a number. */
export function keep(walk: Walk, name: string): Walk {
  const wanted = name.trim() || currentPath(walk).name;
  const taken = new Set(walk.paths.filter((_, k) => k !== walk.current).map((path) => path.name));
  let free = wanted;
  for (let n = 2; taken.has(free); n++) free = `${wanted} (${n})`;
  return { ...walk, paths: walk.paths.map((path, k) => (k === walk.current && k ? { ...path, name: free, kept: true } : path)) };
}

/** Leave a branch out; who walked it stands on the document's trace where the branch left it. */
export function discard(walk: Walk, which: number): Walk {
  const path = walk.paths[which];
  if (!path || which === 0) return walk;
  const paths = walk.paths.filter((_, k) => k !== which);
  if (which === walk.current) return { paths, current: 0, at: Math.min(walk.at, path.fork) };
  return { ...walk, paths, current: walk.current > which ? walk.current - 1 : walk.current };
}

/** Walk another path, at the same state as far as the two are alike. */
export function change(walk: Walk, which: number): Walk {
  const to = walk.paths[which];
  if (!to) return walk;
  return { ...walk, current: which, at: Math.min(walk.at, to.states.length - 1) };
}

/** Undo and redo over whole walks: steps back in time are values that were kept. */
export interface Undo {
  past: Walk[];
  future: Walk[];
}

export const NOTHING: Undo = { past: [], future: [] };
const KEPT = 200;

export function done(undo: Undo, before: Walk): Undo {
  return { past: [...undo.past, before].slice(-KEPT), future: [] };
}

export function undone(undo: Undo, now: Walk): [Undo, Walk] {
  const before = undo.past.at(-1);
  return before ? [{ past: undo.past.slice(0, -1), future: [now, ...undo.future] }, before] : [undo, now];
}

export function redone(undo: Undo, now: Walk): [Undo, Walk] {
  const after = undo.future[0];
  return after ? [{ past: [...undo.past, now], future: undo.future.slice(1) }, after] : [undo, now];
}
