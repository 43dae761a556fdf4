// Two traces side by side: what they have in common at the start, where they part, and which later steps are the same again.

import type { Step } from "./document";

export interface Pair {
  left: number | null; // number of a state in the left trace, null where it has none
  right: number | null;
  same: boolean;
}

export interface Alignment {
  pairs: Pair[];
  first: number | null; // the pair with the first difference, null if there is none
}

const LARGEST = 1500; // states after the first difference that are compared in full

type Trace = { states: readonly (readonly (number | string)[])[]; steps: readonly Pick<Step, "label">[] };

export function align(left: Trace, right: Trace): Alignment {
  const shortest = Math.min(left.states.length, right.states.length);
  let common = 0;
  while (common < shortest && sameState(left, right, common)) common++;
  const pairs: Pair[] = Array.from({ length: common }, (_, k) => ({ left: k, right: k, same: true }));
  if (common === left.states.length && common === right.states.length) return { pairs, first: null };
  return { pairs: [...pairs, ...rest(labels(left, common), labels(right, common), common)], first: common };
}

function sameState(left: Trace, right: Trace, k: number): boolean {
  const one = left.states[k] ?? [];
  const other = right.states[k] ?? [];
  return left.steps[k - 1]?.label === right.steps[k - 1]?.label && one.length === other.length && one.every((code, slot) => code === other[slot]);
}

function labels(trace: Trace, from: number): string[] {
  return trace.states.slice(from).map((_, k) => trace.steps[from + k - 1]?.label ?? "");
}

/** A longest common subsequence of the steps after the first difference; beside each other without one where that would be slow. */
function rest(left: string[], right: string[], offset: number): Pair[] {
  if (left.length > LARGEST || right.length > LARGEST) {
    return Array.from({ length: Math.max(left.length, right.length) }, (_, k) => ({
      left: k < left.length ? offset + k : null,
      right: k < right.length ? offset + k : null,
      same: left[k] === right[k],
    }));
  }
  const width = right.length + 1;
  const best = new Uint16Array((left.length + 1) * width);
  const at = (i: number, j: number): number => best[i * width + j] ?? 0;
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      best[i * width + j] = left[i] === right[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const found: Pair[] = [];
  let i = 0;
  let j = 0;
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) found.push({ left: offset + i++, right: offset + j++, same: true });
    else if (j >= right.length || (i < left.length && at(i + 1, j) >= at(i, j + 1))) found.push({ left: offset + i++, right: null, same: false });
    else found.push({ left: null, right: offset + j++, same: false });
  }
  return found;
}
