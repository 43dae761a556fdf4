// The page's URL names the place: `#step=12&path=what+if+1&branch=what+if+1~3~send.0.1~put.0`. A branch is its moves, so a link brings it back.
// In a history it is the operation that is looked at: `#open=witness%7Crun.ndjson&operation=40`.

import type { Path, Walk } from "./branches";

export type View = "trace" | "system" | "compare" | "graph";

/** A branch as a link names it: where it leaves the trace, and its moves from there. */
export interface Moves {
  name: string;
  fork: number;
  moves: { action: string; args: number[] }[];
}

export interface Place {
  step: number;
  path: string;
  view: View;
  branches: Moves[];
  opened: string; // what the server opened, as `opened.ts` writes it; "" for the document that the page began with
}

const VIEWS: readonly View[] = ["trace", "system", "compare", "graph"];

export function placeOf(walk: Walk, view: View, opened: string): Place {
  const branches = walk.paths.slice(1).map(movesOf);
  return { step: walk.at, path: walk.paths[walk.current]?.name ?? "", view, branches, opened };
}

function movesOf(path: Path): Moves {
  return { name: path.name, fork: path.fork, moves: path.steps.slice(path.fork).map(({ action, args }) => ({ action, args })) };
}

export function fragment(place: Place): string {
  const found = new URLSearchParams();
  if (place.opened) found.set("open", place.opened);
  found.set("step", String(place.step));
  if (place.path) found.set("path", place.path);
  if (place.view !== "trace") found.set("view", place.view);
  for (const { name, fork, moves } of place.branches) {
    found.append("branch", [name.replaceAll("~", "-"), fork, ...moves.map(({ action, args }) => [action, ...args].join("."))].join("~"));
  }
  return `#${found}`;
}

/** The place that a fragment names; what cannot be read is left out. */
export function readPlace(hash: string): Place {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const view = VIEWS.find((one) => one === given.get("view")) ?? "trace";
  const branches = given.getAll("branch").flatMap((text) => readMoves(text) ?? []);
  return { step: whole(given.get("step")) ?? 0, path: given.get("path") ?? "", view, branches, opened: given.get("open") ?? "" };
}

/** The place in a history: what was opened, and the operation that is looked at. */
export function operationFragment(opened: string, operation: number): string {
  return `#${new URLSearchParams({ ...(opened && { open: opened }), operation: String(operation) })}`;
}

export function readOperation(hash: string): number | null {
  return whole(new URLSearchParams(hash.replace(/^#/, "")).get("operation"));
}

function readMoves(text: string): Moves | null {
  const [name = "", fork = "", ...moves] = text.split("~");
  const at = whole(fork);
  if (!name || at === null) return null;
  const read = moves.map((move) => {
    const [action = "", ...args] = move.split(".");
    return { action, args: args.map(Number) };
  });
  return read.some((move) => !move.action || move.args.some((a) => !Number.isInteger(a))) ? null : { name, fork: at, moves: read };
}

function whole(text: string | null): number | null {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
}
