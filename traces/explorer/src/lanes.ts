// Where lanes stand, and what one step draws across them. Rows are drawn one by one, so that they can be folded, scrolled and printed.

import type { Actors, Step } from "./document";

export interface Lanes {
  names: string[];
  gap: number;
  width: number;
}

const WIDEST = 92;
const NARROWEST = 26;

/** The parts, and whoever acts in these steps without being one. */
export function laneNames(parts: readonly string[], steps: readonly Step[]): string[] {
  return [...new Set([...parts, ...steps.flatMap(({ by, to, from }) => [by, to ?? "", from ?? ""])])].filter(Boolean);
}

/** Lanes of the parts, and of whoever acts without being one. `room` is what they may take together, in pixels. */
export function lanesOf(parts: readonly string[], steps: readonly Step[], room: number): Lanes {
  const names = laneNames(parts, steps);
  const gap = Math.max(NARROWEST, Math.min(WIDEST, Math.floor(room / Math.max(names.length, 1))));
  return { names, gap, width: gap * names.length };
}

export function x(lanes: Lanes, name: string | null): number | null {
  const at = name === null ? -1 : lanes.names.indexOf(name);
  return at < 0 ? null : (at + 0.5) * lanes.gap;
}

export interface Message {
  from: string;
  to: string;
  taken: boolean; // it was sent before
}

/** The messages of a step: the one that the actor takes, and the one that it sends. */
export function messagesOf({ by, to, from }: Actors): Message[] {
  const found: Message[] = [];
  if (from !== null && from !== by) found.push({ from, to: by, taken: true });
  if (to !== null && to !== by) found.push({ from: by, to, taken: false });
  return found;
}

interface Arrow {
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
  const arrows = messagesOf(actors).flatMap(({ from, to, taken }): Arrow[] => {
    const [start, end] = [x(lanes, from), x(lanes, to)];
    return start === null || end === null ? [] : [{ from: start, to: end, taken }];
  });
  return { acts: x(lanes, actors.by), other: arrows.find(({ taken }) => !taken)?.to ?? null, arrows };
}

/** Who acts in a folded run, each once, in the order of the lanes. */
export function actorsOf(lanes: Lanes, steps: readonly Step[], from: number, to: number): number[] {
  const acting = new Set(steps.slice(from - 1, to).map((step) => step.by));
  return lanes.names.flatMap((name) => (acting.has(name) ? [x(lanes, name) as number] : []));
}
