// The state graph of the scope on a canvas: layers by depth, pan and zoom, the walked trace in it, a click on a state shows it.

import { quadtree, type Quadtree } from "d3-quadtree";
import { select } from "d3-selection";
import { zoom, zoomIdentity, type ZoomBehavior, type ZoomTransform } from "d3-zoom";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Colouring } from "../colouring";
import { layout, pathTo, type Layout } from "../layout";
import type { StateGraph } from "../live";
import { changedRows, changedSlots } from "../tree";
import type { Walker } from "../walker";
import { counted } from "../values";
import { Colour, swatch } from "./colour";
import { RowView } from "./state";
import { useSize, useStore, useTheme } from "./use";

const LIMIT = 10_000;
const READABLE = 0.8; // scale from which the names of actions stand at the edges
const LABELS = 160; // edges in sight that still have their names
const NEAR = 14; // pixels from a state that a click still means it

export function GraphView({ walker }: { walker: Walker }) {
  const { graph, busy } = useStore(walker.store);
  useEffect(() => {
    const cancel = new AbortController();
    if (!walker.now.graph) void walker.loadGraph(LIMIT, cancel.signal);
    return () => cancel.abort();
  }, [walker]);
  if (!graph) return <p class="nothing waiting-for-graph">{busy ? "The states are being explored…" : "There is no state graph."}</p>;
  return <Drawn walker={walker} graph={graph} />;
}

interface Point {
  k: number;
  x: number;
  y: number;
}

function Drawn({ walker, graph }: { walker: Walker; graph: StateGraph }) {
  const placed = useMemo(() => layout(graph), [graph]);
  const tree = useMemo(() => treeOf(placed, graph.states.length), [placed]);
  const onTrace = useMemo(() => statesOfPath(graph, walker.path.states), [graph, walker.path]);
  const { colouring } = useStore(walker.store);
  const theme = useTheme();
  const [chosen, setChosen] = useState<number | null>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<ZoomTransform>(zoomIdentity);
  const zooming = useRef<ZoomBehavior<HTMLCanvasElement, unknown> | null>(null);
  const home = useRef<ZoomTransform>(zoomIdentity);
  const { width, height } = useSize(box);
  const route = useMemo(() => (chosen === null ? [] : pathTo(placed.parent, chosen)), [chosen, placed]);
  const paint = useRef(() => undefined as void);
  paint.current = () => draw(canvas.current, width, height, view.current, graph, placed, onTrace, route, chosen, colouring, walker.trace.model.actions.map((action) => action.name));

  useLayoutEffect(() => {
    const on = canvas.current;
    if (!on || !width) return;
    let frame = 0;
    const later = (): void => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => paint.current());
    };
    const behaviour = zoom<HTMLCanvasElement, unknown>()
      .scaleExtent([0.02, 6])
      .on("zoom", (event: { transform: ZoomTransform }) => {
        view.current = event.transform;
        later();
      });
    zooming.current = behaviour;
    const across = (width - 60) / placed.width;
    const scale = Math.max(Math.min(1.4, across, (height - 60) / placed.height), Math.min(0.5, across)); // a deep graph begins at its top
    home.current = zoomIdentity.translate(width / 2, 40).scale(Math.max(scale, 0.02));
    select(on).call(behaviour).call(behaviour.transform, home.current);
    later();
    return () => {
      cancelAnimationFrame(frame);
      select(on).on(".zoom", null);
    };
  }, [placed, width, height]);
  useEffect(() => canvas.current?.focus(), []); // so that its keys work at once
  useLayoutEffect(() => paint.current(), [chosen, colouring, theme, onTrace, width, height]);

  const click = (event: MouseEvent): void => {
    const bounds = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const [px, py] = view.current.invert([event.clientX - bounds.left, event.clientY - bounds.top]);
    setChosen(tree.find(px, py, NEAR / view.current.k + 4)?.k ?? null);
  };
  const keys = (event: KeyboardEvent): void => {
    const on = canvas.current;
    const behaviour = zooming.current;
    if (!on || !behaviour) return;
    const by = { "+": 1.4, "=": 1.4, "-": 1 / 1.4 }[event.key];
    const move = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    if (event.key === "n" || event.key === "N") return nextBad(event);
    const way = { j: 1, k: -1 }[event.key];
    if (way) setChosen(Math.max(0, Math.min(graph.states.length - 1, (chosen ?? -1) + way)));
    else if (event.key === "0") select(on).call(behaviour.transform, home.current);
    else if (by) select(on).call(behaviour.scaleBy, by);
    else if (move) select(on).call(behaviour.translateBy, (move[0] ?? 0) / view.current.k, (move[1] ?? 0) / view.current.k);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const nextBad = (event: KeyboardEvent): void => {
    const wrong = graph.states.flatMap((_, k) => (graph.truths?.[k] === false || (!graph.truths && onTrace.includes(k)) ? [k] : []));
    const next = event.key === "n" ? wrong.find((k) => k > (chosen ?? -1)) : wrong.findLast((k) => k < (chosen ?? graph.states.length));
    if (next !== undefined) setChosen(next);
    event.preventDefault();
    event.stopPropagation();
  };
  const bad = graph.truths?.filter((truth) => !truth).length ?? 0;
  return (
    <div class="graph">
      <div class="drawing" ref={box}>
        <canvas
          ref={canvas}
          tabIndex={0}
          role="img"
          aria-label={`State graph: ${counted(graph.states.length, "state")}, ${counted(graph.edges.length, "step")}. Arrow keys move it, plus and minus zoom, 0 goes back.`}
          onClick={click}
          onKeyDown={keys}
        />
      </div>
      <aside class="panel" aria-label="The state that was clicked">
        <p class="sentence">
          {counted(graph.states.length, "state")}, {counted(graph.edges.length, "step")}, depth {Math.max(0, ...graph.depth)}.
          {graph.complete ? " These are all the states of the scope." : " The scope has more: these are the first ones."}
        </p>
        {graph.truths && !colouring && (
          <dl class="legend" aria-label="Colours by the property">
            <dt>{walker.trace.property.id || "the property"}</dt>
            <dd>
              <i style={{ background: "var(--good)" }} /> holds <span class="count">{(graph.states.length - bad).toLocaleString("en")}</span>
            </dd>
            <dd>
              <i style={{ background: "var(--bad)" }} /> fails <span class="count">{bad.toLocaleString("en")}</span>
            </dd>
          </dl>
        )}
        {graph.truths && colouring && <p class="sentence">The property fails in {bad.toLocaleString("en")} states, which are ringed in red.</p>}
        <Colour walker={walker} />
        <p class="sentence">Drag to move, wheel to zoom, click a state. Keys: arrows, + and −, 0 for all, n for the next state that fails. The walked trace is blue.</p>
        {chosen !== null && <Chosen walker={walker} graph={graph} placed={placed} route={route} chosen={chosen} choose={setChosen} />}
      </aside>
    </div>
  );
}

function treeOf(placed: Layout, count: number): Quadtree<Point> {
  const points = Array.from({ length: count }, (_, k) => ({ k, x: placed.x[k] ?? 0, y: placed.y[k] ?? 0 }));
  return quadtree(
    points,
    (point) => point.x,
    (point) => point.y,
  );
}

function statesOfPath(graph: StateGraph, states: readonly (readonly number[])[]): number[] {
  const known = new Map(graph.states.map((state, k) => [state.join(), k]));
  return states.flatMap((state) => known.get(state.join()) ?? []);
}

function draw(canvas: HTMLCanvasElement | null, width: number, height: number, view: ZoomTransform, graph: StateGraph, placed: Layout, onTrace: number[], route: number[], chosen: number | null, colouring: Colouring | null, names: string[]): void {
  const pen = canvas?.getContext("2d");
  if (!canvas || !pen || !width) return;
  const ratio = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const colour = (name: string): string => {
    canvas.style.color = `var(${name})`; // a computed colour is one that a canvas understands
    return getComputedStyle(canvas).color;
  };
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.setTransform(ratio * view.k, 0, 0, ratio * view.k, ratio * view.x, ratio * view.y);
  const [left, top] = view.invert([0, 0]);
  const [right, bottom] = view.invert([width, height]);
  const { x, y } = placed;
  const px = (k: number): number => x[k] as number;
  const py = (k: number): number => y[k] as number;

  pen.lineWidth = Math.max(0.7, 0.5 / view.k);
  pen.strokeStyle = colour("--faded");
  pen.globalAlpha = graph.edges.length > 3000 ? 0.22 : 0.5;
  pen.beginPath();
  for (const [from, to] of graph.edges) {
    const high = Math.min(py(from), py(to));
    const low = Math.max(py(from), py(to));
    if (low < top || high > bottom || Math.max(px(from), px(to)) < left || Math.min(px(from), px(to)) > right) continue;
    pen.moveTo(px(from), py(from));
    if (from === to) pen.arc(px(from) + 7, py(from), 7, Math.PI, 3 * Math.PI);
    else if (py(to) > py(from)) pen.lineTo(px(to), py(to));
    else pen.quadraticCurveTo((px(from) + px(to)) / 2 + 30 + (py(from) - py(to)) / 6, (py(from) + py(to)) / 2, px(to), py(to));
  }
  pen.stroke();
  pen.globalAlpha = 1;

  const line = (states: readonly number[], style: string, thick: number): void => {
    pen.strokeStyle = style;
    pen.lineWidth = Math.max(thick, thick / view.k);
    pen.beginPath();
    states.forEach((k, at) => (at ? pen.lineTo(px(k), py(k)) : pen.moveTo(px(k), py(k))));
    pen.stroke();
  };
  line(onTrace, colour("--accent"), 2);
  line(route, colour("--wait"), 2);

  const size = Math.min(8, Math.max(4.5, 1.3 / view.k));
  const outline = (wanted: (k: number) => boolean, size: number): void => {
    pen.beginPath();
    for (let k = 0; k < graph.states.length; k++) {
      if (py(k) < top - 9 || py(k) > bottom + 9 || px(k) < left - 9 || px(k) > right + 9 || !wanted(k)) continue;
      if (view.k > 0.35) {
        pen.moveTo(px(k) + size, py(k));
        pen.arc(px(k), py(k), size, 0, 2 * Math.PI);
      } else pen.rect(px(k) - size, py(k) - size, 2 * size, 2 * size);
    }
  };
  const dots = (style: string, wanted: (k: number) => boolean): void => {
    pen.fillStyle = style;
    outline(wanted, size);
    pen.fill();
  };
  const rings = (style: string, wanted: (k: number) => boolean): void => {
    pen.strokeStyle = style;
    pen.lineWidth = Math.max(1.6, 1 / view.k);
    outline(wanted, size + pen.lineWidth);
    pen.stroke();
  };
  const { truths } = graph;
  const traced = new Set(onTrace);
  if (colouring) {
    dots(colour("--faded"), (k) => colouring.of[k] === -1);
    for (const shade of colouring.shades) if (shade.colour >= 0) dots(colour(swatch(shade.colour)), (k) => colouring.of[k] === shade.colour);
    rings(colour("--bad"), (k) => truths?.[k] === false);
  } else {
    dots(colour(truths ? "--good" : "--soft"), (k) => truths?.[k] !== false);
    dots(colour("--bad"), (k) => truths?.[k] === false);
    rings(colour("--accent"), (k) => traced.has(k));
  }
  if (view.k > READABLE) {
    pen.fillStyle = colour("--faded");
    pen.font = "10px monospace";
    pen.textAlign = "center";
    const near = graph.edges.filter(([from, to]) => from !== to && px(from) > left && px(from) < right && py(from) > top && py(from) < bottom);
    if (near.length <= LABELS) for (const [from, to, action] of near) pen.fillText(names[action] ?? "", (px(from) + px(to)) / 2, (py(from) + py(to)) / 2 + 3);
  }
  if (chosen !== null) {
    pen.strokeStyle = colour("--ink");
    pen.lineWidth = Math.max(2, 2 / view.k);
    pen.beginPath();
    pen.arc(px(chosen), py(chosen), size + 4, 0, 2 * Math.PI);
    pen.stroke();
  }
}

interface ChosenProps {
  walker: Walker;
  graph: StateGraph;
  placed: Layout;
  route: number[];
  chosen: number;
  choose: (k: number) => void;
}

function Chosen({ walker, graph, placed, route, chosen, choose }: ChosenProps) {
  const { actions } = walker.trace.model;
  const first = graph.states[0] ?? [];
  const state = graph.states[chosen] ?? [];
  const shown = changedSlots(first, state);
  const before = graph.states[placed.parent[chosen] ?? -1];
  const moved = new Set(before ? changedSlots(before, state) : []);
  return (
    <>
      <h3>a shortest path of {counted(route.length - 1, "step")}</h3>
      <ol class="route">
        {route.slice(1).map((k) => (
          <li key={k}>
            <button type="button" class="quiet" aria-pressed={k === chosen} onClick={() => choose(k)}>
              {actions[placed.via[k] ?? -1]?.name ?? "?"}
            </button>
          </li>
        ))}
      </ol>
      <button type="button" onClick={() => walker.walkStates(route.map((k) => graph.states[k] ?? []))}>
        walk this path
      </button>
      <h3>
        the state <span class="count">{counted(shown.length, "value")} unlike at the start</span>
      </h3>
      {changedRows(walker.tree, shown).map(({ row, fields }) => (
        <RowView walker={walker} before={before ?? state} after={state} changed={moved} row={row} fields={fields} key={row.key} />
      ))}
    </>
  );
}
