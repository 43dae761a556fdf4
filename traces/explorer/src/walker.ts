// Walking in one trace: everything that a key or a click does there. Views read `store.value` and call these methods.

import * as branches from "./branches";
import { currentPath, sameMove, type Path, type Walk } from "./branches";
import { colouring } from "./colouring";
import type { Action, Catalogue, Choice, Step, TraceDocument } from "./document";
import { lineOf, lines, nextReason, reasons, runOf, type Line, type Why } from "./folding";
import type { Server } from "./live";
import { Model, type Options } from "./model/model";
import { fragment, placeOf, readPlace, type Moves, type View } from "./place";
import { found } from "./search";
import { beginning, type Column, type Other, type WalkState } from "./state";
import { Store } from "./store";
import { lively, treeOf, type Branch } from "./tree";
import { namesOf, slotText, type Names } from "./values";

export const NEEDS_SERVER = "This page has no server, and only rocketproof searches a state graph.";

export class Walker {
  readonly store: Store<WalkState>;
  readonly tree: Branch[];
  readonly names: Names;
  /** The model, by which steps are taken; or the reason why this page cannot. */
  readonly model: Model | string;
  private readonly whys = new WeakMap<Path, Why[]>();
  private readonly lives = new WeakMap<Path, ReadonlySet<number>>();

  constructor(
    readonly trace: TraceDocument,
    readonly server: Server | null,
    readonly opened = "",
    private readonly catalogue: Catalogue | null = null,
  ) {
    this.tree = treeOf(trace.model, trace.parts);
    this.names = namesOf(trace.model);
    this.model = Model.of(trace);
    this.store = new Store<WalkState>(beginning(trace));
  }

  get now(): WalkState {
    return this.store.value;
  }

  get path(): Path {
    return currentPath(this.now.walk);
  }

  /** Files that can be opened next to this trace. */
  get witnesses(): Catalogue["witnesses"] {
    return this.catalogue?.witnesses ?? [];
  }

  /** The known hazards that the property belongs to. */
  get hazards(): Catalogue["hazards"] {
    const { id } = this.trace.property;
    return (this.catalogue?.hazards ?? []).filter(({ properties }) => properties.some((one) => id === one || id.startsWith(`${one}.`)));
  }

  /** Whether a running explorer can be asked for the state graph. */
  get served(): boolean {
    return this.server !== null && this.trace.live !== null;
  }

  /** Why no other step can be taken than the trace's own; "" if it can. */
  get stuck(): string {
    return typeof this.model === "string" ? this.model : "";
  }

  private get session(): string {
    return this.trace.live?.session ?? "";
  }

  action(name: string): Action | undefined {
    return this.trace.model.actions.find((action) => action.name === name);
  }

  text(slot: number, code: number): string {
    return slotText(this.trace.model, this.names, slot, code);
  }

  why(path = this.path): Why[] {
    return kept(this.whys, path, () => reasons({ ...path, model: this.trace.model, property: this.trace.property }));
  }

  lines(): Line[] {
    const { open, unfolded, loopClosed, hits, onlyHits } = this.now;
    const { loop, states } = this.path;
    if (hits && onlyHits) return states.flatMap((_, k): Line[] => (hits.has(k) ? [{ sort: "state", k }] : []));
    const list = lines(this.why(), open, unfolded);
    if (!loopClosed || loop === null || loop + 1 >= states.length) return list;
    const before = list.flatMap((line): Line[] => {
      if (line.sort === "state") return line.k <= loop ? [line] : [];
      return line.from > loop ? [] : [{ ...line, to: Math.min(line.to, loop) }];
    });
    return [...before, { sort: "fold", from: loop + 1, to: states.length - 1 }];
  }

  lively(): ReadonlySet<number> {
    const { path } = this;
    return kept(this.lives, path, () => lively(path.states));
  }

  // Going

  go(to: number): void {
    const { walk } = this.now;
    const at = Math.max(0, Math.min(this.path.states.length - 1, to));
    this.store.set({ walk: { ...walk, at }, message: "" });
  }

  /** One step, over folded runs: what is folded is passed at once. */
  step(way: 1 | -1): void {
    const list = this.lines();
    const { at } = this.now.walk;
    const next = list[lineOf(list, at) + way];
    if (next) this.go(next.sort === "state" ? next.k : way > 0 ? next.to : next.from);
  }

  /** One step of the trace, whatever is folded; its run opens. */
  single(way: 1 | -1): void {
    const to = this.now.walk.at + way;
    if (to < 0 || to >= this.path.states.length) return;
    this.openAt(to);
    this.go(to);
  }

  nextInteresting(way: 1 | -1): void {
    const { hits, walk } = this.now;
    if (hits) {
      const found = [...hits].sort((a, b) => a - b);
      const to = way > 0 ? found.find((k) => k > walk.at) : found.findLast((k) => k < walk.at);
      if (to !== undefined) this.go(to);
    } else this.go(nextReason(this.why(), walk.at, way));
  }

  /** The loop's first step from its end: the walk goes round. */
  round(): void {
    const { loop, states } = this.path;
    if (loop !== null) this.go(this.now.walk.at >= states.length - 1 ? loop + 1 : states.length - 1);
  }

  openAt(k: number): void {
    this.store.set({ open: new Set([...this.now.open, ...runOf(this.why(), k)]), loopClosed: false });
  }

  closeAt(k: number): void {
    const run = new Set(runOf(this.why(), k));
    this.store.set({ open: new Set([...this.now.open].filter((one) => !run.has(one))) });
  }

  toggleFolds(): void {
    this.store.set({ unfolded: !this.now.unfolded, open: new Set() });
  }

  toggleLoop(): void {
    if (this.path.loop !== null) this.store.set({ loopClosed: !this.now.loopClosed });
  }

  // Looking

  search(query: string): void {
    const hits = found(query, this.path.steps, this.path.truths, this.trace.model);
    this.store.set({ query, hits });
  }

  togglePin(slot: number): void {
    const { pins } = this.now;
    this.store.set({ pins: pins.includes(slot) ? pins.filter((one) => one !== slot) : [...pins, slot] });
  }

  show(view: View): void {
    if (view === "graph" && !this.served) this.say(NEEDS_SERVER);
    else this.store.set({ view });
  }

  say(message: string): void {
    this.store.set({ message });
  }

  // Branches

  options(k = this.now.walk.at): Options | null {
    const state = this.path.states[k];
    return state && typeof this.model !== "string" ? this.model.options(state) : null;
  }

  /** The step that the path takes next, and where it leads; from the end of a loop its first step. */
  next(): { step: Step; to: number } | null {
    const { at } = this.now.walk;
    const { steps, states, loop } = this.path;
    const step = steps[at];
    if (step) return { step, to: at + 1 };
    const again = loop === null ? undefined : steps[loop];
    return again && loop !== null && states[loop]?.join() === states[at]?.join() ? { step: again, to: loop + 1 } : null;
  }

  /** Go on with a choice: along the path if that is its next step, else on a branch. */
  follow(choice: Choice): void {
    const { walk, undo } = this.now;
    const next = this.next();
    if (sameMove(next?.step, choice)) {
      this.openAt(next?.to ?? 0);
      return this.go(next?.to ?? 0);
    }
    if (choice.error) return this.say(`${choice.label} has no meaning here: ${choice.error}`);
    this.try(() => {
      this.store.set({ walk: this.after(walk, choice), undo: branches.done(undo, walk), message: "" });
      this.refresh();
    });
  }

  /** The walk after one more step. Throws an error of one line if the page cannot take steps. */
  private after(walk: Walk, choice: Choice): Walk {
    const { states, truths } = currentPath(walk);
    return branches.follow(walk, choice, this.steps().truthAfter(states[walk.at] ?? [], choice, truths.slice(0, walk.at + 1)));
  }

  private steps(): Model {
    if (typeof this.model === "string") throw new Error(this.model);
    return this.model;
  }

  undo(): void {
    const [undo, walk] = branches.undone(this.now.undo, this.now.walk);
    this.store.set({ undo, walk, message: "" });
    this.refresh();
  }

  redo(): void {
    const [undo, walk] = branches.redone(this.now.undo, this.now.walk);
    this.store.set({ undo, walk, message: "" });
    this.refresh();
  }

  private change(walk: Walk): void {
    this.store.set({ walk, undo: branches.done(this.now.undo, this.now.walk), message: "" });
    this.refresh();
  }

  keep(name: string): void {
    this.change(branches.keep(this.now.walk, name));
  }

  discard(which: number): void {
    this.change(branches.discard(this.now.walk, which));
  }

  choosePath(which: number): void {
    this.store.set({ walk: branches.change(this.now.walk, which) });
    this.refresh();
  }

  compareWith(other: Other): void {
    this.store.set({ other, view: "compare" });
  }

  /** Open another witness beside this trace. */
  async compareWitness(id: string): Promise<void> {
    const found = this.witnesses.find((one) => one.id === id);
    if (!found || !this.server) return;
    const server = this.server;
    await this.work("opening", async () => {
      const trace = await server.open({ witness: id }, (text) => this.store.set({ busy: text }));
      if (trace.kind !== "trace") throw new Error(`${found.path} holds no trace, and only traces are compared`);
      this.compareWith({ trace, name: found.title });
    });
  }

  // What belongs to the path that is walked: hits and columns follow it

  private refresh(): void {
    this.search(this.now.query);
    const { columns } = this.now;
    if (columns.length) this.store.set({ columns: columns.map(({ expression }) => this.column(expression)) });
  }

  private column(expression: string): Column {
    const { type, values } = this.steps().evaluate(expression, this.path.states);
    return { expression, type, values };
  }

  /** Evaluate an expression along the path; it becomes a column unless it is wrong, then the message says why. */
  evaluate(expression: string): boolean {
    return this.try(() => {
      const column = this.column(expression);
      this.store.set({ columns: [...this.now.columns.filter((one) => one.expression !== expression), column], message: "" });
    });
  }

  dropColumn(expression: string): void {
    this.store.set({ columns: this.now.columns.filter((one) => one.expression !== expression) });
  }

  async loadGraph(limit: number, signal?: AbortSignal): Promise<void> {
    if (!this.served) return this.say(NEEDS_SERVER);
    await this.work("exploring the scope", async () => {
      const graph = await (this.server as Server).graph(this.session, limit, (text) => this.store.set({ busy: text }), signal);
      this.store.set({ graph });
    });
  }

  /** Colour the graph by an expression; a wrong one leaves it as it is, and the message says why. */
  colourGraph(expression: string): void {
    const { graph } = this.now;
    if (!graph) return;
    this.try(() => {
      const found = this.steps().evaluate(expression, graph.states);
      if (found.ofStep) throw new Error(`${expression} speaks of the state after a step, and a state of the graph has many: write it without '`);
      this.store.set({ colouring: colouring(expression, found), message: "" });
    });
  }

  /** Walk a path that is given by its states, from the trace's first one; where it leaves the trace it is a branch. */
  walkStates(states: readonly (readonly number[])[]): void {
    const { walk, undo } = this.now;
    const same = (one: readonly number[] | undefined, other: readonly number[] | undefined): boolean => one?.join() === other?.join();
    if (!same(this.trace.states[0], states[0])) return this.say("the trace begins in another state than the graph: this path cannot be walked from it");
    this.try(() => {
      let now: Walk = { ...walk, current: 0, at: 0 };
      for (const next of states.slice(1)) {
        const path = currentPath(now);
        if (same(path.states[now.at + 1], next)) {
          now = { ...now, at: now.at + 1 };
          continue;
        }
        const choice = this.steps().leading(path.states[now.at] ?? [], next);
        if (!choice) throw new Error("no action leads to the next state of this path");
        now = this.after(now, choice);
      }
      this.store.set({ walk: now, undo: branches.done(undo, walk), view: "trace", message: "" });
      this.refresh();
    });
  }

  /** Do it, or say in a message why it cannot be done; returns whether it was done. */
  private try(job: () => void): boolean {
    try {
      job();
      return true;
    } catch (error) {
      this.say(textOf(error));
      return false;
    }
  }

  private async work(what: string, job: () => Promise<void>): Promise<void> {
    this.store.set({ busy: what });
    try {
      await job();
    } catch (error) {
      this.say(textOf(error));
    } finally {
      this.store.set({ busy: "" });
    }
  }

  // The place in the URL

  fragment(): string {
    return fragment(placeOf(this.now.walk, this.now.view, this.opened));
  }

  /** Go where a link leads. Branches are walked again, so they stand there only if the model still allows them. */
  arrive(hash: string): void {
    const place = readPlace(hash);
    if (this.now.walk.paths.length > 1) this.store.set({ walk: branches.walkOf(this.trace), undo: branches.NOTHING });
    this.store.set({ view: place.view === "graph" && !this.served ? "trace" : place.view });
    this.try(() => {
      for (const branch of place.branches) this.store.set({ walk: this.rebuilt(this.now.walk, branch) });
    });
    const { walk } = this.now;
    const current = Math.max(0, walk.paths.findIndex((path) => path.name === place.path));
    const at = Math.min(place.step, (walk.paths[current]?.states.length ?? 1) - 1);
    this.store.set({ walk: { ...walk, current, at } });
  }

  private rebuilt(walk: Walk, branch: Moves): Walk {
    let now: Walk = { ...walk, current: 0, at: Math.min(branch.fork, (walk.paths[0]?.states.length ?? 1) - 1) };
    for (const move of branch.moves) {
      const choice = this.steps().choice(currentPath(now).states[now.at] ?? [], move.action, move.args);
      if (!choice || choice.error) {
        this.say(`the link's branch ends after ${now.at - branch.fork} of its ${branch.moves.length} steps: ${move.action} cannot happen there`);
        break;
      }
      now = now.current === 0 && sameMove(currentPath(now).steps[now.at], move) ? { ...now, at: now.at + 1 } : this.after(now, choice);
    }
    return now.current === 0 ? now : branches.keep(now, branch.name);
  }
}

/** What is known of a path, or made now and known from then on. A path never changes. */
function kept<T>(known: WeakMap<Path, T>, path: Path, make: () => T): T {
  let value = known.get(path);
  if (value === undefined) known.set(path, (value = make()));
  return value;
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
