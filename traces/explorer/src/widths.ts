// Widths of the columns of the list of steps, in pixels. In a narrow list lines wrap, lanes are left out, and values move into what happens.

const NARROW = 620; // width of the list below which the lanes are left out
const WRAPPED = 560; // width of what happens below which its lines wrap
const INSIDE = 300; // width of what happens below which values stand in it
const CELL = 88; // a value
const TRUTH = 92; // the property's truth

export interface Widths {
  narrow: boolean; // lanes are left out
  wrapped: boolean; // what happens takes several lines
  inside: boolean; // values stand in what happens, and have no columns
  template: string; // for grid-template-columns
}

/** `width`: of the list, Infinity if there is no limit; `last`: the last step; `values`: how many each step has; `wraps`: whether lines may wrap. */
export function widthsOf(width: number, lanes: number, last: number, values: number, wraps: boolean): Widths {
  const narrow = width < NARROW;
  const numbers = Math.max(40, Math.ceil((2 * String(last).length + 1) * 6.7) + 16); // room for a fold such as 21–24
  const rest = width - numbers - values * CELL - (narrow ? 0 : lanes + TRUTH);
  const inside = wraps && values > 0 && rest < INSIDE;
  const cells = `${narrow ? 56 : CELL}px `.repeat(inside ? 0 : values);
  return { narrow, inside, wrapped: wraps && (narrow || rest < WRAPPED), template: `${numbers}px ${narrow ? 0 : lanes}px minmax(0, 1fr) ${cells}${narrow ? 72 : TRUTH}px` };
}
