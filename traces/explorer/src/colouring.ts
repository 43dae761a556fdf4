// Which colour each state of a graph gets from the text that an expression has there: one for each value, or for each range of many numbers.

import type { Evaluated } from "./model/expressions";

export const COLOURS = 8; // as many as style.css has

export interface Shade {
  text: string; // a value, or the lowest and the highest of a range
  count: number;
  colour: number; // from 0; -1 for what has none
}

export interface Colouring {
  expression: string;
  shades: Shade[];
  of: Int8Array; // for each state its colour, -1 for none
}

/** What stands for states beyond the colours, and for those in which the expression has no value. */
const OTHERS = "other values";
const NO_VALUE = "no value";

export function colouring(expression: string, { values }: Pick<Evaluated, "values">): Colouring {
  const counts = new Map<string, number>();
  for (const value of values) if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
  const numbers = [...counts.keys()].map(Number);
  const shade = numbers.every(Number.isInteger) && counts.size > 0 ? ranges(numbers) : words(counts);
  const shades = new Map<string, Shade>();
  const of = Int8Array.from(values, (value) => {
    const [colour, text] = value === null ? [-1, NO_VALUE] : shade(value);
    const known = shades.get(text);
    if (known) known.count++;
    else shades.set(text, { text, count: 1, colour });
    return colour;
  });
  const last = (one: Shade): number => (one.colour < 0 ? COLOURS : one.colour);
  return { expression, shades: [...shades.values()].sort((a, b) => last(a) - last(b)), of };
}

type Shading = (value: string) => [number, string];

/** A colour for each number, or for each of as many ranges of equal width as there are colours. */
function ranges(numbers: number[]): Shading {
  const sorted = numbers.sort((a, b) => a - b);
  const low = sorted[0] ?? 0;
  if (sorted.length <= COLOURS) return (value) => [sorted.indexOf(Number(value)), value];
  const width = Math.ceil(((sorted.at(-1) ?? 0) - low + 1) / COLOURS);
  return (value) => {
    const colour = Math.floor((Number(value) - low) / width);
    const from = low + colour * width;
    return [colour, width > 1 ? `${from} to ${from + width - 1}` : `${from}`];
  };
}

/** A colour for each value; where there are more values than colours, for those of most states. */
function words(counts: ReadonlyMap<string, number>): Shading {
  const often = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).map(([value]) => value);
  const named = often.length <= COLOURS ? often.sort() : often.slice(0, COLOURS);
  return (value) => (named.includes(value) ? [named.indexOf(value), value] : [-1, OTHERS]);
}
