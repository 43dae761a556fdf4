// A state graph in layers: a layer for each depth, its states beside those that lead to them. Linear in the number of edges.

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
const DOWN = 64;
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
  const widest = Math.max(1, ...layers.map((layer) => layer.length));
  const across = widest <= NARROW ? WIDE : ACROSS;
  const spread = (layer: readonly number[]): void => layer.forEach((k, place) => (x[k] = (place - (layer.length - 1) / 2) * across));
  layers.forEach(spread);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const near = sweep % 2 ? down : up;
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) {
      const middle = new Map(layer.map((k) => [k, mean(near[k] ?? [], x, x[k] ?? 0)]));
      layer.sort((a, b) => (middle.get(a) ?? 0) - (middle.get(b) ?? 0) || a - b);
      spread(layer);
    }
  }
  const y = Float32Array.from(depth, (d) => d * DOWN);
  return { x, y, parent, via, width: widest * across, height: layers.length * DOWN };
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
