// Where lanes stand, and what one step draws across them. Rows are drawn one by one, so that they can be folded, scrolled and printed.

import type { Actors, Step } from "./document";

export interface Lanes {
  names: string[];
  gap: number;
  width: number;
}

const WIDEST = 92;
const NARROWEST = 26;

/** Lanes of the parts, and of whoever acts without being one. `room` is what they may take together, in pixels. */
export function lanesOf(parts: readonly string[], steps: readonly Step[], room: number): Lanes {
  const names = [...parts];
  for (const step of steps) for (const who of [step.by, step.to, step.from]) if (who && !names.includes(who)) names.push(who);
  const gap = Math.max(NARROWEST, Math.min(WIDEST, Math.floor(room / Math.max(names.length, 1))));
  return { names, gap, width: gap * names.length };
}

export function x(lanes: Lanes, name: string | null): number | null {
  const at = name === null ? -1 : lanes.names.indexOf(name);
  return at < 0 ? null : (at + 0.5) * lanes.gap;
}

export interface Arrow {
  from: number;
  to: number;
  taken: boolean; // an earlier message that is taken now
}

export interface Drawing {
  acts: number | null;
  other: number | null;
  arrows: Arrow[];
}

export function drawing(lanes: Lanes, actors: Actors): Drawing {
  const acts = x(lanes, actors.by);
  const to = x(lanes, actors.to);
  const from = x(lanes, actors.from);
  const arrows: Arrow[] = [];
  if (acts !== null && from !== null && from !== acts) arrows.push({ from, to: acts, taken: true });
  if (acts !== null && to !== null && to !== acts) arrows.push({ from: acts, to, taken: false });
  return { acts, other: arrows.some((arrow) => !arrow.taken) ? to : null, arrows };
}

/** Who acts in a folded run, each once, in the order of the lanes. */
export function actorsOf(lanes: Lanes, steps: readonly Step[], from: number, to: number): number[] {
  const acting = new Set(steps.slice(from - 1, to).map((step) => step.by));
  return lanes.names.flatMap((name) => (acting.has(name) ? [x(lanes, name) as number] : []));
}
