// What is kept while one walks in a trace: where one stands, what is looked at, and what was asked.

import { NOTHING, walkOf, type Undo, type Walk } from "./branches";
import type { Colouring } from "./colouring";
import type { TraceDocument } from "./document";
import type { StateGraph } from "./live";
import type { View } from "./place";

export type Panel = "state" | "actions" | "property";

/** A column beside the steps: an expression of the language with its text at each state of the current path. */
export interface Column {
  expression: string;
  type: string;
  values: (string | null)[];
}

/** What a trace is compared with: a path of this walk by its name, or a trace from a file. */
export type Other = { path: string } | { trace: TraceDocument; name: string };

export interface WalkState {
  walk: Walk;
  undo: Undo;
  view: View;
  panel: Panel;
  open: ReadonlySet<number>; // states of runs that were opened
  unfolded: boolean;
  loopClosed: boolean;
  query: string;
  hits: ReadonlySet<number> | null;
  onlyHits: boolean;
  filter: string; // of the state
  everything: boolean; // also show what never changes
  asked: string; // search among the actions
  pins: number[]; // slots
  columns: Column[];
  other: Other | null;
  graph: StateGraph | null;
  colouring: Colouring | null; // of the graph's states, if not by the property's truth
  busy: string;
  message: string;
}

/** The state at the start of a trace. */
export function beginning(trace: TraceDocument): WalkState {
  return {
    walk: walkOf(trace),
    undo: NOTHING,
    view: "trace",
    panel: "state",
    open: new Set(),
    unfolded: false,
    loopClosed: false,
    query: "",
    hits: null,
    onlyHits: false,
    filter: "",
    everything: false,
    asked: "",
    pins: [],
    columns: [],
    other: null,
    graph: null,
    colouring: null,
    busy: "",
    message: "",
  };
}
