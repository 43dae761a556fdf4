// A state graph in layers: one for each depth, its states near those that lead to them; a wide layer is a band of several rows.
// Linear in the number of edges, but for the sorting of layers.

import type { StateGraph } from "./live";

export interface Layout {
  x: Float32Array;
  y: Float32Array;
  parent: Int32Array; // the state before on a shortest path, -1 at the first
  via: Int32Array; // the action that leads there from the parent
  width: number;
  height: number;
}

const ACROSS = 26;
const WIDE = 110; // across, where there is room for the names of actions
const NARROW = 12; // states in the widest layer of a graph that has the room
const DOWN = 64; // from a layer to the next one
const ROW = 22; // from a row to the next one within a layer
const SWEEPS = 4;

export function layout({ states, depth, edges }: StateGraph): Layout {
  const count = states.length;
  const parent = new Int32Array(count).fill(-1);
  const via = new Int32Array(count).fill(-1);
  const layers: number[][] = [];
  depth.forEach((d, k) => (layers[d] ??= []).push(k));
  const up: number[][] = Array.from({ length: count }, () => []);
  const down: number[][] = Array.from({ length: count }, () => []);
  for (const [from, to, action] of edges) {
    if ((depth[to] ?? 0) !== (depth[from] ?? 0) + 1) continue;
    up[to]?.push(from);
    down[from]?.push(to);
    if (parent[to] === -1) {
      parent[to] = from;
      via[to] = action;
    }
  }
  const x = new Float32Array(count);
  const most = Math.max(40, Math.ceil(1.6 * Math.sqrt(count))); // states in a row, so that the whole is about as wide as high
  const rows = layers.map((layer) => Math.ceil(layer.length / most));
  const widest = Math.max(1, ...layers.map((layer, d) => Math.ceil(layer.length / (rows[d] ?? 1))));
  const across = widest <= NARROW ? WIDE : ACROSS;
  const y = new Float32Array(count);
  let height = 0;
  const tops = rows.map((many) => {
    const top = height;
    height += (many - 1) * ROW + DOWN;
    return top;
  });
  const spread = (layer: readonly number[], d: number): void => {
    const many = rows[d] ?? 1;
    const columns = Math.ceil(layer.length / many);
    layer.forEach((k, place) => {
      x[k] = (Math.floor(place / many) - (columns - 1) / 2) * across;
      y[k] = (tops[d] ?? 0) + (place % many) * ROW;
    });
  };
  layers.forEach(spread);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const near = sweep % 2 ? down : up;
    const order = [...layers.keys()];
    for (const d of sweep % 2 ? order.reverse() : order) {
      const layer = layers[d] ?? [];
      const middle = new Map(layer.map((k) => [k, mean(near[k] ?? [], x, x[k] ?? 0)]));
      layer.sort((a, b) => (middle.get(a) ?? 0) - (middle.get(b) ?? 0) || a - b);
      spread(layer, d);
    }
  }
  return { x, y, parent, via, width: widest * across, height };
}

function mean(near: readonly number[], x: Float32Array, otherwise: number): number {
  return near.length ? near.reduce((sum, k) => sum + (x[k] ?? 0), 0) / near.length : otherwise;
}

/** The states of a shortest path to a state, the first one first. */
export function pathTo(parent: Int32Array, to: number): number[] {
  const found = [];
  for (let k = to; k >= 0; k = parent[k] ?? -1) found.push(k);
  return found.reverse();
}
