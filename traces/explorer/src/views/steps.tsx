// The steps of a path: one line each, with the lanes at the left, what happened beside them, the property's truth at the right.

import { memo } from "preact/compat";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Path } from "../branches";
import { foldText, isFault, lineOf, type Line } from "../folding";
import { actorsOf, drawing, lanesOf, x, type Lanes } from "../lanes";
import type { Step } from "../document";
import { changedRows } from "../tree";
import type { Walker } from "../walker";
import { counted } from "../values";
import { widthsOf } from "../widths";
import { TruthWord } from "./truth";
import { usePrinting, useSize, useStore } from "./use";

const LINE = 22; // height of a line, as in style.css
const ROOMY = 66; // height of a line that wraps, about
const UPRIGHT = 46; // width of a lane below which its name is turned
const MANY = 400; // lines above which only those in sight are drawn
const BEYOND = 30; // drawn above and below what is in sight

export function Steps({ walker }: { walker: Walker }) {
  const state = useStore(walker.store);
  const path = walker.path;
  const list = useRef<HTMLDivElement>(null);
  const { width, height } = useSize(list);
  const [top, setTop] = useState(0);
  const printing = usePrinting();
  const lines = walker.lines();
  const lanes = useMemo(() => lanesOf(walker.trace.parts, path.steps, Math.max(200, Math.min(width * (width < 1000 ? 0.36 : 0.41), 420))), [path, width]);
  const current = lineOf(lines, state.walk.at);
  const loopFrom = path.loop === null || path.loop + 1 >= path.states.length ? null : path.loop + 1;

  const roomy = lines.length * ROOMY < height; // then each step may say all that it changes

  useLayoutEffect(() => keepInSight(list.current, current), [current, lines.length, height]);

  const window = !printing && lines.length > MANY ? { from: Math.max(0, Math.floor(top / LINE) - BEYOND), to: Math.ceil((top + height) / LINE) + BEYOND } : { from: 0, to: lines.length };
  const shown = lines.slice(window.from, window.to);
  const columns = [...state.pins.map((slot) => ({ key: `pin ${slot}`, label: walker.trace.model.slots[slot]?.label ?? "" })), ...state.columns.map((column) => ({ key: column.expression, label: column.expression }))];
  const { narrow, wrapped, inside, template } = widthsOf(printing || !width ? Infinity : width, lanes.width, path.states.length - 1, columns.length, lines.length <= MANY);

  return (
    <section class={`steps${roomy ? " roomy" : wrapped ? " wrapped" : ""}${narrow ? " narrow" : ""}`} aria-label="Steps">
      <div class={lanes.gap < UPRIGHT && !narrow ? "line head tall" : "line head"} style={{ gridTemplateColumns: template }}>
        <span class="number">step</span>
        <span class="lanes">
          {lanes.names.map((name) => (
            <button
              type="button"
              class="lane-name"
              key={name}
              style={lanes.gap < UPRIGHT ? { left: `${x(lanes, name)}px` } : { left: `${x(lanes, name)}px`, width: `${lanes.gap}px` }}
              tabIndex={-1}
              title={`${name}: search its steps`}
              aria-pressed={state.query === actorQuery(name)}
              onClick={() => walker.search(state.query === actorQuery(name) ? "" : actorQuery(name))}
            >
              {name}
            </button>
          ))}
        </span>
        <span class="what">what happens</span>
        {(inside ? [] : columns).map((column) => (
          <span class="cell" title={column.label} key={column.key}>
            {column.label}
          </span>
        ))}
        <span class="truth" title={walker.trace.property.id}>property</span>
      </div>
      <div
        class="list"
        ref={list}
        role="listbox"
        tabIndex={0}
        aria-label="Steps of the trace; arrow keys walk"
        aria-activedescendant={current >= 0 ? `line-${current}` : undefined}
        onScroll={(event) => lines.length > MANY && setTop(event.currentTarget.scrollTop)}
      >
        <div class="before" style={{ height: `${window.from * LINE}px` }} />
        {shown.map((line, k) => {
          const at = window.from + k;
          const first = line.sort === "state" ? line.k : line.from;
          const last = line.sort === "state" ? line.k : line.to;
          const inLoop = loopFrom !== null && first >= loopFrom;
          const loop = !inLoop ? "" : `${first === loopFrom ? " loop-first" : ""}${last === path.states.length - 1 ? " loop-last" : ""} in-loop`;
          const drawn = (
            <LineView
              key={`${line.sort}-${first}`}
              id={`line-${at}`}
              walker={walker}
              path={path}
              line={line}
              lanes={lanes}
              template={template}
              current={at === current}
              loop={loop}
              hit={state.hits !== null && between(state.hits, first, last)}
              pins={state.pins}
              columns={state.columns}
              inside={inside}
            />
          );
          return first === loopFrom ? [<LoopNote key="loop" walker={walker} lanes={lanes} template={template} />, drawn] : drawn;
        })}
        <div style={{ height: `${Math.max(0, lines.length - window.to) * LINE}px` }} />
        {path.name === "" && walker.trace.end && <p class="end">{walker.trace.end}</p>}
      </div>
    </section>
  );
}

function keepInSight(list: HTMLDivElement | null, line: number): void {
  if (!list || line < 0) return;
  const drawn = document.getElementById(`line-${line}`);
  const from = drawn?.offsetTop ?? line * LINE;
  const to = from + (drawn?.offsetHeight ?? LINE);
  if (from < list.scrollTop + LINE) list.scrollTop = from - 3 * LINE;
  else if (to + LINE > list.scrollTop + list.clientHeight) list.scrollTop = to + 3 * LINE - list.clientHeight;
}

function actorQuery(name: string): string {
  return `actor:"${name}"`;
}

function between(hits: ReadonlySet<number>, from: number, to: number): boolean {
  for (let k = from; k <= to; k++) if (hits.has(k)) return true;
  return false;
}

/** A line above the loop's first step that says what repeats. */
function LoopNote({ walker, lanes, template }: Pick<Shown, "walker" | "lanes" | "template">) {
  return (
    <div class="line loop-note" style={{ gridTemplateColumns: template }} role="presentation" title="one line, or its steps (l)" onClick={() => walker.toggleLoop()}>
      <span class="number">↻</span>
      <LanesOf lanes={lanes} acts={null} />
      <span class="what loop-text">{walker.trace.loop_text || "from here it repeats for ever"}</span>
    </div>
  );
}

interface Shown {
  id: string;
  walker: Walker;
  path: Path;
  line: Line;
  lanes: Lanes;
  template: string;
  current: boolean;
  loop: string;
  hit: boolean;
  pins: number[];
  columns: Walker["now"]["columns"];
  inside: boolean; // values stand in what happens
}

const LineView = memo(function LineView(shown: Shown) {
  const { id, walker, line, template, current, loop, hit } = shown;
  const classes = `line ${line.sort}${current ? " current" : ""}${loop}${hit ? " hit" : ""}`;
  const click = (): void => {
    if (line.sort === "fold") {
      if (walker.now.loopClosed && loop.includes("loop-first")) walker.toggleLoop();
      else walker.openAt(line.from);
      walker.go(line.from);
    } else walker.go(line.k);
  };
  return (
    <div id={id} class={classes} style={{ gridTemplateColumns: template }} role="option" aria-selected={current} onClick={click}>
      {line.sort === "state" ? <StateLine {...shown} k={line.k} /> : <FoldLine {...shown} from={line.from} to={line.to} />}
    </div>
  );
});

function StateLine({ walker, path, lanes, k, pins, columns, inside }: Shown & { k: number }) {
  const step = path.steps[k - 1];
  const why = walker.why(path)[k];
  const truth = path.truths[k];
  const action = step && walker.action(step.action);
  const values = [
    ...pins.map((slot) => ({ label: walker.trace.model.slots[slot]?.label ?? "", text: walker.text(slot, path.states[k]?.[slot] ?? 0), moved: k > 0 && path.states[k]?.[slot] !== path.states[k - 1]?.[slot] })),
    ...columns.map((column) => ({ label: column.expression, text: column.values[k] ?? "no value", moved: k > 0 && column.values[k] !== column.values[k - 1] })),
  ];
  const cells = values.map(({ label, text, moved }, at) => (
    <span class={`cell${inside ? " inside" : ""}${moved ? " moved" : ""}`} key={at}>
      {inside ? `${label}: ${text}` : text}
    </span>
  ));
  return (
    <>
      <span class="number">{k}</span>
      <LanesOf lanes={lanes} acts={step ? drawing(lanes, step) : null} fault={isFault(action?.role ?? "")} />
      <span class="what">
        {step ? <Told step={step} /> : <span class="label start">{startText(walker)}</span>}
        {step && changeTexts(walker, path, k).map((text) => <span class="changes">{text}</span>)}
        {why === "" && walker.now.open.has(k) && (
          <button
            type="button"
            class="quiet refold"
            tabIndex={-1}
            title="fold these steps again (F)"
            onClick={(event) => {
              event.stopPropagation();
              walker.closeAt(k);
            }}
          >
            fold
          </button>
        )}
        {inside && cells}
      </span>
      {!inside && cells}
      <TruthWord truth={truth} before={path.truths[k - 1]} />
    </>
  );
}

/** What a step does as a sentence, then the action with its arguments. */
export function Told({ step }: { step: Step }) {
  return (
    <>
      {step.sentence && <span class="sentence">{step.sentence}</span>} <span class="label">{step.label}</span>
    </>
  );
}

function FoldLine({ path, lanes, from, to, pins, columns, inside }: Shown & { from: number; to: number }) {
  const count = to - from + 1;
  return (
    <>
      <span class="number">{`${from}–${to}`}</span>
      <LanesOf lanes={lanes} acts={null} folded={actorsOf(lanes, path.steps, from, to)} />
      <span class="what">
        <span class="fold-mark" aria-hidden="true">
          ▸
        </span>
        <span class="fold-count">{counted(count, "step")}</span> <span class="changes">{foldText(path.steps, from, to)}</span>
      </span>
      {(inside ? [] : [...pins, ...columns]).map((_, k) => (
        <span class="cell" key={k} />
      ))}
      <TruthWord truth={path.truths[to]} before={path.truths[from - 1]} />
    </>
  );
}

function LanesOf({ lanes, acts, folded, fault = false }: { lanes: Lanes; acts: ReturnType<typeof drawing> | null; folded?: number[]; fault?: boolean }) {
  return (
    <span class="lanes" aria-hidden="true">
      {lanes.names.map((name) => (
        <i class="lifeline" style={{ left: `${x(lanes, name)}px` }} />
      ))}
      <svg width={lanes.width} height={LINE}>
        {folded?.map((at) => <circle class="folded" cx={at} cy={LINE / 2} r={2.5} />)}
        {acts?.arrows.map(({ from, to, taken }) => {
          const way = to > from ? 1 : -1;
          const head = to - way * 5;
          return (
            <g class={taken ? "arrow taken" : "arrow"}>
              <line x1={from} y1={LINE / 2} x2={head - way * 4} y2={LINE / 2} />
              <path d={`M${head} ${LINE / 2} l${-way * 7} -3.6 v7.2 z`} />
            </g>
          );
        })}
        {acts?.other != null && <circle class="other" cx={acts.other} cy={LINE / 2} r={3.6} />}
        {acts?.acts != null && fault && <path class="fault" d={`M${acts.acts} ${LINE / 2 - 6} l6 6 l-6 6 l-6 -6 z`} />}
        {acts?.acts != null && !fault && <circle class="acts" cx={acts.acts} cy={LINE / 2} r={4.2} />}
      </svg>
    </span>
  );
}

function startText(walker: Walker): string {
  return walker.trace.states.length > 1 ? "initial state" : "the only state";
}

function changeTexts(walker: Walker, path: Path, k: number): string[] {
  const before = path.states[k - 1] ?? [];
  const after = path.states[k] ?? [];
  return changedRows(walker.tree, path.steps[k - 1]?.changed ?? []).map(({ row, fields }) => {
    const texts = fields.map(({ slot, name }) => `${name ? `${name} ` : ""}${walker.text(slot, before[slot] ?? 0)} → ${walker.text(slot, after[slot] ?? 0)}`);
    return `${row.key}: ${texts.join(", ")}`;
  });
}
