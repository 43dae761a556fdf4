// Keys and what they do: tables from which the pages listen and the help is written.

import { toggleTheme } from "./theme";
import type { Walker } from "./walker";

export interface Keys {
  keys: string[];
  what: string;
}

export interface KeySection {
  title: string;
  keys: Keys[];
}

export interface Binding extends Keys {
  anywhere?: true; // not only where the trace is shown
  run: (walker: Walker) => void;
}

export const BINDINGS: Binding[] = [
  { keys: ["ArrowDown", "j"], what: "the next line", run: (walker) => next(walker, 1) },
  { keys: ["ArrowUp", "k"], what: "the line before", run: (walker) => next(walker, -1) },
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
  { keys: ["F"], what: "fold the steps around this one again", run: (walker) => walker.closeAt(walker.now.walk.at) },
  { keys: ["l"], what: "the loop as one line, or its steps", run: (walker) => walker.toggleLoop() },
  { keys: ["s"], what: "the state", run: (walker) => walker.store.set({ panel: "state" }) },
  { keys: ["a"], what: "the actions that can happen, and why others cannot", run: (walker) => walker.store.set({ panel: "actions" }) },
  { keys: ["p"], what: "the property", run: (walker) => walker.store.set({ panel: "property" }) },
  { keys: ["w"], what: "what if: the next other action that can happen; Enter takes it", run: (walker) => chooseOther(walker, 1) },
  { keys: ["W"], what: "what if: the one before", run: (walker) => chooseOther(walker, -1) },
  { keys: ["u"], what: "undo a step of a branch", run: (walker) => walker.undo() },
  { keys: ["r"], what: "do it again", run: (walker) => walker.redo() },
  { keys: ["v"], what: "the system as boxes, and back; j and k go step by step there", anywhere: true, run: (walker) => walker.show(walker.now.view === "system" ? "trace" : "system") },
  { keys: ["c"], what: "two traces side by side, and back", anywhere: true, run: (walker) => walker.show(walker.now.view === "compare" ? "trace" : "compare") },
  { keys: ["m"], what: "the state graph, and back", anywhere: true, run: (walker) => walker.show(walker.now.view === "graph" ? "trace" : "graph") },
];

const EVERYWHERE: Keys[] = [
  { keys: ["Tab"], what: "the next tool, value or button; Enter presses it" },
  { keys: ["h"], what: "the catalogue, or the page of the run" },
  { keys: ["t"], what: "dark or light" },
  { keys: ["?"], what: "this help" },
  { keys: ["Esc"], what: "leave a box or this help; back to the trace" },
];

const SEARCH: Keys = { keys: ["/"], what: "search; Enter goes to the next found, Esc leaves" };

export const TRACE_KEYS: KeySection[] = [
  { title: "The trace", keys: [...BINDINGS, SEARCH, { keys: ["e"], what: "an expression to evaluate at each step" }] },
  { title: "Two traces", keys: [{ keys: ["ArrowDown", "j"], what: "the next pair" }, { keys: ["ArrowUp", "k"], what: "the pair before" }, { keys: ["n"], what: "the next difference" }] },
  {
    title: "The state graph",
    keys: [
      { keys: ["ArrowLeft", "ArrowUp"], what: "move the drawing, all four ways" },
      { keys: ["+", "-", "0"], what: "larger, smaller, all of it" },
      { keys: ["j", "k"], what: "the next, the previous state, nearest to the start first" },
      { keys: ["n", "N"], what: "the next, the previous state where the property fails" },
    ],
  },
  { title: "Everywhere", keys: EVERYWHERE },
];

export const HISTORY_KEYS: KeySection = {
  title: "The history",
  keys: [
    { keys: ["ArrowRight", "j"], what: "the next operation of the explained order" },
    { keys: ["ArrowLeft", "k"], what: "the one before" },
    { keys: ["Home", "End"], what: "the first, the last of them" },
    { keys: ["n"], what: "the operation that nothing explains" },
    { keys: ["+", "-", "0"], what: "stretch the time, shrink it, all of it" },
    SEARCH,
    ...EVERYWHERE,
  ],
};

export const HAZARD_KEYS: KeySection = {
  title: "The hazard",
  keys: [{ keys: ["ArrowDown", "j"], what: "the next step of the scenario" }, { keys: ["ArrowUp", "k"], what: "the step before" }, { keys: ["Home", "End"], what: "the first, the last step" }, ...EVERYWHERE],
};

export const START_KEYS: KeySection = { title: "The catalogue", keys: [{ keys: ["/"], what: "search" }, ...EVERYWHERE] };

/** The next or previous line; in the system view, which has no lines, the next or previous step. */
function next(walker: Walker, way: 1 | -1): void {
  if (walker.now.view === "system") walker.single(way);
  else walker.step(way);
}

function times(count: number, job: () => void): void {
  for (let k = 0; k < count; k++) job();
}

/** Open the actions and put the focus on the next or previous action that the trace does not take. */
function chooseOther(walker: Walker, way: 1 | -1): void {
  walker.store.set({ panel: "actions" });
  queueMicrotask(() => focusOther(walker, way)); // after the panel is there (it is rendered in a microtask), before the next key
}

function focusOther(walker: Walker, way: 1 | -1): void {
  const others = [...document.querySelectorAll<HTMLElement>(".actions-panel .instance:not(.taken) .follow, .actions-panel .choice summary")].filter((one) => one.offsetParent !== null);
  if (!others.length) return walker.say("No other action can happen here.");
  const now = others.indexOf(document.activeElement as HTMLElement);
  const next = now < 0 ? (way > 0 ? 0 : others.length - 1) : (now + way + others.length) % others.length;
  others[next]?.focus();
}

const TYPED = "input:not([type=checkbox]), textarea, select, [contenteditable]";

/** Whether a key belongs to what has the focus and not to the page. */
export function typing(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement | null;
  return event.ctrlKey || event.metaKey || event.altKey || Boolean(target?.closest?.(TYPED)) || document.querySelector("dialog[open]") !== null;
}

/** Let Esc clear a search box and leave it. */
export function leaveSearch(clear: () => void): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.key !== "Escape") return;
    clear();
    (event.currentTarget as HTMLElement).blur();
  };
}

/** A listener that does what each key says, and dark or light. */
export function doing(does: Record<string, () => void>): (event: KeyboardEvent) => void {
  return (event) => {
    if (typing(event)) return;
    const run = event.key === "t" ? toggleTheme : does[event.key];
    if (!run) return;
    run();
    event.preventDefault();
  };
}

export function bindingOf(event: KeyboardEvent, walking: boolean): Binding | undefined {
  return BINDINGS.find((binding) => binding.keys.includes(event.key) && (walking || binding.anywhere));
}

const SHOWN: Record<string, string> = { ArrowDown: "↓", ArrowUp: "↑", ArrowRight: "→", ArrowLeft: "←", PageDown: "Page ↓", PageUp: "Page ↑" };

export function keyText(key: string): string {
  return SHOWN[key] ?? key;
}
