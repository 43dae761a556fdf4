// A history of concurrent clients on a time line: bars from call to answer, faults as lines across, the explained order, what nothing explains.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { setAddress } from "../address";
import type { HistoryDocument, Operation, Refusal } from "../document";
import { HISTORY_KEYS, leaveSearch, typing } from "../keys";
import { operationFragment, readOperation } from "../place";
import { matches } from "../search";
import { toggleTheme } from "../theme";
import { timelineOf, type Bar } from "../timeline";
import { counted } from "../values";
import { Values } from "./actions";
import { Head } from "./head";
import { Help } from "./help";
import { Commands, SubjectList } from "./property";
import { useKeys, usePrinting, useSize } from "./use";

const ROW = 46; // two lines of a bar, and the points of the order below it
const TOP = 34;
const WIDE_LEFT = 130;
const NARROW_LEFT = 84; // where the page has no room
const READABLE = 64; // pixels between two events of a history that is longer than the page is wide
const STATUS = { explained: "explained", refused: "explained by nothing", beyond: "after what could be explained", unjudged: "not judged" };

/** What is walked: the operations of the order, then the one that nothing explains. */
function walkOf({ order }: HistoryDocument, refused: number | null): number[] {
  return refused !== null && !order.includes(refused) ? [...order, refused] : order;
}

export function HistoryPage({ history, opened, home }: { history: HistoryDocument; opened: string; home?: (() => void) | undefined }) {
  const timeline = useMemo(() => timelineOf(history), [history]);
  const wrong = history.operations.find((one) => one.id === history.refusal?.operation); // it may be left out, or be no operation
  const refused = wrong?.id ?? null;
  const walk = useMemo(() => walkOf(history, refused), [history]);
  const [chosen, setChosen] = useState<number | null>(() => readOperation(location.hash) ?? refused ?? walk[0] ?? history.operations[0]?.id ?? null);
  const [query, setQuery] = useState("");
  const [help, setHelp] = useState(false);
  const [stretch, setStretch] = useState(1);
  const [left, setLeft] = useState(0);
  const scroller = useRef<HTMLDivElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const { width } = useSize(scroller);
  const LEFT = width > 0 && width < 620 ? NARROW_LEFT : WIDE_LEFT;
  const printing = usePrinting();
  const fit = Math.max(300, (printing ? 900 : width) - LEFT - 20) / (timeline.end - timeline.begin);
  const plain = Math.max(fit, READABLE);
  const scale = printing ? fit : Math.max(fit, plain * stretch);
  const stretchBy = (by: number): void => setStretch(Math.min(400, (scale * by) / plain));
  const px = (at: number): number => LEFT + (at - timeline.begin) * scale;
  const rows = timeline.lanes.reduce((sum, lane) => sum + lane.rows, 0);
  const height = TOP + rows * ROW + 12;
  const full = px(timeline.end) + 20;
  const operation = history.operations.find((one) => one.id === chosen);
  const position = chosen === null ? -1 : walk.indexOf(chosen);
  const go = (to: number): void => setChosen(walk[Math.max(0, Math.min(walk.length - 1, to))] ?? chosen);
  const reached = position < 0 ? walk.length : position + 1;
  const inSight = (from: number, to: number): boolean => printing || (px(to) >= left - 200 && px(from) <= left + width + 200);
  const points = timeline.points.slice(0, reached);

  useKeys((event) => {
    if (typing(event)) return;
    const to = { ArrowRight: position + 1, j: position + 1, ArrowDown: position + 1, ArrowLeft: position - 1, k: position - 1, ArrowUp: position - 1, Home: 0, End: walk.length - 1 }[event.key];
    if (to !== undefined) go(to);
    else if (event.key === "n" && refused !== null) setChosen(refused);
    else if (event.key === "+" || event.key === "=") stretchBy(1.5);
    else if (event.key === "-") stretchBy(1 / 1.5);
    else if (event.key === "0") setStretch(0);
    else if (event.key === "/") search.current?.focus();
    else if (event.key === "t") toggleTheme();
    else if (event.key === "?") setHelp(true);
    else if (event.key === "h") leave(history, home);
    else return;
    event.preventDefault();
  });

  useEffect(() => {
    if (chosen !== null) setAddress(operationFragment(opened, chosen));
    const bar = timeline.bars.find((one) => one.operation.id === chosen);
    const box = scroller.current;
    if (!bar || !box || !width) return;
    const from = px(bar.from);
    if (from < box.scrollLeft + LEFT || from > box.scrollLeft + width - 120) box.scrollLeft = from - width / 2;
  }, [chosen, stretch, width]);

  useEffect(() => {
    const follow = (): void => setChosen((now) => readOperation(location.hash) ?? now);
    addEventListener("hashchange", follow); // somebody wrote another address, or went back to one
    return () => removeEventListener("hashchange", follow);
  }, []);

  const { verdict } = history.verdict;
  const tone = history.refusal ? "bad" : verdict === "ok" ? "good" : "";
  return (
    <div class="page history">
      <Head title={history.title} sentence={wrong ? unexplained(wrong) : history.verdict.sentence} word={{ text: verdict, tone }} home={home} run={history.run} help={() => setHelp(true)}>
        <nav class="tools" aria-label="Tools">
          <span class="group">
            <button type="button" onClick={() => go(position - 1)} aria-disabled={position <= 0} aria-label="one back in the order">
              ←
            </button>
            <button type="button" onClick={() => go(position + 1)} aria-disabled={position >= walk.length - 1} aria-label="one on in the order">
              →
            </button>
            <span class="count">
              {position >= 0 ? `${position + 1} of ` : ""}
              {walk.length} in order
            </span>
          </span>
          {refused !== null && (
            <button type="button" onClick={() => setChosen(refused)} title="key n">
              what nothing explains
            </button>
          )}
          <span class="group">
            <button type="button" onClick={() => stretchBy(1 / 1.5)} aria-label="shrink the time" title="-">
              −
            </button>
            <button type="button" onClick={() => stretchBy(1.5)} aria-label="stretch the time" title="+">
              +
            </button>
          </span>
          <span class="group search">
            <input ref={search} type="search" value={query} placeholder="search operations ( / )" aria-label="Search the operations" onKeyDown={leaveSearch(() => setQuery(""))} onInput={(event) => setQuery(event.currentTarget.value)} />
          </span>
        </nav>
      </Head>
      <main>
        <section class="timeline" ref={scroller} onScroll={(event) => setLeft(event.currentTarget.scrollLeft)} tabIndex={0} aria-label="Time line">
          <svg width={full} height={height} role="group" aria-label={`${counted(history.operations.length, "operation")} of ${counted(timeline.lanes.length, "client")}`}>
            {timeline.lanes.map((lane, k) => (
              <rect class={k % 2 ? "lane odd" : "lane"} x={0} y={TOP + lane.first * ROW} width={full} height={lane.rows * ROW} key={lane.client} />
            ))}
            {history.marks.filter((mark) => inSight(mark.at, mark.at)).map((mark, k) => (
              <g class={`mark ${/restart|settings/.test(mark.kind) ? "calm" : ""}`} key={k}>
                <title>{mark.text}</title>
                <line x1={px(mark.at)} x2={px(mark.at)} y1={TOP - 12} y2={height} />
                <text x={px(mark.at) + 3} y={TOP - 14 - (k % 2) * 10}>
                  {mark.kind}
                </text>
              </g>
            ))}
            <polyline class="order" points={points.map((point) => `${px(point.at)},${TOP + (point.row + 1) * ROW - 5}`).join(" ")} />
            {timeline.bars.filter((bar) => inSight(bar.from, bar.until)).map((bar) => (
              <BarView key={bar.operation.id} bar={bar} px={px} chosen={bar.operation.id === chosen} dim={query !== "" && !found(query, bar.operation)} choose={setChosen} />
            ))}
            {points.filter((point) => inSight(point.at, point.at)).map((point) => (
              <circle class={`point${point.id === chosen ? " chosen" : ""}`} cx={px(point.at)} cy={TOP + (point.row + 1) * ROW - 5} r={2.6} key={point.id} />
            ))}
            {timeline.lanes.map((lane) => (
              <g class="client" transform={`translate(${printing ? 0 : left},0)`} key={lane.client}>
                <rect x={0} y={TOP + lane.first * ROW} width={LEFT - 10} height={lane.rows * ROW} />
                <text x={LEFT < WIDE_LEFT ? 6 : 12} y={TOP + (lane.first + lane.rows / 2) * ROW + 4}>
                  {lane.client}
                </text>
              </g>
            ))}
          </svg>
        </section>
        <aside class="panel" aria-label="The operation">
          {history.refusal && refused === null && <RefusalView refusal={history.refusal} />}
          {operation && <OperationView operation={operation} history={history} />}
          <h3>this history</h3>
          <SubjectList subject={history.subject} of="target" />
          {wrong && <p class="sentence">{history.verdict.sentence}</p>}
          <p class="sentence">
            {counted(history.operations.length, "operation")} of {counted(timeline.lanes.length, "client")}, {history.order.length.toLocaleString("en")} of them explained
            {history.marks.length ? `, ${history.marks.length} ${history.marks.length === 1 ? "fault or change" : "faults and changes"}` : ""}.
          </p>
          {history.left_out && (
            <p class="sentence left-out">
              To keep the page small, {leftOut(history.left_out)} are left out. <code>rocketproof explore FILE --around EVENT</code> shows what lies around another event.
            </p>
          )}
          <Commands commands={history.commands} />
        </aside>
      </main>
      {help && <Help close={() => setHelp(false)} sections={[HISTORY_KEYS]} />}
    </div>
  );
}

function leave(history: HistoryDocument, home: (() => void) | undefined): void {
  if (home) home();
  else if (history.run) location.href = "../index.html";
}

/** The request whose response nothing explains, in a line. Its panel shows the rest. */
function unexplained({ client, label, name, response }: Operation): string {
  return `nothing explains the response to ${client}: ${label || name}${response && ` → ${response}`}`;
}

/** How many are left out, and where. */
function leftOut({ before, after }: { before: number; after: number }): string {
  const parts = [before && `${before.toLocaleString("en")} before these`, after && `${after.toLocaleString("en")} after these`].filter(Boolean);
  return `operations, faults and changes (${parts.join(", ")})`;
}

function found(query: string, { label, name, client, fields, answer }: Operation): boolean {
  return matches(query, label, name, client, ...[...fields, ...answer].map((pair) => pair.join(" ")));
}

interface BarProps {
  bar: Bar;
  px: (at: number) => number;
  chosen: boolean;
  dim: boolean;
  choose: (id: number) => void;
}

function BarView({ bar, px, chosen, dim, choose }: BarProps) {
  const { operation, row, open } = bar;
  const x = px(bar.from);
  const width = Math.max(7, px(bar.to) - x);
  const y = TOP + row * ROW + 3;
  const number = operation.position === null ? "" : `${operation.position + 1} `;
  const room = Math.floor((Math.max(width, px(bar.until) - x) - 8) / 6.7);
  const request = `${number}${operation.label || operation.name}`;
  const response = operation.response || (open ? "no response" : "");
  const cut = (text: string): string => (text.length > room ? `${text.slice(0, room - 1)}…` : text);
  return (
    <g class={`operation ${operation.status} ${operation.outcome}${open ? " open" : ""}${chosen ? " chosen" : ""}${dim ? " dim" : ""}`} onClick={() => choose(operation.id)}>
      <title>{`${operation.client}: ${request}${response && ` → ${response}`} (${STATUS[operation.status]})`}</title>
      <rect x={x} y={y} width={width} height={ROW - 12} rx={3} />
      {open && [1, 2, 3].map((k) => <rect class="fade" key={k} x={x + width * (0.4 + k * 0.15)} y={y} width={width * 0.15} height={ROW - 12} />)}
      {room >= 2 && (
        <text x={x + 5} y={y + 13}>
          {cut(request)}
        </text>
      )}
      {room >= 2 && response && (
        <text class="response" x={x + 5} y={y + 28}>
          {cut(response)}
        </text>
      )}
    </g>
  );
}

function OperationView({ operation, history }: { operation: Operation; history: HistoryDocument }) {
  const { refusal } = history;
  const refused = refusal?.operation === operation.id;
  return (
    <>
      <p class="where">
        {operation.client} · {STATUS[operation.status]}
        {operation.position !== null && ` · number ${operation.position + 1} of the order`}
      </p>
      <h2>
        {operation.label || operation.name}
        {operation.response && ` → ${operation.response}`}
      </h2>
      {refused && refusal && <RefusalView refusal={refusal} />}
      <h3>asked</h3>
      <Values values={operation.fields} />
      <h3>
        answered <span class="count">{{ ok: "", fail: "with a failure", unknown: "unknown: no answer came" }[operation.outcome]}</span>
      </h3>
      <Values values={operation.answer} />
      <p class="nothing">
        from {operation.begin} to {operation.end ?? "the end of the history"} in the order of events
        {operation.nanos && `, from ${seconds(operation.nanos[0])} to ${operation.nanos[1] === null ? "its end" : seconds(operation.nanos[1])}`}
      </p>
    </>
  );
}

const seconds = (nanos: number): string => `${(nanos / 1e9).toFixed(3)} s`;

function RefusalView({ refusal }: { refusal: Refusal }) {
  return (
    <div class="verdict bad">
      {refusal.recorded && <p>Recorded: {refusal.recorded}.</p>}
      <p>
        The specification {refusal.specified}
        {refusal.sentence && "; "}
        {refusal.guard ? (
          <>
            <b>{refusal.action}</b> is refused by <b>{refusal.guard}</b>, which needs: {refusal.sentence}
          </>
        ) : (
          refusal.sentence
        )}
      </p>
      <Values values={refusal.values} />
    </div>
  );
}
