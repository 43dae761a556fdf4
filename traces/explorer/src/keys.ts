// Keys and what they do: one table, from which the page listens and the help is written.

import type { Walker } from "./walker";

export interface Binding {
  keys: string[];
  what: string;
  anywhere?: true; // not only where the trace is shown
  run: (walker: Walker) => void;
}

export const BINDINGS: Binding[] = [
  { keys: ["ArrowDown", "j"], what: "the next line", run: (walker) => walker.step(1) },
  { keys: ["ArrowUp", "k"], what: "the line before", run: (walker) => walker.step(-1) },
  { keys: ["ArrowRight"], what: "one step, into folded ones too", run: (walker) => walker.single(1) },
  { keys: ["ArrowLeft"], what: "one step back, into folded ones too", run: (walker) => walker.single(-1) },
  { keys: ["n"], what: "the next interesting step, or the next found", run: (walker) => walker.nextInteresting(1) },
  { keys: ["N"], what: "the one before", run: (walker) => walker.nextInteresting(-1) },
  { keys: ["PageDown"], what: "ten lines on", run: (walker) => times(10, () => walker.step(1)) },
  { keys: ["PageUp"], what: "ten lines back", run: (walker) => times(10, () => walker.step(-1)) },
  { keys: ["Home", "g"], what: "the initial state", run: (walker) => walker.go(0) },
  { keys: ["End", "G"], what: "the last state", run: (walker) => walker.go(Number.MAX_SAFE_INTEGER) },
  { keys: ["o"], what: "round the loop: its end, then its first step", run: (walker) => walker.round() },
  { keys: ["f"], what: "fold the uninteresting steps, or show all", run: (walker) => walker.toggleFolds() },
  { keys: ["l"], what: "the loop as one line, or its steps", run: (walker) => walker.toggleLoop() },
  { keys: ["s"], what: "the state", run: (walker) => walker.store.set({ panel: "state" }) },
  { keys: ["a"], what: "the actions that can happen, and why others cannot", run: (walker) => walker.store.set({ panel: "actions" }) },
  { keys: ["p"], what: "the property", run: (walker) => walker.store.set({ panel: "property" }) },
  { keys: ["u"], what: "undo a step of a branch", run: (walker) => walker.undo() },
  { keys: ["r"], what: "do it again", run: (walker) => walker.redo() },
  { keys: ["c"], what: "two traces side by side, and back", anywhere: true, run: (walker) => walker.show(walker.now.view === "compare" ? "trace" : "compare") },
  { keys: ["m"], what: "the state graph, and back", anywhere: true, run: (walker) => walker.show(walker.now.view === "graph" ? "trace" : "graph") },
];

function times(count: number, job: () => void): void {
  for (let k = 0; k < count; k++) job();
}

const TYPED = "input:not([type=checkbox]), textarea, select, [contenteditable]";

/** Whether a key belongs to what has the focus and not to the page. */
export function typing(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement | null;
  return event.ctrlKey || event.metaKey || event.altKey || Boolean(target?.closest?.(TYPED)) || document.querySelector("dialog[open]") !== null;
}

export function bindingOf(event: KeyboardEvent, walking: boolean): Binding | undefined {
  return BINDINGS.find((binding) => binding.keys.includes(event.key) && (walking || binding.anywhere));
}

const SHOWN: Record<string, string> = { ArrowDown: "↓", ArrowUp: "↑", ArrowRight: "→", ArrowLeft: "←", PageDown: "Page ↓", PageUp: "Page ↑" };

export function keyText(key: string): string {
  return SHOWN[key] ?? key;
}
