// What two traces are compared by: their steps' labels, and the values that both models have, as text.

import type { Step, TraceDocument, Truth } from "./document";
import { namesOf, slotText } from "./values";

export interface Side {
  name: string;
  steps: readonly Step[];
  truths: readonly Truth[];
  states: string[][]; // texts of the shared slots
}

export interface Given {
  name: string;
  trace: TraceDocument;
  path: { states: readonly (readonly number[])[]; steps: readonly Step[]; truths: readonly Truth[] };
}

export interface Sides {
  shared: string[]; // labels of the slots that both have
  left: Side;
  right: Side;
}

export function sidesOf(left: Given, right: Given): Sides {
  const places = new Map(right.trace.model.slots.map((slot, k) => [slot.label, k]));
  const shared = left.trace.model.slots.flatMap((slot, k) => {
    const other = places.get(slot.label);
    return other === undefined ? [] : [{ label: slot.label, left: k, right: other }];
  });
  return {
    shared: shared.map((one) => one.label),
    left: side(left, shared.map((one) => one.left)),
    right: side(right, shared.map((one) => one.right)),
  };
}

function side({ name, trace, path }: Given, slots: readonly number[]): Side {
  const names = namesOf(trace.model);
  const states = path.states.map((state) => slots.map((slot) => slotText(trace.model, names, slot, state[slot] ?? 0)));
  return { name, steps: path.steps, truths: path.truths, states };
}
